"""Splitting a stream over blocks, where tiles of rows and columns alone leave most of the chip idle.

    out = f(fold over k of lifts)
      part_n[s, ...] = component n of the fold over the s-th share of k            kernel 1
      out = f(fold over s of the partial states)                                   kernel 2

The second fold is under the same monoid. A head lifts to its partial value. A follower's partial value belongs to the
statistic of its own share, so it lifts to its rebase from there: rebase(self = part, from = share's, to = at).
"""

from __future__ import annotations

from math import prod

from tang_egg.affine import Index, affine
from tang_egg.codegen.candidates_device import device_schedules, is_narrow, least_columns
from tang_egg.codegen.mma_operand import Refused
from tang_egg.codegen.mma_plan import Plan, plan
from tang_egg.codegen.pack_plan import replaced
from tang_egg.codegen.partition import reading
from tang_egg.ir import (
    EVERYWHERE,
    Apply,
    Domain,
    Read,
    Reduce,
    Scalar,
    StateRef,
    Statistic,
    Tensor,
    free,
)
from tang_egg.monoid import replace_state, state_of
from tang_egg.program import KernelPlan, Program, unique
from tang_egg.rewrite import substitute

SHARE, KEYS = 1024, 256
"""Points of the stream that a share has at least; and in a long stream, where each point has a product of its own."""


def split_streams(program: Program, units: int, rows: int = 128, columns: int = 256, rounds: bool = False) -> Program:
    """The program with streams split where their tiles fill less than half of `units` multiprocessors.

    `rounds`: operands of f32 may be rounded for matrix units; else they are for plain threads.
    """
    kernels: list[KernelPlan] = []
    changed: dict[Tensor, Tensor] = {}
    taken = {t.name for t in program.tensors} | {i.name for i in program.graph.inputs}
    for k in program.kernels:
        outputs = tuple(reading(t, changed) for t in k.outputs)
        pieces = _split(outputs, units, rows, columns, taken, rounds)
        if pieces is None:
            kernels.append(KernelPlan(k.name, outputs, k.laws))
        else:
            parts, outputs = pieces
            kernels.append(KernelPlan(parts[0].name, parts, k.laws))
            kernels.append(KernelPlan(k.name, outputs, k.laws))
        changed |= {old: new for old, new in zip(k.outputs, outputs, strict=True) if old is not new}
    graph = program.graph
    last = tuple(changed.get(t, t) for t in graph.outputs)
    return Program(type(graph)(graph.name, graph.inputs, last), tuple(kernels))


def _split(
    outputs: tuple[Tensor, ...], units: int, rows: int, columns: int, taken: set[str], rounds: bool
) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]] | None:
    try:
        p = plan(outputs)
    except Refused:
        return None
    columns = least_columns(p) if is_narrow(p) else columns
    shares = shares_of(p, units, rows, columns)
    if shares < 2:
        return None
    size = p.stream.size.value
    assert size is not None
    share, inside = (
        Index(f"{p.stream.name}_share", affine(shares)),
        Index(f"{p.stream.name}_in", affine(size // shares)),
    )
    moved = {p.stream: affine(share) * (size // shares) + inside}
    where = Domain(
        tuple(c.substitute(moved) for c in p.group.where.affine),  # type: ignore[arg-type]
        tuple(substitute(d, moved) for d in p.group.where.data),
    )
    body = tuple(substitute(b, moved) for b in p.group.body)
    parts: dict[int, Tensor] = {}
    for n in (*p.rows, *(m.part for m in p.matrices)):
        tile = (p.column, p.row) if p.turned else (p.row, p.column)
        axes = (share, *(i for i in (*p.batch, *tile) if i is not None and i in free(p.part_of(n))))
        kind = p.group.monoid.components[n].type
        fold = Reduce(p.group.monoid, (inside,), where, body, n)
        parts[n] = Tensor(unique(f"{outputs[0].name}_share", taken), axes, fold, "f32" if kind == "real" else kind)
    reads = {n: Read(t, tuple(affine(i) for i in t.axes)) for n, t in parts.items()}
    lifts = tuple(_lift(p, n, reads) for n in range(len(p.group.body)))
    if device_schedules(tuple(parts.values()), precise=not rounds)[0].shape != "mma":
        return None
    final = {p.part_of(n): Reduce(p.group.monoid, (share,), EVERYWHERE, lifts, n) for n in parts}
    return tuple(parts.values()), tuple(
        Tensor(t.name, t.axes, replaced(t.body, final), t.dtype, t.into, t.at) for t in outputs
    )


def shares_of(p: Plan, units: int, rows: int = 128, columns: int = 256) -> int:
    """How many shares fill the chip once; 1 where splitting gains nothing or sizes are not known."""
    sizes = [i.size.value for i in (p.row, p.stream, *p.batch)]
    if None in sizes or p.stream.size.value is None or p.carried is not None or not _whole(p):
        return 1
    row, stream, *batch = (n for n in sizes if n is not None)
    tiles = -(-row // rows) * prod(batch)
    if p.column is not None:
        if p.column.size.value is None:
            return 1
        tiles *= -(-p.column.size.value // columns)
    each = KEYS if p.contractions and stream >= 2 * SHARE else SHARE
    most = min(units // tiles, stream // each) if tiles else 1
    return next((n for n in range(most, 1, -1) if stream % (16 * n) == 0), 1)


def _whole(p: Plan) -> bool:
    """Whether every component of the state is one that the outputs need: the second fold lifts them all."""
    return {*p.rows, *(m.part for m in p.matrices)} == set(range(len(p.group.body)))


def _lift(p: Plan, n: int, reads: dict[int, Read]) -> Scalar:
    follow = p.group.monoid.components[n].follow
    if follow is None:
        return reads[n]
    values: dict[str, Scalar] = {p.group.monoid.components[k].name: r for k, r in reads.items()}
    start, empty = tuple(state_of(s, values) for s in follow.statistics), state_of(follow.empty, values)

    def of(x: Scalar) -> Scalar | None:
        if isinstance(x, Statistic):
            return Statistic("at", x.type, x.part) if x.which == "to" else start[x.part]
        return values[x.component] if isinstance(x, StateRef) else None

    # a share in which nothing was live has no statistic to move from
    return Apply("select", (empty, follow.base.identity[0], replace_state(follow.rebase, of)))
