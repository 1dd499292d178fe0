"""The law table is proved: each entry has a theorem, what is stated is what runs, and nothing else is assumed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from proofs import check
from proofs.generate import declared, demands, statement, statements, unlimited, unstated
from proofs.sexpr import Quoted, read
from proofs.sorts import Of, SortError, Unifier, scalar
from tang_egg.rules.law import Closure, Law, Seed
from tang_egg.rules.table import entries

STATED = {s.name: s for s in statements()}


def test_every_entry_is_stated_and_has_a_theorem_of_its_name() -> None:
    assert not unstated()
    assert not check.missing(), "write the theorem: see proofs/README.md"
    names = [s.name for s in statements()]
    assert len(names) == len(set(names)) and {n.replace(".", "_") for n in entries()} <= set(names)


def test_the_statements_are_those_of_the_table() -> None:
    assert not check.drifted(), "run `python -m proofs.generate`"


def test_nothing_is_assumed_in_a_source() -> None:
    assert not check.assumed_in_sources()


def test_an_assumption_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = "(* Admitted in a (* nested *) comment *) Axiom a : False. Lemma b : False. Admitted.\nVariable c : nat."
    (tmp_path / "Bad.v").write_text(bad)
    monkeypatch.setattr(check, "FOLDER", tmp_path)
    assert check.assumed_in_sources() == ["Bad.v: Axiom", "Bad.v: Admitted", "Bad.v: Variable outside of sections"]
    assert check.drifted() == ["Statements.v", "Check.v"]
    assert len(check.missing()) == len(statements())


def _law(name: str) -> Law:
    law = entries()[name]
    assert isinstance(law, Law)
    return law


def test_another_right_side_another_statement() -> None:
    law = _law("scalar.exp_difference")
    other = statement(replace(law, right=law.left))
    assert statement(law).text != other.text
    assert other.text.endswith("eqv {0} {0}".format("(Ap1 xexp (Ap2 xadd x (Ap1 xneg y)))"))


def test_a_weaker_mark_or_condition_is_a_stronger_statement() -> None:
    law = _law("domain.select_mul")
    assert "finite_world ->" in statement(law).text
    assert "finite" not in statement(replace(law, holds="ieee", when=())).text
    assert "J j = false" in STATED["view_fold"].text
    assert "J j = false" not in statement(replace(_law("view.fold"), when=())).text


def test_what_says_nothing_of_values_is_no_premise() -> None:
    """Demands, memberships and differences of classes: the theorem holds without them."""
    assert "want" in demands() and "want b j" not in STATED["fold_split_invariant"].text
    assert "<>" not in STATED["fold_hoist"].text and "i <> j" in STATED["fold_interchange"].text
    assert "= true" not in STATED["fold_atom_leaf"].text


def test_no_statement_assumes_what_it_concludes() -> None:
    """Were "finite" assumed of every class, the closures that say what is finite would say nothing."""
    for s in statements():
        *premises, conclusion = (" ".join(p.split()) for p in re.split(r"->\n", s.text))
        for part in conclusion.removesuffix(".").split(" /\\ "):
            assert part.strip() == "True" or part.strip() not in premises, s.name


def test_statements_that_are_true_claim_nothing() -> None:
    """Only what derives demands alone is stated as true."""
    for name, entry in entries().items():
        if STATED[name.replace(".", "_")].text.endswith("True"):
            assert isinstance(entry, Closure), name
            relations = {str(t).split()[0].strip("(") for t in entry.then}
            assert relations <= demands() | {"edge"}, name


def test_relations_that_claim_something_have_a_definition() -> None:
    semantics = check.code(check.FOLDER / "Semantics.v")
    renamed = {"position": "is_position", "points": "counts_points", "reads": "reads_alike"}
    for name in set(declared()) - demands():
        assert re.search(rf"(Definition|Inductive) {renamed.get(name, name)}\b", semantics), name


def test_closures_on_which_laws_of_all_values_rest_are_stated_of_all_values() -> None:
    assert {"domain.neutral_sum", "domain.finite_sum"} <= unlimited(entries())
    assert "cascade.scales_exp" not in unlimited(entries())


def test_a_seed_without_a_proposition_is_refused() -> None:
    seed = entries()["scan.prefix"]
    assert isinstance(seed, Seed)
    with pytest.raises(SortError, match=r"the seed scan\.prefix has no formal proposition"):
        statement(replace(seed, formal=""))


def test_terms_without_a_sort_are_refused() -> None:
    unifier = Unifier()
    with pytest.raises(SortError, match="xr against bool in here"):
        unifier.unify(scalar("xr"), scalar("bool"), "here")
    a = unifier.fresh()
    unifier.unify(Of("sc", (a,)), scalar("bool"), "here")
    assert unifier.find(a) == "bool"


def test_trees() -> None:
    assert read('(Ap2 "add" x (f))') == ("Ap2", Quoted("add"), "x", ("f",))
    for text in ("(a", "a)"):
        with pytest.raises(ValueError, match="parenthesis"):
            read(text)


@pytest.mark.slow
@pytest.mark.nightly  # continuous integration runs proofs.check itself
@pytest.mark.skipif(not check.has_rocq(), reason="Rocq is missing: apt-get install coq libcoq-coquelicot")
def test_every_proof_compiles_and_rests_on_the_real_numbers_only() -> None:
    assert check.compile_all() == ""
    used = check.assumptions()
    assert used, "the reals rest on axioms: nothing was read"
    assert used <= check.allowed()
