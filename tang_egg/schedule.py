"""How a kernel runs, never what it computes: one immutable record per kernel, printed as one line and read back.

schedule ::= shape {field=value}
shape    ::= point | split | stream | scan | tile | grid | warp | mma
fields   ::= order=i,j        output indices, outermost loop first
             parallel=i       indices whose loops run on threads (a prefix of order)
             tile=i:4,c:*     block of an output index evaluated at once; * holds the whole axis
             fold=j:stream:64 how the folds over j run: serial | warp | warp:n | lanes:n | stream:n | blocks:n | guard:n
                              (stream:n:l and blocks:n:l: in l lanes, where the monoid allows it)
             store=stream     outputs are written past the caches, where they are contiguous
             past=X           inputs that are read past the caches, where they are contiguous (kernels for a GPU)
             taper=i          points beyond whole tiles run in tiles of half as many, of two, and one by one
             stage=B,K        inputs copied into local arrays in the order in which folds read them; by a point or scan:
                              in the order of its vectors, by transposes in registers, a scan by tiles of its index
             block=i:96,k:256 points of a block whose operands are packed into panels (lower_pack)
             keep=j           folds over a row at hand wait for each other; costly values that are shared are kept
             fetch=X          inputs whose next row is fetched into the caches while the last pass over one runs
             chunk=64         points of a chunk of a scan
device   ::= grid=i,j         output indices that threads (or warps, where a fold or an index is theirs) share
             warp=c           output indices that the lanes of a warp stride over
             team=4           warps of a block that share a row, and what is folded or scanned over it
             rounds=j         folds over j that keep the best few points find one after the other, all lanes together
             ahead=4          points of the grid that a thread takes, the loads of all of them before the first is used;
                              ahead=1 of a team: it takes many rows, and loads the next one while it folds this one
             occupancy=9      blocks for which a multiprocessor has registers, at the price of those of each thread
                              (mma: of one consumer, 2 at most)
             across=i,j       elements that lie along i are written along j: squares of them turn in shared memory
             consumers=2      warp groups that compute, beside one that copies (mma and what follows)
             stages=4         tiles in flight of each ring of streamed operands
             resident=2       tiles in flight of operands that stay for a whole tile of the output; 0: streamed too
             overlap=1        products of a tile run beside the scalar work of the next one
             turns=1          two consumers take turns on the matrix unit
             lead=2           the first of two consumers is so many tiles of the stream ahead of the second
             tickets=1        blocks draw their tiles from a counter, instead of every blocks-th one
             supertile=16     row tiles (or batches, where rows differ in length) that follow each other
             reuse=1          outputs leave through the shared memory of the resident operand
             straight=1       outputs leave from registers, in pairs of columns; tiles are any multiple of 8 columns
             early=1          starts while the kernel before it runs, and waits for its end before it touches memory
             unit=tf32        products of f32 operands in this type
             accumulate=f64   type of states
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import TypeVar

from tang_egg.errors import CodegenError, close_match

SHAPES = ("point", "split", "stream", "scan", "tile", "grid", "warp", "mma")
FOLDS = ("serial", "lanes", "stream", "blocks", "guard", "warp")
WORDS = {"unit": ("", "tf32"), "accumulate": ("", "f32", "f64"), "store": ("", "stream")}
"""What the fields that hold a word may say."""
SIZED = ("tile", "block")
"""Fields that give names a size."""
FORMS = {"tile": "tile=i:4,j:*", "block": "block=i:96,k:256", "fold": "fold=j:serial, j:lanes:8 or j:stream:64:8"}
"""How the fields with sizes are written."""
LARGEST = 1 << 30
"""The largest number that a field may hold."""
Item = TypeVar("Item")
WHOLE = 0
"""The tile of an index that is held whole."""


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """How folds over one index run.

    serial: in order. lanes: `size` partial states, combined as a tree at the end (the split shape). stream: the body is
    evaluated for tiles of `size` points, each folded into the state; with `lanes`, into as many partial states side by
    side, each of which takes up every lanes-th point of the tile. blocks: `size` partial states on threads, each of
    them a stream into `lanes` where that is not 0. guard: tiles of `size` points are tested first, and passed by where
    no point changes the state. warp: each lane of a warp folds every 32nd point (elsewhere: in order).
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
    chunk: int = 0
    grid: tuple[str, ...] = ()
    warp: tuple[str, ...] = ()
    team: int = 0
    ahead: int = 0
    occupancy: int = 0
    across: tuple[str, ...] = ()
    consumers: int = 0
    stages: int = 0
    resident: int = 0
    overlap: int = 0
    turns: int = 0
    lead: int = 0
    tickets: int = 0
    supertile: int = 0
    reuse: int = 0
    straight: int = 0
    early: int = 0
    unit: str = ""
    accumulate: str = ""
    store: str = ""
    past: tuple[str, ...] = ()
    block: tuple[tuple[str, int], ...] = ()
    keep: tuple[str, ...] = ()
    fetch: tuple[str, ...] = ()
    rounds: tuple[str, ...] = ()
    taper: tuple[str, ...] = ()

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
    """The schedule as one line; `parse_schedule` reads it back. What a name may not hold there is written as %2C."""
    parts = [schedule.shape]
    for f in fields(Schedule)[1:]:
        value = getattr(schedule, f.name)
        if value != f.default:
            parts.append(f"{f.name}={_field_text(f.name, value)}")
    return " ".join(parts)


