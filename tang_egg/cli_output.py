"""Where a command writes: standard output, or a file that is replaced at once; and its folder of temporary files."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tang_egg.errors import TangError
from tang_egg.files import replacing


def write(text: str, output: str | None, where: str = "--output") -> None:
    """To standard output, or to a file that is replaced only once all is written; `where` names the option."""
    if output is None:
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
        return
    path = Path(output)
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # a device or a pipe is written, not replaced
            path.write_text(text, encoding="utf-8", errors="replace")
            return
        with replacing(path) as file:
            file.write(text.encode("utf-8", "replace"))
    except OSError as error:
        raise TangError(
            f"cannot write '{output}': {error.strerror}", where=where, mend="give a file in a folder you may write to"
        ) from None


def file_name(graph: str, suffix: str) -> str:
    """A name for a file in the current folder, made of the letters and digits of a graph's name."""
    plain = re.sub(r"[^\w.-]+", "_", graph).strip("._-")[:80]
    return f"{plain or 'graph'}{suffix}"


@contextlib.contextmanager
def quiet_output() -> Iterator[None]:
    """Keeps what libraries print to standard output (solver banners) out of the report."""
    sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        with open(os.devnull, "w", encoding="utf-8") as hidden, contextlib.redirect_stdout(hidden):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


@contextlib.contextmanager
def own_temporary() -> Iterator[None]:
    """Puts temporary files of this process, its solver and its compiler into one folder, which is gone in the end.

    Whatever ends the work (an interrupt in the middle of a solver's run, say), nothing is left behind.
    """
    variable, before = tempfile.tempdir, os.environ.get("TMPDIR")
    try:
        room = tempfile.TemporaryDirectory(prefix="tang-", ignore_cleanup_errors=True)
    except OSError as error:
        raise TangError(
            f"no temporary folder can be made: {error.strerror or error}",
            where=f"TMPDIR={before}" if before else "the system's temporary folder",
            mend="free some space there, or set TMPDIR to a folder you may write to",
        ) from None
    with room as folder:
        tempfile.tempdir = folder
        os.environ["TMPDIR"] = folder
        try:
            yield
        finally:
            _restore(variable, before)


def _restore(variable: str | None, before: str | None) -> None:
    tempfile.tempdir = variable
    if before is None:
        os.environ.pop("TMPDIR", None)
    else:
        os.environ["TMPDIR"] = before
