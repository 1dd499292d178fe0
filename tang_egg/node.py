"""Hash-consed nodes: equal trees are one object, so equality is identity and every table lookup is O(1).

Graphs share subterms heavily (a residual stream is read by every layer). Structural hashing would walk the
unshared tree, which grows exponentially with depth; interning at construction keeps each node's cost constant.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, dataclass_transform
from weakref import WeakValueDictionary

_TABLE: WeakValueDictionary[tuple[Any, ...], Any] = WeakValueDictionary()
_LOCK = threading.Lock()


def _key(value: Any) -> Any:
    # 1, 1.0 and True are equal to Python, as are 0.0 and -0.0; as constants of a graph they differ.
    if isinstance(value, float):
        return ("float", value.hex())
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, tuple):
        return tuple(_key(item) for item in value)
    return value


class _Interned(type):
    """Metaclass: building a node whose fields equal those of a live node gives that node back."""

    _compared: tuple[str, ...] | None = None

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        compared = cls.__dict__.get("_compared")
        if compared and not kwargs and len(args) >= len(compared):
            # nearly all are there already, and to look one up is quicker than to build it
            known = _TABLE.get(cls._identity(args[: len(compared)]))
            if known is not None:
                return known
        fresh = super().__call__(*args, **kwargs)
        names = compared or tuple(f.name for f in fields(fresh) if f.compare)
        if compared is None:
            leading = names == tuple(f.name for f in fields(fresh))[: len(names)]
            type.__setattr__(cls, "_compared", names if leading else ())
        with _LOCK:
            return _TABLE.setdefault(cls._identity([getattr(fresh, name) for name in names]), fresh)

    def _identity(cls, values: Iterable[Any]) -> tuple[Any, ...]:
        """What equal nodes share: their class and the values of compared fields."""
        return (cls, *(values if cls._whole_numbers else map(_key, values)))  # type: ignore[attr-defined]


@dataclass_transform(frozen_default=True, eq_default=False)
class Node(metaclass=_Interned):
    """Base of all interned nodes. Fields declared with `field(compare=False)` do not take part in identity."""

    __slots__ = ()

    _whole_numbers: ClassVar[bool] = False
    """Whether the numbers in its fields are integers only, so that they need no telling apart."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: object) -> Node:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), tuple(getattr(self, f.name) for f in fields(self)))  # type: ignore[arg-type]


node = dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
"""Decorator of every concrete subclass of `Node`."""
