"""Streams of products under vectors of 64 bytes and of 32: register tiles, right results, values that are made once."""

from __future__ import annotations

import numpy as np
import pytest

import tang_egg as te
from bench import cpu_graphs
from tang_egg import layers
from tang_egg.affine import affine, index
from tang_egg.codegen.candidates import schedules
from tang_egg.codegen.kernel import Kernel, Load, Loop, expressions, statements, subexpressions
from tang_egg.codegen.lower import lower
from tang_egg.codegen.lower_scope import Axis
from tang_egg.codegen.lower_state import register_tile
from tang_egg.codegen.vectors import AVX2, AVX512, NEON, SSE, Vectors
from tang_egg.interpret import interpret
from tang_egg.ir import Graph
from tang_egg.pipeline import extract
from tang_egg.schedule import parse_schedule

COPIED = "stream tile=c:*,i:24 fold=j:stream:32 stage=K"
ROWS = "stream tile=c:*,i:16 fold=j:stream:16"


def attention(n: int, m: int, dtype: str = "f32", masked: bool = False, **kinds: object) -> Graph:
    q, k, v = (te.input(x, (2, s, 32), dtype) for x, s in (("Q", n), ("K", m), ("V", m)))
    mask = te.input("M", (n, m), "bool") if masked else None
    return te.graph("attention", Y=layers.attention(q, k, v, mask=mask, **kinds))  # type: ignore[arg-type]


def arrays(graph: Graph) -> dict[str, np.ndarray]:
    numbers = np.random.default_rng(7)
    found: dict[str, np.ndarray] = {}
    for i in graph.inputs:
        shape = tuple(n.evaluate({}) for n in i.shape)
        if i.dtype == "bool":
            found[i.name] = numbers.random(shape) < 0.5
            found[i.name][::3] = False  # rows of which nothing counts
        else:
            found[i.name] = numbers.normal(size=shape).astype(np.float16 if i.dtype == "f16" else np.float32)
    return found


def scheduled(graph: Graph, text: str) -> str:
    """A schedule with the names that the axes of the one chosen kernel have."""
    (plan,) = extract(graph).program.kernels
    (t,) = plan.outputs
    first = schedules(plan.outputs, threads=1)[0]
    streamed = next((n for n, p in first.fold if p.how == "stream"), "j")
    names = {"c:": f"{t.axes[-1].name}:", "i:": f"{t.axes[-2].name}:", "j:": f"{streamed}:"}
    for old, new in names.items():
        text = text.replace(f"={old}", f"={new}").replace(f",{old}", f",{new}")
    return text


