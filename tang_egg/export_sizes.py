"""Sizes in a C library: the elements of every array, the room in the workspace, all in arithmetic that overflow ends.

Temporaries whose lives do not meet share a region of the workspace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from tang_egg.affine import Affine, Dim, product
from tang_egg.export_interface import Interface
from tang_egg.ir import Input, Source, Tensor
from tang_egg.ops import BYTES


@dataclass(slots=True)
class Region:
    """A part of the workspace and the arrays that lie in it, one after another. `last`: the last step that needs it."""

    arrays: list[Source]
    last: int

    @property
    def size(self) -> tuple[str, Affine]:
        first = self.arrays[0]
        return first.dtype, product(first.shape)


def regions(face: Interface) -> tuple[Region, ...]:
    """Where temporaries and staged updates lie, by the steps of the program in which each is written and read."""
    steps = face.layout.steps
    kept = {f.source for f in face.staged()}
    wanted = {*face.layout.temporaries, *kept}
    first: dict[Source, int] = {}
    last: dict[Source, int] = {}
    for n, step in enumerate(steps):
        for s in step.built.sources:
            if s in wanted:
                first.setdefault(s, n)
                last[s] = len(steps) if s in kept else n
    made: list[Region] = []
    for n in range(len(steps)):
        for s in (s for s in wanted_in_order(face, kept) if first.get(s) == n):
            found = _free(made, s, n)
            if found is None:
                made.append(Region([s], last[s]))
            else:
                found.arrays.append(s)
                found.last = last[s]
    return tuple(made)


def wanted_in_order(face: Interface, kept: set[Source]) -> tuple[Source, ...]:
    """Temporaries and staged updates, in order of first use."""
    return tuple(dict.fromkeys(s for s in face.layout.slots if s in kept or s in set(face.layout.temporaries)))


def _free(made: list[Region], s: Source, step: int) -> Region | None:
    """A region that nothing needs any more: of the very size if there is one, else the smallest that is large enough,
    else the largest, which grows; of symbolic sizes only the first kind.
    """
    free = [r for r in made if r.last < step]
    same = [r for r in free if r.size == (s.dtype, product(s.shape))]
    if same:
        return same[0]
    need = _fixed_bytes(s)
    sized = [(max(_fixed_bytes(a) or 0 for a in r.arrays), n, r) for n, r in enumerate(free) if _is_fixed(r)]
    if need is None or not sized:
        return None
    enough = [x for x in sized if x[0] >= need]
    return min(enough)[2] if enough else max(sized)[2]


def _is_fixed(r: Region) -> bool:
    return all(_fixed_bytes(a) is not None for a in r.arrays)


def _fixed_bytes(s: Source) -> int | None:
    count = product(s.shape).value
    return None if count is None else count * BYTES[s.dtype]


def plan_struct(face: Interface, parts: tuple[Region, ...]) -> Iterator[str]:
    """The struct of all sizes."""
    yield "// Elements of every array, and where the parts of the workspace start, in bytes."
    yield "typedef struct {"
    yield f"    int64_t count[{max(1, len(face.arrays))}];"
    yield f"    int64_t region[{max(1, len(parts))}];"
    yield "    int64_t nothing;  // where zeros stand for what gathers read in arrays without elements"
    yield "    int64_t nothing_bytes;"
    yield "    int64_t scratch;  // where the scratch of the threads starts"
    yield "    int64_t scratch_bytes;  // of each thread"
    yield "} plan;"


def make_plan(face: Interface, parts: tuple[Region, ...]) -> Iterator[str]:
    """The function that checks the dims and computes all sizes."""
    arrays = face.arrays
    yield f"static int make_plan(const {face.name}_dims *d, plan *p)"
    yield "{"
    yield "    int bad = 0;"
    yield "    int64_t end = 0, need = 0;"
    yield from _dim_checks(face)
    for n, s in enumerate(arrays):
        yield f"    p->count[{n}] = {_count(face, s)};  // {_comment(s)}"
        if any(x.value is None for x in s.shape):
            yield f"    (void)times(p->count[{n}], {BYTES[s.dtype]}, &bad);"
    for n, r in enumerate(parts):
        yield f"    p->region[{n}] = end;"
        yield "    need = 0;"
        for s in r.arrays:
            yield f"    need = larger(need, times(p->count[{arrays.index(s)}], {BYTES[s.dtype]}, &bad));"
        yield "    end = plus(end, line(need, &bad), &bad);"
    yield "    p->nothing = end;"
    yield "    need = 0;"
    for n, s in enumerate(arrays):
        if _may_be_empty(s) and s in face.layout.slots:
            rows = _product([f"larger(1, {_form(face, x)})" for x in s.shape])
            yield f"    if (p->count[{n}] == 0) need = larger(need, times({rows}, {BYTES[s.dtype]}, &bad));"
    yield "    p->nothing_bytes = line(need, &bad);"
    yield "    end = plus(end, p->nothing_bytes, &bad);"
    yield "    p->scratch = end;"
    yield "    p->scratch_bytes = 64;"
    for buffers in face.layout.scratch():
        yield "    need = 0;"
        for b in buffers:
            yield f"    need = plus(need, line(times({_form(face, b.size)}, {BYTES[b.type]}, &bad), &bad), &bad);"
        yield "    p->scratch_bytes = larger(p->scratch_bytes, need);"
    yield "    (void)times(plus(end, p->scratch_bytes, &bad), 2, &bad);"
    yield f"    return bad ? {face.upper}_ERROR_SIZE : {face.upper}_OK;"
    yield "}"


def arithmetic() -> Iterator[str]:
    """The functions that sizes are computed by."""
    yield from """\
