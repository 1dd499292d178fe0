"""What `python -m bench cuda` measures: programs at their shapes, with their floors and thresholds.

A cell is one program at one shape and type; every system that can compute it is timed on the same inputs, in turns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial

from bench import cuda_graphs, cuda_memory
from bench.cuda_graphs import HEAD, HEADS, INNER, SHARED, WIDTH, WINDOW
from tang_egg.ir import Graph

PEAK = {"bf16": 989e12, "tf32": 494e12, "int8": 1979e12, "fp8": 1979e12}
"""Dense operations per second of the matrix units of an H100 or H200 (SXM), by the type of the operands."""
BANDWIDTH = 4.8e12
"""Bytes per second of an H200's memory."""
LIMITS = {"bf16": 2e-2, "tf32": 4e-3, "int8": 0.0, "fp8": 2e-2}
"""The largest error, as the norm of the difference over that of the reference, that counts as computed."""
BYTES = {"bf16": 2, "tf32": 4, "f32": 4, "i32": 4, "bool": 1, "int8": 1, "fp8": 1}
MADE = {"int8": 4, "fp8": 2}
"""Bytes of an element of a product, where they are others than those of its operands."""

OURS = "tang_egg"
CUDNN, FLASH2, FLASH4 = "cuDNN", "FlashAttention-2", "FlashAttention-4"
FLEX, COMPILE, EAGER, CUBLAS = "FlexAttention", "torch.compile", "eager torch", "cuBLAS"
FLA = "flash-linear-attention"


@dataclass(frozen=True)
class Judged:
    """The threshold: the time of the best of `systems` over ours is at least `least`; None where rows are kept only."""

    systems: tuple[str, ...]
    least: float | None


@dataclass(frozen=True)
class Cell:
    """One program at one shape. `peers` are families of systems, a system's name begins with its family.

    `chunk`: points of a chunk of sums up to a point, where our kernels are asked for chunks.
    """

    suite: str
    program: str
    shape: Mapping[str, int]
    dtype: str
    graph: Callable[[], Graph]
    peers: tuple[str, ...]
    flops: float
    bytes: float
    must: bool = False
    chunk: int = 0

    @property
    def title(self) -> str:
        """One line that --cells matches."""
        return f"{self.suite}/{self.program} {' '.join(f'{k}={v}' for k, v in self.shape.items())} {self.dtype}"

    @property
    def floor_ms(self) -> float:
        """The least time: of the operations at the peak, or of the compulsory bytes at the memory's rate."""
        return 1e3 * max(self.flops / PEAK[self.dtype], self.bytes / BANDWIDTH)

    @property
    def chunks(self) -> dict[str, int] | None:
        """What `optimize` is asked for."""
        return {"K:2": self.chunk} if self.chunk else None

    @property
    def limit(self) -> float:
        return LIMITS[self.dtype]

    @property
    def key(self) -> tuple[str, ...]:
        return (self.suite, self.program, json.dumps(dict(self.shape), sort_keys=True), self.dtype)


JUDGED = {
    "cuda.attention": Judged((CUDNN, FLASH4), 0.85),
    "cuda.variants": Judged((FLEX,), 1.0),
    "cuda.gemm": Judged((CUBLAS,), 0.95),
    "cuda.fused": Judged((COMPILE, EAGER), 1.0),
    "cuda.loss": Judged((COMPILE, EAGER), None),
    "cuda.norm": Judged((COMPILE, EAGER), None),
    "cuda.decode": Judged((CUDNN,), 1.0),
    "cuda.block": Judged((COMPILE, EAGER), 1.0),
    "cuda.memory": Judged((COMPILE, EAGER), None),
    "cuda.narrow": Judged((CUBLAS,), None),
    "cuda.linear": Judged((FLA, COMPILE), 1.0),
}
SUITES = tuple(JUDGED)


def live_keys(n: int) -> int:
    """How many of `n` keys are no padding in the padded cells: they end inside a block of any size."""
    return n - n // 8 - 1


def _pairs(program: str, n: int) -> int:
    """How many (query, key) pairs a program looks at, for `n` queries and keys."""
    if program == "attention_window":
        return sum(min(i + 1, WINDOW) for i in range(n))
    if program == "attention_padded":
        return n * live_keys(n)
    return n * (n + 1) // 2 if program in ("attention_causal", "attention_soft_cap_causal") else n * n


