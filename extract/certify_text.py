"""A selection certificate as a page of text."""

from __future__ import annotations

import math

from tang_egg.cost.time import said
from tang_egg.extract.certify_record import SelectionCertificate

SHOWN = 12
"""Lines of a kind that are shown."""


def certificate_text(c: SelectionCertificate) -> str:
    """The claim, what it rests on, and what was chosen."""
    n = c.counts
    lines = [claim(c)]
    lines.append(
        f"space: {n.schedules} schedules of {len(c.kernels)} kernels; {n.timed} timed, {n.refused} refused, "
        f"{n.deferred} of candidates that others dominate, {n.pruned} ruled out by floors, {n.open} open"
    )
    lines += [f"  {line}" for line in c.space]
    lines.append(
        f"measured {c.cache} on {dict(c.machine).get('device', 'this device')}, {c.threads} threads; the search took "
        f"{said(c.seconds)} and ended: {ENDS.get(c.stopped, c.stopped)}"
    )
    for w in c.windows:
        times = f" ({w.copies} times)" if w.copies > 1 else ""
        lines.append(f"window{times}: {said(w.upper)} measured, bound {said(w.lower)}")
        floors = {k.key: (k.floor, k.binding) for k in c.kernels}
        for k in w.chosen[:SHOWN]:
            low, binds = sum(floors[x][0] for x in k.kernels), floors[k.kernels[0]][1]
            lines.append(f"  {k.writes}: {said(k.seconds)}, floor {said(low)} ({binds})")
            lines += [f"    {s}" for s in k.schedules]
    refused = [(r.kind, r.schedule, r.why) for k in c.kernels for r in k.refused]
    lines += [f"refused ({kind}): {schedule}: {why}" for kind, schedule, why in refused[:SHOWN]]
    lines += [f"FLOOR VIOLATED: {v}" for v in c.violations]
    if not c.proves:
        lines.append(
            "the floors rest on estimates for this class of machines: `tang-doctor --probe` measures the device"
        )
    return "\n".join(lines) + "\n"


ENDS = {
    "measured": "the choice rests on measurements",
    "gap": "the gap is as small as was asked for",
    "time": "its time was over",
    "interrupted": "it was interrupted",
    "exhausted": "nothing was left to measure",
}


def claim(c: SelectionCertificate) -> str:
    """The claim on one line."""
    if c.total == math.inf:
        return "nothing was measured: the kernels are those of the model, and nothing is claimed"
    noise = f" ± {said(c.noise / 2)}"
    head = f"{said(c.total)}{noise}, kernel after kernel"
    if c.violations:
        return f"{head}; a measured time is below its floor, so that nothing is claimed"
    if c.gap <= 0:
        return f"{head}; no choice of this space takes less"
    within = ", which is within the noise" if c.closed else ""
    return f"{head}; no choice of this space takes less than {said(c.bound)}: a gap of {c.share:.1%}{within}"
