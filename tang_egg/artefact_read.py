"""Reading of artefacts: every part checked against its hash, its type and the other parts before it is used."""

from __future__ import annotations

import sys
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from tang_egg import artefact_data as data
from tang_egg.artefact_file import Archive, damaged, read_zip
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
    Held,
    Kernels,
    Manifest,
)
from tang_egg.check import check_graph
from tang_egg.content import text_hash
from tang_egg.errors import ArtefactError, CodegenError, TargetError
from tang_egg.extract.derive import Step
from tang_egg.ir import (
    Graph,
    Input,
    Reduce,
    Scalar,
    Scan,
    Source,
    Tensor,
    const,
    map_children,
    sources,
    tensors_of,
    walk,
)
from tang_egg.pipeline import TARGETS
from tang_egg.pipeline_compiled import Derived
from tang_egg.program import KernelPlan, Program
from tang_egg.report_model import Report
from tang_egg.run_arrays import NUMPY
from tang_egg.schedule import Schedule, parse_schedule
from tang_egg.text import parse_graph
from tang_egg.windows import replace_sources


def read(path: Path) -> Artefact:
    """The parts of a file. Raises ArtefactError (damaged, foreign, too new), TargetError (of no target that is known),
    TextError and GraphError (a graph that cannot be read or fails its check).
    """
    archive = read_zip(path)
    manifest = _manifest(archive)
    if manifest.target not in TARGETS:
        raise TargetError(
            f"the artefact is for the target '{manifest.target}', which this version does not know",
            where=str(path),
            mend=f"the targets are: {', '.join(TARGETS)}",
        )
    _check_members(archive, manifest)
    text = _text(archive, GRAPH)
    if text_hash(text) != manifest.graph:
        raise damaged(path, "its graph is not the one that its manifest names")
    graph = parse_graph(text, file=f"{path}:{GRAPH}")
    kernels = data.load(Kernels, archive.read(KERNELS), f"{path}:{KERNELS}")
    whole = parse_graph(_text(archive, PROGRAM), file=f"{path}:{PROGRAM}", check=False)
    check_graph(evaluated(whole))
    program = _program(path, graph, whole, kernels)
    steps = data.typed(
        dict[str, tuple[Step, ...]], data.parse(archive.read(DERIVATION), f"{path}:{DERIVATION}"), DERIVATION
    )
    report = data.load(Report, archive.read(REPORT), f"{path}:{REPORT}")
    source = _text(archive, SOURCE[manifest.target])
    arrays = {h.input: _array(archive, graph, h) for h in manifest.arrays}
    return Artefact(
        path, manifest, graph, program, _schedules(path, kernels), Derived(report, steps), source, arrays, archive
    )


def _manifest(archive: Archive) -> Manifest:
    where = f"{archive.path}:{MANIFEST}"
    if MANIFEST not in archive.members:
        raise ArtefactError(
            "this is no artefact of tang_egg: it has no manifest",
            where=str(archive.path),
            mend="give the path of a file that Compiled.save wrote",
        )
    said = data.parse(archive.read(MANIFEST), where)
    if not isinstance(said, dict) or said.get("kind") != KIND:
        raise ArtefactError(
            "this is no artefact of tang_egg: its manifest is of another kind",
            where=where,
            mend="give the path of a file that Compiled.save wrote",
        )
    number = said.get("format")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise damaged(archive.path, f"its format is {number!r:.40}")
    if number > FORMAT:
        raise ArtefactError(
            f"the artefact has format {number}; this version reads formats up to {FORMAT}",
            where=f"{where}, written by tang_egg {str(said.get('tang_egg'))[:40]}",
            mend="install a newer tang_egg, or save it again with this one",
        )
    found = data.typed(Manifest, said, where)
    assert isinstance(found, Manifest)
    return found


def _check_members(archive: Archive, manifest: Manifest) -> None:
    """Every member is named by the manifest and has the hash that it says; nothing else is there."""
    needed = {
        GRAPH,
        PROGRAM,
        KERNELS,
        DERIVATION,
        REPORT,
        SOURCE[manifest.target],
        *(h.member for h in manifest.arrays),
    }
    if missing := sorted(needed - set(manifest.members)):
        raise damaged(archive.path, f"its manifest names no member '{missing[0]}'")
    if strange := sorted(set(archive.members) - set(manifest.members) - {MANIFEST}):
        raise damaged(archive.path, f"its manifest does not name its member '{strange[0]}'")
    if manifest.library is not None and LIBRARY not in manifest.members:
        raise damaged(archive.path, "its manifest describes a library that is not there")
    for name, expected in manifest.members.items():
        if archive.hash(name) != expected:
            raise damaged(archive.path, f"its member '{name}' is not what was written")


