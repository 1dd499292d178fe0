"""Measured constants in the user's cache folder: one file for each device, target and driver.

A file is replaced whole, under a lock, and holds its own checksum; one that is damaged or of another format is dropped
with a warning. A new probe keeps the best of the old one (see device.merged), so that floors get surer.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import warnings
from pathlib import Path

from filelock import FileLock, Timeout

from tang_egg.cost.device import Device, DeviceError, device_of, merged
from tang_egg.cost.estimates import estimate
from tang_egg.errors import TargetError
from tang_egg.files import cache_root, checksum, replacing
from tang_egg.run_vectors import vectors

WAIT = 30.0
"""Seconds that another process may hold the lock."""
LARGEST = 1 << 20
"""Bytes of a file of constants, at most."""


def folder() -> Path:
    """Where constants are kept; it need not exist."""
    return cache_root() / "devices"


def path_of(name: str, target: str, driver: str) -> Path:
    """The file of a device under a target and a driver."""
    words = re.sub(r"[^A-Za-z0-9]+", "-", f"{target}-{name}").strip("-").lower()[:60]
    key = hashlib.sha256("\0".join((name, target, driver)).encode()).hexdigest()[:16]
    return folder() / f"{words}-{key}.json"


def store(device: Device) -> Device:
    """Writes the constants of a device, with the best of what was stored before; gives what is stored now.

    Raises TargetError where the folder cannot be written.
    """
    path = path_of(device.name, device.target, device.driver)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(str(path.with_suffix(".lock")), timeout=WAIT):
            before = _read(path)
            kept = merged(before, device) if before is not None else device
            with replacing(path) as file:
                file.write(_sealed(kept))
            return kept
    except Timeout:
        said = f"another process has held the lock for {WAIT:g} s"
    except OSError as error:
        said = str(error)
    raise TargetError(
        f"the constants of a device cannot be stored: {said}",
        where=str(path),
        mend="set TANG_CACHE to a folder you may write to",
    )


def load(name: str, target: str, driver: str) -> Device | None:
    """What was stored for a device, or None. A damaged file is dropped with a warning."""
    return _read(path_of(name, target, driver))


def stored() -> list[Device]:
    """All stored devices, in order of their files' names."""
    found = (_read(p) for p in sorted(folder().glob("*.json")))
    return [d for d in found if d is not None]


def newest(target: str, name: str = "") -> Device | None:
    """The newest constants of a target, of the device of that name where one is given; None where there are none."""
    fitting = [d for d in stored() if d.target == target and (not name or d.name == name)]
    return max(fitting, key=lambda d: d.when, default=None)


def constants(target: str, name: str = "") -> Device:
    """The newest constants that are stored for a target (of the device of that name), else the shipped estimate.

    Raises DeviceError for a target that has neither.
    """
    return newest(target, name) or estimate(target, 8 * vectors().bytes if target in ("c", "c1") else 0)


def _sealed(device: Device) -> bytes:
    data = device.data()
    return json.dumps({"sum": checksum(data), "device": data}, indent=1, ensure_ascii=False).encode() + b"\n"


def _read(path: Path) -> Device | None:
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError(f"it is larger than {LARGEST} bytes")
        whole = json.loads(path.read_bytes())
        if not isinstance(whole, dict) or whole.keys() != {"sum", "device"}:
            raise ValueError("it is no record of constants")
        if whole["sum"] != checksum(whole["device"]):
            raise ValueError("it does not match its checksum")
        return device_of(whole["device"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError, DeviceError) as error:
        said = error.what if isinstance(error, DeviceError) else str(error)
    warnings.warn(f"the constants in {path} are damaged and were dropped: {said}", stacklevel=3)
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
    return None
