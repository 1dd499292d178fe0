"""The encoder of examples/minilm.py by hand, in NumPy and in torch: what the compiled one is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from examples.minilm import EPSILON, HEADS, LAYERS, WIDTH

Array: TypeAlias = "NDArray[np.float32]"
Weights: TypeAlias = Mapping[str, Array]


class NumpyEncoder:
    """float32 throughout, products by the BLAS of NumPy."""

    def __init__(self, weights: Weights, layers: int = LAYERS) -> None:
        self.w, self.layers = dict(weights), layers
        for n in range(layers):  # one product for queries, keys and values
            parts = [f"layer{n}_{p}" for p in ("query", "key", "value")]
            self.w[f"layer{n}_qkv"] = np.concatenate([weights[p] for p in parts], axis=1)
            self.w[f"layer{n}_qkv_shift"] = np.concatenate([weights[f"{p}_shift"] for p in parts])

    @property
    def version(self) -> str:
        return f"numpy {np.__version__}"

    def __call__(self, ids: NDArray[np.int64]) -> Array:
        w = self.w
        x = w["words"][ids] + w["positions"][: len(ids)] + w["kinds"][0]
        x = self.norm(x, "embedded")
        for n in range(self.layers):
            x = self.layer(x, f"layer{n}")
        pooled = x.mean(axis=0)
        return np.asarray(pooled / np.maximum(np.sqrt((pooled * pooled).sum()), np.float32(EPSILON)))

    def norm(self, x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = np.mean(centred * centred, axis=-1, keepdims=True)
        scaled: Array = centred / np.sqrt(variance + np.float32(EPSILON))
        return scaled * self.w[f"{name}_gain"] + self.w[f"{name}_shift"]

    def layer(self, x: Array, name: str) -> Array:
        w = self.w
        qkv = (x @ w[f"{name}_qkv"] + w[f"{name}_qkv_shift"]).reshape(len(x), 3, HEADS, WIDTH // HEADS)
        q, k, v = qkv.transpose(1, 2, 0, 3)
        scores = q @ k.swapaxes(1, 2) * np.float32((WIDTH // HEADS) ** -0.5)
        p = np.exp(scores - scores.max(axis=-1, keepdims=True))
        p /= p.sum(axis=-1, keepdims=True)
        seen = (p @ v).swapaxes(0, 1).reshape(len(x), WIDTH)
        x = self.norm(seen @ w[f"{name}_merge"] + w[f"{name}_merge_shift"] + x, f"{name}_attended")
        hidden = _gelu(x @ w[f"{name}_up"] + w[f"{name}_up_shift"])
        return self.norm(hidden @ w[f"{name}_down"] + w[f"{name}_down_shift"] + x, f"{name}_output")


def _gelu(x: Array) -> Array:
    return x * np.float32(0.5) * (np.float32(1) + _erf(x * np.float32(0.5**0.5)))


def _erf(x: Array) -> Array:
    """The error function to 2e-7; NumPy has none. Source: Press et al., Numerical Recipes, 2nd edition, `erfcc`."""
    t = np.float32(1) / (np.float32(1) + np.float32(0.5) * np.abs(x))
    total = np.zeros_like(t)
    for c in _ERFC:
        total = total * t + np.float32(c)
    upper = t * np.exp(total - x * x)
    return np.asarray(np.where(x >= 0, np.float32(1) - upper, upper - np.float32(1)))


_ERFC = (
    0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368,
    -1.26551223,
)  # fmt: skip


class TorchEncoder:
    """torch's own layers in inference mode: fused attention, layer norm, gelu and linear."""

    def __init__(self, weights: Weights, layers: int = LAYERS) -> None:
        import torch

        self.torch, self.layers = torch, layers
        self.w: dict[str, Any] = {n: torch.from_numpy(a) for n, a in NumpyEncoder(weights, layers).w.items()}
        for name, a in self.w.items():  # torch keeps matrices as [outputs, inputs]
            if a.ndim == 2 and name.startswith("layer"):
                self.w[name] = a.T.contiguous()

    @property
    def version(self) -> str:
        return f"torch {self.torch.__version__}"

    def __call__(self, ids: NDArray[np.int64]) -> Array:
        torch, f, w = self.torch, self.torch.nn.functional, self.w
        with torch.inference_mode():
            x = f.embedding(torch.from_numpy(ids), w["words"]) + w["positions"][: len(ids)] + w["kinds"][0]
            x = self.norm(x, "embedded")
            for n in range(self.layers):
                x = self.layer(x, f"layer{n}")
            found: Array = f.normalize(x.mean(0), dim=0, eps=EPSILON).numpy()
            return found

    def norm(self, x: Any, name: str) -> Any:
        return self.torch.nn.functional.layer_norm(
            x, (WIDTH,), self.w[f"{name}_gain"], self.w[f"{name}_shift"], EPSILON
        )

    def layer(self, x: Any, name: str) -> Any:
        f, w = self.torch.nn.functional, self.w
        qkv = f.linear(x, w[f"{name}_qkv"], w[f"{name}_qkv_shift"]).view(len(x), 3, HEADS, WIDTH // HEADS)
        q, k, v = qkv.permute(1, 2, 0, 3).unsqueeze(1)
        seen = f.scaled_dot_product_attention(q, k, v)[0].transpose(0, 1).reshape(len(x), WIDTH)
        x = self.norm(f.linear(seen, w[f"{name}_merge"], w[f"{name}_merge_shift"]) + x, f"{name}_attended")
        hidden = f.gelu(f.linear(x, w[f"{name}_up"], w[f"{name}_up_shift"]))
        return self.norm(f.linear(hidden, w[f"{name}_down"], w[f"{name}_down_shift"]) + x, f"{name}_output")
