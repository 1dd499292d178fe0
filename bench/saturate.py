"""Suite `saturate`: seconds from a checked graph to its saturated e-graph, imports and the first start left out.

Each program is saturated several times in fresh engines; the counts are those of the last. `budget_s` is the time that
a program is allowed, where it has one.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Sequence

from bench import log
from examples.minilm import encoder
from tang_egg.examples import EXAMPLES
from tang_egg.ir import Graph, tensors_of
from tang_egg.saturate import saturate

BUDGET_S = {
    "softmax": 0.5,
    "attention": 0.5,
    "attention_causal": 0.5,
    "layernorm_matmul": 1.0,
    "transformer_block": 6.0,
    "transformer_block_layernorm": 6.0,
    "minilm": 10.0,
}


def programs() -> dict[str, Callable[[], Graph]]:
    return {**EXAMPLES, "minilm": encoder}


def measure(arguments: Sequence[str] = ()) -> list[log.Row]:
    """A row for each program (all, or those named in `arguments`)."""
    parser = argparse.ArgumentParser(prog="python -m bench saturate", description=__doc__)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="names of examples, or minilm; all without any")
    parser.add_argument("--repeat", type=int, default=3, help="how often each is saturated (default: 3)")
    given = parser.parse_args(arguments)
    known = programs()
    unknown = [name for name in given.programs if name not in known]
    if unknown:
        parser.error(f"no program is named {unknown[0]}; there are: {', '.join(known)}")
    saturate(EXAMPLES["softmax"]())  # the engine's first start is no part of any program
    return [_row(name, known[name](), given.repeat) for name in given.programs or known]


def _row(name: str, graph: Graph, repeat: int) -> log.Row:
    found = [saturate(graph) for _ in range(max(1, repeat))]
    times = [1e3 * f.seconds for f in found]
    last = found[-1]
    return log.row(
        "saturate",
        name,
        "tang_egg",
        median_ms=round(statistics.median(times), 1),
        spread_ms=round(max(times) - min(times), 1),
        tensors=len(tensors_of(graph.outputs)),
        nodes=last.nodes,
        classes=last.classes,
        matches=sum(last.matches.values()),
        complete=last.complete,
        budget_s=BUDGET_S.get(name),
    )
