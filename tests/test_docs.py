"""Documents do what they say: every Python block and every shell line of these pages runs and prints what is shown."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tang_egg.codegen.lower import kernel_sources, lower
from tang_egg.codegen.printer import Dialect, print_kernel
from tang_egg.examples import EXAMPLES
from tang_egg.interpret import interpret
from tang_egg.ir import Graph
from tang_egg.pipeline import extract
from tang_egg.text import parse_graph
from tests.compiled import random_inputs
from tests.docs_blocks import Differs, Runner, agree, blocks, steady
from tests.tree import ROOT

PAGES = (
    "tutorial", "derivations", "add-a-law", "discover", "add-a-dialect", "add-a-schedule-shape", "selection",
    "numerics", "sharding", "floor", "device",
)  # fmt: skip
NEEDS_CC = pytest.mark.skipif(shutil.which("cc") is None, reason="the page calls cc")
MARKS = {"tutorial": [pytest.mark.slow, NEEDS_CC]} | {p: [NEEDS_CC] for p in ("numerics", "sharding", "add-a-dialect")}


def path(page: str) -> Path:
    return ROOT / "docs" / f"{page}.md"


@pytest.mark.parametrize("page", [pytest.param(p, marks=MARKS.get(p, ())) for p in PAGES])
def test_a_page_prints_what_it_shows(page: str, tmp_path: Path) -> None:
    done = Runner(path(page), tmp_path).run()
    assert done.ran > 20


@pytest.mark.parametrize("page", PAGES)
def test_no_block_is_left_out(page: str) -> None:
    """Blocks that look like Python or shell are marked so, and no example is hidden in another kind of block."""
    for block in blocks(path(page).read_text(encoding="utf-8")):
        assert block.language in ("python", "console", "text", "c"), f"{page}.md:{block.line}"
        if block.language in ("text", "c"):
            assert ">>> " not in block.text and "\n$ " not in f"\n{block.text}", f"{page}.md:{block.line}"


# The machinery itself.


def run(text: str, folder: Path) -> Runner:
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return Runner(page, folder).run()


def test_what_differs_is_reported_with_its_line(tmp_path: Path) -> None:
    assert run("one\n```python\n>>> 1 + 1\n2\n>>> 2 + 2\n4\n```\n", tmp_path).ran == 2
    with pytest.raises(Differs, match=r"page\.md:5: 2 \+ 2\n── shown\n5\n── printed\n4"):
        run("one\n```python\n>>> 1 + 1\n2\n>>> 2 + 2\n5\n```\n", tmp_path)
    with pytest.raises(Differs, match="exit code 3"):
        run("```console\n$ echo said; exit 3\nsaid\n```\n", tmp_path)


def test_errors_are_compared_with_their_text(tmp_path: Path) -> None:
    shown = "```python\n>>> {}['a']\nTraceback (most recent call last):\nKeyError: 'a'\n```\n"
    assert run(shown, tmp_path).ran == 1
    with pytest.raises(Differs):
        run(shown.replace("KeyError: 'a'", "KeyError: 'b'"), tmp_path)
    with pytest.raises(Differs):
        run("```python\n>>> 1\nTraceback (most recent call last):\nKeyError: 'a'\n```\n", tmp_path)
    with pytest.raises(ZeroDivisionError):
        run("```python\n>>> 1 / 0\n```\n", tmp_path)


def test_names_and_files_last_for_a_page(tmp_path: Path) -> None:
    page = (
        "```python\ndef twice(x):\n    return 2 * x\n```\n<!-- file: words.txt -->\n```text\nsome words\n```\n"
        "```python\n>>> twice(4), open('words.txt').read()\n(8, 'some words\\n')\n```\n"
        "```console\n$ cat words.txt\nsome words\n```\n"
    )
    assert run(page, tmp_path).ran == 3


@pytest.mark.parametrize(
    ("want", "got", "same"),
    [
        ("it took 3.2 ms", "it took 512 µs", True),
        ("error 1.2e-07", "error 9e-09", True),
        ("12 kernels", "13 kernels", False),
        ("1.5 items", "2.5 items", False),
        ("a\n…\nd", "a\nb\nc\nd", True),
        ("a\n…\nd", "a\nb\nc", False),
        ("a  b\n\nc", "a b\nc", True),
        ("a.b", "axb", False),
    ],
)
def test_what_counts_as_the_same(want: str, got: str, same: bool) -> None:
    assert agree(want, got) == same


def test_steady_keeps_what_is_no_time() -> None:
    assert steady("X[i0] 64 s\n\n  f32 [1.0]") == "X[i0] #\nf32 [1.0]"


# The dialect of docs/add-a-dialect.md, on more than the page shows.


@pytest.fixture(scope="module")
def dialect() -> dict[str, Any]:
    page = path("add-a-dialect")
    names: dict[str, Any] = {"__name__": "page"}
    first = next(b for b in blocks(page.read_text(encoding="utf-8")) if b.language == "python")
    exec(compile(first.text, str(page), "exec"), names)
    return names


SIZES = {
    name: parse_graph(f'graph("g")\nX = input(f32[{rows}, {columns}])\n{body}\noutput(Y)')
    for rows, columns in [(1, 1), (5, 7), (13, 64)]
    for name, body in {
        f"centred_{rows}": "m[i] = max[j](X[i, j])\nY[i, j] = exp(X[i, j] - m[i])",
        f"product_{rows}": f"Y[i, k:{rows}] = sum[j](X[i, j] * X[k, j])",
        f"running_{rows}": f"Y[i, t:{columns}] = sum[s](X[i, s], where=s <= t)",
        f"where_{rows}": "Y[i] = min[j](X[i, j], where=X[i, j] > 0.0)",
    }.items()
}
GRAPHS: dict[str, Graph] = {
    **SIZES,
    **{n: EXAMPLES[n]() for n in ("variance", "gated_recurrence", "softmax_masked")},
}


@NEEDS_CC
def test_the_dialect_of_the_page_agrees_with_the_interpreter(dialect: dict[str, Any], tmp_path: Path) -> None:
    c99: Dialect = dialect["C99"]
    plans = {}
    for name, graph in GRAPHS.items():
        (plan,) = extract(graph).program.kernels
        plans[name] = (graph, plan.outputs, lower(f"k_{name}", plan.outputs))
    source = dialect["PRELUDE"] + "".join(print_kernel(k, c99) for _, _, k in plans.values())
    (tmp_path / "kernels.c").write_text(source)
    command = "cc -std=c99 -O1 -Wall -Werror -shared -fPIC -o kernels.so kernels.c -lm"
    subprocess.run(command.split(), cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "kernels.so"))
    for name, (graph, outputs, _) in plans.items():
        arrays = random_inputs(graph)
        expected = interpret(graph, arrays)
        got = {t.name: np.full([n.evaluate({}) for n in t.shape], 2, np.float32) for t in outputs}
        held = [got[s.name] if s in outputs else arrays[s.name] for s in kernel_sources(outputs)]
        library[f"k_{name}"](*(ctypes.c_void_p(a.ctypes.data) for a in held))
        for t in outputs:
            np.testing.assert_allclose(got[t.name], expected[t.name], rtol=1e-4, atol=1e-4, err_msg=name)
