"""What the tests of WGSL and GLSL share: programs, what they are compared with, and inputs at the ends of types."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from tang_egg import expression, layers, library, library_conv
from tang_egg import notation as te
from tang_egg.affine import Index, affine, index
from tang_egg.assemble import graph
from tang_egg.cost.roofline import Costs
from tang_egg.interpret import interpret
from tang_egg.ir import EVERYWHERE, Graph, Input, Read, Reduce, Scalar, Tensor, apply
from tang_egg.monoid import SUM
from tang_egg.ops import BYTES
from tang_egg.pipeline import extract, sources
from tang_egg.program import KernelPlan, Program
from tang_egg.run_arrays import NUMPY, bits_of_floats
from tang_egg.run_grid import GridProgram
from tang_egg.schedule import Schedule, parse_schedule
from tang_egg.targets import Wish, target
from tang_egg.verify import verify
from tests.compiled import one_kernel_each
from tests.rows import ROWS
from tests.rows_model import STARVED

Array = np.ndarray[Any, Any]


def device(language: str) -> Any:
    """The device of a language; skips the test where wgpu or an adapter is missing."""
    if language in ("wgsl", "glsl"):
        pytest.importorskip("wgpu")
    try:
        return target(language).open()
    except Exception as error:  # a machine without any Vulkan driver
        pytest.skip(str(error))


def compiled(language: str, g: Graph, schedule: str | None = None) -> GridProgram:
    """A graph with a kernel for each tensor, run by a language."""
    program = one_kernel_each(g)
    chosen = {k.name: parse_schedule(schedule) for k in program.kernels} if schedule else {}
    return target(language).compile(program, chosen, device(language))  # type: ignore[return-value]


# ---- goldens ----


def _convolution() -> Graph:
    x, w = te.input("X", (2, 3, 9, 11)), te.input("W", (4, 3, 3, 3))
    return graph("convolution", Y=library_conv.conv2d(x, w, padding=1))


def _layernorm_matmul() -> Graph:
    x, w = te.input("X", (24, 40)), te.input("W", (40, 16))
    return graph("layernorm_matmul", Y=library.linear(library.layer_norm(x), w))


def _product() -> Graph:
    a, b = te.input("A", (48, 40), "bf16"), te.input("B", (40, 56), "bf16")
    return graph("matmul", C=library.linear(a, b))


def _swiglu() -> Graph:
    x, g, u = te.input("X", (24, 40), "f16"), te.input("G", (40, 16), "f16"), te.input("U", (40, 16), "f16")
    return graph("swiglu", H=layers.swiglu(x, g, u))


def _attention() -> Graph:
    q, k, v = (te.input(x, (2, 2, 19, 16)) for x in "QKV")
    return graph("attention", O=layers.attention(q, k, v, causal=True))


GOLDEN: dict[str, Callable[[], Graph]] = {
    "matmul": _product,
    "softmax": lambda: ROWS["softmax"].build("bf16", n=64, m=96),
    "causal_attention": _attention,
    "layernorm_matmul": _layernorm_matmul,
    "swiglu": _swiglu,
    "padded_convolution": _convolution,
    "top_k": lambda: ROWS["top_k_of_product"].naive("f32"),
    "segmented_sum": lambda: ROWS["segments"].naive("f32"),
    "chunked_scan": lambda: ROWS["linear_attention"].naive("f32"),
}
"""The programs whose kernels are kept."""


@cache
def printed(language: str, name: str) -> Mapping[str, str]:
    """The sources of a program of GOLDEN."""
    chunk = ROWS["linear_attention"].small_chunk if name == "chunked_scan" else None
    return sources(GOLDEN[name](), target=language, chunk=chunk)


# ---- elementwise kernels ----

RANGES = {"exp": 95.0, "log": 1e6, "tanh": 12.0, "erf": 6.0, "sin": 200.0, "sqrt": 1e5, "recip": 1e3, "floor": 100.0}
"""How far from zero each primitive is tried."""
_EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 88.5, -87.0, 1e30, -1e30, 0.625, 88.8, -100.0]


def pointwise(build: Callable[..., Scalar], *types: str, n: int = 64, to: str = "f32") -> Graph:
    """A graph that stores `build` of one element of each of some inputs a, b, ..."""
    i = index("i", n)
    given = tuple(Input("abcdef"[k], (affine(n),), t) for k, t in enumerate(types))
    return Graph("point", given, (Tensor("y", (i,), build(*(Read(x, (affine(i),)) for x in given)), to),))


def ulps(got: Array, exact: Array) -> float:
    """The largest error in units of the last place, where the result is a normal number; NaN in the same places."""
    live = np.isfinite(exact) & (np.abs(exact) > 1.2e-38) & (np.abs(exact) < 3.4e38)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(exact))
    return float((np.abs(got[live] - exact[live]) / np.spacing(np.abs(exact[live]).astype(np.float32))).max())


def check_function(language: str, op: str) -> None:
    """A primitive over its range and at the ends of f32."""
    data = np.random.default_rng(3).uniform(-RANGES[op], RANGES[op], 4096).astype(np.float32)
    data[:256] *= 1e-3
    data[256 : 256 + len(_EDGES)] = _EDGES
    with np.errstate(all="ignore"):
        known: dict[str, Callable[..., Array]] = {"erf": np.vectorize(math.erf), "recip": lambda v: 1.0 / v}
        exact = known.get(op, getattr(np, op, None))(data.astype(np.float64))  # type: ignore[misc]
    got = compiled(language, pointwise(lambda a: apply(op, a), "f32", n=4096))({"a": data})["y"]
    with np.errstate(over="ignore"):
        rounded = exact.astype(np.float32)
    np.testing.assert_array_equal(got[np.isinf(rounded)], rounded[np.isinf(rounded)])
    if op == "sin":  # near its zeros the error is absolute
        near = np.abs(data) < 8192
        assert np.nanmax(np.abs(got - exact)[near]) < 3e-7
        np.testing.assert_array_equal(np.isnan(got), np.isnan(exact))
    else:
        assert ulps(got, exact) <= 3.5


def check_angle(language: str) -> None:
    """atan2 in all quadrants, on the axes and at the ends."""
    rng = np.random.default_rng(5)
    a, b = (np.concatenate([rng.normal(size=400), np.tile(_EDGES, 12)]).astype(np.float32) for _ in range(2))
    b[400:] = np.repeat(_EDGES, 12).astype(np.float32)
    graph_ = pointwise(lambda x, y: apply("atan2", x, y), "f32", "f32", n=a.size)
    got, exact = compiled(language, graph_)({"a": a, "b": b})["y"], np.arctan2(a.astype(np.float64), b)
    assert ulps(got, exact) <= 4
    np.testing.assert_array_equal(np.signbit(got[~np.isnan(exact)]), np.signbit(exact[~np.isnan(exact)]))


def check_extremes(language: str) -> None:
    """max, min and comparisons with NaN and infinities on either side."""
    values = np.array([np.nan, 1.0, np.inf, -np.inf, -0.0], np.float32)
    data = {"a": np.repeat(values, 5), "b": np.tile(values, 5)}
    for op, meaning in (("max", np.maximum), ("min", np.minimum)):
        got = compiled(language, pointwise(lambda a, b, op=op: apply(op, a, b), "f32", "f32", n=25))(data)["y"]
        np.testing.assert_array_equal(got, meaning(data["a"], data["b"]))
    for op, meaning in (("lt", np.less), ("le", np.less_equal), ("eq", np.equal)):
        for negated in (False, True):

            def build(a: Scalar, b: Scalar, op: str = op, negated: bool = negated) -> Scalar:
                return apply("not", apply(op, a, b)) if negated else apply(op, a, b)

            got = compiled(language, pointwise(build, "f32", "f32", n=25, to="bool"))(data)["y"]
            np.testing.assert_array_equal(got, meaning(data["a"], data["b"]) ^ negated)


# ---- types ----


def values_of(type: str, n: int, seed: int = 0) -> Array:
    """Values over the whole of a type, ends first."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(NUMPY[type])
    if type == "bool":
        return rng.integers(0, 2, n).astype(bool)
    if type in ("f32", "f16"):
        found = (rng.normal(size=n) * np.exp(rng.uniform(-8, 8, n))).astype(kind)
        found[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0]
        return found
    if type == "bf16":
        return (values_of("f32", n, seed).view(np.uint32) >> 16).astype(np.uint16)
    low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    found = rng.integers(low, high, n, dtype=kind, endpoint=True)
    found[:6] = [low, high, 0, 1, high - 1, low + 1]
    found[6:20] = rng.integers(0, 100, 14)
    return found


