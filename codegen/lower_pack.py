"""Products by packed panels: what a contraction reads is copied into the order in which register tiles consume it.

    for columns of a block:                                       `block` of the last axis; on threads where it is
        columns[panel][k][lane] := right operands                 `parallel`; any pointwise expression of reads
        for rows of a block:                                      `block` of the row axis; on threads where that is
            row values := folds that vary with the row alone
            rows[part of k][row][k] := left operands              likewise, and of row values
            for a part of k:                                      `block` of the folded index
                for a register tile of the block:                 `tile` of the row and of the last axis
                    registers := identity, or the sums so far
                    registers := combine(registers, body of what is packed), k by k in order
                    after the last part: outputs := body of the finished tile

Rows and columns are counted through all output axes of their kind (heads, images, pixels), so that a tile may go on
from one to the next. A block that the axes end in is packed with its last row and column again; those are not stored.
Rows that are a single block are packed once, before the columns. Windows over an end read a frame (lower_pack_frame).
"""

from __future__ import annotations

from contextlib import ExitStack

from tang_egg.affine import Affine, Index, affine, product
from tang_egg.codegen.kernel import Call, Expr, Form, number
from tang_egg.codegen.lower_pack_frame import PackFrames
from tang_egg.codegen.lower_pack_points import ALONG, Block, Sizes
from tang_egg.codegen.lower_scope import Axis, Local
from tang_egg.codegen.pack_plan import Packing, Product, pack_plan, replaced
from tang_egg.ir import Read, Scalar, Tensor

FEW_ROWS, FEW_POINTS = 12, 96**3
"""Rows, and points in all, below which a kernel whose sizes are known at run time takes the way without packing."""
FEW_GATHERED = 1 << 13
"""Such points where columns are gathered point by point: there, packing them once saves that for all rows but one."""
PANELS = 8
"""Panels that are packed side by side, so that what they read lies together."""
POINTS = 256
"""Points of a part of a fold of which the schedule says nothing."""
TILE_MOST = 64
"""Most rows and most columns of a register tile: its points are written out."""


