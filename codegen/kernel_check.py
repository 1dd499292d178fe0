"""placeholder"""
from tang_egg.codegen.kernel import Kernel
def check_kernel(kernel: Kernel) -> None:
    return None
