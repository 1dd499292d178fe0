"""Convolutions and pooling against PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg.errors import GraphError

torch = pytest.importorskip("torch")
F = torch.nn.functional
RNG = np.random.default_rng(11)


def value(result: te.Array, **arrays: Any) -> Any:
    """The interpreter's value of one tensor."""
    (found,) = te.interpret(te.graph("g", out=result), arrays).values()
    return found


def close(found: Any, wanted: Any) -> None:
    assert found.shape == tuple(wanted.shape)
    np.testing.assert_allclose(found, np.asarray(wanted), rtol=1e-9, atol=1e-11)


def tensor(a: Any) -> Any:
    return torch.from_numpy(np.ascontiguousarray(a))


CONVS: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 11), (5, 3, 3), {}),
    ((1, 4, 13), (6, 2, 5), {"stride": 3, "padding": 4, "dilation": 2, "groups": 2}),
    ((2, 3, 7, 5), (4, 3, 3, 2), {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2)}),
    ((2, 6, 5, 7), (6, 1, 3, 3), {"padding": 1, "groups": 6}),
    ((1, 3, 5, 7), (6, 1, 3, 1), {"padding": 2, "groups": 3, "stride": 2}),
    ((1, 2, 1, 1), (3, 2, 1, 1), {}),
    ((0, 2, 4, 4), (3, 2, 2, 2), {}),
    ((1, 2, 4, 5, 3), (4, 2, 2, 3, 2), {"stride": (1, 2, 1), "padding": (0, 1, 2), "dilation": (2, 1, 1)}),
]


@pytest.mark.parametrize(("shape", "kernel", "options"), CONVS)
def test_conv(shape: tuple[int, ...], kernel: tuple[int, ...], options: dict[str, Any]) -> None:
    x, w, b = RNG.normal(size=shape), RNG.normal(size=kernel), RNG.normal(size=kernel[0])
    rank = len(shape) - 2
    wanted = getattr(F, f"conv{rank}d")(tensor(x), tensor(w), tensor(b), **options)
    inputs = [te.input(n, s) for n, s in (("x", shape), ("w", kernel), ("b", kernel[:1]))]
    close(value(te.conv(*inputs, **options), x=x, w=w, b=b), wanted)
    named = getattr(te, f"conv{rank}d")
    close(value(named(*inputs[:2], **options), x=x, w=w), wanted - tensor(b).reshape(-1, *(1,) * rank))


def test_conv_pads_each_end_by_its_own_amount() -> None:
    x, w = RNG.normal(size=(2, 3, 5, 6)), RNG.normal(size=(4, 3, 3, 2))
    padded = F.pad(tensor(x), (0, 3, 2, 1))
    found = te.conv(te.input("x", x.shape), te.input("w", w.shape), padding=((2, 1), (0, 3)), stride=2)
    close(value(found, x=x, w=w), F.conv2d(padded, tensor(w), stride=2))


def test_conv_over_symbolic_batch_and_extents() -> None:
    n, h = te.dim("n"), te.dim("h", lo=3)
    x, w = RNG.normal(size=(3, 2, 7, 10)), RNG.normal(size=(4, 2, 3, 3))
    found = te.conv(te.input("x", (n, 2, h, 10)), te.input("w", w.shape), padding=((0, 0), (1, 1)), stride=(1, 2))
    close(value(found, x=x, w=w), F.conv2d(tensor(x), tensor(w), padding=(0, 1), stride=(1, 2)))
    m = te.dim("m", lo=1)
    x = RNG.normal(size=(1, 2, 8, 6))
    found = te.conv(te.input("x", (1, 2, 2 * m, 6)), te.input("w", w.shape), padding=1, stride=(2, 1))
    close(value(found, x=x, w=w), F.conv2d(tensor(x), tensor(w), padding=1, stride=(2, 1)))


def test_conv_of_integers_is_exact() -> None:
    x, w = RNG.integers(-128, 127, (1, 2, 6)), RNG.integers(-128, 127, (3, 2, 3))
    found = value(te.conv(te.input("x", x.shape, "i64"), te.input("w", w.shape, "i64"), padding=1), x=x, w=w)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, F.conv1d(tensor(x), tensor(w), padding=1))


TRANSPOSED: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 7), (3, 4, 3), {}),
    ((2, 3, 7), (3, 4, 5), {"stride": 3, "padding": 2, "output_padding": 2}),
    ((1, 4, 5), (4, 3, 3), {"stride": 2, "dilation": 3, "padding": 1, "groups": 2, "output_padding": 1}),
    ((2, 4, 3, 5), (4, 1, 3, 2), {"stride": (2, 1), "padding": (1, 0), "groups": 4}),
    ((1, 2, 3, 2), (2, 3, 4, 4), {"stride": 2, "padding": 1}),
    ((1, 4, 1, 3), (4, 2, 1, 1), {"groups": 4}),
    ((1, 2, 3, 2, 2), (2, 2, 2, 3, 1), {"stride": (1, 2, 3), "output_padding": (0, 1, 2), "padding": (0, 1, 0)}),
]


