"""JAX as an adapter (see cpu_formulas); formulas are jitted whole."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

X = Any


@cache
def adapter() -> Any:
    """The formulas' names in jax.numpy."""
    jax: Any = importlib.import_module("jax")
    jnp: Any = importlib.import_module("jax.numpy")
    lax, nn = jax.lax, jax.nn

    def scan(q: X, k: X, v: X) -> X:
        def step(state: X, at: X) -> X:
            state = state + at[1][:, :, None] * at[2][:, None, :]
            return state, jnp.einsum("hd,hde->he", at[0], state)

        h, _, d = q.shape
        steps = tuple(jnp.swapaxes(x, 0, 1) for x in (q, k, v))
        return jnp.swapaxes(lax.scan(step, jnp.zeros((h, d, d)), steps)[1], 0, 1)

    def layernorm(x: X, gain: X, bias: X) -> X:
        return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * gain + bias

    return SimpleNamespace(
        where=jnp.where, exp=jnp.exp, tanh=jnp.tanh, einsum=jnp.einsum, sigmoid=nn.sigmoid, silu=nn.silu,
        cumsum=jnp.cumsum, scan=scan, layernorm=layernorm,
        cat=lambda xs, axis: jnp.concatenate(xs, axis),
        swap=lambda x: jnp.swapaxes(x, -1, -2),
        perm=lambda x: jnp.swapaxes(x, 0, 1),
        tri=lambda n: jnp.tri(n, dtype=bool),
        rep=lambda x, times: jnp.repeat(x, times, 0),
        f32=lambda x: x.astype(jnp.float32),
        sum=lambda x, axis: x.sum(axis),
        take=lambda table, ids: table[ids],
        gelu=lambda x: nn.gelu(x, approximate=True),
        softmax=lambda x: nn.softmax(x, -1),
        logsumexp=lambda x: nn.logsumexp(x, -1),
        var=lambda x: x.var(-1),
        argmax=lambda x: x.argmax(-1),
        topk=lambda x: lax.top_k(x, 10)[0],
        rmsnorm=lambda x, gain: x * lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-5) * gain,
        conv=lambda x, w: lax.conv(x, w, (1, 1), "SAME"),
        dwconv=lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=w.shape[0]),
    )  # fmt: skip


def jitted(formula: Callable[..., Any], arrays: Sequence[NDArray[Any]]) -> tuple[Callable[[], Any], Callable[..., Any]]:
    """A call that waits for its result, on arrays that lie on the device. Its whole numbers are of 32 bits."""
    jax: Any = importlib.import_module("jax")
    given = [jax.device_put(np.asarray(a, np.int32) if a.dtype == np.int64 else a) for a in arrays]
    built = jax.jit(lambda *inputs: formula(adapter(), *inputs))
    return (lambda: built(*given).block_until_ready()), np.asarray
