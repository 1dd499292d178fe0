"""Printed OpenCL under Oclgrind: seeded races, accesses outside, divergent barriers are reported, sound kernels not."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

import pytest

import tang_egg as te
import tang_egg.verify_oclgrind as oclgrind
from tang_egg.monoid import SUM
from tang_egg.pipeline import choose_schedules, extract_for
from tang_egg.saturate import Limits
from tang_egg.targets import target
from tang_egg.verify_graph import verify_graph
from tang_egg.verify_kernel import Case
from tang_egg.verify_step import Edit, GridSteps, steps_of
from tests.mutate import Seeded
from tests.rows_gather import segments
from tests.seeded_bugs import LANES, PLANE, POINT, PROGRAMS

WARP = f"{LANES} warp=i1"
RACE = """te-launch 1 0

Read-write data race at local memory address 0x1000000000040
\tKernel: k0_P
\t
\tFirst entity:  Global(16,0,0) Local(16,0,0) Group(0,0,0)
\t  store float %x, float addrspace(3)* %arrayidx, align 4, !dbg !173, !tbaa !174
\tAt line 178 (column 1) of input.cl:
\t  TE_SHUFFLE(float, f32)
\t
\tSecond entity: Global(0,0,0) Local(0,0,0) Group(0,0,0)
\t  %1 = load float, float addrspace(3)* %arrayidx2, align 4, !dbg !173, !tbaa !174
\tAt line 178 (column 1) of input.cl:
\t  TE_SHUFFLE(float, f32)
\t

"""
DIVERGENT = """Work-group divergence detected (barrier)
\tKernel:     k0_P
\tWork-group: (0,0,0)
\tOnly 18 out of 64 work-items executed barrier
\t  tail call spir_func void @_Z7barrierj(i32 noundef 1) #13, !dbg !71
\tAt line 197 (column 36) of input.cl:
\t  acc[0] = 0.0f; if (i0 % 2) barrier(CLK_LOCAL_MEM_FENCE);
\t

"""
OUTSIDE = """Invalid read of size 4 at global memory address 0x{:x}
\tKernel: k0_P
\tEntity: Global(36,0,0) Local(36,0,0) Group(0,0,0)
\t  %0 = load float, float addrspace(1)* %arrayidx17, align 4, !dbg !86, !tbaa !75
\tAt line 199 (column 41) of input.cl:
\t  acc[0] = te_max_f32(acc[0], X[70*i0 + i1]);
\t

"""
STOPPED = """OCLGRIND FATAL ERROR (./src/plugins/Uninitialized.cpp:1805)
Unsupported instruction: freeze
\tKernel: k0_P
\tEntity: Global(0,0,0) Local(0,0,0) Group(0,0,0)
\t  %point.0.frozen = freeze i32 %point.0
\tDebugging information not available.
\t
\t

