"""Which hardware counters `python -m bench counters` asks Nsight Compute for, and how its answers are read.

A line of the table has several names where versions of Nsight Compute differ; the first one with a value is shown. All
values are kept in base units: nanoseconds, bytes, hertz, percent.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

BUSY = "avg.pct_of_peak_sustained_active"
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
REASONS = (
    "gmma", "barrier", "long_scoreboard", "short_scoreboard", "math_pipe_throttle", "mio_throttle", "wait", "sleeping",
    "no_instruction", "branch_resolving", "dispatch_stall", "not_selected", "selected",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table: its title with the unit, names in order of preference, and what a value is divided by."""

    title: str
    names: tuple[str, ...]
    by: float = 1.0


LINES = (
    Line("time, us", ("gpu__time_duration.sum",), 1e3),
    Line("cycles", ("sm__cycles_elapsed.max", "sm__cycles_elapsed.avg")),
    Line("SM clock, GHz", ("smsp__cycles_elapsed.avg.per_second", "sm__cycles_elapsed.avg.per_second"), 1e9),
    Line("SM active, cycles", ("sm__cycles_active.avg",)),
    Line("tensor pipe, %", (f"sm__pipe_tensor_cycles_active.{BUSY}", f"sm__inst_executed_pipe_tensor.{BUSY}")),
    Line("tensor pipe as hmma, %", (f"sm__pipe_tensor_op_hmma_cycles_active.{BUSY}",)),
    Line("tensor pipe of all time, %", ("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",)),
    Line("wgmma instructions", ("sm__inst_executed_pipe_tensor_op_gmma.sum",)),
    Line("XU pipe (ex2, rcp), %", (f"sm__inst_executed_pipe_xu.{BUSY}",)),
    Line("FMA pipe, %", (f"sm__pipe_fma_cycles_active.{BUSY}", f"sm__inst_executed_pipe_fma.{BUSY}")),
    Line("ALU pipe, %", (f"sm__pipe_alu_cycles_active.{BUSY}", f"sm__inst_executed_pipe_alu.{BUSY}")),
    Line("uniform pipe, %", (f"sm__inst_executed_pipe_uniform.{BUSY}",)),
    Line("LSU pipe, %", (f"sm__inst_executed_pipe_lsu.{BUSY}",)),
    Line("issue slots, %", (f"sm__inst_issued.{BUSY}", f"sm__issue_active.{BUSY}", f"smsp__issue_active.{BUSY}")),
    Line("instructions", ("sm__inst_executed.sum", "smsp__inst_executed.sum")),
    *(Line(f"stall {r}, warps", (STALL.format(r),)) for r in REASONS),
    Line("L2 hits, %", ("lts__t_sector_hit_rate.pct",)),
    Line("L2 to SM, MB", ("l1tex__m_xbar2l1tex_read_bytes.sum",), 1e6),
    Line("L2 busy, %", ("lts__throughput.avg.pct_of_peak_sustained_elapsed",)),
    Line("DRAM read, MB", ("dram__bytes_read.sum", "dram__bytes_op_read.sum"), 1e6),
    Line("DRAM written, MB", ("dram__bytes_write.sum", "dram__bytes_op_write.sum"), 1e6),
    Line("bank conflicts", ("l1tex__data_bank_conflicts_pipe_lsu.sum",)),
    Line("registers at launch", ("launch__registers_per_thread",)),
    Line("shared memory, KiB", ("launch__shared_mem_per_block_dynamic", "launch__shared_mem_per_block"), 1024),
    Line("blocks", ("launch__grid_size",)),
    Line("warps active", ("sm__warps_active.avg.per_cycle_active",)),
)
METRICS = tuple(dict.fromkeys(n for line in LINES for n in line.names))
LEAST = ("gpu__time_duration.sum", "sm__cycles_elapsed.max", "launch__registers_per_thread")
"""What is still asked for where nothing else works."""

_SECONDS = {"n": 1.0, "u": 1e3, "m": 1e6, "": 1e9}
_PREFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


