"""`python -m bench cpu` measures what it says, goes on where it stopped, and keeps what fails; `report` judges it."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import __main__ as command
from bench import cpu, cpu_measure, cpu_peers, cpu_rows, cpu_worker, log, report, report_page, report_plot
from bench.cpu_ceilings import Ceilings
from bench.cpu_peers import PEERS, Peer
from bench.cpu_peers_numpy import Numpy
from bench.cpu_programs import OPERATORS, Operator
from bench.cpu_rows import CALLED, DIED, OURS
from bench.cpu_timing import Turns, samples
from tang_egg.interpret import interpret

SMALL: dict[str, dict[str, int]] = {
    "matmul": {"m": 3, "k": 5, "n": 7},
    "gemv": {"m": 5, "k": 7},
    "q8_gemv": {"m": 3, "k": 8, "block": 4},
    "transpose_add": {"n": 16},
    "rms_norm_matmul": {"m": 3, "k": 5, "n": 4},
    "swiglu": {"m": 3, "k": 4, "h": 5},
    "attention": {"h": 2, "n": 5, "d": 4},
    "softcap_attention": {"h": 2, "n": 5, "d": 4},
    "block": {"n": 5, "heads": 4, "keys": 2, "d": 4, "hidden": 6},
    "conv3x3": {"c": 2, "n": 5},
    "depthwise3x3": {"c": 3, "n": 4},
    "embedding_sum": {"m": 3, "each": 4, "v": 11, "d": 5},
    "linear_recurrence": {"h": 2, "n": 6, "d": 3},
    "linear_attention": {"h": 2, "n": 6, "d": 3},
    "gru_cell": {"n": 5},
    "mlp_policy": {"inputs": 3, "hidden": 5, "outputs": 2},
}
ROWS = {"m": 3, "n": 13}
DEVICE = "some processor, 2 cores"


def small(name: str) -> Operator:
    operator = OPERATORS[name]
    return operator.at(**SMALL.get(operator.family, ROWS))


FAMILIES = list({o.family: o.name for o in OPERATORS.values()}.values())
"""The name of one operator for each formula."""


@pytest.mark.parametrize("name", FAMILIES)
def test_our_graph_and_the_formula_are_one_function(name: str) -> None:
    operator = small(name)
    arrays, graph = operator.arguments(), operator.graph()
    wanted = operator.reference(arrays)
    assert [a.dtype for a in operator.arguments()] == [a.dtype for a in arrays]
    assert all(np.array_equal(a, b) for a, b in zip(operator.arguments(), arrays, strict=True))
    found = interpret(graph, {i.name: a for i, a in zip(graph.inputs, arrays, strict=True)})["Y"]
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    assert operator.work() > 0 and operator.bytes(arrays, wanted) > 0


def held(name: str, call: Callable[[Operator], Any]) -> None:
    operator = small(name)
    wanted = operator.reference(operator.arguments())
    found = np.asarray(call(operator), np.float64)
    np.testing.assert_allclose(found.reshape(wanted.shape), wanted, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("name", FAMILIES)
def test_torch_computes_the_same(name: str) -> None:
    pytest.importorskip("torch")
    from bench import cpu_peers_torch as th

    for adapter in (th.eager(), th.fused(), th.plain()):
        call, result = th.run_eagerly(OPERATORS[name].formula, small(name).arguments(), adapter)
        held(name, lambda _, c=call, r=result: r(c()))  # type: ignore[misc]


@pytest.mark.parametrize("peer", ["jax", "numba", "tinygrad", "openvino", "onnxruntime"])
def test_other_peers_that_are_installed_compute_the_same(peer: str) -> None:
    found = PEERS[peer]
    pytest.importorskip(found.module or found.package)
    if peer in ("openvino", "onnxruntime"):
        pytest.importorskip("torch")
        pytest.importorskip("onnx")
    for name in ("layernorm", "mlp_policy", "embed_sum"):
        if found.offers(OPERATORS[name]):
            call, result = found.prepare(small(name), small(name).arguments(), 1)
            held(name, lambda _, c=call, r=result: r(c()))  # type: ignore[misc]


def test_the_operators_of_the_bar_are_there_once() -> None:
    assert len(OPERATORS) == 32 and len({o.family for o in OPERATORS.values()}) == 25
    compute = {name for name, o in OPERATORS.items() if o.kind == "compute"}
    assert compute == {
        "matmul512", "matmul1024", "matmul2048", "matmul64x4096x4096", "rmsnorm_matmul", "swiglu_mlp", "block128",
        "block512", "conv3x3",
    }  # fmt: skip


# Turns


class Machine:
    """A clock that calls and pauses move, and other processes that use what the test says."""

    def __init__(self, *busy: float) -> None:
        self.now, self.used, self.busy, self.slept = 0.0, 0.0, list(busy), 0

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += 1

    def call(self, seconds: float, calls: list[str] | None = None, name: str = "") -> Callable[[], None]:
        def run() -> None:
            self.now += seconds
            if self.busy:
                self.used += self.busy.pop(0)
            if calls is not None:
                calls.append(name)

        return run

    def turns(self, patience: float = 10.0) -> Turns:
        return Turns(patience, 0.04, lambda: self.used, lambda: self.now, self.sleep)


def test_threads_of_this_process_that_spin_are_waited_for_so_long() -> None:
    for spinning, pauses in ((0.0, 1), (0.1, 4), (1e9, 11)):
        machine = Machine()
        turns = machine.turns()
        turns.own = lambda end=spinning, m=machine: min(m.now, end)
        turns.quiet()
        assert machine.slept == pauses


def test_a_disturbed_turn_is_taken_again() -> None:
    machine = Machine(0.0, 5.0)  # the call that does not count, then one beside which others used five seconds
    turns = machine.turns()
    calls: list[str] = []
    assert turns.turn(machine.call(0.5, calls, "x"), 1, True) == pytest.approx(0.5)
    assert len(calls) == 4  # two turns of two calls
    assert turns.share() == pytest.approx(0.0) and turns.share() == 0.0


def test_a_busy_machine_is_waited_for_until_the_patience_is_over() -> None:
    machine = Machine()
    turns = machine.turns(patience=2.0)
    turns.sleep = lambda s: (machine.sleep(s), setattr(machine, "used", machine.used + s))[0]  # type: ignore[misc]
    turns.quiet()
    assert turns.waited >= 2.0
    before = machine.now
    turns.quiet()
    assert machine.now - before == pytest.approx(0.04)  # no patience is left: only the pause


def test_systems_rotate_and_those_far_behind_are_called_once() -> None:
    machine, calls = Machine(), list[str]()
    systems = {n: machine.call(t, calls, n) for n, t in {"a": 0.001, "b": 0.002, "far": 1.0, "behind": 0.04}.items()}
    del systems["behind"]
    found = samples(systems, 5, 1e9, machine.turns())
    assert found["far"].once and found["far"].turns == 1 and calls.count("far") == 1
    assert not found["a"].once and found["a"].turns == 5 and found["a"].calls == 4 and found["b"].calls == 2
    assert found["a"].median_ms == pytest.approx(1.0) and found["b"].p90_ms == pytest.approx(2.0)
    order = [c for n, c in enumerate(calls) if n == 0 or calls[n - 1] != c]
    assert order[3:] == ["a", "b", "a", "b", "a", "b", "a", "b"][: len(order) - 3] or "b" in order[3:5]
    slow = samples({"a": machine.call(0.01), "behind": machine.call(0.05)}, 6, 1e9, machine.turns())
    assert slow["a"].turns == 6 and slow["behind"].turns == 3
    once = samples({"a": machine.call(0.01)}, 0, 1e9, machine.turns())
    assert once["a"].once and once["a"].median_ms == pytest.approx(10.0)
    assert samples({"a": machine.call(1.0)}, 50, 2.0, machine.turns())["a"].turns == 3


def test_ceilings_are_of_the_level_that_holds_the_bytes() -> None:
    rates = Ceilings(100.0, 80.0, 40.0, 20.0, 10.0)
    assert rates.seconds(0, 800_000, 0) == (1e-5, "bytes")
    assert rates.seconds(0, 4_000_000, 0) == (1e-4, "bytes")
    assert rates.seconds(0, 20_000_000, 0) == (1e-3, "bytes")
    assert rates.seconds(0, 20_000_000, 10_000_000) == (2e-3, "bytes")
    assert rates.seconds(1e9, 100, 0) == (0.01, "flops")


# What a log has, and what is measured


def row(program: str = "softmax", system: str = OURS, **fields: Any) -> log.Row:
    operator = OPERATORS.get(program)
    given: dict[str, Any] = {
        "run": "r1", "when": "w", "commit": "c0", "device": DEVICE, "shape": dict(operator.sizes) if operator else None,
        "dtype": "f32", "kind": operator.kind if operator else None, "bound": "bytes", "bytes": 134217728,
        "ceiling_ms": 5.0, "median_ms": 10.0, "p10_ms": 9.0, "p90_ms": 11.0, "least_ms": 8.0, "error": 1e-7,
        "code": "k0", "threads": 2,
    } | fields  # fmt: skip
    return log.row("cpu", program, system, **given)


@pytest.fixture
def at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_rows, "code", lambda: "k0")
    monkeypatch.setattr(log, "device", lambda: DEVICE)


@pytest.mark.usefixtures("at_hand")
def test_an_operator_is_done_when_all_its_systems_have_rows_of_this_code() -> None:
    softmax = OPERATORS["softmax"]
    rows = [row(system=s) for s in (OURS, CALLED, "numpy 1")]
    assert cpu_rows.left(rows, softmax, [OURS, CALLED, "numpy 1"]) == []
    assert cpu_rows.left(rows, softmax, [OURS, CALLED, "numpy 2"]) == [OURS, CALLED, "numpy 2"]
    assert cpu_rows.left(rows[1:], softmax, [OURS, CALLED]) == [OURS, CALLED]
    assert cpu_rows.left(rows, OPERATORS["var"], [OURS]) == [OURS]
    assert cpu_rows.left([row(code="k1")], softmax, [OURS]) == [OURS]
    assert cpu_rows.left([row(device="another")], softmax, [OURS]) == [OURS]
    died = row(system="tvm", failed=f"{DIED}: SIGSEGV", median_ms=None)
    assert cpu_rows.left([died], softmax, [OURS, "tvm"]) == [OURS]
    assert cpu_rows.left([died], softmax, [OURS, "tvm"], retry=True) == [OURS, "tvm"]
    failed = row(system="jax", failed="no", median_ms=None)
    assert cpu_rows.left([row(), failed], softmax, [OURS, "jax"]) == []
    assert cpu_rows.left([row(), failed], softmax, [OURS, "jax"], retry=True) == [OURS, "jax"]


def test_forced_and_searched_programs_are_systems_of_their_own() -> None:
    assert cpu_rows.own() == (OURS, CALLED)
    way = " (Y=a; Z=b; searched 20 s)"
    assert cpu_rows.own(["Y=a", "Z=b"], 20.0) == (OURS + way, CALLED + way)
    assert not report.results([row(system=cpu_rows.own(["Y=a"])[0])])  # the report is of what a user gets


def test_the_hash_of_the_code_is_of_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(cpu_rows.code()) == 12
    hashes = []
    for content in ("a", "b"):
        folder = tmp_path / content
        (folder / "bench").mkdir(parents=True)
        (folder / "rules").mkdir()
        (folder / "rules" / "x.py").write_text(content)
        monkeypatch.setattr(cpu_rows, "__file__", str(folder / "bench" / "cpu_rows.py"))
        hashes.append(cpu_rows.code.__wrapped__())
    assert len(set(hashes)) == 2


def _broken(operator: Operator, arrays: Any, threads: int) -> Any:
    raise ValueError("first line\nsecond")


def peer(name: str, of: Callable[[Any], Any]) -> Peer:
    def prepare(operator: Operator, arrays: Any, threads: int) -> Any:
        return (lambda: of(operator.formula(Numpy, *arrays))), np.asarray

    return Peer(name, "numpy", prepare, way=name)


def test_every_system_of_an_operator_gets_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_CACHE", str(tmp_path / "cache"))
    peers = [
        peer("right", lambda y: y), peer("rough", lambda y: y * 1.01), peer("wrong", lambda y: y * np.nan),
        Peer("broken", "numpy", _broken, way="broken"),
    ]  # fmt: skip
    given = Namespace(setup=5, rounds=0, seconds=1.0, schedule=[], search=None)
    turns, rates = Machine().turns(), Ceilings(1.0, 1.0, 1.0, 1.0, 1.0)
    operator = small("gemv4096x4096")
    found = cpu_measure.measure(operator, peers, given, rates, turns, tmp_path / "marker")
    by_way = {str(r["system"]).split()[-1]: r for r in found}
    assert [r["system"] for r in found[:2]] == [OURS, CALLED]
    assert all(r["error"] < 1e-6 and r["median_ms"] is not None for r in found[:3])
    assert found[0]["schedule"] and found[0]["flops"] == operator.work() and found[0]["kind"] == "other"
    assert by_way["rough"]["approximate"] and by_way["rough"]["median_ms"] is not None
    assert by_way["wrong"]["failed"] == "the result is not finite" and by_way["wrong"]["median_ms"] is None
    assert by_way["broken"]["failed"] == "ValueError: first line"
    assert set(found[0]) >= {"run", "commit", "device", "code", "ceiling_ms", "foreign"}
    assert "ValueError: first line" in cpu_measure.line(operator, found)
    bad = cpu_measure.measure(
        operator, [], Namespace(**vars(given) | {"schedule": ["Y=nonsense"]}), rates, turns, tmp_path / "marker"
    )
    assert all(r["failed"] for r in bad) and [r["system"] for r in bad] == [f"{s} (Y=nonsense)" for s in (OURS, CALLED)]


def test_a_setup_that_takes_too_long_is_ended() -> None:
    with pytest.raises(TimeoutError, match="setup took more than 1 s"), cpu_measure.limited(1):
        while True:
            pass


def test_missing_peers_are_said_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    none = Peer("none", "no-such-package-at-all", _broken)
    bad = Peer("bad", "numpy", _broken, module="no_such_module_at_all")
    monkeypatch.setattr(cpu_peers, "PEERS", {"numpy": PEERS["numpy"], "none": none, "bad": bad})
    found, missing = cpu_peers.installed(["numpy", "none", "bad"])
    assert [p.name for p in found] == ["numpy"]
    assert missing == {
        "none": "the package no-such-package-at-all is not installed: pip install -r bench/peers_cpu.txt",
        "bad": "numpy cannot be imported: ModuleNotFoundError: No module named 'no_such_module_at_all'",
    }
    assert PEERS["sdpa"].system().startswith("torch") and PEERS["sdpa"].system().endswith("sdpa")


WORKER = """
import json, os, signal, sys, time
from pathlib import Path
marker, counter, how = Path(os.environ["BENCH_CPU_MARKER"]), Path(sys.argv[1]), sys.argv[2]
n = int(counter.read_text()) if counter.exists() else 0
counter.write_text(str(n + 1))
if how == "early": os.kill(os.getpid(), signal.SIGKILL)
if n == 0:
    marker.write_text(json.dumps({"program": "softmax", "system": "tvm 1", "shape": {"m": 1}, "code": "k0"}))
    if how == "dies": os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(60)
