"""Random graphs on targets: a fixed sample; and a failure is made smaller, written, and found again from its files."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tang_egg.errors import TargetError
from tang_egg.verify_step import HostSteps
from tests.fuzz import finished
from tests.fuzz_targets import Failure, Tally, attempt, opened, replayed, shrunk, written
from tests.strategies import random_instance

SAMPLE = {
    "wgsl": (0, 400149), "glsl": (28, 400309), "metal": (1, 400219), "opencl": (2, 400009),
    "c": (4, 20109, 30872, 40189, 50918, 60108, 60134, 400861),
}  # fmt: skip
"""Seeds; all but 1, 2 and 4 once failed."""


@pytest.fixture(autouse=True)
def plain_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_CFLAGS", "-O1")


@pytest.mark.parametrize("target", SAMPLE)
def test_random_graphs_run_as_they_say(target: str) -> None:
    try:
        opened(target)
    except TargetError as error:
        pytest.skip(str(error))
    tally = Tally()
    for seed in SAMPLE[target]:
        edges = seed % 5 == 4
        found = attempt(random_instance(seed, edges=edges), target, Random(seed), tally, edges=edges)
        assert found is None, found.said
    assert tally.kernels, tally.refused


def test_a_failure_is_made_smaller_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = next(x for x in map(random_instance, range(50)) if len(x.graph.outputs) > 1 and x.graph.outputs[0].axes)
    plain = HostSteps.call

    def nothing(self: HostSteps, b: object, rooms: object, workspace: object, dims: object) -> None: ...

    monkeypatch.setattr(HostSteps, "call", nothing)
    found = attempt(instance, "c", Random(0), Tally())
    assert isinstance(found, Failure) and found.kind in ("unwritten", "wrong")
    small = shrunk(found, Tally(), tries=4)
    assert len(small.instance.graph.outputs) == 1
    path = written(small, tmp_path, "small")
    again = replayed(path)
    assert again is not None and again.kind == small.kind
    monkeypatch.setattr(HostSteps, "call", plain)
    assert replayed(path) is None


def test_a_log_says_what_is_done(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    assert finished(log) == {}
    log.write_text('["1 c", "begun"]\n["1 c", "ok"]\n["2 c", "begun"]\n["3 c", "be')
    assert finished(log) == {"1 c": "ok", "2 c": "begun"}
