"""Helpers of the tests of traced arrays: a function traced on inputs, interpreted or compiled, beside NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tang_egg import notation as te
from tang_egg.array_constants import Constants, numpy_dtype
from tang_egg.assemble import graph
from tang_egg.interpret import interpret
from tang_egg.ir import Graph
from tang_egg.pipeline import optimize
from tang_egg.traced import Traced, of, to_array

Array = np.ndarray[Any, Any]


def traced(
    f: Callable[..., Any], arrays: Sequence[Array], shapes: Sequence[Sequence[Any]] | None = None
) -> tuple[Graph, dict[str, Array], list[str]]:
    """The graph of `f` on inputs like `arrays` (of `shapes`), the arrays by name, and the results' element types."""
    with Constants([f"x{n}" for n in range(len(arrays))]) as constants:
        inputs = [
            te.input(f"x{n}", a.shape if shapes is None else shapes[n], numpy_dtype(a)) for n, a in enumerate(arrays)
        ]
        found = f(*map(of, inputs))
    results = list(found) if isinstance(found, (tuple, list)) else [found]
    outputs = {f"y{n}": to_array(r, f"y{n}") for n, r in enumerate(results)}
    given = {f"x{n}": a for n, a in enumerate(arrays)}
    made = graph("traced", inputs=inputs, **outputs)
    read = {i.name for i in made.inputs}
    given |= {n: a for n, a in constants.arrays.items() if n in read}
    return made, given, [r.dtype for r in results]


def value(f: Callable[..., Any], *arrays: Array, shapes: Sequence[Sequence[Any]] | None = None,
          dims: Mapping[str, int] | None = None) -> Any:  # fmt: skip
    """What the interpreter says of `f` on some arrays, in the types of the results: an array, or a list of them."""
    g, given, dtypes = traced(f, arrays, shapes)
    found = list(interpret(g, given, dims).values())
    wanted = [a.astype(_NUMPY.get(t, t)) for a, t in zip(found, dtypes, strict=True)]
    return wanted[0] if len(wanted) == 1 else wanted


def compiled(f: Callable[..., Any], *arrays: Array, values: str = "ieee") -> Any:
    """What compiled C says of `f`: an array, or a list of them."""
    g, given, _ = traced(f, arrays)
    found = list(optimize(g, values=values).run(**given).values())
    return found[0] if len(found) == 1 else found


_NUMPY = {"bf16": "float32", "f16": "f2", "f32": "f4", "f64": "f8", "bool": "bool"} | {
    f"{k}{8 * n}": f"{k}{n}" for k in "iu" for n in (1, 2, 4, 8)
}


def same(got: Any, want: Any, tolerance: float = 1e-12) -> None:
    """Asserts equal shapes and types, and values within a tolerance relative to each element."""
    wanted = np.asarray(want)
    assert got.shape == wanted.shape
    assert got.dtype == wanted.dtype
    close = tolerance if wanted.dtype.itemsize > 4 or wanted.dtype.kind != "f" else max(tolerance, 1e-6)
    if wanted.dtype.kind == "f":
        np.testing.assert_allclose(got, wanted, rtol=close, atol=close * 1e-3, equal_nan=True)
    else:
        np.testing.assert_array_equal(got, wanted)


def is_view(x: Traced) -> bool:
    """Whether an array was made without a tensor of its own."""
    return x.array is None
