"""The peers of the CUDA cells: what a user would call instead, each in its fastest documented form.

A peer that is not installed is missing with a reason; none is left out silently. FlashAttention-4 comes as wheels (see
README.md beside this) in a folder that `--peers` names. Its call is

    from flash_attn.cute import flash_attn_func   # of the distribution flash-attn-4; it compiles each head size anew
    out, logsumexp = flash_attn_func(q, k, v, causal=True)   # q, k, v and out are [b, n, h, d], contiguous

flash-linear-attention (fla-core) takes q, k, v [b, n, h, d] and logarithms of decays g [b, n, h]:

    from fla.ops.simple_gla import chunk_simple_gla      # (q, k, v, g, scale=...) gives (out, state)
    from fla.ops.linear_attn import chunk_linear_attn    # (q, k, v, scale=..., normalize=False) gives the same
"""

from __future__ import annotations

import site
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module, metadata
from typing import Any, TypeAlias

import torch
import torch.nn.functional as F

from bench.cuda_cells import COMPILE, CUBLAS, CUDNN, EAGER, FLA, FLASH2, FLASH4, FLEX, Cell
from bench.cuda_data import EPS, Tensor, Tensors, block, chunked
from bench.cuda_graphs import CAP, WINDOW
from bench.cuda_memory import PROGRAMS

TORCH = torch.__version__.partition("+")[0]
MODE = "max-autotune-no-cudagraphs"


class Held:
    """A prepared call that keeps its last result. `view` shows the result as the graph's output is laid out."""

    held_bytes = 0

    def __init__(self, compute: Callable[[], Tensor], view: Callable[[Tensor], Tensor] = lambda t: t) -> None:
        self.compute, self.view = compute, view
        self.result: Tensor = None

    def __call__(self) -> None:
        self.result = self.compute()

    def output(self) -> Tensor:
        return self.view(self.result)

    def drop(self) -> None:
        self.result = None


Prepare: TypeAlias = Callable[[Cell, Tensors], Held]


def add_site(folder: str) -> None:
    """Makes what is installed in a folder importable, its .pth files read."""
    site.addsitedir(folder)


@cache
def version(family: str) -> str:
    """The name of a family's system with its version. Raises whatever its import raises when it is missing."""
    if family == CUDNN:
        n = torch.backends.cudnn.version()
        if n is None:
            raise ImportError("this torch has no cuDNN")
        return f"{CUDNN} {n // 10000}.{n // 100 % 100}.{n % 100} (torch {TORCH})"
    if family == FLASH2:
        return f"{FLASH2} (torch {TORCH})"
    if family == FLASH4:
        import_module("flash_attn.cute")
        return f"{FLASH4} {metadata.version('flash-attn-4')}"
    if family == FLA:
        import_module("fla.ops.simple_gla")
        return f"{FLA} {metadata.version('fla-core')}"
    if family == CUBLAS:
        try:
            number = metadata.version("nvidia-cublas")
        except metadata.PackageNotFoundError:
            number = f"of CUDA {torch.version.cuda}"
        return f"{CUBLAS} {number} (torch {TORCH})"
    if family in (FLEX, COMPILE):
        import_module("triton")
        return f"{FLEX} {TORCH}" if family == FLEX else f"{COMPILE} {TORCH} {MODE}"
    return f"{EAGER} {TORCH}"


def prepare(family: str, cell: Cell, x: Tensors) -> Held:
    """The call of a family on the inputs of a cell."""
    if family in (CUDNN, FLASH2):
        return _sdpa(family, cell, x)
    makers: dict[str, Prepare] = {FLASH4: _flash4, FLEX: _flex, CUBLAS: _cublas, COMPILE: _compiled, EAGER: _eager}
    makers[FLA] = _fla
    return makers[family](cell, x)


def _causal(cell: Cell) -> bool:
    return cell.program.endswith("causal")


def _sdpa(family: str, cell: Cell, x: Tensors) -> Held:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    backend = SDPBackend.CUDNN_ATTENTION if family == CUDNN else SDPBackend.FLASH_ATTENTION

    q = x["Q"]
    if cell.program == "decode":  # heads that share keys, as torch has them: [b, heads, one query, d]
        q = q.reshape(q.shape[0], -1, 1, q.shape[-1])

    def compute() -> Tensor:
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(
                q, x["K"], x["V"], is_causal=_causal(cell), enable_gqa=cell.program == "decode"
            )

    return Held(compute, lambda t: t.reshape(x["Q"].shape) if cell.program == "decode" else t)


def _flash4(cell: Cell, x: Tensors) -> Held:
    attend = import_module("flash_attn.cute").flash_attn_func
    q, k, v = (x[name].transpose(1, 2).contiguous() for name in "QKV")

    def compute() -> Tensor:
        found = attend(q, k, v, causal=_causal(cell))
        return found[0] if isinstance(found, tuple) else found

    return Held(compute, lambda t: t.transpose(1, 2))


