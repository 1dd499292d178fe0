"""Schedules for a chip with matrix units, the best guess first, from the structure of a kernel's comprehension alone.

Where a kernel is a stream of products (mma_plan), the tile follows from what a thread can hold: for each column of the
scores half a register and a quarter for their packed form (of f32, half), for each column of the state half a register.
Everything else runs on grids of threads (candidates_grid).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Any

from tang_egg.affine import Index
from tang_egg.codegen.candidates_grid import grid_schedules
from tang_egg.codegen.device import BYTES, UNITS, columns_step, shared_limit
from tang_egg.codegen.lower_mma import REGISTERS, lower_mma, shared_bytes
from tang_egg.codegen.lower_value import COSTLY
from tang_egg.codegen.mma_domain import live
from tang_egg.codegen.mma_memory import LONGEST, rounded
from tang_egg.codegen.mma_operand import Refused
from tang_egg.codegen.mma_plan import Plan, plan
from tang_egg.ir import Apply, Position, Read, Tensor, walk
from tang_egg.ops_eight import EIGHT
from tang_egg.schedule import FoldPlan, Schedule

SPARE = 32
"""Registers of a thread that hold neither scores nor state."""
RATE = {"bf16": 2048, "f16": 2048, "f32": 1024, "i8": 4096, "u8": 4096}
RATE |= dict.fromkeys(EIGHT, 4096)
"""Multiply-adds of a unit in a cycle, by the type of the operands; f32 as tf32."""
LENGTHY = 4096
"""Cycles of a tile's products from which on half of them is more than what a tile costs besides."""
COLUMNS = (256, 192, 128, 64)
NARROW = 64
"""Rows up to which a product is narrow: one warp group has them all, and the other operand's way here is the cost."""
PAIR = 1.16
"""The time of two consumers over that of three, for as many rows, where no function or mask bounds a step: measured."""
FEWER = 0.97
"""Of the time of the usual widths of a tile, that of another one which is taken instead."""
SLIM = 32
"""Columns of the least tile of a narrow product: where even such tiles leave units idle, the contraction is split."""
SLOT = 256
"""Lines of shared memory that a slot of a narrow product's wide operand has about, of 128 bytes each."""


def device_schedules(outputs: tuple[Tensor, ...], precise: bool = True) -> tuple[Schedule, ...]:
    """Legal schedules without repeats, the best guess first, plain ones last.

    `precise`: f32 operands are multiplied as f32, not rounded to tf32.
    """
    plain = grid_schedules(outputs, wide=True)
    try:
        found = list(_fitting(outputs, plan(outputs), precise))
    except Refused:
        return plain
    return (*dict.fromkeys(found), *plain)


def planned(outputs: tuple[Tensor, ...], precise: bool = True) -> Plan | None:
    """The plan of a kernel that matrix units can take, for some schedule; None for any other. `precise`: as above."""
    try:
        p = plan(outputs)
        return p if next(_fitting(outputs, p, precise), None) is not None else None
    except Refused:
        return None


def _fitting(outputs: tuple[Tensor, ...], p: Plan, precise: bool) -> Iterator[Schedule]:
    if p.dtype == "f32" and precise:
        raise Refused("f32 operands")
    unit = "tf32" if p.dtype == "f32" else ""
    wanted = _nested(p) if p.contractions and p.matrices else _scoring(p) if p.contractions else _multiplying(p)
    for s in wanted:
        fitted = _deepest(outputs, replace(s, unit=unit))
        if fitted is not None:
            yield fitted


def _deepest(outputs: tuple[Tensor, ...], s: Schedule) -> Schedule | None:
    """The schedule with as many stages as shared memory has room for, up to those it asks for."""
    for stages in range(s.stages, 1, -1):
        deep = replace(s, stages=stages)
        try:
            if shared_bytes(outputs, deep) > shared_limit(max(1, s.occupancy)):
                continue
            lower_mma("try", outputs, deep)
        except Refused:
            return None
        return deep
    return None


