"""Folds that keep the few best of their points, each with its position: which order they keep, and keys that have it.

    key  ::=  ordered bits of the value, then last - position         a whole number, larger for the better point

The bits of floats are in their order once negative ones are less their magnitude; -0.0 and 0.0 are both 0. Of equal
values the earlier is better. Where values leave bits of 32 unused (bf16 has 16, f16 13) and the row is short enough,
both share one number of 32 bits, else one of 64. Keys of distinct points differ, and none is `nothing`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tang_egg.affine import Index, affine
from tang_egg.codegen.lower_guard import guarded_entries
from tang_egg.ir import Apply, Const, Position, Read, Reduce, Scalar, StateRef, Test, apply, const, type_of
from tang_egg.monoid import Monoid, argmax_of, argmin_of, replace_state
from tang_egg.monoid_entries import top_k

EXACT = frozenset("neg max min select lt le eq and or not bitand bitor bitxor".split())
"""Operations that give one and the same value wherever they are computed again."""
WHOLE = {"i8": 8, "i16": 16, "i32": 32, "u8": 8, "u16": 16, "u32": 32}
"""Whole numbers that a key can hold, and their bits."""
HALVES = {"bf16": 16, "f16": 19}
"""Leading bits of a float of 32 bits that tell the values of shorter types apart."""
TOP = -(2**31)
"""The sign bit of 32 bits as a number."""


@dataclass(frozen=True, slots=True)
class Order:
    """Which of two values is the better one. `nan`: NaN is better than every number; else it may stand anywhere."""

    largest: bool
    nan: bool


@dataclass(frozen=True, slots=True)
class Ranking:
    """The `count` best points of a fold over one index: entry r of its state is a value and a position."""

    group: Reduce
    count: int
    order: Order

    @property
    def index(self) -> Index:
        return self.group.indices[0]

    @property
    def value(self) -> Scalar:
        """The value of a point."""
        return self.group.body[0]

    @property
    def spare(self) -> int:
        """Bits of 32 that the values leave for a position."""
        kind = type_of(self.value)
        return 32 - (_bits(self.value) if kind == "real" else WHOLE[kind])


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a row that is shared by `seats` lanes, each of which takes `size` points side by side."""

    ranking: Ranking
    seats: int
    size: int

    @property
    def held(self) -> int:
        """The keys of a lane."""
        points = self.ranking.index.size.value
        assert points is not None
        return -(-points // (self.seats * self.size)) * self.size

    @property
    def places(self) -> int:
        """The points that all lanes have room for."""
        return self.seats * self.held

    @property
    def type(self) -> str:
        return "i32" if self.places < 2**self.ranking.spare else "i64"

    @property
    def last(self) -> int:
        """The bits of a key that hold a place: a point has `last` less its position there, and never 0."""
        return 2**self.ranking.spare - 1 if self.type == "i32" else 2**31 - 1

    @property
    def nothing(self) -> int:
        """The key of no point, smaller than those of all points."""
        return TOP if self.type == "i32" else -(2**63)

    def leading(self) -> Scalar:
        """The key of a point but for its place."""
        found = self._ordered(-1 - self.last if self.type == "i32" else -1)
        return found if self.type == "i32" else apply("shl", Apply("cast:i64", (found,)), const(32, "i64"))

    def _ordered(self, kept: int) -> Scalar:
        """The value in the order of whole numbers of 32 bits, of which only those of `kept` are used."""
        x, order = self.ranking.value, self.ranking.order
        if type_of(x) != "real":
            return _whole(x) if order.largest else apply("bitxor", _whole(x), const(kept, "i32"))
        bits, high = Apply("bits:i32", (x,)), const(2**31 - 1, "i32")
        sign = apply("shr", bits, const(31, "i32"))  # 0, or -1 for a negative number: that is less its magnitude
        found = apply("add", apply("bitxor", apply("bitand", bits, high), sign), apply("neg", sign))
        found = found if order.largest else apply("neg", found)
        return apply("select", apply("eq", x, x), found, const(kept & (2**31 - 1), "i32")) if order.nan else found


def ranking_of(group: Reduce) -> Ranking | None:
    """How a fold ranks its points; None where it does not, or keys cannot say how."""
    monoid = group.monoid
    entries = guarded_entries(group)
    count = len(monoid.components) // 2
    if len(group.indices) != 1 or len(monoid.components) < 2 or (entries is None and not _single(monoid)):
        return None
    if entries is not None and entries.width != 2:
        return None
    kinds = tuple(c.type for c in monoid.components[:2])
    order = _order(monoid) if kinds[1] == "i64" and kinds[0] in ("real", *WHOLE) else None
    points = group.indices[0].size.value
    placed = group.body[1] == Position(affine(group.indices[0]))
    if order is None or not placed or not _exact(group.body[0]) or not points or points >= 2**30:
        return None
    return Ranking(group, count, order)


def _single(monoid: Monoid) -> bool:
    """Whether a monoid chooses one of two pairs by one condition."""
    if len(monoid.components) != 2 or any(c.axes or c.follow for c in monoid.components):
        return False
    tests = set[Scalar]()
    for c, s in zip(monoid.components, monoid.combine, strict=True):
        sides = tuple(StateRef(side, c.name, c.type) for side in ("left", "right"))
        if not isinstance(s, Apply) or s.op != "select" or s.args[1:] != sides:
            return False
        tests.add(s.args[0])
    return len(tests) == 1


def _order(monoid: Monoid) -> Order | None:
    """The order by which a monoid chooses its first entry, among those that keys have."""
    kind, known = monoid.components[0].type, _choice(monoid)
    found = {
        _choice(top_k(2, kind)): Order(True, False),
        _choice(argmax_of(kind)): Order(True, kind == "real"),
        _choice(argmin_of(kind)): Order(False, kind == "real"),
    }
    return found.get(known)


def _choice(monoid: Monoid) -> Scalar:
    """The condition under which the left one of two first entries is the better one, in names of its own."""
    names = {c.name: n for c, n in zip(monoid.components[:2], ("value", "position"), strict=True)}
    best = monoid.combine[0]
    assert isinstance(best, Apply)

    def renamed(x: Scalar) -> Scalar | None:
        return StateRef(x.side, names[x.component], x.type) if isinstance(x, StateRef) else None

    return replace_state(best.args[0], renamed)


def _exact(s: Scalar) -> bool:
    """Whether a value that is computed twice is the same both times, to the bit."""
    if isinstance(s, (Const, Position, Test)):
        return True
    if isinstance(s, Read):
        return all(not isinstance(c, Scalar) or _exact(c) for c in s.coordinates)
    if not isinstance(s, Apply):
        return False
    return (s.op in EXACT or s.op.startswith("cast:")) and all(map(_exact, s.args))


def _bits(s: Scalar) -> int:
    """Leading bits that tell the values of an expression apart, each taken as f32."""
    if isinstance(s, Read):
        return HALVES.get(s.source.dtype, 32)
    if isinstance(s, Const):
        held = int(np.float32(s.value).view(np.uint32))
        return next(n for n in (16, 19, 32) if held % 2 ** (32 - n) == 0)
    if isinstance(s, Apply) and s.op == "neg":
        return _bits(s.args[0])
    if isinstance(s, Apply) and s.op in ("max", "min", "select"):
        return max(_bits(a) for a in s.args[s.op == "select" :])
    return HALVES.get(s.op.partition(":")[2], 32) if isinstance(s, Apply) else 32


def _whole(x: Scalar) -> Scalar:
    """A whole number in the leading bits of 32, in the order of signed ones."""
    kind = type_of(x)
    held = Apply("bits:i32", (x,)) if kind == "u32" else x if kind == "i32" else Apply("cast:i32", (x,))
    if WHOLE[kind] < 32:
        held = apply("shl", held, const(32 - WHOLE[kind], "i32"))
    return apply("bitxor", held, const(TOP, "i32")) if kind[0] == "u" else held
