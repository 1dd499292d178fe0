"""A fold in a given order: one state, or one for each lane of a tile, that takes up point after point.

lanes   point p goes to lane p mod n; at the end halves are combined down to eight lanes, then neighbours
stream  likewise within each tile
tail    what is left after full tiles fills a last tile that ends where the axis does; a few points go one by one
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tang_egg.affine import Index
from tang_egg.interpret_fold import State
from tang_egg.interpret_frame import Array, Frame
from tang_egg.ir import Apply, Scalar, type_of
from tang_egg.monoid import Monoid
from tang_egg.precision import Order

if TYPE_CHECKING:
    from tang_egg.interpret_precision import OrderedFolds


def product_of(s: Scalar) -> tuple[Scalar, Scalar, bool] | None:
    """The two factors of a product or a negated one, and whether it is not negated."""
    negated = isinstance(s, Apply) and s.op == "neg"
    inner = s.args[0] if isinstance(s, Apply) and negated else s
    if isinstance(inner, Apply) and inner.op == "mul" and type_of(inner) == "real":
        return inner.args[0], inner.args[1], not negated
    return None


@dataclass(frozen=True, slots=True)
class Step:
    """How one state takes up another: a ufunc for each component that folds alone, the combine for the rest."""

    monoid: Monoid
    alone: Mapping[int, np.ufunc]
    together: tuple[int, ...]
    base: Frame


class Run:
    """A fold under way: its state, and the partial states of the lanes of a tile."""

    def __init__(self, folds: OrderedFolds, step: Step, order: Order, type: str, extent: int, index: Index) -> None:
        self.folds, self.step, self.type, self.extent = folds, step, type, extent
        self.order = order if order.how != "blocks" else Order()
        self.blocks = order.size if order.how == "blocks" else 0
        symbolic = index.size.value is None
        self.width, self.tile = self._widths(order)
        full = extent // self.tile * self.tile
        few = extent - full <= order.ragged and not symbolic
        self.full = full
        # where the last points are taken one by one: few of them, or an axis shorter than a tile
        self.single = full if few or extent < self.tile else extent
        self.identity = self._identity()
        self.state = dict(self.identity)
        self.lanes: State | None = None
        self.whole: State | None = None
        self.leaves: list[State] = []
        share = -(-extent // (64 * self.blocks)) * 64 if self.blocks else 0
        self.share = share

    def _widths(self, order: Order) -> tuple[int, int]:
        if order.how == "lanes":
            return order.size, order.size
        if order.how == "stream" and order.inner > 1:
            return order.inner, order.size
        return 1, 1

    def _identity(self) -> State:
        step = self.step
        return {k: self.folds.neutral(step.monoid, k, step.base) for k in (*step.alone, *step.together)}

    def feed(self, points: State, factors: Mapping[int, tuple[Array, Array]], start: int) -> None:
        """Takes up neighbouring points of the innermost index, the first at `start`."""
        count = len(next(iter(points.values())))
        if self.order.how == "tree":
            self._leaf(points, factors, count)
            return
        at = 0
        while at < count:
            p = start + at
            if self.blocks and p % self.share == 0 and p:
                self._next_block()
            stop = self._segment(p, start + count) - start
            cut = slice(at, stop)
            part = {k: a[cut] for k, a in points.items()}
            pairs = {k: (a[cut], b[cut]) for k, (a, b) in factors.items()}
            if self.width == 1 or p >= self.single:
                self.state = self.folds.taken(self.step, self.state, part, pairs, self.type)
            else:
                self._in_lanes(part, pairs, p)
            at = stop
        if self.blocks and start + count == self.extent:
            self._next_block()

    def _segment(self, p: int, stop: int) -> int:
        """Where the points that are taken up at once, from p on, end."""
        if self.width == 1 or p >= self.single:
            return p + 1
        offset = p if p < self.full else p - (self.extent - self.tile)
        return min(stop, p + self.width - offset % self.width, self.full if p < self.full else self.extent)

    def _in_lanes(self, part: State, pairs: Mapping[int, tuple[Array, Array]], p: int) -> None:
        if self.lanes is None:
            self.lanes = {k: np.repeat(a, self.width, axis=0) for k, a in self.identity.items()}
        offset = p if p < self.full else p - (self.extent - self.tile)
        low = offset % self.width
        count = len(next(iter(part.values())))
        held = {k: a[low : low + count] for k, a in self.lanes.items()}
        new = self.folds.taken(self.step, held, part, pairs, self.type)
        self.lanes = {k: _placed(self.lanes[k], new[k], low) for k in self.lanes}
        last = p + count
        tiled = self.order.how == "stream" and (last % self.tile == 0 if last <= self.full else False)
        if tiled or last == self.extent or last == self.single:
            self._flush()

    def _flush(self) -> None:
        """The lanes combined as kernels do: halves down to eight, then neighbours, then into the state."""
        assert self.lanes is not None
        lanes, width = self.lanes, self.width
        while width > 8 and width % 2 == 0:
            width //= 2
            left, right = ({k: a[n : n + width] for k, a in lanes.items()} for n in (0, width))
            lanes = self.folds.merged(self.step, left, right, self.type)
        total = self._neighbours([{k: a[n : n + 1] for k, a in lanes.items()} for n in range(width)])
        self.state = self.folds.merged(self.step, self.state, total, self.type)
        self.lanes = None

    def _neighbours(self, states: list[State]) -> State:
        while len(states) > 1:
            pairs = [states[n : n + 2] for n in range(0, len(states), 2)]
            states = [self.folds.merged(self.step, p[0], p[1], self.type) if len(p) > 1 else p[0] for p in pairs]
        return states[0]

    def _next_block(self) -> None:
        self.whole = (
            self.state if self.whole is None else self.folds.merged(self.step, self.whole, self.state, self.type)
        )
        self.state = dict(self.identity)

    def _leaf(self, points: State, factors: Mapping[int, tuple[Array, Array]], count: int) -> None:
        for n in range(count):
            cut = slice(n, n + 1)
            part = {k: a[cut] for k, a in points.items()}
            pairs = {k: (a[cut], b[cut]) for k, (a, b) in factors.items()}
            self.leaves.append(self.folds.taken(self.step, self.identity, part, pairs, self.type))

    def result(self) -> State:
        """The state of all points."""
        if self.leaves:
            return self._neighbours(self.leaves)
        if self.whole is None:
            return self.state
        return self.whole


def _placed(lanes: Array, new: Array, low: int) -> Array:
    shape = (len(lanes), *np.broadcast_shapes(lanes.shape[1:], new.shape[1:]))
    made = np.array(np.broadcast_to(lanes, shape))
    made[low : low + len(new)] = new
    return made
