"""Sums of products as matrix products, wherever that treats NaN and infinities as the plain sum does.

Arrays are aligned on the right and have extent 1 along axes they do not depend on; positions count from the right,
starting at 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tang_egg.ir import Apply, Scalar, const, type_of

Array: TypeAlias = "npt.NDArray[Any]"


class Refused(Exception):
    """The product is not to be summed in this way, because the outcome could differ; sum it point by point."""


def factors_of(s: Scalar) -> list[Scalar]:
    """The factors of a product, in order; a negation counts as the factor -1."""
    if isinstance(s, Apply) and s.op == "mul":
        return factors_of(s.args[0]) + factors_of(s.args[1])
    if isinstance(s, Apply) and s.op == "neg" and type_of(s) == "real":
        return [const(-1.0), *factors_of(s.args[0])]
    return [s]


def contract(factors: Sequence[Array], mask: Array | None, extents: dict[int, int], keep: int) -> Array:
    """The sum of the product of `factors` over the positions in `extents`, at points where `mask` holds.

    `extents`: points of each summed position; `keep`: positions up to it remain. Shape: `keep` axes.
    Raises Refused when factors with NaN or infinities, or a position that no factor depends on, stand in the way.
    """
    arrays = _merge([_Labelled(f) for f in factors])
    if len(arrays) == 1:
        return _plain_sum(arrays[0].array, mask, extents, keep)
    covered = frozenset[int]().union(*(a.labels for a in arrays))
    if any(n != 1 and p not in covered for p, n in extents.items()):
        raise Refused
    summed = covered & extents.keys()
    # Each point's product is formed in full only if every summed axis lies in both of two factors.
    finite = len(arrays) > 2 or any(not summed <= a.labels for a in arrays)
    if mask is not None:
        wanted = _Labelled(mask).labels
        host = max(range(len(arrays)), key=lambda n: (len(arrays[n].labels & wanted), -arrays[n].array.size))
        chosen = arrays[host].array
        arrays[host] = _Labelled(np.where(mask, chosen, np.zeros((), chosen.dtype)))
        # Zeroing one factor leaves 0 * NaN where another is not finite.
        if not all(np.isfinite(a.array).all() for n, a in enumerate(arrays) if finite or n != host):
            raise Refused
    elif finite and not all(np.isfinite(a.array).all() for a in arrays):
        raise Refused
    if len(arrays) == 2:
        return _matrix_product(arrays[0], arrays[1], summed, keep)
    return _many(arrays, summed, keep)


class _Labelled:
    """An array with the positions along which it varies."""

    __slots__ = ("array", "labels")

    def __init__(self, array: Array) -> None:
        self.array = array
        self.labels = frozenset(array.ndim - n for n, size in enumerate(array.shape) if size != 1)

    def extent(self, position: int) -> int:
        return int(self.array.shape[-position]) if position <= self.array.ndim else 1

    def arranged(self, positions: Sequence[int]) -> Array:
        """The array with exactly these positions as axes, in this order."""
        order = sorted(self.labels, reverse=True)
        squeezed = self.array.reshape([self.extent(p) for p in order])
        return squeezed.transpose([order.index(p) for p in positions])


def _merge(arrays: list[_Labelled]) -> list[_Labelled]:
    """Factors that vary along no other axes than another factor are multiplied into it."""
    left: list[_Labelled] = []
    for a in sorted(arrays, key=lambda a: -len(a.labels)):
        hosts = [n for n, b in enumerate(left) if a.labels <= b.labels]
        if hosts:
            host = min(hosts, key=lambda n: left[n].array.size)
            left[host] = _Labelled(np.asarray(left[host].array * a.array))
        else:
            left.append(a)
    return left


def _plain_sum(array: Array, mask: Array | None, extents: dict[int, int], keep: int) -> Array:
    ndim = keep + len(extents)
    full = array.reshape((1,) * (ndim - array.ndim) + array.shape)
    if mask is not None:
        full = np.where(mask, full, np.zeros((), full.dtype))
    shape = [extents.get(ndim - n, size) for n, size in enumerate(full.shape)]
    summed = np.broadcast_to(full, shape)
    return np.asarray(np.add.reduce(summed, axis=tuple(range(len(extents))), dtype=full.dtype))


def _matrix_product(a: _Labelled, b: _Labelled, summed: frozenset[int], keep: int) -> Array:
    a, b = _sum_own(a, summed - b.labels), _sum_own(b, summed - a.labels)
    batch = sorted((a.labels & b.labels) - summed, reverse=True)
    inner = sorted(a.labels & b.labels & summed, reverse=True)
    rows = sorted(a.labels - b.labels, reverse=True)
    columns = sorted(b.labels - a.labels, reverse=True)
    n_batch, n_inner = prod(a.extent(p) for p in batch), prod(a.extent(p) for p in inner)
    left = a.arranged([*batch, *rows, *inner]).reshape(n_batch, -1 if a.array.size else 0, n_inner)
    right = b.arranged([*batch, *inner, *columns]).reshape(n_batch, n_inner, -1 if b.array.size else 0)
    order = [*batch, *rows, *columns]
    sizes = [*(a.extent(p) for p in (*batch, *rows)), *(b.extent(p) for p in columns)]
    if 0 in sizes:
        return _spread(np.zeros(sizes, left.dtype), order, keep)
    return _spread(np.matmul(left, right).reshape(sizes), order, keep)


def _sum_own(a: _Labelled, positions: frozenset[int]) -> _Labelled:
    if not positions & a.labels:
        return a
    axes = tuple(a.array.ndim - p for p in positions & a.labels)
    return _Labelled(np.add.reduce(a.array, axis=axes, dtype=a.array.dtype, keepdims=True))


def _many(arrays: list[_Labelled], summed: frozenset[int], keep: int) -> Array:
    operands: list[Any] = []
    for a in arrays:
        order = sorted(a.labels, reverse=True)
        operands += [a.arranged(order), order]
    kept = sorted(frozenset[int]().union(*(a.labels for a in arrays)) - summed, reverse=True)
    return _spread(np.asarray(np.einsum(*operands, kept, optimize="greedy")), kept, keep)


def _spread(array: Array, positions: Sequence[int], keep: int) -> Array:
    """An array whose axes stand at `positions`, brought to `keep` axes in place."""
    order = sorted(range(len(positions)), key=lambda n: -positions[n])
    shape = [1] * keep
    for p, size in zip(positions, array.shape, strict=True):
        shape[-p] = size
    return array.transpose(order).reshape(shape)
