"""Folds along axes: reductions, softmax, the positions of extremes, prefix sums, the largest elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tang_egg import array_scalar as s
from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg import ops, traced, traced_view
from tang_egg.affine import Index, affine, product
from tang_egg.expression import Expression
from tang_egg.importers.onnx_call import Call, Table, extent
from tang_egg.importers.onnx_elementwise import converted
from tang_egg.importers.onnx_value import Value
from tang_egg.library_scan import cumulative_prod, cumulative_sum
from tang_egg.library_sort import top_k as best
from tang_egg.traced import Traced, compute, fold

OPERATORS = Table()

Bound = tuple[Index, ...]
Folding = Callable[[Bound, Expression], Expression]


def sums(over: Bound, a: Expression) -> Expression:
    return te.sum(over, a) if over else a


def products(over: Bound, a: Expression) -> Expression:
    return te.prod(over, a) if over else a


def largest(over: Bound, a: Expression) -> Expression:
    if a.type == "bool":
        return te.any(over, a) if over else a
    return te.max(over, a) if over else a


def smallest(over: Bound, a: Expression) -> Expression:
    if a.type == "bool":
        return te.all(over, a) if over else a
    return te.min(over, a) if over else a


def total(x: Traced, axes: Sequence[int], keepdims: bool = True) -> Traced:
    """The sum along axes."""
    return fold(sums, x, axes, x.dtype, keepdims=keepdims, hint="total")


def mean(x: Traced, axes: Sequence[int], keepdims: bool = True) -> Traced:
    """The mean along axes."""
    count = product([x.extents[a] for a in axes])
    by = te.size(count) if count.value is None or count.value == 0 else float(count.value)
    return fold(lambda over, a: sums(over, a) / by, x, axes, x.dtype, keepdims=keepdims, hint="mean")


def _axes(call: Call, x: Traced, since: int) -> tuple[int, ...] | None:
    """The axes of a reduction; None where nothing is to be done."""
    if call.since >= since:
        axes = call.numbers(1, "axes") if call.given(1) else ()
    else:
        axes = call.ints("axes", ())
    if not axes:
        return None if call.integer("noop_with_empty_axes", 0) else tuple(range(x.ndim))
    return call.axes(axes, x.ndim)


def _reduction(name: str, newest: int, f: Folding, before: Callable[[Expression], Expression] | None = None,
               after: Callable[[Expression], Expression] | None = None, since: int = 18) -> None:  # fmt: skip
    """A reduction whose elements and whose result pass through functions of their own."""

    def run(call: Call) -> Value:
        x = call.x(0)
        axes = _axes(call, x, since)

        def folded(over: Bound, a: Expression) -> Expression:
            found = f(over, a if before is None else before(a))
            return found if after is None else after(found)

        if x.dtype not in ops.FLOATS and after is not None:
            wide = fold(folded, converted(x, "f64"), axes or (), "f64", keepdims=bool(call.integer("keepdims", 1)))
            return converted(wide, x.dtype)
        return fold(folded, x, axes or (), x.dtype, keepdims=bool(call.integer("keepdims", 1)), hint="reduced")

    OPERATORS.add(name, newest)(run)


_reduction("ReduceSum", 13, sums, since=13)
_reduction("ReduceProd", 18, products)
_reduction("ReduceMax", 20, largest)
_reduction("ReduceMin", 20, smallest)
_reduction("ReduceL1", 18, sums, s.absolute)
_reduction("ReduceL2", 18, sums, s.square, e.sqrt)
_reduction("ReduceSumSquare", 18, sums, s.square)
_reduction("ReduceLogSum", 28, sums, None, e.log)


@OPERATORS.add("ReduceMean", 18)
def reduce_mean(call: Call) -> Value:
    x = call.x(0)
    axes = _axes(call, x, 18) or ()
    keep = bool(call.integer("keepdims", 1))
    if x.dtype not in ops.FLOATS:
        return converted(mean(converted(x, "f64"), axes, keep), x.dtype)
    return mean(x, axes, keep)


@OPERATORS.add("ReduceLogSumExp", 28)
def log_sum_exp(call: Call) -> Value:
    x = call.x(0)
    given = x if x.dtype in ops.FLOATS else converted(x, "f64")
    axes = _axes(call, x, 18)
    found = fold(lambda over, a: te.logsumexp(over, a) if over else a, given, axes or (), given.dtype,
                 keepdims=bool(call.integer("keepdims", 1)), hint="log_sum_exp")  # fmt: skip
    return found if axes is not None else x


def shares(x: Traced, axes: Sequence[int]) -> tuple[Traced, Traced, Traced]:
    """exp(x - max x) along axes, its sum, and x - max x."""
    most = fold(largest, x, axes, x.dtype, keepdims=True, hint="most")
    centred = compute(lambda a, m: a - m, x, most, dtype=x.dtype, hint="centred")
    weights = compute(e.exp, centred, dtype=x.dtype, hint="weights")
    return weights, total(weights, axes), centred


def _normalised(call: Call) -> tuple[int, ...]:
    """The axes over which softmax and its kin work: one, or all from one on in old operator sets."""
    rank = len(call.tensor_value(0).extents)
    if call.since >= 13:
        return (call.axis(call.integer("axis", -1), rank),)
    return tuple(range(call.axis(call.integer("axis", 1), rank) if rank > 1 else 0, rank))


@OPERATORS.add("Softmax", 13)
def softmax(call: Call) -> Value:
    x = call.x(0)
    weights, norm, _ = shares(x, _normalised(call))
    return compute(lambda p, t: p / t, weights, norm, dtype=x.dtype, hint="softmax")


@OPERATORS.add("LogSoftmax", 13)
def log_softmax(call: Call) -> Value:
    x = call.x(0)
    _, norm, centred = shares(x, _normalised(call))
    return compute(lambda a, t: a - e.log(t), centred, norm, dtype=x.dtype, hint="log_softmax")


@OPERATORS.add("Hardmax", 13)
def hardmax(call: Call) -> Value:
    x = call.x(0)
    axes = _normalised(call)
    flat = x
    if len(axes) > 1:
        flat = traced_view.reshape(x, [*x.extents[: axes[0]], product([x.extents[a] for a in axes])])
        flat = traced.of(traced.to_array(flat))
    axis = axes[0]
    first = fold(lambda over, a: te.argmax(over, a) if over else e.value(affine(0)), flat, (axis,), "i64",
                 keepdims=True, hint="first")  # fmt: skip
    at = traced_view.reshape(
        traced.positions([flat.extents[axis]], affine), [flat.extents[axis], *(1,) * (flat.ndim - axis - 1)]
    )
    found = compute(lambda p, q: e.select(e.eq(p, q), 1.0, 0.0), first, at, dtype=x.dtype, hint="hardmax")
    return traced_view.reshape(traced.broadcast_to(found, flat.extents), x.extents)


def _extreme(name: str, which: Callable[..., Expression]) -> None:
    def run(call: Call) -> Value:
        x = call.x(0)
        axis = call.axis(call.integer("axis", 0), x.ndim)
        last = bool(call.integer("select_last_index", 0))
        seen = traced_view.flip(x, axis) if last else x
        end = x.extents[axis] - 1

        def f(over: Bound, a: Expression) -> Expression:
            found = which(over, a) if over else e.value(affine(0))
            return e.value(end) - found if last else found

        return fold(f, seen, (axis,), "i64", keepdims=bool(call.integer("keepdims", 1)), hint=name.lower())

    OPERATORS.add(name, 13)(run)


_extreme("ArgMax", te.argmax)
_extreme("ArgMin", te.argmin)


def _prefix(name: str, newest: int, f: Callable[..., te.Array]) -> None:
    def run(call: Call) -> Value:
        x = call.x(0)
        axis = call.axis(int(call.scalar(1, "the axis")), x.ndim)
        if x.extents[axis].value == 0:
            return x
        found = f(traced.to_array(x), axis, exclusive=bool(call.integer("exclusive", 0)),
                  reverse=bool(call.integer("reverse", 0)))  # fmt: skip
        return traced.of(found)

    OPERATORS.add(name, newest)(run)


_prefix("CumSum", 14, cumulative_sum)
_prefix("CumProd", 26, cumulative_prod)


@OPERATORS.add("TopK", 24)
def top_k(call: Call) -> tuple[Value, ...]:
    x = call.x(0)
    axis = call.axis(call.integer("axis", -1), x.ndim)
    k = int(call.scalar(1, "k")) if call.since >= 10 else call.integer("k")
    n = extent(x, axis, "the axis of TopK")
    if not 0 <= k <= n:
        raise call.wrong(f"the {k} largest of {n} elements")
    if k == 0:
        shape = [affine(0) if p == axis else size for p, size in enumerate(x.extents)]
        return traced.full(shape, 0, x.dtype), traced.full(shape, 0, "i64")
    values, at = best(traced.to_array(x), k, axis, bool(call.integer("largest", 1)))
    return traced.of(values), traced.of(at)
