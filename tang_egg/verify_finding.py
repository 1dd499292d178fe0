"""What a verification found: one record for each wrong buffer of a kernel, as text and as plain data.

kernel 'S' of c writes a wrong 'S': 3 of 67 elements, the last 3 along axis 0; first at [64], expected 1.5, got nan
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tang_egg.verify_compare import NORM, TOLERANCE

Array = npt.NDArray[Any]

KINDS = ("wrong", "unwritten", "outside", "derivation", "sanitizer", "failed")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    `kind`: "wrong" (values), "unwritten" (elements never written), "outside" (bytes outside an array, or an input
    changed), "derivation" (every kernel does what it says, and the outputs still differ from the graph), "sanitizer"
    (what a tool said) or "failed" (a kernel that could not be run). `first`, `last`: indices of the first and last
    wrong element, `count` of `of` elements. `smallest`: the smallest sizes tried at which the same is found.
    """

    kind: str
    target: str
    kernel: str
    buffer: str
    said: str
    schedule: str = ""
    dims: Mapping[str, int] = field(default_factory=dict)
    values: str = ""
    dtype: str = ""
    first: tuple[int, ...] | None = None
    last: tuple[int, ...] | None = None
    count: int = 0
    of: int = 0
    expected: float | None = None
    got: float | None = None
    pattern: str = ""
    smallest: Mapping[str, int] | None = None

    def data(self) -> dict[str, Any]:
        """Plain data; numbers that JSON lacks are texts."""
        return {n: _plain(getattr(self, n)) for n in self.__slots__}

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        who = f"kernel '{self.kernel}'" if self.kernel else "the derivation"
        lines = [f"{who} of {self.target}, buffer '{self.buffer}': {self.said}"]
        if self.count:
            lines.append(f"  where:     {self.count} of {self.of} elements: {self.pattern}")
        if self.first is not None:
            lines.append(f"  first:     {list(self.first)}, last: {list(self.last or self.first)}")
        if self.expected is not None:
            lines.append(f"  expected:  {self.expected!r}, got {self.got!r}")
        if self.schedule:
            lines.append(f"  schedule:  {self.schedule}")
        shown = ", ".join(f"{k}={v}" for k, v in self.dims.items())
        given = [f"sizes {shown}"] * bool(shown) + [f"{self.values} values"] * bool(self.values)
        if self.dtype:
            given.append(f"inputs of {self.dtype}")
        if given:
            lines.append(f"  with:      {', '.join(given)}")
        if self.smallest is not None and dict(self.smallest) != dict(self.dims):
            lines.append(f"  smallest:  {', '.join(f'{k}={v}' for k, v in self.smallest.items())}")
        return lines


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {k: int(v) for k, v in value.items()}
    return list(value) if isinstance(value, tuple) else value


def as_json(findings: list[Finding]) -> str:
    """Findings as a JSON array."""
    return json.dumps([f.data() for f in findings], indent=1, allow_nan=False)


def wrong_elements(got: Array, exact: Array, kind: str) -> Array:
    """Which elements differ by more than a storage type allows, of arrays of one shape."""
    a, b = np.asarray(got, np.float64), np.asarray(exact, np.float64)
    if kind not in TOLERANCE:
        return np.asarray(np.asarray(got) != np.asarray(exact))
    sound = np.isfinite(b)
    scale = float(np.abs(b[sound]).max()) if sound.any() else 1.0
    with np.errstate(all="ignore"):
        off = np.abs(a - b) > TOLERANCE[kind] * (scale or 1.0)
    odd = ~((a == b) | (np.isnan(a) & np.isnan(b)))
    found = np.where(sound, off | ~np.isfinite(a), odd)
    if not found.any() and kind in NORM:  # off in the mean only: the worse half
        error = np.where(sound, np.abs(a - b), 0.0)
        found = error > 0.5 * error.max() if error.size and error.max() > 0 else found
    return np.asarray(found)


BIAS = 0.25
"""Mean error, in units of the last place, from which on results are not rounded to the nearest."""
_PLACES = {"f16": (10, -24), "bf16": (7, -133), "f8e4m3": (3, -9), "f8e5m2": (2, -16)}
"""Bits behind the point of a number of a type, and the exponent of its smallest one."""


def bias(got: Array, exact: Array, dtype: str) -> float:
    """The mean of (|got| - |exact|) in units of the last place, over large enough elements; 0 where these are few."""
    if dtype not in _PLACES:
        return 0.0
    a, b = np.abs(np.asarray(got, np.float64)).reshape(-1), np.abs(np.asarray(exact, np.float64)).reshape(-1)
    sound = np.isfinite(a) & np.isfinite(b) & (b > 0)
    large = sound & (b > 0.05 * (b[sound].max() if sound.any() else 1.0))
    if large.sum() < 64:
        return 0.0
    digits, least = _PLACES[dtype]
    unit = np.exp2(np.maximum(np.floor(np.log2(b[large])) - digits, least))
    return float(((a[large] - b[large]) / unit).mean())


def pattern(wrong: Array) -> str:
    """The shape of the wrong elements in words: a tail of an axis, one position in k, whole rows, all of them."""
    if wrong.all():
        return "every one"
    parts: list[str] = []
    for axis, size in enumerate(wrong.shape):
        others = tuple(n for n in range(wrong.ndim) if n != axis)
        at = np.flatnonzero(wrong.any(axis=others) if others else wrong)
        if len(at) < size:
            parts.append(f"{_along(at, size)} along axis {axis}")
        if wrong.ndim > 1 and len(at) < size and wrong.take(at, axis).all():
            parts.append("whole rows" if axis != wrong.ndim - 1 else "whole columns")
    return ", ".join(parts) or "scattered over all axes"


def _along(at: Array, size: int) -> str:
    """Positions of an axis in words."""
    first, last, count = int(at[0]), int(at[-1]), len(at)
    if count == 1:
        return f"position {first} of {size}" + (" (the last)" * (first == size - 1))
    if last - first + 1 == count:
        if last == size - 1:
            return f"the last {count} of {size}"
        return f"the first {count} of {size}" if first == 0 else f"positions {first} to {last} of {size}"
    step = int(np.gcd.reduce(np.diff(at)))
    if step > 1 and count == (last - first) // step + 1:
        return f"one position in {step} from {first} to {last} of {size}"
    return f"{count} of {size} positions from {first} to {last}"
