"""Library compositions against NumPy, written independently."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import tang_egg as te
from tang_egg import library
from tang_egg.errors import GraphError
from tang_egg.examples import EXAMPLES, transformer
from tang_egg.interpret import interpret
from tang_egg.ir import Apply, Graph, Reduce, tensors_of, walk

Floats = npt.NDArray[np.float64]
RNG = np.random.default_rng(7)


def value(result: te.Array, **arrays: Any) -> Any:
    """The interpreter's value of one tensor."""
    (found,) = interpret(te.graph("g", out=result), arrays).values()
    return found


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)


def softmax(x: Floats, axis: int = -1) -> Floats:
    z = np.exp(x - x.max(axis=axis, keepdims=True))
    return np.asarray(z / z.sum(axis=axis, keepdims=True))


def attend(q: Floats, k: Floats, v: Floats, live: Any = True, bias: Any = 0.0, cap: float | None = None) -> Floats:
    """Attention with a loop over rows: dead rows are 0."""
    s = np.einsum("...id,...jd->...ij", q, k) / math.sqrt(q.shape[-1])
    s = (s if cap is None else cap * np.tanh(s / cap)) + bias
    live, v = np.broadcast_to(live, s.shape), np.broadcast_to(v, (*s.shape[:-2], *v.shape[-2:]))
    out = np.zeros((*s.shape[:-1], v.shape[-1]))
    for at in np.ndindex(*s.shape[:-1]):
        keys = live[at]
        if keys.any():
            out[at] = softmax(s[at][keys]) @ v[at[:-1]][keys]
    return out


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_and_its_relatives(axis: int) -> None:
    data = RNG.normal(size=(5, 7))
    x = te.input("x", (5, 7))
    close(value(te.softmax(x, axis), x=data), softmax(data, axis))
    close(value(te.log_softmax(x, axis), x=data), np.log(softmax(data, axis)))
    close(value(library.logsumexp(x, axis), x=data), np.log(np.exp(data).sum(axis)))
    close(value(te.mean(x, axis), x=data), data.mean(axis))
    close(value(te.variance(x, axis), x=data), data.var(axis))
    close(value(te.variance(x, axis, ddof=1), x=data), data.var(axis, ddof=1))
    np.testing.assert_array_equal(value(library.argmax(x, axis), x=data), data.argmax(axis))


def test_masked_softmax_defines_dead_rows_as_zero() -> None:
    data, live = RNG.normal(size=(4, 6)), RNG.random((4, 6)) < 0.5
    live[1] = False
    live[2] = True
    x, mask = te.input("x", (4, 6)), te.input("live", (4, 6), "bool")
    wanted = np.zeros((4, 6))
    for r in range(4):
        if live[r].any():
            wanted[r, live[r]] = softmax(data[r, live[r]])
    close(value(te.softmax(x, where=mask), x=data, live=live), wanted)
    triangle = value(te.softmax(x, where=lambda i, j: j < i), x=data)
    assert not triangle[0].any()
    close(triangle[3, :3], softmax(data[3, :3]))


def test_softmax_of_a_row_of_minus_infinity_is_nan() -> None:
    assert np.isnan(value(te.softmax(te.input("x", (1, 3))), x=np.full((1, 3), -np.inf))).all()


def test_norms() -> None:
    data, g, b = RNG.normal(size=(2, 3, 8)), RNG.normal(size=8), RNG.normal(size=8)
    x, gain, bias = te.input("x", (2, 3, 8)), te.input("g", (8,)), te.input("b", (8,))
    mu, var = data.mean(-1, keepdims=True), data.var(-1, keepdims=True)
    close(value(te.layer_norm(x, gain, bias, eps=0.1), x=data, g=g, b=b), (data - mu) / np.sqrt(var + 0.1) * g + b)
    close(value(te.layer_norm(x), x=data), (data - mu) / np.sqrt(var + 1e-5))
    ms = (data * data).mean(-1, keepdims=True)
    close(value(te.rms_norm(x, gain, eps=0.1), x=data, g=g), data / np.sqrt(ms + 0.1) * g)


