"""CUDA C++ for chips with warp groups and bulk copies (nvcc, NVRTC): the table of spellings, and the frame of a file.

A source file is the prelude, one wrapper per shape of matrix product that its kernels use, and the kernels. Indices are
`int`: the host passes no buffer of 2^31 elements. i64 data is `long long` (legalize.narrow_indices tells them apart).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tang_egg.codegen.device import (
    BYTES,
    GROUP,
    LINE,
    STEP,
    Announce,
    Arrive,
    Await,
    CopyCommit,
    CopyDrain,
    CopyIn,
    CopyOut,
    Expect,
    Forever,
    Launch,
    Leave,
    LoadTile,
    Mma,
    MmaCommit,
    MmaFence,
    MmaWait,
    Packed,
    ProxyFence,
    Retire,
    Role,
    Roles,
    Signal,
    Stage,
    StoreTile,
    Sync,
    Ticket,
    Tile,
    WarpSync,
)
from tang_egg.codegen.kernel import Buffer, Expr, Form, Kernel, Loop, element, statements
from tang_egg.codegen.legalize import legal_names, narrow_indices, rebuilt
from tang_egg.codegen.printer import Dialect, Printer, form_text, print_kernel
from tang_egg.errors import CodegenError

BLOCK = 256
"""Threads of a block of a kernel that has no launch of its own, at most."""
REGISTERS = 65_536
"""Registers of a multiprocessor."""
MOST_REGISTERS = 255
"""Registers that one thread can have."""
UNROLLED = 64
"""Iterations up to which a loop of kind `vector` is unrolled, so that arrays indexed by it become registers."""

_TYPES = {
    "f32": "float", "f64": "double", "f16": "te_f16", "bf16": "te_bf16", "tf32": "float", "bool": "bool", "int": "int",
    "i8": "signed char", "i16": "short", "i32": "int", "i64": "long long",
    "u8": "unsigned char", "u16": "unsigned short", "u32": "te_u32", "u64": "te_u64",
    "bf16x2": "te_u32", "f16x2": "te_u32",
}  # fmt: skip


def _type(name: str) -> str:
    if name not in _TYPES:
        raise CodegenError(
            f"CUDA has no type {name}",
            where="the dialect's table of types",
            mend="leave loops of kind 'vector' as they are: each thread works on scalars and pairs",
        )
    return _TYPES[name]


def _stored(name: str) -> str:
    """The type of an element in memory: a bool there is any byte."""
    return "unsigned char" if name == "bool" else _type(name)


def _literal(value: float | int | bool, type: str) -> str:
    if type in ("f32", "f64"):
        single = type == "f32"
        number = float(value)
        if math.isnan(number):
            return "__int_as_float(0x7fc00000)" if single else "__longlong_as_double(0x7ff8000000000000LL)"
        if math.isinf(number):
            text = "__int_as_float(0x7f800000)" if single else "__longlong_as_double(0x7ff0000000000000LL)"
            return text if number > 0 else f"(-{text})"
        text = f"{number!r}{'f' if single else ''}"
        return f"({text})" if text.startswith("-") else text
    if type in ("f16", "bf16"):
        return f"te_to_{type}({_literal(value, 'f32')})"
    if type == "bool":
        return "true" if value else "false"
    if type == "i64":
        return "(-9223372036854775807LL - 1)" if value == -(2**63) else f"{value}LL" if value >= 0 else f"({value}LL)"
    if type == "u64":
        return f"{value}ULL"
    if type in ("int", "i32"):
        return "(-2147483647 - 1)" if value == -(2**31) else str(value) if value >= 0 else f"({value})"
    return f"(({_TYPES[type]}){value})"


def _strip(index: str) -> str:
    return index[1:-1] if index.startswith("(") and index.endswith(")") and "(" not in index[1:-1] else index


def _declare(buffer: Buffer, size: str) -> str:
    kind = _stored(buffer.type)
    if buffer.space == "scratch":
        place = f"te_scratch + te_place * te_scratch_size + te_offset_{buffer.name}"
        return f"{kind} *__restrict__ {buffer.name} = ({kind} *)({place});"
    if buffer.space == "shared":
        return f"__shared__ {kind} {buffer.name}[{size}];"
    return f"{kind} {buffer.name}[{size}];"


def _build(items: tuple[str, ...], type: str) -> str:
    return f"te_pack_{element(type)}({', '.join(items)})"


# ---- the frame ----


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter of a printed kernel. `kind`: "map", "buffer", "counters", "scratch" or "dim"."""

    kind: str
    name: str
    type: str = ""
    space: str = ""


