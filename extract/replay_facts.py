"""What laws rest on, checked: facts of relations by their propositions, and conditions on the variables of a law.

Each check says how it came to its answer: "front end" (the encoding of the graph, made anew, says so), "structure" (it
follows from how the terms are made), "numbers" (it holds at random finite inputs in float64), or "demand" (the relation
claims nothing). A relation without a check of its own here leaves the law that needs it to be tried on numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite, prod
from typing import Any

from tang_egg.affine import Affine, Index
from tang_egg.bounds import prove_inhabited
from tang_egg.check_scalar import in_bounds
from tang_egg.extract.certificate_mean import Meaning, index_names
from tang_egg.extract.certificate_term import (
    FALSE,
    TRUE,
    Ground,
    Term,
    Value,
    children,
    instance,
    parsed_fact,
    substituted,
    walk,
)
from tang_egg.extract.replay_trial import Trial, kept, moved
from tang_egg.extract.terms import as_domain
from tang_egg.ir import Const, Position, Read, Test, free, type_of
from tang_egg.rules.law import Relation
from tang_egg.rules.pattern import Node, Var
from tang_egg.rules.table import relations

Args = tuple[Value, ...]
FRONT, STRUCTURE, NUMBERS, DEMAND, OPEN = "front end", "structure", "numbers", "demand", "open"


class Facts:
    """Checks facts and conditions of one window."""

    def __init__(self, made: Ground, meaning: Meaning) -> None:
        self.ground = made
        self.meaning = meaning
        self.trial = Trial(made.encoding)
        self.known_finite: dict[Term, bool] = {}
        self.relations: Mapping[str, Relation] = {r.name: r for r in relations()}

    # Facts.

    def check(self, relation: str, args: Args) -> str:
        """How a fact was found to hold; empty when it does not. OPEN: no check is known for this relation."""
        known = self.relations.get(relation)
        if known is None or len(known.sorts) != len(args) or not all(map(_fits, known.sorts, args)):
            return ""
        if (relation, args) in self.ground.facts:
            return FRONT
        if claims_nothing(known):
            return DEMAND
        if relation not in _CHECKS:
            return OPEN
        return _CHECKS[relation](self, *args)

    def free_of(self, t: Any, name: str) -> str:
        """How it is known that a term does not depend on an index (or a hole, or a shift); empty when it may."""
        if not isinstance(t, Term):
            return ""
        if name in ("%h", "%d"):
            return STRUCTURE if not _mentions(t, "Hole" if name == "%h" else "Delta") else ""
        if not all(n in self.ground.encoding.indices for n in name.split("×")):
            return STRUCTURE
        if not index_names(t, self.trial.meaning) & set(name.split("×")):
            return STRUCTURE
        return NUMBERS if self.trial.constant_along(t, name) else ""

    # Conditions.

    def condition(self, texts: Sequence[str], values: Mapping[str, Value]) -> str:
        """What a condition of a law says that is not so, in words; empty when all holds.

        Facts of relations are asked for on their own. A condition that is not known here does not hold.
        """
        known, sets = dict(values), dict[str, Any]()
        for text in texts:
            head, args = parsed_fact(text)
            if (head in self.relations and head != "replaces") or head in _BOOKKEEPING:
                continue
            if head == "replaces":
                self._replaced(args, known, sets)
                continue
            check = _CONDITIONS.get(head)
            wrong = check(self, args, known, sets) if check else None
            if wrong is None:
                return f"nothing is known of {text}"
            if wrong:
                return wrong
        return ""

    def _equation(self, args: tuple[Any, ...], values: dict[str, Value], sets: dict[str, Any]) -> str | None:
        """An equation: of sets of names, of the length or an element of a list, or between terms."""
        left, right = args
        if not isinstance(right, Node):
            return None
        if right.constructor in ("fv", "set-union") and isinstance(left, Var):
            of = [right] if right.constructor == "fv" else list(right.args)
            if not all(isinstance(x, Node) and x.constructor == "fv" for x in of):
                return None
            sets[left.name] = [instance(x.args[0], values) for x in of]  # type: ignore[union-attr]
            return ""
        if right.constructor in ("vec-length", "vec-get"):
            listed = instance(right.args[0], values)
            if not isinstance(listed, tuple):
                return "a list was expected"
            at = instance(right.args[1], values) if right.constructor == "vec-get" else None
            if at is not None and not 0 <= at < len(listed):
                return f"a list has no element {at}"
            value = len(listed) if at is None else listed[at]
            return "" if instance(left, values) == value else "a list has another length or other elements"
        if isinstance(left, Var):
            made = instance(right, values)
            return "" if values.setdefault(left.name, made) == made else f"'{left.name}' is something else"
        return None

    def _disjoint(self, args: tuple[Any, ...], values: dict[str, Value], sets: dict[str, Any]) -> str | None:
        """That a term depends on none of the names that a view replaces."""
        left, right = args
        if right != Node("set-empty", ()):
            return None
        terms, names = (sets.get(getattr(a, "name", "")) for a in left.args)
        if not isinstance(terms, list) or not isinstance(names, frozenset):
            return None
        return next((f"a term depends on {n}" for n in sorted(names) for t in terms if not self.free_of(t, n)), "")

    def _equal(self, args: tuple[Any, ...], values: dict[str, Value], sets: dict[str, Any]) -> str | None:
        meets = isinstance(args[0], Node) and args[0].constructor == "set-intersect"
        return (self._disjoint if meets else self._equation)(args, values, sets)

    def _lacks(self, args: tuple[Any, ...], values: dict[str, Value], sets: dict[str, Any]) -> str | None:
        name, known = instance(args[1], values), sets.get(getattr(args[0], "name", ""))
        if isinstance(known, frozenset):
            return f"a view touches {name}" if name in known else ""
        if not isinstance(known, list):
            return None
        return "" if all(self.free_of(t, str(name)) for t in known) else f"a term depends on {name}"

    def _differ(self, args: tuple[Any, ...], values: dict[str, Value], sets: dict[str, Any]) -> str | None:
        same = instance(args[0], values) == instance(args[1], values)
        return "two things that should differ are the same" if same else ""

    def _worth(self, args: tuple[Any, ...], values: dict[str, Value], sets: dict[str, Any]) -> str | None:
        """That a term mentions a name says where a law is of use, not where it holds."""
        return "" if getattr(args[0], "name", "") in sets else None

    def _replaced(self, args: tuple[Any, ...], values: Mapping[str, Value], sets: dict[str, Any]) -> None:
        """The names that a view replaces, and those by which it does."""
        key = instance(args[0], values)
        pairs = self.ground.encoding.views.get(str(key), ())
        incoming: set[str] = set()
        for _, c in pairs:
            incoming |= {i.name for i in (c.indices() if isinstance(c, Affine) else free(c))}
        sets[args[1].name] = frozenset(i.name for i, _ in pairs)
        sets[args[2].name] = frozenset(incoming)

    # Propositions, one each.

    def _split(self, b: Term, j: str, f: Term, u: Term) -> str:
        how = self.free_of(f, j)
        if not how:
            return ""
        product = Term("Ap2", ("mul", f, u))
        factors = _factors(b)
        if how == STRUCTURE and factors is not None and factors == _factors(product):
            return STRUCTURE
        return NUMBERS if self.trial.equal(b, product) else ""

    def _abstracts(self, b: Term, j: str, f: Term) -> str:
        holes = [x.args[0] for x in walk(f) if x.constructor == "Hole"]
        hows = [self.free_of(m, j) for m in holes]
        if not all(hows):
            return ""
        whole = substituted(f, lambda x: x.args[0] if x.constructor == "Hole" else None)
        if whole is b and all(h == STRUCTURE for h in hows):
            return STRUCTURE
        return NUMBERS if self.trial.equal(b, whole) else ""

    def _carried(self, monoid: str, j: str, f: Term, t: Term) -> str:
        after = Term("Red", (monoid, j, TRUE, moved(f, self.trial)))
        return NUMBERS if self.trial.equal(after, kept(t, monoid, j, self.trial)) else ""

    def _total(self, e: Term, j: str, t: Term) -> str:
        here = substituted(e, lambda x: kept(x, "sum", j, self.trial) if x.constructor in ("Hole", "Delta") else None)
        return NUMBERS if self.trial.equal(Term("Red", ("sum", j, TRUE, here)), kept(t, "sum", j, self.trial)) else ""

    def _statistic(self, m: Term, j: str) -> str:
        folds = any(x.constructor in ("Red", "Casc") and j in x.args for x in walk(m))
        return self.free_of(m, j) if folds else ""

    def _neutral(self, monoid: str, e: Term) -> str:
        known = self.ground.encoding.monoids.get(monoid)
        if known is None or not known.scalar:
            return ""
        identity = known.identity[0]
        if self.meaning.scalar(e) is identity:
            return STRUCTURE
        return NUMBERS if isinstance(identity, Const) and self.trial.always(e, float(identity.value)) else ""

    def _implies(self, p: Term, q: Term) -> str:
        parts, wanted = _conjuncts(p), _conjuncts(q)
        if wanted <= parts:
            return STRUCTURE
        return NUMBERS if all(b or not a for a, b in self.trial.values((p, q))) else ""

    def _extent(self, j: str, n: Term) -> str:
        size = self._size(j)
        return STRUCTURE if size is not None and self.trial.values((n,)) == [[float(size)]] else ""

    def _inverse_extent(self, j: str, n: Term) -> str:
        size = self._size(j)
        return STRUCTURE if size and self.trial.values((n,)) == [[1.0 / size]] else ""

    def _size(self, j: str) -> int | None:
        """The number of points of an index or a bundle, whatever symbolic dims are in a trial."""
        indices = self._indices(j)
        return prod(map(self.trial.size, indices)) if indices else None

    def _indices(self, j: str) -> tuple[Index, ...]:
        known = all(n in self.ground.encoding.indices for n in j.split("×"))
        return self.ground.encoding.folded(j) if known else ()

    def _inhabited(self, j: str, w: Term) -> str:
        last, *others = self._indices(j) or (None,)
        where = as_domain(self.meaning.scalar(w))
        sure = last is not None and not where.data and prove_inhabited(last, where.affine)
        return STRUCTURE if sure and all(prove_inhabited(i, ()) for i in others if i is not None) else ""

    def _finite(self, t: Term) -> str:
        if self.finite(t):
            return STRUCTURE
        return NUMBERS if all(isfinite(x) for (x,) in self.trial.values((t,))) else ""

    def finite(self, root: Term) -> bool:
        """Whether a term is finite on finite inputs, unless arithmetic overflows: by what it is made of."""
        for t in walk(root):
            if t not in self.known_finite:
                self.known_finite[t] = self._finite_node(t)
        return self.known_finite[root]

    def _finite_node(self, t: Term) -> bool:
        a, below = t.args, [self.known_finite[c] for c in children(t)]
        if t.constructor == "Lit":
            return a[0] not in ("inf", "-inf", "nan")
        if t.constructor == "Leaf":
            s = self.meaning.scalar(t)
            return isinstance(s, (Position, Test)) or (isinstance(s, Read) and _inside(s))
        if t.constructor == "Red":
            known = ("inhabited", (a[1], a[2])) in self.ground.facts or bool(self._inhabited(a[1], a[2]))
            return (a[0] in ("sum", "product") or known) and below[1]
        if t.constructor == "Ap3" and a[0] == "select":
            return below[1] and below[2]
        if t.constructor in ("Ap1", "Ap2") and a[0] in _TOTAL:
            return all(below)
        whole = t.constructor == "Ap1" and a[0].startswith("cast:real")
        return t.constructor == "Delta" or (whole and type_of(self.meaning.scalar(children(t)[0])) != "real")


def _inside(s: Read) -> bool:
    """Whether a read is in bounds whatever its indices are."""
    pairs = zip(s.coordinates, s.source.shape, strict=True)
    return all(isinstance(c, Affine) and in_bounds(c, n) for c, n in pairs)


_TOTAL = ("neg", "exp", "sin", "tanh", "erf", "floor", "add", "mul", "max", "min")

_CHECKS: dict[str, Callable[..., str]] = {
    "split": Facts._split,
    "abstracts": Facts._abstracts,
    "carried": Facts._carried,
    "total": Facts._total,
    "statistic": Facts._statistic,
    "neutral": Facts._neutral,
    "implies": Facts._implies,
    "extent": Facts._extent,
    "inverse_extent": Facts._inverse_extent,
    "inhabited": Facts._inhabited,
    "finite": Facts._finite,
}


_CONDITIONS: dict[str, Callable[..., str | None]] = {
    "=": Facts._equal,
    "!=": Facts._differ,
    "set-not-contains": Facts._lacks,
    "set-contains": Facts._worth,
}
"""How conditions are checked that are no facts: what is wrong, nothing, or None where that is not known."""

_BOOKKEEPING = ("finished", "indexed", "clean")
"""Relations of the e-graph's own schema: which closures look where; what they find is a fact that is checked."""


