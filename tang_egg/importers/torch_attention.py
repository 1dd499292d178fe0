"""Attention of ATen, as the composition that its documentation states."""

from __future__ import annotations

from typing import Any

from tang_egg import expression as e
from tang_egg.affine import Affine, affine
from tang_egg.expression import Expression
from tang_egg.importers.torch_linear import linear
from tang_egg.importers.torch_norm import normalised
from tang_egg.importers.torch_pointwise import pointwise
from tang_egg.importers.torch_reduce import folded
from tang_egg.importers.torch_table import op
from tang_egg.importers.torch_value import Out, contract, converted, known, largest, real, summed
from tang_egg.importers.torch_view import placed
from tang_egg.traced import Traced, broadcast_to, compute, fail
from tang_egg.traced_view import expand_dims, permute, reshape, sliced

NOTHING = float("-inf")


def attended(
    out: Out, q: Traced, k: Traced, v: Traced, *, mask: Traced | None = None, causal: bool = False, scale: Any = None
) -> tuple[Traced, Traced, Traced]:
    """softmax(q kᵀ · scale + mask) v, and the maximum and sum of each row; a row without a live key gives 0.

    `mask`: added, or where it is bool, true keeps a score. `causal`: query i sees the keys up to i.
    """
    kind = out.working
    width = q.extents[-1]
    factor = real(scale) if scale is not None else e.rsqrt(real(width)) if width.value is None else None
    plain = factor if factor is not None else e.constant(float(width.value or 1) ** -0.5)
    left, right = expand_dims(q, -2), expand_dims(k, -3)
    scores = contract(lambda r, a, b: summed(r, a * b) * plain, left, right, over=[-1], dtype=kind, hint="scores")
    if mask is not None:
        scores = _masked(scores, mask, kind)
    if causal:
        scores = placed(lambda s, *c: e.select(_upto(c[-1], c[-2]), s, NOTHING), scores, kind, hint="causal_scores")
    top = folded(largest, scores, [-1], kind, True, "row_max")
    parts = compute(lambda s, m: e.exp(s - m), scores, top, dtype=kind, hint="weights")
    total = folded(summed, parts, [-1], kind, True, "row_sum")
    columns = expand_dims(permute(v, [*range(v.ndim - 2), v.ndim - 1, v.ndim - 2]), -3)
    rows = [expand_dims(x, -2) for x in (parts, total, top)]
    dead = mask is not None

    def average(r: Any, p: Expression, t: Expression, m: Expression, c: Expression) -> Expression:
        found = summed(r, p / t * c)
        return e.select(e.eq(m, NOTHING), 0.0, found) if dead else found

    return contract(average, *rows, columns, over=[-1], dtype=out.dtype, hint="attention"), top, total


def _upto(j: Any, i: Any) -> Any:
    return j <= i if isinstance(j, Affine) and isinstance(i, Affine) else e.value(j) <= e.value(i)


def _masked(scores: Traced, mask: Traced, kind: str) -> Traced:
    if mask.dtype == "bool":
        return compute(lambda s, m: e.select(m, s, NOTHING), scores, mask, dtype=kind, hint="masked_scores")
    return compute(lambda s, m: s + m, scores, converted(mask, kind), dtype=kind, hint="masked_scores")


def _repeated(x: Traced, heads: Affine) -> Traced:
    """Key or value heads, each for as many query heads as share it."""
    if x.extents[-3] is heads:
        return x
    times = known(heads, "the number of heads") // known(x.extents[-3], "the number of heads")
    wide = expand_dims(x, -3)
    shape = [*x.extents[:-2], affine(times), *x.extents[-2:]]
    return reshape(broadcast_to(wide, shape), [*x.extents[:-3], heads, *x.extents[-2:]])


@op("scaled_dot_product_attention")
def _sdpa(
    out: Out, q: Traced, k: Traced, v: Traced, mask: Traced | None = None, dropout: float = 0.0, causal: bool = False,
    *, scale: Any = None, enable_gqa: bool = False,
) -> Traced:  # fmt: skip
    if dropout:
        raise fail("dropout inside attention draws random numbers", "set its probability to 0 for inference")
    if enable_gqa:
        k, v = _repeated(k, q.extents[-3]), _repeated(v, q.extents[-3])
    return attended(out, q, k, v, mask=mask, causal=causal, scale=scale)[0]


