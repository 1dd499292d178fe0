"""Scans by chunks: the state at the start of each chunk is found first, then all chunks are read out side by side.

    within   for each chunk:    state := identity; for t in it: state := combine(state, lift); total[chunk] := state
    across   carry := identity; for each chunk in order: start[chunk] := carry; carry := combine(carry, total[chunk])
    readout  for each chunk:    state := start[chunk]; for t in it: state := combine(state, lift); outputs at t

Right for every associative monoid: earlier points stay on the left. Chunks of the first and last phase may run on
threads. A scan inside the lift of another goes first, and starts from its own `start` while the other is summed up.
Scans inside folds over their own index run in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tang_egg.affine import Affine, Index, affine
from tang_egg.codegen.kernel import Call, Expr, Form, Store, number
from tang_egg.codegen.lower_fold import part_of
from tang_egg.codegen.lower_scan import Scans
from tang_egg.codegen.lower_scope import Axis, Local
from tang_egg.codegen.lower_state import Slot
from tang_egg.ir import Read, Scalar, Scan, Tensor, free, walk


@dataclass(frozen=True, slots=True)
class Chunked:
    """How one index is cut: the index over chunks, their number, their length."""

    index: Index
    over: Index
    count: Expr
    length: int
    kind: str


class Chunks(Scans):
    """See the module text. Subclasses give `tiles`, the loops over an output index."""

    outputs: tuple[Tensor, ...]
    scanned: set[Index]
    chunked: Chunked | None = None

    def tiles(self, i: Index, kind: str, inner: Callable[[], None]) -> None:
        raise NotImplementedError

    def cut(self, order: Sequence[Index]) -> Chunked | None:
        """The first scanned output index that is to run by chunks."""
        nodes = [s for t in self.outputs for s in walk(t.body) if isinstance(s, Scan)]
        for t in order:
            length = self.schedule.chunk or max((s.chunk for s in nodes if s.index is t), default=0)
            if length > 0 and any(s.index is t for s in nodes):
                over = Index(f"{t.name}~chunk", _count(t.size, length))
                whole = Call("idiv", (Form(t.size + (length - 1)), number(length)), "i64")
                count = Form(over.size) if t.size.value is not None else self.name_bound(f"{t.name}_chunks", whole)
                kind = "parallel" if t.name in self.schedule.parallel else "serial"
                return Chunked(t, over, count, length, kind)
        return None

    def find_starts(self, c: Chunked, order: Sequence[Index]) -> None:
        """The first two phases, for every scan over the index."""
        self.chunked = c
        groups = (part_of(s, 0) for t in self.outputs for s in walk(t.body) if isinstance(s, Scan))
        for s in dict.fromkeys(groups):
            assert isinstance(s, Scan)
            if s.index is c.index:
                self._find_starts(c, s, [i for i in order if i is not c.index and i not in self.scanned])

    @contextmanager
    def chunks(self, c: Chunked) -> Iterator[None]:
        """The loop over the chunks."""
        self.in_parallel |= c.kind == "parallel"
        work = self.work() if c.kind == "parallel" else None
        with self.loop(c.over, number(0), c.count, 1, c.kind, 1, work):
            yield
        self.in_parallel &= c.kind != "parallel"

    @contextmanager
    def chunk(self, c: Chunked) -> Iterator[Axis]:
        """The loop over the points of the chunk in force."""
        start = self.axis(c.over).start * c.length
        stop: Expr = Form(start + c.length)
        if c.index.size.value is None or c.index.size.value % c.length:
            stop = self.name_bound(f"{c.index.name}_end", Call("min", (Form(c.index.size), stop), "i64"))
        with self.loop(c.index, Form(start), stop) as axis:
            held, self.piece = self.piece, axis
            yield axis
            self.piece = held

    def work(self) -> Affine:
        """Roughly how many operations the kernel runs."""
        raise NotImplementedError

    # -- within and across

    def _find_starts(self, c: Chunked, s: Scan, order: list[Index]) -> None:
        parts = sorted(self.parts.get(s, set()) | s.monoid.needs(s.part))
        own = {a for k in parts for a in s.monoid.components[k].axes}
        wanted = {i for k in parts for i in free(part_of(s, k))} - {s.index} - own
        shared = [i for i in order if i in wanted] + sorted(wanted - set(order), key=lambda i: i.name)
        loops = [i for i in order if i in wanted and self.bound(i) is None]
        totals = {k: self._held(c, s, k, "total", shared) for k in parts}
        starts = {k: self._held(c, s, k, "start", shared) for k in parts}

        def within() -> None:
            with self.inside():
                with self.chunk(c):
                    self.scan(s)
                state, inner = self.carried[s]
                with self.inside(*inner):
                    for k in parts:
                        self._keep(totals[k], state[k])

        def across() -> None:
            inner = self.inner_axes(s, parts)
            with self.inside(*inner):
                carry = self.declare_state(s, parts)
                with self.loop(c.over, number(0), c.count):
                    found: dict[int, Scalar | Slot] = {}
                    for k in parts:
                        held = self.slot("chunk", carry[k].local.buffer.type, carry[k].axes, False)
                        self.fill(held.local, held.axes, totals[k].read)
                        found[k] = held
                        self._keep(starts[k], carry[k])
                    self.take_up(s, carry, found)

        with self.chunks(c):
            self._over(loops, within)
        self._over(loops, across)
        self.starts[s] = starts

    def _over(self, loops: list[Index], inner: Callable[[], None]) -> None:
        if not loops:
            inner()
            return
        self.tiles(loops[0], "serial", lambda: self._over(loops[1:], inner))

    def _held(self, c: Chunked, s: Scan, k: int, stem: str, shared: list[Index]) -> Slot:
        """An array over chunks and all other indices of a component."""
        component = s.monoid.components[k]
        for i in component.axes:
            self.whole(i, s)  # refuses an axis of symbolic size
        indices = [c.over, *shared, *(a for a in component.axes if a not in shared)]
        kind = self.real if component.type == "real" else component.type
        axes = [Axis(i, affine(0)) for i in indices]
        local = self.array(f"{component.name}_{stem}", kind, axes, tuple(i.size for i in indices))
        return Slot(local, (), Read(self.as_input(local), tuple(affine(i) for i in indices)))

    def _keep(self, held: Slot, state: Slot) -> None:
        """Stores a state under the chunk in force."""
        local: Local = held.local
        indices = [i for x in held.read.coordinates if isinstance(x, Affine) for i in x.indices()]
        with self.inside(), self.points(self.contiguous_last(self.blocks(indices), [state.read])):
            address = self.local_address(local, held.read)
            self.scope.out.append(Store(local.buffer, Form(address), self.evaluate(state.read)))


def _count(size: Affine, length: int) -> Affine:
    """The number of chunks, or for a symbolic size a bound on it."""
    return size if size.value is None else affine(-(-size.value // length))
