"""The file of an artefact: a zip whose bytes depend on its content alone, read without trust in what it says.

Members are stored uncompressed, in order of their names, with one fixed date, and start at multiples of 64 bytes, so
that arrays can be mapped. Since nothing is compressed, what a reader holds is never larger than the file: sizes are
checked before anything is read.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from tang_egg import files
from tang_egg.errors import ArtefactError

ALIGNED = 64
"""Bytes to which the data of every member is aligned."""
MOST = 100_000
"""Members that a file may have."""

_DATE = (1980, 1, 1, 0, 0, 0)
_PADDING = 0xD935
"""The identifier of an extra field that only fills space."""
_HEADER = 30
_AGAIN = "fetch it again, or save it again"

Bytes = bytes | memoryview


def write_zip(path: Path, members: Mapping[str, Bytes]) -> None:
    """Writes a file that is complete or is not there. Raises ArtefactError when it cannot be written."""
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(members):
            data = members[name]
            size = data.nbytes if isinstance(data, memoryview) else len(data)
            info = zipfile.ZipInfo(name, _DATE)
            info.create_system, info.external_attr, info.file_size = 3, 0o644 << 16, size
            info.extra = _padding(file.tell() + _HEADER + len(name.encode()) + 20 * _is_large(size))
            with archive.open(info, "w", force_zip64=_is_large(size)) as member:
                member.write(data)


def _is_large(size: int) -> bool:
    return size > zipfile.ZIP64_LIMIT // 2


def _padding(start: int) -> bytes:
    """An extra field after which data that would start at `start` is aligned."""
    length = -(start + 4) % ALIGNED
    return struct.pack("<HH", _PADDING, length) + bytes(length)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """`files.replacing`, which replaces no device and no pipe.

    Raises ArtefactError when it cannot be written; then `path` is as it was.
    """
    if path.exists() and not path.is_file():
        raise ArtefactError(
            f"cannot write '{path}': it is no regular file", where=str(path), mend="give the path of a file"
        )
    try:
        with files.replacing(path) as file:
            yield file
    except OSError as error:
        raise ArtefactError(
            f"cannot write '{path}': {error.strerror or error}",
            where=str(path),
            mend="give a file in a folder that you may write to and that has room",
        ) from None


@dataclass(frozen=True, slots=True)
class Member:
    """Where the bytes of a member lie in the file, and their CRC-32."""

    offset: int
    size: int
    crc: int


@dataclass(frozen=True, slots=True)
class Archive:
    """The checked directory of a file. Its members are read when they are asked for."""

    path: Path
    members: Mapping[str, Member]
    _map: np.ndarray[Any, np.dtype[np.uint8]] = field(repr=False)

    def read(self, name: str) -> bytes:
        """A copy of the bytes of a member. Raises ArtefactError when the file lacks it or they were damaged."""
        found = self.view(name).tobytes()
        if zlib.crc32(found) != self.members[name].crc:
            raise damaged(self.path, f"its member '{name}' is not what was written")
        return found

    def view(self, name: str) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The bytes of a member on the mapped file, read-only."""
        if name not in self.members:
            raise damaged(self.path, f"its member '{name}' is missing")
        m = self.members[name]
        return self._map[m.offset : m.offset + m.size]

    def hash(self, name: str) -> str:
        """The SHA-256 of a member, in hexadecimal digits."""
        return hashlib.sha256(self.view(name).data).hexdigest()


def as_path(path: object) -> Path:
    """A path that may be given to the system. Raises ArtefactError for what is none."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str) or "\0" in str(path):
        raise ArtefactError(f"{path!r} is no path of a file", where="a path", mend="give a str or a pathlib.Path")
    return Path(path)


def damaged(path: Path, what: str, mend: str = _AGAIN) -> ArtefactError:
    """The error of a file that cannot be an artefact as it was written."""
    return ArtefactError(f"the artefact is damaged: {what}", where=str(path), mend=mend)


def read_zip(path: Path) -> Archive:
    """The members of a file, none of them read yet.

    Raises ArtefactError when there is no such file, it is no zip, or its directory promises what the file cannot hold.
    """
    if not path.is_file():
        said = "this is no regular file" if path.exists() else "there is no such file"
        raise ArtefactError(said, where=str(path), mend="give the path of a file that Compiled.save wrote")
    try:
        with path.open("rb") as file:  # opened once: another process may replace the file at any time
            with zipfile.ZipFile(file) as archive:
                infos = archive.infolist()
            held = np.asarray(np.memmap(file, np.uint8, "r"))
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError, UnicodeDecodeError, struct.error) as error:
        raise damaged(path, f"it is no complete zip file ({error})") from None
    except OSError as error:
        raise ArtefactError(
            f"cannot read '{path}': {error.strerror or error}", where=str(path), mend="give a readable file"
        ) from None
    if len(infos) > MOST:
        raise damaged(path, f"it has {len(infos)} members")
    if sum(max(i.file_size, i.compress_size) for i in infos) > held.size:
        raise damaged(path, f"its members claim more bytes than its {held.size}")
    members: dict[str, Member] = {}
    for info in infos:
        if info.filename in members:
            raise damaged(path, f"it has two members '{info.filename}'")
        members[info.filename] = _member(path, info, held)
    return Archive(path, members, held)


def _member(path: Path, info: zipfile.ZipInfo, held: np.ndarray[Any, Any]) -> Member:
    """The place of a member. Its own header must agree with the directory."""
    name, start = info.filename, info.header_offset
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size or info.flag_bits & 1:
        raise damaged(path, f"its member '{name}' is compressed or encrypted", "save it again; do not repack the file")
    header = held[start : start + _HEADER].tobytes() if start >= 0 else b""
    if len(header) < _HEADER or header[:4] != b"PK\x03\x04":
        raise damaged(path, f"its member '{name}' has no header")
    words, extra = struct.unpack("<HH", header[26:30])
    offset = start + _HEADER + words + extra
    if offset + info.file_size > held.size:
        raise damaged(path, f"its member '{name}' ends beyond the file")
    return Member(offset, info.file_size, info.CRC)
