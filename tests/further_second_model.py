"""A further graph of a plain user: its builder, an oracle in NumPy, and the form that an expert expects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

import tang_egg as te
from tests.rows_model import Form

Arrays: TypeAlias = "dict[str, Any]"
Sizes: TypeAlias = "Mapping[str, tuple[int, int]]"


@dataclass(frozen=True, slots=True)
class Fresh:
    """A naive graph (`build(small)`), its meaning in NumPy, and the form required of its program at large sizes.

    `sizes` are pairs (large, small). `below` bounds integer inputs: 0 <= element < that size or number. `spoil` changes
    inputs, so that they are in the domain of the graph and have edge values. `why` says what the form rests on.
    """

    build: Callable[[bool], te.Graph]
    oracle: Callable[[Arrays], Arrays]
    form: Form
    why: str
    sizes: Sizes
    below: Mapping[str, str | int] = field(default_factory=dict)
    spoil: Callable[[Arrays], None] | None = None

    def inputs(self, seed: int, small: bool = True) -> Arrays:
        """Random inputs in their storage types: normal reals, bools true three times in four, integers below bounds."""
        rng = np.random.default_rng(seed)
        found: Arrays = {}
        for x in self.build(small).inputs:
            shape = tuple(int(s.value or 0) for s in x.shape)
            if x.dtype == "bool":
                found[x.name] = rng.random(shape) < 0.75
            elif x.dtype == "f32":
                found[x.name] = rng.normal(size=shape).astype(np.float32)
            else:
                high = self.below[x.name]
                high = at(self.sizes, small)[list(self.sizes).index(high)] if isinstance(high, str) else high
                low = -high if x.dtype == "i8" else 0
                values = rng.integers(low, high, shape).astype(
                    {"i8": "int8", "u8": "uint8", "i32": "int32", "i64": "int64"}[x.dtype]
                )
                found[x.name] = np.sort(values) if x.sorted else values
        if self.spoil is not None:
            self.spoil(found)
        return found


def at(sizes: Sizes, small: bool) -> tuple[int, ...]:
    """The large or the small sizes, in order."""
    return tuple(pair[small] for pair in sizes.values())


def doubles(a: Arrays) -> Arrays:
    """The same arrays with reals in float64."""
    return {name: x.astype(np.float64) if x.dtype.kind == "f" else x for name, x in a.items()}


def normalised(s: Any, live: Any = True) -> Any:
    """softmax along the last axis of what is live; 0 elsewhere, and throughout a row without a live element."""
    live = np.broadcast_to(live, s.shape)
    top = np.max(np.where(live, s, -np.inf), axis=-1, keepdims=True)
    p = np.where(live, np.exp(s - np.where(np.isfinite(top), top, 0.0)), 0.0)
    total = p.sum(axis=-1, keepdims=True)
    return np.divide(p, total, out=np.zeros_like(p), where=total > 0)
