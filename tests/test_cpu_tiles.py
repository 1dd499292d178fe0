"""Products on the processor: large ones run by packed panels without being asked to, at every size."""

from __future__ import annotations

import numpy as np
import pytest

import tang_egg as te
from tang_egg.codegen.align import aligned
from tang_egg.codegen.candidates import schedules
from tang_egg.codegen.candidates_pack import register_rows
from tang_egg.codegen.lower import lower
from tang_egg.codegen.pack_plan import pack_plan
from tang_egg.codegen.vectors import AVX2, AVX512, NEON, SSE, Vectors
from tang_egg.examples import EXAMPLES
from tang_egg.ir import Graph, Reduce, free, walk
from tang_egg.pipeline import extract
from tang_egg.schedule import Schedule

i, j, k = te.indices("i j k")


def matmul(m, n, q, kind: str = "f32", out: str = "f32") -> Graph:  # type: ignore[no-untyped-def]
    a, b = te.input("A", (m, q), kind), te.input("B", (q, n), kind)
    return te.graph("product", te.tensor("C", (i, j), te.sum(k, a[i, k] * b[k, j]), out))


WIDTHS = pytest.mark.parametrize("width_of_vectors", ["256", "512"])
"""Vectors of 32 and of 64 bytes: compilers take several registers where those are shorter."""