@pytest.mark.parametrize(("shape", "kernel", "options"), TRANSPOSED)
def test_conv_transpose(shape: tuple[int, ...], kernel: tuple[int, ...], options: dict[str, Any]) -> None:
    outputs = kernel[1] * options.get("groups", 1)
    x, w, b = RNG.normal(size=shape), RNG.normal(size=kernel), RNG.normal(size=outputs)
    wanted = getattr(F, f"conv_transpose{len(shape) - 2}d")(tensor(x), tensor(w), tensor(b), **options)
    inputs = [te.input(n, a.shape) for n, a in (("x", x), ("w", w), ("b", b))]
    close(value(te.conv_transpose(*inputs, **options), x=x, w=w, b=b), wanted)


def test_conv_transpose_takes_unequal_ends_off_and_symbolic_extents() -> None:
    h = te.dim("h", lo=2)
    x, w = RNG.normal(size=(1, 2, 6)), RNG.normal(size=(2, 3, 4))
    found = te.conv_transpose(te.input("x", (1, 2, h)), te.input("w", w.shape), stride=2, padding=[(0, 3)])
    close(value(found, x=x, w=w), F.conv_transpose1d(tensor(x), tensor(w), stride=2)[..., :-3])


POOLS: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 11), {"kernel": 3}),
    ((1, 2, 7, 5), {"kernel": (3, 2), "stride": (2, 1), "padding": (1, 0)}),
    ((1, 2, 7, 6), {"kernel": 2, "stride": 3, "ceil_mode": True, "padding": 1}),
    ((2, 1, 8, 7), {"kernel": 3, "stride": 2, "ceil_mode": True}),
    ((1, 1, 5, 4, 6), {"kernel": (2, 1, 3), "padding": (1, 0, 1)}),
    ((1, 2, 1, 1), {"kernel": 1}),
    ((1, 1, 3), {"kernel": 1, "stride": 3, "ceil_mode": True}),  # the last window would start at the very end
]


def torch_options(options: dict[str, Any]) -> dict[str, Any]:
    return {"kernel_size" if k == "kernel" else k: v for k, v in options.items()}


@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize(("shape", "options"), POOLS)
def test_max_pool_and_its_positions(shape: tuple[int, ...], options: dict[str, Any], dilation: int) -> None:
    x = RNG.integers(-4, 4, shape).astype(np.float64)  # many ties
    if dilation == 2 and min(shape[2:]) < 5:
        x = np.tile(x, (1, 1, *(5,) * (len(shape) - 2)))
    pool = getattr(F, f"max_pool{len(shape) - 2}d")
    wanted, at = pool(tensor(x), **torch_options(options), dilation=dilation, return_indices=True)
    i = te.input("x", x.shape)
    close(value(te.max_pool(i, **options, dilation=dilation), x=x), wanted)
    np.testing.assert_array_equal(value(te.max_pool_indices(i, **options, dilation=dilation), x=x), at)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize(("shape", "options"), POOLS)
def test_avg_pool(shape: tuple[int, ...], options: dict[str, Any], padded: bool) -> None:
    x = RNG.normal(size=shape)
    pool = getattr(F, f"avg_pool{len(shape) - 2}d")
    wanted = pool(tensor(x), **torch_options(options), count_include_pad=padded)
    close(value(te.avg_pool(te.input("x", shape), **options, count_include_pad=padded), x=x), wanted)


def test_avg_pool_with_dilation_and_a_symbolic_axis() -> None:
    h = te.dim("h", lo=5)
    x = RNG.normal(size=(1, 2, 9))
    wanted = np.stack([x[..., 0:5], x[..., 2:7], x[..., 4:9]]).mean(0)
    close(value(te.avg_pool(te.input("x", (1, 2, h)), 3, 1, dilation=2), x=x), wanted)


@pytest.mark.parametrize("p", [1, 2, 3, 2.5])
def test_lp_pools(p: float) -> None:
    x = RNG.normal(size=(2, 2, 5, 7))
    x[0, 0, :3, :3] = 0
    i = te.input("x", x.shape)
    wanted = (F.avg_pool2d(tensor(np.abs(x) ** p), (2, 3), 2) * 6) ** (1 / p)
    close(value(te.lp_pool(i, p, (2, 3), 2), x=x), wanted)
    close(value(te.global_lp_pool(i, p), x=x), (np.abs(x) ** p).sum((2, 3), keepdims=True) ** (1 / p))


