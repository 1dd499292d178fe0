"""Random graphs: interpreter, extracted program and compiled program agree (tests/fuzz.py says what that means)."""

from __future__ import annotations

import pytest

from tests.fuzz import problem
from tests.strategies import random_instance


@pytest.mark.parametrize("seed", range(40))
def test_extracted_programs(seed: int) -> None:
    assert not problem(random_instance(seed))


@pytest.mark.parametrize("seed", range(1000, 1010))
def test_extracted_programs_on_infinities(seed: int) -> None:
    assert not problem(random_instance(seed, edges=True), edges=True)


@pytest.mark.parametrize("seed", range(3000, 3006))
def test_compiled_programs_on_infinities(seed: int) -> None:
    assert not problem(random_instance(seed, edges=True), compiled=True, edges=True)


@pytest.mark.parametrize("seed", range(2000, 2012))
def test_compiled_programs(seed: int) -> None:
    assert not problem(random_instance(seed), compiled=True)
