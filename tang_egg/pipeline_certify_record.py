"""The selection certificate of a search: what was known of every kernel when it ended, and what follows for all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from tang_egg import run_toolchain as toolchain
from tang_egg.errors import TangError
from tang_egg.extract.certify import Budget, Outcome, idle
from tang_egg.extract.certify_ledger import Ledger
from tang_egg.extract.certify_record import (
    ChosenRecord,
    Counts,
    KernelRecord,
    RefusedSchedule,
    SelectionCertificate,
    TimedSchedule,
    WindowRecord,
)
from tang_egg.extract.select import in_order
from tang_egg.extract.space import BLOCKS, FIXED, LANES, LEAST, NUMBERS, OFFERED
from tang_egg.pipeline_compiled import Extraction
from tang_egg.pipeline_floors import GridOffers
from tang_egg.pipeline_space import Target, target_name
from tang_egg.text import print_graph

SLOW_LANES = "slow"
"""What a certificate says of a device whose threads exchange values through memory."""


def certificate_of_outcome(
    extraction: Extraction, target: Target, budget: Budget, outcome: Outcome, seconds: float
) -> SelectionCertificate:
    """What a search found out, as data."""
    kernels = tuple(_kernel_record(x) for x in outcome.ledgers)
    back = idle(outcome.problem, outcome.ledgers)
    windows = tuple(_window_record(outcome, n, len(back[n])) for n in range(len(outcome.bounds)))
    noise = sum(
        b.window.copies * outcome.ledgers[k].timed[best].spread
        for b in outcome.bounds if b.upper for c in b.upper.taken for k in b.window.runs[c]
        if (best := outcome.ledgers[k].best()) is not None
    )  # fmt: skip
    try:
        graph = print_graph(extraction.graph)
    except TangError:  # a graph without a text form: the certificate is checked against the graph that is given
        graph = ""
    machine = (("device", target_name(target)), *_machine(target))
    return SelectionCertificate(
        graph, target.name, extraction.values, tuple(sorted(target.sizes.items())), target.threads, target.device,
        machine, _version(), datetime.now(UTC).isoformat(timespec="seconds"), outcome.cache, budget.seconds,
        budget.gap, space_text(target), kernels, windows, counted(outcome, back), outcome.total, outcome.bound,
        outcome.others(), noise, outcome.stopped, seconds, all(k.proves for k in kernels), violations(outcome.ledgers),
    )  # fmt: skip


def _kernel_record(x: Ledger) -> KernelRecord:
    k = x.kernel
    low = min(k.floors, key=lambda f: f.seconds)
    timed = tuple(TimedSchedule(n, str(k.schedules[n]), t.median, t.spread, t.runs) for n, t in sorted(x.timed.items()))
    refused = tuple(RefusedSchedule(n, str(k.schedules[n]), r.kind, r.why) for n, r in sorted(x.refused.items()))
    return KernelRecord(
        k.key,
        len(k.schedules),
        low.seconds,
        low.binding,
        all(f.proves for f in k.floors),
        k.deep,
        timed,
        refused,
        tuple(sorted(x.final)),
    )


def _window_record(outcome: Outcome, n: int, back: int) -> WindowRecord:
    b = outcome.bounds[n]
    chosen = []
    for c in in_order(b.window.candidates, b.upper.taken) if b.upper else ():
        own = [outcome.ledgers[k] for k in b.window.runs[c]]
        places = tuple(x.best() or 0 for x in own)
        texts = tuple(str(x.kernel.schedules[p]) for x, p in zip(own, places, strict=True))
        keys, cost = tuple(x.kernel.key for x in own), sum(x.measured for x in own)
        chosen.append(ChosenRecord(b.window.names[c], keys, places, texts, cost))
    upper = b.upper.seconds if b.upper else math.inf
    return WindowRecord(b.window.copies, len(b.window.candidates), back, tuple(chosen), upper, b.lower.seconds)


def counted(outcome: Outcome, back: Sequence[set[int]]) -> Counts:
    """What became of the schedules of a space."""
    rows = ((c not in back[n], runs) for n, b in enumerate(outcome.bounds) for c, runs in enumerate(b.window.runs))
    active = {k for stands, runs in rows if stands for k in runs}
    unsure = {k for b in outcome.bounds if b.gap > 0 for c in b.lower.taken for k in b.window.runs[c]}
    closed = all(outcome.ledgers[k].settled for k in unsure)
    timed = refused = deferred = pruned = open_ = 0
    for n, x in enumerate(outcome.ledgers):
        timed, refused = timed + len(x.timed), refused + len(x.refused)
        for s in x.left():
            if n not in active:
                deferred += 1
            elif closed or x.kernel.floors[s].seconds >= x.least:
                pruned += 1
            else:
                open_ += 1
    return Counts(outcome.problem.size, timed, outcome.known, refused, deferred, pruned, open_)


def violations(ledgers: Sequence[Ledger]) -> tuple[str, ...]:
    """Measured times below their floors: the floor is wrong, or the measurement is."""
    return tuple(
        f"kernel {x.kernel.key} under {x.kernel.schedules[n]}: {t.median:.3g} s measured, floor {f.seconds:.3g} s"
        for x in ledgers
        for n, t in sorted(x.timed.items())
        if t.median + t.spread / 2 < (f := x.kernel.floors[n]).seconds
    )


def space_text(target: Target) -> tuple[str, ...]:
    """The declared space in words."""
    lines = [
        "candidates: every term that extract/terms keeps for a class, alone and with one or two others over one grid",
        "schedules: every proposal of the code generator, and from the first one of each shape all combinations of",
    ]
    for shape, v in LEAST.items():
        parts = [f"tile {' '.join(map(str, v.tile))}"] if v.tile else []
        parts += [f"fold {' '.join(map(str, v.fold))}"] if v.fold else []
        parts += ["staged or not"] if v.stages else []
        parts += ["past the caches or not"] if "store" in OFFERED.get(shape, ()) else []
        lines += [f"  {shape}: {', '.join(parts)}"] if parts else []
    numbers = ", ".join(f"{name} {' '.join(map(str, values))}" for name, values in NUMBERS.items())
    lines += [
        f"and one field at a time: {numbers}, block {' '.join(map(str, BLOCKS))}, lanes {' '.join(map(str, LANES))},",
        f"  loops in every rotation, fewer in the grid, names of other fields or none; fixed: {', '.join(FIXED)}",
    ]
    return (*lines, f"execution: kernel after kernel, caches {target.cache}")


def _machine(target: Target) -> tuple[tuple[str, str], ...]:
    if isinstance(target.offers, GridOffers):
        return (("lanes", "fast" if target.offers.lanes else SLOW_LANES),)
    if target.name != "c":
        return ()
    try:
        found = toolchain.identity()
    except TangError:
        return ()
    return (("compiler", f"{found.compiler}, {found.version}"), ("flags", found.flags), ("machine", found.machine))


def _version() -> str:
    try:
        return version("tang_egg")
    except PackageNotFoundError:
        return "source tree"
