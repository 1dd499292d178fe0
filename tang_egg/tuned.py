"""Measured times in the user's cache folder, so that a later search starts from what an earlier one found.

An entry is one file, named by a hash of everything that the time depends on: the device, its driver or the compiler
with its flags, the printed source, the schedule, sizes and the declared state of the caches. It was verified before its
time was taken. Entries are replaced whole, under a lock; one that is damaged is dropped with a warning.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from tang_egg import run_toolchain as toolchain
from tang_egg.errors import TangError
from tang_egg.extract.certify_ledger import Timed, Trial
from tang_egg.files import cache_root, replacing
from tang_egg.measure_build import printed_alone
from tang_egg.program import Program, single_program
from tang_egg.schedule import Schedule

WAIT = 10.0
"""Seconds that another process may hold the lock."""
LARGEST = 1 << 14
"""Bytes of an entry, at most."""


def folder() -> Path:
    """Where times are kept; it need not exist."""
    return cache_root() / "timings"


@dataclass(slots=True)
class Tuned:
    """The times of one device. `device`: its name and whatever else tells machines apart.

    `sources`: what prints a program, for a target other than "c".
    """

    device: str
    cache: str
    threads: int
    sizes: Mapping[str, int] = field(default_factory=dict)
    target: str = "c"
    sources: Callable[[Program, Mapping[str, Schedule]], Mapping[str, str]] | None = None
    _keys: dict[tuple[str, int], str] = field(default_factory=dict, repr=False)

    def recall(self, trial: Trial) -> Timed | None:
        """What was measured before, or None. A damaged entry is dropped with a warning."""
        key = self._key(trial)
        return None if key is None else read(folder() / f"{key}.json")

    def keep(self, trial: Trial, result: Timed) -> None:
        """Writes a time. Where the folder cannot be written the search goes on without, with one warning."""
        key = self._key(trial)
        if key is not None:
            write(folder() / f"{key}.json", result)

    def _key(self, trial: Trial) -> str | None:
        """The name of an entry; None where the kernel cannot be printed."""
        known = (trial.kernel.key, trial.schedule)
        if known not in self._keys:
            try:
                self._keys[known] = self._hashed(trial)
            except TangError:
                return None
        return self._keys[known]

    def _hashed(self, trial: Trial) -> str:
        schedule = trial.kernel.schedules[trial.schedule]
        tool: tuple[str, ...] = ()
        if self.target == "c":
            made = toolchain.identity()
            source = printed_alone(trial.kernel.outputs, schedule).source
            tool = (made.compiler, made.version, made.flags, made.machine)
        else:
            assert self.sources is not None
            texts = self.sources(single_program(trial.kernel.outputs), {"kernel": schedule})
            source = "\n".join(texts.values())
        parts = (
            self.target, self.device, *tool, str(self.threads), self.cache, json.dumps(sorted(self.sizes.items())),
            str(schedule), source,
        )  # fmt: skip
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def read(path: Path) -> Timed | None:
    """The time in a file, or None where there is none. A damaged file is dropped with a warning."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        whole = json.loads(data) if len(data) <= LARGEST else None
        if not isinstance(whole, dict) or whole.keys() != {"sum", "median", "spread", "runs"}:
            raise ValueError("it is no record of a time")
        median, spread, runs = whole["median"], whole["spread"], whole["runs"]
        if whole["sum"] != _sum(median, spread, runs):
            raise ValueError("it does not match its checksum")
        if not (_number(median) and _number(spread) and isinstance(runs, int) and median > 0 and runs > 0):
            raise ValueError("its numbers make no sense")
        return Timed(float(median), float(spread), runs)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        said = str(error)
    warnings.warn(f"the time in {path} is damaged and was dropped: {said}", stacklevel=3)
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
    return None


def write(path: Path, result: Timed) -> None:
    """Replaces a file by a time, under the lock of its folder; a warning where that is not possible."""
    numbers = (result.median, result.spread, result.runs)
    body = {"sum": _sum(*numbers), "median": result.median, "spread": result.spread, "runs": result.runs}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(str(path.parent / ".lock"), timeout=WAIT), replacing(path) as file:
            file.write(json.dumps(body).encode() + b"\n")
    except (OSError, Timeout) as error:
        warnings.warn(f"a measured time is not kept, since {path.parent} cannot be written: {error}", stacklevel=3)


def _number(x: object) -> bool:
    return isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x) and x >= 0


def _sum(*numbers: object) -> str:
    return hashlib.sha256(json.dumps(numbers).encode()).hexdigest()[:32]
