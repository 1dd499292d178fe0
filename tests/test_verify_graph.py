"""`te.verify` and tang-verify: what a report says, how sizes and values are chosen, and what the command gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg.cli_verify import main
from tang_egg.codegen.dialects.wgsl import _read_at
from tang_egg.errors import BindError, CodegenError, GraphError, InputError, TargetError
from tang_egg.examples import EXAMPLES
from tang_egg.monoid import SUM
from tang_egg.pipeline import extract, sources
from tang_egg.schedule import parse_schedule
from tang_egg.verify_boundary import VALUES, case_inputs, sizes_of, tiles_of
from tang_egg.verify_finding import bias, pattern, wrong_elements
from tang_egg.verify_graph import retyped, verify_graph
from tang_egg.verify_sanitize import wrapped_reports
from tang_egg.verify_shim import threaded
from tang_egg.verify_step import steps_of
from tests.mutate import Seeded

N, I, J = te.dim("n", lo=0, hi=600), te.index("i"), te.index("j")  # noqa: E741
X = te.input("X", (N, 70))
THREAD = "#else\n    return 0;\n#endif"
"""The end of te_thread in the prelude, which verify_shim replaces."""


def two_steps() -> te.Graph:
    """A running sum, then the maximum of its rows: two kernels, for the second folds what the first scans."""
    running = te.tensor("S", (I, J), te.scan(SUM, J, X[I, J]))
    return te.graph("two_steps", S=running, M=te.tensor("M", I, te.max(J, running[I, J])))


@pytest.fixture(autouse=True)
def plain_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_CFLAGS", "-O1")


def test_a_wrong_kernel_is_named_and_not_its_follower(tmp_path: Path) -> None:
    graph = two_steps()
    seeded = Seeded(r"S\[70\*i0 \+ i1\] = acc;", "S[70*i0 + i1] = i1 % 3 == 2 ? -acc : acc;")
    schedules = {"S": "point parallel=i0", "M": "point parallel=i0"}
    report = te.verify(graph, "c", schedule=schedules, edit=seeded)
    assert seeded.applied and not report.ok
    assert {f.kernel for f in report.findings} == {"S"}, str(report)
    first = report.findings[0]
    assert first.pattern == "one position in 3 from 2 to 68 of 70 along axis 1, whole columns"
    assert first.first is not None and first.first[1] == 2
    assert dict(first.smallest or {}) == {"n": 1}
    assert first.schedule == schedules["S"]
    data = json.loads(report.json())
    assert data["ok"] is False and data["findings"][0]["buffer"] == "S"
    report.write(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text()) == data
    assert [p.name for p in tmp_path.iterdir()] == ["report.json"]


def test_a_module_that_is_a_function_too() -> None:
    from tang_egg import verify
    from tang_egg.verify import sample_inputs

    assert te.verify is verify and callable(verify) and callable(sample_inputs)


def test_sizes_are_chosen_around_tiles() -> None:
    schedule = parse_schedule("stream parallel=i0 tile=i1:32 fold=i1:stream:64:16")
    assert tiles_of([schedule]) == [16, 32, 64]
    chosen = [b["n"] for b in sizes_of(two_steps(), [schedule], most=20)]
    assert {0, 1, 13, 15, 16, 17, 31, 32, 33, 63, 64, 65} <= set(chosen)
    packed = parse_schedule("tile tile=i0:4 block=i0:48")
    assert {"n": 521} in sizes_of(two_steps(), [packed])
    assert sizes_of(two_steps(), [], wanted={"n": (5, 9)}) == [{"n": 5}, {"n": 9}]


def test_sizes_and_types_that_do_not_fit_are_told() -> None:
    with pytest.raises(InputError) as error:
        sizes_of(two_steps(), [], wanted={"m": (5,)})
    assert "there is no dimension 'm'" in error.value.what and "n" in error.value.mend
    with pytest.raises(BindError):
        sizes_of(two_steps(), [], wanted={"n": (601,)})
    with pytest.raises(InputError) as kind:
        retyped(two_steps(), "i8")
    assert "inputs of 'i8'" in kind.value.what and kind.value.mend == "give some of: f32, f16, bf16"


@pytest.mark.parametrize("values", VALUES)
def test_values_have_what_they_promise(values: str) -> None:
    x = case_inputs(te.graph("g", te.tensor("y", (I, J), X[I, J])), {"n": 33}, values)["X"]
    assert {
        "normal": lambda: abs(x).max() < 10,
        "edge": lambda: bool(((x == 0) & np.signbit(x)).any()) and abs(x).max() > 10,
        "ties": lambda: len(np.unique(x)) <= 4 and (x[16] == 0).all(),
        "negative": lambda: bool((x < 0).all()),
        "small": lambda: bool((np.abs(x[x != 0]) < 1e-39).any()),
        "ieee": lambda: bool(np.isnan(x).any() and np.isinf(x).any()),
    }[values]()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (np.arange(10) >= 7, "the last 3 of 10 along axis 0"),
        (np.arange(10) < 2, "the first 2 of 10 along axis 0"),
        (np.arange(10) == 9, "position 9 of 10 (the last) along axis 0"),
        (np.arange(12) % 4 == 1, "one position in 4 from 1 to 9 of 12 along axis 0"),
        (np.ones((2, 3), bool), "every one"),
        (np.arange(4)[:, None] + np.zeros((1, 3)) == 2, "position 2 of 4 along axis 0, whole rows"),
        (np.eye(3, dtype=bool), "scattered over all axes"),
    ],
)
def test_patterns_in_words(wrong: np.ndarray, said: str) -> None:  # type: ignore[type-arg]
    assert pattern(wrong) == said


def test_wrong_elements_count_infinities_and_nan() -> None:
    exact = np.array([1.0, np.inf, np.nan, 2.0, -np.inf])
    got = np.array([1.0, np.inf, np.nan, 2.1, np.inf])
    assert wrong_elements(got, exact, "f32").tolist() == [False, False, False, True, True]
    assert wrong_elements(np.array([1, 2]), np.array([1, 3]), "i32").tolist() == [False, True]


def test_bias_tells_rounding_from_cutting_off() -> None:
    exact = np.random.default_rng(0).standard_normal(4000)
    bits = exact.astype(np.float32).view(np.uint32)
    cut = (bits & 0xFFFF0000).view(np.float32)
    rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32)
    assert bias(cut, exact, "bf16") < -0.4 and abs(bias(rounded, exact, "bf16")) < 0.05
    assert abs(bias(exact.astype(np.float16), exact, "f16")) < 0.05 and bias(cut, exact, "f32") == 0.0


def test_types_of_storage_are_verified_in_turn() -> None:
    graph = te.graph("g", Y=te.tensor("Y", (I, J), X[I, J] * 0.7))
    report = verify_graph(graph, dtypes=("f32", "bf16"), sizes={"n": 9})
    assert report.ok, str(report)
    assert [p.dtype for p in report.parts] == ["f32", "bf16"]
    assert retyped(graph, "bf16").outputs[0].dtype == "bf16"


def test_sanitizers_run_on_c(tmp_path: Path) -> None:
    graph = te.graph("g", Y=te.tensor("Y", (I, J), X[I, J] + 1.0))
    report = verify_graph(graph, sizes={"n": 9}, sanitize=True)
    assert report.ok, str(report)
    done = len(report.sanitizers) + len(report.missing)
    assert done == 2, str(report)  # both ran, or what is missing is named


def test_what_wrappers_write_becomes_findings() -> None:
    text = "========= Invalid write of size 4 at global memory address 0x1000\n at k0_O+0x1 in k0_O\n"
    said, found, missing = wrapped_reports("compute-sanitizer", "cuda", text, 0)
    assert [s.reports for s in said] == [1] and not missing
    assert found[0].kernel == "O" and "Invalid write of size 4" in found[0].said
    assert wrapped_reports("compute-sanitizer", "cuda", "all is well\n", 0)[1] == []
    assert "ended with status 9" in wrapped_reports("compute-sanitizer", "cuda", "no device\n", 9)[2][0]


@pytest.mark.parametrize(
    ("text", "what", "where"),
    [
        ("int main(void) { return 0; }", "te_thread is not in the form that is known", "threaded"),
        (f"{THREAD}\n#pragma omp parallel for\nwhile (1) {{\n}}", "a parallel loop is not in the form", "while (1)"),
        (f"{THREAD}\n#pragma omp parallel for\nfor (int64_t i = 0; i < n; i++) {{\n", "not closed", "a printed kernel"),
    ],
)
def test_a_source_in_another_form_is_not_put_on_threads(text: str, what: str, where: str) -> None:
    with pytest.raises(CodegenError) as error:
        threaded(text)
    assert what in error.value.what and where in str(error.value.where) and error.value.mend


def test_kernels_of_a_target_without_steps_are_refused() -> None:
    with pytest.raises(TargetError) as error:
        steps_of(extract(two_steps()).program, {}, "cuda")
    assert "kernels of 'cuda' are not run one at a time" in str(error.value)
    assert "step by step go: c, opencl" in str(error.value)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "g.tang", tmp_path / "report.json"
    graph = te.graph("g", Y=te.tensor("Y", (I, J), X[I, J] * 0.5))
    file.write_text(te.print_graph(graph))
    assert main([str(file), "--sizes", "n=1,17", "--json", "--output", str(out)]) == 0
    report = json.loads(out.read_text())
    assert report["ok"] and report["parts"][0]["target"] == "c" and report["parts"][0]["cases"] == 10
    assert main([str(file), "--sizes", "n=3", "--schedule", "Y=point parallel=i0"]) == 0
    assert "nothing is wrong" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["softmax", "--target", "abacus"], 2, "there is no target 'abacus'"),
        (["softmax", "--sizes", "n"], 2, "cannot read 'n'"),
        (["softmax", "--sizes", "n=x"], 2, "write DIM=SIZE,SIZE"),
        (["softmax", "--sizes", "q=3"], 2, "there is no dimension 'q'"),
        (["softmax", "--schedule", "point"], 2, "write KERNEL=SCHEDULE"),
        (["softmax", "--schedule", "Y=dance"], 4, "cannot read 'dance' in a schedule"),
        (["softmax", "--dtypes", "f8"], 2, "inputs of 'f8'"),
        (["no_such_graph"], 2, "there is no graph 'no_such_graph'"),
        (["softmax", "--wrong"], 2, "unrecognized arguments"),
    ],
)
def test_what_the_command_refuses(
    arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if "Y=dance" in arguments:
        arguments = [a.replace("Y=", f"{EXAMPLES['softmax']().outputs[0].name}=") for a in arguments]
    assert main(arguments) == code
    text = capsys.readouterr().err
    assert said in text and "where:" in text and "mend:" in text


@pytest.mark.parametrize("target", ["opencl", "wgsl", "glsl", "metal", "cuda"])
def test_a_point_is_divided_by_whole_products(target: str) -> None:
    """Found by fuzzing: `point / 5*n` is not `point / (5*n)`."""
    k = te.index("k")
    x = te.input("x", (2, 5, N))
    text = sources(te.graph("g", Y=te.tensor("Y", (I, J, k), x[I, J, k] * 2.0)), target)["Y"]
    assert "(point / (5*n))" in text or "te_whole_div(point, 5*n)" in text
    assert "(point / 5*n)" not in text


def test_no_index_below_zero_is_printed_in_wgsl() -> None:
    """Found by fuzzing: a read that never happens, at a constant below 0, does not compile."""
    assert [_read_at(t) for t in ("-1", "(-2)", "i0 - 1", "3")] == ["0", "0", "i0 - 1", "3"]


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"values": "foo"}, "no values 'foo'"),
        ({"seed": -1}, "a seed of -1"),
        ({"seed": 1.5}, "a seed of 1.5"),
    ],
)
def test_what_cannot_be_asked_is_refused(asked: dict[str, Any], text: str) -> None:
    with pytest.raises(GraphError, match=text) as error:
        verify_graph(EXAMPLES["softmax"](), **asked)
    assert error.value.where == "verify" and error.value.mend
    with pytest.raises(GraphError, match="is no graph"):
        verify_graph("softmax")  # type: ignore[arg-type]
