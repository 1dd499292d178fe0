"""The part of the kernel IR that speaks of a chip with warp groups, matrix units and bulk copies.

    launch    ::= Launch(threads, tiles, persistent, stages, signals, maps, shared, counters, early, yields)
    stage     ::= Stage(name, type, boxes, lines, depth)     a ring of tiles in shared memory, swizzled
    signal    ::= Signal(name, depth, arrivals)              a ring of barriers with phases and byte counts
    map       ::= TensorMap(name, buffer, extents, box, rounds)     how bulk copies see a global buffer
    role      ::= Role(name, groups, registers, body, single)
    statement ::= Roles(role...)                             each warp group runs the body of its role
                | Forever(body) | Leave(condition)           a loop, and the way out of the nearest one
                | Expect(signal, slot, bytes)                arrive once, and await so many bytes in this phase
                | Arrive(signal, slot, who) | Await(signal, slot, parity)
                | CopyIn(map, stage, slot, box, at, signal, signal_slot)
                | CopyOut(map, stage, slot, box, line, at) | CopyCommit() | CopyDrain(pending, reading)
                | Mma(acc, a, b, steps, fresh)               acc (64 x N) += a (64 x K) · b (K x N), asynchronously
                | MmaFence() | MmaCommit() | MmaWait(pending, pins)
                | StoreTile(stage, slot, box, chunk, line, values, major)
                | LoadTile(target, at, stage, slot, box, chunk, line, major)
                | Sync(id, threads) | Announce(id, threads) | WarpSync() | ProxyFence()
                | Ticket(name, counter) | Retire(counter)    the next tile of a shared counter; the last block resets it
    operand   ::= Tile(stage, slot, major, first) | Packed(buffer, first)

A body is what one thread runs. In it `block`, `blocks` (how many), `group` (warp group of its role), `thread` (inside
the group, 0 ... 127) are i64 variables. A warp group is 128 threads that issue matrix products together.

Tiles. A line of a tile is 128 bytes: `width` elements. A tile is `boxes` boxes of `lines` lines. Element (line, e) of a
box lies at byte (line·128 + e·size) ^ ((line % 8) · 16) of it: the 128-byte swizzle, which bulk copies apply by
themselves and StoreTile and LoadTile by their addresses. An operand of major "k" has its contraction index along lines
(box = which `width` of them) and its row or column index down the lines; of major "mn" the other way round.

Fragments. An accumulator of 64 x N is a register array of N/2 f32, of integers i32: register 4j + 2h + e of a thread
holds row 16·(thread / 32) + (thread % 32) / 4 + 8h and column 8j + 2·(thread % 4) + e. A packed operand of 64 x K is a
register array of K/4 pairs of 16 bits: register 4j + 2k + h holds row as above and columns 16j + 8k + 2·(thread % 4)
and the next; so registers 4j + 2h + (0, 1) of an accumulator, rounded and paired, are the operand of the next product.
A packed operand of f32 is a register array of K/2: register 4j + 2k + h holds column 8j + 4k + thread % 4. An
accumulator has these elements in other threads of the four that share a row (codegen/mma_regroup.py).

Asynchrony. A product reads its shared operand at any time between Mma and the MmaWait that covers it, a CopyIn writes
at any time until its signal's phase completes, a CopyOut reads until it is drained. `Await` with parity p returns once
the phase of that parity has completed; a fresh barrier counts as having completed parity 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tang_egg.affine import Affine
from tang_egg.ops_eight import EIGHT

if TYPE_CHECKING:
    from tang_egg.codegen.kernel import Buffer, Expr, Stmt

LINE = 128
"""Bytes of a line of a tile."""
WARP = 32
"""Lanes of a warp."""
GROUP = 128
"""Threads of a warp group."""
UNITS = 132
"""Multiprocessors of a chip, which tiles and rows are spread over."""
SHARED_LIMIT = 232_448
"""Bytes of shared memory that one block can have (227 KiB); the chip takes `KEPT` more for each block."""
KEPT = 1024
REGISTER_LIMIT = 65_536
"""Registers that the threads of one block can have together: all of a multiprocessor's."""
BOX_SIDE, BOX_RANK = 256, 5
"""Elements or lines of a side of a bulk copy's box, and its axes, at most."""
BYTES = {"bf16": 2, "f16": 2, "f32": 4, "tf32": 4, "i32": 4, "u32": 4, "i8": 1, "u8": 1}
BYTES |= dict.fromkeys(EIGHT, 1)
"""Bytes of an element, by the types that tiles and small shared arrays can have."""
STEP = 32
"""Bytes of the contraction index that one matrix instruction takes: 32 elements of 8 bits, 16 of 16, 8 of 32."""
WHOLE = ("i8", "u8")
"""Integers that are multiplied exactly, also one with the other, into i32 that wraps."""


