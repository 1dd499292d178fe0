"""The suite floor.cuda without a GPU: its cases, what is timed, what is said of those that fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from bench import __main__ as command
from bench import floor, floor_cuda
from bench.floor_cuda import Case
from tang_egg.cost.estimates import H200
from tang_egg.errors import VerificationError
from tang_egg.measure_cuda import DeviceTiming


class Pretended:
    """A GPU on which every call takes a millisecond, or twice that in a series."""

    device, driver, cache = "NVIDIA H200", "1.0", 60 << 20

    def __init__(self, failing: str = "") -> None:
        self.failing, self.made, self.verified = failing, 0, []  # type: ignore[var-annotated]

    def prepare(self, case: Case, verified: bool) -> tuple[str, Callable[[], Any]]:
        if self.failing and self.failing in case.title:
            raise VerificationError("2 elements of 'Y' are not written", where=case.title)
        self.verified.append((case.title, verified))

        def another() -> Any:
            self.made += 1
            return lambda: None

        return "Y: grid", another

    def time(self, calls: Sequence[Any]) -> DeviceTiming:
        return DeviceTiming(1e-3 * min(2, len(calls)), 1e-5, 9)


def nothing(wanted: Sequence[Case]) -> None:
    """Instead of compiling."""


def test_every_program_comes_once_before_any_comes_again() -> None:
    found = floor_cuda.cases()
    kinds = [(c.program, c.dtype, c.shape.get("d"), c.cell) for c in found]
    first = len(set(kinds))
    assert len(found) >= 60 and len(set(kinds[:first])) == first
    assert {"attention", "matmul", "swiglu", "softmax", "scaled_bf16", "embedding_sum"} <= {c.program for c in found}
    for c in found:
        assert not c.graph().dims()
        held = c.graph() if c.chunks is None else None
        assert floor.graph_of("floor.cuda", c.program, c.shape, c.dtype) == held
    assert {c.program for c in found if c.chunks} == {"linear_attention", "ssd"}


def test_rows_are_cold_and_warm_and_have_floors() -> None:
    machine = Pretended()
    rows = list(floor_cuda.rows(machine, 1e9, "scaled n=134217728|softmax m=65536 n=1536", build=nothing))
    assert [(r["program"], r["state"], r["median_ms"]) for r in rows] == [
        ("scaled", "warm", 1.0), ("scaled", "cold", 2.0), ("softmax", "warm", 1.0), ("softmax", "cold", 2.0),
    ]  # fmt: skip
    assert rows[0]["moved"] == [1 << 29, 1 << 29] and rows[0]["device"] == "NVIDIA H200"
    assert machine.made == 4  # more than twice the cache: one other set of arrays puts them out of it
    assert not any(v for _, v in machine.verified)  # too large for the interpreter
    found, left = floor.verdicts(rows, {"NVIDIA H200": H200})
    assert not left and [v.kind for v in found] == ["memory"] * 4


def test_small_cases_are_verified_and_those_that_fit_the_cache_many_times_are_not_cold(
    capsys: pytest.CaptureFixture[str],
) -> None:
    machine = Pretended()
    rows = list(floor_cuda.rows(machine, 1e9, "^conv2d", build=nothing))
    assert machine.verified and all(v for _, v in machine.verified)
    assert [r["state"] for r in rows] == ["warm", "cold"] * 2
    machine.cache = 1 << 40
    assert [r["state"] for r in floor_cuda.rows(machine, 1e9, "^conv2d", build=nothing)] == ["warm"] * 2
    assert "too small to be measured cold" in capsys.readouterr().err


def test_what_fails_is_said_and_the_others_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(floor_cuda.rows(Pretended("softmax m=65536"), 1e9, "(scaled n=134|softmax m=65536)", build=nothing))
    assert {r["program"] for r in rows} == {"scaled"}
    assert "softmax m=65536 n=1536 f32: not measured: 2 elements of 'Y' are not written" in capsys.readouterr().err


def test_the_budget_ends_it_and_what_is_left_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    now = iter(range(1000))
    rows = list(floor_cuda.rows(Pretended(), 2.5, "scaled n=", lambda: float(next(now)), nothing))
    assert [r["state"] for r in rows] == ["warm", "cold"]
    assert "2.5 s have passed; not measured: scaled n=33554432 f32" in capsys.readouterr().err


def test_without_a_gpu_it_says_what_is_missing(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert command.main(["floor", "--log", str(tmp_path / "log"), "--measure-cuda"]) == 1
    assert capsys.readouterr().err == (
        "the suite floor.cuda cannot run: torch sees no GPU\n  where: python -m bench floor --measure-cuda\n"
        "  mend:  run it where nvidia-smi shows a GPU, with torch and CuPy (tang_egg[cuda])\n"
    )
