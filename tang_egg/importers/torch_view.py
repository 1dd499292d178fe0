"""Operators of ATen that move elements: views, slices, joins, padding. Most only compose coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tang_egg import array_pad
from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg.affine import Affine, Inequality, affine, axes_over
from tang_egg.expression import Expression
from tang_egg.importers.torch_table import op
from tang_egg.importers.torch_value import Out, converted, known, operand
from tang_egg.traced import Traced, axes_forms, axis_of, broadcast_to, cast_to, fail, full
from tang_egg.traced_factor import Coordinate, Factors, merged
from tang_egg.traced_view import concatenate, expand_dims, flip, padded, permute, reshape, sliced, squeeze


def viewed(x: Traced, shape: Sequence[Affine], f: Callable[..., Sequence[Coordinate]]) -> Traced:
    """The array of `shape` whose element at logical coordinates c is that of `x` at `f(*c)`."""
    factors = tuple(() if s.value == 1 else (s,) for s in shape)

    def at(coordinates: Sequence[Coordinate]) -> Expression:
        return x.element(*f(*logical(factors, coordinates)))

    return Traced(factors, at, x.dtype)


def logical(factors: Sequence[Factors], coordinates: Sequence[Coordinate]) -> list[Coordinate]:
    """One coordinate for each axis out of one for each factor."""
    found, start = list[Coordinate](), 0
    for g in factors:
        found.append(merged(coordinates[start : start + len(g)], g))
        start += len(g)
    return found


def placed(f: Callable[..., Any], x: Traced, dtype: str | None = None, hint: str = "t") -> Traced:
    """`f(element, *logical coordinates)` as a tensor."""
    axes = axes_over(x.flat)
    at = axes_forms(axes)
    body = f(x.at(at), *logical(x.factors, at))
    array = te.tensor(None, axes, cast_to(body, dtype or x.dtype), dtype or x.dtype, hint=hint)
    return Traced(x.factors, lambda c: array[tuple(c)], dtype or x.dtype)


@op("view", "reshape", "_unsafe_view", "_reshape_alias", "flatten.using_ints", "unflatten.int", "view_as", "reshape_as",
    "view_copy", "ravel")  # fmt: skip
def _reshape(out: Out, x: Traced, *_: Any) -> Traced:
    return reshape(x, out.shape)


@op("expand", "expand_as", "broadcast_to", "expand_copy")
def _expand(out: Out, x: Traced, *_: Any, **__: Any) -> Traced:
    return broadcast_to(x, out.shape)


@op("permute", "permute_copy")
def _permute(out: Out, x: Traced, order: Sequence[int]) -> Traced:
    return permute(x, order)


@op("transpose.int", "swapaxes", "swapdims", "transpose_copy.int")
def _transpose(out: Out, x: Traced, a: int, b: int) -> Traced:
    if not x.ndim:
        return x
    order = list(range(x.ndim))
    first, second = axis_of(x, a), axis_of(x, b)
    order[first], order[second] = second, first
    return permute(x, order)


@op("t", "numpy_T", "mT", "t_copy")
def _t(out: Out, x: Traced) -> Traced:
    return permute(x, list(reversed(range(x.ndim)))) if x.ndim < 3 else _transpose(out, x, -2, -1)


@op("movedim.int", "movedim.intlist")
def _movedim(out: Out, x: Traced, source: Any, target: Any) -> Traced:
    whence = [axis_of(x, a) for a in ([source] if isinstance(source, int) else source)]
    where = [axis_of(x, a) for a in ([target] if isinstance(target, int) else target)]
    rest = iter(p for p in range(x.ndim) if p not in whence)
    return permute(x, [whence[where.index(p)] if p in where else next(rest) for p in range(x.ndim)])


@op("squeeze", "squeeze.dim", "squeeze.dims", "squeeze_copy.dims")
def _squeeze(out: Out, x: Traced, dims: Any = None) -> Traced:
    given = range(x.ndim) if dims is None else [dims] if isinstance(dims, int) else dims
    return squeeze(x, [p for p in given if x.ndim and x.extents[p].value == 1])


@op("unsqueeze", "unsqueeze_copy")
def _unsqueeze(out: Out, x: Traced, dim: int) -> Traced:
    return expand_dims(x, dim)


@op("clone", "contiguous", "detach", "alias", "lift", "lift_fresh", "lift_fresh_copy", "alias_copy", "detach_copy",
    "_to_copy", "to.dtype", "to.dtype_layout", "to.device", "to.other", "type_as")  # fmt: skip
def _same(out: Out, x: Traced, *_: Any, **__: Any) -> Traced:
    return converted(x, out.dtype)


@op("copy")
def _copy(out: Out, x: Traced, source: Traced, _: bool = False) -> Traced:
    return broadcast_to(converted(source, out.dtype), out.shape)


@op("view.dtype", "view_copy.dtype")
def _bits(out: Out, x: Traced, *_: Any) -> Traced:
    if x.dtype == out.dtype:
        return x
    if out.shape != x.extents:
        raise fail(f"elements of {x.dtype} seen as {out.dtype}, of another width", "view them in a type as wide")
    return Traced(x.factors, lambda c: e.bitcast(x.at(c), out.dtype), out.dtype)


def start_of(x: Traced, axis: int, start: Any) -> Affine:
    """The first position of a slice: negative ones count from the end, and none lies outside."""
    size = x.extents[axis]
    first = affine(0 if start is None else start)
    if first.value is None:
        return first
    if first.value < 0:
        shifted = size + first
        return affine(max(0, shifted.value)) if shifted.value is not None else shifted
    return affine(min(first.value, size.value)) if size.value is not None else first


@op("slice.Tensor", "slice_copy.Tensor")
def _slice(out: Out, x: Traced, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1) -> Traced:
    axis = axis_of(x, dim)
    if out.shape == x.extents and known(step, "a step") == 1:
        return x
    return sliced(x, axis, start_of(x, axis, start), out.shape[axis], known(step, "a step"))


@op("narrow")
def _narrow(out: Out, x: Traced, dim: int, start: Any, length: Any) -> Traced:
    axis = axis_of(x, dim)
    return sliced(x, axis, start_of(x, axis, start), affine(length))


def selected(x: Traced, dim: int, at: Any) -> Traced:
    """`x` at one position of an axis, which the result lacks."""
    axis = axis_of(x, dim)
    place = affine(at)
    first = x.extents[axis] + place if place.value is not None and place.value < 0 else place
    return squeeze(sliced(x, axis, first, 1), [axis])


@op("select.int", "select_copy.int")
def _select(out: Out, x: Traced, dim: int, at: Any) -> Traced:
    return selected(x, dim, at)


@op("split.Tensor", "split.sizes", "split_with_sizes", "chunk", "unsafe_split.Tensor", "split_copy.Tensor",
    "split_with_sizes_copy", "tensor_split.sections", "tensor_split.indices", "unsafe_chunk")  # fmt: skip
def _split(out: Out, x: Traced, _: Any, dim: int = 0) -> tuple[Traced, ...]:
    axis = axis_of(x, dim)
    found, start = list[Traced](), affine(0)
    for shape in out.shapes:
        found.append(sliced(x, axis, start, shape[axis]))
        start = start + shape[axis]
    return tuple(found)


@op("unbind.int", "unbind_copy.int")
def _unbind(out: Out, x: Traced, dim: int = 0) -> tuple[Traced, ...]:
    return tuple(selected(x, dim, n) for n in range(known(x.extents[axis_of(x, dim)], "an unbound axis")))


@op("cat", "concat", "concatenate")
def _cat(out: Out, arrays: Sequence[Traced], dim: int = 0) -> Traced:
    # an empty tensor of one axis joins with everything
    kept = [x for x in arrays if not (x.ndim == 1 and x.extents[0].value == 0 and len(out.shape) > 1)]
    given = [converted(x, out.dtype) for x in kept]
    if not given:
        return full(out.shape, 0, out.dtype)
    return given[0] if len(given) == 1 else concatenate(given, dim)


@op("stack")
def _stack(out: Out, arrays: Sequence[Traced], dim: int = 0) -> Traced:
    return _cat(out, [expand_dims(x, dim) for x in arrays], dim if dim >= 0 else dim + len(out.shape))


@op("flip")
def _flip(out: Out, x: Traced, dims: Sequence[int]) -> Traced:
    for d in dims:
        x = flip(x, d)
    return x


@op("roll")
def _roll(out: Out, x: Traced, shifts: Any, dims: Any = ()) -> Traced:
    steps = list(shifts) if isinstance(shifts, (list, tuple)) else [shifts]
    if not dims:
        return reshape(_roll_axis(reshape(x, [-1]), 0, steps[0]), x.extents)
    for d, s in zip([dims] if isinstance(dims, int) else dims, steps, strict=True):
        x = _roll_axis(x, axis_of(x, d), s)
    return x


def _roll_axis(x: Traced, axis: int, shift: Any) -> Traced:
    size, by = x.extents[axis], affine(shift)
    if size.value is not None and by.value is not None:
        by = affine(by.value % size.value if size.value else 0)
    elif by.value is not None and by.value < 0:
        by = size + by
    if by.value == 0:
        return x
    return concatenate([sliced(x, axis, size - by, by), sliced(x, axis, 0, size - by)], axis)


@op("repeat", "tile")
def _repeat(out: Out, x: Traced, times: Sequence[Any]) -> Traced:
    given = [affine(1)] * (x.ndim - len(times)) + [affine(t) for t in times]
    for _ in range(len(given) - x.ndim):
        x = expand_dims(x, 0)
    spread = x
    for p in reversed(range(x.ndim)):
        spread = expand_dims(spread, p)
    wide = [s for t, size in zip(given, x.extents, strict=True) for s in (t, size)]
    return reshape(broadcast_to(spread, wide), out.shape)


@op("repeat_interleave.self_int")
def _interleave(out: Out, x: Traced, times: Any, dim: Any = None, **_: Any) -> Traced:
    if dim is None:
        x, dim = reshape(x, [-1]), 0
    axis = axis_of(x, dim)
    spread = expand_dims(x, axis + 1)
    wide = [*x.extents[: axis + 1], affine(times), *x.extents[axis + 1 :]]
    return reshape(broadcast_to(spread, wide), out.shape)


@op("unfold", "unfold_copy")
def _unfold(out: Out, x: Traced, dim: int, size: Any, step: Any) -> Traced:
    if not x.ndim:
        return reshape(x, out.shape)
    axis, stride = axis_of(x, dim), known(step, "a step")

    def place(*c: Coordinate) -> list[Coordinate]:
        window, inner = c[axis], c[-1]
        assert isinstance(window, Affine) and isinstance(inner, Affine)
        return [*c[:axis], window * stride + inner, *c[axis + 1 : -1]]

    return viewed(x, out.shape, place)


@op("diagonal", "diagonal_copy")
def _diagonal(out: Out, x: Traced, offset: int = 0, first: int = 0, second: int = 1) -> Traced:
    a, b = axis_of(x, first), axis_of(x, second)

    def place(*c: Coordinate) -> list[Coordinate]:
        rest = iter(c[:-1])
        k = c[-1]
        assert isinstance(k, Affine)
        return [k + max(0, -offset) if p == a else k + max(0, offset) if p == b else next(rest) for p in range(x.ndim)]

    return viewed(x, out.shape, place)


@op("pixel_shuffle")
def _pixel_shuffle(out: Out, x: Traced, r: int) -> Traced:
    *lead, _c, h, w = x.extents
    n = len(lead)
    parted = reshape(x, [*lead, out.shape[-3], affine(r), affine(r), h, w])
    return reshape(permute(parted, [*range(n), n, n + 3, n + 1, n + 4, n + 2]), out.shape)


@op("pixel_unshuffle")
def _pixel_unshuffle(out: Out, x: Traced, r: int) -> Traced:
    *lead, c, _, _ = x.extents
    n = len(lead)
    parted = reshape(x, [*lead, c, out.shape[-2], affine(r), out.shape[-1], affine(r)])
    return reshape(permute(parted, [*range(n), n, n + 2, n + 4, n + 1, n + 3]), out.shape)


@op("channel_shuffle", "native_channel_shuffle")
def _channel_shuffle(out: Out, x: Traced, groups: int) -> Traced:
    share = known(x.extents[1], "the number of channels") // groups
    parted = reshape(x, [x.extents[0], affine(groups), affine(share), *x.extents[2:]])
    return reshape(permute(parted, [0, 2, 1, *range(3, parted.ndim)]), out.shape)


def _triangle(name: str, kept: Callable[[Affine, Affine, Any], Inequality]) -> None:
    def triangle(out: Out, x: Traced, k: Any = 0) -> Traced:
        def element(a: Expression, *c: Any) -> Expression:
            return e.select(kept(c[-2], c[-1], k), a, e.constant(False if x.dtype == "bool" else 0, x.dtype))

        return placed(element, x, hint=name)

    op(name)(triangle)


_triangle("tril", lambda i, j, k: j <= i + affine(k))
_triangle("triu", lambda i, j, k: j >= i + affine(k))


def _widths(x: Traced, pad: Sequence[Any]) -> list[tuple[int, Affine, Affine]]:
    """(axis, before, after) of a list of paddings, which starts from the last axis."""
    return [(x.ndim - 1 - n, affine(pad[2 * n]), affine(pad[2 * n + 1])) for n in range(len(pad) // 2)]


@op("constant_pad_nd")
def _constant_pad(out: Out, x: Traced, pad: Sequence[Any], value: Any = 0) -> Traced:
    fill = operand(value, x.dtype).at([])
    for axis, before, after in _widths(x, pad):
        if before.value != 0 or after.value != 0:
            x = padded(x, axis, before, after, fill)
    return x


@op("pad")
def _pad(out: Out, x: Traced, pad: Sequence[Any], mode: str = "constant", value: Any = None) -> Traced:
    if mode == "constant":
        return _constant_pad(out, x, pad, 0 if value is None else value)
    return _edges(x, pad, {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode])


def _edges(x: Traced, pad: Sequence[Any], mode: str) -> Traced:
    """`x` with what stands at its ends around it; negative widths cut elements off."""
    widths = [(0, 0)] * x.ndim
    for axis, before, after in _widths(x, pad):
        low, high = known(before, "a padding"), known(after, "a padding")
        if min(low, high) < 0:
            x = sliced(x, axis, max(0, -low), x.extents[axis] + min(0, low) + min(0, high))
        widths[axis] = (max(0, low), max(0, high))
    return array_pad.pad(x, widths, mode=mode)


for _n in (1, 2, 3):
    op(f"reflection_pad{_n}d")(lambda out, x, pad: _edges(x, pad, "reflect"))
    op(f"replication_pad{_n}d")(lambda out, x, pad: _edges(x, pad, "edge"))
op("_pad_circular")(lambda out, x, pad: _edges(x, pad, "wrap"))


@op("slice_scatter")
def _slice_scatter(
    out: Out, x: Traced, source: Traced, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1
) -> Traced:
    axis = axis_of(x, dim)
    if known(step, "a step") != 1:
        raise fail("a slice with a step is written", "write every element of a range")
    first, width = start_of(x, axis, start), source.extents[axis]
    given = converted(source, x.dtype)
    parts = [sliced(x, axis, 0, first), given, sliced(x, axis, first + width, x.extents[axis] - first - width)]
    kept = [p for p in parts if p.extents[axis].value != 0]
    return concatenate(kept, axis) if len(kept) > 1 else (kept or [x])[0]


@op("select_scatter")
def _select_scatter(out: Out, x: Traced, source: Traced, dim: int, at: Any) -> Traced:
    axis = axis_of(x, dim)
    place = affine(at)
    first = x.extents[axis] + place if place.value is not None and place.value < 0 else place
    return _slice_scatter(out, x, expand_dims(source, axis), axis, first)
