"""The kernel check refuses what a later stage could not survive."""

from __future__ import annotations

import pytest

from tang_egg.affine import Dim, affine
from tang_egg.codegen.kernel import (
    Buffer,
    Call,
    Declare,
    Form,
    Kernel,
    Let,
    Literal,
    Load,
    Loop,
    Stmt,
    Store,
    Var,
    number,
)
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.errors import CodegenError

A = Buffer("A", "f32", "global", affine(8), "input")
OUT = Buffer("out", "f32", "global", affine(8), "output")
ACC = Buffer("acc", "f32", "local", affine(4))
ONE = Literal(1.0, "f32")


def at(name: str) -> Form:
    return Form(affine(Dim(name)))


def kernel(*body: Stmt) -> Kernel:
    return Kernel("k", (A, OUT), ("n",), body)


GOOD = kernel(
    Loop(
        "i",
        number(0),
        at("n"),
        1,
        "parallel",
        (Declare(ACC), Store(ACC, number(0), ONE), Store(OUT, at("i"), Load(ACC, number(0), "f32"))),
    )
)
BAD = {
    "a store to the input": kernel(Store(A, number(0), ONE)),
    "store to one element of 'out'": kernel(
        Loop("i", number(0), number(8), 1, "parallel", (Store(OUT, number(0), ONE),))
    ),
    "read before anything is stored": kernel(Declare(ACC), Store(OUT, number(0), Load(ACC, number(1), "f32"))),
    "has no constant size": kernel(Declare(Buffer("w", "f32", "local", affine(Dim("n"))))),
    "element 9 of 'out', which has 8": kernel(Store(OUT, number(9), ONE)),
    "'i' is not defined in an address": kernel(Store(OUT, at("i"), ONE)),
    "'t' is not defined here": kernel(Store(OUT, number(0), Var("t", "f32"))),
    "a store of f64": kernel(Store(OUT, number(0), Literal(1.0, "f64"))),
    "'add' of f32, f64": kernel(Let("t", Call("add", (ONE, Literal(1.0, "f64")), "f32"))),
    "without constant bounds": kernel(Loop("i", number(0), at("n"), 1, "vector", ())),
    "'t' is defined twice": kernel(Let("t", ONE), Let("t", ONE)),
    "not declared here": kernel(Store(ACC, number(0), ONE)),
}


def test_a_sound_kernel_passes() -> None:
    check_kernel(GOOD)


@pytest.mark.parametrize("message", BAD)
def test_broken_rules_are_named(message: str) -> None:
    with pytest.raises(CodegenError, match=message) as caught:
        check_kernel(BAD[message])
    assert "kernel 'k'" in str(caught.value) and "mend:" in str(caught.value)
