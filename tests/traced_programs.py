"""Ordinary NumPy programs, which run on NumPy arrays and are traced as they stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any
RANDOM = np.random.default_rng(5)
CAUSAL = np.tril(np.ones((12, 12), bool))
POINTS = np.linspace(-1, 1, 8).astype("f4")


def softmax(x: Array) -> Array:
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def layer_norm(x: Array, gain: Array, bias: Array) -> Array:
    mean, var = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * gain + bias


def attention(q: Array, k: Array, v: Array) -> Array:
    return softmax(q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5) @ v


def causal_attention(q: Array, k: Array, v: Array) -> Array:
    scores = np.einsum("hid,hjd->hij", q, k) / 4
    return np.einsum("hij,hjd->hid", softmax(np.where(CAUSAL, scores, np.float32(-np.inf))), v)


def self_attention(x: Array, w: Array, out: Array) -> Array:
    n, d = x.shape
    q, k, v = (part.reshape(n, 2, d // 2).transpose(1, 0, 2) for part in np.split(x @ w, 3, axis=1))
    return attention(q, k, v).transpose(1, 0, 2).reshape(n, d) @ out


def convolution(image: Array, kernel: Array) -> Array:
    """Cross-correlation [c, h, w] with [o, c, 3, 3], by sliding windows."""
    windows = np.lib.stride_tricks.sliding_window_view(image, kernel.shape[-2:], axis=(-2, -1))
    return np.einsum("chwyx,ocyx->ohw", windows, kernel)


def k_means(points: Array, centres: Array) -> Array:
    distance = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(-1)
    nearest = distance.argmin(1)
    member = (nearest[:, None] == np.arange(centres.shape[0])).astype(points.dtype)
    return member.T @ points / np.maximum(member.sum(0), 1)[:, None]


def jacobi(u: Array, f: Array) -> Array:
    inner = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + f[1:-1, 1:-1]) / 4
    return np.pad(inner, 1)


def fourier(x: Array) -> tuple[Array, Array]:
    """The discrete Fourier transform by its definition: real and imaginary parts."""
    n = x.shape[-1]
    angle = -2 * np.pi * (np.arange(n)[:, None] * np.arange(n)) / n
    return x @ np.cos(angle).astype(np.float32), x @ np.sin(angle).astype(np.float32)


def life(alive: Array) -> Array:
    n = sum(np.roll(alive, (i, j), axis=(0, 1)).astype(np.int32) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
    return (n == 3) | (alive & (n == 2))


def normal_distribution(x: Array) -> Array:
    """By Abramowitz and Stegun 26.2.17."""
    t = 1 / (1 + 0.2316419 * np.abs(x))
    series = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = np.exp(-x * x / 2) / np.sqrt(2 * np.pi).item() * series
    return np.where(x >= 0, 1 - tail, tail)


def black_scholes(spot: Array, strike: Array, years: Array) -> dict[str, Array]:
    rate, volatility = 0.05, 0.2
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * years) / spread
    discounted = strike * np.exp(-rate * years)
    call = spot * normal_distribution(d1) - discounted * normal_distribution(d1 - spread)
    return {"call": call, "put": call - spot + discounted}


def logistic_gradient(x: Array, y: Array, w: Array) -> tuple[Array, Array]:
    p = 1 / (1 + np.exp(-(x @ w)))
    loss = -np.mean(y * np.log(p) + (1 - y) * np.log1p(-p))
    return loss, x.T @ (p - y) / x.shape[0] + 0.01 * w


def mlp(x: Array, w1: Array, b1: Array, w2: Array) -> Array:
    hidden = np.maximum(x @ w1 + b1, 0)
    return np.tanh(hidden @ w2)


def sinkhorn(cost: Array) -> Array:
    kernel = np.exp(-cost)
    a = np.ones(cost.shape[0], np.float32)
    for _ in range(2):
        b = 1 / (kernel.T @ a)
        a = 1 / (kernel @ b)
    return a[:, None] * kernel * b[None, :]


def standardised(x: Array) -> Array:
    return (x - np.mean(x, axis=0)) / (np.std(x, axis=0, ddof=1) + 1e-6)


def interpolation(x: Array, y: Array) -> Array:
    """y over POINTS, linear between them."""
    at = np.clip((x + 1) / 2 * 7, 0, 6.999)
    low = np.floor(at).astype(np.int64)
    share = at - low.astype(np.float32)
    return y[low] * (1 - share) + y[low + 1] * share


@dataclass(frozen=True)
class Program:
    """A function, and how the arrays that it is run on are made."""

    function: Callable[..., Any]
    arrays: tuple[Array, ...]


def _normal(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype("f4")


def _positive(*shape: int) -> Array:
    return (np.abs(RANDOM.standard_normal(shape)) + 0.5).astype("f4")


PROGRAMS: dict[str, Program] = {
    f.__name__: Program(f, arrays)
    for f, arrays in (
        (softmax, (_normal(5, 13),)),
        (layer_norm, (_normal(7, 11), _normal(11), _normal(11))),
        (attention, (_normal(2, 5, 8), _normal(2, 7, 8), _normal(2, 7, 3))),
        (causal_attention, (_normal(2, 12, 16), _normal(2, 12, 16), _normal(2, 12, 5))),
        (self_attention, (_normal(7, 6), _normal(6, 18), _normal(6, 6))),
        (convolution, (_normal(2, 9, 7), _normal(3, 2, 3, 3))),
        (k_means, (_normal(23, 2), _normal(4, 2))),
        (jacobi, (_normal(9, 7), _normal(9, 7))),
        (fourier, (_normal(3, 11),)),
        (life, (RANDOM.random((8, 9)) < 0.4,)),
        (black_scholes, (_positive(17), _positive(17), _positive(17))),
        (logistic_gradient, (_normal(19, 5), (RANDOM.random(19) < 0.5).astype("f4"), _normal(5))),
        (mlp, (_normal(6, 5), _normal(5, 9), _normal(9), _normal(9, 2))),
        (sinkhorn, (_positive(5, 6),)),
        (standardised, (_normal(13, 4),)),
        (interpolation, (_normal(10), _normal(8))),
    )
}
