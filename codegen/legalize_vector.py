"""placeholder"""
from tang_egg.codegen.kernel import Kernel
def to_vectors(kernel: Kernel) -> Kernel:
    return kernel
