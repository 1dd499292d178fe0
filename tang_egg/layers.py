"""Attention and feed-forward layers, as naive compositions over tensors (see library)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg.affine import Index, Inequality, affine
from tang_egg.bounds import prove_nonnegative
from tang_egg.errors import GraphError
from tang_egg.expression import Expression
from tang_egg.library import batch_axes, broadcast, expect_rank, expect_size, linear, working_type
from tang_egg.notation import Array

Window: TypeAlias = "int | tuple[int | None, int | None] | None"


def attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    mask: Array | Callable[[Index, Index], te.Where] | None = None,
    key_mask: Array | None = None,
    causal: bool = False,
    window: Window = None,
    align: str = "end",
    scale: float | None = None,
    bias: Array | Callable[[Index, Index], Expression] | None = None,
    soft_cap: float | None = None,
) -> Array:
    """softmax(q kᵀ · scale + bias) v for q[..., n, d], k[..., m, d], v[..., m, e] → [..., n, e].

    Leading axes broadcast, so grouped queries are q[b, h, g, n, d] beside k[b, h, 1, m, d].
    `mask`: bool, broadcast against [..., n, m] from the right, or a function of the indices (i, j) giving conditions;
    true is kept. `key_mask`: bool [b, m] (or more leading axes, aligned on the left) for padded keys.
    Query i stands at key i + m - n, so that the last query stands at the last key, or at key i with align="start".
    `causal`: keys up to that one. `window`: w keys up to that one, itself among them (with or without `causal`); or a
    pair (left, right): so many keys before it and after it and itself, None for all.
    `scale`: 1 / sqrt(d) unless given. `bias`: broadcast against [..., n, m], or a function of (i, j).
    `soft_cap`: scores s become soft_cap · tanh(s / soft_cap) before bias and masks.
    A query with no key to see gives 0.
    """
    for x in (q, k, v):
        expect_rank(x, 2)
    expect_size(f"the last axis of '{k.name}'", k.shape[-1], q.shape[-1])
    expect_size(f"the axis before the last of '{v.name}'", v.shape[-2], k.shape[-2])
    bounds = window_bounds(window)
    if align not in ("end", "start"):
        raise GraphError(
            f"queries aligned to {align!r}", where=str(e.here()), mend="align them to the 'end' or the 'start'"
        )
    batch = batch_axes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    i, j = Index("i", q.shape[-2]), Index("j", k.shape[-2])
    d, c = Index("d", q.shape[-1]), Index("c", v.shape[-1])
    kind = working_type(q, k, v)

    factor = e.rsqrt(te.size(d)) if scale is None and d.size.value is None else None
    plain = scale if scale is not None else (d.size.value or 1) ** -0.5
    product = te.sum(d, broadcast(q, (*batch, i, d)) * broadcast(k, (*batch, j, d)))
    score = product * (plain if factor is None else factor)
    if soft_cap is not None:
        score = e.tanh(score / soft_cap) * soft_cap
    if bias is not None:
        score = score + (broadcast(bias, (*batch, i, j)) if isinstance(bias, Array) else bias(i, j))
    s = te.tensor(None, (*batch, i, j), score, kind, hint="scores")

    live, may_be_dead = _live_keys(batch, i, j, mask, key_mask, causal, bounds, align)
    rows = (*batch, i)
    m = te.tensor(None, rows, te.max(j, s[(*rows, j)], where=live), kind, hint="row_max")
    p = te.tensor(None, (*rows, j), e.exp(s[(*rows, j)] - m[rows]), kind, hint="weights")
    total = te.tensor(None, rows, te.sum(j, p[(*rows, j)], where=live), kind, hint="row_sum")
    out = te.sum(j, p[(*rows, j)] / total[rows] * broadcast(v, (*batch, j, c)), where=live)
    if may_be_dead:
        out = e.select(te.any(j, True, where=live), out, 0.0)
    return te.tensor(None, (*rows, c), out, q.dtype, hint="attention")


def window_bounds(window: Window) -> tuple[int | None, int | None]:
    """How many keys before and after its own a query sees, None for all. Raises GraphError for no window."""
    if window is None:
        return None, None
    if isinstance(window, int) and not isinstance(window, bool) and window >= 1:
        return window - 1, None
    if isinstance(window, tuple) and len(window) == 2:
        if all(w is None or (isinstance(w, int) and not isinstance(w, bool) and w >= 0) for w in window):
            return window
    raise GraphError(
        f"a window of {window!r} keys",
        where=str(e.here()),
        mend="give a window of at least one key, or a pair (before, after) of numbers from 0 or None",
    )


def seen(position: Any, own: Any, causal: bool, bounds: tuple[int | None, int | None]) -> list[te.Condition]:
    """The conditions under which a query at key `own` sees the key at `position`: both forms, or both expressions."""
    before, after = bounds
    live: list[te.Condition] = []
    if causal:
        live.append(position <= own)
    if before is not None:
        live.append(position > own - (before + 1))
    if after is not None and not causal:
        live.append(position <= own + after)
    return live


def _live_keys(
    batch: tuple[Index, ...],
    i: Index,
    j: Index,
    mask: Array | Callable[[Index, Index], te.Where] | None,
    key_mask: Array | None,
    causal: bool,
    bounds: tuple[int | None, int | None],
    align: str,
) -> tuple[list[te.Condition], bool]:
    """The conditions under which query `i` sees key `j`, and whether some query may see none."""
    own = affine(i) if align == "start" else affine(i) + j.size - i.size
    live = seen(j, own, causal, bounds)
    # A query's own key is inside causal and window; it exists with at least as many keys as queries, and aligned to
    # the start, key 0 does for every query where nothing but later keys is outside.
    n, m = i.size.value, j.size.value
    own_exists = i.size is j.size or (n is not None and m is not None and n <= m)
    first_seen = align == "start" and bounds[0] is None and prove_nonnegative(j.size - 1)
    may_be_dead = bool(live) and not own_exists and not first_seen
    if isinstance(mask, Array):
        live.append(broadcast(mask, (*batch, i, j)))
    elif mask is not None:
        given = mask(i, j)
        live += [given] if isinstance(given, (Expression, Inequality)) else [te.holds(given)]
    if key_mask is not None:
        lead = batch[: key_mask.rank - 1]
        if len(lead) != key_mask.rank - 1:
            raise GraphError(
                f"'{key_mask.name}' has {key_mask.rank} axes, more than there are batch axes and one for keys",
                where=str(e.here()),
                mend="give [b, m]; a mask over queries and keys goes to mask=",
            )
        live.append(broadcast(key_mask, (*lead, j)))
    return live, may_be_dead or mask is not None or key_mask is not None


def project_heads(x: Array, w: Array, heads: int, hint: str = "heads") -> Array:
    """x[n, k] · w[k, heads · d] → [heads, n, d]: the split of the last axis is a view of `w`."""
    expect_rank(x, 2, 2)
    expect_rank(w, 2, 2)
    expect_size(f"the first axis of '{w.name}'", w.shape[0], x.shape[-1])
    width = _head_width(w, heads)
    h, i, d, c = Index("h", affine(heads)), Index("i", x.shape[0]), Index("d", affine(width)), Index("c", x.shape[1])
    return te.tensor(None, (h, i, d), te.sum(c, x[i, c] * w[c, h * width + d]), x.dtype, hint=hint)


def merge_heads(x: Array, w: Array, hint: str = "merged") -> Array:
    """x[heads, n, d] · w[heads · d, k] → [n, k]."""
    expect_rank(x, 3, 3)
    expect_rank(w, 2, 2)
    width = x.shape[2].value
    if width is None:
        raise GraphError(f"the head width of '{x.name}' is symbolic", where=str(e.here()), mend="use a fixed width")
    h, i, d, c = Index("h", x.shape[0]), Index("i", x.shape[1]), Index("d", x.shape[2]), Index("c", w.shape[1])
    return te.tensor(None, (i, c), te.sum((h, d), x[h, i, d] * w[h * width + d, c]), x.dtype, hint=hint)


def _head_width(w: Array, heads: int) -> int:
    columns = w.shape[1].value
    if columns is None or not isinstance(heads, int) or heads < 1 or columns % heads:
        raise GraphError(
            f"the {w.shape[1]} columns of '{w.name}' do not split into {heads!r} heads",
            where=str(e.here()),
            mend="give a fixed number of columns that the number of heads divides",
        )
    return columns // heads


def glu(
    x: Array,
    w_gate: Array,
    w_up: Array,
    w_down: Array | None = None,
    activation: Callable[[Expression], Expression] = e.sigmoid,
    hint: str = "glu",
) -> Array:
    """activation(x w_gate) · (x w_up), then · w_down where given; x[..., k], weights [k, n], [k, n], [n, k2]."""
    gate, up = linear(x, w_gate, hint="gate"), linear(x, w_up, hint="up")
    i = tuple(Index("ijklmnop"[p], s) for p, s in enumerate(gate.shape))
    hidden = te.tensor(None, i, activation(gate[i]) * up[i], x.dtype, hint=hint)
    return hidden if w_down is None else linear(hidden, w_down, hint="down")


def swiglu(x: Array, w_gate: Array, w_up: Array, w_down: Array | None = None) -> Array:
    """silu(x w_gate) · (x w_up), then · w_down where that is given; x[..., k], weights [k, n], [k, n], [n, k2]."""
    return glu(x, w_gate, w_up, w_down, e.silu, "swiglu")


def geglu(x: Array, w_gate: Array, w_up: Array, w_down: Array | None = None) -> Array:
    """gelu(x w_gate) · (x w_up), then · w_down where that is given; x[..., k], weights [k, n], [k, n], [n, k2]."""
    return glu(x, w_gate, w_up, w_down, e.gelu, "geglu")


def mlp(
    x: Array,
    w1: Array,
    b1: Array | None,
    w2: Array,
    b2: Array | None = None,
    activation: Callable[[Expression], Expression] = e.gelu,
) -> Array:
    """activation(x w1 + b1) w2 + b2 for x[..., k], w1[k, n], w2[n, k2]."""
    hidden = linear(x, w1, b1, hint="hidden")
    i = tuple(Index("ijklmnop"[p], s) for p, s in enumerate(hidden.shape))
    return linear(te.tensor(None, i, activation(hidden[i]), x.dtype, hint="activated"), w2, b2, hint="mlp")