@dataclass(frozen=True, slots=True)
class Kernel:
    """The values of one launch by metric, in base units."""

    name: str
    values: Mapping[str, float]


def base(metric: str) -> str:
    """The part of a name that lists of metrics have: before the first dot."""
    return metric.partition(".")[0]


def known(listing: str, wanted: Sequence[str]) -> tuple[str, ...]:
    """Those of `wanted` that a listing by `ncu --query-metrics` has; all where it cannot be what was asked for.

    Names of launches and stalls stay: versions differ in where they list them.
    """
    names = set(re.findall(r"^\s*([a-z0-9]+__\w+)", listing, re.MULTILINE))
    listed = [m for m in wanted if base(m) in names]
    if "gpu__time_duration" not in names or 3 * len(listed) < len(wanted):
        return tuple(wanted)
    return tuple(m for m in wanted if m in listed or m.startswith("launch__") or "_stalled_" in m)


def refused(text: str, wanted: Iterable[str]) -> tuple[str, ...]:
    """The metrics that an error or warning of Nsight Compute speaks of."""
    complaints = "\n".join(
        line.replace("\\", "") for line in text.splitlines() if re.match(r"==(ERROR|WARNING)==", line.strip())
    )
    spoken = set(re.findall(r"[a-z0-9]+__\w+", complaints))
    return tuple(m for m in wanted if base(m) in spoken)


def kernels(text: str) -> list[Kernel]:
    """The launches in what `ncu --csv` prints: one column per metric, or one row per launch and metric."""
    rows = list(csv.reader(io.StringIO("\n".join(x for x in text.splitlines() if x.startswith('"')))))
    start = next((n for n, r in enumerate(rows) if "ID" in r and "Kernel Name" in r), None)
    if start is None:
        return []
    header, body = rows[start], rows[start + 1 :]
    body = [r for r in body if len(r) == len(header) and r != header]
    return _long(header, body) if "Metric Name" in header else _wide(header, body)


def _wide(header: list[str], body: list[list[str]]) -> list[Kernel]:
    units = body[0] if body and not body[0][header.index("ID")] else [""] * len(header)
    found = []
    for r in body:
        if not r[header.index("ID")]:
            continue
        values = {h: _number(x, u) for h, x, u in zip(header, r, units, strict=True) if "__" in h}
        found.append(Kernel(r[header.index("Kernel Name")], {k: v for k, v in values.items() if v is not None}))
    return found


def _long(header: list[str], body: list[list[str]]) -> list[Kernel]:
    found: dict[tuple[str, str], dict[str, float]] = {}
    for r in body:
        of = dict(zip(header, r, strict=True))
        values = found.setdefault((of["ID"], of["Kernel Name"]), {})
        value = _number(of["Metric Value"], of.get("Metric Unit", ""))
        if value is not None:
            values[of["Metric Name"]] = value
    return [Kernel(name, values) for (_, name), values in found.items()]


def _number(text: str, unit: str) -> float | None:
    """A value in base units; None for what is no number, such as n/a."""
    try:
        return float(text.replace(",", "")) * _scale(unit)
    except ValueError:
        return None


def _scale(unit: str) -> float:
    if found := re.fullmatch(r"([num]?)s(?:ec(?:ond)?)?s?", unit):
        return _SECONDS[found[1]]
    if found := re.fullmatch(r"([kmgt]?)(?:byte|hz)s?(?:/block)?", unit.lower()):
        return _PREFIXES[found[1]]
    if found := re.fullmatch(r"cycles?/([num]?)s(?:ec(?:ond)?)?", unit):
        return 1e9 / _SECONDS[found[1]]
    return 1.0


def shown(values: Mapping[str, float], left_out: Collection[str] = ()) -> dict[str, float]:
    """The lines of the table that have a value, by title."""
    found = {}
    for line in LINES:
        name = next((n for n in line.names if n in values and n not in left_out), None)
        if name is not None:
            found[line.title] = values[name] / line.by
    return found
