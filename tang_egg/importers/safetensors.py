"""Weights from safetensors files, single or sharded, as arrays and as declarations of inputs.

    file   ::= length: u64, header: JSON text of that length, data
    header ::= {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ..., "__metadata__": {...}}

All numbers are little-endian. Offsets count from the start of the data, which the tensors fill without gap or overlap.
A sharded model is a folder of such files with an index: {"metadata": {...}, "weight_map": {"name": "file", ...}}.

Names in such files are paths such as `encoder.layer.0.output.dense.weight`; inputs of a graph have identifiers for
names, so every character that an identifier cannot have becomes an underscore.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tang_egg.errors import InputError
from tang_egg.importers.json_text import LARGEST, read_object, shown
from tang_egg.importers.weights import (
    MOST_AXES,
    Stored,
    Value,
    Weights,
    check_distinct,
    declaration,
    elements,
    frozen,
    identifier,
    mapped,
)
from tang_egg.ir import Input
from tang_egg.ops_eight import EIGHT, numbers_of

__all__ = ["DTYPES", "arrays", "declarations", "identifier", "open"]

DTYPES = {
    "F64": "f64", "F32": "f32", "F16": "f16", "BF16": "bf16", "BOOL": "bool",
    "I64": "i64", "I32": "i32", "I16": "i16", "I8": "i8", "U64": "u64", "U32": "u32", "U16": "u16", "U8": "u8",
    "F8_E4M3": "f8e4m3", "F8_E5M2": "f8e5m2",
}  # fmt: skip
"""The element types of the format that the language has, by their name there."""

BITS = {
    "F64": 64, "I64": 64, "U64": 64, "C64": 64, "F32": 32, "I32": 32, "U32": 32, "F16": 16, "BF16": 16, "I16": 16,
    "U16": 16, "BOOL": 8, "I8": 8, "U8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8, "F6_E2M3": 6, "F6_E3M2": 6, "F4": 4,
}  # fmt: skip
"""Bits of one element for every type of the format."""

MEND = "give the path of a .safetensors file"
AGAIN = "fetch or write the file again"


def open(path: str | Path) -> Weights:
    """The tensors of a file, or of all shards when `path` is the index of a sharded model (`….index.json`).

    Raises InputError when a file is missing, damaged or no safetensors file.
    """
    return _sharded(Path(path)) if str(path).endswith(".json") else _single(Path(path))


def declarations(path: str | Path) -> dict[str, Input]:
    """An input with shape and element type for every tensor of the file, by the tensor's name. Reads no data.

    Raises InputError when the file is missing or damaged, or a type is not supported.
    """
    return open(path).declarations()


def arrays(
    path: str | Path, names: Iterable[str] | None = None, rename: Callable[[str], str] = identifier
) -> dict[str, NDArray[Any]]:
    """The tensors of the file (all, or those in `names`) as arrays that own their memory, by `rename(name)`.

    A tensor of bf16 or 8-bit floats comes as float32 of the same values, since NumPy has no such types. `open` gives
    views instead.
    Raises InputError as `declarations` does, and for a name that the file lacks.
    """
    weights = open(path)
    wanted = sorted(weights) if names is None else list(names)
    stored = [weights.find(n) for n in wanted]
    for one in stored:
        declaration(one)
    check_distinct(path, wanted, rename)
    return {rename(one.name): _copied(weights, one) for one in stored}


def _copied(weights: Weights, one: Stored) -> NDArray[Any]:
    view = weights[one.name]
    if one.dtype in EIGHT:
        return np.asarray(numbers_of(view, one.dtype), np.float32)
    if one.dtype != "bf16":
        return view.copy()
    return (view.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _single(path: Path) -> Weights:
    data = mapped(path, MEND)
    text, start = _header(path, data)
    where = f"the header of {path}"
    header = read_object(text, where, 8, AGAIN)
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise InputError("the metadata is no object of texts", where=f"__metadata__ in {where}", mend=AGAIN)
    stored = [_stored(path, name, entry, start, len(data)) for name, entry in header.items()]
    _check_layout(path, stored, start, len(data))
    return Weights(path, frozen(metadata), frozen({s.name: s for s in stored}), frozen({path: data}))


def _header(path: Path, data: NDArray[np.uint8]) -> tuple[bytes, int]:
    """The text of the header, and the byte at which the data starts."""
    size = len(data)
    if size < 8:
        raise InputError(
            f"the file is no readable safetensors file: it has {size} bytes, and its first 8 are to say how long the "
            "header is",
            where=f"byte 0 of {path}",
            mend=AGAIN,
        )
    length = int.from_bytes(data[:8].tobytes(), "little")
    if length > size - 8 or length > LARGEST:
        said = f"only {size - 8} bytes follow" if length > size - 8 else f"the format allows {LARGEST}"
        raise InputError(
            f"the file is no readable safetensors file: its header is said to have {length} bytes, but {said}",
            where=f"bytes 0 to 8 of {path}",
            mend=f"{AGAIN}; is it a safetensors file, and is it complete?",
        )
    text = data[8 : 8 + length].tobytes()
    if not text.startswith(b"{"):
        raise InputError(
            "the file is no readable safetensors file: its header does not start with '{'",
            where=f"byte 8 of {path}",
            mend=f"{AGAIN}; is it a safetensors file?",
        )
    return text, 8 + length


def _stored(path: Path, name: str, entry: object, start: int, end: int) -> Stored:
    """One tensor as the header describes it, its numbers checked against the size of the file."""
    where = f"tensor {shown(name)} in the header of {path}"
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise InputError("the entry of a tensor is no object of dtype, shape and data_offsets", where=where, mend=AGAIN)
    type, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(type, str) or type not in BITS:
        raise InputError(
            f"the format has no element type {shown(type)}", where=where, mend=f"write one of: {', '.join(BITS)}"
        )
    if not _counts(shape) or len(shape) > MOST_AXES:
        raise InputError(
            f"the shape is no list of at most {MOST_AXES} whole numbers from 0: {shown(shape)}", where=where, mend=AGAIN
        )
    if not _counts(offsets) or len(offsets) != 2 or not offsets[0] <= offsets[1] <= end - start:
        raise InputError(
            f"the offsets are no two bytes of the data in rising order: {shown(offsets)}",
            where=f"{where}; the data has {end - start} bytes",
            mend=f"{AGAIN}; was it cut short?",
        )
    count, size = elements(tuple(shape)), offsets[1] - offsets[0]
    if count is None or count * BITS[type] != 8 * size:
        raise InputError(
            f"{type} of shape {shown(shape)} does not take the {size} bytes from {offsets[0]} to {offsets[1]}",
            where=f"{where}, byte {start + offsets[0]}",
            mend=AGAIN,
        )
    return Stored(name, type, DTYPES.get(type, ""), tuple(shape), start + offsets[0], size, path)


def _counts(numbers: object) -> bool:
    return isinstance(numbers, list) and all(type(n) is int and n >= 0 for n in numbers)


def _check_layout(path: Path, stored: list[Stored], start: int, end: int) -> None:
    """Raises InputError unless the tensors fill the data, each byte once."""
    at, before = start, "the header"
    for one in sorted(stored, key=lambda s: (s.offset, s.size)):
        if one.offset != at:
            what = "overlap" if one.offset < at else f"leave {one.offset - at} bytes between them"
            raise InputError(
                f"{before} and tensor {shown(one.name)} {what}",
                where=f"byte {min(one.offset, at)} of {path}",
                mend=AGAIN,
            )
        at, before = one.offset + one.size, f"tensor {shown(one.name)}"
    if at != end:
        raise InputError(
            f"{end - at} bytes belong to no tensor", where=f"byte {at} of {path}, after {before}", mend=AGAIN
        )


def _sharded(path: Path) -> Weights:
    data = mapped(path, "give the path of a .safetensors.index.json file")
    where = f"the index {path}"
    index = read_object(data[: LARGEST + 1].tobytes(), where, 0, AGAIN)
    places = index.get("weight_map")
    if not isinstance(places, dict):
        raise InputError("the index has no object weight_map", where=where, mend="give the index of a sharded model")
    metadata = index.get("metadata", {})
    if not isinstance(metadata, dict):
        raise InputError("the metadata of the index is no object", where=where, mend=AGAIN)
    shards: dict[str, Weights] = {}
    stored: dict[str, Stored] = {}
    for name, file in places.items():
        if not isinstance(file, str) or not re.fullmatch(r"[^/\\\0]+\.safetensors", file):
            raise InputError(
                f"tensor {shown(name)} is said to lie in {shown(file)}, which is no name of a safetensors file",
                where=f"weight_map of {where}",
                mend="keep all shards in the folder of the index, and name them without a path",
            )
        if file not in shards:
            shards[file] = _single(path.parent / file)
        if name not in shards[file]:
            raise InputError(
                f"tensor {shown(name)} is not in {file}, where the index says that it is", where=where, mend=AGAIN
            )
        stored[name] = shards[file].stored[name]
    maps = {path: data for shard in shards.values() for path, data in shard._maps.items()}
    plain: dict[str, Value] = {k: v for k, v in metadata.items() if isinstance(v, (bool, int, float, str))}
    return Weights(path, frozen(plain), frozen(stored), frozen(maps))