def attention(program: str, b: int, h: int, n: int, d: int, must: bool = False) -> Cell:
    """Four operations for each element of the head of a pair; q, k, v and the output cross memory once."""
    plain = program in ("attention", "attention_causal")
    extra = {"attention_alibi": 4 * h, "attention_padded": b * n}.get(program, 0)
    return Cell(
        "cuda.attention" if plain else "cuda.variants",
        program,
        {"b": b, "h": h, "n": n, "d": d},
        "bf16",
        partial(cuda_graphs.attention, program, b, h, n, d),
        (CUDNN, FLASH2, FLASH4) if plain else (FLEX,),
        4.0 * b * h * d * _pairs(program, n),
        8.0 * b * h * n * d + extra,
        must,
    )


def gemm(m: int, n: int, k: int, transposed: bool, dtype: str, must: bool = False) -> Cell:
    """C [m, n] = A B with B stored [k, n], or [n, k] where `transposed`."""
    return Cell(
        "cuda.gemm",
        "matmul_transposed" if transposed else "matmul",
        {"m": m, "n": n, "k": k},
        dtype,
        partial(cuda_graphs.gemm, m, n, k, transposed, "f32" if dtype == "tf32" else dtype),
        (CUBLAS,),
        2.0 * m * n * k,
        1.0 * (m * k + k * n) * BYTES[dtype] + 1.0 * m * n * MADE.get(dtype, BYTES[dtype]),
        must,
    )


def memory(program: str, m: int, n: int, must: bool = False) -> Cell:
    """A program over the rows of X [m, n], bf16."""
    return _of_table("cuda.memory", program, {"m": m, "n": n}, (COMPILE, EAGER), must)


def narrow(m: int, n: int, k: int, must: bool = False) -> Cell:
    """A few rows A [m, k] times W [n, k], bf16."""
    return _of_table("cuda.narrow", "narrow", {"m": m, "n": n, "k": k}, (CUBLAS,), must)


def _of_table(suite: str, program: str, shape: Mapping[str, int], peers: tuple[str, ...], must: bool) -> Cell:
    p = cuda_memory.PROGRAMS[program]
    build = partial(p.graph, program, shape)
    return Cell(suite, program, shape, "bf16", build, peers, p.flops(shape), p.moved(shape), must)


def cross_entropy(n: int, d: int, v: int, must: bool = False) -> Cell:
    shape = {"n": n, "d": d, "v": v}
    graph = partial(cuda_graphs.cross_entropy, n, d, v)
    words = 2.0 * (n * d + v * d) + 8 * n
    return Cell("cuda.loss", "cross_entropy", shape, "bf16", graph, (COMPILE, EAGER), 2.0 * n * d * v, words, must)


def rmsnorm_matmul(m: int, n: int, k: int, must: bool = False) -> Cell:
    shape = {"m": m, "n": n, "k": k}
    graph = partial(cuda_graphs.rmsnorm_matmul, m, n, k)
    words = 2.0 * (m * k + k + k * n + m * n)
    return Cell("cuda.norm", "rmsnorm_matmul", shape, "bf16", graph, (COMPILE, EAGER), 2.0 * m * n * k, words, must)


def gemm_bias_gelu(m: int, n: int, k: int, must: bool = False) -> Cell:
    shape = {"m": m, "n": n, "k": k}
    graph = partial(cuda_graphs.gemm_bias_gelu, m, n, k)
    words = 2.0 * (m * k + k * n + n + m * n)
    return Cell("cuda.fused", "gemm_bias_gelu", shape, "bf16", graph, (COMPILE, EAGER), 2.0 * m * n * k, words, must)


def swiglu(m: int, n: int, k: int, must: bool = False) -> Cell:
    shape = {"m": m, "n": n, "k": k}
    graph = partial(cuda_graphs.swiglu, m, n, k)
    words = 2.0 * (m * k + 2 * k * n + m * n)
    return Cell("cuda.fused", "swiglu", shape, "bf16", graph, (COMPILE, EAGER), 4.0 * m * n * k, words, must)


def decode(b: int, n: int, must: bool = False) -> Cell:
    """One query of each of 32 heads of 128 beside n keys of 8 heads: keys and values cross memory once."""
    hk, group, d = 8, 4, 128
    shape = {"b": b, "h": hk, "g": group, "n": n, "d": d}
    graph = partial(cuda_graphs.decode, b, hk, group, n, d)
    words = 4.0 * b * hk * d * (n + group)
    return Cell(
        "cuda.decode", "decode", shape, "bf16", graph, (CUDNN, FLASH2), 4.0 * b * hk * group * n * d, words, must
    )


