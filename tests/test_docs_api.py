"""The API reference: every public name has a docstring, and the reference is built without a warning."""

from __future__ import annotations

import inspect
import runpy
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tang_egg
from tests.tree import ROOT, modules

SCRIPT = ROOT / "docs" / "make_api.py"
PUBLIC: tuple[str, ...] = runpy.run_path(str(SCRIPT))["PUBLIC"]


def own_members(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that a class itself defines."""
    for name, member in cls.__dict__.items():
        if not name.startswith("_") and isinstance(member, (property, staticmethod, classmethod)):
            yield name, member.fget if isinstance(member, property) else member.__func__
        elif not name.startswith("_") and inspect.isfunction(member):
            yield name, member


def undocumented(module: ModuleType) -> list[str]:
    """Public functions, classes and methods that a module defines and says nothing about, and the module itself."""
    found = [] if (module.__doc__ or "").strip() else [module.__name__]
    for name, thing in vars(module).items():
        if name.startswith("_") or getattr(thing, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(thing) and not (thing.__doc__ or "").strip():
            found.append(f"{module.__name__}.{name}")
        elif inspect.isclass(thing):
            given = (thing.__doc__ or "").strip()
            if not given or (is_dataclass(thing) and given.startswith(f"{name}(")):  # what dataclass makes up
                found.append(f"{module.__name__}.{name}")
            found += [f"{module.__name__}.{name}.{m}" for m, f in own_members(thing) if not (f.__doc__ or "").strip()]
    return found


def test_every_exported_name_is_documented() -> None:
    bare = [name for name in tang_egg.__all__ if not (inspect.getdoc(getattr(tang_egg, name)) or "").strip()]
    assert not bare, f"no docstring: {', '.join(bare)}"


def test_every_exported_name_is_there_once() -> None:
    assert len(set(tang_egg.__all__)) == len(tang_egg.__all__)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_of_a_public_module_is_documented(name: str) -> None:
    assert not undocumented(import_module(name))


def test_a_missing_docstring_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("example", "Text.")
    monkeypatch.setitem(sys.modules, "example", module)
    exec(
        "from dataclasses import dataclass\n"
        "def said():\n    'Text.'\ndef bare(): ...\n"
        "class Kept:\n    'Text.'\n    def bare(self): ...\n    @property\n    def shown(self):\n        'Text.'\n"
        "@dataclass\nclass Made:\n    x: int\n",
        module.__dict__,
    )
    assert undocumented(module) == ["example.bare", "example.Kept.bare", "example.Made"]


def test_public_modules_exist_and_what_is_exported_comes_from_one() -> None:
    assert set(PUBLIC) <= set(modules())


@pytest.mark.slow
def test_the_reference_is_built_without_warnings(tmp_path: Path) -> None:
    pytest.importorskip("pdoc")
    command = [sys.executable, "-W", "error::UserWarning", str(SCRIPT), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    assert not done.stderr.strip(), done.stderr
    for name in PUBLIC:
        page = tmp_path / f"{name.replace('.', '/')}.html"
        assert page.exists() and name.split(".")[-1] in page.read_text(encoding="utf-8"), name
    assert "optimize" in (tmp_path / "tang_egg.html").read_text(encoding="utf-8")
