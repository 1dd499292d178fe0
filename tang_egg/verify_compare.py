"""How far a result is from its reference, in units of what its storage type allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tang_egg.ops_eight import EIGHT, numbers_of

Array = npt.NDArray[Any]

TOLERANCE = {"f64": 1e-10, "f32": 2e-4, "tf32": 2e-3, "f16": 5e-3, "bf16": 4e-2, "f8e4m3": 0.15, "f8e5m2": 0.3}
TOLERANCE |= {"short": 4e-2}
"""Largest |error| / max |reference| by storage type; tf32: f32 by way of products that round their operands to it;
short: f32 by way of products of 8-bit floats, whose sums have about 14 bits of fraction."""

NORM = {"tf32": 1e-3, "f16": 2e-3, "bf16": 1e-2, "short": 1e-2, "f8e4m3": 6e-2, "f8e5m2": 0.12}
"""Largest ‖error‖ / ‖reference‖ of results whose elements may be off by much: an error in all of them shows here."""

LEAST = {"f16": 2.0**-24, "bf16": 2.0**-133, "f8e4m3": 2.0**-9, "f8e5m2": 2.0**-16}
"""The smallest number above 0: what lies between two of its multiples is rounded to one, however near 0 all are."""


def values_of(a: Array, dtype: str) -> Array:
    """The numbers that a result holds: floats of 8 bits and bf16 come as bits, bf16 as the upper half of a single's."""
    if dtype in EIGHT and a.dtype == np.uint8:
        return np.asarray(numbers_of(a, dtype), np.float32)
    return (a.astype(np.uint32) << 16).view(np.float32) if dtype == "bf16" and a.dtype == np.uint16 else a


def relative_error(got: Any, expected: Any) -> float:
    """max |got - expected| / max |expected| over finite references; inf where one is not finite and the other is."""
    a, b = np.asarray(got, np.float64), np.asarray(expected, np.float64)
    if a.shape != b.shape:
        return float("inf")
    if not a.size:
        return 0.0
    finite = np.isfinite(b)
    odd_a, odd_b = a[~finite], b[~finite]
    if not np.array_equal(odd_a, odd_b, equal_nan=True) or not np.isfinite(a[finite]).all():
        return float("inf")
    if not finite.any():
        return 0.0
    scale = float(np.max(np.abs(b[finite])))
    worst = float(np.max(np.abs(a[finite] - b[finite])))
    return worst / scale if scale > 0.0 else worst


def norm_error(got: Any, expected: Any) -> float:
    """‖got - expected‖ / ‖expected‖ over finite references; arrays of one shape."""
    a, b = np.asarray(got, np.float64), np.asarray(expected, np.float64)
    finite = np.isfinite(b)
    scale = float(np.linalg.norm(b[finite]))
    size = float(np.linalg.norm(a[finite] - b[finite]))
    return size / scale if scale > 0.0 else size


def excess(got: Any, expected: Any, kind: str) -> float:
    """The error as a multiple of what a storage type allows: sound up to 1. Integers and bools must be equal."""
    error = relative_error(got, expected)
    if kind in LEAST and 0.0 < error < float("inf") and _near(got, expected, LEAST[kind]):
        return 0.0
    if kind not in TOLERANCE:
        return 0.0 if error == 0.0 else float("inf")
    most = error / TOLERANCE[kind]
    if kind in NORM and most < float("inf"):
        most = max(most, norm_error(got, expected) / NORM[kind])
    return most


def _near(got: Any, expected: Any, most: float) -> bool:
    a, b = np.asarray(got, np.float64), np.asarray(expected, np.float64)
    return np.allclose(a, b, rtol=0.0, atol=most, equal_nan=True)


def told(got: Any, expected: Any, kind: str) -> str:
    """The error in words."""
    error = relative_error(got, expected)
    if kind in NORM and error <= TOLERANCE[kind]:
        return f"by {norm_error(got, expected):.3g} in the mean over its elements"
    return f"by {error:.3g} of its largest value"


def explained(got: Any, expected: Any, seen: Sequence[Any], kind: str) -> bool:
    """Whether a result is as near to its reference as other outcomes of the same computation, `seen`, are.

    Integers and bools must be equal to one of them. Where outcomes differ in what is finite (an overflow on the way, an
    infinity whose order matters), a value that is not finite is as good as any, and a finite one has to be one of them.
    """
    if kind not in TOLERANCE:
        return bool(np.any([got == s for s in (expected, *seen)], axis=0).all())
    a, b = np.asarray(got, np.float64), np.asarray(expected, np.float64)
    if a.shape != b.shape:
        return False
    loose = np.zeros(b.shape, bool)
    for s in seen:
        loose |= ~((np.isfinite(s) & np.isfinite(b)) | (s == b) | (np.isnan(s) & np.isnan(b)))
    if not loose.any():
        return excess(a, b, kind) <= 1.0 + 4 * max(excess(s, b, kind) for s in seen) < float("inf")
    off = max(excess(s[~loose], b[~loose], kind) for s in seen)
    if not excess(a[~loose], b[~loose], kind) <= 1.0 + 4 * off < float("inf"):
        return False
    largest = float(np.abs(b).max(where=np.isfinite(b), initial=0.0))
    one = a[loose]
    found = ~np.isfinite(one)
    with np.errstate(all="ignore"):
        for s in (b, *seen):
            near = np.asarray(s)[loose]
            found |= np.isfinite(near) & (np.abs(one - near) <= TOLERANCE[kind] * np.maximum(np.abs(near), largest))
    return bool(found.all())