def accumulated(type: str) -> str:
    """The type that products of a type are added up in."""
    return "i32" if type in WHOLE else "f32"


def multiplied(a: str, b: str) -> bool:
    """Whether one instruction multiplies operands of two types that lie in shared memory."""
    return a == b or {a, b} <= set(WHOLE) or {a, b} <= set(EIGHT)


def columns_step(columns: int, type: str) -> int:
    """What the columns of a product have to be a multiple of, so many of them: 8, and 16 of many integers."""
    return 16 if type in WHOLE and columns > 32 else 8


def shared_limit(blocks: int) -> int:
    """Bytes of shared memory that each of `blocks` blocks of a multiprocessor can have."""
    return (SHARED_LIMIT + KEPT) // blocks - KEPT


@dataclass(frozen=True, slots=True)
class Stage:
    """A ring of `depth` tiles in shared memory, each of `boxes` x `lines` lines of 128 bytes."""

    name: str
    type: str
    boxes: int
    lines: int
    depth: int = 1

    @property
    def width(self) -> int:
        """Elements of a line."""
        return LINE // BYTES[self.type]

    @property
    def box_bytes(self) -> int:
        return self.lines * LINE

    @property
    def bytes(self) -> int:
        """Bytes of one tile."""
        return self.boxes * self.box_bytes


@dataclass(frozen=True, slots=True)
class Signal:
    """A ring of `depth` barriers; a phase completes after `arrivals` arrivals and all expected bytes."""

    name: str
    depth: int
    arrivals: int


@dataclass(frozen=True, slots=True)
class TensorMap:
    """How bulk copies see a global buffer: row-major `extents`, and the `box` (outermost first) that one copy moves.

    The last axis is contiguous and its box is one line. Loads beyond the extents give zeros, stores are clipped.
    `rounds`: loads round f32 to tf32.
    """

    name: str
    buffer: Buffer
    extents: tuple[Affine, ...]
    box: tuple[int, ...]
    rounds: bool = False


