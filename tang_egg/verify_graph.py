"""`tang_egg.verify(graph, target="c")`: derives, builds and runs a graph's kernels one by one, and says what is wrong.

    report = te.verify(graph, target=("c", "opencl"), sizes={"n": (1, 64)}, dtypes=("f32", "bf16"))
    report.ok; print(report); report.write("report.json")

Symbolic dims are tried at 0, 1, 13 and around the tiles of the schedules (verify_boundary); values are normal ones,
those at the ends of types, ties, and with values="ieee" infinities and NaN. What is found says which kernel and buffer,
where, and is tried again at smaller sizes until it is gone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tang_egg.errors import BindError, GraphError, InputError, TargetError, VerificationError
from tang_egg.files import replacing
from tang_egg.ir import Graph, Input, Source, Tensor, tensors_of
from tang_egg.pipeline import choose_schedules, extract_for
from tang_egg.saturate import Limits
from tang_egg.schedule import Schedule
from tang_egg.targets import target as target_named
from tang_egg.verify import verify as verify_whole
from tang_egg.verify_boundary import VALUES, sizes_of
from tang_egg.verify_finding import Finding
from tang_egg.verify_inputs import nearest
from tang_egg.verify_kernel import Case, run_case
from tang_egg.verify_sanitize import Said, Sanitized, sanitize_program, sanitize_whole
from tang_egg.verify_step import Edit, Steps, steps_of
from tang_egg.windows import replace_sources

REALS = ("f32", "f16", "bf16")
ENOUGH = 3
"""Cases of one target that may fail before the others are left out."""
TRIES = 40
"""Sizes that are tried to make a failing case smaller."""


@dataclass(slots=True)
class Part:
    """What was done on one target for one element type."""

    target: str
    dtype: str
    schedules: dict[str, str] = field(default_factory=dict)
    cases: int = 0
    kernels: int = 0
    worst: float = 0.0
    skipped: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Report:
    """A verification: what was run, what is wrong (`findings`), what sanitizers said, and what could not be done."""

    graph: str
    parts: list[Part] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    sanitizers: list[Said] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether something was run and nothing is wrong."""
        return not self.findings and bool(self.parts)

    def data(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "graph": self.graph, "ok": self.ok, "seconds": round(self.seconds, 3),
            "parts": [{n: getattr(p, n) for n in p.__slots__} for p in self.parts],
            "findings": [f.data() for f in self.findings],
            "sanitizers": [{n: getattr(s, n) for n in s.__slots__} for s in self.sanitizers],
            "missing": self.missing,
        }  # fmt: skip

    def json(self) -> str:
        """Everything as JSON."""
        return json.dumps(self.data(), indent=1, allow_nan=False) + "\n"

    def write(self, path: str | Path) -> None:
        """Writes the JSON; the file is complete or not there. Raises OSError where it cannot be written."""
        with replacing(Path(path)) as file:
            file.write(self.json().encode())

    def __str__(self) -> str:
        lines = [f"graph '{self.graph}': {'nothing is wrong' if self.ok else self._count()}, {self.seconds:.1f} s"]
        for p in self.parts:
            kind = f" with {p.dtype}" if p.dtype else ""
            lines.append(
                f"  {p.target}{kind}: {p.kernels} runs of kernels in {p.cases} cases, "
                f"largest error {p.worst:.2g} of what is allowed"
            )
            lines += [f"    not compared, too large: {name}" for name in p.skipped]
        lines += [f"  {s}" for s in self.sanitizers]
        lines += [f"  not done: {text}" for text in self.missing]
        return "\n".join([*lines, *(str(f) for f in self.findings)])

    def _count(self) -> str:
        n = len(self.findings)
        return f"{n} thing{'s are' if n > 1 else ' is'} wrong" if n else "nothing was run"


