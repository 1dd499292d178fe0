"""Random graphs through the whole way: `python -m tests.fuzz --count 2000 --seed 0` prints the seeds that fail.

With --targets every kernel runs on guarded memory and is compared with its own meaning (tests/fuzz_targets.py):

    python -m tests.fuzz --count 2000 --targets c,opencl,wgsl,glsl,metal --seed 0

Without, compared are the interpreter on the naive graph, the interpreter on the extracted program, and (with --compile)
the compiled program. Data with ±inf goes through derivations with values="ieee": a law that holds on finite values may
turn an infinity into a NaN or back, as its mark says, and is left out there.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np

from tang_egg.interpret import interpret
from tang_egg.pipeline import extract
from tang_egg.pipeline_compiled import Extraction
from tang_egg.run import compile_program
from tang_egg.saturate import Limits
from tests.cuda_compile import title as cuda_title
from tests.fuzz_targets import Tally, attempt, cuda_device, replayed, shrunk, written
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


def on_targets(options: argparse.Namespace) -> int:
    """Every graph on targets, under random schedules. What was done is in the log, from which a later run goes on."""
    targets = options.targets.split(",")
    log = Path(options.log or f"build/fuzz/{options.seed}-{'-'.join(targets)}.jsonl")
    done = finished(log)
    log.parent.mkdir(parents=True, exist_ok=True)
    tally, failed, start = Tally(), 0, time.perf_counter()
    with log.open("a") as file:
        for n, seed in enumerate(range(options.seed, options.seed + options.count)):
            if options.seconds and time.perf_counter() - start > options.seconds:
                print(f"stopped after {n} graphs; the same command goes on", flush=True)
                break
            for target in [targets[seed % len(targets)]] if options.turns else targets:
                key = f"{seed} {target}"
                if done.get(key) == "ok":
                    continue
                if done.get(key) == "begun":  # the process ended in the middle of it
                    failed += 1
                    print(f"seed {seed} on {target}: ended the process", flush=True)
                    continue
                print(json.dumps([key, "begun"]), file=file, flush=True)
                said = one_on_target(seed, target, tally, log.parent)
                failed += bool(said)
                print(json.dumps([key, "failed" if said else "ok"]), file=file, flush=True)
    for message, times in sorted(tally.refused.items(), key=lambda x: -x[1]):
        print(f"refused {times}×: {message}")
    if "cuda" in targets and not cuda_device():
        print(f"cuda: no GPU, {tally.compiled} kernels were compiled ({cuda_title()}) and NOT verified")
    print(f"{tally.kernels} kernels run, {failed} failed, {time.perf_counter() - start:.0f} s; log {log}")
    return 1 if failed else 0


def one_on_target(seed: int, target: str, tally: Tally, folder: Path) -> str:
    """What is wrong with the graph of a seed on a target, printed and written; or nothing."""
    edges = seed % 5 == 4
    found = attempt(random_instance(seed, edges=edges), target, Random(seed), tally, edges=edges)
    if found is None:
        return ""
    small = shrunk(found, tally)
    path = written(small, folder, f"{seed}-{target}")
    print(f"seed {seed} on {target}: {found.said}\n  smaller: {small.instance.graph}\n  said: {small.said}", flush=True)
    print(f"  again: python -m tests.fuzz --replay {path}", flush=True)
    return found.said


def finished(log: Path) -> dict[str, str]:
    """What a log says of each seed and target; the last word counts."""
    if not log.exists():
        return {}
    pairs = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("]")]
    return dict(pairs)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--edges", action="store_true")
    parser.add_argument("--targets", default="", help="run kernels on these, with commas between")
    parser.add_argument("--turns", action="store_true", help="each graph on one of the targets, in turn")
    parser.add_argument("--seconds", type=float, default=0.0, help="stop after so long; the same command goes on")
    parser.add_argument("--log", default="", help="what was done, by default in build/fuzz")
    parser.add_argument("--replay", default="", metavar="FILE.tang", help="run one that failed again")
    options = parser.parse_args(arguments)
    os.environ.setdefault("TANG_CFLAGS", "-O1")
    if options.replay:
        again = replayed(Path(options.replay))
        print(again.said if again else "nothing is wrong")
        return 1 if again else 0
    if options.targets:
        return on_targets(options)
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
