"""How a field case is stated as a graph: its inputs, its outputs, the calls that give its answers.

    @states("inplace_shift", donated=True)
    def _(x: Inputs) -> Outputs: ...

A builder gets the case's inputs as declared arrays, by name, and gives the outputs. Unless it says otherwise every
input is declared with the shape and type of the case's array, and one call with the case's arrays gives everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

import tang_egg as te
from tests.field_case import Array, Arrays
from tests.field_cases import BY_NAME

Inputs: TypeAlias = "dict[str, te.Array]"
Outputs: TypeAlias = "dict[str, te.Array]"

TYPES = {np.dtype(k): v for k, v in (
    ("f2", "f16"), ("f4", "f32"), ("f8", "f64"), ("i4", "i32"), ("i8", "i64"), ("?", "bool"),
)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a graph: which array of the case each input takes, which output of the case each output gives."""

    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    dims: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stated:
    """A case as a graph. `values` as `te.optimize` takes it."""

    graph: te.Graph
    calls: tuple[Call, ...]
    values: str

    def answers(self, run: Callable[[Arrays, dict[str, int]], Mapping[str, Array]], x: Arrays) -> Arrays:
        """The outputs of the case, by `run`, which calls the graph on arrays (copies: some are written to)."""
        found: Arrays = {}
        for call in self.calls:
            given = {ours: x[theirs].copy() for ours, theirs in call.inputs.items()}
            results = run(given, dict(call.dims))
            found |= {theirs: np.array(results[ours]) for ours, theirs in call.outputs.items()}
        return found


@dataclass(frozen=True, slots=True)
class Statement:
    """A registered builder with its options; `stated` builds the graph. Cases of one `group` share their graph.

    `how`: what is worth saying about the statement, for the page that lists the cases.
    """

    name: str
    group: str
    build: Callable[[Inputs], Outputs]
    values: str
    donated: bool
    shapes: Mapping[str, tuple[object, ...]]
    calls: tuple[Call, ...]
    how: str

    def stated(self) -> Stated:
        arrays = BY_NAME[self.name].inputs()
        declared = {n: self._declared(n, a) for n, a in arrays.items() if not self.calls or n in self.calls[0].inputs}
        built = self.build(declared)
        # an output cannot have the name of an input: it gets a final underscore
        renamed = {(f"{n}_" if n in declared else n): t for n, t in built.items()}
        graph = te.graph(self.group, **renamed)
        used = {i.name for i in graph.inputs}
        calls = self.calls or (
            Call({n: n for n in arrays if n in used}, {(f"{n}_" if n in declared else n): n for n in built}),
        )
        return Stated(graph, calls, self.values)

    def _declared(self, name: str, a: Array) -> te.Array:
        shape = self.shapes.get(name, a.shape)
        return te.input(name, shape, TYPES[a.dtype], donated=self.donated)  # type: ignore[arg-type]


STATEMENTS: dict[str, Statement] = {}
"""The statements of cases by the cases' names; `tests.field_graphs` imports the modules that make them."""

UNSTATED: dict[str, str] = {}
"""Why a case cannot be stated, by its name."""


def states(
    *names: str, values: str = "finite", donated: bool = False, shapes: Mapping[str, tuple[object, ...]] | None = None,
    calls: tuple[Call, ...] = (), how: str = "",
) -> Callable[[Callable[[Inputs], Outputs]], Callable[[Inputs], Outputs]]:  # fmt: skip
    """Registers a builder for some cases, which share a graph where their declared shapes are the same."""

    def register(build: Callable[[Inputs], Outputs]) -> Callable[[Inputs], Outputs]:
        for name in names:
            assert name in BY_NAME and name not in STATEMENTS, name
            STATEMENTS[name] = Statement(name, names[0], build, values, donated, shapes or {}, calls, how)
        return build

    return register


def axes(x: te.Array, names: str = "ijklmn") -> tuple[te.Index, ...]:
    """One index for each axis of an array."""
    return tuple(te.index(n, s) for n, s in zip(names, x.shape, strict=False))


def copied(x: te.Array, f: Callable[..., te.Expression]) -> te.Array:
    """A tensor of the shape of `x`, with its element type where that is real, whose elements are f(indices)."""
    i = axes(x)
    body = f(*i)
    return te.tensor(None, i, body, x.dtype if body.type == "real" else None)
