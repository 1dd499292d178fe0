"""Scalars at the elements of fragments: what one thread computes for the rows and columns that it holds.

A thread holds two rows of its warp group's 64 (h = 0, 1) and, for each eight columns j, two columns (e = 0, 1).
Values are of four levels: the same for the whole tile, one per row, one per column, one per cell. Each is computed
once, at its own level: row values before the nest over columns, column values once for both rows.

Exponentials of sums are powers of two of linear forms: exp(a·x + r) = exp2(x·(a·log2 e) + r·log2 e), one multiply-add
for each cell; the row part r keeps its own differences exact, since it is added up before it is scaled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tang_egg.affine import Affine, AffineLike, Atom, Index, affine
from tang_egg.codegen.kernel import (
    Buffer,
    Call,
    Expr,
    Form,
    Literal,
    Load,
    Select,
    Stmt,
    number,
)
from tang_egg.codegen.lower_scope import never_below_zero
from tang_egg.codegen.mma_linear import (
    CELL,
    COLUMN,
    ROW,
    Linear,
    Place,
    Value,
    fits,
    real_of,
    sum_of,
    term_of,
)
from tang_egg.codegen.mma_operand import Refused
from tang_egg.codegen.writer import Writer
from tang_egg.ir import (
    Apply,
    Const,
    Position,
    Read,
    Scalar,
    Source,
    Test,
    type_of,
)
from tang_egg.ops import FLOATS

LOG2E, LN2 = math.log2(math.e), math.log(2.0)
SPELLED = frozenset(
    "add mul neg max min recip sqrt sin exp log tanh erf floor atan2 select lt le eq and or not idiv imod bitand bitor "
    "bitxor shl shr".split()
)


ANYWHERE = Place()
"""Where values of a whole tile are asked for."""


class Cells(Linear):
    """Evaluates scalars at the places of one fragment; see the module text.

    `fixed`: forms of the indices that are the same for the whole tile. `rows`: the row index at h = 0, 1.
    `ragged`: whether tiles along an index may run past its end; they are taken to unless it says otherwise. `rounded`:
    whether all that is asked for is an output of 16 bits.
    """

    def __init__(
        self,
        w: Writer,
        buffers: dict[Source, Buffer],
        fixed: dict[Index, Affine],
        row: Index,
        rows: tuple[Affine, Affine],
    ) -> None:
        self.w, self.buffers = w, buffers
        self._fixed: dict[Atom, AffineLike] = dict(fixed.items())
        self.row, self.rows = row, rows
        self.column: Index | None = None
        self.first: Affine = affine(0)
        self.known: dict[Scalar, Value] = {}
        self.ragged: dict[Index, bool] = {}
        self.rounded = False
        self.settled: list[tuple[Scalar, dict[Scalar, float], float]] = []
        self._gone: set[Scalar] = set()
        self._held: dict[object, Expr] = {}
        self._outer: list[Stmt] | None = None
        self._middle: list[Stmt] | None = None

    # -- nests

    @contextmanager
    def over(self, column: Index, first: Affine) -> Iterator[None]:
        """Columns run along `column`; the thread's first one is `first`."""
        held = (self.column, self.first, dict(self._held))
        self.column, self.first = column, first
        try:
            yield
        finally:
            self.column, self.first, self._held = held

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is computed inside is forgotten afterwards (it stands in a block that may not run)."""
        held, known, settled, gone = dict(self._held), dict(self.known), list(self.settled), set(self._gone)
        try:
            yield
        finally:
            self._held, self.known, self.settled, self._gone = held, known, settled, gone

    def columns(self, count: int, body: Callable[[Affine], None]) -> None:
        """A nest over `count` columns of this warp group, eight at a time; `body` writes one step."""
        outer = self.w.out
        with self.scope(), self.w.loop("j", number(0), number(count // 8), "unrolled") as j:
            held = self._outer, self._middle
            self._outer, self._middle = outer, self.w.out
            body(j)
            self._outer, self._middle = held

    def cells(self, count: int, body: Callable[[Place], None]) -> None:
        """The same for each cell in turn."""

        def step(j: Affine) -> None:
            for h in (0, 1):
                for e in (0, 1):
                    body(Place(h, e, j))

        self.columns(count, step)

    # -- levels

    # -- values

    def value(self, s: Scalar, at: Place = ANYWHERE) -> Expr:
        """The expression of `s` at a place; what does not change there is computed outside, under a name."""
        if s in self.known:
            return self.known[s].at(at)
        if isinstance(s, Const):
            return Literal(s.value, _kernel_type(s))
        level = self.level(s)
        if level == CELL or isinstance(s, (Position, Test)):
            return self._node(s, at, level)
        key = (s, at.h if level & ROW else 0, (at.e, at.j) if level & COLUMN else 0)
        if key not in self._held:
            with self.w.writing_to(self._middle if level & COLUMN else self._outer):
                self._held[key] = self.w.let("t", self._node(s, at, level))
        return self._held[key]

    def _node(self, s: Scalar, at: Place, level: int) -> Expr:
        if isinstance(s, Position):
            return Form(self.position(s.form, at))
        if isinstance(s, Test):
            return self._test(s.condition.form, at)
        if isinstance(s, Read):
            return self._read(s, at)
        if not isinstance(s, Apply):
            raise Refused(f"a {type(s).__name__} inside a tile")
        op, _, target = s.op.partition(":")
        if op == "cast":
            return self._cast(s, target, at, level)
        if op not in SPELLED:
            raise Refused(f"the operation '{s.op}' inside a tile")
        if op == "exp":
            return self._exp(s.args[0], at, level)
        if op == "tanh":  # 1 - 2 / (exp(2x) + 1): two quick instructions, and right for large x of both signs
            inner = self._exp(Apply("mul", (s.args[0], Const(2.0))), at, level)
            below = Call("fast_recip", (Call("add", (inner, Literal(1.0, "f32")), "f32"),), "f32")
            return Call("fma", (Literal(-2.0, "f32"), below, Literal(1.0, "f32")), "f32")
        if op == "add" and self.rounded and Const(1.0) in s.args:
            above = next((a for a in s.args if isinstance(a, Apply) and a.op == "erf" and self.level(a) == CELL), None)
            if above is not None and above not in self.known:  # half the instructions, right where the sum vanishes
                return Call("quick_one_plus_erf", (self.value(above.args[0], at),), "f32")
        if op == "erf" and level == CELL:
            return self._erf(self.w.let("x", self.value(s.args[0], at)))
        if op == "log":
            return Call("mul", (Call("log2", (self.value(s.args[0], at),), "f32"), Literal(LN2, "f32")), "f32")
        args = tuple(self.value(a, at) for a in s.args)
        if op == "select":
            return Select(args[0], args[1], args[2], _kernel_type(s))
        if op == "recip" and level == CELL:
            return Call("fast_recip", args, "f32")
        return Call(op, args, _kernel_type(s))

    def _erf(self, x: Expr) -> Expr:
        """The error function to 2e-7 (Abramowitz and Stegun 7.1.26): two special functions and eight multiply-adds."""
        size = self.w.let("size", Call("fast_max", (x, Call("neg", (x,), "f32")), "f32"))
        below = Call("fma", (size, Literal(0.3275911, "f32"), Literal(1.0, "f32")), "f32")
        t = self.w.let("t", Call("fast_recip", (below,), "f32"))
        total: Expr = Literal(1.061405429, "f32")
        for c in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
            total = Call("fma", (total, t, Literal(c, "f32")), "f32")
        square = Call("mul", (size, Call("mul", (size, Literal(-LOG2E, "f32")), "f32")), "f32")
        tail = Call("mul", (Call("mul", (total, t), "f32"), Call("exp2", (square,), "f32")), "f32")
        value = self.w.let("erf", Call("add", (Literal(1.0, "f32"), Call("neg", (tail,), "f32")), "f32"))
        return Select(Call("lt", (x, Literal(0.0, "f32")), "bool"), Call("neg", (value,), "f32"), value, "f32")

    def _exp(self, x: Scalar, at: Place, level: int) -> Expr:
        if level != CELL:
            return Call("exp2", (Call("mul", (self.value(x, at), Literal(LOG2E, "f32")), "f32"),), "f32")
        terms, constant = self._linear(x)
        outside = [(t, c) for t, c in terms.items() if self.level(t) != CELL]
        inside = [(t, c) for t, c in terms.items() if self.level(t) == CELL]
        fixed: list[Scalar] = [Const(constant)] if constant or not outside else []
        rest = sum_of([*fixed, *(term_of(t, c) for t, c in outside)])
        total = self.value(Apply("mul", (rest, Const(LOG2E))), at) if rest != Const(0.0) else None
        for t, c in inside:
            scaled = Literal(c * LOG2E, "f32")
            v = self.value(t, at)
            total = Call("mul", (v, scaled), "f32") if total is None else Call("fma", (v, scaled, total), "f32")
        assert total is not None
        return Call("exp2", (total,), "f32")

    def _cast(self, s: Apply, target: str, at: Place, level: int) -> Expr:
        x = s.args[0]
        goal = "f32" if target == "real" else target
        if isinstance(x, Position) and goal == "f32" and level & COLUMN:
            rest, step = self._split(x.form, at)
            if fits(x.form):
                near = self._outer_let("p", real_of(rest), (x, "real", at.h))
                return Call("add", (near, real_of(step)), "f32")
        if isinstance(x, Position) and goal == "f32" and fits(x.form):
            return real_of(self.position(x.form, at))
        value = self.value(x, at)
        if target in FLOATS and target not in ("real", "f32"):
            if target == "f64":
                raise Refused("f64 inside a tile")
            return Call("cast", (Call("cast", (value,), target),), "f32")
        return value if value.type == goal else Call("cast", (value,), goal)

    def _test(self, form: Affine, at: Place) -> Expr:
        if not self._level_of(form) & COLUMN:
            return Call("le", (number(0), Form(self.position(form, at))), "bool")
        rest, step = self._split(form, at)
        near = self._outer_let("q", Form(rest), (form, at.h))
        return Call("le", (Form(-step), near), "bool")

    def _outer_let(self, stem: str, value: Expr, key: object) -> Expr:
        """A value that no column changes, under a name outside the nest."""
        if key not in self._held:
            with self.w.writing_to(self._outer):
                self._held[key] = self.w.let(stem, value)
        return self._held[key]

    def _split(self, form: Affine, at: Place) -> tuple[Affine, Affine]:
        """A form as what stays along the columns, and what each column adds to it (a constant once unrolled)."""
        assert self.column is not None
        assert at.j is not None
        step = (8 * at.j + at.e) * (form.coefficient(self.column).value or 0)
        mapping: dict[Atom, AffineLike] = {**self._fixed, self.row: self.rows[at.h], self.column: self.first}
        return form.substitute(mapping), step

    def position(self, form: Affine, at: Place) -> Affine:
        """A form over indices as one over variables."""
        mapping: dict[Atom, AffineLike] = {**self._fixed, self.row: self.rows[at.h]}
        if self.column is not None and self.column in form.indices():
            assert at.j is not None
            mapping[self.column] = self.first + 8 * at.j + at.e
        return form.substitute(mapping)

    # -- reads of global memory

    def _read(self, s: Read, at: Place) -> Expr:
        return as_value(self.element(s, at))

    def element(self, s: Read, at: Place) -> Load:
        """What a read finds, in the type that memory has it in."""
        buffer = self.buffers[s.source]
        total, stride, gathered = affine(0), affine(1), list[Expr]()
        for c, size in reversed(list(zip(s.coordinates, s.source.shape, strict=True))):
            if isinstance(c, Affine):
                if not (never_below_zero(c) and never_below_zero(size - 1 - c)):
                    raise Refused(f"'{s.source.name}' is read where only a condition keeps it in bounds")
                total = total + self._inside(c, at) * stride
            else:
                v = self.value(c, at)
                wide = v if v.type == "i64" else Call("cast", (v,), "i64")
                low = Call("max", (Call("min", (wide, Form(size - 1)), "i64"), number(0)), "i64")
                gathered.append(low if stride.value == 1 else Call("mul", (low, Form(stride)), "i64"))
            stride = stride * size
        index: Expr = Form(total)
        for g in gathered:
            index = Call("add", (index, g), "i64")
        if buffer.type == "f64":
            raise Refused("f64 inside a tile")
        return Load(buffer, index, buffer.type)

    def _inside(self, c: Affine, at: Place) -> Affine:
        """A coordinate as a form over variables, with rows and columns past their axes moved back to the last one."""
        mapping: dict[Atom, AffineLike] = dict(self._fixed)
        here = c.indices()
        if self.row in here:
            mapping[self.row] = self._clamped(self.row, self.rows[at.h], ("row", at.h))
        if self.column is not None and self.column in here:
            assert at.j is not None
            own = self.first + 8 * at.j + at.e
            mapping[self.column] = self._clamped(self.column, own, ("column", self.column, at.j, at.e))
        return c.substitute(mapping)

    def _clamped(self, index: Index, own: Affine, key: tuple[object, ...]) -> Affine:
        if not self.ragged.get(index, True):
            return own
        if key not in self._held:
            last = Call("min", (Form(own), Form(index.size - 1)), "i64")
            with self.w.writing_to(self._middle if key[0] == "column" else self._outer):
                self._held[key] = Form(self.w.integer("c", last))
        form = self._held[key]
        assert isinstance(form, Form)
        return form.form


def as_value(element: Load) -> Expr:
    """An element as scalars compute with it: floats of 16 bits as f32."""
    return Call("cast", (element,), "f32") if element.type in FLOATS and element.type != "f32" else element


def _kernel_type(s: Scalar) -> str:
    t = type_of(s)
    return "f32" if t == "real" else t
