"""The notebooks run, their cells are those of their sources, and what is committed has outputs and no chance detail."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.tree import ROOT

FOLDER = ROOT / "notebooks"
MAKE = runpy.run_path(str(FOLDER / "make_notebooks.py"))
NAMES = ("attention", "derivation", "matmul")


def committed(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    return loaded


def test_every_source_has_its_notebook() -> None:
    assert tuple(MAKE["names"]()) == NAMES
    assert {p.stem for p in FOLDER.glob("*.ipynb")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_its_source(name: str) -> None:
    found = [(c["cell_type"], "".join(c["source"])) for c in committed(name)["cells"]]
    assert found == MAKE["cells"](name), f"run: python notebooks/make_notebooks.py {name}"


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_has_outputs_and_nothing_of_its_run(name: str) -> None:
    notebook = committed(name)
    code = [c for c in notebook["cells"] if c["cell_type"] == "code"]
    assert [c["execution_count"] for c in code] == list(range(1, len(code) + 1))
    outputs = [o for c in code for o in c["outputs"]]
    assert any("image/png" in o.get("data", {}) for o in outputs)
    assert not [o for o in outputs if o["output_type"] == "error" or o.get("name") == "stderr"]
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    assert set(notebook["metadata"]["language_info"]) == {"name"}
    assert not any(c["metadata"] for c in notebook["cells"])
    text = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    assert str(Path.home()) not in text and str(ROOT) not in text
    assert len(text) < 200_000


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.nightly) if n == "attention" else n for n in NAMES])
def test_a_notebook_runs(name: str) -> None:
    for package in ("nbclient", "nbformat", "ipykernel", "matplotlib"):
        pytest.importorskip(package)
    made = MAKE["run"](name)
    code = [c for c in made.cells if c.cell_type == "code"]
    assert code and all(c.execution_count for c in code)
    assert not [o for c in code for o in c.outputs if o.output_type == "error"]


@pytest.mark.slow
def test_a_cell_that_fails_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("ipykernel")
    errors = pytest.importorskip("nbclient.exceptions")
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "bad.py").write_text("# %%\nassert 1 + 1 == 3\n")
    run = runpy.run_path(str(FOLDER / "make_notebooks.py"))
    run["run"].__globals__["FOLDER"] = tmp_path
    with pytest.raises(errors.CellExecutionError, match="AssertionError"):
        run["run"]("bad")
