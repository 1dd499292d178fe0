"""Kernels that may start before the one in front of them on the stream has ended: which they are, and their launches.

CuPy launches without attributes, so the driver is called by its C interface; the structures are those of cuda.h.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tang_egg.codegen.kernel import Kernel
from tang_egg.errors import TargetError
from tang_egg.run_layout import Built

_OVERLAPS = 6
"""The driver's number of the attribute: programmatic stream serialization."""
LIBRARY = "libcuda.so.1"


class Attribute(ctypes.Structure):
    """CUlaunchAttribute: an identifier, and 64 bytes of which this attribute takes an int."""

    _fields_ = (("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", ctypes.c_int), ("rest", ctypes.c_char * 60))


class Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(Attribute)),
        ("count", ctypes.c_uint),
    )


class EarlyLaunch:
    """A kernel, called as CuPy's are. Raises OSError or AttributeError where the driver has no such launch."""

    def __init__(self, kernel: int, stream: Callable[[], int], library: Any = None) -> None:
        self.kernel, self.stream = kernel, stream
        self._attribute = Attribute(_OVERLAPS, b"", 1, b"")
        self._launch = (library or ctypes.CDLL(LIBRARY)).cuLaunchKernelEx

    def __call__(
        self, grid: tuple[int, ...], block: tuple[int, ...], arguments: tuple[Any, ...], shared_mem: int = 0
    ) -> None:
        """Puts the kernel on the current stream. `arguments`: NumPy scalars, and arrays of one element by value."""
        held = [np.asarray(a) for a in arguments]
        places = (ctypes.c_void_p * len(held))(*(a.ctypes.data for a in held))
        attribute = ctypes.pointer(self._attribute)
        config = Config((*grid,), (*block,), shared_mem, self.stream(), attribute, 1)
        status = self._launch(ctypes.byref(config), ctypes.c_void_p(self.kernel), places, None)
        if status:
            raise TargetError(
                f"the driver refuses a launch: status {status}",
                where=f"{grid} blocks of {block} threads, {shared_mem} bytes of shared memory",
                mend="take early= out of the kernel's schedule",
            )


def overlapping(kernels: tuple[Built, ...]) -> tuple[Built, ...]:
    """The kernels; those in front of an early one let it start. In front of the first is the last, of a call before."""
    made: dict[tuple[int, bool, bool], Kernel] = {}
    found: list[Built] = []
    for n, b in enumerate(kernels):
        early, yields = bool(b.schedule.early), bool(kernels[(n + 1) % len(kernels)].schedule.early)
        key = (id(b.kernel), early, yields)
        if key not in made:
            assert b.kernel.launch is not None
            launch = replace(b.kernel.launch, early=early, yields=yields)
            made[key] = replace(b.kernel, launch=launch) if early or yields else b.kernel
        found.append(replace(b, kernel=made[key]))
    return tuple(found)
