"""The C compiler: found, asked what it can do, run, and its results cached by content.

Order: $TANG_CC, cc, gcc, clang, then the `ziglang` wheel. Flags of $TANG_CFLAGS come last.
Built libraries live in the user's cache folder ($TANG_CACHE overrides it) under a hash of source, flags and compiler
(see run_cache). One run of the compiler may take $TANG_CC_SECONDS seconds, 600 unless set.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tang_egg.errors import TargetError
from tang_egg.progress import note
from tang_egg.run_cache import cache_folder, drop, fetch, held
from tang_egg.run_command import end, finish, limit, start

__all__ = [
    "Compiler", "Identity", "adopt", "build", "built_before", "built_bytes", "cache_folder", "compiler", "identity",
    "machine",
]  # fmt: skip

FLAGS = (
    "-O3",
    "-std=gnu11",
    "-shared",
    "-fPIC",
    "-march=native",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-strict-overflow",
    "-w",
)
# Not -fno-trapping-math: with it gcc 12 vectorises loops over byte masks wrongly. Without -fno-strict-overflow (-fwrapv
# is not enough) it loads from wrong places where a loop chooses between reads at both sides of where a row starts.
CAREFUL = ("-O1",)
"""Flags for a source over which the compiler broke down. Vectors are spelt out, so that most of the speed stays."""

SPINS = "12000"
"""Turns that a waiting thread of GCC's OpenMP makes before it sleeps: 0.2 to 0.5 ms.

That is longer than waking a thread takes (0.13 ms on a virtual machine). With fewer, the thread that woke another has
gone to sleep itself when that one is done, and both are woken anew in call after call.
"""

LAYOUT = "with a sum"
"""What entries of the cache look like: those of another layout have other names."""
PROBE_SECONDS = 120.0
"""Seconds that the compiler may take to say its version or to build a probe."""

_MEND = "install gcc or clang, set TANG_CC, or `pip install ziglang`"


@dataclass(frozen=True, slots=True)
class Compiler:
    """A command that compiles C, what it says its version is, and the flags to give it."""

    command: tuple[str, ...]
    version: str
    flags: tuple[str, ...]

    @property
    def threads(self) -> bool:
        """Whether parallel loops run on several threads."""
        return "-fopenmp" in self.flags


@dataclass(frozen=True, slots=True)
class Identity:
    """What a built library depends on beside its source: the compiler with its flags, and the machine it is for."""

    compiler: str
    version: str
    flags: str
    machine: str


def machine() -> str:
    """What tells whether a library runs here: the system, the architecture, and a hash of the processor's features."""
    features = hashlib.sha256(_machine().encode()).hexdigest()[:16]
    return f"{sys.platform} {platform.machine()} {8 * ctypes.sizeof(ctypes.c_void_p)} bit {features}"


def identity() -> Identity:
    """The compiler and the machine at hand. Raises TargetError when there is no compiler."""
    tool = compiler()
    return Identity(" ".join(tool.command), tool.version, " ".join(tool.flags), machine())


def compiler() -> Compiler:
    """The C compiler of this machine. Raises TargetError when there is none."""
    if not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & set(os.environ):
        # Read when the first library with threads is loaded: waiting threads sleep soon. On a busy machine a thread
        # that spins takes the processor from the one it waits for, and a call lasts a time slice (16 ms, not 3).
        os.environ["GOMP_SPINCOUNT"] = SPINS
    return _compiler(os.environ.get("TANG_CC", ""), tuple(_words("TANG_CFLAGS")))


def _words(variable: str) -> list[str]:
    """The words of a variable of the environment, split as a shell does."""
    text = os.environ.get(variable, "")
    try:
        return shlex.split(text)
    except ValueError as error:
        raise TargetError(
            f"{variable} cannot be split into words: {error}",
            where=f"the environment: {variable}={text}",
            mend="quote it as in a shell",
        ) from None


@lru_cache(maxsize=8)
def _compiler(wish: str, more: tuple[str, ...]) -> Compiler:
    words = _words("TANG_CC") if wish else []
    tried = [words] if words else [["cc"], ["gcc"], ["clang"]]
    if not words and importlib.util.find_spec("ziglang") is not None:
        tried.append([sys.executable, "-m", "ziglang", "cc"])
    for command in tried:
        if shutil.which(command[0]) is None:
            continue
        said = _said([*command, "--version"])
        if said is not None and said[0] == 0:
            version = said[1].splitlines()[0] if said[1] else command[0]
            flags = tuple(f for f in FLAGS if f != "-march=native" or _accepts(tuple(command), "-march=native"))
            if _accepts(tuple(command), "-fopenmp"):
                flags += ("-fopenmp",)
            return Compiler(tuple(command), version, (*flags, *more))
    names = ", ".join(" ".join(c) for c in tried)
    raise TargetError("no C compiler was found", where=f"looked for {names}", mend=_MEND)


def _said(command: Sequence[str]) -> tuple[int, str] | None:
    """The status with which a command ended and what it wrote, or None where it cannot be started."""
    try:
        process = start(command)
    except OSError:
        return None
    text, _ = finish(process, min(limit(), PROBE_SECONDS))
    return process.returncode, text


