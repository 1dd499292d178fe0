"""What the laws of gathers need to know of a window: positions, sizes, reads at an index, keys that do not decrease."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from tang_egg import ops
from tang_egg.affine import Affine, Index, affine
from tang_egg.bounds import prove_nonnegative
from tang_egg.egraph import Encoding
from tang_egg.ir import Apply, Const, Input, Position, Read, Scalar, Test, as_position, free, type_of

WIDENING = ("i8", "i16", "i32", "u8", "u16", "u32")
"""Integer types whose values all are values of i64."""


def gather_facts(encoding: Encoding, folded: Iterable[Index]) -> None:
    """Adds facts about the indices of folds that some comparison could fix or limit; nothing where there is none."""
    # where there may be no point at all, kernels must not read at any: what stands under a guard is read as well
    folded = tuple(folded)
    bound = {i for i in folded if prove_nonnegative(i.size - 1)}
    equal = [s for s in encoding.terms if isinstance(s, Apply) and s.op == "eq" and type_of(s.args[0]) in ops.INTEGERS]
    fixed = {i: None for s in equal for a in s.args if isinstance(a, Position) for i in _solvable(a.form) & bound}
    pairs = list(_opposites(encoding, bound))
    fixed |= {i: None for _, _, i, _ in pairs}
    ranges = [s for s in encoding.terms if isinstance(s, Read) and _ascends(s, set(folded))] if equal else []
    placed = fixed | {s.coordinates[0].single(): None for s in ranges if isinstance(s.coordinates[0], Affine)}
    for j in sorted((i for i in placed if i is not None), key=lambda i: i.name):
        encoding.lines.append(f'(position {encoding.scalar(Position(affine(j)))} "{encoding.index(j)}")')
    for j in sorted(fixed, key=lambda i: i.name):
        encoding.lines.append(f'(points "{j.name}" {encoding.scalar(_integer(j.size))})')
    for a in dict.fromkeys(a for s in equal for a in s.args if isinstance(a, Position)):
        for j in sorted(_solvable(a.form) & bound, key=lambda i: i.name):
            if a.form.single() is not j:
                rest = encoding.scalar(_integer(j - a.form))
                encoding.lines.append(f'(shifted {encoding.terms[a]} "{j.name}" {rest})')
    for first, second, j, value in pairs:
        terms = f'{encoding.terms[first]} {encoding.terms[second]} "{j.name}" {encoding.scalar(_integer(value))}'
        encoding.lines.append(f"(opposite {terms})")
    values = [s for s in encoding.terms if isinstance(s, (Position, Const)) and type_of(s) == "i64"]
    for j in sorted(fixed, key=lambda i: i.name):
        for s in values:
            form = s.form if isinstance(s, Position) else affine(int(s.value))
            if j not in form.indices() and inside(form, j):
                encoding.lines.append(f'(within "{j.name}" {encoding.terms[s]})')
    _reads(encoding, set(fixed))
    _sorted(encoding, ranges, equal)


def _integer(form: Affine) -> Scalar:
    return as_position(form)


def inside(form: Affine, j: Index) -> bool:
    """Whether a form is a position along an index, whatever the indices in it are."""
    return prove_nonnegative(form) and prove_nonnegative(j.size - 1 - form)


def _solvable(form: Affine) -> set[Index]:
    """The indices that a form mentions with the factor 1."""
    return {i for i in form.indices() if form.coefficient(i).value == 1}


def _opposites(encoding: Encoding, bound: set[Index]) -> Iterable[tuple[Test, Test, Index, Affine]]:
    """Pairs of conditions that hold together just where an index has one value, with that value."""
    tests = {s.condition.form: s for s in encoding.terms if isinstance(s, Test)}
    for form, test in tests.items():
        other = tests.get(-form)
        if other is None:
            continue
        for j in sorted(form.indices() & bound, key=lambda i: i.name):
            factor = form.coefficient(j).value
            if factor in (1, -1):
                yield test, other, j, (j - form if factor == 1 else j + form)


def _reads(encoding: Encoding, fixed: set[Index]) -> None:
    """Which gather a read becomes when a value takes the place of an index that is one of its coordinates."""
    for key, s in list(encoding.leaves.items()):
        if not isinstance(s, Read):
            continue
        for j in sorted(free(s) & fixed, key=lambda i: i.name):
            mentions = [isinstance(c, Affine) and j in c.indices() for c in s.coordinates]
            at = mentions.index(True)
            coordinate = s.coordinates[at]
            if sum(mentions) == 1 and isinstance(coordinate, Affine) and coordinate.single() is j:
                value = Position(affine(j))
                made = Read(s.source, tuple(value if n == at else c for n, c in enumerate(s.coordinates)))
                encoding.lines.append(f'(reads "{key}" "{j.name}" "{encoding.gather(made)}")')
    for key, s in list(encoding.gathers.items()):
        affine_part = {i for c in s.coordinates if isinstance(c, Affine) for i in c.indices()}
        for j in sorted(fixed - affine_part, key=lambda i: i.name):
            encoding.lines.append(f'(only_gathered "{key}" "{j.name}")')


def _ascends(s: Read, bound: set[Index]) -> bool:
    """Whether a read is of sorted keys, at a folded index."""
    if not isinstance(s.source, Input) or not s.source.sorted:
        return False
    (at,) = s.coordinates
    return isinstance(at, Affine) and at.single() in bound


def _unused(encoding: Encoding) -> str:
    """A name that no index of the window has."""
    return next(n for k in itertools.count(len(encoding.indices)) if (n := f"i{k}") not in encoding.indices)


def _sorted(encoding: Encoding, ranges: list[Read], equal: list[Apply]) -> None:
    """Reads of sorted keys, and the names of comparisons of their types."""
    if not ranges:
        return
    others: dict[Index, Index] = {}
    for s in ranges:
        (at,) = s.coordinates
        assert isinstance(at, Affine)
        j = at.single()
        assert j is not None
        i = others.setdefault(j, Index(_unused(encoding), j.size))
        again = encoding.scalar(Read(s.source, (affine(i),)))
        encoding.lines.append(f'(ascending {encoding.terms[s]} "{j.name}" {again} "{encoding.index(i)}")')
    for kind in sorted({type_of(s.args[0]) for s in equal}):
        encoding.lines.append(f'(compares "eq:{kind}" "lt:{kind}" "le:{kind}")')
    for kind in WIDENING:
        encoding.lines.append(f'(widens "cast:i64:{kind}")')
