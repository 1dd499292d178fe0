"""Saturation: a window of tensors goes into an e-graph and the laws run until nothing changes or a limit is reached."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from egglog import bindings

from tang_egg.affine import Affine, Index, product
from tang_egg.bounds import prove_inhabited, prove_nonnegative
from tang_egg.bundles import bundles
from tang_egg.check_scalar import in_bounds
from tang_egg.egraph import ClassId, Encoding, ENode, Snapshot, analysis, decode, schema
from tang_egg.errors import SaturationError
from tang_egg.ir import Const, Position, Read, Reduce, Scalar, Tensor, Test, walk
from tang_egg.ir import apply as apply_op
from tang_egg.monoid import SUM
from tang_egg.rules.table import PHASES, rules_text, stands
from tang_egg.saturate_gather import gather_facts
from tang_egg.unify import Named


@dataclass(frozen=True, slots=True)
class Limits:
    """When saturation stops: seconds of wall time, rows in the tables, rounds of all phases, matches of a rule at once.

    A step cannot be interrupted. So one of a ruleset that has matched often is taken with care: a rule of it that would
    match at more than `matches` places is not applied, and saturation ends with what there is.
    `values`: "finite" lets every law run; "ieee" only those that hold on infinities and NaN as well.
    `algebraic`: laws that may cancel or overflow run too (once in each round, before the others), and passes are built
    that may; what comes out must be measured (tang_egg.budget).
    """

    seconds: float = 20.0
    rows: int = 400_000
    rounds: int = 6
    iterations: int = 60
    matches: int = 20_000
    chunk: int = 64
    values: str = "finite"
    algebraic: bool = False


@dataclass(slots=True)
class Saturation:
    """A saturated window: the snapshot, the encoding that leads back to expressions, and what happened.

    `complete` is False when a limit stopped it (`stopped` says which); the result is usable either way.
    """

    snapshot: Snapshot
    encoding: Encoding
    roots: dict[Tensor, ClassId]
    source: dict[ClassId, ENode]
    seconds: float
    matches: dict[str, int]
    complete: bool
    stopped: str = ""
    text: str = field(default="", repr=False)

    @property
    def nodes(self) -> int:
        """E-nodes of the scalar sort."""
        return self.snapshot.nodes

    @property
    def classes(self) -> int:
        """The number of e-classes."""
        return len(self.snapshot.classes)


_ENGINES: dict[str, bindings.EGraph] = {}
_LOCK = threading.Lock()


@contextmanager
def _engine(values: str) -> Iterator[bindings.EGraph]:
    """An e-graph with schema and laws and nothing else.

    Compiling the laws takes 0.3 s, so one engine for each set of laws is kept and its empty state restored after use.
    """
    with _LOCK:
        engine = _ENGINES.pop(values, None)
        if engine is None:
            engine = bindings.EGraph()
            _execute(engine, "\n".join((schema(), rules_text(values), analysis())))
        _execute(engine, "(push)")
        yield engine
        # not reached after a failure: such an engine is dropped
        _execute(engine, "(pop)")
        _ENGINES[values] = engine


def _execute(engine: bindings.EGraph, text: str) -> list[Any]:
    return list(engine.run_program(*engine.parse_program(text)))


def encode_window(
    named: Mapping[Tensor, Named], inside: Sequence[Tensor], roots: Sequence[Tensor], limits: Limits | None = None
) -> Encoding:
    """The tensors `inside` (producers first) as terms, with what laws need to know; depends on its arguments alone."""
    bundled = {i: bundle for bundle in bundles(named, inside) for i in bundle}
    encoding = Encoding(named, frozenset(inside), bundled=bundled)
    for t in inside:
        for s in walk(named[t].body):  # operands first, so that deep expressions need no deep recursion
            encoding.scalar(s)
    for t in roots:
        encoding.tensor(t)
    _facts(encoding, [named[t].body for t in inside], limits or Limits())
    return encoding


def saturate_window(
    named: Mapping[Tensor, Named], inside: Sequence[Tensor], roots: Sequence[Tensor], limits: Limits | None = None
) -> Saturation:
    """Saturates the tensors `inside` (producers first); `roots` are those whose values are wanted.

    Raises SaturationError only when the engine itself fails; limits end the run quietly (see Saturation.complete).
    """
    limits = limits or Limits()
    start = time.perf_counter()
    encoding = encode_window(named, inside, roots, limits)
    tops = {t: encoding.tensor(t) for t in roots}
    written = "\n".join(encoding.lines)
    asserted = [s for s in encoding.seeds if stands(s[0], limits.values)]
    seeds = "\n".join(f"(union {left} {right})" for _, left, right in asserted)
    try:
        with _engine(limits.values) as engine:
            _execute(engine, written)
            before = decode(engine)
            _execute(engine, seeds)
            run = _Run(engine, limits, start)
            run.rounds()
            snapshot = decode(engine)
    except BaseException as e:
        if not isinstance(e, Exception):
            raise
        raise SaturationError(
            f"the e-graph engine failed: {str(e).splitlines()[0] if str(e) else type(e).__name__}",
            where="saturation of a window",
            mend="report this with the graph; TANG_TRACE=egraph dumps the program that was run",
        ) from e
    by_old = {old: snapshot.roots[name] for name, old in before.roots.items()}
    # before the seeds every class is one term; a term that only a seed needed stands after the user's own
    own = {name: _renumber(before.classes[old][0], by_old) for name, old in before.roots.items()}
    source: dict[ClassId, ENode] = {}
    for name in sorted(own, key=lambda n: int(n[2:])):
        source.setdefault(snapshot.roots[name], own[name])
    snapshot.edges += [(law, own[left], own[right]) for law, left, right in asserted]
    return Saturation(
        snapshot,
        encoding,
        {t: snapshot.roots[name] for t, name in tops.items()},
        source,
        time.perf_counter() - start,
        run.matches,
        not run.stopped,
        run.stopped,
        f"{written}\n{seeds}",
    )


def _renumber(node: ENode, classes: Mapping[ClassId, ClassId]) -> ENode:
    def swap(a: Any) -> Any:
        if isinstance(a, ClassId):
            return classes.get(a, a)
        return tuple(swap(x) for x in a) if isinstance(a, tuple) else a

    return ENode(node.constructor, tuple(swap(a) for a in node.args))


CAREFUL = 1000
"""Matches of a rule in one step from which on its ruleset is taken with care: then a step may find many times more."""


class _Run:
    """One saturation: rulesets step by step until nothing changes or a limit is reached (`stopped` says which)."""

    def __init__(self, engine: bindings.EGraph, limits: Limits, start: float) -> None:
        self.engine, self.limits, self.start = engine, limits, start
        self.matches: dict[str, int] = {}
        self.most: dict[str, int] = {}
        self.stopped = ""

    def rounds(self) -> None:
        """All phases, again and again."""
        for _ in range(self.limits.rounds):
            changed = self.limits.algebraic and self.step("algebraic")
            for phase in PHASES:
                changed = self.phase(phase) or changed
            if self.stopped or not changed:
                return
        self.stopped = f"the limit of {self.limits.rounds} rounds"

    def phase(self, rulesets: Sequence[str]) -> bool:
        """The rulesets in turn until none changes anything; whether any did."""
        changed = False
        for _ in range(self.limits.iterations):
            updated = False
            for ruleset in rulesets:
                # analyses run to their end, other rules one step at a time
                while self.step(ruleset):
                    updated = True
                    if ruleset != "analysis":
                        break
            changed = changed or updated
            if self.stopped or not updated:
                break
        return changed

    def step(self, ruleset: str) -> bool:
        """One step of a ruleset; whether it changed anything. Nothing happens once a limit has been reached."""
        if self.stopped:
            return False
        careful = self.most.get(ruleset, 0) > CAREFUL
        output = _execute(self.engine, _carefully(ruleset, self.limits.matches) if careful else f"(run {ruleset} 1)")
        report = output[-1].report
        found = {str(rule): int(count) for rule, count in report.num_matches_per_rule.items()}
        for rule, count in found.items():
            law = rule.split("#")[0]
            self.matches[law] = self.matches.get(law, 0) + count
        self.most[ruleset] = max(found.values(), default=0)
        self._limited(_left_out(report, self.limits.matches) if careful else "")
        return bool(report.updated)

    def _limited(self, left_out: str) -> None:
        """Looks at the limits after a step; `left_out`: a rule that matched so often that it was not applied."""
        limits = self.limits
        if left_out:
            self.stopped = f"the limit of {limits.matches} matches in a step: {left_out.split('#')[0]} had more"
        elif time.perf_counter() - self.start > limits.seconds:
            self.stopped = f"the time limit of {limits.seconds:g} s"
        elif max(self.most.values()) > CAREFUL and _rows(self.engine) > limits.rows:
            self.stopped = f"the limit of {limits.rows} rows"


def _carefully(ruleset: str, most: int) -> str:
    """A step in which a rule with more matches is left out: the scheduler counts them before it applies any."""
    scheduler = f"(let-scheduler careful (back-off :match-limit {most} :ban-length 1))"
    return f"(run-schedule {scheduler} (run-with careful {ruleset}))"


def _left_out(report: Any, most: int) -> str:
    """A rule that the scheduler of a step left out: matches are counted in the first of the passes that it reports."""
    counted = report.iterations[0].rule_set_report.rule_reports
    return next((str(rule) for rule, reports in counted.items() if sum(r.num_matches for r in reports) > most), "")


def _rows(engine: bindings.EGraph) -> int:
    sizes = _execute(engine, "(print-size)")[-1]
    return sum(int(n) for n in re.findall(r" (\d+)\)", str(sizes)))


def _always_in_bounds(s: Read) -> bool:
    """Whether a read needs no guard: every coordinate is affine and inside, whatever the indices are."""
    pairs = zip(s.coordinates, s.source.shape, strict=True)
    return all(isinstance(c, Affine) and in_bounds(c, size) for c, size in pairs)


def _facts(encoding: Encoding, bodies: Sequence[Scalar], limits: Limits) -> None:
    """What laws need to know about indices: their names, sizes as reals, whether domains have points, chunk sizes."""
    for unit in (0.0, 1.0):
        encoding.scalar(Const(unit))  # conditions that something is not 0 or 1 need them in the e-graph
    folded: dict[Index, None] = {}
    values: set[float] = set()
    for s in walk(*bodies):
        if isinstance(s, Reduce):
            folded.update(dict.fromkeys(s.indices))
        elif isinstance(s, Const) and s.type == "real":
            values.add(float(s.value))
    for i in sorted(folded, key=lambda i: i.name):
        encoding.index(i)
    for name in sorted({encoding.name(i) for i in folded}):
        encoding.lines.append(f'(indexed "{name}")')
        extent = product([i.size for i in encoding.folded(name)])
        size = extent.value
        if size is None:
            count = apply_op("cast:real", Position(extent))
            encoding.lines.append(f'(extent "{name}" {encoding.scalar(count)})')
            continue
        if size == 1:
            continue  # its reciprocal is 1, a factor of everything: x would equal x · (1 / 1) without end
        if float(size) in values:
            encoding.lines.append(f'(extent "{name}" {encoding.scalar(Const(float(size)))})')
        if size and 1.0 / size in values:
            encoding.lines.append(f'(inverse_extent "{name}" {encoding.scalar(Const(1.0 / size))})')
    for together, where, term in dict.fromkeys(encoding.domains):
        # some point of the last, whatever the others are, and the others have points
        last, *others = together
        sure = not where.data and prove_inhabited(last, where.affine) and all(prove_inhabited(i, ()) for i in others)
        encoding.lines.append(f'({"inhabited" if sure else "doubtful"} "{encoding.name(last)}" {term})')
    alone = [i for i in folded if i not in encoding.bundled]
    for s, term in list(encoding.terms.items()):
        if isinstance(s, Read) and s.source not in encoding.inside and _always_in_bounds(s):
            encoding.lines.append(f"(finite {term})")
        if isinstance(s, Test):
            for j in sorted(s.condition.indices() & set(alone), key=lambda i: i.name):
                if prove_inhabited(j, (s.condition,)):
                    encoding.lines.append(f'(inhabited "{j.name}" {term})')
    gather_facts(encoding, alone)
    for longer, shorter in _shorter(encoding, bodies):
        encoding.lines.append(f'(shorter "{longer}" "{shorter}")')
    for i in sorted(encoding.indices.values(), key=lambda i: i.name):
        if i not in encoding.bundled:
            encoding.lines.append(f'(chunked "{i.name}" {limits.chunk})')


def _shorter(encoding: Encoding, bodies: Sequence[Scalar]) -> list[tuple[str, str]]:
    """Pairs of names of indices that sums run over everywhere: the second surely has fewer points than the first."""
    sums = [s for s in walk(*bodies) if isinstance(s, Reduce)]
    limited = {i for s in sums if not s.where.everywhere for i in s.indices}
    whole = {encoding.name(i): i for s in sums if s.monoid is SUM for i in s.indices if i not in limited}
    names = sorted(n for n, i in whole.items() if encoding.folded(n) == (i,))
    return [
        (j, i)
        for j in names
        for i in names
        if i != j and prove_nonnegative(whole[j].size - whole[i].size - 1)
    ]  # fmt: skip
