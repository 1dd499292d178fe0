"""CUDA C++ for chips with warp groups and bulk copies (nvcc, NVRTC): the table of spellings, and the frame of a file.

Statements of device.py are spelled in cuda_device, the functions that they call are in prelude/device.cuh.
A source file is the prelude, one wrapper per shape of matrix product that its kernels use, and the kernels. Indices are
`int`: the host passes no buffer of 2^31 elements. i64 data is `long long` (legalize.narrow_indices tells them apart).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tang_egg import ops
from tang_egg.codegen.device import BYTES, GROUP, Launch, Mma, Roles
from tang_egg.codegen.dialects.cuda_device import DEVICE, product, sum_of
from tang_egg.codegen.kernel import (
    Barrier,
    Buffer,
    Call,
    Form,
    If,
    Kernel,
    Loop,
    Stmt,
    element,
    expressions,
    statements,
    subexpressions,
)
from tang_egg.codegen.legalize import legal_names, narrow_indices, rebuilt, some_elements
from tang_egg.codegen.legalize_aligned import aligned_runs
from tang_egg.codegen.legalize_barriers import needed_barriers
from tang_egg.codegen.legalize_quick import quick_functions
from tang_egg.codegen.legalize_runs import ReadRun, runs
from tang_egg.codegen.printer import Dialect, form_text, print_kernel, strip, whole_literal
from tang_egg.errors import CodegenError
from tang_egg.ops_eight import EIGHT

BLOCK = 256
"""Threads of a block of a kernel that has no launch of its own, at most."""
UNROLLED = 64
"""Iterations up to which a loop of kind `vector` is unrolled, so that arrays indexed by it become registers."""
AHEAD, MOST = 4, 1024
"""Iterations of a loop that reads runs whose loads are on their way together, and statements that they may become."""

_TYPES = {
    "f32": "float", "f64": "double", "f16": "te_f16", "bf16": "te_bf16", "tf32": "float", "bool": "bool", "int": "int",
    "i8": "signed char", "i16": "short", "i32": "int", "i64": "long long",
    "u8": "unsigned char", "u16": "unsigned short", "u32": "te_u32", "u64": "te_u64",
    "bf16x2": "te_u32", "f16x2": "te_u32", **{t: f"te_{t}" for t in EIGHT},
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
    if type in ("f16", "bf16", *EIGHT):
        return f"te_to_{type}({_literal(value, 'f32')})"
    return whole_literal(int(value), type, _TYPES, "LL")


def _declare(buffer: Buffer, size: str) -> str:
    kind = _stored(buffer.type)
    if buffer.space == "scratch":
        place = f"te_scratch + te_place * te_scratch_size + te_offset_{buffer.name}"
        return f"{kind} *__restrict__ {buffer.name} = ({kind} *)({place});"
    if buffer.space == "shared":
        return f"__shared__ alignas(16) {kind} {buffer.name}[{size}];"
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
    bounds = f"{launch.threads}, {launch.resident}" if launch else f"{BLOCK}"
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
    """Names of what is in shared memory, the built-in variables, barriers made ready, and how kernels overlap."""
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
        lines.append(f"const te_u32 {stage.name} = {sum_of('te_base', offset)};")
        offset += stage.bytes * stage.depth
    for signal in launch.signals:
        lines.append(f"const te_u32 {signal.name} = {sum_of('te_base', offset)};")
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
    lines += ["te_let_the_next_start();"] * launch.yields
    return lines + ["te_await_the_one_before();"] * launch.early


# ---- scalars ----

_OPS: dict[str, str] = {
    "add": "({0} + {1})", "mul": "({0} * {1})", "neg": "(-{0})",
    "max": "te_max_{to}({0}, {1})", "min": "te_min_{to}({0}, {1})",
    "recip:f32": "(1.0f / {0})", "recip:f64": "(1.0 / {0})",
    "lt": "({0} < {1})", "le": "({0} <= {1})", "eq": "({0} == {1})",
    "and": "({0} && {1})", "or": "({0} || {1})", "not": "(!{0})",
    "idiv": "te_idiv_{to}({0}, {1})", "imod": "te_imod_{to}({0}, {1})", "udiv": "({0} / {1})", "umod": "({0} % {1})",
    "whole_div:int": "te_whole_div({0}, {1})", "whole_mod:int": "te_whole_mod({0}, {1})",
    "bitand": "({0} & {1})", "bitor": "({0} | {1})", "bitxor": "({0} ^ {1})",
    "shl": "te_shl_{to}({0}, {1})", "shr": "te_shr_{to}({0}, {1})",
    "cast": "(({type}){0})", "bits": "te_bits<{type}, {held}>({0})",
    "fma:f32": "fmaf({0}, {1}, {2})", "fma:f64": "fma({0}, {1}, {2})",
    "fast_max:f32": "fmaxf({0}, {1})", "fast_min:f32": "fminf({0}, {1})", "fast_recip:f32": "te_recip({0})",
    "round_tf32:f32": "te_round_tf32({0})",
    "quick_erf:f32": "te_quick_erf({0})", "quick_tanh:f32": "te_quick_tanh({0})", "quick_exp:f32": "te_quick_exp({0})",
    "quick_recip:f32": "te_quick_recip({0})", "quick_sqrt:f32": "te_quick_sqrt({0})",
    "quick_one_plus_erf:f32": "te_quick_one_plus_erf({0})", "quick_one_plus_tanh:f32": "te_quick_one_plus_tanh({0})",
    "exp2:f32": "te_exp2({0})", "log2:f32": "te_log2({0})",
    "shuffle_xor": "__shfl_xor_sync(~0u, {0}, {1})", "shuffle_xor:bool": "(__shfl_xor_sync(~0u, (int){0}, {1}) != 0)",
    "max_warp": "te_max_warp_{to}({0})", "any_warp:bool": "(__any_sync(~0u, {0}) != 0)",
    "atan2:f32": "atan2f({0}, {1})", "atan2:f64": "atan2({0}, {1})",
}  # fmt: skip
for _op in ("exp", "log", "tanh", "erf", "sin", "sqrt", "floor"):
    _OPS |= {f"{_op}:f32": f"{_op}f({{0}})", f"{_op}:f64": f"{_op}({{0}})"}
for _t in ("i8", "i16", "i32", "i64", "u8", "u16"):  # overflow of a signed type is undefined in C++, and here it wraps
    _OPS |= {f"{_op}:{_t}": f"te_{_op}_{_t}({{0}}, {{1}})" for _op in ("add", "mul")} | {
        f"neg:{_t}": f"te_neg_{_t}({{0}})"
    }
for _float in ("f16", "bf16", *EIGHT):
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
    """Vector loops become unrolled or, where long, serial; serial loops with device statements stay rolled.

    Short ones whose only device statements read runs are unrolled AHEAD times, so that as many runs are on their way.
    """

    def change(x: Any) -> Any:
        if not isinstance(x, Loop) or x.kind not in ("vector", "serial"):
            return None
        body = rebuilt(x.body, change)
        if x.kind == "serial":
            found: set[type] = {type(s) for s in statements(x.body) if type(s) in DEVICE}
            reading = found == {ReadRun} and _free(x.body) and _expanded(body) * AHEAD <= MOST
            return replace(x, kind="ahead" if reading else "rolled" if found else "serial", body=body)
        short = isinstance(x.stop, Form) and (x.stop.form.value or 0) <= UNROLLED * x.step
        return replace(x, kind="unrolled" if short else "serial", body=body)

    return rebuilt(kernel, change)


def unsigned_divisions(kernel: Kernel) -> Kernel:
    """Divisions of positions without a correction of the sign; kernels of roles, which have few, stay as they are."""
    if any(isinstance(s, Roles) for s in kernel.body):
        return kernel

    def change(x: Any) -> Any:
        if not isinstance(x, Call) or x.op not in ("udiv", "umod") or x.type != "int":
            return None
        return replace(x, op=f"whole_{x.op[1:]}", args=tuple(rebuilt(a, change) for a in x.args))

    return rebuilt(kernel, change)


def _free(body: tuple[Stmt, ...]) -> bool:
    """Whether a body waits for no other thread and has no loop that stays one."""
    for s in statements(body):
        if isinstance(s, Barrier) or (isinstance(s, Loop) and s.kind == "serial"):
            return False
        found = {x.op for e in expressions(s) for x in subexpressions(e) if isinstance(x, Call)}
        if any("shuffle" in op or op.endswith("_warp") for op in found):
            return False
    return True


def _expanded(body: tuple[Stmt, ...]) -> int:
    """The statements of a body, those of unrolled loops once for each iteration."""
    total = 0
    for s in body:
        times = 1
        if isinstance(s, Loop) and s.kind == "unrolled" and isinstance(s.stop, Form):
            times = (s.stop.form.value or 1) // s.step
        inner = s.body if isinstance(s, Loop) else (*s.then, *s.otherwise) if isinstance(s, If) else ()
        total += times * _expanded(inner) if inner else 1
    return total


_FOR = "for (int {var} = {start}; {var} < {stop}; {step}) {{"
_GRID = "for (int {var} = {start} + {by} * te_grid_place(); {var} < {stop}; {var} += {by} * te_grid_size()) {{"

CUDA = Dialect(
    name="cuda",
    types=_type,
    ops=_OPS,
    literal=_literal,
    load=lambda buffer, index, type: f"{buffer.name}[{strip(index)}]",
    store=lambda buffer, index, value, type: f"{buffer.name}[{strip(index)}] = {value};",
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
        "ahead": (f"#pragma unroll {AHEAD}", _FOR),
        "unrolled": ("#pragma unroll", _FOR),
        "grid": (_GRID,),
    },
    barrier="__syncthreads();",
    signature=_signature,
    passes=(
        legal_names,
        narrow_indices,
        some_elements,
        runs(ops.BYTES),
        aligned_runs(ops.BYTES),
        needed_barriers,
        quick_functions,
        unsigned_divisions,
        plain_loops,
    ),
    device=DEVICE,
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