def _conjuncts(t: Term) -> set[Term]:
    """What has to hold for a condition to hold, itself among it."""
    found, stack = set[Term](), [t]
    while stack:
        x = stack.pop()
        if x not in found:
            found.add(x)
            if x.constructor == "Ap2" and x.args[0] == "and":
                stack += children(x)
            elif x.constructor == "Ap3" and x.args[0] == "select:bool" and x.args[3] is FALSE:
                stack += children(x)[:2]
    return found


def claims_nothing(r: Relation) -> bool:
    """Whether a relation is a demand or an offer only."""
    return any(word in r.proposition for word in ("claims nothing", "a demand"))


def _fits(sort: str, value: Value) -> bool:
    kinds = {"Sc": Term, "String": str, "i64": int, "Scs": tuple, "Names": tuple}
    return isinstance(value, kinds.get(sort, object))


def _mentions(t: Term, constructor: str) -> bool:
    """Whether a term mentions a statistic or a shift that no cascade inside it accounts for."""
    stack, seen = [t], set[Term]()
    while stack:
        x = stack.pop()
        if x.constructor == constructor:
            return True
        if x not in seen and x.constructor not in ("Casc", "Pass", "Keep"):
            seen.add(x)
            stack += children(x)
    return False


_MOST = 1000
"""Factors of a product that are looked at one by one."""


def _factors(t: Term) -> tuple[int, list[str]] | None:
    """A product as its sign and its factors, in an order of their own; None where there are too many."""
    sign, found, stack = 0, list[str](), [t]
    while stack:
        if len(found) + len(stack) > _MOST:
            return None
        x = stack.pop()
        if x.constructor == "Ap2" and x.args[0] == "mul":
            stack += children(x)
        elif x.constructor == "Ap1" and x.args[0] == "neg":
            sign ^= 1
            stack += children(x)
        elif not (x.constructor == "Lit" and x.args[0] == "1.0"):
            found.append(str(id(x)))
    return sign, sorted(found)
