"""The operations that a graph or a kernel must do at least, by type of operand.

Everything is counted low where it cannot be counted exactly, since floors rest on it. Operations are those of the terms
as they are written. A subterm counts once for every value of the indices that it mentions, which is what remains when
nothing is computed twice. What a domain that depends on data may leave out, or a branch that such a condition selects,
counts nothing, and neither do operations on integers, which may vanish into addresses.
"""

from __future__ import annotations

from typing import TypeAlias

from tang_egg.affine import Index
from tang_egg.cost.live import Conditions, points, reached, spelling, volume, within
from tang_egg.cost.time import WIDTHS, Work
from tang_egg.errors import BindError
from tang_egg.ir import Apply, Graph, Read, Reduce, Scalar, Scan, StateRef, Tensor, children, free, tensors_of, type_of
from tang_egg.monoid import Monoid
from tang_egg.program import KernelPlan

_VANISHING = ("cast", "neg", "min", "max", "select")
"""Operations that may run beside arithmetic or inside of it: signs of operands, comparisons, conversions."""


Counted: TypeAlias = "dict[object, tuple[str, bool, float]]"
"""For each spelling of a term: type of operand, whether it is a sum of products, how many operations."""


def operations(what: Graph | KernelPlan | Tensor) -> tuple[Work, ...]:
    """The operations of a graph by type of operand, sums of products apart; of a kernel, those of its own tensors.

    Raises BindError where a dim is not bound.
    """
    outputs, through = _outputs(what), isinstance(what, Graph)
    found = reached(outputs, through)
    counted: Counted = {}
    inside: set[Scalar] = set()  # multiplications that are counted with the sums that they stand in
    for s, contexts in found.items():
        if isinstance(s, (Reduce, Scan)) and not (isinstance(s, Reduce) and s.where.data):
            for k in s.monoid.needs(s.part):
                _count_fold(s, k, contexts, counted, inside)
    for s, contexts in found.items():
        if isinstance(s, Apply) and s not in inside and s.op not in _VANISHING and type_of(s) == "real":
            _keep(counted, s, s, narrowest(s), False, max(points(free(s), c) for c in contexts))
    total: dict[tuple[str, bool], float] = {}
    for operand, product, count in counted.values():
        total[operand, product] = total.get((operand, product), 0.0) + count
    return tuple(Work(operand, n, product) for (operand, product), n in sorted(total.items()) if n > 0)


def _count_fold(
    s: Reduce | Scan, part: int, contexts: set[Conditions], counted: Counted,
    inside: set[Scalar],
) -> None:  # fmt: skip
    """The additions of a sum, one less than its points; and the multiplications of a sum of products."""
    body = s.body[part]
    if not _adds(s.monoid, part) or type_of(body) != "real":
        return
    indices = frozenset(s.indices) if isinstance(s, Reduce) else frozenset((s.index,))
    if not indices & free(body):  # a multiple of one value
        return
    product = isinstance(body, Apply) and body.op == "mul" and indices <= free(body)
    if product:
        inside.add(body)
    over = free(body) | indices
    most = 0.0
    for c in contexts:
        conditions = within(s, c)
        others = frozenset(i for x in conditions or () for i in x.indices()) - over
        # folds over parts of the same values share what they add, as prefixes do: the mean of them is one of them
        live = points(over | others, conditions) / max(volume(others), 1.0)
        most = max(most, (2.0 if product else 1.0) * live - _results(over - indices, conditions) if live else 0.0)
    _keep(counted, s, body, narrowest(body), product, max(most, 0.0))


def _adds(monoid: Monoid, part: int) -> bool:
    """Whether a part is a sum, also one that a statistic moves: the factor of a move is needed once for each tile."""
    component, combined = monoid.components[part], monoid.combine[part]
    if component.follow is not None:
        return component.follow.base.name == "sum"
    own = (StateRef(side, component.name, component.type) for side in ("left", "right"))
    return combined == Apply("add", tuple(own))  # of a tuple of folds, too


def _results(over: frozenset[Index], conditions: Conditions) -> float:
    """How many results a fold has, at most: those that conditions on them alone leave, where they can be counted."""
    if conditions and all(c.indices() <= over for c in conditions):
        return points(over, conditions) or volume(over)
    return volume(over)


def _keep(counted: Counted, s: Scalar, named: Scalar, operand: str, product: bool, count: float) -> None:
    """Enters a count under what the term computes, so that the same term under other names counts once."""
    if count <= 0:
        return
    try:
        key = (type(s).__name__, spelling(s if s is named else named), product)
    except RecursionError:
        return
    if key not in counted or counted[key][2] < count:
        counted[key] = (operand, product, count)


def narrowest(s: Scalar) -> str:
    """The narrowest type among what a term reads, through the tensors that it reads too; f32 where it reads nothing.

    A product of its values may run in a unit of that type, or of a wider one.
    """
    found: set[str] = set()
    stack, seen = [s], set[Scalar]()
    while stack:
        x = stack.pop()
        if x in seen:
            continue
        seen.add(x)
        if isinstance(x, Read):
            found.add(x.source.dtype)
            if isinstance(x.source, Tensor):
                stack.append(x.source.body)
        stack.extend(children(x))
    return min((t for t in found if t != "bool"), key=lambda t: (WIDTHS[t], t), default="f32")


def _outputs(what: Graph | KernelPlan | Tensor) -> tuple[Tensor, ...]:
    outputs = (what,) if isinstance(what, Tensor) else what.outputs
    dims = sorted({d.name for t in tensors_of(outputs) for n in t.shape for d in n.dims()})
    dims = sorted({d.name for d in what.dims()}) if isinstance(what, Graph) else dims
    if dims:
        raise BindError(
            f"no value for dim {', '.join(dims)}",
            where=f"the operations of '{what.name}'",
            mend=f"bind it first: graph.bind({dims[0]}=…)",
        )
    return outputs
