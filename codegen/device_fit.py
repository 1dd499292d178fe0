"""Checks that the copies, products and fragments of a launched kernel fit their tiles.

Rules: stages, signals and maps are those of the launch, slots inside their rings; a copy's box is a box of its stage;
a product's accumulator, operands and steps fit, with rows along lines only for types of 16 bits; fragments fit their
boxes, lines, registers and types; barriers are 1 ... 15, of whole warps; counters exist and are retired.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tang_egg.codegen import device as d
from tang_egg.codegen.device_rules import constant, describe, refuse, roles_of
from tang_egg.codegen.kernel import Expr, Kernel, Stmt, statements


def check_fit(kernel: Kernel, launch: d.Launch) -> None:
    """Raises CodegenError when a statement of a launched kernel breaks a rule of the module text."""
    for role in roles_of(kernel, launch):
        for s in statements(role.body):
            _Fit(kernel, launch, f"role '{role.name}', {describe(s)}").statement(s)


class _Fit:
    def __init__(self, kernel: Kernel, launch: d.Launch, where: str) -> None:
        self.kernel, self.launch, self.where = kernel, launch, where

    def need(self, holds: bool, what: str, mend: str) -> None:
        if not holds:
            refuse(self.kernel, what, self.where, mend)

    def statement(self, s: Stmt) -> None:
        if isinstance(s, (d.Expect, d.Arrive, d.Await, d.CopyIn)):
            self.known(s.signal, self.launch.signals, "signal")
            self.slot(s.signal_slot if isinstance(s, d.CopyIn) else s.slot, s.signal.depth, s.signal.name)
        if isinstance(s, (d.CopyIn, d.CopyOut, d.StoreTile, d.LoadTile)):
            self.known(s.stage, self.launch.stages, "stage")
            self.slot(s.slot, s.stage.depth, s.stage.name)
        if isinstance(s, d.Arrive):
            self.need(s.who in ("thread", "warp", "group"), f"arrivals by '{s.who}'", "take thread, warp or group")
        elif isinstance(s, (d.CopyIn, d.CopyOut)):
            self.copy(s)
        elif isinstance(s, d.Mma):
            self.product(s)
        elif isinstance(s, (d.StoreTile, d.LoadTile)):
            self.fragment(s)
        elif isinstance(s, (d.Sync, d.Announce)):
            id = constant(s.id)
            self.need(id is None or 1 <= id <= 15, f"barrier {id}", "number barriers from 1 to 15")
            self.need(
                s.threads % 32 == 0 and 0 < s.threads <= self.launch.threads,
                f"{s.threads} threads at a barrier",
                f"let whole warps of the {self.launch.threads} threads meet",
            )
        elif isinstance(s, (d.Ticket, d.Retire)):
            self.counter(s)

    def known(self, x: object, among: Sequence[object], kind: str) -> None:
        self.need(x in among, f"a {kind} that the launch does not have", f"add it to the {kind}s of the launch")

    def slot(self, e: Expr, depth: int, name: str) -> None:
        n = constant(e)
        self.need(n is None or 0 <= n < depth, f"slot {n} of '{name}', which has {depth}", "stay inside the ring")

    def counter(self, s: d.Ticket | d.Retire) -> None:
        words = s.counter + isinstance(s, d.Retire)
        self.need(
            s.counter >= 0 and words < self.launch.counters,
            f"counter word {words} of {self.launch.counters}",
            "launch with as many counters as tickets and retiring need",
        )
        if isinstance(s, d.Ticket):
            retired = any(isinstance(x, d.Retire) and x.counter == s.counter for x in statements(self.kernel.body))
            self.need(retired, f"counter {s.counter} is never zero again", "let every block Retire it at its end")

    def copy(self, s: d.CopyIn | d.CopyOut) -> None:
        self.known(s.map, self.launch.maps, "map")
        m, stage = s.map, s.stage
        self.need(0 <= s.box < stage.boxes, f"box {s.box} of {stage.boxes}", "stay inside the tile")
        self.need(len(s.at) == len(m.box), f"{len(s.at)} coordinates for rank {len(m.box)}", "give one per axis")
        alike = {"tf32": "f32"}
        self.need(
            alike.get(m.buffer.type, m.buffer.type) == alike.get(stage.type, stage.type),
            f"{m.buffer.type} copied into or out of a stage of {stage.type}",
            "give map and stage one type",
        )
        lines = prod(m.box[:-1])
        if isinstance(s, d.CopyIn):
            self.need(
                lines == stage.lines,
                f"a box of {lines} lines into one of {stage.lines}",
                "give the map the box of the stage",
            )
            return
        first = constant(s.line) or 0
        self.need(
            first + lines <= stage.lines,
            f"lines {first} ... {first + lines - 1} of a box of {stage.lines}",
            "copy out no more lines than the box has",
        )
        self.need(
            m.buffer.role not in ("input", "temporary"),
            f"a copy into the {m.buffer.role} '{m.buffer.name}'",
            "copy into outputs only",
        )

    def product(self, s: d.Mma) -> None:
        size = s.acc.size.value
        n = 2 * (size or 0)
        kind = d.accumulated(s.b.stage.type)
        step = d.columns_step(n, s.b.stage.type)
        self.need(
            s.acc.type == kind and n % step == 0 and 8 <= n <= 256,
            f"an accumulator of {size} registers of {s.acc.type}",
            f"take N/2 of {kind}, for N a multiple of {step} up to 256",
        )
        self.need(s.steps > 0, f"{s.steps} steps", "take at least one")
        self.operand(s.b, n, s.steps, "b")
        if isinstance(s.a, d.Tile):
            self.operand(s.a, 64 if self.whole(s.a) else s.a.stage.lines, s.steps, "a")
            self.need(
                d.multiplied(s.a.stage.type, s.b.stage.type),
                f"operands of {s.a.stage.type} and {s.b.stage.type}",
                "give both operands one type",
            )
            return
        held = s.a.buffer
        self.need(
            held.type == {2: f"{s.b.stage.type}x2", 4: "f32"}.get(d.BYTES[s.b.stage.type]),
            f"a packed operand of {held.type} with one of {s.b.stage.type}",
            "pack pairs of the other operand's type of 16 bits, or single f32",
        )
        self.need(
            s.a.first >= 0 and s.a.first + 4 * s.steps <= (held.size.value or 0),
            f"packed registers {s.a.first} ... {s.a.first + 4 * s.steps - 1} of {held.size}",
            "take four registers for each step",
        )

    def whole(self, t: d.Tile) -> bool:
        """Whether a left operand has all 64 rows; where it has fewer, other tiles must lie behind it, to be read."""
        if t.stage not in self.launch.stages or t.major != "k" or t.stage.lines >= 64 or constant(t.first) != 0:
            return True
        behind = self.launch.stages[self.launch.stages.index(t.stage) + 1 :]
        missing = (64 - t.stage.lines) * d.LINE
        self.need(
            sum(s.bytes * s.depth for s in behind) >= missing,
            f"{t.stage.lines} rows in the last {missing} bytes of the tiles",
            "put a stage behind it that is as large: a product reads 64 rows",
        )
        return False

    def operand(self, t: d.Tile, rows: int, steps: int, name: str) -> None:
        self.known(t.stage, self.launch.stages, "stage")
        self.slot(t.slot, t.stage.depth, t.stage.name)
        stage, first = t.stage, constant(t.first) or 0
        size = d.BYTES[stage.type]
        self.need(t.major in ("k", "mn"), f"an operand of major '{t.major}'", 'take "k" or "mn"')
        self.need(
            stage.type in ("bf16", "f16") or (d.BYTES[stage.type] in (1, 4) and t.major == "k"),
            f"an operand of {stage.type} and major '{t.major}'",
            "only types of 16 bits may have their rows along lines",
        )
        has_rows = stage.lines if t.major == "k" else stage.boxes * stage.width
        has_depth = stage.boxes * stage.width if t.major == "k" else stage.lines
        start, depth = first * (1 if t.major == "k" else stage.width), steps * d.STEP // size
        self.need(
            start >= 0 and start + rows <= has_rows,
            f"operand {name} takes rows {start} ... {start + rows - 1} of '{stage.name}', which has {has_rows}",
            "give the stage as many rows as the product takes",
        )
        self.need(
            depth <= has_depth,
            f"operand {name} takes {depth} of '{stage.name}' along the contraction, which has {has_depth}",
            "take fewer steps",
        )

    def fragment(self, s: d.StoreTile | d.LoadTile) -> None:
        stage, line = s.stage, constant(s.line) or 0
        short = d.BYTES[stage.type] == 2
        columns = 16 if short else 8
        pair = f"{stage.type}x2"
        single = stage.type if stage.type == "i32" and isinstance(s, d.StoreTile) else "f32"
        self.need(d.BYTES[stage.type] > 1, f"a fragment of {stage.type}", "let fragments have 16 or 32 bits")
        transposed = s.major == "mn"
        boxes = 64 // stage.width if transposed else 1
        lines, width = (boxes * stage.width, stage.lines) if transposed else (stage.lines, stage.width)
        first, down = (0, line) if transposed and isinstance(s, d.StoreTile) else (line, 0)
        box = constant(s.box) or 0
        last = box + boxes - 1
        self.need(box >= 0 and last < stage.boxes, f"box {last} of {stage.boxes}", "stay inside the tile")
        self.need(
            first >= 0 <= down and first + 64 <= lines and s.chunk >= 0 and down + (s.chunk + 1) * columns <= width,
            f"64 rows from {line} on and chunk {s.chunk} of {lines} x {width}",
            "keep the fragment inside one box",
        )
        self.need(s.major in ("k", "mn"), f"a fragment of major '{s.major}'", 'take "k" or "mn"')
        if isinstance(s, d.StoreTile):
            turns = not transposed or not (short or single != "f32")
            self.need(turns, f"{stage.type} stored across lines", "store f32 so, or along lines")
            types = {v.type for v in s.values}
            wanted = {pair} if short else {single}
            self.need(
                types == wanted and len(s.values) == 4,
                f"{len(s.values)} values of {', '.join(sorted(types))} into a stage of {stage.type}",
                f"store four of {min(wanted)}",
            )
            return
        self.need(
            s.target.type == (pair if short else "f32"),
            f"a stage of {stage.type} loaded into registers of {s.target.type}",
            "load types of 16 bits into pairs of the same type, others as f32",
        )
        self.need(
            s.at >= 0 and s.at + 4 <= (s.target.size.value or 0),
            f"registers {s.at} ... {s.at + 3} of {s.target.size}",
            "load four registers that the array has",
        )
