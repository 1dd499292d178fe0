"""The oracle against hand-written NumPy, and against a point-by-point evaluator on random graphs."""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings

from tang_egg import ops
from tang_egg.affine import Affine, AffineLike, Dim, Index, affine, index
from tang_egg.errors import BindError, InputError, TangError
from tang_egg.interpret import evaluate, interpret
from tang_egg.ir import (
    EVERYWHERE,
    Apply,
    Const,
    Domain,
    Graph,
    Input,
    Position,
    Read,
    Reduce,
    Scalar,
    Scan,
    StateRef,
    Tensor,
    Test,
    apply,
    const,
    domain,
    tensors_of,
    type_of,
)
from tang_egg.monoid import (
    AFFINE,
    ANY,
    LOGSUMEXP,
    MAX,
    MEAN_VARIANCE,
    SUM,
    Monoid,
    affine_matrix,
    argmax_of,
    lifts,
    max_of,
    optional,
    sum_of,
)
from tang_egg.monoid import product as monoid_product
from tang_egg.monoid_entries import top_k
from tests.strategies import Instance, graphs

Array = npt.NDArray[Any]
INF = float("inf")


# helpers


def source(name: str, *shape: AffineLike, dtype: str = "f32", **facts: bool) -> Input:
    return Input(name, tuple(affine(n) for n in shape), dtype, **facts)


def at(x: Input | Tensor, *coordinates: AffineLike | Scalar) -> Scalar:
    return Read(x, tuple(c if isinstance(c, Scalar) else affine(c) for c in coordinates))


def fold(
    monoid: Monoid, over: Index | tuple[Index, ...], *body: Scalar, where: Domain = EVERYWHERE, part: int = 0
) -> Scalar:
    return Reduce(monoid, over if isinstance(over, tuple) else (over,), where, body, part)


def run(out: Scalar, axes: tuple[Index, ...], arrays: Mapping[str, Array], *inputs: Input, **options: Any) -> Array:
    dtype = {"real": "f32"}.get(type_of(out), type_of(out))
    return interpret(Graph("g", inputs, (Tensor("y", axes, out, dtype),)), arrays, **options)["y"]


def normal(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def minus(a: Scalar, b: Scalar) -> Scalar:
    return apply("add", a, apply("neg", b))


I3, J4, K5 = index("i", 3), index("j", 4), index("k", 5)


# maps, views and sums


def test_matmul_of_symbolic_sizes_equals_numpy() -> None:
    n, m = Dim("n"), Dim("m")
    i, j, k = index("i", n), index("j", 4), index("k", m)
    a, b = source("A", n, m), source("B", m, 4)
    x, y = normal(3, 5), normal(5, 4, seed=1)
    product_ = fold(SUM, k, apply("mul", at(a, i, k), at(b, k, j)))
    np.testing.assert_allclose(run(product_, (i, j), {"A": x, "B": y}, a, b), x.astype(float) @ y, rtol=1e-14)


@pytest.mark.parametrize("bad", [np.nan, INF, -INF])
def test_matmul_lets_nan_and_infinity_through_where_they_belong(bad: float) -> None:
    a, b = source("A", 3, 5), source("B", 5, 4)
    x, y = normal(3, 5), normal(5, 4, seed=1)
    x[1, 2], y[2, 0] = bad, 0.0
    with np.errstate(invalid="ignore"):
        expected = (x.astype(float)[:, :, None] * y).sum(1)
    out = run(fold(SUM, K5, apply("mul", at(a, I3, K5), at(b, K5, J4))), (I3, J4), {"A": x, "B": y}, a, b)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(expected))
    np.testing.assert_allclose(out, expected)