def block(n: int, dtype: str, must: bool = False) -> Cell:
    """A transformer block forward over n tokens."""
    graph = partial(cuda_graphs.block, n, "f32" if dtype == "tf32" else dtype)
    weights = 2 * WIDTH * WIDTH + 2 * WIDTH * SHARED * HEAD + 3 * WIDTH * INNER
    flops = 2.0 * n * weights + 2.0 * HEADS * n * n * HEAD
    words = BYTES[dtype] * (weights + 2.0 * WIDTH + 2.0 * n * WIDTH) + 4.0 * n * HEAD
    return Cell("cuda.block", "block", {"n": n}, dtype, graph, (COMPILE, EAGER), flops, words, must)


def linear(program: str, b: int, n: int, chunk: int, must: bool = False) -> Cell:
    """Sixteen heads of 128: linear attention or SSD, forward; q, k, v and the output cross memory once.

    The least operations are those of an update of the state and a read of it for each point.
    """
    h, d = 16, 128
    shape = {"b": b, "h": h, "n": n, "d": d}
    build = {"linear_attention": cuda_graphs.linear_attention, "ssd": cuda_graphs.ssd}[program]
    words = b * h * n * (8.0 * d + (4 if program == "ssd" else 0))
    return Cell(
        "cuda.linear", program, shape, "bf16", partial(build, b, h, n, d), (FLA, COMPILE), 4.0 * b * h * n * d * d,
        words, must, chunk,
    )  # fmt: skip


@cache
def cells() -> tuple[Cell, ...]:
    """All cells; those of the must-run subset come first, the quickest claims to check at their head."""
    plain = [
        attention(program, b, h, n, d, must=n == 16384 or (d == 128 and n == 4096))
        for d, h in ((128, 16), (64, 16), (256, 8))
        for n, b in ((16384, 1), (4096, 4), (1024, 16))
        for program in ("attention", "attention_causal")
    ]
    order = (False, True)
    square = (4096, 8192, 2048, 1024)
    products = [gemm(n, n, n, transposed, "bf16", must=n >= 4096) for n in square for transposed in order]
    products += [gemm(4096, 4096, 4096, transposed, "tf32", must=transposed) for transposed in order]
    products += [gemm(n, n, n, True, "int8", must=True) for n in (4096, 8192)]
    products += [gemm(n, n, n, True, "fp8", must=True) for n in (4096, 8192)]
    products += [gemm(m, 14336, 4096, True, "bf16") for m in (64, 512, 4096)]
    others = [
        gemm_bias_gelu(8192, 4096, 4096, must=True),
        swiglu(2048, 14336, 4096, must=True),
        cross_entropy(4096, 4096, 32000, must=True),
        rmsnorm_matmul(8192, 4096, 4096, must=True),
    ]
    names = ("soft_cap", "alibi", "window", "padded", "soft_cap_causal")
    variants = [attention(f"attention_{v}", 1, 16, 8192, d, must=d == 128) for d in (128, 64) for v in names]
    variants += [attention(f"attention_{v}", 1, 16, 2048, d) for d in (128, 64) for v in names]
    others += [decode(b, n, must=b == 16) for b, n in ((1, 4096), (16, 4096), (64, 8192))]
    others += [block(n, dtype, must=dtype == "bf16") for dtype in ("bf16", "tf32") for n in (128, 512)]
    tables = [memory(program, 8192, 4096, must=True) for program in cuda_memory.MEMORY]
    rows = [narrow(m, n, 4096, must=m == 1) for m in (1, 16) for n in (14336, 4096)]
    sums = [
        linear(program, b, n, chunk, must=True)
        for program in ("linear_attention", "ssd")
        for b, n, chunk in ((1, 8192, 256), (1, 32768, 512), (8, 2048, 512))
    ]
    every = (*plain, *products, *variants, *others, *tables, *rows, *sums)
    return tuple(sorted(every, key=lambda c: not c.must))


def chosen(suites: Iterable[str] = (), pattern: str | None = None, must: bool = False) -> list[Cell]:
    """Cells of some suites (all without any, "cuda." may be left out) whose title `pattern` is found in."""
    wanted = {s if s.startswith("cuda.") else f"cuda.{s}" for s in suites} or set(SUITES)
    return [
        c
        for c in cells()
        if c.suite in wanted and (c.must or not must) and (pattern is None or re.search(pattern, c.title))
    ]


def family(system: str) -> str | None:
    """The family of a system by its name; None for schedules that were forced, which stand in parentheses."""
    if system.startswith(OURS):
        return None if "(" in system else OURS
    known = (CUDNN, FLASH2, FLASH4, FLEX, COMPILE, EAGER, CUBLAS, FLA)
    return next((f for f in known if system.startswith(f)), None)
