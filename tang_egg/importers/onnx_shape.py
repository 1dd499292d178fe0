"""Operators that make arrays from shapes, or show the elements of their operands in another shape or order."""

from __future__ import annotations

import math

import numpy as np

from tang_egg import expression as e
from tang_egg import traced, traced_view
from tang_egg.affine import Affine, affine, product
from tang_egg.bounds import prove_nonnegative
from tang_egg.expression import value
from tang_egg.importers.onnx_call import Call, Table
from tang_egg.importers.onnx_file import sparse
from tang_egg.importers.onnx_value import Unsupported, Value, element_type, forms, known, shape_value
from tang_egg.importers.weights import MOST_AXES
from tang_egg.traced import Traced
from tang_egg.traced_factor import quotient

OPERATORS = Table()


@OPERATORS.add("Constant", 25)
def constant(call: Call) -> Value:
    if call.has("value"):
        return call.tensor("value")
    if call.has("sparse_value"):
        return sparse(call.attributes["sparse_value"].sparse_tensor, call.file, call.where)
    if call.has("value_float"):
        return known(call.number("value_float"), "f32")
    if call.has("value_floats"):
        return known(call.floats("value_floats"), "f32")
    if call.has("value_int"):
        return known(call.integer("value_int"), "i64")
    if call.has("value_ints"):
        return known(call.ints("value_ints"), "i64")
    raise Unsupported("elements of type STRING") if call.attributes else call.wrong("there is no value")


@OPERATORS.add("Shape", 25)
def shape(call: Call) -> Value:
    sizes = call.tensor_value(0).extents
    start, end, _ = slice(call.integer("start", 0), call.integer("end", len(sizes))).indices(len(sizes))
    return shape_value(sizes[start:end])


@OPERATORS.add("Size", 25)
def size(call: Call) -> Value:
    held = np.empty((), object)
    held[()] = product(call.tensor_value(0).extents)
    return forms(held, "size")


@OPERATORS.add("Reshape", 25)
def reshape(call: Call) -> Value:
    x = call.x(0)
    wanted = list(call.sizes(1, "the shape") if call.since >= 5 else map(affine, call.ints("shape")))
    if len(wanted) > MOST_AXES:
        raise call.wrong(f"the shape has {len(wanted)} axes")
    if not call.integer("allowzero", 0):
        for n, s in enumerate(wanted):
            if s.value == 0:
                if n >= x.ndim:
                    raise call.wrong(f"the shape copies axis {n} of an array of {x.ndim} axes")
                wanted[n] = x.extents[n]
    return traced_view.reshape(x, wanted)


@OPERATORS.add("Flatten", 25)
def flatten(call: Call) -> Value:
    x = call.x(0)
    axis = call.integer("axis", 1)
    if not -x.ndim <= axis <= x.ndim:
        raise call.wrong(f"there is no axis {axis} in an array of {x.ndim} axes")
    axis += x.ndim if axis < 0 else 0
    return traced_view.reshape(x, [product(x.extents[:axis]), product(x.extents[axis:])])


@OPERATORS.add("Transpose", 25)
def transpose(call: Call) -> Value:
    x = call.x(0)
    return traced_view.permute(x, call.ints("perm", range(x.ndim)[::-1]))


def _axes(call: Call, since: int) -> tuple[int, ...] | None:
    """The axes, an attribute in old operator sets and an input since."""
    if call.since >= since:
        return call.numbers(1, "axes") if call.given(1) else None
    return call.ints("axes") if call.has("axes") else None


@OPERATORS.add("Squeeze", 25)
def squeeze(call: Call) -> Value:
    x, axes = call.x(0), _axes(call, 13)
    if axes is None:
        axes = tuple(p for p, s in enumerate(x.extents) if s.value == 1)
    return traced_view.squeeze(x, call.axes(axes, x.ndim))


