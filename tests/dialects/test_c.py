"""The C dialect: golden kernels, the accuracy of its vector functions, and names that C would refuse."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tang_egg.affine import affine, index
from tang_egg.codegen.candidates import schedules
from tang_egg.codegen.dialects.c import C
from tang_egg.codegen.lower import lower
from tang_egg.codegen.printer import print_kernel
from tang_egg.ir import EVERYWHERE, Graph, Input, Read, Reduce, Scan, Tensor, apply, const
from tang_egg.monoid import AFFINE, MAX
from tang_egg.pipeline import extract_for
from tang_egg.run import compile_program
from tang_egg.saturate import Limits
from tang_egg.schedule import parse_schedule
from tests.compiled import one_kernel_each, product_graph, weighted_graphs
from tests.conftest import Golden
from tests.grid_programs import PROGRAMS


def _rows() -> Graph:
    i, j = index("i", 100), index("j", 70)
    x = Input("x", (affine(100), affine(70)))
    return Graph(
        "rows", (x,), (Tensor("top", (i,), Reduce(MAX, (j,), EVERYWHERE, (Read(x, (affine(i), affine(j))),))),)
    )


def _recurrence() -> Graph:
    t, c = index("t", 50), index("c", 24)
    a, b = (Input(n, (affine(50), affine(24))) for n in "ab")
    lifts = tuple(Read(s, (affine(t), affine(c))) for s in (a, b))
    return Graph("recurrence", (a, b), (Tensor("h", (t, c), Scan(AFFINE, t, lifts, 1)),))


GOLDEN: dict[str, tuple[Callable[[], Graph], str]] = {
    "product": (lambda: product_graph(64, 48, 64), "tile order=j,i parallel=j tile=i:4,j:16 stage=B"),
    "rows": (_rows, "split parallel=i fold=j:lanes:16"),
    "recurrence": (_recurrence, "scan tile=c:8"),
    "cascade": (
        lambda: weighted_graphs(2, 16, 32, 8, causal=True)[0],
        "stream parallel=h tile=c:*,i:4 fold=j:stream:16 stage=K",
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_printed_kernels(name: str, golden: Golden) -> None:
    graph, schedule = GOLDEN[name][0](), parse_schedule(GOLDEN[name][1])
    (tensor,) = graph.outputs
    golden(f"{name}/c.c", print_kernel(lower(name, (tensor,), schedule), C))


@pytest.mark.parametrize("name", PROGRAMS)
def test_printed_kernels_of_programs(name: str, golden: Golden) -> None:
    """The kernels of whole programs under the first schedule for two threads, whatever this machine has."""
    subject = PROGRAMS[name]
    program = extract_for("c", subject.graph(), Limits(), chunk=dict(subject.chunk) or None).program
    for k in program.kernels:
        schedule = schedules(k.outputs, threads=2)[0]
        text = print_kernel(lower(k.name, k.outputs, schedule), C)
        golden(f"{name}/c/{k.name}.c", f"// {schedule}\n{text}")


def _ulp(got: np.ndarray, exact: np.ndarray) -> float:  # type: ignore[type-arg]
    live = np.isfinite(exact) & (np.abs(exact) > 1.2e-38) & (np.abs(exact) < 3.4e38)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(exact))
    return float((np.abs(got[live] - exact[live]) / np.spacing(np.abs(exact[live]).astype(np.float32))).max())


RANGES = {"exp": 95.0, "log": 1e6, "tanh": 12.0, "erf": 6.0, "sin": 200.0, "sqrt": 1e5, "recip": 1e3, "floor": 100.0}


@pytest.mark.parametrize("op", RANGES)
def test_vector_functions_are_accurate_and_right_at_the_ends(op: str) -> None:
    i = index("i", 4096)
    x = Input("x", (affine(4096),))
    graph = Graph("maths", (x,), (Tensor("y", (i,), apply(op, Read(x, (affine(i),)))),))
    schedule = parse_schedule("point tile=i:8")
    compiled = compile_program(one_kernel_each(graph), {"y": schedule})
    assert f"te_{op}_f32x8" in compiled.source or op == "recip"
    data = np.random.default_rng(3).uniform(-RANGES[op], RANGES[op], 4096).astype(np.float32)
    data[:256] *= 1e-3
    data[256:268] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e-30, 88.5, -87.0, 1e30, -1e30, 0.625]
    with np.errstate(all="ignore"):
        wide = data.astype(np.float64)
        known: dict[str, Callable[..., np.ndarray]] = {"erf": np.vectorize(math.erf), "recip": lambda v: 1.0 / v}  # type: ignore[type-arg]
        exact = known.get(op, getattr(np, op, None))(wide)  # type: ignore[misc]
    got = compiled({"x": data})["y"]
    infinite = np.isinf(exact.astype(np.float32))
    np.testing.assert_array_equal(got[infinite], exact[infinite].astype(np.float32))
    if op == "sin":  # near its zeros the error is absolute
        assert np.nanmax(np.abs(got - exact)) < 2e-7
    else:
        assert _ulp(got, exact) <= 2.5


@pytest.mark.parametrize("tile", ["point", "point tile=i:8"])
def test_maximum_and_minimum_keep_nan_on_either_side(tile: str) -> None:
    i = index("i", 16)
    x, y = Input("x", (affine(16),)), Input("y", (affine(16),))
    a, b = Read(x, (affine(i),)), Read(y, (affine(i),))
    for op, meaning in (("max", np.maximum), ("min", np.minimum)):
        graph = Graph("ends", (x, y), (Tensor("z", (i,), apply(op, a, b)),))
        values = np.array([np.nan, 1.0, np.inf, -np.inf], np.float32)
        data = {"x": np.repeat(values, 4), "y": np.tile(values, 4)}
        got = compile_program(one_kernel_each(graph), {"z": parse_schedule(tile)})(data)["z"]
        np.testing.assert_array_equal(got, meaning(data["x"], data["y"]))


def test_reserved_words_and_odd_letters_become_names() -> None:
    i = index("int", 6)
    j = index("j~1", 3)
    x = Input("double", (affine(6), affine(3)))
    body = Reduce(MAX, (j,), EVERYWHERE, (Read(x, (affine(i), affine(j))),))
    graph = Graph("names", (x,), (Tensor("layer.0-exp", (i,), apply("add", body, const(1.0))),))
    data = np.arange(18, dtype=np.float32).reshape(6, 3)
    got = compile_program(one_kernel_each(graph))({"double": data})["layer.0-exp"]
    np.testing.assert_array_equal(got, data.max(1) + 1)
