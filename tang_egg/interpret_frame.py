"""Scopes of the interpreter: which array axis an index lies on, and which of its points are looked at.

Axes are counted from the right and a nested frame adds axes on the left, so that a value computed outside broadcasts
into every frame inside without reshaping.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any, TypeAlias

import numpy.typing as npt

from tang_egg.affine import Index
from tang_egg.ir import Reduce, Scalar, Scan, StateRef, children

Array: TypeAlias = "npt.NDArray[Any]"
FoldKey: TypeAlias = "tuple[Any, ...]"
States: TypeAlias = "dict[tuple[str, str], tuple[Array, tuple[tuple[Index, int], ...]]]"
"""By side and component: the array, and the axis position of each of the component's own axes."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Where an index lies: array axis `-position`, points `start` to `stop` - 1; `level` of the frame that binds it."""

    position: int
    start: int
    stop: int
    level: int

    @property
    def extent(self) -> int:
        return self.stop - self.start


@dataclass(slots=True)
class Frame:
    """A scope: what each index means, and the values known in it. `states`: the two states inside a combine.

    `outer` are the frames around it, outermost first. A frame does not refer to itself, so that the values of a block
    are given back as soon as the block is done, not at the next garbage collection.
    """

    outer: tuple[Frame, ...]
    ndim: int
    scope: dict[Index, Axis]
    states: States | None = None
    states_level: int = 0
    values: dict[Scalar, Array] = field(default_factory=dict)
    faults: dict[Scalar, Array] = field(default_factory=dict)
    folds: dict[FoldKey, dict[int, Array]] = field(default_factory=dict)

    @property
    def level(self) -> int:
        """The number of frames around this one."""
        return len(self.outer)

    def around(self, level: int) -> Frame:
        """The frame of that level which is this one or holds it."""
        return self if level == self.level else self.outer[level]

    def child(self, ranges: Sequence[tuple[Index, int, int]]) -> Frame:
        """A frame inside this one that binds `ranges` (index, start, stop); the last gets the rightmost new axis."""
        scope = dict(self.scope)
        for n, (i, start, stop) in enumerate(reversed(ranges)):
            scope[i] = Axis(self.ndim + n + 1, start, stop, self.level + 1)
        return Frame((*self.outer, self), self.ndim + len(ranges), scope, None, self.states_level)

    def combining(self, states: States) -> Frame:
        """A frame for a monoid's combine: one unnamed axis on the left, along which the states are aligned."""
        return Frame((*self.outer, self), self.ndim + 1, dict(self.scope), states, self.level + 1)


def root_frame() -> Frame:
    """The outermost scope: nothing is bound."""
    return Frame((), 0, {})


@lru_cache(maxsize=1 << 16)
def mentions_state(s: Scalar) -> bool:
    """Whether a value depends on the states that a combine is given."""
    return isinstance(s, StateRef) or any(mentions_state(c) for c in children(s))


def fold_key(s: Reduce | Scan) -> FoldKey:
    """What folds share that are components of one state."""
    if isinstance(s, Reduce):
        return (s.monoid, s.indices, s.where, s.body)
    return (s.monoid, s.index, s.body)


def blocks(
    order: Sequence[Index], sizes: Mapping[Index, int], steps: Mapping[Index, int]
) -> Iterator[list[tuple[Index, int, int]]]:
    """The boxes that tile the points of `order`, row-major, each as (index, start, stop) for every index."""
    cuts = [
        [(i, n, min(n + steps[i], sizes[i])) for n in range(0, sizes[i], steps[i])] if sizes[i] else [(i, 0, 0)]
        for i in order
    ]
    for ranges in product(*cuts):
        yield list(ranges)
