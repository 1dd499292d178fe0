"""What an artefact consists of: its manifest, its kernels, and all parts of a file that was read."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tang_egg.artefact_file import Archive
from tang_egg.ir import Graph
from tang_egg.pipeline_compiled import Derived, Options
from tang_egg.program import Program
from tang_egg.run_toolchain import Identity
from tang_egg.schedule import Schedule
from tang_egg.verify import Verification

FORMAT = 1
"""Raised when a file of this version cannot be read by an earlier one."""
KIND = "tang_egg artefact"
SOURCE = {
    "c": "source.c", "cuda": "source.cu", "opencl": "source.cl", "metal": "source.metal", "wgsl": "source.wgsl",
    "glsl": "source.comp",
}  # fmt: skip
"""The member with the printed source, by target."""

MANIFEST, GRAPH, PROGRAM, KERNELS, DERIVATION, REPORT, LIBRARY = (
    "manifest.json", "graph.tang", "program.tang", "kernels.json", "derivation.json", "report.json", "library.so",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Held:
    """A bound array: the member that holds its bytes, in C order and little-endian."""

    input: str
    dtype: str
    shape: tuple[int, ...]
    member: str


@dataclass(frozen=True, slots=True)
class Checked:
    """What verification found when the graph was compiled."""

    runs: int
    errors: dict[str, float]
    samples: int
    derived: bool


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a file says of itself. `members`: the SHA-256 of each, by name."""

    format: int
    kind: str
    tang_egg: str
    target: str
    graph: str
    program: str
    options: Options
    members: dict[str, str]
    verification: Checked | None = None
    library: Identity | None = None
    arrays: tuple[Held, ...] = ()


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel: how many of the program's tensors it writes, and how."""

    name: str
    writes: int
    laws: tuple[str, ...]
    schedule: str


@dataclass(frozen=True, slots=True)
class Kernels:
    """The kernels in order. `outputs`: which of the stored tensors are the graph's. `copies`: schedules of kernels that
    only copy an output.
    """

    kernels: tuple[Kernel, ...]
    outputs: tuple[int, ...]
    copies: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Artefact:
    """The parts of a file, checked against their hashes and each other; nothing is built or run.

    `schedules` has those of copies that the program makes of its outputs, too. `arrays` are maps of the file.
    """

    path: Path
    manifest: Manifest
    graph: Graph
    program: Program
    schedules: dict[str, Schedule]
    derived: Derived
    source: str
    arrays: dict[str, np.ndarray[Any, Any]]
    archive: Archive = field(repr=False)

    @property
    def target(self) -> str:
        return self.manifest.target

    @property
    def verification(self) -> Verification | None:
        """What was found when the graph was compiled."""
        found = self.manifest.verification
        return Verification(found.runs, dict(found.errors), found.samples, found.derived) if found else None


def version() -> str:
    """The version of this package."""
    return str(vars(sys.modules["tang_egg"])["__version__"])  # the package itself is a layer above this one
