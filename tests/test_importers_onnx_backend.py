"""The node tests of the package onnx: none may be wrong or fail in another way than by an error that says why."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import Any

import pytest

from tang_egg.errors import TangError
from tang_egg.importers.onnx import load_onnx
from tests.onnx_backend import ROUGH, cases, run, supported
from tests.tree import ROOT

onnx = pytest.importorskip("onnx")

SHARDS = 6

SAMPLE = (
    "test_abs", "test_attention_4d", "test_averagepool_2d_same_upper", "test_basic_conv_with_padding",
    "test_batchnorm_example", "test_clip_example", "test_concat_2d_axis_0", "test_convtranspose_pads",
    "test_cumsum_2d_axis_0", "test_depthtospace_example", "test_dequantizelinear_axis", "test_einsum_inner_prod",
    "test_gather_0", "test_gemm_all_attributes", "test_gru_defaults", "test_layer_normalization_2d_axis1",
    "test_logsoftmax_axis_1", "test_lstm_defaults", "test_maxpool_2d_ceil", "test_pow",
    "test_pow_types_int64_int64", "test_quantizelinear",
    "test_reduce_mean_keepdims_example", "test_resize_upsample_scales_linear", "test_scatter_elements_with_axis",
    "test_slice", "test_top_k", "test_tril_neg", "test_where_example",
)  # fmt: skip


@pytest.fixture(scope="module")
def every() -> dict[str, Any]:
    return {c.name: c for c in cases()}


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_node_test_is_wrong(every: dict[str, Any], shard: int) -> None:
    verdicts = [run(c) for c in list(every.values())[shard::SHARDS]]
    bad = [v for v in verdicts if v.kind not in ("pass", "unsupported")]
    assert not bad, "\n".join(f"{v.name}: {v.kind} {v.reason}" for v in bad)
    counts = Counter(v.kind for v in verdicts if v.typed)
    assert counts["pass"] >= 0.95 * counts.total()


@pytest.mark.parametrize("name", SAMPLE)
def test_compiled_node_tests_pass(every: dict[str, Any], name: str) -> None:
    if name not in every:
        pytest.skip(f"onnx {onnx.__version__} has no such test")
    verdict = run(every[name], "c")
    assert verdict.kind == "pass", verdict.reason


def test_the_comparison_sees_what_is_wrong(every: dict[str, Any]) -> None:
    """A result that is off in value, shape, type or number is no pass."""
    case = every["test_add"]
    case = type(case)(
        **{**vars(case), "data_sets": [(x, [y + 1e-2]) for x, y in [(i, o[0]) for i, o in case.data_sets]]}
    )
    assert run(case).kind == "WRONG"
    other = every["test_add_uint8"] if "test_add_uint8" in every else every["test_not_2d"]
    changed = [(i, [o[0].reshape(-1)]) for i, o in other.data_sets]
    assert "has shape" in run(type(other)(**{**vars(other), "data_sets": changed})).reason
    assert set(ROUGH) == {"f16", "bf16"}


def test_the_page_says_what_the_suite_has(every: dict[str, Any]) -> None:
    text = (ROOT / "docs" / "onnx-operators.md").read_text(encoding="utf-8")
    found = re.search(r"from the node tests of onnx (\S+),", text)
    assert found is not None
    if found[1] != onnx.__version__:
        pytest.skip(f"the page is of onnx {found[1]}")
    counted = re.search(r"\*\*(\d+) of (\d+) tests in supported element types pass \(([\d.]+) %\)", text)
    assert counted is not None
    assert int(counted[2]) == sum(map(supported, every.values()))
    assert float(counted[3]) >= 95
    assert "0 give a wrong result" in text


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Bytes with some of them changed, left out or put in."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at, kind = rng.randrange(len(found)), rng.randrange(4)
        if kind == 0:
            found[at] = rng.choice((0, 1, 127, 128, 255))
        elif kind == 1:
            found[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            del found[at : at + rng.randrange(1, 8)]
        else:
            found[at:at] = rng.randbytes(rng.randrange(1, 8))
    return bytes(found)


NUMBERS = (0, -1, 2, 127, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63))


def rewritten(model: Any, rng: random.Random) -> bytes:
    """A model with a number, a name, an operator or a type of it replaced."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    node, kind = rng.choice(list(copy.graph.node)), rng.randrange(5)
    if kind == 0 and node.attribute:
        a = rng.choice(list(node.attribute))
        if a.type == 2:
            a.i = rng.choice(NUMBERS)
        elif a.type == 7 and a.ints:
            a.ints[rng.randrange(len(a.ints))] = rng.choice(NUMBERS)
        elif a.type == 4 and a.t.dims:
            a.t.dims[rng.randrange(len(a.t.dims))] = rng.choice(NUMBERS)
    elif kind == 1:
        node.op_type = rng.choice(("Reshape", "Loop", "Conv", "Tile", "Resize", "LSTM", "Range", "Einsum", "Split"))
    elif kind == 2 and node.input:
        node.input[rng.randrange(len(node.input))] = rng.choice(("", "nope", *node.input))
    elif kind == 3 and copy.graph.input:
        chosen = rng.choice(list(copy.graph.input)).type.tensor_type
        chosen.shape.dim.add().dim_value = rng.choice(NUMBERS)
    else:
        copy.opset_import[0].version = rng.choice((1, 6, 9, 11, 13, 99, -1))
    return bytes(copy.SerializeToString())


def test_two_hundred_damaged_files_end_in_an_error_or_a_model(every: dict[str, Any]) -> None:
    rng = random.Random(20)
    chosen = rng.sample(list(every.values()), 40)
    met = Counter[str]()
    for _ in range(200):
        case = rng.choice(chosen)
        whole = case.model.SerializeToString()
        data = mutated(whole, rng) if rng.random() < 0.4 else rewritten(case.model, rng)
        try:
            load_onnx(data)
            met["read"] += 1
        except TangError as error:
            assert error.what and error.where and error.mend
            assert not isinstance(error.__cause__, Exception) or isinstance(error.__cause__, TangError), repr(
                error.__cause__
            )
            met["error"] += 1
    assert met["error"] > 100
