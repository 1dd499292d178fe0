"""Moves of a program to narrower types: one buffer stored, or one kernel's states held, in fewer bits.

    temporary T: f32  →  f16, bf16       what kernels write between them is rounded where it is stored
    temporary T: f32  →  i8              round(T / scale), and readers multiply by scale; a proved range gives the scale
    input X: f32      →  f16, bf16, i8   the same for what the caller gives, where that was asked for
    states of a kernel: f64  →  f32      the `accumulate` field of its schedule

A move changes storage only: readers compute in the type of their arithmetic, as before. Outputs keep their types.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tang_egg.errors import InputError
from tang_egg.ir import Apply, Const, Coordinate, Graph, Input, Read, Scalar, Source, Tensor, apply, sources
from tang_egg.ops import BYTES, FLOATS
from tang_egg.program import KernelPlan, Program
from tang_egg.ranges import Range
from tang_egg.rewrite import replace_reads

Array: TypeAlias = "npt.NDArray[Any]"

NARROW: Mapping[str, tuple[str, ...]] = {"f64": ("f32",), "f32": ("f16", "bf16", "i8"), "f16": ("i8",), "bf16": ("i8",)}
"""The types that a buffer of a type may be moved to, the one that loses least first."""
LEVELS = 127
"""Steps of an i8 on each side of zero."""
HELD = ("f32", "f64")
"""Types in which kernels can hold states."""


@dataclass(frozen=True, slots=True)
class Move:
    """One buffer in another type. `kind`: temporary, input or states. `scale`: of an i8, what one step stands for."""

    buffer: str
    kind: str
    before: str
    after: str
    scale: float = 0.0

    def __str__(self) -> str:
        what = "states of " if self.kind == "states" else ""
        step = f" in steps of {self.scale:.3g}" if self.scale else ""
        return f"{what}{self.buffer}: {self.before} → {self.after}{step}"


def temporaries(program: Program) -> tuple[Tensor, ...]:
    """The tensors that kernels write for other kernels, producers first."""
    kept = {t.name for t in program.graph.outputs}
    read = {s for k in program.kernels for t in k.outputs for s in sources(t.body)}
    read |= {s for t in program.graph.outputs for s in sources(t.body)}
    return tuple(t for t in program.tensors if t.name not in kept and t in read)


def moves_of(
    program: Program, inputs: Iterable[str], states: Mapping[str, str], known: Mapping[str, Range]
) -> tuple[Move, ...]:
    """The moves that can be asked about, the largest buffers first; `states`: the type of those of some kernels."""
    wanted = set(inputs)
    rows: list[tuple[int, Move]] = []
    found: list[tuple[Source, str]] = [(t, "temporary") for t in temporaries(program)]
    found += [(i, "input") for i in program.graph.inputs if i.name in wanted and not i.donated]
    for s, kind in found:
        size = math.prod((n.value or 1 << 10) for n in s.shape) * BYTES[s.dtype]
        for after in NARROW.get(s.dtype, ()):
            scale = step_of(known.get(s.name, Range())) if after == "i8" else 0.0
            rows.append((size, Move(s.name, kind, s.dtype, after, scale)))
    rows.sort(key=lambda row: -row[0])
    held = [Move(k, "states", kind, HELD[0]) for k, kind in states.items() if kind != HELD[0]]
    return (*(m for _, m in rows), *held)


def step_of(r: Range) -> float:
    """What one step of an i8 stands for that holds a range; 0 where the range is not known to be finite."""
    if not r.finite or r.empty or not 0.0 < r.size < 1e30:
        return 0.0
    return float(np.float32(r.size / LEVELS))


def applied(program: Program, move: Move) -> Program:
    """The program with one buffer in another type. Moves of states change schedules only."""
    return program if move.kind == "states" else _Mover(move).program(program)


class _Mover:
    """Rebuilds the tensors of a program around one source in another type."""

    def __init__(self, move: Move) -> None:
        self.move = move
        self.done: dict[Source, Source] = {}

    def program(self, p: Program) -> Program:
        graph = Graph(p.graph.name, tuple(self._input(i) for i in p.graph.inputs), ())
        kernels = tuple(KernelPlan(k.name, tuple(map(self._tensor, k.outputs)), k.laws) for k in p.kernels)
        return Program(replace(graph, outputs=tuple(map(self._tensor, p.graph.outputs))), kernels)

    def _mine(self, s: Source) -> bool:
        kind = "input" if isinstance(s, Input) else "temporary"
        return (s.name, kind) == (self.move.buffer, self.move.kind)

    def _input(self, i: Input) -> Input:
        return replace(i, dtype=self.move.after) if self._mine(i) else i

    def _source(self, s: Source) -> Source:
        if s not in self.done:
            self.done[s] = self._input(s) if isinstance(s, Input) else self._tensor(s)
        return self.done[s]

    def _tensor(self, t: Tensor) -> Tensor:
        known = self.done.get(t)
        if isinstance(known, Tensor):
            return known
        made = replace(t, body=replace_reads(t.body, self._read))
        if self._mine(t):
            body = quantised(made.body, self.move.scale) if self.move.scale else made.body
            made = replace(made, body=body, dtype=self.move.after)
        self.done[t] = made
        return made

    def _read(self, r: Read, at: tuple[Coordinate, ...]) -> Scalar:
        read = Read(self._source(r.source), at, r.at)
        if not self.move.scale or not self._mine(r.source):
            return read
        return apply("mul", Apply("cast:real", (read,)), Const(self.move.scale))


def quantised(x: Scalar, scale: float) -> Scalar:
    """round(x / scale) within the steps of an i8, halves up."""
    near = apply("floor", apply("add", apply("mul", x, Const(1.0 / scale)), Const(0.5)))
    inside = apply("max", apply("min", near, Const(float(LEVELS))), Const(-float(LEVELS)))
    return Apply("cast:i8", (inside,))


def stored(array: Array, dtype: str, scale: float) -> Array:
    """The values of an input as a move has it: floats in float64 for the caller to round, steps of an i8."""
    if not scale:
        return array
    steps = np.floor(np.asarray(array, np.float64) / scale + 0.5)
    return np.clip(steps, -LEVELS, LEVELS).astype(np.int8)


def asked_inputs(graph: Graph, inputs: object) -> tuple[str, ...]:
    """The inputs that may be moved: none, all floats, or those that are named.

    Raises InputError for anything else, and for a name that is no input of floats.
    """
    able = [i.name for i in graph.inputs if i.dtype in FLOATS and not i.donated]
    if isinstance(inputs, bool):
        return tuple(able) if inputs else ()
    if isinstance(inputs, str) or not isinstance(inputs, Iterable):
        raise InputError(
            f"inputs is a value of type {type(inputs).__name__}",
            where="tune_precision(..., inputs=)",
            mend="give True for all inputs of floats, or a list of their names",
        )
    names = tuple(inputs)
    for name in names:
        if name not in able:
            raise InputError(
                f"'{name}' is no input whose type can be lowered",
                where="tune_precision(..., inputs=)",
                mend=f"name some of: {', '.join(able) or 'none, no input holds floats'}",
            )
    return names
