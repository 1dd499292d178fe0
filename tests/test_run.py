"""Compiled programs agree with the interpreter: layouts, sizes, domains, monoids, types, and the calling convention."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tang_egg as te
from tang_egg import examples, run_toolchain
from tang_egg.affine import Dim, Index, affine, index
from tang_egg.errors import BindError, InputError, TargetError
from tang_egg.interpret import interpret
from tang_egg.ir import (
    EVERYWHERE,
    Graph,
    Input,
    Position,
    Read,
    Reduce,
    Scalar,
    Scan,
    Tensor,
    Test,
    apply,
    const,
    domain,
)
from tang_egg.monoid import AFFINE, ANY, MAX, MEAN_VARIANCE, SUM, affine_matrix, argmax_of, product, sum_of
from tang_egg.monoid_entries import top_k
from tang_egg.program import KernelPlan, Program
from tang_egg.run import NUMPY, compile_program
from tests.compiled import agrees, all_inline, one_kernel_each, product_graph, random_inputs, weighted_graphs

TILED = "tile order=j,i parallel=j tile=i:6,j:16 stage=B"
LANES = "split tile=i:2,j:4 fold=k:lanes:8"


@pytest.fixture(autouse=True)
def _quick_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_CFLAGS", "-O1")


def one(name: str, axes: tuple[Index, ...], body: Scalar, *inputs: Input, dtype: str = "f32") -> Program:
    return one_kernel_each(Graph(name, inputs, (Tensor("out", axes, body, dtype),)))


@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("schedule", [None, TILED, LANES, "point"])
def test_products_in_all_layouts(layout: str, schedule: str | None) -> None:
    graph = product_graph(13, 19, 33, layout)
    agrees(one_kernel_each(graph), random_inputs(graph), schedule)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 16, 17, 63, 64, 65])
def test_products_at_the_edges_of_tiles(size: int) -> None:
    graph = product_graph(size, size, size)
    agrees(one_kernel_each(graph), random_inputs(graph), TILED)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 17, 64, 65])
def test_one_artefact_serves_every_size_of_a_symbolic_dim(size: int) -> None:
    n = Dim("n")
    i, j, k = (Index(name, affine(n)) for name in "ijk")
    a, b = Input("A", (affine(n), affine(n))), Input("B", (affine(n), affine(n)))
    body = Reduce(
        SUM, (k,), EVERYWHERE, (apply("mul", Read(a, (affine(i), affine(k))), Read(b, (affine(k), affine(j)))),)
    )
    program = one("symbolic", (i, j), body, a, b)
    for schedule in (TILED, None):
        agrees(program, random_inputs(program.graph, {"n": size}), schedule, {"n": size})


@pytest.mark.parametrize("kind", [MAX, SUM])
@pytest.mark.parametrize("size", [1, 8, 31, 65])
def test_row_folds_over_lanes_keep_infinities_and_nan(kind: object, size: int) -> None:
    i, j = index("i", 5), index("j", size)
    x = Input("x", (affine(5), affine(size)))
    program = one("rows", (i,), Reduce(kind, (j,), EVERYWHERE, (Read(x, (affine(i), affine(j))),)), x)  # type: ignore[arg-type]
    data = random_inputs(program.graph)
    data["x"][1], data["x"][2, 0], data["x"][3, -1] = -np.inf, np.nan, np.inf
    for schedule in ("split fold=j:lanes:8", "split fold=j:lanes:16", "point tile=i:4", None):
        agrees(program, data, schedule)


@pytest.mark.parametrize(
    "options", [{}, {"causal": True}, {"live": True}, {"bias": True}, {"causal": True, "live": True, "bias": True}]
)
@pytest.mark.parametrize("schedule", [None, "stream tile=c:*,i:4 fold=j:stream:8 stage=K", "stream tile=c:*", "point"])
def test_cascades_give_what_the_naive_formula_gives(options: dict[str, bool], schedule: str | None) -> None:
    cascaded, naive = weighted_graphs(2, 17, 19, 8, **options)
    data = random_inputs(cascaded)
    if "bias" in data:
        data["bias"][:, :9] = -np.inf  # the first tiles of every row say nothing yet
        data["bias"][2] = -np.inf  # and one row never does
    agrees(one_kernel_each(cascaded), data, schedule, want=interpret(naive, data))


def test_a_row_without_live_elements_is_the_identity() -> None:
    cascaded, _ = weighted_graphs(1, 8, 16, 8, live=True)
    data = random_inputs(cascaded)
    data["live"][3] = False
    total = cascaded.outputs[0].body.args[0]  # type: ignore[attr-defined]
    program = one_kernel_each(Graph("sum", cascaded.inputs, (Tensor("O", cascaded.outputs[0].axes, total),)))
    compiled = agrees(program, data, "stream tile=c:*,i:4 fold=j:stream:8")
    assert (compiled(data)["O"][0, 3] == 0).all()


NAMES = ["softmax", "attention_symbolic", "layernorm_matmul", "gated_recurrence", "embedding_sum", "argmax", "swiglu"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", [one_kernel_each, all_inline])
def test_examples_compile_with_the_first_candidate(name: str, form: object) -> None:
    graph = getattr(examples, name)()
    dims = {d.name: 5 * d.multiple for d in graph.dims()}
    agrees(form(graph), random_inputs(graph, dims), None, dims, tolerance=2e-4)  # type: ignore[operator]


@pytest.mark.parametrize("schedule", ["point", "split fold=j:lanes:4", "point tile=i:4 fold=j:stream:4"])
def test_folds_of_several_components(schedule: str) -> None:
    i, j = index("i", 9), index("j", 13)
    x = Input("x", (affine(9), affine(13)))
    element = Read(x, (affine(i), affine(j)))
    place = Position(affine(j))
    best, moments, first = argmax_of(), MEAN_VARIANCE, top_k(2)
    lifts = (const(1.0), element, const(0.0))
    outputs = (
        Tensor("best", (i,), Reduce(best, (j,), EVERYWHERE, (element, place), 1), "i64"),
        Tensor("spread", (i,), Reduce(moments, (j,), EVERYWHERE, lifts, 2)),
        Tensor("second", (i,), Reduce(first, (j,), EVERYWHERE, (element, place, *first.identity[2:]), 3), "i64"),
        Tensor("both", (i,), Reduce(product("pair", SUM, MAX), (j,), EVERYWHERE, (element, element), 1)),
    )
    graph = Graph("several", (x,), outputs)
    data = random_inputs(graph)
    data["x"][2, 4] = data["x"][2, 7] = 9.0
    agrees(Program(graph, (KernelPlan("together", outputs),)), data, schedule)


@pytest.mark.parametrize("schedule", [None, "point", "scan tile=c:4"])
def test_scans_carry_their_state(schedule: str | None) -> None:
    t, c = index("t", 11), index("c", 6)
    a, b = (Input(n, (affine(11), affine(6))) for n in "ab")
    lifts = tuple(Read(s, (affine(t), affine(c))) for s in (a, b))
    for axes in ((t, c), (c, t)):
        program = one("scan", axes, Scan(AFFINE, t, lifts, 1), a, b)
        agrees(program, random_inputs(program.graph), schedule)
    nested = one("nested", (t, c), Scan(SUM, t, (Scan(SUM, c, (lifts[0],)),)), a, b)
    agrees(nested, random_inputs(nested.graph), schedule)


def test_scans_and_folds_of_matrices() -> None:
    monoid = affine_matrix(3)
    row, column = monoid.components[0].axes
    t = index("t", 7)
    a, b = Input("a", (affine(7), affine(3), affine(3))), Input("b", (affine(7), affine(3)))
    lifts = (Read(a, (affine(t), affine(row), affine(column))), Read(b, (affine(t), affine(row))))
    scanned = one("states", (t, row), Scan(monoid, t, lifts, 1), a, b)
    agrees(scanned, random_inputs(scanned.graph), None)
    folded = one("last", (row,), Reduce(monoid, (t,), EVERYWHERE, lifts, 1), a, b)
    agrees(folded, random_inputs(folded.graph), None)


def test_a_select_guards_its_reads_and_its_folds() -> None:
    i, k = index("i", 16), index("k", 5)
    x = Input("x", (affine(16), affine(5)))
    inside = Test(affine(i) < 15)
    below = Reduce(SUM, (k,), EVERYWHERE, (Read(x, (i + 1, affine(k))),))
    before = apply("select", Test(affine(i) >= 1), Read(x, (i - 1, affine(0))), const(7.0))
    program = one("guards", (i,), apply("add", apply("select", inside, below, const(0.0)), before), x)
    for schedule in (None, "point tile=i:8", "point"):
        agrees(program, random_inputs(program.graph), schedule)


@pytest.mark.parametrize("schedule", ["point", "point tile=i:4", "point parallel=j tile=i:4 fold=k:lanes:4"])
def test_a_guard_that_is_a_fold_under_another_guard(schedule: str) -> None:
    i, j, k = index("i", 9), index("j", 7), index("k", 3)
    x = Input("x", (affine(7), affine(5)))
    # what the guard folds is out of bounds without the first one, which varies along a block that it does not
    found = Reduce(ANY, (k,), EVERYWHERE, (apply("lt", const(0.0), Read(x, (j - 1, affine(k)))),))
    below = Reduce(SUM, (k,), EVERYWHERE, (Read(x, (j - 1, k + 1)),))
    chosen = apply("select", found, Read(x, (j - 1, affine(4))), below)
    outer = apply("and", Test(affine(i) < 6), Test(affine(j) >= 1))
    program = one("guards", (j, i), apply("select", outer, chosen, const(0.5)), x)
    agrees(program, random_inputs(program.graph), schedule)


@pytest.mark.parametrize("schedule", ["point", "point tile=i:8 fold=j:stream:4", "split fold=j:lanes:4"])
def test_domains_bound_loops_and_mask_elements(schedule: str) -> None:
    i, j = index("i", 17), index("j", 17)
    x = Input("x", (affine(17), affine(17)))
    live = Input("live", (affine(17),), "bool")
    window = domain(j <= i, affine(i) <= j + 5, Read(live, (affine(j),)))
    program = one("window", (i,), Reduce(SUM, (j,), window, (Read(x, (affine(i), affine(j))),)), x, live)
    agrees(program, random_inputs(program.graph), schedule)


def test_gathers_and_several_folded_indices() -> None:
    e, d, k = index("e", 9), index("d", 8), index("k", 3)
    table, which = Input("table", (affine(3), affine(8))), Input("which", (affine(9), affine(3)), "i32")
    read = Read(table, (Read(which, (affine(e), affine(k))), affine(d)))
    program = one("gather", (e, d), Reduce(SUM, (k,), EVERYWHERE, (read,)), table, which)
    agrees(program, random_inputs(program.graph), None)
    total = one("total", (), Reduce(SUM, (e, k, d), EVERYWHERE, (read,)), table, which)
    agrees(total, random_inputs(total.graph), None)


@pytest.mark.parametrize("kind", ["i8", "u8", "i16", "i32", "u32", "i64", "u64"])
def test_integers_wrap_and_divide_downwards(kind: str) -> None:
    i, j = index("i", 20), index("j", 4)
    a, b = Input("a", (affine(20), affine(4)), kind), Input("b", (affine(20), affine(4)), kind)
    x, y = (Read(s, (affine(i), affine(j))) for s in (a, b))
    source = np.random.default_rng(0)
    data = {s: source.integers(-100, 100, (20, 4)).astype(NUMPY[kind]) for s in "ab"}
    data["b"][data["b"] == 0] = 3
    for op in ("add", "mul", "idiv", "imod", "bitxor", "max"):
        program = one(f"integers_{op}", (i, j), apply(op, x, y), a, b, dtype=kind)
        np.testing.assert_array_equal(compile_program(program)(data)["out"], interpret(program.graph, data)["out"])
    total = one("total", (i,), Reduce(sum_of(kind), (j,), EVERYWHERE, (apply("mul", x, y),)), a, b, dtype=kind)
    np.testing.assert_array_equal(compile_program(total)(data)["out"], interpret(total.graph, data)["out"])


@pytest.mark.parametrize("kind", ["f16", "bf16", "f64"])
def test_storage_types(kind: str) -> None:
    i = index("i", 37)
    x = Input("x", (affine(37),), kind)
    body = apply("add", Read(x, (affine(i),)), const(0.5))
    program = one("stored", (i,), body, x, dtype=kind)
    data = np.random.default_rng(1).standard_normal(37)
    if kind == "bf16":
        bits = (data.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        got = compile_program(program)({"x": bits})["out"]
        want = (bits.astype(np.uint32) << 16).view(np.float32) + np.float32(0.5)
        found = (got.astype(np.uint32) << 16).view(np.float32)
        assert np.abs(found - want).max() <= np.abs(want).max() * 2.0**-8
        return
    held = data.astype(kind.replace("f", "float"))
    np.testing.assert_array_equal(
        compile_program(program)({"x": held})["out"], (held.astype(np.float64) + 0.5).astype(held.dtype)
    )


def test_casts_round_as_the_language_says() -> None:
    i = index("i", 12)
    x = Input("x", (affine(12),))
    read = Read(x, (affine(i),))
    data = {
        "x": np.array([1.1, -2.7, 65520.0, 1e-7, np.inf, -np.inf, np.nan, 3e9, -1e30, 300.0, 0.0, -0.5], np.float32)
    }
    for target, kind in (("f16", "f32"), ("bf16", "f32"), ("i32", "i32"), ("u8", "u8"), ("bool", "bool")):
        program = one(f"cast_{target}", (i,), apply(f"cast:{target}", read), x, dtype=kind)
        want = interpret(program.graph, data)["out"]
        np.testing.assert_array_equal(compile_program(program)(data)["out"].astype(want.dtype), want)


def test_any_over_conditions() -> None:
    i, j = index("i", 6), index("j", 9)
    x = Input("x", (affine(6), affine(9)), "bool")
    program = one("some", (i,), Reduce(ANY, (j,), EVERYWHERE, (Read(x, (affine(i), affine(j))),)), x, dtype="bool")
    np.testing.assert_array_equal(
        compile_program(program)({"x": np.eye(6, 9, 3) > 0})["out"], (np.eye(6, 9, 3) > 0).any(1)
    )


def test_a_donated_input_is_written_in_place_where_that_is_safe() -> None:
    i = index("i", 10)
    state = Input("state", (affine(10),), donated=True)
    here, flipped = Read(state, (affine(i),)), Read(state, (9 - affine(i),))
    for body, want in ((apply("add", here, const(1.0)), np.arange(10) + 1), (flipped, np.arange(10)[::-1])):
        graph = Graph("update", (state,), (Tensor("next", (i,), body, "f32", "state"),))
        array = np.arange(10, dtype=np.float32)
        result = compile_program(one_kernel_each(graph))({"state": array})["next"]
        assert result is array
        np.testing.assert_array_equal(array, want)


def test_arrays_are_checked_and_results_can_be_given() -> None:
    graph = product_graph(4, 4, 4)
    compiled = compile_program(one_kernel_each(graph))
    data = random_inputs(graph)
    out = np.empty((4, 4), np.float32)
    assert compiled(data, out={"C": out})["C"] is out
    np.testing.assert_allclose(compiled({"A": data["A"].T.copy().T, "B": data["B"]})["C"], out)
    with pytest.raises(InputError, match="input 'A' has extent 3 along axis 0, not 4"):
        compiled({"A": np.zeros((3, 4), np.float32), "B": data["B"]})
    with pytest.raises(InputError, match="elements of type float64, not f32"):
        compiled({"A": np.zeros((4, 4)), "B": data["B"]})
    with pytest.raises(InputError, match="no array for input 'B'"):
        compiled({"A": data["A"]})


def test_a_dim_that_no_input_shows_must_be_given() -> None:
    i = Index("i", affine(Dim("n", 1)))
    program = one("ramp", (i,), apply("cast:real", Position(affine(i))))
    compiled = compile_program(program)
    np.testing.assert_array_equal(compiled({}, {"n": 3})["out"], [0, 1, 2])
    with pytest.raises(BindError, match="dimension 'n' has no value"):
        compiled({})
    with pytest.raises(BindError):
        compiled({}, {"n": 0})


def test_the_cache_drops_damaged_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_CACHE", str(tmp_path / "one"))
    program = one_kernel_each(product_graph(2, 3, 5))
    compile_program(program)
    (name,) = (p.name for p in (tmp_path / "one" / "kernels").glob("*.so"))
    # another folder: a library that is loaded already would be found by its path
    monkeypatch.setenv("TANG_CACHE", str(tmp_path / "two"))
    entry = tmp_path / "two" / "kernels" / name
    entry.parent.mkdir(parents=True)
    entry.write_bytes(b"not a library")
    with pytest.warns(UserWarning, match="damaged"):
        compile_program(program)
    assert entry.stat().st_size > 1000


def test_no_compiler_is_an_error_of_three_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_CC", "no-such-compiler")
    with pytest.raises(TargetError) as caught:
        run_toolchain.compiler()
    assert str(caught.value).splitlines() == [
        "no C compiler was found",
        "  where: looked for no-such-compiler",
        "  mend:  install gcc or clang, set TANG_CC, or `pip install ziglang`",
    ]


def test_a_source_that_does_not_compile_says_where(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TANG_CACHE", str(tmp_path))
    with pytest.raises(TargetError, match="does not compile"):
        run_toolchain.build("int broken(")


def test_a_compiler_that_breaks_down_is_asked_for_less(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fragile = tmp_path / "fragile"
    fragile.write_text(
        "#!/bin/sh\n"
        'case "$*" in *-O1*) ;; *kernels*) echo "x.c:1:1: internal compiler error: fault" >&2; exit 1;; esac\n'
        'exec cc "$@"\n'
    )
    fragile.chmod(0o755)
    monkeypatch.setenv("TANG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TANG_CC", str(fragile))
    run_toolchain.build("int whole(void) { return 1; }\n")
    with pytest.raises(TargetError, match="does not compile"):
        run_toolchain.build("int broken(")


def test_loads_stay_in_bounds_where_a_row_starts() -> None:
    """A turn by two places along two axes: with -fwrapv alone, gcc 12 loads from wrong places here."""
    i, j, k = te.index("i", 3), te.index("j", 5), te.index("k", 7)
    x = te.input("X", (3, 5, 7))
    turned = te.tensor("t", (i, j, k), te.select(j <= 1, x[i, j + 3, k], x[i, j - 2, k]))
    g = te.graph("turned", y=te.tensor("y", (i, j, k), te.select(k <= 5, turned[i, j, k + 1], turned[i, j, 0])))
    given = np.random.default_rng(0).normal(size=(3, 5, 7)).astype(np.float32)
    np.testing.assert_array_equal(te.optimize(g, values="ieee")(given), np.roll(given, (2, -1), (1, 2)))
