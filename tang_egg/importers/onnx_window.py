"""Convolution and pooling."""

from __future__ import annotations

from collections.abc import Sequence

from tang_egg import expression as e
from tang_egg import library_conv, library_pool, ops, traced, traced_view
from tang_egg import notation as te
from tang_egg.affine import Index, affine
from tang_egg.expression import Expression, value
from tang_egg.importers.onnx_call import Call, Table, extent, fixed
from tang_egg.importers.onnx_reduce import largest, mean
from tang_egg.importers.onnx_value import Known, Value
from tang_egg.traced import Traced, compute, fold

OPERATORS = Table()

Pads = tuple[tuple[int, int], ...]


def window(call: Call, x: Traced, kernel: Sequence[int]) -> tuple[tuple[int, ...], Pads, tuple[int, ...]]:
    """Strides, pads (before, after) and dilations of a window, one for each spatial axis."""
    n = len(kernel)
    strides, dilations = call.ints("strides", (1,) * n), call.ints("dilations", (1,) * n)
    if not len(strides) == len(dilations) == n == x.ndim - 2 or min((*strides, *dilations, *kernel), default=1) < 1:
        raise call.wrong(f"a window of {n} axes over an array of shape {x.shape}")
    automatic = call.text("auto_pad", "NOTSET")
    if automatic == "VALID":
        return strides, ((0, 0),) * n, dilations
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
        pads = []
        for p in range(n):
            reach = dilations[p] * (kernel[p] - 1) + 1
            if strides[p] == 1:
                whole = reach - 1
            else:
                size = extent(x, p + 2, "automatic padding")
                whole = max(0, (-(-size // strides[p]) - 1) * strides[p] + reach - size)
            less = whole // 2
            pads.append((less, whole - less) if automatic == "SAME_UPPER" else (whole - less, less))
        return strides, tuple(pads), dilations
    if automatic != "NOTSET":
        raise call.wrong(f"there is no padding '{automatic}'")
    given = call.ints("pads", (0,) * (2 * n))
    if len(given) != 2 * n:
        raise call.wrong(f"{len(given)} pads for {n} axes")
    return strides, tuple(zip(given[:n], given[n:], strict=True)), dilations


def _kernel(call: Call, w: Traced) -> tuple[int, ...]:
    sizes = fixed(w, "a kernel")[2:]
    if call.has("kernel_shape") and call.ints("kernel_shape") != sizes:
        raise call.wrong(f"the kernel has the shape {sizes}, not {call.ints('kernel_shape')}")
    return sizes


def convolved(call: Call, x: Traced, w: Traced, bias: Traced | None) -> Traced:
    """The convolution of `x` by `w` with the parameters of a node."""
    if x.ndim < 3 or w.ndim != x.ndim:
        raise call.wrong(f"a convolution of shapes {x.shape} and {w.shape}")
    strides, pads, dilations = window(call, x, _kernel(call, w))
    found = library_conv.conv(
        traced.to_array(x, hint="operand"),
        traced.to_array(w),
        None if bias is None else traced.to_array(bias),
        stride=strides,
        padding=pads,
        dilation=dilations,
        groups=call.integer("group", 1),
    )
    return traced.of(found)


def held(x: Traced) -> Traced:
    """`x` rounded to its type, as the format says of every result: no law looks for factors on both sides of it."""
    return compute(lambda a: e.cast(a, x.dtype), x, dtype=x.dtype, hint="held") if x.dtype in ops.FLOATS else x


@OPERATORS.add("Conv", 22)
def conv(call: Call) -> Value:
    x, w, bias = call.x(0), call.tensor_value(1), call.values[2] if call.given(2) else None
    if isinstance(w, Known) and (bias is None or isinstance(bias, Known)):
        return call.runner.products.trace(
            w, bias, lambda w, b: convolved(call, x, call.lift(w), None if b is None else call.lift(b))
        )
    return convolved(call, x, call.x(1), call.optional(2))


@OPERATORS.add("ConvTranspose", 22)
def conv_transpose(call: Call) -> Value:
    x, w = call.x(0), call.x(1)
    if x.ndim < 3 or w.ndim != x.ndim:
        raise call.wrong(f"a convolution of shapes {x.shape} and {w.shape}")
    kernel, n = _kernel(call, w), x.ndim - 2
    strides, dilations = call.ints("strides", (1,) * n), call.ints("dilations", (1,) * n)
    extra = call.ints("output_padding", (0,) * n)
    automatic = call.text("auto_pad", "NOTSET")
    if not len(strides) == len(dilations) == len(extra) == n:
        raise call.wrong(f"strides, dilations or output_padding are not those of {n} axes")
    given = call.ints("pads", (0,) * (2 * n))
    if len(given) != 2 * n:
        raise call.wrong(f"{len(given)} pads for {n} axes")
    pads = list(zip(given[:n], given[n:], strict=True))
    if call.has("output_shape") or automatic in ("SAME_UPPER", "SAME_LOWER"):
        wanted = call.ints("output_shape")[-n:] if call.has("output_shape") else None
        for p in range(n):
            size = extent(x, p + 2, "automatic padding")
            target = wanted[p] if wanted else size * strides[p]
            whole = strides[p] * (size - 1) + extra[p] + (kernel[p] - 1) * dilations[p] + 1 - target
            less = whole // 2
            pads[p] = (less, whole - less) if automatic == "SAME_UPPER" else (whole - less, less)
    elif automatic == "VALID":
        pads = [(0, 0)] * n
    grown = [(max(0, -b), max(0, -a)) for b, a in pads]
    found = traced.of(
        library_conv.conv_transpose(
            traced.to_array(x, hint="operand"),
            traced.to_array(w),
            stride=strides,
            padding=tuple((max(0, b), max(0, a)) for b, a in pads),
            output_padding=extra,
            dilation=dilations,
            groups=call.integer("group", 1),
        )
    )
    for p, (before, after) in enumerate(grown):
        # what no element of the input reaches
        found = traced_view.padded(found, p + 2, before, after, e.constant(0.0)) if before or after else found
    if not call.given(2):
        return found
    bias = traced_view.reshape(call.x(2), [call.x(2).extents[0], *(1,) * n])
    return compute(lambda a, b: a + b, found, bias, dtype=x.dtype, hint="conv_transpose")


def _pool(call: Call) -> tuple[Traced, dict[str, object]]:
    x, kernel = call.x(0), call.ints("kernel_shape")
    ceil = bool(call.integer("ceil_mode", 0)) and call.text("auto_pad", "NOTSET") in ("NOTSET", "VALID")
    strides, pads, dilations = window(call, x, kernel)
    if any(b < 0 or a < 0 for b, a in pads):
        raise call.wrong("a pad is negative")
    return x, {"kernel": kernel, "stride": strides, "padding": pads, "dilation": dilations, "ceil_mode": ceil}


@OPERATORS.add("MaxPool", 22)
def max_pool(call: Call) -> tuple[Value, ...]:
    x, parameters = _pool(call)
    array = traced.to_array(x, hint="operand")
    values = traced.of(library_pool.max_pool(array, **parameters))  # type: ignore[arg-type]
    if not call.wanted(1):
        return (values,)
    places = traced.of(library_pool.max_pool_indices(array, **parameters))  # type: ignore[arg-type]
    sizes = fixed(x, "positions")
    whole = 1
    for n in sizes[2:]:
        whole *= n
    if call.integer("storage_order", 0):
        places = compute(lambda p: _column_major(p, sizes[2:]), places, dtype="i64", hint="places")
    start = traced.positions(sizes[:2], lambda n, c: (affine(n) * sizes[1] + c) * whole)
    start = traced_view.reshape(start, [*sizes[:2], *(1,) * (x.ndim - 2)])
    return values, compute(lambda p, b: p + b, places, start, dtype="i64", hint="places")


def _column_major(flat: Expression, sizes: Sequence[int]) -> Expression:
    """The column-major position of a row-major one."""
    parts, rest = [], flat
    for n in reversed(sizes):
        parts.append(rest % n)
        rest = rest // n
    parts.reverse()
    found, step = parts[0], 1
    for n, part in zip(sizes, parts[1:], strict=False):
        step *= n
        found = found + part * step
    return found


@OPERATORS.add("AveragePool", 22)
def average_pool(call: Call) -> Value:
    x, parameters = _pool(call)
    found = library_pool.avg_pool(
        traced.to_array(x, hint="operand"),
        **parameters,  # type: ignore[arg-type]
        count_include_pad=bool(call.integer("count_include_pad", 0)),
    )
    return traced.of(found)


@OPERATORS.add("LpPool", 22)
def lp_pool(call: Call) -> Value:
    x, parameters = _pool(call)
    p = call.integer("p", 2) if call.since >= 2 else call.number("p", 2.0)
    return traced.of(library_pool.lp_pool(traced.to_array(x, hint="operand"), p, **parameters))  # type: ignore[arg-type]


def _spatial(call: Call) -> tuple[Traced, range]:
    x = call.x(0)
    if x.ndim < 3:
        raise call.wrong(f"the input has {x.ndim} axes, not 3 or more")
    return x, range(2, x.ndim)


@OPERATORS.add("GlobalAveragePool", 22)
def global_average_pool(call: Call) -> Value:
    x, axes = _spatial(call)
    return held(mean(x, axes))


@OPERATORS.add("GlobalMaxPool", 22)
def global_max_pool(call: Call) -> Value:
    x, axes = _spatial(call)
    return fold(largest, x, axes, x.dtype, keepdims=True, hint="largest")


@OPERATORS.add("GlobalLpPool", 22)
def global_lp_pool(call: Call) -> Value:
    x, _ = _spatial(call)
    p = call.integer("p", 2) if call.since >= 2 else call.number("p", 2.0)
    return traced.of(library_pool.global_lp_pool(traced.to_array(x), p))


@OPERATORS.add("LRN", 13)
def local_response_normalization(call: Call) -> Value:
    x, size = call.x(0), call.integer("size")
    alpha, beta, bias = call.number("alpha", 1e-4), call.number("beta", 0.75), call.number("bias", 1.0)
    if x.ndim < 2 or size < 1:
        raise call.wrong(f"a window of {size} channels over an array of shape {x.shape}")
    before, c = (size - 1) // 2, x.extents[1]
    axes = tuple(Index("ijklmnop"[p] if p < 8 else f"i{p}", s) for p, s in enumerate(x.extents))
    k = Index("near", affine(size))
    at = affine(axes[1]) + k - before
    element = x.element(axes[0], at, *axes[2:])
    square = te.sum(k, element * element, where=(at >= 0, at < c))
    near = te.tensor(None, axes, square, x.dtype, hint="near")
    body = x.element(*axes) * e.exp(e.log(near[axes] * (alpha / size) + bias) * -beta)
    return traced.of(te.tensor(None, axes, body, x.dtype, hint="normalised"))


@OPERATORS.add("MaxUnpool", 22)
def max_unpool(call: Call) -> Value:
    x, places, n = call.x(0), call.x(1), len(call.ints("kernel_shape"))
    kernel, strides = call.ints("kernel_shape"), call.ints("strides", (1,) * n)
    pads, sizes = call.ints("pads", (0,) * (2 * n)), fixed(x, "MaxUnpool")
    if x.ndim != n + 2 or len(strides) != n or len(pads) != 2 * n:
        raise call.wrong(f"a window of {n} axes over an array of shape {x.shape}")
    natural = [(sizes[p + 2] - 1) * strides[p] + kernel[p] - pads[p] - pads[n + p] for p in range(n)]
    shape = [*sizes[:2], *natural]
    wanted = list(call.numbers(2, "the output's shape")) if call.given(2) else shape
    if len(wanted) != len(shape) or any(w < 0 for w in wanted):
        raise call.wrong(f"the output's shape is {wanted}")
    # The positions count the elements of the natural shape; a larger output holds that in its first corner.
    axes = tuple(Index("ijklmnop"[p] if p < 8 else f"i{p}", affine(s)) for p, s in enumerate(wanted))
    bound = tuple(Index(f"r{p}", affine(s)) for p, s in enumerate(sizes))
    flat = affine(0)
    for i, s in zip(axes, shape, strict=True):
        flat = flat * s + i
    found = te.sum(bound, x.element(*bound), where=e.eq(places.element(*bound), value(flat)))
    within = [i <= s - 1 for i, s, w in zip(axes, shape, wanted, strict=True) if w > s]
    body = e.select(te.holds(within), found, 0.0) if within else found
    return traced.of(te.tensor(None, axes, body, x.dtype, hint="unpooled"))


@OPERATORS.add("Col2Im", 18)
def col_to_image(call: Call) -> Value:
    x, image, block = call.x(0), call.numbers(1, "the image's shape"), call.numbers(2, "the block's shape")
    n = len(image)
    strides, dilations = call.ints("strides", (1,) * n), call.ints("dilations", (1,) * n)
    pads = call.ints("pads", (0,) * (2 * n))
    if (
        not len(block) == len(strides) == len(dilations) == n
        or len(pads) != 2 * n
        or x.ndim != 3
        or min((*image, *block, *strides, *dilations), default=1) < 1
    ):
        raise call.wrong(f"blocks {block} of an image {image}")
    size = 1
    for b in block:
        size *= b
    columns = [
        (image[p] + pads[p] + pads[n + p] - dilations[p] * (block[p] - 1) - 1) // strides[p] + 1 for p in range(n)
    ]
    channels = extent(x, 1, "blocks") // size
    view = traced_view.reshape(x, [x.extents[0], channels, *block, *columns])
    axes = tuple(Index("ijklmnop"[p] if p < 8 else f"i{p}", affine(s)) for p, s in enumerate((0, channels, *image)))
    axes = (Index("i", x.extents[0]), *axes[1:])
    bound = tuple(Index(f"k{p}", affine(s)) for p, s in enumerate(block))
    where: list[te.Condition] = []
    at: list[Expression] = []
    for p in range(n):
        reached = affine(axes[p + 2]) + pads[p] - bound[p] * dilations[p]
        where += [reached >= 0, reached <= (columns[p] - 1) * strides[p]]
        if strides[p] > 1:
            where.append(e.eq(value(reached) % strides[p], 0))
        at.append(value(reached) // strides[p])
    body = te.sum(bound, view.element(axes[0], axes[1], *bound, *at), where=where)
    return traced.of(te.tensor(None, axes, body, x.dtype, hint="image"))
