"""Products of matrices, convolutions and pooling of ATen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tang_egg import expression as e
from tang_egg import library_conv, library_pool
from tang_egg.expression import Expression
from tang_egg.importers.torch_pointwise import pointwise
from tang_egg.importers.torch_table import op
from tang_egg.importers.torch_value import Out, contract, converted, known, number, summed
from tang_egg.notation import Array
from tang_egg.traced import Traced, fail, of, to_array
from tang_egg.traced_view import expand_dims, permute, squeeze


def product(a: Traced, b: Traced, dtype: str, extra: Traced | None = None,
            finish: Callable[[Expression, Expression], Expression] | None = None) -> Traced:  # fmt: skip
    """a[..., m, k] · b[..., k, n]; `finish(product, extra)` where `extra` broadcasts against the result."""
    turned = permute(b, [*range(b.ndim - 2), b.ndim - 1, b.ndim - 2])
    left, right = expand_dims(a, -2), expand_dims(turned, -3)
    if extra is None:
        return contract(lambda r, x, y: summed(r, x * y), left, right, over=[-1], dtype=dtype, hint="product")
    join = finish or (lambda p, c: p + c)
    return contract(
        lambda r, x, y, c: join(summed(r, x * y), c), left, right, expand_dims(extra, -1), over=[-1], dtype=dtype,
        hint="product",
    )  # fmt: skip


@op("mm", "bmm")
def _mm(out: Out, a: Traced, b: Traced) -> Traced:
    return product(a, b, out.dtype)


@op("matmul")
def _matmul(out: Out, a: Traced, b: Traced) -> Traced:
    left = expand_dims(a, 0) if a.ndim == 1 else a
    right = expand_dims(b, 1) if b.ndim == 1 else b
    found = product(left, right, out.dtype)
    gone = [*([-2] if a.ndim == 1 else []), *([-1] if b.ndim == 1 else [])]
    return squeeze(found, gone) if gone else found


@op("mv", "dot", "vdot", "inner")
def _mv(out: Out, a: Traced, b: Traced) -> Traced:
    if b.ndim != 1:
        return product(a, permute(b, [*range(b.ndim - 2), b.ndim - 1, b.ndim - 2]), out.dtype)
    return _matmul(out, a, b)


@op("outer", "ger")
def _outer(out: Out, a: Traced, b: Traced) -> Traced:
    return pointwise(lambda x, y: x * y, out, expand_dims(a, 1), expand_dims(b, 0))


@op("addmm", "baddbmm")
def _addmm(out: Out, c: Traced, a: Traced, b: Traced, *, beta: Any = 1, alpha: Any = 1) -> Traced:
    if beta == 0:
        found = product(a, b, out.dtype)
        return found if alpha == 1 else pointwise(lambda x, f: x * f, out, found, alpha)

    def finish(p: Expression, x: Expression) -> Expression:
        scaled = p if alpha == 1 else p * number(alpha, out.dtype)
        return scaled + (x if beta == 1 else x * number(beta, out.dtype))

    return product(a, b, out.dtype, converted(c, out.dtype), finish)


@op("addmv")
def _addmv(out: Out, c: Traced, a: Traced, b: Traced, *, beta: Any = 1, alpha: Any = 1) -> Traced:
    return squeeze(_addmm(out, expand_dims(c, 1) if c.ndim else c, a, expand_dims(b, 1), beta=beta, alpha=alpha), [1])


@op("linear")
def linear(out: Out, x: Traced, w: Traced, bias: Traced | None = None) -> Traced:
    """x[..., k] · w[n, k] + bias[n]."""
    if w.ndim == 1:
        found = _matmul(out, x, w)
        return found if bias is None else pointwise(lambda a, b: a + b, out, found, bias)
    left = expand_dims(x, -2)
    given = (left, w) if bias is None else (left, w, expand_dims(bias, -1))
    return contract(
        lambda r, a, b, *c: summed(r, a * b) + c[0] if c else summed(r, a * b), *given, over=[-1], dtype=out.dtype,
        hint="linear",
    )  # fmt: skip


def _array(x: Traced) -> Array:
    return to_array(x)


def _whole(values: Any, what: str) -> tuple[int, ...]:
    given = values if isinstance(values, (list, tuple)) else [values]
    return tuple(known(v, what) for v in given)


def _each(values: Any, n: int, what: str, default: int | Sequence[int] | None = None) -> tuple[int, ...]:
    """One integer for each of n axes, of a list of one or n."""
    found = _whole(values, what)
    if not found and default is not None:
        found = (default,) if isinstance(default, int) else tuple(default)
    return found * n if len(found) == 1 else found


def convolved(
    out: Out, x: Traced, w: Traced, bias: Traced | None, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: Any,
) -> Traced:  # fmt: skip
    """A convolution over all axes but the first two, or its transpose."""
    n = w.ndim - 2
    batched = x.ndim == w.ndim
    given = x if batched else expand_dims(x, 0)
    arrays = (_array(given), _array(w), None if bias is None else _array(bias))
    steps, gaps = _each(stride, n, "a stride"), _each(dilation, n, "a dilation")
    share = known(groups, "the number of groups")
    if transposed:
        pads, more = _each(padding, n, "a padding"), _each(output_padding, n, "a padding", 0)
        found = library_conv.conv_transpose(
            *arrays, stride=steps, padding=pads, output_padding=more, dilation=gaps, groups=share
        )
    else:
        sides = _sides(padding, n, w, gaps)
        found = library_conv.conv(*arrays, stride=steps, padding=sides, dilation=gaps, groups=share)
    result = of(found)
    return result if batched else squeeze(result, [0])


def _sides(padding: Any, n: int, w: Traced, gaps: Sequence[int]) -> Any:
    if padding == "valid":
        return 0
    if padding != "same":
        return _each(padding, n, "a padding")
    total = [(known(k, "a kernel") - 1) * g for k, g in zip(w.extents[2:], gaps, strict=True)]
    return [(t // 2, t - t // 2) for t in total]


@op("convolution", "_convolution")
def _convolution(
    out: Out, x: Traced, w: Traced, bias: Traced | None, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: Any, *_: Any,
) -> Traced:  # fmt: skip
    return convolved(out, x, w, bias, stride, padding, dilation, transposed, output_padding, groups)


@op("conv1d", "conv2d", "conv3d", "conv1d.padding", "conv2d.padding", "conv3d.padding")
def _conv(
    out: Out, x: Traced, w: Traced, bias: Traced | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: Any = 1,
) -> Traced:  # fmt: skip
    return convolved(out, x, w, bias, stride, padding, dilation, False, 0, groups)


@op("conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input")
def _conv_transpose(
    out: Out, x: Traced, w: Traced, bias: Traced | None = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, groups: Any = 1, dilation: Any = 1,
) -> Traced:  # fmt: skip
    return convolved(out, x, w, bias, stride, padding, dilation, True, output_padding, groups)


def batched(f: Callable[[Array], Array], x: Traced, n: int) -> Traced:
    """`f` of an array [N, C, *spatial] with n spatial axes, for one without some of the leading axes too."""
    missing = n + 2 - x.ndim
    for _ in range(missing):
        x = expand_dims(x, 0)
    found = of(f(_array(x)))
    return squeeze(found, range(missing)) if missing else found


def _register_pools(n: int) -> None:
    def sizes(kernel: Any, stride: Any, padding: Any, dilation: Any = 1) -> tuple[Any, Any, Any, Any]:
        k = _each(kernel, n, "a kernel")
        return k, _each(stride, n, "a stride", k), _each(padding, n, "a padding"), _each(dilation, n, "a dilation")

    def max_pool(out: Out, x: Traced, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
                 ceil: bool = False) -> Traced:  # fmt: skip
        given = sizes(kernel, stride, padding, dilation)
        return batched(lambda a: library_pool.max_pool(a, *given, ceil), x, n)

    def with_positions(out: Out, x: Traced, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
                       ceil: bool = False) -> tuple[Traced, Traced]:  # fmt: skip
        given = sizes(kernel, stride, padding, dilation)
        places = batched(lambda a: library_pool.max_pool_indices(a, *given, ceil), x, n)
        return max_pool(out, x, kernel, stride, padding, dilation, ceil), places

    def avg_pool(out: Out, x: Traced, kernel: Any, stride: Any = (), padding: Any = 0, ceil: bool = False,
                 count_pad: bool = True, divisor: Any = None) -> Traced:  # fmt: skip
        k, s, p, _ = sizes(kernel, stride, padding)
        if divisor is None:
            return batched(lambda a: library_pool.avg_pool(a, k, s, p, 1, ceil, count_pad), x, n)
        if ceil:
            raise fail("a pooled sum with a divisor of its own whose size is rounded up", "use ceil_mode=False")
        points = 1
        for size in k:
            points *= size
        means = batched(lambda a: library_pool.avg_pool(a, k, s, p, 1, False, True), x, n)
        return pointwise(lambda a: a * (points / float(divisor)), out, means)

    def adaptive(out: Out, x: Traced, wanted: Any) -> Traced:
        size = _each([h if w is None else w for w, h in zip(wanted, x.extents[-n:], strict=True)], n, "a size")
        return batched(lambda a: library_pool.adaptive_avg_pool(a, size), x, n)

    op(f"max_pool{n}d")(max_pool)
    op(f"max_pool{n}d_with_indices")(with_positions)
    op(f"avg_pool{n}d")(avg_pool)
    op(f"adaptive_avg_pool{n}d", f"_adaptive_avg_pool{n}d")(adaptive)

    def adaptive_max(out: Out, x: Traced, wanted: Any) -> tuple[Traced, Any]:
        size = _each(wanted, n, "a size")
        return batched(lambda a: library_pool.adaptive_max_pool(a, size), x, n), None

    op(f"adaptive_max_pool{n}d")(adaptive_max)


for _n in (1, 2, 3):
    _register_pools(_n)


@op("cdist", "_euclidean_dist")
def _cdist(out: Out, a: Traced, b: Traced, p: float = 2.0, *_: Any) -> Traced:
    if p != 2.0:
        raise fail(f"distances of order {p}", "use order 2")
    return contract(
        lambda r, x, y: e.sqrt(summed(r, (x - y) * (x - y))), expand_dims(a, -2), expand_dims(b, -3), over=[-1],
        dtype=out.dtype,
    )  # fmt: skip
