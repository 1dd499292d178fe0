"""Field cases of element types, gradients, rewrites and code generation."""

from __future__ import annotations

import numpy as np

from tests.field_case import (
    AUTODIFF,
    CODEGEN,
    F32,
    I32,
    I64,
    INF,
    NAN,
    REWRITES,
    TYPES,
    Array,
    Arrays,
    Real,
    bf16,
    case,
    grid,
    layer_norm,
    normal,
    rng,
    softmax_rows,
    wide,
)


@case(
    "bf16_roundtrip_cast",
    TYPES,
    rtol=1e-5,
    atol={"out": 1e-5},
    notes="y compared exactly: atol 0, and its low 16 bits are zero",
)
class _:
    def inputs() -> Arrays:
        return normal("brc", x=(32, 64))

    def reference(x: Arrays) -> Arrays:
        y = wide(bf16(x["x"]))
        return {"out": (y / (1 + np.exp(-y))).sum(1), "y": y, "y_lowbits": np.zeros((32, 64), I64)}

    def wrong(x: Arrays) -> Arrays:
        y = wide(x["x"])
        return {
            "out": (y / (1 + np.exp(-y))).sum(1),
            "y": y,
            "y_lowbits": (x["x"].view(np.uint32) & 0xFFFF).astype(I64),
        }


@case("bool_add", TYPES, notes="numpy/torch: bool+bool is OR, int result needs a cast first")
class _:
    def inputs() -> Arrays:
        return {"a": np.array([0, 0, 1, 1], bool), "b": np.array([0, 1, 0, 1], bool)}

    def reference(x: Arrays) -> Arrays:
        return {
            "add": np.array([0, 1, 1, 1], I64),
            "mul": np.array([0, 0, 0, 1], I64),
            "iadd": np.array([0, 1, 1, 2], I64),
        }

    def wrong(x: Arrays) -> Arrays:
        return {"add": x["a"] ^ x["b"], "mul": x["a"] & x["b"], "iadd": (x["a"] ^ x["b"]).astype(I64)}


@case(
    "floor_div_float",
    TYPES,
    rtol=0,
    notes="fmod-based floor division as in Python; reference computed in each input's own dtype",
)
class _:
    def inputs() -> Arrays:
        a = [1, 0.5, 6, 1, -1, 5, -7.5]
        b = [0.1, 0.1, 0.2, 1 / 3, 0.1, -0.3, 2]
        return {"a64": np.array(a), "b64": np.array(b), "a32": np.array(a, F32), "b32": np.array(b, F32)}

    def reference(x: Arrays) -> Arrays:
        return {"q64": wide(np.floor_divide(x["a64"], x["b64"])), "q32": wide(np.floor_divide(x["a32"], x["b32"]))}

    def wrong(x: Arrays) -> Arrays:
        return {"q64": np.floor(x["a64"] / x["b64"]), "q32": np.floor(x["a32"] / x["b32"])}


@case("int_div_mod_negative", TYPES, notes="floored; remainder has the divisor's sign")
class _:
    def inputs() -> Arrays:
        i, j = grid(16, 16)
        return {"a": (i - j).astype(I32), "n": np.array([3, -3, 4], I32)}

    def reference(x: Arrays) -> Arrays:
        a, n = x["a"].astype(I64)[None], x["n"].astype(I64)[:, None, None]
        return {"q": np.floor_divide(a, n), "r": np.mod(a, n)}

    def wrong(x: Arrays) -> Arrays:
        a, n = x["a"][None], x["n"][:, None, None]
        return {"q": np.trunc(a / n).astype(I64), "r": np.fmod(a, n).astype(I64)}


@case("int_min_div_minus1", TYPES, notes="wraps; must not trap. Quotient is floored")
class _:
    def inputs() -> Arrays:
        return {"a": np.array([-2147483648, -2147483648, 7], I32), "b": np.array([-1, 1, -1], I32)}

    def reference(x: Arrays) -> Arrays:
        return {"q": np.array([-2147483648, -2147483648, -7], I64)}

    def good(x: Arrays) -> Arrays:
        q = x["a"].astype(I64) // x["b"].astype(I64)
        return {"q": q.astype(I32).astype(I64)}


@case("tail_lane_zero_divisor", TYPES, notes="vector padding lanes must not divide by zero")
class _:
    def inputs() -> Arrays:
        return {"a": np.arange(6, dtype=I64).reshape(2, 3), "n": np.array([16, 16, 16], I64)}

    def reference(x: Arrays) -> Arrays:
        return {"r": np.arange(6, dtype=I64).reshape(2, 3)}


@case("fmod_large_ratio", TYPES, rtol=0, notes="exact in f32; subnormal results need denormal support")
class _:
    def inputs() -> Arrays:
        return {
            "a": np.array([1e10, 65504, 3.4e38, -5.5, 7.25], F32),
            "b": np.array([1e-20, 6e-8, 1.4e-45, 2.5, -2.5], F32),
        }

    def reference(x: Arrays) -> Arrays:
        return {"fmod": wide(np.fmod(x["a"], x["b"])), "remainder": wide(np.remainder(x["a"], x["b"]))}

    def wrong(x: Arrays) -> Arrays:
        a, b = x["a"], x["b"]
        return {"fmod": a - np.trunc(a / b) * b, "remainder": a - np.floor(a / b) * b}


