"""Models: a graph with arrays for some of its inputs, as files and programs of other systems give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tang_egg.errors import InputError
from tang_egg.interpret import interpret
from tang_egg.ir import Graph

if TYPE_CHECKING:
    from tang_egg.pipeline_model import CompiledModel


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A graph, the arrays of its weights, and how the names of a file became names of the graph.

    `weights`: input name → array; the other inputs are the caller's. `inputs` and `outputs`: name in the file → name in
    the graph, in the file's order.
    """

    graph: Graph
    weights: Mapping[str, NDArray[Any]]
    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)

    def arrays(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arrays of all inputs: the weights, and `given` by names of the file or of the graph.

        Raises InputError for a name that is neither.
        """
        found = dict(self.weights)
        known = {i.name for i in self.graph.inputs}
        for name, array in given.items():
            plain = self.inputs.get(name, name)
            if plain not in known:
                raise InputError(
                    f"there is no input '{name}'",
                    where=f"model '{self.graph.name}'",
                    mend=f"its inputs are: {', '.join(self.inputs) or 'none'}",
                )
            found[plain] = array
        return found

    def interpret(self, given: Mapping[str, Any], dims: Mapping[str, int] | None = None) -> dict[str, NDArray[Any]]:
        """The outputs, by their names in the file, in float64 and exact integers."""
        arrays = {name: np.asarray(a) for name, a in self.arrays(given).items()}
        results = interpret(self.graph, arrays, dims)
        return {name: results[plain] for name, plain in self.outputs.items()}

    def compile(self, target: str = "c", **options: Any) -> CompiledModel:
        """The model with kernels for a target, its weights bound; `options` are those of te.optimize.

        Raises what te.optimize raises.
        """
        from tang_egg.pipeline_model import compile_model

        return compile_model(self, target, **options)
