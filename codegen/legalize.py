"""Passes on the kernel IR that make a kernel legal for a dialect. Names first: every dialect needs them."""

from __future__ import annotations

import keyword
import re
from dataclasses import replace

from tang_egg.affine import Affine, Dim
from tang_egg.codegen.kernel import (
    Assign,
    Buffer,
    Declare,
    Expr,
    Form,
    If,
    Kernel,
    Let,
    Load,
    Loop,
    Stmt,
    Store,
    Var,
    operands,
    statements,
    with_operands,
)

RESERVED = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while asm typeof "
    "buffers dims scratch scratch_base scratch_size main abs div index exp log sin cos tan tanh erf sqrt floor fabs "
    "gamma j0 j1 jn y0 y1 yn NAN INFINITY I half bfloat16 kernel device thread group this template class new delete "
    "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t signal time read write stdin stdout "
    "errno".split()
)
"""Words that no dialect lets a variable have."""

CALLED = frozenset(
    f"{name}{suffix}"
    for name in "exp log sin cos tan tanh erf sqrt floor fabs atan2 memcpy memset nearbyint frexp omp_get_thread_num "
    "omp_get_max_threads omp_set_num_threads".split()
    for suffix in ("", "f", "l")
)
"""Functions that kernels call: a variable of that name would hide them."""

MACRO = re.compile(
    r"_.*|[A-Z][A-Z0-9_]*[A-Z].*|linux|unix|i386|near|far|math_errhandling|stderr|environ|bool|true|false"
)
"""Names that headers may define, or that C keeps for itself: those with an underscore first and those in capitals."""


def identifier(name: str, taken: set[str]) -> str:
    """A name of letters, digits and underscores that is neither reserved nor in `taken`, to which it is added."""
    text = re.sub(r"\W", "_", name, flags=re.ASCII)
    if not text or not (text[0].isalpha() or text[0] == "_"):
        text = f"v{text}"
    if (
        text in RESERVED | CALLED
        or MACRO.fullmatch(text)
        or keyword.iskeyword(text)
        or text.startswith(("te_", "__"))
        or re.fullmatch(r"[fiumb]\d+x\d+", text)
    ):
        text = f"v_{text.lstrip('_')}"
    unique, n = text, 1
    while unique in taken:
        unique, n = f"{text}_{n}", n + 1
    taken.add(unique)
    return unique


def legal_names(kernel: Kernel) -> Kernel:
    """Buffers, dims and variables under names that every dialect accepts."""
    taken: set[str] = set()
    names: dict[str, str] = {}
    declared = list(statements(kernel.body))
    wanted = [b.name for b in kernel.buffers] + list(kernel.dims)
    wanted += [s.buffer.name for s in declared if isinstance(s, Declare)]
    wanted += [s.name for s in declared if isinstance(s, (Let, Assign))]
    wanted += [s.var for s in declared if isinstance(s, Loop)]
    for name in dict.fromkeys(wanted):
        names[name] = identifier(name, taken)
    return rename(kernel, names, identifier(kernel.name, set()))


def rename(kernel: Kernel, names: dict[str, str], title: str) -> Kernel:
    """The kernel with variables, buffers and dims renamed."""

    def form(f: Affine) -> Affine:
        # by name: a dim of the user's carries facts, a variable of the same name does not
        return f.substitute({d: Dim(names[d.name]) for d in f.dims()})

    def buffer(b: Buffer) -> Buffer:
        return replace(b, name=names[b.name], size=form(b.size))

    def expr(e: Expr) -> Expr:
        if isinstance(e, Var):
            return replace(e, name=names[e.name])
        if isinstance(e, Form):
            return Form(form(e.form), e.type)
        e = with_operands(e, tuple(expr(x) for x in operands(e)))
        return replace(e, buffer=buffer(e.buffer)) if isinstance(e, Load) else e

    def stmt(s: Stmt) -> Stmt:
        if isinstance(s, (Let, Assign)):
            return replace(s, name=names[s.name], value=expr(s.value))
        if isinstance(s, Declare):
            return Declare(buffer(s.buffer))
        if isinstance(s, Store):
            return Store(buffer(s.buffer), expr(s.index), expr(s.value))
        if isinstance(s, Loop):
            work = None if s.work is None else form(s.work)
            body = tuple(stmt(x) for x in s.body)
            return Loop(names[s.var], expr(s.start), expr(s.stop), s.step, s.kind, body, work)
        if isinstance(s, If):
            return If(expr(s.condition), tuple(stmt(x) for x in s.then), tuple(stmt(x) for x in s.otherwise))
        return s

    body = tuple(stmt(s) for s in kernel.body)
    dims = tuple(names[d] for d in kernel.dims)
    scratch = tuple(buffer(b) for b in kernel.scratch)
    return Kernel(title, tuple(buffer(b) for b in kernel.buffers), dims, body, scratch, kernel.note)
