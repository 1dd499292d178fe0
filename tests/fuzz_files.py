"""Damaged files, read one after another in a process of their own with little memory:

    python -m tests.fuzz_files FORMAT COUNT [SEED] [--start N]    FORMAT: safetensors, gguf, tang, onnx

Every file is to end in a TangError of three parts or in a well-formed result, within SECONDS and within memory in
proportion to its size. What does not is printed, with the number of the mutant, and the file is kept. The last line is
a summary in JSON. While it works, the process says on standard error which mutant it is at, so that whoever started it
knows which one ended or hung it.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import json
import resource
import signal
import struct
import sys
import tempfile
import traceback
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tang_egg.errors import InputError, TangError
from tests.mutate import mutants

SECONDS = 10
"""Time for one file; the whole of a run is limited by whoever starts it."""
ADDRESSES = 512 << 20
"""Bytes of address space beyond what is there when the work starts."""


@dataclass(frozen=True, slots=True)
class Format:
    """How seeds are made and files are read. A file of n bytes may take `flat + times * n` bytes of memory."""

    suffix: str
    seeds: Callable[[Path], list[bytes]]
    read: Callable[[Path], object]
    flat: int
    times: int


class Wrong(Exception):
    """A reader gave a result that is not well formed."""


def _slow(*_: object) -> None:
    raise Wrong(f"no result within {SECONDS} s")


# -- safetensors and GGUF


def safetensors_seeds(folder: Path) -> list[bytes]:
    r = np.random.default_rng(0)
    texts = []
    for names, meta in ((("a", "layer.0.weight", "b"), {"format": "pt"}), (("x",), {}), ((), {"k": "v"})):
        header: dict[str, Any] = {"__metadata__": meta} if meta else {}
        at, data = 0, b""
        for n, name in enumerate(names):
            dtype, size = (("F32", 4), ("BF16", 2), ("BOOL", 1))[n % 3]
            shape = [[2, 3], [5], [1, 4, 1]][n % 3]
            count = int(np.prod(shape))
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + count * size]}
            at += count * size
            data += r.integers(0, 2, count * size).astype(np.uint8).tobytes()
        text = json.dumps(header).encode()
        texts.append(struct.pack("<Q", len(text)) + text + data)
    return texts


def gguf_seeds(folder: Path) -> list[bytes]:
    def text(s: str) -> bytes:
        return struct.pack("<Q", len(s)) + s.encode()

    def file(pairs: list[bytes], infos: list[bytes], data: bytes) -> bytes:
        head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(pairs)) + b"".join((*pairs, *infos))
        return head + bytes(-len(head) % 32) + data

    pairs = [
        text("general.architecture") + struct.pack("<I", 8) + text("llama"),
        text("general.alignment") + struct.pack("<II", 4, 32),
        text("tokens") + struct.pack("<IIQ", 9, 8, 3) + text("<s>") + text("") + text("abc"),
        text("scores") + struct.pack("<IIQ3f", 9, 6, 3, 0, 1, 2),
        text("nested") + struct.pack("<IIQIQBBIQ", 9, 9, 2, 7, 2, 0, 1, 4, 0),
        text("f") + struct.pack("<Id", 12, 0.5),
    ]
    infos = [
        text("blk.0.w") + struct.pack("<IQQIQ", 2, 64, 3, 2, 0),
        text("blk.0.b") + struct.pack("<IQIQ", 1, 5, 0, 128),
        text("half") + struct.pack("<IQQIQ", 2, 2, 2, 30, 160),
    ]
    data = bytes(range(108)) + bytes(20) + np.arange(5, dtype="<f4").tobytes() + bytes(12) + bytes(8)
    return [file(pairs, infos, data), file([], [], b""), file(pairs[1:2], infos[:1], data)]


def read_weights(path: Path) -> object:
    """Everything that a file of weights has: metadata, declarations, every byte of every tensor."""
    from tang_egg.importers import weights

    found = weights.open(path)
    size, total = path.stat().st_size, 0
    for name, one in found.stored.items():
        raw = found.raw(name)
        if raw.nbytes != one.size or one.offset < 0 or one.offset + one.size > size:
            raise Wrong(f"tensor {name!r} has {raw.nbytes} bytes, not {one.size}")
        total += int(raw.sum())
        try:
            view = found[name]
            if view.nbytes != one.size or view.shape != one.shape or view.flags.writeable:
                raise Wrong(f"the view of {name!r} is {view.shape} {view.dtype}")
        except InputError:
            pass  # a type that the language lacks, or bools that are none
    walk(found.metadata)
    with contextlib.suppress(InputError):
        found.declarations()
    return total


def walk(value: Any) -> None:
    """Raises Wrong for metadata that cannot be printed or holds something unexpected."""
    if isinstance(value, (str, int, float, bool)):
        str(value).encode()
    elif isinstance(value, np.ndarray):
        value.tolist()
    elif isinstance(value, tuple):
        for v in value:
            walk(v)
    elif hasattr(value, "items"):
        for k, v in value.items():
            walk(k)
            walk(v)
    else:
        raise Wrong(f"metadata holds a {type(value).__name__}")


# -- texts of graphs


def tang_seeds(folder: Path) -> list[bytes]:
    from tang_egg import examples
    from tang_egg.text import print_graph

    names = ("softmax", "attention_causal", "layernorm_matmul", "gated_recurrence", "embedding_sum", "argmax")
    texts = [print_graph(examples.EXAMPLES[n]()) for n in names]
    texts.append(MONOIDS)
    return [t.encode() for t in texts]


MONOIDS = """graph("monoids")
lambda_ = named("lambda")
n = dim(lo=1, hi=4096, multiple=4)
lambda_ = input(f32[8, n])
N = input(i32[n], sorted=True)
B = input(bool[n])
S = input(f64[8], donated=True)
m = monoid("pair", "commutative")
m.a = component(real, identity=0.0, combine=left.a + right.a)
m.b = component(i64, identity=0, combine=max(left.b, right.b))
t = top_k(2, real)
y = exp(lambda_[i, j] * 0.5) if B[j] else 0.0
P[i] = m[j](y, j, where=(B[j], 2 <= j)).a
C[i, j]: f16 = cast(sum.scan[j](lambda_[i, j]), f16)
G[i, j] = lambda_[i, N[j] % 4]
U[i:8]: f64(into="S") = S[i] + P[i]
output(C, G, U)
"""


def read_tang(path: Path) -> object:
    """The graph of a text; printed and read again it is the same."""
    from tang_egg.cli_graph import load_graph
    from tang_egg.text import parse_graph, print_graph

    text = print_graph(load_graph(str(path)))
    again = print_graph(parse_graph(text))
    if again != text:
        raise Wrong(f"printed and read again, the graph differs:\n{text}\n--\n{again}")
    return text


# -- ONNX


def onnx_seeds(folder: Path) -> list[bytes]:
    """Models of a few nodes: weights within, weights in a file beside and outside the folder, a graph in a graph."""
    from onnx import TensorProto, helper

    def value(name: str, shape: list[Any], kind: int = TensorProto.FLOAT) -> Any:
        return helper.make_tensor_value_info(name, kind, shape)

    def outside(name: str, shape: list[int], location: str) -> Any:
        tensor = helper.make_tensor(name, TensorProto.FLOAT, [0], [])
        tensor.ClearField("float_data")
        tensor.dims[:] = shape
        tensor.data_location = TensorProto.EXTERNAL
        for key, text in (("location", location), ("offset", "0"), ("length", str(4 * int(np.prod(shape))))):
            tensor.external_data.add(key=key, value=text)
        return tensor

    def model(nodes: list[Any], inputs: list[Any], outputs: list[Any], held: list[Any]) -> bytes:
        graph = helper.make_graph(nodes, "g", inputs, outputs, held)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return bytes(made.SerializeToString())

    r = np.random.default_rng(0)
    (folder / "beside.bin").write_bytes(r.standard_normal(12).astype("<f4").tobytes())
    weight = helper.make_tensor("w", TensorProto.FLOAT, [3, 4], r.standard_normal(12).astype("<f4").tobytes(), raw=True)
    bias = helper.make_tensor("b", TensorProto.FLOAT, [4], [1, 2, 3, 4])
    shape = helper.make_tensor("s", TensorProto.INT64, [2], [4, -1])
    x, y = value("x", ["n", 3]), value("y", ["n", 4])
    product = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["y"])]
    norm = [
        helper.make_node("Softmax", ["x"], ["p"], axis=-1),
        helper.make_node("ReduceMean", ["p"], ["m"], axes=[1], keepdims=1),
        helper.make_node("Sub", ["p", "m"], ["y"]),
    ]
    reshaped = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]),
        helper.make_node("Reshape", ["t", "s"], ["r"]),
        helper.make_node("Slice", ["r", "from", "to"], ["y"]),
    ]
    ends = [helper.make_tensor(n, TensorProto.INT64, [1], [v]) for n, v in (("from", 1), ("to", 3))]
    made = [
        model(product, [x], [y], [weight, bias]),
        model(norm, [x], [value("y", ["n", 3])], []),
        model(reshaped, [value("x", [6, 2])], [value("y", [2, 3])], [shape, *ends]),
        model(product, [x], [y], [outside("w", [3, 4], "beside.bin"), bias]),
    ]
    return made


def onnx_outside(folder: Path) -> list[bytes]:
    """Models whose weights are said to lie where no model may look."""
    good = onnx_seeds(folder)[3]
    places = (b"../xde.bin", b"/etc/passw", b"/dev/zero/", b"/dev/stdin", b"./../a.bin", b"~/none.bin", b"beside\0bin")
    return [good.replace(b"beside.bin", p) for p in places]


def read_onnx(path: Path) -> object:
    from tang_egg.check import check_graph
    from tang_egg.importers import onnx  # type: ignore[attr-defined]
    from tang_egg.ir import Graph

    found = onnx.load_onnx(path)
    graph = found if isinstance(found, Graph) else found.graph
    if not isinstance(graph, Graph):
        raise Wrong(f"load_onnx gives a {type(found).__name__}")
    check_graph(graph)
    return graph


FORMATS = {
    "onnx": Format(".onnx", onnx_seeds, read_onnx, 8 << 20, 2000),
    "safetensors": Format(".safetensors", safetensors_seeds, read_weights, 1 << 20, 64),
    "gguf": Format(".gguf", gguf_seeds, read_weights, 1 << 20, 64),
    "tang": Format(".tang", tang_seeds, read_tang, 8 << 20, 2000),
}


def one(path: Path, data: bytes, format: Format) -> tuple[str, str]:
    """What became of one file: "result" or the name of an error, else "" with what is wrong."""
    path.write_bytes(data)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        format.read(path)
        said = "result"
    except TangError as error:
        said = type(error).__name__
        if not (error.what and error.where and error.mend):
            return "", f"an error of less than three parts: {error!r}"
        try:
            str(error).encode()
        except UnicodeEncodeError:
            return "", f"an error that cannot be printed: {str(error)!r:.300}"
        if len(str(error)) > 2000 + 2 * len(data):
            return "", f"an error of {len(str(error))} characters: {str(error)[:300]}"
    except BaseException:
        return "", traceback.format_exc()[-3000:]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    used = tracemalloc.get_traced_memory()[1] - before
    if used > format.flat + format.times * len(data):
        return "", f"{used} bytes of memory for a file of {len(data)}"
    return said, ""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Reads damaged files.")
    parser.add_argument("format", choices=FORMATS)
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--start", type=int, default=0, help="leave out the mutants before this one")
    given = parser.parse_args(arguments)
    faulthandler.enable()
    sys.setrecursionlimit(20_000)  # as `te.optimize` leaves it
    signal.signal(signal.SIGALRM, _slow)
    with tempfile.TemporaryDirectory() as name:
        return run(given, Path(name), FORMATS[given.format])


def run(given: argparse.Namespace, folder: Path, format: Format) -> int:
    seeds = format.seeds(folder)
    path = folder / f"file{format.suffix}"
    for data in seeds:  # the seeds themselves are good, and loading modules is no memory of a file
        path.write_bytes(data)
        format.read(path)
    resource.setrlimit(resource.RLIMIT_AS, (_size() + ADDRESSES,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    tracemalloc.start()
    ended: dict[str, int] = {}
    wrong = 0
    for n, data in enumerate(mutants(seeds, given.count, given.seed)):
        if n < given.start:
            continue
        print(n, file=sys.stderr, flush=True)
        said, problem = one(path, data, format)
        ended[said or "wrong"] = ended.get(said or "wrong", 0) + 1
        if problem:
            wrong += 1
            kept = Path(tempfile.gettempdir(), f"tang_fuzz_{given.format}_{given.seed}_{n}{format.suffix}")
            kept.write_bytes(data)
            print(f"-- mutant {n}, kept as {kept}\n{problem}", flush=True)
    print(json.dumps(ended))
    return 1 if wrong else 0


def _size() -> int:
    """Bytes of address space of this process."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


if __name__ == "__main__":
    sys.exit(main())
