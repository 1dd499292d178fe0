"""The namespace of traced arrays: functions, element types and constants by the names of the Array API 2023.12.

    from tang_egg import array_api as xp
    y = xp.exp(x) / xp.sum(xp.exp(x), axis=-1, keepdims=True)

`x.__array_namespace__()` of a traced array is this module. What depends on values while it is traced (boolean masks
that are computed, unique, nonzero) does not exist here. Beyond the standard: einsum, softmax, erf, scatters, top_k.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from tang_egg.array_create import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    indices,
    linspace,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from tang_egg.array_elementwise import (
    abs,
    acos,
    acosh,
    add,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    ceil,
    clip,
    copysign,
    cos,
    cosh,
    degrees,
    divide,
    equal,
    erf,
    exp,
    exp2,
    expm1,
    floor,
    floor_divide,
    fmod,
    gelu,
    gelu_tanh,
    greater,
    greater_equal,
    hypot,
    isfinite,
    isinf,
    isnan,
    lerp,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    nan_to_num,
    negative,
    not_equal,
    positive,
    pow,
    radians,
    reciprocal,
    relu,
    remainder,
    round,
    rsqrt,
    sigmoid,
    sign,
    signbit,
    silu,
    sin,
    sinh,
    softplus,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
    trunc,
    truncated_divide,
    where,
)
from tang_egg.array_index import gather_nd, getitem, one_hot, take, take_along_axis
from tang_egg.array_linalg import cross, det, dot, einsum, inv, kron, matmul, outer, tensordot, trace, vecdot
from tang_egg.array_pad import pad
from tang_egg.array_reduce import (
    all,
    any,
    argmax,
    argmin,
    count_nonzero,
    cumulative_prod,
    cumulative_sum,
    diff,
    log_softmax,
    logsumexp,
    max,
    mean,
    min,
    norm,
    prod,
    softmax,
    std,
    sum,
    var,
)
from tang_egg.array_scatter import scatter_elements, scatter_nd
from tang_egg.array_shape import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    concat,
    diagonal,
    expand_dims,
    flip,
    matrix_transpose,
    meshgrid,
    moveaxis,
    permute_dims,
    ravel,
    repeat,
    reshape,
    roll,
    split,
    squeeze,
    stack,
    swapaxes,
    tile,
    transpose,
    tril,
    triu,
    unstack,
)
from tang_egg.array_sort import argsort, median, searchsorted, sort, top_k
from tang_egg.array_types import astype, can_cast, finfo, iinfo, isdtype, result_type
from tang_egg.array_windows import sliding_window_view
from tang_egg.traced import fail

__array_api_version__ = "2023.12"

float16, bfloat16, float32, float64 = "f16", "bf16", "f32", "f64"
int8, int16, int32, int64 = "i8", "i16", "i32", "i64"
uint8, uint16, uint32, uint64 = "u8", "u16", "u32", "u64"
bool = "bool"
e, pi, inf, nan, newaxis = math.e, math.pi, math.inf, math.nan, None

linalg = SimpleNamespace(
    cross=cross, det=det, diagonal=diagonal, inv=inv, matmul=matmul, matrix_transpose=matrix_transpose, outer=outer,
    tensordot=tensordot, trace=trace, vecdot=vecdot, vector_norm=norm, norm=norm,
)  # fmt: skip
"""The functions on matrices, under the names of the extension `linalg`."""

_OF_VALUES = ("argwhere", "flatnonzero", "nonzero", "unique", "unique_all", "unique_counts", "unique_inverse",
              "unique_values")  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _OF_VALUES:
        raise fail(f"the shape of what '{name}' gives depends on values", "keep the shape: where(condition, x, 0)")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


__all__ = [
    "abs", "acos", "acosh", "add", "all", "any", "arange", "argmax", "argmin", "argsort", "asarray", "asin", "asinh",
    "astype", "atan", "atan2", "atanh", "bfloat16", "bitwise_and", "bitwise_invert", "bitwise_left_shift",
    "bitwise_or", "bitwise_right_shift", "bitwise_xor", "bool", "broadcast_arrays", "broadcast_shapes",
    "broadcast_to", "can_cast", "ceil", "clip", "concat", "copysign", "cos", "cosh", "count_nonzero", "cross",
    "cumulative_prod", "cumulative_sum", "degrees", "det", "diagonal", "diff", "divide", "dot", "e", "einsum",
    "empty", "empty_like", "equal", "erf", "exp", "exp2", "expand_dims", "expm1", "eye", "finfo", "flip", "float16",
    "float32", "float64", "floor", "floor_divide", "fmod", "full", "full_like", "gather_nd", "gelu", "gelu_tanh",
    "getitem", "greater", "greater_equal", "hypot", "iinfo", "indices", "inf", "int16", "int32", "int64", "int8",
    "inv", "isdtype", "isfinite", "isinf", "isnan", "kron", "lerp", "less", "less_equal", "linalg", "linspace", "log",
    "log10", "log1p", "log2", "log_softmax", "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor",
    "logsumexp", "matmul", "matrix_transpose", "max", "maximum", "mean", "median", "meshgrid", "min", "minimum",
    "moveaxis", "multiply", "nan", "nan_to_num", "negative", "newaxis", "norm", "not_equal", "one_hot", "ones",
    "ones_like", "outer", "pad", "permute_dims", "pi", "positive", "pow", "prod", "radians", "ravel", "reciprocal",
    "relu", "remainder", "repeat", "reshape", "result_type", "roll", "round", "rsqrt", "scatter_elements",
    "scatter_nd", "searchsorted", "sigmoid", "sign", "signbit", "silu", "sin", "sinh", "sliding_window_view",
    "softmax", "softplus", "sort", "split", "sqrt", "square", "squeeze", "stack", "std", "subtract", "sum",
    "swapaxes", "take", "take_along_axis", "tan", "tanh", "tensordot", "tile", "top_k", "trace", "transpose", "tril",
    "triu", "trunc", "truncated_divide", "uint16", "uint32", "uint64", "uint8", "unstack", "var", "vecdot", "where",
    "zeros", "zeros_like",
]  # fmt: skip
