"""Blocks that lie across what is read: the same values as plain loops, whatever is turned and where tiles end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg.affine import AffineLike, Dim, Index, affine
from tang_egg.codegen.candidates import schedules
from tang_egg.codegen.dialects.c import C
from tang_egg.codegen.kernel import Kernel, Load, Loop, expressions, statements, subexpressions
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.kernel_run import held, run_kernel
from tang_egg.codegen.legalize_register import to_registers
from tang_egg.codegen.legalize_vector import to_vectors
from tang_egg.codegen.lower import lower
from tang_egg.codegen.printer import print_kernel
from tang_egg.codegen.vectors import AVX512
from tang_egg.ir import Graph, Input, Position, Read, Scalar, Scan, Tensor, apply
from tang_egg.monoid import AFFINE, LOGSUMEXP, MAX, SUM, Monoid
from tang_egg.schedule import parse_schedule
from tests.compiled import agrees, one_kernel_each, random_inputs

i, j, k, b = te.indices("i j k b")
Array = np.ndarray[Any, Any]


def data_of(graph: Graph, sizes: dict[str, int]) -> dict[str, Array]:
    rng = np.random.default_rng(3)
    found: dict[str, Array] = {}
    for x in graph.inputs:
        shape = tuple(n.evaluate(sizes) for n in x.shape)
        if x.dtype[0] in "iu":
            found[x.name] = rng.integers(0, 9, shape).astype(x.dtype.replace("i", "int").replace("u", "uint"))
        else:
            found[x.name] = rng.standard_normal(shape).astype(
                {"f16": np.float16, "f64": float}.get(x.dtype, np.float32)
            )
    return found


def checked(graph: Graph, schedule: str, **sizes: int) -> Kernel:
    """The lowered kernel of a graph of one kernel, run and compared with the interpreter; its C was printed."""
    outputs = tuple(graph.outputs)
    kernel = lower("k", outputs, parse_schedule(schedule))
    for stage in (lambda x: x, to_vectors, lambda x: to_vectors(x, AVX512.bytes), to_registers):
        check_kernel(stage(kernel))
    print_kernel(kernel, C)
    data = data_of(graph, sizes)
    arrays = {n: a.reshape(-1).copy() for n, a in data.items()}
    written = {x.name: x for x in kernel.buffers if x.role == "output"}
    for t in outputs:
        count = int(np.prod([n.evaluate(sizes) for n in t.shape]))
        kind = held(written[t.name])
        arrays[t.name] = np.full(count, np.nan if np.issubdtype(kind, np.floating) else 77).astype(kind)
    run_kernel(kernel, arrays, sizes)
    meant = te.interpret(graph.bind(**sizes) if sizes else graph, data)
    for t in outputs:
        np.testing.assert_allclose(
            arrays[t.name].reshape(meant[t.name].shape),
            meant[t.name],
            rtol=1e-2 if t.dtype == "f16" else 1e-5,
            atol=1e-5,
        )
    return kernel


def turns(kernel: Kernel) -> int:
    """Blocks that are copied across their lines."""
    return sum(isinstance(s, Loop) and s.kind == "turned" for s in statements(kernel.body))


def in_registers(kernel: Kernel) -> bool:
    """Whether every such block became transposes of vectors."""
    calls = [x for s in statements(to_vectors(kernel).body) for e in expressions(s) for x in subexpressions(e)]
    return sum(getattr(x, "op", "").startswith("zip_") for x in calls) >= 4 * turns(kernel) > 0


def transposed(n: int, m: int, kind: str = "f32") -> Graph:
    x = te.input("X", (m, n), kind)
    return te.graph("t", te.tensor("Y", (i, j), x[j, i], dtype=kind))


BLOCKS = "point order=i,j tile=i:8,j:16 stage=X"


@pytest.mark.parametrize("n, m", [(8, 16), (11, 19), (7, 40), (24, 15), (1, 1)])
def test_a_transpose_in_blocks(n: int, m: int) -> None:
    kernel = checked(transposed(n, m), BLOCKS)
    assert turns(kernel) == (n >= 8 and m >= 16)
    assert in_registers(kernel) == (n >= 8 and m >= 16)


@pytest.mark.parametrize("kind", ["f16", "f64", "i32", "u16", "i64"])
def test_a_transpose_of_every_width(kind: str) -> None:
    assert in_registers(checked(transposed(9, 17, kind), BLOCKS))


def test_bytes_are_turned_one_by_one() -> None:
    kernel = checked(transposed(9, 17, "i8"), BLOCKS)
    assert turns(kernel) == 1 and not in_registers(kernel)


def test_other_axes_keep_their_loops_and_plain_reads_stay_in_place() -> None:
    x, y = te.input("X", (3, 2, 10, 18)), te.input("B", (18,))
    kernel = checked(
        te.graph("t", te.tensor("Y", (b, k, j, i), te.exp(x[b, k, i, j]) + y[j])), "point tile=j:8,i:8 stage=X,B"
    )
    assert turns(kernel) == 1


def test_two_operands_across_and_a_sum_with_one_that_is_not() -> None:
    x, y, z = te.input("X", (20, 12)), te.input("B", (20, 12)), te.input("Z", (12, 20))
    graph = te.graph("t", te.tensor("Y", (i, j), x[j, i] * y[j, i] + z[i, j]))
    assert turns(checked(graph, "point tile=i:8,j:8 stage=X,B")) == 2


def test_flips_offsets_and_strides_across_the_lines() -> None:
    x = te.input("X", (40, 20))
    p, q = te.index("p", 12), te.index("q", 16)
    graph = te.graph("t", te.tensor("Y", (p, q), x[2 * q + 3, p + 5] + x[39 - q, p]))
    assert turns(checked(graph, "point tile=p:8,q:8 stage=X")) == 2


def test_what_needs_a_guard_stays_in_place() -> None:
    x = te.input("X", (16, 16))
    p, q = te.index("p", 16), te.index("q", 17)
    graph = te.graph("t", te.tensor("Y", (p, q), te.select(q >= 1, x[q - 1, p], 0.0)))
    assert turns(checked(graph, "point tile=p:8,q:8 stage=X")) == 0


@pytest.mark.parametrize("n", [5, 8, 13, 16])
def test_a_size_at_run_time(n: int) -> None:
    x = te.input("X", (Dim("n"), 18))
    kernel = checked(te.graph("t", te.tensor("Y", (i, j), x[j, i])), "point tile=i:8,j:8 stage=X", n=n)
    assert turns(kernel) == 1


def test_outputs_that_end_in_different_axes() -> None:
    x = te.input("X", (16, 24))
    p, q = te.index("p", 16), te.index("q", 24)
    graph = te.graph("t", te.tensor("Y", (p, q), 2.0 * x[p, q]), te.tensor("Z", (q, p), x[p, q] + 1.0))
    assert turns(checked(graph, "point tile=p:8,q:8 stage=X")) == 1


# -- scans in strips

STRIPS = "scan order=i tile=i:8,j:16 stage=X"


def prefix(
    monoid: Monoid, n: AffineLike, m: AffineLike, last: Callable[[Scalar, Scalar], Scalar] | None = None
) -> Graph:
    """A scan of `monoid` along the lines of as many inputs as it has components, and what `last` makes of it."""
    r, t = Index("i", affine(n)), Index("j", affine(m))
    names = "XUV"[: len(monoid.components)]
    reads = tuple(Read(Input(x, (r.size, t.size)), (affine(r), affine(t))) for x in names)
    body: Scalar = Scan(monoid, t, reads, len(reads) - 1)
    inputs = tuple(x.source for x in reads if isinstance(x.source, Input))
    return Graph("r", inputs, (Tensor("Y", (r, t), last(body, reads[0]) if last else body),))


@pytest.mark.parametrize("n, m", [(9, 40), (8, 7), (5, 16), (1, 1)])
@pytest.mark.parametrize("monoid", [SUM, MAX, AFFINE, LOGSUMEXP], ids=lambda x: x.name)
def test_scans_in_strips(monoid: Monoid, n: int, m: int) -> None:
    kernel = checked(prefix(monoid, n, m), STRIPS + (",U" if len(monoid.components) > 1 else ""))
    if n >= 8 and m >= 16:
        assert turns(kernel) and in_registers(kernel)


def test_what_is_made_of_a_scan_reads_the_same_strip() -> None:
    kernel = checked(prefix(SUM, 9, 29, lambda s, x: apply("add", x, apply("mul", s, apply("exp", x)))), STRIPS)
    assert turns(kernel) == 4  # in and out, for strips of 16 and of 8
    whole = [x for s in statements(kernel.body) for e in expressions(s) for x in subexpressions(e)]
    assert sum(isinstance(x, Load) and x.buffer.name == "X" for x in whole) <= 4, (
        "the input is read once for each strip"
    )


@pytest.mark.parametrize("across", ["read", "written"])
def test_only_what_lies_across_is_turned(across: str) -> None:
    r, t = Index("i", affine(9)), Index("j", affine(29))
    inside, out = ((t, r), (r, t)) if across == "read" else ((r, t), (t, r))
    read = Read(Input("X", tuple(i.size for i in inside)), tuple(affine(i) for i in inside))
    graph = Graph("r", (read.source,), (Tensor("Y", out, Scan(SUM, t, (read,))),))
    assert turns(checked(graph, STRIPS)) == 2 and "tile=i:8,j:16" in first(graph)


def test_a_scan_of_a_scan_in_strips() -> None:
    r, t = Index("i", affine(9)), Index("j", affine(27))
    read = Read(Input("X", (r.size, t.size)), (affine(r), affine(t)))
    twice = Scan(MAX, t, (Scan(SUM, t, (read,)),))
    graph = Graph("r", (read.source,), (Tensor("Y", (r, t), twice), Tensor("Z", (r, t), Scan(SUM, t, (read,)))))
    checked(graph, STRIPS)


@pytest.mark.parametrize("m", [3, 8, 29])
def test_strips_of_a_length_at_run_time(m: int) -> None:
    checked(prefix(SUM, 9, Dim("m")), STRIPS, m=m)


@pytest.mark.parametrize("kind", ["f16", "f64"])
def test_strips_of_other_widths(kind: str) -> None:
    r, t = Index("i", affine(9)), Index("j", affine(27))
    read = Read(Input("X", (r.size, t.size), kind), (affine(r), affine(t)))
    graph = Graph("r", (read.source,), (Tensor("Y", (r, t), Scan(SUM, t, (read,)), kind),))
    assert in_registers(checked(graph, STRIPS))


# -- pieces of one row

PIECES = "scan tile=j:128 stage=X"


@pytest.mark.parametrize("n, m", [(2, 150), (1, 127)])
@pytest.mark.parametrize("monoid", [SUM, AFFINE, LOGSUMEXP], ids=lambda x: x.name)
def test_a_row_in_pieces(monoid: Monoid, n: int, m: int) -> None:
    kernel = checked(prefix(monoid, n, m), PIECES + (",U" if len(monoid.components) > 1 else ""))
    assert in_registers(kernel) == (m >= 128)


def test_pieces_of_several_scans_and_of_what_is_made_of_them() -> None:
    r, t = Index("i", affine(2)), Index("j", affine(150))
    read, bias = Read(Input("X", (r.size, t.size)), (affine(r), affine(t))), Read(Input("U", (r.size,)), (affine(r),))
    sums, most = Scan(SUM, t, (apply("mul", read, bias),)), Scan(MAX, t, (apply("cast:real", Position(affine(t))),))
    body = apply("add", apply("mul", read, sums), most)
    graph = Graph("r", (read.source, bias.source), (Tensor("Y", (r, t), body), Tensor("Z", (r, t), sums)))
    assert in_registers(checked(graph, PIECES))


def test_pieces_of_a_length_at_run_time() -> None:
    for m in (5, 128, 200):
        checked(prefix(SUM, 1, Dim("m")), PIECES, m=m)


def test_a_scan_of_a_scan_is_not_cut_into_pieces() -> None:
    t = Index("j", affine(140))
    read = Read(Input("X", (t.size,)), (affine(t),))
    assert not turns(
        checked(Graph("r", (read.source,), (Tensor("Y", (t,), Scan(MAX, t, (Scan(SUM, t, (read,)),))),)), PIECES)
    )


# -- candidates


def first(graph: Graph, threads: int = 2) -> str:
    return str(schedules(tuple(graph.outputs), threads=threads)[0])


def test_blocks_come_first_where_a_read_lies_across() -> None:
    assert first(transposed(4096, 4096)) == "point order=i,j parallel=i tile=j:256,i:64 stage=X store=stream"
    assert first(transposed(200, 300)) == "point order=i,j parallel=i tile=j:64,i:16 stage=X"
    assert "stage" not in first(transposed(3, 5000)), "three lines are read by plain loops"
    x = te.input("X", (300, 200))
    assert "stage" not in first(te.graph("t", te.tensor("Y", (i, j), te.exp(x[i, j]))))


def test_strips_come_first_where_a_scan_runs_along_lines() -> None:
    assert first(prefix(SUM, 4096, 4096)) == "scan order=i parallel=i tile=i:8,j:64 stage=X store=stream"
    assert first(prefix(SUM, 3, 4096)) == "scan order=i parallel=i tile=j:1024 stage=X"
    assert first(prefix(SUM, 1, 500)) == "scan order=i tile=j:256 stage=X"
    assert "stage" not in first(prefix(SUM, 3, 100)), "a row that is too short for pieces"


def test_columns_are_folded_by_blocks_of_whole_lines() -> None:
    x = te.input("X", (4096, 1024))
    assert first(te.graph("c", te.tensor("Y", j, te.sum(i, x[i, j])))) == "split tile=j:* fold=i:blocks:8"
    y = te.input("X", (4096, 1021))
    assert "blocks" not in first(te.graph("c", te.tensor("Y", j, te.sum(i, y[i, j])))), "vectors of all columns"


@pytest.mark.parametrize(
    "graph",
    [transposed(37, 50), transposed(70, 41, "f16"), prefix(SUM, 19, 300), prefix(AFFINE, 2, 1100)],
    ids=["transpose", "f16", "strips", "pieces"],
)
def test_compiled(graph: Graph) -> None:
    agrees(one_kernel_each(graph), random_inputs(graph), first(graph))
