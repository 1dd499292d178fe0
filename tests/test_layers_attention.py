"""Attention's variants, rotary embeddings and mixtures of experts against loops in NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tests.library_values import close, declared, refused, value, values

RNG = np.random.default_rng(14)


def attend(q: Any, k: Any, v: Any, live: Any = True, bias: Any = 0.0, cap: float | None = None) -> Any:
    """Attention row by row: q[..., n, d], k[..., m, d]; rows without a key are 0."""
    s = np.einsum("...id,...jd->...ij", q, k) / math.sqrt(q.shape[-1])
    s = (s if cap is None else cap * np.tanh(s / cap)) + bias
    live = np.broadcast_to(live, s.shape)
    with np.errstate(all="ignore"):
        p = np.where(live, np.exp(s - np.where(live, s, -np.inf).max(-1, keepdims=True)), 0)
        p = np.where(live.any(-1, keepdims=True), p / p.sum(-1, keepdims=True), 0)
    return p @ v


def rows_and_keys(n: int, m: int, align: str) -> tuple[Any, Any]:
    own = np.arange(n)[:, None] + (m - n if align == "end" else 0)
    return own, np.arange(m)[None, :]


@pytest.mark.parametrize(("n", "m"), [(5, 7), (7, 5), (1, 5), (5, 5)])
@pytest.mark.parametrize("align", ["end", "start"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("window", [None, 1, 3, (2, 1), (None, 0), (0, None)])
def test_causal_and_windows_aligned_to_either_end(n: int, m: int, align: str, causal: bool, window: Any) -> None:
    q, k, v = RNG.normal(size=(n, 3)), RNG.normal(size=(m, 3)), RNG.normal(size=(m, 2))
    own, keys = rows_and_keys(n, m, align)
    live = np.ones((n, m), bool)
    if causal:
        live &= keys <= own
    before, after = window if isinstance(window, tuple) else (None if window is None else window - 1, None)
    if before is not None:
        live &= keys >= own - before
    if after is not None:
        live &= keys <= own + after
    found = te.attention(*declared(q=q, k=k, v=v), causal=causal, window=window, align=align)
    close(value(found, q=q, k=k, v=v), attend(q, k, v, live))


@pytest.mark.parametrize(("hq", "hk"), [(6, 2), (4, 1), (3, 3)])
def test_grouped_attention(hq: int, hk: int) -> None:
    q, k, v = RNG.normal(size=(2, hq, 5, 3)), RNG.normal(size=(2, hk, 7, 3)), RNG.normal(size=(2, hk, 7, 4))
    bias, mask = RNG.normal(size=(hq, 5, 7)), RNG.random((2, 1, 5, 7)) < 0.6
    wide = [np.repeat(a, hq // hk, 1) for a in (k, v)]
    i = declared(q=q, k=k, v=v, bias=bias, mask=mask)
    found = te.grouped_attention(*i[:3], bias=i[3], mask=i[4], soft_cap=3.0)
    wanted = attend(q, *wide, live=mask, bias=bias, cap=3.0)
    close(value(found, q=q, k=k, v=v, bias=bias, mask=mask), wanted)
    own, keys = rows_and_keys(5, 7, "end")
    close(value(te.grouped_attention(*i[:3], causal=True), q=q, k=k, v=v), attend(q, *wide, live=keys <= own))


def slopes(heads: int) -> list[float]:
    """By the recursion of the paper's reference code."""
    if heads & (heads - 1) == 0:
        return [2 ** (-8 * (h + 1) / heads) for h in range(heads)]
    p = 2 ** int(math.log2(heads))
    return slopes(p) + slopes(2 * p)[::2][: heads - p]


@pytest.mark.parametrize("heads", [1, 2, 3, 8, 12])
def test_alibi(heads: int) -> None:
    found = value(te.alibi_slopes(heads))
    close(found, np.array(slopes(heads)), 1e-6)
    q, k = RNG.normal(size=(2, heads, 5, 3)), RNG.normal(size=(2, heads, 7, 3))
    own, keys = rows_and_keys(5, 7, "end")
    bias = te.alibi_bias(te.alibi_slopes(heads), 5, 7)
    i = declared(q=q, k=k)
    wanted = attend(q, k, k, keys <= own, np.array(slopes(heads))[:, None, None] * (keys - own))
    close(value(te.attention(i[0], i[1], i[1], causal=True, bias=bias), q=q, k=k), wanted, 1e-6)
    far = value(te.alibi_bias(te.alibi_slopes(heads), 3, 4, align="start", symmetric=True))
    close(far, -np.array(slopes(heads))[:, None, None] * np.abs(np.arange(4) - np.arange(3)[:, None]), 1e-6)


