"""Schedules worth trying for a kernel on a grid of threads or warps, the best guess first, the plain one last.

Which output axes the grid has follows from work: an axis for which the most costly fold would be repeated is left to
the inside of a thread or warp. It is held whole where a fold has it in only a part of its state, so that the other
parts, and the folds below them, run once. Warps share a fold where threads side by side would read far apart, but
lanes along the fold read side by side. An operand that lacks an axis is reused along it: that makes a register tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from tang_egg.affine import Affine, Index, affine
from tang_egg.codegen.candidates_rounds import in_rounds
from tang_egg.codegen.lower_fold import group_of, part_of
from tang_egg.codegen.lower_scan_grid import scannable
from tang_egg.codegen.lower_turn_grid import turned_reads
from tang_egg.ir import Apply, Read, Reduce, Scalar, Scan, Tensor, free, walk
from tang_egg.ops import BYTES
from tang_egg.schedule import FoldPlan, Schedule

HELD = 128
"""Longest output axis that a thread holds whole."""
UNKNOWN = 256
"""What a symbolic size is taken for."""
LONG = 32
"""Points from which on the lanes of a warp can share a fold."""
WIDE, MOST = 16, 8
"""Bytes of the widest access of a thread, and elements that it moves at most."""
HELD_BYTES = 256
"""Bytes of a row that a lane keeps in registers."""
ALONE = 8
"""Warps of a block whose warps have a row each."""
REGISTERS, SPARE = 1 << 16, 40
"""Registers of a multiprocessor, and those of a thread beside what it has of rows."""
FEW = 8
"""Rows of a narrow operand that a lane has the states of, at most."""
SQUARE = 16
"""Points of both axes from which on elements that lie across turn in shared memory."""
BUSY = 1 << 12
"""Warps that keep a chip busy: where rows are fewer, more warps share each."""
AHEAD = 2
"""Points whose loads a thread has under way together: what loads of one would leave of the memory's rate."""
SHARES = 16
"""Points of a fold that a thread has under way together, at most."""
STATES = 64
"""Entries of the states of these points, at most: they are registers, and each pair is combined in code of its own."""
MANY = 1 << 16
"""Threads that keep a chip busy: a register tile must leave as many."""


@dataclass(frozen=True, slots=True)
class _Fold:
    """A fold and its points for each point of the output; `outer` where it stands in no other fold."""

    fold: Reduce
    work: int
    outer: bool

    def needs(self, k: int) -> frozenset[Index]:
        """The free indices of component `k`."""
        return free(part_of(self.fold, k))

    @property
    def parts(self) -> list[frozenset[Index]]:
        return [self.needs(k) for k in range(len(self.fold.body))]

    @property
    def all(self) -> frozenset[Index]:
        return frozenset().union(*self.parts)

    def reads(self) -> list[Read]:
        return [x for b in self.fold.body for x in walk(b) if isinstance(x, Read) and free(x) & set(self.fold.indices)]


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
    folds = _folds(outputs)
    inside = [i for i in common if _repeats(i, folds)]
    held = [i for i in inside if _partly(i, folds) and 1 < (i.size.value or 0) <= HELD]
    if held and _idle(common, folds):
        inside, held = [i for i in inside if i not in held], []
    grid = [i for i in common if i not in inside]
    threads = Schedule("point", grid=tuple(i.name for i in grid), tile=tuple((i.name, 0) for i in held))
    scans = [*_turned(outputs, threads, grid), *_scans(outputs, threads, folds, scanned)] if wide else []
    tiled = [] if held else [replace(threads, shape="tile", tile=t) for t in _tiles(grid, folds)]
    warps = _warps(outputs, threads, folds, {*grid, *held, *scanned}, wide)
    few = _few(grid, folds) if wide and not held and _apart(grid, inside, folds) else []
    if few:  # each lane keeps the states of all of them, so that the operand that lacks them is read once
        kept = replace(
            threads,
            grid=tuple(i.name for i in grid if i not in few),
            tile=(*threads.tile, *((i.name, 0) for i in few)),
        )
        warps = [*_warps(outputs, kept, folds, {*grid, *held, *scanned}, wide), *warps]
        tiled = []
    found = [*(_points(outputs, threads, grid) if wide else ()), threads, *warps]
    if warps and not tiled and _apart(grid, inside, folds):
        found = [*warps, threads]
    if wide and _idle(common, folds) and (plans := _at_once(folds)):
        found = [replace(threads, shape="split", fold=plans), *found]
    return tuple(dict.fromkeys([*scans, *tiled, *found, plain]))