def test_global_pools() -> None:
    h = te.dim("h", lo=1)
    x = RNG.normal(size=(2, 3, 5, 7))
    i = te.input("x", (2, 3, h, 7))
    close(value(te.global_avg_pool(i), x=x), x.mean((2, 3), keepdims=True))
    close(value(te.global_max_pool(i, keepdims=False), x=x), x.max((2, 3)))


@pytest.mark.parametrize("sizes", [1, 3, (5, 7), (7, 4)])
def test_adaptive_pools(sizes: Any) -> None:
    x = RNG.normal(size=(2, 3, 5, 7))
    i = te.input("x", x.shape)
    wanted = sizes if isinstance(sizes, tuple) else (sizes, sizes)
    close(value(te.adaptive_avg_pool(i, sizes), x=x), F.adaptive_avg_pool2d(tensor(x), wanted))
    close(value(te.adaptive_max_pool(i, sizes), x=x), F.adaptive_max_pool2d(tensor(x), wanted))


X, W = te.input("x", (2, 3, 8)), te.input("w", (4, 3, 3))


@pytest.mark.parametrize(
    ("build", "what", "mend"),
    [
        (lambda: te.conv(X, te.input("w", (4, 3))), "'w' has 2 axes where 3 are expected", "check the order of the"),
        (lambda: te.conv2d(X, W), "'x' has 3 axes where 4 are expected", "check the order of the operands"),
        (lambda: te.conv(X, te.input("w", (4, 2, 3))), "'w' takes 2 channels in each of 1 groups", "give w[O, C/gro"),
        (lambda: te.conv(X, W, te.input("b", (3,))), "'b' has 3 elements where 4 are expected", "check the shapes"),
        (lambda: te.conv(X, W, groups=0), "0 groups", "give a whole number from 1"),
        (
            lambda: te.conv(X, te.input("w", (4, 1, 3)), groups=3),
            "the 4 output channels of 'w' do not split into 3 groups",
            "give a fixed number of channels",
        ),
        (lambda: te.conv(X, W, stride=0), "the stride 0 of 1 axis", "give a whole number from 1"),
        (lambda: te.conv(X, W, stride=(1, 1)), "the stride (1, 1) of 1 axis", "give a whole number from 1"),
        (lambda: te.conv(X, W, dilation=2.5), "the dilation 2.5 of 1 axis", "give a whole number from 1"),  # type: ignore[arg-type]
        (lambda: te.conv(X, W, padding=-1), "the padding -1 of 1 axis", "give a whole number from 0"),
        (lambda: te.conv(X, W, padding="same"), "the padding 'same' of 1 axis", "give a whole number from 0"),  # type: ignore[arg-type]
        (lambda: te.conv(X, W, padding=[(1, 2, 3)]), "the padding [(1, 2, 3)] of 1 axis", "give a"),  # type: ignore[list-item]
        (lambda: te.conv(X, W, dilation=4), "a kernel of 3 points, 4 apart, is longer than the axis of 8", "pad the"),
        (
            lambda: te.conv(te.input("x", (2, 3, te.dim("h", lo=3))), W, stride=2),
            "an axis of symbolic extent with stride 2: (h - 3) / 2 is no sum of dimensions",
            "fix the extent, or write it as a multiple of the stride: (2 * n)",
        ),
        (
            lambda: te.conv_transpose(X, te.input("w", (3, 2, 3)), padding=6),
            "the padding (6, 6) takes more off an axis than it has",
            "take off at most",
        ),
        (lambda: te.conv_transpose(X, W), "the first axis of 'w' has 4 elements where 3 are", "check the shapes"),
        (
            lambda: te.conv_transpose(X, te.input("w", (3, 2, 3)), groups=2),
            "the 3 channels of 'x' do not split into 2 groups",
            "give a fixed number of channels",
        ),
        (lambda: te.max_pool(X, 9), "a kernel of 9 points, 1 apart, is longer than the axis of 8", "pad the axis"),
        (lambda: te.max_pool(te.input("x", (2, 3)), 2), "'x' has 2 axes where at least 3 are", "check the order"),
        (lambda: te.avg_pool(te.input("x", (2, 3, 8), "i32"), 2), "a mean or norm of 'x', whose elem", "convert them"),
        (lambda: te.lp_pool(X, 0, 2), "the power 0 of a norm", "give a finite number above 0"),
        (lambda: te.lp_pool(X, math.nan, 2), "the power nan of a norm", "give a finite number above 0"),
        (lambda: te.adaptive_avg_pool(X, 0), "the output size 0 of 1 axis", "give a whole number from 1"),
    ],
)
def test_errors(build: Callable[[], te.Array], what: str, mend: str) -> None:
    with pytest.raises(GraphError) as caught:
        build()
    assert caught.value.what.startswith(what)
    assert caught.value.mend.startswith(mend)
    assert "test_library_conv.py:" in caught.value.where
