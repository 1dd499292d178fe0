"""The page: all text is text, nothing is loaded from anywhere, and every step, kernel and candidate is there."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tang_egg import library, report_html_kernels
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.examples import EXAMPLES
from tang_egg.pipeline import extract, optimize
from tang_egg.report import build_report
from tang_egg.report_html import render_html
from tang_egg.report_html_text import changed, esc, listing
from tang_egg.report_model import Measured, Report

VOID = {"meta", "br"}
LOADING = {"img", "link", "iframe", "object", "embed", "base", "audio", "video", "form", "source", "track"}
EVIL = """</script><img src=x onerror=alert(1)> "quoted" 'single' & <b>http://example.org/x.js</b> \x00\u202e"""


@dataclass
class Node:
    """An element of a parsed page."""

    name: str
    attributes: dict[str, str | None]
    children: list[Node | str] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        yield self
        for c in self.children:
            if isinstance(c, Node):
                yield from c.walk()

    def all(self, name: str, kind: str = "") -> list[Node]:
        """Elements below with a tag name and a class."""
        return [
            n for n in self.walk()
            if n.name == name and (not kind or kind in (n.attributes.get("class") or "").split())
        ]  # fmt: skip

    def text(self) -> str:
        return "".join(c if isinstance(c, str) else c.text() for c in self.children)


