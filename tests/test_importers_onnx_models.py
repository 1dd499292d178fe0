"""Real models, compiled to C, against onnxruntime: largest error over largest value below 1e-3."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg.importers.onnx import load_onnx
from tang_egg.model import Model

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

MOST = 1e-3


def path(package: str, *parts: str) -> Path:
    """A file of an installed package, which is not imported. Skips where there is none."""
    found = importlib.util.find_spec(package)
    if found is None or not found.origin:
        pytest.skip(f"{package} is not installed")
    at = Path(found.origin).parent.joinpath(*parts)
    if not at.is_file():
        pytest.skip(f"this version of {package} has no {at.name}")
    return at


def error(found: Any, wanted: Any) -> float:
    """The largest error over the largest value."""
    a, b = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    assert a.shape == b.shape
    return float(np.abs(a - b).max() / np.abs(b).max())


class Both:
    """A model compiled here, and the same file in onnxruntime."""

    def __init__(self, file: Path, constants: Mapping[str, int] | None = None, **options: Any) -> None:
        self.constants = {n: np.asarray(v, np.int64) for n, v in (constants or {}).items()}
        self.model: Model = load_onnx(file, constants=constants or {}, **options)
        self.compiled = self.model.compile(verified=False)
        silent = onnxruntime.SessionOptions()
        silent.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(str(file), silent, providers=["CPUExecutionProvider"])

    def run(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The outputs of both."""
        names = [o.name for o in self.session.get_outputs()]
        wanted = dict(zip(names, self.session.run(None, {**given, **self.constants}), strict=True))
        return self.compiled.run(given), wanted


def speech(seconds: float, rate: int) -> np.ndarray[Any, Any]:
    """A voiced sound: harmonics of a gliding pitch under a syllable's envelope, with a little noise."""
    t = np.arange(int(seconds * rate)) / rate
    pitch = 2 * np.pi * np.cumsum(120 + 30 * np.sin(2 * np.pi * 2 * t)) / rate
    voice = sum(np.sin(k * pitch) / k for k in range(1, 20))
    envelope = np.clip(np.sin(2 * np.pi * 3 * t), 0, None)
    return (0.1 * envelope * voice + 0.003 * np.random.default_rng(0).standard_normal(len(t))).astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rate"),
    [
        ("silero_vad.onnx", 16000),
        pytest.param("silero_vad.onnx", 8000, marks=pytest.mark.nightly),
        pytest.param("silero_vad_16k_op15.onnx", 16000, marks=pytest.mark.nightly),
        ("silero_vad_half.onnx", 16000),
        ("silero_vad_op18_ifless.onnx", 16000),
    ],
)
def test_silero_vad_follows_onnxruntime_over_chunks(name: str, rate: int) -> None:
    size, context = (512, 64) if rate == 16000 else (256, 32)
    file = path("silero_vad", "data", name)
    constants = {} if "half" in name else {"sr": rate}
    both = Both(file, constants, shapes={"input": (1, context + size), "state": (2, 1, 128)})
    sound = np.concatenate([np.zeros(context, np.float32), speech(1.0, rate)])
    ours = theirs = np.zeros((2, 1, 128), np.float32)
    heard = []
    for n in range(12):
        chunk = sound[None, n * size : n * size + context + size]
        found = both.compiled.run({"input": chunk, "state": ours})
        _, wanted = both.run({"input": chunk, "state": theirs})
        assert error(found["output"], wanted["output"]) < MOST
        assert error(found["stateN"], wanted["stateN"]) < MOST
        ours, theirs = found["stateN"], wanted["stateN"]
        heard.append(float(wanted["output"][0, 0]))
    assert max(heard) > 2 * min(heard), "the sound should make a difference to the model"


def text_image(height: int, width: int, seed: int = 1) -> np.ndarray[Any, Any]:
    """An image [1, 3, height, width] of dark strokes on a light ground, in the range of the models' inputs."""
    rng = np.random.default_rng(seed)
    image = np.full((height, width), 0.9, np.float32)
    for start in range(8, width - 16, 14):
        row, tall = height // 4, height // 2
        image[row : row + tall, start : start + 3] = 0.05
        if rng.random() < 0.7:
            image[
                row + tall * rng.integers(0, 3) // 3 : row + tall * rng.integers(0, 3) // 3 + 3, start : start + 9
            ] = 0.1
    image += 0.02 * rng.standard_normal(image.shape).astype(np.float32)
    return np.repeat(((image - 0.5) / 0.5)[None, None], 3, axis=1).astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("ch_ppocr_mobile_v2.0_cls_infer.onnx", (48, 192)),
        pytest.param("ch_PP-OCRv4_rec_infer.onnx", (48, 320), marks=pytest.mark.nightly),
        pytest.param("ch_PP-OCRv4_rec_infer.onnx", (48, 96), marks=pytest.mark.nightly),
        pytest.param("ch_PP-OCRv4_det_infer.onnx", (64, 96), marks=pytest.mark.nightly),
    ],
)
def test_rapidocr_follows_onnxruntime(name: str, shape: tuple[int, int]) -> None:
    file = path("rapidocr_onnxruntime", "models", name)
    both = Both(file, shapes={"x": (1, 3, *shape)})
    for image in (text_image(*shape), text_image(*shape, seed=2)):
        found, wanted = both.run({"x": image})
        for output, array in wanted.items():
            assert error(found[output], array) < MOST


def test_a_small_export_follows_onnxruntime_in_the_interpreter() -> None:
    file = path("silero_vad", "data", "silero_vad_openvino_16k.onnx")
    model = load_onnx(file)
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    given = {"input": speech(0.036, 16000)[None, :576], "state": np.zeros((2, 1, 128), np.float32)}
    wanted = session.run(None, given)
    found = model.interpret(given)
    for output, array in zip(found, wanted, strict=True):
        assert error(found[output], array) < 1e-4


@pytest.mark.parametrize("name", ["silero_vad.onnx", "silero_vad_half.onnx", "silero_vad_op18_ifless.onnx"])
def test_the_batch_may_be_symbolic(name: str) -> None:
    file = path("silero_vad", "data", name)
    constants = {} if "half" in name else {"sr": 16000}
    b = te.dim("batch", lo=1)
    model = load_onnx(file, constants=constants, shapes={"input": (b, 576), "state": (2, b, 128)})
    assert [str(s) for s in model.graph.outputs[0].shape] == ["batch", "1"]
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(2)
    given = {
        "input": (0.1 * rng.standard_normal((3, 576))).astype(np.float32),
        "state": (0.1 * rng.standard_normal((2, 3, 128))).astype(np.float32),
    }
    wanted = session.run(None, {**given, **{n: np.asarray(v, np.int64) for n, v in constants.items()}})
    for found, array in zip(model.interpret(given).values(), wanted, strict=True):
        assert error(found, array) < 1e-4
