"""Chains of views of traced arrays, beside NumPy; their factors; and what they cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tang_egg import array_api as xp
from tang_egg import notation as te
from tang_egg import traced as tr
from tang_egg import traced_view
from tang_egg.affine import affine
from tang_egg.errors import GraphError
from tang_egg.ir import Read, walk
from tang_egg.traced import Traced, of
from tang_egg.traced_factor import Extent, extent, groups, merged, parted, product, quotient, refine, remap, split
from tests.array_check import is_view, same, value

Step = tuple[str, Callable[[Any], Any]]


def factorings(n: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes of n elements, axes of one element among them."""

    def shape(draw: Any) -> tuple[int, ...]:
        left, sizes = n, []
        while left > 1:
            d = draw(st.sampled_from([d for d in range(1, left + 1) if left % d == 0]))
            sizes.append(d)
            left //= d
        if draw(st.booleans()):
            sizes.insert(draw(st.integers(0, len(sizes))), 1)
        return tuple(sizes) if n else (*sizes, 0, draw(st.integers(0, 3)))

    return st.composite(shape)()


@st.composite
def chains(draw: Any) -> tuple[np.ndarray[Any, Any], list[Step]]:
    """An array, and views to take of it one after the other."""
    n = draw(st.sampled_from([0, 1, 2, 7, 12, 30, 36]))
    x = np.arange(float(n)).reshape(draw(factorings(n)))
    y, steps = x, list[Step]()
    for _ in range(draw(st.integers(1, 5))):
        step = draw(views(y))
        steps.append(step)
        y = step[1](y)
    return x, steps


@st.composite
def views(draw: Any, x: np.ndarray[Any, Any]) -> Step:
    """A view of an array, written so that NumPy and traced arrays both take it."""
    kinds = ["reshape", "expand", "broadcast"] + ["permute", "flip", "slice", "take"] * (x.ndim > 0)
    kind = draw(st.sampled_from(kinds))
    if kind == "reshape":
        shape = draw(factorings(x.size))
        return f"reshape{shape}", lambda a: a.reshape(shape)
    if kind == "expand":
        p = draw(st.integers(0, x.ndim))
        return f"expand({p})", lambda a: np.expand_dims(a, p)
    if kind == "broadcast":
        if x.size > 200 or x.ndim > 5:
            return "nothing", lambda a: a
        shape = (draw(st.integers(0, 3)), *(draw(st.integers(1, 2)) if s == 1 else s for s in x.shape))
        return f"broadcast{shape}", lambda a: np.broadcast_to(a, shape)
    if kind == "permute":
        order = tuple(draw(st.permutations(range(x.ndim))))
        return f"permute{order}", lambda a: np.transpose(a, order)
    p = draw(st.integers(0, x.ndim - 1))
    if kind == "flip":
        return f"flip({p})", lambda a: np.flip(a, p)
    if kind == "take" and x.shape[p]:
        at = draw(st.lists(st.integers(-x.shape[p], x.shape[p] - 1), min_size=1, max_size=4))
        return f"take({p}, {at})", lambda a: np.take(a, np.array(at), axis=p)
    ends = st.none() | st.integers(-x.shape[p] - 1, x.shape[p] + 1)
    part = slice(draw(ends), draw(ends), draw(st.sampled_from([None, 1, 2, 3, -1, -2])))
    return f"slice({p}, {part})", lambda a: a[(slice(None),) * p + (part,)]


@settings(max_examples=150, deadline=None)
@given(chains())
def test_chains_of_views_agree_with_numpy(chain: tuple[np.ndarray[Any, Any], list[Step]]) -> None:
    x, steps = chain

    def run(a: Any) -> Any:
        for _, f in steps:
            a = f(a)
        return a

    same(value(run, x), run(x), 0)


@settings(max_examples=60, deadline=None)
@given(chains(), st.data())
def test_computing_on_views_agrees_with_numpy(chain: tuple[np.ndarray[Any, Any], list[Step]], data: Any) -> None:
    """Two views of one array in one operation: their factors meet; then a fold over some axes."""
    x, steps = chain

    def run(a: Any) -> Any:
        for _, f in steps:
            a = f(a)
        b = np.flip(a) * 2 if a.ndim else a
        c = a + b.reshape(a.shape)
        axes = tuple(p for p in range(c.ndim) if p in kept)
        return np.sum(c, axis=axes), c.reshape(-1) - a.reshape(-1)

    kept = data.draw(st.sets(st.integers(0, 5)))
    for got, want in zip(value(run, x), run(x), strict=True):
        same(got, want)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_remapping_coordinates(data: Any) -> None:
    """Two factorings of one extent name the same place by coordinates that have the same row-major position."""
    n = data.draw(st.sampled_from([1, 6, 12, 30, 36, 64]))
    a, b = (tuple(affine(s) for s in data.draw(factorings(n)) if s > 1) for _ in "ab")
    at = [affine(data.draw(st.integers(0, (s.value or 1) - 1))) for s in b]
    found = remap(a, b, at)
    assert merged(found, a) is merged(at, b)
    for mine, theirs in groups(a, b):
        assert product(mine) is product(theirs)
    both = refine(a, b)
    if both is not None:
        assert product(both) is affine(n)
        assert [product(g) for g in split(both, a)] == list(a)
        assert [product(g) for g in split(both, b)] == list(b)


