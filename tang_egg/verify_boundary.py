"""Sizes and values at which kernels go wrong: sizes around the tiles of their schedules, values at the ends of types.

sizes_of(graph, schedules, threads)     bindings of the symbolic dims: 0, 1, 13, tile - 1, tile, tile + 1
case_inputs(graph, dims, "ties")        arrays; VALUES lists the kinds
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tang_egg.affine import Dim
from tang_egg.errors import InputError
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Input, tensors_of
from tang_egg.ops import FLOATS
from tang_egg.schedule import Schedule
from tang_egg.verify_inputs import coordinate_ranges, nearest, on_grid, sample_inputs

Array = npt.NDArray[Any]

VALUES = ("normal", "edge", "ties", "negative", "small", "ieee")
"""normal: standard normal. edge: of size 10, zeros, -0.0, dead rows of masks, last rows of tables. ties: few distinct
numbers, equal rows and rows of zeros. negative: no number above 0, so that no start of a maximum may be. small: the
smallest normal and denormal numbers among ordinary ones. ieee: infinities and NaN too, for kernels derived for them."""

PLAIN = (1, 13)
"""Sizes that are always tried, where facts allow; and 0."""
MOST = 12
"""Bindings that are tried, unless more are asked for."""
PACKED = 521
"""A size from which on kernels take packed ways, that are not worth it for small ones."""
TAME = {"f16": 3e4, "bf16": 1e30, "f32": 1e30, "f64": 1e300, "f8e4m3": 200.0, "f8e5m2": 3e4}


# ---- sizes ----


def tiles_of(schedules: Iterable[Schedule]) -> list[int]:
    """The extents in which schedules cut loops, ascending: tiles, blocks, tiles of folds, chunks."""
    found: set[int] = set()
    for s in schedules:
        found |= {n for _, n in (*s.tile, *s.block)}
        for _, plan in s.fold:
            found |= {plan.size, plan.lanes, 32 if plan.how == "warp" else 0}
        found |= {s.chunk, 32 if s.warp else 0}
    return sorted(n for n in found if n > 1)


def sizes_of(
    graph: Graph,
    schedules: Iterable[Schedule] = (),
    threads: int = 0,
    wanted: Mapping[str, Sequence[int]] | None = None,
    most: int = MOST,
) -> list[dict[str, int]]:
    """Bindings to try. Dims move together first, then one by one around the largest tile.

    `wanted`: sizes of some dims, all of which are tried. Raises BindError for sizes that the facts of a dim forbid and
    InputError for a dim that the graph does not have.
    """
    dims = graph.dims()
    asked = {k: [int(n) for n in v] for k, v in (wanted or {}).items()}
    _check(dims, asked)
    if not dims:
        return [{}]
    chosen = list(schedules)
    tiles = [n for n in (*tiles_of(chosen), threads) if 1 < n <= 512]
    packed = [PACKED] * any(s.block for s in chosen)
    edges = [0, *PLAIN, *packed, *(n + d for n in sorted(set(tiles))[:4] for d in (1, 0, -1))]
    found = [{d.name: _one(d, asked, size, n) for n, d in enumerate(dims)} for size in edges]
    for d in dims if len(dims) > 1 else ():
        for size in (0, 1, *(n + 1 for n in tiles[-1:])):
            found.append({e.name: _one(e, asked, size if e is d else 7, 0) for e in dims})
    for name, sizes in asked.items():
        for size in sizes:
            found.append({e.name: size if e.name == name else _one(e, asked, 7, 0) for e in dims})
    distinct = [dict(x) for x in dict.fromkeys(tuple(b.items()) for b in found)]
    if asked:
        every = {(k, n) for k, v in asked.items() for n in v}
        distinct.sort(key=lambda b: sum((k, n) in every for k, n in b.items()), reverse=True)
    return distinct[: max(most, sum(map(len, asked.values())))]


def _check(dims: Sequence[Dim], asked: Mapping[str, Sequence[int]]) -> None:
    known = {d.name: d for d in dims}
    for name, sizes in asked.items():
        if name not in known:
            raise InputError(
                f"there is no dimension '{name}'",
                where="verify(..., sizes=...)",
                mend=f"the symbolic dimensions are: {', '.join(known) or 'none'}",
            )
        for size in sizes:
            known[name].check(size)


def _one(d: Dim, asked: Mapping[str, Sequence[int]], wanted: int, n: int) -> int:
    """A size of a dim near the wanted one: those asked for, else the nearest that its facts allow."""
    if d.name in asked:
        return min(asked[d.name], key=lambda size: abs(size - wanted))
    return nearest(d, wanted)


# ---- values ----


def case_inputs(graph: Graph, dims: Mapping[str, int], values: str, seed: int = 0) -> dict[str, Array]:
    """Arrays of a kind for every input, shrunk until no tensor leaves the range of its type."""
    inputs = sample_inputs(graph, dims, edge=values in ("edge", "ieee"), seed=seed)
    rng = np.random.default_rng(seed + 17)
    used = coordinate_ranges(graph, dims)
    for i in graph.inputs:
        inputs[i.name] = _changed(i, inputs[i.name], values, i in used, rng)
    return inputs if values == "ieee" else _tamed(graph, dims, inputs)


def _changed(i: Input, a: Array, values: str, coordinate: bool, rng: np.random.Generator) -> Array:
    if not a.size or i.sorted:
        return a
    if i.dtype in FLOATS:
        made = _floats(i.dtype, a, values, rng)
        return on_grid(made, i.dtype)
    if values == "ties" and i.dtype != "bool" and not coordinate:
        return np.asarray(a % 3).astype(a.dtype)
    if values == "edge" and i.dtype != "bool" and not coordinate and i.dtype in ("i8", "u8", "i16", "u16"):
        info = np.iinfo(a.dtype)  # the ends of small types: signs that are lost show
        flat = a.reshape(-1)
        flat[rng.random(flat.size) < 0.3] = info.min
        flat[rng.random(flat.size) < 0.3] = info.max
    return a


def _floats(dtype: str, a: Array, values: str, rng: np.random.Generator) -> Array:
    flat = a.reshape(-1)
    if values == "ties":
        flat[...] = rng.integers(-1, 3, flat.size)
        if a.ndim and a.shape[0] > 1:
            a[0] = a[-1]
            a[a.shape[0] // 2] = 0.0
    elif values == "negative":
        flat[...] = -np.abs(flat) - flat.dtype.type(0.125)
    elif values == "small":
        tiny = {"f16": (6e-5, 6e-8), "f64": (2.3e-308, 5e-324)}.get(dtype, (1.2e-38, 9.2e-41))
        flat[rng.random(flat.size) < 0.2] = tiny[0]
        flat[rng.random(flat.size) < 0.2] = -tiny[1]
    elif values == "ieee":
        for special in (np.inf, -np.inf, np.nan):
            flat[rng.random(flat.size) < 0.04] = special
        if a.ndim and a.shape[0] > 1:
            a[0] = -np.inf
    return a


def _tamed(graph: Graph, dims: Mapping[str, int], inputs: dict[str, Array]) -> dict[str, Array]:
    """Long products overflow on values of size 10; that says nothing of a kernel."""
    order = tensors_of(graph.outputs)
    watched = Graph(graph.name, graph.inputs, tuple(order))
    reals = [t for t in order if t.dtype in TAME]
    for _ in range(8):
        found = interpret(watched, inputs, dims, checked=False)
        if all(_largest(found[t.name]) < TAME[t.dtype] for t in reals):
            break
        inputs = {k: v * v.dtype.type(0.25) if v.dtype.kind == "f" else v for k, v in inputs.items()}
    return inputs


def _largest(a: Array) -> float:
    finite = np.abs(a[np.isfinite(a)])
    return float(finite.max()) if finite.size else 0.0