def _text(archive: Archive, name: str) -> str:
    try:
        return archive.read(name).decode()
    except UnicodeDecodeError:
        raise damaged(archive.path, f"its member '{name}' is no text") from None


def _program(path: Path, graph: Graph, whole: Graph, kernels: Kernels) -> Program:
    """The kernels over the stored tensors of the program. They must write what the graph promises, in a legal order."""
    plans: list[KernelPlan] = []
    left = list(whole.outputs)
    for k in kernels.kernels:
        if not 0 < k.writes <= len(left):
            raise damaged(path, f"kernel '{k.name}' writes {k.writes} tensors of {len(left)} that are left")
        plans.append(KernelPlan(k.name, tuple(left[: k.writes]), k.laws))
        del left[: k.writes]
    if any(not 0 <= n < len(whole.outputs) for n in kernels.outputs) or len({k.name for k in plans}) < len(plans):
        raise damaged(path, "its kernels do not fit its program")
    outputs = tuple(whole.outputs[n] for n in kernels.outputs)
    if whole.inputs != graph.inputs or [_signature(t) for t in outputs] != [_signature(t) for t in graph.outputs]:
        raise damaged(path, "its program computes other outputs or reads other inputs than its graph")
    program = Program(Graph(graph.name, graph.inputs, outputs), tuple(plans))
    _check_order(path, program, left)
    return program


def evaluated(whole: Graph) -> Graph:
    """What a program computes, as a graph that can be checked: without lifts that no component in use depends on.

    Folds that were joined into one pass keep them, with indices that the tensor does not have.
    """
    held: dict[Source, Tensor] = {}
    for t in tensors_of(whole.outputs):
        done: dict[Scalar, Scalar] = {}
        root = replace_sources(t.body, lambda s: held.get(s, s))
        for s in walk(root):
            done[s] = _without_unused(map_children(s, done.__getitem__))
        held[t] = Tensor(t.name, t.axes, done[root], t.dtype, t.into, t.at)
    return Graph(whole.name, whole.inputs, tuple(held[t] for t in whole.outputs))


def _without_unused(s: Scalar) -> Scalar:
    if not isinstance(s, (Reduce, Scan)):
        return s
    needed = s.monoid.needs(s.part)
    parts = zip(s.body, s.monoid.components, strict=True)
    body = tuple(
        b if k in needed else const(False if c.type == "bool" else 0, c.type) for k, (b, c) in enumerate(parts)
    )
    if isinstance(s, Scan):
        return Scan(s.monoid, s.index, body, s.part, s.chunk, s.at)
    return Reduce(s.monoid, s.indices, s.where, body, s.part, s.at)


def _signature(t: Tensor) -> tuple[object, ...]:
    return t.name, t.shape, t.dtype, t.into


def _check_order(path: Path, program: Program, rest: list[Tensor]) -> None:
    """Every kernel reads inputs and what earlier kernels wrote, and what no kernel writes is an output."""
    written: set[Tensor] = set()
    for plan in (*program.kernels, KernelPlan("outputs", tuple(rest))):
        for t in plan.outputs:
            for s in sources(t.body):
                if s not in written and s not in program.graph.inputs:
                    raise damaged(path, f"kernel '{plan.name}' reads '{s.name}' before it is written")
        written.update(plan.outputs)
    if not set(rest) <= set(program.graph.outputs):
        raise damaged(path, "its program has a tensor that no kernel writes")


def _schedules(path: Path, kernels: Kernels) -> dict[str, Schedule]:
    texts = {k.name: k.schedule for k in kernels.kernels} | kernels.copies
    try:
        return {name: parse_schedule(text) for name, text in texts.items()}
    except CodegenError as error:
        raise damaged(path, f"a schedule cannot be read: {error.what} ({error.where[:120]})") from None


def _array(archive: Archive, graph: Graph, held: Held) -> np.ndarray[Any, Any]:
    """A bound array on the mapped file; a copy where the machine counts bytes from the other end."""
    declared = {i.name: i for i in graph.inputs}.get(held.input)
    if not isinstance(declared, Input) or declared.dtype != held.dtype:
        raise damaged(archive.path, f"it has an array for '{held.input}', which is no such input")
    kind = np.dtype(NUMPY[held.dtype])
    raw = archive.view(held.member)
    if any(n < 0 for n in held.shape) or prod(held.shape) * kind.itemsize != raw.size:
        raise damaged(
            archive.path, f"the array for '{held.input}' has {raw.size} bytes and the shape {list(held.shape)}"
        )
    if raw.ctypes.data % kind.itemsize:
        raw = raw.copy()
    array = raw.view(kind.newbyteorder("<")).reshape(held.shape)
    return array if sys.byteorder == "little" else array.astype(kind)
