"""Folds of rows that share an operand: some rows run beside each other, where they lie in the caches."""

from __future__ import annotations

import numpy as np
import pytest

import tang_egg as te
from tang_egg.codegen.candidates import schedules
from tang_egg.codegen.candidates_beside import FEW, MANY
from tang_egg.codegen.candidates_nested import BLOCKS, WIDTH
from tang_egg.codegen.vectors import AVX2, AVX512, SSE, Vectors
from tang_egg.ir import Graph
from tang_egg.pipeline import extract
from tang_egg.schedule import FoldPlan, Schedule

i, j, k = te.indices("i j k")
KINDS = {"f16": "f2", "bf16": "f4", "f32": "f4", "f64": "f8", "i8": "i1"}
"""The arrays that inputs of a type are given as."""


def gemv(m: int, n: int, kind: str = "f32") -> Graph:
    w, x = te.input("W", (m, n), kind), te.input("x", (n,), kind)
    return te.graph("gemv", te.tensor("y", i, te.sum(j, w[i, j] * x[j]), kind))


def layer(m: int, n: int, kind: str = "f32") -> Graph:
    w, x = te.input("W", (m, n), kind), te.input("x", (n,), kind)
    return te.graph("layer", te.tensor("y", i, te.exp(0.01 * te.sum(j, w[i, j] * x[j])), kind))


def gates(m: int, n: int) -> Graph:
    """Three products with one vector, joined elementwise: one kernel, one fold of three components."""
    v, w, u = (te.input(name, (m, n)) for name in "VWU")
    x = te.input("x", (n,))
    a, b, c = (te.sum(j, s[i, j] * x[j]) for s in (v, w, u))
    return te.graph("gates", te.tensor("y", i, a * b + c))


def blocks(m: int, n: int, size: int) -> Graph:
    w, x, s = te.input("W", (m, n, size), "i8"), te.input("x", (n, size)), te.input("S", (m, n))
    return te.graph("blocks", te.tensor("y", i, te.sum((j, k), te.cast(w[i, j, k], "real") * s[i, j] * x[j, k])))


def first(graph: Graph, vectors: Vectors) -> Schedule:
    (kernel,) = extract(graph).program.kernels
    return schedules(kernel.outputs, threads=1, vectors=vectors)[0]


def lanes(graph: Graph, vectors: Vectors) -> tuple[int, int]:
    """Rows beside each other, and the lanes of their fold."""
    found = first(graph, vectors)
    return next((int(n) for _, n in found.tile), 1), next(p.size for _, p in found.fold)


def test_rows_stand_beside_each_other_as_registers_allow() -> None:
    assert lanes(layer(256, 256), AVX2) == (MANY, 8)
    assert lanes(layer(256, 256), AVX512) == (MANY, 16)
    assert lanes(layer(256, 256), SSE) == (FEW, 8)
    assert lanes(gates(256, 256), AVX2) == (FEW, 8)
    assert lanes(gates(256, 256), AVX512) == (MANY, 16)
    assert lanes(layer(9, 256), AVX512) == (FEW, 16)  # seven of sixteen rows would be computed twice


def test_short_rows_at_hand_stand_beside_each_other_whatever_is_made_of_them() -> None:
    assert lanes(gemv(256, 48), AVX512) == (MANY, 16)
    assert lanes(gemv(256, 48), AVX2) == (MANY, 8)
    assert lanes(gemv(64, 2048), AVX512)[0] == 1
    assert lanes(gemv(4096, 512), AVX512)[0] == 1


@pytest.mark.parametrize("bits, lanes_", [("256", 8), ("512", 16)])
def test_the_lanes_of_eight_rows_are_turned_in_registers(
    bits: str, lanes_: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANG_VECTORS", bits)
    source = te.optimize(layer(16, 48), verified=False).source
    kernel = source[source.index("void k0") :]
    assert f"fold=i1:lanes:{lanes_}" in source
    assert kernel.count("te_join_low_f32x8") == 4 and kernel.count("te_zip_low_f32x8") == 8
    assert "f32x8){" not in kernel


def test_rows_stand_alone_where_they_are_few_or_large_or_nothing_is_shared() -> None:
    assert lanes(layer(3, 256), AVX512)[0] == 1
    assert lanes(layer(4096, 4096), AVX512)[0] == 1
    assert lanes(gemv(4096, 4096), AVX512)[0] == 1
    x = te.input("X", (256, 256))
    assert lanes(te.graph("rows", te.tensor("y", i, te.exp(te.sum(j, x[i, j])))), AVX512)[0] == 1


def test_results_of_blocks_are_as_many_as_are_turned_in_registers() -> None:
    assert dict(first(blocks(64, 32, 32), AVX2).fold).popitem()[1] == FoldPlan("lanes", WIDTH)
    sizes = {v: max(p.size for _, p in first(blocks(64, 32, 32), v).fold) for v in (AVX2, AVX512)}
    assert sizes == {AVX2: BLOCKS, AVX512: WIDTH}


@pytest.mark.parametrize("bits", ["256", "512"])
@pytest.mark.parametrize("build", [gemv, layer, gates])
def test_they_agree_with_the_interpreter(bits: str, build, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("TANG_VECTORS", bits)
    for m, n in ((0, 16), (4, 0), (1, 1), (4, 8), (5, 15), (8, 16), (16, 31), (13, 33), (37, 101)):
        close(build(m, n))


@pytest.mark.parametrize("kind", ["f16", "bf16", "f64"])
def test_they_agree_in_other_types(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_VECTORS", "512")
    for m, n in ((13, 37), (24, 37)):
        close(layer(m, n, kind), rough=2e-2 if kind in ("f16", "bf16") else 1e-5)


@pytest.mark.parametrize("bits", ["256", "512"])
def test_blocks_agree_with_the_interpreter(bits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_VECTORS", bits)
    for m, n, size in ((3, 8, 8), (5, 17, 32), (2, 33, 9)):
        close(blocks(m, n, size))


def close(graph: Graph, rough: float = 1e-5) -> None:
    numbers = np.random.default_rng(7)
    arrays = [numbers.integers(-5, 6, [n.evaluate({}) for n in x.shape]) for x in graph.inputs]
    given = [a.astype(KINDS[x.dtype]) for a, x in zip(arrays, graph.inputs, strict=True)]
    got = np.asarray(te.optimize(graph)(*given))
    got = (got.astype(np.uint32) << 16).view(np.float32) if graph.outputs[0].dtype == "bf16" else got
    (want,) = te.interpret(graph, dict(zip((x.name for x in graph.inputs), given, strict=True))).values()
    np.testing.assert_allclose(got.astype(np.float64), np.asarray(want).astype(np.float64), rtol=rough, atol=rough)
