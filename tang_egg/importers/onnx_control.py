"""Control flow, sequences and optionals: what is decided while the model is imported."""

from __future__ import annotations

from typing import Any

import numpy as np

from tang_egg import expression as e
from tang_egg import traced_view
from tang_egg.affine import affine
from tang_egg.importers.onnx_call import Call, Table
from tang_egg.importers.onnx_shape import joined
from tang_egg.importers.onnx_value import (
    Forms,
    Items,
    Known,
    Missing,
    Optional_,
    Unsupported,
    Value,
    known,
)
from tang_egg.traced import Traced, compute

OPERATORS = Table()

MOST_TRIPS = 1 << 12
"""Trips of a loop that is unrolled, and members of a sequence."""


@OPERATORS.add("If", 25)
def if_(call: Call) -> tuple[Value, ...]:
    """The branch that a known condition picks; of two branches of equal shapes, a choice element by element."""
    condition = call.tensor_value(0)
    if isinstance(condition, Known):
        taken = bool(call.scalar(0, "the condition"))
        return call.runner.subgraph(call.graph("then_branch" if taken else "else_branch"), (), call.scope)
    first, second = (call.runner.subgraph(call.graph(n), (), call.scope) for n in ("then_branch", "else_branch"))
    if any(isinstance(v, Missing) for v in (*first, *second)):
        return (Missing(),) * len(call.proto.output)
    return tuple(_either(call, a, b) for a, b in zip(first, second, strict=True))


def _either(call: Call, a: Value, b: Value) -> Value:
    arrays = (Known, Forms, Traced)
    if not isinstance(a, arrays) or not isinstance(b, arrays) or a.extents != b.extents or a.dtype != b.dtype:
        call.known(0, "the condition, of branches that give different shapes,")
        raise Unsupported("branches that give different shapes")
    condition = traced_view.reshape(call.x(0), ())
    return compute(e.select, condition, call.lift(a), call.lift(b), dtype=a.dtype, hint="chosen")


@OPERATORS.add("Loop", 25)
def loop(call: Call) -> tuple[Value, ...]:
    """The trips of a loop one after the other; how many there are must be known."""
    body = call.graph("body")
    most = int(call.scalar(0, "the number of trips")) if call.given(0) else None
    live: Value = call.values[1] if call.given(1) else None
    state = list(call.values[2:])
    outputs = len(body.output) - 1 - len(state)
    if outputs < 0:
        raise call.wrong("the body gives fewer values than the loop carries")
    scanned: list[list[Value]] = [[] for _ in range(outputs)]
    trip = 0
    while most is None or trip < most:
        if live is not None and not _truth(call, live):
            break
        if trip >= MOST_TRIPS or (most is not None and most > MOST_TRIPS and live is None):
            raise Unsupported(f"a loop of more than {MOST_TRIPS} trips")
        call.runner.spend(1, call)
        number, on = known(trip, "i64"), live if live is not None else known(True, "bool")
        results = call.runner.subgraph(body, (number, on, *state), call.scope)
        if any(isinstance(v, Missing) for v in results):
            return (Missing(),) * len(call.proto.output)
        live, state = results[0], list(results[1 : 1 + len(state)])
        for kept, value in zip(scanned, results[1 + len(state) :], strict=True):
            kept.append(value)
        trip += 1
    return (*state, *(_stacked(call, kept) for kept in scanned))


def _truth(call: Call, live: Value) -> bool:
    if not isinstance(live, Known) or live.array.size != 1:
        needs = call.weights.needed(live) if isinstance(live, Traced) else ()
        raise Unsupported("a loop whose condition depends on data", tuple(call.names.get(n, n) for n in needs))
    return bool(live.array.reshape(-1)[0])


def _stacked(call: Call, values: list[Value], axis: int = 0) -> Value:
    """Values of every trip along a new axis."""
    if not values:
        raise Unsupported("the outputs of a loop without trips, whose shape is open")
    arrays = [traced_view.expand_dims(_array(call, v), axis) for v in values]
    return joined(call, arrays, axis)


