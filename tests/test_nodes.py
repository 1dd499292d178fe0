"""Nodes: walks against the plainest walk there is, and nodes that are looked up instead of being built."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tang_egg import ir
from tang_egg.affine import Index, affine, index
from tang_egg.ir import Apply, Const, Domain, Input, Position, Read, Reduce, Scalar, children, map_children, walk
from tang_egg.monoid import MAX, SUM
from tang_egg.node import Node

J: Index = index("j", 4)
X = Input("X", (affine(4),), "f32")


def plain(s: Scalar, seen: set[Scalar]) -> Iterator[Scalar]:
    """Operands before users, each once."""
    if s not in seen:
        seen.add(s)
        for c in children(s):
            yield from plain(c, seen)
        yield s


def shared(seed: int, size: int) -> list[Scalar]:
    """Expressions that share their operands."""
    rng = random.Random(seed)
    made: list[Scalar] = [Const(1.0, "real"), Const(2.0, "real"), Read(X, (affine(J),))]
    for _ in range(size):
        a, b = rng.choice(made[-40:]), rng.choice(made)
        where = Domain((), (Apply("lt", (a, b)),)) if rng.random() < 0.3 else ir.EVERYWHERE
        fold = Reduce(rng.choice((SUM, MAX)), (J,), where, (b,))
        made.append(fold if rng.random() < 0.2 else Apply(rng.choice(("add", "mul")), (a, b)))
    return made


@pytest.mark.parametrize(("seed", "size"), [(0, 3), (1, 60), (2, ir._SHORT * 3)])
def test_a_walk_gives_every_node_once_operands_first(seed: int, size: int) -> None:
    made = shared(seed, size)
    roots = [made[-1], made[len(made) // 2], made[-1], made[-2]]
    for _ in range(2):  # anew, and remembered
        assert list(walk(made[-1])) == list(plain(made[-1], set()))
        seen = set[Scalar]()
        assert list(walk(*roots)) == [x for r in roots for x in plain(r, seen)]
        assert list(walk()) == []


def test_an_expression_that_stays_the_same_is_the_same_node() -> None:
    for s in shared(5, 40):
        assert map_children(s, lambda x: x) is s
    a, b = Const(1.0, "real"), Const(2.0, "real")
    assert map_children(Apply("add", (a, b)), lambda x: b if x is a else x) is Apply("add", (b, b))
    fold = Reduce(SUM, (J,), Domain((), (Apply("lt", (a, b)),)), (b,))
    assert children(map_children(fold, lambda x: a if x is b else x)) == (Apply("lt", (a, b)), a)


def test_numbers_that_python_takes_for_equal_are_different_nodes() -> None:
    made: list[Node] = [
        Const(1, "i64"),
        Const(True, "bool"),
        Const(1.0, "real"),
        Const(0.0, "real"),
        Const(-0.0, "real"),
    ]
    assert len({id(n) for n in made}) == len(made)
    assert Const(1.0, "real") is made[2] and Const(-0.0, "real") is made[4]
    assert Position(affine(J)) is Position(affine(J))
    assert Apply(op="add", args=(made[2], made[3])) is Apply("add", (made[2], made[3]))  # type: ignore[arg-type]
