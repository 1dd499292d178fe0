"""From tensors and a schedule to a kernel: the grid over the outputs' indices, and what is stored at each of its tiles.

    whole axes of the outputs are bound first, as blocks;
    then one loop per common index of all outputs, outermost first, by tiles;
    inside, each output loops over the axes that it alone has, and stores its body for every point of the block.

Everything else follows from the body: folds (lower_fold), their steps (lower_update), scans (lower_scan), values.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tang_egg.affine import Affine, Index, affine, dims_of, product
from tang_egg.codegen.align import aligned
from tang_egg.codegen.device import Launch
from tang_egg.codegen.kernel import Buffer, Call, Expr, Form, Kernel, Literal, Select, Store, number
from tang_egg.codegen.lower_fold import part_of
from tang_egg.codegen.lower_keep import rows_at_hand
from tang_egg.codegen.lower_pack import Packs
from tang_egg.codegen.lower_piece import Pieces
from tang_egg.codegen.lower_scope import Axis
from tang_egg.codegen.lower_value import COSTLY
from tang_egg.codegen.vectors import AVX2, Vectors
from tang_egg.codegen.words_read import words_read
from tang_egg.ir import Apply, Input, Position, Read, Reduce, Scalar, Scan, Tensor, Test, children, free, sources, walk
from tang_egg.schedule import PLAIN, Schedule
from tang_egg.text import print_scalar

NOTED = 200
"""Nodes of a body, shared ones counted at each use, up to which it is printed above its kernel."""


def lower(name: str, outputs: tuple[Tensor, ...], schedule: Schedule = PLAIN, vectors: Vectors = AVX2) -> Kernel:
    """The kernel that writes `outputs` as `schedule` says, with register tiles for such vectors.

    Raises CodegenError for a state of symbolic size, and for rows to keep whose passes cannot be parted.
    """
    lowering = Lowering(name, rows_at_hand(aligned(outputs), schedule), schedule)
    lowering.vectors = vectors
    return lowering.run()


def kernel_sources(outputs: tuple[Tensor, ...]) -> tuple[Input | Tensor, ...]:
    """What the buffers of a lowered kernel hold, in order: everything read, then the outputs."""
    return (*dict.fromkeys(s for t in outputs for s in sources(t.body)), *outputs)


class Lowering(Packs, Pieces):
    """One kernel under construction. `reserved`: variables that a body has without defining them."""

    reserved: tuple[str, ...] = ()

    def __init__(self, name: str, outputs: tuple[Tensor, ...], schedule: Schedule) -> None:
        read = tuple(dict.fromkeys(s for t in outputs for s in sources(t.body)))
        types = {s.dtype for s in read} | {t.dtype for t in outputs}
        super().__init__(schedule, schedule.accumulate or ("f64" if "f64" in types else "f32"))
        self.kernel = name
        self.outputs = outputs
        self.parts = _parts(outputs)
        self.stored = [t.axes for t in outputs]
        self.owners = _owners(outputs)
        self.scanned = {s.index for t in outputs for s in walk(t.body) if isinstance(s, Scan)}
        self.dims = symbolic_dims(outputs)
        self.names.update(dict.fromkeys((*self.reserved, *self.dims), 1))
        taken = {t.into for t in outputs}
        for s in read:
            role = "input" if isinstance(s, Input) else "temporary"
            ahead = s.name in schedule.fetch and s.name not in taken
            past = s.name in schedule.past and s.name not in taken
            size = product(s.shape)
            self.buffers[s] = Buffer(self.name(s.name), s.dtype, "global", size, role, s.name in taken, past, ahead)
        self.written = {
            t: Buffer(
                self.name(t.name),
                t.dtype,
                "global",
                product(t.shape),
                "output",
                bool(t.into),
                schedule.store == "stream" and not t.into,
            )
            for t in outputs
        }

    def run(self) -> Kernel:
        plan = self.packing()
        if plan is None:
            self._plain()
            return self.finished()
        enough = self.worth_packing(plan)
        with self.branch(enough):
            self.by_panels(plan)
        if enough is not None:
            with self.branch(Call("not", (enough,), "bool")):
                self._plain()
        return self.finished()

    def _plain(self) -> None:
        """The whole kernel by loops over the tiles of the outputs' indices."""
        self.ahead()
        common = [i for i in self.outputs[0].axes if all(i in t.axes for t in self.outputs)]
        named = [i for n in self.schedule.order for i in common if i.name == n]
        order = named + [i for i in common if i not in named]
        order = [i for i in order if i not in self.scanned] + [i for i in order if i in self.scanned]
        whole = [i for i in order if self._held_whole(i)]
        with self.inside(*(Axis(i, affine(0), i.size.value or 1) for i in whole)):
            chunked = self.cut(order)
            if chunked is None:
                self._grid([i for i in order if i not in whole])
            else:
                self.find_starts(chunked, order)
                with self.chunks(chunked):
                    self._grid([i for i in order if i not in whole])

    def finished(self, launch: Launch | None = None) -> Kernel:
        """The kernel of all that has been written."""
        buffers = (*self.buffers.values(), *self.written.values())
        note = kernel_note(self.outputs, self.schedule)
        body, words = tuple(self.scope.out), words_read(self.outputs)
        return Kernel(self.kernel, buffers, self.dims, body, tuple(self.scratch), note, launch, words)

    def work(self) -> Affine:
        return _work(self.outputs)

    def _held_whole(self, i: Index) -> bool:
        return self.schedule.tile_of(i.name) == 0 and bool(i.size.value) and i not in self.scanned

    def _grid(self, indices: list[Index]) -> None:
        if not indices:
            for t in self.outputs:
                self._output(t, [i for i in t.axes if self.bound(i) is None])
            return
        i, rest = indices[0], indices[1:]
        if self.chunked is not None and i is self.chunked.index:
            with self.chunk(self.chunked):
                self._grid(rest)
            return
        if i in self.scanned and not rest and self.in_strips(i, self.outputs, lambda: self._grid(rest)):
            return
        parallel = i.name in self.schedule.parallel and i not in self.scanned and not self.in_parallel
        self.in_parallel |= parallel
        self.tiles(i, "parallel" if parallel else "serial", lambda: self._grid(rest))
        self.in_parallel &= not parallel

    def tiles(self, i: Index, kind: str, inner: Callable[[], None]) -> None:
        """Loops over the tiles of an output index; where an axis may be shorter than a tile, also over its points.

        The last tile is moved back to end with the axis: what it shares with the one before is computed twice, to the
        same values. Outputs that take the memory of an input do not allow that; their last points run one by one.
        """
        size, extent = self.schedule.tile_of(i.name), i.size.value
        work = self.work() if kind == "parallel" else None
        if i.name in self.schedule.taper and i not in self.scanned and not any(t.into for t in self.outputs):
            self._tapered(i, size, kind, inner)
            return
        full: Expr = number(0)
        if size > 1 and i not in self.scanned and (extent is None or extent >= size):
            stop: Expr = Form(i.size)
            last = None if extent is not None and extent % size == 0 else i.size - size
            if last is not None and any(t.into for t in self.outputs):
                last = None
                stop = Call("mul", (Call("idiv", (Form(i.size), number(size)), "i64"), number(size)), "i64")
                stop = number(extent // size * size) if extent is not None else stop
            elif extent is None:
                fits = Call("le", (number(size), Form(i.size)), "bool")
                stop = Select(fits, Form(i.size), number(0), "i64")
            full = self.name_bound(f"{i.name}_full", stop)
            with self.loop(i, number(0), full, size, kind, size, work, last):
                inner()
            if full == Form(i.size):
                return
        with self.loop(i, full, Form(i.size), 1, kind, 1, work):
            inner()

    def _tapered(self, i: Index, size: int, kind: str, inner: Callable[[], None]) -> None:
        """Loops over whole tiles, then over tiles of half as many points, of two, and over what is left.

        More points than the next smaller tile has are a tile that is moved back, where the axis is as long as that.
        """
        start = affine(0)
        sizes = sorted({size, size // 2, 2, 1} - {0}, reverse=True)
        for n, less in zip(sizes, (*sizes[1:], 0), strict=True):
            start = self._tiles_from(i, start, n, less, kind, inner)

    def _tiles_from(self, i: Index, start: Affine, n: int, less: int, kind: str, inner: Callable[[], None]) -> Affine:
        """Tiles of n points for as long as more than `less` points are left; where what is left starts after them."""
        work, extent, first = self.work() if kind == "parallel" else None, i.size.value, start.value
        last = i.size - n if n > 1 else None
        if extent is not None and first is not None:
            stop = first + (extent - first + n - 1 - less) // n * n if extent >= n else first
            if stop > first:
                with self.loop(i, number(first), number(stop), n, kind, n, work, last):
                    inner()
            return affine(min(stop, extent))
        tiles = Call("idiv", (Form(i.size - start + (n - 1 - less)), number(n)), "i64")
        after: Expr = Call("add", (Form(start), Call("mul", (tiles, number(n)), "i64")), "i64")
        fits = Call("le", (number(n), Form(i.size)), "bool")
        end = self._under_name(f"{i.name}_end", Select(fits, after, Form(start), "i64")) if n > 1 else i.size
        with self.loop(i, Form(start), Form(end), n, kind, n, work, last):
            inner()
        return self._smaller(f"{i.name}_left", end, i.size) if n > 1 else i.size

    def _output(self, t: Tensor, axes: list[Index]) -> None:
        if axes:
            self.tiles(axes[0], "serial", lambda: self._output(t, axes[1:]))
            return
        blocks = self.contiguous_last(self.blocks(t.axes), [t.body])
        self.prepare([t.body], blocks)
        with ExitStack() as stack:
            stack.enter_context(self.inside())
            if len(blocks) > 1:
                blocks = self.lined_up(t, blocks)
            stack.enter_context(self.points(blocks))
            stack.enter_context(self.once(blocks))
            self.store_output(t, t.body)

    def store_output(self, t: Tensor, body: Scalar) -> None:
        """Stores a body at the point in force of an output."""
        value = self.evaluate(body)
        strip = self.strips.get(t)
        buffer = self.written[t] if strip is None else strip.local.buffer
        if isinstance(value, Literal):
            value = Literal(value.value, buffer.type)
        elif value.type != buffer.type:
            value = Call("cast", (value,), buffer.type)
        if strip is not None:
            self.store(strip, value)
            return
        address = self.address(t.shape, tuple(affine(i) for i in t.axes))
        self.scope.out.append(Store(buffer, address, value))

    @contextmanager
    def once(self, blocks: Sequence[Axis]) -> Iterator[None]:
        """Around the store of an output at a point of some block axes."""
        yield


def kernel_note(outputs: tuple[Tensor, ...], schedule: Schedule) -> tuple[str, ...]:
    """The mathematics of a kernel and its schedule, for the comment above it; long bodies are left out."""
    sizes: dict[Scalar, int] = {}
    for s in walk(*(t.body for t in outputs)):
        sizes[s] = 1 + sum(sizes[c] for c in children(s))
    lines: list[str] = []
    for t in outputs:
        text = " ".join(print_scalar(t.body).split()) if sizes[t.body] <= NOTED else "..."
        lines += textwrap.wrap(f"{t.name}[{', '.join(i.name for i in t.axes)}] = {text}", 110, subsequent_indent="    ")
    return (*lines, f"schedule: {schedule}")


def _parts(outputs: tuple[Tensor, ...]) -> dict[Scalar, set[int]]:
    """For each fold and scan, the components that the kernel needs."""
    parts: dict[Scalar, set[int]] = {}
    for s in walk(*(t.body for t in outputs)):
        if isinstance(s, (Reduce, Scan)):
            parts.setdefault(part_of(s, 0), set()).update(s.monoid.needs(s.part))
    return parts


def _owners(outputs: tuple[Tensor, ...]) -> dict[Scalar, set[int]]:
    """For each costly value, the folds and outputs that use it directly."""
    owners: dict[Scalar, set[int]] = {}
    roots: list[tuple[int, tuple[Scalar, ...]]] = [(-1 - n, (t.body,)) for n, t in enumerate(outputs)]
    groups: dict[Scalar, int] = {}
    for s in walk(*(t.body for t in outputs)):
        if isinstance(s, (Reduce, Scan)) and part_of(s, 0) not in groups:
            groups[part_of(s, 0)] = len(groups)
            roots.append((groups[part_of(s, 0)], children(s)))
    for owner, below in roots:
        stack, seen = list(below), set[Scalar]()
        while stack:
            s = stack.pop()
            if s in seen or isinstance(s, (Reduce, Scan)):
                continue
            seen.add(s)
            if isinstance(s, Apply) and s.op in COSTLY:
                owners.setdefault(s, set()).add(owner)
            stack.extend(children(s))
    return owners


def symbolic_dims(outputs: tuple[Tensor, ...]) -> tuple[str, ...]:
    """The names of the symbolic dims of a kernel, sorted."""
    forms: list[Affine] = []
    for t in outputs:
        forms += t.shape
        for s in walk(t.body):
            if isinstance(s, Position):
                forms.append(s.form)
            elif isinstance(s, Test):
                forms.append(s.condition.form)
            elif isinstance(s, Read):
                forms += [*s.source.shape, *(c for c in s.coordinates if isinstance(c, Affine))]
            elif isinstance(s, Reduce):
                forms += [*(i.size for i in s.indices), *(c.form for c in s.where.affine)]
            elif isinstance(s, Scan):
                forms.append(s.index.size)
    return tuple(sorted({d.name for d in dims_of(forms)}))


def _work(outputs: tuple[Tensor, ...]) -> Affine:
    """Roughly how many operations a kernel runs: points of the outputs times points of the largest fold below."""
    total = affine(0)
    for t in outputs:
        points = product(t.shape)
        inner = affine(1)
        for s in walk(t.body):
            if isinstance(s, Reduce):
                inside = affine(1)
                for i in (*s.indices, *(i for i in free(s) if i not in t.axes)):
                    inside = inside * i.size
                inner = inner + inside
        total = total + points * inner
    return total
