"""Writes the API reference as HTML: `python docs/make_api.py [FOLDER]`, by default into build/docs.

The pages are made by pdoc from the docstrings of the public modules, which are listed here.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent

PUBLIC = (
    "tang_egg",
    "tang_egg.notation",
    "tang_egg.expression",
    "tang_egg.library",
    "tang_egg.layers",
    "tang_egg.monoid",
    "tang_egg.monoid_entries",
    "tang_egg.affine",
    "tang_egg.ir",
    "tang_egg.text",
    "tang_egg.interpret",
    "tang_egg.errors",
    "tang_egg.pipeline",
    "tang_egg.pipeline_compiled",
    "tang_egg.schedule",
    "tang_egg.measure",
    "tang_egg.verify",
    "tang_egg.saturate",
    "tang_egg.report",
    "tang_egg.report_model",
    "tang_egg.model",
    "tang_egg.artefact",
    "tang_egg.content",
    "tang_egg.export",
    "tang_egg.tracing",
    "tang_egg.array_api",
    "tang_egg.importers.onnx",
    "tang_egg.importers.safetensors",
    "tang_egg.importers.gguf",
    "tang_egg.examples",
    "tang_egg.gallery",
    "tang_egg.rules.law",
    "tang_egg.rules.pattern",
    "tang_egg.cost.roofline",
    "tang_egg.codegen.candidates",
    "tang_egg.codegen.kernel",
    "tang_egg.codegen.printer",
)
"""The modules of the reference: what a user calls, and what one who adds a law, a dialect or a schedule builds with."""


def textual_aliases(module: ModuleType) -> list[str]:
    """The names of the type aliases of a module that are written as text."""
    tree = ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))
    found = [at for at in tree.body if isinstance(at, ast.AnnAssign) and ast.unparse(at.annotation) == "TypeAlias"]
    names = [ast.unparse(at.target) for at in found]
    return [name for name in names if isinstance(module.__dict__.get(name), str)]


def resolve_aliases(modules: Iterable[ModuleType]) -> None:
    """Replaces type aliases that are written as text by the types that they stand for.

    They are text where a class in them comes later; by now all are there, and pdoc can link to them. An alias of other
    aliases waits until those have been resolved.
    """
    waiting = [(m, name) for m in modules if m.__file__ for name in textual_aliases(m)]
    while waiting:
        later = []
        for module, name in waiting:
            text = ast.parse(module.__dict__[name], mode="eval")
            parts = [ast.unparse(x) for x in ast.walk(text) if isinstance(x, (ast.Name, ast.Attribute))]
            if any(isinstance(eval(part, module.__dict__), str) for part in parts):
                later.append((module, name))
            else:
                setattr(module, name, eval(module.__dict__[name], module.__dict__))
                _spread(module, name)
        if len(later) == len(waiting):
            return  # what is left mentions names that exist for type checkers only
        waiting = later


def _spread(module: ModuleType, name: str) -> None:
    """Gives the resolved alias to the modules that have imported it."""
    for other in list(sys.modules.values()):
        if getattr(other, "__name__", "").startswith("tang_egg") and isinstance(other.__dict__.get(name), str):
            if name not in textual_aliases(other):
                setattr(other, name, module.__dict__[name])


def prepare() -> None:
    """Imports what is documented, with names that are imported on first use and all aliases resolved."""
    package = import_module("tang_egg")
    for name in package.__all__:
        setattr(package, name, getattr(package, name))
    for name in PUBLIC:
        import_module(name)
    resolve_aliases([m for name, m in list(sys.modules.items()) if name.startswith("tang_egg")])


def main(folder: Path) -> None:
    """Writes the reference into a folder."""
    import pdoc
    import pdoc.render

    prepare()
    pdoc.render.configure(docformat="markdown", footer_text="tang_egg", search=True)
    with warnings.catch_warnings():
        # attributes that a decorator sets and that begin with an underscore: they are not shown anyway
        warnings.filterwarnings("ignore", r"Cannot determine where \S+\._\w+ is taken from")
        shown = {f"tang_egg.{name}" for name in import_module("tang_egg").__all__}  # pdoc adds these by itself
        pdoc.pdoc(*(name for name in PUBLIC if name not in shown), output_directory=folder)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "docs")
