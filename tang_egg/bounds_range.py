"""The limits that a condition on data sets to an index: values it is compared with, and sorted keys read at it."""

from __future__ import annotations

from dataclasses import dataclass

from tang_egg.affine import Affine, Index
from tang_egg.ir import Apply, Input, Position, Read, Scalar, free, type_of


@dataclass(frozen=True, slots=True)
class Limit:
    """One side of a range: `low <= index` or `index < high`, from a value or from a count of sorted keys.

    `value`: an i64 scalar, `beyond` to be added to it; or None, then `holds` is the condition on a key that counts.
    """

    side: int
    value: Scalar | None
    beyond: int = 0
    holds: Scalar | None = None


def limits_of(index: Index, condition: Scalar) -> tuple[Limit, ...]:
    """The limits that a condition is made of, or none where it is no range of the index."""
    if not isinstance(condition, Apply) or condition.op not in ("eq", "lt", "le"):
        return ()
    a, b = condition.args
    strict = condition.op == "lt"
    if _is_position(a, index) and index not in free(b):
        return _value_limits(condition.op, b, -1, int(not strict))
    if _is_position(b, index) and index not in free(a):
        return _value_limits(condition.op, a, 1, int(strict))
    if _ascends(a, index) and index not in free(b):
        below, upto = Apply("lt", (a, b)), Apply("le", (a, b))
        ends = {"lt": (Limit(-1, None, holds=below),), "le": (Limit(-1, None, holds=upto),)}
        return ends.get(condition.op, (Limit(1, None, holds=below), Limit(-1, None, holds=upto)))
    if _ascends(b, index) and index not in free(a):
        below, upto = Apply("lt", (b, a)), Apply("le", (b, a))
        ends = {"lt": (Limit(1, None, holds=upto),), "le": (Limit(1, None, holds=below),)}
        return ends.get(condition.op, (Limit(1, None, holds=below), Limit(-1, None, holds=upto)))
    return ()


def _value_limits(op: str, value: Scalar, side: int, beyond: int) -> tuple[Limit, ...]:
    if op == "eq":
        return Limit(1, value), Limit(-1, value, 1)
    return (Limit(side, value, beyond),)


def _is_position(s: Scalar, index: Index) -> bool:
    return isinstance(s, Position) and s.form.single() is index


def _ascends(s: Scalar, index: Index) -> bool:
    """Whether a scalar is a sorted key at the index, perhaps as a wider integer."""
    if isinstance(s, Apply) and s.op == "cast:i64" and type_of(s.args[0]) in ("i8", "i16", "i32", "u8", "u16", "u32"):
        s = s.args[0]
    if not isinstance(s, Read) or not isinstance(s.source, Input) or not s.source.sorted:
        return False
    (at,) = s.coordinates
    return isinstance(at, Affine) and at.single() is index
