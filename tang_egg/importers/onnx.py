"""ONNX models as graphs: `te.from_onnx("model.onnx")`.

The graph of the file is walked once, node by node. What depends only on weights, constants and shapes is computed at
import; the rest is traced. So control flow must be decided by shapes and constants: a branch whose condition is known
is taken, a loop of known length unrolled. An input that decides such things is given by `constants`.

See docs/onnx.md and, for the operators, docs/onnx-operators.md.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tang_egg import notation as te
from tang_egg import traced
from tang_egg.affine import AffineLike, Dim
from tang_egg.assemble import graph as make_graph
from tang_egg.errors import InputError, TangError
from tang_egg.importers.onnx_file import File, read
from tang_egg.importers.onnx_run import Frame, Problem, Session, opsets, plain_domain
from tang_egg.importers.onnx_table import TABLE
from tang_egg.importers.onnx_value import (
    NUMPY,
    Forms,
    Items,
    Known,
    Missing,
    Optional_,
    Unsupported,
    Value,
    Weights,
    broken,
    element_type,
    identifier,
)
from tang_egg.importers.weights import MOST_AXES
from tang_egg.ir import Graph, Tensor
from tang_egg.model import Model
from tang_egg.traced import Traced

ANONYMOUS = ("", "?", "-1", "None", "unk")
"""Names of dimensions that name nothing: two of them need not be equal."""


class UnsupportedError(InputError):
    """A model has parts that cannot be imported: `problems`. `needs`: the inputs that would have to be known."""

    problems: tuple[Problem, ...] = ()
    needs: tuple[str, ...] = ()


def load_onnx(
    source: object,
    *,
    dims: Mapping[str, int | Dim] | None = None,
    shapes: Mapping[str, Sequence[int | Dim | None]] | None = None,
    constants: Mapping[str, Any] | None = None,
) -> Model:
    """The graph of an ONNX model with its weights. `source`: a path, the bytes of a file, or an onnx.ModelProto.

    Extents that the file leaves open become dims, which are at least 1. `dims` fixes them, or replaces them, by their
    names in the file; `shapes` gives the shape of an input (None: as in the file); `constants` gives the value of an
    input, which is then no input of the graph.
    Raises InputError for a file that is no well-formed model, and UnsupportedError, which is one, naming everything
    that cannot be imported.
    """
    file = read(source)
    wanted = _Wanted(file, dict(dims or {}), dict(shapes or {}), dict(constants or {}))
    session = Session(file, TABLE, Weights())
    for f in file.model.functions:
        session.functions[plain_domain(f.domain), f.name, f.overload] = f
    frame = Frame(session, opsets(file.model.opset_import))
    given = _inputs(wanted, session)
    values = frame.run(file.model.graph, ChainMap(dict(given)))
    for o, v in zip(file.model.graph.output, values, strict=True):
        if v is None or (isinstance(v, Optional_) and v.value is None):
            session.problems.append(Problem("output", o.name, "an optional without a value"))
    if session.problems:
        raise unsupported(session.problems, file)
    try:
        return _model(session, given, values)
    except TangError as error:
        raise broken(error.what, f"{error.where}, {file.name}", error.mend) from error


from_onnx = load_onnx
"""The name under which the package exports it."""


class _Wanted:
    """What the caller says of the inputs, checked against the file."""

    def __init__(self, file: File, dims: dict[str, Any], shapes: dict[str, Any], constants: dict[str, Any]) -> None:
        self.file, self.dims, self.shapes, self.constants = file, dims, shapes, constants
        stored = {t.name for t in file.model.graph.initializer}
        self.inputs = [i for i in file.model.graph.input if i.name not in stored]
        names = [i.name for i in self.inputs]
        if len(set(names)) < len(names):
            raise broken("two inputs have one name", file.name)
        for kind, given in (("shapes", shapes), ("constants", constants)):
            self._known(kind, given, names)
        declared = [d.dim_param for i in self.inputs for d in i.type.tensor_type.shape.dim if d.dim_param]
        self._known("dims", dims, declared)
        self.made: dict[str, Dim] = {}

    def _known(self, kind: str, given: Mapping[str, Any], names: Sequence[str]) -> None:
        for name in given:
            if name not in names:
                raise InputError(
                    f"{kind} names {name!r}, which the model does not have",
                    where=self.file.name,
                    mend=f"it has: {', '.join(dict.fromkeys(names)) or 'none'}",
                )

    def shape(self, i: Any) -> tuple[AffineLike, ...]:
        """The shape of an input, dims put in."""
        declared = i.type.tensor_type
        given = self.shapes.get(i.name)
        if given is None and not declared.HasField("shape"):
            raise InputError(
                f"the file does not say which shape input '{i.name}' has",
                where=self.file.name,
                mend=f"give it: shapes={{'{i.name}': (...)}}",
            )
        if declared.HasField("shape"):
            axes: list[AffineLike | None] = [self._dim(i.name, n, d) for n, d in enumerate(declared.shape.dim)]
        else:
            axes = [None] * len(given or ())
        if given is not None:
            if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != len(axes):
                raise InputError(
                    f"shapes gives input '{i.name}' the shape {given!r}",
                    where=self.file.name,
                    mend=f"give a tuple of {len(axes)} extents; None leaves one as it is in the file",
                )
            axes = [a if g is None else self._extent(i.name, g) for g, a in zip(given, axes, strict=True)]
        if len(axes) > MOST_AXES or any(a is None for a in axes):
            raise broken(f"input '{i.name}' has {len(axes)} axes, or one without an extent", self.file.name)
        return tuple(a for a in axes if a is not None)

    def _extent(self, name: str, given: Any) -> AffineLike:
        if isinstance(given, Dim) or (hasattr(given, "__index__") and not isinstance(given, bool) and given >= 0):
            return given if isinstance(given, Dim) else int(given)
        raise InputError(
            f"{given!r} is no extent of '{name}'",
            where=self.file.name,
            mend="give a whole number from 0, or a dimension: te.dim('n', lo=1)",
        )

    def _dim(self, name: str, axis: int, d: Any) -> AffineLike:
        if d.HasField("dim_value") and d.dim_value >= 0:
            return int(d.dim_value)
        label = d.dim_param
        if label in self.dims:
            return self._extent(label, self.dims[label])
        if label in ANONYMOUS:
            label = f"{name}_{axis}"
        if label not in self.made:
            taken = {m.name for m in self.made.values()}
            stem = plain = identifier(label)
            while plain in taken:
                plain = f"{stem}_{len(taken)}"
            self.made[label] = te.dim(plain, lo=1)
        return self.made[label]


def _inputs(wanted: _Wanted, session: Session) -> dict[str, Value]:
    """The values of the model's inputs."""
    found: dict[str, Value] = {}
    for i in wanted.inputs:
        if i.name in wanted.constants:
            found[i.name] = _constant(wanted, i)
            continue
        kind = i.type.WhichOneof("value")
        try:
            if kind != "tensor_type":
                raise Unsupported(f"an input of kind {kind or 'unknown'}", (i.name,))
            dtype = element_type(i.type.tensor_type.elem_type)
        except Unsupported as problem:
            session.problems.append(Problem("input", i.name, problem.reason, problem.needs))
            found[i.name] = Missing()
            continue
        plain = session.weights.name(i.name)
        session.names[plain] = i.name
        found[i.name] = traced.of(te.input(plain, wanted.shape(i), dtype))
    return found


