"""WGSL of WebGPU: the table of spellings, and the frame of a source file.

A file is what its kernel needs of prelude/words.wgsl, the bindings, and one entry point. Bindings stand in the order of
the kernel's buffers, then its workspace `te_scratch` if it has one, then its dims, four to a vector of `te_given`.
Memory is 32-bit words (legalize_words); nothing rests on NaN or infinity surviving a comparison. No extension is used.
GLSL (glsl.py) takes its table from here.
"""

from __future__ import annotations

import math
import re
import struct
from functools import cache
from pathlib import Path

from tang_egg.codegen.device import GROUP
from tang_egg.codegen.kernel import Buffer, Kernel
from tang_egg.codegen.legalize import legal_names, narrow_indices, some_elements
from tang_egg.codegen.legalize_wide import WIDE, WrittenOut, explicit_wide, one_warp, plain_loops, write_out
from tang_egg.codegen.legalize_words import ATOMIC, Merge, to_words
from tang_egg.codegen.printer import Dialect, Printer, form_text, strip
from tang_egg.errors import CodegenError

LANES = 32
"""Threads of a block in which lanes exchange values."""
RESERVED = frozenset(
    "alias break case const const_assert continue continuing default diagnostic discard else enable false fn for if "
    "let loop override requires return struct switch true var while NULL Self abstract active alignas alignof as asm "
    "asm_fragment async attribute auto await become cast catch class co_await co_return co_yield coherent column_major "
    "common compile compile_fragment concept const_cast consteval constexpr constinit crate debugger decltype delete "
    "demote demote_to_helper do dynamic_cast enum explicit export extends extern external fallthrough filter final "
    "finally friend from fxgroup get goto groupshared highp impl implements import inline instanceof interface layout "
    "lowp macro macro_rules match mediump meta mod module move mut mutable namespace new nil noexcept noinline "
    "nointerpolation non_coherent noncoherent noperspective null nullptr of operator package packoffset partial pass "
    "patch pixelfragment precise precision premerge priv protected pub public readonly ref regardless register "
    "reinterpret_cast require resource restrict self set shared sizeof smooth snorm static static_assert static_cast "
    "std subroutine super target template this thread_local throw trait try type typedef typeid typename typeof union "
    "unless unorm unsafe unsized use using varying virtual volatile wgsl where with writeonly yield "
    "array atomic bool f16 f32 i32 u32 vec2 vec3 vec4 mat2x2 mat3x3 mat4x4 ptr sampler texture_2d bitcast select all "
    "any abs acos asin atan atan2 ceil clamp cos cosh countLeadingZeros cross degrees distance dot exp exp2 floor fma "
    "fract frexp inverseSqrt ldexp length log log2 max min mix modf normalize pow radians reflect round saturate sign "
    "sin sinh smoothstep sqrt step tan tanh transpose trunc atomicLoad atomicStore atomicAnd atomicOr workgroupBarrier "
    "storageBarrier workgroup storage uniform private function read write read_write vertex fragment compute".split()
)
"""Words that WGSL keeps for itself, and functions and types that kernels use: a buffer of that name would hide them."""

_TYPES = {"f32": "f32", "i32": "i32", "u32": "u32", "bool": "bool", "i64": "vec2<u32>", "u64": "vec2<u32>"}


def spelled(types: dict[str, str], name: str, language: str) -> str:
    """The spelling of a type by a table of words. Raises CodegenError for a type that is none."""
    if name not in types:
        raise CodegenError(
            f"{language} has no type {name} here",
            where="the dialect's table of types",
            mend="legalise the kernel to 32-bit words first",
        )
    return types[name]


def _type(name: str) -> str:
    return spelled(_TYPES, name, "WGSL")


def literal(value: float | int | bool, type: str, pair: str) -> str:
    """A constant; `pair` is the type of two words. What is not finite goes through a function, or it is refused."""
    if type == "f32":
        number = float(value)
        if math.isnan(number):
            return "te_f32(0x7fc00000u)"
        if math.isinf(number) or abs(number) >= float.fromhex("0x1.ffffffp127"):
            return f"te_f32(0x{'7' if number > 0 else 'f'}f800000u)"
        if number != 0 and abs(number) < 2.0**-126:
            return f"te_f32(0x{_bits(number):08x}u)"
        text = repr(number)
        text = text if "." in text or "e" in text else f"{text}.0"
        return f"({text})" if text.startswith("-") else text
    if type == "bool":
        return "true" if value else "false"
    if type in WIDE:
        word = int(value) & (1 << 64) - 1
        return f"{pair}({word & 0xFFFFFFFF}u, {word >> 32}u)"
    if type == "u32":
        return f"{int(value) & 0xFFFFFFFF}u"
    return "(-2147483647 - 1)" if value == -(2**31) else str(value) if value >= 0 else f"({value})"


