"""The least bytes that any schedule of a kernel, a program or a graph moves between fast memory and what is behind it.

`traffic_floor` gives a `Floor`: bytes, which term binds, the exponents and the tile of the two linear programs, how far
that tile's own traffic is above, and in words the conditions under which no schedule moves less. How it is found is
told by floor_views, floor_program and floor_words (the mathematics), floor_read, floor_nest and floor_kernel (what a
graph means for it). The bound is the largest of several, never their sum: what is touched at least once; what has to be
read a second time; and for each fold, how much reuse fast memory allows.

Where it holds: the points of each fold are computed as they stand, each from operands that are in fast memory at one
time; they may be computed again (but see `recompute`), in any order, by any schedule. Rewriting the algebra is outside:
a different graph has a floor of its own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, isfinite

from tang_egg import ops
from tang_egg.cost.floor_kernel import Accounts, Asked, Moved
from tang_egg.cost.floor_nest import Claim
from tang_egg.cost.floor_program import Exponents
from tang_egg.cost.floor_tile import Tile, best_tile
from tang_egg.cost.floor_words import dual_tile
from tang_egg.errors import BindError, GraphError
from tang_egg.ir import Graph, Tensor
from tang_egg.program import KernelPlan, Program

STATES = ("cold", "warm")
_DEEP = 20_000
"""Python's limit while terms are read: expressions of thousands of operations in a row are walked recursively."""


@dataclass(frozen=True, slots=True)
class Floor:
    """The least bytes moved at one level of memory, and what proves it.

    `bytes` is the bound in the asked state; `cold` the one from empty fast memory. `compulsory` is what is touched at
    least once, `reads` and `writes` its parts by array. `binding` names the term that is largest. `parts` are the
    floors of the kernels of a program.
    """

    name: str
    level: str
    capacity: int
    state: str
    memories: int
    bytes: int
    cold: int
    compulsory: int
    binding: str
    reads: tuple[tuple[str, int], ...]
    writes: tuple[tuple[str, int], ...]
    claims: tuple[Claim, ...]
    conditions: tuple[str, ...]
    parts: tuple[Floor, ...] = ()

    @property
    def claim(self) -> Claim | None:
        """The strongest claim of a fold, also where touching everything once takes more; None without folds."""
        return max(self.claims, key=lambda c: (c.bytes, c.nest.points), default=None)

    @property
    def exponents(self) -> Exponents | None:
        """The exact exponents behind the strongest claim."""
        return None if self.claim is None else self.claim.exponents(self.capacity)

    @property
    def dual_tile(self) -> dict[str, float]:
        """The real-valued box behind the strongest claim: a side for each dim of its nest."""
        claim = self.claim
        return {} if claim is None else dual_tile(claim.nest, claim.words, self.capacity)

    @property
    def tile(self) -> Tile | None:
        """The tile of the strongest claim's operands, in whole elements and fitted to fast memory; searched anew."""
        if self.claim is None:
            return None
        stored = tuple((o.name, float(o.weight)) for o in self.claim.nest.operands if o.written)
        return best_tile(self.claim.nest, self.capacity, stored)

    @property
    def tile_bytes(self) -> int | None:
        """Bytes that the loops over that tile move, arrays outside its nest counted once."""
        tile, claim = self.tile, self.claim
        if tile is None or claim is None or not isfinite(tile.words):
            return None
        inside = {o.name.partition("[")[0] for o in claim.nest.operands}
        rest = sum(n for name, n in self.reads if name not in inside)
        return max(self.bytes, ceil(tile.words + rest))

    @property
    def gap(self) -> float | None:
        """How far the tile's traffic is above the floor: 0.1 is a tenth more."""
        moved = self.tile_bytes
        return None if moved is None or not self.bytes else moved / self.bytes - 1.0

    def text(self) -> str:
        """The floor in words, one line for each part of the answer."""
        return "\n".join(_lines(self))

    def record(self) -> dict[str, object]:
        """The floor as values of JSON."""
        claim, exact, tile = self.claim, self.exponents, self.tile
        return {
            "name": self.name, "level": self.level, "capacity": self.capacity, "state": self.state,
            "memories": self.memories, "bytes": self.bytes, "cold": self.cold, "compulsory": self.compulsory,
            "binding": self.binding, "reads": dict(self.reads), "writes": dict(self.writes),
            "claims": [{"what": c.what, "bytes": ceil(c.bytes), "conditions": list(c.conditions)} for c in self.claims],
            "exponent": None if exact is None else _exponent(exact),
            "tight": None if exact is None else exact.tight,
            "tile exponents": None if exact is None else {d: str(x) for d, x in exact.tile_exponents().items()},
            "tile": None if tile is None else dict(tile.sides), "tile bytes": self.tile_bytes, "gap": self.gap,
            "split": None if claim is None else dict(claim.split), "conditions": list(self.conditions),
            "parts": [p.record() for p in self.parts],
        }  # fmt: skip

    def json(self) -> str:
        """The floor as a JSON text."""
        return json.dumps(self.record(), indent=2)


