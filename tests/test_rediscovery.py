"""What must fall out of naive graphs by general laws: structure, laws and values of extracted programs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from tang_egg import expression as e
from tang_egg import layers, library
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.examples import EXAMPLES
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Read, Reduce, Scan, walk
from tang_egg.pipeline import extract
from tang_egg.pipeline_compiled import Extraction
from tang_egg.rules.table import equalities
from tang_egg.verify import relative_error, sample_inputs
from tests.laws import programs

OPERATORS = re.compile(r"softmax|attention|norm|conv|swiglu|gelu|flash|welford", re.IGNORECASE)


@dataclass(frozen=True)
class Form:
    """Kernels; folds over more than operands' inner axes by (components, followers), largest first; laws needed."""

    kernels: int
    folds: tuple[tuple[int, int], ...]
    laws: frozenset[str] = frozenset()


def folds_of(x: Extraction) -> tuple[tuple[int, int], ...]:
    """(components, followers) of every distinct fold or scan, however many of its parts are used."""
    found = {(s.monoid, s.body) for t in x.program.tensors for s in walk(t.body) if isinstance(s, (Reduce, Scan))}
    return tuple(sorted(((len(m.components), len(m.followers)) for m, _ in found), reverse=True))


def laws_of(x: Extraction) -> frozenset[str]:
    return frozenset(s.law for steps in x.steps.values() for s in steps)


def reads(x: Extraction, name: str) -> int:
    """How many folds read an input."""
    folds = {(s.monoid, s.body) for t in x.program.tensors for s in walk(t.body) if isinstance(s, Reduce)}
    return sum(any(isinstance(s, Read) and s.source.name == name for s in walk(*body)) for _, body in folds)


def long(**options: object) -> Graph:
    """Attention over so many keys that scores are not worth writing."""
    q, k, v = (te.input(n, (1, 4, 1024, 64)) for n in "QKV")
    return graph("long", O=layers.attention(q, k, v, **options))  # type: ignore[arg-type]


def long_attention() -> Graph:
    return long(causal=True)


def dequantised() -> Graph:
    """The scale of a column leaves the sum, past the cast of the integers."""
    i, k, n = te.index("i", 64), te.index("k", 512), te.index("n", 64)
    x, q, s = te.input("X", (64, 512)), te.input("q", (512, 64), "i8"), te.input("s", (64,))
    return graph("dequantised", te.tensor("Y", (i, n), te.sum(k, x[i, k] * (e.cast(q[k, n], "real") * s[n]))))


PASS = frozenset({"cascade.pass"})
ONE = Form(1, ((3, 2), (1, 0)), PASS | {"fold.hoist"})
PADDED = Form(1, ((4, 2), (1, 0)), PASS | {"fold.hoist_guarded"})
TABLE: dict[str, tuple[Callable[[], Graph], Form]] = {
    "long_attention": (long_attention, ONE),
    "long_bias": (lambda: long(bias=te.input("bias", (1024, 1024)), causal=True), ONE),
    "long_masked": (lambda: long(mask=te.input("live", (1024, 1024), "bool"), causal=True), PADDED),
    "dequantised": (dequantised, Form(1, ((1, 0),), frozenset({"fold.hoist"}))),
} | {
    n: (EXAMPLES[n], form)
    for n, form in {
        "softmax": Form(1, ((2, 1),), PASS),
        "attention": ONE,
        "attention_bias_inf": ONE,
        "attention_padded": PADDED,
        "attention_masked": PADDED,
        "attention_causal": ONE,
        "attention_window": ONE,
        "attention_soft_cap": ONE,
        "attention_alibi": ONE,
        "attention_grouped": ONE,
        "rmsnorm_matmul": Form(1, ((2, 0),), frozenset({"fold.hoist"})),
        "swiglu": Form(1, ((2, 0),)),
        "logsumexp": Form(1, ((2, 1),), PASS),
        "square": Form(1, ((1, 0),)),
        "gram": Form(2, ((1, 0), (1, 0))),
        "gated_recurrence": Form(1, ((2, 0),)),
        "embedding_sum": Form(1, ((1, 0),)),
        "argmax": Form(1, ((2, 0),)),
    }.items()
}


@pytest.mark.parametrize("name", TABLE)
def test_form(name: str) -> None:
    make, form = TABLE[name]
    x = extract(make())
    assert len(x.program.kernels) == form.kernels
    assert folds_of(x) == form.folds
    assert form.laws <= laws_of(x) <= equalities().keys()
    assert all(r.name in {i.name for i in x.graph.inputs} for r in x.program.graph.inputs)


