"""The OpenCL dialect and its runtime: golden kernels, and programs run by whatever device is here (PoCL in CI)."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tang_egg import library, run_opencl
from tang_egg import notation as te
from tang_egg.artefact import load
from tang_egg.assemble import graph
from tang_egg.codegen.candidates_device import device_schedules
from tang_egg.codegen.candidates_grid import grid_schedules
from tang_egg.codegen.device import WARP
from tang_egg.codegen.dialects.opencl import OPENCL, WORDS, source
from tang_egg.errors import BindError, CodegenError, InputError, TangError, TargetError
from tang_egg.ir import Graph
from tang_egg.pipeline import optimize, sources
from tang_egg.run_grid import GridProgram
from tang_egg.run_opencl import DEVICE, NEWER, OpenCLGrid, compile_opencl, first_errors, opencl_device, rank
from tests import grid_cases as cases
from tests.conftest import GOLDEN, Golden
from tests.grid_programs import PROGRAMS, built, checked, checked_row, device, ran, row_cases, shown

SIZES = (0, 1, 2, 31, 32, 33, 63, 64, 65, 127)


@pytest.mark.parametrize("name", PROGRAMS)
def test_printed_kernels(name: str, golden: Golden) -> None:
    for b in built(name, "opencl", WARP):
        golden(f"{name}/opencl/{b.plan.name}.cl", shown(b, OPENCL))


def test_every_golden_kernel_is_still_printed() -> None:
    kept = {f"{p.parts[-3]}/{p.stem}" for p in GOLDEN.glob("*/opencl/*")}
    wanted = {f"{name}/{b.plan.name}" for name in PROGRAMS for b in built(name, "opencl", WARP)}
    assert kept == wanted, "delete the files of kernels that are gone; pytest --bless writes the others"


def test_goldens_are_what_users_get() -> None:
    kernels = {b.plan.name: source(b.kernel) for b in built("layernorm_matmul", "opencl", WARP)}
    assert sources(PROGRAMS["layernorm_matmul"].graph(), "opencl") == kernels


SLOW = ("top_k",)
"""Programs that PoCL compiles for a minute."""


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.nightly) if n in SLOW else n for n in PROGRAMS])
def test_printed_kernels_mean_their_graph(name: str) -> None:
    """With the schedules of a GPU: lanes that exchange values through local memory among them."""
    assert checked(name, "opencl").runs == 2


@pytest.mark.parametrize(("name", "dtype"), row_cases())
def test_rows_of_the_table(name: str, dtype: str) -> None:
    assert checked_row(name, dtype, "opencl", units=False).runs == 2


# ---- sizes ----


def _sizes() -> Graph:
    n = te.dim("n")
    i, j, k = te.indices("i j k")
    a, b = te.input("A", (n, n)), te.input("B", (n, n), "bf16")
    return graph(
        "sizes",
        C=te.tensor(None, (i, j), te.sum(k, a[i, k] * b[k, j])),
        M=te.tensor(None, i, te.max(k, a[i, k])),
        S=te.tensor(None, (), te.sum([i, k], a[i, k])),
    )


@pytest.fixture(scope="module", params=["opencl", "opencl by warps"])
def at_any_size(request: pytest.FixtureRequest) -> Iterator[GridProgram]:
    device("opencl")
    runner = optimize(_sizes(), "opencl", verified=False).runner
    assert isinstance(runner, GridProgram)
    if request.param != "opencl":
        found = {k.name: [s for s in grid_schedules(k.outputs) if s.shape == "split"] for k in runner.program.kernels}
        assert any(found.values())
        runner = runner.again(runner.program, {name: s[0] for name, s in found.items() if s})
    yield runner


@pytest.mark.parametrize("n", SIZES)
def test_sizes_at_the_ends_of_blocks(at_any_size: GridProgram, n: int) -> None:
    rng = np.random.default_rng(n)
    a, b = (rng.standard_normal((n, n)).astype(np.float32) for _ in range(2))
    b = (b.view(np.uint32) >> 16 << 16).view(np.float32)
    got = at_any_size({"A": a, "B": b}, fill=0xFF)
    np.testing.assert_allclose(got["C"], a.astype(np.float64) @ b, atol=2e-6 * max(1, n), rtol=1e-5)
    np.testing.assert_array_equal(got["M"], a.max(1, initial=-np.inf))
    np.testing.assert_allclose(got["S"], a.sum(dtype=np.float64), atol=1e-5 * max(1, n), rtol=1e-5)


# ---- scalars and types ----


@pytest.mark.parametrize("op", ["exp", "log", "tanh", "erf", "sin", "sqrt", "recip", "floor"])
def test_functions(op: str) -> None:
    cases.check_function("opencl", op)


def test_extremes_keep_nan() -> None:
    cases.check_extremes("opencl")


@pytest.mark.parametrize("kind", ["i8", "u16", "i32", "u32", "i64", "u64"])
def test_integers_wrap(kind: str) -> None:
    operations = ("add", "mul", "max", "min", "idiv", "imod", "bitand", "bitor", "bitxor")
    cases.check_integers("opencl", kind, *operations)


@pytest.mark.parametrize("kind", ["f64", "f32", "f16", "bf16", "bool", "i8", "u8", "i16", "i32", "i64"])
def test_types_are_stored_and_converted(kind: str) -> None:
    if kind == "f64" and not device("opencl").doubles:
        pytest.skip("the device has no doubles")
    cases.check_conversions("opencl", kind, "f32", "bool", "f16", "bf16", *(("i32", "u8") if kind[0] in "iu" else ()))


def test_every_16_bit_float_comes_through() -> None:
    """Each f16 read and stored again, and floats between two of them rounded to the even one."""
    cases.check_halves("opencl")


def test_a_double_is_rounded_once() -> None:
    on = device("opencl")
    if not on.doubles:
        pytest.skip("the device has no doubles")
    x = np.array([1 + 2**-11 + 2**-40, 1 + 2**-11, 1 + 3 * 2**-11 - 2**-40, -(1 + 2**-11 + 2**-40), 1e300], np.float64)
    g = cases.elementwise(cases.conversion("f16"), "f64", to="f16", n=x.size)
    with np.errstate(over="ignore"):
        exact = x.astype(np.float16)
    np.testing.assert_array_equal(cases.compiled("opencl", g)({"a": x})["y"], exact)


# ---- arrays ----


def _affine() -> Graph:
    i, x, y = te.index("i"), te.input("X", (40,)), te.input("Y", (40,))
    return graph("affine", Z=te.tensor(None, i, 2.0 * x[i] + y[i]))


def test_arrays_of_the_device_are_read_in_place() -> None:
    grid = device("opencl")
    arrays: Any = pytest.importorskip("pyopencl.array")
    runner = ran(_affine(), "opencl")
    x, y = np.arange(40, dtype=np.float32), np.ones(40, np.float32)
    there = arrays.to_device(grid.queue, x)
    out = runner({"X": there, "Y": y})["Z"]
    assert isinstance(out, arrays.Array)
    np.testing.assert_array_equal(out.get(), 2 * x + 1)
    launch = runner.prepare({"X": there, "Y": y})
    launch()
    np.testing.assert_array_equal(launch.outputs["Z"].get(), 2 * x + 1)
    there.set(x + 1)
    launch()
    launch.finish()
    np.testing.assert_array_equal(launch.outputs["Z"].get(), 2 * (x + 1) + 1)


def test_bound_arrays_and_saved_programs(tmp_path: Any) -> None:
    device("opencl")
    compiled = optimize(_affine(), "opencl").bind(Y=np.full(40, 3.0, np.float32))
    x = np.arange(40, dtype=np.float32)
    np.testing.assert_array_equal(compiled(x), 2 * x + 3)
    compiled.save(tmp_path / "a.tang", arrays=True)
    again = load(tmp_path / "a.tang")
    assert again.target == "opencl"
    assert again.source == compiled.source
    np.testing.assert_array_equal(again(x), 2 * x + 3)


def test_a_donated_input_is_written() -> None:
    device("opencl")
    i = te.index("i")
    state, step = te.input("S", (33,), donated=True), te.input("D", (33,))
    g = graph("update", S2=te.tensor(None, i, state[i] + step[i], into=state))
    s, d = np.arange(33, dtype=np.float32), np.ones(33, np.float32)
    got = ran(g, "opencl")({"S": s, "D": d})["S2"]
    assert got is s
    np.testing.assert_array_equal(s, np.arange(33) + 1)


# ---- names and errors ----


def test_words_of_the_language_are_renamed() -> None:
    device("opencl")
    i = te.index("i", 5)
    words = ["kernel", "global", "local", "float4", "half", "uint", "constant", "isnan", "barrier", "te_room"]
    total: Any = 0.0
    for w in words:
        total = total + te.input(w, (5,))[i]
    g = graph("event_t", uchar=te.tensor(None, i, total))
    got = ran(g, "opencl")({w: np.full(5, n, np.float32) for n, w in enumerate(words)})["uchar"]
    np.testing.assert_array_equal(got, np.full(5, sum(range(len(words))), np.float32))
    assert {"kernel", "float4", "uint"} <= WORDS


def _told(error: TangError) -> tuple[str, str, str]:
    return error.what, error.where, error.mend


def test_a_wish_for_no_device_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    device("opencl")
    monkeypatch.setenv(DEVICE, "abacus")
    with pytest.raises(TargetError) as caught:
        optimize(_affine(), "opencl")
    what, where, mend = _told(caught.value)
    assert what == "no device of OpenCL is called 'abacus'"
    assert DEVICE in where and "devices: " in where and "or unset it" in mend


def test_pyopencl_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(f"No module named '{name}'")

    monkeypatch.setattr(run_opencl.importlib, "import_module", missing)
    with pytest.raises(TargetError) as caught:
        opencl_device("a wish that no other test has")
    assert _told(caught.value) == (
        "pyopencl, which runs OpenCL kernels, is not installed",
        "import pyopencl: No module named 'pyopencl'",
        "pip install 'tang_egg[opencl]'",
    )


def test_a_processor_that_its_compiler_does_not_know_comes_last() -> None:
    def found(kind: int, version: str, units: int) -> SimpleNamespace:
        return SimpleNamespace(type=kind, version=version, max_compute_units=units)

    unknown, known = found(2, "OpenCL 3.0 HSTR: pthread-x86_64-generic", 64), found(2, "OpenCL 3.0 HSTR: haswell", 2)
    gpu = found(4, "OpenCL 3.0 CUDA", 1)
    assert sorted([known, gpu, unknown], key=lambda d: rank(d, 4)) == [unknown, known, gpu]


def test_a_compiler_that_does_not_know_the_processor_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = device("opencl")
    b = built("matmul", "opencl", WARP)[0]

    def refused(*_: object) -> None:
        raise grid.cl.Error("error: unknown target CPU 'generic'")

    monkeypatch.setattr(grid.cl, "Program", refused)
    with pytest.raises(TargetError, match="unknown target CPU") as caught:
        grid.build([b], {b.plan.name: ""})
    assert _told(caught.value)[2] == NEWER


def test_a_source_that_does_not_compile_is_told() -> None:
    grid = device("opencl")
    b = built("matmul", "opencl", WARP)[0]
    with pytest.raises(TargetError) as caught:
        grid.build([b], {b.plan.name: "kernel void k(global float *x) { x[0] = nothing; }"})
    what, where, mend = _told(caught.value)
    assert what.startswith(f"kernel '{b.plan.name}' does not compile: ") and "error" in what
    assert where == grid.title and "report the source" in mend
    assert first_errors("a\nb.cl:3: error: bad\n c ERROR: d") == "b.cl:3: error: bad | c ERROR: d"


def test_a_device_without_doubles_refuses_them() -> None:
    grid = device("opencl")
    other = OpenCLGrid(grid.cl, grid.device)
    other.doubles = False
    x, i = te.input("X", (4,), "f64"), te.index("i")
    g = graph("doubled", Y=te.tensor(None, i, x[i] + x[i], "f64"))
    program = optimize(g, "c", verified=False).program
    with pytest.raises(TargetError, match="64-bit floats, which the device does not have"):
        compile_opencl(program, on=other)


def test_matrix_units_are_refused() -> None:
    device("opencl")
    a, b = te.input("A", (128, 128), "bf16"), te.input("B", (128, 128), "bf16")
    g = graph("product", C=library.linear(a, b))
    forced = next(s for s in device_schedules(g.outputs, True) if s.shape == "mma")
    with pytest.raises(CodegenError) as caught:
        optimize(g, "opencl", schedule={"C": forced})
    assert caught.value.what == "kernel 'C' cannot run on matrix units here"
    assert "take a plain one: " in caught.value.mend


def test_arrays_that_do_not_fit_are_told() -> None:
    grid = device("opencl")
    runner = ran(_affine(), "opencl")
    x = np.zeros(40, np.float32)
    with pytest.raises(InputError, match="input 'X' has elements of type float64"):
        runner({"X": x.astype(np.float64), "Y": x})
    with pytest.raises(InputError, match="no array for input 'Y'"):
        runner({"X": x})
    with pytest.raises(InputError, match="the array for output 'Z' lies on the host"):
        runner.prepare({"X": x, "Y": x}, out={"Z": x})
    arrays: Any = pytest.importorskip("pyopencl.array")
    with pytest.raises(InputError, match="has elements of type float64, not f32"):
        runner({"X": arrays.zeros(grid.queue, 40, np.float64), "Y": x})
    other = grid.cl.CommandQueue(grid.cl.Context([grid.device]))
    with pytest.raises(InputError) as caught:
        runner({"X": arrays.zeros(other, 40, np.float32), "Y": x})
    assert caught.value.where == "its context is another" and "to_device" in caught.value.mend


def test_sizes_that_do_not_fit_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = device("opencl")
    runner = ran(_affine(), "opencl")
    monkeypatch.setattr(grid, "largest", 100)
    x = np.zeros(40, np.float32)
    with pytest.raises(BindError, match="is larger than a buffer can be: 160 bytes of 100"):
        runner({"X": x, "Y": x})
