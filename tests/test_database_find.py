"""Kernels looked up: what is taken, what is stale or of elsewhere and leaves the first proposal; both are told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tang_egg as te
from tang_egg import database, database_find, run_host
from tang_egg.database import Entry, update
from tang_egg.errors import CodegenError, VerificationError
from tang_egg.extract.certify import Budget
from tang_egg.ir import Graph
from tang_egg.pipeline import certify
from tang_egg.pipeline_compiled import Compiled
from tang_egg.schedule import Schedule, parse_schedule
from tang_egg.targets import TARGETS, Wish
from tang_egg.tune_schedules import tuning
from tests.tuning_cases import Fake, entry, rows, two_kernels

PLAIN = "point"
"""The schedule that every kernel has."""


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own, nothing shipped, and lookups on."""
    monkeypatch.setenv("TANG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TANG_TUNED", "yes")
    monkeypatch.setattr(database, "SHIPPED", tmp_path / "shipped")
    (tmp_path / "shipped").mkdir()


def put(*entries: Entry, shipped: bool = False) -> None:
    path = database.shipped_file(entries[0].place.target) if shipped else database.own_file()
    update(path, lambda table: table.update({e.key: e for e in entries}))


def schedule(graph: Graph, **options: object) -> str:
    (found,) = te.optimize(graph, **options).schedule.values()  # type: ignore[arg-type]
    return found


def reason(compiled: Compiled) -> str:
    (found,) = compiled.tuned.values()
    return found.text


def first() -> str:
    return schedule(rows(), tuned=False)


def test_a_hit_replaces_the_first_proposal_and_is_verified() -> None:
    put(entry(rows(), PLAIN))
    compiled = te.optimize(rows())
    assert compiled.schedule == {"Y": PLAIN} != {"Y": first()} and compiled.verification is not None
    x = np.random.default_rng(0).standard_normal((24, 40), np.float32)
    assert np.allclose(compiled(x), 2 * x.sum(1), atol=1e-4)
    assert "from the database (your own): 2.00 times as fast as the first proposal" in reason(compiled)
    assert reason(compiled) in " ".join(str(compiled.why("Y")).split())
    assert "its schedule is from the database" in compiled.report() and compiled.model().kernels[0].tuned


def test_names_are_those_of_the_kernel() -> None:
    put(entry(rows(), "split order=i0 fold=i1:lanes:16"))
    i, j = te.index("left", 24), te.index("right", 40)
    x = te.input("data", (24, 40))
    other = te.graph("other", total=te.tensor(None, i, te.sum(j, x[i, j]) * 2.0))
    assert te.optimize(other).schedule == {"total": "split order=i0 fold=i1:lanes:16"}


@pytest.mark.parametrize("how", ["argument", "no", "off", "0"])
def test_lookups_can_be_turned_off(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(entry(rows(), PLAIN))
    if how != "argument":
        monkeypatch.setenv("TANG_TUNED", how)
    compiled = te.optimize(rows(), tuned=how != "argument")
    assert compiled.schedule["Y"] != PLAIN and compiled.tuned == {}
    assert "database" not in str(compiled.why("Y")) and "database" not in compiled.report()


def test_a_schedule_by_hand_comes_first() -> None:
    put(entry(rows(), PLAIN))
    compiled = te.optimize(rows(), schedule={"Y": "point order=i0"})
    assert compiled.schedule == {"Y": "point order=i0"} and compiled.tuned == {}


def test_a_miss_leaves_the_first_proposal_and_is_told_where_one_asks() -> None:
    for known in (False, True):
        if known:
            put(entry(rows(n=41), PLAIN))
        compiled = te.optimize(rows())
        assert compiled.schedule == {"Y": first()} and "nothing for it" in reason(compiled)
        assert "nothing for it" in str(compiled.why("Y")) and "database" not in compiled.report()


ELSEWHERE: dict[str, Callable[[Entry], Entry]] = {
    "device": lambda e: replace(e, place=replace(e.place, device="another", family="another")),
    "no family": lambda e: replace(e, place=replace(e.place, device="another", family="")),
    "vectors": lambda e: replace(e, place=replace(e.place, vectors=128)),
    "threads": lambda e: replace(e, place=replace(e.place, threads=e.place.threads + 1)),
    "target": lambda e: replace(e, place=replace(e.place, target="opencl")),
}


@pytest.mark.parametrize("where", ELSEWHERE)
def test_what_was_measured_elsewhere_says_nothing(where: str) -> None:
    e = ELSEWHERE[where](entry(rows(), PLAIN))
    put(e)
    compiled = te.optimize(rows())
    assert compiled.schedule == {"Y": first()} and "nothing for it" in reason(compiled)


def test_a_processor_of_the_family_will_do_and_this_one_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_find, "family", lambda: "vendor family 1")
    here = entry(rows(), "point order=i0")
    put(replace(here, schedule=PLAIN, place=replace(here.place, device="A brother")))
    assert schedule(rows()) == PLAIN
    put(here)
    assert schedule(rows()) == "point order=i0"