def test_a_sum_of_three_factors_does_not_hoist_past_an_infinity() -> None:
    # Point by point, inf*2 + inf*(-1) is NaN; hoisted, inf * (2 - 1) would be inf.
    a, b, c = source("a", 3), source("b", 3, 2), source("c", 2, 4)
    i, j, k = I3, J4, index("k", 2)
    x, y, z = np.array([0, 1, INF], np.float32), np.ones((3, 2), np.float32), np.array([[2] * 4, [-1] * 4], np.float32)
    given_ = {"a": x, "b": y, "c": z}
    body = apply("mul", at(a, i), apply("mul", at(b, i, k), at(c, k, j)))
    out = run(fold(SUM, k, body), (i, j), given_, a, b, c)
    np.testing.assert_array_equal(out, [[0] * 4, [1] * 4, [np.nan] * 4])
    alone = run(fold(SUM, k, apply("mul", at(a, i), at(c, k, j))), (i, j), {"a": x, "c": z}, a, c)
    np.testing.assert_array_equal(alone, out)


def test_views_transpose_stride_flip_diagonal_and_window() -> None:
    x = source("X", 9, 9)
    data = normal(9, 9)
    cases: list[tuple[Scalar, Array]] = [
        (at(x, J4, I3), data[:4, :3].T),
        (at(x, 2 * J4 + 1, 8 - 3 * I3), data[1::2, ::-1][:4, ::3].T),
        (at(x, I3 + 2 * J4, I3 + 2 * J4), np.array([[data[i + 2 * j, i + 2 * j] for j in range(4)] for i in range(3)])),
        (at(x, I3 + J4, 7), np.array([[data[i + j, 7] for j in range(4)] for i in range(3)])),
    ]
    for expression, expected in cases:
        np.testing.assert_array_equal(run(expression, (I3, J4), {"X": data}, x), expected)


def test_convolution_padded_by_select() -> None:
    c, o = index("c", 2), index("o", 3)
    t, s = index("t", 7), index("s", 3)
    x, w = source("X", 2, 7), source("W", 3, 2, 3)
    inside = apply("and", Test(t + s - 1 >= 0), Test(t + s - 1 < 7))
    padded = apply("select", inside, at(x, c, t + s - 1), const(0.0))
    data, weights = normal(2, 7), normal(3, 2, 3, seed=1)
    out = run(fold(SUM, (c, s), apply("mul", padded, at(w, o, c, s))), (o, t), {"X": data, "W": weights}, x, w)
    expected = np.array(
        [np.sum([np.convolve(data[c], weights[o, c, ::-1], "same") for c in range(2)], axis=0) for o in range(3)]
    )
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


def test_naive_softmax_has_nan_where_numpy_has() -> None:
    x = source("X", 3, 5)
    shifted = apply("exp", minus(at(x, I3, K5), fold(MAX, K5, at(x, I3, K5))))
    total = fold(SUM, K5, shifted)
    out = apply("mul", shifted, apply("recip", total))
    data = normal(3, 5)
    data[1], data[2, 3] = -INF, -INF
    with np.errstate(invalid="ignore"):
        e = np.exp(data.astype(float) - data.max(1, keepdims=True))
        expected = e / e.sum(1, keepdims=True)
    result = run(out, (I3, K5), {"X": data}, x)
    assert np.isnan(result[1]).all() and result[2, 3] == 0
    np.testing.assert_allclose(result, expected, rtol=1e-13)


def test_masked_points_do_not_contribute_even_nan() -> None:
    x, y = source("X", 4, 4), source("Y", 4)
    i, j = index("i", 4), index("j", 4)
    data, other = normal(4, 4), normal(4, seed=1)
    data[np.triu_indices(4, 1)] = np.nan
    other[3] = INF
    causal = domain(j <= i)
    once = apply("mul", at(x, i, j), at(y, j))
    for body in (at(x, i, j), once, apply("mul", at(y, j), once)):
        full = evaluate(body, (i, j), {"X": data, "Y": other})
        expected = [full[r, : r + 1].sum() for r in range(4)]
        out = run(fold(SUM, j, body, where=causal), (i,), {"X": data, "Y": other}, x, y)
        np.testing.assert_allclose(out, expected)


