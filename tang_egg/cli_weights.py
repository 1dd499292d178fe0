"""Weights that a command line names: arrays of a file for the inputs of a graph, by their names.

Files are data: nothing in them is executed, and an array is read only when its header fits the declared input.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np

from tang_egg.errors import InputError
from tang_egg.importers import weights
from tang_egg.ir import Graph, Input
from tang_egg.run_arrays import BITS, NUMPY

_MEND = "write it by np.savez(file, **arrays)"


def read_weights(path: str, graph: Graph) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays of a .npz, safetensors or GGUF file whose names are those of inputs; others are left alone.

    Raises InputError for a file that cannot be read, an array that does not fit its input, and when nothing fits.
    """
    inputs = {i.name: i for i in graph.inputs}
    if path.endswith(".npz"):
        found = _of_npz(path, inputs)
    else:
        opened = weights.open(path)
        names = [n for n in opened if weights.identifier(n) in inputs]
        found = dict(opened.arrays(names))
    if not found:
        raise InputError(
            f"no array of the file has the name of an input of graph '{graph.name}'",
            where=path,
            mend=f"the inputs are: {', '.join(inputs)}",
        )
    return found


def _of_npz(path: str, inputs: dict[str, Input]) -> dict[str, np.ndarray[Any, Any]]:
    if not Path(path).is_file():
        raise InputError("there is no such file", where=path, mend="give the path of a .npz file")
    found: dict[str, np.ndarray[Any, Any]] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                name = info.filename.removesuffix(".npy")
                if name in inputs and name != info.filename:
                    with archive.open(info) as member:
                        found[name] = _array(path, info, member, inputs[name])
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError, OSError) as error:
        said = " ".join(str(error).split())[:160]
        raise InputError(f"the file is no readable .npz file: {said}", where=path, mend=_MEND) from None
    return found


def _array(path: str, info: zipfile.ZipInfo, member: IO[bytes], declared: Input) -> np.ndarray[Any, Any]:
    """An array whose header fits its input, so that it is no larger than what was declared or what the file holds."""
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    number = np.lib.format.read_magic(member)
    if number not in read:
        raise ValueError(f"'{info.filename}' is in version {number} of the .npy format")
    shape, by_column, kind = read[number](member)
    sizes = [s.value for s in declared.shape]
    fits = len(shape) == len(sizes) and all(s is None or s == n for s, n in zip(sizes, shape, strict=True))
    wide = declared.dtype in BITS and kind == np.dtype("float32")
    if not fits or not (kind == np.dtype(NUMPY[declared.dtype]) or wide):
        raise InputError(
            f"the array '{declared.name}' is {kind}{list(shape)}",
            where=path,
            mend=f"input '{declared.name}' takes {declared.dtype}[{', '.join(map(str, declared.shape))}]",
        )
    count = int(np.prod(shape, dtype=object)) if shape else 1
    if None in sizes and info.compress_type != zipfile.ZIP_STORED:
        raise InputError(
            f"the array '{declared.name}' is compressed, and its input leaves its size open",
            where=path,
            mend="write it by np.savez, not savez_compressed, or bind the dims: --bind",
        )
    data = member.read(count * kind.itemsize)
    if len(data) != count * kind.itemsize or member.read(1):
        raise ValueError(f"'{info.filename}' has another size than its header says")
    return np.frombuffer(data, kind).reshape(shape, order="F" if by_column else "C")
