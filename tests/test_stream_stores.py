"""Stores past the caches: the same values at every alignment, only where a schedule says so, and on any processor."""

from __future__ import annotations

import ctypes
import os
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tang_egg as te
from tang_egg import library
from tang_egg.codegen.candidates import PAST_CACHES, schedules
from tang_egg.ir import Graph
from tang_egg.pipeline import extract
from tang_egg.schedule import Schedule


def scaled(shape: tuple[int, ...], dtype: str = "f32") -> Graph:
    x = te.input("X", shape, dtype)
    axes = te.indices(" ".join("ijk"[: len(shape)])) if len(shape) > 1 else (te.index("i"),)
    return te.graph("scaled", Y=te.tensor(None, axes, x[axes] * 2 + 1, dtype))


def first(graph: Graph) -> Schedule:
    (plan,) = extract(graph).program.kernels
    return schedules(plan.outputs, threads=2)[0]


def compiled(graph: Graph, schedule: str) -> te.Compiled:
    return te.optimize(graph, schedule={t.name: schedule for t in graph.outputs})


@pytest.mark.parametrize("dtype", ["f32", "f64", "i32"])
@pytest.mark.parametrize("shape", [(4, 33), (3, 16)])
def test_rows_of_every_alignment_are_stored(dtype: str, shape: tuple[int, int]) -> None:
    graph = scaled(shape, dtype)
    call = compiled(graph, "point parallel=i0 tile=i1:8 store=stream")
    x = np.arange(np.prod(shape)).reshape(shape)
    held = x.astype({"f32": np.float32, "f64": np.float64, "i32": np.int32}[dtype])
    np.testing.assert_array_equal(call(held), held * 2 + 1)
    assert f"te_stream_{dtype}x" in call.source.split("void k0", 1)[1]


@pytest.mark.parametrize("shift", [0, 1, 3, 4])
def test_outputs_of_the_caller_may_start_anywhere(shift: int) -> None:
    call = compiled(scaled((5, 40)), "point tile=i1:8 store=stream")
    x = np.random.default_rng(0).normal(size=(5, 40)).astype(np.float32)
    room = np.full(5 * 40 + 16, np.nan, np.float32)
    out = room[shift : shift + 200].reshape(5, 40)
    call.runner({"X": x}, out={"Y": out})
    np.testing.assert_allclose(out, x * 2 + 1, rtol=1e-6)
    assert np.isnan(room[:shift]).all() and np.isnan(room[shift + 200 :]).all()


def test_nothing_is_streamed_unless_the_schedule_says_so() -> None:
    source = compiled(scaled((5, 40)), "point tile=i1:8").source.split("void k0", 1)[1]
    assert "te_stream" not in source and "te_fence" not in source
    source = compiled(scaled((5, 40)), "point tile=i1:8 store=stream").source.split("void k0", 1)[1]
    assert source.count("te_fence();") == 1 and "te_store" not in source


def test_large_outputs_are_streamed_by_default_and_small_ones_are_not() -> None:
    large = PAST_CACHES // 4 // 64
    for graph in (scaled((large, 64)), scaled((large * 64,)), softmax(large, 64)):
        assert first(graph).store == "stream"
    for graph in (scaled((large - 1, 64)), softmax(8, 64), rows(large, 64)):
        assert first(graph).store == ""
    (plan,) = extract(scaled((large, 64))).program.kernels
    assert any(s.store == "" for s in schedules(plan.outputs, threads=2)[1:3])


def softmax(n: int, m: int) -> Graph:
    return te.graph("softmax", Y=library.softmax(te.input("X", (n, m))))


def rows(n: int, m: int) -> Graph:
    x, (i, j) = te.input("X", (n, m)), te.indices("i j")
    return te.graph("rows", S=te.tensor(None, i, te.sum(j, x[i, j])))


def test_an_output_in_the_memory_of_an_input_is_not_streamed() -> None:
    x, i = te.input("X", (64,), donated=True), te.index("i")
    graph = te.graph("held", te.tensor("Y", i, x[i] + 1.0, into=x))
    source = compiled(graph, "point tile=i0:8 store=stream").source.split("void k0", 1)[1]
    assert "te_stream" not in source


@pytest.mark.parametrize("flags", ["", "-fopenmp", "-mno-sse4.2 -mno-avx"])
def test_the_source_runs_without_the_instructions(flags: str, tmp_path: Path) -> None:
    graph = softmax(7, 50)
    call = compiled(graph, "stream tile=i1:8 fold=i1:stream:16:16 store=stream")
    (tmp_path / "k.c").write_text(call.source)
    compiler = shlex.split(os.environ.get("TANG_CC", "cc"))
    command = [*compiler, "-std=gnu11", "-O1", "-Wno-psabi", "-shared", "-fPIC", *flags.split()]
    made = subprocess.run([*command, "k.c", "-o", "k.so", "-lm"], cwd=tmp_path, capture_output=True, text=True)
    if made.returncode and flags:
        pytest.skip(f"this compiler does not take {flags}")
    assert made.returncode == 0, made.stderr
    x = np.random.default_rng(0).normal(size=(7, 50)).astype(np.float32)
    y = np.full((7, 50), np.nan, np.float32)
    table = (ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data)
    ctypes.CDLL(str(tmp_path / "k.so")).tang_run(table, None, None, 1)
    np.testing.assert_allclose(y, te.interpret(graph, {"X": x})["Y"], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("store", ["", " store=stream"])
def test_vectors_round_to_sixteen_bits_as_scalars_do(dtype: str, store: str) -> None:
    """Over a sample of all bit patterns of f32, ties, overflow, subnormal results and NaN among them."""
    i = te.index("i")
    high = np.arange(1 << 16, dtype=np.uint32) << 16
    low = np.random.default_rng(0).choice(np.array([0, 0x7FFF, 0x8000, 0x8001, 0x1000, 0xFFFF], np.uint32), 1 << 16)
    x = (high | low).view(np.float32)
    graph = te.graph("rounded", Y=te.tensor(None, i, te.input("X", (1 << 16,))[i], dtype))
    wide = te.optimize(graph, schedule={"Y": f"point tile=i0:16{store}"}, verified=False)
    assert f"te_{'stream' if store else 'store'}_{dtype}x8(Y" in wide.source
    one = te.optimize(graph, schedule={"Y": "point"}, verified=False)
    found, wanted = (np.asarray(c(x)).view(np.uint16) for c in (wide, one))
    number = ~np.isnan(x)
    np.testing.assert_array_equal(found[number], wanted[number])
    exponent = 0x7F80 if dtype == "bf16" else 0x7C00
    assert ((found[~number] & 0x7FFF) > exponent).all()
