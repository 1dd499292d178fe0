"""Ground terms of the e-graph's language, in which certificates are written: hash-consed, with places in them.

    term ::= a constructor of `egraph.CONSTRUCTORS` over terms
           | Stored(name)                                              a read of the stored tensor of that name
           | Pass(monoid, index, where, holes, statistics, names, kept, bodies, carries)
                                                                       a cascade with every fold that it carries

A place is a path: at each level the number of an operand. In a pass `Hole` and `Delta` of holes[k] mean statistics[k],
and `Keep` of kept[k] means the follower names[k], the fold of bodies[k].
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tang_egg.egraph import CONSTRUCTORS, Encoding
from tang_egg.errors import GraphError
from tang_egg.node import Node, node
from tang_egg.rules import pattern as p
from tang_egg.rules.table import relations

Path: TypeAlias = tuple[int, ...]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[()]|[^\s()]+')
_KEYS = (3, 6)
"""Where the names of holes and of kept folds stand among the arguments of a pass: they are no operands."""


@node
class Term(Node):
    """A constructor over strings, numbers, terms and tuples of terms. Equal terms are one object."""

    constructor: str
    args: tuple[Any, ...]

    def __repr__(self) -> str:
        return term_text(self)


TRUE, FALSE, ONE = Term("Lit", ("True", "bool")), Term("Lit", ("False", "bool")), Term("Lit", ("1.0", "real"))


_KINDS: dict[str, type] = {"Sc": Term, "String": str, "i64": int, "Scs": tuple}
_OWN = {
    "Stored": ("String",),
    "Pass": ("String", "String", "Sc", "Scs", "Scs", "String", "Scs", "Scs", "Scs"),
}


def malformed(roots: Iterable[object], known: set[Term]) -> str:
    """What is wrong with how some terms are made, or nothing. `known` are well formed; those found so are added."""
    stack = [t for t in roots if isinstance(t, Term)]
    stack += [x for t in roots if isinstance(t, tuple) for x in t]
    while stack:
        t = stack.pop()
        if t in known:
            continue
        sorts = CONSTRUCTORS.get(t.constructor) or _OWN.get(t.constructor)
        if sorts is None and t.constructor not in CONSTRUCTORS:
            return f"there are no terms '{t.constructor}'"
        if len(sorts or ()) != len(t.args) or not all(map(_is_a, sorts or (), t.args)):
            return f"a term '{t.constructor}' has other arguments"
        if t.constructor == "Pass" and not _paired(t.args):
            return "a pass does not name each of its statistics and folds"
        known.add(t)
        for a in t.args:
            stack += [a] if isinstance(a, Term) else a if isinstance(a, tuple) else []
    return ""


def _is_a(sort: str, a: object) -> bool:
    if sort == "Scs" and isinstance(a, tuple):
        return all(isinstance(x, Term) for x in a)
    return isinstance(a, _KINDS[sort]) and not isinstance(a, bool)


def _paired(args: tuple[Any, ...]) -> bool:
    _, _, _, holes, statistics, names, kept, bodies, carries = args
    return (
        bool(kept)
        and len(holes) == len(statistics)
        and len(names.split(",")) == len(kept) == len(bodies) == len(carries)
    )


def children(t: Term) -> tuple[Term, ...]:
    """The operands of a term, in order."""
    found: list[Term] = []
    for n, a in enumerate(t.args):
        if t.constructor == "Pass" and n in _KEYS:
            continue
        if isinstance(a, Term):
            found.append(a)
        elif isinstance(a, tuple):
            found += a
    return tuple(found)


def with_children(t: Term, operands: Sequence[Term]) -> Term:
    """The same constructor over other operands."""
    rest = iter(operands)
    made: list[Any] = []
    for n, a in enumerate(t.args):
        if t.constructor == "Pass" and n in _KEYS:
            made.append(a)
        elif isinstance(a, Term):
            made.append(next(rest))
        elif isinstance(a, tuple):
            made.append(tuple(next(rest) for _ in a))
        else:
            made.append(a)
    return Term(t.constructor, tuple(made))


def at(t: Term, path: Path) -> Term | None:
    """The sub-term at a place, or None where there is none."""
    for step in path:
        below = children(t)
        if not 0 <= step < len(below):
            return None
        t = below[step]
    return t


def replace_at(t: Term, paths: Iterable[Path], new: Term) -> Term:
    """`t` with `new` at some places, none of which lies in another."""
    groups: dict[int, list[Path]] = {}
    for path in paths:
        if not path:
            return new
        groups.setdefault(path[0], []).append(path[1:])
    below = list(children(t))
    for n, inner in groups.items():
        below[n] = replace_at(below[n], inner, new)
    return with_children(t, below)


def walk(*roots: Term) -> Iterator[Term]:
    """Every distinct sub-term, operands first."""
    seen: set[Term] = set()
    stack = [(r, False) for r in reversed(roots)]
    while stack:
        t, done = stack.pop()
        if done:
            yield t
        elif t not in seen:
            seen.add(t)
            stack.append((t, True))
            stack.extend((c, False) for c in reversed(children(t)))


def places_of(root: Term, wanted: Term) -> Iterator[Path]:
    """Where a term stands in another, outermost first."""
    inside = {t for t in walk(root) if t is wanted}
    for t in walk(root):
        if any(c in inside for c in children(t)):
            inside.add(t)
    stack: list[tuple[Term, Path]] = [(root, ())]
    while stack:
        t, path = stack.pop()
        if t is wanted:
            yield path
        elif t in inside:
            stack.extend((c, (*path, n)) for n, c in reversed(list(enumerate(children(t)))))


def substituted(t: Term, replace: Callable[[Term], Term | None]) -> Term:
    """`t` with sub-terms replaced where `replace` gives something."""
    done: dict[Term, Term] = {}
    for x in walk(t):
        new = replace(x)
        done[x] = with_children(x, [done[c] for c in children(x)]) if new is None else new
    return done[t]


# Terms of the front end's encoding, and patterns of laws.


@dataclass(frozen=True, slots=True)
class Ground:
    """The encoding of a window as terms: by name, and the equalities and the facts of the front end."""

    encoding: Encoding
    terms: Mapping[str, Term]
    seeds: tuple[tuple[str, Term, Term], ...]
    facts: frozenset[tuple[str, tuple[Any, ...]]]


def ground(encoding: Encoding) -> Ground:
    """The terms that an encoding binds to names."""
    known: dict[str, Term] = {}
    facts: set[tuple[str, tuple[Any, ...]]] = set()
    claims = {r.name for r in relations()}
    for line in encoding.lines:
        for head, *rest in _parsed(line):
            if head == "let":
                known[rest[0]] = _term(rest[1], known)
            elif head in claims:
                facts.add((head, tuple(_term(x, known) for x in rest)))
    seeds = tuple((law, known[left], known[right]) for law, left, right in encoding.seeds)
    return Ground(encoding, known, seeds, frozenset(facts))


def _term(made: Any, known: Mapping[str, Term]) -> Any:
    if isinstance(made, list):
        args = tuple(_term(x, known) for x in made[1:])
        return args if made[0] in ("vec-of", "set-of", "set-empty") else Term(made[0], args)
    if made.startswith('"'):
        return made[1:-1]
    return known[made] if made in known else int(made)


def _parsed(text: str) -> list[Any]:
    """S-expressions as nested lists of tokens."""
    stack: list[list[Any]] = [[]]
    for token in _TOKEN.findall(text):
        if token == "(":
            stack.append([])
        elif token == ")":
            closed = stack.pop()
            stack[-1].append(closed)
        else:
            stack[-1].append(token)
    return stack[0]


def parsed_fact(text: str) -> tuple[str, tuple[p.Argument, ...]]:
    """A fact of a rule: its relation or function and its arguments as patterns, every symbol a variable."""
    head, *rest = _parsed(text)[0]
    return head, tuple(_pattern(x) for x in rest)


def _pattern(made: Any) -> p.Argument:
    if isinstance(made, list):
        return p.Node(made[0].removeprefix("N_"), tuple(_pattern(x) for x in made[1:]))
    if made.startswith('"'):
        return str(made[1:-1])
    return int(made) if re.fullmatch(r"-?\d+", made) else p.Var(made)


Value: TypeAlias = "str | int | Term | tuple[Term, ...]"
"""What a variable of a law stands for."""


def instance(pattern: p.Argument, values: Mapping[str, Value]) -> Any:
    """A pattern with its variables replaced. Raises GraphError for a variable without a value."""
    if isinstance(pattern, (p.Var, p.Name)):
        if pattern.name not in values:
            raise GraphError(
                f"nothing is bound to the variable '{pattern.name}'",
                where="an instance of a law",
                mend="bind every variable of the law",
            )
        return values[pattern.name]
    if isinstance(pattern, p.Node):
        args = tuple(instance(a, values) for a in pattern.args)
        return args if pattern.constructor == "vec-of" else Term(pattern.constructor, args)
    return pattern


def term_text(t: Value, most: int = 400) -> str:
    """A term as an s-expression, cut after some characters: written out, a term that shares others has no bound."""
    made: list[str] = []
    length, stack = 0, list[tuple[str, Any]]([("value", t)])
    while stack and length <= most:
        kind, x = stack.pop()
        if kind == "text":
            text = str(x)
        elif isinstance(x, Term):
            text = f"({x.constructor}"
            stack.append(("text", ")"))
            for a in reversed(x.args):
                stack += [("value", a), ("text", " ")]
        elif isinstance(x, tuple):
            text = "["
            stack.append(("text", "]"))
            for n, a in reversed(list(enumerate(x))):
                stack += [("value", a), ("text", " " if n else "")]
        else:
            text = f'"{x}"' if isinstance(x, str) else str(x)
        made.append(text)
        length += len(text)
    whole = "".join(made)
    return whole if len(whole) <= most else f"{whole[:most]}…"


_OPERANDS = {
    "Red": ("where", "body"),
    "Let": ("what is seen",),
    "Casc": ("where", "body", "carry"),
    "At": ("value", "what is seen"),
    "Hole": ("statistic",),
    "Delta": ("statistic",),
    "Keep": ("what is kept",),
    "Ap1": ("operand",),
}


def place_text(t: Term, path: Path) -> str:
    """A place in words: the operands that lead there, from the outside."""
    words: list[str] = []
    for step in path:
        names = _OPERANDS.get(t.constructor, ())
        words.append(names[step] if step < len(names) else f"operand {step + 1}")
        t = children(t)[step]
    return " / ".join(words) or "all of it"
