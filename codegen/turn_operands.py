"""Operands of 32 or 8 bits that lie across the contraction are turned before the product that needs them along it.

    Σ_k P[i, k] V[k, c], V of another kernel       →  that kernel writes V'[c, k] instead; Σ_k P[i, k] V'[c, k]
    the same, V an input or wanted as it stands     →  V'[c, k] = V[k, c] in a kernel of its own

Matrix units read such operands from shared memory along the contraction only; a left operand may come through
registers instead (mma_plan), so this is for right ones, and for those of a product inside a fold. The first way costs
nothing, and is taken where all who write or read V stay on the matrix units with it. The second one is taken where the
copy and the product on matrix units are estimated to take less time than the product on plain threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import prod

from tang_egg.affine import Index, affine
from tang_egg.codegen.candidates_device import planned
from tang_egg.codegen.candidates_fold import size_of
from tang_egg.codegen.mma_memory import lying_across
from tang_egg.codegen.mma_operand import Operand, Refused
from tang_egg.codegen.mma_plan import Plan, plan
from tang_egg.cost.roofline import MATRIX_UNITS, PLAIN_THREADS
from tang_egg.ir import Coordinate, Read, Source, Tensor, sources, walk
from tang_egg.ops import BYTES
from tang_egg.program import KernelPlan, Program, unique
from tang_egg.rewrite import replace_reads


def turn_operands(program: Program, rounded: bool = True) -> Program:
    """The program with such operands turned; the same object if there are none, or where it would not pay.

    `rounded`: operands of f32 may be rounded for matrix units; else they stay as they lie.
    """
    place = 0
    while place < len(program.kernels):
        found = _turned(program, place, rounded)
        place += 1 + len(found.kernels) - len(program.kernels)
        program = found
    return program


def copies(program: Program) -> tuple[Tensor, ...]:
    """The tensors of kernels that do nothing but copy."""
    pure = [k for k in program.kernels if all(isinstance(t.body, Read) for t in k.outputs)]
    return tuple(t for k in pure for t in k.outputs)


def copying(made: Iterable[Tensor]) -> float:
    """Seconds to copy tensors, launches left out: each element is read and written."""
    moved = sum(prod(size_of(i) for i in t.axes) * BYTES[t.dtype] for t in made)
    return 2.0 * moved / MATRIX_UNITS.memory


def multiplying(p: Plan) -> tuple[float, float]:
    """Seconds of a plan's products, on matrix units and on plain threads."""
    points = prod(size_of(i) for i in (p.row, p.stream, *p.batch))
    outer = len(p.matrices) * points * (size_of(p.column) if p.column is not None else 1)
    inner = points * sum(size_of(c.index) for c in p.contractions)
    # the rate of the units is that of 16 bits
    units = (inner + outer) * BYTES[p.dtype] / 2 / MATRIX_UNITS.flops
    plain = (inner * PLAIN_THREADS.nested + outer) * PLAIN_THREADS.product / PLAIN_THREADS.flops
    return units, plain


def _turned(program: Program, place: int, rounded: bool) -> Program:
    """The program with all operands of one kernel turned; the same where that is not possible or would not pay."""
    found, at = program, place
    while (operand := _across(found.kernels[at].outputs, rounded)) is not None:
        after = _relaid(found, at, operand, rounded) or _copied(found, at, operand)
        at += len(after.kernels) - len(found.kernels)
        found = after
    if found is program:
        return program
    p = planned(found.kernels[at].outputs, not rounded)
    fresh = [t for t in copies(found) if t not in copies(program)]
    if p is None:
        return program
    units, plain = multiplying(p)
    return found if units + copying(fresh) + len(fresh) * MATRIX_UNITS.launch < plain else program


def _across(outputs: tuple[Tensor, ...], rounded: bool) -> Operand | None:
    """The first operand that keeps a kernel from matrix units by how it lies."""
    try:
        found = plan(outputs)
    except Refused:
        return None
    return next(iter(lying_across(found)), None) if rounded or found.dtype != "f32" else None


def _swapped(o: Operand) -> tuple[int, ...]:
    """The axes of an operand's source, the last one and the other one of the operand exchanged."""
    order = list(range(len(o.read.coordinates)))
    order[o.lead], order[-1] = order[-1], order[o.lead]
    return tuple(order)


