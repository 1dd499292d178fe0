"""LSTM and GRU layers of ATen, unrolled over their steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tang_egg import expression as e
from tang_egg.affine import affine
from tang_egg.importers.torch_linear import linear
from tang_egg.importers.torch_table import op
from tang_egg.importers.torch_value import Out, known
from tang_egg.importers.torch_view import selected
from tang_egg.traced import Traced, compute, fail
from tang_egg.traced_view import concatenate, expand_dims, permute, sliced

LONGEST = 64
"""Steps that are unrolled."""

State = tuple[Traced, ...]
Cell = Callable[[Out, Traced, State, Sequence[Traced]], State]


def _gates(out: Out, x: Traced, h: Traced, p: Sequence[Traced]) -> tuple[Traced, Traced]:
    biases = p[2:4] if len(p) > 2 else (None, None)
    return linear(out, x, p[0], biases[0]), linear(out, h, p[1], biases[1])


def _part(x: Traced, n: int, width: Any) -> Traced:
    return sliced(x, -1, affine(width) * n, width)


def _lstm_cell(out: Out, x: Traced, state: State, p: Sequence[Traced]) -> State:
    h, c = state
    width = h.extents[-1]
    a, b = _gates(out, x, h, p)
    i, f, g, o = (
        compute(lambda u, v: u + v, _part(a, n, width), _part(b, n, width), dtype=out.dtype, hint="gate")
        for n in range(4)
    )
    kept = compute(
        lambda f, c, i, g: e.sigmoid(f) * c + e.sigmoid(i) * e.tanh(g), f, c, i, g, dtype=out.dtype, hint="cell"
    )
    return compute(lambda o, c: e.sigmoid(o) * e.tanh(c), o, kept, dtype=out.dtype, hint="hidden"), kept


def _gru_cell(out: Out, x: Traced, state: State, p: Sequence[Traced]) -> State:
    (h,) = state
    width = h.extents[-1]
    a, b = _gates(out, x, h, p)
    parts = [_part(y, n, width) for y in (a, b) for n in range(3)]
    return (compute(_gru, *parts, h, dtype=out.dtype, hint="hidden"),)


def _gru(ar: Any, az: Any, an: Any, br: Any, bz: Any, bn: Any, h: Any) -> Any:
    z = e.sigmoid(az + bz)
    new = e.tanh(an + e.sigmoid(ar + br) * bn)
    return (h - new) * z + new


def _rnn_cell(f: Callable[[Any], Any]) -> Cell:
    def cell(out: Out, x: Traced, state: State, p: Sequence[Traced]) -> State:
        a, b = _gates(out, x, state[0], p)
        return (compute(lambda u, v: f(u + v), a, b, dtype=out.dtype, hint="hidden"),)

    return cell


def _layers(
    out: Out, cell: Cell, x: Traced, states: Sequence[Traced], params: Sequence[Traced], biases: bool, layers: int,
    dropout: float, train: bool, both: bool, batch_first: bool,
) -> tuple[Traced, ...]:  # fmt: skip
    """All layers over x[time, batch, width]; gives the outputs and the last state of each layer and direction."""
    if train and dropout:
        raise fail("dropout between layers while training", "call model.eval() first")
    batched = x.ndim == 3
    if not batched:
        x, states = expand_dims(x, 1), [expand_dims(s, 1) for s in states]
    elif batch_first:
        x = permute(x, [1, 0, 2])
    steps = known(x.extents[0], "the number of steps")
    if not 0 < steps <= LONGEST:
        raise fail(f"{steps} steps would be unrolled", f"use 1 to {LONGEST} steps, or fall back")
    per = 4 if biases else 2
    directions = 2 if both else 1
    last: list[list[Traced]] = [[] for _ in states]
    for n in range(layers):
        found = []
        for d in range(directions):
            k = n * directions + d
            own = params[k * per : (k + 1) * per]
            if len(own) != per or len(params) != per * layers * directions:
                raise fail("a recurrent layer with projections", "use layers without proj_size")
            state: State = tuple(selected(s, 0, k) for s in states)
            order = range(steps) if not d else reversed(range(steps))
            hidden: dict[int, Traced] = {}
            for t in order:
                state = cell(out, selected(x, 0, t), state, own)
                hidden[t] = state[0]
            found.append(_stacked([hidden[t] for t in range(steps)]))
            for kept, s in zip(last, state, strict=True):
                kept.append(s)
        x = concatenate(found, -1) if both else found[0]
    ends = [_stacked(kept) for kept in last]
    if not batched:
        return (_drop(x), *(_drop(s) for s in ends))
    return (permute(x, [1, 0, 2]) if batch_first else x, *ends)


def _stacked(arrays: Sequence[Traced]) -> Traced:
    wide = [expand_dims(x, 0) for x in arrays]
    return wide[0] if len(wide) == 1 else concatenate(wide, 0)


def _drop(x: Traced) -> Traced:
    return selected(x, 1, 0)


@op("lstm.input")
def _lstm(
    out: Out, x: Traced, states: Sequence[Traced], params: Sequence[Traced], biases: bool, layers: int, dropout: float,
    train: bool, both: bool, batch_first: bool,
) -> tuple[Traced, ...]:  # fmt: skip
    return _layers(out, _lstm_cell, x, states, params, biases, layers, dropout, train, both, batch_first)


def _register(name: str, cell: Cell) -> None:
    def layer(out: Out, x: Traced, state: Traced, params: Sequence[Traced], biases: bool, layers: int, dropout: float,
              train: bool, both: bool, batch_first: bool) -> tuple[Traced, ...]:  # fmt: skip
        return _layers(out, cell, x, [state], params, biases, layers, dropout, train, both, batch_first)

    op(f"{name}.input")(layer)


_register("gru", _gru_cell)
_register("rnn_tanh", _rnn_cell(e.tanh))
_register("rnn_relu", _rnn_cell(lambda x: e.maximum(x, 0.0)))
