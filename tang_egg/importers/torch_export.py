"""Programs of `torch.export` as models: te.from_torch(torch.export.export(model, args)).

Parameters, buffers and constants become weights that share PyTorch's memory where they are contiguous; the program's
arguments become inputs by name, its symbolic sizes dims with their ranges, its results outputs by their place.
"""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tang_egg.assemble import graph
from tang_egg.errors import GraphError, InputError
from tang_egg.importers.torch_table import find, overloads
from tang_egg.importers.torch_value import Symbols, torch, type_name
from tang_egg.importers.torch_walk import IGNORED, Walk, as_tensor, distinct, place_of, shape_limits
from tang_egg.model import Model
from tang_egg.notation import Array
from tang_egg.traced import of, scalar

SUPPORTED = "torch.export.export(model.eval(), args)"


def model_of(program: Any, name: str) -> Model:
    """The model of an exported program: see `from_torch`."""
    if isinstance(program, (str, Path)):
        raise InputError(
            "a saved program is not loaded here: reading one may run code that the file holds",
            where=str(program),
            mend="if you trust the file: te.from_torch(torch.export.load(path))",
        )
    if not isinstance(program, torch.export.ExportedProgram):
        raise InputError(
            f"a value of type {type(program).__name__} is no exported program",
            where="te.from_torch",
            mend=f"give one: te.from_torch({SUPPORTED})",
        )
    return _Import(functional(program), name or "program").model()


def functional(program: Any) -> Any:
    """The program without mutation, composites that the table does not have decomposed into core ATen."""
    table = torch.export.default_decompositions()
    for target in overloads():
        if target in table and not _writes(target):
            table.pop(target)
    return program.run_decompositions(table)


def _writes(target: Any) -> bool:
    return bool(target._schema.is_mutable)


