"""Cells and unrolled networks against PyTorch, and ONNX's layouts against those."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tests.library_values import close, declared, refused, value, values

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(15)
B, I, H = 3, 5, 4  # noqa: E741


def tensor(a: Any) -> Any:
    return torch.from_numpy(np.ascontiguousarray(a))


def cell(gates: int) -> dict[str, Any]:
    """An input, a state and the weights of one cell."""
    shapes = {
        "x": (B, I),
        "h": (B, H),
        "wi": (gates * H, I),
        "wh": (gates * H, H),
        "bi": (gates * H,),
        "bh": (gates * H,),
    }
    return {n: RNG.normal(size=s) for n, s in shapes.items()}


def test_cells_are_those_of_torch() -> None:
    arrays = cell(1)
    t = {n: tensor(a) for n, a in arrays.items()}
    close(value(te.rnn_cell(*declared(**arrays)), **arrays), torch.rnn_tanh_cell(*t.values()))
    close(value(te.rnn_cell(*declared(**arrays), activation=te.relu), **arrays), torch.rnn_relu_cell(*t.values()))
    arrays = cell(3)
    close(value(te.gru_cell(*declared(**arrays)), **arrays), torch.gru_cell(*map(tensor, arrays.values())))
    arrays, c = cell(4), RNG.normal(size=(B, H))
    x, h, *weights = declared(**arrays)
    found = values(*te.lstm_cell(x, h, *declared(c=c), *weights), **arrays, c=c)
    x, h, *weights = (tensor(a) for a in arrays.values())
    for ours, theirs in zip(found, torch.lstm_cell(x, (h, tensor(c)), *weights), strict=True):
        close(ours, theirs)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def test_gru_with_the_reset_before_the_product_and_gates_in_the_order_of_onnx() -> None:
    a = cell(3)
    i, h = a["x"] @ a["wi"].T + a["bi"], a["h"] @ a["wh"].T + a["bh"]
    z, r = sigmoid(i[:, :H] + h[:, :H]), sigmoid(i[:, H : 2 * H] + h[:, H : 2 * H])
    new = np.tanh(i[:, 2 * H :] + (r * a["h"]) @ a["wh"][2 * H :].T + a["bh"][2 * H :])
    found = value(te.gru_cell(*declared(**a), linear_before_reset=False, order="zrn"), **a)
    close(found, (1 - z) * new + z * a["h"])


def test_lstm_with_peepholes_and_gates_in_the_order_of_onnx() -> None:
    a, c, p = cell(4), RNG.normal(size=(B, H)), RNG.normal(size=(3, H))
    g = a["x"] @ a["wi"].T + a["bi"] + a["h"] @ a["wh"].T + a["bh"]
    i, o, f, n = (g[:, k * H : (k + 1) * H] for k in range(4))
    state = sigmoid(f + p[2] * c) * c + sigmoid(i + p[0] * c) * np.tanh(n)
    wanted = sigmoid(o + p[1] * state) * np.tanh(state)
    x, h, *weights = declared(**a)
    pi, po, pf = declared(pi=p[0], po=p[1], pf=p[2])
    cells = te.lstm_cell(x, h, *declared(c=c), *weights, peepholes=(pi, pf, po), order="iofg")
    found = values(*cells, **a, c=c, pi=p[0], po=p[1], pf=p[2])
    close(found[0], wanted)
    close(found[1], state)


KINDS = {"rnn": "RNN", "gru": "GRU", "lstm": "LSTM"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("layers", "both", "bias"), [(1, False, True), (2, True, True), (2, False, False), (1, True, False)]
)
def test_sequences_are_those_of_torch(kind: str, layers: int, both: bool, bias: bool) -> None:
    steps, dirs = 3, 2 if both else 1
    module = getattr(torch.nn, KINDS[kind])(I, H, layers, bias=bias, bidirectional=both).double()
    arrays: dict[str, Any] = {"x": RNG.normal(size=(steps, B, I))}
    weights = []
    for n in range(layers):
        for suffix in ("", "_reverse")[:dirs]:
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")[: 4 if bias else 2]
            found = {f"{w}{n}{suffix}": getattr(module, f"{w}_l{n}{suffix}").detach().numpy() for w in names}
            arrays |= found
            weights.append(tuple(declared(**found)))
    start = {n: RNG.normal(size=(layers * dirs, B, H)) for n in ("h0", "c0")[: 2 if kind == "lstm" else 1]}
    network = getattr(te, kind)
    ours = values(
        *network(te.input("x", (steps, B, I)), weights, *declared(**start), bidirectional=both), **arrays, **start
    )
    given = tuple(tensor(a) for a in start.values())
    out, last = module(tensor(arrays["x"]), given if kind == "lstm" else given[0])
    for found, wanted in zip(ours, (out, *(last if kind == "lstm" else (last,))), strict=True):
        close(found, wanted.detach())


def test_states_start_at_zero_and_one_step_is_enough() -> None:
    a = cell(4)
    weights = [tuple(declared(wi=a["wi"], wh=a["wh"]))]
    x = RNG.normal(size=(1, B, I))
    out, h, c = values(*te.lstm(te.input("x", x.shape), weights), x=x, wi=a["wi"], wh=a["wh"])
    zero = torch.zeros(B, H, dtype=torch.float64)
    wanted = torch.lstm_cell(tensor(x[0]), (zero, zero), tensor(a["wi"]), tensor(a["wh"]))
    for found, theirs in ((out, wanted[0]), (h, wanted[0]), (c, wanted[1])):
        close(found, theirs[None])


X, S = te.input("x", (3, 5)), te.input("h", (3, 4))
WI, WH, XS = te.input("wi", (16, 5)), te.input("wh", (16, 4)), te.input("xs", (2, 3, 5))


@pytest.mark.parametrize(
    ("build", "what", "mend"),
    [
        (lambda: te.gru_cell(X, S, WI, WH), "the first axis of 'wi' has 16 elements where 12 are", "check the shapes"),
        (
            lambda: te.lstm_cell(X, S, S, WI, WH, order="ifg"),
            "the order of gates 'ifg'",
            "give a permutation of 'ifgo'",
        ),
        (
            lambda: te.lstm_cell(X, S, X, WI, WH),
            "axis 1 of 'x' has 5 elements where 4 are expected",
            "check the shapes",
        ),
        (lambda: te.rnn_cell(X, XS, WI, WH), "'xs' has 3 axes where 2 are expected", "check the order of the operands"),
        (
            lambda: te.lstm_cell(X, S, S, WI, WH, peepholes=(S, S)),  # type: ignore[arg-type]
            "peepholes that are not three arrays",
            "give those of i, f and o",
        ),
        (
            lambda: te.lstm(te.input("xs", (te.dim("t"), 3, 5)), [(WI, WH)]),
            "t steps of 'xs'",
            "give a fixed number of steps from 1 to 256",
        ),
        (
            lambda: te.lstm(XS, [(WI, WH)], bidirectional=True),
            "the weights of a recurrent network",
            "give (w_ih, w_hh)",
        ),
        (lambda: te.lstm(XS, [(WI,)]), "the weights of a recurrent network", "give (w_ih, w_hh)"),
        (
            lambda: te.lstm(XS, [(WI, WH)], te.input("h0", (2, 3, 4))),
            "axis 0 of 'h0' has 2 elements",
            "check the shapes",
        ),
        (lambda: te.lstm(XS, [(WI, WH)], peepholes=[]), "peepholes for 0 of 1 cells", "give three to each cell"),
    ],
)
def test_errors(build: Callable[[], Any], what: str, mend: str) -> None:
    refused(build, what, mend, Path(__file__).name)