def test_the_own_file_lies_over_what_is_shipped() -> None:
    put(entry(rows(), PLAIN), shipped=True)
    compiled = te.optimize(rows())
    assert compiled.schedule == {"Y": PLAIN} and "(shipped)" in reason(compiled)
    put(entry(rows(), "point order=i0"))
    assert schedule(rows()) == "point order=i0"
    e = entry(rows(), PLAIN)
    put(replace(e, schedule=e.first))
    compiled = te.optimize(rows())
    assert compiled.schedule == {"Y": first()} and "nothing in the database is faster" in reason(compiled)


STALE: dict[str, Callable[[Entry], Entry]] = {
    "another first proposal": lambda e: replace(e, first="split order=i0"),
    "other code": lambda e: replace(e, revision="older", code="other"),
    "no schedule": lambda e: replace(e, schedule="no such thing"),
    "unknown names": lambda e: replace(e, schedule="point order=i7"),
    "not legal": lambda e: replace(e, schedule="stream tile=i0:4 chunk=3 warp=i0", revision="older"),
}


@pytest.mark.parametrize("what", STALE)
def test_what_is_stale_leaves_the_first_proposal(what: str) -> None:
    put(STALE[what](entry(rows(), PLAIN)))
    compiled = te.optimize(rows())
    assert compiled.schedule == {"Y": first()} and "has changed since it was measured" in reason(compiled)
    assert "has changed" in " ".join(compiled.report().split())


def test_another_revision_that_prints_the_same_will_do() -> None:
    put(replace(entry(rows(), PLAIN), revision="older"))
    assert schedule(rows()) == PLAIN


def test_a_hash_of_code_tells_schedules_apart_and_passes_over_comments() -> None:
    from tang_egg.kernel_names import canonical
    from tang_egg.pipeline import extract

    on, outputs = TARGETS["c"], canonical(extract(rows()).program.kernels[0].outputs).outputs
    one, two = (database_find.code_of(on, outputs, s) for s in (Schedule(), parse_schedule("split fold=i1:lanes:16")))
    assert one == database_find.code_of(on, outputs, Schedule()) != two
    noted = replace(on, sources=lambda p, s: {k: f"// a note\n{t}" for k, t in on.sources(p, s).items()})
    assert database_find.code_of(noted, outputs, Schedule()) == one


def test_a_schedule_that_the_program_cannot_have_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    put(entry(rows(), PLAIN))
    on = TARGETS["c"]

    def compiled_by(program: object, chosen: dict[str, Schedule], device: object) -> object:
        if str(chosen["Y"]) == PLAIN:
            raise CodegenError("no lowering")
        return on.compile(program, chosen, device)  # type: ignore[arg-type]

    monkeypatch.setitem(TARGETS, "c", replace(on, compile=compiled_by))  # type: ignore[arg-type]
    compiled = te.optimize(rows())
    assert compiled.schedule == {"Y": first()} and "not legal" in reason(compiled)


def test_a_wrong_kernel_is_never_returned_and_the_error_names_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    put(entry(rows(), PLAIN))

    def wrong(*given: object) -> None:
        raise VerificationError("output 'Y' is wrong", where="here", mend="report this")

    monkeypatch.setattr("tang_egg.pipeline_tuned.verify", wrong)
    with pytest.raises(VerificationError) as error:
        te.optimize(rows())
    assert "optimize(..., tuned=False)" in error.value.mend
    with pytest.raises(VerificationError) as error:
        te.optimize(rows(), tuned=False)
    assert error.value.mend == "report this"


