"""Schedules by packed panels (lower_pack) for kernels that are products, the best guess first.

A register tile has two vectors of columns and as many rows as leave a few registers for what is multiplied: 6 rows of
16 columns of four bytes take 12 of 16 registers of 32 bytes, up to 13 rows of 32 columns take 26 of 32 registers of 64.
Where there may be fewer rows, their number is that which wastes least of the last tile. A part of the fold is short
enough for the panel of its columns to stay in the first cache, a block of rows for its part in the second.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import prod

from tang_egg.affine import Index, product
from tang_egg.codegen.candidates_fold import contiguous
from tang_egg.codegen.pack_plan import Packing, pack_plan
from tang_egg.codegen.vectors import Vectors
from tang_egg.ir import Read, Reduce, Tensor, walk
from tang_egg.schedule import FoldPlan, Schedule

TILE_VECTORS = 2
"""Vectors of columns of a register tile."""
PANEL_POINTS, WIDE_POINTS = 320, 640
"""Most points of a part of a fold, for panels of 64 bytes of columns and for wider ones.

The former stay in the first cache. The latter come from the second: for each point, a tile of 13 rows adds for as many
cycles, in which 128 bytes of columns come easily, while sums that go to memory and back after fewer points cost more.
"""
LEAST_TILE = 6
"""Least rows of a register tile: each point of the fold adds to two vectors of each row, which takes a few cycles."""
SOME_POINTS = 256
"""Points of a part of a fold where it is not known how many there are."""
MOST_ROWS, MOST_COLUMNS = 192, 1024
"""Most rows and columns of a block."""
PANEL_ELEMENTS = 1 << 21
"""Most elements of the packed columns of a block."""
SOME_COLUMNS = 192
"""Columns for each thread from which on threads share the columns of a product that has fewer rows."""
SOME_ROWS = 48
"""Rows of a block where it is not known how many there are: few, so that all threads get some."""
FEW_COLUMNS, PANELS_BYTES = 192, 1 << 19
"""Most columns of a block, and most bytes of what is packed of them at once, where all rows are one block."""
FAR, FAR_COLUMNS, FAR_POINTS = 1 << 22, 1024, 128
"""Elements of columns that no cache holds, and a block of them: longer pieces of memory, fewer points."""
FAR_WIDE_COLUMNS, FAR_WIDE_POINTS = 256, 512
"""The same for wide panels, see WIDE_POINTS."""
LEAST_ROWS, LEAST_COLUMNS, LEAST_POINTS = 24, 16, 16
"""What packing needs to be worth while along each direction."""
VALUE_VECTORS = 4
"""Vectors of partial states of a value of a row: an addition takes as many cycles as that, and one starts in each."""
LEAST_WORK = 96**3
"""Points of a product below which packing costs more than it saves."""


def packed(outputs: tuple[Tensor, ...], first: Schedule, threads: int, vectors: Vectors) -> tuple[Schedule, ...]:
    """`first` with the operands packed into panels, and neighbours of that; none where that is not worth while."""
    plan = pack_plan(outputs)
    if first.shape != "tile" or plan is None or not _worth(plan):
        return ()
    types = {p.fold.monoid.components[p.fold.part].type for p in plan.products}
    stored = {s.source.dtype for t in outputs for s in walk(t.body) if isinstance(s, Read)} | {t.dtype for t in outputs}
    if not types <= {"real", "i32", "u32"}:
        return ()
    size = 8 if "f64" in stored else 4
    row, column, folded = plan.rows[-1], plan.columns[-1], plan.folded[-1]
    unit = TILE_VECTORS * vectors.bytes // size
    parallel, threads = _parallel(plan, first, threads)
    by_columns = parallel == (column.name,)
    high = register_rows(vectors, _count(plan.rows), 1 if by_columns else threads)
    tile = {**dict(first.tile), row.name: high, column.name: unit}
    tile |= {i.name: 1 for i in (*plan.rows[:-1], *plan.columns[:-1], *plan.batch)}
    height = _height(plan.rows, 1 if by_columns else threads, high)
    wide = TILE_VECTORS * vectors.bytes > 64
    points = _points(plan.folded, WIDE_POINTS if wide else PANEL_POINTS)
    alone = _count(plan.rows)
    if alone is not None and alone <= height and (by_columns or not parallel):
        width, points = _few_rows(plan, unit, threads if by_columns else 1, points, size, wide)
    else:
        width = _width(plan, unit, threads if by_columns else 1)
    first = replace(first, fold=(*first.fold, *_value_folds(plan, first, vectors.bytes // size)))
    found: list[Schedule] = []
    for rows, columns in ((height, width), (height, width // 2), (height // 2, width), (2 * height, width)):
        block = ((row.name, _up(rows, high)), (column.name, _up(columns, unit)), (folded.name, points))
        shown = tuple((n, k) for n, k in tile.items() if k != 1)
        found.append(replace(first, parallel=parallel, tile=shown, stage=(), block=block))
    return tuple(dict.fromkeys(found))


def register_rows(vectors: Vectors, count: int | None = None, threads: int = 1) -> int:
    """Rows of a register tile: no more than leave three of sixteen registers for what is multiplied.

    Of so many rows, which threads share, each gets some tiles: the height is the one by which that takes least time.
    """
    most = vectors.registers * 13 // 16 // TILE_VECTORS
    if count is None:
        return most
    heights = range(most, min(most, LEAST_TILE) - 1, -1)
    return min(heights, key=lambda n: _parts(_parts(count, n), threads) * (2 * n + 1))


def _value_folds(plan: Packing, first: Schedule, lanes: int) -> tuple[tuple[str, FoldPlan], ...]:
    """Lanes for the folds that make the values of rows, where memory is read in order: one by one, each waits."""
    named = {name for name, _ in first.fold}
    found: dict[str, FoldPlan] = {}
    for f in (s for s in walk(*plan.row_values) if isinstance(s, Reduce)):
        last = f.indices[-1]
        points = last.size.value
        near = any(isinstance(s, Read) and contiguous(s, last) for b in f.body for s in walk(b))
        if last.name in named or not near or not f.monoid.commutative or any(c.axes for c in f.monoid.components):
            continue
        most = lanes * VALUE_VECTORS
        sizes = [n for n in (most, most // 2, most // 4) if points is None or points >= 2 * n]
        if sizes:
            found[last.name] = FoldPlan("lanes", next((n for n in sizes if (points or 0) % n == 0), sizes[0]))
    return tuple(found.items())


def _count(indices: Iterable[Index]) -> int | None:
    return product(i.size for i in indices).value


def _parts(n: int, size: int) -> int:
    """How many parts of a size cover so much."""
    return -(-n // size)


def _up(n: int, step: int) -> int:
    return max(1, -(-n // step)) * step


def _worth(plan: Packing) -> bool:
    counts = [_count(g) for g in (plan.rows, plan.columns, plan.folded)]
    if any(
        n is not None and n < least for n, least in zip(counts, (LEAST_ROWS, LEAST_COLUMNS, LEAST_POINTS), strict=True)
    ):
        return False
    known = [n for n in counts if n is not None]
    return len(known) < len(counts) or prod(known) >= LEAST_WORK


def _parallel(plan: Packing, first: Schedule, threads: int) -> tuple[tuple[str, ...], int]:
    """The index whose blocks run on threads, and how many threads share what one batch has."""
    if threads < 2:
        return (), 1
    if first.parallel and first.parallel[0] in [i.name for i in plan.batch]:
        return first.parallel, 1
    rows, columns = _count(plan.rows), _count(plan.columns)
    wide = columns is None or columns >= SOME_COLUMNS * threads
    long = rows is not None and columns is not None and rows * 2 > columns
    return ((plan.rows[-1] if long or not wide else plan.columns[-1]).name,), threads


def _height(rows: tuple[Index, ...], threads: int, tile: int) -> int:
    """Rows of a block: as many tiles for each thread."""
    count = _count(rows)
    if count is None:
        return SOME_ROWS
    return _even(count, tile, threads, MOST_ROWS)


def _even(count: int, tile: int, threads: int, most: int) -> int:
    """A multiple of the tile into which so many rows or columns are cut: as many tiles for each thread."""
    tiles = _parts(count, tile)
    longest = max(1, min(most // tile, _parts(tiles, threads)))

    def time(n: int) -> int:
        """Quarters of tiles of the thread that has most, and one for each block, which fetches the other side anew."""
        rounds = _parts(_parts(tiles, n), threads)
        return 4 * (rounds * n if threads > 1 else tiles) + rounds

    return tile * min(range(longest, longest // 2, -1), key=time)


def _few_rows(plan: Packing, unit: int, threads: int, points: int, size: int, wide: bool) -> tuple[int, int]:
    """Columns of a block and points of a part where all rows are one block: the second cache holds what is packed."""
    columns, folded = _count(plan.columns), _count(plan.folded)
    if len(plan.folded) == 1 and (columns or 0) * (folded or 0) >= FAR:
        most, points = (FAR_WIDE_COLUMNS, FAR_WIDE_POINTS) if wide else (FAR_COLUMNS, FAR_POINTS)
    else:
        held = points if len(plan.folded) == 1 else folded or SOME_POINTS
        most = PANELS_BYTES // (size * len(plan.packs("columns")) * held)
        most = min(most, FEW_COLUMNS if len(plan.folded) == 1 else MOST_COLUMNS)
    return (most // 4 if columns is None else _even(columns, unit, threads, most)), points


def _points(folded: tuple[Index, ...], most: int) -> int:
    count = _count(folded)
    if count is None:
        return SOME_POINTS
    return _up(-(-count // -(-count // most)), 8)


def _width(plan: Packing, tile: int, threads: int) -> int:
    """Columns of a block: as many blocks for each thread where threads share them."""
    columns, points = _count(plan.columns), _count(plan.folded)
    most = MOST_COLUMNS if points is None else max(tile, min(MOST_COLUMNS, PANEL_ELEMENTS // points))
    if columns is None:
        return most // 4
    rounds = -(-columns // (most * threads))
    return _up(-(-columns // (rounds * threads)), tile)
