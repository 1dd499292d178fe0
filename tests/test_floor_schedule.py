"""The floors of one schedule: against an explicit fast memory, all ways to share tiles out, printed code, real runs."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import assume, given, settings

import tang_egg as te
from tang_egg.codegen.vectors import AVX2, AVX512
from tang_egg.cost.estimates import estimate
from tang_egg.cost.floor_schedule import (
    FUNCTIONS,
    LEAST,
    MULTIPLIED,
    busiest,
    depths_of,
    longest_chain,
    loops_around,
    narrow_folds,
    order_traffic,
    schedule_terms,
    spelt_out,
    vector_bytes,
)
from tang_egg.cost.time import Work
from tang_egg.cost.work import operations
from tang_egg.errors import TangError
from tang_egg.extract.certify_ledger import Timed, Trial
from tang_egg.extract.space import SpaceKernel, declared, key_of, standalone
from tang_egg.ir import Tensor
from tang_egg.measure_build import printed_alone
from tang_egg.measure_single import CpuKernels
from tang_egg.pipeline_floors import CpuOffers, TimeFloors
from tang_egg.pipeline_space import sizes_of, target_of
from tang_egg.schedule import PLAIN, FoldPlan, Schedule, parse_schedule
from tests.cache_model import moved
from tests.test_floor_sound import Rows, nests, steps_of, tensor_of

Nest = tuple[dict[str, int], list[tuple[str, Rows]], tuple[str, ...]]


def product(m: int, n: int, k: int) -> tuple[Tensor, ...]:
    return standalone(te.graph("p", C=te.matmul(te.input("A", (m, k)), te.input("B", (k, n)))).outputs)


def total(n: int) -> tuple[Tensor, ...]:
    i = te.index("i")
    return standalone(te.graph("t", S=te.tensor(None, (), te.sum(i, te.input("X", (n,))[i]))).outputs)


def points_in_order(
    sizes: dict[str, int], loops: tuple[tuple[te.Index, int, int], ...], seed: int
) -> list[dict[str, int]]:
    """All points, by the turns of some loops, in any order inside of a turn."""
    rng = random.Random(seed)
    points = [dict(zip(sizes, p, strict=True)) for p in itertools.product(*(range(n) for n in sizes.values()))]
    shuffled = sorted(points, key=lambda _: rng.random())
    return sorted(shuffled, key=lambda p: [p[i.name] // step for i, _, step in loops])


@settings(max_examples=60, deadline=None)
@given(nests(windows=False), st.data(), st.integers(2, 9), st.integers(0, 1 << 20))
def test_no_order_inside_of_the_turns_reads_less(nest: Nest, data: st.DataObject, capacity: int, seed: int) -> None:
    sizes, views, out = nest
    assume(out)
    order = data.draw(st.permutations(out))
    tiles = tuple((d, data.draw(st.integers(1, sizes[d]), label=d)) for d in out)
    outputs = standalone((tensor_of(sizes, views, out),))
    loops = loops_around(outputs, Schedule("tile", order=tuple(order), tile=tiles))
    assert [i.name for i, _, _ in loops] == list(order)
    bound = order_traffic(depths_of(outputs, loops), 4 * capacity)
    names = {d: i for i, d in enumerate(sizes)}
    assert set(names) >= {i.name for i, _, _ in loops}
    steps = steps_of(points_in_order(sizes, loops, seed), views, out)
    assert bound <= 4 * moved(steps, capacity, frozenset(e for s in steps for e in s.sums))


def test_an_operand_that_is_read_again_in_each_turn_counts_as_often() -> None:
    outputs = product(64, 32, 128)
    i, j = (a.name for a in outputs[0].axes)
    depths = depths_of(outputs, loops_around(outputs, Schedule("tile", order=(i, j), tile=((i, 4), (j, 16)))))
    assert depths == [(16, 4 * (4 * 128 + 128 * 32)), (16 * 2, 4 * (4 * 128 + 128 * 16))]
    assert order_traffic(depths, 4096) == 16 * (18432 - 4096) > 32 * (10240 - 4096)
    assert order_traffic(depths, 1 << 20) == 0.0  # all of it stays


def test_what_can_be_computed_before_a_turn_is_not_read_in_it() -> None:
    i, j, k = te.indices("i j k")
    a, b = te.input("A", (8, 16)), te.input("B", (8, 16))
    both = te.tensor(None, (i, j), te.sum(k, te.exp(a[i, k] + b[i, k]) * te.input("C", (16, 8))[k, j]))
    once = te.tensor(None, (i, j), te.sum(k, a[i, k]) * te.input("D", (8, 8))[i, j])
    for tensor, reads in ((both, 4 * (16 + 16)), (once, 4)):
        outputs = standalone(te.graph("g", Y=tensor).outputs)
        names = tuple(x.name for x in outputs[0].axes)
        loops = loops_around(outputs, Schedule("tile", order=names, tile=((names[1], 1),)))
        assert depths_of(outputs, loops)[1][1] == reads  # of two arrays under one sum of both, one


@pytest.mark.parametrize(("turns", "workers"), [(1, 2), (3, 2), (5, 4), (7, 3), (4, 2), (9, 4)])
def test_no_way_to_share_tiles_out_leaves_the_busiest_worker_less(turns: int, workers: int) -> None:
    step = 5
    for size in (turns * step, turns * step - 2):
        outputs = product(size, 8, 8)
        i = outputs[0].axes[0].name
        found = busiest(outputs, Schedule("tile", parallel=(i,), tile=((i, step),)), workers)
        tiles = [step] * (turns - 1) + [size - (turns - 1) * step]
        shares = (
            max(sum(t for t, w in zip(tiles, at, strict=True) if w == x) for x in range(workers))
            for at in itertools.product(range(workers), repeat=turns)
        )
        least = min(shares)
        claimed = found[0].axes[0].size.value if found is not None else -(-size // workers)
        assert claimed is not None and claimed <= least
        assert found is not None or turns % workers == 0 or least * workers <= size + workers * step


def test_shares_of_a_masked_kernel_are_not_compared() -> None:
    i, j = te.indices("i j")
    x = te.input("X", (12, 12))
    outputs = standalone(te.graph("g", Y=te.tensor(None, i, te.sum(j, x[i, j], where=j <= i))).outputs)
    assert busiest(outputs, Schedule("point", parallel=(outputs[0].axes[0].name,)), 8) is None


@pytest.mark.parametrize(
    ("plan", "states"),
    [
        (FoldPlan(), 1),
        (FoldPlan("lanes", 32), 32),
        (FoldPlan("stream", 64), 64),
        (FoldPlan("stream", 64, 8), 8),
        (FoldPlan("blocks", 8), 4096),
    ],
)
def test_a_sum_in_order_is_a_chain(plan: FoldPlan, states: int) -> None:
    outputs = total(4096)
    (fold,) = [s for s in te.ir.walk(outputs[0].body) if isinstance(s, te.ir.Reduce)]
    schedule = Schedule("split", fold=((fold.indices[0].name, plan),))
    assert longest_chain(outputs, schedule) == 4096 / states - 1


def test_sums_that_a_closed_form_or_a_condition_may_replace_are_no_chain() -> None:
    i, j = te.indices("i j")
    x = te.input("X", (8, 64))
    masked = te.tensor(None, i, te.sum(j, x[i, j], where=j <= i))
    largest = te.tensor(None, i, te.max(j, x[i, j]))
    for tensor in (masked, largest):
        assert longest_chain(standalone(te.graph("g", Y=tensor).outputs), Schedule()) <= 0.0


def rows(m: int, n: int) -> te.Array:
    """Exponentials of rows over their sum, in one kernel."""
    i, j, k, p = te.indices("i j k p")
    x = te.input("X", (m, n))
    top, bottom = te.max(k, x[i, k]), te.max(p, x[i, p])
    return te.tensor(None, (i, j), te.exp(x[i, j] - top) / te.sum(k, te.exp(x[i, k] - bottom)))


KERNELS = {
    "matmul": lambda: product(16, 64, 32),
    "odd": lambda: product(15, 61, 33),
    "map": lambda: standalone(
        te.graph("m", Y=te.tensor(None, te.indices("i j"), te.exp(te.input("X", (16, 32))[te.indices("i j")]))).outputs
    ),
    "softmax": lambda: standalone(te.graph("s", Y=rows(16, 32)).outputs),
}


@pytest.mark.parametrize("name", KERNELS)
def test_no_schedule_computes_in_wider_vectors_than_its_floor_says(name: str) -> None:
    outputs = KERNELS[name]()
    device = replace(estimate("c"), notes=("256 bits",))
    assert vector_bytes(device) == 32
    narrow = 0
    for s in declared(CpuOffers(2).schedules(outputs), sizes_of(outputs, {})):
        terms = schedule_terms(outputs, s, device, operations(te.ir.Graph("g", (), outputs)))
        lanes = [int(m[1]) for t in terms if (m := re.search(r" in (\d+) lanes", t.what))]
        if lanes:
            narrow += 1
            source = printed_alone(outputs, s).source
            text = source[source.index("void k0_kernel") :]
            assert max(int(n) for n in re.findall(r"f32x(\d+)", text)) <= lanes[0], str(s)
    assert narrow > 0 or name in ("odd", "softmax")


def test_a_schedule_on_one_thread_has_the_floor_of_one_core_and_others_do_not() -> None:
    target = target_of("c", {}, team=2)
    floors, outputs = target.floors, product(64, 64, 512)
    assert isinstance(floors, TimeFloors) and floors.core is not None
    i, j = (a.name for a in outputs[0].axes)
    both = parse_schedule(f"tile order={i},{j} parallel={i} tile={j}:16,{i}:4")
    found = [floors.seconds(outputs, s, deep=True).seconds for s in (both, replace(both, parallel=()))]
    assert found[1] > 1.5 * found[0]
    thin = floors.seconds(outputs, parse_schedule(f"tile order={i},{j} parallel={i} tile={j}:4,{i}:4"), deep=True)
    assert thin.seconds > 1.5 * found[0] and thin.binding == "vector f32 in 4 lanes"


def test_no_schedule_is_measured_below_its_floor() -> None:
    target = target_of("c", {})
    floors = target.floors
    assert isinstance(floors, TimeFloors)
    if floors.device.estimated:
        pytest.skip("the constants of this machine were not measured")
    for outputs in (product(96, 96, 96), total(1 << 16), KERNELS["softmax"]()):
        schedules = declared(target.offers.schedules(outputs), sizes_of(outputs, {}))[::3]
        schedules = tuple(dict.fromkeys((PLAIN, *schedules[:10])))
        kernel = SpaceKernel(key_of(outputs), outputs, schedules, (), ())
        results = CpuKernels().measure([Trial(kernel, n) for n in range(len(schedules))], 0.5)
        seen = [(s, r.median + r.spread) for s, r in zip(schedules, results, strict=True) if isinstance(r, Timed)]
        assert seen
        for s, seconds in seen:
            assert floors.seconds(outputs, s, deep=True).seconds <= seconds, str(s)


def test_the_printed_functions_are_no_shorter_than_is_said() -> None:
    text = (Path(te.__file__).parent / "codegen" / "prelude" / "vector.h").read_text()

    def steps(name: str, signs: str = r" [*+-] ") -> int:
        """Additions and multiplications of a function, with those of the one that it calls."""
        found = re.search(rf"static inline V te_{name}_##V\(V x\)(.*?)\n    }}", text, re.DOTALL)
        assert found is not None, name
        body = re.sub(r"[eE]-\d+f|//.*", "", found[1])
        called = [n for n in ("less_one", "exp") if f"te_{n}_##V(" in body]
        own = sum(len(re.findall(signs, line)) for line in body.splitlines())
        return own + sum(steps(n, signs) for n in called)

    assert all(steps(name) >= LEAST for name in FUNCTIONS), {name: steps(name) for name in FUNCTIONS}
    twice = {name: 2 * steps(name, r" \* ") for name in FUNCTIONS}
    assert twice == dict(MULTIPLIED)


def test_functions_count_for_every_value_that_needs_them() -> None:
    outputs = KERNELS["softmax"]()
    assert spelt_out(outputs) == (Work("f32", 19.0 * 16 * 32),)
    i, j = te.indices("i j")
    x = te.input("X", (16, 32))
    few = te.graph("r", Y=te.tensor(None, (i, j), te.exp(te.sum(te.index("k"), x[i, te.index("k")])) * x[i, j]))
    assert spelt_out(standalone(few.outputs)) == (Work("f32", 19.0 * 16),)
    assert spelt_out(product(8, 8, 8)) == ()


def test_lanes_of_a_stream_share_a_sum_and_its_tiles_do_not() -> None:
    """Eight states side by side take up an eighth each, however many points a tile holds."""
    (index,) = (i for s in te.ir.walk(total(4096)[0].body) if isinstance(s, te.ir.Reduce) for i in s.indices)

    def chain(text: str) -> float:
        return longest_chain(total(4096), parse_schedule(f"stream fold={index.name}:{text}"))

    assert chain("stream:64:8") == chain("stream:512:8") == 511.0
    assert chain("stream:64") == 63.0 and chain("lanes:64") == 63.0
    assert longest_chain(total(4096), PLAIN) == 4095.0


def sums(m: int, n: int) -> te.Array:
    """The logarithms of the sums of exponentials of rows, with another function in the same fold."""
    i, j = te.indices("i j")
    x = te.input("X", (m, n))
    return te.tensor(None, i, te.log(te.sum(j, te.exp(x[i, j]) * te.tanh(x[i, j] - 1.0))))


def taken_up(source: str, width: int) -> float:
    """Operations of the peak that the printed functions take up: of each call the widest vector's, at least.

    Counted along the loops of the text. What a condition of scalars may skip counts for nothing; vectors compute both.
    """
    total, trips = 0.0, [1.0]
    for line in source[source.index("void k0_kernel(") :].splitlines():
        for name, lanes in re.findall(r"te_(\w+?)_f32x(\d+)\(", line):
            if name in MULTIPLIED and "?" not in line:
                total += trips[-1] * MULTIPLIED[name] * max(int(lanes), width)
        for name in re.findall(r"(?<!\w)(exp|log|tanh|erf|sin)f\(", line):
            total += trips[-1] * MULTIPLIED[name] * width if "?" not in line else 0.0
        loop = re.search(r"for \(int64_t (\w+) = (\d+); \1 < (\d+); \1(?:\+\+| \+= (\d+))\)", line)
        assert loop or "for (" not in line, line
        if line.rstrip().endswith("{"):
            turns = -(-(int(loop[3]) - int(loop[2])) // int(loop[4] or 1)) if loop else 1
            trips.append(trips[-1] * turns)
        if line.strip().startswith("}"):
            trips.pop()
            if not trips[1:]:
                break
    return total


@settings(max_examples=60, deadline=None)
@given(st.sampled_from((rows, sums)), st.sampled_from((1, 3, 8)), st.sampled_from((64, 96, 128, 256)), st.data())
def test_no_printed_schedule_takes_less_of_the_peak_for_its_functions(
    program: Callable[[int, int], te.Array], m: int, n: int, data: st.DataObject
) -> None:
    """Against the text: every call of a function, in every turn of the loops around it, and the lanes that it has."""
    outputs = standalone(te.graph("f", Y=program(m, n)).outputs)
    spaces = [declared(CpuOffers(2, v).schedules(outputs), sizes_of(outputs, {})) for v in (AVX2, AVX512)]
    schedule = data.draw(st.sampled_from([s for space in spaces for s in space]))
    try:
        source = printed_alone(outputs, schedule).source
    except TangError:
        assume(False)
    for width in (32, 64):
        extra = sum(w.operations for w in (*spelt_out(outputs), *narrow_folds(outputs, schedule, width)))
        assert extra <= taken_up(source, width // 4), str(schedule)


def test_functions_of_a_fold_in_few_lanes_count_as_often_as_these_go_into_a_vector() -> None:
    outputs = standalone(te.graph("f", Y=sums(8, 256)).outputs)
    (fold,) = {i.name for s in te.ir.walk(outputs[0].body) if isinstance(s, te.ir.Reduce) for i in s.indices}

    def found(text: str, width: int = 64) -> float:
        return sum(w.operations for w in narrow_folds(outputs, parse_schedule(text.replace("J", fold)), width))

    both = (MULTIPLIED["exp"] + MULTIPLIED["tanh"]) * 8 * 256
    assert found("split fold=J:lanes:4") == 3 * both and found("split fold=J:lanes:8") == both
    assert found("split fold=J:lanes:16") == 0.0 == found("split fold=J:lanes:8", 32)
    assert found("stream fold=J:stream:64:8") == both and found("stream fold=J:stream:64") == 0.0
    first = outputs[0].axes[0].name
    assert found(f"split tile={first}:4 fold=J:lanes:8") == 0.0  # vectors may run along the rows