def _named(p: Plan, rows: int, stream: int, columns: int | None, **fields: Any) -> Schedule:
    tile = [(p.row.name, rows)]
    if p.column is not None and columns is not None:
        tile.append((p.column.name, columns))
    fold = ((p.stream.name, FoldPlan("stream", stream)),)
    return Schedule("mma", tile=tuple(tile), fold=fold, consumers=rows // 64, supertile=16, **fields)


def _nested(p: Plan) -> list[Schedule]:
    """Products inside and outside of the state: the widest tile of the stream that registers allow."""
    assert p.column is not None
    columns = rounded(p.column.size.value or LONGEST, p.width) * len(p.matrices)
    inner = max(rounded(c.index.size.value or LONGEST + 1, p.width) for c in p.contractions)
    found: list[Schedule] = []
    busy, laden = (columns <= 64 and found for found in (_busy(p), _laden(p)))
    for consumers in (2, 3) if busy else (3, 2):
        wide = (192,) if busy or (laden and consumers == 2) else ()
        room = REGISTERS[consumers][1] - SPARE - columns // 2
        packed = 2 if p.dtype == "f32" else 1
        most = room * 4 // (2 * len(p.contractions) + packed) // 16 * 16
        rows = 64 * consumers
        for stream in dict.fromkeys(min(most, n) for n in (*wide, 128, 176, 96, 80, 64)):
            if stream < 32 or (consumers == 3 and (columns > 64 or stream < 128)):
                continue
            for resident in (2, 1):
                base = _named(p, rows, stream, 0, stages=2, resident=resident, overlap=1, tickets=1)
                found += [replace(base, reuse=1), base]
                if consumers == 2:
                    found.append(replace(base, reuse=1, turns=1))
    found.sort(key=lambda s: _effort(p, s))
    found = [*_few(p, columns), *found]
    if inner > LONGEST:
        found = [replace(s, resident=0, overlap=0, tickets=0, reuse=0, stages=4) for s in found]
    return found


def _few(p: Plan, columns: int) -> list[Schedule]:
    """Where one warp group has all rows: the stream's way here is the cost, so many short tiles of it are in flight."""
    if not 0 < (p.row.size.value or 0) <= NARROW:
        return []
    packed = 2 if p.dtype == "f32" else 1
    most = (REGISTERS[1][1] - SPARE - columns // 2) * 4 // (2 * len(p.contractions) + packed) // 16 * 16
    return [
        _named(p, NARROW, stream, 0, stages=8, resident=resident, overlap=1, tickets=1, **{leave: 1})
        for stream in (64, 128, 32)
        if stream <= most
        for resident in (2, 1)
        for leave in ("straight", "reuse")
    ]


def _busy(p: Plan) -> bool:
    """Whether scalar work between the products bounds a step: functions in the scores, or data that masks all of them.

    Wide steps of few warps then pay more than many warps: what a step costs besides is spread over more points.
    """
    heads = [p.group.body[n] for n in p.rows if p.group.monoid.components[n].follow is None]
    costly = any(isinstance(s, Apply) and s.op in COSTLY for x in heads for s in walk(x))
    return (costly or bool(p.group.where.data)) and not p.group.where.affine


def _laden(p: Plan) -> bool:
    """Whether scores are more than products by constants: a bias by data or by distance, added to each of them.

    Then products are the least of a step beside few columns, and fewer, wider steps of two consumers pay.
    """
    heads = [p.group.body[n] for n in p.rows if p.group.monoid.components[n].follow is None]
    inner = {s for c in p.contractions for s in walk(c.node)}
    return any(isinstance(s, (Read, Position)) and s not in inner for x in heads for s in walk(x))


def _effort(p: Plan, s: Schedule) -> float:
    """A guess of the time per row: points visited, what each tile of them costs beside its products, idle units.

    Where rows differ in length, tickets fill the last round. Rounded, so that schedules of about the same effort stay
    in the order of preference.
    """
    stream, rows = s.fold_of(p.stream.name).size, 64 * s.consumers
    domain = live(p.group.where, p.stream, p.row, stream, rows)
    effort = max(domain.visited(), 1.0) * (1.0 + 24.0 / stream)
    if not domain.moves():
        batch = prod(i.size.value or 1 for i in p.batch)
        tiles = -(-_typical(p.row) // rows) * batch
        effort *= -(-tiles // UNITS) * UNITS * rows / (_typical(p.row) * batch)
        effort *= PAIR if s.consumers == 2 and not _busy(p) else 1.0
    return round(4.0 * math.log2(effort))


def _scoring(p: Plan) -> list[Schedule]:
    """Products that are folded along their columns at once: nothing but row parts stays."""
    inner = max(rounded(c.index.size.value or LONGEST + 1, p.width) for c in p.contractions)
    resident = 2 if inner <= LONGEST else 0
    most = 256 // len(p.contractions)
    sizes = [n for n in (256, 192, 128) if n <= most]
    return [_named(p, 128, n, None, stages=6, resident=resident, tickets=min(resident, 1)) for n in sizes]


def _multiplying(p: Plan) -> list[Schedule]:
    """Plain and staged products: the tile of columns with the fewest idle units in its last wave, then the widest.

    Narrow products have tiles of fewer rows, and so more stages: more bytes are on their way at a time.
    """
    assert p.column is not None
    stream = p.width
    few = _narrow(p) if is_narrow(p) else []
    ordered = sorted(_boxed(p), key=lambda n: (_waves(p, n), -n))
    few += [_named(p, NARROW, stream, n, stages=12) for n in ordered if is_narrow(p) and n <= 128]
    found = [*few, *_halved(p, ordered[0]), *(_named(p, 128, stream, n, stages=8) for n in ordered)]
    # fragments of 8 bits have no way through shared memory
    return [replace(s, straight=1) for s in found] if any(BYTES.get(t.dtype) == 1 for t in p.outputs) else found


def _narrow(p: Plan) -> list[Schedule]:
    """Tiles of any multiple of 8 columns, so that a whole number of rounds fills the chip; the best two widths.

    A slot has one line of each row of the wide operand; of few columns, `SLOT` lines, 2 to 4 side by side in each row,
    so that enough bytes are on their way. Of many columns that is the second guess: memory is read in longer pieces and
    slots cost less, but there are fewer of them; on one H200 it was slower by a hundredth.
    """
    found: list[Schedule] = []
    for n in sorted(_widths(p), key=lambda n: (_waves(p, n), -n))[:2]:
        longest = -(-_typical(p.stream) // p.width)
        several = min(longest, max(2, min(SLOT // n, 4)))
        for lines in dict.fromkeys((1, several) if n >= SLOT // 4 else (several, 1)):
            found.append(_named(p, NARROW, lines * p.width, n, stages=12, straight=1))
    return found


def _boxed(p: Plan) -> list[int]:
    """The columns of tiles whose outputs leave by bulk copies: the usual ones, and one that takes fewer rounds."""
    found = [n for n in COLUMNS if n * len(p.matrices) <= 256] or [64]
    if not p.direct or p.turned or any(m.right.major != "k" for m in p.matrices):
        return found
    best = min(range(found[0], found[-1], -16), key=lambda n: (_waves(p, n), -n), default=found[0])
    return [best, *found] if _waves(p, best) < FEWER * min(_waves(p, n) for n in found) else found


def _halved(p: Plan, columns: int) -> list[Schedule]:
    """Tiles of half the rows, where even those are fewer than the units and products take most of a tile's time."""
    cycles = 128 * columns * len(p.matrices) * _typical(p.stream) / RATE[p.dtype]
    if 2 * _tiles(p, columns) > UNITS or cycles < LENGTHY or is_narrow(p):
        return []
    return [_named(p, 64, p.width, columns, stages=12)]


def _widths(p: Plan) -> list[int]:
    """The columns that a tile can have, the widest first: all matrices of a product share the accumulators."""
    if not is_narrow(p):
        return _boxed(p)
    least = least_columns(p)
    step = columns_step(256, p.dtype) if least == SLIM else p.width
    return list(range(256 // len(p.matrices) // step * step, least - 1, -step)) or [least]


def least_columns(p: Plan) -> int:
    """The columns of the least tile of a narrow product; whole lines of shared memory where columns lie along them."""
    return SLIM if all(m.right.major == "k" for m in p.matrices) else max(SLIM, p.width)


def is_narrow(p: Plan) -> bool:
    """Whether a product has so few rows that reading its other operand takes all the time."""
    # an output that leaves across its tiles is long along their rows
    return p.column is not None and not p.contractions and not p.turned and 0 < (p.row.size.value or 0) <= NARROW


def _tiles(p: Plan, columns: int) -> int:
    """How many tiles of 128 rows and so many columns there are."""
    tiles: int = -(-_typical(p.row) // 128) * prod(i.size.value or 1 for i in p.batch)
    return tiles * (-(-_typical(p.column) // columns) if p.column is not None else 1)


def _typical(i: Index) -> int:
    return 4096 if i.size.value is None else i.size.value


def _waves(p: Plan, columns: int) -> float:
    """The time of all tiles in rounds over the chip; a tile costs its columns and what each tile costs beside them.

    Products that share their rows share that too.
    """
    return -(-_tiles(p, columns) // UNITS) * (columns + 32 / max(1, len(p.matrices)))


def busy(p: Plan, shares: int = 1) -> float:
    """The share of the units that the tiles of a plan keep busy, work that is done once per tile of columns counted.

    `shares`: into how many parts the stream is split over blocks.
    """
    if p.column is None or p.contractions or shares > 1:
        tiles = _tiles(p, LONGEST) * shares
        again = -(-_typical(p.column) // LONGEST) if p.column is not None else 1
        return tiles / again / (-(-tiles // UNITS) * UNITS)
    done = _typical(p.row) / 128 * _typical(p.column) * prod(i.size.value or 1 for i in p.batch) / UNITS
    return done / min(_waves(p, n) for n in _widths(p))
