"""The C of a library: kernels as static functions, and the entry that checks what it gets before it runs them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tang_egg.codegen.dialects.c import C, c_dialect, prelude
from tang_egg.codegen.kernel import Kernel
from tang_egg.codegen.legalize import identifier
from tang_egg.codegen.printer import print_kernel
from tang_egg.export_interface import Field, Interface
from tang_egg.export_sizes import Region, arithmetic, make_plan, plan_struct, regions
from tang_egg.export_weights import weights_source
from tang_egg.ir import Source, Tensor
from tang_egg.ops import BYTES
from tang_egg.run_vectors import vectors

_SIGNS = (("add", "+"), ("mul", "*"))


def _wrapping() -> dict[str, str]:
    """Integer arithmetic that wraps whatever flags the compiler gets: done in unsigned types."""
    found: dict[str, str] = {}
    for t in ("i8", "i16", "i32", "i64"):
        for n in (4, 8):
            v, w = f"{t}x{n}", f"u{t[1:]}x{n}"
            found |= {
                f"{op}:{v}": f"(({v})(({w}){{0}} {sign} ({w}){{1}}))" for op, sign in (("add", "+"), ("mul", "*"))
            }
            found[f"neg:{v}"] = f"(({v})(0 - ({w}){{0}}))"
    for t in ("i32", "i64"):  # narrower ones are computed as int, which holds every sum and product of two
        c, u = f"int{t[1:]}_t", f"uint{t[1:]}_t"
        found |= {f"{op}:{t}": f"(({c})(({u}){{0}} {sign} ({u}){{1}}))" for op, sign in _SIGNS}
        found[f"neg:{t}"] = f"(({c})(0 - ({u}){{0}}))"
    found["mul:u16"] = "((uint16_t)((uint32_t){0} * (uint32_t){1}))"
    return found


PORTABLE_OPS = {**C.ops, **_wrapping()}
"""Operations of C that need no flag: the runtime's own kernels rely on -fwrapv."""

_QUIET = (
    "-Wunused-function", "-Wunused-variable", "-Wunused-but-set-variable", "-Wunused-parameter", "-Wsign-compare",
    "-Wunknown-pragmas", "-Wparentheses",
)  # fmt: skip
"""Warnings about generated kernels that say nothing of their correctness."""


def source_text(face: Interface, embedded: bool) -> str:
    """NAME.c: needs NAME.h, a compiler with GCC's vector types, and libm; OpenMP is used where it is switched on."""
    parts = regions(face)
    lines = [f"// {face.name}: kernels and their entry. Written by tang-compile; see {face.name}.h and README.md.", ""]
    lines += [f'#include "{face.name}.h"', "", "#include <stdio.h>", "", *_pragmas(), ""]
    names: dict[int, str] = {}
    texts = [prelude(vectors())]
    for step in face.layout.steps:
        kernel = step.built.kernel
        if id(kernel) not in names:
            names[id(kernel)] = f"{face.name}_{identifier(kernel.name, set())}"
            texts.append(_static(replace(kernel, name=names[id(kernel)])))
    texts.append("\n".join(arithmetic()) + "\n")
    tail = ["#pragma GCC diagnostic pop", "", *plan_struct(face, parts), "", *make_plan(face, parts), ""]
    tail += [*_calls(face, names), "", *_entry(face, parts), "", *_workspace(face), "", *_sizes(face), ""]
    if face.weights:
        tail += [*weights_source(face, embedded), ""]
    tail += _errors(face)
    return "\n".join(lines) + "\n".join(texts) + "\n".join(tail) + "\n"


def _pragmas() -> list[str]:
    ignored = [f'#pragma GCC diagnostic ignored "{w}"' for w in _QUIET]
    clang = ["#ifdef __clang__", '#pragma GCC diagnostic ignored "-Wunknown-warning-option"', "#endif"]
    # GCC asks for this one when all has been read, so it must not be taken back; vectors never leave this file
    abi = ['#pragma GCC diagnostic ignored "-Wpsabi"', ""]
    return [*abi, "#pragma GCC diagnostic push", *clang, *ignored]


def _static(kernel: Kernel) -> str:
    """The text of a kernel as a function that only this file sees."""
    text = print_kernel(kernel, replace(c_dialect(vectors()), ops=PORTABLE_OPS))
    head = f"void {kernel.name}("
    before, found, after = text.partition(f"\n{head}") if not text.startswith(head) else ("", head, text[len(head) :])
    assert found, f"a printed kernel starts with {head}"
    return f"{before}\nstatic {head}{after}"


def _calls(face: Interface, names: dict[int, str]) -> Iterator[str]:
    yield "static void run_kernels(void **buffers, const int64_t *sizes, char *scratch)"
    yield "{"
    for s in face.layout.steps:
        yield f"    {names[id(s.built.kernel)]}(buffers + {s.slot}, sizes + {s.dim}, scratch);"
    if not face.layout.steps:
        yield "    (void)buffers, (void)sizes, (void)scratch;"
    yield "}"


