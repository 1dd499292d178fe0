"""Inputs of the CUDA cells, drawn on the device, and what they should give, in float64 and in chunks that fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import torch
import torch.nn.functional as F

from bench.cuda_cells import Cell, live_keys
from bench.cuda_graphs import CAP, HEAD, HEADS, INNER, SHARED, WIDTH, WINDOW
from bench.cuda_memory import PROGRAMS

Tensor: TypeAlias = Any
Tensors: TypeAlias = "dict[str, Tensor]"

PART = 256
"""Rows of a square of weights in the reference of sums up to a point."""
ROWS = 2048
"""Rows of a chunk: 2048 rows of 16384 scores are 256 MiB in float64."""
EPS = 1e-6
SLOW = 16.0
"""By what logarithms of decays are divided: a state falls to a third in about as many points."""


def draw(cell: Cell, device: str, seed: int = 0) -> Tensors:
    """The inputs by name: normal values, weights scaled so that a row of results has unit variance."""
    make = torch.Generator(device=device).manual_seed(seed)
    kind = torch.float32 if cell.dtype == "tf32" else torch.bfloat16
    s = cell.shape

    def normal(*shape: int, scale: float = 1.0, shift: float = 0.0) -> Tensor:
        drawn = torch.randn(*shape, generator=make, device=device, dtype=torch.float32)
        return drawn.mul_(scale).add_(shift).to(kind)

    if cell.program.startswith("attention"):
        found = {x: normal(s["b"], s["h"], s["n"], s["d"]) for x in "QKV"}
        if cell.program == "attention_alibi":
            found["slope"] = slopes(s["h"], device)
        if cell.program == "attention_padded":
            found["live"] = (torch.arange(s["n"], device=device) < live_keys(s["n"])).expand(s["b"], -1).contiguous()
        return found
    if cell.suite == "cuda.gemm":
        stored = (s["n"], s["k"]) if cell.program == "matmul_transposed" else (s["k"], s["n"])
        if cell.dtype == "int8":
            shapes = {"A": (s["m"], s["k"]), "B": stored}
            return {
                x: torch.randint(-128, 128, size, generator=make, device=device, dtype=torch.int8)
                for x, size in shapes.items()
            }
        found = {"A": normal(s["m"], s["k"]), "B": normal(*stored)}
        return {x: a.to(torch.float8_e4m3fn) for x, a in found.items()} if cell.dtype == "fp8" else found
    if cell.program == "cross_entropy":
        label = torch.randint(s["v"], (s["n"],), generator=make, device=device, dtype=torch.int32)
        return {"H": normal(s["n"], s["d"]), "W": normal(s["v"], s["d"], scale=s["d"] ** -0.5), "label": label}
    if cell.program in PROGRAMS:
        p = PROGRAMS[cell.program]
        return {x: normal(*p.shape(d, s), scale=d.scale, shift=d.shift) for x, d in p.inputs.items()}
    if cell.program == "decode":
        keys = (s["b"], s["h"], s["n"], s["d"])
        return {"Q": normal(s["b"], s["h"], s["g"], s["d"]), "K": normal(*keys), "V": normal(*keys)}
    if cell.program == "block":
        return _block_inputs(s["n"], normal, device)
    if cell.suite == "cuda.linear":
        found = {x: normal(s["b"], s["h"], s["n"], s["d"]) for x in "QKV"}
        if cell.program == "ssd":
            drawn = torch.randn(s["b"], s["h"], s["n"], generator=make, device=device, dtype=torch.float32)
            found["g"] = F.logsigmoid(drawn) / SLOW
        return found
    m, n, k = s["m"], s["n"], s["k"]
    scale = k**-0.5
    if cell.program == "rmsnorm_matmul":
        return {"X": normal(m, k), "g": normal(k, scale=0.1, shift=1.0), "W": normal(k, n, scale=scale)}
    if cell.program == "gemm_bias_gelu":
        return {"X": normal(m, k), "W": normal(k, n, scale=scale), "b": normal(n)}
    if cell.program == "swiglu":
        return {"X": normal(m, k), "Wg": normal(n, k, scale=scale), "Wu": normal(n, k, scale=scale)}
    raise ValueError(f"no inputs are known for {cell.title}")


def _block_inputs(n: int, normal: Callable[..., Tensor], device: str) -> Tensors:
    """Tokens, gains, weights scaled by the square root of what they sum over, and the tables of rotary positions."""
    shapes = {"Wq": (WIDTH, WIDTH), "Wk": (SHARED * HEAD, WIDTH), "Wv": (SHARED * HEAD, WIDTH), "Wo": (WIDTH, WIDTH)}
    shapes |= {"Wg": (INNER, WIDTH), "Wu": (INNER, WIDTH), "Wd": (WIDTH, INNER)}
    found = {"X": normal(n, WIDTH), **{g: normal(WIDTH, scale=0.1, shift=1.0) for g in ("g1", "g2")}}
    found |= {name: normal(*shape, scale=shape[1] ** -0.5) for name, shape in shapes.items()}
    pair = torch.arange(HEAD // 2, device=device, dtype=torch.float32)
    angle = torch.arange(n, device=device, dtype=torch.float32)[:, None] * 1e4 ** (-2 * pair / HEAD)
    return found | {"cos": angle.cos(), "sin": angle.sin()}


def block(x: Tensors) -> Tensor:
    """The transformer block as a user of torch writes it, in the type of its inputs; the tables are cast to it."""
    t = x["X"]
    n = t.shape[0]
    cos, sin = x["cos"].to(t.dtype), x["sin"].to(t.dtype)

    def heads(y: Tensor, w: Tensor) -> Tensor:
        return (y @ w.T).view(n, -1, HEAD).transpose(0, 1)[None]

    def turned(y: Tensor) -> Tensor:
        a, b = y[..., : HEAD // 2], y[..., HEAD // 2 :]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    y = F.rms_norm(t, (WIDTH,), x["g1"], EPS)
    q, k, v = (heads(y, x[w]) for w in ("Wq", "Wk", "Wv"))
    o = F.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True, enable_gqa=True)
    t = t + o[0].transpose(0, 1).reshape(n, HEADS * HEAD) @ x["Wo"].T
    y = F.rms_norm(t, (WIDTH,), x["g2"], EPS)
    return t + (F.silu(y @ x["Wg"].T) * (y @ x["Wu"].T)) @ x["Wd"].T


def slopes(heads: int, device: str) -> Tensor:
    """2^(-8 (h + 1) / heads) for each head h, f32."""
    return torch.exp2(-8.0 * (torch.arange(heads, device=device, dtype=torch.float32) + 1) / heads)


def reference(cell: Cell, x: Tensors) -> Tensor:
    """The result in float64, of the shape of the graph's output."""
    if cell.program.startswith("attention"):
        return _attention(cell.program, x)
    if cell.suite == "cuda.gemm":
        b = x["B"].double()
        return _rows(lambda a: a @ (b.T if cell.program == "matmul_transposed" else b), x["A"])
    if cell.program in PROGRAMS:
        return PROGRAMS[cell.program].formula(torch, *(a.double() for a in x.values()))
    if cell.program == "decode":
        return F.scaled_dot_product_attention(*(x[name].double() for name in "QKV"))
    if cell.program == "block":
        return block({name: a.double() for name, a in x.items()})
    if cell.suite == "cuda.linear":
        return _summed(x)
    if cell.program == "cross_entropy":
        return _cross_entropy(x)
    if cell.program == "rmsnorm_matmul":
        g, w = x["g"].double(), x["W"].double()
        return _rows(lambda a: (a * torch.rsqrt((a * a).mean(-1, keepdim=True) + EPS) * g) @ w, x["X"])
    if cell.program == "gemm_bias_gelu":
        w, bias = x["W"].double(), x["b"].double()
        return _rows(lambda a: F.gelu(a @ w + bias), x["X"])
    if cell.program == "swiglu":
        gate, up = x["Wg"].double(), x["Wu"].double()
        return _rows(lambda a: F.silu(a @ gate.T) * (a @ up.T), x["X"])
    raise ValueError(f"no reference is known for {cell.title}")


