"""The language: a tensor is a scalar expression with free indices.

    graph     ::= inputs, outputs: tensors
    tensor    ::= Tensor(name, axes, body, dtype)                  axes: the free indices of body, in storage order
    input     ::= Input(name, shape, dtype)                        a buffer that the caller gives
    scalar    ::= Const(value, type)
                | Position(affine)                                 an affine form over indices, as an i64 value
                | Test(inequality)                                 an affine condition, as a bool value
                | Read(source, coordinates)                        a view: source is an input or a tensor
                | Apply(op, arguments)                             a primitive of `ops`
                | Reduce(monoid, indices, where, body, part)       component `part` of a fold
                | Scan(monoid, index, body, part)                  ... of the inclusive prefix fold at `index`
                | StateRef(side, component, coordinates)           only inside a monoid's combine
                | Statistic(which)                                 only inside followers of a cascade (see monoid)
    coordinate::= affine | scalar of an integer type               the second is a gather
    domain    ::= conjunction of inequalities and bool scalars

`select` is lazy: a read in a branch is made only where the condition selects it, and its bounds are proved under that
condition. So a guarded view is a select around a read. A fold over an empty domain is the identity of its monoid; reads
in its body are made only on the domain.

Every node is interned (`tang_egg.node`): equal trees are one object and equality is identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import wraps
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from tang_egg import ops
from tang_egg.affine import Affine, AffineLike, Dim, Index, Inequality, affine
from tang_egg.errors import GraphError
from tang_egg.node import Node, node

if TYPE_CHECKING:
    from tang_egg.monoid import Monoid


@dataclass(frozen=True, slots=True)
class Span:
    """Where in the user's text or program a node was written. Never part of equality."""

    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else ""


NOWHERE = Span()

_REMEMBERED = 1 << 18
"""Nodes whose type and free indices are kept; beyond that they are forgotten and found anew."""


@node
class Scalar(Node):
    """Base of all scalar expressions."""


@node
class Const(Scalar):
    """A constant of scalar type `type`: a float for "real", else an int or a bool."""

    value: float | int | bool
    type: str = "real"


@node
class Position(Scalar):
    """The value of an affine form over indices and dims, an i64."""

    form: Affine


@node
class Test(Scalar):
    """The truth of an affine condition."""

    condition: Inequality
    __test__ = False  # not a test class, whatever pytest thinks of the name


@node
class Input(Node):
    """A buffer given by the caller: `shape` in elements, element type `dtype` (see ops.STORAGE).

    `sorted`: an integer vector whose entries do not decrease. `donated`: an output may be written into its memory.
    """

    name: str
    shape: tuple[Affine, ...]
    dtype: str = "f32"
    sorted: bool = False
    donated: bool = False


@node
class Tensor(Node):
    """A named tensor: `body` over `axes`. `into` names a donated input whose memory it takes."""

    name: str
    axes: tuple[Index, ...]
    body: Scalar
    dtype: str = "f32"
    into: str = ""
    at: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def shape(self) -> tuple[Affine, ...]:
        """Extents in elements, in storage order."""
        return tuple(i.size for i in self.axes)

    def __repr__(self) -> str:
        # by name only: written out, bodies that share tensors grow without bound
        return f"Tensor({self.name}[{', '.join(map(repr, self.axes))}])"


Source: TypeAlias = "Input | Tensor"
Coordinate: TypeAlias = "Affine | Scalar"


@node
class Read(Scalar):
    """The element of `source` at `coordinates`, one for each of its axes."""

    source: Source
    coordinates: tuple[Coordinate, ...]
    at: Span = field(default=NOWHERE, compare=False, repr=False)


@node
class Apply(Scalar):
    """The primitive `op` applied to `args`."""

    op: str
    args: tuple[Scalar, ...]


@node
class Domain(Node):
    """A conjunction: all of `affine` and all of `data` hold. Without conditions: everywhere."""

    affine: tuple[Inequality, ...] = ()
    data: tuple[Scalar, ...] = ()

    @property
    def everywhere(self) -> bool:
        """Whether there is no condition."""
        return not self.affine and not self.data


EVERYWHERE = Domain()


@node
class Reduce(Scalar):
    """Component `part` of the fold of `body` over the points of `indices` where `where` holds.

    `body` has one lift per component of `monoid`. Free: the indices of body and where, less `indices`.
    """

    monoid: Monoid
    indices: tuple[Index, ...]
    where: Domain
    body: tuple[Scalar, ...]
    part: int = 0
    at: Span = field(default=NOWHERE, compare=False, repr=False)


@node
class Scan(Scalar):
    """Component `part` of the fold of `body` over the points 0 ... `index` (inclusive). `index` stays free.

    `chunk`: evaluate by chunks of that many points (within, across, readout); 0: in order.
    """

    monoid: Monoid
    index: Index
    body: tuple[Scalar, ...]
    part: int = 0
    chunk: int = 0
    at: Span = field(default=NOWHERE, compare=False, repr=False)


@node
class StateRef(Scalar):
    """Inside a monoid: a component of the state on `side` ("left", "right" or "self") at `coordinates` of its axes."""

    side: str
    component: str
    type: str = "real"
    coordinates: tuple[Affine, ...] = ()


