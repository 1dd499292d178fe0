"""Weights of a C library: the file that holds them, the C that checks and maps it, and arrays of C in its place.

    file    ::= header, entries, data             little-endian; data at multiples of 64 bytes
    header  ::= "TANGWTS\\0", u32 version, u32 count, u64 bytes of the file, u64 model, u32 checksum, u32 of the header
    entry   ::= u64 offset, u64 bytes             one for each weight, in the order of the header file's struct

`model`: the start of the graph's content hash. Both checksums are CRC-32: of all that follows the header, and of the
header up to itself.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tang_egg.errors import ArtefactError
from tang_egg.export_interface import Field, Interface
from tang_egg.ops import BYTES, FLOATS
from tang_egg.run_layout import padded

MAGIC, VERSION = b"TANGWTS\0", 1
HEADER = struct.Struct("<8sIIQQII")
ENTRY = struct.Struct("<QQ")
MOST_EMBEDDED = 64 << 20
"""Bytes of weights that may stand in C source; compilers take minutes and gigabytes for more."""


def offsets(face: Interface) -> tuple[tuple[int, int], ...]:
    """Where each weight lies in the file, and its bytes."""
    found: list[tuple[int, int]] = []
    end = padded(HEADER.size + ENTRY.size * len(face.weights))
    for f in face.weights:
        size = elements(f) * BYTES[f.source.dtype]
        found.append((end, size))
        end = padded(end + size)
    return tuple(found)


def elements(f: Field) -> int:
    """The number of elements of a weight."""
    count = 1
    for extent in f.source.shape:
        if extent.value is None:
            raise ArtefactError(
                f"the weight '{f.source.name}' has the symbolic shape [{', '.join(map(str, f.source.shape))}]",
                where="the C library",
                mend="bind its dims before the graph is optimized: graph.bind(...)",
            )
        count *= extent.value
    return count


def file_size(face: Interface) -> int:
    """Bytes of the file of weights."""
    places = offsets(face)
    return padded(sum(places[-1])) if places else 0


def model_number(graph_hash: str) -> int:
    """What ties a file of weights to the library of a graph."""
    return int(graph_hash[:16], 16)


def weights_bytes(face: Interface, arrays: Mapping[str, np.ndarray[Any, Any]], graph_hash: str) -> bytearray:
    """The file of weights."""
    places, size = offsets(face), file_size(face)
    held = bytearray(size)
    for n, (f, (start, length)) in enumerate(zip(face.weights, places, strict=True)):
        ENTRY.pack_into(held, HEADER.size + n * ENTRY.size, start, length)
        held[start : start + length] = little(arrays[f.source.name]).data.cast("B") if length else b""
    checksum = zlib.crc32(memoryview(held)[HEADER.size :])
    fields = (MAGIC, VERSION, len(places), size, model_number(graph_hash), checksum)
    head = zlib.crc32(HEADER.pack(*fields, 0)[:-4])
    HEADER.pack_into(held, 0, *fields, head)
    return held


def little(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements in C order and little-endian, flat."""
    return np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)).reshape(-1)


def weights_source(face: Interface, embedded: bool) -> Iterator[str]:
    """The functions that give a library its weights. The file is checked whole before any of it is used."""
    name, up = face.name, face.upper
    if embedded:
        yield from (f"extern const {f.type} {name}_weight_{n}[];" for n, f in enumerate(face.weights))
        yield ""
        yield f"int {name}_weights_embedded({name}_weights *weights)"
        yield "{"
        yield f"    if (!weights) return {up}_ERROR_NULL;"
        yield from (f"    weights->{f.member} = {name}_weight_{n};" for n, f in enumerate(face.weights))
        yield f"    return {up}_OK;"
        yield "}"
        return
    yield "static uint32_t crc32_of(const unsigned char *bytes, size_t count)"
    yield from _CRC.splitlines()
    yield ""
    yield f"static const uint64_t weight_places[{len(face.weights)}][2] = {{"
    yield from (f"    {{{start}, {size}}}," for start, size in offsets(face))
    yield "};"
    yield ""
    yield f"int {name}_weights_attach(const void *file, size_t bytes, {name}_weights *weights)"
    yield from _ATTACH.format(
        up=up, version=VERSION, count=len(face.weights), header=HEADER.size, entry=ENTRY.size
    ).splitlines()
    yield from (
        f"    weights->{f.member} = (const {f.type} *)(const void *)(start + weight_places[{n}][0]);"
        for n, f in enumerate(face.weights)
    )
    yield f"    return {up}_OK;"
    yield "}"
    yield ""
    yield f"int {name}_weights_read(const char *path, void *memory, size_t bytes, {name}_weights *weights)"
    yield from _READ.format(up=up, name=name).splitlines()


