"""The C compiler and the cache of kernels when things go wrong: hangs, full disks, damage, many processes, kill -9."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tang_egg import run_cache, run_toolchain
from tang_egg.errors import TargetError

ROOT = Path(__file__).parent.parent
SOURCE = "int answer(void) { return 42; }\n"

BUILD = """
import resource, sys
from tang_egg import run_toolchain
from tang_egg.errors import TargetError
limit = int(sys.argv[1])
run_toolchain.compiler()  # found out before it counts
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
print("ready", flush=True)
try:
    for source in sys.argv[2:]:
        print(run_toolchain.build(source).answer(), flush=True)
except TargetError as error:
    sys.exit(f"{type(error).__name__} {error}")
"""
"""Builds libraries and calls them; no file may have more bytes than the first argument says."""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TANG_CFLAGS", "-O1")


def entries(folder: Path) -> list[str]:
    """The names of all that is in the cache but locks."""
    return sorted(p.name for p in (folder / "kernels").iterdir() if p.suffix != ".lock")


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def builder(*sources: str, limit: int = 0) -> subprocess.Popen[str]:
    """A process that says when it starts to build, builds libraries and calls each."""
    return subprocess.Popen(
        [sys.executable, "-c", BUILD, str(limit), *(sources or (SOURCE,))], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def ended(process: subprocess.Popen[str]) -> tuple[int, list[str], str]:
    """Status, words and errors of a process."""
    out, errors = process.communicate(timeout=100)
    return process.returncode, out.split(), errors


def three_parts(error: TargetError) -> str:
    assert error.what and error.where and error.mend
    return str(error)


# -- compilers


def test_a_compiler_that_hangs_is_ended_with_what_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = " ".join(run_toolchain.compiler().command)
    mark = tmp_path / "children"
    hangs = f"sleep 1000 & echo $! >> {mark}; wait"
    monkeypatch.setenv("TANG_CC_SECONDS", "1")
    for name, text in (
        ("version", hangs),
        ("build", f'case "$*" in *kernels*) {hangs} ;; *) exec {real} "$@" ;; esac'),
    ):
        monkeypatch.setenv("TANG_CC", script(tmp_path / name, text))
        start = time.monotonic()
        with pytest.raises(TargetError, match="did not end within 1 s") as caught:
            run_toolchain.build(SOURCE)
        assert time.monotonic() - start < 30
        assert "TANG_CC_SECONDS" in three_parts(caught.value) and str(tmp_path / name) in caught.value.where
    for pid in map(int, mark.read_text().split()):
        assert stops(pid)
    assert entries(tmp_path / "cache") == []


def stops(pid: int) -> bool:
    """Whether a process that was sent SIGKILL is gone soon: the kernel takes its time on a busy machine."""
    until = time.monotonic() + 10
    while running(pid) and time.monotonic() < until:
        time.sleep(0.02)
    return not running(pid)


def running(pid: int) -> bool:
    """Whether a process is there and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_one_unit_that_fails_ends_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = " ".join(run_toolchain.compiler().command)
    mark = tmp_path / "child"
    text = f'case "$*" in *kernels1.c*) echo $$ > {mark}; exec sleep 1000 ;; *) exec {real} "$@" ;; esac'
    monkeypatch.setenv("TANG_CC", script(tmp_path / "cc", text))
    monkeypatch.setenv("TANG_CC_SECONDS", "1")
    with pytest.raises(TargetError, match="did not end"):
        run_toolchain.build(SOURCE, "int other;\n")
    assert mark.exists() and stops(int(mark.read_text()))