def traffic_floor(
    what: KernelPlan | Tensor | Program | Graph,
    *,
    capacity: int,
    level: str = "memory",
    state: str = "cold",
    memories: int = 1,
    recompute: bool = True,
    accumulator: str | None = None,
    meets: Mapping[str, int] | None = None,
    points: Mapping[str, int] | None = None,
) -> Floor:
    """The least bytes that `what` moves across a boundary with `capacity` bytes of faster memory in all.

    A kernel (or one tensor) reads its sources from memory and writes its outputs. A graph may be cut in any way: what
    fusion can save at best. A program is the sum of its kernels, each started in the given state.

    `level` only names the boundary. `state`: "cold" starts from fast memory without any of the data, "warm" takes off
    what it may hold of inputs at the start and of outputs at the end. `memories`: how many private fast memories of
    that capacity share the work. `recompute=False` assumes that values which are not stored are computed once.
    `accumulator`: element type of sums of reals (f32, or f64 where f64 is read). `meets`: at most so many points share
    an element of a gathered array, by its name; unknown indices may all be the same. `points`: the fewest live points
    of folds over the index of a name whose domain data decides, over all dims that the domain depends on; otherwise
    none is certain.

    Raises BindError where a dim is not bound, GraphError for arguments that make no sense.
    """
    asked = _asked(what, capacity, state, memories, recompute, accumulator, meets, points)
    with _deep():
        return _of(what, asked, level, state)


def _of(what: KernelPlan | Tensor | Program | Graph, asked: Asked, level: str, state: str) -> Floor:
    if isinstance(what, Program):
        parts = tuple(_floor(k.name, k.outputs, False, asked, level, state) for k in what.kernels)
        return _sum(what.graph.name, parts, level, state, asked)
    if isinstance(what, Graph):
        return _floor(what.name, what.outputs, True, asked, level, state)
    outputs = (what,) if isinstance(what, Tensor) else what.outputs
    return _floor(what.name, outputs, False, asked, level, state)


def traffic_floors(
    what: KernelPlan | Tensor | Program | Graph,
    capacities: Mapping[str, int],
    *,
    state: str = "cold",
    recompute: bool = True,
) -> dict[str, Floor]:
    """The floor at each boundary of a hierarchy: `capacities` in bytes by level, the fastest first.

    At each boundary counts the total capacity of everything faster.
    """
    total = 0
    found: dict[str, Floor] = {}
    for level, capacity in capacities.items():
        total += capacity
        found[level] = traffic_floor(what, capacity=total, level=level, state=state, recompute=recompute)
    return found


@contextmanager
def _deep() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEEP))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _asked(
    what: object,
    capacity: int,
    state: str,
    memories: int,
    recompute: bool,
    accumulator: str | None,
    meets: Mapping[str, int] | None,
    points: Mapping[str, int] | None,
) -> Asked:
    """The checked request. Raises BindError or GraphError."""
    if not isinstance(what, (KernelPlan, Tensor, Program, Graph)):
        raise GraphError(
            f"a value of type {type(what).__name__} has no floor",
            where="traffic_floor",
            mend="give a graph, a program, one of its kernels, or a tensor",
        )
    graph = what if isinstance(what, Graph) else what.graph if isinstance(what, Program) else None
    if graph is not None and graph.dims():
        names = ", ".join(d.name for d in graph.dims())
        raise BindError(
            f"the floor of a graph with dims that are not bound: {names}",
            where=f"graph '{graph.name}'",
            mend=f"bind them first: graph.bind({', '.join(f'{d.name}=...' for d in graph.dims())})",
        )
    numbers = {"capacity": (capacity, 2), "memories": (memories, 1)}
    numbers |= {f"meets[{n!r}]": (v, 1) for n, v in (meets or {}).items()}
    numbers |= {f"points[{n!r}]": (v, 0) for n, v in (points or {}).items()}
    for name, (value, least) in numbers.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise GraphError(
                f"{name} is {value!r}", where="traffic_floor", mend=f"give a whole number of at least {least}"
            )
    if state not in STATES:
        raise GraphError(f"the state {state!r} is not known", where="traffic_floor", mend="use 'cold' or 'warm'")
    if accumulator is not None and accumulator not in ops.FLOATS:
        raise GraphError(
            f"sums cannot be held in {accumulator!r}", where="traffic_floor", mend=f"use one of {', '.join(ops.FLOATS)}"
        )
    given = tuple(sorted((meets or {}).items())), tuple(sorted((points or {}).items()))
    return Asked(capacity, memories, recompute, accumulator, *given)


