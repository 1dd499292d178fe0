"""docs/library.md lists every composition with its call, shapes and meaning, as the docstrings have them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

import tang_egg as te
from tests.tree import ROOT, modules

PAGE = ROOT / "docs" / "library.md"
HEAD = """# The library

Compositions over arrays, written in the index notation of `tang_egg.notation`. Each takes arrays and gives arrays; none
has a node or a kernel of its own, so what one costs is for the laws and the selection to find. Every one is naive
mathematics: a statistic is a fold, then used; a mask is the domain of a fold.

Shapes stand in brackets: `x[n, k]` has two axes, `...` is any number of leading axes. Extents may be symbolic
(`te.dim`) unless a line says fixed. A result has the element type of the first operand; intermediates are f32, or f64
where an operand is. Arguments that do not fit raise a `GraphError` while the graph is built.

More, such as the conventions of windows and paddings, is in the docstrings: `help(te.conv)`. This page is
made from them: `pytest tests/test_library_docs.py --bless`.
"""
TITLES = {
    "library": "Products, statistics, softmax",
    "library_norm": "Norms over channels",
    "library_loss": "Loss",
    "library_conv": "Convolutions",
    "library_pool": "Pooling",
    "library_scan": "Cumulative folds",
    "library_sort": "Order",
    "library_embedding": "Bags of rows",
    "library_einsum": "Sums of products by specification",
    "library_spectral": "Spectra",
    "library_quant": "Weights of 8 and 4 bits",
    "library_gguf": "GGUF blocks",
    "layers": "Attention and feed-forward layers",
    "layers_attention": "Attention: groups, biases, pages",
    "layers_rotary": "Rotary embeddings",
    "layers_moe": "Mixtures of experts",
    "layers_recurrent": "Recurrent cells",
    "layers_sequence": "Recurrent networks",
}
PARTS = {"broadcast", "input_products", "rnn_step", "gru_step", "lstm_step"}
"""Functions over arrays that compositions are made of, not meant for callers."""
UNDER_LIBRARY = {"argmax", "logsumexp"}
"""Those whose name in `tang_egg` is the fold of the notation: they are called as te.library.argmax."""


def compositions(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions of a module that give arrays, in the order of its source."""
    for name, f in vars(module).items():
        if inspect.isfunction(f) and f.__module__ == module.__name__ and not name.startswith("_"):
            if name not in PARTS and re.match(r"Array\b|tuple\[Array", str(f.__annotations__.get("return", ""))):
                yield name, f


def call(name: str, f: Callable[..., Any]) -> str:
    """The call as one writes it: parameters and defaults without annotations."""
    parameters = [
        p.replace(annotation=p.empty, default=_Plain(p.default) if p.default is not p.empty else p.empty)
        for p in inspect.signature(f).parameters.values()
    ]
    text = str(inspect.Signature(parameters))
    return f"te.{'library.' if name in UNDER_LIBRARY else ''}{name}{text}"


class _Plain:
    """A default value as it is written: a function by its name."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __repr__(self) -> str:
        return getattr(self.value, "__name__", repr(self.value))


def summary(f: Callable[..., Any]) -> str:
    """The first paragraph of a docstring on one line, fit for a table."""
    return " ".join((inspect.getdoc(f) or "").split("\n\n")[0].split()).replace("|", "\\|")


def page() -> str:
    parts = [HEAD]
    for module, title in TITLES.items():
        rows = [f"| `{call(n, f)}` | {summary(f)} |" for n, f in compositions(import_module(f"tang_egg.{module}"))]
        parts.append("\n".join([f"## {title}", "", "| call | what it gives |", "|---|---|", *rows, ""]))
    return "\n".join(parts)


def test_the_page_is_what_the_docstrings_say(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--bless"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.exists() and PAGE.read_text(encoding="utf-8") == page(), "run pytest tests/test_library_docs.py --bless"


def test_every_module_of_the_library_has_a_place_on_the_page() -> None:
    named = {n.removeprefix("tang_egg.") for n in modules() if re.match(r"tang_egg\.(library|layers)(_|$)", n)}
    assert named - set(TITLES) == {"library_window"}  # parts of convolutions and pooling; no compositions


def test_every_composition_is_at_hand_under_te_and_documented_with_shapes() -> None:
    for module in TITLES:
        for name, f in compositions(import_module(f"tang_egg.{module}")):
            home = te.library if name in UNDER_LIBRARY else te
            assert getattr(home, name) is f, f"{name} is not exported"
            assert name in te.__all__ or name in UNDER_LIBRARY
            assert re.search(r"\[.*\]|shape|axis|broadcast", inspect.getdoc(f) or ""), f"{name} names no shapes"


def test_the_page_shows_defaults_and_where_keywords_begin() -> None:
    assert "| `te.conv(x, w, bias=None, *, stride=1, padding=0, dilation=1, groups=1)` |" in page()
    assert "activation=gelu)" in page()
