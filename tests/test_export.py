"""C libraries: built by the C compiler as a user would build them, compared with the interpreter and the runtime."""

from __future__ import annotations

import ctypes
import hashlib
import json
import re
import shutil
import subprocess
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg import export_interface
from tang_egg.examples import EXAMPLES
from tang_egg.export import export_c
from tang_egg.export_example import example_dims, pattern_inputs
from tang_egg.export_interface import interface
from tang_egg.export_sizes import regions
from tang_egg.ir import Graph
from tang_egg.ops import FLOATS
from tang_egg.pipeline import choose_schedules, extract
from tang_egg.pipeline_compiled import Compiled
from tang_egg.run import print_program
from tang_egg.run_layout import padded
from tang_egg.run_toolchain import compiler
from tang_egg.verify_compare import values_of
from tests.c_library import Library, build


def attention() -> Graph:
    q, (k, v) = te.input("Q", (2, 5, 8)), (te.input(n, (2, 7, 8)) for n in "KV")
    return te.graph("attention", O=te.attention(q, k, v, causal=True))


def symbolic() -> Graph:
    n, m = te.dim("n", lo=0), te.dim("m", lo=0, hi=4000)
    q, k, v = te.input("Q", (n, 3)), te.input("K", (m, 3)), te.input("V", (m, 3))
    return te.graph("symbolic", O=te.attention(q, k, v), s=te.tensor(None, (), te.sum(te.index("i", n), te.value(1.0))))


def rows() -> Graph:
    """The logarithm of the sum of exponentials of each row, however many and long they are."""
    i, j = te.index("i", te.dim("n", lo=0)), te.index("j", te.dim("k", lo=0))
    x = te.input("X", (i.size, j.size))
    m = te.tensor("m", i, te.max(j, x[i, j]))
    s = te.tensor("s", i, te.sum(j, te.exp(x[i, j] - m[i])))
    return te.graph("rows", s, L=te.tensor(None, i, m[i] + te.log(s[i])))


def whole_numbers() -> Graph:
    """Arithmetic that leaves every type, divisions by zero, and shifts."""
    i = te.index("i", 37)
    types = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
    made = {}
    for t in types:
        a, b = te.input(f"a_{t}", (37,), t), te.input(f"b_{t}", (37,), t)
        made[f"y_{t}"] = te.tensor(None, i, a[i] * b[i] * a[i] + b[i] - a[i] // b[i] + (a[i] % b[i] << b[i]), t)
    flag = te.input("flag", (37,), "bool")
    made["both"] = te.tensor(None, i, flag[i] & (te.input("a", (37,), "i32")[i] < 3))
    return te.graph("whole_numbers", **made)


def powers() -> Graph:
    """Products of small numbers that leave their types: overflow must wrap, not be undefined."""
    i = te.index("i", 41)
    made = {}
    for t, times in (("i32", 3), ("i64", 4), ("u16", 3), ("i16", 3), ("i8", 2)):
        x = te.input(f"x_{t}", (41,), t)[i]
        power = x
        for _ in range(times):
            power = power * power
        made[f"y_{t}"] = te.tensor(None, i, power + power * power - x, t)
    return te.graph("powers", **made)


def halves() -> Graph:
    i, j = te.indices("i j")
    x, w = te.input("x", (5, 19), "bf16"), te.input("w", (19,), "f16")
    y = te.tensor("y", i, te.sum(j, x[i, j] * w[j]), "f32")
    return te.graph("halves", y, z=te.tensor(None, (i, j), x[i, j] + y[i], "bf16"), h=te.tensor(None, i, y[i], "f16"))


def update() -> Graph:
    """Two caches that are updated where they lie, and an output beside them."""
    n = te.dim("n", lo=1)
    i, j = te.index("i", n), te.index("j", 3)
    a, b, x = te.input("a", (n, 3), donated=True), te.input("b", (n,), donated=True), te.input("x", (n,))
    return te.graph(
        "update",
        plus=te.tensor(None, (i, j), a[i, j] * 2.0 + x[i], into=a),
        tripled=te.tensor(None, i, b[i] * 3.0 + x[i], into=b),
        total=te.tensor(None, (), te.sum(i, x[i])),
    )


def gathered() -> Graph:
    n = te.dim("n", lo=0)
    i, d = te.index("i", 11), te.index("d", 6)
    table, at = te.input("table", (n, 6)), te.input("at", (11,), "i32")
    return te.graph("gathered", Y=te.tensor(None, (i, d), table[at[i], d] * 2.0))


def deep() -> Graph:
    """Several kernels in a row, with temporaries of a run-time size."""
    n = te.dim("n", lo=0)
    x = te.input("X", (n, 6))
    for k in range(2):
        x = te.softmax(te.linear(te.rms_norm(x, te.input(f"g{k}", (6,))), te.input(f"W{k}", (6, 6))))
    return te.graph("deep", Y=x)


def random_inputs(graph: Graph, dims: dict[str, int], seed: int = 0) -> dict[str, Any]:
    """Normal floats on the grid of their type, whole numbers of the whole range, and true and false."""
    rng = np.random.default_rng(seed)
    found: dict[str, Any] = {}
    for i in graph.inputs:
        shape = tuple(s.evaluate(dims) for s in i.shape)
        if i.dtype in FLOATS:
            real = rng.standard_normal(shape).astype({"f64": "f8", "f16": "f2"}.get(i.dtype, "f4"))
            found[i.name] = (real.view(np.uint32) >> 16).astype(np.uint16) if i.dtype == "bf16" else real
        elif i.dtype == "bool":
            found[i.name] = rng.random(shape) < 0.5
        elif i.name == "at":
            found[i.name] = rng.integers(-3, 20, shape).astype(np.int32)
        else:
            kind = np.dtype({"i": "int", "u": "uint"}[i.dtype[0]] + i.dtype[1:])
            found[i.name] = rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, kind, endpoint=True)
    return found


