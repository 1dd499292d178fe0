"""Peers that compile by themselves: tinygrad, TVM and Halide. Each needs its package when it is first used."""

from __future__ import annotations

import glob
import importlib
import os
import shutil
from collections.abc import Callable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.cpu_peers_torch import module, tensors

X = Any
Prepared = tuple[Callable[[], Any], Callable[[Any], Any]]
CLANGS = ("clang", "clang-19", "clang-18", "clang-17", "clang-16", "clang-15", "clang-14")


@cache
def _tinygrad() -> tuple[Any, Any]:
    """The package and its adapter. It compiles with clang; without one its own compiler is looked for."""
    os.environ.setdefault("DEV", "CPU")
    os.environ.setdefault("CC", next((c for c in CLANGS if shutil.which(c)), "clang"))
    tinygrad: Any = importlib.import_module("tinygrad")
    t = tinygrad.Tensor
    return tinygrad, SimpleNamespace(
        einsum=t.einsum, exp=t.exp, tanh=t.tanh, sigmoid=t.sigmoid, silu=t.silu, gelu=t.gelu, f32=t.float, sum=t.sum,
        cumsum=t.cumsum,
        cat=lambda xs, axis: xs[0].cat(*xs[1:], dim=axis),
        where=lambda m, a, b: m.where(a, b),
        swap=lambda x: x.transpose(-1, -2),
        perm=lambda x: x.transpose(0, 1),
        tri=lambda n: t.ones(n, n, dtype=tinygrad.dtypes.bool).tril(),
        rep=lambda x, times: x.repeat_interleave(times, 0),
        take=lambda table, ids: table[ids],
        softmax=lambda x: x.softmax(-1),
        logsumexp=lambda x: x.logsumexp(-1),
        argmax=lambda x: x.argmax(-1),
        var=lambda x: x.var(-1, correction=0),
        topk=lambda x: x.topk(10)[0],
        layernorm=lambda x, gain, bias: x.layernorm(eps=1e-5) * gain + bias,
        rmsnorm=lambda x, gain: x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt() * gain,
        conv=lambda x, w: x.conv2d(w, padding=1),
        dwconv=lambda x, w: x.conv2d(w, padding=1, groups=w.shape[0]),
    )  # fmt: skip


def tinygrad(formula: Callable[..., Any], arrays: Sequence[NDArray[Any]]) -> Prepared:
    package, adapter = _tinygrad()
    given = [package.Tensor(a.astype(np.int32) if a.dtype == np.int64 else a, device="CPU").realize() for a in arrays]
    built, device = package.TinyJit(lambda *x: formula(adapter, *x).realize()), package.Device["CPU"]

    def call() -> Any:
        y = built(*given)
        device.synchronize()
        return y

    call()
    call()  # captured at the second call
    return call, lambda y: y.numpy()


def tvm(formula: Callable[..., Any], arrays: Sequence[NDArray[Any]], threads: int) -> Prepared:
    """TVM's default schedules for a processor, untuned, from torch's exporter."""
    package: Any = importlib.import_module("tvm")
    relax: Any = importlib.import_module("tvm.relax")
    frontend: Any = importlib.import_module("tvm.relax.frontend.torch")
    import torch

    given = tensors(arrays)
    program = frontend.from_exported_program(torch.export.export(module(formula, given, 0), tuple(given)))
    target = package.target.Target({"kind": "llvm", "mcpu": "znver2", "num-cores": threads})
    machine = relax.VirtualMachine(package.compile(program, target=target), package.cpu())
    held, main = [package.runtime.tensor(a) for a in arrays], machine["main"]
    return (lambda: main(*held)), lambda y: (y if hasattr(y, "numpy") else y[0]).numpy()


