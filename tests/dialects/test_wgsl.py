"""WGSL: golden kernels, the laws table on a device of WebGPU, types packed in words, functions, limits and errors."""

from __future__ import annotations

import numpy as np
import pytest

import tang_egg as te
from tang_egg.affine import affine, index
from tang_egg.assemble import graph
from tang_egg.codegen.dialects import wgsl
from tang_egg.errors import CodegenError, TargetError
from tang_egg.ir import EVERYWHERE, Const, Graph, Input, Read, Reduce, Tensor, apply
from tang_egg.monoid import MAX, SUM, sum_of
from tang_egg.pipeline import sources
from tang_egg.run_wgpu_device import complaint, device
from tests import wgpu_cases as cases
from tests.conftest import GOLDEN, Golden
from tests.dialects import test_glsl

LANGUAGE = "wgsl"
TYPES = (*cases.INTEGERS, "bool", "f32", "f16", "bf16")


@pytest.mark.parametrize("name", cases.GOLDEN)
def test_printed_kernels(name: str, golden: Golden) -> None:
    for kernel, text in cases.printed(LANGUAGE, name).items():
        golden(f"{name}/{LANGUAGE}/{kernel}.{LANGUAGE}", text)


def test_every_golden_kernel_is_still_printed() -> None:
    kept = {f"{p.parts[-3]}/{p.stem}" for p in GOLDEN.glob(f"*/{LANGUAGE}/*")}
    assert kept == {f"{name}/{kernel}" for name in cases.GOLDEN for kernel in cases.printed(LANGUAGE, name)}


@pytest.mark.parametrize(("name", "dtype", "which"), cases.SAMPLE)
def test_rows_of_the_table(name: str, dtype: str, which: int) -> None:
    cases.check_row(LANGUAGE, name, dtype, which)


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "dtype", "which"), cases.all_rows())
def test_all_rows_of_the_table(name: str, dtype: str, which: int) -> None:
    cases.check_row(LANGUAGE, name, dtype, which)


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("schedule", ["point grid=i0", "split grid=i0 warp=i1 fold=i1:warp"])
def test_sizes_at_boundaries(dtype: str, schedule: str) -> None:
    cases.check_sizes(LANGUAGE, dtype, schedule)


def test_register_tiles_at_boundaries() -> None:
    cases.check_tiles(LANGUAGE)


@pytest.mark.parametrize("op", cases.RANGES)
def test_functions_are_accurate_and_right_at_the_ends(op: str) -> None:
    cases.check_function(LANGUAGE, op)


def test_floats_are_rounded_to_the_nearest_of_16_bits() -> None:
    cases.check_rounding(LANGUAGE)


def test_angles() -> None:
    cases.check_angle(LANGUAGE)


def test_maximum_minimum_and_comparisons_with_nan() -> None:
    cases.check_extremes(LANGUAGE)


@pytest.mark.parametrize("type", cases.INTEGERS)
def test_integers(type: str) -> None:
    cases.check_integers(LANGUAGE, type)


@pytest.mark.parametrize("type", TYPES)
def test_casts(type: str) -> None:
    cases.check_casts(LANGUAGE, type)


@pytest.mark.parametrize("type", TYPES)
def test_arrays_of_parts_of_words(type: str) -> None:
    cases.check_copies(LANGUAGE, type)


def test_more_blocks_than_one_dimension_of_a_grid_has() -> None:
    n = 64 * 65536 + 77
    i = index("i", n)
    a = Input("a", (affine(n),), "u8")
    g = Graph("long", (a,), (Tensor("y", (i,), apply("add", Read(a, (affine(i),)), Const(7, "u8")), "u8"),))
    runner = cases.compiled(LANGUAGE, g)
    data = np.random.default_rng(0).integers(0, 256, n, dtype=np.uint8)
    np.testing.assert_array_equal(runner({"a": data}, fill=0xFF)["y"], data + np.uint8(7))


def test_a_grid_of_two_dimensions_covers_every_block() -> None:
    """One thread for each block of points that a warp has: more rows than a dimension holds."""
    n = 65535 + 131
    i, j = index("i", n), index("j", 33)
    a = Input("a", (affine(n), affine(33)))
    fold = Reduce(SUM, (j,), EVERYWHERE, (Read(a, (affine(i), affine(j))),))
    runner = cases.compiled(LANGUAGE, Graph("rows", (a,), (Tensor("y", (i,), fold),)), "split grid=i fold=j:warp")
    data = np.random.default_rng(0).integers(-9, 9, (n, 33)).astype(np.float32)
    np.testing.assert_array_equal(runner({"a": data}, fill=0xFF)["y"], data.sum(1))