@OPERATORS.add("Unsqueeze", 25)
def unsqueeze(call: Call) -> Value:
    x, axes = call.x(0), _axes(call, 13) or ()
    if len(axes) + x.ndim > MOST_AXES:
        raise call.wrong(f"the result has {len(axes) + x.ndim} axes")
    for a in sorted(call.axes(axes, x.ndim + len(axes))):
        x = traced_view.expand_dims(x, a)
    return x


@OPERATORS.add("Expand", 13)
def expand(call: Call) -> Value:
    x, wanted = call.x(0), call.sizes(1, "the shape")
    if len(wanted) > MOST_AXES:
        raise call.wrong(f"the shape has {len(wanted)} axes")
    return traced.broadcast_to(x, traced.broadcast_shapes(x.extents, wanted))


@OPERATORS.add("Concat", 13)
def concat(call: Call) -> Value:
    return joined(call, call.xs(), call.integer("axis", 1 if call.since < 4 else None))


def joined(call: Call, arrays: list[Traced], axis: int) -> Traced:
    """Arrays end to end along an axis; those without elements there are left out."""
    p = call.axis(axis, arrays[0].ndim)
    if any(x.ndim != arrays[0].ndim for x in arrays):
        raise call.wrong("arrays of different ranks are joined")
    kept = [x for x in arrays if x.extents[p].value != 0] or arrays[:1]
    return kept[0] if len(kept) == 1 else traced_view.concatenate(kept, p)


