"""Range analysis: what the interpreter finds lies inside, and what relations between values make known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tang_egg as te
from tang_egg import ops
from tang_egg.errors import InputError
from tang_egg.examples import EXAMPLES
from tang_egg.interpret import interpret
from tang_egg.ir import Apply, Const, Graph, Input, Read, tensors_of
from tang_egg.pipeline import extract
from tang_egg.ranges import overflows, range_of, ranges
from tang_egg.ranges_ops import RULES, rule
from tang_egg.ranges_value import (
    ANYTHING,
    LARGEST,
    NOTHING,
    Range,
    between,
    hull,
    meet,
    of_type,
    over,
    plus,
    point,
    times,
)
from tests.strategies import Instance, graphs


def enclosing(values: Any) -> Range:
    """The least enclosure of some values."""
    a = np.asarray(values)
    if a.dtype.kind != "f":
        return Range(int(a.min()), int(a.max()), negative_zero=False, whole=True) if a.size else NOTHING
    finite = a[np.isfinite(a)]
    ends = (float(finite.min()), float(finite.max())) if finite.size else (math.inf, -math.inf)
    negative = bool(((a == 0) & np.signbit(a)).any())
    infinite = (bool((a == -np.inf).any()), bool((a == np.inf).any()), bool(np.isnan(a).any()))
    return Range(*ends, *infinite, negative, bool((finite == np.floor(finite)).all()))


def outside(values: Any, r: Range) -> list[Any]:
    return [x for x in np.asarray(values).reshape(-1).tolist() if x not in r]


# Every value lies inside.


def check(instance: Instance, bound: bool) -> None:
    graph = instance.graph
    watched = Graph("all", graph.inputs, tensors_of(graph.outputs))
    found = interpret(watched, instance.inputs, instance.dims)
    inputs = {k: enclosing(v) for k, v in instance.inputs.items()}
    enclosed = ranges(graph, inputs, instance.dims if bound else None)
    for name, values in found.items():
        assert not outside(values, enclosed[name]), f"{name} in {enclosed[name]}: {outside(values, enclosed[name])[:3]}"


@settings(max_examples=120, deadline=None)
@given(graphs(sizes=(0, 1, 2, 3, 5)), st.booleans())
def test_values_of_random_graphs_lie_inside(instance: Instance, bound: bool) -> None:
    check(instance, bound)


@settings(max_examples=120, deadline=None)
@given(graphs(sizes=(0, 1, 2, 3), edges=True), st.booleans())
def test_so_do_infinities_nan_and_signs_of_zero(instance: Instance, bound: bool) -> None:
    check(instance, bound)


NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-310, -1e-310, 700.0, -700.0, 710.0, 1e300, -1e300, math.inf,
           -math.inf, math.nan, 1e-8, 65504.0, 65520.0, 2.0**53, 4.0]  # fmt: skip
WHOLES = [0, 1, -1, 2, 3, 7, -7, 100, 127, -128]


def operands(kind: str) -> st.SearchStrategy[list[Any]]:
    base = {"real": st.sampled_from(NUMBERS) | st.floats(), "bool": st.booleans()}.get(kind, st.sampled_from(WHOLES))
    return st.lists(base, min_size=1, max_size=4)


CASES = (
    [
        (name, kind)
        for name, op in ops.OPS.items()
        for kind in {
            "numeric": ("real", "i8"),
            "real": ("real",),
            "integer": ("i8", "i64"),
            "bool": ("bool",),
            "any": ("real", "bool", "i8"),
            "select": ("real", "i8"),
        }[op.operands]
    ]
    + [
        (f"cast:{to}", kind)
        for to in ("f16", "bf16", "f32", "f64", "i8", "u8", "i64", "bool")
        for kind in ("real", "i8", "bool")
    ]
    + [("bits:i32", "real"), ("bits:f32", "i32"), ("bits:u8", "i8")]
)


@pytest.mark.parametrize(("name", "kind"), CASES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_rule_of_an_operation_encloses_its_results(name: str, kind: str, data: st.DataObject) -> None:
    """All combinations of some operands, against the hull of each."""
    op = ops.find(name)
    kinds = ("bool", kind, kind) if op.operands == "select" else (kind,) * op.arity
    drawn = [data.draw(operands(k)) for k in kinds]
    arrays = [np.array(v, ops.numpy_type(k)) for v, k in zip(drawn, kinds, strict=True)]
    grid = np.meshgrid(*arrays, indexing="ij")
    found = ops.apply(name, tuple(g.reshape(-1) for g in grid), kinds)
    enclosed = rule(name)([hull(*(point(x) for x in v)) for v in drawn], kinds[-1])
    assert not outside(found, enclosed), (drawn, enclosed)


def test_no_operation_is_without_a_rule() -> None:
    assert set(RULES) == set(ops.OPS)
    for kind in ops.STORAGE:
        assert rule(f"cast:{kind}") and rule(f"bits:{kind}")
    with pytest.raises(KeyError):
        rule("tangent")


@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_ends_are_rounded_outwards(a: float, b: float) -> None:
    from fractions import Fraction

    if math.isinf(a) or math.isinf(b):
        return
    x, y = Fraction(a), Fraction(b)
    for exact, f in ((x + y, plus), (x * y, times)):
        lo, hi = f(a, b, False), f(a, b, True)
        assert (lo == -math.inf or Fraction(lo) <= exact) and (hi == math.inf or exact <= Fraction(hi))
        assert (
            lo == hi
            or math.nextafter(lo, math.inf) == hi
            or abs(exact) > Fraction(LARGEST)
            or abs(exact) < Fraction(1, 2**1000)
        )
    if abs(a) > 1e-300:
        assert Fraction(over(a, False)) <= 1 / x <= Fraction(over(a, True))


def test_exact_sums_and_products_are_not_widened() -> None:
    assert plus(1.0, 2.0, True) == 3.0 and times(0.5, 8.0, False) == 4.0 and over(4.0, True) == 0.25
    assert plus(0.1, 0.2, False) < plus(0.1, 0.2, True)
    assert plus(2**60, 1, True) == 2**60 + 1 and times(math.inf, 0, True) == 0


def test_hull_and_meet() -> None:
    a, b = between(-1.0, 2.0), Range(1.0, 5.0, above=True, nan=True, negative_zero=False)
    assert hull(a, b) == Range(-1.0, 5.0, False, True, True, True)
    assert meet(a, b) == Range(1.0, 2.0, False, False, False, False)
    assert hull() == NOTHING and NOTHING.impossible and hull(NOTHING, a) == a
    assert str(hull(a, b)) == "[-1, 5] or inf or NaN" and str(NOTHING) == "no value"
    assert math.nan in ANYTHING and 300 not in of_type("i8") and -0.0 not in b


# Relations.

INPUTS: dict[str, tuple[float, float]] = {"X": (-10, 10)}


def softmax(n: Any = None) -> Graph:
    return te.graph("s", y=te.softmax(te.input("X", (8, n if n is not None else te.Dim("n", 1, 100_000)))))


def test_differences_to_a_maximum_and_quotients_by_a_sum() -> None:
    for inputs in (INPUTS, {}):
        found = ranges(softmax(), inputs)
        assert found["softmax_exp"].hi == 1.0 and found["softmax_exp"].lo >= 0
        assert found["softmax_sum"].lo == 1.0 and 100_000 <= found["softmax_sum"].hi < 100_001
        assert found["y"].lo >= 0.0 and found["y"].hi == pytest.approx(1.0, abs=1e-9) and found["y"].finite
    unknown = ranges(softmax(), {"X": ANYTHING})
    assert unknown["y"].nan and unknown["softmax_exp"].hi == 1.0, "NaN may come out, but nothing above one"


def test_an_extremum_over_another_index_says_nothing_of_a_sum() -> None:
    """Each term is at most one, but the term that is one need not be among those that are summed."""
    i, k, j = te.index("i", 3), te.index("k", 5), te.index("j", 5)
    x = te.input("X", (3, 5))
    most = te.tensor("m", i, te.max(j, x[i, j]))
    graph = te.graph("g", y=te.tensor("y", (i, k), te.sum(j, te.exp(x[i, k] - most[i]))))
    found = ranges(graph, INPUTS)["y"]
    assert 0 < found.lo < 1e-6 and 5 <= found.hi < 5.001


def test_a_length_without_a_limit() -> None:
    found = ranges(softmax(te.Dim("n", 1)), INPUTS)
    assert found["softmax_sum"].lo == 1.0 and found["softmax_sum"].hi == math.inf and not found["softmax_sum"].nan
    assert found["y"].hi == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("causal", [False, True])
def test_weighted_sums_lie_within_the_values(causal: bool) -> None:
    q, k, v = (te.input(x, (2, 3, 16, 8), "f16") for x in "QKV")
    graph = te.graph("a", o=te.attention(q, k, v, causal=causal))
    found = ranges(graph, {"V": (-3, 5)})
    assert found["row_sum"].hi == pytest.approx(16)
    if not causal:
        assert found["o"].lo > -3.001 and found["o"].hi < 5.001 and found["o"].finite
    assert not outside(interpret(graph, inputs_of(graph, {"V": (-3, 5)}))["o"], found["o"])


def inputs_of(graph: Graph, wanted: dict[str, tuple[float, float]]) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        i.name: rng.uniform(*wanted.get(i.name, (-3, 3)), tuple(s.value or 0 for s in i.shape)) for i in graph.inputs
    }


def test_the_cascade_of_an_extracted_program_is_seen_through() -> None:
    program = extract(softmax(33)).program
    assert any(t.name == "y" for t in program.tensors) and "at" in str(program.graph)
    assert ranges(program.graph, INPUTS)["y"].hi == pytest.approx(1.0, abs=1e-9)
    assert not overflows(program.graph, "f16", INPUTS)


def test_means_squares_and_counts() -> None:
    graph = te.graph("l", y=te.layer_norm(te.input("X", (4, 32))))
    found = ranges(graph, {"X": (-4, 4)})
    assert found["mean"].lo == pytest.approx(-4) and found["mean"].hi == pytest.approx(4)
    assert found["variance"].lo == 0.0 and found["y"].finite
    symbolic = te.graph("m", y=te.mean(te.input("X", (3, te.Dim("n", 1, 50)))))
    assert (ranges(symbolic, {"X": (-4, 4)})["y"].lo > -4.001) and ranges(symbolic, {"X": (-4, 4)})["y"].hi < 4.001


def test_branches_know_their_conditions() -> None:
    i = te.indices("i")
    x = te.input("X", (5,))
    relu = te.graph("r", y=te.tensor("y", i, te.select(x[i] < 0.0, 0.0, x[i])))
    assert ranges(relu, INPUTS)["y"].lo == 0.0
    safe = te.graph("r", y=te.tensor("y", i, te.select(x[i] > 0.5, 1.0 / x[i], 2.0)))
    found = ranges(safe, INPUTS)["y"]
    assert 0.1 - 1e-15 <= found.lo <= 0.1 and found.hi == 2.0 and found.finite


def test_integers_wrap_and_positions_are_bounded() -> None:
    i, j = te.indices("i j")
    a = te.input("A", (5, 7), "i8")
    graph = te.graph(
        "g", y=te.tensor("y", i, te.argmax(j, a[i, j]), "i64"), z=te.tensor("z", (i, j), a[i, j] * a[i, j], "i8")
    )
    found = ranges(graph, {"A": (-3, 4)})
    assert (found["y"].lo, found["y"].hi) == (0, 6)
    assert (found["z"].lo, found["z"].hi) == (-12, 16)
    assert (ranges(graph)["z"].lo, ranges(graph)["z"].hi) == (-128, 127)


@pytest.mark.parametrize("name", ["softmax", "logsumexp", "variance", "rmsnorm_matmul", "swiglu", "attention_padded",
                                  "transformer_block", "gated_recurrence", "cross_entropy"])  # fmt: skip
def test_examples_are_enclosed_and_said_quickly(name: str) -> None:
    graph = EXAMPLES[name]()
    found = ranges(graph, {i.name: (-2, 2) for i in graph.inputs if i.dtype in ops.FLOATS})
    assert set(found) == {i.name for i in graph.inputs} | {t.name for t in tensors_of(graph.outputs)}
    assert all(not r.impossible for r in found.values())


# Overflow.


def test_overflow_is_excluded_or_named() -> None:
    assert overflows(softmax(1000), "f16", INPUTS) == ()
    i, j = te.indices("i j")
    x = te.input("X", (3, 1000))
    plain = te.graph("e", y=te.tensor("y", i, te.sum(j, te.exp(x[i, j]))))
    assert overflows(plain, "f32", INPUTS) == ()
    (found,) = overflows(plain, "f16", INPUTS)
    assert found.term == "sum[j](exp(X[i, j]))" and found.largest == 65504.0 and found.range.hi > 65504
    assert str(found).endswith("beyond 65504")
    assert {o.term for o in overflows(plain, "f16", {"X": (-12, 12)})} == {"exp(X[i, j])", "sum[j](exp(X[i, j]))"}
    assert len(overflows(plain, "f32")) == 2, "unknown inputs may do anything"


def test_partial_sums_count() -> None:
    """The sum is a mean of small values, but on the way it is not small."""
    i, j = te.indices("i j")
    x = te.input("X", (3, 1000))
    graph = te.graph("m", y=te.tensor("y", i, te.sum(j, x[i, j] * 100.0) * 1e-5))
    assert [o.term for o in overflows(graph, "f16", {"X": (0, 1)})] == ["sum[j](X[i, j] * 100.0)"]
    assert overflows(graph, "f16", {"X": (0, 0.5)}) == ()


def test_infinities_that_are_written_do_not_count() -> None:
    """The maximum of no element is -inf, which is no overflow. Weights beside the diagonal may be one, and are told."""
    q, k, v = (te.input(x, (1, 1, 16, 8)) for x in "QKV")
    graph = te.graph("a", o=te.attention(q, k, v, causal=True))
    assert overflows(graph, "f32", dict.fromkeys("QKV", (-2, 2))) == ()
    weights, inverse = overflows(graph, "f32", dict.fromkeys("QKV", (-4, 4)))
    assert weights.term == "exp(scores[b, h, i, j] - row_max[b, h, i])" and inverse.term == "recip(row_sum[b, h, i])"


def test_open_expressions() -> None:
    x = Read(Input("X", ()), ())
    assert range_of(Apply("exp", (x,)), {"X": (0, 1)}).lo == 1.0
    assert overflows(Apply("mul", (x, Const(1e6))), "f16", {"X": (0, 1)})
    positive = Apply("lt", (Const(0.0), x))
    assert range_of(x, {"X": (-1, 1)}, given=[positive]).lo == 0.0


# Errors.


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"Z": (0, 1)}, "there is no input 'Z'\n  where: graph 's'\n  mend:  the inputs are: X"),
        ({"X": (1, 0)}, "(1, 0) is no interval\n  where: graph 's', the range of input 'X'\n"
            "  mend:  give (lo, hi) with lo <= hi, or a Range"),
        ({"X": (math.nan, 1)}, "(nan, 1) is no interval"),
        ({"X": 3}, "3 is no interval"),
        ({"X": ("a", 1)}, "('a', 1) is no interval"),
    ],
)  # fmt: skip
def test_ranges_that_are_none_are_errors(inputs: Any, message: str) -> None:
    with pytest.raises(InputError) as e:
        ranges(softmax(4), inputs)
    assert str(e.value).startswith(message)


def test_a_type_that_is_none_is_an_error() -> None:
    with pytest.raises(InputError) as e:
        overflows(softmax(4), "f8")
    assert str(e.value).startswith("no float type 'f8'\n  where: overflows\n  mend:  use one of: f16, ")
