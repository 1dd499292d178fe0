"""Reads as operands of matrix products, and the products that they make.

    matrix part     left(i, k) · B(k, c)        accumulated over the stream k: B lies in memory, left may be computed
    contraction     Σ_d A(i, d) · B(k, d)       inside of a lift: both lie in memory

An operand has one axis of a tile contiguous in memory, and another one along some other axis of its source. It is a
float as it is read, or an integer of 8 bits as i32, or as a real: such products are exact, and added up in i32.
"""

from __future__ import annotations

from dataclasses import dataclass

from tang_egg.affine import Affine, Index, affine
from tang_egg.bounds import interval
from tang_egg.codegen.device import BYTES, WHOLE
from tang_egg.ir import Apply, Const, Position, Read, Reduce, Scalar, Source, Tensor, free, type_of, walk
from tang_egg.monoid import SUM
from tang_egg.ops import FLOATS


class Refused(Exception):
    """A kernel is not of this shape; the text says why."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A read seen as a matrix of `inner` (the contraction index) and `outer` (the other one).

    `lead`: the axis of the source along which the index that is not contiguous runs. `major`: "k" where `inner` is
    contiguous in memory, else "mn". `period`: where the source has `inner` // period and `inner` % period on two axes.
    """

    read: Read
    inner: Index
    outer: Index
    lead: int
    major: str
    period: int | None = None

    @property
    def dtype(self) -> str:
        return self.read.source.dtype


@dataclass(frozen=True, slots=True)
class Contraction:
    """S(row, stream) = Σ_index left(row, index) · right(stream, index), inside a lift."""

    node: Reduce
    index: Index
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class MatrixPart:
    """Component `part` accumulates left(row, stream) · right(stream, column); `plain`: left is a read as it stands."""

    part: int
    left: Scalar
    right: Operand
    plain: Operand | None


def matrix(read: Read, inner: Index, outer: Index) -> Operand:
    """A read as a matrix operand. Raises Refused where its coordinates do not allow that."""
    lead = last = period = None
    for n, given in enumerate(read.coordinates):
        c = given
        if not isinstance(c, Affine):
            shared = quotient(c)
            if shared is None:
                raise Refused(f"'{read.source.name}' is gathered")
            op, c, by = shared
            if c.indices() & {inner, outer}:
                if c != affine(inner) or period not in (None, by):
                    raise Refused(f"'{read.source.name}' is read along a diagonal or with a stride")
                period = by
                if op == "idiv":
                    continue
            else:
                continue
        here = c.indices() & {inner, outer}
        if not here:
            continue
        if len(here) > 1 or c.coefficient(next(iter(here))).value != 1:
            raise Refused(f"'{read.source.name}' is read along a diagonal or with a stride")
        if n == len(read.coordinates) - 1:
            last = next(iter(here))
        elif lead is not None:
            raise Refused(f"'{read.source.name}' is read along a diagonal")
        else:
            lead = n
    if lead is None or last is None:
        raise Refused(f"'{read.source.name}' is not a matrix with a contiguous axis here")
    if len(read.coordinates) > 5:
        raise Refused(f"'{read.source.name}' has more than five axes")
    _check_strides(read.source)
    return Operand(read, inner, outer, lead, "k" if last is inner else "mn", period)


def quotient(c: Scalar) -> tuple[str, Affine, int] | None:
    """A coordinate as ("idiv" or "imod", a form that is never negative, a positive divisor); None for any other."""
    if not isinstance(c, Apply) or c.op not in ("idiv", "imod"):
        return None
    above, below = c.args
    form = above.form if isinstance(above, Position) else None
    by = below.value if isinstance(below, Const) else below.form.value if isinstance(below, Position) else None
    if form is None or by is None or by < 1:
        return None
    low, _ = interval(form)
    return (c.op, form, int(by)) if low is not None and low >= 0 else None


def _check_strides(source: Source) -> None:
    size = source.shape[-1].value
    if size is None or size * BYTES.get(source.dtype, 1) % 16:
        raise Refused(f"rows of '{source.name}' are not multiples of 16 bytes")


