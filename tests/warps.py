"""What a kernel of warps means: the lanes of each warp side by side, for the tests of its lowering.

Unlike the interpreter of launched kernels it lets warps differ in the bounds of loops, since their rows do.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tang_egg import ops
from tang_egg.affine import affine
from tang_egg.codegen.device import GROUP
from tang_egg.codegen.kernel import (
    Assign,
    Barrier,
    Buffer,
    Call,
    Declare,
    Expr,
    Form,
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
from tang_egg.codegen.legalize_runs import ReadRun, WriteRun, access_bytes

WARP, BARRIER, LARGEST = 32, -1, -2
FEW = 2
"""Blocks that a small chip holds at once: persistent ones take several tiles."""
Exchange = Generator[tuple[int, Any], Any, None]


def run_warps(kernel: Kernel, arrays: Mapping[str, np.ndarray[Any, Any]], dims: Mapping[str, int]) -> None:
    """Runs a kernel whose warps meet at barriers only; outputs are written in place."""
    assert kernel.launch is not None
    blocks = int(_Machine({}, dict(dims)).expr(kernel.launch.tiles))
    blocks = min(blocks, FEW) if kernel.launch.persistent else blocks
    for block in range(blocks):
        shared: dict[str, np.ndarray[Any, Any]] = {}
        warps = []
        for first in range(0, kernel.launch.threads, WARP):
            values = {**dims, "block": block, "blocks": blocks, "group": first // GROUP}
            lanes = [_Lane(dict(arrays), {**values, "thread": first % GROUP + n}, shared) for n in range(WARP)]
            warps.append(_run_warp(kernel, lanes))
        while len({next(w, True) for w in warps}) == 1 and any(w.gi_frame is not None for w in warps):
            pass
        assert all(w.gi_frame is None for w in warps), "warps of a block went apart at a barrier"


def _run_warp(kernel: Kernel, lanes: list[_Lane]) -> Generator[bool, None, None]:
    """Stops with False at each barrier."""
    runs = [lane.steps(kernel.body) for lane in lanes]
    got: list[Any] = [None] * WARP
    while True:
        asked = [_next(run, value) for run, value in zip(runs, got, strict=True)]
        if all(a is None for a in asked):
            return
        given = [a for a in asked if a is not None]
        assert len(given) == WARP and len({mask for mask, _ in given}) == 1, "lanes of a warp went apart"
        if given[0][0] == BARRIER:
            yield False
            continue
        if given[0][0] == LARGEST:
            got = [max(value for _, value in given)] * WARP
            continue
        got = [given[n ^ given[0][0]][1] for n in range(WARP)]


def _next(run: Exchange, value: Any) -> tuple[int, Any] | None:
    try:
        return run.send(value)
    except StopIteration:
        return None


class _Lane(_Machine):
    """One lane: a generator that stops wherever values are exchanged, and at barriers."""

    def __init__(self, arrays: dict[str, Any], values: dict[str, Any], shared: dict[str, Any]) -> None:
        super().__init__(arrays, values)
        self.shared = shared

    def steps(self, body: tuple[Stmt, ...]) -> Exchange:
        for s in body:
            found = [x for e in expressions(s) for x in subexpressions(e) if isinstance(x, Call) and _asks(x.op)]
            if found:
                (call,) = found
                mask = call.args[-1]
                assert isinstance(s, (Let, Assign)) and (isinstance(mask, Literal) or call.op == "max_warp")
                how = int(mask.value) if isinstance(mask, Literal) else LARGEST
                self.values["%got"] = yield how, self.expr(call.args[0])
                self.statement(replace(s, value=_put(s.value, call)))
            elif isinstance(s, Barrier):
                yield BARRIER, None
            elif isinstance(s, Declare) and s.buffer.space == "shared":
                if s.buffer.name not in self.shared:
                    self.statement(s)
                    self.shared[s.buffer.name] = self.arrays[s.buffer.name]
                self.arrays[s.buffer.name] = self.shared[s.buffer.name]
            elif isinstance(s, ReadRun):
                first = _start(self.address(s.source, s.index), s, s.source)
                self.address(s.source, Form(affine(first + s.count - 1)))
                self.arrays[s.into.name][: s.count] = self.arrays[s.source.name][first : first + s.count]
            elif isinstance(s, WriteRun):
                first = _start(self.address(s.target, s.index), s, s.target)
                self.address(s.target, Form(affine(first + s.count - 1)))
                values = self.arrays[s.source.name][: s.count]
                if s.source.type != s.target.type:
                    values = ops.cast_value(values, s.target.type, "real")
                self.arrays[s.target.name][first : first + s.count] = values
            elif isinstance(s, If):
                yield from self.steps(s.then if self.expr(s.condition) else s.otherwise)
            elif isinstance(s, Loop):
                for n in range(int(self.expr(s.start)), int(self.expr(s.stop)), s.step):
                    self.values[s.var] = n
                    yield from self.steps(s.body)
            else:
                self.statement(s)


def _asks(op: str) -> bool:
    """Whether an operation needs what other lanes have."""
    return "shuffle" in op or op == "max_warp"


def _start(first: int, s: ReadRun | WriteRun, buffer: Buffer) -> int:
    """Where a run starts. Arrays start at multiples of 16 bytes, so what is said of its address can be checked."""
    size = ops.BYTES[buffer.type]
    assert not s.aligned or first * size % access_bytes(s.count * size) == 0, "a run is not where its access can start"
    return first


def _put(e: Expr, call: Call) -> Expr:
    if e is call:
        return Var("%got", call.type)
    return with_operands(e, tuple(_put(x, call) for x in operands(e)))