def verify_graph(
    graph: Graph,
    target: str | Sequence[str] = "c",
    *,
    sizes: Mapping[str, int | Sequence[int]] | None = None,
    dtypes: Sequence[str] | None = None,
    schedule: Mapping[str, Schedule | str] | None = None,
    values: str = "finite",
    sanitize: bool = False,
    seed: int = 0,
    limits: Limits | None = None,
    edit: Edit | None = None,
    shrink: bool = True,
    on_case: Callable[[str, Case], None] | None = None,
) -> Report:
    """Verifies the kernels of a graph on one or several targets, kernel by kernel.

    `sizes`: of symbolic dims, those that are tried; others are chosen. `dtypes`: the graph is verified with its f32
    inputs and results in these types, one after another ("f32" as it stands). `schedule`: forced ones, as in optimize.
    `values="ieee"` tries infinities and NaN, on kernels derived for them. `sanitize`: kernels are also run under the
    tools that are there. `shrink`: sizes at which something is wrong are made smaller. `edit`
    changes printed sources, to see whether a bug would be found.

    Raises TargetError for a target that cannot be used, and what optimize raises for the graph and for schedules.
    """
    start = time.perf_counter()
    _check_asked(graph, values, seed)
    report = Report(graph.name)
    wanted = _wanted(sizes)
    for name in (target,) if isinstance(target, str) else tuple(target):
        for kind in dtypes or ("",):
            one = retyped(graph, kind) if kind else graph
            _verify_one(
                one, name, kind, wanted, schedule, values, sanitize, seed, limits, edit, shrink, on_case, report
            )
    report.seconds = time.perf_counter() - start
    return report


def _check_asked(graph: object, values: object, seed: object) -> None:
    if not isinstance(graph, Graph):
        raise GraphError(
            f"a value of type {type(graph).__name__} is no graph", where="verify", mend="make one by te.graph(...)"
        )
    if values not in ("finite", "ieee"):
        raise GraphError(f"no values '{values}'", where="verify", mend="use 'finite' or 'ieee'")
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise GraphError(f"a seed of {seed!r}", where="verify", mend="give a whole number from 0")


def _wanted(sizes: object) -> dict[str, tuple[int, ...]]:
    """Sizes to try by dim. Raises BindError for what is no whole number, or several of them."""
    if sizes is not None and not isinstance(sizes, Mapping):
        raise _no_sizes(f"sizes is a value of type {type(sizes).__name__}")
    found: dict[str, tuple[int, ...]] = {}
    for name, given in (sizes or {}).items():
        several = isinstance(given, Sequence) and not isinstance(given, str)
        tried = tuple(given) if several else (given,)
        if not tried or not all(isinstance(n, int) and not isinstance(n, bool) for n in tried):
            raise _no_sizes(f"dimension '{name}' cannot be tried at {given!r}")
        found[name] = tried
    return found


def _no_sizes(what: str) -> BindError:
    return BindError(what, where="verify(..., sizes=...)", mend="give whole numbers by name: sizes={'n': (1, 64)}")


def _verify_one(
    graph: Graph, name: str, kind: str, wanted: Mapping[str, Sequence[int]],
    schedule: Mapping[str, Schedule | str] | None, values: str, sanitize: bool, seed: int, limits: Limits | None,
    edit: Edit | None, shrink: bool, on_case: Callable[[str, Case], None] | None, report: Report,
) -> None:  # fmt: skip
    on = target_named(name, "verify")
    device = on.open()
    program = extract_for(name, graph, replace(limits or Limits(), values=values)).program
    chosen = choose_schedules(program, name, schedule, exact=values == "ieee", units=on.units(device))
    part = Part(name, kind, {k: str(s) for k, s in chosen.items()})
    report.parts.append(part)
    threads = int(getattr(device, "threads", 0) or 0)
    cases = [
        Case(dims, v) for dims in sizes_of(graph, chosen.values(), threads, wanted) for v in VALUES
        if v != "ieee" or values == "ieee"
    ]  # fmt: skip
    try:
        steps = steps_of(program, chosen, name, device, edit)
    except TargetError as error:
        if edit is not None:
            raise
        report.missing.append(f"{name}: {error.what}; whole runs were compared")
        _whole(graph, program, on.compile(program, chosen, device), chosen, name, part, report)
        if sanitize:
            _note(report, sanitize_whole(graph, name, _few(cases)))
        return
    found = _cases(steps, graph, cases, chosen, name, part, seed, shrink, on_case)
    report.findings += [replace(f, dtype=kind) for f in found]
    if sanitize:
        _note(report, sanitize_program(steps, graph, _few(cases), name, chosen))


def _note(report: Report, sanitized: Sanitized) -> None:
    said, wrong, missing = sanitized
    report.sanitizers += said
    report.findings += wrong
    report.missing += missing


