"""The vector registers that kernels in C may use, as the compiler's own macros say."""

from __future__ import annotations

import os
import re
import subprocess
from functools import lru_cache

from tang_egg.codegen.vectors import AVX2, AVX512, NEON, SSE, Vectors
from tang_egg.errors import TargetError
from tang_egg.run_toolchain import compiler

_WIDTHS = (("__AVX512F__", 512), ("__AVX__", 256), ("__SSE2__", 128), ("__ARM_NEON", 128))
"""What a compiler predefines for the widest vectors that its flags allow, in bits."""
_KINDS = {"128": SSE, "256": AVX2, "512": AVX512, "neon": NEON}


def vectors() -> Vectors:
    """The vectors that first schedules suit: those of $TANG_VECTORS (128, 256, 512 or neon), else of this compiler.

    Kernels are right with any: a vector that is wider than a register takes several. Printed sources depend on it,
    so whoever compiles them elsewhere says what is there. Raises TargetError when $TANG_VECTORS is something else.
    """
    said = os.environ.get("TANG_VECTORS", "").strip().lower()
    if said in _KINDS:
        return _KINDS[said]
    if said:
        raise TargetError(
            "no such vectors are known",
            where=f"the environment: TANG_VECTORS={said}",
            mend=f"set it to one of {', '.join(_KINDS)}, or unset it",
        )
    try:
        tool = compiler()
    except TargetError:
        return AVX2  # sources are printed without a compiler too
    return _of_compiler(tool.command, tool.flags)


@lru_cache(maxsize=8)
def _of_compiler(command: tuple[str, ...], flags: tuple[str, ...]) -> Vectors:
    found = _macro(command, flags)
    return {"__AVX512F__": AVX512, "__SSE2__": SSE, "__ARM_NEON": NEON}.get(found, AVX2)


def vector_bits(command: tuple[str, ...], flags: tuple[str, ...]) -> int:
    """The width of the widest vectors that the flags allow, as the compiler's own macros say; 0 where they do not."""
    return dict(_WIDTHS).get(_macro(command, flags), 0)


def _macro(command: tuple[str, ...], flags: tuple[str, ...]) -> str:
    """The first of the macros of _WIDTHS that a compiler predefines, or nothing."""
    words = [*command, *(f for f in flags if f.startswith(("-m", "-target"))), "-dM", "-E", "-x", "c", os.devnull]
    try:
        said = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return next((macro for macro, _ in _WIDTHS if re.search(rf"#define {macro}\b", said.stdout)), "")
