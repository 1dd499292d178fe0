"""Graphs over ranks: what is cut, what crosses, and that all ranks together compute the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg.errors import GraphError, InputError, VerificationError
from tang_egg.extract.shard import MOST_RANKS, shard_program
from tang_egg.extract.sharded import Sharded
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Reduce, walk
from tang_egg.monoid import AFFINE
from tang_egg.ops import BYTES
from tang_egg.pipeline import extract
from tang_egg.pipeline_compiled import Extraction
from tang_egg.pipeline_shard import compile_sharded, shard
from tang_egg.rules.table import equalities
from tang_egg.verify import relative_error, sample_inputs


def attended(rows: int = 3, keys: int = 13, **options: Any) -> Graph:
    q = te.input("Q", (2, rows, 8))
    k, v = (te.input(n, (2, keys, 8)) for n in "KV")
    return te.graph("attended", O=te.attention(q, k, v, **options))


def masked() -> Graph:
    return attended(key_mask=te.input("live", (2, 13), "bool"))


def rms() -> Graph:
    return te.graph("rms", Y=te.rms_norm(te.input("X", (5, 31)), te.input("g", (31,))))


def rms_product() -> Graph:
    return te.graph("rms_product", Y=te.matmul(te.rms_norm(te.input("X", (5, 31))), te.input("W", (31, 7))))


def norm() -> Graph:
    return te.graph("norm", Y=te.layer_norm(te.input("X", (5, 31))))


def softmax() -> Graph:
    return te.graph("softmax", Y=te.softmax(te.input("X", (5, 31))))


def chosen() -> Graph:
    values, positions = te.top_k(te.input("X", (4, 29)), 3)
    return te.graph("chosen", values, positions)


def two_layers() -> Graph:
    hidden = te.pointwise(te.gelu, te.matmul(te.input("X", (5, 9)), te.input("A", (9, 14))))
    return te.graph("two_layers", Y=te.matmul(hidden, te.input("B", (14, 6))))


def itself() -> Graph:
    x = te.input("X", (9, 8))
    return te.graph("itself", O=te.attention(x, x, x))


def positions() -> Graph:
    """A table that is read at the points of a rank's part, a mask over them, and their values."""
    i, j = te.index("i", 3), te.index("j", 10)
    x, table = te.input("X", (3, 10)), te.input("T", (12,))
    weight = table[j + 2] * te.cast(te.value(j), "real")
    return te.graph("positions", Y=te.tensor(None, i, te.sum(j, x[i, j] * weight, where=j <= 2 * i + 3)))


def symbolic() -> Graph:
    n = te.dim("n", lo=2, hi=300)
    i, j = te.index("i", 3), te.index("j", n)
    x = te.input("X", (3, n))
    best, level = te.tensor("best", i, te.argmax(j, x[i, j])), te.tensor("level", i, te.logsumexp(j, x[i, j]))
    return te.graph("symbolic", best, level, share=te.tensor("share", (i, j), te.exp(x[i, j] - level[i])))


def ordered() -> Graph:
    i, t = te.index("i", 3), te.index("t", 11)
    a, b = te.input("A", (3, 11)), te.input("B", (3, 11))
    return te.graph("ordered", Z=te.tensor(None, i, te.reduce(AFFINE, t, a[i, t], b[i, t], part="b")))


def nested() -> Graph:
    i, c, j = te.index("i", 3), te.index("c", 5), te.index("j", 11)
    x, w = te.input("X", (3, 5, 11)), te.input("W", (5,))
    return te.graph("nested", Y=te.tensor(None, i, te.sum(c, te.tanh(te.sum(j, x[i, c, j])) * w[c])))


GRAPHS: dict[str, tuple[Callable[[], Graph], str]] = {
    "attended": (attended, "K:1"),
    "causal": (lambda: attended(13, 13, causal=True), "V:1"),
    "masked": (masked, "K:1"),
    "queries": (lambda: attended(causal=True), "i"),
    "heads": (attended, "Q:0"),
    "rms": (rms, "X:1"),
    "rms_product": (rms_product, "X:1"),
    "norm": (norm, "X:1"),
    "softmax": (softmax, "X:1"),
    "chosen": (chosen, "X:1"),
    "two_layers": (two_layers, "A:1"),
    "two_layers_inner": (two_layers, "X:1"),
    "itself": (itself, "X:0"),
    "positions": (positions, "X:1"),
    "ordered": (ordered, "A:1"),
    "nested": (nested, "j"),
    "no_keys": (lambda: attended(keys=0), "K:1"),
}


