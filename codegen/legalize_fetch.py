"""The next row comes while this one is read for the last time, so that memory and arithmetic work at once.

    for i:  for j: f(X[i, j])                     for i:  for j: f(X[i, j])
            for j by 16: Y[i, j] := g(X[i, j])            for j by 16: fetch X[i + 1, j]; Y[i, j] := g(X[i, j])

Where a row is read twice, the first reading waits for memory and the second, from a cache, leaves memory idle; the
processor fetches ahead within a reading, but not from the end of one row to the start of the next. The loops are those
that are left after vectors are made: each turn of one asks for every line that it reads, one row further on. Panels are
read by tiles of several heights, of which any may come first: all of them ask for the next panel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tang_egg import ops
from tang_egg.affine import Affine, Dim, affine
from tang_egg.codegen.kernel import (
    Call,
    Expr,
    Fetch,
    Form,
    If,
    Kernel,
    Let,
    Load,
    Loop,
    Stmt,
    expressions,
    subexpressions,
)

LINE = 64
"""Bytes that memory gives at once."""
FAR = 256
"""Elements from one turn of a loop to the next, in a buffer, from which on the loop counts as one over rows."""
WIDEST = 64
"""Most columns of a panel, whose points follow each other: a row of it is all of the panel."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """A loop along the rows of a buffer: where its turns read, and how much further the next row is."""

    loop: Loop
    starts: tuple[Affine, ...]
    ahead: Affine
    every: bool = False


def to_fetches(kernel: Kernel) -> Kernel:
    """The kernel with fetches for the buffers that ask for them."""
    if not any(b.fetch for b in kernel.buffers):
        return kernel
    found: dict[str, list[_Reading]] = {}
    for name, reading in _readings(kernel.body, []):
        found[name] = [*found.get(name, ()), reading] if reading.every else [reading]
    return replace(kernel, body=_with_fetches(kernel.body, kernel, found))


def _readings(body: tuple[Stmt, ...], around: list[tuple[Loop, Affine]]) -> Iterator[tuple[str, _Reading]]:
    """Every innermost loop along rows, in order, with the name of the buffer that it reads."""
    moved = dict[str, Loop]()
    for s in body:
        if isinstance(s, Let) and around and _same_start(s.value, around[-1][0].var):
            moved[s.name] = around[-1][0]
        if isinstance(s, If):
            yield from _readings(s.then, around)
            yield from _readings(s.otherwise, around)
        if not isinstance(s, Loop):
            continue
        rows = around + [(loop, affine(Dim(name))) for name, loop in moved.items()]
        if any(isinstance(x, (Loop, If)) for x in s.body):
            yield from _readings(s.body, [*rows, (s, affine(Dim(s.var)))])
        else:
            yield from _along(s, rows)


def _same_start(e: Expr, var: str) -> bool:
    """Whether a value is a loop's variable, moved back at the end of the axis."""
    return isinstance(e, Call) and e.op == "min" and e.args[0] == Form(affine(Dim(var)))


def _along(loop: Loop, around: list[tuple[Loop, Affine]]) -> Iterator[tuple[str, _Reading]]:
    """What an innermost loop reads along rows, by buffer."""
    starts: dict[str, dict[Affine, Affine]] = {}
    for s in loop.body:
        for load in (x for e in expressions(s) for x in subexpressions(e) if isinstance(x, Load)):
            if not load.buffer.fetch or not isinstance(load.index, Form):
                continue
            form = load.index.form
            row = _row_step(form, loop, around)
            if row is not None:
                starts.setdefault(load.buffer.name, {})[form] = row
    for name, found in starts.items():
        ahead = next(iter(found.values()))
        if all(a == ahead for a in found.values()):
            yield name, _Reading(loop, tuple(found), ahead, any(_step(form, loop) != 1 for form in found))


def _row_step(form: Affine, loop: Loop, around: list[tuple[Loop, Affine]]) -> Affine | None:
    """How far the next row is, for a place that moves along a row with a loop and to other rows with one around it."""
    if not 1 <= _step(form, loop) <= WIDEST:
        return None
    for outer, var in reversed(around):
        (dim,) = var.dims()
        step = _moved(form, dim, outer.step)
        if step.value is None or step.value >= FAR:
            return step
    return None


def _step(form: Affine, loop: Loop) -> int:
    """Elements that a place moves along with a loop's variable; 0 where that is not known."""
    return _moved(form, Dim(loop.var), 1).value or 0


def _moved(form: Affine, dim: Dim, by: int) -> Affine:
    """How far a place moves when a variable grows."""
    return form.substitute({dim: affine(dim) + by}) - form


def _with_fetches(body: tuple[Stmt, ...], kernel: Kernel, last: dict[str, list[_Reading]]) -> tuple[Stmt, ...]:
    out: list[Stmt] = []
    for s in body:
        if isinstance(s, If):
            s = replace(
                s, then=_with_fetches(s.then, kernel, last), otherwise=_with_fetches(s.otherwise, kernel, last)
            )  # fmt: skip
        elif isinstance(s, Loop):
            here = [(b, r) for b in kernel.buffers for r in last.get(b.name, ()) if r.loop is s]
            fetches = [Fetch(b, Form(at + r.ahead)) for b, r in here for at in _lines(r.starts, ops.BYTES[b.type])]
            s = replace(s, body=(*fetches, *_with_fetches(s.body, kernel, last)))
        out.append(s)
    return tuple(out)


def _lines(starts: tuple[Affine, ...], size: int) -> list[Affine]:
    """One place for each line of memory among some places."""
    kept: list[Affine] = []
    for form in starts:
        if all(gap is None or abs(gap) * size >= LINE for gap in ((form - k).value for k in kept)):
            kept.append(form)
    return kept
