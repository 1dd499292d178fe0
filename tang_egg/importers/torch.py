"""Programs of PyTorch as models. PyTorch itself is imported when one is given, so the name is there without it."""

from __future__ import annotations

from typing import Any

from tang_egg.model import Model


def from_torch(program: Any, *, name: str = "") -> Model:
    """The model of a program that `torch.export.export` gave.

    Raises InputError without PyTorch and for anything else, GraphError naming every operator and value that is not
    supported.
    """
    from tang_egg.importers.torch_export import model_of  # here: it needs PyTorch

    return model_of(program, name)
