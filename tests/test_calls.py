"""Calls of compiled graphs: what callers may give, what is refused and how, and what reaches their memory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tang_egg import ops, run_toolchain
from tang_egg.affine import Dim, Index, affine, index
from tang_egg.codegen.dialects.c import prelude
from tang_egg.codegen.legalize import identifier
from tang_egg.errors import BindError, CodegenError, GraphError, InputError, TangError, TargetError
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Input, Position, Read, Scalar, Tensor, apply, const
from tang_egg.pipeline import optimize
from tang_egg.pipeline_compiled import Compiled
from tang_egg.run import CompiledProgram, compile_program, threads
from tests.compiled import one_kernel_each, product_graph

N = Dim("n")


@pytest.fixture(autouse=True)
def _quick_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_CFLAGS", "-O1")


def program(*inputs: Input, body: Scalar, axes: tuple[Index, ...], dtype: str = "f32", into: str = "") -> Any:
    graph = Graph("g", inputs, (Tensor("y", axes, body, dtype, into),))
    return compile_program(one_kernel_each(graph))


def plus_one(dtype: str = "f32", donated: bool = False, size: Any = 8, name: str = "x") -> CompiledProgram:
    x = Input(name, (affine(size),), dtype, donated=donated)
    i = Index("i", affine(size))
    body = apply("add", Read(x, (affine(i),)), const(1.0))
    return program(x, body=body, axes=(i,), dtype=dtype, into=name if donated else "")


@pytest.fixture(scope="module")
def product() -> Compiled:
    return optimize(product_graph(4, 4, 4), verified=False)


# -- donated memory


def test_a_donated_array_with_gaps_is_written_back() -> None:
    whole = np.arange(16, dtype=np.float32)
    part = whole[::2]
    assert plus_one(donated=True)({"x": part})["y"] is part
    np.testing.assert_array_equal(whole, [1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15])


def test_a_donated_array_with_gaps_is_written_back_when_the_kernel_does_not_run_in_place() -> None:
    i = index("i", 8)
    x = Input("x", (affine(8),), donated=True)
    flip = program(x, body=Read(x, (7 - affine(i),)), axes=(i,), into="x")
    whole = np.arange(16, dtype=np.float32)
    flip({"x": whole[::2]})
    np.testing.assert_array_equal(whole[::2], np.arange(14, -1, -2))
    np.testing.assert_array_equal(whole[1::2], np.arange(1, 16, 2))


def test_donated_floats_for_bf16_are_written_back() -> None:
    given = np.arange(8, dtype=np.float32)
    plus_one("bf16", donated=True)({"x": given})
    np.testing.assert_array_equal(given, np.arange(1, 9))


def test_what_cannot_be_written_is_not_taken_as_donated() -> None:
    compiled = plus_one(donated=True)
    fixed = np.zeros(8, np.float32)
    fixed.flags.writeable = False
    with pytest.raises(InputError, match="donated input 'x' is read-only"):
        compiled({"x": fixed})
    assert not fixed.any()
    kept = plus_one("f64", donated=True)
    with pytest.raises(InputError, match="no array that can be written"):
        kept({"x": [0.0] * 8})


def test_read_only_and_unfit_outputs_are_refused() -> None:
    compiled, x = plus_one(), np.zeros(8, np.float32)
    fixed = np.zeros(8, np.float32)
    fixed.flags.writeable = False
    for out, said in (
        ({"y": fixed}, "the array given for output 'y' is read-only"),
        ({"y": [0.0] * 8}, "what is given for output 'y' is no NumPy array"),
        ({"z": x}, "there is no output 'z'"),
        ([x], "out is a value of type list"),
        ({"y": np.zeros(8)}, "does not fit"),
    ):
        with pytest.raises(InputError, match=said):
            compiled({"x": x}, out=out)  # type: ignore[arg-type]
    assert not fixed.any()


def test_an_array_given_for_a_donated_output_gets_it_too() -> None:
    x, y = np.zeros(8, np.float32), np.zeros(8, np.float32)
    assert plus_one(donated=True)({"x": x}, out={"y": y})["y"] is y
    assert (x == 1).all() and (y == 1).all()


# -- tensors of torch


def test_bfloat16_tensors_are_taken_and_written() -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(8, dtype=torch.bfloat16)
    bits = plus_one("bf16")({"x": x})["y"]
    np.testing.assert_array_equal((bits.astype(np.uint32) << 16).view(np.float32), np.arange(1, 9))
    plus_one("bf16", donated=True)({"x": x})
    np.testing.assert_array_equal(x.float().numpy(), np.arange(1, 9))


def test_tensors_without_readable_memory_are_refused_with_what_to_do() -> None:
    torch = pytest.importorskip("torch")
    compiled = plus_one()
    for tensor, mend in (
        (torch.zeros(8, requires_grad=True), r"tensor\.detach\(\)"),
        (torch.zeros(8, device="meta"), "give a tensor that has values"),
        (torch.zeros(8).to_sparse(), r"tensor\.to_dense\(\)"),
        (torch.zeros(8, dtype=torch.bfloat16, requires_grad=True), r"tensor\.detach\(\)"),
    ):
        with pytest.raises(InputError, match=mend):
            compiled({"x": tensor})
    with pytest.raises(InputError, match="cannot be read as an array"):
        compiled({"x": [[1.0], [1.0, 2.0]]})


# -- names and sizes


def test_names_that_do_not_exist_are_refused_with_those_that_do(product: Compiled) -> None:
    a = np.zeros((4, 4), np.float32)
    with pytest.raises(InputError, match=r"there is no input 'b'\n.*\n.*the inputs are: A, B"):
        product(a, b=a)
    with pytest.raises(InputError, match=r"there is no input 'AA'\n.*\n.*did you mean 'A'"):
        product(A=a, B=a, AA=a)
    with pytest.raises(InputError, match="no arrays for inputs 'A', 'B'"):
        product()
    with pytest.raises(BindError, match="there is no dimension 'n'"):
        product(a, a, dims={"n": 4})


def test_schedules_are_records_or_text_by_kernel_name() -> None:
    graph = product_graph(4, 4, 4)
    forced = optimize(graph, schedule={"C": "point"}, verified=False)
    assert forced.schedule == {"C": "point"}
    wrong: list[tuple[Any, type[TangError], str]] = [
        ({"CC": "point"}, InputError, "there is no kernel 'CC'\n.*\n.*the kernels are: C"),
        ({"C": 3}, InputError, "the schedule of kernel 'C' is a value of type int"),
        ("point", InputError, "schedule is a value of type str"),
        ({"C": "pont"}, CodegenError, "cannot read 'pont'"),
    ]
    for schedule, kind, said in wrong:
        with pytest.raises(kind, match=said):
            optimize(graph, schedule=schedule, verified=False)


@pytest.mark.parametrize("value", [None, np.zeros(3), "g"])
def test_only_graphs_are_optimized(value: Any) -> None:
    with pytest.raises(GraphError, match="is no graph"):
        optimize(value)


@pytest.mark.parametrize(
    ("dims", "said"),
    [
        ({"n": "a"}, "dimension 'n' cannot be 'a': it is no integer"),
        ({"n": 4.5}, "dimension 'n' cannot be 4.5: it is no integer"),
        ({"n": True}, "dimension 'n' cannot be True: it is no integer"),
        ({"n": 2**62}, f"dimension 'n' cannot be {2**62}"),
        ({"n": 2**61}, "there is no memory for"),
        ({"n": -1}, "dimension 'n' cannot be -1"),
        ([4], "dims is a value of type list"),
    ],
)
def test_sizes_that_are_none_are_refused(dims: Any, said: str) -> None:
    i = Index("i", affine(N))
    ramp = program(body=apply("cast:real", Position(affine(i))), axes=(i,))
    with pytest.raises(BindError, match=said):
        ramp({}, dims)
    np.testing.assert_array_equal(ramp({}, {"n": np.int32(2)})["y"], [0, 1])


@pytest.mark.parametrize("shape", [2 * affine(N), affine(N) + 1, 3 * affine(N) + 2])
def test_dims_are_solved_for_in_shapes(shape: Any) -> None:
    x, i = Input("x", (shape,)), Index("i", affine(N))
    compiled = program(x, body=Read(x, (affine(i) + 1,)), axes=(i,))
    data = np.arange(shape.evaluate({"n": 5}), dtype=np.float32)
    np.testing.assert_array_equal(compiled({"x": data})["y"], data[1:6])


def test_a_size_that_no_dim_gives_is_refused() -> None:
    x, i = Input("x", (2 * affine(N),)), Index("i", affine(N))
    compiled = program(x, body=Read(x, (2 * affine(i),)), axes=(i,))
    with pytest.raises(BindError, match="dimension 'n' is not determined"):
        compiled({"x": np.zeros(5, np.float32)})
    with pytest.raises(InputError, match=r"extent 4 along axis 0, not 2\*n = 6"):
        compiled({"x": np.zeros(4, np.float32)}, {"n": 3})


# -- threads and the compiler


@pytest.mark.parametrize(("wish", "found"), [("1", 1), ("1,4", 1), (" 1 ", 1)])
def test_the_number_of_threads_is_what_was_wished(wish: str, found: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", wish)
    assert threads() == found


def test_the_number_of_threads_is_at_most_that_of_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    most = threads()
    monkeypatch.setenv("OMP_NUM_THREADS", "100000")
    assert threads() == most
    for wish in ("0", "-2", "many", "1.5"):
        monkeypatch.setenv("OMP_NUM_THREADS", wish)
        with pytest.raises(TargetError, match=f"OMP_NUM_THREADS={wish}"):
            threads()


LONG = """
import numpy as np
from tang_egg import examples
from tests.compiled import one_kernel_each, product_graph, random_inputs
from tang_egg.run import compile_program
graph = product_graph(96, 96, 96)
data = random_inputs(graph)
got = compile_program(one_kernel_each(graph))(data)["C"]
print(np.allclose(got, data["A"] @ data["B"], atol=1e-3))
"""


@pytest.mark.parametrize("wish", ["1", "100000"])
def test_kernels_run_whatever_number_of_threads_is_wished(wish: str, tmp_path: Path) -> None:
    where = Path(__file__).parent.parent
    more = {"OMP_NUM_THREADS": wish, "TANG_CFLAGS": "-O1 -DTE_WORK=0", "PYTHONPATH": str(where)}
    done = subprocess.run(
        [sys.executable, "-c", LONG], capture_output=True, text=True, check=False, cwd=where,
        env={**os.environ, **more, "TANG_CACHE": str(tmp_path)}, timeout=100,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr


def _script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 0", "reported success but wrote no library"),
        ('while [ $# -gt 0 ]; do [ "$1" = -o ] && echo no > "$2"; shift; done', "is no library of this machine"),
    ],
)
def test_a_compiler_that_makes_no_library(
    script: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TANG_CACHE", str(tmp_path))
    monkeypatch.setenv("TANG_CC", _script(tmp_path / "cc", script))
    with pytest.raises(TargetError, match=said):
        run_toolchain.build("int nothing;")


def test_wishes_for_a_compiler_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TANG_CC", "'gcc")
    with pytest.raises(TargetError, match="TANG_CC cannot be split into words"):
        run_toolchain.compiler()
    (tmp_path / "cc").write_text("neither a script nor a program")
    (tmp_path / "cc").chmod(0o755)
    monkeypatch.setenv("TANG_CC", str(tmp_path / "cc"))
    with pytest.raises(TargetError, match="no C compiler was found"):
        run_toolchain.compiler()


def test_a_failed_build_shows_errors_and_not_what_includes_what(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TANG_CACHE", str(tmp_path))
    for n in range(8):
        (tmp_path / f"h{n}.h").write_text(f'#include "{tmp_path}/h{n + 1}.h"\n' if n < 7 else "int x = y_unknown;\n")
    with pytest.raises(TargetError) as caught:
        run_toolchain.build(f'#include "{tmp_path}/h0.h"\n')
    assert "error:" in caught.value.where and "y_unknown" in caught.value.where
    assert "included from" not in caught.value.where


# -- names in C


MACROS = ["NULL", "errno", "INFINITY", "NAN", "stdin", "M_PI", "linux", "expf", "INT64_MAX", "_Bool", "HUGE_VALF"]


@pytest.mark.parametrize("name", MACROS)
def test_inputs_and_outputs_may_have_the_names_of_macros(name: str) -> None:
    np.testing.assert_array_equal(plus_one(name=name)({name: np.zeros(8, np.float32)})["y"], np.ones(8))


def test_no_macro_of_the_headers_is_a_name_in_a_kernel() -> None:
    tool = run_toolchain.compiler()
    done = subprocess.run(
        [*tool.command, *tool.flags, "-dM", "-E", "-x", "c", "-"], input=prelude(), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    found = re.findall(r"^#define (\w+)(?!\()\b", done.stdout, re.MULTILINE)
    assert len(found) > 300
    assert [m for m in found if identifier(m, set()) == m and not m.startswith("te_")] == []


# -- gathers and bits


def test_a_gather_from_an_empty_table_gives_zeros() -> None:
    table, which = Input("T", (affine(N), affine(4096))), Input("w", (affine(8),), "i64")
    i, d = index("i", 8), index("d", 4096)
    body = Read(table, (Read(which, (affine(i),)), affine(d)))
    got = program(table, which, body=body, axes=(i, d))({"T": np.zeros((0, 4096), np.float32), "w": np.zeros(8, int)})
    assert not got["y"].any()


def test_large_unsigned_indices_are_past_the_end() -> None:
    table, which = Input("T", (affine(4),)), Input("w", (affine(3),), "u64")
    i = index("i", 3)
    compiled = program(table, which, body=Read(table, (Read(which, (affine(i),)),)), axes=(i,))
    data = {"T": np.arange(4, dtype=np.float32), "w": np.array([1, 2**63, 2**64 - 1], np.uint64)}
    want = interpret(compiled.program.graph, data, checked=False)["y"]
    np.testing.assert_array_equal(compiled(data)["y"], want)
    np.testing.assert_array_equal(want, [1, 3, 3])


WIDTHS: dict[str, Callable[[], object]] = {
    "real to i8": lambda: ops.result_type("bits:i8", ("real",)),
    "i32 to i64": lambda: ops.result_type("bits:i64", ("i32",)),
    "i32 to f64": lambda: ops.result_type("bits:f64", ("i32",)),
}


@pytest.mark.parametrize("case", WIDTHS)
def test_bits_of_another_width_are_refused(case: str) -> None:
    with pytest.raises(GraphError, match="byte"):
        WIDTHS[case]()
    assert ops.result_type("bits:i32", ("real",)) == "i32"