class Packs(PackFrames):
    """See the module text."""

    outputs: tuple[Tensor, ...]

    def store_output(self, t: Tensor, body: Scalar) -> None:
        raise NotImplementedError

    def work(self) -> Affine:
        raise NotImplementedError

    def packing(self) -> Packing | None:
        """How the kernel is computed by packed panels, where its schedule asks for that and its outputs allow it."""
        return pack_plan(self.outputs) if self.schedule.block else None

    def worth_packing(self, plan: Packing) -> Expr | None:
        """The test whether a product can be packed and is large enough for it, where that is not known beforehand."""
        rows = product(i.size for i in plan.rows)
        points = rows * product(i.size for i in (*plan.columns, *plan.folded))
        near = all(self._side_by_side(plan, s) for s in plan.packs("columns"))
        tests: list[Expr] = [
            Call("le", (number(n), Form(f)), "bool")
            for n, f in ((FEW_ROWS, rows), (FEW_POINTS if near else FEW_GATHERED, points))
            if f.value is None
        ]
        tests += [self.finite(s) for s in dict.fromkeys(x for p in plan.products for x in p.finite)]
        enough: Expr | None = None
        for test in tests:
            enough = test if enough is None else Call("and", (enough, test), "bool")
        return enough

    def by_panels(self, plan: Packing) -> None:
        """Writes the whole kernel."""
        sizes, plan = self._sizes(plan), self.framed(plan)
        held = self.in_parallel
        with ExitStack() as stack:
            for i in plan.batch:
                parallel = i.name in self.schedule.parallel and not self.in_parallel
                kind, work = ("parallel", self.work()) if parallel else ("serial", None)
                stack.enter_context(self.loop(i, number(0), Form(i.size), 1, kind, 1, work))
                self.in_parallel |= parallel
            self._column_blocks(plan, sizes)
        self.in_parallel = held

    def _sizes(self, plan: Packing) -> Sizes:
        block = dict(self.schedule.block)
        r, c = (min(TILE_MOST, max(1, self.schedule.tile_of(g[-1].name))) for g in (plan.rows, plan.columns))
        rows, columns = (self._block_of(g, n) for g, n in ((plan.rows, r), (plan.columns, c)))
        points, total = max(1, block.get(plan.folded[-1].name, POINTS)), product(i.size for i in plan.folded).value
        return Sizes(r, c, rows, columns, points if total is None else max(1, min(points, total)))

    def _block_of(self, axes: tuple[Index, ...], tile: int) -> int:
        """Rows or columns of a block: a multiple of the tile, no more than there are."""
        total = product(i.size for i in axes).value
        wanted = max(1, dict(self.schedule.block).get(axes[-1].name, tile))
        return -(-(wanted if total is None else max(1, min(wanted, total))) // tile) * tile

    # -- blocks

    def _column_blocks(self, plan: Packing, z: Sizes) -> None:
        total = product(i.size for i in plan.columns)
        panel = Index("panel~", total)
        held = self.in_parallel
        apart = not held and any(i.name in self.schedule.parallel for i in plan.columns)
        kind, work = ("parallel", self.work()) if apart else ("serial", None)
        self.in_parallel |= apart
        on_threads = not self.in_parallel and bool(self.schedule.parallel)
        if self.by_parts(plan, z):
            self._columns_by_parts(plan, z, kind, work)
            self.in_parallel = held
            return
        ready = self._rows_once(plan, z) if self._single_block(plan, z) else None
        with self.loop(Index("columns~", total), number(0), Form(total), z.columns, kind, 1, work) as axis:
            width = self._smaller("width", affine(z.columns), total - axis.start)
            packs: dict[Scalar, Local] = {}
            points = product(i.size for i in plan.folded)
            for s in plan.packs("columns"):
                packs[s] = self._flat_array("columns", self.type(s), self._panel_points(plan) * z.columns)
                kind, work = ("parallel", points * z.columns) if on_threads else ("serial", None)
                step = z.tile_columns * (PANELS if self._side_by_side(plan, s) else 1)
                with self.loop(panel, number(0), Form(width), step, kind, 1, work) as p:
                    if step == z.tile_columns:
                        self._pack_columns(plan, z, s, packs[s], axis.start + p.start, p.start, plan.folded)
                        continue
                    end = self._smaller("end", p.start + step, width)
                    panels = self.loop(panel, Form(p.start), Form(end), z.tile_columns)
                    with self._nest(plan.folded), panels as q:
                        self._pack_columns(plan, z, s, packs[s], axis.start + q.start, q.start, ())
            if ready is None:
                self._row_blocks(plan, z, (axis.start, width), packs)
            else:
                block, values, rows = ready
                self._over_parts(plan, z, Block(axis.start, width, block.row, block.height), packs | rows, values)
        self.in_parallel = held

    def by_parts(self, plan: Packing, z: Sizes) -> bool:
        """Whether columns are packed part by part: a single block of rows, packed once, uses each part but once."""
        return len(plan.folded) == 1 and self._single_block(plan, z)

    def _single_block(self, plan: Packing, z: Sizes) -> bool:
        """Whether all rows are one block, so that they are packed once for all columns."""
        rows = product(i.size for i in plan.rows).value
        return rows is not None and rows <= z.rows and not any(i.name in self.schedule.parallel for i in plan.rows)

    def _rows_once(self, plan: Packing, z: Sizes) -> tuple[Block, dict[Scalar, Scalar], dict[Scalar, Local]]:
        """The block of all rows, their values, and what is packed of them."""
        block = Block(affine(0), affine(0), affine(0), product(i.size for i in plan.rows))
        values = self._row_values(plan, z, block)
        return block, values, {s: self._pack_rows(plan, z, block, s, values) for s in plan.packs("rows")}

    def _columns_by_parts(self, plan: Packing, z: Sizes, kind: str, work: Affine | None) -> None:
        total = product(i.size for i in plan.columns)
        block, values, rows = self._rows_once(plan, z)
        with self.loop(Index("columns~", total), number(0), Form(total), z.columns, kind, 1, work) as axis:
            width = self._smaller("width", affine(z.columns), total - axis.start)
            packs = dict(rows)
            for s in plan.packs("columns"):
                packs[s] = self._flat_array("columns", self.type(s), affine((z.points + 1) * z.columns))
            self._over_parts(plan, z, Block(axis.start, width, block.row, block.height), packs, values)

    def _pack_part(
        self, plan: Packing, z: Sizes, s: Scalar, to: Local, b: Block, part: Affine, length: Affine
    ) -> None:  # fmt: skip
        """The points part ... part + length - 1 of all panels of a block."""
        k, panel = plan.folded[0], Index("panel~", b.width)
        step = z.columns if self._side_by_side(plan, s) else z.tile_columns
        with self.loop(panel, number(0), Form(b.width), step) as p:
            end = self._smaller("end", p.start + step, b.width)
            points = self.loop(k, Form(part), Form(part + length))
            with points as point, self.loop(panel, Form(p.start), Form(end), z.tile_columns) as q:
                place = q.start * (z.points + 1) + (point.start - part) * z.tile_columns

                def chunk(axis: Axis | None, base: Affine, place: Affine = place) -> None:
                    self.pack_line(to, place, s, axis, base)

                self._columns(plan, b.column + q.start, z.tile_columns, chunk, again=True)

    def _row_blocks(self, plan: Packing, z: Sizes, at: tuple[Affine, Affine], packs: dict[Scalar, Local]) -> None:
        total = product(i.size for i in plan.rows)
        on_threads = not self.in_parallel and bool(self.schedule.parallel)
        kind, work = ("parallel", self.work()) if on_threads else ("serial", None)
        self.in_parallel |= on_threads
        with self.loop(Index("rows~", total), number(0), Form(total), z.rows, kind, 1, work) as axis:
            height = self._smaller("height", affine(z.rows), total - axis.start)
            block = Block(*at, axis.start, height)
            values = self._row_values(plan, z, block)
            for s in plan.packs("rows"):
                packs[s] = self._pack_rows(plan, z, block, s, values)
            self._over_parts(plan, z, block, packs, values)
        self.in_parallel &= not on_threads

    # -- packing

    def _side_by_side(self, plan: Packing, s: Scalar) -> bool:
        """Whether neighbouring panels of an operand are read from the same lines."""
        last = plan.columns[-1]
        steps = [near for r in self._reads_in_place([s]) for i, near in self._steps(r) if i is last]
        return len(plan.columns) == 1 and all(steps)

    def _pack_columns(
        self, plan: Packing, z: Sizes, s: Scalar, to: Local, first: Affine, panel: Affine, folded: tuple[Index, ...]
    ) -> None:
        """One panel: all points of the indices `folded`, those in force of the others."""
        start = panel * self._panel_points(plan)

        def chunk(axis: Axis | None, base: Affine) -> None:
            k = self._flat_point(plan.folded)
            self.pack_line(to, start + k * z.tile_columns, s, axis, base)

        self._columns(plan, first, z.tile_columns, chunk, again=True, nest=folded)

    def _panel_points(self, plan: Packing) -> Affine:
        """Points from the start of a panel to the next: one more than it has, lest all start in one set of a cache."""
        return product(i.size for i in plan.folded) + 1

    def _pack_rows(self, plan: Packing, z: Sizes, b: Block, s: Scalar, values: dict[Scalar, Scalar]) -> Local:
        total = product(i.size for i in plan.folded)
        stride, _ = self._row_strides(plan, z)
        most = total + z.points if len(plan.folded) == 1 else stride  # the last part is as long as the others
        local = self._flat_array("rows", self.type(s), most * z.rows)
        s = replaced(s, values)
        with self._rows(plan, z, b, again=True) as row:
            start = row * stride
            if len(plan.folded) == 1:
                with self.loop(Index("part~", total), number(0), Form(total), z.points) as part:
                    length = self._smaller("points", affine(z.points), total - part.start)
                    self._pack_row(plan.folded[0], s, local, part.start * z.rows + start, part.start, length)
            elif (line := self._in_line(plan, s)) is not None:
                self._pack_row(*line, local, start, affine(0), total)
            else:
                with self._nest(plan.folded):
                    self._pack_in(local, start + self._flat_point(plan.folded), s)
        return local

    def _row_strides(self, plan: Packing, z: Sizes) -> tuple[Affine, int]:
        """How far apart rows and points of a fold lie in packed rows, the latter from part to part.

        Points of a single index are cut into parts one after the other. Several are not cut, which would take a
        division for each point; the rows do not start in one cache set then.
        """
        if len(plan.folded) == 1:
            return affine(z.points), z.rows
        return product(i.size for i in plan.folded) + 16, 1

    def _pack_row(self, k: Index, s: Scalar, to: Local, base: Affine, start: Affine, length: Affine) -> None:
        """Points start ... start + length - 1 of one row, by vectors."""
        full = length
        if length.value is None or length.value % ALONG:
            whole = Call("idiv", (Form(length), number(ALONG)), "i64")
            full = self._under_name("full", Call("mul", (whole, number(ALONG)), "i64"))
        vectors = self.loop(k, Form(start), Form(start + full), ALONG, size=ALONG)
        with vectors as axis, self._each_lane(axis, axis.start - start) as n:
            self._pack_in(to, base + n, s)
        if full != length:
            with self.loop(k, Form(start + full), Form(start + length)) as axis:
                self._pack_in(to, base + axis.start - start, s)

    def _row_values(self, plan: Packing, z: Sizes, b: Block) -> dict[Scalar, Scalar]:
        """Arrays of the folds that vary with the row alone, as reads at the row in force."""
        found: dict[Scalar, Scalar] = {}
        for s in plan.row_values:
            local = self._flat_array("value", self.type(s), affine(z.rows))
            with self._rows(plan, z, b, again=False) as row:
                self._pack_in(local, row, s)
            found[s] = Read(self.as_input(local), (affine(plan.row),))
        return found

    # -- register tiles

    def _over_parts(
        self, plan: Packing, z: Sizes, b: Block, packs: dict[Scalar, Local], values: dict[Scalar, Scalar]
    ) -> None:
        total = product(i.size for i in plan.folded)
        tiles = {p: self._flat_array("tile", self._state_type(p), affine(z.rows * z.columns)) for p in plan.products}
        alone = total.value is not None and total.value <= z.points
        stop = Call("max", (Form(total), number(1)), "i64")  # without points, the outputs are those of the identity
        with ExitStack() as stack:
            part = affine(0)
            if not alone:
                part = stack.enter_context(self.loop(Index("part~", total), number(0), stop, z.points)).start
            length = total if alone else self._smaller("points", affine(z.points), total - part)
            by_parts = self.by_parts(plan, z)
            if by_parts:
                for s in plan.packs("columns"):
                    self._pack_part(plan, z, s, packs[s], b, part, length)
            across = self.loop(Index("across~", total), number(0), Form(b.width), z.tile_columns)
            j = stack.enter_context(across).start
            down = self.loop(Index("down~", total), number(0), Form(b.height), z.tile_rows)
            i = stack.enter_context(down).start
            at = i * z.tile_columns + j * z.rows
            strides = self._row_strides(plan, z)
            for p in plan.products:
                first = j * self._panel_points(plan) + part * z.tile_columns if not by_parts else j * (z.points + 1)
                self._register_tile(p, z, tiles[p], at, (i, first, part, length, alone), strides, packs, total)
            last = None if alone else Call("le", (Form(total), Form(part + z.points)), "bool")
            with self.branch(last):
                self._finish_tile(plan, z, b, tiles, (i, j, at), values)

    def _state_type(self, p: Product) -> str:
        kind = p.fold.monoid.components[p.fold.part].type
        return self.real if kind == "real" else kind

    def _register_tile(
        self, p: Product, z: Sizes, tile: Local, at: Affine,
        where: tuple[Affine, Affine, Affine, Affine, bool], strides: tuple[Affine, int], packs: dict[Scalar, Local],
        total: Affine,
    ) -> None:  # fmt: skip
        """One register tile over one part of k: from the sums so far, or from the identity, and back into `tile`."""
        i, columns, part, length, alone = where
        r, c = Index("r~", affine(z.tile_rows)), Index("c~", affine(z.tile_columns))
        axes = [Axis(x, affine(0), x.size.value or 1) for x in (r, c)]
        k = Index("k~", total)
        stride, apart = strides
        rows = part * apart + i * stride
        with self.inside(*axes):
            acc = self.slot("acc", tile.buffer.type, axes)
            place = at + affine(r) * z.tile_columns + c
            so_far = Read(self.as_input(tile), (place,))
            identity = p.fold.monoid.identity[p.fold.part]
            if not alone:
                with self.branch(Call("le", (Form(part), number(0)), "bool")), self.points(axes):
                    self._pack_in(tile, place, identity)
            self.fill(acc.local, axes, identity if alone else so_far)
            reads: dict[Scalar, Scalar] = {}
            for s in p.rows:
                reads[s] = Read(self.as_input(packs[s]), (rows + stride * r + k,))
            for s in p.columns:
                reads[s] = Read(self.as_input(packs[s]), (columns + affine(k) * z.tile_columns + c,))
            body = replaced(p.body, reads)
            step = self.combined(p.fold, {p.fold.part: acc}, {p.fold.part: body}, p.fold.part)
            with self.loop(k, number(0), Form(length)), self.points(axes):
                self.store(acc, self.evaluate(step))
            with self.inside(), self.points(axes):
                self._pack_in(tile, place, acc.read)

    def _finish_tile(
        self, plan: Packing, z: Sizes, b: Block, tiles: dict[Product, Local],
        place: tuple[Affine, Affine, Affine], values: dict[Scalar, Scalar],
    ) -> None:  # fmt: skip
        """The outputs at the points of a finished register tile that exist."""
        i, j, at = place
        lane = Index("lane~", affine(z.tile_columns))
        known: dict[Scalar, Scalar] = dict(values)
        for p, tile in tiles.items():
            place_of = at + (affine(plan.row) - i) * z.tile_columns + lane
            known[p.fold] = Read(self.as_input(tile), (place_of,))
        rest = [replaced(t.body, known) for t in self.outputs]
        end = self._smaller("end", i + z.tile_rows, b.height)

        def chunk(axis: Axis | None, base: Affine) -> None:
            with self._each_lane(axis, base) as n, self.inside(Axis(lane, n)):
                for t, new in zip(self.outputs, rest, strict=True):
                    self.store_output(t, new)

        with self._rows(plan, z, Block(b.column, b.width, b.row, end), again=False, first=i):
            self._columns(plan, b.column + j, z.tile_columns, chunk, again=False)