@OPERATORS.add("Split", 18)
def split(call: Call) -> tuple[Value, ...]:
    x = call.x(0)
    axis = call.axis(call.integer("axis", 0), x.ndim)
    if call.since >= 13 and call.given(1):
        sizes = call.sizes(1, "the sizes of the parts")
    elif call.since < 13 and call.has("split"):
        sizes = tuple(map(affine, call.ints("split")))
    else:
        count, whole = call.integer("num_outputs", len(call.proto.output)), x.extents[axis]
        if count < 1 or count > len(call.proto.output):
            raise call.wrong(f"the array is split into {count} parts")
        known_size = whole.value
        if known_size is None:
            part = quotient(whole, affine(count))
            if part is None:
                raise Unsupported(f"a split of symbolic extent {whole} into {count}")
            sizes = (part,) * count
        else:
            step = -(-known_size // count)
            sizes = tuple(affine(max(0, min(step, known_size - n * step))) for n in range(count))
    total = sum(sizes, affine(0))
    if total is not x.extents[axis] or any(s.value is not None and s.value < 0 for s in sizes):
        raise call.wrong(f"parts of {', '.join(map(repr, sizes))} do not make up an axis of {x.extents[axis]}")
    parts, start = [], affine(0)
    for s in sizes:
        parts.append(traced_view.sliced(x, axis, start, s))
        start = start + s
    return tuple(parts)


@OPERATORS.add("Slice", 13)
def slice_(call: Call) -> Value:
    x = call.x(0)
    if call.since >= 10:
        starts, ends = call.sizes(1, "starts"), call.sizes(2, "ends")
        axes = call.numbers(3, "axes") if call.given(3) else tuple(range(len(starts)))
        steps = call.numbers(4, "steps") if call.given(4) else (1,) * len(starts)
    else:
        starts, ends = (tuple(map(affine, call.ints(n))) for n in ("starts", "ends"))
        axes, steps = call.ints("axes", range(len(starts))), (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise call.wrong("starts, ends, axes and steps differ in length")
    for axis, start, end, step in zip(call.axes(axes, x.ndim), starts, ends, steps, strict=True):
        first, count = span(call, x.extents[axis], start, end, step)
        if first.value != 0 or count is not x.extents[axis] or step != 1:
            x = traced_view.sliced(x, axis, first, count, step)
    return x


def span(call: Call, whole: Affine, start: Affine, end: Affine, step: int) -> tuple[Affine, Affine]:
    """The first position of a slice and the number of elements, by NumPy's rules."""
    if step == 0:
        raise call.wrong("a step is 0")
    if whole.value is not None and start.value is not None and end.value is not None:
        found = range(*slice(start.value, _open(end.value, step), step).indices(whole.value))
        return affine(found.start), affine(len(found))
    low, high = (affine(0), whole) if step > 0 else (affine(-1), whole - 1)
    first = _clamped(_from_start(start, whole), low if step > 0 else affine(0), high)
    last = low if step < 0 and _open(end.value, step) is None else _clamped(_from_start(end, whole), low, high)
    distance = last - first if step > 0 else first - last
    if distance.value is not None:
        return first, affine(max(0, -(-distance.value // abs(step))))
    count = quotient(distance, affine(abs(step)))
    if count is None:
        count = quotient(distance + (abs(step) - 1), affine(abs(step)))
    if count is None or not prove_nonnegative(count):
        raise Unsupported(f"a slice of symbolic length ({distance}) / {abs(step)}")
    return first, count


def _open(end: int | None, step: int) -> int | None:
    """An end before every array is that of a backward slice with no end."""
    return None if end is not None and step < 0 and end <= -(2**31) + 1 else end


def _from_start(position: Affine, whole: Affine) -> Affine:
    if position.value is None:
        if prove_nonnegative(position):
            return position
        if prove_nonnegative(-position - 1):
            return position + whole
        raise Unsupported(f"a slice from {position}, whose sign is open")
    return position + whole if position.value < 0 else position


def _clamped(position: Affine, low: Affine, high: Affine) -> Affine:
    if position.value is not None and position.value >= 2**31 - 1:
        return high
    if prove_nonnegative(low - position):
        return low
    if prove_nonnegative(position - high):
        return high
    if prove_nonnegative(position - low) and prove_nonnegative(high - position):
        return position
    raise Unsupported(f"a slice to {position}, which may lie outside the axis of {high}")


@OPERATORS.add("Tile", 13)
def tile(call: Call) -> Value:
    x = call.x(0)
    if call.since < 6:
        raise Unsupported("version 1 of the operator")
    repeats = call.sizes(1, "repeats")
    if len(repeats) != x.ndim or any(r.value is not None and r.value < 0 for r in repeats):
        raise call.wrong(f"{len(repeats)} repeats of an array of {x.ndim} axes")
    if any(r.value == 0 for r in repeats):
        return traced.full([s * r for s, r in zip(x.extents, repeats, strict=True)], 0, x.dtype)
    factors = tuple(g if r.value == 1 else (r, *g) for g, r in zip(x.factors, repeats, strict=True))
    read = [not (n == 0 and r.value != 1) for g, r in zip(factors, repeats, strict=True) for n in range(len(g))]
    return Traced(factors, lambda c: x.at([k for k, r in zip(c, read, strict=True) if r]), x.dtype, None, x.constant)


@OPERATORS.add("ConstantOfShape", 25)
def constant_of_shape(call: Call) -> Value:
    sizes = call.sizes(0, "the shape")
    if len(sizes) > MOST_AXES or any(s.value is not None and s.value < 0 for s in sizes):
        raise call.wrong(f"the shape is {sizes[:40]}")
    given = call.tensor("value") if call.has("value") else known([0.0], "f32")
    if given.array.size != 1:
        raise call.wrong("the value has more than one element")
    first = given.array.reshape(-1)[0].item()
    if first != first:
        return traced.broadcast_to(traced_view.reshape(call.lift(given), ()), sizes)
    return traced.full(sizes, first, given.dtype)


@OPERATORS.add("Range", 27)
def range_(call: Call) -> Value:
    dtype = call.tensor_value(0).dtype
    if dtype in ("f32", "f64", "f16", "bf16"):
        start, limit, step = (float(call.scalar(n, "a bound of the range")) for n in range(3))
        if not all(map(math.isfinite, (start, limit, step))) or step == 0:
            raise call.wrong("the range has no end")
        count = affine(max(0, math.ceil((limit - start) / step)))
        return traced.positions([count], lambda i: value(i) * 1 if step == 1 and start == 0 else
                                e.cast(i, "real") * step + start, dtype)  # fmt: skip
    begin, end, by = (call.sizes(n, "a bound of the range") for n in range(3))
    if not len(begin) == len(end) == len(by) == 1 or by[0].value == 0:
        raise call.wrong("the range has no end")
    distance, stride = end[0] - begin[0], by[0].value
    if stride is None:
        raise Unsupported(f"a range with the step {by[0]}")
    if distance.value is not None:
        count = affine(max(0, -(-distance.value // stride)))
    else:
        found = quotient(distance, affine(stride))
        if found is None or not prove_nonnegative(found):
            raise Unsupported(f"a range of ({distance}) / {stride} numbers")
        count = found
    return traced.positions([count], lambda i: affine(i) * stride + begin[0], dtype)


@OPERATORS.add("EyeLike", 22)
def eye_like(call: Call) -> Value:
    x, k = call.tensor_value(0), call.integer("k", 0)
    dtype = element_type(call.integer("dtype")) if call.has("dtype") else x.dtype
    if len(x.extents) != 2:
        raise call.wrong(f"the input has {len(x.extents)} axes, not 2")
    one, zero = e.constant(1, dtype), e.constant(0, dtype)
    if dtype == "bool":
        one, zero = e.constant(True), e.constant(False)
    return traced.positions(x.extents, lambda i, j: e.select(e.eq(affine(i) + k, j), one, zero), dtype)


@OPERATORS.add("Trilu", 14)
def trilu(call: Call) -> Value:
    x, upper = call.x(0), call.integer("upper", 1)
    if x.ndim < 2:
        raise call.wrong(f"the input has {x.ndim} axes, not 2 or more")
    k = int(call.scalar(1, "k")) if call.given(1) else 0
    zero = e.constant(False) if x.dtype == "bool" else e.constant(0, x.dtype)
    kept = traced.positions(x.extents[-2:], lambda i, j: e.value(affine(i) + k <= affine(j)) if upper
                            else e.value(affine(j) <= affine(i) + k), "bool")  # fmt: skip
    return traced.compute(lambda live, a: e.select(live, a, zero), kept, x, dtype=x.dtype, hint="triangle")


@OPERATORS.add("DepthToSpace", 28)
def depth_to_space(call: Call) -> Value:
    x, b = call.x(0), call.integer("blocksize")
    n, c, h, w = _image(call, x)
    depth = quotient(c, affine(b * b)) if b > 0 else None
    if depth is None:
        raise call.wrong(f"{c} channels are no blocks of {b} × {b}")
    if call.text("mode", "DCR") == "DCR":
        parts = traced_view.permute(traced_view.reshape(x, [n, b, b, depth, h, w]), (0, 3, 4, 1, 5, 2))
    else:
        parts = traced_view.permute(traced_view.reshape(x, [n, depth, b, b, h, w]), (0, 1, 4, 2, 5, 3))
    return traced_view.reshape(parts, [n, depth, h * b, w * b])


@OPERATORS.add("SpaceToDepth", 28)
def space_to_depth(call: Call) -> Value:
    x, b = call.x(0), call.integer("blocksize")
    n, c, h, w = _image(call, x)
    rows, columns = (quotient(s, affine(b)) if b > 0 else None for s in (h, w))
    if rows is None or columns is None:
        raise call.wrong(f"{h} × {w} are no blocks of {b} × {b}")
    parts = traced_view.reshape(x, [n, c, rows, b, columns, b])
    order = (0, 3, 5, 1, 2, 4) if call.text("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    return traced_view.reshape(traced_view.permute(parts, order), [n, c * (b * b), rows, columns])


def _image(call: Call, x: Traced) -> tuple[Affine, ...]:
    if x.ndim != 4:
        raise call.wrong(f"the input has {x.ndim} axes, not 4")
    return x.extents
