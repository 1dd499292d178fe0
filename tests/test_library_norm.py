"""Norms over channels, masked log-softmax and the loss of a classifier, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tests.library_values import close, declared, refused, value

torch = pytest.importorskip("torch")
F = torch.nn.functional
RNG = np.random.default_rng(12)


def tensor(a: Any) -> Any:
    return torch.from_numpy(np.ascontiguousarray(a))


def test_masked_log_softmax() -> None:
    x, live = RNG.normal(size=(4, 7)), RNG.random((4, 7)) < 0.6
    live[1], live[2] = False, True
    found = value(te.log_softmax(*declared(x=x), where=declared(live=live)[0]), x=x, live=live)
    with np.errstate(all="ignore"):
        wanted = F.log_softmax(tensor(np.where(live, x, -np.inf)), -1).numpy()
    wanted[1] = -np.inf
    close(found, wanted)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_norms_over_trailing_axes(axes: int) -> None:
    x = RNG.normal(size=(3, 5, 2, 7))
    shape = x.shape[-axes:]
    g, b = RNG.normal(size=shape), RNG.normal(size=shape)
    i, gain, bias = declared(x=x, g=g, b=b)
    wanted = F.layer_norm(tensor(x), shape, tensor(g), tensor(b), 0.1)
    close(value(te.layer_norm(i, gain, bias, 0.1, axes), x=x, g=g, b=b), wanted)
    close(value(te.rms_norm(i, gain, 0.1, axes), x=x, g=g), F.rms_norm(tensor(x), shape, tensor(g), 0.1))


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("spatial", [(), (5,), (3, 1)])
def test_group_norm(groups: int, spatial: tuple[int, ...]) -> None:
    x, g, b = RNG.normal(size=(3, 6, *spatial)), RNG.normal(size=6), RNG.normal(size=6)
    i, gain, bias = declared(x=x, g=g, b=b)
    wanted = F.group_norm(tensor(x), groups, tensor(g), tensor(b), 0.01)
    close(value(te.group_norm(i, groups, gain, bias, 0.01), x=x, g=g, b=b), wanted)


def test_instance_and_batch_norm_over_a_symbolic_extent() -> None:
    n, h = te.dim("n"), te.dim("h", lo=1)
    x, g, b, m, v = RNG.normal(size=(2, 3, 5, 7)), *(RNG.normal(size=3) for _ in "gbm"), RNG.random(3)
    i, gain, bias, mean, var = te.input("x", (n, 3, h, 7)), *declared(g=g, b=b, m=m, v=v)
    close(
        value(te.instance_norm(i, gain, bias), x=x, g=g, b=b),
        F.instance_norm(tensor(x), None, None, tensor(g), tensor(b)),
    )
    wanted = F.batch_norm(tensor(x), tensor(m), tensor(v), tensor(g), tensor(b), eps=0.1)
    close(value(te.batch_norm(i, mean, var, gain, bias, 0.1), x=x, g=g, b=b, m=m, v=v), wanted)
    close(value(te.batch_norm(i, mean, var), x=x, m=m, v=v), F.batch_norm(tensor(x), tensor(m), tensor(v)))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(5, 7), (2, 7, 3)])
def test_cross_entropy(shape: tuple[int, ...], weighted: bool, smoothing: float, reduction: str) -> None:
    x, w = RNG.normal(size=shape), RNG.random(7)
    y = RNG.integers(0, 7, (shape[0], *shape[2:]))
    y.flat[1] = -100
    arrays = {"x": x, "y": y} | ({"w": w} if weighted else {})
    logits, labels, *weight = declared(**arrays)
    loss = te.cross_entropy(
        logits, labels, axis=1, weight=weight[0] if weighted else None, ignore_index=-100,
        label_smoothing=smoothing, reduction=reduction,
    )  # fmt: skip
    wanted = F.cross_entropy(
        tensor(x), tensor(y), tensor(w) if weighted else None, label_smoothing=smoothing, reduction=reduction
    )
    close(value(loss, **arrays), wanted)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_cross_entropy_of_shares(reduction: str) -> None:
    x, w, p = RNG.normal(size=(5, 7)), RNG.random(7), RNG.random((5, 7))
    logits, shares, weight = declared(x=x, p=p, w=w)
    loss = te.cross_entropy(logits, shares, weight=weight, label_smoothing=0.1, reduction=reduction)
    wanted = F.cross_entropy(tensor(x), tensor(p), tensor(w), label_smoothing=0.1, reduction=reduction)
    close(value(loss, x=x, p=p, w=w), wanted)


def test_cross_entropy_of_nothing_is_nan_and_of_one_row_a_number() -> None:
    x, y = RNG.normal(size=(3, 4)), np.full(3, -1, np.int32)
    assert np.isnan(value(te.cross_entropy(*declared(x=x, y=y), ignore_index=-1), x=x, y=y))
    assert value(te.cross_entropy(*declared(x=x, y=y), ignore_index=-1, reduction="sum"), x=x, y=y) == 0
    row, label = x[0], np.array(2)
    wanted = F.cross_entropy(tensor(row), torch.tensor(2))
    close(value(te.cross_entropy(te.input("x", (4,)), te.input("y", (), "i64")), x=row, y=label), wanted)


X, Y = te.input("x", (3, 6)), te.input("y", (3,), "i32")


@pytest.mark.parametrize(
    ("build", "what", "mend"),
    [
        (lambda: te.layer_norm(X, axes=3), "the last 3 axes of 'x', which has 2", "give a number from 1 to 2"),
        (lambda: te.rms_norm(X, axes=0), "the last 0 axes of 'x', which has 2", "give a number from 1 to 2"),
        (lambda: te.group_norm(X, 4), "the 6 channels of 'x' do not split into 4 groups", "give a fixed number"),
        (lambda: te.group_norm(X, 0), "0 groups", "give a whole number from 1"),
        (lambda: te.group_norm(X, 2, te.input("g", (5,))), "'g' has 5 elements where 6 are", "check the shapes"),
        (lambda: te.batch_norm(X, X, X), "'x' has 2 axes where 1 are expected", "check the order of the operands"),
        (lambda: te.instance_norm(X), "'x' has 2 axes where at least 3 are expected", "check the order"),
        (lambda: te.cross_entropy(X, Y, reduction="avg"), "unknown reduction 'avg'", "use one of mean, sum, none"),
        (lambda: te.cross_entropy(X, Y, label_smoothing=2), "a label smoothing of 2", "give a number from 0 to 1"),
        (lambda: te.cross_entropy(X, te.input("b", (3,), "bool")), "the labels 'b' are bool", "give integers"),
        (lambda: te.cross_entropy(X, te.input("y", (4,), "i32")), "an axis of 'y' has 4 elements", "check the shapes"),
        (lambda: te.cross_entropy(X, X, ignore_index=1), "an ignored class beside labels", "give integer labels"),
        (lambda: te.cross_entropy(X, Y, weight=te.input("w", (3,))), "'w' has 3 elements where 6 are", "check the sh"),
    ],
)
def test_errors(build: Callable[[], te.Array], what: str, mend: str) -> None:
    refused(build, what, mend, Path(__file__).name)
