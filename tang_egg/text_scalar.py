"""Scalar expressions, folds and reads of the text form, read from Python syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tang_egg import expression as e
from tang_egg import ops
from tang_egg import text_names as words
from tang_egg.affine import Affine, Index, Inequality
from tang_egg.errors import GraphError, TextError
from tang_egg.ir import (
    EVERYWHERE,
    Const,
    Coordinate,
    Domain,
    Position,
    Read,
    Reduce,
    Scalar,
    Scan,
    Source,
    Span,
    StateRef,
    Statistic,
    Test,
    type_of,
)
from tang_egg.ir import apply as apply_op
from tang_egg.monoid import Monoid
from tang_egg.sizes import placeholder
from tang_egg.text_forms import FormReader, Settling, Sized, literal

_BINARY: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Mult: "mul", ast.FloorDiv: "idiv", ast.Mod: "imod", ast.BitOr: "bitor", ast.BitAnd: "bitand",
    ast.BitXor: "bitxor", ast.LShift: "shl", ast.RShift: "shr",
}  # fmt: skip
_COMPARE: dict[type[ast.AST], tuple[str, bool]] = {
    ast.Lt: ("lt", False), ast.LtE: ("le", False), ast.Gt: ("lt", True), ast.GtE: ("le", True), ast.Eq: ("eq", False),
    ast.NotEq: ("ne", False),
}  # fmt: skip


class ScalarReader(FormReader):
    """Reads expressions; what arrays and monoids there are is for the reader of statements to say."""

    def array(self, at: ast.expr) -> Source:
        raise NotImplementedError

    def fold_monoid(self, at: ast.Name, type: str) -> Monoid:
        raise NotImplementedError

    def settled(self, at: ast.expr, type: str | None, sized: Sequence[Sized]) -> Scalar:
        """An expression of a monoid, its axes settled and nothing else free."""
        found = self.settle((self.adopt(at, self.scalar(at), type),), sized)[0]
        self.check_settled(at, found)
        return found

    def adopt(self, at: ast.expr, s: Scalar, type: str | None) -> Scalar:
        """A bare number takes the type of what stands beside it."""
        value = literal(at)
        if type is None or type_of(s) == type or value is None or isinstance(value, bool):
            return s
        return e.as_scalar(value, type) if type != "bool" else s

    def scalar(self, at: ast.expr) -> Scalar:
        """The expression that a syntax tree states."""
        try:
            return self._scalar(at)
        except GraphError as error:
            raise TextError(error.what, where=self.place(at), mend=error.mend) from None

    def _scalar(self, at: ast.expr) -> Scalar:
        value = literal(at)
        if value is not None:
            return Const(value, {bool: "bool", int: "i64", float: "real"}[type(value)])
        if isinstance(at, ast.Name):
            if at.id in self.lets:
                return self._let(at)
            form = self.form(at)
            assert form is not None
            return Position(form)
        if isinstance(at, ast.BinOp):
            return self._arithmetic(at)
        if isinstance(at, ast.UnaryOp):
            operand = self.scalar(at.operand)
            if isinstance(at.op, ast.Not):
                return apply_op("not", operand)
            if isinstance(at.op, ast.USub):
                return apply_op("neg", operand)
            return (~e.Expression(operand)).scalar if isinstance(at.op, ast.Invert) else operand
        if isinstance(at, ast.BoolOp):
            op = "and" if isinstance(at.op, ast.And) else "or"
            total, *rest = (self.scalar(v) for v in at.values)
            for r in rest:
                total = apply_op(op, total, r)
            return total
        if isinstance(at, ast.Compare):
            return self._comparison(at)
        if isinstance(at, ast.IfExp):
            return self._select(at.test, at.body, at.orelse)
        if isinstance(at, ast.Call):
            return self._call(at)
        if isinstance(at, (ast.Attribute, ast.Subscript)):
            return self._member(at)
        self.fail(at, "this syntax has no meaning here", "write arithmetic, folds such as sum[j](...), or reads T[i]")

    def _let(self, at: ast.Name) -> Scalar:
        if at.id in self.open_lets:
            self.fail(at, f"'{at.id}' is defined by itself", "use a fold or a scan for a recurrence")
        key = (at.id, id(self.components) if self.components is not None else 0)
        if key not in self.let_values:
            self.open_lets.append(at.id)
            self.let_values[key] = self.scalar(self.lets[at.id])
            self.open_lets.pop()
        return self.let_values[key]

    def _pair(self, a: ast.expr, b: ast.expr) -> tuple[Scalar, Scalar]:
        left, right = self.scalar(a), self.scalar(b)
        return self.adopt(a, left, type_of(right)), self.adopt(b, right, type_of(left))

    def _arithmetic(self, at: ast.BinOp) -> Scalar:
        value = literal(at.right)
        if isinstance(at.op, ast.Pow):
            power = self.integer(at.right)
            if abs(power) > 64:
                self.fail(at, f"the exponent {power} is too large", "use exp(y * log(x))")
            return (e.Expression(self.scalar(at.left)) ** power).scalar
        left, right = self._pair(at.left, at.right)
        if isinstance(at.op, ast.Sub):
            if value is not None and not isinstance(value, bool) and isinstance(right, Const):
                return apply_op("add", left, Const(-right.value, right.type))
            return apply_op("add", left, apply_op("neg", right))
        if isinstance(at.op, ast.Div):
            if literal(at.left) == 1 and isinstance(left, Const):
                return apply_op("recip", right)
            if isinstance(right, Const) and right.type == "real" and right.value:
                return apply_op("mul", left, Const(1.0 / right.value))
            return apply_op("mul", left, apply_op("recip", right))
        op = _BINARY.get(type(at.op))
        if op is None:
            self.fail(at, "this operator has no meaning here", "use + - * / // % & | ^ << >> or a function")
        if type_of(left) == "bool" and op in ("bitand", "bitor"):
            op = op.removeprefix("bit")
        return apply_op(op, left, right)

    def conditions(self, at: ast.expr, split: bool) -> list[Scalar]:
        """The conjuncts of a condition; without `split`, a chain of comparisons is the only conjunction."""
        if split and isinstance(at, ast.BoolOp) and isinstance(at.op, ast.And):
            return [c for v in at.values for c in self.conditions(v, True)]
        if not isinstance(at, ast.Compare):
            return [self.scalar(at)]
        found: list[Scalar] = []
        sides = [at.left, *at.comparators]
        for a, op, b in zip(sides, at.ops, sides[1:], strict=False):
            if type(op) not in _COMPARE:
                self.fail(at, "this comparison has no meaning here", "use < <= > >= == or !=")
            name, swapped = _COMPARE[type(op)]
            low, high = (b, a) if swapped else (a, b)
            low_form, high_form = self.form(low), self.form(high)
            if low_form is not None and high_form is not None and name != "ne":
                if name == "eq":
                    found += [Test(low_form <= high_form), Test(low_form >= high_form)]
                else:
                    found.append(Test(low_form <= high_form if name == "le" else low_form < high_form))
                continue
            left, right = self._pair(low, high)
            made = apply_op("eq" if name == "ne" else name, left, right)
            found.append(apply_op("not", made) if name == "ne" else made)
        return found

    def _comparison(self, at: ast.Compare) -> Scalar:
        total, *rest = self.conditions(at, False)
        for r in rest:
            total = apply_op("and", total, r)
        return total

    def _select(self, c: ast.expr, a: ast.expr, b: ast.expr) -> Scalar:
        return apply_op("select", self.scalar(c), *self._pair(a, b))

    def _call(self, at: ast.Call) -> Scalar:
        f = at.func
        if not isinstance(f, ast.Name):
            return self._fold(at, None)
        name, args = f.id, at.args
        if name in ("position", "value", "select", "cast", "bits", "state", "statistic") or name in words.TYPES:
            return self._form_call(at, name)
        if at.keywords:
            self.fail(at, f"'{name}' takes no keywords", "folds are written sum[j](x, where=...)")
        if name in words.COMPOSED:
            if len(args) != 1:
                self.fail(at, f"'{name}' takes one operand", "count the operands again")
            return words.COMPOSED[name](e.Expression(self._real(args[0]))).scalar
        if name not in ops.OPS:
            known = (*ops.OPS, *words.COMPOSED, *words.FORMS)
            self.unknown(f, name, "function", known)
        if len(args) == 2:
            return apply_op(name, *self._pair(*args))
        needs_real = ops.OPS[name].operands == "real"
        return apply_op(name, *(self._real(a) if needs_real else self.scalar(a) for a in args))

    def _real(self, at: ast.expr) -> Scalar:
        return self.adopt(at, self.scalar(at), "real")

    def _form_call(self, at: ast.Call, name: str) -> Scalar:
        counts = {"position": (1,), "value": (1,), "select": (3,), "cast": (2,), "bits": (2,), "state": (3,)}
        if len(at.args) not in counts.get(name, (1, 2, 3) if name == "statistic" else (1,)) or at.keywords:
            self.fail(at, f"'{name}' has the wrong number of operands", "count them again")
        first = at.args[0]
        if name == "value":
            return self.scalar(first)
        if name == "position":
            form = self.form(first)
            if form is None:
                self.fail(first, "position takes an affine form", "write sums of indices with whole factors")
            return Position(form)
        if name == "select":
            return self._select(*at.args)
        if name in ("cast", "bits"):
            target = self.type_word(at.args[1], words.TYPES if name == "cast" else ops.STORAGE)
            return apply_op(f"{name}:{target}", self.scalar(first))
        if name == "statistic":
            rest = at.args[1:]
            part = literal(rest[-1]) if rest else None
            rest = rest if part is None else rest[:-1]
            type = self.type_word(rest[0], words.TYPES) if rest else "real"
            return Statistic(self._string(first), type, 0 if part is None else int(part))
        if name == "state":
            return StateRef(self._string(first), self._string(at.args[1]), self.type_word(at.args[2], words.TYPES))
        value = literal(first)
        if value is None:
            self.fail(first, f"{name}(...) makes a constant of a number", f"convert by cast(x, {name})")
        return Const(value, name)

    def _string(self, at: ast.expr) -> str:
        if isinstance(at, ast.Constant) and isinstance(at.value, str):
            return at.value
        self.fail(at, "a name in quotes is expected", 'write "name"')

    def _member(self, at: ast.Attribute | ast.Subscript) -> Scalar:
        """A read T[i], a component of a fold, or a component of a monoid's state."""
        owner = at.value
        key: str | int | None = None
        if isinstance(at, ast.Attribute):
            key = at.attr
        elif isinstance(at.slice, ast.Constant) and isinstance(at.slice.value, (str, int)):
            key = at.slice.value
        if isinstance(owner, ast.Call) and key is not None:
            return self._fold(owner, key)
        if isinstance(owner, ast.Name) and owner.id in ("left", "right", "self") and isinstance(key, str):
            known = "real" if self.components is None else self.components.get(key)
            if known is None:
                self.unknown(at, key, "component", tuple(self.components or ()))
            return StateRef(owner.id, key, known)
        if isinstance(at, ast.Attribute):
            self.fail(at, f"nothing has a part '{at.attr}' here", "parts are those of folds, left, right and self")
        items = list(at.slice.elts) if isinstance(at.slice, ast.Tuple) else [at.slice]
        if isinstance(owner, (ast.Attribute, ast.Subscript, ast.Call)):
            state = self.scalar(owner)
            if not isinstance(state, StateRef) or state.coordinates:
                self.fail(at, "only inputs, tensors and components of a state have elements", "name it as a tensor")
            return StateRef(state.side, state.component, state.type, tuple(self._state_form(i) for i in items))
        source = self.array(owner)
        if len(items) != len(source.shape):
            self.fail(
                at,
                f"'{source.name}' has {len(source.shape)} axes but is read with {len(items)} coordinates",
                "give one coordinate for each axis",
            )
        return Read(source, tuple(self._coordinate(i) for i in items), Span(self.file, at.lineno))

    def _state_form(self, at: ast.expr) -> Affine:
        form = self.form(at)
        if form is None:
            self.fail(at, "an affine coordinate is expected", "write sums of indices with whole factors")
        return form

    def _coordinate(self, at: ast.expr) -> Coordinate:
        form = self.form(at)
        if form is not None:
            return form
        made = self.scalar(at)
        if type_of(made) not in ops.INTEGERS:
            self.fail(at, f"a coordinate of type {type_of(made)}", "use an integer, e.g. cast(x, i64)")
        return made

    def _fold(self, at: ast.Call, part: str | int | None) -> Scalar:
        f = at.func
        if not isinstance(f, ast.Subscript):
            self.fail(at, "this cannot be called", "folds are written sum[j](...), scans sum.scan[t](...)")
        scan = isinstance(f.value, ast.Attribute) and f.value.attr == "scan"
        word = f.value.value if isinstance(f.value, ast.Attribute) and scan else f.value
        if not isinstance(word, ast.Name):
            self.fail(f, "the word of a fold is expected", "write sum[j](...)")
        found = self.keywords(at, {"chunk": 0} if scan else {"where": None}, len(at.args))
        if not at.args:
            self.fail(at, "a fold of nothing", "give what is folded: sum[j](x[j])")
        lifts = [self.scalar(a) for a in at.args]
        first = "real" if word.id in ("logsumexp", "mean_variance", "affine") else type_of(lifts[0])
        m = self.fold_monoid(word, first)
        if len(lifts) != len(m.components):
            names = ", ".join(c.name for c in m.components)
            count = f"{len(m.components)} components, not {len(lifts)}"
            self.fail(at, f"'{word.id}' folds {count}", f"give one for: {names}")
        lifts = [self._lift(a, s, c.axes, c.type) for a, s, c in zip(at.args, lifts, m.components, strict=True)]
        number = self._part(at, m, part)
        span = Span(self.file, at.lineno)
        items = list(f.slice.elts) if isinstance(f.slice, ast.Tuple) else [f.slice]
        binders = [self.binder(i) for i in items]
        if scan:
            if len(binders) != 1:
                self.fail(f, "a scan has one index", "scan over one index at a time")
            chunk = self.integer(found["chunk"]) if isinstance(found["chunk"], ast.expr) else 0
            return Scan(m, placeholder(binders[0].word), tuple(lifts), number, chunk, span)
        where = self._domain(found["where"])
        sized = [self.sized_binder(b, (*lifts, *where.data)) for b in binders]
        settling = Settling(sized)
        body = tuple(settling.scalar(s) for s in lifts)
        return Reduce(m, tuple(i for _, i in sized), settling.domain(where), body, number, span)

    def _lift(self, at: ast.expr, s: Scalar, axes: Sequence[Index], type: str) -> Scalar:
        """A lift of a component: its own axes are those of the monoid."""
        s = self.adopt(at, s, type)
        if type_of(s) != type:
            self.fail(at, f"a lift of type {type_of(s)} where {type} is folded", f"convert it: cast(x, {type})")
        return self.settle((s,), [(placeholder(self._word_of(a.name)), a) for a in axes])[0] if axes else s

    def _word_of(self, name: str) -> str:
        if words.is_word(name) and name not in self.dims and name not in self.lets:
            return name
        return next((w for w, real in self.real_names.items() if real == name), name)

    def _part(self, at: ast.Call, m: Monoid, part: str | int | None) -> int:
        names = [c.name for c in m.components]
        if isinstance(part, int):
            if not 0 <= part < len(names):
                self.fail(at, f"there is no component {part}", f"the components are: {', '.join(names)}")
            return part
        if part is None:
            if len(names) > 1:
                self.fail(at, f"'{m.name}' has several components", f"say which: .{' or .'.join(names)}")
            return 0
        if part not in names:
            self.unknown(at, part, "component", names)
        return names.index(part)

    def _domain(self, at: ast.expr | None) -> Domain:
        if at is None:
            return EVERYWHERE
        forms: list[Inequality] = []
        data: list[Scalar] = []
        for item in at.elts if isinstance(at, ast.Tuple) else [at]:
            whole = isinstance(item, ast.Call) and isinstance(item.func, ast.Name) and item.func.id == "value"
            for c in [self.scalar(item)] if whole else self.conditions(item, True):
                if isinstance(c, Test) and not whole:
                    forms.append(c.condition)
                elif type_of(c) != "bool":
                    self.fail(item, f"a condition of type {type_of(c)}", "compare it, e.g. x[j] > 0")
                else:
                    data.append(c)
        return Domain(tuple(forms), tuple(data))