def _entry(face: Interface, parts: tuple[Region, ...]) -> Iterator[str]:
    """The function that runs the kernels. Nothing that it gets is used before it has been checked."""
    name, up = face.name, face.upper
    yield from run_head(name).splitlines()
    yield "{"
    yield "    plan p;"
    yield "    const int status = make_plan(dims, &p);"
    yield f"    if (status != {up}_OK) return status;"
    needs = [
        *(["!inputs"] if face.inputs or face.weights else []),
        *(["!outputs"] if face.outputs else []),
        "!workspace",
    ]
    yield f"    if ({' || '.join(needs)}) return {up}_ERROR_NULL;"
    if face.weights:
        yield f"    if (!inputs->weights) return {up}_ERROR_NULL;"
    unused = [n for n, used in (("inputs", face.inputs or face.weights), ("outputs", face.outputs)) if not used]
    for x in unused:
        yield f"    (void){x};"
    yield from _threads(face)
    yield f"    void *at[{max(1, len(face.arrays))}] = {{0}};"
    yield from _places(face, parts)
    yield "    if (p.nothing_bytes) memset(base + p.nothing, 0, (size_t)p.nothing_bytes);"
    yield from _table(face)
    yield from _team(face)
    for f in face.staged():
        assert isinstance(f.source, Tensor)
        into = face.donated(f.source)
        assert into is not None
        n = face.arrays.index(f.source)
        size = f"(size_t)p.count[{n}] * {BYTES[f.source.dtype]}"
        yield f"    if (p.count[{n}]) memcpy(inputs->{into.member}, at[{n}], {size});"
    yield f"    return {up}_OK;"
    yield "}"


def run_head(name: str) -> str:
    """The head of the function that runs a library."""
    return (
        f"int {name}_run(\n    const {name}_inputs *inputs, {name}_outputs *outputs, const {name}_dims *dims,\n"
        "    void *workspace, size_t workspace_bytes)"
    )


def _threads(face: Interface) -> Iterator[str]:
    yield "    // The workspace starts at a multiple of 64 bytes; as many threads run as it has scratch for."
    yield "    const size_t skipped = (64 - (uintptr_t)workspace % 64) % 64;"
    yield "    const uint64_t room = workspace_bytes < skipped ? 0 : workspace_bytes - skipped;"
    yield f"    if (room < (uint64_t)p.scratch + (uint64_t)p.scratch_bytes) return {face.upper}_ERROR_WORKSPACE;"
    yield "    char *base = (char *)workspace + skipped;"
    yield "    const uint64_t most = (room - (uint64_t)p.scratch) / (uint64_t)p.scratch_bytes;"
    yield "#ifdef _OPENMP"
    yield "    const int wished = omp_get_max_threads();"
    yield "    const int threads = most < (uint64_t)wished ? (int)most : wished;"
    yield "#else"
    yield "    (void)most;"
    yield "#endif"


def _places(face: Interface, parts: tuple[Region, ...]) -> Iterator[str]:
    """The address of every array, those of the caller checked."""
    arrays, up = face.arrays, face.upper
    used = set(face.layout.slots)

    def given(f: Field, where: str, needed: bool) -> Iterator[str]:
        n, size = arrays.index(f.source), BYTES[f.source.dtype]
        yield f"    at[{n}] = (void *){where}->{f.member};"
        if needed:
            yield f"    if (p.count[{n}] && !at[{n}]) return {up}_ERROR_NULL;"
        if needed and size > 1:
            yield f"    if ((uintptr_t)at[{n}] % {size}) return {up}_ERROR_ALIGNMENT;"

    into = {f.member for u in face.updates if isinstance(u.source, Tensor) and (f := face.donated(u.source))}
    for f in face.inputs:
        yield from given(f, "inputs", f.source in used or f.member in into)
    for f in face.weights:
        yield from given(f, "inputs->weights", f.source in used)
    for f in face.outputs:
        yield from given(f, "outputs", True)
    staged = {f.source for f in face.staged()}
    for f in face.updates:
        assert isinstance(f.source, Tensor)
        donated = face.donated(f.source)
        if f.source not in staged and donated is not None:
            yield f"    at[{arrays.index(f.source)}] = (void *)inputs->{donated.member};"
    places: dict[Source, int] = {s: r for r, part in enumerate(parts) for s in part.arrays}
    for s, r in places.items():
        yield f"    at[{arrays.index(s)}] = base + p.region[{r}];"