class Page(HTMLParser):
    """Reads a page strictly: every element is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("", {})
        self.open = [self.root]
        self.feed(text)
        self.close()
        assert len(self.open) == 1, f"left open: {[n.name for n in self.open]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({k for k, _ in attrs}) == len(attrs), attrs
        made = Node(tag, dict(attrs))
        self.open[-1].children.append(made)
        if tag not in VOID:
            self.open.append(made)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().name == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def read(text: str) -> Node:
    return Page(text).root


def check_closed(text: str) -> Node:
    """A page that loads nothing, runs its own script only, and says so in its policy."""
    page = read(text)
    (style,), (script,) = page.all("style"), page.all("script")
    assert not {n.name for n in page.walk()} & LOADING
    for n in page.walk():
        for key, value in n.attributes.items():
            assert not key.startswith("on"), f"{n.name} has a handler {key}"
            assert key not in ("src", "srcset", "action", "style", "xlink:href", "background", "data"), (
                f"{n.name} {key}"
            )
            assert key != "href" or (value or "").startswith("#"), f"{n.name} leads to {value}"
    assert not re.search(r"url\(|@import|https?:", style.text())
    assert not re.search(r"fetch\(|XMLHttpRequest|WebSocket|import\(|eval\(|Function\(|https?:", script.text())
    policy = next(m.attributes["content"] or "" for m in page.all("meta") if m.attributes.get("http-equiv"))
    assert policy.startswith("default-src 'none'")
    for kind, node in (("style-src", style), ("script-src", script)):
        digest = base64.b64encode(hashlib.sha256(node.text().encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    ids = [n.attributes["id"] for n in page.walk() if "id" in n.attributes]
    assert len(set(ids)) == len(ids)
    assert {(n.attributes["href"] or "#")[1:] for n in page.all("a")} <= set(ids)
    return page


@pytest.fixture(scope="module")
def compiled_report() -> Report:
    compiled = optimize(graph("small", P=library.softmax(te.input("X", (9, 40)))))
    return replace(build_report(compiled.extraction, compiled), measured=Measured(1.2e-5, 1e-6, 15, (("n", 128),)))


def test_a_page_is_closed_and_has_every_section(compiled_report: Report) -> None:
    page = check_closed(render_html(compiled_report, environment=[("python", "3.11")], kernel_seconds={"P": 1.1e-5}))
    heads = [h.text() for h in page.all("h2")]
    assert heads == [
        "The graph", "Derivation and kernels", "Candidates", "Laws that applied", "Windows and their e-graphs",
        "Time and error", "Environment",
    ]  # fmt: skip
    text = page.text()
    for said in ("12 µs per call, median of 15", "n=128", "measured 11 µs", "largest |error|", "python", "3.11"):
        assert said in text, said


def test_every_step_is_there_with_its_law_its_marks_and_its_kernel(compiled_report: Report) -> None:
    page = read(render_html(compiled_report))
    (kernel,) = compiled_report.kernels
    steps = page.all("li", "step")
    assert len(steps) == len(kernel.derivation) > 0
    for shown, step in zip(steps, kernel.derivation, strict=True):
        before, after = [p.text() for p in shown.all("pre")][:2]
        assert (before, after) == (step.before, step.after)
        assert shown.all("span", "law")[0].text() == step.law
        assert shown.all("span", step.holds) and shown.all("span", step.rounding)
        assert shown.all("del") and shown.all("ins")
        assert [a.text() for a in shown.all("a")] == [f"kernel {kernel.name}"]


def test_a_kernel_shows_its_passes_its_schedule_and_its_source(compiled_report: Report) -> None:
    (shown,) = read(render_html(compiled_report)).all("article", "kernel")
    (kernel,) = compiled_report.kernels
    lines = [n.text() for n in shown.all("span", "line")]
    assert "\n".join(lines) == kernel.source.rstrip("\n")
    assert kernel.schedule in shown.text()
    cells = [td.text() for td in shown.all("td")]
    assert all(p.carry in cells for p in kernel.passes[0].parts if p.at)
    assert [b.text() for b in shown.all("button", "copy")] == ["copy"]


def test_candidates_can_be_sorted_and_say_what_they_would_cost(compiled_report: Report) -> None:
    prices = {2: 3.1e-4, 3: None}
    page = read(render_html(compiled_report, prices=prices))
    (table,) = page.all("table", "sortable")
    rows = [r for r in table.all("tr") if r.all("td")]
    assert len(rows) == len(compiled_report.candidates)
    cells = [[td.text() for td in r.all("td")] for r in rows]
    assert [c[1] for c in cells[:4]] == ["chosen", "+310 µs with it", "of no use", "not chosen"]
    for row, c in zip(rows, compiled_report.candidates, strict=True):
        keys = [td.attributes["data-key"] or "" for td in row.all("td")]
        assert float(keys[2]) == pytest.approx(c.seconds) and int(keys[0]) == c.number
    assert len(table.all("rect")) == len(rows)
    assert len([b for th in table.all("th") for b in th.all("button")]) == 7


def test_text_of_the_user_stays_text(compiled_report: Report) -> None:
    report = replace(compiled_report, name=EVIL, graph=f"# {EVIL}\n{compiled_report.graph}", target="c")
    report = replace(report, kernels=(replace(report.kernels[0], source=f"/* {EVIL} */\n"),))
    page = check_closed(render_html(report, environment=[("command", f"tang-saturate {EVIL}")]))
    plain = EVIL.replace("\x00", "\\u0000").replace("\u202e", "\\u202e")
    assert page.all("h1")[0].text() == plain
    assert page.text().count(plain) >= 4


def test_a_graph_with_a_hostile_name_becomes_a_page() -> None:
    hostile = graph("<script>alert('x')</script>", Y=library.softmax(te.input("X", (4, 4))))
    page = check_closed(render_html(build_report(extract(hostile))))
    assert page.all("h1")[0].text() == "<script>alert('x')</script>"


@pytest.mark.parametrize("name", ["attention", "transformer_block", "gated_recurrence", "square", "variance"])
def test_pages_of_examples_are_closed(name: str) -> None:
    report = build_report(extract(EXAMPLES[name]()))
    page = check_closed(render_html(report))
    steps = sum(max(1, len(k.derivation)) for k in report.kernels)
    assert len(page.all("li", "step")) == steps
    assert len(page.all("article", "kernel")) == len(report.kernels)
    assert len(page.all("option")) == len(report.kernels)
    assert "nothing was compiled or run" in page.text()


def test_a_long_graph_is_folded_and_sources_have_a_limit(
    compiled_report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_html_kernels, "SOURCES", 30_000)
    kernel = compiled_report.kernels[0]
    many = tuple(replace(kernel, name=f"k{n}", source=f"// {n}\n" + "x = 1;\n" * 400) for n in range(4))
    report = replace(compiled_report, graph="\n".join(f"line {n}" for n in range(500)), kernels=(*many, many[0]))
    text = render_html(report)
    page = check_closed(text)
    assert page.text().count("401 lines, left out of this page") == 2
    assert page.text().count("the same as that of an earlier kernel") == 1
    assert any("the graph, 500 lines" in s.text() for s in page.all("summary"))
    without = len(render_html(replace(report, kernels=tuple(replace(k, source="") for k in report.kernels))))
    assert len(text) - without < 31_500


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("sum[j](a[i, j])", "pass[j](exp(b[i, j] + at), at=-m[i])"),
        ("x * 1", "x"),
        ("", "x"),
        ("x", ""),
        ("same", "same"),
        ("a<b & c", "a<=b & c"),
        ("recip(row_sum[i]) * sum[j](w[i, j])", "sum[j](w[i, j] / row_sum[i])"),
    ],
)
def test_both_sides_of_a_step_keep_their_text(before: str, after: str) -> None:
    left, right = changed(before, after)
    assert (read(left).text(), read(right).text()) == (before, after)
    assert ("<del>" in left or "<ins>" in right) == (before != after)


def test_what_changed_is_marked_and_what_stayed_is_not() -> None:
    left, right = changed("sum[j](scores[b, h, i, j] * V[j])", "max[j](scores[b, h, i, j] * V[j])")
    assert left == f"<del>sum</del>{esc('[j](scores[b, h, i, j] * V[j])')}"
    assert right.startswith("<ins>max</ins>[j]")
    left, right = changed("alpha + beta", "gamma + delta")  # what two changes have between them is a part of one
    assert (left, right) == ("<del>alpha + beta</del>", "<ins>gamma + delta</ins>")


def test_a_listing_keeps_empty_lines_and_signs() -> None:
    source = "a < b;\n\n  c && d;\n"
    assert "\n".join(n.text() for n in read(listing(source)).all("span", "line")) == source.rstrip("\n")


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

PROBE = """<script>
var out = [], one = function (x) { return document.querySelector(x); };
var seen = function () { return Array.from(document.querySelectorAll(".step"))
  .map(function (s) { return s.getClientRects().length ? 1 : 0; }).join(""); };
