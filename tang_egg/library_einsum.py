"""Sums of products by a specification, and products of whole arrays."""

from __future__ import annotations

from collections.abc import Sequence

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg import ops
from tang_egg.affine import Affine, Index, affine
from tang_egg.errors import GraphError
from tang_egg.expression import Expression, here
from tang_egg.library import axis_of, expect_array, expect_rank, expect_size, working_type
from tang_egg.notation import Array

Term = tuple[str, ...]
"""The labels of the axes of an operand: letters, and "...n" for the n-th axis from the last of an ellipsis."""


def einsum(spec: str, *arrays: Array) -> Array:
    """Sums of products of elements, as NumPy's einsum: "ij,jk->ik" of a[i, j] and b[j, k] → [i, k].

    One letter is one index: in several operands their elements meet, twice in one operand its diagonal is taken, and
    absent from the result it is summed over. Without "->" the result has the letters that occur once, in alphabetical
    order. "..." stands for any leading, inner or last axes, which broadcast; an operand without axes is an empty term.
    Operands are multiplied from left to right, each index summed over as soon as no later term needs it.
    """
    terms, out = _parse(spec, arrays)
    sizes = _sizes(terms, arrays)
    for label in out:
        if label not in sizes:
            raise _wrong(spec, f"the result has '{label}', which no operand has")
    index = {label: Index(_name(label, n), size) for n, (label, size) in enumerate(sizes.items())}
    current, labels = arrays[0], terms[0]
    for n in range(len(arrays)):
        later = {label for term in terms[n + 1 :] for label in term} | set(out)
        last = n == len(arrays) - 1
        product = _element(current, labels, index)
        present = dict.fromkeys(labels)
        if n > 0:
            product = product * _element(arrays[n], terms[n], index)
            present |= dict.fromkeys(terms[n])
        if n == 0 and not last and set(present) <= later:
            continue  # nothing to sum yet: the first product reads the array itself
        kept = out if last else tuple(label for label in present if label in later)
        gone = tuple(index[label] for label in present if label not in kept)
        body = te.sum(gone, product) if gone else product
        dtype = None if body.type != "real" else arrays[0].dtype if last else working_type(*arrays)
        current = te.tensor(None, tuple(index[label] for label in kept), body, dtype, hint="einsum")
        labels = kept
    return current


def _name(label: str, n: int) -> str:
    return f"e{n}" if label.startswith(".") else f"{label}_"


def _element(x: Array, labels: Term, index: dict[str, Index]) -> Expression:
    """The element of `x` at its labels; an axis of extent one beside a longer one is read at 0."""
    at = []
    for size, label in zip(x.shape, labels, strict=True):
        i = index[label]
        at.append(affine(i) if size is i.size else affine(0))
    return x[tuple(at)]


def _wrong(spec: str, why: str) -> GraphError:
    return GraphError(
        f"the specification {spec!r}: {why}", where=str(here()), mend='write it as "ij,jk->ik": letters, commas, "..."'
    )


def _parse(spec: str, arrays: Sequence[Array]) -> tuple[list[Term], Term]:
    """The labels of each operand and of the result."""
    if not isinstance(spec, str) or not arrays:
        raise _wrong(spec, "it is no text beside at least one array")
    text = spec.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(arrays):
        raise _wrong(spec, f"it has {len(parts)} terms for {len(arrays)} arrays")
    longest = 0
    terms: list[Term] = []
    for part, x in zip(parts, arrays, strict=True):
        if not isinstance(x, Array):
            raise _wrong(spec, f"{x!r} is no array")
        letters, dots = _letters(spec, part)
        spread = x.rank - len(letters)
        if spread < 0 or (spread > 0 and not dots):
            raise _wrong(spec, f"'{part}' has {len(letters)} letters for the {x.rank} axes of '{x.name}'")
        longest = max(longest, spread)
        terms.append(_expand(part, spread))
    ellipsis = tuple(f"...{n}" for n in range(longest, 0, -1))
    if not arrow:
        letters = [c for term in terms for c in term if not c.startswith(".")]
        return terms, (*ellipsis, *sorted(c for c in set(letters) if letters.count(c) == 1))
    letters, dots = _letters(spec, right)
    if len(set(letters)) < len(letters):
        raise _wrong(spec, "the result names one letter twice")
    if longest and not dots:
        raise _wrong(spec, "the operands have '...' but the result has none")
    return terms, _expand(right, longest)


def _letters(spec: str, part: str) -> tuple[list[str], bool]:
    """The letters of a term, and whether it has an ellipsis."""
    dots = "..." in part
    letters = list(part.replace("...", "", 1))
    if any(not (c.isascii() and c.isalpha()) for c in letters):
        raise _wrong(spec, f"the term '{part}' is not letters and at most one '...'")
    return letters, dots


def _expand(part: str, spread: int) -> Term:
    """The labels of a term whose ellipsis stands for `spread` axes, which are counted from the last."""
    before, dots, after = part.partition("...")
    middle = tuple(f"...{n}" for n in range(spread, 0, -1)) if dots else ()
    return (*before, *middle, *after)


