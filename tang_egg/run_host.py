"""What this machine's processor and its NVIDIA driver are called."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path


def processor(path: Path = Path("/proc/cpuinfo")) -> str:
    """The name of the processor, as far as the system tells it.

    Virtual machines may hide the number in the name ("AMD EPYC"): family and model then tell such processors apart.
    """
    said = _facts(path)
    name = said.get("model name", "")
    if name and not any(c.isdigit() for c in name) and "cpu family" in said and "model" in said:
        name += f" family {said['cpu family']} model {said['model']}"
    return name or platform.processor() or platform.machine()


def family(path: Path = Path("/proc/cpuinfo")) -> str:
    """What processors share that differ in clock, number of cores and name; empty where the system does not say."""
    said = _facts(path)
    vendor, number = said.get("vendor_id", ""), said.get("cpu family", "")
    return f"{vendor} family {number}" if vendor and number else ""


def _facts(path: Path) -> dict[str, str]:
    """What the system says of the first processor; nothing where there is no such file."""
    said: dict[str, str] = {}
    try:
        for line in path.read_text(errors="replace").splitlines():
            key, _, value = line.partition(":")
            said.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    return said


def driver_version() -> str:
    """The version of the NVIDIA driver, as nvidia-smi says it, or that it is unknown."""
    command = ("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.split()
    except (OSError, subprocess.SubprocessError):
        return "driver of unknown version"
    return f"driver {said[0]}" if said else "driver of unknown version"
