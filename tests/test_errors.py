"""Errors have three parts; those of the language's core are shown here as a user sees them."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import tang_egg as te
from tang_egg import errors, ops
from tang_egg.affine import Index, affine
from tang_egg.errors import TangError
from tang_egg.ir import Const, StateRef, apply, const, type_of
from tang_egg.monoid import LOGSUMEXP, SUM
from tang_egg.rewrite import bind_graph, substitute
from tests.conftest import Golden
from tests.tree import modules, parse

KINDS = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, TangError)}


def _graph() -> te.Graph:
    i, seq = te.index("i"), te.dim("seq", lo=1, hi=64, multiple=4)
    x = te.input("X", (seq,))
    return te.graph("twice", te.tensor("Y", i, x[i] + x[i]))


def _two_dims() -> te.Graph:
    i, k = te.indices("i k")
    a, b = te.input("A", (te.dim("n"),)), te.input("B", (te.dim("n", lo=1),))
    return te.graph("sums", te.tensor("Y", (i, k), a[i] * b[k])).bind(n=3)


def _scan_at_a_sum() -> object:
    t = Index("t", affine(8))
    x = te.input("X", (8,))
    return substitute(te.scan(SUM, t, x[t]).scalar, {t: t + 1})


CASES: dict[str, Callable[[], object]] = {
    "affine_product": lambda: affine(Index("i", affine(4))) * Index("j", affine(4)),
    "affine_unbound": lambda: (te.dim("n") + 1).evaluate({}),
    "dim_out_of_range": lambda: _graph().bind(seq=66),
    "bind_unknown": lambda: bind_graph(_graph(), {"rows": 4}),
    "dims_of_one_name": _two_dims,
    "op_unknown": lambda: ops.find("cube"),
    "op_arity": lambda: apply("exp", const(1.0), const(2.0)),
    "op_types": lambda: apply("add", const(1.0), const(1)),
    "op_operands": lambda: apply("exp", const(True)),
    "op_condition": lambda: apply("select", const(1.0), const(1.0), const(2.0)),
    "bits_width": lambda: ops.apply("bits:f32", (np.zeros(2, np.int64),), ("i64",)),
    "monoid_component": lambda: LOGSUMEXP.position("k"),
    "scan_position": _scan_at_a_sum,
}


@pytest.mark.parametrize("name", CASES)
def test_an_error_of_the_core_reads_as_blessed(name: str, golden: Golden) -> None:
    with pytest.raises(TangError) as caught:
        CASES[name]()
    golden(f"errors/{name}.txt", f"{type(caught.value).__name__}\n{caught.value}")


def test_lines_without_content_are_left_out() -> None:
    assert str(TangError("a")) == "a"
    assert str(TangError("a", where="b")) == "a\n  where: b"
    assert str(TangError("a", where="b", mend="c")) == "a\n  where: b\n  mend:  c"


@pytest.mark.parametrize("name", sorted(KINDS))
def test_errors_survive_the_way_between_processes(name: str) -> None:
    error = getattr(errors, name)("a", where="b", mend="c")
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert (back.what, back.where, back.mend) == ("a", "b", "c")


def incomplete(source: ast.Module) -> list[int]:
    """Lines that make one of our errors without saying where or how to mend it."""
    calls = [c for c in ast.walk(source) if isinstance(c, ast.Call)]
    named = [c for c in calls if isinstance(c.func, ast.Name) and c.func.id in KINDS]
    return [c.lineno for c in named if not {"where", "mend"} <= {k.arg for k in c.keywords}]


def test_every_error_says_where_and_how_to_mend_it() -> None:
    wrong = [f"{name}:{line}" for name, path in modules().items() for line in incomplete(parse(path))]
    assert not wrong, "\n".join(wrong)


def test_an_incomplete_error_is_found() -> None:
    assert incomplete(ast.parse("raise GraphError('x', where='y')")) == [1]
    assert incomplete(ast.parse("raise GraphError('x', where='y', mend='z')")) == []


def test_types_of_nodes_only() -> None:
    assert type_of(StateRef("left", "m")) == "real"
    assert type_of(Const(1, "i8")) == "i8"
    with pytest.raises(errors.GraphError, match="not a scalar"):
        type_of("x")  # type: ignore[arg-type]
