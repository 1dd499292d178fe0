"""The Metal dialect: golden kernels, and printed sources run on this processor by the shim of metal_stdlib."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tang_egg import notation as te
from tang_egg import run_metal, run_metal_mac
from tang_egg.assemble import graph
from tang_egg.codegen.candidates_grid import grid_schedules
from tang_egg.codegen.dialects import metal
from tang_egg.codegen.dialects.metal import METAL
from tang_egg.errors import CodegenError, TangError, TargetError
from tang_egg.ir import Graph
from tang_egg.pipeline import optimize, sources
from tang_egg.run_grid import GridProgram
from tang_egg.run_metal import COMPILER, WAY, HostGrid
from tests import grid_cases as cases
from tests.conftest import GOLDEN, Golden
from tests.grid_programs import PROGRAMS, built, checked, checked_row, device, ran, row_cases, shown

SIZES = (0, 1, 2, 31, 32, 33, 63, 64, 65, 127)


@pytest.fixture(autouse=True)
def shim(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shim, on a Mac too."""
    monkeypatch.setenv(WAY, "shim")


@pytest.mark.parametrize("name", PROGRAMS)
def test_printed_kernels(name: str, golden: Golden) -> None:
    for b in built(name, "metal"):
        golden(f"{name}/metal/{b.plan.name}.metal", shown(b, METAL))


def test_every_golden_kernel_is_still_printed() -> None:
    kept = {f"{p.parts[-3]}/{p.stem}" for p in GOLDEN.glob("*/metal/*")}
    wanted = {f"{name}/{b.plan.name}" for name in PROGRAMS for b in built(name, "metal")}
    assert kept == wanted, "delete the files of kernels that are gone; pytest --bless writes the others"


def test_goldens_are_what_users_get() -> None:
    kernels = {b.plan.name: metal.source(b.kernel) for b in built("layernorm_matmul", "metal")}
    assert sources(PROGRAMS["layernorm_matmul"].graph(), "metal") == kernels


@pytest.mark.parametrize("name", PROGRAMS)
def test_printed_kernels_mean_their_graph(name: str) -> None:
    """With the schedules of a GPU: lanes that exchange values among them."""
    assert checked(name, "metal").runs == 2


@pytest.mark.parametrize(("name", "dtype"), row_cases())
def test_rows_of_the_table(name: str, dtype: str) -> None:
    assert checked_row(name, dtype, "metal", units=True).runs == 2


# ---- sizes ----


def _sizes() -> Graph:
    n = te.dim("n")
    i, j, k = te.indices("i j k")
    a, b = te.input("A", (n, n)), te.input("B", (n, n), "f16")
    return graph(
        "sizes",
        C=te.tensor(None, (i, j), te.sum(k, a[i, k] * b[k, j])),
        M=te.tensor(None, i, te.max(k, a[i, k])),
        S=te.tensor(None, (), te.sum([i, k], a[i, k])),
    )


@pytest.fixture(scope="module", params=["threads", "warps"])
def at_any_size(request: pytest.FixtureRequest) -> Iterator[GridProgram]:
    device("metal")
    runner = optimize(_sizes(), "metal", verified=False).runner
    assert isinstance(runner, GridProgram)
    if request.param == "warps":
        found = {k.name: [s for s in grid_schedules(k.outputs) if s.shape == "split"] for k in runner.program.kernels}
        assert any(found.values())
        runner = runner.again(runner.program, {name: s[0] for name, s in found.items() if s})
    yield runner


@pytest.mark.parametrize("n", SIZES)
def test_sizes_at_the_ends_of_blocks(at_any_size: GridProgram, n: int) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.standard_normal((n, n)).astype(np.float32), rng.standard_normal((n, n)).astype(np.float16)
    got = at_any_size({"A": a, "B": b}, fill=0xFF)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(got["C"], exact, atol=2e-6 * max(1, n), rtol=1e-5)
    np.testing.assert_array_equal(got["M"], a.max(1, initial=-np.inf))
    np.testing.assert_allclose(got["S"], a.sum(dtype=np.float64), atol=1e-5 * max(1, n), rtol=1e-5)


# ---- scalars and types ----


@pytest.mark.parametrize("op", ["exp", "log", "tanh", "erf", "sin", "sqrt", "recip", "floor"])
def test_functions(op: str) -> None:
    cases.check_function("metal", op)


def test_extremes_keep_nan() -> None:
    cases.check_extremes("metal")


@pytest.mark.parametrize("kind", ["i8", "u16", "i32", "i64"])
def test_integers_wrap(kind: str) -> None:
    operations = ("add", "mul", "max", "min", "idiv", "imod", "bitand", "bitor", "bitxor")
    cases.check_integers("metal", kind, *operations)


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16", "bool", "i8", "u8", "i32", "i64"])
def test_types_are_stored_and_converted(kind: str) -> None:
    cases.check_conversions("metal", kind, "f32", "bool", "f16", "bf16", *(("i32", "u8") if kind[0] in "iu" else ()))


def test_every_16_bit_float_comes_through() -> None:
    cases.check_halves("metal")


def test_words_of_the_language_are_renamed() -> None:
    device("metal")
    i = te.index("i", 5)
    words = ["kernel", "device", "thread", "float4", "half", "metal", "constant", "access", "shim", "te_dims"]
    total: Any = 0.0
    for w in words:
        total = total + te.input(w, (5,))[i]
    g = graph("fragment", uchar=te.tensor(None, i, total))
    got = ran(g, "metal")({w: np.full(5, n, np.float32) for n, w in enumerate(words)})["uchar"]
    np.testing.assert_array_equal(got, np.full(5, sum(range(len(words))), np.float32))


