"""Products of operands of 8 bits on matrix units: exact where they are integers, refused with a reason elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg import pipeline
from tang_egg.affine import affine
from tang_egg.assemble import graph
from tang_egg.codegen.candidates_device import device_schedules
from tang_egg.codegen.device import Mma, Stage, Tile
from tang_egg.codegen.dialects import cuda
from tang_egg.codegen.dialects.cuda_device import Product, product
from tang_egg.codegen.kernel import Buffer, Kernel, Literal, number, statements
from tang_egg.codegen.lower_mma import lower_mma
from tang_egg.codegen.mma_operand import Refused
from tang_egg.codegen.mma_plan import plan
from tang_egg.cost.roofline import MATRIX_UNITS, Costs
from tang_egg.errors import CodegenError
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Tensor
from tang_egg.saturate import Limits
from tang_egg.schedule import Schedule, parse_schedule
from tang_egg.verify import sample_inputs
from tests.cuda_compile import check_clean, compiled
from tests.eight_graphs import dequantised, layer, requantised, scaled, whole
from tests.eight_graphs import product as short
from tests.test_lower_mma import error, simulate

SHAPES = [(1, 16, 16), (64, 32, 128), (127, 128, 112), (129, 144, 144), (130, 272, 272), (13, 48, 272)]


def only(g: Graph) -> tuple[Tensor, ...]:
    """The outputs of the one kernel that a graph becomes for matrix units."""
    (kernel,) = pipeline.extract(g, costs=Costs(MATRIX_UNITS)).program.kernels
    return kernel.outputs


def best(outputs: tuple[Tensor, ...]) -> Schedule:
    found = device_schedules(outputs)[0]
    assert found.shape == "mma"
    return found


def run(g: Graph, seed: int = 0, **options: Any) -> tuple[Any, Any]:
    """What the kernel of a graph gives in NumPy, and what the interpreter does."""
    outputs, inputs = only(g), sample_inputs(g, {}, edge=False, seed=seed)
    (name,) = (t.name for t in g.outputs)
    kernel = lower_mma("eight", outputs, best(outputs))
    return simulate(outputs, kernel, inputs, **options)[name], interpret(g, inputs)[name]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("types", [("i8", "i8"), ("u8", "u8"), ("u8", "i8"), ("i8", "u8")])
def test_sums_of_integers_are_exact(shape: tuple[int, int, int], types: tuple[str, str]) -> None:
    got, wanted = run(whole(*shape, *types))
    assert wanted.dtype == np.int32 and np.abs(wanted).max() > 1000
    assert np.array_equal(got, wanted)


@pytest.mark.parametrize("order", ["early", "late", "random"])
def test_copies_may_land_at_any_time(order: str) -> None:
    got, wanted = run(whole(130, 144, 656), order=order)
    assert np.array_equal(got, wanted)


def test_sums_wrap_as_integers_do() -> None:
    """Twice 2^30 is more than an i32 holds: units and interpreter agree on what is left."""
    g = whole(64, 32, 66064, "u8", "u8")
    outputs = only(g)
    inputs = {"A": np.full((64, 66064), 255, np.uint8), "B": np.full((32, 66064), 255, np.uint8)}
    got = simulate(outputs, lower_mma("eight", outputs, best(outputs)), inputs)["C"]
    wanted = interpret(g, inputs)["C"]
    assert 66064 * 255 * 255 > 1 << 32 and np.array_equal(got, wanted)


@pytest.mark.parametrize("make", [scaled, dequantised])
@pytest.mark.parametrize(("out", "close"), [("bf16", 5e-3), ("f16", 1e-3), ("f32", 1e-6)])
def test_a_quantised_layer_is_one_product_of_integers(make: Callable[..., Graph], out: str, close: float) -> None:
    """Scales, bias and relu are an epilogue, also where both operands are made real before they are multiplied."""
    g = make(130, 136, 208, out) if out != "f16" else make(130, 136, 208, "f32")
    outputs = only(g)
    kernel = lower_mma("eight", outputs, best(outputs))
    assert {(s.acc.type, s.b.stage.type) for s in statements(kernel.body) if isinstance(s, Mma)} == {("i32", "i8")}
    inputs = sample_inputs(g, {}, edge=False)
    got = simulate(outputs, kernel, inputs)["C"]
    assert error(got, interpret(g, inputs)["C"]) < close


@pytest.mark.parametrize("shape", [(129, 136, 144), (5, 34, 16), (200, 256, 272)])
def test_results_of_8_bits_leave_from_registers(shape: tuple[int, int, int]) -> None:
    got, wanted = run(requantised(*shape))
    assert np.unique(wanted).size > 10
    assert np.array_equal(got, wanted)


def test_an_operand_that_lies_across_is_turned_before() -> None:
    """Bytes are multiplied along the contraction only: a kernel of its own copies what lies otherwise."""
    program = pipeline.extract_for("cuda", whole(4096, 4096, 4096, across=True), Limits()).program
    assert [k.name for k in program.kernels] == ["B_turned", "C"]
    schedules = pipeline.choose_schedules(program, "cuda")
    assert schedules["C"].shape == "mma" and schedules["B_turned"].shape != "mma"
    outputs = only(whole(128, 128, 128, across=True))
    p = plan(outputs)
    assert p.column is not None
    text = f"mma tile={p.row.name}:128,{p.column.name}:128 fold={p.stream.name}:stream:128 consumers=2 stages=2"
    with pytest.raises(Refused, match="'B' is not contiguous along the contraction, as operands of 8 bits have to be"):
        lower_mma("eight", outputs, parse_schedule(text))


def _pair(m: int, n: int, k: int, of: str, as_: str, other: str = "i8") -> Graph:
    a, b = te.input("A", (m, k), of), te.input("B", (n, k), other)
    i, j, c = te.index("i", m), te.index("j", n), te.index("k", k)
    cast = (lambda x: x) if not as_ else (lambda x: e.cast(x, as_))
    total = te.sum(c, cast(a[i, c]) * cast(b[j, c]))
    return graph("pair", te.tensor("C", (i, j), e.cast(total, "real"), "f32"))


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: _pair(64, 64, 64, "i8", ""), "not a factor of rows times a read"),  # i8 · i8 wraps at 8 bits
        (lambda: _pair(64, 64, 64, "i8", "i64"), "not a factor of rows times a read"),
        (lambda: _pair(64, 64, 64, "i16", "i32"), "with something else"),
        (lambda: _pair(64, 64, 33040, "u8", "real", "u8"), "32 bits may not hold"),
        (lambda: _pair(64, 64, 131072, "i8", "real"), "32 bits may not hold"),
    ],
)
def test_what_units_would_not_add_up_exactly_is_refused(make: Callable[[], Graph], why: str) -> None:
    with pytest.raises(Refused, match=why):
        plan(make().outputs)


@pytest.mark.parametrize(("k", "of"), [(33008, "u8"), (131056, "i8")])
def test_reals_are_integers_while_32_bits_hold_their_sums(k: int, of: str) -> None:
    assert plan(_pair(64, 64, k, of, "real", of).outputs).accumulates == "i32"


def _mma(n: int, a: str = "i8", b: str = "i8", major: str = "k", acc: str = "i32") -> Mma:
    left, right = Stage("a", a, 1, 64), Stage("b", b, 1 if major == "k" else -(-n // 128), 256)
    return Mma(
        Buffer("acc", acc, "register", affine(n // 2)),
        Tile(left, number(0), "k", number(0)),
        Tile(right, number(0), major, number(0)),
        4,
        Literal(True, "bool"),
    )


@pytest.mark.parametrize(("a", "b"), [("i8", "i8"), ("u8", "u8"), ("i8", "u8"), ("u8", "i8")])
def test_instructions_of_integers_have_no_signs_and_no_majors(a: str, b: str) -> None:
    text = product(_mma(256, a, b)).wrapper()
    kinds = {"i8": "s8", "u8": "u8"}
    assert f"m64n256k32.s32.{kinds[a]}.{kinds[b]} " in text
    assert text.count('"+r"') == 128 and re.search(r"%129, p;", text)


def test_every_width_of_a_product_of_integers_compiles() -> None:
    widths = [n for n in range(8, 257, 8) if n <= 32 or n % 16 == 0]
    shapes = [Product(b, n, "k", "k", a) for n in widths for a, b in (("i8", "i8"), ("u8", "i8"))]
    body = "\n".join(f"    {{ int d[{p.n // 2}] = {{}}; {p.name}(d, x, x, 0); out[{p.n}] = d[0]; }}" for p in shapes)
    kernel = f'extern "C" __global__ void all(te_u64 x, int *out) {{\n{body}\n}}\n'
    assert "error" not in compiled("\n".join([cuda.prelude(), *(p.wrapper() for p in shapes), kernel]))


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (_mma(40), "40 columns"),
        (_mma(64, acc="f32"), "into f32"),
        (_mma(64, major="mn"), "do not lie along the contraction"),
        (_mma(64, a="bf16"), "bf16 and i8"),
    ],
)
def test_products_of_integers_that_the_chip_lacks_are_refused(broken: Mma, what: str) -> None:
    with pytest.raises(CodegenError, match=what):
        product(broken)


def sources(g: Graph) -> list[Kernel]:
    kernels = pipeline.extract_for("cuda", g, Limits()).program.kernels
    return [lower_mma(k.name, k.outputs, best(k.outputs)) for k in kernels]


@pytest.mark.parametrize("rows", [16, 4096])
def test_a_gpu_gets_the_layer_of_the_library_as_a_product_of_integers(rows: int) -> None:
    (kernel,) = pipeline.extract_for("cuda", dequantised(rows, 4096, 4096), Limits()).program.kernels
    assert best(kernel.outputs).shape == "mma" and plan(kernel.outputs).accumulates == "i32"


@pytest.mark.parametrize(
    "make",
    [
        lambda: whole(4096, 4096, 4096),
        lambda: scaled(4096, 4096, 4096),
        lambda: dequantised(4096, 4096, 4096, "f32"),
        lambda: whole(16, 4096, 4096),
    ],
)
def test_large_products_of_integers_compile_without_spills(make: Callable[[], Graph]) -> None:
    check_clean(compiled(cuda.source(*sources(make()))))


# floats of 8 bits

FLOATS = [("f8e4m3", "f8e4m3"), ("f8e5m2", "f8e5m2"), ("f8e4m3", "f8e5m2")]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("types", FLOATS)
def test_products_of_short_floats_agree(shape: tuple[int, int, int], types: tuple[str, str]) -> None:
    got, wanted = run(short(*shape, *types, "f32"))
    assert error(got, wanted) < 1e-6


@pytest.mark.parametrize(("out", "close"), [("bf16", 5e-3), ("f16", 1e-3), ("f8e4m3", 4e-2)])
def test_results_of_short_floats_are_stored_as_asked(out: str, close: float) -> None:
    got, wanted = run(short(130, 144, 272, out=out))
    assert 0 < error(got, wanted) < close


def test_a_layer_of_short_floats_is_one_kernel() -> None:
    got, wanted = run(layer(130, 136, 272))
    assert error(got, wanted) < 5e-3


def test_instructions_of_short_floats_have_signs_and_no_majors() -> None:
    text = product(_mma(256, "f8e4m3", "f8e5m2", acc="f32")).wrapper()
    assert "m64n256k32.f32.e4m3.e5m2 " in text and '"%128, %129, p, 1, 1;' in text
    with pytest.raises(CodegenError, match="f8e4m3 and i8"):
        product(_mma(64, "f8e4m3", "i8"))


def test_short_floats_are_not_multiplied_with_longer_ones_or_scaled_on_their_way() -> None:
    a, b, s = te.input("A", (64, 64), "f8e4m3"), te.input("B", (64, 64), "bf16"), te.input("s", (64,), "f32")
    c, (i, j, k) = te.input("C", (64, 64), "f8e4m3"), te.indices("i j k")
    for total, why in (
        (te.sum(k, a[i, k] * b[j, k]), "types bf16, f8e4m3"),
        (te.sum(k, (a[i, k] * s[k]) * c[j, k]), "not multiplied as they stand"),
    ):
        with pytest.raises(Refused, match=why):
            plan(graph("g", te.tensor("O", (i, j), total, "f32")).outputs)


@pytest.mark.parametrize("make", [lambda: short(4096, 4096, 4096), lambda: layer(4096, 4096, 4096)])
def test_large_products_of_short_floats_compile_without_spills(make: Callable[[], Graph]) -> None:
    check_clean(compiled(cuda.source(*sources(make()))))


def _imported(zero: int, size: int) -> Graph:
    """MatMulInteger of u8 and i8 whose left zero point is a constant."""
    onnx = pytest.importorskip("onnx")
    from tang_egg.importers.onnx import load_onnx

    helper, kinds, side = onnx.helper, onnx.TensorProto, [size, size]
    node = helper.make_node("MatMulInteger", ["A", "B", "za", "zb"], ["Y"])
    values = [helper.make_tensor_value_info(n, k, side) for n, k in (("A", kinds.UINT8), ("B", kinds.INT8))]
    result = [helper.make_tensor_value_info("Y", kinds.INT32, side)]
    zeros = [
        onnx.numpy_helper.from_array(np.array(zero, np.uint8), "za"),
        onnx.numpy_helper.from_array(np.zeros(size, np.int8), "zb"),
    ]
    model = helper.make_model(helper.make_graph([node], "g", values, result, zeros))
    return load_onnx(model).graph


@pytest.mark.parametrize(("zero", "shape"), [(0, "mma"), (3, "tile")])
def test_imported_products_without_zero_points_are_products_of_integers(zero: int, shape: str) -> None:
    program = pipeline.extract_for("cuda", _imported(zero, 1024), Limits()).program
    assert pipeline.choose_schedules(program, "cuda")["Y"].shape == shape
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 256, (16, 16), np.uint8), rng.integers(-128, 128, (16, 16), np.int8)
    wanted = (a.astype(np.int32) - zero) @ b.astype(np.int32)
    assert np.array_equal(interpret(_imported(zero, 16), {"A": a, "B": b})["Y"], wanted)
