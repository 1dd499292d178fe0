"""onnxruntime and OpenVINO: formulas exported by torch, weights as initialisers; 8 bits by an operator of its own."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.cpu_peers_torch import module, tensors

OPSET = 20


def exported(formula: Callable[..., Any], arrays: Sequence[NDArray[Any]], constants: int) -> tuple[bytes, list[str]]:
    """The model of a formula, and the names of its inputs."""
    import torch

    given = tensors(arrays)
    varying = given[: len(given) - constants]
    names, file = [f"x{n}" for n in range(len(varying))], io.BytesIO()
    torch.onnx.export(
        module(formula, given, constants), tuple(varying), file, dynamo=False, opset_version=OPSET, input_names=names
    )
    return file.getvalue(), names


def session(model: bytes, threads: int) -> Any:
    """The model, ready to run on the processor."""
    runtime: Any = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def prepared(
    formula: Callable[..., Any], arrays: Sequence[NDArray[Any]], constants: int, threads: int
) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    model, names = exported(formula, arrays, constants)
    built = session(model, threads)
    given = dict(zip(names, arrays, strict=False))
    feed = {i.name: given[i.name] for i in built.get_inputs()}
    return (lambda: built.run(None, feed)[0]), np.asarray


def openvino(
    formula: Callable[..., Any], arrays: Sequence[NDArray[Any]], constants: int, threads: int
) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """The same model in OpenVINO, in f32, its inputs set once."""
    package: Any = importlib.import_module("openvino")
    model, names = exported(formula, arrays, constants)
    core = package.Core()
    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    built = core.compile_model(core.read_model(model), "CPU", settings)
    request = built.create_infer_request()
    kept = {i.get_any_name() for i in built.inputs}
    for name, a in zip(names, arrays, strict=False):
        if name in kept:
            request.set_tensor(name, package.Tensor(a, shared_memory=True))

    def call() -> None:
        request.infer()

    return call, lambda _: np.array(request.get_output_tensor(0).data)


def quantised(w: NDArray[Any], s: NDArray[Any], x: NDArray[Any], threads: int) -> tuple[Callable[[], Any], Any]:
    """MatMulNBits, whose quick path (accuracy_level 4) rounds the vector to 8 bits."""
    onnx: Any = importlib.import_module("onnx")
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    outputs, blocks, block = w.shape
    weights = numpy_helper.from_array((w.astype(np.int16) + 128).astype(np.uint8), "w")
    node = helper.make_node(
        "MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=blocks * block, N=outputs, bits=8,
        block_size=block, accuracy_level=4,
    )  # fmt: skip
    real = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [node], "g",
        [helper.make_tensor_value_info("x", real, [1, blocks * block])],
        [helper.make_tensor_value_info("y", real, [1, outputs])],
        [weights, numpy_helper.from_array(s, "s")],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
    built = session(helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString(), threads)
    feed = {"x": x.reshape(1, -1)}
    return (lambda: built.run(None, feed)[0]), lambda y: y.reshape(-1)
