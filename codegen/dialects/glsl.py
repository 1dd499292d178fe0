"""GLSL 450 compute shaders for Vulkan: the table of spellings, and the frame of a source file.

Buffers are blocks of layout std430 in set 0, in the order of the kernel's buffers, then its workspace and its dims as
in wgsl.py, whose table of operations this one is. Stores of small types take a word each ("loose", legalize_words): the
front end that compiles these sources has no atomic functions. `pack_source` is the shader that packs such an array.
"""

from __future__ import annotations

from tang_egg.codegen.device import GROUP
from tang_egg.codegen.dialects.wgsl import (
    LANES,
    RESERVED,
    copies,
    legalised,
    literal,
    needed,
    operations,
    scratch_place,
    slices,
    spelled,
)
from tang_egg.codegen.kernel import Buffer, Kernel
from tang_egg.codegen.legalize import legal_names, narrow_indices, some_elements
from tang_egg.codegen.legalize_wide import WrittenOut, explicit_wide, one_warp, plain_loops, write_out
from tang_egg.codegen.legalize_words import PACKED, to_words
from tang_egg.codegen.printer import Dialect, Printer, strip

WORDS = RESERVED | frozenset(
    "attribute const uniform varying buffer shared coherent volatile restrict readonly writeonly atomic_uint layout "
    "centroid flat smooth noperspective patch sample break continue do for while switch case default if else "
    "subroutine in out inout int void bool true false float double discard return vec2 vec3 vec4 ivec2 ivec3 ivec4 "
    "bvec2 bvec3 bvec4 uint uvec2 uvec3 uvec4 dvec2 dvec3 dvec4 mat2 mat3 mat4 lowp mediump highp precision sampler1D "
    "sampler2D sampler3D image1D image2D image3D struct common partition active asm class union enum typedef template "
    "this resource goto inline noinline public static extern external interface long short half fixed unsigned superp "
    "input output hvec2 hvec3 hvec4 fvec2 fvec3 fvec4 filter sizeof cast namespace using floatBitsToInt "
    "floatBitsToUint intBitsToFloat uintBitsToFloat findMSB findLSB barrier mod main not equal lessThan inversesqrt "
    "roundEven isnan isinf length memoryBarrier local_size_x".split()
)
"""Words that GLSL keeps for itself, and functions that kernels use."""

_TYPES = {"f32": "float", "i32": "int", "u32": "uint", "bool": "bool", "i64": "uvec2", "u64": "uvec2"}
_AS = {"f32": "uintBitsToFloat", "i32": "int"}


def _type(name: str) -> str:
    return spelled(_TYPES, name, "GLSL")


def _load(buffer: Buffer, index: str, type: str) -> str:
    if buffer.space == "scratch":
        place = scratch_place(buffer, index)
        return f"({place} != 0u)" if type == "bool" else place if type == "u32" else f"{_AS[type]}({place})"
    return f"{buffer.name}[{strip(index)}]"


def _store(buffer: Buffer, index: str, value: str, type: str) -> str:
    if buffer.space == "scratch":
        word = value if type == "u32" else f"floatBitsToUint({value})" if type == "f32" else f"uint({value})"
        return f"{scratch_place(buffer, index)} = {word};"
    return f"{buffer.name}[{strip(index)}] = {value};"


def _declare(buffer: Buffer, size: str) -> str:
    if buffer.space == "scratch":
        return f"// {buffer.name} lies in te_scratch"
    if buffer.space == "register":
        return f"{_type(buffer.type)} {buffer.name};"
    return f"{_type(buffer.type)} {buffer.name}[{size}];"


def _threads(kernel: Kernel) -> int:
    return kernel.launch.threads if kernel.launch else LANES


def _signature(kernel: Kernel) -> list[str]:
    threads = _threads(kernel)
    lines = ["void main() {", "int te_block = int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x);"]
    lines += ["te_lane = gl_LocalInvocationIndex;"]
    lines += ["int te_blocks = int(gl_NumWorkGroups.x * gl_NumWorkGroups.y);"]
    lines += [f"int te_group = {f'int(te_lane / {GROUP}u)' if threads > GROUP else '0'};"]
    lines += [f"int te_thread = int(te_lane % {GROUP}u);"]
    lines += [f"int te_place = te_block * {threads} + int(te_lane);"]
    lines += [f"int te_size = te_blocks * {threads};"]
    lines += [f"int {d} = te_given[{n // 4}].{'xyzw'[n % 4]};" for n, d in enumerate(kernel.dims)]
    return lines + slices(kernel, "int")