var rows = function () { return Array.from(document.querySelectorAll("table.sortable tbody tr"))
  .map(function (r) { return r.cells[0].textContent; }).join(" "); };
out.push(seen()); one("#next").click(); out.push(seen());
document.documentElement.style.scrollBehavior = "auto"; one("#derivation").scrollIntoView();
document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true })); out.push(seen());
one("#whole").click(); out.push(seen());
var heads = document.querySelectorAll("table.sortable th button");
heads[2].click(); out.push(rows()); heads[2].click(); out.push(rows());
one("#theme").click(); one("#theme").click(); out.push(document.documentElement.getAttribute("data-theme"));
out.push(getComputedStyle(document.body).backgroundColor);
out.push(document.documentElement.scrollWidth <= window.innerWidth);
document.title = out.join("|");
</script></body>"""


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no browser to open the page in")
def test_a_browser_steps_sorts_and_turns_dark(tmp_path: Path) -> None:
    report = build_report(extract(EXAMPLES["attention"]()))
    text = re.sub(r"<meta http-equiv=[^>]*>", "", render_html(report)).replace("</body>", PROBE)
    path = tmp_path / "page.html"
    path.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
         "--window-size=500,900", "--dump-dom", path.as_uri()],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    found = re.search(r"<title>(.*?)</title>", done.stdout)
    assert found, done.stderr
    first, second, third, all_, up, down, theme, color, fits = found[1].split("|")
    assert (first, second, third, all_) == ("100", "010", "001", "111")
    by_time = [str(c.number) for c in sorted(report.candidates, key=lambda c: c.seconds)]
    assert sorted(up.split()) == sorted(by_time) and up.split()[0] == by_time[0] and down.split()[0] == by_time[-1]
    assert (theme, fits) == ("dark", "true")
    assert color == "rgb(22, 24, 27)"
