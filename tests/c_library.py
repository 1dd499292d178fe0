"""Helpers of the tests of C libraries: builds one with the C compiler and calls it as a C program would."""

from __future__ import annotations

import ctypes
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tang_egg.run_arrays import NUMPY
from tang_egg.run_toolchain import compiler


def build(folder: Path, to: Path, *flags: str, example: bool = False) -> subprocess.CompletedProcess[str]:
    """Runs the compiler as a user would: plain C11 and the flags given; what it said."""
    manifest = json.loads((folder / "manifest.json").read_text())
    sources = [f for f in manifest["files"] if f.endswith(".c") and (example or f != "example.c")]
    shared = [] if example else ["-shared", "-fPIC"]
    command = [*compiler().command, "-std=c11", *flags, *shared, *sources, "-o", str(to), "-lm"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


class Library:
    """A built library, seen through its manifest alone."""

    def __init__(self, folder: Path, place: Path, *flags: str) -> None:
        self.folder = folder
        self.manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
        self.name: str = self.manifest["name"]
        to = place / f"lib{self.name}.so"
        said = build(folder, to, *(flags or ("-O1",)))
        assert said.returncode == 0, said.stderr
        self.library = ctypes.CDLL(str(to))
        self.function("error_string").restype = ctypes.c_char_p
        self.memory: Any = None
        self.weights = self._struct("weights", ctypes.c_void_p)

    def function(self, name: str) -> Any:
        return getattr(self.library, f"{self.name}_{name}")

    def _struct(self, kind: str, of: Any, first: tuple[str, ...] = ()) -> type[ctypes.Structure]:
        names = [*first, *(a["name"] for a in self.manifest[kind])] or ["unused"]
        return type(kind, (ctypes.Structure,), {"_fields_": [(n, of) for n in names]})

    def dims(self, given: Mapping[str, int]) -> Any:
        made = self._struct("dims", ctypes.c_int64)()
        for name, value in given.items():
            setattr(made, name, value)
        return ctypes.byref(made)

    def load_weights(self, path: Path | None = None) -> int:
        """Reads the file of weights into memory of this object's own; the status."""
        size = (self.folder / f"{self.name}.weights").stat().st_size + 64
        self.memory = np.zeros(size + 64, np.uint8)
        start = -self.memory.ctypes.data % 64
        self.held = self.weights()
        at = ctypes.c_void_p(self.memory.ctypes.data + start)
        text = str(path or self.folder / f"{self.name}.weights").encode()
        return int(self.function("weights_read")(text, at, ctypes.c_size_t(size), ctypes.byref(self.held)))

    def workspace(self, dims: Mapping[str, int], threads: int = 0) -> tuple[int, int]:
        """The status and the size that the query gives."""
        size = ctypes.c_size_t()
        status = self.function("workspace_bytes")(self.dims(dims), threads, ctypes.byref(size))
        return int(status), int(size.value)

    def counts(self, dims: Mapping[str, int]) -> dict[str, int]:
        names = [a["name"] for kind in ("inputs", "outputs") for a in self.manifest[kind]]
        made = type("counts", (ctypes.Structure,), {"_fields_": [(n, ctypes.c_size_t) for n in names or ["unused"]]})()
        assert self.function("elements")(self.dims(dims), ctypes.byref(made)) == 0
        return {n: int(getattr(made, n)) for n in names}

    def run(
        self, arrays: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]], dims: Mapping[str, int] | None = None,
        *, size: int | None = None, offset: int = 0, threads: int = 0,
    ) -> tuple[int, dict[str, Any]]:  # fmt: skip
        """The status of a run and the outputs, which hold 0xA5 before; `arrays` are written into where donated."""
        dims = dims or {}
        first = ("weights",) if self.manifest["weights"] else ()
        inputs, outputs = self._struct("inputs", ctypes.c_void_p, first)(), self._struct("outputs", ctypes.c_void_p)()
        if first:
            inputs.weights = ctypes.addressof(self.held)
        for a in self.manifest["inputs"]:
            array = arrays.get(a["name"])
            setattr(inputs, a["name"], None if array is None else array.ctypes.data)
        found: dict[str, Any] = {}
        for a in self.manifest["outputs"]:
            made = found[a["name"]] = np.empty(shapes[a["name"]], NUMPY[a["dtype"]])
            made.reshape(-1).view(np.uint8)[:] = 0xA5
            setattr(outputs, a["name"], made.ctypes.data)
        status, needed = self.workspace(dims, threads)
        if status:
            return status, {}
        room = np.full(needed + 128, 0x5A, np.uint8)
        given = needed if size is None else size
        status = self.function("run")(
            ctypes.byref(inputs), ctypes.byref(outputs), self.dims(dims),
            ctypes.c_void_p(room.ctypes.data + offset), ctypes.c_size_t(given),
        )  # fmt: skip
        assert (room[given + offset :] == 0x5A).all(), "written beyond the workspace"
        assert (room[:offset] == 0x5A).all(), "written before the workspace"
        for u in self.manifest["updates"]:
            found[u["name"]] = arrays[u["into"]]
        return int(status), found

    def told(self, status: int) -> str:
        return str(self.function("error_string")(status).decode())
