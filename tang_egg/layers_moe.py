"""Mixtures of experts: a router picks a few experts for each row, and their outputs are summed by its weights."""

from __future__ import annotations

from collections.abc import Callable

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg.affine import Affine, Index
from tang_egg.errors import GraphError
from tang_egg.expression import Expression, here
from tang_egg.library import expect_rank, expect_size, softmax, working_type
from tang_egg.library_sort import top_k
from tang_egg.notation import Array

FORMS = ("gather", "dense")


def route(logits: Array, k: int, *, renormalise: bool = True) -> tuple[Array, Array]:
    """The weights [n, k] and experts i64 [n, k] of the `k` largest of logits[n, x], best first.

    Weights are softmax(logits), divided by the sum of the k where `renormalise`. Ties go to the lower expert.
    """
    expect_rank(logits, 2, 2)
    best, chosen = top_k(logits, k)
    if renormalise:
        return softmax(best), chosen
    n, r = Index("n", logits.shape[0]), Index("r", best.shape[1])
    x = Index("x", logits.shape[1])
    kind = working_type(logits)
    m = te.tensor(None, n, te.max(x, logits[n, x]), kind, hint="route_max")
    total = te.tensor(None, n, te.sum(x, e.exp(logits[n, x] - m[n])), kind, hint="route_sum")
    share = e.exp(best[n, r] - m[n]) / total[n]
    return te.tensor(None, (n, r), share, logits.dtype, hint="route"), chosen


def moe(
    x: Array,
    logits: Array,
    w_up: Array,
    w_down: Array,
    k: int,
    *,
    w_gate: Array | None = None,
    activation: Callable[[Expression], Expression] = e.silu,
    renormalise: bool = True,
    form: str = "gather",
) -> Array:
    """Σ over the k experts x of row n: weight[n, x] · expert_x(x[n]), for x[n, d], logits[n, X], w_up[X, d, h],
    w_down[X, h, o] → [n, o].

    An expert is activation(x w_gate) · (x w_up) · w_down with w_gate[X, d, h], or activation(x w_up) · w_down without.
    Weights are those of `route`. `form`: "gather" works on the chosen experts only and reads their weights by number;
    "dense" works on all experts with weight 0 for the others, which suits many rows.
    """
    if form not in FORMS:
        raise GraphError(f"unknown form {form!r}", where=str(here()), mend=f"use one of {', '.join(FORMS)}")
    _expect_experts(x, logits, w_up, w_down, w_gate)
    weights, chosen = route(logits, k, renormalise=renormalise)
    if form == "gather":
        return _gathered(x, weights, chosen, w_up, w_down, w_gate, activation)
    return _dense(x, weights, chosen, w_up, w_down, w_gate, activation)


def _gathered(
    x: Array,
    weights: Array,
    chosen: Array,
    w_up: Array,
    w_down: Array,
    w_gate: Array | None,
    activation: Callable[[Expression], Expression],
) -> Array:
    n, r = Index("n", x.shape[0]), Index("r", weights.shape[1])
    expert = chosen[n, r]
    hidden = _hidden(x, (n, r), n, expert, w_up, w_gate, activation)
    h, o = Index("h", w_down.shape[1]), Index("o", w_down.shape[2])
    out = te.tensor(None, (n, r, o), te.sum(h, hidden[n, r, h] * w_down[expert, h, o]), x.dtype, hint="expert_out")
    return te.tensor(None, (n, o), te.sum(r, weights[n, r] * out[n, r, o]), x.dtype, hint="moe")


def _dense(
    x: Array,
    weights: Array,
    chosen: Array,
    w_up: Array,
    w_down: Array,
    w_gate: Array | None,
    activation: Callable[[Expression], Expression],
) -> Array:
    n, r, k = Index("n", x.shape[0]), Index("x", w_up.shape[0]), Index("r", weights.shape[1])
    gate = te.sum(k, weights[n, k], where=e.eq(chosen[n, k], e.value(r)))
    gates = te.tensor(None, (n, r), gate, working_type(x), hint="gates")
    hidden = _hidden(x, (n, r), n, r, w_up, w_gate, activation)
    h, o = Index("h", w_down.shape[1]), Index("o", w_down.shape[2])
    body = te.sum((r, h), gates[n, r] * hidden[n, r, h] * w_down[r, h, o])
    return te.tensor(None, (n, o), body, x.dtype, hint="moe")


def _hidden(
    x: Array,
    rows: tuple[Index, Index],
    n: Index,
    expert: Index | Expression,
    w_up: Array,
    w_gate: Array | None,
    activation: Callable[[Expression], Expression],
) -> Array:
    """What the experts of `rows` hand to their second product."""
    d, h = Index("d", x.shape[1]), Index("h", w_up.shape[2])
    at = (*rows, h)
    up = te.tensor(None, at, te.sum(d, x[n, d] * w_up[expert, d, h]), x.dtype, hint="up")
    if w_gate is None:
        return te.tensor(None, at, activation(up[at]), x.dtype, hint="hidden")
    gate = te.tensor(None, at, te.sum(d, x[n, d] * w_gate[expert, d, h]), x.dtype, hint="gate")
    return te.tensor(None, at, activation(gate[at]) * up[at], x.dtype, hint="hidden")


def _expect_experts(x: Array, logits: Array, w_up: Array, w_down: Array, w_gate: Array | None) -> None:
    expect_rank(x, 2, 2)
    expect_rank(logits, 2, 2)
    expect_size(f"the first axis of '{logits.name}'", logits.shape[0], x.shape[0])
    experts = logits.shape[1]
    hidden: Affine | None = None
    for w in (w_up, w_down) if w_gate is None else (w_up, w_gate, w_down):
        expect_rank(w, 3, 3)
        expect_size(f"the axis of experts of '{w.name}'", w.shape[0], experts)
        if w is w_down:
            expect_size(f"the middle axis of '{w.name}'", w.shape[1], w_up.shape[2])
            continue
        expect_size(f"the middle axis of '{w.name}'", w.shape[1], x.shape[1])
        if hidden is not None:
            expect_size(f"the last axis of '{w.name}'", w.shape[2], hidden)
        hidden = w.shape[2]
