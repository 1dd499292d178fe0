"""Schedules worth trying for a kernel, the best guess first, from the structure of its comprehensions alone.

The vector index is the last axis of the outputs. What depends on it is computed for a vector of its points; a fold that
does not depend on it runs over lanes of its own contiguous index (split). Two further output indices of a fold, each
missing from one operand, make a register tile. A fold whose body holds folds, or a cascade, streams over tiles of its
index, and the output axes that its inner folds lack are held whole, so that these are computed once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from tang_egg import ops
from tang_egg.affine import Affine, Index
from tang_egg.codegen.align import aligned
from tang_egg.codegen.candidates_beside import rows_beside, runs_along
from tang_egg.codegen.candidates_fold import contiguous
from tang_egg.codegen.candidates_keep import fetched, parted
from tang_egg.codegen.candidates_nested import looked_up, nested
from tang_egg.codegen.candidates_pack import packed
from tang_egg.codegen.candidates_turn import STATES, columns, strips, turned
from tang_egg.codegen.lower_fold import group_of
from tang_egg.codegen.lower_guard import guarded_entries
from tang_egg.codegen.vectors import AVX2, Vectors
from tang_egg.ir import Read, Reduce, Scan, Tensor, free, walk
from tang_egg.schedule import PLAIN, FoldPlan, Schedule

HELD = 1024
"""Longest output axis that is held whole."""
LONG_SCAN, LONG_FOLD = 1 << 10, 1 << 15
"""Points from which on a scan runs by chunks, and a fold by blocks, when nothing else gives the threads work."""
LANE_STEPS, LEAST_STEPS = 16, 2
"""Points that a lane takes up between two moves of its state, and an axis needs for each lane to be cut into lanes."""
COLUMN_ROWS, COLUMN_TILES = 8, 8
"""Rows of columns that are folded between two visits of their states, and tiles of columns that there should be."""
PAST_CACHES = 1 << 24
"""Bytes of outputs from which on they are written past the caches."""
LONG_STREAM = 256
"""Points of a streamed index of copied operands from which on its tiles are twice as long."""
BUSY = 0.8
"""The share of threads that heads have to keep busy, lest blocks of their rows be shared instead."""
FEW_OUTPUTS = 64
"""Longest output axis that a fold by blocks holds whole."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What the choice depends on: common output indices, folds (outer before inner), scanned indices, registers."""

    outputs: tuple[Tensor, ...]
    common: tuple[Index, ...]
    folds: tuple[Reduce, ...]
    scanned: frozenset[Index]
    vectors: Vectors = AVX2

    @property
    def vector(self) -> Index | None:
        """The last axis of the first output, where all outputs have it and no scan runs along it."""
        last = self.outputs[0].axes[-1] if self.outputs[0].axes else None
        return last if last in self.common and last not in self.scanned else None


def schedules(outputs: tuple[Tensor, ...], *, threads: int, vectors: Vectors = AVX2) -> tuple[Schedule, ...]:
    """Legal schedules for so many threads and such vectors: no repeats, the best guess first, the plain one last."""
    if any(i.size.value == 0 for t in outputs for i in t.axes):
        return (PLAIN,)  # nothing is stored, and elements that do not exist cannot be told apart
    outputs = aligned(outputs)
    shape = _shape(outputs, vectors)
    first = _past_caches(shape, _spread(shape, _parallel(shape, _first(shape), threads), threads))
    first = replace(first, fetch=fetched(outputs, first, vectors))
    found = [
        *packed(outputs, first, threads, vectors),
        *(_parallel(shape, s, threads) for s in turned(outputs, PAST_CACHES, vectors)),
    ]
    found += [*columns(outputs, threads), first, *(_parallel(shape, s, threads) for s in _variants(shape, first))]
    found += _both_scans(shape, first, threads)
    found += [replace(first, parallel=()), _parallel(shape, PLAIN, threads), PLAIN]
    return tuple(dict.fromkeys(found))


