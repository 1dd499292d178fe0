"""Schedules worth trying for a kernel on a grid of threads or warps, the best guess first, the plain one last.

Which output axes the grid has follows from work: an axis for which the most costly fold would be repeated is left to
the inside of a thread or warp. It is held whole where a fold has it in only a part of its state, so that the other
parts, and the folds below them, run once. Warps share a fold where threads side by side would read far apart, but
lanes along the fold read side by side. An operand that lacks an axis is reused along it: that makes a register tile.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tang_egg.affine import Index
from tang_egg.codegen.candidates_fold import LONG, Fold, contiguous, folds_of, size_of
from tang_egg.codegen.candidates_rows import by_scans, by_warps, side_by_side
from tang_egg.codegen.lower_turn_grid import turned_reads
from tang_egg.ir import Reduce, Scan, Tensor, free, walk
from tang_egg.ops import BYTES
from tang_egg.schedule import FoldPlan, Schedule

HELD = 128
"""Longest output axis that a thread holds whole."""
FEW = 8
"""Rows of a narrow operand that a lane has the states of, at most."""
SQUARE = 16
"""Points of both axes from which on elements that lie across turn in shared memory."""
AHEAD = 2
"""Points whose loads a thread has under way together: what loads of one would leave of the memory's rate."""
SHARES = 16
"""Points of a fold that a thread has under way together, at most."""
STATES = 64
"""Entries of the states of these points, at most: they are registers, and each pair is combined in code of its own."""
MANY = 1 << 16
"""Threads that keep a chip busy: a register tile must leave as many."""


def grid_schedules(outputs: tuple[Tensor, ...], wide: bool = False) -> tuple[Schedule, ...]:
    """Legal schedules without repeats.

    `wide`: threads may move several elements at once and keep rows in registers, and the warps of a block share a row.
    """
    nodes = [s for t in outputs for s in walk(t.body)]
    scanned = {s.index for s in nodes if isinstance(s, Scan)}
    common = [i for i in outputs[0].axes if all(i in t.axes for t in outputs) and i not in scanned]
    plain = Schedule("point", grid=tuple(i.name for i in common))
    if any(i.size.value == 0 for t in outputs for i in t.axes):
        return (plain,)  # nothing is stored, and elements that do not exist cannot be told apart
    folds = folds_of(outputs)
    inside = [i for i in common if _repeats(i, folds)]
    held = [i for i in inside if _partly(i, folds) and 1 < (i.size.value or 0) <= HELD]
    if held and _idle(common, folds):
        inside, held = [i for i in inside if i not in held], []
    grid = [i for i in common if i not in inside]
    threads = Schedule("point", grid=tuple(i.name for i in grid), tile=tuple((i.name, 0) for i in held))
    scans = [*_turned(outputs, threads, grid), *by_scans(outputs, threads, folds, scanned)] if wide else []
    tiled = [] if held else [replace(threads, shape="tile", tile=t) for t in _tiles(grid, folds)]
    warps = by_warps(outputs, threads, folds, {*grid, *held, *scanned}, wide)
    few = _few(grid, folds) if wide and not held and _apart(grid, inside, folds) else []
    if few:  # each lane keeps the states of all of them, so that the operand that lacks them is read once
        kept = replace(
            threads,
            grid=tuple(i.name for i in grid if i not in few),
            tile=(*threads.tile, *((i.name, 0) for i in few)),
        )
        warps = [*by_warps(outputs, kept, folds, {*grid, *held, *scanned}, wide), *warps]
        tiled = []
    found = [*(_points(outputs, threads, grid) if wide else ()), threads, *warps]
    if warps and not tiled and _apart(grid, inside, folds):
        found = [*warps, threads]
    if wide and _idle(common, folds) and (plans := _at_once(folds)):
        found = [replace(threads, shape="split", fold=plans), *found]
    return tuple(dict.fromkeys([*scans, *tiled, *found, plain]))


def _idle(axes: list[Index], folds: list[Fold]) -> bool:
    """Whether all points together leave a chip idle and fold little each: to repeat work then costs nothing."""
    short = all(f.outer and f.work <= LONG for f in folds)
    return short and all(i.size.value is not None for i in axes) and prod(size_of(i) for i in axes) < MANY


def _at_once(folds: list[Fold]) -> tuple[tuple[str, FoldPlan], ...]:
    """Plans by which a thread loads all points of its short folds before it combines two of them; none where it cannot.

    Where few threads run, nothing else hides the time that a load takes.
    """
    plans: list[tuple[str, FoldPlan]] = []
    for f in folds:
        last = f.fold.indices[-1]
        plain = (
            len(f.fold.indices) == 1 and f.fold.monoid.commutative and not f.fold.where.affine and not f.fold.where.data
        )
        points = last.size.value or 0
        if not plain or not f.reads() or not 2 <= points <= SHARES or points * len(f.fold.body) > STATES:
            return ()
        plans.append((last.name, FoldPlan("lanes", points)))
    return tuple(plans)


