"""Rounding to each type, exactly, and graphs computed in the types and the order of a kernel."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tang_egg as te
from tang_egg.errors import InputError, TargetError
from tang_egg.interpret import interpret
from tang_egg.ir import Graph
from tang_egg.precision import FORMATS, Order, Plan, fused, round_to, values_of_codes
from tang_egg.verify_plan import plan_of
from tests.strategies import Instance, graphs

Array = npt.NDArray[np.float64]
EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 65504.0, 65519.99, 65520.0, 448.0, 464.0, 464.0001, 57344.0, 61439.0,
         61440.0, 5e-324, 2.0**-149, 2.0**-150, 2.0**-24, 2.0**-25, 1.5 * 2.0**-24, 2.0**-133, 2.0**-9,
         2.0**-10, 2.0**-16]  # fmt: skip


def wide(seed: int = 0) -> Array:
    """Values over all exponents that matter, and at the edges of types."""
    rng = np.random.default_rng(seed)
    spread = rng.standard_normal(20000) * 2.0 ** rng.integers(-170, 140, 20000)
    near = rng.standard_normal(20000) * 2.0 ** rng.integers(-28, 20, 20000)
    return np.concatenate([spread, near, EDGES, [-x for x in EDGES]])


def same(a: Array, b: Array) -> None:
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(np.signbit(a[~np.isnan(a)]), np.signbit(b[~np.isnan(b)]))


@pytest.mark.parametrize(("kind", "own"), [("f16", np.float16), ("f32", np.float32)])
def test_rounding_is_that_of_numpy(kind: str, own: type[np.floating]) -> None:  # type: ignore[type-arg]
    x = wide()
    with np.errstate(all="ignore"):
        same(round_to(x, kind), x.astype(own).astype(np.float64))


@pytest.mark.parametrize("kind", ["bf16", "e5m2", "e4m3"])
def test_rounding_is_that_of_torch(kind: str) -> None:
    torch = pytest.importorskip("torch")
    own = {"bf16": torch.bfloat16, "e5m2": torch.float8_e5m2, "e4m3": torch.float8_e4m3fn}[kind]
    with np.errstate(all="ignore"):
        x = wide().astype(np.float32)
    expected = torch.tensor(x).to(own).to(torch.float64).numpy()
    held = x.astype(np.float64)
    if kind == "e4m3":  # what is too large is NaN or the largest value there, by the version
        inside = np.abs(round_to(held, kind, saturate=True)) < 448
        same(round_to(held, kind)[inside], expected[inside])
        return
    same(round_to(held, kind), expected)


@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
def test_all_codes_of_eight_bits(kind: str) -> None:
    torch = pytest.importorskip("torch")
    own = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}[kind]
    expected = torch.arange(256, dtype=torch.uint8).view(own).to(torch.float64).numpy()
    same(values_of_codes(kind), expected)
    same(round_to(expected, kind), expected)


@pytest.mark.parametrize("kind", [k for k in FORMATS if k != "f64"])
def test_rounding_gives_the_nearest_value_and_the_even_one_of_two(kind: str) -> None:
    """Against exact rationals: no value of the type is nearer, and halfway between two the even one is taken."""
    f = FORMATS[kind]
    rng = np.random.default_rng(3)
    exponents = rng.integers(max(f.least - f.digits - 1, -1000), f.most - 9, 300)
    for x in np.concatenate(
        [np.ldexp(rng.uniform(1, 2, 300), exponents), np.ldexp(rng.integers(1, 256, 300) + 0.5, exponents)]
    ):
        got = Fraction(float(round_to(x, kind)))
        exponent = max(int(np.frexp(x)[1]) - 1, f.least) - (f.digits - 1)
        step = Fraction(2) ** exponent
        below = (Fraction(float(x)) // step) * step
        nearest = min((below, below + step), key=lambda v: (abs(v - Fraction(float(x))), (v / step) % 2))
        assert got == nearest, (kind, x)


def test_what_is_too_large() -> None:
    assert round_to(65520.0, "f16") == np.inf and round_to(65519.0, "f16") == 65504.0
    assert round_to(-1e39, "f32") == -np.inf and round_to(1e39, "bf16", saturate=True) == FORMATS["bf16"].largest
    assert np.isnan(round_to(465.0, "e4m3")) and round_to(464.0, "e4m3") == 448.0
    assert np.isnan(round_to(np.inf, "e4m3")) or round_to(np.inf, "e4m3") == np.inf
    assert round_to(1e9, "e4m3", saturate=True) == 448.0 and round_to(-np.inf, "e5m2", saturate=True) == -57344.0


@settings(max_examples=300, deadline=None)
@given(*[st.floats(-1e6, 1e6, width=32)] * 3, st.integers(-40, 40))
def test_a_fused_product_is_rounded_once(a: float, b: float, c: float, shift: int) -> None:
    """Against exact rationals, with the addend far away and near."""
    for addend in (c, float(np.float32(np.ldexp(c, shift))), -float(np.float32(a * b))):
        got = fused(np.array(a), np.array(b), np.array(addend), "f32")
        exact = Fraction(a) * Fraction(b) + Fraction(addend)
        if not np.isfinite(got) or abs(exact) < 2.0**-120:
            continue
        step = Fraction(2) ** (int(np.frexp(float(exact))[1]) - 25) if exact else Fraction(1)
        assert abs(Fraction(float(got)) - exact) <= step, (a, b, addend)
        assert float(got) == float(np.float32(got))


def test_double_rounding_is_seen_and_avoided() -> None:
    """2^-24 above a halfway point: float64 then float32 rounds to even twice, the fused sum does not."""
    a, b, c = 1.0 + 2.0**-23, 2.0**-1 * (1.0 - 2.0**-24) * 2, 2.0**-60
    half = np.array(1.0 + 2.0**-24)  # halfway between two singles
    got = fused(np.array(1.0), half, np.array(2.0**-70), "f32")
    assert got == 1.0 + 2.0**-23, "what is beyond the middle goes up"
    assert round_to(np.float64(1.0 + 2.0**-24) + 2.0**-70, "f32") == 1.0, "the sum in float64 has lost it"
    assert np.isfinite(fused(np.array(a), np.array(b), np.array(c), "f32"))


# Graphs.


def rows(body: str, n: int = 37, dtype: str = "f32") -> Graph:
    i, j = te.indices("i j")
    x = te.input("X", (3, n), dtype)
    made = {"sum": x[i, j], "squares": x[i, j] * x[i, j], "exp": te.exp(x[i, j])}[body]
    return te.graph("g", y=te.tensor("y", i, te.sum(j, made), dtype))


def in_type(values: Array, own: type[np.floating]) -> Array:  # type: ignore[type-arg]
    """The sums of rows in NumPy's own arithmetic, point by point."""
    total = np.zeros(len(values), own)
    for column in values.T.astype(own):
        total = total + column
    return total.astype(np.float64)