def _constant(wanted: _Wanted, i: Any) -> Value:
    given = wanted.constants[i.name]
    kind = i.type.WhichOneof("value")
    if kind == "sequence_type" and isinstance(given, (list, tuple)):
        inner = i.type.sequence_type.elem_type.tensor_type.elem_type
        return Items(tuple(_known(wanted, i.name, g, inner) for g in given))
    if kind == "optional_type":
        inner = i.type.optional_type.elem_type
        if given is None:
            return Optional_(None)
        if inner.WhichOneof("value") == "sequence_type" and isinstance(given, (list, tuple)):
            number = inner.sequence_type.elem_type.tensor_type.elem_type
            return Optional_(Items(tuple(_known(wanted, i.name, g, number) for g in given)))
        return Optional_(_known(wanted, i.name, given, inner.tensor_type.elem_type))
    value = _known(wanted, i.name, given, i.type.tensor_type.elem_type)
    declared = i.type.tensor_type
    if declared.HasField("shape"):
        sizes = [int(d.dim_value) if d.HasField("dim_value") else -1 for d in declared.shape.dim]
        fits = len(sizes) == value.array.ndim and all(
            s < 0 or s == n for s, n in zip(sizes, value.array.shape, strict=True)
        )
        if not fits:
            raise InputError(
                f"constants gives '{i.name}' the shape {value.array.shape}",
                where=wanted.file.name,
                mend=f"give an array of shape {tuple(s if s >= 0 else 'any' for s in sizes)}",
            )
    return value


