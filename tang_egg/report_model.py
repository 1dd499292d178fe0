"""What a report says, as data: built once by `report.build_report`, read by the renderers.

    report    ::= graph, windows, rewrites, candidates, refusals, kernels, verification?, measurement?
    rewrite   ::= a law that united something: its algebra and marks, its counts, and what stood before and after
    kernel    ::= outputs, terms shared by its lifts, passes, the derivation, schedule?, source?
    pass      ::= a fold whose state has several parts; a part that follows a statistic says how it is carried

All mathematics is text in the names of the user's graph.
"""

from __future__ import annotations

from dataclasses import dataclass

from tang_egg.extract.derive import Step


@dataclass(frozen=True, slots=True)
class Equation:
    """One use of a law: what stood before it and what after it."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A law that united something, over all distinct windows.

    `matches`: how often its left side was found (for seeds: how often it was asserted). `edges`: pairs of e-nodes that
    it united, the trivial ones included. `equations`: those that read differently on both sides.
    """

    law: str
    algebra: str
    holds: str
    rounding: str
    matches: int
    edges: int
    equations: tuple[Equation, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A distinct window of the graph: `copies` windows are alike and were saturated once."""

    number: int
    tensors: tuple[str, ...]
    copies: int
    nodes: int
    classes: int
    seconds: float
    complete: bool
    stopped: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A kernel that could be run: what it writes and reads, its predicted seconds and the counts behind them.

    `number`: its place in the list of all candidates, from 1 on; `why_not` takes it.
    """

    window: int
    writes: tuple[str, ...]
    reads: tuple[str, ...]
    seconds: float
    flops: float
    bytes: float
    mathematics: tuple[str, ...]
    chosen: bool
    number: int = 0


@dataclass(frozen=True, slots=True)
class Refusal:
    """A one-pass form that was found and not taken: the sum, the statistic that it would follow, and why."""

    window: int
    sum: str
    statistic: str
    reason: str


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the state of a pass: `fold` of `lift`. With a statistic `at`: what it becomes when `at` moves."""

    name: str
    fold: str
    lift: str
    at: str = ""
    carry: str = ""
    empty: str = ""


@dataclass(frozen=True, slots=True)
class Pass:
    """A fold over `indices` with a state of several parts."""

    name: str
    indices: tuple[str, ...]
    where: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Output:
    """A tensor that a kernel writes."""

    name: str
    axes: tuple[str, ...]
    dtype: str
    mathematics: str


@dataclass(frozen=True, slots=True)
class Kernel:
    """A picked kernel. `indices` tells which index of the graph each name in schedule and source stands for.

    `tuned`: what the database of schedules had for it, in words; empty where it has nothing, or was not asked.
    """

    name: str
    window: int
    outputs: tuple[Output, ...]
    shared: tuple[Equation, ...]
    passes: tuple[Pass, ...]
    laws: tuple[str, ...]
    derivation: tuple[Step, ...]
    predicted: float
    indices: tuple[tuple[str, str], ...]
    schedule: str = ""
    source: str = ""
    tuned: str = ""


@dataclass(frozen=True, slots=True)
class Verified:
    """Runs against the float64 interpreter, and the largest relative error of each output."""

    runs: int
    errors: tuple[tuple[str, float], ...]

    @property
    def worst(self) -> float:
        """The largest relative error of all outputs."""
        return max((e for _, e in self.errors), default=0.0)


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds per call: median and distance between the quartiles of `runs` calls, at these sizes of symbolic dims."""

    median: float
    spread: float
    runs: int
    dims: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Report:
    """See the module text. `target` is empty, and so are schedules and sources, when nothing was compiled."""

    name: str
    graph: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tensors: int
    windows: tuple[Piece, ...]
    rewrites: tuple[Rewrite, ...]
    candidates: tuple[Candidate, ...]
    refusals: tuple[Refusal, ...]
    kernels: tuple[Kernel, ...]
    seconds: tuple[tuple[str, float], ...]
    target: str = ""
    source: str = ""
    verified: Verified | None = None
    measured: Measured | None = None

    @property
    def predicted(self) -> float:
        """Seconds of all kernels together, by the cost model."""
        return sum(k.predicted for k in self.kernels)