@lru_cache(maxsize=1 << 11)
def _moved(outputs: tuple[Tensor, ...], whole: bool, asked: Asked) -> Moved:
    return Accounts(asked, outputs, whole).moved()


def _floor(name: str, outputs: tuple[Tensor, ...], whole: bool, asked: Asked, level: str, state: str) -> Floor:
    moved = _moved(outputs, whole, asked)
    terms = [(float(moved.compulsory), "each element once")]
    if moved.again:
        terms.append((float(moved.compulsory + moved.again), f"{moved.again_of} read again after a fold over it"))
    written = sum(n for _, n in moved.writes)
    terms += [(c.bytes, c.what) for c in moved.claims]
    most, binding = max(terms, key=lambda t: t[0])
    cold = _whole(most)
    found = cold
    if state == "warm":
        room = asked.capacity * asked.memories
        found = max(0, cold - min(room, cold - min(written, cold)) - min(room, written))
    return Floor(
        name, level, asked.capacity, state, asked.memories, found, cold, moved.compulsory, binding,
        moved.reads, moved.writes, moved.claims, tuple(_said(moved, binding, asked, state, whole)),
    )  # fmt: skip


def _whole(bytes: float) -> int:
    """The whole number of bytes that a bound means: traffic is no fraction, and a float has about 15 digits."""
    return max(0, ceil(bytes * (1 - 1e-12)))


def _said(moved: Moved, binding: str, asked: Asked, state: str, whole: bool) -> Sequence[str]:
    """The conditions of a floor, in words."""
    said = ["the sums, products and folds are computed as they stand; a graph rewritten by algebra has its own floor"]
    if whole:
        said.append("tensors between inputs and outputs may be kept, stored or computed again, cut into any kernels")
    chosen = [c for c in moved.claims if c.what == binding]
    if chosen:
        said.append("what a point of a fold reads is in fast memory at one time")
        said += [x for c in chosen[:1] for x in c.conditions]
    if not asked.recompute and not any("computed once" in s for s in said):
        said.append("values that are not stored are computed once")
    if asked.memories > 1:
        said.append(f"{asked.memories} memories of {asked.capacity} bytes each start without data")
    if state == "warm":
        said.append("fast memory may hold inputs at the start, and outputs at the end, up to its capacity")
    else:
        said.append("fast memory holds none of the data at the start, and all outputs are written to memory")
    return [*said, *moved.conditions]


def _sum(name: str, parts: tuple[Floor, ...], level: str, state: str, asked: Asked) -> Floor:
    """The floor of kernels that run one after another, each started in the given state."""
    largest = max(parts, key=lambda p: p.bytes, default=None)
    binding = "no kernel" if largest is None else f"kernel {largest.name}: {largest.binding}"
    said = [f"every kernel is started {state}", *dict.fromkeys(c for p in parts for c in p.conditions)]
    return Floor(
        name, level, asked.capacity, state, asked.memories, sum(p.bytes for p in parts), sum(p.cold for p in parts),
        sum(p.compulsory for p in parts), binding, tuple(x for p in parts for x in p.reads),
        tuple(x for p in parts for x in p.writes), (), tuple(said), parts,
    )  # fmt: skip


def _exponent(exact: Exponents) -> str:
    return str(exact.fraction) if exact.fraction is not None else f"{exact.value:.6g}"


def _lines(f: Floor) -> list[str]:
    lines = [f"{f.name}: at least {f.bytes:,} bytes to {f.level} with {f.capacity:,} bytes of fast memory, {f.state}"]
    lines.append(f"  binding: {f.binding}")
    lines.append(f"  touched: {f.compulsory:,} bytes ({', '.join(f'{n} {b:,}' for n, b in (*f.reads, *f.writes))})")
    exact, claim = f.exponents, f.claim
    if claim is not None and exact is not None:
        lines.append(f"  reuse: {claim.what}: {_whole(claim.bytes):,} bytes over {claim.nest.points:,} points")
        powers = ", ".join(
            f"{d} {x if not isinstance(x, float) else f'{x:.3f}'}" for d, x in exact.tile_exponents().items()
        )
        proof = "certified by its tile" if exact.tight else "above its tile, which is not known to be best"
        lines.append(f"  exponent {_exponent(exact)} of fast memory, {proof}: {powers}")
        for d, a in claim.split:
            lines.append(f"  with {d} split by its stride {a}")
        tile = f.tile
        if tile is not None and f.gap is not None:
            lines.append(f"  tile: {tile}, which moves {f.tile_bytes:,} bytes, {100 * f.gap:.1f} % above the floor")
    for p in f.parts:
        lines.append(f"  kernel {p.name}: {p.bytes:,} bytes, {p.binding}")
    lines += [f"  if {c}" for c in f.conditions]
    return lines
