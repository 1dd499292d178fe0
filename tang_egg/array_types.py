"""Element types of traced arrays: their names in NumPy and the Array API, promotion, and conversion.

Types promote as in NumPy, of which the Array API's table is a part: i32 with f32 gives f64. bf16, which NumPy lacks,
stays among itself and small integers, and gives f32 with f16. Python numbers are weak: they take the type of the array
beside them as long as its kind (bool, integer, float) is no lower than theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from tang_egg import ops
from tang_egg.affine import Affine, Dim, affine
from tang_egg.expression import Expression, cast, value
from tang_egg.ops_eight import EIGHT
from tang_egg.traced import Traced, compute, fail, full, scalar

Number: TypeAlias = "bool | int | float | Affine | Dim"
"""What adopts an element type: Python's numbers, and extents, which count as integers."""

NAMES = {
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "int8": "i8", "int16": "i16",
    "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "bool",
}  # fmt: skip
"""The names of element types in the Array API → their names here."""

NUMPY_NAMES = {short: long for long, short in NAMES.items() if long != "bfloat16"}
NAMES |= {"float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2"}

_MANTISSA = {"bf16": 8, "f16": 11, "f32": 24, "f64": 53} | {t: f.places + 1 for t, f in EIGHT.items()}
_WHOLE_BITS = {t: int(t[1:]) - (t[0] == "i") for t in ops.INTEGERS} | {"bool": 1}


def dtype_of(given: object) -> str:
    """The element type that a name, a NumPy type or one of Python's bool, int and float means.

    Raises GraphError for anything else.
    """
    if isinstance(given, str):
        found = given if given in ops.STORAGE else NAMES.get(given)
        if found is not None:
            return found
    elif given in (bool, int, float):
        return {bool: "bool", int: "i64", float: "f64"}[given]
    try:
        name = np.dtype(given).name  # type: ignore[call-overload]
    except TypeError:
        name = getattr(given, "name", None)
    if isinstance(name, str) and name in NAMES:
        return NAMES[name]
    raise fail(f"{given!r} is no element type", f"use one of {', '.join(NAMES)}")


def kind_of(dtype: str) -> int:
    """0 for bool, 1 for integers, 2 for floats."""
    return 2 if dtype in ops.FLOATS else 0 if dtype == "bool" else 1


def promote(a: str, b: str) -> str:
    """The element type of an operation on two."""
    if a == b:
        return a
    if a in EIGHT or b in EIGHT:  # the narrowest type that has the values of both
        a, b = ("bf16" if x in EIGHT else x for x in (a, b))
        return promote(a, b) if a != b else "bf16"
    if "bf16" in (a, b):
        other = b if a == "bf16" else a
        if other in ("f16", "f32", "f64"):
            return "f32" if other == "f16" else other
        return "bf16" if _WHOLE_BITS[other] <= 8 else "f32" if _WHOLE_BITS[other] <= 16 else "f64"
    return NAMES[np.promote_types(NUMPY_NAMES[a], NUMPY_NAMES[b]).name]


def promote_number(dtype: str, number: Number) -> str:
    """The element type of an array of `dtype` beside a Python number."""
    kind = kind_of(type_of_number(number))
    if kind <= kind_of(dtype):
        return dtype
    return "i64" if kind == 1 else "f64"


def result_type(*given: Any) -> str:
    """The common element type of arrays, element types and Python numbers."""
    arrays = [x.dtype if isinstance(x, Traced) else dtype_of(x) for x in given if not is_number(x)]
    numbers = [x for x in given if is_number(x)]
    if not arrays:
        if not numbers:
            raise fail("nothing to find a common element type of", "give at least one array or element type")
        kinds = [type_of_number(x) for x in numbers]
        arrays, numbers = [max(kinds, key=kind_of)], []
    found = arrays[0]
    for other in arrays[1:]:
        found = promote(found, other)
    for number in numbers:
        found = promote_number(found, number)
    return found


def is_number(x: object) -> TypeGuard[Number]:
    """Whether `x` is a number that adopts an element type. NumPy's scalars are arrays."""
    return isinstance(x, (bool, int, float, Affine, Dim)) and not isinstance(x, np.generic)


def type_of_number(x: Number) -> str:
    """The element type of a number beside no array."""
    return "bool" if isinstance(x, bool) else "f64" if isinstance(x, float) else "i64"


def number_as(x: Number, dtype: str) -> Traced:
    """A number as an array without axes."""
    if isinstance(x, (Affine, Dim)):
        form = affine(x)
        return number_as(form.value, dtype) if form.value is not None else as_type(scalar(value(form), "i64"), dtype)
    return scalar(x, dtype)


def floating(dtype: str) -> str:
    """The float type in which functions of reals take elements: f64 for integers and bools."""
    return dtype if dtype in ops.FLOATS else "f64"


