"""Schedules in which the lanes of warps, or of teams of warps, share rows: folds and scans along them, the best first.

Lanes take several elements at once where those lie side by side, and keep in registers what is read again of a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from tang_egg.affine import Index, affine
from tang_egg.codegen.candidates_fold import LONG, Fold, contiguous, size_of
from tang_egg.codegen.candidates_rounds import in_rounds
from tang_egg.codegen.lower_scan_grid import scannable
from tang_egg.ir import Apply, Read, Reduce, Scalar, Scan, Tensor, free, walk
from tang_egg.ops import BYTES
from tang_egg.schedule import FoldPlan, Schedule

WIDE, MOST = 16, 8
"""Bytes of the widest access of a thread, and elements that it moves at most."""
HELD_BYTES = 256
"""Bytes of a row that a lane keeps in registers."""
ALONE = 8
"""Warps of a block whose warps have a row each."""
REGISTERS, SPARE = 1 << 16, 40
"""Registers of a multiprocessor, and those of a thread beside what it has of rows."""
BUSY = 1 << 12
"""Warps that keep a chip busy: where rows are fewer, more warps share each."""


def by_warps(
    outputs: tuple[Tensor, ...], threads: Schedule, folds: list[Fold], bound: set[Index], wide: bool
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
    found = [*(s for t in (True, False) if wide for s in _moving_several(outputs, plain, folds, ends, t)), plain]
    return [*(in_rounds(outputs, found[0], [f.fold for f in folds if f.outer]) if wide else ()), *found]


def by_scans(
    outputs: tuple[Tensor, ...], threads: Schedule, folds: list[Fold], scanned: set[Index]
) -> list[Schedule]:  # fmt: skip
    """The schedules by warps that share the scans along the rows of an output, and the folds over whole rows."""
    along = next((t.axes[-1] for t in outputs if t.axes and t.axes[-1] in scanned), None)
    if along is None or size_of(along) < LONG or not scannable(outputs, along):
        return []
    v = side_by_side(along, outputs)
    rows = prod(size_of(i) for i in outputs[0].axes if i is not along)
    team = next((n for n in (8, 4, 2) if size_of(along) >= n * 4 * LONG * v), 0)
    while 0 < team < LONG and rows * team < BUSY and size_of(along) >= 2 * team * LONG * v:
        team *= 2
    plans: dict[str, FoldPlan] = {}
    for f in folds:
        i = f.fold.indices[-1]
        if f.fold.monoid.commutative and along not in f.all and size_of(i) >= LONG:
            plans[i.name] = FoldPlan("warp", side_by_side(i, outputs))
    tile = ((along.name, v),) if v > 1 else ()
    base = replace(threads, shape="scan", warp=(along.name,), fold=tuple(plans.items()), tile=(*threads.tile, *tile))
    shared = []
    if team:
        held, held_bytes = _rows_of_scans(outputs, along, v, LONG * team)
        states = 4 * v if held_bytes else 0  # those at the points of a block
        shared = [replace(base, stage=held, team=team, occupancy=_occupancy(held_bytes + states, team))]
    return [*shared, replace(base, stage=_rows_of_scans(outputs, along, v, LONG)[0])]


def _rows_of_scans(outputs: tuple[Tensor, ...], along: Index, v: int, seats: int) -> tuple[tuple[str, ...], int]:
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


def _moving_several(
    outputs: tuple[Tensor, ...], plain: Schedule, folds: list[Fold], last: list[Index], teams: bool
) -> list[Schedule]:  # fmt: skip
    """The schedule by warps in which a lane takes several elements at once, rows that are read again in registers.

    With `teams`, as many warps share a row as leave four accesses to each lane.
    """
    width: dict[str, int] = {}
    spread = [i for f in folds for i in f.fold.indices if plain.fold_of(i.name).how == "warp"]
    for i in dict.fromkeys([*spread, *last]):
        width[i.name] = min(width.get(i.name, MOST), side_by_side(i, outputs))
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


def side_by_side(i: Index, outputs: tuple[Tensor, ...]) -> int:
    """Elements that a lane takes at once along an index: an access of 16 bytes, if the axis consists of so many."""
    reads = [s for t in outputs for s in walk(t.body) if isinstance(s, Read) and contiguous(s, i)]
    widths = [BYTES[s.source.dtype] for s in reads]
    widths += [BYTES[t.dtype] for t in outputs if t.axes and t.axes[-1] is i]
    size = i.size.value
    if not widths or size is None:
        return 1
    return next((v for v in (8, 4, 2) if v * min(widths) <= WIDE and size % v == 0 and size >= LONG * v), 1)


def _held_rows(
    outputs: tuple[Tensor, ...], folds: list[Fold], wide: dict[str, int], seats: int
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
