"""Discovery: what is enumerated, what is proved, what is found, and what the laws found this way are good for."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tang_egg import expression as e
from tang_egg import library
from tang_egg import notation as te
from tang_egg.affine import Index, affine
from tang_egg.assemble import graph
from tang_egg.cli_discover import as_json, main, parse_variables
from tang_egg.discover import Discovery, Settings, discover
from tang_egg.discover_law import PRELUDE, canonical, stub
from tang_egg.discover_measure import as_scalar, confirmed, marks, needs
from tang_egg.discover_prove import Holding, Prover, Question, matches
from tang_egg.discover_terms import Enumeration, Variable, Vocabulary, agree, draws, evaluate
from tang_egg.examples import EXAMPLES
from tang_egg.interpret import evaluate as interpret_scalar
from tang_egg.interpret import interpret
from tang_egg.ir import Apply, Graph, Input, Read, Reduce, walk
from tang_egg.pipeline import extract, optimize
from tang_egg.pipeline_compiled import Extraction
from tang_egg.rules import law as law_module
from tang_egg.rules import pattern as pattern_module
from tang_egg.rules import table as tables
from tang_egg.rules.law import Law, Table
from tang_egg.rules.pattern import ONE, TRUE, ZERO, Name, Pattern, Var, call, fold, show, variables
from tang_egg.verify import relative_error, sample_inputs
from tests.laws.trying import lacking
from tests.rows_found import largest_share, mean_of_some, shares_of_shifted_rows, shares_twice
from tests.rows_model import states_of

FOUND = (
    "fold.max_scaled", "fold.max_exp", "fold.min_scaled", "fold.min_exp", "scalar.cancel_shift", "scalar.cancel_scale",
    "scalar.quotient_one", "scalar.exp_product", "scalar.log_exp", "scalar.log_scaled", "scalar.log_recip",
)  # fmt: skip
"""The laws of the table that docs/discover.md says were found."""


def vocabulary(ops: str, folds: str = "", vars: str = "x,y", size: int = 5, **more: Any) -> Vocabulary:
    return Vocabulary(tuple(ops.split()), tuple(folds.split()), parse_variables(vars, bool(folds)), size=size, **more)


def found(v: Vocabulary, **settings: Any) -> Discovery:
    return discover(v, Settings(**{"limit": 25, "seconds": 600.0, **settings}))


# Enumeration.


RICH = vocabulary("add neg max recip select lt and", "sum max product any", "x[j],c,p[j]?", 4, domains=True)


@pytest.fixture(scope="module")
def many() -> Enumeration:
    made = Enumeration(RICH, draws(RICH.variables, 3, np.random.default_rng(0), favourable=False), 3)
    made.run()
    return made


@pytest.mark.parametrize("points", [0, 1, 3, 5])
def test_terms_have_the_values_that_the_interpreter_gives_them(points: int, many: Enumeration) -> None:
    terms = [t for level in many.levels for t in level]
    assert {t.type for t in terms} == {"real", "bool"} and any(t.folded for t in terms)
    count = 24 if points == 3 else 6
    given = (
        many.given
        if points == 3
        else draws(RICH.variables, points, np.random.default_rng(1), favourable=False, count=6)
    )
    row, index = Index("row", affine(count)), Index("j", affine(points))
    reads = {
        v.name: Read(
            Input(v.name, (row.size, index.size) if v.bound else (row.size,), "f64" if v.type == "real" else "bool"),
            (affine(row), affine(index)) if v.bound else (affine(row),),
        )
        for v in RICH.variables
    }
    arrays = {v.name: given[v.name] if v.bound else given[v.name][:, 0] for v in RICH.variables}
    for t in terms[:: max(1, len(terms) // 120)]:
        wanted = interpret_scalar(as_scalar(t.pattern, reads, index), (row, index) if t.bound else (row,), arrays)
        shape = (count, points if t.bound else 1)
        values = np.broadcast_to(evaluate(t.pattern, given, points), shape)
        assert agree(values.reshape(wanted.shape), wanted, 1e-12), show(t.pattern)
        if points == 3:
            assert agree(np.broadcast_to(t.values, shape), values, 1e-12), show(t.pattern)


def test_each_value_has_one_term_and_what_agrees_with_it_is_noted() -> None:
    v = vocabulary("add neg", "", "x,y", 5)
    many = Enumeration(v, draws(v.variables, 3, np.random.default_rng(0), favourable=False), 3)
    pairs = {(show(p.left), show(p.right)) for p in many.run()}
    assert ("--x", "x") in pairs
    kept = [t for level in many.levels for t in level]
    assert not [(a, b) for n, a in enumerate(kept) for b in kept[:n] if agree(a.values, b.values, 1e-12)]
    assert not any("(y + x)" in left for left, _ in pairs), "sums are spelt in one order"


def test_no_term_mixes_a_fold_with_variables_of_its_index(many: Enumeration) -> None:
    assert not [t for level in many.levels for t in level if t.bound and t.folded]


# What an equality needs, and its marks.

x, y, c = variables("x y c")
j = Name("j")
FREE = (Variable("x", True), Variable("y", True), Variable("c", False))


def top(body: Pattern) -> Pattern:
    return fold("max", j, TRUE, body)


def total(body: Pattern) -> Pattern:
    return fold("sum", j, TRUE, body)


NEEDS: tuple[tuple[Pattern, Pattern, Holding | None], ...] = (
    (total(-x), -total(x), Holding()),
    (top(call("exp", x)), call("exp", top(x)), Holding(frozenset(), True)),
    (top(c * x), c * top(x), Holding(frozenset("c"))),
    (call("log", x * y), call("log", x) + call("log", y), Holding(frozenset("y"))),  # where x is below 0, both are NaN
    (call("sqrt", x * x), x, Holding(frozenset("x"))),
    (top(c), c, Holding(frozenset(), True)),
    (x + y, x * y, None),
    (top(x * x), top(x) * top(x), Holding(frozenset("x"), True)),
    (top(x + y), top(x) + top(y), None),
)


@pytest.mark.parametrize(("left", "right", "wanted"), NEEDS, ids=lambda p: show(p) if isinstance(p, Pattern) else "")
def test_what_an_equality_needs(left: Pattern, right: Pattern, wanted: Holding | None) -> None:
    holding = needs(left, right, FREE, 0)
    assert holding == wanted
    if holding is not None:
        assert confirmed(left, right, FREE, holding, 0)
    elif wanted is None:
        assert not confirmed(left, right, FREE, Holding(frozenset("xyc"), True), 0)


MARKS: tuple[tuple[Pattern, Pattern, str, str], ...] = (
    (call("neg", -x), x, "ieee", "exact"),
    (x + ZERO, x, "finite", "exact"),
    (x * ONE, x, "ieee", "exact"),
    (total(-x), -total(x), "ieee", "exact"),
    (total(c * x), c * total(x), "finite", "rescales"),
    (total(x + y), total(x) + total(y), "finite", "algebraic"),
    (call("exp", x - y), call("exp", x) * call("exp", -y), "finite", "algebraic"),
    (call("exp", x) * call("exp", y), call("exp", x + y), "finite", "rescales"),
    ((x + c) - (y + c), x - y, "finite", "reassociates"),
    (call("recip", call("recip", x)), x, "finite", "rescales"),
)


@pytest.mark.parametrize(
    ("left", "right", "holds", "rounding"), MARKS, ids=lambda p: show(p) if not isinstance(p, str) else p
)
def test_marks_are_measured(left: Pattern, right: Pattern, holds: str, rounding: str) -> None:
    measured = marks(left, right, FREE, Holding(), 0)
    assert (measured.holds, measured.rounding) == (holds, rounding)


# What is proved.


def test_the_prover_settles_what_the_table_proves_and_nothing_else() -> None:
    prover = Prover(FREE, "j")
    asked: list[tuple[Pattern, Pattern]] = [
        (total(c * x), c * total(x)), (x + y, y + x), ((x + y) + c, x + (c + y)), (x * ONE, x),
        (x + y, x * y), (call("exp", x), x), (total(x), top(x)),
    ]  # fmt: skip
    questions = [Question(a, b, Holding()) for a, b in asked]
    assert prover.settled(questions) == [True] * 4 + [False] * 3
    strict = replace(prover, strict=True)
    assert strict.settled(questions[1:3]) == [True, False], "no law says that addition is associative"


def test_the_prover_asks_for_conditions() -> None:
    prover = Prover(FREE, "j")
    sides = (x * call("recip", x), ONE)
    assert prover.settled([Question(*sides, Holding(frozenset("x"))), Question(*sides, Holding())]) == [True, False]


def test_a_chosen_law_settles_its_instances() -> None:
    sine = Table("scalar").law(
        "scalar.odd",
        call("sin", -x),
        -call("sin", x),
        holds="ieee",
        rounding="exact",
        proof="Scalar.odd",
        phase="found",
    )
    question = Question(call("sin", -(x * y)), -call("sin", x * y), Holding())
    prover = Prover(FREE, "j")
    assert prover.settled([question]) == [False]
    assert prover.settled([question], [sine]) == [True]


def test_uses_are_counted_in_saturated_graphs() -> None:
    exp = Table("scalar").law(
        "scalar.probe", call("exp", x - y), call("exp", x), holds="finite", rounding="exact", proof="Scalar.probe"
    )
    (uses,) = matches([EXAMPLES["softmax"]()], [exp])
    assert uses == 1
    assert matches([EXAMPLES["matmul"]()], [exp]) == [0]


# What is found.

RUNS: tuple[tuple[Vocabulary, bool, tuple[str, ...]], ...] = (
    (vocabulary("mul exp", "max min", "x[j],c", 4), False,
     ("fold.max_scaled", "fold.min_scaled", "fold.max_exp", "fold.min_exp")),
    (vocabulary("add neg", "", "x,y,c", 8), True, ("scalar.cancel_shift",)),
    (vocabulary("mul recip", "", "x,y,c", 8, literals=(1.0,)), True, ("scalar.cancel_scale", "scalar.quotient_one")),
    (vocabulary("add mul exp log neg recip", "", "x,y", 5), True,
     ("scalar.log_exp", "scalar.log_scaled", "scalar.log_recip", "scalar.exp_product")),
)  # fmt: skip
"""Vocabularies, whether strictly, and the laws that are found with them."""


def spelt(law: Law) -> tuple[str, str]:
    """Both sides under canonical names, operands of sums and products in one order, its domains left out."""
    names = {v.name for side in (law.left, law.right) for v in pattern_module.pattern_variables(side)}
    free = {v.name for condition in law.when for v, _ in condition.absent}
    known = tuple(Variable(n, n not in free, "bool" if n == "w" else "real") for n in sorted(names))
    best = [
        tuple(map(show, (e.left, e.right)))
        for left in pattern_module.orientations(law.left)
        for right in pattern_module.orientations(law.right)
        for e in [canonical(left, right, known)]
    ]
    return min((a, b) for a, b in best)


def test_the_runs_find_every_law_that_the_page_says_was_found() -> None:
    assert sorted(n for _, _, names in RUNS for n in names) == sorted(FOUND)


@pytest.mark.parametrize(("words", "strict", "names"), RUNS, ids=[names[0] for _, _, names in RUNS])
def test_a_law_that_the_table_lacks_is_found(words: Vocabulary, strict: bool, names: tuple[str, ...]) -> None:
    laws = [entry for n, entry in tables.entries().items() if n in names]
    with lacking(*FOUND):
        result = found(words, strict=strict)
        unsettled = settled(laws, strict)
    assert result.complete
    assert not any(unsettled) and all(settled(laws, strict)), "what is in the table is proved by it"
    seen = {spelt(f.law): f for f in result.findings}
    for law in laws:
        assert isinstance(law, Law)
        finding = seen[spelt(law)]
        assert finding.law.holds == law.holds, law.name
        # the table's claim may be weaker: what depends on a library's exponential is not called exact
        assert law_module.ROUNDING.index(finding.law.rounding) <= law_module.ROUNDING.index(law.rounding), law.name
        wanted = {v.name for condition in law.when for v in condition.positive}
        assert len(finding.needs.positive) <= len(wanted), law.name


def settled(laws: list[Any], strict: bool) -> list[bool]:
    """Whether the table proves each law over all points, under the law's own conditions."""
    everywhere = {Var("w", "bool"): TRUE}
    asked = []
    for law in laws:
        sides = [pattern_module.instantiate(side, everywhere) for side in (law.left, law.right)]
        positive = frozenset(v.name for condition in law.when for v in condition.positive)
        asked.append(Question(*sides, Holding(positive, any(condition.inhabited for condition in law.when))))
    return Prover(FREE, "j", strict=strict).settled(asked)


