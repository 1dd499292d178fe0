"""The doctor says PASS where the sum is right and tells how to mend it where it is not."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pulp
import pytest

from tang_egg import __main__ as command
from tang_egg import doctor, doctor_doors, doctor_finding, doctor_parts, run_cache
from tang_egg.doctor_finding import Finding
from tang_egg.errors import TangError, TargetError
from tang_egg.interpret import interpret
from tang_egg.targets import TARGETS


def test_the_small_sum_is_what_it_says() -> None:
    x = np.arange(1, doctor.SIZE + 1, dtype=np.float32)
    assert interpret(doctor.small_sum().graph, {"X": x})["S"] == 414090


def test_c_passes_with_its_compiler_named() -> None:
    found = doctor.examine("c", tool=doctor.c_compiler)
    assert found.passed
    assert "threads" in found.text
    assert str(found).startswith("PASS  c ")


def test_without_a_compiler_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TANG_CC", "no-such-compiler")
    monkeypatch.setattr(doctor, "doors", list)
    assert doctor.main([]) == 1
    text = capsys.readouterr().out
    assert "FAIL  c" in text
    assert "no-such-compiler" in text
    assert "FAIL  compiler" in text
    assert "mend:  unset TANG_CC, or " in text and "install ziglang" in text


def refuse(program: Any, target: str) -> Any:
    raise TargetError("no driver", where="here", mend="install one")


def break_down(program: Any, target: str) -> Any:
    raise OSError("segment lost")


@pytest.mark.parametrize(
    ("compile", "said"),
    [
        (refuse, "no driver"),
        (break_down, "OSError: segment lost"),
        (lambda program, target: lambda arrays: {"S": np.float32(1)}, "the sum is 1.0, not 414090.0"),
    ],
)
def test_what_fails_is_reported_and_not_raised(compile: Any, said: str) -> None:
    found = doctor.examine("x", compile=compile)
    assert found.passed is False
    assert said in found.text
    assert "  mend:  " in str(found)


def test_every_target_is_listed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor, "examine", lambda target, *_, **__: Finding(target, True, "1"))
    monkeypatch.setattr(doctor, "doors", list)
    assert doctor.main([]) == 0
    text = capsys.readouterr().out
    assert "tang_egg" in text.splitlines()[0]
    assert all(re.search(rf"^(PASS|----)  {name} ", text, re.MULTILINE) for name in TARGETS)


def test_a_target_of_plain_threads_that_is_not_here_fails_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_METAL", "abacus")
    found = doctor.grid("metal")
    assert found.passed is None
    assert found.text == "not here: TANG_METAL is 'abacus'\n  where: the environment"
    assert found.mend == "set it to 'shim' or 'gpu', or unset it"


def test_a_driver_that_breaks_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("no such symbol")

    monkeypatch.setitem(TARGETS, "metal", dataclasses.replace(TARGETS["metal"], open=broken))
    found = doctor.grid("metal")
    assert found.passed is False and found.text == "RuntimeError: no such symbol" and found.mend


def test_parts_are_tried_and_described() -> None:
    found = {f.target: f for f in doctor_parts.parts()}
    assert list(found) == ["compiler", "cache", "egglog", "solver"]
    assert all(f.passed for f in found.values()), [str(f) for f in found.values()]
    facts = dict(found["compiler"].facts)
    assert set(facts) == {"command", "flags", "OpenMP", "vectors"}
    assert "-O3" in facts["flags"]
    assert facts["vectors"] in ("512 bits", "256 bits", "128 bits")
    assert "rewrites" in found["egglog"].text and "solves" in found["solver"].text


@pytest.mark.parametrize(
    ("printed", "bits"),
    [("#define __AVX512F__ 1\n#define __AVX__ 1", 512), ("#define __AVX__ 1", 256), ("#define __SSE2__ 1", 128),
     ("#define __ARM_NEON 1", 128), ("#define __AVX2 1", 0), ("", 0)],
)  # fmt: skip
def test_vectors_are_as_wide_as_the_compiler_says(tmp_path: Path, printed: str, bits: int) -> None:
    tool = tmp_path / "cc"
    tool.write_text(f"#!/bin/sh\ncat <<'END'\n{printed}\nEND\n")
    tool.chmod(0o755)
    assert doctor_parts.vector_bits((str(tool),), ("-O3",)) == bits
    assert doctor_parts.vector_bits(("/no/such/compiler",), ()) == 0


def test_the_cache_tells_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_CACHE", str(tmp_path))
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "a.so").write_bytes(b"x" * 3000)
    found = doctor_parts.cache()
    assert found.passed and str(tmp_path) in found.text
    assert dict(found.facts) == {"entries": "1", "size": "2.9 KiB"}


def test_a_cache_that_cannot_be_written_is_a_drawback_and_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TANG_CACHE", str(tmp_path / "file"))
    run_cache._fallback.cache_clear()
    found = doctor_parts.cache()
    assert found.passed is None
    assert "cannot be written" in found.text and "TANG_CACHE" in found.mend


class Wrong(pulp.LpSolver):  # type: ignore[misc]
    """A solver that says it has solved and sets nothing."""

    name = "WRONG"

    def actualSolve(self, program: Any, **_: Any) -> int:
        program.assignStatus(pulp.LpStatusOptimal)
        return int(pulp.LpStatusOptimal)


def test_a_solver_that_is_wrong_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_parts, "_solver", Wrong)
    found = doctor_parts.solver()
    assert found.passed is False
    assert "where [1, 0, 1] is best" in found.text and "highspy" in found.mend


@pytest.mark.parametrize("error", [TangError("no solver", where="here", mend="install one"), RuntimeError("broken")])
def test_a_part_that_breaks_fails_and_the_others_are_tried(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Any:
        raise error

    monkeypatch.setattr(doctor_parts, "_solver", broken)
    found = {f.target: f for f in doctor_parts.parts()}
    assert found["solver"].passed is False and str(error).splitlines()[0] in found["solver"].text
    assert "mend:" in str(found["solver"])
    assert found["cache"].passed


@pytest.mark.parametrize(
    ("tools", "root", "command"),
    [
        ({"apt-get"}, True, "apt-get install -y gcc libc6-dev; or"),
        ({"apt-get"}, False, "sudo apt-get install -y gcc libc6-dev; or"),
        ({"dnf", "yum"}, True, "dnf install -y gcc; or"),
        ({"apk"}, True, "apk add gcc musl-dev; or"),
        (set(), True, "-m pip install ziglang"),
    ],
)
def test_a_compiler_is_installed_by_what_the_system_has(
    tools: set[str], root: bool, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TANG_CC", raising=False)
    monkeypatch.setattr(doctor_finding.platform, "system", lambda: "Linux")
    monkeypatch.setattr(doctor_finding.shutil, "which", lambda name: f"/bin/{name}" if name in tools else None)
    monkeypatch.setattr(doctor_finding, "_is_root", lambda: root)
    assert command in doctor_finding.compiler_command()


def test_a_mac_gets_its_own_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TANG_CC", raising=False)
    monkeypatch.setattr(doctor_finding.platform, "system", lambda: "Darwin")
    assert doctor_finding.compiler_command().startswith("xcode-select --install; or ")


def test_an_extra_is_the_packages_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = ["numpy>=1", 'onnx>=1.16; extra == "onnx"', "a>=1 ; extra == 'two'", 'b<3,>=2; (extra == "two")',
              "c; python_version < '3.12' and extra == 'two'"]  # fmt: skip
    monkeypatch.setattr(doctor_finding.metadata, "requires", lambda _: listed)
    assert doctor_finding.extra("onnx") == ("onnx>=1.16",)
    assert doctor_finding.extra("two") == ("a>=1", "b<3,>=2", "c")
    assert doctor_finding.extra("none") == ("tang_egg[none]",)
    assert "'b<3,>=2'" in doctor_finding.pip(*doctor_finding.extra("two"))


@pytest.mark.parametrize(
    ("supported", "said"), [(0, "a machine with an NVIDIA GPU"), (12080, "CUDA 12.8"), (13000, "CUDA 13.0")]
)
def test_the_gpu_is_mended_for_the_driver_that_is_here(
    supported: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = ['cupy-cuda12x>=13; extra == "cuda12"', 'cupy-cuda13x>=13; extra == "cuda"']
    monkeypatch.setattr(doctor_finding.metadata, "requires", lambda _: listed)
    monkeypatch.setattr(doctor, "cuda_version", lambda: supported)
    monkeypatch.setattr(doctor, "version", lambda _: "")
    monkeypatch.setattr(doctor, "driver", lambda: refuse(None, "cuda"))
    found = doctor.cuda()
    assert found.passed is None and "no driver" in found.text
    assert said in found.mend
    assert ("cupy-cuda12x" if supported == 12080 else "cupy-cuda13x") in found.mend


def test_files_without_packages_are_read_here() -> None:
    doctor_doors._safetensors()
    doctor_doors._gguf()


def test_an_onnx_model_comes_through_the_door() -> None:
    pytest.importorskip("onnx")
    doctor_doors._onnx()


@pytest.mark.slow
def test_a_torch_program_comes_through_the_door() -> None:
    pytest.importorskip("torch")
    doctor_doors._torch()


def test_a_door_whose_package_is_missing_fails_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_doors.importlib.util, "find_spec", lambda name: None)
    found = {f.target: f for f in doctor_doors.doors()}
    assert found["onnx"].passed is None and "pip install" in found["onnx"].mend
    assert found["torch"].passed is None and found["gguf"].passed is True


@pytest.mark.parametrize(
    "error", [ImportError("a library is missing\nsecond line"), TangError("wrong", mend="mend it")]
)
def test_a_door_that_breaks_fails(error: Exception) -> None:
    def trial() -> None:
        raise error

    found = doctor_doors._door("gguf", "", trial)
    assert found.passed is False
    assert str(error).splitlines()[0] in found.text and "mend:" in str(found)


def test_wrong_values_are_seen() -> None:
    with pytest.raises(ValueError, match="the values read are"):
        doctor_doors._same([1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize(("passed", "ok"), [(True, True), (None, True), (False, False)])
def test_json_has_the_verdicts_and_the_exit_code(
    passed: bool | None, ok: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = Finding("onnx", passed, "said", (("a", "b"),), "do this", "door")
    monkeypatch.setattr(doctor, "findings", lambda: [Finding("c", True, "cc 1")])
    monkeypatch.setattr(doctor, "parts", list)
    monkeypatch.setattr(doctor, "doors", lambda: [one])
    assert doctor.main(["--json"]) == (0 if ok else 1)
    data = json.loads(capsys.readouterr().out)
    assert (data["format"], data["ok"]) == (1, ok)
    assert data["findings"][1] == {
        "kind": "door", "name": "onnx", "verdict": {True: "pass", False: "fail", None: "none"}[passed],
        "text": "said", "mend": "do this", "facts": {"a": "b"},
    }  # fmt: skip
    assert {"system", "processor", "versions", "compiler"} <= set(data["environment"])


def test_the_environment_is_told_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_CC", "no-such-compiler")
    found = dict(doctor.environment())
    assert found["compiler"] == "no C compiler was found"
    assert os.uname().machine in found["system"]


def test_commands_are_passed_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor, "main", lambda rest: len(rest))
    monkeypatch.setattr("tang_egg.cli.saturate_main", lambda rest: 10 + len(rest))
    assert command.main(["doctor", "x"]) == 1
    assert command.main(["saturate", "softmax", "--json"]) == 12
    monkeypatch.setattr("tang_egg.cli_compile.main", lambda rest: 20 + len(rest))
    assert command.main(["compile", "softmax", "-o", "lib"]) == 23
    assert command.main([]) == 2
    assert command.main(["--help"]) == 0
    assert command.main(["dance"]) == 2
    assert "there is no command 'dance'" in capsys.readouterr().err
