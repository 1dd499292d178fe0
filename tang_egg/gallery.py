"""The gallery: what the laws make of a number of graphs, as Markdown, written by the program itself.

    python -m tang_egg.gallery docs/gallery

Each page has the naive mathematics, the laws behind the pick, the derivation step by step, the mathematics of the
derived kernels, and how often each array is read. Nothing is compiled or timed, so the same program writes the same
pages everywhere.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tang_egg import report_format as say
from tang_egg.errors import TangError
from tang_egg.examples import EXAMPLES
from tang_egg.files import replacing
from tang_egg.gallery_graphs import FURTHER
from tang_egg.ir import Graph, Read, Reduce, Scalar, Scan, Tensor, children, tensors_of
from tang_egg.pipeline import extract
from tang_egg.pipeline_compiled import Extraction
from tang_egg.report import build_report
from tang_egg.report_model import Kernel, Report

GRAPHS: dict[str, Callable[[], Graph]] = {**EXAMPLES, **FURTHER}
INDEX = "README.md"
COMMAND = "python -m tang_egg.gallery docs/gallery"


@dataclass(frozen=True, slots=True)
class Passes:
    """How often each array is read from end to end, by name: as written, and by the derived kernels.

    An array that the derived kernels do not write has no second number.
    """

    arrays: tuple[tuple[str, int, int | None], ...]

    def of(self, names: Iterable[str]) -> tuple[int, int]:
        """The sums over some arrays."""
        wanted = set(names)
        chosen = [(before, after or 0) for name, before, after in self.arrays if name in wanted]
        return sum(b for b, _ in chosen), sum(a for _, a in chosen)


def reads_of(kernels: Iterable[Sequence[Tensor]]) -> dict[str, int]:
    """Passes over each array that kernels read, by name.

    A pass is one of the outermost folds of a kernel that read it; all reads outside of folds are one more.
    """
    total: dict[str, int] = {}
    for outputs in kernels:
        found: dict[str, set[object]] = {}
        seen: set[tuple[Scalar, object]] = set()
        stack: list[tuple[Scalar, object]] = [(t.body, None) for t in outputs]
        while stack:
            s, outermost = stack.pop()
            if (s, outermost) in seen:
                continue
            seen.add((s, outermost))
            if isinstance(s, Read):
                found.setdefault(s.source.name, set()).add(outermost)
            elif isinstance(s, (Reduce, Scan)) and outermost is None:
                outermost = (s.monoid, s.indices, s.where, s.body) if isinstance(s, Reduce) else (s.monoid, s.body)
            stack.extend((c, outermost) for c in children(s))
        for name, passes in found.items():
            total[name] = total.get(name, 0) + len(passes)
    return total


def passes_of(found: Extraction) -> Passes:
    """The passes of an extraction over inputs, in their order, then over the tensors that the user named or needed."""
    naive = tensors_of(found.graph.outputs)
    before = reads_of([t] for t in naive)
    after = reads_of(k.outputs for k in found.program.kernels)
    written = {t.name for k in found.program.kernels for t in k.outputs}
    inputs = [i.name for i in found.graph.inputs]
    between = dict.fromkeys([t.name for t in naive if t.name in before] + [n for n in after if n not in inputs])
    rows = [(n, before.get(n, 0), after.get(n, 0)) for n in inputs]
    return Passes((*rows, *((n, before.get(n, 0), after.get(n, 0) if n in written else None) for n in between)))


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its name, its text, and its line in the index."""

    name: str
    text: str
    line: str


def page(name: str, make: Callable[[], Graph]) -> Page:
    """The page of one graph; `make` has the sentence that introduces it."""
    found = extract(make())
    report, passes = build_report(found), passes_of(found)
    lines = list(_lines(name, _words(make), report, passes))
    inputs, all_ = passes.of(i.name for i in found.graph.inputs), passes.of(name for name, _, _ in passes.arrays)
    laws = ", ".join(dict.fromkeys(law for k in report.kernels for law in k.laws)) or "none"
    written = sum(len(k.outputs) for k in report.kernels)
    counts = f"{report.tensors} → {written} | {len(report.kernels)} | {_arrow(inputs)} | {_arrow(all_)}"
    return Page(name, "\n".join(lines).rstrip("\n") + "\n", f"| [{name}]({name}.md) | {counts} | {laws} |")


def _arrow(counts: tuple[int, int]) -> str:
    return f"{counts[0]} → {counts[1]}"


def _words(make: Callable[[], Graph]) -> str:
    return " ".join((make.__doc__ or "").split("\n\n")[0].split())


