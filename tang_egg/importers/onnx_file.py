"""Reading ONNX files: the protocol buffer, tensors within it and beside it, checked before anything is allocated.

A model file is data: nothing in it is executed, its tensors may lie only in the folder of the model or below it, and
every count and offset is compared with the bytes that are there.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from tang_egg.errors import InputError
from tang_egg.importers.onnx_value import ELEMENTS, LARGEST, Array, Known, broken, element_type
from tang_egg.importers.weights import MOST_AXES, VIEWS

FIELDS = {
    "f32": "float_data", "f64": "double_data", "i64": "int64_data", "u64": "uint64_data", "u32": "uint64_data",
} | dict.fromkeys(("f16", "bf16", "bool", "i8", "i16", "i32", "u8", "u16"), "int32_data")  # fmt: skip
"""Where a tensor that has no bytes holds its elements."""

DEEPEST = 24
"""Graphs may stand within each other so many levels deep; protocol buffers end near 33."""


@dataclass(frozen=True, slots=True)
class File:
    """A model as it was read. `name` says where from; tensors outside it lie in `folder`, if there is one."""

    model: Any
    name: str
    folder: Path | None


def package() -> Any:
    """The package onnx. Raises InputError where it is not installed."""
    try:
        import onnx
        import onnx.defs
    except ImportError:
        raise InputError(
            "reading ONNX files needs the package onnx", where="from_onnx", mend="pip install 'tang_egg[onnx]'"
        ) from None
    return onnx


def read(source: object) -> File:
    """The model in a file, in bytes, or as a ModelProto. Raises InputError when there is none."""
    onnx = package()
    if isinstance(source, onnx.ModelProto):
        return _checked(File(source, "a ModelProto", None))
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _checked(File(_parsed(onnx, bytes(source), "bytes"), "bytes", None))
    if not isinstance(source, (str, os.PathLike)):
        raise InputError(
            f"a value of type {type(source).__name__} is no ONNX model",
            where="from_onnx",
            mend="give the path of a .onnx file, its bytes, or an onnx.ModelProto",
        )
    at = Path(os.fsdecode(source))
    try:
        # looked at before it is opened: opening a pipe would wait for a writer
        if not at.is_file():
            said = "this is no regular file" if at.exists() else "there is no such file"
            raise InputError(said, where=str(at), mend="give the path of a .onnx file")
        data = at.read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(
            f"the file cannot be read: {getattr(error, 'strerror', None) or error}",
            where=str(at),
            mend="check the path and the file's permissions",
        ) from None
    return _checked(File(_parsed(onnx, data, str(at)), str(at), at.parent))


def _parsed(onnx: Any, data: bytes, name: str) -> Any:
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    try:
        return onnx.ModelProto.FromString(data)
    except (DecodeError, ValueError, RecursionError) as error:
        raise broken(
            f"the bytes are no ONNX model: {' '.join(str(error).split())[:200] or 'they cannot be decoded'}",
            name,
            "fetch the file again; is it a .onnx file, and is it complete?",
        ) from None


def _check_texts(file: File) -> None:
    """Raises InputError for a text that is no UTF-8, which the package gives as bytes."""
    stack: list[Any] = [file.model]
    while stack:
        for field, value in stack.pop().ListFields():
            if field.type not in (field.TYPE_STRING, field.TYPE_MESSAGE):
                continue
            one = isinstance(value, (str, bytes)) or hasattr(value, "ListFields")
            several = [value] if one else value
            if field.type == field.TYPE_MESSAGE:
                stack.extend(several)
            elif any(isinstance(v, bytes) for v in several):
                raise broken("a text is no UTF-8", f"{field.full_name}, {file.name}", "fetch the file again")


def _checked(file: File) -> File:
    _check_texts(file)
    if not file.model.HasField("graph") or not file.model.graph.output:
        raise broken("the model has no graph with outputs", file.name, "fetch the file again; is it a .onnx file?")
    if not file.model.opset_import:
        raise broken("the model does not say which operator set it uses", file.name, "export it with a version of onnx")
    stack = [(file.model.graph, 1)]
    while stack:
        at, depth = stack.pop()
        if depth > DEEPEST:
            raise broken(f"graphs stand within each other more than {DEEPEST} levels deep", file.name)
        for n in at.node:
            for a in n.attribute:
                stack += [(g, depth + 1) for g in ([a.g] if a.HasField("g") else [])]
                stack += [(g, depth + 1) for g in a.graphs]
    return file


def tensor(proto: Any, file: File, where: str) -> Known:
    """A tensor of the file. Raises InputError where its bytes do not fit its shape, Unsupported for its type."""
    label = f"{where}, {file.name}"
    if proto.HasField("segment"):
        raise broken("a tensor is cut into segments", label, "export it in one piece")
    dtype = element_type(proto.data_type, f"tensor '{proto.name}'")
    shape = tuple(proto.dims)
    if len(shape) > MOST_AXES or any(n < 0 for n in shape):
        raise broken(f"a tensor has the shape {shape[:40]}", label)
    count = prod(shape)
    if proto.data_location == 1:
        array = _external(proto, file, label, dtype, count)
    elif proto.HasField("raw_data"):
        array = _of_bytes(proto.raw_data, dtype, count, label)
    else:
        array = _of_field(proto, dtype, count, label)
    return Known(_held(array, dtype, label).reshape(shape), dtype, proto.name or "constant")


def _of_bytes(data: bytes, dtype: str, count: int, label: str) -> Array:
    stored = np.dtype(VIEWS[dtype])
    if len(data) != count * stored.itemsize:
        raise broken(f"a tensor of {count} elements of {dtype} has {len(data)} bytes", label)
    return np.frombuffer(data, stored)


def _of_field(proto: Any, dtype: str, count: int, label: str) -> Array:
    values = getattr(proto, FIELDS[dtype])
    if len(values) != count:
        raise broken(f"a tensor of {count} elements of {dtype} holds {len(values)}", label)
    if dtype in ("f16", "bf16"):
        bits = np.array(values, np.int64)
        if count and not (int(bits.min()) >= 0 and int(bits.max()) < 1 << 16):
            raise broken(f"an element of {dtype} does not fit 16 bits", label)
        return bits.astype(np.uint16).view(VIEWS[dtype])
    wide = np.array(values, np.uint64 if dtype in ("u32", "u64") else None)
    with np.errstate(all="ignore"):
        narrow = wide.astype(np.dtype(VIEWS[dtype]))
    if dtype[0] in "iu" and not (narrow.astype(wide.dtype) == wide).all():
        raise broken(f"an element does not fit {dtype}", label)
    return narrow


def _held(array: Array, dtype: str, label: str) -> Array:
    """The elements in the type in which known arrays are held."""
    if dtype == "bf16":
        return (array.astype(np.uint32) << np.uint32(16)).view(np.float32)
    if dtype == "bool" and array.size and int(array.view(np.uint8).max()) > 1:
        raise broken("a bool is stored as another number than 0 and 1", label)
    native = array.dtype.newbyteorder("=")
    return array if sys.byteorder == "little" else array.astype(native)


def _external(proto: Any, file: File, label: str, dtype: str, count: int) -> Array:
    """A tensor that lies in another file of the model's folder, as a map of it."""
    entries = {e.key: e.value for e in proto.external_data}
    if file.folder is None:
        raise broken("a tensor lies in another file, but the model was not read from one", label,
                     "give the path of the model")  # fmt: skip
    location = entries.get("location", "")
    path = _inside(file.folder, location)
    if path is None:
        raise broken(
            f"a tensor is said to lie in {location!r}, which is not inside the model's folder",
            label,
            "move the file beside the model and give its plain name",
        )
    size = count * np.dtype(VIEWS[dtype]).itemsize
    try:
        there = path.stat().st_size if path.is_file() else None
    except (OSError, ValueError):
        there = None
    if there is None:
        raise broken(f"a tensor lies in {location!r}, but there is no such file", label, "fetch it too")
    offset, length = (_count(entries.get(k, d), label) for k, d in (("offset", "0"), ("length", str(size))))
    if length != size or offset + size > there:
        raise broken(
            f"a tensor of {size} bytes is said to be {length} from byte {offset} of {location!r}, which has {there}",
            label,
        )
    if not size:
        return np.empty(0, np.dtype(VIEWS[dtype]))
    try:
        return np.asarray(np.memmap(path, np.dtype(VIEWS[dtype]), "r", offset, (count,)))
    except (OSError, ValueError) as error:
        raise broken(f"{location!r} cannot be opened: {error}", label, "check the file's permissions") from None


