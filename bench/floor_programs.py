"""What the suite `floor.c` measures: programs at sizes from a cache near a core to memory, and their graphs again.

A row names its program and its sizes, and `graph_of` builds the same graph from them, so that its floor can be found at
any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tang_egg import layers, library, library_conv
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.ir import Graph

Sizes = Mapping[str, int]


def _scaled(n: int) -> Graph:
    x, i = te.input("X", (n,)), te.index("i")
    return graph("scaled", Y=te.tensor(None, i, x[i] * 2.0 + 1.0))


def _summed(n: int) -> Graph:
    x, i = te.input("X", (n,)), te.index("i")
    return graph("summed", S=te.tensor(None, (), te.sum(i, x[i])))


def _dotted(n: int) -> Graph:
    x, y, i = te.input("X", (n,)), te.input("Y", (n,)), te.index("i")
    return graph("dotted", S=te.tensor(None, (), te.sum(i, x[i] * y[i])))


def _added(m: int, n: int) -> Graph:
    return graph("added", Z=library.add(te.input("X", (m, n)), te.input("Y", (m, n))))


def _rows(m: int, n: int) -> Graph:
    x = te.input("X", (m, n))
    i, j = te.indices("i j")
    return graph("rows", S=te.tensor(None, i, te.sum(j, x[i, j] * x[i, j])))


def _softmax(m: int, n: int) -> Graph:
    return graph("softmax", Y=library.softmax(te.input("X", (m, n))))


def _logsumexp(m: int, n: int) -> Graph:
    return graph("logsumexp", L=library.logsumexp(te.input("X", (m, n))))


def _rms_norm(m: int, n: int) -> Graph:
    return graph("rms_norm", Y=library.rms_norm(te.input("X", (m, n)), te.input("g", (n,))))


def _layer_norm(m: int, n: int) -> Graph:
    x, gain, bias = te.input("X", (m, n)), te.input("g", (n,)), te.input("b", (n,))
    return graph("layer_norm", Y=library.layer_norm(x, gain, bias))


def _vector(m: int, n: int) -> Graph:
    a, x = te.input("A", (m, n)), te.input("x", (n,))
    i, j = te.indices("i j")
    return graph("vector", Y=te.tensor(None, i, te.sum(j, a[i, j] * x[j])))


def _matmul(m: int, n: int, k: int) -> Graph:
    return graph("matmul", C=library.matmul(te.input("A", (m, k)), te.input("B", (k, n))))


def _attention(h: int, n: int, d: int) -> Graph:
    q, k, v = (te.input(x, (h, n, d)) for x in "QKV")
    return graph("attention", O=layers.attention(q, k, v))


def _conv2d(c: int, n: int) -> Graph:
    return graph("conv2d", Y=library_conv.conv2d(te.input("X", (1, c, n, n)), te.input("W", (c, c, 3, 3))))


def _embedding_sum(v: int, d: int, n: int) -> Graph:
    return graph("embedding_sum", Y=library.embedding_sum(te.input("T", (v, d)), te.input("ids", (n, 8), "i32")))


@dataclass(frozen=True, slots=True)
class Program:
    """A graph of some sizes, and the sizes at which it is measured."""

    build: Callable[..., Graph]
    sizes: tuple[Sizes, ...]


def _vectors(*lengths: int) -> tuple[Sizes, ...]:
    return tuple({"n": n} for n in lengths)


_LENGTHS = _vectors(4099, 1 << 16, 1 << 18, 1 << 20, 1 << 23)
_TABLES = tuple({"m": m, "n": n} for m, n in ((67, 64), (256, 256), (512, 512), (1024, 1024), (2048, 4096)))
PROGRAMS: Mapping[str, Program] = {
    "scaled": Program(_scaled, _LENGTHS),
    "summed": Program(_summed, _LENGTHS),
    "dotted": Program(_dotted, _LENGTHS),
    "added": Program(_added, _TABLES),
    "rows": Program(_rows, _TABLES),
    "softmax": Program(_softmax, _TABLES),
    "logsumexp": Program(_logsumexp, _TABLES),
    "rms_norm": Program(_rms_norm, _TABLES),
    "layer_norm": Program(_layer_norm, _TABLES),
    "vector": Program(_vector, _TABLES),
    "matmul": Program(_matmul, tuple({"m": n, "n": n, "k": n} for n in (61, 128, 512, 1024))),
    "attention": Program(_attention, tuple({"h": 2, "n": n, "d": 64} for n in (61, 256, 1024, 2048))),
    "conv2d": Program(_conv2d, tuple({"c": c, "n": n} for c, n in ((8, 17), (16, 32), (32, 64), (64, 64)))),
    "embedding_sum": Program(
        _embedding_sum,
        tuple({"v": v, "d": 64, "n": n} for v, n in ((101, 37), (5000, 512), (30000, 4096), (60000, 16384))),
    ),
}
"""Each at four or five sizes; every one is measured cold and warm."""


def graph_of(program: str, sizes: Sizes) -> Graph:
    """The graph that a row of floor.c was measured on. Raises KeyError for an unknown program."""
    return PROGRAMS[program].build(**sizes)


def cases() -> Iterator[tuple[str, Sizes]]:
    """Every program at each of its sizes."""
    for name, program in PROGRAMS.items():
        for sizes in program.sizes:
            yield name, sizes
