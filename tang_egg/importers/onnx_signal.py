"""Fourier transforms as sums with known factors, filter banks, determinants."""

from __future__ import annotations

import math

import numpy as np

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg import traced, traced_view
from tang_egg.affine import Affine, Index, affine
from tang_egg.expression import Expression
from tang_egg.importers.onnx_call import Call, Table, extent
from tang_egg.importers.onnx_contract import contract
from tang_egg.importers.onnx_index import indices
from tang_egg.importers.onnx_value import LARGEST, Array, Unsupported, Value, element_type, known
from tang_egg.traced import Traced
from tang_egg.traced_factor import Coordinate

OPERATORS = Table()

MOST_COUNTS = 1 << 12
"""Sequences to count, times the ways to skip places."""


def factors(call: Call, parts: int, points: int, length: int, inverse: bool, onesided: bool) -> Array:
    """f with result[k, d] = Σ x[n, c] f[c, n, k, d]: c and d number real and imaginary parts.

    A transform of `length` points of which x has `points`. One-sided: the first half of the results; of an inverse,
    the first half of the operand of a real result.
    """
    bins = length // 2 + 1 if onesided and not inverse else length
    if length < 1 or bins * points * 4 > LARGEST * 4:
        raise Unsupported(f"a transform of {length} points") if length >= 1 else call.wrong("a transform of no points")
    n, k = np.arange(min(points, length)), np.arange(bins)
    angle = 2 * math.pi * ((n[:, None] * k) % length) / length
    cos, sin = np.cos(angle), np.sin(angle) * (1 if inverse else -1)
    found = np.zeros((parts, points, bins, 2))
    m = len(n)
    found[0, :m, :, 0], found[0, :m, :, 1] = cos, sin
    if parts == 2:
        found[1, :m, :, 0], found[1, :m, :, 1] = -sin, cos
    if inverse:
        found /= length
    if inverse and onesided:
        # the other half is the conjugate of this one: every bin but the first, and the middle one, counts twice
        half = length // 2 + 1
        weight = np.where((n == 0) | (2 * n == length), 1.0, 2.0) * (n < half)
        found[:, :m] *= weight[:, None, None]
        found = found[..., :1]
    return found


@OPERATORS.add("DFT", 20)
def dft(call: Call) -> Value:
    x = call.x(0)
    inverse, onesided = bool(call.integer("inverse", 0)), bool(call.integer("onesided", 0))
    if call.since >= 20:
        axis = int(call.scalar(2, "the axis")) if call.given(2) else -2
    else:
        axis = call.integer("axis", 1)
    axis = call.axis(axis, x.ndim)
    parts = x.extents[-1].value
    if parts not in (1, 2) or axis == x.ndim - 1:
        raise call.wrong(f"an array of shape {x.shape} is transformed along axis {axis}")
    points = extent(x, axis, "a transformed axis")
    default = 2 * (points - 1) if inverse and onesided else points
    length = int(call.scalar(1, "the length")) if call.given(1) else default
    f = call.lift(known(factors(call, parts, points, length, inverse, onesided), x.dtype, "factors"))
    letters = "abdefghijlmop"[: x.ndim - 1]
    own = letters[:axis] + "n" + letters[axis + 1 :] + "c"
    result = letters[:axis] + "k" + letters[axis + 1 :] + "z"
    return contract((own, "cnkz"), (x, f), result, x.dtype, "transformed")


@OPERATORS.add("STFT", 17)
def stft(call: Call) -> Value:
    x, step = call.x(0), int(call.scalar(1, "the step"))
    x = x if x.ndim == 3 else traced_view.expand_dims(x, -1)
    window, parts = call.optional(2), x.extents[-1].value
    size = extent(x, 1, "the signal")
    if call.given(3):
        length = int(call.scalar(3, "the length of a frame"))
    else:
        length = extent(window, 0, "the window") if window is not None else size
    if step < 1 or not 1 <= length <= size or x.ndim != 3 or parts not in (1, 2):
        raise call.wrong(f"frames of {length} points, {step} apart, of a signal of shape {x.shape}")
    if window is not None and (window.ndim != 1 or window.extents[0].value != length):
        raise call.wrong(f"a window of shape {window.shape} for frames of {length} points")
    count = 1 + (size - length) // step
    flat = x

    def at(c: list[Coordinate]) -> Expression:
        places = iter(c)
        b, f, n, z = (next(places) if g else affine(0) for g in shape)
        return flat.element(b, f * step + n, z)

    shape = (x.factors[0], (affine(count),) if count > 1 else (), (affine(length),) if length > 1 else (), x.factors[2])
    frames = Traced(shape, at, x.dtype)  # type: ignore[arg-type]
    f = call.lift(
        known(factors(call, parts, length, length, False, bool(call.integer("onesided", 1))), x.dtype, "factors")
    )
    if window is None:
        return contract(("bfnc", "cnkz"), (frames, f), "bfkz", x.dtype, "transformed")
    return contract(("bfnc", "n", "cnkz"), (frames, window, f), "bfkz", x.dtype, "transformed")


