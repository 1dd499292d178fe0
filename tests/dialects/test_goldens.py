"""That the programs which every dialect has to print are kept as goldens of all six."""

from __future__ import annotations

import pytest

from tests.conftest import GOLDEN

SUFFIXES = {"c": "c", "opencl": "cl", "cuda": "cu", "wgsl": "wgsl", "glsl": "glsl", "metal": "metal"}
PROGRAMS: dict[str, tuple[str, ...]] = {
    "matmul": ("matmul",),
    "softmax": ("softmax",),
    "causal attention": ("attention_causal", "causal_attention"),
    "LayerNorm and matmul": ("layernorm_matmul",),
    "SwiGLU": ("swiglu",),
    "padded convolution": ("convolution_padded", "padded_convolution"),
    "top-k": ("top_k",),
    "segmented sum": ("segments", "segmented_sum"),
    "chunked scan": ("linear_attention", "chunked_scan"),
}
"""The folders of a program: two sizes have two names."""


@pytest.mark.parametrize("dialect", SUFFIXES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_is_kept_in_a_dialect(program: str, dialect: str) -> None:
    kept = [p for folder in PROGRAMS[program] for p in (GOLDEN / folder / dialect).glob(f"*.{SUFFIXES[dialect]}")]
    assert kept and all(p.read_text(encoding="utf-8").strip() for p in kept)
