"""Laws that are tried without being written into the tree, and the table without some of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from tang_egg import saturate
from tang_egg.rules import table
from tang_egg.rules.law import Table


@contextmanager
def _families(families: tuple[Table, ...]) -> Iterator[None]:
    """Saturations inside run these families; engines are not shared between inside and outside."""
    known, engines = table.FAMILIES, dict(saturate._ENGINES)
    saturate._ENGINES.clear()
    table.FAMILIES = families
    try:
        yield
    finally:
        table.FAMILIES = known
        saturate._ENGINES.clear()
        saturate._ENGINES.update(engines)


@contextmanager
def trying(*families: Table) -> Iterator[None]:
    """Saturations inside run these families as well."""
    with _families((*table.FAMILIES, *families)):
        yield


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Extractions inside have no law, closure or seed of the families of these names.

    Their relations stay declared, since closures of other families may ask for their facts.
    """
    unknown = set(names) - {f.family for f in table.FAMILIES}
    if unknown:
        raise ValueError(f"no family is named {', '.join(sorted(unknown))}")
    with _families(tuple(replace(f, entries=[]) if f.family in names else f for f in table.FAMILIES)):
        yield


@contextmanager
def lacking(*names: str) -> Iterator[None]:
    """Extractions inside have no law, closure or seed of these names."""
    unknown = set(names) - {e.name for f in table.FAMILIES for e in f.entries}
    if unknown:
        raise ValueError(f"nothing in the table is named {', '.join(sorted(unknown))}")
    with _families(tuple(replace(f, entries=[e for e in f.entries if e.name not in names]) for f in table.FAMILIES)):
        yield
