"""Passes that the cascade laws find: their values, their states, and why others are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tang_egg import expression as e
from tang_egg import layers, library
from tang_egg import notation as te
from tang_egg.affine import Index
from tang_egg.assemble import graph
from tang_egg.extract.assemble import WindowResult
from tang_egg.extract.terms import Terms
from tang_egg.interpret import evaluate, interpret
from tang_egg.ir import Graph, Input, Read, Reduce, Scalar, free, walk
from tang_egg.notation import Array
from tang_egg.pipeline import extract
from tang_egg.verify import relative_error, sample_inputs
from tests.laws import programs

LONG = 1 << 20
"""Points of a row that no near cache holds: one pass over it is worth its work."""


def passes(g: Graph) -> Iterator[tuple[str, Scalar, list[Reduce]]]:
    """For each fold that has forms in one pass: its name, as it was written, and those forms, by inputs alone."""
    for window in extract(g).windows:
        result = next(x for x in window if isinstance(x, WindowResult))
        terms: Terms = result.terms
        for c, variants in terms.found.items():
            alone = [v for v in variants if v.node is not None and not terms.reads_stored(v.term)]
            made = [v.term for v in alone if v.node is not None and v.node.constructor == "Casc"]
            plain = [v.term for v in alone if v.node is not None and v.node.constructor == "Red"]
            if made and plain and not any("%h" in n for n in terms.saturation.snapshot.free.get(c, ())):
                yield terms.names.get(c, str(c.number)), plain[0], [t for t in made if isinstance(t, Reduce)]


def arrays_of(*terms: Scalar, seed: int) -> dict[str, np.ndarray]:  # type: ignore[type-arg]
    """Random values for what some terms read."""
    rng = np.random.default_rng(seed)
    found = {s.source.name: s.source for s in walk(*terms) if isinstance(s, Read) and isinstance(s.source, Input)}
    shapes = {n: tuple(x.value or 0 for x in i.shape) for n, i in found.items()}
    return {n: rng.random(shapes[n]) < 0.6 if i.dtype == "bool" else rng.normal(2.0, 3.0, shapes[n])
            for n, i in found.items()}  # fmt: skip


@pytest.mark.parametrize("make", [programs.moments, programs.entropies, programs.variance, programs.softmax])
@pytest.mark.parametrize("seed", range(3))
def test_a_pass_means_what_its_folds_mean(make: Callable[[], Graph], seed: int) -> None:
    found = 0
    for name, plain, made in passes(make()):
        axes = tuple(sorted(free(plain), key=lambda i: i.name))
        arrays = arrays_of(plain, seed=seed)
        expected = evaluate(plain, axes, arrays)
        for term in made:
            found += 1
            np.testing.assert_allclose(evaluate(term, axes, arrays), expected, rtol=1e-9, atol=1e-9, err_msg=name)
    assert found


def rows(*names: str, n: int = LONG) -> tuple[Index, Index, list[Array]]:
    i, j = te.index("i", 2), te.index("j", n)
    return i, j, [te.input(x, (2, n)) for x in names]


def mean(name: str, x: Array, i: Index, j: Index) -> Array:
    return te.tensor(name, i, te.sum(j, x[i, j]) / j.size.value)


def moment(degree: int, n: int = LONG) -> Graph:
    i, j, (x,) = rows("X", n=n)
    m = mean("mean", x, i, j)
    body = x[i, j] - m[i]
    for _ in range(degree - 1):
        body = body * (x[i, j] - m[i])
    return graph("moment", te.tensor("M", i, te.sum(j, body)))


def covariance(n: int = LONG) -> Graph:
    i, j, (x, y) = rows("X", "Y", n=n)
    a, b = mean("a", x, i, j), mean("b", y, i, j)
    return graph("covariance", te.tensor("C", i, te.sum(j, (x[i, j] - a[i]) * (y[i, j] - b[i]))))


def entropy(n: int = LONG) -> Graph:
    """Σ exp(x - max x) · (x - max x), to which the entropy of a softmax comes down."""
    i, j, (x,) = rows("X", n=n)
    m = te.tensor("m", i, te.max(j, x[i, j]))
    d = x[i, j] - m[i]
    return graph("entropy", te.tensor("E", i, te.sum(j, e.exp(d) * d)))


def outer_maximum(n: int = LONG) -> Graph:
    i, j, (x, y) = rows("X", "Y", n=n)
    m = te.tensor("m", i, te.max(j, x[i, j]))
    return graph("outer", te.tensor("T", i, te.max(j, e.exp(x[i, j] - m[i]) * y[i, j])))


def page(n: int = LONG) -> tuple[Index, Index, Index, Array, Array]:
    i, t, s = te.index("i", 2), te.index("t", 4), te.index("s", n // 4)
    return i, t, s, te.input("X", (2, 4, n // 4)), te.input("live", (2, 4), "bool")


def paged_softmax_sum(n: int = LONG) -> Graph:
    """Keys in pages, some of which are dead: statistics over two indices at once."""
    i, t, s, x, live = page(n)
    m = te.tensor("m", i, te.max((t, s), x[i, t, s], where=live[i, t]))
    return graph("pages", te.tensor("L", i, te.sum((t, s), e.exp(x[i, t, s] - m[i]) * x[i, t, s], where=live[i, t])))


def grouped_variance(n: int = LONG) -> Graph:
    i, t, s, x, _ = page(n)
    m = te.tensor("mean", i, te.sum((t, s), x[i, t, s]) / (4 * s.size.value))
    centred = te.tensor("centred", (i, t, s), x[i, t, s] - m[i])
    return graph("group", te.tensor("V", i, te.sum((t, s), centred[i, t, s] * centred[i, t, s])))


STATES = {
    "two_indices": (paged_softmax_sum, (2, 1)),
    "mean_of_two_indices": (grouped_variance, (4, 2)),
    "second": (lambda n: moment(2, n), (4, 2)),
    "third": (lambda n: moment(3, n), (5, 3)),
    "fourth": (lambda n: moment(4, n), (6, 4)),
    "covariance": (covariance, (6, 3)),
    "entropy": (entropy, (3, 2)),
    "outer_maximum": (outer_maximum, (2, 1)),
}
"""Graphs by row length, with the components and followers of their one pass."""


@pytest.mark.parametrize("name", STATES)
def test_long_rows_are_read_in_one_pass(name: str) -> None:
    make, state = STATES[name]
    g = make(LONG)
    x = extract(g)
    (body,) = [t.body for t in x.program.tensors]
    folds = {(s.monoid, s.body) for s in walk(body) if isinstance(s, Reduce)}
    assert [(len(m.components), len(m.followers)) for m, _ in folds] == [state]
    inputs = sample_inputs(g, {}, edge=False, seed=1)
    for output, value in interpret(g, inputs).items():
        assert relative_error(interpret(x.program.graph, inputs)[output], value) < 1e-9


def gathered_back() -> Graph:
    """Sums of segments, read back by the keys: two folds whose domains both name the key's own axis."""
    i, j, d, k = te.index("i", 6), te.index("j", 4), te.index("d", 3), te.index("k", 6)
    key, x = te.input("key", (6,), "i64"), te.input("X", (6, 3))
    total = te.tensor("S", (j, d), te.sum(k, x[k, d], where=e.eq(key[k], e.value(j))))
    return graph("back", te.tensor("o", (i, d), te.sum(j, total[j, d], where=e.eq(key[i], e.value(j)))))


