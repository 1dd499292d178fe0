"""`tang-compile MODEL -o DIR`: derives kernels for a model and writes them as a C library that needs no Python.

Exit codes: 0 all is well; 1 a kernel or the example gives wrong values; 2 the command line, the model or a file is
wrong; 3 there is no C compiler here, or it fails; 4 no kernel could be derived or printed for a graph that is well
formed; 130 interrupted.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tang_egg.budget import ErrorBudget
from tang_egg.cli_exit import OK, ended
from tang_egg.cli_graph import load_graph, parse_bindings
from tang_egg.cli_options import Parser
from tang_egg.cli_output import own_temporary, quiet_output
from tang_egg.cli_progress import shown
from tang_egg.cli_weights import read_weights
from tang_egg.errors import BindError, TangError, TargetError, VerificationError
from tang_egg.examples import EXAMPLES
from tang_egg.export import check_folder, export_c
from tang_egg.export_interface import check_name, library_name
from tang_egg.ir import Graph
from tang_egg.model import Model
from tang_egg.ops import FLOATS
from tang_egg.pipeline import optimize
from tang_egg.report_format import count
from tang_egg.run_toolchain import compiler
from tang_egg.saturate import Limits
from tang_egg.tune_types import TunedPrecision, tune_precision

_EPILOG = f"""\
MODEL is one of
  an ONNX file:       model.onnx, with its weights
  a text file:        softmax.tang
  a Python name:      model.py:block, a Graph or a function without arguments that returns one;
                      the file is executed, as your own program with your rights
  a built-in example: {", ".join(EXAMPLES)}

exit codes: 0 all is well, 1 wrong values, 2 wrong command line, model or file,
            3 no C compiler here or it fails, 4 no kernel could be derived for a well-formed graph,
            130 interrupted
"""

SECONDS = 600
"""How long the C compiler, and the example, may take under --check."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and gives its exit code."""
    return ended("tang-compile", lambda: _run(_parser().parse_args(arguments)))


