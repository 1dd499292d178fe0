"""Reports: what was derived, picked, measured and verified. `build_report` gathers it; `text_report` shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tang_egg.affine import Index
from tang_egg.codegen.dialects.c import c_dialect
from tang_egg.codegen.dialects.cuda import CUDA
from tang_egg.codegen.printer import print_kernel
from tang_egg.egraph import Snapshot
from tang_egg.extract.certificate import certified_window, kernel_names
from tang_egg.extract.certify_ledger import Timed
from tang_egg.extract.derive import Step
from tang_egg.extract.explain import numbered
from tang_egg.extract.merge import AFTER
from tang_egg.ir import Input, Reduce, Scan, Tensor, tensors_of, walk
from tang_egg.program import KernelPlan
from tang_egg.report_kernel import KernelMathematics, summary
from tang_egg.report_model import (
    Candidate,
    Equation,
    Kernel,
    Measured,
    Piece,
    Refusal,
    Report,
    Rewrite,
    Verified,
)
from tang_egg.report_plans import plans_of
from tang_egg.report_saying import certified_steps
from tang_egg.report_words import Wording, spoken
from tang_egg.rules.table import equalities
from tang_egg.run_layout import Built
from tang_egg.run_vectors import vectors

if TYPE_CHECKING:
    from tang_egg.extract.assemble import WindowResult
    from tang_egg.extract.select import Candidate as Chosen
    from tang_egg.pipeline_compiled import Compiled, Extraction


def text_report(compiled: Compiled, width: int = 100) -> str:
    """The report of a compiled graph as text; nothing is run or measured."""
    from tang_egg.report_text import render_text

    return render_text(compiled.model(), width=width)


def build_report(
    extraction: Extraction,
    compiled: Compiled | None = None,
    timing: Timed | None = None,
    dims: Mapping[str, int] | None = None,
) -> Report:
    """The report of an extraction; with `compiled`, also of its schedules and sources.

    `timing`: what a call at the sizes `dims` of the symbolic dims took.
    """
    graph = extraction.graph
    pieces: dict[int, tuple[int, Wording]] = {}
    wordings: list[tuple[int, Wording]] = []
    for window, shared, result in extraction.windows:
        number = pieces[id(result)][0] if id(result) in pieces else len(pieces) + 1
        wordings.append((number, Wording(window, shared, result.terms)))
        pieces.setdefault(id(result), wordings[-1])
    first = {n: (w, r) for r in extraction.distinct for n, w in [pieces[id(r)]]}
    seconds = dict(compiled.seconds) if compiled else {"extract": extraction.seconds}
    return Report(
        name=graph.name,
        graph=str(graph),
        inputs=tuple(_declared(i) for i in graph.inputs),
        outputs=tuple(t.name for t in graph.outputs),
        tensors=len(tensors_of(graph.outputs)),
        windows=tuple(_piece(n, w, r, [m for m, _ in wordings].count(n)) for n, (w, r) in first.items()),
        rewrites=_rewrites(first),
        candidates=_numbered(c for n, (w, r) in first.items() for c in _candidates(n, w, r)),
        refusals=tuple(c for n, (w, r) in first.items() for c in _refusals(n, w, r)),
        kernels=_kernels(extraction, wordings, compiled),
        seconds=tuple(seconds.items()),
        target=compiled.target if compiled else "",
        source=compiled.source if compiled else "",
        verified=_verified(compiled),
        measured=Measured(timing.median, timing.spread, timing.runs, tuple((dims or {}).items())) if timing else None,
    )


def _declared(i: Input) -> str:
    return f"{i.name}: {i.dtype}[{', '.join(map(str, i.shape))}]"


def _verified(compiled: Compiled | None) -> Verified | None:
    if compiled is None or compiled.verification is None:
        return None
    return Verified(compiled.verification.runs, tuple(compiled.verification.errors.items()))


def _piece(number: int, wording: Wording, result: WindowResult, copies: int) -> Piece:
    s = result.saturation
    tensors = tuple(wording.tensors.values())
    return Piece(number, tensors, copies, s.nodes, s.classes, s.seconds, s.complete, s.stopped)


def _rewrites(first: Mapping[int, tuple[Wording, WindowResult]]) -> tuple[Rewrite, ...]:
    """The laws that united something, in the order of the table."""
    edges: dict[str, int] = {}
    matches: dict[str, int] = {}
    shown: dict[str, dict[Equation, None]] = {}
    for wording, result in first.values():
        seeds = list(wording.seeds())
        names = [law for law, _, _ in seeds]
        snapshot: Snapshot = result.saturation.snapshot
        for law in dict.fromkeys([e[0] for e in snapshot.edges]):
            matches[law] = matches.get(law, 0) + result.saturation.matches.get(law, names.count(law))
        for law, left, right in snapshot.edges:
            edges[law] = edges.get(law, 0) + 1
            if law not in names:
                seeds.append((law, wording.render(left), wording.render(right)))
        for law, before, after in seeds:
            if before != after:
                shown.setdefault(law, {})[Equation(before, after)] = None
    table = equalities()
    ordered = [law for law in table if law in edges] + [law for law in edges if law not in table]
    found: list[Rewrite] = []
    for law in ordered:
        entry = table.get(law)
        algebra, holds, rounding = (str(entry), entry.holds, entry.rounding) if entry else ("", "", "")
        found.append(Rewrite(law, algebra, holds, rounding, matches[law], edges[law], tuple(shown.get(law, {}))))
    return tuple(found)


def _candidates(number: int, wording: Wording, result: WindowResult) -> list[Candidate]:
    return [
        Candidate(
            number,
            tuple(wording.name(c) for c in k.writes),
            tuple(wording.name(c) for c in k.reads),
            k.estimate.seconds,
            k.estimate.flops,
            k.estimate.bytes,
            summary([wording.name(c) for c in k.writes], [wording.reword(t) for t in k.terms]),
            chosen,
        )
        for k, chosen in numbered(result.selection)
    ]


def _numbered(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    return tuple(replace(c, number=n) for n, c in enumerate(candidates, 1))


def _refusals(number: int, wording: Wording, result: WindowResult) -> list[Refusal]:
    found: dict[Refusal, None] = {}
    for (c, reason), statistic in result.terms.refused.items():
        found[Refusal(number, wording.written(c), spoken(wording.reword(statistic)), reason)] = None
    return list(found)


def _legend(outputs: tuple[Tensor, ...], names: Mapping[Index, Index]) -> tuple[tuple[str, str], ...]:
    """The user's name of each index of a kernel."""
    found = dict.fromkeys(i for t in outputs for i in t.axes)
    for s in walk(*(t.body for t in outputs)):
        if isinstance(s, (Reduce, Scan)):
            found.update(dict.fromkeys(s.indices if isinstance(s, Reduce) else (s.index,)))
    return tuple((i.name, names[i].name) for i in sorted(found, key=lambda i: (len(i.name), i.name)) if i in names)


