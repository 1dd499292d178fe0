"""Tensor maps of a kernel for given sizes: from outermost-first extents to what the driver is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tang_egg.codegen.device import BOX_RANK, BOX_SIDE, BYTES, LINE, TensorMap
from tang_egg.errors import CodegenError, InputError
from tang_egg.run_cuda_driver import MapSpec

ALIGNED = 16
"""Strides and addresses are multiples of as many bytes."""
LONGEST = 2**32
"""The extent of an axis stays below it."""


def map_spec(m: TensorMap, values: Mapping[str, int]) -> MapSpec:
    """The map for some values of the dims, innermost axis first, strides in bytes.

    Raises InputError for sizes that no map can describe, CodegenError for a box that none can have.
    """
    extents = tuple(n.evaluate(values) for n in m.extents)
    size = BYTES[m.buffer.type]
    _check_box(m, size)
    # An axis without elements is never read; the driver wants one at least.
    sizes = tuple(max(1, n) for n in extents)
    strides = tuple(size * prod(sizes[k + 1 :]) for k in range(len(sizes) - 1))
    where = f"array '{m.buffer.name}' seen as {list(extents)} elements of {m.buffer.type}"
    if any(n % ALIGNED for n in strides):
        raise InputError(
            f"rows of '{m.buffer.name}' are no multiple of {ALIGNED} bytes",
            where=where,
            mend=f"make its last axis a multiple of {ALIGNED // size}, or force a schedule without bulk copies",
        )
    if max(sizes) >= LONGEST:
        raise InputError(f"an axis of '{m.buffer.name}' is too long for a bulk copy", where=where, mend="split it")
    kind = "tf32" if m.rounds else m.buffer.type
    return MapSpec(kind, sizes[::-1], strides[::-1], m.box[::-1])


def _check_box(m: TensorMap, size: int) -> None:
    fits = len(m.box) == len(m.extents) <= BOX_RANK and all(1 <= n <= BOX_SIDE for n in m.box)
    if not fits or m.box[-1] * size != LINE or (m.rounds and m.buffer.type != "f32"):
        raise CodegenError(
            f"map '{m.name}' cannot be made: box {list(m.box)} of {len(m.extents)} axes of {m.buffer.type}",
            where=f"a kernel that copies '{m.buffer.name}'",
            mend=f"a box has a side of at most {BOX_SIDE} for each axis, the last one {LINE} bytes",
        )
