"""Looks kernels up in the database of schedules: what is taken in place of a first proposal, and why or why not.

An entry is taken where all of this holds: it was measured on this device (or one of its family), with the same vectors
and threads, for the same mathematics, types and sizes; the first proposal is still the one that it was compared with;
and the code generator still prints for its schedule what was timed. Anything else leaves the first proposal, silently:
`compiled.why` tells. Kernels are verified afterwards, whatever their schedule.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from tang_egg.database import Book, Entry, Place, own_file, read, shipped_file
from tang_egg.errors import TangError
from tang_egg.ir import Tensor
from tang_egg.kernel_names import Canonical, canonical
from tang_egg.program import KernelPlan, Program, single_program
from tang_egg.run import threads
from tang_egg.run_host import family, processor
from tang_egg.run_vectors import vectors
from tang_egg.schedule import Schedule, parse_schedule
from tang_egg.targets import Target, Wish

OFF = ("no", "0", "off", "false")
"""What TANG_TUNED says where nothing is to be looked up."""
DIGITS = 16
"""Hexadecimal digits of a hash of code."""
_COMMENT = re.compile(r"^\s*//.*\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Choice:
    """What the database said of a kernel. `schedule`: that of the entry that was taken, in the kernel's names, or none.

    `known`: whether it had anything for it.
    """

    text: str
    schedule: Schedule | None = None
    entry: Entry | None = None
    known: bool = True


def turned_on(asked: bool = True) -> bool:
    """Whether schedules are looked up: unless a caller or the environment says no."""
    return asked and os.environ.get("TANG_TUNED", "").strip().lower() not in OFF


def place_of(target: str, device: Any) -> Place:
    """Where times of a target on an open device hold."""
    if target == "c":
        return Place("c", processor(), family(), 8 * vectors().bytes, threads())
    return Place(target, str(getattr(device, "title", target)).split(",")[0].strip())


@lru_cache(maxsize=1)
def revision() -> str:
    """A hash of the code generator's own sources: while it is the same, so is what is printed for a schedule."""
    root = Path(__file__).parent
    found = hashlib.sha256()
    files = [*(root / "codegen").rglob("*"), root / "schedule.py"]
    for path in sorted(p for p in files if p.is_file() and "__pycache__" not in p.parts):
        found.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:DIGITS]


def code_of(on: Target, outputs: tuple[Tensor, ...], schedule: Schedule) -> str:
    """A hash of what is printed for a canonical kernel, without comments. Raises CodegenError for a schedule that
    is not legal."""
    printed = on.sources(single_program(outputs), {"kernel": schedule})
    text = _COMMENT.sub("", "\n".join(printed.values()))
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def matching(place: Place, key: str, sizes: Mapping[str, int]) -> list[tuple[Entry, bool]]:
    """The entries of a kernel that hold at a place, the nearest first; and whether each is shipped.

    This device comes before others of its family, then the nearest sizes, then the user's own file.
    """
    found = [(e, shipped) for book, shipped in _books(place.target) for e in _by_kernel(book).get(key, ())]
    kept = [(e, shipped) for e, shipped in found if _holds(e.place, place)]
    return sorted(kept, key=lambda x: (x[0].place.device != place.device, _apart(x[0], sizes), x[1]))


def _holds(measured: Place, here: Place) -> bool:
    """Whether what was measured at one place says something of another one."""
    if (measured.target, measured.vectors, measured.threads) != (here.target, here.vectors, here.threads):
        return False
    return measured.device == here.device or bool(here.family and measured.family == here.family)


def _apart(e: Entry, sizes: Mapping[str, int]) -> float:
    """How far the measured sizes of symbolic dims are from others, by their ratios."""
    return sum(abs(math.log(max(n, 1) / max(sizes.get(name, n), 1))) for name, n in e.sizes)


def _books(target: str) -> Iterator[tuple[Book, bool]]:
    """The user's own file and the shipped one. One that cannot be read counts as empty, with a warning."""
    for path, shipped in ((own_file(), False), (shipped_file(target), True)):
        try:
            yield read(path), shipped
        except TangError as error:
            warnings.warn(f"{error.what}: {path}; first proposals are taken", stacklevel=4)


@lru_cache(maxsize=8)
def _by_kernel(book: Book) -> Mapping[str, tuple[Entry, ...]]:
    found: dict[str, list[Entry]] = {}
    for e in book.entries:
        found.setdefault(e.kernel, []).append(e)
    return {key: tuple(entries) for key, entries in found.items()}


def looked_up(
    program: Program, firsts: Mapping[str, Schedule], on: Target, device: Any, wish: Wish, sizes: Mapping[str, int]
) -> dict[str, Choice]:
    """What the database says of the kernels that have a first proposal in `firsts`, by name.

    `sizes`: of the program's symbolic dims, for which the nearest entry is taken.
    """
    if not _serves(on, wish):
        return {}
    place = place_of(on.name, device)
    if not any(_holds(e.place, place) for book, _ in _books(on.name) for e in book.entries):
        return {k.name: _none(place) for k in program.kernels if k.name in firsts}
    return {k.name: _choice(k, firsts[k.name], on, place, sizes) for k in program.kernels if k.name in firsts}


def _serves(on: Target, wish: Wish) -> bool:
    """Whether first proposals under a wish are those that entries were compared with."""
    return on.name == "c" or wish == Wish(units=wish.units if on.name != "cuda" else True)


def _choice(plan: KernelPlan, first: Schedule, on: Target, place: Place, sizes: Mapping[str, int]) -> Choice:
    if any(t.into for t in plan.outputs):
        return Choice("its outputs take the memory of inputs: such kernels are not in the database", known=False)
    try:
        own = canonical(plan.outputs)
        told = own.told(first)
    except TangError:
        return Choice("it has no text form by which the database could know it", known=False)
    stale = 0
    for e, shipped in matching(place, own.key, {own.dims[n]: size for n, size in sizes.items() if n in own.dims}):
        if e.first != str(told):
            stale += 1
            continue
        if e.schedule == e.first:
            return Choice("the first proposal was measured, and nothing in the database is faster")
        schedule = _legal(e, own, on)
        if schedule is not None:
            return Choice(said(e, shipped, first), schedule, e)
        stale += 1
    if stale:
        return Choice("the database has a schedule, but the code generator has changed since it was measured")
    return _none(place)


def _legal(e: Entry, own: Canonical, on: Target) -> Schedule | None:
    """The schedule of an entry in the kernel's names; None where it is not what was measured, or is not legal."""
    try:
        schedule = parse_schedule(e.schedule)
        if e.revision != revision() and code_of(on, own.outputs, schedule) != e.code:
            return None
        return own.own(schedule)
    except TangError:
        return None


def said(e: Entry, shipped: bool, first: Schedule) -> str:
    """An entry that was taken in place of a first proposal, in words."""
    sizes = ", ".join(f"{n} = {size}" for n, size in e.sizes)
    at = f" at {sizes}" if sizes else ""
    where = f"{e.place.device}, {e.place.threads} threads" if e.place.threads else e.place.device
    whose = "shipped" if shipped else "your own"
    return (
        f"its schedule is from the database ({whose}): {e.ratio:.2f} times as fast as the first proposal ({first}), "
        f"measured on {where}{at}"
    )


def _none(place: Place) -> Choice:
    return Choice(f"the database has nothing for it on {place.device}", known=False)
