"""Scopes of the block evaluation: which index is bound where, as one value or as a block, and what is already known.

    axis  ::= Axis(index, start, size, root)   size 1: the index is `start`; else start ... start + size - 1 at once
    scope ::= axes bound by one loop, the statements of its body so far, and the values that are known in it

An index is bound by a loop, then possibly *refined*: a block is cut into smaller blocks and at last into points. A
refinement keeps its `root`, so what was computed for the whole block is found again from each of its points.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tang_egg.affine import Affine, Atom, Dim, Index, affine
from tang_egg.codegen.kernel import Buffer, Call, Declare, Expr, Form, If, Let, Loop, Stmt, variable
from tang_egg.errors import CodegenError
from tang_egg.ir import Input, Read, Scalar

LOCAL_LIMIT = 32 * 1024
"""Bytes above which a local array is taken from the caller's workspace instead of the stack."""


@dataclass(slots=True, eq=False)
class Axis:
    """How an index is bound. `start` is a form over variables; `whole` says that the block is the full axis."""

    index: Index
    start: Affine
    size: int = 1
    root: Axis | None = None

    @property
    def origin(self) -> Axis:
        return self.root or self

    @property
    def block(self) -> bool:
        return self.size != 1

    @property
    def whole(self) -> bool:
        return self.root is None and self.start.value == 0 and self.index.size.value == self.size


@dataclass(frozen=True, slots=True)
class Local:
    """A buffer read by coordinates: element (c0, c1, ...) is at offset + Σ (c_n - origin_n) · stride_n."""

    buffer: Buffer
    origins: tuple[Affine, ...]
    strides: tuple[Affine, ...]
    home: int = 0
    mutable: bool = False


@dataclass(slots=True, eq=False)
class Known:
    """A value that need not be computed again while the axes and guards it was computed under are still in force."""

    value: Read | Expr
    axes: dict[Index, Axis]
    guards: frozenset[Scalar] = frozenset()