def together(name: str, inputs: tuple[Input, ...], bodies: Mapping[str, tuple[Scalar, str]], axis: Index) -> Program:
    """One kernel that stores several values at each point of an axis."""
    outputs = tuple(Tensor(n, (axis,), body, dtype) for n, (body, dtype) in bodies.items())
    return Program(Graph(name, inputs, outputs), (KernelPlan(name, outputs),))


def check_against(language: str, program: Program, data: Mapping[str, Array]) -> None:
    """That a program gives what the interpreter gives, to the bit for integers."""
    with np.errstate(all="ignore"):
        want = interpret(program.graph, {i.name: floats_of(data[i.name], i.dtype) for i in program.graph.inputs})
    got = target(language).compile(program, {}, device(language))(data, fill=0xFF)  # type: ignore[call-arg]
    for t in program.graph.outputs:
        if t.dtype in ("f16", "f32", "bf16"):
            assert_floats(got[t.name], want[t.name], t.dtype)
        else:
            np.testing.assert_array_equal(got[t.name], want[t.name], err_msg=t.name)


def floats_of(a: Array, type: str) -> Array:
    """An array as the interpreter takes it: bits of bf16 as floats."""
    return (a.astype(np.uint32) << 16).view(np.float32) if type == "bf16" else a


def assert_floats(got: Array, want: Array, type: str) -> None:
    """Equal up to a unit of the last place; what f32 flushes may be zero."""
    got = floats_of(got, type)
    bits = {"f32": 2e-7, "f16": 1e-3, "bf16": 8e-3}[type]
    kind = {"f32": np.float32, "f16": np.float16, "bf16": np.float32}[type]
    with np.errstate(over="ignore"):
        rounded = want.astype(kind).astype(np.float64)
    np.testing.assert_allclose(got.astype(np.float64), rounded, rtol=bits, atol=7e-5 * bits)


INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")


def check_integers(language: str, type: str) -> None:
    """Every operation on a type of integers, over its whole range, with divisors and shifts of all kinds."""
    i = index("i", 97)
    a, b = (Input(x, (affine(97),), type) for x in "ab")
    x, y = (Read(s, (affine(i),)) for s in (a, b))
    two = "add mul max min idiv imod bitand bitor bitxor shl shr".split()
    bodies: dict[str, tuple[Scalar, str]] = {op: (apply(op, x, y), type) for op in two}
    bodies |= {f"is_{op}": (apply(op, x, y), "bool") for op in ("lt", "le", "eq")}
    bodies["minus"] = (apply("neg", x), type)
    bodies["mixed"] = (apply("add", apply("mul", x, y), apply("neg", apply("mul", y, y))), type)
    # what wraps must do so before it is looked at, not only when it is stored
    bodies["wraps"] = (apply("lt", apply("add", x, y), x), "bool")
    bodies["quotient"] = (apply("idiv", apply("mul", x, y), y), type)
    bodies["turned"] = (apply("shr", apply("shl", x, y), y), type)
    data = {"a": values_of(type, 97), "b": values_of(type, 97, 1)}
    data["b"][30:60] = np.arange(30) - (0 if type[0] == "u" else 9)
    data["b"][60:70] = data["a"][60:70]
    data["b"][data["b"] == 0] = 3  # a divisor of zero is an error of the interpreter
    check_against(language, together("integers", (a, b), bodies, i), data)


