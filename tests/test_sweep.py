"""A short sweep of random schedules; `python -m tests.sweep` runs longer ones."""

from __future__ import annotations

import pytest

from tests.sweep import sweep


@pytest.mark.parametrize("vectors", ["256", "512"])
def test_random_schedules_give_what_the_interpreter_gives(vectors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_VECTORS", vectors)
    monkeypatch.setenv("TANG_CFLAGS", "-O1")
    found = sweep(9, seed=0, each=3)
    assert found.run > 50
    assert not found.failures, "\n".join(found.failures)
