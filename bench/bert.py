"""The encoder of examples/minilm.py by hand, in NumPy and in torch, the latter also compiled and as an ONNX model: what
the compiled one is compared with."""

from __future__ import annotations

import importlib
import io
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from examples.minilm import EPSILON, HEADS, LAYERS, WIDTH
from tang_egg.run import threads

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
        with self.torch.inference_mode():
            found: Array = self.forward(self.torch.from_numpy(ids)).numpy()
            return found

    def forward(self, ids: Any) -> Any:
        """Tokens and embedding as tensors; sizes are taken from shapes, so that it can be traced for every length."""
        f, w = self.torch.nn.functional, self.w
        x = f.embedding(ids, w["words"]) + w["positions"][: ids.shape[0]] + w["kinds"][0]
        x = self.norm(x, "embedded")
        for n in range(self.layers):
            x = self.layer(x, f"layer{n}")
        return f.normalize(x.mean(0), dim=0, eps=EPSILON)

    def norm(self, x: Any, name: str) -> Any:
        return self.torch.nn.functional.layer_norm(
            x, (WIDTH,), self.w[f"{name}_gain"], self.w[f"{name}_shift"], EPSILON
        )

    def layer(self, x: Any, name: str) -> Any:
        f, w = self.torch.nn.functional, self.w
        qkv = f.linear(x, w[f"{name}_qkv"], w[f"{name}_qkv_shift"]).view(x.shape[0], 3, HEADS, WIDTH // HEADS)
        q, k, v = qkv.permute(1, 2, 0, 3).unsqueeze(1).unbind(0)
        seen = f.scaled_dot_product_attention(q, k, v)[0].transpose(0, 1).reshape(x.shape[0], WIDTH)
        x = self.norm(f.linear(seen, w[f"{name}_merge"], w[f"{name}_merge_shift"]) + x, f"{name}_attended")
        hidden = f.gelu(f.linear(x, w[f"{name}_up"], w[f"{name}_up_shift"]))
        return self.norm(f.linear(hidden, w[f"{name}_down"], w[f"{name}_down_shift"]) + x, f"{name}_output")


class InductorEncoder:
    """The same by torch.compile with frozen weights, for every length at once."""

    def __init__(self, weights: Weights, layers: int = LAYERS) -> None:
        self.eager = TorchEncoder(weights, layers)
        self.torch = self.eager.torch
        importlib.import_module("torch._inductor.config").freezing = True  # type: ignore[attr-defined]
        self.built = self.torch.compile(self.eager.forward, dynamic=True)

    @property
    def version(self) -> str:
        return f"{self.eager.version} compile"

    def __call__(self, ids: NDArray[np.int64]) -> Array:
        with self.torch.no_grad():
            found: Array = self.built(self.torch.from_numpy(ids)).numpy()
            return found


class OnnxEncoder:
    """The same as an ONNX model of any length, run by onnxruntime with all its optimisations."""

    def __init__(self, weights: Weights, layers: int = LAYERS) -> None:
        self.runtime: Any = importlib.import_module("onnxruntime")
        options = self.runtime.SessionOptions()
        options.intra_op_num_threads = threads()
        options.log_severity_level = 4
        model = _exported(TorchEncoder(weights, layers))
        self.session = self.runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    @property
    def version(self) -> str:
        return f"onnxruntime {self.runtime.__version__}"

    def __call__(self, ids: NDArray[np.int64]) -> Array:
        found: Array = self.session.run(None, {"ids": ids})[0]
        return found


def _exported(encoder: TorchEncoder) -> bytes:
    """The encoder as an ONNX model with an input `ids` of any length. Raises ImportError without onnx."""
    importlib.import_module("onnx")
    torch: Any = encoder.torch

    class Module(torch.nn.Module):  # type: ignore[misc]
        def forward(self, ids: Any) -> Any:
            return encoder.forward(ids)

    file = io.BytesIO()
    torch.onnx.export(
        Module().eval(), (torch.arange(7),), file, dynamo=False, opset_version=20, input_names=["ids"],
        output_names=["embedding"], dynamic_axes={"ids": {0: "seq"}},
    )  # fmt: skip
    return file.getvalue()