@dataclass(slots=True, eq=False)
class Scope:
    """The body of one loop (or branch) under construction."""

    parent: Scope | None
    depth: int
    axes: dict[Index, Axis] = field(default_factory=dict)
    out: list[Stmt] = field(default_factory=list)
    arrays: dict[Scalar, list[Known]] = field(default_factory=dict)
    lets: dict[Scalar, list[Known]] = field(default_factory=dict)

    def chain(self) -> Iterator[Scope]:
        """This scope and those around it, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


class Scopes:
    """The scope in force, names, local arrays, and the guards under which code is being written."""

    def __init__(self) -> None:
        self.scope = Scope(None, 0)
        self.names: dict[str, int] = {}
        self.locals: dict[Input, Local] = {}
        self.scratch: list[Buffer] = []
        self.guards: list[Scalar] = []
        self.loops: dict[Axis, Affine] = {}

    # -- names and arrays

    def name(self, stem: str) -> str:
        """A name that no variable of this kernel has yet."""
        stem = stem.replace("~", "_")
        n = self.names.get(stem, 0)
        self.names[stem] = n + 1
        return stem if n == 0 else self.name(f"{stem}_{n}")

    def array(self, stem: str, type: str, axes: Iterable[Axis], extents: tuple[Affine, ...] | None = None) -> Local:
        """Declares a local array over some axes, the last one contiguous, in the scope in force."""
        axes = tuple(axes)
        sizes = extents if extents is not None else tuple(affine(a.size) for a in axes)
        strides: list[Affine] = []
        total = affine(1)
        for size in reversed(sizes):
            strides.insert(0, total)
            total = total * size
        small = total.value is not None and total.value * 8 <= LOCAL_LIMIT
        buffer = Buffer(self.name(stem), type, "local" if small else "scratch", total)
        if not small:
            self.scratch.append(buffer)
        self.scope.out.append(Declare(buffer))
        return Local(buffer, tuple(a.start for a in axes), tuple(strides), self.scope.depth)

    def as_input(self, local: Local, stem: str = "") -> Input:
        """A stand-in for a local array, so that expressions can read it like any tensor."""
        self.names["%"] = number = self.names.get("%", 0) + 1
        source = Input(f"%{stem or local.buffer.name}.{number}.{id(self)}", (), local.buffer.type)
        self.locals[source] = local
        return source

    # -- axes

    def axis(self, index: Index) -> Axis:
        """The binding of an index in force. Raises CodegenError when there is none."""
        for scope in self.scope.chain():
            if index in scope.axes:
                return scope.axes[index]
        raise CodegenError(
            f"index '{index.name}' is not bound", where="lowering a kernel", mend="report this: a fold lost its loop"
        )

    def bound(self, index: Index) -> Axis | None:
        """The binding of an index in force, or None."""
        return next((s.axes[index] for s in self.scope.chain() if index in s.axes), None)

    def depth_of(self, index: Index) -> int:
        """The depth of the scope that binds an index, 0 where nothing does."""
        return next((s.depth for s in self.scope.chain() if index in s.axes), 0)

    def blocks(self, indices: Iterable[Index]) -> list[Axis]:
        """The block axes among some indices, those bound first coming first."""
        found = [
            (self.depth_of(i), n, a) for n, i in enumerate(self._ordered(indices)) if (a := self.bound(i)) and a.block
        ]
        return [a for _, _, a in sorted(found, key=lambda t: t[:2])]

    def _ordered(self, indices: Iterable[Index]) -> list[Index]:
        wanted = set(indices)
        order: list[Index] = []
        for scope in reversed(list(self.scope.chain())):
            order += [i for i in scope.axes if i in wanted and i not in order]
        return order

    def position(self, form: Affine) -> Affine:
        """An affine form over indices as a form over variables. Every index must be a point here."""
        swap: dict[Atom, Affine] = {}
        for i in form.indices():
            axis = self.axis(i)
            assert not axis.block, f"{i.name} is a block, not a point"
            swap[i] = axis.start
        return form.substitute(dict(swap))

    # -- entering scopes

    @contextmanager
    def inside(self, *axes: Axis, out: list[Stmt] | None = None) -> Iterator[Scope]:
        """A scope with further axes; without `out` its statements join those around it."""
        outer = self.scope
        self.scope = Scope(outer, outer.depth + 1, {a.index: a for a in axes}, outer.out if out is None else out)
        try:
            yield self.scope
        finally:
            self.scope = outer

    @contextmanager
    def at(self, scope: Scope) -> Iterator[None]:
        """Writes into an outer scope for a while."""
        held = self.scope
        self.scope = scope
        try:
            yield
        finally:
            self.scope = held

    @contextmanager
    def loop(
        self, index: Index, start: Expr, stop: Expr, step: int = 1, kind: str = "serial", size: int = 1,
        work: Affine | None = None, last: Affine | None = None,
    ) -> Iterator[Axis]:  # fmt: skip
        """A loop that binds an index to a point, or to a block of `size` points that starts at `last` at the latest."""
        var = self.name(index.name)
        axis = Axis(index, variable(var), size)
        body: list[Stmt] = []
        if last is not None:
            moved = self.name(f"{index.name}_at")
            axis = Axis(index, variable(moved), size)
            body.append(Let(moved, Call("min", (Form(variable(var)), Form(last)), "i64")))
        self.loops[axis] = variable(var)
        head = len(body)
        with self.inside(axis, out=body):
            yield axis
        if len(body) > head:
            self.scope.out.append(Loop(var, start, stop, step, kind, tuple(body), work))

    def loop_form(self, axis: Axis) -> Affine:
        """The variable of the loop that binds an axis: its start, unless the last block was moved back."""
        return self.loops[axis]

    @contextmanager
    def refine(self, axis: Axis, size: int = 1, kind: str = "serial") -> Iterator[Axis]:
        """A loop over the sub-blocks (or points) of a block."""
        if size == axis.size:
            with self.inside():
                yield axis
            return
        var = self.name(f"{axis.index.name}_{'b' if size > 1 else 'e'}")
        part = Axis(axis.index, axis.start + Dim(var), size, axis.origin)
        body: list[Stmt] = []
        with self.inside(part, out=body):
            yield part
        if body:
            stop = Form(affine(axis.size))
            self.scope.out.append(Loop(var, Form(affine(0)), stop, size, kind, tuple(body)))

    @contextmanager
    def branch(self, condition: Expr | None) -> Iterator[None]:
        """A branch that is taken where the condition holds; without one, nothing changes."""
        if condition is None:
            yield
            return
        body: list[Stmt] = []
        with self.inside(out=body):
            yield
        if body:
            self.scope.out.append(If(condition, tuple(body)))

    @contextmanager
    def guarded(self, *conditions: Scalar) -> Iterator[None]:
        """Code that runs only where some conditions hold: what is moved out of it has to respect them."""
        self.guards += conditions
        try:
            yield
        finally:
            del self.guards[len(self.guards) - len(conditions) :]

    # -- known values

    def known(self, table: str, s: Scalar) -> Read | Expr | None:
        """The value of `s` found in the scopes in force, if it was computed under the same axes and no other guards."""
        for scope in self.scope.chain():
            for entry in getattr(scope, table).get(s, ()):
                if entry.guards.issubset(self.guards) and all(self._same(table, i, a) for i, a in entry.axes.items()):
                    return entry.value  # type: ignore[no-any-return]
        return None

    def _same(self, table: str, i: Index, axis: Axis) -> bool:
        current = self.bound(i)
        if current is None:
            return False
        return current is axis if table == "lets" else current.origin is axis.origin


def never_below_zero(form: Affine) -> bool:
    """Whether an affine form is at least 0 for all values of its indices and dims, as far as is cheap to tell."""
    total = affine(form)
    for i in form.indices():
        factor = form.coefficient(i)
        coefficients = [c for _, c in factor.terms]
        if all(c >= 0 for c in coefficients):
            total = total.substitute({i: 0})
        elif all(c <= 0 for c in coefficients):
            total = total.substitute({i: i.size - 1})
        else:
            return False
    return all(c >= 0 for _, c in total.terms)
