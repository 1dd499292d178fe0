"""Programs that memory bounds, for the CUDA suites `cuda.memory` and `cuda.narrow`: graph, inputs and formula of each.

A formula runs as it stands in eager torch and in torch.compile, and in float64 as the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tang_egg import expression as e
from tang_egg import library, library_scan, library_sort
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.ir import Graph

Sizes: TypeAlias = Mapping[str, int]
Formula: TypeAlias = Callable[..., Any]
EPS = 1e-6
LARGEST = 8
"""How many elements of a row `largest` finds: as many as the library keeps in one pass."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """An input of normal values: its shape by the names of sizes, a scale, and what is added."""

    shape: tuple[str, ...]
    scale: float = 1.0
    shift: float = 0.0


@dataclass(frozen=True, slots=True)
class Program:
    """A program over bf16 inputs. `formula` takes torch, then the inputs in order; `bytes` of one result element."""

    inputs: Mapping[str, Drawn]
    build: Callable[[Mapping[str, te.Array]], te.Array]
    formula: Formula
    result: tuple[str, ...]
    bytes: int = 2
    products: int = 0

    def graph(self, name: str, sizes: Sizes) -> Graph:
        """The graph as a user would write it, of fixed sizes."""
        given = {x: te.input(x, self.shape(d, sizes), "bf16") for x, d in self.inputs.items()}
        return graph(name, Y=self.build(given))

    @staticmethod
    def shape(drawn: Drawn, sizes: Sizes) -> tuple[int, ...]:
        """The sizes of an input."""
        return tuple(sizes[a] for a in drawn.shape)

    def moved(self, sizes: Sizes) -> float:
        """Bytes that must cross memory: every input read once, every result written once."""
        words = sum(_volume(d.shape, sizes) for d in self.inputs.values())
        return 2.0 * words + self.bytes * _volume(self.result, sizes)

    def flops(self, sizes: Sizes) -> float:
        """Operations of matrix products; what else there is takes no time beside the bytes."""
        return 2.0 * self.products * sizes["m"] * sizes["n"] * sizes.get("k", 1)


def _volume(names: tuple[str, ...], sizes: Sizes) -> int:
    found = 1
    for n in names:
        found *= LARGEST if n == "largest" else sizes[n]
    return found


_TABLE = {"X": Drawn(("m", "n"))}
_GAIN, _BIAS = Drawn(("n",), 0.1, 1.0), Drawn(("n",))

MEMORY: Mapping[str, Program] = {
    "softmax": Program(
        _TABLE, lambda x: library.softmax(x["X"]), lambda t, x: t.softmax(x, -1), ("m", "n")
    ),
    "rms_norm": Program(
        _TABLE | {"g": _GAIN}, lambda x: library.rms_norm(x["X"], x["g"]),
        lambda t, x, g: t.nn.functional.rms_norm(x, (x.shape[-1],), g, EPS), ("m", "n"),
    ),
    "layer_norm": Program(
        _TABLE | {"g": _GAIN, "b": _BIAS}, lambda x: library.layer_norm(x["X"], x["g"], x["b"]),
        lambda t, x, g, b: t.nn.functional.layer_norm(x, (x.shape[-1],), g, b, 1e-5), ("m", "n"),
    ),
    "logsumexp": Program(
        _TABLE, lambda x: library.logsumexp(x["X"]), lambda t, x: t.logsumexp(x, -1), ("m",)
    ),
    "variance": Program(
        _TABLE, lambda x: library.variance(x["X"]), lambda t, x: x.var(-1, correction=0), ("m",)
    ),
    "largest": Program(
        _TABLE, lambda x: library_sort.top_k(x["X"], LARGEST)[0], lambda t, x: t.topk(x, LARGEST, -1)[0],
        ("m", "largest"),
    ),
    "gelu_bias": Program(
        _TABLE | {"b": _BIAS}, lambda x: library.pointwise(e.gelu, library.add(x["X"], x["b"])),
        lambda t, x, b: t.nn.functional.gelu(x + b), ("m", "n"),
    ),
    "transpose_add": Program(
        _TABLE, lambda x: _transposed(x["X"]), lambda t, x: x.T.contiguous() + 1, ("m", "n")
    ),
    "cumulative_sum": Program(
        _TABLE, lambda x: library_scan.cumulative_sum(x["X"]), lambda t, x: x.cumsum(-1), ("m", "n")
    ),
}  # fmt: skip
"""Rows of a table [m, n], bf16; results are bf16 like the inputs."""

NARROW: Mapping[str, Program] = {
    "narrow": Program(
        {"A": Drawn(("m", "k")), "W": Drawn(("n", "k"), 1 / 64)},
        lambda x: library.linear(x["A"], x["W"], transposed=True), lambda t, a, w: a @ w.T, ("m", "n"), products=1,
    ),
}  # fmt: skip
"""Few rows times a weight [n, k] that is read once."""

PROGRAMS = {**MEMORY, **NARROW}


def _transposed(x: te.Array) -> te.Array:
    i, j = te.indices("i j")
    return te.tensor(None, (j, i), x[i, j] + 1.0, "bf16")
