"""The peers of `python -m bench cpu`: what they are called, what they offer, and how a call of theirs is made ready.

A peer offers an operator or not; what it fails at is a row all the same. Packages are imported when they are asked
for; one that is not installed is said once, with how to get it.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from bench.cpu_programs import Arrays, Operator

Prepared: TypeAlias = "tuple[Callable[[], Any], Callable[[Any], Any]]"
"""A call, and what turns its result into an array."""
INSTALL = "pip install -r bench/peers_cpu.txt"


def _every(operator: Operator) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Peer:
    """A library in one of its ways. `prepare` takes an operator, its arrays and the number of threads."""

    name: str
    package: str
    prepare: Callable[[Operator, Arrays, int], Prepared]
    offers: Callable[[Operator], bool] = _every
    module: str = ""
    way: str = ""
    asked_only: bool = False

    def version(self) -> str | None:
        """Of the package; None where it is not installed."""
        try:
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return None

    def system(self) -> str:
        """What the log calls it: the package, its version and the way."""
        return " ".join(x for x in (self.package, self.version(), self.way) if x)

    def load(self) -> None:
        """Imports the package, so that it reads its settings before anything of ours is loaded."""
        importlib.import_module(self.module or self.package)


def _numpy(operator: Operator, arrays: Arrays, threads: int) -> Prepared:
    from bench.cpu_peers_numpy import Numpy

    return (lambda: operator.formula(Numpy, *arrays)), np.asarray


def _torch(operator: Operator, arrays: Arrays, threads: int) -> Prepared:
    from bench import cpu_peers_torch as torch

    return torch.run_eagerly(operator.formula, arrays, torch.eager())


def _fused(operator: Operator, arrays: Arrays, threads: int) -> Prepared:
    from bench import cpu_peers_torch as torch

    return torch.run_eagerly(operator.formula, arrays, torch.fused())


def _compiled(mode: str | None) -> Callable[[Operator, Arrays, int], Prepared]:
    def prepare(operator: Operator, arrays: Arrays, threads: int) -> Prepared:
        from bench import cpu_peers_torch as torch

        return torch.compiled(operator.formula, arrays, operator.constants, mode)

    return prepare


def _jax(operator: Operator, arrays: Arrays, threads: int) -> Prepared:
    from bench import cpu_peers_jax

    return cpu_peers_jax.jitted(operator.formula, arrays)


def _onnxruntime(operator: Operator, arrays: Arrays, threads: int) -> Prepared:
    from bench import cpu_peers_onnx as onnx

    if operator.family == "q8_gemv":
        w, s, x = arrays
        return onnx.quantised(w, s, x, threads)
    return onnx.prepared(operator.formula, arrays, operator.constants, threads)


def _openvino(operator: Operator, arrays: Arrays, threads: int) -> Prepared:
    from bench import cpu_peers_onnx as onnx

    return onnx.openvino(operator.formula, arrays, operator.constants, threads)


def _numba(operator: Operator, arrays: Arrays, threads: int) -> Prepared:
    from bench.cpu_peers_numba import KERNELS

    kernel = KERNELS[operator.family]
    return (lambda: kernel(*arrays)), np.asarray


def _tinygrad(operator: Operator, arrays: Arrays, threads: int) -> Prepared:
    from bench import cpu_peers_further

    return cpu_peers_further.tinygrad(operator.formula, arrays)


def _tvm(operator: Operator, arrays: Arrays, threads: int) -> Prepared:
    from bench import cpu_peers_further

    return cpu_peers_further.tvm(operator.formula, arrays, threads)


def _halide(operator: Operator, arrays: Arrays, threads: int) -> Prepared:
    from bench import cpu_peers_further

    return cpu_peers_further.halide(operator.family, arrays, threads)


LOOPS = frozenset(
    (
        "softmax logsumexp variance layer_norm rms_norm argmax top_k cumsum bias_gelu gemv q8_gemv transpose_add "
        "depthwise3x3 embedding_sum linear_recurrence gru_cell mlp_policy"
    ).split()
)
"""What is written by hand in cpu_peers_numba."""
SCHEDULED = frozenset("matmul gemv softmax logsumexp rms_norm layer_norm variance bias_gelu transpose_add".split())
"""What is written for Halide in cpu_peers_further."""
PRODUCTS = frozenset("matmul rms_norm_matmul swiglu block attention softcap_attention gru_cell mlp_policy".split())
LITERAL = "linear_recurrence"
"""2,048 steps of a formula: no compiler gets through them in the time allowed."""


def _steps(operator: Operator) -> bool:
    return operator.family != LITERAL


def _untuned(operator: Operator) -> bool:
    """Without tuning TVM takes seconds for a call of the large products."""
    large = operator.family in PRODUCTS and operator.work() > 2e8
    return _steps(operator) and not large


PEERS: Mapping[str, Peer] = {
    p.name: p
    for p in (
        Peer("numpy", "numpy", _numpy),
        Peer("torch", "torch", _torch, way="eager"),
        Peer("sdpa", "torch", _fused, lambda o: o.family in ("attention", "block"), way="sdpa"),
        Peer("inductor", "torch", _compiled(None), _steps, way="compile"),
        Peer(
            "max_autotune", "torch", _compiled("max-autotune-no-cudagraphs"),
            lambda o: o.family in PRODUCTS, way="compile max-autotune", asked_only=True,
        ),
        Peer("jax", "jax", _jax),
        Peer("onnxruntime", "onnxruntime", _onnxruntime, _steps),
        Peer("openvino", "openvino", _openvino, _steps),
        Peer("numba", "numba", _numba, lambda o: o.family in LOOPS),
        Peer("tinygrad", "tinygrad", _tinygrad, _steps),
        Peer("tvm", "apache-tvm", _tvm, _untuned, "tvm"),
        Peer("halide", "halide", _halide, lambda o: o.family in SCHEDULED),
    )
}  # fmt: skip
DEFAULT = tuple(p.name for p in PEERS.values() if not p.asked_only)


def installed(names: Iterable[str]) -> tuple[list[Peer], dict[str, str]]:
    """Those of the named peers that are there, and why others are not."""
    found, missing = [], {}
    for name in names:
        peer = PEERS[name]
        if peer.version() is None:
            missing[name] = f"the package {peer.package} is not installed: {INSTALL}"
            continue
        try:
            peer.load()
        except Exception as failure:  # whatever an import may raise: the others are measured all the same
            missing[name] = f"{peer.package} cannot be imported: {type(failure).__name__}: {first_line(failure)}"
            continue
        found.append(peer)
    return found, missing


def first_line(failure: BaseException) -> str:
    """What an exception says, at most 140 characters of its first line."""
    return (str(failure).strip().splitlines() or [""])[0][:140]
