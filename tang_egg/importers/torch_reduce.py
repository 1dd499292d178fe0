"""Reductions of ATen: sums, extremes, positions, moments, norms, softmax and running folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg import ops
from tang_egg.affine import Affine, Index, affine
from tang_egg.array_scalar import isnan
from tang_egg.expression import Expression
from tang_egg.importers.torch_pointwise import pointwise
from tang_egg.importers.torch_table import op
from tang_egg.importers.torch_value import Out, axes, contract, converted, count, largest, summed, working
from tang_egg.traced import Traced, axis_of, compute, fail, refactored

Lists: TypeAlias = "Any"


def folded(
    f: Callable[[tuple[Index, ...], Expression], Expression], x: Traced, over: Sequence[int], dtype: str,
    keepdims: bool = False, hint: str = "t",
) -> Traced:  # fmt: skip
    """`f(indices, element)`, a fold over some axes."""
    return contract(f, x, over=over, dtype=dtype, keepdims=keepdims, hint=hint)


@op("sum", "sum.dim_IntList")
def _sum(out: Out, x: Traced, dims: Lists = None, keep: bool = False) -> Traced:
    return folded(summed, converted(x, out.dtype), axes(x, dims), out.dtype, keep, "total")


@op("mean", "mean.dim")
def _mean(out: Out, x: Traced, dims: Lists = None, keep: bool = False) -> Traced:
    return mean(converted(x, out.dtype), axes(x, dims), out.dtype, keep)


def mean(x: Traced, over: Sequence[int], dtype: str, keep: bool = True) -> Traced:
    """The mean over some axes."""
    n = te.size(count(x, over))
    return folded(lambda r, a: summed(r, a) / n, x, over, dtype, keep, "mean")


@op("prod", "prod.dim_int")
def _prod(out: Out, x: Traced, dims: Lists = None, keep: bool = False) -> Traced:
    return folded(lambda r, a: te.prod(r, a) if r else a, converted(x, out.dtype), axes(x, dims), out.dtype, keep)


def _best(name: str, monoid: Callable[..., Expression], of_bools: Callable[..., Expression],
          position: Callable[..., Expression]) -> None:  # fmt: skip
    def value(out: Out, x: Traced, dims: Lists = None, keep: bool = False) -> Traced:
        chosen = of_bools if x.dtype == "bool" else monoid
        return folded(lambda r, a: chosen(r, a) if r else a, x, axes(x, dims), x.dtype, keep, name)

    def place(out: Out, x: Traced, dim: int | None = None, keep: bool = False) -> Traced:
        given = converted(x, "u8") if x.dtype == "bool" else x
        chosen = axes(x, dim)
        return folded(
            lambda r, a: position(r, a) if r else e.constant(0), given, chosen, "i64",
            keep and dim is not None, f"arg{name}",
        )  # fmt: skip

    def both(out: Out, x: Traced, dim: int, keep: bool = False) -> tuple[Traced, Traced]:
        return value(out, x, dim, keep), place(out, x, dim, keep)

    op(f"a{name}", name)(value)
    op(f"arg{name}")(place)
    op(f"{name}.dim")(both)


_best("max", te.max, te.any, te.argmax)
_best("min", te.min, te.all, te.argmin)


@op("aminmax")
def _aminmax(out: Out, x: Traced, *, dim: int | None = None, keepdim: bool = False) -> tuple[Traced, Traced]:
    over = axes(x, dim)
    low = folded(lambda r, a: te.min(r, a) if r else a, x, over, x.dtype, keepdim)
    return low, folded(largest, x, over, x.dtype, keepdim)


def _quantifier(name: str, f: Callable[..., Expression]) -> None:
    def holds(out: Out, x: Traced, dims: Lists = None, keep: bool = False) -> Traced:
        found = folded(lambda r, a: f(r, a) if r else a, converted(x, "bool"), axes(x, dims), "bool", keep, name)
        return converted(found, out.dtype)

    op(name, f"{name}.dim", f"{name}.dims")(holds)


_quantifier("any", te.any)
_quantifier("all", te.all)


def moments(x: Traced, over: Sequence[int], kind: str, correction: Any = 0) -> tuple[Traced, Traced]:
    """Mean and variance over some axes, which stay with one element."""
    n = count(x, over)
    mu = mean(x, over, kind)
    left = n - int(correction) if correction == int(correction) else None
    if left is None:
        divisor = te.size(n) - float(correction)
    elif left.value is not None and left.value < 0:
        divisor = e.constant(0.0)
    else:
        divisor = te.size(left)
    square = contract(
        lambda r, a, m: summed(r, (a - m) * (a - m)) * e.recip(divisor), x, mu, over=over, dtype=kind, keepdims=True,
        hint="variance",
    )  # fmt: skip
    return mu, square


def _variance(out: Out, x: Traced, dims: Lists, correction: Any, keep: bool, root: bool) -> tuple[Traced, Traced]:
    over = axes(x, dims)
    mu, var = moments(x, over, out.working, 1 if correction is None else correction)
    spread = pointwise(e.sqrt, out, var) if root else var
    if not keep:
        spread, mu = _without(spread, over), _without(mu, over)
    return converted(spread, out.dtype), converted(mu, out.dtype)


def _without(x: Traced, over: Sequence[int]) -> Traced:
    gone = set(over)
    return Traced(tuple(g for p, g in enumerate(x.factors) if p not in gone), x.at, x.dtype)


def _register_variance(name: str, root: bool) -> None:
    def by_correction(
        out: Out, x: Traced, dims: Lists = None, *, correction: Any = None, keepdim: bool = False
    ) -> Traced:
        return _variance(out, x, dims, correction, keepdim, root)[0]

    def by_flag(out: Out, x: Traced, dims: Lists = None, unbiased: bool = True, keep: bool = False) -> Traced:
        return _variance(out, x, dims, int(unbiased), keep, root)[0]

    def with_mean(
        out: Out, x: Traced, dims: Lists = None, *, correction: Any = None, keepdim: bool = False
    ) -> tuple[Traced, Traced]:
        return _variance(out, x, dims, correction, keepdim, root)

    op(f"{name}.correction")(by_correction)
    op(f"{name}.dim")(by_flag)
    op(name)(lambda out, x, unbiased=True: by_flag(out, x, None, unbiased))
    op(f"{name}_mean.correction")(with_mean)


_register_variance("var", root=False)
_register_variance("std", root=True)


@op("logsumexp")
def _logsumexp(out: Out, x: Traced, dims: Lists, keep: bool = False) -> Traced:
    given = converted(x, out.dtype)
    over = axes(x, dims)
    top = folded(largest, given, over, out.working, True, "largest")
    # where the maximum is infinite, subtracting it would give NaN
    shift = compute(lambda m: e.select(e.eq(abs(m), float("inf")), 0.0, m), top, dtype=out.working)
    return contract(
        lambda r, a, m: e.log(summed(r, e.exp(a - m))) + m, given, shift, over=over, dtype=out.dtype, keepdims=keep
    )


@op("linalg_vector_norm", "norm.ScalarOpt_dim", "norm.Scalar")
def _vector_norm(out: Out, x: Traced, order: Any = 2, dims: Lists = None, keep: bool = False) -> Traced:
    p = 2.0 if order is None else float(order)
    given, over = converted(x, out.dtype), axes(x, dims)
    if p == float("inf"):
        return folded(lambda r, a: largest(r, abs(a)), given, over, out.dtype, keep)
    if p == float("-inf"):
        return folded(lambda r, a: te.min(r, abs(a)) if r else abs(a), given, over, out.dtype, keep)
    if p == 0:
        return folded(lambda r, a: summed(r, e.select(e.eq(a, 0.0), 0.0, 1.0)), given, over, out.dtype, keep)
    if p == 1:
        return folded(lambda r, a: summed(r, abs(a)), given, over, out.dtype, keep)
    if p == 2:
        return folded(lambda r, a: e.sqrt(summed(r, a * a)), given, over, out.dtype, keep)
    raise fail(f"a norm of order {p}", "use order 0, 1, 2 or an infinity")


def softmax(x: Traced, axis: int, dtype: str, log: bool = False, safe: bool = False) -> Traced:
    """exp(x - max x) / Σ exp(x - max x) along an axis, or its logarithm; `safe`: rows of -inf give 0."""
    if not x.ndim:
        return compute(lambda a: e.exp(a - a) if not log else a - a, x, dtype=dtype)
    over, kind = [axis_of(x, axis)], working(dtype)
    top = folded(largest, x, over, kind, True, "largest")
    parts = compute(lambda a, m: e.exp(a - m), x, top, dtype=kind, hint="powers")
    total = folded(summed, parts, over, kind, True, "total")
    if log:
        return compute(lambda a, m, s: a - m - e.log(s), x, top, total, dtype=dtype, hint="log_softmax")
    if safe:
        dead = float("-inf")
        return compute(
            lambda p, s, m: e.select(e.eq(m, dead), 0.0, p / s), parts, total, top, dtype=dtype, hint="softmax"
        )
    return compute(lambda p, s: p / s, parts, total, dtype=dtype, hint="softmax")


@op("_softmax", "softmax.int", "special_softmax")
def _softmax(out: Out, x: Traced, dim: int, _: Any = None) -> Traced:
    return softmax(converted(x, out.dtype), dim, out.dtype)


@op("_log_softmax", "log_softmax.int", "special_log_softmax")
def _log_softmax(out: Out, x: Traced, dim: int, _: Any = None) -> Traced:
    return softmax(converted(x, out.dtype), dim, out.dtype, log=True)


@op("_safe_softmax")
def _safe_softmax(out: Out, x: Traced, dim: int, _: Any = None) -> Traced:
    return softmax(converted(x, out.dtype), dim, out.dtype, safe=True)


def plain_axis(x: Traced, axis: int) -> Traced:
    """`x` with an axis of one factor at most."""
    p = axis_of(x, axis)
    if len(x.factors[p]) < 2:
        return x
    return refactored(x, (*x.factors[:p], (x.extents[p],), *x.factors[p + 1 :]))


def running(f: Callable[[Index, Affine, Expression], Expression], x: Traced, axis: int, dtype: str) -> Traced:
    """`f(s, t, element at s)` for every position t of an axis: folds over s that end at t."""
    given = plain_axis(x, axis)
    p = axis_of(given, axis)
    if not given.factors[p]:
        return converted(x, dtype)
    start = sum(len(g) for g in given.factors[:p])
    free = tuple(Index("ijklmnopq"[n] if n < 9 else f"i{n}", s) for n, s in enumerate(given.flat))
    s = Index("s", given.extents[p])
    at: list[Any] = [affine(i) for i in free]
    at[start] = affine(s)
    array = te.tensor(None, free, f(s, affine(free[start]), given.at(at)), dtype, hint="running")
    return Traced(given.factors, lambda c: array[tuple(c)], dtype)


@op("cumsum")
def _cumsum(out: Out, x: Traced, dim: int) -> Traced:
    given = converted(x, out.dtype)
    return given if not x.ndim else running(lambda s, t, a: te.sum(s, a, where=s <= t), given, dim, out.dtype)


@op("cumprod")
def _cumprod(out: Out, x: Traced, dim: int) -> Traced:
    given = converted(x, out.dtype)
    return given if not x.ndim else running(lambda s, t, a: te.prod(s, a, where=s <= t), given, dim, out.dtype)


def _running_best(name: str, f: Callable[..., Expression]) -> None:
    def best(out: Out, x: Traced, dim: int) -> tuple[Traced, Traced]:
        if not x.ndim or ops.scalar_type(x.dtype) == "bool":
            raise fail(f"{name} of bools or of a tensor without axes", "convert it, or give it an axis")
        top = running(lambda s, t, a: f(s, a, where=s <= t), x, dim, x.dtype)
        p = axis_of(x, dim)
        if x.extents[p].value == 1:
            return x, compute(lambda a: e.constant(0), x, dtype="i64")
        given, held = plain_axis(x, dim), plain_axis(top, dim)
        start = sum(len(g) for g in given.factors[:p])
        free = tuple(Index("ijklmnopq"[n] if n < 9 else f"i{n}", s) for n, s in enumerate(given.flat))
        s, at = Index("s", given.extents[p]), [affine(i) for i in free]
        here: list[Any] = list(at)
        here[start] = affine(s)
        a, m = given.at(here), held.at(list(at))
        same = e.eq(a, m) if a.type != "real" else e.eq(a, m) | (isnan(a) & isnan(m))
        found = te.max(s, e.value(s), where=(s <= affine(free[start]), same))
        place = te.tensor(None, free, found, "i64", hint="position")
        return top, Traced(given.factors, lambda c: place[tuple(c)], "i64")

    op(name)(best)


_running_best("cummax", te.max)
_running_best("cummin", te.min)
