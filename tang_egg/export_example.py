"""example.c: fills the inputs with a pattern, runs, and compares with what the verified program gave for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tang_egg.export_interface import Field, Interface
from tang_egg.ir import Graph, Input, Tensor
from tang_egg.ops import BYTES, FLOATS
from tang_egg.run_arrays import NUMPY
from tang_egg.verify_compare import values_of
from tang_egg.verify_inputs import coordinate_ranges, dim_choices

_STRIDE = 0xD1B54A32D192ED03

FIRST = 8
"""Values of each output that are compared one by one."""
TOLERANCE = {"f64": 1e-6, "f32": 1e-3, "f16": 1e-2, "bf16": 3e-2}
"""Error that is allowed, over the largest value of the output; other compilers contract and vectorise otherwise."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What an output has to be: its first values, and over all of them the sum, the sum of absolute values, the largest
    absolute value (of finite ones each) and the count of those that are infinite or NaN.
    """

    first: tuple[float, ...]
    sum: float
    absolute: float
    largest: float
    odd: int


def example_dims(graph: Graph) -> dict[str, int]:
    """Sizes at which the example runs: small and odd, as far as the facts allow."""
    return dim_choices(graph)[-1]


def pattern_inputs(graph: Graph, names: Mapping[str, int], dims: Mapping[str, int]) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays that example.c makes for some inputs; `names`: the number of each."""
    limits = moduli(graph, dims)
    return {
        i.name: _pattern(i, names[i.name], tuple(s.evaluate(dims) for s in i.shape), limits[i.name])
        for i in graph.inputs
        if i.name in names
    }


def moduli(graph: Graph, dims: Mapping[str, int]) -> dict[str, int]:
    """For each input, how many different integers its pattern has, from 0 on: those that it may index with."""
    found = coordinate_ranges(graph, dims)
    return {i.name: max(1, min(found.get(i, 50), 100, 127 if BYTES[i.dtype] == 1 else 100)) for i in graph.inputs}