@case(
    "compiled_max_equality_mask",
    AUTODIFF,
    rtol=1e-6,
    notes="every window has a true entry; gradients sum to one per window",
)
class _:
    def inputs() -> Arrays:
        return {"x": rng("cme").uniform(size=(5, 4, 2, 4, 2, 6)).astype(F32)}

    def reference(x: Arrays) -> Arrays:
        m = x["x"] == x["x"].max((2, 4), keepdims=True)
        return {"mask": m.astype(I64), "grad": m / m.sum((2, 4), keepdims=True), "winsum": np.ones((5, 4, 4, 6))}


@case("where_sqrt_grad", AUTODIFF, rtol=1e-6, notes="adjoint selects, it does not multiply by zero")
class _:
    def inputs() -> Arrays:
        return {"x": np.array([0, 1e-9, 0.25, 1, 4], F32)}

    def reference(x: Arrays) -> Arrays:
        a = wide(x["x"])
        return {"y": np.where(a < 1, a, np.sqrt(a)), "grad": np.where(a < 1, 1.0, 0.5 / np.sqrt(np.where(a < 1, 1, a)))}

    def wrong(x: Arrays) -> Arrays:
        a = wide(x["x"])
        return {"y": np.where(a < 1, a, np.sqrt(a)), "grad": (a < 1) * 1.0 + (a >= 1) * (0.5 / np.sqrt(a))}


@case("norm_where_grad", AUTODIFF, rtol=1e-6, notes="zero row has zero gradient")
class _:
    def inputs() -> Arrays:
        return {"x": np.array([[1, 2], [3, 4], [0, 0]], F32)}

    def reference(x: Arrays) -> Arrays:
        a = wide(x["x"])
        n = np.sqrt((a * a).sum(1, keepdims=True))
        return {"grad": np.where(n > 0.5, a / np.where(n > 0.5, n, 1), 0.0)}

    def wrong(x: Arrays) -> Arrays:
        a = wide(x["x"])
        n = np.sqrt((a * a).sum(1, keepdims=True))
        return {"grad": (n > 0.5) * (0.5 / n) * 2 * a}


@case(
    "squared_norm_grad_zero",
    AUTODIFF,
    rtol=1e-6,
    notes="value of the rewritten form sum(x^2); unrewritten chain gives NaN at 0",
)
class _:
    def inputs() -> Arrays:
        return {"a": np.zeros(3, F32), "b": np.array([3, 4, 0], F32)}

    def reference(x: Arrays) -> Arrays:
        return {k: 2 * wide(v) for k, v in x.items()}


@case(
    "std_grad_constant",
    AUTODIFF,
    rtol=1e-6,
    atol=1e-7,
    notes="sqrt(var + 1e-5) form: finite, exactly 0 on a constant vector",
)
class _:
    def inputs() -> Arrays:
        return {"a": np.array([1, 1], F32), "b": np.array([1, 2, 4], F32)}

    def reference(x: Arrays) -> Arrays:
        o = {}
        for k, v in x.items():
            c = wide(v) - wide(v).mean()
            o[k] = c / (c.size * np.sqrt((c * c).mean() + 1e-5))
        return o


@case(
    "xent_all_ignored",
    AUTODIFF,
    rtol=1e-5,
    atol=1e-7,
    nonfinite=("loss_none",),
    notes="-100 is never an address; gradient zero when nothing is valid",
)
class _:
    def inputs() -> Arrays:
        return {
            "x": normal("xai", x=(3, 7))["x"],
            "t_none": np.array([-100] * 3, I64),
            "t_mix": np.array([2, -100, 6], I64),
        }

    def reference(x: Arrays) -> Arrays:
        def f(t: Array) -> tuple[float, Real]:
            a = wide(x["x"])
            p = softmax_rows(a)
            ok = t != -100
            g = np.zeros_like(p)
            g[ok] = p[ok]
            g[np.flatnonzero(ok), t[ok]] -= 1
            lse = np.logaddexp.reduce(a, -1)
            n = ok.sum()
            return (lse[ok] - a[np.flatnonzero(ok), t[ok]]).sum() / n if n else NAN, g / max(n, 1)

        (l0, g0), (l1, g1) = f(x["t_none"]), f(x["t_mix"])
        return {"loss_none": np.array(l0), "grad_none": g0, "loss_mix": np.array(l1), "grad_mix": g1}