@pytest.mark.parametrize(("hq", "hk"), [(4, 2), (2, 2), (3, 1)])
@pytest.mark.parametrize(
    "options", [{}, {"causal": False}, {"window": 3, "soft_cap": 2.0}, {"causal": False, "window": (4, 0)}]
)
def test_paged_attention(hq: int, hk: int, options: dict[str, Any]) -> None:
    size, n, lens = 4, 3, np.array([9, 0, 4, 2], np.int32)
    q = RNG.normal(size=(4, hq, n, 5))
    k_pages, v_pages = RNG.normal(size=(6, size, hk, 5)), RNG.normal(size=(6, size, hk, 2))
    k_pages[5] = v_pages[5] = np.nan  # no table names page 5
    # Beyond what the lengths need, the table holds numbers that are no pages.
    table = np.array([[4, 1, 0, -7], [99, 99, 99, 99], [2, 99, -1, 2**30], [3, -(2**31), 7, 7]], np.int32)
    steep = RNG.random(hq)
    i = declared(q=q, k=k_pages, v=v_pages, table=table, lens=lens, steep=steep)
    found = value(
        te.paged_attention(*i[:5], slopes=i[5], **options),
        q=q, k=k_pages, v=v_pages, table=table, lens=lens, steep=steep,
    )  # fmt: skip
    wanted = np.zeros((4, hq, n, 2))
    for b, length in enumerate(lens):
        if length == 0:
            continue
        pages = table[b, : -(-length // size)]
        k = np.concatenate(k_pages[pages])[:length].swapaxes(0, 1).repeat(hq // hk, 0)
        v = np.concatenate(v_pages[pages])[:length].swapaxes(0, 1).repeat(hq // hk, 0)
        own, keys = rows_and_keys(n, int(length), "end")
        live = np.ones((n, length), bool)
        if options.get("causal", True):
            live &= keys <= own
        if options.get("window") == 3:
            live &= keys > own - 3
        if options.get("window") == (4, 0):
            live &= (keys >= own - 4) & (keys <= own)
        bias = steep[:, None, None] * (keys - own)
        wanted[b] = attend(q[b], k, v, live, bias, options.get("soft_cap"))
    close(found, wanted)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize(("d", "width"), [(8, 8), (7, 4), (2, 2)])
def test_rotary(d: int, width: int, interleaved: bool) -> None:
    x, at = RNG.normal(size=(2, 3, 5, d)), np.array([0, 3, 4, 9, 11], np.int64)
    angle = at[:, None] * 100.0 ** (-2 * np.arange(width // 2) / width)
    turned = x.copy()
    first, second = (
        (slice(0, width, 2), slice(1, width, 2)) if interleaved else (slice(0, width // 2), slice(width // 2, width))
    )
    turned[..., first] = x[..., first] * np.cos(angle) - x[..., second] * np.sin(angle)
    turned[..., second] = x[..., second] * np.cos(angle) + x[..., first] * np.sin(angle)
    i, positions = declared(x=x, at=at)
    found = te.rotary(i, *te.rotary_tables(positions, width, 100.0), interleaved=interleaved)
    close(value(found, x=x, at=at), turned)
    tables = declared(c=np.cos(angle), s=np.sin(angle))
    close(value(te.rotary(i, *tables, interleaved=interleaved), x=x, c=np.cos(angle), s=np.sin(angle)), turned)


def test_rotary_tables_of_each_sample() -> None:
    x, at = RNG.normal(size=(2, 3, 5, 4)), RNG.integers(0, 50, (2, 1, 5))
    i, positions = declared(x=x, at=at)
    found = value(te.rotary(i, *te.rotary_tables(positions, 4)), x=x, at=at)
    for b in range(2):
        one = declared(x=x[b], at=at[b, 0])
        close(found[b], value(te.rotary(one[0], *te.rotary_tables(one[1], 4)), x=x[b], at=at[b, 0]))


def silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


def softmax(x: Any) -> Any:
    p = np.exp(x - x.max())
    return p / p.sum()


@pytest.mark.parametrize("form", ["gather", "dense"])
@pytest.mark.parametrize("renormalise", [True, False])
@pytest.mark.parametrize(("k", "gated"), [(1, True), (2, True), (2, False), (5, True)])
def test_moe(k: int, gated: bool, renormalise: bool, form: str) -> None:
    x, logits = RNG.normal(size=(7, 3)), RNG.normal(size=(7, 5))
    logits[2, :] = 0.5  # all tie
    up, gate, down = RNG.normal(size=(5, 3, 4)), RNG.normal(size=(5, 3, 4)), RNG.normal(size=(5, 4, 2))
    wanted = np.zeros((7, 2))
    for n in range(7):
        chosen = np.argsort(-logits[n], kind="stable")[:k]
        p = softmax(logits[n])[chosen]
        for w, expert in zip(p / p.sum() if renormalise else p, chosen, strict=True):
            hidden = silu(x[n] @ gate[expert]) * (x[n] @ up[expert]) if gated else silu(x[n] @ up[expert])
            wanted[n] += w * (hidden @ down[expert])
    arrays = {"x": x, "logits": logits, "up": up, "down": down} | ({"gate": gate} if gated else {})
    i = declared(**arrays)
    found = te.moe(*i[:4], k, w_gate=i[4] if gated else None, renormalise=renormalise, form=form)
    close(value(found, **arrays), wanted)


def test_route_and_gated_layers() -> None:
    logits = RNG.normal(size=(3, 5))
    w, chosen = values(*te.route(*declared(logits=logits), 2, renormalise=False), logits=logits)
    wanted = np.stack([softmax(row) for row in logits])
    np.testing.assert_array_equal(chosen, np.argsort(-logits, 1)[:, :2])
    close(w, np.take_along_axis(wanted, chosen, 1))
    x, a, b, c = RNG.normal(size=(2, 3)), RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4)), RNG.normal(size=(4, 2))
    g = x @ a
    gelu = g * (1 + np.vectorize(math.erf)(g / math.sqrt(2))) / 2
    close(value(te.geglu(*declared(x=x, a=a, b=b, c=c)), x=x, a=a, b=b, c=c), gelu * (x @ b) @ c)
    close(value(te.glu(*declared(x=x, a=a, b=b)), x=x, a=a, b=b), (x @ b) / (1 + np.exp(-g)))
    close(
        value(te.mlp(*declared(x=x, a=a), None, *declared(c=c), activation=te.relu), x=x, a=a, c=c),
        np.maximum(g, 0) @ c,
    )


Q, K = te.input("q", (2, 4, 5, 3)), te.input("k", (2, 3, 5, 3))
X, W = te.input("x", (4, 3)), te.input("w", (5, 3, 4))
TABLE, LENS, PAGES = te.input("t", (2, 6), "i32"), te.input("n", (2,), "i32"), te.input("p", (9, 4, 4, 3))


@pytest.mark.parametrize(
    ("build", "what", "mend"),
    [
        (lambda: te.attention(Q, Q, Q, align="left"), "queries aligned to 'left'", "align them to the 'end' or the"),
        (lambda: te.attention(Q, Q, Q, window=(1, -1)), "a window of (1, -1) keys", "give a window of at least one"),
        (
            lambda: te.grouped_attention(Q, K, K),
            "4 query heads do not share 3 key heads",
            "give fixed numbers of heads",
        ),
        (lambda: te.grouped_attention(X, K, K), "'x' has 2 axes where 4 are expected", "check the order"),
        (lambda: te.alibi_slopes(0), "0 heads", "give a whole number from 1"),
        (lambda: te.alibi_bias(te.alibi_slopes(2), 3, 3, align="mid"), "queries aligned to 'mid'", "align them to the"),
        (lambda: te.paged_attention(Q, PAGES, PAGES, X, LENS), "the first axis of 'x' has 4 elements", "check the sh"),
        (
            lambda: te.paged_attention(Q, PAGES, PAGES, te.input("t", (2, 6)), LENS),
            "'t' is f32",
            "give integers, such as i32",
        ),
        (lambda: te.paged_attention(Q, PAGES, K, TABLE, LENS), "the axis of pages of 'k' has 2 elements", "check the"),
        (lambda: te.rotary_tables(LENS, 3), "a rotary width of 3", "give an even number from 2"),
        (lambda: te.rotary_tables(LENS, 4, 0.0), "a rotary base of 0.0", "give a finite number above 0"),
        (
            lambda: te.rotary(X, *(te.input("c", (4, 2)),) * 2),
            "tables for 2 pairs beside 'x' of 3",
            "give fixed widths",
        ),
        (lambda: te.rotary(Q, *(TABLE,) * 2), "the table 't' is i32", "give reals"),
        (lambda: te.moe(X, X, W, W, 2), "the axis of experts of 'w' has 5 elements where 3 are", "check the shapes"),
        (lambda: te.moe(X, X, W, W, 2, form="sparse"), "unknown form 'sparse'", "use one of gather, dense"),
        (lambda: te.route(X, 4), "the 4 best of 3 elements of 'x'", "give a number from 1 to the extent"),
    ],
)
def test_errors(build: Callable[[], Any], what: str, mend: str) -> None:
    refused(build, what, mend, Path(__file__).name)
