"""Folds that stand beside the main work of a kernel become tensors of their own, computed by a kernel before it.

    loss[n] = fold[v](... Σ_k H[n,k] W[k,v] ...) - Σ_k H[n,k] W[k,label[n]]
    →  part[n] = Σ_k H[n,k] W[k,label[n]];  loss[n] = fold[v](...) - part[n]

On a device one kernel has one shape: a product of matrices fills the matrix units, and a gathered fold beside it would
run on a part of the chip, or once for each tile of the product. A fold that no output axis moves would run once for
each thread. Both are better computed before, if they are long and do not depend on what is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from tang_egg.affine import Affine, Index, affine
from tang_egg.codegen.candidates_fold import size_of
from tang_egg.codegen.lower_fold import group_of
from tang_egg.codegen.lower_scope import never_below_zero
from tang_egg.ir import (
    Apply,
    Graph,
    Read,
    Reduce,
    Scalar,
    Source,
    Tensor,
    children,
    free,
    map_children,
    sources,
    type_of,
    walk,
)
from tang_egg.program import KernelPlan, Program, unique
from tang_egg.windows import replace_sources

SMALL = 64
"""Points of a fold below which it stays where it is."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A fold where it stands: the indices bound around it, and whether it is only reached under a condition."""

    fold: Reduce
    bound: frozenset[Index]
    guarded: bool
    work: int


def partition(program: Program) -> Program:
    """The program with such folds computed by kernels of their own; the same object if there are none."""
    taken = {i.name for i in program.graph.inputs} | {t.name for t in program.tensors}
    taken |= {k.name for k in program.kernels} | {t.name for t in program.graph.outputs}
    made: dict[Tensor, Tensor] = {}
    known: dict[Scalar, Tensor] = {}
    kernels: list[KernelPlan] = []
    changed = False
    for plan in program.kernels:
        current = tuple(reading(t, made) for t in plan.outputs)
        parts = _parts(current, taken, known)
        fresh = [t for s, t in parts.items() if known.get(s) is not t]
        known |= parts
        for axes in dict.fromkeys(t.axes for t in fresh):
            own = tuple(t for t in fresh if t.axes == axes)
            kernels.append(KernelPlan(own[0].name, own, plan.laws))
        new = tuple(replace(t, body=_read_parts(t.body, parts)) for t in current) if parts else current
        made.update({old: t for old, t in zip(plan.outputs, new, strict=True) if old is not t})
        groups = _apart(new)
        changed |= bool(parts) or len(groups) > 1
        for n, own in enumerate(groups):
            name = plan.name if n == 0 else unique(f"{own[0].name}_apart", taken)
            kernels.append(KernelPlan(name, own, plan.laws))
    if not changed:
        return program
    outputs = tuple(reading(t, made) for t in program.graph.outputs)
    return Program(Graph(program.graph.name, program.graph.inputs, outputs), tuple(kernels))


def _apart(outputs: tuple[Tensor, ...]) -> list[tuple[Tensor, ...]]:
    """The outputs by their main folds, where each has a product of matrices of its own; else all together."""
    groups: dict[Reduce | None, list[Tensor]] = {}
    for t in outputs:
        main = _main(t)
        groups.setdefault(group_of(main) if main is not None and _has_product(main) else None, []).append(t)
    return [outputs] if None in groups else [tuple(g) for g in groups.values()]


def _main(t: Tensor) -> Reduce | None:
    """The fold of a tensor with the most work, that of the folds inside it included."""
    outer = [f for f in _folds(t.body, frozenset(), False, 1) if not f.bound]
    return max(outer, key=_total).fold if outer else None


def reading(t: Tensor, made: Mapping[Tensor, Tensor]) -> Tensor:
    """A tensor that reads the new tensors in place of the old ones."""
    if t in made:
        return made[t]
    if not any(s in made for s in sources(t.body)):
        return t

    def source(s: Source) -> Source:
        return made.get(s, s) if isinstance(s, Tensor) else s

    return replace(t, body=replace_sources(t.body, source))


