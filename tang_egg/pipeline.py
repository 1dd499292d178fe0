"""The way of the data, in order. This is the only module that imports all stages.

    graph → checked → normal form → windows → saturated → candidate terms → selected kernels → program → schedules
          → source → built → verified → Compiled

`TANG_TRACE=graph,windows,egraph,program,schedule,source` writes the named stages to standard error as they are made.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tang_egg.budget import ErrorBudget
from tang_egg.check import check_graph, check_monoid
from tang_egg.cost.roofline import Costs
from tang_egg.database_find import looked_up, place_of, turned_on
from tang_egg.errors import GraphError, InputError
from tang_egg.extract.assemble import WindowResult, optimize_window
from tang_egg.extract.certificate_program import Ending, assembled
from tang_egg.extract.certify import Budget
from tang_egg.extract.certify_ledger import Measurer
from tang_egg.extract.certify_record import SelectionCertificate
from tang_egg.extract.derive import Step
from tang_egg.ir import Graph, Reduce, Scan, Tensor, tensors_of, walk
from tang_egg.measure_single import CpuKernels
from tang_egg.measure_single_cuda import CudaKernels
from tang_egg.measure_single_grid import GridKernels
from tang_egg.monoid import BUILT_IN
from tang_egg.normal import normal_form
from tang_egg.pipeline_budget import Enclosures, extract_within
from tang_egg.pipeline_certify import Certified, certified, check_alone
from tang_egg.pipeline_chunk import extract_chunked
from tang_egg.pipeline_compiled import Compiled, Extraction, Options
from tang_egg.pipeline_rewrite import check_products, rewritten
from tang_egg.pipeline_space import GRIDS, checked_sizes, known_constants, target_name, target_of
from tang_egg.pipeline_space import Target as Searched
from tang_egg.pipeline_tuned import TunedFirst, compiled_with, verified_with, with_known
from tang_egg.program import Program
from tang_egg.progress import note
from tang_egg.run_arrays import check_names
from tang_egg.saturate import Limits
from tang_egg.schedule import Schedule, parse_schedule
from tang_egg.targets import TARGETS as TARGETS
from tang_egg.targets import Target, Wish
from tang_egg.targets import target as target_named
from tang_egg.tuned import Tuned
from tang_egg.verify import dim_choices
from tang_egg.windows import Canonical, Window, canonical, cut

RECURSION = 20_000
"""Python's limit while graphs are compiled: expressions of thousands of operations in a row are walked recursively."""


def trace(stage: str, text: object) -> None:
    """Writes a stage to standard error if TANG_TRACE names it."""
    if stage in os.environ.get("TANG_TRACE", "").split(","):
        print(f"── {stage}\n{text}", file=sys.stderr)


def extract(graph: Graph, *, limits: Limits | None = None, costs: Costs | None = None) -> Extraction:
    """Saturates a graph and selects its kernels; nothing is compiled and no device is needed.

    Raises GraphError when the graph is not well formed, SelectionError when no variant can be executed.
    """
    start = time.perf_counter()
    sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION))
    check_graph(graph)
    _check_monoids(graph)
    trace("graph", graph)
    values = (limits or Limits()).values
    normal = normal_form(graph, axes=costs is not None and costs.machine.units, ieee=values == "ieee")
    windows = cut(normal)
    done: dict[tuple[tuple[Tensor, ...], tuple[Tensor, ...]], WindowResult] = {}
    parts: list[tuple[Window, Canonical, WindowResult]] = []
    for n, window in enumerate(windows):
        note("saturate", n, len(windows))
        shared = canonical(window)
        trace("windows", "\n".join(f"{t.name}[{', '.join(map(str, t.axes))}]" for t in window.tensors))
        key = (shared.tensors, shared.roots)
        if key not in done:
            done[key] = optimize_window(shared, costs or Costs(), limits or Limits())
            trace("egraph", done[key].saturation.text)
        parts.append((window, shared, done[key]))
    note("saturate", len(windows), len(windows))
    program, steps = _assemble(normal, parts)
    trace("program", "\n".join(f"{k.name}: {', '.join(t.name for t in k.outputs)}" for k in program.kernels))
    return Extraction(graph, program, tuple(parts), steps, time.perf_counter() - start, values)


