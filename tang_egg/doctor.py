"""Which targets work on this machine: each one computes a small sum and compares it, or says why not.

A target passes when the sum of squares 1 + 4 + ... + n² comes out exactly, for a size that is no multiple of any
vector. Targets that have no device here are listed as such, so that nobody looks for them. The parts that targets rest
on, and the front doors for files of other systems, are tried as well.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.cli_exit import ended
from tang_egg.cli_options import Parser
from tang_egg.doctor_doors import doors
from tang_egg.doctor_finding import Finding, compiler_command, extra, pip, version, versions_of
from tang_egg.doctor_parts import parts
from tang_egg.errors import TangError, TargetError
from tang_egg.probe import TARGETS as PROBED
from tang_egg.probe import data as probe_data
from tang_egg.probe import probe, table, write
from tang_egg.probe_host import processor
from tang_egg.program import KernelPlan, Program
from tang_egg.run import compile_program, threads
from tang_egg.run_cuda import compile_cuda
from tang_egg.run_cuda_driver import driver
from tang_egg.run_toolchain import compiler
from tang_egg.targets import TARGETS, Runner

SIZE = 107
GRIDS = ("opencl", "metal", "wgsl", "glsl")
"""Targets of plain threads; see targets."""

_HEADS = {"target": "targets", "part": "what they rest on", "door": "files and programs of other systems"}


def small_sum() -> Program:
    """The graph S = Σ X[i]², as one kernel."""
    x, i = te.input("X", (SIZE,)), te.index("i")
    made = graph("small_sum", S=te.tensor(None, (), te.sum(i, x[i] * x[i])))
    return Program(made, (KernelPlan("small_sum", made.outputs),))


def examine(target: str, compile: Callable[..., Runner] = compile_program, tool: Callable[[], str] = str) -> Finding:
    """Compiles and runs the small sum on one target; `tool` names what compiled it."""
    start = time.perf_counter()
    try:
        compiled = compile(small_sum(), target=target)
        found = float(compiled({"X": np.arange(1, SIZE + 1, dtype=np.float32)})["S"])
        made_by = tool()
    except TangError as error:
        return _refused(target, error)
    except Exception as error:  # a driver may raise anything; the doctor reports it and goes on
        return Finding(target, False, f"{type(error).__name__}: {error}", mend="please report this with the text above")
    expected = SIZE * (SIZE + 1) * (2 * SIZE + 1) / 6
    if found != expected:
        text = f"the sum is {found}, not {expected}\n  where: {made_by}"
        return Finding(target, False, text, mend="please report this")
    return Finding(target, True, f"{made_by}, in {time.perf_counter() - start:.1f} s")


def _refused(target: str, error: TangError) -> Finding:
    """A target that cannot be used; where the compiler is missing, with the command that installs one here."""
    missing = target == "c" and "no C compiler" in error.what
    where = f"\n  where: {error.where}" if error.where else ""
    return Finding(target, False, f"{error.what}{where}", mend=compiler_command() if missing else error.mend)


def c_compiler() -> str:
    """The C compiler and how many threads its kernels use."""
    found = compiler()
    return f"{found.version}, {threads() if found.threads else 1} threads"


def cuda() -> Finding:
    """What was found about the GPU; one that is not there fails nothing."""
    try:
        found = driver()
    except TargetError as error:
        where = f"\n  where: {error.where}" if error.where else ""
        return Finding("cuda", None, f"not here: {error.what}{where}", mend=_cuda_mend(error))
    return examine("cuda", lambda program, target: compile_cuda(program, on=found), lambda: found.title)


def grid(name: str) -> Finding:
    """What was found about a target of plain threads; a device or library that is not there fails nothing."""
    found = TARGETS[name]
    try:
        device = found.open()
    except TargetError as error:
        where = f"\n  where: {error.where}" if error.where else ""
        return Finding(name, None, f"not here: {error.what}{where}", mend=error.mend)
    except Exception as error:  # a driver may raise anything
        return Finding(name, False, f"{type(error).__name__}: {error}", mend="please report this with the text above")
    title = str(getattr(device, "title", found.title))
    return examine(name, lambda program, target: found.compile(program, {}, device), lambda: title)


def _cuda_mend(error: TangError) -> str:
    """What to install: for the driver that is here, if one is."""
    supported = cuda_version()
    if not supported:
        return f"a machine with an NVIDIA GPU and its driver, then {pip(*extra('cuda'))}"
    if version("cupy-cuda13x") or version("cupy-cuda12x"):
        return error.mend
    fitting = extra("cuda" if supported >= 13000 else "cuda12")
    return f"the driver supports CUDA {supported // 1000}.{supported % 1000 // 10}: {pip(*fitting)}"


def cuda_version() -> int:
    """The CUDA version that the NVIDIA driver here supports, 13000 for 13.0; 0 where there is no driver."""
    found = ctypes.c_int(0)
    try:
        library = ctypes.CDLL("nvcuda.dll" if platform.system() == "Windows" else "libcuda.so.1")
        return found.value if library.cuDriverGetVersion(ctypes.byref(found)) == 0 else 0
    except (OSError, AttributeError):
        return 0


def findings() -> list[Finding]:
    """All targets."""
    return [examine("c", tool=c_compiler), cuda(), *map(grid, GRIDS)]


def versions() -> str:
    """Python and the libraries that results depend on, as one line."""
    known = ("tang_egg", "egglog", "numpy", "networkx", "pulp")
    return ", ".join([f"python {platform.python_version()}", *(f"{name} {_version(name)}" for name in known)])


def environment() -> tuple[tuple[str, str], ...]:
    """Names and values of what a result depends on: system, processor, versions, compiler."""
    try:
        found = compiler()
        tool = (("compiler", f"{found.version}, {threads() if found.threads else 1} threads"),
                ("flags", " ".join(found.flags)))  # fmt: skip
    except TangError as error:
        tool = (("compiler", error.what), ("flags", ""))
    others = versions_of(("onnx", "torch", "safetensors", "gguf", "cupy-cuda13x", "cupy-cuda12x"))
    rows = (
        ("system", f"{platform.system()} {platform.release()} {platform.machine()}"),
        ("processor", processor()),
        ("versions", versions()),
        ("also installed", others),
        *tool,
    )
    return tuple((name, value) for name, value in rows if value)


def _version(name: str) -> str:
    return version(name) or "(not installed)"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints what was found and gives 0 when every target and part that exists works, else 1; 2 when asked wrongly."""
    return ended("tang-doctor", lambda: _run(_parser().parse_args(arguments)))