@pytest.mark.parametrize("language", ["wgsl", "glsl"])
def test_states_that_are_too_large_for_a_thread_lie_in_a_workspace(language: str) -> None:
    i, j, k = index("i", 3), index("j", 9001), index("k", 5)
    a, b = Input("a", (affine(3), affine(5))), Input("b", (affine(5), affine(9001)))
    term = apply("mul", Read(a, (affine(i), affine(k))), Read(b, (affine(k), affine(j))))
    g = Graph("wide", (a, b), (Tensor("y", (i, j), Reduce(SUM, (k,), EVERYWHERE, (term,))),))
    runner = cases.compiled(language, g, "point grid=i tile=j:*")
    assert "te_scratch[te_at_" in runner.source
    x, y = (np.random.default_rng(n).integers(-9, 9, s).astype(np.float32) for n, s in enumerate([(3, 5), (5, 9001)]))
    np.testing.assert_array_equal(runner({"a": x, "b": y}, fill=0xFF)["y"], x @ y)


def test_a_donated_input_is_updated_in_place() -> None:
    n = 77
    i = index("i", n)
    a, b = Input("a", (affine(n),), "f16"), Input("b", (affine(n),), "f16")
    body = apply("add", Read(a, (affine(i),)), Read(b, (n - 1 - affine(i),)))
    g = Graph("update", (a, b), (Tensor("y", (i,), body, "f16", "a"),))
    x, y = (np.random.default_rng(k).integers(-99, 99, n).astype(np.float16) for k in range(2))
    held = x.copy()
    got = cases.compiled(LANGUAGE, g)({"a": held, "b": y})["y"]
    np.testing.assert_array_equal(got, x + y[::-1])
    np.testing.assert_array_equal(held, x + y[::-1])


def test_a_prepared_program_reads_its_arrays_anew_and_keeps_its_buffers() -> None:
    x = te.input("X", (13, 17), "bf16")
    prepared = te.optimize(graph("double", Y=te.pointwise(lambda v: v + v, x)), target=LANGUAGE).prepare(
        np.arange(13 * 17, dtype=np.float32).reshape(13, 17)
    )
    prepared()
    prepared()
    got = (np.asarray(prepared.outputs["Y"]).astype(np.uint32) << 16).view(np.float32)
    want = 2 * np.arange(13 * 17, dtype=np.float32).reshape(13, 17)
    np.testing.assert_allclose(got, want, rtol=8e-3)


def test_infinities_and_nan_come_through() -> None:
    x = te.input("X", (5, 41))
    compiled = te.optimize(graph("rows", P=te.softmax(x)), target=LANGUAGE, values="ieee")
    data = np.random.default_rng(0).normal(size=(5, 41)).astype(np.float32)
    data[1, 3], data[2, :], data[3, 7], data[4, 9] = np.nan, -np.inf, np.inf, -np.inf
    with np.errstate(all="ignore"):
        weight = np.exp(data.astype(np.float64) - data.max(1, keepdims=True))
        want = weight / weight.sum(1, keepdims=True)
    np.testing.assert_allclose(np.asarray(compiled(data)), want, rtol=1e-5, atol=1e-30)


RESERVED = (
    "max",
    "fn",
    "array",
    "let",
    "f32",
    "select",
    "te_lane",
    "output",
    "texture",
    "floatBitsToUint",
    "_",
    "main",
)


def test_names_that_the_language_keeps_for_itself() -> None:
    for name in RESERVED:
        i, j = index(name, 6), index("loop", 3)
        a = Input(name, (affine(6), affine(3)), "bf16")
        body = apply("exp", Reduce(MAX, (j,), EVERYWHERE, (Read(a, (affine(i), affine(j))),)))
        data = np.zeros((6, 3), np.uint16)
        got = cases.compiled(LANGUAGE, Graph("names", (a,), (Tensor("var", (i,), body),)))({name: data})["var"]
        np.testing.assert_array_equal(got, np.ones(6, np.float32))


# ---- what is printed ----


def test_a_source_has_only_the_functions_that_its_kernel_needs() -> None:
    i = index("i", 8)
    a = Input("a", (affine(8),))
    text = sources(Graph("plain", (a,), (Tensor("y", (i,), apply("sqrt", Read(a, (affine(i),)))),)), target=LANGUAGE)
    assert "te_exp" not in text["y"] and "vec2" not in text["y"] and "te_lanes" not in text["y"]


def test_short_loops_over_registers_are_written_out() -> None:
    text = cases.printed(LANGUAGE, "matmul")["C"]
    assert "let i0_e = 3;" in text and "for (var i0_e" not in text and "for (var i2: i32 = 0; i2 < 40" in text


