"""Which kernels of a program came from which kernel of which window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tang_egg.ir import sources
from tang_egg.program import KernelPlan

if TYPE_CHECKING:
    from tang_egg.pipeline_compiled import Extraction


def plans_of(extraction: Extraction) -> tuple[tuple[tuple[KernelPlan, ...], ...], ...]:
    """For each window and each of its kernels: the plans that it became, the one with its own name last.

    A target may cut a kernel into several. A plan that is not one of the originals belongs to the next one that reads
    it, else (an output cut off) to the original before it.
    """
    counts = [len(result.kernels) for _, _, result in extraction.windows]
    names = list(extraction.steps)[: sum(counts)]
    number = {name: n for n, name in enumerate(names)}
    plans = extraction.program.kernels
    owner: dict[int, int] = {k: number[p.name] for k, p in enumerate(plans) if p.name in number}
    for k in reversed(range(len(plans))):
        if k not in owner:
            readers = (owner[m] for m in range(k + 1, len(plans)) if m in owner and _reads(plans[m], plans[k]))
            before = (owner[m] for m in reversed(range(k)) if m in owner)
            owner[k] = next(readers, next(before, 0))
    groups: list[list[KernelPlan]] = [[] for _ in names]
    for k, p in enumerate(plans):
        groups[owner[k]].append(p)
    for name, group in zip(names, groups, strict=True):
        group.sort(key=lambda p: p.name == name)
    rows = iter(tuple(g) for g in groups)
    return tuple(tuple(next(rows) for _ in range(n)) for n in counts)


def _reads(reader: KernelPlan, maker: KernelPlan) -> bool:
    return any(s in maker.outputs for t in reader.outputs for s in sources(t.body))
