"""The CUDA dialect: kernels built by hand and lowered ones are printed, and where there is a compiler, compiled."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg.affine import Dim, Index, affine, index
from tang_egg.assemble import graph as te_graph
from tang_egg.codegen.candidates import schedules
from tang_egg.codegen.device import CopyCommit, Launch, Mma, Stage, Tile
from tang_egg.codegen.dialects.c import C
from tang_egg.codegen.dialects.cuda import CUDA, Argument, arguments, products, source
from tang_egg.codegen.kernel import (
    Assign,
    Buffer,
    Call,
    Declare,
    Form,
    Kernel,
    Let,
    Literal,
    Load,
    Loop,
    Stmt,
    Store,
    Var,
    number,
    statements,
)
from tang_egg.codegen.lower import lower
from tang_egg.codegen.printer import print_kernel
from tang_egg.errors import CodegenError
from tang_egg.ir import EVERYWHERE, Input, Read, Reduce, Tensor, apply, const, tensors_of
from tang_egg.monoid import SUM
from tang_egg.pipeline import sources
from tang_egg.text import parse_graph
from tests import device_kernels as device
from tests.compiled import all_inline, product_graph, weighted_graphs
from tests.cuda_compile import check_clean, compiled


@pytest.mark.parametrize("name", device.BUILDERS)
def test_device_kernels_compile_without_spills(name: str) -> None:
    check_clean(compiled(source(device.BUILDERS[name]())))


def test_waits_can_be_bounded() -> None:
    check_clean(compiled(source(device.gemm()), "-DTE_DEBUG"))


def _layernorm() -> list[Tensor]:
    rows, width = Dim("n"), 96
    i, j = Index("i", affine(rows)), index("j", width)
    here = Read(Input("x", (affine(rows), affine(width)), "bf16"), (affine(i), affine(j)))
    mean = apply("mul", Reduce(SUM, (j,), EVERYWHERE, (here,)), const(1 / width))
    left = apply("add", here, apply("neg", mean))
    square = apply("mul", Reduce(SUM, (j,), EVERYWHERE, (apply("mul", left, left),)), const(1 / width))
    scale = apply("recip", apply("sqrt", apply("add", square, const(1e-5))))
    return [Tensor("y", (i, j), apply("mul", left, scale), "bf16")]


def _softmax() -> list[Tensor]:
    graph = parse_graph(Path("examples/softmax.tang").read_text(encoding="utf-8"))
    return [*all_inline(graph).graph.outputs, *tensors_of(graph.outputs)]


ORDINARY: dict[str, Callable[[], list[Tensor]]] = {
    "softmax": _softmax,
    "layernorm": _layernorm,
    "attention": lambda: [t for g in weighted_graphs(2, 16, 32, 8, causal=True) for t in all_inline(g).graph.outputs],
    "product": lambda: list(product_graph(64, 48, 64, dtype="f16").outputs),
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.nightly) if n == "attention" else n for n in ORDINARY]
)
def test_ordinary_kernels_compile(name: str) -> None:
    kernels: list[Kernel] = []
    for t in ORDINARY[name]():
        for schedule in schedules((t,), threads=64)[:3]:
            kernels.append(device.grid(lower(f"kernel{len(kernels)}", (t,), schedule)))
    assert any(isinstance(s, Loop) and s.kind == "grid" for k in kernels for s in statements(k.body))
    compiled(source(*kernels))


FLOATS = ("f32", "f64", "f16", "bf16")
EXACT = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"}


ALL = (*sorted(EXACT), *FLOATS)


@pytest.mark.parametrize("type", ALL)
def test_every_operation_has_a_spelling_that_compiles(type: str) -> None:
    """Each row of the C table that a type has, from one thread on arrays of that type."""
    held = "f32" if type in ("f16", "bf16") else type
    x, y = (Buffer(n, type, "global", affine(8), "input") for n in "xy")
    flags = Buffer("flags", "bool", "global", affine(99), "output")
    out = Buffer("out", held, "global", affine(99), "output")
    a, b = (Load(s, number(0), type) for s in (x, y))
    if held != type:
        a, b = (Call("cast", (s,), held) for s in (a, b))  # type: ignore[assignment]
    two = ["add", "mul", "max", "min"] if type != "bool" else ["and", "or"]
    one = ["neg"] if type != "bool" else ["not"]
    if type in EXACT - {"bool"}:
        two += ["idiv", "imod", "bitand", "bitor", "bitxor", "shl", "shr", "udiv", "umod"]
    if held in ("f32", "f64"):
        one += ["exp", "log", "tanh", "erf", "sin", "sqrt", "floor", "recip"]
        two += ["atan2"]
    if held == "f32":
        one += ["exp2", "log2", "fast_recip"]
        two += ["fast_max", "fast_min"]
    values = [Call(op, (a, b), held) for op in two] + [Call(op, (a,), held) for op in one]
    values.append(Call("shuffle_xor", (a, Literal(1, "i32")), held))
    body: list[Stmt] = [Store(out, number(n), e) for n, e in enumerate(values)]
    body += [Store(flags, number(n), Call(op, (a, b), "bool")) for n, op in enumerate(("lt", "le", "eq"))]
    others = [Buffer(f"as_{t}", t, "global", affine(1), "output") for t in ALL]
    body += [Store(s, number(0), Call("cast", (a,), s.type)) for s in others]
    widths = {"f32": "i32", "f64": "u64", "i64": "f64", "u32": "f32", "i8": "bool", "u8": "bool", "bool": "u8"}
    body += [Store(s, number(0), Call("bits", (a,), s.type)) for s in others if widths.get(type) == s.type]
    kernel = Kernel("operations", (x, y, flags, out, *others), (), tuple(body))
    compiled(source(kernel))


def test_parameters_come_as_maps_buffers_counters_dims() -> None:
    kinds = [(a.kind, a.name) for a in arguments(device.attention())]
    names = [("map", n) for n in "QKVO"] + [("buffer", n) for n in "QKVO"]
    assert kinds == [*names, ("counters", "te_counters"), ("dim", "H"), ("dim", "N")]
    text = print_kernel(device.attention(), CUDA)
    places = [text.index(p) for p in ("te_map Q_map", "te_map O_map", "te_bf16 *__restrict__ Q", "te_count", "int N)")]
    assert places == sorted(places)


def test_stages_lie_at_multiples_of_1024_in_order() -> None:
    kernel = device.gemm()
    assert kernel.launch is not None
    offsets = [
        int(n or 0) for n in re.findall(r"const te_u32 \w+ = te_base(?: \+ (\d+))?;", print_kernel(kernel, CUDA))
    ]
    stages = kernel.launch.stages
    ends = [0]
    for s in stages:
        ends.append(ends[-1] + s.bytes * s.depth)
    assert offsets[: len(stages) + 1] == ends and all(n % 1024 == 0 for n in offsets[: len(stages)])
    assert offsets[-1] + 8 * kernel.launch.signals[-1].depth + 1024 == kernel.launch.shared_bytes


def test_steps_of_a_product_walk_along_lines_then_boxes() -> None:
    acc = Buffer("acc", "f32", "register", affine(64))
    wide, tall = Stage("W", "bf16", 2, 128), Stage("T", "bf16", 2, 96)

    def steps(b: Tile, count: int) -> list[int]:
        s = Mma(acc, Tile(wide, number(0), "k", number(0)), b, count, Literal(True, "bool"))
        launch = Launch(128, number(1), stages=(wide, tall))
        text = print_kernel(Kernel("steps", (), (), (Declare(acc), s), launch=launch), CUDA)
        return [int(n or 0) for n in re.findall(r"te_b(?: \+ (\d+))?, (?:1|te_keep)\)", text)]

    assert steps(Tile(wide, number(0), "k", number(0)), 6) == [0, 2, 4, 6, 1024, 1026]
    assert steps(Tile(tall, number(0), "mn", number(0)), 6) == [0, 128, 256, 384, 512, 640]


def test_only_shapes_that_are_used_get_a_wrapper() -> None:
    text = products([device.attention(), device.attention(turns=False)])
    assert re.findall(r"void (te_mma\w+)\(", text) == ["te_mma_bf16_128_k_k", "te_mma_bf16_128_r_mn"]


def test_a_product_that_the_chip_lacks_is_refused() -> None:
    acc, stage = Buffer("acc", "f32", "register", affine(64)), Stage("B", "tf32", 4, 32)
    tile = Tile(stage, number(0), "mn", number(0))
    with pytest.raises(CodegenError, match="no matrix instruction"):
        products([Kernel("k", (), (), (Mma(acc, tile, tile, 4, Literal(True, "bool")),))])


def test_a_dialect_without_device_statements_says_so() -> None:
    with pytest.raises(CodegenError, match="c has no spelling of the statement CopyCommit"):
        print_kernel(Kernel("k", (), (), (CopyCommit(),)), C)
    with pytest.raises(CodegenError, match="loop of kind 'grid'"):
        print_kernel(Kernel("k", (), (), (Loop("i", number(0), number(1), 1, "grid", ()),)), C)


def test_data_keeps_64_bits_and_addresses_take_32() -> None:
    """Positions that are stored are multiplied in 64 bits, those that address are not."""
    x, y = (Buffer(n, "i64", "global", affine(99), role) for n, role in (("x", "input"), ("y", "output")))
    i, big = Var("i", "i64"), Var("big", "i64")
    body: tuple[Stmt, ...] = (
        Let("big", Call("mul", (i, i), "i64")),
        Let("next", Call("add", (i, number(1)), "i64")),
        Store(y, Call("umod", (Var("next", "i64"), number(9)), "i64"), big),
        Let("seen", Load(x, i, "i64")),
        Assign("total", Literal(0, "i64"), True),
        Assign("total", Call("add", (Var("total", "i64"), Var("seen", "i64")), "i64")),
        Store(y, i, Var("total", "i64")),
    )
    text = print_kernel(Kernel("k", (x, y), (), (Loop("i", number(0), number(9), 1, "grid", body),)), CUDA)
    assert "const long long big = te_mul_i64(((long long)i), ((long long)i));" in text
    assert "const int next = (i + 1);" in text and "y[te_whole_mod(next, 9)] = big;" in text
    assert "const long long seen = x[i];" in text and "long long total = 0LL;" in text


def test_names_of_stages_and_variables_stay_apart() -> None:
    """A variable called as a built-in, a stage or a word of CUDA gets another name."""
    stage = Stage("float", "bf16", 1, 64)
    out = Buffer("float_tiles", "i32", "global", affine(4), "output")
    body: tuple[Stmt, ...] = (
        Let("operator", Call("cast", (Var("thread", "i64"),), "i32")),
        Store(out, Var("block", "i64"), Var("operator", "i32")),
    )
    text = print_kernel(Kernel("k", (out,), (), body, launch=Launch(128, number(1), stages=(stage,))), CUDA)
    assert "const te_u32 float_tiles_1 = te_base;" in text
    assert "const int v_operator = ((int)te_thread);" in text and "float_tiles[te_block] = v_operator;" in text


def test_scratch_is_sliced_by_thread_of_the_grid() -> None:
    work = Buffer("work", "f32", "scratch", affine(Dim("n")))
    out = Buffer("out", "f32", "global", affine(Dim("n")), "output")
    i = Var("i", "i64")
    inner = (Store(work, i, Literal(1.0, "f32")), Store(out, i, Load(work, i, "f32")))
    body = (Declare(work), Loop("i", number(0), Form(affine(Dim("n"))), 1, "grid", inner))
    kernel = Kernel("k", (out,), ("n",), body, (work,))
    assert Argument("scratch", "te_scratch", "u8") in arguments(kernel)
    compiled(source(kernel))


def test_judgements_on_large_positions_are_made_in_64_bits() -> None:
    """Products of positions and large multiples leave 32 bits; what they are compared with must not wrap."""
    i, j = te.index("i", 300), te.index("j", 300)
    strided = e.cast((e.cast(i, "i64") * e.cast(j, "i64")) % 3, "real")
    far = e.select(te.holds(j * 30_000_000 <= i * 10_000_000), 1.0, 0.0)
    short = e.cast(e.cast(i * 300, "u8"), "real")
    g = te_graph("large", te.tensor("Y", (i, j), strided + far + short, "f32"))
    (text,) = sources(g, "cuda").values()
    kernel = text[text.index('extern "C"') :]
    assert "long long" in kernel
    assert "(unsigned char)(300*" in kernel