def _parts(outputs: tuple[Tensor, ...], taken: set[str], known: dict[Scalar, Tensor]) -> dict[Scalar, Tensor]:
    """The folds to be computed before, each with the tensor that holds it: one of `known`, or a new one."""
    mains = {t: main for t in outputs if (main := _main(t)) is not None}
    wide = "f64" if any(s.dtype == "f64" for t in outputs for s in sources(t.body)) else "f32"
    points = max(prod(size_of(i) for i in t.axes) for t in outputs)
    parts: dict[Scalar, Tensor] = {}
    for t, main in mains.items():
        matrices = _has_product(main)
        for f in _folds(t.body, frozenset(), False, 1):
            aside = matrices and not any(_contains(f.fold, m) for m in mains.values())
            repeated = bool(t.axes) and not free(f.fold) and points >= SMALL
            if f.fold in parts or not (aside or repeated) or prod(size_of(i) for i in f.fold.indices) < SMALL:
                continue
            if free(f.fold) & f.bound or not free(f.fold) <= set(t.axes) or (f.guarded and not _in_bounds(f.fold)):
                continue
            axes = tuple(i for i in t.axes if i in free(f.fold))
            kind = wide if type_of(f.fold) == "real" else type_of(f.fold)
            held = known.get(f.fold)
            if held is None or held.dtype != kind:
                held = Tensor(unique(f"{t.name}_part", taken), axes, f.fold, kind)
            parts[f.fold] = held
    return parts


def _folds(s: Scalar, bound: frozenset[Index], guarded: bool, points: int) -> Iterator[_Found]:
    """The folds below an expression, outer before inner, each once for the indices bound around it."""
    seen: set[tuple[Scalar, frozenset[Index], bool]] = set()
    stack = [(s, bound, guarded, points)]
    while stack:
        x, bound, guarded, points = stack.pop()
        if (x, bound, guarded) in seen:
            continue
        seen.add((x, bound, guarded))
        if isinstance(x, Reduce):
            work = points * prod(size_of(i) for i in x.indices)
            yield _Found(x, bound, guarded, work)
            inside = bound | set(x.indices)
            stack += [(b, inside, guarded or not x.where.everywhere, work) for b in reversed(x.body)]
            stack += [(c, inside, guarded, work) for c in x.where.data]
        elif isinstance(x, Apply) and x.op == "select":
            stack += [(a, bound, True, points) for a in reversed(x.args[1:])] + [(x.args[0], bound, guarded, points)]
        else:
            stack += [(c, bound, guarded, points) for c in reversed(children(x))]


def _total(f: _Found) -> int:
    """The work of a fold with that of the folds inside it which its indices move."""
    inside = [x for b in f.fold.body for x in walk(b) if isinstance(x, Reduce) and free(x) & set(f.fold.indices)]
    return max([f.work] + [f.work * prod(size_of(i) for i in x.indices) for x in inside])


def has_products(outputs: tuple[Tensor, ...]) -> bool:
    """Whether some fold of a kernel is a product of matrices."""
    return any(_has_product(f.fold) for t in outputs for f in _folds(t.body, frozenset(), False, 1))


def _has_product(fold: Reduce) -> bool:
    """Whether a fold, or one inside it, contracts two operands of which each has an index that the other lacks."""
    for f in (fold, *(x for b in fold.body for x in walk(b) if isinstance(x, Reduce))):
        reads = [free(x) for b in f.body for x in walk(b) if isinstance(x, Read) and free(x) & set(f.indices)]
        if any(a - b and b - a and a & b & set(f.indices) for n, a in enumerate(reads) for b in reads[n + 1 :]):
            return True
    return False


def _contains(fold: Reduce, other: Reduce) -> bool:
    """Whether a fold is another one, or has it inside, whatever component is asked for."""
    group = group_of(other)
    return any(isinstance(x, Reduce) and group_of(x) == group for x in walk(fold))


def _in_bounds(s: Scalar) -> bool:
    """Whether every read below an expression is in bounds wherever its indices are in range."""
    for x in walk(s):
        if isinstance(x, Read):
            for c, size in zip(x.coordinates, x.source.shape, strict=True):
                if not (isinstance(c, Affine) and never_below_zero(c) and never_below_zero(size - 1 - c)):
                    return False
    return True


def _read_parts(body: Scalar, parts: dict[Scalar, Tensor]) -> Scalar:
    """The expression with the folds read from their tensors, where the indices are those of the output."""
    done: dict[tuple[Scalar, frozenset[Index]], Scalar] = {}

    def run(s: Scalar, bound: frozenset[Index]) -> Scalar:
        key = s, bound
        if key not in done:
            t = parts.get(s)
            if t is not None and not free(s) & bound:
                done[key] = Read(t, tuple(affine(i) for i in t.axes))
            else:
                inside = bound | set(s.indices) if isinstance(s, Reduce) else bound
                done[key] = map_children(s, lambda c: run(c, inside))
        return done[key]

    return run(body, frozenset())
