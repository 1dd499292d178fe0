"""Checks a selection certificate without the search: the space is listed anew from the graph, floors are computed anew.

What a check can know: the space is the declared one; every floor is what the recorded constants give; what was chosen
writes all outputs and costs what it says; no choice of the space costs less than the bound, shown by weak duality in
exact arithmetic. What it cannot know: whether the recorded times were measured. They are taken as they are, as far as
no floor contradicts them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass

from tang_egg.cost.device import Device, DeviceError, device_of
from tang_egg.errors import TangError
from tang_egg.extract.certify import Bounds, Outcome
from tang_egg.extract.certify_bound import no_choice_below
from tang_egg.extract.certify_choice import Choice, costs
from tang_egg.extract.certify_ledger import REFUSALS, Ledger, Refused, Timed
from tang_egg.extract.certify_record import CertificateError, KernelRecord, SelectionCertificate, WindowRecord
from tang_egg.extract.select import in_order
from tang_egg.extract.space import Problem, SpaceKernel, WindowSpace
from tang_egg.ir import Graph, Tensor
from tang_egg.pipeline_certify_record import SLOW_LANES, violations
from tang_egg.pipeline_compiled import Extraction
from tang_egg.pipeline_floors import CpuOffers, DeviceOffers, GridOffers, TimeFloors
from tang_egg.pipeline_space import GRIDS, Target, problem_of
from tang_egg.program import single_program
from tang_egg.run import print_program
from tang_egg.schedule import Schedule
from tang_egg.text import parse_graph, print_graph

CLOSE = 1e-7
"""The relative error up to which recorded and recomputed seconds are the same."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found: what was listed anew, and how the bound was shown. `branches`: of the proof, per window."""

    kernels: int
    schedules: int
    candidates: int
    branches: tuple[int, ...]

    def __str__(self) -> str:
        nodes = ", ".join(map(str, self.branches))
        return (
            f"the selection certificate holds: {self.candidates} candidates of {self.kernels} kernels with "
            f"{self.schedules} schedules listed anew, floors recomputed, the bound shown by duality ({nodes} branches)"
        )


class NoGuesses:
    """No order of schedules: a check times nothing."""

    def seconds(self, outputs: tuple[Tensor, ...], schedule: Schedule) -> float:
        return 0.0


def check(
    certificate: SelectionCertificate, extract: Callable[[Graph, str, str], Extraction], graph: Graph | None = None
) -> Checked:
    """What checking a certificate found. `extract`: saturates a graph for a target with some values.

    Raises CertificateError for the first thing that does not hold.
    """
    own = _graph(certificate, graph)
    target = _target(certificate, own)
    extraction = extract(own, certificate.target, certificate.values)
    problem = problem_of(extraction, target)
    ledgers = _ledgers(certificate, problem)
    if len(problem.windows) != len(certificate.windows):
        known = f"{len(certificate.windows)}, and the graph has {len(problem.windows)}"
        raise _wrong("its space has another number of windows", known)
    bounds, branches = [], []
    for n, (record, window) in enumerate(zip(certificate.windows, problem.windows, strict=True)):
        found, nodes = _window(n, record, window, ledgers)
        bounds.append(found)
        branches.append(nodes)
    outcome = Outcome(problem, ledgers, bounds, certificate.stopped, certificate.seconds, certificate.cache)
    for name, said, true in (
        ("total", certificate.total, outcome.total), ("bound", certificate.bound, outcome.bound),
        ("others", certificate.others, outcome.others()),
    ):  # fmt: skip
        if not _same(said, true):
            raise _wrong(f"{name} is not what the kernels give", f"{said:.6g} s, and it is {true:.6g} s")
    if certificate.violations != violations(ledgers):
        raise _wrong("times below a floor that it does not tell", "; ".join(violations(ledgers)) or "there are none")
    if certificate.proves != all(f.proves for x in ledgers for f in x.kernel.floors):
        raise _wrong("it says wrongly whether its constants were measured", f"proves: {certificate.proves}")
    return Checked(len(problem.kernels), problem.size, sum(len(w.candidates) for w in problem.windows), tuple(branches))