@pytest.mark.parametrize("bad", [np.nan, INF])
def test_a_masked_matrix_product_does_not_see_values_outside_the_domain(bad: float) -> None:
    p, v = source("P", 4, 4), source("V", 4, 3)
    i, j, c = index("i", 4), index("j", 4), index("c", 3)
    weights, values = normal(4, 4), normal(4, 3, seed=1)
    values[3, 1] = bad
    out = run(
        fold(SUM, j, apply("mul", at(p, i, j), at(v, j, c)), where=domain(j <= i)),
        (i, c),
        {"P": weights, "V": values},
        p,
        v,
    )
    expected = [[(weights[r, : r + 1].astype(float) * values[: r + 1, k]).sum() for k in range(3)] for r in range(4)]
    np.testing.assert_allclose(out, expected, rtol=1e-13)
    assert np.isfinite(out[:3]).all() and not np.isfinite(out[3, 1])


def test_a_fold_up_to_an_index_of_another_size() -> None:
    x = source("X", 3)
    t, k = index("t", 5), index("k", 3)
    data = normal(3)
    out = run(fold(SUM, k, at(x, k), where=domain(k <= t)), (t,), {"X": data}, x)
    np.testing.assert_allclose(out, data.astype(float).cumsum()[[0, 1, 2, 2, 2]], rtol=1e-14)


def test_components_of_one_state_with_different_free_indices() -> None:
    x, w = source("X", 3, 5), source("W", 5, 4)
    body = (at(x, I3, K5), at(w, K5, J4))
    pair = monoid_product("pair", MAX, SUM)
    out = run(
        apply("add", fold(pair, K5, *body, part=0), fold(SUM, J4, fold(pair, K5, *body, part=1))),
        (I3,),
        {"X": (data := normal(3, 5)), "W": (weights := normal(5, 4, seed=1))},
        x,
        w,
    )
    np.testing.assert_allclose(out, data.max(1) + weights.astype(float).sum(), rtol=1e-13)


def test_memory_stays_within_a_few_times_its_limit() -> None:
    i, k = index("i", 512), index("k", 512)
    x, y = source("X", 512), source("Y", 512)
    body = apply("sin", apply("mul", at(x, i), at(y, k)))
    given_ = {"X": normal(512), "Y": normal(512, seed=1)}
    whole = run(fold(SUM, k, body), (i,), given_, x, y)
    tracemalloc.start()
    try:
        blocked = run(fold(SUM, k, body), (i,), given_, x, y, memory=1 << 16)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(blocked, whole, rtol=1e-9, atol=1e-12)
    assert peak < 1 << 18  # the whole box of points would take 2 MiB


def test_data_conditions_and_empty_domains_give_the_identity() -> None:
    x, keep = source("X", 3, 5), source("keep", 3, 5, dtype="bool")
    data, mask = normal(3, 5), np.random.default_rng(1).random((3, 5)) < 0.5
    mask[1] = False
    given_ = {"X": data, "keep": mask}
    out = run(fold(MAX, K5, at(x, I3, K5), where=domain(at(keep, I3, K5))), (I3,), given_, x, keep)
    np.testing.assert_array_equal(out, np.where(mask, data, -INF).max(1))
    assert out[1] == -INF


@pytest.mark.parametrize("monoid", [SUM, MAX, ANY, LOGSUMEXP, argmax_of(), AFFINE], ids=lambda m: m.name)
def test_a_fold_over_no_points_is_the_identity(monoid: Monoid) -> None:
    k = index("k", 0)
    body = tuple(const(True) if c.type == "bool" else const(1, c.type) for c in monoid.components)
    for part, identity in enumerate(monoid.identity):
        assert isinstance(identity, Const)
        out = run(fold(monoid, k, *body, part=part), (I3,), {})
        np.testing.assert_array_equal(out, np.full(3, identity.value))


def test_empty_axes() -> None:
    n = Dim("n")
    i, k = index("i", n), index("k", 5)
    x = source("X", n, 5)
    out = run(fold(SUM, k, apply("mul", at(x, i, k), at(x, i, k))), (i,), {"X": np.zeros((0, 5), np.float32)}, x)
    assert out.shape == (0,)
    scan = run(
        Scan(AFFINE, i, (const(0.5), fold(SUM, k, at(x, i, k))), 1), (i,), {"X": np.zeros((0, 5), np.float32)}, x
    )
    assert scan.shape == (0,)


# monoids with a state


