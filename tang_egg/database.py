"""The database of schedules: what was measured to be faster than the code generator's first proposal, one line each.

    entry  ::= place, kernel               where it was measured, and for which kernel at which sizes
               first, schedule, code       what would have run, what runs instead, a hash of what is printed for it
               times, floor, origin        what both took, in turns; and by which version, compiler or driver

One file for each target lies inside of the package, and the user's own in the cache folder, whose entries come first.
All are JSON lines in a fixed order, so that two versions of one differ by the lines of what was measured anew. A file
is replaced whole, under a lock: whoever reads one sees all of it, and of two writers neither loses what the other
wrote. A line that cannot be read is passed by when schedules are looked up, and told when a file is written.
"""

from __future__ import annotations

import dataclasses
import json
import math
import typing
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from filelock import FileLock, Timeout

from tang_egg.errors import InputError, TargetError
from tang_egg.files import cache_root, replacing

SHIPPED = Path(__file__).parent / "schedules"
"""The folder of what is shipped: one file for each target."""
WAIT = 30.0
"""Seconds that another process may hold the lock."""
LARGEST = 64 << 20
"""Bytes of a file, at most."""
Sizes: TypeAlias = "tuple[tuple[str, int], ...]"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a time holds: a target, a device and, on a processor, its vectors in bits and the threads that ran.

    `family`: what processors share that differ in their names only; empty where nothing is known.
    """

    target: str
    device: str
    family: str = ""
    vectors: int = 0
    threads: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """See the module text. All names are canonical ones (kernel_names); seconds are medians but for `least`.

    `kernel`: the key of its content. `what`: program and kernel where it was met, for readers. `revision`: of the code
    generator; `code`: of what it printed. A schedule that is the first proposal says that nothing else is to be taken.
    """

    place: Place
    kernel: str
    sizes: Sizes
    types: str
    what: str
    first: str
    schedule: str
    code: str
    revision: str
    first_seconds: float
    first_spread: float
    seconds: float
    spread: float
    least: float
    floor: float
    runs: int
    version: str
    driver: str
    when: str

    @property
    def key(self) -> Key:
        """What one entry at most stands for."""
        return (self.place, self.kernel, self.sizes)

    @property
    def ratio(self) -> float:
        """How many times as long the first proposal took."""
        return self.first_seconds / self.seconds

    def line(self) -> str:
        """As one line of JSON, without its end."""
        data = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        data["place"] = dataclasses.asdict(self.place)
        data["sizes"] = dict(self.sizes)
        return json.dumps(data, ensure_ascii=False, allow_nan=False)


Key: TypeAlias = "tuple[Place, str, Sizes]"
"""What one entry at most stands for: where, which kernel, at which sizes."""


def entry_of(line: str) -> Entry:
    """The entry of a line, every field checked. Raises ValueError saying what is wrong."""
    data = json.loads(line)
    found = _checked(Entry, data, ("place", "sizes"))
    place = Place(**_checked(Place, data["place"]))
    sizes = data["sizes"]
    if not isinstance(sizes, dict) or not all(type(n) is int and n >= 0 for n in sizes.values()):
        raise ValueError("sizes: no whole numbers by name")
    made = Entry(**found, place=place, sizes=tuple(sorted(sizes.items())))
    if not (made.seconds > 0 and made.first_seconds > 0):
        raise ValueError("a time is no number above 0")
    return made


def _checked(kind: type, data: Any, apart: Iterable[str] = ()) -> dict[str, Any]:
    """The fields of a record but for some, each of its type."""
    hints = typing.get_type_hints(kind)
    names = [f.name for f in dataclasses.fields(kind)]
    if not isinstance(data, dict) or data.keys() != set(names):
        odd = ", ".join(sorted(map(str, data.keys() ^ set(names)))) if isinstance(data, dict) else "no object"
        raise ValueError(f"missing or unknown: {odd}")
    found = {}
    for name in names:
        if name in apart:
            continue
        value, wanted = data[name], hints[name]
        if wanted is float and type(value) is int:
            value = float(value)
        if type(value) is not wanted or (wanted in (int, float) and not (math.isfinite(value) and value >= 0)):
            raise ValueError(f"{name}: {str(data[name])[:60]!r} is no {wanted.__name__}")
        found[name] = value
    return found


@dataclass(frozen=True, slots=True)
class Book:
    """The entries of a file, and the lines that are none with what is wrong with them."""

    entries: tuple[Entry, ...] = ()
    unreadable: tuple[str, ...] = field(default=())


def own_file() -> Path:
    """The user's own file; it need not exist."""
    return cache_root() / "schedules.jsonl"


def shipped_file(target: str) -> Path:
    """What is shipped for a target; it need not exist."""
    return SHIPPED / f"{target}.jsonl"


def read(path: Path) -> Book:
    """What a file holds; nothing where there is none. Raises InputError for one that cannot be read."""
    try:
        status = path.stat()
    except OSError:
        return Book()
    return _read(path, status.st_mtime_ns, status.st_size, status.st_ino)


@lru_cache(maxsize=16)
def _read(path: Path, changed: int, size: int, number: int) -> Book:
    """The same, once for each version of a file: `changed`, `size` and `number` tell those apart."""
    try:
        if size > LARGEST:
            raise InputError(
                f"a database of schedules is larger than {LARGEST >> 20} MiB", where=str(path), mend="give another file"
            )
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else "it is no UTF-8 text"
        raise InputError(
            f"a database of schedules cannot be read: {said}", where=str(path), mend="give a file that tang-tune wrote"
        ) from None
    found: list[Entry] = []
    wrong: list[str] = []
    for n, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                found.append(entry_of(line))
            except (ValueError, RecursionError) as error:
                wrong.append(f"line {n}: {error}")
    return Book(tuple({e.key: e for e in found}.values()), tuple(wrong))


def update(path: Path, change: Callable[[dict[Key, Entry]], None]) -> list[Entry]:
    """Replaces a file by what `change` makes of its entries, under a lock; gives what it holds now.

    Raises TargetError where it cannot be written; it is then as it was. Lines that are no entries are left out, with a
    warning that says which.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(str(path.with_name(f".{path.name}.lock")), timeout=WAIT):
            before = read(path)
            if before.unreadable:
                told = "; ".join(before.unreadable[:3])
                warnings.warn(f"lines of {path} are no schedules and were left out: {told}", stacklevel=2)
            table = {e.key: e for e in before.entries}
            change(table)
            kept = ordered(table.values())
            with replacing(path) as file:
                file.write("".join(f"{e.line()}\n" for e in kept).encode())
            return kept
    except Timeout:
        said = f"another process has held the lock for {WAIT:g} s"
    except OSError as error:
        said = str(error.strerror or error)
    raise TargetError(
        f"a database of schedules cannot be written: {said}",
        where=str(path),
        mend="set TANG_CACHE to a folder you may write to, or give another file: --database FILE",
    )


def merge(entries: Iterable[Entry], path: Path) -> int:
    """Adds entries to a file, each in place of an older one of its key; how many lines came to it or changed."""
    known = {e.key: e for e in read(path).entries}
    fresh = [e for e in entries if e.key not in known or (known[e.key] != e and known[e.key].when <= e.when)]

    def change(table: dict[Key, Entry]) -> None:
        table |= {e.key: e for e in fresh}

    if fresh:
        update(path, change)
    return len(fresh)


def ordered(entries: Iterable[Entry]) -> list[Entry]:
    """Entries as they stand in a file: by place, then by where they were met."""
    return sorted(entries, key=lambda e: (e.place, e.what, e.kernel, e.sizes))
