"""Quantised blocks of GGUF files: elements from raw bytes by shifts and masks.

A block holds a number of elements in a number of bytes. Its elements are counted by digits (a mixed radix), chosen so
that every byte position is affine in the digits; a decoder gives an element from the digits. So the same decoder serves
a flat array, whose digits are quotients and remainders of a position, and a sum whose loops are the digits themselves.

Source: the block layouts of ggml (ggml-quants).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg.affine import Affine, Index, affine
from tang_egg.errors import GraphError
from tang_egg.expression import Expression, here
from tang_egg.library import axes_of, expect_rank, expect_size
from tang_egg.library_quant import expect_bytes
from tang_egg.notation import Array

Place: TypeAlias = "Affine | Index | Expression"
Byte: TypeAlias = "Callable[[Place | int], Expression]"
Decoder: TypeAlias = "Callable[..., Expression]"


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of block: its bytes, the digits that count its elements, and what an element is."""

    size: int
    digits: tuple[int, ...]
    decode: Decoder

    @property
    def elements(self) -> int:
        n = 1
        for d in self.digits:
            n *= d
        return n


def _half(byte: Byte, at: int) -> Expression:
    """The f16 at two bytes, the low one first."""
    return e.bitcast(e.cast(byte(at), "u16") | (e.cast(byte(at + 1), "u16") << 8), "f16")


def _bits(held: Expression, shift: Place, mask: int) -> Expression:
    """Some bits of a byte; `shift` counts from the lowest."""
    return (held >> e.cast(shift, "u8")) & mask


def _real(x: Expression) -> Expression:
    return e.cast(x, "real")


def _q4_0(byte: Byte, h: Place, j: Place) -> Expression:
    return _half(byte, 0) * (_real(_bits(byte(2 + j), 4 * h, 15)) - 8.0)


def _q4_1(byte: Byte, h: Place, j: Place) -> Expression:
    return _half(byte, 0) * _real(_bits(byte(4 + j), 4 * h, 15)) + _half(byte, 2)


def _five_bits(byte: Byte, first: int, h: Place, j1: Place, j0: Place) -> Expression:
    """Four bits of a byte and the fifth from a word of 32 bits at `first` before them."""
    low = _bits(byte(first + 4 + 8 * j1 + j0), 4 * h, 15)
    return _real(low | (_bits(byte(first + 2 * h + j1), j0, 1) << 4))


def _q5_0(byte: Byte, h: Place, j1: Place, j0: Place) -> Expression:
    return _half(byte, 0) * (_five_bits(byte, 2, h, j1, j0) - 16.0)


def _q5_1(byte: Byte, h: Place, j1: Place, j0: Place) -> Expression:
    return _half(byte, 0) * _five_bits(byte, 4, h, j1, j0) + _half(byte, 2)


def _q8_0(byte: Byte, j: Place) -> Expression:
    return _half(byte, 0) * _real(e.bitcast(byte(2 + j), "i8"))


def _q2_k(byte: Byte, n: Place, s: Place, j1: Place, j0: Place) -> Expression:
    scale = byte(8 * n + 2 * s + j1)
    q = _real(_bits(byte(16 + 32 * n + 16 * j1 + j0), 2 * s, 3))
    return _half(byte, 80) * _real(scale & 15) * q - _half(byte, 82) * _real(scale >> 4)


def _q3_k(byte: Byte, n: Place, s1: Place, s0: Place, j1: Place, j0: Place) -> Expression:
    low = _bits(byte(96 + 4 * s1 + 2 * s0 + j1), 4 * n, 15)
    high = _bits(byte(104 + 2 * s0 + j1), 4 * n + 2 * s1, 3)
    scale = _real(low | (high << 4)) - 32.0
    q = _real(_bits(byte(32 + 32 * n + 16 * j1 + j0), 4 * s1 + 2 * s0, 3))
    less = _real(_bits(byte(16 * j1 + j0), 4 * n + 2 * s1 + s0, 1)) * 4.0 - 4.0
    return _half(byte, 108) * scale * (q + less)


def _scale_and_least(byte: Byte, p1: Place, t: Place) -> tuple[Expression, Expression]:
    """The six-bit scale and minimum of sub-block 4·p1 + t, packed into twelve bytes from 4 on."""
    low, middle, high = byte(4 + t), byte(8 + t), byte(12 + t)
    first = p1 < 1
    scale = e.select(first, low & 63, (high & 15) | ((low >> 6) << 4))
    least = e.select(first, middle & 63, (high >> 4) | ((middle >> 6) << 4))
    return _real(scale), _real(least)


def _q4_k(byte: Byte, p1: Place, p0: Place, h: Place, j: Place) -> Expression:
    scale, least = _scale_and_least(byte, p1, 2 * p0 + h)
    q = _real(_bits(byte(16 + 64 * p1 + 32 * p0 + j), 4 * h, 15))
    return _half(byte, 0) * scale * q - _half(byte, 2) * least


