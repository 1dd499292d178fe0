"""Tracing: a Python function on arrays, run once on symbolic ones, as a graph.

    def softmax(x):
        e = np.exp(x - np.max(x, axis=-1, keepdims=True))
        return e / np.sum(e, axis=-1, keepdims=True)

    model = from_function(softmax, ((1024, 512), "f32"))

The function sees traced arrays (`tang_egg.traced`): it may use their operators and methods, NumPy's functions, or the
namespace `x.__array_namespace__()`. NumPy arrays that it closes over become weights of the model. Whatever Python does
on the way (loops, calls, shapes) is done while tracing; a choice that depends on an element is an error.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tang_egg import notation as te
from tang_egg.affine import Affine, Dim
from tang_egg.array_constants import Constants, numpy_dtype, operand, stands_for_array
from tang_egg.array_types import dtype_of
from tang_egg.assemble import graph
from tang_egg.errors import GraphError
from tang_egg.expression import here
from tang_egg.importers.weights import identifier
from tang_egg.ir import Tensor
from tang_egg.model import Model
from tang_egg.notation import Array
from tang_egg.program import unique
from tang_egg.traced import Traced, of, to_array
from tang_egg.traced_tidy import tidied

Spec: TypeAlias = "Array | tuple[Any, Any] | np.ndarray[Any, Any]"
"""An input, a shape and an element type, or an example whose shape and type are meant."""


def from_function(function: Callable[..., Any], *specs: Spec, name: str | None = None, **named: Spec) -> Model:
    """The graph of `function` applied to inputs like `specs`, with the arrays that it closes over as weights.

    `specs` are inputs (te.input), pairs (shape, element type), or example arrays; anything else is passed on as it is.
    The function gives an array, a tuple or list of arrays, or a dict of them; outputs are named `y`, `y0`, `y1` ...,
    or by the keys. Inputs are named by the function's parameters. Shapes may hold dims.

    Raises GraphError where the function depends on the values of elements, or gives something that is no array.
    """
    return traced(function, specs, named, name).model


@dataclass(frozen=True, slots=True)
class Tracing:
    """A traced function: its model, and what it gives (a tuple, list or dict) with an output's name for each array."""

    model: Model
    form: Any

    def rebuilt(self, outputs: Mapping[str, Any]) -> Any:
        """What the function gives, with arrays by the names of the outputs."""
        names = self.model.outputs
        if isinstance(self.form, Mapping):
            return {key: outputs[names[str(key)]] for key in self.form}
        if isinstance(self.form, (tuple, list)):
            members = [outputs[names[f"y{n}"]] for n in range(len(self.form))]
            return members if isinstance(self.form, list) else tuple(members)
        return outputs[names["y"]]


def traced(
    function: Callable[..., Any], specs: Sequence[Any], named: Mapping[str, Any], name: str | None = None
) -> Tracing:
    """`trace` with the form of the function's result."""
    title = identifier(str(name or getattr(function, "__name__", "traced")).replace("<lambda>", "traced"))
    declared = _declared(function, specs, named)
    inputs = {label: s for label, s in declared.items() if isinstance(s, Array)}
    with Constants([a.name for a in inputs.values()]) as constants:
        arguments = {label: of(s) if isinstance(s, Array) else s for label, s in declared.items()}
        places = list(arguments)[: len(specs)]
        found = function(*(arguments[p] for p in places), **{n: arguments[n] for n in named})
        form, results = _results(found, title)
        held = {label: operand(r) for label, r in results.items()}
        taken = {a.name for a in inputs.values()} | set(constants.arrays)
        names = {label: unique(identifier(label), taken) for label in held}
        tensors = [to_array(r, names[label]).node for label, r in held.items()]
    outputs = tidied([t for t in tensors if isinstance(t, Tensor)])
    made = graph(title, *outputs, inputs=list(inputs.values()))
    read = {i.name for i in made.inputs}
    weights = {n: a for n, a in constants.arrays.items() if n in read}
    return Tracing(Model(made, weights, {label: a.name for label, a in inputs.items()}, names), form)


def _declared(function: Callable[..., Any], specs: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by the names of parameters: inputs for those that are arrays."""
    labels = _parameters(function, len(specs))
    given = dict(zip(labels, specs, strict=True))
    if set(given) & set(named):
        raise GraphError(
            f"{', '.join(sorted(set(given) & set(named)))} is given twice",
            where=str(here()),
            mend="give each argument by position or by name",
        )
    return {label: _input(identifier(label), s) for label, s in {**given, **named}.items()}


def _parameters(function: Callable[..., Any], count: int) -> list[str]:
    """Names for `count` arguments by position."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return [f"x{n}" for n in range(count)]
    names: list[str] = []
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            names += [f"{p.name}{n}" for n in range(count - len(names))]
        elif p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            names.append(p.name)
    if len(names) < count:
        raise GraphError(
            f"{count} specifications for the {len(names)} parameters of '{getattr(function, '__name__', 'function')}'",
            where=str(here()),
            mend="give one for each parameter",
        )
    return names[:count]


def _input(label: str, spec: Any) -> Any:
    """The input that a specification means; what is none is an argument as it stands."""
    if isinstance(spec, np.ndarray):
        return te.input(label, spec.shape, numpy_dtype(spec))
    if isinstance(spec, tuple) and len(spec) == 2 and _is_shape(spec[0]) and not _is_extent(spec[1]):
        return te.input(label, spec[0], dtype_of(spec[1]))
    return spec


def _is_shape(given: object) -> bool:
    return isinstance(given, (tuple, list)) and all(_is_extent(s) for s in given)


def _is_extent(given: object) -> bool:
    return isinstance(given, (int, Affine, Dim)) and not isinstance(given, bool)


def _results(found: Any, title: str) -> tuple[Any, dict[str, Any]]:
    """The form of what a function gave, and its arrays by labels. Raises GraphError for anything but arrays."""
    form = found
    if isinstance(found, Mapping):
        results = {str(k): v for k, v in found.items()}
    elif isinstance(found, (tuple, list)) and (not found or any(isinstance(r, (Traced, Array)) for r in found)):
        results = {f"y{n}": r for n, r in enumerate(found)}
    else:
        form, results = None, {"y": found}
    for label, r in results.items():
        if not stands_for_array(r):
            raise GraphError(
                f"'{title}' gives {type(r).__name__} for '{label}'",
                where=str(here()),
                mend="return an array, a tuple of arrays, or a dict of them",
            )
    if not results:
        raise GraphError(f"'{title}' gives nothing", where=str(here()), mend="return at least one array")
    return form, results