@pytest.mark.parametrize("said", ["0", "-3", "soon", "inf", "nan"])
def test_a_limit_that_is_no_number_is_refused(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_CC_SECONDS", said)
    with pytest.raises(TargetError, match=f"TANG_CC_SECONDS={said}") as caught:
        run_toolchain.build(SOURCE)
    three_parts(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kill -SEGV $$", "no C compiler was found"),
        ("exit 1", "no C compiler was found"),
        ('case "$*" in *kernels*) kill -SEGV $$ ;; *) exit 0 ;; esac', "does not compile"),
        ('case "$*" in *kernels*) echo "a: error: b" >&2; exit 1 ;; *) exit 0 ;; esac', "cc: a: error: b"),
        ('case "$*" in *kernels*) head -c 100000 /dev/urandom >&2; exit 1 ;; *) exit 0 ;; esac', "does not compile"),
        ('printf "\\377\\376"; exit 0', "wrote no library"),
    ],
)
def test_a_broken_compiler_is_an_error_of_three_parts(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANG_CC", script(tmp_path / "cc", text))
    with pytest.raises(TargetError) as caught:
        run_toolchain.build(SOURCE)
    assert said in three_parts(caught.value)
    str(caught.value).encode()
    monkeypatch.delenv("TANG_CC")
    assert run_toolchain.build(SOURCE).answer() == 42


# -- places that cannot be written


@pytest.mark.parametrize("place", ["/proc/nowhere", "/dev/null/cache", "file/cache"])
def test_a_cache_that_cannot_be_written_is_replaced_with_a_warning(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    folder = place if place.startswith("/") else str(tmp_path / place)
    monkeypatch.setenv("TANG_CACHE", folder)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.warns(UserWarning, match="cannot be written"):
        assert run_toolchain.build(SOURCE).answer() == 42
    assert list(tmp_path.glob("tang_egg-*/*.so"))
    with warnings.catch_warnings():  # once said is enough
        warnings.simplefilter("error")
        assert run_toolchain.build(SOURCE).answer() == 42


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    """A disk of a few pages."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", folder], check=False, capture_output=True
    ).returncode:
        pytest.skip("mounting a small disk needs the right to do so")
    yield folder
    subprocess.run(["umount", "-l", folder], check=False)


def test_a_full_disk_is_left_with_a_warning(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_CACHE", str(tiny))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.warns(UserWarning, match="there is no room left|No space left"):
        assert run_toolchain.build(SOURCE).answer() == 42
    assert not entries(tiny), "what was begun on the full disk is gone"
    filled = b"\0" * (64 << 10)
    (tiny / "rest").write_bytes(b"")
    with pytest.raises(OSError, match="No space left"), (tiny / "rest").open("wb") as file:
        file.write(filled)
    with pytest.warns(UserWarning, match="cannot be written"):  # not even the source of a kernel fits now
        assert run_toolchain.build(SOURCE.replace("42", "43")).answer() == 43


def test_no_room_anywhere_is_an_error(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_CACHE", str(tiny))
    run_toolchain.compiler()  # finding it out needs room, too
    monkeypatch.setattr("tempfile.tempdir", str(tiny))
    with pytest.warns(UserWarning), pytest.raises(TargetError, match="compiled kernels cannot be written") as caught:
        run_toolchain.build(SOURCE)
    assert "TMPDIR" in three_parts(caught.value)


def test_a_limit_on_the_size_of_files_is_an_error() -> None:
    status, words, errors = ended(builder(limit=2000))
    assert (status, words) == (1, ["ready"])
    assert "TargetError" in errors and "where:" in errors and "mend:" in errors and "Traceback" not in errors


# -- damage


DAMAGES = {
    "cut": lambda entry, whole: entry.write_bytes(whole[: len(whole) // 2]),
    "flipped": lambda entry, whole: entry.write_bytes(whole[:4000] + bytes([whole[4000] ^ 1]) + whole[4001:]),
    "empty": lambda entry, whole: entry.write_bytes(b""),
    "no sum": lambda entry, whole: entry.with_suffix(".sum").unlink(),
    "other sum": lambda entry, whole: entry.with_suffix(".sum").write_bytes(b"1 2\n"),
    "garbage sum": lambda entry, whole: entry.with_suffix(".sum").write_bytes(b"\xff\xfe\0" * 1000),
}


def test_damaged_entries_are_dropped_and_made_anew(tmp_path: Path) -> None:
    """Seen in processes of their own: a library that is loaded already would be found by its name."""
    sources = [f"int answer(void) {{ return {n}; }}\n" for n in range(len(DAMAGES))]
    answers = ["ready", *map(str, range(len(DAMAGES)))]
    assert ended(builder(*sources))[:2] == (0, answers)
    found = sorted((tmp_path / "cache" / "kernels").glob("*.so"))
    assert len(found) == len(DAMAGES)
    for entry, damage in zip(found, DAMAGES.values(), strict=True):
        damage(entry, entry.read_bytes())
    status, words, errors = ended(builder(*sources))
    assert (status, words) == (0, answers), errors
    for entry in found:
        assert f"{entry.name} is damaged and was dropped" in errors
        assert run_cache._whole(entry) is True
    assert ended(builder(*sources)) == (0, answers, "")


# -- several processes


def test_processes_that_build_the_same_at_once_share_one_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = " ".join(run_toolchain.compiler().command)
    mark = tmp_path / "builds"
    slow = f'case "$*" in *kernels*) echo x >> {mark}; sleep 1 ;; esac; exec {real} "$@"'
    monkeypatch.setenv("TANG_CC", script(tmp_path / "cc", slow))
    for status, words, errors in map(ended, [builder() for _ in range(4)]):
        assert (status, words) == (0, ["ready", "42"]), errors
    assert mark.read_text().split() == ["x"], "it was compiled once"
    assert len(entries(tmp_path / "cache")) == 2


def test_a_killed_process_leaves_a_cache_that_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed at any moment of a build; after each, the lock is free, and what is there is whole."""
    real = " ".join(run_toolchain.compiler().command)
    slow = f'case "$*" in *kernels*) sleep 0.1; {real} "$@"; sleep 0.1 ;; *) exec {real} "$@" ;; esac'
    monkeypatch.setenv("TANG_CC", script(tmp_path / "cc", slow))
    r = random.Random(5)
    folder = tmp_path / "cache" / "kernels"
    finished = 0
    for n in range(6):
        process = builder(f"int answer(void) {{ return {n % 3}; }}\n")
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(r.uniform(0, 0.6) if n else 0.05)  # the first while its compiler sleeps
        process.send_signal(signal.SIGKILL)
        _, words, errors = ended(process)
        finished += words == [str(n % 3)]
        assert "Error" not in errors
        for entry in folder.glob("*.so"):
            assert run_cache._whole(entry) is True, f"after kill {n}"
    start = time.monotonic()
    done = builder(*(f"int answer(void) {{ return {n}; }}\n" for n in range(3)))
    assert ended(done) == (0, ["ready", "0", "1", "2"], "")
    assert time.monotonic() - start < 60
    assert all(name.endswith((".so", ".sum")) for name in entries(tmp_path / "cache")), "leftovers are cleared away"
    assert finished < 6, "no process was killed while it built"


def test_a_lock_that_is_held_for_too_long_is_passed_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = tmp_path / "cache" / "kernels" / "some.lock"
    lock.parent.mkdir(parents=True)
    hold = "import filelock, sys, time\nwith filelock.FileLock(sys.argv[1]): print('held', flush=True); time.sleep(100)"
    holder = subprocess.Popen([sys.executable, "-c", hold, str(lock)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        monkeypatch.setattr(run_cache, "WAIT", 0.1)
        monkeypatch.setattr("tang_egg.run_command.LIMIT", 0.4)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        with pytest.warns(UserWarning, match="another process has held some.lock for too long"):
            made = run_cache.fetch("some", lambda path, _: path.write_bytes(b"x") and None)
        assert made.parent != lock.parent
    finally:
        holder.kill()
        holder.wait()
