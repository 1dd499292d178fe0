"""Floats of 8 bits: codes against PyTorch's, saturation, storage on the processor, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg import pipeline
from tang_egg.array_types import finfo, promote
from tang_egg.assemble import graph
from tang_egg.errors import ArtefactError, CodegenError, GraphError, InputError
from tang_egg.export import export_c
from tang_egg.interpret import interpret
from tang_egg.ops import cast_value
from tang_egg.ops_eight import EIGHT, TABLES, bits_of, numbers_of, rounded
from tang_egg.precision import round_to, values_of_codes
from tang_egg.targets import target as target_of
from tang_egg.text import parse_graph, print_graph
from tests.eight_graphs import product
from tests.eight_graphs import rounded as storing

TORCH = {"f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}
KINDS = pytest.mark.parametrize("kind", EIGHT)


def spread(n: int = 4096) -> Any:
    """Singles over all binades that 8 bits have, and beyond both ends."""
    rng = np.random.default_rng(3)
    return (rng.standard_normal(n) * np.exp2(rng.uniform(-22, 20, n))).astype(np.float32)


@KINDS
def test_codes_stand_for_the_numbers_that_others_say(kind: str) -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.arange(256, dtype=torch.uint8).view(getattr(torch, TORCH[kind])).double().numpy()
    assert np.array_equal(TABLES[kind], theirs, equal_nan=True)
    finite = np.isfinite(TABLES[kind])
    own = values_of_codes(kind.removeprefix("f8"))
    assert np.array_equal(TABLES[kind][finite], own[finite])


@KINDS
def test_numbers_in_range_round_as_elsewhere(kind: str) -> None:
    torch = pytest.importorskip("torch")
    largest = EIGHT[kind].largest
    x = np.clip(spread(), -largest, largest)
    positive = np.sort(TABLES[kind][:128][np.isfinite(TABLES[kind][:128])])
    ties = (positive[1:] + positive[:-1]) / 2  # halves of neighbours go to the even code
    for a in (x, ties.astype(np.float32), -ties.astype(np.float32)):
        theirs = torch.tensor(a).to(getattr(torch, TORCH[kind])).view(torch.uint8).numpy()
        assert np.array_equal(bits_of(a, kind), theirs)
    assert np.array_equal(rounded(x, kind), round_to(x, kind))


@KINDS
def test_every_number_is_its_own_rounding(kind: str) -> None:
    codes = np.arange(256, dtype=np.uint8)
    finite = np.isfinite(TABLES[kind])
    assert np.array_equal(bits_of(TABLES[kind][finite], kind), codes[finite])


@KINDS
def test_conversions_saturate_and_keep_nan(kind: str) -> None:
    f = EIGHT[kind]
    given = np.array([np.inf, -np.inf, 1e300, -2 * f.largest, np.nan, 5e-324, -0.0])
    found = cast_value(given, kind, "real")
    assert found[:4].tolist() == [f.largest, -f.largest, f.largest, -f.largest]
    assert np.isnan(found[4]) and found[5] == 0.0 and np.signbit(found[6])
    assert np.array_equal(round_to(given, kind), found, equal_nan=True)


@KINDS
def test_memory_holds_bits(kind: str) -> None:
    """C rounds, stores and reads as the tables say; floats, bits and arrays of ml_dtypes come in."""
    compiled = pipeline.optimize(storing(4103, kind), target="c")
    x = np.concatenate([spread(4096), np.float32([np.inf, -np.inf, np.nan, 0.0, -0.0, 448.0, 464.0])])
    y, z = (np.asarray(a) for a in compiled(x).values())
    assert y.dtype == np.uint8 and np.array_equal(y, bits_of(x, kind))
    twice = 2 * x.astype(np.float64)  # what a tensor is stored in is no part of its meaning
    near = np.isfinite(twice) & (np.abs(x) < EIGHT[kind].largest)
    assert np.allclose(z[near], twice[near], rtol=0.25, atol=2.0**-8)

    a, i = te.input("A", (256,), kind), te.index("i", 256)
    read = graph("read", te.tensor("B", i, a[i] * 1.0, "f32"))
    doubled = pipeline.optimize(read, target="c", verified=False)
    codes = np.arange(256, dtype=np.uint8)
    wanted = TABLES[kind].astype(np.float32)
    given = [codes, wanted]
    ml = pytest.importorskip("ml_dtypes")
    given.append(codes.view(getattr(ml, TORCH[kind])))
    for g in given:
        sane = np.ones(256, bool) if g is not wanted else np.isfinite(wanted)
        assert np.array_equal(np.asarray(doubled(g))[sane], wanted[sane], equal_nan=True)
        assert np.array_equal(interpret(read, {"A": g})["B"][sane], TABLES[kind][sane], equal_nan=True)
    with pytest.raises(InputError, match=f"not {kind}") as raised:
        doubled(codes.astype(np.int32))
    assert "as uint8" in raised.value.mend


def test_tensors_of_torch_come_in_without_a_copy() -> None:
    torch = pytest.importorskip("torch")
    a, i = te.input("A", (16,), "f8e4m3"), te.index("i", 16)
    compiled = pipeline.optimize(graph("read", te.tensor("B", i, a[i] + 1.0, "f32")), target="c")
    x = torch.linspace(-3, 3, 16).to(torch.float8_e4m3fn)
    assert np.array_equal(np.asarray(compiled(x)), x.float().numpy() + 1.0)


@pytest.mark.parametrize("target", ["opencl", "metal", "wgsl", "glsl"])
def test_dialects_without_such_floats_say_so(target: str) -> None:
    program = pipeline.extract(product(8, 16, 16)).program
    with pytest.raises(CodegenError, match="8-bit floats") as raised:
        target_of(target).sources(program, pipeline.choose_schedules(program, target))
    assert "f8e4m3" in raised.value.where and "target='c' or 'cuda'" in raised.value.mend


def test_types_are_written_and_read_back() -> None:
    g = product(8, 16, 16, "f8e4m3", "f8e5m2")
    text = print_graph(g)
    assert "f8e4m3" in text and "f8e5m2" in text and print_graph(parse_graph(text)) == text


def test_types_promote_to_what_has_the_values_of_both() -> None:
    assert promote("f8e4m3", "f8e5m2") == "bf16" and promote("f8e4m3", "f32") == "f32"
    assert promote("f16", "f8e5m2") == "f32" and promote("f8e4m3", "i32") == "f64"
    assert finfo("f8e4m3").max == 448.0 and finfo("f8e5m2").smallest_normal == 2.0**-14


def test_a_real_has_no_bits_of_eight() -> None:
    x, i = te.input("X", (8,), "f8e4m3"), te.index("i", 8)
    with pytest.raises(GraphError, match="reads 1 byte"):
        e.bitcast(x[i], "u8")
    u = te.input("U", (256,), "u8")
    j = te.index("j", 256)
    g = graph("decode", te.tensor("Y", j, e.bitcast(u[j], "f8e4m3"), "f32"))
    codes = np.arange(256, dtype=np.uint8)
    wanted = numbers_of(codes, "f8e4m3")
    assert np.array_equal(interpret(g, {"U": codes})["Y"], wanted, equal_nan=True)
    got = pipeline.optimize(g, target="c", verified=False)(codes)
    assert np.array_equal(np.asarray(got), wanted.astype(np.float32), equal_nan=True)


@KINDS
def test_a_cast_is_meaning(kind: str) -> None:
    """Rounding that was asked for is done, in the interpreter and in C, also on the way to f32."""
    x, i = te.input("X", (4096,), "f32"), te.index("i", 4096)
    g = graph("cast", te.tensor("Y", i, e.cast(x[i], kind) * 2.0, "f32"))
    given = spread()
    wanted = 2.0 * rounded(given, kind)
    assert np.array_equal(interpret(g, {"X": given})["Y"], wanted)
    assert np.array_equal(np.asarray(pipeline.optimize(g, target="c")(given)), wanted.astype(np.float32))


def test_libraries_of_such_floats_are_refused(tmp_path: Path) -> None:
    compiled = pipeline.optimize(product(8, 16, 16), target="c", verified=False)
    with pytest.raises(ArtefactError, match="'A' has 8-bit floats") as raised:
        export_c(compiled, tmp_path / "library")
    assert "f16 or bf16" in raised.value.mend
