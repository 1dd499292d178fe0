"""Suite `floor.cuda`: every CUDA kernel there is, cold and warm, for its floor; one command, about five minutes.

Cases are the cells of the CUDA suites and the programs of floor.c at two large sizes, one size of each first. All
kernels are compiled side by side by worker processes before anything is timed: CuPy keeps what NVRTC made on disk, and
the process that measures takes it from there. What is timed was compared before: cells with float64 on the device,
programs with the interpreter where they are small; the large ones run the same programs at another size, and every
element of theirs must have been written.

Calls stand in CUDA graphs that are replayed in rounds. Warm: the same arrays again and again. Cold: equal calls over
copies of all arrays, together at least twice the L2 cache, so that each call finds nothing of its own there, and what
others wrote has to leave.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from re import search
from typing import Any, Protocol

import tang_egg as te
from bench import log
from bench.floor_measure import CHECKED, moved
from bench.floor_programs import PROGRAMS, Sizes, graph_of
from tang_egg.errors import TangError, TargetError, VerificationError
from tang_egg.ir import Graph
from tang_egg.measure_cuda import MOST, DeviceTiming

WORKERS = 12
"""Processes that compile side by side."""
TIMES = 4
"""A GPU's memory shows at more rows than a processor's: so many times those of the largest size."""


@dataclass(frozen=True, slots=True)
class Case:
    """A cell of the CUDA suites, or a program of floor.c at a size; `name` finds its graph again in any process."""

    program: str
    shape: Sizes
    dtype: str
    cell: bool

    @property
    def title(self) -> str:
        return f"{self.program} {' '.join(f'{k}={v}' for k, v in self.shape.items())} {self.dtype}"

    @property
    def products(self) -> str:
        return "tf32" if self.dtype == "tf32" else "exact"

    def graph(self) -> Graph:
        if not self.cell:
            return graph_of(self.program, self.shape)
        found: Graph = cell_of(self).graph()
        return found

    @property
    def chunks(self) -> dict[str, int] | None:
        """Points of a chunk of sums up to a point, as in the suite of the cell; None for a program."""
        found: dict[str, int] | None = cell_of(self).chunks if self.cell else None
        return found


class Machine(Protocol):
    """A GPU: `prepare` gives equal calls over arrays of their own; `time` the timing of a series of them."""

    device: str
    driver: str
    cache: int

    def prepare(self, case: Case, verified: bool) -> tuple[str, Callable[[], Any]]:
        """The schedules, and what makes one more call over fresh copies of the inputs. Checks what it computes."""

    def time(self, calls: Sequence[Any]) -> DeviceTiming: ...


def cell_of(case: Case) -> Any:
    """The cell of a case. Raises StopIteration for one that is no cell."""
    from bench.cuda_cells import cells

    return next(c for c in cells() if (c.program, dict(c.shape), c.dtype) == (case.program, case.shape, case.dtype))


def cases(only: str = "") -> list[Case]:
    """All cases whose title `only` is found in: the first of each program, head size and type before the others."""
    from bench.cuda_cells import cells

    every = [Case(c.program, dict(c.shape), c.dtype, True) for c in cells()]
    known = {(c.program, tuple(c.shape.items()), c.dtype) for c in every}
    for name, program in PROGRAMS.items():
        for sizes in _sizes(program.sizes[-1], program.sizes[-2]):
            if (name, tuple(sizes.items()), program.dtype) not in known:
                every.append(Case(name, dict(sizes), program.dtype, False))
    seen: dict[tuple[object, ...], int] = {}
    order: list[tuple[int, Case]] = []
    for case in every:
        kind = (case.program, case.dtype, case.shape.get("d"), case.cell)
        seen[kind] = seen.get(kind, -1) + 1
        order.append((seen[kind], case))
    return [c for _, c in sorted(order, key=lambda x: x[0]) if search(only, c.title)]


def _sizes(largest: Sizes, before: Sizes) -> tuple[Sizes, Sizes]:
    """Two sizes of a program: with more rows where it has nothing but rows, or the largest two."""
    if set(largest) <= {"m", "n"}:
        rows = next(iter(largest))
        return {**largest, rows: TIMES * largest[rows]}, largest
    return largest, before


def rows(
    machine: Machine,
    budget: float,
    only: str = "",
    clock: Callable[[], float] = time.monotonic,
    build: Callable[[Sequence[Case]], None] | None = None,
) -> Iterator[log.Row]:
    """Rows of all cases, cold and warm, until `budget` seconds have passed; what is left and what failed is said."""
    start, wanted = clock(), cases(only)
    (build or built)(wanted)
    print(f"{len(wanted)} kernels are compiled after {clock() - start:.0f} s", file=sys.stderr, flush=True)
    for n, case in enumerate(wanted):
        if clock() - start > budget:
            left = ", ".join(c.title for c in wanted[n:])
            print(f"{budget:g} s have passed; not measured: {left}", file=sys.stderr)
            return
        try:
            yield from _measured(machine, case)
        except Exception as error:  # a driver may raise anything: the other cases are measured all the same
            said = error.what if isinstance(error, TangError) else f"{type(error).__name__}: {error}"
            print(f"{case.title}: not measured: {' '.join(said.split())[:300]}", file=sys.stderr, flush=True)


def _measured(machine: Machine, case: Case) -> Iterator[log.Row]:
    read, written = moved(case.graph())
    size = max(1, read + written)
    schedule, another = machine.prepare(case, not case.cell and size <= CHECKED)
    first = another()
    yield _row(machine, case, "warm", schedule, machine.time([first]), (read, written))
    count = math.ceil(2 * machine.cache / size) + 1
    if count > MOST:
        print(f"{case.title}: too small to be measured cold", file=sys.stderr)
        return
    series = [first, *(another() for _ in range(count - 1))]
    yield _row(machine, case, "cold", schedule, machine.time(series), (read, written))


def built(wanted: Iterable[Case]) -> None:
    """Compiles the kernels of all cases side by side into CuPy's cache; those that fail fail again where they count."""
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
        for done in [pool.submit(_build, c) for c in wanted]:
            with suppress(Exception):
                done.result()


