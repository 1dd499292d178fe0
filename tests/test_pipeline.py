"""Random graphs: the interpreter, the extracted program and the compiled one agree (see tests/fuzz.py for what that is)."""

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


@pytest.mark.parametrize("seed", range(2000, 2012))
def test_compiled_programs(seed: int) -> None:
    assert not problem(random_instance(seed), compiled=True)
