"""A program for one of several ranks, what the ranks exchange between its stages, and a simulation of all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tang_egg.affine import Affine, Dim
from tang_egg.errors import InputError
from tang_egg.extract.derive import Step
from tang_egg.interpret import interpret
from tang_egg.interpret_bind import bind_inputs
from tang_egg.ir import Apply, Graph, Input, StateRef, Tensor
from tang_egg.monoid import Monoid
from tang_egg.ops import BYTES
from tang_egg.program import Program

Array: TypeAlias = "npt.NDArray[Any]"
Runner: TypeAlias = Callable[["Stage", Mapping[str, Any], Mapping[str, int]], Mapping[str, Any]]
"""Runs the program of a stage on the arrays and dims of one rank."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """An all-reduce under `monoid`: each rank sends `sends`, a state component by component, and gets `gathers`.

    A gathered array has the ranks as its first axis. The ranks merge the states themselves, in the order of ranks.
    """

    monoid: Monoid
    sends: tuple[Tensor, ...]
    gathers: tuple[Input, ...]

    def bytes(self, dims: Mapping[str, int] | None = None) -> int:
        """Bytes that one rank sends."""
        return sum(prod(n.evaluate(dict(dims or {})) for n in t.shape) * BYTES[t.dtype] for t in self.sends)

    @property
    def plain_sum(self) -> bool:
        """Whether the sum of what ranks send is the merged state: an all-reduce that every library has."""
        return all(
            isinstance(c, Apply) and c.op == "add" and all(isinstance(x, StateRef) for x in c.args)
            for c in self.monoid.combine
        )


@dataclass(frozen=True, slots=True)
class Stage:
    """What a rank computes between two exchanges. Its graph's outputs are sent, kept for later stages, or results."""

    program: Program
    exchanges: tuple[Exchange, ...]

    @property
    def graph(self) -> Graph:
        """What the stage computes."""
        return self.program.graph


@dataclass(frozen=True, slots=True)
class Sharded:
    """A graph over `ranks` ranks, each with its part of the axis `name`.

    All ranks run the same stages; where index arithmetic needs it, a rank says which it is by the dim `rank`.
    `inputs` and `outputs`: the axis along which an input or output is cut, by name; the others every rank has in whole.
    `size` and `length`: points of the axis and of a rank's part; where the last part is shorter it is padded.
    `reasons`: why some axes along the name are not cut.
    """

    graph: Graph
    name: str
    ranks: int
    stages: tuple[Stage, ...]
    inputs: dict[str, int]
    outputs: dict[str, int]
    size: Affine
    length: Affine
    rank: Dim
    steps: tuple[Step, ...]
    reasons: tuple[str, ...] = ()

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All that crosses between ranks, in order."""
        return tuple(x for s in self.stages for x in s.exchanges)

    @property
    def cut_dim(self) -> Dim | None:
        """The symbolic dim that is cut, if the axis has one."""
        parts = {d.name for d in self.length.dims()}
        return next((d for d in self.graph.dims() if part_name(d) in parts), None)

    def bytes(self, dims: Mapping[str, int] | None = None) -> int:
        """Bytes that one rank sends in all."""
        sizes = self._local_dims(dict(dims or {}))
        return sum(x.bytes(sizes) for x in self.exchanges)

    def interpret(self, inputs: Mapping[str, Any], dims: Mapping[str, int] | None = None) -> dict[str, Array]:
        """The outputs that all ranks together compute, in float64. Takes whole arrays, as `te.interpret` does."""

        def run(stage: Stage, arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> Mapping[str, Any]:
            return interpret(stage.graph, arrays, sizes)

        return self.simulate(inputs, run, dims)

    def simulate(
        self, inputs: Mapping[str, Any], run: Runner, dims: Mapping[str, int] | None = None
    ) -> dict[str, Array]:
        """The outputs, each stage run by `run` for one rank after another, their states exchanged in memory.

        Raises InputError for arrays that do not fit, or an axis that the ranks do not divide where it is symbolic.
        """
        _, sizes = bind_inputs(self.graph.inputs, inputs, dims or {}, f"graph '{self.graph.name}'")
        local = self._local_dims(sizes)
        held: list[dict[str, Any]] = [self.part(inputs, r, sizes) for r in range(self.ranks)]
        for stage in self.stages:
            known = {d.name for d in stage.graph.dims()}
            for r in range(self.ranks):
                here = {n: v for n, v in {**local, self.rank.name: r}.items() if n in known}
                given = {i.name: held[r][i.name] for i in stage.graph.inputs}
                held[r].update(run(stage, given, here))
            for x in stage.exchanges:
                for sent, got in zip(x.sends, x.gathers, strict=True):
                    together = np.stack([np.asarray(h[sent.name]) for h in held])
                    for h in held:
                        h[got.name] = together
        points = self.size.evaluate(local)
        return {t.name: self._whole(t.name, held, points) for t in self.graph.outputs}

    def part(self, inputs: Mapping[str, Any], rank: int, dims: Mapping[str, int]) -> dict[str, Any]:
        """What rank `rank` holds of the inputs; padded by zeros to the length of a part."""
        local = self._local_dims(dict(dims))
        length = self.length.evaluate(local)
        return {n: _part(a, self.inputs.get(n), rank, length) for n, a in inputs.items()}

    def _whole(self, name: str, held: list[dict[str, Any]], points: int) -> Array:
        axis = self.outputs.get(name)
        if axis is None:
            return np.asarray(held[0][name])
        together = np.concatenate([np.asarray(h[name]) for h in held], axis)
        return together[(slice(None),) * axis + (slice(points),)]

    def _local_dims(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """The dims of a rank's program: a symbolic axis is that of a part."""
        whole = self.cut_dim
        if whole is None or whole.name not in sizes:
            return dict(sizes)
        if sizes[whole.name] % self.ranks:
            raise InputError(
                f"{sizes[whole.name]} points along '{self.name}' do not divide over {self.ranks} ranks",
                where=f"graph '{self.graph.name}', dim '{whole.name}'",
                mend="pad the axis, or bind its size before sharding: graph.bind(...)",
            )
        rest = {n: v for n, v in sizes.items() if n != whole.name}
        return {**rest, part_name(whole): sizes[whole.name] // self.ranks}

    def __str__(self) -> str:
        lines = [f"{self.graph.name}: '{self.name}' over {self.ranks} ranks, {self.length} of {self.size} points each"]
        cut = ", ".join(f"{n} along axis {a}" for n, a in {**self.inputs, **self.outputs}.items())
        lines.append(f"  cut: {cut or 'nothing'}")
        for n, stage in enumerate(self.stages):
            lines.append(f"  stage {n}: {', '.join(t.name for t in stage.graph.outputs)}")
            for x in stage.exchanges:
                parts = ", ".join(f"{t.name}{list(t.shape)}: {t.dtype}" for t in x.sends)
                lines.append(f"    all-reduce under {x.monoid.name}: {parts}")
        return "\n".join(lines)


def part_name(d: Dim) -> str:
    """The name of the dim that a rank's part of `d` has."""
    return f"{d.name}_part"


def _part(array: Any, axis: int | None, rank: int, length: int) -> Any:
    if axis is None:
        return array
    whole = np.asarray(array)
    mine = whole[(slice(None),) * axis + (slice(rank * length, (rank + 1) * length),)]
    missing = [(0, length - mine.shape[axis] if a == axis else 0) for a in range(mine.ndim)]
    return np.ascontiguousarray(np.pad(mine, missing))
