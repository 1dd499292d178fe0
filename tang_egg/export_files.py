"""The files beside the C of a library: how it is built, what it is, and what it was made from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tang_egg.affine import Affine
from tang_egg.export_header import plain
from tang_egg.export_interface import Field, Interface, shape_text
from tang_egg.export_weights import VERSION as WEIGHTS_VERSION
from tang_egg.export_weights import offsets
from tang_egg.extract.derive import Step

FORMAT = 1
KIND = "tang_egg C library"
LICENCE = "Apache-2.0 for the generated C; weights keep the licence of the model that they come from"


def makefile(face: Interface, embedded: bool) -> str:
    """Builds a static and a shared library and the example, with OpenMP where the compiler has it."""
    objects = f"{face.name}.o {face.name}_weights.o" if embedded else f"{face.name}.o"
    return _MAKEFILE.replace("@NAME@", face.name).replace("@OBJECTS@", objects)


_MAKEFILE = """\
# Written by tang-compile.
#   make            lib@NAME@.a, lib@NAME@.so and the example
#   make check      runs the example, which compares its outputs with recorded ones
#   make MARCH=native           for the processor at hand alone, and faster there
#   make OPENMP=                without threads
CC ?= cc
CFLAGS ?= -O3
MARCH ?=
OPENMP ?= $(shell echo 'int main(void) { return 0; }' | $(CC) -fopenmp -x c - -o /dev/null 2>/dev/null && echo -fopenmp)
FLAGS = -std=c11 -fPIC -ffp-contract=fast -fno-math-errno -fno-strict-overflow -Wno-psabi
FLAGS += $(CFLAGS) $(if $(MARCH),-march=$(MARCH)) $(OPENMP)

all: lib@NAME@.a lib@NAME@.so example

%.o: %.c @NAME@.h
	$(CC) $(FLAGS) -c $< -o $@

lib@NAME@.a: @OBJECTS@
	$(AR) rcs $@ $^

lib@NAME@.so: @OBJECTS@
	$(CC) $(FLAGS) -shared $^ -o $@ -lm

example: example.c lib@NAME@.a @NAME@.h
	$(CC) $(FLAGS) example.c lib@NAME@.a -o $@ -lm

check: example
	./example

clean:
	rm -f @OBJECTS@ lib@NAME@.a lib@NAME@.so example

.PHONY: all check clean
"""


def cmake(face: Interface, embedded: bool) -> str:
    """The same for CMake: a target of the library's name, and the example as a test."""
    sources = f"{face.name}.c {face.name}_weights.c" if embedded else f"{face.name}.c"
    return _CMAKE.replace("@NAME@", face.name).replace("@SOURCES@", sources).replace("@UPPER@", face.upper)


_CMAKE = """\
# Written by tang-compile.
cmake_minimum_required(VERSION 3.10)
project(@NAME@ C)
option(@UPPER@_OPENMP "run on several threads" ON)
option(@UPPER@_NATIVE "for the processor at hand alone" OFF)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library(@NAME@ @SOURCES@)
target_include_directories(@NAME@ PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
set_target_properties(@NAME@ PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON POSITION_INDEPENDENT_CODE ON)
target_compile_options(@NAME@ PRIVATE -ffp-contract=fast -fno-math-errno -Wno-psabi)
if(@UPPER@_NATIVE)
  target_compile_options(@NAME@ PRIVATE -march=native)
endif()
target_link_libraries(@NAME@ PUBLIC m)
if(@UPPER@_OPENMP)
  find_package(OpenMP COMPONENTS C)
  if(OpenMP_C_FOUND)
    target_link_libraries(@NAME@ PUBLIC OpenMP::OpenMP_C)
  endif()
endif()

add_executable(@NAME@_example example.c)
set_target_properties(@NAME@_example PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON)
target_link_libraries(@NAME@_example PRIVATE @NAME@)
enable_testing()
add_test(NAME @NAME@_example COMMAND @NAME@_example WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
"""


def readme(face: Interface, embedded: bool, laws: Sequence[str], graph: str) -> str:
    """What is in the folder, how to build and call it."""
    name = face.name
    rows = [f"| `{f.member}` | {what} | {f.source.dtype} | `{shape_text(f.source.shape)}` | {_cell(f.original)} |"
            for what, fields in _kinds(face) for f in fields]  # fmt: skip
    given = [f".{f.member} = …" for f in face.inputs] + ([".weights = &weights"] if face.weights else [])
    dims = [f".{m} = …" for _, m in face.dims]
    lines = [
        f"# {name}",
        "",
        f"The graph `{_cell(face.program.graph.name)}` as a C library. It needs a C compiler with GCC's vector",
    ]
    lines += ["types (gcc, clang, zig cc) and libm; Python is not needed. Written by tang-compile.", "", "## Files", ""]
    lines += [f"- `{name}.h`, `{name}.c`: the interface and the kernels"]
    if face.weights:
        lines += [
            f"- `{name}_weights.c`: the weights"
            if embedded
            else f"- `{name}.weights`: the weights, in the format told below"
        ]
    lines += ["- `example.c`: runs on a pattern and compares the outputs with recorded ones"]
    lines += ["- `Makefile`, `CMakeLists.txt`: build libraries and the example; `make check` runs it"]
    lines += ["- `manifest.json`: versions, hashes, arrays, derivation", "", "## Arrays", ""]
    lines += ["| member | | type | shape | name in the model |", "|---|---|---|---|---|", *rows, ""]
    lines += ["## Use", "", "```c", *_use(face, embedded, given, dims), "```", ""]
    lines += [f"`{name}.h` says what has to be aligned, what may overlap, and what threads may do at one time.", ""]
    if face.weights and not embedded:
        lines += [*_FORMAT_OF_WEIGHTS.splitlines(), ""]
    lines += [
        "## How it was derived",
        "",
        f"By {', '.join(laws) or 'no law'}, from",
        "",
        "```python",
        *graph.rstrip().splitlines(),
        "```",
    ]
    return "\n".join(lines) + "\n"


