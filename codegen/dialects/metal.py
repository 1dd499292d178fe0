"""Metal: the table of spellings, and the frame of a source file.

A kernel of plain threads gets its buffers, its workspace if it has one, and a buffer with its dims as `int`; indices
are `int` too. There are no 64-bit floats. Lanes are those of groups of 32, as every chip has them that runs Metal 2.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from tang_egg.codegen.device import GROUP
from tang_egg.codegen.dialects.cuda import plain_loops
from tang_egg.codegen.dialects.opencl import scratch_lines
from tang_egg.codegen.kernel import Buffer, Kernel
from tang_egg.codegen.legalize import identifier, legal_names, narrow_indices, some_elements
from tang_egg.codegen.legalize_even import exchanges
from tang_egg.codegen.printer import Dialect, print_kernel, strip, whole_literal
from tang_egg.errors import CodegenError
from tang_egg.ops_eight import EIGHT

BUFFERS = 31
"""Buffers that a kernel can have, that of its dims included."""
_VECTORS = "bool char uchar short ushort int uint long ulong float half bfloat".split()
WORDS = frozenset(
    "kernel vertex fragment device constant thread threadgroup threadgroup_imageblock ray_data object_data metal half "
    "bfloat uchar ushort uint ulong size_t ptrdiff_t as_type precise fast access texture1d texture2d texture3d sampler "
    "atomic_int atomic_uint atomic_bool packed_float2 packed_float3 packed_float4 simd_shuffle_xor shim patch mesh "
    "visible intersection atomic array vec matrix simdgroup quadgroup".split()
) | {f"{name}{n}" for name in _VECTORS for n in (2, 3, 4)}
"""Words that Metal keeps for itself, beside those of C++, and names that a printed kernel uses."""

_TYPES = {
    "f32": "float", "f16": "te_f16", "bf16": "te_bf16", "bool": "bool", "int": "int",
    "i8": "char", "i16": "short", "i32": "int", "i64": "long",
    "u8": "uchar", "u16": "ushort", "u32": "uint", "u64": "ulong",
}  # fmt: skip


def _type(name: str) -> str:
    if name == "f64":
        raise CodegenError(
            "Metal has no 64-bit floats",
            where="a kernel that stores or computes f64",
            mend="store f32 instead of f64, or use target='c'",
        )
    if name in EIGHT:
        raise CodegenError(
            "Metal has no 8-bit floats",
            where=f"a kernel that reads, stores or rounds to {name}",
            mend="store f16 or bf16 instead, or use target='c' or 'cuda'",
        )
    if name not in _TYPES:
        raise CodegenError(
            f"a Metal kernel has no vectors such as {name}",
            where="the dialect's table of types",
            mend="leave loops of kind 'vector' as they are: each thread works on scalars",
        )
    return _TYPES[name]


def _stored(name: str) -> str:
    """The type of an element in memory: a bool there is any byte."""
    return "uchar" if name == "bool" else _type(name)


def _literal(value: float | int | bool, type: str) -> str:
    if type in ("f32", "f64"):
        _type(type)
        number = float(value)
        if math.isnan(number):
            return "as_type<float>(0x7FC00000u)"
        if math.isinf(number):
            return f"as_type<float>(0x{'7' if number > 0 else 'F'}F800000u)"
        return f"({number!r}f)" if str(number).startswith("-") else f"{number!r}f"
    if type in ("f16", "bf16"):
        return f"te_to_{type}({_literal(value, 'f32')})"
    return whole_literal(int(value), type, _TYPES, "L")


def _declare(buffer: Buffer, size: str) -> str:
    kind = _stored(buffer.type)
    if buffer.space == "scratch":
        place = f"te_scratch + te_place * te_scratch_size + te_offset_{buffer.name}"
        return f"device {kind} *{buffer.name} = (device {kind} *)({place});"
    if buffer.space == "shared":
        return f"threadgroup {kind} {buffer.name}[{size}];"
    return f"{kind} {buffer.name}[{size}];"


def _build(items: tuple[str, ...], type: str) -> str:
    raise CodegenError(
        f"a Metal kernel has no vectors such as {type}",
        where="the dialect's way to build a vector",
        mend="print this kernel in a dialect with matrix units",
    )


def _signature(kernel: Kernel) -> list[str]:
    parameters: list[str] = []
    for n, b in enumerate(kernel.buffers):
        const = "" if b.role == "output" else "const "
        parameters.append(f"device {const}{_stored(b.type)} *{b.name} [[buffer({n})]]")
    if kernel.scratch:
        parameters.append(f"device char *te_scratch [[buffer({len(parameters)})]]")
    if kernel.dims:
        parameters.append(f"constant int *te_dims [[buffer({len(parameters)})]]")
    if len(parameters) > BUFFERS:
        raise CodegenError(
            f"kernel '{kernel.name}' has {len(parameters)} buffers, and a Metal kernel at most {BUFFERS}",
            where=f"its arrays: {', '.join(b.name for b in kernel.buffers)}",
            mend="concatenate inputs of one type into fewer arrays",
        )
    parameters += [
        "uint te_local [[thread_index_in_threadgroup]]",
        "uint te_position [[threadgroup_position_in_grid]]",
        "uint te_count [[threadgroups_per_grid]]",
    ]
    lines = [f"kernel void {kernel.name}("]
    lines += [f"{p}{') {' if n == len(parameters) - 1 else ','}" for n, p in enumerate(parameters)]
    lines += [f"const int {d} = te_dims[{n}];" for n, d in enumerate(kernel.dims)]
    threads = kernel.launch.threads if kernel.launch else 256
    lines.append("const int te_block = (int)te_position, te_blocks = (int)te_count;")
    lines.append(f"const int te_thread = (int)te_local & {GROUP - 1}, te_group = (int)te_local / {GROUP};")
    lines.append(f"const int te_grid_place = te_block * {threads} + (int)te_local;")
    lines.append(f"const int te_grid_size = te_blocks * {threads};")
    if kernel.scratch:
        lines += [x.replace("te_grid_place()", "te_grid_place") for x in scratch_lines(kernel, "long", _stored)]
    return [*lines, "(void)te_block, (void)te_blocks, (void)te_thread, (void)te_group, (void)te_grid_place;",
            "(void)te_grid_size;"]  # fmt: skip


# ---- scalars ----

_OPS: dict[str, str] = {
    "add": "({0} + {1})", "mul": "({0} * {1})", "neg": "(-{0})",
    "max": "te_max_{to}({0}, {1})", "min": "te_min_{to}({0}, {1})",
    "recip:f32": "precise::divide(1.0f, {0})",
    "lt": "({0} < {1})", "le": "({0} <= {1})", "eq": "({0} == {1})",
    "and": "({0} && {1})", "or": "({0} || {1})", "not": "(!{0})",
    "idiv": "te_idiv_{to}({0}, {1})", "imod": "te_imod_{to}({0}, {1})", "udiv": "({0} / {1})", "umod": "({0} % {1})",
    "bitand": "({0} & {1})", "bitor": "({0} | {1})", "bitxor": "({0} ^ {1})",
    "shl": "te_shl_{to}({0}, {1})", "shr": "te_shr_{to}({0}, {1})",
    "cast": "(({type}){0})", "bits": "te_bits<{type}, {held}>({0})",
    "fma:f32": "fma({0}, {1}, {2})", "atan2:f32": "precise::atan2({0}, {1})",
    "erf:f32": "te_erf({0})", "floor:f32": "floor({0})",
    "shuffle_xor": "te_shuffle({0}, {1})",
}  # fmt: skip
for _op in ("exp", "log", "tanh", "sin", "sqrt"):
    _OPS[f"{_op}:f32"] = f"precise::{_op}({{0}})"
for _t in ("i8", "i16", "i32", "i64", "u8", "u16"):  # overflow of a signed type is undefined in C++, and here it wraps
    _OPS |= {f"{_op}:{_t}": f"te_{_op}_{_t}({{0}}, {{1}})" for _op in ("add", "mul")} | {
        f"neg:{_t}": f"te_neg_{_t}({{0}})"
    }
_INTEGERS = [_t for _t in _TYPES if _t[0] in "iu"]
for _float in ("f16", "bf16"):
    _OPS |= {f"cast:f32:{_float}": f"te_of_{_float}({{0}})", f"cast:{_float}:f32": f"te_to_{_float}({{0}})"}
    _OPS |= {f"cast:{_float}:{_t}": f"te_to_{_float}((float){{0}})" for _t in (*_INTEGERS, "bool")}
    _OPS |= {f"cast:{_float}:{_float}": "{0}"}
_OPS |= {f"cast:{_t}:f32": f"(({_TYPES[_t]})te_whole({{0}}))" for _t in _INTEGERS}
_OPS |= {f"cast:bool:{_t}": "({0} != 0)" for _t in (*_INTEGERS, "bool", "f32")}

_FOR = "for (int {var} = {start}; {var} < {stop}; {step}) {{"
_GRID = "for (int {var} = {start} + {by} * te_grid_place; {var} < {stop}; {var} += {by} * te_grid_size) {{"

METAL = Dialect(
    name="metal",
    types=_type,
    ops=_OPS,
    literal=_literal,
    load=lambda buffer, index, type: f"{buffer.name}[{strip(index)}]",
    store=lambda buffer, index, value, type: f"{buffer.name}[{strip(index)}] = {value};",
    declare=_declare,
    build=_build,
    lane="{0}[{1}]",
    select="({0} ? {1} : {2})",
    vector_select="select({2}, {1}, {0})",
    let="const {0} {1} = {2};",
    assign="{1} = {2};",
    loops={"serial": (_FOR,), "rolled": (_FOR,), "unrolled": (_FOR,), "grid": (_GRID,)},
    barrier="threadgroup_barrier(mem_flags::mem_threadgroup);",
    signature=_signature,
    passes=(partial(legal_names, reserved=WORDS), narrow_indices, some_elements, plain_loops),
)


def prelude() -> str:
    """The functions that every source starts with."""
    return (Path(__file__).parent.parent / "prelude" / "metal.metal").read_text()


def shim() -> str:
    """What a host's C++ compiler needs to take printed Metal, and to run it."""
    return (Path(__file__).parent.parent / "prelude" / "metal_shim.hpp").read_text()


