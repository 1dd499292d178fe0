"""The interpreter in the types and the order of a plan: what a kernel that runs so computes.

Every operation is rounded to the type of its tensor's arithmetic, constants and what is read too; what is stored is
rounded to its storage type; the states of folds are combined in the plan's order, each combination rounded to the type
of the accumulator. Library functions are those of float64, rounded: a kernel's own may differ in the last place.

Folds run in interpret_order, cascades in interpret_cascade.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from tang_egg import ops
from tang_egg.interpret_cascade import Cascade
from tang_egg.interpret_fold import LIVE, Folds, State, split_parts
from tang_egg.interpret_frame import Array, Frame, root_frame
from tang_egg.interpret_order import Run, Step, product_of
from tang_egg.interpret_value import Evaluator
from tang_egg.ir import Apply, Const, Read, Reduce, Scalar, Scan, Source, Statistic, Tensor, type_of, walk
from tang_egg.monoid import Monoid, lifts
from tang_egg.precision import Order, Plan, fused, round_to

if TYPE_CHECKING:
    from tang_egg.ir import Graph

EXACT = frozenset({"neg", "max", "min", "select", "floor"})
"""Operations that give one of their operands, or a value that any type of them holds."""


class Emulator(Evaluator):
    """Evaluates tensors under a plan; see the module text."""

    def __init__(
        self, arrays: Mapping[str, Array], dims: Mapping[str, int], checked: bool, memory: int, plan: Plan, graph: Graph
    ) -> None:
        declared = {i.name: i.dtype for i in graph.inputs}
        held = {name: self._held(plan, name, declared[name], a) for name, a in arrays.items()}
        super().__init__(held, dims, checked, memory)
        self.plan = plan
        self.folds = OrderedFolds(self)
        self.type = "f64"
        self.owner = ""
        self.roots: dict[str, Frame] = {}

    @staticmethod
    def _held(plan: Plan, name: str, dtype: str, array: Array) -> Array:
        if dtype not in ops.FLOATS and name not in plan.storage:
            return array
        return (
            round_to(array, plan.storage.get(name, dtype), saturate=plan.saturate) if array.dtype.kind == "f" else array
        )

    def tensor(self, t: Tensor) -> Array:
        """The value of a tensor as it is stored."""
        if t not in self.tensors:
            before = (self.type, self.owner, self.root, self.parts)
            self.type, self.owner = arithmetic(self.plan, t), t.name
            # values without indices are shared by all tensors that compute in the same type
            self.root = self.roots.setdefault(self.type, root_frame())
            try:
                array = super().tensor(t)
            finally:
                self.type, self.owner, self.root, self.parts = before
            self.tensors[t] = self._held(self.plan, t.name, t.dtype, array)
        return self.tensors[t]

    @contextmanager
    def working_in(self, type: str) -> Iterator[None]:
        """Operations inside are rounded to a type."""
        before = self.type
        self.type = type
        try:
            yield
        finally:
            self.type = before

    def _compute(self, s: Scalar, frame: Frame) -> Array | np.generic:
        if type_of(s) != "real" or self.type == "f64":
            return super()._compute(s, frame)
        if isinstance(s, Apply) and s.op == "add" and self.plan.contract:
            for n in (0, 1):
                factors = product_of(s.args[n])
                if factors is not None:
                    a, b = (self.value(x, frame) for x in factors[:2])
                    return fused(a if factors[2] else -a, b, self.value(s.args[1 - n], frame), self.type)
        found = super()._compute(s, frame)
        if isinstance(s, Apply):
            return found if s.op in EXACT else round_to(found, self.type)
        return round_to(found, self.type) if isinstance(s, (Const, Read)) else found


def arithmetic(plan: Plan, t: Tensor) -> str:
    """The type of the operations in a tensor's body."""
    if t.name in plan.tensors:
        return plan.tensors[t.name]
    if plan.arithmetic:
        return plan.arithmetic
    read: list[Source] = [s.source for s in walk(t.body) if isinstance(s, Read)]
    return "f64" if "f64" in (t.dtype, *(s.dtype for s in read)) else "f32"


