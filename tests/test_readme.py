"""What the README shows is what it says: its example runs, and its output has the lines shown, in that order."""

from __future__ import annotations

import contextlib
import io
import re

import pytest

from tests.tree import ROOT, project

README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The first fenced block of a language."""
    found = re.search(rf"```{language}\n(.*?)```", README, re.DOTALL)
    assert found, f"the README has no {language} block"
    return found.group(1)


def steady(line: str) -> str:
    """A line without what differs between runs and machines: times, errors, schedules, spaces."""
    line = re.sub(r"\d[\d.]*( [mµ]?s\b|e-\d+)", "#", line)
    return " ".join(re.sub(r"schedule: .*", "schedule:", line).split())


@pytest.mark.slow
def test_the_example_prints_what_is_shown() -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block("python"), "README.md", "exec"), {"__name__": "readme"})
    lines = iter([steady(line) for line in printed.getvalue().splitlines()])
    for shown in block("text").splitlines():
        assert shown == "…" or steady(shown) in lines, f"the report lacks this line, or has it earlier: {shown}"


def test_the_extras_named_are_those_there_are() -> None:
    line = next(text for text in README.splitlines() if text.startswith("Extras: "))
    assert set(re.findall(r"`(\w+)`", line)) == set(project()["project"]["optional-dependencies"])


def test_links_lead_to_files() -> None:
    for document in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")):
        prose = re.sub(r"```.*?```|`[^`\n]*`", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#\s]+)\)", prose):
            assert "://" in target or (document.parent / target).exists(), f"{document.name} links to {target}"
