"""Kernels under sanitizers, where these exist; what does not is named.

C        AddressSanitizer and UndefinedBehaviorSanitizer, then ThreadSanitizer: the printed kernels as a program of
         their own (verify_shim), so that nothing need be preloaded into Python
OpenCL   Oclgrind: the printed kernels in a process of their own (verify_oclgrind)
CUDA     compute-sanitizer: `tang-verify` of the same graph runs under it
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tang_egg import run_toolchain as toolchain
from tang_egg.errors import TargetError
from tang_egg.ir import Graph
from tang_egg.run_command import finish, start
from tang_egg.verify_boundary import case_inputs
from tang_egg.verify_finding import Finding
from tang_egg.verify_kernel import Case, stored
from tang_egg.verify_oclgrind import oclgrind_runs
from tang_egg.verify_shim import PRAGMA, arrays_of, case_file, harness, threaded
from tang_egg.verify_step import GridSteps, HostSteps, Steps

SECONDS = 120.0
"""Seconds for one program under a sanitizer."""
_PLAIN = (
    "-g",
    "-O1",
    "-std=gnu11",
    "-march=native",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-strict-overflow",
    "-w",
)
TOOLS = {
    "AddressSanitizer and UndefinedBehaviorSanitizer": ("-fsanitize=address,undefined", "-fno-omit-frame-pointer"),
    "ThreadSanitizer": ("-fsanitize=thread", "-pthread"),
}
"""Flags of GCC and clang by tool."""
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1",
    "UBSAN_OPTIONS": "print_stacktrace=0",
    "TSAN_OPTIONS": "halt_on_error=0:report_thread_leaks=0",
}
_REPORT = re.compile(
    r"(?P<asan>ERROR: AddressSanitizer: [^\n]*)|(?P<tsan>WARNING: ThreadSanitizer: [^\n(]*)"
    r"|(?P<ubsan>runtime error: [^\n]*)"
)
_RACE_PLACE = re.compile(r"Location is heap block of size \d+ at (0x[0-9a-f]+)")
_REGION = re.compile(r"(\d+)-byte region \[(0x[0-9a-f]+),")
_OFFSET = re.compile(r"is located (\d+) bytes (to the right of|to the left of|after|before|inside of)")
_ACCESS = re.compile(r"(READ|WRITE) of size (\d+)")
_MEMCHECK = ("--tool", "memcheck", "--report-api-errors", "no")
"""Of accesses alone: bindings ask a driver for functions that it lacks, which is no fault of a kernel."""
WRAPPERS = {
    "cuda": ("compute-sanitizer", (*_MEMCHECK, "--error-exitcode", "9"), "install the CUDA toolkit"),
}
"""Tools that run a whole process, their options, and where they come from."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a tool was run on, and how many things it reported."""

    tool: str
    target: str
    runs: int
    reports: int

    def __str__(self) -> str:
        return f"{self.tool} on {self.target}: {self.runs} runs, {self.reports or 'no'} reports"


Sanitized: TypeAlias = "tuple[list[Said], list[Finding], list[str]]"
"""What sanitizers were run, what they found, and what could not be done."""


def sanitize_program(
    steps: Steps, graph: Graph, cases: Sequence[Case], target: str, schedules: Mapping[str, Any]
) -> Sanitized:
    """The sanitizers of kernels that run one at a time."""
    if isinstance(steps, HostSteps):
        return _host(steps, graph, cases, schedules)
    if isinstance(steps, GridSteps) and steps.grid.name == "opencl":
        runs, found, missing = oclgrind_runs(steps, graph, cases, schedules)
        return [Said("oclgrind", "opencl", runs, len(found))] if runs else [], found, missing
    return sanitize_whole(graph, target, cases)


# ---- C ----


def _host(steps: HostSteps, graph: Graph, cases: Sequence[Case], schedules: Mapping[str, Any]) -> Sanitized:
    said: list[Said] = []
    found: list[Finding] = []
    missing: list[str] = []
    with tempfile.TemporaryDirectory(prefix="tang-sanitize-") as name:
        folder = Path(name)
        for tool, flags in TOOLS.items():
            if tool == "ThreadSanitizer" and not PRAGMA.search(steps.source):
                missing.append("ThreadSanitizer: no kernel has a parallel loop under these schedules")
                continue
            text = threaded(steps.source) if tool == "ThreadSanitizer" else steps.source
            try:
                program = _built(harness(text, steps.kernels), flags, folder)
            except TargetError as error:
                missing.append(f"{tool}: {error.what} ({error.where})")
                continue
            reports = [f for case in cases for f in _run_case(program, folder, steps, graph, case, tool, schedules)]
            said.append(Said(tool, "c", len(cases), len(reports)))
            found += reports
    first: dict[tuple[str, str, str], Finding] = {}
    for f in found:
        first.setdefault((f.kernel, f.buffer, f.said), f)
    return said, list(first.values()), missing


def _built(text: str, flags: Sequence[str], folder: Path) -> Path:
    """The program of a source. Raises TargetError where the compiler or its sanitizer's library is missing."""
    source, program = folder / "kernels.c", folder / f"kernels{len(list(folder.iterdir()))}"
    source.write_text(text)
    tool = toolchain.compiler()
    process = start([*tool.command, *_PLAIN, *flags, str(source), "-o", str(program), "-lm"])
    _, errors = finish(process)
    if process.returncode or not program.exists():
        raise TargetError(
            "it is not available: the kernels do not build with it",
            where=toolchain.first_errors(errors)[:300],
            mend="install the sanitizer's library (libasan, libubsan, libtsan) beside the compiler",
        )
    return program