def _known(wanted: _Wanted, name: str, given: Any, number: int) -> Known:
    """A value that the caller gives, as a known array of the type that the file declares."""
    try:
        dtype = element_type(number)
        array = np.asarray(given)
        if array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
            raise TypeError
        held: Any = array.astype(NUMPY[dtype])
        if dtype[0] in "iub" and not (held == array).all():
            raise TypeError
    except (TypeError, ValueError, Unsupported) as error:
        said = f": {error.reason}" if isinstance(error, Unsupported) else ""
        raise InputError(
            f"constants gives '{name}' a value that it cannot take{said}",
            where=wanted.file.name,
            mend="give an array, or a number, of the type that the file declares",
        ) from None
    return Known(held, dtype, name)


def unsupported(problems: Sequence[Problem], file: File) -> UnsupportedError:
    """The one error that names everything that cannot be imported."""
    counted = Counter((p.op, p.reason) for p in problems)
    lines = []
    for (op, reason), count in sorted(counted.items(), key=lambda c: (-c[1], c[0])):
        nodes = [p.node for p in problems if (p.op, p.reason) == (op, reason) and p.node]
        named = ", ".join(f"'{n}'" for n in nodes[:8]) + (" ..." if len(nodes) > 8 else "")
        lines.append(f"{count} × {op}: {reason}{f' (in {named})' if named else ''}")
    needs = tuple(dict.fromkeys(n for p in problems for n in p.needs))
    error = UnsupportedError(
        "the model has parts that cannot be imported:\n    " + "\n    ".join(lines),
        where=file.name,
        mend=_mend(problems, needs),
    )
    error.problems, error.needs = tuple(problems), needs
    return error


def _mend(problems: Sequence[Problem], needs: Sequence[str]) -> str:
    if needs:
        return f"give what decides it at import: constants={{{', '.join(f'{n!r}: ...' for n in needs)}}}"
    if any("symbolic" in p.reason for p in problems):
        return "fix the extents that are open: shapes={'x': (1, 576)}, or dims={'n': 576}"
    return "docs/onnx-operators.md lists the operators that there are; cut the model before these nodes"


def _model(session: Session, given: Mapping[str, Value], values: Sequence[Value]) -> Model:
    file, weights = session.file, session.weights
    outputs: dict[str, str] = {}
    named: dict[str, te.Array] = {}
    copies: list[te.Array] = []
    seen: set[Any] = set()
    for o, v in zip(file.model.graph.output, values, strict=True):
        for label, part in _parts(o.name, v):
            name = weights.name(label)
            outputs[label] = name
            x = weights.lift(part)
            plain = x.array is not None and isinstance(x.array.node, Tensor) and x.array.node not in seen
            if x.array is not None and plain and name not in ("name", "inputs"):
                seen.add(x.array.node)
                named[name] = x.array
            else:
                copies.append(traced.to_array(x, name))
    plain_inputs = [x.array for x in given.values() if isinstance(x, Traced) and x.array is not None]
    title = identifier(file.model.graph.name or Path(file.name).stem)
    g = make_graph(title, *copies, inputs=plain_inputs, **named)
    order = {n: k for k, n in enumerate(outputs.values())}
    g = Graph(g.name, g.inputs, tuple(sorted(g.outputs, key=lambda t: order[t.name])))
    used = {i.name for i in g.inputs}
    inputs = {original: name for name, original in session.names.items()}
    return Model(g, {n: a for n, a in weights.arrays.items() if n in used}, inputs, outputs)


def _parts(name: str, value: Value) -> list[tuple[str, Known | Forms | Traced]]:
    """An output's arrays; those of a sequence are numbered."""
    if isinstance(value, Optional_):
        return _parts(name, value.value)
    if isinstance(value, Items):
        return [p for n, v in enumerate(value.values) for p in _parts(f"{name}[{n}]", v)]
    return [(name, value)] if isinstance(value, (Known, Forms, Traced)) else []
