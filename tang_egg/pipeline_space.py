"""The space of an extraction on a target: every candidate of every distinct window, declared schedules, floors."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from tang_egg.affine import Affine
from tang_egg.cost.device import Device, DeviceError
from tang_egg.cost.roofline import Costs
from tang_egg.egraph import ClassId
from tang_egg.errors import BindError, InputError, TargetError
from tang_egg.extract.assemble import WindowResult
from tang_egg.extract.select import Candidate, offered, solve
from tang_egg.extract.space import (
    Floors,
    Guesses,
    Offers,
    Problem,
    SpaceKernel,
    WindowSpace,
    declared,
    dominators,
    key_of,
    written,
)
from tang_egg.ir import Graph, Reduce, Scan, Tensor, walk
from tang_egg.pipeline_compiled import Extraction
from tang_egg.pipeline_floors import ONE_CORE, CpuOffers, DeviceOffers, GridOffers, ModelGuesses, TimeFloors
from tang_egg.probe_store import constants
from tang_egg.progress import note
from tang_egg.run import threads
from tang_egg.run_arrays import check_names
from tang_egg.run_vectors import vectors

TYPICAL = 128
"""The size at which a symbolic dim is measured, as far as its facts allow."""
GRIDS: Mapping[str, str] = {"opencl": "opencl", "wgsl": "wgsl", "glsl": "wgsl", "metal": ""}
"""Targets of plain threads, and under which target the constants of their devices are stored; "" has no probes."""
CACHES = ("warm", "cold")
"""The states of caches that a certificate can speak of."""


@dataclass(slots=True)
class Target:
    """What a search needs of a target. `sizes`: of symbolic dims."""

    name: str
    offers: Offers
    floors: Floors
    guesses: Guesses
    device: str
    cache: str
    threads: int
    sizes: Mapping[str, int] = field(default_factory=dict)


def typical_sizes(graph: Graph) -> dict[str, int]:
    """A size for each symbolic dim: about TYPICAL, within its facts."""
    found = {}
    for d in graph.dims():
        size = max(d.lo, TYPICAL if d.hi is None else min(TYPICAL, d.hi))
        up = size + -size % d.multiple
        found[d.name] = up if d.hi is None or up <= d.hi else size - size % d.multiple
    return found


def checked_sizes(graph: Graph, sizes: Mapping[str, int] | None, cache: str) -> dict[str, int]:
    """The sizes at which kernels are timed: those that are given, typical ones for the rest.

    Raises InputError for an unknown state of the caches, BindError for unknown dims and sizes that do not fit.
    """
    if cache not in CACHES:
        raise InputError(
            f"no state of the caches '{cache}'", where="cache=", mend="use 'warm' (buffers are used again) or 'cold'"
        )
    if sizes is not None and not isinstance(sizes, Mapping):
        raise BindError(
            f"sizes is a value of type {type(sizes).__name__}", where="sizes=", mend="give sizes by name: {'n': 128}"
        )
    given = dict(sizes or {})
    check_names(given, (d.name for d in graph.dims()), "dimension", "sizes=", BindError)
    for d in graph.dims():
        if d.name in given:
            d.check(given[d.name])
    return {**typical_sizes(graph), **given}


def target_of(
    name: str, sizes: Mapping[str, int], cache: str = "warm", *, exact: bool = False, team: int = 0
) -> Target:
    """The target of a search on this machine. `exact`: infinities and NaN have to come through.

    Raises TargetError where no constants of a device of the target are known.
    """
    device = known_constants(name)
    if name in GRIDS:
        floors = TimeFloors(device, None, sizes, cache)
        return Target(name, GridOffers(not exact), floors, ModelGuesses(device, sizes), _json(device), cache, 1, sizes)
    if name != "c":
        floors = TimeFloors(device, None, sizes, cache)
        return Target(
            name, DeviceOffers(not exact), floors, ModelGuesses(device, sizes), _json(device), cache, 1, sizes
        )
    team = team or threads()
    core = constants(ONE_CORE) if team > 1 else None
    floors = TimeFloors(device, core, sizes, cache)
    guesses = ModelGuesses(device, sizes)
    return Target(name, CpuOffers(team, vectors()), floors, guesses, _json(device, core), cache, team, sizes)


def known_constants(name: str) -> Device:
    """The constants of a target: measured, or a shipped estimate. Raises TargetError where there are neither."""
    try:
        return constants(GRIDS.get(name, name))
    except DeviceError:
        probed = GRIDS.get(name, "")
        raise TargetError(
            f"no constants of a device are known for '{name}', so that a search has no floors",
            where="optimize(..., seconds=...) or certify",
            mend=f"measure them once: tang-doctor --probe --target {probed}"
            if probed
            else f"leave seconds and gap away: there are no probes of '{name}'",
        ) from None


def problem_of(extraction: Extraction, target: Target) -> Problem:
    """The whole space of an extraction: every candidate of every distinct window, and all declared schedules."""
    table: dict[tuple[Tensor, ...], int] = {}
    kernels: list[SpaceKernel] = []
    spaces: list[WindowSpace] = []
    for result in extraction.distinct:
        copies = sum(r is result for _, _, r in extraction.windows)
        found = _candidates(result)
        runs: list[tuple[int, ...]] = []
        for n, k in enumerate(found):
            note("floors", n, len(found))
            own = []
            for outputs in target.offers.parts(written(result, k)):
                if outputs not in table:
                    table[outputs] = len(kernels)
                    kernels.append(space_kernel(outputs, target, result.terms.costs))
                own.append(table[outputs])
            runs.append(tuple(own))
        shared = next(c for _, c, r in extraction.windows if r is result)
        known = dict(zip((t.name for t in shared.tensors), (t.name for t in shared.originals), strict=True))
        spaces.append(_window_space(result, found, runs, copies, known))
    return Problem(tuple(kernels), tuple(spaces))


def _candidates(result: WindowResult) -> list[Candidate]:
    """All candidates in an order that does not depend on how the e-graph was walked; equal ones once."""
    outputs = _outputs(result)
    found = offered(result.terms, outputs, result.terms.costs, every=True)
    distinct = {(k.writes, k.terms): k for k in found}
    return list(distinct.values())


def _outputs(result: WindowResult) -> tuple[ClassId, ...]:
    encoding, roots = result.terms.saturation.encoding, result.terms.saturation.snapshot.roots
    return tuple(dict.fromkeys(roots[encoding.terms[encoding.named[t].body]] for t in result.roots))


def _window_space(
    result: WindowResult, found: list[Candidate], runs: list[tuple[int, ...]], copies: int, known: Mapping[str, str]
) -> WindowSpace:
    behind, outputs = dominators(found), _outputs(result)
    place = {(k.writes, k.terms): n for n, k in enumerate(found)}
    chosen = [place.get((k.writes, k.terms)) for k in result.selection.chosen]
    picked = [n for n in chosen if n is not None]
    if len(picked) < len(chosen):  # a kernel that writes less than it could is none of the candidates
        picked = solve(found, outputs, [math.inf if behind[n] else k.estimate.seconds for n, k in enumerate(found)])

    def word(c: ClassId) -> str:
        name = result.terms.names.get(c, "")
        return known.get(name, name or f"class {c.number}")

    words = tuple(", ".join(map(word, k.writes)) for k in found)
    return WindowSpace(tuple(found), outputs, copies, tuple(runs), behind, tuple(picked), words)


def space_kernel(outputs: tuple[Tensor, ...], target: Target, costs: Costs) -> SpaceKernel:
    """A kernel with its declared schedules, the floor of each, and one rough guess for all."""
    schedules = declared(target.offers.schedules(outputs), sizes_of(outputs, target.sizes))
    floors = tuple(target.floors.seconds(outputs, s) for s in schedules)
    rough = costs.kernel(tuple(t.body for t in outputs), tuple(t.axes for t in outputs)).seconds
    guesses = tuple(rough * (1 + 0.01 * n) for n in range(len(schedules)))
    return SpaceKernel(key_of(outputs), outputs, schedules, floors, guesses, sharp=False)


def sizes_of(outputs: tuple[Tensor, ...], sizes: Mapping[str, int]) -> dict[str, int]:
    """The sizes of all indices of some tensors, by name."""

    def size(form: Affine) -> int:
        return int(form.evaluate({d.name: sizes[d.name] for d in form.dims()}))

    found = {i.name: size(i.size) for t in outputs for i in t.axes}
    for s in walk(*(t.body for t in outputs)):
        bound = s.indices if isinstance(s, Reduce) else (s.index,) if isinstance(s, Scan) else ()
        found |= {i.name: size(i.size) for i in bound}
    return found


def target_name(target: Target) -> str:
    """The name of the device behind a target."""
    floors = target.floors
    return floors.device.name if isinstance(floors, TimeFloors) else target.name


def _json(*devices: Device | None) -> str:
    """The constants behind floors, as the certificate keeps them."""
    return json.dumps([d.data() for d in devices if d is not None])