def _sizes(terms: list[Term], arrays: Sequence[Array]) -> dict[str, Affine]:
    """The extent of each label."""
    found: dict[str, Affine] = {}
    for term, x in zip(terms, arrays, strict=True):
        if x.dtype == "bool":
            raise GraphError(f"a product of bools '{x.name}'", where=str(here()), mend="te.cast them to integers")
        for size, label in zip(x.shape, term, strict=True):
            known = found.setdefault(label, size)
            if known is not size and size.value != 1:
                if known.value != 1:
                    expect_size(f"axis '{label}' of '{x.name}'", size, known)
                found[label] = size
    return found


def tensordot(a: Array, b: Array, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array:
    """Σ over pairs of axes of a · b → [other axes of a, other axes of b].

    `axes`: so many of the last axes of `a` with the first of `b`, or the axes of `a` and those of `b` that meet.
    """
    expect_array(a)
    expect_array(b)
    if isinstance(axes, int) and not isinstance(axes, bool):
        if not 0 <= axes <= min(a.rank, b.rank):
            raise GraphError(
                f"{axes} axes of '{a.name}' and '{b.name}' to sum over",
                where=str(here()),
                mend=f"give a number from 0 to {min(a.rank, b.rank)}, or two lists of axes",
            )
        first, second = list(range(a.rank - axes, a.rank)), list(range(axes))
    else:
        pair = axes if isinstance(axes, Sequence) and len(axes) == 2 else ((), (0,))
        first, second = [axis_of(a, p) for p in pair[0]], [axis_of(b, p) for p in pair[1]]
        if len(first) != len(second) or len(set(first)) < len(first) or len(set(second)) < len(second):
            raise GraphError(
                f"the axes {axes!r} of '{a.name}' and '{b.name}'",
                where=str(here()),
                mend="give two lists of as many different axes: ([1, 2], [0, 1])",
            )
    letters = iter(_ALPHABET)
    of_a = [next(letters) for _ in range(a.rank)]
    of_b = [of_a[first[second.index(p)]] if p in second else next(letters) for p in range(b.rank)]
    for p, q in zip(first, second, strict=True):
        expect_size(f"axis {q} of '{b.name}'", b.shape[q], a.shape[p])
    out = [c for p, c in enumerate(of_a) if p not in first] + [c for p, c in enumerate(of_b) if p not in second]
    return einsum(f"{''.join(of_a)},{''.join(of_b)}->{''.join(out)}", a, b)


_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def outer(a: Array, b: Array) -> Array:
    """a[i] b[j] for a[n], b[m] → [n, m]."""
    expect_rank(a, 1, 1)
    expect_rank(b, 1, 1)
    return einsum("i,j->ij", a, b)


def trace(x: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Σ x[i, i + offset] over two axes, which the result lacks."""
    p, q = axis_of(x, axis1), axis_of(x, axis2)
    if p == q or not isinstance(offset, int):
        raise GraphError(
            f"the diagonal {offset!r} of axes {axis1} and {axis2} of '{x.name}'",
            where=str(here()),
            mend="give two different axes and a whole number",
        )
    i = Index("i", x.shape[p])
    rest = tuple(Index(f"a{n}", s) for n, s in enumerate(x.shape) if n not in (p, q))
    others = iter(rest)
    column = i + offset
    at = tuple(i if n == p else column if n == q else next(others) for n in range(x.rank))
    body = te.sum(i, x[at], where=(column >= 0, column < x.shape[q]))
    return te.tensor(None, rest, body, x.dtype if body.type == "real" else None, hint="trace")


def kron(a: Array, b: Array) -> Array:
    """a[i // p, j // q] b[i % p, j % q] for a[m, n], b[p, q] → [m · p, n · q], for any one rank of both."""
    expect_array(a)
    expect_array(b)
    if a.rank != b.rank:
        expect_rank(b, a.rank, a.rank)
    if ops.scalar_type(a.dtype) == "bool":
        raise GraphError(f"a product of bools '{a.name}'", where=str(here()), mend="te.cast them to integers")
    axes = tuple(Index(f"i{n}", s * t) for n, (s, t) in enumerate(zip(a.shape, b.shape, strict=True)))
    whole = tuple(_quotient(i, s, t)[0] for i, s, t in zip(axes, a.shape, b.shape, strict=True))
    part = tuple(_quotient(i, s, t)[1] for i, s, t in zip(axes, a.shape, b.shape, strict=True))
    body = a[whole] * b[part]
    return te.tensor(None, axes, body, a.dtype if body.type == "real" else None, hint="kron")


def _quotient(i: Index, whole: Affine, part: Affine) -> tuple[Affine | Expression, Affine | Expression]:
    """i // part and i % part for i below whole · part."""
    if part.value == 1:
        return affine(i), affine(0)
    if whole.value == 1:
        return affine(0), affine(i)
    return e.value(i) // e.value(part), e.value(i) % e.value(part)