def test_norm_over_a_symbolic_axis_divides_by_its_size() -> None:
    n = te.dim("n", lo=1)
    data = RNG.normal(size=(3, 11))
    close(value(te.mean(te.input("x", (3, n))), x=data), data.mean(-1))


@pytest.mark.parametrize(("a", "b"), [((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (6, 4, 5))])
def test_matmul_broadcasts_leading_axes(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = RNG.normal(size=a), RNG.normal(size=b)
    close(value(te.matmul(te.input("a", a), te.input("b", b)), a=x, b=y), x @ y)


def test_linear_gram_and_pointwise() -> None:
    x, w, b = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(4, 5)), RNG.normal(size=5)
    xs, ws, bs = te.input("x", (2, 3, 4)), te.input("w", (4, 5)), te.input("b", (5,))
    close(value(te.linear(xs, ws, bs), x=x, w=w, b=b), x @ w + b)
    close(value(te.linear(xs, te.input("w", (5, 4)), transposed=True), x=x, w=w.T.copy()), x @ w)
    close(value(te.gram(xs), x=x), x @ x.transpose(0, 2, 1))
    close(value(te.add(xs, te.input("b", (3, 1))), x=x, b=b[:3, None]), x + b[:3, None])


def test_layers_with_gates_and_activations() -> None:
    x, w1, w2, w3 = RNG.normal(size=(3, 4)), *(RNG.normal(size=s) for s in ((4, 6), (4, 6), (6, 4)))
    i = [te.input(n, s) for n, s in (("x", (3, 4)), ("w1", (4, 6)), ("w2", (4, 6)), ("w3", (6, 4)))]
    g = x @ w1
    hidden = g / (1 + np.exp(-g)) * (x @ w2)
    close(value(te.swiglu(i[0], i[1], i[2]), x=x, w1=w1, w2=w2), hidden)
    close(value(te.swiglu(*i), x=x, w1=w1, w2=w2, w3=w3), hidden @ w3)
    erf = np.vectorize(math.erf)
    close(value(te.mlp(i[0], i[1], None, i[3]), x=x, w1=w1, w3=w3), (g * (1 + erf(g / math.sqrt(2))) / 2) @ w3)


@pytest.mark.parametrize(
    ("f", "meaning"),
    [
        (te.softplus, lambda x: np.logaddexp(x, 0)),
        (te.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
        (te.gelu_tanh, lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
        (te.relu, lambda x: np.where(x > 0, x, 0)),
        (te.cos, np.cos),
        (te.abs, np.abs),
        (te.rsqrt, lambda x: x**-0.5),
        (lambda x: x**3 / 3 - 1 / x, lambda x: x**3 / 3 - 1 / x),
        (lambda x: x**-2, lambda x: x**-2.0),
        (lambda x: te.atan2(x, 2.0) + te.minimum(x, 1), lambda x: np.arctan2(x, 2) + np.minimum(x, 1)),
    ],
)
def test_elementwise_functions(f: Callable[[Any], te.Expression], meaning: Callable[[Floats], Floats]) -> None:
    data = np.array([0.25, 0.5, 1.0, 3.0, 40.0])
    x, i = te.input("x", (5,)), te.index("i")
    close(value(te.tensor("y", i, f(x[i])), x=data), meaning(data))


def test_gated_scan_is_the_recurrence() -> None:
    a, b = RNG.normal(size=(9, 3)), RNG.normal(size=(9, 3))
    wanted, h = np.zeros((9, 3)), np.zeros(3)
    for t in range(9):
        wanted[t] = h = a[t] * h + b[t]
    close(value(te.gated_scan(te.input("a", (9, 3)), te.input("b", (9, 3))), a=a, b=b), wanted)


def test_embeddings() -> None:
    table, idx = RNG.normal(size=(10, 4)), RNG.integers(0, 10, (3, 5)).astype(np.int32)
    t, i = te.input("t", (10, 4)), te.input("i", (3, 5), "i32")
    close(value(te.embedding(t, i), t=table, i=idx), table[idx])
    close(value(te.embedding_sum(t, i), t=table, i=idx), table[idx].sum(1))


N, M, D = 5, 7, 4
SHAPES = {"q": (2, 3, N, D), "k": (2, 3, M, D), "v": (2, 3, M, 6)}
P, J = np.arange(N)[:, None], np.arange(M)[None, :]
LIVE = RNG.random((N, M)) < 0.4
LIVE[2] = False
KEYS = RNG.random((2, M)) < 0.5
KEYS[1] = False
BIAS = RNG.normal(size=(3, N, M))


@pytest.mark.parametrize(
    ("options", "extra", "wanted"),
    [
        ({}, {}, {}),
        ({"causal": True}, {}, {"live": J <= P + M - N}),
        ({"causal": True, "window": 2}, {}, {"live": (J <= P + M - N) & (J > P + M - N - 2)}),
        ({"mask": te.input("live", (N, M), "bool")}, {"live": LIVE}, {"live": LIVE}),
        ({"mask": lambda i, j: (j <= i, i < 4)}, {}, {"live": (J <= P) & (P < 4)}),
        ({"key_mask": te.input("keys", (2, M), "bool")}, {"keys": KEYS}, {"live": KEYS[:, None, None, :]}),
        ({"bias": te.input("bias", (3, N, M)), "soft_cap": 2.0}, {"bias": BIAS}, {"bias": BIAS, "cap": 2.0}),
        ({"bias": lambda i, j: te.cast(j - i, "real") * 0.5}, {}, {"bias": (J - P) * 0.5}),
    ],
)
def test_attention(options: dict[str, Any], extra: dict[str, Any], wanted: dict[str, Any]) -> None:
    data = {n: RNG.normal(size=s) for n, s in SHAPES.items()}
    inputs = [te.input(n, s) for n, s in SHAPES.items()]
    close(value(te.attention(*inputs, **options), **data, **extra), attend(*data.values(), **wanted))


def test_attention_of_groups_and_of_more_queries_than_keys() -> None:
    q, k, v = RNG.normal(size=(2, 3, N, D)), RNG.normal(size=(2, 1, M, D)), RNG.normal(size=(2, 1, M, D))
    inputs = [te.input(n, a.shape) for n, a in (("q", q), ("k", k), ("v", v))]
    close(value(te.attention(*inputs), q=q, k=k, v=v), attend(q, k, v))
    rows = RNG.normal(size=(M, D)), RNG.normal(size=(N, D)), RNG.normal(size=(N, D))
    inputs = [te.input(n, a.shape) for n, a in zip("qkv", rows, strict=True)]
    live = np.arange(N)[None, :] <= np.arange(M)[:, None] + N - M
    found = value(te.attention(*inputs, causal=True), **dict(zip("qkv", rows, strict=True)))
    close(found, attend(*rows, live=live))
    assert not found[: M - N].any()


def test_attention_over_symbolic_sizes_scales_by_the_bound_width() -> None:
    d, n = te.dim("d", lo=1), te.dim("n", lo=1)
    data = [RNG.normal(size=(6, 3)) for _ in "qkv"]
    found = value(te.attention(*(te.input(x, (n, d)) for x in "qkv")), **dict(zip("qkv", data, strict=True)))
    close(found, attend(*data))


def test_heads_are_views_of_the_weights() -> None:
    x, w, wo = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 6)), RNG.normal(size=(6, 5))
    split = te.project_heads(te.input("x", (3, 4)), te.input("w", (4, 6)), 2)
    heads = (x @ w).reshape(3, 2, 3).transpose(1, 0, 2)
    close(value(split, x=x, w=w), heads)
    close(value(te.merge_heads(split, te.input("wo", (6, 5))), x=x, w=w, wo=wo), x @ w @ wo)


def test_a_mask_is_in_the_domain_of_every_fold_over_keys() -> None:
    g = EXAMPLES["attention_padded"]()
    folds = [s for t in tensors_of(g.outputs) for s in walk(t.body) if isinstance(s, Reduce)]
    over_keys = [f for f in folds if f.indices[0].name == "j"]
    assert len(over_keys) == 4
    assert all(f.where.data for f in over_keys)


def test_causal_attention_with_a_key_for_every_query_has_no_select() -> None:
    nodes = [s for t in tensors_of(EXAMPLES["attention_causal"]().outputs) for s in walk(t.body)]
    assert not any(isinstance(s, Apply) and s.op == "select" for s in nodes)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_built_twice_is_the_same_graph(name: str) -> None:
    first: Graph = EXAMPLES[name]()
    assert first == EXAMPLES[name]()
    assert len({t.name for t in tensors_of(first.outputs)}) == len(tensors_of(first.outputs))


def test_layers_of_a_transformer_number_their_intermediates() -> None:
    names = [t.name for t in tensors_of(transformer(2).outputs)]
    assert {"row_max", "row_max_2", "Y"} <= set(names)


WINDOW = "give a window of at least one key, or a pair (before, after) of numbers from 0 or None"
RANK = "check the order of the operands, or add axes by te.tensor"


@pytest.mark.parametrize(
    ("build", "what", "mend"),
    [
        (
            lambda x: te.matmul(x, x),
            "the axis before the last of 'x' has 3 elements where 4 are expected",
            "check the shapes, or the order of the operands",
        ),
        (lambda x: te.softmax(x, 2), "'x' has no axis 2", "its axes are -2 to 1"),
        (lambda x: te.softmax(x, None), "'x' has no axis None", "its axes are -2 to 1"),  # type: ignore[arg-type]
        (
            lambda x: te.layer_norm(te.input("s", ())),
            "'s' has no axis -1",
            "it is a scalar; give an array with an axis",
        ),
        (lambda x: te.attention(te.input("v", (4,)), x, x), "'v' has 1 axes where at least 2 are expected", RANK),
        (lambda x: te.linear(x, te.input("v", (4,))), "'v' has 1 axes where 2 are expected", RANK),
        (lambda x: te.gram(te.input("v", (4,))), "'v' has 1 axes where at least 2 are expected", RANK),
        (lambda x: te.merge_heads(x, x), "'x' has 2 axes where 3 are expected", RANK),
        (lambda x: te.embedding(te.input("v", (4,)), x), "'v' has 1 axes where 2 are expected", RANK),
        (lambda x: te.attention(x, x, x, window=2.5), "a window of 2.5 keys", WINDOW),  # type: ignore[arg-type]
        (
            lambda x: te.matmul(x, te.input("v", (4,))),
            "'v' has fewer than two axes",
            "fold it by te.sum, or add an axis",
        ),
        (lambda x: te.attention(x, x, x, window=0), "a window of 0 keys", WINDOW),
        (
            lambda x: te.attention(x, x, x, key_mask=te.input("m", (2, 3), "bool")),
            "'m' has 2 axes, more than there are batch axes and one for keys",
            "give [b, m]; a mask over queries and keys goes to mask=",
        ),
        (
            lambda x: te.project_heads(te.input("y", (3, 3)), x, 3),
            "the 4 columns of 'x' do not split into 3 heads",
            "give a fixed number of columns that the number of heads divides",
        ),
        (
            lambda x: te.rms_norm(x, te.input("g", (2, 3, 4))),
            "'g' has 3 axes, more than the 2 it is spread over",
            "fold or index the extra axes first",
        ),
    ],
)
def test_errors(build: Callable[[te.Array], te.Array], what: str, mend: str) -> None:
    with pytest.raises(GraphError) as caught:
        build(te.input("x", (3, 4)))
    assert (caught.value.what, caught.value.mend) == (what, mend)
    assert "test_library.py:" in caught.value.where