def _lines(name: str, words: str, report: Report, passes: Passes) -> Iterator[str]:
    yield f"# {name}"
    yield from ("", f"<!-- written by `{COMMAND}`: do not edit -->", "")
    if words:
        yield from (words, "")
    yield f"{say.shorter(report)}."
    yield from ("", "## As written", "", "```text", report.graph.rstrip("\n"), "```")
    yield from _laws(report)
    yield from ("", "## Derivation")
    for k in report.kernels:
        yield from _derivation(k)
    yield from ("", "## The derived kernels")
    for k in report.kernels:
        yield from ("", "```text", *_mathematics(k), "```")
    yield from _table(passes)


def _laws(report: Report) -> Iterator[str]:
    used = dict.fromkeys(law for k in report.kernels for law in k.laws)
    yield from ("", "## Laws used", "")
    if not used:
        yield "None: the cheapest form is the one that is written, its tensors inlined where that pays."
        return
    yield from ("| law | algebra | holds | rounding |", "|---|---|---|---|")
    for r in report.rewrites:
        if r.law in used:
            algebra = r.algebra.replace("|", "\\|")
            yield f"| {r.law} | `{algebra}` | {r.holds} | {r.rounding} |"


def _derivation(k: Kernel) -> Iterator[str]:
    yield from ("", f"Kernel `{k.name}`:", "")
    shown = [s for s in k.derivation if s.before != s.after]
    if not shown:
        yield "As the graph states it."
        return
    for n, step in enumerate(shown, 1):
        yield from (f"{n}. **{say.step_law(step)}** ({step.holds}, {step.rounding})", "")
        yield from ("   ```text", f"   {step.before}", f"   → {step.after}", "   ```")
        yield from ("",) if n < len(shown) else ()


def _mathematics(k: Kernel) -> Iterator[str]:
    for o in k.outputs:
        yield f"{o.name}[{', '.join(o.axes) or '()'}]: {o.dtype} = {o.mathematics}"
    for p in k.passes:
        yield say.pass_head(p)
        for part in p.parts:
            first, *more = say.part(part)
            yield from (f"    {first}", *(f"        {line}" for line in more))
    for e in k.shared:
        yield f"{e.before} = {e.after}"


def _table(passes: Passes) -> Iterator[str]:
    yield from ("", "## Passes over each array", "", "| array | as written | derived |", "|---|--:|--:|")
    for name, before, after in passes.arrays:
        yield f"| {name} | {before or '–'} | {'not written' if after is None else after} |"


_INDEX = """\
# Gallery of derivations

<!-- written by `{command}`: do not edit -->

What the laws make of the built-in examples and of some further graphs, written by the program itself. A page has the
graph as written, the laws behind the pick, each step of the derivation, the mathematics of the kernels and how often
each array is read. [Derivations](../derivations.md) says how to read them.

Numbers before → are those of the graph as written, every tensor a kernel of its own; after it, of the derived kernels.
Passes count, over some arrays, the outermost folds of each kernel that read one, and one more where it is read outside
of folds. Selection weighs passes against work and launches by a model of one small machine: it may read an array once
more to save a kernel, and choose otherwise at other sizes.

| graph | tensors written | kernels | passes over inputs | over all arrays | laws used |
|---|--:|--:|--:|--:|---|
{rows}

`{command}` writes these pages anew.
"""


def index(pages: Sequence[Page]) -> str:
    """The page that lists all others."""
    return _INDEX.format(command=COMMAND, rows="\n".join(p.line for p in pages))


def write(folder: Path) -> list[Path]:
    """Writes all pages and the index; pages that were written for graphs that no longer exist are removed.

    Raises TangError where the folder cannot be written.
    """
    pages = [page(name, make) for name, make in GRAPHS.items()]
    texts = {INDEX: index(pages), **{f"{p.name}.md": p.text for p in pages}}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            with replacing(folder / name) as file:
                file.write(text.encode())
        for old in folder.glob("*.md"):
            if old.name not in texts and COMMAND in old.read_text(encoding="utf-8", errors="replace"):
                old.unlink()
    except OSError as error:
        raise TangError(
            f"the gallery cannot be written: {error.strerror or error}",
            where=str(error.filename or folder),
            mend="give a folder that can be written",
        ) from None
    return [folder / name for name in texts]


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the gallery into the folder that the command line names."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if len(given) != 1 or given[0].startswith("-"):
        print(f"usage: {COMMAND}", file=sys.stderr)
        return 2
    try:
        written = write(Path(given[0]))
    except TangError as error:
        print(f"gallery: {error}", file=sys.stderr)
        return 2
    print(f"{say.count(len(written), 'page')} in {given[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
