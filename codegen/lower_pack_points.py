"""Rows and columns of packed panels: counted through all output axes of their kind, decoded, and looped over.

row in its block        one loop; the indices of its axes by division, the last one fastest
columns of a tile       vectors where they lie in lines of the last axis, else one by one
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from math import gcd

from tang_egg.affine import Affine, Index, affine, product
from tang_egg.codegen.kernel import Call, Expr, Form, Let, Literal, Store, Var, element, number, variable
from tang_egg.codegen.lower_panel_ahead import Ahead
from tang_egg.codegen.lower_scope import Axis, Local
from tang_egg.codegen.pack_plan import Packing
from tang_egg.ir import EVERYWHERE, Apply, Const, Read, Reduce, Scalar, Test, free, walk
from tang_egg.monoid import sum_of
from tang_egg.rewrite import substitute
from tang_egg.schedule import FoldPlan

ALONG = 8
"""Points of a line of an operand that are packed at once."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Rows and columns of a register tile; rows, columns and points of the fold of a block. A multiple of the tile."""

    tile_rows: int
    tile_columns: int
    rows: int
    columns: int
    points: int


@dataclass(slots=True)
class Block:
    """Where the code being written stands: the flat number of the first row and column, and how many there are."""

    column: Affine
    width: Affine
    row: Affine
    height: Affine


