"""The operators of `python -m bench cpu`: each once, as our graph beside a formula for the peers, with its arguments.

name      of the row in the log, such as attn512
kind      "compute": nearly all of its time is products of matrices; "other": the rest. The two have other bars
sizes     what its graph is built for; tests take small ones
constants how many of the last arguments are weights: compilers may fold them
bytes     that must be moved at least: every input once and the output once, unless stated
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bench import cpu_formulas as formulas
from bench import cpu_graphs as graphs
from tang_egg.ir import Graph
from tang_egg.run_arrays import NUMPY

Arrays: TypeAlias = "list[NDArray[Any]]"
Sizes: TypeAlias = "Mapping[str, int]"
Fill: TypeAlias = "Callable[[np.random.Generator, tuple[int, ...], Sizes], NDArray[Any]]"
COMPUTE, OTHER = "compute", "other"


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator at some sizes. `fills` make arguments that are no normal numbers, by the names of the inputs."""

    name: str
    kind: str
    sizes: Sizes
    build: Callable[..., Graph]
    formula: Callable[..., Any]
    flops: Callable[..., float]
    constants: int = 0
    fills: Mapping[str, Fill] = field(default_factory=dict)
    touched: Callable[..., int] | None = None
    chunk: Mapping[str, int] | None = None

    @property
    def family(self) -> str:
        """The formula's name: all sizes of one operator share it."""
        return str(self.formula.__name__)

    def graph(self) -> Graph:
        """Ours, at these sizes."""
        return self.build(**self.sizes)

    def at(self, **sizes: int) -> Operator:
        """The same at other sizes."""
        return replace(self, sizes={**self.sizes, **sizes})

    def arguments(self, seed: int = 0) -> Arrays:
        """Contiguous arrays, equal for equal seeds."""
        numbers = np.random.default_rng(seed)
        fills = dict(self.fills)
        made = []
        for i in self.graph().inputs:
            shape = tuple(n.evaluate({}) for n in i.shape)
            fill = fills.get(i.name, _normal)
            made.append(np.ascontiguousarray(fill(numbers, shape, self.sizes), np.dtype(NUMPY[i.dtype])))
        return made

    def reference(self, arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The result in float64, by NumPy."""
        from bench.cpu_peers_numpy import Numpy

        wide = [a.astype(np.float64) if a.dtype == np.float32 else a for a in arrays]
        return np.asarray(self.formula(Numpy, *wide))

    def work(self) -> float:
        """Floating-point operations; exp and tanh count little."""
        return float(self.flops(**self.sizes))

    def bytes(self, arrays: Sequence[NDArray[Any]], result: NDArray[Any]) -> int:
        """Bytes that must be moved, the result as f32 (positions as i64)."""
        if self.touched is not None:
            return self.touched(**self.sizes)
        return sum(a.nbytes for a in arrays) + result.size * (8 if result.dtype == np.int64 else 4)


def _normal(numbers: np.random.Generator, shape: tuple[int, ...], sizes: Sizes) -> NDArray[Any]:
    return numbers.standard_normal(shape, np.float32)


def _weight(axis: int) -> Fill:
    """Normal numbers over the root of what is summed, an axis or, where it is None, all but the first."""

    def fill(numbers: np.random.Generator, shape: tuple[int, ...], sizes: Sizes) -> NDArray[Any]:
        return numbers.standard_normal(shape, np.float32) * np.float32(shape[axis] ** -0.5)

    return fill


def _taps(numbers: np.random.Generator, shape: tuple[int, ...], sizes: Sizes) -> NDArray[Any]:
    return numbers.standard_normal(shape, np.float32) * np.float32(prod(shape[1:]) ** -0.5)


def _bytes(numbers: np.random.Generator, shape: tuple[int, ...], sizes: Sizes) -> NDArray[Any]:
    return numbers.integers(-127, 128, shape, dtype=np.int8)


def _scales(numbers: np.random.Generator, shape: tuple[int, ...], sizes: Sizes) -> NDArray[Any]:
    return np.abs(numbers.standard_normal(shape, np.float32)) * np.float32(0.01)


def _rows(numbers: np.random.Generator, shape: tuple[int, ...], sizes: Sizes) -> NDArray[Any]:
    return numbers.integers(0, sizes["v"], shape)


def _angles(turn: Callable[[NDArray[Any]], NDArray[Any]]) -> Fill:
    def fill(numbers: np.random.Generator, shape: tuple[int, ...], sizes: Sizes) -> NDArray[Any]:
        n, pairs = shape
        return turn(np.outer(np.arange(n), 1e4 ** (-np.arange(pairs) / pairs)))

    return fill


_IN, _OUT = _weight(0), _weight(-1)
"""Weights [inputs, outputs] and [outputs, inputs]."""


def _matmul(name: str, m: int, k: int, n: int, kind: str = COMPUTE, constants: int = 0) -> Operator:
    fills = {"B": _IN} if constants else {}
    return Operator(
        name, kind, {"m": m, "k": k, "n": n}, graphs.matmul, formulas.matmul, lambda m, k, n: 2 * m * k * n, constants,
        fills,
    )  # fmt: skip


def _gemv(m: int, k: int) -> Operator:
    return Operator(
        f"gemv{m}x{k}", OTHER, {"m": m, "k": k}, graphs.gemv, formulas.gemv, lambda m, k: 2 * m * k, 1, {"W": _OUT}
    )


def _row_wise(
    name: str, build: Callable[..., Graph], formula: Callable[..., Any], each: float, **sizes: int
) -> Operator:
    table = {"m": 4096, "n": 4096, **sizes}
    return Operator(name, OTHER, table, build, formula, lambda m, n, **_: each * m * n)


def _attention(name: str, n: int, cap: bool = False) -> Operator:
    def build(h: int, n: int, d: int) -> Graph:
        return graphs.attention(h, n, d, 50.0 if cap else None)

    formula = formulas.softcap_attention if cap else formulas.attention
    return Operator(name, OTHER, {"h": 9, "n": n, "d": 64}, build, formula, lambda h, n, d: 2 * h * n * n * d)


def _block(n: int) -> Operator:
    def flops(n: int, heads: int, keys: int, d: int, hidden: int) -> float:
        width = heads * d
        return 2 * n * (2 * width**2 + 2 * width * keys * d + 3 * width * hidden) + 2 * heads * n * n * d

    sizes = {"n": n, "heads": 9, "keys": 3, "d": 64, "hidden": 1536}
    fills = {"cos": _angles(np.cos), "sin": _angles(np.sin)} | dict.fromkeys("Wq Wk Wv Wo Wg Wu Wd".split(), _IN)
    return Operator(f"block{n}", COMPUTE, sizes, graphs.block, formulas.block, flops, 11, fills)


def _linear_attention(name: str, literal: bool) -> Operator:
    return Operator(
        name, OTHER, {"h": 4, "n": 2048, "d": 64},
        graphs.linear_recurrence if literal else graphs.linear_attention,
        formulas.linear_recurrence if literal else formulas.linear_attention,
        lambda h, n, d: 4 * d * d * n * h, chunk=None if literal else {"K:1": 64},
    )  # fmt: skip


def _listed() -> list[Operator]:
    square = [_matmul(f"matmul{n}", n, n, n, OTHER if n < 512 else COMPUTE) for n in (256, 512, 1024, 2048)]
    return [
        *square,
        _matmul("matmul64x4096x4096", 64, 4096, 4096, constants=1),
        _gemv(4096, 4096),
        _gemv(4096, 14336),
        Operator(
            "q8gemv4096x4096", OTHER, {"m": 4096, "k": 4096, "block": 32}, graphs.q8_gemv, formulas.q8_gemv,
            lambda m, k, block: 2 * m * k, 0, {"W": _bytes, "S": _scales},
        ),
        _row_wise("softmax", graphs.softmax, formulas.softmax, 5),
        _row_wise("logsumexp", graphs.logsumexp, formulas.logsumexp, 4),
        _row_wise("var", graphs.variance, formulas.variance, 4),
        _row_wise("argmax", graphs.argmax, formulas.argmax, 1),
        _row_wise("topk", graphs.top_k, formulas.top_k, 1, k=10),
        _row_wise("layernorm", graphs.layer_norm, formulas.layer_norm, 8),
        _row_wise("rmsnorm", graphs.rms_norm, formulas.rms_norm, 4),
        Operator(
            "transpose_add", OTHER, {"n": 4096}, graphs.transpose_add, formulas.transpose_add, lambda n: n * n
        ),
        _row_wise("bias_gelu", graphs.bias_gelu, formulas.bias_gelu, 9),
        Operator(
            "rmsnorm_matmul", COMPUTE, {"m": 512, "k": 1024, "n": 1024}, graphs.rms_norm_matmul,
            formulas.rms_norm_matmul, lambda m, k, n: 2 * m * k * n, 2, {"W": _IN},
        ),
        Operator(
            "swiglu_mlp", COMPUTE, {"m": 128, "k": 576, "h": 1536}, graphs.swiglu, formulas.swiglu,
            lambda m, k, h: 6 * m * k * h, 3, dict.fromkeys(("Wg", "Wu", "Wd"), _IN),
        ),
        _attention("attn512", 512),
        _attention("attn2048", 2048),
        _attention("softcap_attn1024", 1024, cap=True),
        _block(128),
        _block(512),
        Operator(
            "conv3x3", COMPUTE, {"c": 64, "n": 56}, graphs.conv3x3, formulas.conv3x3,
            lambda c, n: 2 * c * c * 9 * n * n, 1, {"W": _taps},
        ),
        Operator(
            "dwconv3x3", OTHER, {"c": 64, "n": 56}, graphs.depthwise3x3, formulas.depthwise3x3,
            lambda c, n: 2 * c * 9 * n * n, 1, {"W": _taps},
        ),
        Operator(
            "embed_sum", OTHER, {"m": 512, "each": 32, "v": 50000, "d": 256}, graphs.embedding_sum,
            formulas.embedding_sum, lambda m, each, v, d: m * each * d, 1, {"ids": _rows},
            lambda m, each, v, d: 4 * m * (each + 1) * d,
        ),
        _row_wise("cumsum", graphs.cumsum, formulas.cumsum, 1),
        _linear_attention("linattn_rec", True),
        _linear_attention("linattn_chunk", False),
        Operator(
            "gru_cell", OTHER, {"n": 256}, graphs.gru_cell, formulas.gru_cell, lambda n: 12 * n * n, 4,
            {"Wi": _OUT, "Wh": _OUT},
        ),
        Operator(
            "mlp_policy", OTHER, {"inputs": 48, "hidden": 256, "outputs": 12}, graphs.mlp_policy, formulas.mlp_policy,
            lambda inputs, hidden, outputs: 2 * hidden * (inputs + hidden + outputs), 6,
            dict.fromkeys(("W0", "W1", "W2"), _OUT),
        ),
    ]  # fmt: skip


OPERATORS: Mapping[str, Operator] = {o.name: o for o in _listed()}