def _q5_k(byte: Byte, p1: Place, p0: Place, h: Place, j: Place) -> Expression:
    scale, least = _scale_and_least(byte, p1, 2 * p0 + h)
    low = _bits(byte(48 + 64 * p1 + 32 * p0 + j), 4 * h, 15)
    q = _real(low | (_bits(byte(16 + j), 4 * p1 + 2 * p0 + h, 1) << 4))
    return _half(byte, 0) * scale * q - _half(byte, 2) * least


def _q6_k(byte: Byte, n: Place, a: Place, b: Place, j1: Place, j0: Place) -> Expression:
    low = _bits(byte(64 * n + 32 * b + 16 * j1 + j0), 4 * a, 15)
    high = _bits(byte(128 + 32 * n + 16 * j1 + j0), 4 * a + 2 * b, 3)
    scale = _real(e.bitcast(byte(192 + 8 * n + 4 * a + 2 * b + j1), "i8"))
    return _half(byte, 208) * scale * (_real(low | (high << 4)) - 32.0)


FORMATS: dict[str, Format] = {
    "q4_0": Format(18, (2, 16), _q4_0),
    "q4_1": Format(20, (2, 16), _q4_1),
    "q5_0": Format(22, (2, 2, 8), _q5_0),
    "q5_1": Format(24, (2, 2, 8), _q5_1),
    "q8_0": Format(34, (32,), _q8_0),
    "q2_k": Format(84, (2, 4, 2, 16), _q2_k),
    "q3_k": Format(110, (2, 2, 2, 2, 16), _q3_k),
    "q4_k": Format(144, (2, 2, 2, 32), _q4_k),
    "q5_k": Format(176, (2, 2, 2, 32), _q5_k),
    "q6_k": Format(210, (2, 2, 2, 2, 16), _q6_k),
}
"""The kinds of blocks by name."""


def dequantize(blocks: Array, kind: str, dtype: str = "f32") -> Array:
    """The elements of GGUF blocks: u8[..., bytes] → [..., n], n = bytes / size of a block · its elements.

    `kind`: "q4_0", "q4_1", "q5_0", "q5_1" or "q8_0" (32 elements in 18, 20, 22, 24 or 34 bytes), "q2_k", "q3_k",
    "q4_k", "q5_k" or "q6_k" (256 elements in 84, 110, 144, 176 or 210 bytes).
    """
    form, count = _format(blocks, kind)
    lead, c = axes_of(blocks)[:-1], Index("c", count * form.elements)
    rest, digits = e.value(c), []
    for size in reversed(form.digits):
        digits.append(rest % size)
        rest = rest // size
    body = form.decode(_reader(blocks, lead, rest, form), *reversed(digits))
    return te.tensor(None, (*lead, c), body, dtype, hint="dequantized")


def linear_quantized(x: Array, blocks: Array, kind: str, bias: Array | None = None) -> Array:
    """x[..., k] · wᵀ + bias[o] for weights w[o, k] in GGUF blocks u8[o, bytes] → [..., o], `kind` as in `dequantize`.

    The sum runs over blocks and the digits of their elements, so that weights are decoded where they are used.
    """
    expect_rank(x, 1)
    expect_rank(blocks, 2, 2)
    form, count = _format(blocks, kind)
    expect_size(f"the last axis of '{x.name}'", x.shape[-1], count * form.elements)
    lead, o, b = axes_of(x)[:-1], Index("o_", blocks.shape[0]), Index("block", count)
    digits = tuple(Index(f"digit{p}", affine(d)) for p, d in enumerate(form.digits))
    position: Affine = affine(b)
    for d in digits:
        position = position * d.size + d
    weight = form.decode(_reader(blocks, (o,), affine(b), form), *(affine(d) for d in digits))
    body = te.sum((b, *digits), x[(*lead, position)] * weight)
    if bias is not None:
        expect_rank(bias, 1, 1)
        expect_size(f"'{bias.name}'", bias.shape[0], o.size)
        body = body + bias[o]
    return te.tensor(None, (*lead, o), body, x.dtype, hint="linear")


def _reader(blocks: Array, lead: tuple[Index, ...], block: Affine | Expression, form: Format) -> Byte:
    return lambda at: blocks[(*lead, block * form.size + at)]


def _format(blocks: Array, kind: str) -> tuple[Format, Affine]:
    """The format by name, and how many blocks there are along the last axis."""
    if not isinstance(kind, str) or kind.lower() not in FORMATS:
        raise GraphError(
            f"blocks of an unknown kind {kind!r}", where=str(here()), mend=f"use one of {', '.join(FORMATS)}"
        )
    expect_bytes(blocks)
    form, size = FORMATS[kind.lower()], blocks.shape[-1]
    if any(c % form.size for _, c in size.terms):
        raise GraphError(
            f"the {size} bytes in a row of '{blocks.name}' are no blocks of {form.size}, as {kind.lower()} has",
            where=str(here()),
            mend="check the kind, and that the last axis counts bytes",
        )
    return form, Affine.of({m: c // form.size for m, c in size.terms})
