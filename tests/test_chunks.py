"""Prefix folds in chunks: structure, values against NumPy on odd lengths, in C, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg import expression as e
from tang_egg.errors import GraphError
from tang_egg.extract.chunk import LONGEST, chunk_graph
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Reduce, Scan, walk
from tang_egg.pipeline import choose_schedules, extract, sources
from tang_egg.pipeline_chunk import extract_chunked
from tang_egg.pipeline_compiled import Extraction
from tang_egg.run import compile_program
from tang_egg.text import print_graph
from tang_egg.verify import relative_error, sample_inputs
from tests import rows_scan

Arrays = dict[str, Any]


def attention(n: int, *, strict: bool = False, dtype: str = "f64") -> Graph:
    """Batched, with a normaliser: two prefix sums under one division."""
    t, s, b, d, c = te.index("t", n), te.index("s", n), te.index("b", 2), te.index("d", 3), te.index("c", 4)
    q, k, v = te.input("Q", (2, n, 3), dtype), te.input("K", (2, n, 3), dtype), te.input("V", (2, n, 4), dtype)
    where = s < t if strict else s <= t
    score = te.tensor("score", (b, t, s), te.sum(d, q[b, t, d] * k[b, s, d]), dtype)
    weight = te.tensor("weight", (b, t), te.sum(s, score[b, t, s], where=where), dtype)
    top = te.sum(s, score[b, t, s] * v[b, s, c], where=where)
    return te.graph("attention", O=te.tensor("O", (b, t, c), top / (weight[b, t] * weight[b, t] + 1.0), dtype))


def expected_attention(x: Arrays, strict: bool = False) -> Any:
    n = x["Q"].shape[1]
    score = np.einsum("btd,bsd->bts", x["Q"], x["K"]) * np.tril(np.ones((n, n)), -1 if strict else 0)
    weight = score.sum(2)[..., None]
    return np.einsum("bts,bsc->btc", score, x["V"]) / (weight * weight + 1.0)


def gates(n: int, dtype: str = "f64") -> Graph:
    """A decay of its own for each feature, masked keys, a distance times a slope, and masked queries."""
    t, s, d, c = te.index("t", n), te.index("s", n), te.index("d", 3), te.index("c", 2)
    q, k, v, a = (te.input(x, (n, m), dtype) for x, m in (("Q", 3), ("K", 3), ("V", 2), ("A", 3)))
    keys, queries = te.input("keys", (n,), "bool"), te.input("queries", (n,), "bool")
    slope = te.input("slope", (2,), dtype)
    decay = te.tensor("decay", (t, s, d), e.exp(a[t, d] - a[s, d]), dtype)
    score = te.tensor("score", (t, s), te.sum(d, q[t, d] * (k[s, d] * decay[t, s, d])), dtype)
    fade = e.exp(-(e.cast(t - s, "real") * slope[c]))
    body = te.sum(s, -(fade * score[t, s]) * v[s, c], where=(s <= t, keys[s], queries[t]))
    return te.graph("gates", O=te.tensor("O", (t, c), body, dtype))


def expected_gates(x: Arrays) -> Any:
    n = x["Q"].shape[0]
    t, s = np.arange(n)[:, None], np.arange(n)[None, :]
    live = (s <= t) & x["keys"][None, :] & x["queries"][:, None]
    between = np.where(live[..., None], x["A"][:, None] - x["A"][None], -np.inf)
    score = np.einsum("td,sd,tsd->ts", x["Q"], x["K"], np.exp(between))
    fade = np.exp(np.where(live[..., None], -(t - s)[..., None] * x["slope"], -np.inf))
    return -np.einsum("tsc,ts,sc->tc", fade, score, x["V"])


def decayed(n: int, total: float, dtype: str = "f64") -> Graph:
    """Σ exp(A[t] - A[s])·x[s], where exp(A[t]) and exp(-A[s]) alone have no number."""
    t, s = te.index("t", n), te.index("s", n)
    a, x = te.input("A", (n,), dtype), te.input("X", (n,), dtype)
    body = te.sum(s, e.exp((a[t] - a[s]) * total) * x[s], where=s <= t)
    return te.graph("decayed", O=te.tensor("O", (t,), body, dtype))


def chunked(graph: Graph, chunk: dict[str, int]) -> Extraction:
    return extract_chunked(extract, graph, chunk)


def error(x: Extraction, arrays: Arrays, wanted: Any) -> float:
    return relative_error(interpret(x.program.graph, arrays)["O"], wanted)


def arrays_of(graph: Graph, seed: int = 0) -> Arrays:
    """Random values; A decreases along its first axis, as sums of logarithms of decays do."""
    found = sample_inputs(graph, {}, edge=False, seed=seed)
    if "A" in found:
        found["A"] = -np.cumsum(np.abs(found["A"]), axis=0, dtype=found["A"].dtype)
    if "slope" in found:
        found["slope"] = np.abs(found["slope"])
    return found


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 7, 9, 11])
def test_values_of_unweighted_states(n: int, strict: bool) -> None:
    g = attention(n, strict=strict)
    x, arrays = chunked(g, {"t": 3}), arrays_of(g)
    assert error(x, arrays, expected_attention(arrays, strict)) < 1e-12
    stored = [t.name for t in x.program.tensors]
    assert ("O_chunks" in stored and "weight_chunks" in stored) == (n > 3)


@pytest.mark.parametrize("n", [1, 3, 4, 5, 13])
def test_values_of_states_that_fade(n: int) -> None:
    g = gates(n)
    x, arrays = chunked(g, {"K:0": 4}), arrays_of(g)
    assert error(x, arrays, expected_gates(arrays)) < 1e-12


def test_no_number_leaves_the_range_on_the_way() -> None:
    g = decayed(23, 300.0)
    x, arrays = chunked(g, {"A:0": 4}), arrays_of(g)
    assert 300.0 * arrays["A"].min() < -1000.0  # and exp(1000) is infinite
    wanted = interpret(g, arrays)["O"]
    assert np.abs(wanted).max() > 0
    assert error(x, arrays, wanted) < 1e-12
    # before any law joins exponentials, too
    assert relative_error(interpret(chunk_graph(g, {"A:0": 4}).graph, arrays)["O"], wanted) < 1e-12


def weights(n: int, name: str) -> Graph:
    """One weighted prefix sum in float64."""
    t, s, d = te.index("t", n), te.index("s", n), te.index("d", 3)
    a, x, y = (te.input(k, (n,), "f64") for k in ("A", "X", "Y"))
    q, k = te.input("Q", (n, 3), "f64"), te.input("K", (n, 3), "f64")
    score = te.sum(d, q[t, d] * k[s, d])
    bodies = {
        "what enters": e.exp(a[t] - a[s] + x[s]) * y[s],
        "what leaves": e.exp(x[t] * 2.0 + (a[t] - a[s]) * 0.5) * y[s],
        "an offset": e.exp(e.cast(2 * t - 2 * s + 3, "real") * -0.1) * y[s],
        "a gate alone": e.exp(a[t] - a[s]) * 1.0,
        "a square": score * score * y[s],
        "a domain inside": te.sum(d, q[t, d] * k[s, d], where=d < 2) * y[s],
    }
    body = te.sum((s, d), q[t, d] * k[s, d] * y[s], where=s <= t)
    if name in bodies:
        body = te.sum(s, bodies[name], where=s <= t)
    if name == "inside another sum":
        return te.graph("weights", O=te.tensor("O", (d,), te.sum(t, e.tanh(body) * q[t, d]), "f64"))
    return te.graph("weights", O=te.tensor("O", (t,), body, "f64"))


@pytest.mark.parametrize(
    "name",
    ["what enters", "what leaves", "an offset", "a gate alone", "a square", "a domain inside", "two indices at once",
     "inside another sum"],
)  # fmt: skip
def test_values_of_other_weights(name: str) -> None:
    g = weights(11, name)
    axis = "A:0" if name == "a gate alone" else "Y:0"
    x, arrays = chunked(g, {axis: 4}), arrays_of(g)
    assert error(x, arrays, interpret(g, arrays)["O"]) < 1e-12
    assert "O_chunks" in [t.name for t in x.program.tensors]


def test_a_scan_of_a_length_that_is_not_known_runs_by_chunks() -> None:
    n = te.dim("n", lo=1)
    t, s = te.index("t", n), te.index("s", n)
    x = te.input("X", (n,))
    compiled = te.optimize(te.graph("sums", O=te.tensor("O", (t,), te.sum(s, x[s], where=s <= t))), chunk={"X:0": 4})
    assert "scan.chunk" in {step.law for step in compiled.derivation}
    values = np.arange(13, dtype=np.float32)
    assert np.array_equal(np.asarray(compiled(values)), np.cumsum(values))


def test_what_is_stored_grows_with_the_number_of_chunks() -> None:
    for n, count in ((4096, 63), (4095, 63), (4097, 64)):
        x = chunked(rows_scan.linear_attention("f32", n, 8, 8), {"K:0": 64})
        sizes = {t.name: tuple(k.value for k in t.shape) for t in x.program.tensors}
        assert sizes["O_added"] == sizes["O_state"] == (count, 8, 8)
        assert sizes["O_chunks"] == (count + 1, 64, 8)
        assert not any(v.count(n) > 1 for v in sizes.values())
        scans = [s for t in x.program.tensors for s in walk(t.body) if isinstance(s, Scan)]
        assert len(scans) == 1
        longest = max(i.size.value for t in x.program.tensors for s in walk(t.body) if isinstance(s, Reduce)
                      for i in s.indices)  # fmt: skip
        assert longest == 64


def test_a_scan_runs_by_chunks() -> None:
    x = chunked(rows_scan.cumulative_sum("f32", 3, 100), {"X:1": 16})
    (scan,) = [s for t in x.program.tensors for s in walk(t.body) if isinstance(s, Scan)]
    assert scan.chunk == 16 and [k.name for k in x.program.kernels] == ["Y"]
    assert [s.law for s in x.steps["Y"]] == ["scan.prefix", "scan.chunk"]


def test_the_steps_name_their_laws() -> None:
    x = chunked(rows_scan.state_space_dual("f32", 32, 3, 3), {"B:0": 8})
    laws = [s.law for s in x.steps["Y_chunks"]]
    assert laws[:4] == ["scan.chunks", "fold.reassociate", "scalar.exp_between", "scan.decay"]
    assert all(s.rounding in ("reassociates", "rescales") and s.holds == "finite" for s in x.steps["Y_chunks"][:4])


def test_tensors_that_are_outputs_too_and_one_layer_on_another() -> None:
    n = 11
    t, s, r = te.index("t", n), te.index("s", n), te.index("r", n)
    a, y = te.input("A", (n,), "f64"), te.input("X", (n,), "f64")
    total = te.tensor("total", t, te.sum(r, a[r], where=r <= t), "f64")

    def layer(name: str, v: Any) -> Any:
        body = te.sum(s, e.exp(total[t] - total[s]) * v[s], where=s <= t)
        return te.tensor(name, (t,), y[t] + e.tanh(body), "f64")

    first = layer("first", y)
    g = te.graph("layers", total, first, layer("O", first))
    arrays = arrays_of(g)
    arrays["A"] = -np.abs(arrays["A"])
    x = chunked(g, {"t": 4})
    got, wanted = interpret(x.program.graph, arrays), interpret(g, arrays)
    assert list(got) == ["total", "first", "O"]
    assert all(relative_error(got[k], wanted[k]) < 1e-12 for k in wanted)
    names = [t.name for t in x.program.tensors]
    assert {"total", "first_chunks", "O_chunks"} <= set(names) and len(names) == len(set(names))


def test_a_length_that_holds_all_points_changes_nothing() -> None:
    g = rows_scan.linear_attention("f32", 8, 3, 3)
    assert print_graph(chunked(g, {"K:0": 8}).program.graph) == print_graph(extract(g).program.graph)
    assert chunked(g, {}).program.graph == extract_chunked(extract, g, None).program.graph


IN_C: dict[str, tuple[Callable[[int], Graph], str]] = {
    "linear_attention": (lambda n: rows_scan.linear_attention("f32", n, 5, 9), "K:0"),
    "state_space_dual": (lambda n: rows_scan.state_space_dual("f32", n, 5, 3), "B:0"),
    "gates": (lambda n: gates(n, "f32"), "K:0"),
    "cumulative_sum": (lambda n: rows_scan.cumulative_sum("f32", 3, n), "X:1"),
}


@pytest.mark.parametrize(("name", "n"), [("linear_attention", n) for n in (1, 7, 8, 9, 37)] + [
    ("state_space_dual", 23), ("gates", 19), ("cumulative_sum", 37)])  # fmt: skip
def test_in_c(name: str, n: int) -> None:
    build, axis = IN_C[name]
    g = build(n)
    x = chunked(g, {axis: 8})
    arrays = arrays_of(g)
    runner = compile_program(x.program, choose_schedules(x.program, "c"))
    got, wanted = runner(arrays), interpret(g, arrays)
    for k, v in wanted.items():
        assert relative_error(np.asarray(got[k], np.float64), v) < 2e-5


def test_optimize_and_sources_take_chunks() -> None:
    g = rows_scan.retention("f32", 21, 3, 2)
    compiled = te.optimize(g, chunk={"K:0": 5})
    assert "scan.decay" in compiled.report() and len(compiled.program.kernels) == 4
    arrays = arrays_of(g)
    got = compiled(*arrays.values())
    assert relative_error(np.asarray(got, np.float64), interpret(g, arrays)["O"]) < 1e-5
    assert set(sources(g, "c", chunk={"K:0": 5})) == {k.name for k in compiled.program.kernels}
    assert set(sources(g, "cuda", chunk={"K:0": 5})) >= {"O_state", "O_chunks"}


def softmax_like(n: int = 9) -> Graph:
    t, s, d = te.index("t", n), te.index("s", n), te.index("d", 3)
    q, k, v = te.input("Q", (n, 3)), te.input("K", (n, 3)), te.input("V", (n,))
    score = te.tensor("score", (t, s), te.sum(d, q[t, d] * k[s, d]))
    return te.graph("g", O=te.tensor("O", (t,), te.sum(s, e.exp(score[t, s]) * v[s], where=s <= t)))


def two_ends(n: int = 9) -> Graph:
    t, s = te.index("t", n), te.index("s", n)
    a, b = te.input("A", (n,)), te.input("B", (n,))
    return te.graph("g", O=te.tensor("O", (t,), te.sum(s, e.exp(a[t] - b[s]), where=s <= t)))


def window(n: int = 9) -> Graph:
    t, s = te.index("t", n), te.index("s", n)
    a, b = te.input("A", (n,)), te.input("B", (n,))
    return te.graph("g", O=te.tensor("O", (t,), te.sum(s, a[t] * b[s], where=(s <= t, t - s < 3))))


def largest(n: int = 9) -> Graph:
    t, s = te.index("t", n), te.index("s", n)
    a, b = te.input("A", (n,)), te.input("B", (n,))
    return te.graph("g", O=te.tensor("O", (t,), te.max(s, a[t] * b[s], where=s <= t)))


def unknown() -> Graph:
    n = te.dim("n", lo=1)
    t, s = te.index("t", n), te.index("s", n)
    a, b = te.input("A", (n,)), te.input("B", (n,))
    return te.graph("g", O=te.tensor("O", (t,), te.sum(s, a[t] * b[s], where=s <= t)))


REFUSED = {
    "a factor mixes": (softmax_like, {"K:0": 3}, "a prefix sum cannot be cut into chunks: a factor mixes t and s\n"
                       "  where: exp(sum[d](Q[t, d] * K[s, d]))\n  mend:  factors must be of one point each, sums of"
                       " such products, or exponentials of a difference A[t] - A[s]; leave this axis whole"),
    "two quantities": (two_ends, {"t": 3}, "a prefix sum cannot be cut into chunks: a factor mixes t and s\n"
                       "  where: exp(A[t] - B[s])\n  mend:  factors must be of one point each, sums of"
                       " such products, or exponentials of a difference A[t] - A[s]; leave this axis whole"),
    "a window": (window, {"t": 3}, "a prefix sum cannot be cut into chunks: a condition limits s by t once more\n"
                 "  where: tensor 'O': t <= s + 2\n  mend:  leave this axis whole, or write the condition as a weight"
                 " of one of the points"),
    "a maximum": (largest, {"t": 3}, "'max' over s up to t, of values that depend on t, cannot be cut into chunks\n"
                  "  where: PLACE\n  mend:  only sums have weights that move out of them; leave this axis whole"),
    "a dim": (unknown, {"t": 3}, "t has n points, a number that is not known: it cannot be cut into equal chunks\n"
              "  where: tensor 'O'\n  mend:  bind the dim first, graph.bind(...), or leave this axis whole"),
    "no prefix": (lambda: te.graph("m", Y=te.matmul(te.input("X", (4, 4)), te.input("W", (4, 4)))), {"W:0": 2},
                  "nothing is folded up to a point of 'W:0'\n  where: graph 'm'\n"
                  "  mend:  name an axis of s or t in a fold over s where s <= t"),
    "no length": (window, {"t": 0}, "'t' in chunks of 0 points\n  where: the chunks of an axis\n"
                  f"  mend:  give a whole number from 1 to {LONGEST}"),
    "no number": (window, {"t": "many"}, "'t' in chunks of 'many' points\n  where: the chunks of an axis\n"
                  f"  mend:  give a whole number from 1 to {LONGEST}"),
    "no mapping": (window, 3, "chunk is a value of type int\n  where: optimize\n"
                   "  mend:  pass a dict of lengths by axis: chunk={'K:0': 64}"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_cut_is_refused(name: str) -> None:
    build, chunk, said = REFUSED[name]
    with pytest.raises(GraphError) as refusal:
        extract_chunked(extract, build(), chunk)  # type: ignore[arg-type]
    assert re.sub(r"where: \S+\.py:\d+", "where: PLACE", str(refusal.value)) == said
