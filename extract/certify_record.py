"""A selection certificate: what was chosen, what was measured, and what no other choice of the space can do, as data.

    certificate ::= graph, target, values, sizes, device, machine, cache   what it speaks of
                    space, kernels, windows                                what there was to choose, and what is known
                    total, bound, others, gap, noise, stopped, seconds     what it claims
    kernel      ::= key, number of schedules, lowest floor, timed schedules, refused schedules
    window      ::= copies, number of candidates, chosen candidates, measured seconds, bound

The claim: no choice of kernels and schedules of the declared space takes less than `bound` seconds, where kernels run
one after another in the declared state of the caches; the chosen one takes `total`, measured kernel by kernel.
Seconds that are infinite (nothing was measured) are null in JSON.
"""

from __future__ import annotations

import dataclasses
import json
import math
import typing
from dataclasses import dataclass
from typing import Any

from tang_egg.errors import TangError
from tang_egg.files import checksum

FORMAT = 2
"""Of the JSON form; other formats are refused."""
LARGEST = 256 << 20
"""Bytes of a file of a certificate, at most."""


class CertificateError(TangError):
    """A selection certificate that cannot be read, or that does not hold."""


@dataclass(frozen=True, slots=True)
class TimedSchedule:
    """A schedule by its place among those of its kernel; seconds per call: median, spread, and calls timed."""

    place: int
    schedule: str
    median: float
    spread: float
    runs: int


@dataclass(frozen=True, slots=True)
class RefusedSchedule:
    """A schedule that left the space, and why (see certify_ledger.REFUSALS)."""

    place: int
    schedule: str
    kind: str
    why: str


@dataclass(frozen=True, slots=True)
class KernelRecord:
    """What is known of a kernel. `floor`: the lowest of its schedules, with what binds and whether it proves.

    `deep`: whether the traffic floor went into it. `final`: the places of what was timed once more at the end, all in
    turns; one of these is picked.
    """

    key: str
    schedules: int
    floor: float
    binding: str
    proves: bool
    deep: bool
    timed: tuple[TimedSchedule, ...]
    refused: tuple[RefusedSchedule, ...]
    final: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ChosenRecord:
    """A chosen candidate: what it writes, the keys of the kernels that it runs, and the place of each's schedule."""

    writes: str
    kernels: tuple[str, ...]
    places: tuple[int, ...]
    schedules: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class WindowRecord:
    """A distinct window. `upper`: measured seconds of what was chosen; `lower`: the bound on every choice."""

    copies: int
    candidates: int
    deferred: int
    chosen: tuple[ChosenRecord, ...]
    upper: float
    lower: float


@dataclass(frozen=True, slots=True)
class Counts:
    """Schedules: all of the space; timed; known from an earlier search; refused; of candidates that stand back behind
    others; ruled out by floors; and open, which could still be faster."""

    schedules: int
    timed: int
    known: int
    refused: int
    deferred: int
    pruned: int
    open: int


@dataclass(frozen=True, slots=True)
class SelectionCertificate:
    """See the module text. `device`: the constants behind the floors, as cost/device writes them.

    `violations`: measured times below a floor; with one of these the certificate proves nothing, and the floor or the
    measurement is wrong. `proves`: all floors rest on constants that were measured on this device.
    """

    graph: str
    target: str
    values: str
    sizes: tuple[tuple[str, int], ...]
    threads: int
    device: str
    machine: tuple[tuple[str, str], ...]
    version: str
    when: str
    cache: str
    budget_seconds: float
    budget_gap: float
    space: tuple[str, ...]
    kernels: tuple[KernelRecord, ...]
    windows: tuple[WindowRecord, ...]
    counts: Counts
    total: float
    bound: float
    others: float
    noise: float
    stopped: str
    seconds: float
    proves: bool
    violations: tuple[str, ...]

    @property
    def gap(self) -> float:
        """Seconds by which another choice of the space could be faster; infinite where nothing was measured."""
        return max(0.0, self.total - self.bound) if self.total < math.inf else math.inf

    @property
    def share(self) -> float:
        """The gap as a share of the measured time; 1 where nothing was measured."""
        return self.gap / self.total if 0 < self.total < math.inf else float(self.total == math.inf)

    @property
    def closed(self) -> bool:
        """Whether the choice rests on measurements: no other one can be faster by more than the noise."""
        return self.stopped == "measured" and not self.violations

    def data(self) -> dict[str, Any]:
        """As plain data with its checksum; `certificate_of` reads it back."""
        body = {"format": FORMAT, **_plain(self)}
        return {"sum": checksum(body), "certificate": body}

    def json(self) -> str:
        """As text."""
        return json.dumps(self.data(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def __str__(self) -> str:
        from tang_egg.extract.certify_text import certificate_text

        return certificate_text(self)


def certificate_of(text: str, where: str = "the certificate") -> SelectionCertificate:
    """The certificate that `json` wrote, every field checked. Raises CertificateError, naming what is wrong."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _unreadable(where, f"it is no JSON ({error})") from None
    if not isinstance(whole, dict) or whole.keys() != {"sum", "certificate"}:
        raise _unreadable(where, "it is no selection certificate")
    body = whole["certificate"]
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        found = body.get("format") if isinstance(body, dict) else None
        raise _unreadable(where, f"format {found!r} and not {FORMAT}")
    if whole["sum"] != checksum(body):
        raise CertificateError(
            "the selection certificate was changed after it was written: it does not match its checksum",
            where=where,
            mend="search anew: te.optimize(graph, seconds=…)",
        )
    made: SelectionCertificate = _read(
        SelectionCertificate, {k: v for k, v in body.items() if k != "format"}, where, "certificate"
    )
    return made


def _plain(x: Any) -> Any:
    if isinstance(x, tuple):
        return [_plain(y) for y in x]
    if dataclasses.is_dataclass(x):
        return {f.name: _plain(getattr(x, f.name)) for f in dataclasses.fields(x)}
    if isinstance(x, float) and not math.isfinite(x):
        return None
    return x


def _read(kind: Any, x: Any, where: str, at: str) -> Any:
    """A value of a declared type from plain data."""
    origin = typing.get_origin(kind)
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        names = [f.name for f in dataclasses.fields(kind)]
        if not isinstance(x, dict) or x.keys() != set(names):
            odd = ", ".join(sorted(map(str, x.keys() ^ set(names)))) if isinstance(x, dict) else "no object"
            raise _unreadable(where, f"{at}: missing or unknown: {odd}")
        return kind(**{n: _read(hints[n], x[n], where, f"{at}.{n}") for n in names})  # type: ignore[operator]
    if origin is tuple:
        inner = typing.get_args(kind)
        many = len(inner) == 2 and inner[1] is Ellipsis
        if not isinstance(x, list) or not (many or len(x) == len(inner)):
            raise _unreadable(where, f"{at}: no list of the right length")
        return tuple(_read(inner[0] if many else inner[n], y, where, f"{at}[{n}]") for n, y in enumerate(x))
    if kind is float:
        if x is None:
            return math.inf
        if isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x) and x >= 0:
            return float(x)
    elif kind is int:
        if isinstance(x, int) and not isinstance(x, bool) and 0 <= x < 1 << 60:
            return x
    elif isinstance(x, kind):
        return x
    raise _unreadable(where, f"{at}: {str(x)[:60]!r} is no {kind.__name__}")


def _unreadable(where: str, text: str) -> CertificateError:
    return CertificateError(
        f"the selection certificate cannot be read: {text}"[:500],
        where=where,
        mend="give a file that compiled.certificate.json() wrote",
    )