def _rows(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """`f` of chunks of rows of `x`, in float64, one under the other."""
    return torch.cat([f(part.double()) for part in x.split(ROWS)])


def _cross_entropy(x: Tensors) -> Tensor:
    w, found = x["W"].double(), []
    for hidden, label in zip(x["H"].split(ROWS), x["label"].long().split(ROWS), strict=True):
        logits = hidden.double() @ w.T
        found.append(torch.logsumexp(logits, -1) - logits.gather(-1, label[:, None])[:, 0])
    return torch.cat(found)


def _summed(x: Tensors) -> Tensor:
    """Linear attention, or with g SSD: a state is carried over rows of `PART`, within which weights make a square."""
    q, k, v = (x[name].double() for name in "QKV")
    b, h, n, d = q.shape
    g = x["g"].double() if "g" in x else torch.zeros(b, h, n, dtype=torch.float64, device=q.device)
    state = torch.zeros(b, h, d, v.shape[-1], dtype=torch.float64, device=q.device)
    found = []
    for first in range(0, n, PART):
        a, kp, vp, total = (t[:, :, first : first + PART] for t in (q, k, v, g))
        total = total.cumsum(-1)
        weight = torch.tril(torch.exp((total[..., :, None] - total[..., None, :]).clamp(max=0.0)) * (a @ kp.mT))
        found.append(weight @ vp + total.exp()[..., None] * (a @ state))
        last = total[..., -1:]
        state = last.exp()[..., None] * state + (kp * (last - total).exp()[..., None]).mT @ vp
    return torch.cat(found, 2)


def chunked(q: Tensor, k: Tensor, v: Tensor, g: Tensor | None = None, points: int = 128) -> Tensor:
    """Linear attention, or with g SSD, in chunks as a user of torch writes them, in the type of the inputs.

    Within a chunk weights make a square; states of chunks go to all later ones, with g by a square of decays.
    """
    b, h, n, _ = q.shape
    q, k, v = (t.view(b, h, n // points, points, t.shape[-1]) for t in (q, k, v))
    below = torch.ones(points, points, dtype=torch.bool, device=q.device).tril()
    weight = q @ k.mT
    if g is None:
        added = (k.mT @ v).float()
        state = added.cumsum(2) - added
        return ((weight * below) @ v + q @ state.to(q.dtype)).view(b, h, n, -1)
    total = g.view(b, h, n // points, points).cumsum(-1)
    fade = torch.exp((total[..., :, None] - total[..., None, :]).masked_fill(~below, -math.inf))
    added = (k * torch.exp(total[..., -1:] - total)[..., None].to(k.dtype)).mT @ v
    ends = total[..., -1].cumsum(-1)
    count = ends.shape[-1]
    later = torch.ones(count, count, dtype=torch.bool, device=q.device).tril(-1)
    apart = (ends - total[..., -1])[..., :, None] - ends[..., None, :]
    passed = torch.exp(apart.masked_fill(~later, -math.inf)).to(q.dtype)
    state = (passed @ added.flatten(3)).view(added.shape)
    carried = torch.exp(total)[..., None].to(q.dtype) * (q @ state)
    return ((weight * fade).to(q.dtype) @ v + carried).view(b, h, n, -1)


def _attention(program: str, x: Tensors) -> Tensor:
    b, h, n, d = x["Q"].shape
    j = torch.arange(n, device=x["Q"].device)
    out = torch.empty(b, h, n, x["V"].shape[-1], dtype=torch.float64, device=x["Q"].device)
    for batch in range(b):
        for head in range(h):
            k, v = x["K"][batch, head].double(), x["V"][batch, head].double()
            for first in range(0, n, ROWS):
                i = j[first : first + ROWS, None]
                score = x["Q"][batch, head, first : first + ROWS].double() @ k.T / math.sqrt(d)
                if "soft_cap" in program:
                    score = CAP * torch.tanh(score / CAP)
                if "alibi" in program:
                    score += x["slope"][head].double() * (j - i)
                if program in ("attention_causal", "attention_soft_cap_causal", "attention_window"):
                    score.masked_fill_(j > i, -math.inf)
                if program == "attention_window":
                    score.masked_fill_(j <= i - WINDOW, -math.inf)
                if program == "attention_padded":
                    score.masked_fill_(~x["live"][batch], -math.inf)
                out[batch, head, first : first + ROWS] = torch.softmax(score, -1) @ v
    return out


def error(found: Tensor, wanted: Tensor) -> float:
    """‖found − wanted‖ / ‖wanted‖ in float64; NaN where `found` has an element that is not finite."""
    if found.shape != wanted.shape:
        raise ValueError(f"a result of shape {tuple(found.shape)} where {tuple(wanted.shape)} is expected")
    difference, size = 0.0, 0.0
    for a, b in zip(found.reshape(-1).split(1 << 26), wanted.reshape(-1).split(1 << 26), strict=True):
        difference += float((a.double() - b).square().sum())
        size += float(b.square().sum())
    return math.sqrt(difference / size)


def blank(kind: Any) -> float | int:
    """What outputs are set to before a call: NaN, or the least integer, which no sum here comes to."""
    return math.nan if kind.is_floating_point else int(torch.iinfo(kind).min)


def unwritten(found: Tensor) -> int:
    """How many elements are not finite: with outputs set to NaN before a call, those that it did not write.

    Of integers, how many are still the least one.
    """
    if not found.dtype.is_floating_point:
        return int((found == blank(found.dtype)).sum())
    return int(found.numel() - torch.isfinite(found).sum())
