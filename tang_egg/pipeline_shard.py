"""Graphs over several ranks: derived, cut along an axis, compiled stage by stage, and verified as a whole.

    found = shard(graph, "K:1", ranks=2)     what each rank computes and what crosses between them
    found.interpret(arrays)                  in float64, all ranks simulated
    compile_sharded(found)(arrays)           in C, one rank after another

No transport is built in: `Sharded.stages` and their exchanges say what a caller's own collectives have to move.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tang_egg.cost.roofline import Costs
from tang_egg.errors import GraphError, VerificationError
from tang_egg.extract.certificate import Certificate
from tang_egg.extract.shard import shard_program
from tang_egg.extract.sharded import Sharded, Stage
from tang_egg.interpret import interpret
from tang_egg.ir import Graph
from tang_egg.pipeline import extract
from tang_egg.pipeline_certificate import certificate
from tang_egg.pipeline_compiled import Extraction
from tang_egg.pipeline_rewrite import check_products, rewritten
from tang_egg.run import CompiledProgram, compile_program
from tang_egg.saturate import Limits
from tang_egg.verify import Verification, dim_choices, sample_inputs
from tang_egg.verify_compare import excess, relative_error, told, values_of

Array = npt.NDArray[Any]


def shard(
    graph: Graph,
    axis: str,
    ranks: int,
    *,
    limits: Limits | None = None,
    costs: Costs | None = None,
    products: str = "exact",
) -> Sharded:
    """The kernels of a graph for each of `ranks` ranks that hold parts of one axis, and what they exchange.

    `axis`: an index of the graph, a symbolic dim, or an input and its axis, such as "K:1". Folds along it become local
    folds and an all-reduce under the same monoid. Inputs that have the axis are cut along it, the others are held by
    every rank in whole. Raises GraphError where the axis cannot be cut, and as `optimize` does.
    """
    found = _selected(graph, limits, costs, products)
    return shard_program(graph, found.program, axis, ranks)


def shard_certificate(
    graph: Graph,
    axis: str,
    ranks: int,
    *,
    limits: Limits | None = None,
    costs: Costs | None = None,
    products: str = "exact",
    texts: bool = False,
) -> Certificate:
    """The certificate of what `shard` gives, which takes the same: from the graph to the programs of all stages.

    Raises as `shard` and `certificate` do.
    """
    found = _selected(graph, limits, costs, products)
    return certificate(found, texts=texts, sharded=shard_program(graph, found.program, axis, ranks))


def _selected(graph: object, limits: Limits | None, costs: Costs | None, products: str) -> Extraction:
    """The program that is cut over ranks."""
    if not isinstance(graph, Graph):
        raise GraphError(
            f"a value of type {type(graph).__name__} is no graph",
            where="shard",
            mend="make one of named outputs: te.graph('name', y=...)",
        )
    check_products("shard", (limits or Limits()).values, products)
    return rewritten(extract(graph, limits=limits, costs=costs), None, products)


@dataclass(slots=True)
class CompiledSharded:
    """The stages of a sharded graph, built for this machine. A call runs all ranks, one after another."""

    sharded: Sharded
    runners: dict[str, CompiledProgram]
    verification: Verification | None = None

    def __call__(self, arrays: Mapping[str, Any], dims: Mapping[str, int] | None = None) -> dict[str, Array]:
        """The outputs by name. Raises InputError when an array does not fit."""
        return self.sharded.simulate(arrays, self.run_stage, dims)

    def run_stage(self, stage: Stage, arrays: Mapping[str, Any], dims: Mapping[str, int]) -> Mapping[str, Any]:
        """One stage on the arrays of one rank."""
        return self.runners[stage.graph.name](dict(arrays), dims)


def compile_sharded(sharded: Sharded, *, verified: bool = True) -> CompiledSharded:
    """The stages in C, compared with the float64 interpreter on the whole graph unless `verified` is False.

    Raises TargetError without a compiler, VerificationError where the ranks together compute anything else.
    """
    made = CompiledSharded(sharded, {s.graph.name: compile_program(s.program) for s in sharded.stages})
    if verified:
        made.verification = _verify(made)
    return made


def _verify(made: CompiledSharded) -> Verification:
    graph, found = made.sharded.graph, Verification()
    for dims in _choices(made.sharded):
        for edge in (False, True):
            inputs = sample_inputs(graph, dims, edge=edge)
            expected, got = interpret(graph, inputs, dims, checked=False), made(inputs, dims)
            found.runs += 1
            for t in graph.outputs:
                values = values_of(np.asarray(got[t.name]), t.dtype)
                found.note(t.name, relative_error(values, expected[t.name]))
                if excess(values, expected[t.name], t.dtype) > 1.0:
                    raise VerificationError(
                        f"output '{t.name}' is wrong {told(values, expected[t.name], t.dtype)}",
                        where=f"graph '{graph.name}' over {made.sharded.ranks} ranks, dims {dict(dims)}",
                        mend="report this with the graph; a graph that is not sharded may avoid it",
                    )
    return found


def _choices(sharded: Sharded) -> list[dict[str, int]]:
    """Sizes to verify at, the cut axis a multiple of the ranks."""
    cut = sharded.cut_dim
    choices = [dict(c) for c in dim_choices(sharded.graph)]
    if cut is None:
        return choices
    step = sharded.ranks * cut.multiple
    sized = [{**c, cut.name: -(-c[cut.name] // step) * step} for c in choices]
    return [c for c in sized if cut.lo <= c[cut.name] and (cut.hi is None or c[cut.name] <= cut.hi)]
