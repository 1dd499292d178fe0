"""Weights from safetensors files: values, names, declarations and what is refused."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tang_egg.errors import InputError
from tang_egg.importers import safetensors

library = pytest.importorskip("safetensors.numpy")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "two.safetensors"
    weights = {"layer.0.weight": np.arange(6, dtype=np.float32).reshape(2, 3), "ids": np.array([3, 1], np.int64)}
    library.save_file(weights, path)
    return path


def write(path: Path, header: dict[str, Any], data: bytes) -> Path:
    """A file in the format itself: length of the header, header, data."""
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def test_arrays_come_by_identifier(file: Path) -> None:
    found = safetensors.arrays(file)
    assert sorted(found) == ["ids", "layer_0_weight"]
    np.testing.assert_array_equal(found["layer_0_weight"], [[0, 1, 2], [3, 4, 5]])
    assert found["ids"].dtype == np.int64
    found["ids"][0] = 9  # the arrays are the caller's own
    assert safetensors.arrays(file)["ids"][0] == 3


def test_declarations_have_shape_and_type(file: Path) -> None:
    found = safetensors.declarations(file)
    weight = found["layer.0.weight"]
    assert (weight.name, weight.dtype, [s.value for s in weight.shape]) == ("layer_0_weight", "f32", [2, 3])
    assert found["ids"].dtype == "i64"


def test_some_arrays_by_other_names(file: Path) -> None:
    assert list(safetensors.arrays(file, ["layer.0.weight"], rename=lambda n: n[-6:])) == ["weight"]


def test_bfloat16_is_widened_exactly(tmp_path: Path) -> None:
    bits = np.array([0x3F80, 0xC040, 0x7F80, 0x0001], "<u2")  # 1, -3, inf and the smallest subnormal
    header = {"pad": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}
    header["w"] = {"dtype": "BF16", "shape": [2, 2], "data_offsets": [4, 12]}
    path = write(tmp_path / "half.safetensors", header, bytes(4) + bits.tobytes())
    found = safetensors.arrays(path)["w"]
    np.testing.assert_array_equal(found, np.array([[1, -3], [np.inf, 2.0**-133]], np.float32))
    assert safetensors.declarations(path)["w"].dtype == "bf16"


def test_floats_of_8_bits_come_as_singles(tmp_path: Path) -> None:
    header = {
        "v": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [0, 2]},
        "w": {"dtype": "F8_E5M2", "shape": [2], "data_offsets": [2, 4]},
    }
    path = write(tmp_path / "tiny.safetensors", header, bytes([0x7E, 0x81, 0x7B, 0xFC]))
    found = safetensors.arrays(path)
    assert found["v"].tolist() == [448.0, -(2.0**-9)] and found["w"].tolist() == [57344.0, -np.inf]
    assert [safetensors.declarations(path)[n].dtype for n in "vw"] == ["f8e4m3", "f8e5m2"]


@pytest.mark.parametrize(("name", "expected"), [("a.b-c", "a_b_c"), ("0.weight", "_0_weight"), ("plain", "plain")])
def test_identifiers(name: str, expected: str) -> None:
    assert safetensors.identifier(name) == expected
    assert expected.isidentifier()


def message(path: Path, names: list[str] | None = None) -> str:
    with pytest.raises(InputError) as caught:
        safetensors.arrays(path, names)
    assert caught.value.mend
    return str(caught.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert "there is no such file" in message(tmp_path / "none.safetensors")


def test_a_damaged_file_is_refused(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-3])
    assert "the offsets are no two bytes of the data" in message(file)
    file.write_bytes(b"\x01\0\0")
    assert "no readable safetensors file" in message(file)


def test_bools_other_than_0_and_1_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "b.safetensors", {"b": {"dtype": "BOOL", "shape": [3], "data_offsets": [0, 3]}}, b"\0\1\7")
    text = message(path)
    assert "a bool is stored as 7" in text and f"byte {path.stat().st_size - 1} of" in text


def test_an_unknown_tensor_is_refused_with_the_names_there_are(file: Path) -> None:
    text = message(file, ["bias"])
    assert "there is no tensor 'bias'" in text
    assert "layer.0.weight" in text


def test_an_unknown_type_is_refused(tmp_path: Path) -> None:
    header = {"w": {"dtype": "F8_E8M0", "shape": [2], "data_offsets": [0, 2]}}
    text = message(write(tmp_path / "tiny.safetensors", header, bytes(2)))
    assert "F8_E8M0 are not supported" in text
    assert "tensor 'w'" in text


def test_two_tensors_of_one_identifier_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "clash.safetensors"
    library.save_file({"a.b": np.zeros(1), "a_b": np.zeros(1)}, path)
    assert "both become 'a_b'" in message(path)
    assert set(safetensors.arrays(path, rename=str)) == {"a.b", "a_b"}
