"""NAME.h: what a C or C++ program sees of a library, with everything it has to know in comments."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator

from tang_egg.export_interface import Field, Interface, shape_text
from tang_egg.export_source import run_head, statuses
from tang_egg.export_weights import file_size, model_number

_ABOUT = """\
{name}: the graph '{title}' as a C library, written by tang-compile.

Every array is contiguous, the last axis fastest, and starts at a multiple of the size of its elements. Elements of f16
and bf16 are given as their 16 bits, those of bool as 0 or 1. Outputs and the workspace must not overlap one another or
an input, except that an update is written into the memory of its input.

{name}_run allocates nothing, keeps nothing and uses no state but its arguments: any number of threads may call it at
one time, each with a workspace and outputs of its own; inputs and weights may be shared. The workspace may start at any
address, need not be cleared, and may be used again. With OpenMP a call runs on as many threads as the workspace has
room for, at most omp_get_max_threads().

A coordinate that is read from an array and lies outside of what it indexes is moved to the nearest one inside. Nothing
checks that entries of an array declared as sorted do not decrease. Memory outside of the arrays is never read or
written, as long as each has the elements that {name}_elements tells."""


def _about(face: Interface) -> list[str]:
    """What a caller has to know, as one comment."""
    lines: list[str] = []
    for text in _ABOUT.split("\n\n"):
        told = text.format(name=face.name, title=plain(face.program.graph.name))
        lines += [*textwrap.wrap(told, 112, initial_indent="   ", subsequent_indent="   "), ""]
    return ["/*" + lines[0][2:], *lines[1:-2], f"{lines[-2]} */", ""]


def header_text(face: Interface, graph_hash: str, embedded: bool) -> str:
    """The header of a library."""
    up = face.upper
    lines = [f"#ifndef {up}_H", f"#define {up}_H", "", *_about(face)]
    lines += ["#include <stddef.h>", "#include <stdint.h>", "", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    lines += [f"/* The start of the content hash of the graph, {graph_hash}. */"]
    lines += [f"#define {up}_MODEL UINT64_C(0x{model_number(graph_hash):016x})"]
    if face.weights and not embedded:
        lines += [
            "/* Bytes of the file of weights. */",
            f"#define {up}_WEIGHTS_BYTES ((size_t)UINT64_C({file_size(face)}))",
        ]
    lines += ["", "/* What functions return. */", "enum {"]
    lines += [f"    {up}_{word} = {number}, /* {text} */" for word, number, text in statuses(face)]
    lines += ["};", "", *_dims(face), ""]
    if face.weights:
        lines += [*_struct(face, "weights", face.weights, "const "), ""]
    lines += [*_inputs(face), "", *_outputs(face), "", *_counts(face), "", *_functions(face, embedded), ""]
    lines += ["#ifdef __cplusplus", "}", "#endif", "", "#endif"]
    return "\n".join(lines) + "\n"


def plain(text: str) -> str:
    """A text that can stand in a comment of C."""
    return re.sub(r"[^\x20-\x7e]|\*/|/\*|\\", "?", text)


def _struct(face: Interface, kind: str, fields: Iterable[Field], const: str) -> Iterator[str]:
    yield f"typedef struct {face.name}_{kind} {{"
    yield from (_field(f, const) for f in fields)
    yield f"}} {face.name}_{kind};"


def _field(f: Field, const: str) -> str:
    note = f"{f.source.dtype}{shape_text(f.source.shape)}"
    if f.original != f.member:
        note += f", called '{plain(f.original)}'"
    if getattr(f.source, "sorted", False):
        note += ", sorted"
    return f"    {const}{f.type} *{f.member}; /* {note} */"


def _dims(face: Interface) -> Iterator[str]:
    yield "/* Sizes that are given at each call. */" if face.dims else "/* There are no sizes to give: NULL will do. */"
    yield f"typedef struct {face.name}_dims {{"
    for d, member in face.dims:
        facts = [f"at least {max(0, d.lo)}", *([f"at most {d.hi}"] if d.hi is not None else [])]
        facts += [f"a multiple of {d.multiple}"] if d.multiple != 1 else []
        yield f"    int64_t {member}; /* {', '.join(facts)} */"
    if not face.dims:
        yield "    int64_t unused;"
    yield f"}} {face.name}_dims;"


def _inputs(face: Interface) -> Iterator[str]:
    updated = {f.source.into: f for f in face.updates if hasattr(f.source, "into")}
    yield f"typedef struct {face.name}_inputs {{"
    if face.weights:
        yield f"    const {face.name}_weights *weights;"
    for f in face.inputs:
        if f.source.name in updated:
            yield f"    /* becomes {plain(updated[f.source.name].original)}: its memory is written */"
        yield _field(f, "" if f.source.name in updated else "const ")
    if not face.inputs and not face.weights:
        yield "    int64_t unused;"
    yield f"}} {face.name}_inputs;"


def _outputs(face: Interface) -> Iterator[str]:
    yield f"typedef struct {face.name}_outputs {{"
    yield from (_field(f, "") for f in face.outputs)
    if not face.outputs:
        yield "    int64_t unused; /* all results are updates of inputs */"
    yield f"}} {face.name}_outputs;"


def _counts(face: Interface) -> Iterator[str]:
    yield "/* Elements of every input and output. */"
    yield f"typedef struct {face.name}_counts {{"
    for f in (*face.inputs, *face.outputs):
        yield f"    size_t {f.member};"
    if not face.inputs and not face.outputs:
        yield "    size_t unused;"
    yield f"}} {face.name}_counts;"


def _functions(face: Interface, embedded: bool) -> Iterator[str]:
    name = face.name
    yield "/* What a status means, in English; never NULL. */"
    yield f"const char *{name}_error_string(int status);"
    yield ""
    yield "/* The elements of every array at some sizes. */"
    yield f"int {name}_elements(const {name}_dims *dims, {name}_counts *counts);"
    yield ""
    yield "/* Bytes of workspace for a run at some sizes on `threads` threads; 0: as many as OpenMP would use. */"
    yield f"int {name}_workspace_bytes(const {name}_dims *dims, int threads, size_t *bytes);"
    yield ""
    if face.weights and embedded:
        yield "/* The weights that are part of the library. */"
        yield f"int {name}_weights_embedded({name}_weights *weights);"
        yield ""
    elif face.weights:
        yield f"/* The weights of a file, read into memory of {face.upper}_WEIGHTS_BYTES bytes at a multiple of 64,"
        yield "   which has to live as long as they are used. The file is checked whole. */"
        yield f"int {name}_weights_read(const char *path, void *memory, size_t bytes, {name}_weights *weights);"
        yield "/* The same for the bytes of a file that are in memory already, for instance mapped. */"
        yield f"int {name}_weights_attach(const void *file, size_t bytes, {name}_weights *weights);"
        yield ""
    yield "/* Computes all outputs. On any status but OK no output was written. */"
    yield f"{run_head(name)};"
