"""The space that a certificate speaks of: candidate kernels of all windows, and the schedules declared for each.

    problem  ::= kernels, windows               kernels that are alike stand once, whichever window needs them
    window   ::= candidates, outputs, copies    for each candidate: the kernels that it runs, and who dominates it
    kernel   ::= tensors over inputs, schedules; for each schedule a floor and a guess, in seconds

What is declared is fixed here and by the code generator's proposals: `declared` takes every proposal, and to the first
one of each shape (and the first one with packed blocks) all combinations of at least the values of LEAST, and every
other field with each of its values alone (`around`). It cannot be made smaller by the caller. Fields that change values
beyond rounding order, FIXED, are the caller's wish and no dimensions.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Protocol

from tang_egg.affine import Index
from tang_egg.egraph import ClassId
from tang_egg.extract.assemble import WindowResult
from tang_egg.extract.select import Candidate
from tang_egg.ir import Input, Reduce, Scalar, Scan, Source, Tensor, sources, type_of, walk
from tang_egg.ops import BYTES
from tang_egg.schedule import WHOLE, WORDS, Schedule
from tang_egg.text import print_scalar
from tang_egg.windows import replace_sources


@dataclass(frozen=True, slots=True)
class Values:
    """The values of the fields of one shape: sizes of every tiled index and of every planned fold.

    `stages`: also without the operands staged that the proposal stages.
    """

    tile: tuple[int, ...] = ()
    fold: tuple[int, ...] = ()
    stages: bool = False


LEAST: Mapping[str, Values] = {
    "point": Values(tile=(4, 8, 16, 32)),
    "split": Values(tile=(4, 8, 16), fold=(8, 16, 32, 64)),
    "tile": Values(tile=(4, 8, 16, 32), fold=(8, 16, 32), stages=True),
    "stream": Values(tile=(4, 8, 16), fold=(16, 32, 64), stages=True),
    "scan": Values(tile=(4, 8, 16)),
    "grid": Values(),
    "warp": Values(),
    "mma": Values(),
}
"""What is tried at least, by the shape of a schedule. Shapes without values: what the code generator proposes."""


NUMBERS: Mapping[str, tuple[int, ...]] = {
    "chunk": (0, 32, 128, 512),
    "team": (0, 2, 4, 8),
    "ahead": (0, 1, 2, 4),
    "occupancy": (0, 4, 6, 8, 9, 10),
    "consumers": (2, 3),
    "stages": (2, 3, 4, 6, 8),
    "resident": (0, 1, 2),
    "overlap": (0, 1),
    "turns": (0, 1),
    "lead": (0, 1, 2),
    "tickets": (0, 1),
    "supertile": (1, 8, 16, 32),
    "reuse": (0, 1),
    "straight": (0, 1),
    "early": (0, 1),
}
"""The values of fields that hold a number; of one that is not named, none, half of it and twice as much."""
BLOCKS = (48, 96, 192, 384)
"""Points of a packed block, of each index that has one."""
LANES = (0, 8, 16, 32)
"""Partial states side by side of a stream."""
ROWS = ("team", "ahead", "occupancy")
"""Fields of rows and points that need no matrix unit."""
OFFERED: Mapping[str, tuple[str, ...]] = {
    "point": ("store",),
    "split": ("store",),
    "tile": ("store",),
    "stream": ("store",),
    "scan": ("chunk",),
    "warp": ("team",),
    "mma": tuple(n for n in NUMBERS if n not in ("chunk", "early", *ROWS)),
}
"""Fields that are tried with the first proposal of a shape though it does without them."""
FIXED = ("unit", "accumulate")
"""Fields that say in which types a kernel computes: `products=` and `tune_precision` set them."""
APART = ("shape", "tile", "fold", "stage")
"""The shape is what a space is declared by; the others are combined with each other (LEAST)."""


def declared(proposals: Sequence[Schedule], sizes: Mapping[str, int]) -> tuple[Schedule, ...]:
    """The schedules of a kernel's space in a fixed order: the proposals, combinations of LEAST, then fields alone.

    `sizes`: of the indices that have one; a tile or a share of a fold is never longer than its index.
    """
    found = dict.fromkeys(proposals)
    first: dict[tuple[str, bool], Schedule] = {}
    for s in proposals:
        first.setdefault((s.shape, bool(s.block)), s)
    for (shape, _), s in first.items():
        found |= dict.fromkeys(_combined(s, LEAST[shape], sizes))
    for s in first.values():
        found |= dict.fromkeys(around(s, sizes))
    return tuple(found)


def around(s: Schedule, sizes: Mapping[str, int]) -> Iterable[Schedule]:
    """A schedule with each value of each field that is no part of a combination, one field at a time."""
    for f in fields(Schedule):
        own = getattr(s, f.name)
        if f.name in APART or f.name in FIXED:
            continue
        if own == f.default and f.name not in OFFERED.get(s.shape, ()):
            continue
        for value in _values(f.name, own, sizes):
            if value != own:
                yield replace(s, **{f.name: value})  # type: ignore[arg-type]
    for n, (name, plan) in enumerate(s.fold):
        for lanes in LANES if plan.how == "stream" else ():
            if lanes != plan.lanes and (not lanes or plan.size % lanes == 0):
                yield replace(s, fold=(*s.fold[:n], (name, replace(plan, lanes=lanes)), *s.fold[n + 1 :]))


def _values(name: str, own: object, sizes: Mapping[str, int]) -> Iterable[object]:
    """The values of a field beside the one that was proposed."""
    if name == "block":
        assert isinstance(own, tuple)
        for n, (index, _) in enumerate(own):
            for size in BLOCKS:
                if size <= sizes.get(index, size):
                    yield (*own[:n], (index, size), *own[n + 1 :])
    elif isinstance(own, tuple):
        if name == "order":
            yield from ((*own[n:], *own[:n]) for n in range(1, len(own)))
        elif name == "grid":
            yield from (own[:n] for n in range(1, len(own)))
        else:
            yield ()
    elif isinstance(own, int):
        yield from NUMBERS.get(name, (0, own // 2, 2 * own))
    else:
        yield from WORDS[name]


def _combined(s: Schedule, values: Values, sizes: Mapping[str, int]) -> Iterable[Schedule]:
    def fitting(name: str, own: int, others: tuple[int, ...]) -> list[int]:
        if own == WHOLE or own == 1:
            return [own]
        return [own, *(n for n in others if n != own and n <= sizes.get(name, n))]

    tiles = [[(name, n) for n in fitting(name, own, values.tile)] for name, own in s.tile]
    folds = [
        [
            (name, replace(p, size=n))
            for n in (fitting(name, p.size, values.fold) if p.how in _SIZED else [p.size])
            if not p.lanes or n % p.lanes == 0
        ]
        for name, p in s.fold
    ]
    stages = [s.stage, ()] if values.stages and s.stage else [s.stage]
    for tile, fold, stage in itertools.product(itertools.product(*tiles), itertools.product(*folds), stages):
        yield replace(s, tile=tile, fold=fold, stage=stage)


_SIZED = ("lanes", "stream", "guard")


@dataclass(frozen=True, slots=True)
class Floor:
    """Seconds that a kernel takes at least, and what says so.

    `proves`: whether it rests on constants of this device only, and not on estimates for a class of devices.
    """

    seconds: float
    binding: str = ""
    proves: bool = True


class Floors(Protocol):
    """What selection needs of a floor: that of a kernel under a schedule.

    `deep`: with what takes longer to find out, and is never lower; else what is touched once, and the operations.
    """

    def seconds(self, outputs: tuple[Tensor, ...], schedule: Schedule, *, deep: bool = False) -> Floor: ...


class Guesses(Protocol):
    """What orders schedules: a model's estimate of the seconds of one."""

    def seconds(self, outputs: tuple[Tensor, ...], schedule: Schedule) -> float: ...


