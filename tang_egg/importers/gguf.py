"""Weights and metadata from GGUF files, versions 2 and 3, little-endian.

    file   ::= "GGUF", version: u32, tensors: u64, pairs: u64, pair*, tensor*, padding, data
    pair   ::= key: text, value;  value ::= type: u32, what that type says;  text ::= length: u64, UTF-8
    array  ::= type: u32, length: u64, elements
    tensor ::= name: text, axes: u32, extents: u64 each, the contiguous one first, type: u32, offset: u64

Offsets count from the start of the data, which is aligned, as is every tensor, to `general.alignment` bytes (32 unless
given); tensors follow each other in order. Shapes here are NumPy's: the contiguous axis is last.

Types with blocks (Q4_0, Q4_K and so on) come as the bytes of their blocks, uint8 [..., rows, bytes of a row]: a row of
the tensor is a whole number of blocks. `Weights.type` says which type it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tang_egg.errors import InputError
from tang_egg.importers.json_text import shown
from tang_egg.importers.weights import Stored, Value, Weights, elements, frozen, mapped
from tang_egg.ir import Input

MAGIC = b"GGUF"
VERSIONS = (2, 3)
ALIGNMENT = "general.alignment"
MOST_AXES = 8
"""Axes of a tensor; the format says four for now."""
DEEPEST = 4
"""Levels of arrays in arrays."""
LONGEST_KEY = 65535

PLAIN = {
    0: ("F32", "f32", 4), 1: ("F16", "f16", 2), 24: ("I8", "i8", 1), 25: ("I16", "i16", 2), 26: ("I32", "i32", 4),
    27: ("I64", "i64", 8), 28: ("F64", "f64", 8), 30: ("BF16", "bf16", 2),
}  # fmt: skip
"""Types whose elements the language has: name, element type, bytes."""

BLOCKS = {
    2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22), 7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34),
    9: ("Q8_1", 32, 40), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144), 13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292), 16: ("IQ2_XXS", 256, 66), 17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98), 19: ("IQ1_S", 256, 50), 20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82), 23: ("IQ4_XS", 256, 136), 29: ("IQ1_M", 256, 56), 34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66), 39: ("MXFP4", 32, 17), 40: ("NVFP4", 64, 36), 41: ("Q1_0", 128, 18),
}  # fmt: skip
"""Types with blocks: name, elements of a block, bytes of a block."""

NUMBERS = {
    0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "|b1", 10: "<u8", 11: "<i8", 12: "<f8",
}  # fmt: skip
"""The NumPy type of a number in the metadata, by its code."""
BOOL, TEXT, ARRAY = 7, 8, 9

AGAIN = "fetch or write the file again"


def open(path: str | Path) -> Weights:
    """The tensors and metadata of a GGUF file. Of a model that is split over files, those of this file.

    Raises InputError when the file is missing, damaged, or no GGUF file of a known version and byte order.
    """
    at = Path(path)
    return _Reader(at, mapped(at, "give the path of a .gguf file")).read()


def declarations(path: str | Path) -> dict[str, Input]:
    """An input with shape and element type for every tensor of the file, by the tensor's name. Reads no data."""
    return open(path).declarations()


