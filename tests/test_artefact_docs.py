"""The page on artefacts does what it says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.docs_blocks import Runner
from tests.tree import ROOT, project


@pytest.mark.skipif(shutil.which("cc") is None, reason="the page calls cc")
def test_the_page_prints_what_it_shows(tmp_path: Path) -> None:
    assert project()["project"]["scripts"]["tang-compile"] == "tang_egg.cli_compile:main"
    assert Runner(ROOT / "docs" / "artefacts.md", tmp_path).run().ran > 12
