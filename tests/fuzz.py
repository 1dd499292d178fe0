"""Random graphs through the whole way: `python -m tests.fuzz --count 2000 --seed 0` prints the seeds that fail.

Compared are the interpreter on the naive graph, the interpreter on the extracted program, and (with --compile) the
compiled program. Data with ±inf goes through derivations with values="ieee": a law that holds on finite values may turn
an infinity into a NaN or back, as its mark says, and is left out there.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace

import numpy as np

from tang_egg.interpret import interpret
from tang_egg.pipeline import extract
from tang_egg.pipeline_compiled import Extraction
from tang_egg.run import compile_program
from tang_egg.saturate import Limits
from tests.strategies import Instance, random_instance

BRIEF = Limits(seconds=5.0)


def differs(got: object, want: object, tolerance: float) -> bool:
    """Whether two arrays differ by more than an absolute tolerance; infinities and NaN must be the same."""
    a, b = np.asarray(got), np.asarray(want)
    if b.dtype.kind != "f":
        return not np.array_equal(a, b)
    return not np.allclose(a.astype(np.float64), b, rtol=0.0, atol=tolerance, equal_nan=True)


def derived_for_all_values(x: Extraction) -> bool:
    """Whether every law that led to the program holds on all IEEE values."""
    return all(s.holds == "ieee" for steps in x.steps.values() for s in steps)


def problem(instance: Instance, *, compiled: bool = False, edges: bool = False) -> str:
    """What is wrong with the way of one graph, or nothing."""
    x = extract(instance.graph, limits=replace(BRIEF, values="ieee" if edges else "finite"))
    if edges and not derived_for_all_values(x):
        return "a law of finite values was used"
    want = interpret(instance.graph, instance.inputs, instance.dims)
    got = interpret(x.program.graph, instance.inputs, instance.dims)
    for name, value in want.items():
        if name not in got:
            return f"output {name} is lost"
        if differs(got[name], value, 1e-6 * instance.tolerance[name] + 1e-12):
            return f"extracted {name} differs"
    if compiled:
        results = compile_program(x.program)(instance.inputs, instance.dims)
        for name, value in want.items():
            if differs(results[name], value, instance.tolerance[name]):
                return f"compiled {name} differs"
    return ""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--edges", action="store_true")
    options = parser.parse_args(arguments)
    failed, start = 0, time.perf_counter()
    for seed in range(options.seed, options.seed + options.count):
        try:
            found = problem(random_instance(seed, edges=options.edges), compiled=options.compile, edges=options.edges)
        except Exception as e:
            found = f"{type(e).__name__}: {str(e).splitlines()[0]}"
        if found:
            failed += 1
            print(f"seed {seed}: {found}", flush=True)
    print(f"{options.count} graphs, {failed} failed, {time.perf_counter() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
