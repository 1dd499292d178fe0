"""Cells of recurrent networks. Weights lie as in PyTorch: w_ih[gates · h, i], w_hh[gates · h, h], biases [gates · h].

`order` names the gates in the order in which they lie in the weights, so that other layouts need no copy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg.affine import Affine, Index
from tang_egg.errors import GraphError
from tang_egg.expression import Expression, here
from tang_egg.library import expect_rank, expect_size, linear
from tang_egg.notation import Array

Activation: TypeAlias = "Callable[[Expression], Expression]"


@dataclass(frozen=True, slots=True)
class Gates:
    """What a cell at one step hands to its activations: row b, unit u, and the products with input and state.

    `inputs` is x w_ihᵀ + b_ih [b, gates · h], or [t, b, gates · h] read at step `at`.
    """

    b: Index
    u: Index
    inputs: Array
    at: tuple[int, ...]
    h: Array
    w_hh: Array
    b_hh: Array | None
    order: str

    def from_input(self, gate: str) -> Expression:
        """x w_ihᵀ + b_ih of one gate."""
        return self.inputs[(*self.at, self.b, self.row(gate))]

    def row(self, gate: str) -> Affine:
        return self.u.size * self.order.index(gate) + self.u

    def products(self) -> Array:
        """h w_hhᵀ + b_hh of all gates, [b, gates · h]."""
        s, r = Index("s", self.u.size), Index("r", self.w_hh.shape[0])
        total = te.sum(s, self.h[self.b, s] * self.w_hh[r, s])
        body = total if self.b_hh is None else total + self.b_hh[r]
        return te.tensor(None, (self.b, r), body, self.h.dtype, hint="from_state")

    def both(self) -> Callable[[str], Expression]:
        """The sum of both products, by gate."""
        r = Index("r", self.w_hh.shape[0])
        body = self.inputs[(*self.at, self.b, r)] + self.products()[self.b, r]
        total = te.tensor(None, (self.b, r), body, self.h.dtype, hint="gates")
        return lambda gate: total[self.b, self.row(gate)]

    def tensor(self, body: Expression, hint: str) -> Array:
        return te.tensor(None, (self.b, self.u), body, self.h.dtype, hint=hint)


def input_products(x: Array, w_ih: Array, b_ih: Array | None) -> Array:
    """x w_ihᵀ + b_ih for x[..., i] → [..., gates · h]."""
    return linear(x, w_ih, b_ih, transposed=True, hint="from_input")


def gates_of(
    x: Array, h: Array, w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None, order: str, names: str
) -> Gates:
    """The gates of one cell, its operands checked. Raises GraphError where they do not fit."""
    expect_rank(x, 2, 2)
    expect_rank(w_ih, 2, 2)
    expect_size(f"the last axis of '{w_ih.name}'", w_ih.shape[-1], x.shape[1])
    expect_cell(x.shape[0], h, w_ih, w_hh, b_ih, b_hh, order, names)
    inputs = input_products(x, w_ih, b_ih)
    return Gates(Index("b", h.shape[0]), Index("u", h.shape[1]), inputs, (), h, w_hh, b_hh, order)


def expect_cell(
    rows: Affine, h: Array, w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None, order: str, names: str
) -> None:
    """Raises GraphError where the state and the weights of a cell do not fit each other."""
    if not isinstance(order, str) or sorted(order) != sorted(names):
        raise GraphError(f"the order of gates {order!r}", where=str(here()), mend=f"give a permutation of '{names}'")
    for a in (h, w_ih, w_hh):
        expect_rank(a, 2, 2)
    width = h.shape[1]
    expect_size(f"the first axis of '{h.name}'", h.shape[0], rows)
    expect_size(f"the last axis of '{w_hh.name}'", w_hh.shape[1], width)
    for w in (w_ih, w_hh):
        expect_size(f"the first axis of '{w.name}'", w.shape[0], width * len(names))
    for bias in (b_ih, b_hh):
        if bias is not None:
            expect_rank(bias, 1, 1)
            expect_size(f"'{bias.name}'", bias.shape[0], width * len(names))


def rnn_cell(
    x: Array,
    h: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None = None,
    b_hh: Array | None = None,
    activation: Activation = e.tanh,
) -> Array:
    """activation(x w_ihᵀ + b_ih + h w_hhᵀ + b_hh) for x[b, i], h[b, h], w_ih[h, i], w_hh[h, h], biases [h] → [b, h]."""
    return rnn_step(gates_of(x, h, w_ih, w_hh, b_ih, b_hh, "h", "h"), activation)


def rnn_step(gates: Gates, activation: Activation) -> Array:
    """The next state [b, h] of `rnn_cell`."""
    return gates.tensor(activation(gates.both()("h")), "rnn")


def gru_cell(
    x: Array,
    h: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None = None,
    b_hh: Array | None = None,
    *,
    linear_before_reset: bool = True,
    order: str = "rzn",
) -> Array:
    """(1 - z) n + z h for x[b, i], h[b, h], w_ih[3h, i], w_hh[3h, h], biases [3h] → [b, h].

    r and z are sigmoids of their gates, n is tanh of x w + b + r · (h w + b), or of x w + b + (r · h) w + b without
    `linear_before_reset`. `order` is "zrn" in ONNX, which calls the last gate h.
    """
    return gru_step(gates_of(x, h, w_ih, w_hh, b_ih, b_hh, order, "rzn"), linear_before_reset)


def gru_step(gates: Gates, linear_before_reset: bool) -> Array:
    """The next state [b, h] of `gru_cell`."""
    at, h = (gates.b, gates.u), gates.h
    products = gates.products()

    def gate(name: str, hint: str) -> Array:
        return gates.tensor(e.sigmoid(gates.from_input(name) + products[gates.b, gates.row(name)]), hint)

    reset, update = gate("r", "reset"), gate("z", "update")
    if linear_before_reset:
        inner = reset[at] * products[gates.b, gates.row("n")]
    else:
        s = Index("s", gates.u.size)
        row = gates.row("n")
        inner = te.sum(s, reset[gates.b, s] * h[gates.b, s] * gates.w_hh[row, s])
        inner = inner if gates.b_hh is None else inner + gates.b_hh[row]
    new = gates.tensor(e.tanh(gates.from_input("n") + inner), "candidate")
    return gates.tensor((1.0 - update[at]) * new[at] + update[at] * h[at], "gru")


def lstm_cell(
    x: Array,
    h: Array,
    c: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None = None,
    b_hh: Array | None = None,
    *,
    peepholes: tuple[Array, Array, Array] | None = None,
    order: str = "ifgo",
) -> tuple[Array, Array]:
    """(o tanh(c'), c') with c' = f c + i g for x[b, i], h[b, h], c[b, h], w_ih[4h, i], w_hh[4h, h], biases [4h] →
    [b, h] both.

    i, f and o are sigmoids of their gates, g is tanh of its own. `peepholes` of [h] each for i, f and o add p c to the
    first two and p c' to the last. `order` is "iofg" in ONNX, which calls g c.
    """
    return lstm_step(gates_of(x, h, w_ih, w_hh, b_ih, b_hh, order, "ifgo"), c, peepholes)


def lstm_step(gates: Gates, c: Array, peepholes: tuple[Array, Array, Array] | None) -> tuple[Array, Array]:
    """The next h and c, [b, h] both, of `lstm_cell`."""
    expect_rank(c, 2, 2)
    for p in (0, 1):
        expect_size(f"axis {p} of '{c.name}'", c.shape[p], gates.h.shape[p])
    at, before = (gates.b, gates.u), gates.both()
    i, f, o = before("i"), before("f"), before("o")
    if peepholes is not None:
        _expect_peepholes(peepholes, gates.u)
        i, f = i + peepholes[0][gates.u] * c[at], f + peepholes[1][gates.u] * c[at]
    state = gates.tensor(e.sigmoid(f) * c[at] + e.sigmoid(i) * e.tanh(before("g")), "cell")
    if peepholes is not None:
        o = o + peepholes[2][gates.u] * state[at]
    return gates.tensor(e.sigmoid(o) * e.tanh(state[at]), "lstm"), state


def _expect_peepholes(peepholes: tuple[Array, Array, Array], u: Index) -> None:
    if not isinstance(peepholes, tuple) or len(peepholes) != 3:
        raise GraphError("peepholes that are not three arrays", where=str(here()), mend="give those of i, f and o")
    for p in peepholes:
        expect_rank(p, 1, 1)
        expect_size(f"'{p.name}'", p.shape[0], u.size)