def _folds(outputs: tuple[Tensor, ...]) -> list[_Fold]:
    """All folds, one for each group of components, those inside others with the points of these."""
    found: dict[Reduce, _Fold] = {}

    def visit(roots: list[Scalar], points: int, outer: bool) -> None:
        stack, seen = list(roots), set[Scalar]()
        while stack:
            s = stack.pop()
            if s in seen:
                continue
            seen.add(s)
            if isinstance(s, Reduce):
                group = group_of(s)
                work = points * prod(size_of(i) for i in s.indices)
                if group not in found or found[group].work < work:
                    found[group] = _Fold(group, work, outer or (group in found and found[group].outer))
                    visit([*s.where.data, *s.body], work, False)
                continue
            if isinstance(s, Scan):
                visit(list(s.body), points, outer)
            elif isinstance(s, Apply):
                stack.extend(s.args)
            elif isinstance(s, Read):
                stack.extend(c for c in s.coordinates if isinstance(c, Scalar))

    visit([t.body for t in outputs], 1, True)
    return list(found.values())


def size_of(i: Index) -> int:
    """The points of an index; UNKNOWN where its size is symbolic."""
    return UNKNOWN if i.size.value is None else i.size.value


def _idle(axes: list[Index], folds: list[_Fold]) -> bool:
    """Whether all points together leave a chip idle and fold little each: to repeat work then costs nothing."""
    short = all(f.outer and f.work <= LONG for f in folds)
    return short and all(i.size.value is not None for i in axes) and prod(size_of(i) for i in axes) < MANY


def _at_once(folds: list[_Fold]) -> tuple[tuple[str, FoldPlan], ...]:
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


def _repeats(i: Index, folds: list[_Fold]) -> bool:
    """Whether points of an output axis would repeat most of the work, since the largest fold lacks the axis."""
    lacking = max((f.work for f in folds if i not in f.all), default=0)
    needing = max((f.work for f in folds if i in f.all), default=0)
    partly = max((f.work for f in folds if _partly(i, [f])), default=0)
    return lacking > max(needing, 1) or (partly > 1 and partly >= needing)


def _partly(i: Index, folds: list[_Fold]) -> bool:
    """Whether only some components of a fold, or not the folds inside it, need an axis."""
    return any(i in f.all and (any(i not in p for p in f.parts) or _lacked_inside(i, f)) for f in folds)


def _few(grid: list[Index], folds: list[_Fold]) -> list[Index]:
    """The short axes of the grid that the largest operand of the most costly fold lacks, where these are long."""
    outer = [f for f in folds if f.outer and f.reads()]
    if not outer:
        return []
    main = max(outer, key=lambda f: f.work)
    largest = max(main.reads(), key=lambda r: prod(size_of(i) for i in free(r)))
    lacked = [i for i in grid if i in main.all and i not in free(largest)]
    short = [i for i in lacked if 1 < (i.size.value or 0) <= FEW]
    return short if prod(size_of(i) for i in short) <= FEW and len(main.parts) == 1 else []


def _lacked_inside(i: Index, f: _Fold) -> bool:
    inner = [s for b in f.fold.body for s in walk(b) if isinstance(s, Reduce) and free(s) & set(f.fold.indices)]
    return any(i not in free(s) for s in inner)


def contiguous(r: Read, index: Index) -> bool:
    """Whether neighbours along an index lie side by side in what is read."""
    last = r.coordinates[-1] if r.coordinates else None
    return isinstance(last, Affine) and last.coefficient(index).value == 1


def _apart(grid: list[Index], inside: list[Index], folds: list[_Fold]) -> bool:
    """Whether lanes along the folds read closer together than threads along the grid's last axis."""
    near = far = 0
    for f in folds:
        if not f.outer or prod(size_of(i) for i in f.fold.indices) < LONG:
            continue
        for r in f.reads():
            near += any(contiguous(r, i) for i in f.fold.indices)
            far += bool(grid) and contiguous(r, grid[-1])
    return near > far or (near >= far and bool(inside)) or (not grid and bool(folds))


