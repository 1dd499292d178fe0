"""The suite of all targets of one device: rows of what works, a word about what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import grids, log
from bench.floor import graph_of


def test_a_target_that_works_has_rows_and_another_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grids, "ROUND", 1e-4)
    found = tmp_path / "log.jsonl"
    status = grids.main(["--small", "--programs", "scaled", "--log", str(found), "--commit", "abc"])
    out, err = capsys.readouterr()
    written = log.read(found) if found.exists() else []
    for target in grids.TARGETS:
        rows = [r for r in written if r["system"].endswith(f" {target}")]
        assert bool(rows) is not (f"scaled on {target}: " in err)
        assert all(r["suite"] == "grids" and r["commit"] == "abc" and r["median_ms"] > 0 for r in rows)
    assert status == (0 if written else 1) and len(out.splitlines()) == len(written)


def test_every_program_has_a_graph_of_its_size() -> None:
    for name, shape in {**grids.SIZES, **grids.SMALL}.items():
        assert graph_of("grids", name, shape, "f32") is not None
