"""Folds over suffixes and backward prefixes: they become scans where that gains something, and mean the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg.affine import AffineLike, Dim
from tang_egg.assemble import graph
from tang_egg.cost.roofline import Costs
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Read, Reduce, Scan, tensors_of, walk
from tang_egg.monoid import AFFINE, LOGSUMEXP
from tang_egg.normal import normal_form
from tang_egg.pipeline import choose_schedules, extract
from tang_egg.run import compile_program

RNG = np.random.default_rng(7)


def build(n: AffineLike, body: Callable[..., e.Expression], rows: int = 3, m: AffineLike | None = None) -> Graph:
    """Y[b, t] of X and D over [b, s]: s has n points, t has m."""
    b, t, s = te.index("b", rows), te.index("t", n if m is None else m), te.index("s", n)
    x, d = te.input("X", (rows, n)), te.input("D", (rows, n))
    return graph("backward", te.tensor("Y", (b, t), body(b, t, s, x, d)), inputs=[x, d])


def returns(b, t, s, x, d):  # type: ignore[no-untyped-def]
    """G[t] = x[t] + d[t] G[t + 1]."""
    last = s.size - 1
    return te.reduce(AFFINE, s, d[b, last - s], x[b, last - s], where=s <= last - t, part="b")


def suffix_sum(b, t, s, x, d):  # type: ignore[no-untyped-def]
    return te.sum(s, x[b, s], where=s >= t)


def strict_sum(b, t, s, x, d):  # type: ignore[no-untyped-def]
    return te.sum(s, x[b, s], where=s > t)


def before_sum(b, t, s, x, d):  # type: ignore[no-untyped-def]
    return te.sum(s, x[b, s], where=s < t)


def suffix_max(b, t, s, x, d):  # type: ignore[no-untyped-def]
    return te.max(s, x[b, s], where=s >= t)


def suffix_logsumexp(b, t, s, x, d):  # type: ignore[no-untyped-def]
    m, total = (te.reduce(LOGSUMEXP, s, x[b, s], 1.0, where=s >= t, part=p) for p in ("m", "l"))
    return m + e.log(total)


def quotient(b, t, s, x, d):  # type: ignore[no-untyped-def]
    """Two scans over one suffix, one over another, and a value of the place itself."""
    above, below = te.sum(s, x[b, s], where=s >= t), te.sum(s, d[b, s], where=s >= t)
    return above / (below + 1e3) + te.max(s, d[b, s], where=s > t + 1) * x[b, t]


FORMS = (returns, suffix_sum, strict_sum, before_sum, suffix_max, suffix_logsumexp)


def scans(g: Graph) -> int:
    """Tensors that scan."""
    return sum(any(isinstance(s, Scan) for s in walk(t.body)) for t in tensors_of(g.outputs))


def quadratic(g: Graph) -> bool:
    return any(isinstance(s, Reduce) for t in tensors_of(g.outputs) for s in walk(t.body))


def drawn(n: int, rows: int = 3) -> dict[str, np.ndarray]:
    return {"X": RNG.normal(size=(rows, n)).astype(np.float32), "D": RNG.uniform(0, 1, (rows, n)).astype(np.float32)}


def backwards(a: np.ndarray, step: np.ufunc) -> np.ndarray:
    return step.accumulate(a[:, ::-1], axis=1)[:, ::-1]


def oracle(body: object, x: np.ndarray, d: np.ndarray) -> np.ndarray:
    x, d = x.astype(float), d.astype(float)
    if body is returns:
        out, state = np.zeros_like(x), np.zeros(len(x))
        for t in reversed(range(x.shape[1])):
            out[:, t] = state = x[:, t] + d[:, t] * state
        return out
    if body is strict_sum:
        return np.concatenate([backwards(x, np.add)[:, 1:], np.zeros((len(x), min(1, x.shape[1])))], 1)
    if body is before_sum:
        return np.concatenate([np.zeros((len(x), min(1, x.shape[1]))), x.cumsum(1)[:, :-1]], 1)
    return backwards(x, {suffix_sum: np.add, suffix_max: np.maximum, suffix_logsumexp: np.logaddexp}[body])


@pytest.mark.parametrize("body", FORMS)
@pytest.mark.parametrize("n", [4096, Dim("n")], ids=["fixed", "symbolic"])
def test_one_scan_and_what_reads_it_are_selected(body: Callable[..., e.Expression], n: AffineLike) -> None:
    found = extract(build(n, body, rows=64), costs=Costs(typical=4096))
    assert [k.outputs[0].name for k in found.program.kernels] == ["Y_prefix", "Y"]
    assert scans(found.program.graph) == 1
    assert not quadratic(found.program.graph)


@pytest.mark.parametrize("body", FORMS)
def test_c_and_the_interpreter_say_what_numpy_says(body: Callable[..., e.Expression]) -> None:
    found = extract(build(Dim("n"), body, rows=64), costs=Costs(typical=4096))
    assert scans(found.program.graph) == 1
    run = compile_program(found.program, choose_schedules(found.program, "c"))
    for n in (0, 1, 7, 64, 300):
        inputs = drawn(n, 64)
        want = oracle(body, inputs["X"], inputs["D"])
        np.testing.assert_allclose(interpret(found.graph, inputs)["Y"], want, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(interpret(found.program.graph, inputs)["Y"], want, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(run(inputs)["Y"], want, rtol=2e-5, atol=2e-5)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(0, 40), m=st.integers(0, 40), shift=st.integers(-20, 45), stride=st.integers(1, 3),
    kind=st.sampled_from(["prefix", "suffix", "growing"]), op=st.sampled_from([te.sum, te.max]), symbolic=st.booleans(),
)  # fmt: skip
def test_any_bound_means_the_same(n, m, shift, stride, kind, op, symbolic) -> None:  # type: ignore[no-untyped-def]
    def body(b, t, s, x, d):  # type: ignore[no-untyped-def]
        where = {"prefix": s + stride * t <= shift, "suffix": s >= stride * t - shift, "growing": s + t >= shift}[kind]
        return op(s, x[b, s] * d[b, s], where=where) * 0.5

    g = build(Dim("n") if symbolic else n, body, m=Dim("m") if symbolic else m)
    dims = {"n": n, "m": m} if symbolic else {}
    inputs = drawn(n)
    want, got = interpret(g, inputs, dims), interpret(normal_form(g), inputs, dims)
    np.testing.assert_allclose(got["Y"], want["Y"], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("n", [0, 1, 2, 19])
def test_several_scans_in_one_tensor(n: int) -> None:
    g = normal_form(build(Dim("n"), quotient))
    assert {t.name for t in tensors_of(g.outputs)} == {"Y_prefix", "Y_prefix2", "Y"}
    inputs = drawn(n)
    np.testing.assert_allclose(interpret(g, inputs)["Y"], interpret(build(n, quotient), inputs)["Y"], rtol=1e-10)


def test_folds_up_to_different_places_or_of_different_lengths_stand_apart() -> None:
    t, s, r = te.index("t", 20), te.index("s", 40), te.index("r", 30)
    x, z = te.input("X", (40,)), te.input("Z", (30,))
    near = te.sum(s, x[s], where=s <= 19 - t)
    g = graph(
        "apart",
        te.tensor("A", t, near - te.max(s, x[s], where=s <= 25 - t)),
        te.tensor("B", t, near - te.max(r, z[r], where=r <= 19 - t)),
    )
    new = normal_form(g)
    assert {t.name for t in tensors_of(new.outputs)} == {"A", "A_prefix", "A_prefix2", "B", "B_prefix", "B_prefix2"}
    inputs = {"X": drawn(40)["X"][0], "Z": drawn(30)["X"][0]}
    want, got = interpret(g, inputs), interpret(new, inputs)
    for name in ("A", "B"):
        np.testing.assert_allclose(got[name], want[name], rtol=1e-10, atol=1e-10)


def test_a_tensor_read_backwards_is_read_from_the_scan() -> None:
    b, t, s, r = te.index("b", 3), te.index("t", 40), te.index("s", 40), te.index("r", 40)
    x = te.input("X", (3, 40))
    rest = te.tensor("rest", (b, t), te.sum(s, x[b, s], where=s >= t))
    g = graph("read", te.tensor("Y", (b, r), rest[b, 39 - r] * 2.0))
    assert [t.name for t in tensors_of(normal_form(g).outputs)] == ["rest_prefix", "Y"]
    inputs = {"X": drawn(40)["X"]}
    want = backwards(inputs["X"].astype(float), np.add)[:, ::-1] * 2
    np.testing.assert_allclose(interpret(normal_form(g), inputs)["Y"], want, rtol=1e-9, atol=1e-9)


def test_names_that_are_taken() -> None:
    b, t, s = te.index("b", 3), te.index("t", 40), te.index("s", 40)
    x = te.input("Y_prefix", (3, 40))
    g = graph("taken", te.tensor("Y", (b, t), te.sum(s, x[b, s], where=s >= t)))
    assert [t.name for t in tensors_of(normal_form(g).outputs)] == ["Y_prefix2", "Y"]


def test_wide_and_whole_values_keep_their_type() -> None:
    t, s = te.index("t", 40), te.index("s", 40)
    x, k = te.input("X", (40,), "f64"), te.input("K", (40,), "i32")
    g = graph(
        "types",
        te.tensor("A", t, te.sum(s, x[s], where=s >= t), "f64"),
        te.tensor("B", t, te.max(s, k[s], where=s >= t), "i32"),
    )
    types = {t.name: t.dtype for t in tensors_of(normal_form(g).outputs)}
    assert types == {"A": "f64", "A_prefix": "f64", "B": "i32", "B_prefix": "i32"}


def attention(b, t, s, x, d):  # type: ignore[no-untyped-def]
    return te.sum(s, e.exp(x[b, s] * x[b, t]) * d[b, s], where=s >= t)


def forwards(b, t, s, x, d):  # type: ignore[no-untyped-def]
    return te.sum(s, x[b, s], where=s <= t)


def composed_suffix(b, t, s, x, d):  # type: ignore[no-untyped-def]
    return te.reduce(AFFINE, s, d[b, s], x[b, s], where=s >= t, part="b")


def beyond(b, t, s, x, d):  # type: ignore[no-untyped-def]
    return te.sum(s, x[b, s], where=s + t <= s.size + 3)


@pytest.mark.parametrize("body", [attention, forwards, composed_suffix, beyond])
def test_what_gains_nothing_or_may_not_be_turned_stays(body: Callable[..., e.Expression]) -> None:
    (t,) = tensors_of(normal_form(build(40, body)).outputs)
    assert t.body is tensors_of(build(40, body).outputs)[0].body


@pytest.mark.parametrize(("n", "turned"), [(15, False), (16, True), (Dim("n", hi=15), False), (Dim("n"), True)])
def test_short_folds_stay(n: AffineLike, turned: bool) -> None:
    assert (len(tensors_of(normal_form(build(n, suffix_sum)).outputs)) == 2) is turned


def test_a_read_that_is_guarded_from_outside_stays() -> None:
    """X[b, s] is in bounds for some b only, which a condition on b and t says: over all b it would not be."""
    b, t, s = te.index("b", 3), te.index("t", 40), te.index("s", 40)
    x = te.input("X", (2, 40))
    total = te.sum(s, x[b, s], where=s >= t)
    g = graph("guarded", te.tensor("Y", (b, t), te.select(50 * b + t <= 99, total, 0.0)))
    assert len(tensors_of(normal_form(g).outputs)) == 1
    inputs = {"X": drawn(40)["X"][:2]}
    assert np.array_equal(interpret(normal_form(g), inputs)["Y"], interpret(g, inputs)["Y"])


def test_the_order_of_points_stays_in_a_backward_prefix() -> None:
    (_, made) = (t := tensors_of(normal_form(build(40, returns)).outputs))[::-1]
    assert isinstance(t[-1].body, Read)
    (fold,) = (s for s in walk(made.body) if isinstance(s, Reduce))
    assert repr(fold.where.affine[0]) == f"s <= {made.axes[-1]}"
