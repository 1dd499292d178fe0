"""Sizes and arrays to try a graph on: normal values and edge values, integers that stay inside what they index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tang_egg.affine import Affine, Dim
from tang_egg.errors import BindError
from tang_egg.ir import Graph, Input, Read, Scalar, tensors_of, walk
from tang_egg.ops import FLOATS, INTEGERS
from tang_egg.ops_eight import EIGHT, bits_of, numbers_of

Array = npt.NDArray[Any]

SIZES = (1, 13, 67)
"""Values tried for a symbolic dim, as far as its facts allow."""


def dim_choices(graph: Graph) -> list[dict[str, int]]:
    """Bindings of the symbolic dims to try: each at the small sizes of SIZES that its facts allow."""
    dims = graph.dims()
    if not dims:
        return [{}]
    choices = [{d.name: nearest(d, size + n) for n, d in enumerate(dims)} for size in SIZES]
    return [dict(c) for c in dict.fromkeys(tuple(c.items()) for c in choices)]


def nearest(d: Dim, wanted: int) -> int:
    """The size nearest to the wanted one, from above where possible, that fits the facts of a dim."""
    size = max(wanted, d.lo)
    size += -size % d.multiple
    if d.hi is not None and size > d.hi:
        size = d.hi - d.hi % d.multiple
    try:
        d.check(size)
    except BindError:
        return d.lo
    return size


def sample_inputs(graph: Graph, dims: Mapping[str, int], *, edge: bool, seed: int = 0) -> dict[str, Array]:
    """Arrays for every input; integers used as coordinates stay inside what they index."""
    rng = np.random.default_rng(seed + edge)
    ranges = coordinate_ranges(graph, dims)
    return {
        i.name: _sample(i, tuple(s.evaluate(dims) for s in i.shape), ranges.get(i), rng, edge) for i in graph.inputs
    }


def _sample(i: Input, shape: tuple[int, ...], extent: int | None, rng: np.random.Generator, edge: bool) -> Any:
    if i.dtype in FLOATS:
        values = rng.standard_normal(shape)
        if edge and values.size:
            values *= 10.0
            flat = values.reshape(-1)
            flat[rng.integers(0, flat.size, max(1, flat.size // 8))] = 0.0
            flat[0] = -0.0
        made = values.astype({"f64": np.float64, "f16": np.float16}.get(i.dtype, np.float32))
        return on_grid(made, i.dtype)
    if i.dtype == "bool":
        live = rng.random(shape) < 0.7
        if edge and live.ndim and live.shape[0]:
            live[0] = False
        return live
    kind: np.dtype[Any] = np.dtype({"i": "int", "u": "uint"}[i.dtype[0]] + i.dtype[1:])
    info = np.iinfo(kind)
    low, high = (0, extent) if extent is not None else (max(info.min, -50), min(info.max, 50) + 1)
    values_int = rng.integers(low, max(high, low + 1), shape).astype(kind)
    if edge and values_int.size:
        values_int.reshape(-1)[:: max(1, values_int.size - 1)] = max(high - 1, low)
    return np.sort(values_int, axis=-1) if i.sorted else values_int


def on_grid(a: Array, dtype: str) -> Array:
    """Values that a storage type holds exactly: singles for the types that NumPy has not."""
    if dtype in EIGHT:
        return np.asarray(numbers_of(bits_of(a, dtype), dtype), np.float32)
    return np.asarray(on_bf16_grid(a)) if dtype == "bf16" else a


def on_bf16_grid(a: Any) -> Any:
    """Singles whose lower half is dropped, so that bf16 holds them exactly."""
    return (np.ascontiguousarray(a).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def coordinate_ranges(graph: Graph, dims: Mapping[str, int]) -> dict[Input, int]:
    """For integer inputs inside gathered coordinates: the smallest extent that they index."""
    found: dict[Input, int] = {}
    for t in tensors_of(graph.outputs):
        for s in walk(t.body):
            if not isinstance(s, Read):
                continue
            for c, extent in zip(s.coordinates, s.source.shape, strict=True):
                if isinstance(c, Affine):
                    continue
                assert isinstance(c, Scalar)
                for x in walk(c, into_tensors=True):
                    if isinstance(x, Read) and isinstance(x.source, Input) and x.source.dtype in INTEGERS:
                        size = extent.evaluate(dims)
                        found[x.source] = min(found.get(x.source, size), size)
    return found