class Offers(Protocol):
    """What a target can do with a kernel."""

    def parts(self, outputs: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], ...]:
        """The kernels that a target runs for one, each over inputs only."""
        ...

    def schedules(self, outputs: tuple[Tensor, ...]) -> tuple[Schedule, ...]:
        """The code generator's proposals, the best guess first."""
        ...


@dataclass(frozen=True, slots=True)
class SpaceKernel:
    """A kernel on its own: all that it reads are inputs. `floors` and `guesses` stand beside `schedules`.

    `deep`: whether the floors are those that take longer to find. `sharp`: whether the guesses are those of the
    schedules, and not a rough one for all of them in their order.
    """

    key: str
    outputs: tuple[Tensor, ...]
    schedules: tuple[Schedule, ...]
    floors: tuple[Floor, ...]
    guesses: tuple[float, ...]
    deep: bool = False
    sharp: bool = True

    def sharpened(self, guesses: Guesses) -> SpaceKernel:
        """The same with a guess for every schedule, in place of a rough one for all."""
        if self.sharp:
            return self
        return replace(self, guesses=tuple(guesses.seconds(self.outputs, s) for s in self.schedules), sharp=True)

    def deepened(self, floors: Floors) -> SpaceKernel:
        """The same with the floors that take longer to find."""
        if self.deep:
            return self
        found = tuple(floors.seconds(self.outputs, s, deep=True) for s in self.schedules)
        kept = tuple(max(a, b, key=lambda f: f.seconds) for a, b in zip(found, self.floors, strict=True))
        return replace(self, floors=kept, deep=True)

    @property
    def floor(self) -> float:
        """Seconds that no schedule of the space is below."""
        return min((f.seconds for f in self.floors), default=0.0)


