"""Spectral sums, written as sums: the discrete Fourier transform, short-time spectra, and bands of the mel scale.

Complex numbers are a last axis of two: real and imaginary part.
"""

from __future__ import annotations

import math

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg.affine import Affine, Index, affine
from tang_egg.errors import GraphError
from tang_egg.expression import Expression, here
from tang_egg.library import axes_of, axis_of, expect_rank, expect_real, expect_size, working_type
from tang_egg.notation import Array

SCALES = ("htk", "slaney")


def dft(
    x: Array,
    axis: int = -1,
    *,
    inverse: bool = False,
    onesided: bool = False,
    length: int | None = None,
    complex_input: bool = False,
) -> Array:
    """Σ x[j] exp(-2πi j k / n) along `axis`: x[..., n, ...] real → [..., n, ..., 2], or n // 2 + 1 if `onesided`.

    With `complex_input`, x[..., n, ..., 2] is complex and `axis` counts without that last axis. `inverse`: the sign of
    the exponent is turned and the sum divided by n. `length` cuts the axis, or pads it by 0, to that many elements.
    """
    expect_real(x, "the spectrum")
    if complex_input and (x.rank < 2 or x.shape[-1].value != 2):
        raise GraphError(
            f"'{x.name}' has no last axis of two", where=str(here()), mend="give real and imaginary part there"
        )
    i = axes_of(x)[:-1] if complex_input else axes_of(x)
    p = _spectral_axis(x, axis, len(i))
    given = i[p].size
    n = given if length is None else affine(_positive(length, "elements"))
    j, k, c = Index("j_in", n), Index("k_out", _bins(n) if onesided else n), Index("part", affine(2))
    inside = [j < given] if n is not given and not _fits(n, given) else None
    at = tuple(j if a is i[p] else a for a in i)
    axes = tuple(k if a is i[p] else a for a in i)
    sign = 1.0 if inverse else -1.0
    cos, sin = _turn(j, k, n)
    kind = working_type(x)
    wave = te.tensor(None, (k, j, c), e.select(c < 1, cos, sin * sign), kind, hint="waves")
    if complex_input:
        # (re + i im)(cos + i s) = (re cos - im s) + i (re s + im cos)
        quarter = te.tensor(None, (k, j, c), e.select(c < 1, sin * -sign, cos), kind, hint="turned_waves")
        product = x[(*at, 0)] * wave[k, j, c] + x[(*at, 1)] * quarter[k, j, c]
    else:
        product = x[at] * wave[k, j, c]
    total = te.sum(j, product, where=inside)
    return te.tensor(None, (*axes, c), total / te.size(n) if inverse else total, x.dtype, hint="spectrum")


def _fits(n: Affine, given: Affine) -> bool:
    return n.value is not None and given.value is not None and n.value <= given.value


def _spectral_axis(x: Array, axis: int, rank: int) -> int:
    if rank == x.rank:
        return axis_of(x, axis)
    if not isinstance(axis, int) or isinstance(axis, bool) or not -rank <= axis < rank:
        raise GraphError(
            f"'{x.name}' has no axis {axis!r} of samples", where=str(here()), mend=f"its axes are {-rank} to {rank - 1}"
        )
    return axis % rank


def _turn(j: Index, k: Index, n: Affine) -> tuple[Expression, Expression]:
    """cos and sin of 2π j k / n; j k is reduced by n first, so that the angle is below 2π."""
    turns = (e.value(j) * e.value(k)) % e.value(n)
    angle = e.cast(turns, "real") * (2 * math.pi) / te.size(n)
    return e.cos(angle), e.sin(angle)


