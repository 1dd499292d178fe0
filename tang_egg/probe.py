"""Measured constants of the devices here: probes of every target, their storage, and what a user is shown of them.

probe("all", seconds) ──→ findings, one for each target, with the devices that were measured and stored
probe_store.constants("c") ──→ what is stored for a target, else the estimate that is shipped
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tang_egg.cost.device import Device, DeviceError, Figure, Level, device_of
from tang_egg.cost.time import amount, said
from tang_egg.doctor_finding import Finding
from tang_egg.errors import InputError, TangError, TargetError
from tang_egg.files import replacing
from tang_egg.probe_bench import TIMES, Bench, Probed, measure
from tang_egg.probe_store import newest, store

TARGETS = {"c": "probe_c", "opencl": "probe_opencl", "wgsl": "probe_wgpu", "cuda": "probe_cuda"}
"""The module of the probes of each target."""
RESTLESS = 0.2
"""A figure whose runs differ by more than this share is said not to repeat."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What probing one target gave: a finding for the doctor, and the devices with their constants."""

    finding: Finding
    probed: tuple[Probed, ...] = ()


def probe(target: str = "all", seconds: float = 10.0, keep: bool = True) -> list[Outcome]:
    """Measures one target, or all, for about `seconds` for each device; `keep`: the constants are stored.

    A target that cannot be used gives a finding that says why and how to mend it. Raises TargetError for an unknown
    one, InputError for a time that is none.
    """
    if target != "all" and target not in TARGETS:
        raise TargetError(
            f"there are no probes for target '{target}'",
            where="tang-doctor --probe",
            mend=f"one of {', '.join(TARGETS)}, all",
        )
    if not 0 < seconds < 86400:
        raise InputError(
            f"{seconds:g} seconds are no time to measure in", where="tang-doctor --probe", mend="give --seconds 10"
        )
    return [_outcome(name, seconds, keep) for name in (TARGETS if target == "all" else (target,))]


def _outcome(target: str, seconds: float, keep: bool) -> Outcome:
    try:
        found = [_probed(b, seconds, keep) for b in _benches(target)]
    except TangError as error:
        where = f"\n  where: {error.where}" if error.where else ""
        passed = False if target == "c" else None
        return Outcome(Finding(target, passed, f"not measured: {error.what}{where}", mend=error.mend, kind="probe"))
    except Exception as error:  # a driver may raise anything; the other targets are measured all the same
        text = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        return Outcome(Finding(target, False, text, mend="report this with the text above", kind="probe"))
    lacking = {name: why for p in found for name, why in p.missing.items()}
    restless = sorted({n for p in found for n, f in p.device.figures() if _restless(f)})
    text = "; ".join(f"{p.device.name}, {p.rounds} rounds in {p.seconds:.1f} s" for p in found)
    facts = [(f"missing {name}", why) for name, why in lacking.items()]
    if restless:
        facts.append(("not repeatable", ", ".join(restless)))
    mend = "probe again while the machine is idle; the best of all probes counts for floors" if restless else ""
    return Outcome(Finding(target, not lacking, text, tuple(facts), mend, "probe"), tuple(found))


def _restless(f: Figure) -> bool:
    """Whether runs of a figure differ; halves of a few runs say nothing."""
    return f.runs > 0 and (f.spread > RESTLESS or (f.runs >= 8 and f.drift > RESTLESS))


def _benches(target: str) -> Sequence[Bench]:
    found: Sequence[Bench] = importlib.import_module(f"tang_egg.{TARGETS[target]}").benches()
    return found


def _probed(bench: Bench, seconds: float, keep: bool) -> Probed:
    found = measure(bench, seconds)
    device = found.device
    if bench.host:
        below = newest("c")
        device = on_host(device, below) if below is not None else device
    return replace(found, device=store(device) if keep else device)


