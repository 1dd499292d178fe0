"""Why a text that reads a tensor while it defines it states no graph: the dependences, followed around.

h[t] = a[t] * h[t - 1] + x[t]      goes back only: a prefix fold of affine maps computes it
h[t] = h[t - 1] + h[t + 1]         goes both ways: no order of t computes one before the other
u[i] = v[i] + 1;  v[i] = u[i] * 2  each needs the other at the same point
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tang_egg.errors import TextError
from tang_egg.extract.explain import Reason
from tang_egg.report_answer import Answer
from tang_egg.text_parse import items, syntax_tree

MOST = 1000
"""Tensors of a text that are followed."""


@dataclass(frozen=True, slots=True)
class _Edge:
    """`name` reads `source` at `steps` beside its own point, by axis; None for another coordinate."""

    name: str
    source: str
    steps: tuple[int | None, ...]
    text: str


def cycle_answer(text: str, name: str, asked: str) -> Answer:
    """Whether a tensor of a text depends on itself, and by which way. Raises TextError where the text has none such."""
    edges, defined = _edges(text)
    if name not in defined:
        raise TextError(
            f"no tensor of the text is called '{name}'",
            where=f"--why-not {asked}",
            mend=f"name one of: {', '.join(list(defined)[:40]) or 'it defines none'}",
        )
    cycles = _cycles(edges, name)
    if not cycles:
        behind = sorted({e.source for e in edges if e.name == name and e.source in defined})
        reads = f"it reads {', '.join(behind)}" if behind else "it reads inputs only"
        reason = Reason("space", f"{reads}, and none of these reads it: its points can be computed in any order")
        return Answer("why not", asked, "cycle", f"{name} does not depend on itself", reasons=(reason,))
    reasons = [_told(c) for c in cycles]
    if len(cycles) > 1 and all(r.kind == "law" for r in reasons) and not _one_order(cycles):
        way = " and ".join(_step(_total(c)) for c in cycles)
        reasons.append(Reason("limit", f"{name} needs itself {way}: no order of its points has all of these before it"))
    cyclic = [r for r in reasons if r.kind == "limit"]
    verdict = (
        f"{name} depends on itself in a cycle: there is no order in which its points can be computed"
        if cyclic
        else f"{name} is a recurrence: written as a scan it is a fold up to each point"
    )
    return Answer("why not", asked, "cycle", verdict, reasons=tuple(cyclic or reasons))


def _edges(text: str) -> tuple[list[_Edge], dict[str, tuple[str, ...]]]:
    """The reads of defined tensors by defined tensors, and the indices of each definition."""
    found: list[tuple[str, tuple[str, ...], ast.expr]] = []
    for s in syntax_tree(text, "<text>").body:
        target = s.targets[0] if isinstance(s, ast.Assign) else s.target if isinstance(s, ast.AnnAssign) else None
        value = getattr(s, "value", None)
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and value is not None:
            found.append((target.value.id, _indices(target.slice), value))
        elif isinstance(s, ast.AnnAssign) and isinstance(target, ast.Name) and value is not None:
            found.append((target.id, (), value))
    defined = {name: axes for name, axes, _ in found[:MOST]}
    edges = [
        _Edge(name, x.value.id, _steps(axes, x.slice), ast.unparse(x))
        for name, axes, value in found[:MOST]
        for x in ast.walk(value)
        if isinstance(x, ast.Subscript) and isinstance(x.value, ast.Name) and x.value.id in defined
    ]
    return edges, defined


def _indices(at: ast.expr) -> tuple[str, ...]:
    """The names of the indices of a definition: `i` or `i:8`."""
    names = [x.lower if isinstance(x, ast.Slice) else x for x in items(at)]
    return tuple(x.id if isinstance(x, ast.Name) else "" for x in names)


def _steps(axes: tuple[str, ...], at: ast.expr) -> tuple[int | None, ...]:
    """For each coordinate its distance from the index of the definition at that place."""
    found: list[int | None] = []
    for n, x in enumerate(items(at)):
        own = axes[n] if n < len(axes) else ""
        step: int | None = None
        if isinstance(x, ast.Name) and x.id == own:
            step = 0
        elif isinstance(x, ast.BinOp) and isinstance(x.left, ast.Name) and x.left.id == own:
            c = x.right.value if isinstance(x.right, ast.Constant) and isinstance(x.right.value, int) else None
            step = None if c is None else c if isinstance(x.op, ast.Add) else -c if isinstance(x.op, ast.Sub) else None
        found.append(step)
    return tuple(found)


def _cycles(edges: list[_Edge], name: str) -> list[tuple[_Edge, ...]]:
    """Ways from a tensor back to itself that pass each other tensor once, the shortest first; a few of them."""
    found: list[tuple[_Edge, ...]] = []
    stack: list[tuple[_Edge, ...]] = [(e,) for e in edges if e.name == name]
    seen = 0
    while stack and seen < MOST:
        way = stack.pop(0)
        seen += 1
        if way[-1].source == name:
            found.append(way)
        else:
            passed = {e.name for e in way}
            stack += [(*way, e) for e in edges if e.name == way[-1].source and e.source not in passed - {name}]
    return found[:8]


def _total(way: tuple[_Edge, ...]) -> tuple[int | None, ...] | None:
    """The distance around a cycle by axis; None where tensors of different ranks take part."""
    if len({len(e.steps) for e in way}) > 1:
        return None
    return tuple(None if None in column else sum(column) for column in zip(*(e.steps for e in way), strict=True))


def _told(way: tuple[_Edge, ...]) -> Reason:
    names = " → ".join([way[0].name, *(e.source for e in way)])
    reads = ", ".join(f"{e.name} reads {e.text}" for e in way)
    total = _total(way)
    if total is None or None in total:
        text = f"the dependences {names} close a cycle ({reads}) at points that are not a fixed way apart"
        return Reason("limit", text)
    if not any(total):
        return Reason("limit", f"the dependences {names} close a cycle at the same point: {reads}")
    text = f"{names} goes round by {_step(total)} ({reads}): in that order it is a scan, te.scan or te.gated_scan"
    return Reason("law", text)


def _step(total: tuple[int | None, ...] | None) -> str:
    return f"({', '.join(f'{n:+d}' if n else '0' for n in total)})" if total else "somewhere"


def _one_order(cycles: list[tuple[_Edge, ...]]) -> bool:
    """Whether one order of the points, forwards or backwards along one axis, has all that is needed before."""
    totals = [t for c in cycles if (t := _total(c)) is not None]
    for axis in range(max((len(t) for t in totals), default=0)):
        column = [t[axis] if axis < len(t) else None for t in totals]
        if all(x is not None and x < 0 for x in column) or all(x is not None and x > 0 for x in column):
            return True
    return False
