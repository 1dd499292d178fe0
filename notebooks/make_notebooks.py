"""Writes the notebooks from `sources/*.py` and runs them: `python notebooks/make_notebooks.py [NAME ...]`.

A source is a Python file whose cells start with `# %%`, or with `# %% [markdown]` for text. What a notebook keeps from
its run are outputs; times of execution and versions are left out, so that a diff shows what changed.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
SECONDS = 300
"""How long one cell may take on a busy machine; a whole notebook takes about one minute on two cores."""


def names() -> list[str]:
    """The notebooks that there are sources of."""
    return sorted(path.stem for path in (FOLDER / "sources").glob("*.py"))


def cells(name: str) -> list[tuple[str, str]]:
    """The cells of a source: kind ("markdown" or "code") and text."""
    text = (FOLDER / "sources" / f"{name}.py").read_text(encoding="utf-8")
    found: list[tuple[str, str]] = []
    for kind, body in re.findall(r"^# %%( \[markdown\])?\n(.*?)(?=^# %%|\Z)", text, re.DOTALL | re.MULTILINE):
        body = body.strip("\n")
        if kind:
            body = "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.splitlines())
        found.append(("markdown" if kind else "code", body))
    return found


def run(name: str) -> Any:
    """The notebook of a source, executed by the interpreter that runs this; the tree's own tang_egg is imported."""
    import nbformat
    from nbclient import NotebookClient

    made = nbformat.v4.new_notebook()
    for n, (kind, text) in enumerate(cells(name)):
        cell = nbformat.v4.new_markdown_cell(text) if kind == "markdown" else nbformat.v4.new_code_cell(text)
        cell["id"] = f"{name}-{n}"
        made.cells.append(cell)
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *([before] if before else [])])
    try:
        client = NotebookClient(made, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": FOLDER}})
        client.execute()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    for cell in made.cells:
        cell["metadata"] = {}
    made["metadata"] = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return made


def main(wanted: list[str]) -> None:
    """Writes some notebooks, or all."""
    import nbformat

    for name in wanted or names():
        path = FOLDER / f"{name}.ipynb"
        new = path.with_name(f".{path.name}.new")
        nbformat.write(run(name), new)
        os.replace(new, path)
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
