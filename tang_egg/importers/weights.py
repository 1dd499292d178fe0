"""Tensors that lie in files: a mapping from names to read-only arrays on the mapped file, without a copy.

`open` tells by the first bytes whether a file is safetensors or GGUF, and by its name whether it is the index of a
sharded model. What a reader of either format finds is a `Stored` for every tensor; `Weights` is the same for all.

Model files are data: nothing in them is executed, and a reader checks every count, offset and length against the size
of the file before it allocates or loops. Time and memory are bounded by the size of the header; data is read when an
array is used. A file that another process cuts short while it is mapped ends this process, as with every mapped file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tang_egg.affine import affine
from tang_egg.errors import InputError
from tang_egg.importers.json_text import shown
from tang_egg.ir import Input

K = TypeVar("K")
V = TypeVar("V")
Value: TypeAlias = "bool | int | float | str | NDArray[Any] | tuple[Value, ...]"
"""What metadata may hold: numbers, texts, arrays of numbers (views on the file) and tuples of these."""

VIEWS = {
    "f16": "<f2", "f32": "<f4", "f64": "<f8", "bf16": "<u2", "bool": "|b1", "i8": "|i1", "i16": "<i2", "i32": "<i4",
    "i64": "<i8", "u8": "|u1", "u16": "<u2", "u32": "<u4", "u64": "<u8", "f8e4m3": "|u1",
    "f8e5m2": "|u1",
}  # fmt: skip
"""The NumPy type of a view on elements of a type of the language. bf16 and floats of 8 bits are seen as
their bits, as compiled programs do."""

MOST_AXES = 32
"""Axes that an array may have in every NumPy that is supported."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One tensor of a file: `shape` and `dtype` are those of the view, `type` is its type in the format's own words.

    `dtype` is a type of the language, or "" where the language has none for it and only `Weights.raw` gives the bytes.
    `offset` and `size` are in bytes, from the start of the file.
    """

    name: str
    type: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    size: int
    file: Path


@dataclass(frozen=True, slots=True)
class Weights(Mapping[str, "NDArray[Any]"]):
    """The tensors of a file by name. Iteration is in the order of the file, for a sharded model in that of the index.

    An array is a read-only view on the mapped file; bf16 comes as uint16 bits, quantised GGUF tensors as uint8 blocks
    [..., rows, bytes of a row]. All of them can be given to a compiled program as they are.
    """

    path: Path
    metadata: Mapping[str, Value]
    stored: Mapping[str, Stored]
    _maps: Mapping[Path, NDArray[np.uint8]] = field(repr=False)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """The view of one tensor. Raises InputError for an unknown name and a type that the language lacks."""
        one = self.find(name)
        if not one.dtype:
            raise _no_such_type(one)
        raw = self.raw(name)
        if one.dtype == "bool" and raw.size and int(raw.max()) > 1:
            at = int(np.argmax(raw > 1))
            raise InputError(
                f"a bool is stored as {int(raw[at])}",
                where=f"tensor {shown(name)}, byte {one.offset + at} of {one.file}",
                mend="write 0 or 1 for bools; or read the bytes by raw() and compare them with 0",
            )
        return raw.view(VIEWS[one.dtype]).reshape(one.shape)

    def __contains__(self, name: object) -> bool:
        return name in self.stored

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)

    def find(self, name: str) -> Stored:
        """Where a tensor lies and what it is. Raises InputError for an unknown name."""
        if name not in self.stored:
            raise InputError(
                f"there is no tensor {shown(name)}",
                where=f"{self.path}, which has {len(self.stored)} tensors",
                mend=f"the names start with: {', '.join(n[:80] for n in sorted(self.stored)[:4]) or 'none'}",
            )
        return self.stored[name]

    def raw(self, name: str) -> NDArray[np.uint8]:
        """The bytes of one tensor, of every type of the format, as a read-only view [size]."""
        one = self.find(name)
        return self._maps[one.file][one.offset : one.offset + one.size]

    def type(self, name: str) -> str:
        """The type of a tensor in the format's own words: "BF16", "Q4_K"."""
        return self.find(name).type

    def declarations(self, rename: Callable[[str], str] | None = None) -> dict[str, Input]:
        """An input with shape and element type for every tensor, by the tensor's name. Reads no data.

        `rename` gives the inputs' names (default: `identifier`). Raises InputError where two names become one, and for
        a type that the language lacks.
        """
        rename = identifier if rename is None else rename
        check_distinct(self.path, self.stored, rename)
        return {name: declaration(one, rename) for name, one in self.stored.items()}

    def arrays(self, names: Iterable[str] | None = None, rename: Callable[[str], str] | None = None) -> dict[str, Any]:
        """The views of some tensors (default: all) by the names of their inputs: what a call `compiled(**…)` takes."""
        rename = identifier if rename is None else rename
        wanted = list(self.stored if names is None else names)
        check_distinct(self.path, wanted, rename)
        return {rename(n): self[n] for n in wanted}


