"""The files of the database: lines that come back, damage, writers side by side, and what is shipped."""

from __future__ import annotations

import json
import multiprocessing
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from tang_egg import database
from tang_egg.database import Entry, Place, entry_of, merge, ordered, read, update
from tang_egg.errors import InputError, TargetError
from tang_egg.schedule import parse_schedule
from tang_egg.targets import TARGETS

PLACE = Place("c", "a processor", "vendor family 1", 256, 2)
ENTRY = Entry(
    PLACE, "00ff", (("n0", 128),), "f32", "softmax: P", "point", "split order=i0", "c0de", "5eed", 2e-3, 1e-5, 1e-3,
    2e-5, 9e-4, 1e-6, 21, "0.1.0", "cc 12", "2026-11-30",
)  # fmt: skip


def others(count: int) -> list[Entry]:
    return [replace(ENTRY, kernel=f"{n:04x}") for n in range(count)]


def put(path: Path, *entries: Entry) -> None:
    update(path, lambda table: table.update({e.key: e for e in entries}))


def test_a_line_comes_back() -> None:
    line = ENTRY.line()
    assert "\n" not in line and entry_of(line) == ENTRY and ENTRY.ratio == pytest.approx(2)
    odd = replace(ENTRY, what='a "graph"\nof two lines: é', sizes=())
    assert "\n" not in odd.line() and entry_of(odd.line()) == odd


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seconds", 0), ("seconds", -1.0), ("seconds", "1"), ("first_seconds", 0.0), ("runs", 1.5), ("runs", True),
        ("sizes", []), ("sizes", {"n0": -1}), ("sizes", {"n0": "1"}), ("place", {}), ("place", None), ("kernel", 7),
        ("schedule", None), ("spread", None),
    ],
)  # fmt: skip
def test_a_line_that_makes_no_sense_is_none(field: str, value: object) -> None:
    data = json.loads(ENTRY.line())
    data[field] = value
    with pytest.raises(ValueError):
        entry_of(json.dumps(data))


@pytest.mark.parametrize("change", [{"more": 1}, {"seconds": None}])
def test_fields_that_are_missing_or_unknown_are_told(change: dict[str, object]) -> None:
    data = {**json.loads(ENTRY.line()), **change}
    data = {k: v for k, v in data.items() if v is not None}
    with pytest.raises(ValueError, match=r"missing or unknown: (more|seconds)"):
        entry_of(json.dumps(data))


def test_infinite_times_are_no_times() -> None:
    with pytest.raises(ValueError):
        entry_of(ENTRY.line().replace('"seconds": 0.001', '"seconds": Infinity'))


def test_a_file_is_written_in_one_order_and_read_once_for_each_version(tmp_path: Path) -> None:
    path = tmp_path / "below" / "s.jsonl"
    assert read(path).entries == ()
    put(path, *reversed(others(5)))
    text = path.read_text()
    assert [e.kernel for e in read(path).entries] == [f"{n:04x}" for n in range(5)]
    put(path, others(5)[3])
    assert path.read_text() == text  # writing the same again changes nothing
    put(path, replace(ENTRY, kernel="aaaa"))
    assert len(read(path).entries) == 6 and set(text.splitlines()) < set(path.read_text().splitlines())
    assert stat.S_IMODE(path.stat().st_mode) & 0o400


def test_lines_that_are_no_entries_are_passed_by_and_told_when_the_file_is_written(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(f"{ENTRY.line()}\n{{\n\n[1]\n")
    book = read(path)
    assert book.entries == (ENTRY,) and [line.split(":")[0] for line in book.unreadable] == ["line 2", "line 4"]
    with pytest.warns(UserWarning, match="line 2: .*; line 4: "):
        put(path, *others(1))
    assert read(path).unreadable == () and len(read(path).entries) == 2


def test_what_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    put(path, ENTRY)

    def broken(table: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        update(path, broken)
    assert read(path).entries == (ENTRY,)
    assert sorted(p.name for p in tmp_path.iterdir() if not p.name.endswith(".lock")) == ["s.jsonl"]
    put(path, *others(1))  # the lock was given back
    assert len(read(path).entries) == 2


def write_some(path: Path, first: int) -> None:
    for n in range(first, first + 8):
        put(path, replace(ENTRY, kernel=f"{n:04x}"))


def test_writers_side_by_side_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    context = multiprocessing.get_context("fork")
    team = [context.Process(target=write_some, args=(path, 8 * n)) for n in range(3)]
    for p in team:
        p.start()
    for p in team:
        p.join()
    assert [p.exitcode for p in team] == [0, 0, 0]
    assert [e.kernel for e in read(path).entries] == [f"{n:04x}" for n in range(24)]


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TargetError, match="cannot be written") as error:
        put(tmp_path / "file" / "s.jsonl", ENTRY)
    assert "TANG_CACHE" in error.value.mend


def test_a_lock_that_is_held_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from filelock import FileLock

    monkeypatch.setattr(database, "WAIT", 0.05)
    with FileLock(str(tmp_path / ".s.jsonl.lock")), pytest.raises(TargetError, match="held the lock"):
        put(tmp_path / "s.jsonl", ENTRY)


def test_what_is_no_text_or_too_large_is_no_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="no UTF-8"):
        read(path)
    path.write_text(ENTRY.line() * 3)
    monkeypatch.setattr(database, "LARGEST", 100)
    with pytest.raises(InputError, match="larger than"):
        read(path)


def test_merging_takes_what_is_new_or_newer(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    put(path, ENTRY)
    older = replace(ENTRY, seconds=5e-4, when="2025-01-01")
    newer = replace(ENTRY, seconds=6e-4, when="2027-01-01")
    assert merge([older], path) == 0 and read(path).entries == (ENTRY,)
    assert merge([newer, *others(2)], path) == 3
    assert [e.seconds for e in read(path).entries] == [1e-3, 1e-3, 6e-4]
    assert merge([newer, *others(2)], path) == 0


def test_the_own_file_lies_in_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TANG_CACHE", str(tmp_path))
    assert database.own_file().parent == tmp_path


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_shipped_is_in_order_and_worth_it(target: str) -> None:
    """Every line can be read, is faster than the first proposal by more than the spread, and speaks of its target."""
    path = database.shipped_file(target)
    if not path.exists():
        assert target not in ("c", "cuda")
        return
    book = read(path)
    assert book.unreadable == ()
    assert path.read_text(encoding="utf-8") == "".join(f"{e.line()}\n" for e in ordered(book.entries))
    for e in book.entries:
        assert e.place.target == target and e.schedule != e.first and os.sep not in e.driver.split(",")[0]
        assert e.seconds + e.spread / 2 < e.first_seconds - e.first_spread / 2, e.what
        assert str(parse_schedule(e.schedule)) == e.schedule and str(parse_schedule(e.first)) == e.first
