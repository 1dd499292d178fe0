"""What a field case is: a small problem with its right answer, from public reports of bugs in tensor compilers.

A case needs NumPy only and knows nothing of this project. bf16 arrays are float32 arrays of values that bf16 has.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = "NDArray[Any]"
Arrays: TypeAlias = "dict[str, Array]"
Real: TypeAlias = "NDArray[np.float64]"

F16, F32, F64, I32, I64 = np.float16, np.float32, np.float64, np.int32, np.int64
INF, NAN = np.inf, np.nan

ATTENTION = "softmax and attention"
REDUCTIONS = "reductions"
SHAPES = "dynamic and empty shapes"
SCANS = "scans"
TYPES = "element types"
VIEWS = "views"
GATHERS = "gather and scatter"
AUTODIFF = "gradients"
REWRITES = "rewrites and fusions"
CODEGEN = "code generation"


@dataclass(frozen=True, slots=True)
class Case:
    """A problem with its answer in float64, int64 or bool, and the error that float32 accumulation may leave.

    `nonfinite`: outputs that rightly hold NaN or infinities. `wrong`: an implementation with the reported bug, which
    must not agree with the reference, else the case shows nothing. `good`: a float32 implementation, which must agree,
    else the tolerance cannot be met.
    """

    name: str
    family: str
    inputs: Callable[[], Arrays]
    reference: Callable[[Arrays], Arrays]
    rtol: float = 1e-5
    atol: float | Mapping[str, float] = 0.0
    notes: str = ""
    nonfinite: tuple[str, ...] = ()
    wrong: Callable[[Arrays], Arrays] | None = None
    good: Callable[[Arrays], Arrays] | None = None

    def absolute(self, output: str) -> float:
        """The absolute error that an output may have."""
        return self.atol if isinstance(self.atol, float) else self.atol.get(output, 0.0)


CASES: list[Case] = []
"""All cases, in the order of their modules; `tests.field_cases` imports those."""


def case(
    name: str, family: str, rtol: float = 1e-5, atol: float | Mapping[str, float] = 0.0, notes: str = "",
    nonfinite: tuple[str, ...] = (),
) -> Callable[[type], type]:  # fmt: skip
    """Registers a class whose functions inputs, reference and perhaps wrong and good are those of a case."""

    def register(c: Any) -> Any:
        wrong, good = getattr(c, "wrong", None), getattr(c, "good", None)
        CASES.append(Case(name, family, c.inputs, c.reference, rtol, atol, notes, tuple(nonfinite), wrong, good))
        return c

    return register


def differs(c: Case, reference: Arrays, got: Mapping[str, ArrayLike]) -> str:
    """What is wrong with a result, in words; nothing where it agrees with the reference."""
    for name, want in reference.items():
        if name not in got:
            return f"{name} is missing"
        found = np.asarray(got[name])
        if found.shape != want.shape:
            return f"{name} has shape {found.shape}, not {want.shape}"
        if want.dtype.kind in "ib":
            same = np.asarray(found.astype(F64).astype(I64) == want)
        else:
            same = np.isclose(found.astype(F64), want, rtol=c.rtol, atol=c.absolute(name), equal_nan=True)
        if not same.all():
            at = tuple(int(n[0]) for n in np.nonzero(~same)) if same.ndim else ()
            return f"{name}{list(at)} is {found[at]}, not {want[at]}; {np.sum(~same)} of {same.size} differ"
    return ""


def rng(name: str) -> np.random.Generator:
    """The source of a case's numbers."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def normal(name: str, **shapes: tuple[int, ...]) -> Arrays:
    """Standard normal float32 arrays."""
    g = rng(name)
    return {k: g.standard_normal(s).astype(F32) for k, s in shapes.items()}


def wide(x: ArrayLike) -> Real:
    """`x` in float64."""
    return np.asarray(x, F64)


def bf16(x: ArrayLike) -> NDArray[np.float32]:
    """`x` rounded to the values of bf16, to nearest even; finite values only."""
    u = np.ascontiguousarray(np.asarray(x, F32)).view(np.uint32).astype(np.uint64)
    r = ((u + 0x7FFF + ((u >> np.uint64(16)) & np.uint64(1))) & np.uint64(0xFFFF0000)).astype(np.uint32)
    return r.view(F32).reshape(np.shape(x))


def softmax_rows(s: Real) -> Real:
    """Softmax along the last axis; a row of only -inf gives zeros."""
    m = s.max(-1, keepdims=True)
    p = np.exp(s - np.where(np.isneginf(m), 0.0, m))
    total = p.sum(-1, keepdims=True)
    return p / np.where(total == 0, 1.0, total)


def layer_norm(x: Array, eps: float = 1e-5, kind: Any = F64) -> Array:
    """(x - mean) / sqrt(variance + eps) along the last axis, computed in `kind` throughout."""
    x = x.astype(kind)
    c = x - x.mean(-1, keepdims=True, dtype=kind)
    return np.asarray(c / np.sqrt((c * c).mean(-1, keepdims=True, dtype=kind) + kind(eps)))


def grid(rows: int, columns: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row numbers [rows, 1] and column numbers [1, columns]."""
    return np.arange(rows)[:, None], np.arange(columns)[None, :]