def _repeats(i: Index, folds: list[Fold]) -> bool:
    """Whether points of an output axis would repeat most of the work, since the largest fold lacks the axis."""
    lacking = max((f.work for f in folds if i not in f.all), default=0)
    needing = max((f.work for f in folds if i in f.all), default=0)
    partly = max((f.work for f in folds if _partly(i, [f])), default=0)
    return lacking > max(needing, 1) or (partly > 1 and partly >= needing)


def _partly(i: Index, folds: list[Fold]) -> bool:
    """Whether only some components of a fold, or not the folds inside it, need an axis."""
    return any(i in f.all and (any(i not in p for p in f.parts) or _lacked_inside(i, f)) for f in folds)


def _few(grid: list[Index], folds: list[Fold]) -> list[Index]:
    """The short axes of the grid that the largest operand of the most costly fold lacks, where these are long."""
    outer = [f for f in folds if f.outer and f.reads()]
    if not outer:
        return []
    main = max(outer, key=lambda f: f.work)
    largest = max(main.reads(), key=lambda r: prod(size_of(i) for i in free(r)))
    lacked = [i for i in grid if i in main.all and i not in free(largest)]
    short = [i for i in lacked if 1 < (i.size.value or 0) <= FEW]
    return short if prod(size_of(i) for i in short) <= FEW and len(main.parts) == 1 else []


def _lacked_inside(i: Index, f: Fold) -> bool:
    inner = [s for b in f.fold.body for s in walk(b) if isinstance(s, Reduce) and free(s) & set(f.fold.indices)]
    return any(i not in free(s) for s in inner)


def _apart(grid: list[Index], inside: list[Index], folds: list[Fold]) -> bool:
    """Whether lanes along the folds read closer together than threads along the grid's last axis."""
    near = far = 0
    for f in folds:
        if not f.outer or prod(size_of(i) for i in f.fold.indices) < LONG:
            continue
        for r in f.reads():
            near += any(contiguous(r, i) for i in f.fold.indices)
            far += bool(grid) and contiguous(r, grid[-1])
    return near > far or (near >= far and bool(inside)) or (not grid and bool(folds))


def _turned(outputs: tuple[Tensor, ...], threads: Schedule, grid: list[Index]) -> list[Schedule]:
    """The schedule for reads that lie across the outputs' last axis: the axis along which most bytes are read turns."""
    last = outputs[0].axes[-1] if outputs[0].axes else None
    if last is None or set(grid) != set(outputs[0].axes) or (last.size.value or 0) < SQUARE:
        return []
    weights: dict[Index, int] = {}
    for i in grid:
        if (i.size.value or 0) >= SQUARE:
            weights[i] = sum(BYTES[s.source.dtype] for s in turned_reads(outputs, i))
    best = max(weights, key=lambda i: weights[i], default=last)
    return [replace(threads, shape="grid", across=(best.name, last.name))] if weights.get(best) else []


def _points(outputs: tuple[Tensor, ...], threads: Schedule, grid: list[Index]) -> list[Schedule]:
    """Elements without folds: several side by side for each thread, and several such where there are enough."""
    if not grid or any(isinstance(s, (Reduce, Scan)) for t in outputs for s in walk(t.body)):
        return []
    last = grid[-1]
    if any(t.axes[-1] is not last for t in outputs):
        return []
    v = side_by_side(last, outputs)
    if v < 2:
        return []
    found = replace(threads, tile=(*threads.tile, (last.name, v)))
    known = all(i.size.value is not None for i in grid)
    enough = known and prod(size_of(i) for i in grid) >= AHEAD * MANY * v
    return [replace(found, ahead=AHEAD), found] if enough else [found]


def _tiles(grid: list[Index], folds: list[Fold]) -> list[tuple[tuple[str, int], ...]]:
    """Register tiles over two axes of the grid, each missing from an operand of the largest fold, the best first."""
    outer = [f for f in folds if f.outer]
    if not outer or any(i.size.value is None for i in grid):
        return []
    main = max(outer, key=lambda f: f.work)
    reads = main.reads()
    lacked = [i for i in grid if i in main.all and any(i not in free(r) for r in reads)]
    if len(lacked) < 2 or main.work < LONG:
        return []
    row, column = lacked[-2], lacked[-1]
    points = prod(size_of(i) for i in grid)
    found: list[tuple[tuple[str, int], ...]] = []
    for a, b in ((8, 4), (8, 1), (4, 1), (2, 1)):
        if points >= MANY * a * b and size_of(row) >= a and size_of(column) >= b:
            found.append(((row.name, a),) + (((column.name, b),) if b > 1 else ()))
    if not found and size_of(row) >= 4:
        found.append(((row.name, 4),))
    return found
