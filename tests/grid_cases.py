"""Scalars and types on devices of plain threads: kernels of one primitive, beside NumPy and the interpreter."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tang_egg.affine import affine, index
from tang_egg.interpret import interpret
from tang_egg.ir import Apply, Graph, Input, Read, Scalar, Tensor, apply
from tang_egg.program import KernelPlan, Program
from tang_egg.run_arrays import NUMPY
from tang_egg.run_grid import GridProgram
from tang_egg.targets import target
from tests.grid_programs import device

Array = np.ndarray[Any, Any]

RANGES = {"exp": 95.0, "log": 1e6, "tanh": 12.0, "erf": 6.0, "sin": 200.0, "sqrt": 1e5, "recip": 1e3, "floor": 100.0}
"""How far from zero each primitive is tried."""
_ENDS = [0.0, -0.0, np.inf, -np.inf, np.nan, 88.5, -87.0, 1e30, -1e30, 0.625, 88.8, -100.0]
_SPACING = {"f64": 1e-15, "f32": 2e-7, "f16": 1e-3, "bf16": 8e-3}


def compiled(language: str, g: Graph) -> GridProgram:
    """A graph as one kernel, run by a language."""
    found = target(language).compile(Program(g, (KernelPlan("point", g.outputs),)), {}, device(language))
    assert isinstance(found, GridProgram)
    return found


def elementwise(build: Callable[..., Scalar], *types: str, n: int = 64, to: str = "f32") -> Graph:
    """A graph that stores `build` of one element of each of some inputs a, b, ..."""
    i = index("i", n)
    given = tuple(Input("abcdef"[k], (affine(n),), t) for k, t in enumerate(types))
    return Graph("point", given, (Tensor("y", (i,), build(*(Read(x, (affine(i),)) for x in given)), to),))


def conversion(to: str) -> Callable[[Scalar], Scalar]:
    """The scalar converted to a type."""
    return lambda a: Apply(f"cast:{to}", (a,))


def values_of(type: str, n: int, seed: int = 0) -> Array:
    """Values over the whole of a type, ends first."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(NUMPY[type])
    if type == "bool":
        return rng.integers(0, 2, n).astype(bool)
    if type in ("f64", "f32", "f16"):
        found = (rng.normal(size=n) * np.exp(rng.uniform(-8, 8, n))).astype(kind)
        found[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0]
        return found
    if type == "bf16":
        bits: Array = (values_of("f32", n, seed).view(np.uint32) >> 16).astype(np.uint16)
        return bits
    low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    found = rng.integers(low, high, n, dtype=kind, endpoint=True)
    found[:6] = [low, high, 0, 1, high - 1, low + 1]
    found[6:20] = rng.integers(0, 100, 14)
    return found


def check_function(language: str, op: str) -> None:
    """That a primitive is within 4 units of the last place over its range, and right at the ends of f32."""
    data = np.random.default_rng(3).uniform(-RANGES[op], RANGES[op], 4096).astype(np.float32)
    data[:256] *= np.float32(1e-3)
    data[256 : 256 + len(_ENDS)] = _ENDS
    known: dict[str, Callable[..., Array]] = {"erf": np.vectorize(math.erf), "recip": lambda v: 1.0 / v}
    with np.errstate(all="ignore"):
        exact = known.get(op, getattr(np, op, None))(data.astype(np.float64))  # type: ignore[misc]
        rounded = exact.astype(np.float32)
    got = compiled(language, elementwise(lambda a: apply(op, a), "f32", n=4096))({"a": data})["y"]
    np.testing.assert_array_equal(np.isnan(got), np.isnan(exact))
    np.testing.assert_array_equal(got[np.isinf(rounded)], rounded[np.isinf(rounded)])
    live = np.isfinite(rounded) & (np.abs(exact) > 1.2e-38)
    if op == "sin":  # near its zeros the error is absolute
        assert np.abs(got - exact)[live & (np.abs(data) < 8192)].max() < 3e-7
    else:
        assert (np.abs(got[live] - exact[live]) / np.spacing(np.abs(rounded[live]))).max() <= 4


