"""The report as one page: inline style and script, no other file, nothing loaded from anywhere.

    page ::= head figures, the graph, the derivation beside its kernels, candidates, laws, windows, times and errors,
             floors where they are given, environment

What a content security policy can forbid is forbidden: the page names its own style and script by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence

from tang_egg import report_format as say
from tang_egg.report_html_candidates import candidates_section, laws_section, windows_section
from tang_egg.report_html_kernels import derivation_section
from tang_egg.report_html_script import SCRIPT
from tang_egg.report_html_style import STYLE
from tang_egg.report_html_text import bar, code, esc, folded, rows, tag
from tang_egg.report_model import Report

_LONG = 60
"""Lines of a graph above which it is folded away."""

_SECTIONS = (
    ("graph", "Graph"),
    ("derivation", "Derivation and kernels"),
    ("candidates", "Candidates"),
    ("laws", "Laws"),
    ("windows", "E-graphs"),
    ("times", "Time and error"),
    ("floors", "Floors"),
    ("environment", "Environment"),
)


def render_html(
    report: Report,
    *,
    environment: Sequence[tuple[str, str]] = (),
    prices: Mapping[int, float | None] | None = None,
    kernel_seconds: Mapping[str, float] | None = None,
    floors: str = "",
) -> str:
    """The whole page.

    `environment`: names and values of versions and the machine. `prices`: for candidates by number, how many seconds
    more all kernels would take with it; None where no choice has a use for it. `kernel_seconds`: measured kernels.
    `floors`: the section that report_floor makes; the page has none without it.
    """
    timed = kernel_seconds or {}
    parts = (
        _graph(report),
        derivation_section(report, timed),
        candidates_section(report, prices or {}),
        laws_section(report),
        windows_section(report),
        _times(report, timed),
        *([floors] if floors else []),
        _environment(environment),
    )
    links = [tag("a", esc(title), href=f"#{name}") for name, title in _SECTIONS if name != "floors" or floors]
    theme = tag("button", "theme: auto", type="button", id="theme")
    body = (
        tag("a", "to the content", href="#graph", _class="skip"),
        tag("header", *_header(report)),
        tag("nav", tag("div", *links, theme), aria_label="sections"),
        tag("main", *parts),
        tag(
            "footer",
            tag("p", "Predicted times come from a cost model that orders candidates; they are no measurements."),
        ),
        f"<script>{SCRIPT}</script>",
    )
    return "\n".join(("<!DOCTYPE html>", '<html lang="en">', _head(report), "<body>", *body, "</body>", "</html>", ""))


def _head(report: Report) -> str:
    policy = f"default-src 'none'; style-src '{_digest(STYLE)}'; script-src '{_digest(SCRIPT)}'; base-uri 'none'"
    return "\n".join(
        (
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{esc(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<meta name="referrer" content="no-referrer">',
            tag("title", esc(f"{report.name}: from mathematics to kernels")),
            f"<style>{STYLE}</style>",
            "</head>",
        )
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _header(r: Report) -> Iterator[str]:
    yield tag("h1", esc(r.name))
    yield tag("p", esc(say.shorter(r)))
    figures = [("predicted", say.seconds(r.predicted))]
    if r.measured:
        figures += [("measured", say.seconds(r.measured.median)), ("spread", say.seconds(r.measured.spread))]
    if r.verified:
        figures.append(("largest error", f"{r.verified.worst:.2g}"))
    figures += [
        ("kernels", str(len(r.kernels))),
        ("e-nodes", str(sum(p.nodes for p in r.windows))),
        ("candidates", str(len(r.candidates))),
        ("target", r.target or "not compiled"),
    ]
    yield tag("dl", *(tag("div", tag("dt", esc(n)), tag("dd", esc(v))) for n, v in figures), _class="figures")


def _graph(r: Report) -> str:
    text = r.graph.rstrip("\n")
    lines = text.count("\n") + 1
    listing = tag("pre", tag("code", esc(text)), tabindex="0")
    shown = listing if lines <= _LONG else folded(esc(f"the graph, {lines} lines"), listing)
    note = tag("p", esc(f"{say.count(len(r.inputs), 'input')}, {say.count(r.tensors, 'tensor')}; outputs: "),
               ", ".join(code(o) for o in r.outputs), _class="soft")  # fmt: skip
    return tag("section", tag("h2", "The graph"), note, shown, id="graph")


def _times(r: Report, timed: Mapping[str, float]) -> str:
    facts: list[tuple[str, str]] = [("predicted", f"{say.seconds(r.predicted)} for all kernels, by the cost model")]
    if not r.target:
        facts.append(("measured", "nothing was compiled or run"))
    if r.measured:
        facts.append(("measured", say.measured(r.measured)))
    if r.verified:
        facts.append(("verified", f"{say.count(r.verified.runs, 'run')} against the float64 interpreter"))
    elif r.target:
        facts.append(("verified", "not verified"))
    parts = [tag("dl", *(tag("dt", esc(n)) + tag("dd", esc(v)) for n, v in facts), _class="facts")]
    if r.verified:
        errors = ([code(n), f"{e:.3g}"] for n, e in r.verified.errors)
        parts += [tag("h4", "largest |error| / largest |value|"), rows(("output", "error"), errors)]
    if timed:
        longest = max(timed.values())
        each = ([code(n), esc(say.seconds(t)), bar(t / longest if longest else 0.0)] for n, t in timed.items())
        parts += [tag("h4", "kernels, measured one by one"), rows(("kernel", "time", ""), each)]
    most = max((t for _, t in r.seconds), default=0.0)
    stages = ([esc(n), esc(say.seconds(t)), bar(t / most if most else 0.0)] for n, t in r.seconds)
    parts += [tag("h4", "what this took"), rows(("stage", "time", ""), stages)]
    return tag("section", tag("h2", "Time and error"), *parts, id="times")


def _environment(environment: Sequence[tuple[str, str]]) -> str:
    facts = [tag("dt", esc(n)) + tag("dd", code(v)) for n, v in environment]
    shown = tag("dl", *facts, _class="facts") if facts else tag("p", "not recorded", _class="soft")
    return tag("section", tag("h2", "Environment"), shown, id="environment")
