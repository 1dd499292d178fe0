"""Kernels whatever they are called: keys of mathematics, sizes and types only; schedules in either's names."""

from __future__ import annotations

import pytest

import tang_egg as te
from tang_egg.errors import CodegenError
from tang_egg.examples import EXAMPLES
from tang_egg.extract.certify import Budget
from tang_egg.ir import Graph
from tang_egg.kernel_names import canonical, renamed
from tang_egg.pipeline import certify, extract
from tang_egg.schedule import Schedule, parse_schedule
from tang_egg.targets import TARGETS, Wish
from tests.test_certify_program import Even
from tests.tuning_cases import rows


def keys(graph: Graph) -> list[str]:
    return [canonical(k.outputs).key for k in extract(graph).program.kernels]


def test_names_and_places_do_not_reach_the_key() -> None:
    m, n = 24, 40
    p, q = te.index("row", m), te.index("k", n)
    data = te.input("weights", (m, n))
    renamed_ = te.graph("other", total=te.tensor(None, p, te.sum(q, data[p, q]) * 2.0))
    assert keys(rows()) == keys(renamed_)


def test_a_kernel_behind_others_is_the_kernel_alone() -> None:
    """Its place in a window, which numbers its indices, does not matter, nor which kernel wrote what it reads."""
    block = extract(EXAMPLES["transformer_block"]()).program
    names = {k.name: canonical(k.outputs) for k in block.kernels}
    added = names["Y"]
    i, j = (te.index(n, a.size) for n, a in zip("ab", added.outputs[0].axes, strict=True))
    one, two = (te.input(n, tuple(a.size for a in added.outputs[0].axes)) for n in "pq")
    alone = te.graph("alone", Z=te.tensor(None, (i, j), one[i, j] + two[i, j]))
    assert keys(alone) == [added.key]


@pytest.mark.parametrize(
    "other", [rows(m=25), rows(n=41), rows(scale=3.0), rows(m=te.dim("m", lo=1))], ids=["m", "n", "scale", "dim"]
)
def test_another_kernel_has_another_key(other: Graph) -> None:
    assert keys(other) != keys(rows())


def test_types_and_facts_about_dims_are_part_of_the_key() -> None:
    def of(kind: str, lo: int) -> Graph:
        m = te.dim("m", lo=lo)
        i = te.index("i", m)
        return te.graph("g", Y=te.tensor(None, i, te.input("X", (m,), kind)[i] + 1.0))

    assert len({*keys(of("f32", 1)), *keys(of("bf16", 1)), *keys(of("f32", 2))}) == 3
    assert keys(of("f32", 1)) == keys(of("f32", 1))


@pytest.mark.parametrize("name", ["attention", "softmax", "matmul", "cross_entropy", "attention_symbolic"])
@pytest.mark.parametrize("target", ["c", "cuda", "opencl"])
def test_every_proposal_comes_back_and_is_proposed_for_the_canonical_kernel_too(name: str, target: str) -> None:
    for k in extract(EXAMPLES[name]()).program.kernels:
        own = canonical(k.outputs)
        assert canonical(own.outputs).key == own.key
        found = TARGETS[target].schedules(k.outputs, Wish())
        assert tuple(map(own.told, found)) == TARGETS[target].schedules(own.outputs, Wish())
        assert tuple(own.own(own.told(s)) for s in found) == found


def test_unknown_names_are_refused() -> None:
    own = canonical(extract(rows()).program.kernels[0].outputs)
    with pytest.raises(CodegenError, match="nothing called 'zz'"):
        own.own(parse_schedule("point order=zz"))
    with pytest.raises(CodegenError, match="nothing called 'a7'"):
        own.own(parse_schedule("stream stage=a7"))
    assert renamed(Schedule("point", order=("zz",), fetch=("a0",)), None, {"a0": "X"}) == Schedule(
        "point", order=("zz",), fetch=("X",)
    )


def test_a_search_names_what_it_stages_as_the_program_does() -> None:
    found = certify(EXAMPLES["attention"](), budget=Budget(gap=1.0), measurer=Even(), remember=False)
    (plan,) = found.extraction.program.kernels
    read = {s.name for s in te.graph("x", plan.outputs[0]).inputs}
    staged = found.schedules[plan.name].stage
    assert staged and set(staged) <= read
