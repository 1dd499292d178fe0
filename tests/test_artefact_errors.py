"""Artefacts that must not be loaded: damaged, foreign, too new, for other machines; each with what its error says."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg import artefact_file, run_toolchain
from tang_egg.artefact_file import read_zip, write_zip
from tang_egg.artefact_model import GRAPH, KERNELS, LIBRARY, MANIFEST, PROGRAM
from tang_egg.content import text_hash
from tang_egg.errors import ArtefactError, GraphError, TangError, TargetError, TextError
from tang_egg.ir import Graph
from tang_egg.pipeline_compiled import Compiled


def small() -> Graph:
    i, j = te.indices("i j")
    x = te.input("X", (3, 5))
    return te.graph("small", Y=te.tensor(None, i, te.sum(j, te.exp(x[i, j]))))


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    return te.optimize(small(), verified=False)


@pytest.fixture(scope="module")
def saved(compiled: Compiled, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("artefact") / "small"
    compiled.save(path)
    return path


Edit = Callable[[dict[str, Any], dict[str, bytes]], None]


def edited(saved: Path, to: Path, edit: Edit) -> Path:
    """A copy of an artefact with its manifest and members changed, the hashes made right again."""
    archive = zipfile.ZipFile(saved)
    members = {n: archive.read(n) for n in archive.namelist() if n != MANIFEST}
    manifest = json.loads(archive.read(MANIFEST))
    before = dict(members)
    edit(manifest, members)
    for name, content in members.items():
        if content != before[name]:
            manifest["members"][name] = hashlib.sha256(content).hexdigest()
    write_zip(to, {**members, MANIFEST: json.dumps(manifest).encode()})
    return to


def set_(name: str, value: object) -> Edit:
    def edit(manifest: dict[str, Any], members: dict[str, bytes]) -> None:
        manifest[name] = value

    return edit


def replace(member: str, old: str, new: str) -> Edit:
    def edit(manifest: dict[str, Any], members: dict[str, bytes]) -> None:
        assert old in members[member].decode()
        members[member] = members[member].decode().replace(old, new).encode()
        if member == GRAPH:
            manifest["graph"] = text_hash(members[member].decode())

    return edit


def parts(error: TangError) -> tuple[str, str, str]:
    assert error.where
    assert error.mend
    return error.what, error.where, error.mend


@pytest.mark.parametrize(
    ("edit", "kind", "what"),
    [
        (set_("format", 2), ArtefactError, "the artefact has format 2; this version reads formats up to 1"),
        (set_("format", "x"), ArtefactError, "the artefact is damaged: its format is 'x'"),
        (set_("kind", "wheel"), ArtefactError, "this is no artefact of tang_egg: its manifest is of another kind"),
        (set_("target", "abacus"), TargetError,
         "the artefact is for the target 'abacus', which this version does not know"),
        (set_("target", 3), ArtefactError, "3 stands where str is expected"),
        (set_("members", {}), ArtefactError, "the artefact is damaged: its manifest names no member 'derivation.json'"),
        (set_("graph", "0"), ArtefactError,
         "the artefact is damaged: its graph is not the one that its manifest names"),
        (replace(GRAPH, "exp(X[i, j])", "exp(X[i, j]) + X[i, j + 1]"), GraphError, None),
        (replace(GRAPH, "sum[j]", "sum[["), TextError, None),
        (replace(PROGRAM, "exp(X[i0, i1])", "exp(X[i0, i1]) + X[i0, i1 + 1]"), GraphError, None),
        (replace(PROGRAM, "f32[3, 5]", "f32[3, 6]"), ArtefactError,
         "the artefact is damaged: its program computes other outputs or reads other inputs than its graph"),
        (replace(KERNELS, '"writes": 1', '"writes": 2'), ArtefactError,
         "the artefact is damaged: kernel 'Y' writes 2 tensors of 1 that are left"),
        (replace(KERNELS, '"outputs": [\n  0\n ]', '"outputs": [7]'), ArtefactError,
         "the artefact is damaged: its kernels do not fit its program"),
        (replace(KERNELS, '"schedule": "', '"schedule": "warped '), ArtefactError, None),
        (replace("report.json", '"tensors": ', '"tensors": "a'), ArtefactError, None),
        (replace("derivation.json", "{", "{{"), ArtefactError, None),
    ],
)  # fmt: skip
def test_what_is_not_as_it_was_written_is_refused(
    saved: Path, tmp_path: Path, edit: Edit, kind: type[TangError], what: str | None
) -> None:
    path = edited(saved, tmp_path / "edited", edit)
    with pytest.raises(kind) as caught:
        te.load(path, run=False)
    said, where, _ = parts(caught.value)
    assert what is None or said == what
    assert what is not None or str(path) in where or caught.type is GraphError
    with pytest.raises(kind):
        te.load(path)


def test_a_file_of_another_version_is_loaded_where_its_format_is_known(saved: Path, tmp_path: Path) -> None:
    path = edited(saved, tmp_path / "other", set_("tang_egg", "9.9"))
    x = np.ones((3, 5), np.float32)
    np.testing.assert_allclose(te.load(path)(x), np.exp(x).sum(1), rtol=1e-6)
    assert te.load(path, run=False).manifest.tang_egg == "9.9"


def test_fields_of_later_versions_are_left_alone(saved: Path, tmp_path: Path) -> None:
    path = edited(saved, tmp_path / "other", set_("colour", {"of": "the sky"}))
    assert te.load(path, run=False).target == "c"


def test_a_library_of_another_source_is_built_anew(saved: Path, tmp_path: Path) -> None:
    path = edited(saved, tmp_path / "other", replace("source.c", "int64_t", "int64_t "))
    x = np.zeros((3, 5), np.float32)
    assert te.load(path)(x).tolist() == [5.0] * 3
    with pytest.raises(TargetError) as caught:
        te.load(path, rebuild="never")
    assert parts(caught.value)[0] == (
        "the library of the artefact cannot be used: its source is not what this version prints; "
        f"it was written by tang_egg {te.__version__}"
    )


def test_a_library_of_another_machine_or_compiler_is_built_anew(saved: Path, tmp_path: Path) -> None:
    def elsewhere(manifest: dict[str, Any], members: dict[str, bytes]) -> None:
        manifest["library"]["machine"] = "linux riscv64 64 bit 0"
        members[LIBRARY] = b"this must never be loaded"

    path = edited(saved, tmp_path / "machine", elsewhere)
    x = np.zeros((3, 5), np.float32)
    assert te.load(path)(x).tolist() == [5.0] * 3
    with pytest.raises(TargetError) as caught:
        te.load(path, rebuild="never")
    said, where, mend = parts(caught.value)
    assert "it was built for another machine, linux riscv64 64 bit 0; this is" in said
    assert where == str(path)
    assert mend == "load it with rebuild='auto' on a machine with a C compiler, or save it again on this machine"

    def compiler(manifest: dict[str, Any], members: dict[str, bytes]) -> None:
        manifest["library"]["version"] = "tcc 0.1"

    path = edited(saved, tmp_path / "compiler", compiler)
    assert te.load(path)(x).tolist() == [5.0] * 3
    assert te.load(path, rebuild="never")(x).tolist() == [5.0] * 3  # it runs here, whatever built it


def test_a_library_that_is_none_is_built_anew(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(manifest: dict[str, Any], members: dict[str, bytes]) -> None:
        members[LIBRARY] = members[LIBRARY][:100]

    path = edited(saved, tmp_path / "broken", broken)
    monkeypatch.setenv("TANG_CACHE", str(tmp_path))
    assert te.load(path)(np.zeros((3, 5), np.float32)).tolist() == [5.0] * 3
    with pytest.raises(TargetError, match="the library cannot be loaded here"):
        te.load(path, rebuild="never")


def test_without_a_compiler_the_library_of_the_file_serves(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANG_CC", "no-such-compiler")
    x = np.zeros((3, 5), np.float32)
    assert te.load(saved)(x).tolist() == [5.0] * 3
    with pytest.raises(TargetError, match="no C compiler was found"):
        te.load(saved, rebuild="always")
    path = edited(saved, tmp_path / "other", replace("source.c", "int64_t", "int64_t "))
    with pytest.raises(TargetError) as caught:
        te.load(path)
    assert parts(caught.value)[0].startswith("the artefact has to be built anew, and there is no C compiler here: its")


def test_a_hash_that_does_not_fit_is_refused(saved: Path, tmp_path: Path) -> None:
    archive = zipfile.ZipFile(saved)
    members = {n: archive.read(n) for n in archive.namelist()}
    members["source.c"] += b"\n"
    write_zip(tmp_path / "a", members)
    with pytest.raises(ArtefactError) as caught:
        te.load(tmp_path / "a")
    assert str(caught.value) == (
        "the artefact is damaged: its member 'source.c' is not what was written\n"
        f"  where: {tmp_path / 'a'}\n"
        "  mend:  fetch it again, or save it again"
    )
    members["source.c"] = archive.read("source.c")
    members["extra"] = b""
    write_zip(tmp_path / "b", members)
    with pytest.raises(ArtefactError, match="its manifest does not name its member 'extra'"):
        te.load(tmp_path / "b")


def test_files_that_are_no_artefacts(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match="there is no such file"):
        te.load(tmp_path / "none")
    with pytest.raises(ArtefactError, match="this is no regular file"):
        te.load(tmp_path)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ArtefactError, match="it is no complete zip file"):
        te.load(tmp_path / "text")
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(ArtefactError, match="it is no complete zip file"):
        te.load(tmp_path / "empty")
    write_zip(tmp_path / "zip", {"a": b"1"})
    with pytest.raises(ArtefactError, match="it has no manifest"):
        te.load(tmp_path / "zip")
    write_zip(tmp_path / "list", {MANIFEST: b"[1]"})
    with pytest.raises(ArtefactError, match="its manifest is of another kind"):
        te.load(tmp_path / "list")
    write_zip(tmp_path / "json", {MANIFEST: b"[" * 100_000})
    with pytest.raises(ArtefactError, match="this is no JSON"):
        te.load(tmp_path / "json")


def test_sizes_are_checked_before_anything_is_read(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, bytes(50_000_000))
    with pytest.raises(ArtefactError, match="its members claim more bytes than its"):
        te.load(bomb)
    small_one = tmp_path / "deflated"
    with zipfile.ZipFile(small_one, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, os.urandom(100))
    with pytest.raises(ArtefactError, match="is compressed or encrypted"):
        te.load(small_one)
    with zipfile.ZipFile(tmp_path / "twice", "w") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("a", b"1")
        archive.writestr("a", b"2")
    with pytest.raises(ArtefactError, match="it has two members 'a'"):
        te.load(tmp_path / "twice")


def test_a_member_beyond_the_file_or_without_header_is_refused(tmp_path: Path) -> None:
    write_zip(tmp_path / "a", {"a": b"12345678" * 8})
    content = bytearray((tmp_path / "a").read_bytes())
    content[0] ^= 1
    (tmp_path / "head").write_bytes(content)
    with pytest.raises(ArtefactError, match="its member 'a' has no header"):
        read_zip(tmp_path / "head")
    content[0] ^= 1
    struct.pack_into("<H", content, 28, 60_000)
    (tmp_path / "far").write_bytes(content)
    with pytest.raises(ArtefactError, match="its member 'a' ends beyond the file"):
        read_zip(tmp_path / "far")


def test_cut_and_changed_files_end_in_errors(saved: Path, tmp_path: Path) -> None:
    content = saved.read_bytes()
    path, rng = tmp_path / "fuzzed", np.random.default_rng(5)
    whole = te.load(saved, run=False)
    for n in range(200):
        fuzzed = bytearray(content)
        if n % 4 == 0:
            fuzzed = fuzzed[: int(rng.integers(0, len(content)))]
        else:
            for place in rng.integers(0, len(content), int(rng.integers(1, 4))):
                fuzzed[place] ^= int(rng.integers(1, 256))
        path.write_bytes(fuzzed)
        try:
            found = te.load(path, run=False)
        except TangError as error:
            assert error.where
            assert error.mend
        else:  # nothing that matters was hit: a date, say
            assert found.program == whole.program
            assert found.manifest == whole.manifest


def test_a_crafted_text_in_the_manifest_is_no_type(saved: Path, tmp_path: Path) -> None:
    def wild(manifest: dict[str, Any], members: dict[str, bytes]) -> None:
        manifest["options"] = {"values": ["__import__('os')"], "products": "exact"}

    path = edited(saved, tmp_path / "wild", wild)
    with pytest.raises(ArtefactError) as caught:
        te.load(path)
    assert parts(caught.value)[1].endswith(".options.values")


def test_rebuild_is_one_of_three_words(saved: Path) -> None:
    with pytest.raises(ArtefactError) as caught:
        te.load(saved, rebuild="perhaps")
    assert str(caught.value) == (
        f"no rebuild 'perhaps'\n  where: load('{saved}')\n  mend:  use one of: auto, never, always"
    )


def test_a_folder_that_cannot_be_written_keeps_what_was_there(
    compiled: Compiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ArtefactError) as caught:
        compiled.save(tmp_path / "no" / "such")
    assert parts(caught.value)[2] == "give a file in a folder that you may write to and that has room"
    path = tmp_path / "kept"
    path.write_text("before")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(artefact_file.os, "fsync", full)
    with pytest.raises(ArtefactError, match="No space left on device"):
        compiled.save(path)
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["kept"]


def test_a_library_in_the_cache_that_was_changed_is_written_anew(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANG_CACHE", str(tmp_path))
    content = zipfile.ZipFile(saved).read(LIBRARY)
    (tmp_path / "kernels").mkdir()
    run_toolchain.adopt(content)
    (entry,) = (p for p in (tmp_path / "kernels").iterdir() if p.suffix == ".so")
    entry.unlink()
    entry.write_bytes(b"rubbish")
    with pytest.warns(UserWarning, match="is damaged and was dropped"):
        back = te.load(saved, rebuild="never")
    assert back(np.zeros((3, 5), np.float32)).tolist() == [5.0] * 3
    assert entry.read_bytes() == content


def test_a_pipe_is_not_replaced_and_a_link_stays_a_link(compiled: Compiled, tmp_path: Path) -> None:
    pipe, link, target = tmp_path / "pipe", tmp_path / "link", tmp_path / "target"
    os.mkfifo(pipe)
    with pytest.raises(ArtefactError) as caught:
        compiled.save(pipe)
    assert str(caught.value) == (
        f"cannot write '{pipe}': it is no regular file\n  where: {pipe}\n  mend:  give the path of a file"
    )
    assert pipe.is_fifo()
    target.write_text("before")
    link.symlink_to(target)
    compiled.save(link)
    assert link.is_symlink() and te.load(target, run=False).graph == compiled.graph


@pytest.mark.parametrize("path", [3, None, b"bytes", "a\0b"])
def test_what_is_no_path_is_refused(compiled: Compiled, path: Any) -> None:
    for call in (te.load, compiled.save):
        with pytest.raises(ArtefactError) as caught:
            call(path)
        said = f"{path!r} is no path of a file\n  where: a path\n  mend:  give a str or a pathlib.Path"
        assert str(caught.value) == said


def test_a_file_that_is_replaced_while_it_is_read_is_read_whole(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = tmp_path / "one", tmp_path / "other"
    path.write_bytes(saved.read_bytes())
    write_zip(other, {"zzz": b"another file"})
    listed = zipfile.ZipFile.infolist

    def replaced(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
        os.replace(other, path)
        return listed(archive)

    monkeypatch.setattr(zipfile.ZipFile, "infolist", replaced)
    archive = read_zip(path)
    assert json.loads(archive.read(MANIFEST))["kind"] == "tang_egg artefact"