def _array(call: Call, v: Value) -> Traced:
    if not isinstance(v, (Known, Forms, Traced)):
        raise call.wrong("a sequence or an optional stands where an array is expected")
    return call.lift(v)


@OPERATORS.add("Scan", 25)
def scan(call: Call) -> tuple[Value, ...]:
    """The trips of a scan one after the other."""
    body, count = call.graph("body"), call.integer("num_scan_inputs")
    if call.since < 9:
        return _batched_scan(call, body, count)
    states = len(call.values) - count
    outputs = len(body.output) - states
    if not 0 < count <= len(call.values) or outputs < 0:
        raise call.wrong(f"a scan of {count} arrays")
    inputs = [call.x(states + n) for n in range(count)]
    axes = [call.axis(a, x.ndim) for a, x in zip(call.ints("scan_input_axes", (0,) * count), inputs, strict=True)]
    turned = call.ints("scan_input_directions", (0,) * count)
    state, scanned = _trips(call, body, list(call.values[:states]), inputs, axes, turned)
    if state is None:
        return (Missing(),) * len(call.proto.output)
    out_axes = call.ints("scan_output_axes", (0,) * outputs)
    directions = call.ints("scan_output_directions", (0,) * outputs)
    found = []
    for kept, axis, back in zip(scanned, out_axes, directions, strict=True):
        rank = _array(call, kept[0]).ndim + 1 if kept else 1
        found.append(_stacked(call, kept[::-1] if back else kept, call.axis(axis, rank)))
    return (*state, *found)


def _trips(
    call: Call, body: Any, state: list[Value], inputs: list[Traced], axes: list[int], turned: tuple[int, ...]
) -> tuple[list[Value] | None, list[list[Value]]]:
    """The state after all trips (None: it cannot be imported), and the other outputs of every trip."""
    lengths = {x.extents[a] for x, a in zip(inputs, axes, strict=True)}
    length = next(iter(lengths)).value if len(lengths) == 1 else -1
    if length is None:
        raise Unsupported("a scan of symbolic length")
    if length < 0:
        raise call.wrong("the arrays of a scan differ in length")
    if length > MOST_TRIPS:
        raise Unsupported(f"a scan of more than {MOST_TRIPS} trips")
    scanned: list[list[Value]] = [[] for _ in range(len(body.output) - len(state))]
    for t in range(length):
        call.runner.spend(1, call)
        parts = [
            traced_view.squeeze(traced_view.sliced(x, a, length - 1 - t if back else t, 1), (a,))
            for x, a, back in zip(inputs, axes, turned, strict=True)
        ]
        results = call.runner.subgraph(body, (*state, *parts), call.scope)
        if any(isinstance(v, Missing) for v in results):
            return None, scanned
        for kept, value in zip(scanned, results[len(state) :], strict=True):
            kept.append(value)
        state = list(results[: len(state)])
    return state, scanned


def _batched_scan(call: Call, body: Any, count: int) -> tuple[Value, ...]:
    """Version 8: a first input of lengths, and a leading batch axis everywhere."""
    if call.given(0):
        raise Unsupported("sequences of different lengths")
    states = len(call.values) - 1 - count
    outputs = len(body.output) - states
    if states < 0 or outputs < 0 or count < 1:
        raise call.wrong(f"a scan of {count} arrays")
    given = [call.x(n) for n in range(1, len(call.values))]
    batch = given[0].extents[0].value if given[0].ndim else None
    if batch is None or batch > MOST_TRIPS:
        raise Unsupported("a scan of a symbolic or large batch")
    turned = call.ints("directions", (0,) * count)
    rows: list[list[Value]] = [[] for _ in range(len(body.output))]
    for b in range(batch):
        row = [traced_view.squeeze(traced_view.sliced(x, 0, b, 1), (0,)) for x in given]
        state, scanned = _trips(call, body, list(row[:states]), row[states:], [0] * count, turned)
        if state is None:
            return (Missing(),) * len(call.proto.output)
        for kept, value in zip(rows, [*state, *(_stacked(call, s) for s in scanned)], strict=True):
            kept.append(value)
    return tuple(_stacked(call, r) for r in rows)


