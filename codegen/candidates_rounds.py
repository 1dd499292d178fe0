"""The schedule by which the best few points of a row are found in rounds, where that takes fewer instructions.

Merging lists of k entries takes some k^2 comparisons in every lane, for every exchange; a round takes one look at the
keys of one lane, and one exchange. More warps to a row hold fewer keys each, but all of them take part in every round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from math import log2, prod

from tang_egg.affine import Index
from tang_egg.codegen.device import REGISTER_LIMIT, UNITS, WARP
from tang_egg.codegen.lower_grid import lower_grid
from tang_egg.codegen.lower_rounds import CHAINS
from tang_egg.codegen.ranking import Keys, ranking_of
from tang_egg.errors import CodegenError
from tang_egg.ir import Reduce, Tensor
from tang_egg.schedule import Schedule

TEAMS = (0, 2, 4, 8, 16, 32)
"""Warps that may share a row; 0: each has its own."""
ENTER, MERGE = 22, 8
"""Instructions for a point and an entry of a list, and for each pair of entries of two lists that are merged."""
START, ROUND, WAIT = 100, 10, 6
"""Instructions of a warp for a row and for a round, and for what a round exchanges with other warps."""
KEY, LOOK = {"i32": 8, "i64": 10}, {"i32": 1, "i64": 5}
"""Instructions to make a key, and to look at one again."""
ISSUED, RESIDENT = 4, 64
"""Instructions that a multiprocessor issues in a cycle, and warps that it has room for."""
FETCH, EXCHANGE, STEP = 800, 120, 5
"""Cycles until a row is there, until all lanes know a best key, and for an instruction that waits for another."""
OTHER = 24
"""Registers of a thread beside its keys."""


def in_rounds(outputs: tuple[Tensor, ...], base: Schedule, folds: Sequence[Reduce]) -> list[Schedule]:
    """`base`, a schedule by warps, with the folds that rank their points in rounds; empty where that gains nothing.

    `folds`: those that stand in no other fold. Rows that `base` holds in registers are shared by no fewer warps.
    """
    ranked = [r for f in folds if (r := ranking_of(f)) is not None and base.fold_of(r.index.name).how == "warp"]
    if not ranked:
        return []
    rows = prod(i.size.value or 1 for i in outputs[0].axes if i.name in base.grid)
    most = sum(_merges(Keys(r, WARP * max(base.team, 1), _size(r.index, base)), base.team) for r in ranked)
    found: list[tuple[float, Schedule]] = []
    for team in TEAMS:
        keys = [Keys(r, WARP * max(team, 1), _size(r.index, base)) for r in ranked]
        cycles = sum(_rounds(k, team, rows) for k in keys)
        if cycles < most and (not base.stage or team >= base.team):
            found.append((cycles, replace(base, team=team, rounds=tuple(dict.fromkeys(r.index.name for r in ranked)))))
    ordered = sorted(found, key=lambda pair: pair[0])
    return list(islice((s for _, s in ordered if _legal(outputs, s)), 1))


def _size(index: Index, s: Schedule) -> int:
    """Points side by side that a lane takes."""
    size, points = s.fold_of(index.name).size, index.size.value or 1
    return size if points % size == 0 else 1


def _rounds(keys: Keys, team: int, rows: int) -> float:
    """Cycles of a multiprocessor for a row by rounds: what it issues, and what rows that run at a time wait for."""
    count, look, warps = keys.ranking.count, LOOK[keys.type] * keys.held, max(team, 1)
    each = START + KEY[keys.type] * keys.held + count * (ROUND + WAIT * bool(team))
    waits = FETCH + STEP * keys.held + count * (EXCHANGE * (1 + bool(team)) / 2 + STEP * look / CHAINS)
    together = min(RESIDENT / warps, REGISTER_LIMIT / (WARP * warps * (OTHER + keys.held)), rows / UNITS)
    return (warps * each + (count - 1) * (ROUND + look)) / ISSUED + waits / max(together, 1.0)


def _merges(keys: Keys, team: int) -> float:
    """Cycles for a row by lists that all lanes keep: those of neighbours, lanes and warps are merged in pairs.

    What rows wait for is not counted, so that rounds are taken only where they gain more than that.
    """
    count, warps = keys.ranking.count, max(team, 1)
    pairs = log2(WARP * warps) + log2(min(keys.size, keys.held))
    return warps * (START + ENTER * count * keys.held + MERGE * count * count * pairs) / ISSUED


def _legal(outputs: tuple[Tensor, ...], s: Schedule) -> bool:
    try:
        lower_grid("try", outputs, s)
    except CodegenError:
        return False
    return True
