"""Functions of float vectors and conversions of short integers, compiled: close to float64 wherever floats lie."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import tang_egg as te

N = 1 << 19
EDGES = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-38, 3e38, -3e38, 9.02, 3.94, -3.94, 0.5, 1, -1], "f4"
)
ERF = np.vectorize(math.erf, otypes=["f8"])
MATHS: dict[str, tuple[Callable[[te.Expression], te.Expression], Callable[[np.ndarray], np.ndarray], float]] = {
    "tanh": (te.tanh, np.tanh, 2.5),
    "erf": (te.erf, ERF, 2.5),
    "log": (te.log, np.log, 2.5),
    "exp": (te.exp, np.exp, 2.5),
}


def floats() -> np.ndarray:
    """Floats of every exponent and sign, evenly by their bits, the edges first."""
    bits = np.linspace(0, 0x7F7FFFFF, (N - EDGES.size) // 2, dtype=np.uint32)
    x = bits.view(np.float32)
    return np.concatenate([EDGES, x, -x])


@pytest.fixture(scope="module")
def compiled() -> te.Compiled:
    x = te.input("X", (N,))
    i, _ = te.indices("i j")
    return te.optimize(
        te.graph("functions", **{name: te.tensor(None, i, f(x[i])) for name, (f, _, _) in MATHS.items()}),
        "c",
        values="ieee",
        verified=False,
    )


@pytest.mark.parametrize("name", MATHS)
def test_a_function_of_vectors_is_close_to_float64(compiled: te.Compiled, name: str) -> None:
    """Sampled over all floats: infinities, NaN and the sign of zero exactly, the rest in units of the last place."""
    x = floats()
    got = compiled.run(X=x)[name]
    with np.errstate(all="ignore"):
        want = MATHS[name][1](x.astype(np.float64))
        near = want.astype(np.float32)
    normal = np.isfinite(near) & (np.abs(want) >= 2.0**-126)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(near))
    assert np.array_equal(got[np.isinf(near)], near[np.isinf(near)])
    ulp = np.abs(got[normal].astype(np.float64) - want[normal]) / np.spacing(np.abs(near[normal]))
    assert ulp.max() <= MATHS[name][2], (ulp.max(), x[normal][ulp.argmax()])
    if name in ("tanh", "erf"):
        assert np.array_equal(np.signbit(got[x == 0]), np.signbit(x[x == 0]))
        assert np.abs(got[~np.isnan(got)]).max() == 1.0


def test_short_integers_become_floats_exactly() -> None:
    """Every i8 and u8, and i16 and u16 of every high byte, in vectors and in the rest of a row."""
    n = 1031
    types = ("i8", "u8", "i16", "u16")
    i, _ = te.indices("i j")
    arrays = {t: te.input(t.upper(), (n,), t) for t in types}
    graph = te.graph("wide", **{f"Y{t}": te.tensor(None, i, te.cast(x[i], "real") * 0.5) for t, x in arrays.items()})
    values = {
        t.upper(): (np.arange(n) * (1 if t[1:] == "8" else 64) + np.iinfo(np.dtype(t[0] + str(int(t[1:]) // 8))).min)
        .astype(np.int64)
        .astype({"i8": "i1", "u8": "u1", "i16": "i2", "u16": "u2"}[t])
        for t in types
    }
    got = te.optimize(graph, "c", verified=False).run(**values)
    for t in types:
        np.testing.assert_array_equal(got[f"Y{t}"], values[t.upper()].astype(np.float32) * np.float32(0.5))