@pytest.fixture(scope="module")
def some() -> Discovery:
    with lacking(*FOUND):
        return found(vocabulary("mul exp select not", "max sum", "x[j],c,p[j]?", 4, domains=True), seed=3)


def test_findings_are_equalities(some: Discovery) -> None:
    assert len(some.findings) > 3
    for f in some.findings:
        assert confirmed(f.law.left, f.law.right, (*f.variables, Variable("w", True, "bool")), f.needs, 99), str(f.law)


def test_stubs_are_lines_of_the_table(some: Discovery) -> None:
    names = {**vars(pattern_module), **vars(law_module)}
    for f in some.findings:
        table = Table(f.law.name.partition(".")[0])
        exec(f.stub, {**names, "table": table})
        (entry,) = table.entries
        assert isinstance(entry, Law)
        assert replace(entry, phase=f.law.phase) == f.law
        assert f.stub == stub(f.law)


@pytest.mark.skipif(shutil.which("coqc") is None, reason="no coqc")
def test_goals_are_statements_of_rocq(some: Discovery, tmp_path: Path) -> None:
    page = tmp_path / "goals.v"
    page.write_text(PRELUDE + "\n".join(f"{f.goal}\nAbort." for f in some.findings), encoding="utf-8")
    done = subprocess.run(["coqc", page.name], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_what_is_used_and_saves_most_comes_first() -> None:
    with lacking("scalar.mul_one", "scalar.neg_neg"):
        result = found(vocabulary("mul neg", "", "x,y", 3, literals=(1.0,)), graphs=(("simple", simple),))
    assert [show(f.law.left) for f in result.findings][:1] == ["(1 · x)"]
    assert result.findings[0].uses > 0


def simple() -> Graph:
    i = te.index("i", 64)
    return graph("simple", te.tensor("Y", i, te.input("X", (64,))[i] * e.constant(1.0)))


def test_a_seed_gives_the_same_answer(some: Discovery) -> None:
    words = vocabulary("mul exp select not", "max sum", "x[j],c,p[j]?", 4, domains=True)
    with lacking(*FOUND):
        again = found(words, seed=3)
    assert as_json(again, words, Settings(seed=3)) == as_json(some, words, Settings(seed=3))


def test_time_that_is_up_is_said() -> None:
    result = found(vocabulary("add mul neg exp recip max", "sum max min", "x[j],y[j],c", 9), seconds=0.2)
    assert not result.complete


# The command.


def test_the_command_writes_json_and_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--ops", "sin,neg", "--folds", "", "--vars", "x", "--size", "3", "--graphs", "", "--literals", ""]
    assert main(given) == 0
    printed = capsys.readouterr().out
    assert "1. -sin(x) = sin(-x)\n   holds on ieee values; exact; saves" in printed
    assert 'table.law("scalar.neg_sin", -call("sin", x), call("sin", -x),' in printed
    assert "Theorem neg_sin : forall (x : R),\n     (Ropp (sin x)) = (sin (Ropp x))." in printed
    path = tmp_path / "found.json"
    assert main([*given, "--json", "-o", str(path)]) == 0
    written = json.loads(path.read_text(encoding="utf-8"))
    assert [law["name"] for law in written["laws"]] == ["scalar.neg_sin"]
    assert written["complete"] is True and written["asked"]["ops"] == ["sin", "neg"]
    assert list(tmp_path.iterdir()) == [path]


def test_progress_is_told_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--ops", "neg", "--folds", "", "--vars", "x", "--size", "2", "--graphs", "", "--literals", ""]
    assert main([*given, "--progress"]) == 0
    told = capsys.readouterr()
    assert "enumerate" in told.err and "enumerate" not in told.out


@pytest.mark.parametrize(
    ("given", "what", "mend"),
    [
        (["--ops", "addd"], "no operation is named 'addd'; did you mean 'add'?\n  where: --ops", "use add, mul"),
        (["--ops", "bitand"], "no operation is named 'bitand'", "use add"),
        (["--folds", "mean"], "no fold is named 'mean'", "use sum, product"),
        (["--vars", "x[k]"], "'x[k]' is no variable\n  where: --vars", "write x[j]"),
        (["--vars", "x,x"], "two variables are named 'x'", "its own name"),
        (["--vars", ""], "0 variables", "one to six"),
        (["--vars", "c"], "folds, but no variable depends on the index", "--folds ''"),
        (["--ops", "", "--folds", ""], "no operation and no fold", "--ops add"),
        (["--size", "0"], "terms of 0 nodes\n  where: --size", "from 1 to 12"),
        (["--size", "99"], "terms of 99 nodes", "from 1 to 12"),
        (["--size", "x"], "argument --size: invalid int value: 'x'", "see tang-discover --help"),
        (["--seconds", "0"], "0 seconds\n  where: --seconds", "above 0"),
        (["--seconds", "nan"], "nan seconds", "above 0"),
        (["--limit", "0"], "0 laws at most", "from 1 to 1000"),
        (["--seed", "-1"], "the seed -1", "a whole number from 0"),
        (["--literals", "one"], "'one' is no constant\n  where: --literals", "give numbers"),
        (["--literals", "nan"], "'nan' is no constant", "give numbers"),
        (["--graphs", "sofmax"], "no example is named 'sofmax'; did you mean 'softmax", "use softmax"),
        (["--domains"], "domains without a bool of the index", "p[j]?"),
        (["--sise", "3"], "unrecognized arguments: --sise", "see tang-discover --help"),
    ],
)
def test_a_wrong_command_line(given: list[str], what: str, mend: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(given) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"tang-discover: {what}"), said
    assert mend in said.splitlines()[-1], said
    assert "where:" in said


def test_a_file_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--ops", "neg", "--folds", "", "--vars", "x", "--size", "2", "--graphs", "", "--literals", ""]
    assert main([*given, "-o", str(tmp_path / "none" / "found.txt")]) == 2
    assert "cannot write" in capsys.readouterr().err


# What the laws that were found are good for.


def rows(n: int, m: int) -> tuple[Any, Any, Any]:
    return te.index("i", n), te.index("j", m), te.input("X", (n, m))


def log_shares(n: int, m: int) -> Graph:
    """Logarithms of shares, as written by one who has a function for shares."""
    i, j, x = rows(n, m)
    p = library.softmax(x)
    return graph("log_shares", te.tensor("L", (i, j), e.log(p[i, j])))


def product_of_exponentials(n: int, m: int) -> Graph:
    """Shares of products of exponentials."""
    i, j, x = rows(n, m)
    y = te.input("Y", (n, m))
    p = te.tensor("p", (i, j), e.exp(x[i, j]) * e.exp(y[i, j]))
    z = te.tensor("z", i, te.sum(j, p[i, j]))
    return graph("product_of_exponentials", te.tensor("Q", (i, j), p[i, j] / z[i]))


def distinct_folds(x: Extraction) -> list[Reduce]:
    made = {
        (s.monoid, s.indices, s.where, s.body): s
        for t in x.program.tensors
        for s in walk(t.body)
        if isinstance(s, Reduce)
    }
    return list(made.values())


def exponentials(x: Extraction) -> int:
    """Distinct exponentials of the program, those of carries aside."""
    return len({s for t in x.program.tensors for s in walk(t.body) if isinstance(s, Apply) and s.op == "exp"})


def inputs_read(x: Extraction) -> set[str]:
    return {s.source.name for t in x.program.tensors for s in walk(t.body) if isinstance(s, Read)}


def predicted(x: Extraction) -> float:
    return sum(k.estimate.seconds for w in x.distinct for k in w.selection.chosen)


BETTER: dict[str, tuple[Callable[[int, int], Graph], str, Callable[[Extraction], bool]]] = {
    "largest_share": (partial(largest_share, "f32"), "scalar.quotient_one", lambda x: len(distinct_folds(x)) == 1),
    "shifted_rows": (partial(shares_of_shifted_rows, "f32"), "scalar.cancel_shift", lambda x: inputs_read(x) == {"X"}),
    "log_shares": (log_shares, "scalar.log_scaled", lambda x: exponentials(x) == 1),
    "shares_twice": (partial(shares_twice, "f32"), "scalar.cancel_shift", lambda x: states_of(x) == ((2, 1),)),
    "mean_of_some": (
        partial(mean_of_some, "f32"),
        "scalar.cancel_scale",
        lambda x: not any(f.where.everywhere and _sums(f) for f in distinct_folds(x)),
    ),
    "product_of_exponentials": (product_of_exponentials, "scalar.exp_product", lambda x: exponentials(x) == 1),
}  # fmt: skip
"""Graphs, a law that each needs, and what is so only with the laws that were found."""


def _sums(f: Reduce) -> bool:
    return any(isinstance(s, Apply) and s.op == "exp" for s in walk(*f.body))


@pytest.mark.parametrize("name", BETTER)
def test_found_laws_make_a_graph_cheaper(name: str) -> None:
    make, _, so = BETTER[name]
    better = extract(make(1024, 512))
    with lacking(*FOUND):
        before = extract(make(1024, 512))
    assert so(better) and not so(before)
    assert predicted(better) < 0.999 * predicted(before)
    assert len(better.program.kernels) == 1
    assert max(w.saturation.nodes for w in better.distinct) < 200


@pytest.mark.parametrize("name", BETTER)
@pytest.mark.parametrize(("n", "m"), [(3, 7), (1, 1), (2, 13)])
def test_better_programs_mean_the_same(name: str, n: int, m: int) -> None:
    naive = BETTER[name][0](n, m)
    x = extract(naive)
    for seed in range(2):
        inputs = sample_inputs(naive, {}, edge=False, seed=seed)
        if "keep" in inputs:
            inputs["keep"][0] = False  # no element of the first row: 0 / 0, as the naive graph says
        expected, got = interpret(naive, inputs), interpret(x.program.graph, inputs)
        for output, value in expected.items():
            assert relative_error(got[output], value) < 1e-9, output


def test_scores_of_minus_infinity_have_no_share() -> None:
    naive = largest_share("f32", 3, 5)
    inputs = {"X": np.array([[0.0, -np.inf, 1.0, -np.inf, 2.0], [3.0] + [-np.inf] * 4, [-np.inf] * 5])}
    for graph_ in (naive, log_shares(3, 5)):
        x = extract(graph_)
        expected, got = interpret(graph_, inputs), interpret(x.program.graph, inputs)
        for output, value in expected.items():
            np.testing.assert_allclose(got[output], value, rtol=1e-12)


@pytest.mark.parametrize("name", ["largest_share", "log_shares", "mean_of_some"])
def test_better_programs_run_in_c(name: str) -> None:
    naive = BETTER[name][0](5, 13)
    inputs = sample_inputs(naive, {}, edge=False, seed=5)
    (wanted,) = interpret(naive, inputs).values()
    assert relative_error(np.asarray(optimize(naive)(**inputs)), wanted) < 1e-5


def test_the_variables_of_a_law_keep_their_types() -> None:
    p = Var("q", "bool")
    made = canonical(call("select", p, y, x), call("select", p, y, x), (*FREE, Variable("q", True, "bool")))
    assert show(made.left) == "select(p, x, y)"
    assert [v.type for v in made.variables] == ["bool", "real", "real"]