def _shape(outputs: tuple[Tensor, ...], vectors: Vectors) -> Shape:
    common = tuple(i for i in outputs[0].axes if all(i in t.axes for t in outputs))
    nodes = list(walk(*(t.body for t in outputs)))
    folds = tuple(dict.fromkeys(group_of(s) for s in reversed(nodes) if isinstance(s, Reduce)))
    return Shape(outputs, common, folds, frozenset(s.index for s in nodes if isinstance(s, Scan)), vectors)


def _needs(f: Reduce) -> frozenset[Index]:
    """The free indices of all components of a fold."""
    return frozenset().union(*(free(Reduce(f.monoid, f.indices, f.where, f.body, k)) for k in range(len(f.body))))


def _inner(f: Reduce) -> list[Reduce]:
    """The folds inside a fold that depend on its indices."""
    return [s for b in f.body for s in walk(b) if isinstance(s, Reduce) and free(s) & set(f.indices)]


def _first(shape: Shape) -> Schedule:
    if shape.scanned:
        return _scan(shape)
    streamed = _streamed(shape)
    if streamed:
        lanes = _lanes(shape, streamed)
        beside = None if lanes else nested(shape.folds, shape.common, shape.vectors)
        return (lanes and _at_hand(shape, streamed)) or lanes or beside or _stream(shape, streamed)
    return looked_up(shape.folds, shape.vector) or _tile(shape)


def _streamed(shape: Shape) -> list[Reduce]:
    """The cascades, and the folds over whose points other folds run."""
    return [f for f in shape.folds if f.monoid.followers or _inner(f)]


def _fits(index: Index, *sizes: int) -> int:
    """The first of some tile sizes that an index is long enough for; 1 where none is."""
    size = index.size.value
    return next((n for n in sizes if size is None or size >= n), 1)


def _rows(index: Index, most: int = 6) -> int:
    size = index.size.value
    if size is not None and size <= most:
        return max(1, size)
    return next((n for n in (6, 4) if n <= most and size is not None and size % n == 0), min(4, most))


def _scan(shape: Shape) -> Schedule:
    v = shape.vector
    order = tuple(i.name for i in shape.common if i not in shape.scanned)
    tile = ((v.name, n),) if v is not None and (n := _fits(v, *_beside(shape, v), 16, 8, 4)) > 1 else ()
    if not tile and order and (others := [i for i in shape.common if i not in shape.scanned]):
        n = _fits(others[-1], 8, 4)
        tile = ((others[-1].name, n),) if n > 1 else ()
    return strips(shape.outputs, Schedule("scan", order=order, tile=tile), PAST_CACHES)


def _beside(shape: Shape, v: Index) -> tuple[int, ...]:
    """Wider vectors of a scan whose states are folded at each point: sums side by side hide each other's latency."""
    rows = prod(i.size.value or 0 for i in shape.common if i is not v and i not in shape.scanned)
    held = prod(i.size.value or STATES for f in shape.folds for i in f.indices) if shape.folds else STATES
    return tuple(n for n in (64, 32) if rows >= 4 and held * n * 4 <= STATES and v.size.value and v.size.value % n == 0)


