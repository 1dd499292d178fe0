"""The front doors for files and programs of other systems: which can be used, each tried on something small."""

from __future__ import annotations

import importlib.util
import json
import struct
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tang_egg.doctor_finding import Finding, extra, pip, version
from tang_egg.errors import TangError

_VALUES = np.array([1.0, -2.0, 3.5, 0.25], dtype=np.float32)


def doors() -> list[Finding]:
    """Every front door. One whose package is not installed fails nothing."""
    return [
        _door("safetensors", "", _safetensors),
        _door("gguf", "", _gguf),
        _door("onnx", "onnx", _onnx),
        _door("torch", "torch", _torch),
    ]


def _door(name: str, package: str, trial: Callable[[], None]) -> Finding:
    mend = pip(*extra(package)) if package else ""
    if package and importlib.util.find_spec(package) is None:
        return Finding(name, None, f"{package} is not installed", mend=mend, kind="door")
    read = f"{package} {version(package)}" if package else "read by tang_egg itself"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trial()
    except TangError as error:
        return Finding(name, False, f"{read}: {error}", kind="door")
    except Exception as error:  # what a package may raise when it is broken is its own affair
        lines = str(error).strip().splitlines()
        said = f"{read}: {type(error).__name__}: {lines[0] if lines else ''}"
        return Finding(name, False, said, mend=mend or "report this with the text", kind="door")
    own = version(name)
    facts = (("the package, for writing such files", f"{name} {own}"),) if not package and own else ()
    return Finding(name, True, f"{read}, a small one was imported", facts, kind="door")


def _same(found: Any) -> None:
    if not np.array_equal(np.asarray(found), _VALUES):
        raise ValueError(f"the values read are {np.asarray(found).tolist()}, not {_VALUES.tolist()}")


def _safetensors() -> None:
    from tang_egg.importers import safetensors

    head = json.dumps({"x": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}).encode()
    head += b" " * (-len(head) % 8)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "small.safetensors")
        path.write_bytes(struct.pack("<Q", len(head)) + head + _VALUES.tobytes())
        _same(np.array(safetensors.open(path)["x"]))


def _gguf() -> None:
    from tang_egg.importers import gguf

    name = b"x"
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 0)
    head += struct.pack("<Q", len(name)) + name + struct.pack("<IQIQ", 1, 4, 0, 0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "small.gguf")
        path.write_bytes(head + b"\0" * (-len(head) % 32) + _VALUES.tobytes())
        _same(np.array(gguf.open(path)["x"]))


def _onnx() -> None:
    import onnx
    from onnx import TensorProto, helper

    from tang_egg.importers.onnx import load_onnx

    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "small", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    onnx.checker.check_model(model)
    _same(load_onnx(model).interpret({"x": -_VALUES})["y"])


def _torch() -> None:
    import torch

    from tang_egg.importers.torch import from_torch

    class Small(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def forward(self, x: Any) -> Any:
            return -x

    program = torch.export.export(Small().eval(), (torch.tensor(_VALUES),))
    model = from_torch(program)
    (given,), (out,) = model.inputs, model.outputs
    _same(model.interpret({given: -_VALUES})[out])
