"""Programs and rewritings of a certificate as JSON, and back: nothing is called by a name that a file gives."""

from __future__ import annotations

from typing import Any, NoReturn

from tang_egg.errors import ArtefactError
from tang_egg.extract.rewriting import Applied, Crossing, Rewriting
from tang_egg.ir import Graph, Tensor
from tang_egg.program import KernelPlan, Program
from tang_egg.text import parse_graph, print_graph


def program_data(p: Program) -> dict[str, Any]:
    """Every written tensor as an output of one graph, and how the kernels take them."""
    written = list(p.tensors)
    outputs = [*written, *(t for t in p.graph.outputs if t not in written)]
    names = [t.name for t in outputs]
    return {
        "text": print_graph(Graph(p.graph.name, p.graph.inputs, tuple(outputs))),
        "kernels": [{"name": k.name, "writes": [names.index(t.name) for t in k.outputs]} for k in p.kernels],
        "outputs": [outputs.index(t) for t in p.graph.outputs],
    }


def rewriting_data(r: Rewriting) -> dict[str, Any]:
    """A rewriting: what was asked for, the laws, and what stands afterwards."""
    return {
        "kind": r.kind,
        "asked": [list(x) for x in r.asked],
        "steps": [[s.law, s.at, s.before, s.after] for s in r.steps],
        "programs": [program_data(p) for p in r.programs],
        "crossings": [[c.stage, c.monoid, list(c.sends), list(c.gathers)] for c in r.crossings],
        "cut": [list(x) for x in r.cut],
    }


def read_program(data: dict[str, Any], where: str) -> Program:
    """A program from JSON. Raises ArtefactError, or what a damaged form raises."""
    whole = parse_graph(read_text(data["text"], where), f"{where}: program", check=False)
    tensors = whole.outputs

    def chosen(numbers: list[Any]) -> tuple[Tensor, ...]:
        return tuple(tensors[read_int(n, where)] for n in numbers)

    kernels = tuple(KernelPlan(read_text(k["name"], where), chosen(k["writes"])) for k in data["kernels"])
    return Program(Graph(whole.name, whole.inputs, chosen(data["outputs"])), kernels)


def read_rewriting(data: dict[str, Any], where: str) -> Rewriting:
    """A rewriting from JSON. Raises ArtefactError, or what a damaged form raises."""

    def texts(listed: list[Any]) -> tuple[str, ...]:
        return tuple(read_text(x, where) for x in listed)

    steps = tuple(Applied(*texts([law, at, before, after])) for law, at, before, after in data["steps"])
    crossings = tuple(
        Crossing(read_int(n, where), read_text(monoid, where), texts(sends), texts(gathers))
        for n, monoid, sends, gathers in data["crossings"]
    )
    return Rewriting(
        read_text(data["kind"], where),
        tuple((read_text(k, where), v if isinstance(v, str) else read_int(v, where)) for k, v in data["asked"]),
        steps,
        tuple(read_program(p, where) for p in data["programs"]),
        crossings,
        tuple((read_text(k, where), read_int(n, where)) for k, n in data["cut"]),
    )


def wrong(what: str, where: str) -> NoReturn:
    """Raises ArtefactError: this is no certificate."""
    raise ArtefactError(
        f"this is no certificate: {what}", where=where, mend="write it again; the file was changed or is damaged"
    )


def read_text(value: Any, where: str) -> str:
    """A string. Raises ArtefactError for anything else."""
    if not isinstance(value, str):
        wrong(f"a text was expected, not {type(value).__name__}", where)
    return value


def read_int(value: Any, where: str) -> int:
    """A whole number. Raises ArtefactError for anything else."""
    if type(value) is not int:
        wrong(f"a number was expected, not {type(value).__name__}", where)
    return value
