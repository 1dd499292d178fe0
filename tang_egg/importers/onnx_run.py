"""The import of a graph's nodes in order: scopes, folding of what is known, functions, and what cannot be imported."""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tang_egg.affine import product
from tang_egg.errors import TangError
from tang_egg.importers.onnx_call import Call, Row, Table
from tang_egg.importers.onnx_file import File, sparse, tensor
from tang_egg.importers.onnx_forms import ARITHMETIC, MOVES, moved
from tang_egg.importers.onnx_fuse import Products
from tang_egg.importers.onnx_schema import check_types, find_schema, function_of, with_defaults
from tang_egg.importers.onnx_value import (
    LARGEST,
    Forms,
    Items,
    Known,
    Missing,
    Optional_,
    Unsupported,
    Value,
    Weights,
    broken,
)
from tang_egg.traced import Traced

MOST_STEPS = 1 << 16
"""Nodes that are imported in all, each trip of an unrolled loop anew."""

DEEPEST = 64
"""Functions may call each other so many levels deep."""

FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What Python and NumPy raise on numbers of a damaged file that no check foresaw."""

STANDARD = ("", "ai.onnx")


@dataclass(frozen=True, slots=True)
class Problem:
    """A node that cannot be imported."""

    op: str
    node: str
    reason: str
    needs: tuple[str, ...] = ()


@dataclass(slots=True)
class Session:
    """One import: the file, the table of operators, and what was made and met so far."""

    file: File
    table: Table
    weights: Weights
    names: dict[str, str] = field(default_factory=dict)
    functions: dict[tuple[str, str, str], Any] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    steps: int = 0
    products: Products = field(default_factory=Products)


def plain_domain(domain: str) -> str:
    return "" if domain in STANDARD else domain


def opsets(imports: Any) -> dict[str, int]:
    """The version of each domain's operator set."""
    return {plain_domain(o.domain): int(o.version) for o in imports}