@dataclass(frozen=True, slots=True)
class WindowSpace:
    """The candidates of one distinct window.

    `runs`: for each candidate the positions of the kernels that it runs. `behind`: for each candidate the positions of
    candidates that together write what it writes, read no more and are no slower by the model; none where it is not
    dominated. `picked`: the choice of the model. `names`: what each candidate writes, in words.
    """

    candidates: tuple[Candidate, ...]
    outputs: tuple[ClassId, ...]
    copies: int
    runs: tuple[tuple[int, ...], ...]
    behind: tuple[tuple[int, ...], ...]
    picked: tuple[int, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """The space of a program."""

    kernels: tuple[SpaceKernel, ...]
    windows: tuple[WindowSpace, ...]

    @property
    def size(self) -> int:
        """Schedules of all kernels."""
        return sum(len(k.schedules) for k in self.kernels)


def standalone(outputs: Sequence[Tensor], stored: Mapping[Source, str] | None = None) -> tuple[Tensor, ...]:
    """Tensors as a kernel of its own: everything that they read from memory is an input, by its place.

    `stored`: the types in which some sources are kept, where they differ from what the source says.
    """
    found: dict[Source, Input] = {}
    for t in outputs:
        for s in sources(t.body):
            if s not in found:
                ordered = isinstance(s, Input) and s.sorted
                found[s] = Input(f"a{len(found)}", s.shape, (stored or {}).get(s, s.dtype), ordered)
    return tuple(
        Tensor(f"y{n}", t.axes, replace_sources(t.body, found.__getitem__), t.dtype) for n, t in enumerate(outputs)
    )


def written(result: WindowResult, k: Candidate) -> tuple[Tensor, ...]:
    """The tensors of a candidate as a kernel of its own, in the types in which the window stores them."""
    kinds = {c: t.dtype for c, t in _owners(result).items()}
    stored: dict[Source, str] = {s: kinds[c] for s, c in result.terms.placeholders.items() if c in kinds}
    made = [
        Tensor("y", result.terms.axes[c], term, kinds.get(c) or result.terms.storage(c, type_of(term)))
        for c, term in zip(k.writes, k.terms, strict=True)
    ]
    return standalone(made, stored)


def _owners(result: WindowResult) -> dict[ClassId, Tensor]:
    """The root that owns each class that several roots may share, as extract/assemble stores it."""
    encoding, snapshot = result.terms.saturation.encoding, result.terms.saturation.snapshot
    found: dict[ClassId, Tensor] = {}
    for t in sorted(result.roots, key=lambda t: -BYTES[t.dtype]):
        found.setdefault(snapshot.roots[encoding.terms[encoding.named[t].body]], t)
    return found


def key_of(outputs: Sequence[Tensor]) -> str:
    """What tells kernels apart: a hash of their mathematics with sizes and types, names of buffers aside."""
    lines = []
    for s in dict.fromkeys(x for t in outputs for x in sources(t.body)):
        lines.append(f"{s.name}{list(map(str, s.shape))}: {s.dtype} {isinstance(s, Input) and s.sorted}")
    for m in dict.fromkeys(s.monoid for t in outputs for s in walk(t.body) if isinstance(s, (Reduce, Scan))):
        lines.append(f"{m.name}: {', '.join(map(print_scalar, m.combine))}")
    for t in outputs:
        bound = {i for s in walk(t.body) for i in _bound(s)}
        inner = ", ".join(sorted(f"{i.name}:{i.size}" for i in bound))
        axes = ", ".join(f"{i.name}:{i.size}" for i in t.axes)
        lines.append(f"{t.name}[{axes}]: {t.dtype} over {inner} = {print_scalar(t.body)}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:20]


def _bound(s: Scalar) -> tuple[Index, ...]:
    return tuple(s.indices) if isinstance(s, Reduce) else (s.index,) if isinstance(s, Scan) else ()


def dominators(candidates: Sequence[Candidate]) -> tuple[tuple[int, ...], ...]:
    """For each candidate others that do the same together, read no more and cost no more by the model; or none.

    One that stands for itself only is dominated by nobody: chains end there.
    """
    order = sorted(range(len(candidates)), key=lambda n: (candidates[n].estimate.seconds, len(candidates[n].reads), n))
    kept: list[int] = []
    found: list[tuple[int, ...]] = [()] * len(candidates)
    for n in order:
        k = candidates[n]
        by = next((m for m in kept if _at_least(candidates[m], k)), None)
        group = _apart(candidates, kept, k) if by is None and len(k.writes) > 1 else ()
        if by is not None:
            found[n] = (by,)
        elif group:
            found[n] = group
        else:
            kept.append(n)
    return tuple(found)


def _at_least(m: Candidate, k: Candidate) -> bool:
    """Whether `m` writes what `k` writes, and reads no more."""
    return set(m.writes) == set(k.writes) and set(m.reads) <= set(k.reads)


def _apart(candidates: Sequence[Candidate], kept: Sequence[int], k: Candidate) -> tuple[int, ...]:
    """Kernels of one class each that write what `k` writes, read no more and take no longer together."""
    group: list[int] = []
    for c in k.writes:
        fitting = [n for n in kept if candidates[n].writes == (c,) and set(candidates[n].reads) <= set(k.reads)]
        if not fitting:
            return ()
        group.append(min(fitting, key=lambda n: candidates[n].estimate.seconds))
    least = sum(candidates[n].estimate.seconds for n in group)
    return tuple(group) if least <= k.estimate.seconds else ()
