"""Runs whose addresses are multiples of an access whatever the variables are: these need no test when a kernel runs.

    i := (point mod 512) · 8;  run of 8 from X[4096 · r + i]    ->    the same run, aligned

Arrays that a kernel is given start at multiples of 16 bytes; where an index lies is known from how it was computed.
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd
from typing import Any

from tang_egg.affine import Affine
from tang_egg.codegen.kernel import Assign, Call, Expr, Form, Kernel, Let, Literal, Loop, Select, Var, statements
from tang_egg.codegen.legalize import rebuilt
from tang_egg.codegen.legalize_runs import ReadRun, WriteRun, access_bytes

SUMS = frozenset({"add", "min", "max"})
"""Operations whose result is a multiple of what both operands are multiples of."""


def aligned_runs(sizes: dict[str, int]) -> Any:
    """The pass for a dialect whose types have so many bytes in memory."""

    def make(kernel: Kernel) -> Kernel:
        known = _factors(kernel)

        def change(x: Any) -> Any:
            if not isinstance(x, (ReadRun, WriteRun)) or x.aligned:
                return None
            buffer = x.source if isinstance(x, ReadRun) else x.target
            step = access_bytes(x.count * sizes[buffer.type]) // sizes[buffer.type]
            fits = factor(x.index, known) % step == 0
            return replace(x, aligned=True) if fits else x

        return rebuilt(kernel, change)

    return make


def _factors(kernel: Kernel) -> dict[str, int]:
    """By variable: a number of which its value is always a multiple; 0 is a multiple of every number."""
    known: dict[str, int] = {}
    for s in statements(kernel.body):
        if isinstance(s, Let):
            known[s.name] = factor(s.value, known)
        elif isinstance(s, Assign):
            known[s.name] = 1
        elif isinstance(s, Loop):
            known[s.var] = 1 if s.kind == "grid" else gcd(factor(s.start, known), s.step)
    return known


def factor(e: Expr, known: dict[str, int]) -> int:
    """A number of which an expression of positions is always a multiple; 0 where it is 0."""
    if isinstance(e, Literal):
        return abs(e.value) if isinstance(e.value, int) else 1
    if isinstance(e, Form):
        return _of_form(e.form, known)
    if isinstance(e, Var):
        return known.get(e.name, 1)
    if isinstance(e, Select):
        return gcd(factor(e.yes, known), factor(e.no, known))
    if isinstance(e, Call) and e.op == "mul":
        return factor(e.args[0], known) * factor(e.args[1], known)
    if isinstance(e, Call) and e.op in SUMS:
        return gcd(*(factor(a, known) for a in e.args))
    return 1


def _of_form(form: Affine, known: dict[str, int]) -> int:
    found = 0
    for monomial, coefficient in form.terms:
        term = abs(coefficient)
        for atom in monomial:
            term *= known.get(atom.name, 1)
        found = gcd(found, term)
    return found