@node
class Statistic(Scalar):
    """Inside a cascade: a statistic that a follower depends on; `which` is "at", "from" or "to" (see monoid).

    `part`: which of the follower's statistics.
    """

    which: str
    type: str = "real"
    part: int = 0


@dataclass(frozen=True, slots=True)
class Graph:
    """A computation: named inputs and outputs. Tensors between them are found by walking the outputs."""

    name: str
    inputs: tuple[Input, ...]
    outputs: tuple[Tensor, ...]

    def bind(self, **values: int) -> Graph:
        """This graph with symbolic dims replaced by integers.

        Raises BindError for an unknown dim or a value that breaks the dim's declared facts.
        """
        from tang_egg.rewrite import bind_graph

        return bind_graph(self, values)

    def dims(self) -> tuple[Dim, ...]:
        """The symbolic dims, by name."""
        from tang_egg.rewrite import graph_dims

        return graph_dims(self)

    def __str__(self) -> str:
        from tang_egg.text import print_graph

        return print_graph(self)


def const(value: float | int | bool, type: str | None = None) -> Const:
    """A constant; the type follows from the Python value ("real", "i64" or "bool") unless given."""
    if type is None:
        type = "bool" if isinstance(value, bool) else "i64" if isinstance(value, int) else "real"
    return Const(float(value) if type == "real" else value, type)


def apply(op: str, *args: Scalar) -> Scalar:
    """An application, its operand types checked. Raises GraphError when they do not fit."""
    ops.result_type(op, tuple(type_of(a) for a in args))
    return Apply(op, args)


def domain(*conditions: Inequality | Scalar) -> Domain:
    """The conjunction of some conditions; duplicates and order do not matter for affine ones."""
    affine_ones = (c for c in conditions if isinstance(c, (Inequality, Test)))
    forms = dict.fromkeys(c.condition if isinstance(c, Test) else c for c in affine_ones)
    data = dict.fromkeys(c for c in conditions if isinstance(c, Scalar) and not isinstance(c, Test))
    return Domain(tuple(sorted(forms, key=repr)), tuple(data))


def children(s: Scalar) -> tuple[Scalar, ...]:
    """The scalar operands of a node, those in gathered coordinates and domains included; not a read tensor's body."""
    if isinstance(s, Apply):
        return s.args
    if isinstance(s, Read):
        return tuple(c for c in s.coordinates if isinstance(c, Scalar))
    if isinstance(s, Reduce):
        return (*s.where.data, *s.body)
    if isinstance(s, Scan):
        return s.body
    return ()


_T = TypeVar("_T")


def bottom_up(
    below: Callable[[Scalar], Iterable[Scalar]],
) -> Callable[[Callable[[Scalar], _T]], Callable[[Scalar], _T]]:
    """Remembers a function of nodes that asks for its own value `below` them, and computes operands first.

    Expressions may nest deeper than Python's stack allows calls.
    """

    def remember(f: Callable[[Scalar], _T]) -> Callable[[Scalar], _T]:
        known: dict[Scalar, _T] = {}

        @wraps(f)
        def run(s: Scalar) -> _T:
            if s in known:
                return known[s]
            if len(known) > _REMEMBERED:
                known.clear()
            stack = [s]
            while stack:
                pending = [x for x in below(stack[-1]) if x not in known]
                stack.extend(pending)
                if not pending:
                    done = stack.pop()
                    value = known[done] = f(done)
            return value

        return run

    return remember


@bottom_up(lambda s: s.args if isinstance(s, Apply) else ())
def type_of(s: Scalar) -> str:
    """The scalar type of an expression: "real", "bool" or a machine integer."""
    if isinstance(s, (Const, StateRef, Statistic)):
        return s.type
    if isinstance(s, Position):
        return "i64"
    if isinstance(s, Test):
        return "bool"
    if isinstance(s, Read):
        return ops.scalar_type(s.source.dtype)
    if isinstance(s, Apply):
        return ops.result_type(s.op, tuple(type_of(a) for a in s.args))
    if isinstance(s, (Reduce, Scan)):
        return s.monoid.components[s.part].type
    raise GraphError(f"not a scalar: {s!r}", where="type_of", mend="build expressions from the nodes of tang_egg.ir")


@bottom_up(children)
def free(s: Scalar) -> frozenset[Index]:
    """The free indices of an expression. Those of a read are the ones in its coordinates.

    A component of a fold has only those of the lifts it depends on (see Monoid.needs), so that folds joined into one
    pass keep their own sizes. A component with axes of its own keeps them free.
    """
    if isinstance(s, Position):
        return s.form.indices()
    if isinstance(s, Test):
        return s.condition.indices()
    if isinstance(s, Read):
        found: frozenset[Index] = frozenset()
        for c in s.coordinates:
            found |= c.indices() if isinstance(c, Affine) else free(c)
        return found
    if isinstance(s, StateRef):
        return frozenset(i for c in s.coordinates for i in c.indices())
    if isinstance(s, Reduce):
        inner = frozenset(i for c in s.where.affine for i in c.indices())
        for part in s.where.data:
            inner |= free(part)
        return (inner | _free_of_parts(s)) - frozenset(s.indices)
    if isinstance(s, Scan):
        return _free_of_parts(s) | {s.index}
    inner = frozenset()
    for child in children(s):
        inner |= free(child)
    return inner