def check_casts(language: str, type: str) -> None:
    """A type converted to every other, stored and taken back, and its bits as those of its width."""
    i = index("i", 101)
    a = Input("a", (affine(101),), type)
    x = Read(a, (affine(i),))
    kinds = [*INTEGERS, "bool", "f32", "f16", "bf16"]
    real = {"f32", "f16", "bf16"}
    bodies: dict[str, tuple[Scalar, str]] = {f"to_{k}": (apply(f"cast:{k}", x), k) for k in kinds}
    wide = {t: BYTES[t] for t in kinds if t != "bool"}
    if type in wide:
        bodies |= {
            f"bits_{k}": (apply(f"bits:{k}", x), k)
            for k in kinds
            if k in wide and wide[k] == wide[type] and k not in real and (type not in real or type == "f32")
        }
    check_against(language, together("casts", (a,), bodies, i), {"a": values_of(type, 101)})


def check_rounding(language: str) -> None:
    """f32 as f16 and bf16 to the bit: halves of the last place, ends, and subnormal results of f16."""
    half = np.arange(0, 0x7C00, 37, dtype=np.uint16).view(np.float16).astype(np.float64)
    step = np.spacing(half.astype(np.float16)).astype(np.float64)
    near = np.concatenate([half, half + step / 2, half + step / 2 * (1 + 2**-10), half + step / 2 * (1 - 2**-10)])
    words = np.random.default_rng(2).integers(0x00800000, 0x7F800000, 999, dtype=np.uint32)
    words[:300] = words[:300] & 0xFFFF0000 | 0x8000
    found = np.concatenate([near, [65519, 65520, 65536, 2e-8, 2.9802322e-8, 3e-8, np.inf]]).astype(np.float32)
    data = np.concatenate([found, words.view(np.float32)])
    data = np.concatenate([data, -data])
    n = data.size
    i = index("i", n)
    a = Input("a", (affine(n),))
    bodies = {k: (Read(a, (affine(i),)), k) for k in ("f16", "bf16")}
    program = together("rounding", (a,), bodies, i)
    got = target(language).compile(program, {}, device(language))({"a": data})
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(got["f16"].view(np.uint16), data.astype(np.float16).view(np.uint16))
    np.testing.assert_array_equal(got["bf16"], bits_of_floats(data))


def check_copies(language: str, type: str) -> None:
    """Arrays of every length around a word, whole and a part of each row, as their bits."""
    for n in (0, 1, 2, 3, 4, 5, 7, 63, 64, 65, 131):
        data = values_of(type, max(n, 20))[:n]
        i = index("i", n)
        a = Input("a", (affine(n),), type)
        g = Graph("copy", (a,), (Tensor("y", (i,), Read(a, (n - 1 - affine(i),)), type),))
        got = compiled(language, g)({"a": data}, fill=0x5A)["y"]
        assert got.tobytes() == data[::-1].tobytes(), (type, n)


# ---- rows ----

SAMPLE = (
    ("softmax", "bf16", 0), ("log_softmax", "f32", -1), ("attention_causal", "bf16", 0), ("sinkhorn", "f32", 0),
    ("layer_norm_matmul", "f32", 0), ("swiglu", "bf16", 0), ("top_k_of_product", "f32", 0), ("segments", "bf16", 0),
    ("linear_attention", "f32", 0), ("arg_max", "f32", 0), ("convolution_padded", "bf16", 0),
    ("attention_paged", "f32", 0),
)  # fmt: skip
"""Rows of the table that are run each time; the others are slow together."""


def all_rows() -> list[tuple[str, str, int]]:
    """(row, type, which schedule) of the table; the first schedule and the plain one take turns."""
    every = [(name, dtype, -((n + k) % 2)) for n, name in enumerate(ROWS) for k, dtype in enumerate(ROWS[name].dtypes)]
    return [x for x in every if x not in SAMPLE]


