"""The solvers of selection: HiGHS and CBC against trying all choices and each other, silence, what is missing."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from itertools import combinations

import pulp
import pytest

from bench import select as bench_select
from tang_egg.egraph import ClassId
from tang_egg.errors import SelectionError
from tang_egg.examples import EXAMPLES
from tang_egg.extract import solver as solver_module
from tang_egg.extract.select import Candidate, in_order, solve
from tang_egg.extract.solver import run, solver, solvers
from tang_egg.pipeline import extract
from tests.certify_cases import candidate
from tests.tree import ROOT

NAMES = ("HiGHS", "PULP_CBC_CMD")


def of_name(name: str) -> pulp.LpSolver:
    found = next(s for s in solvers() if s.name == name)
    if not found.available():
        pytest.skip(f"{name} is not at hand")
    return found


def random_candidates(seed: int, classes: int = 6, count: int = 10) -> list[Candidate]:
    """Kernels of some classes, with circles among them; each class has one that reads nothing."""
    rng = random.Random(seed)
    made = [candidate((c,), (), rng.randint(40, 90)) for c in range(classes)]
    for _ in range(count):
        writes = rng.sample(range(classes), rng.choice((1, 1, 2)))
        others = [c for c in range(classes) if c not in writes]
        made.append(candidate(writes, rng.sample(others, rng.randint(0, min(3, len(others)))), rng.randint(1, 60)))
    rng.shuffle(made)
    return made


def least(candidates: list[Candidate], outputs: tuple[ClassId, ...]) -> float:
    """The least sum of seconds of kernels that can run one after another and write the outputs, by trying all."""
    best = float("inf")
    for count in range(1, len(candidates) + 1):
        for some in combinations(range(len(candidates)), count):
            seconds = sum(candidates[n].estimate.seconds for n in some)
            if seconds < best and len(in_order(candidates, some)) == count:
                if set(outputs) <= {c for n in some for c in candidates[n].writes}:
                    best = seconds
    return best


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(6))
def test_a_solver_finds_what_trying_all_choices_finds(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    only = of_name(name)
    monkeypatch.setattr(solver_module, "solvers", lambda: [only])
    made, outputs = random_candidates(seed, classes=4, count=7), (ClassId(0), ClassId(3))
    own = [k.estimate.seconds for k in made]
    found = solve(made, outputs, own)
    assert sum(own[n] for n in found) == pytest.approx(least(made, outputs), rel=1e-9)
    assert found == solve(made, outputs, own)


@pytest.mark.parametrize("name", ["attention", "transformer_block_layernorm"])
def test_both_solvers_find_the_same_optimum_of_a_program(name: str) -> None:
    extraction = extract(EXAMPLES[name]())
    chosen = sum(w.selection.seconds for w in extraction.distinct) * 1e6
    first, second = (bench_select.solved(extraction, of_name(n)) for n in NAMES)
    assert sum(s.objective for s in first) == pytest.approx(chosen, rel=1e-9)
    assert sum(s.objective for s in second) == pytest.approx(chosen, rel=1e-9)
    assert [(s.variables, s.constraints) for s in first] == [(s.variables, s.constraints) for s in second]


CHOICE = """
import sys
from tang_egg.examples import EXAMPLES
from tang_egg.pipeline import extract
found = extract(EXAMPLES["softmax"]())
choice = repr([[(k.writes, k.terms) for k in w.selection.chosen] for w in found.distinct])
"""


def test_the_suite_gives_a_row_for_each_solver(capsys: pytest.CaptureFixture[str]) -> None:
    rows = bench_select.measure(["attention", "--repeat", "1"])
    assert [r["system"].split()[0] for r in rows] == ["HiGHS", "CBC"][: len(rows)]
    for r in rows:
        assert r["median_ms"] == pytest.approx(r["build_ms"] + r["solve_ms"], abs=0.02)
        assert r["programs"] == 1 and r["variables"] > 10 and r["constraints"] > 5 and r["budget_ms"] == 100
    assert len({r["objective_us"] for r in rows}) == 1
    with pytest.raises(SystemExit):
        bench_select.measure(["nothing"])
    assert "no program is named nothing" in capsys.readouterr().err


def test_selection_prints_nothing_and_is_the_same_in_another_process() -> None:
    own: dict[str, str] = {}
    exec(CHOICE, own)
    command = [sys.executable, "-c", f"{CHOICE}print(choice, file=sys.stderr)"]
    other = subprocess.run(command, capture_output=True, text=True)
    assert (other.returncode, other.stdout) == (0, ""), other.stderr
    assert other.stderr.strip() == own["choice"]


class Lost(pulp.LpSolver):  # type: ignore[misc]
    """A solver that finds nothing out, or breaks."""

    name = "LOST"

    def __init__(self, breaks: bool) -> None:
        super().__init__(msg=False)
        self.breaks = breaks

    def available(self) -> bool:
        return True

    def actualSolve(self, program: pulp.LpProblem, **_: object) -> int:
        if self.breaks:
            raise pulp.PulpSolverError("it broke")
        program.assignStatus(pulp.LpStatusNotSolved)
        return int(pulp.LpStatusNotSolved)


@pytest.mark.parametrize("breaks", [False, True])
def test_what_one_solver_cannot_decide_is_left_to_the_next(breaks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    program = pulp.LpProblem("one", pulp.LpMinimize)
    x = pulp.LpVariable("x", cat="Binary")
    program += 2 * x
    program += x >= 1
    known = solvers()
    monkeypatch.setattr(solver_module, "solvers", lambda: [Lost(breaks), *known])
    assert run(program) == "Optimal" and x.value() == 1
    monkeypatch.setattr(solver_module, "solvers", lambda: [Lost(breaks)])
    assert run(program) == "Not Solved"


def test_highs_is_preferred_where_it_is() -> None:
    pytest.importorskip("highspy")
    assert solver().name == "HiGHS"


@pytest.mark.parametrize("name", NAMES)
def test_an_impossible_program_says_so(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    only = of_name(name)
    monkeypatch.setattr(solver_module, "solvers", lambda: [only])
    with pytest.raises(SelectionError) as caught:
        solve([candidate((0,), (1,), 3)], (ClassId(0),), [1.0])
    assert "the selection program is infeasible" in str(caught.value) and "1 candidate kernels" in str(caught.value)


def test_a_machine_without_a_solver_is_told_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver_module, "solvers", list)
    with pytest.raises(SelectionError) as caught:
        solver()
    assert str(caught.value) == (
        "no solver for integer programs is at hand\n"
        "  where: the package highspy, and PuLP's own CBC\n"
        "  mend:  pip install --force-reinstall highspy, or pip install --force-reinstall 'pulp<4'"
    )


FORKED = """
import os, signal
from tests.test_select_solvers import random_candidates
from tang_egg.egraph import ClassId
from tang_egg.extract.select import solve
made, outputs = random_candidates(1, classes=6, count=60), tuple(map(ClassId, range(6)))
own = [k.estimate.seconds for k in made]
first = solve(made, outputs, own)
child = os.fork()
if child == 0:
    signal.alarm(30)
    os._exit(0 if solve(made, outputs, own) == first else 3)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_that_was_forked_can_select_too() -> None:
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, cwd=ROOT, env=os.environ)
    assert done.returncode == 0, done.stderr
