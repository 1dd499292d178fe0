"""What tests of compositions share: the value of one tensor, comparison with an oracle, and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg.errors import GraphError


def value(result: te.Array, **arrays: Any) -> Any:
    """The interpreter's value of one tensor."""
    (found,) = te.interpret(te.graph("g", out=result), arrays).values()
    return found


def values(*results: te.Array, **arrays: Any) -> list[Any]:
    """The interpreter's values of several tensors."""
    named = {f"out{n}": r for n, r in enumerate(results)}
    return list(te.interpret(te.graph("g", **named), arrays).values())


def close(found: Any, wanted: Any, rtol: float = 1e-9) -> None:
    """Asserts equal shapes and nearly equal elements; NaN equals NaN."""
    assert found.shape == tuple(wanted.shape)
    np.testing.assert_allclose(found, np.asarray(wanted), rtol=rtol, atol=1e-11)


def declared(**arrays: Any) -> list[te.Array]:
    """Inputs of the shapes of some arrays; integers and bools keep their type, floats are f32."""
    kinds = {"f": "f32", "i": "i", "u": "u", "b": "bool"}

    def dtype(a: Any) -> str:
        kind = kinds[a.dtype.kind]
        return kind if len(kind) > 1 else f"{kind}{8 * a.dtype.itemsize}"

    return [te.input(n, a.shape, dtype(a)) for n, a in arrays.items()]


def refused(build: Callable[[], Any], what: str, mend: str, file: str) -> None:
    """Asserts that `build` raises a GraphError that begins with these words and points into `file`."""
    with pytest.raises(GraphError) as caught:
        build()
    assert caught.value.what.startswith(what)
    assert caught.value.mend.startswith(mend)
    assert f"{file}:" in caught.value.where
