"""The folds of a kernel as schedules for a GPU see them: how many points each visits, and what it reads."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tang_egg.affine import Affine, Index
from tang_egg.codegen.lower_fold import group_of, part_of
from tang_egg.ir import Apply, Read, Reduce, Scalar, Scan, Tensor, free, walk

UNKNOWN = 256
"""What a symbolic size is taken for."""
LONG = 32
"""Points from which on the lanes of a warp can share a fold."""


@dataclass(frozen=True, slots=True)
class Fold:
    """A fold and its points for each point of the output; `outer` where it stands in no other fold."""

    fold: Reduce
    work: int
    outer: bool

    def needs(self, k: int) -> frozenset[Index]:
        """The free indices of component `k`."""
        return free(part_of(self.fold, k))

    @property
    def parts(self) -> list[frozenset[Index]]:
        return [self.needs(k) for k in range(len(self.fold.body))]

    @property
    def all(self) -> frozenset[Index]:
        return frozenset().union(*self.parts)

    def reads(self) -> list[Read]:
        return [x for b in self.fold.body for x in walk(b) if isinstance(x, Read) and free(x) & set(self.fold.indices)]


def folds_of(outputs: tuple[Tensor, ...]) -> list[Fold]:
    """All folds, one for each group of components, those inside others with the points of these."""
    found: dict[Reduce, Fold] = {}

    def visit(roots: list[Scalar], points: int, outer: bool) -> None:
        stack, seen = list(roots), set[Scalar]()
        while stack:
            s = stack.pop()
            if s in seen:
                continue
            seen.add(s)
            if isinstance(s, Reduce):
                group = group_of(s)
                work = points * prod(size_of(i) for i in s.indices)
                if group not in found or found[group].work < work:
                    found[group] = Fold(group, work, outer or (group in found and found[group].outer))
                    visit([*s.where.data, *s.body], work, False)
                continue
            if isinstance(s, Scan):
                visit(list(s.body), points, outer)
            elif isinstance(s, Apply):
                stack.extend(s.args)
            elif isinstance(s, Read):
                stack.extend(c for c in s.coordinates if isinstance(c, Scalar))

    visit([t.body for t in outputs], 1, True)
    return list(found.values())


def size_of(i: Index) -> int:
    """The points of an index; UNKNOWN where its size is symbolic."""
    return UNKNOWN if i.size.value is None else i.size.value


def contiguous(r: Read, index: Index) -> bool:
    """Whether neighbours along an index lie side by side in what is read."""
    last = r.coordinates[-1] if r.coordinates else None
    return isinstance(last, Affine) and last.coefficient(index).value == 1