# sequences and optionals


@OPERATORS.add("SequenceConstruct", 11)
def sequence_construct(call: Call) -> Value:
    return Items(call.values)


@OPERATORS.add("SequenceEmpty", 11)
def sequence_empty(call: Call) -> Value:
    return Items(())


@OPERATORS.add("SequenceLength", 11)
def sequence_length(call: Call) -> Value:
    return known(len(call.items(0)), "i64")


def _place(call: Call, n: int, count: int) -> int:
    at = int(call.scalar(n, "the position"))
    if not -count <= at < count:
        raise call.wrong(f"there is no position {at} in a sequence of {count}")
    return at % count


@OPERATORS.add("SequenceAt", 11)
def sequence_at(call: Call) -> Value:
    values = call.items(0)
    return values[_place(call, 1, len(values))]


@OPERATORS.add("SequenceErase", 11)
def sequence_erase(call: Call) -> Value:
    values = call.items(0)
    at = _place(call, 1, len(values)) if call.given(1) else len(values) - 1
    return Items((*values[:at], *values[at + 1 :]))


@OPERATORS.add("SequenceInsert", 11)
def sequence_insert(call: Call) -> Value:
    values = call.items(0)
    at = len(values)
    if len(values) >= MOST_TRIPS:
        raise Unsupported(f"a sequence of more than {MOST_TRIPS} members")
    if call.given(2) and int(call.scalar(2, "the position")) != at:
        at = _place(call, 2, len(values))
    return Items((*values[:at], call.values[1], *values[at:]))


@OPERATORS.add("ConcatFromSequence", 11)
def concat_from_sequence(call: Call) -> Value:
    arrays = [_array(call, v) for v in call.items(0)]
    if not arrays:
        raise call.wrong("an empty sequence is joined")
    if not call.integer("new_axis", 0):
        return joined(call, arrays, call.integer("axis"))
    axis = call.axis(call.integer("axis"), arrays[0].ndim + 1)
    return joined(call, [traced_view.expand_dims(x, axis) for x in arrays], axis)


def _few(count: int) -> None:
    if count > MOST_TRIPS:
        raise Unsupported(f"a sequence of more than {MOST_TRIPS} members")


@OPERATORS.add("SplitToSequence", 24)
def split_to_sequence(call: Call) -> Value:
    x = call.x(0)
    axis = call.axis(call.integer("axis", 0), x.ndim)
    size = x.extents[axis].value
    if size is None:
        raise Unsupported("a split of symbolic extent")
    keep = True
    if call.given(1):
        given = call.known(1, "the sizes of the parts").astype(np.int64)
        if given.ndim == 0:
            step = int(given)
            if step < 1:
                raise call.wrong(f"parts of {step} elements")
            _few(size // step)
            parts = [min(step, size - n) for n in range(0, size, step)]
        else:
            parts = [int(v) for v in given.reshape(-1)]
    else:
        _few(size)
        parts, keep = [1] * size, bool(call.integer("keepdims", 1))
    _few(len(parts))
    if sum(parts) != size or min(parts, default=0) < 0:
        raise call.wrong(f"parts of {parts[:20]} elements do not make up an axis of {size}")
    found, start = [], 0
    for n in parts:
        part = traced_view.sliced(x, axis, affine(start), affine(n))
        found.append(part if keep else traced_view.squeeze(part, (axis,)))
        start += n
    return Items(tuple(found))


@OPERATORS.add("Optional", 28)
def optional(call: Call) -> Value:
    return Optional_(call.values[0] if call.values else None)


@OPERATORS.add("OptionalHasElement", 28)
def optional_has_element(call: Call) -> Value:
    given = call.values[0] if call.values else None
    return known(given is not None and not (isinstance(given, Optional_) and given.value is None), "bool")


@OPERATORS.add("OptionalGetElement", 28)
def optional_get_element(call: Call) -> Value:
    given = call.values[0]
    found = given.value if isinstance(given, Optional_) else given
    if found is None:
        raise call.wrong("the optional holds no value")
    return found
