"""Constants that are shipped: estimates of a class of machines, for use until a device has been measured.

They order candidates and give floors their size. A floor that rests on them says so and proves nothing: the machine at
hand may be faster.
"""

from __future__ import annotations

from tang_egg.cost.device import MEMORY, Device, DeviceError, Figure, Level, Unit


def _guess(value: float, ceiling: float = 0.0) -> Figure:
    return Figure(value, value, ceiling, origin="estimate")


def _level(
    name: str, size: int, copies: int, latency: float, read: float, write: float, copy: float, ceiling: float = 0.0
) -> Level:
    hop, rates = _guess(latency / 2), (_guess(x, ceiling) for x in (read, write, copy))
    return Level(name, size, copies, _guess(latency), hop, *rates)


SMALL_PROCESSOR = Device(
    "two cores with 256-bit vectors, shared with others", "c", "estimate", 2, 2, _guess(2e-9),
    (
        Level("registers", 16 * 32, 2),
        _level("L1", 32 << 10, 2, 1.4e-9, 2.0e11, 1.6e11, 3.0e11, 1.1e12),
        _level("L2", 512 << 10, 2, 4e-9, 1.4e11, 1.2e11, 1.6e11, 8.9e11),
        _level("L3", 32 << 20, 1, 2e-8, 3.6e10, 2.4e10, 3.4e10, 8.9e11),
        _level(MEMORY, 0, 1, 1.2e-7, 2.4e10, 1.7e10, 2.2e10, 4.5e10),
    ),
    (Unit("f32", False, _guess(2.0e11, 3.4e11)), Unit("f64", False, _guess(1.0e11, 1.7e11))),
    team=_guess(1.1e-6), barrier=_guess(4e-7), clock=3.5e9, notes=("256 bits",),
)  # fmt: skip
"""Of the order of what was measured on an AMD EPYC of family 25 in a virtual machine."""

SMALL_CORE = Device(
    "one core with 256-bit vectors, shared with others", "c1", "estimate", 1, 1, _guess(2e-9),
    (
        Level("registers", 16 * 32, 1),
        _level("L1", 32 << 10, 1, 1.4e-9, 1.0e11, 9.0e10, 1.7e11, 5.6e11),
        _level("L2", 512 << 10, 1, 4e-9, 7.0e10, 6.5e10, 9.0e10, 4.5e11),
        _level("L3", 32 << 20, 1, 2e-8, 1.8e10, 1.2e10, 1.7e10, 4.5e11),
        _level(MEMORY, 0, 1, 1.2e-7, 1.25e10, 9.5e9, 1.2e10, 4.0e10),
    ),
    (Unit("f32", False, _guess(1.1e11, 1.7e11)), Unit("f64", False, _guess(5.5e10, 8.5e10))),
    clock=3.5e9, notes=("256 bits",),
)  # fmt: skip
"""One core of the same."""

WIDE_PROCESSOR = Device(
    "two cores with 512-bit vectors, shared with others", "c", "estimate", 2, 2, _guess(1.4e-9),
    (
        Level("registers", 32 * 64, 2),
        _level("L1", 48 << 10, 2, 9.6e-10, 9.8e11, 5.1e11, 1.0e12, 2.8e12),
        _level("L2", 1 << 20, 2, 4.4e-9, 5.0e11, 4.8e11, 4.9e11, 1.2e12),
        _level("L3", 32 << 20, 1, 1.5e-7, 2.2e11, 2.1e11, 2.3e11, 1.2e12),
        _level(MEMORY, 0, 1, 2.8e-7, 6.8e10, 5.1e10, 6.0e10, 1.4e11),
    ),
    (Unit("f32", False, _guess(6.7e11, 9.0e11)), Unit("f64", False, _guess(3.4e11, 4.5e11))),
    team=_guess(1.1e-6), barrier=_guess(4.3e-7), clock=4.3e9, notes=("512 bits",),
)  # fmt: skip
"""Of the order of what was measured on an AMD EPYC of family 26 in a virtual machine."""

WIDE_CORE = Device(
    "one core with 512-bit vectors, shared with others", "c1", "estimate", 1, 1, _guess(1.4e-9),
    (
        Level("registers", 32 * 64, 1),
        _level("L1", 48 << 10, 1, 9.6e-10, 5.2e11, 2.7e11, 5.3e11, 1.4e12),
        _level("L2", 1 << 20, 1, 4.3e-9, 2.5e11, 2.5e11, 2.4e11, 6.0e11),
        _level("L3", 32 << 20, 1, 1.5e-7, 1.0e11, 8.4e10, 1.1e11, 6.0e11),
        _level(MEMORY, 0, 1, 2.8e-7, 3.4e10, 2.5e10, 3.3e10, 8.0e10),
    ),
    (Unit("f32", False, _guess(3.3e11, 4.5e11)), Unit("f64", False, _guess(1.7e11, 2.3e11))),
    clock=4.3e9, notes=("512 bits",),
)  # fmt: skip
"""One core of the same."""

_CYCLES = 132 * 1.98e9
H200 = Device(
    "NVIDIA H200", "cuda", "estimate", 132, 132 * 32, _guess(5.1e-7),
    (
        Level("registers", 256 << 10, 132),
        _level("shared", 256 << 10, 132, 1.7e-8, 3.0e13, 3.0e13, 3.0e13, 128 * _CYCLES),
        _level("L2", 60 << 20, 1, 1.4e-7, 7.0e12, 4.0e12, 6.0e12, 128 * _CYCLES),
        _level(MEMORY, 0, 1, 4.5e-7, 4.42e12, 4.2e12, 4.26e12, 4.92e12),
    ),
    tuple(
        Unit(operand, matrix, _guess(rate, each * _CYCLES))
        for operand, matrix, rate, each in (
            ("f32", False, 5.1e13, 256), ("f64", False, 3.0e13, 128), ("f16", False, 1.1e14, 512),
            ("bf16", False, 1.1e14, 512), ("bf16", True, 7.2e14, 4096), ("f16", True, 7.2e14, 4096),
            ("tf32", True, 3.8e14, 2048), ("i8", True, 1.4e15, 8192), ("fp8", True, 1.4e15, 8192),
            ("f64", True, 6.0e13, 256),
        )
    ),
    barrier=_guess(2e-8), clock=1.98e9,
)  # fmt: skip
"""Memory, launches inside a graph and products as other programs showed them on such a device; the rest is a guess."""

_SHIPPED = {d.target: d for d in (SMALL_PROCESSOR, SMALL_CORE, H200)}
_WIDE = {d.target: d for d in (WIDE_PROCESSOR, WIDE_CORE)}
ESTIMATES = (SMALL_PROCESSOR, SMALL_CORE, WIDE_PROCESSOR, WIDE_CORE, H200)
"""Every estimate that is shipped."""


def estimate(target: str, bits: int = 256) -> Device:
    """The estimate that is shipped for a target, of a processor for vectors of so many bits.

    Raises DeviceError where there is none.
    """
    if bits > 256 and target in _WIDE:
        return _WIDE[target]
    if target in _SHIPPED:
        return _SHIPPED[target]
    raise DeviceError(
        f"no constants of a device are known for target '{target}'",
        where="estimates of devices",
        mend=f"measure one: tang-doctor --probe --target {target}; estimates are shipped for {', '.join(_SHIPPED)}",
    )
