"""The worker of `python -m bench cpu`: makes the systems of an operator ready, checks them, times them in turns."""

from __future__ import annotations

import argparse
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tang_egg as te
from bench import log
from bench.cpu_ceilings import Ceilings, measured
from bench.cpu_peers import Peer, first_line, installed
from bench.cpu_programs import OPERATORS, Arrays, Operator
from bench.cpu_rows import CEILINGS, LIMIT, OURS, SUITE, code, dtype, left, own
from bench.cpu_timing import Turns, fields, samples
from bench.cpu_worker import mark
from tang_egg.run import threads


@dataclass(slots=True)
class System:
    """A system made ready for one operator: its call and the fields of its row so far, or why it failed."""

    name: str
    call: Callable[[], Any] | None = None
    fields: dict[str, Any] = field(default_factory=dict)


def work(given: argparse.Namespace, marker: Path) -> int:
    """Measures what is left and appends the rows of each operator; the exit status."""
    peers, missing = ([], {}) if given.ours_only else installed(given.peers)
    for name, why in missing.items():
        print(f"missing: {name}: {why}", flush=True)
    turns = Turns(given.patience)
    ceilings: Ceilings | None = None
    for operator in [OPERATORS[name] for name in given.ops or OPERATORS]:
        offering = [p for p in peers if p.offers(operator)]
        systems = [*own(given.schedule, given.search), *(p.system() for p in offering)]
        rows = [] if given.force else log.read(given.log)
        wanted = left(rows, operator, systems, given.retry)
        if not wanted:
            print(f"done before: {operator.name}", flush=True)
            continue
        if ceilings is None:
            mark(marker, program=CEILINGS, system="this machine", code=code())
            ceilings = measured(turns)
            log.append([_ceilings_row(ceilings)], given.log)
        found = measure(operator, [p for p in offering if p.system() in wanted], given, ceilings, turns, marker)
        log.append(found, given.log)
        print(line(operator, found), flush=True)
    return 0


def _ceilings_row(ceilings: Ceilings) -> log.Row:
    return log.row(SUITE, CEILINGS, "this machine", **ceilings.fields(), threads=threads(), code=code())


def measure(
    operator: Operator, peers: Sequence[Peer], given: argparse.Namespace, ceilings: Ceilings, turns: Turns, marker: Path
) -> list[log.Row]:
    """A row for each system of an operator."""
    arrays = operator.arguments()
    reference = operator.reference(arrays)
    moved = operator.bytes(arrays, reference)
    least, bound = ceilings.seconds(operator.work(), moved, 4 * reference.size)
    shared = {
        "shape": dict(operator.sizes), "dtype": dtype(operator), "kind": operator.kind, "bound": bound,
        "flops": operator.work(), "bytes": moved, "ceiling_ms": float(f"{1e3 * least:.4g}"), "code": code(),
        "threads": threads(),
    }  # fmt: skip

    def marked(name: str) -> None:
        mark(marker, program=operator.name, system=name, **shared)

    marked(own(given.schedule, given.search)[0])
    systems = ours(operator, arrays, reference, given)
    for peer in peers:
        marked(peer.system())
        systems.append(_ready(peer, operator, arrays, reference, given.setup))
    running = {s.name: s.call for s in systems if s.call is not None}
    found = samples(running, given.rounds, given.seconds, turns)
    others = round(turns.share(), 3)
    return [
        log.row(SUITE, operator.name, s.name, **shared, **s.fields, **fields(found.get(s.name)), foreign=others)
        for s in systems
    ]


def ours(operator: Operator, arrays: Arrays, reference: NDArray[Any], given: argparse.Namespace) -> list[System]:
    """Our program on bound arrays with its outputs at hand, and by a plain call with its weights bound."""
    start, names = time.perf_counter(), own(given.schedule, given.search)
    try:
        graph = operator.graph()
        forced = dict(text.split("=", 1) for text in given.schedule)
        chunk = None if given.search is not None else operator.chunk
        compiled = te.optimize(graph, verified=False, schedule=forced or None, seconds=given.search, chunk=chunk)
        inputs = [i.name for i in graph.inputs]
        named: dict[str, Any] = dict(zip(inputs, arrays, strict=True))
        split = len(inputs) - operator.constants
        bound = compiled.bind(**{n: named[n] for n in inputs[split:]})
        varying = arrays[:split]
        direct = _prepared(bound, dict(zip(inputs[:split], varying, strict=True)))
        fields: dict[str, Any] = {
            "schedule": "; ".join(f"{k}: {s}" for k, s in compiled.schedule.items()),
            "kernels": len(compiled.schedule),
        }
        took = round(time.perf_counter() - start, 2)
        return [
            _checked(names[0], *direct, reference, fields | {"setup_s": took}),
            _checked(names[1], lambda: bound(*varying), np.asarray, reference, {"setup_s": took}),
        ]
    except Exception as failure:  # a row too: the operators after it are measured all the same
        return [System(name, fields={"failed": _said(failure)}) for name in names]


def _prepared(compiled: te.Compiled, named: dict[str, Any]) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """A call on bound arrays, of which nothing is checked or allocated any more; and its result."""
    (output,) = compiled.graph.outputs
    prepared: Any = compiled.prepare(**named)
    return prepared, lambda _: prepared.outputs[output.name]


def _ready(peer: Peer, operator: Operator, arrays: Arrays, reference: NDArray[Any], limit: int) -> System:
    start = time.perf_counter()
    try:
        with limited(limit):
            call, result = peer.prepare(operator, arrays, threads())
            call()
        fields = {"setup_s": round(time.perf_counter() - start, 2)}
        return _checked(peer.system(), call, result, reference, fields)
    except Exception as failure:  # whatever a peer may raise
        return System(peer.system(), fields={"failed": _said(failure)})


def _checked(
    name: str, call: Callable[[], Any], result: Callable[[Any], Any], reference: NDArray[Any], fields: dict[str, Any]
) -> System:
    """A system whose result was compared with the reference."""
    found = np.asarray(result(call()), np.float64).reshape(reference.shape)
    with np.errstate(invalid="ignore", over="ignore"):
        error = float(np.abs(found - reference).max() / np.abs(reference).max()) if reference.size else 0.0
    if not np.isfinite(error):
        return System(name, fields=fields | {"failed": "the result is not finite"})
    approximate = {"approximate": True} if error > LIMIT else {}
    return System(name, call, fields | {"error": float(f"{error:.2e}")} | approximate)


def _said(failure: Exception) -> str:
    return f"{type(failure).__name__}: {first_line(failure)}"


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raises TimeoutError in the block when so many seconds are over."""

    def over(number: int, frame: object) -> None:
        raise TimeoutError(f"setup took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def line(operator: Operator, rows: Sequence[log.Row]) -> str:
    """One line: milliseconds of each system, and the best peer over ours."""
    cells = []
    for r in rows:
        name = r["system"].replace(f"tang_egg {te.__version__} c", "ours")
        ms = r.get("median_ms")
        mark = "~" if r.get("approximate") else "*" if r.get("once") else ""
        cells.append(f"{name} {r['failed'][:60] if r.get('failed') else f'{ms:.3g}{mark}'}")
    times = {r["system"]: r["median_ms"] for r in rows if r.get("median_ms") and not r.get("approximate")}
    mine = [t for name, t in times.items() if name.startswith(OURS)]
    peers = [t for name, t in times.items() if not name.startswith(OURS)]
    ratio = f"{min(peers) / mine[0]:.2f}" if peers and mine else "-"
    return f"{operator.name:20} {ratio:>6}  {'; '.join(cells)}"
