"""`python -m bench floor` finds rows that are faster than their floor, and says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench import __main__ as command
from bench import cuda_cells, floor, floor_measure, floor_page, floor_plot, floor_programs, log
from bench.floor_stream import WAYS, Stage
from tang_egg.cost.bound import least_time
from tang_egg.cost.estimates import H200, SMALL_PROCESSOR
from tang_egg.ir import tensors_of
from tang_egg.probe import _record
from tang_egg.probe_bench import Probed

CPU, GPU = "some processor, 2 cores", "NVIDIA H200"
DEVICES = {CPU: SMALL_PROCESSOR, GPU: H200}


@pytest.fixture(autouse=True)
def nothing_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(floor, "DEVICES", tmp_path / "none")


def row(**fields: Any) -> log.Row:
    given: log.Row = {
        "run": "a", "when": "b", "commit": "c", "device": CPU, "suite": "floor.c", "program": "scaled",
        "shape": {"n": 1 << 20}, "dtype": "f32", "system": "ours", "median_ms": 1.0, "state": "cold",
    }  # fmt: skip
    return given | fields


def test_a_row_is_held_against_the_floor_of_its_graph() -> None:
    (found,), left = floor.verdicts([row()], DEVICES)
    expected = least_time(floor_programs.graph_of("scaled", {"n": 1 << 20}), SMALL_PROCESSOR)
    assert found.floor == expected and not left
    assert found.reach == expected.seconds / 1e-3 and not found.broken
    (quick,), _ = floor.verdicts([row(median_ms=1e3 * expected.seconds, least_ms=0.9e3 * expected.seconds)], DEVICES)
    assert quick.broken  # the least of the calls counts, not their median


def test_warm_rows_have_lower_floors_than_cold_ones() -> None:
    found, _ = floor.verdicts([row(state=s) for s in ("cold", "warm", None)], DEVICES)
    cold, warm, unsaid = (v.floor.seconds for v in found)
    assert warm == unsaid < cold


def test_peers_and_cuda_rows_are_held_too() -> None:
    shape = {"m": 1024, "n": 1024, "k": 1024}
    rows = [
        row(device=GPU, suite="cuda.gemm", program="matmul", shape=shape, dtype="bf16", system=s) for s in ("a", "b")
    ]
    found, _ = floor.verdicts(rows, DEVICES)
    assert [v.floor.binding.what for v in found] == ["matrix bf16"] * 2
    shape = {"m": 4096, "n": 4096, "k": 4096}
    (tf32,), _ = floor.verdicts(
        [row(device=GPU, suite="cuda.gemm", program="matmul", shape=shape, dtype="tf32")], DEVICES
    )
    assert tf32.floor.binding.what == "matrix tf32"


def test_rows_that_cannot_be_held_are_counted_by_their_reason() -> None:
    rows = [
        row(suite="saturate"), row(median_ms=None), row(failed="it broke"), row(device="a toaster"),
        row(suite="minilm", program="minilm", shape={"sentences": 8}), row(program="unheard of"),
    ]  # fmt: skip
    found, left = floor.verdicts(rows, DEVICES)
    assert not found
    assert left == {
        "no kernel: times of saturation": 1, "no time": 2, "no constants of a toaster": 1,
        "graphs of minilm are not known": 1, "graphs of floor.c are not known": 1,
    }  # fmt: skip


def test_too_fast_a_row_ends_with_status_1_and_its_floor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "log.jsonl"
    log.append([row(), row(shape={"n": 4099})], file)
    assert command.main(["floor", "--log", str(file)]) == 0
    text = capsys.readouterr().out
    assert "2 rows held against their floors, 0 faster than theirs" in text and "estimates, which prove nothing" in text
    log.append([row(median_ms=1e-4)], file)
    assert command.main(["floor", "--log", str(file), "--all"]) == 1
    text = capsys.readouterr().out
    assert "FASTER THAN ITS FLOOR: floor.c/scaled n=1048576" in text and "100 ns floor" in text and "by memory" in text
    assert "3 rows held against their floors, 1 faster than theirs" in text


def test_constants_of_a_file_come_before_estimates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from dataclasses import replace

    file = tmp_path / "constants.json"
    mine = replace(SMALL_PROCESSOR, name="some processor", when="yesterday")
    file.write_text(json.dumps({"devices": [_record(Probed(mine, {}, 3, 1.0))]}))
    assert floor.devices_of([CPU, GPU, "a toaster"], [file]) == {CPU: mine, GPU: H200}
    assert floor.devices_of([CPU])[CPU] == SMALL_PROCESSOR
    file.write_text("nothing")
    assert command.main(["floor", "--constants", str(file)]) == 1
    assert "no constants can be read" in capsys.readouterr().err


def test_every_program_has_its_sizes_and_its_graph() -> None:
    cases = list(floor_programs.cases())
    assert len(cases) >= 100 and {name for name, _ in cases} == floor_programs.PROGRAMS.keys()
    for name, sizes in cases:
        graph = floor_programs.graph_of(name, sizes)
        assert not graph.dims() and tensors_of(graph.outputs)


def test_measured_rows_are_read_again(tmp_path: Path) -> None:
    rows = list(floor_measure.rows(0.01, "scaled n=4099", Stage(2, 1 << 22)))
    assert [r["state"] for r in rows] == ["cold", "warm"]
    for r in rows:
        assert 0 < r["least_ms"] <= r["median_ms"] and r["calls"] >= 5 and "Y: " in r["schedule"]
        assert r["moved"] == [4 * 4099] * 2 and r["stream"] in WAYS and 0 < r["stream_ms"] < 1000
        assert r["of_stream"] > 0
    file = tmp_path / "log.jsonl"
    log.append(rows, file)
    found, left = floor.verdicts(log.read(file), {str(rows[0]["device"]): SMALL_PROCESSOR})
    assert len(found) == 2 and not left


def test_a_direct_call_computes_what_the_graph_says() -> None:
    import numpy as np

    graph = floor_programs.graph_of("scaled", {"n": 61})
    call, _ = floor_measure.prepared(graph)
    inputs: Any = call.held[0]  # type: ignore[index]
    call.results["Y"][:] = np.nan
    call()
    assert np.array_equal(call.results["Y"], inputs["X"] * 2 + 1)
    call.results["Y"][:] = np.nan
    for cold in (False, True):
        call.results["Y"][:] = np.nan
        assert 0 < Stage(2, 1 << 20).seconds(call, cold) < 1
        assert np.array_equal(call.results["Y"], inputs["X"] * 2 + 1)


# Streams and rounds


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("read", "written"), [(1 << 14, 1 << 14), (1 << 15, 1 << 13), (640, 1 << 14), (1 << 13, 0), (0, 4096)]
)
def test_a_stream_writes_all_that_it_says(way: str, read: int, written: int) -> None:
    import numpy as np

    stage = Stage(2, 1 << 20)
    for cold in (False, True):
        assert 0 < stage.stream_seconds(read, written, way, cold) < 1
        lines = stage._to[:written].view(np.float32).reshape(-1, 16)
        parts = 1 if way == "alone" else 2
        each = np.tile(1.5 + np.arange(len(lines) // parts), parts)
        assert np.array_equal(lines, np.repeat(each[:, None], 16, axis=1))
        stage._to[:] = 0
    assert (stage._memory.view(np.float32) == 1.0).all()  # all threads flushed


def test_rounds_take_everything_in_turns_until_the_time_is_over() -> None:
    now, calls = [0.0], []

    def sample(name: str, seconds: float) -> Any:
        def take() -> float:
            calls.append(name)
            now[0] += seconds
            return seconds * (1 + len(calls))

        return take

    timed = {"kernel": sample("kernel", 1.0), "plain": sample("plain", 2.0)}
    found = floor_measure.rounds(timed, 21.5, lambda: now[0])
    assert {len(v) for v in found.values()} == {8}  # 7 rounds of 3 s are not over 21.5 s
    assert calls[:2] == ["kernel", "plain"]  # the round that does not count
    pairs = {tuple(calls[k : k + 2]) for k in range(2, len(calls), 2)}
    assert pairs == {("kernel", "plain"), ("plain", "kernel")}
    few = {name: len(v) for name, v in floor_measure.rounds(timed, 0.0, lambda: now[0]).items()}
    assert few == {"kernel": floor_measure.LEAST, "plain": floor_measure.LEAST}


def test_the_share_of_a_stream_is_taken_round_by_round() -> None:
    """The machine is twice as slow in the last round: ratios of rounds do not see it."""
    taken = {"kernel": [2.0, 2.0, 8.0], "plain": [5.0, 5.0, 5.0], "past": [1.0, 1.0, 4.0]}
    assert floor_measure.share(taken) == ("past", 1.0, 0.5)


def test_what_must_be_moved_is_each_element_once() -> None:
    assert floor_measure.moved(floor_programs.graph_of("added", {"m": 3, "n": 5})) == (120, 60)
    assert floor_measure.moved(floor_programs.graph_of("summed", {"n": 7})) == (28, 4)
    assert floor_measure.moved(floor_programs.graph_of("scaled_bf16", {"n": 7})) == (14, 14)


def test_enough_cases_exceed_the_last_cache_twice() -> None:
    least = 2 * SMALL_PROCESSOR.levels[-2].total
    large = [c for c in floor_programs.cases() if sum(floor_measure.moved(floor_programs.graph_of(*c))) >= least]
    assert len(large) >= 40 and len({name for name, _ in large}) >= 20


# Classes, pages and plots


def verdicts_of(*rows: log.Row) -> list[floor.Verdict]:
    found, left = floor.verdicts(rows, DEVICES)
    assert not left
    return found


def test_rows_are_told_apart_by_what_binds() -> None:
    large, small, product = verdicts_of(
        row(shape={"n": 1 << 24}), row(shape={"n": 1 << 20}),
        row(program="matmul", shape={"m": 512, "n": 512, "k": 512}),
    )  # fmt: skip
    assert [v.kind for v in (large, small, product)] == ["memory", "small", "arithmetic"]
    assert small.floor.binding.what == "memory"  # its bytes are priced as memory's, but most may stay in the cache


def test_only_the_newest_of_equal_measurements_counts_in_summaries() -> None:
    found = verdicts_of(row(median_ms=3.0), row(median_ms=2.0), row(state="warm"), row(system="another"))
    assert [v.row["median_ms"] for v in floor.newest(found)] == [2.0, 1.0, 1.0]


def test_reach_and_share_of_a_stream_stand_apart() -> None:
    some = verdicts_of(row(shape={"n": 1 << 24}, median_ms=20.0, of_stream=0.9, moved=[1 << 26, 1 << 26]))
    text = floor.report(some, {}, DEVICES)
    assert f"memory, the newest 1: reach {some[0].reach:.2f} to" in text
    assert "of a stream in the same run 0.90 to 0.90, median 0.90" in text
    tables = floor_page.tables(some, DEVICES)
    assert "0.90" in tables["stream"] and "0.90" not in tables["summary"]
    assert f"| memory | cold | 1 | {some[0].reach:.2f} |" in tables["summary"]
    assert tables["memory"].splitlines()[2].startswith("| scaled | n=16777216 | 67 | 67 |")
    assert tables["cuda"] == "Nothing was measured yet."
    machine = f"{some[0].reach / 0.9:.2f}"
    assert tables["shares"].splitlines()[2].endswith(f"| cold | 1 | {some[0].reach:.2f} | {machine} | 0.90 |")
    slower = row(shape={"n": 1 << 25}, median_ms=20.0 * 4, of_stream=0.5, moved=[1 << 27, 1 << 27])
    both = verdicts_of(slower, row(shape={"n": 1 << 24}, median_ms=20.0, of_stream=0.9, moved=[1 << 26, 1 << 26]))
    (line,) = floor_page.tables(both, DEVICES)["shares"].splitlines()[2:]
    assert "| cold | 2 | " in line and line.endswith("| 0.70 (0.60 to 0.80) |")


def test_tables_are_written_between_the_markers_of_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, page = tmp_path / "log.jsonl", tmp_path / "page.md"
    log.append([row(shape={"n": 1 << 24}, of_stream=0.9, moved=[1 << 26, 1 << 26])], file)
    names = tuple(floor_page.tables([], {}))
    page.write_text("before\n" + "".join(f"<!-- floor {n}: begin -->\nSTALE\n<!-- floor {n}: end -->\n" for n in names))
    command.main(["floor", "--log", str(file), "--page", str(page)])
    text = page.read_text()
    assert text.startswith("before\n") and "STALE" not in text and "| scaled | n=16777216 |" in text
    command.main(["floor", "--log", str(file), "--page", str(page)])
    assert page.read_text() == text
    page.write_text("nothing")
    capsys.readouterr()
    assert command.main(["floor", "--log", str(file), "--page", str(page)]) == 1
    assert capsys.readouterr().err == (
        f"the page has 0 places for the table 'devices'\n  where: {page}\n  mend:  put one line "
        "<!-- floor devices: begin --> and one line <!-- floor devices: end --> into it\n"
    )
    assert page.read_text() == "nothing"
    assert command.main(["floor", "--log", str(file), "--page", str(tmp_path / "none")]) == 1
    assert "the page cannot be read" in capsys.readouterr().err


def test_the_plot_of_equal_rows_is_the_same_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    some = verdicts_of(
        row(shape={"n": 1 << 24}, of_stream=0.9), row(state="warm"),
        row(device=GPU, suite="cuda.gemm", program="matmul", shape={"m": 1024, "n": 1024, "k": 1024}, dtype="bf16"),
    )  # fmt: skip
    first, second = tmp_path / "a.svg", tmp_path / "b.svg"
    floor_plot.write(first, some)
    floor_plot.write(second, some)
    text = first.read_text()
    assert text == second.read_text() and "memory, cold (1, median 0.90)" in text and len(text) < 200_000
    floor_plot.write(second, some[:1])
    assert second.read_text() != text
    file = tmp_path / "log.jsonl"
    assert command.main(["floor", "--log", str(file), "--plot", "figure.doc"]) == 1
    assert capsys.readouterr().err == (
        "no figure can be written as '.doc'\n  where: figure.doc\n  mend:  one of .svg, .png\n"
    )


def test_operators_in_chunks_are_not_held_against_the_sums_that_they_avoid() -> None:
    from bench.cpu_programs import OPERATORS
    from bench.floor import graph_of

    chunked = [o for o in OPERATORS.values() if o.chunk]
    assert chunked
    for o in chunked:
        assert graph_of("cpu", o.name, o.sizes, "f32") is None
    plain = next(o for o in OPERATORS.values() if not o.chunk)
    assert graph_of("cpu", plain.name, plain.sizes, "f32") is not None
    for c in cuda_cells.cells():
        assert (floor.graph_of(c.suite, c.program, c.shape, c.dtype) is None) == bool(c.chunk), c.title
