"""OpenCL C 1.2: the table of spellings, and the frame of a source file.

A kernel of plain threads gets its buffers, its workspace if it has one, and dims as `int`; indices are `int` too. What
the prelude leaves out where a device has no doubles follows TE_DOUBLES, which a source defines when it needs it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from tang_egg.codegen.device import GROUP
from tang_egg.codegen.dialects.cuda import plain_loops
from tang_egg.codegen.kernel import Buffer, Kernel, expressions, statements, subexpressions
from tang_egg.codegen.legalize import legal_names, narrow_indices, some_elements
from tang_egg.codegen.legalize_even import even_loops, exchanges
from tang_egg.codegen.printer import Dialect, form_text, print_kernel, strip, whole_literal
from tang_egg.errors import CodegenError
from tang_egg.ops_eight import EIGHT

_VECTORS = "char uchar short ushort int uint long ulong float double half".split()
WORDS = frozenset(
    "kernel global local constant private generic uniform pipe bool half quad complex imaginary read_only write_only "
    "read_write uchar ushort uint ulong size_t ptrdiff_t intptr_t uintptr_t event_t sampler_t image1d_t image2d_t "
    "image3d_t image1d_buffer_t image1d_array_t image2d_array_t queue_t ndrange_t clk_event_t reserve_id_t vector "
    "pixel block_read_only __kernel __global isnan isinf barrier get_local_id get_global_id get_global_size "
    "get_group_id get_num_groups as_float as_uint as_int as_double as_long as_ulong as_char "
    "as_uchar as_short as_ushort cl_mem_fence_flags".split()
) | {f"{name}{n}" for name in _VECTORS for n in (2, 3, 4, 8, 16)}
"""Words that OpenCL C keeps for itself, beside those of C, and the functions that a printed kernel calls."""

_TYPES = {
    "f32": "float", "f64": "double", "f16": "te_f16", "bf16": "te_bf16", "bool": "bool", "int": "int",
    "i8": "char", "i16": "short", "i32": "int", "i64": "long",
    "u8": "uchar", "u16": "ushort", "u32": "uint", "u64": "ulong",
}  # fmt: skip


def _type(name: str) -> str:
    if name in EIGHT:
        raise CodegenError(
            "OpenCL C has no 8-bit floats",
            where=f"a kernel that reads, stores or rounds to {name}",
            mend="store f16 or bf16 instead, or use target='c' or 'cuda'",
        )
    if name not in _TYPES:
        raise CodegenError(
            f"OpenCL C has no type {name}",
            where="the dialect's table of types",
            mend="leave loops of kind 'vector' as they are: each thread works on scalars",
        )
    return _TYPES[name]


def _stored(name: str) -> str:
    """The type of an element in memory: a bool there is any byte."""
    return "uchar" if name == "bool" else _type(name)


def _literal(value: float | int | bool, type: str) -> str:
    if type in ("f32", "f64"):
        single, number = type == "f32", float(value)
        if math.isnan(number):
            return "as_float(0x7FC00000)" if single else "as_double(0x7FF8000000000000L)"
        if math.isinf(number):
            text = "INFINITY" if single else "((double)INFINITY)"
            return text if number > 0 else f"(-{text})"
        text = f"{number!r}{'f' if single else ''}"
        return f"({text})" if text.startswith("-") else text
    if type in ("f16", "bf16"):
        return f"te_to_{type}({_literal(value, 'f32')})"
    return whole_literal(int(value), type, _TYPES, "L")


def _declare(buffer: Buffer, size: str) -> str:
    kind = _stored(buffer.type)
    if buffer.space == "scratch":
        place = f"te_scratch + te_place * te_scratch_size + te_offset_{buffer.name}"
        return f"global {kind} *restrict {buffer.name} = (global {kind} *)({place});"
    if buffer.space == "shared":
        return f"local {kind} {buffer.name}[{size}];"
    return f"{kind} {buffer.name}[{size}];"


def _build(items: tuple[str, ...], type: str) -> str:
    raise CodegenError(
        f"OpenCL C kernels have no vectors such as {type}",
        where="the dialect's way to build a vector",
        mend="print this kernel in a dialect with matrix units",
    )


# ---- the frame ----


def doubles(kernel: Kernel) -> bool:
    """Whether a kernel stores or computes 64-bit floats."""
    found = (x for s in statements(kernel.body) for e in expressions(s) for x in subexpressions(e))
    return any(b.type == "f64" for b in (*kernel.buffers, *kernel.scratch)) or any(x.type == "f64" for x in found)


def _signature(kernel: Kernel) -> list[str]:
    launch = kernel.launch
    threads = launch.threads if launch else 256
    parameters: list[str] = []
    for b in kernel.buffers:
        const = "" if b.role == "output" else "const "
        parameters.append(f"global {const}{_stored(b.type)} *{'' if b.alias else 'restrict '}{b.name}")
    parameters += ["global char *restrict te_scratch"] if kernel.scratch else []
    parameters += [f"const int {d}" for d in kernel.dims]
    lines = [f"kernel __attribute__((reqd_work_group_size({threads}, 1, 1))) void {kernel.name}("]
    lines += [f"{p}{')' if n == len(parameters) - 1 else ','}" for n, p in enumerate(parameters)]
    lines[-1] += ") {" if not parameters else " {"
    if exchanges(kernel):
        lines.append("local ulong te_room[32];")
    if kernel.scratch:
        lines += scratch_lines(kernel, "long", _stored)
    lines.append("const int te_block = (int)get_group_id(0), te_blocks = (int)get_num_groups(0);")
    place = "(int)get_local_id(0)"
    return [*lines, f"const int te_thread = {place} & {GROUP - 1}, te_group = {place} / {GROUP};"]


def scratch_lines(kernel: Kernel, long: str, stored: Any) -> list[str]:
    """A slice of the workspace per thread of the grid; `te_scratch_size` bytes, as the C dialect counts them."""
    lines, offset = [f"const {long} te_place = te_grid_place();"], "0"
    for b in kernel.scratch:
        size = f"({form_text(b.size)} * ({long})sizeof({stored(b.type)}) + 63) / 64 * 64"
        lines.append(f"const {long} te_offset_{b.name} = {offset};")
        offset = f"te_offset_{b.name} + {size}"
    return [*lines, f"const {long} te_scratch_size = {offset};"]


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
    "cast": "(({type}){0})", "bits": "te_bits_{to}_{of}({0})",
    "fma": "fma({0}, {1}, {2})", "atan2": "atan2({0}, {1})",
    "shuffle_xor": "te_shuffle_{to}(te_room, {0}, {1})",
}  # fmt: skip
for _op in ("exp", "log", "tanh", "erf", "sin", "sqrt", "floor"):
    _OPS[_op] = f"{_op}({{0}})"
for _t in ("i8", "i16", "i32", "i64", "u8", "u16"):  # overflow of a signed type is undefined in C, and here it wraps
    _OPS |= {f"{_op}:{_t}": f"te_{_op}_{_t}({{0}}, {{1}})" for _op in ("add", "mul")} | {
        f"neg:{_t}": f"te_neg_{_t}({{0}})"
    }
_INTEGERS = [_t for _t in _TYPES if _t[0] in "iu"]
for _float in ("f16", "bf16"):
    _OPS |= {f"cast:f32:{_float}": f"te_of_{_float}({{0}})", f"cast:f64:{_float}": f"((double)te_of_{_float}({{0}}))"}
    _OPS |= {f"cast:{_float}:f32": f"te_to_{_float}({{0}})", "cast:bf16:f64": "te_to_bf16((float){0})"}
    _OPS |= {f"cast:{_float}:{_t}": f"te_to_{_float}((float){{0}})" for _t in (*_INTEGERS, "bool")}
    _OPS |= {f"cast:{_float}:{_float}": "{0}"}
_OPS |= {"cast:f16:f64": "te_narrow_f16({0})"}
for _float in ("f32", "f64"):
    _OPS |= {f"cast:{_t}:{_float}": f"(({_TYPES[_t]})te_whole_{_float}({{0}}))" for _t in _INTEGERS}
    _OPS |= {f"cast:bool:{_float}": "({0} != 0)"}
_OPS |= {f"cast:bool:{_t}": "({0} != 0)" for _t in _INTEGERS} | {"cast:bool:bool": "({0} != 0)"}

_FOR = "for (int {var} = {start}; {var} < {stop}; {step}) {{"
_GRID = "for (int {var} = {start} + {by} * te_grid_place(); {var} < {stop}; {var} += {by} * te_grid_size()) {{"

OPENCL = Dialect(
    name="opencl",
    types=_type,
    ops=_OPS,
    literal=_literal,
    load=lambda buffer, index, type: f"{buffer.name}[{strip(index)}]",
    store=lambda buffer, index, value, type: f"{buffer.name}[{strip(index)}] = {value};",
    declare=_declare,
    build=_build,
    lane="{0}.s{1}",
    select="({0} ? {1} : {2})",
    vector_select="select({2}, {1}, {0})",
    let="const {0} {1} = {2};",
    assign="{1} = {2};",
    loops={"serial": (_FOR,), "rolled": (_FOR,), "unrolled": (_FOR,), "grid": (_GRID,)},
    barrier="barrier(CLK_LOCAL_MEM_FENCE);",
    signature=_signature,
    passes=(even_loops, partial(legal_names, reserved=WORDS), narrow_indices, some_elements, plain_loops),
)


def prelude() -> str:
    """The functions that every source starts with."""
    return (Path(__file__).parent.parent / "prelude" / "opencl.cl").read_text()


def source(*kernels: Kernel) -> str:
    """A whole file: the prelude, and the kernels."""
    return "\n".join((head(kernels) + prelude(), *(print_kernel(k, OPENCL) for k in kernels)))


def head(kernels: Iterable[Kernel]) -> str:
    """What a file defines before the prelude."""
    return "#define TE_DOUBLES\n" if any(doubles(k) for k in kernels) else ""
