"""Artefacts: a compiled graph as one file, and a compiled graph from such a file, without deriving anything again.

    file    ::= a zip (see artefact_file) of
                manifest.json       format, version, hashes of all members, target, options, what the library is for
                graph.tang          the graph as it was given
                program.tang        everything the kernels store, as the outputs of one graph
                kernels.json        the kernels in order, their tensors, laws and schedules
                derivation.json     the steps that led to each kernel
                report.json         the report, without times
                source.c | .cu      what the program prints
                library.so?         what the compiler made of it
                arrays/N?           bound arrays, as their bytes

Nothing in a file is executed but its library, and that only where its hash is the recorded one, it was built for this
machine by this compiler, and from the very source that this version prints for the program. Who writes a file chooses
its library: `rebuild="always"` is for files of unknown origin.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np

from tang_egg import artefact_data as data
from tang_egg import run_toolchain as toolchain
from tang_egg.artefact_file import Bytes, as_path, write_zip
from tang_egg.artefact_model import (
    DERIVATION,
    FORMAT,
    GRAPH,
    KERNELS,
    KIND,
    LIBRARY,
    MANIFEST,
    PROGRAM,
    REPORT,
    SOURCE,
    Artefact,
    Checked,
    Held,
    Kernel,
    Kernels,
    Manifest,
    version,
)
from tang_egg.artefact_read import read
from tang_egg.content import content_hash, kernel_names, program_graph, text_hash
from tang_egg.errors import ArtefactError, TargetError
from tang_egg.ir import Input
from tang_egg.pipeline import RECURSION
from tang_egg.pipeline_compiled import Compiled
from tang_egg.report_model import Report
from tang_egg.run import CompiledProgram, Printed, print_program
from tang_egg.run_arrays import Given
from tang_egg.run_bound import held_arrays
from tang_egg.run_cuda import CudaProgram
from tang_egg.run_grid import GridProgram
from tang_egg.run_panels import kept_program
from tang_egg.targets import Runner, target
from tang_egg.text import parse_graph, print_graph
from tang_egg.verify import verify

REBUILD = ("auto", "never", "always")
"""When the library of a file is built anew."""


def save(compiled: Compiled, path: str | os.PathLike[str], *, arrays: bool = False, library: bool = True) -> None:
    """Writes a compiled graph to one file; see Compiled.save."""
    members, held = _members(compiled), list[Held]()
    identity: toolchain.Identity | None = None
    if library and isinstance(compiled.runner, CompiledProgram):
        members[LIBRARY], identity = compiled.runner.shipped()
    if arrays:
        for n, i in enumerate(i for i in compiled.graph.inputs if i.name in compiled.bound):
            array = _on_host(compiled, i, compiled.bound[i.name])
            held.append(Held(i.name, i.dtype, array.shape, f"arrays/{n}"))
            members[held[-1].member] = _bytes(array)
    members[MANIFEST] = data.dump(_manifest(compiled, members, identity, tuple(held))).encode()
    write_zip(as_path(path), members)


def _manifest(
    compiled: Compiled, members: Mapping[str, Bytes], library: toolchain.Identity | None, arrays: tuple[Held, ...]
) -> Manifest:
    v = compiled.verification
    errors = {name: float(e) for name, e in v.errors.items()} if v else {}
    hashes = {name: hashlib.sha256(members[name]).hexdigest() for name in sorted(members)}
    return Manifest(
        format=FORMAT,
        kind=KIND,
        tang_egg=version(),
        target=compiled.target,
        graph=content_hash(compiled.graph),
        program=content_hash(compiled.program),
        options=compiled.options,
        members=hashes,
        verification=Checked(v.runs, errors, v.samples, v.derived) if v else None,
        library=library,
        arrays=arrays,
    )


def _members(compiled: Compiled) -> dict[str, Bytes]:
    program, runner = compiled.program, compiled.runner
    texts = {GRAPH: print_graph(compiled.graph), PROGRAM: print_graph(program_graph(program))}
    for name, graph in ((GRAPH, compiled.graph), (PROGRAM, program_graph(program))):
        if parse_graph(texts[name], check=False) != graph:
            raise ArtefactError(
                f"the text form of graph '{graph.name}' does not read back as the same graph",
                where=f"Compiled.save: {name}",
                mend="report this with the graph",
            )
    chosen = {b.plan.name: str(b.schedule) for b in runner.kernels}
    known = {k.name for k in program.kernels}
    texts[KERNELS] = data.dump(
        Kernels(
            tuple(Kernel(k.name, len(k.outputs), k.laws, chosen[k.name]) for k in program.kernels),
            tuple(kernel_names(program)[-1]),  # type: ignore[arg-type]
            {name: text for name, text in chosen.items() if name not in known},
        )
    )
    texts[DERIVATION] = data.dump({k.name: compiled.derived.steps.get(k.name, ()) for k in program.kernels})
    texts[REPORT] = data.dump(_timeless(compiled.model()))
    texts[SOURCE[compiled.target]] = runner.source
    return {name: text.encode() for name, text in texts.items()}


def _timeless(report: Report) -> Report:
    """A report of the same things, however long they took; the source stands in a member of its own."""
    pieces = tuple(replace(p, seconds=0.0) for p in report.windows)
    return replace(report, windows=pieces, seconds=(), source="", measured=None)


def _on_host(compiled: Compiled, i: Input, held: Any) -> np.ndarray[Any, Any]:
    """A bound array on the host, in the type of its declaration."""
    if isinstance(held, Given):
        return held.array
    if isinstance(compiled.runner, GridProgram):
        return compiled.runner.read(i, held)
    assert isinstance(compiled.runner, CudaProgram)
    with compiled.runner.driver.here():
        return compiled.runner.driver.download(held.array).reshape(held.shape)


def _bytes(array: np.ndarray[Any, Any]) -> Bytes:
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return np.ascontiguousarray(little).reshape(-1).view(np.uint8).data


@overload
def load(
    path: str | os.PathLike[str], *, run: Literal[True] = True, rebuild: str = "auto", verified: bool = False
) -> Compiled: ...


@overload
def load(
    path: str | os.PathLike[str], *, run: Literal[False], rebuild: str = "auto", verified: bool = False
) -> Artefact: ...


def load(
    path: str | os.PathLike[str], *, run: bool = True, rebuild: str = "auto", verified: bool = False
) -> Compiled | Artefact:
    """The compiled graph of a file; with `run=False` its parts, and nothing is built.

    `rebuild`: "auto" uses the file's library where it fits this machine, this compiler (if there is one) and what this
    version prints, else builds it anew; "never" takes the library or fails; "always" builds, as is wise for files of
    unknown origin. Saturation is never repeated. `verified=True` compares with the float64 interpreter again.
    Raises ArtefactError for a file that is damaged, foreign or too new, TargetError when it cannot run here, and what
    the check of the graph raises.
    """
    if rebuild not in REBUILD:
        raise ArtefactError(
            f"no rebuild '{rebuild}'", where=f"load('{path}')", mend=f"use one of: {', '.join(REBUILD)}"
        )
    start = time.perf_counter()
    sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION))
    found = read(as_path(path))
    return _compiled(found, rebuild, verified, start) if run else found


def _compiled(found: Artefact, rebuild: str, verified: bool, start: float) -> Compiled:
    runner: Runner
    on = target(found.target, "load")
    if not on.library:
        runner = on.compile(found.program, found.schedules, on.open())
    else:
        runner = _on_this_machine(found, print_program(found.program, found.schedules), rebuild)
    checked = verify(found.graph, found.program, runner, found.schedules) if verified else found.verification
    chosen = {k.name: found.schedules[k.name] for k in found.program.kernels}
    bound = held_arrays(found.graph, runner, found.arrays, {})
    compiled = Compiled(
        found.graph, found.derived, found.target, chosen, runner, checked, {}, found.manifest.options, bound,
        kept=kept_program(found.graph, runner, bound, verified, build=rebuild != "never"),
    )  # fmt: skip
    compiled.seconds["load"] = time.perf_counter() - start
    return compiled


def _on_this_machine(found: Artefact, printed: Printed, rebuild: str) -> CompiledProgram:
    """The program, by the file's library where that may be run and by a fresh one elsewhere."""
    here: toolchain.Identity | None = None
    try:
        here = toolchain.identity()
    except TargetError:  # without a compiler a library of the file still serves
        if rebuild == "always":
            raise
    reason = "rebuild is 'always'" if rebuild == "always" else _unfit(found, printed, here, rebuild)
    held = found.manifest.library
    if held is not None and not reason and not (rebuild == "auto" and here and toolchain.built_before(*printed.units)):
        try:
            return printed.run(toolchain.adopt(found.archive.read(LIBRARY)), held)
        except TargetError as error:
            reason = error.what
    if rebuild == "never":
        raise TargetError(
            f"the library of the artefact cannot be used: {reason}",
            where=str(found.path),
            mend="load it with rebuild='auto' on a machine with a C compiler, or save it again on this machine",
        )
    if here is None:
        raise TargetError(
            f"the artefact has to be built anew, and there is no C compiler here: {reason}",
            where=str(found.path),
            mend="install gcc or clang, or save the artefact on a machine like this one",
        )
    return printed.run(toolchain.build(*printed.units), here)


def _unfit(found: Artefact, printed: Printed, here: toolchain.Identity | None, rebuild: str) -> str:
    """Why the library of a file must not be run here; empty where it may."""
    held = found.manifest.library
    if held is None or LIBRARY not in found.manifest.members:
        return "it has none"
    if found.manifest.members[SOURCE["c"]] != text_hash(printed.source):
        return f"its source is not what this version prints; it was written by tang_egg {found.manifest.tang_egg}"
    if held.machine != toolchain.machine():
        return f"it was built for another machine, {held.machine}; this is {toolchain.machine()}"
    if rebuild == "auto" and here is not None and held != here:
        return f"it was built by another compiler, {held.version}"
    return ""
