"""Functions in few instructions, where all that a kernel writes is rounded to 16 bits.

    erf, tanh    x · P(x²) / Q(x²) within a clamp: no branch, one special function; relative error below 1e-6
    1 + erf, 1 + tanh    in one function: what vanishes at one end is right there too; relative error below 2e-5
    recip, sqrt  without the branch for what is hard to round: within a unit of the last place of f32
    exp          2^(x · log2 e) on the special function unit: relative error below 4e-6

Half a unit of the last place of f16 is 5e-4 of a value, of bf16 4e-3. Kernels that write anything else, and streams of
products, which have formulas of their own, stay as they are.
"""

from __future__ import annotations

from typing import Any

from tang_egg.codegen.device import Roles
from tang_egg.codegen.kernel import Call, Kernel, Literal
from tang_egg.codegen.legalize import rebuilt

QUICK = frozenset({"erf", "tanh", "exp", "recip", "sqrt"})
"""Functions of f32 that have a quick form, called quick_erf and so on."""
ODD = frozenset({"erf", "tanh"})
"""Those that run into -1 and 1."""
ROUNDED = frozenset({"bf16", "f16"})


def quick_functions(kernel: Kernel) -> Kernel:
    """The kernel with quick functions, if its outputs are 16-bit floats."""
    outputs = [b for b in kernel.buffers if b.role == "output"]
    if not outputs or any(b.type not in ROUNDED for b in outputs) or any(isinstance(s, Roles) for s in kernel.body):
        return kernel

    def change(x: Any) -> Any:
        if (inner := _above_one(x)) is not None:
            return Call(f"quick_one_plus_{inner.op}", tuple(rebuilt(a, change) for a in inner.args), inner.type)
        if not isinstance(x, Call) or x.op not in QUICK or x.type != "f32":
            return None
        if isinstance(x.args[0], Literal):  # the compiler knows the value
            return x
        return Call(f"quick_{x.op}", tuple(rebuilt(a, change) for a in x.args), x.type)

    return rebuilt(kernel, change)


def _above_one(x: Any) -> Call | None:
    """The function f of 1 + f, if it runs into -1 and 1 and has a quick form with the 1."""
    if not isinstance(x, Call) or x.op != "add" or x.type != "f32":
        return None
    inner = next((a for a in x.args if isinstance(a, Call) and a.op in ODD), None)
    return inner if any(isinstance(a, Literal) and a.value == 1 for a in x.args) else None