@case(
    "rewrite_sqrt_square",
    REWRITES,
    rtol=1e-6,
    nonfinite=("strict",),
    notes="strict f32 stepwise value; |x| is the real-arithmetic rewrite",
)
class _:
    def inputs() -> Arrays:
        return {"x": np.array([3.4028235e38, 1e20, 1e-30, -3, 0], F32)}

    def reference(x: Arrays) -> Arrays:
        return {"strict": np.array([INF, INF, 0, 3, 0])}

    def good(x: Arrays) -> Arrays:
        return {"strict": np.sqrt(np.abs(np.square(x["x"])))}

    def wrong(x: Arrays) -> Arrays:
        return {"strict": np.abs(x["x"])}


@case(
    "rewrite_self_cancel",
    REWRITES,
    rtol=0,
    notes="2-D cross of x with itself: exactly 0 when both products are rounded alike",
)
class _:
    def inputs() -> Arrays:
        return {"x": np.array([[0.1, 0.9], [0.3, 0.7]], F32)}

    def reference(x: Arrays) -> Arrays:
        return {"c": np.zeros(2)}

    def good(x: Arrays) -> Arrays:
        a, b = x["x"].T
        return {"c": a * b - b * a}

    def wrong(x: Arrays) -> Arrays:
        a, b = x["x"].T
        return {"c": wide(a) * wide(b) - wide(b * a)}


@case(
    "lnfusion_gamma_broadcast",
    REWRITES,
    rtol=1e-5,
    atol=1e-5,
    notes="unfused broadcasting semantics for every gamma shape, also an enlarging one",
)
class _:
    def inputs() -> Arrays:
        return normal("lgb", x=(2, 3, 4), g1=(1,), g31=(3, 1), gfull=(2, 3, 4), g4=(4,), beta=(4,), x11=(1, 1), g2=(2,))

    def reference(x: Arrays) -> Arrays:
        n = layer_norm(x["x"])
        o = {k: n * wide(x[k]) + wide(x["beta"]) for k in ("g1", "g31", "gfull", "g4")}
        return dict(o, enlarged=layer_norm(x["x11"]) * wide(x["g2"]))


@case("index_floormod_ramp", REWRITES, notes="lanes may wrap; moving the ramp out of the modulo needs a range proof")
class _:
    def inputs() -> Arrays:
        return {
            "base": (50 * np.arange(8)[:, None] + 8 * np.arange(3)[None]).astype(I64),
            "lane": np.arange(8, dtype=I64),
        }

    def reference(x: Arrays) -> Arrays:
        return {"idx": (x["base"][..., None] + x["lane"]) % 20}

    def wrong(x: Arrays) -> Arrays:
        return {"idx": x["base"][..., None] % 20 + x["lane"]}


@case("index_mod_common_factor", REWRITES, notes="(c1*x) mod (c2*x) = x*(c1 mod c2), x != 0")
class _:
    def inputs() -> Arrays:
        x = np.r_[-9:0, 1:10].astype(I64)
        return {"x": x, "c1": np.array([64, 7], I64), "c2": np.array([31, -3], I64)}

    def reference(x: Arrays) -> Arrays:
        return {"r": (x["c1"][:, None] * x["x"]) % (x["c2"][:, None] * x["x"])}

    def good(x: Arrays) -> Arrays:
        return {"r": x["x"] * (x["c1"] % x["c2"])[:, None]}

    def wrong(x: Arrays) -> Arrays:
        return {"r": np.broadcast_to((x["c1"] % x["c2"])[:, None], (2, 18))}


@case(
    "nan_inf_literals",
    CODEGEN,
    rtol=0,
    nonfinite=("neginf_fill", "plus_nan"),
    notes="constants NaN/-inf inside the kernel; WGSL cannot spell them",
)
class _:
    def inputs() -> Arrays:
        return {"x": np.array([-2, -1, 0, 1, 2, NAN, INF, -INF], F32)}

    def reference(x: Arrays) -> Arrays:
        a = wide(x["x"])
        return {
            "neginf_fill": np.where(a > 0, a, -INF),
            "nan_to_zero": np.clip(np.where(np.isnan(a), 0, a), -3, 3),
            "plus_nan": a + NAN,
        }


NAMES = (
    "storage",
    "new",
    "kernel",
    "tanh",
    "float",
    "workgroup",
    "half",
    "sample",
    "main",
    "__x",
    "_",
    "NaNf",
    "x__",
    "gid",
)


@case("identifier_keyword", CODEGEN, rtol=1e-6, notes="input names are reserved words of some target; y = tanh(sum)")
class _:
    def inputs() -> Arrays:
        return normal("idk", **dict.fromkeys(NAMES, (3,)))

    def reference(x: Arrays) -> Arrays:
        return {"storage_": np.tanh(sum(wide(v) for v in x.values()))}


@case("grid_y_limit", CODEGEN, rtol=1e-6, notes="65538 batches: check the last element; a y/z grid stops at 65535")
class _:
    def inputs() -> Arrays:
        return normal("gyl", x=(65538, 2, 3))

    def reference(x: Arrays) -> Arrays:
        a = 2 * wide(x["x"]) + 1
        return {"out": a, "red": wide(x["x"]).max(-1)}