@lru_cache
def extracted(name: str) -> Extraction:
    return extract(GRAPHS[name][0]())


def over(name: str, ranks: int) -> Sharded:
    x = extracted(name)
    return shard_program(x.graph, x.program, GRAPHS[name][1], ranks)


def agree(sharded: Sharded, dims: Mapping[str, int] | None = None) -> None:
    for edge in (False, True):
        arrays = sample_inputs(sharded.graph, dims or {}, edge=edge, seed=2)
        if "live" in arrays:
            arrays["live"][0], arrays["live"][1, :7] = False, False  # a dead row, and a rank without live keys
        want, got = te.interpret(sharded.graph, arrays, dims), sharded.interpret(arrays, dims)
        for output, value in want.items():
            assert relative_error(got[output], value) < 1e-9, output


@pytest.mark.parametrize("ranks", [1, 2, 3, 32])
@pytest.mark.parametrize("name", GRAPHS)
def test_all_ranks_together_compute_the_graph(name: str, ranks: int) -> None:
    agree(over(name, ranks))


def sent(x: Sharded) -> list[list[tuple[int | None, ...]]]:
    return [[tuple(n.value for n in t.shape) for t in e.sends] for e in x.exchanges]


def test_attention_over_keys_exchanges_maximum_sum_and_row() -> None:
    x = over("attended", 2)
    assert sent(x) == [[(2, 3), (2, 3), (2, 3, 8)]]
    assert x.bytes() == 4 * (6 + 6 + 48) and x.inputs == {"K": 1, "V": 1} and not x.outputs
    assert [s.law for s in x.steps] == ["sharding.local_state"] and len(x.stages) == 2
    (e,) = x.exchanges
    assert not e.plain_sum and e.monoid.followers == (1, 2)
    assert {i.name for i in x.stages[1].graph.inputs} == {g.name for g in e.gathers}


def test_rms_norm_exchanges_one_sum_of_squares_a_row() -> None:
    x = over("rms", 2)
    assert sent(x) == [[(5,)]] and x.bytes() == 5 * BYTES["f32"]
    assert x.inputs == {"X": 1, "g": 0} and x.outputs == {"Y": 1}
    assert x.exchanges[0].plain_sum


def test_rms_norm_before_a_product_exchanges_both_sums_at_once() -> None:
    x = over("rms_product", 2)
    assert sent(x) == [[(5,), (5, 7)]] and x.exchanges[0].plain_sum
    assert [s.law for s in x.steps] == ["sharding.local"]
    assert all(equalities()[s.law].rounding == s.rounding == "reassociates" for s in x.steps)


def test_two_statistics_are_two_exchanges() -> None:
    x = over("norm", 3)
    assert sent(x) == [[(5,)], [(5,)]] and len(x.stages) == 3


def test_what_needs_no_exchange_has_none() -> None:
    for name in ("queries", "heads"):
        x = over(name, 2)
        assert not x.exchanges and len(x.stages) == 1 and x.bytes() == 0
    assert over("queries", 2).outputs == {"O": 1}


def test_the_same_input_in_two_roles_stays_whole() -> None:
    x = over("itself", 2)
    assert not x.inputs and "every pair" in x.reasons[0] and sent(x) == [[(9,), (9,), (9, 8)]]
    assert [d.name for s in x.stages for d in s.graph.dims()] == ["rank"], "ranks read their part at an offset"


def test_a_rank_says_which_it_is_only_where_positions_need_it() -> None:
    assert [d.name for d in over("positions", 2).stages[0].graph.dims()] == ["rank"]
    even = shard(attended(keys=12), "K:1", 2)
    assert not [d for s in even.stages for d in s.graph.dims()]
    assert even.length.value == 6


def test_local_programs_fold_over_their_part_only() -> None:
    x = over("rms_product", 2)
    folds = [s for t in x.stages[0].program.tensors for s in walk(t.body) if isinstance(s, Reduce)]
    assert {i.size.value for f in folds for i in f.indices} == {16}  # half of 31, rounded up


def test_symbolic_axes() -> None:
    x = shard(symbolic(), "n", 3)
    assert x.outputs == {"share": 1} and str(x.length) == "n_part"
    for n in (3, 12, 21):
        agree(x, {"n": n})
    compiled = compile_sharded(x)
    assert compiled.verification is not None and compiled.verification.worst < 1e-5
    with pytest.raises(InputError) as error:
        x.interpret({"X": np.zeros((3, 10))})
    assert str(error.value) == (
        "10 points along 'n' do not divide over 3 ranks\n  where: graph 'symbolic', dim 'n'\n"
        "  mend:  pad the axis, or bind its size before sharding: graph.bind(...)"
    )
    agree(shard(symbolic().bind(n=10), "X:1", 3))