def test_argmax_takes_the_first_of_ties_and_of_nan() -> None:
    x = source("X", 4, 5)
    data = np.array([[1, 3, 3, 0, 3], [-INF] * 5, [0, np.nan, 5, np.nan, 1], [0.0, -0.0, 0, 0, 0]], np.float32)
    i = index("i", 4)
    out = run(fold(argmax_of(), K5, at(x, i, K5), Position(affine(K5)), part=1), (i,), {"X": data}, x)
    np.testing.assert_array_equal(out, np.argmax(data, 1))
    assert out.dtype == np.int64


def test_logsumexp_with_infinities() -> None:
    x = source("X", 4, 5)
    data = normal(4, 5) * 300
    data[1], data[2, 3], data[3, 1] = -INF, INF, -INF
    i = index("i", 4)
    m, total = (fold(LOGSUMEXP, K5, at(x, i, K5), const(1.0), part=p) for p in (0, 1))
    out = run(apply("add", m, apply("log", total)), (i,), {"X": data}, x)
    np.testing.assert_allclose(out, np.logaddexp.reduce(data.astype(float), axis=1), rtol=1e-13)


def test_mean_and_variance_of_data_far_from_zero() -> None:
    x = source("X", 3, 13)
    k = index("k", 13)
    data = (normal(3, 13) + 1e4).astype(np.float32)
    mean, m2 = (fold(MEAN_VARIANCE, k, const(1.0), at(x, I3, k), const(0.0), part=p) for p in (1, 2))
    np.testing.assert_allclose(run(mean, (I3,), {"X": data}, x), data.astype(float).mean(1), rtol=1e-14)
    np.testing.assert_allclose(run(m2, (I3,), {"X": data}, x), data.astype(float).var(1) * 13, rtol=1e-9)


def test_affine_scan_is_the_recurrence() -> None:
    t = index("t", 13)
    a, b = source("a", 13), source("b", 13)
    x, y = normal(13), normal(13, seed=1)
    expected, h = [], 0.0
    for n in range(13):
        h = float(x[n]) * h + float(y[n])
        expected.append(h)
    scan = Scan(AFFINE, t, (at(a, t), at(b, t)), 1)
    np.testing.assert_allclose(run(scan, (t,), {"a": x, "b": y}, a, b), expected, rtol=1e-12)
    s = index("s", 13)
    prefix = fold(AFFINE, s, at(a, s), at(b, s), where=domain(s <= t), part=1)
    np.testing.assert_allclose(run(prefix, (t,), {"a": x, "b": y}, a, b), expected, rtol=1e-12)


@pytest.mark.parametrize("memory", [8, 300, 1 << 20])
def test_scan_of_matrix_maps_in_any_blocks(memory: int) -> None:
    t = index("t", 7)
    maps = affine_matrix(3)
    row, column = maps.components[0].axes
    a, b = source("A", 7, 3, 3), source("B", 7, 3)
    x, y = normal(7, 3, 3), normal(7, 3, seed=1)
    body = (at(a, t, row, column), at(b, t, row))
    states, total = [], (np.eye(3), np.zeros(3))
    for n in range(7):
        m = x[n].astype(float)
        total = (m @ total[0], m @ total[1] + y[n])
        states.append(total)
    given_ = {"A": x, "B": y}
    out = run(Scan(maps, t, body, 0), (column, t, row), given_, a, b, memory=memory)
    np.testing.assert_allclose(out, np.array([s[0] for s in states]).transpose(2, 0, 1), rtol=1e-9)
    out = run(Scan(maps, t, body, 1), (t, row), given_, a, b, memory=memory)
    np.testing.assert_allclose(out, [s[1] for s in states], rtol=1e-9)
    out = run(fold(maps, t, *body, part=1), (row,), given_, a, b, memory=memory)
    np.testing.assert_allclose(out, states[-1][1], rtol=1e-9)