# ---- the shim itself ----

_KERNEL = """
#include <metal_stdlib>
using namespace metal;
kernel void probe(device int *out [[buffer(0)]], uint id [[thread_index_in_threadgroup]]) {{
    {body}
}}
extern "C" int run(int *out, uint groups, uint threads) {{
    auto body = [](void *data, uint local, uint group) {{ probe((int *)data + 64 * group, local); }};
    return shim::launch(groups, threads, true, body, out);
}}
"""


def _shimmed(folder: Path, body: str, groups: int = 2, threads: int = 64) -> tuple[int, list[int]]:
    """What a launch said, and what 64 threads of two groups stored."""
    grid = device("metal")
    assert isinstance(grid, HostGrid)
    (folder / "metal_stdlib").write_text(metal.shim())
    (folder / "probe.cpp").write_text(_KERNEL.format(body=body))
    library = folder / "probe.so"
    command = [*grid.command, *run_metal.FLAGS, "-I", str(folder), str(folder / "probe.cpp"), "-o", str(library)]
    subprocess.run(command, check=True, timeout=120)
    out = (ctypes.c_int * (64 * groups))()
    return int(ctypes.CDLL(str(library)).run(out, groups, threads)), list(out)


def test_threads_of_a_group_wait_for_each_other(tmp_path: Path) -> None:
    """Each thread reads what the one after it wrote before the barrier."""
    body = "out[id] = 10 + id; threadgroup_barrier(mem_flags::mem_device); int x = out[(id + 1) % 64]; "
    body += "threadgroup_barrier(mem_flags::mem_device); out[id] = x;"
    assert _shimmed(tmp_path, body) == (0, [10 + (n + 1) % 64 for n in range(64)] * 2)


def test_lanes_exchange_within_their_32(tmp_path: Path) -> None:
    body = "int x = simd_shuffle_xor((int)id, (ushort)16); out[id] = 100 * x + simd_shuffle_xor((int)id, (ushort)1);"
    assert _shimmed(tmp_path, body) == (0, [100 * (n ^ 16) + (n ^ 1) for n in range(64)] * 2)


def test_threads_that_part_before_a_barrier_are_told(tmp_path: Path) -> None:
    parted = "if (id < 7) threadgroup_barrier(mem_flags::mem_device); out[id] = 1;"
    assert _shimmed(tmp_path, parted)[0] == 1


def test_lanes_that_part_before_an_exchange_are_told(tmp_path: Path) -> None:
    parted = "out[id] = id == 3 ? 0 : simd_shuffle_xor((int)id, (ushort)1);"
    assert _shimmed(tmp_path, parted)[0] == 1


def test_a_failed_launch_is_an_error() -> None:
    grid = device("metal")
    for code, said in ((1, "part before a barrier"), (2, "no memory for the threads"), (9, "a kernel failed")):
        with pytest.raises(TargetError, match=said):
            grid.launch(lambda *_, code=code: code, 1, 32, ())


# ---- errors ----


def _affine(dtype: str = "f32") -> Graph:
    i, x = te.index("i"), te.input("X", (40,), dtype)
    return graph("affine", Z=te.tensor(None, i, 2.0 * x[i], dtype))


def _told(error: TangError) -> tuple[str, str, str]:
    return error.what, error.where, error.mend


def test_doubles_are_refused() -> None:
    with pytest.raises(CodegenError) as caught:
        sources(_affine("f64"), "metal")
    assert _told(caught.value) == (
        "Metal has no 64-bit floats",
        "a kernel that stores or computes f64",
        "store f32 instead of f64, or use target='c'",
    )


def test_too_many_buffers_are_refused() -> None:
    i = te.index("i", 3)
    total: Any = 0.0
    for n in range(31):
        total = total + te.input(f"x{n}", (3,))[i]
    with pytest.raises(CodegenError) as caught:
        sources(graph("many", Y=te.tensor(None, i, total)), "metal")
    assert "has 32 buffers, and a Metal kernel at most 31" in caught.value.what
    assert caught.value.mend == "concatenate inputs of one type into fewer arrays"


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        (COMPILER, "no-such-compiler", "no C++ compiler was found, which runs Metal on this machine"),
        (COMPILER, "c++ 'x", f"{COMPILER} cannot be split into words"),
        (WAY, "abacus", f"{WAY} is 'abacus'"),
    ],
)
def test_a_wish_that_cannot_be_met_is_told(monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(TargetError) as caught:
        run_metal.metal_device()
    what, where, mend = _told(caught.value)
    assert what.startswith(told) and where and mend


def test_a_mac_without_its_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(f"No module named '{name}'")

    monkeypatch.setattr(run_metal_mac.importlib, "import_module", missing)
    monkeypatch.setenv(WAY, "gpu")
    with pytest.raises(TargetError) as caught:
        run_metal.metal_device()
    assert _told(caught.value) == (
        "PyObjC's binding of Metal is not installed",
        "import Metal: No module named 'Metal'",
        "pip install pyobjc-framework-Metal on a Mac; elsewhere unset TANG_METAL, for the shim",
    )


def test_a_source_that_does_not_compile_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = device("metal")
    monkeypatch.setattr(metal, "host_source", lambda kernels: "int broken( {")
    with pytest.raises(TargetError) as caught:
        grid.build(built("matmul", "metal"), {})
    what, where, mend = _told(caught.value)
    assert what == "printed Metal does not compile on this machine"
    assert "error" in where and "report the source" in mend
