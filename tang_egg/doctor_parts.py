"""The parts that targets rest on, each one tried: the C compiler, the cache, the e-graph engine, the solver."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pulp
from egglog import bindings

from tang_egg.doctor_finding import Finding, compiler_command, pip, version
from tang_egg.errors import TangError
from tang_egg.extract.solver import solver as _solver
from tang_egg.run import threads
from tang_egg.run_toolchain import cache_folder, compiler
from tang_egg.run_vectors import vector_bits


def parts() -> list[Finding]:
    """All parts, each tried on something small."""
    tried: tuple[tuple[str, Callable[[], Finding]], ...] = (
        ("compiler", c_details), ("cache", cache), ("egglog", engine), ("solver", solver),
    )  # fmt: skip
    return [_guarded(name, how) for name, how in tried]


def _guarded(name: str, how: Callable[[], Finding]) -> Finding:
    try:
        return how()
    except TangError as error:
        return Finding(name, False, str(error), kind="part")
    except Exception as error:  # a library may raise anything; the doctor reports it and goes on
        return Finding(name, False, f"{type(error).__name__}: {error}", mend="report this with the text", kind="part")


def c_details() -> Finding:
    """The C compiler: command, version, flags, threads and vectors."""
    try:
        found = compiler()
    except TangError as error:
        text = str(error).rpartition("\n  mend:")[0] or str(error)
        return Finding("compiler", False, text, mend=compiler_command(), kind="part")
    width = vector_bits(found.command, found.flags)
    facts = (
        ("command", " ".join(found.command)),
        ("flags", " ".join(found.flags)),
        ("OpenMP", f"yes, {threads()} threads" if found.threads else "no: kernels run on one thread"),
        ("vectors", f"{width} bits" if width else "not known"),
    )
    mend = "" if found.threads else f"a compiler with OpenMP, for example gcc: {compiler_command()}"
    return Finding("compiler", True, found.version, facts, mend, "part")


def cache() -> Finding:
    """The folder of compiled kernels: whether it can be written, and how much lies there."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        folder = cache_folder()
    files = [p.stat().st_size for p in _files(folder)]
    facts = (("entries", str(len(files))), ("size", _size(sum(files))))
    if said:
        return Finding(
            "cache", None, f"{said[0].message}", facts,
            "set TANG_CACHE to a folder you may write to; until then every process compiles anew", "part",
        )  # fmt: skip
    return Finding("cache", True, f"{folder}, writable", facts, kind="part")


def _files(folder: Path) -> list[Path]:
    return [p for p in folder.glob("*.so") if p.is_file()]


def _size(count: int) -> str:
    for factor, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} bytes"


def engine() -> Finding:
    """The e-graph engine, on one rewrite."""
    graph = bindings.EGraph()
    text = """(datatype T (Leaf i64) (Both T T))
      (rewrite (Both x y) (Both y x)) (let $t (Both (Leaf 1) (Leaf 2))) (run 3)
      (check (= $t (Both (Leaf 2) (Leaf 1)))) (fail (check (= (Leaf 1) (Leaf 2))))"""
    graph.run_program(*graph.parse_program(text))
    return Finding("egglog", True, f"egglog {version('egglog')} rewrites", kind="part")


def solver() -> Finding:
    """The solver of integer programs, on a knapsack."""
    program = pulp.LpProblem("knapsack", pulp.LpMaximize)
    take = [pulp.LpVariable(f"x{n}", cat="Binary") for n in range(3)]
    program += 5 * take[0] + 4 * take[1] + 3 * take[2]
    program += 4 * take[0] + 3 * take[1] + 2 * take[2] <= 6
    chosen = _solver()
    status = program.solve(chosen)
    picked = [round(x.value() or 0) for x in take]
    mend = pip("--force-reinstall", "pulp<4") + ", or " + pip("highspy")
    if pulp.LpStatus[status] != "Optimal" or picked != [1, 0, 1]:
        text = f"{chosen.name} says {pulp.LpStatus[status].lower()}, {picked} where [1, 0, 1] is best"
        return Finding("solver", False, text, mend=mend, kind="part")
    return Finding("solver", True, f"{chosen.name} of PuLP {version('pulp')} solves", kind="part")
