"""Matrix products and fragments in the interpreter of launched kernels: tiles as matrices, registers as fragments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tang_egg.codegen.device import BYTES, GROUP, STEP
from tang_egg.codegen.device_lane import Array, round_tf32, typed
from tang_egg.codegen.device_layout import accumulator_place, packed_place, single_place
from tang_egg.codegen.device_memory import Region

_THREADS = np.arange(GROUP)


@dataclass(frozen=True, slots=True)
class Operand:
    """A shared operand with known slot and start: `rows` (or columns) by `depth` of the contraction index."""

    region: Region
    major: str
    rows: int
    depth: int

    def matrix(self, tiles: dict[str, Array]) -> Array:
        """(rows, depth); f32 is cut off to tf32 as the matrix units do."""
        r = self.region
        tile = tiles[r.stage.name][r.slot, r.boxes.start : r.boxes.stop, r.lines.start : r.lines.stop]
        if self.major == "k":
            full = tile.transpose(1, 0, 2).reshape(len(r.lines), -1)[:, : self.depth]
        else:
            full = tile.transpose(0, 2, 1).reshape(-1, len(r.lines))[: self.rows]
        return round_tf32(full, nearest=False) if BYTES[r.stage.type] == 4 else full


def span(major: str, first: int, rows: int, steps: int, width: int, size: int) -> tuple[range, range, int]:
    """The boxes and lines that an operand takes, and the extent of its contraction index."""
    depth = steps * STEP // size
    if major == "k":
        return range(-(-depth // width)), range(first, first + rows), depth
    return range(first, first + -(-rows // width)), range(depth), depth


def accumulator(registers: Array) -> Array:
    """The 64 x N matrix that the registers (N/2, 128) of a warp group hold."""
    row, column = accumulator_place(_THREADS, np.arange(len(registers))[:, None])
    full = np.zeros((64, 2 * len(registers)), registers.dtype)
    full[row, column] = registers
    return full


def set_accumulator(registers: Array, matrix: Array) -> None:
    """Writes a 64 x N matrix into the registers of a warp group."""
    row, column = accumulator_place(_THREADS, np.arange(len(registers))[:, None])
    registers[:] = matrix[row, column]


def packed(registers: Array) -> Array:
    """The 64 x K matrix that packed registers hold: (K/4, 2, 128), or (K/2, 128) of f32, cut off to tf32."""
    if registers.ndim == 2:
        row, column = single_place(_THREADS, np.arange(len(registers))[:, None])
        single = np.zeros((64, 2 * len(registers)), registers.dtype)
        single[row, column] = registers
        return round_tf32(single, nearest=False)
    row, column = packed_place(_THREADS, np.arange(len(registers))[:, None])
    full = np.zeros((64, 4 * len(registers)), registers.dtype)
    full[row, column], full[row, column + 1] = registers[:, 0], registers[:, 1]
    return full


def chunk_packed(values: Array) -> Array:
    """The 64 x 16 matrix of four packed registers (4, 2, 128), or 64 x 8 of an accumulator's four (4, 128)."""
    return packed(values) if values.ndim == 3 else accumulator(values)


def set_packed(registers: Array, matrix: Array, type: str) -> None:
    """Writes a 64 x K matrix into packed registers (a view of K/4 of them); one of f32 as an accumulator lies."""
    if registers.ndim == 2:
        set_accumulator(registers, matrix)
        return
    row, column = packed_place(_THREADS, np.arange(len(registers))[:, None])
    registers[:, 0], registers[:, 1] = typed(matrix[row, column], type), typed(matrix[row, column + 1], type)


def sixty_four(rows: Array) -> Array:
    """A left operand of 64 rows: those that its tile does not have may hold anything, here NaN or 77."""
    if len(rows) == 64:
        return rows
    anything = np.nan if rows.dtype.kind == "f" else 77
    return np.concatenate([rows, np.full((64 - len(rows), rows.shape[1]), anything, rows.dtype)])


def multiply(acc: Array, a: Array, b: Array, fresh: bool) -> None:
    """Accumulator registers += (64 x K) · (N x K) transposed; those of integers wrap."""
    if acc.dtype.kind == "i":
        whole = np.matmul(a.astype(np.int64), b.astype(np.int64).T)
        set_accumulator(acc, (whole if fresh else accumulator(acc) + whole).astype(acc.dtype))
        return
    product = np.matmul(a.astype(np.float32), b.astype(np.float32).T)
    set_accumulator(acc, product if fresh else accumulator(acc) + product)