def _warps(
    outputs: tuple[Tensor, ...], threads: Schedule, folds: list[_Fold], bound: set[Index], wide: bool
) -> list[Schedule]:  # fmt: skip
    """The schedules by warps: each long fold over the index along which most of its reads are contiguous."""
    plans: dict[str, FoldPlan] = {}
    for f in folds:
        if f.fold.monoid.commutative and prod(size_of(i) for i in f.fold.indices) >= LONG:
            score = {i: sum(contiguous(r, i) for r in f.reads()) for i in f.fold.indices}
            best = max(f.fold.indices, key=lambda i: (min(size_of(i), LONG), score[i], size_of(i)))
            plans[best.name] = FoldPlan("warp")
    if not plans:
        return []
    last = [next((i for i in reversed(t.axes) if i not in bound), None) for t in outputs]
    lanes = tuple(dict.fromkeys(i.name for i in last if i is not None))
    plain = replace(threads, shape="split", warp=lanes, fold=tuple(plans.items()))
    ends = [i for i in last if i is not None]
    found = [*(s for t in (True, False) if wide for s in _wide(outputs, plain, folds, ends, t)), plain]
    return [*(in_rounds(outputs, found[0], [f.fold for f in folds if f.outer]) if wide else ()), *found]


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


def _scans(
    outputs: tuple[Tensor, ...], threads: Schedule, folds: list[_Fold], scanned: set[Index]
) -> list[Schedule]:  # fmt: skip
    """The schedules by warps that share the scans along the rows of an output, and the folds over whole rows."""
    along = next((t.axes[-1] for t in outputs if t.axes and t.axes[-1] in scanned), None)
    if along is None or size_of(along) < LONG or not scannable(outputs, along):
        return []
    v = _side_by_side(along, outputs)
    rows = prod(size_of(i) for i in outputs[0].axes if i is not along)
    team = next((n for n in (8, 4, 2) if size_of(along) >= n * 4 * LONG * v), 0)
    while 0 < team < LONG and rows * team < BUSY and size_of(along) >= 2 * team * LONG * v:
        team *= 2
    plans: dict[str, FoldPlan] = {}
    for f in folds:
        i = f.fold.indices[-1]
        if f.fold.monoid.commutative and along not in f.all and size_of(i) >= LONG:
            plans[i.name] = FoldPlan("warp", _side_by_side(i, outputs))
    tile = ((along.name, v),) if v > 1 else ()
    base = replace(threads, shape="scan", warp=(along.name,), fold=tuple(plans.items()), tile=(*threads.tile, *tile))
    shared = []
    if team:
        held, held_bytes = _ahead(outputs, along, v, LONG * team)
        states = 4 * v if held_bytes else 0  # those at the points of a block
        shared = [replace(base, stage=held, team=team, occupancy=_occupancy(held_bytes + states, team))]
    return [*shared, replace(base, stage=_ahead(outputs, along, v, LONG)[0])]


