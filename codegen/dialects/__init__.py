"""The dialects that kernels are printed in, by target name."""

from __future__ import annotations

from tang_egg.codegen.dialects.c import C

DIALECTS = {"c": C}

__all__ = ["C", "DIALECTS"]
