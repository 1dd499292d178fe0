"""The saturated e-graph: as text, classes with their e-nodes in mathematics, and in the form of egraph-serialize.

That form is one object: `nodes` (by id: op, children, eclass, cost, subsumed), `root_eclasses`, and `class_data` (by
e-class: type, and here its mathematics). Children are ids of nodes, each standing for its whole class. Cost is the
predicted seconds of the cheapest term with the node at its head, NEVER where none can be executed. What the form has no
place for stands beside it: `laws`, the pairs of nodes that each law united.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from tang_egg import report_format as say
from tang_egg.egraph import ClassId, ENode
from tang_egg.extract.assemble import WindowResult
from tang_egg.extract.terms import class_arguments
from tang_egg.pipeline_compiled import Extraction
from tang_egg.report_dot import LIMIT, picked_nodes
from tang_egg.report_words import Wording

NEVER = 1e9
"""The cost of a node of which no term can be executed."""

_TRIED = 64
"""Terms of a node that are looked at for its cost where none of them was kept."""


def render_egraph(extraction: Extraction, *, limit: int | None = LIMIT) -> str:
    """The e-graphs of the distinct windows as text; `limit` None shows all of their e-nodes."""
    lines: list[str] = []
    for number, wording, result in _windows(extraction):
        lines += [*_text(number, wording, result, limit), ""]
    head = [
        f"e-graph of {extraction.graph.name}: one class a block, its e-nodes below, the time that the cheapest term",
        "with that node at its head is predicted to take; * picked, = written so in the graph",
        "",
    ]
    return "\n".join([*head, *lines]).rstrip("\n") + "\n"


def _windows(extraction: Extraction) -> Iterator[tuple[int, Wording, WindowResult]]:
    seen: set[int] = set()
    for window, shared, result in extraction.windows:
        if id(result) not in seen:
            seen.add(id(result))
            yield len(seen), Wording(window, shared, result.terms), result


def _near(result: WindowResult, limit: int | None) -> Iterator[tuple[ClassId, list[ENode]]]:
    """Classes with their nodes, those nearest to the roots first, until `limit` nodes are spent."""
    snapshot, picked = result.saturation.snapshot, picked_nodes(result)
    written = set(result.saturation.source.values())
    pending, seen, left = list(dict.fromkeys(result.saturation.roots.values())), set[ClassId](), limit
    rest = iter(sorted(snapshot.classes, key=lambda c: c.number)) if limit is None else iter(())
    while left is None or left > 0:
        c = pending.pop(0) if pending else next(rest, None)
        if c is None:
            return
        if c in seen:
            continue
        seen.add(c)
        nodes = sorted(snapshot.classes.get(c, ()), key=lambda n: (n not in picked, n not in written))
        kept = nodes if left is None else nodes[:left]
        left = None if left is None else left - len(kept)
        yield c, kept
        pending += [a for n in kept for a in class_arguments(n)]


def _text(number: int, wording: Wording, result: WindowResult, limit: int | None) -> Iterator[str]:
    snapshot, picked = result.saturation.snapshot, picked_nodes(result)
    written, roots = result.saturation.source, set(result.saturation.roots.values())
    classes = list(_near(result, limit))
    shown = sum(len(nodes) for _, nodes in classes)
    tensors = ", ".join(wording.tensors.values())
    yield f"window {number} ({tensors}): {shown} of {snapshot.nodes} e-nodes in {len(snapshot.classes)} classes"
    for c, nodes in classes:
        marks = ["output"] * (c in roots)
        name = wording.inside.names.get(c, "")
        marks += [f"tensor {wording.tensors.get(name, name)}"] if name else []
        yield ""
        yield f"  class {c.number}: {wording.written(c)}{'  (' + ', '.join(marks) + ')' if marks else ''}"
        for n in nodes:
            cost = _cost(wording, c, n)
            spelled = "never" if cost >= NEVER else say.seconds(cost)
            mark = ("*" if n in picked else " ") + ("=" if written.get(c) == n else " ")
            yield f"   {mark} {spelled:>8}  {_operator(n)}  {wording.render(n)}"
    home = {n: c for c, nodes in snapshot.classes.items() for n in nodes}
    yield ""
    yield "  laws:"
    edges = snapshot.edges if limit is None else snapshot.edges[:limit]
    for law, left, right in edges:
        at = home.get(left, home.get(right))
        place = f"class {at.number}: " if at else ""
        yield f"    {law}  {place}{wording.render(left)} → {wording.render(right)}"
    if len(snapshot.edges) > len(edges):
        yield f"    … and {len(snapshot.edges) - len(edges)} more (--all shows them)"


def _operator(n: ENode) -> str:
    """Constructor, keys and classes below: `Ap2 mul (4 7)`."""
    own = [str(a) for a in n.args if not isinstance(a, (ClassId, tuple))]
    below = [str(a.number) for a in class_arguments(n)]
    return " ".join([n.constructor, *own, *([f"({' '.join(below)})"] if below else [])])


def _cost(wording: Wording, c: ClassId, n: ENode) -> float:
    terms = wording.inside
    kept = [v.cost for v in terms.found.get(c, ()) if v.node == n]
    offers: Iterable[float] = kept or (v.cost for v in itertools.islice(terms._of_node(c, n), _TRIED))
    return min(offers, default=NEVER)


def egraph_data(extraction: Extraction) -> dict[str, Any]:
    """The e-graphs of the distinct windows as one object of egraph-serialize; ids start with the window."""
    data: dict[str, Any] = {"nodes": {}, "root_eclasses": [], "class_data": {}, "laws": []}
    for number, wording, result in _windows(extraction):
        _Serial(number, wording, result, data).fill()
    return data


class _Serial:
    """Enters one window into the object."""

    def __init__(self, number: int, wording: Wording, result: WindowResult, data: dict[str, Any]) -> None:
        self.prefix, self.wording, self.result, self.data = f"w{number}", wording, result, data
        self.ids: dict[ENode, str] = {}

    def fill(self) -> None:
        snapshot = self.result.saturation.snapshot
        for c, nodes in snapshot.classes.items():
            for k, n in enumerate(nodes):
                self.ids[n] = f"{self.eclass(c)}.n{k}"
        for c, nodes in snapshot.classes.items():
            self.kind(c)
            for n in nodes:
                self.node(self.ids[n], n.constructor, self.children(n), self.eclass(c), _cost(self.wording, c, n))
        roots = dict.fromkeys(self.result.saturation.roots.values())
        self.data["root_eclasses"] += [self.eclass(c) for c in roots]
        for law, left, right in snapshot.edges:
            before, after = self.wording.render(left), self.wording.render(right)
            united = [self.ids.get(n) for n in (left, right)]
            self.data["laws"].append({"law": law, "nodes": united, "before": before, "after": after})

    def eclass(self, c: ClassId) -> str:
        return f"{self.prefix}.c{c.number}"

    def kind(self, c: ClassId) -> None:
        """What is known of a class; all values are strings, as the form wants it."""
        free = self.result.saturation.snapshot.free.get(c)
        found = {"type": "Sc", "mathematics": self.wording.written(c)}
        known = self.wording.inside.names.get(c, "")
        if known:
            found["tensor"] = self.wording.tensors.get(known, known)
        if free is not None:
            names = {i.name: user.name for i, user in self.wording.indices.items()}
            found["free"] = ", ".join(sorted(names.get(i, i) for i in free))
        self.data["class_data"][self.eclass(c)] = found

    def node(self, key: str, op: str, children: list[str], eclass: str, cost: float) -> None:
        self.data["nodes"][key] = {
            "op": op, "children": children, "eclass": eclass, "cost": cost, "subsumed": False
        }  # fmt: skip

    def children(self, n: ENode) -> list[str]:
        """Ids of nodes, one for each argument: the first of a class, or a node of its own for a string or number."""
        found: list[str] = []
        for a in n.args:
            if isinstance(a, tuple):
                found += [self.first(x) for x in a]
            elif isinstance(a, ClassId):
                found.append(self.first(a))
            else:
                found.append(self.literal(a))
        return found

    def first(self, c: ClassId) -> str:
        nodes = self.result.saturation.snapshot.classes.get(c)
        if nodes:
            return self.ids[nodes[0]]
        key = f"{self.eclass(c)}.gone"  # every node of the class was subsumed
        self.kind(c)
        self.node(key, "?", [], self.eclass(c), NEVER)
        return key

    def literal(self, value: object) -> str:
        kind = "i64" if isinstance(value, int) else "String"
        key = f"{kind}-{value}"
        self.node(key, str(value) if kind == "i64" else f'"{value}"', [], key, 0.0)
        self.data["class_data"][key] = {"type": kind}
        return key
