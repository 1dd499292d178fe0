"""The programs whose kernels of plain threads are kept as goldens, dialect by dialect, and run where a device is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest

from tang_egg import layers, library, library_conv, library_sort
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.codegen.lower_grid import THREADS
from tang_egg.codegen.printer import Dialect, print_kernel
from tang_egg.errors import TargetError
from tang_egg.ir import Graph
from tang_egg.pipeline import choose_schedules, extract_for, optimize
from tang_egg.run_grid import GridProgram, distinct, grid_kernels
from tang_egg.run_layout import Built
from tang_egg.saturate import Limits
from tang_egg.schedule import Schedule
from tang_egg.targets import Wish, target
from tang_egg.verify import Verification, verify
from tests.rows import ROWS


@dataclass(frozen=True, slots=True)
class Subject:
    """A graph; `chunk`: as in optimize."""

    graph: Callable[[], Graph]
    chunk: Mapping[str, int] = field(default_factory=dict)


def _attention() -> Graph:
    q, k, v = (te.input(x, (2, 2, 37, 16), "bf16") for x in "QKV")
    return graph("attention", O=layers.attention(q, k, v, causal=True))


def _layernorm() -> Graph:
    x, w = te.input("X", (33, 96)), te.input("W", (96, 40))
    return graph("layernorm_matmul", Y=library.linear(library.layer_norm(x), w))


def _swiglu() -> Graph:
    x, g, u = te.input("X", (33, 64), "f16"), te.input("G", (64, 48), "f16"), te.input("U", (64, 48), "f16")
    return graph("swiglu", H=layers.swiglu(x, g, u))


def _convolution() -> Graph:
    x, w = te.input("X", (2, 3, 17, 19)), te.input("W", (4, 3, 3, 3))
    return graph("convolution", Y=library_conv.conv2d(x, w, padding=1))


def _top_k() -> Graph:
    values, places = library_sort.top_k(te.input("X", (9, 101)), 4)
    return graph("top_k", V=values, I=places)


PROGRAMS: dict[str, Subject] = {
    "matmul": Subject(lambda: graph("matmul", C=library.linear(te.input("A", (67, 33)), te.input("B", (33, 65))))),
    "softmax": Subject(lambda: graph("softmax", P=library.softmax(te.input("X", (37, 131))))),
    "attention_causal": Subject(_attention),
    "layernorm_matmul": Subject(_layernorm),
    "swiglu": Subject(_swiglu),
    "convolution_padded": Subject(_convolution),
    "top_k": Subject(_top_k),
    "segments": Subject(lambda: ROWS["segments"].build("f32", n=53, g=7, d=5)),
    "linear_attention": Subject(lambda: ROWS["linear_attention"].naive("f32"), {"K:0": 3}),
}


@dataclass(frozen=True, slots=True)
class Made:
    """A program as a target cuts it, its graph, and the schedules that a chip with fast lanes gets."""

    graph: Graph
    program: Any
    schedules: dict[str, Schedule]


@cache
def made(name: str, language: str) -> Made:
    """The program of a name. Nothing is compiled."""
    subject = PROGRAMS[name]
    g = subject.graph()
    program = extract_for(language, g, Limits(), chunk=dict(subject.chunk) or None).program
    return Made(g, program, choose_schedules(program, language))


def built(name: str, language: str, together: int = THREADS) -> tuple[Built, ...]:
    """The distinct kernels of a program."""
    x = made(name, language)
    return distinct(grid_kernels(x.program, x.schedules, THREADS, together))


def shown(b: Built, dialect: Dialect) -> str:
    """A kernel's function under its schedule; not what all files begin with."""
    assert b.kernel.launch is not None
    head = f"{b.schedule}; blocks of {b.kernel.launch.threads} threads"
    return "\n".join([dialect.comment.format(head), print_kernel(b.kernel, dialect)])


def device(language: str) -> Any:
    """The device of a target; the test is skipped where there is none."""
    try:
        return target(language).open()
    except TargetError as error:
        pytest.skip(str(error))


def checked(name: str, language: str) -> Verification:
    """A program run with the schedules of its goldens and compared with the interpreter."""
    x = made(name, language)
    runner = target(language).compile(x.program, x.schedules, device(language))
    return verify(x.graph, x.program, runner, x.schedules)


def checked_row(name: str, dtype: str, language: str, units: bool) -> Verification:
    """The small twin of a row of the laws' table, compared with the naive graph. `units`: see targets.Wish."""
    on, opened = target(language), device(language)
    x = ROWS[name].twin(dtype)
    program = on.parted(x.program)
    chosen = {k.name: on.first(k.outputs, Wish(units=units)) for k in program.kernels}
    return verify(x.graph, program, on.compile(program, chosen, opened), chosen)


def ran(g: Graph, language: str, schedules: Mapping[str, Schedule | str] | None = None) -> GridProgram:
    """A graph as `optimize` compiles it, without verification."""
    device(language)
    found = optimize(g, language, schedule=schedules, verified=False).runner
    assert isinstance(found, GridProgram)
    return found


SAMPLE = (
    "softmax_masked", "attention_causal", "attention_paged", "layer_norm_matmul", "arg_max", "top_k_of_product",
    "matmul_split_k", "int4_blocks", "optimizer_step", "segments", "embedding_norm", "linear_attention",
    "gated_recurrence", "convolution_padded", "pooling_max", "matmul_high_low",
)  # fmt: skip
"""Rows of the table that are run always: one or two of each kind. The others are marked nightly."""


def row_cases() -> list[Any]:
    """(row, element type) for every row; those out of the sample are nightly, and so are second types but for some."""
    found = []
    for n, name in enumerate(ROWS):
        for k, dtype in enumerate(ROWS[name].dtypes):
            quick = name in SAMPLE and (k == 0) == (n % 3 != 0 or len(ROWS[name].dtypes) == 1)
            found.append(pytest.param(name, dtype, id=f"{name}-{dtype}", marks=() if quick else pytest.mark.nightly))
    return found
