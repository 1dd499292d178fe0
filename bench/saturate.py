"""Suite `saturate`: time from a checked graph to saturated e-graphs, imports and the engine's first start left out.

Each program is saturated several times in fresh engines. Times and counts are sums over its distinct windows, counts
those of the last time. `extract_ms` is the whole way from graph to selected kernels, `kernels` how many there are,
`budget_ms` the time that saturation is allowed, where a program has one.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Sequence
from functools import partial

from bench import log
from examples.minilm import encoder
from tang_egg.examples import EXAMPLES
from tang_egg.ir import Graph, tensors_of
from tang_egg.pipeline import extract
from tang_egg.pipeline_compiled import Extraction
from tests.rows import ROWS

BUDGET_MS = {
    "softmax": 500,
    "attention": 500,
    "attention_causal": 500,
    "layernorm_matmul": 1000,
    "transformer_block": 6000,
    "transformer_block_layernorm": 6000,
    "minilm": 10000,
}


ROW, ROW_MS = "row_", 2000
"""What the names of rows of the rediscovery table begin with, and the time that each of them is allowed."""


def programs() -> dict[str, Callable[[], Graph]]:
    """By name: the examples, a sentence encoder, and the rows of the rediscovery table at their large sizes."""
    rows = {f"{ROW}{name}": partial(row.build, "f32", **row.sizes) for name, row in ROWS.items()}
    return {**EXAMPLES, "minilm": encoder, **rows}


def measure(arguments: Sequence[str] = ()) -> list[log.Row]:
    """A row for each program (all, or those named in `arguments`)."""
    parser = argparse.ArgumentParser(prog="python -m bench saturate", description=__doc__)
    parser.add_argument(
        "programs",
        nargs="*",
        metavar="PROGRAM",
        help="names of examples, of rows (row_NAME), or minilm; all without any",
    )
    parser.add_argument("--repeat", type=int, default=3, help="how often each is saturated (default: 3)")
    given = parser.parse_args(arguments)
    known = programs()
    unknown = [name for name in given.programs if name not in known]
    if unknown:
        parser.error(f"no program is named {unknown[0]}; there are: {', '.join(known)}")
    extract(EXAMPLES["variance"]())  # the engine's first start is no part of any program
    return [_row(name, known[name](), given.repeat) for name in given.programs or known]


def _row(name: str, graph: Graph, repeat: int) -> log.Row:
    found = [extract(graph) for _ in range(max(1, repeat))]
    times = [_milliseconds(f) for f in found]
    last = [w.saturation for w in found[-1].distinct]
    return log.row(
        "saturate",
        name,
        "tang_egg",
        median_ms=round(statistics.median(times), 1),
        spread_ms=round(max(times) - min(times), 1),
        tensors=len(tensors_of(graph.outputs)),
        windows=len(found[-1].windows),
        distinct=len(last),
        nodes=sum(s.nodes for s in last),
        classes=sum(s.classes for s in last),
        matches=sum(sum(s.matches.values()) for s in last),
        complete=all(s.complete for s in last),
        kernels=len(found[-1].program.kernels),
        extract_ms=round(1e3 * statistics.median(f.seconds for f in found), 1),
        budget_ms=ROW_MS if name.startswith(ROW) else BUDGET_MS.get(name),
    )


def _milliseconds(extraction: Extraction) -> float:
    """Of saturation, over the distinct windows."""
    return 1e3 * sum(w.saturation.seconds for w in extraction.distinct)
