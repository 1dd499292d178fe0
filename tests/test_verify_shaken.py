"""What single precision may give is not blamed on a kernel, and nothing else is let through."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tang_egg.interpret import interpret
from tang_egg.interpret_shaken import ORDERS, shaken
from tang_egg.text import parse_graph
from tang_egg.verify import rounding
from tang_egg.verify_compare import excess, explained

INF, NAN = np.inf, np.nan


def verdict(body: str, right: Any, kind: str = "f32", **inputs: Any) -> bool:
    """Whether `right` passes for the output y of a graph, beyond what the tolerance allows by itself."""
    graph = parse_graph(f'graph("g")\n{body}\noutput(y)\n')
    arrays = {k: np.asarray(v, np.float32) for k, v in inputs.items()}
    values = np.asarray(right, np.float32)
    assert excess(values, interpret(graph, arrays)["y"], kind) > 1.0
    return rounding(graph, graph.outputs[0], arrays, {}, values, kind)


NEAR_ONE = "x = input(f32[3])\ny[i:3] = log(1.0 + x[i] * x[i])"
SMALL = np.asarray([7e-3, 8e-3, 9e-3], np.float32)


def test_a_step_on_the_way_may_lose_what_the_inputs_have() -> None:
    singles = np.log(np.float32(1) + SMALL * SMALL)
    assert verdict(NEAR_ONE, singles, x=SMALL)
    assert not verdict(NEAR_ONE, singles * 1.2, x=SMALL)
    assert not verdict(NEAR_ONE, np.where(singles == singles.max(), NAN, singles), x=SMALL)


CANCELS = "x = input(f32[2])\ny[i:2] = affine.scan[i](tanh(-7.5), x[i]).b - select(i < 1, x[0], 0.0)"


def test_a_scan_that_cancels() -> None:
    first = np.float32(0.7)
    left = np.float32(np.tanh(np.float32(-7.5))) * first + first
    assert verdict(CANCELS, [0.0, left], x=[first, first])
    assert not verdict(CANCELS, [0.0, 1e-5], x=[first, first])


MOMENTS = "x = input(f32[3, 4])\ny[i:3] = mean_variance[k:4](1.0, x[i, k], 0.0, where=i <= k).m2"
DATA = [[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, INF]]


def test_an_infinity_may_meet_the_identity_and_nothing_else_becomes_nan() -> None:
    data = np.asarray(DATA)
    data[2, 2] = -2.0
    exact = interpret(parse_graph(f'graph("g")\n{MOMENTS}\noutput(y)\n'), {"x": data.astype(np.float32)})["y"]
    assert exact[2] == INF
    assert verdict(MOMENTS, [*exact[:2], NAN], x=data)
    assert not verdict(MOMENTS, [NAN, exact[1], NAN], x=data)
    assert not verdict(MOMENTS, [*exact[:2], 4.0], x=data)
    assert not verdict(MOMENTS, [exact[0], exact[1] * 1.01, NAN], x=data)


def test_a_first_factor_that_is_infinite() -> None:
    body = "a = input(f32[3])\ny[i:3] = affine.scan[i](a[i], 0.25).b"
    assert verdict(body, [NAN, NAN, NAN], a=[INF, 1.0, 1.0])
    assert not verdict(body, [NAN, NAN, NAN], a=[1.0, INF, 1.0])


def test_what_overflows_or_underflows_on_the_way() -> None:
    product = "x = input(f32[4])\ny[()] = prod[i:4](x[i])"
    assert verdict(product, INF, x=[1e25, 1e25, 1e-25, 1e-25])
    assert not verdict(product, 1.3, x=[1e25, 1e25, 1e-25, 1e-25])
    assert not verdict(product, INF, x=[10.0, 10.0, 0.1, 0.1])
    assert verdict(product, 0.0, x=[1e-15, 1e-15, 1e-15, 3e-15])
    assert not verdict(product, 1e-30, x=[1e-15, 1e-15, 1e-15, 3e-15])


def test_what_half_precision_has_no_number_for() -> None:
    body = "x = input(f32[2])\ny[i:2]: f16 = x[i] * 2.0"
    assert verdict(body, [INF, 2.0], "f16", x=[4e4, 1.0])
    assert not verdict(body, [-INF, 2.0], "f16", x=[3e4, 1.0])
    assert not verdict(body, [INF, INF], "f16", x=[4e4, 1.0])
    assert not verdict(body, [1e4, 2.0], "f16", x=[4e4, 1.0])


@pytest.mark.parametrize("order", ORDERS)
def test_what_a_type_holds_exactly_is_not_moved(order: str) -> None:
    graph = parse_graph(
        'graph("g")\nx = input(f32[3, 5])\n'
        "n[i:3] = mean_variance[k:5](1.0, x[i, k], 0.0, where=k <= i + 1).n\n"
        "half[i:3] = floor(sum[k:5](1.0, where=k <= i) * 0.5)\n"
        "at[i:3] = argmax[k:5](x[i, k], k).position\n"
        "some[i:3] = sum.scan[i](x[i, 0] * 0.1)\noutput(n, half, at, some)\n"
    )
    x = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
    want = interpret(graph, {"x": x})
    got = shaken(graph, {"x": x}, {}, np.random.default_rng(1), "f32", order)
    for name in ("n", "half", "at"):
        np.testing.assert_array_equal(got[name], want[name])
    assert (got["some"] != want["some"]).all()
    np.testing.assert_allclose(got["some"], want["some"], rtol=1e-5)


@pytest.mark.parametrize("order", ORDERS)
def test_masked_points_and_empty_folds_keep_their_meaning(order: str) -> None:
    graph = parse_graph(
        'graph("g")\nx = input(f32[3, 5])\n'
        "l[i:3] = logsumexp[k:5](x[i, k], 1.0, where=k < i).l\n"
        "m[i:3] = mean_variance[k:5, j:2](1.0, x[i, k] + cast(j, f32), 0.0, where=k < i).mean\noutput(l, m)\n"
    )
    x = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
    want = interpret(graph, {"x": x})
    got = shaken(graph, {"x": x}, {}, np.random.default_rng(1), "f64", order)
    for name, value in want.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-12, atol=1e-14)


def test_integers_are_those_of_an_outcome() -> None:
    exact, seen = np.asarray([3, 4]), [np.asarray([3, 5])]
    assert explained(np.asarray([3, 5]), exact, seen, "i32")
    assert not explained(np.asarray([3, 6]), exact, seen, "i32")
