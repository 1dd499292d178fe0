"""NumPy as an adapter (see cpu_formulas): on float64 it is the reference, on float32 a peer."""

from __future__ import annotations

from typing import Any

import numpy as np

X = Any


class Numpy:
    """The formulas' names in NumPy."""

    where, exp, tanh, einsum = np.where, np.exp, np.tanh, np.einsum

    @staticmethod
    def cat(xs: X, axis: int) -> X:
        return np.concatenate(xs, axis)

    @staticmethod
    def swap(x: X) -> X:
        return np.swapaxes(x, -1, -2)

    @staticmethod
    def perm(x: X) -> X:
        return np.swapaxes(x, 0, 1)

    @staticmethod
    def tri(n: int) -> X:
        return np.tri(n, dtype=bool)

    @staticmethod
    def rep(x: X, times: int) -> X:
        return np.repeat(x, times, 0)

    @staticmethod
    def f32(x: X) -> X:
        return x.astype(np.float32)

    @staticmethod
    def sum(x: X, axis: int) -> X:
        return x.sum(axis)

    @staticmethod
    def cumsum(x: X, axis: int) -> X:
        return np.cumsum(x, axis)

    @staticmethod
    def take(table: X, ids: X) -> X:
        return table[ids]

    @staticmethod
    def sigmoid(x: X) -> X:
        return 1 / (1 + np.exp(-x))

    @staticmethod
    def silu(x: X) -> X:
        return x / (1 + np.exp(-x))

    @staticmethod
    def gelu(x: X) -> X:
        return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))

    @staticmethod
    def var(x: X) -> X:
        return x.var(-1)

    @staticmethod
    def argmax(x: X) -> X:
        return x.argmax(-1)

    @staticmethod
    def topk(x: X) -> X:
        return -np.sort(np.partition(-x, 9, -1)[..., :10], -1)

    @staticmethod
    def softmax(x: X) -> X:
        e = np.exp(x - x.max(-1, keepdims=True))
        e /= e.sum(-1, keepdims=True)
        return e

    @staticmethod
    def logsumexp(x: X) -> X:
        m = x.max(-1, keepdims=True)
        return np.log(np.exp(x - m).sum(-1)) + m[..., 0]

    @staticmethod
    def layernorm(x: X, gain: X, bias: X) -> X:
        c = x - x.mean(-1, keepdims=True)
        return c / np.sqrt((c * c).mean(-1, keepdims=True) + 1e-5) * gain + bias

    @staticmethod
    def rmsnorm(x: X, gain: X) -> X:
        return x / np.sqrt(np.square(x).mean(-1, keepdims=True) + 1e-5) * gain

    @staticmethod
    def conv(x: X, w: X) -> X:
        padded = np.pad(x[0], ((0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
        columns = windows.transpose(0, 3, 4, 1, 2).reshape(x.shape[1] * 9, -1)
        return (w.reshape(w.shape[0], -1) @ columns).reshape(x.shape)

    @staticmethod
    def dwconv(x: X, w: X) -> X:
        padded = np.pad(x[0], ((0, 0), (1, 1), (1, 1)))
        m, n = x.shape[2:]
        taps = (padded[:, i : i + m, j : j + n] * w[:, 0, i, j, None, None] for i in range(3) for j in range(3))
        total = next(taps)
        for tap in taps:
            total = total + tap
        return total[None]