def _graph(c: SelectionCertificate, given: Graph | None) -> Graph:
    """The graph of the certificate, which must be the given one."""
    if given is not None and c.graph and print_graph(given) != c.graph:
        raise _wrong("it speaks of another graph", f"graph '{given.name}'", "give the graph that was optimized")
    if given is not None:
        return given
    if not c.graph:
        raise _wrong("it does not hold its graph", "graph", "give the graph: tang-certify FILE GRAPH")
    try:
        return parse_graph(c.graph, file="the certificate")
    except TangError as error:
        raise _wrong(f"its graph cannot be read: {error.what}", error.where) from None


def _target(c: SelectionCertificate, graph: Graph) -> Target:
    """The target as the certificate describes it; nothing of this machine takes part."""
    sizes = dict(c.sizes)
    if sorted(sizes) != sorted(d.name for d in graph.dims()):
        raise _wrong("its sizes are not those of the graph's dims", ", ".join(sizes) or "none")
    if c.target == "c":
        return Target("c", CpuOffers(c.threads), _floors(c), NoGuesses(), c.device, c.cache, c.threads, sizes)
    if c.target == "cuda":
        offers = DeviceOffers(c.values != "ieee")
        return Target("cuda", offers, _floors(c), NoGuesses(), c.device, c.cache, c.threads, sizes)
    if c.target in GRIDS:
        fast = dict(c.machine).get("lanes") != SLOW_LANES
        return Target(c.target, GridOffers(fast), _floors(c), NoGuesses(), c.device, c.cache, c.threads, sizes)
    raise _wrong(f"there is no target '{c.target}'", "target")


def _floors(c: SelectionCertificate) -> TimeFloors:
    devices = _devices(c.device)
    return TimeFloors(devices[0], devices[1] if len(devices) > 1 else None, dict(c.sizes), c.cache)


def _devices(text: str) -> list[Device]:
    try:
        found = json.loads(text)
        if not isinstance(found, list) or not 1 <= len(found) <= 2:
            raise ValueError("one or two devices are expected")
        return [device_of(x) for x in found]
    except (ValueError, RecursionError, DeviceError) as error:
        said = error.what if isinstance(error, DeviceError) else str(error)
        raise _wrong(f"the constants of its device cannot be read: {said}", "device") from None


def _ledgers(c: SelectionCertificate, problem: Problem) -> list[Ledger]:
    """What the certificate knows of every kernel of the space, checked against the space."""
    records = {r.key: r for r in c.kernels}
    if len(records) != len(c.kernels):
        raise _wrong("it lists a kernel twice", f"{len(c.kernels)} kernels")
    own = {k.key for k in problem.kernels}
    if own != records.keys():
        missing, unknown = len(own - records.keys()), len(records.keys() - own)
        raise _wrong("its space is not the declared one", f"{missing} kernels are missing, {unknown} are unknown")
    floors = _floors(c)
    return [_ledger(records[k.key], k.deepened(floors) if records[k.key].deep else k) for k in problem.kernels]


def _ledger(r: KernelRecord, k: SpaceKernel) -> Ledger:
    where = f"kernel {r.key}"
    if r.schedules != len(k.schedules):
        raise _wrong(
            "its space is not the declared one", f"{where}: {r.schedules} schedules, declared {len(k.schedules)}"
        )
    if not _same(r.floor, k.floor):
        raise _wrong("a floor is not what its constants give", f"{where}: {r.floor:.6g} s, and it is {k.floor:.6g} s")
    x = Ledger(k)
    places = [(t.place, t.schedule) for t in r.timed] + [(f.place, f.schedule) for f in r.refused]
    for place, text in places:
        if place >= len(k.schedules) or str(k.schedules[place]) != text:
            raise _wrong("a schedule is not that of its place", f"{where}, place {place}: {text}")
    if len({p for p, _ in places}) < len(places):
        raise _wrong("a schedule is listed twice", where)
    for t in r.timed:
        if not (0 < t.median < math.inf and t.spread < math.inf and t.runs > 0):
            raise _wrong("a time makes no sense", f"{where}: {t.schedule}: {t.median} s in {t.runs} runs")
        x.timed[t.place] = Timed(t.median, t.spread, t.runs)
    x.final = frozenset(r.final)
    if not x.final <= x.timed.keys():
        raise _wrong("it compares schedules that were not timed", f"{where}: places {sorted(x.final - x.timed.keys())}")
    for f in r.refused:
        if f.kind not in REFUSALS:
            raise _wrong(f"no schedule is refused as '{f.kind}'", f"{where}: {f.schedule}")
        if f.kind == "lowering" and _lowers(k, f.place):
            raise _wrong("a schedule was refused that has a lowering", f"{where}: {f.schedule}")
        x.refused[f.place] = Refused(f.kind, f.why)
    return x


