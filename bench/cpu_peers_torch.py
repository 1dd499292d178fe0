"""torch as adapters: eager, with its fused attention, compiled by Inductor; and as a module for exporters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

from numpy.typing import NDArray

X = Any
Prepared = tuple[Callable[[], Any], Callable[[Any], Any]]
"""A call, and what turns its result into something NumPy takes."""


@cache
def eager() -> Any:
    """The formulas' names in torch, its own functions wherever there are some."""
    import torch
    from torch.nn import functional as f

    return SimpleNamespace(
        cat=torch.cat, where=torch.where, exp=torch.exp, tanh=torch.tanh, einsum=torch.einsum, sigmoid=torch.sigmoid,
        silu=f.silu, cumsum=torch.cumsum, gru=torch.gru_cell,
        swap=lambda x: x.transpose(-1, -2),
        perm=lambda x: x.transpose(0, 1),
        tri=lambda n: torch.ones(n, n, dtype=torch.bool).tril(),
        rep=lambda x, times: x.repeat_interleave(times, 0),
        f32=lambda x: x.float(),
        sum=lambda x, axis: x.sum(axis),
        take=lambda table, ids: f.embedding(ids, table),
        gelu=lambda x: f.gelu(x, approximate="tanh"),
        softmax=lambda x: f.softmax(x, -1),
        logsumexp=lambda x: torch.logsumexp(x, -1),
        var=lambda x: x.var(-1, correction=0),
        argmax=lambda x: x.argmax(-1),
        topk=lambda x: torch.topk(x, 10, -1)[0],
        layernorm=lambda x, gain, bias: f.layer_norm(x, gain.shape, gain, bias, 1e-5),
        rmsnorm=lambda x, gain: f.rms_norm(x, gain.shape, gain, 1e-5),
        conv=lambda x, w: f.conv2d(x, w, padding=1),
        dwconv=lambda x, w: f.conv2d(x, w, padding=1, groups=w.shape[0]),
        bag=lambda table, ids: f.embedding_bag(ids, table, mode="sum"),
    )  # fmt: skip


@cache
def fused() -> Any:
    """The same with scaled_dot_product_attention."""
    from torch.nn.functional import scaled_dot_product_attention

    def attention(q: X, k: X, v: X) -> X:
        shared = q.shape[0] != k.shape[0]
        return scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True, enable_gqa=shared)[0]

    return SimpleNamespace(**vars(eager()), attention=attention)


@cache
def plain() -> Any:
    """Formulas only, where exporters and compilers do better without fused operators."""

    def rmsnorm(x: X, gain: X) -> X:
        import torch

        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * gain

    return SimpleNamespace(**vars(eager()) | {"gru": None, "bag": None, "rmsnorm": rmsnorm})


def module(formula: Callable[..., Any], arrays: Sequence[Any], constants: int, adapter: Any = None) -> Any:
    """A formula as a module in evaluation mode; its last `constants` arguments are its buffers."""
    import torch

    adapter = adapter or plain()

    class Formula(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            for n in range(constants):
                self.register_buffer(f"w{n}", arrays[len(arrays) - constants + n])

        def forward(self, *inputs: Any) -> Any:
            return formula(adapter, *inputs, *(getattr(self, f"w{n}") for n in range(constants)))

    return Formula().eval()


def tensors(arrays: Sequence[NDArray[Any]]) -> list[Any]:
    import torch

    return [torch.from_numpy(a) for a in arrays]


def run_eagerly(formula: Callable[..., Any], arrays: Sequence[NDArray[Any]], adapter: Any) -> Prepared:
    import torch

    given = tensors(arrays)

    def call() -> Any:
        with torch.inference_mode():
            return formula(adapter, *given)

    return call, lambda y: y.numpy()


def compiled(formula: Callable[..., Any], arrays: Sequence[NDArray[Any]], constants: int, mode: str | None) -> Prepared:
    """By torch.compile with frozen weights. `mode`: as there."""
    import importlib

    import torch

    importlib.import_module("torch._inductor.config").freezing = True  # type: ignore[attr-defined]
    torch._dynamo.reset()
    given = tensors(arrays)
    built = torch.compile(module(formula, given, constants), mode=mode)
    varying = given[: len(given) - constants]

    def call() -> Any:
        with torch.no_grad():
            return built(*varying)

    return call, lambda y: y.numpy()
