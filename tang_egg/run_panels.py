"""Programs of which products read bound inputs from panels, that are filled once, when the arrays are bound.

The kernels are those of the program but for the products, whose lowering is codegen/kept_panels. A program as it is
reads arrays where they lie, at every call; the one with panels is another library, built where something is bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tang_egg import run_toolchain as toolchain
from tang_egg.codegen.candidates import schedules as candidate_schedules
from tang_egg.codegen.kept_panels import Kept, Keeping, Panels
from tang_egg.codegen.lower import kernel_sources
from tang_egg.program import KernelPlan
from tang_egg.run import CompiledProgram, Printed, aligned, build_kernel, build_plans, print_kernels, threads
from tang_egg.run_arrays import Given
from tang_egg.run_layout import Built
from tang_egg.run_vectors import vectors
from tang_egg.schedule import Schedule


def kept_program(runner: object, bound: Mapping[str, Any], build: bool = True) -> CompiledProgram | None:
    """The program with panels of bound arrays; None where no product reads any, or where it is not for a processor.

    Without `build` a library that is not in the cache is not built: None then too.
    """
    if not isinstance(runner, CompiledProgram) or not bound:
        return None
    arrays = {name: g.array for name, g in bound.items() if isinstance(g, Given)}
    printed, panels = panel_program(runner, frozenset(arrays))
    if printed is None or not (build or toolchain.built_before(*printed.units)):
        return None
    library = toolchain.build(*printed.units)
    held = {p.array: filled(p, arrays[p.read.source.name]) for p in panels}
    return printed.run(library, toolchain.identity(), held)


def panel_program(runner: CompiledProgram, bound: frozenset[str]) -> tuple[Printed | None, tuple[Panels, ...]]:
    """The source of the program with panels of some inputs, and the panels; no source where there would be none."""
    keeping = Keeping(bound, vectors(), threads())
    plans: list[tuple[KernelPlan, Schedule | None]] = []
    kept: dict[int, tuple[KernelPlan, Kept]] = {}
    for b in runner.kernels:
        found = keeping.kernel(b.plan) if _first(b) else None
        if found is None:
            plans.append((b.plan, b.schedule))
            continue
        plans += [(before, None) for before in found.before]
        kept[len(plans)] = b.plan, found
        plans.append((replace(b.plan, outputs=found.outputs), found.schedule))
    if not kept:
        return None, ()
    built = list(build_plans(plans, build_kernel))
    for n, (plan, found) in kept.items():
        read = kernel_sources(found.outputs)[: -len(plan.outputs)]
        built[n] = replace(built[n], plan=plan, sources=(*read, *plan.outputs))
    panels = tuple(dict.fromkeys(p for _, found in kept.values() for p in found.panels))
    return print_kernels(runner.program, tuple(built), [p.array for p in panels]), panels


def _first(b: Built) -> bool:
    """Whether a kernel runs as it does where nobody said how: a schedule that was asked for or measured stays."""
    if any(t.into for t in b.plan.outputs):
        return False
    return b.schedule == candidate_schedules(b.plan.outputs, threads=threads(), vectors=vectors())[0]


def filled(panels: Panels, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Panels of an array: its elements in another order."""
    start, steps = panels.view(array.strides)
    shape = tuple(n.evaluate({}) for n in panels.array.shape)
    first = array.reshape(-1)[start // array.itemsize :]
    made = aligned(shape, array.dtype)
    np.copyto(made, np.lib.stride_tricks.as_strided(first, shape, steps, writeable=False))
    return made
