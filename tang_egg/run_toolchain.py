"""The C compiler: found, asked what it can do, run, and its results cached by content.

Order: $TANG_CC, cc, gcc, clang, then the `ziglang` wheel. Flags of $TANG_CFLAGS come last.
Built libraries live in the user's cache folder ($TANG_CACHE overrides it) under a hash of source, flags and compiler;
entries are written to a temporary name and renamed under a lock.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_dir

from tang_egg.errors import TargetError

FLAGS = (
    "-O3",
    "-std=gnu11",
    "-shared",
    "-fPIC",
    "-march=native",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fwrapv",
    "-w",
)
# Not -fno-trapping-math: with it gcc 12 vectorises loops over byte masks wrongly.
SPINS = "5000"
"""Turns that a waiting thread of GCC's OpenMP makes before it sleeps: some microseconds."""

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
        if said is not None and said.returncode == 0:
            version = said.stdout.splitlines()[0] if said.stdout else command[0]
            flags = tuple(f for f in FLAGS if f != "-march=native" or _accepts(tuple(command), "-march=native"))
            if _accepts(tuple(command), "-fopenmp"):
                flags += ("-fopenmp",)
            return Compiler(tuple(command), version, (*flags, *more))
    names = ", ".join(" ".join(c) for c in tried)
    raise TargetError("no C compiler was found", where=f"looked for {names}", mend=_MEND)


def _said(command: list[str]) -> subprocess.CompletedProcess[str] | None:
    """What a command gave, or None where it cannot be started."""
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError:
        return None


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
        done = subprocess.run(
            [*command, "-shared", "-fPIC", flag, str(source), "-o", str(library)], capture_output=True, check=False
        )
        if done.returncode != 0:
            return False
        try:
            return int(ctypes.CDLL(str(library)).probe(1)) >= 1
        except OSError:
            return False


def build(*sources: str) -> ctypes.CDLL:
    """The shared library of some C sources, from the cache or freshly built. Raises TargetError when it does not build.

    Several sources are compiled side by side.
    """
    tool = compiler()
    key = hashlib.sha256(
        "\0".join((*sources, *tool.command, tool.version, *tool.flags, _machine())).encode()
    ).hexdigest()
    folder = cache_folder()
    entry = folder / f"{key[:32]}.so"
    with FileLock(str(folder / f"{key[:32]}.lock")):
        if entry.exists():
            try:
                return ctypes.CDLL(str(entry))
            except OSError as error:
                warnings.warn(f"the cached kernel {entry} is damaged and was dropped: {error}", stacklevel=2)
                entry.unlink()
        _compile(tool, sources, entry)
        try:
            return ctypes.CDLL(str(entry))
        except OSError as error:
            entry.unlink(missing_ok=True)
            raise TargetError(
                "what the C compiler made is no library of this machine",
                where=f"{' '.join(tool.command)}: {error}",
                mend=_MEND,
            ) from None


def _machine() -> str:
    """What -march=native depends on: the processor's flags."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        import platform

        return platform.processor()
    return "".join(line for line in lines if line.startswith(("flags", "Features")))[:4096]


def _compile(tool: Compiler, sources: Sequence[str], entry: Path) -> None:
    with tempfile.TemporaryDirectory(dir=entry.parent) as folder:
        library = Path(folder, "kernels.so")
        running: list[tuple[list[str], subprocess.Popen[str]]] = []
        objects: list[str] = []
        for n, source in enumerate(sources):
            text = Path(folder, f"kernels{n}.c")
            text.write_text(source)
            if len(sources) == 1:
                running.append(_start([*tool.command, *tool.flags, str(text), "-o", str(library), "-lm"]))
            else:
                objects.append(str(text.with_suffix(".o")))
                running.append(_start([*tool.command, *tool.flags, "-c", str(text), "-o", objects[-1]]))
        said = [_finish(*r) for r in running]
        if objects and not any(said):
            said.append(_finish(*_start([*tool.command, *tool.flags, *objects, "-o", str(library), "-lm"])))
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
        os.replace(library, entry)


def _start(command: list[str]) -> tuple[list[str], subprocess.Popen[str]]:
    return command, subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace"
    )


def _finish(command: list[str], process: subprocess.Popen[str]) -> str:
    """What the compiler said when it failed, else nothing."""
    _, errors = process.communicate()
    if process.returncode == 0:
        return ""
    return f"{command[0]}: {_first_errors(errors) or f'ended with status {process.returncode}'}"


def _first_errors(text: str) -> str:
    """The first lines that name an error; where none does, the first lines. Not the chain of included files."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [line for line in lines if "error:" in line or "undefined reference" in line]
    return " | ".join((named or lines)[:6])


def cache_folder() -> Path:
    """The folder of compiled kernels; a temporary one, with a warning, where it cannot be written."""
    folder = Path(os.environ.get("TANG_CACHE") or user_cache_dir("tang_egg")) / "kernels"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        return _fallback(str(folder), str(error))


@lru_cache(maxsize=8)
def _fallback(folder: str, error: str) -> Path:
    warnings.warn(f"the cache folder {folder} cannot be written ({error}); using a temporary one", stacklevel=3)
    return Path(tempfile.mkdtemp(prefix="tang_egg-"))
