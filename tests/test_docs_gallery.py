"""The gallery in docs/gallery/ is what the program writes, and its counts of passes mean what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tang_egg import gallery
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.errors import TangError
from tang_egg.expression import exp
from tang_egg.gallery import GRAPHS, INDEX, Page, Passes, passes_of, reads_of
from tang_egg.ir import tensors_of
from tang_egg.pipeline import extract
from tests.tree import ROOT

FOLDER = ROOT / "docs" / "gallery"
STALE = f"docs/gallery is not what the program writes: run {gallery.COMMAND} and look at the difference"


@pytest.fixture(scope="module")
def pages() -> dict[str, Page]:
    return {name: gallery.page(name, make) for name, make in GRAPHS.items()}


@pytest.mark.slow
def test_the_gallery_is_up_to_date(pages: dict[str, Page]) -> None:
    wanted = {INDEX: gallery.index(list(pages.values())), **{f"{p.name}.md": p.text for p in pages.values()}}
    assert {path.name for path in FOLDER.glob("*.md")} == set(wanted), STALE
    stale = [name for name, text in wanted.items() if (FOLDER / name).read_text(encoding="utf-8") != text]
    assert not stale, f"{STALE}: {', '.join(stale)}"


def test_every_graph_has_its_own_name_and_a_dozen_are_beyond_the_examples() -> None:
    assert len(GRAPHS) == len(gallery.EXAMPLES) + len(gallery.FURTHER)
    assert len(gallery.FURTHER) >= 12
    assert all(make().name == name for name, make in gallery.FURTHER.items())


def test_passes_as_written_and_derived() -> None:
    """A maximum and a sum that needs it read X twice; one pass reads it once, and the maximum is not written."""
    i, j = te.indices("i j")
    x = te.input("X", (1024, 512))
    m = te.tensor("m", i, te.max(j, x[i, j]))
    s = te.tensor("s", i, te.sum(j, exp(x[i, j] - m[i])))
    found = passes_of(extract(graph("g", s)))
    assert found == Passes((("X", 2, 1), ("m", 1, None)))
    assert found.of(["X", "m"]) == (3, 1)


def test_a_pass_is_an_outermost_fold_and_reads_outside_of_folds_are_one() -> None:
    i, j, k = te.indices("i j k")
    x, y = te.input("X", (8, 8)), te.input("Y", (8, 8))
    nested = te.sum(j, x[i, j] * te.sum(k, x[j, k]))
    t = te.tensor("t", i, nested + te.max(j, x[i, j]) + y[i, 0] + y[i, 1])
    assert reads_of([tensors_of([t.node])]) == {"X": 2, "Y": 1}  # type: ignore[list-item]


def test_a_mask_counts_as_read() -> None:
    i, j = te.indices("i j")
    x, live = te.input("X", (8, 8)), te.input("live", (8, 8), "bool")
    t = te.tensor("t", i, te.sum(j, x[i, j], where=live[i, j]))
    assert reads_of([tensors_of([t.node])]) == {"X": 1, "live": 1}  # type: ignore[list-item]


def test_pages_are_written_whole_and_only_own_pages_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gallery, "GRAPHS", {"matmul": GRAPHS["matmul"]})
    (tmp_path / "mine.md").write_text("my own page")
    (tmp_path / "gone.md").write_text(f"<!-- written by `{gallery.COMMAND}`: do not edit -->")
    assert gallery.main([str(tmp_path)]) == 0
    assert {p.name for p in tmp_path.iterdir()} == {INDEX, "matmul.md", "mine.md"}
    text = (tmp_path / "matmul.md").read_text(encoding="utf-8")
    assert "C[i, j] = sum[k](A[i, k] * B[k, j])" in text and "| A | 1 | 1 |" in text


def test_a_folder_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gallery, "GRAPHS", {})
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(TangError) as error:
        gallery.write(blocked)
    assert str(error.value) == (
        f"the gallery cannot be written: File exists\n  where: {blocked}\n  mend:  give a folder that can be written"
    )
    assert gallery.main([str(blocked)]) == 2 and "cannot be written" in capsys.readouterr().err
    assert gallery.main([]) == 2 and "usage" in capsys.readouterr().err
