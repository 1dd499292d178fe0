"""Loops over a few elements that lie side by side in memory move all of them at once.

    for v in 0 ... 8:  Y[b + v] = f(X[a + v])    ->    x := run of 8 from X[a]; for v: y[v] = f(x[v]); Y[b] := run of 8

Results of 16 bits stay f32 until then, to be rounded in pairs. What a branch alone reads, and buffers that a kernel
reads and writes, stay as they are; arrays in shared memory are written at once where a loop does not read them. Arrays
start at multiples of 16 bytes; where a run starts in one is known (`legalize_aligned`) or found when the kernel runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from tang_egg.affine import Affine, Dim, affine
from tang_egg.codegen.kernel import (
    Buffer,
    Call,
    Declare,
    Expr,
    Form,
    Kernel,
    Let,
    Load,
    Loop,
    Select,
    Stmt,
    Store,
    expressions,
    operands,
    statements,
    subexpressions,
    with_operands,
)
from tang_egg.codegen.legalize import rebuilt

LEAST, MOST = 4, 64
"""Bytes from which on one access for several elements pays, and up to which they are held at once."""
CONDITIONAL = frozenset({"and", "or"})
"""Operations that may leave out their last operand."""


@dataclass(frozen=True, slots=True)
class ReadRun:
    """`count` elements of a global buffer, from `index` on, into registers. `aligned`: as in WriteRun."""

    into: Buffer
    source: Buffer
    index: Expr
    count: int
    aligned: bool = False


@dataclass(frozen=True, slots=True)
class WriteRun:
    """`count` elements of registers into a buffer, from `index` on. `aligned`: where an access of all its bytes starts.

    The registers may be f32 where the buffer has 16-bit floats: the elements are then rounded in pairs.
    """

    target: Buffer
    index: Expr
    source: Buffer
    count: int
    aligned: bool = False


def access_bytes(bytes: int) -> int:
    """How many of some bytes side by side one access moves."""
    return next(n for n in (16, 8, 4) if bytes % n == 0)


def runs(sizes: dict[str, int]) -> Any:
    """The pass for a dialect whose types have so many bytes in memory."""

    def make(kernel: Kernel) -> Kernel:
        return _Runs(kernel, sizes).run()

    return make


class _Runs:
    def __init__(self, kernel: Kernel, sizes: dict[str, int]) -> None:
        self.kernel, self.sizes, self.fresh = kernel, sizes, count()
        written = {s.buffer.name for s in statements(kernel.body) if isinstance(s, Store)}
        read = {e.buffer.name for s in statements(kernel.body) for e in _loads(s)}
        apart = {b.name for b in kernel.buffers if not b.alias and b.space == "global"}
        self.readable, self.writable = apart - written, apart - read

    def run(self) -> Kernel:
        return rebuilt(self.kernel, self._change)

    def _change(self, x: Any) -> Any:
        if not isinstance(x, tuple) or not any(isinstance(s, Loop) for s in x):
            return None
        out: list[Any] = []
        for s in x:
            found = self._wide(s) if isinstance(s, Loop) else None
            if found is not None:
                out += found
                continue
            new = rebuilt(s, self._change)
            out += _moved_out(new) if isinstance(new, Loop) else [new]
        return tuple(out)

    def _wide(self, s: Loop) -> list[Any] | None:
        """What a loop over elements side by side becomes; None where it is none or nothing could be moved at once."""
        n = s.stop.form.value if isinstance(s.stop, Form) else None
        plain = (
            s.kind in ("vector", "unrolled") and isinstance(s.start, Form) and s.start.form.value == 0 and s.step == 1
        )
        if not plain or n is None or n < 2 or n & (n - 1) or not all(isinstance(x, (Let, Store)) for x in s.body):
            return None
        before: list[Any] = []
        after: list[Any] = []
        held: dict[tuple[str, Affine], Buffer] = {}
        inside = {x.name for x in s.body if isinstance(x, Let)}
        loaded = {e.buffer.name for x in s.body for e in _loads(x)}

        def at(buffer: Buffer, index: Expr, allowed: set[str]) -> Affine | None:
            """Where a run of a buffer starts, if the loop moves along it."""
            if buffer.name not in allowed or not isinstance(index, Form) or n is None:
                return None
            if not LEAST <= n * self.sizes.get(buffer.type, 0) <= MOST:
                return None
            start = index.form.substitute({Dim(s.var): 0})
            moves = (index.form.substitute({Dim(s.var): 1}) - start).value == 1
            return start if moves and not any(d.name in inside for d in start.dims()) else None

        def register(buffer: Buffer) -> Buffer:
            return Buffer(f"te_run{next(self.fresh)}", buffer.type, "local", affine(n or 0))

        def reads(e: Expr, always: bool) -> Expr:
            if isinstance(e, Load):
                start = at(e.buffer, e.index, self.readable) if always else None
                if start is None or not isinstance(e.index, Form):
                    return with_operands(e, tuple(reads(x, always) for x in operands(e)))
                key = (e.buffer.name, start)
                if key not in held:
                    held[key] = register(e.buffer)
                    before.append(Declare(held[key]))
                    before.append(ReadRun(held[key], e.buffer, Form(start, e.index.type), n or 0))
                return replace(e, buffer=held[key], index=Form(affine(Dim(s.var)), e.index.type))
            args = operands(e)
            sure = [always] * len(args)
            if isinstance(e, Select) or (isinstance(e, Call) and e.op in CONDITIONAL):
                sure[1:] = [False] * (len(args) - 1)
            return with_operands(e, tuple(reads(x, a) for x, a in zip(args, sure, strict=True)))

        body: list[Stmt] = []
        for x in s.body:
            if isinstance(x, Let):
                body.append(replace(x, value=reads(x.value, True)))
                continue
            assert isinstance(x, Store)
            value = reads(x.value, True)
            start = at(x.buffer, x.index, self.writable)
            aligned = x.buffer.space == "shared" and x.buffer.name not in loaded
            if aligned:
                start = at(x.buffer, x.index, {x.buffer.name})
                start = start if start is not None and _multiple(start, n) else None
            if start is None or not isinstance(x.index, Form):
                body.append(replace(x, index=reads(x.index, True), value=value))
                continue
            local = register(x.buffer)
            if _rounded(x) and isinstance(value, Call):
                local, value = replace(local, type="f32"), value.args[0]
            before.append(Declare(local))
            after.append(WriteRun(x.buffer, Form(start, x.index.type), local, n, aligned))
            body.append(replace(x, buffer=local, index=Form(affine(Dim(s.var)), x.index.type), value=value))
        if not before:
            return None
        return [*before, replace(s, kind="unrolled", body=tuple(body)), *after]


def _moved_out(loop: Loop) -> list[Any]:
    """A loop to be written out, after the runs that every iteration would read alike."""
    turns = loop.stop.form.value if isinstance(loop.stop, Form) else None
    if loop.kind not in ("vector", "unrolled") or not turns:
        return [loop]
    inside = {loop.var} | {s.name for s in loop.body if isinstance(s, Let)}
    body: tuple[Any, ...] = loop.body
    moved: list[Any] = []
    for s in body:
        if isinstance(s, ReadRun) and isinstance(s.index, Form):
            if not any(d.name in inside for d in s.index.form.dims()):
                moved += [Declare(s.into), s]
    return [*moved, replace(loop, body=tuple(s for s in body if s not in moved))]


def _rounded(s: Store) -> bool:
    """Whether a store of a 16-bit float rounds an f32: pairs of such are rounded by one instruction."""
    return (
        s.buffer.type in ("bf16", "f16")
        and isinstance(s.value, Call)
        and s.value.op == "cast"
        and s.value.args[0].type == "f32"
    )


def _multiple(form: Affine, n: int) -> bool:
    """Whether a form is a multiple of n whatever its variables are."""
    return all(c % n == 0 for _, c in form.terms)


def _loads(s: Stmt) -> list[Load]:
    return [x for e in expressions(s) for x in subexpressions(e) if isinstance(x, Load)]
