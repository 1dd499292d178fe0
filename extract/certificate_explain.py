"""Why two terms of a saturated window are equal: uses of laws, each a rewrite of a whole term at some places.

Every class has one *representative*, a term made of representatives: what the user wrote where there is such a thing.
A term is *justified* when it leads to the representative of its class: by a law of which it is one side while the other
is justified, or because its operands are justified and so is the term over their representatives. Costs are numbers of
rewrites, found in ascending order (Knuth's generalisation of Dijkstra's algorithm), so that an explanation never rests
on itself and is among the shortest.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tang_egg.egraph import ClassId, ENode
from tang_egg.errors import SelectionError
from tang_egg.extract.certificate_match import Binding, Matcher, rules
from tang_egg.extract.certificate_term import Ground, Path, Term, Value, children, instance, walk, with_children
from tang_egg.extract.terms import class_arguments
from tang_egg.rules.law import Seed
from tang_egg.rules.pattern import Argument, Var
from tang_egg.rules.table import entries
from tang_egg.saturate import Saturation

ALIKE = 12
"""Terms over equal operands that are held against each other."""

Fact = tuple[str, tuple[Value, ...]]
STORE, BUILD = "tensor.store", "pass.build"
"""Steps that are no laws: a term becomes a read of the tensor that holds it; a cascade becomes a fold with a state."""


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """A law used on terms: `left` became `right`; what its variables stood for, and the facts that it rested on."""

    law: str
    left: Term
    right: Term
    bindings: tuple[tuple[str, Value], ...] = ()
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """A use of a law at some places of a whole term, perhaps from right to left."""

    use: Use
    paths: tuple[Path, ...]
    reverse: bool = False

    @property
    def before(self) -> Term:
        """What stands at the places before."""
        return self.use.right if self.reverse else self.use.left

    @property
    def after(self) -> Term:
        """What stands there afterwards."""
        return self.use.left if self.reverse else self.use.right

    def below(self, heads: Iterable[int]) -> Move:
        """The same rewrite inside some operands."""
        paths = tuple((n, *path) for n in heads for path in self.paths)
        return Move(self.use, paths, self.reverse)

    def back(self) -> Move:
        """The rewrite undone."""
        return Move(self.use, self.paths, not self.reverse)


class Explanations:
    """Explanations of one window."""

    def __init__(self, saturation: Saturation, ground: Ground) -> None:
        self.saturation = saturation
        self.ground = ground
        self.nodes: dict[ENode, ClassId] = {}
        self.members: dict[ClassId, list[ENode]] = {}
        self.stored: dict[str, ClassId] = {}
        self._classes: dict[Term, ClassId] = {}
        self._terms: dict[ClassId, Term] = {}
        self._moves: dict[Term, tuple[Move, ...]] = {}
        self._collect()
        self.chosen = self._representatives()
        self.next: dict[Term, Move | Term] = {}
        self._justify(self._uses())

    # What there is.

    def _add(self, n: ENode, c: ClassId) -> None:
        if n not in self.nodes:
            self.nodes[n] = c
            self.members.setdefault(c, []).append(n)

    def _collect(self) -> None:
        """All nodes with their classes, subsumed ones too."""
        shot = self.saturation.snapshot
        for c, nodes in shot.classes.items():
            for n in nodes:
                self._add(n, c)
        for name, t in self.ground.terms.items():
            if name in shot.roots:
                self._classes[t] = shot.roots[name]
        for t in self.ground.terms.values():
            if t in self._classes:
                self._add(self._enode(t), self._classes[t])
        pending = [(a, b) for _, a, b in shot.edges]
        while pending:
            left: list[tuple[ENode, ENode]] = []
            for a, b in pending:
                found = self.nodes.get(a) or (b.args[0] if b.constructor == "Is" else self.nodes.get(b))
                if found is None:
                    left.append((a, b))
                    continue
                self._add(a, found)
                if b.constructor != "Is":
                    self._add(b, found)
            if len(left) == len(pending):
                break
            pending = left

    def _enode(self, t: Term) -> ENode:
        def swap(a: Any) -> Any:
            if isinstance(a, Term):
                return self.class_of(a)
            return tuple(self.class_of(x) for x in a) if isinstance(a, tuple) else a

        return ENode(t.constructor, tuple(swap(a) for a in t.args))

    def class_of(self, t: Term) -> ClassId:
        """The class of a term. Raises SelectionError for one that the e-graph does not hold."""
        for x in walk(t):
            if x in self._classes:
                continue
            if x.constructor == "Stored" and x.args[0] in self.stored:
                self._classes[x] = self.stored[x.args[0]]
                continue
            c = self.nodes.get(self._enode(unbuilt(x)))
            if c is None:
                raise unexplained(f"the e-graph does not hold {x}")
            self._classes[x] = c
        return self._classes[t]

    def _representatives(self) -> dict[ClassId, ENode]:
        """A node for each class, such that terms made of them are finite."""
        chosen = dict(self.saturation.source)
        users: dict[ClassId, list[tuple[ClassId, ENode]]] = {}
        ready: list[tuple[ClassId, ENode]] = []
        missing: dict[ENode, int] = {}
        for c, nodes in self.members.items():
            for n in nodes:
                below = set(class_arguments(n)) - chosen.keys()
                missing[n] = len(below)
                for b in below:
                    users.setdefault(b, []).append((c, n))
                if not below:
                    ready.append((c, n))
        # a cascade is called by what it was before
        ready.sort(key=lambda r: r[1].constructor == "Casc")
        while ready:
            following: list[tuple[ClassId, ENode]] = []
            for c, n in ready:
                if c in chosen:
                    continue
                chosen[c] = n
                for user, m in users.get(c, ()):
                    missing[m] -= 1
                    if not missing[m]:
                        following.append((user, m))
            ready = sorted(following, key=lambda r: r[1].constructor == "Casc")
        return chosen

    def representative(self, c: ClassId) -> Term:
        """The term by which a class is called."""
        stack = [c]
        while stack:
            top = stack[-1]
            if top not in self.chosen:
                raise unexplained(f"class {top.number} has no finite term")
            n = self.chosen[top]
            pending = [x for x in class_arguments(n) if x not in self._terms]
            stack.extend(pending)
            if not pending:
                stack.pop()
                if top not in self._terms:
                    t = self._terms[top] = Term(n.constructor, tuple(self._value(a) for a in n.args))
                    self._classes[t] = top
        return self._terms[c]

    def _value(self, a: Any) -> Any:
        if isinstance(a, ClassId):
            return self.representative(a)
        return tuple(self.representative(x) for x in a) if isinstance(a, tuple) else a

    # Uses of laws, and which nodes they justify.

    def _uses(self) -> list[Use]:
        table = rules()
        seeds = {n for n, e in entries().items() if isinstance(e, Seed)}
        matcher = Matcher(self.saturation.snapshot, self.members)
        found = [Use(law, a, b) for law, a, b in self.ground.seeds if a is not b and law in seeds]
        pairs = list(self.saturation.snapshot.edges)
        pairs += [(r.name, a, b) for r in table.values() if not r.edges for a, b in matcher.unrecorded(r)]
        for law, left, right in dict.fromkeys(pairs):
            rule = table.get(law)
            if rule is None or law in seeds or left not in self.nodes:
                continue
            if any(c not in self.chosen for c in class_arguments(left)):
                continue
            for a, b, bound in matcher.uses(rule, left, right, self.nodes[left]):
                for values in self._values(a, b, bound):
                    facts = tuple((r, tuple(instance(x, values) for x in args)) for r, args in rule.facts)
                    ordered = tuple(sorted(values.items()))
                    found.append(Use(law, instance(a, values), instance(b, values), ordered, facts))
        return found

    def _values(self, left: Argument, right: Argument, bound: Binding) -> Iterator[dict[str, Value]]:
        """Terms for the variables of a use: representatives.

        A right side that is a variable may be any term of its class: the representative may be the left side itself.
        """
        values = {n: self._value(v) for n, v in bound.items()}
        yield values
        if isinstance(right, Var):
            for n in self.members[bound[right.name]]:
                if all(c in self.chosen for c in class_arguments(n)):
                    yield {**values, right.name: self._over(n)}

    def _over(self, n: ENode) -> Term:
        """A node over representatives."""
        return Term(n.constructor, tuple(self._value(a) for a in n.args))

    def _normal(self, t: Term) -> Term:
        """A term over the representatives of its operands."""
        return with_children(t, [self.representative(self.class_of(x)) for x in children(t)])

    def _justify(self, uses: list[Use]) -> None:
        links: dict[Term, list[Move]] = {}
        waiting: dict[Term, list[Term]] = {}
        for u in uses:
            try:
                self.class_of(u.left), self.class_of(u.right)
            except SelectionError:
                continue
            links.setdefault(u.left, []).append(Move(u, ((),), True))
            links.setdefault(u.right, []).append(Move(u, ((),), False))
        alike: dict[Term, list[Term]] = {}
        for t in walk(*list(links)):
            alike.setdefault(self._normal(t), []).append(t)
            for x in children(t):
                waiting.setdefault(x, []).append(t)
        groups: dict[Term, tuple[Term, ...]] = {}
        for normal, terms in alike.items():
            group = tuple(dict.fromkeys((normal, *terms[:ALIKE])))
            groups.update(dict.fromkeys((normal, *terms), group))
        cost: dict[Term, float] = {}
        heap: list[tuple[float, int, Term, Move | Term | None]] = []
        for c in self.chosen:
            heap.append((0.0, len(heap), self.representative(c), None))
        count = len(heap)
        heapq.heapify(heap)

        def offer(price: float, t: Term, step: Move | Term) -> None:
            nonlocal count
            if t not in cost:
                count += 1
                heapq.heappush(heap, (price, count, t, step))

        def congruent(t: Term) -> None:
            """Terms that differ in justified operands only."""
            for other in groups.get(t, ()):
                apart = [
                    x for pair in zip(children(t), children(other), strict=True) if pair[0] is not pair[1] for x in pair
                ]
                if all(x in cost for x in apart):
                    price = sum(cost[x] for x in apart)
                    if other in cost:
                        offer(cost[other] + price, t, other)
                    elif t in cost:
                        offer(cost[t] + price, other, t)

        while heap:
            paid, _, t, step = heapq.heappop(heap)
            if t in cost:
                continue
            cost[t] = paid
            if step is not None:
                self.next[t] = step
            for link in links.get(t, ()):
                offer(paid + 1.0, link.before, link)
            congruent(t)
            for user in waiting.get(t, ()):
                congruent(user)

    # Explanations.

    def moves(self, t: Term) -> tuple[Move, ...]:
        """The rewrites that lead from a term to the representative of its class."""
        if t not in self._moves:
            goal, found = self.representative(self.class_of(t)), list[Move]()
            at = t
            while at is not goal:
                step = self.next.get(at)
                if isinstance(step, Move):
                    found.append(step)
                    at = step.after
                    continue
                if step is not None:
                    found += self._between(at, step)
                    at = step
                    continue
                normal = self._normal(at)
                if normal is not at:
                    found += self._between(at, normal)
                    at = normal
                    continue
                found.append(self._special(at, goal))
                at = found[-1].after
            self._moves[t] = tuple(found)
        return self._moves[t]

    def _special(self, t: Term, goal: Term) -> Move:
        """What is no law: a read of a stored tensor becomes its term, a pass the cascade that it executes."""
        if t.constructor == "Stored":
            return Move(Use(STORE, goal, t), ((),), True)
        if t.constructor == "Pass":
            return Move(self._built(t), ((),), True)
        raise unexplained(f"no law leads from {t} to {goal}")

    def _built(self, t: Term) -> Use:
        """The pass that is made of a cascade over representatives; all but the first follower rest on facts."""
        monoid, index, _, _, _, _, kept, _, carries = t.args
        facts = [("carried", (monoid, index, k, c)) for k, c in zip(kept[1:], carries[1:], strict=True)]
        return Use(BUILD, unbuilt(t), t, (), tuple(facts))

    def _between(self, t: Term, other: Term) -> list[Move]:
        """The rewrites of the operands in which two terms differ."""
        below: dict[tuple[Term, Term], list[int]] = {}
        for n, pair in enumerate(zip(children(t), children(other), strict=True)):
            if pair[0] is not pair[1]:
                below.setdefault(pair, []).append(n)
        found: list[Move] = []
        for (a, b), heads in below.items():
            whole = (*self.moves(a), *(m.back() for m in reversed(self.moves(b))))
            found += [m.below(heads) for m in whole]
        return found


def unbuilt(t: Term) -> Term:
    """The cascade that a pass computes, for a pass; other terms as they are."""
    if t.constructor != "Pass":
        return t
    monoid, index, where, _, _, _, _, bodies, carries = t.args
    return Term("Casc", (monoid, index, where, bodies[0], carries[0]))


def unexplained(what: str) -> SelectionError:
    """An error for a term that no path of laws leads to."""
    text = what if len(what) <= 300 else f"{what[:297]}..."
    return SelectionError(
        f"a derivation cannot be given: {text}",
        where="the certificate of a window",
        mend="report this with the graph: some law united terms without an edge",
    )
