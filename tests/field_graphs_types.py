"""Field cases of element types, gradients, rewrites and code generation, stated as graphs."""

from __future__ import annotations

import tang_egg as te
from tests.field_graph import Inputs, Outputs, axes, copied, states

INF, NAN = float("inf"), float("nan")


@states("bf16_roundtrip_cast", how="cast to bf16, and its bits as f32")
def _(x: Inputs) -> Outputs:
    a = x["x"]
    i, j = axes(a)
    y = te.tensor(None, (i, j), te.cast(a[i, j], "bf16"))
    low = te.cast(te.bitcast(te.cast(a[i, j], "bf16"), "u32") & 0xFFFF, "i64")
    return {"out": te.tensor(None, i, te.sum(j, te.silu(y[i, j]))), "y": y, "y_lowbits": te.tensor(None, (i, j), low)}


@states("bool_add", how="`or`, `and`, and a sum of casts: the language has no sum of bools")
def _(x: Inputs) -> Outputs:
    a, b = x["a"], x["b"]
    (i,) = axes(a)
    counted = te.cast(a[i], "i64") + te.cast(b[i], "i64")
    return {n: te.tensor(None, i, e) for n, e in (("add", a[i] | b[i]), ("mul", a[i] & b[i]), ("iadd", counted))}