def _named(kernel: Kernel) -> Kernel:
    return legal_names(kernel, WORDS)


def _loose_words(kernel: Kernel) -> Kernel:
    return to_words(kernel, loose=True)


GLSL = Dialect(
    name="glsl",
    types=_type,
    ops=operations("int", "uint", "float", "floatBitsToUint", "floatBitsToInt", "uintBitsToFloat")
    | {"bits:f32:i32": "intBitsToFloat({0})"},
    literal=lambda value, type: literal(value, type, "uvec2"),
    load=_load,
    store=_store,
    declare=_declare,
    build=lambda items, type: spelled({}, type, "GLSL"),
    lane="",
    select="({0} ? {1} : {2})",
    vector_select="",
    let="{0} {1} = {2};",
    assign="{1} = {2};",
    loops={
        "serial": ("for (int {var} = {start}; {var} < {stop}; {step}) {{",),
        "grid": ("for (int {var} = {start} + {by} * te_place; {var} < {stop}; {var} += {by} * te_size) {{",),
    },
    barrier="barrier();",
    signature=_signature,
    passes=(one_warp, _named, narrow_indices, some_elements, plain_loops, explicit_wide, _loose_words, write_out),
    device={WrittenOut: lambda s, p: copies(s, p, "const int {0} = {1};")},
)


def _bindings(kernel: Kernel) -> list[str]:
    lines = [f"layout(local_size_x = {_threads(kernel)}) in;"]
    for n, b in enumerate(kernel.buffers):
        access = "" if b.role == "output" else "readonly "
        lines.append(
            f"layout(std430, set = 0, binding = {n}) {access}buffer te_b{n} {{ {_type(b.type)} {b.name}[]; }};"
        )
    place = len(kernel.buffers)
    if kernel.scratch:
        lines.append(f"layout(std430, set = 0, binding = {place}) buffer te_workspace {{ uint te_scratch[]; }};")
        place += 1
    if kernel.dims:
        count = -(-len(kernel.dims) // 4)
        lines.append(f"layout(std140, set = 0, binding = {place}) uniform te_numbers {{ ivec4 te_given[{count}]; }};")
    return [*lines, "uint te_lane;"]


def source(kernel: Kernel) -> str:
    """A whole file: the functions that the kernel needs, its bindings and `main`."""
    legal = legalised(kernel, GLSL)
    text = Printer(GLSL, legal).text()
    functions = needed("words.glsl", text)
    lines = ["#version 450", *_bindings(legal)]
    if "te_lanes[" in functions:
        lines.append(f"shared uint te_lanes[{LANES}];")
    return "\n".join([*lines, "", *([functions] if functions else []), text])


def pack_source(bits: int) -> str:
    """The shader that packs an array of words, one element each, of some bits; dims: the words that it writes."""
    per = 32 // bits
    parts = " | ".join(
        f"((loose[n * {per} + {k}] & 0x{(1 << bits) - 1:x}u) << {k * bits}u)" for k in range(per)
    )  # fmt: skip
    return f"""#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer te_b0 {{ uint loose[]; }};
layout(std430, set = 0, binding = 1) buffer te_b1 {{ uint packed_words[]; }};
layout(std140, set = 0, binding = 2) uniform te_numbers {{ ivec4 te_given[1]; }};
void main() {{
    int n = int((gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * 64u + gl_LocalInvocationIndex);
    if (n < te_given[0].x) {{
        packed_words[n] = {parts};
    }}
}}
"""


def loose_outputs(kernel: Kernel) -> tuple[int, ...]:
    """For each buffer, the bits of an element where the kernel writes a word for each, else 0."""
    return tuple(PACKED.get(b.type, 0) if b.role == "output" else 0 for b in kernel.buffers)
