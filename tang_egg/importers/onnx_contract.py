"""Sums of products of arrays: einsum, and the operators that are one."""

from __future__ import annotations

import string
from collections.abc import Sequence

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg import ops, traced, traced_view
from tang_egg.affine import Index, affine, product
from tang_egg.importers.onnx_call import Call, Table
from tang_egg.importers.onnx_value import Unsupported, Value
from tang_egg.traced import Traced
from tang_egg.traced_factor import Coordinate, Factors, refine

OPERATORS = Table()


def contract(labels: Sequence[str], arrays: Sequence[Traced], result: str, dtype: str, hint: str = "product") -> Traced:
    """Σ over the labels that `result` lacks of the product of arrays, each with one label for every axis.

    An axis of one element is broadcast. Raises GraphError where axes of one label differ.
    """
    factors: dict[str, Factors] = {}
    for names, x in zip(labels, arrays, strict=True):
        for name, own, size in zip(names, x.factors, x.extents, strict=True):
            known = factors.get(name, ())
            if not own or own == known:
                factors.setdefault(name, own)
                continue
            if known:
                traced.broadcast_shapes([size], [product(known)])
            factors[name] = (refine(known, own) or known) if known else own
    order = [*result, *(n for n in factors if n not in result)]
    index: dict[str, tuple[Index, ...]] = {}
    count = 0
    for name in order:
        letters = string.ascii_lowercase[8:] + string.ascii_lowercase[:8]
        made = []
        for size in factors[name]:
            made.append(Index(letters[count] if count < 26 else f"i{count}", size))
            count += 1
        index[name] = tuple(made)
    body = None
    for names, x in zip(labels, arrays, strict=True):
        target = tuple(factors[n] if g else () for n, g in zip(names, x.factors, strict=True))
        view = traced.refactored(x, target)
        at: list[Coordinate] = [affine(i) for n, g in zip(names, target, strict=True) if g for i in index[n]]
        element = view.at(at)
        body = element if body is None else body * element
    assert body is not None
    bound = tuple(i for n in order if n not in result for i in index[n])
    free = tuple(i for n in result for i in index[n])
    array = te.tensor(None, free, te.sum(bound, body) if bound else body, dtype, hint=hint)
    shape = tuple(factors[n] for n in result)
    plain = array if all(len(f) == 1 for f in shape) else None
    return Traced(shape, lambda c: array[tuple(c)], dtype, plain)


def matmul(a: Traced, b: Traced, dtype: str = "", hint: str = "matmul") -> Traced:
    """a · b by NumPy's rules: vectors at either side, leading axes broadcast."""
    if a.ndim == 0 or b.ndim == 0:
        raise traced.fail("a product of a scalar", "multiply it by Mul")
    batch = string.ascii_uppercase[: max(a.ndim, b.ndim) - 2] if max(a.ndim, b.ndim) > 2 else ""
    left = (batch[len(batch) - a.ndim + 2 :] + "ik") if a.ndim > 1 else "k"
    right = (batch[len(batch) - b.ndim + 2 :] + "kj") if b.ndim > 1 else "k"
    if a.extents[-1] is not b.extents[-2 if b.ndim > 1 else 0]:
        raise traced.fail(f"a product of shapes {a.shape} and {b.shape}", "make the inner extents equal")
    result = batch + ("i" if a.ndim > 1 else "") + ("j" if b.ndim > 1 else "")
    return contract((left, right), (a, b), result, dtype or a.dtype, hint)


@OPERATORS.add("MatMul", 13)
def matmul_(call: Call) -> Value:
    return matmul(call.x(0), call.x(1))


@OPERATORS.add("Gemm", 13)
def gemm(call: Call) -> Value:
    a, b = call.x(0), call.x(1)
    if a.ndim != 2 or b.ndim != 2:
        raise call.wrong(f"the operands have {a.ndim} and {b.ndim} axes, not 2")
    a = traced_view.permute(a, (1, 0)) if call.integer("transA", 0) else a
    b = traced_view.permute(b, (1, 0)) if call.integer("transB", 0) else b
    found = scaled(matmul(a, b, hint="gemm"), call.number("alpha", 1.0))
    if not call.given(2):
        return found
    added = scaled(call.x(2), call.number("beta", 1.0))
    traced.broadcast_to(added, found.extents)
    return traced.compute(lambda x, y: x + y, found, added, dtype=a.dtype, hint="gemm")


def scaled(x: Traced, factor: float) -> Traced:
    """`x` times a constant; integers by a whole one."""
    if factor == 1.0:
        return x
    if x.dtype not in ops.FLOATS:
        if factor != int(factor):
            raise Unsupported("integers times a fraction")
        return traced.compute(lambda a: a * int(factor), x, dtype=x.dtype, hint="scaled")
    return traced.compute(lambda a: a * factor, x, dtype=x.dtype, hint="scaled")


@OPERATORS.add("Einsum", 28)
def einsum(call: Call) -> Value:
    arrays, text = call.xs(), call.text("equation").replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(arrays):
        raise call.wrong(f"the equation '{text[:60]}' has {len(terms)} operands, not {len(arrays)}")
    spare = [c for c in string.ascii_letters + string.digits if c not in text]
    counts = [x.ndim - len(t.replace("...", "")) for t, x in zip(terms, arrays, strict=True) if "..." in t]
    rank = max(counts, default=0)
    if min(counts, default=0) < 0 or rank > len(spare) or any(not _plain(t) for t in (*terms, right)):
        raise call.wrong(f"the equation '{text[:60]}' does not fit its operands")
    names = "".join(spare[:rank])
    if not arrow:
        letters = left.replace(",", "").replace("...", "")
        right = "..." + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    views: list[Traced] = []
    labels: list[str] = []
    for t, x in zip(terms, arrays, strict=True):
        own = x.ndim - len(t.replace("...", ""))
        spelled = t.replace("...", names[rank - own :] if "..." in t else "")
        if len(spelled) != x.ndim:
            raise call.wrong(f"the operand '{t[:40]}' of the equation has {x.ndim} axes")
        view, spelled = _diagonals(x, spelled)
        views.append(view)
        labels.append(spelled)
    result = right.replace("...", names)
    if len(set(result)) != len(result) or not set(result) <= set("".join(labels)):
        raise call.wrong(f"the equation '{text[:60]}' has a wrong result")
    return contract(labels, views, result, arrays[0].dtype, "einsum")


def _plain(term: str) -> bool:
    return term.count("...") <= 1 and all(c in string.ascii_letters for c in term.replace("...", ""))


def _diagonals(x: Traced, names: str) -> tuple[Traced, str]:
    """`x` with one axis for each of its letters: a letter that stands twice reads a diagonal."""
    for name in dict.fromkeys(names):
        while names.count(name) > 1:
            p, q = names.index(name), names.rindex(name)
            x, names = _diagonal(x, p, q), names[:q] + names[q + 1 :]
    return x, names


def _diagonal(x: Traced, p: int, q: int) -> Traced:
    traced.broadcast_to(traced.full([x.extents[p]], 0, "f32"), [x.extents[q]])
    if x.factors[p] != x.factors[q]:
        axes = tuple(x.factors[p] if n == q else g for n, g in enumerate(x.factors))
        x = traced.refactored(x, axes)
    start, end = sum(len(g) for g in x.factors[:p]), sum(len(g) for g in x.factors[:q])
    width = len(x.factors[p])

    def at(c: Sequence[Coordinate]) -> e.Expression:
        return x.at([*c[:end], *c[start : start + width], *c[end:]])

    return Traced((*x.factors[:q], *x.factors[q + 1 :]), at, x.dtype)