def _field_text(name: str, value: object) -> str:
    if name in SIZED:
        return ",".join(f"{_name_text(i)}:{n or '*'}" for i, n in value)  # type: ignore[attr-defined]
    if name == "fold":
        return ",".join(f"{_name_text(i)}:{p}" for i, p in value)  # type: ignore[attr-defined]
    return ",".join(map(_name_text, value)) if isinstance(value, tuple) else str(value)


def _name_text(name: str) -> str:
    """A name as it stands in a schedule: what separates its parts is written by its code."""
    return "".join(f"%{ord(c):02X};" if c in "%,:=*" or c.isspace() else c for c in name)


def _name(text: str) -> str:
    if not text:
        raise ValueError("a name is empty")
    return re.sub("%([0-9A-F]{1,5});", lambda m: chr(int(m[1], 16)), text)


def parse_schedule(text: str) -> Schedule:
    """Reads the one-line form. Raises CodegenError that names the field which cannot be read, and where it begins."""
    found = [(m.start(), m[0]) for m in re.finditer(r"\S+", text)]
    for at, part in found:
        if any("\ud800" <= c <= "\udfff" for c in part):
            raise _unreadable(text, at, part, "half of a surrogate pair is no character")
    start, shape = found[0] if found else (0, "")
    if shape not in SHAPES:
        raise _unreadable(text, start, shape, f"a schedule starts with one of {', '.join(SHAPES)}")
    known = {f.name: f.default for f in fields(Schedule)[1:]}
    values: dict[str, object] = {}
    for at, part in found[1:]:
        name, equals, value = part.partition("=")
        if name not in known or not equals:
            raise _unreadable(text, at, part, f"the fields are {', '.join(known)}{close_match(name, known)}")
        if name in values:
            raise _unreadable(text, at, part, f"name {name} once, with all that belongs to it")
        try:
            values[name] = _parse_field(name, value, known[name])
        except ValueError as error:
            raise _unreadable(text, at, part, f"{error}: write {_form(name, known[name])}") from None
    return Schedule(shape, **values)  # type: ignore[arg-type]


def _form(name: str, default: object) -> str:
    """How a field is written."""
    if name in FORMS:
        return FORMS[name]
    if name in WORDS:
        return " or ".join(f"{name}={w}" for w in WORDS[name] if w)
    return f"{name}=i,j" if isinstance(default, tuple) else f"{name}=4"


def _parse_field(name: str, value: str, default: object) -> object:
    """The value of a field. Raises ValueError saying what is wrong with its text."""
    if name in SIZED:
        rows = [_split(item, 2) for item in value.split(",")]
        return _once(tuple((_name(i), WHOLE if n == "*" and name == "tile" else _number(n, 1)) for i, n in rows))
    if name == "fold":
        plans: list[tuple[str, FoldPlan]] = []
        for item in value.split(","):
            index, how, *sizes = item.split(":") if ":" in item else (item, "")
            if how not in FOLDS:
                raise ValueError(f"'{how}' is no way to run a fold")
            plans.append((_name(index), _parse_plan(how, sizes)))
        return _once(tuple(plans))
    if isinstance(default, tuple):
        names = tuple(map(_name, value.split(",")))
        _once(tuple((n, n) for n in names))
        return names
    if isinstance(default, int):
        return _number(value, 0)
    if value not in WORDS[name] or not value:
        raise ValueError(f"'{value}' is none of its words")
    return value


def _split(item: str, count: int) -> list[str]:
    parts = item.split(":")
    if len(parts) != count:
        raise ValueError(f"'{item}' has {len(parts)} parts, not {count}")
    return parts


def _once(pairs: tuple[tuple[str, Item], ...]) -> tuple[tuple[str, Item], ...]:
    names = [n for n, _ in pairs]
    for n in names:
        if names.count(n) > 1:
            raise ValueError(f"'{n}' stands there twice")
    return pairs


def _number(text: str, least: int) -> int:
    if not re.fullmatch("[0-9]{1,10}", text) or not least <= int(text) <= LARGEST:
        raise ValueError(f"'{text}' is no whole number from {least} to {LARGEST}")
    return int(text)


def _parse_plan(how: str, texts: list[str]) -> FoldPlan:
    """The plan of a fold. Raises ValueError for numbers that it has no place for."""
    most = {"stream": 2, "blocks": 2, "serial": 0}.get(how, 1)
    if len(texts) > most or (len(texts) < 1 and how not in ("serial", "warp")):
        raise ValueError(
            f"{how} takes {'no number' if not most else 'one number' if most == 1 else 'one or two numbers'}"
        )
    plan = FoldPlan(how, *(_number(n, 1 if k == 0 else 0) for k, n in enumerate(texts)))
    if how == "stream" and plan.lanes and plan.size % plan.lanes:
        raise ValueError(f"a tile of {plan.size} is no multiple of {plan.lanes} lanes")
    return plan


def _unreadable(text: str, at: int, part: str, mend: str) -> CodegenError:
    return CodegenError(f"cannot read '{part}' in a schedule", where=f"column {at + 1} of '{text}'", mend=mend)
