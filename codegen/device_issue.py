"""What a warp group hands to the chip, for the interpreter of launched kernels: products, fragments, a table of all.

`issue` performs one statement, or starts it, and gives back what the warp group has to wait for before it goes on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tang_egg.codegen import device as d
from tang_egg.codegen import device_product as product
from tang_egg.codegen.device_copy import Copies
from tang_egg.codegen.device_lane import Array, typed
from tang_egg.codegen.device_memory import Access, Wait
from tang_egg.codegen.kernel import Barrier, Buffer, Stmt, lanes


class Issue(Copies):
    """A warp group and the products that it has under way."""

    def __init__(self, who: str, width: int, values: dict[str, Any], memory: dict[str, Array]) -> None:
        super().__init__(who, width, values, memory)
        self.open: list[_Product] = []  # products that no commit closed yet
        self.batches: list[list[_Product]] = []
        self.unfenced: set[str] = set()  # register arrays used since the last MmaFence
        self.unpinned: set[str] = set()  # accumulators of products that no MmaWait has pinned since

    def issue(self, s: Stmt) -> Wait | None:
        return _STATEMENTS[type(s)](self, s)  # type: ignore[no-any-return]

    def ended(self) -> None:
        super().ended()
        if self.open or any(self.batches):
            self.fault("a product that nothing waits for", "end the role with MmaCommit and MmaWait(0)")

    # -- products -----------------------------------------------------------------------------------------------------

    def operand(self, t: d.Tile, rows: int, steps: int) -> product.Operand:
        slot, first = self.uniform(t.slot, "a slot"), self.uniform(t.first, "where an operand starts")
        boxes, lines, depth = product.span(t.major, first, rows, steps, t.stage.width, d.BYTES[t.stage.type])
        region = self.region(t.stage, slot, boxes, lines, "Mma")
        self.shared.visible(region, self.who, "Mma")
        return product.Operand(region, t.major, rows, depth)

    def on_mma(self, s: d.Mma) -> None:
        self.whole("Mma")
        acc = self.registers[s.acc.name]
        fresh = bool(self.uniform(s.fresh, "whether an accumulator is fresh"))
        b = self.operand(s.b, 2 * len(acc), s.steps)
        a = self.operand(s.a, min(64, s.a.stage.lines), s.steps) if isinstance(s.a, d.Tile) else s.a
        names = {s.acc.name} | ({a.buffer.name} if isinstance(a, d.Packed) else set())
        late = names & self.unfenced
        if late:
            self.fault(f"a product on '{min(late)}', used since the last MmaFence", "put an MmaFence before it")
        tiles = self.shared.tiles

        def run() -> None:
            if isinstance(a, d.Packed):
                left = product.packed(self.registers[a.buffer.name][a.first : a.first + 4 * s.steps])
            else:
                left = product.sixty_four(a.matrix(tiles))
            product.multiply(acc, left, b.matrix(tiles), fresh)

        regions = [b.region] + ([a.region] if isinstance(a, product.Operand) else [])
        first = Access(regions[0], f"a product of {self.who}", run)
        reads = [first, *(Access(r, first.who, first.perform) for r in regions[1:])]
        self.shared.reads += reads
        self.open.append(_Product(s.acc.name, a.buffer.name if isinstance(a, d.Packed) else "", reads))
        self.unpinned.add(s.acc.name)
        if self.machine.now():
            self.perform_up_to(self.open[-1])

    def perform_up_to(self, last: _Product) -> None:
        """Products of one warp group finish in order."""
        for p in (p for batch in (*self.batches, self.open) for p in batch):
            p.reads[0].perform()
            if p is last:
                return

    def on_mma_fence(self, s: d.MmaFence) -> None:
        self.whole("MmaFence")
        self.unfenced.clear()

    def on_mma_commit(self, s: d.MmaCommit) -> None:
        self.whole("MmaCommit")
        self.batches.append(self.open)
        self.open = []

    def on_mma_wait(self, s: d.MmaWait) -> None:
        self.whole("MmaWait")
        covered = self.batches[: max(0, len(self.batches) - s.pending)]
        self.batches = self.batches[len(covered) :]
        for p in (p for batch in covered for p in batch):
            p.reads[0].perform()
            for r in p.reads:
                self.shared.reads.remove(r)
        for b in s.pins:
            self.settled(b.name, "MmaWait pins")
            self.unpinned.discard(b.name)
            self.unfenced.add(b.name)

    def settled(self, name: str, what: str) -> None:
        if any(name == p.acc for batch in (*self.batches, self.open) for p in batch):
            self.fault(f"{what} '{name}' while a product on it is under way", "wait for it by MmaWait first")

    def touch(self, name: str, stored: bool) -> None:
        if self.open or self.batches:
            self.settled(name, "a statement stores" if stored else "a statement loads")
            if stored and any(name == p.packed for batch in (*self.batches, self.open) for p in batch):
                self.fault(f"'{name}' is stored to while a product reads it", "wait for the product by MmaWait first")
        if name in self.unpinned:
            self.fault(f"'{name}' is used, but no MmaWait pins it", "name it in the pins of the MmaWait")
        self.unfenced.add(name)

    def declare(self, b: Buffer) -> None:
        super().declare(b)
        self.unfenced.add(b.name)

    # -- fragments ----------------------------------------------------------------------------------------------------

    def on_store_tile(self, s: d.StoreTile) -> None:
        self.whole("StoreTile")
        slot, box, line = (self.uniform(e, "where a fragment lies") for e in (s.slot, s.box, s.line))
        turned = s.major == "mn"
        boxes, lines = _taken(s, box, line)
        region = self.region(s.stage, slot, boxes, lines, "StoreTile")
        shape = (self.width,) if lanes(s.values[0].type) == 1 else (2, self.width)
        values = np.stack([np.broadcast_to(self.expr(v), shape) for v in s.values])
        chunk = product.chunk_packed(typed(values, s.stage.type))
        self.shared.store(region, self.who)
        if turned:
            tile = self.shared.tiles[s.stage.name][slot, boxes.start : boxes.stop, lines.start : lines.stop]
            tile[:] = chunk.T.reshape(len(lines), len(boxes), s.stage.width).swapaxes(0, 1)
            return
        first = chunk.shape[1] * s.chunk
        self.shared.tiles[s.stage.name][slot, box, line : line + 64, first : first + chunk.shape[1]] = chunk

    def on_load_tile(self, s: d.LoadTile) -> None:
        self.whole("LoadTile")
        slot, box, line = (self.uniform(e, "where a fragment lies") for e in (s.slot, s.box, s.line))
        short = d.BYTES[s.stage.type] == 2
        columns = 16 if short else 8
        along = range(line, line + 64) if s.major == "k" else range(columns * s.chunk, columns * (s.chunk + 1))
        boxes = range(box, box + (1 if s.major == "k" else 64 // s.stage.width))
        region = self.region(s.stage, slot, boxes, along, "LoadTile")
        self.shared.settled(region, self.who, "LoadTile reads")
        self.touch(s.target.name, True)
        lines = np.concatenate(list(self.shared.tiles[s.stage.name][slot, boxes.start : boxes.stop]), axis=1)
        lines = lines[along.start : along.stop]
        if s.major == "k":
            chunk = lines[:, columns * s.chunk : columns * (s.chunk + 1)]
        else:
            chunk = lines[:, line : line + 64].T
        product.set_packed(self.registers[s.target.name][s.at : s.at + 4], chunk, s.stage.type)

    def on_proxy_fence(self, s: d.ProxyFence) -> None:
        if self.mask is None:
            self.shared.fence(self.who)


def _taken(s: d.StoreTile, box: int, line: int) -> tuple[range, range]:
    """The boxes and lines that a fragment is stored into."""
    if s.major == "mn":
        first = line + 8 * s.chunk
        return range(box, box + 64 // s.stage.width), range(first, first + 8)
    return range(box, box + 1), range(line, line + 64)


class _Product:
    """A product under way: its registers, and its reads of shared memory (performing the first performs it)."""

    def __init__(self, acc: str, packed: str, reads: list[Access]) -> None:
        self.acc, self.packed, self.reads = acc, packed, reads


_STATEMENTS: dict[type, Any] = {
    Barrier: Issue.on_sync,
    d.Sync: Issue.on_sync,
    d.Announce: Issue.on_sync,
    d.WarpSync: Issue.on_nothing,
    d.ProxyFence: Issue.on_proxy_fence,
    d.Expect: Issue.on_expect,
    d.Arrive: Issue.on_arrive,
    d.Await: Issue.on_await,
    d.CopyIn: Issue.on_copy_in,
    d.CopyOut: Issue.on_copy_out,
    d.CopyCommit: Issue.on_copy_commit,
    d.CopyDrain: Issue.on_copy_drain,
    d.Mma: Issue.on_mma,
    d.MmaFence: Issue.on_mma_fence,
    d.MmaCommit: Issue.on_mma_commit,
    d.MmaWait: Issue.on_mma_wait,
    d.StoreTile: Issue.on_store_tile,
    d.LoadTile: Issue.on_load_tile,
    d.Ticket: Issue.on_ticket,
    d.Retire: Issue.on_retire,
}
