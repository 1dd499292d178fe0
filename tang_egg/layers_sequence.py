"""Recurrent networks over a fixed number of steps: cells one after the other, in layers and in both directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg.affine import Affine, Index, affine
from tang_egg.errors import GraphError
from tang_egg.expression import Expression, here
from tang_egg.layers_recurrent import Activation, Gates, expect_cell, gru_step, input_products, lstm_step, rnn_step
from tang_egg.library import expect_rank, expect_size
from tang_egg.notation import Array

Weights: TypeAlias = "Sequence[Sequence[Array]]"
Step: TypeAlias = "Callable[[Gates, tuple[Array, ...], int], tuple[Array, ...]]"

MOST_STEPS = 256
"""More steps than this make a graph that is slow to compile."""


def rnn(
    x: Array,
    weights: Weights,
    h0: Array | None = None,
    *,
    bidirectional: bool = False,
    activation: Activation = e.tanh,
) -> tuple[Array, Array]:
    """All outputs [t, b, dirs · h] and the last states [layers · dirs, b, h] of `rnn_cell` over x[t, b, i].

    `weights`: (w_ih, w_hh) or (w_ih, w_hh, b_ih, b_hh) for each layer, and in it for each direction, as in PyTorch.
    `h0`[layers · dirs, b, h] is 0 unless given. The number of steps t is fixed; the steps are written out.
    """

    def step(gates: Gates, state: tuple[Array, ...], cell: int) -> tuple[Array, ...]:
        return (rnn_step(gates, activation),)

    out, (last,) = _unrolled(x, weights, (h0,), bidirectional, step, "h", "h")
    return out, last


def gru(
    x: Array,
    weights: Weights,
    h0: Array | None = None,
    *,
    bidirectional: bool = False,
    linear_before_reset: bool = True,
    order: str = "rzn",
) -> tuple[Array, Array]:
    """All outputs [t, b, dirs · h] and the last states [layers · dirs, b, h] of `gru_cell` over x[t, b, i].

    `weights` and `h0` as in `rnn`.
    """

    def step(gates: Gates, state: tuple[Array, ...], cell: int) -> tuple[Array, ...]:
        return (gru_step(gates, linear_before_reset),)

    out, (last,) = _unrolled(x, weights, (h0,), bidirectional, step, order, "rzn")
    return out, last


def lstm(
    x: Array,
    weights: Weights,
    h0: Array | None = None,
    c0: Array | None = None,
    *,
    bidirectional: bool = False,
    peepholes: Sequence[tuple[Array, Array, Array]] | None = None,
    order: str = "ifgo",
) -> tuple[Array, Array, Array]:
    """All outputs [t, b, dirs · h], and the last states h and c [layers · dirs, b, h], of `lstm_cell` over x[t, b, i].

    `weights`, `h0` and `c0` as in `rnn`; `peepholes`: three vectors for each layer and direction.
    """
    for given in (weights, peepholes or ()):
        if not isinstance(given, Sequence):
            raise GraphError(
                f"weights of type {type(given).__name__}", where=str(here()), mend="give a tuple of arrays to each cell"
            )
    if peepholes is not None and len(peepholes) != len(weights):
        raise GraphError(
            f"peepholes for {len(peepholes)} of {len(weights)} cells", where=str(here()), mend="give three to each cell"
        )

    def step(gates: Gates, state: tuple[Array, ...], cell: int) -> tuple[Array, ...]:
        return lstm_step(gates, state[1], None if peepholes is None else peepholes[cell])

    out, (h, c) = _unrolled(x, weights, (h0, c0), bidirectional, step, order, "ifgo")
    return out, h, c


def _unrolled(
    x: Array,
    weights: Weights,
    initial: tuple[Array | None, ...],
    bidirectional: bool,
    step: Step,
    order: str,
    names: str,
) -> tuple[Array, tuple[Array, ...]]:
    """The outputs of the last layer and the last state of every layer and direction."""
    expect_rank(x, 3, 3)
    steps, directions = x.shape[0].value, 2 if bidirectional else 1
    if steps is None or not 1 <= steps <= MOST_STEPS:
        raise GraphError(
            f"{x.shape[0]} steps of '{x.name}'",
            where=str(here()),
            mend=f"give a fixed number of steps from 1 to {MOST_STEPS}: they are written out one by one",
        )
    _expect_weights(weights, directions)
    width = weights[0][1].shape[1]
    for h in initial:
        if h is not None:
            expect_rank(h, 3, 3)
            for p, size in enumerate((affine(len(weights)), x.shape[1], width)):
                expect_size(f"axis {p} of '{h.name}'", h.shape[p], size)
    rows = x
    finals: list[tuple[Array, ...]] = []
    for layer in range(len(weights) // directions):
        runs = []
        for direction in range(directions):
            number = layer * directions + direction
            w_ih, w_hh, *biases = weights[number]
            b_ih, b_hh = biases or (None, None)
            expect_size(f"the last axis of '{w_ih.name}'", w_ih.shape[1], rows.shape[2])
            state = tuple(_state(h, number, x, width) for h in initial)
            expect_cell(x.shape[1], state[0], w_ih, w_hh, b_ih, b_hh, order, names)
            inputs = input_products(rows, w_ih, b_ih)
            outputs: list[Array] = []
            for t in range(steps):
                at = (steps - 1 - t if direction else t,)
                gates = Gates(Index("b", x.shape[1]), Index("u", width), inputs, at, state[0], w_hh, b_hh, order)
                state = step(gates, state, number)
                outputs.append(state[0])
            finals.append(state)
            runs.append(outputs[::-1] if direction else outputs)
        rows = _stacked(runs)
    return rows, tuple(_stacked_states([f[n] for f in finals]) for n in range(len(initial)))


def _expect_weights(weights: Weights, directions: int) -> None:
    fits = isinstance(weights, Sequence) and len(weights) > 0 and len(weights) % directions == 0
    if not fits or any(not isinstance(w, Sequence) or len(w) not in (2, 4) for w in weights):
        raise GraphError(
            "the weights of a recurrent network",
            where=str(here()),
            mend="give (w_ih, w_hh) or (w_ih, w_hh, b_ih, b_hh) for each layer and, in it, for each direction",
        )
    for w in weights:
        for matrix in w[:2]:
            expect_rank(matrix, 2, 2)


def _state(h: Array | None, number: int, x: Array, width: Affine) -> Array:
    b, u = Index("b", x.shape[1]), Index("u", width)
    return te.tensor(None, (b, u), e.constant(0.0) if h is None else h[number, b, u], x.dtype, hint="start")


def _stacked(runs: list[list[Array]]) -> Array:
    """[t, b, dirs · h] of the outputs [b, h] of each direction and step."""
    first = runs[0][0]
    t, b, u = Index("t", affine(len(runs[0]))), Index("b", first.shape[0]), Index("u", first.shape[1] * len(runs))
    body = _choice(t, [r[b, u] for r in runs[0]]) if len(runs) == 1 else None
    if body is None:
        width = first.shape[1]
        body = e.select(
            u < width,
            _choice(t, [r[b, u] for r in runs[0]]),
            _choice(t, [r[b, u - width] for r in runs[1]]),
        )
    return te.tensor(None, (t, b, u), body, first.dtype, hint="outputs")


def _stacked_states(states: list[Array]) -> Array:
    n, b, u = Index("n", affine(len(states))), Index("b", states[0].shape[0]), Index("u", states[0].shape[1])
    return te.tensor(None, (n, b, u), _choice(n, [s[b, u] for s in states]), states[0].dtype, hint="last_state")


def _choice(t: Index, values: Sequence[Expression]) -> Expression:
    """The value of number t: by halves, so that expressions stay shallow."""

    def among(low: int, high: int) -> Expression:
        if high - low == 1:
            return values[low]
        middle = (low + high) // 2
        return e.select(t < middle, among(low, middle), among(middle, high))

    return among(0, len(values))
