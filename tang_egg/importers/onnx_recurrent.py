"""Recurrent layers: one step after the other, over a fixed number of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tang_egg import array_scalar as s
from tang_egg import expression as e
from tang_egg import traced, traced_view
from tang_egg.expression import Expression
from tang_egg.importers.onnx_call import Call, Table
from tang_egg.importers.onnx_contract import contract
from tang_egg.importers.onnx_value import Unsupported, Value
from tang_egg.traced import Traced, compute

OPERATORS = Table()

MOST_TIMES = 1 << 12

Activation = Callable[[Expression], Expression]


def _activation(call: Call, name: str, alpha: float | None, beta: float | None) -> Activation:
    """An activation by its name, with its parameters where they are given."""

    def or_(value: float | None, default: float) -> float:
        return default if value is None else value

    table: dict[str, Activation] = {
        "sigmoid": e.sigmoid,
        "tanh": e.tanh,
        "relu": e.relu,
        "softsign": lambda x: x / (s.absolute(x) + 1.0),
        "softplus": e.softplus,
        "affine": lambda x: x * or_(alpha, 1.0) + or_(beta, 0.0),
        "leakyrelu": lambda x: e.select(x < 0, x * or_(alpha, 0.01), x),
        "thresholdedrelu": lambda x: e.select(x > or_(alpha, 1.0), x, 0.0),
        "scaledtanh": lambda x: e.tanh(x * or_(beta, 1.0)) * or_(alpha, 1.0),
        "hardsigmoid": lambda x: e.maximum(e.minimum(x * or_(alpha, 0.2) + or_(beta, 0.5), 1.0), 0.0),
        "elu": lambda x: e.select(x < 0, s.expm1(x) * or_(alpha, 1.0), x),
    }
    if name.lower() not in table:
        raise call.wrong(f"there is no activation '{name}'")
    return table[name.lower()]


@dataclass(frozen=True, slots=True)
class _Layer:
    """One direction of a layer: x · wᵀ + bias of every step, the recurrent weights, activations and start values."""

    inputs: Traced  # [steps, batch, gates · width]
    recurrent: Traced  # [gates · width, width]
    bias: Traced | None  # of the recurrent part
    activations: tuple[Activation, ...]
    peephole: Traced | None
    width: int
    dtype: str
    clip: float | None
    flags: tuple[bool, ...] = ()

    def gate(self, t: int, n: int) -> Traced:
        """What the input gives gate `n` at step `t`: [batch, width]."""
        return traced_view.sliced(
            traced_view.squeeze(traced_view.sliced(self.inputs, 0, t, 1), (0,)), 1, n * self.width, self.width
        )

    def weights(self, n: int, count: int = 1) -> Traced:
        return traced_view.sliced(self.recurrent, 0, n * self.width, count * self.width)

    def added(self, n: int) -> Traced | None:
        return None if self.bias is None else traced_view.sliced(self.bias, 0, n * self.width, self.width)

    def peep(self, n: int) -> Traced | None:
        return None if self.peephole is None else traced_view.sliced(self.peephole, 0, n * self.width, self.width)

    def bounded(self, x: Expression) -> Expression:
        return x if self.clip is None else e.maximum(e.minimum(x, self.clip), -self.clip)

    def recur(self, h: Traced, n: int, count: int) -> Traced:
        """h · rᵀ for some gates: [batch, count · width]."""
        return contract(("bk", "gk"), (h, self.weights(n, count)), "bg", self.dtype, "recurrent")


State = tuple[Traced, ...]


def _sum(*parts: Traced | None, dtype: str) -> Traced:
    kept = [p for p in parts if p is not None]
    total = kept[0]
    for p in kept[1:]:
        total = compute(lambda a, b: a + b, total, p, dtype=dtype, hint="gate")
    return total


def _rnn(layer: _Layer, t: int, state: State) -> State:
    (h,) = state
    f = layer.activations[0]
    pre = _sum(layer.gate(t, 0), layer.recur(h, 0, 1), layer.added(0), dtype=layer.dtype)
    return (compute(lambda a: f(layer.bounded(a)), pre, dtype=layer.dtype, hint="hidden"),)


def _gru(layer: _Layer, t: int, state: State) -> State:
    (h,) = state
    f, g = layer.activations
    n, kind = layer.width, layer.dtype
    both = layer.recur(h, 0, 2)
    z, r = (
        compute(
            lambda a: f(layer.bounded(a)),
            _sum(layer.gate(t, k), traced_view.sliced(both, 1, k * n, n), layer.added(k), dtype=kind),
            dtype=kind,
            hint="zr"[k],
        )
        for k in range(2)
    )
    if layer.flags[0]:
        inner = _sum(layer.recur(h, 2, 1), layer.added(2), dtype=kind)
        inner = compute(lambda a, b: a * b, r, inner, dtype=kind, hint="reset")
    else:
        reset = compute(lambda a, b: a * b, r, h, dtype=kind, hint="reset")
        inner = _sum(layer.recur(reset, 2, 1), layer.added(2), dtype=kind)
    new = compute(lambda a, b: g(layer.bounded(a + b)), layer.gate(t, 2), inner, dtype=kind, hint="new")
    return (compute(lambda z, n, h: (1.0 - z) * n + z * h, z, new, h, dtype=kind, hint="hidden"),)


def _lstm(layer: _Layer, t: int, state: State) -> State:
    h, c = state
    f, g, last = layer.activations
    n, kind, coupled = layer.width, layer.dtype, layer.flags[0]
    every = layer.recur(h, 0, 4)

    def gate(k: int, peep: int | None, cell: Traced, act: Activation, hint: str) -> Traced:
        p = None if peep is None else layer.peep(peep)
        extra = None if p is None else compute(lambda a, b: a * b, cell, p, dtype=kind, hint="peep")
        pre = _sum(layer.gate(t, k), traced_view.sliced(every, 1, k * n, n), layer.added(k), extra, dtype=kind)
        return compute(lambda a: act(layer.bounded(a)), pre, dtype=kind, hint=hint)

    i = gate(0, 0, c, f, "input_gate")
    forget = (
        compute(lambda a: 1.0 - a, i, dtype=kind, hint="forget_gate") if coupled else gate(2, 2, c, f, "forget_gate")
    )
    new = gate(3, None, c, g, "cell_gate")
    cell = compute(lambda f, c, i, n: f * c + i * n, forget, c, i, new, dtype=kind, hint="cell")
    o = gate(1, 1, cell, f, "output_gate")
    return compute(lambda o, c: o * last(c), o, cell, dtype=kind, hint="hidden"), cell


def _recurrent(
    name: str, gates: int, defaults: Sequence[str], cell: Callable[[_Layer, int, State], State], flag: str = ""
) -> None:
    states = 2 if name == "LSTM" else 1

    def run(call: Call) -> tuple[Value, ...]:
        x, w, r = call.x(0), call.x(1), call.x(2)
        batch_first = bool(call.integer("layout", 0))
        if x.ndim != 3 or w.ndim != 3 or r.ndim != 3:
            raise call.wrong("the operands do not have 3 axes")
        x = traced_view.permute(x, (1, 0, 2)) if batch_first else x
        direction = call.text("direction", "forward")
        if direction not in ("forward", "reverse", "bidirectional"):
            raise call.wrong(f"there is no direction '{direction}'")
        count = 2 if direction == "bidirectional" else 1
        width, steps = r.extents[2].value, x.extents[0].value
        if width is None or steps is None:
            raise Unsupported("a recurrent layer of symbolic width or length")
        if steps > MOST_TIMES:
            raise Unsupported(f"more than {MOST_TIMES} steps")
        if (w.extents[0].value, w.extents[1].value, r.extents[1].value) != (count, gates * width, gates * width):
            raise call.wrong(f"weights of shapes {w.shape} and {r.shape}")
        lengths = call.optional(4)
        sides = [_side(call, n, x, w, r, width, gates, defaults, states, flag, batch_first) for n in range(count)]
        found = [
            _run(call, layer, start, cell, steps, lengths, direction == "reverse" or n == 1)
            for n, (layer, start) in enumerate(sides)
        ]
        return _results(call, found, steps, states, batch_first)

    OPERATORS.add(name, 22)(run)


def _side(
    call: Call, n: int, x: Traced, w: Traced, r: Traced, width: int, gates: int, defaults: Sequence[str], states: int,
    flag: str, batch_first: bool,
) -> tuple[_Layer, State]:  # fmt: skip
    """The weights of one direction, and the state that it starts from."""

    def part(k: int, axis: int = 0) -> Traced | None:
        given = call.optional(k)
        return None if given is None else traced_view.squeeze(traced_view.sliced(given, axis, n, 1), (axis,))

    mine, own = (traced_view.squeeze(traced_view.sliced(a, 0, n, 1), (0,)) for a in (w, r))
    bias = part(3)
    projected = contract(("tbk", "gk"), (x, mine), "tbg", x.dtype, "projected")
    if bias is not None:
        first = traced_view.sliced(bias, 0, 0, gates * width)
        projected = compute(lambda a, b: a + b, projected, first, dtype=x.dtype, hint="projected")
        bias = traced_view.sliced(bias, 0, gates * width, gates * width)
    names = call.texts("activations", tuple(defaults) * 2)
    per = len(defaults)
    if len(names) < (n + 1) * per:
        raise call.wrong(f"{len(names)} activations where {(n + 1) * per} are needed")
    alphas, betas = list(call.floats("activation_alpha", ())), list(call.floats("activation_beta", ()))
    takes = {"affine": (1, 1), "leakyrelu": (1, 0), "thresholdedrelu": (1, 0), "scaledtanh": (1, 1),
             "hardsigmoid": (1, 1), "elu": (1, 0)}  # fmt: skip
    chosen = []
    for k, name in enumerate(names[: (n + 1) * per]):
        a, b = takes.get(name.lower(), (0, 0))
        alpha = alphas.pop(0) if a and alphas else None
        beta = betas.pop(0) if b and betas else None
        if k >= n * per:
            chosen.append(_activation(call, name, alpha, beta))
    start = []
    for k in range(states):
        given = part(5 + k, 1 if batch_first else 0)
        start.append(given if given is not None else traced.full([x.extents[1], width], 0, x.dtype))
    clip = call.number("clip") if call.has("clip") else None
    flags = (bool(call.integer(flag, 0)),) if flag else ()
    peephole = part(7) if states == 2 else None
    return _Layer(projected, own, bias, tuple(chosen), peephole, width, x.dtype, clip, flags), tuple(start)


def _run(
    call: Call, layer: _Layer, state: State, cell: Callable[[_Layer, int, State], State], steps: int,
    lengths: Traced | None, back: bool,
) -> tuple[list[Traced], State]:  # fmt: skip
    """The hidden state of every step, in order of time, and the last state."""
    found: list[Traced] = []
    for t in range(steps)[:: -1 if back else 1]:
        call.runner.spend(1, call)
        new = cell(layer, t, state)
        shown = new[0]
        if lengths is not None:
            live = compute(lambda n, t=t: e.cast(n, "i64") > t, traced_view.expand_dims(lengths, 1), dtype="bool")
            shown = compute(lambda c, a: e.select(c, a, 0.0), live, shown, dtype=layer.dtype, hint="shown")
            new = tuple(
                compute(e.select, live, a, b, dtype=layer.dtype, hint="kept") for a, b in zip(new, state, strict=True)
            )
        state = new
        found.append(shown)
    return found[::-1] if back else found, state


def _results(
    call: Call, found: list[tuple[list[Traced], State]], steps: int, states: int, batch_first: bool
) -> tuple[Value, ...]:
    """Y [steps, directions, batch, width], and the last states [directions, batch, width]."""

    def stacked(arrays: list[Traced], axis: int) -> Traced:
        grown = [traced_view.expand_dims(a, axis) for a in arrays]
        return grown[0] if len(grown) == 1 else traced_view.concatenate(grown, axis)

    last = [stacked([state[k] for _, state in found], 0) for k in range(states)]
    if batch_first:
        last = [traced_view.permute(a, (1, 0, 2)) for a in last]
    if not call.wanted(0):
        return (None, *last)
    if not steps:
        batch = found[0][1][0].extents
        return (traced.full([0, len(found), *batch], 0, found[0][1][0].dtype), *last)
    every = stacked([stacked([shown[t] for shown, _ in found], 0) for t in range(steps)], 0)
    return (traced_view.permute(every, (2, 0, 1, 3)) if batch_first else every, *last)


_recurrent("RNN", 1, ("Tanh",), _rnn)
_recurrent("GRU", 3, ("Sigmoid", "Tanh"), _gru, "linear_before_reset")
_recurrent("LSTM", 4, ("Sigmoid", "Tanh", "Tanh"), _lstm, "input_forget")
