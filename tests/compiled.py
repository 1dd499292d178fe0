"""Helpers of the code generator's tests: programs without and with fusion, comparison with the interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tang_egg.affine import Index, affine, index
from tang_egg.interpret import interpret
from tang_egg.ir import (
    EVERYWHERE,
    Graph,
    Input,
    Read,
    Reduce,
    Scalar,
    StateRef,
    Statistic,
    Tensor,
    apply,
    const,
    domain,
    map_children,
    tensors_of,
)
from tang_egg.monoid import MAX, SUM, Component, Follow, Monoid, cascade
from tang_egg.program import KernelPlan, Program
from tang_egg.rewrite import inline
from tang_egg.run import NUMPY, CompiledProgram, compile_program
from tang_egg.schedule import Schedule, parse_schedule


def one_kernel_each(graph: Graph) -> Program:
    """Every tensor is a kernel."""
    return Program(graph, tuple(KernelPlan(t.name, (t,)) for t in tensors_of(graph.outputs)))


def all_inline(graph: Graph) -> Program:
    """Every output is a kernel; all else stands inlined."""
    done: dict[Scalar, Scalar] = {}

    def run(s: Scalar) -> Scalar:
        if s not in done:
            new = map_children(s, run)
            done[s] = run(inline(new)) if isinstance(new, Read) and isinstance(new.source, Tensor) else new
        return done[s]

    outputs = tuple(Tensor(t.name, t.axes, run(t.body), t.dtype, t.into) for t in graph.outputs)
    return Program(Graph(graph.name, graph.inputs, outputs), tuple(KernelPlan(t.name, (t,)) for t in outputs))


def random_inputs(
    graph: Graph, dims: Mapping[str, int] | None = None, seed: int = 0
) -> dict[str, np.ndarray[Any, Any]]:
    """Normal floats, coin-toss bools, and integers from 0 to 2."""
    source = np.random.default_rng(seed)
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for i in graph.inputs:
        shape = tuple(n.evaluate(dict(dims or {})) for n in i.shape)
        if i.dtype in ("f16", "f32", "f64"):
            arrays[i.name] = source.standard_normal(shape).astype(NUMPY[i.dtype])
        elif i.dtype == "bool":
            arrays[i.name] = source.random(shape) < 0.6
        else:
            arrays[i.name] = source.integers(0, 3, shape).astype(NUMPY[i.dtype])
    return arrays


def agrees(
    program: Program,
    inputs: Mapping[str, Any],
    schedule: str | None = None,
    dims: Mapping[str, int] | None = None,
    want: Mapping[str, Any] | None = None,
    tolerance: float = 3e-5,
) -> CompiledProgram:
    """Compiles a program, runs it, and asserts that every output is what the interpreter gives."""
    chosen: dict[str, Schedule] = {}
    if schedule is not None:
        chosen = {k.name: parse_schedule(schedule) for k in program.kernels}
    compiled = compile_program(program, chosen)
    expected = want if want is not None else interpret(program.graph, inputs, dims)
    for name, got in compiled(inputs, dims).items():
        exact = np.asarray(expected[name])
        assert got.shape == exact.shape
        finite = np.abs(exact[np.isfinite(exact)]) if exact.dtype.kind == "f" else np.zeros(0)
        scale = max(1.0, float(finite.max(initial=0.0)))
        np.testing.assert_allclose(got.astype(exact.dtype), exact, rtol=tolerance, atol=tolerance * scale, err_msg=name)
    return compiled


def product_graph(rows: int, inner: int, columns: int, layout: str = "nn", dtype: str = "f32") -> Graph:
    """C[i, j] = Σ_k A B, each operand stored plainly (n) or transposed (t)."""
    i, j, k = index("i", rows), index("j", columns), index("k", inner)

    def operand(name: str, first: Index, second: Index, plain: bool) -> tuple[Input, Scalar]:
        a, b = (first, second) if plain else (second, first)
        source = Input(name, (a.size, b.size), dtype)
        return source, Read(source, (affine(a), affine(b)))

    a, left = operand("A", i, k, layout[0] == "n")
    b, right = operand("B", k, j, layout[1] == "n")
    body = Reduce(SUM, (k,), EVERYWHERE, (apply("mul", left, right),))
    return Graph("product", (a, b), (Tensor("C", (i, j), body, dtype),))


def follower(name: str, base: Monoid = SUM) -> Component:
    """A component that is scaled by exp(from - to) when the maximum moves."""
    m = StateRef("self", "m")
    shift = apply("exp", apply("add", Statistic("from"), apply("neg", Statistic("to"))))
    return Component(
        name,
        "real",
        (),
        Follow((m,), apply("mul", StateRef("self", name), shift), apply("eq", m, const(float("-inf"))), base),
    )


def weighted_graphs(
    heads: int, rows: int, keys: int, width: int, *, causal: bool = False, live: bool = False, bias: bool = False
) -> tuple[Graph, Graph]:
    """Σ_j exp(s - max s) V / Σ_j exp(s - max s), as one cascade and as written naively; s = Q·K (+ bias)."""
    h, i, j, d, c = index("h", heads), index("i", rows), index("j", keys), index("d", width), index("c", width)
    fh, fi, fj, fd, fc = map(affine, (h, i, j, d, c))
    q = Input("Q", (affine(heads), affine(rows), affine(width)))
    key, value = (Input(n, (affine(heads), affine(keys), affine(width))) for n in ("K", "V"))
    inputs = [q, key, value]
    score: Scalar = Reduce(SUM, (d,), EVERYWHERE, (apply("mul", Read(q, (fh, fi, fd)), Read(key, (fh, fj, fd))),))
    conditions: list[Any] = [j <= i] if causal else []
    if bias:
        inputs.append(Input("bias", (affine(rows), affine(keys))))
        score = apply("add", score, Read(inputs[-1], (fi, fj)))
    if live:
        inputs.append(Input("live", (affine(rows), affine(keys)), "bool"))
        conditions.append(Read(inputs[-1], (fi, fj)))
    where = domain(*conditions)
    v = Read(value, (fh, fj, fc))

    monoid = cascade("rescaled", ((Component("m"), MAX),), (follower("l"), follower("o")))
    e = apply("exp", apply("add", score, apply("neg", Statistic("at"))))
    lifts = (score, e, apply("mul", e, v))
    parts = [Reduce(monoid, (j,), where, lifts, part) for part in (1, 2)]
    one = Tensor("O", (h, i, c), apply("mul", parts[1], apply("recip", parts[0])))

    top = Reduce(MAX, (j,), where, (score,))
    e = apply("exp", apply("add", score, apply("neg", top)))
    total, weighted = (Reduce(SUM, (j,), where, (x,)) for x in (e, apply("mul", e, v)))
    naive = Tensor("O", (h, i, c), apply("mul", weighted, apply("recip", total)))
    return Graph("cascade", tuple(inputs), (one,)), Graph("naive", tuple(inputs), (naive,))
