"""How a kernel runs, never what it computes: one immutable record per kernel, printed as one line and read back.

schedule ::= shape {field=value}
shape    ::= point | split | stream | scan | tile | grid | warp | mma
fields   ::= order=i,j        output indices, outermost loop first
             parallel=i       indices whose loops run on threads (a prefix of order)
             tile=i:4,c:*     block of an output index evaluated at once; * holds the whole axis
             fold=j:stream:64 how the folds over j run: serial | warp | warp:n | lanes:n | stream:n | blocks:n
                              (stream:n:l and blocks:n:l: in l lanes, where the monoid allows it)
             store=stream     outputs are written past the caches, where they are contiguous
             stage=B,K        inputs copied into local arrays in the order in which folds read them
             block=i:96,k:256 points of a block whose operands are packed into panels (lower_pack)
             width=8          lanes of a vector
             chunk=64         points of a chunk of a scan
device   ::= grid=i,j         output indices that threads (or warps, where a fold or an index is theirs) share
             warp=c           output indices that the lanes of a warp stride over
             team=4           warps of a block that share a row, and what is folded over it
             consumers=2      warp groups that compute, beside one that copies (mma and what follows)
             stages=4         tiles in flight of each ring of streamed operands
             resident=2       tiles in flight of operands that stay for a whole tile of the output; 0: streamed too
             overlap=1        products of a tile run beside the scalar work of the next one
             turns=1          two consumers take turns on the matrix unit
             tickets=1        blocks draw their tiles from a counter, instead of every blocks-th one
             supertile=16     row tiles (or batches, where rows differ in length) that follow each other
             reuse=1          outputs leave through the shared memory of the resident operand
             unit=tf32        products of f32 operands in this type
             accumulate=f64   type of states
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from tang_egg.errors import CodegenError

SHAPES = ("point", "split", "stream", "scan", "tile", "grid", "warp", "mma")
FOLDS = ("serial", "lanes", "stream", "blocks", "warp")
WORDS = {"unit": ("", "tf32"), "accumulate": ("", "f32", "f64"), "store": ("", "stream")}
"""What the fields that hold a word may say."""
WHOLE = 0
"""The tile of an index that is held whole."""


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """How folds over one index run.

    serial: in order. lanes: `size` partial states, combined as a tree at the end (the split shape). stream: the body is
    evaluated for tiles of `size` points, each folded into the state; with `lanes`, into as many partial states side by
    side, each of which takes up every lanes-th point of the tile. blocks: `size` partial states on threads, each of
    them a stream into `lanes` where that is not 0. warp: each lane of a warp folds every 32nd point (elsewhere: in
    order).
    """

    how: str = "serial"
    size: int = 1
    lanes: int = 0

    def __str__(self) -> str:
        """How it is written in a schedule: `stream:256:32`."""
        plain = self.how == "serial" or (self.how == "warp" and self.size == 1)
        sizes = [] if plain else [self.size, self.lanes] if self.lanes else [self.size]
        return ":".join([self.how, *map(str, sizes)])


@dataclass(frozen=True, slots=True)
class Schedule:
    """See the module text. Names that a kernel does not have are ignored; what is not named runs in plain loops."""

    shape: str = "point"
    order: tuple[str, ...] = ()
    parallel: tuple[str, ...] = ()
    tile: tuple[tuple[str, int], ...] = ()
    fold: tuple[tuple[str, FoldPlan], ...] = ()
    stage: tuple[str, ...] = ()
    width: int = 8
    chunk: int = 0
    grid: tuple[str, ...] = ()
    warp: tuple[str, ...] = ()
    team: int = 0
    consumers: int = 0
    stages: int = 0
    resident: int = 0
    overlap: int = 0
    turns: int = 0
    tickets: int = 0
    supertile: int = 0
    reuse: int = 0
    unit: str = ""
    accumulate: str = ""
    store: str = ""
    block: tuple[tuple[str, int], ...] = ()

    def tile_of(self, index: str) -> int:
        """The tile of an output index: 1 unless named, 0 where the axis is held whole."""
        return dict(self.tile).get(index, 1)

    def fold_of(self, index: str) -> FoldPlan:
        """The plan of the folds over an index."""
        return dict(self.fold).get(index, SERIAL)

    def __str__(self) -> str:
        return print_schedule(self)


SERIAL = FoldPlan()
PLAIN = Schedule()
"""The schedule that is legal for every kernel: plain loops, one thread, no vectors."""


def print_schedule(schedule: Schedule) -> str:
    """The schedule as one line; `parse_schedule` reads it back."""
    parts = [schedule.shape]
    for f in fields(Schedule)[1:]:
        value = getattr(schedule, f.name)
        if value != f.default:
            parts.append(f"{f.name}={_field_text(f.name, value)}")
    return " ".join(parts)


def _field_text(name: str, value: object) -> str:
    if name in ("tile", "block"):
        return ",".join(f"{i}:{n or '*'}" for i, n in value)  # type: ignore[attr-defined]
    if name == "fold":
        return ",".join(f"{i}:{p}" for i, p in value)  # type: ignore[attr-defined]
    return ",".join(value) if isinstance(value, tuple) else str(value)


def parse_schedule(text: str) -> Schedule:
    """Reads the one-line form. Raises CodegenError, naming the part that cannot be read."""
    shape, *parts = text.split() or [""]
    if shape not in SHAPES:
        raise _unreadable(text, shape, f"a schedule starts with one of {', '.join(SHAPES)}")
    known = {f.name: f.default for f in fields(Schedule)[1:]}
    values: dict[str, object] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if name not in known or not equals:
            raise _unreadable(text, part, f"the fields are {', '.join(known)}")
        try:
            values[name] = _parse_field(name, value, known[name])
        except ValueError:
            raise _unreadable(text, part, "write it as print_schedule does") from None
    return Schedule(shape, **values)  # type: ignore[arg-type]


def _parse_field(name: str, value: str, default: object) -> object:
    if name in ("tile", "block"):
        pairs = [item.split(":") for item in value.split(",")]
        sizes = tuple((i, WHOLE if n == "*" else int(n)) for i, n in pairs)
        if any(n < 0 for _, n in sizes):
            raise ValueError(value)
        return sizes
    if name == "fold":
        plans: list[tuple[str, FoldPlan]] = []
        for item in value.split(","):
            index, how, *size = item.split(":")
            if how not in FOLDS:
                raise ValueError(how)
            plans.append((index, _parse_plan(how, [int(n) for n in size])))
        return tuple(plans)
    if isinstance(default, tuple):
        return tuple(value.split(","))
    if isinstance(default, int):
        if int(value) < 0:
            raise ValueError(value)
        return int(value)
    if name in WORDS and value not in WORDS[name]:
        raise ValueError(value)
    return value


def _parse_plan(how: str, sizes: list[int]) -> FoldPlan:
    """The plan of a fold. Raises ValueError for numbers that it has no place for."""
    if len(sizes) > (2 if how in ("stream", "blocks") else 1) or any(n < 0 for n in sizes):
        raise ValueError(how)
    plan = FoldPlan(how, *sizes)
    if how == "stream" and plan.lanes and plan.size % plan.lanes:
        raise ValueError(how)
    return plan


def _unreadable(text: str, part: str, mend: str) -> CodegenError:
    return CodegenError(f"cannot read '{part}' in a schedule", where=text, mend=mend)
