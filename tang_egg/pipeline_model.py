"""Compiled models: the weights are bound, and arrays go in and out under the names of the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tang_egg.errors import InputError
from tang_egg.model import Model
from tang_egg.pipeline import optimize
from tang_egg.pipeline_compiled import Compiled


@dataclass(frozen=True, slots=True, eq=False)
class CompiledModel:
    """A model that was compiled. Call it with arrays by position (in the order of the file) or by name.

    Gives an array for a model with one output, else a dict by the names of the file.
    """

    model: Model
    compiled: Compiled

    def __call__(self, *arrays: Any, dims: Mapping[str, int] | None = None, **named: Any) -> Any:
        """Runs the kernels. Raises InputError when an array does not fit, BindError when a dim has no value."""
        names = list(self.model.inputs)
        if len(arrays) > len(names) or set(names[: len(arrays)]) & set(named):
            raise InputError(
                f"{len(arrays)} arrays by position and {', '.join(named) or 'none'} by name do not fit",
                where=f"model '{self.model.graph.name}'",
                mend=f"its inputs are: {', '.join(names) or 'none'}",
            )
        results = self.run({**dict(zip(names, arrays, strict=False)), **named}, dims)
        return next(iter(results.values())) if len(results) == 1 else results

    def run(self, given: Mapping[str, Any], dims: Mapping[str, int] | None = None) -> dict[str, Any]:
        """The outputs by their names in the file, for inputs by name."""
        weights = self.model.weights
        plain = {n: a for n, a in self.model.arrays(given).items() if n not in weights}
        results = self.compiled.run(dims=dims, **plain)
        return {name: results[own] for name, own in self.model.outputs.items()}


def compile_model(model: Model, target: str = "c", **options: Any) -> CompiledModel:
    """The model with kernels for a target; `options` are those of te.optimize. Raises what that raises."""
    return CompiledModel(model, optimize(model.graph, target, **options).bind(**model.weights))
