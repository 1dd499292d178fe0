"""What one schedule cannot undercut, beside what no schedule of a kernel can: it prunes that schedule and no other.

A schedule gives something up, and each of these follows from its text alone:

- **order**: its outer loops turn T times, each turn computes a tile of the outputs, and reads R bytes of distinct
  values for it. Fast memory of S bytes holds at most S of them when the turn begins, so that at least T · (R - S)
  bytes are read, whatever is kept and whatever is evicted. S is what one worker has to itself where a turn is one
  worker's. Where workers share it, one load may serve all P of them at once: T · (R - S) / P.
- **lanes**: vectors run along the last output axis within its tile. A tile that is shorter than the vectors of the
  device uses that share of its peak.
- **shares**: a loop over threads of T turns on P workers leaves ⌈T / P⌉ turns to one of them.
- **functions**: exp, log, tanh, erf and sin are printed as polynomials, or call a library that computes one value at a
  time: LEAST operations and more. Another implementation may look them up, so that this is no floor of all. In f32 the
  polynomials have so many multiplications, and a unit that multiplies is taken up by each for as long as by a
  multiplication with its addition: twice as many operations of the peak (MULTIPLIED).
- **lanes of a fold**: a fold that is shared out to L lanes computes its functions in vectors of L values. Each takes up
  as long as one of the widest does, so that the functions count as often as L goes into the widest.
- **chain**: a sum in order is as many additions one after another; rounding forbids another order. No processor adds in
  less than ADDITION cycles.

Values that a term does not need all of its tile's indices for may be computed before the turn: of each such part one
read counts, and of a fold none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod

from tang_egg.affine import Affine, Index, affine
from tang_egg.cost.device import Device, Traffic
from tang_egg.cost.live import points, reached, spelling
from tang_egg.cost.time import WIDTHS, Term, Work, amount, fastest, time_floor
from tang_egg.cost.work import narrowest
from tang_egg.ir import Apply, Input, Position, Read, Reduce, Scalar, Scan, Tensor, Test, children, free, type_of, walk
from tang_egg.ops import BYTES
from tang_egg.rewrite import substitute
from tang_egg.schedule import Schedule

ADDITION = 2.0
"""Cycles from one addition to the next that needs its result, on the quickest processor that is known."""
FUNCTIONS = ("exp", "log", "tanh", "erf", "sin")
LEAST = 16
"""Operations of one of these, at least, as codegen/prelude spells them."""
MULTIPLIED: Mapping[str, int] = {"exp": 20, "log": 30, "tanh": 22, "erf": 44, "sin": 28}
"""Twice the multiplications of these in f32, as codegen/prelude spells them."""
PLAIN_LOOPS = ("point", "split", "tile", "stream")
"""The shapes whose loops over the output axes are those that the schedule names, outermost first."""


def schedule_terms(
    outputs: tuple[Tensor, ...], schedule: Schedule, device: Device, work: Sequence[Work], core: Device | None = None
) -> tuple[Term, ...]:
    """The bounds on one schedule of a kernel whose sizes are numbers. `core`: the constants of one worker.

    Only for processors: on a GPU other fields decide. `work`: the operations of the kernel.
    """
    own = core if core is not None and one_thread(schedule) else device
    costs = _together(work, _joined((*spelt_out(outputs), *narrow_folds(outputs, schedule, vector_bytes(own)))))
    found = [*_orders(outputs, schedule, own), *_narrow(outputs, schedule, own, costs)]
    found += time_floor(own, {}, costs).terms if spelt_out(outputs) else ()
    chain = longest_chain(outputs, schedule)
    if chain > 1 and device.clock > 0:
        seconds = chain * ADDITION / device.clock
        found.append(Term("chain", seconds, f"{amount(chain)}additions one after another"))
    return tuple(found)


@lru_cache(maxsize=1 << 10)
def spelt_out(outputs: tuple[Tensor, ...]) -> tuple[Work, ...]:
    """What functions come to beside the one operation that each counts as, by type of operand."""
    counted: dict[object, tuple[str, str, float]] = {}
    for s, contexts in reached(outputs).items():
        if isinstance(s, Apply) and s.op in FUNCTIONS and type_of(s) == "real":
            try:
                key = spelling(s)
            except RecursionError:
                continue
            count = max(points(free(s), c) for c in contexts)
            counted[key] = (narrowest(s), s.op, max(count, counted.get(key, ("", "", 0.0))[2]))
    return _joined(Work(operand, (spelt(op, operand) - 1) * n) for operand, op, n in counted.values())


def spelt(op: str, operand: str) -> int:
    """Operations that a function comes to, at least, for each value of a type."""
    return MULTIPLIED[op] if operand == "f32" else LEAST


def _joined(work: Iterable[Work]) -> tuple[Work, ...]:
    """One sum of operations for each type."""
    found: dict[str, float] = {}
    for w in work:
        found[w.operand] = found.get(w.operand, 0.0) + w.operations
    return tuple(Work(operand, n) for operand, n in sorted(found.items()) if n > 0)


def narrow_folds(outputs: tuple[Tensor, ...], schedule: Schedule, width: int) -> tuple[Work, ...]:
    """What functions come to beside `spelt_out` where folds compute them in vectors of less than `width` bytes.

    Every point of the fold needs its function, and L points at a time are at hand: a vector that computes it holds L
    values, since other points belong to later turns of the loop over the fold and the vectors are spelt out. Only of
    functions of one fold's index and no output index of which a turn holds several points: vectors along those may
    compute what needs these. What is staged may be computed on the way, in vectors of its own.
    """
    if schedule.shape not in ("split", "stream") or schedule.block or schedule.chunk or schedule.stage or not width:
        return ()
    held = {i for t in outputs for i in t.axes if schedule.tile_of(i.name) != 1}
    counted: dict[object, Work] = {}
    for r in walk(*(t.body for t in outputs)):
        lanes = _lanes(r, schedule) if isinstance(r, Reduce) else 0
        if not lanes or not isinstance(r, Reduce) or not r.where.everywhere:
            continue
        (i,) = r.indices
        for s in _own(r):
            operand = narrowest(s)
            share = lanes * WIDTHS[operand] / width
            if i in free(s) and not (free(s) - {i}) & held and share < 1:
                count = prod(map(_size, free(s)))
                work = Work(operand, spelt(s.op, operand) * (1 / share - 1) * count)
                key = spelling(s)
                counted[key] = min(work, counted.get(key, work), key=lambda w: w.operations)
    return _joined(counted.values())


def _lanes(r: Reduce, schedule: Schedule) -> int:
    """The lanes that a fold over one index is shared out to; 0 where a schedule says nothing of them."""
    if len(r.indices) != 1:
        return 0
    plan = schedule.fold_of(r.indices[0].name)
    return plan.size if plan.how == "lanes" else plan.lanes if plan.how == "stream" else 0


def _own(r: Reduce) -> list[Apply]:
    """The functions of reals in the body of a fold that surely run at each of its points, none of a fold inside."""
    found: list[Apply] = []
    stack: list[Scalar] = list(r.body)
    while stack:
        s = stack.pop()
        if isinstance(s, Apply) and s.op not in ("select", "and", "or"):
            found += [s] if s.op in FUNCTIONS and type_of(s) == "real" else []
            stack += children(s)
    return found


def _together(work: Sequence[Work], more: Sequence[Work]) -> list[Work]:
    """Operations with those of functions added to sums that are no products of the same type."""
    extra = {w.operand: w.operations for w in more}
    found = [w if w.product else replace(w, operations=w.operations + extra.pop(w.operand, 0.0)) for w in work]
    return [*found, *(Work(operand, n) for operand, n in extra.items())]


def one_thread(s: Schedule) -> bool:
    """Whether a schedule never runs on several threads."""
    return not s.parallel and not s.chunk and all(p.how != "blocks" for _, p in s.fold)


def loops_around(outputs: tuple[Tensor, ...], schedule: Schedule) -> tuple[tuple[Index, int, int], ...]:
    """The loops over output axes, outermost first: index, turns, and points of each turn. Axes held whole have none."""
    if schedule.shape not in PLAIN_LOOPS or schedule.block or schedule.chunk or _scans(outputs):
        return ()
    common = [i for i in outputs[0].axes if all(i in t.axes for t in outputs)]
    named = [i for n in schedule.order for i in common if i.name == n]
    order = [*named, *(i for i in common if i not in named)]
    found = []
    for i in order:
        size, tile = _size(i), schedule.tile_of(i.name)
        if tile > 0 and size > 0:
            step = min(tile, size)
            found.append((i, -(-size // step), step))
    return tuple(found)


def least_read(outputs: tuple[Tensor, ...], around: Mapping[Index, int]) -> int:
    """Bytes of distinct values that a turn reads, at least: `around` says how many points of each index it covers."""
    found: dict[Input, int] = {}
    for t in outputs:
        if set(around) <= set(t.axes):
            for source, count in _reads(t.body, frozenset(around), around):
                found[source] = max(found.get(source, 0), count * BYTES[source.dtype])
    return sum(found.values())


def _reads(s: Scalar, needed: frozenset[Index], around: Mapping[Index, int]) -> list[tuple[Input, int]]:
    """The reads that each turn makes anew, with their elements; of what could be computed before, one."""
    if isinstance(s, Read):
        count = _elements(s, around)
        return [(s.source, count)] if isinstance(s.source, Input) and count else []
    if isinstance(s, Reduce):
        if not s.where.everywhere or not needed <= free(s):
            return []
        return [x for b in s.body for x in _reads(b, needed, around)] if len(s.body) == 1 else []
    if not isinstance(s, Apply) or s.op in ("select", "cast"):
        return []
    inside = [x for c in children(s) for x in _reads(c, needed, around)]
    if needed <= free(s):
        return inside
    return [max(inside, key=lambda x: (x[1] * BYTES[x[0].dtype], x[0].name))] if inside else []


def _elements(r: Read, around: Mapping[Index, int]) -> int:
    """The elements that a read touches in a turn; 0 where they cannot be counted at once."""
    indices: list[Index] = []
    for c in r.coordinates:
        i = c.single() if isinstance(c, Affine) else None
        if i is None or i in indices:
            return 0
        indices.append(i)
    return prod(min(around.get(i, _size(i)), _size(i)) for i in indices)


def depths_of(outputs: tuple[Tensor, ...], loops: Sequence[tuple[Index, int, int]]) -> list[tuple[int, int]]:
    """For each depth of some loops: how often they turn over whole tiles, and what a turn reads at least."""
    found = []
    for depth in range(1, len(loops) + 1):
        around = {i: step for i, _, step in loops[:depth]}
        found.append((prod(_size(i) // step for i, _, step in loops[:depth]), least_read(outputs, around)))
    return found


def order_traffic(depths: Iterable[tuple[int, int]], capacity: float) -> float:
    """Bytes that turns read into `capacity` bytes of fast memory, at least: the most of all depths."""
    return max([0.0, *(turns * (read - capacity) for turns, read in depths)])


def _orders(outputs: tuple[Tensor, ...], schedule: Schedule, device: Device) -> list[Term]:
    """What the order of loops makes it read at each level."""
    loops = loops_around(outputs, schedule)
    if not loops or not _vectors(outputs, schedule):
        return []
    depths = depths_of(outputs, loops)
    threads = next((n for n, (i, _, _) in enumerate(loops) if i.name in schedule.parallel), None)
    found: list[Term] = []
    own, total, private = 0.0, 0.0, True
    for level in device.levels:
        if total > 0 and level.ceiling > 0:
            if private:  # turns around the loop over threads are shared by all workers, those in it are one worker's
                around = threads or 0
                moved = max(order_traffic(depths[:around], total), order_traffic(depths[around:], own))
            else:
                moved = order_traffic(depths, total) / (1 if threads is None else device.workers)
            if moved > 0:
                term = time_floor(device, {level.name: Traffic(moved, moved)}).terms[0]
                found.append(Term(f"{level.name} by order", term.seconds, term.text))
        private = private and level.instances >= device.workers
        own += level.capacity
        total += level.total
    return found


def _vectors(outputs: tuple[Tensor, ...], schedule: Schedule) -> int:
    """Lanes of the vectors along the last axis, which all reals of a kernel need; 0 where compilers choose them."""
    last = outputs[0].axes[-1] if outputs[0].axes else None
    if last is None or schedule.shape not in ("tile", "point") or schedule.block or schedule.chunk or schedule.fold:
        return 0
    tile = schedule.tile_of(last.name)
    if tile < 4 or tile & (tile - 1) or _size(last) % tile or any(t.axes[-1:] != (last,) for t in outputs):
        return 0
    if not _folds_along(outputs, last):
        return 0
    return tile


@lru_cache(maxsize=1 << 10)
def _folds_along(outputs: tuple[Tensor, ...], last: Index) -> bool:
    """Whether every fold depends on the last axis, and nothing scans or asks where it is."""
    bodies = walk(*(t.body for t in outputs))
    return not any(isinstance(s, (Scan, Test)) or (isinstance(s, Reduce) and last not in free(s)) for s in bodies)


def _narrow(outputs: tuple[Tensor, ...], schedule: Schedule, device: Device, work: Sequence[Work]) -> list[Term]:
    """Operations at the share of the peak that vectors of so many lanes reach."""
    lanes, width = _vectors(outputs, schedule), vector_bytes(device)
    last = outputs[0].axes[-1] if outputs[0].axes else None
    found: list[Term] = []
    if not lanes or not width or last is None or not _all_along(outputs, last):
        return found
    for kind in work:
        peak = fastest(device, kind)
        share = lanes * WIDTHS[kind.operand] / width
        if peak is not None and share < 1 and kind.operations > 0:
            seconds = kind.operations / (peak[1] * share)
            text = f"{amount(kind.operations)}operations in vectors of {lanes}, {share:.0%} of {amount(peak[1])}/s"
            found.append(Term(f"{peak[0].name} in {lanes} lanes", seconds, text))
    return found


@lru_cache(maxsize=1 << 10)
def _all_along(outputs: tuple[Tensor, ...], last: Index) -> bool:
    """Whether every operation on reals depends on the last axis: what does not may be computed in other vectors."""
    for s in walk(*(t.body for t in outputs)):
        if isinstance(s, Apply) and type_of(s) == "real" and last not in free(s):
            return False
    return True


def vector_bytes(device: Device) -> int:
    """Bytes of a vector of a processor, as its probe noted; 0 where it did not."""
    found = [re.fullmatch(r"(\d+) bits", n) for n in device.notes]
    return next((int(m[1]) // 8 for m in found if m), 0)


@lru_cache(maxsize=1 << 10)
def _sums(outputs: tuple[Tensor, ...]) -> tuple[tuple[tuple[Index, ...], int], ...]:
    """The sums of reals over a whole box that every output element needs: their indices and points."""
    found = []
    for t in outputs:
        stack: list[Scalar] = [t.body]
        while stack:
            s = stack.pop()
            if isinstance(s, Reduce):
                plain = s.monoid.name == "sum" and s.where.everywhere and type_of(s.body[0]) == "real"
                if plain and set(s.indices) <= free(s.body[0]):
                    found.append((s.indices, prod(map(_size, s.indices))))
            elif isinstance(s, Apply) and s.op not in ("select", "and", "or"):
                stack += children(s)
    return tuple(found)


def longest_chain(outputs: tuple[Tensor, ...], schedule: Schedule) -> float:
    """Additions that one state takes up one after another, in the longest sum that a schedule does not share out."""
    if any(_size(i) == 0 for t in outputs for i in t.axes):
        return 0.0
    longest = 0.0
    for indices, count in _sums(outputs):
        states = 1
        for i in indices:
            plan = schedule.fold_of(i.name)
            if schedule.tile_of(i.name) == 0 or plan.how == "blocks":
                states *= _size(i)  # held whole, folded as a tree; or cut as the kernel finds best
            elif plan.how == "stream" and plan.lanes:
                states *= plan.lanes  # side by side for the whole fold: a tile only says how many points are at hand
            elif plan.how != "serial":
                states *= max(plan.size, 1)
        longest = max(longest, count / states - 1)
    return longest


def busiest(outputs: tuple[Tensor, ...], schedule: Schedule, workers: int) -> tuple[Tensor, ...] | None:
    """What one worker computes at least of a kernel that a schedule shares out unevenly: outputs of fewer points.

    None where shares are even, or where not all points of the shared index are alike.
    """
    loops = loops_around(outputs, schedule)
    found = next(((i, turns, step) for i, turns, step in loops if i.name in schedule.parallel), None)
    if found is None or any(p.how == "blocks" for _, p in schedule.fold):
        return None
    if any(t.into for t in outputs):
        return None
    i, turns, step = found
    mine = -(-turns // workers)
    most = max(0, mine - 1) * step + _size(i) - (turns - 1) * step
    if most * workers <= _size(i) or not _alike(outputs, i):
        return None
    return sliced(outputs, i, most)


@lru_cache(maxsize=1 << 10)
def _alike(outputs: tuple[Tensor, ...], i: Index) -> bool:
    """Whether all points of an index ask for the same amount of work: no condition and no data looks at it."""
    for s in walk(*(t.body for t in outputs)):
        if isinstance(s, (Test, Position, Scan)) or (isinstance(s, Reduce) and not s.where.everywhere):
            return False
        if isinstance(s, Read) and any(not isinstance(c, Affine) for c in s.coordinates):
            return False
    return all(i in t.axes for t in outputs)


def sliced(outputs: tuple[Tensor, ...], i: Index, points: int) -> tuple[Tensor, ...]:
    """The outputs at the first points of an index only."""
    short = Index(i.name, affine(points))
    return tuple(
        Tensor(t.name, tuple(short if a is i else a for a in t.axes), substitute(t.body, {i: affine(short)}), t.dtype)
        for t in outputs
    )


def _size(i: Index) -> int:
    return int(i.size.value or 0)


@lru_cache(maxsize=1 << 10)
def _scans(outputs: tuple[Tensor, ...]) -> bool:
    return any(isinstance(s, Scan) for s in walk(*(t.body for t in outputs)))