// Sums and products that tell when they leave 63 bits; what they give then does not matter.
static inline int64_t plus(int64_t a, int64_t b, int *bad)
{
    int64_t c = 0;
    *bad |= __builtin_add_overflow(a, b, &c);
    return c;
}
static inline int64_t times(int64_t a, int64_t b, int *bad)
{
    int64_t c = 0;
    *bad |= __builtin_mul_overflow(a, b, &c);
    return c;
}
static inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t line(int64_t a, int *bad) { return plus(a, 63, bad) / 64 * 64; }
static inline int64_t extent(int64_t a, int *bad)
{
    *bad |= a < 0;
    return a;
}""".splitlines()


def _dim_checks(face: Interface) -> Iterator[str]:
    if not face.dims:
        yield "    (void)d;"
        return
    yield f"    if (!d) return {face.upper}_ERROR_NULL;"
    for dim, member in face.dims:
        tests = [f"d->{member} < {max(0, dim.lo)}"]
        tests.append(f"d->{member} > {_literal(dim.hi if dim.hi is not None else 2**62 - 1)}")
        if dim.multiple != 1:
            tests.append(f"d->{member} % {dim.multiple}")
        yield f"    if ({' || '.join(tests)}) return {face.upper}_ERROR_DIMS;"


def _literal(value: int) -> str:
    return f"INT64_C({value})"


def _count(face: Interface, s: Source) -> str:
    """The elements of an array as an expression of C. Extents that are no sizes are errors even beside an extent 0."""
    fixed = prod(x.value for x in s.shape if x.value is not None)
    open_ones = [f"extent({_form(face, x)}, &bad)" for x in s.shape if x.value is None]
    return _product([_literal(fixed), *open_ones])


def _product(parts: list[str]) -> str:
    text = "1" if not parts else parts[0]
    for part in parts[1:]:
        text = f"times({text}, {part}, &bad)"
    return text


def _form(face: Interface, form: Affine) -> str:
    """A form over dims as an expression of C that notes overflow."""
    members = {d.name: m for d, m in face.dims}
    text = ""
    for monomial, coefficient in form.terms:
        factors = [f"d->{members[a.name]}" for a in monomial]
        term = _product(factors if coefficient == 1 and factors else [*factors, _literal(coefficient)])
        text = f"plus({text}, {term}, &bad)" if text else term
    return text or "0"


def _may_be_empty(s: Source) -> bool:
    """Whether an array can be without elements at some sizes of the dims, as far as is known without a proof."""
    return any(x.value == 0 or (x.value is None and not _is_large_dim(x)) for x in s.shape)


def _is_large_dim(form: Affine) -> bool:
    """Whether a form is a single dim that is never 0."""
    atoms = [a for monomial, _ in form.terms for a in monomial]
    return len(form.terms) == 1 and form.terms[0][1] > 0 and all(isinstance(a, Dim) and a.lo > 0 for a in atoms)


def _comment(s: Source) -> str:
    kind = "input" if isinstance(s, Input) else "tensor" if isinstance(s, Tensor) else ""
    return f"{kind} {''.join(c if c.isalnum() or c in '_.' else '_' for c in s.name)}"