def test_top_k_equals_a_stable_sort() -> None:
    x = source("X", 3, 13)
    k = index("k", 13)
    data = np.random.default_rng(0).integers(0, 6, (3, 13)).astype(np.float32)
    monoid = top_k(4)
    body = (at(x, I3, k), Position(affine(k)), *monoid.identity[2:])
    order = np.argsort(-data, axis=1, kind="stable")
    for r in range(4):
        value, position = (run(fold(monoid, k, *body, part=2 * r + p), (I3,), {"X": data}, x) for p in (0, 1))
        np.testing.assert_array_equal(position, order[:, r])
        np.testing.assert_array_equal(value, np.take_along_axis(data, order, 1)[:, r])


def test_optional_says_whether_anything_was_there() -> None:
    x, keep = source("X", 3, 5, dtype="i32"), source("keep", 3, 5, dtype="bool")
    data = np.random.default_rng(0).integers(-9, -1, (3, 5)).astype(np.int32)
    mask = np.array([[1, 0, 1, 0, 0], [0] * 5, [1] * 5], bool)
    monoid = optional(max_of("i32"))
    fold_ = [fold(monoid, K5, at(x, I3, K5), const(True), where=domain(at(keep, I3, K5)), part=p) for p in (0, 1)]
    value, live = (run(f, (I3,), {"X": data, "keep": mask}, x, keep) for f in fold_)
    np.testing.assert_array_equal(live, mask.any(1))
    np.testing.assert_array_equal(value[live], [data[r][mask[r]].max() for r in (0, 2)])


def test_fold_over_two_indices_is_row_major() -> None:
    a, b = source("a", 3, 4), source("b", 3, 4)
    x, y = normal(3, 4), normal(3, 4, seed=1)
    h = 0.0
    for p, q in product(range(3), range(4)):
        h = float(x[p, q]) * h + float(y[p, q])
    for memory in (8, 64, 1 << 20):
        body = (at(a, I3, J4), at(b, I3, J4))
        out = run(fold(AFFINE, (I3, J4), *body, part=1), (), {"a": x, "b": y}, a, b, memory=memory)
        np.testing.assert_allclose(out, h, rtol=1e-12)


# integers and casts


def test_integers_wrap_exactly() -> None:
    x = source("x", 5, dtype="i8")
    data = np.array([127, 100, -128, -1, 3], np.int8)
    out = run(apply("add", at(x, K5), at(x, K5)), (K5,), {"x": data}, x)
    np.testing.assert_array_equal(out, np.array([-2, -56, 0, -2, 6], np.int8))
    assert out.dtype == np.int8
    total = run(fold(sum_of("i8"), K5, at(x, K5)), (), {"x": data}, x)
    assert total.dtype == np.int8 and int(total) == 101
    wide = source("w", 2, dtype="i64")
    big = np.array([2**62 + 1, 2**62 + 3])
    k = index("k", 2)
    assert int(run(fold(sum_of("i64"), k, at(wide, k)), (), {"w": big}, wide)) == -(2**63) + 4


def test_bfloat16_cast_rounds_to_nearest_even() -> None:
    x = source("x", 5)
    data = np.array([1 + 2**-8, 1 + 3 * 2**-8, -1.0, INF, 1 + 2**-7], np.float32)
    out = run(apply("cast:bf16", at(x, K5)), (K5,), {"x": data}, x)
    np.testing.assert_array_equal(out, [1.0, 1 + 2**-6, -1.0, INF, 1 + 2**-7])


def test_outputs_are_rounded_to_storage_only_when_asked() -> None:
    x = source("x", 5)
    graph = Graph("g", (x,), (Tensor("y", (K5,), apply("mul", at(x, K5), const(1 / 3)), "f16"),))
    data = normal(5)
    exact = interpret(graph, {"x": data})["y"]
    rounded = interpret(graph, {"x": data}, round_outputs=True)["y"]
    np.testing.assert_array_equal(exact, data.astype(float) * (1 / 3))
    np.testing.assert_array_equal(rounded, exact.astype(np.float16))
    assert (rounded != exact).any()


# gathers and faults


def test_gather_of_rows() -> None:
    table, idx = source("T", 4, 3), source("idx", 5, dtype="i32")
    data, rows = normal(4, 3), np.array([3, 0, 0, 2, 1], np.int32)
    out = run(at(table, at(idx, K5), I3), (K5, I3), {"T": data, "idx": rows}, table, idx)
    np.testing.assert_array_equal(out, data[rows])