class _Import:
    """An exported program on its way to a model."""

    def __init__(self, program: Any, name: str) -> None:
        self.program = program
        self.signature = program.graph_signature
        self.name = name
        symbols = Symbols(shape_limits(None, program.range_constraints))
        self.walk = Walk(symbols, f"program '{name}'")
        self.weights: dict[str, NDArray[Any]] = {}
        self.inputs: dict[str, str] = {}
        self.declared: list[Array] = []

    def model(self) -> Model:
        nodes = list(self.program.graph.nodes)
        self._declare([n for n in nodes if n.op == "placeholder"])
        self._visit([n for n in nodes if n.op not in ("placeholder", "output")])
        results = self._results(nodes[-1])
        taken = {a.name for a in self.declared}
        names = {k: v if v not in taken else f"{v}_out" for k, v in distinct(list(results)).items()}
        tensors = {names[k]: as_tensor(v, names[k]) for k, v in results.items()}
        made = graph(self.name, inputs=self.declared, **tensors)
        return Model(made, self.weights, self.inputs, names)

    def _declare(self, placeholders: list[Any]) -> None:
        """Inputs for tensors that the caller gives, weights for those of the program, constants for its scalars."""
        specs = {s.arg.name: s for s in self.signature.input_specs}
        titles = {n: self._title(n, specs.get(n.name)) for n in placeholders}
        plain = distinct(list(dict.fromkeys(titles.values())))
        for n in placeholders:
            spec, val = specs.get(n.name), n.meta.get("val")
            held = self._held(spec)
            if isinstance(val, torch.Tensor) and held is not None and held.ndim == 0:
                self.walk.values[n] = self._scalar(n, held)
            elif isinstance(val, torch.Tensor):
                array = self.walk.input(n, plain[titles[n]])
                self.declared.append(array)
                if held is None:
                    self.inputs[titles[n]] = array.name
                else:
                    self.weights[array.name] = array_of(held)
            elif isinstance(val, (int, torch.SymInt)) and not isinstance(val, bool):
                self.walk.values[n] = self._size(n, val)
            else:
                self.walk.values[n] = getattr(getattr(spec, "arg", None), "value", None)

    def _scalar(self, node: Any, held: Any) -> Any:
        """A tensor without axes as its value."""
        return scalar(held.item(), self.walk.typed(node, lambda: type_name(held.dtype)))

    def _size(self, node: Any, size: Any) -> Any:
        return self.walk.typed(node, lambda: self.walk.symbols.form(size))

    def _title(self, node: Any, spec: Any) -> str:
        return str(spec.target) if spec is not None and spec.target is not None else str(node.name)

    def _held(self, spec: Any) -> Any:
        """The tensor of a parameter, buffer or constant; None for an argument of the caller."""
        if spec is None or spec.target is None:
            return None
        found = self.program.state_dict.get(spec.target)
        return self.program.constants.get(spec.target) if found is None else found

    def _visit(self, nodes: list[Any]) -> None:
        """Walks the nodes. Raises GraphError that names all operators without a row, or the first that is refused."""
        missing: dict[str, Any] = {}
        for n in nodes:
            if n.op == "call_function" and _unknown(n):
                missing.setdefault(str(n.target), n)
        if missing:
            raise GraphError(
                f"the program uses operators that are not supported: {', '.join(sorted(missing))}",
                where=f"program '{self.name}', {'; '.join(place_of(n) for n in list(missing.values())[:4])}",
                mend="run it by torch.compile(model, backend='tang_egg'), which leaves such operators to PyTorch",
            )
        for n in nodes:
            if n.op == "get_attr":
                held = getattr(self.program.graph_module, n.target)
                if not isinstance(held, torch.Tensor):
                    raise GraphError(
                        "the program has branches or loops whose course depends on data",
                        where=f"program '{self.name}', {place_of(n)}",
                        mend="export it without torch.cond, torch.while_loop and the like",
                    )
                self.walk.values[n] = self._constant(n, held)
            else:
                self.walk.visit(n)

    def _constant(self, node: Any, held: Any) -> Any:
        if held.ndim == 0:
            return self._scalar(node, held)
        array = self.walk.input(node, f"constant_{node.name}")
        self.declared.append(array)
        self.weights[array.name] = array_of(held)
        return of(array)

    def _results(self, output: Any) -> dict[str, Any]:
        """The values that the program gives, by their places; updated buffers by their names."""
        specs = self.signature.output_specs
        found: dict[str, Any] = {}
        paths = iter(self._paths(sum(s.kind.name == "USER_OUTPUT" for s in specs)))
        for spec, arg in zip(specs, output.args[0], strict=True):
            value = self.walk.value(arg)
            own = spec.kind.name == "USER_OUTPUT"
            title = next(paths) if own else str(spec.target)
            if spec.kind.name == "TOKEN" or value is None:
                continue
            found[title] = value
        if not found:
            raise GraphError(
                "the program gives nothing out", where=f"program '{self.name}'", mend="return a tensor from forward"
            )
        return found

    def _paths(self, n: int) -> list[str]:
        """Names of results: keys of dicts and positions of tuples, joined; `output` for a single tensor."""
        spec = self.program.call_spec.out_spec
        if spec is None:
            return [str(k) for k in range(n)]
        leaves, _ = torch.utils._pytree.tree_flatten_with_path(torch.utils._pytree.tree_unflatten(list(range(n)), spec))
        return [_joined(path) or "output" for path, _ in leaves]


def _joined(path: Any) -> str:
    parts = [getattr(k, "key", getattr(k, "idx", getattr(k, "name", k))) for k in path]
    return "_".join(str(p) for p in parts)


def _unknown(node: Any) -> bool:
    val = node.meta.get("val")
    if node.target is operator.getitem or getattr(node.target, "_opname", "") in IGNORED:
        return False
    if val is None or isinstance(val, (bool, int, float, torch.SymInt, torch.SymFloat, torch.SymBool)):
        return False
    return find(node.target) is None


def array_of(tensor: Any) -> NDArray[Any]:
    """A tensor as NumPy's view of the same memory; bf16 as its bits, strided ones copied to be contiguous."""
    plain = tensor.detach()
    if plain.is_neg() or plain.is_conj():
        plain = plain.resolve_neg().resolve_conj()
    if not plain.is_contiguous():
        plain = plain.contiguous()
    if plain.dtype == torch.bfloat16:
        found: NDArray[Any] = plain.view(torch.int16).numpy().view(np.uint16)
        return found
    array: NDArray[Any] = plain.numpy()
    return array
