"""Products of operands of 8 bits as a user would write them, small enough for the NumPy meaning of the kernel IR."""

from __future__ import annotations

from tang_egg import expression as e
from tang_egg import library, library_quant
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.ir import Graph


def whole(m: int, n: int, k: int, a: str = "i8", b: str = "i8", out: str = "i32", across: bool = False) -> Graph:
    """Σ_k i32(A[i, k]) · i32(B[j, k]); `across`: B is stored [k, n]."""
    left, right = te.input("A", (m, k), a), te.input("B", (k, n) if across else (n, k), b)
    i, j, c = te.index("i", m), te.index("j", n), te.index("k", k)
    total = te.sum(c, e.cast(left[i, c], "i32") * e.cast(right[c, j] if across else right[j, c], "i32"))
    return graph("whole", te.tensor("C", (i, j), total if out == "i32" else e.cast(total, "real"), out))


def scaled(m: int, n: int, k: int, out: str = "bf16") -> Graph:
    """A quantised linear layer: the sum in i32, scales of rows and of columns, a bias, relu."""
    left, right = te.input("A", (m, k), "i8"), te.input("B", (n, k), "i8")
    s, t, bias = te.input("s", (m,), "f32"), te.input("t", (n,), "f32"), te.input("bias", (n,), "f32")
    i, j, c = te.index("i", m), te.index("j", n), te.index("k", k)
    total = e.cast(te.sum(c, e.cast(left[i, c], "i32") * e.cast(right[j, c], "i32")), "real")
    return graph("scaled", te.tensor("C", (i, j), e.maximum(total * s[i] * t[j] + bias[j], 0.0), out))


def requantised(m: int, n: int, k: int) -> Graph:
    """The sum scaled, rounded and bounded to i8."""
    left, right = te.input("A", (m, k), "u8"), te.input("B", (n, k), "i8")
    i, j, c = te.index("i", m), te.index("j", n), te.index("k", k)
    total = e.cast(te.sum(c, e.cast(left[i, c], "i32") * e.cast(right[j, c], "i32")), "real")
    bounded = e.maximum(e.minimum(e.floor(total * 0.01 + 0.5), 127.0), -128.0)
    return graph("requantised", te.tensor("C", (i, j), e.cast(bounded, "i8"), "i8"))


def dequantised(m: int, n: int, k: int, out: str = "bf16") -> Graph:
    """The same layer by the library, which makes reals of both operands first."""
    left, right = te.input("A", (m, k), "i8"), te.input("B", (n, k), "i8")
    s, t = te.input("s", (m, 1), "f32"), te.input("t", (n, 1), "f32")
    x, w = library_quant.dequantize_int8(left, s), library_quant.dequantize_int8(right, t)
    y = library.linear(x, w, transposed=True)
    i, j = te.index("i", m), te.index("j", n)
    return graph("dequantised", te.tensor("C", (i, j), y[i, j], out))


def product(m: int, n: int, k: int, a: str = "f8e4m3", b: str = "f8e4m3", out: str = "bf16") -> Graph:
    """Σ_k A[i, k] · B[j, k] of floats of 8 bits."""
    left, right = te.input("A", (m, k), a), te.input("B", (n, k), b)
    i, j, c = te.index("i", m), te.index("j", n), te.index("k", k)
    return graph("product", te.tensor("C", (i, j), te.sum(c, left[i, c] * right[j, c]), out))


def layer(m: int, n: int, k: int, out: str = "bf16") -> Graph:
    """The same with scales of rows and of columns, a bias and GELU."""
    left, right = te.input("A", (m, k), "f8e4m3"), te.input("B", (n, k), "f8e4m3")
    s, t, bias = te.input("s", (m,), "f32"), te.input("t", (n,), "f32"), te.input("bias", (n,), "f32")
    i, j, c = te.index("i", m), te.index("j", n), te.index("k", k)
    total = te.sum(c, (left[i, c] * s[i]) * (right[j, c] * t[j])) + bias[j]
    return graph("layer", te.tensor("C", (i, j), e.gelu(total), out))


def rounded(n: int, kind: str) -> Graph:
    """X in 8 bits, and what that stands for."""
    x, i = te.input("X", (n,), "f32"), te.index("i", n)
    y = te.tensor("Y", i, x[i], kind)
    return graph("rounded", y, te.tensor("Z", i, y[i] * 2.0, "f32"))
