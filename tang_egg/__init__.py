"""tang_egg: derives fast kernels from tensor mathematics.

    import tang_egg as te

    seq = te.dim("seq", lo=1)
    q, k, v = (te.input(n, (seq, 64)) for n in ("q", "k", "v"))
    g = te.graph("attention", te.attention(q, k, v, causal=True))

Index notation is in `tang_egg.notation`, compositions in `tang_egg.library` and `tang_egg.layers`, the text form in
`tang_egg.text`. The compiler itself is imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tang_egg import library
from tang_egg.affine import Affine, Dim, Index
from tang_egg.assemble import graph
from tang_egg.errors import TangError
from tang_egg.expression import (
    Expression,
    atan2,
    bitcast,
    cast,
    constant,
    cos,
    eq,
    erf,
    exp,
    floor,
    gelu,
    gelu_tanh,
    log,
    maximum,
    minimum,
    ne,
    recip,
    relu,
    rsqrt,
    select,
    sigmoid,
    silu,
    sin,
    softplus,
    sqrt,
    tanh,
    value,
)
from tang_egg.expression import (
    absolute as abs,
)
from tang_egg.interpret import interpret  # here, since the module of that name would hide the function
from tang_egg.ir import Graph
from tang_egg.layers import attention, geglu, glu, merge_heads, mlp, project_heads, swiglu
from tang_egg.layers_attention import alibi_bias, alibi_slopes, grouped_attention, paged_attention
from tang_egg.layers_moe import moe, route
from tang_egg.layers_recurrent import gru_cell, lstm_cell, rnn_cell
from tang_egg.layers_rotary import rotary, rotary_tables
from tang_egg.layers_sequence import gru, lstm, rnn
from tang_egg.library import (
    add,
    embedding,
    embedding_sum,
    gated_scan,
    gram,
    layer_norm,
    linear,
    log_softmax,
    matmul,
    mean,
    pointwise,
    rms_norm,
    softmax,
    variance,
)
from tang_egg.library_conv import conv, conv1d, conv2d, conv3d, conv_transpose
from tang_egg.library_einsum import einsum, kron, outer, tensordot, trace
from tang_egg.library_embedding import embedding_bag
from tang_egg.library_gguf import dequantize, linear_quantized
from tang_egg.library_loss import cross_entropy
from tang_egg.library_norm import batch_norm, group_norm, instance_norm
from tang_egg.library_pool import (
    adaptive_avg_pool,
    adaptive_max_pool,
    avg_pool,
    global_avg_pool,
    global_lp_pool,
    global_max_pool,
    lp_pool,
    max_pool,
    max_pool_indices,
)
from tang_egg.library_quant import dequantize_int4, dequantize_int8
from tang_egg.library_scan import cumulative_prod, cumulative_sum
from tang_egg.library_sort import argsort, ranks, sort, top_k
from tang_egg.library_spectral import dft, mel_filterbank, power_spectrum, stft
from tang_egg.notation import (
    Array,
    all,
    any,
    argmax,
    argmin,
    dim,
    holds,
    index,
    indices,
    input,
    logsumexp,
    max,
    min,
    prod,
    reduce,
    scan,
    size,
    sum,
    tensor,
)

if TYPE_CHECKING:
    from tang_egg.artefact import load
    from tang_egg.budget import ErrorBudget
    from tang_egg.content import content_hash
    from tang_egg.importers.onnx import from_onnx
    from tang_egg.importers.torch import from_torch
    from tang_egg.model import Model
    from tang_egg.pipeline import optimize
    from tang_egg.pipeline_calls import compile
    from tang_egg.pipeline_compiled import Compiled
    from tang_egg.pipeline_shard import compile_sharded, shard
    from tang_egg.precision import Order, Plan
    from tang_egg.ranges import overflows
    from tang_egg.report_why import why_not
    from tang_egg.text import parse_graph, print_graph
    from tang_egg.tracing import from_function
    from tang_egg.tune_types import tune_precision
    from tang_egg.verify_graph import verify_graph as verify

__version__ = "0.1.0"

_LATER = {
    "ErrorBudget": "tang_egg.budget",
    "Model": "tang_egg.model",
    "Order": "tang_egg.precision",
    "Plan": "tang_egg.precision",
    "compile": "tang_egg.pipeline_calls",
    "compile_sharded": "tang_egg.pipeline_shard",
    "content_hash": "tang_egg.content",
    "from_function": "tang_egg.tracing",
    "from_onnx": "tang_egg.importers.onnx",
    "from_torch": "tang_egg.importers.torch",
    "load": "tang_egg.artefact",
    "overflows": "tang_egg.ranges",
    "shard": "tang_egg.pipeline_shard",
    "Compiled": "tang_egg.pipeline_compiled",
    "optimize": "tang_egg.pipeline",
    "parse_graph": "tang_egg.text",
    "print_graph": "tang_egg.text",
    "tune_precision": "tang_egg.tune_types",
    "why_not": "tang_egg.report_why",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    if name == "verify":  # a module that can be called, whichever of the two is asked for first
        return import_module("tang_egg.verify")
    raise AttributeError(f"module 'tang_egg' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "Affine", "Array", "Compiled", "Dim", "ErrorBudget", "Expression", "Graph", "Index", "Model", "Order", "Plan",
    "TangError", "abs", "adaptive_avg_pool", "adaptive_max_pool", "add", "alibi_bias", "alibi_slopes", "all", "any",
    "argmax", "argmin", "argsort", "atan2", "attention", "avg_pool", "batch_norm", "bitcast", "cast", "compile",
    "compile_sharded", "constant", "content_hash", "conv", "conv1d", "conv2d", "conv3d", "conv_transpose", "cos",
    "cross_entropy", "cumulative_prod", "cumulative_sum", "dequantize", "dequantize_int4", "dequantize_int8", "dft",
    "dim", "einsum", "embedding", "embedding_bag", "embedding_sum", "eq", "erf", "exp", "floor", "from_function",
    "from_onnx", "from_torch", "gated_scan", "geglu", "gelu", "gelu_tanh", "global_avg_pool", "global_lp_pool",
    "global_max_pool", "glu", "gram", "graph", "group_norm", "grouped_attention", "gru", "gru_cell", "holds",
    "index", "indices", "input", "instance_norm", "interpret", "kron", "layer_norm", "library", "linear",
    "linear_quantized", "load", "log", "log_softmax", "logsumexp", "lp_pool", "lstm", "lstm_cell", "matmul", "max",
    "max_pool", "max_pool_indices", "maximum", "mean", "mel_filterbank", "merge_heads", "min", "minimum", "mlp",
    "moe", "ne", "optimize", "outer", "overflows", "paged_attention", "parse_graph", "pointwise", "power_spectrum",
    "print_graph", "prod", "project_heads", "ranks", "recip", "reduce", "relu", "rms_norm", "rnn",
    "rnn_cell", "rotary", "rotary_tables", "route", "rsqrt", "scan", "select", "shard", "sigmoid", "silu", "sin",
    "size", "softmax", "softplus", "sort", "sqrt", "stft", "sum", "swiglu", "tanh", "tensor", "tensordot", "top_k",
    "trace", "tune_precision", "value", "variance", "verify",
    "why_not",
]  # fmt: skip
