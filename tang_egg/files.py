"""Files that are complete or are not there: whoever reads one never sees half of it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from platformdirs import user_cache_dir


def cache_root() -> Path:
    """The folder of all that is kept between runs: TANG_CACHE, else the user's cache folder; it need not exist."""
    return Path(os.environ.get("TANG_CACHE") or user_cache_dir("tang_egg"))


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file beside `path` that takes its place when all has been written; a link's target is replaced, not the link.

    Raises OSError when it cannot be written; then `path` is as it was.
    """
    target = Path(os.path.realpath(path))
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~umask())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def umask() -> int:
    """The permissions that this process withholds from what it makes."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def checksum(data: object) -> str:
    """The SHA-256 of plain data as JSON, in hexadecimal, whatever the order of keys."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