class OrderedFolds(Folds):
    """Folds whose points are combined in the order of the plan."""

    evaluator: Emulator

    def __init__(self, evaluator: Emulator) -> None:
        super().__init__(evaluator)
        self.evaluator = evaluator

    # What the plan says of a fold.

    def of(self, s: Reduce | Scan) -> tuple[str, Order]:
        plan, owner = self.evaluator.plan, self.evaluator.owner
        index = s.indices[-1] if isinstance(s, Reduce) else s.index
        kind = plan.accumulate.get((owner, index.name), plan.accumulate.get(owner, self.evaluator.type))
        return kind, plan.orders.get((owner, index.name), plan.orders.get(owner, plan.order))

    def _fold_alone(self, s: Reduce, lift: Scalar, part: int, ufunc: np.ufunc, base: Frame) -> Array:
        if s.monoid.components[part].type != "real":
            return super()._fold_alone(s, lift, part, ufunc, base)
        lifted = {part: lift}
        return self._ordered(s, lifted, Step(s.monoid, {part: ufunc}, (), base))[part]

    def _fold_together(self, s: Reduce, lifted: tuple[Scalar, ...], parts: list[int], base: Frame) -> State:
        monoid = s.monoid
        streams = monoid.followers and all(
            any(isinstance(x, Statistic) for x in walk(s.body[k])) for k in monoid.followers
        )
        if streams and len(s.indices) == 1:
            return Cascade(self, s, parts, base).run()
        return self._ordered(s, {k: lifted[k] for k in parts}, Step(monoid, {}, tuple(parts), base))

    def neutral(self, monoid: Monoid, k: int, base: Frame) -> Array:
        """The identity of a component, with a leading axis of one state."""
        return self._led(self.evaluator.value(monoid.identity[k], base), 1, base.ndim + 1)

    # One state takes up another.

    def merged(self, step: Step, left: State, right: State, type: str) -> State:
        """Combined states, aligned along their leading axis."""
        found: State = {}
        with self.evaluator.working_in(type), np.errstate(all="ignore"):
            for k, ufunc in step.alone.items():
                made = ufunc(left[k], right[k])
                found[k] = made if step.monoid.components[k].type != "real" else round_to(made, type)
            if step.together:
                left_, right_ = ({k: side[k] for k in step.together} for side in (left, right))
                found.update(self.combine(step.monoid, left_, right_, step.base))
        return found

    def taken(
        self, step: Step, left: State, right: State, factors: Mapping[int, tuple[Array, Array]], type: str
    ) -> State:
        """A state with elements taken up, where they count; `factors` of summed products are multiplied exactly."""
        found = self.merged(step, left, {k: right[k] for k in left}, type) if not factors else {}
        for k, (a, b) in factors.items():
            found[k] = fused(a, b, left[k], type)
        if LIVE in right:
            live = right[LIVE]
            found = {k: np.where(live, found[k], left[k]) for k in left}
        return found

    # The points of a fold.

    def _ordered(self, s: Reduce, lifted: Mapping[int, Scalar], step: Step) -> State:
        type, order = self.of(s)
        plan, base = self.evaluator.plan, step.base
        factors: dict[int, tuple[Scalar, Scalar, bool]] = {}
        if (plan.contract or plan.operands) and len(lifted) == 1:
            for k, ufunc in step.alone.items():
                product = product_of(lifted[k]) if ufunc is np.add else None
                if product is not None:
                    factors[k] = product
        run = Run(self, step, order, type, self.evaluator.size(s.indices[-1]), s.indices[-1])
        roots = [x for k in lifted for x in (factors[k][:2] if k in factors else (lifted[k],))]
        for frame in self.boxes(s, roots, base):
            chunk, products = self._chunk(s, lifted, factors, frame)
            axis = frame.scope[s.indices[-1]]
            inner = axis.extent
            total = len(next(iter(chunk.values())))
            for at in range(0, total, inner):
                cut = slice(at, at + inner)
                points = {k: a[cut] for k, a in chunk.items()}
                pairs = {k: (a[cut], b[cut]) for k, (a, b) in products.items()}
                run.feed(points, pairs, axis.start)
        return {k: a[0] for k, a in run.result().items()}

    def _chunk(
        self, s: Reduce, lifted: Mapping[int, Scalar], factors: Mapping[int, tuple[Scalar, Scalar, bool]], frame: Frame
    ) -> tuple[State, dict[int, tuple[Array, Array]]]:
        """The elements at the points of a box, row-major along a leading axis."""
        value, plan = self.evaluator.value, self.evaluator.plan
        chunk: State = {}
        products: dict[int, tuple[Array, Array]] = {}
        for k, lift in lifted.items():
            if k in factors:
                a, b = (self.flattened(s, value(x, frame), frame) for x in factors[k][:2])
                if plan.operands:
                    a, b = round_to(a, plan.operands), round_to(b, plan.operands)
                products[k] = (a if factors[k][2] else -a, b)
                chunk[k] = np.broadcast_to(np.zeros(()), np.broadcast_shapes(a.shape, b.shape))
            else:
                chunk[k] = self.flattened(s, value(lift, frame), frame)
        mask = self.mask(s.where, frame)
        if mask is not None:
            chunk[LIVE] = self.flattened(s, mask, frame)
        return chunk, products

    @staticmethod
    def flattened(s: Reduce, array: Array, frame: Frame) -> Array:
        full = array.reshape((1,) * (frame.ndim - array.ndim) + array.shape)
        extents = tuple(frame.scope[i].extent for i in s.indices)
        full = np.broadcast_to(full, extents + full.shape[len(extents) :])
        return full.reshape((int(np.prod(extents)), *full.shape[len(extents) :]))

    # Scans run in order.

    def _scan(self, s: Scan, base: Frame, wanted: frozenset[int]) -> State:
        type, _ = self.of(s)
        evaluator, lifted = self.evaluator, lifts(s)
        alone, together = split_parts(s.monoid, wanted)
        parts = [*alone, *together]
        step = Step(s.monoid, alone, tuple(together), base)
        n = evaluator.size(s.index)
        frame = base.child([(s.index, 0, n)])
        lead = {k: self._led(evaluator.value(lifted[k], frame), n, frame.ndim) for k in parts}
        state = {k: self.neutral(s.monoid, k, base) for k in parts}
        made: dict[int, list[Array]] = {k: [] for k in parts}
        for at in range(n):
            point = {k: a[at : at + 1] for k, a in lead.items()}
            state = point if at == 0 else self.merged(step, state, point, type)
            for k in parts:
                made[k].append(state[k])
        return {k: _stacked(made[k], state[k]) for k in parts}

    @staticmethod
    def _led(array: Array, n: int, ndim: int) -> Array:
        full = array.reshape((1,) * (ndim - array.ndim) + array.shape)
        return np.broadcast_to(full, (n, *full.shape[1:]))


def _stacked(arrays: Sequence[Array], like: Array) -> Array:
    if not arrays:
        return np.asarray(like[:0])
    rest = np.broadcast_shapes(*(a.shape[1:] for a in arrays))
    return np.concatenate([np.broadcast_to(a, (len(a), *rest)) for a in arrays])
