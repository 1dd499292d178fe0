"""Normalisation: by mean and variance, by the mean square, by norms; of batches, layers, instances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tang_egg import array_scalar as s
from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg import traced, traced_view
from tang_egg.affine import Affine, product
from tang_egg.importers.onnx_call import Call, Table
from tang_egg.importers.onnx_reduce import mean, sums
from tang_egg.importers.onnx_value import Known, Unsupported, Value, known
from tang_egg.traced import Traced, compute, fold

OPERATORS = Table()


def variance(x: Traced, axes: Sequence[int]) -> tuple[Traced, Traced]:
    """x less its mean along axes, and the mean of its squares."""
    centred = compute(lambda a, m: a - m, x, mean(x, axes), dtype=x.dtype, hint="centred")
    count = product([x.extents[a] for a in axes])
    by = te.size(count) if count.value is None or count.value == 0 else float(count.value)
    spread = fold(lambda over, a: sums(over, a * a) / by, centred, axes, x.dtype, keepdims=True, hint="variance")
    return centred, spread


def standardised(x: Traced, axes: Sequence[int], eps: float) -> tuple[Traced, Traced]:
    """(x - mean) / sqrt(variance + eps) along axes, and the factor 1 / sqrt(variance + eps)."""
    centred, spread = variance(x, axes)
    factor = compute(lambda v: e.rsqrt(v + eps), spread, dtype=x.dtype, hint="factor")
    return compute(lambda a, f: a * f, centred, factor, dtype=x.dtype, hint="standardised"), factor


def over_channels(call: Call, x: Traced, n: int, channel: Affine) -> Traced:
    """Input `n`, a vector over channels, aligned with axis 1 of `x`."""
    given = call.x(n)
    if given.ndim != 1 or given.extents[0] is not channel:
        raise call.wrong(f"input {n} has shape {given.shape}, not [{channel}]")
    return traced_view.reshape(given, [given.extents[0], *(1,) * (x.ndim - 2)])


def affine_map(x: Traced, scale: Traced | None, shift: Traced | None) -> Traced:
    """x · scale + shift."""
    if scale is not None:
        x = compute(lambda a, b: a * b, x, scale, dtype=x.dtype, hint="scaled")
    if shift is not None:
        x = compute(lambda a, b: a + b, x, shift, dtype=x.dtype, hint="shifted")
    return x


@OPERATORS.add("InstanceNormalization", 22)
def instance_normalization(call: Call) -> Value:
    x = call.x(0)
    if x.ndim < 3:
        raise call.wrong(f"the input has {x.ndim} axes, not 3 or more")
    y, _ = standardised(x, range(2, x.ndim), call.number("epsilon", 1e-5))
    channel = x.extents[1]
    return affine_map(y, over_channels(call, x, 1, channel), over_channels(call, x, 2, channel))


@OPERATORS.add("LayerNormalization", 17)
def layer_normalization(call: Call) -> tuple[Value, ...]:
    x = call.x(0)
    axes = range(call.axis(call.integer("axis", -1), x.ndim), x.ndim)
    y, factor = standardised(x, axes, call.number("epsilon", 1e-5))
    found = affine_map(y, call.x(1), call.optional(2))
    traced.broadcast_to(call.x(1), x.extents)
    average = mean(x, axes) if call.wanted(1) else None
    return found, average, factor if call.wanted(2) else None


@OPERATORS.add("RMSNormalization", 23)
def rms_normalization(call: Call) -> Value:
    x, eps = call.x(0), call.number("epsilon", 1e-5)
    axes = range(call.axis(call.integer("axis", -1), x.ndim), x.ndim)
    square = mean(compute(s.square, x, dtype=x.dtype, hint="square"), axes)
    y = compute(lambda a, m: a * e.rsqrt(m + eps), x, square, dtype=x.dtype, hint="rms")
    return affine_map(y, call.x(1), None)


@OPERATORS.add("LpNormalization", 22)
def lp_normalization(call: Call) -> Value:
    x, p = call.x(0), call.integer("p", 2)
    axis = call.axis(call.integer("axis", -1), x.ndim)
    if p not in (1, 2):
        raise call.wrong(f"there is no norm of order {p}")
    size = fold(lambda over, a: sums(over, s.absolute(a)) if p == 1 else e.sqrt(sums(over, a * a)), x, (axis,), x.dtype,
                keepdims=True, hint="norm")  # fmt: skip
    return compute(lambda a, n: e.select(e.eq(n, 0.0), 0.0, a / n), x, size, dtype=x.dtype, hint="normalised")


@OPERATORS.add("BatchNormalization", 15)
def batch_normalization(call: Call) -> tuple[Value, ...]:
    x, eps = call.x(0), call.number("epsilon", 1e-5)
    if call.since < 9 and not call.integer("spatial", 1):
        raise Unsupported("statistics of every position")
    if x.ndim < 2:
        raise call.wrong(f"the input has {x.ndim} axes, not 2 or more")
    channel = x.extents[1]
    scale, bias, average, spread = (over_channels(call, x, n, channel) for n in range(1, 5))
    if (call.since >= 14 and call.integer("training_mode", 0)) or (call.since < 7 and not call.integer("is_test", 0)):
        return _batch_statistics(call, x, scale, bias, average, spread, eps)
    known_ = [v.array.astype(np.float64) for v in call.values[1:5] if isinstance(v, Known)]
    if len(known_) == 4:
        # One factor and one addend for each channel, computed at import.
        with np.errstate(all="ignore"):
            f = known_[0] / np.sqrt(known_[3] + eps)
            b = known_[1] - known_[2] * f
        found = call.runner.products.mapped(x, f, b) if call.alone(0) else None
        if found is not None:
            return (found,)
        shape = (len(f), *(1,) * (x.ndim - 2))
        factor, addend = (call.lift(known(v.reshape(shape), scale.dtype, "channels")) for v in (f, b))
    else:
        factor = compute(lambda g, v: g * e.rsqrt(v + eps), scale, spread, dtype=scale.dtype, hint="factor")
        addend = compute(lambda b, m, f: b - m * f, bias, average, factor, dtype=bias.dtype, hint="addend")
    return (compute(lambda a, f, b: a * f + b, x, factor, addend, dtype=x.dtype, hint="normalised"),)


def _batch_statistics(
    call: Call, x: Traced, scale: Traced, bias: Traced, average: Traced, spread: Traced, eps: float
) -> tuple[Value, ...]:
    """In training: by the statistics of the batch, which move the running ones."""
    axes = (0, *range(2, x.ndim))
    momentum = call.number("momentum", 0.9)
    _, current = variance(x, axes)
    y, _ = standardised(x, axes, eps)
    found: list[Value] = [affine_map(y, scale, bias)]
    for old, new in ((average, mean(x, axes)), (spread, current)):
        moved = compute(
            lambda a, b: a * momentum + b * (1 - momentum),
            old,
            traced_view.squeeze(new, (0,)),
            dtype=old.dtype,
            hint="moved",
        )
        found.append(traced_view.reshape(moved, [x.extents[1]]))
    return tuple(found)