class PackPoints(Ahead):
    """See the module text."""

    @contextmanager
    def _rows(self, plan: Packing, z: Sizes, b: Block, again: bool, first: Affine | None = None) -> Iterator[Affine]:
        """A loop over rows of a block; with `again` up to a whole tile, the last row in the place of more."""
        stop: Expr = Form(b.height)
        if again:
            tiles = Call("idiv", (Form(b.height + (z.tile_rows - 1)), number(z.tile_rows)), "i64")
            stop = Call("mul", (tiles, number(z.tile_rows)), "i64")
        with self.loop(plan.row, Form(first or affine(0)), stop) as axis:
            flat: Affine = b.row + axis.start
            if again:
                flat = self._smaller("row", flat, product(i.size for i in plan.rows) - 1)
            with self.inside(*self._decoded(flat, plan.rows)):
                yield axis.start

    def _columns(
        self, plan: Packing, first: Affine, count: int, chunk: Callable[[Axis | None, Affine], None], again: bool,
        nest: tuple[Index, ...] = (),
    ) -> None:  # fmt: skip
        """Columns first ... first + count - 1: by vectors where they lie in lines of the last axis, else one by one.

        With `again` the last column stands for those past the end, and loops over the points of `nest` stand around
        all of them; else those past the end are left out.
        """
        total, last = product(i.size for i in plan.columns), plan.columns[-1]
        size = count if len(plan.columns) == 1 else gcd(count, ALONG)
        several = len(plan.columns) > 1
        chunks = [(n, self._decoded(first + n, plan.columns)) for n in range(0, count, size)]
        tests: list[Expr] = []
        if several and (total.value is None or total.value % count):
            tests.append(Call("le", (Form(first + count), Form(total)), "bool"))
        if last.size.value is None or last.size.value % size:
            tests += [Call("le", (Form(axes[-1].start + size), Form(last.size)), "bool") for _, axes in chunks]
        fits: Expr | None = None
        for test in tests:
            fits = test if fits is None else Call("and", (fits, test), "bool")
        with self.branch(fits), self._nest(nest):
            for n, axes in chunks:
                with self.inside(*axes[:-1], block := Axis(last, axes[-1].start, size)):
                    chunk(block, affine(n))
        if fits is None:
            return
        with self.branch(Call("not", (fits,), "bool")):
            if again:
                near = (self._smaller("column", first + n, total - 1) for n in range(count))
                singles = [self._decoded(flat, plan.columns) for flat in near]
                with self._nest(nest):
                    for n, axes in enumerate(singles):
                        with self.inside(*axes):
                            chunk(None, affine(n))
                return
            stop = Call("min", (number(count), Form(total - first)), "i64")
            with self.loop(Index("column~", affine(count)), number(0), stop) as one:
                axes = self._decoded(first + one.start, plan.columns)
                with self.inside(*axes):
                    chunk(None, one.start)

    @contextmanager
    def _nest(self, indices: Sequence[Index]) -> Iterator[None]:
        """Loops over all points of some indices."""
        with ExitStack() as stack:
            for i in indices:
                stack.enter_context(self.loop(i, number(0), Form(i.size)))
            yield

    @contextmanager
    def _each_lane(self, axis: Axis | None, base: Affine) -> Iterator[Affine]:
        """The points of a chunk, with their numbers: a vector loop, or the point in force."""
        if axis is None:
            yield base
            return
        with self.refine(axis, 1, "vector") as point:
            yield base + (point.start - axis.start)

    def _decoded(self, flat: Affine, axes: Sequence[Index]) -> list[Axis]:
        """The indices of the point with a flat number, the last one fastest."""
        found: list[Axis] = []
        for i in reversed(axes[1:]):
            above = self._under_name(f"{i.name}_above", Call("idiv", (Form(flat), Form(i.size)), "i64"))
            found.insert(0, Axis(i, flat - above * i.size))
            flat = above
        return [Axis(axes[0], flat), *found]

    def _flat_point(self, indices: Sequence[Index]) -> Affine:
        total = affine(0)
        for i in indices:
            total = total * i.size + self.axis(i).start
        return total

    # -- small parts

    def pack_line(self, to: Local, place: Affine, s: Scalar, axis: Axis | None, base: Affine) -> None:
        """Stores the points of a line of an operand; where all of them count, without its tests."""
        tests: list[Test] = []
        value = s
        while isinstance(value, Apply) and value.op == "select" and isinstance(value.args[0], Test):
            tests.append(value.args[0])
            value = value.args[1]
        if axis is None or not tests:
            with self._each_lane(axis, base) as lane:
                self._pack_in(to, place + lane, s)
            return
        all_count: Expr | None = None
        for form in (t.condition.form for t in tests):
            factor = form.coefficient(axis.index)
            ends = (axis.start, axis.start + (axis.size - 1)) if factor.value != 0 else (axis.start,)
            for end in ends:
                test = self.test(self.position(form.substitute({axis.index: 0})) + factor * end)
                all_count = test if all_count is None else Call("and", (all_count, test), "bool")
        assert all_count is not None
        named = Var(self.name("all_count"), "bool")
        self.scope.out.append(Let(named.name, all_count))
        with self.branch(named), self.guarded(*tests), self._each_lane(axis, base) as lane:
            self._pack_in(to, place + lane, value)
        with self.branch(Call("not", (named,), "bool")), self._each_lane(axis, base) as lane:
            self._pack_in(to, place + lane, s)

    def finite(self, s: Scalar) -> Expr:
        """Whether all values of an operand are: then the sum of their products with 0 is 0."""
        held = self.schedule
        s = self._all_elements(s) or s
        near = {c.single() for r in walk(s) if isinstance(r, Read) for c in r.coordinates[-1:] if isinstance(c, Affine)}
        indices = sorted(free(s), key=lambda i: (i.size.value or 1 << 30, i in near, i.name))
        fresh = [Index(f"{i.name}~finite", i.size) for i in indices]
        nothing = substitute(Apply("mul", (s, Const(0.0, "real"))), dict(zip(indices, fresh, strict=True)))
        self.schedule = replace(held, fold=((fresh[-1].name, FoldPlan("lanes", 32)),), stage=())
        try:
            total = self.evaluate(Reduce(sum_of("real"), tuple(fresh), EVERYWHERE, (nothing,), 0))
        finally:
            self.schedule = held
        return Call("eq", (total, Literal(0.0, self.real)), "bool")

    def _all_elements(self, s: Scalar) -> Scalar | None:
        """A read of all elements of a source, each at its own point, in the order of memory; else nothing."""
        if not isinstance(s, Read) or (buffer := self.buffers.get(s.source)) is None:
            return None
        axes = [c.single() if isinstance(c, Affine) else None for c in s.coordinates]
        whole = all(i is not None and i.size == n for i, n in zip(axes, s.source.shape, strict=True))
        if not whole or len(set(axes)) < len(axes):
            return None
        flat = Index("flat", buffer.size)
        return Read(self.as_input(Local(buffer, (affine(0),), (affine(1),))), (affine(flat),))

    def _in_line(self, plan: Packing, s: Scalar) -> tuple[Index, Read] | None:
        """An operand that lies in memory in the order of several folded indices, as a read along a single one."""
        if not isinstance(s, Read) or (buffer := self.buffers.get(s.source)) is None:
            return None
        n = len(s.coordinates) - len(plan.folded)
        last = [c.single() if isinstance(c, Affine) else None for c in s.coordinates[n:]]
        sizes = zip(plan.folded, s.source.shape[n:], strict=False)
        others = all(isinstance(c, Affine) and not c.indices() & set(plan.folded) for c in s.coordinates[:n])
        if n < 0 or last != list(plan.folded) or not others or any(i.size != size for i, size in sizes):
            return None
        flat = Index("flat~", product(i.size for i in plan.folded))
        strides = [product(s.source.shape[k + 1 :]) for k in range(n)]
        local = Local(buffer, (affine(0),) * (n + 1), (*strides, affine(1)))
        return flat, Read(self.as_input(local), (*s.coordinates[:n], affine(flat)))

    def _pack_in(self, to: Local, place: Affine, s: Scalar) -> None:
        value = self.evaluate(s)
        kind = to.buffer.type
        if isinstance(value, Literal):
            value = Literal(value.value, kind)
        elif element(value.type) != kind:
            value = Call("cast", (value,), kind)
        self.scope.out.append(Store(to.buffer, Form(self.position(place)), value))

    def _flat_array(self, stem: str, type: str, size: Affine) -> Local:
        """An array read by one flat position."""
        return self.array(stem, type, [Axis(Index("~", affine(1)), affine(0))], (size,))

    def _under_name(self, stem: str, value: Expr) -> Affine:
        name = self.name(stem)
        self.scope.out.append(Let(name, value))
        return variable(name)

    def _smaller(self, stem: str, a: Affine, b: Affine) -> Affine:
        """The smaller of two forms, under a name unless both are constant."""
        if a.value is not None and b.value is not None:
            return affine(min(a.value, b.value))
        return self._under_name(stem, Call("min", (Form(a), Form(b)), "i64"))
