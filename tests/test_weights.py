"""Weights on mapped files: both formats beside their own libraries, and every malformed header that a reader knows."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg.errors import InputError
from tang_egg.importers import gguf, safetensors, weights
from tang_egg.run_arrays import take

TYPES = ["float64", "float32", "float16", "bool", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16"]


def refused(f: Callable[[], object], *said: str) -> str:
    """The message of the InputError that `f` raises; it has three parts and all of `said`."""
    with pytest.raises(InputError) as caught:
        f()
    text = str(caught.value)
    assert caught.value.where and caught.value.mend and len(text.splitlines()) == 3
    for part in said:
        assert part in text, text
    return text


# -- safetensors


def raw_file(path: Path, header: object, data: bytes = b"", length: int | None = None) -> Path:
    """A file in the format itself; `header` is text, or a value to write as JSON."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)
    return path


def entry(shape: list[Any], begin: object = 0, end: object = 0, dtype: object = "U8") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def test_safetensors_are_what_their_library_reads(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.numpy")
    r = np.random.default_rng(0)
    held = {
        f"{kind}.{n}": r.integers(0, 2, shape).astype(kind)
        for kind in TYPES
        for n, shape in enumerate([(), (0,), (1,), (3, 0, 2), (5, 7), (2, 3, 11)])
    }
    library.save_file(held, tmp_path / "all.safetensors", {"format": "np", "ünïcode": "✓"})
    found = weights.open(tmp_path / "all.safetensors")
    want = library.load_file(tmp_path / "all.safetensors")
    assert set(found) == set(want) and len(found) == len(held)
    for name, array in want.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(found[name], array)
    assert dict(found.metadata) == {"format": "np", "ünïcode": "✓"}
    declared = found.declarations()
    assert {n: d.dtype for n, d in declared.items()} == {n: weights_type(a) for n, a in held.items()}


def weights_type(a: np.ndarray[Any, Any]) -> str:
    return "bool" if a.dtype == bool else {"f": "f", "i": "i", "u": "u"}[a.dtype.kind] + str(8 * a.dtype.itemsize)


def test_views_share_the_map_and_cannot_be_written(tmp_path: Path) -> None:
    data = np.arange(1 << 18, dtype="<f4")
    path = raw_file(tmp_path / "w.safetensors", {"w": entry([1 << 18], 0, 1 << 20, "F32")}, data.tobytes())
    found = weights.open(path)
    one, two = found["w"], found["w"]
    assert np.shares_memory(one, two) and not one.flags.owndata
    base: Any = one
    while base.base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        one[0] = 1
    np.testing.assert_array_equal(one, data)
    with pytest.raises(TypeError):
        found.metadata["x"] = "y"  # type: ignore[index]


def test_weights_go_into_compiled_programs_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the header ends at an odd byte, so that nothing in the file is aligned; bf16 as its bits."""
    monkeypatch.setenv("TANG_CFLAGS", "-O1")
    bits = (np.arange(12, dtype=np.float32).view(np.uint32) >> 16).astype("<u2")
    scale = np.array([2, 3, 4], "<f4")
    header = json.dumps({"l.w": entry([4, 3], 0, 24, "BF16"), "l.s": entry([3], 24, 36, "F32")}).encode()
    header += b" " * (-len(header) % 8 + 1)
    path = raw_file(tmp_path / "odd.safetensors", header, bits.tobytes() + scale.tobytes())
    found = weights.open(path)
    assert not found["l.s"].flags.aligned
    declared = found.declarations()
    assert repr(declared["l.w"].shape) == "(4, 3)" and declared["l.w"].dtype == "bf16"
    assert take(declared["l.s"], found["l.s"]).array.flags.aligned, "kernels may rely on that"
    w, s = (te.Array(declared[n]) for n in ("l.w", "l.s"))
    i, j = te.indices("i j")
    graph = te.graph("scaled", y=te.tensor(None, (i, j), w[i, j] * s[j], "f32"))
    got = te.optimize(graph, verified=False)(**found.arrays())
    np.testing.assert_array_equal(got, np.arange(12).reshape(4, 3) * [2, 3, 4])


def test_types_that_the_language_lacks_give_bytes_only(tmp_path: Path) -> None:
    path = raw_file(
        tmp_path / "f8.safetensors", {"a": entry([3], 0, 3, "F8_E8M0"), "b": entry([4], 3, 5, "F4")}, b"abcde"
    )
    found = weights.open(path)
    assert found.raw("a").tobytes() == b"abc" and found.raw("b").tobytes() == b"de" and found.type("b") == "F4"
    refused(lambda: found["a"], "elements of type F8_E8M0 are not supported", "tensor 'a'", "raw()")
    refused(found.declarations, "F8_E8M0")


U8 = entry([4], 0, 4)
OVERLAP = {"a": entry([4], 0, 4), "b": entry([3], 3, 6)}
BAD_SAFETENSORS: dict[str, tuple[object, bytes, tuple[str, ...]]] = {
    "no_json": (b"{'a'}", b"", ("the text is no JSON: Expecting property name", "byte 9 of")),
    "no_object": (b"[]", b"", ("does not start with '{'", "byte 8 of")),
    "no_utf8": (b'{"a\xff": 1}', b"", ("no UTF-8", "byte 11 of")),
    "half_character": (b'{"__metadata__": {"a": "\\ud800"}}', b"", ("names half a character",)),
    "trailing": (b"{} x", b"", ("Extra data", "byte 11 of")),
    "nan": (b'{"a": NaN}', b"", ("NaN is no number of JSON",)),
    "doubled": (b'{"a": 1, "a": 2}', b"", ("the name 'a' occurs twice",)),
    "doubled_field": (b'{"a": {"dtype": "U8", "dtype": "I8"}}', b"", ("the name 'dtype' occurs twice",)),
    "deep": (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", b"", ("nests 100001 levels deep, more than 8",)),
    "digits": (b'{"a": ' + b"9" * 5000 + b"}", b"", ("a whole number of 5000 digits",)),
    "metadata": ({"__metadata__": {"a": 1}}, b"", ("the metadata is no object of texts", "__metadata__")),
    "entry": ({"a": [1]}, b"", ("no object of dtype, shape and data_offsets", "tensor 'a'")),
    "fields": ({"a": {**U8, "strides": [1]}}, b"abcd", ("no object of dtype, shape and data_offsets",)),
    "type": ({"a": entry([4], 0, 4, "U9")}, b"abcd", ("no element type 'U9'", "F64, I64")),
    "type_kind": ({"a": entry([4], 0, 4, 8)}, b"abcd", ("no element type 8",)),
    "negative": ({"a": entry([-4], 0, 4)}, b"abcd", ("whole numbers from 0: [-4]",)),
    "fraction": ({"a": entry([4.0], 0, 4)}, b"abcd", ("whole numbers from 0: [4.0]",)),
    "truth": ({"a": entry([True, 4], 0, 4)}, b"abcd", ("whole numbers from 0: [True, 4]",)),
    "rank": ({"a": entry([1] * 33 + [4], 0, 4)}, b"abcd", ("at most 32 whole numbers",)),
    "backwards": ({"a": entry([4], 4, 0)}, b"abcd", ("two bytes of the data in rising order: [4, 0]",)),
    "three": ({"a": {**U8, "data_offsets": [0, 4, 4]}}, b"abcd", ("rising order: [0, 4, 4]",)),
    "outside": ({"a": entry([4], 0, 4)}, b"abc", ("rising order: [0, 4]", "the data has 3 bytes", "cut short")),
    "size": ({"a": entry([5], 0, 4)}, b"abcd", ("U8 of shape [5] does not take the 4 bytes from 0 to 4",)),
    "product": ({"a": entry([2**32, 2**32], 0, 4)}, b"abcd", ("does not take the 4 bytes",)),
    "empty_axis": ({"a": entry([2**62, 2**62, 0], 0, 0)}, b"", ("does not take the 0 bytes",)),
    "huge_axis": ({"a": entry([2**64, 0], 0, 0)}, b"", ("does not take the 0 bytes",)),
    "overlap": (OVERLAP, b"abcdef", ("tensor 'a' and tensor 'b' overlap",)),
    "gap": ({"a": entry([1], 0, 1), "b": entry([1], 2, 3)}, b"abc", ("leave 1 bytes between them",)),
    "late": ({"a": entry([1], 2, 3)}, b"abc", ("the header and tensor 'a' leave 2 bytes between them",)),
    "rest": ({"a": U8}, b"abcdef", ("2 bytes belong to no tensor", "after tensor 'a'")),
}


@pytest.mark.parametrize("name", BAD_SAFETENSORS)
def test_a_malformed_safetensors_file_is_refused(name: str, tmp_path: Path) -> None:
    header, data, said = BAD_SAFETENSORS[name]
    refused(lambda: safetensors.open(raw_file(tmp_path / "x.safetensors", header, data)), "x.safetensors", *said)


def test_the_length_of_a_header_is_checked_before_it_is_read(tmp_path: Path) -> None:
    for length in (2**63, 2**64 - 1, 11, 100_000_001):
        path = raw_file(tmp_path / "x.safetensors", b"{}", b"", length)
        refused(lambda path=path: safetensors.open(path), f"its header is said to have {length} bytes, but only 2")
    path = tmp_path / "sparse.safetensors"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", 100_000_001))
        file.truncate(100_000_100)
    refused(lambda: safetensors.open(path), "the format allows 100000000")


# -- places where a file is none


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty.gguf").write_bytes(b"")
    for open in (weights.open, safetensors.open, gguf.open):
        refused(lambda open=open: open(tmp_path / "none"), "there is no such file")
        refused(lambda open=open: open(tmp_path), "this is no regular file")
        refused(lambda open=open: open(tmp_path / "pipe"), "this is no regular file")
        refused(lambda open=open: open("/dev/zero"), "this is no regular file")
        refused(lambda open=open: open(tmp_path / "empty.gguf"), "the file is empty")
        refused(lambda open=open: open("a\0b"), "there is no such file")
    refused(lambda: weights.open(tmp_path / ("x" * 300)), "file")


# -- sharded models


def shards(folder: Path) -> Path:
    raw_file(folder / "one.safetensors", {"a": U8, "b": entry([2], 4, 8, "U16")}, b"abcdefgh")
    raw_file(folder / "two.safetensors", {"c": entry([3], 0, 3)}, b"xyz")
    index = {"metadata": {"total_size": 11}, "weight_map": {"c": "two.safetensors", "a": "one.safetensors"}}
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps(index))
    return path


def test_a_sharded_model_is_one_mapping(tmp_path: Path) -> None:
    found = weights.open(shards(tmp_path))
    assert list(found) == ["c", "a"] and "b" not in found
    assert found["c"].tobytes() == b"xyz" and found["a"].tobytes() == b"abcd"
    assert found.metadata["total_size"] == 11
    assert {s.file.name for s in found.stored.values()} == {"one.safetensors", "two.safetensors"}
    assert sorted(safetensors.declarations(tmp_path / "model.safetensors.index.json")) == ["a", "c"]


BAD_INDEX: dict[str, tuple[object, str]] = {
    "no_map": ({}, "the index has no object weight_map"),
    "list": ([1], "no object"),
    "metadata": ({"metadata": 3, "weight_map": {}}, "the metadata of the index is no object"),
    "parent": ({"weight_map": {"a": "../one.safetensors"}}, "is no name of a safetensors file"),
    "absolute": ({"weight_map": {"a": "/etc/one.safetensors"}}, "is no name of a safetensors file"),
    "other": ({"weight_map": {"a": "one.bin"}}, "is no name of a safetensors file"),
    "number": ({"weight_map": {"a": 3}}, "said to lie in 3"),
    "missing_file": ({"weight_map": {"a": "three.safetensors"}}, "there is no such file"),
    "missing_tensor": ({"weight_map": {"q": "one.safetensors"}}, "tensor 'q' is not in one.safetensors"),
    "itself": ({"weight_map": {"a": "index.safetensors"}}, "does not start with '{'"),
}


@pytest.mark.parametrize("name", BAD_INDEX)
def test_a_malformed_index_is_refused(name: str, tmp_path: Path) -> None:
    path = shards(tmp_path)
    (tmp_path / "index.safetensors").write_bytes(bytes(16))
    index, said = BAD_INDEX[name]
    path.write_text(json.dumps(index))
    refused(lambda: weights.open(path), said)


# -- GGUF


def gguf_file(
    path: Path, pairs: list[bytes] = [], tensors: list[bytes] = [], data: bytes = b"",  # noqa: B006
    *, version: int = 3, counts: tuple[int, int] | None = None, magic: bytes = b"GGUF", align: int = 32,
) -> Path:  # fmt: skip
    """A file in the format itself, padded before its data."""
    count = counts or (len(tensors), len(pairs))
    head = magic + struct.pack("<IQQ", version, *count) + b"".join((*pairs, *tensors))
    path.write_bytes(head + (bytes(-len(head) % align) + data if tensors else data))
    return path


def text(s: str | bytes) -> bytes:
    raw = s if isinstance(s, bytes) else s.encode()
    return struct.pack("<Q", len(raw)) + raw


def pair(key: str | bytes, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def info(name: str, shape: list[int], kind: int = 24, offset: int = 0) -> bytes:
    """A tensor of type I8 unless said otherwise; `shape` as the format has it, contiguous axis first."""
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


def test_gguf_files_are_what_their_library_reads(tmp_path: Path) -> None:
    library = pytest.importorskip("gguf")
    r = np.random.default_rng(1)
    path = tmp_path / "all.gguf"
    writer = library.GGUFWriter(str(path), "llama")
    writer.add_uint32("a.u32", 7)
    writer.add_int8("a.i8", -3)
    writer.add_float32("a.f32", 0.5)
    writer.add_float64("a.f64", 1e-300)
    writer.add_bool("a.yes", True)
    writer.add_uint64("a.u64", 2**64 - 1)
    writer.add_string("a.text", "grüße ✓")
    writer.add_array("a.tokens", ["<s>", "", "ü"])
    writer.add_array("a.numbers", [1, -2, 3])
    writer.add_array("a.floats", [0.5, 1.5])
    writer.add_array("a.bools", [True, False])
    plain = {f"p{n}": r.standard_normal(s).astype(k) for n, (s, k) in enumerate(
        [((5, 7), np.float32), ((3, 2, 4), np.float16), ((11,), np.float32), ((2, 3), np.float64)])}  # fmt: skip
    for name, array in plain.items():
        writer.add_tensor(name, array)
    for kind in ("Q4_0", "Q8_0", "Q5_1", "BF16"):
        quantised = library.quants.quantize(
            r.standard_normal((6, 64)).astype(np.float32), library.GGMLQuantizationType[kind]
        )
        writer.add_tensor(kind, quantised, raw_dtype=library.GGMLQuantizationType[kind])
    for kind in ("Q4_K", "Q6_K", "IQ4_XS", "TQ1_0"):
        size = library.GGML_QUANT_SIZES[library.GGMLQuantizationType[kind]][1]
        blocks = r.integers(0, 256, (2, 3, 2 * size)).astype(np.uint8)
        writer.add_tensor(kind, blocks, raw_dtype=library.GGMLQuantizationType[kind])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()

    found, reader = weights.open(path), library.GGUFReader(str(path))
    assert list(found) == [t.name for t in reader.tensors]
    for t in reader.tensors:
        assert found.type(t.name) == t.tensor_type.name
        assert found.stored[t.name].offset == t.data_offset and found.stored[t.name].size == t.n_bytes
        assert found.raw(t.name).tobytes() == t.data.tobytes()
        assert found[t.name].shape == (t.data.shape if t.name != "BF16" else (6, 64)), t.name
    for name, array in plain.items():
        np.testing.assert_array_equal(found[name], array)
    assert found["BF16"].dtype == np.uint16 and found.declarations()["BF16"].dtype == "bf16"
    assert found.declarations()["Q4_0"].dtype == "u8" and repr(found.declarations()["Q4_0"].shape) == "(6, 36)"
    want = {k: f.contents() for k, f in reader.fields.items() if not k.startswith("GGUF.")}
    got = {k: v.tolist() if isinstance(v, np.ndarray) else list(v) if isinstance(v, tuple) else v
           for k, v in found.metadata.items()}  # fmt: skip
    assert got == want and got["a.text"] == "grüße ✓" and type(got["a.yes"]) is bool


def test_the_table_of_types_is_that_of_the_library() -> None:
    library = pytest.importorskip("gguf")
    ours = {n: (name, 1, size) for n, (name, _, size) in gguf.PLAIN.items()} | gguf.BLOCKS
    for kind, (block, size) in library.GGML_QUANT_SIZES.items():
        assert ours[int(kind)] == (kind.name, block, size)


def test_alignment_nesting_and_empty_files(tmp_path: Path) -> None:
    nested = pair("n", 9, struct.pack("<IQ", 9, 2) + struct.pack("<IQ", 8, 1) + text("x") + struct.pack("<IQ", 0, 0))
    align = pair("general.alignment", 4, struct.pack("<I", 8))
    data = b"abc" + bytes(5) + b"de"
    path = gguf_file(tmp_path / "x.gguf", [align, nested], [info("a", [3]), info("b", [2, 1], offset=8)], data, align=8)
    found = gguf.open(path)
    assert found["a"].tobytes() == b"abc" and found["b"].tobytes() == b"de" and found["b"].shape == (1, 2)
    assert found.metadata["n"][0] == ("x",)  # type: ignore[index]
    assert len(gguf.open(gguf_file(tmp_path / "none.gguf", version=2))) == 0
    empty = gguf.open(gguf_file(tmp_path / "empty.gguf", [], [info("a", [0, 4]), info("b", [])], b"!"))
    assert empty["a"].shape == (4, 0) and empty["b"].shape == () and empty["b"].tobytes() == b"!"


def _array(kind: int, count: int, rest: bytes = b"") -> bytes:
    return pair("k", 9, struct.pack("<IQ", kind, count) + rest)


DEEP = b"".join(struct.pack("<IQ", 9, 1) for _ in range(200))
ALIGN = "general.alignment"
BAD_GGUF: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "magic": ({"magic": b"GGML"}, ("it starts with b'GGML'", "byte 0 of")),
    "big_endian": ({"version": 3 << 24}, ("the file is big-endian", "byte 4 of")),
    "version": ({"version": 1}, ("version 1 of GGUF is not known", "write version 2 or 3")),
    "counts": ({"counts": (2**63, 0)}, ("0 pairs of metadata and 9223372036854775808 tensors do not fit", "byte 8 of")),
    "pairs": ({"counts": (0, 2**40)}, ("1099511627776 pairs",)),
    "missing_pair": (
        {"counts": (0, 1), "data": b"\0" * 13},
        ("a key is empty", "byte 24 of"),
    ),
    "key_twice": ({"pairs": [pair("k", 0, b"x")] * 2}, ("a key occurs twice", "the metadata 'k'", "byte 38 of")),
    "key_long": ({"pairs": [pair("k" * 65536, 0, b"x")]}, ("a text of 65536 bytes where 65535 are allowed",)),
    "key_utf8": ({"pairs": [pair(b"k\xc3", 0, b"x")]}, ("a text is no UTF-8", "byte 33 of")),
    "text_long": ({"pairs": [pair("k", 8, struct.pack("<Q", 2**62))]}, ("4611686018427387904 bytes are expected",)),
    "value_type": ({"pairs": [pair("k", 13, b"xxxx")]}, ("13 is no type of a value", "types are 0 to 12", "byte 33")),
    "bool": ({"pairs": [pair("k", 7, b"\2")]}, ("a bool is stored as 2", "byte 37 of")),
    "bools": ({"pairs": [_array(7, 3, b"\0\1\3")]}, ("a bool is stored as 3", "byte 51 of")),
    "array_type": ({"pairs": [_array(13, 1, b"xxxx")]}, ("13 is no type of a value",)),
    "array_long": ({"pairs": [_array(4, 2**61)]}, ("an array of 2305843009213693952 elements cannot lie in the 0",)),
    "texts_long": ({"pairs": [_array(8, 2, text("abc"))]}, ("an array of 2 elements cannot lie in the 11 bytes",)),
    "array_deep": ({"pairs": [pair("k", 9, DEEP)]}, ("nested more than 4 levels deep",)),
    "align_type": ({"pairs": [pair(ALIGN, 8, text("32"))]}, ("the alignment is '32'", "general.alignment")),
    "align_0": ({"pairs": [pair(ALIGN, 4, bytes(4))]}, ("the alignment is 0", "write a multiple of 8")),
    "align_12": ({"pairs": [pair(ALIGN, 4, struct.pack("<I", 12))]}, ("the alignment is 12",)),
    "align_bool": ({"pairs": [pair(ALIGN, 7, b"\1")]}, ("the alignment is True",)),
    "name_twice": ({"tensors": [info("a", [1]), info("a", [1], offset=32)]}, ("two tensors have one name",)),
    "axes": ({"tensors": [info("a", [1] * 9)]}, ("a tensor of 9 axes, more than 8",)),
    "axes_many": ({"tensors": [text("a") + struct.pack("<IIQ", 2**32 - 1, 0, 0)]}, ("a tensor of 4294967295 axes",)),
    "extent": ({"tensors": [info("a", [2**63])]}, ("a tensor of shape [9223372036854775808] in a file of",)),
    "product": ({"tensors": [info("a", [2**40, 2**40])]}, ("a tensor of shape [1099511627776, 1099511627776]",)),
    "empty_axes": ({"tensors": [info("a", [0, 2**62])]}, ("a tensor of shape [4611686018427387904, 0]",)),
    "type": ({"tensors": [info("a", [1], 4)]}, ("there is no type 4 of elements",)),
    "rows": ({"tensors": [info("a", [33], 2)]}, ("rows of 33 elements are no whole blocks of Q4_0, which have 32",)),
    "scalar": ({"tensors": [info("a", [], 2)]}, ("rows of 1 elements are no whole blocks",)),
    "outside": ({"tensors": [info("a", [40])], "data": bytes(39)}, ("the tensor ends at byte", "but the file has")),
    "offset": ({"tensors": [info("a", [1], offset=2**63)], "data": b"x"}, ("starts at 9223372036854775808 of",)),
    "overlap": (
        {"tensors": [info("a", [40]), info("b", [8], offset=32)], "data": bytes(80)},
        ("the tensor starts at 32 of the data, not at 64 where", "tensor 'b'"),
    ),
    "gap": ({"tensors": [info("a", [1], offset=32)], "data": bytes(80)}, ("starts at 32 of the data, not at 0",)),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_GGUF)
def test_a_malformed_gguf_file_is_refused(name: str, tmp_path: Path) -> None:
    said = BAD_GGUF[name][1]
    refused(lambda: gguf.open(gguf_file(tmp_path / "x.gguf", **BAD_GGUF[name][0])), "x.gguf", *said)


def test_a_gguf_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    pairs = [pair("k", 9, struct.pack("<IQ", 8, 2) + text("ab") + text("c")), pair("f", 6, b"\0\0\x80?")]
    whole = gguf_file(tmp_path / "x.gguf", pairs, [info("a", [3, 2])], b"abcdef").read_bytes()
    assert gguf.open(tmp_path / "x.gguf").metadata["f"] == 1.0
    for size in range(len(whole)):
        (tmp_path / "x.gguf").write_bytes(whole[:size])
        refused(lambda: gguf.open(tmp_path / "x.gguf"))


def test_the_door_tells_formats_apart_and_names_unknown_tensors(tmp_path: Path) -> None:
    one = weights.open(gguf_file(tmp_path / "misnamed.safetensors", [], [info("a", [3])], b"abc"))
    assert one["a"].tobytes() == b"abc" and one.arrays(["a"], lambda n: "q" + n)["qa"].tobytes() == b"abc"
    refused(lambda: one["b"], "there is no tensor 'b'", "which has 1 tensors", "the names start with: a")
    with pytest.raises(InputError):
        one.arrays(["a", "b"])
    two = weights.open(gguf_file(tmp_path / "clash.gguf", [], [info("a.b", [0]), info("a_b", [0])]))
    refused(two.declarations, "'a.b' and 'a_b' both become 'a_b'")
    refused(two.arrays, "both become")
    assert sorted(two.arrays(rename=str)) == ["a.b", "a_b"]


# -- quantised weights, end to end


def quantised_file(folder: Path, kinds: tuple[str, ...], rows: int, width: int) -> Any:
    """The library, with model.gguf written: a tensor `blk.N.ffn_up.weight` of every kind."""
    library = pytest.importorskip("gguf")
    r = np.random.default_rng(2)
    writer = library.GGUFWriter(str(folder / "model.gguf"), "llama")
    for n, kind in enumerate(kinds):
        found = library.GGMLQuantizationType[kind]
        blocks = library.quants.quantize(r.standard_normal((rows, width)).astype(np.float32), found)
        writer.add_tensor(f"blk.{n}.ffn_up.weight", blocks, raw_dtype=found)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return library


def test_quantised_weights_are_dequantised_as_their_library_does(tmp_path: Path) -> None:
    kinds = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0")
    library = quantised_file(tmp_path, kinds, 3, 96)
    found = weights.open(tmp_path / "model.gguf")
    for name in found:
        graph = te.graph("weight", w=te.dequantize(te.Array(found.declarations()[name]), found.type(name).lower()))
        got = te.interpret(graph, found.arrays([name]))["w"]
        want = library.quants.dequantize(found[name], library.GGMLQuantizationType[found.type(name)])
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)


def test_the_example_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    library = quantised_file(tmp_path, ("Q4_0",), 7, 64)
    page = (Path(__file__).parent.parent / "docs" / "weights.md").read_text(encoding="utf-8")
    block, binding = (b.partition("```")[0] for b in page.split("```python\n")[1:])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TANG_CFLAGS", "-O1")
    space: dict[str, Any] = {"np": np}
    exec(block, space)
    assert capsys.readouterr().out == "Q4_0 (7, 36) llama\n"
    table = library.quants.dequantize(space["w"]["blk.0.ffn_up.weight"], library.GGMLQuantizationType.Q4_0)
    np.testing.assert_allclose(space["y"], np.ones((4, 64)) @ table.T, rtol=1e-5, atol=1e-5)
    exec(binding, space)
    assert capsys.readouterr().out == "(11, 1536)\n"