@pytest.mark.parametrize("bad", [-1, 4])
def test_gather_out_of_range_names_the_point(bad: int) -> None:
    table, idx = source("T", 4, 3), source("idx", 5, dtype="i32")
    rows = np.array([3, 0, bad, 2, 1], np.int32)
    read = at(table, at(idx, K5), I3)
    with pytest.raises(InputError) as caught:
        run(read, (K5, I3), {"T": normal(4, 3), "idx": rows}, table, idx)
    assert str(caught.value) == (
        f"coordinate {bad} is outside axis 0 of input 'T', which has extent 4\n"
        "  where: tensor 'y', at k = 2, i = 0\n"
        "  mend:  give indices from 0 to the extent less 1, or guard the read with a select"
    )
    clipped = run(read, (K5, I3), {"T": normal(4, 3), "idx": rows}, table, idx, checked=False)
    np.testing.assert_array_equal(clipped, normal(4, 3)[np.clip(rows, 0, 3)])


def test_a_bad_coordinate_counts_only_where_it_is_selected() -> None:
    table, idx = source("T", 4), source("idx", 5, dtype="i32")
    rows = np.array([3, 0, 9, 2, 1], np.int32)
    given_ = {"T": normal(4), "idx": rows}
    read = at(table, at(idx, K5))
    good = apply("lt", at(idx, K5), const(4, "i32"))
    expected = np.where(rows < 4, normal(4)[np.clip(rows, 0, 3)], 0)
    np.testing.assert_array_equal(run(apply("select", good, read, const(0.0)), (K5,), given_, table, idx), expected)
    swapped = apply("select", apply("not", good), const(0.0), read)
    np.testing.assert_array_equal(run(swapped, (K5,), given_, table, idx), expected)
    inside = run(fold(SUM, K5, read, where=domain(good)), (), given_, table, idx)
    np.testing.assert_allclose(inside, expected.astype(float).sum(), rtol=1e-14)
    for wrong in (fold(SUM, K5, read), Scan(SUM, K5, (read,))):
        axes = () if isinstance(wrong, Reduce) else (K5,)
        with pytest.raises(InputError, match="coordinate 9 is outside axis 0 of input 'T'"):
            run(wrong, axes, given_, table, idx)


def test_a_scan_faults_only_from_the_bad_point_on() -> None:
    table, idx = source("T", 4), source("idx", 5, dtype="i32")
    given_ = {"T": normal(4), "idx": np.array([3, 0, 9, 2, 1], np.int32)}
    scan = Scan(SUM, K5, (at(table, at(idx, K5)),))
    early = apply("select", Test(K5 < 2), scan, const(0.0))
    np.testing.assert_allclose(run(early, (K5,), given_, table, idx)[1], normal(4)[[3, 0]].astype(float).sum())
    with pytest.raises(InputError):
        run(apply("select", Test(K5 < 3), scan, const(0.0)), (K5,), given_, table, idx)


def test_integer_division_by_zero_is_a_fault() -> None:
    x = source("x", 5, dtype="i32")
    data = np.array([1, 2, 0, 4, 5], np.int32)
    divided = apply("idiv", const(7, "i32"), at(x, K5))
    with pytest.raises(
        InputError, match="an integer is divided by zero\n  where: tensor 'y', at k = 2\n  mend:  guard"
    ):
        run(divided, (K5,), {"x": data}, x)
    np.testing.assert_array_equal(run(divided, (K5,), {"x": data}, x, checked=False), [7, 3, 0, 1, 1])


# inputs and dims


def _affected(message: str, given_: Mapping[str, Array], dims: Mapping[str, int] | None = None) -> None:
    n = Dim("n", lo=2, hi=8, multiple=2)
    i = index("i", n)
    x, s = source("x", n), source("s", n + 1, dtype="i32", sorted=True)
    graph = Graph("g", (x, s), (Tensor("y", (i,), apply("add", at(x, i), apply("cast:f32", at(s, i + 1)))),))
    with pytest.raises(TangError) as caught:
        interpret(graph, given_, dims)
    assert str(caught.value) == message


