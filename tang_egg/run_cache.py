"""The folder of compiled kernels: every entry is whole or absent.

An entry is NAME.so with NAME.sum beside it, its size and SHA-256. Both are written under temporary names and renamed,
the sum first, so that a process that is killed leaves no entry that looks whole; one that does not match its sum is
dropped with a warning, since loading a library that was cut short can end a process. One process at a time writes an
entry, under NAME.lock; the system releases that lock when its holder ends, however it ends.

Beside an entry, NAME.CLAIM.holds says that something was found true of it: the text is the entry's sum at that time, so
that a claim about another library under the same name counts for nothing.

Where the folder cannot be written or is full, or a lock is held for longer than a build may take, the entry is made in
a temporary folder of this process, with a warning.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from filelock import FileLock, Timeout

from tang_egg import run_command
from tang_egg.errors import TargetError
from tang_egg.files import cache_root, replacing

Make = Callable[[Path, Path], None]
"""Writes an entry to its first argument, a path in the second one, a folder that is the maker's own."""

LITTLE = 1 << 20
"""A disk with fewer free bytes counts as full when a build fails there."""
WAIT = 60.0
"""Seconds that a lock may be held beyond those of one run of the compiler."""

_NO_ROOM = re.compile("no space left|disk quota exceeded|read-only file system|file too large", re.IGNORECASE)
_NO_WRITING = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EIO, errno.ENOENT}


class _Unusable(Exception):
    """The folder of the cache does not serve; the text says why."""


def cache_folder() -> Path:
    """The folder of compiled kernels; a temporary one, with a warning, where it cannot be written."""
    folder = cache_root() / "kernels"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        return _fallback(str(folder), str(error), tempfile.gettempdir())


def held(name: str) -> bool:
    """Whether the cache has the entry `name`, whole."""
    return _whole(cache_folder() / f"{name}.so") is True


def fetch(name: str, make: Make) -> Path:
    """The file of the entry `name`, made by `make` unless it is there.

    Raises what `make` raises, and TargetError when there is no place where it can be written.
    """
    folder = cache_folder()
    try:
        return _fetch(folder, name, make)
    except _Unusable as error:
        second = _fallback(str(folder), str(error), tempfile.gettempdir())
    try:
        return _fetch(second, name, make)
    except _Unusable as error:
        raise TargetError(
            f"compiled kernels cannot be written: {error}",
            where=f"{second}, after {folder}",
            mend="free some space, or set TANG_CACHE and TMPDIR to folders with room",
        ) from None


def drop(entry: Path) -> None:
    """Takes an entry out of the cache, and what was claimed of it."""
    entry.unlink(missing_ok=True)
    entry.with_suffix(".sum").unlink(missing_ok=True)
    for claimed in entry.parent.glob(f"{entry.stem}.*.holds"):
        claimed.unlink(missing_ok=True)


def holds(entry: Path, claim: str) -> bool:
    """Whether `claim`, a word of letters and digits, was found true of the file of an entry as it is now."""
    try:
        return _claimed(entry, claim).read_text(errors="replace") == _sum(entry.read_bytes())
    except OSError:
        return False


def record(entry: Path, claim: str) -> None:
    """Keeps that `claim` is true of an entry; where nothing can be written, it will be looked at again."""
    with contextlib.suppress(OSError), replacing(_claimed(entry, claim)) as file:
        file.write(_sum(entry.read_bytes()).encode())


def _claimed(entry: Path, claim: str) -> Path:
    return entry.with_name(f"{entry.stem}.{claim}.holds")


def _fetch(folder: Path, name: str, make: Make) -> Path:
    entry = folder / f"{name}.so"
    try:
        with FileLock(str(folder / f"{name}.lock"), timeout=run_command.limit() + WAIT):
            whole = _whole(entry)
            if whole is False:
                warnings.warn(f"the cached kernel {entry} is damaged and was dropped", stacklevel=5)
            if whole is not True:
                drop(entry)
                _write(folder, name, entry, make)
            return entry
    except Timeout:
        raise _Unusable(f"another process has held {name}.lock for too long") from None
    except OSError as error:
        if error.errno not in _NO_WRITING:
            raise
        raise _Unusable(str(error)) from None


def _write(folder: Path, name: str, entry: Path, make: Make) -> None:
    for left in folder.glob(f".{name}.*"):  # by a process that was killed: this one has the lock
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=folder, ignore_cleanup_errors=True) as own:
        made, total = Path(own, "entry.so"), Path(own, "entry.sum")
        try:
            make(made, Path(own))
        except TargetError as error:
            if _NO_ROOM.search(error.where) or shutil.disk_usage(folder).free < LITTLE:
                raise _Unusable("there is no room left") from None
            raise
        total.write_text(_sum(made.read_bytes()))
        os.replace(total, entry.with_suffix(".sum"))
        os.replace(made, entry)


def _whole(entry: Path) -> bool | None:
    """Whether an entry matches its sum; None where there is no entry."""
    try:
        data = entry.read_bytes()
    except FileNotFoundError:
        return None
    try:
        return entry.with_suffix(".sum").read_text(errors="replace") == _sum(data)
    except FileNotFoundError:
        return False


def _sum(data: bytes) -> str:
    return f"{len(data)} {hashlib.sha256(data).hexdigest()}\n"


@lru_cache(maxsize=8)
def _fallback(folder: str, error: str, room: str) -> Path:
    warnings.warn(f"the cache folder {folder} cannot be written ({error}); using a temporary one", stacklevel=4)
    return Path(tempfile.mkdtemp(prefix="tang_egg-", dir=room))
