"""Classic bugs, seeded into printed kernels: each is found, in the right kernel and buffer; unchanged kernels pass."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from _pytest.mark import ParameterSet

import tang_egg as te
from tang_egg.errors import GraphError, TargetError
from tang_egg.ir import StateRef, apply, const
from tang_egg.monoid import AFFINE, MAX, Component, Monoid
from tang_egg.rules.law import Law, Table, free_of
from tang_egg.rules.pattern import TRUE, Name, Var, fold
from tang_egg.targets import target
from tang_egg.verify_graph import Report, verify_graph
from tang_egg.verify_step import Edit
from tests.laws.instantiate import finite, instantiate
from tests.mutate import Seeded
from tests.seeded_bugs import BUGS, PROGRAMS, Bug


@cache
def usable(name: str) -> str:
    """Nothing, or why a target cannot be used here."""
    if name in ("wgsl", "opencl") and importlib.util.find_spec({"wgsl": "wgpu", "opencl": "pyopencl"}[name]) is None:
        return f"{name} is not installed"
    try:
        target(name).open()
    except TargetError as error:
        return str(error)
    return ""


def verified(bug: Bug, edit: Edit | None) -> Report:
    """What verification says of a program on the target and schedule of a bug."""
    if usable(bug.target):
        pytest.skip(usable(bug.target))
    graph = PROGRAMS[bug.program]()
    forced = {graph.outputs[0].name: bug.schedule} if bug.schedule else None
    return verify_graph(
        graph, bug.target, sizes={"n": bug.sizes}, schedule=forced, values=bug.values, sanitize=bug.sanitize, edit=edit,
        shrink=False,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def plain_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_CFLAGS", "-O1")
    monkeypatch.setenv("TANG_METAL", "shim")


def cases(bugs: Iterable[Bug], title: Callable[[Bug], str]) -> list[ParameterSet]:
    """Bugs as cases; those that are much like another one, or take long to build, are left to the nightly run."""
    return [pytest.param(b, id=title(b), marks=() if b.always else pytest.mark.nightly) for b in bugs]


@pytest.mark.parametrize("bug", cases(BUGS, lambda b: f"{b.target}: {b.name}"))
def test_a_seeded_bug_is_found(bug: Bug) -> None:
    seeded = Seeded(bug.pattern, bug.new, once=bug.once)
    report = verified(bug, seeded)
    assert seeded.applied, f"the change did not apply to\n{bug.program} under {bug.schedule}"
    kernel = PROGRAMS[bug.program]().outputs[0].name
    assert not report.ok
    assert {f.kernel for f in report.findings} == {kernel}, str(report)
    found = [f for f in report.findings if f.kind in bug.kinds and f.buffer == bug.buffer and bug.said in f.said]
    assert found, str(report)


CHECKED = {(b.program, b.target, b.schedule, b.values, b.sanitize): b for b in BUGS}
"""One bug of each kernel."""


@pytest.mark.parametrize("bug", cases(CHECKED.values(), lambda b: f"{b.target}: {b.program}: {b.schedule}"))
def test_the_same_kernels_unchanged_pass(bug: Bug) -> None:
    report = verified(bug, None)
    assert report.ok, str(report)


# ---- laws ----


def _wrong_monoids() -> dict[str, Monoid]:
    left, right = StateRef("left", "value"), StateRef("right", "value")
    return {
        "it is not invertible": replace(MAX, name="max_undone", properties=MAX.properties | {"invertible"}),
        "it is not commutative": replace(AFFINE, name="maps", properties=AFFINE.properties | {"commutative"}),
        "its identity is not neutral": Monoid(
            "max_from_0", (Component("value"),), (apply("max", left, right),), (const(0.0),), MAX.properties
        ),
    }


@pytest.mark.parametrize("said", _wrong_monoids())
def test_a_wrong_claim_about_a_monoid_is_found_before_any_kernel(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monoid = _wrong_monoids()[said]
    monkeypatch.setattr("tang_egg.run_toolchain.build", lambda *sources: pytest.fail("a kernel was built"))
    x, (i, j) = te.input("X", (5, 7)), te.indices("i j")
    lifts = [x[i, j]] * len(monoid.components)
    with pytest.raises(GraphError) as error:
        te.optimize(te.graph("g", te.tensor("y", i, te.reduce(monoid, j, *lifts))))
    assert error.value.what.startswith(f"monoid '{monoid.name}': {said}")


def test_a_wrong_law_is_found_without_any_kernel() -> None:
    """A factor leaves a maximum only where it is not negative; the table's own law of a shift is right."""
    table = Table("seeded")
    c, x, j = Var("c"), Var("x"), Name("j")
    wrong = table.law("seeded.max_of_product", fold("max", j, TRUE, c * x), c * fold("max", j, TRUE, x),
                      when=free_of(c, j), holds="finite", rounding="rescales", proof="Fold.hoist_shift")  # fmt: skip
    right = table.law("seeded.max_of_shift", fold("max", j, TRUE, c + x), c + fold("max", j, TRUE, x),
                      when=free_of(c, j), holds="finite", rounding="rescales", proof="Fold.hoist_shift")  # fmt: skip

    def differs(law: Law) -> bool:
        found = [instantiate(law, seed, finite).values() for seed in range(100)]
        return any(not np.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True) for a, b in found)

    assert differs(wrong) and not differs(right)
