"""Passes on the kernel IR that make a kernel legal for a dialect. Names first: every dialect needs them.

`narrow_indices` is for chips whose 64-bit integers are slow: an i64 that is an address, a loop variable or a size gets
the type "int" (32 bits, enough where no buffer has 2^31 elements); an i64 that is data stays.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from tang_egg.affine import Affine, Dim, affine
from tang_egg.codegen.device import BUILT_IN, Launch, Signal, Stage, TensorMap, Ticket
from tang_egg.codegen.kernel import (
    Assign,
    Buffer,
    Call,
    Declare,
    Expr,
    Form,
    Kernel,
    Let,
    Literal,
    Load,
    Loop,
    Select,
    Store,
    Var,
    operands,
    statements,
)

RESERVED = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while asm typeof "
    "buffers dims scratch scratch_base scratch_size main abs div index exp log sin cos tan tanh erf sqrt floor fabs "
    "gamma j0 j1 jn y0 y1 yn NAN INFINITY I half bfloat16 kernel device thread group this template class new delete "
    "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t signal time read write stdin stdout "
    "errno namespace using operator public private protected virtual friend mutable explicit typename "
    "decltype constexpr alignas alignof nullptr noexcept throw try catch export threadIdx blockIdx blockDim gridDim "
    "warpSize and and_eq bitand bitor compl not not_eq or or_eq xor xor_eq char8_t char16_t char32_t wchar_t typeid "
    "const_cast dynamic_cast reinterpret_cast static_cast static_assert thread_local typeof_unqual consteval constinit "
    "concept requires co_await co_return co_yield".split()
)
"""Words that no dialect lets a variable have."""

CALLED = frozenset(
    f"{name}{suffix}"
    for name in "exp log sin cos tan tanh erf sqrt floor fabs atan2 memcpy memset nearbyint frexp omp_get_thread_num "
    "omp_get_max_threads omp_set_num_threads fma fmax fmin max min norm rnorm pow rsqrt cbrt tgamma lgamma".split()
    for suffix in ("", "f", "l")
)
"""Functions that kernels call: a variable of that name would hide them."""

MACRO = re.compile(
    r"_.*|[A-Z][A-Z0-9_]*[A-Z].*|linux|unix|i386|near|far|math_errhandling|stderr|environ|bool|true|false"
)
"""Names that headers may define, or that C keeps for itself: those with an underscore first and those in capitals."""


def identifier(name: str, taken: set[str], reserved: frozenset[str] = frozenset()) -> str:
    """A name of letters, digits and underscores that is neither reserved nor in `taken`, to which it is added.

    `reserved`: words of one dialect alone, beside those of all.
    """
    text = re.sub(r"\W", "_", name, flags=re.ASCII)
    if not text or not (text[0].isalpha() or text[0] == "_"):
        text = f"v{text}"
    if (
        text in RESERVED | CALLED
        or text in reserved
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


def legal_names(kernel: Kernel, reserved: frozenset[str] = frozenset()) -> Kernel:
    """Buffers, dims, variables, and what a launch names, under names that every dialect accepts.

    `reserved`: further words that one dialect keeps for itself.
    """
    taken: set[str] = set()
    names: dict[str, str] = {}
    declared = list(statements(kernel.body))
    wanted = [b.name for b in kernel.buffers] + list(kernel.dims)
    if kernel.launch is not None:
        names |= {name: f"te_{name}" for name in BUILT_IN}
        wanted += [b.name for b in kernel.launch.shared]
    wanted += [s.buffer.name for s in declared if isinstance(s, Declare)]
    wanted += [s.name for s in declared if isinstance(s, (Let, Assign, Ticket))]
    wanted += [s.var for s in declared if isinstance(s, Loop)]
    for name in dict.fromkeys(wanted):
        names[name] = identifier(name, taken, reserved)
    return rename(kernel, names, identifier(kernel.name, set(), reserved), _launched(kernel.launch, taken))


Named = Stage | Signal | TensorMap


def _launched(launch: Launch | None, taken: set[str]) -> dict[Named, str]:
    """Names of stages, signals and maps: a buffer and its stage are often called the same."""
    if launch is None:
        return {}
    found: dict[Named, str] = {}
    for kind, things in (("tiles", launch.stages), ("signal", launch.signals), ("map", launch.maps)):
        for thing in things:
            found[thing] = identifier(f"{thing.name}_{kind}", taken)
    return found


T = TypeVar("T")


def rebuilt(part: T, change: Callable[[Any], Any]) -> T:
    """A tree of the kernel IR with parts replaced: `change` gives the new part, or None to go on inside it."""
    new = change(part)
    if new is not None:
        return new  # type: ignore[no-any-return]
    if isinstance(part, tuple):
        return tuple(rebuilt(x, change) for x in part)  # type: ignore[return-value]
    if is_dataclass(part) and not isinstance(part, (type, Affine)):
        inside = {f.name: rebuilt(getattr(part, f.name), change) for f in fields(part)}
        return replace(part, **inside)
    return part


def rename(kernel: Kernel, names: dict[str, str], title: str, launched: dict[Named, str]) -> Kernel:
    """The kernel with variables, buffers, dims, stages, signals and maps renamed."""

    def form(f: Affine) -> Affine:
        # by name: a dim of the user's carries facts, a variable of the same name does not
        return f.substitute({d: Dim(names[d.name]) for d in f.dims()})

    def change(x: Any) -> Any:
        if isinstance(x, Affine):
            return form(x)
        if isinstance(x, Form):
            return Form(form(x.form), x.type)
        if isinstance(x, Var):
            return Var(names[x.name], x.type)
        if isinstance(x, Buffer):
            return replace(x, name=names[x.name], size=form(x.size))
        if isinstance(x, (Let, Assign, Ticket)):
            inside = {f.name: rebuilt(getattr(x, f.name), change) for f in fields(x) if f.name != "name"}
            return replace(x, name=names[x.name], **inside)
        if isinstance(x, Loop):
            inside = {f.name: rebuilt(getattr(x, f.name), change) for f in fields(x) if f.name != "var"}
            return replace(x, var=names[x.var], **inside)
        if isinstance(x, (Stage, Signal)):
            return replace(x, name=launched[x])
        if isinstance(x, TensorMap):
            extents = tuple(form(e) for e in x.extents)
            return replace(x, name=launched[x], buffer=change(x.buffer), extents=extents)
        return None

    dims = tuple(names[d] for d in kernel.dims)
    buffers, body = rebuilt(kernel.buffers, change), rebuilt(kernel.body, change)
    scratch, launch = rebuilt(kernel.scratch, change), rebuilt(kernel.launch, change)
    return Kernel(title, buffers, dims, body, scratch, kernel.note, launch, kernel.words)


def narrow_indices(kernel: Kernel) -> Kernel:
    """i64 expressions that no data goes into, and that no data is made of, get the type "int"."""
    return _Narrow(kernel).run()


class _Narrow:
    """`wide`: variables that hold data, found by going over all statements until none is added."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.wide: set[str] = set()
        self.bound: set[str] = set()

    def run(self) -> Kernel:
        body = list(statements(self.kernel.body))
        self.bound = {s.name for s in body if isinstance(s, (Let, Assign))}
        known = -1
        while known < len(self.wide):
            known = len(self.wide)
            for s in body:
                if isinstance(s, (Let, Assign)) and s.value.type == "i64":
                    if s.name in self.wide:
                        self.demand(s.value)
                    elif self.is_wide(s.value):
                        self.wide.add(s.name)
                elif isinstance(s, Store) and s.value.type == "i64":
                    self.demand(s.value)
            rebuilt(self.kernel.body, self.casts)
        return rebuilt(self.kernel, self.change)

    def casts(self, x: Any) -> Any:
        if isinstance(x, Call) and self.is_data(x):
            self.demand(x.args[0])
        return None

    def is_data(self, x: Call) -> bool:
        """A cast of i64 to a float or to 64 bits. One to bool only asks for zero, others keep 32 bits of a variable."""
        if x.op not in ("cast", "bits") or x.args[0].type != "i64" or x.type == "bool":
            return False
        return x.type in ("f32", "f64", "i64", "u64") or not isinstance(x.args[0], (Var, Form))

    def demand(self, e: Expr) -> None:
        if isinstance(e, Var) and e.type == "i64":
            self.wide |= {e.name} & self.bound
        elif isinstance(e, Form):
            self.wide |= {d.name for d in e.form.dims()} & self.bound
        elif isinstance(e, Call) and e.type == "i64" and e.op != "cast":
            for x in e.args:
                self.demand(x)
        elif isinstance(e, Select):
            self.demand(e.yes)
            self.demand(e.no)

    def is_wide(self, e: Expr) -> bool:
        if isinstance(e, Var):
            return e.name in self.wide
        if isinstance(e, Form):
            return any(d.name in self.wide for d in e.form.dims())
        if isinstance(e, Select):
            return self.is_wide(e.yes) or self.is_wide(e.no)
        if isinstance(e, Call):
            if e.op in ("cast", "bits"):
                x = e.args[0]
                shared = isinstance(x, Load) and x.buffer.space == "shared"  # a tile's number, not data
                return x.type not in ("bool", "i64") and not shared
            return any(self.is_wide(x) for x in e.args)
        return isinstance(e, Load)

    def change(self, x: Any) -> Any:
        if isinstance(x, (Let, Assign)) and x.value.type == "i64":
            return replace(x, value=self.expr(x.value, x.name in self.wide))
        if isinstance(x, Store) and x.value.type == "i64":
            return replace(x, index=rebuilt(x.index, self.change), value=self.expr(x.value, True))
        if isinstance(x, Call) and self.is_data(x):
            return replace(x, args=(self.expr(x.args[0], True),))
        if isinstance(x, Call) and x.op in _JUDGED and any(_large(a) for a in x.args if a.type == "i64"):
            args = tuple(self.expr(a, True) if a.type == "i64" else rebuilt(a, self.change) for a in x.args)
            return replace(x, args=args)
        if isinstance(x, (Var, Literal, Form, Call, Select)) and x.type == "i64":
            return self.expr(x, False)
        return None

    def expr(self, e: Expr, wide: bool) -> Expr:
        """An i64 expression; where `wide`, its operations are done in 64 bits."""
        wide |= self.is_wide(e)
        if isinstance(e, Load):
            return replace(e, index=rebuilt(e.index, self.change))
        if isinstance(e, Form):
            return e if self.is_wide(e) else _summed(e.form) if wide else replace(e, type="int")
        if isinstance(e, Var):
            narrow = replace(e, type="int")
            return e if e.name in self.wide else Call("cast", (narrow,), "i64") if wide else narrow
        if isinstance(e, Literal):
            return e if wide else replace(e, type="int")
        kind = "i64" if wide else "int"
        if isinstance(e, Select):
            yes, no = self.expr(e.yes, wide), self.expr(e.no, wide)
            return Select(rebuilt(e.condition, self.change), yes, no, kind)
        if isinstance(e, Call):
            inside = (self.expr(x, wide) if x.type == "i64" else rebuilt(x, self.change) for x in e.args)
            return replace(e, args=tuple(inside), type=kind)
        return e


