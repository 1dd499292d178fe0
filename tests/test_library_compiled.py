"""A sample of the library as C, against the interpreter: one composition of each shape of computation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tests.library_values import declared
from tests.test_library_quant import blocks_of

RNG = np.random.default_rng(19)


def f(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def whole(low: int, high: int, *shape: int) -> Any:
    return RNG.integers(low, high, shape).astype(np.int32)


def sequence(x: te.Array, w: te.Array, u: te.Array) -> tuple[te.Array, ...]:
    return te.rnn(x, [(w, u)])


def spectra(x: te.Array, w: te.Array) -> te.Array:
    power = te.power_spectrum(te.stft(x, 16, 5, w, center=True))
    return te.linear(power, te.mel_filterbank(9, 4, 8000.0))


def experts(form: str) -> Callable[..., te.Array]:
    return lambda x, scores, up, down, gate: te.moe(x, scores, up, down, 2, w_gate=gate, form=form)


def alibi(q: te.Array, k: te.Array) -> te.Array:
    return te.attention(q, k, k, causal=True, bias=te.alibi_bias(te.alibi_slopes(3), 13, 17))


def turned(x: te.Array, at: te.Array) -> te.Array:
    return te.rotary(x, *te.rotary_tables(at, 6))


def loss(x: te.Array, y: te.Array, w: te.Array) -> te.Array:
    return te.cross_entropy(x, y, weight=w, ignore_index=2, label_smoothing=0.1)


TABLE = np.array([[1, 2, 0], [5, -9, 99]], np.int32)
EXPERTS = {"x": f(7, 5), "scores": f(7, 4), "up": f(4, 5, 6), "down": f(4, 6, 3), "gate": f(4, 5, 6)}

CASES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "conv with stride": (
        lambda x, w, b: te.conv(x, w, b, stride=2, padding=((2, 1), (1, 0))),
        {"x": f(2, 3, 11, 13), "w": f(5, 3, 3, 3), "b": f(5)},
    ),
    "conv in groups": (
        lambda x, w: te.conv(x, w, padding=1, groups=2, dilation=2),
        {"x": f(1, 4, 11, 7), "w": f(6, 2, 3, 3)},
    ),
    "transposed conv": (
        lambda x, w: te.conv_transpose(x, w, stride=2, padding=1, output_padding=1),
        {"x": f(1, 3, 5, 7), "w": f(3, 4, 3, 3)},
    ),
    "max pool": (lambda x: te.max_pool(x, 3, 2, 1), {"x": f(1, 3, 11, 13)}),
    "max positions": (lambda x: te.max_pool_indices(x, 3, 2, 1), {"x": f(1, 3, 11, 13)}),
    "mean pool": (lambda x: te.avg_pool(x, 3, 2, 1, ceil_mode=True, count_include_pad=True), {"x": f(1, 3, 12, 14)}),
    "adaptive mean": (lambda x: te.adaptive_avg_pool(x, (3, 5)), {"x": f(1, 3, 11, 13)}),
    "masked log-softmax": (
        lambda x, m: te.log_softmax(x, where=m),
        {"x": f(5, 13), "m": np.arange(65).reshape(5, 13) % 7 > 1},
    ),
    "group norm": (lambda x, g, b: te.group_norm(x, 2, g, b), {"x": f(3, 6, 5, 7), "g": f(6), "b": f(6)}),
    "layer norm over two axes": (lambda x: te.layer_norm(x, axes=2), {"x": f(5, 7, 11)}),
    "cross-entropy": (loss, {"x": f(17, 11), "y": whole(0, 11, 17), "w": np.abs(f(11))}),
    "window on both sides": (
        lambda q, k: te.attention(q, k, k, window=(3, 2), align="start"),
        {"q": f(2, 13, 8), "k": f(2, 17, 8)},
    ),
    "grouped attention": (
        lambda q, k: te.grouped_attention(q, k, k, causal=True),
        {"q": f(1, 6, 13, 8), "k": f(1, 2, 17, 8)},
    ),
    "alibi": (alibi, {"q": f(2, 3, 13, 8), "k": f(2, 3, 17, 8)}),
    "paged attention": (
        te.paged_attention,
        {"q": f(2, 4, 3, 8), "k": f(6, 4, 2, 8), "v": f(6, 4, 2, 8), "t": TABLE, "n": np.array([11, 3], np.int32)},
    ),
    "rotary": (turned, {"x": f(2, 3, 5, 7), "at": whole(0, 40, 5)}),
    "experts by number": (experts("gather"), EXPERTS),
    "all experts": (experts("dense"), EXPERTS),
    "gru cell": (te.gru_cell, {"x": f(3, 5), "h": f(3, 4), "w": f(12, 5), "u": f(12, 4), "b": f(12), "c": f(12)}),
    "lstm cell": (te.lstm_cell, {"x": f(3, 5), "h": f(3, 4), "c": f(3, 4), "w": f(16, 5), "u": f(16, 4)}),
    "unrolled network": (sequence, {"x": f(3, 2, 5), "w": f(4, 5), "u": f(4, 4)}),
    "cumulative sum": (lambda x: te.cumulative_sum(x, exclusive=True, reverse=True), {"x": f(3, 37)}),
    "three best": (lambda x: te.top_k(x, 3, largest=False), {"x": f(5, 37)}),
    "sort": (te.sort, {"x": f(5, 37)}),
    "embedding bag": (
        lambda t, i, o: te.embedding_bag(t, i, o, mode="max"),
        {"t": f(11, 5), "i": whole(0, 11, 23), "o": np.array([0, 4, 4, 17], np.int32)},
    ),
    "spectra": (spectra, {"x": f(2, 61), "w": f(16)}),
    "einsum": (
        lambda a, b, c: te.einsum("...ij,jk,ki->...i", a, b, c),
        {"a": f(2, 5, 7), "b": f(7, 3), "c": f(3, 5)},
    ),
    "nibbles": (
        lambda x, p, s: te.linear(x, te.dequantize_int4(p, s, block=8), transposed=True),
        {"x": f(5, 32), "p": whole(0, 256, 7, 16).astype(np.uint8), "s": f(7, 4)},
    ),
    "linear on q4_k": (lambda x, b: te.linear_quantized(x, b, "q4_k"), {"x": f(3, 512), "b": blocks_of("q4_k", 5, 2)}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_compiled(name: str) -> None:
    build, arrays = CASES[name]
    results = build(*declared(**arrays))
    outputs = results if isinstance(results, tuple) else (results,)
    graph = te.graph("g", **{f"out{n}": r for n, r in enumerate(outputs)})
    found = te.optimize(graph, verified=False).run(**arrays)
    for key, wanted in te.interpret(graph, arrays).items():
        assert found[key].shape == wanted.shape
        scale = np.abs(wanted[np.isfinite(wanted)]).max(initial=1e-9)
        np.testing.assert_allclose(found[key], wanted, rtol=2e-5, atol=2e-6 * scale)


@pytest.mark.parametrize("kind", ["q4_0", "q5_k", "q6_k"])
def test_compiled_blocks_are_exact(kind: str) -> None:
    data = blocks_of(kind, 3, 2)
    graph = te.graph("g", out=te.dequantize(*declared(b=data), kind))
    found = te.optimize(graph, verified=False)(b=data)
    wanted = te.interpret(graph, {"b": data}, round_outputs=True)["out"].astype(np.float32)
    np.testing.assert_array_equal(found.view(np.uint32), wanted.view(np.uint32))


def test_one_fold_in_both_branches_of_a_choice() -> None:
    """The fold reads under a condition of its own; what is computed for one branch is not taken for the other."""
    x = f(2, 13)
    i = declared(x=x)[0]
    b, c, j = te.index("b", 2), te.index("c", 2), te.index("j", 5)
    at = j * 3 - 2
    total = te.sum(j, te.select(at < 0, 0.0, i[b, at]))
    graph = te.graph("g", out=te.tensor(None, (b, c), te.select(c < 1, total, total * -1.0)))
    found = te.optimize(graph, verified=False)(x=x)
    np.testing.assert_allclose(found, te.interpret(graph, {"x": x})["out"], rtol=1e-5)
