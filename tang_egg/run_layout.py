"""What the kernels of a program need from whoever calls them: which arrays in which order, which sizes, how much room.

One record for the runtime, which fills the table of pointers from NumPy arrays, and for the writer of C libraries,
which fills it in C.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeVar

from tang_egg.affine import Affine, Index, affine
from tang_egg.codegen.kernel import Buffer, Kernel
from tang_egg.ir import (
    Apply,
    Const,
    Coordinate,
    Input,
    Position,
    Read,
    Reduce,
    Scan,
    Source,
    Tensor,
    children,
    sources,
)
from tang_egg.ops import BYTES
from tang_egg.program import KernelPlan, Program
from tang_egg.schedule import Schedule

T = TypeVar("T")
LINE = 64
"""Bytes to which temporaries and scratch are aligned."""


@dataclass(frozen=True, slots=True)
class Built:
    """One kernel of a compiled program: its plan, its schedule, its IR, and what its buffers hold."""

    plan: KernelPlan
    schedule: Schedule
    kernel: Kernel
    sources: tuple[Input | Tensor, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A call of a kernel: it gets the tables of pointers and of dims from `slot` and `dim` on."""

    built: Built
    slot: int
    dim: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The calls of a program in order, and the tables that they read.

    `slots`: the array behind each entry of the table of pointers. `dims`: the symbolic dim behind each entry of the
    table of sizes. `temporaries`: arrays that only kernels see, in order of their first use.
    """

    steps: tuple[Step, ...]
    slots: tuple[Source, ...]
    dims: tuple[str, ...]
    temporaries: tuple[Source, ...]

    def places(self) -> dict[Source, list[int]]:
        """The entries of the table of pointers that hold each array."""
        found: dict[Source, list[int]] = {}
        for n, s in enumerate(self.slots):
            found.setdefault(s, []).append(n)
        return found

    def scratch(self) -> tuple[tuple[Buffer, ...], ...]:
        """The scratch arrays of each distinct kernel that has some. Kernels run one after another, in the same room."""
        return tuple(dict.fromkeys(s.built.kernel.scratch for s in self.steps if s.built.kernel.scratch))

    def scratch_bytes(self, values: Mapping[str, int]) -> int:
        """Bytes of scratch for one thread, at least one line, at some sizes of the symbolic dims."""
        needs = (sum(padded(b.size.evaluate(values) * BYTES[b.type]) for b in part) for part in self.scratch())
        return max(LINE, *needs, 0)


def padded(size: int) -> int:
    """The next multiple of a line."""
    return -(-size // LINE) * LINE


def layout_of(program: Program, kernels: tuple[Built, ...], held: Collection[Source] = ()) -> Layout:
    """The layout of a program whose kernels were lowered. `held`: what they read that is there before any call."""
    steps: list[Step] = []
    slots: list[Source] = []
    dims: list[str] = []
    for b in kernels:
        steps.append(Step(b, len(slots), len(dims)))
        slots += b.sources
        dims += b.kernel.dims
    ends: set[Source] = {*program.graph.inputs, *program.graph.outputs, *held}
    temporaries = tuple(s for s in dict.fromkeys(slots) if s not in ends)
    return Layout(tuple(steps), tuple(slots), tuple(dims), temporaries)


def same_memory(program: Program) -> dict[Tensor, Tensor]:
    """Stored tensors that are outputs in another shape, element by element in the same order: each with its output.

    One array can then be both, and the kernel that would copy it need not run.
    """
    stored, outputs = set(program.tensors), program.graph.outputs
    found: dict[Tensor, Tensor] = {}
    for o in outputs:
        s = o.body
        if o.into or not isinstance(s, Read) or not isinstance(s.source, Tensor) or s.source.dtype != o.dtype:
            continue
        if s.source in stored and s.source not in found and s.source not in outputs and _reshapes(o, s):
            found[s.source] = o
    return found


def _reshapes(o: Tensor, read: Read) -> bool:
    """Whether the coordinates of a read are the axes of an output in order, each whole or as i // c, i % c."""
    left = list(zip(read.coordinates, read.source.shape, strict=True))
    for i in o.axes:
        if not left:
            return False
        c, size = left.pop(0)
        if c == affine(i) and size == i.size:
            continue
        parted = _part(c, "idiv", i), _part(left[0][0], "imod", i) if left else None
        if parted[0] is None or parted[0] != parted[1] or left[0][1].value != parted[0]:
            return False
        if size.value is None or i.size.value != size.value * parted[0]:
            return False
        left.pop(0)
    return not left


def _part(c: Coordinate, op: str, i: Index) -> int | None:
    """By what `i` is divided in a coordinate i // by or i % by."""
    if not isinstance(c, Apply) or c.op != op or c.args[0] != Position(affine(i)) or not isinstance(c.args[1], Const):
        return None
    return int(c.args[1].value)


def in_place(program: Program, t: Tensor) -> bool:
    """Whether an output may be written over the donated input while the kernels run.

    Later kernels must not read the input, and its own kernel only at the very element that is being written.
    """
    seen = False
    for plan in program.kernels:
        mine = t in plan.outputs
        seen |= mine
        if not seen:
            continue
        for u in plan.outputs:
            if any(isinstance(s, Input) and s.name == t.into for s in sources(u.body)) and not (
                u is t and _pointwise(t)
            ):
                return False
    return seen


def _pointwise(t: Tensor) -> bool:
    own = tuple(i.name for i in t.axes)
    stack, seen = [(t.body, False)], set()
    while stack:
        s, folded = stack.pop()
        if (s, folded) in seen:
            continue
        seen.add((s, folded))
        if isinstance(s, Read) and isinstance(s.source, Input) and s.source.name == t.into:
            plain = [c.single() if isinstance(c, Affine) else None for c in s.coordinates]
            if folded or tuple(i.name if i else "" for i in plain) != own:
                return False
        stack.extend((c, folded or isinstance(s, (Reduce, Scan))) for c in children(s))
    return True


def donated(t: Tensor, given: Mapping[Input, T]) -> T | None:
    """The array of the input that an output is written into, if there is one."""
    return next((p for i, p in given.items() if i.name == t.into), None) if t.into else None


def stored_bytes(s: Source, shape: tuple[int, ...]) -> int:
    """Bytes of an array of a tensor's type."""
    return prod(shape) * BYTES[s.dtype]