@pytest.mark.parametrize(("kind", "own"), [("f32", np.float32), ("f16", np.float16)])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 37, 300])
def test_sums_in_order_are_those_of_numpy(kind: str, own: type[np.floating], n: int) -> None:  # type: ignore[type-arg]
    x = np.random.default_rng(n).standard_normal((3, n)).astype(own).astype(np.float64)
    found = interpret(rows("sum", n), {"X": x}, precision=Plan(arithmetic=kind))["y"]
    np.testing.assert_array_equal(found, round_to(in_type(x, own), kind))
    if n == 300:
        assert (found != x.sum(axis=1)).any(), "the sum in double precision is another one"


def test_blocks_of_memory_do_not_change_the_order() -> None:
    x = np.random.default_rng(2).standard_normal((3, 300)).astype(np.float32)
    for order in (Order(), Order("lanes", 8), Order("stream", 32, 8), Order("blocks", 3), Order("tree")):
        plan = Plan(arithmetic="f32", order=order)
        whole = interpret(rows("squares", 300), {"X": x}, precision=plan)["y"]
        for memory in (400, 3000):
            np.testing.assert_array_equal(
                interpret(rows("squares", 300), {"X": x}, precision=plan, memory=memory)["y"], whole
            )


def lanes_by_hand(x: Array, n: int) -> Array:
    lanes = np.zeros((len(x), n), np.float32)
    for at in range(0, x.shape[1], n):
        lanes += x[:, at : at + n].astype(np.float32)
    while lanes.shape[1] > 8:
        half = lanes.shape[1] // 2
        lanes = lanes[:, :half] + lanes[:, half:]
    while lanes.shape[1] > 1:
        lanes = lanes[:, 0::2] + lanes[:, 1::2]
    return lanes[:, 0].astype(np.float64)


