"""What compiling a graph gives: the extraction behind it, and the callable on arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tang_egg.budget import Verdict
from tang_egg.database_find import Choice
from tang_egg.errors import ArtefactError, BindError, InputError
from tang_egg.extract.assemble import WindowResult
from tang_egg.extract.certify import Outcome
from tang_egg.extract.certify_record import SelectionCertificate
from tang_egg.extract.derive import Step
from tang_egg.extract.rewriting import Rewriting
from tang_egg.ir import Graph
from tang_egg.program import Program
from tang_egg.report_model import Report
from tang_egg.run import CompiledProgram
from tang_egg.run_arrays import check_names, take_dims
from tang_egg.run_bound import held_arrays
from tang_egg.run_cuda import CudaProgram, Prepared
from tang_egg.run_grid import GridPrepared, GridProgram
from tang_egg.run_panels import kept_program
from tang_egg.run_prepared import HostPrepared
from tang_egg.schedule import Schedule
from tang_egg.verify import Verification
from tang_egg.windows import Canonical, Window

if TYPE_CHECKING:
    from tang_egg.report_answer import Answer


@dataclass(slots=True)
class Extraction:
    """A graph after selection: the program, the windows behind it, and the laws that led to each kernel.

    `verdict`: what an error budget said of the variant that laws which may cancel or overflow led to, if one was asked.
    `selected`: the program before what a caller asked for beyond selection was done to it, which `rewritings` records;
    none where nothing was. `stages`: of a graph in chunks, the extractions of the tensors that it holds.
    `evidence`: what a search that timed kernels found out, window by window in the order of `distinct`.
    """

    graph: Graph
    program: Program
    windows: tuple[tuple[Window, Canonical, WindowResult], ...]
    steps: dict[str, tuple[Step, ...]]
    seconds: float
    values: str = "finite"
    verdict: Verdict | None = None
    selected: Program | None = None
    rewritings: tuple[Rewriting, ...] = ()
    stages: tuple[Extraction, ...] = ()
    evidence: Outcome | None = None

    @property
    def distinct(self) -> tuple[WindowResult, ...]:
        """The results of the windows that differ."""
        return tuple({id(r): r for _, _, r in self.windows}.values())


@dataclass(frozen=True, slots=True)
class Derived:
    """What an artefact keeps of an extraction: its report as data, and the laws that led to each kernel."""

    report: Report
    steps: dict[str, tuple[Step, ...]]


@dataclass(frozen=True, slots=True)
class Options:
    """What `optimize` was allowed to do with values and products."""

    values: str = "finite"
    products: str = "exact"


@dataclass(slots=True)
class Compiled:
    """A verified executable graph. Call it with arrays by position (in order of graph.inputs) or by name.

    Gives an array for a graph with one output, else a dict by name. Inputs may be NumPy arrays, anything with the
    buffer protocol, or DLPack tensors; contiguous ones are read in place. On a GPU results live where the inputs do.
    """

    graph: Graph
    derived: Extraction | Derived
    target: str
    schedules: dict[str, Schedule]
    runner: CompiledProgram | CudaProgram | GridProgram
    verification: Verification | None
    seconds: dict[str, float] = field(default_factory=dict)
    options: Options = field(default_factory=Options)
    bound: Mapping[str, Any] = field(default_factory=dict, repr=False)
    certificate: SelectionCertificate | None = None
    """What a search that timed kernels found out, if one was asked for: see docs/certified-selection.md."""
    tuned: Mapping[str, Choice] = field(default_factory=dict)
    """What the database of schedules said of kernels, by name: see docs/tuning.md."""
    kept: CompiledProgram | None = field(default=None, repr=False)
    """What runs instead of `runner` where products read bound inputs from panels: see docs/weights.md."""

    def __call__(self, /, *arrays: Any, dims: Mapping[str, int] | None = None, **named: Any) -> Any:
        """Runs the kernels. Raises InputError when an array does not fit, BindError when a dim has no value."""
        results = self.run(*arrays, dims=dims, **named)
        return next(iter(results.values())) if len(results) == 1 else results

    def run(self, /, *arrays: Any, dims: Mapping[str, int] | None = None, **named: Any) -> dict[str, Any]:
        """The same, always as a dict of outputs by name."""
        return (self.kept or self.runner)(*self._given(arrays, named, dims))

    def prepare(
        self,
        /,
        *arrays: Any,
        dims: Mapping[str, int] | None = None,
        out: Mapping[str, Any] | None = None,
        **named: Any,
    ) -> HostPrepared | Prepared | GridPrepared:
        """The kernels bound to arrays: calls of the result only run them; on a GPU they can be captured.

        Raises as a call does, and on the host InputError for an array that would have to be copied to be read.
        """
        given, sizes = self._given(arrays, named, dims)
        return (self.kept or self.runner).prepare(given, sizes, out)

    def _given(
        self, arrays: tuple[Any, ...], named: Mapping[str, Any], dims: Mapping[str, int] | None
    ) -> tuple[dict[str, Any], dict[str, int]]:
        """The arrays by name, and the sizes."""
        where, names = f"graph '{self.graph.name}'", [i.name for i in self.graph.inputs if i.name not in self.bound]
        given = dict(zip(names, arrays, strict=False))
        if len(arrays) > len(names) or set(given) & set(named):
            raise InputError(
                f"{len(arrays)} arrays by position and {', '.join(named) or 'none'} by name do not fit",
                where=where,
                mend=f"its inputs are: {', '.join(names)}",
            )
        check_names(named, names, "input", where)
        sizes = take_dims(dims, where)
        if sizes:
            check_names(sizes, (d.name for d in self.graph.dims()), "dimension", where, BindError)
        return {**self.bound, **given, **named}, sizes

    def bind(self, /, **arrays: Any) -> Compiled:
        """The same with arrays held for some inputs, such as a model's weights: calls take only the others.

        Each array is converted once, now, and kept alive; what needs no conversion is not copied. On this machine's
        processor, operands of products are copied into panels besides, so arrays must not be changed afterwards: bind
        the graph that is not bound again. Raises InputError for an unknown name, a donated input, and an array that
        does not fit.
        """
        bound = {**self.bound, **held_arrays(self.graph, self.runner, arrays, self.bound)}
        return replace(
            self, bound=bound, kept=kept_program(self.graph, self.runner, bound, self.verification is not None)
        )

    def save(self, path: str | os.PathLike[str], *, arrays: bool = False, library: bool = True) -> None:
        """Writes all of this to one file, which `tang_egg.load` reads in any process.

        `arrays`: bound arrays too. `library=False` leaves the built library out; it is built anew where it is loaded.
        Raises ArtefactError when the file cannot be written; a file that was there is then as it was.
        """
        from tang_egg.artefact import save

        save(self, path, arrays=arrays, library=library)

    @property
    def source(self) -> str:
        """The printed source of all kernels."""
        return (self.kept or self.runner).source

    @property
    def program(self) -> Program:
        """The kernels and the tensors that they write."""
        return self.runner.program

    @property
    def extraction(self) -> Extraction:
        """The windows and candidates behind the program. Raises ArtefactError for a loaded artefact, which has none."""
        if isinstance(self.derived, Extraction):
            return self.derived
        raise ArtefactError(
            "an artefact keeps the report, not the e-graph behind it",
            where=f"graph '{self.graph.name}'",
            mend="optimize the graph again: te.optimize(compiled.graph)",
        )

    @property
    def schedule(self) -> dict[str, str]:
        """The schedule of each kernel, as one line of text."""
        return {name: str(s) for name, s in self.schedules.items()}

    @property
    def derivation(self) -> tuple[Step, ...]:
        """The laws that led from the graph to its kernels, kernel by kernel."""
        return tuple(dict.fromkeys(s for steps in self.derived.steps.values() for s in steps))

    def model(self) -> Report:
        """What was derived, picked and verified, as data."""
        from tang_egg.report import build_report

        if isinstance(self.derived, Extraction):
            return build_report(self.derived, self)
        return replace(self.derived.report, source=self.source, seconds=tuple(self.seconds.items()))

    def why(self, name: str) -> Answer:
        """Which kernel computes a tensor, by which laws, and what other choices would cost; `print` shows it.

        `name`: a tensor, output or kernel. Raises TangError, listing what can be asked, for anything else.
        """
        from tang_egg.report_why import Asked

        found = Asked(self.extraction).why(name)
        told = tuple(f"{k}: {self.tuned[k].text}" for k in found.kernels if k in self.tuned)
        return replace(found, details=(*found.details, *told)) if told else found

    def why_not(self, what: str) -> Answer:
        """Why something was not picked: a law, a tensor stored or fused, "A+B" in one kernel, a candidate's number.

        Raises TangError, listing what can be asked, for anything else.
        """
        from tang_egg.report_why import Asked

        return Asked(self.extraction).why_not(what)

    def report(self) -> str:
        """What was derived, picked and verified, as text."""
        from tang_egg.report import text_report

        return text_report(self)