def check_kind(where: str, graph: object) -> None:
    """Raises GraphError for what is no graph."""
    if not isinstance(graph, Graph):
        raise GraphError(
            f"a value of type {type(graph).__name__} is no graph",
            where=where,
            mend="make one of named outputs: te.graph('name', y=...)",
        )


def _check_monoids(graph: Graph) -> None:
    """Tries the declared properties of monoids that are not built in: laws and schedules rely on them."""
    folds = [s for t in tensors_of(graph.outputs) for s in walk(t.body) if isinstance(s, (Reduce, Scan))]
    own = [m for m in dict.fromkeys(f.monoid for f in folds) if m not in BUILT_IN.values()]
    for m in own:
        check_monoid(m, trials=64, dims=dim_choices(graph)[-1])


def _assemble(
    graph: Graph, parts: Sequence[tuple[Window, Canonical, WindowResult]]
) -> tuple[Program, dict[str, tuple[Step, ...]]]:
    """The kernels of all windows under the user's names, and the steps that led to each."""
    endings = [(w, c, Ending(tuple(k.outputs for k in r.kernels), r.roots)) for w, c, r in parts]
    made = assembled(graph, endings)
    steps = [k.steps for _, _, r in parts for k in r.kernels]
    plans = tuple(
        replace(p, laws=tuple(dict.fromkeys(s.law for s in own))) for p, own in zip(made.kernels, steps, strict=True)
    )
    return replace(made, kernels=plans), {p.name: own for p, own in zip(plans, steps, strict=True)}


def optimize(
    graph: Graph,
    target: str = "c",
    *,
    limits: Limits | None = None,
    schedule: Mapping[str, Schedule | str] | None = None,
    verified: bool = True,
    values: str = "finite",
    products: str = "exact",
    split: Mapping[str, int] | None = None,
    chunk: Mapping[str, int] | None = None,
    budget: ErrorBudget | None = None,
    ranges: Enclosures | None = None,
    seconds: float | None = None,
    gap: float | None = None,
    cache: str = "warm",
    sizes: Mapping[str, int] | None = None,
    tuned: bool = True,
) -> Compiled:
    """Derives, selects, compiles and verifies kernels for a graph.

    `target`: "c" (this machine's processor), "cuda" (an NVIDIA GPU, through CuPy), or another name of targets.TARGETS:
    "opencl", "metal", "wgsl", "glsl".

    `values`: with "finite", laws that hold on finite values only may be used; a score of -inf under a maximum is still
    exact, since cascades treat it as nothing seen yet. With "ieee" every infinity and NaN comes out as the graph says.

    `products`: with "tf32", products of f32 operands may round them to tf32 where a target has units for that. With
    "bf16x3", "bf16x4", "bf16x6" or "bf16x9" they become so many products of parts that are rounded to bf16, with the
    bound on the error that the derivation states (see docs/sharding.md).
    `split` computes folds along an axis in so many shares that are merged by a kernel of their own: {"K:1": 8}. The
    axis is named by an index, a dim, or an input and its axis.
    `chunk` computes folds up to a point of an axis in chunks of so many points, with a state that is carried on
    from each to the next: {"K:0": 64}. Axes are named as for `split` (see extract/chunk.py).
    `schedule` forces schedules by kernel name, as records or in their one-line form.
    `verified=False` skips the comparison with the float64 interpreter.

    `seconds` or `gap`: kernels and schedules are timed, until so many seconds are over or no other choice can be faster
    by more than that share (0.05 for 5 %; 0 for a proof); `compiled.certificate` then says what was found, and how far
    from the bound it is (docs/certified-selection.md). Without either nothing is timed and the cost model decides.
    `cache`: whether times are those of "warm" or "cold" caches. `sizes`: of symbolic dims while kernels are timed.
    `tuned`: whether kernels that were measured to be faster under another schedule than the first proposal take that
    (docs/tuning.md); of those with symbolic dims the schedule that was measured nearest to `sizes`.

    `budget`: with one, laws that may cancel or overflow are used too, where it accepts what they lead to; `ranges` are
    the enclosures of inputs that it may rely on, e.g. {"X": (-10, 10)} (see docs/numerics.md).

    Raises GraphError (the graph), TargetError (no compiler or no device), VerificationError (a kernel is wrong; never
    returned), InputError or CodegenError (a forced schedule).
    """
    _check_asked("optimize", graph, target, values, products)
    on = target_named(target)
    device = on.open()
    allowed = replace(limits or Limits(), values=values)
    certificate: SelectionCertificate | None = None
    if seconds is None and gap is None:
        extraction = extract_within(
            lambda within: extract_for(target, graph, within, split, products, chunk), graph, allowed, budget, ranges
        )
    else:
        check_alone(schedule=schedule, split=split, chunk=chunk, budget=budget, ranges=ranges,
                    products=None if products == "exact" else products)  # fmt: skip
        asked = Budget(math.inf if seconds is None else seconds, 0.0 if gap is None else gap)
        found = certify(graph, target, asked, cache=cache, sizes=sizes, limits=allowed, tuned=tuned)
        extraction, schedule, certificate = found.extraction, found.schedules, found.certificate
    start = time.perf_counter()
    wish = Wish(values == "ieee", products, on.units(device))
    firsts = choose_schedules(
        extraction.program, target, schedule, exact=wish.exact, products=products, units=wish.units
    )
    free = {n: s for n, s in firsts.items() if n not in (schedule or {})} if turned_on(tuned) else {}
    known = looked_up(extraction.program, free, on, device, wish, checked_sizes(graph, sizes, cache)) if free else {}
    chosen = with_known(firsts, known)
    trace("schedule", "\n".join(f"{n}: {s}" for n, s in chosen.items()))
    chosen, runner = compiled_with(on, extraction.program, chosen, firsts, known, device)
    trace("source", runner.source)
    built = time.perf_counter()
    checked = verified_with(graph, extraction.program, runner, chosen, known) if verified else None
    took = {"extract": extraction.seconds, "build": built - start, "verify": time.perf_counter() - built}
    if certificate is not None:
        took["search"] = certificate.seconds
    options = Options(values, products)
    return Compiled(
        graph, extraction, target, chosen, runner, checked, took, options, certificate=certificate, tuned=known
    )


