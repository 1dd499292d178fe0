"""The CUDA suites without a GPU: cells, graphs, what is skipped, rows, the watch, ratios, merging and references."""

from __future__ import annotations

import io
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import __main__ as command
from bench import cuda, cuda_cells, cuda_memory, cuda_rows, cuda_timing, log, ratios
from bench.cuda_cells import COMPILE, CUBLAS, CUDNN, FLA, FLASH4, FLEX, JUDGED, OURS, Cell, cells, chosen
from bench.cuda_rows import DeviceLost, Result
from tang_egg.cost.roofline import MATRIX_UNITS, Costs
from tang_egg.ir import Graph
from tang_egg.pipeline import extract
from tests.tree import ROOT

ME, PEER = f"{OURS} 0.1.0", f"{CUBLAS} 13.0 (torch 2.11.0)"


def small() -> list[Cell]:
    """Every program at a small shape."""
    names = ("attention", "attention_causal", "attention_soft_cap", "attention_alibi", "attention_window")
    found = [cuda_cells.attention(p, 2, 3, 192, 16) for p in names]
    found += [cuda_cells.attention(p, 2, 3, 192, 16) for p in ("attention_padded", "attention_soft_cap_causal")]
    found += [
        cuda_cells.gemm(64, 64, 64, transposed, kind) for transposed in (False, True) for kind in ("bf16", "tf32")
    ]
    found += [cuda_cells.cross_entropy(40, 16, 96), cuda_cells.rmsnorm_matmul(40, 24, 16)]
    found += [cuda_cells.gemm_bias_gelu(40, 24, 16), cuda_cells.swiglu(40, 24, 16)]
    found += [cuda_cells.memory(program, 24, 40) for program in cuda_memory.MEMORY]
    found += [cuda_cells.decode(1, 64), cuda_cells.block(16, "bf16")]
    found += [cuda_cells.linear(program, 1, 256, 128) for program in ("linear_attention", "ssd")]
    found += [cuda_cells.gemm(48, 64, 48, True, kind) for kind in ("int8", "fp8")]
    return [*found, cuda_cells.gemm(8, 40, 24, True, "bf16"), cuda_cells.narrow(3, 40, 24)]


def of_suite(suite: str) -> list[Cell]:
    return [c for c in small() if c.suite == suite]


# cells and graphs


def test_cells_are_distinct_and_complete() -> None:
    found = cells()
    assert {s: sum(c.suite == s for c in found) for s in JUDGED} == {
        "cuda.attention": 18,
        "cuda.variants": 20,
        "cuda.gemm": 17,
        "cuda.fused": 2,
        "cuda.loss": 1,
        "cuda.norm": 1,
        "cuda.decode": 3,
        "cuda.block": 4,
        "cuda.memory": 9,
        "cuda.narrow": 4,
        "cuda.linear": 6,
    }
    assert len({c.key for c in found}) == len({c.title for c in found}) == len(found)
    for c in found:
        assert set(JUDGED[c.suite].systems) <= set(c.peers)
        assert 0 < c.floor_ms < 10
    musts = [c.must for c in found]
    assert musts == sorted(musts, reverse=True)  # the must-run subset comes first
    assert {c.suite for c in found if c.must} == set(JUDGED)
    assert {c.program for c in found if c.must} == {c.program for c in found}


def test_every_program_has_a_small_cell() -> None:
    assert {c.program for c in small()} == {c.program for c in cells()}


def test_cells_are_chosen_by_suite_pattern_and_must() -> None:
    assert chosen() == list(cells())
    assert {c.suite for c in chosen(["gemm", "cuda.loss"])} == {"cuda.gemm", "cuda.loss"}
    assert [c.shape["n"] for c in chosen(["attention"], "attention_causal .*d=256")] == [16384, 4096, 1024]
    must = chosen(must=True)
    assert must and all(c.must for c in must) and len(must) < len(cells())


