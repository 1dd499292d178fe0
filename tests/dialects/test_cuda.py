"""The CUDA dialect: golden kernels of whole programs, and that each compiles for a Hopper GPU."""

from __future__ import annotations

import pytest

from tang_egg.pipeline import sources
from tests.conftest import GOLDEN, Golden
from tests.cuda_compile import check_clean, compiled, started
from tests.cuda_programs import PROGRAMS, built, shown, units

SLOW = ("convolution_padded", "top_k")
"""Programs whose kernels the compiler takes seconds for."""
SPILLS = {"gemm_bias_gelu": 192}
"""Bytes that a program may store and load for lack of registers: GELU on 128 sums of a thread, once a tile."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_printed_kernels(name: str, golden: Golden) -> None:
    for text in units(name).values() if name not in SLOW else ():
        started(text)  # the compiler works while the next programs are derived
    for b in built(PROGRAMS[name]):
        if b.plan.name in units(name):
            golden(f"{name}/cuda/{b.plan.name}.cu", shown(b))


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.nightly) if n in SLOW else n for n in PROGRAMS])
def test_printed_kernels_compile(name: str) -> None:
    for text in units(name).values():
        check_clean(compiled(text), SPILLS.get(name, 0))


def test_every_golden_kernel_is_still_printed() -> None:
    kept = {f"{p.parts[-3]}/{p.stem}" for p in GOLDEN.glob("*/cuda/*")}
    made = {f"{name}/{kernel}" for name in PROGRAMS for kernel in units(name)}
    assert kept == made, "delete the files of kernels that are gone; pytest --bless writes the others"


def test_goldens_are_what_users_get() -> None:
    assert sources(PROGRAMS["cross_entropy"].graph()) == units("cross_entropy")