def check_row(language: str, name: str, dtype: str, which: int) -> None:
    """That the small twin of a row is right on the device, buffer by buffer."""
    on, at = device(language), target(language)
    x = ROWS[name].twin(dtype)
    program = at.parted(x.program)
    chosen: dict[str, Schedule] = {k.name: at.schedules(k.outputs, Wish())[which] for k in program.kernels}
    verify(x.graph, program, at.compile(program, chosen, on), chosen)


SIZES = (0, 1, 2, 31, 32, 33, 63, 64, 65, 67, 127)
"""Boundary sizes of blocks, warps and words, and primes."""


def symbolic_softmax(dtype: str) -> Graph:
    """The softmax of rows of any number and length; rows of nothing give nothing."""
    i, j = te.indices("i j")
    x = te.input("X", (te.dim("n"), te.dim("m")), dtype)
    top = te.tensor("top", i, te.max(j, x[i, j]))
    total = te.tensor("total", i, te.sum(j, expression.exp(x[i, j] - top[i])))
    return graph("softmax", P=te.tensor("P", (i, j), expression.exp(x[i, j] - top[i]) / total[i], dtype))


def check_sizes(language: str, dtype: str, schedule: str) -> None:
    """One program over many sizes of its rows, each compared with NumPy."""
    on, at = device(language), target(language)
    x = extract(symbolic_softmax(dtype), costs=Costs(STARVED))
    program = at.parted(x.program)
    assert len(program.kernels) == 1
    chosen = {k.name: parse_schedule(schedule) for k in program.kernels}
    runner = at.compile(program, chosen, on)
    rng = np.random.default_rng(1)
    for n, m in [(n, 5) for n in SIZES] + [(3, m) for m in SIZES] + [(67, 127)]:
        wide = rng.normal(size=(n, m)).astype(np.float32)
        held = wide.astype(np.float16) if dtype == "f16" else wide
        held = (wide.view(np.uint32) >> 16).astype(np.uint16) if dtype == "bf16" else held
        got = floats_of(runner({"X": held}, fill=0xFF)["P"], dtype).astype(np.float64)  # type: ignore[call-arg]
        given = floats_of(held, dtype).astype(np.float64)
        weight = np.exp(given - given.max(1, keepdims=True, initial=-1e30))
        want = weight / weight.sum(1, keepdims=True)
        np.testing.assert_allclose(got, want, rtol={"f32": 1e-5, "f16": 1e-3, "bf16": 8e-3}[dtype], atol=1e-7)


def check_tiles(language: str) -> None:
    """Register tiles of rows and columns, at sizes around the tile; small integers, so that every sum is exact."""
    for m, n, k in ((4, 4, 3), (5, 7, 11), (8, 4, 16), (9, 5, 17), (13, 31, 1), (7, 9, 0)):
        i, j, r = index("i", m), index("j", n), index("k", k)
        a, b = Input("a", (affine(m), affine(k)), "bf16"), Input("b", (affine(k), affine(n)), "i8")
        term = apply("mul", Read(a, (affine(i), affine(r))), apply("cast:real", Read(b, (affine(r), affine(j)))))
        g = Graph("product", (a, b), (Tensor("y", (i, j), Reduce(SUM, (r,), EVERYWHERE, (term,)), "f16"),))
        x = np.random.default_rng(m).integers(-9, 9, (m, k)).astype(np.float32)
        y = np.random.default_rng(n).integers(-9, 9, (k, n)).astype(np.int8)
        for schedule in ("tile grid=i,j tile=i:4,j:2", "tile grid=i,j tile=i:4", "point grid=i tile=j:*"):
            got = compiled(language, g, schedule)({"a": (x.view(np.uint32) >> 16).astype(np.uint16), "b": y}, fill=0xFF)
            np.testing.assert_array_equal(got["y"], x @ y)
