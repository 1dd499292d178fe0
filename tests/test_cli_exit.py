"""All commands end alike: wrong command lines, interrupts, readers that go away."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tang_egg.__main__ import COMMANDS, USAGE
from tang_egg.cli_exit import ended
from tang_egg.errors import TangError, TargetError, VerificationError
from tests.tree import project

GRAPHS = ("saturate", "compile", "verify", "tune")
"""Commands that take a graph first."""


def main_of(name: str) -> Callable[[list[str]], int]:
    module, function = COMMANDS[name]
    found: Callable[[list[str]], int] = getattr(importlib.import_module(f"tang_egg.{module}"), function)
    return found


def test_every_script_is_a_command_of_the_module() -> None:
    scripts = {f"tang-{name}": f"tang_egg.{module}:{function}" for name, (module, function) in COMMANDS.items()}
    assert project()["project"]["scripts"] == scripts
    assert all(f"tang-{name})" in USAGE for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unknown_option_is_told_in_three_parts(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    more = {"compile": ["-o", "out"]}.get(name, [])
    graph = ["softmax"] if name in (*GRAPHS, "certify") else []
    assert main_of(name)([*graph, *more, "--frobnicate"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"tang-{name}: unrecognized arguments: --frobnicate")
    assert err.splitlines()[1:] == [
        f"  where: the command line of tang-{name}",
        f"  mend:  see tang-{name} --help",
    ]


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("missing.tang", "cannot read 'missing.tang': No such file or directory"),
        ("empty.tang", 'the text has no graph("name")'),
        ("folder.tang", "cannot read 'folder.tang': Is a directory"),
        ("folder", "'folder' is a folder"),
        ("notes.txt", "'notes.txt' is no text file of a graph"),
    ],
)
def test_a_file_that_is_no_graph_is_told(
    name: str,
    given: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.tang").touch()
    Path("notes.txt").touch()
    Path("folder.tang").mkdir()
    Path("folder").mkdir()
    assert main_of(name)([given, *(["-o", "out"] if name == "compile" else [])]) == 2
    assert capsys.readouterr().err.splitlines()[0] == f"tang-{name}: {said}"


@pytest.mark.parametrize("name", ["saturate", "verify"])
def test_a_model_goes_to_the_commands_that_read_it(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main_of(name)(["model.onnx"]) == 2
    assert "is an ONNX model, which this command does not read" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["saturate", "verify", "tune"])
def test_an_unknown_target_is_a_wrong_command_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main_of(name)(["softmax", "--target", "opencll"]) == 2
    assert f"tang-{name}: there is no target 'opencll'; did you mean 'opencl'?" in capsys.readouterr().err


def raising(error: BaseException) -> Callable[[], int]:
    def work() -> int:
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (TangError("w", where="here", mend="so"), 2, "tang-x: w\n  where: here\n  mend:  so\n"),
        (VerificationError("w", where="here", mend="so"), 1, "tang-x: w\n  where: here\n  mend:  so\n"),
        (TargetError("w", where="here", mend="so"), 3, "tang-x: w\n  where: here\n  mend:  so\n"),
        (KeyboardInterrupt(), 130, "tang-x: interrupted\n"),
    ],
)
def test_what_ends_the_work_becomes_a_code(
    error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended("tang-x", raising(error)) == code
    assert capsys.readouterr() == ("", said)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_reader_that_went_away_is_no_error(name: str) -> None:
    """The help is less than a pipe holds, so that it fails only when it is flushed."""
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tang_egg", name, "--help"], stdout=write, stderr=subprocess.PIPE, text=True,
            check=False,
        )  # fmt: skip
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, "")
