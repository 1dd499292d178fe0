"""Which targets work on this machine: each one computes a small sum and compares it, or says why not.

A target passes when the sum of squares 1 + 4 + ... + n² comes out exactly, for a size that is no multiple of any
vector. Targets that have no device here, or are not built yet, are listed as such, so that nobody looks for them.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata

import numpy as np

from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.errors import TangError, TargetError
from tang_egg.program import KernelPlan, Program
from tang_egg.run import CompiledProgram, compile_program, threads
from tang_egg.run_cuda import CudaProgram, compile_cuda
from tang_egg.run_cuda_driver import driver
from tang_egg.run_toolchain import compiler

SIZE = 107
PLANNED = ("opencl", "wgsl", "glsl", "metal")
"""Targets of the design that have no dialect yet."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found about one target. `passed` is None for one that has no device here or is not built yet."""

    target: str
    passed: bool | None
    text: str

    def __str__(self) -> str:
        verdict = {True: "PASS", False: "FAIL", None: "----"}[self.passed]
        first, *rest = self.text.splitlines()
        return "\n".join((f"{verdict}  {self.target:8}{first}", *(f"              {line}" for line in rest)))


def small_sum() -> Program:
    """The graph S = Σ X[i]², as one kernel."""
    x, i = te.input("X", (SIZE,)), te.index("i")
    made = graph("small_sum", S=te.tensor(None, (), te.sum(i, x[i] * x[i])))
    return Program(made, (KernelPlan("small_sum", made.outputs),))


def examine(
    target: str, compile: Callable[..., CompiledProgram | CudaProgram] = compile_program, tool: Callable[[], str] = str
) -> Finding:
    """Compiles and runs the small sum on one target; `tool` names what compiled it."""
    start = time.perf_counter()
    try:
        compiled = compile(small_sum(), target=target)
        found = float(compiled({"X": np.arange(1, SIZE + 1, dtype=np.float32)})["S"])
        made_by = tool()
    except TangError as error:
        return Finding(target, False, str(error))
    except Exception as error:  # a driver may raise anything; the doctor reports it and goes on
        return Finding(
            target, False, f"{type(error).__name__}: {error}\n  mend:  please report this with the text above"
        )
    expected = SIZE * (SIZE + 1) * (2 * SIZE + 1) / 6
    if found != expected:
        return Finding(
            target, False, f"the sum is {found}, not {expected}\n  where: {made_by}\n  mend:  please report this"
        )
    return Finding(target, True, f"{made_by}, in {time.perf_counter() - start:.1f} s")


def c_compiler() -> str:
    """The C compiler and how many threads its kernels use."""
    found = compiler()
    return f"{found.version}, {threads() if found.threads else 1} threads"


def cuda() -> Finding:
    """What was found about the GPU; one that is not there fails nothing."""
    try:
        found = driver()
    except TargetError as error:
        return Finding("cuda", None, f"not here: {error}")
    return examine("cuda", lambda program, target: compile_cuda(program, on=found), lambda: found.title)


def findings() -> list[Finding]:
    """All targets, those that exist first."""
    return [examine("c", tool=c_compiler), cuda(), *(Finding(t, None, "not built yet") for t in PLANNED)]


def versions() -> str:
    """Python and the libraries that results depend on, as one line."""
    known = ("tang_egg", "egglog", "numpy", "networkx", "pulp")
    return ", ".join([f"python {platform.python_version()}", *(f"{name} {_version(name)}" for name in known)])


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "(not installed)"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints what was found and gives 0 when every target that exists works, else 1."""
    parser = argparse.ArgumentParser(prog="tang-doctor", description="Computes a small sum on every target.")
    parser.parse_args(arguments)
    print(f"{platform.system()} {platform.machine()}, {versions()}")
    found = findings()
    for finding in found:
        print(finding)
    return 1 if any(f.passed is False for f in found) else 0