@pytest.fixture
def vectors(width_of_vectors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_VECTORS", width_of_vectors)


def first(graph: Graph, threads: int = 2, vectors: Vectors = AVX2) -> Schedule:
    return schedules(tuple(graph.outputs), threads=threads, vectors=vectors)[0]


def close(graph: Graph, *arrays: np.ndarray, rough: float = 1e-4, **dims: int) -> None:  # type: ignore[type-arg]
    compiled = te.optimize(graph)
    assert all("block=" in s for s in compiled.schedule.values()), compiled.schedule
    got = np.asarray(compiled(*arrays), np.float64)
    (want,) = te.interpret(graph, dict(zip((x.name for x in graph.inputs), arrays, strict=True))).values()
    np.testing.assert_allclose(got, want, rtol=rough, atol=rough * max(1.0, float(np.abs(want).max(initial=0))))


def normal(*shape: int) -> np.ndarray:  # type: ignore[type-arg]
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


def test_large_products_are_packed_and_small_ones_are_not() -> None:
    large = first(matmul(512, 512, 512))
    assert dict(large.tile) == {"i": 6, "j": 16}
    assert dict(large.block) == {"i": 132, "j": 512, "k": 256}
    for m, n, q in ((64, 64, 64), (4, 4096, 4096), (4096, 1, 4096), (4096, 4096, 4)):
        assert not first(matmul(m, n, q)).block
    assert dict(first(matmul(512, 512, 512, "f64", "f64")).tile)["j"] == 8


def test_threads_share_rows_or_columns_in_equal_blocks() -> None:
    for threads in (2, 4, 8):
        tall, wide = first(matmul(4096, 512, 512), threads), first(matmul(128, 8192, 512), threads)
        assert tall.parallel == ("i",) and wide.parallel == ("j",)
        assert -(-4096 // dict(tall.block)["i"]) % threads == 0
        assert -(-8192 // dict(wide.block)["j"]) % threads == 0
    assert first(matmul(512, 512, 512), 1).parallel == ()


def test_register_tiles_waste_few_rows_and_registers() -> None:
    for vectors in (SSE, AVX2, AVX512, NEON):
        for count in (None, 1, 7, 24, 64, 100, 512, 1024):
            high = register_rows(vectors, count)
            assert high >= 6 and 2 * high + 3 <= vectors.registers
            if count is not None and count >= 64 and vectors.registers == 32:
                assert -(-count // high) * high <= 1.02 * count
    assert register_rows(AVX2) == 6 and register_rows(AVX512) == 13
    assert register_rows(AVX512, 64) == 13 and register_rows(AVX512, 64, threads=2) == 8


def test_tiles_are_as_wide_as_the_vectors() -> None:
    wide = first(matmul(1024, 1024, 1024), 2, AVX512)
    assert dict(wide.tile)["j"] == 32
    blocks = -(-1024 // dict(wide.block)["i"])
    assert blocks % 2 == 0 and dict(wide.block)["k"] == 512
    few = first(matmul(64, 4096, 4096), 2, AVX512)
    assert few.parallel == ("j",) and -(-4096 // dict(few.block)["j"]) % 2 == 0
    assert dict(few.block)["j"] * dict(few.block)["k"] * 4 <= 1 << 19


@pytest.mark.usefixtures("vectors")
@WIDTHS
def test_a_product_of_primes_and_one_with_everything_around_it() -> None:
    close(matmul(131, 137, 337), normal(131, 337), normal(337, 137))
    m, n, q = 101, 149, 353
    x, g, w, u = te.input("X", (m, q)), te.input("g", (q,)), te.input("W", (n, q)), te.input("U", (n, q))
    gate, up = te.sum(k, x[i, k] * g[k] * w[j, k]), te.sum(k, x[i, k] * g[k] * u[j, k])
    graph = te.graph("gated", te.tensor("Y", (i, j), gate / (te.exp(-gate) + 1.0) * up))
    close(graph, normal(m, q), normal(q), normal(n, q) / 19, normal(n, q) / 19)


@pytest.mark.usefixtures("vectors")
@WIDTHS
def test_sizes_of_run_time() -> None:
    graph = matmul(te.dim("m"), te.dim("n"), te.dim("q"))
    compiled = te.optimize(graph)
    assert all("block=" in s for s in compiled.schedule.values())
    for m, n, q in ((0, 3, 5), (1, 1, 1), (3, 5, 0), (11, 300, 301), (12, 307, 293), (97, 101, 103), (200, 64, 97)):
        a, b = normal(m, q), normal(q, n)
        np.testing.assert_allclose(compiled(a, b), a.astype(np.float64) @ b, rtol=1e-4, atol=1e-3)


@pytest.mark.usefixtures("vectors")
@WIDTHS
@pytest.mark.parametrize("pad", [0, 1])
@pytest.mark.parametrize("width", [40, 45])
def test_windows(width: int, pad: int) -> None:
    c, d, e = te.indices("c d e")
    o, y, x = te.index("o", 32), te.index("y", 30), te.index("x", width)
    image, kernel = te.input("X", (13, 32, width + 2)), te.input("W", (32, 13, 3, 3))
    row, column = y + d - pad, x + e - pad
    inside = (row >= 0, column >= 0) if pad else ()
    body = te.sum((c, d, e), image[c, row, column] * kernel[o, c, d, e], where=inside)
    close(te.graph("windows", te.tensor("Y", (o, y, x), body)), normal(13, 32, width + 2), normal(32, 13, 3, 3))


@pytest.mark.usefixtures("vectors")
@WIDTHS
def test_integers_and_the_product_of_maxima() -> None:
    rng = np.random.default_rng(5)
    a, b = te.input("A", (97, 130), "i8"), te.input("B", (130, 113), "i8")
    body = te.sum(k, te.cast(a[i, k], "i32") * te.cast(b[k, j], "i32"))
    close(
        te.graph("integers", te.tensor("C", (i, j), body, "i32")),
        *(rng.integers(-128, 128, shape).astype(np.int8) for shape in ((97, 130), (130, 113))),
        rough=0,
    )
    x, y = te.input("X", (97, 130)), te.input("Y", (130, 113))
    close(te.graph("maxima", te.tensor("C", (i, j), te.max(k, x[i, k] + y[k, j]))), normal(97, 130), normal(130, 113))


@pytest.mark.usefixtures("vectors")
@WIDTHS
def test_infinities_come_through() -> None:
    a, b = normal(97, 130), normal(130, 113)
    a[3, 5], b[7, 11], b[8, 12] = np.inf, -np.inf, np.nan
    compiled = te.optimize(matmul(97, 113, 130), values="ieee")
    assert all("block=" in s for s in compiled.schedule.values())
    with np.errstate(invalid="ignore"):
        want = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(compiled(a, b), want, rtol=1e-4, atol=1e-3)


def test_a_guarded_read_that_may_be_out_of_bounds_is_not_packed_without_its_guard() -> None:
    """The branch reads before the array where the guard, which rows decide, does not hold."""
    c = te.index("c", 132)
    a, b = te.input("A", (64, 132)), te.input("B", (32 * 8 + 1, 128))
    chosen = te.select(c >= i + 100, b[(c - 100) * 8, j], 1.0)
    graph = te.graph("guarded", te.tensor("C", (i, j), te.sum(c, chosen * a[i, c])))
    assert pack_plan(tuple(graph.outputs)) is None
    safe = te.select(c >= i + 100, b[c, j], 1.0)
    assert pack_plan(tuple(te.graph("safe", te.tensor("C", (i, j), te.sum(c, safe * a[i, c]))).outputs)) is not None


def test_column_tiles_of_any_width_over_several_axes() -> None:
    h = te.index("h")
    a, b = te.input("A", (13, 20)), te.input("B", (20, 5, 24))
    graph = te.graph("apart", te.tensor("C", (i, h, j), te.sum(k, a[i, k] * b[k, h, j])))
    x, y = normal(13, 20), normal(20, 5, 24)
    for columns in (20, 12, 6):
        text = f"tile tile=i0:4,i2:{columns} block=i0:8,i2:{2 * columns},i3:8 parallel=i0"
        got = te.optimize(graph, schedule={"C": text})(x, y)
        np.testing.assert_allclose(got, np.einsum("ik,khj->ihj", x, y), rtol=1e-4, atol=1e-4)


def test_blocks_are_no_larger_than_the_product() -> None:
    graph = matmul(7, 19, 21)
    got = te.optimize(graph, schedule={"C": "tile tile=i0:4,i1:8 block=i0:8,i1:16,i2:1000000000"})(
        normal(7, 21), normal(21, 19)
    )
    np.testing.assert_allclose(got, normal(7, 21) @ normal(21, 19), rtol=1e-4, atol=1e-4)


def test_outputs_that_name_their_axes_differently_are_packed_together() -> None:
    m, n, q = 101, 128, 130
    e = te.index("e")
    x, w, u = te.input("X", (m, q)), te.input("W", (q, n)), te.input("U", (q, n))
    one, two = te.sum(k, x[i, k] * w[k, j]), te.sum(k, x[i, k] * u[k, e])
    graph = te.graph("twice", te.tensor("V", (i, j), one), te.tensor("K", (i, e), two))
    outputs = tuple(graph.outputs)
    assert pack_plan(outputs) is None and pack_plan(aligned(outputs)) is not None
    assert first(graph).block
    arrays = (normal(m, q), normal(q, n), normal(q, n))
    kernel = lower("k", outputs, first(graph))
    assert [b.name for b in kernel.buffers[-2:]] == ["V", "K"]
    results = te.optimize(graph)(*arrays)
    for name, right in (("V", arrays[1]), ("K", arrays[2])):
        np.testing.assert_allclose(results[name], arrays[0] @ right, rtol=1e-4, atol=1e-3)


def test_axes_of_other_sizes_and_donated_outputs_keep_their_names() -> None:
    x, y = te.input("X", (5, 7)), te.input("Y", (5, 8))
    e = te.index("e")
    outputs = tuple(te.graph("apart", te.tensor("A", (i, j), x[i, j] * 2.0), te.tensor("B", (i, e), y[i, e])).outputs)
    assert aligned(outputs) == outputs


def test_an_axis_that_a_pass_inside_a_fold_lacks_is_held_whole() -> None:
    """Else the pass would run again for every tile of the axis: attention that is projected where it is computed."""
    program = extract(EXAMPLES["transformer_block"]()).program
    (projected,) = (k for k in program.kernels if k.name == "added")
    (t,) = projected.outputs
    passes = [f for f in walk(t.body) if isinstance(f, Reduce) and f.monoid.followers]
    assert passes and all(t.axes[1] not in free(f) for f in passes)
    assert dict(schedules(projected.outputs, threads=2)[0].tile)[t.axes[1].name] == 0


def normed(m: int, n: int, q: int, turned: bool = False) -> Graph:
    """A product divided by the root of the mean square of its row: one pass over the row, once selected."""
    x, w, r = te.input("X", (q, m) if turned else (m, q)), te.input("W", (q, n)), te.index("r", q)
    square = te.sum(r, (x[r, i] if turned else x[i, r]) ** 2) / q
    body = te.sum(k, (x[k, i] if turned else x[i, k]) * w[k, j]) / te.sqrt(square + 1e-5)
    return te.graph("normed", te.tensor("Y", (i, j), body))


def test_values_of_rows_are_folded_in_lanes_where_they_lie_in_memory() -> None:
    for turned, found in ((False, True), (True, False)):
        (text,) = te.optimize(normed(100, 128, 1024, turned)).schedule.values()
        assert "block=" in text and (":lanes:" in text) == found


@pytest.mark.parametrize("turned", [False, True])
def test_values_of_rows_at_all_sizes_around_the_lanes(turned: bool) -> None:
    for q in (31, 32, 33, 63, 64, 65, 127, 128, 129, 131):
        graph = normed(97, 113, q, turned=turned)
        x, w = normal(*((q, 97) if turned else (97, q))), normal(q, 113)
        rows = (x.T if turned else x).astype(np.float64)
        want = rows @ w / np.sqrt((rows**2).mean(axis=1, keepdims=True) + 1e-5)
        np.testing.assert_allclose(te.optimize(graph)(x, w), want, rtol=1e-4, atol=1e-4)
