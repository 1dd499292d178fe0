"""`tang-saturate`: every option, every exit code, and the errors as a user sees them (tests/errors/)."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from egglog import bindings

from tang_egg import cli_output, cli_run, report_format
from tang_egg.cli import saturate_main
from tang_egg.cli_graph import load_graph
from tang_egg.cli_options import parser
from tang_egg.errors import CodegenError, SelectionError, VerificationError
from tang_egg.examples import EXAMPLES
from tang_egg.pipeline import extract, extract_for, optimize
from tang_egg.pipeline_space import typical_sizes
from tang_egg.progress import Event, listening, note
from tang_egg.report import build_report
from tang_egg.report_dot import render_dot
from tang_egg.report_egraph import egraph_data, render_egraph

ERRORS = Path(__file__).parent / "errors"

SMALL = """graph("small")
n = dim(lo=1)
X = input(f32[n, 40])
m[i] = max[j](X[i, j])
S[i] = sum[j](exp(X[i, j] - m[i]))
output(S)
"""

PROGRAM = """import tang_egg as te

print("the program speaks")
x = te.input("X", (24, 40))
made = te.graph("made", P=te.softmax(x))
number = 3


def later():
    return made


def broken():
    return 1 // 0
"""


@pytest.fixture(autouse=True)
def _a_terminal_of_100_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports wrap at the width of the terminal, which test runners set as they like."""
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with small graphs, in which the command runs."""
    (tmp_path / "small.tang").write_text(SMALL)
    (tmp_path / "wrong.tang").write_text(SMALL.replace("exp(X[i, j]", "exp(Y[i, j]"))
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "crash.py").write_text("x = 1\nraise ValueError('no data')\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The standard output of a run that ends well."""
    code = saturate_main(arguments)
    out, err = capsys.readouterr()
    assert code == 0, err
    return out


def test_text_has_every_section_in_order(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "small.tang")
    heads = re.findall(r"^(.+?) ─+$", out, re.MULTILINE)
    assert heads == [
        "The graph", "Discovered rewrites", "From the naive graph to the pick", "Candidates", "The kernels",
        "Time and error",
    ]  # fmt: skip
    assert "S[i] = sum[j](exp(X[i, j] - m[i]))" in out
    assert "cascade.pass" in out
    assert "at=-m[i], carry=exp(new - old) * itself" in out
    assert "when at moves from old to new" in out
    assert "measured: " in out and "n=128 (typical sizes; --bind chooses others)" in " ".join(out.split())
    assert re.search(r"verified: 6 runs .*: S \d", out)


def test_the_pass_of_attention_is_told_in_the_users_names() -> None:
    report = build_report(extract(EXAMPLES["attention"]()))
    (kernel,) = report.kernels
    assert [s.law for s in kernel.derivation] == ["fold.hoist", "cascade.pass", "cascade.pass"]
    assert re.fullmatch(r"sum\[j\]\(weights\[(b, )?h, i, j\] \* V\[[b0], h, j, c\]\)", kernel.derivation[1].before)
    (one,) = kernel.passes
    assert [p.fold for p in one.parts] == ["max", "sum", "sum"]
    assert [p.carry for p in one.parts] == ["", "exp(new - old) * c1", "exp(new - old) * c2"]
    assert kernel.outputs[0].mathematics == "recip(pass1.c1) * pass1.c2"


@pytest.mark.parametrize("name", ["attention_padded", "layernorm_matmul", "gram", "argmax", "embedding_sum", "square"])
def test_no_canonical_name_reaches_the_reader(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, name, "--no-run", "--all")
    assert not re.search(r'@\d|"%|\bi(?!32|64)\d+\b|\bt\d+\b|statistic\(|state\(', out)


def test_every_law_that_united_something_has_a_row() -> None:
    extraction = extract(EXAMPLES["rmsnorm_matmul"]())
    report = build_report(extraction)
    asserted = {e[0] for r in extraction.distinct for e in r.saturation.snapshot.edges}
    assert asserted == {r.law for r in report.rewrites}
    assert all(r.algebra and r.holds and r.rounding and r.edges > 0 for r in report.rewrites)


