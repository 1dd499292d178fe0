"""C with GCC's vector types (gcc, clang, zig cc): the table of spellings, and the frame of a source file."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path

from tang_egg.codegen.kernel import Barrier, Buffer, Fetch, Kernel, element, lanes
from tang_egg.codegen.legalize import legal_names
from tang_egg.codegen.legalize_across import to_transposes
from tang_egg.codegen.legalize_bits import to_bits
from tang_egg.codegen.legalize_fetch import to_fetches
from tang_egg.codegen.legalize_register import to_registers
from tang_egg.codegen.legalize_vector import to_vectors
from tang_egg.codegen.printer import Dialect, Printer, form_text, strip
from tang_egg.codegen.vectors import AVX2, Vectors
from tang_egg.ops_eight import EIGHT

_TYPES = {
    "f32": "float", "f64": "double", "f16": "te_f16", "bf16": "te_bf16", "bool": "uint8_t",
    "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t",
    "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
    **{t: f"te_{t}" for t in EIGHT},
}  # fmt: skip

_STREAMED = (
    "f32x4", "f32x8", "f32x16", "f64x4", "f64x8", "i32x4", "i32x8", "i32x16", "i64x4", "i64x8",
    "bf16x8", "bf16x16", "f16x8", "f16x16",
)  # fmt: skip
"""Vectors that can be stored past the caches."""

_MATHS = ("exp", "log", "tanh", "erf", "sin", "sqrt", "floor")


def _type(name: str) -> str:
    return _TYPES[name] if lanes(name) == 1 else name


def _literal(value: float | int | bool, type: str) -> str:
    if element(type) in ("f32", "f64"):
        suffix = "f" if element(type) == "f32" else ""
        number = float(value)
        if math.isnan(number):
            return "NAN" if suffix else "(double)NAN"
        if math.isinf(number):
            return ("-" if number < 0 else "") + ("INFINITY" if suffix else "(double)INFINITY")
        return f"{number!r}{suffix}" if number >= 0 and not str(number).startswith("-") else f"({number!r}{suffix})"
    if type in ("f16", "bf16", *EIGHT):
        return (
            f"te_to_{type}({float(value)!r}f)"
            if math.isfinite(float(value))
            else f"te_to_{type}({_literal(value, 'f32')})"
        )
    if type == "bool":
        return "1" if value else "0"
    if type == "i64":
        return "INT64_MIN" if value == -(2**63) else f"INT64_C({value})" if abs(int(value)) >= 2**31 else str(value)
    if type == "u64":
        return f"UINT64_C({value})"
    return f"({_TYPES[type]}){value}" if type != "i32" or value == -(2**31) else str(value)


def _load(buffer: Buffer, index: str, type: str) -> str:
    if lanes(type) == 1:
        return f"{buffer.name}[{strip(index)}]"
    return f"te_load_{type}({buffer.name} + {index})"


def _store(buffer: Buffer, index: str, value: str, type: str) -> str:
    if lanes(type) == 1:
        return f"{buffer.name}[{strip(index)}] = {value};"
    way = "stream" if buffer.stream and type in _STREAMED else "store"
    return f"te_{way}_{type}({buffer.name} + {index}, {value});"


def _fetch(s: Fetch, printer: Printer) -> None:
    printer.emit(f"te_fetch({s.buffer.name} + {printer.expr(s.index)});")


def _fenced(kernel: Kernel) -> Kernel:
    """The kernel with a barrier at its end, if it stores past the caches: such stores are in no order."""
    past = any(b.stream and b.role == "output" for b in kernel.buffers)
    return replace(kernel, body=(*kernel.body, Barrier())) if past else kernel


def _declare(buffer: Buffer, size: str) -> str:
    if buffer.space == "register":
        return f"{_type(buffer.type)} {buffer.name};"
    kind = _TYPES[buffer.type]
    if buffer.space == "scratch":
        return (
            f"{kind} *restrict {buffer.name} = ({kind} *)(scratch + te_thread() * scratch_size + {buffer.name}_offset);"
        )
    return f"{kind} {buffer.name}[{size}] __attribute__((aligned(64)));"


def _build(items: tuple[str, ...], type: str) -> str:
    if len(set(items)) == 1:
        return f"te_splat_{type}({items[0]})"
    return f"({type}){{{', '.join(items)}}}"


def _signature(kernel: Kernel) -> list[str]:
    """`void name(void **buffers, const int64_t *dims, char *scratch)`, then the arguments under their names."""
    lines = [f"void {kernel.name}(void **buffers, const int64_t *dims, char *scratch)", "{"]
    lines = [" ".join(lines)]
    for n, b in enumerate(kernel.buffers):
        const = "" if b.role == "output" else "const "
        restrict = "" if b.alias else "restrict "
        lines.append(f"{const}{_TYPES[b.type]} *{restrict}{b.name} = buffers[{n}];")
    for n, d in enumerate(kernel.dims):
        lines.append(f"const int64_t {d} = dims[{n}];")
    if kernel.scratch:
        offset = "0"
        for b in kernel.scratch:
            lines.append(f"const int64_t {b.name}_offset = {offset};")
            offset = f"{b.name}_offset + ({form_text(b.size)} * (int64_t)sizeof({_TYPES[b.type]}) + 63) / 64 * 64"
        lines.append(f"const int64_t scratch_size = {offset};")
    lines.append("(void)buffers, (void)dims, (void)scratch;")
    return lines


_OPS: dict[str, str] = {
    "add": "({0} + {1})", "mul": "({0} * {1})", "neg": "(-{0})",
    "max": "te_max_{to}({0}, {1})", "min": "te_min_{to}({0}, {1})",
    "recip": "(1 / {0})", "recip:f32": "(1.0f / {0})", "recip:f64": "(1.0 / {0})", "recipxn": "(1 / {0})",
    "lt": "({0} < {1})", "le": "({0} <= {1})", "eq": "({0} == {1})",
    "and": "({0} && {1})", "or": "({0} || {1})", "not": "(!{0})",
    "andxn": "({0} & {1})", "orxn": "({0} | {1})", "notxn": "(~{0})",
    "idiv": "te_idiv_{to}({0}, {1})", "imod": "te_imod_{to}({0}, {1})",
    "bitand": "({0} & {1})", "bitor": "({0} | {1})", "bitxor": "({0} ^ {1})",
    "shl": "te_shl_{to}({0}, {1})", "shr": "te_shr_{to}({0}, {1})",
    "cast": "(({type}){0})", "castxn": "__builtin_convertvector({0}, {type})",
    "bits": "te_bits_{to}_{of}({0})", "bitsxn": "(({type}){0})",
    "splat_mask": "te_splat_{to}(-(int){0})",
    "join_lowxn": "te_join_low_{to}({0}, {1})", "join_highxn": "te_join_high_{to}({0}, {1})",
    "behindxn": "te_behind_{to}({0}, {1})",
    "part_lowxn": "te_part_low_{to}({0}, {1})", "part_highxn": "te_part_high_{to}({0}, {1})",
    "zip_lowxn": "te_zip_low_{to}({0}, {1})", "zip_highxn": "te_zip_high_{to}({0}, {1})",
    "which": "te_which_{of}({0})", "count": "__builtin_popcountll({0})", "lowest": "__builtin_ctzll({0})",
    "rest": "te_rest({0})",
    "atan2:f32": "atan2f({0}, {1})", "atan2:f64": "atan2({0}, {1})",
}  # fmt: skip
for _op in _MATHS:
    _OPS |= {f"{_op}:f32": f"{_op}f({{0}})", f"{_op}:f64": f"{_op}({{0}})", f"{_op}xn": f"te_{_op}_{{to}}({{0}})"}
for _t in ("i8", "i16", "u8", "u16"):
    _c = _TYPES[_t]
    _OPS |= {
        f"add:{_t}": f"(({_c})({{0}} + {{1}}))",
        f"mul:{_t}": f"(({_c})({{0}} * {{1}}))",
        f"neg:{_t}": f"(({_c})-{{0}})",
    }
for _float in ("f16", "bf16", *EIGHT):
    _OPS |= {f"cast:f32:{_float}": f"te_of_{_float}({{0}})", f"cast:f64:{_float}": f"((double)te_of_{_float}({{0}}))"}
    _OPS |= {f"cast:{_float}:{_x}": f"te_to_{_float}({{0}})" for _x in ("f32", "f64")}
for _float in ("f16", "bf16"):
    _OPS |= {f"cast:f32:{_float}xn": "{0}", f"cast:{_float}:f32xn": "{0}"}  # loads and stores convert
for _t in ("i8", "u8", "i16", "u16"):
    _OPS |= {f"cast:{_x}:{_t}xn": "te_widen_{to}_{of}({0})" for _x in ("f32", "i32")}
for _float in ("f32", "f64"):
    _OPS |= {f"cast:{_t}:{_float}": f"(({_TYPES[_t]})te_whole((double){{0}}))" for _t in _TYPES if _t[0] in "iu"}
    _OPS |= {f"cast:bool:{_float}": "({0} != 0)"}
_OPS |= {f"cast:bool:{_t}": "({0} != 0)" for _t in _TYPES if _t[0] in "iu"} | {"cast:bool:bool": "{0}"}

C = Dialect(
    name="c",
    types=_type,
    ops=_OPS,
    literal=_literal,
    load=_load,
    load_where="te_load_where_{0}({1} + {2}, {3})",
    store=_store,
    declare=_declare,
    build=_build,
    lane="{0}[{1}]",
    select="({0} ? {1} : {2})",
    vector_select="te_select_{4}({0}, {1}, {2})",
    let="const {0} {1} = {2};",
    assign="{1} = {2};",
    loops={
        "serial": ("for (int64_t {var} = {start}; {var} < {stop}; {step}) {{",),
        "parallel": (
            "#pragma omp parallel for schedule(guided) if ({work} > TE_WORK)",
            "for (int64_t {var} = {start}; {var} < {stop}; {step}) {{",
        ),
        # Where such a loop stays on one thread, OpenMP is not asked: that takes longer than small loops do. One that is
        # short for its work but not for what it reads gives each thread the same turns again, for the caches' sake.
        "known parallel": (
            "#if {work} > TE_WORK",
            "#pragma omp parallel for schedule(guided)",
            "#elif defined TE_AWAKE && {work} + TE_WORD * {words} > TE_WORK",
            "#pragma omp parallel for schedule(static) if (TE_AWAKE)",
            "#endif",
            "for (int64_t {var} = {start}; {var} < {stop}; {step}) {{",
        ),
        "vector": ("for (int64_t {var} = {start}; {var} < {stop}; {step}) {{",),
        "unrolled": ("for (int64_t {var} = {start}; {var} < {stop}; {step}) {{",),
    },
    barrier="te_fence();",
    signature=_signature,
    passes=(legal_names, to_vectors, to_registers, to_bits, to_transposes, to_fetches, _fenced),
    device={Fetch: _fetch},
)


def c_dialect(vectors: Vectors) -> Dialect:
    """C with vectors as wide as registers. Those of up to 32 bytes are all of them where registers are shorter."""
    if vectors.bytes <= AVX2.bytes:
        return C
    wide = partial(to_vectors, size=vectors.bytes)
    return replace(C, passes=tuple(wide if p is to_vectors else p for p in C.passes))


def prelude(vectors: Vectors = AVX2) -> str:
    """The functions that every C source starts with."""
    names = ["scalar.h", "vector.h", *(["vector64.h"] if vectors.bytes > AVX2.bytes else []), "turn.h"]
    return "".join((_FOLDER / name).read_text() for name in names)


def streak() -> str:
    """The functions that tell whether calls follow one another closely: `te_begin` and `te_end` stand around each."""
    return (_FOLDER / "streak.h").read_text()


_FOLDER = Path(__file__).parent.parent / "prelude"