def _bins(n: Affine) -> Affine:
    """n // 2 + 1. Raises GraphError for a symbolic n that is no even sum of dimensions."""
    if any(c % 2 for monomial, c in n.terms if monomial):
        raise GraphError(
            f"half the spectrum of a symbolic extent {n}",
            where=str(here()),
            mend="fix the extent, write it as 2 * n, or take the whole spectrum",
        )
    return Affine.of({m: c // 2 for m, c in n.terms if m}) + n.constant // 2 + 1


def stft(
    x: Array,
    frame: int,
    hop: int,
    window: Array | None = None,
    *,
    onesided: bool = True,
    center: bool = False,
) -> Array:
    """Spectra of frames of `frame` samples, `hop` apart: x[..., n] → [..., frames, bins, 2], window[frame].

    frames = (n - frame) // hop + 1, or with `center` n // hop + 1: x is then continued by its mirror image, frame // 2
    samples at either end. bins = frame // 2 + 1, or `frame` unless `onesided`.
    """
    expect_real(x, "the spectrum")
    expect_rank(x, 1)
    frame, hop = _positive(frame, "samples in a frame"), _positive(hop, "samples between frames")
    if window is not None:
        expect_rank(window, 1, 1)
        expect_size(f"'{window.name}'", window.shape[0], affine(frame))
    lead, n = axes_of(x)[:-1], x.shape[-1]
    margin = frame // 2 if center else 0
    frames = _frames(x, n, frame, hop, margin)
    t, j = Index("frame", frames), Index("j_in", affine(frame))
    at = t * hop + j - margin
    sample = x[(*lead, at)] if not margin else _mirrored(x, lead, at, n)
    body = sample if window is None else sample * window[j]
    return dft(te.tensor(None, (*lead, t, j), body, x.dtype, hint="frames"), onesided=onesided)


def _frames(x: Array, n: Affine, frame: int, hop: int, margin: int) -> Affine:
    span = n + 2 * margin - frame
    too_short = n.value is not None and (n.value < frame if not margin else n.value <= margin)
    if too_short or (hop > 1 and any(c % hop for monomial, c in span.terms if monomial)):
        raise GraphError(
            f"frames of {frame} samples, {hop} apart, of '{x.name}' with {n} samples",
            where=str(here()),
            mend="give a fixed number of samples that holds a frame, or a multiple of the hop",
        )
    return Affine.of({m: c // hop for m, c in span.terms if m}) + span.constant // hop + 1


def _mirrored(x: Array, lead: tuple[Index, ...], at: Affine, n: Affine) -> Expression:
    """x at a position that may lie up to n - 1 samples outside: mirrored at the first or the last sample."""
    before, after = x[(*lead, -at)], x[(*lead, 2 * n - 2 - at)]
    return e.select(at < 0, before, e.select(at < n, x[(*lead, at)], after))


def power_spectrum(spectrum: Array) -> Array:
    """re² + im² of spectrum[..., 2] → [...]."""
    expect_rank(spectrum, 1)
    expect_size(f"the last axis of '{spectrum.name}'", spectrum.shape[-1], affine(2))
    i = axes_of(spectrum)[:-1]
    re, im = spectrum[(*i, 0)], spectrum[(*i, 1)]
    return te.tensor(None, i, re * re + im * im, spectrum.dtype, hint="power")


def mel_filterbank(
    bins: int,
    bands: int,
    rate: float,
    low: float = 0.0,
    high: float | None = None,
    *,
    scale: str = "htk",
    normalised: bool = False,
) -> Array:
    """Triangles over the frequencies of `bins` bins from 0 to rate / 2: an array [bins, bands] to multiply spectra by.

    The corners of the triangles are equally spaced on the mel scale from `low` to `high` Hz (rate / 2 unless given):
    2595 log10(1 + f / 700), or with scale="slaney" linear up to 1000 Hz and logarithmic above. `normalised` gives each
    triangle the area 1 in Hz.
    """
    for given in (rate, low, 0.0 if high is None else high):
        if not isinstance(given, (int, float)):
            raise GraphError(f"a frequency of {given!r}", where=str(here()), mend="give a number of Hz")
    high = rate / 2 if high is None else high
    if not isinstance(bins, int) or not isinstance(bands, int) or bins < 2 or bands < 1 or scale not in SCALES:
        raise GraphError(
            f"a mel filter bank of {bins!r} bins and {bands!r} bands on the scale {scale!r}",
            where=str(here()),
            mend=f"give at least 2 bins and 1 band, and a scale of {', '.join(SCALES)}",
        )
    if not 0 <= low < high < math.inf or not 0 < rate < math.inf:
        raise GraphError(
            f"mel bands from {low!r} to {high!r} Hz at a rate of {rate!r} Hz",
            where=str(here()),
            mend="give 0 <= low < high, and a rate above 0",
        )
    first, last = _to_mel(low, scale), _to_mel(high, scale)
    corner, b, m = Index("corner", affine(bands + 2)), Index("bin", affine(bins)), Index("band", affine(bands))
    mel = e.cast(corner, "real") * ((last - first) / (bands + 1)) + first
    corners = te.tensor(None, corner, _to_hertz(mel, scale), hint="mel_corners")
    frequency = e.cast(b, "real") * (rate / 2 / (bins - 1))
    left, middle, right = corners[m], corners[m + 1], corners[m + 2]
    rising, falling = (frequency - left) / (middle - left), (right - frequency) / (right - middle)
    height = e.maximum(e.minimum(rising, falling), 0.0)
    if normalised:
        height = height * 2.0 / (right - left)
    return te.tensor(None, (b, m), height, hint="mel_filterbank")


_LINEAR, _KNEE = 200 / 3, 1000.0
_STEP = math.log(6.4) / 27


def _to_mel(hertz: float, scale: str) -> float:
    if scale == "htk":
        return 2595 * math.log10(1 + hertz / 700)
    return hertz / _LINEAR if hertz < _KNEE else _KNEE / _LINEAR + math.log(hertz / _KNEE) / _STEP


def _to_hertz(mel: Expression, scale: str) -> Expression:
    if scale == "htk":
        return (e.exp(mel * (math.log(10) / 2595)) - 1.0) * 700.0
    knee = _KNEE / _LINEAR
    return e.select(mel < knee, mel * _LINEAR, e.exp((mel - knee) * _STEP) * _KNEE)


def _positive(n: int, what: str) -> int:
    if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n < 2**31:
        raise GraphError(f"{n!r} {what}", where=str(here()), mend="give a whole number from 1")
    return n