@pytest.mark.parametrize("n", [8, 16, 32])
def test_lanes_are_partial_sums_and_a_tree(n: int) -> None:
    x = np.random.default_rng(n).standard_normal((3, 4 * n))
    held = round_to(x, "f32")
    found = interpret(rows("sum", 4 * n), {"X": held}, precision=Plan(order=Order("lanes", n)))["y"]
    np.testing.assert_array_equal(found, lanes_by_hand(held, n))


def test_a_tree_is_nearer_than_a_chain() -> None:
    x = round_to(np.random.default_rng(0).uniform(0, 1, (3, 2000)), "f32")
    exact = x.sum(axis=1)
    errors = {}
    for order in (Order(), Order("tree"), Order("blocks", 4)):
        plan = Plan(arithmetic="bf16", order=order)
        found = interpret(rows("sum", 2000), {"X": x}, precision=plan)["y"]
        errors[order.how] = float(np.abs(found - exact).max() / exact.max())
    assert errors["tree"] < errors["blocks"] < errors["sequential"] and errors["sequential"] > 0.5


def test_a_wide_accumulator_keeps_what_narrow_arithmetic_loses() -> None:
    x = round_to(np.random.default_rng(0).uniform(0, 1, (3, 1000)), "bf16")
    narrow = interpret(rows("sum", 1000), {"X": x}, precision=Plan(arithmetic="bf16"))["y"]
    held = interpret(rows("sum", 1000), {"X": x}, precision=Plan(arithmetic="bf16", accumulate={("y", "j"): "f32"}))[
        "y"
    ]
    exact = x.sum(axis=1)
    assert np.abs(held - exact).max() < 1e-4 * exact.max() < np.abs(narrow - exact).max()


def test_storage_and_operands_round() -> None:
    i, j, k = te.indices("i j k")
    a, b = te.input("A", (4, 9)), te.input("B", (9, 5))
    graph = te.graph("m", c=te.tensor("c", (i, j), te.sum(k, a[i, k] * b[k, j])))
    rng = np.random.default_rng(1)
    arrays = {"A": rng.standard_normal((4, 9)), "B": rng.standard_normal((9, 5))}
    for kind in ("bf16", "f16", "e4m3", "e5m2"):
        found = interpret(graph, arrays, precision=Plan({"A": kind, "B": kind, "c": kind}))["c"]
        exact = round_to(arrays["A"], kind) @ round_to(arrays["B"], kind)
        np.testing.assert_allclose(found, round_to(exact, kind), rtol=2 * FORMATS[kind].epsilon, atol=2.0**-9)
        np.testing.assert_array_equal(found, round_to(found, kind))
    tf32 = interpret(graph, arrays, precision=Plan(arithmetic="f32", operands="tf32"))["c"]
    exact = round_to(arrays["A"], "tf32") @ round_to(arrays["B"], "tf32")
    np.testing.assert_allclose(tf32, exact, rtol=1e-5, atol=1e-5)
    assert np.abs(tf32 - arrays["A"] @ arrays["B"]).max() > 1e-5


