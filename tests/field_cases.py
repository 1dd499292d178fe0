"""All field cases: small problems with their right answers, from public reports of bugs in tensor compilers.

    python -m tests.field_cases      checks the cases themselves; only NumPy is needed

`tests.field_graphs` states those that the language can express; docs/field-cases.md lists both.
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np

from tests import field_cases_attention, field_cases_folds, field_cases_types, field_cases_views
from tests.field_case import CASES, F64, I64, Arrays, Case, differs

__all__ = ["BY_NAME", "CASES", "faults"]

MODULES = (field_cases_attention, field_cases_folds, field_cases_types, field_cases_views)
BY_NAME = {c.name: c for c in CASES}


def faults(c: Case) -> list[str]:
    """What is wrong with a case: references of other types, answers that vary, a bug that it does not show."""
    with np.errstate(all="ignore"):
        x = c.inputs()
        before = {k: v.copy() for k, v in x.items()}
        want, again = c.reference(x), c.reference(c.inputs())
        found = [f for name, r in want.items() for f in _output_faults(c, name, r, again)]
        for k, v in x.items():
            if not np.array_equal(v, before[k], equal_nan=v.dtype.kind == "f"):
                found.append(f"the reference changes input {k}")
        if c.wrong is not None and not differs(c, want, c.wrong(x)):
            found.append("the implementation with the bug agrees")
        if c.good is not None and (said := differs(c, want, c.good(x))):
            found.append(f"the float32 implementation does not agree: {said}")
    return found


def _output_faults(c: Case, name: str, r: object, again: Arrays) -> list[str]:
    if not isinstance(r, np.ndarray) or r.dtype not in (F64, I64):
        return [f"{name} is {type(r).__name__} {getattr(r, 'dtype', '')}, not float64 or int64"]
    found = []
    finite = bool(np.isfinite(r).all())
    if finite == (name in c.nonfinite) and r.size:
        found.append(f"{name} is {'' if finite else 'not '}finite")
    if not np.array_equal(r, again[name], equal_nan=r.dtype == F64):
        found.append(f"{name} differs from run to run")
    return found


def main() -> int:
    wrong = [f"{c.name}: {f}" for c in CASES for f in faults(c)]
    for family, n in sorted(Counter(c.family for c in CASES).items()):
        print(f"{n:3} {family}")
    print(
        "\n".join(wrong) or f"{len(CASES)} cases, {sum(c.wrong is not None for c in CASES)} with a bug that they show"
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
