"""Which points are above 0 becomes one operation on each vector of them.

which(v[0], ..., v[15], w[0], ..., w[15])   ->   which(v) | which(w) << 16
which(a, b)                                 ->   (a > 0 ? 1 : 0) | (b > 0 ? 1 : 0) << 1      where there are none
"""

from __future__ import annotations

from typing import Any

from tang_egg.codegen.kernel import Call, Expr, Kernel, Lane, Literal, Select, Var, lanes
from tang_egg.codegen.legalize import rebuilt


def to_bits(kernel: Kernel) -> Kernel:
    """The kernel with sets of points taken from vectors, or spelled out."""

    def change(x: Any) -> Any:
        return _joined(x.args) if isinstance(x, Call) and x.op == "which" else None

    return rebuilt(kernel, change)


def _joined(each: tuple[Expr, ...]) -> Expr:
    """The set of some points, vector by vector."""
    total: Expr | None = None
    n = 0
    while n < len(each):
        vector = _vector(each[n:])
        part = Call("which", (vector,), "i64") if vector is not None else _one(each[n])
        moved = Call("shl", (part, Literal(n, "i64")), "i64") if n else part
        total = moved if total is None else Call("bitor", (total, moved), "i64")
        n += 1 if vector is None else lanes(vector.type)
    assert total is not None
    return total


def _vector(each: tuple[Expr, ...]) -> Var | None:
    """The vector of 32-bit integers whose lanes come first, in order."""
    first = each[0]
    if not isinstance(first, Lane) or not isinstance(first.vector, Var) or not first.vector.type.startswith("i32x"):
        return None
    v = first.vector
    mine = each[: lanes(v.type)]
    found = len(mine) == lanes(v.type) and all(isinstance(x, Lane) and x.vector == v for x in mine)
    return v if found and [x.n for x in mine if isinstance(x, Lane)] == list(range(len(mine))) else None


def _one(x: Expr) -> Expr:
    return Select(Call("lt", (Literal(0, x.type), x), "bool"), Literal(1, "i64"), Literal(0, "i64"), "i64")