@OPERATORS.add("MelWeightMatrix", 17)
def mel_weight_matrix(call: Call) -> Value:
    """Triangles between points that are evenly apart on the mel scale, over the bins of a transform."""
    bands, length, rate = (int(call.scalar(n, "a parameter")) for n in range(3))
    low, high = (float(call.scalar(n, "a frequency")) for n in (3, 4))
    dtype = element_type(call.integer("output_datatype", 1))
    bins = length // 2 + 1
    if bands < 1 or length < 1 or rate < 1 or bands * bins > LARGEST or not 0 <= low < high:
        raise call.wrong(f"{bands} bands of a transform of {length} points")
    mel = [2595 * math.log10(1 + f / 700) for f in (low, high)]
    edges = mel[0] + np.arange(bands + 2) * (mel[1] - mel[0]) / (bands + 2)
    places = ((length + 1) * (700 * (10 ** (edges / 2595) - 1)) // rate).astype(np.int64)
    found = np.zeros((bins, bands))
    for b in range(bands):
        start, peak, end = (int(p) for p in places[b : b + 3])
        if start == peak and peak < bins:
            found[peak, b] = 1.0
        for k in range(max(start, 0), min(peak + 1, bins)):
            if peak > start:
                found[k, b] = (k - start) / (peak - start)
        for k in range(max(peak, 0), min(end, bins)):
            if end > peak:
                found[k, b] = (end - k) / (end - peak)
    return known(found, dtype)


@OPERATORS.add("Det", 22)
def determinant(call: Call) -> Value:
    """By expansion along rows, each minor once."""
    x = call.x(0)
    if x.ndim < 2 or x.extents[-1] is not x.extents[-2]:
        raise call.wrong(f"the determinant of an array of shape {x.shape}")
    n = extent(x, x.ndim - 1, "a determinant")
    if n > 6:
        raise Unsupported(f"a determinant of {n} × {n}")
    axes = indices(x.extents[:-2])
    known_: dict[tuple[int, ...], Expression] = {(): e.constant(1.0)}

    def minor(columns: tuple[int, ...]) -> Expression:
        if columns not in known_:
            row, total = n - len(columns), e.constant(0.0)
            for p, c in enumerate(columns):
                term = x.element(*axes, row, c) * minor(columns[:p] + columns[p + 1 :])
                total = total - term if p % 2 else total + term
            known_[columns] = total
        return known_[columns]

    return traced.of(te.tensor(None, axes, minor(tuple(range(n))), x.dtype, hint="determinant"))


@OPERATORS.add("TfIdfVectorizer", 9)
def tf_idf_vectorizer(call: Call) -> Value:
    """How often each known sequence of integers occurs, its members up to so many places apart."""
    x, mode = call.x(0), call.text("mode")
    if not call.has("pool_int64s"):
        raise Unsupported("elements of type STRING")
    short, longest, skips = (call.integer(f"{n}") for n in ("min_gram_length", "max_gram_length", "max_skip_count"))
    starts, places, pool = call.ints("ngram_counts"), call.ints("ngram_indexes"), call.ints("pool_int64s")
    weights = call.floats("weights", (1.0,) * len(places))
    if mode not in ("TF", "IDF", "TFIDF") or x.ndim not in (1, 2) or len(weights) != len(places):
        raise call.wrong(f"sequences of mode '{mode}' in an array of shape {x.shape}")
    lead, size = indices(x.extents[:-1]), x.extents[-1]
    grams: list[tuple[int, ...]] = []
    for n, (a, b) in enumerate(zip(starts, (*starts[1:], len(pool)), strict=True), 1):
        if not 0 <= a <= b <= len(pool) or (b - a) % n:
            raise call.wrong(f"the sequences of {n} start at {a} and end at {b}")
        grams += [pool[k : k + n] for k in range(a, b, n)]
    if len(grams) != len(places) or len(set(places)) < len(places) or min(places, default=0) < 0:
        raise call.wrong(f"{len(grams)} sequences at {len(places)} places")
    width = max(places, default=-1) + 1
    if width * max(1, skips + 1) > MOST_COUNTS or not 0 <= skips <= MOST_COUNTS:
        raise Unsupported(f"counts of {width} sequences with {skips} skips")
    columns: list[Traced] = [traced.full(x.extents[:-1], 0, "f32")] * width
    for gram, place, weight in zip(grams, places, weights, strict=True):
        if short <= len(gram) <= longest:
            found = _occurrences(x, lead, size, gram, skips)
            scaled = (
                e.select(found > 0.0, weight, 0.0) if mode == "IDF" else found * (weight if mode == "TFIDF" else 1.0)
            )
            columns[place] = traced.of(te.tensor(None, lead, scaled, "f32", hint="count"))
    return traced_view.concatenate([traced_view.expand_dims(c, -1) for c in columns], -1)


def _occurrences(x: Traced, lead: tuple[Index, ...], size: Affine, gram: tuple[int, ...], skips: int) -> Expression:
    """How often a sequence occurs with its members 1, 2, ... places apart (one member: once for each place)."""
    at, total = Index("at", size), e.constant(0.0)
    for step in range(1, (skips + 1 if len(gram) > 1 else 1) + 1):
        where: list[te.Condition] = [affine(at) + (len(gram) - 1) * step <= size - 1]
        where += [e.eq(x.element(*lead, affine(at) + n * step), g) for n, g in enumerate(gram)]
        total = total + te.sum(at, e.constant(1.0), where=where)
    return total