def _floor_quotient(a: te.Expression, b: te.Expression, bits: int, mantissa: int, kind: str) -> te.Expression:
    """floor(a / b) of floats by their mantissas and exponents as integers, for quotients below 2^(62 - mantissa)."""

    def parts(v: te.Expression) -> tuple[te.Expression, te.Expression]:
        raw = te.cast(te.bitcast(v, f"u{bits}"), "u64")
        exponent = te.cast((raw >> mantissa) & ((1 << (bits - 1 - mantissa)) - 1), "i64")
        whole = te.cast(raw & ((1 << mantissa) - 1), "i64") + (1 << mantissa)  # of a normal number
        return te.select(v < 0, -whole, whole), exponent

    (ma, ea), (mb, eb) = parts(a), parts(b)
    up = te.maximum(ea - eb, 0)
    down = te.maximum(eb - ea, 0)
    return te.cast((ma << up) // (mb << down), kind)


@states("floor_div_float", how="there is no fmod: on mantissas as integers, for normal numbers whose quotient is small")
def _(x: Inputs) -> Outputs:
    (i,) = axes(x["a64"])
    wide = _floor_quotient(x["a64"][i], x["b64"][i], 64, 52, "f64")
    return {
        "q64": te.tensor(None, i, wide, "f64"),
        "q32": te.tensor(None, i, _floor_quotient(x["a32"][i], x["b32"][i], 32, 23, "f32")),
    }


@states("int_div_mod_negative", how="i32")
def _(x: Inputs) -> Outputs:
    i, j, m = te.index("i", 16), te.index("j", 16), te.index("m", 3)
    a, n = x["a"][i, j], x["n"][m]
    return {"q": te.tensor(None, (m, i, j), a // n), "r": te.tensor(None, (m, i, j), a % n)}


@states("int_min_div_minus1", how="i32")
def _(x: Inputs) -> Outputs:
    return {"q": copied(x["a"], lambda i: x["a"][i] // x["b"][i])}


@states("tail_lane_zero_divisor", how="i64")
def _(x: Inputs) -> Outputs:
    return {"r": copied(x["a"], lambda i, j: x["a"][i, j] % x["n"][j])}


def _split(v: te.Expression) -> tuple[te.Expression, te.Expression]:
    """|v| of an f32 as mantissa · 2^(exponent - 150), both i64; subnormal numbers included."""
    raw = te.cast(te.bitcast(v, "u32"), "i64")
    exponent, fraction = (raw >> 23) & 255, raw & 0x7FFFFF
    return te.select(exponent > 0, fraction + 0x800000, fraction), te.maximum(exponent, 1)


def _power_of_two(e: te.Expression) -> te.Expression:
    """2^(e - 150) as an f32, for e from 1 to 254."""
    normal = (e - 23) << 23
    subnormal = te.constant(1, "i64") << te.maximum(e - 1, 0)
    return te.bitcast(te.cast(te.select(e > 23, normal, subnormal), "u32"), "f32")


@states("fmod_large_ratio", values="ieee", how="there is no fmod: by powers of two modulo the divisor's mantissa")
def _(x: Inputs) -> Outputs:
    (i,) = axes(x["a"])
    a, b = x["a"][i], x["b"][i]
    (ma, ea), (mb, eb) = _split(a), _split(b)
    shift = te.maximum(ea - eb, 0)
    m, k = te.tensor(None, i, mb), te.tensor(None, i, shift)
    power = te.constant(1, "i64") % m[i]
    square = te.constant(2, "i64") % m[i]
    for bit in range(9):  # exponents differ by less than 512
        held = te.tensor(None, i, square)
        power = te.select(te.eq((k[i] >> bit) & 1, 1), power * held[i] % m[i], power)
        power = te.tensor(None, i, power)[i]
        square = held[i] * held[i] % m[i]
    smaller = ea < eb  # then |a| < |b|, or nearly so, and a is brought to the exponent of b only by losing bits
    rest = te.tensor(None, i, te.select(smaller, te.constant(0, "i64"), (ma % m[i]) * power % m[i]))
    magnitude = te.cast(rest[i], "f32") * _power_of_two(eb)
    fmod = te.select(smaller, a, te.select(a < 0, -magnitude, magnitude))
    other = te.cast(m[i] - rest[i], "f32") * _power_of_two(eb)
    crossed = te.ne(rest[i], 0) & te.ne(a < 0, b < 0)
    signed = te.select(b < 0, -te.select(crossed, other, magnitude), te.select(crossed, other, magnitude))
    return {"fmod": te.tensor(None, i, fmod), "remainder": te.tensor(None, i, signed)}


@states("compiled_max_equality_mask", how="a comparison with a maximum, and its share of the ones in its window")
def _(x: Inputs) -> Outputs:
    a = x["x"]
    i = axes(a)
    over, kept = (i[2], i[4]), (i[0], i[1], i[3], i[5])
    top = te.tensor(None, kept, te.max(over, a[i]))
    mask = te.tensor(None, i, te.cast(te.eq(a[i], top[kept]), "i64"))
    count = te.tensor(None, kept, te.sum(over, te.cast(mask[i], "f32")))
    grad = te.tensor(None, i, te.cast(mask[i], "f32") / count[kept])
    return {"mask": mask, "grad": grad, "winsum": te.tensor(None, kept, te.sum(over, grad[i]))}


@states("where_sqrt_grad", values="ieee", how="the formula of the gradient; a select is lazy")
def _(x: Inputs) -> Outputs:
    a = x["x"]
    return {
        "y": copied(a, lambda i: te.select(a[i] < 1, a[i], te.sqrt(a[i]))),
        "grad": copied(a, lambda i: te.select(a[i] < 1, 1.0, 0.5 / te.sqrt(a[i]))),
    }


@states("norm_where_grad", values="ieee", how="the formula of the gradient; a select is lazy")
def _(x: Inputs) -> Outputs:
    a = x["x"]
    i, j = axes(a)
    n = te.tensor(None, i, te.sqrt(te.sum(j, a[i, j] * a[i, j])))
    return {"grad": te.tensor(None, (i, j), te.select(n[i] > 0.5, a[i, j] / n[i], 0.0))}


@states("squared_norm_grad_zero", how="the formula of the gradient")
def _(x: Inputs) -> Outputs:
    return {k: copied(a, lambda i, a=a: a[i] * 2) for k, a in x.items()}


@states("std_grad_constant", how="the formula of the gradient")
def _(x: Inputs) -> Outputs:
    found = {}
    for name, a in x.items():
        i, j = te.index("i", a.shape[0]), te.index("j", a.shape[0])
        mu = te.tensor(None, (), te.sum(j, a[j]) / te.size(j))
        centred = te.tensor(None, i, a[i] - mu[()])
        spread = te.tensor(None, (), te.sqrt(te.sum(j, centred[j] * centred[j]) / te.size(j) + 1e-5))
        found[name] = te.tensor(None, i, centred[i] / (te.size(i) * spread[()]))
    return found


@states("xent_all_ignored", values="ieee", how="rows with the ignored label are outside the folds; 0 / 0 is NaN")
def _(x: Inputs) -> Outputs:
    a = x["x"]
    i, c = axes(a)
    found = {}
    top = te.tensor(None, i, te.max(c, a[i, c]))
    e = te.tensor(None, (i, c), te.exp(a[i, c] - top[i]))
    total = te.tensor(None, i, te.sum(c, e[i, c]))
    for name in ("none", "mix"):
        t = x[f"t_{name}"]
        valid = te.ne(t[i], -100)
        loss = te.sum(i, top[i] + te.log(total[i]) - a[i, t[i]], where=valid)
        count = te.tensor(None, (), te.sum(i, 1.0, where=valid))
        found[f"loss_{name}"] = te.tensor(None, (), loss / count[()])
        own = te.select(te.eq(te.value(c), t[i]), 1.0, 0.0)
        grad = te.select(valid, e[i, c] / total[i] - own, 0.0) / te.maximum(count[()], 1.0)
        found[f"grad_{name}"] = te.tensor(None, (i, c), grad)
    return found


@states("rewrite_sqrt_square", values="ieee", how="reals do not overflow: the square is cast to f32, and casts round")
def _(x: Inputs) -> Outputs:
    a = x["x"]
    return {"strict": copied(a, lambda i: te.sqrt(te.cast(a[i] * a[i], "f32")))}


@states("rewrite_self_cancel", values="ieee", how="both products are cast to f32, and casts round")
def _(x: Inputs) -> Outputs:
    a = x["x"]
    i, _ = axes(a)
    one, two = te.cast(a[i, 0] * a[i, 1], "f32"), te.cast(a[i, 1] * a[i, 0], "f32")
    return {"c": te.tensor(None, i, one - two)}


@states("lnfusion_gamma_broadcast", how="layer_norm of the library, then pointwise with broadcasting")
def _(x: Inputs) -> Outputs:
    n = te.layer_norm(x["x"])
    found = {k: te.pointwise(lambda y, g, b: y * g + b, n, x[k], x["beta"]) for k in ("g1", "g31", "gfull", "g4")}
    return {**found, "enlarged": te.pointwise(lambda y, g: y * g, te.layer_norm(x["x11"]), x["g2"])}


@states("index_floormod_ramp", how="i64")
def _(x: Inputs) -> Outputs:
    i, j, k = te.index("i", 8), te.index("j", 3), te.index("k", 8)
    return {"idx": te.tensor(None, (i, j, k), (x["base"][i, j] + x["lane"][k]) % 20)}


@states("index_mod_common_factor", how="i64")
def _(x: Inputs) -> Outputs:
    i, j = te.index("i", 2), te.index("j", 18)
    a = x["x"][j]
    return {"r": te.tensor(None, (i, j), (x["c1"][i] * a) % (x["c2"][i] * a))}


@states("nan_inf_literals", values="ieee")
def _(x: Inputs) -> Outputs:
    a = x["x"]
    return {
        "neginf_fill": copied(a, lambda i: te.select(a[i] > 0, a[i], -INF)),
        "nan_to_zero": copied(a, lambda i: te.minimum(te.maximum(te.select(te.ne(a[i], a[i]), 0.0, a[i]), -3.0), 3.0)),
        "plus_nan": copied(a, lambda i: a[i] + te.constant(NAN)),
    }


@states("identifier_keyword", how="reserved words of the targets as names of inputs")
def _(x: Inputs) -> Outputs:
    i = te.index("i", 3)
    total = None
    for a in x.values():
        total = a[i] if total is None else total + a[i]
    assert total is not None
    return {"storage_": te.tensor(None, i, te.tanh(total))}


@states("grid_y_limit", how="65538 batches")
def _(x: Inputs) -> Outputs:
    a = x["x"]
    i, j, k = axes(a)
    return {
        "out": te.tensor(None, (i, j, k), a[i, j, k] * 2 + 1),
        "red": te.tensor(None, (i, j), te.max(k, a[i, j, k])),
    }
