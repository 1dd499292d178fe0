"""Products whose right operands are read in an order of their own: that in which register tiles use them.

    C[i, j] = sum[k](A[i, k] * W[k, j])    ->    panels[p, k, l] = W[k, 32*p + l]          once, for a bound W
                                                 C[i, p, l] = sum[k](A[i, k] * panels[p, k, l])

The last axis of the outputs is split at the width of a register tile, which leaves their memory as it is. Reads of
bound inputs that vary with it and with the folded indices come from panels: permutations of their elements, in their
own type. What else a product would compute again for every panel is stored by kernels before it:

    left operands that are no plain reads      rows[i, k]
    folds that vary with the row alone         value[i]

Nothing here knows what a product is but by its reads (pack_plan).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import prod

from tang_egg.affine import Affine, Index, affine, product
from tang_egg.codegen.align import aligned
from tang_egg.codegen.candidates_pack import TILE_VECTORS
from tang_egg.codegen.lower_fold import group_of
from tang_egg.codegen.pack_plan import Packing, Product, outer_folds, pack_plan, replaced
from tang_egg.codegen.vectors import Vectors
from tang_egg.ir import Const, Input, Read, Scalar, Tensor, free, sources, type_of, walk
from tang_egg.ops import BYTES
from tang_egg.program import KernelPlan
from tang_egg.rewrite import substitute
from tang_egg.schedule import Schedule

LEAST_ELEMENTS = 1 << 12
"""Elements of an operand from which on panels are worth a kernel of their own."""
MOST_LEFT = 1 << 21
"""Most elements of left operands, which every panel reads anew: more of them go by blocks that a cache holds."""
AHEAD_MOST = 1 << 19
"""Most bytes of a panel that is fetched while the one before it is read: the second cache holds both."""
TILE_ROWS = (6, 12)
"""Rows of a register tile of two vectors of columns, for 16 registers and for 32."""


@dataclass(frozen=True, slots=True)
class Panels:
    """Panels as an input of their own: the element at `axes` is that of `read`."""

    array: Input
    axes: tuple[Index, ...]
    read: Read

    def bytes(self, packing: Packing) -> int:
        """Bytes of one panel."""
        points = (i for i in self.axes if i in packing.folded or i is self.axes[-1])
        return prod(i.size.value or 0 for i in points) * BYTES[self.array.dtype]

    def view(self, strides: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """Where the first element lies in an array with such strides, and the strides of the axes."""
        forms = [c for c in self.read.coordinates if isinstance(c, Affine)]
        start = sum(c.constant * s for c, s in zip(forms, strides, strict=True))
        steps = (sum((c.coefficient(i).value or 0) * s for c, s in zip(forms, strides, strict=True)) for i in self.axes)
        return start, tuple(steps)


@dataclass(frozen=True, slots=True)
class Kept:
    """A kernel that reads panels: kernels before it, its outputs over split axes, its schedule, and its panels.

    Outputs read panels by names that count those of the kernel, so that kernels of one form are the same.
    """

    before: tuple[KernelPlan, ...]
    outputs: tuple[Tensor, ...]
    schedule: Schedule
    panels: Mapping[Input, Panels]


@dataclass(frozen=True, slots=True)
class Cut:
    """The last axis of the outputs as the number of a panel, where there are several, and the column in it."""

    last: Index
    panel: Index | None
    lane: Index

    @property
    def number(self) -> tuple[Index, ...]:
        return () if self.panel is None else (self.panel,)

    def over(self, outputs: Iterable[Tensor]) -> tuple[Tensor, ...]:
        """Outputs over the axes that the last one is cut into."""
        if self.panel is None:
            return tuple(outputs)
        form, axes = affine(self.panel) * self.lane.size + self.lane, (self.panel, self.lane)
        return tuple(
            replace(t, axes=(*t.axes[:-1], *axes), body=substitute(t.body, {self.last: form})) for t in outputs
        )


@dataclass(slots=True)
class Keeping:
    """The products of a program, kernel by kernel in order; `stored`: what kernels before the products hold."""

    bound: Collection[str]
    vectors: Vectors
    threads: int
    stored: dict[Scalar, Scalar] = field(default_factory=dict)
    panels: dict[object, Panels] = field(default_factory=dict)

    def kernel(self, plan: KernelPlan) -> Kept | None:
        """The kernel that reads panels; None where a kernel is no such product, or none of what it reads is bound."""
        outputs = aligned(plan.outputs)
        packing = pack_plan(outputs)
        if packing is None or packing.batch or not all(_plain(p, packing) for p in packing.products):
            return None
        rows = product(i.size for i in packing.rows).value
        if rows in (0, 1):
            return None  # a row by itself reads operands in any order as fast as memory gives them
        if rows is not None and rows * (product(i.size for i in packing.folded).value or 0) > MOST_LEFT:
            return None
        cut = self._cut(packing, outputs)
        if cut is None or not any(self._reads(t.body, packing, cut.lane) for t in cut.over(outputs)):
            return None
        before = self._before(plan, packing, outputs)
        found: dict[Scalar, Scalar] = {}
        mine: dict[Input, Panels] = {}
        over = cut.over(replace(t, body=replaced(t.body, self.stored)) for t in outputs)
        for r in (r for t in over for r in self._reads(t.body, packing, cut.lane)):
            panels, axes = self._panels(r, packing, cut)
            own = next((i for i, p in mine.items() if p is panels), None)
            if own is None:
                own = replace(panels.array, name=f"panels~{len(mine)}")
                mine[own] = panels
            found[r] = Read(own, tuple(map(affine, axes)))
        new = tuple(replace(t, body=replaced(t.body, found)) for t in over)
        return Kept(before, new, self._schedule(packing, cut, mine), mine)

    # -- columns

    def _cut(self, packing: Packing, outputs: tuple[Tensor, ...]) -> Cut | None:
        """How the last axis is cut; None where its size, or one of what panels hold, is not known or no multiple."""
        size = 8 if any(s.dtype == "f64" for t in outputs for s in (t, *sources(t.body))) else 4
        last, lanes = packing.columns[-1], self.vectors.lanes(size)
        if any(not i.size.value for i in (*packing.columns, *packing.folded)):
            return None
        total = last.size.value or 0
        width = next((n for n in (TILE_VECTORS * lanes, lanes) if total % n == 0), 0)
        if not width:
            return None
        if total == width:
            return Cut(last, None, last)
        return Cut(last, Index(f"{last.name}~panel", affine(total // width)), Index(f"{last.name}~lane", affine(width)))

    def _reads(self, body: Scalar, packing: Packing, lane: Index) -> list[Read]:
        """The reads of bound inputs that vary with the column and with the folded indices, and with no row."""
        found: dict[Read, None] = {}
        for r in (s for s in walk(body) if isinstance(s, Read)):
            indices, n = free(r), prod(i.size.value or 0 for i in free(r))
            mine = isinstance(r.source, Input) and r.source.name in self.bound and lane in indices
            if not mine or not indices & set(packing.folded) or not all(isinstance(c, Affine) for c in r.coordinates):
                continue
            held = product(r.source.shape).value
            if held is not None and LEAST_ELEMENTS <= n <= held and all(i.size.value for i in indices):
                found[r] = None
        return list(found)

    def _panels(self, r: Read, packing: Packing, cut: Cut) -> tuple[Panels, tuple[Index, ...]]:
        """The panels for a read, and their axes there."""
        order = (*packing.columns[:-1], *cut.number, *packing.folded, cut.lane)
        axes = tuple(i for i in order if i in free(r))
        forms = tuple(c for c in r.coordinates if isinstance(c, Affine))
        steps = tuple((i.size, *(c.coefficient(i).value for c in forms)) for i in axes)
        key = (r.source, steps, tuple(c.constant for c in forms))
        if key not in self.panels:
            array = Input(f"{r.source.name}~panels{len(self.panels)}", tuple(i.size for i in axes), r.source.dtype)
            self.panels[key] = Panels(array, axes, r)
        return self.panels[key], axes

    # -- rows

    def _before(self, plan: KernelPlan, packing: Packing, outputs: tuple[Tensor, ...]) -> tuple[KernelPlan, ...]:
        """Kernels that store what varies with rows and folded indices, and the values of rows; `stored` learns them."""
        axes = (*packing.rows, *packing.folded)
        found: list[KernelPlan] = []
        for s in packing.packs("rows"):
            if not isinstance(s, Read) and s not in self.stored:
                found.append(self._store(f"{plan.name}_rows{len(self.stored)}", axes, s))
        nothing: dict[Scalar, Scalar] = {p.fold: Const(0.0, "real") for p in packing.products}
        rest = outer_folds(replaced(replaced(t.body, nothing), self.stored) for t in outputs)
        for f in rest:
            if free(f) and free(f) <= set(packing.rows):
                found.append(self._store(f"{plan.name}_value{len(self.stored)}", packing.rows, f))
        return tuple(found)

    def _store(self, name: str, axes: tuple[Index, ...], s: Scalar) -> KernelPlan:
        own = tuple(i for i in axes if i in free(s))
        kind = type_of(s)
        if kind == "real":
            kind = "f64" if any(x.source.dtype == "f64" for x in walk(s) if isinstance(x, Read)) else "f32"
        t = Tensor(name, own, s, kind)
        self.stored[s] = Read(t, tuple(map(affine, own)))
        return KernelPlan(name, (t,))

    def _schedule(self, packing: Packing, cut: Cut, panels: Mapping[Input, Panels]) -> Schedule:
        """Panels on threads, the largest of the columns' axes first; tiles of the longest axis of rows in each."""
        columns = sorted((*packing.columns[:-1], *cut.number), key=lambda i: -(i.size.value or 0))
        row = max(packing.rows, key=lambda i: i.size.value or 1 << 30)
        rows = [*(i for i in packing.rows if i is not row), row]
        parallel = (columns[0].name,) if columns and self.threads > 1 else ()
        together = Counter(group_of(p.fold) for p in packing.products)  # folds of one group run side by side
        high = max(1, TILE_ROWS[self.vectors.registers >= 32] // max(together.values()))
        tile = ((row.name, high), (cut.lane.name, cut.lane.size.value or 1))
        order = tuple(i.name for i in (*columns, *rows))
        fetch = tuple(i.name for i, p in panels.items() if p.bytes(packing) <= AHEAD_MOST)
        return Schedule("tile", order=order, parallel=parallel, tile=tile, taper=(row.name,), fetch=fetch)


def _plain(p: Product, packing: Packing) -> bool:
    """Whether a product is over all points of the folded indices."""
    return p.fold.where.everywhere and p.fold.indices == packing.folded
