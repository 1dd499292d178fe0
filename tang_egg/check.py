"""The check of a graph: what every later stage may take for granted.

Names are unique, indices are in scope, types fit, folds lift what their monoids hold, every affine read stays in bounds
under its path conditions, sizes are not negative, and donated memory is not read after it is overwritten. Gathered
coordinates are integers; their values are checked when the interpreter runs.
"""

from __future__ import annotations

from collections.abc import Iterable

from tang_egg import ops
from tang_egg.affine import Affine
from tang_egg.bounds import prove_nonnegative
from tang_egg.check_monoid import check_monoid, check_structure
from tang_egg.check_scalar import ScalarCheck
from tang_egg.errors import GraphError
from tang_egg.ir import Graph, Input, Read, Reduce, Tensor, children, tensors_of, type_of, walk
from tang_egg.monoid import Monoid
from tang_egg.rewrite import graph_dims

__all__ = ["check_graph", "check_monoid"]


def check_graph(graph: Graph) -> None:
    """Raises GraphError, saying what, where and how to mend it, unless `graph` is well formed."""
    title = f"graph '{graph.name}'"
    if not graph.outputs:
        raise GraphError(f"{title} has no output", where=title, mend="give at least one tensor")
    tensors = tensors_of(graph.outputs)
    _check_names(graph, tensors, title)
    for i in graph.inputs:
        _check_input(i, title)
    monoids: dict[Monoid, None] = {}
    for t in tensors:
        check = ScalarCheck(f"{title}, tensor '{t.name}'", graph.inputs, t.at)
        _check_tensor(t, check)
        for m in check.monoids:
            if m not in monoids:
                check_structure(m)
        monoids |= check.monoids
    _check_donated(graph, tensors, title)


def _check_names(graph: Graph, tensors: Iterable[Tensor], title: str) -> None:
    if len(set(graph.outputs)) < len(graph.outputs):
        raise GraphError("a tensor is listed twice as an output", where=title, mend="list each output once")
    used: dict[str, str] = {}
    # graph_dims itself refuses two dims of one name.
    things = [("dimension", d.name) for d in graph_dims(graph)]
    things += [("input", i.name) for i in graph.inputs] + [("tensor", t.name) for t in tensors]
    for kind, name in things:
        if not name.isidentifier():
            raise GraphError(
                f"the {kind} name {name!r} is not an identifier",
                where=title,
                mend="use letters, digits and underscores, no digit first",
            )
        if name in used:
            both = f"two {kind}s are" if used[name] == kind else f"{_a(used[name])} and {_a(kind)} are both"
            raise GraphError(f"{both} named '{name}'", where=title, mend="rename one of them")
        used[name] = kind


def _a(kind: str) -> str:
    return f"an {kind}" if kind == "input" else f"a {kind}"


def _check_type(dtype: str, where: str) -> None:
    if dtype not in ops.STORAGE:
        raise GraphError(f"unknown element type '{dtype}'", where=where, mend=f"use one of {', '.join(ops.STORAGE)}")


def _check_sizes(sizes: Iterable[Affine], where: str) -> None:
    for n, size in enumerate(sizes):
        if size.indices():
            raise GraphError(
                f"the extent of axis {n} depends on an index: {size}", where=where, mend="use dimensions and integers"
            )
        if not prove_nonnegative(size):
            raise GraphError(
                f"the extent of axis {n} may be negative: {size}",
                where=where,
                mend="give its dimensions a lower limit, e.g. Dim('n', lo=2)",
            )


def _check_input(i: Input, title: str) -> None:
    where = f"{title}, input '{i.name}'"
    _check_type(i.dtype, where)
    _check_sizes(i.shape, where)
    if i.sorted and (len(i.shape) != 1 or i.dtype not in ops.INTEGERS):
        raise GraphError(
            f"input '{i.name}' is declared sorted but is no vector of integers",
            where=where,
            mend="declare it with one axis and an integer type, or without sorted=True",
        )


def _check_tensor(t: Tensor, check: ScalarCheck) -> None:
    _check_type(t.dtype, check.owner)
    _check_sizes(t.shape, check.owner)
    names = [i.name for i in t.axes]
    if len(set(names)) < len(names):
        raise check.fail("two axes have the same name", "name each axis differently")
    check.run(t.body, t.axes)
    if type_of(t.body) != ops.scalar_type(t.dtype):
        raise check.fail(
            f"the body has type {type_of(t.body)} but the tensor is stored as {t.dtype}",
            "convert the body with te.cast, or declare another element type",
        )


def _check_donated(graph: Graph, tensors: Iterable[Tensor], title: str) -> None:
    inputs = {i.name: i for i in graph.inputs}
    owners: dict[str, Tensor] = {}
    tensors = tuple(tensors)
    for t in tensors:
        if not t.into:
            continue
        check = ScalarCheck(f"{title}, tensor '{t.name}'", None, t.at)
        taken = inputs.get(t.into)
        if taken is None:
            raise check.fail(
                f"'{t.into}', whose memory is to be written, is not among the graph's inputs",
                "list it, since nothing reads it: te.graph(..., inputs=[...]), declared with donated=True",
            )
        if not taken.donated:
            raise check.fail(
                f"'{t.into}' is not a donated input", f"declare it so: Input('{t.into}', ..., donated=True)"
            )
        if taken.shape != t.shape or taken.dtype != t.dtype:
            raise check.fail(
                f"'{t.name}' does not fit the memory of '{t.into}': {list(t.shape)} of {t.dtype} into"
                f" {list(taken.shape)} of {taken.dtype}",
                "give the tensor the shape and element type of the input",
            )
        if t.into in owners:
            raise check.fail(
                f"'{owners[t.into].name}' and '{t.name}' are both written into '{t.into}'", "donate one input to each"
            )
        owners[t.into] = t
    for t in tensors:
        for name in sorted(owners):
            other = _conflict(t, inputs[name], owners[name])
            if other is not None:
                raise ScalarCheck(f"{title}, tensor '{t.name}'", None, t.at).fail(
                    f"'{t.name}' reads '{name}' at {list(other.coordinates)}, but '{owners[name].name}' is written"
                    " into its memory",
                    f"read it only in '{owners[name].name}' and at the element being written, or do not donate it",
                    other.at,
                )


def _conflict(t: Tensor, donated: Input, owner: Tensor) -> Read | None:
    """A read of a donated input in `t` that may see overwritten elements, or None."""
    identity = tuple(Affine((((i,), 1),)) for i in t.axes)
    folds = (r for r in walk(t.body) if isinstance(r, Reduce) and set(r.indices) & set(t.axes))
    rebound = {s for r in folds for s in walk(*children(r))}
    for s in walk(t.body):
        if isinstance(s, Read) and s.source is donated:
            if t is not owner or s.coordinates != identity or s in rebound:
                return s
    return None
