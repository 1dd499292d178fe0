"""The programs whose CUDA kernels are kept as goldens and whose structure is tested. None needs a GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from tang_egg import expression, layers, library, library_conv, library_sort, pipeline
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.codegen.device import Launch
from tang_egg.codegen.dialects.cuda import CUDA
from tang_egg.codegen.printer import Printer, print_kernel
from tang_egg.ir import Graph
from tang_egg.run_cuda import cuda_kernels, cuda_sources
from tang_egg.run_layout import Built
from tang_egg.saturate import Limits
from tests.rows import ROWS


@dataclass(frozen=True, slots=True)
class Subject:
    """A graph; `products`: as in optimize. `chunk`: an axis and points of a chunk, or none."""

    graph: Callable[[], Graph]
    products: str = "exact"
    chunk: tuple[str, int] | None = None


def attention(n: int, d: int, padded: bool = False, **options: object) -> Subject:
    def make() -> Graph:
        q, k, v = (te.input(x, (2, 4, n, d), "bf16") for x in "QKV")
        if padded:
            options["key_mask"] = te.input("live", (2, n), "bool")
        return graph("attention", O=layers.attention(q, k, v, **options))  # type: ignore[arg-type]

    return Subject(make)


def decode() -> Graph:
    """One query of each head beside 32768 keys: too few rows for the chip, so the stream of keys is split."""
    q, (k, v) = te.input("Q", (1, 4, 1, 128), "bf16"), (te.input(x, (1, 4, 32768, 128), "bf16") for x in "KV")
    return graph("decode", O=layers.attention(q, k, v))


def product(dtype: str, m: int = 4096, n: int = 4096, k: int = 4096, transposed: bool = False) -> Graph:
    a, b = te.input("A", (m, k), dtype), te.input("B", (n, k) if transposed else (k, n), dtype)
    return graph("matmul", C=library.linear(a, b, transposed=transposed))


def biased_gelu() -> Graph:
    x, w, b = te.input("X", (8192, 1024), "bf16"), te.input("W", (1024, 4096), "bf16"), te.input("b", (4096,), "bf16")
    return graph("gemm_bias_gelu", Y=library.pointwise(expression.gelu, library.linear(x, w, b)))


def swiglu() -> Graph:
    x, g, u = (
        te.input("X", (2048, 1024), "bf16"),
        te.input("G", (1024, 4096), "bf16"),
        te.input("U", (1024, 4096), "bf16"),
    )
    return graph("swiglu", H=layers.swiglu(x, g, u))


def rmsnorm_matmul() -> Graph:
    x, g, w = te.input("X", (8192, 1024), "bf16"), te.input("g", (1024,), "bf16"), te.input("W", (1024, 1024), "bf16")
    return graph("rmsnorm_matmul", Y=library.linear(library.rms_norm(x, g), w))


def layernorm_matmul() -> Graph:
    x, w = te.input("X", (256, 768)), te.input("W", (768, 512))
    g, b = te.input("g", (768,)), te.input("b", (768,))
    return graph("layernorm_matmul", Y=library.linear(library.layer_norm(x, g, b), w))


def convolution() -> Graph:
    x, w = te.input("X", (8, 16, 64, 64)), te.input("W", (32, 16, 3, 3))
    return graph("convolution", Y=library_conv.conv2d(x, w, padding=1))


def top_k() -> Graph:
    values, places = library_sort.top_k(te.input("X", (1024, 4096)), 4)
    return graph("top_k", V=values, I=places)


CLASSES, TOKENS = 32000, 4096


def cross_entropy() -> Graph:
    """The loss of each row against its label, without the logits of all words in memory."""
    hidden, weight = te.input("H", (TOKENS, 1024), "bf16"), te.input("W", (CLASSES, 1024), "bf16")
    label, (row, word, c) = te.input("label", (TOKENS,), "i32"), te.indices("n v c")
    logits = te.tensor(None, (row, word), te.sum(c, hidden[row, c] * weight[word, c]), "f32", hint="logits")
    norm = library.logsumexp(logits)
    return graph("cross_entropy", te.tensor("loss", row, norm[row] - logits[row, label[row]]))


def embedding() -> Graph:
    table, at = te.input("table", (32000, 512), "bf16"), te.input("at", (4096,), "i32")
    return graph("embedding", Y=library.embedding(table, at))


def recurrence() -> Graph:
    a, b = te.input("A", (1024, 64)), te.input("B", (1024, 64))
    return graph("gated_recurrence", H=library.gated_scan(a, b))


ATTENTION = {
    "attention": attention(1024, 128),
    "attention_causal": attention(1024, 64, causal=True),
    "attention_window": attention(1024, 128, causal=True, window=128),
    "attention_soft_cap": attention(1024, 128, soft_cap=20.0),
    "attention_padded": attention(1024, 128, padded=True),
}
PROGRAMS: dict[str, Subject] = {
    **ATTENTION,
    "attention_decode": Subject(decode),
    "matmul": Subject(lambda: product("bf16")),
    "matmul_f32": Subject(lambda: product("f32", 512, 512, 512)),
    "matmul_tf32": Subject(lambda: product("f32", transposed=True), "tf32"),
    "gemm_bias_gelu": Subject(biased_gelu),
    "swiglu": Subject(swiglu),
    "rmsnorm_matmul": Subject(rmsnorm_matmul),
    "layernorm_matmul": Subject(layernorm_matmul),
    "cross_entropy": Subject(cross_entropy),
    "softmax": Subject(lambda: graph("softmax", P=library.softmax(te.input("X", (1024, 512))))),
    "argmax": Subject(lambda: graph("argmax", M=library.argmax(te.input("X", (1024, 512))))),
    "gated_recurrence": Subject(recurrence),
    "embedding": Subject(embedding),
    "convolution_padded": Subject(convolution),
    "top_k": Subject(top_k),
    "segments": Subject(lambda: ROWS["segments"].build("f32", n=4096, g=512, d=64)),
    "linear_attention": Subject(lambda: ROWS["linear_attention"].naive("f32"), chunk=("K:0", 64)),
}


@cache
def built(subject: Subject) -> tuple[Built, ...]:
    """The kernels that optimize(..., target="cuda") would compile."""
    chunk = dict([subject.chunk]) if subject.chunk else None
    program = pipeline.extract_for("cuda", subject.graph(), Limits(), chunk=chunk).program
    return cuda_kernels(program, pipeline.choose_schedules(program, "cuda", products=subject.products))


@cache
def units(name: str) -> dict[str, str]:
    """The translation units of a program by kernel."""
    return cuda_sources(built(PROGRAMS[name]))


def shown(b: Built) -> str:
    """How a kernel is launched, and its function; not what all translation units begin with."""
    launch = b.kernel.launch
    assert launch is not None
    return "\n".join([*(f"// {line}" for line in _launch(launch, b)), print_kernel(b.kernel, CUDA)])


def _launch(launch: Launch, b: Built) -> list[str]:
    blocks = "as many as the chip holds, tiles" if launch.persistent else "one per tile, tiles"
    lines = [f"blocks: {blocks}: {Printer(CUDA, b.kernel).expr(launch.tiles)}"]
    lines += [f"threads: {launch.threads}, bytes of shared memory: {launch.shared_bytes}, counters: {launch.counters}"]
    for m in launch.maps:
        box, extents = (" x ".join(str(n) for n in sizes) for sizes in (m.box, m.extents))
        lines.append(f"map {m.name}: boxes of {box} of {m.buffer.name} as {extents}{', rounded' if m.rounds else ''}")
    return lines
