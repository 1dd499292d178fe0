"""Elementwise code: an expression at one point becomes kernel expressions, each placed as far out as its indices allow.

`value` writes an expression at the point in force. What is used twice, or depends on fewer indices than the code around
it, becomes a Let in the outermost scope where its indices are bound. What stands behind a guard (the branch of a
select, a fold's domain) is moved out only when all its reads are in bounds everywhere.
`prepare` computes ahead of a loop nest what the nest must not compute in place: folds, scans, and costly values that
would be computed once per point of axes that they do not depend on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from math import prod

from tang_egg import ops
from tang_egg.affine import Affine, Index, Inequality, affine
from tang_egg.bounds import prove_nonnegative
from tang_egg.codegen.kernel import Buffer, Call, Expr, Form, Let, Literal, Load, Select, Store, Var, number
from tang_egg.codegen.lower_scope import Axis, Known, Local, Scope, Scopes, never_below_zero
from tang_egg.codegen.vectors import AVX2, Vectors
from tang_egg.ir import (
    Apply,
    Const,
    Input,
    Position,
    Read,
    Reduce,
    Scalar,
    Scan,
    Tensor,
    Test,
    children,
    free,
    sources,
    type_of,
)
from tang_egg.ops_eight import EIGHT
from tang_egg.schedule import Schedule

COSTLY = frozenset({"exp", "log", "tanh", "erf", "sin", "atan2", "sqrt", "recip"})
"""Primitives worth a local array rather than a second evaluation."""

NARROW = frozenset({"bf16", "f16", *EIGHT})
"""Types in which nothing is computed: a local array of one is a copy of what is stored."""

REPEATED = 32
"""Points of the axes that it lacks from which on even a cheap value of a fold is worth a local array."""

UNROLL = 128
"""Points of a nest up to which its outer loops are written out, where registers do not hold more."""


class Values(Scopes):
    """See the module text. Subclasses add `fold` and `scan`."""

    vectors: Vectors = AVX2

    def __init__(self, schedule: Schedule, real: str) -> None:
        super().__init__()
        self.schedule = schedule
        self.real = real
        self.buffers: dict[Input | Tensor, Buffer] = {}
        self.owners: dict[Scalar, set[int]] = {}
        self.stored: list[tuple[Index, ...]] = []
        self._safe: dict[Scalar, bool] = {}
        self._uses: dict[Scalar, int] = {}
        self._anywhere = Input("%", (), "f64")

    def fold(self, s: Reduce) -> Read:
        raise NotImplementedError

    def scan(self, s: Scan) -> Read:
        raise NotImplementedError

    # -- facts about expressions

    def type(self, s: Scalar) -> str:
        """The kernel type of a scalar."""
        t = type_of(s)
        return self.real if t == "real" else t

    def safe(self, s: Scalar) -> bool:
        """Whether every read below `s` is in bounds wherever the indices are in range, guards or not."""
        if s not in self._safe:
            inner = all(self.safe(c) for c in children(s)) or (isinstance(s, Apply) and chosen_reads(s) is not None)
            inner = inner or (not self.schedule.grid and self._chosen_inside(s))
            if inner and isinstance(s, Read) and s.source not in self.locals:
                for c, size in zip(s.coordinates, s.source.shape, strict=True):
                    if isinstance(c, Affine):
                        inner = inner and never_below_zero(c) and never_below_zero(size - 1 - c)
            self._safe[s] = inner
        return self._safe[s]

    def _chosen_inside(self, s: Scalar, given: tuple[Inequality, ...] = ()) -> bool:
        """Whether a choice by position keeps every read below it in bounds wherever `given` holds."""
        if not isinstance(s, Apply) or s.op != "select" or not isinstance(test := s.args[0], Test):
            return False
        other = -test.condition.form - 1 >= 0
        return self._stays_inside(s.args[1], (*given, test.condition)) and self._stays_inside(
            s.args[2], (*given, other)
        )

    def _stays_inside(self, s: Scalar, given: tuple[Inequality, ...]) -> bool:
        """Whether every read below a scalar is in bounds wherever `given` holds."""
        if isinstance(s, Read):
            return s.source in self.locals or _in_bounds(s, given)
        if isinstance(s, (Reduce, Scan)):
            return self.safe(s)
        return self._chosen_inside(s, given) or all(self._stays_inside(c, given) for c in children(s))

    def local_sources(self, s: Scalar) -> list[Local]:
        """The local arrays read below `s`."""
        return [self.locals[x] for x in sources(s) if isinstance(x, Input) and x in self.locals]

    def home(self, s: Scalar) -> Scope:
        """The outermost scope in which `s` can be computed: its indices are bound and its local arrays filled."""
        depth = max((self.depth_of(i) for i in free(s)), default=0)
        for local in self.local_sources(s):
            depth = max(depth, self.scope.depth if local.mutable else local.home)
        return next(x for x in self.scope.chain() if x.depth <= depth)

    def needed_guards(self, s: Scalar) -> tuple[Scalar, ...]:
        """The guards in force that `s` must respect."""
        return () if self.safe(s) else tuple(dict.fromkeys(self.guards))

    # -- expressions at a point

    def evaluate(self, s: Scalar) -> Expr:
        """The kernel expression of `s` at the point in force; shared parts become Lets."""
        return self.evaluate_all([s])[0]

    def evaluate_all(self, roots: Sequence[Scalar]) -> list[Expr]:
        """The same for several expressions that are used together."""
        held = self._uses
        self._uses = {}
        for root in roots:
            self._uses[root] = self._uses.get(root, 0) + 1
        seen: set[Scalar] = set()
        stack = list(roots)
        while stack:
            s = stack.pop()
            if s in seen or isinstance(s, (Reduce, Scan)):
                continue
            seen.add(s)
            for c in children(s):
                self._uses[c] = self._uses.get(c, 0) + 1
                stack.append(c)
        try:
            return [self._value(r) for r in roots]
        finally:
            self._uses = held

    def _value(self, s: Scalar) -> Expr:
        found = self.known("lets", s)
        if found is not None:
            return found  # type: ignore[return-value]
        stored = self.known("arrays", s)
        if isinstance(stored, Read):
            return self._value(stored)
        if isinstance(s, Reduce):
            return self._value(self.fold(s))
        if isinstance(s, Scan):
            return self._value(self.scan(s))
        if isinstance(s, (Const, Position, Test)):
            return self._leaf(s)
        if self.safe(s) or not self.guards:
            home = self.home(s)
            moved = isinstance(s, Apply) and home.out is not self.scope.out
            if moved or self._uses.get(s, 0) > 1:
                with self.at(home):
                    return self._let(s, self._node(s))
        return self._node(s)

    def _let(self, s: Scalar, value: Expr) -> Expr:
        if isinstance(value, (Var, Literal, Form)):
            return value
        name = self.name("t")
        self.scope.out.append(Let(name, value))
        var = Var(name, value.type)
        self.scope.lets.setdefault(s, []).append(Known(var, {i: self.axis(i) for i in free(s)}))
        return var

    def _leaf(self, s: Scalar) -> Expr:
        if isinstance(s, Const):
            return Literal(s.value, self.type(s))
        if isinstance(s, Position):
            return Form(self.position(s.form))
        assert isinstance(s, Test)
        return self.test(self.position(s.condition.form))

    def test(self, form: Affine) -> Expr:
        """Whether a form over variables is at least 0."""
        if form.value is not None:
            return Literal(form.value >= 0, "bool")
        return Call("le", (number(0), Form(form)), "bool")

    def _node(self, s: Scalar) -> Expr:
        if isinstance(s, Read):
            return self._read(s)
        assert isinstance(s, Apply), f"cannot lower {type(s).__name__}"
        if s.op == "select":
            return self._select(s)
        args = tuple(self._value(a) for a in s.args)
        kind, _, target = s.op.partition(":")
        if kind == "cast":
            return self._cast(args[0], target, type_of(s.args[0]))
        if kind == "bits":
            return self._bits(args[0], target)
        return Call(s.op, args, self.type(s))

    def _cast(self, x: Expr, target: str, source: str) -> Expr:
        if target in ops.FLOATS and target != "real":
            wide = x if source == "real" else Call("cast", (x,), self.real)
            if target in ("f64", self.real):
                return wide
            return Call("cast", (Call("cast", (wide,), target),), self.real)
        goal = self.real if target == "real" else target
        return x if x.type == goal else Call("cast", (x,), goal)

    def _bits(self, x: Expr, target: str) -> Expr:
        width = ops.BYTES[target]
        if x.type in ops.FLOATS:
            held = {2: "f16", 4: "f32", 8: "f64"}[width]
            x = x if x.type == held else Call("cast", (x,), held)
        read = Call("bits", (x,), target)
        goal = self.real if target in ops.FLOATS else target
        return read if target == goal else Call("cast", (read,), goal)

    def _select(self, s: Apply) -> Expr:
        condition, yes, no = s.args
        test = self._value(condition)
        if isinstance(test, Literal):
            return self._value(yes if test.value else no)
        with self.guarded(condition):
            first = self._value(yes)
        with self.guarded(Apply("not", (condition,))):
            second = self._value(no)
        return Select(test, first, second, self.type(s))

    def _read(self, s: Read) -> Expr:
        if s.source in self.locals:
            local = self.locals[s.source]
            load = Load(local.buffer, Form(self.local_address(local, s)), local.buffer.type)
            return Call("cast", (load,), self.real) if load.type in NARROW else load  # a copy as it is stored
        buffer = self.buffers[s.source]
        load = Load(buffer, self.address(s.source.shape, s.coordinates), buffer.type, self.safe(s))
        goal = self.real if buffer.type in ops.FLOATS else buffer.type
        return load if buffer.type == goal else Call("cast", (load,), goal)

    def local_address(self, local: Local, s: Read) -> Affine:
        """The flat position in a local array of a read at the point in force."""
        total = affine(0)
        for c, origin, stride in zip(s.coordinates, local.origins, local.strides, strict=True):
            assert isinstance(c, Affine)
            total = total + (self.position(c) - origin) * stride
        return total

    def address(self, shape: tuple[Affine, ...], coordinates: Iterable[Affine | Scalar]) -> Expr:
        """The flat row-major position of some coordinates; gathered ones are clamped into their axis."""
        total, gathered = affine(0), list[Expr]()
        stride = affine(1)
        for c, size in reversed(list(zip(coordinates, shape, strict=True))):
            if isinstance(c, Affine):
                total = total + self.position(c) * stride
            else:
                value = self._value(c)
                if value.type == "u64":  # what has no place among signed numbers is past the end all the same
                    value = Call("min", (value, Literal(2**63 - 1, "u64")), "u64")
                wide = value if value.type == "i64" else Call("cast", (value,), "i64")
                low = Call("max", (Call("min", (wide, Form(size - 1)), "i64"), number(0)), "i64")
                gathered.append(low if stride.value == 1 else Call("mul", (low, Form(stride)), "i64"))
            stride = stride * size
        result: Expr = Form(total)
        for g in gathered:
            result = g if isinstance(result, Form) and result.form.value == 0 else Call("add", (result, g), "i64")
        return result

    # -- nests over block axes

    def contiguous_last(
        self, axes: Sequence[Axis], roots: Iterable[Scalar], folded: Index | None = None
    ) -> list[Axis]:  # fmt: skip
        """The axes with the one last along which most reads (and the outputs) are contiguous: vectors run over it.

        `folded`: an axis that is folded away here, whatever the outputs call theirs.
        """
        score = {a.index: 0.0 for a in axes if a.size % 4 == 0}
        for i in score.keys() - {folded}:
            score[i] = sum(1.5 for t in self.stored if t and t[-1] is i) - sum(0.5 for t in self.stored if i in t[:-1])
        for s in self._reads_in_place(roots):
            for i, near in self._steps(s):
                if i in score:
                    score[i] += 2 if near else -1
        if not score:
            return list(axes)
        best = max(score, key=lambda i: (score[i], [a.index for a in axes].index(i)))
        return [a for a in axes if a.index is not best] + [a for a in axes if a.index is best]

    @contextmanager
    def points(self, axes: Sequence[Axis]) -> Iterator[None]:
        """A loop nest over all points of some block axes; the last axis is the vector one where it fits."""
        count = prod(axis.size for axis in axes)
        lanes = self.vectors.lanes()
        whole = bool(axes) and axes[-1].size % lanes == 0
        most = max(UNROLL, self.vectors.registers * lanes) if whole else UNROLL
        with ExitStack() as stack:
            for n, axis in enumerate(axes):
                kind = "serial"
                if n == len(axes) - 1 and axis.size % 4 == 0:
                    kind = "vector"
                elif count <= most:
                    kind = "unrolled"
                stack.enter_context(self.refine(axis, 1, kind))
            yield

    def _reads_in_place(self, roots: Iterable[Scalar]) -> list[Read]:
        """The reads that code for `roots` will make: what is known already is read from its array."""
        found: dict[Read, None] = {}
        seen: set[Scalar] = set()
        stack = list(roots)
        while stack:
            s = stack.pop()
            if s in seen:
                continue
            seen.add(s)
            stored = self.known("arrays", s)
            if isinstance(stored, Read):
                found[stored] = None
                continue
            if isinstance(s, Read):
                found[s] = None
            stack.extend(children(s))
        return list(found)

    def _steps(self, s: Read) -> Iterator[tuple[Index, bool]]:
        """The indices of a read, and whether it is contiguous along them."""
        local = self.locals.get(s.source) if isinstance(s.source, Input) else None
        for n, c in enumerate(s.coordinates):
            if isinstance(c, Affine):
                last = n == len(s.coordinates) - 1 if local is None else local.strides[n].value == 1
                for i in c.indices():
                    yield i, last and c.coefficient(i).value == 1

    def fill(self, local: Local, axes: Sequence[Axis], s: Scalar) -> None:
        """Stores `s` in a local array over some axes, for all their points."""
        with self.points(axes):
            self.put(local, axes, self.evaluate(s))

    def put(self, local: Local, axes: Sequence[Axis], value: Expr) -> None:
        """Stores a value at the point in force of a local array over some axes."""
        read = Read(self._anywhere, tuple(affine(a.index) for a in axes))
        self.scope.out.append(Store(local.buffer, Form(self.local_address(local, read)), value))

    def keep(self, value: Expr) -> Expr:
        """The value under a name, so that it outlives the stores that follow."""
        if isinstance(value, (Var, Literal, Form)):
            return value
        name = self.name("t")
        self.scope.out.append(Let(name, value))
        return Var(name, value.type)

    # -- what a nest must not compute in place

    def prepare(self, roots: Iterable[Scalar], nest: Sequence[Axis]) -> None:
        """Computes folds and scans below `roots`, and costly values that depend on fewer axes than `nest` has."""
        self._prepare(list(roots), [a.index for a in nest], set())

    def _prepare(self, roots: list[Scalar], nest: list[Index], seen: set[object]) -> None:
        for s in roots:
            key = (s, tuple(self.guards))
            if key in seen or self.known("arrays", s) is not None or self.known("lets", s) is not None:
                continue
            seen.add(key)
            if isinstance(s, Reduce):
                self.fold(s)
                continue
            if isinstance(s, Scan):
                self.scan(s)
                continue
            if isinstance(s, Apply) and s.op == "select":
                self._prepare([s.args[0]], nest, seen)
                with self.guarded(s.args[0]):
                    self._prepare([s.args[1]], nest, seen)
                with self.guarded(Apply("not", (s.args[0],))):
                    self._prepare([s.args[2]], nest, seen)
            else:
                # what is held as a whole needs nothing below it held for the sake of the axes that it lacks
                own = [i for i in nest if i in free(s)] if self._repeated(s, nest) else nest
                self._prepare(list(children(s)), own, seen)
            if self._worth_holding(s, nest) or self._repeated(s, nest):
                self.hold(s)

    def _repeated(self, s: Scalar, nest: Sequence[Index]) -> bool:
        """Whether a nest would make a cheap value again for many points of axes that it lacks.

        That is one of finished folds, or one that is chosen among reads.
        """
        if self.schedule.grid or not isinstance(s, Apply):
            return False
        own = {a.index for a in self.blocks(free(s))}
        lacking = [a for i in nest if i not in own and (a := self.bound(i)) is not None]
        if len(own) < 2 or not own < set(nest) or prod(a.size for a in lacking) < REPEATED:
            return False
        if s.op == "select":
            return chosen_reads(s) is not None
        return self.safe(s) and any(isinstance(x, Reduce) and free(x) & own for x in _shallow(s))

    def _worth_holding(self, s: Scalar, nest: list[Index]) -> bool:
        """A costly value is held when it is needed again, or when the nest would compute it for axes it lacks."""
        if not isinstance(s, Apply) or s.op == "select" or not self.safe(s):
            return False
        own = {a.index for a in self.blocks(free(s))}
        if not own or not any(isinstance(x, Apply) and x.op in COSTLY for x in _shallow(s)):
            return False
        if len(self.owners.get(s, ())) > 1:
            return True
        return s.op in COSTLY and set(nest[: len(own)]) != own and own < set(nest)

    def hold(self, s: Scalar) -> Read:
        """Computes `s` for all points of its block axes into a local array, where its indices are bound."""
        home = self.home(s)
        with self.at(home):
            axes = self.contiguous_last(self.blocks(free(s)), [s])
            local = self.array("v", self.type(s), axes)
            self.fill(local, axes, s)
            read = self.result(local, axes, s)
        return read

    def result(self, local: Local, axes: Sequence[Axis], s: Scalar, also: Iterable[Index] = ()) -> Read:
        """Makes a filled array known, in the scope in force, as the value of `s`."""
        read = Read(self.as_input(local), tuple(affine(a.index) for a in axes))
        bound = {i: a for i in free(s) if i not in also and (a := self.bound(i)) is not None}
        self.scope.arrays.setdefault(s, []).append(Known(read, bound))
        return read


def chosen_reads(s: Apply) -> tuple[Read, ...] | None:
    """The reads among which a select chooses by position, each in bounds where it is chosen; None for anything else."""
    if s.op != "select" or not isinstance(test := s.args[0], Test):
        return None
    reads = tuple(x for x in s.args[1:] if isinstance(x, Read))
    given = (test.condition, -test.condition.form - 1 >= 0)
    return reads if len(reads) == 2 and all(_in_bounds(r, (g,)) for r, g in zip(reads, given, strict=True)) else None


def _in_bounds(s: Read, given: tuple[Inequality, ...]) -> bool:
    """Whether a read at affine coordinates is in bounds wherever `given` holds."""
    return all(
        isinstance(c, Affine) and all(prove_nonnegative(x, given, x.indices()) for x in (c, size - 1 - c))
        for c, size in zip(s.coordinates, s.source.shape, strict=True)
    )


def _shallow(s: Scalar) -> Iterable[Scalar]:
    """`s` and what is below it, without the insides of folds and scans."""
    seen: set[Scalar] = set()
    stack = [s]
    while stack:
        x = stack.pop()
        if x in seen:
            continue
        seen.add(x)
        yield x
        if not isinstance(x, (Reduce, Scan)):
            stack.extend(children(x))