def certify(
    graph: Graph,
    target: str = "c",
    budget: Budget | None = None,
    *,
    cache: str = "warm",
    sizes: Mapping[str, int] | None = None,
    limits: Limits | None = None,
    measurer: Measurer | None = None,
    remember: bool = True,
    tuned: bool = True,
) -> Certified:
    """Extracts a graph and searches the space of its kernels and schedules by timing them; see pipeline_certify.

    `measurer`: what times kernels, by default this machine. `remember`: times are kept in the user's cache folder and
    taken from there. The budget counts from here on, saturation included. `tuned`: of a kernel's schedules that of the
    database is timed next to the first proposal.
    Raises InputError for a state of the caches or sizes that make no sense, else as extract does.
    """
    start = time.perf_counter()
    _check_asked("certify", graph, target, (limits or Limits()).values, "exact")
    allowed = budget or Budget()
    known = checked_sizes(graph, sizes, cache)
    on = target_named(target)
    if target in GRIDS:
        known_constants(target)  # before anything else is done: a search without floors would be no search
    device = on.open() if measurer is None else None
    plain = device is not None and not on.units(device)
    exact = plain or (target not in GRIDS and (limits or Limits()).values == "ieee")
    extraction = extract_for(target, graph, limits or Limits())
    at = target_of(target, known, cache, exact=exact)
    timer = measurer or measurer_of(on, device, known, cache)
    left = replace(allowed, seconds=max(0.0, allowed.seconds - (time.perf_counter() - start)))
    memory = None
    if remember and measurer is None:
        memory = memory_of(on, device, at)
    guesses = TunedFirst(at.guesses, place_of(target, device), known) if turned_on(tuned) else None
    return certified(
        extraction, at, timer, left, lambda results: _rebuilt(extraction, target, results), recall=memory,
        asked=allowed, before=time.perf_counter() - start, guesses=guesses,
    )  # fmt: skip


def memory_of(on: Target, device: Any, at: Searched) -> Tuned:
    """What earlier searches on an open device measured, in the user's cache folder."""
    name = f"{target_name(at)}, {device.title}" if on.name in GRIDS and device is not None else target_name(at)
    return Tuned(name, at.cache, at.threads, at.sizes, on.name, on.sources)


def measurer_of(on: Target, device: Any, sizes: Mapping[str, int], cache: str) -> Measurer:
    """What times kernels on an open device."""
    if on.name == "c":
        return CpuKernels(sizes, cache)
    if on.name == "cuda":
        return CudaKernels(sizes, cache, device)
    return GridKernels(device, lambda program, chosen: on.compile(program, chosen, device), sizes, cache)  # type: ignore[arg-type, return-value]