def _parser() -> Parser:
    parser = Parser(
        prog="tang-doctor",
        allow_abbrev=False,
        description="Computes a small sum on every target, and tries what targets and front doors need.",
        epilog="exit codes: 0 everything that exists here works, 1 something that should work does not (FAIL), "
        "2 wrong command line or file, 130 interrupted",
    )
    parser.add_argument(
        "--json",
        nargs="?",
        const="-",
        metavar="FILE",
        help="what was found, machine readable; to a file where one is named",
    )
    parser.add_argument(
        "--probe", action="store_true", help="measure the constants of the devices here, and store them"
    )
    parser.add_argument("--target", choices=[*PROBED, "all"], default="all", help="which to probe (default: all)")
    parser.add_argument("--seconds", type=float, default=10.0, help="to probe each device for, about (default: 10)")
    return parser


def _run(options: argparse.Namespace) -> int:
    return _probe(options.target, options.seconds, options.json) if options.probe else _report(options.json)


def _probe(target: str, seconds: float, to: str | None) -> int:
    """Prints the constants that were measured, or writes them; 1 where a target that is here could not be measured."""
    outcomes = probe(target, seconds)
    if to == "-":
        print(json.dumps(probe_data(outcomes), indent=2, ensure_ascii=False))
    else:
        for outcome in outcomes:
            print(outcome.finding, *map(table, outcome.probed), sep="\n", flush=True)
        if to is not None:
            write(probe_data(outcomes), Path(to))
    return 1 if any(o.finding.passed is False for o in outcomes) else 0


def _report(to: str | None) -> int:
    as_json = to == "-"
    about = f"{platform.system()} {platform.machine()}"
    if not as_json:
        print(f"{about}, {versions()}")
    found: list[Finding] = []
    for look in (findings, parts, doors):
        for n, finding in enumerate(some := look()):
            if not as_json:
                print(*([f"\n{_HEADS[finding.kind]}"] if n == 0 else []), finding, sep="\n", flush=True)
        found += some
    failed = any(f.passed is False for f in found)
    rows = [f.data() for f in found]
    data = {"format": 1, "ok": not failed, "environment": dict(environment()), "findings": rows}
    if as_json:
        print(json.dumps(data, indent=2, ensure_ascii=False))
    elif to is not None:
        write(data, Path(to))
    return 1 if failed else 0
