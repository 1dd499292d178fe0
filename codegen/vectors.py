"""What first schedules know of a processor: how wide its vector registers are, and how many there are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vector registers of a processor: bytes of each, and their number."""

    bytes: int
    registers: int

    def lanes(self, size: int = 4) -> int:
        """Elements of so many bytes that a register holds."""
        return self.bytes // size


SSE, AVX2, AVX512, NEON = Vectors(16, 16), Vectors(32, 16), Vectors(64, 32), Vectors(16, 32)
"""The kinds that are told apart. A kernel's vectors may be wider: a compiler takes several."""