def _stream(shape: Shape, streamed: list[Reduce]) -> Schedule:
    """Rows in blocks, the streamed index in tiles, output axes that the inner folds lack held whole."""
    fold: list[tuple[str, FoldPlan]] = []
    stage: list[Read] = []
    held: set[Index] = set()
    rows: set[Index] = set()
    for f in streamed:
        last = f.indices[-1]
        fold.append((last.name, FoldPlan("stream", _fits(last, 32, 16, 8))))
        inner = [s for s in _inner(f) if not s.monoid.followers]
        heads = [
            Reduce(f.monoid, f.indices, f.where, f.body, k) for k in range(len(f.body)) if k not in f.monoid.followers
        ]
        passes = [] if f.monoid.followers else [s for s in _inner(f) if s.monoid.followers]
        lack = passes or inner or (heads if f.monoid.followers else [])  # a pass is dearest to repeat
        for i in shape.common:
            if lack and i in _needs(f) and all(i not in free(s) for s in lack):
                held.add(i)
            elif i in _needs(f):
                rows.add(i)
        for s in inner:
            for r in (x for b in s.body for x in walk(b) if isinstance(x, Read)):
                if last in free(r) and free(r) & set(s.indices) and not _in_order(r, last, s.indices):
                    stage.append(r)
    tile = [(i.name, 0) for i in shape.common if i in held and i.size.value and i.size.value <= HELD]
    # rows that all copies lack share them
    apart = [i for i in reversed(shape.common) if i in rows and i not in held]
    row = next((i for i in apart if stage and all(i not in free(r) for r in stage)), next(iter(apart), None))
    if row is not None and not tile and not stage and _all_along(streamed, row):
        tile.append((row.name, _fits(row, 64, 32, 16, 8, 4)))
        fold = [(n, replace(p, size=min(p.size, COLUMN_ROWS))) for n, p in fold]
    elif row is not None:
        tile.append((row.name, _many_rows(row, bool(stage)) if len(tile) or stage else _rows(row)))
    if stage and tile:  # rows that share a copy share the moves of their states too
        long = {f.indices[-1].name for f in streamed if (f.indices[-1].size.value or 0) >= LONG_STREAM}
        fold = [(n, replace(p, size=2 * p.size) if n in long else p) for n, p in fold]
    tile = [(n, size) for n, size in tile if size != 1]
    plans = tuple((n, p) for n, p in dict(fold).items() if p.size > 1)
    names = tuple(dict.fromkeys(r.source.name for r in stage))
    return Schedule("stream", tile=tuple(tile), fold=plans, stage=names)


def _lanes(shape: Shape, streamed: list[Reduce]) -> Schedule | None:
    """Rows one by one, the streamed index in vector lanes; None where the folds do not run along it.

    The output axes that the folds lack are computed for a vector of their points when the folds are finished.
    """
    fold: dict[str, FoldPlan] = {}
    for f in streamed:
        last = f.indices[-1]
        lanes = _lane_count(f)
        size = tile_of_lanes(last.size.value, lanes)
        if not size or len(f.indices) > 1 or _inner(f) or not _only_along(f, last, shape):
            return None
        fold[last.name] = FoldPlan("stream", size, lanes)
    same = [f for f in shape.folds if f.indices[-1].name in fold]
    if not all(f.monoid.commutative and not any(c.axes for c in f.monoid.components) for f in same):
        return None
    v = shape.vector
    apart = v is not None and not any(v in _needs(f) for f in shape.folds)
    n = _fits(v, 32, 16, 8, 4) if apart and v is not None else 1
    return Schedule("stream", tile=((v.name, n),) if v is not None and n > 1 else (), fold=tuple(fold.items()))


def _lane_count(f: Reduce) -> int:
    """Partial states side by side: several vectors of each component, as many as registers hold."""
    return 16 if len(f.body) <= 3 else 8


def _at_hand(shape: Shape, streamed: list[Reduce]) -> Schedule | None:
    """Rows one by one, their folds in turn, with what is shared kept; None where a row is too long for that."""
    rows = tuple(dict.fromkeys(f.indices[-1] for f in streamed))
    found = parted(shape.outputs, rows)
    plain = None if found is None else _tile(_shape(found, shape.vectors))
    if plain is None or plain.shape != "split" or plain.stage:
        return None
    return replace(plain, keep=tuple(i.name for i in rows))


