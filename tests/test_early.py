"""Kernels that start while the one before them runs: who waits, who lets whom start, and how they are launched."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from tang_egg.codegen.candidates_device import device_schedules
from tang_egg.codegen.device import UNITS
from tang_egg.codegen.split_fold import split_streams
from tang_egg.cost.roofline import MATRIX_UNITS, Costs
from tang_egg.errors import TargetError
from tang_egg.pipeline import extract
from tang_egg.program import Program
from tang_egg.run_cuda import cuda_kernels, cuda_sources, load
from tang_egg.run_cuda_early import Attribute, Config, EarlyLaunch
from tang_egg.run_layout import Built
from tests import cuda_compile
from tests.mma_graphs import attend
from tests.test_run_cuda import StandIn

WAITS, YIELDS = "    te_await_the_one_before();", "    te_let_the_next_start();"


@cache
def split() -> Program:
    """Attention of a few queries over a long stream: the shares of it, and what merges them."""
    whole = extract(attend(1, 2, 4, 2048, 64), costs=Costs(MATRIX_UNITS)).program
    return split_streams(whole, UNITS)


@cache
def kernels(*early: bool) -> tuple[Built, ...]:
    chosen = {
        k.name: replace(device_schedules(k.outputs)[0], early=int(e))
        for k, e in zip(split().kernels, early, strict=True)
    }
    return cuda_kernels(split(), chosen)


def lines(b: Built) -> list[str]:
    (text,) = cuda_sources((b,)).values()
    return text.splitlines()


@pytest.mark.parametrize("first", [False, True])
def test_the_second_waits_and_the_first_lets_it_start(first: bool) -> None:
    """In front of the first kernel of a call stands the last one of the call before."""
    a, b = (lines(x) for x in kernels(first, True))
    assert (a.count(WAITS), a.count(YIELDS), b.count(WAITS), b.count(YIELDS)) == (first, 1, 1, first)
    start = next(n for n, x in enumerate(b) if "__global__" in x)
    signature = next(n for n, x in enumerate(b) if n > start and x.endswith("{"))
    at = b.index(WAITS)
    arrays = [f"{x.name}[" for x in kernels(first, True)[1].kernel.buffers]
    assert not any(x in line for line in b[signature + 1 : at] for x in arrays)
    assert all(any(x in line for line in b[at + 1 :]) for x in arrays)


def test_matrix_kernels_wait_before_their_roles() -> None:
    """As every kernel does that stands behind another: here the shares, given twice."""
    (share, _) = split().kernels
    other = replace(share, name="again")
    twice = Program(split().graph, (share, other))
    schedule = device_schedules(share.outputs)[0]
    made = cuda_kernels(twice, {"again": replace(schedule, early=1), share.name: schedule})
    b = lines(made[1])
    assert b.index(WAITS) < next(n for n, x in enumerate(b) if "// producer" in x)
    assert b.index("    __syncthreads();") < b.index(WAITS)
    assert YIELDS in lines(made[0])


def test_kernels_that_are_not_early_say_nothing_of_it() -> None:
    for b in kernels(False, False):
        assert WAITS not in lines(b)
        assert YIELDS not in lines(b)


@pytest.mark.parametrize("early", [(False, False), (False, True), (True, False), (True, True)])
def test_only_early_kernels_are_launched_early(early: tuple[bool, bool]) -> None:
    device = StandIn()
    started: list[object] = []
    device.early = lambda f: started.append(f) or f  # type: ignore[method-assign, func-returns-value]
    inputs = {i.name: np.ones([n.value for n in i.shape], np.uint16) for i in split().graph.inputs}
    load(split(), kernels(*early), device)(inputs)
    assert len(device.calls) == 2
    assert len(started) == sum(early)


def test_the_structures_are_those_of_the_driver() -> None:
    """Sizes and offsets that a C compiler gives for cuda.h of CUDA 13."""
    assert (ctypes.sizeof(Attribute), Attribute.value.offset) == (72, 8)
    assert ctypes.sizeof(Config) == 56
    found = [getattr(Config, n).offset for n in ("shared", "stream", "attributes", "count")]
    assert found == [24, 32, 40, 48]


class Library:
    """A driver that reads what it is given."""

    def __init__(self, status: int = 0) -> None:
        self.status, self.seen = status, []  # type: ignore[var-annotated]

    def cuLaunchKernelEx(self, config: Any, kernel: Any, places: Any, extra: Any) -> int:
        c = config._obj
        a = c.attributes[0]
        values = ctypes.c_uint64.from_address(places[0]).value, ctypes.c_int.from_address(places[1]).value
        table = ctypes.string_at(places[2], 128)
        how = (list(c.grid), list(c.block), c.shared, c.stream, c.count, a.id, a.value)
        self.seen.append((*how, kernel.value, values, table, extra))
        return self.status


def test_a_launch_passes_its_arguments_and_the_attribute() -> None:
    library = Library()
    table = np.frombuffer(bytes(range(128)), "V128").copy()
    launch = EarlyLaunch(77, lambda: 5, library)
    launch((3, 1, 1), (256, 1, 1), (np.uint64(1 << 40), np.int32(-9), table), shared_mem=4096)
    (seen,) = library.seen
    assert seen == ([3, 1, 1], [256, 1, 1], 4096, 5, 1, 6, 1, 77, (1 << 40, -9), bytes(range(128)), None)
    with pytest.raises(TargetError, match="status 1") as raised:
        EarlyLaunch(77, lambda: 5, Library(1))((1, 1, 1), (32, 1, 1), (np.uint64(0), np.int32(0), table))
    assert "early=" in str(raised.value)


def test_a_driver_without_such_launches_takes_plain_ones() -> None:
    def kernel(*_: object) -> None:
        pass

    assert StandIn().early(kernel) is kernel


def test_early_kernels_compile() -> None:
    for b in kernels(False, True):
        (text,) = cuda_sources((b,)).values()
        cuda_compile.check_clean(cuda_compile.compiled(text))
