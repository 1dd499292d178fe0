"""Names, indices and affine forms of the text form, read from Python syntax trees.

An index is read as a placeholder and gets its size when the fold or tensor that binds it has been read: the size
written there, or else that of the axes on which it stands alone. So a `let` can be read once, whatever it stands in.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NoReturn, TypeAlias

from tang_egg import text_names as words
from tang_egg.affine import Affine, Dim, Index, affine
from tang_egg.errors import TextError
from tang_egg.ir import (
    Input,
    Position,
    Read,
    Reduce,
    Scalar,
    Scan,
    Source,
    StateRef,
    Tensor,
    Test,
    walk,
)
from tang_egg.monoid import Monoid
from tang_egg.rewrite import DimBinding
from tang_egg.sizes import placeholder

Sized: TypeAlias = tuple[Index, Index]
"""A placeholder and the index that it stands for."""


@dataclass(frozen=True, slots=True)
class Binder:
    """An index where it is bound: its word, its size if that is written, and its place."""

    word: str
    size: Affine | None
    at: ast.expr


class Settling(DimBinding):
    """Replaces placeholders; tensors, inputs and monoids that are read have none."""

    def __init__(self, sized: Sequence[Sized]) -> None:
        super().__init__({})
        self.indices.update(sized)

    def index(self, i: Index) -> Index:
        return self.indices.get(i, i)

    def tensor(self, t: Tensor) -> Tensor:
        return t

    def input(self, i: Input) -> Input:
        return i

    def monoid(self, m: Monoid) -> Monoid:
        return m

    def _node(self, s: Scalar) -> Scalar:
        return Position(self.form(s.form)) if isinstance(s, Position) else super()._node(s)


class FormReader:
    """What is known from the statements before, and how names, indices and affine forms are read with it."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.real_names: dict[str, str] = {}
        self.dims: dict[str, Dim] = {}
        self.arrays: dict[str, Source] = {}
        self.lets: dict[str, ast.expr] = {}
        self.let_values: dict[tuple[str, int], Scalar] = {}
        self.open_lets: list[str] = []
        self.components: dict[str, str] | None = None

    # -- messages and names

    def place(self, at: ast.AST) -> str:
        return f"{self.file}:{getattr(at, 'lineno', 1)}:{getattr(at, 'col_offset', 0) + 1}"

    def fail(self, at: ast.AST, what: str, mend: str) -> NoReturn:
        raise TextError(what, where=self.place(at), mend=mend)

    def unknown(self, at: ast.AST, word: str, what: str, known: Sequence[str]) -> NoReturn:
        close = get_close_matches(word, known, 1)
        mend = f"did you mean '{close[0]}'?" if close else f"known: {', '.join(known) or 'none'}"
        self.fail(at, f"no {what} is called '{word}'", mend)

    def real_name(self, word: str) -> str:
        return self.real_names.get(word, word)

    def claim(self, at: ast.AST, word: str) -> None:
        """Takes a word for one meaning. Fails for words of the language and for a second definition."""
        if word in words.RESERVED:
            self.fail(at, f"'{word}' is a word of the language", f'choose another word, or {word}_ = named("{word}")')
        if word in self.dims or word in self.arrays or word in self.lets:
            self.fail(at, f"'{word}' is defined twice", "rename one of the two")

    def type_word(self, at: ast.expr, known: Sequence[str]) -> str:
        if isinstance(at, ast.Name) and at.id in known:
            return at.id
        self.unknown(at, ast.unparse(at)[:40], "type", known)

    def integer(self, at: ast.expr) -> int:
        value = literal(at)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        self.fail(at, "a whole number is expected", "write it in digits")

    def keywords(self, call: ast.Call, defaults: dict[str, Any], positional: int) -> dict[str, Any]:
        """The keyword operands of a call over their defaults, as syntax trees."""
        if len(call.args) != positional:
            self.fail(call, f"{len(call.args)} operands where {positional} are expected", "count them again")
        found = dict(defaults)
        for k in call.keywords:
            if k.arg is None or k.arg not in defaults:
                self.unknown(k.value, str(k.arg), "keyword", tuple(defaults))
            found[k.arg] = k.value
        return found

    # -- indices and affine forms

    def size(self, at: ast.expr) -> Affine:
        """An extent: a form over dims."""
        form = self.form(at)
        if form is None:
            self.fail(at, "an extent is expected", "write a number, a dim, or a sum of products of them")
        for i in form.indices():
            self.unknown(at, i.name, "dim", tuple(self.dims))
        return form

    def form(self, at: ast.expr) -> Affine | None:
        """An affine form over indices and dims, or None where the syntax is of another kind."""
        if isinstance(at, ast.Name):
            if at.id in self.lets or at.id in ("inf", "nan"):
                return None
            return affine(self.dims[at.id] if at.id in self.dims else self.index(at))
        if isinstance(at, ast.Constant):
            return affine(at.value) if type(at.value) is int else None
        if isinstance(at, ast.UnaryOp) and isinstance(at.op, ast.USub):
            inner = self.form(at.operand)
            return None if inner is None else -inner
        if isinstance(at, ast.BinOp) and isinstance(at.op, (ast.Add, ast.Sub, ast.Mult)):
            left, right = self.form(at.left), self.form(at.right)
            if left is None or right is None:
                return None
            if isinstance(at.op, ast.Mult):
                return left * right
            return left + right if isinstance(at.op, ast.Add) else left - right
        return None

    def index(self, at: ast.Name) -> Index:
        if at.id in words.RESERVED:
            self.fail(at, f"'{at.id}' is a word of the language", "use another name for an index")
        return placeholder(at.id)

    def binder(self, at: ast.expr) -> Binder:
        if isinstance(at, ast.Slice) and isinstance(at.lower, ast.Name) and at.upper is not None and at.step is None:
            return Binder(self.index(at.lower).name, self.size(at.upper), at.lower)
        if not isinstance(at, ast.Name):
            self.fail(at, "an index is expected", "write its name, or name:size")
        if at.id in self.dims or at.id in self.lets:
            self.fail(at, f"'{at.id}' is a dim or an expression, not an index", "use another name for the index")
        return Binder(self.index(at).name, None, at)

    def sized_binder(self, b: Binder, roots: Sequence[Scalar]) -> Sized:
        """The placeholder of a binder and the index that it is, sized by what is written or by the reads below."""
        stand_in = placeholder(b.word)
        if b.size is not None:
            return stand_in, Index(self.real_name(b.word), b.size)
        sizes = dict.fromkeys(
            size
            for s in walk(*roots)
            if isinstance(s, Read)
            for size, c in zip(s.source.shape, s.coordinates, strict=False)
            if isinstance(c, Affine) and c.single() is stand_in
        )
        if len(sizes) != 1:
            found = "no size" if not sizes else f"two sizes, {' and '.join(map(repr, list(sizes)[:2]))}"
            self.fail(b.at, f"index '{b.word}' has {found}", f"write the size where it is bound: {b.word}:8")
        return stand_in, Index(self.real_name(b.word), next(iter(sizes)))

    def settle(self, roots: Sequence[Scalar], sized: Sequence[Sized]) -> tuple[Scalar, ...]:
        settling = Settling(sized)
        return tuple(settling.scalar(r) for r in roots)

    def check_settled(self, at: ast.AST, root: Scalar) -> None:
        for s in walk(root):
            forms: list[Affine] = []
            if isinstance(s, Position):
                forms = [s.form]
            elif isinstance(s, Test):
                forms = [s.condition.form]
            elif isinstance(s, (Read, StateRef)):
                forms = [c for c in s.coordinates if isinstance(c, Affine)]
            elif isinstance(s, Reduce):
                forms = [c.form for c in s.where.affine]
            elif isinstance(s, Scan):
                forms = [affine(s.index)]
            for i in sorted(frozenset().union(*(f.indices() for f in forms)), key=lambda i: i.name):
                if i.size is affine(Dim("?" + i.name)):
                    self.fail(
                        at,
                        f"index '{i.name}' is bound by no fold and is no axis",
                        "add it to the axes, or fold over it; a dim needs a line such as n = dim()",
                    )


def literal(at: ast.expr) -> float | int | bool | None:
    """The number that a literal states, signs included, or None."""
    if isinstance(at, ast.Constant):
        return at.value if isinstance(at.value, (bool, int, float)) else None
    if isinstance(at, ast.Name):
        return {"inf": float("inf"), "nan": float("nan")}.get(at.id)
    if isinstance(at, ast.UnaryOp) and isinstance(at.op, ast.USub):
        inner = literal(at.operand) if not isinstance(at.operand, ast.UnaryOp) else None
        return None if inner is None or isinstance(inner, bool) else -inner
    return None
