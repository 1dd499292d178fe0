"""Which tiles of a stream are live for a tile of rows, and which of them need no mask.

A condition a·k + b·i + r >= 0 with a = ±1 bounds k from one side by a form that is monotone in the row i. Over the rows
of a tile its weakest value bounds what is live at all, its strictest one what is live for every row. Tiles outside the
first range are never visited, tiles inside the second are not masked. Any other condition is tested at every element.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tang_egg.affine import Affine, AffineLike, Atom, Index, affine
from tang_egg.codegen.kernel import Call, Expr, Form, Literal, number
from tang_egg.codegen.writer import Writer
from tang_egg.ir import Domain


@dataclass(frozen=True, slots=True)
class Bound:
    """k >= form (lower) or k <= form; `row`: the coefficient of the row index in it."""

    lower: bool
    form: Affine
    row: int


@dataclass(frozen=True, slots=True)
class Live:
    """The conditions of a fold, sorted: bounds of the streamed index, and whether others must be tested everywhere."""

    bounds: tuple[Bound, ...]
    everywhere: bool
    ragged: bool
    tile: int
    rows: int
    stream: Index
    row: Index

    @property
    def masked(self) -> bool:
        """Whether some element of some tile may have to be masked."""
        return bool(self.bounds) or self.everywhere or self.ragged

    def moves(self) -> bool:
        """Whether tiles of rows differ in how many tiles of the stream are live."""
        return any(b.row for b in self.bounds)

    def only_last(self) -> bool:
        """Whether at most the last live tile of any tile of rows needs a mask: known for constant sizes only."""
        if self.everywhere or any(b.lower for b in self.bounds):
            return False
        if not self.bounds:
            return True
        size, count = self.stream.size.value, self.row.size.value
        if size is None or count is None:
            return False
        for start in range(0, count, self.rows):
            end = min(start + self.rows, count) - 1
            weak = [self._at(b, start if b.row < 0 else end) for b in self.bounds]
            strict = [self._at(b, start if b.row > 0 else start + self.rows - 1) for b in self.bounds]
            if None in weak or None in strict:
                return False
            last = max(0, min(size - 1, *(x for x in weak if x is not None))) // self.tile
            if min(x for x in strict if x is not None) < last * self.tile - 1:
                return False
        return True

    def visited(self) -> float:
        """Points of visited tiles, the average over tiles of rows; the whole stream where bounds are not known, 0 where
        sizes are not."""
        size, count = self.stream.size.value, self.row.size.value
        if size is None or count is None:
            return 0.0
        if not count or any(self._at(b, 0) is None for b in self.bounds):
            return float(size)
        total, starts = 0, range(0, count, self.rows * max(1, count // self.rows // 64))
        for start in starts:
            end = min(start + self.rows, count) - 1
            low, high = 0, size - 1
            for b in self.bounds:
                weak = self._at(b, end if (b.row > 0) != b.lower else start) or 0
                low, high = (max(low, weak), high) if b.lower else (low, min(high, weak))
            total += max(1, high // self.tile - low // self.tile + 1) * self.tile
        return total / len(starts)

    def _at(self, b: Bound, i: int) -> int | None:
        return b.form.substitute({self.row: i}).value


def live(where: Domain, stream: Index, row: Index, tile: int, rows: int) -> Live:
    """Sorts the conditions of a fold over `stream` for tiles of `tile` points and `rows` rows."""
    bounds: list[Bound] = []
    everywhere = bool(where.data)
    for c in where.affine:
        a = c.form.coefficient(stream).value
        b = c.form.coefficient(row).value
        if a not in (1, -1) or b is None:
            everywhere = True
            continue
        rest = c.form - a * affine(stream)
        bounds.append(Bound(a == 1, -rest if a == 1 else rest, -b if a == 1 else b))
    size = stream.size.value
    ragged = size is None or size % tile != 0
    return Live(tuple(bounds), everywhere, ragged, tile, rows, stream, row)


@dataclass(frozen=True, slots=True)
class Range:
    """The live tiles of a tile of rows, visited from last to first: step s is tile first + count - 1 - s.

    `low`, `high`: what is live for every row lies between them. Steps `full` (from, to) need no mask.
    """

    first: Affine
    count: Affine
    low: Affine | None
    high: Affine | None
    full: tuple[Affine, Affine]


def over(fixed: Mapping[Index, Affine], index: Index, value: Affine) -> dict[Atom, AffineLike]:
    """A substitution of indices, with one more."""
    return {**dict(fixed.items()), index: value}


def tile_range(w: Writer, found: Live, fixed: Mapping[Index, Affine], start: Affine) -> Range:
    """Writes the computation of the live range for the tile of rows that begins at `start`; at least one tile."""

    def at(b: Bound, end: bool) -> Expr:
        i: Expr = Form(start + (found.rows - 1)) if end else Form(start)
        if end:
            i = Call("min", (i, Form(found.row.size - 1)), "i64")
        place = w.integer("end", i) if end else start
        return Form(b.form.substitute(over(fixed, found.row, place)))

    size = found.stream.size
    weak_low: Expr = number(0)
    weak_high: Expr = Form(size - 1)
    low: Expr | None = None
    high: Expr | None = Form(size - 1) if found.ragged else None
    for b in found.bounds:
        weak, strict = at(b, b.row > 0 if not b.lower else b.row < 0), at(b, b.row < 0 if not b.lower else b.row > 0)
        if b.lower:
            weak_low = Call("max", (weak_low, weak), "i64")
            low = strict if low is None else Call("max", (low, strict), "i64")
        else:
            weak_high = Call("min", (weak_high, weak), "i64")
            high = strict if high is None else Call("min", (high, strict), "i64")
    tiles = w.integer("tiles", divided(size + (found.tile - 1), found.tile))
    first_of: Expr = number(0)
    if any(b.lower for b in found.bounds):
        first_of = Call("min", (Call("udiv", (weak_low, number(found.tile)), "i64"), Form(tiles - 1)), "i64")
    first = w.integer("first", first_of)
    if found.bounds:
        clipped = Call("max", (weak_high, number(0)), "i64") if weak_high != Form(size - 1) else weak_high
        last = Call("udiv", (clipped, number(found.tile)), "i64")
        span = w.integer("last", last) - first + 1
        count = w.integer("count", Call("max", (Form(span), number(1)), "i64"))
    else:
        count = tiles
    lowest = w.integer("low", low) if low is not None else None
    highest = w.integer("high", high) if high is not None else None
    return Range(first, count, lowest, highest, _full(w, found, first, count, lowest, highest))


def _full(
    w: Writer, found: Live, first: Affine, count: Affine, low: Affine | None, high: Affine | None
) -> tuple[Affine, Affine]:
    """The steps that need no mask: below the tiles that reach past `high`, above those that begin before `low`."""
    if found.everywhere:
        return count, count
    start, stop = affine(0), count
    if high is not None:
        below = Call("udiv", (Call("max", (Form(high + 1), number(0)), "i64"), number(found.tile)), "i64")
        above = first + count - w.integer("below", below)
        start = w.integer("masked", _between(Form(above), number(0), Form(count)))
    if low is not None:
        raised = Call("max", (Form(low + (found.tile - 1)), number(0)), "i64")
        under = w.integer("under", Call("udiv", (raised, number(found.tile)), "i64"))
        stop = w.integer("full", _between(Form(first + count - under), Form(start), Form(count)))
    return start, stop


def _between(x: Expr, low: Expr, high: Expr) -> Expr:
    if all(isinstance(e, Form) and e.form.value is not None for e in (x, low, high)):
        a, b, c = (e.form.value or 0 for e in (x, low, high) if isinstance(e, Form))
        return number(min(max(a, b), c))
    return Call("min", (Call("max", (x, low), "i64"), high), "i64")


def needs_mask(found: Live, r: Range, k: Affine) -> Expr:
    """Whether the tile that begins at `k` has elements that may be outside."""
    if found.everywhere:
        return Literal(True, "bool")
    tests: list[Expr] = []
    if r.low is not None:
        tests.append(Call("lt", (Form(k), Form(r.low)), "bool"))
    if r.high is not None:
        tests.append(Call("lt", (Form(r.high), Form(k + (found.tile - 1))), "bool"))
    total: Expr = Literal(False, "bool")
    for t in tests:
        total = t if isinstance(total, Literal) else Call("or", (total, t), "bool")
    return total


def divided(form: Affine, by: int) -> Expr:
    """form / by, rounded down, for a form that is not negative."""
    value = form.value
    if value is not None:
        return number(value // by)
    return Call("udiv", (Form(form), number(by)), "i64")
