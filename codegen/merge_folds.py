"""A sum over two indices as one over their product, where matrix units can then take it.

    Σ[h, d] A[h, i, d] · B[c, 64 h + d]  →  Σ[m] A[m // 64, i, m % 64] · B[c, m]

A projection of several heads is such a sum: copies into tiles of the stream can follow both of its operands, since a
tile of m lies inside one head.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tang_egg.affine import Affine, Index, affine
from tang_egg.codegen.mma_operand import Refused
from tang_egg.codegen.mma_plan import plan
from tang_egg.codegen.pack_plan import replaced
from tang_egg.codegen.partition import reading
from tang_egg.ir import Apply, Const, Coordinate, Position, Read, Reduce, Scalar, Tensor, free, walk
from tang_egg.program import KernelPlan, Program


def merge_folds(program: Program, rounded: bool = False) -> Program:
    """The program with such sums merged in kernels that become streams of products; the same object if none do.

    `rounded`: operands of 32 bits may be rounded for matrix units; else they are for plain threads.
    """
    changed: dict[Tensor, Tensor] = {}
    kernels: list[KernelPlan] = []
    for k in program.kernels:
        outputs = tuple(reading(t, changed) for t in k.outputs)
        outputs = merged(outputs, rounded)
        changed |= {old: new for old, new in zip(k.outputs, outputs, strict=True) if old is not new}
        kernels.append(replace(k, outputs=outputs))
    if not changed:
        return program
    graph = program.graph
    last = tuple(changed.get(t, t) for t in graph.outputs)
    return Program(replace(graph, outputs=last), tuple(kernels))


def merged(outputs: tuple[Tensor, ...], rounded: bool = False) -> tuple[Tensor, ...]:
    """The outputs of a kernel with one sum over two indices merged; as they are where that makes no stream of products.

    The one test is that the kernel has a plan then.
    """
    folds = dict.fromkeys(s for t in outputs for s in walk(t.body) if isinstance(s, Reduce) and len(s.indices) == 2)
    for fold in folds:
        for one, n in _single(fold):
            made = tuple(replace(t, body=replaced(t.body, {fold: one})) for t in outputs)
            try:
                found = plan(made)
            except Refused:
                continue
            if (rounded or found.dtype != "f32") and n % found.width == 0:
                return made
    return outputs


def _single(fold: Reduce) -> Iterator[tuple[Reduce, int]]:
    """The fold over one index, with either of its indices as the faster one, and the points of that."""
    if not fold.where.everywhere or not fold.monoid.commutative:
        return
    for fast in reversed(fold.indices):
        (slow,) = (i for i in fold.indices if i is not fast)
        m, n = slow.size.value, fast.size.value
        if not m or not n:
            continue
        index = Index(f"{slow.name}_{fast.name}", affine(m * n))
        body = tuple(_moved(b, slow, fast, n, index) for b in fold.body)
        if all(b is not None for b in body):
            yield replace(fold, indices=(index,), body=tuple(b for b in body if b is not None)), n


def _moved(s: Scalar, slow: Index, fast: Index, n: int, index: Index) -> Scalar | None:
    """A body over the merged index; None where it has the two indices in another way than in coordinates of reads."""
    if not free(s) & {slow, fast}:
        return s
    if isinstance(s, Read):
        at = [_coordinate(c, slow, fast, n, index) for c in s.coordinates]
        return None if any(c is None for c in at) else Read(s.source, tuple(c for c in at if c is not None), s.at)
    if not isinstance(s, Apply):
        return None
    found = [_moved(a, slow, fast, n, index) for a in s.args]
    return None if any(x is None for x in found) else Apply(s.op, tuple(x for x in found if x is not None))


def _coordinate(c: Coordinate, slow: Index, fast: Index, n: int, index: Index) -> Coordinate | None:
    if not isinstance(c, Affine):
        return None if free(c) & {slow, fast} else c
    if not c.indices() & {slow, fast}:
        return c
    by, each = c.coefficient(slow).value, c.coefficient(fast).value
    if each and by == n * each:
        return c.substitute({slow: affine(0), fast: affine(index)}) if each == 1 else None
    if c == affine(slow):
        return Apply("idiv", (Position(affine(index)), Const(n, "i64")))
    return Apply("imod", (Position(affine(index)), Const(n, "i64"))) if c == affine(fast) else None
