"""Derivations: which laws lead from the e-node that the user wrote to the one that was picked, class by class."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from tang_egg.egraph import ClassId, ENode
from tang_egg.extract.terms import Terms, Variant, class_arguments
from tang_egg.ir import Scalar
from tang_egg.rules.law import ROUNDING
from tang_egg.rules.table import equalities
from tang_egg.text import print_scalar


@dataclass(frozen=True, slots=True)
class Step:
    """One application of a law: what stood before and after it, in mathematics, and the law's marks.

    `kind`: "law", or "store" where a term becomes a read of the tensor that holds it. `tensor` and `place`: where it
    was used; `because`: the facts that it rested on.
    """

    law: str
    before: str
    after: str
    reverse: bool
    holds: str
    rounding: str
    kind: str = "law"
    tensor: str = ""
    place: str = ""
    because: tuple[str, ...] = ()


class Derivations:
    """Finds paths of law edges inside the classes of one window."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.edges: dict[ENode, list[tuple[str, ENode, bool]]] = {}
        for law, left, right in terms.saturation.snapshot.edges:
            self.edges.setdefault(left, []).append((law, right, False))
            self.edges.setdefault(right, []).append((law, left, True))
        self.laws = equalities()

    def of(self, variants: Iterable[Variant]) -> tuple[Step, ...]:
        """The steps behind some chosen variants, inner classes first, each class once."""
        steps: list[Step] = []
        seen: set[ClassId] = set()

        def visit(v: Variant) -> None:
            if v.node is None or v.owner in seen:
                return
            seen.add(v.owner)
            for b in v.below:
                visit(b)
            steps.extend(self._steps(v.owner, v.node))

        for v in variants:
            visit(v)
        return tuple(dict.fromkeys(steps))

    def _steps(self, owner: ClassId, picked: ENode) -> list[Step]:
        start = self.terms.saturation.source.get(owner)
        if start is None:
            origins = [e for e in self.edges.get(picked, ()) if e[2]]
            return [self._step(*origins[0], picked)] if origins else []
        path = self._path(owner, start, picked)
        return [self._show(law, a, b, back) for law, a, b, back in path]

    def _step(self, law: str, other: ENode, back: bool, picked: ENode) -> Step:
        return self._show(law, other, picked, False)

    def _path(self, owner: ClassId, start: ENode, goal: ENode) -> list[tuple[str, ENode, ENode, bool]]:
        """Shortest path of law edges; the node `Is(owner)` stands for every node of the class."""
        if start == goal:
            return []
        hub = ENode("Is", (owner,))
        members = self.terms.saturation.snapshot.classes[owner]
        queue: deque[tuple[ENode, list[tuple[str, ENode, ENode, bool]]]] = deque([(start, [])])
        visited = {start}
        while queue:
            node, path = queue.popleft()
            following = list(self.edges.get(node, ()))
            if node == hub:
                following += [("", m, False) for m in members]
            for law, other, back in following:
                if other in visited:
                    continue
                visited.add(other)
                extended = [*path, (law, node, other, back)] if law else path
                if other == goal or (other == hub and goal in members):
                    return extended
                queue.append((other, extended))
        return []

    def _show(self, law: str, a: ENode, b: ENode, back: bool) -> Step:
        entry = self.laws.get(law)
        return Step(
            law,
            self.render(a),
            self.render(b),
            back,
            entry.holds if entry else "finite",
            entry.rounding if entry else "",
        )

    def render(self, n: ENode) -> str:
        """An e-node in mathematics: stored classes by name, others by their best term."""
        if n.constructor == "Is":
            return self._class(n.args[0])
        if n.constructor == "Casc":
            monoid, index, where, body, carried = n.args
            inside = f"{self._class(body)}, carry={self._class(carried)}"
            return f"pass {monoid}[{index}]({inside}, where={self._class(where)})"
        if n.constructor == "Lit":
            return str(n.args[0])
        variants = list(self.terms._of_node(ClassId(-1), n)) if n.constructor != "Let" else []
        if variants:
            best = min(variants, key=lambda v: v.cost)
            return _short(best.term)
        return f"{n.constructor}({', '.join(self._class(c) for c in class_arguments(n))})"

    def _class(self, c: ClassId) -> str:
        found = self.terms.found.get(c)
        return _short(found[0].term) if found else "?"


def _short(s: Scalar, limit: int = 240) -> str:
    text = print_scalar(s)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def worst(steps: Iterable[Step]) -> str:
    """The harshest effect on rounding among some steps."""
    marks = [s.rounding for s in steps if s.rounding in ROUNDING]
    return max(marks, key=ROUNDING.index, default="exact")
