"""Known factors and addends of each channel, taken into the weights of the convolution before them.

A convolution by w with bias b, times s and plus t for each output channel, is one by s·w with bias s·b + t. It is done
where nothing else reads the convolution's result and all of w, b, s, t are known, so that no work is done twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tang_egg.importers.onnx_value import NUMPY, Array, Known
from tang_egg.traced import Traced


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """A convolution that was traced: weights [outputs, ...], bias [outputs], and how to trace it with others."""

    result: Traced
    weights: Known
    bias: Known | None
    again: Callable[[Known, Known | None], Traced]


@dataclass(slots=True)
class Products:
    """The convolutions met so far whose weights are known, by their results."""

    found: dict[int, Product] = field(default_factory=dict)

    def trace(self, w: Known, bias: Known | None, again: Callable[[Known, Known | None], Traced]) -> Traced:
        """The convolution with these weights, remembered."""
        made = again(w, bias)
        self.found[id(made)] = Product(made, w, bias, again)
        return made

    def mapped(self, x: Traced, factor: Array | None, addend: Array | None) -> Traced | None:
        """x · factor + addend by other weights, where `x` is the result of a convolution with known ones.

        `factor` and `addend`: one number for each output channel, or for all.
        """
        product = self.found.get(id(x))
        if product is None:
            return None
        w, kind = product.weights, NUMPY[product.weights.dtype]
        count = w.array.shape[0]
        if any(g is not None and g.size not in (1, count) for g in (factor, addend)):
            return None
        f = np.ones(count) if factor is None else np.broadcast_to(factor.reshape(-1).astype(np.float64), (count,))
        a = np.zeros(count) if addend is None else np.broadcast_to(addend.reshape(-1).astype(np.float64), (count,))
        old = np.zeros(count) if product.bias is None else product.bias.array.astype(np.float64)
        scaled: Array = (w.array * f.reshape(-1, *(1,) * (w.array.ndim - 1))).astype(kind)
        if not (np.isfinite(f).all() and np.isfinite(a).all() and np.isfinite(scaled).all()):
            return None
        name = product.bias.name if product.bias is not None else f"{w.name}_bias"
        return self.trace(
            Known(scaled, w.dtype, w.name), Known((old * f + a).astype(kind), w.dtype, name), product.again
        )


def per_channel(value: object, rank: int) -> Array | None:
    """A known operand as one number for each channel (axis 1 of `rank` axes) or for all; None where it is none."""
    if not isinstance(value, Known) or value.dtype not in ("f32", "f64"):
        return None
    shape = (1,) * (rank - value.array.ndim) + value.array.shape
    plain = len(shape) == rank and all(n == 1 for p, n in enumerate(shape) if p != 1)
    return value.array.reshape(-1) if plain and value.array.size else None
