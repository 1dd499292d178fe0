"""Field cases of folds: norms, half precision, NaN, ties, empty axes, sizes known at run time, scans."""

from __future__ import annotations

import numpy as np

from tests.field_case import (
    F16,
    F32,
    I32,
    I64,
    INF,
    NAN,
    REDUCTIONS,
    SCANS,
    SHAPES,
    Array,
    Arrays,
    Real,
    case,
    layer_norm,
    normal,
    rng,
    wide,
)


def _one_pass(x: Array, eps: float = 1e-5) -> Array:
    x = x.astype(F32)
    mu = x.mean(-1, keepdims=True, dtype=F32)
    var = (x * x).mean(-1, keepdims=True, dtype=F32) - mu * mu
    return (x - mu) / np.sqrt(var + F32(eps))


@case(
    "layernorm_constant_row",
    REDUCTIONS,
    rtol=0,
    atol=2e-3,
    notes="constant row gives exactly 0; the other row is +-1.3416, +-0.4472",
)
class _:
    def inputs() -> Arrays:
        return {
            "c": np.full((1, 256), 1234.0, F32),
            "x": np.array([[40000, 40001, 40002, 40003]], F32),
            "w": np.concatenate([np.full(10239, 256.0), [255.0]]).astype(F32)[None],
        }

    def reference(x: Arrays) -> Arrays:
        return {"c": np.zeros((1, 256)), "x": layer_norm(x["x"]), "w": layer_norm(x["w"])}

    def good(x: Arrays) -> Arrays:
        return {k: layer_norm(a, kind=F32) for k, a in x.items()}

    def wrong(x: Arrays) -> Arrays:
        return {k: _one_pass(a) for k, a in x.items()}


@case("fp16_mean_overflow", REDUCTIONS, rtol=1e-3, notes="result dtype f16; sum and count exceed f16 range")
class _:
    def inputs() -> Arrays:
        return {"ones": np.ones(65520, F16), "x": rng("fmo").uniform(20, 40, 4096).astype(F16)}

    def reference(x: Arrays) -> Arrays:
        return {k: np.array(wide(a).mean()) for k, a in x.items()}

    def wrong(x: Arrays) -> Arrays:
        return {k: a.sum(dtype=F16) / F16(min(a.size, 65504)) for k, a in x.items()}


@case("fp16_sum_cancel", REDUCTIONS, rtol=0, notes="exact 0; a partial kept in f16 is inf")
class _:
    def inputs() -> Arrays:
        a = np.array([32000] * 4 + [-32000] * 4, F16)
        return {"a": a, "b": np.tile(a, (3, 1))}

    def reference(x: Arrays) -> Arrays:
        return {"a": np.array(0.0), "b": np.zeros(3)}

    def wrong(x: Arrays) -> Arrays:
        return {k: np.add.accumulate(v, axis=-1, dtype=F16)[..., -1] for k, v in x.items()}


@case("fp16_softmax_denominator_stall", REDUCTIONS, rtol=1e-3, notes="f16 running sum sticks at 2048")
class _:
    def inputs() -> Arrays:
        return {"x": np.zeros((1, 4096), F16), "ones": np.ones(8192, F16)}

    def reference(x: Arrays) -> Arrays:
        return {"p": np.full((1, 4096), 1 / 4096), "total": np.array(8192.0)}

    def wrong(x: Arrays) -> Arrays:
        t = np.add.accumulate(np.exp(x["x"]), axis=-1, dtype=F16)[..., -1:]
        return {"p": np.exp(x["x"]) / t, "total": np.add.accumulate(x["ones"], dtype=F16)[-1]}


@case("nan_propagating_argmax", REDUCTIONS, notes="numpy: first NaN wins, else first maximum")
class _:
    def inputs() -> Arrays:
        x = rng("npa").standard_normal((4, 9)).astype(F32)
        x[0, [0, 1, 4, 5]] = NAN
        x[1] = NAN
        x[2, 8] = NAN
        return {"x": x}

    def reference(x: Arrays) -> Arrays:
        return {"argmax": np.argmax(x["x"], -1).astype(I64), "argmin": np.argmin(x["x"], -1).astype(I64)}

    def wrong(x: Arrays) -> Arrays:
        a = np.where(np.isnan(x["x"]), -INF, x["x"])
        b = np.where(np.isnan(x["x"]), INF, x["x"])
        return {"argmax": np.argmax(a, -1), "argmin": np.argmin(b, -1)}


