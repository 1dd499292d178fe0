"""What a caller may ask of a selected program beyond its selection: folds in shares, products in parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tang_egg.errors import GraphError
from tang_egg.extract.derive import Step
from tang_egg.extract.precision import SCHEMES, split_products
from tang_egg.extract.split import split_program
from tang_egg.pipeline_compiled import Extraction

PRODUCTS = ("exact", "tf32", *SCHEMES)
"""How products of f32 operands may be computed."""


def check_products(where: str, values: str, products: object) -> None:
    """Raises GraphError for products that are not known, or that need finite values where all must come through."""
    if products not in PRODUCTS:
        listed = ", ".join(f"'{p}'" for p in PRODUCTS[:-1])
        raise GraphError(f"no products {products!r}", where=where, mend=f"use {listed} or '{PRODUCTS[-1]}'")
    if products in SCHEMES and values == "ieee":
        raise GraphError(
            f"products in parts, '{products}', hold on finite values only: infinity less its high part is no number",
            where=where,
            mend="use values='finite', or products='exact'",
        )


def rewritten(found: Extraction, split: Mapping[str, int] | None, products: str) -> Extraction:
    """The extraction with the folds along named axes in so many shares, and products as a scheme says.

    Raises GraphError as `split_program` and `split_products` do.
    """
    program, steps = found.program, found.steps
    if split is not None and not isinstance(split, Mapping):
        raise GraphError(
            f"split is a value of type {type(split).__name__}",
            where="optimize",
            mend="pass a dict of numbers of shares by axis: split={'K:1': 8}",
        )
    if split:
        program, steps = split_program(found.graph, program, split, steps)
    if products in SCHEMES:
        program, more = split_products(program, SCHEMES[products])
        steps = _joined(steps, more)
    return found if program is found.program else replace(found, program=program, steps=steps)


def _joined(steps: Mapping[str, tuple[Step, ...]], more: Mapping[str, tuple[Step, ...]]) -> dict[str, tuple[Step, ...]]:
    return {k: (*steps.get(k, ()), *more.get(k, ())) for k in (*steps, *(m for m in more if m not in steps))}
