"""What a kernel is certain to read and to fold, found in its terms.

A read is certain where nothing that data decides could spare it: not in one branch of a select on data, not under a
fold whose domain data limits, nor under one that may stop early (any, all), nor under `and` and `or`. Affine conditions
stand beside each read and fold; they limit its points. Every index gets a name of its own, so that an index that is
bound again inside runs anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import TypeAlias

from tang_egg import ops
from tang_egg.affine import Affine, Index, Inequality
from tang_egg.cost.floor_count import Condition
from tang_egg.errors import BindError
from tang_egg.ir import Apply, Position, Read, Reduce, Scalar, Scan, Source, Tensor, Test, children, free, walk

Env: TypeAlias = "Mapping[Index, str]"

BIT = Fraction(1, 8)
"""Bytes of one bit: what a truth value, or what is left of an integer, may be held in."""

_NARROWING = frozenset("lt le eq and or not bitand bitor bitxor shr idiv imod".split())


@dataclass(frozen=True, slots=True)
class Coordinate:
    """Σ c_d · d + constant; or a value that is data, which depends on `gathers`."""

    terms: tuple[tuple[str, int], ...]
    constant: int = 0
    gathers: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Access:
    """A certain read of `source`, made at all points where `conditions` hold.

    `held`: bytes in which one element may be held, less than its storage where it is only used in a narrower form.
    """

    source: Source
    coordinates: tuple[Coordinate, ...]
    conditions: frozenset[Condition]
    held: Fraction

    @property
    def bytes(self) -> int:
        """Bytes of one element in memory."""
        return ops.BYTES[self.source.dtype]

    @property
    def rows(self) -> tuple[dict[str, int], ...]:
        """The affine coordinates, without offsets."""
        return tuple(dict(c.terms) for c in self.coordinates if c.gathers is None)

    @property
    def gathered(self) -> frozenset[str]:
        """The dims that coordinates depend on which are data."""
        return frozenset[str]().union(*(c.gathers for c in self.coordinates if c.gathers))

    @property
    def dims(self) -> frozenset[str]:
        """All dims that the place depends on."""
        return self.gathered.union(*(r for r in self.rows))

    def narrowed(self, width: Fraction) -> Access:
        """The same where only a form of `width` bytes is used."""
        return Access(self.source, self.coordinates, self.conditions, min(self.held, width))


@dataclass(frozen=True, slots=True)
class Chosen:
    """A domain that data decides: at least `points` tuples of `dims` are live.

    `fixed`: dims of which there is one value at most for each value of the others it stands with.
    """

    points: int
    dims: frozenset[str]
    fixed: tuple[tuple[str, frozenset[str]], ...] = ()

    def at_least(self, seen: frozenset[str], sizes: Mapping[str, int]) -> int:
        """The fewest live tuples of the dims in `seen` among these."""
        gone = self.dims - seen
        free = [d for d in gone if not any(d == f and needs <= seen for f, needs in self.fixed)]
        return -(-self.points // max(1, prod(sizes[d] for d in free)))


@dataclass(frozen=True, slots=True)
class Fold:
    """One component of a fold that is certain to be made: its dims, those of its result, and what each point reads.

    `alike`: groups of reads that meet in a value which lacks some of the dims, and may be held as that value. `inner`:
    the folds whose results a point takes. `own`: the conditions of the fold itself. `depth`: folds around it. `shared`:
    whether points differ by dims that decide only who takes part, so that folds of several results may be shared.
    `chosen`: where data decides and the caller knows how many points are live, what is known (else None).
    """

    node: Reduce
    component: int
    dims: frozenset[str]
    result: frozenset[str]
    conditions: frozenset[Condition]
    accesses: frozenset[Access]
    alike: tuple[frozenset[Access], ...]
    inner: tuple[Reduce, ...]
    own: frozenset[Condition]
    depth: int
    chosen: Chosen | None = None
    shared: bool = False

    @property
    def folded(self) -> frozenset[str]:
        """The dims that are folded over."""
        return self.dims - self.result


@dataclass(slots=True)
class Reader:
    """Collects the reads and folds of one body after another; `sizes` has the size of every dim."""

    known: Mapping[str, int] = field(default_factory=dict)
    """The fewest live points of folds over the index of a name, where data decides."""
    sizes: dict[str, int] = field(default_factory=dict)
    folds: dict[object, Fold] = field(default_factory=dict)
    _seen: dict[object, frozenset[Access]] = field(default_factory=dict)
    _dims: dict[object, Env] = field(default_factory=dict)

    def bind(self, i: Index) -> str:
        """A new dim for an index. Raises BindError where its size is not a number."""
        name, n = i.name, 1
        while name in self.sizes:
            n += 1
            name = f"{i.name}.{n}"
        self.sizes[name] = size_of(i)
        return name

    def tensor(self, t: Tensor, env: Env) -> frozenset[Access]:
        """The certain reads of a tensor whose axes are dims already."""
        return self._visit(t.body, env, frozenset(), True, 0)

    def _visit(self, s: Scalar, env: Env, where: frozenset[Condition], sure: bool, depth: int) -> frozenset[Access]:
        own = tuple(sorted((i.name, env[i]) for i in free(s) if i in env))
        key = (s, own, where, sure, depth)
        if key not in self._seen:
            self._seen[key] = self._found(s, env, where, sure, depth)
        return self._seen[key]

    def _found(self, s: Scalar, env: Env, where: frozenset[Condition], sure: bool, depth: int) -> frozenset[Access]:
        if isinstance(s, Read):
            return self._read(s, env, where, sure, depth)
        if isinstance(s, (Reduce, Scan)):
            return self._fold(s, env, where, sure, depth)
        if isinstance(s, Apply):
            if s.op == "select":
                return self._select(s, env, where, sure, depth)
            if s.op in ("and", "or"):  # either side may decide alone
                a, b = (self._visit(x, env, where, False, depth) for x in s.args)
                return frozenset(x.narrowed(BIT) for x in a & b)
        found = frozenset[Access]().union(*(self._visit(c, env, where, sure, depth) for c in children(s)))
        width = _width(s)
        return found if width is None else frozenset(x.narrowed(width) for x in found)

    def _read(self, s: Read, env: Env, where: frozenset[Condition], sure: bool, depth: int) -> frozenset[Access]:
        found: set[Access] = set()
        at: list[Coordinate] = []
        for c in s.coordinates:
            if isinstance(c, Affine):
                at.append(_form(c, env))
            else:
                found |= self._visit(c, env, where, sure, depth)
                at.append(Coordinate((), 0, frozenset(env[i] for i in free(c) if i in env)))
        held = Fraction(ops.BYTES[s.source.dtype])
        return frozenset(found) | {Access(s.source, tuple(at), where, held)}

    def _select(self, s: Apply, env: Env, where: frozenset[Condition], sure: bool, depth: int) -> frozenset[Access]:
        test, yes, no = s.args
        found = self._visit(test, env, where, sure, depth)
        holds, fails = _decided(test, env)
        branches = []
        for branch, more in ((yes, holds), (no, fails)):
            if more is None:
                branches.append((self._visit(branch, env, where, False, depth), False))
            else:
                branches.append((self._visit(branch, env, where | more, sure, depth), True))
        (a, sure_a), (b, sure_b) = branches
        found |= (a if sure_a else frozenset()) | (b if sure_b else frozenset())
        return found if sure_a or sure_b else found | (a & b)

    def _fold(
        self, s: Reduce | Scan, env: Env, where: frozenset[Condition], sure: bool, depth: int
    ) -> frozenset[Access]:
        bound = s.indices if isinstance(s, Reduce) else (s.index,)
        fresh = self._fresh(s, env) if isinstance(s, Reduce) else {}
        inside = {**env, **fresh}
        own = frozenset(_condition(c, inside) for c in s.where.affine) if isinstance(s, Reduce) else frozenset()
        if any(self.sizes[d] == 0 for d in fresh.values()):
            own |= {Condition((), -1)}  # no point is live
        data = bool(s.where.data) if isinstance(s, Reduce) else False
        known = next((self.known[i.name] for i in bound if i.name in self.known), None) if data else None
        certain = sure and (not data or known is not None)
        found: frozenset[Access] = frozenset()
        for k in sorted(s.monoid.needs(s.part)):
            axes = {i: self.bind(i) for i in s.monoid.components[k].axes if i not in inside}
            early = s.monoid.components[k].type == "bool"  # a fold of truth values may stop at the first that decides
            reads = self._visit(s.body[k], {**inside, **axes}, where | own, certain and not early, depth + 1)
            if not data and not early:
                found |= reads
            if certain and not early and isinstance(s, Reduce):
                self._note(s, k, {**inside, **axes}, frozenset(fresh.values()), where, own, reads, depth, known)
        return found

    def _fresh(self, s: Reduce, env: Env) -> Env:
        """Dims for the indices of a fold, the same for all its parts and places that mean the same points."""
        inside = frozenset[Index]().union(*(free(x) for x in (*s.body, *s.where.data)))
        key = (s.monoid, s.indices, s.where, s.body, tuple(sorted((i.name, env[i]) for i in inside if i in env)))
        if key not in self._dims:
            self._dims[key] = {i: self.bind(i) for i in s.indices}
        return self._dims[key]

    def _note(
        self,
        s: Reduce,
        k: int,
        env: Env,
        fresh: frozenset[str],
        where: frozenset[Condition],
        own: frozenset[Condition],
        reads: frozenset[Access],
        depth: int,
        known: int | None,
    ) -> None:
        body = frozenset(env[i] for i in free(s.body[k]) if i in env)
        inside = body.union(*(c.dims for c in own))
        decided = fresh if known is not None else frozenset[str]()
        for d in s.where.data:
            decided |= frozenset(env[i] for i in free(d) if i in env)
        dims = inside | decided
        key = (s.monoid, s.indices, s.where, s.body, k, tuple(sorted(dims)), where)
        if key in self.folds:
            return
        chosen = None
        if known is not None:
            chosen = Chosen(known, decided, tuple(f for d in s.where.data for f in _fixed(d, env)))
        alike = tuple(_alike(s.body[k], env, dims, self, where | own))
        inner = tuple(outermost_folds(s.body[k]))
        self.folds[key] = Fold(
            s, k, dims, dims - fresh, where | own, reads, alike, inner, own, depth, chosen, dims != body
        )


def _fixed(condition: Scalar, env: Env) -> list[tuple[str, frozenset[str]]]:
    """The dims that an equality with a value which does not depend on them fixes."""
    if not isinstance(condition, Apply) or condition.op != "eq":
        return []
    found = []
    for a, b in (condition.args, condition.args[::-1]):
        if isinstance(a, Position) and a.form.single() in env and a.form.single() not in free(b):
            (i,) = a.form.indices()
            found.append((env[i], frozenset(env[x] for x in free(b) if x in env)))
    return found


def size_of(i: Index) -> int:
    """The number of points of an index. Raises BindError where it is no number yet."""
    return number_of(i.size, f"index '{i.name}'")


def number_of(size: Affine, what: str) -> int:
    """A size as a number, never below 0. Raises BindError, naming `what` has it, where it is no number yet."""
    n = size.value
    if n is None:
        dims = sorted(d.name for d in size.dims())
        raise BindError(
            f"the size of {what} is no number: {size}",
            where="a floor on traffic",
            mend=f"bind it first: graph.bind({', '.join(f'{d}=...' for d in dims)})",
        )
    return max(n, 0)


def _form(form: Affine, env: Env) -> Coordinate:
    terms: dict[str, int] = {}
    for i in form.indices():
        c = form.coefficient(i).value
        if c is None or i not in env:
            raise BindError(
                f"the coordinate {form} has a stride that is no number" if c is None else f"'{i.name}' is not bound",
                where="a floor on traffic",
                mend="bind the dims of the graph to numbers first: graph.bind(...)",
            )
        terms[env[i]] = terms.get(env[i], 0) + c
    return Coordinate(tuple(sorted((d, c) for d, c in terms.items() if c)), form.constant)


def _condition(c: Inequality, env: Env, negated: bool = False) -> Condition:
    at = _form(c.form, env)
    if negated:
        return Condition(tuple((d, -k) for d, k in at.terms), -at.constant - 1)
    return Condition(at.terms, at.constant)


def _decided(test: Scalar, env: Env) -> tuple[frozenset[Condition] | None, frozenset[Condition] | None]:
    """Affine conditions under which a test certainly holds, and under which it fails; None where data has a say."""
    if isinstance(test, Test):
        return frozenset({_condition(test.condition, env)}), frozenset({_condition(test.condition, env, True)})
    if isinstance(test, Apply) and test.op == "not":
        holds, fails = _decided(test.args[0], env)
        return fails, holds
    if isinstance(test, Apply) and test.op in ("and", "or"):
        (a, not_a), (b, not_b) = (_decided(x, env) for x in test.args)
        if test.op == "and":
            return (a | b if a is not None and b is not None else None), None
        return None, (not_a | not_b if not_a is not None and not_b is not None else None)
    return None, None


def _width(s: Scalar) -> Fraction | None:
    """Bytes in which the value of an operation may be held, where that may be less than its operands take."""
    if isinstance(s, Apply):
        if s.op in _NARROWING:
            return BIT
        kind, _, target = s.op.partition(":")
        if kind == "cast" and target in ops.BYTES:
            return BIT if target == "bool" else Fraction(ops.BYTES[target])
    return None


def narrowest(body: Scalar, node: Reduce) -> Fraction | None:
    """Bytes in which the result of a fold may be held for what a body makes of it; None where it is used as it is."""
    above: dict[Scalar, bool] = {}
    found: Fraction | None = None
    for s in walk(body):
        above[s] = s is node or any(above[c] for c in children(s))
        width = _width(s) if above[s] else None
        found = width if found is None else found if width is None else min(found, width)
    return found


def outermost_folds(body: Scalar, *, coordinates: bool = True) -> list[Reduce]:
    """The folds of an expression that stand in no other fold; `coordinates`: those in coordinates of reads too."""
    found: list[Reduce] = []
    stack, seen = [body], set[Scalar]()
    while stack:
        s = stack.pop()
        if s in seen:
            continue
        seen.add(s)
        if isinstance(s, Reduce):
            found.append(s)
        elif coordinates or not isinstance(s, Read):
            stack.extend(children(s))
    return found


def _alike(
    s: Scalar, env: Env, dims: frozenset[str], reader: Reader, where: frozenset[Condition]
) -> list[frozenset[Access]]:
    """The reads of each largest value in an expression that depends on some of the dims only."""
    found: list[frozenset[Access]] = []
    stack, seen = [s], set[Scalar]()
    while stack:
        x = stack.pop()
        if x in seen or isinstance(x, (Reduce, Scan)):
            continue
        seen.add(x)
        if isinstance(x, Apply) and dims - {env[i] for i in free(x) if i in env}:
            reads = reader._visit(x, env, where, False, 0)
            if len(reads) > 1:
                found.append(reads)
            continue
        stack.extend(children(x))
    return found
