"""Floats of 8 bits: their bits, and the numbers that these stand for, as OCP's 8-bit specification has them.

    f8e4m3    sign, 4 bits of exponent, 3 of fraction; largest 448; one NaN of each sign, no infinities
    f8e5m2    sign, 5 bits of exponent, 2 of fraction; largest 57344; infinities and NaN as in IEEE

A conversion rounds to the nearest, ties to even, and *saturates*: what is too large, infinities too, becomes the
largest number. NaN stays NaN. So an infinity comes from bits only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Eight:
    """`places`: bits of the fraction. `least`: exponent of the smallest normal number. `top`: code of the largest."""

    places: int
    least: int
    top: int
    infinite: bool

    @property
    def largest(self) -> float:
        """The largest finite number."""
        return float(_number(self, self.top))


EIGHT = {"f8e4m3": Eight(3, -6, 0x7E, False), "f8e5m2": Eight(2, -14, 0x7B, True)}
"""By the name of the type."""
NAN = 0x7F
"""The code of a NaN that a conversion gives, in both types."""


def _number(f: Eight, code: int) -> float:
    """What a code without a sign stands for."""
    exponent, fraction = divmod(code, 1 << f.places)
    if code > f.top:
        return np.inf if f.infinite and fraction == 0 else np.nan
    whole = fraction + (1 << f.places if exponent else 0)
    return whole * 2.0 ** (max(exponent, 1) - 1 + f.least - f.places)


TABLES: dict[str, Any] = {
    t: np.array([sign * _number(f, code) for sign in (1.0, -1.0) for code in range(128)]) for t, f in EIGHT.items()
}
"""The number of each of the 256 codes, float64."""


def numbers_of(bits: Any, type: str) -> Any:
    """The numbers that bits (uint8) stand for, as float64."""
    return TABLES[type][np.asarray(bits, np.uint8)]


def bits_of(x: Any, type: str, library: Any = np) -> Any:
    """Numbers rounded to a type, as its bits (uint8). `library`: the one whose arrays these are, numpy or cupy."""
    f = EIGHT[type]
    a = library.asarray(x).astype(np.float64)
    size = library.abs(a)
    _, above = library.frexp(size)
    exponent = library.where(size > 0, library.maximum(above - 1, f.least), f.least)
    # a code counts the units of its binade: one that is rounded up to the next power of two is the next binade's first
    count = library.rint(library.ldexp(size, f.places - exponent))
    code = library.minimum((exponent - f.least) * 2.0**f.places + count, f.top)
    signed = library.where(library.isnan(a), NAN, code + 128 * library.signbit(a))
    return signed.astype(np.uint8)


def rounded(x: Any, type: str) -> Any:
    """Numbers rounded to a type, as float64."""
    return numbers_of(bits_of(x, type), type)
