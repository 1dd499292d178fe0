"""Answers about how a kernel runs: a schedule that was not picked, a tile that does not fit.

why_not KERNEL: SCHEDULE          ruled out by a floor, measured slower, refused, not in the space, or open
why_not KERNEL: 64x64 in 16 KiB   what such a tile of the output holds in fast memory, and the tile that fits best
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod

from tang_egg import report_format as say
from tang_egg.affine import Affine, Index
from tang_egg.cost.floor import traffic_floor
from tang_egg.errors import CodegenError, TangError
from tang_egg.extract.certify_ledger import Ledger
from tang_egg.extract.explain import Reason
from tang_egg.extract.space import standalone
from tang_egg.ir import Read, Source, Tensor, walk
from tang_egg.ops import BYTES
from tang_egg.program import KernelPlan
from tang_egg.report_answer import Answer
from tang_egg.report_asked import Known
from tang_egg.schedule import SHAPES, Schedule, parse_schedule

_TILE = re.compile(
    r"\s*(?P<sides>\d+(?:\s*[x×]\s*\d+)*)(?:\s+tile)?\s+(?:in|with)\s+(?P<room>\d+)\s*(?P<unit>B|KiB|MiB)\s*",
    re.IGNORECASE,
)
_UNITS = {"b": 1, "kib": 1 << 10, "mib": 1 << 20}
LARGEST_ROOM = 1 << 40
"""Bytes of fast memory that can be asked about, at most."""


def schedule_answer(known: Known, asked: str) -> Answer:
    """Why a kernel does not run under a schedule, or with a tile of its output.

    Raises TangError where there is no such kernel, and where what follows the colon is neither.
    """
    name, _, rest = asked.partition(":")
    plan = _plan(known, name.strip(), asked)
    tile = _TILE.fullmatch(rest)
    if tile is not None:
        sides = [int(n) for n in re.findall(r"\d+", tile["sides"])]
        return tile_answer(plan, asked, sides, int(tile["room"]) * _UNITS[tile["unit"].lower()])
    if (rest.split() or [""])[0] not in SHAPES:
        raise TangError(
            f"'{rest.strip()}' is neither a schedule nor a tile",
            where=f"--why-not {asked}",
            mend=f"write KERNEL: SCHEDULE, which starts with one of {', '.join(SHAPES)}, or KERNEL: 64x64 in 16 KiB",
        )
    try:
        schedule = parse_schedule(rest.strip())
    except CodegenError as error:
        raise TangError(error.what, where=f"--why-not {asked}", mend=error.mend) from None
    return _of_schedule(known, plan, asked, schedule)


def _plan(known: Known, name: str, asked: str) -> KernelPlan:
    plans = [p for part in known.plans for group in part for p in group]
    for p in plans:
        if p.name == name or any(t.name == name for t in p.outputs):
            return p
    raise TangError(
        f"no kernel is named '{name}'",
        where=f"--why-not {asked}",
        mend=f"name one of {', '.join(p.name for p in plans)}",
    )


def ledger_of(known: Known, plan: KernelPlan) -> Ledger | None:
    """What a search found out about a kernel, if there was one."""
    evidence = known.extraction.evidence
    outputs = standalone(plan.outputs)
    return None if evidence is None else next((x for x in evidence.ledgers if x.kernel.outputs == outputs), None)


def _of_schedule(known: Known, plan: KernelPlan, asked: str, schedule: Schedule) -> Answer:
    x = ledger_of(known, plan)
    kernels = (plan.name,)
    if x is None:
        text = "no schedule was timed: optimize(..., seconds=) times them, and the first proposal was taken"
        return Answer(
            "why not", asked, "schedule", "it was not compared", (), kernels, reasons=(Reason("space", text),)
        )
    best = x.best()
    if schedule not in x.kernel.schedules:
        near = max(x.kernel.schedules, key=lambda s: _alike(s, schedule))
        text = f"the declared space of {plan.name} has {len(x.kernel.schedules)} schedules; the nearest is: {near}"
        return Answer(
            "why not",
            asked,
            "schedule",
            "it is not in the declared space",
            (),
            kernels,
            reasons=(Reason("space", text),),
        )
    n = x.kernel.schedules.index(schedule)
    details = () if best is None else (f"picked: {x.kernel.schedules[best]}, {_measured(x, best)}",)
    verdict, reason = _story(x, n, best)
    return Answer("why not", asked, "schedule", verdict, details, kernels, reasons=(reason,))


def _story(x: Ledger, n: int, best: int | None) -> tuple[str, Reason]:
    floor = x.kernel.floors[n]
    if n in x.refused:
        why = x.refused[n]
        return "it was refused", Reason("refused", f"{why.kind}: {why.why}")
    if n in x.timed and n == best:
        return "it was picked", Reason("measured", f"{_measured(x, n)}, and none that was measured is clearly faster")
    if n in x.timed and best is not None:
        if x.timed[best].clearly_less(x.timed[n]):
            text = f"{_measured(x, n)}, against {_measured(x, best)} for the one that was picked"
            return "it was measured, and is slower", Reason("measured", text)
        text = (
            f"{_measured(x, n)}, against {_measured(x, best)}: no difference beyond the noise, and it is declared later"
        )
        return "it is as fast within the noise", Reason("measured", text)
    if floor.seconds >= x.least:
        least, seen = say.seconds(floor.seconds), say.seconds(x.least)
        text = f"it takes at least {least} ({floor.binding}), and {seen} were measured for another schedule"
        return "its floor rules it out, so that it was not timed", Reason("floor", text)
    held = "nothing was measured" if best is None else f"the best that was measured takes {say.seconds(x.least)}"
    text = f"its floor is {say.seconds(floor.seconds)} ({floor.binding}); {held}: more time may show that it is faster"
    return "it was not timed, and could be faster", Reason("open", text)


def _measured(x: Ledger, n: int) -> str:
    t = x.timed[n]
    return f"{say.seconds(t.median)} ± {say.seconds(t.spread / 2)}"


def _alike(a: Schedule, b: Schedule) -> tuple[bool, int]:
    return a.shape == b.shape, len(set(str(a).split()) & set(str(b).split()))


def tile_answer(plan: KernelPlan, asked: str, sides: list[int], room: int) -> Answer:
    """Whether a tile of the last axes of a kernel's output fits `room` bytes, and which one moves least.

    Raises TangError where the output has fewer axes, or a number makes no sense.
    """
    t = plan.outputs[0]
    axes = ", ".join(i.name for i in t.axes)
    if not sides or len(sides) > len(t.axes) or min(sides) < 1 or not 1 <= room <= LARGEST_ROOM:
        raise TangError(
            f"a tile of {len(sides)} sides and {room} bytes cannot be asked about",
            where=f"--why-not {asked}",
            mend=f"give from 1 to {len(t.axes)} positive sides (of {axes}) and some memory",
        )
    box = dict(zip(t.axes[-len(sides) :], sides, strict=True))
    reads = _footprints(plan.outputs, box)
    own = sum(prod(box.get(i, 1) for i in u.axes) * BYTES[u.dtype] for u in plan.outputs)
    operands = sum(reads.values())
    said = " × ".join(map(str, sides))
    parts = [f"{own} B of {', '.join(u.name for u in plan.outputs)}", *(f"{n} B of {s}" for s, n in reads.items())]
    held = (
        f"one point of the folds at a time, a {said} tile holds {' and '.join(parts)}: {own + operands} B of {room} B"
    )
    reasons = [Reason("limit", held)]
    if own + operands > room:
        verdict = f"a {said} tile does not fit {_bytes(room)}"
        if 0 < operands <= room:
            deep = room // operands
            text = (
                f"with the {own} B of its results elsewhere (registers), its operands fit for {deep} points of a fold "
                f"at a time, {room // 2 // operands} where the next ones are fetched meanwhile"
            )
            reasons.append(Reason("limit", text))
    else:
        verdict = f"a {said} tile fits {_bytes(room)}"
    reasons += _best(plan, room)
    return Answer("why not", asked, "tile", verdict, (), (plan.name,), reasons=tuple(reasons))


def _best(plan: KernelPlan, room: int) -> list[Reason]:
    """The tile of the dual program for so much memory, with what it moves beside the floor."""
    if room < 2 or any(d for t in plan.outputs for i in t.axes for d in i.size.dims()):
        return []
    floor = traffic_floor(plan, capacity=room)
    if floor.tile is None or floor.tile_bytes is None:
        return []
    text = (
        f"least is moved by the tile {floor.tile}: {floor.tile_bytes} B, where no schedule with {_bytes(room)} moves "
        f"less than {floor.bytes} B"
    )
    return [Reason("floor", text)]


def _footprints(outputs: tuple[Tensor, ...], box: Mapping[Index, int]) -> dict[str, int]:
    """Bytes of each source that a tile reads at one point of the folds, by name."""
    found: dict[Source, int] = {}
    for s in walk(*(t.body for t in outputs)):
        if isinstance(s, Read):
            spans = []
            for c in s.coordinates:
                spans.append(_span(c, box) if isinstance(c, Affine) else max(box.values(), default=1))
            found[s.source] = max(found.get(s.source, 0), prod(spans) * BYTES[s.source.dtype])
    return {s.name: n for s, n in found.items()}


def _span(c: Affine, box: Mapping[Index, int]) -> int:
    """Values of a coordinate over a box: what its indices give, at most as many as lie between the ends."""
    inside = [i for i in c.indices() if i in box]
    reach = 1 + sum(abs(c.coefficient(i).value or 0) * (box[i] - 1) for i in inside)
    return min(prod(box[i] for i in inside), reach)


def _bytes(n: int) -> str:
    return next(
        (f"{n // size} {unit}" for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)) if n % size == 0), f"{n} B"
    )
