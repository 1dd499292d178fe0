"""The propositions of the relations of rules/gather.py as tests on an evaluated e-graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tang_egg.affine import Affine, Index, affine
from tang_egg.ir import Read

Array = npt.NDArray[Any]
Fact = tuple[Any, ...]


def _over(e: Any, axes: list[Index], *values: Any) -> list[Array]:
    """Values as arrays over the same axes."""
    found = []
    for v in values:
        shape = [i.size.evaluate(e.dims) if i in v.axes else 1 for i in axes]
        found.append(v.array.transpose([v.axes.index(i) for i in axes if i in v.axes]).reshape(shape))
    return found


def _arrays(e: Any, j: Index, setting: Any, *classes: Any) -> tuple[int, list[Array]]:
    """The values of classes over all their axes and j, and which axis j is; first the position along j."""
    values = [e.of(c, setting) for c in classes]
    axes = sorted({j, *(i for v in values for i in v.axes)}, key=lambda i: i.name)
    n = axes.index(j)
    place = np.arange(j.size.evaluate(e.dims)).reshape([-1 if m == n else 1 for m in range(len(axes))])
    return n, [place, *_over(e, axes, *values)]


def _equal(a: Array, b: Array) -> bool:
    a, b = np.broadcast_arrays(a, b)
    return np.allclose(a, b, rtol=1e-8, atol=1e-10) if a.dtype.kind == "f" else np.array_equal(a, b)


def check(e: Any, relation: str, fact: Fact, setting: Any) -> bool:
    """Whether a fact of one of these relations is true."""
    encoding = e.saturation.encoding
    if relation in ("compares", "widens"):
        names = {"compares": ("eq", "lt", "le"), "widens": ("cast:i64",)}[relation]
        return all(f.startswith(f"{n}:") for f, n in zip(fact, names, strict=True)) and "u64" not in fact[0]
    if relation == "reads":
        leaf, made, j = encoding.leaves[fact[0]], encoding.gathers[fact[2]], encoding.indices[fact[1]]
        at = tuple(c if isinstance(c, Affine) else affine(j) for c in made.coordinates)
        gathers = sum(not isinstance(c, Affine) for c in made.coordinates)
        return gathers == 1 and Read(made.source, at) == leaf
    if relation == "only_gathered":
        made = encoding.gathers[fact[0]]
        return all(encoding.indices[fact[1]] not in c.indices() for c in made.coordinates if isinstance(c, Affine))
    if relation in ("within", "points"):
        j = encoding.indices[fact[0]]
        value, size = e.of(fact[1], setting).array, j.size.evaluate(e.dims)
        return bool((value == size).all() if relation == "points" else ((value >= 0) & (value < size)).all())
    return _about_points(e, relation, fact, setting)


def _about_points(e: Any, relation: str, fact: Fact, setting: Any) -> bool:
    names = [a for a in fact if isinstance(a, str)]
    j = e.saturation.encoding.indices[names[0]]
    classes = [a for a in fact if not isinstance(a, str)]
    if relation == "ascending":
        return _ascending(e, j, e.saturation.encoding.indices[names[1]], *classes, setting)
    if relation == "scattered":
        return _scattered(e, e.saturation.encoding.indices[names[1]], classes, setting)
    n, (place, *found) = _arrays(e, j, setting, *classes)
    free = lambda a: a.shape[n] == 1 or bool((a == np.take(a, [0], n)).all())  # noqa: E731
    if relation == "position":
        return _equal(found[0], place)
    if relation == "shifted":
        return _equal(found[0] + found[1], place)
    if relation == "opposite":
        return _equal(found[0] & found[1], place == found[2])
    if relation == "matches":
        return free(found[1]) and _equal(found[0], place == found[1])
    if relation == "half":
        return _equal(found[0], found[1] & found[2])
    if relation == "apart":
        return free(found[1]) and _equal(found[0], found[1] & found[2])
    if relation == "point":
        return free(found[1]) and _equal(found[0], (place == found[1]) & found[2])
    assert relation == "pins"
    return bool((found[0].sum(axis=n) <= 1).all()) if found[0].shape[n] > 1 or j.size.evaluate(e.dims) < 2 else False


def _ascending(e: Any, j: Index, i: Index, key: Any, other: Any, setting: Any) -> bool:
    first, second = e.of(key, setting), e.of(other, setting)
    return bool(
        first.axes == (j,) and second.axes == (i,) and (np.diff(first.array) >= 0).all()
    ) and np.array_equal(first.array, second.array)  # fmt: skip


def _scattered(e: Any, i: Index, classes: list[Any], setting: Any) -> bool:
    n, (_, total, where, body) = _arrays(e, i, setting, *classes)
    count = i.size.evaluate(e.dims)
    kept = np.where(where, body, 0.0)
    folded = kept.sum(axis=n, keepdims=True) * (1 if kept.shape[n] == count else count)
    return _equal(total, folded)


RELATIONS = (
    "position shifted points opposite within reads ascending compares matches half point apart pins scattered "
    "only_gathered widens"
).split()
DEMANDS = frozenset(("sift", "hunt", "hot"))
