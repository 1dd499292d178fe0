"""Blocks turned in registers of 64 bytes: in every type, at sizes around blocks, and what first schedules choose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg import library_scan
from tang_egg.codegen.candidates import schedules
from tang_egg.codegen.kernel import Call, Expr, Lane, Var
from tang_egg.codegen.legalize_turn import transposed
from tang_egg.codegen.vectors import AVX2, AVX512
from tang_egg.ir import Graph
from tang_egg.pipeline import extract

i, j = te.indices("i j")
KINDS: dict[str, Any] = {
    "f32": np.float32, "i32": np.int32, "u32": np.uint32, "f64": np.float64, "i64": np.int64, "u64": np.uint64,
    "f16": np.float16, "i16": np.int16, "u8": np.uint8,
}  # fmt: skip


def across(n: int, m: int, kind: str = "f32") -> Graph:
    x = te.input("X", (m, n), kind)
    return te.graph("across", te.tensor("Y", (i, j), x[j, i], dtype=kind))


@pytest.mark.parametrize("bits", ["256", "512"])
@pytest.mark.parametrize("kind", list(KINDS))
def test_blocks_of_every_type(kind: str, bits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_VECTORS", bits)
    x = np.random.default_rng(0).integers(0, 99, (67, 50)).astype(KINDS[kind])
    graph = across(50, 67, kind)
    (plan,) = extract(graph).program.kernels
    call = te.optimize(graph, schedule={plan.name: "point tile=i0:16,i1:32 stage=X"}, verified=False)
    np.testing.assert_array_equal(np.asarray(call(x)), x.T)
    wide = bits == "512" and KINDS[kind](0).itemsize >= 4
    assert ("te_part_low" in call.source.split("void k0", 1)[1]) == wide


@pytest.mark.parametrize("n", [1, 15, 16, 17, 64, 83])
def test_sizes_around_blocks(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_VECTORS", "512")
    x = np.random.default_rng(n).normal(size=(70, n)).astype(np.float32)
    np.testing.assert_array_equal(np.asarray(te.optimize(across(n, 70))(x)), x.T)
    running = te.graph("running", Y=library_scan.cumulative_sum(te.input("X", (70, n))))
    np.testing.assert_allclose(np.asarray(te.optimize(running)(x)), np.cumsum(x, 1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("kind", "count", "rounds"), [("f32", 16, 4), ("f64", 8, 3)])
def test_a_transpose_takes_a_round_for_each_doubling(kind: str, count: int, rounds: int) -> None:
    made: list[Call] = []

    def pair(op: str, a: Expr, b: Expr) -> Expr:
        made.append(Call(op, (a, b), a.type))
        return made[-1]

    rows = [Var(f"r{n}", f"{kind}x{count}") for n in range(count)]
    columns = transposed(rows, pair)
    assert len(columns) == len(set(columns)) == count and len(made) == count * rounds
    assert all(not isinstance(x, Lane) for x in columns)


def test_large_blocks_go_along_the_lines_that_are_read() -> None:
    (plan,) = extract(across(2048, 2048)).program.kernels
    found = [schedules(plan.outputs, threads=2, vectors=v)[0] for v in (AVX512, AVX2)]
    assert [dict(s.tile) for s in found] == [{"i1": 128, "i0": 64}, {"i1": 256, "i0": 64}]
    assert [s.order for s in found] == [("i1", "i0"), ("i0", "i1")]