def _build(case: Case) -> None:
    te.optimize(case.graph(), target="cuda", verified=False, products=case.products, chunk=case.chunks)


def _row(
    machine: Machine, case: Case, state: str, schedule: str, timed: DeviceTiming, bytes: tuple[int, int]
) -> log.Row:
    return log.row(
        "floor.cuda", case.program, f"tang_egg {te.__version__}", device=machine.device, driver=machine.driver,
        shape=dict(case.shape), dtype=case.dtype, median_ms=_short(1e3 * timed.median),
        spread_ms=_short(1e3 * timed.spread), state=state, calls=timed.runs, how=timed.how, moved=list(bytes),
        schedule=schedule,
    )  # fmt: skip


def _short(x: float) -> float:
    return float(f"{x:.4g}")


def gpu() -> Machine:
    """The current GPU. Raises TargetError where torch or CuPy is missing or there is none."""
    try:
        import torch

        if not torch.cuda.is_available():
            raise RuntimeError("torch sees no GPU")
        return _Gpu(torch)
    except (ImportError, RuntimeError, OSError) as error:
        raise TargetError(
            f"the suite floor.cuda cannot run: {error}",
            where="python -m bench floor --measure-cuda",
            mend="run it where nvidia-smi shows a GPU, with torch and CuPy (tang_egg[cuda])",
        ) from None


class _Gpu:
    """A Machine by torch and CuPy."""

    def __init__(self, torch: Any) -> None:
        from bench.cuda_machine import _driver
        from tang_egg.run_cuda_driver import driver

        self.torch, self.device, self.driver = torch, torch.cuda.get_device_name(), _driver()
        self.cache = driver().cache

    def prepare(self, case: Case, verified: bool) -> tuple[str, Callable[[], Any]]:
        graph = case.graph()
        compiled: Any = te.optimize(graph, target="cuda", verified=verified, products=case.products, chunk=case.chunks)
        inputs = self._cell_inputs(case) if case.cell else self._inputs(graph)
        schedule = "; ".join(f"{name}: {text}" for name, text in compiled.schedule.items())
        self._check(case, compiled.prepare(**inputs), inputs)

        def another() -> Any:
            return compiled.prepare(**{n: x.clone() for n, x in inputs.items()})

        return schedule, another

    def time(self, calls: Sequence[Any]) -> DeviceTiming:
        from tang_egg.measure_cuda import time_calls

        return time_calls({"kernel": list(calls)})["kernel"]

    def _cell_inputs(self, case: Case) -> dict[str, Any]:
        from bench.cuda_data import draw

        return draw(cell_of(case), "cuda")

    def _inputs(self, graph: Graph) -> dict[str, Any]:
        kinds = {"f32": self.torch.float32, "bf16": self.torch.bfloat16, "i32": self.torch.int32}
        make = self.torch.Generator(device="cuda").manual_seed(0)
        found = {}
        for i in graph.inputs:
            shape, kind = [n.evaluate({}) for n in i.shape], kinds[i.dtype]
            if i.dtype == "i32":
                found[i.name] = self.torch.randint(100, shape, generator=make, device="cuda", dtype=kind)
            else:
                found[i.name] = self.torch.randn(shape, generator=make, device="cuda").to(kind)
        return found

    def _check(self, case: Case, call: Any, inputs: dict[str, Any]) -> None:
        """Raises VerificationError where an element is not written, or a cell is off by more than its limit."""
        from bench import cuda_data
        from bench.cuda_machine import _tensor

        for x in map(_tensor, call.outputs.values()):
            x.fill_(float("nan") if x.is_floating_point() else -1)
        call()
        self.torch.cuda.synchronize()
        for name, x in call.outputs.items():
            found = _tensor(x)
            bad = cuda_data.unwritten(found) if found.is_floating_point() else int((found == -1).sum())
            wrong = f"{bad} elements of '{name}' are not written" if bad else ""
            if case.cell and not wrong:
                cell = cell_of(case)
                error = cuda_data.error(found, cuda_data.reference(cell, inputs))
                wrong = "" if error <= cell.limit else f"the error of '{name}' is {error:.1e}"
            if wrong:
                raise VerificationError(wrong, where=case.title, mend="report this kernel and its schedule")
