"""Certified selection of graphs: the certificate, its check, what tampering leads to, and the kernels that run."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg import measure_build
from tang_egg.affine import affine
from tang_egg.cli_certify import main
from tang_egg.errors import BindError, InputError
from tang_egg.extract.certify import Budget
from tang_egg.extract.certify_ledger import Refused, Timed, Trial
from tang_egg.extract.certify_record import CertificateError, SelectionCertificate, certificate_of
from tang_egg.measure_single import CpuKernels
from tang_egg.monoid import Component, Monoid
from tang_egg.pipeline import certify, extract, extract_for
from tang_egg.pipeline_certify import Certified
from tang_egg.pipeline_certify_check import check
from tang_egg.pipeline_space import problem_of, target_of
from tang_egg.saturate import Limits


def rows(n: int = 24, m: int = 40) -> te.Graph:
    """The logarithm of summed exponentials of rows: one pass or three kernels."""
    i, j = te.indices("i j")
    x = te.input("X", (n, m))
    top = te.tensor("top", i, te.max(j, x[i, j]))
    total = te.tensor("total", i, te.sum(j, te.exp(x[i, j] - top[i])))
    return te.graph("rows", L=te.tensor(None, i, top[i] + te.log(total[i])))


class Even:
    """A measurer without a compiler: a kernel takes a hundred times its floor, later schedules a little more."""

    cache = "warm"
    batch = 8

    def measure(self, trials: list[Trial], seconds: float, within: float = math.inf) -> list[Timed | Refused | None]:
        found: list[Timed | Refused | None] = []
        for t in trials:
            slower = 1 + 0.1 * ((7 * t.schedule) % 5)
            found.append(Timed(100 * t.kernel.floors[t.schedule].seconds * slower, 1e-9, 9))
        return found


@pytest.fixture(scope="module")
def searched() -> Certified:
    return certify(rows(), measurer=Even(), remember=False)


def again(c: SelectionCertificate, graph: te.Graph | None = None) -> object:
    return check(c, lambda g, target, values: extract_for(target, g, Limits(values=values)), graph)


def test_a_certificate_of_a_whole_search_holds(searched: Certified) -> None:
    c = searched.certificate
    assert c.stopped == "measured" and c.closed and c.counts.open == 0
    n = c.counts
    assert n.schedules == n.timed + n.refused + n.deferred + n.pruned + n.open
    assert "holds" in str(again(c, rows()))


def test_the_same_comes_back_from_json(searched: Certified) -> None:
    assert certificate_of(searched.certificate.json()) == searched.certificate


def test_the_schedules_of_the_program_are_those_of_the_certificate(searched: Certified) -> None:
    chosen = [s for w in searched.certificate.windows for k in w.chosen for s in k.schedules]
    assert [str(searched.schedules[k.name]) for k in searched.extraction.program.kernels] == chosen


def first(c: SelectionCertificate, **fields: Any) -> SelectionCertificate:
    """A certificate whose first kernel that was timed has other fields."""
    n = next(n for n, k in enumerate(c.kernels) if k.timed)
    made = dataclasses.replace(c.kernels[n], **fields)
    return dataclasses.replace(c, kernels=(*c.kernels[:n], made, *c.kernels[n + 1 :]))


def timed(c: SelectionCertificate, **fields: Any) -> SelectionCertificate:
    k = next(k for k in c.kernels if k.timed)
    return first(c, timed=(dataclasses.replace(k.timed[0], **fields), *k.timed[1:]))


def windowed(c: SelectionCertificate, **fields: Any) -> SelectionCertificate:
    return dataclasses.replace(c, windows=(dataclasses.replace(c.windows[0], **fields),))


TAMPERED: dict[str, tuple[Callable[[SelectionCertificate], SelectionCertificate], str]] = {
    "kernels": (lambda c: dataclasses.replace(c, kernels=c.kernels[1:]), "its space is not the declared one"),
    "schedules": (lambda c: first(c, schedules=3), "its space is not the declared one"),
    "candidates": (lambda c: windowed(c, candidates=2), "its space is not the declared one"),
    "copies": (lambda c: windowed(c, copies=2), "its space is not the declared one"),
    "windows": (lambda c: dataclasses.replace(c, windows=()), "its space has another number of windows"),
    "floor": (lambda c: first(c, floor=1e-3), "a floor is not what its constants give"),
    "place": (lambda c: timed(c, place=1), "a schedule is not that of its place"),
    "schedule": (lambda c: timed(c, schedule="point"), "a schedule is not that of its place"),
    "twice": (lambda c: first(c, timed=(c.kernels[0].timed[0],) * 2), "a schedule is listed twice"),
    "runs": (lambda c: timed(c, runs=0), "a time makes no sense"),
    "lower": (lambda c: windowed(c, lower=c.windows[0].lower * 1.01), "its bound does not hold"),
    "upper": (lambda c: windowed(c, upper=c.windows[0].upper * 0.9), "what was chosen does not take what it says"),
    "chosen": (lambda c: windowed(c, chosen=()), "it names no kernels for its time"),
    "total": (lambda c: dataclasses.replace(c, total=c.total * 0.5), "total is not what the kernels give"),
    "others": (lambda c: dataclasses.replace(c, others=c.others * 2), "others is not what the kernels give"),
    "proves": (lambda c: dataclasses.replace(c, proves=not c.proves), "it says wrongly whether its constants were"),
    "violations": (lambda c: dataclasses.replace(c, violations=("x",)), "times below a floor that it does not tell"),
    "target": (lambda c: dataclasses.replace(c, target="tape"), "there is no target 'tape'"),
    "sizes": (lambda c: dataclasses.replace(c, sizes=(("n", 3),)), "its sizes are not those of the graph's dims"),
    "device": (lambda c: dataclasses.replace(c, device="[]"), "the constants of its device cannot be read"),
    "graph": (lambda c: dataclasses.replace(c, graph="graph"), "its graph cannot be read"),
    "no graph": (lambda c: dataclasses.replace(c, graph=""), "it does not hold its graph"),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_a_certificate_that_was_tampered_with_is_refused(searched: Certified, what: str) -> None:
    change, said = TAMPERED[what]
    with pytest.raises(CertificateError) as error:
        again(change(searched.certificate))
    assert str(error.value).startswith(f"the selection certificate does not hold: {said}")
    assert error.value.where and error.value.mend


def test_a_time_that_is_made_smaller_is_seen_where_it_is_chosen_or_below_its_floor(searched: Certified) -> None:
    c = searched.certificate
    with pytest.raises(CertificateError, match="does not hold"):
        again(timed(c, median=next(k for k in c.kernels if k.timed).timed[0].median * 1e-4))


def test_a_certificate_of_another_graph_is_refused(searched: Certified) -> None:
    with pytest.raises(CertificateError) as error:
        again(searched.certificate, rows(25))
    assert str(error.value) == (
        "the selection certificate does not hold: it speaks of another graph\n  where: graph 'rows'\n"
        "  mend:  give the graph that was optimized"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is no JSON"),
        ("[" * 100_000, "it is no JSON"),
        ("[]", "it is no selection certificate"),
        ('{"sum": "", "certificate": {"format": 7}}', "format 7 and not 2"),
        ('{"sum": "", "certificate": 3}', "format None and not 2"),
    ],
)
def test_what_is_no_certificate_is_refused(text: str, said: str) -> None:
    with pytest.raises(CertificateError) as error:
        certificate_of(text, "c.json")
    assert str(error.value).startswith(f"the selection certificate cannot be read: {said}")
    assert (error.value.where, error.value.mend) == ("c.json", "give a file that compiled.certificate.json() wrote")


@pytest.mark.parametrize("value", [None, -1, True, "x", {}, [1], float("nan"), 1 << 70])
def test_every_field_is_checked(searched: Certified, value: object) -> None:
    body = searched.certificate.data()["certificate"]
    for name in body:
        if name == "format" or (value is None and isinstance(body[name], float)) or value == body[name]:
            continue
        if type(body[name]) is type(value) is not int or (
            value == 1 << 70 and (body[name] is None or isinstance(body[name], float))
        ):
            continue  # of the right type; whether it is true is for the check
        bad = {**body, name: value}
        text = json.dumps(bad, sort_keys=True, ensure_ascii=False)
        whole = json.dumps({"sum": hashlib.sha256(text.encode()).hexdigest(), "certificate": bad})
        with pytest.raises(CertificateError, match=name):
            certificate_of(whole)


def test_the_command_checks_a_file(searched: Certified, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.json"
    file.write_text(searched.certificate.json(), encoding="utf-8")
    assert main([str(file)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("the selection certificate holds") and "no choice of this space takes less" in out
    assert main([str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["holds"] is True
    assert main([str(file), "softmax"]) == 1
    assert "speaks of another graph" in capsys.readouterr().err
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('"total": ', '"total": 1'), encoding="utf-8")
    assert main([str(file)]) == 2
    assert "it does not match its checksum" in capsys.readouterr().err
    assert main([str(tmp_path / "none.json")]) == 2
    assert "cannot read" in capsys.readouterr().err


def test_a_search_that_measured_nothing_keeps_the_kernels_of_the_model() -> None:
    found = certify(rows(), budget=Budget(seconds=0.0), measurer=Even())
    plain = extract(rows())
    assert [k.name for k in found.extraction.program.kernels] == [k.name for k in plain.program.kernels]
    c = found.certificate
    assert c.counts.timed == 0 and c.stopped == "time" and c.share == 1.0
    assert str(c).startswith("nothing was measured")
    assert certificate_of(c.json()) == c and again(c)


def test_measured_times_below_their_floors_are_told_and_nothing_is_claimed() -> None:
    class Impossible(Even):
        def measure(self, trials: list[Trial], seconds: float, within: float = 0) -> list[Timed | Refused | None]:
            return [Timed(t.kernel.floor / 10, 0.0, 9) for t in trials]

    c = certify(rows(), measurer=Impossible()).certificate
    assert c.violations and not c.closed
    assert "a measured time is below its floor, so that nothing is claimed" in str(c)


def test_a_graph_for_a_gpu_is_searched_by_any_measurer() -> None:
    found = certify(rows(64, 256), "cuda", measurer=Even())
    assert found.certificate.stopped == "measured" and again(found.certificate)
    assert set(found.schedules) == {k.name for k in found.extraction.program.kernels}


def test_symbolic_sizes_are_measured_at_a_size() -> None:
    n = te.Dim("n", lo=1, hi=512)
    i, j = te.indices("i j")
    x = te.input("X", (n, 8))
    graph = te.graph("sums", S=te.tensor(None, i, te.sum(j, x[i, j])))
    assert dict(certify(graph, measurer=Even()).certificate.sizes) == {"n": 128}
    c = certify(graph, measurer=Even(), sizes={"n": 300}).certificate
    assert dict(c.sizes) == {"n": 300} and again(c)
    with pytest.raises(BindError):
        certify(graph, measurer=Even(), sizes={"m": 3})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cache": "tepid"}, "no state of the caches 'tepid'"),
        ({"schedule": {"L": "point"}}, "schedule= cannot be combined with a search that times kernels"),
        ({"split": {"X:1": 2}}, "split= cannot be combined with a search that times kernels"),
        ({"seconds": -3}, "seconds=-3 is no budget of a search"),
    ],
)
def test_options_that_make_no_sense_for_a_search_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        te.optimize(rows(), **{"seconds": 1.0, **options})
    assert error.value.what == said and error.value.where and error.value.mend


def test_a_timed_program_computes_what_the_graph_means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_CACHE", str(tmp_path))
    compiled = te.optimize(rows(), gap=1.0)  # ends when all that was chosen is measured
    c = compiled.certificate
    assert c is not None and c.counts.timed > 0 and c.total > 0
    x = np.random.default_rng(0).standard_normal((24, 40)).astype(np.float32)
    np.testing.assert_allclose(compiled(x), np.log(np.exp(x.astype(np.float64)).sum(1)), rtol=1e-5)
    assert te.optimize(rows()).certificate is None
    assert len(list((tmp_path / "timings").glob("*.json"))) == c.counts.timed


def test_a_kernel_that_computes_something_else_is_refused_before_it_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    extraction = extract(rows())
    problem = problem_of(extraction, target_of("c", {}))
    k = problem.kernels[0]
    real = measure_build.print_program

    def other(program: Any, schedules: Any) -> Any:
        t = program.graph.outputs[0]
        moved = te.ir.Tensor(t.name, t.axes, te.ir.apply("add", t.body, te.ir.const(1.0)), t.dtype)
        graph = te.ir.Graph(program.graph.name, program.graph.inputs, (moved, *program.graph.outputs[1:]))
        plan = dataclasses.replace(program.kernels[0], outputs=graph.outputs)
        return real(dataclasses.replace(program, graph=graph, kernels=(plan,)), schedules)

    assert isinstance(CpuKernels().measure([Trial(k, 0)], 0.1)[0], Timed)
    monkeypatch.setattr(measure_build, "print_program", other)
    measure_build.printed_alone.cache_clear()
    found = CpuKernels().measure([Trial(k, 0)], 0.1)[0]
    measure_build.printed_alone.cache_clear()
    assert isinstance(found, Refused) and found.kind == "wrong" and "it is wrong by" in found.why


def test_a_kernel_without_a_lowering_and_one_that_does_not_compile_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = problem_of(extract(rows()), target_of("c", {}))
    k = problem.kernels[0]
    d, j = te.dim("d"), te.index("j")
    c = te.index("c", d)
    left, right = (te.ir.StateRef(side, "o", "real", (affine(c),)) for side in ("left", "right"))
    vectors = Monoid(
        "vectors", (Component("o", "real", (c,)),), (te.ir.apply("add", left, right),), (te.ir.const(0.0),)
    )
    summed = te.tensor("S", c, te.reduce(vectors, j, te.input("V", (8, d))[j, c])).node
    symbolic = dataclasses.replace(k, outputs=(summed,), schedules=(te.schedule.PLAIN,))
    found = CpuKernels().measure([Trial(symbolic, 0)], 0.1)[0]
    assert found == Refused("lowering", "axis 'c' of a state has the symbolic size d")

    def broken(*_: object) -> Any:
        raise te.errors.TargetError("the C compiler failed", where="cc", mend="")

    monkeypatch.setattr(measure_build.Builder, "_compiled", broken)
    refused = CpuKernels().measure([Trial(k, 0)], 0.1)[0]
    assert refused == Refused("compiler", "the C compiler failed: cc")


def test_a_kernel_is_timed_from_cold_caches() -> None:
    problem = problem_of(extract(rows(64, 64)), target_of("c", {}, "cold"))
    k = problem.kernels[0]
    cold = CpuKernels(cache="cold").measure([Trial(k, 0)], 0.2)[0]
    assert isinstance(cold, Timed) and cold.median > 0 and cold.runs >= 3
