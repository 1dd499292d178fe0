"""The source tree as pyproject.toml describes it: packages, modules and their files. Used by several tests."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def project() -> dict[str, Any]:
    """The contents of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def package_folder(package: str) -> Path:
    """The folder of a package, links not used: tang_egg.rules is rules/."""
    mapping: dict[str, str] = project()["tool"]["setuptools"]["package-dir"]
    parts = package.split(".")
    for n in range(len(parts), 0, -1):
        prefix = ".".join(parts[:n])
        if prefix in mapping:
            return ROOT.joinpath(mapping[prefix], *parts[n:])
    return ROOT.joinpath(*parts)


def modules() -> dict[str, Path]:
    """Every module of the listed packages by its full name; a package stands for its __init__."""
    found: dict[str, Path] = {}
    for package in project()["tool"]["setuptools"]["packages"]:
        for path in sorted(package_folder(package).glob("*.py")):
            found[package if path.stem == "__init__" else f"{package}.{path.stem}"] = path
    return found


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