_FORMAT_OF_WEIGHTS = """\
## The file of weights

Little-endian: the bytes `TANGWTS` and a zero; u32 version (1), u32 count; u64 bytes of the file; u64 model, the start
of the graph's hash; u32 CRC-32 of all that follows byte 40; u32 CRC-32 of the first 36 bytes. Then for each weight, in
order, u64 offset and u64 bytes. Data starts at multiples of 64."""


def _use(face: Interface, embedded: bool, given: Sequence[str], dims: Sequence[str]) -> list[str]:
    name, up = face.name, face.upper
    lines: list[str] = []
    if face.weights and embedded:
        lines += [f"{name}_weights weights;", f"{name}_weights_embedded(&weights);"]
    elif face.weights:
        lines += [f"void *memory = aligned_alloc(64, {up}_WEIGHTS_BYTES);", f"{name}_weights weights;"]
        lines += [f'int status = {name}_weights_read("{name}.weights", memory, {up}_WEIGHTS_BYTES, &weights);']
    lines += [
        f"{name}_dims dims = {{{', '.join(dims) or '0'}}};",
        f"{name}_inputs inputs = {{{', '.join(given) or '0'}}};",
    ]
    lines += [
        f"{name}_outputs outputs = {{{', '.join(f'.{f.member} = …' for f in face.outputs) or '0'}}};",
        "size_t bytes;",
    ]
    lines += [f"{name}_workspace_bytes(&dims, 0, &bytes);", "void *workspace = malloc(bytes);"]
    lines += [f"if ({name}_run(&inputs, &outputs, &dims, workspace, bytes) != {up}_OK) …"]
    return lines


def _kinds(face: Interface) -> tuple[tuple[str, tuple[Field, ...]], ...]:
    return ("input", face.inputs), ("weight", face.weights), ("output", face.outputs), ("update", face.updates)


def _cell(text: str) -> str:
    return plain(text).replace("|", "\\|").replace("`", "'")


def manifest(
    face: Interface, version: str, graph_hash: str, program_hash: str, files: Mapping[str, str],
    steps: Mapping[str, Sequence[Step]], schedules: Mapping[str, str], errors: Mapping[str, float] | None,
) -> str:  # fmt: skip
    """What a program can know of the folder: JSON. `files`: the SHA-256 of each of the others."""
    places = offsets(face)
    weights = [
        {**_array(f), "offset": start, "bytes": size} for f, (start, size) in zip(face.weights, places, strict=True)
    ]
    updates = [{**_array(f), "into": d.member} for f in face.updates if (d := _donated(face, f))]
    data: dict[str, Any] = {
        "kind": KIND,
        "format": FORMAT,
        "tang_egg": version,
        "name": face.name,
        "graph": face.program.graph.name,
        "graph_sha256": graph_hash,
        "program_sha256": program_hash,
        "weights_format": WEIGHTS_VERSION,
        "licence": LICENCE,
        "dims": [
            {"name": m, "original": d.name, "at_least": max(0, d.lo), "at_most": d.hi, "multiple": d.multiple}
            for d, m in face.dims
        ],
        "inputs": [_array(f) for f in face.inputs],
        "weights": weights,
        "outputs": [_array(f) for f in face.outputs],
        "updates": updates,
        "schedules": dict(schedules),
        "derivation": {
            kernel: [
                {"law": s.law, "before": s.before, "after": s.after, "holds": s.holds, "rounding": s.rounding}
                for s in found
            ]
            for kernel, found in steps.items()
        },
        "verified": {"largest_relative_errors": dict(errors)} if errors is not None else None,
        "files": {name: {"sha256": digest} for name, digest in sorted(files.items())},
    }  # fmt: skip
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _donated(face: Interface, f: Field) -> Field | None:
    return next((g for g in face.inputs if g.source.name == getattr(f.source, "into", "")), None)


def _array(f: Field) -> dict[str, Any]:
    found = {
        "name": f.member,
        "original": f.original,
        "dtype": f.source.dtype,
        "shape": [_extent(x) for x in f.source.shape],
    }
    return {**found, "sorted": True} if getattr(f.source, "sorted", False) else found


def _extent(form: Affine) -> int | str:
    """An extent as a number, or as a form over dims."""
    return str(form) if form.value is None else form.value
