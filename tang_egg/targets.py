"""The targets by name: for which machine kernels are selected, how they are cut and scheduled, printed and compiled.

    "c" "cuda" "opencl" "metal" "wgsl" "glsl"  →  Target(rates, cut, schedules, sources, open, compile)

What a target needs of a library is imported when its device is opened; sources are printed without any device.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tang_egg.codegen.candidates import schedules as schedule_candidates
from tang_egg.codegen.candidates_device import busy, device_schedules, planned
from tang_egg.codegen.candidates_grid import grid_schedules
from tang_egg.codegen.device import UNITS
from tang_egg.codegen.dialects.c import c_dialect
from tang_egg.codegen.lower import lower
from tang_egg.codegen.merge_folds import merge_folds
from tang_egg.codegen.partition import has_products, partition
from tang_egg.codegen.printer import print_kernel
from tang_egg.codegen.split_fold import shares_of, split_streams
from tang_egg.codegen.turn_operands import copies, copying, multiplying, turn_operands
from tang_egg.cost.roofline import MATRIX_UNITS, PLAIN_THREADS, Axes, Bodies, Costs, Machine
from tang_egg.errors import TargetError
from tang_egg.ir import Tensor
from tang_egg.program import Program, single_program
from tang_egg.run import CompiledProgram, compile_program, threads
from tang_egg.run_cuda import CudaProgram, compile_cuda, cuda_kernels, cuda_sources
from tang_egg.run_cuda_driver import driver
from tang_egg.run_grid import GridProgram
from tang_egg.run_vectors import vectors
from tang_egg.schedule import Schedule

Runner: TypeAlias = "CompiledProgram | CudaProgram | GridProgram"
Schedules: TypeAlias = "Mapping[str, Schedule]"

GRID = Machine(1e13, 1e12, 1e13, 2e12, 1e-5, 4096, 1e7, 2e7, 0.0, 128 * 128, 1)
"""A chip of plain threads: a GPU in a language without matrix units (rounded; kernels are the same on any device)."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a caller wants of first schedules.

    `exact`: infinities and NaN in masked operands must not come through. `products`: as in optimize. `units`: the chip
    has the matrix units that kernels are written for; of plain threads, lanes that exchange values fast.
    """

    exact: bool = False
    products: str = "exact"
    units: bool = True


@dataclass(frozen=True, slots=True)
class Target:
    """One target.

    `rates`: the machine for which kernels are selected; none for this processor. `cut`: how a program's kernels are cut
    the way the target runs them, for `products` as in optimize; none leaves them. `schedules`: those of a kernel, the
    best guess first. `sources`: the printed text of each distinct kernel. `open`: the device, whose lack is a
    TargetError of three parts. `compile`: a program that runs there. `units`: whether an open device has them, see
    Wish. `library`: whether kernels become a C library that needs no Python. `busy`: the share of its matrix units that
    a kernel keeps busy, if it has any.
    """

    name: str
    title: str
    rates: Machine | None
    cut: Callable[[Program, str], Program] | None
    schedules: Callable[[tuple[Tensor, ...], Wish], tuple[Schedule, ...]]
    sources: Callable[[Program, Schedules], dict[str, str]]
    open: Callable[[], Any]
    compile: Callable[[Program, Schedules, Any], Runner]
    units: Callable[[Any], bool] = lambda device: False
    library: bool = False
    busy: Callable[[Bodies, Axes, str], float] | None = None

    def costs(self, products: str = "exact") -> Costs | None:
        """What selection minimises; None for the costs of this processor."""
        if self.rates is None or self.busy is None:
            return None if self.rates is None else Costs(self.rates)
        busy = self.busy
        return Costs(self.rates, busy=lambda bodies, axes: busy(bodies, axes, products), apart=Costs(PLAIN_THREADS))

    def parted(self, program: Program, products: str = "exact") -> Program:
        """The program with its kernels cut as the target runs them."""
        return program if self.cut is None else self.cut(program, products)

    def first(self, outputs: tuple[Tensor, ...], wish: Wish | None = None) -> Schedule:
        """The best guess for a kernel."""
        return self.schedules(outputs, wish or Wish())[0]


def target(name: object, where: str = "optimize") -> Target:
    """The target of a name. Raises TargetError, listing those that exist, for another."""
    found = TARGETS.get(name) if isinstance(name, str) else None
    if found is None:
        raise TargetError(
            f"no target '{name}'", where=where, mend=f"use one of: {', '.join(TARGETS)} (see tang-doctor)"
        )
    return found


# ---- the processor and NVIDIA GPUs ----


def _c_sources(program: Program, schedules: Schedules) -> dict[str, str]:
    here = vectors()
    dialect = c_dialect(here)
    return {k.name: print_kernel(lower(k.name, k.outputs, schedules[k.name], here), dialect) for k in program.kernels}


def _cuda_cut(program: Program, products: str) -> Program:
    rounded = products == "tf32"
    return split_streams(_cuda_merged(program, rounded), UNITS, rounds=rounded)


def _cuda_merged(program: Program, rounded: bool) -> Program:
    """The program cut but for its streams, operands as units ask; `rounded`: those of f32 are for matrix units too."""
    return turn_operands(merge_folds(partition(program), rounded), rounded)


def _cuda_busy(bodies: Bodies, axes: Axes, products: str) -> float:
    """The share of the matrix units that a kernel keeps busy, cut as it will be; 0 where they cannot take it all."""
    outputs = tuple(Tensor(f"out{n}", a, b) for n, (b, a) in enumerate(zip(bodies, axes, strict=True)))
    rounded = products == "tf32"
    least = 0.0
    program = _cuda_merged(single_program(outputs), rounded)
    copied = copying(copies(program))
    for k in program.kernels:
        p = planned(k.outputs, not rounded)
        if p is not None:
            share = busy(p, shares_of(p, UNITS))
            if copied:
                units, _ = multiplying(p)
                share *= units / (units + copied)
            least = min(least or share, share)
        elif has_products(k.outputs):
            return 0.0
    return least


def _cuda_schedules(outputs: tuple[Tensor, ...], wish: Wish) -> tuple[Schedule, ...]:
    # a tile multiplies masked elements by zero, which an infinity or NaN in them would survive
    if wish.exact or not wish.units:
        return grid_schedules(outputs, wide=True)
    return device_schedules(outputs, wish.products != "tf32")


_C = Target(
    name="c",
    title="this machine's processor",
    rates=None,
    cut=None,
    schedules=lambda outputs, wish: schedule_candidates(outputs, threads=threads(), vectors=vectors()),
    sources=_c_sources,
    open=lambda: None,
    compile=lambda program, schedules, device: compile_program(program, schedules),
    units=lambda device: True,
    library=True,
)
_CUDA = Target(
    name="cuda",
    title="an NVIDIA GPU, through CuPy",
    rates=MATRIX_UNITS,
    cut=_cuda_cut,
    schedules=_cuda_schedules,
    sources=lambda program, schedules: cuda_sources(cuda_kernels(program, schedules)),
    open=lambda: driver(),
    compile=lambda program, schedules, device: compile_cuda(program, schedules, on=device),
    units=lambda device: bool(device.has_matrix_units),
    busy=_cuda_busy,
)


# ---- grids of plain threads ----


def _grid(name: str, title: str, module: str) -> Target:
    """A target of plain threads. Its module has NAME_sources(program, schedules), NAME_device() and
    compile_NAME(program, schedules, on=device); it is imported when one of them is called.
    """

    def call(function: str, *arguments: Any, **named: Any) -> Any:
        return getattr(importlib.import_module(f"tang_egg.{module}"), function)(*arguments, **named)

    return Target(
        name=name,
        title=title,
        rates=GRID,
        cut=lambda program, products: partition(program),
        schedules=_grid_schedules,
        sources=lambda program, schedules: call(f"{name}_sources", program, schedules),
        open=lambda: call(f"{name}_device"),
        compile=lambda program, schedules, device: call(f"compile_{name}", program, schedules, on=device),
        units=lambda device: bool(getattr(device, "lanes", True)),
    )


def _grid_schedules(outputs: tuple[Tensor, ...], wish: Wish) -> tuple[Schedule, ...]:
    """All of a kernel; where lanes exchange values slowly, those that need no exchange first."""
    found = grid_schedules(outputs)
    return found if wish.units else tuple(sorted(found, key=lambda s: s.shape == "split"))


TARGETS: dict[str, Target] = {
    t.name: t
    for t in (
        _C,
        _CUDA,
        _grid("opencl", "a device of OpenCL 1.2 or newer, through pyopencl", "run_opencl"),
        _grid("metal", "a GPU of a Mac; elsewhere the same source on this processor", "run_metal"),
        _grid("wgsl", "a device of WebGPU, through wgpu", "run_wgpu"),
        _grid("glsl", "a device of Vulkan, through wgpu", "run_wgpu"),
    )
}
"""Every target, in the order in which they are listed to users."""