_JUDGED = frozenset("lt le eq idiv imod bitand bitor bitxor shl shr".split())
"""Operations whose result is wrong if an operand wraps; addresses stay below 2^31 by themselves."""
_FACTOR = 1 << 10
"""Coefficients below this keep positions of up to two million points in 32 bits."""


def _large(e: Expr) -> bool:
    """Whether an expression of positions may leave 32 bits: a product of two of them, or a large multiple of one."""
    if isinstance(e, Form):
        return any(len(monomial) > 1 or (monomial and abs(c) >= _FACTOR) for monomial, c in e.form.terms)
    if isinstance(e, Call) and e.op == "mul" and not any(isinstance(a, Literal) for a in e.args):
        return True
    if isinstance(e, Call) and e.op == "mul":
        return any(isinstance(a, Literal) and abs(int(a.value)) >= _FACTOR for a in e.args)
    return any(_large(a) for a in operands(e) if a.type == "i64") if isinstance(e, (Call, Select)) else False


def _summed(form: Affine) -> Expr:
    """An affine form in 64 bits; a single variable fits 32."""
    if len(form.terms) == 1 and form.terms[0][1] == 1 and len(form.terms[0][0]) == 1:
        return Form(form, "int")
    total: Expr | None = None
    for monomial, coefficient in form.terms:
        term: Expr = Literal(coefficient, "i64")
        for atom in monomial:
            term = Call("mul", (term, Call("cast", (Var(atom.name, "int"),), "i64")), "i64")
        total = term if total is None else Call("add", (total, term), "i64")
    return total if total is not None else Literal(0, "i64")


def some_elements(kernel: Kernel) -> Kernel:
    """Arrays of a thread or a block that have no elements get one, and reads that never run (in front of an array)
    read the first one: compilers of shading languages and NVRTC refuse what stands there.
    """

    def change(x: Any) -> Any:
        if isinstance(x, Load) and isinstance(x.index, Form) and (x.index.form.value or 0) < 0:
            return replace(x, buffer=change(x.buffer) or x.buffer, index=Form(affine(0), x.index.type))
        empty = isinstance(x, Buffer) and x.space in ("local", "shared") and x.size.value == 0
        return replace(x, size=affine(1)) if empty else None

    return rebuilt(kernel, change)