def sparse(proto: Any, file: File, where: str) -> Known:
    """A sparse tensor of the file with its zeros. Raises as `tensor` does, and InputError for one that is too large."""
    values, indices = tensor(proto.values, file, where), tensor(proto.indices, file, where)
    label, shape = f"{where}, {file.name}", tuple(proto.dims)
    count = prod(shape)
    if len(shape) > MOST_AXES or any(n < 0 for n in shape) or count > max(LARGEST, 64 * values.array.size):
        raise broken(f"a sparse tensor of {values.array.size} elements has the shape {shape[:40]}", label)
    at, n = indices.array, values.array.size
    if values.array.ndim != 1 or indices.dtype != "i64" or at.shape not in ((n,), (n, len(shape))):
        raise broken(f"a sparse tensor of {n} elements has indices of shape {at.shape}", label)
    limits = np.array(shape if at.ndim == 2 else count, np.int64)
    if n and not ((at >= 0).all() and (at < limits).all()):
        raise broken("an index of a sparse tensor lies outside it", label)
    dense = np.zeros(shape, values.array.dtype)
    if at.ndim == 2:
        dense[tuple(at.T)] = values.array
    else:
        dense.reshape(-1)[at] = values.array
    return Known(dense, values.dtype, values.name)


def _inside(folder: Path, location: str) -> Path | None:
    """The file of that name, links followed, if it lies in the folder or below it."""
    if not location or "\0" in location or Path(location).is_absolute():
        return None
    try:
        root = folder.resolve()
        path = (root / location).resolve()
    except (OSError, ValueError, RuntimeError):
        return None
    return path if root in path.parents else None


def _count(text: str, label: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise broken(f"{text!r} is no number of bytes", label)
    return int(text)


def supported(number: int) -> bool:
    """Whether the language has the element type of that number."""
    return number in ELEMENTS
