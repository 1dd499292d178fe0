"""placeholder"""
from tang_egg.codegen.kernel import Kernel
def to_registers(kernel: Kernel) -> Kernel:
    return kernel
