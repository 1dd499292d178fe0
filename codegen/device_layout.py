"""Where the elements of tiles and fragments lie: the swizzle of shared memory, and which thread holds what.

All functions take integers or NumPy arrays of them. `thread` counts inside the warp group, 0 ... 127.
"""

from __future__ import annotations

from typing import Any

from tang_egg.codegen.device import LINE


def swizzled(byte: Any) -> Any:
    """The byte of a box at which the 128-byte swizzle keeps what logically lies at `byte` = line · 128 + offset."""
    return byte ^ ((byte >> 7 & 7) << 4)


def element_byte(line: Any, position: Any, size: int) -> Any:
    """The byte of a box where element `position` (of `size` bytes) of line `line` lies."""
    return swizzled(line * LINE + position * size)


def row_of(thread: Any) -> Any:
    """The first of the two rows of a fragment (the second is 8 below it) that a thread holds."""
    return 16 * (thread // 32) + thread % 32 // 4


def accumulator_place(thread: Any, register: Any) -> tuple[Any, Any]:
    """(row, column) of a register of an accumulator of 64 x N."""
    j, h, e = register // 4, register // 2 % 2, register % 2
    return row_of(thread) + 8 * h, 8 * j + 2 * (thread % 4) + e


def packed_place(thread: Any, register: Any) -> tuple[Any, Any]:
    """(row, column of the first of the pair) of a register of a packed operand of 64 x K."""
    j, k, h = register // 4, register // 2 % 2, register % 2
    return row_of(thread) + 8 * h, 16 * j + 8 * k + 2 * (thread % 4)


def single_place(thread: Any, register: Any) -> tuple[Any, Any]:
    """(row, column) of a register of a packed operand of 64 x K of 32 bits."""
    j, k, h = register // 4, register // 2 % 2, register % 2
    return row_of(thread) + 8 * h, 8 * j + 4 * k + thread % 4


def matrix_address(thread: Any, chunk: int, line: Any, major: str = "k") -> Any:
    """The byte of a box that a thread gives to a load or store of four 8 x 8 matrices of 16 bits, swizzled.

    Threads 8i ... 8i + 7 of a warp give the lines of matrix i, which holds registers i of the chunk. `line`: the first
    of the 64 lines; with `major` "mn" (transposing loads) the first column of 64, and lines are 16 · chunk and on.
    """
    warp, matrix, step = thread // 32, thread % 32 // 8, thread % 8
    k, h = matrix // 2, matrix % 2
    if major == "k":
        return element_byte(line + 16 * warp + 8 * h + step, 16 * chunk + 8 * k, 2)
    return element_byte(16 * chunk + 8 * k + step, line + 16 * warp + 8 * h, 2)


def pair_address(thread: Any, chunk: int, line: Any, half: int) -> Any:
    """The byte of a box where a thread stores registers 2·half + (0, 1) of a chunk of an accumulator of f32."""
    return element_byte(line + row_of(thread) + 8 * half, 8 * chunk + 2 * (thread % 4), 4)


def turned_address(thread: Any, register: Any, chunk: int, line: Any, lines: int) -> Any:
    """The byte of a tile where a thread stores or loads register 2h + e of a chunk of f32 whose rows run along lines.

    The tile has boxes of `lines` lines; the fragment's 64 rows are two of them, its columns lines from `line` on.
    """
    h, e = register // 2, register % 2
    row, down = row_of(thread) + 8 * h, line + 8 * chunk + 2 * (thread % 4) + e
    return row // 32 * (lines * LINE) + element_byte(down, row % 32, 4)
