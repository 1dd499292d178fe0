"""Blocks that lie across what is read: copies whose vectors run the other way, made by transposes in registers.

    point  tile=i:64,j:64 stage=X    X_turned[i, j] := X[j, i] for a block, then Y[i, j] = f(X_turned[i, j], ...)
    scan   tile=i:8,t:64  stage=X    X_turned[t, i] := X[i, t] for a strip of rows, then for each t in it, for vectors
                                     of rows at once: state := combine(state, lift); Y_strip[t, i] := f(state);
                                     at last Y[i, t] := Y_strip[t, i]

So memory is read and written along its lines, whatever the vectors run over. A read is turned where it is contiguous
along one axis of the block and varies with the axis of the vectors too; reads that need a guard, or gather, stay in
place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tang_egg import ops
from tang_egg.affine import Affine, Index, affine
from tang_egg.codegen.kernel import Buffer, Call, Expr, Form, Load, Store, number
from tang_egg.codegen.lower_chunk import Chunks
from tang_egg.codegen.lower_fold import part_of
from tang_egg.codegen.lower_scope import Axis, Local
from tang_egg.codegen.lower_state import Slot
from tang_egg.ir import Input, Read, Reduce, Scalar, Scan, Tensor, children, free, walk
from tang_egg.schedule import Schedule

SHAPES = ("point", "scan")
"""Schedule shapes in which `stage` names reads to be turned."""
LEAST = 8
"""Points of the strips of what longer ones leave over."""


class Turns(Chunks):
    """See the module text. `strips`: where outputs are gathered while a strip is scanned."""

    written: dict[Tensor, Buffer]

    def __init__(self, schedule: Schedule, real: str) -> None:
        super().__init__(schedule, real)
        self.strips: dict[Tensor, Slot] = {}

    def lined_up(self, t: Tensor, blocks: list[Axis]) -> list[Axis]:
        """The block of an output with the axis of its vectors last, once what lies across it has been copied."""
        if self.schedule.shape != "point" or self.schedule.grid or not self.schedule.stage:
            return blocks
        last = next((a for a in blocks if a.index is t.axes[-1] and a.size % 4 == 0), None)
        if last is None:
            return blocks
        blocks = [a for a in blocks if a is not last] + [last]
        self.turn_in([t.body], last, blocks)
        return blocks

    def turn_in(self, roots: Sequence[Scalar], last: Axis, nest: Sequence[Axis]) -> None:
        """Copies reads in place below `roots` that are contiguous along another axis of the nest than `last`."""
        if self.schedule.shape not in SHAPES or self.schedule.grid or not self.schedule.stage:
            return
        for s in dict.fromkeys(reads_in_place(roots)):
            along = self._lying(s, last, nest)
            if along is None or self.known("arrays", s) is not None:
                continue
            others = [a for a in nest if a.index in free(s) and a is not last and a is not along]
            axes = [*others, along, last]
            local = self.array(f"{s.source.name}_turned", s.source.dtype, axes)
            self.turn(local, axes, along, last, lambda s=s: self.raw(s))  # type: ignore[misc]
            self.result(local, axes, s)

    def _lying(self, s: Read, last: Axis, nest: Sequence[Axis]) -> Axis | None:
        """The axis along which a read is to be copied before vectors run over `last`."""
        if s.source.name not in self.schedule.stage or (isinstance(s.source, Input) and s.source in self.locals):
            return None
        if not self.movable(s) or last.index not in free(s) or not all(isinstance(c, Affine) for c in s.coordinates):
            return None
        near = s.coordinates[-1]
        assert isinstance(near, Affine)
        step = {a.index: near.coefficient(a.index).value for a in nest}
        if step.get(last.index) == 1:
            return None
        return next((a for a in nest if step[a.index] == 1 and a is not last and a.size % 4 == 0), None)

    def movable(self, s: Read) -> bool:
        """Whether a read can be copied as it is stored, wherever it stands."""
        return s.source.dtype in (*ops.INTEGERS, "f16", "bf16", self.real) and self.safe(s)

    def raw(self, s: Read) -> Expr:
        """What is stored at the point in force, without a cast."""
        return Load(self.buffers[s.source], self.address(s.source.shape, s.coordinates), s.source.dtype)

    def turn(self, to: Local, axes: Sequence[Axis], along: Axis, last: Axis, value: Callable[[], Expr]) -> None:
        """Stores a value for all points of some axes; it is contiguous along `along`, the array along `last`."""
        with ExitStack() as stack:
            for a in axes:
                if a is not along and a is not last:
                    stack.enter_context(self.refine(a))
            stack.enter_context(self.refine(last, 1, "turned"))
            stack.enter_context(self.refine(along, 1, "vector"))
            self.put(to, axes, value())

    # -- strips of a scan

    def in_strips(self, t: Index, outputs: Sequence[Tensor], inner: Callable[[], None]) -> bool:
        """The loop over a scanned index by strips, and point by point over what is left; False where there are none."""
        size, extent = self.schedule.tile_of(t.name), t.size.value
        rows = self.blocks({i for x in outputs for i in x.axes})
        if size <= 1 or self.schedule.shape != "scan" or self.schedule.grid or (extent is not None and extent < size):
            return False
        if not rows or rows[-1].size % 4:
            return False
        self.begin_all(t, outputs)
        start: Expr = number(0)
        for n in (size, LEAST) if size % LEAST == 0 and size > LEAST else (size,):
            full: Expr = number(extent // n * n) if extent is not None else self.whole_strips(t, n)
            if full != start:
                with self.loop(t, start, full, n, size=n) as strip, self._gathered(outputs, strip, rows[-1]):
                    self.turn_in([x.body for x in outputs], rows[-1], [*rows, strip])
                    with self.refine(strip):
                        inner()
            start = full
        if start != Form(t.size):
            with self.loop(t, start, Form(t.size)):
                inner()
        self.running.clear()
        return True

    def whole_strips(self, t: Index, size: int) -> Expr:
        whole = Call("mul", (Call("idiv", (Form(t.size), number(size)), "i64"), number(size)), "i64")
        return self.name_bound(f"{t.name}_by_{size}", whole)

    def begin_all(self, t: Index, outputs: Sequence[Tensor]) -> None:
        """Declares the states of all scans over an index around its loops."""
        for s in dict.fromkeys(part_of(s, 0) for x in outputs for s in walk(x.body) if isinstance(s, Scan)):
            assert isinstance(s, Scan)
            if s.index is t:
                self.running[s] = self.begin(s, sorted(self.parts.get(s, set()) | s.monoid.needs(s.part)))

    @contextmanager
    def _gathered(self, outputs: Sequence[Tensor], strip: Axis, last: Axis) -> Iterator[None]:
        """Around a strip: outputs along it are stored into local arrays, and from these into memory at its end."""
        for x in outputs:
            rows = [a for a in self.blocks(x.axes) if a is not strip]
            if last in rows and x.axes[-1] is strip.index:
                axes = [*(a for a in rows if a is not last), strip, last]
                self.strips[x] = self.slot(f"{x.name}_strip", x.dtype, axes)
        yield
        for x in outputs:
            if (slot := self.strips.pop(x, None)) is None:
                continue
            axes = [*(a for a in slot.axes if a is not strip), strip]
            local = self.array(f"{x.name}_rows", x.dtype, axes)
            # the strip runs along the rows here: what is turned is contiguous along `last`
            self.turn(local, axes, last, strip, lambda: self.element(slot.local, slot.axes))
            with self.inside(), self.points(axes):
                address = self.address(x.shape, tuple(affine(i) for i in x.axes))
                self.scope.out.append(Store(self.written[x], address, self.element(local, axes)))

    def element(self, local: Local, axes: Sequence[Axis]) -> Expr:
        """What a local array holds at the point in force, as it is stored."""
        total = affine(0)
        for a, origin, stride in zip(axes, local.origins, local.strides, strict=True):
            total = total + (self.axis(a.index).start - origin) * stride
        return Load(local.buffer, Form(total), local.buffer.type)


def reads_in_place(roots: Iterable[Scalar]) -> Iterator[Read]:
    """The reads below some expressions that stand in no fold."""
    seen: set[Scalar] = set()
    stack = list(roots)
    while stack:
        s = stack.pop()
        if s in seen or isinstance(s, Reduce):
            continue
        seen.add(s)
        if isinstance(s, Read):
            yield s
        stack.extend(children(s))