def matrix_part(part: int, lift: Scalar, row: Index, column: Index, stream: Index) -> MatrixPart:
    """A lift as left · right, right a read along the columns. Raises Refused where it is none."""
    all_factors = factors(lift)
    right = [f for f in all_factors if column in free(f)]
    left = [f for f in all_factors if column not in free(f)]
    read = operand_read(right[0]) if len(right) == 1 else None
    if read is None or not left:
        raise Refused("a term that is not a factor of rows times a read of columns")
    operand = matrix(read, stream, column)
    if row in free(read):
        raise Refused("the right operand of a product changes with its row")
    value = times(left)
    plain_read = operand_read(value)
    plain = matrix(plain_read, stream, row) if plain_read is not None else None
    if operand.dtype in WHOLE:
        _check_exact(lift, operand, plain)
    return MatrixPart(part, value, operand, plain)


def operand_read(s: Scalar) -> Read | None:
    """The read that a factor is: a float as it stands, or an integer of 8 bits in a type that has all its values."""
    if isinstance(s, Read):
        return s if s.source.dtype in FLOATS else None
    if not isinstance(s, Apply) or s.op not in _KEEPING or not isinstance(s.args[0], Read):
        return None
    return s.args[0] if s.args[0].source.dtype in WHOLE else None


_KEEPING = frozenset(f"cast:{t}" for t in ("real", "i32", "f16", "bf16", "f32", "f64"))
"""Conversions that change no integer of 8 bits."""
_LARGEST = {"i8": 128, "u8": 255}


def _check_exact(lift: Scalar, right: Operand, left: Operand | None) -> None:
    """Raises Refused for products of integers that units do not add up exactly, or as the lift's type has it."""
    if left is None or left.dtype not in WHOLE:
        raise Refused("a product of integers of 8 bits with something else")
    if type_of(lift) == "i32":
        return
    _, longest = interval(right.inner.size)
    if longest is None or longest * _LARGEST[left.dtype] * _LARGEST[right.dtype] >= 1 << 31:
        raise Refused("a sum of products of integers that 32 bits may not hold")


def contraction(c: Reduce, row: Index, stream: Index) -> Contraction:
    """A sum inside a lift as a product. Raises Refused where it is none."""
    if c.monoid is not SUM or len(c.indices) != 1 or not c.where.everywhere:
        raise Refused("a fold inside the fold that is no plain sum")
    (index,) = c.indices
    parts = factors(c.body[0])
    if len(parts) != 2 or not all(isinstance(p, Read) for p in parts):
        raise Refused("a sum inside the fold that is not of products of two reads")
    right = [p for p in parts if stream in free(p)]
    left = [p for p in parts if stream not in free(p)]
    if len(right) != 1 or len(left) != 1 or row not in free(left[0]) or row in free(right[0]):
        raise Refused("a product inside the fold whose operands do not part into rows and columns")
    assert isinstance(left[0], Read)
    assert isinstance(right[0], Read)
    return Contraction(c, index, matrix(left[0], index, row), matrix(right[0], index, stream))


def staged_operands(lifts: list[Scalar], row: Index, stream: Index) -> tuple[Operand, ...]:
    """The reads of (row, stream) below some lifts, which are copied tile by tile."""
    reads = dict.fromkeys(r for x in lifts for r in reads_of(x) if {row, stream} <= free(r))
    return tuple(matrix(r, stream, row) for r in reads)


def better_turned(outputs: tuple[Tensor, ...], matrices: list[MatrixPart], column: Index) -> bool:
    """Whether plain products of f32 have right operands that lie across, and left ones that do not."""
    across = all(m.right.major == "mn" and m.plain is not None and m.plain.major == "k" for m in matrices)
    return across and all(m.right.dtype == "f32" for m in matrices) and all(column in t.axes for t in outputs)


def turned(m: MatrixPart) -> MatrixPart:
    """A plain product with its operands exchanged."""
    assert m.plain is not None
    return MatrixPart(m.part, m.right.read, m.plain, m.right)


def in_registers(m: MatrixPart) -> MatrixPart:
    """The product with a left operand of f32 that lies across as one that passes through registers."""
    across = m.plain is not None and m.plain.dtype == "f32" and m.plain.major == "mn"
    return MatrixPart(m.part, m.left, m.right, None) if across else m


def factors(s: Scalar) -> list[Scalar]:
    """The factors of a product, in order."""
    if isinstance(s, Apply) and s.op == "mul":
        return [f for a in s.args for f in factors(a)]
    return [s]


def times(parts: list[Scalar]) -> Scalar:
    """The product of some factors."""
    total = parts[0]
    for p in parts[1:]:
        total = Apply("mul", (total, p))
    return total


def reads_of(s: Scalar) -> list[Read]:
    """All reads below a scalar, itself included."""
    return [x for x in walk(s) if isinstance(x, Read)]
