"""Builds many kernels that are timed once: what all sources begin with is compiled once, and a deadline ends the rest.

    sources --compile, side by side--> libraries, refusals, or nothing where the time was over

Every source starts with the same prelude, and reading it takes most of a compiler's time. So it is made a precompiled
header where the compiler can; what comes out is the same code. Libraries lie in a folder that goes with the builder:
their times are what is kept, not they.
"""

from __future__ import annotations

import ctypes
import math
import os
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from tang_egg import run_toolchain as toolchain
from tang_egg.codegen.dialects.c import prelude
from tang_egg.errors import TargetError
from tang_egg.ir import Tensor
from tang_egg.program import single_program
from tang_egg.run import Printed, print_program
from tang_egg.run_command import finish, limit, start
from tang_egg.run_vectors import vectors
from tang_egg.schedule import Schedule

HEADER = "tang_prelude.h"
WORTH = 4
"""Sources from which on a precompiled header pays."""
HEADER_SECONDS = 6.0
"""Seconds that must be left for a precompiled header to be made: it takes as long as three or four sources."""


Built: TypeAlias = "ctypes.CDLL | TargetError | None"


@lru_cache(maxsize=64)
def printed_alone(outputs: tuple[Tensor, ...], schedule: Schedule) -> Printed:
    """A kernel as a program of its own, printed. Raises CodegenError where the schedule has no lowering for it."""
    return print_program(single_program(outputs), {"kernel": schedule})


@dataclass(slots=True)
class Builder:
    """Compiles sources on `team` compilers at a time, until a deadline. It leaves nothing behind.

    `header_seconds`: what making the precompiled header took, where one was tried.
    """

    team: int
    header_seconds: float = 0.0
    _folder: tempfile.TemporaryDirectory[str] | None = None
    _header: bool | None = None
    _count: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, count: int, within: float = math.inf) -> Callable[[tuple[str, ...]], Future[Built]]:
        """What takes sources, about `count` in all, and gives for each what will come of it; the caller goes on.

        That is its library, what the compiler said, or None where `within` seconds from now did not suffice.
        """
        until = time.perf_counter() + within
        pool = ThreadPoolExecutor(max(1, self.team), thread_name_prefix="tang-build")
        ready = pool.submit(self._prepare, until) if self._header is None and self._pays(count, within) else None
        return lambda units: pool.submit(self._build, units, until, ready)

    def _pays(self, count: int, within: float) -> bool:
        return count >= WORTH and within >= HEADER_SECONDS

    def _build(self, units: tuple[str, ...], until: float, ready: Future[None] | None) -> Built:
        if ready is not None:
            ready.result()
        try:
            return self._compiled(units, until)
        except TargetError as error:
            return None if time.perf_counter() >= until else error

    def _place(self) -> Path:
        with self._lock:
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="tang_egg-", ignore_cleanup_errors=True)
            return Path(self._folder.name)

    def _prepare(self, until: float) -> None:
        """Makes the header, and tells whether there is one; a compiler that cannot do it compiles everything anew."""
        begun, tool, header = time.perf_counter(), toolchain.compiler(), self._place() / HEADER
        header.write_text(prelude(vectors()))
        made = header.with_suffix(".h.gch")
        flags = [f for f in tool.flags if f != "-shared"]
        try:
            _, failed = _command([*tool.command, *flags, "-x", "c-header", str(header), "-o", str(made)], until)
        except (TargetError, OSError):
            failed = True
        self._header, self.header_seconds = not failed and made.exists(), time.perf_counter() - begun

    def _compiled(self, units: tuple[str, ...], until: float) -> ctypes.CDLL:
        """The library of some sources. Raises TargetError where one does not compile, or the time is over."""
        tool, folder = toolchain.compiler(), self._place()
        with self._lock:
            self._count += 1
            name = f"k{self._count}"
        library = folder / f"{name}.so"
        files = []
        for n, text in enumerate(units):
            file = folder / f"{name}_{n}.c"
            file.write_text(self._shortened(text))
            files.append(str(file))
        command = [*tool.command, *tool.flags, *files, "-o", str(library), "-lm"]
        said, failed = _command(command, until)
        if failed and "internal compiler error" in said:
            said, failed = _command([*command, *toolchain.CAREFUL], until)
        if failed or not library.exists():
            raise TargetError(
                "a generated kernel does not compile",
                where=said or f"{tool.command[0]} wrote no library",
                mend="report the source; or set TANG_CC to another compiler",
            )
        try:
            return ctypes.CDLL(str(library))
        except OSError as error:
            raise TargetError(
                "what the C compiler made is no library of this machine", where=str(error), mend="set TANG_CC"
            ) from None
        finally:
            for used in (*files, str(library)):  # a library that is loaded stays without its file
                os.unlink(used)

    def _shortened(self, text: str) -> str:
        """A source that includes the header, where there is one, in place of the same text."""
        head = prelude(vectors())
        return f'#include "{HEADER}"\n{text[len(head) :]}' if self._header and text.startswith(head) else text


def _command(command: list[str], until: float) -> tuple[str, bool]:
    """The first errors of a command and whether it failed. Raises TargetError where the time is over; it is ended."""
    left = until - time.perf_counter()
    if left <= 0:
        raise TargetError("the time of a search was over", where=command[0], mend="give it more seconds")
    process = start(command)
    _, errors = finish(process, min(left, limit()))
    return toolchain.first_errors(errors) if process.returncode else "", process.returncode != 0
