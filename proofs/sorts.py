"""Sorts of the variables of a law: what stands at each place of a constructor, an operation or a relation.

sort ::= a name ("index", "names", "view", "kept", "Z", "indices")
       | Of(kind, type, ...)      "sc" a scalar, "monoid", "value" a constant, "closed", "keyed", "fun"
type ::= "xr" | "bool" | "int" | Free
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TypeAlias, Union


@dataclass(frozen=True, slots=True)
class Free:
    """A type that is not known yet; what stays unknown is any type."""

    number: int


@dataclass(frozen=True, slots=True)
class Of:
    """A kind of thing over types (for "fun": operands, then the result)."""

    kind: str
    types: tuple[Sort, ...]


Sort: TypeAlias = Union[str, Free, Of]  # noqa: UP007 (a forward reference inside | fails at run time)


class SortError(Exception):
    """An entry of the table whose variables have no consistent sorts."""


@dataclass(slots=True)
class Unifier:
    """Equations between sorts, solved as they come."""

    bound: dict[Free, Sort] = field(default_factory=dict)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def fresh(self) -> Free:
        """A new unknown type."""
        return Free(next(self._numbers))

    def find(self, s: Sort) -> Sort:
        """`s` with all that is known put in."""
        while isinstance(s, Free) and s in self.bound:
            s = self.bound[s]
        return Of(s.kind, tuple(self.find(t) for t in s.types)) if isinstance(s, Of) else s

    def unify(self, a: Sort, b: Sort, where: str) -> None:
        """States that two sorts are the same. Raises SortError when they cannot be."""
        a, b = self.find(a), self.find(b)
        if a == b:
            return
        if isinstance(a, Free):
            self.bound[a] = b
        elif isinstance(b, Free):
            self.bound[b] = a
        elif isinstance(a, Of) and isinstance(b, Of) and a.kind == b.kind and len(a.types) == len(b.types):
            for x, y in zip(a.types, b.types, strict=True):
                self.unify(x, y, where)
        else:
            raise SortError(f"{show(a)} against {show(b)} in {where}")


def scalar(type: Sort) -> Of:
    """Scalars of a type."""
    return Of("sc", (type,))


def function(*types: Sort) -> Of:
    """Operations: operand types, then the type of the result."""
    return Of("fun", types)


def show(s: Sort) -> str:
    """The type in Rocq."""
    if isinstance(s, Free):
        return f"T{s.number}"
    if isinstance(s, str):
        return {"index": "string", "Z": "Z", "indices": "list string"}.get(s, s)
    parts = [show(t) for t in s.types]
    if s.kind == "fun":
        return " -> ".join(parts)
    return parts[0] if s.kind == "value" else f"{s.kind} {' '.join(parts)}"


def parse_sort(text: str, letters: dict[str, Free], unifier: Unifier) -> Sort:
    """A sort from a signature: "real", "bool", "int", "A" are scalars; "monoid:A", "fun:int,int,bool"; else a name."""
    types = {"real": "xr", "bool": "bool", "int": "int", "xr": "xr", "position": "position"}

    def type_of(t: str) -> Sort:
        return types[t] if t in types else letters.setdefault(t, unifier.fresh())

    kind, _, rest = text.partition(":")
    if rest:
        return Of(kind, tuple(type_of(t) for t in rest.split(",")))
    if kind in ("real", "bool", "int") or (len(kind) == 1 and kind.isupper() and kind != "Z"):
        return scalar(type_of(kind))
    return kind


_REAL = ("xr", "xr")
OPERATIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "neg": ("xneg", _REAL), "exp": ("xexp", _REAL), "log": ("xlog", _REAL), "sqrt": ("xsqrt", _REAL),
    "sin": ("xsin", _REAL), "floor": ("xfloor", _REAL), "recip": ("recip", _REAL), "tanh": ("tanh_", _REAL),
    "erf": ("erf_", _REAL), "atan2": ("atan2", ("xr", "xr", "xr")),
    "add": ("xadd", ("xr", "xr", "xr")), "mul": ("xmul", ("xr", "xr", "xr")),
    "max": ("xmax", ("xr", "xr", "xr")), "min": ("xmin", ("xr", "xr", "xr")),
    "lt": ("xlt", ("xr", "xr", "bool")), "le": ("xle", ("xr", "xr", "bool")), "eq": ("xeq", ("xr", "xr", "bool")),
    "and": ("andb", ("bool", "bool", "bool")), "or": ("orb", ("bool", "bool", "bool")),
    "not": ("negb", ("bool", "bool")),
    "add:i64": ("int_add", ("int", "int", "int")), "eq:i64": ("int_eq", ("int", "int", "bool")),
    "le:i64": ("int_le", ("int", "int", "bool")), "lt:i64": ("int_lt", ("int", "int", "bool")),
    "cast:real:bool": ("indicator", ("bool", "xr")),
}  # fmt: skip
"""Operations with a meaning of their own in Semantics.v; any other is an arbitrary function in each statement."""

MONOIDS = {"sum": ("Sum", "xr"), "product": ("Product", "xr"), "max": ("Max", "xr"), "min": ("Min", "xr"),
           "any": ("Any", "bool"), "all": ("All", "bool"), "sum:i64": ("Count", "int")}  # fmt: skip

SIGNATURES: dict[str, tuple[str, ...]] = {
    "replaces": ("view", "names", "names"), "clean": ("A", "index"), "finished": ("A", "index"),
    "indexed": ("index",), "chunked": ("index", "Z"),
    "neutral": ("monoid:A", "A"), "member": ("index", "bool", "A"),
    "split": ("real", "index", "real", "real"), "extent": ("index", "real"), "inverse_extent": ("index", "real"),
    "spreads": ("real", "index", "real", "real"),
    "inhabited": ("index", "bool"), "doubtful": ("index", "bool"), "finite": ("real",),
    "implies": ("bool", "bool"),
    "statistic": ("real", "index"), "abstracts": ("A", "index", "A"),
    "scales": ("real", "real"), "moves": ("real", "real"), "mixes": ("real", "real", "real"), "positive": ("real",),
    "position": ("int", "index"), "shifted": ("int", "index", "int"), "points": ("index", "int"),
    "opposite": ("bool", "bool", "index", "int"), "within": ("index", "int"),
    "reads": ("closed:A", "index", "fun:position,int,A"), "only_gathered": ("fun:position,B,A", "index"),
    "ascending": ("int", "index", "int", "index"), "widens": ("fun:int,int",),
    "compares": ("fun:int,int,bool", "fun:int,int,bool", "fun:int,int,bool"),
    "matches": ("bool", "index", "int"), "half": ("bool", "index", "bool", "bool"),
    "point": ("bool", "index", "int", "bool"), "apart": ("bool", "index", "bool", "bool"), "pins": ("bool", "index"),
    "scattered": ("real", "index", "index", "bool", "real"),
    "keeps": ("monoid:real", "real", "index"),
    "carried": ("monoid:real", "index", "real", "kept"),
}  # fmt: skip
"""What the places of a relation are, where that is more than scalars of any type and indices."""
