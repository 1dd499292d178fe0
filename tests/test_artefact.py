"""Artefacts: what is saved comes back, in this process and in another one, with and without the built library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg import artefact, pipeline, run_toolchain
from tang_egg.artefact_data import dump, typed
from tang_egg.artefact_model import LIBRARY, MANIFEST
from tang_egg.artefact_read import evaluated
from tang_egg.check import check_graph
from tang_egg.content import kernel_graph, program_graph
from tang_egg.cost.roofline import MATRIX_UNITS, Costs
from tang_egg.errors import ArtefactError, GraphError, InputError, TargetError, TextError
from tang_egg.examples import EXAMPLES
from tang_egg.ir import Graph
from tang_egg.monoid import SUM
from tang_egg.pipeline import extract
from tang_egg.pipeline_compiled import Compiled
from tang_egg.program import Program
from tang_egg.report_model import Report
from tang_egg.run import CompiledProgram
from tang_egg.run_cuda import cuda_kernels
from tang_egg.run_cuda import load as load_cuda
from tang_egg.run_cuda_driver import driver
from tang_egg.text import parse_graph, print_graph
from tests.test_run_cuda import OnDevice, StandIn


def lse(rows: int = 5, columns: int = 13) -> Graph:
    i, j = te.indices("i j")
    x = te.input("X", (rows, columns))
    m = te.tensor("m", i, te.max(j, x[i, j]))
    s = te.tensor("s", i, te.sum(j, te.exp(x[i, j] - m[i])))
    return te.graph("lse", L=te.tensor(None, i, m[i] + te.log(s[i])))


def affine_model() -> Graph:
    """Y = X W + b over a run-time number of rows."""
    n = te.dim("n", lo=0)
    return te.graph("affine_model", Y=te.linear(te.input("X", (n, 7)), te.input("W", (7, 3)), te.input("b", (3,))))


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    return te.optimize(lse())


@pytest.fixture(scope="module")
def model() -> Compiled:
    return te.optimize(affine_model())


@pytest.fixture
def x() -> np.ndarray[Any, Any]:
    return np.random.default_rng(3).standard_normal((5, 13)).astype(np.float32)


def never(*_: object, **__: object) -> Any:
    raise AssertionError("this must not be called")


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_text_of_every_extracted_program_reads_back(name: str) -> None:
    graph = EXAMPLES[name]()
    program = extract(graph).program
    whole = program_graph(program)
    assert parse_graph(print_graph(graph)) == graph
    assert parse_graph(print_graph(whole), check=False) == whole
    check_graph(evaluated(whole))
    for plan in program.kernels:
        alone = kernel_graph(plan)
        assert parse_graph(print_graph(alone), check=False) == alone


def test_lifts_of_other_components_keep_their_indices() -> None:
    """Folds joined into one pass: the mean of a row stands beside a sum over a column index that it does not have."""
    x, w = te.input("X", (8, 16)), te.input("W", (16, 16))
    hidden = te.softmax(te.linear(te.rms_norm(x, te.input("g", (16,))), w))
    found = extract(te.graph("two", A=hidden, B=te.layer_norm(x)), costs=Costs(MATRIX_UNITS))
    whole = program_graph(found.program)
    text = print_graph(whole)
    assert "i2 = index(16)\nB[i0, i1] = " in text
    assert parse_graph(text, check=False) == whole
    check_graph(evaluated(whole))
    with pytest.raises(GraphError, match="index 'i2' is not in scope"):
        parse_graph(text)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("c = index()", "0 operands where 1 are expected"),
        ("c = index(x[i])", "an extent is expected"),
        ("sum = index(3)", "'sum' is a word of the language"),
        ("c = index(3, 4)", "2 operands where 1 are expected"),
    ],
)
def test_a_wrong_size_of_an_index_is_told(line: str, what: str) -> None:
    with pytest.raises(TextError) as caught:
        parse_graph(f'graph("g")\nx = input(f32[3])\n{line}\ny[i] = x[i]\noutput(y)\n')
    assert caught.value.what == what
    assert caught.value.where.startswith("<text>:3:")


def test_the_size_of_an_index_holds_for_the_next_tensor_alone() -> None:
    text = 'graph("g")\nx = input(f32[3])\nc = index(3)\ny[i] = x[i]\nz[i] = x[i] * x[c]\noutput(y, z)\n'
    with pytest.raises(TextError, match="index 'c' is bound by no fold and is no axis"):
        parse_graph(text)


def test_a_loaded_graph_is_the_saved_one(compiled: Compiled, tmp_path: Path, x: Any) -> None:
    path = tmp_path / "lse.tang.zip"
    compiled.save(path)
    back = te.load(path)
    assert isinstance(back, Compiled)
    np.testing.assert_array_equal(back(x), compiled(x))
    np.testing.assert_array_equal(back(X=x), compiled(x))
    assert list(back.run(x)) == ["L"]
    assert back.graph == compiled.graph
    assert back.program == compiled.program
    assert back.source == compiled.source
    assert back.schedule == compiled.schedule
    assert back.derivation == compiled.derivation != ()
    assert back.verification == compiled.verification
    assert back.options == compiled.options
    assert "cascade.pass" in back.report()
    assert "this took: load" in back.report()


def test_the_report_of_a_loaded_graph_says_the_same(compiled: Compiled, tmp_path: Path) -> None:
    compiled.save(tmp_path / "a")
    ours, theirs = compiled.model(), te.load(tmp_path / "a").model()
    assert theirs.kernels == ours.kernels
    assert theirs.candidates == ours.candidates
    assert theirs.rewrites == ours.rewrites
    assert theirs.verified == ours.verified
    assert theirs.source == ours.source
    with pytest.raises(ArtefactError, match="keeps the report, not the e-graph"):
        _ = te.load(tmp_path / "a").extraction


def test_saving_again_gives_the_same_bytes(compiled: Compiled, tmp_path: Path) -> None:
    compiled.save(tmp_path / "a")
    te.load(tmp_path / "a").save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_nothing_is_derived_and_nothing_is_built(
    compiled: Compiled, tmp_path: Path, x: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled.save(tmp_path / "a")
    monkeypatch.setattr(pipeline, "extract", never)
    monkeypatch.setattr(pipeline, "optimize_window", never)
    monkeypatch.setattr(run_toolchain, "_compile", never)
    monkeypatch.setenv("TANG_CACHE", str(tmp_path / "cache"))
    np.testing.assert_array_equal(te.load(tmp_path / "a")(x), compiled(x))
    adopted = [p.name for p in (tmp_path / "cache" / "kernels").iterdir() if p.suffix == ".so"]
    assert len(adopted) == 1
    assert adopted[0].startswith("adopted-")


def test_a_file_without_library_is_built_where_it_is_loaded(compiled: Compiled, tmp_path: Path, x: Any) -> None:
    compiled.save(tmp_path / "a", library=False)
    assert LIBRARY not in zipfile.ZipFile(tmp_path / "a").namelist()
    np.testing.assert_array_equal(te.load(tmp_path / "a")(x), compiled(x))
    with pytest.raises(TargetError) as caught:
        te.load(tmp_path / "a", rebuild="never")
    assert str(caught.value).splitlines()[0] == "the library of the artefact cannot be used: it has none"


def test_always_builds_and_never_runs_the_library_of_the_file(
    compiled: Compiled, tmp_path: Path, x: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled.save(tmp_path / "a")
    monkeypatch.setattr(run_toolchain, "adopt", never)
    np.testing.assert_array_equal(te.load(tmp_path / "a", rebuild="always")(x), compiled(x))


def test_a_loaded_graph_can_be_verified_again(compiled: Compiled, tmp_path: Path) -> None:
    compiled.save(tmp_path / "a")
    back = te.load(tmp_path / "a", verified=True)
    assert back.verification is not None
    assert back.verification.runs == 2
    assert back.verification is not compiled.verification


def test_another_process_loads_and_runs_it(model: Compiled, tmp_path: Path) -> None:
    w, b = np.arange(21, dtype=np.float32).reshape(7, 3), np.ones(3, np.float32)
    model.bind(W=w, b=b).save(tmp_path / "a", arrays=True)
    program = (
        "import sys, numpy as np, tang_egg as te\n"
        "y = te.load(sys.argv[1])(np.ones((2, 7), np.float32))\n"
        "print(y.tolist(), 'egglog' in sys.modules)"
    )
    said = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "a")], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith(str((np.ones((2, 7), np.float32) @ w + b).tolist()))


_SAVES = """
import sys
graphs = {"lse": lse, "symbolic": symbolic, "two": two}
for name, make in graphs.items():
    te.optimize(make(), verified=False).save(f"{sys.argv[1]}/{name}", library=False)
    print(name, te.content_hash(make()))
