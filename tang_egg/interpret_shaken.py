"""What a graph may give in single precision: the interpreter with the last bits of every operation changed at random.

A result that moves with these bits is one that no kernel can be asked for: the logarithm of nearly 1, a sum that
cancels, a square beyond the largest single. (Monte Carlo arithmetic: Parker 1997.)

    tree       reals are rounded to the type of the arithmetic and moved by a few units of its last place
    order      likewise, and folds take up point after point, from the identity on, as kernels do; numbers below the
               smallest normal one become 0
    identity   likewise, and each point is combined with the identity on both sides, as masks and empty blocks do

The oracle never combines with an identity, and in float64 nothing overflows: a state with an infinity in it can differ.
What the type holds exactly is not moved: counts, positions and halves of them stay what they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tang_egg.interpret import MEMORY
from tang_egg.interpret_bind import bind_inputs
from tang_egg.interpret_fold import LIVE, Folds, State, _join, ufunc_of
from tang_egg.interpret_frame import Array, Frame
from tang_egg.interpret_precision import EXACT
from tang_egg.interpret_value import Evaluator
from tang_egg.ir import Apply, Const, Graph, Reduce, Scalar, Scan, type_of
from tang_egg.monoid import Monoid

SHAKE, SHAKE_OF_DOUBLE = 2.0**-22, 2.0**-50
"""The relative changes of results of operations: some units of the last place, as library functions are off by."""
ORDERS = ("tree", "order", "identity")
CANCEL = "cancel"
"""One order more where compilers may take all numbers for finite (WGSL, GLSL): tree, and x - x is 0 for infinite x."""
SMALLEST = 2.0**-126
"""The smallest normal single: devices may take what is below it as 0."""
TOO_LARGE = 65520.0
"""The smallest number that becomes an infinity in f16."""
IN_ORDER = 512
"""Points that are taken up one by one, at most."""


def shaken(
    graph: Graph, inputs: Mapping[str, Any], dims: Mapping[str, int], rng: np.random.Generator, type: str, order: str
) -> dict[str, Array]:
    """The outputs of a graph: one outcome of arithmetic in `type` (f32 or f64) and an order of ORDERS."""
    arrays, values = bind_inputs(graph.inputs, inputs, dims, f"graph '{graph.name}'")
    with np.errstate(all="ignore"):
        evaluator = Shaken(arrays, values, rng, type, order)
        return {t.name: _within(evaluator.tensor(t), t.dtype) for t in graph.outputs}


def _within(a: Array, dtype: str) -> Array:
    """Values in the range of their storage type: what rounds to more than the largest half is an infinity."""
    return np.where(np.abs(a) >= TOO_LARGE, np.copysign(np.inf, a), a) if dtype == "f16" else a


class Shaken(Evaluator):
    """Evaluates tensors so."""

    def __init__(
        self, arrays: Mapping[str, Array], dims: Mapping[str, int], rng: np.random.Generator, type: str, order: str
    ) -> None:
        super().__init__(arrays, dims, False, MEMORY)
        self.rng, self.single, self.order = rng, type != "f64", order
        self.ordered = order not in ("tree", CANCEL)
        self.folds = ShakenFolds(self)

    def _compute(self, s: Scalar, frame: Frame) -> Array | np.generic:
        found = super()._compute(s, frame)
        if type_of(s) != "real":
            return found
        if self.order == CANCEL and isinstance(s, Apply) and s.op == "add":
            a, b = (self.value(x, frame) for x in s.args)
            found = np.where(np.isinf(a) & np.isinf(b) & (np.asarray(a) == -np.asarray(b)), 0.0, found)
        if isinstance(s, Const):
            return self.held(np.asarray(found))
        moves = (isinstance(s, Apply) and s.op not in EXACT and ":" not in s.op) or (
            isinstance(s, (Reduce, Scan)) and ufunc_of(s.monoid, s.part) in (np.add, np.multiply)
        )
        return self.moved(np.asarray(found)) if moves else found

    def held(self, a: Array) -> Array:
        """Values as the type holds them."""
        if not self.single:
            return a
        b = a.astype(np.float32).astype(np.float64)
        return np.where(np.abs(b) < SMALLEST, np.copysign(0.0, b), b) if self.ordered else b

    def moved(self, a: Array) -> Array:
        """Values that the type does not hold exactly, off by some units of the last place."""
        size = SHAKE if self.single else SHAKE_OF_DOUBLE
        near = a * (1.0 + self.rng.uniform(-size, size, a.shape))
        return np.where(a.astype(np.float32) == a, a, self.held(near))


class ShakenFolds(Folds):
    """Folds of a shaken interpreter."""

    evaluator: Shaken

    def __init__(self, evaluator: Shaken) -> None:
        super().__init__(evaluator)
        self.evaluator = evaluator

    def _fold_alone(self, s: Reduce, lift: Scalar, part: int, ufunc: np.ufunc, base: Frame) -> Array:
        real = s.monoid.components[part].type == "real"
        if not (real and self.evaluator.ordered and self.evaluator.single):
            return super()._fold_alone(s, lift, part, ufunc, base)
        neutral = self.evaluator.value(s.monoid.identity[part], base)
        total = neutral
        for frame in self.boxes(s, (lift,), base):
            elements = self._elements(s, lift, neutral, frame).astype(np.float32)
            block = ufunc.reduce(elements, axis=tuple(range(len(s.indices))), dtype=np.float32)
            total = block if total is neutral else ufunc(total, block)
        return self.evaluator.held(np.asarray(total, np.float64))

    def _tree(self, monoid: Monoid, state: State, base: Frame) -> State:
        if not self.evaluator.ordered:
            return super()._tree(monoid, state, base)
        state = self._with_identity(monoid, state, base)
        return self._in_order(monoid, state, base)[-1] if _short(state) else super()._tree(monoid, state, base)

    def _prefixes(self, monoid: Monoid, state: State, base: Frame) -> State:
        if not self.evaluator.ordered:
            return super()._prefixes(monoid, state, base)
        state = self._with_identity(monoid, state, base)
        if not _short(state):
            return super()._prefixes(monoid, state, base)
        made = self._in_order(monoid, state, base)
        return {k: _join(*(x[k] for x in made)) for k in state}

    def _in_order(self, monoid: Monoid, state: State, base: Frame) -> list[State]:
        """The state after each point, of at least one."""
        total = self._neutral(monoid, state, base)
        made: list[State] = []
        for at in range(len(next(iter(state.values())))):
            total = self.combine(monoid, total, {k: a[at : at + 1] for k, a in state.items()}, base)
            made.append(total)
        return made

    def _neutral(self, monoid: Monoid, state: State, base: Frame) -> State:
        """The identity, as one state that counts."""
        found = {k: self.evaluator.value(monoid.identity[k], base) for k in state.keys() - {LIVE}}
        made = {k: a.reshape((1,) * (base.ndim + 1 - a.ndim) + a.shape) for k, a in found.items()}
        return made | ({LIVE: np.ones((1,) * (base.ndim + 1), bool)} if LIVE in state else {})

    def _with_identity(self, monoid: Monoid, state: State, base: Frame) -> State:
        """States combined with the identity on either side, where the order says so; it stands for what is masked."""
        if self.evaluator.order != "identity" or not len(next(iter(state.values()), ())):
            return state
        neutral = self._neutral(monoid, state, base)
        live = neutral.pop(LIVE, None) is not None
        held = {k: np.where(state[LIVE], state[k], a) if live else state[k] for k, a in neutral.items()}
        return self.combine(monoid, self.combine(monoid, neutral, held, base), neutral, base)


def _short(state: State) -> bool:
    return 0 < len(next(iter(state.values()), ())) <= IN_ORDER
