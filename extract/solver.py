"""The solvers of integer programs: HiGHS, and the CBC that comes with PuLP where HiGHS is missing or gives up.

Both are asked for a proven optimum on one thread, so that a program has the same answer every time.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pulp

from tang_egg.errors import SelectionError

DECIDED = ("Optimal", "Infeasible", "Unbounded")
_OPTIONS = {"mip_rel_gap": 0.0, "mip_abs_gap": 0.0, "parallel": "off", "random_seed": 0, "threads": 1}
# Threads of its own would be missing in a process that is forked later, and the solver would wait for them there.


def solver() -> pulp.LpSolver:
    """The solver that is tried first. Raises SelectionError when there is none."""
    return _at_hand()[0]


def solvers() -> list[pulp.LpSolver]:
    """The solvers that are known, the preferred one first; each says itself whether it is available."""
    return [_highs()(msg=False), pulp.PULP_CBC_CMD(msg=False, gapRel=0.0, threads=1)]


def run(program: pulp.LpProblem) -> str:
    """Solves a program and gives its status in PuLP's words. What one solver cannot decide is left to the next.

    Raises SelectionError when no solver is at hand.
    """
    status = "Not Solved"
    for s in _at_hand():
        try:
            status = pulp.LpStatus[program.solve(s)]
        except pulp.PulpSolverError:
            continue
        if status in DECIDED:
            break
    return status


def _at_hand() -> list[pulp.LpSolver]:
    found = [s for s in solvers() if s.available()]
    if not found:
        raise SelectionError(
            "no solver for integer programs is at hand",
            where="the package highspy, and PuLP's own CBC",
            mend="pip install --force-reinstall highspy, or pip install --force-reinstall 'pulp<4'",
        )
    return found


@cache
def _highs() -> type[pulp.LpSolver]:
    """PuLP's interface to HiGHS, silent and set to prove; as it is where the library cannot be loaded."""
    try:
        import highspy
    except ImportError:
        return pulp.HiGHS  # type: ignore[no-any-return]

    class Silent(highspy.Highs):
        """HiGHS that prints nothing: its own constructor enables callbacks, which prints a banner."""

        def __init__(self) -> None:
            super(highspy.Highs, self).__init__()
            self.setOptionValue("output_flag", False)

    class Proving(pulp.HiGHS):  # type: ignore[misc]
        """HiGHS that stops at no gap, and always takes the same way."""

        def createAndConfigureSolver(self, lp: Any) -> None:
            lp.solverModel = Silent()
            for option, value in _OPTIONS.items():
                lp.solverModel.setOptionValue(option, value)

    return Proving