def _fla(cell: Cell, x: Tensors) -> Held:
    q, k, v = (x[name].transpose(1, 2).contiguous() for name in "QKV")
    if cell.program == "ssd":
        decayed, g = import_module("fla.ops.simple_gla").chunk_simple_gla, x["g"].transpose(1, 2).contiguous()
        return Held(lambda: decayed(q, k, v, g, scale=1.0)[0], lambda t: t.transpose(1, 2))
    plain = import_module("fla.ops.linear_attn").chunk_linear_attn
    return Held(lambda: plain(q, k, v, scale=1.0, normalize=False)[0], lambda t: t.transpose(1, 2))


def _flex(cell: Cell, x: Tensors) -> Held:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    torch._dynamo.reset()  # each modification is compiled by itself, not as a variant of the one before
    b, _, n, _ = x["Q"].shape
    slope: Tensor = x.get("slope")
    live: Tensor = x.get("live")
    score: dict[str, Callable[..., Any]] = {
        "attention_soft_cap": lambda s, b, h, q, k: CAP * torch.tanh(s / CAP),
        "attention_alibi": lambda s, b, h, q, k: s + slope[h] * (k - q),
    }
    score["attention_soft_cap_causal"] = score["attention_soft_cap"]
    mask: dict[str, Callable[..., Any]] = {
        "attention_soft_cap_causal": lambda b, h, q, k: q >= k,
        "attention_window": lambda b, h, q, k: (q >= k) & (q - k < WINDOW),
        "attention_padded": lambda b, h, q, k: live[b, k],
    }
    options: dict[str, Any] = {}
    if cell.program in score:
        options["score_mod"] = score[cell.program]
    if cell.program in mask:
        batch = b if cell.program == "attention_padded" else None
        options["block_mask"] = create_block_mask(mask[cell.program], batch, None, n, n, device=x["Q"].device)
    compiled = torch.compile(flex_attention, dynamic=False)
    return Held(lambda: compiled(x["Q"], x["K"], x["V"], **options))


def _cublas(cell: Cell, x: Tensors) -> Held:
    a, b = x["A"], x["W"].T if "W" in x else x["B"].T if cell.program == "matmul_transposed" else x["B"]
    if cell.dtype == "int8":
        whole = torch.empty(a.shape[0], b.shape[1], dtype=torch.int32, device=a.device)
        return Held(lambda: torch._int_mm(a, b, out=whole))
    if cell.dtype == "fp8":
        one = torch.ones((), dtype=torch.float32, device=a.device)
        made = torch.bfloat16
        return Held(lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=made, use_fast_accum=True))
    out = torch.empty(a.shape[0], b.shape[1], dtype=a.dtype, device=a.device)
    if cell.dtype == "tf32":
        torch.backends.cuda.matmul.allow_tf32 = True
    return Held(lambda: torch.matmul(a, b, out=out))


def _formula(cell: Cell, x: Tensors) -> tuple[Callable[..., Tensor], tuple[Tensor, ...]]:
    """What eager torch runs and torch.compile compiles, and its arguments."""
    if cell.program in PROGRAMS:
        return partial(PROGRAMS[cell.program].formula, torch), tuple(x.values())
    if cell.suite == "cuda.linear":
        return chunked, tuple(x.values())
    if cell.program == "block":
        if cell.dtype == "tf32":
            torch.backends.cuda.matmul.allow_tf32 = True
        names = tuple(x)
        return lambda *given: block(dict(zip(names, given, strict=True))), tuple(x.values())
    if cell.program == "cross_entropy":
        return (
            lambda h, w, label: F.cross_entropy(h @ w.T, label, reduction="none"),
            (x["H"], x["W"], x["label"].long()),
        )
    if cell.program == "rmsnorm_matmul":
        return lambda a, g, w: F.rms_norm(a, (a.shape[-1],), g, EPS) @ w, (x["X"], x["g"], x["W"])
    if cell.program == "gemm_bias_gelu":
        return lambda a, w, b: F.gelu(torch.addmm(b, a, w)), (x["X"], x["W"], x["b"])
    if cell.program == "swiglu":
        return lambda a, g, u: F.silu(a @ g.T) * (a @ u.T), (x["X"], x["Wg"], x["Wu"])
    raise ValueError(f"no formula is known for {cell.title}")


def _eager(cell: Cell, x: Tensors) -> Held:
    formula, given = _formula(cell, x)
    return Held(lambda: formula(*given))


def _compiled(cell: Cell, x: Tensors) -> Held:
    torch._dynamo.reset()
    formula, given = _formula(cell, x)
    compiled = torch.compile(formula, mode=MODE, dynamic=False)
    return Held(lambda: compiled(*given))