def as_values(graph: Graph, arrays: dict[str, Any]) -> dict[str, Any]:
    return {i.name: values_of(arrays[i.name], i.dtype) if i.dtype == "bf16" else arrays[i.name] for i in graph.inputs}


CASES: tuple[tuple[Callable[[], Graph], tuple[dict[str, int], ...]], ...] = (
    (attention, ({},)),
    (symbolic, ({"n": 1, "m": 1}, {"n": 7, "m": 13}, {"n": 0, "m": 3}, {"n": 3, "m": 0}, {"n": 66, "m": 129})),
    (whole_numbers, ({},)),
    (halves, ({},)),
    (update, ({"n": 1}, {"n": 17}, {"n": 64})),
    (gathered, ({"n": 5}, {"n": 1}, {"n": 0})),
    (deep, ({"n": 0}, {"n": 1}, {"n": 37})),
)


@cache
def compiled_of(make: Callable[[], Graph]) -> Compiled:
    return te.optimize(make(), verified=False)


@pytest.mark.parametrize(("make", "sizes"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_a_library_agrees_with_the_interpreter(
    make: Callable[[], Graph], sizes: tuple[dict[str, int], ...], tmp_path: Path
) -> None:
    compiled = compiled_of(make)
    graph = compiled.graph
    library = Library(export_c(compiled, tmp_path / "made"), tmp_path)
    for n, dims in enumerate(sizes):
        arrays = random_inputs(graph, dims, n)
        wanted = te.interpret(graph, as_values(graph, arrays), dims, checked=False)
        shapes = {t.name: tuple(s.evaluate(dims) for s in t.shape) for t in graph.outputs}
        ours = compiled.run(**{k: a.copy() for k, a in arrays.items()}, dims=dims)
        status, found = library.run(arrays, shapes, dims, offset=n)
        assert status == 0, library.told(status)
        assert set(found) == {t.name for t in graph.outputs}
        for t in graph.outputs:
            values = values_of(found[t.name], t.dtype)
            if t.dtype in FLOATS:
                tolerance = {"bf16": 1e-2, "f16": 2e-3}.get(t.dtype, 2e-5)
                np.testing.assert_allclose(values, wanted[t.name], tolerance, tolerance, err_msg=f"{t.name} {dims}")
            else:
                np.testing.assert_array_equal(values, wanted[t.name], err_msg=f"{t.name} {dims}")
                np.testing.assert_array_equal(values, ours[t.name])


SANITIZED = (rows, powers, update, gathered, halves)


@pytest.mark.parametrize("make", SANITIZED, ids=lambda x: x.__name__)
def test_an_example_runs_clean_under_sanitizers(make: Callable[[], Graph], tmp_path: Path) -> None:
    folder = export_c(compiled_of(make), tmp_path / "made")
    flags = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    said = build(folder, tmp_path / "example", *flags, example=True)
    if said.returncode:
        pytest.skip(f"no sanitizers here: {said.stderr[:200]}")
    environment = {"ASAN_OPTIONS": "detect_leaks=1", "PATH": "/usr/bin:/bin"}
    for arguments in ([], *([["0"], ["1"], ["1", "0"]] if make in (rows, gathered) else [])):
        done = subprocess.run(
            [tmp_path / "example", *arguments], cwd=folder, capture_output=True, text=True, check=False, env=environment
        )
        assert done.returncode == 0, done.stderr
        assert ("as expected" in done.stdout) == (not arguments)


def test_an_update_that_cannot_be_made_in_place_is_copied_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_interface, "in_place", lambda *_: False)
    compiled = compiled_of(update)
    library = Library(export_c(compiled, tmp_path / "made"), tmp_path)
    for n in (1, 5):
        arrays = random_inputs(compiled.graph, {"n": n})
        wanted = te.interpret(compiled.graph, arrays, {"n": n})
        status, found = library.run(arrays, {"total": ()}, {"n": n})
        assert status == 0
        for name, exact in wanted.items():
            np.testing.assert_allclose(found[name], exact, 1e-5, 1e-5)


def test_the_interface_compiles_without_warnings(tmp_path: Path) -> None:
    folder = export_c(compiled_of(update), tmp_path / "made")
    strict = ("-O2", "-Wall", "-Wextra", "-Wno-psabi", "-Werror", "-pedantic")
    for more in ((), ("-fopenmp",) if compiler().threads else ()):
        said = build(folder, tmp_path / "example", *strict, *more, example=True)
        assert said.returncode == 0, said.stderr


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_the_header_is_read_by_cpp(tmp_path: Path) -> None:
    i = te.index("i", 3)
    a, b = te.input("class", (3,)), te.input("new", (3,))
    graph = te.graph("cpp", te.tensor("template", i, a[i] + b[i]))
    export_c(te.optimize(graph, verified=False), tmp_path / "made")
    (tmp_path / "main.cpp").write_text(_CPP)
    subprocess.run(["gcc", "-std=c11", "-O1", "-c", "made/cpp.c", "-o", "cpp.o"], cwd=tmp_path, check=True)
    subprocess.run(
        ["g++", "-Wall", "-Wextra", "-Werror", "main.cpp", "cpp.o", "-o", "main", "-lm"], cwd=tmp_path, check=True
    )
    assert subprocess.run([tmp_path / "main"], check=False).returncode == 0


_CPP = """
#include "made/cpp.h"
int main()
{
    cpp_inputs inputs{};
    cpp_outputs outputs{};
    return cpp_run(&inputs, &outputs, nullptr, nullptr, 0) != CPP_ERROR_NULL;
}
"""


def with_weights(seed: int = 0) -> Compiled:
    rng = np.random.default_rng(seed)
    i, j = te.indices("i j")
    n = te.dim("n", lo=0, hi=100)
    x, w = te.input("x", (n, 7)), te.input("w", (7, 5))
    b, k = te.input("b", (5,), "f16"), te.input("k", (5,), "i64")
    c = te.index("c")
    y = te.tensor("y", (i, c), te.sum(j, x[i, j] * w[j, c]) + b[c] + te.cast(k[c], "real"))
    bound = {
        "w": rng.standard_normal((7, 5)).astype(np.float32),
        "b": np.array([1.5, -2.25, np.inf, 0.0, -0.0], np.float16),
        "k": np.array([0, -1, 2**62, -(2**63), 7]),
    }
    return te.optimize(te.graph("with_weights", y), verified=False).bind(**bound)


@pytest.fixture(scope="module")
def weighted() -> Compiled:
    return with_weights()


@pytest.mark.parametrize("embed", [False, True])
def test_weights_come_from_their_file_or_from_the_library(weighted: Compiled, embed: bool, tmp_path: Path) -> None:
    folder = export_c(weighted, tmp_path / "made", embed=embed)
    library = Library(folder, tmp_path)
    if embed:
        library.held = library.weights()
        assert library.function("weights_embedded")(ctypes.byref(library.held)) == 0
        assert not list(folder.glob("*.weights"))
    else:
        assert library.load_weights() == 0
    x = np.random.default_rng(1).standard_normal((9, 7)).astype(np.float32)
    status, found = library.run({"x": x}, {"y": (9, 5)}, {"n": 9})
    assert status == 0
    np.testing.assert_allclose(found["y"], weighted(x), rtol=1e-5, atol=1e-5)


def test_damaged_and_foreign_weights_are_refused(weighted: Compiled, tmp_path: Path) -> None:
    folder = export_c(weighted, tmp_path / "made")
    library = Library(folder, tmp_path)
    whole = (folder / "with_weights.weights").read_bytes()
    assert whole[:8] == b"TANGWTS\0"
    assert len(whole) % 64 == 0
    path = tmp_path / "changed"

    def status(content: bytes) -> str:
        path.write_bytes(content)
        return library.told(library.load_weights(path))

    def head(content: bytearray) -> bytes:
        content[36:40] = zlib.crc32(content[:36]).to_bytes(4, "little")
        return bytes(content)

    assert status(whole) == "all is well"
    damaged = "the weights are damaged: a size or the checksum is wrong"
    for place in (40, 70, 200, len(whole) - 64):
        content = bytearray(whole)
        content[place] ^= 1
        assert status(bytes(content)) == damaged
    assert status(whole[:-1]) == damaged
    assert status(whole + b"\0") == damaged
    assert status(b"hello" + whole[5:]) == status(b"") == "the weights are in no format of this library"
    newer, other = bytearray(whole), bytearray(whole)
    newer[8] = 2
    assert status(bytes(newer)) == "the weights are in a version of the format that this library does not read"
    other[24] ^= 1
    assert status(bytes(other)) == damaged
    assert status(head(other)) == "the weights belong to another model"
    assert library.told(library.function("weights_read")(b"/no/such/file", *_memory(library))) == (
        "the file of weights cannot be opened or read"
    )


def _memory(library: Library) -> tuple[Any, ...]:
    return ctypes.c_void_p(library.memory.ctypes.data), ctypes.c_size_t(1 << 20), ctypes.byref(library.held)


def test_every_wrong_call_has_a_status(weighted: Compiled, tmp_path: Path) -> None:
    library = Library(export_c(weighted, tmp_path / "made"), tmp_path)
    assert library.load_weights() == 0
    x, shapes = np.zeros((4, 7), np.float32), {"y": (4, 5)}
    status, size = library.workspace({"n": 4}, 1)
    assert status == 0
    assert library.run({"x": x}, shapes, {"n": 4}, size=size)[0] == 0
    for small in (0, 1, 63):
        status, _ = library.run({"x": x}, shapes, {"n": 4}, size=small, offset=1)
        assert library.told(status) == "the workspace is too small"
    for n in (-1, 101, 2**62):
        assert library.told(library.run({"x": x}, shapes, {"n": n})[0]).startswith(
            "a dim is outside its declared range"
        )
    assert library.told(library.run({}, shapes, {"n": 4})[0]) == "a pointer that is needed is NULL"
    assert library.run({}, {"y": (0, 5)}, {"n": 0})[0] == 0  # nothing is read: no array is needed
    odd = np.zeros(4 * 7 * 4 + 1, np.uint8)[1:].view(np.uint8)
    status, _ = library.run({"x": odd}, shapes, {"n": 4})
    assert library.told(status) == "an array does not start at a multiple of the size of its elements"
    run = library.function("run")
    assert run(None, None, library.dims({"n": 4}), None, ctypes.c_size_t(0)) == 1
    assert run(None, None, None, None, ctypes.c_size_t(0)) == 1
    assert library.function("workspace_bytes")(library.dims({"n": 4}), 1, None) == 1
    assert library.told(99) == "no status of this library"


def test_facts_of_dims_are_checked(tmp_path: Path) -> None:
    n = te.dim("n", lo=4, hi=64, multiple=4)
    i, j = te.index("i", n), te.index("j", n)
    x = te.input("x", (n,))
    graph = te.graph("facts", y=te.tensor(None, (i, j), x[i] * x[j]))
    library = Library(export_c(te.optimize(graph, verified=False), tmp_path / "made"), tmp_path)
    assert {k: library.workspace({"n": k})[0] for k in (0, 3, 4, 6, 64, 68)} == {0: 2, 3: 2, 4: 0, 6: 2, 64: 0, 68: 2}
    assert library.counts({"n": 8}) == {"x": 8, "y": 64}


def test_sizes_that_leave_64_bits_are_refused(tmp_path: Path) -> None:
    n, m = te.dim("n", lo=0), te.dim("m", lo=0)
    i, j = te.index("i", n), te.index("j", m)
    x, y = te.input("x", (n,)), te.input("y", (m,))
    graph = te.graph("large", z=te.tensor(None, (i, j), x[i] * y[j]))
    library = Library(export_c(te.optimize(graph, verified=False), tmp_path / "made"), tmp_path)
    for dims in ({"n": 2**40, "m": 2**40}, {"n": 2**61, "m": 2}, {"n": 2**31, "m": 2**31}):
        status, _ = library.workspace(dims)
        assert library.told(status) == "an array or the workspace is larger than this machine can address"
    assert library.workspace({"n": 2**20, "m": 2**20})[0] == 0


def test_fewer_threads_than_asked_for_and_calls_from_threads(tmp_path: Path) -> None:
    if not compiler().threads:
        pytest.skip("no OpenMP here")
    compiled = compiled_of(deep)
    graph = compiled.graph
    library = Library(export_c(compiled, tmp_path / "made"), tmp_path, "-O1", "-fopenmp")
    arrays = random_inputs(graph, {"n": 300})
    wanted = compiled.run(**arrays)["Y"]
    sizes = [library.workspace({"n": 300}, t)[1] for t in (1, 2, 3)]
    assert sizes[1] - sizes[0] == sizes[2] - sizes[1] >= 64
    for threads in (1, 2, 3):
        status, found = library.run(arrays, {"Y": (300, 6)}, {"n": 300}, threads=threads)
        assert status == 0
        np.testing.assert_allclose(found["Y"], wanted, 1e-5, 1e-5)
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(library.run, arrays, {"Y": (300, 6)}, {"n": 300}) for _ in range(8)]
        for call in calls:
            np.testing.assert_allclose(call.result()[1]["Y"], wanted, 1e-5, 1e-5)


