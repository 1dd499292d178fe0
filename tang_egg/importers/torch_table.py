"""The table of ATen operators: which function gives what an operator computes, and how its arguments are bound.

    @op("add.Tensor", "add.Scalar")
    def _add(out, x, y, *, alpha=1): ...

A function gets what PyTorch says of the result (`Out`), the positional arguments of the operator's schema, defaults
filled in, and those keyword arguments that change values. It gives a Traced, or a tuple for several results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeAlias, TypeVar

from tang_egg.importers.torch_value import torch

Rule: TypeAlias = "Callable[..., Any]"
F = TypeVar("F", bound="Callable[..., Any]")

ROWS: dict[str, Rule] = {}
"""Operator overload → function. `rows()` fills it."""

MODULES = ("pointwise", "activation", "reduce", "order", "view", "create", "index", "scatter", "linear", "norm",
           "attention", "image", "recurrent")  # fmt: skip

WITHOUT_EFFECT = frozenset(
    {"dtype", "layout", "device", "pin_memory", "memory_format", "generator", "out", "implicit", "non_blocking"}
)
"""Keyword arguments that say nothing but what `Out` says too, or that concern memory only."""


def op(*names: str) -> Callable[[F], F]:
    """Registers a function for operator overloads: `op("add.Tensor")`; "add" alone means "add.default"."""

    def register(rule: F) -> F:
        for name in names:
            full = name if "." in name else f"{name}.default"
            if full in ROWS:
                raise ValueError(f"two rows for {full}")
            ROWS[full] = rule
        return rule

    return register


def rows() -> Mapping[str, Rule]:
    """The whole table."""
    for name in MODULES:
        import_module(f"tang_egg.importers.torch_{name}")
    return ROWS


def find(target: Any) -> Rule | None:
    """The function of an operator overload, or None."""
    if not isinstance(target, torch._ops.OpOverload) or target.namespace != "aten":
        return None
    return rows().get(target._opname + "." + target._overloadname)


def overloads() -> list[Any]:
    """The operator overloads of the table that this version of PyTorch has."""
    found = []
    for name in rows():
        packet, _, overload = name.partition(".")
        target = getattr(getattr(torch.ops.aten, packet, None), overload, None)
        if target is not None:
            found.append(target)
    return found


def bound(target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The positional arguments of an operator with defaults filled in, and the keyword arguments that matter."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for n, argument in enumerate(target._schema.arguments):
        name = argument.name
        if not argument.kwarg_only:
            positional.append(args[n] if n < len(args) else kwargs.get(name, argument.default_value))
        elif name in kwargs and name not in WITHOUT_EFFECT:
            keywords[name] = kwargs[name]
    return positional, keywords
