"""Who may import whom, and that the general parts know no operator by name."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

from tests.tree import ROOT, modules, parse

LAYERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("errors", ("errors", "files", "progress")),
    ("ir", ("node", "affine", "ops", "ir", "monoid", "rewrite", "unify", "program")),
    ("interpret", ("bounds", "check", "precision", "interpret")),
    (
        "front",
        (
            "text",
            "sizes",
            "expression",
            "notation",
            "assemble",
            "library",
            "layers",
            "examples",
            "traced",
            "array",
            "tracing",
            "model",
            "ranges",
            "importers",
        ),
    ),
    ("schedule", ("schedule",)),
    ("egraph", ("bundles", "prefix", "egraph")),
    ("rules", ("rules",)),
    ("saturate", ("backward", "normal", "windows", "saturate")),
    ("cost", ("cost",)),
    ("extract", ("extract",)),
    ("codegen", ("codegen",)),
    ("run", ("run", "content", "measure", "verify", "budget", "probe_store", "tuned", "kernel_names")),
    (
        "pipeline",
        (
            "targets",
            "database",
            "pipeline",
            "verify_graph",
            "torch",
            "report",
            "trace",
            "artefact",
            "export",
            "tune",
        ),
    ),
    ("cli", ("cli", "discover", "doctor", "gallery", "probe", "__init__", "__main__")),
)
"""A module imports from its own layer and those above it in this table only.

A name stands for the module or package tang_egg.NAME and for modules that continue it: `check` for check_scalar too.
"""

UPWARD = {
    ("tang_egg.ir", "tang_egg.text"),
    ("tang_egg.affine", "tang_egg.expression"),
    ("tang_egg.model", "tang_egg.pipeline_model"),
    ("tang_egg.verify", "tang_egg.verify_graph"),
}
"""Imports against the order, allowed inside functions only: conveniences such as `str(graph)`."""

OPERATORS = re.compile(r"(log)?softmax|attention|layernorm|rmsnorm|conv|swiglu|gelu|flash|welford")
GENERAL = ("rules", "cost", "extract", "codegen")


def layer(module: str) -> int:
    """The position of a module's layer. Raises KeyError when the table does not name it."""
    parts = module.split(".")
    name = parts[1] if len(parts) > 1 else "__init__"
    for wanted in (name, name.split("_")[0]):
        for position, (_, names) in enumerate(LAYERS):
            if wanted in names:
                return position
    raise KeyError(f"{module} stands in no layer: add it to LAYERS in {Path(__file__).name}")


def imports(tree: ast.Module, known: set[str]) -> Iterator[tuple[str, int, bool]]:
    """Imported modules of this project: name, line, and whether the import stands at module level.

    Those under `if TYPE_CHECKING` are left out.
    """
    stack: list[tuple[ast.AST, bool]] = [(tree, True)]
    while stack:
        at, top = stack.pop()
        if isinstance(at, ast.Import):
            yield from ((a.name, at.lineno, top) for a in at.names if a.name.split(".")[0] == "tang_egg")
        elif isinstance(at, ast.ImportFrom) and (at.module or "").split(".")[0] == "tang_egg":
            for alias in at.names:
                inner = f"{at.module}.{alias.name}"
                yield (inner if inner in known else str(at.module)), at.lineno, top
        elif isinstance(at, ast.If) and "TYPE_CHECKING" in ast.unparse(at.test):
            stack.extend((child, top) for child in at.orelse)
        else:
            inside = isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            stack.extend((child, top and not inside) for child in ast.iter_child_nodes(at))


def wrong_imports(module: str, tree: ast.Module, known: set[str]) -> list[str]:
    """The imports of a module that go against the order of layers, as text."""
    wrong = []
    for target, line, top in imports(tree, known):
        if layer(target) > layer(module) and (top or (module, target) not in UPWARD):
            here, there = LAYERS[layer(module)][0], LAYERS[layer(target)][0]
            wrong.append(f"{module}:{line} ({here}) imports {target} ({there}), which is higher")
    return wrong


def test_every_module_imports_lower_layers_only() -> None:
    found = modules()
    wrong = [w for name, path in found.items() for w in wrong_imports(name, parse(path), set(found))]
    assert not wrong, "\n".join(wrong)


def test_module_level_imports_have_no_cycle() -> None:
    found = modules()
    edges = [
        (name, target)
        for name, path in found.items()
        for target, _, top in imports(parse(path), set(found))
        if top and target != name and target != "tang_egg"
    ]
    cycles = list(nx.simple_cycles(nx.DiGraph(edges)))
    assert not cycles, f"modules import each other: {cycles}"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("from tang_egg.codegen import lower", True),
        ("import tang_egg.codegen.lower", True),
        ("from tang_egg import pipeline", True),
        ("def f():\n    from tang_egg.run import compile_program", True),
        ("if TYPE_CHECKING:\n    from tang_egg.codegen.lower import Lowering", False),
        ("from tang_egg.ir import Graph", False),
    ],
)
def test_the_layer_test_sees_each_way_to_import(text: str, wrong: bool) -> None:
    known = {
        "tang_egg",
        "tang_egg.ir",
        "tang_egg.codegen",
        "tang_egg.codegen.lower",
        "tang_egg.pipeline",
        "tang_egg.run",
    }
    assert bool(wrong_imports("tang_egg.rules.law", ast.parse(text), known)) == wrong


def docstrings(tree: ast.Module) -> set[tuple[int, int]]:
    """Where strings stand that are statements of their own: docstrings of modules, classes, functions, attributes."""
    return {
        (at.value.lineno, at.value.col_offset)
        for at in ast.walk(tree)
        if isinstance(at, ast.Expr) and isinstance(at.value, ast.Constant) and isinstance(at.value.value, str)
    }


def operator_words(source: str) -> list[tuple[int, str]]:
    """Lines and tokens of a Python source, comments and docstrings aside, that contain an operator's name as a word.

    Underscores and capitals separate words, so `flash_tile` and `FlashTile` count.
    """
    prose = docstrings(ast.parse(source))
    found = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        named = token.type in (tokenize.NAME, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1))
        if named and token.start not in prose:
            text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", token.string)
            if any(OPERATORS.fullmatch(w.lower()) for w in re.split(r"[^A-Za-z]+", f"{text} {token.string}")):
                found.append((token.start[0], token.string))
    return found


def test_general_parts_know_no_operator_by_name() -> None:
    wrong = []
    for folder in GENERAL:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix == ".py":
                words = operator_words(path.read_text(encoding="utf-8"))
                wrong += [f"{path.relative_to(ROOT)}:{line}: {word}" for line, word in words]
            elif path.is_file() and path.suffix not in (".md", ".pyc"):
                lines = path.read_text(encoding="utf-8").splitlines()
                hits = [n for n, text in enumerate(lines, 1) if re.search(rf"\b({OPERATORS.pattern})\b", text.lower())]
                wrong += [f"{path.relative_to(ROOT)}:{n}" for n in hits]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("def softmax(x): pass", 1),
        ("flash_tile = 3", 1),
        ("class FlashTile: pass", 1),
        ("f('an attention layer')", 1),
        ("f(f'{x} attention')", 1),
        ("x = 1  # as in flash attention", 0),
        ('"""Online softmax falls out of this."""\ndef f():\n    """So does attention."""', 0),
        ("def convert(x): return convex(x)", 0),
    ],
)
def test_the_operator_test_sees_names_and_strings_but_not_prose(source: str, count: int) -> None:
    assert len(operator_words(source)) == count
