"""What a caller may ask of a selected program beyond its selection: folds in shares, products in parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tang_egg.errors import GraphError
from tang_egg.extract.derive import Step
from tang_egg.extract.precision import SCHEMES
from tang_egg.extract.rewriting import products_rewriting, split_rewriting
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
    if split is not None and not isinstance(split, Mapping):
        raise GraphError(
            f"split is a value of type {type(split).__name__}",
            where="optimize",
            mend="pass a dict of numbers of shares by axis: split={'K:1': 8}",
        )
    program, steps = found.program, found.steps
    done = list(found.rewritings)
    if split:
        record, program, steps = split_rewriting(found.graph, program, split, steps)
        done.append(record)
    if products in SCHEMES:
        record, program, more = products_rewriting(program, products)
        done.append(record)
        steps = _joined(steps, more)
    if program is found.program:
        return found
    before = found.selected or found.program
    return replace(found, program=program, steps=steps, selected=before, rewritings=tuple(done))


def _joined(steps: Mapping[str, tuple[Step, ...]], more: Mapping[str, tuple[Step, ...]]) -> dict[str, tuple[Step, ...]]:
    return {k: (*steps.get(k, ()), *more.get(k, ())) for k in (*steps, *(m for m in more if m not in steps))}