def _ahead(outputs: tuple[Tensor, ...], along: Index, v: int, seats: int) -> tuple[tuple[str, ...], int]:
    """The inputs whose rows lanes can have in registers before they start, each `v` elements side by side.

    With the bytes that a lane then has of them.
    """
    found: dict[str, int] = {}
    for s in walk(*(t.body for t in outputs)):
        if isinstance(s, Read) and s.coordinates and s.coordinates[-1] == affine(along) and len(free(s)) > 1:
            each = -(-size_of(along) // (v * seats)) * v * BYTES[s.source.dtype]
            if along.size.value is not None and each <= HELD_BYTES:
                found[s.source.name] = each
    total = sum(found.values())
    return (tuple(sorted(found)), total) if total <= HELD_BYTES else ((), 0)


def _wide(
    outputs: tuple[Tensor, ...], plain: Schedule, folds: list[_Fold], last: list[Index], teams: bool
) -> list[Schedule]:  # fmt: skip
    """The schedule by warps in which a lane takes several elements at once, rows that are read again in registers.

    With `teams`, as many warps share a row as leave four accesses to each lane.
    """
    width: dict[str, int] = {}
    spread = [i for f in folds for i in f.fold.indices if plain.fold_of(i.name).how == "warp"]
    for i in dict.fromkeys([*spread, *last]):
        width[i.name] = min(width.get(i.name, MOST), _side_by_side(i, outputs))
    wide = {name: v for name, v in width.items() if v > 1}
    if not wide:
        return []
    rows = [size_of(i) // (4 * LONG * wide[i.name]) for i in spread if i.name in wide]
    team = next((n for n in (8, 4, 2) if rows and min(rows) >= n), 0) if teams else 0
    if teams and not team:
        return []
    plans = tuple((n, FoldPlan("warp", wide.get(n, 1))) for n, _ in plain.fold)
    tile = tuple((i.name, wide[i.name]) for i in last if i.name in wide and i.name in plain.warp)
    held, held_bytes = _held_rows(outputs, folds, wide, LONG * max(team, 1))
    found = replace(plain, fold=plans, tile=(*plain.tile, *dict.fromkeys(tile)), stage=held, team=team)
    return [replace(found, occupancy=_occupancy(held_bytes, team))]


def _side_by_side(i: Index, outputs: tuple[Tensor, ...]) -> int:
    """Elements that a lane takes at once along an index: an access of 16 bytes, if the axis consists of so many."""
    reads = [s for t in outputs for s in walk(t.body) if isinstance(s, Read) and contiguous(s, i)]
    widths = [BYTES[s.source.dtype] for s in reads]
    widths += [BYTES[t.dtype] for t in outputs if t.axes and t.axes[-1] is i]
    size = i.size.value
    if not widths or size is None:
        return 1
    return next((v for v in (8, 4, 2) if v * min(widths) <= WIDE and size % v == 0 and size >= LONG * v), 1)


def _held_rows(
    outputs: tuple[Tensor, ...], folds: list[_Fold], wide: dict[str, int], seats: int
) -> tuple[tuple[str, ...], int]:  # fmt: skip
    """The inputs whose rows are read again, by a pass or elsewhere, where a lane's part fits into its registers.

    With the bytes that a lane then has of them.
    """
    readers: dict[str, set[int]] = {}
    parts: dict[str, int] = {}

    def note(r: Read, indices: tuple[Index, ...], who: Sequence[int]) -> None:
        for i in indices:
            v = wide.get(i.name, 1)
            if v > 1 and r.coordinates[-1] == affine(i) and len(free(r)) > 1:
                each = -(-size_of(i) // (seats * v)) * v * BYTES[r.source.dtype]
                if each <= HELD_BYTES:
                    readers.setdefault(r.source.name, set()).update(who)
                    parts[r.source.name] = each

    for n, f in enumerate(folds):
        for r in f.reads():
            note(r, f.fold.indices, (2 * n, 2 * n + bool(f.fold.monoid.followers)))
    for n, t in enumerate(outputs):
        for r in _outside(t.body):
            if r.coordinates:
                note(r, t.axes, (-1 - n,))
    held = tuple(sorted(name for name, seen in readers.items() if len(seen) > 1))
    return held, sum(parts[name] for name in held)


def _occupancy(held_bytes: int, team: int) -> int:
    """The blocks that a multiprocessor has registers for, each thread with its part of rows; 0: any number.

    More warps hide each other's reductions; a compiler left alone widens what is held and loses some of them.
    """
    if not held_bytes:
        return 0
    each = -(-(held_bytes // 4 + SPARE) // 8) * 8
    return REGISTERS // (each * LONG * (team or ALONE))


def _outside(body: Scalar) -> list[Read]:
    """The reads of a body that stand in no fold."""
    found: list[Read] = []
    stack, seen = [body], set[Scalar]()
    while stack:
        s = stack.pop()
        if s in seen or isinstance(s, (Reduce, Scan)):
            continue
        seen.add(s)
        if isinstance(s, Read):
            found.append(s)
        elif isinstance(s, Apply):
            stack.extend(s.args)
    return found


def _points(outputs: tuple[Tensor, ...], threads: Schedule, grid: list[Index]) -> list[Schedule]:
    """Elements without folds: several side by side for each thread, and several such where there are enough."""
    if not grid or any(isinstance(s, (Reduce, Scan)) for t in outputs for s in walk(t.body)):
        return []
    last = grid[-1]
    if any(t.axes[-1] is not last for t in outputs):
        return []
    v = _side_by_side(last, outputs)
    if v < 2:
        return []
    found = replace(threads, tile=(*threads.tile, (last.name, v)))
    known = all(i.size.value is not None for i in grid)
    enough = known and prod(size_of(i) for i in grid) >= AHEAD * MANY * v
    return [replace(found, ahead=AHEAD), found] if enough else [found]


def _tiles(grid: list[Index], folds: list[_Fold]) -> list[tuple[tuple[str, int], ...]]:
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
