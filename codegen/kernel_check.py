"""Checks a kernel between stages: what is used is in scope, types agree, and parallel loops carry nothing.

Rules: every variable, dim and array is defined before use and once per scope; buffers of role "input" and "temporary"
are never stored to; local arrays have constant sizes and constant addresses stay inside them; `vector`, `turned` and
`unrolled` loops have constant bounds; in a parallel loop a store goes to an array of the loop itself, or to an address
that moves with the loop's variable; a local array is stored to somewhere before it is loaded. Launched kernels keep
those of codegen/device_check.py as well; every statement there may use the built-in variables.
"""

from __future__ import annotations

from tang_egg.codegen.device import BUILT_IN, Forever, LoadTile, Mma, Packed, Roles, Ticket
from tang_egg.codegen.device_check import check_device
from tang_egg.codegen.device_rules import parts
from tang_egg.codegen.kernel import (
    LOOP_KINDS,
    SPACES,
    Assign,
    Buffer,
    Build,
    Call,
    Declare,
    Expr,
    Form,
    If,
    Kernel,
    Lane,
    Let,
    Load,
    Loop,
    Select,
    Stmt,
    Store,
    Var,
    element,
    lanes,
    operands,
    statements,
    subexpressions,
)
from tang_egg.errors import CodegenError

SAME = frozenset("add mul max min idiv imod bitand bitor bitxor lt le eq fma fast_max fast_min udiv umod".split())
"""Operations whose operands have one type."""


def check_kernel(kernel: Kernel) -> None:
    """Raises CodegenError, naming the statement, when the kernel breaks a rule of the module text."""
    check_device(kernel)
    _Check(kernel).run()


def _written(s: Stmt) -> tuple[Buffer, ...]:
    """The arrays that a statement itself writes."""
    if isinstance(s, Store):
        return (s.buffer,)
    if isinstance(s, Mma):
        return (s.acc,)
    return (s.target,) if isinstance(s, LoadTile) else ()