def accumulator(dtype: str) -> str:
    """The element type of sums and products: 64 bits for integers and bools."""
    return dtype if dtype in ops.FLOATS else "u64" if dtype[0] == "u" else "i64"


def convert(x: Expression, source: str, target: str) -> Expression:
    """An element of type `source` as one of type `target`, for promotion: floats do not round here."""
    kind = ops.scalar_type(target)
    if x.type == kind:
        return x
    if kind == "real":
        return cast(x, "real" if exact(source, target) else target)
    return cast(x, target)


def exact(source: str, target: str) -> bool:
    """Whether float type `target` has every value of an integer type (or bool)."""
    return _WHOLE_BITS[source] <= _MANTISSA[target]


def as_type(x: Traced, dtype: str) -> Traced:
    """`x` with elements of another type, by promotion: a view, which does not round floats."""
    if x.dtype == dtype:
        return x
    if x.constant is not None:
        return full(x.extents, converted(x.constant, x.dtype, dtype), dtype)
    source, at = x.dtype, x.at
    same = ops.scalar_type(source) == ops.scalar_type(dtype)
    return Traced(x.factors, at if same else lambda c: convert(at(c), source, dtype), dtype)


def astype(x: Traced, dtype: object, *, copy: bool = True) -> Traced:
    """`x` converted as the user says: a narrower float type rounds, an integer type truncates and wraps."""
    target = dtype_of(dtype)
    if target == x.dtype:
        return x
    rounds = x.dtype in ops.FLOATS and target in ops.FLOATS and promote(x.dtype, target) != target
    if rounds:
        return compute(lambda a: cast(a, target), x, dtype=target, hint="cast")
    return as_type(x, target)


def converted(x: bool | int | float, source: str, target: str) -> bool | int | float:
    """A constant converted as the language's cast does it; floats do not round."""
    kind = ops.scalar_type(target)
    found = ops.cast_value(np.asarray(x), kind, ops.scalar_type(source)).item()
    return found  # type: ignore[no-any-return]


def can_cast(source: Any, target: object, /) -> bool:
    """Whether every value of one element type is a value of the other."""
    a, b = source.dtype if isinstance(source, Traced) else dtype_of(source), dtype_of(target)
    return promote(a, b) == b


def isdtype(dtype: object, kind: object) -> bool:
    """Whether an element type is of a kind: a type, one of the Array API's words, or any of a tuple of them."""
    name = dtype_of(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(name, k) for k in kind)
    words: dict[object, tuple[str, ...]] = {
        "signed integer": tuple(t for t in ops.INTEGERS if t[0] == "i"),
        "unsigned integer": tuple(t for t in ops.INTEGERS if t[0] == "u"),
        "integral": ops.INTEGERS,
        "real floating": ops.FLOATS,
        "complex floating": (),
        "numeric": (*ops.INTEGERS, *ops.FLOATS),
    }
    return name in words[kind] if isinstance(kind, str) and kind in words else name == dtype_of(kind)


@dataclass(frozen=True, slots=True)
class FloatInfo:
    """Limits of a float type."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: str


@dataclass(frozen=True, slots=True)
class IntegerInfo:
    """Limits of an integer type."""

    bits: int
    max: int
    min: int
    dtype: str


def finfo(given: Any, /) -> FloatInfo:
    """The limits of a float type, or of the type of an array."""
    dtype = given.dtype if isinstance(given, Traced) else dtype_of(given)
    if dtype not in ops.FLOATS:
        raise fail(f"{dtype} is no float type", "use iinfo for integers")
    if dtype in EIGHT:
        f = EIGHT[dtype]
        return FloatInfo(8, 2.0**-f.places, f.largest, -f.largest, 2.0**f.least, dtype)
    if dtype == "bf16":
        largest = (2 - 2.0**-7) * 2.0**127
        return FloatInfo(16, 2.0**-7, largest, -largest, 2.0**-126, dtype)
    known = np.finfo(NUMPY_NAMES[dtype])
    return FloatInfo(
        known.bits, float(known.eps), float(known.max), float(known.min), float(known.smallest_normal), dtype
    )


def iinfo(given: Any, /) -> IntegerInfo:
    """The limits of an integer type, or of the type of an array."""
    dtype = given.dtype if isinstance(given, Traced) else dtype_of(given)
    if dtype not in ops.INTEGERS:
        raise fail(f"{dtype} is no integer type", "use finfo for floats")
    known = np.iinfo(NUMPY_NAMES[dtype])
    return IntegerInfo(known.bits, int(known.max), int(known.min), dtype)


def truth(x: Expression) -> Expression:
    """Whether an element is not zero."""
    return x if x.type == "bool" else cast(x, "bool")