"""


def steps(program: str, schedule: str, edit: Edit | None = None) -> tuple[GridSteps, te.Graph, dict[str, Any]]:
    """The kernels of a program on the device of OpenCL."""
    pytest.importorskip("pyopencl")
    graph = PROGRAMS[program]()
    derived = extract_for("opencl", graph, Limits()).program
    chosen = choose_schedules(derived, "opencl", {graph.outputs[0].name: schedule})
    made = steps_of(derived, chosen, "opencl", target("opencl").open(), edit)
    assert isinstance(made, GridSteps)
    return made, graph, chosen


needs_oclgrind = pytest.mark.skipif(shutil.which("oclgrind") is None, reason="apt-get install oclgrind")


def test_what_oclgrind_wrote_becomes_findings() -> None:
    kernels, _, chosen = steps("softmax", WARP)
    cases = [Case({"n": 3}, "normal"), Case({"n": 37}, "edge")]
    places = [(1 << 48) + 4 * 70 * 3, (4 << 48) + 8, (9 << 48) + 4]  # X of the first case, P of the second, behind all
    text = RACE + RACE.replace("40\n\tK", "44\n\tK") + DIVERGENT + STOPPED + "".join(map(OUTSIDE.format, places))
    found = oclgrind.reports_of(text, kernels, cases, chosen)
    assert {f.kernel for f in found} == {"P"} and {f.kind for f in found} == {"sanitizer"}
    assert [(f.buffer, f.said) for f in found] == [
        ("", "Oclgrind: Read-write data race at local memory, thread 16 of block 0"),
        ("", "Oclgrind: Work-group divergence detected (barrier)"),
        ("X", "Oclgrind: Invalid read of size 4 at byte 840 of 'X', thread 36 of block 0"),
        ("P", "Oclgrind: Invalid read of size 4 at byte 8 of 'P', thread 36 of block 0"),
        ("its workspace", "Oclgrind: Invalid read of size 4 at byte 4 of 'its workspace', thread 36 of block 0"),
    ]
    assert found[0].dims == {"n": 37} and found[0].values == "edge" and found[0].schedule == str(chosen["P"])
    assert oclgrind.reports_of("te-launch 0 0\n\n", kernels, cases, chosen) == []


@needs_oclgrind
@pytest.mark.parametrize(
    ("program", "schedule", "pattern", "new", "buffer", "said"),
    [
        ("softmax", WARP, r"barrier\(CLK_LOCAL_MEM_FENCE\);( *\\\n +const T y)", r"\1", "",
         "data race at local memory"),
        ("row_sum", POINT, r"R\[i0\] = acc\[0\];", "R[i0] = acc[0]; R[i0 / 2] = acc[0];", "R", "Write-write data race"),
        ("matmul", PLANE, r"point < 50\*n", "point < 50*n + 1", "C", "Invalid write of size 4 at byte 7400 of 'C'"),
        ("row_max", POINT, r"i1 < 70", "i1 <= 70", "X", "Invalid read of size 4 at byte 10360 of 'X'"),
        ("row_sum", POINT, r"acc\[0\] = 0\.0f;", "acc[0] = 0.0f; if (i0 % 2) barrier(CLK_LOCAL_MEM_FENCE);", "",
         "divergence detected (barrier)"),
    ],
    ids=["a missing barrier", "rows race", "a write behind", "a read behind", "a barrier that some miss"],
)  # fmt: skip
def test_oclgrind_reports_a_seeded_bug(
    program: str, schedule: str, pattern: str, new: str, buffer: str, said: str
) -> None:
    seeded = Seeded(pattern, new)
    kernels, graph, chosen = steps(program, schedule, seeded)
    assert seeded.applied
    runs, found, missing = oclgrind.oclgrind_runs(kernels, graph, [Case({"n": 37}, "normal")], chosen)
    assert runs == 1 and not missing, missing
    output = graph.outputs[0].name
    assert any(f.kernel == output and f.buffer == buffer and said in f.said for f in found), [str(f) for f in found]


def _samples() -> dict[str, te.Graph]:
    i, j, x = te.index("i"), te.index("j"), te.input("X", (te.dim("n", lo=0), 70))
    running = te.tensor("S", (i, j), te.scan(SUM, j, x[i, j]))
    two = te.graph("two", S=running, M=te.tensor("M", i, te.max(j, running[i, j])))
    return {
        "row fold": PROGRAMS["softmax"](), "product": PROGRAMS["matmul"](), "transpose": PROGRAMS["transpose"](),
        "packed": PROGRAMS["half"](), "scan and fold": two, "segment sum": segments("f32", 60, 7, 20),
    }  # fmt: skip


@needs_oclgrind
@pytest.mark.parametrize("name", ["row fold", "product", "transpose", "packed", "scan and fold", "segment sum"])
def test_oclgrind_has_nothing_to_say_of_sound_kernels(name: str) -> None:
    pytest.importorskip("pyopencl")
    report = verify_graph(_samples()[name], "opencl", sanitize=True)
    assert report.ok and not report.missing, str(report)
    assert [(s.tool, s.target, s.reports) for s in report.sanitizers] == [("oclgrind", "opencl", 0)]
    assert report.sanitizers[0].runs >= 2


@needs_oclgrind
def test_a_finding_of_oclgrind_is_in_the_report() -> None:
    pytest.importorskip("pyopencl")
    seeded = Seeded(r"i1 < 70", "i1 <= 70")
    report = verify_graph(
        PROGRAMS["row_max"](), "opencl", schedule={"R": POINT}, sizes={"n": 37}, sanitize=True, edit=seeded
    )
    assert seeded.applied and not report.ok
    assert any(f.kind == "sanitizer" and f.buffer == "X" for f in report.findings), str(report)


def test_what_cannot_be_done_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels, graph, chosen = steps("row_sum", POINT)
    cases = [Case({"n": 2}, "normal")]
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert "oclgrind is not installed" in oclgrind.oclgrind_runs(kernels, graph, cases, chosen)[2][0]
    monkeypatch.setattr(shutil, "which", lambda name: name)

    def ended(status: int, text: str) -> None:
        command = ["sh", "-c", 'printf "%s" "$1" >&2; exit "$2"', "sh", text, str(status)]
        monkeypatch.setattr(
            oclgrind, "start", lambda _: subprocess.Popen(command, stdout=-1, stderr=-1, text=True, errors="replace")
        )

    ended(1, "no such option\n")
    assert oclgrind.oclgrind_runs(kernels, graph, cases, chosen) == (
        0, [], ["oclgrind ended with status 1: no such option"],
    )  # fmt: skip
    ended(0, re.sub("k0_P", "k0_R", STOPPED))
    runs, found, missing = oclgrind.oclgrind_runs(kernels, graph, cases, chosen)
    assert (runs, found) == (0, []) and missing == ["oclgrind stopped: Unsupported instruction: freeze"]
    ended(0, "")
    assert oclgrind.oclgrind_runs(kernels, graph, cases, chosen) == (1, [], [])
    monkeypatch.setattr(oclgrind, "MOST", 0)
    assert "first and the last block" in oclgrind.oclgrind_runs(kernels, graph, cases, chosen)[2][0]
    monkeypatch.setattr(oclgrind, "SECONDS", 0.1)
    command = ["sleep", "20"]
    monkeypatch.setattr(
        oclgrind, "start",
        lambda _: subprocess.Popen(command, stdout=-1, stderr=-1, text=True, start_new_session=True),
    )  # fmt: skip
    assert "did not end within" in oclgrind.oclgrind_runs(kernels, graph, cases, chosen)[2][0]
