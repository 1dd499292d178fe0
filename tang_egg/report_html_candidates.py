"""The tables of a page: candidates with what each would cost, refused forms, laws, and the windows' e-graphs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tang_egg import report_format as say
from tang_egg.report_answer import difference
from tang_egg.report_html_text import bar, changed, code, esc, folded, rows, tag
from tang_egg.report_model import Candidate, Report, Rewrite

_CANDIDATES, _EQUATIONS, _REFUSALS, _OPEN = 400, 40, 60, 30
"""How many a page holds of candidates, of equations of one law and of refusals; and how many are shown unasked."""


def candidates_section(r: Report, prices: Mapping[int, float | None]) -> str:
    """The candidates as a table that can be sorted, then the one-pass forms that were refused."""
    shown = r.candidates[:_CANDIDATES]
    longest = _scale(r)
    heads = ("#", "verdict", "predicted", "compute", "traffic", "reads", "kernel")
    head = tag("tr", *(tag("th", tag("button", h, type="button"), scope="col") for h in heads))
    body = [_candidate(c, longest, prices) for c in shown]
    table = tag("table", tag("thead", head), tag("tbody", *body), _class="sortable")
    wide = tag("div", table, _class="wide", tabindex="0", role="region", aria_label="candidates")
    text = (
        "Kernels that could run. The cheapest set of them that writes all outputs was chosen; the verdict of another "
        "says how much longer the cheapest set with it would take, or that no set has a use for it. "
        f"Bars end at {say.seconds(longest)}."
    )
    parts = [
        tag("p", esc(text), _class="soft"),
        wide if len(shown) <= _OPEN else folded(f"all {len(shown)}", wide, shown=True),
    ]
    parts += _more(len(r.candidates) - len(shown), "tang-saturate --all")
    if r.refusals:
        some = r.refusals[:_REFUSALS]
        cells = ([code(x.sum), code(x.statistic), esc(x.reason)] for x in some)
        table = rows(("sum", "along", "why not"), cells)
        parts += [tag("h3", "One-pass forms that were found and refused"), table]
        parts += _more(len(r.refusals) - len(some), "tang-saturate --all")
    return tag("section", tag("h2", "Candidates"), *parts, id="candidates")


def _scale(r: Report) -> float:
    """The seconds that the longest bar stands for: a few hopeless candidates must not flatten all others."""
    chosen = max((c.seconds for c in r.candidates if c.chosen), default=0.0)
    return min(max((c.seconds for c in r.candidates), default=0.0), 3.0 * chosen) or 1.0


def _candidate(c: Candidate, longest: float, prices: Mapping[int, float | None]) -> str:
    verdict, key = _verdict(c, prices)
    form = "".join(tag("code", esc(line), _class="form") for line in c.mathematics)
    time = esc(say.seconds(c.seconds)) + bar(c.seconds / longest if longest else 0.0, "chosen" if c.chosen else "")
    cells = (
        tag("td", str(c.number), _class="number", data_key=c.number),
        tag("td", verdict, data_key=f"{key:.9e}"),
        tag("td", time, data_key=f"{c.seconds:.9e}"),
        tag("td", esc(say.amount(c.flops, "flop")), _class="number", data_key=f"{c.flops:.9e}"),
        tag("td", esc(say.amount(c.bytes, "B")), _class="number", data_key=f"{c.bytes:.9e}"),
        tag("td", "<br>".join(code(x) for x in c.reads) or "inputs only", data_key=len(c.reads)),
        tag("td", form, data_key=", ".join(c.writes)),
    )
    return tag("tr", *cells, _class="chosen" if c.chosen else None)


def _verdict(c: Candidate, prices: Mapping[int, float | None]) -> tuple[str, float]:
    """In words, and a number to sort by."""
    if c.chosen:
        return tag("strong", "chosen"), -1.0
    if c.number not in prices:
        return tag("span", "not chosen", _class="soft"), 1e9
    more = prices[c.number]
    if more is None:
        return tag("span", "of no use", _class="soft"), 1e8
    return esc(f"{difference(more)} with it"), more


def laws_section(r: Report) -> str:
    """The laws that united something, with what each did."""
    cells = (
        [code(x.law), esc(str(x.matches)), esc(str(x.edges)), esc(say.marks(x.holds, x.rounding)), _uses(x)]
        for x in r.rewrites
    )
    table = rows(("law", "found", "asserted", "marks", "what it says and did"), cells)
    return tag("section", tag("h2", "Laws that applied"), table, id="laws")


def _uses(x: Rewrite) -> str:
    shown = x.equations[:_EQUATIONS]
    lines: list[str] = []
    for e in shown:
        before, after = changed(e.before, e.after)
        lines.append(tag("code", f"{before}<br>→ {after}", _class="form"))
    inside = "<br>".join(lines)
    rest = "".join(_more(len(x.equations) - len(shown), "tang-saturate --all"))
    said = tag("code", esc(x.algebra), _class="form")
    return said + (folded(say.count(len(x.equations), "equation"), inside, rest) if shown else "")


def windows_section(r: Report) -> str:
    """What saturation made of each distinct window."""
    heads = ("window", "alike", "tensors", "e-nodes", "classes", "took", "end")
    cells = (
        [
            str(p.number),
            str(p.copies),
            ", ".join(map(code, p.tensors)) if len(p.tensors) <= 12 else folded(
                say.count(len(p.tensors), "tensor"), ", ".join(map(code, p.tensors))),
            str(p.nodes),
            str(p.classes),
            esc(say.seconds(p.seconds)),
            "nothing changed any more" if p.complete else esc(f"stopped by {p.stopped}"),
        ]
        for p in r.windows
    )  # fmt: skip
    return tag("section", tag("h2", "Windows and their e-graphs"), rows(heads, cells), id="windows")


def _more(left: int, how: str) -> Iterator[str]:
    if left > 0:
        yield tag("p", esc(f"… and {left} more ({how} shows them)"), _class="soft")