@settings(max_examples=40, deadline=None)
@given(graphs(sizes=(0, 1, 2, 3, 5)))
def test_double_precision_is_the_oracle(instance: Instance) -> None:
    exact = interpret(instance.graph, instance.inputs, instance.dims)
    plan = Plan(arithmetic="f64", storage={t.name: "f64" for t in instance.graph.outputs if t.dtype == "f32"})
    for name, array in interpret(instance.graph, instance.inputs, instance.dims, precision=plan).items():
        np.testing.assert_allclose(array, exact[name], rtol=1e-9, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(graphs(sizes=(0, 1, 2, 3, 5)), st.sampled_from([Order(), Order("tree"), Order("lanes", 4), Order("stream", 4)]))
def test_single_precision_stays_within_the_bound_of_the_graph(instance: Instance, order: Order) -> None:
    exact = interpret(instance.graph, instance.inputs, instance.dims)
    found = interpret(instance.graph, instance.inputs, instance.dims, precision=Plan(arithmetic="f32", order=order))
    for name, array in found.items():
        np.testing.assert_allclose(array, exact[name], rtol=0, atol=instance.tolerance[name] * 4 + 1e-30)


# Kernels.


def compiled_pair(graph: Graph, seed: int = 0) -> tuple[dict[str, Array], dict[str, Array]]:
    """What C computes, and the emulation of its plan."""
    rng = np.random.default_rng(seed)
    arrays = {
        i.name: rng.standard_normal(tuple(s.value or 0 for s in i.shape)).astype(np.float32) for i in graph.inputs
    }
    compiled = te.optimize(graph, verified=False)
    got = {k: np.asarray(v, np.float64) for k, v in compiled.run(**arrays).items()}
    return got, interpret(compiled.program.graph, arrays, precision=plan_of(compiled))


@pytest.mark.parametrize(("body", "n"), [("sum", 100), ("squares", 33), ("squares", 35)])
def test_a_kernel_of_sums_is_emulated_bit_for_bit(body: str, n: int) -> None:
    got, emulated = compiled_pair(rows(body, n))
    np.testing.assert_array_equal(emulated["y"], got["y"])


def test_a_matrix_product_is_emulated_bit_for_bit() -> None:
    i, j, k = te.indices("i j k")
    a, b = te.input("A", (7, 53)), te.input("B", (53, 20))
    got, emulated = compiled_pair(te.graph("m", c=te.tensor("c", (i, j), te.sum(k, a[i, k] * b[k, j]))))
    np.testing.assert_array_equal(emulated["c"], got["c"])


def test_elementwise_arithmetic_is_emulated_bit_for_bit() -> None:
    """Sums of two products, quotients and roots among it: the first product is the one that is not rounded."""
    i, j = te.indices("i j")
    x = te.input("X", (5, 21))
    body = x[i, j] * x[i, j] + x[i, j] * 2.5 - te.sqrt(te.maximum(x[i, j], 0.0)) / 3.0
    got, emulated = compiled_pair(te.graph("g", y=te.tensor("y", (i, j), body)))
    np.testing.assert_array_equal(emulated["y"], got["y"])


def test_a_cascade_is_emulated_to_the_last_places_of_exp() -> None:
    got, emulated = compiled_pair(te.graph("s", y=te.softmax(te.input("X", (8, 67)))))
    spacing = np.spacing(np.abs(got["y"]).astype(np.float32)).astype(np.float64)
    assert (np.abs(emulated["y"] - got["y"]) <= 6 * spacing).all()


def test_only_c_has_a_known_order() -> None:
    class Device:
        target = "cuda"
        graph = rows("sum")

    with pytest.raises(TargetError) as e:
        plan_of(Device())  # type: ignore[arg-type]
    assert str(e.value) == (
        "no order of summation is known for target 'cuda'\n"
        "  where: graph 'g'\n"
        "  mend:  compile it for target 'c', or write a Plan by hand"
    )


@pytest.mark.parametrize(
    ("plan", "what"),
    [
        (Plan(arithmetic="f8"), "no float type 'f8' in a precision plan"),
        (Plan({"X": "int8"}), "no float type 'int8' in a precision plan"),
        (Plan({"x": "f16"}), "the precision plan names 'x', which the graph does not have"),
        (Plan(order=Order("random")), "no order 'random' of 1 in a precision plan"),
        (Plan(orders={"y": Order("lanes", 0)}), "no order 'lanes' of 0 in a precision plan"),
    ],
)
def test_a_plan_that_means_nothing_is_an_error(plan: Plan, what: str) -> None:
    with pytest.raises(InputError) as e:
        interpret(rows("sum"), {"X": np.zeros((3, 37))}, precision=plan)
    assert e.value.what.startswith(what) and e.value.where == "graph 'g'" and e.value.mend
