"""Weights in few bits against NumPy, and GGUF blocks bit for bit against the gguf package."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg.library_gguf import FORMATS
from tests.library_values import close, declared, refused, value

RNG = np.random.default_rng(18)


@pytest.mark.parametrize("block", [None, 4, 12])
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_int8(block: int | None, kind: Any) -> None:
    q = RNG.integers(np.iinfo(kind).min, np.iinfo(kind).max, (5, 12), kind, endpoint=True)
    count = 12 // (block or 12)
    s, z = RNG.random((5, count)), RNG.integers(-3, 3, (1, count)).astype(np.int8)
    spread = np.repeat(s, 12 // count, 1)
    i = declared(q=q, s=s, z=z)
    close(value(te.dequantize_int8(*i[:2], block=block), q=q, s=s), spread * q)
    wanted = spread * (q - np.repeat(z, 12 // count, 1).astype(float))
    close(value(te.dequantize_int8(*i, block=block), q=q, s=s, z=z), wanted)


def packed(nibbles: Any, order: str, block: int) -> Any:
    if order == "halves":
        pairs = nibbles.reshape(-1, 2, block // 2)
        low, high = pairs[:, 0], pairs[:, 1]
    else:
        low, high = nibbles[..., ::2], nibbles[..., 1::2]
        low, high = (high, low) if order == "high" else (low, high)
    return (low | high << 4).reshape(nibbles.shape[0], -1).astype(np.uint8)


@pytest.mark.parametrize("order", ["low", "high", "halves"])
@pytest.mark.parametrize("signed", [False, True])
def test_int4(order: str, signed: bool) -> None:
    n = RNG.integers(0, 16, (3, 24))
    s, z = RNG.random((3, 4)), RNG.random((3, 4))
    p = packed(n, order, 6)
    meant = np.where(n < 8, n, n - 16) if signed else n
    spread, zero = np.repeat(s, 6, 1), np.repeat(z, 6, 1)
    i = declared(p=p, s=s, z=z)
    options: Any = {"block": 6, "order": order, "signed": signed}
    close(value(te.dequantize_int4(*i[:2], **options), p=p, s=s), spread * (meant - (0 if signed else 8)))
    close(value(te.dequantize_int4(*i, **options), p=p, s=s, z=z), spread * (meant - zero))


def blocks_of(kind: str, rows: int, count: int) -> Any:
    """Random bytes; the exponents of the scales are kept finite."""
    size = FORMATS[kind].size
    data = RNG.integers(0, 256, (rows, count, size), np.uint8)
    for at in {"q4_1": (0, 2), "q5_1": (0, 2), "q2_k": (80, 82), "q3_k": (108,), "q6_k": (208,)}.get(
        kind, (0, 2) if kind in ("q4_k", "q5_k") else (0,)
    ):
        halves = RNG.normal(size=(rows, count)).astype(np.float16)
        halves.flat[0] = np.float16(6e-8)  # subnormal
        data[..., at : at + 2] = halves[..., None].view(np.uint8)
    return data.reshape(rows, count * size)


def reference(data: Any, kind: str) -> Any:
    gguf = pytest.importorskip("gguf")
    return gguf.quants.dequantize(data, gguf.GGMLQuantizationType[kind.upper()])


@pytest.mark.parametrize("kind", FORMATS)
def test_gguf_blocks_bit_for_bit(kind: str) -> None:
    data = blocks_of(kind, 3, 5)
    wanted = reference(data, kind)
    graph = te.graph("g", out=te.dequantize(*declared(b=data), kind))
    found = te.interpret(graph, {"b": data}, round_outputs=True)["out"].astype(np.float32)
    assert found.shape == wanted.shape == (3, 5 * FORMATS[kind].elements)
    np.testing.assert_array_equal(found.view(np.uint32), wanted.view(np.uint32))


@pytest.mark.parametrize("kind", FORMATS)
def test_linear_on_gguf_blocks(kind: str) -> None:
    data = blocks_of(kind, 7, 2)
    w = reference(data, kind).astype(np.float64)
    x, b = RNG.normal(size=(2, 3, w.shape[1])), RNG.normal(size=7)
    i, blocks, bias = declared(x=x, data=data, b=b)
    found = value(te.linear_quantized(i, blocks, kind, bias), x=x, data=data, b=b)
    np.testing.assert_allclose(found, x @ w.T + b, rtol=1e-5, atol=1e-4)
    whole = value(te.linear(i, te.dequantize(blocks, kind), transposed=True), x=x, data=data)
    np.testing.assert_allclose(found - b, whole, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("kind", ["q4_0", "q8_0"])
def test_what_gguf_packs_comes_back(kind: str) -> None:
    gguf = pytest.importorskip("gguf")
    w = RNG.normal(size=(3, 64)).astype(np.float32)
    data = gguf.quants.quantize(w, gguf.GGMLQuantizationType[kind.upper()])
    found = value(te.dequantize(*declared(b=data), kind), b=data)
    assert np.abs(found - w).max() < (0.03 if kind == "q8_0" else 0.5)


def test_blocks_of_a_symbolic_number_and_none() -> None:
    n = te.dim("n")
    data = blocks_of("q4_0", 2, 3)
    found = value(te.dequantize(te.input("b", (2, 18 * n), "u8"), "Q4_0"), b=data)
    close(found, reference(data, "q4_0"))
    assert value(te.dequantize(te.input("b", (0, 36), "u8"), "q4_0"), b=np.zeros((0, 36), np.uint8)).shape == (0, 64)


Q, S, U = te.input("q", (3, 12), "i8"), te.input("s", (3, 3)), te.input("u", (3, 36), "u8")


@pytest.mark.parametrize(
    ("build", "what", "mend"),
    [
        (lambda: te.dequantize(U, "q9_0"), "blocks of an unknown kind 'q9_0'", "use one of q4_0, q4_1"),
        (
            lambda: te.dequantize(U, "q8_0"),
            "the 36 bytes in a row of 'u' are no blocks of 34, as q8_0 has",
            "check the",
        ),
        (lambda: te.dequantize(Q, "q4_0"), "'q' is i8", "give the raw bytes as u8"),
        (
            lambda: te.dequantize(te.input("u", (), "u8"), "q4_0"),
            "'u' has 0 axes where at least 1 are",
            "check the order",
        ),
        (lambda: te.linear_quantized(S, U, "q4_0"), "the last axis of 's' has 3 elements where 64 are", "check the"),
        (lambda: te.dequantize_int8(S, S), "'s' is f32", "give i8 or u8"),
        (lambda: te.dequantize_int8(Q, S, block=5), "blocks of 5 along an axis of 12", "give a fixed extent"),
        (
            lambda: te.dequantize_int8(Q, S, block=3),
            "the last axis of 's' has 3 elements where 4 are",
            "check the shapes",
        ),
        (
            lambda: te.dequantize_int8(Q, te.input("s", (2, 3)), block=4),
            "an axis of 's' has 2 elements",
            "check the shap",
        ),
        (lambda: te.dequantize_int4(Q, S), "nibbles of 'q', i8, in the order 'low'", "give u8, and an order of low"),
        (lambda: te.dequantize_int4(U, S, order="big"), "nibbles of 'u', u8, in the order 'big'", "give u8, and an"),
        (lambda: te.dequantize_int4(U, S, 16), "the zero 16 of nibbles", "give a number from 0 to 15"),
        (lambda: te.dequantize_int4(U, S, block=9, order="halves"), "halves of a block of 9", "give an even block"),
    ],
)
def test_errors(build: Callable[[], Any], what: str, mend: str) -> None:
    refused(build, what, mend, Path(__file__).name)