def long_variance() -> Graph:
    """The variance of rows that no near cache holds."""
    return graph("long", V=library.variance(te.input("X", (16, 1 << 20))))


def test_a_variance_is_found_in_one_pass_about_its_own_mean() -> None:
    x = extract(long_variance())
    assert reads(x, "X") == 1
    assert folds_of(x) == ((4, 2),), "sum, count, and two followers about the running mean"
    assert {"fold.mean", "cascade.pass"} <= laws_of(x)


@pytest.mark.parametrize("name", ["variance", "layernorm_matmul"])
def test_centred_sums_have_a_form_in_one_pass_or_one_kernel(name: str) -> None:
    assert len(extract(EXAMPLES[name]()).program.kernels) == 1


def test_attention_reads_keys_and_values_once() -> None:
    x = extract(long_attention())
    assert reads(x, "V") == 1
    assert [t.name for t in x.program.tensors] == ["O"], "no scores in memory"


def test_no_law_names_an_operator() -> None:
    assert not [n for n in equalities() if OPERATORS.search(n)]


def test_outputs_that_are_equal_keep_their_names() -> None:
    naive = programs.simple()
    inputs = sample_inputs(naive, {}, edge=False)
    got = interpret(extract(naive).program.graph, inputs)
    for output, value in interpret(naive, inputs).items():
        assert relative_error(got[output], value) < 1e-9, output


@pytest.mark.parametrize("name", [n for n in programs.all_programs() if n != "simple"])
def test_extracted_programs_mean_the_same(name: str) -> None:
    naive = programs.all_programs()[name]()
    x = extract(naive)
    for edge in (False, True):
        inputs = sample_inputs(naive, {}, edge=edge, seed=3)
        if "live" in inputs:
            inputs["live"][0] = False  # a dead row
        expected, got = interpret(naive, inputs), interpret(x.program.graph, inputs)
        for output, value in expected.items():
            assert relative_error(got[output], value) < 1e-9, output


def test_rows_of_minus_infinity() -> None:
    """Partly -inf: finite; all of a row -inf: NaN, as the naive form says."""
    naive = programs.attention_bias()
    x = extract(naive)
    inputs = sample_inputs(naive, {}, edge=False)
    inputs["bias"][0, :4] = -np.inf
    inputs["bias"][1, 1:] = -np.inf
    inputs["bias"][2] = -np.inf
    expected, got = interpret(naive, inputs)["O"], interpret(x.program.graph, inputs)["O"]
    np.testing.assert_allclose(got, expected, rtol=1e-10, equal_nan=True)
    assert np.isnan(got[:, 2]).all() and np.isfinite(got[:, [0, 1, 3, 4]]).all()


def attention_spelt(i: str, j: str, d: str, c: str, names: tuple[str, str, str], swapped: bool, turned: bool) -> Graph:
    """One attention, its indices and inputs renamed, operands of products swapped, or V stored the other way round."""
    qi, kj, kd, vc = te.index(i, 64), te.index(j, 96), te.index(d, 32), te.index(c, 48)
    q, k = te.input(names[0], (64, 32)), te.input(names[1], (96, 32))
    v = te.input(names[2], (48, 96) if turned else (96, 48))
    value = v[vc, kj] if turned else v[kj, vc]
    a, b = q[qi, kd], k[kj, kd]
    s = te.tensor("s" if swapped else "zz", (kj, qi) if turned else (qi, kj), te.sum(kd, b * a if swapped else a * b))
    at = s[kj, qi] if turned else s[qi, kj]
    m = te.tensor("m" if swapped else "aa", qi, te.max(kj, at))
    p = e.exp(-m[qi] + at if swapped else at - m[qi])
    total = te.tensor("total", qi, te.sum(kj, p))
    share = e.recip(total[qi])
    return graph("g", te.tensor("O", (qi, vc), te.sum(kj, value * (share * p) if swapped else p * share * value)))


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("letters", ["ijdc", "cdji", "zyxw"])
def test_spelling_changes_nothing_in_what_is_derived(letters: str, swapped: bool, turned: bool) -> None:
    plain = extract(attention_spelt(*"ijdc", ("Q", "K", "V"), False, False))
    x = extract(attention_spelt(*letters, ("V", "b", "a"), swapped, turned))
    assert len(x.program.kernels) == len(plain.program.kernels)
    assert folds_of(x) == folds_of(plain)
    assert laws_of(x) == laws_of(plain)
