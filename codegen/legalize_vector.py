"""Unrolled loops are written out, and vector loops become statements on vector values.

    unrolled i in 0..4: S        ->  S[i := 0]; S[i := 1]; ...
    vector v in 0..16: S         ->  S on lanes 0..7; S on lanes 8..15      (a loop by 8 where there are many)
    turned j: vector i: copy     ->  blocks that are transposed in registers (legalize_turn)

A loop that cannot become vectors (an operation without a vector spelling, a branch that differs between lanes)
stays a plain loop. A branch of a select that reads where only the branch may read is never made unconditional.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from tang_egg import ops
from tang_egg.affine import Affine, AffineLike, Dim, Index, affine
from tang_egg.codegen.kernel import (
    Assign,
    Build,
    Call,
    Declare,
    Expr,
    Form,
    If,
    Kernel,
    Lane,
    Let,
    Literal,
    Load,
    Loop,
    Select,
    Stmt,
    Store,
    Var,
    element,
    lanes,
    number,
    operands,
    statements,
    subexpressions,
    vector,
    with_operands,
)
from tang_egg.codegen.legalize_turn import turned_copy
from tang_egg.codegen.vectors import AVX2
from tang_egg.ops_eight import EIGHT

WIDTHS = (16, 8, 4)
"""Lanes of vectors, the most first."""
WRITE_OUT = 8
"""Vector statements that a vector loop may become before it stays a loop over vectors."""

HALVES = (16, 8)
"""Lanes that a load widens from 16-bit floats, and a store rounds to them."""

ARITHMETIC = frozenset({"add", "mul", "neg", "lt", "le", "eq"})
FLOATING = frozenset({"exp", "log", "tanh", "erf", "sin", "sqrt", "floor", "recip", "max", "min"})
BITWISE = frozenset({"bitand", "bitor", "bitxor", "max", "min"})


class Unsupported(Exception):
    """A loop cannot become vectors."""


def to_vectors(kernel: Kernel, size: int = AVX2.bytes) -> Kernel:
    """The kernel without loops of kind `unrolled`, `vector` and `turned`; vectors have at most `size` bytes."""
    return replace(kernel, body=tuple(_Vectors(kernel, size).block(kernel.body)))


class _Vectors:
    def __init__(self, kernel: Kernel, bytes: int) -> None:
        self.fresh, self.bytes = count(1), bytes
        declared = list(statements(kernel.body))
        self.taken = {b.name for b in kernel.buffers} | set(kernel.dims)
        self.taken |= {s.name for s in declared if isinstance(s, (Assign, Let))}
        self.taken |= {s.var for s in declared if isinstance(s, Loop)}
        self.taken |= {s.buffer.name for s in declared if isinstance(s, Declare)}

    def name(self, stem: str) -> str:
        stem = stem.rstrip("0123456789").rstrip("_") or stem
        while True:
            text = f"{stem}_{next(self.fresh)}"
            if text not in self.taken:
                self.taken.add(text)
                return text

    def block(self, body: Sequence[Stmt]) -> list[Stmt]:
        out: list[Stmt] = []
        for s in body:
            if isinstance(s, If):
                out.append(replace(s, then=tuple(self.block(s.then)), otherwise=tuple(self.block(s.otherwise))))
            elif isinstance(s, Loop):
                out += self.loop(s)
            else:
                out.append(s)
        return out

    def loop(self, s: Loop) -> list[Stmt]:
        if s.kind == "unrolled":
            out: list[Stmt] = []
            for n in range(0, _constant(s.stop), s.step):
                out += self.copy(s.body, s.var, affine(n))
            return self.block(out)
        if s.kind == "turned":
            return turned_copy(s, self.name, self.bytes) or self.loop(replace(s, kind="serial"))
        if s.kind != "vector":
            return [replace(s, body=tuple(self.block(s.body)))]
        size = _constant(s.stop)
        for width in WIDTHS:
            if size % width == 0 and 4 * width <= self.bytes:  # no type has more lanes than one of 32 bits
                try:
                    return self.vectors(s, size, width)
                except Unsupported:
                    continue
        return [replace(s, kind="serial", body=tuple(self.block(s.body)))]

    def vectors(self, s: Loop, size: int, width: int) -> list[Stmt]:
        if size // width > WRITE_OUT:
            var = self.name(s.var)
            body = _Lanes(self, s.var, affine(Dim(var)), width).block(self.block(s.body))
            return [Loop(var, number(0), number(size), width, "serial", tuple(body))]
        out: list[Stmt] = []
        inner = self.block(s.body)
        for n in range(0, size, width):
            out += _Lanes(self, s.var, affine(n), width).block(inner)
        return out

    def copy(self, body: Sequence[Stmt], var: str, value: Affine) -> list[Stmt]:
        """The statements with a variable replaced, what they define under new names."""
        names = {x.name: self.name(x.name) for x in statements(tuple(body)) if isinstance(x, Let)}
        names |= {x.var: self.name(x.var) for x in statements(tuple(body)) if isinstance(x, Loop)}
        arrays = {x.buffer.name: self.name(x.buffer.name) for x in statements(tuple(body)) if isinstance(x, Declare)}
        return [copied(s, var, value, names, arrays) for s in body]


def copied(s: Stmt, var: str, value: Affine, names: dict[str, str], arrays: dict[str, str]) -> Stmt:
    """A statement with `var` replaced by a form, and definitions renamed."""

    def expr(e: Expr) -> Expr:
        return replaced(e, var, value, names, arrays)

    def inner(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(copied(x, var, value, names, arrays) for x in body)

    if isinstance(s, Let):
        return Let(names.get(s.name, s.name), expr(s.value))
    if isinstance(s, Declare):
        return Declare(replace(s.buffer, name=arrays.get(s.buffer.name, s.buffer.name)))
    if isinstance(s, Store):
        return Store(replace(s.buffer, name=arrays.get(s.buffer.name, s.buffer.name)), expr(s.index), expr(s.value))
    if isinstance(s, Loop):
        return replace(s, var=names.get(s.var, s.var), start=expr(s.start), stop=expr(s.stop), body=inner(s.body))
    if isinstance(s, If):
        return If(expr(s.condition), inner(s.then), inner(s.otherwise))
    return s


def replaced(e: Expr, var: str, value: Affine, names: dict[str, str], arrays: dict[str, str]) -> Expr:
    """An expression with a variable replaced by a form, and names changed."""
    if isinstance(e, Var):
        if e.name == var:
            return Form(value)
        return replace(e, name=names.get(e.name, e.name))
    if isinstance(e, Form):
        swap: dict[Dim | Index, AffineLike] = {
            d: value if d.name == var else affine(Dim(names[d.name]))
            for d in e.form.dims()
            if d.name == var or d.name in names
        }
        return Form(e.form.substitute(swap)) if swap else e
    if isinstance(e, Literal):
        return e
    e = with_operands(e, tuple(replaced(x, var, value, names, arrays) for x in operands(e)))
    if isinstance(e, Load) and e.buffer.name in arrays:
        return replace(e, buffer=replace(e.buffer, name=arrays[e.buffer.name]))
    return e


class _Lanes:
    """The body of a vector loop for the lanes base, base + 1, ... base + width - 1 at once."""

    def __init__(self, owner: _Vectors, var: str, base: Affine, width: int) -> None:
        self.owner, self.var, self.base, self.width = owner, var, base, width
        self.values: dict[str, Expr] = {}
        self.names: dict[str, str] = {}
        self.guarded = False
        self.where: Expr | None = None  # the mask of the lanes that a branch is for, where it is one

    def block(self, body: Sequence[Stmt]) -> list[Stmt]:
        out: list[Stmt] = []
        for s in body:
            self.statement(s, out)
        return out

    def statement(self, s: Stmt, out: list[Stmt]) -> None:
        if isinstance(s, Let):
            value = self.expr(s.value)
            name = self.owner.name(s.name)
            out.append(Let(name, value))
            self.values[s.name] = Var(name, value.type)
        elif isinstance(s, Store):
            self.store(s, out)
        elif isinstance(s, If):
            condition = self.expr(s.condition)
            if lanes(condition.type) > 1:
                raise Unsupported
            out.append(If(condition, tuple(self.block(s.then)), tuple(self.block(s.otherwise))))
        elif isinstance(s, Loop) and s.kind == "serial":
            start, stop = self.expr(s.start), self.expr(s.stop)
            if lanes(start.type) > 1 or lanes(stop.type) > 1:
                raise Unsupported
            self.names[s.var] = self.owner.name(s.var)
            out.append(replace(s, var=self.names[s.var], start=start, stop=stop, body=tuple(self.block(s.body))))
        else:
            raise Unsupported

    def store(self, s: Store, out: list[Stmt]) -> None:
        value = self.expr(s.value) if not _narrow(s.value) else self.expr(s.value.args[0])  # type: ignore[union-attr]
        stride = self.stride(s.index)
        plain = stride is not None and stride.value == 1 and not _narrow(s.value) and s.buffer.type != "bool"
        if plain:
            out.append(Store(s.buffer, self.lane_index(s.index, 0), self.wide(value)))
            return
        rounds = self.width in HALVES and _narrow(s.value) and element(value.type) == "f32"
        if stride is not None and stride.value == 1 and rounds:
            rounded = Call("cast", (self.wide(value),), vector(s.buffer.type, self.width))
            out.append(Store(s.buffer, self.lane_index(s.index, 0), rounded))
            return
        if stride is not None and stride.value == 0:
            raise Unsupported
        value = self.wide(value)
        if not isinstance(value, Var):
            name = self.owner.name("t")
            out.append(Let(name, value))
            value = Var(name, value.type)
        for n in range(self.width):
            one: Expr = Lane(value, n, _lane_type(value.type))
            if one.type != s.buffer.type:
                one = Call("cast", (one,), s.buffer.type)
            out.append(Store(s.buffer, self.lane_index(s.index, n), one))

    def stride(self, index: Expr) -> Affine | None:
        """How far apart neighbouring lanes are; None where the index is not affine in the lane."""
        if isinstance(index, Form):
            ahead = self.form(index.form, 1) - self.form(index.form, 0)
            return ahead
        if isinstance(index, Call) and index.op == "add":  # a row that is looked up, and a place in it
            steps = [self.stride(x) for x in index.args]
            return None if steps[0] is None or steps[1] is None else steps[0] + steps[1]
        return None if self.varies(index) else affine(0)

    def varies(self, e: Expr) -> bool:
        for x in subexpressions(e):
            if isinstance(x, Form) and any(d.name == self.var for d in x.form.dims()):
                return True
            if isinstance(x, Var) and (x.name == self.var or lanes(self.values.get(x.name, x).type) > 1):
                return True
        return False

    def form(self, form: Affine, lane: int) -> Affine:
        swap: dict[Dim | Index, AffineLike] = {}
        for d in form.dims():
            if d.name == self.var:
                swap[d] = self.base + lane
            elif d.name in self.names:
                swap[d] = affine(Dim(self.names[d.name]))
            elif isinstance(known := self.values.get(d.name), Var):
                if lanes(known.type) > 1:
                    raise Unsupported
                swap[d] = affine(Dim(known.name))
        return form.substitute(swap) if swap else form

    def lane_index(self, e: Expr, lane: int) -> Expr:
        """A scalar expression as it is for one lane."""
        if isinstance(e, Form):
            return Form(self.form(e.form, lane))
        if isinstance(e, Var):
            known = self.values.get(e.name, e)
            if e.name == self.var:
                return Form(self.base + lane)
            return Lane(known, lane, _lane_type(known.type)) if lanes(known.type) > 1 else known
        return with_operands(e, tuple(self.lane_index(x, lane) for x in operands(e)))

    # -- expressions

    def vector_type(self, type: str) -> str:
        size = 4 if type == "bool" else ops.BYTES[type]
        if size * self.width > self.owner.bytes or type in ("f16", "bf16", *EIGHT):
            raise Unsupported
        return vector(type, self.width)

    def wide(self, e: Expr) -> Expr:
        """A vector of the value in every lane."""
        if lanes(e.type) > 1:
            return e
        if e.type == "bool":
            raise Unsupported
        return Build((e,) * self.width, self.vector_type(e.type))

    def expr(self, e: Expr) -> Expr:
        """The value of all lanes: a vector where they differ, else a scalar."""
        if not self.varies(e):
            if self.guarded and any(isinstance(x, Load) and not x.safe for x in subexpressions(e)):
                raise Unsupported  # no lane may pass its guard, and then it must not be read
            return self.lane_index(e, 0)
        if isinstance(e, Var):
            return self.values[e.name] if e.name in self.values else self.expr(Form(affine(Dim(e.name))))
        if isinstance(e, Form):
            return Build(tuple(self.lane_index(e, n) for n in range(self.width)), self.vector_type("i64"))
        if isinstance(e, Load):
            return self.load(e)
        if isinstance(e, Select):
            return self.select(e)
        if isinstance(e, Call):
            return self.call(e)
        raise Unsupported

    def load(self, e: Load) -> Expr:
        stride = self.stride(e.index)
        if self.guarded and not e.safe:
            return self.load_where(e, stride)
        if e.type == "bool":
            if stride is None or stride.value != 1 or 4 * self.width > self.owner.bytes:
                raise Unsupported
            bytes_ = replace(e, index=self.lane_index(e.index, 0), type=vector("u8", self.width))
            return Call("lt", (self.wide(Literal(0, "u8")), bytes_), f"m8x{self.width}")
        if stride is not None and stride.value == 1:
            return replace(e, index=self.lane_index(e.index, 0), type=self.vector_type(e.type))
        items = tuple(replace(e, index=self.lane_index(e.index, n)) for n in range(self.width))
        return Build(items, self.vector_type(e.type))

    def both(self, outer: Expr | None, condition: Expr) -> Expr | None:
        """The mask of a branch within another one; None where there is no mask for both."""
        if outer is None or outer.type != condition.type:
            return None
        return Call("and", (outer, condition), condition.type)

    def load_where(self, e: Load, stride: Affine | None) -> Expr:
        """A load of the lanes that the branch in force is for: an instruction where registers are of 64 bytes."""
        near = stride is not None and stride.value == 1
        mask = self.where
        if not near or mask is None or mask.type != f"m32x{self.width}" or e.type != "f32":
            raise Unsupported
        if self.owner.bytes <= AVX2.bytes:
            raise Unsupported
        return replace(e, index=self.lane_index(e.index, 0), type=self.vector_type(e.type), where=mask)

    def select(self, e: Select) -> Expr:
        condition = self.expr(e.condition)
        if lanes(condition.type) == 1:
            yes, no = self.expr(e.yes), self.expr(e.no)
            if e.type == "bool":  # masks may have lanes of different widths
                type = next((x.type for x in (yes, no) if lanes(x.type) > 1), "bool")
                return Select(condition, self.mask(yes, type), self.mask(no, type), type)
            yes, no = self.wide(yes), self.wide(no)
            return Select(condition, yes, no, yes.type)
        guarded, outer = self.guarded, self.where
        self.guarded = True
        try:
            self.where = self.both(outer, condition) if guarded else condition
            yes = self.expr(e.yes)
            self.where = None
            no = self.expr(e.no)
        finally:
            self.guarded, self.where = guarded, outer
        if e.type == "bool":
            yes, no = self.mask(yes, condition.type), self.mask(no, condition.type)
            flipped = Call("not", (condition,), condition.type)
            first = Call("and", (condition, yes), condition.type)
            return Call("or", (first, Call("and", (flipped, no), condition.type)), condition.type)
        yes, no = self.wide(yes), self.wide(no)
        if self.owner.bytes > AVX2.bytes and isinstance(yes, Select) and yes.no == no:
            if yes.condition.type == condition.type:  # one choice by both conditions
                condition, yes = Call("and", (condition, yes.condition), condition.type), yes.yes
        return Select(self.mask(condition, f"m{8 * ops.BYTES[e.type]}x{self.width}"), yes, no, yes.type)

    def mask(self, e: Expr, type: str) -> Expr:
        """A mask with lanes of the width of `type`."""
        if e.type == type:
            return e
        if lanes(e.type) > 1:
            return Call("cast", (e,), type)
        return Call("splat_mask", (e,), type)

    def call(self, e: Call) -> Expr:
        if e.op == "le" and isinstance(e.args[1], Form) and e.args[0] == number(0):
            return self.test(e.args[1].form)
        if e.op == "cast":
            return self.cast(e)
        args = [self.expr(a) for a in e.args]
        if e.op in ("and", "or", "not"):
            type = next(a.type for a in args if lanes(a.type) > 1)
            return Call(e.op, tuple(self.mask(a, type) for a in args), type)
        kind = e.args[0].type
        fits = (
            e.op in ARITHMETIC
            or (e.op in FLOATING and kind in ("f32", "f64"))
            or (e.op in BITWISE and kind in ops.INTEGERS)
        )
        if not fits or kind == "bool":
            raise Unsupported
        args = [self.wide(a) for a in args]
        if e.type == "bool":
            return Call(e.op, tuple(args), f"m{8 * ops.BYTES[kind]}x{self.width}")
        return Call(e.op, tuple(args), self.vector_type(e.type))

    def test(self, form: Affine) -> Expr:
        """form >= 0 in each lane, decided on 32-bit integers: far values are clipped first."""
        step = (self.form(form, 1) - self.form(form, 0)).value
        if step is None or abs(step) > 1 << 20:
            raise Unsupported
        near = Call("min", (Call("max", (Form(self.form(form, 0)), number(-(1 << 30))), "i64"), number(1 << 30)), "i64")
        start = self.wide(Call("cast", (near,), "i32"))
        ramp = Build(tuple(Literal(-step * n, "i32") for n in range(self.width)), self.vector_type("i32"))
        return Call("le", (ramp, start), f"m32x{self.width}")

    def ramp(self, form: Affine) -> Expr:
        """A form in each lane, as 32-bit integers."""
        step = (self.form(form, 1) - self.form(form, 0)).value
        if step is None or abs(step) > 1 << 20:
            raise Unsupported
        kind = self.vector_type("i32")
        start = self.wide(Call("cast", (Form(self.form(form, 0)),), "i32"))
        return Call("add", (start, Build(tuple(Literal(step * n, "i32") for n in range(self.width)), kind)), kind)

    def cast(self, e: Call) -> Expr:
        source, goal = e.args[0], e.type
        if isinstance(source, Load) and source.type in ("f16", "bf16") and goal == "f32":
            stride = self.stride(source.index)
            if (self.guarded and not source.safe) or stride is None or stride.value != 1 or self.width not in HALVES:
                raise Unsupported
            load = replace(source, index=self.lane_index(source.index, 0), type=vector(source.type, self.width))
            return Call("cast", (load,), self.vector_type("f32"))
        if isinstance(source, Form) and goal == "i32":
            return self.ramp(source.form)
        simple = goal in ("f32", "f64") and source.type in ("i8", "u8", "i16", "u16", "i32", "f32", "f64")
        if not (simple or (goal in ops.INTEGERS and source.type in ops.INTEGERS)):
            raise Unsupported
        return Call("cast", (self.wide(self.expr(source)),), self.vector_type(goal))


def _narrow(e: Expr) -> bool:
    """A value rounded to a 16-bit float (or tested for zero) just before it is stored."""
    return isinstance(e, Call) and e.op == "cast" and e.type in ("f16", "bf16")


def _lane_type(type: str) -> str:
    kind = element(type)
    return f"i{kind[1:]}" if kind.startswith("m") else kind


def _constant(e: Expr) -> int:
    assert isinstance(e, Form) and e.form.value is not None, "the bounds of an unrolled loop are constant"
    return e.form.value