X4, S5 = np.zeros(4, np.float32), np.zeros(5, np.int32)


@pytest.mark.parametrize(
    ("given_", "dims", "message"),
    [
        (
            {"x": X4},
            None,
            "input 's' is missing\n  where: graph 'g'\n  mend:  give an array of shape [n + 1] and type i32",
        ),
        (
            {"x": X4, "s": S5, "z": X4},
            None,
            "there is no input 'z'\n  where: graph 'g'\n  mend:  the inputs are: x, s",
        ),
        (
            {"x": np.zeros((4, 1), np.float32), "s": S5},
            None,
            "input 'x' has 2 axes, not 1\n  where: graph 'g'\n  mend:  give an array of shape [n]",
        ),
        (
            {"x": X4, "s": S5.astype(np.int64)},
            None,
            "input 's' is an array of int64, but it is declared i32\n  where: graph 'g'\n  mend:  convert it to int32",
        ),
        (
            {"x": X4, "s": S5[:4]},
            None,
            "input 's' has extent 4 along axis 0, not n + 1 = 5\n  where: graph 'g'; n = 4 from axis 0 of 'x'\n"
            "  mend:  give an array of shape [n + 1]",
        ),
        (
            {"x": X4, "s": S5},
            {"n": 6},
            "input 'x' has extent 4 along axis 0, not n = 6\n  where: graph 'g'; n = 6 from dims\n"
            "  mend:  give an array of shape [n]",
        ),
        (
            {"x": X4[:3], "s": S5[:4]},
            None,
            "dimension 'n' cannot be 3\n  where: n is declared at least 2 and at most 8, a multiple of 2\n"
            "  mend:  bind a value that fits the declaration, or change the declaration",
        ),
        (
            {"x": X4, "s": np.array([0, 1, 3, 2, 4], np.int32)},
            None,
            "input 's' is declared sorted, but entry 3 is less than the one before it\n  where: graph 'g'\n"
            "  mend:  sort the array, or declare the input without sorted=True",
        ),
    ],
)
def test_inputs_that_do_not_fit(given_: dict[str, Array], dims: dict[str, int] | None, message: str) -> None:
    _affected(message, given_, dims)


def test_a_dim_that_no_shape_determines_must_be_given() -> None:
    n = Dim("n")
    i = index("i", n)
    graph = Graph("g", (), (Tensor("y", (i,), apply("cast:f32", Position(affine(i)))),))
    with pytest.raises(BindError, match="dimension 'n' is not determined by the shapes of the inputs"):
        interpret(graph, {})
    np.testing.assert_array_equal(interpret(graph, {}, {"n": 3})["y"], [0, 1, 2])


def test_dims_are_solved_from_affine_extents() -> None:
    n, m = Dim("n"), Dim("m")
    x = source("x", 2 * affine(n) + 1, affine(n) * m)
    i = index("i", n)
    graph = Graph("g", (x,), (Tensor("y", (i,), at(x, 2 * i, affine(n) * m - 1)),))
    assert interpret(graph, {"x": normal(7, 12)})["y"].shape == (3,)
    with pytest.raises(BindError, match="dimension 'n' is not determined"):
        interpret(graph, {"x": normal(6, 12)})


# blocks, and the point-by-point evaluator


def naive(instance: Instance) -> dict[str, Array]:
    """The outputs computed point by point, folds in order, with nothing shared: slow and plain."""
    arrays: dict[Any, Array] = {i: instance.inputs[i.name] for i in instance.graph.inputs}
    point = _Point(arrays, instance.dims)
    for t in tensors_of(instance.graph.outputs):
        shape = tuple(point.form(i.size, {}) for i in t.axes)
        out = np.zeros(shape, ops.numpy_type(ops.scalar_type(t.dtype)))
        for where in np.ndindex(*shape):
            out[where] = point.value(t.body, dict(zip(t.axes, where, strict=True)), {})
        arrays[t] = out
    return {t.name: arrays[t] for t in instance.graph.outputs}