def arguments(kernel: Kernel) -> tuple[Argument, ...]:
    """What a launch passes, in order: tensor maps (128 bytes each, by value), pointers to buffers, the pointer to the
    counters if there are any, that to the scratch memory of all threads if any is used, and dims as 32-bit integers.
    """
    launch = kernel.launch
    found = [Argument("map", m.name, m.buffer.type) for m in (launch.maps if launch else ())]
    found += [Argument("buffer", b.name, b.type, "output" if b.role == "output" else "input") for b in kernel.buffers]
    if launch is not None and launch.counters:
        found.append(Argument("counters", "te_counters", "i32"))
    if kernel.scratch:
        found.append(Argument("scratch", "te_scratch", "u8"))
    return (*found, *(Argument("dim", d, "i32") for d in kernel.dims))


def _parameter(a: Argument, aliased: set[str]) -> str:
    if a.kind == "map":
        return f"const __grid_constant__ te_map {a.name}"
    if a.kind == "counters":
        return f"int *{a.name}"
    if a.kind == "scratch":
        return f"char *__restrict__ {a.name}"
    if a.kind == "dim":
        return f"const int {a.name}"
    const = "" if a.space == "output" else "const "
    return f"{const}{_stored(a.type)} *{'' if a.name in aliased else '__restrict__ '}{a.name}"


def _signature(kernel: Kernel) -> list[str]:
    launch = kernel.launch
    bounds = f"{launch.threads}, 1" if launch else f"{BLOCK}"
    aliased = {b.name for b in kernel.buffers if b.alias}
    parameters = [_parameter(a, aliased) for a in arguments(kernel)]
    lines = [f'extern "C" __global__ void __launch_bounds__({bounds}) {kernel.name}(']
    lines += [f"{p}{')' if n == len(parameters) - 1 else ','}" for n, p in enumerate(parameters)]
    lines[-1] += ") {" if not parameters else " {"
    if kernel.scratch:
        lines += _scratch(kernel)
    return lines + (_launched(kernel, launch) if launch else [])


def _scratch(kernel: Kernel) -> list[str]:
    """A slice of the workspace per thread of the grid; `te_scratch_size` bytes, as the C dialect counts them."""
    lines, offset = ["const long long te_place = blockIdx.x * (long long)blockDim.x + threadIdx.x;"], "0"
    for b in kernel.scratch:
        size = f"({form_text(b.size)} * (long long)sizeof({_stored(b.type)}) + 63) / 64 * 64"
        lines.append(f"const long long te_offset_{b.name} = {offset};")
        offset = f"te_offset_{b.name} + {size}"
    return [*lines, f"const long long te_scratch_size = {offset};"]


