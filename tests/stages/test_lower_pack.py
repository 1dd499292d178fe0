"""Packed panels: products mean the same by register tiles, whatever is computed while packing and when a tile ends."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import tang_egg as te
from tang_egg.codegen.kernel import Declare, Kernel, statements
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.kernel_run import held, run_kernel
from tang_egg.codegen.legalize_register import to_registers
from tang_egg.codegen.legalize_vector import to_vectors
from tang_egg.codegen.lower import lower
from tang_egg.codegen.lower_pack_frame import frame_of
from tang_egg.codegen.pack_plan import pack_plan
from tang_egg.codegen.vectors import AVX512
from tang_egg.ir import Apply, Const, Graph, Test, free
from tang_egg.schedule import parse_schedule

TILE = "tile tile=j:8,i:3 block=i:6,j:16,k:8"
i, j, k = te.indices("i j k")


def to_wide_vectors(kernel: Kernel) -> Kernel:
    """With vectors of 64 bytes."""
    return to_vectors(kernel, AVX512.bytes)


def inputs(graph: Graph, sizes: dict[str, int]) -> dict[str, np.ndarray]:  # type: ignore[type-arg]
    rng = np.random.default_rng(7)
    data = {}
    for x in graph.inputs:
        shape = tuple(n.evaluate(sizes) for n in x.shape)
        if x.dtype.startswith(("i", "u")):
            data[x.name] = rng.integers(0, 5, shape).astype(x.dtype.replace("i", "int").replace("u", "uint"))
        else:
            kind = {"f16": np.float16, "f64": np.float64}.get(x.dtype, np.float32)
            data[x.name] = rng.standard_normal(shape).astype(kind)
    return data


def checked(graph: Graph, schedule: str = TILE, **sizes: int) -> Kernel:
    """The kernel of a graph of one kernel, compared with the interpreter at all stages that it can run at."""
    outputs = tuple(graph.outputs)
    assert pack_plan(outputs) is not None, "no product of packed panels"
    kernel = lower("k", outputs, parse_schedule(schedule))
    for stage in (lambda x: x, to_vectors, to_wide_vectors, to_registers):
        check_kernel(stage(kernel))
    data = inputs(graph, sizes)
    arrays = {n: a.reshape(-1).copy() for n, a in data.items()}
    written = {b.name: b for b in kernel.buffers if b.role == "output"}
    for t in outputs:
        count = int(np.prod([n.evaluate(sizes) for n in t.shape]))
        kind = held(written[t.name])
        arrays[t.name] = np.full(count, np.nan if np.issubdtype(kind, np.floating) else 77).astype(kind)
    run_kernel(kernel, arrays, sizes)
    meant = te.interpret(graph.bind(**sizes) if sizes else graph, data)
    for t in outputs:
        shape = meant[t.name].shape
        rough = 1e-4 if t.dtype == "f32" else 1e-2
        np.testing.assert_allclose(arrays[t.name].reshape(shape), meant[t.name], rtol=rough, atol=rough)
    return kernel


def matmul(m, n, kk, kind: str = "f32", out: str = "f32", layout: str = "nn") -> Graph:  # type: ignore[no-untyped-def]
    a = te.input("A", (m, kk), kind)
    b = te.input("B", (kk, n) if layout == "nn" else (n, kk), kind)
    right = b[k, j] if layout == "nn" else b[j, k]
    return te.graph("product", te.tensor("C", (i, j), te.sum(k, a[i, k] * right), out))


@pytest.mark.parametrize("layout", ["nn", "nt"])
def test_products_of_all_sizes_around_the_tile_and_the_block(layout: str) -> None:
    for m, n, kk in product((1, 2, 3, 4, 7), (1, 7, 8, 9, 17), (1, 8, 9, 17)):
        checked(matmul(m, n, kk, layout=layout))


def test_sizes_of_run_time_take_the_panels_only_where_they_are_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tang_egg.codegen.lower_pack.FEW_POINTS", 100)
    graph = matmul(te.dim("m"), te.dim("n"), te.dim("q"))
    for m, n, q in ((0, 5, 3), (1, 9, 9), (12, 0, 4), (12, 17, 0), (12, 1, 1), (13, 17, 9), (14, 8, 16)):
        checked(graph, m=m, n=n, q=q)


def test_batches_heads_and_strided_rows() -> None:
    b, h = te.indices("b h")
    x, w = te.input("X", (2, 5, 9)), te.input("W", (9, 11))
    rows_of_all = te.graph("g", te.tensor("Y", (b, i, j), te.sum(k, x[b, i, k] * w[k, j])))
    checked(rows_of_all)
    q, y = te.input("Q", (2, 7, 3, 5)), te.input("K", (2, 10, 3, 5))
    heads = te.graph("g", te.tensor("S", (b, h, i, j), te.sum(k, q[b, i, h, k] * y[b, j, h, k]) * 0.5))
    checked(heads)
    r = te.index("i", 5)
    checked(te.graph("g", te.tensor("Y", (r, h, j), te.sum(k, x[1, 4 - r, k] * te.input("V", (9, 4, 11))[k, h, j]))))


@pytest.mark.parametrize("width", [8, 9, 13])
def test_windows_are_packed_like_any_other_read(width: int) -> None:
    c, d, e = te.indices("c d e")
    o, y, x = te.index("o", 4), te.index("y", 4), te.index("x", width)
    image, kernel = te.input("X", (2, 6, width + 2)), te.input("W", (4, 2, 3, 3))
    body = te.sum((c, d, e), image[c, y + d, x + e] * kernel[o, c, d, e])
    graph = te.graph("g", te.tensor("Y", (o, y, x), body))
    checked(graph, "tile tile=x:8,o:3 block=o:6,x:16,e:8")
    checked(graph, "tile tile=x:16,o:3 block=o:3,x:32,e:5")


def test_what_is_computed_while_packing_and_after() -> None:
    m, n, q = 7, 17, 9
    x, w, u = te.input("X", (m, q)), te.input("W", (q, n)), te.input("U", (q, n))
    bias, gain, scale = te.input("b", (n,)), te.input("g", (q,)), te.input("s", (m,))
    before = te.sum(k, te.exp(x[i, k] * 0.1) * gain[k] * (w[k, j] + 1.0) * scale[i])
    checked(te.graph("g", te.tensor("Y", (i, j), te.tanh(before + bias[j]) * x[i, 0])))
    gated = te.sum(k, x[i, k] * w[k, j]), te.sum(k, x[i, k] * u[k, j])
    checked(te.graph("g", te.tensor("Y", (i, j), gated[0] * te.tanh(gated[0]) * gated[1])))
    mean = te.sum(te.index("r", q), x[i, te.index("r", q)] ** 2) / q
    normal = te.sum(k, x[i, k] / te.sqrt(mean + 1e-5) * gain[k] * w[k, j])
    checked(te.graph("g", te.tensor("Y", (i, j), normal)))
    checked(te.graph("g", te.tensor("Y", (i, j), te.sum(k, x[i, k] * w[k, j]) / te.sqrt(mean + 1e-5))))


def test_values_of_rows_in_lanes_of_any_number() -> None:
    for q in (1, 3, 4, 5, 7, 8, 9, 17):
        x, w, r = te.input("X", (7, q)), te.input("W", (q, 17)), te.index("r", q)
        size = te.max(r, te.abs(x[i, r])) + te.sum(r, x[i, r] ** 2)
        graph = te.graph("g", te.tensor("Y", (i, j), te.sum(k, x[i, k] * w[k, j]) / te.sqrt(size + 1e-5)))
        for lanes in (4, 8):
            checked(graph, f"tile tile=j:8,i:3 fold=r:lanes:{lanes} block=i:6,j:16,k:8")


def test_two_outputs_share_the_operands_they_have_in_common() -> None:
    x, w, u = te.input("X", (7, 9)), te.input("W", (9, 17)), te.input("U", (9, 17))
    one, other = (te.tensor(n, (i, j), te.sum(k, x[i, k] * v[k, j])) for n, v in (("Y", w), ("Z", u)))
    kernel = checked(te.graph("g", one, other))
    stems = [
        b.name.rstrip("_0123456789")
        for b in {s.buffer.name: s.buffer for s in statements(kernel.body) if hasattr(s, "buffer")}.values()
    ]
    assert stems.count("rows") == 1 and stems.count("columns") == 2


def test_gathered_rows() -> None:
    x, w, at = te.input("X", (5, 9)), te.input("W", (9, 17)), te.input("n", (7,), "i32")
    checked(te.graph("g", te.tensor("Y", (i, j), te.sum(k, x[at[i], k] * w[k, j]))))


@pytest.mark.parametrize(("kind", "out"), [("bf16", "bf16"), ("f16", "f32"), ("f64", "f64")])
def test_types_of_storage(kind: str, out: str) -> None:
    checked(matmul(7, 17, 9, kind, out))


def test_integers_and_other_monoids() -> None:
    a, b = te.input("A", (7, 9), "i8"), te.input("B", (9, 17), "i8")
    wide = te.sum(k, te.cast(a[i, k], "i32") * te.cast(b[k, j], "i32"))
    checked(te.graph("g", te.tensor("C", (i, j), wide, "i32")))
    x, y = te.input("X", (7, 9)), te.input("Y", (9, 17))
    checked(te.graph("g", te.tensor("C", (i, j), te.max(k, x[i, k] + y[k, j]))))
    checked(te.graph("g", te.tensor("C", (i, j), te.sum(k, te.abs(x[i, k] - y[k, j])))))
    checked(te.graph("g", te.tensor("C", (i, j), te.any(k, (x[i, k] > 0) & (y[k, j] > 0)), "bool")))


def test_products_that_are_no_panels_are_computed_as_before() -> None:
    x, y, z = te.input("X", (7, 9)), te.input("Y", (9, 17)), te.input("Z", (7, 9, 17))
    both = te.tensor("C", (i, j), te.sum(k, x[i, k] * y[k, j] * z[i, k, j]))
    masked = te.tensor("C", (i, j), te.sum(k, x[i, k] * y[k, j], where=k <= i))
    alone = te.tensor("C", (i, j), te.sum(k, x[i, k]) + y[0, j])
    for t in (both, masked, alone):
        graph = te.graph("g", t)
        assert pack_plan(tuple(graph.outputs)) is None
        assert lower("k", tuple(graph.outputs), parse_schedule(TILE)).body


def windows(size: int, width: int, stride: int, pad: int, dilation: int = 1, images: int = 1) -> Graph:
    """A convolution of images with a window over their ends, images and weights given."""
    c, d, e = te.indices("c d e")
    across = (width + 2 * pad - dilation * (size - 1) - 1) // stride + 1
    n, o, y, x = te.index("n", images), te.index("o", 5), te.index("y", across), te.index("x", across)
    image, kernel = te.input("X", (images, 2, width, width)), te.input("W", (5, 2, size, size))
    row, column = (stride * a + dilation * b - pad for a, b in ((y, d), (x, e)))
    inside = (row >= 0, row < width, column >= 0, column < width)
    body = te.sum((c, d, e), image[n, c, row, column] * kernel[o, c, d, e], where=inside)
    return te.graph("g", te.tensor("Y", (n, o, y, x), body))


@pytest.mark.parametrize(
    ("size", "width", "stride", "pad", "dilation", "images"),
    [(3, 12, 1, 1, 1, 1), (3, 13, 1, 1, 1, 2), (3, 12, 1, 2, 1, 1), (3, 17, 2, 1, 1, 1), (3, 13, 1, 2, 2, 1)],
)
def test_windows_over_an_end(size: int, width: int, stride: int, pad: int, dilation: int, images: int) -> None:
    graph = windows(size, width, stride, pad, dilation, images)
    kernel = checked(graph, "tile tile=x:8,o:3 block=o:6,x:16,e:8")
    framed = any(isinstance(s, Declare) and s.buffer.name == "frame" for s in statements(kernel.body))
    assert framed == (stride == 1)  # windows a stride apart read an element too seldom for the copy to pay
    checked(graph, "tile tile=x:16,o:3 block=o:3,x:32,e:5 parallel=x")


def test_a_frame_stands_for_all_tests_of_bounds_and_no_other() -> None:
    (t,) = windows(3, 12, 1, 1).outputs
    plan = pack_plan((t,))
    assert plan is not None
    (s,) = plan.packs("columns")
    frame = frame_of(s)
    assert frame is not None and frame.shape == (1, 2, 14, 14) and frame.low[2:] == (-1, -1)
    assert isinstance(s, Apply)
    assert frame_of(s.args[1]) is None, "a coordinate that is not tested may be out of bounds"
    first = next(i for i in free(s) if i.name == "x")
    assert frame_of(Apply("select", (Test(first >= 1), s, Const(0.0, "real")))) is None, "a test of something else"
    assert frame_of(Apply("select", (s.args[0], s.args[1], Const(1.0, "real")))) is None, "not zero outside"


def test_infinite_weights_make_what_is_outside_of_windows_count_as_it_did() -> None:
    graph = windows(3, 12, 1, 1)
    outputs = tuple(graph.outputs)
    kernel = lower("k", outputs, parse_schedule("tile tile=x:8,o:3 block=o:6,x:16,e:8"))
    data = inputs(graph, {})
    for name, place in (("W", (4, 1, 2, 2)), ("X", (0, 1, 11, 11))):
        changed = {n: a.copy() for n, a in data.items()}
        changed[name][place] = np.inf
        arrays = {n: a.reshape(-1).copy() for n, a in changed.items()} | {"Y": np.full(5 * 144, np.nan, np.float32)}
        with np.errstate(invalid="ignore"):
            run_kernel(kernel, arrays, {})
        meant = te.interpret(graph, changed)["Y"]
        assert np.isinf(meant).any() and not np.isinf(meant).all()
        np.testing.assert_allclose(arrays["Y"].reshape(meant.shape), meant, rtol=1e-4, atol=1e-4)