"""

_GRAPHS = """
import tang_egg as te
def lse():
    x = te.input("X", (32, 24))
    return te.graph("lse", L=te.softmax(x))
def symbolic():
    n = te.dim("n", lo=1)
    return te.graph("symbolic", O=te.softmax(te.gram(te.input("X", (n, 4)))))
def two():
    x, w = te.input("X", (8, 16)), te.input("W", (16, 16))
    return te.graph("two", A=te.softmax(te.linear(te.rms_norm(x, te.input("g", (16,))), w)), B=te.layer_norm(x))
"""


def test_two_processes_write_the_same_bytes(tmp_path: Path) -> None:
    running = []
    for seed in ("1", "2"):
        (tmp_path / seed).mkdir()
        program = _GRAPHS + ("" if seed == "1" else "\n\n\n# elsewhere in the file\n") + _SAVES
        command = [sys.executable, "-c", program, str(tmp_path / seed)]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment))
    said = []
    for process in running:
        output, errors = process.communicate()
        assert process.returncode == 0, errors.decode()
        said.append(output)
    assert said[0] == said[1]
    for name in ("lse", "symbolic", "two"):
        one, two = (zipfile.ZipFile(tmp_path / seed / name) for seed in ("1", "2"))
        for member in one.namelist():
            assert one.read(member) == two.read(member), f"{name}: {member}"
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_content_hashes_tell_graphs_apart_and_nothing_else() -> None:
    assert te.content_hash(lse()) == te.content_hash(lse())
    assert te.content_hash(lse()) != te.content_hash(lse(6))
    program = extract(lse()).program
    assert te.content_hash(program) == te.content_hash(extract(lse()).program)
    assert te.content_hash(program) != te.content_hash(lse())
    assert len(te.content_hash(program.kernels[0])) == 64
    with pytest.raises(te.TangError, match="a value of type int has no content hash"):
        te.content_hash(3)  # type: ignore[arg-type]


def test_members_are_stored_aligned_and_in_order(model: Compiled, tmp_path: Path) -> None:
    w = np.ones((7, 3), np.float32)
    model.bind(W=w).save(tmp_path / "a", arrays=True)
    archive = zipfile.ZipFile(tmp_path / "a")
    assert archive.testzip() is None
    names = archive.namelist()
    assert names == sorted(names)
    assert {i.compress_type for i in archive.infolist()} == {zipfile.ZIP_STORED}
    assert {i.date_time for i in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    parts = te.load(tmp_path / "a", run=False)
    assert all(m.offset % 64 == 0 for m in parts.archive.members.values())
    manifest = json.loads(archive.read(MANIFEST))
    assert sorted(manifest["members"]) == [n for n in names if n != MANIFEST]


def test_bound_arrays_are_mapped_not_copied(model: Compiled, tmp_path: Path) -> None:
    w, b = np.random.default_rng(0).standard_normal((7, 3)).astype(np.float32), np.zeros(3, np.float32)
    model.bind(W=w, b=b).save(tmp_path / "a", arrays=True)
    back = te.load(tmp_path / "a")
    held = back.bound["W"].array
    assert not held.flags.owndata
    assert not held.flags.writeable
    assert isinstance(_root(held), np.memmap)
    for rows in (0, 1, 5):
        given = np.full((rows, 7), 2, np.float32)
        np.testing.assert_allclose(back(given), given @ w, rtol=1e-5, atol=1e-5)


def _root(array: Any) -> Any:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def test_arrays_are_left_out_unless_they_are_asked_for(model: Compiled, tmp_path: Path) -> None:
    model.bind(b=np.ones(3, np.float32)).save(tmp_path / "a")
    back = te.load(tmp_path / "a")
    assert not back.bound
    assert back(np.zeros((1, 7), np.float32), np.zeros((7, 3), np.float32), np.ones(3, np.float32)).tolist() == [
        [1] * 3
    ]


def test_bound_inputs_are_no_longer_taken(model: Compiled) -> None:
    x, w, b = np.ones((2, 7), np.float32), np.ones((7, 3), np.float32), np.arange(3, dtype=np.float32)
    part = model.bind(W=w)
    np.testing.assert_array_equal(part(x, b), model(x, w, b))
    np.testing.assert_array_equal(part.bind(b=b)(x), model(x, w, b))
    np.testing.assert_array_equal(model(x, w, b), model(X=x, W=w, b=b))  # the first one is as it was
    with pytest.raises(InputError, match="there is no input 'W'"):
        part(x, b, W=w)
    with pytest.raises(InputError) as caught:
        part.bind(W=w)
    assert str(caught.value) == (
        "input 'W' is bound already\n  where: graph 'affine_model'\n  mend:  bind each input once"
    )


def test_an_array_is_converted_once_and_kept(model: Compiled) -> None:
    w = np.asfortranarray(np.random.default_rng(0).standard_normal((7, 3)).astype(np.float32))
    part = model.bind(W=w, b=np.zeros(3, np.float32))
    held = part.bound["W"].array
    assert held.flags.c_contiguous
    x = np.eye(7, dtype=np.float32)
    np.testing.assert_allclose(part(x), w, rtol=1e-6)
    assert part.bound["W"].array is held
    shared = np.ones((7, 3), np.float32)
    assert model.bind(W=shared).bound["W"].array is shared


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"W": np.ones((7, 4), np.float32)}, "the array for input 'W' has shape [7, 4]"),
        ({"W": np.ones(7, np.float32)}, "the array for input 'W' has shape [7]"),
        ({"W": np.ones((7, 3))}, "input 'W' has elements of type float64, not f32"),
        ({"w": np.ones((7, 3), np.float32)}, "there is no input 'w'"),
    ],
)
def test_what_does_not_fit_is_not_bound(model: Compiled, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        model.bind(**given)
    assert caught.value.what == message
    assert caught.value.where
    assert caught.value.mend


def test_a_donated_input_is_not_bound() -> None:
    i = te.index("i", 4)
    c = te.input("cache", (4,), donated=True)
    compiled = te.optimize(te.graph("update", y=te.tensor(None, i, c[i] + 1.0, into=c)))
    with pytest.raises(InputError, match="the donated input 'cache' cannot be bound: calls write into it"):
        compiled.bind(cache=np.zeros(4, np.float32))


def on_stand_in(graph: Graph) -> Compiled:
    extraction = pipeline.extract_for("cuda", graph, pipeline.Limits())
    program = extraction.program
    chosen = pipeline.choose_schedules(program, "cuda", exact=True)
    runner = load_cuda(program, cuda_kernels(program, chosen), StandIn())
    return Compiled(graph, extraction, "cuda", chosen, runner, None)


def test_bound_arrays_lie_on_the_device_and_do_not_decide_where_results_live() -> None:
    compiled = on_stand_in(affine_model())
    w, b = np.ones((7, 3), np.float32), np.ones(3, np.float32).view(OnDevice)
    part = compiled.bind(W=w, b=b)
    y = part(np.ones((2, 7), np.float32))
    assert type(y) is np.ndarray
    launch = part.prepare(np.ones((2, 7), np.float32))
    launch()
    assert launch.outputs["Y"].shape == (2, 3)


def test_a_gpu_program_is_saved_and_can_be_looked_at_without_a_gpu(tmp_path: Path) -> None:
    compiled = on_stand_in(affine_model())
    w = np.arange(21, dtype=np.float32).reshape(7, 3)
    compiled.bind(W=w).save(tmp_path / "a", arrays=True)
    parts = te.load(tmp_path / "a", run=False)
    assert parts.target == "cuda"
    assert "__global__" in parts.source
    assert parts.source == compiled.source
    assert parts.program == compiled.program
    assert {n: str(s) for n, s in parts.schedules.items()} == compiled.schedule
    np.testing.assert_array_equal(parts.arrays["W"], w)
    if _has_gpu():
        return
    with pytest.raises(TargetError):
        te.load(tmp_path / "a")


def _has_gpu() -> bool:
    try:
        return driver() is not None
    except TargetError:
        return False


def test_kernels_that_only_copy_keep_their_schedules(tmp_path: Path) -> None:
    i = te.index("i", 4)
    a = te.input("A", (4,))
    t = te.tensor("t", i, a[i] * 2.0)
    compiled = te.optimize(te.graph("twice", t, u=te.tensor(None, i, t[i])))
    compiled.save(tmp_path / "a")
    monkey = te.load(tmp_path / "a", rebuild="never")
    assert {n: y.tolist() for n, y in monkey.run(np.ones(4, np.float32)).items()} == {"t": [2.0] * 4, "u": [2.0] * 4}


def test_monoids_of_the_user_and_scans_come_back(tmp_path: Path) -> None:
    t = te.index("t", 37)
    a, b = te.input("A", (37,)), te.input("B", (37,))
    graph = te.graph("scans", H=te.gated_scan(te.input("P", (37, 3)), te.input("Q", (37, 3))))
    compiled = te.optimize(graph)
    compiled.save(tmp_path / "a")
    given = [np.random.default_rng(n).standard_normal((37, 3)).astype(np.float32) for n in (1, 2)]
    np.testing.assert_array_equal(te.load(tmp_path / "a")(*given), compiled(*given))
    two = te.graph("sums", S=te.tensor(None, t, te.scan(SUM, t, a[t] * b[t])))
    program = extract(two).program
    assert parse_graph(print_graph(program_graph(program))) == program_graph(program)


def test_records_survive_json(compiled: Compiled) -> None:
    report = compiled.model()
    assert typed(Report, json.loads(dump(report)), "report") == report


def test_the_library_of_a_program_whose_cache_is_gone_is_built_again(
    compiled: Compiled, tmp_path: Path, x: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(compiled.runner, CompiledProgram)
    monkeypatch.setenv("TANG_CACHE", str(tmp_path))
    monkeypatch.setattr(compiled.runner.library, "_name", str(tmp_path / "gone.so"))
    compiled.save(tmp_path / "a")
    np.testing.assert_array_equal(te.load(tmp_path / "a", rebuild="never")(x), compiled(x))


def test_the_program_of_an_artefact_is_a_program(compiled: Compiled, tmp_path: Path) -> None:
    compiled.save(tmp_path / "a")
    parts = te.load(tmp_path / "a", run=False)
    assert isinstance(parts.program, Program)
    assert parts.program.kernels[0].laws == compiled.program.kernels[0].laws
    assert parts.manifest.graph == te.content_hash(compiled.graph)
    assert parts.manifest.program == te.content_hash(compiled.program)
    assert parts.manifest.format == artefact.FORMAT
