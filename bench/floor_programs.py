"""What the suite `floor.c` measures: programs at sizes from a cache near a core to memory, and their graphs again.

A row names its program and its sizes, and `graph_of` builds the same graph from them, so that its floor can be found at
any time. The largest sizes exceed a last cache of 32 MiB two to six times: only there is a kernel's time that of
memory. Below, waking the threads and the first misses bind, and an output may stay in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tang_egg import expression as e
from tang_egg import layers, library, library_conv, library_loss, library_scan
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.ir import Graph

Sizes = Mapping[str, int]


def _scaled(n: int, dtype: str = "f32") -> Graph:
    x, i = te.input("X", (n,), dtype), te.index("i")
    return graph("scaled", Y=te.tensor(None, i, x[i] * 2.0 + 1.0, dtype))


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


def _softmax(m: int, n: int, dtype: str = "f32") -> Graph:
    return graph("softmax", Y=library.softmax(te.input("X", (m, n), dtype)))


def _logsumexp(m: int, n: int) -> Graph:
    return graph("logsumexp", L=library.logsumexp(te.input("X", (m, n))))


def _rms_norm(m: int, n: int, dtype: str = "f32") -> Graph:
    return graph("rms_norm", Y=library.rms_norm(te.input("X", (m, n), dtype), te.input("g", (n,), dtype)))


def _layer_norm(m: int, n: int) -> Graph:
    x, gain, bias = te.input("X", (m, n)), te.input("g", (n,)), te.input("b", (n,))
    return graph("layer_norm", Y=library.layer_norm(x, gain, bias))


def _vector(m: int, n: int) -> Graph:
    a, x = te.input("A", (m, n)), te.input("x", (n,))
    i, j = te.indices("i j")
    return graph("vector", Y=te.tensor(None, i, te.sum(j, a[i, j] * x[j])))


def _columns(m: int, n: int) -> Graph:
    x = te.input("X", (m, n))
    i, j = te.indices("i j")
    return graph("columns", S=te.tensor(None, j, te.sum(i, x[i, j])))


def _variance(m: int, n: int) -> Graph:
    return graph("variance", V=library.variance(te.input("X", (m, n))))


def _argmax(m: int, n: int) -> Graph:
    return graph("argmax", P=library.argmax(te.input("X", (m, n))))


def _running(m: int, n: int) -> Graph:
    return graph("running", Y=library_scan.cumulative_sum(te.input("X", (m, n))))


def _bias_gelu(m: int, n: int) -> Graph:
    x, bias = te.input("X", (m, n)), te.input("b", (n,))
    i, j = te.indices("i j")
    return graph("bias_gelu", Y=te.tensor(None, (i, j), e.gelu(x[i, j] + bias[j])))


def _turned(m: int, n: int) -> Graph:
    x, y = te.input("X", (m, n)), te.input("Y", (n, m))
    i, j = te.indices("i j")
    return graph("turned", Z=te.tensor(None, (i, j), x[i, j] + y[j, i]))


def _cross_entropy(m: int, n: int) -> Graph:
    logits, labels = te.input("X", (m, n)), te.input("ids", (m,), "i32")
    return graph("cross_entropy", L=library_loss.cross_entropy(logits, labels, reduction="none"))


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
    """A graph of some sizes, and the sizes at which it is measured. `dtype`: of what it stores."""

    build: Callable[..., Graph]
    sizes: tuple[Sizes, ...]
    dtype: str = "f32"


def _vectors(*lengths: int) -> tuple[Sizes, ...]:
    return tuple({"n": n} for n in lengths)


def _tables(*shapes: tuple[int, int]) -> tuple[Sizes, ...]:
    return tuple({"m": m, "n": n} for m, n in shapes)


_LENGTHS = _vectors(4099, 1 << 16, 1 << 18, 1 << 20, 1 << 23)
_SMALL = _tables((67, 64), (256, 256), (512, 512), (1024, 1024), (2048, 4096))
_LARGE = _tables((4096, 4096), (16384, 1536))
_READ = _tables((4096, 5120), (24576, 1024))
"""For programs that write next to nothing: what they read alone exceeds the last cache twice."""
_FEW = _tables((256, 256), (1024, 1024))
PROGRAMS: Mapping[str, Program] = {
    "scaled": Program(_scaled, _LENGTHS + _vectors(1 << 24, 1 << 25)),
    "summed": Program(_summed, _LENGTHS + _vectors(1 << 25, 3 << 24)),
    "dotted": Program(_dotted, _LENGTHS + _vectors(1 << 24, 1 << 25)),
    "added": Program(_added, _SMALL + _LARGE),
    "rows": Program(_rows, _SMALL + _READ),
    "columns": Program(_columns, _FEW + _READ),
    "softmax": Program(_softmax, _SMALL + _LARGE),
    "logsumexp": Program(_logsumexp, _SMALL + _READ),
    "rms_norm": Program(_rms_norm, _SMALL + _LARGE),
    "layer_norm": Program(_layer_norm, _SMALL + _LARGE),
    "vector": Program(_vector, _SMALL + _READ),
    "variance": Program(_variance, _FEW + _READ),
    "argmax": Program(_argmax, _FEW + _READ),
    "cross_entropy": Program(_cross_entropy, _FEW + _READ),
    "running": Program(_running, _FEW + _LARGE),
    "bias_gelu": Program(_bias_gelu, _FEW + _LARGE),
    "turned": Program(_turned, _FEW + _LARGE),
    "scaled_bf16": Program(_scaled, _vectors(1 << 20, 1 << 25, 3 << 24), "bf16"),
    "softmax_bf16": Program(_softmax, _tables((1024, 1024), (8192, 4096)), "bf16"),
    "rms_norm_bf16": Program(_rms_norm, _tables((1024, 1024), (8192, 4096)), "bf16"),
    "matmul": Program(_matmul, tuple({"m": n, "n": n, "k": n} for n in (61, 128, 512, 1024))),
    "attention": Program(_attention, tuple({"h": 2, "n": n, "d": 64} for n in (61, 256, 1024, 2048))),
    "conv2d": Program(_conv2d, tuple({"c": c, "n": n} for c, n in ((8, 17), (16, 32), (32, 64), (64, 64)))),
    "embedding_sum": Program(
        _embedding_sum,
        tuple(
            {"v": v, "d": 64, "n": n}
            for v, n in ((101, 37), (5000, 512), (30000, 4096), (60000, 16384), (101, 1 << 18))
        ),
    ),
}
"""Every one is measured cold and warm at each size."""


def graph_of(program: str, sizes: Sizes) -> Graph:
    """The graph that a row of floor.c was measured on. Raises KeyError for an unknown program."""
    known = PROGRAMS[program]
    return known.build(**sizes) if known.dtype == "f32" else known.build(**sizes, dtype=known.dtype)


def cases() -> Iterator[tuple[str, Sizes]]:
    """Every program at each of its sizes."""
    for name, program in PROGRAMS.items():
        for sizes in program.sizes:
            yield name, sizes
