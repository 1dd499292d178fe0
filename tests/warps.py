"""What a kernel of warps means: the lanes of each warp side by side, for the tests of its lowering.

Unlike the interpreter of launched kernels it lets warps differ in the bounds of loops, since their rows do.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tang_egg.codegen.device import GROUP
from tang_egg.codegen.kernel import (
    Assign,
    Call,
    Expr,
    If,
    Kernel,
    Let,
    Literal,
    Loop,
    Stmt,
    Var,
    expressions,
    operands,
    subexpressions,
    with_operands,
)
from tang_egg.codegen.kernel_run import _Machine

WARP = 32
Exchange = Generator[tuple[int, Any], Any, None]


def run_warps(kernel: Kernel, arrays: Mapping[str, np.ndarray[Any, Any]], dims: Mapping[str, int]) -> None:
    """Runs a kernel whose warps are independent of each other; outputs are written in place."""
    assert kernel.launch is not None
    blocks = int(_Machine({}, dict(dims)).expr(kernel.launch.tiles))
    for block in range(blocks):
        for first in range(0, kernel.launch.threads, WARP):
            values = {**dims, "block": block, "blocks": blocks, "group": first // GROUP}
            _run_warp(kernel, [_Lane(dict(arrays), {**values, "thread": first % GROUP + n}) for n in range(WARP)])


def _run_warp(kernel: Kernel, lanes: list[_Lane]) -> None:
    runs = [lane.steps(kernel.body) for lane in lanes]
    got: list[Any] = [None] * WARP
    while True:
        asked = [_next(run, value) for run, value in zip(runs, got, strict=True)]
        if all(a is None for a in asked):
            return
        given = [a for a in asked if a is not None]
        assert len(given) == WARP and len({mask for mask, _ in given}) == 1, "lanes of a warp went apart"
        got = [given[n ^ given[0][0]][1] for n in range(WARP)]


def _next(run: Exchange, value: Any) -> tuple[int, Any] | None:
    try:
        return run.send(value)
    except StopIteration:
        return None


class _Lane(_Machine):
    """One lane: a generator that stops wherever values are exchanged."""

    def steps(self, body: tuple[Stmt, ...]) -> Exchange:
        for s in body:
            found = [x for e in expressions(s) for x in subexpressions(e) if isinstance(x, Call) and "shuffle" in x.op]
            if found:
                (call,) = found
                mask = call.args[1]
                assert isinstance(mask, Literal) and isinstance(s, (Let, Assign))
                self.values["%got"] = yield int(mask.value), self.expr(call.args[0])
                self.statement(replace(s, value=_put(s.value, call)))
            elif isinstance(s, If):
                yield from self.steps(s.then if self.expr(s.condition) else s.otherwise)
            elif isinstance(s, Loop):
                for n in range(int(self.expr(s.start)), int(self.expr(s.stop)), s.step):
                    self.values[s.var] = n
                    yield from self.steps(s.body)
            else:
                self.statement(s)


def _put(e: Expr, call: Call) -> Expr:
    if e is call:
        return Var("%got", call.type)
    return with_operands(e, tuple(_put(x, call) for x in operands(e)))
