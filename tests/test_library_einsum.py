"""Sums of products by a specification, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tests.library_values import close, declared, refused, value

RNG = np.random.default_rng(16)
EXTENTS = {"a": 2, "b": 3, "c": 5, "d": 1, "i": 4, "j": 3, "k": 2, "Z": 2}

SPECS = [
    "ij,jk->ik", "ij,jk", "ij->ji", "ii->i", "ii", "ii->", "iji->ji", "i,i->", "i,j->ij", "ij->", "i->i",
    "a...,...->...a", "...i,...i->...", "...ij,...jk->...ik", "i...->...", "b...a->a...b", "...", "ba", "cab",
    "ij,jk,ki->", "ab,bc,cd,de->ae", "ij,kj->", ",->", ",i->i", "i,,i->i", "aab,b->a", "iji,ijk->ki", " i j , j -> i ",
    "Zi,iZ->Z", "ijk,jk->i", "ab,cab,c->b", "abc,abc->abc",
]  # fmt: skip
LEAD = {"...ij,...jk->...ik": [(2, 1), (3,)], "...i,...i->...": [(2, 3), (3,)], "a...,...->...a": [(3,), (2, 3)]}


@pytest.mark.parametrize("spec", SPECS)
def test_einsum(spec: str) -> None:
    lead = LEAD.get(spec, [(2, 3)] * 9)
    arrays: dict[str, Any] = {}
    for n, term in enumerate(spec.replace(" ", "").split("->")[0].split(",")):
        before, dots, after = term.partition("...")
        shape = [EXTENTS.get(c, 2) for c in before] + list(lead[n] if dots else ()) + [EXTENTS.get(c, 2) for c in after]
        arrays[f"x{n}"] = RNG.normal(size=tuple(shape))
    close(value(te.einsum(spec, *declared(**arrays)), **arrays), np.einsum(spec, *arrays.values()))


def test_einsum_of_integers_extents_of_one_and_symbolic_extents() -> None:
    a, b = RNG.integers(-9, 9, (3, 4)).astype(np.int32), RNG.integers(-9, 9, (4, 2)).astype(np.int32)
    found = value(te.einsum("ij,jk", *declared(a=a, b=b)), a=a, b=b)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, a @ b)
    x, y = RNG.normal(size=(1, 4)), RNG.normal(size=(3, 1))
    close(value(te.einsum("ij,ij->ij", *declared(x=x, y=y)), x=x, y=y), x * y)
    close(value(te.einsum("ij,ij->j", *declared(x=x, y=y)), x=x, y=y), (x * y).sum(0))
    n = te.dim("n")
    z = RNG.normal(size=(5, 4))
    close(value(te.einsum("ni,ni->n", te.input("z", (n, 4)), te.input("z", (n, 4))), z=z), (z * z).sum(1))


@pytest.mark.parametrize("axes", [0, 1, 2, ([1, 0], [0, 1]), ([0], [1]), ([-1], [0])])
def test_tensordot(axes: Any) -> None:
    a, b = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3, 2))
    close(value(te.tensordot(*declared(a=a, b=b), axes), a=a, b=b), np.tensordot(a, b, axes))


def test_outer_trace_and_kron() -> None:
    a, b = RNG.normal(size=3), RNG.normal(size=5)
    close(value(te.outer(*declared(a=a, b=b)), a=a, b=b), np.outer(a, b))
    x = RNG.normal(size=(3, 4, 5))
    for offset, p, q in ((0, 0, 1), (1, 1, 2), (-2, 2, 0), (9, 0, 1)):
        close(value(te.trace(*declared(x=x), offset, p, q), x=x), np.trace(x, offset, p, q))
    for left, right in (((2, 3), (5, 2)), ((1, 3), (2, 1)), ((4,), (3,)), ((2, 1, 2), (1, 3, 2))):
        a, b = RNG.normal(size=left), RNG.normal(size=right)
        close(value(te.kron(*declared(a=a, b=b)), a=a, b=b), np.kron(a, b))


X, V, BOOL = te.input("x", (3, 4)), te.input("v", (5,)), te.input("b", (3, 4), "bool")


@pytest.mark.parametrize(
    ("build", "what", "mend"),
    [
        (
            lambda: te.einsum("ij,jk->ik", X),
            "the specification 'ij,jk->ik': it has 2 terms for 1 arrays",
            "write it as",
        ),
        (lambda: te.einsum("ijk", X), "the specification 'ijk': 'ijk' has 3 letters for the 2 axes of 'x'", "write it"),
        (lambda: te.einsum("i", X), "the specification 'i': 'i' has 1 letters for the 2 axes of 'x'", "write it as"),
        (lambda: te.einsum("ij->k", X), "the specification 'ij->k': the result has 'k', which no operand", "write it"),
        (
            lambda: te.einsum("ij->ii", X),
            "the specification 'ij->ii': the result names one letter twice",
            "write it as",
        ),
        (lambda: te.einsum("i1->i", X), "the specification 'i1->i': the term 'i1' is not letters", "write it as"),
        (lambda: te.einsum("......", X), "the specification '......': the term '......' is not letters", "write it as"),
        (lambda: te.einsum("i...->i", X), "the specification 'i...->i': the operands have '...' but", "write it as"),
        (lambda: te.einsum("ij->->i", X), "the specification 'ij->->i': the term '->i' is not letters", "write it as"),
        (lambda: te.einsum("ij"), "the specification 'ij': it is no text beside at least one array", "write it as"),
        (lambda: te.einsum("ij", 3), "the specification 'ij': 3 is no array", "write it as"),  # type: ignore[arg-type]
        (lambda: te.einsum("ij,j->i", X, V), "axis 'j' of 'v' has 5 elements where 4 are expected", "check the shapes"),
        (lambda: te.einsum("ii", X), "axis 'i' of 'x' has 4 elements where 3 are expected", "check the shapes"),
        (lambda: te.einsum("ij->i", BOOL), "a product of bools 'b'", "te.cast them to integers"),
        (lambda: te.tensordot(X, V, 3), "3 axes of 'x' and 'v' to sum over", "give a number from 0 to 1"),
        (lambda: te.tensordot(X, V, ([0, 1], [0])), "the axes ([0, 1], [0]) of 'x' and 'v'", "give two lists"),
        (
            lambda: te.tensordot(X, X, ([0], [1])),
            "axis 1 of 'x' has 4 elements where 3 are expected",
            "check the shapes",
        ),
        (lambda: te.trace(X, 0, 1, 1), "the diagonal 0 of axes 1 and 1 of 'x'", "give two different axes"),
        (lambda: te.kron(X, V), "'v' has 1 axes where 2 are expected", "check the order of the operands"),
        (lambda: te.outer(X, V), "'x' has 2 axes where 1 are expected", "check the order of the operands"),
    ],
)
def test_errors(build: Callable[[], Any], what: str, mend: str) -> None:
    refused(build, what, mend, Path(__file__).name)
