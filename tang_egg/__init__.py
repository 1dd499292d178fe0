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
from tang_egg.layers import attention, merge_heads, mlp, project_heads, swiglu
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
    from tang_egg.pipeline import Compiled, optimize
    from tang_egg.text import parse_graph, print_graph

__version__ = "0.1.0"

_LATER = {
    "Compiled": "tang_egg.pipeline",
    "optimize": "tang_egg.pipeline",
    "parse_graph": "tang_egg.text",
    "print_graph": "tang_egg.text",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'tang_egg' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "Affine", "Array", "Compiled", "Dim", "Expression", "Graph", "Index", "TangError", "abs", "add", "all", "any",
    "argmax", "argmin", "atan2", "attention", "bitcast", "cast", "constant", "cos", "dim", "embedding",
    "embedding_sum", "eq", "erf", "exp", "floor", "gated_scan", "gelu", "gelu_tanh", "gram", "graph", "holds",
    "index", "indices", "input", "interpret", "layer_norm", "library", "linear", "log", "log_softmax", "logsumexp",
    "matmul", "max", "maximum", "mean", "merge_heads", "min", "minimum", "mlp", "ne", "optimize", "parse_graph",
    "pointwise", "print_graph", "prod", "project_heads", "recip", "reduce", "relu", "rms_norm", "rsqrt", "scan",
    "select", "sigmoid", "silu", "sin", "size", "softmax", "softplus", "sqrt", "sum", "swiglu", "tanh", "tensor",
    "value", "variance",
]  # fmt: skip