def _bits(number: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", number))[0])


def scratch_place(buffer: Buffer, index: str) -> str:
    """The word of an element of an array in the workspace."""
    return f"te_scratch[te_at_{buffer.name} + {index}]"


def _load(buffer: Buffer, index: str, type: str) -> str:
    if buffer.space == "scratch":
        place = scratch_place(buffer, index)
        return f"({place} != 0u)" if type == "bool" else place if type == "u32" else f"bitcast<{_type(type)}>({place})"
    if buffer.type == ATOMIC:
        return f"atomicLoad(&{buffer.name}[{_read_at(index)}])"
    return f"{buffer.name}[{_read_at(index)}]"


def _read_at(index: str) -> str:
    """The index of a read. A constant below 0, which the language refuses, stands where nothing is read for good."""
    text = strip(index)
    return "0" if re.fullmatch(r"-\d+", text) else text


def _store(buffer: Buffer, index: str, value: str, type: str) -> str:
    if buffer.space == "scratch":
        word = value if type == "u32" else f"u32({value})" if type == "bool" else f"bitcast<u32>({value})"
        return f"{scratch_place(buffer, index)} = {word};"
    return f"{buffer.name}[{strip(index)}] = {value};"


def _declare(buffer: Buffer, size: str) -> str:
    if buffer.space == "scratch":
        return f"// {buffer.name} lies in te_scratch"
    if buffer.space == "register":
        return f"var {buffer.name}: {_type(buffer.type)};"
    return f"var {buffer.name}: array<{_type(buffer.type)}, {size}>;"


def merge_lines(s: Merge, p: Printer, names: tuple[str, str, str], shift: str, mask: str) -> None:
    """A block that clears the bits of an element and sets the new ones; `names`: declaration, and, or."""
    index, value = strip(p.expr(s.index)), strip(p.expr(s.value))
    of, each, low = names
    per = 32 // s.bits
    p.emit("{")
    p.depth += 1
    p.emit(f"{of} te_word = {shift}({index}) / {per}u;")
    p.emit(f"{of} te_shift = ({shift}({index}) % {per}u) * {s.bits}u;")
    p.emit(f"{each}{s.buffer.name}[te_word], ~({mask} << te_shift));")
    p.emit(f"{low}{s.buffer.name}[te_word], (({value}) & {mask}) << te_shift);")
    p.depth -= 1
    p.emit("}")


def _merge(s: Merge, p: Printer) -> None:
    merge_lines(s, p, ("let", "atomicAnd(&", "atomicOr(&"), "u32", f"0x{(1 << s.bits) - 1:x}u")


def copies(s: WrittenOut, p: Printer, let: str) -> None:
    """The copies of a body, each in a block that starts with its constant."""
    for value in s.values:
        p.emit("{")
        p.depth += 1
        p.emit(let.format(s.var, value))
        p.block(s.body)
        p.depth -= 1
        p.emit("}")


def slices(kernel: Kernel, let: str) -> list[str]:
    """Lines that name where the arrays of this thread's workspace start, in words. `let` starts a declaration.

    Raises CodegenError for integers of 64 bits, which take two words.
    """
    sizes: list[str] = []
    for b in kernel.scratch:
        if b.type in WIDE:
            raise CodegenError(
                f"kernel '{kernel.name}' has an array of {b.type} that is too large for a thread",
                where=f"array '{b.name}' of {b.size!r} elements",
                mend="use smaller sizes, or i32",
            )
        sizes.append(f"({form_text(b.size)} + 15) / 16 * 16")
    if not sizes:
        return []
    lines, offset = [f"{let} te_each = {' + '.join(sizes)};"], "te_place * te_each"
    for b, size in zip(kernel.scratch, sizes, strict=True):
        lines.append(f"{let} te_at_{b.name} = {offset};")
        offset = f"te_at_{b.name} + {size}"
    return lines


def _signature(kernel: Kernel) -> list[str]:
    threads = kernel.launch.threads if kernel.launch else LANES
    lines = [
        f"@compute @workgroup_size({threads})",
        f"fn {kernel.name}(@builtin(workgroup_id) te_at: vec3<u32>, @builtin(num_workgroups) te_all: vec3<u32>, "
        "@builtin(local_invocation_index) te_local: u32) {",
    ]
    head = ["\n".join(lines), "let te_block = i32(te_at.y * te_all.x + te_at.x);", "te_lane = te_local;"]
    head += ["let te_blocks = i32(te_all.x * te_all.y);"]
    head += [f"let te_group = {f'i32(te_local / {GROUP}u)' if threads > GROUP else '0'};"]
    head += [f"let te_thread = i32(te_local % {GROUP}u);"]
    head += [f"let te_place = te_block * {threads} + i32(te_local);", f"let te_size = te_blocks * {threads};"]
    head += [f"let {d} = te_given[{n // 4}].{'xyzw'[n % 4]};" for n, d in enumerate(kernel.dims)]
    return head + slices(kernel, "let")


def operations(i32: str, u32: str, f32: str, as_u32: str, as_i32: str, as_f32: str) -> dict[str, str]:
    """The table of operations on words, by the language's names of conversions and reinterpretations."""
    ops = {
        "add": "({0} + {1})", "mul": "({0} * {1})", "neg": "(-{0})", "neg:u32": "(0u - {0})",
        "max": "max({0}, {1})", "min": "min({0}, {1})", "max:f32": "te_max_f32({0}, {1})",
        "min:f32": "te_min_f32({0}, {1})", "recip:f32": "(1.0 / {0})", "sqrt:f32": "sqrt({0})",
        "floor:f32": "floor({0})", "lt": "({0} < {1})", "le": "({0} <= {1})", "eq": "({0} == {1})",
        "and": "({0} && {1})", "or": "({0} || {1})", "not": "(!{0})",
        "idiv": "te_idiv_{to}({0}, {1})", "imod": "te_imod_{to}({0}, {1})",
        "udiv": "({0} / {1})", "umod": "({0} % {1})", "word_of": "({0} / {1})",
        "bitand": "({0} & {1})", "bitor": "({0} | {1})", "bitxor": "({0} ^ {1})",
        "bitand:bool": "({0} && {1})", "bitor:bool": "({0} || {1})", "bitxor:bool": "({0} != {1})",
        "max:bool": "({0} || {1})", "min:bool": "({0} && {1})",
        "shl": f"({{0}} << ({u32}({{1}}) & 31u))", "shr": f"({{0}} >> ({u32}({{1}}) & 31u))",
        "sign8": "(({0} << 24u) >> 24u)", "sign16": "(({0} << 16u) >> 16u)",
        "whole:f32": "te_whole({0})", "nonzero:f32": "te_nonzero_f32({0})", "nonzero:i32": "({0} != 0)",
        "nonzero:u32": "({0} != 0u)", "nonzero:bool": "{0}", "atan2:f32": "te_atan2_f32({0}, {1})",
        "of_f16": "te_of_f16({0})", "of_bf16": "te_of_bf16({0})", "to_f16": "te_to_f16({0})",
        "to_bf16": "te_to_bf16({0})", "unpack_f16": "te_unpack_u16({0}, {1})", "unpack_bf16": "te_unpack_u16({0}, {1})",
        "unpack_bool": "(te_unpack_u8({0}, {1}) != 0u)",
        "shuffle_xor": "te_shuffle_{to}({0}, {1})",
        "cast:i32": f"{i32}({{0}})", "cast:i32:u32": f"{i32}({{0}})", "cast:u32:i32": f"{u32}({{0}})",
        "cast:i32:bool": f"{i32}({{0}})", "cast:u32:bool": f"{u32}({{0}})", "cast:f32:bool": f"{f32}({{0}})",
        "cast:f32:i32": f"{f32}({{0}})", "cast:f32:u32": f"{f32}({{0}})",
        "bits:u32:f32": f"{as_u32}({{0}})", "bits:i32:f32": f"{as_i32}({{0}})",
        "bits:f32:u32": f"{as_f32}({{0}})", "bits:f32:i32": f"{as_f32}({{0}})",
    }  # fmt: skip
    for op in ("lt", "le", "eq"):
        ops[f"{op}:f32"] = f"te_{op}_f32({{0}}, {{1}})"
    for op in ("exp", "log", "tanh", "erf", "sin"):
        ops[f"{op}:f32"] = f"te_{op}_f32({{0}})"
    for small in ("u8", "u16", "i8", "i16"):
        ops[f"unpack_{small}"] = f"te_unpack_{small}({{0}}, {{1}})"
    for wide in ("i64", "u64"):
        ops |= {
            f"add:{wide}": "te_add_i64({0}, {1})", f"mul:{wide}": "te_mul_i64({0}, {1})",
            f"neg:{wide}": "te_neg_i64({0})", f"eq:{wide}": "te_eq_i64({0}, {1})",
            f"lt:{wide}": f"te_lt_{wide}({{0}}, {{1}})", f"le:{wide}": f"(!te_lt_{wide}({{1}}, {{0}}))",
            f"max:{wide}": f"te_max_{wide}({{0}}, {{1}})", f"min:{wide}": f"te_min_{wide}({{0}}, {{1}})",
            f"shl:{wide}": "te_shl_u64({0}, {1}.x)", f"shr:{wide}": f"te_shr_{wide}({{0}}, {{1}}.x)",
            f"nonzero:{wide}": "te_nonzero_i64({0})", f"shuffle_xor:{wide}:{wide}": "te_shuffle_i64({0}, {1})",
            f"cast:{wide}:i32": "te_i64_i32({0})", f"cast:{wide}:u32": "te_i64_u32({0})",
            f"cast:{wide}:bool": "te_i64_bool({0})", f"cast:{wide}:f32": "te_i64_f32({0})",
            f"cast:f32:{wide}": f"te_f32_{wide}({{0}})", f"cast:i32:{wide}": f"{i32}({{0}}.x)",
            f"cast:u32:{wide}": "{0}.x", f"cast:{wide}:i64": "{0}", f"cast:{wide}:u64": "{0}",
        }  # fmt: skip
    return ops


def _named(kernel: Kernel) -> Kernel:
    return legal_names(kernel, RESERVED)


WGSL = Dialect(
    name="wgsl",
    types=_type,
    ops=operations("i32", "u32", "f32", "bitcast<u32>", "bitcast<i32>", "bitcast<f32>"),
    literal=lambda value, type: literal(value, type, "vec2<u32>"),
    load=_load,
    store=_store,
    declare=_declare,
    build=lambda items, type: spelled({}, type, "WGSL"),
    lane="",
    select="select({2}, {1}, {0})",
    vector_select="",
    let="let {1}: {0} = {2};",
    assign="{1} = {2};",
    first="var {1}: {0} = {2};",
    loops={
        "serial": ("for (var {var}: i32 = {start}; {var} < {stop}; {step}) {{",),
        "grid": ("for (var {var}: i32 = {start} + {by} * te_place; {var} < {stop}; {var} += {by} * te_size) {{",),
    },
    barrier="workgroupBarrier();",
    signature=_signature,
    passes=(one_warp, _named, narrow_indices, some_elements, plain_loops, explicit_wide, to_words, write_out),
    device={Merge: _merge, WrittenOut: lambda s, p: copies(s, p, "let {0} = {1};")},
)


def legalised(kernel: Kernel, dialect: Dialect) -> Kernel:
    """The kernel after all passes of a dialect."""
    for change in dialect.passes:
        kernel = change(kernel)
    return kernel


def _bindings(kernel: Kernel) -> list[str]:
    lines: list[str] = []
    for n, b in enumerate(kernel.buffers):
        kind = "atomic<u32>" if b.type == ATOMIC else _type(b.type)
        access = "read_write" if b.role == "output" else "read"
        lines.append(f"@group(0) @binding({n}) var<storage, {access}> {b.name}: array<{kind}>;")
    if kernel.scratch:
        lines.append(f"@group(0) @binding({len(lines)}) var<storage, read_write> te_scratch: array<u32>;")
    if kernel.dims:
        count = -(-len(kernel.dims) // 4)
        lines.append(f"@group(0) @binding({len(lines)}) var<uniform> te_given: array<vec4<i32>, {count}>;")
    return [*lines, "var<private> te_lane: u32;"]


def source(kernel: Kernel) -> str:
    """A whole file: the functions that the kernel needs, its bindings and its entry point, of the kernel's name."""
    legal = legalised(kernel, WGSL)
    text = Printer(WGSL, legal).text()
    functions = needed("words.wgsl", text)
    lines = _bindings(legal)
    if "te_lanes[" in functions:
        lines.append(f"var<workgroup> te_lanes: array<u32, {LANES}>;")
    return "\n".join([functions, *lines, "", text]) if functions else "\n".join([*lines, "", text])


def entry(kernel: Kernel) -> str:
    """The name of the entry point of a kernel's source."""
    return _named(kernel).name


@cache
def _functions(file: str) -> dict[str, str]:
    """The functions of a prelude by name."""
    text = (Path(__file__).parent.parent / "prelude" / file).read_text()
    found: dict[str, str] = {}
    for part in text.split("\n\n"):
        head = re.match(r"(?:fn |\w+ )(te_\w+)\(", part)
        if head:
            found[head[1]] = part.strip()
    return found


def needed(file: str, text: str) -> str:
    """The functions of a prelude that a text calls and those that these call, each before its first use."""
    known = _functions(file)
    order: dict[str, str] = {}

    def visit(text: str, own: str = "") -> None:
        for name in sorted(set(re.findall(r"\b(te_\w+)\(", text)) - {own}):
            if name in known and name not in order:
                visit(known[name], name)
                order[name] = known[name]

    visit(text)
    return "\n\n".join(order.values()) + "\n" if order else ""
