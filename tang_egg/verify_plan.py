"""The precision plan of a compiled program: the types and the order of summation that its C kernels have.

Orders follow codegen/lower_fold: point by point; by lanes, one partial state for every n-th point and a tree; by tiles
of a stream, whose sums run in lanes of a vector where the tile is read along; by blocks on threads.

What is not told here: the library functions of a kernel (exp, log, tanh ...), which may differ from rounded ones in the
last place; and which of two products of a sum the compiler adds without rounding, taken to be the first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tang_egg.affine import Affine, Index
from tang_egg.errors import TargetError
from tang_egg.ir import Read, Reduce, Scalar, Tensor, free, sources, walk
from tang_egg.precision import Order, Plan
from tang_egg.schedule import Schedule

if TYPE_CHECKING:
    from tang_egg.pipeline_compiled import Compiled

FEW = 2
"""Points that lowering leaves over after full tiles of an axis of constant length."""


def plan_of(compiled: Compiled) -> Plan:
    """The plan under which `interpret(compiled.program.graph, inputs, precision=plan)` is what the C kernels compute.

    Raises TargetError for another target: matrix units add in an order of their own.
    """
    if compiled.target != "c":
        raise TargetError(
            f"no order of summation is known for target '{compiled.target}'",
            where=f"graph '{compiled.graph.name}'",
            mend="compile it for target 'c', or write a Plan by hand",
        )
    orders: dict[tuple[str, str] | str, Order] = {}
    types: dict[str, str] = {}
    for kernel in compiled.program.kernels:
        schedule = compiled.schedules[kernel.name]
        kinds = {t.dtype for t in kernel.outputs} | {s.dtype for t in kernel.outputs for s in sources(t.body)}
        real = schedule.accumulate or ("f64" if "f64" in kinds else "f32")
        for t in kernel.outputs:
            types[t.name] = real
            for s in walk(t.body):
                if isinstance(s, Reduce):
                    index = s.indices[-1]
                    orders[t.name, index.name] = order_of(s, index, schedule, kernel.outputs)
    return Plan(orders=orders, tensors=types, contract=True)


def order_of(s: Reduce, index: Index, schedule: Schedule, outputs: Iterable[Tensor]) -> Order:
    """The order in which lowering runs a fold over its innermost index."""
    plan = schedule.fold_of(index.name)
    size = index.size.value
    fits = size is None or size >= plan.size
    if plan.how == "blocks" and plan.size > 1:
        return Order("blocks", plan.size)
    if plan.how in ("serial", "warp") or plan.size <= 1 or not fits:
        return Order()
    if plan.how == "lanes" and s.monoid.commutative and not s.monoid.followers:
        return Order("lanes", plan.size, ragged=FEW)
    width = 8 if plan.size % 8 == 0 else 4
    inner = width if s.monoid.commutative and plan.size % 4 == 0 and _along(s, index, schedule) else 0
    return Order("stream", plan.size, inner, FEW)


def _along(s: Reduce, index: Index, schedule: Schedule) -> bool:
    """Whether vectors run along the tile: no block of the state is wide enough, or the tile is what is contiguous."""
    held = [i for b in s.body for i in free(b) if schedule.tile_of(i.name) != 1 and i not in s.indices]
    wide = [i for i in held if (schedule.tile_of(i.name) or i.size.value or 0) % 4 == 0]
    if not wide:
        return True
    reads = [x for b in s.body for x in walk(b) if isinstance(x, Read)]
    return any(_steps(x, index) for x in reads) and not any(_steps(x, i) for x in reads for i in wide)


def _steps(read: Scalar, index: Index) -> bool:
    """Whether a read's neighbours along an index are neighbours in memory."""
    last = read.coordinates[-1] if isinstance(read, Read) and read.coordinates else None
    return isinstance(last, Affine) and last.coefficient(index).value == 1
