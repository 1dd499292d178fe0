"""Floating-point types, exact rounding to them, and plans: which type holds what, and in which order sums run.

    plan  ::= storage of inputs and tensors, type of arithmetic, type of accumulators, order of folds
    order ::= sequential                  point by point
            | tree                        neighbours first, then pairs of pairs
            | lanes n                     n partial states, every n-th point each, then a tree
            | stream n (w)                tiles of n points, each summed in w lanes (in order without)
            | blocks n                    n partial states of neighbouring points, combined in order

Values are held in float64. `round_to` rounds once, to nearest even, subnormals and overflow as the type has them. An
operation of the types below computed in float64 and rounded is the correctly rounded one for + - * / and sqrt, since
53 >= 2 · 24 + 2 (Figueroa 1995); `fused` does the same for a multiply-add, where that is not enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tang_egg.errors import InputError, close_match
from tang_egg.ops_eight import EIGHT

Array: TypeAlias = "npt.NDArray[Any]"


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format: bits of the significand (the leading one counted), exponents of its normal numbers, largest.

    `infinite`: whether what is too large becomes an infinity; else NaN.
    """

    digits: int
    least: int
    most: int
    largest: float
    infinite: bool = True

    @property
    def epsilon(self) -> float:
        """The largest relative error of rounding a normal number."""
        return 2.0**-self.digits


FORMATS: dict[str, Format] = {
    "f64": Format(53, -1022, 1023, float.fromhex("0x1.fffffffffffffp1023")),
    "f32": Format(24, -126, 127, float.fromhex("0x1.fffffep127")),
    "tf32": Format(11, -126, 127, float.fromhex("0x1.ffcp127")),
    "bf16": Format(8, -126, 127, float.fromhex("0x1.fep127")),
    "f16": Format(11, -14, 15, 65504.0),
    "e5m2": Format(3, -14, 15, 57344.0),
    "e4m3": Format(4, -6, 8, 448.0, infinite=False),
}
FORMATS |= {f"f8{name}": FORMATS[name] for name in ("e4m3", "e5m2")}
"""By name. e4m3 is the finite variant: no infinities, and codes up to 448. As storage, f8e4m3 and f8e5m2 saturate."""

ORDERS = ("sequential", "tree", "lanes", "stream", "blocks")


def round_to(x: Any, type: str, *, saturate: bool = False) -> Array:
    """`x` rounded to a type, to nearest even, as float64.

    Beyond the largest value: an infinity, or NaN in a type that has none; with `saturate` the largest value (infinities
    too).
    """
    a = np.asarray(x, np.float64)
    if type == "f64":
        return a
    f = FORMATS[type]
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(a)
        shift = np.maximum(exponent - 1, f.least) - (f.digits - 1)
        rounded = np.ldexp(np.rint(np.ldexp(a, -shift)), shift)
        rounded = np.where(np.isfinite(a), rounded, a)
    large = np.abs(rounded) > f.largest
    if large.any():
        over = f.largest if saturate or type in EIGHT else np.inf if f.infinite else np.nan
        rounded = np.where(large, np.copysign(over, rounded), rounded)
    return np.asarray(rounded)


def fused(a: Array, b: Array, c: Array, type: str) -> Array:
    """a · b + c for values of a type, rounded once to it.

    The product of two f32 is exact in float64; its sum with c is rounded to odd, which a second rounding to at most 51
    bits does not notice (Boldo and Melquiond 2008).
    """
    with np.errstate(all="ignore"):
        p = np.asarray(a * b)
        s = np.asarray(p + c)
        if type == "f64":
            return s
        t = s - p
        error = (p - (s - t)) + (c - t)
        inexact = np.isfinite(s) & np.isfinite(error) & (error != 0.0)
        even = (s.view(np.int64) & 1) == 0
        towards = np.nextafter(s, np.where(error > 0, np.inf, -np.inf))
    return round_to(np.where(inexact & even, towards, s), type)


def values_of_codes(type: str) -> Array:
    """The value of each code of an 8-bit type, by code, as float64."""
    f = FORMATS[type]
    bits = f.digits - 1
    codes = np.arange(256)
    sign = np.where(codes & 128, -1.0, 1.0)
    exponent, fraction = (codes & 127) >> bits, codes & ((1 << bits) - 1)
    normal = np.ldexp(1.0 + np.ldexp(fraction.astype(np.float64), -bits), exponent + f.least - 1)
    small = np.ldexp(fraction.astype(np.float64), f.least - bits)
    magnitude = np.where(exponent == 0, small, normal)
    beyond = magnitude > f.largest
    odd = np.where((fraction == 0) & f.infinite, np.inf, np.nan)
    return np.asarray(sign * np.where(beyond, odd, magnitude))


@dataclass(frozen=True, slots=True)
class Order:
    """How the points of a fold are combined (see the module text).

    `ragged`: points that are left over after full tiles come last, one by one; else they fill a last tile that ends
    where the axis does.
    """

    how: str = "sequential"
    size: int = 1
    inner: int = 0
    ragged: int = 0

    def __str__(self) -> str:
        return self.how if self.how in ("sequential", "tree") else f"{self.how}:{self.size}"


SEQUENTIAL, TREE = Order(), Order("tree")


@dataclass(frozen=True, slots=True)
class Plan:
    """Which type holds what, and in which order folds run.

    `storage`: by name of an input or tensor; others are held as they are declared.
    `arithmetic`: the type of operations; "" is f32, or f64 for tensors that hold or read f64.
    `accumulate`: the type of a fold's state, by (tensor, index) or by tensor; others have that of the operations.
    `orders`: the order of folds, by (tensor, index) or by tensor, index being the innermost one.
    `order`: that of all other folds.
    `contract`: a product that only a sum uses is not rounded before it is added.
    `operands`: the type to which factors of summed products are rounded, as matrix units do; "" does not round.
    `saturate`: what is too large for a storage type becomes its largest value.
    """

    storage: Mapping[str, str] = field(default_factory=dict)
    arithmetic: str = ""
    accumulate: Mapping[tuple[str, str] | str, str] = field(default_factory=dict)
    orders: Mapping[tuple[str, str] | str, Order] = field(default_factory=dict)
    order: Order = SEQUENTIAL
    contract: bool = False
    operands: str = ""
    saturate: bool = False
    tensors: Mapping[str, str] = field(default_factory=dict)
    """The type of operations in some tensors, by name."""

    def check(self, names: set[str], where: str) -> None:
        """Raises InputError for a type, an order or a name that is not there."""
        kinds = [*self.storage.values(), *self.accumulate.values(), *self.tensors.values()]
        for kind in (*kinds, *(k for k in (self.arithmetic, self.operands) if k)):
            if kind not in FORMATS:
                raise InputError(
                    f"no float type '{kind}' in a precision plan", where=where, mend=f"use one of: {', '.join(FORMATS)}"
                )
        for order in (self.order, *self.orders.values()):
            if order.how not in ORDERS or order.size < 1 or order.inner < 0:
                raise InputError(
                    f"no order '{order.how}' of {order.size} in a precision plan",
                    where=where,
                    mend=f"use one of: {', '.join(ORDERS)}, with a size of at least 1",
                )
        keys = [
            *self.storage,
            *self.tensors,
            *(k if isinstance(k, str) else k[0] for k in (*self.accumulate, *self.orders)),
        ]
        for name in keys:
            if name not in names:
                raise InputError(
                    f"the precision plan names '{name}', which the graph does not have{close_match(name, names)}",
                    where=where,
                    mend=f"its inputs and tensors are: {', '.join(sorted(names))}",
                )
