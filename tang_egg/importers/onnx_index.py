"""Operators that read or write elements at places that are data."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg import ops, traced, traced_view
from tang_egg.affine import Affine, Index, affine, product
from tang_egg.expression import Expression, value
from tang_egg.importers.onnx_call import Call, Table, extent
from tang_egg.importers.onnx_value import Known, Value, known
from tang_egg.traced import Traced

OPERATORS = Table()


def indices(sizes: Sequence[Affine], prefix: str = "") -> tuple[Index, ...]:
    """One index for each extent."""
    letters = "ijklmnop"
    return tuple(Index(f"{prefix}{p}" if prefix else letters[p] if p < 8 else f"i{p}", s) for p, s in enumerate(sizes))


def wrapped(at: Expression, size: Affine) -> Expression:
    """A position that may count from the end."""
    if at.type[0] == "u":
        return at
    if at.type != "i64":
        at = e.cast(at, "i64")
    return e.select(at < 0, at + value(size), at)


@OPERATORS.add("Gather", 13)
def gather(call: Call) -> Value:
    x = call.x(0)
    axis = call.axis(call.integer("axis", 0), x.ndim)
    size = x.extents[axis]
    place = call.tensor_value(1)
    if isinstance(place, Known) and place.dtype[0] in "iu":
        taken = _static(call, x, axis, place.array.astype(np.int64))
        if taken is not None:
            return taken
    at = call.lift(place)
    if at.dtype not in ops.INTEGERS:
        raise call.wrong(f"positions are {at.dtype}")
    before, after = indices(x.extents[:axis], "a"), indices(x.extents[axis + 1 :], "c")
    middle = indices(at.extents, "b")
    body = x.element(*before, wrapped(at.element(*middle), size), *after)
    return traced.of(te.tensor(None, (*before, *middle, *after), body, x.dtype, hint="gathered"))


def _static(call: Call, x: Traced, axis: int, at: np.ndarray) -> Traced | None:
    """Elements at known places that lie evenly apart, as a view; None for others."""
    size = x.extents[axis]
    flat = at.reshape(-1)
    if at.size and size.value is not None and not (-size.value <= int(flat.min()) and int(flat.max()) < size.value):
        raise call.wrong(f"a position lies outside an axis of {size}")
    if at.size == 0:
        return traced.full([*x.extents[:axis], *at.shape, *x.extents[axis + 1 :]], 0, x.dtype)
    if size.value is not None:
        flat = np.where(flat < 0, flat + size.value, flat)
    elif (flat < 0).any() or (flat > 0).any():
        if at.size > 1:
            return None
    steps = np.unique(np.diff(flat))
    if len(steps) > 1:
        return None
    first = affine(int(flat[0])) if flat[0] >= 0 else size + int(flat[0])
    view = traced_view.sliced(x, axis, first, at.size, int(steps[0]) if len(steps) else 1)
    return traced_view.reshape(view, [*x.extents[:axis], *at.shape, *x.extents[axis + 1 :]])


@OPERATORS.add("GatherElements", 13)
def gather_elements(call: Call) -> Value:
    x, at = call.x(0), call.x(1)
    axis = call.axis(call.integer("axis", 0), x.ndim)
    if at.ndim != x.ndim:
        raise call.wrong(f"positions have {at.ndim} axes beside {x.ndim}")
    _within(call, x, at, axis)
    axes = indices(at.extents)
    place = wrapped(at.element(*axes), x.extents[axis])
    body = x.element(*(place if p == axis else i for p, i in enumerate(axes)))
    return traced.of(te.tensor(None, axes, body, x.dtype, hint="gathered"))


def _within(call: Call, x: Traced, at: Traced, axis: int) -> None:
    for p, (a, b) in enumerate(zip(at.extents, x.extents, strict=True)):
        if p != axis and a.value is not None and b.value is not None and a.value > b.value:
            raise call.wrong(f"positions have {a} elements along axis {p}, more than the {b} of the array")


@OPERATORS.add("GatherND", 13)
def gather_nd(call: Call) -> Value:
    x, at, batch = call.x(0), call.x(1), call.integer("batch_dims", 0)
    width = extent(at, at.ndim - 1, "positions") if at.ndim else 0
    if not 0 <= batch < min(x.ndim, at.ndim) or not 0 < width <= x.ndim - batch:
        raise call.wrong(f"positions of shape {at.shape} in an array of shape {x.shape}")
    lead = indices(at.extents[:-1], "b")
    rest = indices(x.extents[batch + width :], "c")
    place = [wrapped(at.element(*lead, k), x.extents[batch + k]) for k in range(width)]
    body = x.element(*lead[:batch], *place, *rest)
    return traced.of(te.tensor(None, (*lead, *rest), body, x.dtype, hint="gathered"))


@OPERATORS.add("ScatterElements", 18)
def scatter_elements(call: Call) -> Value:
    x, at, new = call.x(0), call.x(1), call.x(2)
    axis = call.axis(call.integer("axis", 0), x.ndim)
    if not x.ndim == at.ndim == new.ndim or at.extents != new.extents:
        raise call.wrong(f"updates of shape {new.shape} at positions of shape {at.shape}")
    _within(call, x, at, axis)
    axes = indices(x.extents)
    j = Index("u", at.extents[axis])
    inner = [j if p == axis else i for p, i in enumerate(axes)]
    inside: list[te.Condition] = [
        i <= at.extents[p] - 1 for p, i in enumerate(axes) if p != axis and at.extents[p] is not x.extents[p]
    ]
    place = wrapped(at.element(*inner), x.extents[axis])

    def written(last: Expression) -> Expression:
        element = new.element(*(last if p == axis else i for p, i in enumerate(axes)))
        return e.select(te.holds(inside), element, x.element(*axes)) if inside else element

    hit = [*inside, e.eq(place, value(axes[axis]))]
    return _written(call, x, axes, (j,), value(j), lambda: new.element(*inner), hit, written)


OPERATORS["", "Scatter"] = OPERATORS["", "ScatterElements"]


def _written(
    call: Call,
    x: Traced,
    axes: tuple[Index, ...],
    over: tuple[Index, ...],
    order: Expression,
    update: Callable[[], Expression],
    hit: list[te.Condition],
    at: Callable[[Expression], Expression],
) -> Traced:
    """`x` with the updates over `over` written where they hit: the last one, or folded as the node says."""
    old = x.element(*axes)
    kind = call.text("reduction", "none")
    if kind == "none":
        last = te.tensor(None, axes, te.max(over, order, where=hit), "i64", hint="last")[axes]
        body = e.select(last < 0, old, at(e.maximum(last, 0)))
    elif kind == "add":
        body = old + te.sum(over, update(), where=hit)
    elif kind == "mul":
        body = old * te.prod(over, update(), where=hit)
    elif kind in ("max", "min"):
        found = (te.max if kind == "max" else te.min)(over, update(), where=hit)
        body = (e.maximum if kind == "max" else e.minimum)(old, found)
    else:
        raise call.wrong(f"there is no reduction '{kind}'")
    return traced.of(te.tensor(None, axes, body, x.dtype, hint="written"))


@OPERATORS.add("ScatterND", 18)
def scatter_nd(call: Call) -> Value:
    x, at, new = call.x(0), call.x(1), call.x(2)
    width = extent(at, at.ndim - 1, "positions") if at.ndim else 0
    if not 0 < width <= x.ndim or new.extents != (*at.extents[:-1], *x.extents[width:]):
        raise call.wrong(f"updates of shape {new.shape} at positions of shape {at.shape} in an array of {x.shape}")
    axes, over = indices(x.extents), indices(at.extents[:-1], "u")
    hit: list[te.Condition] = [e.eq(wrapped(at.element(*over, k), x.extents[k]), value(axes[k])) for k in range(width)]
    flat = affine(0)
    for i in over:
        flat = flat * i.size + i
    joined = traced_view.reshape(new, [product(at.extents[:-1]), *x.extents[width:]])
    return _written(call, x, axes, over, value(flat), lambda: new.element(*over, *axes[width:]), hit,
                    lambda last: joined.element(last, *axes[width:]))  # fmt: skip


@OPERATORS.add("TensorScatter", 24)
def tensor_scatter(call: Call) -> Value:
    """A cache [batch, ..., length, ...] with new entries from a position of each batch on."""
    x, new = call.x(0), call.x(1)
    axis, mode = call.axis(call.integer("axis", -2), x.ndim), call.text("mode", "linear")
    if new.ndim != x.ndim or axis == 0 or mode not in ("linear", "circular"):
        raise call.wrong(f"entries of shape {new.shape} for a cache of shape {x.shape}")
    starts = call.x(2) if call.given(2) else traced.full([x.extents[0]], 0, "i64")
    axes = indices(x.extents)
    size, count = value(x.extents[axis]), value(new.extents[axis])
    start = e.cast(starts.element(axes[0]), "i64")
    place = value(axes[axis]) - start
    if mode == "circular":
        place = place % size
    inner = [place if p == axis else i for p, i in enumerate(axes)]
    body = e.select((place >= 0) & (place < count), new.element(*inner), x.element(*axes))
    return traced.of(te.tensor(None, axes, body, x.dtype, hint="cache"))


@OPERATORS.add("OneHot", 28)
def one_hot(call: Call) -> Value:
    at, values = call.x(0), call.x(2)
    depth = int(call.scalar(1, "the depth"))
    if depth < 0 or values.ndim != 1 or values.extents[0].value != 2:
        raise call.wrong(f"a depth of {depth}, values of shape {values.shape}")
    axis = call.axis(call.integer("axis", -1), at.ndim + 1)
    axes = indices([*at.extents[:axis], affine(depth), *at.extents[axis:]])
    place = at.element(*axes[:axis], *axes[axis + 1 :])
    place = wrapped(e.cast(place, "i64"), affine(depth))
    body = e.select(e.eq(place, value(axes[axis])), values.element(1), values.element(0))
    return traced.of(te.tensor(None, axes, body, values.dtype, hint="one_hot"))


@OPERATORS.add("ReverseSequence", 28)
def reverse_sequence(call: Call) -> Value:
    x, lengths = call.x(0), call.x(1)
    time, batch = call.axis(call.integer("time_axis", 0), x.ndim), call.axis(call.integer("batch_axis", 1), x.ndim)
    axes = indices(x.extents)
    n, t = e.cast(lengths.element(axes[batch]), "i64"), value(axes[time])
    place = e.select(t < n, n - 1 - t, t)
    body = x.element(*(place if p == time else i for p, i in enumerate(axes)))
    return traced.of(te.tensor(None, axes, body, x.dtype, hint="reversed"))


@OPERATORS.add("Compress", 28)
def compress(call: Call) -> Value:
    """The elements where a condition holds, which must be known: it says how many there are."""
    x, keep = call.x(0), call.known(1, "the condition").reshape(-1)
    axis = call.axis(call.integer("axis"), x.ndim) if call.has("axis") else None
    if axis is None:
        x, axis = traced.of(traced.to_array(traced_view.reshape(x, [product(x.extents)]))), 0
    (places,) = np.nonzero(keep)
    if len(places) and places[-1] >= extent(x, axis, "Compress"):
        raise call.wrong("the condition is longer than the axis")
    return taken(call, x, axis, places)


def taken(call: Call, x: Traced, axis: int, places: np.ndarray) -> Traced:
    """The elements at known places along an axis."""
    found = _static(call, x, axis, places.astype(np.int64))
    if found is not None:
        return found
    at = call.lift(known(places, "i64", "places"))
    axes = indices([affine(len(places)) if p == axis else s for p, s in enumerate(x.extents)])
    body = x.element(*(at.element(i) if p == axis else i for p, i in enumerate(axes)))
    return traced.of(te.tensor(None, axes, body, x.dtype, hint="taken"))


@OPERATORS.add("NonZero", 13)
def non_zero(call: Call) -> Value:
    """The places of elements that are not zero, which must be known: they say how many there are."""
    return known(np.array(np.nonzero(call.known(0, "the array"))), "i64")


@OPERATORS.add("Unique", 28)
def unique(call: Call) -> tuple[Value, ...]:
    """The different elements, which must be known: they say how many there are."""
    x, source = call.known(0, "the array"), call.tensor_value(0)
    axis = call.axis(call.integer("axis"), x.ndim) if call.has("axis") else None
    found, first, back, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    back = back.reshape(-1)
    if not call.integer("sorted", 1):
        order = np.argsort(first)
        found, first, counts = np.take(found, order, axis or 0), first[order], counts[order]
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        back = rank[back]
    return known(found, source.dtype), known(first, "i64"), known(back, "i64"), known(counts, "i64")


@OPERATORS.add("ArrayFeatureExtractor", 1, "ai.onnx.ml")
def array_feature_extractor(call: Call) -> Value:
    x, at = call.x(0), call.x(1)
    flat = traced_view.reshape(at, [product(at.extents)])
    lead = indices(x.extents[:-1]) if x.ndim > 1 else (Index("i", affine(1)),)
    j = Index("u", flat.extents[0])
    inner = lead if x.ndim > 1 else ()
    return traced.of(te.tensor(None, (*lead, j), x.element(*inner, flat.element(j)), x.dtype, hint="features"))
