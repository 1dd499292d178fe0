"""Options and fixtures of all tests: golden files, renewed by `pytest --bless`."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Protocol

import pytest

os.environ.setdefault("TANG_VECTORS", "256")  # first schedules, and so goldens, are the same on every machine
os.environ.setdefault("TANG_TUNED", "no")  # nor do they depend on what was tuned; tests of that ask for it

GOLDEN = Path(__file__).parent / "golden"


class Golden(Protocol):
    """Compares `text` with tests/golden/`name`, or writes it there under `--bless`."""

    def __call__(self, name: str, text: str) -> None: ...


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="write the golden files instead of comparing with them")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    bless = bool(request.config.getoption("--bless"))

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        text = text.rstrip("\n") + "\n"
        if bless:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        if not path.exists():
            pytest.fail(
                f"there is no golden file tests/golden/{name}; look at the text, then run pytest --bless\n{text}"
            )
        expected = path.read_text(encoding="utf-8")
        if text != expected:
            lines = difflib.unified_diff(expected.splitlines(), text.splitlines(), "golden", "now", lineterm="")
            pytest.fail(f"tests/golden/{name} differs; if the change is meant, run pytest --bless\n" + "\n".join(lines))

    return compare
