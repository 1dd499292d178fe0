"""tune_precision: moves of single buffers, kept within an error budget and where they are clearly faster."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg.cli_compile import main
from tang_egg.errors import InputError
from tang_egg.extract.certify_ledger import Timed
from tang_egg.ops import BYTES
from tang_egg.pipeline import optimize
from tang_egg.program import Program
from tang_egg.ranges import Range
from tang_egg.tune_measure import Calls
from tang_egg.tune_moves import Move, applied, moves_of, step_of, temporaries
from tang_egg.tune_types import tune_precision

WIDE = te.ErrorBudget(relative=0.1, ranges={"X": (-2, 2), **dict.fromkeys("VWU", (-0.5, 0.5))})


def mlp(n: int = 7, k: int = 13, m: int = 32) -> te.Graph:
    """Three layers: one kernel nests two of them at most, so that there is a temporary."""
    x, v, w, u = te.input("X", (n, k)), te.input("V", (k, m)), te.input("W", (m, k)), te.input("U", (k, m))
    first = te.pointwise(te.tanh, te.linear(x, v))
    return te.graph("mlp", Y=te.linear(te.pointwise(te.tanh, te.linear(first, w)), u))


class Bytes:
    """A call takes as long as its inputs and temporaries have bytes, give or take `noise`."""

    def __init__(self, noise: float = 0.0, seed: int = 0) -> None:
        self.noise, self.rng, self.asked = noise, np.random.default_rng(seed), 0

    def measure(self, programs: Sequence[tuple[Any, Mapping[str, Any]]], dims: Mapping[str, int]) -> list[Timed]:
        self.asked += 1
        return [self._timed(runner.program) for runner, _ in programs]

    def _timed(self, program: Program) -> Timed:
        held = (*program.graph.inputs, *temporaries(program))
        size = sum(BYTES[s.dtype] * int(np.prod([n.evaluate({}) for n in s.shape])) for s in held)
        return Timed(size * 1e-6 * (1 + self.noise * self.rng.uniform(-1, 1)), size * 2.2e-6 * self.noise, 15)


class Same:
    """Every program takes the same time."""

    def measure(self, programs: Sequence[tuple[Any, Mapping[str, Any]]], dims: Mapping[str, int]) -> list[Timed]:
        return [Timed(1e-6, 1e-8, 15) for _ in programs]


@pytest.fixture(scope="module")
def tuned() -> Any:
    return tune_precision(mlp(), WIDE, inputs=["V"], measurer=Bytes())


def test_moves_that_shrink_buffers_within_the_budget_are_kept(tuned: Any) -> None:
    (t,) = temporaries(tuned.compiled.program)
    kept = [str(m).split(" in ")[0] for m in tuned.kept]
    assert kept[:2] == ["V: f32 → f16", "V: f16 → i8"] and kept[2:] == [f"{t.name}: f32 → f16", f"{t.name}: f16 → i8"]
    refused = [t for t in tuned.tried if t.verdict == "refused"]
    assert refused and all("not clearly faster" in t.why for t in refused)
    assert {i.name: i.dtype for i in tuned.compiled.graph.inputs} == {"X": "f32", "V": "i8", "W": "f32", "U": "f32"}
    assert t.dtype == "i8"


def test_the_lowered_program_is_as_far_from_the_graph_as_it_says(tuned: Any) -> None:
    rng = np.random.default_rng(3)
    given = {i.name: rng.uniform(*WIDE.ranges[i.name], [n.evaluate({}) for n in i.shape]) for i in mlp().inputs}  # type: ignore[misc]
    arrays = {n: a.astype(np.float32) for n, a in given.items()}
    got, exact = tuned.compiled(**tuned.given(**arrays)), te.interpret(mlp(), arrays)["Y"]
    error = np.abs(got - exact).max() / np.abs(exact).max()
    assert 1e-5 < error < 0.1  # it is no f32 any more, and within the budget
    assert all(t.error <= 0.1 for t in tuned.tried if t.verdict == "kept")


def test_the_record_is_json_with_every_move(tuned: Any) -> None:
    record = json.loads(tuned.json())
    assert [m["verdict"] for m in record["moves"]] == [t.verdict for t in tuned.tried]
    assert record["graph"] == "mlp" and record["target"] == "c" and record["stopped"] == "all were tried"
    assert str(tuned).startswith(f"4 of {len(tuned.tried)} moves kept, all were tried")


def test_a_strict_budget_refuses_every_move_with_the_error_that_was_measured() -> None:
    found = tune_precision(mlp(), te.ErrorBudget(ranges=WIDE.ranges), measurer=Bytes())
    assert not found.kept and found.compiled.graph == mlp()
    assert all("beyond the error budget: output 'Y' is off by" in t.why and t.error for t in found.tried)


def test_what_is_not_clearly_faster_stays_and_noise_decides_nothing() -> None:
    assert not tune_precision(mlp(), WIDE, measurer=Same()).kept
    runs = [tune_precision(mlp(), WIDE, inputs=["W"], measurer=Bytes(0.01, seed)).kept for seed in (1, 2)]
    assert runs[0] == runs[1] != ()


def test_ranges_rule_out_types_before_anything_is_built() -> None:
    x, v, w, u = (te.input(name, (16, 16)) for name in "XVWU")
    large = te.pointwise(lambda a: a * 1e6, te.linear(te.linear(x, v), w))
    graph = te.graph("large", Y=te.linear(te.linear(large, u), u))
    wide = te.ErrorBudget(relative=0.5, ranges=dict.fromkeys("XVWU", (-100.0, 100.0)))
    watch = Bytes()
    found = tune_precision(graph, wide, measurer=watch)
    first = next(t for t in found.tried if t.move.after == "f16")
    assert first.verdict == "refused" and "beyond the 65504 of f16" in first.why and first.error is None
    assert watch.asked < len(found.tried)  # nothing was built for it


def test_an_8_bit_buffer_needs_a_range(tuned: Any) -> None:
    unknown = te.ErrorBudget(relative=0.1)
    found = tune_precision(mlp(), unknown, inputs=["V"], measurer=Same())
    (why,) = [t.why for t in found.tried if t.move.after == "i8" and t.move.buffer == "V"]
    assert why == "no finite range of its values is known, which would give 8 bits their scale"
    assert step_of(Range()) == 0.0 and step_of(Range(-127.0, 3.0)) == 1.0


def test_without_time_all_moves_stay_open_and_the_program_is_right() -> None:
    found = tune_precision(mlp(), WIDE, seconds=0, measurer=Bytes())
    assert found.tried and {t.verdict for t in found.tried} == {"open"} and found.stopped == "the time was over"
    assert found.compiled.verification is not None


def test_states_of_doubles_may_be_singles() -> None:
    a, b = te.input("A", (9, 17), "f64"), te.input("B", (17, 8), "f64")
    graph = te.graph("double", C=te.matmul(a, b))

    class Faster:
        def measure(self, programs: Sequence[Any], dims: Mapping[str, int]) -> list[Timed]:
            return [Timed(2e-6 / (n + 1), 1e-9, 15) for n in range(len(programs))]

    kept = tune_precision(graph, te.ErrorBudget(relative=1e-3), measurer=Faster())
    assert [str(m) for m in kept.kept] == ["states of C: f64 → f32"]
    assert "accumulate=f32" in kept.compiled.schedule["C"]
    strict = tune_precision(graph, te.ErrorBudget(), measurer=Faster())
    assert not strict.kept and "beyond the error budget" in strict.tried[0].why


def test_a_move_changes_storage_and_nothing_else() -> None:
    program = optimize(mlp(), verified=False).program
    (t,) = temporaries(program)
    moved = applied(program, Move(t.name, "temporary", "f32", "i8", 0.01))
    rng = np.random.default_rng(1)
    data = {i.name: rng.uniform(-1, 1, [n.evaluate({}) for n in i.shape]) for i in program.graph.inputs}
    before = te.interpret(te.Graph("h", program.graph.inputs, program.tensors[:1]), data)[t.name]
    after = te.interpret(te.Graph("h", program.graph.inputs, moved.tensors[:1]), data)[t.name]
    np.testing.assert_array_equal(after, np.clip(np.floor(before / 0.01 + 0.5), -127, 127))
    assert moves_of(program, (), {"Y": "f32"}, {}) and all(m.kind == "temporary" for m in moves_of(program, (), {}, {}))


@pytest.mark.parametrize(
    ("given", "what", "mend"),
    [
        ({"seconds": -1}, "seconds=-1 is no time", "give a number from 0 on"),
        ({"seconds": True}, "seconds=True is no time", "give a number from 0 on"),
        ({"inputs": "X"}, "inputs is a value of type str", "give True for all inputs"),
        ({"inputs": ["Q"]}, "'Q' is no input whose type can be lowered", "name some of: X, V, W, U"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], what: str, mend: str) -> None:
    with pytest.raises(InputError) as error:
        tune_precision(mlp(), **given)
    assert error.value.what == what and mend in error.value.mend and "tune_precision" in error.value.where


def test_a_budget_of_an_impossible_relative_error_is_refused() -> None:
    with pytest.raises(InputError, match="a budget of relative error -1"):
        te.ErrorBudget(relative=-1)


def test_real_measurements_give_a_program_within_its_budget() -> None:
    found = tune_precision(mlp(), WIDE, seconds=30, inputs=["V"], measurer=Calls(rounds=5, seconds=0.1))
    assert all(t.seconds and min(t.seconds) > 0 for t in found.tried if t.verdict == "kept" or "faster" in t.why)
    arrays = {i.name: np.full([n.evaluate({}) for n in i.shape], 0.25, np.float32) for i in mlp().inputs}
    got, exact = found.compiled(**found.given(**arrays)), te.interpret(mlp(), arrays)["Y"]
    assert np.abs(got - exact).max() <= 0.1 * np.abs(exact).max()


def test_the_command_tells_its_moves_and_writes_a_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "mlp.tang"
    source.write_text(str(mlp()))
    weights = {"V": np.full((13, 32), 0.25), "W": np.full((32, 13), -0.5), "U": np.full((13, 32), 0.5)}
    np.savez(tmp_path / "w.npz", **{n: a.astype(np.float32) for n, a in weights.items()})  # type: ignore[arg-type]
    options = ["--weights", str(tmp_path / "w.npz"), "--tune-precision", "0.01", "--tune-seconds", "20", "--check"]
    assert main([str(source), "-o", str(tmp_path / "out"), *options]) == 0
    said = capsys.readouterr().out
    assert "moves kept, " in said and "V: f32 → f16" in said and "built by" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--tune-precision", "2"], "a relative error of 2 is no budget"),
        (["--tune-precision", "0.1", "--tune-seconds", "0"], "0 seconds are no time"),
    ],
)
def test_the_command_refuses_budgets_that_make_no_sense(
    options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["softmax", "-o", str(tmp_path / "x"), *options]) == 2
    assert said in capsys.readouterr().err
