"""GLSL: golden kernels, the laws table through the front end of wgpu, types in words, functions and errors."""

from __future__ import annotations

import numpy as np
import pytest

import tang_egg as te
from tang_egg.affine import affine, index
from tang_egg.assemble import graph
from tang_egg.codegen.dialects import glsl, wgsl
from tang_egg.errors import CodegenError, TargetError
from tang_egg.ir import EVERYWHERE, Graph, Input, Read, Reduce, Tensor, apply
from tang_egg.monoid import MAX
from tang_egg.pipeline import sources
from tests import wgpu_cases as cases
from tests.conftest import GOLDEN, Golden

LANGUAGE = "glsl"
FUNCTIONS = set(wgsl._functions("words.glsl"))


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


@pytest.mark.parametrize("type", ["i8", "u16", "u64", "bool", "f32", "f16", "bf16"])
def test_casts(type: str) -> None:
    cases.check_casts(LANGUAGE, type)


@pytest.mark.parametrize("type", ["i8", "u16", "i64", "bool", "f32", "bf16"])
def test_arrays_of_parts_of_words(type: str) -> None:
    cases.check_copies(LANGUAGE, type)


def test_names_that_the_language_keeps_for_itself() -> None:
    for name in ("buffer", "in", "uvec2", "floatBitsToUint", "barrier", "sample", "main", "mod", "vec4", "te_lane"):
        i, j = index(name, 6), index("loop", 3)
        a = Input(name, (affine(6), affine(3)), "bf16")
        body = apply("exp", Reduce(MAX, (j,), EVERYWHERE, (Read(a, (affine(i), affine(j))),)))
        data = np.zeros((6, 3), np.uint16)
        got = cases.compiled(LANGUAGE, Graph("names", (a,), (Tensor("out", (i,), body),)))({name: data})["out"]
        np.testing.assert_array_equal(got, np.ones(6, np.float32))


def test_small_types_are_written_loosely_and_packed_afterwards() -> None:
    i = index("i", 8)
    a = Input("a", (affine(8),), "f16")
    (text,) = sources(Graph("half", (a,), (Tensor("y", (i,), Read(a, (affine(i),)), "f16"),)), target=LANGUAGE).values()
    assert "readonly buffer te_b0 { uint a[]; }" in text and "te_unpack_u16(a[" in text and "atomic" not in text
    assert "packed_words[n] = ((loose[n * 2 + 0] & 0xffffu) << 0u)" in glsl.pack_source(16)


def test_optimised_programs_are_verified() -> None:
    x = te.input("X", (33, 65), "f16")
    compiled = te.optimize(graph("rows", P=te.softmax(x)), target=LANGUAGE)
    data = np.random.default_rng(0).normal(size=(33, 65)).astype(np.float16)
    weight = np.exp(data.astype(np.float64) - data.max(1, keepdims=True))
    np.testing.assert_allclose(np.asarray(compiled(data)), weight / weight.sum(1, keepdims=True), rtol=2e-3, atol=1e-5)
    assert compiled.source.startswith("// ==== ") and "#version 450" in compiled.source


def test_f64_is_refused() -> None:
    i = index("i", 8)
    a = Input("a", (affine(8),), "f64")
    with pytest.raises(CodegenError, match="computes in f64, which the words of this target do not hold"):
        sources(Graph("wide", (a,), (Tensor("y", (i,), Read(a, (affine(i),)), "f64"),)), target=LANGUAGE)


def test_a_source_that_does_not_compile_shows_its_line() -> None:
    on = cases.device(LANGUAGE)
    bad = "#version 450\nlayout(local_size_x = 1) in;\nvoid main() {\n    nothing(1);\n}\n"
    with pytest.raises(TargetError) as raised:
        on._pipeline("bad", bad, "main", (), False)
    said = str(raised.value)
    assert said.startswith("the GLSL of kernel 'bad' does not compile: ") and "; line 4: nothing(1);" in said
    assert "mend:  report the source, tang_egg.pipeline.sources(graph, 'glsl'), or use another target" in said
