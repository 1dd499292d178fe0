"""Constants of devices, the floors of time that rest on them, and the model: by hand-computed cases."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tang_egg as te
from tang_egg import layers, library
from tang_egg.affine import Index, affine
from tang_egg.assemble import graph
from tang_egg.cost.bound import least_time
from tang_egg.cost.device import MEMORY, UNKNOWN, Device, DeviceError, Figure, Level, Unit, device_of, merged
from tang_egg.cost.estimates import ESTIMATES, H200, SMALL_CORE, SMALL_PROCESSOR, estimate
from tang_egg.cost.live import ALWAYS, points, spelling
from tang_egg.cost.model import Demand, Loop, Operand, demand, nest_traffic, predict
from tang_egg.cost.time import TimeFloor, Work, fastest, for_schedule, time_floor
from tang_egg.cost.work import operations
from tang_egg.errors import BindError
from tang_egg.ir import Graph
from tang_egg.program import KernelPlan, Program
from tang_egg.schedule import PLAIN, parse_schedule

DEVICE = Device(
    "made up", "c", "none", workers=2, slots=4, launch=Figure(2e-6, 1e-6),
    levels=(
        Level("registers", 512, 2),
        Level("L1", 1 << 15, 2, Figure(2e-9, 1e-9), UNKNOWN, Figure(1e11, 2e11, 3e11), Figure(1e11), Figure(1e11)),
        Level(MEMORY, 0, 1, Figure(1e-7, 9e-8), Figure(6e-8, 5e-8), Figure(1e10, 2e10), Figure(8e9), Figure(1e10)),
    ),
    units=(Unit("f32", False, Figure(1e11, 1.5e11, 2e11)), Unit("bf16", True, Figure(1e12))),
    team=Figure(1e-6), clock=2e9,
)  # fmt: skip


# Records


def test_floors_take_the_favourable_end_and_models_the_median() -> None:
    rate, seconds = Figure(10.0, 12.0, 11.0), Figure(10.0, 8.0)
    assert (rate.ceiling, rate.value, seconds.least) == (12.0, 10.0, 8.0)
    assert Figure(10.0, 12.0, 20.0).ceiling == 20.0  # width times clock says more than was measured
    assert Figure(3.0).least == 3.0
    memory = DEVICE.level(MEMORY)
    assert (memory.ceiling, memory.rate, memory.least_latency) == (2e10, 1e10, 5e-8)


def test_fast_memory_is_all_that_is_faster() -> None:
    assert [DEVICE.faster_than(x.name) for x in DEVICE.levels] == [0, 1024, 1024 + 2 * (1 << 15)]
    with pytest.raises(DeviceError) as caught:
        DEVICE.level("L7")
    assert str(caught.value) == (
        "the device has no level 'L7'\n  where: made up, target c\n  mend:  one of registers, L1, memory"
    )


@pytest.mark.parametrize("device", [DEVICE, *ESTIMATES], ids=lambda d: d.name)
def test_json_gives_the_same_device(device: Device) -> None:
    assert device_of(json.loads(json.dumps(device.data()))) == device


def damaged() -> list[tuple[str, Any, str]]:
    """A path into the record, what stands there instead, and what the error names."""
    return [
        ("format", 2, "format 2 and not 1"),
        ("workers", 0, "workers"),
        ("workers", True, "workers"),
        ("name", 3, "name"),
        ("launch.value", math.nan, "launch.value"),
        ("launch.value", -1.0, "launch.value"),
        ("launch.value", "fast", "launch.value"),
        ("launch.origin", "heaven", "launch.origin"),
        ("levels", [], "the last one is not 'memory'"),
        ("levels.1.capacity", 1.5, "levels[1].capacity"),
        ("units.0.matrix", 1, "units[0].matrix"),
        ("units.0", None, "units[0]"),
        ("notes", "a", "notes"),
    ]


@pytest.mark.parametrize(("path", "value", "said"), damaged())
def test_a_wrong_record_is_refused_with_its_place(path: str, value: Any, said: str) -> None:
    data = json.loads(json.dumps(DEVICE.data()))
    at: Any = data
    *way, last = path.split(".")
    for step in way:
        at = at[int(step)] if isinstance(at, list) else at[step]
    at[int(last) if isinstance(at, list) else last] = value
    with pytest.raises(DeviceError) as caught:
        device_of(data)
    assert said in str(caught.value)
    assert caught.value.mend == "measure anew: tang-doctor --probe"


def test_missing_and_unknown_fields_are_named() -> None:
    data = DEVICE.data()
    del data["clock"]
    data["colour"] = "red"
    with pytest.raises(DeviceError, match="missing or unknown: clock, colour"):
        device_of(data)
    with pytest.raises(DeviceError, match="no object"):
        device_of([1, 2])


def test_merging_keeps_the_best_of_both_and_the_medians_of_the_new() -> None:
    old = replace(DEVICE, launch=Figure(5e-6, 0.5e-6), clock=3e9, units=(Unit("f32", False, Figure(9e10, 9e11)),))
    kept = merged(old, DEVICE)
    assert (kept.launch.value, kept.launch.best, kept.clock) == (2e-6, 0.5e-6, 3e9)
    assert [u.rate.best for u in kept.units] == [9e11, 0.0]
    guess = replace(DEVICE, launch=Figure(1e-9, 1e-9, origin="estimate"))
    assert merged(guess, DEVICE).launch == DEVICE.launch  # an estimate is never taken for a measurement


# The time floor


def test_the_floor_is_the_launch_and_the_largest_term() -> None:
    floor = time_floor(DEVICE, {MEMORY: 4e6, "L1": 8e6}, [Work("f32", 1e6)])
    memory, near, vector = 5e-8 + 4e6 / 2e10, 1e-9 + 8e6 / 3e11, 1e6 / 2e11
    assert [t.seconds for t in floor.terms] == [memory, near, vector]
    assert floor.seconds == 1e-6 + memory
    assert (floor.binding.what, floor.proves, floor.fixed) == (MEMORY, True, False)
    assert floor.reach(2 * floor.seconds) == 0.5
    assert time_floor(DEVICE, {MEMORY: 100.0}).binding.what == "launch"


def test_nothing_to_do_takes_a_launch_each() -> None:
    assert time_floor(DEVICE, {}).seconds == 1e-6
    assert time_floor(DEVICE, {MEMORY: 0.0}, [Work("f32", 0.0)], launches=3).seconds == 3e-6


def test_equal_work_is_added_up_and_other_work_runs_beside_it() -> None:
    floor = time_floor(DEVICE, {}, [Work("f32", 1e6), Work("f32", 3e6), Work("bf16", 1e6, True)])
    assert [(t.what, t.seconds) for t in floor.terms] == [("vector f32", 4e6 / 2e11), ("matrix bf16", 1e6 / 1e12)]


def test_products_may_run_on_matrix_units_and_other_work_may_not() -> None:
    product, plain = fastest(DEVICE, Work("bf16", 1.0, True)), fastest(DEVICE, Work("bf16", 1.0))
    assert product is not None and plain is not None
    assert (product[0].name, product[1]) == ("matrix bf16", 1e12)
    # f32 stands for bf16 with twice the lanes, since a narrow operation may run on twice as many
    assert (plain[0].name, plain[1]) == ("vector f32", 4e11)
    assert fastest(DEVICE, Work("f64", 1.0)) is None  # unknown: no term, never a wrong one


def test_a_schedule_waits_a_cache_hit_for_each_round() -> None:
    floor = time_floor(DEVICE, {MEMORY: 100.0})
    own = for_schedule(floor, DEVICE, groups=401)
    assert own.fixed and not floor.fixed
    assert own.seconds == 1e-6 + max(101 * 1e-9, floor.terms[0].seconds)
    assert for_schedule(floor, DEVICE, groups=400_001).binding.what == "rounds"
    assert for_schedule(floor, DEVICE, 0).terms[-1].seconds == 0
    with pytest.raises(DeviceError, match="is no amount"):
        for_schedule(floor, DEVICE, -1)


@pytest.mark.parametrize("count", [-1.0, math.inf, math.nan, True, "many"])
def test_amounts_are_numbers_from_0_on(count: Any) -> None:
    for call in (lambda: time_floor(DEVICE, {MEMORY: count}), lambda: time_floor(DEVICE, {}, [Work("f32", count)])):
        with pytest.raises(DeviceError) as caught:
            call()
        assert caught.value.mend == "give a finite number from 0 on"
    with pytest.raises(DeviceError, match="operands of type 'f99' are not known"):
        time_floor(DEVICE, {}, [Work("f99", 1.0)])


def test_a_floor_on_estimates_says_that_it_proves_nothing() -> None:
    floor = time_floor(estimate("c"), {MEMORY: 1e6}, [Work("f32", 1.0)])
    assert not floor.proves
    assert "tang-doctor --probe" in floor.text()
    assert floor.data()["binding"] == MEMORY
    with pytest.raises(DeviceError) as caught:
        estimate("metal")
    assert "no constants of a device are known for target 'metal'" in str(caught.value)
    assert "tang-doctor --probe --target metal" in caught.value.mend


@given(st.floats(0, 1e15), st.floats(0, 1e15), st.floats(0, 1e18), st.floats(0, 1e18))
def test_more_work_never_takes_less(a: float, b: float, f: float, g: float) -> None:
    def seconds(moved: float, count: float) -> float:
        return time_floor(DEVICE, {MEMORY: moved}, [Work("f32", count)]).seconds

    assert seconds(min(a, b), min(f, g)) <= seconds(max(a, b), max(f, g))


# Operations


def counts(g: Graph | KernelPlan) -> dict[tuple[str, bool], float]:
    return {(w.operand, w.product): w.operations for w in operations(g)}


def test_a_matmul_has_two_operations_a_point_less_one_an_output() -> None:
    g = graph("matmul", C=library.matmul(te.input("A", (5, 7), "bf16"), te.input("B", (7, 3), "bf16")))
    assert counts(g) == {("bf16", True): 2 * 5 * 7 * 3 - 5 * 3}


@pytest.mark.parametrize("n", [2, 7, 13])
def test_causal_attention_counts_live_pairs_only(n: int) -> None:
    q, k, v = (te.input(x, (2, n, 3)) for x in "QKV")
    found = counts(graph("attention", O=layers.attention(q, k, v, causal=True)))
    pairs = 2 * n * (n + 1) // 2
    scores = pairs * (2 * 3 - 1)  # a product over three for each live pair
    least = scores + 3 * (2 * pairs - 2 * n)  # and three products over live pairs for each query
    assert least <= found["f32", True] <= 4 * 3 * pairs


def test_equal_terms_under_other_names_count_once() -> None:
    x = te.input("X", (5, 7))
    i, j, k = te.indices("i j k")
    first, second = (te.tensor(None, i, te.sum(a, te.exp(x[i, a]) * 2.0)) for a in (j, k))
    once, twice = graph("once", A=first), graph("twice", A=first, B=second)
    assert counts(once) == counts(twice) == {("f32", False): 35, ("f32", True): 2 * 35 - 5}
    one, other = (t.body for t in twice.outputs)
    assert one is not other
    assert spelling(one) == spelling(other)


def test_what_data_may_leave_out_does_not_count() -> None:
    x, on = te.input("X", (5, 7)), te.input("on", (7,), "bool")
    i, j = te.indices("i j")
    g = graph("masked", S=te.tensor(None, i, te.sum(j, x[i, j] * x[i, j], where=on[j])))
    assert counts(g) == {}


def test_operations_of_a_kernel_stop_at_what_it_reads() -> None:
    x = te.input("X", (5, 7))
    i, j = te.indices("i j")
    inner = te.tensor("inner", (i, j), te.exp(x[i, j]) * 3.0)
    outer = te.tensor("outer", i, te.sum(j, inner[i, j] * x[i, j]))
    g = graph("two", outer)
    reads = KernelPlan("outer", g.outputs)
    assert counts(reads) == {("f32", True): 2 * 35 - 5}
    assert counts(g) == {("f32", True): 2 * 35 - 5, ("f32", False): 70}


def test_a_size_without_a_value_is_refused() -> None:
    n = te.dim("n")
    x, i = te.input("X", (n,)), te.index("i")
    g = graph("open", Y=te.tensor(None, i, x[i] * 2.0))
    for call in (lambda: operations(g), lambda: operations(KernelPlan("Y", g.outputs))):
        with pytest.raises(BindError) as caught:
            call()
        assert str(caught.value).splitlines()[0] == "no value for dim n"
        assert "graph.bind(n=…)" in caught.value.mend
    assert counts(g.bind(n=3)) == {("f32", False): 3}


small = st.integers(0, 5)


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(-3, 3)), max_size=3), small, small)
def test_points_agree_with_enumeration(conditions: list[tuple[int, int, int]], m: int, n: int) -> None:
    i, j = Index("i", affine(m)), Index("j", affine(n))
    forms = frozenset(a * i + b * j + c >= 0 for a, b, c in conditions)
    live = [
        (x, y)
        for x, y in itertools.product(range(m), range(n))
        if all(a * x + b * y + c >= 0 for a, b, c in conditions)
    ]
    assert points((i, j), forms) == len(live)
    # j may take any value that fits; without a condition that mentions it, it is not looked at
    mentions = any(j in c.indices() for c in forms)
    firsts = (
        len({x for x, _ in live}) if mentions else sum(all(a * x + c >= 0 for a, _, c in conditions) for x in range(m))
    )
    assert points((i,), forms) == firsts
    assert points((i, j), None) == 0
    assert points((i, j), ALWAYS) == m * n


def test_prefixes_share_their_sums() -> None:
    """All n prefix sums take n - 1 additions, and no bound may count each by itself."""
    from tang_egg import library_scan

    n = 64
    found = operations(graph("running", Y=library_scan.cumulative_sum(te.input("X", (3, n)))))
    (work,) = found
    assert 0 < work.operations <= 3 * (n - 1)
    assert work.operations == 3 * (n + 1) / 2 - 3  # of the prefix of mean length, for each row


# Floors of graphs on a device


def test_a_memory_bound_graph_takes_its_bytes() -> None:
    n = 1 << 20
    x, i = te.input("X", (n,)), te.index("i")
    g = graph("scaled", Y=te.tensor(None, i, x[i] * 2.0))
    floor = least_time(g, DEVICE)
    assert floor.binding.what == MEMORY
    shared = 2e10 * 8e9 / (2e10 + 8e9)  # a copy at 1e10 is slower than reads and writes that take turns
    assert floor.seconds == pytest.approx(1e-6 + 5e-8 + 4 * n / shared)
    warm = least_time(g, DEVICE, state="warm")
    assert warm.seconds == pytest.approx(1e-6 + 5e-8 + (4 * n - DEVICE.faster_than(MEMORY)) / shared)
    assert [t.what for t in least_time(g, DEVICE, levels=(MEMORY,)).terms] == [MEMORY, "vector f32"]


def test_what_must_be_read_comes_no_faster_than_reads() -> None:
    """Stores past the caches may be faster than any load; a copy reads half of what it moves."""
    n = 1 << 20
    x, i = te.input("X", (n,)), te.index("i")
    g = graph("sum", S=te.tensor(None, (), te.sum(i, x[i])))
    memory = replace(DEVICE.level(MEMORY), write=Figure(8e10), copy=Figure(5e10))
    stores = replace(DEVICE, levels=(*DEVICE.levels[:-1], memory))
    assert memory.read_ceiling == 2.5e10
    floor = least_time(g, stores)
    assert floor.binding.what == MEMORY
    assert floor.seconds == pytest.approx(1e-6 + 5e-8 + 4 * n / 2.5e10)
    warm = least_time(g, stores, state="warm")
    seconds = {t.what: t.seconds for t in warm.terms}
    assert seconds[MEMORY] == pytest.approx(5e-8 + (4 * n - DEVICE.faster_than(MEMORY)) / 2.5e10)


def test_a_program_takes_the_sum_of_its_kernels() -> None:
    x, i = te.input("X", (1000,)), te.index("i")
    a = te.tensor("a", i, x[i] * 2.0)
    g = graph("two", te.tensor("b", i, a[i] + 1.0))
    (b,) = g.outputs
    inner = next(iter({s.source for s in [b.body.args[0]]}))  # type: ignore[attr-defined]
    parts = KernelPlan("a", (inner,)), KernelPlan("b", (b,))
    whole = least_time(Program(g, parts), DEVICE)
    apart = [least_time(k, DEVICE) for k in parts]
    assert whole.seconds == pytest.approx(sum(f.seconds for f in apart))
    assert least_time(g, DEVICE).seconds < whole.seconds  # fused, it is one launch and half the bytes
    assert least_time(Program(g, parts[:1]), DEVICE) == apart[0]


def test_products_run_in_the_type_that_is_allowed() -> None:
    g = graph("matmul", C=library.matmul(te.input("A", (64, 64)), te.input("B", (64, 64))))
    assert "vector f32" in [t.what for t in least_time(g, H200).terms]
    assert "matrix tf32" in [t.what for t in least_time(g, H200, products={"f32": "tf32"}).terms]


# The model


M, N, K = (Index(x, affine(64)) for x in "mnk")
MATMUL = (Operand("C", 4, (M + 0, N + 0)), Operand("A", 4, (M + 0, K + 0)), Operand("B", 4, (K + 0, N + 0)))


def test_traffic_of_a_nest_follows_what_fits() -> None:
    plain = (Loop(M, 64, 1), Loop(N, 64, 1), Loop(K, 64, 1))
    assert nest_traffic(plain, MATMUL, 1 << 20) == 3 * 64 * 64 * 4  # everything fits: each once
    # one row of A, one column of B, an element of C: A once per row, B for every row
    assert nest_traffic(plain, MATMUL, 600) == 4 * (64 * 64 + 64 * 64 + 64 * 64 * 64)
    # nothing fits but an element of each: only C, which the innermost loop does not change, is kept
    assert nest_traffic(plain, MATMUL, 12) == 4 * (64 * 64 + 2 * 64**3)


def test_traffic_of_a_tiled_nest() -> None:
    tiled = (Loop(M, 8, 8), Loop(N, 8, 8), Loop(K, 64, 1), Loop(M, 8, 1), Loop(N, 8, 1))
    # a tile of C (64 elements) with a column of A and a row of B (8 each) fits into 80 elements
    assert nest_traffic(tiled, MATMUL, 320) == 4 * (64 * 64 + 2 * 64 * 64 * 8)


def test_an_unknown_coordinate_may_be_anywhere() -> None:
    gathered = Operand("T", 4, (None, N + 0))
    assert gathered.depends(M) and gathered.footprint({M: 2, N: 3}) == 4 * 6 * 3


@given(st.integers(16, 1 << 16))
def test_more_fast_memory_never_moves_more(capacity: int) -> None:
    nest = (Loop(M, 8, 8), Loop(N, 4, 16), Loop(K, 64, 1), Loop(M, 8, 1), Loop(N, 16, 1))
    assert nest_traffic(nest, MATMUL, capacity) >= nest_traffic(nest, MATMUL, capacity + 64)


def test_predictions_are_never_below_the_floor_and_name_what_binds() -> None:
    asked = Demand({MEMORY: 1e6}, (Work("f32", 1e9),), groups=1)
    found = predict(DEVICE, asked)
    # one of four slots: a quarter of the peak
    assert found.parts["arithmetic f32"] == pytest.approx(1e9 / (1e11 / 4))
    assert found.binding == "arithmetic f32"
    assert found.seconds > found.parts["arithmetic f32"]
    floor = TimeFloor(1.0, ())
    assert predict(DEVICE, asked, floor).seconds == 1.0
    assert "predicted" in found.text()


def test_rounds_that_are_not_full_cost_as_much() -> None:
    def seconds(groups: int) -> float:
        return predict(DEVICE, Demand({}, (Work("f32", 1e9 * groups),), groups, parallel=True)).parts["arithmetic f32"]

    assert seconds(8) == pytest.approx(seconds(5))
    assert seconds(5) > 1.5 * seconds(4)


def test_tiles_are_expected_to_be_quicker_than_none_and_neither_is_below_the_floor() -> None:
    g = graph("matmul", C=library.matmul(te.input("A", (256, 256)), te.input("B", (256, 256))))
    plan = KernelPlan("C", g.outputs)
    i, j = (x.name for x in g.outputs[0].axes)
    tiled = parse_schedule(f"tile order={j},{i} parallel={j} tile={j}:16,{i}:4")
    asked = demand(plan, tiled, SMALL_PROCESSOR)
    quick, slow = (predict(SMALL_PROCESSOR, d).seconds for d in (asked, demand(plan, PLAIN, SMALL_PROCESSOR)))
    assert least_time(plan, SMALL_PROCESSOR).seconds <= quick < slow
    assert (asked.groups, asked.parallel) == (16, True)
    assert asked.traffic[MEMORY] == 3 * 256 * 256 * 4


def test_a_sum_in_one_accumulator_is_a_chain() -> None:
    x, i = te.input("X", (4096,)), te.index("i")
    g = graph("sum", S=te.tensor(None, (), te.sum(i, x[i])))
    plan = KernelPlan("S", g.outputs)
    plain, split = (
        demand(plan, parse_schedule(s), SMALL_CORE) for s in ("point fold=i:serial", "split fold=i:lanes:64")
    )
    assert (plain.chain, split.chain) == (4096.0, 8.0)
    with pytest.raises(BindError):
        open_plan = graph("s", S=te.tensor(None, (), te.sum(i, te.input("Z", (te.dim("n"),))[i])))
        demand(KernelPlan("S", open_plan.outputs), PLAIN, SMALL_CORE)