def _rebuilt(
    extraction: Extraction, target: str, results: Sequence[WindowResult]
) -> tuple[Program, dict[str, tuple[Step, ...]]]:
    """The program of an extraction whose distinct windows have other kernels."""
    swapped = {id(old): new for old, new in zip(extraction.distinct, results, strict=True)}
    on = target_named(target)
    normal = normal_form(
        extraction.graph, axes=on.rates is not None and on.rates.units, ieee=extraction.values == "ieee"
    )
    program, steps = _assemble(normal, [(w, c, swapped[id(r)]) for w, c, r in extraction.windows])
    parted = on.parted(program)
    return parted, {**steps, **{k.name: steps.get(k.name, ()) for k in parted.kernels}}


def sources(
    graph: Graph,
    target: str = "cuda",
    *,
    limits: Limits | None = None,
    schedule: Mapping[str, Schedule | str] | None = None,
    values: str = "finite",
    products: str = "exact",
    split: Mapping[str, int] | None = None,
    chunk: Mapping[str, int] | None = None,
) -> dict[str, str]:
    """The printed source of each kernel by name; nothing is compiled and no device is needed. Takes what optimize does.

    On "c" a source is the function alone, elsewhere a translation unit. A kernel that differs from an earlier one only
    in the names of its arrays has no source of its own.
    """
    _check_asked("sources", graph, target, values, products)
    program = extract_for(target, graph, replace(limits or Limits(), values=values), split, products, chunk).program
    chosen = choose_schedules(program, target, schedule, exact=values == "ieee", products=products)
    return target_named(target, "sources").sources(program, chosen)


def extract_for(
    target: str,
    graph: Graph,
    limits: Limits,
    split: Mapping[str, int] | None = None,
    products: str = "exact",
    chunk: Mapping[str, int] | None = None,
) -> Extraction:
    """An extraction with the costs of a target, folds and products split and prefix folds in chunks as asked.

    Its kernels are cut the way the target runs them best.
    """
    on = target_named(target, "extract_for")
    chosen = extract_chunked(lambda g: extract(g, limits=limits, costs=on.costs(products)), graph, chunk)
    found = rewritten(chosen, split, products)
    if on.cut is None:
        return found
    program = on.parted(found.program, products)
    steps = {k.name: found.steps.get(k.name, ()) for k in program.kernels}
    return replace(found, program=program, steps={**found.steps, **steps})


def _check_asked(where: str, graph: object, target: str, values: str, products: str) -> None:
    check_kind(where, graph)
    target_named(target, where)
    if values not in ("finite", "ieee"):
        raise GraphError(f"no values '{values}'", where=where, mend="use 'finite' or 'ieee'")
    check_products(where, values, products)


def choose_schedules(
    program: Program,
    target: str,
    wanted: object = None,
    *,
    exact: bool = False,
    products: str = "exact",
    units: bool = True,
) -> dict[str, Schedule]:
    """The schedule of every kernel: the caller's, else the first candidate of the target.

    `exact`: infinities and NaN in masked operands must not come through. `units`: the chip has the matrix units that
    kernels are written for.
    """
    forced = _forced(wanted, program)
    on, wish = target_named(target, "choose_schedules"), Wish(exact, products, units)
    return {k.name: forced.get(k.name) or on.first(k.outputs, wish) for k in program.kernels}


def _forced(schedule: object, program: Program) -> dict[str, Schedule]:
    """The schedules that the caller wants. Raises InputError for unknown kernels and for what is no schedule."""
    if schedule is None:
        return {}
    if not isinstance(schedule, Mapping):
        raise InputError(
            f"schedule is a value of type {type(schedule).__name__}",
            where="optimize",
            mend="pass a dict of schedules by kernel name: schedule={'y': 'point'}",
        )
    check_names(schedule, (k.name for k in program.kernels), "kernel", "optimize(..., schedule=...)")
    found: dict[str, Schedule] = {}
    for name, wanted in schedule.items():
        if not isinstance(wanted, (Schedule, str)):
            raise InputError(
                f"the schedule of kernel '{name}' is a value of type {type(wanted).__name__}",
                where="optimize(..., schedule=...)",
                mend="give a Schedule or its one-line form, e.g. 'point'",
            )
        found[name] = parse_schedule(wanted) if isinstance(wanted, str) else wanted
    return found
