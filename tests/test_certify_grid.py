"""Certified selection on devices of plain threads: timed where there is one, refused where no constants are known."""

from __future__ import annotations

import time
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg.cost.estimates import SMALL_PROCESSOR
from tang_egg.errors import TargetError
from tang_egg.extract.certify import Budget
from tang_egg.extract.certify_ledger import Ending, Refused, Timed, Trial
from tang_egg.extract.space import Floor, SpaceKernel, key_of, standalone
from tang_egg.ir import apply, const
from tang_egg.measure_pace import BUILD, COMPARE, REPEAT, Pace
from tang_egg.measure_single_cuda import CudaKernels
from tang_egg.measure_single_grid import GridKernels
from tang_egg.pipeline import certify, extract_for, optimize
from tang_egg.pipeline_certify_check import check
from tang_egg.probe_store import store
from tang_egg.program import single_program
from tang_egg.saturate import Limits
from tang_egg.schedule import parse_schedule
from tang_egg.targets import target
from tests.grid_programs import device


def softmax(n: int = 9) -> te.Graph:
    return te.graph("softmax", P=te.softmax(te.input("X", (n, 67))))


def squares() -> te.Graph:
    i, j = te.indices("i j")
    x = te.input("X", (9, 67))
    return te.graph("squares", S=te.tensor(None, i, te.sum(j, x[i, j] * x[i, j])))


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TANG_CACHE", str(tmp_path))
    return tmp_path


def kernel(graph: te.Graph, *schedules: str) -> SpaceKernel:
    outputs = standalone(graph.outputs)
    parsed = tuple(map(parse_schedule, schedules))
    return SpaceKernel(key_of(outputs), outputs, parsed, (Floor(1e-7),) * len(parsed), (1e-6,) * len(parsed))


def grid_measurer(language: str, **fields: Any) -> GridKernels:
    opened = device(language)
    return GridKernels(opened, lambda p, s: target(language).compile(p, s, opened), **fields)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("language", ["opencl", "wgsl", "glsl", "metal"])
def test_without_constants_a_search_says_how_to_measure_them(language: str, own_cache: Path) -> None:
    device(language)
    with pytest.raises(TargetError) as error:
        optimize(softmax(), language, seconds=1)
    assert error.value.what == (f"no constants of a device are known for '{language}', so that a search has no floors")
    probed = {"opencl": "opencl", "wgsl": "wgsl", "glsl": "wgsl"}.get(language)
    assert error.value.mend == (
        f"measure them once: tang-doctor --probe --target {probed}"
        if probed
        else "leave seconds and gap away: there are no probes of 'metal'"
    )


@pytest.mark.parametrize("language", [pytest.param("opencl", marks=pytest.mark.nightly), "wgsl"])
def test_a_search_times_kernels_and_gives_a_certificate(language: str, own_cache: Path) -> None:
    device(language)
    store(replace(SMALL_PROCESSOR, target=language, driver="test"))
    found = optimize(squares(), language, gap=0.0)
    assert found.certificate is not None and found.certificate.target == language
    assert found.certificate.counts.timed + found.certificate.counts.known > 0 and found.certificate.total < inf
    assert found.certificate.stopped == "measured" and found.certificate.counts.open == 0
    x = np.random.default_rng(0).standard_normal((9, 67)).astype(np.float32)
    np.testing.assert_allclose(found(x), te.interpret(squares(), {"X": x})["S"], rtol=1e-5)
    again = certify(squares(), language, Budget(gap=0.0))
    assert again.certificate.counts.known > 0  # what was measured is kept
    checked = check(found.certificate, lambda g, name, values: extract_for(name, g, Limits(values=values)), squares())
    assert checked.schedules == found.certificate.counts.schedules


@pytest.mark.parametrize("cache", ["warm", "cold"])
def test_schedules_of_one_kernel_are_compared_and_timed(cache: str) -> None:
    measurer = grid_measurer("opencl", cache=cache)
    (axis,) = (i.name for i in softmax().outputs[0].axes[:1])
    k = kernel(softmax(), f"grid grid={axis}", "mma", "grid")
    first, refused, last = measurer.measure([Trial(k, n) for n in range(3)], 0.2)
    assert isinstance(first, Timed) and isinstance(last, Timed) and min(first.median, last.median) > 0
    assert isinstance(refused, Refused) and refused.kind == "lowering"
    assert measurer.pace.count == {BUILD: 3, COMPARE: 1, REPEAT: 1}
    assert isinstance(measurer, Ending) and measurer.ending(2) == 2 * measurer.ending(1) > 0


def test_what_would_end_late_is_not_begun() -> None:
    measurer = grid_measurer("opencl")
    measurer.pace.slowest = {BUILD: 5.0, COMPARE: 5.0}
    begun = time.perf_counter()
    assert measurer.measure([Trial(kernel(softmax(), "grid"), 0)], 0.1, 8.0) == [None]
    assert time.perf_counter() - begun < 1.0


def test_nvrtc_is_not_begun_where_it_would_end_late() -> None:
    measurer = CudaKernels(pace=Pace({BUILD: 5.0, COMPARE: 1.0}))
    assert measurer.measure([Trial(kernel(softmax(), "grid"), 0)], 0.1, 5.0) == [None]
    refused = measurer.measure([Trial(kernel(softmax(), "mma"), 0)], 0.1, 5.0)[0]
    assert isinstance(refused, Refused) and refused.kind == "lowering"  # what cannot be printed costs no compiler
    spent = CudaKernels(pace=Pace({}, {BUILD: 6.0, COMPARE: 4.0}, {BUILD: 2, COMPARE: 4}))
    assert isinstance(spent, Ending) and spent.ending(1) == 3.0 + 1.0 and CudaKernels().ending(4) == 0.0


def test_a_wrong_kernel_is_refused() -> None:
    measurer = grid_measurer("opencl")
    k, compile_ = kernel(softmax(), "grid"), measurer.compile
    wrong = tuple(replace(t, body=apply("mul", t.body, const(1.5))) for t in k.outputs)
    measurer.compile = lambda _, schedules: compile_(single_program(wrong), schedules)
    (found,) = measurer.measure([Trial(k, 0)], 0.1)
    assert isinstance(found, Refused) and found.kind == "wrong"


def test_the_pace_of_steps_keeps_the_slowest_and_the_mean() -> None:
    pace = Pace()
    assert pace.each(BUILD) == 0.0 and pace.room(time.perf_counter() + 0.01, BUILD)
    for _ in range(2):
        with pace.step(BUILD):
            time.sleep(0.01)
    assert 0.01 <= pace.each(BUILD) <= pace.slowest[BUILD]
    assert not pace.room(time.perf_counter() + 0.005, BUILD) and pace.room(inf, BUILD)
