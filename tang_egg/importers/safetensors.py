"""Weights from safetensors files, as arrays and as declarations of inputs.

Reading is left to the `safetensors` library (extra `models`), which checks the header against the file. Names in such
files are paths such as `encoder.layer.0.output.dense.weight`; inputs of a graph have identifiers for names, so every
character that an identifier cannot have becomes an underscore.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tang_egg.affine import affine
from tang_egg.errors import InputError
from tang_egg.ir import Input

if TYPE_CHECKING:
    from numpy.typing import NDArray

DTYPES = {
    "F64": "f64", "F32": "f32", "F16": "f16", "BF16": "bf16", "BOOL": "bool",
    "I64": "i64", "I32": "i32", "I16": "i16", "I8": "i8", "U64": "u64", "U32": "u32", "U16": "u16", "U8": "u8",
}  # fmt: skip
"""The element types of the format that the language has, by their name there."""


def identifier(name: str) -> str:
    """The name of the input for a tensor of a file: `encoder.layer.0.bias` gives `encoder_layer_0_bias`."""
    plain = re.sub(r"\W", "_", name)
    return plain if plain.isidentifier() else f"_{plain}"


def declarations(path: str | Path) -> dict[str, Input]:
    """An input with shape and element type for every tensor of the file, by the tensor's name. Reads no data.

    Raises InputError when the file or the library is missing, the file is damaged, or a type is not supported.
    """
    with _open(path) as file:
        found = {name: _declaration(path, name, file.get_slice(name)) for name in _names(file)}
    _check_distinct(path, found)
    return found


def arrays(
    path: str | Path, names: Iterable[str] | None = None, rename: Callable[[str], str] = identifier
) -> dict[str, NDArray[Any]]:
    """The tensors of the file (all, or those in `names`) as arrays that own their memory, by `rename(name)`.

    A bf16 tensor comes as float32 of the same values, since NumPy has no such type.
    Raises InputError as `declarations` does, and for a name that the file lacks.
    """
    with _open(path) as file:
        known = _names(file)
        wanted = known if names is None else list(names)
        missing = [n for n in wanted if n not in known]
        if missing:
            raise InputError(
                f"there is no tensor '{missing[0]}'",
                where=f"{path}, which has {len(known)} tensors",
                mend=f"the names start with: {', '.join(known[:4])}",
            )
        found = {n: _array(path, file, n) for n in wanted}
    _check_distinct(path, found, rename)
    return {rename(n): a for n, a in found.items()}


def _open(path: str | Path) -> Any:
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise InputError(
            "the library safetensors is not installed", where=str(path), mend="pip install 'tang_egg[models]'"
        ) from None
    if not Path(path).is_file():
        raise InputError("there is no such file", where=str(path), mend="give the path of a .safetensors file")
    try:
        return safe_open(str(path), framework="numpy")
    except (SafetensorError, OSError) as error:
        raise InputError(
            f"the file is no readable safetensors file: {error}", where=str(path), mend="fetch it again"
        ) from None


def _names(file: Any) -> list[str]:
    return sorted(file.keys())


def _declaration(path: str | Path, name: str, view: Any) -> Input:
    dtype = DTYPES.get(str(view.get_dtype()))
    if dtype is None:
        raise InputError(
            f"elements of type {view.get_dtype()} are not supported",
            where=f"tensor '{name}' of {path}",
            mend=f"convert the tensor to one of: {', '.join(DTYPES)}",
        )
    return Input(identifier(name), tuple(affine(int(n)) for n in view.get_shape()), dtype)


def _array(path: str | Path, file: Any, name: str) -> NDArray[Any]:
    declared = _declaration(path, name, file.get_slice(name))
    if declared.dtype != "bf16":
        return np.array(file.get_tensor(name))
    shape = tuple(s.value or 0 for s in declared.shape)
    bits = np.frombuffer(_raw(path, name), np.dtype("<u2")).reshape(shape)
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _raw(path: str | Path, name: str) -> bytes:
    """The bytes of one tensor, for types that NumPy lacks. `safe_open` has checked the offsets against the file."""
    with Path(path).open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        start, end = json.loads(file.read(length))[name]["data_offsets"]
        file.seek(8 + length + start)
        return file.read(end - start)


def _check_distinct(path: str | Path, names: Iterable[str], rename: Callable[[str], str] = identifier) -> None:
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(rename(name), name)
        if other != name:
            raise InputError(
                f"'{other}' and '{name}' both become '{rename(name)}'",
                where=str(path),
                mend="give `rename` a function that keeps them apart",
            )