def test_a_call_inside_a_parallel_region_uses_its_own_scratch(tmp_path: Path) -> None:
    if not compiler().threads:
        pytest.skip("no OpenMP here")
    n = te.dim("n", lo=1)
    graph = te.graph("inside", Y=te.matmul(te.input("X", (4, n)), te.input("W", (n, 16))))
    plain = "tile order=i0,i1 tile=i1:16,i0:4 stage=W"  # copies of W lie in scratch, and no loop runs on threads
    compiled = te.optimize(graph, schedule={"Y": plain}, verified=False)
    assert len(compiled.runner.layout.scratch()) == 1  # type: ignore[union-attr]
    export_c(compiled, tmp_path / "made")
    (tmp_path / "main.c").write_text(_INSIDE)
    command = [*compiler().command, "-std=c11", "-O1", "-fopenmp", "-Imade", "main.c", "made/inside.c"]
    subprocess.run([*command, "-o", "main", "-lm"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=False)
    assert done.stdout == "4 of 4\n", done


_INSIDE = """
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include "inside.h"
enum { N = 300, MORE = 1 << 20 };
int main(void)
{
    int good = 0;
#pragma omp parallel num_threads(4) reduction(+ : good)
    {
        inside_dims dims = {N};
        size_t bytes = 0;
        inside_workspace_bytes(&dims, 1, &bytes);
        char *room = malloc(bytes + MORE);
        float *x = malloc(4 * N * 4), *w = malloc(16 * N * 4), *y = malloc(4 * 16 * 4);
        for (size_t n = bytes; n < bytes + MORE; n++) room[n] = 77;
        for (int n = 0; n < 4 * N; n++) x[n] = 1;
        for (int n = 0; n < 16 * N; n++) w[n] = 1 + omp_get_thread_num();
        inside_inputs in = {x, w};
        inside_outputs out = {y};
        int fine = inside_run(&in, &out, &dims, room, bytes) == INSIDE_OK;
        for (size_t n = bytes; n < bytes + MORE; n++) fine &= room[n] == 77;
        for (int n = 0; n < 4 * 16; n++) fine &= y[n] == N * (1 + omp_get_thread_num());
        good += fine;
    }
    printf("%d of 4\\n", good);
}
"""


def test_temporaries_share_the_workspace() -> None:
    graph = EXAMPLES["transformer_block"]()
    program = extract(graph).program
    printed = print_program(program, choose_schedules(program, "c"))
    face = interface("block", program, printed.layout, ())
    parts = regions(face)
    assert {s for r in parts for s in r.arrays} == set(face.layout.temporaries)
    life: dict[Any, list[int]] = {}
    for n, step in enumerate(face.layout.steps):
        for s in step.built.sources:
            life.setdefault(s, []).append(n)
    for r in parts:
        for a, b in zip(r.arrays, r.arrays[1:], strict=False):
            assert max(life[a]) < min(life[b])
    size = {s: padded(int(np.prod([x.value for x in s.shape])) * 4) for s in face.layout.temporaries}
    shared = sum(max(size[s] for s in r.arrays) for r in parts)
    assert shared < 0.8 * sum(size.values())


def test_the_manifest_says_what_is_there(weighted: Compiled, tmp_path: Path) -> None:
    folder = export_c(weighted, tmp_path / "made", originals={"x": "input.1", "y": "logits"})
    said = json.loads((folder / "manifest.json").read_text())
    assert set(said["files"]) | {"manifest.json"} == {p.name for p in folder.iterdir()}
    for name, f in said["files"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == f["sha256"]
    assert said["graph_sha256"] == te.content_hash(weighted.graph)
    assert said["dims"] == [{"name": "n", "original": "n", "at_least": 0, "at_most": 100, "multiple": 1}]
    assert said["inputs"] == [{"name": "x", "original": "input.1", "dtype": "f32", "shape": ["n", 7]}]
    assert said["outputs"][0]["original"] == "logits"
    assert [w["name"] for w in said["weights"]] == ["w", "b", "k"]
    assert all(w["offset"] % 64 == 0 for w in said["weights"])
    assert "input.1" in (folder / "with_weights.h").read_text()
    assert "| `y` | output | f32 | `[n, 5]` | logits |" in (folder / "README.md").read_text()


def test_two_exports_are_alike(weighted: Compiled, tmp_path: Path) -> None:
    one, two = export_c(weighted, tmp_path / "one"), export_c(with_weights(), tmp_path / "two")
    for path in one.iterdir():
        assert path.read_bytes() == (two / path.name).read_bytes(), path.name


def test_the_pattern_of_the_example_is_the_recorded_one(tmp_path: Path) -> None:
    """Values that the C program prints are those of the arrays that Python made."""
    i = te.index("i", 11)
    names = [
        ("f32", "f32"),
        ("f64", "f64"),
        ("f16", "f16"),
        ("bf16", "bf16"),
        ("i8", "i8"),
        ("u64", "u64"),
        ("bool", "bool"),
    ]
    made = {f"o_{t}": te.tensor(None, i, te.input(f"i_{t}", (11,), t)[i], t) for t, _ in names}
    graph = te.graph("copies", **made)
    compiled = te.optimize(graph, verified=False)
    folder = export_c(compiled, tmp_path / "made")
    assert build(folder, tmp_path / "example", "-O1", example=True).returncode == 0
    done = subprocess.run([tmp_path / "example"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    numbers = {x.name: n for n, x in enumerate(graph.inputs)}
    arrays = pattern_inputs(graph, numbers, example_dims(graph))
    for t, _ in names:
        (line,) = (x for x in done.stdout.splitlines() if x.startswith(f"o_{t}:"))
        printed = [float(v) for v in re.split(r"first |;", line)[1].split()]
        np.testing.assert_allclose(printed, values_of(arrays[f"i_{t}"], t).astype(float)[:8], rtol=1e-5)


def test_an_example_that_finds_other_values_says_so(weighted: Compiled, tmp_path: Path) -> None:
    folder = export_c(weighted, tmp_path / "made")
    source = folder / "with_weights.c"
    text = source.read_text()
    assert "y[" in text
    source.write_text(text.replace("    return WITH_WEIGHTS_OK;\n}\n\nint with_weights_workspace", _SPOILED, 1))
    assert build(folder, tmp_path / "example", "-O1", example=True).returncode == 0
    done = subprocess.run([tmp_path / "example"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "EXPECTED" in done.stdout
    assert done.stderr == "the outputs are not the recorded ones\n"


_SPOILED = "    outputs->y[3] = 0.0f / 0.0f;\n    return WITH_WEIGHTS_OK;\n}\n\nint with_weights_workspace"


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_the_makefile_builds_and_checks(weighted: Compiled, tmp_path: Path) -> None:
    folder = export_c(weighted, tmp_path / "made")
    done = subprocess.run(
        ["make", "CFLAGS=-O1", "all", "check"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "as expected" in done.stdout
    assert {"libwith_weights.a", "libwith_weights.so", "example"} <= {p.name for p in folder.iterdir()}


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
def test_cmake_builds_and_checks(weighted: Compiled, tmp_path: Path) -> None:
    folder = export_c(weighted, tmp_path / "made", embed=True)
    for command in (
        ["cmake", "-S", str(folder), "-B", "build", "-DCMAKE_BUILD_TYPE=Debug"],
        ["cmake", "--build", "build"],
    ):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run(["ctest", "--test-dir", "build"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
