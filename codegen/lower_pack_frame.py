"""Windows over an end: what they read is copied once with the zeros around it, so that packing it takes no tests.

select(0 <= y + d - 1, select(y + d <= h, X[c, y + d - 1, x], 0), 0)  ->  frame[c, y + d, x]
frame[c, p, x] := X[c, p - 1, x] where 1 <= p <= h, else 0
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from math import prod

from tang_egg.affine import Affine, Index, affine, product
from tang_egg.codegen.kernel import Call, Expr, number
from tang_egg.codegen.lower_pack_points import PackPoints
from tang_egg.codegen.lower_scope import Axis, Local
from tang_egg.codegen.pack_plan import Packing, replaced
from tang_egg.ir import Apply, Const, Read, Scalar, Test, free

MOST_ELEMENTS = 1 << 22
"""Elements of a frame: it is held whole beside the panels."""
LEAST_TIMES = 4
"""How often an element of a frame is packed on average from which on the copy is worth while."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A read of a source, and the least and the greatest value of each of its coordinates."""

    read: Read
    low: tuple[int, ...]
    high: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis."""
        return tuple(h - n + 1 for n, h in zip(self.low, self.high, strict=True))

    def reach(self, n: int) -> tuple[int, int]:
        """The first place along an axis of the frame that the source has, and the place after the last one."""
        size = self.read.source.shape[n].value or 0
        return -min(0, self.low[n]), min(self.high[n] + 1, size) - self.low[n]


class PackFrames(PackPoints):
    """See the module text."""

    def framed(self, plan: Packing) -> Packing:
        """The plan with windows that are packed from frames, which are written here."""
        new: dict[Scalar, Scalar] = {}
        for s in (*plan.packs("rows"), *plan.packs("columns")):
            if (frame := frame_of(s)) is not None:
                new[s] = self._write_frame(frame)
        if not new:
            return plan
        products = [
            replace(
                p,
                body=replaced(p.body, new),
                rows=tuple(new.get(s, s) for s in p.rows),
                columns=tuple(new.get(s, s) for s in p.columns),
            )
            for p in plan.products
        ]
        return replace(plan, products=tuple(products))

    def _write_frame(self, frame: Frame) -> Scalar:
        """Fills a frame; the read of it that stands for the operand."""
        shape = frame.shape
        indices = [Index(f"frame{n}~", affine(k)) for n, k in enumerate(shape)]
        axes = [Axis(i, affine(0)) for i in indices]
        local = self.array("frame", self.type(frame.read), axes, tuple(i.size for i in indices))
        *outer, line = indices
        moves = product(i.size for i in indices) * 2  # an element is read and written
        work = moves if self.schedule.parallel and not self.in_parallel else None
        first, end = frame.reach(len(shape) - 1)
        with ExitStack() as stack:
            for n, i in enumerate(outer):
                kind = "serial"
                if work is not None and shape[n] > 1:
                    kind, held, work = "parallel", work, None
                    stack.enter_context(self.loop(i, number(0), number(shape[n]), 1, kind, 1, held))
                else:
                    stack.enter_context(self.loop(i, number(0), number(shape[n])))
            inside = self._in_source(frame, outer)
            place = tuple(affine(i) + k for i, k in zip(indices, frame.low, strict=True))
            with self.branch(inside):
                self._frame_line(local, axes, line, (first, end), Read(frame.read.source, place))
            if inside is not None:
                with self.branch(Call("not", (inside,), "bool")):
                    self._frame_line(local, axes, line, (first, end), None)
            self._frame_line(local, axes, line, (0, first), None)
            self._frame_line(local, axes, line, (end, shape[-1]), None)
        coordinates = tuple(
            c - k for c, k in zip(frame.read.coordinates, frame.low, strict=True) if isinstance(c, Affine)
        )
        return Read(self.as_input(local), coordinates)

    def _in_source(self, frame: Frame, outer: Sequence[Index]) -> Expr | None:
        """Whether a line of a frame is one of the source, where some are not."""
        found: Expr | None = None
        for n, i in enumerate(outer):
            first, end = frame.reach(n)
            forms = [(first, affine(i) - first), (frame.shape[n] - end, (end - 1) - affine(i))]
            for test in (self.test(self.position(form)) for beyond, form in forms if beyond):
                found = test if found is None else Call("and", (found, test), "bool")
        return found

    def _frame_line(
        self, to: Local, axes: Sequence[Axis], line: Index, part: tuple[int, int], s: Scalar | None
    ) -> None:
        """Points of a line of a frame: of the source, or zeros."""
        if part[0] < part[1]:
            with self.loop(line, number(part[0]), number(part[1])):
                place = sum(
                    (self.position(affine(a.index)) * k for a, k in zip(axes, to.strides, strict=True)), affine(0)
                )
                self._pack_in(to, place, Const(0.0, "real") if s is None else s)


def frame_of(s: Scalar) -> Frame | None:
    """The frame of an operand that is 0 but where what it reads is in bounds; None where that is no gain."""
    tests: set[Affine] = set()
    read = s
    while isinstance(read, Apply) and read.op == "select" and isinstance(read.args[0], Test):
        if read.args[2] != Const(0.0, "real"):
            return None
        tests.add(read.args[0].condition.form)
        read = read.args[1]
    if not tests or not isinstance(read, Read):
        return None
    known: set[Affine] = set()
    low: list[int] = []
    high: list[int] = []
    for c, size in zip(read.coordinates, read.source.shape, strict=True):
        ends = _ends(c) if isinstance(c, Affine) else None
        if ends is None or size.value is None or not isinstance(c, Affine):
            return None
        beyond = (c, ends[0] < 0), (size - 1 - c, ends[1] >= size.value)
        if any(needed and form not in tests for form, needed in beyond):
            return None
        known |= {form for form, _ in beyond}
        low.append(ends[0])
        high.append(ends[1])
    frame = Frame(read, tuple(low), tuple(high))
    times = prod(i.size.value or 0 for i in free(s))
    held = prod(frame.shape)
    gain = held <= MOST_ELEMENTS and times >= LEAST_TIMES * held
    meets = all(a < b for a, b in map(frame.reach, range(len(low))))
    return frame if tests <= known and gain and meets else None


def _ends(c: Affine) -> tuple[int, int] | None:
    """The least and the greatest value of a form over its indices, where they are known."""
    low = high = c
    for i in c.indices():
        factor, size = c.coefficient(i).value, i.size.value
        if factor is None or not size:
            return None
        low = low.substitute({i: 0 if factor > 0 else size - 1})
        high = high.substitute({i: size - 1 if factor > 0 else 0})
    return None if low.value is None or high.value is None else (low.value, high.value)
