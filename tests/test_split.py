"""Folds in shares: structure, steps, and values of split programs, on the interpreter and in C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg.affine import Index, affine
from tang_egg.cost.roofline import Costs, Machine
from tang_egg.errors import GraphError, LawError
from tang_egg.extract import merge
from tang_egg.extract.merge import in_order, places_of, step, stored_lift
from tang_egg.extract.split import MOST_PARTS, check_split, split_program
from tang_egg.ir import Graph, Input, Read, Reduce, Tensor, Test, apply, const, domain, walk
from tang_egg.monoid import AFFINE, MEAN_VARIANCE, SUM, affine_matrix
from tang_egg.pipeline import extract, sources
from tang_egg.pipeline_compiled import Extraction
from tang_egg.pipeline_rewrite import rewritten
from tang_egg.program import KernelPlan, Program
from tang_egg.rules.table import equalities
from tang_egg.run import compile_program
from tang_egg.verify import relative_error, sample_inputs
from tests.compiled import one_kernel_each

MEMORY_IS_DEAR = Costs(Machine(memory=1e7, capacity=1e2))
"""A machine on which one pass is always worth its arithmetic."""


def decode(keys: int = 67, **options: Any) -> Graph:
    q = te.input("Q", (2, 1, 16))
    k, v = (te.input(n, (2, keys, 16)) for n in "KV")
    return te.graph("decode", O=te.attention(q, k, v, **options))


def masked() -> Graph:
    return decode(13, key_mask=te.input("live", (2, 13), "bool"))


def product(inner: int = 97) -> Graph:
    return te.graph("product", Y=te.matmul(te.input("X", (5, inner)), te.input("W", (inner, 7))))


def rms_product() -> Graph:
    return te.graph("rms", Y=te.matmul(te.rms_norm(te.input("X", (5, 31))), te.input("W", (31, 7))))


def rows(f: Callable[..., Any], size: int = 29) -> Graph:
    return te.graph("rows", Y=f(te.input("X", (4, size))))


def best() -> Graph:
    x = te.input("X", (4, 29))
    i, j = te.indices("i j")
    where = te.tensor("where", i, te.argmax(j, x[i, j]))
    return te.graph("best", where, te.tensor("level", i, te.logsumexp(j, x[i, j])))


def chosen() -> Graph:
    values, positions = te.top_k(te.input("X", (4, 29)), 3)
    return te.graph("chosen", values, positions)


def folded(kind: str) -> Graph:
    """Monoids that no law of cascades meets: their components mix, or their order matters."""
    i, j = te.index("i", 3), te.index("j", 11)
    x, y = te.input("X", (3, 11)), te.input("Y", (3, 11))
    if kind == "affine":
        return te.graph(kind, Z=te.tensor(None, i, te.reduce(AFFINE, j, x[i, j], y[i, j], part="b")))
    lifts = (1.0, x[i, j] + y[i, j], 0.0)
    spread = te.reduce(MEAN_VARIANCE, j, *lifts, part="m2")
    return te.graph(kind, Z=te.tensor(None, i, spread / te.reduce(MEAN_VARIANCE, j, *lifts, part="n")))


def matrices() -> Graph:
    """Maps x ↦ A·x + b, composed in order: a component with two axes and one with one."""
    monoid = affine_matrix(2)
    row, column = monoid.components[0].axes
    t = Index("t", affine(7))
    a, b = Input("A", (affine(7), affine(2), affine(2))), Input("B", (affine(7), affine(2)))
    lifts = (Read(a, tuple(map(affine, (t, row, column)))), Read(b, (affine(t), affine(row))))
    composed = Tensor("C", (row, column), Reduce(monoid, (t,), domain(), lifts, 0), "f64")
    return Graph("matrices", (a, b), (composed, Tensor("D", (row,), Reduce(monoid, (t,), domain(), lifts, 1), "f64")))


def bools_and_integers() -> Graph:
    i, j = te.index("i", 3), te.index("j", 10)
    x = te.input("X", (3, 10), "i32")
    total = te.tensor("total", i, te.sum(j, te.cast(x[i, j], "i64")))
    return te.graph("whole", total, te.tensor("some", i, te.any(j, te.eq(x[i, j], 2))))


def nested() -> Graph:
    """Σ_c f(Σ_j x): the inner fold depends on the index of the outer one."""
    i, c, j = te.index("i", 3), te.index("c", 5), te.index("j", 11)
    x, w = te.input("X", (3, 5, 11)), te.input("W", (5,))
    return te.graph("nested", Y=te.tensor(None, i, te.sum(c, te.tanh(te.sum(j, x[i, c, j])) * w[c])))


GRAPHS: dict[str, tuple[Callable[[], Graph], str]] = {
    "decode": (decode, "K:1"),
    "decode_window": (lambda: decode(13, window=(5, 0)), "V:1"),
    "decode_masked": (masked, "K:1"),
    "decode_no_keys": (lambda: decode(0), "K:1"),
    "split_k": (product, "W:0"),
    "split_k_empty": (lambda: product(0), "X:1"),
    "rms_product": (rms_product, "X:1"),
    "norm": (lambda: rows(te.layer_norm), "X:-1"),
    "variance": (lambda: rows(te.variance), "X:1"),
    "softmax": (lambda: rows(te.softmax), "X:1"),
    "best": (best, "j"),
    "chosen": (chosen, "X:1"),
    "moments": (lambda: folded("moments"), "X:1"),
    "affine": (lambda: folded("affine"), "Y:1"),
    "whole": (bools_and_integers, "j"),
    "nested": (nested, "j"),
}


@lru_cache
def extracted(name: str) -> Extraction:
    return extract(GRAPHS[name][0](), costs=MEMORY_IS_DEAR if name == "variance" else None)


def arrays_for(graph: Graph, edge: bool, dims: dict[str, int] | None = None) -> dict[str, Any]:
    arrays = sample_inputs(graph, dims or {}, edge=edge, seed=5)
    if "live" in arrays:
        arrays["live"][0] = False  # a dead row
        arrays["live"][1, :5] = False  # a dead share
    return arrays


def agree(x: Extraction, dims: dict[str, int] | None = None) -> None:
    for edge in (False, True):
        arrays = arrays_for(x.graph, edge, dims)
        want, got = te.interpret(x.graph, arrays, dims), te.interpret(x.program.graph, arrays, dims)
        for output, value in want.items():
            assert relative_error(got[output], value) < 1e-9, output


@pytest.mark.parametrize("parts", [1, 2, 3, 40])
@pytest.mark.parametrize("name", GRAPHS)
def test_shares_mean_the_same(name: str, parts: int) -> None:
    x = rewritten(extracted(name), {GRAPHS[name][1]: parts}, "exact")
    agree(x)
    assert (x.program is extracted(name).program) == (parts == 1)


@pytest.mark.parametrize("parts", [2, 3, 9])
def test_states_with_axes_of_their_own(parts: int) -> None:
    graph = matrices()
    program, _ = split_program(graph, one_kernel_each(graph), {"t": parts})
    arrays = sample_inputs(graph, {}, edge=False)
    want, got = te.interpret(graph, arrays), te.interpret(program.graph, arrays)
    assert all(relative_error(got[output], value) < 1e-9 for output, value in want.items())
    shapes = {tuple(n.value for n in t.shape) for t in program.tensors}
    assert shapes == {(parts, 2, 2), (parts, 2), (2, 2), (2,)}


@pytest.mark.parametrize("name", ["decode", "decode_masked", "rms_product", "norm", "variance", "chosen", "best"])
def test_shares_in_c(name: str) -> None:
    x = rewritten(extracted(name), {GRAPHS[name][1]: 3}, "exact")
    runner = compile_program(x.program)
    for edge in (False, True):
        arrays = arrays_for(x.graph, edge)
        want, got = te.interpret(x.graph, arrays), runner(arrays)
        for output, value in want.items():
            assert relative_error(got[output], value) < 2e-5, output


def shape_of(x: Extraction) -> list[list[tuple[int | None, ...]]]:
    return [[tuple(n.value for n in t.shape) for t in k.outputs] for k in x.program.kernels]


def test_decode_stores_one_state_for_each_share_of_keys() -> None:
    x = rewritten(extracted("decode"), {"K:1": 4}, "exact")
    assert shape_of(x) == [[(4, 2), (4, 2), (4, 2, 16)], [(2, 1, 16)]]  # maximum, sum, weighted values; then O
    assert [s.law for s in x.steps["O"]][-1] == "fold.split_state"
    first, last = x.program.kernels
    assert {s.source.name for t in last.outputs for s in walk(t.body) if isinstance(s, Read)} == {
        t.name for t in first.outputs
    }
    assert x.steps[first.name] == x.steps["O"]
    assert all(s.law in equalities() and s.rounding == equalities()[s.law].rounding for s in x.steps["O"])


def test_split_k_is_two_kernels_that_only_reassociate() -> None:
    x = rewritten(extracted("split_k"), {"W:0": 4}, "exact")
    assert shape_of(x) == [[(4, 5, 7)], [(5, 7)]]
    assert [(s.law, s.rounding) for s in x.steps["Y"]] == [("fold.split", "reassociates")]
    assert "i2_share" in x.steps["Y"][0].after


def test_a_fold_that_another_one_needs_finished_is_merged_first() -> None:
    x = rewritten(extracted("norm"), {"X:1": 4}, "exact")
    assert shape_of(x) == [[(4, 4)], [(4,)], [(4, 4)], [(4, 29)]]
    x = rewritten(extracted("nested"), {"j": 4}, "exact")
    assert shape_of(x) == [[(4, 3, 5)], [(3, 5)], [(3,)]]


def test_symbolic_axes_are_interleaved_or_cut_for_the_largest_size() -> None:
    n = te.dim("n", lo=1)
    i, j = te.index("i", 3), te.index("j", n)
    x = te.input("X", (3, n))
    most = te.graph("most", te.tensor("at", i, te.argmax(j, x[i, j])), te.tensor("l", i, te.logsumexp(j, x[i, j])))
    for size in (1, 3, 8, 13):
        agree(rewritten(extract(most), {"n": 4}, "exact"), {"n": size})

    def composed(hi: int | None) -> Graph:
        m = te.dim("m", lo=0, hi=hi)
        t = te.index("t", m)
        a, b = te.input("A", (3, m)), te.input("B", (3, m))
        return te.graph("composed", te.tensor("z", i, te.reduce(AFFINE, t, a[i, t], b[i, t], part="b")))

    for size in (0, 1, 7, 12):
        agree(rewritten(extract(composed(12)), {"m": 5}, "exact"), {"m": size})
    with pytest.raises(GraphError) as error:
        rewritten(extract(composed(None)), {"m": 5}, "exact")
    assert error.value.what == "the shares of 'affine' over m points can be neither cut nor interleaved"
    assert error.value.mend == "declare the largest size of the dim, te.dim(..., hi=...), or the monoid commutative"
    assert "test_split.py" in error.value.where


def test_two_axes_at_once_and_by_dim() -> None:
    seq = te.dim("seq", lo=1, hi=64)
    q = te.input("Q", (2, 1, 8))
    k, v = (te.input(n, (2, seq, 8)) for n in "KV")
    graph = te.graph("both", O=te.attention(q, k, v), Y=te.matmul(te.input("A", (3, 10)), te.input("B", (10, 2))))
    x = rewritten(extract(graph), {"seq": 3, "A:1": 2}, "exact")
    agree(x, {"seq": 11})
    assert len(x.program.kernels) == 4


def test_optimize_splits_verifies_reports_and_saves(tmp_path: Any) -> None:
    compiled = te.optimize(decode(13), split={"K:1": 4})
    assert compiled.verification is not None and compiled.verification.worst < 1e-5
    assert "fold.split_state" in compiled.report() and len(compiled.program.kernels) == 2
    compiled.save(tmp_path / "decode.tang")
    arrays = arrays_for(compiled.graph, False)
    np.testing.assert_array_equal(te.load(tmp_path / "decode.tang")(**arrays), compiled(**arrays))
    assert len(sources(decode(13), "c", split={"K:1": 4})) == 2


def said(split: Any, graph: Graph | None = None) -> str:
    with pytest.raises(GraphError) as error:
        rewritten(extract(graph or product(6)), split, "exact")
    return str(error.value)


def test_what_cannot_be_split_is_told() -> None:
    assert said({"inner": 2}) == (
        "nothing is named 'inner'\n  where: graph 'product'\n"
        "  mend:  give an index or dim (i, j, k), or an axis such as 'X:0'"
    )
    assert said({"X:2": 2}) == "'X' has no axis 2\n  where: graph 'product'\n  mend:  its axes are -2 to 1"
    assert said({"X:0": 2}) == (
        "nothing folds along 'X:0'\n  where: graph 'product'\n"
        "  mend:  split an axis that a sum, maximum or other fold runs over"
    )
    assert said({"X:1": 2, "W:0": 3}) == (
        "'X:1' and 'W:0' name the same axis 'W:0'\n  where: graph 'product'\n  mend:  name it once"
    )
    for parts in (0, -1, True, 2.0, MOST_PARTS + 1, "4"):
        assert said({"X:1": parts}) == (
            f"'X:1' in {parts!r} parts\n  where: the parts of an axis\n  mend:  give a whole number from 1 to 65536"
        )
    assert said([("X:1", 2)]) == (
        "split is a value of type list\n  where: optimize\n"
        "  mend:  pass a dict of numbers of shares by axis: split={'K:1': 8}"
    )
    assert said({3: 2}) == (
        "an axis is named by a value of type int\n  where: graph 'product'\n"
        "  mend:  name an index, a dim, or an axis such as 'X:0'"
    )


def test_a_name_of_unlinked_axes_is_told() -> None:
    i, j = te.index("i", 4), te.index("j", 5)
    x, y = te.input("X", (4, 5)), te.input("Y", (4, 5))
    graph = te.graph("two", te.tensor("a", i, te.sum(j, x[i, j])), te.tensor("b", i, te.sum(j, y[i, j])))
    assert said({"j": 2}, graph) == (
        "'j' names 2 axes that nothing links: 'X:1', 'Y:1'\n  where: graph 'two'\n"
        "  mend:  name one of them, such as 'X:1'"
    )
    k = te.index("k", 3)
    alone = te.graph("alone", te.tensor("a", i, te.sum(k, te.cast(te.value(k), "real")) + te.sum(j, x[i, j])))
    assert said({"k": 2}, alone) == (
        "no input has an axis along 'k'\n  where: graph 'alone'\n  mend:  name an axis of an input: 'X:0', 'X:1'"
    )


def test_order_is_kept_where_it_matters() -> None:
    i, s, t = te.index("i", 3), te.index("s", 4), te.index("t", 5)
    x = te.input("X", (3, 4, 5))
    graph = te.graph("ordered", te.tensor("z", i, te.reduce(AFFINE, (s, t), x[i, s, t], 1.0, part="b")))
    agree(rewritten(extract(graph), {"s": 3}, "exact"))
    told = said({"t": 2}, graph)
    assert told.startswith("splitting i2 would reorder 'affine', which is not commutative\n  where: ")
    assert told.endswith("\n  mend:  split the first index of the fold, or declare the monoid commutative")


def test_a_read_that_only_the_outer_domain_keeps_in_bounds() -> None:
    """The fold around says which rows are read; the state of the inner fold, stored for all of them, must know it."""
    i, c, j = te.index("i", 3), te.index("c", 9), te.index("j", 8)
    x = te.input("X", (3, 5, 8))
    inner = te.tanh(te.sum(j, x[i, c, j]))
    graph = te.graph("guarded", te.tensor("y", i, te.sum(c, inner, where=c <= 4)))
    agree(rewritten(extract(graph), {"X:2": 3}, "exact"))


def guarded(how: str, d: Any, rows: Any, x: Any) -> Any:
    """Folds over the rows of x at column d - 1 that only the select around keeps in bounds."""
    m, n = te.index("m", rows), te.index("n", rows)
    near = x[m, d - 1]
    above, scaled = te.max(n, x[n, d - 1]), te.tanh(te.sum(m, near))
    return {
        "below": lambda: te.select(d >= 1, te.sum(m, near), 0.0),
        "else": lambda: te.select(d < 1, 1.0, scaled),
        "both": lambda: te.select((d >= 1) & (d <= 11), te.max(m, near + x[m, d + 1]), 0.0),
        "either": lambda: te.select((d >= 5) | te.eq(d, 2), te.sum(m, near), 0.0),
        "inside another": lambda: te.select(d >= 1, te.select(d >= 4, te.sum(m, near), scaled), 0.0),
        "pass": lambda: te.select(d >= 1, te.sum(m, te.exp(near - above) * near), 0.0),
    }[how]()


@pytest.mark.parametrize("how", ["below", "else", "both", "either", "inside another", "pass"])
@pytest.mark.parametrize("rows", [12, None])
def test_a_read_that_only_the_select_around_keeps_in_bounds(how: str, rows: int | None) -> None:
    size = rows if rows is not None else te.dim("M", lo=1)
    d = te.index("d", 13)
    graph = te.graph("guarded", te.tensor("y", d, guarded(how, d, size, te.input("X", (size, 13)))))
    found = rewritten(extract(graph), {"X:0": 3}, "exact")
    agree(found, {} if rows is not None else {"M": 7})


def both_places(how: str) -> tuple[Tensor, Tensor]:
    """Σ_j x[c, j] for the first rows under a condition, and for all of them: one state serves both."""
    c, j = Index("c", affine(9)), Index("j", affine(8))
    x = Input("X", (affine(9), affine(8)))
    inner = Reduce(SUM, (j,), domain(), (Read(x, (affine(c), affine(j))),))
    few = affine(c) <= 3
    if how == "select":
        some = Tensor("some", (c,), apply("select", Test(few), apply("tanh", inner), const(0.0)), "f64")
        return some, Tensor("every", (c,), apply("exp", inner), "f64")
    some = Tensor("some", (), Reduce(SUM, (c,), domain(few), (apply("tanh", inner),)), "f64")
    return some, Tensor("every", (), Reduce(SUM, (c,), domain(), (apply("exp", inner),)), "f64")


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("how", ["select", "domain"])
def test_a_state_is_stored_wherever_one_of_its_readers_stands(how: str, order: int) -> None:
    tensors = both_places(how)[::order]
    graph = Graph("places", (Input("X", (affine(9), affine(8))),), tensors)
    program, _ = split_program(graph, Program(graph, (KernelPlan("k", tensors),)), {"X:1": 3})
    arrays = sample_inputs(graph, {}, edge=False)
    want, got = te.interpret(graph, arrays), te.interpret(program.graph, arrays)
    assert all(relative_error(got[output], value) < 1e-9 for output, value in want.items())


def test_steps_need_their_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "equalities", dict)
    with pytest.raises(LawError) as error:
        step("fold.split", const(1.0), const(1.0))
    assert str(error.value) == (
        "there is no law 'fold.split' in the table\n  where: a step outside of the e-graph\n"
        "  mend:  keep the family 'fold' in the table, or do not ask for this rewriting"
    )


def test_axes_of_states_are_in_the_order_of_numbers() -> None:
    names = [Index(n, affine(2)) for n in ("i10", "i2", "a", "i1")]
    assert [i.name for i in in_order(names)] == ["a", "i1", "i2", "i10"]


def test_a_stored_state_must_be_moved_where_it_is_folded() -> None:
    """Were a follower's part its own lift, tiles that fold at a later statistic would add it up unscaled."""
    x = extracted("decode")
    fold = next(s for s in walk(x.program.tensors[0].body) if isinstance(s, Reduce) and s.monoid.followers)
    reads = {n: const(1.0) for n in range(3)}
    assert stored_lift(fold.monoid, 0, reads) is reads[0]
    assert stored_lift(fold.monoid, 1, reads) is not reads[1]
    assert "statistic" in te.print_graph(x.program.graph)
    assert not places_of(x.program.tensors[0].body)[fold].nested


def test_the_check_of_split_programs_sees_reads_out_of_bounds() -> None:
    x = rewritten(extracted("split_k"), {"W:0": 4}, "exact")
    check_split(x.program.graph)
    (y,) = x.program.graph.outputs
    fold = next(s for s in walk(x.program.kernels[0].outputs[0].body) if isinstance(s, Reduce))
    assert fold.where.affine, "97 points in 4 shares: the last one is limited"
    loose = replace(x.program.kernels[0].outputs[0], body=replace(fold, where=domain()))
    with pytest.raises(GraphError, match="may fall above axis"):
        check_split(Graph("loose", x.graph.inputs, (loose,)))
    assert y.name == "Y"
