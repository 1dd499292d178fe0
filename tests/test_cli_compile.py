"""`tang-compile`: from a model's file to a C library that runs; what it refuses, and what it leaves alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg import artefact_file, cli_compile, export
from tang_egg.cli_compile import main
from tang_egg.cli_exit import NO_TARGET, OK, USAGE, WRONG, exit_code
from tang_egg.cli_weights import read_weights
from tang_egg.errors import ArtefactError, InputError, TargetError, VerificationError
from tang_egg.export import export_c
from tang_egg.export_interface import check_name, library_name
from tang_egg.pipeline_compiled import Compiled, Options
from tests.c_library import Library

TEXT = """\
graph("two_layers")
n = dim(lo=0, hi=64)
k = dim()
X = input(f32[n, 5])
W = input(f32[5, k])
B = input(f32[k])
H[i, j] = sum[c](X[i, c] * W[c, j]) + B[j]
Y[i, j] = max(H[i, j], 0.0)
output(Y)
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "net v2.tang"
    path.write_text(TEXT)
    return path


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "weights.npz"
    rng = np.random.default_rng(0)
    np.savez(path, W=rng.standard_normal((5, 3)).astype(np.float32), B=np.ones(3, np.float32), other=np.ones(9))
    return path


def test_a_text_and_its_weights_become_a_library_that_runs(
    model: Path, weights: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "lib"
    assert main([str(model), "-o", str(out), "--weights", str(weights), "--check", "--quiet"]) == OK
    said = capfd.readouterr().out
    assert said.startswith(f"{out}: README.md, example.c, manifest.json, net_v2.c, net_v2.h, net_v2.weights\n")
    assert "inputs: X, 2 weights of 72 bytes; outputs: Y\n" in said
    assert "verified in 6 runs; largest relative error" in said
    assert said.rstrip().endswith("; as expected")
    library = Library(out, tmp_path)
    assert library.load_weights() == 0
    x = np.random.default_rng(1).standard_normal((4, 5)).astype(np.float32)
    held = np.load(weights)
    status, found = library.run({"X": x}, {"Y": (4, 3)}, {"n": 4})
    assert status == 0
    np.testing.assert_allclose(found["Y"], np.maximum(x @ held["W"] + held["B"], 0), rtol=1e-5, atol=1e-6)
    said_there = json.loads((out / "manifest.json").read_text())
    assert [d["name"] for d in said_there["dims"]] == ["n"]  # the weights told k


def test_the_same_folder_is_written_again_and_other_files_stay(
    model: Path, weights: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "lib"
    command = [str(model), "-o", str(out), "--weights", str(weights), "--name", "net"]
    assert main(command) == OK
    (out / "mine.txt").write_text("kept")
    (out / "net.o").write_bytes(b"of a build")
    before = {p.name: p.read_bytes() for p in out.iterdir()}
    capfd.readouterr()
    assert main([*command, "--embed"]) == OK
    assert "README.md, example.c, manifest.json, net.c, net.h, net_weights.c\n" in capfd.readouterr().out
    assert (out / "mine.txt").read_text() == "kept"
    assert (out / "net_weights.c").exists()
    assert not (out / "net.weights").exists()  # written by the first call, as it was: no longer needed
    assert main(command) == OK
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before
    (out / "net.c").write_text("changed by hand")
    capfd.readouterr()
    assert main(command) == USAGE
    assert capfd.readouterr().err == (
        "tang-compile: 'net.c' was changed after it had been written\n"
        f"  where: the folder '{out}'\n"
        "  mend:  keep your version elsewhere, or give --force to write over it\n"
    )
    assert (out / "net.c").read_text() == "changed by hand"
    assert main([*command, "--force"]) == OK
    assert (out / "net.c").read_bytes() == before["net.c"]


def test_a_folder_of_others_is_left_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "home"
    out.mkdir()
    (out / "letter.txt").write_text("dear")
    (out / "manifest.json").write_text('{"kind": "something else"}')
    compiled = small()
    with pytest.raises(ArtefactError) as caught:
        export_c(compiled, out)
    assert str(caught.value) == (
        f"the folder '{out}' holds files that are not those of a library\n"
        "  where: the folder of the library\n"
        "  mend:  give an empty or a new folder; or --force to write beside and over them"
    )
    assert sorted(p.name for p in out.iterdir()) == ["letter.txt", "manifest.json"]
    export_c(compiled, out, force=True)
    assert (out / "letter.txt").read_text() == "dear"
    (tmp_path / "file").write_text("")
    with pytest.raises(ArtefactError, match="is no folder"):
        export_c(compiled, tmp_path / "file")
    (tmp_path / "empty").mkdir()
    export_c(compiled, tmp_path / "empty")
    assert (tmp_path / "empty" / "manifest.json").exists()


def test_a_folder_of_others_is_refused_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def optimize(*_: object, **__: object) -> None:
        raise AssertionError("this must not be reached")

    monkeypatch.setattr(cli_compile, "optimize", optimize)
    (tmp_path / "letter.txt").write_text("dear")
    assert main(["softmax", "-o", str(tmp_path)]) == USAGE


def test_a_new_folder_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "x")

    compiled = small()
    with monkeypatch.context() as patch:
        patch.setattr(export.os, "replace", full)
        with pytest.raises(ArtefactError) as caught:
            export_c(compiled, tmp_path / "made")
    assert caught.value.what == f"cannot write the folder '{tmp_path / 'made'}': No space left on device"
    assert list(tmp_path.iterdir()) == []
    export_c(compiled, tmp_path / "made")
    before = {p.name: p.read_bytes() for p in (tmp_path / "made").iterdir()}
    monkeypatch.setattr(artefact_file.os, "replace", full)
    with pytest.raises(ArtefactError):
        export_c(compiled, tmp_path / "made")
    assert {p.name: p.read_bytes() for p in (tmp_path / "made").iterdir()} == before


_SMALL: list[Compiled] = []


def small() -> Compiled:
    if not _SMALL:
        i = te.index("i", 3)
        x = te.input("x", (3,))
        _SMALL.append(te.optimize(te.graph("small", y=te.tensor(None, i, x[i] + 1.0)), verified=False))
    return _SMALL[0]


def test_onnx_files_are_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    w = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["in.put", "w"], ["h"]), helper.make_node("Softmax", ["h"], ["out.put"], axis=-1)],
        "net",
        [helper.make_tensor_value_info("in.put", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info("out.put", TensorProto.FLOAT, ["batch", 3])],
        [numpy_helper.from_array(w, "w")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(made, tmp_path / "net.onnx")
    assert main([str(tmp_path / "net.onnx"), "-o", str(tmp_path / "lib"), "--check"]) == OK, capfd.readouterr().err
    library = Library(tmp_path / "lib", tmp_path)
    assert library.load_weights() == 0
    (x,) = library.manifest["inputs"]
    (y,) = library.manifest["outputs"]
    assert (x["original"], y["original"]) == ("in.put", "out.put")
    given = np.random.default_rng(1).standard_normal((6, 4)).astype(np.float32)
    dims = {d["name"]: 6 for d in library.manifest["dims"]}
    status, found = library.run({x["name"]: given}, {y["name"]: (6, 3)}, dims)
    assert status == 0
    e = np.exp(given @ w)
    np.testing.assert_allclose(found[y["name"]], e / e.sum(-1, keepdims=True), rtol=1e-5)
    assert main([str(tmp_path / "net.onnx"), "-o", str(tmp_path / "b"), "--bind", "batch=2"]) == OK
    assert json.loads((tmp_path / "b" / "manifest.json").read_text())["dims"] == []
    assert main([str(tmp_path / "net.onnx"), "-o", str(tmp_path / "d"), "--shape", "in.put=5,?"]) == OK
    assert json.loads((tmp_path / "d" / "manifest.json").read_text())["inputs"][0]["shape"] == [5, 4]
    assert main([str(tmp_path / "net.onnx"), "-o", str(tmp_path / "c"), "--weights", "x.npz"]) == USAGE
    assert "an ONNX file has its own weights" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-o", "lib"], USAGE, "the following arguments are required: MODEL"),
        (["softmax"], USAGE, "the following arguments are required: -o/--output"),
        (["softmux", "-o", "lib"], USAGE, "there is no graph 'softmux'; did you mean 'softmax'"),
        (["softmax", "-o", "lib", "--target", "cuda"], USAGE, "the target 'cuda' cannot be written as a library"),
        (["softmax", "-o", "lib", "--name", "1st"], USAGE, "'1st' cannot be the name of a C library"),
        (["softmax", "-o", "lib", "--bind", "n=3"], USAGE, "graph 'softmax' has no dimension 'n'"),
        (["softmax", "-o", "lib", "--shape", "x=1,2"], USAGE, "only inputs of ONNX files are given shapes"),
        (["softmax", "-o", "lib", "--shape", "x=1,n"], USAGE, "cannot read 'x=1,n'"),
        (["softmax", "-o", "lib", "--shape", f"x={'9' * 5000}"], USAGE, "cannot read 'x=9999"),
        (["softmax", "-o", "lib", "--shape", "x=1", "--shape", "x=2"], USAGE, "'x' has two shapes"),
        (["softmax", "-o", "lib", "--limit-seconds", "0"], USAGE, "0 seconds are no time"),
        (["softmax", "-o", "lib", "--weights", "none.npz"], USAGE, "there is no such file"),
        (["softmax", "-o", "lib", "--enbed"], USAGE, "unrecognized arguments: --enbed; did you mean '--embed'"),
    ],
)
def test_wrong_command_lines(
    arguments: list[str], code: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == code
    said = capfd.readouterr().err
    assert message in said
    assert "\n  where: " in said
    assert "\n  mend:  " in said
    assert not (tmp_path / "lib").exists()


def test_weights_and_bindings_must_agree(model: Path, weights: Path, tmp_path: Path, capfd: Any) -> None:
    command = [str(model), "-o", str(tmp_path / "lib"), "--weights", str(weights), "--bind", "k=4"]
    assert main(command) == USAGE
    assert capfd.readouterr().err == (
        "tang-compile: dimension 'k' is bound to 4, and a weight has 3\n"
        "  where: --bind k=4\n"
        "  mend:  leave it out, or give weights of that size\n"
    )


def test_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TANG_CC", "no-such-compiler")
    assert main(["matmul", "-o", str(tmp_path / "lib")]) == NO_TARGET
    assert "no C compiler was found" in capfd.readouterr().err


def test_check_tells_a_library_that_does_not_build_from_one_that_is_wrong(tmp_path: Path) -> None:
    folder = export_c(small(), tmp_path / "lib")
    assert cli_compile.check(folder, "small").endswith("as expected")
    whole = (folder / "small.c").read_text()
    (folder / "small.c").write_text("nonsense " + whole)
    with pytest.raises(TargetError, match="the example of the library does not build"):
        cli_compile.check(folder, "small")
    (folder / "small.c").write_text(whole.replace("1.0f", "1.5f"))
    with pytest.raises(VerificationError) as caught:
        cli_compile.check(folder, "small")
    assert caught.value.what == "the example of the library finds other values than the verified program"
    assert "the outputs are not the recorded ones" in caught.value.where
    assert exit_code(caught.value) == WRONG


def test_names_of_libraries() -> None:
    assert library_name("MiniLM-L6 v2") == "minilm_l6_v2"
    assert library_name("2nd") == "model_2nd"
    assert library_name("int") == "model_int"
    assert library_name("example") == "model_example"  # example.c is the library's own
    assert library_name("Math") == "model_math"
    assert library_name("—") == "model"
    for name in ("a", "attention_2", "Net"):
        check_name(name)
    for name in ("", "2", "a-b", "double", "_x", "x" * 64, "exp", "ä", 3):
        with pytest.raises(ArtefactError, match="cannot be the name of a C library"):
            check_name(name)


def test_a_program_for_a_gpu_is_no_library(tmp_path: Path) -> None:
    compiled = small()
    other = Compiled(compiled.graph, compiled.derived, "cuda", {}, object(), None, {}, Options())  # type: ignore[arg-type]
    with pytest.raises(TargetError, match="a program for 'cuda' is no C library"):
        export_c(other, tmp_path / "lib")


def test_weights_that_are_too_many_to_embed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tang_egg.export_weights.MOST_EMBEDDED", 8)
    i = te.index("i", 99)
    graph = te.graph("large", y=te.tensor(None, i, te.input("x", (99,))[i] + te.input("w", (99,))[i]))
    bound = te.optimize(graph, verified=False).bind(w=np.ones(99, np.float32))
    with pytest.raises(ArtefactError) as caught:
        export_c(bound, tmp_path / "lib", embed=True)
    assert caught.value.what.endswith("bytes of weights are too many for C source")
    assert not (tmp_path / "lib").exists()


def declared() -> te.Graph:
    i, j = te.index("i", te.dim("n")), te.index("j", 4)
    w, v = te.input("w", (i.size, 4)), te.input("v", (4,), "bf16")
    return te.graph("declared", y=te.tensor(None, (i, j), w[i, j] * v[j]))


def test_arrays_of_files_must_fit_their_inputs(tmp_path: Path) -> None:
    graph, path = declared(), tmp_path / "a.npz"
    rng = np.random.default_rng(0)
    w, v = rng.standard_normal((3, 4)).astype(np.float32), np.ones(4, np.float32)
    np.savez(path, w=np.asfortranarray(w), v=v, unused=np.ones(3))
    found = read_weights(str(path), graph)
    assert set(found) == {"w", "v"}
    np.testing.assert_array_equal(found["w"], w)
    for arrays, message in (
        ({"w": w.astype(np.float64)}, r"the array 'w' is float64\[3, 4\]"),
        ({"w": w[:, :3]}, r"the array 'w' is float32\[3, 3\]"),
        ({"z": w}, "no array of the file has the name of an input of graph 'declared'"),
        ({"w": np.array([None, w], dtype=object)}, r"the array 'w' is object\[2\]"),
    ):
        np.savez(path, **arrays)
        with pytest.raises(InputError, match=message) as caught:
            read_weights(str(path), graph)
        assert caught.value.where == str(path)
        assert caught.value.mend
    np.savez_compressed(path, w=w)
    with pytest.raises(InputError, match="the array 'w' is compressed, and its input leaves its size open"):
        read_weights(str(path), graph)
    np.savez_compressed(path, v=v)
    assert set(read_weights(str(path), graph)) == {"v"}


def test_damaged_files_of_weights_end_in_errors(tmp_path: Path) -> None:
    graph, path = declared(), tmp_path / "a.npz"
    np.savez(path, w=np.ones((3, 4), np.float32), v=np.ones(4, np.float32))
    content, rng, refused = path.read_bytes(), np.random.default_rng(0), 0
    for n in range(100):
        fuzzed = bytearray(content)
        if n % 4 == 0:
            fuzzed = fuzzed[: int(rng.integers(0, len(content)))]
        else:
            fuzzed[int(rng.integers(0, len(content)))] ^= int(rng.integers(1, 256))
        path.write_bytes(fuzzed)
        try:
            read_weights(str(path), graph)
        except InputError as error:
            refused += 1
            assert error.where
            assert error.mend
    assert refused > 50


def test_safetensors_are_weights(model: Path, tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "w.safetensors"
    safetensors.save_file({"W": np.ones((5, 3), np.float32), "B": np.zeros(3, np.float32)}, path)
    assert main([str(model), "-o", str(tmp_path / "lib"), "--weights", str(path)]) == OK
    assert {w["name"] for w in json.loads((tmp_path / "lib" / "manifest.json").read_text())["weights"]} == {"W", "B"}


def test_the_command_runs_as_a_program(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tang_egg.cli_compile", "--help"], capture_output=True, text=True, check=False,
        env={**os.environ, "COLUMNS": "100"},
    )  # fmt: skip
    assert done.returncode == 0
    assert "tang-compile" in done.stdout
    assert "exit codes: 0 all is well" in done.stdout


@pytest.mark.parametrize("name", ["example", "math", "Stdio", "omp", "test"])
def test_a_library_hides_no_header_and_no_file_of_its_own(name: str) -> None:
    with pytest.raises(ArtefactError) as caught:
        check_name(name)
    assert str(caught.value) == (
        f"a C library cannot be called '{name}': a header of C, or a file or target of the library's own, is\n"
        f"  where: the name of the library\n  mend:  give another name: --name my_{name.lower()}"
    )


def test_inputs_may_have_the_names_of_parameters(tmp_path: Path) -> None:
    i = te.index("i")
    names = ("self", "dims", "arrays", "out")
    given = [te.input(n, (3,)) for n in names]
    total = te.tensor("y", i, given[0][i] + 2 * given[1][i] + 3 * given[2][i] + 4 * given[3][i])
    compiled = te.optimize(te.graph("named", total))
    one = np.ones(3, np.float32)
    assert compiled(one, one, one, one).tolist() == [10.0] * 3
    assert compiled.bind(self=one, dims=one, arrays=one)(out=one).tolist() == [10.0] * 3
    assert "named.h" in {p.name for p in export_c(compiled, tmp_path / "lib").iterdir()}


def test_arrays_may_have_the_names_of_what_a_library_has(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    names = (
        "inputs outputs workspace bytes counts dims weights memory path array fill check given same size_t complex"
    ).split()
    text = "".join(f"{n} = input(f32[3])\n" for n in names)
    (tmp_path / "odd.tang").write_text(
        f'graph("odd")\n{text}wrong[i] = {" + ".join(f"{n}[i]" for n in names)}\noutput(wrong)\n'
    )
    assert main([str(tmp_path / "odd.tang"), "-o", str(tmp_path / "lib"), "--check", "--quiet"]) == OK
    assert "wrong: 3 elements" in capfd.readouterr().out
    user = tmp_path / "user.cc"
    user.write_text('#include <complex.h>\n#include "odd.h"\n')
    command = ["c++", "-fsyntax-only", "-I", str(tmp_path / "lib"), str(user)]
    assert not shutil.which("c++") or subprocess.run(command, check=False).returncode == 0
