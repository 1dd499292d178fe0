"""One operator of ATen at a time: as a graph through the importer's table, beside PyTorch itself."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import tang_egg as te
from tang_egg.importers.torch_export import array_of
from tang_egg.importers.torch_value import Symbols, type_name
from tang_egg.importers.torch_walk import Walk, as_tensor
from tang_egg.traced import Traced

aten = torch.ops.aten


def overload(name: str) -> Any:
    """The operator overload of a name such as `add.Tensor`; `exp` means `exp.default`."""
    packet, _, kind = name.partition(".")
    return getattr(getattr(aten, packet), kind or "default")


def traced(
    target: Any, args: Sequence[Any], kwargs: dict[str, Any], prefix: str = ""
) -> tuple[list[Any], list[te.Array], dict[str, Any]]:
    """The results of one operator as traced values, its inputs, and their arrays."""
    graph = torch.fx.Graph()
    arrays: dict[str, Any] = {}
    walk = Walk(Symbols(lambda s: (0, None)), "test")
    inputs: list[te.Array] = []
    mode = FakeTensorMode()

    def given(x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            node = graph.placeholder(f"{prefix}x{len(arrays)}")
            node.meta["val"] = mode.from_tensor(x)
            arrays[node.name] = array_of(x)
            inputs.append(walk.input(node, node.name))
            return node
        return [given(v) for v in x] if isinstance(x, (list, tuple)) else x

    def fake(x: Any) -> Any:
        if isinstance(x, torch.fx.Node):
            return x.meta["val"]
        return [fake(v) for v in x] if isinstance(x, list) else x

    node_args = [given(a) for a in args]
    node_kwargs = {k: given(v) for k, v in kwargs.items()}
    node = graph.call_function(target, tuple(node_args), node_kwargs)
    with mode:
        node.meta["val"] = target(*(fake(a) for a in node_args), **{k: fake(v) for k, v in node_kwargs.items()})
    walk.visit(node)
    found = walk.values[node]
    return list(found) if isinstance(found, tuple) else [found], inputs, arrays


def tensors_of(
    target: Any, args: Sequence[Any], kwargs: dict[str, Any], prefix: str = ""
) -> tuple[dict[str, te.Array], list[te.Array], dict[str, Any]]:
    """The results of one operator as tensors y0, y1 ... (those that there are), its inputs, and their arrays."""
    results, inputs, arrays = traced(target, args, kwargs, prefix)
    names = {f"{prefix}y{n}": r for n, r in enumerate(results) if isinstance(r, Traced)}
    return {n: as_tensor(r, n) for n, r in names.items()}, inputs, arrays


def graph_of(name: str, target: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[te.Graph, dict[str, Any]]:
    """The graph of one operator, and its arrays."""
    outputs, inputs, arrays = tensors_of(target, args, kwargs)
    return te.graph(name, inputs=inputs, **outputs), arrays


def widened(graph: te.Graph, arrays: dict[str, Any]) -> dict[str, Any]:
    """Arrays for the interpreter, which takes bf16 as floats."""
    brain = {i.name for i in graph.inputs if i.dtype == "bf16"}
    return {k: (a.astype(np.uint32) << 16).view(np.float32) if k in brain else a for k, a in arrays.items()}


def expected(target: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """What PyTorch gives, by the same names.

    Its vectors of AVX-512 make a NaN of GELU at infinity, which its f64 does not: where a NaN of f32 is none in f64,
    the latter counts.
    """
    results = _results(target, args, kwargs)
    if any(r.dtype == torch.float32 and bool(r.isnan().any()) for r in results.values()):
        wide = [a.double() if isinstance(a, torch.Tensor) and a.dtype == torch.float32 else a for a in args]
        with contextlib.suppress(RuntimeError):
            for name, r in _results(target, wide, kwargs).items():
                if results[name].dtype == torch.float32:
                    results[name] = torch.where(results[name].isnan(), r.float(), results[name])
    return results


def _results(target: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    found = target(*args, **kwargs)
    results = list(found) if isinstance(found, (tuple, list)) else [found]
    return {f"y{n}": r for n, r in enumerate(results) if isinstance(r, torch.Tensor)}


def compare(got: Any, wanted: torch.Tensor, tolerance: float, where: str) -> None:
    """Fails unless shape, kind and values agree; NaN and infinities must stand in the same places."""
    array = np.asarray(got)
    assert array.shape == tuple(wanted.shape), f"{where}: shape {array.shape}, not {tuple(wanted.shape)}"
    if not wanted.is_floating_point():
        np.testing.assert_array_equal(array, wanted.numpy(), err_msg=where)
        return
    exact = wanted.double().numpy()
    if array.dtype == np.uint16 and type_name(wanted.dtype) == "bf16":
        array = (array.astype(np.uint32) << 16).view(np.float32)
    values = array.astype(np.float64)
    np.testing.assert_array_equal(np.isnan(values), np.isnan(exact), err_msg=where)
    infinite = np.isinf(exact) | np.isinf(values)
    np.testing.assert_array_equal(values[infinite], exact[infinite], err_msg=where)
    fine = np.isfinite(exact) & np.isfinite(values)
    scale = max(1.0, float(np.abs(exact[fine]).max(initial=0.0)))
    error = float(np.abs(values[fine] - exact[fine]).max(initial=0.0))
    assert error <= tolerance * scale, f"{where}: error {error:.3g} on values up to {scale:.3g}"


__all__ = ["compare", "expected", "graph_of", "operator", "overload", "tensors_of", "traced", "widened"]
