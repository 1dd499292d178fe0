"""Arguments of the wrong kind are told what, where and how to mend it; functions are not hidden by modules."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import tang_egg as te
from bench.cpu import main as bench_cpu
from tang_egg.errors import BindError, CodegenError, GraphError, InputError, TangError
from tang_egg.ir import Graph

N = te.dim("n")


def _rows() -> Graph:
    x, i, j = te.input("X", (N, 8)), te.index("i", N), te.index("j", 8)
    return te.graph("rows", Y=te.tensor("Y", i, te.sum(j, x[i, j])))


WRONG: dict[str, tuple[Callable[[Graph], Any], type[TangError], str, str]] = {
    "verify: sizes in a list": (
        lambda g: te.verify(g, sizes=[3]), BindError, "sizes is a value of type list", "verify(..., sizes=...)",
    ),
    "verify: a word as size": (
        lambda g: te.verify(g, sizes={"n": "a"}), BindError, "dimension 'n' cannot be tried at 'a'",
        "verify(..., sizes=...)",
    ),
    "verify: no size": (
        lambda g: te.verify(g, sizes={"n": ()}), BindError, "dimension 'n' cannot be tried at ()",
        "verify(..., sizes=...)",
    ),
    "optimize: a word as size": (
        lambda g: te.optimize(g, seconds=1, sizes={"n": "x"}), BindError,
        "dimension 'n' cannot be 'x', a value of type str", "the size of n",
    ),
    "optimize: sizes as a number": (
        lambda g: te.optimize(g, seconds=1, sizes=3), BindError, "sizes is a value of type int", "sizes=",
    ),
    "optimize: half a character": (
        lambda g: te.optimize(g, schedule={"Y": "tile order=\ud800"}), CodegenError,
        "cannot read 'order=\ud800' in a schedule", "column 6 of 'tile order=\ud800'",
    ),
    "tune_precision: no graph": (
        lambda g: te.tune_precision(3), GraphError, "a value of type int is no graph", "tune_precision",
    ),
    "tune_precision: a number as budget": (
        lambda g: te.tune_precision(g, budget=0.1), InputError, "a budget of type float",
        "tune_precision(..., budget=)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_argument_is_told(case: str) -> None:
    call, kind, what, where = WRONG[case]
    with pytest.raises(kind) as caught:
        call(_rows())
    assert (caught.value.what, caught.value.where) == (what, where)
    assert caught.value.mend


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rounds", "-1"], "'-1' is no whole number from 0 on"),
        (["--seconds", "nan"], "'nan' is no number of seconds from 0 on"),
        (["--schedule", "tile"], "'tile' is not KERNEL=TEXT"),
        (["--ops", "softmax", "--log", "/dev/null/x"], "cannot append to /dev/null/x: "),
    ],
)
def test_the_benchmark_refuses_what_makes_no_sense(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        bench_cpu(arguments)
    assert caught.value.code == 2
    assert said in capsys.readouterr().err


def test_no_function_is_hidden_by_a_module_of_its_name() -> None:
    """Importing a submodule sets the attribute of its package; `verify` is a module that can be called."""
    text = """
import importlib, pkgutil, types
import tang_egg as te
for m in pkgutil.iter_modules(te.__path__):
    try:
        importlib.import_module(f"tang_egg.{m.name}")
    except ImportError:
        pass
hidden = [n for n in te.__all__ if isinstance(getattr(te, n), types.ModuleType) and not callable(getattr(te, n))]
print(sorted(hidden))
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip().splitlines()[-1] == "['library']"