def _free_of_parts(s: Reduce | Scan) -> frozenset[Index]:
    """Free indices of the lifts that component `part` depends on, and its own axes, which its identity may mention."""
    found: frozenset[Index] = frozenset(s.monoid.components[s.part].axes)
    for k in s.monoid.needs(s.part):
        lift = free(s.body[k])
        found |= lift if k == s.part else lift - frozenset(s.monoid.components[k].axes)
    return found


def walk(*roots: Scalar, into_tensors: bool = False) -> Iterator[Scalar]:
    """Every distinct node below `roots`, operands before users; `into_tensors` also follows reads of tensors."""
    if into_tensors:
        return _walk(roots, True)
    if len(roots) == 1:
        return iter(_WALKED.get(roots[0]) or _walked(roots[0]))
    # what one root shares with an earlier one stands where the earlier one has it
    return iter(dict.fromkeys(chain.from_iterable(_WALKED.get(r) or _walked(r) for r in roots)))


_SHORT = 256
"""Nodes of the longest walk that is remembered: longer ones would take more room than the time is worth."""
_WALKED: dict[Scalar, tuple[Scalar, ...]] = {}


def _walked(root: Scalar) -> Iterable[Scalar]:
    """The nodes below one root; selection asks for those of the same terms over and over."""
    found = _walk((root,), False)
    if root in _WALKED:  # known to be long
        return found
    first = tuple(islice(found, _SHORT + 1))
    if len(_WALKED) >= _REMEMBERED // _SHORT * 16:
        _WALKED.clear()
    _WALKED[root] = first if len(first) <= _SHORT else ()
    return chain(first, found)


def _walk(roots: Sequence[Scalar], into_tensors: bool) -> Iterator[Scalar]:
    seen: set[Scalar] = set()
    stack: list[tuple[Scalar, bool]] = [(r, False) for r in reversed(roots)]
    while stack:
        s, done = stack.pop()
        if done:
            yield s
            continue
        if s in seen:
            continue
        seen.add(s)
        below = children(s)
        if into_tensors and isinstance(s, Read) and isinstance(s.source, Tensor):
            below = (*below, s.source.body)
        if not below:
            yield s
            continue
        stack.append((s, True))
        stack.extend([(c, False) for c in reversed(below)])


def sources(*roots: Scalar) -> tuple[Source, ...]:
    """The inputs and tensors read by some expressions, in order of first use, not looking into the tensors."""
    return tuple(dict.fromkeys(s.source for s in walk(*roots) if isinstance(s, Read)))


def folds(t: Tensor) -> bool:
    """Whether the body of a tensor folds or scans, not looking into the tensors that it reads."""
    return any(isinstance(s, (Reduce, Scan)) for s in walk(t.body))


def tensors_of(outputs: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """All tensors that `outputs` need, themselves included, producers before readers.

    Raises GraphError where one depends on itself, which nodes made by their constructors never do.
    """
    ordered: dict[Tensor, None] = {}
    active: set[Tensor] = set()
    stack: list[tuple[Tensor, bool]] = [(t, False) for t in reversed(list(outputs))]
    while stack:
        t, done = stack.pop()
        if done:
            active.discard(t)
            ordered[t] = None
            continue
        if t in ordered:
            continue
        if t in active:
            raise GraphError(
                f"tensor '{t.name}' depends on itself",
                where=f"tensors {', '.join(sorted(u.name for u in active))}",
                mend="use a fold or a scan for a recurrence",
            )
        active.add(t)
        stack.append((t, True))
        stack.extend((u, False) for u in reversed(sources(t.body)) if isinstance(u, Tensor))
    return tuple(ordered)


def map_children(s: Scalar, f: Callable[[Scalar], Scalar]) -> Scalar:
    """The same node with `f` applied to every operand (gathered coordinates and domains included)."""
    if isinstance(s, Apply):
        args = tuple([f(a) for a in s.args])
        return s if args == s.args else Apply(s.op, args)
    if isinstance(s, Read) and any(isinstance(c, Scalar) for c in s.coordinates):
        return Read(s.source, tuple(f(c) if isinstance(c, Scalar) else c for c in s.coordinates), s.at)
    if isinstance(s, Reduce):
        data, body = tuple([f(d) for d in s.where.data]), tuple([f(b) for b in s.body])
        if data == s.where.data and body == s.body:
            return s
        return Reduce(s.monoid, s.indices, Domain(s.where.affine, data), body, s.part, s.at)
    if isinstance(s, Scan):
        return Scan(s.monoid, s.index, tuple(f(b) for b in s.body), s.part, s.chunk, s.at)
    return s


def as_position(form: AffineLike) -> Scalar:
    """An affine form as an integer scalar."""
    form = affine(form)
    value = form.value
    return Position(form) if value is None else Const(value, "i64")