def tile_of_lanes(size: int | None, lanes: int) -> int:
    """Points of a tile of lanes: a multiple of their number that wastes little of an axis; 0 where it is too short."""
    if size is None:
        return LANE_STEPS * lanes
    if size < LEAST_STEPS * lanes:
        return 0
    steps = -(-size // lanes)
    tile = -(-steps // -(-steps // LANE_STEPS))
    return min(tile, size // lanes) * lanes


def _only_along(f: Reduce, last: Index, shape: Shape) -> bool:
    """Whether all reads of a fold that vary with its index are contiguous along it, or gathered by other indices."""
    reads = [x for b in f.body for x in walk(b) if isinstance(x, Read) and last in free(x)]
    return bool(reads) and any(contiguous(r, last) for r in reads) and all(contiguous(r, last) for r in reads)


def _all_along(streamed: list[Reduce], row: Index) -> bool:
    """Whether folds run down columns: their reads are contiguous along the neighbouring fold, and hold no fold."""
    reads = [x for f in streamed for b in f.body for x in walk(b) if isinstance(x, Read) and f.indices[-1] in free(x)]
    return bool(reads) and all(contiguous(r, row) for r in reads) and not any(_inner(f) for f in streamed)


def _many_rows(row: Index, copied: bool) -> int:
    """Rows that share a tile of the streamed index: more where it is copied first."""
    size = row.size.value
    if copied and size is not None and size >= 64:  # sixes fill the registers of a tile, fours two thirds of them
        return min((48, 24, 32), key=lambda n: -(-size // n) * n * (1 if n % 6 == 0 else 1.25))
    return _fits(row, 16, 8, 4)


def _in_order(r: Read, streamed: Index, inner: tuple[Index, ...]) -> bool:
    """Whether vectors along the streamed index are contiguous, and one tile of it not strewn over the whole source."""
    return contiguous(r, streamed) and not any(
        isinstance(c, Affine) and c.indices() & set(inner) for c in r.coordinates[:-1]
    )


def _tile(shape: Shape) -> Schedule:
    v = shape.vector
    tile: dict[str, int] = {}
    fold: dict[str, FoldPlan] = {}
    stage: list[str] = []
    order = [i.name for i in shape.common]
    kind = "point"
    if v is not None and (n := _fits(v, 16, 8, 4)) > 1:
        tile[v.name] = n
    if v is not None and (n := _columns(shape, v)):
        plans = tuple((f.indices[-1].name, FoldPlan("stream", COLUMN_ROWS)) for f in shape.folds)
        return Schedule("stream", tile=((v.name, n),), fold=tuple(dict(plans).items()))
    for f in shape.folds:
        last = f.indices[-1]
        if v is not None and v.name in tile and runs_along(f, last, v):
            rows, n = rows_beside(shape.outputs, shape.folds, f, v, shape.vectors)
            if n:
                tile[v.name] = min(rows, tile[v.name])
                fold[last.name] = FoldPlan("lanes", n)
                kind = "split" if kind == "point" else kind
                continue
            del tile[v.name]
        if v is None or v not in _needs(f) or v.name not in tile:
            beside = [g for g in shape.folds if g.indices[-1].name == last.name]  # one plan serves them all
            guarded = all(guarded_entries(g) is not None for g in beside)
            if guarded and (n := _fits(last, 64, 32, 16, 8)) > 1:
                fold[last.name] = FoldPlan("guard", n)
                kind = "split" if kind == "point" else kind
                continue
            lanes = _side_by_side(f, last, shape.vectors)
            if lanes > 1 and f.monoid.commutative and not any(c.axes for c in f.monoid.components):
                fold[last.name] = FoldPlan("lanes", lanes)
                kind = "split" if kind == "point" else kind
            continue
        reads = [x for b in f.body for x in walk(b) if isinstance(x, Read)]
        others = [i for i in shape.common if i is not v and any(i in free(r) and v not in free(r) for r in reads)]
        across = [r for r in reads if v in free(r)]
        if not others or not any(free(r) & set(f.indices) for r in across):
            continue
        kind = "tile"
        row = next((i for i in reversed(others) if any(i not in free(r) for r in across)), None)
        if row is None:
            continue
        tile[row.name] = max(tile.get(row.name, 1), _rows(row))
        many = row.size.value is None or row.size.value >= 24
        apart = [r for r in across if row not in free(r) and free(r) & set(f.indices)]
        if apart and (many or not all(contiguous(r, v) for r in apart)):
            stage += [r.source.name for r in apart]
            order = [n for n in order if n not in (v.name, row.name)] + [v.name, row.name]
    row = next((i for i in shape.common if kind == "tile" and i is not v and tile.get(i.name, 1) > 1), None)
    if row is not None and v is not None and any(row in _needs(f) and v not in _needs(f) for f in shape.folds):
        # folds of whole rows stand before the product: many rows at once, so that the staged operand is copied seldom
        tile[row.name] = max(tile[row.name], _fits(row, 32, 16, 8))
        order = [n for n in order if n not in (v.name, row.name)] + [row.name, v.name]
    tile = {n: size for n, size in tile.items() if size != 1}
    return Schedule(
        kind, order=tuple(order), tile=tuple(tile.items()), fold=tuple(fold.items()), stage=tuple(dict.fromkeys(stage))
    )


def _side_by_side(f: Reduce, last: Index, vectors: Vectors) -> int:
    """Partial states of a fold in lanes: four vectors of a state of one component, two of each of two, one of more.

    Where registers are twice as wide and as many, twice the lanes, of states of several components four times as many:
    as long as few points are left over, which are folded one by one.
    """
    usual = {1: 32, 2: 16}.get(len(f.body), 8)
    size = last.size.value
    if vectors.bytes > AVX2.bytes and size is not None:
        most = usual * (2 if len(f.body) == 1 else 4)
        tidy = next((n for n in (64, 32, 16, 8) if n <= most and size >= n and size % n <= size // 64), 1)
        if tidy > 1:
            return tidy
    return min(usual, _fits(last, 32, 16, 8))


def _columns(shape: Shape, v: Index) -> int:
    """Neighbouring columns that are folded together, so that memory is read in long pieces; 0 where that is no gain.

    So it is where folds run down long columns, no value is read twice, and columns are many enough for the threads.
    """
    for f in shape.folds:
        last = f.indices[-1]
        reads = [x for b in f.body for x in walk(b) if isinstance(x, Read)]
        long = last.size.value is not None and last.size.value >= 4 * COLUMN_ROWS
        across = [r for r in reads if v in free(r)]
        near = bool(across) and all(contiguous(r, v) and {last, *shape.common} <= free(r) for r in across)
        if (
            v not in _needs(f)
            or len(f.indices) > 1
            or not long
            or not near
            or _inner(f)
            or any(c.axes for c in f.monoid.components)
        ):
            return 0
    size = v.size.value or 0
    return next((n for n in (512, 256, 128, 64) if size >= COLUMN_TILES * n), 0) if shape.folds else 0


def _spread(shape: Shape, schedule: Schedule, threads: int) -> Schedule:
    """The schedule by chunks or blocks of folds, where the output axes alone do not give all threads work."""
    if threads < 2 or any(_tiles(i, schedule) >= threads for i in shape.common if i not in shape.scanned):
        return schedule
    scanned = [i for i in shape.common if i in shape.scanned]
    if scanned:
        chunked = _chunks(scanned[0], schedule, threads)
        long = (scanned[0].size.value or 0) >= LONG_SCAN and not shape.folds
        return chunked if long and threads > 2 else schedule  # chunks read everything twice
    fold = dict(schedule.fold)
    tile = dict(schedule.tile)
    for f in shape.folds:
        points = prod(i.size.value or 0 for i in f.indices)
        if points >= LONG_FOLD and _needs(f) <= set(shape.common):
            lanes = max((p.lanes for n, p in schedule.fold if n == f.indices[0].name), default=0)
            fold[f.indices[0].name] = FoldPlan("blocks", 4 * threads, lanes)
            tile |= {i.name: 0 for i in _needs(f) if 1 < (i.size.value or 0) <= FEW_OUTPUTS}
    if fold == dict(schedule.fold):
        return schedule
    return replace(schedule, shape="split", parallel=(), tile=tuple(tile.items()), fold=tuple(fold.items()))


def _past_caches(shape: Shape, schedule: Schedule) -> Schedule:
    """The schedule with stores past the caches, where vectors of large outputs are written once and in order."""
    bytes_ = sum(prod(n.value or 0 for n in t.shape) * ops.BYTES[t.dtype] for t in shape.outputs)
    v = shape.vector
    ordered = (
        v is not None and schedule.tile_of(v.name) % 4 == 0 and (not schedule.order or schedule.order[-1] == v.name)
    )
    single = ordered and all(n == v.name or size == 1 for n, size in schedule.tile)  # type: ignore[union-attr]
    alone = all(t.axes and t.axes[-1] is v and not t.into for t in shape.outputs)
    plain = schedule.shape in ("point", "split", "stream") and not schedule.stage
    if bytes_ >= PAST_CACHES and single and alone and plain:
        return replace(schedule, store="stream")
    return schedule


def _tiles(i: Index, schedule: Schedule) -> int:
    """The number of tiles of an output index that threads can share."""
    size = schedule.tile_of(i.name)
    return 0 if size == 0 else 1 << 20 if i.size.value is None else -(-i.size.value // size)


def _chunks(t: Index, schedule: Schedule, threads: int) -> Schedule:
    """A scan by chunks, four for each thread."""
    length = 256 if t.size.value is None else max(16, -(-t.size.value // (4 * threads)))
    return replace(schedule, chunk=length, parallel=(t.name,))


def _both_scans(shape: Shape, first: Schedule, threads: int) -> list[Schedule]:
    """The scan in order and by chunks, whichever comes first."""
    scanned = [i for i in shape.common if i in shape.scanned]
    if not scanned:
        return []
    return [_parallel(shape, replace(first, chunk=0, parallel=()), threads), _chunks(scanned[0], first, threads)]


def _variants(shape: Shape, first: Schedule) -> list[Schedule]:
    """Neighbours of the first guess: other tiles, without staging, other lengths of streams."""
    found: list[Schedule] = []
    if first.store:
        found.append(replace(first, store=""))
    if first.fetch:
        found.append(replace(first, fetch=()))
    if first.keep and (lanes := _lanes(shape, _streamed(shape))) is not None:
        found += [_past_caches(shape, lanes), _stream(shape, _streamed(shape))]
    if any(plan.lanes for _, plan in first.fold):
        found.append(_stream(shape, _streamed(shape)))
    if first.stage:
        natural = tuple(i.name for i in shape.common)
        found += [replace(first, stage=()), replace(first, stage=(), order=natural)]
    for n, (name, size) in enumerate(first.tile):
        for other in {4: (8, 2), 6: (4,), 8: (4, 16), 16: (8, 32)}.get(size, ()):
            index = next((i for i in shape.common if i.name == name), None)
            if index is not None and _fits(index, other) == other:
                found.append(replace(first, tile=(*first.tile[:n], (name, other), *first.tile[n + 1 :])))
    for n, (name, plan) in enumerate(first.fold):
        for other in (plan.size // 2, plan.size * 2):
            if other >= 4:
                if (plan.lanes and plan.how == "stream" and other % plan.lanes) or (plan.how == "guard" and other % 8):
                    continue
                changed = (name, replace(plan, size=other))
                found.append(replace(first, fold=(*first.fold[:n], changed, *first.fold[n + 1 :])))
    return found


def _parallel(shape: Shape, schedule: Schedule, threads: int) -> Schedule:
    """The schedule with the first loop that has enough tiles for the threads run on them."""
    if threads < 2:
        return schedule
    names = schedule.order or tuple(i.name for i in shape.common)
    if schedule.shape == "stream" and schedule.stage and (shared := _shared_rows(shape, schedule, names, threads)):
        return replace(schedule, parallel=(shared,))
    best, most = "", 1
    for name in names:
        index = next((i for i in shape.common if i.name == name), None)
        if index is None or index in shape.scanned or schedule.tile_of(name) == 0:
            continue
        tiles = _tiles(index, schedule)
        if tiles >= 2 * threads or (tiles >= threads and tiles % threads == 0):
            return replace(schedule, parallel=(name,))
        if tiles > most:
            best, most = name, tiles
    return replace(schedule, parallel=(best,)) if best else schedule


def _shared_rows(shape: Shape, schedule: Schedule, names: tuple[str, ...], threads: int) -> str:
    """The index whose tiles keep most of the threads busy, where those of the outermost leave many idle; or nothing.

    What is copied for all tiles of an inner index is copied by all threads, which then wait for each other.
    """
    busy: dict[str, float] = {}
    for i in (i for n in names for i in shape.common if i.name == n and i not in shape.scanned):
        tiles = _tiles(i, schedule)
        if tiles > 1:
            busy[i.name] = tiles / (-(-tiles // threads) * threads)
    if not busy or next(iter(busy.values())) >= BUSY:
        return ""
    return max(busy, key=lambda n: busy[n])