def _kernels(
    extraction: Extraction, wordings: list[tuple[int, Wording]], compiled: Compiled | None
) -> tuple[Kernel, ...]:
    built = {b.plan.name: b for b in compiled.runner.kernels} if compiled else {}
    kernels: list[Kernel] = []
    certified = {id(r): certified_window(r) for r in extraction.distinct}
    rows = zip(wordings, extraction.windows, plans_of(extraction), strict=True)
    for (number, wording), (_, _, result), groups in rows:
        derived = certified[id(result)]
        chosen = result.selection.chosen
        for k, group in enumerate(groups):
            candidate = chosen[k] if k < len(chosen) else None
            # what a target cut off a kernel stands before it and has neither derivation nor estimate of its own
            steps = certified_steps(wording, derived, kernel_names(derived, k)) if candidate else ()
            kernels += [
                _kernel(
                    p,
                    number,
                    wording,
                    candidate if p is group[-1] else None,
                    (*(steps if p is group[-1] else ()), *_after(extraction, p)),
                    built.get(p.name),
                )
                for p in group
            ]
    tuned = {n: c.text for n, c in compiled.tuned.items() if c.known} if compiled else {}
    return tuple(replace(k, tuned=tuned.get(k.name, "")) for k in kernels)


def _after(extraction: Extraction, plan: KernelPlan) -> tuple[Step, ...]:
    """The steps that rewrote a kernel once it was selected: its folds in shares, its products in parts."""
    return tuple(s for s in extraction.steps.get(plan.name, ()) if s.place == AFTER)


def _kernel(
    plan: KernelPlan,
    number: int,
    wording: Wording,
    candidate: Chosen | None,
    steps: tuple[Step, ...],
    made: Built | None,
) -> Kernel:
    mathematics = KernelMathematics(plan.outputs, wording.indices)
    return Kernel(
        plan.name,
        number,
        tuple(mathematics.outputs),
        tuple(mathematics.shared),
        tuple(mathematics.passes),
        tuple(dict.fromkeys(s.law for s in steps if s.kind == "law")),
        steps,
        candidate.estimate.seconds if candidate else 0.0,
        _legend(plan.outputs, wording.indices),
        str(made.schedule) if made else "",
        print_kernel(made.kernel, CUDA if made.kernel.launch else c_dialect(vectors())) if made else "",
    )
