"""Rows of the CUDA suites: one for each system and cell, timed or failed, and which of them a log already holds.

driver     of the GPU; `device` is the GPU
spread     between the 20th and the 80th percentile of the rounds, over the median
floor_ms   the least time for the cell (see cuda_cells)
error      ‖out − ref‖ / ‖ref‖ against float64
failed     why there is no time: an exception, an error above the cell's limit, elements that were not written
how        whether calls were replayed from a graph, and why not
schedule   of each of our kernels, by its name
peak_mib   of the loss cells: memory beside the inputs, at the peak of a call
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

from bench import log
from bench.cuda_cells import Cell


@dataclass(frozen=True)
class Result:
    """What came out for one system: a time with its spreads, or the reason for none."""

    system: str
    median_ms: float | None = None
    spread_ms: float | None = None
    spread: float | None = None
    error: float | None = None
    failed: str | None = None
    how: str | None = None
    rounds: int | None = None
    iterations: int | None = None
    peak_mib: float | None = None
    schedule: str | None = None


class Machine(Protocol):
    """A GPU with its systems. `measure` times those of one cell in turns; it calls `stage` before what may hang."""

    device: str
    driver: str

    def systems(self, cell: Cell) -> Sequence[str]:
        """The names, with versions, of the systems that compute a cell here; ours first."""
        ...

    def missing(self) -> dict[str, str]:
        """Families that no name was found for so far, and why."""
        ...

    def alive(self) -> bool:
        """Whether the device still answers in this process."""
        ...

    def measure(self, cell: Cell, systems: Sequence[str], stage: Callable[[str, float], None]) -> list[Result]: ...


class DeviceLost(Exception):
    """The device answers no more in this process; `results` holds what there is for the cell."""

    def __init__(self, results: list[Result]) -> None:
        super().__init__(results[0].failed if results else "the device is lost")
        self.results = results


def failed(systems: Iterable[str], why: str) -> list[Result]:
    return [Result(s, failed=" ".join(why.split())[:500]) for s in systems]


def rows(cell: Cell, results: Iterable[Result], machine: Machine, commit: str) -> list[log.Row]:
    """Rows in the log's format, times in ms with four figures."""
    found = []
    for r in results:
        fields = {k: v for k, v in asdict(r).items() if k != "system"}
        for name in ("median_ms", "spread_ms", "spread", "error", "peak_mib"):
            fields[name] = _figures(fields[name])
        late = ("how", "rounds", "iterations", "peak_mib", "schedule", "failed")
        kept = {k: fields.pop(k) for k in late}
        found.append(
            log.row(
                cell.suite,
                cell.program,
                r.system,
                commit=commit,
                device=machine.device,
                driver=machine.driver,
                shape=dict(cell.shape),
                dtype=cell.dtype,
                floor_ms=_figures(cell.floor_ms),
                **fields,
                **{k: v for k, v in kept.items() if v is not None},
            )
        )
    return found


def _figures(x: float | None) -> float | None:
    return None if x is None or x != x else float(f"{x:.4g}")


def done(
    cell: Cell, systems: Collection[str], machine: Machine, commit: str, known: Iterable[log.Row], retry: bool = False
) -> bool:
    """Whether the log has a row for each system, of this device, driver and commit; `retry`: a timed one."""
    found = {
        r["system"]
        for r in known
        if key(r) == cell.key
        and (r.get("device"), r.get("driver"), r.get("commit")) == (machine.device, machine.driver, commit)
        and not (retry and r.get("failed"))
    }
    return set(systems) <= found


def key(row: log.Row) -> tuple[str, ...]:
    """As Cell.key."""
    shape = row.get("shape")
    return (row["suite"], row["program"], json.dumps(shape, sort_keys=True), row.get("dtype") or "")
