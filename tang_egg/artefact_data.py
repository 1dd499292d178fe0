"""Records as JSON and back: dataclasses of numbers, texts, tuples and dicts, checked against their declared types.

What is read is data: nothing is imported, called or constructed by a name that a file gives.
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
from collections.abc import Mapping
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from tang_egg.errors import ArtefactError

T = TypeVar("T")

_WORDS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_MEND = "save it again; the file was changed or is damaged"


def dump(value: object) -> str:
    """A record as JSON text that depends on its content alone."""
    return json.dumps(plain(value), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """A record as what JSON knows; infinities and NaN become words."""
    if dataclasses.is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def parse(text: bytes, where: str) -> Any:
    """The JSON of some bytes. Raises ArtefactError when they are none."""
    try:
        return json.loads(text.decode())
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ArtefactError(f"this is no JSON: {' '.join(str(error).split())[:160]}", where=where, mend=_MEND) from None


def load(kind: type[T], text: bytes, where: str) -> T:
    """The record of type `kind` in some JSON. Raises ArtefactError naming the field that does not fit."""
    return cast(T, typed(kind, parse(text, where), where))


def typed(kind: Any, data: Any, where: str) -> Any:
    """Plain data as a value of type `kind`. Fields that are not known are left out; those that lack take defaults."""
    origin, arguments = get_origin(kind), get_args(kind)
    if dataclasses.is_dataclass(kind):
        return _record(kind, data, where)
    if origin in (types.UnionType, Union):
        if data is None and type(None) in arguments:
            return None
        (inner,) = (a for a in arguments if a is not type(None))
        return typed(inner, data, where)
    if origin is tuple and isinstance(data, list):
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(typed(arguments[0], x, f"{where}[{n}]") for n, x in enumerate(data))
        if len(arguments) == len(data):
            return tuple(typed(a, x, f"{where}[{n}]") for n, (a, x) in enumerate(zip(arguments, data, strict=True)))
    if origin is dict and isinstance(data, dict):
        return {k: typed(arguments[1], v, f"{where}.{k}") for k, v in data.items()}
    if kind is float:
        if isinstance(data, str) and data in _WORDS:
            return _WORDS[data]
        if isinstance(data, (int, float)) and not isinstance(data, bool):
            return _float(data, where)
    elif kind in (str, int, bool) and type(data) is kind:
        return data
    raise ArtefactError(
        f"{_shown(data)} stands where {_named(kind)} is expected",
        where=where,
        mend=_MEND,
    )


def _float(data: int | float, where: str) -> float:
    try:
        return float(data)
    except OverflowError:
        raise ArtefactError("a number is too large", where=where, mend=_MEND) from None


def _record(kind: Any, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise ArtefactError(f"{_shown(data)} stands where a record is expected", where=where, mend=_MEND)
    hints = get_type_hints(kind)
    values: dict[str, Any] = {}
    for f in dataclasses.fields(kind):
        if f.name in data:
            values[f.name] = typed(hints[f.name], data[f.name], f"{where}.{f.name}")
        elif f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING:
            raise ArtefactError(f"the field '{f.name}' is missing", where=where, mend=_MEND)
    return kind(**values)


def _shown(data: object) -> str:
    text = repr(data)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _named(kind: object) -> str:
    return getattr(kind, "__name__", str(kind)) if not get_args(kind) else str(kind)
