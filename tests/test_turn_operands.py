"""Products of f32 on matrix units whose operands do not lie along the contraction, in the NumPy meaning of kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from bench.cuda_graphs import block
from tang_egg import expression as e
from tang_egg import layers, library
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.codegen import split_fold
from tang_egg.codegen.candidates_device import device_schedules, planned
from tang_egg.codegen.device import LoadTile, Packed, Stage, StoreTile
from tang_egg.codegen.device_layout import accumulator_place, element_byte, single_place, turned_address
from tang_egg.codegen.kernel import statements
from tang_egg.codegen.lower_mma import lower_mma
from tang_egg.codegen.merge_folds import merge_folds
from tang_egg.codegen.mma_memory import lying_across
from tang_egg.codegen.mma_operand import Refused
from tang_egg.codegen.mma_plan import plan
from tang_egg.codegen.partition import has_products, partition
from tang_egg.codegen.turn_operands import copies, turn_operands
from tang_egg.cost.roofline import MATRIX_UNITS, Costs
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Tensor
from tang_egg.pipeline import extract, extract_for, sources
from tang_egg.program import Program
from tang_egg.saturate import Limits
from tang_egg.verify import sample_inputs
from tests.cuda_compile import compiled, spills
from tests.mma_graphs import multiply
from tests.test_lower_mma import CLOSE, error, simulate


def program_of(g: Graph) -> Program:
    return extract(g, costs=Costs(MATRIX_UNITS)).program


def cut(g: Graph) -> Program:
    """The program as it is for tf32, with its products in as few kernels as matrix units allow."""
    return turn_operands(merge_folds(partition(program_of(g)), True))


def check(g: Graph, program: Program, **options: object) -> None:
    """Every product of a program runs on matrix units, and all of it gives what the graph says."""
    inputs = sample_inputs(g, {}, edge=False)
    given = dict(inputs)
    for k in program.kernels:
        exact = interpret(Graph("k", g.inputs, k.outputs), inputs)
        if has_products(k.outputs):
            schedule = device_schedules(k.outputs, precise=False)[0]
            assert schedule.shape == "mma"
            kernel = lower_mma(k.name, k.outputs, schedule)
            got = simulate(k.outputs, kernel, given, **options)  # type: ignore[arg-type]
            assert max(error(got[n], exact[n]) for n in got) < CLOSE["f32"]
        given |= {n: x.astype(np.float32) for n, x in exact.items()}
    wanted, last = interpret(g, inputs), interpret(program.graph, inputs)
    for n, x in wanted.items():
        np.testing.assert_allclose(last[n], x, rtol=1e-9, atol=1e-12)


def along_rows(m: int, n: int, k: int) -> Graph:
    """Both operands contiguous along their other index."""
    a, b = te.input("A", (k, m)), te.input("B", (k, n))
    i, j, c = te.index("i", m), te.index("j", n), te.index("c", k)
    return graph("along_rows", te.tensor("C", (i, j), te.sum(c, a[c, i] * b[c, j]), "f32"))


def left_across(m: int, n: int, k: int) -> Graph:
    a, b = te.input("A", (k, m)), te.input("B", (n, k))
    i, j, c = te.index("i", m), te.index("j", n), te.index("c", k)
    return graph("left_across", te.tensor("C", (i, j), te.sum(c, a[c, i] * b[j, c]), "f32"))


def attend(n: int, m: int, d: int, **options: object) -> Graph:
    q, k, v = te.input("Q", (1, 2, n, d)), te.input("K", (1, 2, m, d)), te.input("V", (1, 2, m, d))
    return graph("attend", O=layers.attention(q, k, v, **options))  # type: ignore[arg-type]


SIZES = [(1, 4, 4), (127, 60, 28), (128, 64, 32), (129, 68, 36), (257, 132, 100), (13, 196, 252)]


@pytest.mark.parametrize(("m", "n", "k"), SIZES)
def test_a_right_operand_that_lies_across_comes_through_registers(m: int, n: int, k: int) -> None:
    """The product is computed the other way round, and leaves across its tiles; there is no further kernel."""
    g = multiply(m, n, k, False, "f32")
    program = cut(g)
    assert len(program.kernels) == 1
    p = plan(program.kernels[0].outputs)
    assert p.turned
    assert p.copied
    assert not p.direct
    check(g, program, order="random", seed=m)


@pytest.mark.parametrize(("m", "n", "k"), [(4, 1, 4), (60, 127, 28), (132, 257, 100)])
def test_a_left_operand_that_lies_across_comes_through_registers(m: int, n: int, k: int) -> None:
    g = left_across(m, n + (-n) % 4, k)
    program = cut(g)
    assert len(program.kernels) == 1
    assert not plan(program.kernels[0].outputs).turned
    check(g, program)


def test_of_two_operands_that_lie_across_one_is_copied() -> None:
    g = along_rows(256, 256, 512)
    program = cut(g)
    assert [len(k.outputs) for k in program.kernels] == [1, 1]
    assert [t.name for t in copies(program)] == ["B_turned"]
    check(g, program)
    assert turn_operands(program) is program


def test_a_copy_that_does_not_pay_is_not_made() -> None:
    g = along_rows(64, 64, 64)
    before = merge_folds(partition(program_of(g)), True)
    assert lying_across(plan(before.kernels[0].outputs))
    assert turn_operands(before) is before


@pytest.mark.parametrize(
    ("n", "m", "d", "options"),
    [
        (1, 4, 64, {}),
        (127, 128, 40, {}),
        (128, 132, 64, {}),
        (130, 200, 128, {}),
        (257, 260, 64, {"causal": True}),
        (260, 260, 64, {"causal": True, "window": 70}),
        (200, 200, 64, {"soft_cap": 20.0}),
    ],
)
def test_weights_of_attention_stay_in_registers(n: int, m: int, d: int, options: dict[str, object]) -> None:
    g = attend(n, m, d, **options)
    program = cut(g) if n > 1 else _turned_anyway(g)
    assert [t.name for t in copies(program)] == ["V_turned"]
    assert len(program.kernels) == 2
    check(g, program, order="early" if n % 2 else "late")


def _turned_anyway(g: Graph) -> Program:
    """The program of a graph whose values are turned where that is not worth it."""
    from tang_egg.codegen.turn_operands import _across, _copied

    program = program_of(g)
    operand = _across(program.kernels[0].outputs, True)
    assert operand is not None
    return _copied(program, 0, operand)


def test_tiles_have_half_the_rows_where_few_of_them_take_long() -> None:
    g = multiply(130, 64, 576, True, "f32")
    (kernel,) = cut(g).kernels
    row, stream = (getattr(plan(kernel.outputs), x).name for x in ("row", "stream"))
    schedule = device_schedules(kernel.outputs, precise=False)[0]
    assert (schedule.consumers, schedule.tile_of(row), schedule.fold_of(stream).size) == (1, 64, 32)
    check(g, cut(g))
    short = cut(multiply(130, 64, 128, True, "f32")).kernels[0].outputs
    assert device_schedules(short, precise=False)[0].consumers == 2


@pytest.mark.parametrize("limit", ["i", "j"])
@pytest.mark.parametrize("across", ["left", "right"])
def test_domains_of_products_through_registers(limit: str, across: str) -> None:
    """Masks are made for the rows of tiles; a domain that changes along their columns is for plain threads."""
    left = across == "left"
    a, b = te.input("A", (136, 200) if left else (200, 136)), te.input("B", (72, 136) if left else (136, 72))
    i, j, c = te.index("i", 200), te.index("j", 72), te.index("c", 136)
    x = a[c, i] * b[j, c] if left else a[i, c] * b[c, j]
    g = graph("limited", te.tensor("C", (i, j), te.sum(c, x, where=c <= (i if limit == "i" else j)), "f32"))
    program = cut(g)
    if left == (limit == "i"):
        assert not copies(program)
        check(g, program)
    else:
        (kernel,) = program.kernels
        assert device_schedules(kernel.outputs, precise=False)[0].shape != "mma"


def test_a_domain_along_the_columns_is_refused() -> None:
    a, b = te.input("A", (200, 136), "bf16"), te.input("B", (72, 136), "bf16")
    i, j, c = te.index("i", 200), te.index("j", 72), te.index("c", 136)
    g = graph("limited", te.tensor("C", (i, j), te.sum(c, e.exp(a[i, c]) * b[j, c], where=c <= j), "bf16"))
    with pytest.raises(Refused, match="changes along the columns"):
        plan(program_of(g).kernels[0].outputs)


def test_attention_may_leave_across() -> None:
    q, k, v = te.input("Q", (2, 200, 64)), te.input("K", (2, 132, 64)), te.input("V", (2, 40, 132))
    h, i, j, c, d = (te.index(x, n) for x, n in (("h", 2), ("i", 200), ("j", 132), ("c", 40), ("d", 64)))
    scores = te.tensor(None, (h, i, j), te.sum(d, q[h, i, d] * k[h, j, d]) * 0.125, "f32")
    weights = library.softmax(scores)
    g = graph("across", te.tensor("O", (h, c, i), te.sum(j, weights[h, i, j] * v[h, c, j]), "f32"))
    program = cut(g)
    (kernel,) = program.kernels
    p = plan(kernel.outputs)
    assert p.turned
    assert p.contractions
    assert not device_schedules(kernel.outputs, precise=False)[0].reuse
    check(g, program)


def normed() -> Graph:
    x, s, w = te.input("X", (300, 136)), te.input("g", (136,)), te.input("W", (72, 136))
    return graph("normed", Y=library.linear(library.rms_norm(x, s), w, transposed=True))


def biased() -> Graph:
    x, w, b = te.input("X", (200, 128)), te.input("W", (128, 136)), te.input("b", (136,))
    return graph("biased", Y=library.pointwise(e.gelu, library.linear(x, w, b)))


def gated() -> Graph:
    x, w, u = te.input("X", (200, 192)), te.input("G", (192, 256)), te.input("U", (192, 256))
    return graph("gated", H=layers.swiglu(x, w, u))


def batched() -> Graph:
    a, b = te.input("A", (3, 70, 72)), te.input("B", (3, 72, 136))
    return graph("batched", C=library.matmul(a, b))


@pytest.mark.parametrize("made", [normed, biased, gated, batched])
def test_other_products(made: Callable[[], Graph]) -> None:
    g = made()
    program = cut(g)
    assert not copies(program)
    check(g, program)


def projected(n: int, heads: int, width: int, normal: bool) -> Graph:
    """Attention whose values are a projection of what may be normalised first."""
    x, wv = te.input("X", (n, width)), te.input("Wv", (heads * 64, width))
    q, k = (te.input(name, (1, heads, n, 64)) for name in "QK")
    y = library.rms_norm(x, te.input("g", (width,))) if normal else x
    b, h, i, d, c = te.index("b", 1), te.index("h", heads), te.index("i", n), te.index("d", 64), te.index("c", width)
    v = te.tensor(None, (b, h, i, d), te.sum(c, y[i, c] * wv[h * 64 + d, c]), "f32", hint="v")
    return graph("projected", O=layers.attention(q, k, v, causal=True))


@pytest.mark.parametrize("normal", [False, True])
def test_who_makes_an_operand_writes_it_turned(normal: bool) -> None:
    """What is computed from rows is seen with its columns across the tiles, and leaves so."""
    g = projected(132, 2, 128, normal)
    program = extract_for("cuda", g, Limits(), products="tf32").program
    assert not copies(program)
    (v,) = (t for t in program.tensors if t.name.startswith("v"))
    assert [i.size.value for i in v.axes] == [1, 2, 64, 132]
    assert plan((v,)).turned is normal
    check(g, program)


def test_an_operand_that_is_an_output_is_copied() -> None:
    g = projected(132, 2, 128, False)
    (v,) = (t for t in extract_for("cuda", g, Limits()).program.tensors if t.name.startswith("v"))
    again = graph("kept", O=g.outputs[0], V=Tensor("V", v.axes, v.body))
    program = extract_for("cuda", again, Limits(), products="tf32").program
    assert [i.size.value for i in program.graph.outputs[1].axes] == [1, 2, 132, 64]
    assert len(copies(program)) <= 1
    check(again, program)


def test_shares_of_a_product_that_leaves_across(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_fold, "SHARE", 128)
    g = multiply(64, 128, 512, False, "f32")
    program = split_fold.split_streams(cut(g), 8, rounds=True)
    assert len(program.kernels) == 2
    assert plan(program.kernels[0].outputs).turned
    check(g, program)
    assert len(split_fold.split_streams(cut(g), 8).kernels) == 1


def test_a_block_has_its_products_on_matrix_units() -> None:
    program = extract_for("cuda", block(128, "f32"), Limits(), products="tf32").program
    assert len(program.kernels) == 9
    products = [k for k in program.kernels if has_products(k.outputs)]
    assert len(products) == 7
    assert all(planned(k.outputs, precise=False) is not None for k in products)


def test_where_fragments_lie() -> None:
    """Two exchanges take an accumulator's registers to an operand's; both hold every element once."""
    threads = np.arange(128)
    for place in (accumulator_place, single_place):
        cells = {(int(r), int(c)) for n in range(8) for r, c in zip(*place(threads, n), strict=True)}
        assert cells == {(r, c) for r in range(64) for c in range(16)}


@pytest.mark.parametrize("register", range(4))
def test_fragments_across_lines_meet_no_bank_twice(register: int) -> None:
    at = turned_address(np.arange(128), register, 1, 0, 32)
    row, column = accumulator_place(np.arange(128), register)
    assert (at == row // 32 * 4096 + element_byte(8 + column, row % 32, 4)).all()
    for warp in at.reshape(4, 32):
        assert len(set(warp // 4 % 32)) == 32


@pytest.mark.parametrize(
    "made", [lambda: multiply(4096, 4096, 4096, False, "f32"), lambda: attend(2048, 2048, 64, causal=True)]
)
def test_kernels_compile_without_spills(made: Callable[[], Graph]) -> None:
    for text in sources(made(), "cuda", products="tf32").values():
        said = compiled(text)
        assert spills(said) == 0
        assert "C75" not in said  # products that the compiler serializes


def test_what_registers_hold_is_said_by_the_kernel() -> None:
    outputs = cut(multiply(128, 64, 64, False, "f32")).kernels[0].outputs
    kernel = lower_mma("k", outputs, device_schedules(outputs, precise=False)[0])
    found = list(statements(kernel.body))
    assert {s.major for s in found if isinstance(s, LoadTile)} == {"mn"}
    assert {s.major for s in found if isinstance(s, StoreTile)} == {"mn"}
    assert all(isinstance(s.stage, Stage) and s.stage.type == "f32" for s in found if isinstance(s, StoreTile))
    assert any(isinstance(getattr(s, "a", None), Packed) for s in found)
    narrow = tuple(replace(t, dtype="bf16") for t in outputs)
    assert device_schedules(narrow, precise=False)[0].shape != "mma"
