"""`python -m bench floor` finds rows that are faster than their floor, and says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench import __main__ as command
from bench import floor, floor_measure, floor_programs, log
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
    assert len(cases) >= 60 and {name for name, _ in cases} == floor_programs.PROGRAMS.keys()
    for name, sizes in cases:
        graph = floor_programs.graph_of(name, sizes)
        assert not graph.dims() and tensors_of(graph.outputs)


def test_measured_rows_are_read_again(tmp_path: Path) -> None:
    rows = list(floor_measure.rows(0.01, "scaled n=4099"))
    assert [r["state"] for r in rows] == ["cold", "warm"]
    for r in rows:
        assert 0 < r["least_ms"] <= r["median_ms"] and r["calls"] >= 5 and "Y: " in r["schedule"]
    file = tmp_path / "log.jsonl"
    log.append(rows, file)
    found, left = floor.verdicts(log.read(file), {str(rows[0]["device"]): SMALL_PROCESSOR})
    assert len(found) == 2 and not left


def test_a_direct_call_computes_what_the_graph_says() -> None:
    import numpy as np

    graph = floor_programs.graph_of("scaled", {"n": 61})
    call, _ = floor_measure.prepared(graph)
    inputs, results, _ = call.__defaults__[0]  # type: ignore[attr-defined]
    results["Y"][:] = np.nan
    call()
    assert np.array_equal(results["Y"], inputs["X"] * 2 + 1)
