"""Damaged files of every format read here end in an error or a result: no crash, no hang, no memory beyond them.

TANG_FUZZ=5000 reads that many of each format instead of 200, and TANG_FUZZ_SEED others.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tang_egg.errors import TangError
from tests import fuzz_files
from tests.mutate import MOVES, mutants

ROOT = Path(__file__).parent.parent
COUNT = int(os.environ.get("TANG_FUZZ", "200"))
SEED = os.environ.get("TANG_FUZZ_SEED", "0")


def read_damaged(*arguments: str, timeout: float) -> subprocess.CompletedProcess[str]:
    """A run of tests.fuzz_files in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "tests.fuzz_files", *arguments], capture_output=True, text=True, check=False, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=timeout,
    )  # fmt: skip


@pytest.mark.parametrize("format", ["safetensors", "gguf", "tang", "onnx"])
def test_damaged_files_end_in_an_error_or_a_result(format: str) -> None:
    if format == "onnx":
        pytest.importorskip("onnx")
        pytest.importorskip("tang_egg.importers.onnx")
    done = read_damaged(format, str(COUNT), SEED, timeout=120 + COUNT / 5)
    last = "".join(done.stderr.splitlines(True)[-20:])
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n-- the mutant at the end of this was the last one\n{last}"
    ended: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    # a harness that refuses everything, or damages nothing, would show nothing
    assert sum(ended.values()) == COUNT and ended["result"] > 0
    assert sum(n for name, n in ended.items() if name != "result") > COUNT / 4


def test_weights_outside_the_folder_of_a_model_are_not_read(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("tang_egg.importers.onnx")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / "xde.bin").write_bytes(bytes(48))
    for n, data in enumerate(fuzz_files.onnx_outside(inner)):
        path = inner / f"{n}.onnx"
        path.write_bytes(data)
        with pytest.raises(TangError) as caught:
            fuzz_files.read_onnx(path)
        assert caught.value.where and caught.value.mend
    (inner / "beside.bin").unlink()
    (inner / "beside.bin").symlink_to(tmp_path / "a" / "xde.bin")
    path.write_bytes(fuzz_files.onnx_seeds(tmp_path / "a")[3])
    with pytest.raises(TangError):
        fuzz_files.read_onnx(path)


BAD_READERS = {
    "raises": "import os; os.nothing",
    "exits": "import os; os._exit(3)",
    "crashes": "import ctypes; ctypes.string_at(0)",
    "hangs": "import time; time.sleep(60)",
    "eats": "bytearray(1 << 30)",
    "eats_some": "x = bytearray(16 << 20)",
    "two_parts": "from tang_egg.errors import InputError; raise InputError('a', where='b')",
}


@pytest.mark.parametrize("name", BAD_READERS)
def test_the_harness_sees_what_it_looks_for(name: str) -> None:
    """A reader that is wrong in one way, for files with a mark only, makes a run fail."""
    program = f"""
import sys
from tests import fuzz_files
calls = 0
def read(path):
    global calls
    calls += 1
    if calls == 5:
        {BAD_READERS[name]}
fuzz_files.SECONDS = 1
fuzz_files.FORMATS["gguf"] = fuzz_files.Format(".gguf", fuzz_files.gguf_seeds, read, 1 << 20, 64)
sys.exit(fuzz_files.main(["gguf", "5"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT, timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode != 0 and "1" in done.stderr.split()


def test_mutants_are_the_same_each_time_and_differ_from_their_seeds() -> None:
    seeds = fuzz_files.gguf_seeds(Path())
    one, two = list(mutants(seeds, 300, 3)), list(mutants(seeds, 300, 3))
    assert one == two != list(mutants(seeds, 300, 4))
    assert len(set(one) - set(seeds)) > 250
    sizes = Counter(len(m) > max(map(len, seeds)) for m in one)
    assert sizes[True] > 20 and sizes[False] > 20


@pytest.mark.parametrize("move", MOVES, ids=lambda m: m.__name__)
def test_every_move_works_on_any_bytes_and_changes_some(move: object) -> None:
    import random

    assert callable(move)
    texts = (b"", b"a", b"\0" * 9, b'{"a": [1, 2]}\nb', bytes(range(256)))
    changed = 0
    for n in range(60):
        for data in texts:
            found = move(random.Random(n), data, texts)
            assert isinstance(found, bytes)
            changed += found != data
    assert changed > 20
