"""The doctor says PASS where the sum is right and tells how to mend it where it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tang_egg import __main__ as command
from tang_egg import doctor
from tang_egg.errors import TargetError
from tang_egg.interpret import interpret


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
    assert doctor.main([]) == 1
    text = capsys.readouterr().out
    assert "FAIL  c" in text
    assert "no-such-compiler" in text
    assert "mend:" in text


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
    assert "mend:" in found.text


def test_planned_targets_are_listed_as_not_built(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "examine", lambda *_, **__: doctor.Finding("c", True, "cc 1"))
    assert doctor.main([]) == 0
    text = capsys.readouterr().out
    assert "tang_egg" in text.splitlines()[0]
    assert all(f"----  {name:8}not built yet" in text for name in doctor.PLANNED)


def test_commands_are_passed_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor, "main", lambda rest: len(rest))
    monkeypatch.setattr("tang_egg.cli.saturate_main", lambda rest: 10 + len(rest))
    assert command.main(["doctor", "x"]) == 1
    assert command.main(["saturate", "softmax", "--json"]) == 12
    assert command.main([]) == 2
    assert command.main(["--help"]) == 0
    assert command.main(["dance"]) == 2
    assert "there is no command 'dance'" in capsys.readouterr().err
