"""Numbers and short lines that the text and the Markdown of a report share."""

from __future__ import annotations

from tang_egg.cost.time import said
from tang_egg.extract.derive import Step
from tang_egg.report_model import Kernel, Measured, Part, Pass, Piece, Report, Rewrite, Verified

SHOWN_EQUATIONS, SHOWN_CANDIDATES, SHOWN_REFUSALS = 3, 8, 4
"""How many of each are shown unless all are asked for."""

seconds = said
"""A time with three digits and a fitting unit."""


def count(n: int, what: str) -> str:
    """`1 kernel`, `2 kernels`, `2 passes`."""
    return f"{n} {what}" if n == 1 else f"{n} {what}{'es' if what.endswith(('s', 'h')) else 's'}"


def amount(value: float, unit: str) -> str:
    """A count with a prefix: 39.1 Mflop, 1.05 MB."""
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def piece(p: Piece) -> str:
    """What saturation made of a window."""
    copies = f", {p.copies} alike" if p.copies > 1 else ""
    end = "until nothing changed" if p.complete else f"stopped by {p.stopped}"
    after = f" after {seconds(p.seconds)}" if p.seconds else ""
    size = f"{p.nodes} e-nodes in {p.classes} classes{after}"
    return f"{count(len(p.tensors), 'tensor')}{copies}; {size}, {end}"


def counts(r: Rewrite) -> str:
    """How often a law was found and how much it united."""
    return f"{r.matches} found, {r.edges} asserted"


def marks(holds: str, rounding: str) -> str:
    """The two marks of a law in words."""
    where = {"ieee": "holds on all IEEE values", "finite": "holds on finite values"}.get(holds, holds)
    does = {
        "exact": "exact",
        "reassociates": "changes the order of operations",
        "rescales": "moves factors across a fold",
        "algebraic": "true over the reals only",
    }.get(rounding, rounding)
    return f"{where}; {does}"


def step_law(step: Step) -> str:
    """The law of a step, and whether it was used from right to left."""
    return f"{step.law} (right to left)" if step.reverse else step.law


def step_place(step: Step) -> str:
    """Where a step happens, to stand after its marks."""
    return f" in {step.tensor}: {step.place}" if step.place else ""


def pass_head(p: Pass) -> str:
    """The line above the state of a pass."""
    where = f" where {p.where}" if p.where else ""
    return f"{p.name}: one pass over {', '.join(p.indices)}{where}; its state:"


def part(p: Part) -> list[str]:
    """A part of a state: what it folds and how it is carried."""
    lines = [f"{p.name} = {p.fold} of {p.lift}"]
    if p.at:
        lines.append(f"with at = {p.at}; when at moves from old to new, {p.name} becomes {p.carry}")
    return lines


def passes(k: Kernel) -> str:
    """What a kernel does, as counts."""
    return ", ".join([count(len(k.outputs), "output"), *([count(len(k.passes), "pass")] if k.passes else [])])


def verified(v: Verified) -> str:
    """The result of verification."""
    each = ", ".join(f"{name} {error:.2g}" for name, error in v.errors)
    return f"{count(v.runs, 'run')} against the float64 interpreter; largest |error| / largest |value|: {each}"


def measured(m: Measured) -> str:
    """The measured time, with the sizes of symbolic dims."""
    at = f" at {', '.join(f'{n}={v}' for n, v in m.dims)} (typical sizes; --bind chooses others)" if m.dims else ""
    return f"{seconds(m.median)} per call, median of {m.runs}, quartiles {seconds(m.spread)} apart{at}"


def shorter(r: Report) -> str:
    """What became of the graph, in one line."""
    written = sum(len(k.outputs) for k in r.kernels)
    laws = dict.fromkeys(law for k in r.kernels for law in k.laws)
    made = f"{count(len(r.kernels), 'kernel')}, writing {count(written, 'tensor')} to memory"
    return f"{count(r.tensors, 'tensor')} became {made}" + (f", by {', '.join(laws)}" if laws else "")
