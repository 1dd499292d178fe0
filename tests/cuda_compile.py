"""Compiles CUDA sources for a Hopper GPU, which is not needed: with nvcc on PATH, else with NVRTC from Python wheels.

    pip install 'nvidia-cuda-nvrtc>=13.0,<14'     one wheel of 58 MB; nothing else is needed
    python -m tests.cuda_compile                  says which compiler is used, or why there is none (exit status 1)

Both go as far as machine code for sm_90a, so what they say has ptxas's registers, spills and warnings. Every distinct
source is compiled once, at most two at a time.
"""

from __future__ import annotations

import ctypes
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

NVCC = ("-gencode=arch=compute_90a,code=sm_90a", "-cubin", "-std=c++17", "-Xptxas", "-v")
NVRTC = ("-arch=sm_90a", "-std=c++17", "--ptxas-options=-v")
MISSING = "neither nvcc nor NVRTC is here: pip install 'nvidia-cuda-nvrtc>=13.0,<14'"
LIMIT = 300
"""Seconds that nvcc may take for one source."""

_TEAM = ThreadPoolExecutor(2)


class Refused(Exception):
    """A source does not compile; the text is what the compiler says."""


def compiled(text: str, *flags: str) -> str:
    """What the compiler says of a source. Skips the test without a compiler, fails it when the source is refused."""
    if compiler() is None:
        pytest.skip(MISSING)
    try:
        return started(text, *flags).result()
    except Refused as error:
        pytest.fail(f"a CUDA source does not compile\n{error}")


@cache
def started(text: str, *flags: str) -> Future[str]:
    """The same in another thread, for sources that are known before what is said of them is needed."""
    return _TEAM.submit(compiler() or _missing, text, flags)


def spills(said: str) -> int:
    """Bytes that kernels store to or load from memory for lack of registers."""
    found = re.findall(r"(\d+) bytes spill (?:stores|loads)", said)
    assert found, f"ptxas says nothing of spills:\n{said}"
    return sum(int(n) for n in found)


def check_clean(said: str, most: int = 0) -> None:
    """No spills beyond `most` bytes, and no product that waits for the one before (warnings C75xx)."""
    assert spills(said) <= most, said
    assert not re.search(r"C75\d\d|serializ", said), said


@cache
def compiler() -> Callable[[str, tuple[str, ...]], str] | None:
    """What compiles a text under further flags: nvcc, else NVRTC, else None."""
    if shutil.which("nvcc"):
        return _nvcc
    return _nvrtc if _library() else None


def _missing(text: str, flags: tuple[str, ...]) -> str:
    raise Refused(MISSING)


def _nvcc(text: str, flags: tuple[str, ...]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "kernel.cu").write_text(text, encoding="utf-8")
        command = ["nvcc", *NVCC, *flags, "kernel.cu", "-o", "kernel.cubin"]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT)
    if run.returncode:
        raise Refused(run.stderr or run.stdout)
    return run.stderr + run.stdout


@cache
def _library() -> ctypes.CDLL | None:
    """NVRTC from the folder of a wheel, where it lies beside its built-ins, or from where the loader finds it."""
    package = importlib.util.find_spec("nvidia")
    folders = [Path(p) for p in (package.submodule_search_locations or ())] if package else []
    wheels = sorted(str(p) for f in folders for p in f.glob("*/lib/libnvrtc.so.*"))
    for name in (*reversed(wheels), "libnvrtc.so.13", "libnvrtc.so"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _nvrtc(text: str, flags: tuple[str, ...]) -> str:
    library = _library()
    assert library is not None
    program = ctypes.c_void_p()
    _checked(library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None))
    try:
        options = [f.encode() for f in (*NVRTC, *flags)]
        status = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        size = ctypes.c_size_t()
        _checked(library.nvrtcGetProgramLogSize(program, ctypes.byref(size)))
        log = ctypes.create_string_buffer(size.value + 1)
        _checked(library.nvrtcGetProgramLog(program, log))
        said = log.value.decode(errors="replace")
        if status:
            raise Refused(said or f"NVRTC's status {status}")
        _checked(library.nvrtcGetCUBINSize(program, ctypes.byref(size)))
        assert size.value, "NVRTC has made no machine code"
        return said
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _checked(status: int) -> None:
    if status:
        raise Refused(f"NVRTC's status {status}")


def title() -> str:
    """The compiler and its version in words, or why there is none."""
    if compiler() is _nvcc:
        said = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, timeout=LIMIT).stdout
        return f"nvcc {next(iter(re.findall(r'V([0-9.]+)', said)), '')}".strip()
    library = _library()
    if library is None:
        return MISSING
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"NVRTC {major.value}.{minor.value}"


def main() -> int:
    """Compiles one small kernel and says with what."""
    found = compiler()
    if found is None:
        print(f"CUDA sources are not compiled here: {MISSING}")
        return 1
    try:
        found('extern "C" __global__ void one(float *x) { x[threadIdx.x] = 1.0f; }', ())
    except Refused as error:
        print(f"CUDA sources are not compiled here, {title()} fails:\n{error}")
        return 1
    print(f"CUDA sources are compiled by {title()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
