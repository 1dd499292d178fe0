"""Operators of PyTorch, one by one, against PyTorch on odd shapes, types and special values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg.errors import GraphError

torch = pytest.importorskip("torch")

from tang_egg.importers.torch_table import rows  # noqa: E402
from tests.torch_cases import GROUPS, Case, real  # noqa: E402
from tests.torch_ops import compare, expected, graph_of, overload, tensors_of, widened  # noqa: E402


def split(case: Case) -> tuple[str, list[Any], dict[str, Any]]:
    name, *args = case
    kwargs = args.pop() if args and isinstance(args[-1], dict) else {}
    return name, args, kwargs


def titled(case: Case) -> str:
    name, args, _ = split(case)
    return f"{name}-" + "-".join(f"{str(a.dtype)[6:]}{list(a.shape)}" if hasattr(a, "dtype") else str(a) for a in args)


def tolerance(args: list[Any]) -> float:
    kinds = {str(a.dtype) for a in args if hasattr(a, "dtype")}
    return 2e-2 if "torch.bfloat16" in kinds else 4e-3 if "torch.float16" in kinds else 2e-5


CASES = [(group, n, c) for group, make in GROUPS.items() for n, c in enumerate(make())]


@pytest.mark.parametrize("case", [pytest.param(c, id=f"{g}{n}-{titled(c)[:60]}") for g, n, c in CASES])
def test_an_operator_agrees_with_pytorch(case: Case) -> None:
    name, args, kwargs = split(case)
    target = overload(name)
    graph, arrays = graph_of("op", target, args, kwargs)
    got = te.interpret(graph, widened(graph, arrays))
    wanted = expected(target, args, kwargs)
    assert set(got) <= set(wanted)
    for output, array in got.items():
        compare(array, wanted[output], tolerance(args), f"{titled(case)} {output}")


def test_most_rows_of_the_table_are_tried() -> None:
    tried = {overload(c[0]) for _, _, c in CASES}
    have = {getattr(getattr(torch.ops.aten, n.partition(".")[0], None), n.partition(".")[2], None) for n in rows()}
    assert len(tried & have) > 0.6 * len(have), sorted(map(str, have - tried))


COMPILED = {
    "pointwise": """abs exp cos gelu log1p floor round sign softplus add.Tensor maximum remainder.Tensor lt.Tensor
        where.self nan_to_num pow.Tensor_Tensor floor_divide bitwise_and.Tensor clamp""",
    "reductions": "sum.dim_IntList mean.dim amax argmax var.correction logsumexp _softmax cumsum any.dims",
    "moving": "view permute slice.Tensor cat flip roll tril constant_pad_nd reflection_pad2d unfold sort.stable topk",
    "indexing": "index.Tensor gather scatter.src scatter_add index_put _embedding_bag_forward_only embedding",
    "layers": """addmm bmm convolution max_pool2d_with_indices avg_pool2d native_layer_norm native_group_norm
        scaled_dot_product_attention upsample_bilinear2d""",
}
"""Operators of which the first case is compiled, all of a line as one graph."""


@pytest.mark.slow
@pytest.mark.parametrize("group", COMPILED)
def test_operators_agree_when_they_are_compiled(group: str) -> None:
    outputs: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    wanted: dict[str, Any] = {}
    for name in COMPILED[group].split():
        target, args, kwargs = next((overload(n), *a) for n, *a in map(split, (c for _, _, c in CASES)) if n == name)
        prefix = f"{name.replace('.', '_')}_"
        made, _, given = tensors_of(target, args, kwargs, prefix)
        arrays |= given
        outputs |= made
        wanted |= {f"{prefix}{k}": v for k, v in expected(target, args, kwargs).items()}
    compiled = te.optimize(te.graph(group, **outputs), values="ieee")
    for output, array in compiled.run(**{i.name: arrays[i.name] for i in compiled.graph.inputs}).items():
        compare(array, wanted[output], 1e-4, output)


def refused(name: str, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(GraphError) as caught:
        graph_of("op", overload(name), args, kwargs)
    assert caught.value.mend
    assert "node" in caught.value.where
    return caught.value.what


@pytest.mark.parametrize(
    ("text", "name", "args"),
    [
        ("several values are written where a mask holds", "index_put", (real(3), [real(3) > 0], real(3)[:2])),
        ("4096 elements would be sorted", "sort", (real(4096),)),
        ("writes are looked for at each of", "scatter_add", (real(3000), 0, torch.zeros(3000).long(), real(3000))),
        ("dropout inside attention", "scaled_dot_product_attention", (*(real(1, 2, 3, 4),) * 3, None, 0.5)),
        ("norm of order 3", "linalg_vector_norm", (real(3), 3)),
        ("72 steps would be unrolled", "gru.input", (real(72, 1, 2), real(1, 1, 2), [real(6, 2), real(6, 2)], False, 1,
                                                     0.0, False, False, False)),
        ("not supported", "linalg_qr", (real(3, 3),)),
        ("torch.complex64", "mul.Tensor", (real(3), 1j)),
        ("a median of floats", "median.dim", (real(3), 0)),
        ("rounds unevenly", "upsample_nearest1d", (real(1, 1, 8), [13], 1.7)),
    ],
)  # fmt: skip
def test_what_is_refused_says_why(text: str, name: str, args: tuple[Any, ...]) -> None:
    assert text in refused(name, *args)


def test_random_numbers_are_not_made_up() -> None:
    assert "dropout while training" in refused("native_dropout", real(3), 0.5, True)
    assert "not supported" in refused("bernoulli.p", real(3), 0.5)


def test_numpy_sees_the_memory_of_a_tensor() -> None:
    from tang_egg.importers.torch_export import array_of

    x = real(3, 4)
    assert np.shares_memory(array_of(x), x.numpy())
    assert array_of(x.T).flags.c_contiguous
    assert array_of(x.bfloat16()).dtype == np.uint16