@dataclass(frozen=True, slots=True)
class Frame:
    """Where nodes are imported: the operator sets, and the attributes of the function around them."""

    session: Session
    versions: Mapping[str, int]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    depth: int = 0

    # what operators ask for

    @property
    def products(self) -> Products:
        return self.session.products

    def subgraph(self, graph: Any, arguments: Sequence[Value], scope: Mapping[str, Value]) -> tuple[Value, ...]:
        if len(arguments) != len(graph.input):
            raise broken(
                f"a graph within the model takes {len(graph.input)} inputs where {len(arguments)} are expected",
                f"graph '{graph.name}', {self.session.file.name}",
            )
        inner: dict[str, Value] = {i.name: v for i, v in zip(graph.input, arguments, strict=True)}
        return self.run(graph, ChainMap(inner, scope))  # type: ignore[arg-type]

    def spend(self, steps: int, call: Call) -> None:
        if self.session.steps + steps > MOST_STEPS:
            raise Unsupported(f"more than {MOST_STEPS} nodes, loops unrolled")
        self.session.steps += steps

    def note(self, graph: Any) -> None:
        for n in graph.node:
            try:
                self._row(n)
            except Unsupported as problem:
                self._record(n, problem)
            for a in n.attribute:
                if a.HasField("g"):
                    self.note(a.g)

    # graphs

    def run(self, graph: Any, scope: ChainMap[str, Value]) -> tuple[Value, ...]:
        """The outputs of a graph whose inputs are in the innermost map of `scope`."""
        where = f"graph '{graph.name}', {self.session.file.name}"
        own = scope.maps[0]
        for t in graph.initializer:
            own[t.name] = self._constant(t, where)
        for s in graph.sparse_initializer:
            own[s.values.name] = sparse(s, self.session.file, where)
        self._nodes(graph.node, [o.name for o in graph.output], scope)
        return tuple(self._read(o.name, scope, where) for o in graph.output)

    def _constant(self, t: Any, where: str) -> Value:
        try:
            return tensor(t, self.session.file, f"initializer '{t.name}' of {where.partition(',')[0]}")
        except Unsupported as problem:
            self.session.problems.append(Problem("initializer", t.name, problem.reason))
            return Missing()

    def _nodes(self, nodes: Sequence[Any], outputs: Sequence[str], scope: ChainMap[str, Value]) -> None:
        written: dict[str, Any] = {}
        for n in nodes:
            for o in n.output:
                if o and (o in written or o in scope.maps[0]):
                    raise broken(f"two nodes give '{o}', or a node and an input", self.session.file.name)
                written[o] = n
        needed = _needed(nodes, outputs)
        readers = Counter(outputs)
        for n in needed:
            readers.update(_reads(n))
        for n in needed:
            self._node(n, scope, readers)

    def _read(self, name: str, scope: Mapping[str, Value], where: str) -> Value:
        if name not in scope:
            raise broken(
                f"'{name}' is read, but nothing gives it before", where, "export the model with its nodes in order"
            )
        return scope[name]

    def _node(self, node: Any, scope: ChainMap[str, Value], readers: Mapping[str, int]) -> None:
        session = self.session
        call = replace(self._call(node, scope), readers=readers)
        if any(isinstance(v, Missing) for v in call.values):
            for a in call.attributes.values():
                if a.HasField("g"):
                    self.note(a.g)
            results: tuple[Value, ...] = (Missing(),) * len(node.output)
        else:
            try:
                self.spend(1, call)
                results = self._evaluate(call)
            except Unsupported as problem:
                self._record(node, problem)
                results = (Missing(),) * len(node.output)
            except TangError as error:
                if error.where.endswith(session.file.name):
                    raise
                raise broken(error.what, f"{call.where}, {session.file.name}", error.mend) from error
            except FAULTS as error:
                said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
                raise call.wrong(f"the node cannot be imported: {said}", "check the model by onnx.checker") from error
        for n, name in enumerate(node.output):
            if not name:
                continue
            if n >= len(results) or results[n] is None:
                raise call.wrong(f"the operator has no output {n} here")
            scope.maps[0][name] = results[n]

    def _record(self, node: Any, problem: Unsupported) -> None:
        label = f"{node.domain}.{node.op_type}" if plain_domain(node.domain) else node.op_type
        name = node.name or next((o for o in node.output if o), "")
        found = Problem(label, name, problem.reason, problem.needs)
        if found not in self.session.problems:
            self.session.problems.append(found)

    def _call(self, node: Any, scope: ChainMap[str, Value]) -> Call:
        where = f"node '{node.name or next((o for o in node.output if o), '')}' ({node.op_type})"
        where = f"{where}, {self.session.file.name}"
        values = tuple(self._read(i, scope, where) if i else None for i in node.input)
        attributes = {}
        for a in node.attribute:
            if a.name in attributes:
                raise broken(f"attribute '{a.name}' stands twice", where)
            if not a.ref_attr_name:
                attributes[a.name] = a
            elif a.ref_attr_name in self.attributes:
                attributes[a.name] = self.attributes[a.ref_attr_name]
        return Call(node, self.versions.get(plain_domain(node.domain), 0), values, attributes, scope,
                    self.session.weights, self.session.file, self, self.session.names)  # fmt: skip

    # nodes

    def _local(self, node: Any) -> Any:
        return self.session.functions.get((plain_domain(node.domain), node.op_type, node.overload))

    def _row(self, node: Any) -> Row | None:
        """The operator of a node; None where a function gives its meaning. Raises Unsupported for neither."""
        if self._local(node) is not None:
            return None
        domain = plain_domain(node.domain)
        row = self.session.table.get((domain, node.op_type))
        if domain not in self.versions:
            raise Unsupported(f"the model names no version of the operators '{node.domain}'")
        schema = find_schema(domain, node.op_type, self.versions[domain])
        if schema is None:
            raise Unsupported("there is no such operator")
        if row is not None and schema.since_version <= row.newest:
            return row
        if row is None and (schema.has_function or schema.has_context_dependent_function):
            return None
        raise Unsupported(f"version {schema.since_version} of the operator" if row else "the operator")

    def _evaluate(self, call: Call) -> tuple[Value, ...]:
        function = self._local(call.proto)
        if function is not None:
            return self._function(function, call)
        domain = plain_domain(call.proto.domain)
        row = self._row(call.proto)
        schema = find_schema(domain, call.op, self.versions[domain])
        check_types(schema, call)
        call = replace(call, since=schema.since_version)
        if row is None:
            return self._function(function_of(schema, call, self.versions[domain]), with_defaults(schema, call))
        if any(isinstance(v, Forms) for v in call.values):
            if call.op in ARITHMETIC and not domain:
                found = ARITHMETIC[call.op](call)
                if found is not None:
                    return (found,)
            if call.op in MOVES and not domain and all(isinstance(v, (Known, Forms, type(None))) for v in call.values):
                return moved(call, lambda c: self._handled(row, c))
        return self._handled(row, call)

    def _handled(self, row: Row, call: Call) -> tuple[Value, ...]:
        """The operator's results, folded where everything that goes into them is known."""
        found = row.handler(call)
        results = found if isinstance(found, tuple) else (found,)
        if any(a.HasField("g") for a in call.attributes.values()):
            return results  # a graph may read values that are not known
        if not all(_is_known(v) for v in call.values):
            return results
        most = max(LARGEST, 2 * sum(v.array.size for v in call.values if isinstance(v, Known)))
        return tuple(self._folded(v, most, call, n) for n, v in enumerate(results))

    def _folded(self, value: Value, most: int, call: Call, n: int) -> Value:
        if not isinstance(value, Traced) or not call.wanted(n):
            return value
        count = product(value.extents).value
        if count is None or count > most:
            return value
        return self.session.weights.fold(value, call.proto.output[n])

    def _function(self, function: Any, call: Call) -> tuple[Value, ...]:
        """The outputs of a function's body for the inputs and attributes of a call."""
        if self.depth >= DEEPEST:
            raise broken(f"functions call each other more than {DEEPEST} levels deep", self.session.file.name)
        if len(call.values) > len(function.input):
            raise call.wrong(f"the function takes {len(function.input)} inputs")
        given = (*call.values, *(None,) * (len(function.input) - len(call.values)))
        scope: ChainMap[str, Value] = ChainMap(dict(zip(function.input, given, strict=True)))
        attributes = {a.name: a for a in function.attribute_proto} | dict(call.attributes)
        versions = {**self.versions, **opsets(function.opset_import)}
        inner = Frame(self.session, versions, attributes, self.depth + 1)
        wanted = [o for n, o in enumerate(function.output) if call.wanted(n)]
        inner._nodes(function.node, wanted, scope)
        where = f"{call.where}, {self.session.file.name}"
        return tuple(inner._read(o, scope, where) if call.wanted(n) else None for n, o in enumerate(function.output))


def _is_known(v: Value) -> bool:
    if isinstance(v, Items):
        return all(map(_is_known, v.values))
    if isinstance(v, Optional_):
        return _is_known(v.value)
    return v is None or isinstance(v, Known)


def _needed(nodes: Sequence[Any], outputs: Sequence[str]) -> list[Any]:
    """The nodes that some outputs depend on, in order."""
    wanted = set(outputs)
    kept = []
    for n in reversed(nodes):
        if any(o in wanted for o in n.output if o):
            kept.append(n)
            wanted.update(_reads(n))
    return kept[::-1]


def _reads(node: Any) -> set[str]:
    """The names that a node reads, in the graphs within it too."""
    found = {i for i in node.input if i}
    for a in node.attribute:
        for g in [*([a.g] if a.HasField("g") else []), *a.graphs]:
            found |= {o.name for o in g.output}
            for n in g.node:
                found |= _reads(n)
    return found