def test_symbolic_kernels_take_what_was_measured_at_the_nearest_sizes() -> None:
    graph = rows(m=te.dim("rows", lo=1))
    put(entry(graph, PLAIN, at={"rows": 16}), entry(graph, "point order=i0", at={"rows": 4096}))
    assert schedule(graph) == PLAIN  # 128 are nearer to 16
    assert schedule(graph, sizes={"rows": 4000}) == "point order=i0"
    assert "n0 = 4096" in reason(te.optimize(graph, sizes={"rows": 4000}))
    x = np.ones((3, 40), np.float32)
    assert np.allclose(te.optimize(graph)(x), 80)


def test_each_kernel_of_a_program_is_looked_up() -> None:
    graph = two_kernels()
    plain = te.optimize(graph, tuned=False).schedule
    assert len(plain) == 2
    put(entry(graph, PLAIN, n=1))
    compiled = te.optimize(graph)
    names = list(plain)
    assert compiled.schedule == {names[0]: plain[names[0]], names[1]: PLAIN}
    assert compiled.tuned[names[0]].schedule is None and compiled.tuned[names[1]].schedule == Schedule()


def test_kernels_that_write_into_inputs_are_not_looked_up() -> None:
    i = te.index("i", 32)
    plain, x = te.input("X", (32,)), te.input("X", (32,), donated=True)
    alike = te.graph("g", Y=te.tensor(None, i, plain[i] + 1.0))
    put(entry(alike, PLAIN))
    assert schedule(alike) == PLAIN
    compiled = te.optimize(te.graph("g", Y=te.tensor(None, i, x[i] + 1.0, into=x)))
    assert "take the memory of inputs" in reason(compiled) and compiled.schedule["Y"] != PLAIN


def test_only_wishes_that_entries_speak_of_are_served() -> None:
    serves = database_find._serves
    assert serves(TARGETS["c"], Wish(exact=True)) and serves(TARGETS["cuda"], Wish())
    assert serves(TARGETS["opencl"], Wish(units=False)) and not serves(TARGETS["cuda"], Wish(units=False))
    for other in (Wish(exact=True), Wish(products="tf32")):
        assert not serves(TARGETS["cuda"], other) and not serves(TARGETS["opencl"], other)


def test_a_database_that_cannot_be_read_is_told_and_passed_by() -> None:
    database.own_file().parent.mkdir(parents=True)
    database.own_file().write_bytes(b"\xff")
    with pytest.warns(UserWarning, match="first proposals are taken"):
        assert schedule(rows()) == first()
    database.own_file().write_text(f"no line\n{entry(rows(), PLAIN).line()}\n")
    assert schedule(rows()) == PLAIN


def test_the_revision_is_that_of_the_code_generators_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for text in ("a = 1\n", "a = 2\n"):
        (tmp_path / "codegen").mkdir(exist_ok=True)
        (tmp_path / "codegen" / "x.py").write_text(text)
        (tmp_path / "schedule.py").write_text("")
        monkeypatch.setattr(database_find, "__file__", str(tmp_path / "database_find.py"))
        database_find.revision.cache_clear()
        made.append(database_find.revision())
    monkeypatch.undo()
    database_find.revision.cache_clear()
    assert made[0] != made[1] and database_find.revision() not in made


def test_the_family_of_a_processor(tmp_path: Path) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text("vendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\nvendor_id\t: other\n")
    assert run_host.family(path) == "AuthenticAMD family 26"
    path.write_text("processor : 0\n")
    assert run_host.family(path) == run_host.family(tmp_path / "none") == ""


def test_a_search_times_what_the_database_has_next_to_the_first_proposal() -> None:
    space = tuning(rows()).space(tuning(rows()).subjects()[0])[1].schedules
    wanted = space[len(space) // 2]
    put(entry(rows(), wanted))
    for tuned in (True, False):
        measurer = Fake(lambda s: 1e-3, batch=1)
        certify(rows(), budget=Budget(gap=0.0), measurer=measurer, remember=False, tuned=tuned)
        assert (measurer.seen.index(str(wanted)) <= 2) == tuned and len(measurer.seen) > 5
