"""What a kernel's comprehension is to matrix units: a fold over one index whose state has matrix parts.

    out[i, c] = f(fold over k of lifts)      lifts: P(i, k) · B(k, c)    a matrix part, accumulated by products
                                                    h(i, k)              a row part, folded along the columns of a tile
    P, h over reads and contractions S(i, k) = Σ_d A(i, d) · B(k, d)     products of their own for each tile of k

Operands of 32 bits are read from shared memory only where they lie along k; a left factor may come through registers
instead, in any order. So a plain product of f32 whose B lies across is seen the other way round, out' = B' · A': its
rows are the columns of the output, which leaves across its tiles.

Operands of 8 bits are multiplied as they stand and along k only; where one lies across, it can be turned before
(turn_operands). Sums of products of integers are exact in i32; as reals, where 32 bits are sure to hold them.

A plain product, a product with scaled operands, two products that share one operand, and a cascade whose lifts hold a
product are all of this shape. Nothing here asks what the computation is called.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from tang_egg.affine import Affine, Index
from tang_egg.bounds import interval, prove_nonnegative
from tang_egg.codegen.device import BYTES, LINE, WHOLE, accumulated
from tang_egg.codegen.lower_fold import group_of, part_of
from tang_egg.codegen.mma_carried import Beside, Carried, carried, taken_up
from tang_egg.codegen.mma_operand import (
    Contraction,
    MatrixPart,
    Operand,
    Refused,
    better_turned,
    contraction,
    factors,
    in_registers,
    matrix_part,
    reads_of,
    staged_operands,
    times,
    turned,
)
from tang_egg.ir import (
    Apply,
    Read,
    Reduce,
    Scalar,
    Scan,
    StateRef,
    Statistic,
    Tensor,
    Test,
    free,
    walk,
)
from tang_egg.monoid import Follow
from tang_egg.ops_eight import EIGHT


@dataclass(frozen=True, slots=True)
class Plan:
    """A kernel seen as a stream of products. `staged`: reads of (row, stream) that are copied tile by tile.

    `bodies`: what each output is made of, without the product `carried` that the accumulator begins with.
    """

    outputs: tuple[Tensor, ...]
    group: Reduce
    row: Index
    column: Index | None
    stream: Index
    batch: tuple[Index, ...]
    contractions: tuple[Contraction, ...]
    matrices: tuple[MatrixPart, ...]
    rows: tuple[int, ...]
    staged: tuple[Operand, ...]
    dtype: str
    bodies: tuple[Scalar, ...]
    carried: Carried | None = None

    @property
    def width(self) -> int:
        """Operand elements in a line of shared memory."""
        return LINE // BYTES[self.dtype]

    @property
    def accumulates(self) -> str:
        """The type of accumulators."""
        return accumulated(self.dtype)

    @property
    def direct(self) -> bool:
        """Whether all matrix parts multiply operands as they stand in memory."""
        return all(m.plain is not None for m in self.matrices) and not self.rows and not self.contractions

    @property
    def copied(self) -> bool:
        """Whether left factors are what is read, and nothing else is made of it."""
        return not self.rows and not self.contractions and all(isinstance(m.left, Read) for m in self.matrices)

    @property
    def turned(self) -> bool:
        """Whether outputs are contiguous along the rows of tiles."""
        return self.column is not None and any(self.column in t.axes and t.axes[-1] is self.row for t in self.outputs)

    def part_of(self, part: int) -> Scalar:
        """Component `part` of the fold."""
        return part_of(self.group, part)


def plan(outputs: tuple[Tensor, ...]) -> Plan:
    """The plan of a kernel. Raises Refused, with the reason, where its comprehension has another shape.

    Columns run along the last axis of the outputs; of f32, along another one if nothing can be accumulated by products
    else, and values that change along it would be folded for each of its points.
    """
    rest, beside = taken_up(outputs)
    if beside is not None:
        return replace(_plan(rest, None, beside), outputs=outputs)
    found: Plan | Refused
    try:
        found = _plan(outputs, None)
    except Refused as refused:
        found = refused
    if isinstance(found, Refused) or not found.matrices:
        for column in _others(outputs):
            with suppress(Refused):
                other = _plan(outputs, column)
                if other.matrices:
                    return other
    if isinstance(found, Refused):
        raise found
    return found


def _others(outputs: tuple[Tensor, ...]) -> tuple[Index, ...]:
    """The axes along which columns could run where an output of f32 leaves across its tiles."""
    reads = [s for t in outputs for s in walk(t.body) if isinstance(s, Read)]
    if len(outputs) != 1 or outputs[0].dtype != "f32" or not any(s.source.dtype == "f32" for s in reads):
        return ()
    inner = {i for s in walk(outputs[0].body) if isinstance(s, Reduce) for i in free(s)}
    return tuple(i for i in outputs[0].axes[:-1] if i in inner)


def _plan(outputs: tuple[Tensor, ...], across: Index | None, beside: Beside | None = None) -> Plan:
    """The plan with columns along `across`, or else along the last axis."""
    group = _group(outputs)
    (stream,) = group.indices
    needed = sorted(set().union(*(_needed(group, t) for t in outputs)))
    lifts = {n: group.body[n] for n in needed}
    if any(group.monoid.components[n].axes for n in needed):
        raise Refused("a component of the state has axes of its own")
    contractions = tuple(dict.fromkeys(s for x in lifts.values() for s in walk(x) if isinstance(s, Reduce)))
    column = across if across is not None else _column(outputs, lifts, contractions)
    matrices: list[MatrixPart] = []
    row = _row(outputs, lifts, contractions, stream, column)
    for n, lift in lifts.items():
        if column is not None and column in free(lift):
            matrices.append(matrix_part(n, lift, row, column, stream))
    rows = tuple(n for n in lifts if n not in {m.part for m in matrices})
    if not rows and not contractions and matrices and column is not None:
        if across is None and better_turned(outputs, matrices, column):
            row, column, matrices = column, row, [turned(m) for m in matrices]
        matrices = [in_registers(m) for m in matrices]
    found = tuple(contraction(c, row, stream) for c in contractions)
    if not matrices and not found:
        raise Refused("nothing in it is a product of matrices")
    for n in needed:
        _check_component(group, n, n in rows)
    _check_statistics(group, needed)
    first = carried(beside, row, column, found, matrices) if beside is not None else None
    staged = () if found else staged_operands([*(m.left for m in matrices), *(lifts[n] for n in rows)], row, stream)
    operands = [o for c in found for o in (c.left, c.right)] + [m.right for m in matrices] + list(staged)
    operands += [first.right] if first is not None else []
    dtypes = {o.dtype for o in operands}
    single = len(dtypes) == 1 and dtypes <= {"bf16", "f16", "f32"}
    if not single and not dtypes <= set(WHOLE) and not dtypes <= set(EIGHT):
        raise Refused(f"operands of types {', '.join(sorted(dtypes))}")
    plain = not rows and not found and first is None and all(m.plain is not None for m in matrices)
    if dtypes <= {*WHOLE, *EIGHT} and not plain and not (found and not matrices and dtypes <= set(EIGHT)):
        raise Refused("operands of 8 bits that are not multiplied as they stand")
    bodies = tuple(t.body for t in outputs)
    tests = [*group.where.affine, *(s.condition for s in walk(*bodies, *group.body) if isinstance(s, Test))]
    if not all(_short(c.form) for c in tests):
        raise Refused("conditions that may need more than 32 bits")
    if column is not None and column in _limiting(group):
        raise Refused("a domain that changes along the columns")
    if not prove_nonnegative(stream.size - 1) or any(not prove_nonnegative(c.index.size - 1) for c in found):
        raise Refused("a fold that may have no points")
    axes = dict.fromkeys(i for t in outputs for i in t.axes)
    if any(i.size.value == 0 for i in axes):
        raise Refused("outputs without elements")
    batch = tuple(i for i in axes if i not in (row, column))
    free_all = frozenset().union(*(free(t.body) for t in outputs), *(free(x) for x in lifts.values()))
    if free_all - frozenset(axes) - {stream}:
        raise Refused("an index that no output has")
    _check_outputs(outputs, row, column, batch)
    return Plan(
        outputs, group, row, column, stream, batch, found, tuple(matrices), rows, staged, min(dtypes), bodies, first
    )


def _check_outputs(outputs: tuple[Tensor, ...], row: Index, column: Index | None, batch: tuple[Index, ...]) -> None:
    for t in outputs:
        # what lies across its tiles leaves so, of f32
        if row not in t.axes or (column in t.axes and t.axes[-1] not in (column, row)):
            raise Refused(f"'{t.name}' lies across the tiles")
        if any(i not in t.axes for i in batch):
            raise Refused(f"'{t.name}' has other tiles than the rest")
        if t.into:
            raise Refused(f"'{t.name}' is written into an input")
    if sum(column in t.axes for t in outputs) > 1:
        raise Refused("several outputs along the columns")


def _group(outputs: tuple[Tensor, ...]) -> Reduce:
    nodes = list(walk(*(t.body for t in outputs)))
    if any(isinstance(s, Scan) for s in nodes):
        raise Refused("a scan")
    tops: dict[Reduce, None] = {}
    for t in outputs:
        stack, seen = [t.body], set[Scalar]()
        while stack:
            s = stack.pop()
            if s in seen:
                continue
            seen.add(s)
            if isinstance(s, Reduce):
                tops[group_of(s)] = None
            elif isinstance(s, Apply):
                stack.extend(s.args)
            elif isinstance(s, Read):
                stack.extend(c for c in s.coordinates if isinstance(c, Scalar))
    if len(tops) != 1:
        raise Refused(f"{len(tops)} folds side by side")
    group = next(iter(tops))
    if len(group.indices) != 1:
        raise Refused("a fold over several indices")
    return group


def _limiting(group: Reduce) -> frozenset[Index]:
    """The indices that the domain of a fold mentions."""
    return frozenset().union(*(c.indices() for c in group.where.affine), *map(free, group.where.data))


def _needed(group: Reduce, t: Tensor) -> set[int]:
    found: set[int] = set()
    for s in walk(t.body):
        if isinstance(s, Reduce) and group_of(s) is group:
            found |= group.monoid.needs(s.part)
    return found


def _column(outputs: tuple[Tensor, ...], lifts: dict[int, Scalar], contractions: tuple[Reduce, ...]) -> Index | None:
    """The axis along which matrix parts have their columns: the last one of the outputs that some lift mentions."""
    for t in outputs:
        if t.axes and any(t.axes[-1] in free(x) for x in lifts.values()):
            last = t.axes[-1]
            if not any(last in free(c) for c in contractions):
                return last
    return None


def _row(
    outputs: tuple[Tensor, ...],
    lifts: dict[int, Scalar],
    contractions: tuple[Reduce, ...],
    stream: Index,
    column: Index | None,
) -> Index:
    """The axis along which tiles have their rows: the longest that the left operands have and the right ones lack."""
    right: set[Index] = set()
    for c in contractions:
        right |= {i for r in reads_of(c.body[0]) if stream in free(r) for i in free(r)}
    if not contractions:
        right |= {i for x in lifts.values() for r in reads_of(x) if column in free(r) for i in free(r)}
    mentioned = frozenset().union(*(free(x) for x in lifts.values()))
    axes = dict.fromkeys(i for t in outputs for i in t.axes if i in mentioned and i not in right and i is not column)
    if not axes:
        raise Refused("no axis for the rows of a tile")
    return max(axes, key=lambda i: i.size.value if i.size.value is not None else 1 << 40)


def _check_component(group: Reduce, n: int, is_row: bool) -> None:
    component = group.monoid.components[n]
    if component.follow is not None:
        if rebase_factor(component.follow) is None:
            raise Refused("a follower that does not move by a factor")
        if not component.follow.base.scalar:
            raise Refused("a follower under a monoid of several components")
    else:
        own = [s for s in walk(group.monoid.combine[n]) if isinstance(s, StateRef)]
        if any(s.component != component.name for s in own):
            raise Refused("components that need each other's values")
        if not group.monoid.commutative:
            raise Refused("a monoid that does not commute")
    base = group.monoid.combine[n] if component.follow is None else component.follow.base.combine[0]
    if not is_row and not (isinstance(base, Apply) and base.op == "add"):
        raise Refused("products under another monoid than a sum")


def _check_statistics(group: Reduce, needed: list[int]) -> None:
    """One statistic moves all followers, and each lift is given relative to it."""
    followers = {n: f for n in needed if (f := group.monoid.components[n].follow) is not None}
    if len({(f.statistics, f.empty) for f in followers.values()}) > 1:
        raise Refused("followers of different statistics")
    if any(len(f.statistics) > 1 for f in followers.values()):
        raise Refused("followers of several statistics")
    if not all(any(isinstance(x, Statistic) for x in walk(group.body[n])) for n in followers):
        raise Refused("a follower whose lift belongs to the statistic of its own point")


def _short(form: Affine) -> bool:
    """Whether a form stays in 32 bits: by its bounds, or, over sizes without any, by its coefficients."""
    low, high = interval(form)
    if low is not None and high is not None:
        return low > -(1 << 31) and high < 1 << 31
    return all(len(monomial) < 2 and abs(c) < 1 << 10 for monomial, c in form.terms if monomial)


def rebase_factor(follow: Follow) -> Scalar | None:
    """F(from, to), where a follower moves as self · F; None where it moves in another way."""
    parts = factors(follow.rebase)
    own = [p for p in parts if isinstance(p, StateRef)]
    rest = [p for p in parts if not isinstance(p, StateRef)]
    if len(own) != 1 or not rest or any(isinstance(x, StateRef) for p in rest for x in walk(p)):
        return None
    if not any(isinstance(x, Statistic) for p in rest for x in walk(p)):
        return None
    return times(rest)