_PROBE = """
#ifdef _OPENMP
#include <omp.h>
#endif
int probe(int n)
{
    int x[8] = {0};
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 8; i++) x[i] = n;
#ifdef _OPENMP
    return x[7] + (omp_get_max_threads() > 0);
#else
    return x[7];
#endif
}
"""


def _accepts(command: tuple[str, ...], flag: str) -> bool:
    """Whether the compiler builds and this process loads a library made with a flag."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "probe.c"), Path(folder, "probe.so")
        source.write_text(_PROBE)
        said = _said([*command, "-shared", "-fPIC", flag, str(source), "-o", str(library)])
        if said is None or said[0] != 0:
            return False
        try:
            return int(ctypes.CDLL(str(library)).probe(1)) >= 1
        except OSError:
            return False


def build(*sources: str) -> ctypes.CDLL:
    """The shared library of some C sources, from the cache or freshly built. Raises TargetError when it does not build.

    Several sources are compiled side by side.
    """
    return _built(sources)[0]


def built_bytes(*sources: str) -> bytes:
    """The file of that library. Raises TargetError as build does."""
    return _built(sources)[1].read_bytes()


def built_before(*sources: str) -> bool:
    """Whether the cache has the library of some sources. Raises TargetError when there is no compiler."""
    return held(_key(sources))


def _key(sources: Sequence[str]) -> str:
    """The name of a library in the cache."""
    tool = compiler()
    text = "\0".join((LAYOUT, *sources, *tool.command, tool.version, *tool.flags, _machine()))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _built(sources: Sequence[str]) -> tuple[ctypes.CDLL, Path]:
    """A library and its file in the cache."""
    tool = compiler()
    entry = fetch(_key(sources), lambda made, folder: _compile(tool, sources, made, folder))
    try:
        return ctypes.CDLL(str(entry)), entry
    except OSError as error:
        drop(entry)
        raise TargetError(
            "what the C compiler made is no library of this machine",
            where=f"{' '.join(tool.command)}: {error}",
            mend=_MEND,
        ) from None


def adopt(library: bytes) -> ctypes.CDLL:
    """A library that was built elsewhere, put into the cache under a hash of its bytes. Its code runs from here on.

    Raises TargetError when it cannot be loaded here.
    """
    key = f"adopted-{hashlib.sha256(LAYOUT.encode() + library).hexdigest()[:32]}"

    def write(made: Path, _: Path) -> None:
        made.write_bytes(library)

    entry = fetch(key, write)
    try:
        return ctypes.CDLL(str(entry))
    except OSError as error:
        drop(entry)
        raise TargetError(
            f"the library cannot be loaded here: {error}", where=str(entry), mend="build it anew: rebuild='always'"
        ) from None


def _machine() -> str:
    """What -march=native depends on: the features of the processors."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return "".join(dict.fromkeys(line for line in lines if line.startswith(("flags", "Features"))))


def _compile(tool: Compiler, sources: Sequence[str], library: Path, folder: Path) -> None:
    """Writes the library of some sources; what is needed on the way lies in `folder`."""
    commands: list[list[str]] = []
    objects: list[str] = []
    for n, source in enumerate(sources):
        text = folder / f"kernels{n}.c"
        text.write_text(source)
        if len(sources) == 1:
            commands.append([*tool.command, *tool.flags, str(text), "-o", str(library), "-lm"])
        else:
            objects.append(str(text.with_suffix(".o")))
            commands.append([*tool.command, *tool.flags, "-c", str(text), "-o", objects[-1]])
    said = _run(commands)
    again = [n for n, text in enumerate(said) if "internal compiler error" in text]
    if again:
        # gcc 12 may break down over vectors of int64 where it looks for more vectors, which -O1 does not do
        for n, told in zip(again, _run([[*commands[n], *CAREFUL] for n in again]), strict=True):
            said[n] = told
    if objects and not any(said):
        said += _run([[*tool.command, *tool.flags, *objects, "-o", str(library), "-lm"]])
    if any(said):
        raise TargetError(
            "a generated kernel does not compile",
            where=next(text for text in said if text),
            mend=f"report the source; or {_MEND}",
        )
    if not library.exists():
        raise TargetError(
            "the C compiler reported success but wrote no library", where=" ".join(tool.command), mend=_MEND
        )


def _run(commands: Sequence[Sequence[str]]) -> list[str]:
    """What each command said when it failed, else nothing. They run side by side; none outlives this call."""
    running: list[subprocess.Popen[str]] = []
    said: list[str] = []
    try:
        running += [start(c) for c in commands]
        for n, (command, process) in enumerate(zip(commands, running, strict=True)):
            note("compile", n, len(commands))
            _, errors = finish(process)
            failed = f"{command[0]}: {first_errors(errors) or f'ended with status {process.returncode}'}"
            said.append(failed if process.returncode else "")
        note("compile", len(commands), len(commands))
    finally:
        for process in running:
            if process.returncode is None:
                end(process)
    return said


def first_errors(text: str) -> str:
    """The first lines that name an error; where none does, the first lines. Not the chain of included files."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [line for line in lines if "error:" in line or "undefined reference" in line]
    return " | ".join((named or lines)[:6])
