"""Which parts of a graph of ATen operators are taken: every node is tried, then nodes are joined to convex parts."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from tang_egg.errors import TangError
from tang_egg.importers.torch_value import Symbols, torch
from tang_egg.importers.torch_walk import Walk, name_of

MOVING = frozenset(
    """view reshape _unsafe_view expand permute transpose t squeeze unsqueeze clone alias detach slice select split
    split_with_sizes chunk unbind contiguous lift_fresh_copy _to_copy empty full zeros ones scalar_tensor""".split()
)
"""Operators that compute nothing of their own: they alone are no reason to take a part."""


@dataclass(slots=True)
class Support:
    """What was found of each node: taken, or the reason why not. Sizes are neither."""

    taken: set[Any] = field(default_factory=set)
    reasons: dict[Any, str] = field(default_factory=dict)


def examine(module: Any, limits: Callable[[Any], tuple[int, int | None]]) -> Support:
    """Walks a graph, each node that is refused becoming an input of what follows."""
    walk = Walk(Symbols(limits), "program")
    found = Support()
    for node in module.graph.nodes:
        if node.op == "output":
            continue
        val = node.meta.get("val")
        if isinstance(val, (int, torch.SymInt)) and not isinstance(val, bool):
            _size(walk, node, val)
        elif node.op == "call_function" and _follows_refused(node, found):
            _refuse(walk, found, node, "")
        elif node.op == "call_function":
            reason = _trial(walk, node, val)
            if reason is None:
                found.taken.add(node)
            else:
                _refuse(walk, found, node, reason)
        else:
            _declare(walk, node, val)
    return found


def _size(walk: Walk, node: Any, val: Any) -> None:
    try:
        walk.values[node] = walk.symbols.form(val)
    except TangError:
        walk.values[node] = _Unknown()


class _Unknown:
    """A size that is no polynomial over dims: operators that need it are refused."""


def _follows_refused(node: Any, found: Support) -> bool:
    """Whether a node only takes one of several results of a node that is not taken."""
    return node.target is operator.getitem and node.args[0] not in found.taken


def _trial(walk: Walk, node: Any, val: Any) -> str | None:
    """The reason why a node cannot be taken, or None."""
    if not isinstance(val, torch.Tensor) and not _tensors(val):
        return "it gives no tensor"
    for v in [val, *(a.meta.get("val") for a in node.all_input_nodes)]:
        for t in _tensors(v):
            if t.device.type != "cpu":
                return f"a tensor on the device {t.device}"
    for a in node.all_input_nodes:
        if a not in walk.values or isinstance(walk.values[a], _Unknown):
            return f"its argument '{a.name}' is of a kind that has no counterpart"
    try:
        walk.visit(node)
    except TangError as error:
        return str(error)
    return None


def _tensors(val: Any) -> list[Any]:
    given = val if isinstance(val, (list, tuple)) else [val]
    return [v for v in given if isinstance(v, torch.Tensor)]


def _refuse(walk: Walk, found: Support, node: Any, reason: str) -> None:
    if reason:
        found.reasons[node] = reason
    walk.values.pop(node, None)
    _declare(walk, node, node.meta.get("val"))


def _declare(walk: Walk, node: Any, val: Any) -> None:
    """Makes a tensor an input of what follows; other values, and tensors of other kinds, stay unknown."""
    if isinstance(val, torch.Tensor):
        try:
            walk.input(node, f"{node.name}_" if node.name.isidentifier() else "x_")
        except TangError:
            walk.values.pop(node, None)


class _Taken(OperatorSupportBase):  # type: ignore[misc]
    def __init__(self, taken: set[Any]) -> None:
        self.taken = taken

    def is_node_supported(self, submodules: Any, node: Any) -> bool:
        return node in self.taken


def computes(node: Any) -> bool:
    """Whether a node does work, rather than move or take apart what is there."""
    return node.target is not operator.getitem and getattr(node.target, "_opname", "") not in MOVING


def split(module: Any, support: Support, minimum: int) -> tuple[Any, list[str], list[list[str]]]:
    """The module with every part as a submodule, the names of these, and parts that were too small to be taken."""
    partitioner = CapabilityBasedPartitioner(module, _Taken(support.taken), allows_single_node_partition=True)
    kept, small = [], []
    for part in partitioner.propose_partitions():
        nodes = list(part.nodes)
        work = [n for n in nodes if computes(n)]
        if len(work) >= max(1, minimum) and any(_needed(n, set(nodes)) for n in nodes):
            kept.append(part)
        else:
            small.append([name_of(n) for n in work])
    fused = partitioner.fuse_partitions(kept)
    names = [n.target for n in fused.graph.nodes if n.op == "call_module"]
    return fused, names, small


def _needed(node: Any, inside: set[Any]) -> bool:
    return any(u not in inside for u in node.users)