class _Point:
    """Values at single points. States are held as one value per component (no component here has own axes)."""

    def __init__(self, arrays: dict[Any, Array], dims: Mapping[str, int]) -> None:
        self.arrays, self.dims = arrays, dims

    def form(self, form: Affine, env: Mapping[Index, int]) -> int:
        return form.evaluate({**self.dims, **{i.name: n for i, n in env.items()}})

    def value(self, s: Scalar, env: dict[Index, int], states: dict[tuple[str, str], Any]) -> Any:
        if isinstance(s, Const):
            return ops.numpy_type(s.type)(s.value)
        if isinstance(s, Position):
            return np.int64(self.form(s.form, env))
        if isinstance(s, Test):
            return np.bool_(self.form(s.condition.form, env) >= 0)
        if isinstance(s, StateRef):
            return states[s.side, s.component]
        if isinstance(s, Read):
            where = tuple(
                self.form(c, env) if isinstance(c, Affine) else int(self.value(c, env, states)) for c in s.coordinates
            )
            array = self.arrays[s.source]
            assert all(0 <= w < n for w, n in zip(where, array.shape, strict=True)), f"{s.source.name} at {where}"
            return array[where].astype(ops.numpy_type(ops.scalar_type(s.source.dtype)))
        if isinstance(s, Apply):
            if s.op == "select":
                return self.value(s.args[1 if self.value(s.args[0], env, states) else 2], env, states)
            return ops.apply(s.op, tuple(self.value(a, env, states) for a in s.args), tuple(type_of(a) for a in s.args))
        if isinstance(s, Scan):
            return self.fold(s, [{**env, s.index: n} for n in range(env[s.index] + 1)])
        assert isinstance(s, Reduce)
        ranges = [range(self.form(i.size, {})) for i in s.indices]
        points = [{**env, **dict(zip(s.indices, p, strict=True))} for p in product(*ranges)]
        return self.fold(s, [p for p in points if self.holds(s.where, p)])

    def holds(self, where: Domain, env: dict[Index, int]) -> bool:
        return all(self.form(c.form, env) >= 0 for c in where.affine) and all(
            self.value(d, env, {}) for d in where.data
        )

    def fold(self, s: Reduce | Scan, points: list[dict[Index, int]]) -> Any:
        names = [c.name for c in s.monoid.components]
        if not points:
            return self.value(s.monoid.identity[s.part], {}, {})
        state = [self.value(e, points[0], {}) for e in lifts(s)]
        for env in points[1:]:
            element = [self.value(e, env, {}) for e in lifts(s)]
            both = {("left", n): v for n, v in zip(names, state, strict=True)}
            both |= {("right", n): v for n, v in zip(names, element, strict=True)}
            state = [self.value(e, {}, both) for e in s.monoid.combine]
        return state[s.part]


def close(actual: Array, expected: Array, tolerance: float) -> None:
    """Equal up to the rounding of float64 and the order of sums."""
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=tolerance * 2.0**-20 + 1e-12)


MANY = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@MANY
@given(graphs(sizes=(0, 1, 2, 3, 5)))
def test_random_graphs_equal_the_point_by_point_evaluator(instance: Instance) -> None:
    out = interpret(instance.graph, instance.inputs, instance.dims)
    with np.errstate(all="ignore"):
        expected = naive(instance)
    for name, array in expected.items():
        close(out[name], array, instance.tolerance[name])


@MANY
@given(graphs(sizes=(0, 1, 2, 3), edges=True))
def test_infinities_and_nan_come_out_where_the_point_by_point_evaluator_has_them(instance: Instance) -> None:
    out = interpret(instance.graph, instance.inputs, instance.dims)
    with np.errstate(all="ignore"):
        expected = naive(instance)
    for name, array in expected.items():
        close(out[name], array, instance.tolerance[name])


@MANY
@given(graphs())
def test_blocks_do_not_change_the_result(instance: Instance) -> None:
    whole = interpret(instance.graph, instance.inputs, instance.dims)
    for memory in (300, 5000):
        blocked = interpret(instance.graph, instance.inputs, instance.dims, memory=memory)
        for name, array in whole.items():
            close(blocked[name], array, instance.tolerance[name])
