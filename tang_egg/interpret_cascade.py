"""A cascade as kernels run it (tang_egg.codegen.lower_update), in the types of a plan.

For each tile: the head is folded and combined; then each follower is carried from the old statistics to the new ones,
and the terms of the tile are taken up under the new ones, followers of followers last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tang_egg.interpret_fold import LIVE, State, ufunc_of
from tang_egg.interpret_frame import Array, Frame
from tang_egg.interpret_order import Run, Step, product_of
from tang_egg.ir import Apply, Reduce, Scalar, StateRef, Statistic
from tang_egg.monoid import Monoid, replace_state, unmoved
from tang_egg.precision import Order

if TYPE_CHECKING:
    from tang_egg.interpret_precision import OrderedFolds


class Cascade:
    """A cascade under way: tile by tile, the head first, then the followers under the new statistics."""

    def __init__(self, folds: OrderedFolds, s: Reduce, parts: Sequence[int], base: Frame) -> None:
        self.folds, self.s, self.base = folds, s, base
        self.type, self.order = folds.of(s)
        needed = frozenset[int]().union(*(s.monoid.needs(k) for k in parts))
        self.head = [k for k in sorted(needed) if s.monoid.components[k].follow is None]
        self.following = [k for k in sorted(needed) if k not in self.head]

    def run(self) -> State:
        """The state of all points."""
        s, evaluator = self.s, self.folds.evaluator
        state = {k: self.folds.neutral(s.monoid, k, self.base) for k in (*self.head, *self.following)}
        (j,) = s.indices
        n = evaluator.size(j)
        tile = self.order.size if self.order.how == "stream" else 1
        for start in range(0, n, tile):
            frame = self.base.child([(j, start, min(n, start + tile))])
            state = self._tile(state, frame)
        return {k: a[0] for k, a in state.items()}

    def _tile(self, state: State, frame: Frame) -> State:
        s, folds, monoid = self.s, self.folds, self.s.monoid
        mask = folds.mask(s.where, frame)
        live = {} if mask is None else {LIVE: folds.flattened(s, mask, frame)}
        old = {k: state[k] for k in self.head}
        new = self._new_head(old, frame, live)
        for k in self.following:  # in order: a statistic may mention followers before its own
            follow = monoid.components[k].follow
            assert follow is not None
            new[k] = self._followed(k, follow.base, self._carried(k, state, new), new, frame, live)
        return new

    def _new_head(self, old: State, frame: Frame, live: State) -> State:
        s, folds = self.s, self.folds
        alone = {k: u for k in self.head if (u := ufunc_of(s.monoid, k)) is not None}
        step = Step(s.monoid, alone, tuple(k for k in self.head if k not in alone), self.base)
        points = {k: folds.flattened(s, folds.evaluator.value(s.body[k], frame), frame) for k in self.head}
        count = len(next(iter(points.values())))
        part = {k: folds.neutral(s.monoid, k, self.base) for k in self.head}
        for n in range(count):
            one = {k: a[n : n + 1] for k, a in (*points.items(), *live.items())}
            part = folds.taken(step, part, one, {}, self.type)
        return folds.merged(step, old, part, self.type)

    def _carried(self, k: int, state: State, new: State) -> Array:
        """A follower moved from the old statistics to the new ones."""
        monoid, folds = self.s.monoid, self.folds
        follow = monoid.components[k].follow
        assert follow is not None
        start = follow.statistics
        to = tuple(_on_side(x, "to") for x in start)

        def moved(x: Scalar) -> Scalar | None:
            return (to if x.which == "to" else start)[x.part] if isinstance(x, Statistic) else None

        own = StateRef("self", monoid.components[k].name, monoid.components[k].type)
        kept = Apply("select", (follow.empty, follow.base.identity[0], replace_state(follow.rebase, moved)))
        whole = Apply("select", (unmoved(start, to), own, kept))
        frame = folds.states_frame(monoid, {"self": state, "to": new}, self.base)
        with folds.evaluator.working_in(self.type):
            value = folds.evaluator.value(whole, frame)
        return value.reshape((1,) * (frame.ndim - value.ndim) + value.shape)

    def _followed(self, k: int, base: Monoid, state: Array, new: State, frame: Frame, live: State) -> Array:
        """A follower with the terms of a tile taken up under the new statistics."""
        s, folds, evaluator = self.s, self.folds, self.folds.evaluator
        follow = s.monoid.components[k].follow
        assert follow is not None
        to = tuple(_on_side(x, "to") for x in follow.statistics)
        body = replace_state(s.body[k], lambda x: to[x.part] if isinstance(x, Statistic) else None)
        (j,) = s.indices
        axis = frame.scope[j]
        held = folds.states_frame(s.monoid, {"to": new}, self.base)
        inner = held.child([(j, axis.start, axis.stop)])
        product = product_of(body) if evaluator.plan.contract and ufunc_of(base, 0) is np.add else None

        def elements(x: Scalar) -> Array:
            value = evaluator.value(x, inner)
            full = value.reshape((1,) * (inner.ndim - value.ndim) + value.shape)
            full = np.broadcast_to(full, (axis.extent, *full.shape[1:]))
            return full.reshape((axis.extent, *full.shape[2:]))  # the axis along which states are aligned is one

        pairs: dict[int, tuple[Array, Array]] = {}
        if product is None:
            points = {0: elements(body)}
        else:
            a, b = elements(product[0]), elements(product[1])
            pairs = {0: (a if product[2] else -a, b)}
            points = {0: np.broadcast_to(np.zeros(()), np.broadcast_shapes(a.shape, b.shape))}
        points.update(live)
        ufunc = ufunc_of(base, 0)
        step = Step(base, {} if ufunc is None else {0: ufunc}, () if ufunc is not None else (0,), self.base)
        inner_lanes = Order("lanes", self.order.inner) if self.order.inner > 1 else Order()
        run = Run(folds, step, inner_lanes, self.type, axis.extent, j)
        run.state = {0: state}
        run.feed(points, pairs, 0)
        return run.result()[0]


def _on_side(s: Scalar, side: str) -> Scalar:
    return replace_state(
        s, lambda x: StateRef(side, x.component, x.type, x.coordinates) if isinstance(x, StateRef) else None
    )
