"""That pyproject.toml, the links, the tree and what is built from them agree."""

from __future__ import annotations

import fnmatch
import importlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from tests.tree import ROOT, modules, package_folder, project

SETUPTOOLS = project()["tool"]["setuptools"]
MAPPED: dict[str, str] = SETUPTOOLS["package-dir"]
LINKS = {package: folder for package, folder in MAPPED.items() if package.count(".") == 1}


def tree_packages() -> set[str]:
    """Every folder with Python files below tang_egg/ and the mapped folders, as a package name."""
    found = set()
    for package, folder in {"tang_egg": "tang_egg", **LINKS}.items():
        for current, below, files in os.walk(ROOT / folder):  # does not follow links
            below[:] = [b for b in below if b != "__pycache__"]
            if any(f.endswith(".py") for f in files):
                found.add(".".join([package, *Path(current).relative_to(ROOT / folder).parts]))
    return found


def data_files() -> dict[str, Path]:
    """The files that package-data ships, by their path in a wheel."""
    found = {}
    for package, patterns in SETUPTOOLS["package-data"].items():
        folder = package_folder(package)
        for pattern in patterns:
            for path in folder.glob(pattern):
                found[f"{package.replace('.', '/')}/{path.relative_to(folder).as_posix()}"] = path
    return found


def expected_files() -> list[str]:
    """The files of a wheel, its metadata aside."""
    listed = list(data_files())
    for name, path in modules().items():
        listed.append(name.replace(".", "/") + ("/__init__.py" if path.stem == "__init__" else ".py"))
    return sorted(listed)


def test_packages_listed_are_those_of_the_tree() -> None:
    assert set(SETUPTOOLS["packages"]) == tree_packages()


def test_every_package_has_an_init() -> None:
    assert [p for p in SETUPTOOLS["packages"] if not (package_folder(p) / "__init__.py").is_file()] == []


@pytest.mark.parametrize("package", sorted(LINKS))
def test_mapped_folders_have_a_relative_link(package: str) -> None:
    link = ROOT.joinpath(*package.split("."))
    assert link.is_symlink()
    assert os.readlink(link) == f"../{LINKS[package]}"


def test_files_that_are_not_python_are_shipped_or_prose() -> None:
    shipped = set(data_files().values())
    left = [
        path
        for package in SETUPTOOLS["packages"]
        for path in package_folder(package).iterdir()
        if path.is_file() and path.suffix not in (".py", ".md") and path not in shipped
    ]
    assert left == [], "add them to package-data"


def test_the_database_of_schedules_is_shipped() -> None:
    assert {"tang_egg/schedules/c.jsonl", "tang_egg/schedules/cuda.jsonl"} <= set(expected_files())


def test_scripts_name_functions_that_exist() -> None:
    for target in project()["project"]["scripts"].values():
        module, _, function = target.partition(":")
        assert callable(getattr(importlib.import_module(module), function)), target


def copy_sources(target: Path) -> None:
    """What a build reads, links kept as links."""
    ignore = shutil.ignore_patterns("__pycache__", "*.pyc")
    for folder in ("tang_egg", *LINKS.values()):
        shutil.copytree(ROOT / folder, target / folder, symlinks=True, ignore=ignore)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, target / name)


def build(kind: str, folder: Path) -> Path:
    """A wheel or sdist of the sources in `folder`, by the build backend itself."""
    code = f"from setuptools import build_meta; print('built', build_meta.build_{kind}('dist'))"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "dist" / done.stdout.rsplit("built ", 1)[1].strip()


def wheel_files(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        names = [n for n in archive.namelist() if not n.endswith("/")]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    assert repeated == []
    return sorted(n for n in names if not fnmatch.fnmatch(n, "tang_egg-*.dist-info/*"))


@pytest.mark.slow
def test_a_wheel_has_every_file_once(tmp_path: Path) -> None:
    copy_sources(tmp_path)
    wheel = build("wheel", tmp_path)
    assert wheel_files(wheel) == expected_files()
    with zipfile.ZipFile(wheel) as archive:
        assert any(n.endswith("dist-info/licenses/LICENSE") for n in archive.namelist())


@pytest.mark.slow
def test_a_wheel_from_an_sdist_is_the_same(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    copy_sources(source)
    with tarfile.open(build("sdist", source)) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    assert wheel_files(build("wheel", unpacked)) == expected_files()