def test_seeds_are_rewrites_and_steps(capsys: pytest.CaptureFixture[str]) -> None:
    report = build_report(extract(EXAMPLES["gated_recurrence"]()))
    prefix = next(r for r in report.rewrites if r.law == "scan.prefix")
    assert prefix.matches == 1
    assert prefix.equations[0].before.startswith("affine[s](")
    assert prefix.equations[0].after.startswith("affine.scan[i](")
    assert report.kernels[0].derivation[0].law == "scan.prefix"


def test_refusals_say_why() -> None:
    report = build_report(extract(EXAMPLES["variance"]()))
    assert any("not centred" in r.reason for r in report.refusals)


KEYS = {
    "": "format name graph inputs outputs tensors windows rewrites candidates refusals kernels seconds target source "
    "verified measured predicted",
    "windows": "number tensors copies nodes classes seconds complete stopped",
    "rewrites": "law algebra holds rounding matches edges equations",
    "candidates": "window writes reads seconds flops bytes mathematics chosen number",
    "kernels": "name window outputs shared passes laws derivation predicted indices schedule source tuned",
}


def test_json_has_all_of_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data: dict[str, Any] = json.loads(run(capsys, "small.tang", "--json"))
    for field, keys in KEYS.items():
        for item in data[field] if field else [data]:
            assert set(item) == set(keys.split()), field
    assert data["format"] == 1
    assert data["measured"]["median"] > 0.0
    assert data["measured"]["dims"] == {"n": 128}
    assert data["verified"]["errors"]["S"] < 2e-4
    assert data["kernels"][0]["source"] in data["source"]
    assert any(c["chosen"] for c in data["candidates"])


def test_markdown_names_the_laws_of_attention(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "attention", "--markdown", "--no-run")
    assert out.startswith("# attention\n")
    derivation = out.partition("### Derivation of O")[2].partition("\n## ")[0]
    assert "**cascade.pass** (finite, rescales)" in derivation
    assert re.search(r"→ pass\[j\]\(exp\(scores\[(b, )?h, i, j\] \+ at\) \* V\[[b0], h, j, c\]", derivation)
    assert out.count("```") % 2 == 0


def test_dot_has_classes_as_clusters_and_a_limit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "small.tang", "--dot")
    assert out.startswith("digraph egraph {")
    assert out.count("{") == out.count("}")
    assert "subgraph cluster_1_" in out
    assert "Casc" in out and "palegreen" in out
    ends = set(re.findall(r"-> (\w+)", out))
    assert ends and ends <= set(re.findall(r"^    (\w+) \[label", out, re.MULTILINE))
    nodes = re.compile(r"^    \w+ \[label", re.MULTILINE)
    cut = render_dot(extract(load_graph("small.tang")), limit=5)
    assert len(nodes.findall(cut)) == 5 < len(nodes.findall(run(capsys, "small.tang", "--dot", "--all")))
    assert "5 of " in cut


