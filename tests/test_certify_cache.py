"""The cache of measured times: what an entry depends on, damage, locks, folders that cannot be written."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path

import pytest

import tang_egg as te
from tang_egg.extract.certify_ledger import Timed, Trial
from tang_egg.extract.space import SpaceKernel
from tang_egg.pipeline import extract
from tang_egg.pipeline_space import problem_of, target_of
from tang_egg.tuned import Tuned, folder, read, write

TIME = Timed(1.5e-6, 2e-7, 21)


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TANG_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def kernel() -> SpaceKernel:
    i = te.index("i", 12)
    x = te.input("X", (12,))
    graph = te.graph("double", Y=te.tensor(None, i, x[i] + x[i]))
    return problem_of(extract(graph), target_of("c", {})).kernels[0]


def test_a_time_comes_back_and_only_for_the_same_question(kernel: SpaceKernel) -> None:
    known = Tuned("a processor", "warm", 2)
    assert known.recall(Trial(kernel, 0)) is None
    known.keep(Trial(kernel, 0), TIME)
    assert Tuned("a processor", "warm", 2).recall(Trial(kernel, 0)) == TIME
    assert known.recall(Trial(kernel, 1)) is None
    for other in (Tuned("another", "warm", 2), Tuned("a processor", "cold", 2), Tuned("a processor", "warm", 4)):
        assert other.recall(Trial(kernel, 0)) is None
    assert Tuned("a processor", "warm", 2, {"n": 3}).recall(Trial(kernel, 0)) is None


def test_another_compiler_is_another_question(kernel: SpaceKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    Tuned("a processor", "warm", 2).keep(Trial(kernel, 0), TIME)
    monkeypatch.setenv("TANG_CFLAGS", "-O1")
    assert Tuned("a processor", "warm", 2).recall(Trial(kernel, 0)) is None


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b'{"sum": "x", "median": 1, "spread": 0, "runs": 1}',
        b"\xff\xfe",
        b" " * (1 << 15),
        b"[" * 9000,
    ],
)
def test_a_damaged_entry_is_dropped_with_a_warning(tmp_path: Path, damage: bytes) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(damage)
    with pytest.warns(UserWarning, match=r"is damaged and was dropped"):
        assert read(file) is None
    assert not file.exists() and read(file) is None


def test_a_changed_number_is_damage(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    write(file, TIME)
    body = json.loads(file.read_text())
    file.write_text(json.dumps({**body, "median": 1e-9}))
    with pytest.warns(UserWarning, match="it does not match its checksum"):
        assert read(file) is None


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.warns(UserWarning, match="a measured time is not kept"):
        write(tmp_path / "timings" / "x.json", TIME)


def test_a_file_in_place_of_the_folder_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "timings").write_text("")
    with pytest.warns(UserWarning, match="a measured time is not kept"):
        write(folder() / "x.json", TIME)


def _writes(path: str, n: int) -> None:
    for k in range(20):
        write(Path(path), Timed(1e-6 * (n + 1), 0.0, k + 1))


def test_several_processes_leave_a_whole_entry(tmp_path: Path) -> None:
    file = str(tmp_path / "timings" / "x.json")
    context = multiprocessing.get_context("fork")
    running = [context.Process(target=_writes, args=(file, n)) for n in range(3)]
    for p in running:
        p.start()
    for p in running:
        p.join(60)
    found = read(Path(file))
    assert found is not None and found.runs == 20
    assert [p.name for p in (tmp_path / "timings").iterdir() if p.suffix != ".lock" and p.name != ".lock"] == ["x.json"]
