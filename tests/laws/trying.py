"""Laws that are tried without being written into the tree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tang_egg import saturate
from tang_egg.rules import table
from tang_egg.rules.law import Table


@contextmanager
def trying(*families: Table) -> Iterator[None]:
    """Saturations inside run these families as well; engines are not shared between inside and outside."""
    known, engines = table.FAMILIES, dict(saturate._ENGINES)
    saturate._ENGINES.clear()
    table.FAMILIES = (*known, *families)
    try:
        yield
    finally:
        table.FAMILIES = known
        saturate._ENGINES.clear()
        saturate._ENGINES.update(engines)
