"""What `why` and `why_not` answer, as data and as text."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from tang_egg import report_format as say
from tang_egg.extract.derive import Step
from tang_egg.extract.explain import Reason
from tang_egg.report_model import Measured

WIDTH = 100


@dataclass(frozen=True, slots=True)
class Alternative:
    """Other kernels for a window: their predicted seconds, how many more than the chosen ones, what each writes."""

    what: str
    seconds: float
    difference: float
    kernels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question.

    `question`: "why" or "why not". `kind`: output, tensor, kernel, law, pair or candidate. `kernels`: those that the
    verdict speaks of. `steps`: the laws that led there. `predicted`: seconds of the window's kernels as chosen, 0 where
    several windows are spoken of. `measured`: a call of the whole graph, if it was run; `kernel_seconds`: the kernels
    of the verdict alone, if they were timed.
    """

    question: str
    subject: str
    kind: str
    verdict: str
    details: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    predicted: float = 0.0
    alternatives: tuple[Alternative, ...] = ()
    reasons: tuple[Reason, ...] = ()
    measured: Measured | None = None
    kernel_seconds: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        return render_answer(self)


def render_answer(a: Answer, width: int = WIDTH) -> str:
    """An answer as text."""
    width = max(width, 40)
    title = f"{a.question} {a.subject} "
    lines = [title + "─" * max(width - len(title), 3), *_wrapped(a.verdict, 0, width)]
    for d in a.details:
        lines += _wrapped(d, 0, width)
    if a.steps:
        lines += ["", "the laws that led there:"]
    for n, s in enumerate(a.steps, 1):
        lines.append(f"  {n}. {say.step_law(s)}  [{s.holds}, {s.rounding}]")
        lines += [*_wrapped(s.before, 5, width), *_wrapped(f"→ {s.after}", 5, width)]
    if a.reasons:
        lines += ["", "because:"]
    for r in a.reasons:
        lines += _wrapped(reason(r), 2, width)
    if a.alternatives:
        chosen = f" (as chosen {say.seconds(a.predicted)})" if a.predicted else ""
        lines += ["", f"other choices, by the cost model{chosen}:"]
    for x in a.alternatives:
        lines += _wrapped(f"{difference(x.difference):>10}  {x.what}", 2, width, 12)
        lines += _wrapped(f"{say.seconds(x.seconds)} in all; kernels for {'; '.join(x.kernels)}", 14, width)
    timed = [f"{name} {say.seconds(t)}" for name, t in a.kernel_seconds]
    if timed or a.measured:
        lines.append("")
    if timed:
        lines += _wrapped(f"measured alone: {', '.join(timed)}", 0, width)
    if a.measured:
        lines += _wrapped(f"measured: {say.measured(a.measured)}, the whole graph", 0, width)
    return "\n".join(lines) + "\n"


def reason(r: Reason) -> str:
    """A reason on one line, its kind first."""
    decided = f": {say.seconds(r.seconds[0])} predicted against {say.seconds(r.seconds[1])}" if r.seconds else ""
    return f"[{r.kind}] {r.text}{decided}"


def difference(value: float) -> str:
    """Seconds more or fewer, signed; `±0` where the model sees none."""
    if abs(value) < 5e-13:
        return "±0"
    return f"{'+' if value > 0 else '−'}{say.seconds(abs(value))}"


def _wrapped(text: str, indent: int, width: int, hang: int = 2) -> list[str]:
    """Lines of at most `width` columns; later ones stand `hang` further in."""
    return textwrap.wrap(
        text, width, initial_indent=" " * indent, subsequent_indent=" " * (indent + hang),
        drop_whitespace=True, break_on_hyphens=False,
    ) or [""]  # fmt: skip