def halide(family: str, arrays: Sequence[NDArray[Any]], threads: int) -> Prepared:
    """Algorithms scheduled by Adams2019. Raises ValueError for operators that are not written here."""
    hl: Any = importlib.import_module("halide")
    images = [hl.ImageParam(hl.Float(32), a.ndim) for a in arrays]
    written = _halide(hl, family, images, arrays)
    if written is None:
        raise ValueError(f"'{family}' is not written for Halide")
    body, names, result = written
    root = hl.Func()
    root[names] = body
    for p, shape in [*zip(images, (a.shape for a in arrays), strict=True), (root, result.shape)]:
        p.set_estimates([(0, n) for n in shape[::-1]])
    _adams(hl)
    pipeline, target = hl.Pipeline([root]), hl.get_jit_target_from_environment()
    pipeline.apply_autoscheduler(target, hl.AutoschedulerParams("Adams2019", {"parallelism": threads}))
    pipeline.compile_jit(target)
    buffers = [hl.Buffer(a) for a in arrays]
    for p, b in zip(images, buffers, strict=True):
        p.set(b)
    to = hl.Buffer(result)

    def call(held: Any = buffers) -> NDArray[Any]:
        pipeline.realize(to)
        return result

    return call, np.array


@cache
def _adams(hl: Any) -> None:
    folder = os.path.dirname(hl.__file__)
    (plugin,) = glob.glob(f"{folder}/**/libautoschedule_adams2019.so", recursive=True)
    hl.load_plugin(plugin)


def _halide(
    hl: Any, family: str, images: Sequence[Any], arrays: Sequence[NDArray[Any]]
) -> tuple[Any, Any, NDArray[Any]] | None:
    """The value of an element, its variables (columns first) and the array for the result."""
    x, y = hl.Var("x"), hl.Var("y")
    zero, a = hl.f32(0), images[0]
    k = hl.RDom([(0, arrays[0].shape[-1])])
    columns = float(arrays[0].shape[-1])

    def fold(at: Any, start: Any, step: Callable[[Any], Any]) -> Any:
        f = hl.Func()
        f[at] = start
        f[at] = step(f[at])
        return f

    def rows(of: Callable[[Any, Any], Any]) -> Any:
        return fold((y,), zero, lambda s: s + of(k, y))

    whole, row = np.zeros_like(arrays[0]), np.zeros(arrays[0].shape[0], np.float32)
    if family == "matmul":
        f = fold((x, y), zero, lambda s: s + a[k, y] * images[1][x, k])
        return f[x, y], (x, y), np.zeros((arrays[0].shape[0], arrays[1].shape[1]), np.float32)
    if family == "gemv":
        f = fold((x,), zero, lambda s: s + images[1][k, x] * a[k])
        return f[x], (x,), np.zeros(arrays[1].shape[0], np.float32)
    if family in ("softmax", "logsumexp"):
        m = fold((y,), hl.f32(-1e30), lambda s: hl.max(s, a[k, y]))
        e = hl.Func()
        e[x, y] = hl.exp(a[x, y] - m[y])
        s = rows(lambda i, j: e[i, j])
        return (e[x, y] / s[y], (x, y), whole) if family == "softmax" else (hl.log(s[y]) + m[y], (y,), row)
    if family == "rms_norm":
        s = rows(lambda i, j: a[i, j] * a[i, j])
        return a[x, y] / hl.sqrt(s[y] / columns + 1e-5) * images[1][x], (x, y), whole
    if family in ("layer_norm", "variance"):
        m = rows(lambda i, j: a[i, j])
        s = rows(lambda i, j: (a[i, j] - m[j] / columns) * (a[i, j] - m[j] / columns))
        if family == "variance":
            return s[y] / columns, (y,), row
        normed = (a[x, y] - m[y] / columns) / hl.sqrt(s[y] / columns + 1e-5)
        return normed * images[1][x] + images[2][x], (x, y), whole
    if family == "bias_gelu":
        t = a[x, y] + images[1][x]
        return t * (1 - 1 / (1 + hl.exp(2 * 0.7978845608 * (t + 0.044715 * t * t * t)))), (x, y), whole
    if family == "transpose_add":
        return a[y, x] + images[1][x, y], (x, y), whole
    return None