def test_lanes_exchange_in_blocks_of_one_warp() -> None:
    i, j = index("i", 8), index("j", 64)
    a = Input("a", (affine(8), affine(64)))
    fold = Reduce(SUM, (j,), EVERYWHERE, (Read(a, (affine(i), affine(j))),))
    g = Graph("rows", (a,), (Tensor("y", (i,), fold),))
    (text,) = sources(g, target=LANGUAGE, schedule={"y": "split grid=i0 fold=i1:warp"}).values()
    assert "@workgroup_size(32)" in text and "var<workgroup> te_lanes: array<u32, 32>" in text
    assert text.count("workgroupBarrier();") == 2
    assert "let te_group = 0;" in text and "let warp: i32 = 0;" in text, "the language asks that rows be uniform"


# ---- errors ----


def test_f64_is_refused() -> None:
    i = index("i", 8)
    a = Input("a", (affine(8),), "f64")
    g = Graph("wide", (a,), (Tensor("y", (i,), Read(a, (affine(i),)), "f64"),))
    with pytest.raises(CodegenError) as raised:
        sources(g, target=LANGUAGE)
    assert "computes in f64, which the words of this target do not hold" in str(raised.value)
    assert "mend:  declare the tensors as f32, or use a target that has f64: c or cuda" in str(raised.value)


def test_more_arrays_than_the_device_binds() -> None:
    on = cases.device(LANGUAGE)
    n = on.buffers + 1
    i = index("i", 4)
    given = tuple(Input(f"a{k}", (affine(4),)) for k in range(n))
    body = Read(given[0], (affine(i),))
    for a in given[1:]:
        body = apply("add", body, Read(a, (affine(i),)))  # type: ignore[assignment]
    with pytest.raises(TargetError) as raised:
        cases.compiled(LANGUAGE, Graph("many", given, (Tensor("y", (i,), body),)))
    assert f"kernel 'y' reads and writes {n + 1} arrays, and the device binds {on.buffers}" in str(raised.value)
    assert "mend:  split the graph" in str(raised.value)


def test_a_loop_that_the_driver_would_end_early() -> None:
    on = cases.device(LANGUAGE)
    if not on.limited:
        pytest.skip("this driver ends no loops")
    i, j = index("i", 2), index("j", 70000)
    a = Input("a", (affine(2), affine(70000)), "i8")
    fold = Reduce(sum_of("i32"), (j,), EVERYWHERE, (apply("cast:i32", Read(a, (affine(i), affine(j)))),))
    g = Graph("long", (a,), (Tensor("y", (i,), fold, "i32"),))
    data = np.ones((2, 70000), np.int8)
    with pytest.raises(TargetError) as raised:
        cases.compiled(LANGUAGE, g, "point grid=i")({"a": data})
    assert "a thread of kernel 'y' may run 70001 turns of loops, and this driver ends them at 65535" in str(
        raised.value
    )
    np.testing.assert_array_equal(
        cases.compiled(LANGUAGE, g, "split grid=i fold=j:warp")({"a": data})["y"], [70000] * 2
    )


def test_a_source_that_does_not_compile_shows_its_line() -> None:
    on = cases.device(LANGUAGE)
    with pytest.raises(TargetError) as raised:
        on._pipeline("bad", "@compute @workgroup_size(1)\nfn main() {\n    let x: i32 = 1.5;\n}\n", "main", (), False)
    said = str(raised.value)
    assert said.startswith("the WGSL of kernel 'bad' does not compile: ") and "; line 3: let x: i32 = 1.5;" in said
    assert f"where: {on.title}" in said and "mend:  report the source" in said


def test_complaints_name_a_line_or_none() -> None:
    assert complaint("error: oh\n  at wgsl:2:5", "a\n  b c\n") == "error: oh; line 2: b c"
    assert complaint("no place", "a\n") == "no place"


def test_an_adapter_that_is_not_there() -> None:
    cases.device(LANGUAGE)
    with pytest.raises(TargetError) as raised:
        device(LANGUAGE, "no such adapter")
    assert "no adapter of WebGPU is called 'no such adapter'" in str(raised.value)
    assert "where: the environment: TANG_WGPU_ADAPTER; adapters: " in str(raised.value)
    assert "mend:  set TANG_WGPU_ADAPTER to a part of one of these names, or unset it" in str(raised.value)


def test_a_buffer_that_there_is_no_memory_for() -> None:
    on = cases.device(LANGUAGE)
    with pytest.raises(te.TangError) as raised:
        on.empty(1 << 60)
    assert f"there is no memory for {1 << 60} bytes" in str(raised.value)
    assert "mend:  bind smaller dimensions" in str(raised.value)


def test_both_languages_have_the_same_functions() -> None:
    assert set(wgsl._functions("words.wgsl")) == set(wgsl._functions("words.glsl")) == test_glsl.FUNCTIONS
