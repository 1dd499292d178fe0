"""What tang-saturate does: loads the graph, derives, runs and measures it, and makes the text that was asked for."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tang_egg.cli_graph import load_graph, parse_bindings
from tang_egg.cli_options import check, parser
from tang_egg.cli_output import file_name, quiet_output, write
from tang_egg.cli_progress import shown
from tang_egg.doctor import environment
from tang_egg.errors import LawError, TextError, VerificationError
from tang_egg.extract.certificate_json import certificate_text, load_certificate
from tang_egg.extract.certify_ledger import Timed
from tang_egg.extract.replay import replay
from tang_egg.ir import Graph
from tang_egg.measure import CpuMeasurer, measure_calls
from tang_egg.measure_cuda import CudaMeasurer
from tang_egg.measure_kernels import kernel_times
from tang_egg.pipeline import extract_for, optimize, sources
from tang_egg.pipeline_certificate import certificate
from tang_egg.pipeline_compiled import Compiled, Extraction
from tang_egg.pipeline_space import typical_sizes
from tang_egg.probe_store import constants
from tang_egg.progress import note
from tang_egg.report import build_report
from tang_egg.report_answer import Answer, render_answer
from tang_egg.report_certificate import replay_text
from tang_egg.report_dot import render_dot
from tang_egg.report_egraph import egraph_data, render_egraph
from tang_egg.report_floor import floor_rows, floor_section
from tang_egg.report_html import render_html
from tang_egg.report_json import render_data, render_json
from tang_egg.report_markdown import render_markdown
from tang_egg.report_model import Report
from tang_egg.report_text import render_text
from tang_egg.report_why import Asked
from tang_egg.report_why_cycle import cycle_answer
from tang_egg.report_why_graph import SCAN, graph_answer
from tang_egg.report_why_not import prices
from tang_egg.run import CompiledProgram
from tang_egg.run_cuda import CudaProgram
from tang_egg.run_grid import GridProgram
from tang_egg.saturate import Limits
from tang_egg.schedule import Schedule
from tang_egg.verify import sample_inputs


@dataclass(slots=True)
class _Found:
    """What a run made: the extraction, its report, and the measured seconds of kernels by name."""

    extraction: Extraction
    report: Report
    kernel_seconds: dict[str, float] = field(default_factory=dict)
    schedules: dict[str, Schedule] = field(default_factory=dict)


def run(arguments: Sequence[str] | None) -> None:
    """Does what the command line says. Raises TangError when that is not possible."""
    options = parser().parse_args(arguments)
    check(options)
    try:
        graph = load_graph(options.graph)
    except TextError:
        answers = _of_text(options)
        if answers is None:
            raise
        write(_told(answers, options), options.output, "--output")
        return
    bound = parse_bindings(options.bind)
    if bound:
        graph = graph.bind(**bound)
    with shown(plain=options.progress, quiet=options.quiet), quiet_output():
        text, output, where = _made(graph, options)
    write(text, output, where)
    if options.html is not None and output is not None:
        write(f"wrote {output}\n", None)


def _made(graph: Graph, options: argparse.Namespace) -> tuple[str, str | None, str]:
    """What is to be written, the file that it goes to (none: standard output), and the option that says so."""
    limits = Limits(seconds=options.limit_seconds)
    asks = options.why or options.why_not
    about = [a for what in options.why_not if (a := graph_answer(graph, what)) is not None]
    if about and len(about) == len(options.why) + len(options.why_not):  # nothing has to be compiled, or could be
        return _told(about, options), options.output, "--output"
    if options.no_run and options.source and not asks and options.html is None and options.egraph is None:
        texts = sources(graph, options.target, limits=limits)
        return "\n".join(texts.values()), options.output, "--output"
    if options.egraph is not None:
        extraction = extract_for(options.target, graph, limits)
        text = render_data(egraph_data(extraction)) if options.json else _egraph(extraction, options)
        return text, options.egraph or options.output, "--egraph" if options.egraph else "--output"
    if options.certificate is not None:
        text = certificate_text(certificate(extract_for(options.target, graph, limits), texts=True))
        named = options.certificate or options.output
        return text, named, "--certificate" if options.certificate else "--output"
    if options.replay is not None:
        return _replayed(graph, options.replay), options.output, "--output"
    if options.no_run or options.dot:
        extraction = extract_for(options.target, graph, limits)
        found = _Found(extraction, build_report(extraction))
    else:
        found = _measure(optimize(graph, options.target, limits=limits))
    if options.html is not None:
        given = options.html or options.output
        where = "--html" if options.html or not given else "--output"
        return _page(found, options), given or file_name(graph.name, ".html"), where
    return _answers(found, options) if asks else _render(found, options), options.output, "--output"


def _replayed(graph: Graph, path: str) -> str:
    """What the replay of a certificate found. Raises VerificationError for a step that does not follow."""
    found = load_certificate(path)
    try:
        done = replay(found, graph)
    except LawError as error:
        raise VerificationError(error.what, where=f"{path}: {error.where}", mend=error.mend) from None
    return replay_text(found, done)


def _measure(compiled: Compiled) -> _Found:
    graph = compiled.graph
    dims = typical_sizes(graph)
    arrays = sample_inputs(graph, dims, edge=False)
    timing: Timed
    each: dict[str, float] = {}
    note("measure", 0, 1)
    if isinstance(compiled.runner, CudaProgram):
        timing = CudaMeasurer(arrays, dims, on=compiled.runner.driver).time({"this": compiled.runner})["this"]
    elif isinstance(compiled.runner, GridProgram):
        timing = _on_grid(compiled.runner, arrays, dims)
    else:
        timing = CpuMeasurer(arrays, dims).measure(compiled.program, [compiled.schedules])[0]
    if isinstance(compiled.runner, CompiledProgram):
        each = kernel_times(compiled.runner, arrays, dims)
    note("measure", 1, 1)
    report = build_report(compiled.extraction, compiled, timing, dims)
    return _Found(compiled.extraction, report, each, compiled.schedules)


def _on_grid(runner: GridProgram, arrays: Mapping[str, Any], dims: Mapping[str, int]) -> Timed:
    """Seconds from a launch of all kernels to the end of the last, over arrays on the device."""
    prepared = runner.prepare(arrays, dims)

    def call() -> None:
        prepared()
        prepared.finish()

    return measure_calls([call])[0]


def _answers(found: _Found, options: argparse.Namespace) -> str:
    asked = Asked(found.extraction)
    answers = [asked.why(name) for name in options.why] + [asked.why_not(what) for what in options.why_not]
    return _told([_timed(a, found) for a in answers], options)


def _of_text(options: argparse.Namespace) -> list[Answer] | None:
    """The answers to questions about a text that states no graph; None where others are asked, or it is no text."""
    scans = [SCAN.fullmatch(what) for what in options.why_not]
    path = Path(options.graph)
    if not scans or options.why or not all(scans) or path.suffix == ".py" or not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    return [cycle_answer(text, m["name"], what) for m, what in zip(scans, options.why_not, strict=True) if m]


def _told(answers: Sequence[Answer], options: argparse.Namespace) -> str:
    if options.json:
        return render_data(answers)
    return "\n".join(render_answer(a, _width(options)) for a in answers)


def _timed(answer: Answer, found: _Found) -> Answer:
    """An answer with what was measured, of the whole and of the kernels that it speaks of."""
    own = tuple((k, found.kernel_seconds[k]) for k in answer.kernels if k in found.kernel_seconds)
    return replace(answer, measured=found.report.measured, kernel_seconds=own)


def _page(found: _Found, options: argparse.Namespace) -> str:
    about = (("command", " ".join(("tang-saturate", options.graph, "--target", options.target))), *environment())
    return render_html(
        found.report,
        environment=about,
        prices=prices(Asked(found.extraction)),
        kernel_seconds=found.kernel_seconds,
        floors=_floors(found, options.target),
    )


def _floors(found: _Found, target: str) -> str:
    """The section on floors, of a program that was measured kernel by kernel."""
    if not found.kernel_seconds:
        return ""
    device, program = constants(target), found.extraction.program
    sizes = typical_sizes(found.extraction.graph)
    return floor_section(floor_rows(program, found.schedules, device, found.kernel_seconds, sizes), device)


def _egraph(extraction: Extraction, options: argparse.Namespace) -> str:
    return render_egraph(extraction, limit=None) if options.all else render_egraph(extraction)


def _render(found: _Found, options: argparse.Namespace) -> str:
    if options.dot:
        return render_dot(found.extraction, limit=None) if options.all else render_dot(found.extraction)
    if options.json:
        return render_json(found.report)
    if options.markdown:
        return render_markdown(found.report, everything=options.all, source=options.source)
    color = not options.output and sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return render_text(found.report, width=_width(options), color=color, everything=options.all, source=options.source)


def _width(options: argparse.Namespace) -> int:
    return 100 if options.output else shutil.get_terminal_size((100, 24)).columns