def _table(face: Interface) -> Iterator[str]:
    arrays, members = face.arrays, {d.name: m for d, m in face.dims}
    numbers = [arrays.index(s) for s in face.layout.slots]
    yield f"    static const int32_t slots[{max(1, len(numbers))}] = {{"
    for n in range(0, len(numbers), 24):
        yield f"        {', '.join(map(str, numbers[n : n + 24]))},"
    if not numbers:
        yield "        0,"
    yield "    };"
    yield f"    void *buffers[{max(1, len(numbers))}];"
    yield f"    for (int n = 0; n < {len(numbers)}; n++) {{"
    yield "        buffers[n] = p.count[slots[n]] ? at[slots[n]] : (void *)(base + p.nothing);"
    yield "    }"
    sizes = [f"dims->{members[d]}" for d in face.layout.dims]
    yield f"    const int64_t sizes[{max(1, len(sizes))}] = {{{', '.join(sizes) or '0'}}};"


def _team(face: Interface) -> Iterator[str]:
    yield from """\
    char *scratch = base + p.scratch;
#ifdef _OPENMP
    if (omp_get_level() > 0) {
        // inside a parallel region of the caller: a region of one thread numbers threads from 0 again
#pragma omp parallel num_threads(1)
        {
            omp_set_num_threads(threads);
            run_kernels(buffers, sizes, scratch);
        }
    } else {
        omp_set_num_threads(threads);
        run_kernels(buffers, sizes, scratch);
        omp_set_num_threads(wished);
    }
#else
    run_kernels(buffers, sizes, scratch);
#endif""".splitlines()


def _workspace(face: Interface) -> Iterator[str]:
    up = face.upper
    yield f"int {face.name}_workspace_bytes(const {face.name}_dims *dims, int threads, size_t *bytes)"
    yield "{"
    yield "    plan p;"
    yield f"    if (!bytes) return {up}_ERROR_NULL;"
    yield "    const int status = make_plan(dims, &p);"
    yield f"    if (status != {up}_OK) return status;"
    yield "#ifdef _OPENMP"
    yield "    if (threads <= 0) threads = omp_get_max_threads();"
    yield "#endif"
    yield "    if (threads <= 0) threads = 1;"
    yield "    int bad = 0;"
    yield "    const int64_t total = plus(plus(p.scratch, times(p.scratch_bytes, threads, &bad), &bad), 63, &bad);"
    yield f"    if (bad || (uint64_t)total > SIZE_MAX) return {up}_ERROR_SIZE;"
    yield "    *bytes = (size_t)total;"
    yield f"    return {up}_OK;"
    yield "}"


def _sizes(face: Interface) -> Iterator[str]:
    name, up, arrays = face.name, face.upper, face.arrays
    yield f"int {name}_elements(const {name}_dims *dims, {name}_counts *counts)"
    yield "{"
    yield "    plan p;"
    yield f"    if (!counts) return {up}_ERROR_NULL;"
    yield "    const int status = make_plan(dims, &p);"
    yield f"    if (status != {up}_OK) return status;"
    for f in (*face.inputs, *face.outputs):
        n = arrays.index(f.source)
        yield f"    if ((uint64_t)p.count[{n}] > SIZE_MAX / {BYTES[f.source.dtype]}) return {up}_ERROR_SIZE;"
        yield f"    counts->{f.member} = (size_t)p.count[{n}];"
    yield f"    return {up}_OK;"
    yield "}"


def _errors(face: Interface) -> Iterator[str]:
    yield f"const char *{face.name}_error_string(int status)"
    yield "{"
    yield "    switch (status) {"
    for word, _, text in statuses(face):
        yield f'    case {face.upper}_{word}: return "{text}";'
    yield '    default: return "no status of this library";'
    yield "    }"
    yield "}"


def statuses(face: Interface) -> tuple[tuple[str, int, str], ...]:
    """The statuses of a library: word, number, meaning."""
    always = (
        ("OK", 0, "all is well"),
        ("ERROR_NULL", 1, "a pointer that is needed is NULL"),
        ("ERROR_DIMS", 2, "a dim is outside its declared range or no multiple of what it has to be"),
        ("ERROR_SIZE", 3, "an array or the workspace is larger than this machine can address"),
        ("ERROR_WORKSPACE", 4, "the workspace is too small"),
        ("ERROR_ALIGNMENT", 5, "an array does not start at a multiple of the size of its elements"),
    )
    if not face.weights:
        return always
    return (
        *always,
        ("ERROR_WEIGHTS_FILE", 6, "the file of weights cannot be opened or read"),
        ("ERROR_WEIGHTS_FORMAT", 7, "the weights are in no format of this library"),
        ("ERROR_WEIGHTS_VERSION", 8, "the weights are in a version of the format that this library does not read"),
        ("ERROR_WEIGHTS_MODEL", 9, "the weights belong to another model"),
        ("ERROR_WEIGHTS_DAMAGED", 10, "the weights are damaged: a size or the checksum is wrong"),
        ("ERROR_WEIGHTS_MEMORY", 11, "the memory for the weights is too small"),
    )