sys.exit(7)
"""


@pytest.mark.parametrize(
    ("how", "status", "why"),
    [("dies", 7, f"{DIED}: SIGSEGV"), ("hangs", 7, f"{DIED}: it did not go on for 4 s"), ("early", 1, None)],
)
def test_a_worker_that_ends_badly_costs_one_row(tmp_path: Path, how: str, status: int, why: str | None) -> None:
    file = tmp_path / "log.jsonl"
    worker = (sys.executable, "-c", WORKER, str(tmp_path / "count"), how)
    hangs = 4.0 if how == "hangs" else 60.0
    assert cpu_worker.supervise([], {}, tmp_path / "marker", file, hangs=hangs, command=worker) == status
    found = log.read(file)
    assert [r["failed"] for r in found] == ([why] if why else [])
    assert all(
        (r["program"], r["system"], r["shape"], r["code"]) == ("softmax", "tvm 1", {"m": 1}, "k0") for r in found
    )


def test_unknown_names_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for option, what in (("--ops", "operator"), ("--peers", "peer")):
        with pytest.raises(SystemExit, match="2"):
            command.main(["cpu", option, "none"])
        assert f"no {what} is named none; there are: " in capsys.readouterr().err
    assert command.main(["cpu", "--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(OPERATORS)
    assert cpu.environment()["OPENBLAS_THREAD_TIMEOUT"] == "20"


# The report


def logged() -> list[log.Row]:
    return [
        row(median_ms=99.0, run="r0"), row(system="numpy 1", median_ms=1.0, run="r0"),  # an older run
        row(), row(system=CALLED, median_ms=10.5), row(system="numpy 1", median_ms=40.0),
        row(system="torch 2 eager", median_ms=15.0), row(system="jax 1", median_ms=1.0, approximate=True, error=0.01),
        row(system="tvm 1", median_ms=None, failed="it <broke>"),
        row("matmul512", median_ms=1.0, bound="flops", bytes=100), row("matmul512", "numpy 1", median_ms=0.9),
        row("gru_cell", median_ms=1.0, ceiling_ms=0.25, bytes=100), row("gru_cell", "numpy 1", median_ms=2.0),
        row("var", median_ms=None, failed="no"), row("var", "numpy 1", median_ms=2.0),
        log.row("cpu", "ceilings", "this machine", run="r1", fma_gflops=100.0, l2_gbs=90.0, l3_gbs=50.0, read_gbs=20.0,
                copy_gbs=15.0),
    ]  # fmt: skip


def sentence(system: str, ms: float) -> log.Row:
    return log.row("minilm", "minilm", system, run="m", shape={"seq": 9}, dtype="f32", median_ms=ms)


def test_ratios_are_of_one_run_and_of_exact_peers() -> None:
    found = {r.name: r for r in report.results(logged())}
    assert list(found) == ["matmul512", "softmax", "var", "gru_cell"]
    softmax = found["softmax"]
    assert softmax.ratio == 1.5 and softmax.best is not None and softmax.best["system"] == "torch 2 eager"
    assert softmax.share == 0.5 and softmax.memory and [r["system"] for r in softmax.failed] == ["tvm 1"]
    assert softmax.called is not None and softmax.called["median_ms"] == 10.5
    assert found["var"].ms is None and found["var"].ratio is None
    assert report.mean_of(list(found.values()), "other") == pytest.approx((1.5 * 2.0) ** 0.5)


def test_what_fails_of_the_bar_is_said() -> None:
    found = report.results(logged())
    said = report.sentences([sentence("tang_egg 1 c", 2.0), sentence("torch 2 compile", 1.0), sentence("numpy 1", 0.5)])
    assert report.bar(found, said) == [
        "matmul512: 0.90 of numpy 1, wanted 0.95",
        "softmax: 0.50 of the bandwidth, wanted 0.75",
        "var: ours has no time: no",
        "gru_cell: 4.0 times the reading of its weights, wanted 2",
        "MiniLM, seq=9: 0.50 of torch 2 compile, wanted more than 1",
    ]
    slow = [row(median_ms=10.0, ceiling_ms=9.0), row(system="numpy 1", median_ms=10.0)]
    assert report.bar(report.results(slow), []) == [
        "softmax: 1.00 of numpy 1, wanted 1", "geometric mean of the others: 1.00, wanted 1.3",
    ]  # fmt: skip
    fine = [row(median_ms=10.0, ceiling_ms=9.0), row(system="numpy 1", median_ms=20.0)]
    assert report.bar(report.results(fine), []) == []
    wrong = [row(approximate=True, error=0.5), row(system="numpy 1", median_ms=20.0)]
    assert report.bar(report.results(wrong), [])[0] == "softmax: ours has no time: an error of 5.0e-01"


def test_the_page_and_the_plot_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, page = tmp_path / "log.jsonl", tmp_path / "page.md"
    log.append(logged(), file)
    names = tuple(report_page.tables([], [], None))
    page.write_text("".join(f"<!-- cpu {n}: begin -->\nSTALE\n<!-- cpu {n}: end -->\n" for n in names))
    assert command.main(["report", "--log", str(file), "--page", str(page)]) == 1
    out, text = capsys.readouterr().out, page.read_text()
    assert (
        "STALE" not in text
        and "Nothing was measured yet." in text
        and "FAIL softmax" in out
        and "geometric mean, other: 1.73" in out
    )
    assert "| softmax | other | torch 2 eager | 15 | 10 | 9 to 11 | 10.5 | **1.50** | 50% of bytes | 1e-07 |" in text
    assert "| softmax | 10 | 40 | 15 | 1~ |" in text and "- softmax, tvm 1: it &lt;broke>" in text
    assert "- matmul512: 0.90 of numpy 1, wanted 0.95" in text and "| memory, copy | 15 GB/s |" in text
    page.write_text("nothing")
    assert command.main(["report", "--log", str(file), "--page", str(page)]) == 1
    assert "the page has 0 places for the table 'machine'" in capsys.readouterr().err
    assert page.read_text() == "nothing"
    assert command.main(["report", "--log", str(tmp_path / "none")]) == 1
    assert "has no rows of `python -m bench cpu`" in capsys.readouterr().err
    pytest.importorskip("matplotlib")
    first, second = tmp_path / "a.svg", tmp_path / "b.svg"
    page.write_text("".join(f"<!-- cpu {n}: begin -->\n<!-- cpu {n}: end -->\n" for n in names))
    assert command.main(["report", "--log", str(file), "--page", str(page), "--plot", str(first)]) == 1
    assert "![ratios to the peers, and the distance to the floor](a.svg)" in page.read_text()
    report_plot.write(second, report.results(logged()))
    assert first.read_bytes() == second.read_bytes() and b"softmax" in first.read_bytes()
    report_plot.write(second, report.results(logged())[:1])
    assert first.read_bytes() != second.read_bytes()


def test_all_of_the_bar_met_ends_with_status_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "log.jsonl"
    log.append([row(median_ms=10.0, ceiling_ms=9.0), row(system="numpy 1", median_ms=20.0)], file)
    assert command.main(["report", "--log", str(file)]) == 0
    assert "all of the bar is met" in capsys.readouterr().out


def test_the_committed_page_has_a_place_for_every_table() -> None:
    text = report.PAGE.read_text(encoding="utf-8")
    for name in report_page.tables([], [], None):
        assert text.count(f"<!-- cpu {name}: begin -->") == text.count(f"<!-- cpu {name}: end -->") == 1


def test_an_operator_at_other_sizes_is_another() -> None:
    assert OPERATORS["softmax"].at(m=3).sizes == {"m": 3, "n": 4096}
    assert replace(OPERATORS["softmax"], name="x").family == "softmax"
