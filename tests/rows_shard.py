"""Rows about two ranks that hold parts of an axis: local folds, and an exchange of statistics only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tang_egg.extract.sharded import Sharded
from tang_egg.ir import Graph
from tang_egg.pipeline_shard import shard
from tests.rows_attention import causal, plain
from tests.rows_moments import rms_norm, rms_norm_matmul

RANKS = 2


@dataclass(frozen=True, slots=True)
class ShardRow:
    """A naive graph, the axis that is cut, and what leaves a rank: names of sizes that each array has as extents."""

    build: Callable[..., Graph]
    axis: str
    sends: tuple[tuple[str, ...], ...]
    laws: frozenset[str]
    sizes: Mapping[str, int]
    small: Mapping[str, int]

    def large(self) -> Sharded:
        """The stages at the sizes of a model."""
        return shard(self.build("f32", **self.sizes), self.axis, RANKS)

    def twin(self, dtype: str = "f32") -> Sharded:
        """The stages of the small twin."""
        return shard(self.build(dtype, **self.small), self.axis, RANKS)

    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of what should leave a rank, in order."""
        return sorted(tuple(self.sizes[n] for n in names) for names in self.sends)


HEADS = {"h": 4, "n": 1024, "m": 1024, "d": 64}
STATE = (("h", "n"), ("h", "n"), ("h", "n", "d"))
SHARDED = {
    "rms_norm_sharded": ShardRow(
        rms_norm, "X:1", (("n",),), frozenset({"sharding.local"}), {"n": 256, "m": 4096}, {"n": 3, "m": 7}
    ),
    "rms_norm_matmul_sharded": ShardRow(
        rms_norm_matmul, "X:1", (("n",), ("n", "o")), frozenset({"sharding.local"}), {"n": 256, "m": 768, "o": 512},
        {"n": 3, "m": 7, "o": 5},
    ),
    "attention_sharded": ShardRow(
        plain, "K:1", STATE, frozenset({"sharding.local_state"}), HEADS, {"h": 2, "n": 5, "m": 7, "d": 3}
    ),
    "attention_causal_sharded": ShardRow(
        causal, "K:1", STATE, frozenset({"sharding.local_state"}), HEADS, {"h": 2, "n": 7, "m": 7, "d": 3}
    ),
}  # fmt: skip
