"""Schedules of kernels that read across their vectors: blocks and strips, copied by transposes in registers.

A kernel without folds whose reads are contiguous along another axis than an output takes blocks of both axes. A scan
along the axis that reads and outputs are contiguous along takes strips of several rows, the vectors over the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tang_egg import ops
from tang_egg.affine import Affine, Index
from tang_egg.codegen.candidates_fold import contiguous
from tang_egg.codegen.lower_turn import reads_in_place
from tang_egg.codegen.vectors import AVX2, Vectors
from tang_egg.ir import Read, Reduce, Scan, Tensor, free, walk
from tang_egg.schedule import WHOLE, FoldPlan, Schedule

BLOCK, NEAR, FAR = 64, 16, 256
"""Longest edge of a block, the one across outputs that a cache holds, and the one along those that none holds."""
WIDE = 128
"""The longest edge where registers are of 64 bytes: blocks that half of the nearest cache holds, in lines of it."""
HELD = 1 << 20
"""Bytes of outputs from which on no cache of a core is counted on."""
STRIP, ROWS = 64, 8
"""Points of a strip of a scan, and the rows that it runs along."""
PIECES, LEAST = 1024, 128
"""Points of a strip that is cut into pieces of one row, at most and at least."""

STATES = 1 << 14
"""Bytes of the states of columns that a thread holds at once."""
LINES, POINTS = 64, 1 << 15
"""Lines for each thread, and elements in all, from which on columns are folded by blocks of lines."""


def turned(outputs: tuple[Tensor, ...], past_caches: int, vectors: Vectors = AVX2) -> tuple[Schedule, ...]:
    """Blocks for a kernel of plain reads, the best guess first; none where no read lies across the vectors."""
    if any(isinstance(s, (Reduce, Scan)) for t in outputs for s in walk(t.body)):
        return ()
    common = [i for i in outputs[0].axes if all(i in t.axes for t in outputs)]
    names: dict[str, None] = {}
    edges: dict[Index, None] = {}
    for t in outputs:
        last = t.axes[-1] if t.axes else None
        for r in reads_in_place([t.body]):
            along = _lying(r, last, common) if last in common else None
            if last is not None and along is not None:
                names[r.source.name] = None
                edges |= {last: None, along: None}
    if not edges:
        return ()
    bytes_ = sum(prod(n.value or 0 for n in t.shape) * ops.BYTES[t.dtype] for t in outputs)
    v = outputs[0].axes[-1]
    large = bytes_ >= HELD
    wide = large and vectors.bytes > AVX2.bytes  # reads go on along their lines from block to block
    long, over = (FAR if large else BLOCK, BLOCK if large else NEAR) if len(edges) == 2 else (NEAR, NEAR)
    best = (min(long, WIDE), over, True) if wide else (long, over, False)
    if any(_edge(i, NEAR) < 4 for i in edges):
        return ()
    stream = bytes_ >= past_caches and all(t.axes[-1] is v and not t.into for t in outputs)
    found: list[Schedule] = []
    for here, there, last_out in (best, (BLOCK, BLOCK, True), (NEAR, BLOCK, False), (NEAR, NEAR, True)):
        order = [i for i in common if i not in edges] + sorted(edges, key=lambda i: (i is v) != last_out)
        tile = tuple((i.name, _edge(i, here if i is v else there)) for i in edges)
        store = "stream" if stream else ""
        found.append(Schedule("point", tuple(i.name for i in order), tile=tile, stage=tuple(names), store=store))
    return tuple(dict.fromkeys(found))


def strips(outputs: tuple[Tensor, ...], schedule: Schedule, past_caches: int) -> Schedule:
    """A scan by strips of rows, or by pieces of few rows; elsewhere the schedule as it was.

    So it is where the scan runs along the lines of all that it reads and writes.
    """
    scanned = {s.index for t in outputs for s in walk(t.body) if isinstance(s, Scan)}
    rows = [i for i in outputs[0].axes if i not in scanned and all(i in t.axes for t in outputs)]
    if len(scanned) != 1 or any(isinstance(s, Reduce) for t in outputs for s in walk(t.body)):
        return schedule
    (t,) = scanned
    if any(set(x.axes) != {*rows, t} or x.axes[-1] not in (t, *rows[-1:]) for x in outputs):
        return schedule
    reads = [r for r in reads_in_place([x.body for x in outputs]) if t in {i for c in _forms(r) for i in c.indices()}]
    names = dict.fromkeys(r.source.name for r in reads if contiguous(r, t))
    lines = all(x.axes[-1] is t for x in outputs)
    if not names and not any(x.axes[-1] is t for x in outputs):
        return schedule
    lanes = _edge(rows[-1], ROWS if lines else 2 * ROWS) if rows else 1
    whole = lines and bool(names)
    few = lanes < ROWS or (whole and prod(i.size.value or ROWS * ROWS for i in rows) < 2 * ROWS)
    size = _edge(t, PIECES if few else STRIP)
    if (few and not whole) or size < (LEAST if few else ROWS):
        return schedule
    tile = ((t.name, size),) if few else ((rows[-1].name, lanes), (t.name, size))
    bytes_ = [prod(n.value or 0 for n in x.shape) * ops.BYTES[x.dtype] for x in outputs]
    lines = lines and all((t.size.value or 1) * ops.BYTES[x.dtype] % 16 == 0 and not x.into for x in outputs)
    store = "stream" if sum(bytes_) >= past_caches and lines else ""
    return Schedule("scan", tuple(i.name for i in rows), tile=tile, stage=tuple(names), store=store)


def columns(outputs: tuple[Tensor, ...], threads: int) -> tuple[Schedule, ...]:
    """Folds down columns by blocks of whole lines, each thread with states of all columns; none where that is no gain.

    So memory is read in its order. The states of a thread stay in its nearest cache.
    """
    folds = [s for t in outputs for s in walk(t.body) if isinstance(s, Reduce)]
    v = outputs[0].axes[-1] if outputs[0].axes else None
    if threads < 2 or not folds or v is None or any(isinstance(s, Scan) for t in outputs for s in walk(t.body)):
        return ()
    size = v.size.value or 0
    others = [i for t in outputs for i in t.axes if i is not v]
    if others or size % 8 or not 0 < size * sum(map(len, {f.body: f.body for f in folds})) * 4 <= STATES:
        return ()
    for f in folds:
        reads = [r for b in f.body for r in walk(b) if isinstance(r, Read) and f.indices[-1] in free(r)]
        plain = len(f.indices) == 1 and not f.monoid.followers and not any(c.axes for c in f.monoid.components)
        inner = any(isinstance(s, Reduce) for b in f.body for s in walk(b))
        long = (f.indices[0].size.value or 0) >= LINES * threads and (f.indices[0].size.value or 0) * size >= POINTS
        if not plain or inner or not long or not reads or not all(contiguous(r, v) for r in reads):
            return ()
    plans = tuple(dict.fromkeys((f.indices[0].name, FoldPlan("blocks", 4 * threads)) for f in folds))
    return (Schedule("split", tile=((v.name, WHOLE),), fold=plans),)


def _lying(r: Read, last: Index | None, common: Sequence[Index]) -> Index | None:
    """The axis along which a read is contiguous where it varies with the last axis but does not run along it."""
    if last is None or not all(isinstance(c, Affine) for c in r.coordinates) or not r.coordinates:
        return None
    used = {i for c in _forms(r) for i in c.indices()}
    near = r.coordinates[-1]
    assert isinstance(near, Affine)
    if last not in used or last in near.indices():
        return None
    return next((i for i in common if contiguous(r, i)), None)


def _forms(r: Read) -> list[Affine]:
    return [c for c in r.coordinates if isinstance(c, Affine)]


def _edge(i: Index, most: int) -> int:
    """The longest edge of a block that an axis has room for."""
    size = i.size.value
    return next((n for n in (1024, 512, 256, 128, 64, 32, 16, 8, 4) if n <= most and (size is None or size >= n)), 1)
