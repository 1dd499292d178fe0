"""Range analysis: an enclosure of every value of a graph, from enclosures of its inputs.

Sound for real arithmetic and for the float64 interpreter: a value found there always lies inside. Intervals are
propagated through the primitives (ranges_ops) and folds (ranges_fold), sharpened by relations between values
(ranges_facts), so that without knowing anything of an operation

    x - max x <= 0, exp of it <= 1, its sum over n points lies in [1, n], quotients by that sum lie in [0, 1],
    and a sum of values weighted by such quotients lies within the values.

`given` are conditions that hold at the points looked at: the domains of folds around, the branches of selects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from tang_egg import ops
from tang_egg.errors import InputError
from tang_egg.ir import (
    Graph,
    Input,
    Read,
    Scalar,
    tensors_of,
    walk,
)
from tang_egg.ranges_facts import settled
from tang_egg.ranges_ops import LIMITS
from tang_egg.ranges_scalar import NOWHERE, Ranges
from tang_egg.ranges_value import (
    Range,
    between,
)
from tang_egg.rewrite import graph_dims

__all__ = ["Overflow", "Range", "Ranges", "overflows", "range_of", "ranges"]

Wanted: TypeAlias = "Mapping[str, Range | tuple[float, float]]"
LARGEST = {**LIMITS, "tf32": LIMITS["f32"], "e4m3": 448.0, "e5m2": 57344.0}
"""The largest finite value of each type that a value may be held in."""


@dataclass(frozen=True, slots=True)
class Overflow:
    """A value that may leave a type: the expression as text, its enclosure, the type's largest value."""

    term: str
    range: Range
    largest: float

    def __str__(self) -> str:
        return f"{self.term} lies in {self.range}, beyond {self.largest:g}"


def ranges(graph: Graph, inputs: Wanted | None = None, dims: Mapping[str, int] | None = None) -> dict[str, Range]:
    """An enclosure of every input and tensor of a graph, by name.

    `inputs`: enclosures by name, as (lo, hi) or a Range; an input that is not named holds any finite value of its type.
    `dims`: values of symbolic dims; others lie within their declared facts.
    Raises InputError for a name that is no input, and for an interval that is none.
    """
    graph = _bound(graph, dims)
    analysis = Ranges(_checked(graph.inputs, inputs or {}, f"graph '{graph.name}'"))
    found = {i.name: analysis.source(i) for i in graph.inputs}
    found.update({t.name: analysis.source(t) for t in tensors_of(graph.outputs)})
    return found


def range_of(scalar: Scalar, inputs: Wanted | None = None, given: Iterable[Scalar] = ()) -> Range:
    """An enclosure of an open expression wherever its indices are in range and `given` holds."""
    return Ranges(_checked(_inputs_of(scalar), inputs or {}, "an expression")).value(settled(scalar), frozenset(given))


def overflows(
    what: Graph | Scalar, type: str, inputs: Wanted | None = None, dims: Mapping[str, int] | None = None
) -> tuple[Overflow, ...]:
    """The values, partial sums included, that are not proved to stay finite in a type. Empty: a proof that none leaves.

    `type`: "f32", "f16", "bf16", "tf32", "f64", "e4m3" or "e5m2". Infinities that the graph writes do not count; a
    sixteenth is left for rounding.
    """
    if type not in LARGEST:
        raise InputError(f"no float type '{type}'", where="overflows", mend=f"use one of: {', '.join(LARGEST)}")
    if isinstance(what, Graph):
        graph = _bound(what, dims)
        roots: tuple[Scalar, ...] = tuple(t.body for t in tensors_of(graph.outputs))
        declared, where = graph.inputs, f"graph '{graph.name}'"
    else:
        roots, declared, where = (what,), _inputs_of(what), "an expression"
    analysis = Ranges(_checked(declared, inputs or {}, where))
    for root in roots:
        analysis.value(settled(root), NOWHERE)
    found: dict[str, Overflow] = {}
    for s, r in analysis.seen():
        # what is read is not computed here, so nothing is rounded
        if r.size > LARGEST[type] * (1 if isinstance(s, Read) else 15 / 16):
            text = _text(s)
            found.setdefault(text, Overflow(text, r, LARGEST[type]))
    return tuple(found.values())


def _bound(graph: Graph, dims: Mapping[str, int] | None) -> Graph:
    known = {d.name for d in graph_dims(graph)}
    wanted = {k: v for k, v in (dims or {}).items() if k in known}
    return graph.bind(**wanted) if wanted else graph


def _inputs_of(scalar: Scalar) -> tuple[Input, ...]:
    reads = (s.source for s in walk(scalar, into_tensors=True) if isinstance(s, Read))
    return tuple(dict.fromkeys(s for s in reads if isinstance(s, Input)))


def _text(s: Scalar) -> str:
    from tang_egg.text_print import print_scalar

    return print_scalar(s).splitlines()[0]


def _checked(declared: Iterable[Input], wanted: Wanted, where: str) -> dict[str, Range]:
    """The enclosures of the named inputs."""
    inputs = {i.name: i for i in declared}
    found: dict[str, Range] = {}
    for name, given in wanted.items():
        if name not in inputs:
            raise InputError(
                f"there is no input '{name}'", where=where, mend=f"the inputs are: {', '.join(inputs) or 'none'}"
            )
        real = ops.scalar_type(inputs[name].dtype) == "real"
        if isinstance(given, Range):
            found[name] = replace(given, lo=float(given.lo), hi=float(given.hi)) if real else given
            continue
        try:
            lo, hi = (float(x) if real else x for x in given)
            fits = bool(lo <= hi)
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise InputError(
                f"{given!r} is no interval",
                where=f"{where}, the range of input '{name}'",
                mend="give (lo, hi) with lo <= hi, or a Range",
            )
        found[name] = replace(between(lo, hi), whole=not real, negative_zero=lo <= 0 <= hi and real)
    return found