def test_quotients_of_symbolic_extents() -> None:
    n, m = te.dim("n"), te.dim("m")
    assert quotient(n * m * 6, affine(n) * 2) is affine(m) * 3
    assert quotient(affine(n) + 4, affine(2)) is None
    assert quotient(n * 4 + 4, affine(4)) is affine(n) + 1
    assert quotient(affine(n), affine(m)) is None
    assert quotient(affine(6), affine(4)) is None
    assert quotient(affine(5), affine(0)) is None


def test_merging_and_splitting_stays_affine() -> None:
    n = te.dim("n", lo=1)
    x = of(te.input("x", (n, 4, 6)))
    y = xp.reshape(xp.permute_dims(xp.reshape(x, (n, 2, 2, 6)), (1, 0, 2, 3)), (2, 12 * n))
    z = xp.sum(y, axis=1)
    assert is_view(y)
    body = tr.to_array(z).node.body  # type: ignore[union-attr]
    (read,) = [s for s in walk(body) if isinstance(s, Read)]
    assert all(isinstance(c, type(affine(0))) for c in read.coordinates), "no division and no remainder"


def test_axes_that_do_not_nest_are_read_by_division() -> None:
    x = np.arange(12.0).reshape(4, 3)
    same(value(lambda a: a.T.reshape(2, 6).T.reshape(3, 4), x), x.T.reshape(2, 6).T.reshape(3, 4))


def test_one_extent_known_as_a_product() -> None:
    n = te.dim("n", lo=1)
    x = np.arange(10.0).reshape(5, 2)
    same(value(lambda a: (a.reshape(2 * n) + a.reshape(-1)).reshape(n, 2), x, shapes=[(n, 2)]), 2 * x)


def test_constants_and_scalars() -> None:
    one = tr.scalar(2.5, "f32")
    assert (one.shape, one.constant, one.ndim) == ((), 2.5, 0)
    assert tr.broadcast_to(one, (3, 4)).constant == 2.5
    assert tr.full((0, 3), 1, "i8").shape == (0, 3)
    same(value(lambda a: a + one, np.ones((2, 0))), np.ones((2, 0)))
    same(value(lambda a: tr.copied(a[::-1]), np.arange(3.0)), np.arange(3.0)[::-1])


def test_extents_are_integers_where_they_are_fixed() -> None:
    assert extent(3) == 3 and isinstance(extent(3), int) and extent(3).value == 3
    assert Extent(4) * 2 == 8
    n = te.dim("n")
    assert extent(affine(n) + 1) is affine(n) + 1


def test_coordinates_are_counted() -> None:
    x: Traced = of(te.input("x", (2, 3)))
    with pytest.raises(GraphError, match="1 coordinates for 2 axes"):
        x.element(0)
    with pytest.raises(GraphError, match="there is no axis 2"):
        traced_view.flip(x, 2)
    with pytest.raises(GraphError, match="no axis can be put at 4"):
        traced_view.expand_dims(x, 4)
    assert repr(x) == "x: f32[2, 3]" and repr(x.T) == "a view: f32[3, 2]"


@pytest.mark.parametrize("parts", [(2, 3), (3, 2), (6,), (1, 6)])
def test_parting_known_positions(parts: tuple[int, ...]) -> None:
    sizes = tuple(map(affine, parts))
    for n in range(6):
        assert [c.value for c in parted(affine(n), sizes)] == list(np.unravel_index(n, parts))  # type: ignore[union-attr]


def test_long_chains_stay_small() -> None:
    x, p = np.arange(7.0), np.arange(7)

    def rolled(a: Any) -> Any:
        for n in range(40):
            a = np.roll(a, n % 3 + 1)
        return a

    def polynomial(a: Any) -> Any:
        y = xp.arange(7) if isinstance(a, Traced) else p
        for _ in range(40):
            y = (y * y + y) % 5
        return a + y

    for f in (rolled, polynomial):
        same(value(f, x), f(x))