@dataclass(frozen=True, slots=True)
class Launch:
    """How a kernel is launched: blocks of `threads`, one per tile or (persistent) as many as the chip holds at once.

    `tiles`: an i64 expression over the kernel's dims. `shared`: small plain arrays. `counters`: i32 words of global
    memory that are zero before the first launch and that the kernel leaves zero. `early`: blocks start while the kernel
    before it on the stream still runs, and wait for its end before their body. `yields`: once all blocks have started,
    those of the next kernel may start, where it is an early one. `resident`: blocks for which a multiprocessor is to
    have registers.
    """

    threads: int
    tiles: Expr
    persistent: bool = False
    stages: tuple[Stage, ...] = ()
    signals: tuple[Signal, ...] = ()
    maps: tuple[TensorMap, ...] = ()
    shared: tuple[Buffer, ...] = ()
    counters: int = 0
    early: bool = False
    yields: bool = False
    resident: int = 1

    @property
    def shared_bytes(self) -> int:
        """Bytes of dynamic shared memory, with what aligning its start to 1024 bytes may cost."""
        tiles = sum(s.bytes * s.depth for s in self.stages)
        barriers = sum(8 * s.depth for s in self.signals)
        small = sum(-(-(b.size.value or 0) * BYTES[b.type] // 16) * 16 for b in self.shared)
        total = tiles + barriers + small
        return 1024 + total if total else 0

    @property
    def shared_limit(self) -> int:
        """Bytes of shared memory that each of the `resident` blocks can have."""
        return shared_limit(self.resident)


@dataclass(frozen=True, slots=True)
class Tile:
    """A shared operand of a product: tile `slot` of a stage.

    `major`: "k" or "mn" (see the module text). `first`: the line where the operand's rows start (major "k"), or the
    box where they start (major "mn"). A left operand of major "k" may have fewer lines than the 64 rows that a product
    takes: the rows beyond are what lies behind it in shared memory, any value at all.
    """

    stage: Stage
    slot: Expr
    major: str
    first: Expr


@dataclass(frozen=True, slots=True)
class Packed:
    """A register operand: pairs, or f32, from register `first` of `buffer` on."""

    buffer: Buffer
    first: int = 0


@dataclass(frozen=True, slots=True)
class Role:
    """`groups` warp groups that run `body` with `registers` registers a thread; `single`: only their thread 0 does."""

    name: str
    groups: int
    registers: int
    body: tuple[Stmt, ...]
    single: bool = False


@dataclass(frozen=True, slots=True)
class Roles:
    """Each warp group runs the body of its role; roles take the warp groups of a block in order."""

    roles: tuple[Role, ...]


@dataclass(frozen=True, slots=True)
class Forever:
    """`body` again and again, until a Leave in it."""

    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Leave:
    """Out of the nearest Forever or loop if `condition` holds; it is the same for all threads of a warp group."""

    condition: Expr


@dataclass(frozen=True, slots=True)
class Expect:
    """Arrives once; the present phase completes only after `bytes` more bytes of bulk copies."""

    signal: Signal
    slot: Expr
    bytes: int


@dataclass(frozen=True, slots=True)
class Arrive:
    """`who` arrives: "thread" (each that runs this), "warp" (once per warp), "group" (once per warp group)."""

    signal: Signal
    slot: Expr
    who: str


@dataclass(frozen=True, slots=True)
class Await:
    """Waits until the phase of this parity has completed (see the module text)."""

    signal: Signal
    slot: Expr
    parity: Expr


@dataclass(frozen=True, slots=True)
class CopyIn:
    """Box `box` of tile `slot` := the map's box at coordinates `at` (outermost first), counted by the signal."""

    map: TensorMap
    stage: Stage
    slot: Expr
    box: int
    at: tuple[Expr, ...]
    signal: Signal
    signal_slot: Expr


@dataclass(frozen=True, slots=True)
class CopyOut:
    """The map's box at `at` := lines from `line` on of box `box` of tile `slot`. Issued by one thread."""

    map: TensorMap
    stage: Stage
    slot: Expr
    box: int
    line: Expr
    at: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class CopyCommit:
    """Closes a group of this thread's copies out, for CopyDrain to count."""


@dataclass(frozen=True, slots=True)
class CopyDrain:
    """Waits until at most `pending` committed groups of this thread's stores have not read (or not written) yet."""

    pending: int
    reading: bool


@dataclass(frozen=True, slots=True)
class Mma:
    """acc += a · b over `steps` instructions' worth of the contraction index; `fresh`: acc counts as zero before.

    `acc` is an accumulator of 64 x N, N = 2 · its registers. Issued by a whole warp group. Operands of 8 bits both lie
    in shared memory, along the contraction.
    """

    acc: Buffer
    a: Tile | Packed
    b: Tile
    steps: int
    fresh: Expr


@dataclass(frozen=True, slots=True)
class MmaFence:
    """Orders earlier uses of registers before the products that follow."""


@dataclass(frozen=True, slots=True)
class MmaCommit:
    """Closes a batch of products, for MmaWait to count."""


@dataclass(frozen=True, slots=True)
class MmaWait:
    """Waits until at most `pending` committed batches are unfinished; `pins`: accumulators that may be read now."""

    pending: int
    pins: tuple[Buffer, ...] = ()


@dataclass(frozen=True, slots=True)
class StoreTile:
    """Stores a chunk of a fragment of this warp group into 64 lines of a box, from `line` on.

    Types of 16 bits: chunk c is columns 16c ... of the box, `values` four pairs as in a packed operand. f32 and i32:
    chunk c is columns 8c ..., `values` the four registers of an accumulator. `major` "mn", of f32: the 64 rows run
    along the lines of two boxes from `box` on, chunk c is lines 8c ... from `line` on.
    """

    stage: Stage
    slot: Expr
    box: Expr
    chunk: int
    line: Expr
    values: tuple[Expr, Expr, Expr, Expr]
    major: str = "k"


@dataclass(frozen=True, slots=True)
class LoadTile:
    """Loads chunk `chunk` (16 columns) of 64 lines of a box as four packed registers, from `at` on.

    f32: 8 columns, as the four registers of an accumulator. `major` "mn": lines run along the contraction index
    instead, from line 16·chunk (f32: 8·chunk, and 64 rows are two boxes), and `line` is the first column.
    """

    target: Buffer
    at: int
    stage: Stage
    slot: Expr
    box: Expr
    chunk: int
    line: Expr
    major: str = "k"


@dataclass(frozen=True, slots=True)
class Sync:
    """All `threads` threads that meet at barrier `id` (1 ... 15) wait for each other."""

    id: Expr
    threads: int


@dataclass(frozen=True, slots=True)
class Announce:
    """Arrives at barrier `id` without waiting."""

    id: Expr
    threads: int


@dataclass(frozen=True, slots=True)
class WarpSync:
    """The threads of a warp wait for each other."""


@dataclass(frozen=True, slots=True)
class ProxyFence:
    """Makes this thread's stores to shared memory visible to bulk copies and matrix products."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """`name` := blocks + the old value of counter word `counter`, which grows by one."""

    name: str
    counter: int


@dataclass(frozen=True, slots=True)
class Retire:
    """The last block to come here sets words `counter` and `counter` + 1 to zero."""

    counter: int


DeviceStmt: TypeAlias = (
    "Roles | Forever | Leave | Expect | Arrive | Await | CopyIn | CopyOut | CopyCommit | CopyDrain | Mma | MmaFence "
    "| MmaCommit | MmaWait | StoreTile | LoadTile | Sync | Announce | WarpSync | ProxyFence | Ticket | Retire"
)

BUILT_IN = ("block", "blocks", "group", "thread")
"""The i64 variables that every body of a launched kernel has."""
