"""Calls of operators of ATen: names, tensors of odd shapes, types and special values, and other arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

Case = tuple[Any, ...]
NAN, INF = float("nan"), float("inf")


def real(*shape: int, kind: Any = None, seed: int = 0) -> Any:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape)).to(kind or torch.float32)


def whole(*shape: int, low: int = -9, high: int = 10, kind: Any = None, seed: int = 0) -> Any:
    return torch.from_numpy(np.random.default_rng(seed).integers(low, high, shape)).to(kind or torch.int64)


def bits(*shape: int, seed: int = 0) -> Any:
    return torch.from_numpy(np.random.default_rng(seed).random(shape) < 0.5)


X = real(3, 5, 7)
Y = real(5, 1, seed=1)
POSITIVE = X.abs() + 0.1
INSIDE = torch.tanh(X)
SPECIAL = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1.5, INF, -INF, NAN, 1e-8, -3e4, 7.0])
W, J = whole(3, 5, 7), whole(5, 1, low=1, seed=1)
U = whole(11, low=0, high=200, kind=torch.uint8)
B, C = bits(3, 5, 7), bits(5, 1, seed=1)
HALF, BRAIN, DOUBLE = real(3, 5, kind=torch.float16), real(3, 5, kind=torch.bfloat16), real(3, 5, kind=torch.float64)
ONE = real()
EMPTY = real(0, 4)

UNARY_ANY = """abs neg sign sgn square exp sin cos tanh erf exp2 expm1 sigmoid silu relu gelu relu6 hardswish
hardsigmoid log_sigmoid mish selu softplus elu celu leaky_relu hardtanh hardshrink softshrink floor ceil trunc round
sinh cosh asinh atan isnan isinf isfinite isposinf isneginf signbit logical_not deg2rad rad2deg frac tan""".split()
UNARY_POSITIVE = "log sqrt rsqrt reciprocal log2 log10 log1p".split()
UNARY_INSIDE = "asin acos atanh log1p".split()
BINARY = """add.Tensor sub.Tensor mul.Tensor maximum minimum fmax fmin lt.Tensor le.Tensor gt.Tensor ge.Tensor eq.Tensor
ne.Tensor remainder.Tensor fmod.Tensor atan2 hypot logaddexp div.Tensor copysign.Tensor""".split()
INTEGERS = """add.Tensor sub.Tensor mul.Tensor maximum minimum remainder.Tensor fmod.Tensor floor_divide div.Tensor
lt.Tensor eq.Tensor ne.Tensor bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor""".split()


def pointwise() -> list[Case]:
    found: list[Case] = [(n, x) for n in UNARY_ANY for x in (X, SPECIAL, ONE)]
    found += [(n, POSITIVE) for n in UNARY_POSITIVE] + [(n, SPECIAL) for n in UNARY_POSITIVE]
    found += [(n, INSIDE) for n in UNARY_INSIDE] + [("acosh", POSITIVE + 1.0)]
    found += [(n, X, Y) for n in BINARY] + [(n, SPECIAL[:, None], SPECIAL) for n in BINARY if n not in
                                           ("atan2", "remainder.Tensor", "fmod.Tensor")]  # fmt: skip
    found += [(n, W, J) for n in INTEGERS] + [(n, W, J.to(torch.int32)) for n in INTEGERS[:5]]
    found += [(n, W) for n in ("abs", "neg", "sign", "bitwise_not", "floor", "logical_not", "isnan")]
    found += [(n, U) for n in ("abs", "sign", "bitwise_not", "square")]
    found += [(n, B, C) for n in ("logical_and", "logical_or", "logical_xor", "bitwise_and.Tensor", "mul.Tensor",
                                  "add.Tensor", "eq.Tensor", "lt.Tensor", "maximum")]  # fmt: skip
    found += [(n, W, X) for n in ("add.Tensor", "mul.Tensor", "lt.Tensor", "div.Tensor")]
    found += [(n, HALF, X[:, :, 0]) for n in ("add.Tensor", "mul.Tensor")] + [("exp", HALF), ("exp", BRAIN)]
    found += [("add.Tensor", BRAIN, 1.5), ("mul.Tensor", DOUBLE, X[:, :, 0]), ("exp", DOUBLE), ("exp", W)]
    found += [("add.Tensor", X, ONE.double()), ("add.Tensor", W, ONE), ("lt.Tensor", HALF, torch.tensor(0.1))]
    found += [("add.Tensor", W, 2.5), ("mul.Tensor", B, 3), ("add.Tensor", U, 300 - 256), ("gt.Scalar", X, 0.1)]
    found += [("lt.Scalar", W, 0.5), ("eq.Scalar", B, 1), ("sub.Tensor", X, Y, {"alpha": 2}), ("rsub.Scalar", X, 3.0)]
    found += [("add.Tensor", X, Y, {"alpha": -0.5}), ("div.Tensor", X, 3.0), ("div.Scalar", W, 4)]
    found += [("div.Tensor_mode", a, b, {"rounding_mode": m}) for m in ("floor", "trunc", None)
              for a, b in ((W, J), (X, Y), (X, 0.25))]  # fmt: skip
    found += [("remainder.Scalar", X, 1.0), ("remainder.Scalar", X, -0.7), ("fmod.Scalar", X, 0.3)]
    found += [("remainder.Scalar", W, -3), ("fmod.Scalar", W, 3), ("floor_divide", X, Y)]
    found += [("clamp", X, -0.5, 0.5), ("clamp", W, 0), ("clamp", X, None, 0.2), ("clamp.Tensor", X, Y, Y + 1)]
    found += [("clamp_min", X, 0.1), ("clamp_max", W, 2), ("clamp", W, -1.5, 2.5), ("clamp", SPECIAL, -1.0, 1.0)]
    found += [("where.self", B, X, Y), ("where.self", B, W, X), ("where.ScalarOther", B, X, 0.0),
              ("masked_fill.Scalar", X, B, -INF), ("masked_fill.Tensor", W, B, torch.tensor(3))]  # fmt: skip
    found += [("bitwise_left_shift.Tensor", W, whole(7, low=0, high=5)), ("bitwise_and.Scalar", W, 6)]
    found += [("bitwise_right_shift.Tensor", W, whole(7, low=0, high=5)), ("__rshift__.Scalar", W, 1)]
    found += [("nan_to_num", SPECIAL), ("nan_to_num", SPECIAL, 1.0, 2.0, -2.0), ("nan_to_num", W)]
    found += [("pow.Tensor_Scalar", X, p) for p in (0, 1, 2, 3, -1, -2)] + [("pow.Tensor_Scalar", POSITIVE, p) for p in
              (0.5, -0.5, 1.7, -0.3, 2.5)] + [("pow.Tensor_Scalar", X, 0.5), ("pow.Tensor_Scalar", W, 2)]  # fmt: skip
    found += [("pow.Tensor_Tensor", POSITIVE, Y), ("pow.Tensor_Tensor", X, torch.round(Y * 2)), ("pow.Scalar", 2.0, X),
              ("pow.Tensor_Tensor", whole(4, 3), whole(3, low=0, high=4))]  # fmt: skip
    found += [("lerp.Scalar", X, Y, 0.3), ("lerp.Tensor", X, Y, POSITIVE), ("addcmul", X, Y, X, {"value": 0.5})]
    found += [("addcdiv", X, Y, POSITIVE, {"value": 2}), ("xlogy.Tensor", X, POSITIVE), ("heaviside", X, Y)]
    found += [("gelu", X, {"approximate": "tanh"}), ("elu", X, 0.7), ("softplus", X, 2.0, 1.0), ("celu", X, 0.5)]
    found += [("leaky_relu", X, 0.2), ("prelu", X, real(5)), ("_prelu_kernel", X, real(1, 5, 1)), ("glu", real(3, 8))]
    found += [
        ("threshold", X, 0.1, 7.0),
        ("hardtanh", X, -0.3, 0.4),
        ("dropout", X, 0.5, False),
        ("add.Tensor", EMPTY, 1),
    ]
    return found


def reductions() -> list[Case]:
    found: list[Case] = []
    for name in ("sum.dim_IntList", "mean.dim", "amax", "amin", "logsumexp", "any.dims", "all.dims"):
        found += [(name, X, [1]), (name, X, [0, -1], True), (name, X, [0, 1, 2])]
    found += [
        ("sum", X),
        ("sum", W),
        ("sum", B),
        ("mean", X),
        ("prod", X),
        ("prod.dim_int", X, 1),
        ("max", X),
        ("min", W),
    ]
    found += [("sum.dim_IntList", X, None), ("sum.dim_IntList", X, [], True), ("sum.dim_IntList", ONE, [0]), ("max", B)]
    found += [
        ("sum.dim_IntList", W.to(torch.int32), [1]),
        ("mean.dim", HALF, [1]),
        ("mean.dim", X, [1], {"dtype": torch.float64}),
    ]
    found += [
        (f"{n}.dim", x, d, k) for n in ("max", "min") for x, d, k in ((X, 1, False), (W, -1, True), (B, 0, False))
    ]
    found += [("argmax", X), ("argmax", X, 1), ("argmin", W, 2, True), ("argmax", SPECIAL), ("argmax", W)]
    found += [
        ("amax", SPECIAL, [0]),
        ("amin", SPECIAL, [0]),
        ("any", B),
        ("all.dim", B, 1),
        ("any.dim", X, 1, True),
        ("all", W),
    ]
    found += [("aminmax", X, {"dim": 1}), ("aminmax", W, {}), ("any", U), ("all.dim", U.reshape(1, 11), 1)]
    for name in ("var.correction", "std.correction", "var_mean.correction", "std_mean.correction"):
        found += [
            (name, X, [1]),
            (name, X, None, {"correction": 0}),
            (name, X, [0, 2], {"correction": 2, "keepdim": True}),
        ]
    found += [
        ("var.dim", X, [1], False),
        ("std.dim", X, [1]),
        ("var", X),
        ("var.correction", real(4, 1), [1], {"correction": 0}),
    ]
    found += [("linalg_vector_norm", X, p, [1]) for p in (2, 1, 0, INF, -INF)] + [("linalg_vector_norm", X)]
    found += [
        (n, x, d, False)
        for n in ("_softmax", "_log_softmax")
        for x, d in ((X, -1), (X, 0), (real(3, 1), 1), (DOUBLE, 1))
    ]
    found += [
        ("softmax.int", X, 1),
        ("softmax.int", X, 1, torch.float64),
        ("log_softmax.int", BRAIN, 0),
        ("softmax.int", ONE, 0),
    ]
    masked = X.masked_fill(B, -INF)
    masked[0, 0] = -INF
    found += [("_safe_softmax", masked, -1), ("softmax.int", masked[1:], -1), ("logsumexp", masked, [-1])]
    found += [("cumsum", X, 1), ("cumsum", W, 0), ("cumsum", B, 2), ("cumprod", X, 1), ("cumsum", real(4, 1), 1)]
    found += [("cummax", X, 1), ("cummin", W, 2), ("cummax", torch.tensor([1.0, NAN, 2.0, 3.0]), 0)]
    found += [("sum", EMPTY), ("sum.dim_IntList", EMPTY, [0]), ("mean.dim", EMPTY, [1]), ("prod", EMPTY)]
    return found


def ordering() -> list[Case]:
    ties = whole(3, 13, low=0, high=4)
    found: list[Case] = [("sort.stable", x, {"stable": True, "dim": d, "descending": r})
                         for x, d in ((X, 1), (ties, -1), (SPECIAL, 0), (ONE, 0)) for r in (False, True)]  # fmt: skip
    found += [("sort", X, 2), ("topk", X, 3), ("topk", X, 2, 1, False), ("topk", whole(31, low=-99, high=99), 5)]
    found += [("argsort", X, 1, True), ("kthvalue", X, 3), ("kthvalue", X, 2, 1, True), ("median.dim", ties, 1)]
    return found


def views() -> list[Case]:
    found: list[Case] = [("view", X, [5, 21]), ("view", X, [105]), ("reshape", X, [7, -1]), ("view", X, [3, 5, 1, 7])]
    found += [("expand", Y, [3, 5, 4]), ("expand", Y, [-1, 6]), ("permute", X, [2, 0, 1]), ("transpose.int", X, 0, -1)]
    found += [
        ("t", DOUBLE),
        ("squeeze", real(1, 3, 1)),
        ("squeeze.dim", real(1, 3, 1), 0),
        ("squeeze.dims", real(1, 3, 1), [0, 1]),
    ]
    found += [
        ("unsqueeze", X, -1),
        ("slice.Tensor", X, 1, 1, 4),
        ("slice.Tensor", X, 2, -3, 9),
        ("slice.Tensor", X, 1, 0, 5, 2),
    ]
    found += [
        ("slice.Tensor", X, 1, 4, 2),
        ("slice.Tensor", X, -1, -100, -2, 3),
        ("select.int", X, 1, -2),
        ("select.int", W, 0, 1),
    ]
    found += [
        ("split.Tensor", X, 2, 1),
        ("split_with_sizes", X, [3, 4], 2),
        ("chunk", X, 2, 1),
        ("unbind.int", X, 1),
        ("unbind.int", real(4)),
    ]
    found += [
        ("cat", [X, X * 2], 1),
        ("cat", [W, X], -1),
        ("cat", [real(0), X], 0),
        ("cat", [X]),
        ("cat", [real(3, 1), real(3, 0), real(3, 4)], 1),
    ]
    found += [
        ("stack", [X, X + 1], 1),
        ("stack", [X, X], -1),
        ("stack", [W, X]),
        ("flip", X, [0, 2]),
        ("roll", X, [2, -1], [1, 2]),
        ("roll", X, [3]),
    ]
    found += [
        ("repeat", X, [2, 1, 3]),
        ("repeat", Y, [2, 1, 4]),
        ("repeat_interleave.self_int", X, 2, 1),
        ("repeat_interleave.self_int", DOUBLE, 3),
    ]
    found += [
        ("unfold", X, 2, 3, 2),
        ("diagonal", X, 1, 1, 2),
        ("diagonal", X, -1, 0, 2),
        ("tril", X),
        ("triu", X, 1),
        ("tril", B, -1),
    ]
    found += [
        ("pixel_shuffle", real(2, 8, 3, 5), 2),
        ("pixel_unshuffle", real(2, 3, 4, 6), 2),
        ("channel_shuffle", real(2, 6, 5), 3),
    ]
    found += [
        ("constant_pad_nd", X, [1, 2]),
        ("constant_pad_nd", X, [0, 1, 2, 0], 0.5),
        ("constant_pad_nd", W, [-1, 1], 3),
        ("constant_pad_nd", X, [-1, -2]),
    ]
    found += [
        ("reflection_pad1d", X, [2, 3]),
        ("reflection_pad2d", X, [2, 1, 0, 3]),
        ("replication_pad1d", X, [3, 2]),
        ("replication_pad2d", X, [1, 1, 2, 0]),
    ]
    found += [
        ("pad", X, [2, 1], "circular"),
        ("pad", X, [2, 2], "constant", 1.0),
        ("reflection_pad1d", real(4, 9), [1, 0]),
    ]
    found += [
        ("slice_scatter", X, real(3, 2, 7), 1, 1, 3),
        ("select_scatter", X, real(3, 7), 1, -1),
        ("slice_scatter", X, real(3, 5, 3), 2, -3),
    ]
    found += [
        ("_to_copy", X, {"dtype": d}) for d in (torch.float16, torch.bfloat16, torch.float64, torch.int32, torch.bool)
    ]
    found += [
        ("_to_copy", W, {"dtype": torch.float32}),
        ("_to_copy", B, {"dtype": torch.float32}),
        ("_to_copy", B, {"dtype": torch.int64}),
        ("_to_copy", W, {"dtype": torch.int8}),
    ]
    found += [
        ("view.dtype", X, torch.int32),
        ("clone", X),
        ("copy", X, Y),
        ("movedim.int", X, 0, 2),
        ("view", EMPTY, [4, 0]),
        ("cat", [EMPTY, EMPTY], 0),
    ]
    return found


def creation() -> list[Case]:
    found: list[Case] = [
        ("arange", 7),
        ("arange.start", 2, 9),
        ("arange.start_step", 9, 1, -3),
        ("arange.start_step", 0.0, 1.0, 0.3),
    ]
    found += [
        ("full", [2, 3], 1.5),
        ("full", [2, 3], 4),
        ("full_like", X, 2),
        ("zeros", [3, 1]),
        ("ones_like", W),
        ("zeros_like", B),
        ("eye", 4),
        ("eye.m", 2, 3),
    ]
    found += [
        ("linspace", 0.0, 1.0, 7),
        ("linspace", -2.0, 3.0, 1),
        ("scalar_tensor", 3.5),
        ("new_zeros", X, [2]),
        ("fill.Scalar", X, 3.0),
    ]
    return found


def indexing() -> list[Case]:
    rows, columns = whole(4, low=-3, high=3), whole(2, 4, low=0, high=5, seed=1)
    found: list[Case] = [
        ("index.Tensor", X, [rows]),
        ("index.Tensor", X, [None, columns]),
        ("index.Tensor", X, [rows, columns]),
    ]
    found += [
        ("index.Tensor", X, [rows, None, columns]),
        ("index.Tensor", X, [None, columns, whole(4, low=-7, high=7)]),
        ("index.Tensor", W, [torch.tensor(2)]),
    ]
    found += [
        ("index_select", X, 1, whole(6, low=0, high=5)),
        ("embedding", real(9, 3), columns),
        ("gather", X, 1, whole(3, 2, 7, low=0, high=5)),
        ("gather", X, 2, whole(2, 3, 4, low=0, high=7)),
    ]
    found += [("take", X, whole(4, low=0, high=105)), ("index_select", real(4), 0, torch.tensor(2))]
    distinct = torch.tensor([[0, 2, 1], [3, 1, 4]])
    found += [
        ("scatter.src", X[:, :, 0].clone(), 1, distinct, real(2, 3)),
        ("scatter.value", X[:, :, 0].clone(), 1, distinct, 9.0),
    ]
    found += [
        ("scatter.src", W[:, :, 0].clone(), 1, distinct, whole(3, 4)),
        ("scatter_add", X, 1, whole(3, 6, 7, low=0, high=5), real(3, 6, 7)),
    ]
    found += [
        ("scatter_reduce.two", X, 1, whole(3, 6, 7, low=0, high=5), real(3, 6, 7), r, {"include_self": s})
        for r in ("sum", "prod", "amax", "amin", "mean")
        for s in (True, False)
    ]
    found += [
        ("index_add", X, 1, torch.tensor([0, 3, 0]), real(3, 3, 7)),
        ("index_add", X, 1, torch.tensor([1]), real(3, 1, 7), {"alpha": 2.0}),
        ("index_copy", X, 0, torch.tensor([2, 0]), real(2, 5, 7)),
    ]
    found += [
        ("index_fill.int_Scalar", X, 1, torch.tensor([0, 4]), -1.0),
        ("index_put", X, [torch.tensor([0, 2])], real(2, 5, 7)),
        ("index_put", X, [None, torch.tensor([-1, 2])], real(3, 2, 7)),
    ]
    found += [
        ("index_put", X, [torch.tensor([0, 2]), torch.tensor([1, 1])], real(7)),
        ("index_put", X, [torch.tensor([0, 0]), torch.tensor([1, 1])], real(2, 7), True),
    ]
    found += [
        ("index_put", X, [B], torch.tensor(2.0)),
        ("index_put", X, [torch.tensor(1)], real(5, 7)),
        ("index_put", X, [None, None, torch.tensor([[0, 3], [5, -1]])], real(2, 2)),
    ]
    bags = whole(9, low=0, high=6)
    bag = "_embedding_bag_forward_only"
    found += [(bag, real(6, 4), bags, torch.tensor([0, 3, 3, 5]), False, mode) for mode in (0, 1, 2)]
    found += [(bag, real(6, 4), bags, torch.tensor([0, 4, 9]), False, 0, False, real(9), True)]
    found += [(bag, real(6, 4), bags, torch.tensor([0, 4]), False, 1, False, None, False, 2)]
    return found


def products() -> list[Case]:
    found: list[Case] = [
        ("mm", real(3, 5), real(5, 7)),
        ("bmm", X, real(3, 7, 2)),
        ("addmm", real(7), real(3, 5), real(5, 7)),
        ("mm", real(3, 0), real(0, 2)),
        ("mm", whole(3, 5), whole(5, 2)),
    ]
    found += [
        ("addmm", real(3, 1), real(3, 5), real(5, 7), {"beta": 0.5, "alpha": 2.0}),
        ("addmm", real(7), real(3, 5), real(5, 7), {"beta": 0}),
        ("baddbmm", real(3, 1, 2), X, real(3, 7, 2)),
    ]
    found += [
        ("matmul", X, real(7, 2)),
        ("matmul", real(7), real(3, 7, 2)),
        ("matmul", real(2, 1, 4, 7), real(3, 7, 2)),
        ("matmul", real(4), real(4)),
        ("matmul", X, real(7)),
        ("mv", real(3, 5), real(5)),
        ("dot", real(4), real(4)),
    ]
    found += [
        ("linear", X, real(4, 7), real(4)),
        ("linear", X, real(4, 7)),
        ("linear", real(7), real(4, 7), real(4)),
        ("mm", real(1, 1), real(1, 1)),
        ("outer", real(3), real(4)),
        ("addmv", real(3), real(3, 4), real(4)),
    ]
    found += [
        ("convolution", real(2, 4, 9), real(6, 4, 3), real(6), [2], [1], [1], False, [0], 1),
        ("convolution", real(2, 4, 6, 5), real(4, 1, 3, 3), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 4),
    ]
    found += [
        ("convolution", real(2, 4, 6, 5), real(4, 3, 3, 2), real(6), [2, 1], [1, 0], [1, 2], True, [1, 0], 2),
        (
            "convolution",
            real(1, 2, 4, 5, 6),
            real(3, 2, 2, 3, 2),
            real(3),
            [1, 2, 1],
            [0, 1, 1],
            [2, 1, 1],
            False,
            [0, 0, 0],
            1,
        ),
    ]
    found += [
        ("conv2d.padding", real(1, 2, 6, 5), real(3, 2, 4, 3), None, [1], "same"),
        ("conv1d", real(2, 9), real(3, 2, 2)),
        ("conv2d.padding", real(1, 2, 6, 5), real(3, 2, 2, 3), real(3), [1], "valid"),
        ("conv_transpose1d", real(2, 3, 5), real(3, 2, 4), None, [2], [1]),
    ]
    found += [
        ("max_pool2d_with_indices", real(2, 3, 9, 8), [3, 2], [2, 2], [1, 1]),
        ("max_pool2d", real(3, 9, 8), [2]),
        ("max_pool2d_with_indices", real(1, 2, 7, 7), [3, 3], [2, 2], [0, 0], [2, 2], True),
        ("max_pool1d", real(2, 3, 9), [3], [2], [1]),
    ]
    found += [
        ("avg_pool2d", real(2, 3, 9, 8), [3, 2], [2, 2], [1, 1]),
        ("avg_pool2d", real(2, 3, 9, 8), [3, 2], [2, 2], [1, 1], True, False),
        ("avg_pool1d", real(2, 3, 9), [4], [3]),
        ("avg_pool2d", real(2, 3, 6, 6), [2, 2], [], [0, 0], False, True, 3),
        ("avg_pool3d", real(1, 2, 4, 5, 6), [2, 2, 3]),
    ]
    found += [
        ("adaptive_avg_pool2d", real(2, 3, 7, 5), [3, 2]),
        ("_adaptive_avg_pool2d", real(2, 3, 7, 5), [1, 1]),
        ("adaptive_avg_pool1d", real(2, 3, 7), [3]),
        ("max_pool3d_with_indices", real(1, 2, 4, 5, 6), [2, 2, 2]),
    ]
    return found


def layers() -> list[Case]:
    image = real(2, 6, 5, 4)
    found: list[Case] = [
        ("native_layer_norm", X, [7], real(7), real(7), 1e-5),
        ("native_layer_norm", X, [5, 7], real(5, 7), None, 1e-5),
        ("layer_norm", X, [7], real(7)),
        ("layer_norm", HALF, [5]),
    ]
    found += [
        ("native_group_norm", image, real(6), real(6), 2, 6, 20, 3, 1e-5),
        ("group_norm", image, 2),
        ("rms_norm", X, [7], real(7)),
        ("rms_norm", X, [7], None, 1e-3),
        ("rms_norm", X, [5, 7]),
    ]
    found += [
        (
            "_native_batch_norm_legit_no_training",
            image,
            real(6),
            real(6),
            real(6),
            POSITIVE[0, 0, :6].clone(),
            0.1,
            1e-5,
        ),
        ("batch_norm", image, None, None, real(6), POSITIVE[0, 0, :6].clone(), False, 0.1, 1e-5, False),
    ]
    found += [
        ("instance_norm", image, real(6), real(6), None, None, True, 0.1, 1e-5, False),
        ("_native_batch_norm_legit.no_stats", image, real(6), real(6), True, 0.1, 1e-5),
    ]
    q, k, v = real(2, 4, 5, 8), real(2, 4, 7, 8, seed=1), real(2, 4, 7, 8, seed=2)
    sdpa = "scaled_dot_product_attention"
    keep = bits(5, 7)
    keep[:, 0] = True
    keep[1] = False
    found += [
        (sdpa, q, k, v),
        (sdpa, q, k, v, None, 0.0, True),
        (sdpa, q, k, v, keep),
        (sdpa, q, k, v, real(2, 1, 5, 7)),
        (sdpa, q, k, v, {"scale": 0.3}),
        (sdpa, q[0], k[0], v[0]),
    ]
    found += [
        (sdpa, real(2, 6, 5, 8), k[:, :2], v[:, :2], {"enable_gqa": True}),
        (sdpa, q, k, real(2, 4, 7, 3)),
        ("_scaled_dot_product_flash_attention_for_cpu", q, k, v, 0.0, True),
        ("_scaled_dot_product_flash_attention_for_cpu", q, k, v, {"attn_mask": real(5, 7), "scale": 0.2}),
    ]
    for first in (False, True):
        found += [
            (
                "_transformer_encoder_layer_fwd",
                real(2, 5, 8),
                8,
                2,
                real(24, 8),
                real(24),
                real(8, 8),
                real(8),
                True,
                first,
                1e-5,
                real(8),
                real(8),
                real(8),
                real(8),
                real(12, 8),
                real(12),
                real(8, 12),
                real(8),
            )
        ]
    found += [
        ("upsample_nearest2d", real(1, 2, 3, 4), [6, 8]),
        ("upsample_nearest2d.vec", real(1, 2, 3, 4), None, [2.0, 3.0]),
        ("upsample_nearest1d", real(1, 2, 6), [3]),
        ("_upsample_nearest_exact2d", real(1, 2, 3, 4), [6, 8]),
        ("upsample_nearest1d", real(1, 2, 5), [7]),
    ]
    found += [("upsample_bilinear2d", real(1, 2, 3, 4), [7, 5], c) for c in (False, True)] + [
        ("upsample_bilinear2d.vec", real(1, 2, 3, 4), None, False, [2.0, 2.0]),
        ("upsample_linear1d", real(1, 2, 5), [3], False),
        ("upsample_trilinear3d", real(1, 1, 2, 3, 2), [3, 4, 5], True),
    ]
    g = lambda *s: real(*s, seed=3) * 0.5  # noqa: E731
    lstm = [g(12, 4), g(12, 3), g(12), g(12)]
    found += [
        ("lstm.input", g(5, 2, 4), [g(1, 2, 3), g(1, 2, 3)], lstm, True, 1, 0.0, False, False, False),
        ("lstm.input", g(2, 3, 4), [g(2, 2, 3), g(2, 2, 3)], lstm + lstm, True, 1, 0.0, False, True, True),
    ]
    found += [
        ("gru.input", g(5, 2, 4), g(1, 2, 3), [g(9, 4), g(9, 3), g(9), g(9)], True, 1, 0.0, False, False, False),
        ("rnn_tanh.input", g(3, 2, 4), g(1, 2, 3), [g(3, 4), g(3, 3)], False, 1, 0.0, False, False, False),
    ]
    return found


GROUPS = {"pointwise": pointwise, "reductions": reductions, "ordering": ordering, "views": views, "creation": creation,
          "indexing": indexing, "products": products, "layers": layers}  # fmt: skip