@case("argmax_first_tie", REDUCTIONS, notes="first index on ties, both axes")
class _:
    def inputs() -> Arrays:
        return {"x": rng("aft").integers(1, 5, (300, 10)).astype(I32)}

    def reference(x: Arrays) -> Arrays:
        return {f"{f.__name__}{ax}": f(x["x"], ax).astype(I64) for f in (np.argmax, np.argmin) for ax in (0, 1)}

    def wrong(x: Arrays) -> Arrays:
        n = x["x"].shape
        return {
            f"{f.__name__}{ax}": n[ax] - 1 - f(np.flip(x["x"], ax), ax) for f in (np.argmax, np.argmin) for ax in (0, 1)
        }


@case("topk_tie_lower_index", REDUCTIONS, notes="descending, ties by lower index")
class _:
    def inputs() -> Arrays:
        return {"a": np.array([[0, 1, 2, 2]], I32), "b": rng("ttl").integers(0, 6, (50, 37)).astype(I32)}

    def reference(x: Arrays) -> Arrays:
        def top(a: Array, k: int) -> tuple[Array, Array]:
            i = np.argsort(-a.astype(I64), -1, kind="stable")[:, :k]
            return np.take_along_axis(a, i, -1).astype(I64), i.astype(I64)

        (v1, i1), (v3, i3), (vb, ib) = top(x["a"], 1), top(x["a"], 3), top(x["b"], 7)
        return {"v1": v1, "i1": i1, "v3": v3, "i3": i3, "vb": vb, "ib": ib}


@case("empty_contraction", SHAPES, notes="the identity has to be written")
class _:
    def inputs() -> Arrays:
        def z(*s):
            return np.zeros(s, F32)

        return {"a": z(3, 0), "b": z(0, 4), "u": z(0), "w": z(0), "p": z(2, 3, 0), "q": z(2, 0, 5)}

    def reference(x: Arrays) -> Arrays:
        return {"ab": np.zeros((3, 4)), "uw": np.array(0.0), "pq": np.zeros((2, 3, 5))}


@case("dynamic_view_broadcast", SHAPES, rtol=1e-6, notes="one compiled artefact for (n,m) in (4,8),(8,8),(8,4)")
class _:
    def inputs() -> Arrays:
        return normal("dvb", x4=(4,), x8=(8,), y4=(4,), y8=(8,))

    def reference(x: Arrays) -> Arrays:
        v = {k: wide(a).reshape(-1, 4) for k, a in x.items()}
        return {"a": v["x4"] * v["y8"], "b": v["x8"] * v["y8"], "c": v["x8"] * v["y4"]}


def _ema(a: Array, b: Array) -> Real:
    a, b = wide(a), wide(b)
    n = a.shape[-1]
    h, out = np.zeros(a.shape[:-1]), np.zeros_like(b)
    for t in range(n):
        h = a[..., t] * h + b[..., t]
        out[..., t] = h
    return out


@case("scan_noncommutative_ema", SCANS, rtol=1e-4, atol=1e-5, notes="combine((a1,b1),(a2,b2))=(a1*a2, a2*b1+b2); h0=b0")
class _:
    def inputs() -> Arrays:
        g = rng("sne")
        return {"a": g.uniform(0.5, 1, (3, 200)).astype(F32), "b": g.standard_normal((3, 200)).astype(F32)}

    def reference(x: Arrays) -> Arrays:
        return {"h": _ema(x["a"], x["b"])}

    def wrong(x: Arrays) -> Arrays:
        a, b = wide(x["a"]), wide(x["b"])
        out = _ema(a, b)
        for s in range(64, 200, 64):
            e = min(s + 64, 200)
            loc = _ema(a[:, s:e], b[:, s:e])
            out[:, s:e] = out[:, s - 1 : s] + np.cumprod(a[:, :s], 1)[:, -1:] * loc
        return {"h": out}


@case("cummax_nan", SCANS, nonfinite=("a", "b"), rtol=0, notes="NaN absorbs everything after it")
class _:
    def inputs() -> Arrays:
        b = rng("cmn").standard_normal((2, 300)).astype(F32)
        b[0, 0] = b[1, 150] = NAN
        return {"a": np.array([1, 3, NAN, 5, 4], F32), "b": b}

    def reference(x: Arrays) -> Arrays:
        return {k: np.maximum.accumulate(wide(v), -1) for k, v in x.items()}

    def wrong(x: Arrays) -> Arrays:
        return {k: np.fmax.accumulate(wide(v), -1) for k, v in x.items()}
