"""Where tiles and fragments lie: bijections, no bank conflicts, and fragments that fit each other."""

from __future__ import annotations

import numpy as np
import pytest

from tang_egg.codegen import device as d
from tang_egg.codegen.device_layout import (
    accumulator_place,
    element_byte,
    matrix_address,
    packed_place,
    pair_address,
    swizzled,
)

THREADS = np.arange(128)


def test_the_swizzle_permutes_the_bytes_of_a_box() -> None:
    bytes = np.arange(64 * d.LINE)
    assert np.array_equal(np.sort(swizzled(bytes)), bytes)
    assert (swizzled(bytes) // d.LINE == bytes // d.LINE).all()
    assert swizzled(3 * 128 + 16) == 3 * 128 + 32  # line 3 exchanges its 16-byte parts by xor with 3


@pytest.mark.parametrize("columns", [8, 64, 136, 256])
def test_each_element_of_an_accumulator_is_in_one_register(columns: int) -> None:
    row, column = accumulator_place(THREADS, np.arange(columns // 2)[:, None])
    assert sorted(zip(row.ravel().tolist(), column.ravel().tolist(), strict=True)) == [
        (r, c) for r in range(64) for c in range(columns)
    ]


def test_an_accumulator_rounded_and_paired_is_the_next_operand() -> None:
    for j in range(16):
        for h in (0, 1):
            row, column = accumulator_place(THREADS, 4 * j + 2 * h)
            after_row, after = accumulator_place(THREADS, 4 * j + 2 * h + 1)
            at_row, at = packed_place(THREADS, (4 * j + 2 * h) // 2)
            assert (row == at_row).all() and (after_row == at_row).all()
            assert (column == at).all() and (after == at + 1).all()


def _matrices(chunk: int, line: int, major: str) -> dict[tuple[int, int, int], int]:
    """By (thread, register, element of the pair): the byte that a load of four 8 x 8 matrices takes it from."""
    address = matrix_address(THREADS, chunk, line, major)
    found = {}
    for t in range(128):
        warp, lane = t // 32, t % 32
        for i in range(4):
            for e in (0, 1):
                line_of, position = (lane // 4, 2 * (lane % 4) + e)
                if major == "mn":
                    line_of, position = position, line_of
                found[t, i, e] = int(address[32 * warp + 8 * i + line_of]) + 2 * position
    return found


@pytest.mark.parametrize(("major", "chunk", "line"), [("k", 0, 0), ("k", 3, 64), ("mn", 2, 0), ("mn", 0, 0)])
def test_addresses_of_fragments_agree_with_the_places_of_registers(major: str, chunk: int, line: int) -> None:
    for (t, i, e), byte in _matrices(chunk, line, major).items():
        row, column = packed_place(t, i)
        at = (line + row, 16 * chunk + column + e) if major == "k" else (16 * chunk + column + e, line + row)
        assert byte == element_byte(*at, 2)


@pytest.mark.parametrize("major", ["k", "mn"])
def test_eight_lanes_of_a_matrix_hit_eight_banks(major: str) -> None:
    for chunk in range(4):
        parts = matrix_address(THREADS, chunk, 0, major).reshape(-1, 8) // 16 % 8
        assert all(len(set(p)) == 8 for p in parts.tolist())


def test_stores_of_f32_pairs_hit_each_bank_at_most_twice() -> None:
    for chunk in range(4):
        for half in (0, 1):
            address = pair_address(THREADS, chunk, 0, half)
            row, column = accumulator_place(THREADS, 2 * half)
            assert (address == element_byte(row, 8 * chunk + column, 4)).all()
            for phase in (address // 8 % 16).reshape(-1, 16).tolist():
                assert max(phase.count(b) for b in phase) <= 2