class _Check:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.types: dict[str, str] = dict.fromkeys(kernel.dims, "i64")
        self.arrays = {b.name: b for b in kernel.buffers}
        self.stored: set[str] = set()
        if kernel.launch is not None:
            self.types |= dict.fromkeys(BUILT_IN, "i64")
            self.arrays |= {b.name: b for b in kernel.launch.shared}
            # the rounds of a loop and the warp groups follow each other in other ways than the text does
            self.stored |= {b.name for x in statements(kernel.body) for b in _written(x)}
        self.moving: dict[str, frozenset[str]] = {}
        self.parallel: list[tuple[str, frozenset[str]]] = []

    def run(self) -> None:
        names = [b.name for b in self.kernel.buffers] + list(self.kernel.dims)
        if len(set(names)) < len(names):
            self.fail("two buffers or dims share a name", ", ".join(names))
        self.block(self.kernel.body)

    def fail(self, what: str, where: object) -> None:
        raise CodegenError(
            what,
            where=f"kernel '{self.kernel.name}': {where}",
            mend="report this with the kernel's tensors and schedule",
        )

    def block(self, body: tuple[Stmt, ...]) -> None:
        types, arrays, moving = dict(self.types), dict(self.arrays), dict(self.moving)
        for s in body:
            self.statement(s)
        self.types, self.arrays, self.moving = types, arrays, moving

    def statement(self, s: Stmt) -> None:
        if isinstance(s, (Let, Assign)):
            self.expr(s.value)
            if isinstance(s, Let) and s.name in self.types:
                self.fail(f"'{s.name}' is defined twice", s)
            self.types[s.name] = s.value.type
            self.moving[s.name] = self.movers(s.value)
        elif isinstance(s, Declare):
            self.declare(s)
        elif isinstance(s, Store):
            self.store(s)
        elif isinstance(s, If):
            self.expr(s.condition)
            self.block(s.then)
            self.block(s.otherwise)
        elif isinstance(s, Loop):
            self.loop(s)
        else:
            self.device(s)

    def device(self, s: Stmt) -> None:
        """A statement of codegen/device.py."""
        for e in parts(s):
            self.expr(e)
        if isinstance(s, Ticket):
            self.types[s.name], self.moving[s.name] = "i64", frozenset()
        elif isinstance(s, Forever):
            self.block(s.body)
        elif isinstance(s, Roles):
            for role in s.roles:
                self.block(role.body)
        elif isinstance(s, (Mma, LoadTile)):
            used = [b.name for b in _written(s)]
            if isinstance(s, Mma) and isinstance(s.a, Packed):
                used.append(s.a.buffer.name)
            for name in used:
                if name not in self.arrays or name not in self.stored:
                    what = "is not declared here" if name not in self.arrays else "is multiplied but never stored to"
                    self.fail(f"'{name}' {what}", type(s).__name__)

    def declare(self, s: Declare) -> None:
        b = s.buffer
        if b.space not in SPACES or b.space == "global":
            self.fail(f"'{b.name}' is declared in space '{b.space}'", s)
        if b.space == "local" and b.size.value is None:
            self.fail(f"the local array '{b.name}' has no constant size", b.size)
        if b.name in self.arrays:
            self.fail(f"'{b.name}' is declared twice", s)
        self.arrays[b.name] = b
        if self.kernel.launch is None:
            self.stored.discard(b.name)

    def loop(self, s: Loop) -> None:
        self.expr(s.start)
        self.expr(s.stop)
        if s.kind not in LOOP_KINDS or s.step < 1:
            self.fail(f"a loop of kind '{s.kind}' and step {s.step}", s.var)
        bounds = [e.form.value if isinstance(e, Form) else None for e in (s.start, s.stop)]
        if s.kind in ("vector", "turned", "unrolled") and None in bounds:
            self.fail(f"a {s.kind} loop without constant bounds", s.var)
        if s.var in self.types:
            self.fail(f"'{s.var}' is defined twice", s.var)
        types, moving = dict(self.types), dict(self.moving)
        self.types[s.var] = "i64"
        self.moving[s.var] = self.movers(s.start) | {s.var}
        if s.kind == "parallel":
            self.parallel.append((s.var, frozenset(self.arrays)))
        self.block(s.body)
        if s.kind == "parallel":
            self.parallel.pop()
        self.types, self.moving = types, moving

    def store(self, s: Store) -> None:
        self.expr(s.index)
        self.expr(s.value)
        b = s.buffer
        if b.name not in self.arrays:
            self.fail(f"a store to '{b.name}', which is not declared here", s.index)
        if b.role in ("input", "temporary"):
            self.fail(f"a store to the {b.role} '{b.name}'", s.index)
        bits = element(s.value.type) == "r16" and b.type in ("f16", "bf16")
        if b.type not in (element(s.value.type), s.value.type) and not bits:
            self.fail(f"a store of {s.value.type} to '{b.name}' of {b.type}", s.index)
        self.inside(s.buffer.name, s.index, lanes(s.value.type) // lanes(b.type))
        for var, outside in self.parallel:
            if b.name in outside and var not in self.movers(s.index):
                self.fail(f"iterations of the parallel loop over '{var}' store to one element of '{b.name}'", s.index)
        self.stored.add(b.name)

    def inside(self, name: str, index: Expr, width: int) -> None:
        size = self.arrays[name].size.value
        if isinstance(index, Form) and index.form.value is not None and size is not None:
            if not 0 <= index.form.value <= size - width:
                self.fail(f"element {index.form.value} of '{name}', which has {size}", index)

    def movers(self, e: Expr) -> frozenset[str]:
        """The loop variables that a value changes with."""
        found: frozenset[str] = frozenset()
        for x in subexpressions(e):
            names = [x.name] if isinstance(x, Var) else [d.name for d in x.form.dims()] if isinstance(x, Form) else []
            for n in names:
                found |= self.moving.get(n, frozenset())
        return found

    def expr(self, e: Expr) -> None:
        for x in operands(e):
            self.expr(x)
        if isinstance(e, Var) and self.types.get(e.name) != e.type:
            self.fail(f"'{e.name}' is {self.types.get(e.name, 'not defined')} here, not {e.type}", e)
        if isinstance(e, Form):
            for d in e.form.dims():
                if self.types.get(d.name) != "i64":
                    self.fail(f"'{d.name}' is {self.types.get(d.name, 'not defined')} in an address", e.form)
        if isinstance(e, Load):
            self.load(e)
        if isinstance(e, Call) and e.op in SAME and len({a.type for a in e.args}) > 1:
            self.fail(f"'{e.op}' of {', '.join(a.type for a in e.args)}", e.op)
        if isinstance(e, Select) and not e.yes.type == e.no.type == e.type:
            self.fail(f"a select of {e.yes.type} and {e.no.type} as {e.type}", "select")
        if isinstance(e, Build) and len(e.items) != lanes(e.type):
            self.fail(f"{len(e.items)} lanes for {e.type}", "a vector")
        if isinstance(e, Lane) and e.n >= lanes(e.vector.type):
            self.fail(f"lane {e.n} of {e.vector.type}", "a lane")

    def load(self, e: Load) -> None:
        b = e.buffer
        if b.name not in self.arrays:
            self.fail(f"a load from '{b.name}', which is not declared here", b.name)
        if e.index.type != "i64":
            self.fail(f"an address of type {e.index.type}", b.name)
        if b.space != "global" and b.name not in self.stored:
            self.fail(f"'{b.name}' is read before anything is stored in it", b.name)
        if not (isinstance(e.index, Form) and b.space == "global"):
            self.inside(b.name, e.index, lanes(e.type) // lanes(b.type))
