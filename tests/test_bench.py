"""The benchmark harness: turns are taken, rows are complete, the log only grows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import log
from tests.tree import ROOT


def test_a_row_says_where_when_and_on_what() -> None:
    row = log.row("suite", "program", "system 1", median_ms=1.5, nodes=7)
    assert list(row)[:9] == list(log.FIRST)
    assert row["nodes"] == 7
    assert row["error"] is None
    assert row["when"].endswith("+00:00")
    assert "cores" in row["device"]
    assert row["run"] == log.row("suite", "other", "system 1")["run"]


def test_the_log_is_only_appended_to(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    log.append([log.row("s", "first", "x")], file)
    before = file.read_bytes()
    log.append([log.row("s", "second", "x"), log.row("s", "third", "x")], file)
    assert file.read_bytes().startswith(before)
    assert [json.loads(line)["program"] for line in file.read_text().splitlines()] == ["first", "second", "third"]


def test_the_committed_log_has_whole_rows() -> None:
    lines = log.FILE.read_text(encoding="utf-8").splitlines() if log.FILE.exists() else []
    for line in lines:
        row = json.loads(line)
        assert set(log.FIRST) | set(log.MEASURED) <= set(row)
        assert row["median_ms"] is None or row["median_ms"] > 0


def test_rows_print_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    log.show([log.row("s", "p", "x", shape={"seq": 4}, median_ms=0.01234, error=1.5e-7, nodes=100)])
    text = capsys.readouterr().out
    for part in ("seq=4", "0.0123", "1.5e-07", "100"):
        assert part in text


def test_variables_that_slow_openblas_are_unset_before_numpy_loads() -> None:
    code = "\n".join(
        (
            "import os, sys, types",
            "from bench.__main__ import main",
            "assert 'numpy' not in sys.modules",
            "suite = types.ModuleType('bench.saturate')",
            "suite.measure = lambda rest: print(os.environ.get('OPENBLAS_CORETYPE')) or []",
            "sys.modules['bench.saturate'] = suite",
            "sys.exit(main(['saturate', '--no-log']))",
        )
    )
    environment = os.environ | {"OPENBLAS_CORETYPE": "Haswell"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("None")