@pytest.mark.parametrize(
    ("program", "pairs"),
    [
        ("attention", 192 * 192),
        ("attention_causal", 192 * 193 // 2),
        ("attention_window", 128 * 129 // 2 + 64 * 128),
        ("attention_padded", 192 * 167),
    ],
)
def test_operations_count_the_pairs_that_are_looked_at(program: str, pairs: int) -> None:
    assert cuda_cells.attention(program, 2, 3, 192, 16).flops == 4 * 2 * 3 * 16 * pairs


def test_the_floor_is_the_larger_of_operations_and_bytes() -> None:
    cell = cuda_cells.gemm(8192, 8192, 8192, False, "bf16")
    assert cell.floor_ms == pytest.approx(1e3 * 2 * 8192**3 / 989e12)
    assert replace(cell, dtype="tf32").floor_ms == pytest.approx(1e3 * 2 * 8192**3 / 494e12)
    assert replace(cell, bytes=4.8e12).floor_ms == pytest.approx(1e3)


@pytest.mark.parametrize("cell", [c for c in cells() if c.must and c.program != "block"], ids=lambda c: c.title)
def test_every_graph_is_one_kernel_on_a_gpu(cell: Cell) -> None:
    """At its full size, where a processor's costs would have the scores of attention stored."""
    graph = cell.graph()
    program = extract(graph, costs=Costs(MATRIX_UNITS)).program
    *before, last = program.kernels
    assert [k.name for k in before] == (["total"] if cell.program == "ssd" else [])
    (output,) = last.outputs
    plain = "f32" if cell.program == "cross_entropy" else "bf16"
    assert output.dtype == {"tf32": "f32", "int8": "i32"}.get(cell.dtype, plain)
    assert [s.value for s in output.shape] == [s.value for s in graph.outputs[0].shape]


# a machine whose systems only pretend


class Fake:
    """Gives scripted results; counts what was measured."""

    device, driver = "Fake GPU", "1.2"

    def __init__(self, systems: Sequence[str] = (ME, PEER), failing: Sequence[str] = ()) -> None:
        self.names, self.failing = list(systems), failing
        self.measured: list[str] = []
        self.raises: Exception | None = None
        self.answers = True

    def systems(self, cell: Cell) -> Sequence[str]:
        return self.names

    def missing(self) -> dict[str, str]:
        return {"Slow": "ImportError: not here"}

    def alive(self) -> bool:
        return self.answers

    def measure(self, cell: Cell, systems: Sequence[str], stage: Callable[[str, float], None]) -> list[Result]:
        stage("timing", 60)
        self.measured.append(cell.title)
        if self.raises is not None:
            raise self.raises
        return [
            Result(s, failed="boom") if s in self.failing else Result(s, 2.0, 0.1, 0.05, 1e-3, how="graph", rounds=15)
            for s in systems
        ]


def run(machine: Fake, file: Path, picked: Sequence[Cell], commit: str = "abc", **options: Any) -> tuple[int, str]:
    out = io.StringIO()
    return cuda.measure(picked, machine, file, commit, out=out, **options), out.getvalue()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


def test_rows_are_whole_and_appended_after_each_cell(file: Path) -> None:
    machine, picked = Fake(), of_suite("cuda.gemm")
    status, text = run(machine, file, picked)
    assert status == 0
    found = log.read(file)
    assert len(found) == 2 * len(picked)
    first = found[0]
    assert set(log.FIRST) | set(log.MEASURED) <= set(first)
    assert (first["device"], first["driver"], first["commit"]) == ("Fake GPU", "1.2", "abc")
    assert (first["suite"], first["program"], first["dtype"]) == ("cuda.gemm", "matmul", "bf16")
    assert first["shape"] == {"m": 64, "n": 64, "k": 64}
    assert first["floor_ms"] == pytest.approx(picked[0].floor_ms, rel=1e-3)
    assert (first["median_ms"], first["spread"], first["error"], first["how"]) == (2.0, 0.05, 1e-3, "graph")
    assert "failed" not in first
    assert text.count("missing: Slow: ImportError: not here") == 1


def test_a_failed_system_has_a_row_without_a_time(file: Path) -> None:
    _, text = run(Fake(failing=[ME]), file, of_suite("cuda.gemm")[:1])
    ours, peer = log.read(file)
    assert ours["failed"] == "boom" and ours["median_ms"] is None
    assert peer["median_ms"] == 2.0
    assert "FAILED boom" in text


def test_cells_in_the_log_are_skipped(file: Path) -> None:
    picked = of_suite("cuda.gemm")
    run(Fake(), file, picked[:2])
    again = Fake()
    _, text = run(again, file, picked)
    assert again.measured == [c.title for c in picked[2:]]
    assert text.count("done before") == 2
    other_driver = Fake()
    other_driver.driver = "1.3"
    newer = Fake([ME, f"{CUBLAS} 14.0 (torch 2.12.0)"])
    for machine, commit in ((Fake(), "abd"), (other_driver, "abc"), (newer, "abc")):
        run(machine, file, picked[:1], commit)
        assert machine.measured == [picked[0].title]


def test_force_and_retry_measure_again(file: Path) -> None:
    picked = of_suite("cuda.gemm")[:2]
    run(Fake(failing=[ME]), file, picked[:1])
    run(Fake(), file, picked[1:])
    plain, retried, forced = Fake(), Fake(), Fake()
    run(plain, file, picked)
    run(retried, file, picked, retry=True)
    run(forced, file, picked, force=True)
    assert plain.measured == []
    assert retried.measured == [picked[0].title]
    assert forced.measured == [c.title for c in picked]


def test_no_cell_starts_after_the_time(file: Path) -> None:
    ticks: Iterator[float] = iter(range(100))
    machine, picked = Fake(), of_suite("cuda.gemm")
    status, text = run(machine, file, picked, seconds=4, clock=lambda: float(next(ticks)))
    assert status == 0
    assert 0 < len(machine.measured) < len(picked)
    assert f"{len(picked) - len(machine.measured)} cells are left" in text


def test_a_lost_device_ends_the_run_and_the_next_goes_on(file: Path) -> None:
    machine, picked = Fake(), of_suite("cuda.gemm")
    machine.raises = DeviceLost(cuda_rows.failed([ME, PEER], "illegal access"))
    status, text = run(machine, file, picked)
    assert status == cuda.LOST
    assert machine.measured == [picked[0].title]
    assert [r["failed"] for r in log.read(file)] == ["illegal access"] * 2
    assert "again" in text
    machine.raises = None
    run(machine, file, picked)
    assert machine.measured[1:] == [c.title for c in picked[1:]]


@pytest.mark.parametrize("answers", [True, False])
def test_an_error_of_the_harness_costs_one_cell(file: Path, answers: bool) -> None:
    machine, picked = Fake(), of_suite("cuda.gemm")
    machine.raises, machine.answers = RuntimeError("out of\nmemory"), answers
    status, _ = run(machine, file, picked)
    assert status == (0 if answers else cuda.LOST)
    assert len(machine.measured) == (len(picked) if answers else 1)
    assert {r["failed"] for r in log.read(file)} == {"not measured: RuntimeError: out of memory"}


def test_the_watch_ends_the_process_of_a_kernel_that_hangs() -> None:
    happened: list[object] = []
    watch = cuda.Watch(happened.append, happened.append)
    watch.stage("first call", 0)
    assert watch._timer is not None
    watch._timer.join()
    assert happened == ["no end of 'first call' within 0 s", cuda.HUNG]
    watch.stage("timing", 600)
    watch.stop()
    assert watch._timer.finished.is_set()


# the command


def test_cells_are_listed_without_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["cuda", "loss", "--list"]) == 0
    text = capsys.readouterr().out
    assert "must" in text and "cuda.loss/cross_entropy n=4096 d=4096 v=32000 bf16" in text


@pytest.mark.parametrize("arguments", [["nonsense"], ["--cells", "("]])
def test_wrong_arguments_are_named(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["cuda", *arguments])
    assert ended.value.code == 2
    assert ("no suite is named nonsense" if arguments[0] == "nonsense" else "--cells") in capsys.readouterr().err


# timing


class Turn:
    """A replay that takes as long as it is told, and writes down when it ran."""

    how = "graph"

    def __init__(self, name: str, times: Sequence[float], iterations: int, seen: list[str]) -> None:
        self.name, self.times, self.iterations, self.seen = name, iter(times), iterations, seen

    def run(self) -> None:
        self.seen.append(self.name)

    def milliseconds(self) -> float:
        self.run()
        return next(self.times)


def test_graphs_are_replayed_in_turns() -> None:
    seen: list[str] = []
    systems = {"a": Turn("a", [10.0] * 12, 5, seen), "b": Turn("b", [8.0, 8.0, *range(1, 11)], 2, seen)}
    found = cuda_timing.in_turns(systems, rounds=10, warm_up=2)
    assert (found["a"].median_ms, found["a"].spread, found["a"].rounds) == (2.0, 0.0, 10)
    assert found["b"].median_ms == 2.75
    assert found["b"].spread == pytest.approx((8.2 - 2.8) / 2 / 2.75)
    rounds = [tuple(seen[n : n + 2]) for n in range(4, len(seen), 2)]
    assert set(rounds) == {("a", "b"), ("b", "a")}


@pytest.mark.parametrize(("one", "count"), [(0.001, 512), (0.03, 334), (2.0, 5), (10.0, 1), (50.0, 1)])
def test_a_replay_takes_about_ten_milliseconds(one: float, count: int) -> None:
    assert cuda_timing.iterations(one) == count


# ratios


def logged(suite: str, system: str, ms: float | None, run: str = "1", **fields: Any) -> log.Row:
    shape = {"b": 1, "h": 2, "n": 3, "d": 64}
    row = log.row(suite, "attention", system, shape=shape, dtype="bf16", median_ms=ms, floor_ms=0.5, device="G")
    return row | {"run": run} | fields


@pytest.mark.parametrize(
    ("suite", "times", "best", "verdict"),
    [
        ("cuda.attention", {OURS: 2.0, CUDNN: 1.9, FLASH4: 1.7}, 0.85, "pass"),
        ("cuda.attention", {OURS: 2.0, CUDNN: 1.9, FLASH4: 1.6}, 0.8, "FAIL"),
        ("cuda.attention", {OURS: 2.0, "FlashAttention-2": 1.0, CUDNN: 3.0}, 1.5, "pass"),
        ("cuda.variants", {OURS: 2.0, FLEX: 1.98}, 0.99, "FAIL"),
        ("cuda.gemm", {OURS: 2.0, CUBLAS: 1.9}, 0.95, "pass"),
        ("cuda.loss", {OURS: 2.0, COMPILE: 1.0}, 0.5, "-"),
        ("cuda.gemm", {OURS: 2.0}, None, "-"),
        ("cuda.gemm", {OURS: None, CUBLAS: 1.9}, None, "FAIL"),
    ],
)
def test_ratios_are_judged_by_the_best_peer(
    suite: str, times: dict[str, float | None], best: float | None, verdict: str
) -> None:
    rows = [logged(suite, f"{s} 1.0", ms, failed=None if ms else "boom") for s, ms in times.items()]
    (found,) = ratios.comparisons(rows)
    assert found.best == (None if best is None else pytest.approx(best))
    assert found.verdict == verdict
    assert found.floor_share == (None if times[OURS] is None else 0.25)


def test_only_times_of_one_run_are_compared() -> None:
    older = [logged("cuda.gemm", ME, 9.0, "1"), logged("cuda.gemm", PEER, 1.0, "1")]
    newer = [logged("cuda.gemm", ME, 2.0, "2"), logged("cuda.gemm", PEER, 4.0, "2")]
    alone = [logged("cuda.gemm", ME, 1.0, "3"), logged("cuda.gemm", f"{ME} (tile=8)", 0.5, "2")]
    other = [log.row("minilm", "minilm", ME, shape={"seq": 1}, dtype="f32", median_ms=1.0)]
    (found,) = ratios.comparisons([*older, *newer, *alone, *other])
    assert (found.ours, found.best) == (2.0, 2.0)
    (only,) = ratios.comparisons(alone[:1])
    assert (only.ours, only.best) == (1.0, None)


def test_the_table_of_ratios(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["ratios", "--log", str(file)]) == 0
    assert "no rows" in capsys.readouterr().out
    kinds = ((64, 2.0, 4.0), (128, 2.0, 1.0))
    rows = [
        logged("cuda.gemm", s, ms, shape={"n": n}, error=1e-3)
        for n, ours, peer in kinds
        for s, ms in ((ME, ours), (PEER, peer))
    ]
    log.append([*rows, logged("cuda.loss", ME, None, failed="no kernel")], file)
    command.main(["ratios", "--log", str(file)])
    text = capsys.readouterr().out
    for part in ("cuBLAS 4 ms (2.00)", "best  0.50", "floor  25%", "best 1.000 over 2 cells, 1 of 2 pass", "no kernel"):
        assert part in text
    assert ratios.geometric_mean([]) is None
    assert ratios.geometric_mean([4.0, 1.0]) == pytest.approx(2.0)


# merging


def test_merging_adds_what_is_missing_once(tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fetched = tmp_path / "fetched.jsonl"
    log.append([log.row("s", "old", "x")], file)
    before = file.read_bytes()
    log.append([*log.read(file), log.row("s", "new", "x"), log.row("s", "newer", "x")], fetched)
    with fetched.open("a") as cut:
        cut.write('{"run": "1", "wh')
    assert command.main(["merge", str(fetched), "--log", str(file)]) == 0
    assert "2 rows added" in capsys.readouterr().out
    assert file.read_bytes().startswith(before)
    assert [r["program"] for r in log.read(file)] == ["old", "new", "newer"]
    command.main(["merge", str(fetched), str(fetched), "--log", str(file)])
    text = capsys.readouterr().out
    assert "1 lines are no rows" in text and "0 rows added" in text
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fetched.jsonl", "log.jsonl"]
    assert command.main(["merge", str(tmp_path / "absent"), "--log", str(file)]) == 1


def test_a_line_that_was_cut_off_stays_alone(file: Path) -> None:
    file.write_text('{"run": "cut')
    log.append([log.row("s", "p", "x")], file)
    assert [r["program"] for r in log.read(file)] == ["p"]
    assert len(file.read_text().splitlines()) == 2


# wheels


@pytest.mark.skipif(not (shutil.which("bash") and shutil.which("split")), reason="needs bash and GNU split")
def test_an_archive_in_parts_is_installed_once_it_is_complete(tmp_path: Path) -> None:
    script = ROOT / "bench" / "peers_install.sh"

    def install(*arguments: Path | str) -> str:
        command = ["bash", str(script), *map(str, arguments)]
        environment = {"PATH": "/usr/bin:/bin", "PYTHON": sys.executable}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    package = tmp_path / "package"
    package.mkdir()
    (package / "peer.py").write_text("VERSION = 4\n" + "# ....\n" * 1000)
    archive = shutil.make_archive(str(tmp_path / "peer"), "xztar", package)
    target, parts = tmp_path / "site", [tmp_path / "a", tmp_path / "b"]
    install("--split", archive, *parts)
    assert "waiting for part 2 of 2 of peer.tar.xz" in install(parts[0], target)
    assert not target.exists()
    assert "installed" in install(parts[1], target)
    assert (target / "peer.py").read_bytes() == (package / "peer.py").read_bytes()


# inputs, references and peers, on the processor


def torch_cases() -> list[Any]:
    return [pytest.param(c, id=f"{c.program}-{c.dtype}") for c in small()]


@pytest.mark.parametrize("cell", torch_cases())
def test_peers_agree_with_the_reference(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from bench import cuda_data, cuda_peers

    monkeypatch.setattr(torch, "compile", lambda f, **_: f)
    inputs = cuda_data.draw(cell, "cpu")
    graph: Graph = cell.graph()
    assert {i.name: [s.value for s in i.shape] for i in graph.inputs} == {n: list(x.shape) for n, x in inputs.items()}
    wanted = cuda_data.reference(cell, inputs)
    assert wanted.dtype == torch.float64
    assert list(wanted.shape) == [s.value for s in graph.outputs[0].shape]
    on_gpu = (CUDNN, FLASH4, FLA)
    with torch.no_grad():
        for family in (f for f in cell.peers if f not in on_gpu and f != "FlashAttention-2"):
            call = cuda_peers.prepare(family, cell, inputs)
            call()
            assert cuda_data.error(call.output(), wanted) <= cell.limit / 2, family


@pytest.mark.parametrize("cell", torch_cases())
def test_the_reference_is_what_the_graph_says(cell: Cell) -> None:
    torch = pytest.importorskip("torch")
    from bench import cuda_data
    from tang_egg.interpret import interpret

    inputs = cuda_data.draw(cell, "cpu")
    wide = {n: (x.float() if x.is_floating_point() else x).numpy() for n, x in inputs.items()}
    (found,) = interpret(cell.graph(), wide).values()
    assert cuda_data.error(torch.from_numpy(found), cuda_data.reference(cell, inputs)) < 1e-6


def test_errors_and_unwritten_elements_are_counted() -> None:
    torch = pytest.importorskip("torch")
    from bench import cuda_data

    wanted = torch.tensor([3.0, 4.0], dtype=torch.float64)
    assert cuda_data.error(torch.tensor([3.0, 4.5]), wanted) == pytest.approx(0.1)
    bad = torch.tensor([3.0, math.nan])
    assert math.isnan(cuda_data.error(bad, wanted))
    assert cuda_data.unwritten(bad) == 1
    with pytest.raises(ValueError, match="shape"):
        cuda_data.error(torch.zeros(3), wanted)


# the machine, with calls of the processor in place of a GPU


class Kernel:
    """What `prepare` gives. It computes the reference, in one of several ways wrong."""

    def __init__(self, cell: Cell, inputs: dict[str, Any], outputs: dict[str, Any], fault: str) -> None:
        from bench import cuda_data

        self.outputs, self.fault, self.calls = outputs, fault, 0
        self.value = cuda_data.reference(cell, inputs)

    def __call__(self) -> None:
        self.calls += 1
        (out,) = self.outputs.values()
        if self.fault == "late" and self.calls > 8:
            return
        if self.fault == "lost":
            raise RuntimeError("illegal access")
        written = self.value if self.fault != "wrong" else self.value + 1
        kept = slice(None, -1) if self.fault == "part" else slice(None)
        out[kept] = written[kept].to(out.dtype)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[[Cell, str], Any]:
    """Makes a Gpu whose own kernels have a fault and whose peers run on the processor."""
    torch = pytest.importorskip("torch")
    from bench import cuda_data, cuda_machine, cuda_peers

    def synchronize() -> None:
        if fault_of[0] == "lost" and called[0]:
            raise RuntimeError("illegal access")

    def optimize(graph: Graph, target: str, **given: Any) -> Any:
        assert (target, given["products"], given["verified"]) == ("cuda", "exact", False)

        def prepare(*, out: dict[str, Any], **inputs: Any) -> Kernel:
            called[0] = True
            return Kernel(cell_of[0], inputs, out, fault_of[0])

        return type("Compiled", (), {"schedule": {"C": "tile=8"}, "prepare": staticmethod(prepare)})

    fault_of, cell_of, called = [""], [small()[0]], [False]
    real = cuda_data.draw
    for name, stand_in in {
        "is_available": lambda: True,
        "get_device_name": lambda: "Pretended GPU",
        "synchronize": synchronize,
        "empty_cache": lambda: None,
        "reset_peak_memory_stats": lambda: None,
        "memory_allocated": lambda: (5 if called[0] else 1) * 2**20,
        "max_memory_allocated": lambda: 7 * 2**20,
    }.items():
        monkeypatch.setattr(torch.cuda, name, stand_in)
    monkeypatch.setattr(torch, "compile", lambda f, **_: f)
    monkeypatch.setattr(cuda_data, "draw", lambda cell, device: real(cell, "cpu"))
    monkeypatch.setattr(cuda_timing, "stream", nullcontext)
    monkeypatch.setattr(cuda_timing, "replay", lambda call, side, rewritten: cuda_timing.Calls(call, 1))
    monkeypatch.setattr(cuda_peers, "version", lambda family: f"{family} 1")
    monkeypatch.setattr("tang_egg.pipeline.optimize", optimize)

    def make(cell: Cell, fault: str) -> Any:
        fault_of[0], cell_of[0] = fault, cell
        return cuda_machine.Gpu()

    return make


@pytest.mark.parametrize(
    ("fault", "failed"),
    [
        ("", None),
        ("part", "64 of 4096 elements are NaN or infinite"),
        ("wrong", "the error is above 0.02"),
        ("late", "after timing, some are not written"),
    ],
)
def test_what_our_kernels_write_is_checked(gpu: Callable[[Cell, str], Any], fault: str, failed: str | None) -> None:
    cell = of_suite("cuda.gemm")[0]
    machine = gpu(cell, fault)
    names = machine.systems(cell)
    assert [cuda_cells.family(n) for n in names] == [OURS, CUBLAS]
    ours, peer = machine.measure(cell, names, lambda name, seconds: None)
    assert peer.failed is None and peer.median_ms > 0
    if failed is None:
        assert ours.failed is None and ours.median_ms > 0 and 0 < ours.error < 0.01
        assert (ours.schedule, ours.rounds) == ("C: tile=8", 15)
    else:
        assert ours.failed.startswith(failed)
        assert ours.median_ms is None


def test_a_device_that_is_lost_fails_every_system_of_the_cell(gpu: Callable[[Cell, str], Any]) -> None:
    cell = of_suite("cuda.gemm")[0]
    machine = gpu(cell, "lost")
    with pytest.raises(DeviceLost) as lost:
        machine.measure(cell, machine.systems(cell), lambda name, seconds: None)
    ours, peer = lost.value.results
    assert ours.failed == "RuntimeError: illegal access"
    assert "the device was lost in tang_egg" in peer.failed
    assert not machine.alive()


def test_memory_is_measured_where_a_peer_stores_logits(gpu: Callable[[Cell, str], Any]) -> None:
    cell = of_suite("cuda.loss")[0]
    machine = gpu(cell, "")
    ours, compiled, eager = machine.measure(cell, machine.systems(cell), lambda name, seconds: None)
    assert compiled.peak_mib == eager.peak_mib == 2.0
    assert ours.peak_mib == 6.0  # with what was held before the call: output and temporaries


def test_rows_are_json() -> None:
    cell = small()[0]
    (row,) = cuda_rows.rows(cell, [Result(ME, math.nan, error=1.23456789e-3)], Fake(), "abc")
    assert json.loads(json.dumps(row, allow_nan=False))["error"] == 1.235e-3
    assert row["median_ms"] is None


def test_schedules_by_hand_are_of_the_last_kernel_or_of_those_they_name() -> None:
    pytest.importorskip("torch")
    from bench.cuda_machine import _forced

    assert _forced("mma fold=i2:stream:64", "Y") == {"Y": "mma fold=i2:stream:64"}
    both = _forced("O_share: mma fold=i3_in:stream:64; O: point grid=i0", "O")
    assert both == {"O_share": "mma fold=i3_in:stream:64", "O": "point grid=i0"}
