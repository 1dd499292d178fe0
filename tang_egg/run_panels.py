"""Programs of which products read bound inputs from panels, that are filled once, when the arrays are bound.

The kernels are those of the program but for the products, whose lowering is codegen/kept_panels. A program as it is
reads arrays where they lie, at every call; the one with panels is another library, built where something is bound.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tang_egg import run, run_arrays, run_layout
from tang_egg import run_toolchain as toolchain
from tang_egg.codegen.align import aligned
from tang_egg.codegen.candidates import schedules as candidate_schedules
from tang_egg.codegen.kept_panels import Keeping, Kept, Panels
from tang_egg.codegen.lower import kernel_sources
from tang_egg.codegen.pack_plan import pack_plan
from tang_egg.content import content_hash, text_hash
from tang_egg.errors import TargetError, VerificationError
from tang_egg.ir import Graph, Input, Source
from tang_egg.program import KernelPlan
from tang_egg.run import CompiledProgram, Printed, build_kernel, build_plans, print_kernels, threads
from tang_egg.run import aligned as aligned_array
from tang_egg.run_arrays import Given, take
from tang_egg.run_cache import holds, record
from tang_egg.run_layout import Built, padded, stored_bytes
from tang_egg.run_vectors import vectors
from tang_egg.schedule import Schedule
from tang_egg.verify import verify

TEAMS = (1, 2, 4, 8, 16, 32, 64)
"""Numbers of threads for which first schedules may have been chosen."""


def kept_program(
    graph: Graph, runner: object, bound: Mapping[str, Any], verified: bool = True, build: bool = True
) -> CompiledProgram | None:
    """The program with panels of bound arrays; None where no product reads any, or where it is not for a processor.

    Without `build` a library that is not in the cache is not built, and without a compiler none is: None then too.
    It is compared with the interpreter as every program is; one that differs is told and does not run. That it agrees
    is kept beside its library, so that the next process need not find out again.
    """
    if not isinstance(runner, CompiledProgram) or not bound:
        return None
    try:
        here = toolchain.identity()
    except TargetError:
        return None
    arrays = {name: g.array for name, g in bound.items() if isinstance(g, Given)}
    printed, panels = panel_program(runner, frozenset(arrays))
    if printed is None or not (build or toolchain.built_before(*printed.units)):
        return None
    library = toolchain.build(*printed.units)

    def call(given: Mapping[str, Any], dims: Mapping[str, int], out: Mapping[str, Any]) -> Any:
        own = {s.name: take(s, given[s.name]).array for p in panels if isinstance(s := p.read.source, Input)}
        return printed.run(library, here, filled(panels, own))(given, dims, out)

    entry, claim = Path(library._name), _claim(graph, printed, panels)
    if verified and not holds(entry, claim):
        try:
            verify(graph, runner.program, call)
        except VerificationError as error:
            warnings.warn(f"bound arrays are read where they lie, since their panels gave: {error}", stacklevel=3)
            return None
        record(entry, claim)
    return printed.run(library, here, filled(panels, arrays))


def _claim(graph: Graph, printed: Printed, panels: Sequence[Panels]) -> str:
    """A word for "this library, called in this way, gives what the graph means".

    The name of the library in the cache has the rest: its source, the compiler, the machine.
    """
    read = [(b.plan.name, [s.name for s in b.sources]) for b in printed.kernels]
    tables = [s.name for s in printed.layout.slots], printed.layout.dims, [s.name for s in printed.layout.temporaries]
    return text_hash(repr((content_hash(graph), read, tables, panels, threads(), _callers())))[:32]


@lru_cache(maxsize=1)
def _callers() -> str:
    """A hash of the modules through which arrays reach a library: where they change, it is compared anew."""
    files = [__file__, *(str(module.__file__) for module in (run, run_arrays, run_layout))]
    return text_hash("\0".join(Path(name).read_text(encoding="utf-8") for name in files))


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
        own: dict[Source, Source] = {i: p.array for i, p in found.panels.items()}
        read = [own.get(s, s) for s in kernel_sources(found.outputs)[: -len(plan.outputs)]]
        built[n] = replace(built[n], plan=plan, sources=(*read, *plan.outputs))
    panels = tuple(dict.fromkeys(p for _, found in kept.values() for p in found.panels.values()))
    return print_kernels(runner.program, tuple(built), [p.array for p in panels]), panels


def _first(b: Built) -> bool:
    """Whether a kernel runs as it does where nobody said how: a schedule that was asked for or measured stays."""
    if pack_plan(aligned(b.plan.outputs)) is None or any(t.into for t in b.plan.outputs):
        return False
    counts = dict.fromkeys((threads(), *TEAMS))  # an artefact may come from a machine with more or fewer
    return any(b.schedule == candidate_schedules(b.plan.outputs, threads=n, vectors=vectors())[0] for n in counts)


def filled(panels: Sequence[Panels], arrays: Mapping[str, np.ndarray[Any, Any]]) -> dict[Source, np.ndarray[Any, Any]]:
    """Panels of arrays: their elements in another order, one after the other in the order in which kernels read them.

    They share one piece of memory, which is large enough for pages of a size that suits streams.
    """
    shapes = [tuple(n.evaluate({}) for n in p.array.shape) for p in panels]
    sizes = [padded(stored_bytes(p.array, shape)) for p, shape in zip(panels, shapes, strict=True)]
    room = aligned_array((sum(sizes),), np.dtype("uint8"))
    found: dict[Source, np.ndarray[Any, Any]] = {}
    place = 0
    for p, shape, size in zip(panels, shapes, sizes, strict=True):
        array = arrays[p.read.source.name]
        start, steps = p.view(array.strides)
        first = array.reshape(-1)[start // array.itemsize :]
        found[p.array] = room[place : place + stored_bytes(p.array, shape)].view(array.dtype).reshape(shape)
        np.copyto(found[p.array], np.lib.stride_tricks.as_strided(first, shape, steps, writeable=False))
        place += size
    return found