def on_host(device: Device, host: Device) -> Device:
    """A device that is the processor under another name, with the processor's ceilings as what is stated.

    Another compiler may drive the processor less well; what it can do at all is what any target showed.
    """

    def level(x: Level) -> Level:
        twin = next((y for y in host.levels if y.name == x.name), None)
        if twin is None:
            return x
        rates = {w: _raised(getattr(x, w), getattr(twin, w)) for w in ("read", "write", "copy")}
        times = {w: _lowered(getattr(x, w), getattr(twin, w)) for w in ("latency", "hop")}
        return Level(x.name, x.capacity, x.instances, **rates, **times)

    peaks = {u.operand: u.rate for u in host.units}
    units = tuple(replace(u, rate=_raised(u.rate, peaks[u.operand])) if u.operand in peaks else u for u in device.units)
    return replace(device, levels=tuple(map(level, device.levels)), units=units)


def _raised(own: Figure, host: Figure) -> Figure:
    return replace(own, stated=max(own.stated, host.ceiling))


def _lowered(own: Figure, host: Figure) -> Figure:
    known = [x for x in (own.best, host.least) if x > 0]
    return replace(own, best=min(known)) if known and own.value > 0 else own


def table(probed: Probed) -> str:
    """The constants of a device as a table: one line a figure, with spread, drift and runs."""
    device = probed.device
    lines = [
        f"{device.name} ({device.target}), {device.driver}",
        f"{device.workers} workers, {device.slots} groups at once"
        + (f", {device.clock / 1e9:.2f} GHz" if device.clock else "")
        + "".join(f", {note}" for note in device.notes),
        f"{'':18}{'median':>11}{'best':>11}{'ceiling':>11}{'spread':>8}{'drift':>7}{'runs':>6}",
    ]
    for level in device.levels:
        if level.capacity:
            lines.append(f"{level.name + ' size':18}{amount(level.capacity) + 'B':>11}  × {level.instances}")
    lines += [_row(name, f) for name, f in device.figures() if f.runs or f.stated]
    lines += [f"{name:18}missing: {why}" for name, why in probed.missing.items()]
    return "\n".join(lines)


def _row(name: str, f: Figure) -> str:
    def text(x: float) -> str:
        if x <= 0:
            return ""
        if name.split()[-1] in TIMES:
            return said(x)
        return f"{amount(x)}{'op/s' if name.startswith(('vector', 'matrix')) else 'B/s'}"

    noise = f"{f.spread:>8.1%}{f.drift:>7.0%}{f.runs:>6}" if f.runs else ""
    return f"{name:18}{text(f.value):>11}{text(f.best):>11}{text(f.stated):>11}{noise}"


def data(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """What was found as plain data; `read_devices` takes the devices out of it."""
    devices = [_record(p) for o in outcomes for p in o.probed]
    return {"format": 1, "findings": [o.finding.data() for o in outcomes], "devices": devices}


def _record(probed: Probed) -> dict[str, object]:
    return {"device": probed.device.data(), "missing": dict(probed.missing), "rounds": probed.rounds}


def write(what: object, path: Path) -> None:
    """Writes plain data as JSON to a file, whole or not at all. Raises TangError where it cannot be written."""
    try:
        with replacing(path) as file:
            file.write(json.dumps(what, indent=1, ensure_ascii=False).encode() + b"\n")
    except OSError as error:
        raise TangError(
            f"what was found cannot be written: {error.strerror or error}", where=str(path), mend="give another file"
        ) from None


def read_devices(path: Path) -> list[Device]:
    """The devices in a file of `data`. Raises DeviceError where there are none in it."""
    try:
        found = json.loads(path.read_bytes())
        records = found["devices"]
        return [device_of(r["device"]) for r in records]
    except OSError as error:
        said = str(error.strerror or error)
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        said = f"{type(error).__name__}: {error}"
    raise DeviceError(
        f"no constants can be read: {said}", where=str(path), mend="write the file by tang-doctor --probe --json FILE"
    )
