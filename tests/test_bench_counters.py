"""Hardware counters without a GPU: what Nsight Compute prints, in both layouts, and how its refusals are met."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench import __main__ as command
from bench import counters, cuda_cells, log, ratios
from bench import counters_metrics as metrics
from bench.counters import NoCounters, Output, Profiler, System
from bench.cuda_cells import CUDNN, OURS
from bench.cuda_rows import Result, rows

CELL = cuda_cells.attention("attention", 1, 16, 16384, 128)
TENSOR = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"
WIDE = f"""\
==PROF== Connected to process 77 (/usr/bin/python3)
==PROF== Profiling "k0_O": 0%....50%....100% - 12 passes
==PROF== Disconnected from process 77
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC",\
"gpu__time_duration.sum","launch__registers_per_thread","sm__cycles_elapsed.max","{TENSOR}","lts__t_sector_hit_rate.pct"
"","","","","","","","","","","","ns","register/thread","cycle","%","%"
"0","77","python3","localhost","k0_O","1","13","(384, 1, 1)","(132, 1, 1)","0","9.0",\
"3,100,000","168","5,800,000","72.5","n/a"
"""
LONG = f"""\
==PROF== Connected to process 77 (/usr/bin/python3)
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Section Name","Metric Name",\
"Metric Unit","Metric Value"
"0","77","python3","localhost","k0_O","1","13","Command line profiler metrics","gpu__time_duration.sum","msecond","3.1"
"0","77","python3","localhost","k0_O","1","13","Command line profiler metrics","{TENSOR}","%","72.50"
"0","77","python3","localhost","k0_O","1","13","Command line profiler metrics","lts__t_sector_hit_rate.pct","%","n/a"
"1","77","python3","localhost","k1_P","1","13","Command line profiler metrics","dram__bytes_read.sum","Mbyte","1,201.5"
"""
UNKNOWN = "==PROF== Connected to process 77\n==ERROR== Failed to find metric {}\n"
RIGHTS = (
    "==PROF== Connected to process 77\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA "
    "GPU Performance Counters on the target device 0.\n"
)
BROKEN = "==PROF== Connected to process 77\n==ERROR== Failed to initialize the profiler: LibraryNotLoaded\n"
NONE = "==PROF== Disconnected from process 77\n==WARNING== No kernels were profiled.\n"


class Fake:
    """Answers in turn with what was recorded; keeps the commands."""

    def __init__(self, *answers: Output) -> None:
        self.answers, self.commands = list(answers), list[list[str]]()

    def __call__(self, asked: Sequence[str], seconds: float) -> Output:
        self.commands.append(list(asked))
        return self.answers.pop(0)

    def asked(self, n: int) -> list[str]:
        """The metrics of the n-th command."""
        return self.commands[n][self.commands[n].index("--metrics") + 1].split(",")


def profiler(*answers: Output) -> tuple[Profiler, Fake]:
    fake = Fake(*answers)
    return Profiler("ncu", fake), fake


# what is printed


def test_the_wide_layout_has_a_column_per_metric() -> None:
    (kernel,) = metrics.kernels(WIDE)
    assert kernel.name == "k0_O"
    assert kernel.values == {
        "gpu__time_duration.sum": 3.1e6,
        "launch__registers_per_thread": 168.0,
        "sm__cycles_elapsed.max": 5.8e6,
        TENSOR: 72.5,
    }


def test_the_long_layout_has_a_row_per_metric_and_its_units_are_taken() -> None:
    first, second = metrics.kernels(LONG)
    assert first.values == {"gpu__time_duration.sum": 3.1e6, TENSOR: 72.5}
    assert second == metrics.Kernel("k1_P", {"dram__bytes_read.sum": 1.2015e9})


def test_the_program_may_print_among_the_rows() -> None:
    noisy = WIDE.replace('"0","77"', 'compiling "k0_O"\nwarm\n"0","77"')
    assert metrics.kernels(noisy) == metrics.kernels(WIDE)
    assert metrics.kernels('"a","b"\n') == metrics.kernels("") == metrics.kernels(RIGHTS) == []


@pytest.mark.parametrize(
    ("unit", "scale"),
    [
        ("ns", 1), ("nsecond", 1), ("us", 1e3), ("msecond", 1e6), ("second", 1e9), ("Ghz", 1e9), ("hz", 1),
        ("cycle/nsecond", 1e9), ("cycle/usecond", 1e6), ("Kbyte", 1e3), ("byte/block", 1), ("%", 1), ("inst", 1),
        ("sector", 1), ("", 1),
    ],
)  # fmt: skip
def test_units_become_base_units(unit: str, scale: float) -> None:
    assert metrics._number("1,000", unit) == pytest.approx(1000 * scale)


def test_the_table_shows_the_first_name_that_has_a_value() -> None:
    a, b = f"sm__pipe_fma_cycles_active.{metrics.BUSY}", f"sm__inst_executed_pipe_fma.{metrics.BUSY}"
    assert metrics.shown({a: 1.0, b: 2.0}) == {"FMA pipe, %": 1.0}
    assert metrics.shown({b: 2.0, "gpu__time_duration.sum": 3100.0}) == {"FMA pipe, %": 2.0, "time, us": 3.1}
    titles = [line.title for line in metrics.LINES]
    assert len(set(titles)) == len(titles)


# metrics that this version does not know


def test_a_listing_says_which_names_are_known() -> None:
    names = {metrics.base(m) for m in metrics.METRICS if not m.startswith("launch__") and "_stalled_" not in m}
    listing = "Device NVIDIA GH100\n" + "".join(
        f"{n}   Counter  what it is\n" for n in sorted(names - {"lts__t_sector_hit_rate"})
    )
    kept = metrics.known(listing, metrics.METRICS)
    assert set(metrics.METRICS) - set(kept) == {"lts__t_sector_hit_rate.pct"}
    assert metrics.known("usage: ncu", metrics.METRICS) == metrics.METRICS  # it cannot be that all are unknown
    assert metrics.known("gpu__time_duration  Counter\n", metrics.METRICS) == metrics.METRICS


def test_a_listing_that_fails_changes_nothing() -> None:
    p, fake = profiler(Output(1, "", "unrecognised option"))
    p.ask()
    assert p.wanted == metrics.METRICS and fake.commands == [["ncu", "--query-metrics", "--chip", "gh100"]]


@pytest.mark.parametrize("said", ["{}.pct", "regex:^{}\\.(sum|min|max|avg|pct|ratio|max_rate)$", "'{}'"])
def test_unknown_metrics_are_left_out_and_told(said: str) -> None:
    p, fake = profiler(Output(1, UNKNOWN.format(said.format("lts__t_sector_hit_rate")), ""), Output(0, WIDE, ""))
    counted = p.count(System(CELL))
    assert counted.failed is None and [k.name for k in counted.kernels] == ["k0_O"]
    assert p.dropped == ("lts__t_sector_hit_rate.pct",)
    assert set(fake.asked(0)) - set(fake.asked(1)) == set(p.dropped)


def test_without_a_name_in_the_complaint_the_least_is_asked_for() -> None:
    p, fake = profiler(Output(1, "==ERROR== Unknown metric requested", ""), Output(0, "", WIDE), Output(0, WIDE, ""))
    assert p.count(System(CELL)).failed is not None  # tables belong to the output
    assert fake.asked(1) == list(metrics.LEAST)
    assert p.count(System(CELL)).kernels


def test_attempts_end() -> None:
    names = [metrics.STALL.format(r) for r in metrics.REASONS[: counters.RETRIES - 1]] + [metrics.LEAST[0]]
    p, fake = profiler(*(Output(1, UNKNOWN.format(n), "") for n in names))
    assert "attempts" in (p.count(System(CELL)).failed or "")
    assert len(fake.commands) == counters.RETRIES
    assert fake.asked(counters.RETRIES - 1) == list(metrics.LEAST)


# refusals


@pytest.mark.parametrize("text", [RIGHTS, BROKEN])
@pytest.mark.parametrize("stream", ["out", "err"])
def test_no_rights_end_everything_with_status_2(
    text: str, stream: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = Output(1, text if stream == "out" else "", text if stream == "err" else "")
    fake = Fake(Output(1, "", ""), out)
    monkeypatch.setattr(counters, "find_ncu", lambda given=None: "ncu")
    monkeypatch.setattr(counters, "Profiler", lambda ncu, **options: Profiler(ncu, fake, **options))
    assert command.main(["counters", "attention b=1 .*d=64"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("no counters: ==ERROR==") and len(fake.commands) == 2


def test_no_ncu_is_one_line_and_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert counters.main(["--ncu", str(tmp_path / "ncu")]) == 2
    assert capsys.readouterr().err == f"no counters: ncu is not installed at {tmp_path / 'ncu'}\n"
    with pytest.raises(NoCounters):
        counters.find_ncu(str(tmp_path))


def test_where_the_start_of_profiling_is_not_seen_kernels_are_found_by_name() -> None:
    p, fake = profiler(Output(0, NONE, ""), Output(0, WIDE, ""))
    assert p.count(System(CELL)).kernels
    assert "--profile-from-start" in fake.commands[0] and "--kernel-name" not in fake.commands[0]
    assert "regex:^k[0-9]+_" in fake.commands[1] and "--profile-from-start" not in fake.commands[1]
    p, _ = profiler(Output(0, NONE, ""))
    assert "No kernels" in (p.count(System(CELL, peer=CUDNN)).failed or "")


def test_a_failure_shows_what_was_said_and_the_next_system_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = "Traceback (most recent call last):\nRuntimeError: no kernel image\n"
    p, _ = profiler(Output(1, "==PROF== Connected\n", trace), Output(None, "", "waiting"), Output(0, WIDE, ""))
    systems = [System(CELL), System(CELL, schedule="point"), System(CELL, peer=CUDNN)]
    assert counters.measure(systems, p, tmp_path / "out.jsonl") == 1
    printed = capsys.readouterr().out
    assert "RuntimeError: no kernel image" in printed and "no end within 150 s" in printed and "72.5" in printed
    kept = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [k["system"] for k in kept] == [OURS, f"{OURS} (point)", CUDNN]
    assert ["failed" in k for k in kept] == [True, True, False]
    assert kept[2]["metrics"][TENSOR] == 72.5 and kept[2]["table"]["time, us"] == 3100


def test_time_ends_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    p, fake = profiler(Output(0, WIDE, ""))
    times = iter([0.0, 0.0, 1.0, 20.0])
    assert counters.measure([System(CELL)] * 3, p, None, seconds=10, clock_now=lambda: next(times)) == 0
    assert "2 systems are left" in capsys.readouterr().out and len(fake.commands) == 1


def test_a_command_that_does_not_end_is_ended() -> None:
    out = counters.run([sys.executable, "-c", "import time; print('began', flush=True); time.sleep(60)"], 3.0)
    assert out.code is None and out.out == "began\n"
    assert counters.run([sys.executable, "-c", "import os; print(os.environ['LC_ALL'])"], 60.0) == Output(0, "C\n", "")


# what is asked and told


def test_the_clock_under_load_follows_from_the_log() -> None:
    class Machine:
        device, driver = "Fake GPU", "1.2"

    results = [Result(f"{OURS} 0.1.0", 4.0), Result(f"{OURS} 0.1.0 (point)", 9.0), Result(f"{CUDNN} 9", 2.0)]
    known = rows(CELL, results, Machine(), "abc")  # type: ignore[arg-type]
    found = tuple(metrics.kernels(WIDE))

    def clock(system: System, kernels: tuple[metrics.Kernel, ...] = found) -> float | None:
        return counters.clock(counters.Counted(system, kernels), found[0], known)

    assert clock(System(CELL)) == pytest.approx(5.8e6 / 4e-3 / 1e9)
    assert clock(System(CELL, peer=CUDNN)) == pytest.approx(5.8e6 / 2e-3 / 1e9)
    assert clock(System(CELL, schedule="point")) is None
    assert clock(System(CELL), found + found) is None
    assert clock(System(cuda_cells.gemm(64, 64, 64, False, "bf16"))) is None


def test_commands_are_shown_without_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["counters", "attention b=1 h=16 n=16384 d=64", "--schedule", "", "--schedule", "grid grid=a", "--show"]
    assert command.main([*asked, "--peer", CUDNN, "--peers", "there"]) == 0
    lines = [shlex.split(line) for line in capsys.readouterr().out.splitlines()]
    children = [line[line.index("bench.counters_child") + 2 :] for line in lines]
    peers = ["--peers", "there"]
    assert children == [peers, ["--schedule", "grid grid=a", *peers], ["--peer", CUDNN, *peers]]
    for line in lines:
        assert line[line.index("--clock-control") + 1] == line[line.index("--cache-control") + 1] == "none"
        assert set(line[line.index("--metrics") + 1].split(",")) == set(metrics.METRICS)


def test_a_pattern_must_match(capsys: pytest.CaptureFixture[str]) -> None:
    for pattern in ("nothing like it", "("):
        with pytest.raises(SystemExit):
            counters.main([pattern])
    assert "no cell matches" in capsys.readouterr().err


def test_ratios_are_printed_as_markdown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Machine:
        device, driver = "Fake GPU", "1.2"

    other = cuda_cells.attention("attention_causal", 1, 16, 16384, 128)
    both = [Result(f"{OURS} 0.1.0", 4.0), Result(f"{CUDNN} 9", 5.0)]
    log.append(rows(CELL, both, Machine(), "abc"), tmp_path / "log")  # type: ignore[arg-type]
    log.append(rows(other, [Result(f"{OURS} 0.1.0", failed="boom")], Machine(), "abc"), tmp_path / "log")  # type: ignore[arg-type]
    assert ratios.main(["--markdown", "--log", str(tmp_path / "log")]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("`cuda.attention`. At least 0.85 of")
    table = printed[2:]
    assert table[0].split(" | ")[-1] == "cuDNN |" and len({line.count("|") for line in table}) == 1
    assert "| 2.223 | 4 | 56% | 1.25 | 5 (1.25) |" in table[2] and "failed: boom" in table[3]
