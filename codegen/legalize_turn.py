"""Copies of blocks that lie across each other become transposes in registers.

    turned j in 0..J: vector i in 0..I: to[i·J + j] = from[j·m + i]
        ->  for j by 8: for i by 8: eight vectors along i are loaded, turned, and stored as eight vectors along j

A block of W x W elements takes log2 W rounds. Two vectors a and b are joined by halves, parted in quarters, or zipped;
those of 32 and 64 bytes zip within pieces of 16, because that is one instruction:

    join_low(a, b) = a0 .. a3 b0 .. b3     zip_low(a, b) = a0 b0 a1 b1, in each piece
    part_low(a, b) = the first and third quarters of a, then those of b                      (of vectors of 64 bytes)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tang_egg import ops
from tang_egg.affine import AffineLike, Dim, Index, affine
from tang_egg.codegen.kernel import Call, Expr, Form, Let, Load, Loop, Stmt, Store, Var, element, number, vector
from tang_egg.codegen.vectors import AVX2

WIDTHS = {2: 8, 4: 8, 8: 4}
"""Lanes of the vectors that are turned, by the bytes of an element."""

WIDE = {4: 16, 8: 8}
"""Those where registers are of 64 bytes."""

RAW = {"f16": "r16", "bf16": "r16"}
"""What elements without arithmetic of their own are called while they are only moved."""

Name = Callable[[str], str]


def turned_copy(s: Loop, name: Name, size: int = AVX2.bytes) -> list[Stmt] | None:
    """The loops over blocks that a loop of kind `turned` becomes; None where it is no copy that can be turned.

    Vectors have at most `size` bytes.
    """
    inner = s.body[0] if len(s.body) == 1 else None
    if not isinstance(inner, Loop) or inner.kind != "vector" or len(inner.body) != 1:
        return None
    copy = inner.body[0]
    if not isinstance(copy, Store) or not isinstance(copy.value, Load) or copy.value.type != copy.buffer.type:
        return None
    load, kind = copy.value, copy.buffer.type
    sizes = [_constant(s.stop), _constant(inner.stop)]
    tables = (WIDE, WIDTHS) if size > AVX2.bytes else (WIDTHS,)
    widths = [n for t in tables if (n := t.get(ops.BYTES.get(kind, 0), 0))]
    width = next((n for n in widths if all(x is not None and x % n == 0 for x in sizes)), 0)
    if not width:
        return None
    steps = [_step(load.index, inner.var), _step(copy.index, s.var)]
    if steps != [1, 1] or not load.safe:
        return None
    across, along = name(s.var), name(inner.var)
    kind = vector(RAW.get(kind, kind), width)

    def at(index: Expr, outer: int, lane: int) -> Expr:
        assert isinstance(index, Form)
        swap: dict[Dim | Index, AffineLike] = {
            Dim(s.var): affine(Dim(across)) + outer,
            Dim(inner.var): affine(Dim(along)) + lane,
        }
        return Form(index.form.substitute(swap))

    body: list[Stmt] = []
    rows: list[Expr] = []
    for n in range(width):
        rows.append(_named(Load(load.buffer, at(load.index, n, 0), kind), body, name))
    for n, x in enumerate(transposed(rows, lambda op, a, b: _named(Call(op, (a, b), kind), body, name))):
        body.append(Store(copy.buffer, at(copy.index, 0, n), x))
    loop = Loop(along, number(0), inner.stop, width, "serial", tuple(body))
    return [Loop(across, number(0), s.stop, width, "serial", (loop,))]


def transposed(rows: Sequence[Expr], pair: Callable[[str, Expr, Expr], Expr]) -> list[Expr]:
    """The columns of as many rows as they have lanes; `pair` writes one operation on two vectors.

    Vectors of two halves of 16 bytes are joined first, then zipped within halves; others are zipped only. Those of four
    pieces are joined and parted first: rows a piece's lanes apart end in the pieces of one vector.
    """
    kind, count = element(rows[0].type), len(rows)
    if kind in ("r16", "i16", "u16"):
        return _zipped(list(rows), pair)
    if count * ops.BYTES[kind] == 64:
        step = count // 4
        near = [(rows[n], rows[n + step]) for m in (0, 2 * step) for n in range(m, m + step)]
        out: list[Expr] = []
        for join in ("join_low", "join_high"):
            joined = [pair(join, a, b) for a, b in near]
            for part in ("part_low", "part_high"):
                far = zip(joined[:step], joined[step:], strict=True)
                out += _zipped([pair(part, a, b) for a, b in far], pair)
        return out
    halves = list(zip(rows[: len(rows) // 2], rows[len(rows) // 2 :], strict=True))
    low, high = ([pair(op, a, b) for a, b in halves] for op in ("join_low", "join_high"))
    return [x for half in (low, high) for x in _zipped(half, pair)]


def _zipped(rows: list[Expr], pair: Callable[[str, Expr, Expr], Expr]) -> list[Expr]:
    """Rows zipped with those half their number further on, until each holds one column of each half."""
    count = len(rows)
    for _ in range(count.bit_length() - 1):
        halves = zip(rows[: count // 2], rows[count // 2 :], strict=True)
        rows = [pair(op, a, b) for a, b in halves for op in ("zip_low", "zip_high")]
    return rows


def _named(value: Expr, body: list[Stmt], name: Name) -> Expr:
    """A value under a name of its own."""
    var = Var(name("x"), value.type)
    body.append(Let(var.name, value))
    return var


def _constant(e: Expr) -> int | None:
    return e.form.value if isinstance(e, Form) else None


def _step(index: Expr, var: str) -> int | None:
    """How far an address moves with a variable; None where that is no constant."""
    if not isinstance(index, Form) or all(d.name != var for d in index.form.dims()):
        return None
    here, there = (index.form.substitute({Dim(var): n}) for n in (0, 1))
    return (there - here).value
