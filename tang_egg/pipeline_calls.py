"""Python functions on arrays that compile themselves: traced and derived anew for each kind of arguments.

@compile
def step(x, w):
    return np.tanh(x @ w)

step(x, w)          # the first call of a shape compiles; later ones only run
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tang_egg.errors import GraphError, InputError
from tang_egg.expression import here
from tang_egg.pipeline import optimize
from tang_egg.pipeline_compiled import Compiled
from tang_egg.tracing import Tracing, traced


@dataclass(slots=True)
class Kept:
    """A function compiled for one kind of arguments."""

    tracing: Tracing
    compiled: Compiled


@dataclass(eq=False)
class CompiledFunction:
    """A function that is called with arrays as before, but runs kernels derived for their shapes and element types.

    `kept`: what was compiled, by signature. `options` are those of `optimize`. Arguments that are no arrays take part
    in tracing as they are, and in the signature by their value.
    """

    function: Callable[..., Any]
    options: Mapping[str, Any]
    kept: dict[Hashable, Kept] = field(default_factory=dict)

    def __post_init__(self) -> None:
        functools.update_wrapper(self, self.function)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """What the function gives, as NumPy arrays. Raises GraphError where it cannot be traced."""
        kept = self.specialised(*arguments, **named)
        model = kept.tracing.model
        arrays = [a for a in map(_plain, (*arguments, *named.values())) if isinstance(a, np.ndarray)]
        given: dict[str, Any] = dict(zip(model.inputs.values(), arrays, strict=True))
        every = {**model.weights, **given}
        return kept.tracing.rebuilt(kept.compiled.run(*(every[i.name] for i in model.graph.inputs)))

    def specialised(self, *arguments: Any, **named: Any) -> Kept:
        """The function compiled for arguments of these shapes and types, without running it."""
        specs = [_plain(a) for a in arguments]
        options = {k: _plain(a) for k, a in named.items()}
        key = (tuple(map(_kind, specs)), tuple((k, _kind(a)) for k, a in options.items()))
        if key not in self.kept:
            tracing = traced(self.function, specs, options)
            self.kept[key] = Kept(tracing, optimize(tracing.model.graph, **self.options))
        return self.kept[key]


def _plain(a: Any) -> Any:
    """An argument as an array where it is one."""
    if isinstance(a, (np.ndarray, bool, int, float, str, tuple, type(None))):
        return a
    if isinstance(a, np.generic) or hasattr(a, "__dlpack__"):
        return np.asarray(a) if isinstance(a, np.generic) else np.from_dlpack(a)
    return a


def _kind(a: Any) -> Hashable:
    """What a compiled function depends on of an argument."""
    if isinstance(a, np.ndarray):
        return ("array", a.shape, a.dtype.str)
    try:
        hash(a)
    except TypeError:
        raise InputError(
            f"an argument of type {type(a).__name__} has no value to compare by",
            where=str(here()),
            mend="give arrays, numbers, strings or tuples; close over anything else",
        ) from None
    return (type(a), a)


def compile(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """A function on arrays that compiles itself for each signature it is called with; also a decorator with options.

    `options` are those of `optimize`: target, values, products, verified, limits.
    """
    if function is None:
        return lambda f: compile(f, **options)
    if not callable(function):
        raise GraphError(
            f"a value of type {type(function).__name__} is no function",
            where=str(here()),
            mend="give a function on arrays",
        )
    return CompiledFunction(function, options)
