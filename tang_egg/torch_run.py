"""Compiled subgraphs of PyTorch programs at run time: tensors in and out without copies, eager where anything fails."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tang_egg import notation as te
from tang_egg.affine import axes_over
from tang_egg.assemble import graph as make_graph
from tang_egg.errors import GraphError, TangError
from tang_egg.importers.torch_export import array_of
from tang_egg.importers.torch_value import Symbols, torch
from tang_egg.importers.torch_walk import Walk, distinct
from tang_egg.ir import Graph
from tang_egg.notation import Array
from tang_egg.pipeline import optimize
from tang_egg.pipeline_compiled import Compiled
from tang_egg.traced import Traced, axes_forms
from tang_egg.traced_view import permute

LOG = logging.getLogger("tang_egg.torch")
KEPT = 32
"""Compiled graphs that are kept for further subgraphs of the same mathematics."""

_DONE: dict[tuple[Graph, str, bool], Compiled] = {}


class FallbackWarning(UserWarning):
    """A part of a program runs in PyTorch although its operators are supported."""


def warn(text: str) -> None:
    """Says that a part falls back, as a warning and in the log."""
    LOG.warning("%s", text)
    warnings.warn(text, FallbackWarning, stacklevel=3)


@dataclass(frozen=True, slots=True)
class Options:
    """Those of torch.compile(model, backend="tang_egg", options={...}).

    `verify`: every kernel is compared with the interpreter when it is built. `minimum`: computing operators that a
    subgraph needs to be taken. `values`: "finite" or "ieee" as for te.optimize; "auto" is "ieee" only where a program
    asks for NaN or infinities.
    """

    verify: bool = True
    minimum: int = 2
    values: str = "auto"


@dataclass(frozen=True, slots=True)
class Result:
    """How an output of a graph becomes a result.

    `parts`: how many axes of the output make up each axis of what is stored. `order`: the axes of the result in the
    order in which they are stored, None for row-major. `brain`: its elements are bf16.
    """

    name: str
    parts: tuple[int, ...]
    order: tuple[int, ...] | None
    brain: bool

    def shape(self, of: Sequence[int]) -> list[int]:
        """The shape of what is stored, its parted axes merged."""
        rest = iter(of)
        return [prod(next(rest) for _ in range(n)) for n in self.parts]


@dataclass(slots=True)
class Plan:
    """A subgraph as a graph: its inputs by position, dims that come as integers, and its results."""

    graph: Graph
    tensors: list[tuple[int, str]]
    dims: list[tuple[int, str]]
    results: list[Result]
    several: bool


def plan_of(module: Any, limits: Callable[[Any], tuple[int, int | None]]) -> Plan:
    """The graph of a module of ATen operators. Raises GraphError where it cannot be had."""
    walk = Walk(Symbols(limits), "subgraph")
    nodes = list(module.graph.nodes)
    places = [n for n in nodes if n.op == "placeholder"]
    names = distinct([n.name for n in places])
    tensors, dims, declared = list[tuple[int, str]](), list[tuple[int, str]](), list[Array]()
    for position, n in enumerate(places):
        val = n.meta.get("val")
        if isinstance(val, torch.Tensor):
            declared.append(walk.input(n, f"{names[n.name]}_"))
            tensors.append((position, declared[-1].name))
        elif isinstance(val, (int, torch.SymInt)) and not isinstance(val, bool):
            form = walk.values[n] = walk.symbols.form(val)
            if len(form.terms) == 1 and repr(form) in walk.symbols.dims:
                dims.append((position, repr(form)))
        else:
            raise GraphError(f"an argument of type {type(val).__name__}", where=n.name, mend="give tensors and sizes")
    for n in nodes:
        if n.op == "call_function":
            walk.visit(n)
    (output,) = (n for n in nodes if n.op == "output")
    several = isinstance(output.args[0], (list, tuple))
    given = output.args[0] if several else [output.args[0]]
    results, outputs = list[Result](), dict[str, Array]()
    for k, node in enumerate(given):
        value = walk.values[node]
        if not isinstance(value, Traced):
            raise GraphError("a subgraph gives out what is no tensor", where=str(node), mend="none is needed")
        order = storage_order(node.meta["val"])
        stored = value if order is None else permute(value, order)
        name = f"out{k}"
        axes = axes_over(stored.flat)
        outputs[name] = te.tensor(name, axes, stored.at(axes_forms(axes)), stored.dtype)
        results.append(Result(name, tuple(map(len, stored.factors)), order, value.dtype == "bf16"))
    made = make_graph("subgraph", inputs=declared, **outputs)
    _check_dims(made, {d for _, d in dims})
    known = {d.name for d in made.dims()}
    return Plan(made, tensors, [(p, d) for p, d in dims if d in known], results, several)


def _check_dims(graph: Graph, given: set[str]) -> None:
    """Raises GraphError unless every dim is given, or is an axis of an input."""
    shown = {repr(s) for i in graph.inputs for s in i.shape}
    lost = [d.name for d in graph.dims() if d.name not in given and d.name not in shown]
    if lost:
        raise GraphError(
            f"the size {lost[0]} is no axis of any input", where="subgraph", mend="mark that size as fixed"
        )


def storage_order(val: Any) -> tuple[int, ...] | None:
    """The order of axes in which a tensor lies densely in memory; None where that is row-major, or there is none."""
    sizes, strides = _hints(val.shape), _hints(val.stride())
    if sizes is None or strides is None or 0 in sizes:
        return None
    order = tuple(sorted(range(len(sizes)), key=lambda p: (-strides[p], p)))
    expected = 1
    for p in reversed(order):
        if sizes[p] != 1 and strides[p] != expected:
            return None
        expected *= sizes[p]
    moved = [p for p in order if sizes[p] != 1]
    return None if moved == sorted(moved) else order


def _hints(values: Sequence[Any]) -> list[int] | None:
    found = [v if isinstance(v, int) else v.node.hint for v in values]
    return None if any(v is None for v in found) else [int(v) for v in found]


def compiled_for(plan: Plan, options: Options, values: str) -> Compiled:
    """The compiled graph of a plan; subgraphs that are alike share one."""
    key = (plan.graph, values, options.verify)
    if key not in _DONE:
        made = optimize(plan.graph, verified=options.verify, values=values)
        while len(_DONE) >= KEPT:
            _DONE.pop(next(iter(_DONE)))
        _DONE[key] = made
    return _DONE[key]


class Subgraph(torch.nn.Module):  # type: ignore[misc]
    """A compiled part of a program, in place of the module that it was made of."""

    def __init__(self, module: Any, plan: Plan, compiled: Compiled) -> None:
        super().__init__()
        self.eager = module
        self.plan = plan
        self.compiled = compiled
        self.run: Callable[..., Any] = compiled.runner
        self._held: dict[int, tuple[int, Any, NDArray[Any]]] = {}
        self._failed = False

    def forward(self, *args: Any) -> Any:
        if self._failed:
            return self.eager(*args)
        try:
            return self.computed(args)
        except TangError as error:
            self._failed = True
            warn(f"a compiled subgraph is left to PyTorch from now on, since a call failed:\n{error}")
            return self.eager(*args)

    def computed(self, args: Sequence[Any]) -> Any:
        """The results by the compiled kernels. Raises TangError where an argument does not fit."""
        plan = self.plan
        arrays = {name: self._array(p, args[p]) for p, name in plan.tensors}
        found = self.run(arrays, {name: int(args[p]) for p, name in plan.dims})
        results = [tensor_of(found[r.name], r) for r in plan.results]
        return results if self.plan.several else results[0]

    def _array(self, position: int, tensor: Any) -> NDArray[Any]:
        """NumPy's view of a tensor; that of a parameter is kept as long as the parameter keeps its memory."""
        if not isinstance(tensor, torch.nn.Parameter):
            return _view(tensor)
        held = self._held.get(position)
        if held is None or held[0] != tensor.data_ptr() or held[1] is not tensor:
            held = self._held[position] = (tensor.data_ptr(), tensor, _view(tensor))
        return held[2]


def _view(tensor: Any) -> NDArray[Any]:
    plain = tensor.detach()
    if plain.dtype == torch.bfloat16 or plain.is_neg():
        return array_of(plain)
    array: NDArray[Any] = plain.numpy()
    return array


def tensor_of(array: NDArray[Any], result: Result) -> Any:
    """An array as a tensor on the same memory, its axes in PyTorch's order."""
    shaped = array if set(result.parts) <= {1} else array.reshape(result.shape(array.shape))
    if result.brain:
        found = torch.from_numpy(shaped.view(np.int16)).view(torch.bfloat16)
    else:
        found = torch.from_numpy(shaped)
    if result.order is None:
        return found
    back = sorted(range(len(result.order)), key=result.order.__getitem__)
    return found.permute(back)
