"""Numba: hand-written loops, parallel and with fast arithmetic. No products of matrices: Numba calls BLAS for those.

Importing this module needs numba, and sets its threading layer: its layer of OpenMP would turn on nested parallelism
for the whole process, which makes torch's fused attention ten times slower from then on.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

os.environ.setdefault("NUMBA_THREADING_LAYER", "workqueue")
numba: Any = importlib.import_module("numba")
X: TypeAlias = Any
prange = numba.prange
_parallel = numba.njit(parallel=True, fastmath=True)
_serial = numba.njit(fastmath=True)
_inline = numba.njit(fastmath=True, inline="always")
ZERO, ONE, HALF, EPSILON = np.float32(0), np.float32(1), np.float32(0.5), np.float32(1e-5)
CUBIC, ROOT = np.float32(0.044715), np.float32(0.7978845608)
BEST = 10
_NOTHING = np.zeros(1, np.float32)


def _dot(a: X, b: X) -> X:
    s = ZERO
    for j in range(a.size):
        s += a[j] * b[j]
    return s


dot = _inline(_dot)


def _by_rows(body: Callable[..., None], result: Callable[[X], X] = np.empty_like) -> Callable[..., X]:
    """Rows in parallel: body(row, row of the result, further arrays)."""
    one = _serial(body)

    def every(x: X, y: X, a: X, b: X) -> X:
        for i in prange(x.shape[0]):
            one(x[i], y[i : i + 1] if y.ndim == 1 else y[i], a, b)
        return y

    built = _parallel(every)
    return lambda x, a=_NOTHING, b=_NOTHING: built(x, result(x), a, b)


def _softmax(x: X, y: X, a: X, b: X) -> None:
    m, s = x.max(), ZERO
    for j in range(x.size):
        e = np.exp(x[j] - m)
        y[j] = e
        s += e
    s = ONE / s
    for j in range(x.size):
        y[j] *= s


def _logsumexp(x: X, y: X, a: X, b: X) -> None:
    m, s = x.max(), ZERO
    for j in range(x.size):
        s += np.exp(x[j] - m)
    y[0] = m + np.log(s)


def _variance(x: X, y: X, a: X, b: X) -> None:
    m, s = x.sum() / np.float32(x.size), ZERO
    for j in range(x.size):
        s += (x[j] - m) * (x[j] - m)
    y[0] = s / np.float32(x.size)


def _layer_norm(x: X, y: X, a: X, b: X) -> None:
    m, s = x.sum() / np.float32(x.size), ZERO
    for j in range(x.size):
        s += (x[j] - m) * (x[j] - m)
    s = ONE / np.sqrt(s / np.float32(x.size) + EPSILON)
    for j in range(x.size):
        y[j] = (x[j] - m) * s * a[j] + b[j]


def _rms_norm(x: X, y: X, a: X, b: X) -> None:
    s = ZERO
    for j in range(x.size):
        s += x[j] * x[j]
    s = ONE / np.sqrt(s / np.float32(x.size) + EPSILON)
    for j in range(x.size):
        y[j] = x[j] * s * a[j]


def _argmax(x: X, y: X, a: X, b: X) -> None:
    m = x.max()
    for j in range(x.size):
        if x[j] == m:
            y[0] = j
            break


def _top_k(x: X, y: X, a: X, b: X) -> None:
    y[:] = -np.inf
    for j in range(x.size):
        if x[j] > y[BEST - 1]:
            p = BEST - 1
            while p > 0 and y[p - 1] < x[j]:
                y[p] = y[p - 1]
                p -= 1
            y[p] = x[j]


def _cumsum(x: X, y: X, a: X, b: X) -> None:
    s = ZERO
    for j in range(x.size):
        s += x[j]
        y[j] = s


def _bias_gelu(x: X, y: X, a: X, b: X) -> None:
    for j in range(x.size):
        t = x[j] + a[j]
        y[j] = HALF * t * (ONE + np.tanh(ROOT * (t + CUBIC * t * t * t)))


def _gemv(x: X, w: X) -> X:
    y = np.empty(w.shape[0], np.float32)
    for i in prange(w.shape[0]):
        y[i] = dot(w[i], x)
    return y


def _q8_gemv(w: X, s: X, x: X) -> X:
    y = np.empty(w.shape[0], np.float32)
    for i in prange(w.shape[0]):
        total = ZERO
        for b in range(w.shape[1]):
            part = ZERO
            for j in range(w.shape[2]):
                part += np.float32(w[i, b, j]) * x[b, j]
            total += part * s[i, b]
        y[i] = total
    return y


def _transpose_add(a: X, b: X) -> X:
    """In blocks of 16, which must divide the extents."""
    n, m = b.shape
    y = np.empty_like(b)
    for ib in prange(n // 16):
        for jb in range(m // 16):
            for i in range(ib * 16, ib * 16 + 16):
                for j in range(jb * 16, jb * 16 + 16):
                    y[i, j] = a[j, i] + b[i, j]
    return y


def _depthwise(x: X, w: X) -> X:
    channels, m, n = x.shape[1:]
    y = np.zeros_like(x)
    for c in prange(channels):
        for i in range(m):
            for u in range(max(0, 1 - i), min(3, m + 1 - i)):
                for v in range(3):
                    k = w[c, 0, u, v]
                    for j in range(max(0, 1 - v), min(n, n + 1 - v)):
                        y[0, c, i, j] += k * x[0, c, i + u - 1, j + v - 1]
    return y


def _embedding_sum(ids: X, table: X) -> X:
    y = np.zeros((ids.shape[0], table.shape[1]), np.float32)
    for b in prange(ids.shape[0]):
        for j in range(ids.shape[1]):
            k = ids[b, j]
            for d in range(table.shape[1]):
                y[b, d] += table[k, d]
    return y


def _linear_recurrence(q: X, k: X, v: X) -> X:
    h, n, d = q.shape
    y = np.zeros_like(q)
    for a in prange(h):
        state = np.zeros((d, d), np.float32)
        for t in range(n):
            for i in range(d):
                kk, qq = k[a, t, i], q[a, t, i]
                for j in range(d):
                    state[i, j] += kk * v[a, t, j]
                    y[a, t, j] += qq * state[i, j]
    return y


def _affine(x: X, w: X, b: X) -> X:
    y = np.empty(w.shape[0], np.float32)
    for i in range(w.shape[0]):
        y[i] = dot(w[i], x) + b[i]
    return y


affine = _serial(_affine)


def _gru_cell(x: X, h: X, wi: X, wh: X, bi: X, bh: X) -> X:
    a, b, n = affine(x[0], wi, bi), affine(h[0], wh, bh), h.shape[1]
    y = np.empty_like(h)
    for i in range(n):
        r = ONE / (ONE + np.exp(-a[i] - b[i]))
        z = ONE / (ONE + np.exp(-a[n + i] - b[n + i]))
        new = np.tanh(a[2 * n + i] + r * b[2 * n + i])
        y[0, i] = new + z * (h[0, i] - new)
    return y


def _mlp_policy(x: X, w0: X, b0: X, w1: X, b1: X, w2: X, b2: X) -> X:
    return affine(np.tanh(affine(np.tanh(affine(x[0], w0, b0)), w1, b1)), w2, b2)


def _vector(x: X) -> X:
    return np.empty(x.shape[0], np.float32)


KERNELS: Mapping[str, Callable[..., X]] = {
    "softmax": _by_rows(_softmax),
    "logsumexp": _by_rows(_logsumexp, _vector),
    "variance": _by_rows(_variance, _vector),
    "layer_norm": _by_rows(_layer_norm),
    "rms_norm": _by_rows(_rms_norm),
    "argmax": _by_rows(_argmax, lambda x: np.empty(x.shape[0], np.int64)),
    "top_k": _by_rows(_top_k, lambda x: np.empty((x.shape[0], BEST), np.float32)),
    "cumsum": _by_rows(_cumsum),
    "bias_gelu": _by_rows(_bias_gelu),
    "gemv": _parallel(_gemv),
    "q8_gemv": _parallel(_q8_gemv),
    "transpose_add": _parallel(_transpose_add),
    "depthwise3x3": _parallel(_depthwise),
    "embedding_sum": _parallel(_embedding_sum),
    "linear_recurrence": _parallel(_linear_recurrence),
    "gru_cell": _serial(_gru_cell),
    "mlp_policy": _serial(_mlp_policy),
}
"""By the name of the formula. Small ones use one thread."""
