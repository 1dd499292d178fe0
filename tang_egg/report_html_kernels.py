"""The derivation and the kernels of a page, side by side: one pair for each kernel, one panel for each use of a law."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tang_egg import report_format as say
from tang_egg.extract.derive import Step
from tang_egg.report_html_text import changed, code, esc, folded, listing, rows, tag
from tang_egg.report_model import Kernel, Pass, Report

SOURCES = 2_000_000
"""Characters that the sources take on a page, their markup included; the rest is left to `--source`."""


def derivation_section(r: Report, timed: Mapping[str, float]) -> str:
    """All kernels with the laws that led to each."""
    algebra = {x.law: x.algebra for x in r.rewrites}
    sources = _Sources()
    pairs = [
        tag(
            "div",
            tag("div", tag("ol", *_steps(n, k, algebra), _class="steps")),
            _kernel(n, k, r.target, timed.get(k.name), sources),
            _class="pair",
        )
        for n, k in enumerate(r.kernels)
    ]
    options = [tag("option", esc(f"kernel {k.name}"), value=n) for n, k in enumerate(r.kernels)]
    controls = tag(
        "div",
        tag("button", "← previous", type="button", id="back"),
        tag("button", "next →", type="button", id="next"),
        tag("span", "", id="where", _class="where", aria_live="polite"),
        tag("select", *options, id="choose", aria_label="kernel"),
        tag("button", "show all", type="button", id="whole"),
        _class="controls",
    )
    note = tag(
        "p",
        "Each step is one use of a law on the way from what the graph says to what the kernel computes: ",
        tag("del", "what stood there"),
        " and ",
        tag("ins", "what took its place"),
        ". The arrow keys step as well.",
        _class="soft",
    )
    steps = tag("div", controls, *pairs, id="derivation-steps")
    return tag("section", tag("h2", "Derivation and kernels"), note, steps, id="derivation")


def _steps(number: int, k: Kernel, algebra: Mapping[str, str]) -> Iterator[str]:
    leads = tag("p", "leads to ", tag("a", esc(f"kernel {k.name}"), href=f"#kernel-{number}"), _class="soft")
    if not k.derivation:
        what = "As the graph states it: no law was needed." if k.predicted else "Cut off a kernel by the target."
        yield tag("li", tag("p", what), leads, _class="step")
    for n, step in enumerate(k.derivation, 1):
        yield tag("li", *_step(n, len(k.derivation), step, algebra.get(step.law, "")), leads, _class="step")


def _step(n: int, of: int, step: Step, algebra: str) -> Iterator[str]:
    before, after = changed(step.before, step.after)
    yield tag("p", tag("span", esc(say.step_law(step)), _class="law"), tag("span", f" · {n} of {of}", _class="soft"))
    marks = say.marks(step.holds, step.rounding).split("; ")
    yield tag("p", *(tag("span", esc(m), _class=f"badge {esc(kind)}")
                     for m, kind in zip(marks, (step.holds, step.rounding), strict=False)))  # fmt: skip
    yield tag("h4", "before") + tag("pre", tag("code", before))
    yield tag("h4", "after") + tag("pre", tag("code", after))
    if step.place:
        yield tag("p", esc(f"in {step.tensor}: {step.place}"), _class="soft")
    if step.because:
        yield folded("because", tag("pre", tag("code", esc("\n".join(step.because)))))
    if algebra:
        yield folded("the law", tag("pre", tag("code", esc(algebra))))


class _Sources:
    """Sources that a page shows already, by text: kernels that differ only in their arrays have one in common."""

    def __init__(self) -> None:
        self.shown: dict[str, int] = {}
        self.left = SOURCES

    def show(self, number: int, k: Kernel, language: str) -> str:
        """The source, or where it stands, or why it does not."""
        if not k.source:
            return ""
        lines = k.source.rstrip("\n").count("\n") + 1
        if k.source in self.shown:
            first = self.shown[k.source]
            return tag("p", f"{language}: the same as that of ", tag("a", "an earlier kernel", href=f"#kernel-{first}"))
        shown = listing(k.source)
        if len(shown) > self.left:
            return tag(
                "p", esc(f"{language}: {lines} lines, left out of this page; tang-saturate --source prints them")
            )
        self.left -= len(shown)
        self.shown[k.source] = number
        button = tag("button", "copy", type="button", _class="copy")
        return folded(esc(f"{language}, {lines} lines"), button, shown, shown=lines <= 80)


def _kernel(number: int, k: Kernel, target: str, measured: float | None, sources: _Sources) -> str:
    counted = say.passes(k) + (f", predicted {say.seconds(k.predicted)}" if k.predicted else "")
    counted += f", measured {say.seconds(measured)}" if measured is not None else ""
    lines = [f"{o.name}[{', '.join(o.axes) or '()'}]: {o.dtype} = {o.mathematics}" for o in k.outputs]
    lines += [f"{e.before} = {e.after}" for e in k.shared]
    parts = [
        tag("h3", esc(f"kernel {k.name}")),
        tag("p", esc(counted), _class="soft"),
        tag("pre", tag("code", esc("\n".join(lines))), tabindex="0"),
        *(_pass(p) for p in k.passes),
    ]
    if k.schedule:
        named = ", ".join(f"{a} is {b}" for a, b in k.indices)
        parts += [tag("h4", "schedule"), tag("p", code(k.schedule))]
        parts += [tag("p", esc(f"indices in schedule and source: {named}"), _class="soft")] if named else []
        parts += [tag("p", esc(k.tuned), _class="soft")] if k.tuned else []
    parts.append(sources.show(number, k, {"c": "C", "cuda": "CUDA"}.get(target, target)))
    return tag("article", *parts, _class="kernel", id=f"kernel-{number}")


def _pass(p: Pass) -> str:
    head = ("part", "fold", "of", "follows at", "when at moves from old to new it becomes")
    cells = ([code(x.name), esc(x.fold), code(x.lift), code(x.at) if x.at else "", code(x.carry) if x.at else ""]
             for x in p.parts)  # fmt: skip
    return tag("h4", esc(say.pass_head(p).removesuffix("; its state:"))) + rows(head, cells, "parts")
