"""The report as Markdown: headings, tables, and fences around everything that is not prose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tang_egg import report_format as say
from tang_egg.report_model import Kernel, Report


def render_markdown(report: Report, *, everything: bool = False, source: bool = False) -> str:
    """The report. `everything`: no list is cut. `source`: the whole C file with its prelude."""
    return "\n".join(_lines(report, everything, source)) + "\n"


def _lines(r: Report, everything: bool, source: bool) -> Iterator[str]:
    yield f"# {r.name}"
    yield from ("", "## The graph", "", *_fence(r.graph.rstrip("\n")))
    yield from ("", "## Discovered rewrites", "")
    yield from (f"- window {p.number}: {say.piece(p)}" for p in r.windows)
    yield from ("", "| law | algebra | found | asserted | holds | rounding |", "|---|---|--:|--:|---|---|")
    for x in r.rewrites:
        yield f"| {x.law} | {_code(x.algebra)} | {x.matches} | {x.edges} | {x.holds} | {x.rounding} |"
    for x in r.rewrites:
        shown = x.equations if everything else x.equations[: say.SHOWN_EQUATIONS]
        if shown:
            text = [f"{e.before}\n→ {e.after}" for e in shown]
            yield from ("", f"### {x.law}", "", *_fence("\n\n".join(text)))
        yield from _rest(len(x.equations) - len(shown))
    yield from ("", "## From the naive graph to the pick", "", f"{say.shorter(r)}.")
    for k in r.kernels:
        yield from _derivation(k)
    yield from _candidates(r, everything)
    yield from ("", "## The kernels" if r.target else "## The kernels (not compiled)")
    for k in r.kernels:
        yield from _kernel(k, not source)
    if source and r.source:
        yield from ("", "## The whole source", "", *_fence(r.source.rstrip("\n"), "c"))
    yield from ("", "## Time and error", "", *_results(r))


def _derivation(k: Kernel) -> Iterator[str]:
    yield from ("", f"### Derivation of {k.name}", "")
    if not k.derivation:
        yield "As the graph states it: no law was needed."
    for n, step in enumerate(k.derivation, 1):
        yield from (f"{n}. **{say.step_law(step)}** ({step.holds}, {step.rounding}){say.step_place(step)}", "")
        shown = "\n".join((step.before, f"→ {step.after}", *(f"because {fact}" for fact in step.because)))
        yield from (f"   {line}".rstrip() for line in (*_fence(shown), ""))


def _candidates(r: Report, everything: bool) -> Iterator[str]:
    chosen = sum(c.chosen for c in r.candidates)
    shown = r.candidates if everything else r.candidates[: max(say.SHOWN_CANDIDATES, chosen)]
    yield from ("", "## Candidates", "")
    yield from ("| | chosen | predicted | compute | traffic | kernel |", "|--:|---|--:|--:|--:|---|")
    for c in shown:
        form = "<br>".join(_code(line) for line in c.mathematics)
        counts = f"{say.seconds(c.seconds)} | {say.amount(c.flops, 'flop')} | {say.amount(c.bytes, 'B')}"
        yield f"| {c.number} | {'**yes**' if c.chosen else ''} | {counts} | {form} |"
    yield from _rest(len(r.candidates) - len(shown))
    yield from ("", f"Together the chosen ones take {say.seconds(r.predicted)} by the cost model.")
    if r.refusals:
        yield from (
            "",
            "### One-pass forms that were found and refused",
            "",
            "| sum | along | why not |",
            "|---|---|---|",
        )
        refused = r.refusals if everything else r.refusals[: say.SHOWN_REFUSALS]
        yield from (f"| {_code(x.sum)} | {_code(x.statistic)} | {x.reason} |" for x in refused)
        yield from _rest(len(r.refusals) - len(refused))


def _kernel(k: Kernel, source: bool) -> Iterator[str]:
    yield from ("", f"### {k.name}", "", f"{say.passes(k)}, predicted {say.seconds(k.predicted)}", "")
    lines = [f"{o.name}[{', '.join(o.axes) or '()'}]: {o.dtype} = {o.mathematics}" for o in k.outputs]
    for p in k.passes:
        lines.append(say.pass_head(p))
        for x in p.parts:
            first, *more = say.part(x)
            lines += [f"    {first}", *(f"        {line}" for line in more)]
    lines += [f"{e.before} = {e.after}" for e in k.shared]
    yield from _fence("\n".join(lines))
    if k.schedule:
        named = ", ".join(f"{a} is {b}" for a, b in k.indices)
        yield from ("", f"Schedule: `{k.schedule}`. Indices in schedule and source: {named}.")
        if k.tuned:
            yield from ("", f"{k.tuned[0].upper()}{k.tuned[1:]}.")
    if k.source and source:
        yield from ("", *_fence(k.source.rstrip("\n"), "c"))


def _results(r: Report) -> Iterator[str]:
    if not r.target:
        yield "- nothing was compiled or run"
    if r.measured:
        yield f"- measured: {say.measured(r.measured)}"
    if r.verified:
        yield f"- verified: {say.verified(r.verified)}"
    yield "- this took: " + ", ".join(f"{name} {say.seconds(t)}" for name, t in r.seconds)


def _fence(text: str, language: str = "text") -> Iterable[str]:
    return (f"```{language}", text, "```")


def _code(text: str) -> str:
    """Inline code that may stand in a table."""
    return "`" + text.replace("|", "\\|").replace("`", "'") + "`" if text else ""


def _rest(left: int) -> Iterator[str]:
    if left > 0:
        yield from ("", f"… and {left} more (`--all` shows them)")