@pytest.mark.parametrize("name", ["attended", "masked", "rms", "rms_product", "positions", "chosen"])
def test_ranks_in_c(name: str) -> None:
    compiled = compile_sharded(over(name, 2))
    found = compiled.verification
    assert found is not None and found.runs >= 2 and found.worst < 2e-5


def test_a_wrong_exchange_is_found() -> None:
    x = over("rms", 2)
    wrong = replace(x, length=x.length - 1)
    with pytest.raises((VerificationError, InputError)):
        compile_sharded(wrong)


def test_a_wrong_sum_is_found() -> None:
    """Ranks that are told to hold other rows than they do disagree with the graph."""
    compiled = compile_sharded(over("positions", 2), verified=False)
    arrays = sample_inputs(compiled.sharded.graph, {}, edge=False)
    good = compiled(arrays)["Y"]

    def all_first(stage: Any, given: Any, dims: Any) -> Any:
        return compiled.run_stage(stage, given, {**dims, **({"rank": 0} if "rank" in dims else {})})

    bad = compiled.sharded.simulate(arrays, all_first)["Y"]
    want = interpret(compiled.sharded.graph, arrays)["Y"]
    assert relative_error(good, want) < 1e-5 < relative_error(bad, want)


def test_the_summary_says_what_crosses() -> None:
    assert str(over("rms", 2)) == (
        "rms: 'X:1' over 2 ranks, 16 of 31 points each\n"
        "  cut: X along axis 1, g along axis 0, Y along axis 1\n"
        "  stage 0: Y_value\n"
        "    all-reduce under sum: Y_value[5]: f32\n"
        "  stage 1: Y"
    )


def told(graph: Graph, axis: Any, ranks: Any) -> str:
    with pytest.raises(GraphError) as error:
        shard(graph, axis, ranks)
    return str(error.value)


def test_what_cannot_be_sharded_is_told() -> None:
    for ranks in (0, True, 1.5, MOST_RANKS + 1):
        assert told(rms(), "X:1", ranks) == (
            f"'X:1' in {ranks!r} parts\n  where: the parts of an axis\n  mend:  give a whole number from 1 to 4096"
        )
    assert told("rms", "X:1", 2) == (  # type: ignore[arg-type]
        "a value of type str is no graph\n  where: shard\n  mend:  make one of named outputs: te.graph('name', y=...)"
    )
    assert told(rms(), 1, 2).startswith("an axis is named by a value of type int\n")


def test_a_scan_stops_it() -> None:
    x = te.input("X", (3, 8))
    said = told(te.graph("sums", Y=te.cumulative_sum(x, 1)), "X:1", 2)
    assert said.startswith("a scan over i1 needs the points of all ranks before it, in order\n  where: ")
    assert said.endswith("\n  mend:  cut another axis, or scan within a rank's part only")


def test_an_unordered_fold_stops_it() -> None:
    i, s, t = te.index("i", 3), te.index("s", 4), te.index("t", 5)
    x = te.input("X", (3, 4, 5))
    graph = te.graph("ordered", te.tensor("z", i, te.reduce(AFFINE, (s, t), x[i, s, t], 1.0, part="b")))
    said = told(graph, "t", 2)
    assert said.startswith("splitting i2 would reorder 'affine', which is not commutative\n  where: ")
    agree(shard(graph, "s", 2))


def test_an_axis_of_several_sizes_is_told() -> None:
    i, j = te.index("i", 3), te.index("j", 5)
    x, y = te.input("X", (3, 6)), te.input("Y", (3, 5))
    graph = te.graph("sizes", te.tensor("z", i, te.sum(j, x[i, j] * y[i, j])))
    assert told(graph, "j", 2) == (
        "the axes along 'j' have 5 and 6 points\n  where: graph 'sizes': X:1, Y:1\n"
        "  mend:  cut an axis whose indices run over all of it"
    )
    a = te.dim("a", lo=1)
    z = te.input("Z", (a + 1,))
    k = te.index("k", a + 1)
    odd = te.graph("odd", te.tensor("y", (), te.sum(k, z[k])))
    assert told(odd, "Z:0", 2) == (
        "an axis of a + 1 points cannot be cut over ranks\n  where: graph 'odd'\n"
        "  mend:  give the axis a dim of its own, or bind its size: graph.bind(...)"
    )