def prefix_of_rows() -> Graph:
    """A fold on a domain of the axis that the fold inside it runs over under shared names."""
    a, b, c = (te.index(x, 5) for x in "abc")
    y = te.input("Y", (5, 5))
    return graph("prefix", te.tensor("t", a, y[0, a] + te.sum(b, te.sum(c, y[b, c]), where=b <= a)))


def pass_in_a_pass() -> Graph:
    """The scores of a softmax are variances: one pass would hold another, with a statistic of its own."""
    a, j = te.index("a", 6), te.index("j", 5)
    x, v = te.input("X", (6, 5)), te.input("v", (5,))
    f = e.tanh(x[a, j] * 3.0)
    m = te.sum(a, f) * (1 / 6)
    s = te.sum(a, (f - m) * (f - m))
    p = e.exp(s - te.max(j, s))
    return graph("nested", te.tensor("o", (), te.sum(j, p / te.sum(j, p) * v[j])))


@pytest.mark.parametrize("make", [gathered_back, prefix_of_rows, pass_in_a_pass])
def test_nothing_is_captured_where_folds_stand_in_folds(make: Callable[[], Graph]) -> None:
    g = make()
    inputs = sample_inputs(g, {}, edge=False, seed=4)
    if "key" in inputs:
        inputs["key"] = np.array([0, 2, 2, 3, 0, 7])
    (name,) = [t.name for t in g.outputs]
    assert relative_error(interpret(extract(g).program.graph, inputs)[name], interpret(g, inputs)[name]) < 1e-9


def test_attention_over_normed_keys() -> None:
    q, k, v = (te.input(n, (3 if n == "Q" else 64, 64)) for n in "QKV")
    g = graph("normed", O=layers.attention(q, library.layer_norm(k), v))
    inputs = sample_inputs(g, {}, edge=False, seed=4)
    assert relative_error(interpret(extract(g).program.graph, inputs)["O"], interpret(g, inputs)["O"]) < 1e-9


def test_sums_that_would_cancel_when_they_are_moved_stay_two_passes() -> None:
    """About a statistic that is no mean, a carried square grows with the statistic."""
    i, j, (x,) = rows("X")
    top = te.tensor("top", i, te.sum(j, x[i, j]))
    g = graph("shifted", te.tensor("S", i, te.sum(j, (x[i, j] - top[i]) * (x[i, j] - top[i]))))
    found = extract(g)
    reasons = {why for r in found.distinct for _, why in r.terms.refused}
    assert "a sum that is carried by shifts is not centred" in reasons
    assert not any(s.monoid.followers for t in found.program.tensors for s in walk(t.body) if isinstance(s, Reduce))
