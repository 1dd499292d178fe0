"""One node of an ONNX graph with the values of its inputs, and the table of operators.

An operator is a function from a `Call` to the values of its outputs. It asks the call for attributes and inputs in the
form that it needs: a traced array, numbers that must be known at import, a shape. What is not there in that form is an
InputError (the file is wrong) or Unsupported (the file may be right).
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

from tang_egg.affine import Affine, affine
from tang_egg.errors import InputError
from tang_egg.importers.onnx_file import File, tensor
from tang_egg.importers.onnx_fuse import Products
from tang_egg.importers.onnx_value import (
    Array,
    Forms,
    Items,
    Known,
    Tensor,
    Unsupported,
    Value,
    Weights,
    broken,
    objects,
)
from tang_egg.traced import Traced

Handler: TypeAlias = "Callable[[Call], Value | tuple[Value, ...]]"

_T = TypeVar("_T")

KINDS = {"f": 1, "i": 2, "s": 3, "t": 4, "g": 5, "floats": 6, "ints": 7, "strings": 8}


class Runner(Protocol):
    """What control operators need of the importer."""

    @property
    def products(self) -> Products:
        """The convolutions met so far."""

    def subgraph(self, graph: Any, arguments: Sequence[Value], scope: Mapping[str, Value]) -> tuple[Value, ...]:
        """The outputs of a graph within the model for some values of its inputs."""

    def spend(self, steps: int, call: Call) -> None:
        """Counts work that is done at import. Raises Unsupported when it is too much."""

    def note(self, graph: Any) -> None:
        """Records which operators of a graph that is not run could not be imported."""


@dataclass(frozen=True, slots=True)
class Row:
    """An operator: its function, and the newest version of it (the operator set that brought it) that it knows."""

    domain: str
    name: str
    newest: int
    handler: Handler


class Table(dict[tuple[str, str], Row]):
    """Operators by domain and name."""

    def add(self, name: str, newest: int, domain: str = "") -> Callable[[Handler], Handler]:
        """Puts the decorated function into the table."""

        def put(handler: Handler) -> Handler:
            self[domain, name] = Row(domain, name, newest, handler)
            return handler

        return put


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A node with the values of its inputs.

    `since`: the operator set that brought this version of the operator. `attributes`: by name, as protocol buffers.
    `names`: of the model's inputs, by their names in the graph. `readers`: how many nodes and outputs read a name.
    """

    proto: Any
    since: int
    values: tuple[Value, ...]
    attributes: Mapping[str, Any]
    scope: Mapping[str, Value]
    weights: Weights
    file: File
    runner: Runner
    names: Mapping[str, str] = field(default_factory=dict)
    readers: Mapping[str, int] = field(default_factory=dict)

    @property
    def op(self) -> str:
        return str(self.proto.op_type)

    @property
    def where(self) -> str:
        """How errors name the node."""
        given = self.proto.name or next((o for o in self.proto.output if o), "")
        return f"node '{given}' ({self.op})" if given else f"a node {self.op}"

    def wanted(self, n: int) -> bool:
        """Whether something may read output `n`."""
        return n < len(self.proto.output) and bool(self.proto.output[n])

    def wrong(self, what: str, mend: str = "export the model again") -> InputError:
        """The error of a node that the format does not allow."""
        return broken(what, f"{self.where}, {self.file.name}", mend)

    # attributes

    def has(self, name: str) -> bool:
        return name in self.attributes

    def _attribute(self, name: str, kind: str) -> Any:
        a = self.attributes[name]
        if a.type not in (0, KINDS[kind]):
            raise self.wrong(f"attribute '{name}' is of another kind than the operator takes")
        return getattr(a, kind)

    def integer(self, name: str, default: int | None = None) -> int:
        if name not in self.attributes:
            return self._default(name, default)
        return int(self._attribute(name, "i"))

    def number(self, name: str, default: float | None = None) -> float:
        return float(self._attribute(name, "f")) if name in self.attributes else self._default(name, default)

    def text(self, name: str, default: str | None = None) -> str:
        if name not in self.attributes:
            return self._default(name, default)
        return bytes(self._attribute(name, "s")).decode("utf-8", "replace")

    def ints(self, name: str, default: Sequence[int] | None = None) -> tuple[int, ...]:
        if name not in self.attributes:
            return tuple(self._default(name, default))
        return tuple(int(v) for v in self._attribute(name, "ints"))

    def floats(self, name: str, default: Sequence[float] | None = None) -> tuple[float, ...]:
        if name not in self.attributes:
            return tuple(self._default(name, default))
        return tuple(float(v) for v in self._attribute(name, "floats"))

    def texts(self, name: str, default: Sequence[str] | None = None) -> tuple[str, ...]:
        if name not in self.attributes:
            return tuple(self._default(name, default))
        return tuple(bytes(v).decode("utf-8", "replace") for v in self._attribute(name, "strings"))

    def tensor(self, name: str) -> Known:
        if name not in self.attributes:
            raise self.wrong(f"there is no attribute '{name}'")
        return tensor(self._attribute(name, "t"), self.file, self.where)

    def graph(self, name: str) -> Any:
        if name not in self.attributes:
            raise self.wrong(f"there is no attribute '{name}'")
        return self._attribute(name, "g")

    def _default(self, name: str, default: _T | None) -> _T:
        if default is None:
            raise self.wrong(f"there is no attribute '{name}'")
        return default

    # inputs

    def given(self, n: int) -> bool:
        """Whether input `n` is there."""
        return n < len(self.values) and self.values[n] is not None

    def tensor_value(self, n: int) -> Tensor:
        """Input `n`, an array of some kind."""
        value = self.values[n] if n < len(self.values) else None
        if value is None:
            raise self.wrong(f"input {n} is missing")
        if not isinstance(value, (Known, Forms, Traced)):
            raise self.wrong(f"input {n} is no array")
        return value

    def x(self, n: int) -> Traced:
        """Input `n` as a traced array."""
        return self.weights.lift(self.tensor_value(n))

    def optional(self, n: int) -> Traced | None:
        return self.x(n) if self.given(n) else None

    def xs(self) -> list[Traced]:
        """All inputs as traced arrays."""
        return [self.x(n) for n in range(len(self.values))]

    def items(self, n: int) -> tuple[Value, ...]:
        """Input `n`, a sequence."""
        value = self.values[n] if n < len(self.values) else None
        if not isinstance(value, Items):
            raise self.wrong(f"input {n} is no sequence")
        return value.values

    def alone(self, n: int) -> bool:
        """Whether nothing but this node reads input `n`."""
        name = self.proto.input[n]
        own = self.scope.maps[0] if isinstance(self.scope, ChainMap) else self.scope
        return name in own and self.readers.get(name) == 1

    def lift(self, value: Tensor) -> Traced:
        return self.weights.lift(value)

    def known(self, n: int, what: str = "") -> Array:
        """Input `n` as an array whose elements are known. Raises Unsupported where data or sizes decide them."""
        value = self.tensor_value(n)
        if isinstance(value, Known):
            return value.array
        label = what or f"input {n}"
        if isinstance(value, Forms):
            raise Unsupported(f"{label} depends on a symbolic dimension")
        needs = tuple(self.names.get(i, i) for i in self.weights.needed(value))
        raise Unsupported(f"{label} depends on data at run time", needs)

    def numbers(self, n: int, what: str = "") -> tuple[int, ...]:
        """Input `n` as integers that are known."""
        array = self.known(n, what)
        if array.dtype.kind not in "iu":
            raise self.wrong(f"{what or f'input {n}'} has elements that are no integers")
        return tuple(int(v) for v in array.reshape(-1))

    def sizes(self, n: int, what: str = "") -> tuple[Affine, ...]:
        """Input `n` as integers or forms over dims."""
        value = self.tensor_value(n)
        if isinstance(value, Forms):
            return tuple(objects(value).reshape(-1).tolist())
        return tuple(affine(v) for v in self.numbers(n, what))

    def scalar(self, n: int, what: str = "") -> Any:
        """Input `n`, an array of one element, as a Python number."""
        array = self.known(n, what)
        if array.size != 1:
            raise self.wrong(f"{what or f'input {n}'} has {array.size} elements where one is expected")
        return array.reshape(-1)[0].item()

    def axis(self, axis: int, rank: int) -> int:
        """An axis counted from the first. Raises InputError where there is none."""
        if not -rank <= axis < max(rank, 0):
            raise self.wrong(f"there is no axis {axis} in an array of {rank} axes")
        return axis % rank

    def axes(self, axes: Sequence[int], rank: int) -> tuple[int, ...]:
        """Different axes counted from the first."""
        found = tuple(self.axis(a, rank) for a in axes)
        if len(set(found)) != len(found):
            raise self.wrong(f"axes {tuple(axes)} name one axis twice")
        return found


def fixed(x: Traced, what: str) -> tuple[int, ...]:
    """The shape as integers. Raises Unsupported where a dim is symbolic."""
    sizes = tuple(s.value for s in x.extents)
    if any(s is None for s in sizes):
        raise Unsupported(f"{what} of symbolic shape {x.extents}")
    return tuple(s for s in sizes if s is not None)


def extent(x: Traced, axis: int, what: str) -> int:
    """One extent as an integer. Raises Unsupported where it is symbolic."""
    size = x.extents[axis].value
    if size is None:
        raise Unsupported(f"{what} of symbolic extent {x.extents[axis]}")
    return size