_CRC = """\
{
    uint32_t table[8][256];
    for (uint32_t n = 0; n < 256; n++) {
        uint32_t c = n;
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xEDB88320u ^ c >> 1 : c >> 1;
        table[0][n] = c;
    }
    for (uint32_t n = 0; n < 256; n++) {
        for (int k = 1; k < 8; k++) table[k][n] = table[0][table[k - 1][n] & 255] ^ table[k - 1][n] >> 8;
    }
    uint32_t c = 0xFFFFFFFFu;
    for (; count >= 8; count -= 8, bytes += 8) {
        c ^= bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
        c = table[7][c & 255] ^ table[6][c >> 8 & 255] ^ table[5][c >> 16 & 255] ^ table[4][c >> 24]
            ^ table[3][bytes[4]] ^ table[2][bytes[5]] ^ table[1][bytes[6]] ^ table[0][bytes[7]];
    }
    for (; count; count--, bytes++) c = table[0][(c ^ *bytes) & 255] ^ c >> 8;
    return c ^ 0xFFFFFFFFu;
}"""

_ATTACH = """\
{{
    const unsigned char *start = file;
    uint32_t version = 0, count = 0, checksum = 0, head = 0;
    uint64_t size = 0, model = 0;
    if (!file || !weights) return {up}_ERROR_NULL;
    if ((uintptr_t)file % 8) return {up}_ERROR_ALIGNMENT;
    if (bytes < {header} || memcmp(start, "TANGWTS", 8)) return {up}_ERROR_WEIGHTS_FORMAT;
    memcpy(&version, start + 8, 4);
    memcpy(&count, start + 12, 4);
    memcpy(&size, start + 16, 8);
    memcpy(&model, start + 24, 8);
    memcpy(&checksum, start + 32, 4);
    memcpy(&head, start + 36, 4);
    if (version != {version}) return {up}_ERROR_WEIGHTS_VERSION;
    if (crc32_of(start, 36) != head) return {up}_ERROR_WEIGHTS_DAMAGED;
    if (model != {up}_MODEL || count != {count}) return {up}_ERROR_WEIGHTS_MODEL;
    if (size != {up}_WEIGHTS_BYTES || bytes < size) return {up}_ERROR_WEIGHTS_DAMAGED;
    if (crc32_of(start + {header}, (size_t)size - {header}) != checksum) return {up}_ERROR_WEIGHTS_DAMAGED;
    for (int n = 0; n < {count}; n++) {{
        uint64_t place[2];
        memcpy(place, start + {header} + {entry} * n, {entry});
        if (place[0] != weight_places[n][0] || place[1] != weight_places[n][1]) return {up}_ERROR_WEIGHTS_MODEL;
    }}"""

_READ = """\
{{
    if (!path || !memory || !weights) return {up}_ERROR_NULL;
    if (bytes < {up}_WEIGHTS_BYTES) return {up}_ERROR_WEIGHTS_MEMORY;
    FILE *file = fopen(path, "rb");
    if (!file) return {up}_ERROR_WEIGHTS_FILE;
    const size_t got = fread(memory, 1, {up}_WEIGHTS_BYTES, file);
    const int failed = ferror(file), more = !failed && fgetc(file) != EOF;
    fclose(file);
    if (failed) return {up}_ERROR_WEIGHTS_FILE;
    if (more) return {up}_ERROR_WEIGHTS_DAMAGED;
    return {name}_weights_attach(memory, got, weights);
}}"""


def embedded_source(face: Interface, arrays: Mapping[str, np.ndarray[Any, Any]]) -> str:
    """NAME_weights.c: every weight as an array of C, bit for bit (a NaN as some NaN).

    Raises ArtefactError for more than MOST_EMBEDDED bytes.
    """
    size = file_size(face)
    if size > MOST_EMBEDDED:
        raise ArtefactError(
            f"{size} bytes of weights are too many for C source",
            where="--embed",
            mend=f"leave it out: up to {MOST_EMBEDDED} bytes can be embedded, more stand in a file",
        )
    lines = [
        f"// The weights of {face.name}. Written by tang-compile.",
        f'#include "{face.name}.h"',
        "",
        "#include <math.h>",
    ]
    for n, f in enumerate(face.weights):
        values = _literals(f.source.dtype, little(arrays[f.source.name]))
        lines += ["", f"extern const {f.type} {face.name}_weight_{n}[];"]
        lines.append(f"_Alignas(64) const {f.type} {face.name}_weight_{n}[{max(1, len(values))}] = {{")
        lines += [f"    {', '.join(values[k : k + 8])}," for k in range(0, len(values), 8)] or ["    0,"]
        lines.append("};")
    return "\n".join(lines) + "\n"


def _literals(dtype: str, values: np.ndarray[Any, Any]) -> Sequence[str]:
    if dtype in ("f32", "f64"):
        suffix = "f" if dtype == "f32" else ""
        return [_float(x, suffix) for x in values.tolist()]
    if dtype in FLOATS:
        return [hex(x) for x in values.view(np.uint16).tolist()]
    if dtype == "i64":
        return ["INT64_MIN" if x == -(2**63) else f"INT64_C({x})" for x in values.tolist()]
    if dtype == "i32":
        return ["INT32_MIN" if x == -(2**31) else str(x) for x in values.tolist()]
    return [str(int(x)) + ("ULL" if dtype == "u64" else "") for x in values.tolist()]


def _float(x: float, suffix: str) -> str:
    if np.isfinite(x):
        return f"{x.hex()}{suffix}"
    word = "NAN" if np.isnan(x) else "INFINITY" if x > 0 else "-INFINITY"
    return word if suffix else f"(double){word}"
