"""ONNX import: names, dims, what is decided at import, operators that the suite does not pin down, errors."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg.errors import BindError, InputError, TangError
from tang_egg.importers.onnx import UnsupportedError, load_onnx
from tang_egg.ir import Reduce, tensors_of, walk
from tests.tree import ROOT

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

RNG = np.random.default_rng(0)
TYPES = {"f32": TensorProto.FLOAT, "i64": TensorProto.INT64, "i32": TensorProto.INT32, "bool": TensorProto.BOOL}


def info(name: str, shape: Sequence[Any] | None, dtype: str = "f32") -> Any:
    return helper.make_tensor_value_info(name, TYPES[dtype], shape)


def build(
    nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[str], weights: dict[str, Any] | None = None,
    opset: int = 18, functions: Sequence[Any] = (),
) -> Any:  # fmt: skip
    """A model whose outputs leave type and shape open."""
    stored = [numpy_helper.from_array(np.asarray(a), n) for n, a in (weights or {}).items()]
    results = [helper.make_empty_tensor_value_info(o) for o in outputs]
    g = helper.make_graph(list(nodes), "net", list(inputs), results, stored)
    imports = [helper.make_opsetid("", opset), *([helper.make_opsetid("own", 1)] if functions else [])]
    return helper.make_model(g, opset_imports=imports, functions=list(functions))


def node(op: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    return helper.make_node(
        op, [i.strip("-") for i in inputs.split()], outputs.split(), name=f"{op}_node", **attributes
    )


def reals(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def reference(model: Any, given: dict[str, Any]) -> list[Any]:
    """The outputs by onnxruntime."""
    onnxruntime = pytest.importorskip("onnxruntime")
    for o in model.graph.output:
        o.type.Clear()
    model.ir_version = 10
    inferred = onnx.shape_inference.infer_shapes(model)
    session = onnxruntime.InferenceSession(inferred.SerializeToString(), providers=["CPUExecutionProvider"])
    return list(session.run(None, given))


def check(model: Any, given: dict[str, Any], rtol: float = 1e-5, **options: Any) -> None:
    """The imported model, interpreted, agrees with onnxruntime."""
    constants = options.get("constants", {})
    found = load_onnx(model, **options).interpret({n: a for n, a in given.items() if n not in constants})
    for a, b in zip(found.values(), reference(model, given), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


# names, dims, calls


def test_names_of_the_file_become_identifiers_and_calls_take_both() -> None:
    model = build([node("Add", "in/x:0 w.1", "out-put")], [info("in/x:0", (2, 3))], ["out-put"], {"w.1": reals(3)})
    m = load_onnx(model)
    assert m.inputs == {"in/x:0": "in_x_0"}
    assert m.outputs == {"out-put": "out_put"}
    assert list(m.weights) == ["w_1"]
    x = reals(2, 3)
    want = x + m.weights["w_1"]
    for name in ("in/x:0", "in_x_0"):
        np.testing.assert_allclose(m.interpret({name: x})["out-put"], want, rtol=1e-6)
    with pytest.raises(InputError, match="there is no input 'y'") as caught:
        m.interpret({"y": x})
    assert "its inputs are: in/x:0" in str(caught.value)


def test_outputs_come_in_the_order_of_the_file_under_clashing_and_reserved_names() -> None:
    model = build(
        [node("Relu", "x", "name"), node("Neg", "x", "inputs"), node("Identity", "x", "a-b"), node("Abs", "x", "a_b")],
        [info("x", (4,))],
        ["inputs", "a-b", "name", "a_b"],
    )
    m = load_onnx(model)
    assert list(m.outputs) == ["inputs", "a-b", "name", "a_b"]
    x = reals(4)
    found = m.interpret({"x": x})
    for name, want in (("inputs", -x), ("a-b", x), ("name", np.maximum(x, 0)), ("a_b", np.abs(x))):
        np.testing.assert_array_equal(found[name], want.astype(np.float64))


def test_one_value_may_be_two_outputs_and_a_weight_may_be_one() -> None:
    model = build([node("Relu", "x", "y"), node("Identity", "y", "z")], [info("x", (3,))], ["y", "z", "w"],
                  {"w": np.array([1.0, 2.0], np.float32)})  # fmt: skip
    found = load_onnx(model).interpret({"x": np.array([-1, 0, 2], np.float32)})
    assert {n: a.tolist() for n, a in found.items()} == {"y": [0, 0, 2], "z": [0, 0, 2], "w": [1, 2]}


def test_open_extents_become_dims_that_arithmetic_on_shapes_keeps() -> None:
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s zero", "b"),
        node("Mul", "b two", "twice"),
        node("Concat", "twice minus", "shape", axis=0),
        node("Reshape", "x shape", "y"),
    ]
    weights = {"zero": np.array([0]), "two": np.array([2]), "minus": np.array([-1])}
    model = build(nodes, [info("x", ("batch", 4, 3))], ["y"], weights)
    m = load_onnx(model)
    assert [str(s) for s in m.graph.outputs[0].shape] == ["2*batch", "6"]
    for n in (1, 3):
        x = reals(n, 4, 3)
        np.testing.assert_allclose(m.interpret({"x": x})["y"], x.reshape(2 * n, 6), rtol=1e-6)
    fixed = load_onnx(model, dims={"batch": 5})
    assert [s.value for s in fixed.graph.outputs[0].shape] == [10, 6]
    own = load_onnx(model, dims={"batch": te.dim("n", lo=1, hi=7)})
    with pytest.raises(BindError, match="'n' cannot be 8"):
        own.interpret({"x": reals(8, 4, 3)})
    assert load_onnx(model, shapes={"x": (2, None, None)}).graph.outputs[0].shape[0].value == 4


def test_anonymous_extents_are_dims_of_their_own() -> None:
    model = build([node("Relu", "x", "y")], [info("x", ("?", "?"))], ["y"])
    assert sorted(d.name for d in load_onnx(model).graph.dims()) == ["x_0", "x_1"]


def test_a_compiled_model_keeps_its_weights_and_gives_what_the_interpreter_gives() -> None:
    w, b = reals(4, 3), reals(3)
    model = build([node("Gemm", "x w b", "h"), node("Softmax", "h", "y", axis=-1)], [info("x", ("n", 4))], ["y"],
                  {"w": w, "b": b})  # fmt: skip
    m = load_onnx(model)
    compiled = m.compile()
    for n in (1, 5):
        x = reals(n, 4)
        np.testing.assert_allclose(compiled(x), m.interpret({"x": x})["y"], rtol=1e-5)
        np.testing.assert_allclose(compiled(x=x), compiled(x))
    with pytest.raises(InputError, match="1 arrays by position and x by name do not fit"):
        compiled(x, x=x)


def test_the_page_runs() -> None:
    page = (ROOT / "docs" / "onnx.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    scope: dict[str, Any] = {}
    exec(code, scope)
    assert scope["y"].shape == (2, 3)


# decided at import


def test_if_takes_the_branch_of_a_known_condition_and_chooses_elements_by_another() -> None:
    then = helper.make_graph([node("Neg", "x", "a")], "then", [], [info("a", (3,))])
    other = helper.make_graph([node("Abs", "x", "b")], "else", [], [info("b", (3,))])
    choose = node("If", "c", "y", then_branch=then, else_branch=other)
    model = build([choose], [info("x", (3,)), info("c", (), "bool")], ["y"])
    x = np.array([-1, 2, -3], np.float32)
    dynamic, known = load_onnx(model), load_onnx(model, constants={"c": True})
    assert dynamic.interpret({"x": x, "c": np.array(True)})["y"].tolist() == [1, -2, 3]
    assert dynamic.interpret({"x": x, "c": np.array(False)})["y"].tolist() == [1, 2, 3]
    assert list(known.inputs) == ["x"]
    assert known.interpret({"x": x})["y"].tolist() == [1, -2, 3]


def test_a_branch_that_is_not_taken_may_hold_anything() -> None:
    then = helper.make_graph([node("Neg", "x", "a")], "then", [], [info("a", (3,))])
    other = helper.make_graph([node("NonMaxSuppression", "x x", "b")], "else", [], [info("b", (3,))])
    model = build([node("If", "c", "y", then_branch=then, else_branch=other)], [info("x", (3,))], ["y"],
                  {"c": np.array(True)})  # fmt: skip
    assert load_onnx(model).interpret({"x": np.ones(3, np.float32)})["y"].tolist() == [-1, -1, -1]


def test_a_loop_of_known_length_is_unrolled() -> None:
    body = helper.make_graph(
        [node("Add", "s x", "t"), node("Identity", "on", "go"), node("Identity", "t", "kept")],
        "body",
        [info("i", (), "i64"), info("on", (), "bool"), info("s", (2,))],
        [info("go", (), "bool"), info("t", (2,)), info("kept", (2,))],
    )
    model = build([node("Loop", "m - x", "last every", body=body)], [info("x", (2,))], ["last", "every"],
                  {"m": np.array(3)})  # fmt: skip
    found = load_onnx(model).interpret({"x": np.array([1, 10], np.float32)})
    assert found["last"].tolist() == [4, 40]
    assert found["every"].tolist() == [[2, 20], [3, 30], [4, 40]]


def test_a_function_of_the_model_is_written_out_with_its_attributes() -> None:
    scale = helper.make_node("LeakyRelu", ["a"], ["b"])
    given = scale.attribute.add()
    given.name, given.ref_attr_name, given.type = "alpha", "slope", onnx.AttributeProto.FLOAT
    function = helper.make_function("own", "Leak", ["a"], ["b"], [scale], [helper.make_opsetid("", 18)], ["slope"])
    call = helper.make_node("Leak", ["x"], ["y"], domain="own", slope=0.5)
    model = build([call], [info("x", (2,))], ["y"], functions=[function])
    assert load_onnx(model).interpret({"x": np.array([-2, 3], np.float32)})["y"].tolist() == [-1, 3]


def test_what_follows_a_convolution_for_each_channel_goes_into_its_weights() -> None:
    nodes = [
        node("Conv", "x w", "c", pads=[1, 1, 1, 1]),
        node("BatchNormalization", "c g b m v", "n"),
        node("Mul", "n two", "p"),
        node("Add", "p bias", "q"),
        node("Relu", "q", "y"),
    ]
    weights = {"w": reals(5, 3, 3, 3), "g": reals(5), "b": reals(5), "m": reals(5), "v": np.abs(reals(5)),
               "two": np.float32(2), "bias": reals(5, 1, 1)}  # fmt: skip
    model = build(nodes, [info("x", (2, 3, 7, 6))], ["y"], weights)
    check(model, {"x": reals(2, 3, 7, 6)})
    assert len(load_onnx(model).weights) == 2


def test_a_convolution_with_two_readers_keeps_its_weights() -> None:
    nodes = [node("Conv", "x w", "c"), node("Mul", "c two", "p"), node("Add", "p c", "y")]
    model = build(nodes, [info("x", (1, 2, 4))], ["y"], {"w": reals(3, 2, 2), "two": np.float32(2)})
    check(model, {"x": reals(1, 2, 4)})
    graph = load_onnx(model).graph
    assert sum(isinstance(s, Reduce) for t in tensors_of(graph.outputs) for s in walk(t.body)) == 1


# operators beyond the suite


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
@pytest.mark.parametrize("pads", [[0, 2, 0, 1], [1, 7, 2, 8], [-1, 3, 0, -2]])
def test_pad_by_elements_of_the_array(mode: str, pads: list[int]) -> None:
    x = reals(3, 4)
    model = build([node("Pad", "x p", "y", mode=mode)], [info("x", (3, 4))], ["y"], {"p": np.array(pads)}, 19)
    cut = x[max(0, -pads[0]) : 3 - max(0, -pads[2]), max(0, -pads[1]) : 4 - max(0, -pads[3])]
    wide = [(max(0, pads[0]), max(0, pads[2])), (max(0, pads[1]), max(0, pads[3]))]
    want = np.pad(cut, wide, mode=mode)  # type: ignore[call-overload]
    np.testing.assert_allclose(load_onnx(model).interpret({"x": x})["y"], want, rtol=1e-6)


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_recurrent_layers_with_lengths_and_states(op: str, direction: str) -> None:
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    d, h, b, t, n = 2 if direction == "bidirectional" else 1, 3, 2, 4, 5
    weights = {"w": reals(d, gates * h, n), "r": reals(d, gates * h, h), "b": reals(d, 2 * gates * h),
               "s": reals(d, b, h), "len": np.array([4, 2], np.int32)}  # fmt: skip
    given, results = "x w r b len s", "y yh"
    if op == "LSTM":
        weights |= {"c": reals(d, b, h), "p": reals(d, 3 * h)}
        given, results = given + " c p", "y yh yc"
    model = build([node(op, given, results, hidden_size=h, direction=direction)], [info("x", (t, b, n))],
                  results.split(), weights, 14)  # fmt: skip
    check(model, {"x": reals(t, b, n)}, 1e-4)


@pytest.mark.parametrize("shape", [(2, 3), (1, 3), (2, 1), (1, 1)])
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scatter_elements_where_positions_are_fewer(shape: tuple[int, int], reduction: str) -> None:
    at = np.array([[0, 2, -1], [1, 0, 2]])[: shape[0], : shape[1]]
    model = build(
        [node("ScatterElements", "x at new", "y", axis=1, reduction=reduction)],
        [info("x", (2, 3)), info("at", shape, "i64"), info("new", shape)],
        ["y"],
    )
    check(model, {"x": reals(2, 3), "at": at, "new": reals(*shape)})


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("...ij,...jk->...ik", [(2, 1, 2, 3), (5, 3, 4)]),
        ("bii->b", [(2, 3, 3)]),
        ("ij,kl,j->l", [(2, 3), (1, 2), (3,)]),
        ("i,j", [(2,), (3,)]),
        ("...ii->...i", [(2, 4, 4)]),
    ],
)
def test_einsum_with_broadcast_and_diagonals(equation: str, shapes: list[tuple[int, ...]]) -> None:
    names = [f"x{n}" for n in range(len(shapes))]
    arrays = {n: reals(*s) for n, s in zip(names, shapes, strict=True)}
    model = build([node("Einsum", " ".join(names), "y", equation=equation)],
                  [info(n, s) for n, s in zip(names, shapes, strict=True)], ["y"])  # fmt: skip
    found = load_onnx(model).interpret(arrays)["y"]
    np.testing.assert_allclose(found, np.einsum(equation, *arrays.values()), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("since", [10, 11, 13])
def test_softmax_over_the_last_axes_in_old_operator_sets(since: int) -> None:
    model = build([node("Softmax", "x", "y", axis=1)], [info("x", (2, 3, 4))], ["y"], opset=since)
    check(model, {"x": reals(2, 3, 4)})


@pytest.mark.parametrize(
    ("starts", "ends", "steps"), [([5], [-9], [-2]), ([-1], [-(2**63)], [-1]), ([1], [2**63 - 1], [3]), ([4], [2], [1])]
)
def test_slices_clamp_as_in_numpy(starts: list[int], ends: list[int], steps: list[int]) -> None:
    weights = {"s": np.array(starts), "e": np.array(ends), "a": np.array([0]), "t": np.array(steps)}
    model = build([node("Slice", "x s e a t", "y")], [info("x", (7,))], ["y"], weights)
    check(model, {"x": reals(7)})


def test_a_symbolic_axis_is_sliced_padded_and_enlarged() -> None:
    weights = {"s": np.array([1]), "e": np.array([-1]), "a": np.array([1]), "p": np.array([0, 2, 0, 1]),
               "scales": np.array([1, 3], np.float32)}  # fmt: skip
    nodes = [
        node("Slice", "x s e a", "cut"),
        node("Pad", "cut p", "wide", mode="constant"),
        node("Resize", "wide - scales", "y", mode="nearest", coordinate_transformation_mode="asymmetric",
             nearest_mode="floor"),
    ]  # fmt: skip
    model = build(nodes, [info("x", (2, "n"))], ["y"], weights)
    m = load_onnx(model, dims={"n": te.dim("n", lo=3)})
    for n in (3, 6):
        x = reals(2, n)
        want = np.pad(x[:, 1:-1], ((0, 0), (2, 1))).repeat(3, axis=1)
        np.testing.assert_allclose(m.interpret({"x": x})["y"], want, rtol=1e-6)


# errors


def failure(model: Any, kind: type[TangError] = InputError, **options: Any) -> str:
    """The text of the error of an import."""
    with pytest.raises(kind) as caught:
        load_onnx(model, **options)
    assert caught.value.where and caught.value.mend
    return str(caught.value)


def test_everything_that_is_not_supported_is_in_one_error() -> None:
    nodes = [
        helper.make_node("RandomNormalLike", ["x"], ["a"], name="first"),
        helper.make_node("RandomNormalLike", ["a"], ["b"], name="second"),
        helper.make_node("Reshape", ["x", "s"], ["c"], name="flat"),
        helper.make_node("Frobnicate", ["x"], ["d"]),
        helper.make_node("Add", ["c", "d"], ["e"]),
        helper.make_node("RandomNormalLike", ["x"], ["unused"], name="unused"),
    ]
    model = build(nodes, [info("x", (4,)), info("s", (2,), "i64")], ["b", "e"])
    text = failure(model, UnsupportedError)
    # the second reads what the first does not give
    assert "1 × RandomNormalLike: the operator (in 'first')" in text
    assert "1 × Frobnicate: there is no such operator (in 'd')" in text
    assert "1 × Reshape: the shape depends on data at run time (in 'flat')" in text
    assert "constants={'s': ...}" in text
    assert "unused" not in text
    assert failure(model, UnsupportedError, constants={"s": np.array([2, 2])}).count("Reshape") == 0


def test_unsupported_types_are_named() -> None:
    model = build([helper.make_node("Identity", ["x"], ["y"])],
                  [helper.make_tensor_value_info("x", TensorProto.STRING, (2,))], ["y"])  # fmt: skip
    assert "1 × input: elements of type STRING (in 'x')" in failure(model, UnsupportedError)


def test_an_extent_that_must_be_fixed_is_said() -> None:
    model = build([node("Resize", "x - - s", "y", mode="linear")], [info("x", (1, 2, "n"))], ["y"],
                  {"s": np.array([1, 2, 9])})  # fmt: skip
    text = failure(model, UnsupportedError)
    assert "resizing of an axis of n to 9" in text
    model = build([node("LSTM", "x w r", "y", hidden_size=1)], [info("x", ("n", 1, 1))], ["y"],
                  {"w": reals(1, 4, 1), "r": reals(1, 4, 1)}, 14)  # fmt: skip
    assert "shapes={'x': (1, 576)}" in failure(model, UnsupportedError)


def relu() -> Any:
    return build([node("Relu", "x", "y")], [info("x", (2,))], ["y"])


def test_a_source_that_is_no_model(tmp_path: Path) -> None:
    assert "a value of type int is no ONNX model" in failure(3)
    assert "there is no such file" in failure(tmp_path / "none.onnx")
    assert "this is no regular file" in failure(tmp_path)
    assert "the bytes are no ONNX model" in failure(b"\xff\xff\xff")
    assert "no graph with outputs" in failure(b"")
    os.mkfifo(tmp_path / "pipe")
    assert "this is no regular file" in failure(tmp_path / "pipe")
    model = relu()
    del model.opset_import[:]
    assert "does not say which operator set" in failure(model)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"constants": {"z": 1}}, "constants names 'z', which the model does not have"),
        ({"shapes": {"z": (1,)}}, "shapes names 'z'"),
        ({"dims": {"n": 1}}, "dims names 'n'"),
        ({"shapes": {"x": (2, 2)}}, "shapes gives input 'x' the shape (2, 2)"),
        ({"shapes": {"x": (-1,)}}, "-1 is no extent of 'x'"),
        ({"constants": {"x": [1, 2, 3]}}, "constants gives 'x' the shape (3,)"),
        ({"constants": {"x": ["a", "b"]}}, "constants gives 'x' a value that it cannot take"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, Any], said: str) -> None:
    assert said in failure(relu(), **options)


def test_a_graph_that_is_not_in_order_or_not_well_formed() -> None:
    x = [info("x", (2,))]
    cyclic = build([node("Add", "x b", "a"), node("Relu", "a", "b")], x, ["b"])
    assert "'b' is read, but nothing gives it before" in failure(cyclic)
    twice = build([node("Relu", "x", "a"), node("Neg", "x", "a")], x, ["a"])
    assert "two nodes give 'a'" in failure(twice)
    assert "'z' is read" in failure(build([node("Relu", "x", "a")], x, ["z"]))
    assert "two inputs have one name" in failure(build([node("Relu", "x", "a")], x * 2, ["a"]))


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (node("Add", "x", "y"), "the operator has 1 inputs, not 2 to 2"),
        (node("Add", "x i", "y"), "input 1 is a tensor(int64) beside a tensor(float)"),
        (node("And", "x x", "y"), "input 0 is a tensor(float), which the operator does not take"),
        (node("Relu", "x", "y", alpha=1.0), "the operator has no attribute 'alpha'"),
        (node("Cast", "x", "y"), "the attribute 'to' is missing"),
        (node("Transpose", "x", "y", perm=[0, 0]), "is no order of"),
        (node("Concat", "x x", "y", axis=7), "there is no axis 7 in an array of 2 axes"),
        (node("Gather", "x k", "y"), "a position lies outside an axis of 2"),
        (node("Reshape", "x k", "y"), "cannot take the shape"),
        (node("MatMul", "x x", "y"), "a product of shapes (2, 3) and (2, 3)"),
        (node("Softmax", "x", "y", axis="a"), "attribute 'axis' is of another kind"),
    ],
)
def test_a_node_that_does_not_fit_its_operands(made: Any, said: str) -> None:
    model = build([made], [info("x", (2, 3)), info("i", (2, 3), "i64")], ["y"], {"k": np.array([9])})
    text = failure(model)
    assert said in text
    assert f"node '{made.op_type}_node' ({made.op_type})" in text


def stored(count: int = 3) -> tuple[Any, Any]:
    """A model with a weight, and the weight."""
    model = build([node("Add", "x w", "y")], [info("x", (count,))], ["y"], {"w": np.arange(count, dtype=np.float32)})
    return model, model.graph.initializer[0]


def test_tensors_whose_bytes_do_not_fit_their_shape() -> None:
    model, w = stored()
    w.raw_data = w.raw_data[:-1]
    assert "a tensor of 3 elements of f32 has 11 bytes" in failure(model)
    model, w = stored()
    w.dims[0] = 2**62
    assert "has 12 bytes" in failure(model)
    model, w = stored()
    w.dims[0] = -3
    assert "a tensor has the shape (-3,)" in failure(model)
    model, w = stored()
    w.ClearField("raw_data")
    w.float_data.extend([1.0, 2.0])
    assert "a tensor of 3 elements of f32 holds 2" in failure(model)
    model, w = stored()
    w.data_type = 9
    w.raw_data = b"\x00\x01\x02"
    assert "a bool is stored as another number" in failure(model)


def external(model: Any, w: Any, location: str, offset: str = "0", length: str = "12") -> Any:
    w.ClearField("raw_data")
    w.data_location = TensorProto.EXTERNAL
    del w.external_data[:]
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        entry = w.external_data.add()
        entry.key, entry.value = key, value
    return model


def test_tensors_beside_the_model_stay_in_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    (folder / "data").mkdir(parents=True)
    values = np.array([5, 6, 7], np.float32).tobytes()
    (folder / "data" / "w.bin").write_bytes(b"\x00" * 4 + values)
    (tmp_path / "secret").write_bytes(values)
    (folder / "link").symlink_to(tmp_path / "secret")
    at = folder / "m.onnx"

    def load(*where: str) -> Any:
        at.write_bytes(external(*stored(), *where).SerializeToString())
        return load_onnx(at)

    found = load("data/w.bin", "4").interpret({"x": np.zeros(3, np.float32)})["y"]
    assert found.tolist() == [5, 6, 7]
    for location in ("../secret", str(tmp_path / "secret"), "link", "", "data/../../secret", "a\0b"):
        with pytest.raises(InputError, match="is not inside the model's folder"):
            load(location)
    for where, said in (
        (("none.bin",), "there is no such file"),
        (("data/w.bin", "5"), "which has 16"),
        (("data/w.bin", "-4"), "is no number of bytes"),
        (("data/w.bin", "4", "11"), "a tensor of 12 bytes is said to be 11"),
        (("data",), "there is no such file"),
    ):
        with pytest.raises(InputError, match=said):
            load(*where)
    with pytest.raises(InputError, match="the model was not read from one"):
        load_onnx(at.read_bytes())


def test_huge_numbers_in_a_file_cost_nothing() -> None:
    many = {"s": np.array([2**40, 2**20])}
    big = load_onnx(build([node("ConstantOfShape", "s", "c"), node("ReduceSum", "c", "y")], [], ["y"], many))
    assert not big.weights
    ranged = build([node("Range", "a b c", "r"), node("ReduceMax", "r", "y")], [], ["y"],
                   {"a": np.array(0), "b": np.array(2**40), "c": np.array(1)})  # fmt: skip
    assert not load_onnx(ranged).weights
    expanded = build([node("Expand", "x s", "e"), node("ReduceSum", "e", "y")], [info("x", (1,))], ["y"], many)
    assert not load_onnx(expanded).weights
    body = helper.make_graph([node("Identity", "on", "go")], "body", [info("i", (), "i64"), info("on", (), "bool")],
                             [info("go", (), "bool")])  # fmt: skip
    endless = build([node("Loop", "m c", "", body=body), node("Relu", "x", "y")], [info("x", (1,))], ["y"])
    assert list(load_onnx(endless).outputs) == ["y"]  # what nothing reads is not run
    kept = helper.make_graph([node("Identity", "on", "go"), node("Add", "v v", "w")], "body",
                             [info("i", (), "i64"), info("on", (), "bool"), info("v", (1,))],
                             [info("go", (), "bool"), info("w", (1,))])  # fmt: skip
    loop = build([node("Loop", "m - x", "y", body=kept)], [info("x", (1,))], ["y"], {"m": np.array(10**9)})
    assert "a loop of more than 4096 trips" in failure(loop)
    many_nodes = build([node("Loop", "m - x", "y", body=kept)], [info("x", (1,))], ["y"], {"m": np.array(500)})
    assert load_onnx(many_nodes, shapes={"x": (1,)}).outputs == {"y": "y"}


def test_nesting_is_bounded() -> None:
    inner = helper.make_graph([node("Neg", "x", "y0")], "g0", [], [info("y0", (1,))])
    for n in range(1, 28):
        choose = node("If", "c", f"y{n}", then_branch=inner, else_branch=inner) if n < 3 else None
        if choose is None:
            choose = helper.make_node("If", ["c"], [f"y{n}"])
            for name in ("then_branch", "else_branch"):
                a = choose.attribute.add()
                a.name, a.type = name, onnx.AttributeProto.GRAPH
                if name == "then_branch":
                    a.g.CopyFrom(inner)
        inner = helper.make_graph([choose], f"g{n}", [], [info(f"y{n}", (1,))])
    model = build(list(inner.node), [info("x", (1,))], ["y27"], {"c": np.array(True)})
    assert "more than 24 levels deep" in failure(model)
    call = helper.make_node("F", ["a"], ["b"], domain="own")
    f = helper.make_function("own", "F", ["a"], ["b"], [call], [helper.make_opsetid("own", 1)])
    recursive = build([helper.make_node("F", ["x"], ["y"], domain="own")], [info("x", (1,))], ["y"], functions=[f])
    assert "functions call each other more than 64 levels deep" in failure(recursive)