def _reading(
    t: Tensor, made: dict[Tensor, Tensor], turns: Callable[[Read], bool], new: Tensor, order: tuple[int, ...]
) -> Tensor:
    """A tensor whose reads of which `turns` holds read `new`, and the others what was made anew; noted in `made`."""
    if t in made:
        return made[t]
    reads = [s for s in walk(t.body) if isinstance(s, Read)]
    if not any(turns(s) or s.source in made for s in reads):
        return t

    def moved(x: Read, at: tuple[Coordinate, ...]) -> Read:
        if turns(x):
            return Read(new, tuple(at[n] for n in order), x.at)
        return Read(made.get(x.source, x.source) if isinstance(x.source, Tensor) else x.source, at, x.at)

    made[t] = replace(t, body=replace_reads(t.body, moved))
    return made[t]


def _relaid(program: Program, place: int, o: Operand, rounded: bool) -> Program | None:
    """The program with a temporary stored in another order; None where somebody needs it as it is.

    Who made it on matrix units has to go on doing so, and who reads it has to read it there.
    """
    old, order = o.read.source, _swapped(o)
    if not isinstance(old, Tensor) or old.into or old not in program.tensors or _wanted(program, old):
        return None
    new = replace(old, axes=tuple(old.axes[n] for n in order))
    made = {old: new}
    kernels: list[KernelPlan] = []
    for n, k in enumerate(program.kernels):
        outputs = tuple(_reading(t, made, lambda s: s.source is old, new, order) for t in k.outputs)
        kernels.append(replace(k, outputs=outputs))
        reads = any(old in sources(t.body) for t in k.outputs)
        if n != place and (reads or old in k.outputs) and planned(outputs, not rounded) is None:
            if reads or planned(k.outputs, not rounded) is not None:
                return None
    graph = program.graph
    return Program(replace(graph, outputs=tuple(made.get(t, t) for t in graph.outputs)), tuple(kernels))


def _wanted(program: Program, t: Tensor) -> bool:
    """Whether a tensor is an output of the graph, or read by one that no kernel makes."""
    made = set(program.tensors)
    return any(x is t or (x not in made and t in sources(x.body)) for x in program.graph.outputs)


def _copied(program: Program, place: int, o: Operand) -> Program:
    """The program with a turned copy of an operand's source for one of its kernels; one that is there serves again."""
    k, old, order = program.kernels[place], o.read.source, _swapped(o)
    axes = old.axes if isinstance(old, Tensor) else tuple(Index(f"i{n}", s) for n, s in enumerate(old.shape))
    taken = {i.name for i in program.graph.inputs} | {t.name for t in program.tensors}
    taken |= {x.name for x in program.kernels} | {t.name for t in program.graph.outputs}
    there = [t for x in program.kernels[:place] for t in x.outputs]
    new = next((t for t in there if _copies(t, old, order)), None)
    before: tuple[KernelPlan, ...] = ()
    if new is None:
        name = unique(f"{old.name}_turned", taken)
        new = Tensor(name, tuple(axes[n] for n in order), Read(old, tuple(map(affine, axes))), old.dtype)
        before = (KernelPlan(name, (new,)),)
    made: dict[Tensor, Tensor] = {}
    outputs = tuple(_reading(t, made, lambda s: s == o.read, new, order) for t in k.outputs)
    kernels = [*program.kernels[:place], *before, replace(k, outputs=outputs)]
    for x in program.kernels[place + 1 :]:
        kernels.append(replace(x, outputs=tuple(_reading(t, made, lambda s: False, new, order) for t in x.outputs)))
    graph = program.graph
    return Program(replace(graph, outputs=tuple(made.get(t, t) for t in graph.outputs)), tuple(kernels))


def _copies(t: Tensor, old: Source, order: tuple[int, ...]) -> bool:
    """Whether a tensor is a source with its axes in another order and nothing else."""
    if not isinstance(t.body, Read) or t.body.source is not old or t.dtype != old.dtype:
        return False
    at, sizes = t.body.coordinates, old.shape
    return all(at[n] == affine(i) and i.size == sizes[n] for n, i in zip(order, t.axes, strict=True))
