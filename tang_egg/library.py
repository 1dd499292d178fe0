"""Ordinary compositions over tensors: norms, softmax, products, scans.

Each function takes arrays and gives an array; none has a node of its own, and no later stage knows these names. Every
one is written naively (a statistic is a fold of its own, then used): how few passes it takes is for the laws to find.
Intermediate tensors are real (f32, or f64 where an operand is); a result has the element type of its first operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tang_egg import expression as e
from tang_egg import monoid as monoids
from tang_egg import notation as te
from tang_egg import ops
from tang_egg.affine import Affine, Index, affine, axes_over, product
from tang_egg.errors import GraphError
from tang_egg.expression import Expression
from tang_egg.notation import Array, Where

Mask: TypeAlias = "Array | Callable[..., Where] | None"


def expect_array(x: object) -> None:
    """Raises GraphError where an operand is no array of a graph."""
    if not isinstance(x, Array):
        raise GraphError(
            f"an operand of type {type(x).__name__} is no array of a graph",
            where=str(e.here()),
            mend="declare it as one: te.input('x', shape), or te.tensor for a value",
        )


def axes_of(x: Array, start: int = 0) -> tuple[Index, ...]:
    """One sized index for each axis of `x`, named by its position (plus `start`)."""
    expect_array(x)
    return axes_over(x.shape, start)


def axis_of(x: Array, axis: int) -> int:
    """`axis` counted from 0. Raises GraphError where `x` has no such axis."""
    expect_array(x)
    if not isinstance(axis, int) or isinstance(axis, bool) or not -x.rank <= axis < x.rank:
        known = f"its axes are {-x.rank} to {x.rank - 1}" if x.rank else "it is a scalar; give an array with an axis"
        raise GraphError(f"'{x.name}' has no axis {axis!r}", where=str(e.here()), mend=known)
    return axis % x.rank


def working_type(*arrays: Array) -> str:
    """The element type of intermediates: f64 where an operand has it, else f32."""
    for a in arrays:
        expect_array(a)
    return "f64" if any(a.dtype == "f64" for a in arrays) else "f32"


def expect_size(what: str, found: Affine, wanted: Affine) -> None:
    """Raises GraphError when two extents that must agree do not."""
    if found is not wanted:
        raise GraphError(
            f"{what} has {found} elements where {wanted} are expected",
            where=str(e.here()),
            mend="check the shapes, or the order of the operands",
        )


def expect_rank(x: Array, least: int, most: int | None = None) -> None:
    """Raises GraphError when an operand has fewer or more axes than a composition needs."""
    expect_array(x)
    if x.rank < least or (most is not None and x.rank > most):
        wanted = f"{least}" if most == least else f"at least {least}"
        raise GraphError(
            f"'{x.name}' has {x.rank} axes where {wanted} are expected",
            where=str(e.here()),
            mend="check the order of the operands, or add axes by te.tensor",
        )


def expect_real(x: Array, what: str) -> None:
    """Raises GraphError where the elements of `x` are integers or bools."""
    expect_array(x)
    if ops.scalar_type(x.dtype) != "real":
        raise GraphError(
            f"{what} of '{x.name}', whose elements are {x.dtype}",
            where=str(e.here()),
            mend="convert them first: te.pointwise(lambda v: te.cast(v, 'f32'), x)",
        )


def broadcast(x: Array, axes: Sequence[Index]) -> Expression:
    """The element of `x` at the last of `axes`; an axis of extent one is read at 0, as NumPy broadcasts."""
    expect_array(x)
    if x.rank > len(axes):
        raise GraphError(
            f"'{x.name}' has {x.rank} axes, more than the {len(axes)} it is spread over",
            where=str(e.here()),
            mend="fold or index the extra axes first",
        )
    at = []
    for size, i in zip(x.shape, axes[len(axes) - x.rank :], strict=True):
        if size is not i.size and size.value != 1:
            expect_size(f"an axis of '{x.name}'", size, i.size)
        at.append(affine(i) if size is i.size else affine(0))
    return x[tuple(at)]


def pointwise(f: Callable[..., Expression], *arrays: Array, hint: str = "t", name: str | None = None) -> Array:
    """`f` applied to the elements of arrays that broadcast against each other."""
    for a in arrays:
        expect_array(a)
    rank = max((a.rank for a in arrays), default=0)
    sizes = [affine(1)] * rank
    for a in arrays:
        for p, size in enumerate(a.shape, rank - a.rank):
            if size.value != 1:
                sizes[p] = size
    axes = axes_over(sizes)
    body = f(*(broadcast(a, axes) for a in arrays))
    return te.tensor(name, axes, body, arrays[0].dtype if body.type == "real" else None, hint=hint)


def add(x: Array, y: Array) -> Array:
    """x + y, broadcast."""
    return pointwise(lambda a, b: a + b, x, y, hint="added")


def folded(x: Array, axis: int) -> tuple[tuple[Index, ...], Index, tuple[Index, ...]]:
    """All indices of `x`, the one of `axis`, and the others."""
    i = axes_of(x)
    p = axis_of(x, axis)
    return i, i[p], (*i[:p], *i[p + 1 :])


def _live(where: Mask, i: Sequence[Index]) -> Where:
    if where is None:
        return None
    if not isinstance(where, Array) and not callable(where):
        raise GraphError(
            f"a mask of type {type(where).__name__}",
            where=str(e.here()),
            mend="give a bool array, or a function from the indices to conditions",
        )
    return broadcast(where, i) if isinstance(where, Array) else where(*i)


def _softmax_parts(x: Array, axis: int, where: Mask, hint: str) -> tuple[tuple[Index, ...], Index, Array, Array, Array]:
    i, j, rest = folded(x, axis)
    kind = working_type(x)
    live = _live(where, i)
    m = te.tensor(None, rest, te.max(j, x[i], where=live), kind, hint=f"{hint}_max")
    p = te.tensor(None, i, e.exp(x[i] - m[rest]), kind, hint=f"{hint}_exp")
    s = te.tensor(None, rest, te.sum(j, p[i], where=live), kind, hint=f"{hint}_sum")
    return i, j, m, p, s


def softmax(x: Array, axis: int = -1, where: Mask = None) -> Array:
    """exp(x - max x) / Σ exp(x - max x) along `axis`, of the shape of `x`.

    `where`: a bool array (broadcast against `x`) or a function from the indices of `x` to conditions. Elements outside
    are 0, so a row with no element inside is 0 throughout; without `where` a row of -inf is NaN, as in NumPy.
    """
    i, j, _, p, s = _softmax_parts(x, axis, where, "softmax")
    rest = tuple(k for k in i if k is not j)
    share = p[i] / s[rest]
    if where is not None:
        share = e.select(te.holds(_live(where, i)), share, 0.0)
    return te.tensor(None, i, share, x.dtype, hint="softmax")


def log_softmax(x: Array, axis: int = -1, where: Mask = None) -> Array:
    """x - logsumexp(x) along `axis`, of the shape of `x`. Elements outside `where` (see `softmax`) are -inf."""
    i, j, m, _, s = _softmax_parts(x, axis, where, "log_softmax")
    rest = tuple(k for k in i if k is not j)
    share = x[i] - m[rest] - e.log(s[rest])
    if where is not None:
        share = e.select(te.holds(_live(where, i)), share, float("-inf"))
    return te.tensor(None, i, share, x.dtype, hint="log_softmax")


def logsumexp(x: Array, axis: int = -1) -> Array:
    """log Σ exp(x) along `axis`, which the result lacks: max x + log Σ exp(x - max x)."""
    i, j, m, _, s = _softmax_parts(x, axis, None, "log_sum_exp")
    rest = tuple(k for k in i if k is not j)
    return te.tensor(None, rest, m[rest] + e.log(s[rest]), x.dtype, hint="log_sum_exp")


def mean(x: Array, axis: int = -1) -> Array:
    """The mean along `axis`, which the result lacks."""
    i, j, rest = folded(x, axis)
    return te.tensor(None, rest, te.sum(j, x[i]) / te.size(j), x.dtype, hint="mean")


def variance(x: Array, axis: int = -1, ddof: int = 0) -> Array:
    """Σ (x - mean)² / (n - ddof) along `axis`, which the result lacks."""
    i, j, rest = folded(x, axis)
    if not isinstance(ddof, int):
        raise GraphError(f"a ddof of {ddof!r}", where=str(e.here()), mend="give a whole number")
    mu = te.tensor(None, rest, te.sum(j, x[i]) / te.size(j), working_type(x), hint="mean")
    centred = x[i] - mu[rest]
    return te.tensor(None, rest, te.sum(j, centred * centred) / te.size(j.size - ddof), x.dtype, hint="variance")


def argmax(x: Array, axis: int = -1) -> Array:
    """The position i64 of the largest element along `axis`, the first of equal ones."""
    i, j, rest = folded(x, axis)
    return te.tensor(None, rest, te.argmax(j, x[i]), hint="argmax")


def layer_norm(
    x: Array, gain: Array | None = None, bias: Array | None = None, eps: float = 1e-5, axes: int = 1
) -> Array:
    """(x - mean) / sqrt(variance + eps) * gain + bias over the last `axes` axes; `gain` and `bias` have their shape."""
    i, j, rest = _trailing(x, axes)
    kind = working_type(x)
    mu = te.tensor(None, rest, mean_over(j, x[i]), kind, hint="mean")
    centred = x[i] - mu[rest]
    var = te.tensor(None, rest, mean_over(j, centred * centred), kind, hint="variance")
    y = centred * e.rsqrt(var[rest] + eps)
    y = y if gain is None else y * broadcast(gain, i)
    y = y if bias is None else y + broadcast(bias, i)
    return te.tensor(None, i, y, x.dtype, hint="layer_norm")


def rms_norm(x: Array, gain: Array | None = None, eps: float = 1e-6, axes: int = 1) -> Array:
    """x / sqrt(mean x² + eps) * gain along the last `axes` axes; `gain` has their shape."""
    i, j, rest = _trailing(x, axes)
    ms = te.tensor(None, rest, mean_over(j, x[i] * x[i]), working_type(x), hint="mean_square")
    y = x[i] * e.rsqrt(ms[rest] + eps)
    return te.tensor(None, i, y if gain is None else y * broadcast(gain, i), x.dtype, hint="rms_norm")


def mean_over(j: Index | Sequence[Index], body: Expression) -> Expression:
    """Σ body / n over the n points of one or several indices."""
    over = (j,) if isinstance(j, Index) else j
    # one division by the number of all points: that is what makes a mean of the fold, whose pass counts them
    return te.sum(j, body) / te.size(product(k.size for k in over))


def _trailing(x: Array, axes: int) -> tuple[tuple[Index, ...], Index | tuple[Index, ...], tuple[Index, ...]]:
    """All indices of `x`, those of its last `axes` axes, and the others."""
    expect_array(x)
    if axes == 1:
        return folded(x, -1)
    if not isinstance(axes, int) or isinstance(axes, bool) or not 1 <= axes <= x.rank:
        raise GraphError(
            f"the last {axes!r} axes of '{x.name}', which has {x.rank}",
            where=str(e.here()),
            mend=f"give a number from 1 to {x.rank}",
        )
    i = axes_of(x)
    return i, i[-axes:], i[:-axes]


def matmul(a: Array, b: Array) -> Array:
    """a[..., m, k] · b[..., k, n] → [..., m, n]; leading axes broadcast."""
    for x in (a, b):
        expect_array(x)
        if x.rank < 2:
            raise GraphError(
                f"'{x.name}' has fewer than two axes", where=str(e.here()), mend="fold it by te.sum, or add an axis"
            )
    expect_size(f"the axis before the last of '{b.name}'", b.shape[-2], a.shape[-1])
    batch = batch_axes(a.shape[:-2], b.shape[:-2])
    row, inner, column = Index("i", a.shape[-2]), Index("k", a.shape[-1]), Index("j", b.shape[-1])
    elements = broadcast(a, (*batch, row, inner)) * broadcast(b, (*batch, inner, column))
    return te.tensor(None, (*batch, row, column), te.sum(inner, elements), a.dtype, hint="matmul")


def batch_axes(*shapes: Sequence[Affine]) -> tuple[Index, ...]:
    """Indices b, h, b2, b3 ... over the leading axes of several arrays, broadcast against each other."""
    rank = max(map(len, shapes), default=0)
    sizes = [affine(1)] * rank
    for shape in shapes:
        for p, size in enumerate(shape, rank - len(shape)):
            if size.value != 1:
                sizes[p] = size
    return tuple(Index("bh"[p] if p < 2 else f"b{p}", s) for p, s in enumerate(sizes))


def linear(x: Array, w: Array, bias: Array | None = None, *, transposed: bool = False, hint: str = "linear") -> Array:
    """x[..., k] · w[k, n] + bias[n] → [..., n]; `transposed`: w is [n, k]."""
    expect_rank(x, 1)
    expect_rank(w, 2, 2)
    inputs, outputs = (w.shape[1], w.shape[0]) if transposed else (w.shape[0], w.shape[1])
    expect_size(f"the input axis of '{w.name}'", inputs, x.shape[-1])
    lead = axes_over(x.shape[:-1])
    inner, column = Index("c", inputs), Index("d", outputs)
    weight = w[column, inner] if transposed else w[inner, column]
    y = te.sum(inner, x[(*lead, inner)] * weight)
    return te.tensor(None, (*lead, column), y if bias is None else y + bias[column], x.dtype, hint=hint)


def gram(x: Array) -> Array:
    """x · xᵀ for x[..., n, k] → [..., n, n]."""
    expect_rank(x, 2)
    batch = batch_axes(x.shape[:-2])
    i, j, k = Index("i", x.shape[-2]), Index("j", x.shape[-2]), Index("k", x.shape[-1])
    body = te.sum(k, x[(*batch, i, k)] * x[(*batch, j, k)])
    return te.tensor(None, (*batch, i, j), body, x.dtype, hint="gram")


def gated_scan(a: Array, b: Array, axis: int = 0) -> Array:
    """h with h[t] = a[t] h[t - 1] + b[t] along `axis`, h[-1] = 0; `a` and `b` have the shape of h."""
    i = axes_of(b)
    t = i[axis_of(b, axis)]
    s = Index("s", t.size)
    at = tuple(s if k is t else k for k in i)
    body = te.reduce(monoids.AFFINE, s, broadcast(a, at), b[at], where=s <= t, part="b")
    return te.tensor(None, i, body, b.dtype, hint="scan")


def embedding(table: Array, idx: Array) -> Array:
    """table[idx] for table[v, d] and integers idx[...] → [..., d]."""
    expect_rank(table, 2, 2)
    i, d = axes_of(idx), Index("d", table.shape[1])
    return te.tensor(None, (*i, d), table[idx[i], d], table.dtype, hint="embedding")


def embedding_sum(table: Array, idx: Array) -> Array:
    """Σ over l of table[idx[..., l]] for table[v, d] and integers idx[..., l] → [..., d]."""
    expect_rank(table, 2, 2)
    expect_rank(idx, 1)
    i, d = axes_of(idx), Index("d", table.shape[1])
    return te.tensor(None, (*i[:-1], d), te.sum(i[-1], table[idx[i], d]), table.dtype, hint="embedding_sum")