def _lowers(k: SpaceKernel, place: int) -> bool:
    try:
        print_program(single_program(k.outputs), {"kernel": k.schedules[place]})
    except TangError:
        return False
    return True


def _window(n: int, r: WindowRecord, w: WindowSpace, ledgers: list[Ledger]) -> tuple[Bounds, int]:
    """The bounds of a window as recorded, after both were checked; and the branches of the proof."""
    where = f"window {n + 1}"
    if r.copies != w.copies or r.candidates != len(w.candidates):
        raise _wrong(
            "its space is not the declared one",
            f"{where}: {r.candidates} candidates {r.copies} times, declared {len(w.candidates)} {w.copies} times",
        )
    least = costs(w, [x.cost for x in ledgers])
    proof = no_choice_below(w.candidates, w.outputs, least, r.lower * (1 - CLOSE)) if r.lower < math.inf else None
    if proof is None or not proof.holds:
        known = "" if proof is None else f", and a choice may take {proof.known:.6g} s"
        raise _wrong("its bound does not hold", f"{where}: {r.lower:.6g} s{known}")
    if not r.chosen:
        if r.upper < math.inf:
            raise _wrong("it names no kernels for its time", where)
        return Bounds(w, Choice((), r.lower)), proof.nodes
    taken, seconds = _taken(where, r, w, ledgers)
    if not _same(seconds, r.upper):
        raise _wrong(
            "what was chosen does not take what it says", f"{where}: {r.upper:.6g} s, and it is {seconds:.6g} s"
        )
    return Bounds(w, Choice((), r.lower), Choice(taken, seconds)), proof.nodes


def _taken(where: str, r: WindowRecord, w: WindowSpace, ledgers: list[Ledger]) -> tuple[tuple[int, ...], float]:
    """The positions of what was chosen, and what it takes as measured."""
    taken: list[int] = []
    seconds = 0.0
    for k in r.chosen:
        fitting = [
            c for c, runs in enumerate(w.runs)
            if w.names[c] == k.writes and tuple(ledgers[x].kernel.key for x in runs) == k.kernels and c not in taken
        ]  # fmt: skip
        if not fitting:
            raise _wrong("a chosen kernel is none of the candidates", f"{where}: {k.writes}")
        taken.append(fitting[0])
        own = [ledgers[x] for x in w.runs[fitting[0]]]
        if len(k.places) != len(own) or any(x.best() != p for x, p in zip(own, k.places, strict=True)):
            raise _wrong("a chosen schedule is not the fastest that was measured", f"{where}: {k.writes}")
        seconds += sum(x.measured for x in own)
    written = {c for n in taken for c in w.candidates[n].writes}
    if not written.issuperset(w.outputs) or len(in_order(w.candidates, taken)) < len(taken):
        raise _wrong("what was chosen does not compute all outputs", where)
    return tuple(taken), seconds


def _same(a: float, b: float) -> bool:
    return a == b or (a < math.inf and b < math.inf and abs(a - b) <= CLOSE * max(abs(a), abs(b)) + 1e-15)


def _wrong(what: str, where: str, mend: str = "search anew: te.optimize(graph, seconds=…)") -> CertificateError:
    return CertificateError(f"the selection certificate does not hold: {what}", where=where, mend=mend)