def open(path: str | Path) -> Weights:
    """The tensors of a safetensors or GGUF file, or of the sharded model whose `….safetensors.index.json` is given.

    Raises InputError when the file is missing, of neither format, or damaged.
    """
    from tang_egg.importers import gguf, safetensors

    if str(path).endswith(".json"):
        return safetensors.open(path)
    start = bytes(mapped(path, "give the path of a safetensors or GGUF file")[:4])
    return gguf.open(path) if start == gguf.MAGIC else safetensors.open(path)


def identifier(name: str) -> str:
    """The name of the input for a tensor of a file: `encoder.layer.0.bias` gives `encoder_layer_0_bias`."""
    plain = re.sub(r"\W", "_", name)
    return plain if plain.isidentifier() else f"_{plain}"


def declaration(one: Stored, rename: Callable[[str], str] = identifier) -> Input:
    """The input that takes a tensor. Raises InputError for a type that the language lacks."""
    if not one.dtype:
        raise _no_such_type(one)
    return Input(rename(one.name), tuple(affine(n) for n in one.shape), one.dtype)


def _no_such_type(one: Stored) -> InputError:
    return InputError(
        f"elements of type {one.type} are not supported",
        where=f"tensor {shown(one.name)} of {one.file}",
        mend=f"read its bytes by raw(), or convert the tensor to one of: {', '.join(VIEWS)}",
    )


def check_distinct(path: str | Path, names: Iterable[str], rename: Callable[[str], str]) -> None:
    """Raises InputError where two tensors would get one input."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(rename(name), name)
        if other != name:
            raise InputError(
                f"{shown(other)} and {shown(name)} both become {shown(rename(name))}",
                where=str(path),
                mend="give `rename` a function that keeps them apart",
            )


def mapped(path: str | Path, mend: str) -> NDArray[np.uint8]:
    """The bytes of a file as a read-only array on its map.

    Raises InputError when there is no such file, it is a folder, device or pipe, it is empty, or it cannot be opened.
    """
    at = Path(path)
    try:
        # looked at before it is opened: opening a pipe would wait for a writer
        if not at.is_file():
            said = "this is no regular file" if at.exists() else "there is no such file"
            raise InputError(said, where=str(path), mend=mend)
        if at.stat().st_size == 0:
            raise InputError("the file is empty", where=str(path), mend="fetch it again")
        return np.asarray(np.memmap(at, np.uint8, "r"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"the file cannot be opened: {getattr(error, 'strerror', None) or error}",
            where=str(path),
            mend="check the path and the file's permissions",
        ) from None


def elements(shape: tuple[int, ...]) -> int | None:
    """The number of elements, or None where NumPy cannot count them even with axes of extent 0 left out."""
    if any(n >= 2**63 for n in shape):
        return None
    total = 1
    for n in shape:
        total *= n or 1
        if total >= 2**59:  # of 8 bytes each, that is half of what an address can say
            return None
    return prod(shape)


def frozen(found: dict[K, V]) -> Mapping[K, V]:
    """A mapping that nobody can change."""
    return MappingProxyType(found)