CASES = [
    *((n, m, {}) for n, m in ((1, 1), (1, 67), (23, 32), (24, 33), (25, 31), (97, 101))),
    *((n, n, {"causal": True}) for n in (1, 31, 48, 49, 97)),
    (97, 97, {"causal": True, "soft_cap": 3.0}),
    (97, 97, {"window": 17}),
    (49, 67, {"masked": True}),
    (49, 49, {"dtype": "f16", "causal": True}),
]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("bits", ["256", "512"])
@pytest.mark.parametrize(("n", "m", "kinds"), CASES)
def test_attention_is_right_under_wide_and_narrow_vectors(
    n: int, m: int, kinds: dict[str, object], bits: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (threads == 2) != (n == 97) and bits == "256":
        pytest.skip("covered by the others")
    monkeypatch.setenv("TANG_VECTORS", bits)
    monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
    graph = attention(n, m, **kinds)  # type: ignore[arg-type]
    call = te.optimize(graph)
    given = arrays(graph)
    expected = interpret(graph, given)["Y"]
    found = np.asarray(call(**given), np.float64)
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_allclose(found, expected, rtol=2e-3 if "dtype" in kinds else 2e-5, atol=2e-5)


@pytest.mark.parametrize("bits", ["256", "512"])
@pytest.mark.parametrize("text", [COPIED, ROWS, COPIED.replace("stream ", "stream parallel=i ", 1)])
def test_forced_tiles_are_right(text: str, bits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_VECTORS", bits)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    graph = attention(50, 50, causal=True)
    text = scheduled(graph, text).replace("parallel=i ", f"parallel={graph_rows(graph)} ")
    call = te.optimize(graph, schedule={"Y": text})
    given = arrays(graph)
    np.testing.assert_allclose(call(**given), interpret(graph, given)["Y"], rtol=2e-5, atol=2e-5)
    copies = call.source.split("void k0", 1)[1].count("#pragma omp parallel for schedule(guided)")
    assert copies == (2 if "parallel" in text else 0)  # the rows, and the copy that they share


def graph_rows(graph: Graph) -> str:
    (plan,) = extract(graph).program.kernels
    return plan.outputs[0].axes[-2].name


@pytest.mark.parametrize(("vectors", "tile"), [(AVX512, [12, 32]), (AVX2, [6, 16]), (NEON, [6, 16]), (SSE, [3, 16])])
def test_a_register_tile_fills_three_quarters_of_the_registers(vectors: Vectors, tile: list[int]) -> None:
    axes = [Axis(index("i", 48), affine(0), 48), Axis(index("j", 64), affine(0), 64)]
    assert register_tile(axes, 1, vectors) == tile
    assert tile[0] * tile[1] // vectors.lanes() == vectors.registers * 3 // 4


def loads_below(kernel: Kernel, name: str, inside: str) -> int:
    """Loads of a buffer in loops whose variable begins with `inside`."""
    loops = [s for s in statements(kernel.body) if isinstance(s, Loop) and s.var.split("_")[0] == inside]
    below = {id(s): s for loop in loops for s in statements(loop.body)}
    return sum(
        isinstance(x, Load) and x.buffer.name == name
        for s in below.values() for e in expressions(s) for x in subexpressions(e)
    )  # fmt: skip


def test_what_rows_share_with_every_tile_is_computed_once() -> None:
    i, j, c, o = te.index("i", 48), te.index("j", 64), te.index("c", 32), te.index("o", 32)
    q, k, v = te.input("Q", (48, 32)), te.input("K", (64, 32)), te.input("V", (64, 32))
    g, b = te.input("G", (32,)), te.input("B", (32,))
    turned = te.select(c < 16, q[i, c] * g[c], q[i, c - 16] + b[c])
    score = te.sum(c, turned * k[j, c])
    graph = te.graph("rotated", te.tensor("Y", (i, o), te.sum(j, te.exp(score) * v[j, o])))
    text = "stream tile=i:24,o:* fold=j:stream:32 stage=K"
    kernel = lower("kernel", graph.outputs, parse_schedule(text), AVX512)
    assert loads_below(kernel, "K", "j") and not loads_below(kernel, "G", "j")
    given = {n.name: np.random.default_rng(1).normal(size=[a.value for a in n.shape]) * 0.3 for n in graph.inputs}
    given = {n: a.astype(np.float32) for n, a in given.items()}
    call = te.optimize(graph, schedule={"Y": text})
    np.testing.assert_allclose(call(**given), interpret(graph, given)["Y"], rtol=1e-4, atol=1e-5)


def test_a_cap_is_computed_once_for_the_maximum_and_the_sum() -> None:
    graph = attention(64, 64, soft_cap=3.0)
    (plan,) = extract(graph).program.kernels
    source = te.optimize(graph, schedule={"Y": scheduled(graph, COPIED)}).source.split("void k0", 1)[1]
    lines = [x for x in source.splitlines() if "te_tanh" in x]
    assert plan.outputs and lines and all("te_exp" not in x for x in lines)


def test_grouped_rotary_attention_is_one_pass() -> None:
    found = extract(cpu_graphs.block(512, 9, 3, 64, 1536)).program
    wide = [t for t in found.tensors if [n.value for n in t.shape] == [9, 512, 512]]
    assert not wide  # neither scores nor weights are stored
