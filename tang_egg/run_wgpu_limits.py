"""How many turns of loops one thread of a kernel runs, at most: some drivers end loops that run long."""

from __future__ import annotations

from collections.abc import Mapping

from tang_egg.codegen.kernel import Assign, Call, Expr, Form, If, Kernel, Let, Literal, Loop, Select, Stmt, Var
from tang_egg.codegen.legalize_wide import plain_loops

TURNS = 65535
"""Turns of all loops of a thread after which Mesa's driver for processors ends them."""

Range = tuple[int, int]


def loop_turns(kernel: Kernel, dims: Mapping[str, int], blocks: int) -> int | None:
    """An upper bound of the turns of one thread; None where a bound of a loop is data.

    Loops inside a loop count by their longest extent; those that are written out have no turns of their own.
    """
    assert kernel.launch is not None
    threads = blocks * kernel.launch.threads
    known: dict[str, Range] = {d: (v, v) for d, v in dims.items()}
    known |= {"block": (0, blocks - 1), "blocks": (blocks, blocks), "group": (0, 1)}
    known["thread"] = (0, min(127, kernel.launch.threads - 1))
    return _turns(plain_loops(kernel).body, known, threads)


def _turns(body: tuple[Stmt, ...], known: dict[str, Range], threads: int) -> int | None:
    total = 0
    for s in body:
        inner: int | None = 0
        if isinstance(s, (Let, Assign)):
            found = _range(s.value, known) if not isinstance(s, Assign) else None
            if found is not None:
                known[s.name] = found
        elif isinstance(s, If):
            parts = (_turns(s.then, known, threads), _turns(s.otherwise, known, threads))
            inner = None if None in parts else max(p for p in parts if p is not None)
        elif isinstance(s, Loop):
            start, stop = _range(s.start, known), _range(s.stop, known)
            if start is None or stop is None:
                return None
            count = max(0, -(-(stop[1] - start[0]) // s.step))
            if s.kind == "grid":
                count = -(-count // max(1, threads))
            known[s.var] = (start[0], max(start[0], stop[1] - 1))
            below = _turns(s.body, known, threads)
            inner = None if below is None else count * (below + (s.kind != "written"))
        if inner is None:
            return None
        total += inner
    return total


def _range(e: Expr, known: Mapping[str, Range]) -> Range | None:
    """The least and largest value of a position, where variables that it has are known."""
    if isinstance(e, Literal):
        return (int(e.value), int(e.value)) if not isinstance(e.value, float) else None
    if isinstance(e, Var):
        return known.get(e.name)
    if isinstance(e, Form):
        low = high = 0
        for monomial, coefficient in e.form.terms:
            term: Range = (coefficient, coefficient)
            for atom in monomial:
                if atom.name not in known:
                    return None
                term = _product(term, known[atom.name])
            low, high = low + term[0], high + term[1]
        return low, high
    if isinstance(e, Select):
        yes, no = _range(e.yes, known), _range(e.no, known)
        return None if yes is None or no is None else (min(yes[0], no[0]), max(yes[1], no[1]))
    if isinstance(e, Call):
        return _of_call(e, [_range(a, known) for a in e.args])
    return None


def _of_call(e: Call, given: list[Range | None]) -> Range | None:
    """The range of an operation; of a minimum or maximum, where one operand is not known, the half that is."""
    args = [a for a in given if a is not None]
    if len(args) < len(given):
        return None
    if e.op in ("min", "max"):
        pick = min if e.op == "min" else max
        return pick(a[0] for a in args), pick(a[1] for a in args)
    if e.op == "mul":
        return _product(args[0], args[1])
    if e.op == "add":
        return args[0][0] + args[1][0], args[0][1] + args[1][1]
    if e.op == "neg":
        return -args[0][1], -args[0][0]
    if e.op in ("idiv", "udiv") and args[1][0] > 0:
        ends = [a // b for a in args[0] for b in args[1]]
        return min(ends), max(ends)
    if e.op in ("imod", "umod") and args[1][0] > 0:
        return 0, min(args[1][1] - 1, max(args[0][1], 0)) if args[0][0] >= 0 else args[1][1] - 1
    return args[0] if e.op == "cast" else None


def _product(a: Range, b: Range) -> Range:
    ends = [x * y for x in a for y in b]
    return min(ends), max(ends)