@dataclass(slots=True)
class _Reader:
    """Reads a header from its first byte on. Each read is checked against what is left of the file."""

    path: Path
    data: NDArray[np.uint8]
    at: int = 0
    inside: str = "the header"

    def fail(self, what: str, mend: str = AGAIN, at: int | None = None) -> InputError:
        where = f"byte {self.at if at is None else at} of {self.path}, in {self.inside}"
        return InputError(what, where=where, mend=mend)

    def read(self) -> Weights:
        tensors, pairs = self._start()
        # a pair has at least an empty key, a type and a byte; a tensor an empty name, axes, a type and an offset
        if pairs > (len(self.data) - self.at) // 13 or tensors > (len(self.data) - self.at) // 24:
            raise self.fail(
                f"{pairs} pairs of metadata and {tensors} tensors do not fit into a file of {len(self.data)} bytes",
                f"{AGAIN}; was it cut short?",
                at=8,
            )
        metadata: dict[str, Value] = {}
        for n in range(pairs):
            self.inside = f"pair {n} of the metadata"
            start = self.at
            key = self._text(LONGEST_KEY)
            self.inside = f"the metadata {shown(key)}"
            if not key or key in metadata:
                raise self.fail("a key occurs twice" if key else "a key is empty", at=start)
            metadata[key] = self._value(self._number("<u4"), 0)
        stored = self._tensors(tensors, self._alignment(metadata))
        return Weights(self.path, frozen(metadata), frozen(stored), frozen({self.path: self.data}))

    def _start(self) -> tuple[int, int]:
        """The numbers of tensors and of pairs. Raises InputError for another format, version or byte order."""
        magic = self._bytes(4)
        if magic != MAGIC:
            raise self.fail(
                f"the file is no GGUF file: it starts with {magic!r}", "give the path of a .gguf file", at=0
            )
        version = self._number("<u4")
        if version not in VERSIONS:
            if int.from_bytes(version.to_bytes(4, "little"), "big") in VERSIONS:
                raise self.fail("the file is big-endian", "convert it to little-endian (gguf_convert_endian)", at=4)
            raise self.fail(
                f"version {version} of GGUF is not known here", f"write version {' or '.join(map(str, VERSIONS))}", at=4
            )
        return self._number("<u8"), self._number("<u8")

    def _bytes(self, size: int) -> bytes:
        return self._view(size).tobytes()

    def _view(self, size: int) -> NDArray[np.uint8]:
        left = len(self.data) - self.at
        if size > left:
            raise self.fail(f"{size} bytes are expected where the file has {left}", f"{AGAIN}; was it cut short?")
        self.at += size
        return self.data[self.at - size : self.at]

    def _number(self, kind: str) -> Any:
        """The next number as Python's own: an int for integers, a float for floats."""
        raw = self._bytes(int(kind[2]))
        return (
            np.frombuffer(raw, kind)[0].item()
            if kind[1] == "f"
            else int.from_bytes(raw, "little", signed=kind[1] == "i")
        )

    def _text(self, limit: int | None = None) -> str:
        start = self.at
        size = self._number("<u8")
        if limit is not None and size > limit:
            raise self.fail(f"a text of {size} bytes where {limit} are allowed", at=start)
        try:
            return self._bytes(size).decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.fail(f"a text is no UTF-8: {error.reason}", at=start + 8 + error.start) from None

    def _value(self, kind: int, depth: int) -> Value:
        start = self.at
        if kind == TEXT:
            return self._text()
        if kind == ARRAY:
            return self._array(depth)
        if kind not in NUMBERS:
            raise self.fail(f"{kind} is no type of a value", f"{AGAIN}; types are 0 to 12", at=start - 4)
        if kind == BOOL:
            return bool(self._bools(1)[0])
        found: int | float = self._number(NUMBERS[kind])
        return found

    def _bools(self, count: int) -> NDArray[np.bool_]:
        start = self.at
        raw = self._view(count)
        if count and int(raw.max()) > 1:
            at = int(np.argmax(raw > 1))
            raise self.fail(f"a bool is stored as {int(raw[at])}", "write 0 or 1", at=start + at)
        return raw.view(np.bool_)

    def _array(self, depth: int) -> Value:
        start = self.at
        kind, count = self._number("<u4"), self._number("<u8")
        if depth >= DEEPEST:
            raise self.fail(f"arrays are nested more than {DEEPEST} levels deep", at=start)
        least = {TEXT: 8, ARRAY: 12}.get(kind) or (int(NUMBERS[kind][2]) if kind in NUMBERS else 1)
        left = len(self.data) - self.at
        if count > left // least:
            raise self.fail(
                f"an array of {count} elements cannot lie in the {left} bytes that are left",
                f"{AGAIN}; was it cut short?",
                at=start,
            )
        if kind == BOOL:
            return self._bools(count)
        if kind in NUMBERS:
            return self._view(count * least).view(NUMBERS[kind])
        if kind not in (TEXT, ARRAY):
            raise self.fail(f"{kind} is no type of a value", f"{AGAIN}; types are 0 to 12", at=start)
        one: Callable[[], Value] = self._text if kind == TEXT else lambda: self._array(depth + 1)
        return tuple(one() for _ in range(count))

    def _alignment(self, metadata: dict[str, Value]) -> int:
        found = metadata.get(ALIGNMENT, 32)
        if type(found) is not int or found <= 0 or found % 8:
            self.inside = f"the metadata '{ALIGNMENT}'"
            raise self.fail(f"the alignment is {shown(found)}", "write a multiple of 8, as the format says")
        return found

    def _tensors(self, count: int, alignment: int) -> dict[str, Stored]:
        """The tensors by name, each where the one before it ends, rounded up to the alignment."""
        found: list[tuple[Stored, int]] = []
        names: set[str] = set()
        for n in range(count):
            self.inside = f"tensor {n}"
            start = self.at
            name = self._text(LONGEST_KEY)
            self.inside = f"tensor {shown(name)}"
            if name in names:
                raise self.fail("two tensors have one name", at=start)
            names.add(name)
            found.append(self._tensor(name))
        base = _up(self.at, alignment)
        stored: dict[str, Stored] = {}
        expected = 0
        for one, entry in found:
            self.inside = f"tensor {shown(one.name)}"
            if one.offset != expected:
                raise self.fail(
                    f"the tensor starts at {one.offset} of the data, not at {expected} where the one before it ends",
                    f"{AGAIN}, its tensors in order and aligned to {alignment} bytes",
                    at=entry,
                )
            if base + one.offset + one.size > len(self.data):
                raise self.fail(
                    f"the tensor ends at byte {base + one.offset + one.size}, but the file has {len(self.data)}",
                    f"{AGAIN}; was it cut short?",
                    at=entry,
                )
            expected = _up(one.offset + one.size, alignment)
            offset = min(base + one.offset, len(self.data))
            stored[one.name] = Stored(one.name, one.type, one.dtype, one.shape, offset, one.size, one.file)
        return stored

    def _tensor(self, name: str) -> tuple[Stored, int]:
        """One tensor, its offset still counted from the start of the data; and the byte at which that offset stands."""
        axes = self._number("<u4")
        if axes > MOST_AXES:
            raise self.fail(f"a tensor of {axes} axes, more than {MOST_AXES}", at=self.at - 4)
        start = self.at
        shape: tuple[int, ...] = tuple(self._number("<u8") for _ in range(axes))[::-1]
        kind = self._number("<u4")
        total = elements(shape)
        if total is None or total > len(self.data) * 256:
            raise self.fail(
                f"a tensor of shape {list(shape)} in a file of {len(self.data)} bytes", f"{AGAIN}; was it cut short?",
                at=start,
            )  # fmt: skip
        if kind in PLAIN:
            type, dtype, size = PLAIN[kind]
            return Stored(name, type, dtype, shape, self._number("<u8"), total * size, self.path), self.at - 8
        if kind not in BLOCKS:
            raise self.fail(
                f"there is no type {kind} of elements", f"{AGAIN} with types of this version of the format",
                at=self.at - 4,
            )  # fmt: skip
        type, block, size = BLOCKS[kind]
        if not shape or shape[-1] % block:
            raise self.fail(
                f"rows of {shape[-1] if shape else 1} elements are no whole blocks of {type}, which have {block}",
                at=start,
            )
        seen = (*shape[:-1], shape[-1] // block * size)
        return Stored(name, type, "u8", seen, self._number("<u8"), total // block * size, self.path), self.at - 8


def _up(n: int, alignment: int) -> int:
    """`n` rounded up to a multiple of the alignment."""
    return -(-n // alignment) * alignment