def _pattern(i: Input, number: int, shape: tuple[int, ...], modulus: int) -> np.ndarray[Any, Any]:
    count = int(np.prod(shape, dtype=np.int64))
    n = np.arange(count, dtype=np.uint64)
    h = (n + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(number * _STRIDE % 2**64)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    h ^= h >> np.uint64(31)
    if i.dtype in FLOATS:
        real = ((h % np.uint64(129)).astype(np.float32) - np.float32(64)) / np.float32(64)
        made = real.astype(NUMPY[i.dtype]) if i.dtype != "bf16" else (real.view(np.uint32) >> 16).astype(np.uint16)
    elif i.dtype == "bool":
        made = h % np.uint64(4) != 0
    elif i.sorted:
        made = (n * np.uint64(modulus) // np.uint64(max(1, count))).astype(NUMPY[i.dtype])
    else:
        made = (h % np.uint64(modulus)).astype(NUMPY[i.dtype])
    return made.reshape(shape)


def expected(array: np.ndarray[Any, Any], dtype: str) -> Expected:
    """What is recorded of an output."""
    values = values_of(array, dtype).astype(np.float64).reshape(-1)
    finite = values[np.isfinite(values)]
    size = np.abs(finite)
    return Expected(
        tuple(values[:FIRST].tolist()), float(finite.sum()), float(size.sum()), float(size.max(initial=0.0)),
        int(values.size - finite.size),
    )  # fmt: skip


def example_text(
    face: Interface,
    embedded: bool,
    dims: Mapping[str, int],
    results: Mapping[str, Expected],
    numbers: Mapping[str, int],
) -> str:
    """The program. `numbers`: which pattern each input has. Updates are compared where their input lies."""
    limits = moduli(face.program.graph, dims)
    lines = [_TOP.format(name=face.name), *_tables(face, results), "", _MIDDLE, "int main(int argc, char **argv)", "{"]
    lines += [f"    {face.name}_dims dims = {{{', '.join(f'.{m} = {dims[d.name]}' for d, m in face.dims) or '0'}}};"]
    lines += ["    int first = 1, same = 1;"]
    if face.weights and not embedded:
        lines += [f'    const char *path = argc > first ? argv[first++] : "{face.name}.weights";']
    for _, member in face.dims:
        lines += [f"    if (argc > first) same = 0, dims.{member} = strtoll(argv[first++], NULL, 10);"]
    lines += ["    (void)argc, (void)argv, (void)first;", *_setup(face, embedded)]
    if face.inputs:  # no variable has the name of an input, which may be that of anything here
        lines += [f"    void *given[{len(face.inputs)}];"]
    for n, f in enumerate(face.inputs):
        m, call = f.member, f"{numbers[f.source.name]}, {limits[f.source.name]}, {int(_is_sorted(f))}"
        lines += [f"    given[{n}] = array(counts.{m}, sizeof(*inputs.{m}));"]
        lines += [f'    fill(given[{n}], "{f.source.dtype}", counts.{m}, {call});', f"    inputs.{m} = given[{n}];"]
    for f in face.outputs:
        lines += [f"    outputs.{f.member} = array(counts.{f.member}, sizeof(*outputs.{f.member}));"]
    lines += [f"    check({face.name}_run(&inputs, &outputs, &dims, workspace, bytes));", "    int wrong = 0;"]
    places = [(f, f"outputs.{f.member}", f.member) for f in face.outputs]
    for f in face.updates:
        donated = face.donated(f.source) if isinstance(f.source, Tensor) else None
        assert donated is not None
        places.append((f, f"inputs.{donated.member}", donated.member))
    for n, (f, where, count) in enumerate(places):
        call = f'"{f.member}", {where}, "{f.source.dtype}", counts.{count}, same ? &expected[{n}] : NULL'
        lines += [f"    wrong += compare({call});"]
    lines += [f"    free(given[{n}]);" for n in range(len(face.inputs))]
    for f in face.outputs:
        lines += [f"    free(outputs.{f.member});"]
    if face.weights and not embedded:
        lines += ["    free(memory);"]
    lines += ["    free(workspace);", *_END.splitlines()]
    return "\n".join(lines) + "\n"


def _is_sorted(f: Field) -> bool:
    return isinstance(f.source, Input) and f.source.sorted


def _setup(face: Interface, embedded: bool) -> Iterator[str]:
    name, up = face.name, face.upper
    yield f"    {name}_counts counts;"
    yield f"    {name}_inputs inputs = {{0}};"
    yield f"    {name}_outputs outputs = {{0}};"
    yield "    size_t bytes = 0;"
    if face.weights:
        yield f"    {name}_weights weights;"
    if face.weights and embedded:
        yield f"    check({name}_weights_embedded(&weights));"
    elif face.weights:
        yield f"    void *memory = aligned_alloc(64, {up}_WEIGHTS_BYTES);"
        yield '    if (!memory) stop("there is no memory for the weights");'
        yield f"    check({name}_weights_read(path, memory, {up}_WEIGHTS_BYTES, &weights));"
    if face.weights:
        yield "    inputs.weights = &weights;"
    yield f"    check({name}_elements(&dims, &counts));"
    yield f"    check({name}_workspace_bytes(&dims, 0, &bytes));"
    yield "    void *workspace = array(bytes, 1);"


def _tables(face: Interface, results: Mapping[str, Expected]) -> Iterator[str]:
    yield "static const results expected[] = {"
    for f in (*face.outputs, *face.updates):
        r = results[f.source.name]
        first = ", ".join(_number(x) for x in (*r.first, *([0.0] * (FIRST - len(r.first)))))
        rest = ", ".join(_number(x) for x in (r.sum, r.absolute, r.largest, TOLERANCE.get(f.source.dtype, 0.0)))
        yield f"    {{{{{first}}}, {rest}, {r.odd}}},  // {f.member}"
    yield "};"


def _number(x: float) -> str:
    if not np.isfinite(x):
        return "NAN" if np.isnan(x) else "INFINITY" if x > 0 else "-INFINITY"
    return repr(float(x))


_TOP = """\
// Runs {name} on a pattern and compares the outputs with recorded ones. Written by tang-compile.
// The status of the program is 0 when all is well, 1 when a value differs, 2 when a function of the library fails.
#include "{name}.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// An output as it has to be: first values, sum, sum of absolute values, largest one, relative tolerance, and how many
// values are infinite or NaN.
typedef struct {{
    double first[8], sum, absolute, largest, tolerance;
    uint64_t odd;
}} results;

static void stop(const char *why)
{{
    fprintf(stderr, "%s\\n", why);
    exit(2);
}}

static void check(int status)
{{
    if (status) stop({name}_error_string(status));
}}
"""

_MIDDLE = """\
static void *array(size_t count, size_t size)
{
    void *made = calloc(count ? count : 1, size);
    if (!made) stop("there is no memory for an array");
    return made;
}

static uint64_t mixed(uint64_t n, uint64_t which)
{
    uint64_t h = (n + 1) * UINT64_C(0x9E3779B97F4A7C15) + which * UINT64_C(0xD1B54A32D192ED03);
    h = (h ^ h >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    h = (h ^ h >> 27) * UINT64_C(0x94D049BB133111EB);
    return h ^ h >> 31;
}

// 16-bit floats of the few values that the pattern has, and back of all values.
static uint16_t half_of(float x, int brain)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    if (brain) return (uint16_t)(u >> 16);
    if (x == 0) return (uint16_t)(u >> 16 & 0x8000);
    return (uint16_t)((u >> 16 & 0x8000) | (((u >> 23 & 255) - 112) << 10) | (u >> 13 & 1023));
}

static double of_half(uint16_t h, int brain)
{
    float x;
    const uint32_t u = (uint32_t)h << 16;
    if (brain) return memcpy(&x, &u, 4), x;
    const double sign = h & 0x8000 ? -1 : 1, part = h & 1023;
    const int e = h >> 10 & 31;
    if (e == 31) return part != 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (e ? ldexp(part + 1024, e - 25) : ldexp(part, -24));
}

static void fill(void *to, const char *type, size_t count, uint64_t which, uint64_t modulus, int sorted)
{
    for (size_t n = 0; n < count; n++) {
        const uint64_t h = mixed(n, which), i = sorted ? n * modulus / count : h % modulus;
        const float x = ((float)(h % 129) - 64) / 64;
        if (!strcmp(type, "f32")) ((float *)to)[n] = x;
        else if (!strcmp(type, "f64")) ((double *)to)[n] = x;
        else if (!strcmp(type, "f16") || !strcmp(type, "bf16")) ((uint16_t *)to)[n] = half_of(x, *type == 'b');
        else if (!strcmp(type, "bool")) ((uint8_t *)to)[n] = h % 4 != 0;
        else if (!strcmp(type + 1, "8")) ((uint8_t *)to)[n] = (uint8_t)i;
        else if (!strcmp(type + 1, "16")) ((uint16_t *)to)[n] = (uint16_t)i;
        else if (!strcmp(type + 1, "32")) ((uint32_t *)to)[n] = (uint32_t)i;
        else ((uint64_t *)to)[n] = i;
    }
}

static double value(const void *from, const char *type, size_t n)
{
    if (!strcmp(type, "f32")) return ((const float *)from)[n];
    if (!strcmp(type, "f64")) return ((const double *)from)[n];
    if (!strcmp(type, "f16") || !strcmp(type, "bf16")) return of_half(((const uint16_t *)from)[n], *type == 'b');
    if (!strcmp(type, "i8")) return ((const int8_t *)from)[n];
    if (!strcmp(type, "i16")) return ((const int16_t *)from)[n];
    if (!strcmp(type, "i32")) return ((const int32_t *)from)[n];
    if (!strcmp(type, "i64")) return (double)((const int64_t *)from)[n];
    if (!strcmp(type, "u16")) return ((const uint16_t *)from)[n];
    if (!strcmp(type, "u32")) return ((const uint32_t *)from)[n];
    if (!strcmp(type, "u64")) return (double)((const uint64_t *)from)[n];
    return ((const uint8_t *)from)[n];
}

static int near(double x, double y, double scale, double tolerance)
{
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    return x == y || fabs(x - y) <= tolerance * scale;
}

static int compare(const char *name, const void *from, const char *type, size_t count, const results *want)
{
    results got = {{0}, 0, 0, 0, 0, 0};
    int wrong = 0;
    for (size_t n = 0; n < count; n++) {
        const double x = value(from, type, n);
        if (n < 8) got.first[n] = x;
        if (!isfinite(x)) got.odd++;
        else got.sum += x, got.absolute += fabs(x), got.largest = fmax(got.largest, fabs(x));
    }
    printf("%s: %zu elements, sum %.9g, first", name, count, got.sum);
    for (size_t n = 0; n < 8 && n < count; n++) printf(" %.6g", got.first[n]);
    if (!want) return printf("\\n"), 0;
    for (int n = 0; n < 8; n++) wrong |= !near(got.first[n], want->first[n], want->largest, want->tolerance);
    wrong |= !near(got.sum, want->sum, want->absolute, want->tolerance + 1e-12);
    wrong |= !near(got.absolute, want->absolute, want->absolute, want->tolerance + 1e-12);
    wrong |= !near(got.largest, want->largest, want->largest, want->tolerance) || got.odd != want->odd;
    if (wrong) printf("; EXPECTED sum %.9g, first %.6g\\n", want->sum, want->first[0]);
    else printf("; as expected\\n");
    return wrong;
}
"""

_END = """\
    if (wrong) fprintf(stderr, "the outputs are not the recorded ones\\n");
    return wrong != 0;
}"""
