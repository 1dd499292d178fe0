"""The report as text: for a terminal of any width, and just as well for a pipe."""

from __future__ import annotations

import io
from typing import TypeVar

from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from tang_egg import report_format as say
from tang_egg.report_model import Kernel, Report, Rewrite

_T = TypeVar("_T")


def render_text(
    report: Report, *, width: int = 100, color: bool = False, everything: bool = False, source: bool = False
) -> str:
    """The report. `everything`: no list is cut. `source`: the whole C file with its prelude."""
    out = io.StringIO()
    console = Console(
        file=out, width=max(width, 40), force_terminal=color, no_color=not color, highlight=False, markup=False,
        emoji=False, legacy_windows=False, _environ={},
    )  # fmt: skip
    _Writer(console, report, everything, source).write()
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


class _Writer:
    """Writes the sections of one report in order."""

    def __init__(self, console: Console, report: Report, everything: bool, source: bool) -> None:
        self.console = console
        self.report = report
        self.everything = everything
        self.source = source

    def write(self) -> None:
        r = self.report
        self.head("The graph")
        self.raw(r.graph.rstrip("\n"))
        self.rewrites()
        self.head("From the naive graph to the pick")
        self.line(say.shorter(r))
        for k in r.kernels:
            self.derivation(k)
        self.candidates()
        if r.target:
            self.head("The kernels")
        else:
            self.head("The kernels (not compiled)")
        for k in r.kernels:
            self.kernel(k)
        if self.source and r.source:
            self.head("The whole source")
            self.raw(r.source.rstrip("\n"))
        self.results()

    def rewrites(self) -> None:
        self.head("Discovered rewrites")
        for p in self.report.windows:
            self.line(f"window {p.number}: {say.piece(p)}")
        for r in self.report.rewrites:
            self.console.print()
            self.console.print(
                Text.assemble((r.law, "bold cyan"), f"  {say.counts(r)}; {say.marks(r.holds, r.rounding)}")
            )
            self.line(r.algebra, 2, "dim")
            self.equations(r)

    def equations(self, r: Rewrite) -> None:
        shown = self.cut(r.equations, say.SHOWN_EQUATIONS)
        for e in shown:
            self.change(e.before, e.after, 4)
        self.rest(len(r.equations) - len(shown), 4)

    def derivation(self, k: Kernel) -> None:
        self.console.print()
        self.line(f"kernel {k.name}", style="bold")
        if not k.derivation:
            self.line("as the graph states it: no law was needed", 2)
        for n, step in enumerate(k.derivation, 1):
            self.line(f"{n}. {say.step_law(step)}  [{step.holds}, {step.rounding}]", 2, "cyan")
            self.change(step.before, step.after, 5)
            for fact in step.because:
                self.line(f"because {fact}", 5, "dim")

    def candidates(self) -> None:
        r = self.report
        self.head("Candidates")
        shown = self.cut(r.candidates, max(say.SHOWN_CANDIDATES, sum(c.chosen for c in r.candidates)))
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        table.add_column("", justify="right", no_wrap=True)
        for name in ("predicted", "compute", "traffic"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("kernel", overflow="fold")
        for c in shown:
            counts = (say.seconds(c.seconds), say.amount(c.flops, "flop"), say.amount(c.bytes, "B"))
            cells = (f"{'*' if c.chosen else ''}{c.number}", *counts, "\n".join(c.mathematics))
            table.add_row(*(Text(x, overflow="fold") for x in cells), style="green" if c.chosen else "")
        self.console.print(table)
        self.rest(len(r.candidates) - len(shown), 0)
        self.line(f"* chosen; together {say.seconds(r.predicted)} by the cost model, an estimate and no measurement")
        self.refusals()

    def refusals(self) -> None:
        refused = self.report.refusals
        if refused:
            self.console.print()
            self.line("One-pass forms that were found and refused:", style="bold")
        shown = self.cut(refused, say.SHOWN_REFUSALS)
        for x in shown:
            self.line(f"{x.sum}  along  {x.statistic}", 2)
            self.line(x.reason, 4, "yellow")
        self.rest(len(refused) - len(shown), 2)

    def kernel(self, k: Kernel) -> None:
        self.console.print()
        self.line(f"kernel {k.name}: {say.passes(k)}, predicted {say.seconds(k.predicted)}", style="bold")
        for o in k.outputs:
            self.line(f"{o.name}[{', '.join(o.axes) or '()'}]: {o.dtype} = {o.mathematics}", 2)
        for p in k.passes:
            self.line(say.pass_head(p), 2)
            for x in p.parts:
                first, *more = say.part(x)
                self.line(first, 4)
                for line in more:
                    self.line(line, 9)
        for e in k.shared:
            self.line(f"{e.before} = {e.after}", 2)
        if k.schedule:
            self.line(f"schedule: {k.schedule}", 2)
            if k.tuned:
                self.line(k.tuned, 2)
            self.line(f"indices in schedule and source: {', '.join(f'{a} is {b}' for a, b in k.indices)}", 2)
        if k.source and not self.source:
            self.console.print()
            self.raw(k.source.rstrip("\n"))

    def results(self) -> None:
        r = self.report
        self.head("Time and error")
        self.line(say.shorter(r))
        if not r.target:
            self.line("nothing was compiled or run")
        if r.measured:
            self.line(f"measured: {say.measured(r.measured)}", style="bold")
        if r.verified:
            self.line(f"verified: {say.verified(r.verified)}", style="bold")
        elif r.target:
            self.line("not verified")
        self.line("this took: " + ", ".join(f"{name} {say.seconds(t)}" for name, t in r.seconds))

    def head(self, text: str) -> None:
        self.console.print()
        self.console.print(Rule(Text(text, "bold"), align="left"))

    def line(self, text: str, indent: int = 0, style: str = "") -> None:
        self.console.print(Padding(Text(text, style, overflow="fold"), (0, 0, 0, indent)))

    def change(self, before: str, after: str, indent: int) -> None:
        """before → after on one line where it fits, else on two."""
        if indent + len(before) + len(after) + 3 <= self.console.width:
            self.line(f"{before} → {after}", indent)
        else:
            self.line(before, indent)
            self.line(f"→ {after}", indent)

    def raw(self, text: str) -> None:
        """Text whose lines are never broken."""
        self.console.print(Text(text), soft_wrap=True)

    def cut(self, items: tuple[_T, ...], most: int) -> tuple[_T, ...]:
        return items if self.everything else items[:most]

    def rest(self, left: int, indent: int) -> None:
        if left > 0:
            self.line(f"… and {left} more (--all shows them)", indent, "dim")