def test_without_a_run_no_compiler_is_needed(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANG_CC", "no-such-compiler")
    assert "nothing was compiled or run" in run(capsys, "small.tang", "--no-run")
    assert json.loads(run(capsys, "small.tang", "--no-run", "--json"))["measured"] is None
    assert saturate_main(["small.tang"]) == 3
    assert "no C compiler was found" in capsys.readouterr().err


def test_dims_are_bound(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "small.tang", "--no-run", "--bind", "n=12")
    assert "X = input(f32[12, 40])" in out
    out = run(capsys, "attention_symbolic", "--no-run", "--bind", "seq=3", "--bind", "keys=5")
    assert "K = input(f32[4, 5, 64])" in out


def test_typical_sizes_fit_the_facts_of_dims() -> None:
    graph = load_graph("attention_symbolic")
    assert typical_sizes(graph) == {"keys": 128, "seq": 128}


def test_a_python_file_is_run_and_its_words_stay_out_of_the_report(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("program.py:made", "program.py:later"):
        assert saturate_main([name, "--no-run", "--json"]) == 0
        out, err = capsys.readouterr()
        assert json.loads(out)["name"] == "made"
        assert err == "the program speaks\n"


def test_output_goes_to_a_file_all_at_once(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    target = folder / "report.md"
    target.write_text("old")
    assert run(capsys, "small.tang", "--no-run", "--markdown", "--output", str(target)) == ""
    assert target.read_text().startswith("# small")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    target.write_text("old")
    monkeypatch.setattr("tang_egg.cli_output.os.replace", fail)
    assert saturate_main(["small.tang", "--no-run", "--output", str(target)]) == 2
    assert "No space left" in capsys.readouterr().err
    assert target.read_text() == "old"
    assert not list(folder.glob(".report*"))


def test_all_and_source_show_more(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = run(capsys, "attention", "--no-run")
    assert "more (--all shows them)" in short
    assert "more (--all shows them)" not in run(capsys, "attention", "--no-run", "--all")
    plain, whole = run(capsys, "small.tang"), run(capsys, "small.tang", "--source")
    assert "void k0_S(" in plain and "void tang_run(" not in plain
    assert "void tang_run(" in whole and "#include" in whole


@pytest.mark.parametrize("width", [40, 80, 200])
def test_text_fits_the_width(width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = run(capsys, "attention", "--no-run").partition("Discovered rewrites")[2]
    assert max(len(line) for line in out.splitlines()) <= width
    assert "\x1b" not in out


def test_a_time_limit_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "transformer_block", "--no-run", "--limit-seconds", "0.05")
    assert "stopped by the time limit of 0.05 s" in out


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    for option, said in (("--version", "tang-saturate "), ("--help", "the file is executed, as your own program")):
        with pytest.raises(SystemExit) as ended:
            saturate_main([option])
        assert ended.value.code == 0
        assert said in capsys.readouterr().out


def raising(error: Exception) -> Any:
    def optimize(*_: object, **__: object) -> None:
        raise error

    return optimize


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (VerificationError("output 'P' is wrong", where="kernel 'P'", mend="report this"), 1),
        (SelectionError("no term", where="class 3", mend="report this"), 4),
        (CodegenError("no loop", where="kernel 'P'", mend="report this"), 4),
    ],
)
def test_failures_of_the_compiler_have_their_own_codes(
    error: Exception, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli_run, "optimize", raising(error))
    assert saturate_main(["softmax"]) == code
    out, err = capsys.readouterr()
    assert out == "" and err == f"tang-saturate: {error}\n"


CASES: dict[str, tuple[int, tuple[str, ...]]] = {
    "graph_unknown": (2, ("atention",)),
    "graph_unlike_any": (2, ("zzz",)),
    "graph_missing": (2, ()),
    "file_missing": (2, ("missing.tang",)),
    "text_mistake": (2, ("wrong.tang",)),
    "python_without_name": (2, ("program.py",)),
    "python_name_unknown": (2, ("program.py:mad",)),
    "python_not_a_graph": (2, ("program.py:number",)),
    "python_raises": (2, ("program.py:broken",)),
    "python_crashes": (2, ("crash.py:graph",)),
    "bind_unreadable": (2, ("small.tang", "--bind", "n")),
    "bind_unknown": (2, ("small.tang", "--bind", "m=3")),
    "bind_no_number": (2, ("small.tang", "--bind", "n=²")),
    "bind_two_signs": (2, ("small.tang", "--bind", "n=--5")),
    "bind_out_of_range": (2, ("small.tang", "--bind", "n=0")),
    "bind_twice": (2, ("small.tang", "--bind", "n=1", "--bind", "n=2")),
    "option_unknown": (2, ("softmax", "--limit-second", "3")),
    "options_exclude": (2, ("softmax", "--json", "--dot")),
    "limit_unreadable": (2, ("softmax", "--limit-seconds", "soon")),
    "limit_zero": (2, ("softmax", "--limit-seconds", "0")),
    "target_unknown": (2, ("softmax", "--target", "cud")),
    "html_takes_the_graph": (2, ("--html", "softmax")),
    "html_and_output": (2, ("softmax", "--html", "a.html", "--output", "b.html")),
    "html_unwritable": (2, ("small.tang", "--no-run", "--html", "no-such-folder/page.html")),
    "egraph_with_markdown": (2, ("softmax", "--egraph", "--markdown")),
    "egraph_unwritable": (2, ("small.tang", "--egraph", "no-such-folder/graph")),
    "why_with_html": (2, ("softmax", "--why", "P", "--html")),
    "why_with_egraph": (2, ("softmax", "--why", "P", "--egraph")),
    "why_unknown": (2, ("small.tang", "--no-run", "--why", "mm")),
    "why_input": (2, ("small.tang", "--no-run", "--why", "X")),
    "why_not_unknown": (2, ("small.tang", "--no-run", "--why-not", "fold.hosit")),
    "why_not_number": (2, ("small.tang", "--no-run", "--why-not", "99")),
    "why_not_pair": (2, ("small.tang", "--no-run", "--why-not", "m+")),
    "progress_and_quiet": (2, ("softmax", "--progress", "--quiet")),
    "output_unwritable": (2, ("small.tang", "--no-run", "--output", "no-such-folder/report")),
}


@pytest.mark.parametrize("name", CASES)
def test_an_error_reads_as_blessed(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    code, arguments = CASES[name]
    assert saturate_main(arguments) == code
    out, err = capsys.readouterr()
    assert out == ""
    said = err.removeprefix("the program speaks\n")
    text = f"$ {' '.join(('tang-saturate', *arguments))}\n{said}exit code {code}\n"
    path = ERRORS / f"{name}.txt"
    if request.config.getoption("--bless"):
        path.write_text(text, encoding="utf-8")
        return
    assert path.exists(), f"there is no {path.name}; look at the text, then run pytest --bless\n{text}"
    assert text == path.read_text(encoding="utf-8"), f"{path.name} differs; if that is meant, run pytest --bless"


def test_a_size_of_thousands_of_digits_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert saturate_main(["small.tang", "--bind", f"n={'9' * 5000}"]) == 2
    assert capsys.readouterr().err.endswith("  where: --bind\n  mend:  write NAME=SIZE, for example --bind seq=512\n")


def test_a_pipe_is_written_and_not_replaced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(folder / "pipe")
    reader = subprocess.Popen(["cat", "pipe"], cwd=folder, stdout=subprocess.PIPE, text=True)
    run(capsys, "small.tang", "--no-run", "--output", "pipe")
    assert "The graph" in reader.communicate(timeout=60)[0]
    assert (folder / "pipe").is_fifo()


def test_a_link_is_written_through(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "link").symlink_to("target")
    run(capsys, "small.tang", "--no-run", "--output", "link")
    assert (folder / "link").is_symlink() and "The graph" in (folder / "target").read_text()


def test_every_blessed_error_has_a_case() -> None:
    assert {p.stem for p in ERRORS.glob("*.txt")} == set(CASES)


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "tang_egg", "saturate", *arguments],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parent.parent, timeout=120,
        env={**os.environ, **environment},
    )  # fmt: skip


def test_standard_output_of_the_process_is_the_report_alone() -> None:
    done = command("softmax", "--json", "--no-run")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["name"] == "softmax"
    assert done.stderr == ""


def test_what_libraries_print_stays_out_of_the_report(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def noisy(*arguments: Any, **named: Any) -> Any:
        os.write(1, b"a banner\n")
        print("a remark")
        return extract_for(*arguments, **named)

    monkeypatch.setattr(cli_run, "extract_for", noisy)
    assert saturate_main(["softmax", "--json", "--no-run"]) == 0
    assert json.loads(capfd.readouterr().out)["name"] == "softmax"


def test_a_narrow_encoding_is_no_error() -> None:
    done = command("softmax", "--no-run", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "cascade.pass" in done.stdout


def test_a_reader_that_stops_early_is_no_error() -> None:
    line = f"{sys.executable} -m tang_egg saturate attention --no-run | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, check=False, cwd=Path(__file__).parent.parent, timeout=120
    )
    assert done.stdout.split()[-1] == "0"
    assert "Traceback" not in done.stderr


def test_why_is_answered_with_what_was_measured(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "small.tang", "--why", "m", "--why-not", "cascade.pass")
    assert re.findall(r"^(why.*?) ─+$", out, re.MULTILINE) == ["why m", "why not cascade.pass"]
    assert "m is not written to memory: kernel S computes it on the way" in out
    assert "measured alone: S " in out and "measured: " in out
    assert "The graph" not in out


def test_answers_are_data_as_well(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    why, why_not = json.loads(run(capsys, "small.tang", "--no-run", "--why", "S", "--why-not", "m", "--json"))
    assert (why["question"], why["kind"], why["kernels"]) == ("why", "output", ["S"])
    assert why["steps"][0]["law"] == "cascade.pass"
    assert why_not["measured"] is None and why_not["kernel_seconds"] == {}
    assert all(a["difference"] == pytest.approx(a["seconds"] - why["predicted"]) for a in why["alternatives"])


def test_a_page_is_written_and_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "small.tang", "--html") == "wrote small.html\n"
    text = (folder / "small.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>") and text.endswith("</html>\n")
    assert "per call, median of" in text and "with it" in text
    assert "tang-saturate small.tang --target c" in text
    for arguments, name in (
        (("--html", "page.html"), "page.html"),
        (("--html", "--output", "other.html"), "other.html"),
    ):
        assert run(capsys, "small.tang", "--no-run", *arguments) == f"wrote {name}\n"
        assert (folder / name).exists()
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize(
    ("graph", "name"),
    [("block", "block.html"), ("../../etc/x", "etc_x.html"), ("<script>", "script.html"), ("!!", "graph.html")],
)
def test_a_page_is_named_after_its_graph_and_stays_in_the_folder(graph: str, name: str) -> None:
    assert cli_output.file_name(graph, ".html") == name


def test_the_egraph_is_readable_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "small.tang", "--egraph")
    assert "sum[j](exp(X[i, j] - m[i]))  (output, tensor S)" in out
    assert re.search(r"^   \*  +[\d.]+ [mµn]?s  Casc .*pass\[j\]", out, re.MULTILINE)
    assert re.search(r"^    =  +[\d.]+ [mµn]?s  Red sum .*sum\[j\]", out, re.MULTILINE)
    assert re.search(r"^    cascade.pass  class \d+: sum\[j\].* → pass\[j\]", out, re.MULTILINE)
    assert run(capsys, "small.tang", "--egraph", "graph.txt") == ""
    assert (folder / "graph.txt").read_text(encoding="utf-8") == out


def test_the_egraph_of_a_large_graph_has_a_limit(capsys: pytest.CaptureFixture[str]) -> None:
    found = extract(EXAMPLES["rmsnorm_matmul"]())
    total = found.windows[0][2].saturation.nodes
    nodes = re.compile(r"^   [* ][= ] +(?:never|[\d.]+ )", re.MULTILINE)
    assert len(nodes.findall(render_egraph(found, limit=20))) == 20
    assert len(nodes.findall(render_egraph(found, limit=None))) == total


def check_serialized(data: dict[str, Any]) -> None:
    """The form of egraph-serialize: what its reader asks for, with its types."""
    nodes, classes = data["nodes"], data["class_data"]
    for key, node in nodes.items():
        assert set(node) == {"op", "children", "eclass", "cost", "subsumed"}, key
        assert isinstance(node["op"], str) and isinstance(node["eclass"], str) and node["subsumed"] is False
        assert isinstance(node["cost"], float) and 0.0 <= node["cost"] < float("inf")
        assert all(c in nodes for c in node["children"])
        assert node["eclass"] in classes
    assert data["root_eclasses"] and set(data["root_eclasses"]) <= {n["eclass"] for n in nodes.values()}
    assert set(classes) == {n["eclass"] for n in nodes.values()}
    assert all(isinstance(v, str) for c in classes.values() for v in c.values())


@pytest.mark.parametrize("name", ["attention", "rmsnorm_matmul", "gated_recurrence", "argmax"])
def test_the_egraph_has_the_form_that_other_viewers_load(name: str) -> None:
    found = extract(EXAMPLES[name]())
    data = egraph_data(found)
    check_serialized(data)
    own = [k for k, n in data["nodes"].items() if data["class_data"][n["eclass"]]["type"] == "Sc"]
    assert len(own) == sum(r.saturation.nodes for r in found.distinct)
    assert len(data["laws"]) == sum(len(r.saturation.snapshot.edges) for r in found.distinct)


def test_the_root_class_holds_what_was_written_and_what_was_picked(capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(run(capsys, "attention", "--egraph", "--json"))
    (root,) = data["root_eclasses"]
    assert data["class_data"][root]["tensor"] == "O"
    assert {n["op"] for n in data["nodes"].values() if n["eclass"] == root} == {"Ap2", "Casc", "Red"}


def test_egglogs_own_serialisation_passes_the_same_check() -> None:
    engine = bindings.EGraph()
    engine.run_program(*engine.parse_program("(datatype M (N i64) (A M M)) (let $x (A (N 1) (N 2)))"))
    data = json.loads(engine.serialize([]).to_json())
    data["root_eclasses"] = [next(iter(data["class_data"]))]
    check_serialized(data)


def test_progress_is_told_in_lines_where_it_is_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert saturate_main(["small.tang", "--progress", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["name"] == "small"
    lines = [re.fullmatch(r" *[\d.]+ s  (.+)", line) for line in err.splitlines()]
    said = [m[1] for m in lines if m]
    assert len(said) == len(lines)
    for stage in (
        "saturate windows 0/1",
        "saturate windows 1/1",
        "lower kernels 1/1",
        "verify runs 6/6",
        "measure 1/1",
    ):
        assert stage in said, stage


@pytest.mark.parametrize("quiet", [True, False])
def test_a_terminal_sees_progress_unless_it_is_to_be_quiet(
    quiet: bool, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert saturate_main(["small.tang", "--no-run", *(["--quiet"] if quiet else [])]) == 0
    assert ("saturate windows" in capsys.readouterr().err) is not quiet


def test_a_listener_hears_only_what_happens_while_it_listens() -> None:
    heard: list[Event] = []
    note("before")
    with listening(heard.append):
        note("inside", 1, 2)
    note("after")
    assert heard == [Event("inside", 1, 2)]


@pytest.mark.parametrize("stage", ["saturate windows 0", "compile C 0"])
def test_an_interrupt_ends_with_its_code_and_leaves_nothing(stage: str, tmp_path: Path) -> None:
    rooms = {name: tmp_path / name for name in ("TMPDIR", "TANG_CACHE", "work")}
    for room in rooms.values():
        room.mkdir()
    environment = {**os.environ, "TMPDIR": str(rooms["TMPDIR"]), "TANG_CACHE": str(rooms["TANG_CACHE"])}
    child = subprocess.Popen(
        [sys.executable, "-m", "tang_egg", "saturate", "attention", "--html", "--progress"],
        cwd=rooms["work"], env={**environment, "PYTHONPATH": str(Path(__file__).parent.parent)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell ignores it for what runs behind it
    )  # fmt: skip
    assert child.stderr is not None
    for line in child.stderr:
        if stage in line:
            break
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=120)
    assert child.returncode == 130, err
    assert out == "" and err.splitlines()[-1] == "tang-saturate: interrupted" and "Traceback" not in err
    assert not list(rooms["TMPDIR"].iterdir()) and not list(rooms["work"].iterdir())
    left = [p.name for p in rooms["TANG_CACHE"].rglob("*") if p.name != "kernels"]
    assert not any(name.startswith((".", "tmp")) for name in left), left


def test_temporary_files_are_gone_and_the_environment_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/tmp")
    before = tempfile.tempdir
    with cli_output.own_temporary():
        inside = Path(tempfile.mkdtemp())
        assert inside.parent == Path(os.environ["TMPDIR"]) != Path("/tmp")
    assert not inside.exists()
    assert (os.environ["TMPDIR"], tempfile.tempdir) == ("/tmp", before)


def test_no_room_for_temporary_files_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tang_egg.cli_output.tempfile.TemporaryDirectory", full)
    assert saturate_main(["softmax", "--no-run"]) == 2
    assert "no temporary folder can be made: No space left on device" in capsys.readouterr().err


def test_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        saturate_main(["--help"])
    said = capsys.readouterr().out
    documented = (Path(__file__).parent.parent / "docs" / "reading.md").read_text(encoding="utf-8")
    for action in parser()._actions:
        for option in action.option_strings:
            if option.startswith("--") and option not in ("--help", "--version"):
                assert option in said and f"`{option}" in documented, option


def test_a_compiled_graph_reports_itself(folder: Path) -> None:
    compiled = optimize(load_graph("small.tang"))
    text = compiled.report()
    assert "cascade.pass" in text
    assert "measured" not in text
    assert "verified: 6 runs" in text


@pytest.mark.parametrize(
    ("value", "text"), [(2.0, "2 s"), (0.0123456, "12.3 ms"), (4.5e-6, "4.5 µs"), (3e-9, "3 ns"), (0.0, "0 ns")]
)
def test_times_have_fitting_units(value: float, text: str) -> None:
    assert report_format.seconds(value) == text


def test_counts_have_their_plural() -> None:
    assert [report_format.count(n, "pass") for n in (1, 2)] == ["1 pass", "2 passes"]
    assert report_format.count(0, "kernel") == "0 kernels"
