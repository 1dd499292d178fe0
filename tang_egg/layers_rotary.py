"""Rotary embeddings: pairs of elements turned by an angle that grows with the position."""

from __future__ import annotations

import math

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg import ops
from tang_egg.affine import Index, affine
from tang_egg.errors import GraphError
from tang_egg.expression import here
from tang_egg.library import axes_of, broadcast, expect_array, expect_rank, expect_size, working_type
from tang_egg.notation import Array


def rotary_tables(positions: Array, width: int, base: float = 10000.0) -> tuple[Array, Array]:
    """cos and sin of positions[...] · base^(-2 p / width) for the pairs p: two arrays [..., width / 2]."""
    if not isinstance(width, int) or isinstance(width, bool) or width < 2 or width % 2:
        raise GraphError(f"a rotary width of {width!r}", where=str(here()), mend="give an even number from 2")
    if not isinstance(base, (int, float)) or not 0 < base < math.inf:
        raise GraphError(f"a rotary base of {base!r}", where=str(here()), mend="give a finite number above 0")
    expect_array(positions)
    if positions.dtype == "bool":
        raise GraphError(f"the positions '{positions.name}' are bool", where=str(here()), mend="give numbers")
    i, p = axes_of(positions), Index("pair", affine(width // 2))
    at = positions[i]
    angle = (at if at.type == "real" else e.cast(at, "real")) * e.exp(e.cast(p, "real") * _step(width, base))
    return te.tensor(None, (*i, p), e.cos(angle), hint="cos"), te.tensor(None, (*i, p), e.sin(angle), hint="sin")


def _step(width: int, base: float) -> float:
    return -2 * math.log(base) / width


def rotary(x: Array, cos: Array, sin: Array, *, interleaved: bool = False) -> Array:
    """x[..., n, d] with pairs turned, (a, b) → (a·cos - b·sin, b·cos + a·sin), by cos and sin of [..., n, r], r <= d/2.

    Pair p is (x[p], x[p + r]), or (x[2p], x[2p + 1]) if `interleaved`; elements from 2r on stay. Leading axes of the
    tables broadcast against those of x.
    """
    expect_rank(x, 2)
    for table in (cos, sin):
        expect_rank(table, 1, x.rank)
        if ops.scalar_type(table.dtype) != "real":
            raise GraphError(f"the table '{table.name}' is {table.dtype}", where=str(here()), mend="give reals")
    expect_size(f"the last axis of '{sin.name}'", sin.shape[-1], cos.shape[-1])
    d, r = x.shape[-1].value, cos.shape[-1].value
    if d is None or r is None or 2 * r > d:
        raise GraphError(
            f"tables for {cos.shape[-1]} pairs beside '{x.name}' of {x.shape[-1]} elements",
            where=str(here()),
            mend="give fixed widths, and at most half as many pairs as elements",
        )
    lead = axes_of(x)[:-1]
    if interleaved:
        return _interleaved(x, cos, sin, lead, d, r)
    return _halves(x, cos, sin, lead, d, r)


def _halves(x: Array, cos: Array, sin: Array, lead: tuple[Index, ...], d: int, r: int) -> Array:
    c, p = Index("c", affine(d)), Index("p", affine(r))
    tables = [te.tensor(None, (*lead, p), broadcast(t, (*lead, p)), working_type(x), hint="table") for t in (cos, sin)]

    def turned(first: bool) -> e.Expression:
        pair = affine(c) if first else c - r
        other = x[(*lead, c + r)] if first else x[(*lead, c - r)]
        cosine, sine = (t[(*lead, pair)] for t in tables)
        return x[(*lead, c)] * cosine - other * sine if first else x[(*lead, c)] * cosine + other * sine

    body = e.select(c < r, turned(True), turned(False)) if r else x[(*lead, c)]
    if 0 < 2 * r < d:
        body = e.select(c < r, turned(True), e.select(c < 2 * r, turned(False), x[(*lead, c)]))
    return te.tensor(None, (*lead, c), body, x.dtype, hint="rotary")


def _interleaved(x: Array, cos: Array, sin: Array, lead: tuple[Index, ...], d: int, r: int) -> Array:
    c, p = Index("c", affine(d)), Index("p", affine(r))
    tables = [te.tensor(None, (*lead, p), broadcast(t, (*lead, p)), working_type(x), hint="table") for t in (cos, sin)]
    pair = e.value(c) // 2
    cosine, sine = (t[(*lead, pair)] for t in tables)
    own, other = x[(*lead, c)], x[(*lead, e.value(c) ^ 1)]
    body = own * cosine + e.select(e.eq(e.value(c) % 2, 0), -other, other) * sine
    return te.tensor(None, (*lead, c), body if 2 * r == d else e.select(c < 2 * r, body, own), x.dtype, hint="rotary")
