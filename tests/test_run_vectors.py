"""Which vectors first schedules suit: what the environment says, else the compiler."""

from __future__ import annotations

from pathlib import Path

import pytest

from tang_egg import run_vectors
from tang_egg.codegen.vectors import AVX2, AVX512, NEON, SSE, Vectors
from tang_egg.errors import TargetError
from tang_egg.run_toolchain import Compiler


@pytest.mark.parametrize(("said", "kind"), [("128", SSE), ("256", AVX2), (" 512 ", AVX512), ("NEON", NEON)])
def test_the_environment_decides(monkeypatch: pytest.MonkeyPatch, said: str, kind: Vectors) -> None:
    monkeypatch.setenv("TANG_VECTORS", said)
    assert run_vectors.vectors() == kind


def test_a_wish_for_unknown_vectors_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_VECTORS", "1024")
    with pytest.raises(TargetError) as caught:
        run_vectors.vectors()
    assert str(caught.value) == (
        "no such vectors are known\n  where: the environment: TANG_VECTORS=1024\n"
        "  mend:  set it to one of 128, 256, 512, neon, or unset it"
    )


@pytest.mark.parametrize(
    ("macro", "kind"),
    [("__AVX512F__", AVX512), ("__AVX__", AVX2), ("__SSE2__", SSE), ("__ARM_NEON", NEON), ("__nothing__", AVX2)],
)
def test_the_compiler_decides_where_nobody_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, macro: str, kind: Vectors
) -> None:
    tool = tmp_path / "cc"
    tool.write_text(f"#!/bin/sh\necho '#define {macro} 1'\n")
    tool.chmod(0o755)
    monkeypatch.delenv("TANG_VECTORS")
    monkeypatch.setattr(run_vectors, "compiler", lambda: Compiler((str(tool),), "1", ("-O3",)))
    assert run_vectors.vectors() == kind


def test_sources_are_printed_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Compiler:
        raise TargetError("no C compiler was found", where="here", mend="install one")

    monkeypatch.delenv("TANG_VECTORS")
    monkeypatch.setattr(run_vectors, "compiler", missing)
    assert run_vectors.vectors() == AVX2


def test_lanes_are_counted_in_elements() -> None:
    assert [AVX512.lanes(), AVX512.lanes(8), AVX2.lanes(), SSE.lanes(2)] == [16, 8, 8, 8]