def _run_case(
    program: Path, folder: Path, steps: HostSteps, graph: Graph, case: Case, tool: str, schedules: Mapping[str, Any]
) -> list[Finding]:
    inputs = case_inputs(graph, case.dims, case.values)
    values = {i.name: stored(np.asarray(inputs[i.name]), i.dtype) for i in graph.inputs}
    given = folder / "case.bin"
    given.write_bytes(case_file(steps.kernels, values, case.dims))
    command = [str(program), str(given)]
    if tool == "ThreadSanitizer" and shutil.which("setarch"):
        command = ["setarch", os.uname().machine, "-R", *command]  # it knows only some layouts of memory
    try:
        ran = subprocess.run(command, capture_output=True, env={**os.environ, **OPTIONS}, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return [Finding("sanitizer", "c", "", "", f"{tool}: the program did not end within {SECONDS:.0f} s")]
    text = ran.stderr.decode("utf-8", "replace")
    found = read_reports(text, steps, case, schedules)
    if not found and ran.returncode:
        kernel = _kernel_at(text, len(text), steps)
        lines = [x for x in text.splitlines() if not x.startswith("te-")]
        said = f"{tool}: the program ended with status {ran.returncode}: {' | '.join(lines[:3])}"
        found = [Finding("sanitizer", "c", kernel, "", said, str(schedules.get(kernel, "")), case.dims, case.values)]
    return found


def read_reports(text: str, steps: Steps, case: Case, schedules: Mapping[str, Any]) -> list[Finding]:
    """The reports in what a program under a sanitizer wrote, each with its kernel and array."""
    names = {int(n): s.name for n, s in enumerate(arrays_of(steps.kernels))}
    starts = {m[2]: names[int(m[1])] for m in re.finditer(r"te-array (\d+) (0x[0-9a-f]+)", text)}
    marks = list(_REPORT.finditer(text))
    found: list[Finding] = []
    for n, m in enumerate(marks):
        part = text[m.start() : marks[n + 1].start() if n + 1 < len(marks) else len(text)]
        kernel = _kernel_at(text, m.start(), steps)
        region, race = _REGION.search(part), _RACE_PLACE.search(part)
        place = (
            starts.get(region[2], "its workspace") if region else starts.get(race[1], "its workspace") if race else ""
        )
        said = " ".join(m[0].replace("WARNING: ", "").replace("ERROR: ", "").split())
        said = re.sub(r" on address .*| on unknown address .*| \(pid=.*", "", said)
        access, offset = _ACCESS.search(part), _OFFSET.search(part)
        if access and not m["ubsan"]:
            said += f", {access[1].lower()} of {access[2]} bytes"
        if offset and region:
            side = "in front of" if offset[2] in ("to the left of", "before") else "behind"
            said += f" {offset[1]} bytes {'inside' if offset[2] == 'inside of' else side} '{place}'"
        found.append(
            Finding("sanitizer", "c", kernel, place, said, str(schedules.get(kernel, "")), case.dims, case.values)
        )
    return found


def _kernel_at(text: str, place: int, steps: Steps) -> str:
    """The kernel that was called last before a place of the text."""
    called = re.findall(r"te-kernel (\d+)", text[:place])
    return steps.kernels[int(called[-1])].plan.name if called else ""


# ---- tools around a whole process ----


def sanitize_whole(graph: Graph, target: str, cases: Sequence[Case]) -> Sanitized:
    """The tool that runs a whole verification of a target, where there is one."""
    from tang_egg.text import print_graph

    if target not in WRAPPERS:
        return [], [], [f"no sanitizer for '{target}'; bands and fills were checked"]
    tool, options, source = WRAPPERS[target]
    if shutil.which(tool) is None:
        return [], [], [f"{tool} is not installed ({source}); bands and fills were checked"]
    with tempfile.TemporaryDirectory(prefix="tang-sanitize-") as name:
        file = Path(name, "graph.tang")
        file.write_text(print_graph(graph), encoding="utf-8")
        sizes = [f"--sizes={k}={v}" for k, v in cases[-1].dims.items()]
        command = [tool, *options, sys.executable, "-m", "tang_egg.cli_verify", str(file), "--target", target, *sizes]
        process = start(command)
        try:
            out, errors = finish(process, SECONDS * 5)
        except TargetError:
            return [], [], [f"{tool} did not end within {SECONDS * 5:.0f} s; bind smaller dimensions"]
    return wrapped_reports(tool, target, out + errors, process.returncode)


def wrapped_reports(tool: str, target: str, text: str, status: int | None) -> Sanitized:
    """What compute-sanitizer wrote about a run, as findings."""
    found: list[Finding] = []
    for m in re.finditer(r"(Invalid (?:read|write)[^\n]*|[^\n]*[Dd]ata race[^\n]*|Uninitiali[sz]ed[^\n]*)", text):
        kernel = re.search(r"(?:Kernel: |at .*? in )(\w+)|\bin (k\d+_\w+)", text[m.start() : m.start() + 800])
        name = re.sub(r"^k\d+_", "", (kernel[1] or kernel[2])) if kernel else ""
        found.append(Finding("sanitizer", target, name, "", f"{tool}: {' '.join(m[0].split())}"))
    if status and not found:
        last = [x for x in text.splitlines() if x.strip()][-3:]
        return [], [], [f"{tool} ended with status {status}: {' | '.join(last)[:300]}"]
    return [Said(tool, target, 1, len(found))], found, []
