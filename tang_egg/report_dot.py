"""The saturated e-graph for Graphviz: classes are clusters, nodes point to the classes of their operands.

Nodes that were picked are filled, nodes of the user's own graph have a bold frame. Render with `dot -Tsvg`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tang_egg.egraph import ClassId, ENode
from tang_egg.extract.assemble import WindowResult
from tang_egg.extract.terms import class_arguments
from tang_egg.pipeline_compiled import Extraction
from tang_egg.report_words import Wording

LIMIT = 300
"""E-nodes that are drawn of each window; those nearest to the roots come first."""


def render_dot(extraction: Extraction, *, limit: int | None = LIMIT) -> str:
    """The e-graphs of the distinct windows as one directed graph. `limit` None draws all nodes."""
    lines = ["digraph egraph {", "  compound=true; rankdir=TB; fontname=monospace;"]
    lines += ["  node [shape=box, fontname=monospace, fontsize=10]; edge [arrowsize=0.6];"]
    seen: dict[int, None] = {}
    for window, shared, result in extraction.windows:
        if id(result) not in seen:
            seen[id(result)] = None
            lines += _window(len(seen), Wording(window, shared, result.terms), result, limit)
    return "\n".join([*lines, "}"]) + "\n"


def _window(number: int, wording: Wording, result: WindowResult, limit: int | None) -> Iterator[str]:
    snapshot = result.saturation.snapshot
    picked = picked_nodes(result)
    written = set(result.saturation.source.values())
    drawn: dict[ClassId, list[ENode]] = {}
    pending, left = list(dict.fromkeys(result.saturation.roots.values())), limit
    while pending and (left is None or left > 0):
        c = pending.pop(0)
        if c in drawn:
            continue
        # what was picked and what was written come first where not all nodes are drawn
        nodes = sorted(snapshot.classes.get(c, ()), key=lambda n: (n not in picked, n not in written))
        drawn[c] = nodes if left is None else nodes[:left]
        left = None if left is None else left - len(drawn[c])
        pending += [a for n in drawn[c] for a in class_arguments(n)]
    total = snapshot.nodes
    shown = sum(len(n) for n in drawn.values())
    yield f"  // window {number}: {shown} of {total} e-nodes"
    for c, nodes in drawn.items():
        yield f"  subgraph cluster_{number}_{c.number} {{"
        yield f"    label={_quoted(wording.written(c)[:60])}; style=rounded; color=gray;"
        for n, node in enumerate(nodes):
            style = [*(["filled"] if node in picked else []), *(["bold"] if node in written else [])]
            look = f', style="{",".join(style)}", fillcolor=palegreen' if style else ""
            yield f"    n{number}_{c.number}_{n} [label={_quoted(_label(node))}{look}];"
        yield "  }"
    for c, nodes in drawn.items():
        for n, node in enumerate(nodes):
            for a in class_arguments(node):
                if drawn.get(a):
                    head = f"n{number}_{a.number}_0"
                    inside = "" if a == c else f" [lhead=cluster_{number}_{a.number}]"
                    yield f"  n{number}_{c.number}_{n} -> {head}{inside};"


def picked_nodes(result: WindowResult) -> set[ENode]:
    """The e-nodes of the terms that selection picked."""
    found: set[ENode] = set()
    stack = [v for k in result.selection.chosen for v in k.variants]
    while stack:
        v = stack.pop()
        if v.node is not None and v.node not in found:
            found.add(v.node)
        stack += v.below
    return found


def _label(n: ENode) -> str:
    own = [str(a) for a in n.args if not isinstance(a, (ClassId, tuple))]
    return " ".join([n.constructor, *own])


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'
