"""States that are ordered lists of entries, best first: `top_k`, and how any monoid of that form is recognised."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tang_egg.ir import Apply, Scalar, StateRef, apply, const, walk
from tang_egg.monoid import Component, Monoid, lowest, replace_state

Entry = tuple[Scalar, ...]
"""The components of one entry of an ordered list, such as a value and its position."""


@dataclass(frozen=True, slots=True)
class Entries:
    """A state that is a list of entries, best first, each of `width` components; combining two merges them."""

    monoid: Monoid
    width: int

    def of(self, side: str) -> list[Entry]:
        """The entries of the state on one side."""
        return _entries(self.monoid.components, self.width, side)

    def precedes(self, a: Entry, b: Entry) -> Scalar:
        """Whether entry `a` comes before entry `b`."""
        return _related(self.monoid.combine[0], self.width, self.of("left")[0], self.of("right")[0], a, b)

    def keeps(self) -> Scalar:
        """Whether the left state stays as it is when the right one, of a single element, is taken up."""
        return self.precedes(self.of("left")[-1], self.of("right")[0])

    def taking(self) -> Monoid:
        """The monoid with a combine that is right where the right state is that of a single element: k comparisons."""
        held, one = self.of("left"), self.of("right")[0]
        combine: list[Scalar] = []
        for r, entry in enumerate(held):
            stays = self.precedes(entry, one)
            moved = _first(self.precedes(held[r - 1], one), one, held[r - 1]) if r else one
            combine += _first(stays, entry, moved)
        m = self.monoid
        return Monoid(f"{m.name}.taking", m.components, tuple(combine), m.identity, frozenset())


@lru_cache(maxsize=1 << 8)
def entries_of(monoid: Monoid) -> Entries | None:
    """How a monoid merges ordered lists of at least two entries; None where its combine is nothing of the kind.

    The order is what the first component is chosen by; the combine is compared with the merge that the order makes.
    """
    best = monoid.combine[0]
    if not isinstance(best, Apply) or best.op != "select" or any(c.axes or c.follow for c in monoid.components):
        return None
    names = {x.component for x in walk(best) if isinstance(x, StateRef)}
    width = len(names)
    count = len(monoid.components)
    if count % width or count < 2 * width or names != {c.name for c in monoid.components[:width]}:
        return None
    if monoid.identity != monoid.identity[:width] * (count // width):
        return None
    found = Entries(monoid, width)
    merged = _merged(found.of("left"), found.of("right"), found.precedes)
    return found if merged == monoid.combine else None


def _entries(components: Sequence[Component], width: int, side: str) -> list[Entry]:
    refs = [StateRef(side, c.name, c.type) for c in components]
    return [tuple(refs[n : n + width]) for n in range(0, len(refs), width)]


def _related(best: Scalar, width: int, left: Entry, right: Entry, a: Entry, b: Entry) -> Scalar:
    """The condition by which `best` chooses between the first entries of both sides, for two other entries."""
    assert isinstance(best, Apply)
    change = dict(zip((*left, *right), (*a, *b), strict=True))
    return replace_state(best.args[0], change.get)


def _first(condition: Scalar, a: Entry, b: Entry) -> Entry:
    return tuple(apply("select", condition, x, y) for x, y in zip(a, b, strict=True))


def _merged(left: list[Entry], right: list[Entry], precedes: Callable[[Entry, Entry], Scalar]) -> tuple[Scalar, ...]:
    """The best of two ordered lists of one length, as a list of that length."""
    combine: list[Scalar] = []
    for r in range(len(left)):
        # Of all ways to take r + 1 elements as two prefixes, the best last element is the r-th of the merged list.
        best = _first(precedes(left[r], right[r]), left[r], right[r])
        for s in range(1, r + 1):
            a, b = left[s - 1], right[r - s]
            last = _first(precedes(a, b), b, a)
            best = _first(precedes(last, best), last, best)
        combine += best
    return tuple(combine)


def top_k(k: int, type: str = "real") -> Monoid:
    """The `k` largest values with their positions, best first; ties go to the smaller position. Commutative.

    Components value0, position0, ..., value{k-1}, position{k-1}. Lift: (x, position, identity...).
    """
    worst, nowhere = const(lowest(type), type), const(2**63 - 1, "i64")

    def precedes(a: Entry, b: Entry) -> Scalar:
        tie = apply("and", apply("eq", a[0], b[0]), apply("le", a[1], b[1]))
        return apply("or", apply("lt", b[0], a[0]), tie)

    components = tuple(c for r in range(k) for c in (Component(f"value{r}", type), Component(f"position{r}", "i64")))
    left, right = (_entries(components, 2, side) for side in ("left", "right"))
    identity: tuple[Scalar, ...] = (worst, nowhere) * k
    combine = _merged(left, right, precedes)
    return Monoid(f"top_k[{k}]", components, combine, identity, frozenset({"commutative"}))