def source(*kernels: Kernel) -> str:
    """A whole file: the prelude, and the kernels."""
    return "\n".join((prelude(), *(print_kernel(k, METAL) for k in kernels)))


def entry_name(kernel: Kernel) -> str:
    """The name of a printed kernel."""
    return identifier(kernel.name, set(), WORDS)


def launcher(kernel: Kernel) -> str:
    """A C function `int run_NAME(void **buffers, const int *dims, unsigned groups)` for the shim.

    It runs all groups one after another, and gives 1 where the threads of a group part before a barrier, 2 where there
    is no memory for them.
    """
    name, threads = entry_name(kernel), kernel.launch.threads if kernel.launch else 256
    given = [
        f"({'' if b.role == 'output' else 'const '}{_stored(b.type)} *)a.buffers[{n}]"
        for n, b in enumerate(kernel.buffers)
    ]
    given += [f"(char *)a.buffers[{len(given)}]"] if kernel.scratch else []
    given += ["a.dims"] if kernel.dims else []
    fibers = "true" if exchanges(kernel) else "false"
    return f"""extern "C" int run_{name}(void **buffers, const int *dims, uint groups) {{
    struct All {{ void **buffers; const int *dims; uint groups; }} all{{buffers, dims, groups}};
    auto body = [](void *data, uint local, uint group) {{
        const All &a = *(const All *)data;
        {name}({", ".join([*given, "local", "group", "a.groups"])});
    }};
    return shim::launch(groups, {threads}, {fibers}, body, &all);
}}
"""


def host_source(kernels: Iterable[Kernel]) -> str:
    """One C++ file with some kernels, printed as Metal, and their launchers; it includes `metal_stdlib`: the shim."""
    found = list(kernels)
    parts = [prelude(), *(print_kernel(k, METAL) for k in found), *(launcher(k) for k in found)]
    return "\n".join(parts)
