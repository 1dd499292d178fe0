"""What the system says of the processor: caches, vectors, frequency. Nothing is measured here."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tang_egg.probe_bench import Place
from tang_egg.run_host import processor as processor

_CPU = Path("/sys/devices/system/cpu")
_SYSCONF = (("L1", "SC_LEVEL1_DCACHE_SIZE"), ("L2", "SC_LEVEL2_CACHE_SIZE"), ("L3", "SC_LEVEL3_CACHE_SIZE"))
_SYSCTL = (("L1", "hw.l1dcachesize"), ("L2", "hw.l2cachesize"), ("L3", "hw.l3cachesize"))
_GUESSED = (Place("L1", 32 << 10), Place("L2", 512 << 10))
"""Where no system says: what nearly every core has at least."""


@dataclass(frozen=True, slots=True)
class Core:
    """Operations of one core per cycle, at most: those of f32 vectors per lane, and bytes by level and direction."""

    per_lane: float
    read: float
    write: float
    behind: float


_CORES = {
    "AuthenticAMD": Core(6, 3, 2, 64),  # two units of multiply-add and two of addition
    "GenuineIntel": Core(6, 3, 2, 64),
    "arm": Core(12, 4, 2, 64),  # up to six vector units of 128 bits
    "": Core(12, 4, 4, 128),
}
"""Taken above what is known of any processor of the kind: ceilings must not be too low. `read` and `write` are vectors
per cycle of the first cache, `behind` bytes per cycle and direction of those behind it."""


def processors() -> list[int]:
    """The numbers of the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def caches(workers: int, root: Path = _CPU) -> tuple[Place, ...]:
    """The data caches that `workers` processors have, nearest first; the usual least where nobody says."""
    first = processors()[0]
    found: dict[int, Place] = {}
    for entry in sorted((root / f"cpu{first}" / "cache").glob("index*")):
        try:
            kind, level = (entry / "type").read_text().strip(), int((entry / "level").read_text())
            size, shared = _bytes((entry / "size").read_text()), (entry / "shared_cpu_list").read_text()
        except (OSError, ValueError):
            continue
        if kind in ("Data", "Unified") and size:
            found[level] = Place(f"L{level}", size, max(1, -(-workers // max(1, _length(shared)))))
    places = tuple(found[n] for n in sorted(found)) or _asked(workers)
    return places or tuple(Place(p.name, p.capacity, workers) for p in _GUESSED)


def _asked(workers: int) -> tuple[Place, ...]:
    """Caches as sysconf or sysctl say; the last of three belongs to all."""
    found: list[Place] = []
    for n, (name, asked) in enumerate(_SYSCONF):
        size = os.sysconf(asked) if asked in getattr(os, "sysconf_names", {}) else 0
        if size <= 0 and platform.system() == "Darwin":
            size = _sysctl(_SYSCTL[n][1])
        if size > 0:
            found.append(Place(name, size, 1 if n == 2 else workers))
    return tuple(found)


def _sysctl(name: str) -> int:
    try:
        said = subprocess.run(["sysctl", "-n", name], capture_output=True, text=True, check=False, timeout=10).stdout
        return int(said)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return 0


def _bytes(text: str) -> int:
    """A size as the kernel writes it: 512K."""
    text = text.strip()
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:], 1)
    return int(text.rstrip("KMG")) * factor


def _length(text: str) -> int:
    """How many numbers a list such as 0-3,8 holds."""
    total = 0
    for part in text.strip().split(","):
        low, _, high = part.partition("-")
        total += int(high or low) - int(low) + 1
    return total


def frequency(measured: float) -> float:
    """The highest frequency known, in Hz: what the system allows, what it shows now, what was measured."""
    known = [measured]
    with contextlib.suppress(OSError, ValueError):
        known.append(1e3 * float((_CPU / f"cpu{processors()[0]}" / "cpufreq" / "cpuinfo_max_freq").read_text()))
    return max(known)


def vendor() -> str:
    """The maker as /proc/cpuinfo says it, arm for such processors, or nothing."""
    if platform.machine().lower() in ("arm64", "aarch64"):
        return "arm"
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return next((x.partition(":")[2].strip() for x in lines if x.startswith("vendor_id")), "")


def core() -> Core:
    """What a core of this kind does per cycle, at most."""
    return _CORES.get(vendor(), _CORES[""])


def memory_available() -> int:
    """Bytes that can be taken without harm, 1 GiB where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(x.split()[1]) << 10 for x in lines if x.startswith("MemAvailable"))
    except (OSError, ValueError, StopIteration, IndexError):
        return 1 << 30
