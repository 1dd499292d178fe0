"""Field cases of views, windows and gathers."""

from __future__ import annotations

import numpy as np

from tests.field_case import F16, F32, GATHERS, I64, VIEWS, Arrays, case, normal, rng, wide


@case("pad_reshape_unpad", VIEWS, rtol=0, notes="validity masks must survive reshape and a second pad")
class _:
    def inputs() -> Arrays:
        return {"x": np.arange(1, 51, dtype=F32).reshape(2, 5, 5)}

    def reference(x: Arrays) -> Arrays:
        a = np.pad(wide(x["x"]), ((2, 0), (0, 0), (0, 0))).reshape(2, 2, 5, 5).reshape(4, 5, 5)
        b = np.pad(a, ((1, 1), (0, 0), (0, 0))).transpose(1, 2, 0)
        c = np.pad(wide(x["x"]), ((0, 0), (2, 2), (0, 0))).reshape(6, 3, 5)[::-1, 1:, ::2]
        return {"a": a, "b": b, "c": c, "back": a[2:]}


@case("as_strided_absolute", VIEWS, rtol=0, notes="strides override rather than compose")
class _:
    def inputs() -> Arrays:
        return {"a": np.arange(8, dtype=F32).reshape(2, 4)}

    def reference(x: Arrays) -> Arrays:
        a = wide(x["a"]).copy()
        a.reshape(-1)[:2] += 1
        return {"a": a}

    def wrong(x: Arrays) -> Arrays:
        a = wide(x["a"]).copy()
        a[[0, 1], [0, 1]] += 1
        return {"a": a}


@case("inplace_flip_add", VIEWS, rtol=1e-6, notes="functional value; result is symmetric under flip")
class _:
    def inputs() -> Arrays:
        return normal("ifa", a=(9, 7), b=(257, 33))

    def reference(x: Arrays) -> Arrays:
        return {k: wide(v) + wide(v)[::-1] for k, v in x.items()}

    def wrong(x: Arrays) -> Arrays:
        o = {}
        for k, v in x.items():
            v = wide(v).copy()
            for r in range(len(v)):
                v[r] += v[len(v) - 1 - r]
            o[k] = v
        return o


@case("inplace_shift", VIEWS, rtol=0, notes="row i takes old row i-1")
class _:
    def inputs() -> Arrays:
        return normal("ish", a=(5, 4), b=(300, 40))

    def reference(x: Arrays) -> Arrays:
        return {k: np.concatenate([wide(v)[:1], wide(v)[:-1]]) for k, v in x.items()}

    def wrong(x: Arrays) -> Arrays:
        return {k: np.repeat(wide(v)[:1], len(v), 0) for k, v in x.items()}


@case("unfold_gap_writeback", VIEWS, notes="uncovered elements keep their value")
class _:
    def inputs() -> Arrays:
        return {"x": np.arange(1, 25, dtype=I64).reshape(4, 6)}

    def reference(x: Arrays) -> Arrays:
        o = x["x"].copy()
        o[:, [0, 5]] *= 2
        return {"out": o}

    def wrong(x: Arrays) -> Arrays:
        o = np.zeros_like(x["x"])
        o[:, [0, 5]] = 2 * x["x"][:, [0, 5]]
        return {"out": o}


@case("state_ring_update", VIEWS, rtol=0, notes="new state must be computed from the whole old state")
class _:
    def inputs() -> Arrays:
        return normal("sru", state=(2, 64, 3), new=(2, 2, 3))

    def reference(x: Arrays) -> Arrays:
        return {"state": np.concatenate([wide(x["state"]), wide(x["new"])], 1)[:, -64:]}

    def wrong(x: Arrays) -> Arrays:
        s = wide(x["state"]).copy()
        for t in range(63, -1, -1):
            s[:, t] = s[:, t + 2] if t + 2 < 64 else wide(x["new"])[:, t - 62]
        return {"state": s}


def _pool_out(n: int, k: int, s: int, p: int) -> int:
    o = -(-(n + 2 * p - k) // s) + 1
    return o - 1 if (o - 1) * s >= n + p else o


@case(
    "avgpool_ceil_no_empty_window",
    VIEWS,
    rtol=1e-5,
    atol=1e-6,
    notes="kernel 3 stride 3 pad 1 ceil: output 2x3, divisor counts real elements",
)
class _:
    def inputs() -> Arrays:
        return normal("acn", x=(1, 1, 5, 6))

    def reference(x: Arrays) -> Arrays:
        a = wide(x["x"])[0, 0]
        oh, ow = _pool_out(5, 3, 3, 1), _pool_out(6, 3, 3, 1)

        def win(i, j):
            return a[max(3 * i - 1, 0) : 3 * i + 2, max(3 * j - 1, 0) : 3 * j + 2]

        def f(g):
            return np.array([[g(win(i, j)) for j in range(ow)] for i in range(oh)])[None, None]

        return {"avg": f(np.mean), "max": f(np.max)}


@case(
    "avgpool_ceil_count_include", VIEWS, rtol=1e-5, atol=1e-6, notes="divisor = window positions inside [-pad, L+pad)"
)
class _:
    def inputs() -> Arrays:
        return normal("aci", x=(1, 2, 9))

    def reference(x: Arrays) -> Arrays:
        a, o = wide(x["x"])[0], []
        for i in range(_pool_out(9, 7, 3, 3)):
            lo, hi = 3 * i - 3, min(3 * i + 4, 12)
            o.append(a[:, max(lo, 0) : min(hi, 9)].sum(-1) / (hi - lo))
        return {"out": np.stack(o, -1)[None]}

    def wrong(x: Arrays) -> Arrays:
        a, o = wide(x["x"])[0], []
        for i in range(4):
            o.append(a[:, max(3 * i - 3, 0) : min(3 * i + 4, 9)].sum(-1) / 7)
        return {"out": np.stack(o, -1)[None]}


@case(
    "masked_stencil_f16", VIEWS, rtol=2e-3, atol=2e-2, notes="3x3 zero-padded box sum; f16 in and out, f32 accumulate"
)
class _:
    def inputs() -> Arrays:
        return {"x": (rng("msf").standard_normal((8, 8)) * 3).astype(F16)}

    def reference(x: Arrays) -> Arrays:
        p = np.pad(wide(x["x"]), 1)
        return {"y": sum(p[a : a + 8, b : b + 8] for a in range(3) for b in range(3))}

    def wrong(x: Arrays) -> Arrays:
        p = np.pad(wide(x["x"]), 1, mode="edge")
        return {"y": sum(p[a : a + 8, b : b + 8] for a in range(3) for b in range(3))}


@case("gather_negative_equiv", GATHERS, rtol=0, notes="depth-2 indices in [-n,n-1]; scatter uses unique targets")
class _:
    def inputs() -> Arrays:
        g = rng("gne")
        idx = np.stack([g.integers(-4, 4, (2, 7)), g.integers(-5, 5, (2, 7))], -1).astype(I64)
        return {
            "x": g.standard_normal((4, 5, 3)).astype(F32),
            "idx": idx,
            "tgt": np.array([[-1, -1], [0, 2], [-4, -5]], I64),
            "upd": g.standard_normal((3, 3)).astype(F32),
        }

    def reference(x: Arrays) -> Arrays:
        a = wide(x["x"])
        n = x["idx"] % np.array([4, 5])
        s = a.copy()
        for t, (i, j) in enumerate(x["tgt"] % np.array([4, 5])):
            s[i, j] = x["upd"][t]
        return {"gather": a[n[..., 0], n[..., 1]], "scatter": s}