def _parser() -> Parser:
    parser = Parser(
        prog="tang-compile",
        description="Derives kernels for a model and writes them as a C library that builds and runs without Python.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("model", metavar="MODEL", help="an ONNX file, a .tang file, file.py:name, or an example")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="the folder of the library")
    parser.add_argument("--name", default="", help="the prefix of everything in C (default: from MODEL)")
    parser.add_argument(
        "--bind", action="append", default=[], metavar="DIM=SIZE", help="make a symbolic dim concrete; repeatable"
    )
    parser.add_argument(
        "--shape", action="append", default=[], metavar="INPUT=N,N,...",
        help="the shape of an ONNX input; ? leaves an extent as in the file; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--weights", metavar="FILE", help="arrays for inputs, by their names: .npz, .safetensors, .gguf"
    )
    parser.add_argument("--embed", action="store_true", help="weights as arrays of C instead of a file")
    parser.add_argument("--target", default="c", metavar="NAME", help="c, the only one that is a library")
    parser.add_argument("--ieee", action="store_true", help="infinities and NaN come out as the graph says")
    parser.add_argument(
        "--tune-precision", type=float, metavar="ERROR",
        help="store temporaries and weights in fewer bits where it is faster, outputs within this relative error",
    )  # fmt: skip
    parser.add_argument(
        "--tune-seconds", type=float, default=60.0, metavar="S", help="time for --tune-precision (default: 60)"
    )
    parser.add_argument("--check", action="store_true", help="build the library here and run its example")
    parser.add_argument("--force", action="store_true", help="write into a folder that holds other files, too")
    progress = parser.add_mutually_exclusive_group()
    progress.add_argument("--progress", action="store_true", help="tell how far the work is, line by line")
    progress.add_argument("--quiet", action="store_true", help="no display of progress on a terminal")
    parser.add_argument(
        "--limit-seconds", type=float, default=20.0, metavar="S", help="time for saturation of a window"
    )
    return parser


def _run(options: argparse.Namespace) -> int:
    with own_temporary():
        return _written(options)


def _written(options: argparse.Namespace) -> int:
    if options.target != "c":
        raise TangError(
            f"the target '{options.target}' cannot be written as a library",
            where="--target",
            mend="use c; for a GPU save the compiled graph: te.optimize(graph, target='cuda').save(path)",
        )
    if not options.limit_seconds > 0.0:
        raise TangError(
            f"{options.limit_seconds:g} seconds are no time", where="--limit-seconds", mend="give a number above 0"
        )
    if options.tune_precision is not None and not 0.0 < options.tune_precision < 1.0:
        raise TangError(
            f"a relative error of {options.tune_precision:g} is no budget",
            where="--tune-precision",
            mend="give a number between 0 and 1: 0.001 allows outputs to be off by a thousandth",
        )
    if not options.tune_seconds > 0.0:
        raise TangError(
            f"{options.tune_seconds:g} seconds are no time", where="--tune-seconds", mend="give a number above 0"
        )
    if options.name:
        check_name(options.name)
    check_folder(Path(options.output), options.force)
    model = _load(options.model, parse_bindings(options.bind), parse_shapes(options.shape), options.weights)
    values = "ieee" if options.ieee else "finite"
    limits = Limits(seconds=options.limit_seconds)
    moves: list[str] = []
    with quiet_output(), shown(plain=options.progress, quiet=options.quiet):
        if options.tune_precision is None:
            compiled = optimize(model.graph, "c", limits=limits, values=values)
        else:
            tuned = tuned_model(model, options.tune_precision, options.tune_seconds, limits=limits, values=values)
            compiled, moves = tuned.compiled, str(tuned).splitlines()
            model = replace(model, weights=tuned.given(**model.weights))
    compiled = compiled.bind(**model.weights)
    originals = {plain: name for names in (model.inputs, model.outputs) for name, plain in names.items()}
    name = options.name or library_name(Path(options.model.rpartition(":")[2]).stem)
    folder = export_c(
        compiled, options.output, name=name, embed=options.embed, force=options.force, originals=originals
    )
    for line in (*_told(model, name, folder), *moves):
        print(line)
    if compiled.verification is not None:
        print(
            f"verified in {compiled.verification.runs} runs; largest relative error {compiled.verification.worst:.1e}"
        )
    if options.check:
        print(check(folder, name))
    return OK


def tuned_model(model: Model, error: float, seconds: float, **options: Any) -> TunedPrecision:
    """A model with temporaries and weights in fewer bits; the weights are those that errors are measured with."""
    floats = [i.name for i in model.graph.inputs if i.name in model.weights and i.dtype in FLOATS and not i.donated]
    arrays = {n: np.asarray(model.weights[n]) for n in floats}
    held = {n: a for n, a in arrays.items() if a.dtype.kind == "f" and a.size and np.isfinite(a).all()}
    budget = ErrorBudget(
        relative=error,
        ranges={n: (float(a.min()), float(a.max())) for n, a in held.items()},
        draws={n: lambda rng, shape, a=a: a for n, a in held.items()},  # type: ignore[misc]
    )
    return tune_precision(model.graph, budget, seconds=seconds, inputs=list(held), **options)


def parse_shapes(given: Sequence[str]) -> dict[str, list[int | None]]:
    """`x=1,3,?,192` as a dict. Raises BindError for anything else, and for an input that is named twice."""
    found: dict[str, list[int | None]] = {}
    for text in given:
        name, equals, value = text.rpartition("=")
        extents = [x.strip() for x in value.split(",")] if value.strip() else []
        if not name or not equals or not all(re.fullmatch(r"\?|[0-9]{1,40}", x) for x in extents):
            raise BindError(
                f"cannot read '{text}'", where="--shape", mend="write INPUT=N,N,..., as in --shape x=1,3,?,48"
            )
        if name in found:
            raise BindError(f"'{name}' has two shapes", where=f"--shape {text}", mend="give each input one shape")
        found[name] = [None if x == "?" else int(x) for x in extents]
    return found


def _load(name: str, bound: dict[str, int], shapes: Mapping[str, Sequence[int | None]], weights: str | None) -> Model:
    """The model with its dims bound, and its weights."""
    if name.endswith(".onnx"):
        from tang_egg.importers.onnx import load_onnx

        if weights:
            raise TangError(
                "an ONNX file has its own weights", where=f"--weights {weights}", mend="leave --weights out"
            )
        return _without_unused(load_onnx(name, dims=dict(bound), shapes=shapes))
    if shapes:
        raise TangError(
            "only inputs of ONNX files are given shapes", where="--shape", mend="bind its dims: --bind DIM=SIZE"
        )
    graph = load_graph(name)
    arrays = read_weights(weights, graph) if weights else {}
    told = _dims_of(graph, arrays)
    for dim, size in told.items():
        if bound.setdefault(dim, size) != size:
            raise TangError(
                f"dimension '{dim}' is bound to {bound[dim]}, and a weight has {size}",
                where=f"--bind {dim}={bound[dim]}",
                mend="leave it out, or give weights of that size",
            )
    return Model(graph.bind(**bound) if bound else graph, arrays)


def _without_unused(model: Model) -> Model:
    """The model without weights for inputs that its graph does not have."""
    known = {i.name for i in model.graph.inputs}
    return Model(model.graph, {n: a for n, a in model.weights.items() if n in known}, model.inputs, model.outputs)


def _dims_of(graph: Graph, arrays: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, int]:
    """Dims that are an extent of a weight: their sizes are known now."""
    found: dict[str, int] = {}
    for i in graph.inputs:
        if i.name in arrays and arrays[i.name].ndim == len(i.shape):
            for form, size in zip(i.shape, arrays[i.name].shape, strict=True):
                dims = list(form.dims())
                if len(dims) == 1 and form == dims[0] + 0:
                    found.setdefault(dims[0].name, size)
    return found


def _told(model: Model, name: str, folder: Path) -> list[str]:
    ours = {f"{name}.h", f"{name}.weights", *_sources(name), "README.md", "manifest.json"}
    files = sorted(p.name for p in folder.iterdir() if p.name in ours)
    held = sum(np.asarray(a).nbytes for a in model.weights.values())
    weights = f", {count(len(model.weights), 'weight')} of {held} bytes" if model.weights else ""
    given = ", ".join(i.name for i in model.graph.inputs if i.name not in model.weights) or "none"
    return [
        f"{folder}: {', '.join(files)}",
        f"inputs: {given}{weights}; outputs: {', '.join(t.name for t in model.graph.outputs)}",
    ]


def check(folder: Path, name: str) -> str:
    """Builds the library and its example in a temporary folder, runs it, and says what it printed.

    Raises TargetError when it does not build, VerificationError when the example finds other values.
    """
    tool = compiler()
    sources = [str(p.resolve()) for p in sorted(folder.glob("*.c")) if p.name in _sources(name)]
    with tempfile.TemporaryDirectory() as place:
        program = Path(place, "example")
        flags = ["-std=c11", "-O2", *(["-fopenmp"] if tool.threads else [])]
        _spawn([*tool.command, *flags, *sources, "-o", str(program), "-lm"], folder, TargetError, "does not build")
        said = _spawn([str(program)], folder, VerificationError, "finds other values than the verified program")
    return f"built by {tool.version}; {said.strip()}"


def _sources(name: str) -> tuple[str, ...]:
    return f"{name}.c", f"{name}_weights.c", "example.c"


def _spawn(command: list[str], folder: Path, error: type[TangError], what: str) -> str:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise TargetError(
            f"the example {what}: it took more than {SECONDS} s", where=command[0], mend="build the folder by hand"
        ) from None
    if done.returncode:
        told = " | ".join((done.stderr or done.stdout).strip().splitlines()[-6:])
        raise error(
            f"the example of the library {what}",
            where=f"{Path(command[0]).name}, status {done.returncode}: {told[:500]}",
            mend="report this with the model; the folder has been written",
        )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