@op("_scaled_dot_product_flash_attention_for_cpu")
def _flash(
    out: Out, q: Traced, k: Traced, v: Traced, dropout: float = 0.0, causal: bool = False, *,
    attn_mask: Traced | None = None, scale: Any = None,
) -> tuple[Traced, Traced]:  # fmt: skip
    if dropout:
        raise fail("dropout inside attention draws random numbers", "set its probability to 0 for inference")
    y, top, total = attended(out, q, k, v, mask=attn_mask, causal=causal, scale=scale)
    lse = compute(lambda m, s: m + e.log(s), top, total, dtype=out.dtypes[1], hint="log_sum")
    return y, reshape(lse, lse.extents[:-1])


def _heads(x: Traced, heads: int) -> Traced:
    """[b, n, heads · d] → [b, heads, n, d]."""
    width = known(x.extents[-1], "the width of the heads") // heads
    return permute(reshape(x, [*x.extents[:-1], affine(heads), affine(width)]), [0, 2, 1, 3])


def _self_attention(
    out: Out, x: Traced, heads: int, w: Traced, b: Traced, w_out: Traced, b_out: Traced, mask: Traced | None
) -> Traced:
    width = x.extents[-1]
    joined = linear(out, x, w, b)
    q, k, v = (_heads(sliced(joined, -1, width * n, width), heads) for n in range(3))
    y = attended(out, q, k, v, mask=mask)[0]
    return linear(out, reshape(permute(y, [0, 2, 1, 3]), x.extents), w_out, b_out)


@op("_transformer_encoder_layer_fwd")
def _encoder_layer(
    out: Out, x: Traced, width: Any, heads: int, w: Traced, b: Traced, w_out: Traced, b_out: Traced, gelu: bool,
    first: bool, eps: float, gain1: Traced, bias1: Traced, gain2: Traced, bias2: Traced, w1: Traced, b1: Traced,
    w2: Traced, b2: Traced, mask: Traced | None = None, mask_type: int | None = None,
) -> Traced:  # fmt: skip
    keep = _keep(mask, mask_type)

    def norm(y: Traced, gain: Traced, bias: Traced) -> Traced:
        return normalised(y, [-1], gain, bias, float(eps), out.dtype, out.working)[0]

    def plus(a: Traced, y: Traced) -> Traced:
        return pointwise(lambda p, q: p + q, out, a, y)

    def fed(y: Traced) -> Traced:
        hidden = linear(out, y, w1, b1)
        active = pointwise(e.gelu if gelu else lambda a: e.maximum(a, 0.0), out, hidden)
        return linear(out, active, w2, b2)

    if first:
        x = plus(x, _self_attention(out, norm(x, gain1, bias1), heads, w, b, w_out, b_out, keep))
        return plus(x, fed(norm(x, gain2, bias2)))
    x = norm(plus(x, _self_attention(out, x, heads, w, b, w_out, b_out, keep)), gain1, bias1)
    return norm(plus(x, fed(x)), gain2, bias2)


def _keep(mask: Traced | None, mask_type: int | None) -> Traced | None:
    """A mask that is true where a score is dropped, as one that is true where it is kept."""
    if mask is None:
        return None
    if mask.dtype != "bool" or mask_type not in (0, 1):
        raise fail(f"a mask of kind {mask_type}", "give one bool mask, over [n, n] or over [b, n]")
    kept = compute(lambda m: ~m, mask, dtype="bool", hint="kept")
    return kept if mask_type == 0 else expand_dims(expand_dims(kept, 1), 1)


@op("_native_multi_head_attention")
def _multi_head(
    out: Out, q: Traced, k: Traced, v: Traced, width: Any, heads: int, w: Traced, b: Traced, w_out: Traced,
    b_out: Traced, mask: Traced | None = None, need_weights: bool = True, average: bool = True,
    mask_type: int | None = None,
) -> tuple[Traced, None]:  # fmt: skip
    if need_weights or q is not k or k is not v:
        raise fail("attention over different tensors, or whose weights are asked for", "use need_weights=False")
    return _self_attention(out, q, heads, w, b, w_out, b_out, _keep(mask, mask_type)), None