def _launched(kernel: Kernel, launch: Launch) -> list[str]:
    """Names of what is in shared memory, the built-in variables, and barriers made ready."""
    lines = ["const int te_block = blockIdx.x, te_blocks = gridDim.x;"]
    lines += [f"const int te_thread = threadIdx.x & {GROUP - 1};"]
    roles = any(isinstance(s, Roles) for s in kernel.body)
    name = "te_warpgroup" if roles else "te_group"
    lines += [f"const int {name} = __shfl_sync(~0u, threadIdx.x / {GROUP}, 0);"]
    if launch.shared_bytes:
        lines.append("extern __shared__ unsigned char te_shared[];")
        lines.append("const te_u32 te_base = (te_address(te_shared) + 1023) & ~1023u;")
    offset = 0
    for stage in launch.stages:
        lines.append(f"const te_u32 {stage.name} = {_sum('te_base', offset)};")
        offset += stage.bytes * stage.depth
    for signal in launch.signals:
        lines.append(f"const te_u32 {signal.name} = {_sum('te_base', offset)};")
        offset += 8 * signal.depth
    for b in launch.shared:
        kind = f"volatile {_stored(b.type)} *"
        place = f"te_shared + (te_base - te_address(te_shared)) + {offset}"
        lines.append(f"{kind}const {b.name} = ({kind})({place});")
        offset += -(-(b.size.value or 0) * BYTES[b.type] // 16) * 16
    if launch.signals or launch.maps:
        lines.append("if (threadIdx.x == 0) {")
        for s in launch.signals:
            each = f"for (int n = 0; n < {s.depth}; ++n) " if s.depth > 1 else ""
            place = f"{s.name} + 8 * n" if s.depth > 1 else s.name
            lines.append(f"    {each}te_barrier({place}, {s.arrivals});")
        lines += ["    te_barriers_ready();"] if launch.signals else []
        lines += [f"    te_prefetch({m.name});" for m in launch.maps]
        lines += ["}", "__syncthreads();"]
    return lines


# ---- addresses ----


def _sum(base: str, *terms: str | int) -> str:
    """`base` plus terms, without those that are 0."""
    numbers = sum(t for t in terms if isinstance(t, int))
    texts = [t for t in terms if isinstance(t, str)]
    return " + ".join([base, *texts, *([str(numbers)] if numbers else [])])


def _times(e: Expr, n: int, p: Printer) -> str | int:
    """An expression times a number; a number where the expression is one."""
    if isinstance(e, Form) and e.form.value is not None:
        return e.form.value * n
    text = p.expr(e)
    return text if n == 1 else f"{text} * {n}"


def _barrier_at(signal: Signal, slot: Expr, p: Printer) -> str:
    return _sum(signal.name, _times(slot, 8, p))


def _box_at(stage: Stage, slot: Expr, box: Expr | int, p: Printer, line: Expr | None = None) -> str:
    """The shared address of a line of a box of a tile."""
    along = box * stage.box_bytes if isinstance(box, int) else _times(box, stage.box_bytes, p)
    down = 0 if line is None else _times(line, LINE, p)
    return _sum(stage.name, _times(slot, stage.bytes, p), along, down)


def _coordinates(at: tuple[Expr, ...], p: Printer) -> str:
    return ", ".join(_strip(p.expr(x)) for x in reversed(at))


# ---- matrix products ----


@dataclass(frozen=True, slots=True, order=True)
class Product:
    """A shape of matrix product: 64 x `n`, operands of `type`; `a`, `b`: major of a shared operand, `a` may be "r"."""

    type: str
    n: int
    a: str
    b: str

    @property
    def name(self) -> str:
        return f"te_mma_{self.type}_{self.n}_{self.a}_{self.b}"

    def wrapper(self) -> str:
        """A device function that issues one instruction; `keep` 0 takes the accumulator for zero."""
        count = self.n // 2
        sums = ", ".join(f"%{i}" for i in range(count))
        places = ", ".join(f'"+f"(d[{i}])' for i in range(count))
        depth = STEP // BYTES[self.type]
        shared = self.a != "r"
        a = f"%{count}" if shared else "{" + ", ".join(f"%{count + i}" for i in range(4)) + "}"
        after = count + (1 if shared else 4)
        turned = [str(int(major == "mn")) for major in ((self.a, self.b) if shared else (self.b,))]
        flags = "".join(f", {t}" for t in turned) if BYTES[self.type] == 2 else ""
        takes = "te_u64 a" if shared else "te_u32 a0, te_u32 a1, te_u32 a2, te_u32 a3"
        given = '"l"(a)' if shared else ", ".join(f'"r"(a{i})' for i in range(4))
        shape = f"wgmma.mma_async.sync.aligned.m64n{self.n}k{depth}.f32.{self.type}.{self.type}"
        return (
            f"TE_DEVICE void {self.name}(float (&d)[{count}], {takes}, te_u64 b, int keep)\n{{\n"
            f'    asm volatile("{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{after + 1}, 0;\\n"\n'
            f'                 "{shape} "\n'
            f'                 "{{{sums}}}, "\n'
            f'                 "{a}, %{after}, p, 1, 1{flags};\\n}}\\n"\n'
            f"                 : {places}\n"
            f'                 : {given}, "l"(b), "r"(keep));\n}}\n'
        )


def product(s: Mma) -> Product:
    """The shape of a product. Raises CodegenError where the chip has no such instruction."""
    kind = "tf32" if BYTES[s.b.stage.type] == 4 else s.b.stage.type
    columns = 2 * (s.acc.size.value or 0)
    a = "r" if isinstance(s.a, Packed) else s.a.major
    held = element(s.a.buffer.type) if isinstance(s.a, Packed) else s.a.stage.type
    wrong = ""
    if columns % 8 or not 8 <= columns <= 256:
        wrong = f"an accumulator of {columns} columns"
    elif BYTES[held] != BYTES[s.b.stage.type] or (BYTES[held] == 2 and held != kind):
        wrong = f"a product of {held} and {s.b.stage.type}"
    elif kind == "tf32" and (a != "k" or s.b.major != "k"):
        wrong = "a product of f32 whose contraction index does not lie along lines, or with an operand in registers"
    if wrong:
        raise CodegenError(
            f"there is no matrix instruction for {wrong}",
            where=f"a product into '{s.acc.name}'",
            mend="use 8, 16 ... 256 columns, one type of 16 bits, or f32 with both operands of major 'k'",
        )
    return Product(kind, columns, a, s.b.major)


def _descriptor(t: Tile, p: Printer) -> str:
    if t.major == "k":
        return f"te_tile({_sum(_box_at(t.stage, t.slot, 0, p), _times(t.first, LINE, p))}, 16)"
    return f"te_tile({_box_at(t.stage, t.slot, t.first, p)}, {t.stage.box_bytes})"


def _along(t: Tile, step: int) -> int:
    """16-byte units from an operand's start to where instruction `step` of the contraction index begins."""
    if t.major == "k":
        boxes, inside = divmod(step * STEP, LINE)
        return (boxes * t.stage.box_bytes + inside) // 16
    return step * (STEP // BYTES[t.stage.type]) * LINE // 16


def _mma(s: Mma, p: Printer) -> None:
    name = product(s).name
    p.emit("{")
    p.depth += 1
    if isinstance(s.a, Tile):
        p.emit(f"const te_u64 te_a = {_descriptor(s.a, p)};")
    p.emit(f"const te_u64 te_b = {_descriptor(s.b, p)};")
    p.emit(f"const int te_keep = !{p.expr(s.fresh)};")
    for step in range(s.steps):
        if isinstance(s.a, Packed):
            a = ", ".join(f"{s.a.buffer.name}[{s.a.first + 4 * step + n}]" for n in range(4))
        else:
            a = _sum("te_a", _along(s.a, step))
        p.emit(f"{name}({s.acc.name}, {a}, {_sum('te_b', _along(s.b, step))}, {1 if step else 'te_keep'});")
    p.depth -= 1
    p.emit("}")


# ---- other device statements ----


def _roles(s: Roles, p: Printer) -> None:
    first = 0
    for n, role in enumerate(s.roles):
        p.emit(f"{'} else ' if n else ''}if (te_warpgroup < {first + role.groups}) {{  // {role.name}")
        p.depth += 1
        _role(role, first, p)
        p.depth -= 1
        first += role.groups
    p.emit("}")


def _role(role: Role, first: int, p: Printer) -> None:
    assert p.kernel.launch is not None
    cap = min(REGISTERS // p.kernel.launch.threads, MOST_REGISTERS) // 8 * 8
    if role.registers:
        p.emit(f"te_{'fewer' if role.registers < cap else 'more'}_registers<{role.registers}>();")
    p.emit(f"const int te_group = te_warpgroup{f' - {first}' if first else ''};")
    if not role.single:
        p.block(role.body)
        return
    p.emit("if (te_group == 0 && te_thread == 0) {")
    p.nested(role.body)
    p.emit("}")


def _forever(s: Forever, p: Printer) -> None:
    p.emit("while (true) {")
    p.nested(s.body)
    p.emit("}")


_ARRIVES = {"thread": "", "warp": "if ((te_thread & 31) == 0) ", "group": "if (te_thread == 0) "}


def _copy_in(s: CopyIn, p: Printer) -> None:
    to, bar = _box_at(s.stage, s.slot, s.box, p), _barrier_at(s.signal, s.signal_slot, p)
    p.emit(f"te_copy_in({to}, {s.map.name}, {bar}, {_coordinates(s.at, p)});")


def _copy_out(s: CopyOut, p: Printer) -> None:
    p.emit(f"te_copy_out({s.map.name}, {_box_at(s.stage, s.slot, s.box, p, s.line)}, {_coordinates(s.at, p)});")


def _store_tile(s: StoreTile, p: Printer) -> None:
    values = ", ".join(p.expr(v) for v in s.values)
    size = 8 * BYTES[s.stage.type]
    p.emit(f"te_store_{size}({_box_at(s.stage, s.slot, s.box, p)}, {_strip(p.expr(s.line))}, {s.chunk}, {values});")


def _load_tile(s: LoadTile, p: Printer) -> None:
    into = ", ".join(f"{s.target.name}[{s.at + n}]" for n in range(4))
    name = "te_load_16" if s.major == "k" else "te_load_16_turned"
    p.emit(f"{name}({into}, {_box_at(s.stage, s.slot, s.box, p)}, {_strip(p.expr(s.line))}, {s.chunk});")


def _mma_wait(s: MmaWait, p: Printer) -> None:
    p.emit(f"te_mma_wait<{s.pending}>();")
    for b in s.pins:
        p.emit(f"te_pin({b.name});")


def _retire(s: Retire, p: Printer) -> None:
    p.emit("__threadfence();")
    last = f"atomicAdd(te_counters + {s.counter + 1}, 1) == te_blocks - 1"
    p.emit(f"if ({last}) te_counters[{s.counter}] = 0, te_counters[{s.counter + 1}] = 0;")


def _line(text: Callable[[Any, Printer], str]) -> Callable[[Any, Printer], None]:
    """A statement that is one line."""
    return lambda s, p: p.emit(text(s, p))


_DEVICE: dict[type, Callable[[Any, Printer], None]] = {
    Roles: _roles,
    Forever: _forever,
    Leave: _line(lambda s, p: f"if ({_strip(p.expr(s.condition))}) break;"),
    Expect: _line(lambda s, p: f"te_expect({_barrier_at(s.signal, s.slot, p)}, {s.bytes});"),
    Arrive: _line(lambda s, p: f"{_ARRIVES[s.who]}te_arrive({_barrier_at(s.signal, s.slot, p)});"),
    Await: _line(lambda s, p: f"te_await({_barrier_at(s.signal, s.slot, p)}, {p.expr(s.parity)});"),
    CopyIn: _copy_in,
    CopyOut: _copy_out,
    CopyCommit: _line(lambda s, p: "te_copy_commit();"),
    CopyDrain: _line(lambda s, p: f"te_copy_drain{'_reads' if s.reading else ''}<{s.pending}>();"),
    Mma: _mma,
    MmaFence: _line(lambda s, p: "te_mma_fence();"),
    MmaCommit: _line(lambda s, p: "te_mma_commit();"),
    MmaWait: _mma_wait,
    StoreTile: _store_tile,
    LoadTile: _load_tile,
    Sync: _line(lambda s, p: f"te_sync({p.expr(s.id)}, {s.threads});"),
    Announce: _line(lambda s, p: f"te_announce({p.expr(s.id)}, {s.threads});"),
    WarpSync: _line(lambda s, p: "__syncwarp();"),
    ProxyFence: _line(lambda s, p: "te_proxy_fence();"),
    Ticket: _line(lambda s, p: f"const int {s.name} = te_blocks + atomicAdd(te_counters + {s.counter}, 1);"),
    Retire: _retire,
}


# ---- scalars ----

_OPS: dict[str, str] = {
    "add": "({0} + {1})", "mul": "({0} * {1})", "neg": "(-{0})",
    "max": "te_max_{to}({0}, {1})", "min": "te_min_{to}({0}, {1})",
    "recip:f32": "(1.0f / {0})", "recip:f64": "(1.0 / {0})",
    "lt": "({0} < {1})", "le": "({0} <= {1})", "eq": "({0} == {1})",
    "and": "({0} && {1})", "or": "({0} || {1})", "not": "(!{0})",
    "idiv": "te_idiv_{to}({0}, {1})", "imod": "te_imod_{to}({0}, {1})", "udiv": "({0} / {1})", "umod": "({0} % {1})",
    "bitand": "({0} & {1})", "bitor": "({0} | {1})", "bitxor": "({0} ^ {1})",
    "shl": "te_shl_{to}({0}, {1})", "shr": "te_shr_{to}({0}, {1})",
    "cast": "(({type}){0})", "bits": "te_bits<{type}, {held}>({0})",
    "fma:f32": "fmaf({0}, {1}, {2})", "fma:f64": "fma({0}, {1}, {2})",
    "fast_max:f32": "fmaxf({0}, {1})", "fast_min:f32": "fminf({0}, {1})", "fast_recip:f32": "te_recip({0})",
    "exp2:f32": "te_exp2({0})", "log2:f32": "te_log2({0})",
    "shuffle_xor": "__shfl_xor_sync(~0u, {0}, {1})", "shuffle_xor:bool": "(__shfl_xor_sync(~0u, (int){0}, {1}) != 0)",
    "any_warp:bool": "(__any_sync(~0u, {0}) != 0)",
    "atan2:f32": "atan2f({0}, {1})", "atan2:f64": "atan2({0}, {1})",
}  # fmt: skip
for _op in ("exp", "log", "tanh", "erf", "sin", "sqrt", "floor"):
    _OPS |= {f"{_op}:f32": f"{_op}f({{0}})", f"{_op}:f64": f"{_op}({{0}})"}
for _t in ("i8", "i16", "i32", "i64", "u8", "u16"):  # overflow of a signed type is undefined in C++, and here it wraps
    _OPS |= {f"{_op}:{_t}": f"te_{_op}_{_t}({{0}}, {{1}})" for _op in ("add", "mul")} | {
        f"neg:{_t}": f"te_neg_{_t}({{0}})"
    }
for _float in ("f16", "bf16"):
    _OPS |= {f"cast:f32:{_float}": f"te_of_{_float}({{0}})", f"cast:f64:{_float}": f"((double)te_of_{_float}({{0}}))"}
    _OPS |= {f"cast:{_float}:{_x}": f"te_to_{_float}({{0}})" for _x in ("f32", "f64")}
_INTEGERS = [_t for _t in _TYPES if _t[0] in "iu"]
for _float in ("f16", "bf16"):
    _OPS |= {f"cast:{_float}:{_t}": f"te_to_{_float}((float){{0}})" for _t in (*_INTEGERS, "bool")}
for _float in ("f32", "f64"):
    _OPS |= {f"cast:{_t}:{_float}": f"(({_TYPES[_t]})te_whole((double){{0}}))" for _t in _INTEGERS}
    _OPS |= {f"cast:bool:{_float}": "({0} != 0)"}
_OPS |= {f"cast:bool:{_t}": "({0} != 0)" for _t in _INTEGERS} | {"cast:bool:bool": "({0} != 0)"}


def plain_loops(kernel: Kernel) -> Kernel:
    """Vector loops become unrolled or, where long, serial; serial loops with device statements stay rolled."""

    def change(x: Any) -> Any:
        if not isinstance(x, Loop) or x.kind not in ("vector", "serial"):
            return None
        body = rebuilt(x.body, change)
        if x.kind == "serial":
            rolled = any(type(s) in _DEVICE for s in statements(x.body))
            return replace(x, kind="rolled" if rolled else "serial", body=body)
        short = isinstance(x.stop, Form) and (x.stop.form.value or 0) <= UNROLLED * x.step
        return replace(x, kind="unrolled" if short else "serial", body=body)

    return rebuilt(kernel, change)


_FOR = "for (int {var} = {start}; {var} < {stop}; {step}) {{"
_GRID = "for (int {var} = {start} + {by} * te_grid_place(); {var} < {stop}; {var} += {by} * te_grid_size()) {{"

CUDA = Dialect(
    name="cuda",
    types=_type,
    ops=_OPS,
    literal=_literal,
    load=lambda buffer, index, type: f"{buffer.name}[{_strip(index)}]",
    store=lambda buffer, index, value, type: f"{buffer.name}[{_strip(index)}] = {value};",
    declare=_declare,
    build=_build,
    lane="te_lane_{2}({0}, {1})",
    select="({0} ? {1} : {2})",
    vector_select="({0} ? {1} : {2})",
    let="const {0} {1} = {2};",
    assign="{1} = {2};",
    loops={
        "serial": (_FOR,),
        "rolled": ("#pragma unroll 1", _FOR),
        "unrolled": ("#pragma unroll", _FOR),
        "grid": (_GRID,),
    },
    barrier="__syncthreads();",
    signature=_signature,
    passes=(legal_names, narrow_indices, plain_loops),
    device=_DEVICE,
)


def prelude() -> str:
    """The functions that every source starts with."""
    return (Path(__file__).parent.parent / "prelude" / "device.cuh").read_text()


def products(kernels: Iterable[Kernel]) -> str:
    """One wrapper per shape of matrix product in some kernels."""
    shapes = {product(s) for k in kernels for s in statements(k.body) if isinstance(s, Mma)}
    return "\n".join(p.wrapper() for p in sorted(shapes))


def source(*kernels: Kernel) -> str:
    """A whole file: the prelude, the products that the kernels use, and the kernels."""
    parts = [prelude(), products(kernels), *(print_kernel(k, CUDA) for k in kernels)]
    return "\n".join(p for p in parts if p)