def _few(cases: Sequence[Case]) -> list[Case]:
    """Cases for slow tools: normal values at every size, and values at the ends of types at the largest."""
    normal = [c for c in cases if c.values == "normal"]
    edge = [c for c in cases if c.values == "edge"]
    return [*normal, *sorted(edge, key=lambda c: sum(c.dims.values()))[-1:]]


def _cases(
    steps: Steps, graph: Graph, cases: Sequence[Case], chosen: Mapping[str, Schedule], target: str, part: Part,
    seed: int, shrink: bool, on_case: Callable[[str, Case], None] | None,
) -> list[Finding]:  # fmt: skip
    """What is wrong in some cases: each kernel and buffer once, with the smallest sizes."""
    found: dict[tuple[str, str, str], Finding] = {}
    failed = 0
    for case in cases:
        if on_case is not None:
            on_case(target, case)
        checked = run_case(steps, graph, case, chosen, target, seed)
        part.cases += 1
        part.kernels += checked.kernels
        part.worst = max(part.worst, checked.worst)
        part.skipped += [s for s in checked.skipped if s not in part.skipped]
        for f in checked.findings:
            found.setdefault((f.kind, f.kernel, f.buffer), f)
        failed += bool(checked.findings)
        if failed >= ENOUGH or any(f.kind == "failed" for f in checked.findings):
            break
    return [_smaller(steps, graph, f, chosen, seed) if shrink else f for f in found.values()]


def _smaller(steps: Steps, graph: Graph, f: Finding, chosen: Mapping[str, Schedule], seed: int) -> Finding:
    """The finding with the smallest sizes at which it is still there: each dim in turn takes the first that fails."""
    if not f.dims or f.kind == "failed":
        return f
    sizes, best, tries = dict(f.dims), f, 0
    for d in graph.dims():
        ladder = dict.fromkeys(nearest(d, n) for n in (*range(18), 31, 32, 33, 47, 63, 64, 65, 100, 127, 128, 129))
        for size in [n for n in ladder if n < sizes[d.name]]:
            if tries >= TRIES:
                break
            tries += 1
            again = run_case(steps, graph, Case({**sizes, d.name: size}, f.values), chosen, f.target, seed).findings
            same = [g for g in again if (g.kind, g.kernel, g.buffer) == (f.kind, f.kernel, f.buffer)]
            if same:
                best, sizes = same[0], {**sizes, d.name: size}
                break
    return replace(f, smallest=dict(best.dims))


def _whole(
    graph: Graph, program: Any, runner: Any, chosen: Mapping[str, Schedule], target: str, part: Part, report: Report
) -> None:
    """Compares whole runs; the first wrong kernel is found over what it read on the device."""
    try:
        found = verify_whole(graph, program, runner, chosen)
        part.cases, part.kernels = found.runs, found.runs * len(program.kernels)
    except VerificationError as error:
        kernel = next((k.name for k in program.kernels if f"kernel '{k.name}'" in str(error.where)), "")
        output = next((t.name for t in graph.outputs if f"'{t.name}'" in error.what), "")
        said = f"{error.what}; {error.where}"
        kind = "wrong" if kernel else "derivation"
        report.findings.append(Finding(kind, target, kernel, output, said, str(chosen.get(kernel, ""))))


def retyped(graph: Graph, dtype: str) -> Graph:
    """The graph with f32 inputs and f32 tensors stored in another type. Raises InputError for another type."""
    if dtype not in REALS:
        raise InputError(
            f"a graph cannot be verified with inputs of {dtype!r}",
            where="verify(..., dtypes=...)",
            mend=f"give some of: {', '.join(REALS)}",
        )
    if dtype == "f32":
        return graph
    made: dict[Source, Source] = {i: replace(i, dtype=dtype) if i.dtype == "f32" else i for i in graph.inputs}
    for t in tensors_of(graph.outputs):
        body = replace_sources(t.body, lambda s: made.get(s, s))
        made[t] = Tensor(t.name, t.axes, body, dtype if t.dtype == "f32" else t.dtype, t.into)
    inputs = tuple(made[i] for i in graph.inputs)
    outputs = tuple(made[t] for t in graph.outputs)
    return Graph(
        graph.name, tuple(i for i in inputs if isinstance(i, Input)), tuple(t for t in outputs if isinstance(t, Tensor))
    )