def check_extremes(language: str) -> None:
    """max, min and comparisons with NaN and infinities on either side."""
    ends = np.array([np.nan, 1.0, np.inf, -np.inf, -0.0], np.float32)
    data = {"a": np.repeat(ends, 5), "b": np.tile(ends, 5)}
    meanings: dict[str, Callable[..., Array]] = {
        "max": np.maximum, "min": np.minimum, "lt": np.less, "le": np.less_equal, "eq": np.equal,
    }  # fmt: skip
    for op, meaning in meanings.items():
        to = "f32" if op in ("max", "min") else "bool"
        g = elementwise(lambda a, b, op=op: apply(op, a, b), "f32", "f32", n=25, to=to)  # type: ignore[misc]
        np.testing.assert_array_equal(compiled(language, g)(data)["y"], meaning(data["a"], data["b"]), op)


def check_integers(language: str, kind: str, *operations: str) -> None:
    """That operations on all of an integer type are those of the interpreter, to the bit; one kernel does them all."""
    n = 64
    i = index("i", n)
    a, b = (Input(x, (affine(n),), kind) for x in "ab")
    outputs = tuple(
        Tensor(f"y_{op}", (i,), apply(op, Read(a, (affine(i),)), Read(b, (affine(i),))), kind) for op in operations
    )
    check_against(
        language, Graph("integers", (a, b), outputs), {"a": values_of(kind, n, 1), "b": values_of(kind, n, 2)}
    )


def check_conversions(language: str, kind: str, *to: str) -> None:
    """That values over all of a type are converted as the interpreter does it."""
    n = 64
    i, a = index("i", n), Input("a", (affine(64),), kind)
    outputs = tuple(Tensor(f"y_{t}", (i,), conversion(t)(Read(a, (affine(i),))), t) for t in to)
    check_against(language, Graph("conversions", (a,), outputs), {"a": values_of(kind, n)})


def check_against(language: str, g: Graph, data: Mapping[str, Array]) -> None:
    """That a program gives what the interpreter gives: integers to the bit, floats to a unit of the last place."""
    floats = {i.name for i in g.inputs if i.dtype == "bf16"}
    known = {k: _floats(v) if k in floats else v for k, v in data.items()}
    with np.errstate(all="ignore"):
        want = interpret(g, known, checked=False)
    got = compiled(language, g)(data, fill=0xFF)
    for t in g.outputs:
        value, exact = got[t.name], np.asarray(want[t.name])
        if t.dtype not in _SPACING:
            np.testing.assert_array_equal(value, exact, t.name)
            continue
        if t.dtype == "bf16":
            value = _floats(value)
        size = _SPACING[t.dtype]
        with np.errstate(all="ignore"):
            close = np.isclose(value.astype(np.float64), exact, rtol=size, atol=7e-5 * size, equal_nan=True)
            spilled = np.isinf(value) & (np.abs(exact) > {"f16": 65519}.get(t.dtype, 3.38e38))
        assert (close | spilled).all(), (t.name, value[~(close | spilled)], exact[~(close | spilled)])


def _floats(bits: Array) -> Array:
    """The values of bf16 that is kept as its bits."""
    values: Array = (bits.astype(np.uint32) << 16).view(np.float32)
    return values


def check_halves(language: str) -> None:
    """That each f16 is read and stored as it is, and that floats round to the nearest, of two to the even one."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    there = compiled(language, elementwise(conversion("f32"), "f16", n=1 << 16))({"a": halves})["y"]
    np.testing.assert_array_equal(there, halves.astype(np.float32))
    live = halves[np.isfinite(halves)].astype(np.float32)
    ends = np.array([np.inf, -np.inf, np.nan, 65519.0, 65520.0, 2.0**-25, 2.0**-25 * 1.001], np.float32)
    up, down = np.nextafter(live, np.float32(np.inf)), np.nextafter(live, np.float32(-np.inf))
    x = np.concatenate([live, up, down, live * np.float32(1 + 2**-11), ends])
    with np.errstate(over="ignore"):
        exact = x.astype(np.float16)
    back = compiled(language, elementwise(conversion("f16"), "f32", to="f16", n=x.size))({"a": x})["y"]
    np.testing.assert_array_equal(back, exact)
