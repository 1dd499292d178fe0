"""Weights stored in few bits: whole numbers of 8 or 4 bits with a scale for each block along the last axis."""

from __future__ import annotations

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg.affine import Affine, Index, affine
from tang_egg.errors import GraphError
from tang_egg.expression import Expression, here
from tang_egg.library import axes_of, expect_rank, expect_size
from tang_egg.notation import Array

ORDERS = ("low", "high", "halves")


def dequantize_int8(
    q: Array, scales: Array, zeros: Array | None = None, *, block: int | None = None, dtype: str = "f32"
) -> Array:
    """scales[..., c // block] · (q[..., c] - zeros[..., c // block]) for q[..., n] of i8 or u8 and scales, zeros
    [..., n / block] → [..., n].

    Without `block` there is one scale for the whole axis: scales[..., 1]. Leading axes of scales and zeros of extent
    one serve all.
    """
    expect_rank(q, 1)
    if q.dtype not in ("i8", "u8"):
        raise GraphError(f"'{q.name}' is {q.dtype}", where=str(here()), mend="give i8 or u8")
    i = axes_of(q)
    return _scaled(e.cast(q[i], "real"), i, scales, zeros, block, dtype, "dequantized")


def dequantize_int4(
    packed: Array,
    scales: Array,
    zeros: Array | int = 8,
    *,
    block: int | None = None,
    order: str = "low",
    signed: bool = False,
    dtype: str = "f32",
) -> Array:
    """scales[..., c // block] · (nibble c - zero) for packed u8[..., n / 2] and scales [..., n / block] → [..., n].

    `order`: element 2p is the low nibble of byte p and 2p + 1 the high one ("low"), or the other way round ("high");
    "halves": in each block the low nibbles come first, then the high ones. `zeros` is a number or has the shape of
    `scales`. `signed`: a nibble from 8 means itself less 16, and `zeros` is 0 unless an array.
    """
    expect_rank(packed, 1)
    if packed.dtype != "u8" or order not in ORDERS:
        raise GraphError(
            f"nibbles of '{packed.name}', {packed.dtype}, in the order {order!r}",
            where=str(here()),
            mend=f"give u8, and an order of {', '.join(ORDERS)}",
        )
    lead = axes_of(packed)[:-1]
    n = packed.shape[-1] * 2
    c = Index("c", n)
    position = e.value(c)
    if order == "halves":
        width = _block(n, block)
        if width % 2:
            raise GraphError(f"halves of a block of {width}", where=str(here()), mend="give an even block")
        within = position % width
        byte = position // width * (width // 2) + within % (width // 2)
        high = within >= width // 2
    else:
        byte, high = position // 2, e.eq(position % 2, 1 if order == "low" else 0)
    held = packed[(*lead, byte)]
    nibble = e.cast(e.select(high, held >> 4, held & 15), "real")
    if signed:
        nibble = e.select(nibble < 8.0, nibble, nibble - 16.0)
    offset = zeros if isinstance(zeros, Array) else None
    if not isinstance(zeros, Array) and not signed:
        if not isinstance(zeros, int) or isinstance(zeros, bool) or not 0 <= zeros < 16:
            raise GraphError(f"the zero {zeros!r} of nibbles", where=str(here()), mend="give a number from 0 to 15")
        nibble = nibble - float(zeros)
    return _scaled(nibble, (*lead, c), scales, offset, block, dtype, "dequantized")


def _scaled(
    element: Expression,
    i: tuple[Index, ...],
    scales: Array,
    zeros: Array | None,
    block: int | None,
    dtype: str,
    hint: str,
) -> Array:
    """scale · (element - zero), each of the block of the last index."""
    width = _block(i[-1].size, block)
    count = affine(1) if block is None else affine((i[-1].size.value or 0) // width)
    number: Affine | Expression = affine(0) if block is None else e.value(i[-1]) // width
    parts = []
    for given in (scales, zeros):
        if given is None:
            continue
        expect_rank(given, len(i), len(i))
        expect_size(f"the last axis of '{given.name}'", given.shape[-1], count)
        lead = []
        for size, a in zip(given.shape[:-1], i[:-1], strict=True):
            if size.value != 1 or a.size.value == 1:
                expect_size(f"an axis of '{given.name}'", size, a.size)
                lead.append(affine(a))
            else:
                lead.append(affine(0))
        found = given[(*lead, number)]
        parts.append(found if found.type == "real" else e.cast(found, "real"))
    body = element - parts[1] if zeros is not None else element
    return te.tensor(None, i, parts[0] * body, dtype, hint=hint)


def _block(n: Affine, block: int | None) -> int:
    """The elements of a block. Raises GraphError where the axis is no whole number of blocks."""
    if block is None:
        return n.value or 1
    if not isinstance(block, int) or isinstance(block, bool) or block < 1 or n.value is None or n.value % block:
        raise GraphError(
            f"blocks of {block!r} along an axis of {n}",
            where=str(here()),
            mend="give a fixed extent that the block divides",
        )
    return block


def expect_bytes(blocks: Array) -> None:
    """Raises GraphError where an array does not hold bytes."""
    expect_rank(blocks, 1)
    if blocks.dtype != "u8":
        raise GraphError(f"'{blocks.name}' is {blocks.dtype}", where=str(here()), mend="give the raw bytes as u8")
