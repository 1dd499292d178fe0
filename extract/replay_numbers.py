"""Whole graphs compared on numbers: what the steps of a replay have made so far, and what the graph says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tang_egg.affine import affine
from tang_egg.egraph import Encoding
from tang_egg.errors import LawError
from tang_egg.extract.certificate_program import Stored
from tang_egg.extract.replay_trial import Trial
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Input, Read, Scalar, Source, Tensor, sources
from tang_egg.unify import unify
from tang_egg.windows import Canonical, replace_sources

RELATIVE = 1e-9
"""Of the largest magnitude of a tensor, in float64."""

Array = npt.NDArray[Any]


def drawn_dims(graph: Graph) -> dict[str, int]:
    """Small sizes for the dimensions of a graph."""
    trial = Trial(Encoding({}, frozenset()), seed=11)
    return {d.name: trial.dim(d) for d in graph.dims()}


def drawn(graph: Graph, dims: Mapping[str, int] | None = None) -> tuple[dict[str, Array], dict[str, int]]:
    """Random inputs of a graph, and sizes of its dimensions: those given, or small ones."""
    trial = Trial(Encoding({}, frozenset()), seed=11)
    trial.dims.update(drawn_dims(graph) if dims is None else dims)
    return {i.name: trial.array(i) for i in graph.inputs}, dict(trial.dims)


def differing(expected: Mapping[str, Array], got: Mapping[str, Array], relative: float = RELATIVE) -> str:
    """The first tensor of `got` that differs from the one of that name, or nothing."""
    for name, value in got.items():
        want = expected[name]
        if value.shape != want.shape:
            return name
        finite = np.isfinite(want.astype(float))
        scale = max(1e-300, float(np.abs(want[finite].astype(float)).max(initial=0.0)))
        if not np.allclose(value, want, rtol=relative, atol=relative * scale, equal_nan=True):
            return name
    return ""


class WindowNumbers:
    """A window on random inputs, and what the steps of a replay have made of it beside that."""

    def __init__(self, shared: Canonical) -> None:
        self.shared = shared
        named = unify(shared.tensors)
        self.axes = {t.name: named[t].axes for t in shared.tensors}
        found = dict.fromkeys(s for t in shared.tensors for s in sources(t.body) if isinstance(s, Input))
        self.inputs = tuple(found)
        self.graph = Graph("window", self.inputs, shared.tensors)
        self.arrays, self.dims = drawn(self.graph)
        self.expected = interpret(self.graph, self.arrays, self.dims, checked=False)

    def compare(self, made: Mapping[str, tuple[Stored, Scalar]]) -> None:
        """Raises LawError when a tensor that the steps made differs from that of the window."""
        placed = {stored.source: name for name, (stored, _) in made.items()}
        tensors: dict[str, Tensor] = {}

        def tensor(name: str) -> Tensor:
            if name not in tensors:
                stored, body = made[name]
                tensors[name] = Tensor(name, stored.axes, replace_sources(body, source), stored.written.dtype)
            return tensors[name]

        def source(s: Source) -> Source:
            return tensor(placed[s]) if isinstance(s, Input) and s in placed else s

        outputs = []
        for name in made:
            if name in self.axes:
                whole, axes = tensor(name), self.axes[name]
                outputs.append(Tensor(name, axes, _spread(whole), whole.dtype))
        if outputs:
            got = interpret(Graph("window", self.inputs, tuple(outputs)), self.arrays, self.dims, checked=False)
            wrong = differing(self.expected, got)
            if wrong:
                raise LawError(
                    f"'{wrong}' has other values than the graph says",
                    where="random inputs in float64",
                    mend="derive the certificate anew",
                )


def _spread(t: Tensor) -> Scalar:
    return Read(t, tuple(affine(i) for i in t.axes))


def compare_graphs(graph: Graph, other: Graph) -> None:
    """Raises LawError when two graphs have different results on random inputs."""
    arrays, dims = drawn(graph)
    expected = interpret(graph, arrays, dims, checked=False)
    wrong = differing(expected, interpret(other, arrays, dims, checked=False))
    if wrong:
        raise LawError(
            f"'{wrong}' has other values than the graph says",
            where=f"graph '{graph.name}', random inputs in float64",
            mend="derive the certificate anew",
        )
