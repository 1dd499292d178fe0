"""The field cases as graphs, and the page that lists them: `python -m tests.field_graphs > docs/field-cases.md`."""

from __future__ import annotations

from tests import field_graphs_attention, field_graphs_folds, field_graphs_types, field_graphs_views
from tests.field_case import Case
from tests.field_cases import CASES
from tests.field_graph import STATEMENTS, UNSTATED

__all__ = ["MODULES", "STATEMENTS", "UNSTATED", "page"]

MODULES = (field_graphs_attention, field_graphs_folds, field_graphs_types, field_graphs_views)

HEAD = """# Field cases

Small problems with their right answers, restated from public reports of bugs in tensor compilers. They are in
`tests/field_cases.py`, which needs NumPy only, and stated as graphs in `tests/field_graphs.py`.
`tests/test_field_cases.py` compares the interpreter and compiled C with the answers, and sees to it that an
implementation with the reported bug, where a case has one, would be told apart. This page is generated:
`python -m tests.field_graphs > docs/field-cases.md`.

*values*: what `te.optimize` was given; with `ieee` the case holds NaN or infinities that come through, or must not.
*bug*: whether the case has an implementation with the bug.
"""

LIMITS = """## What a statement leaves out

- There is no automatic differentiation: gradients are stated as the formulas that a differentiator would have to give.
- Reals do not overflow and are not rounded except where the graph says `cast`, so a case about rounding or overflow of
  single operations (`rewrite_sqrt_square`, `rewrite_self_cancel`) says so.
- There is no `fmod`. `floor_div_float` is stated for normal numbers with quotients below 2^10 (f64) and 2^39 (f32),
  `fmod_large_ratio` for all finite f32 but a zero divisor; an infinity or a NaN is not told apart there.
- An output is written over its own input only where each element is read where it is written; `inplace_flip_add` and
  `inplace_shift` over their inputs are a GraphError, as a test shows.
- Names that are reserved words, and limits of grids, are those of all targets; here they are run on C.
"""


def _row(c: Case) -> str:
    s = STATEMENTS[c.name]
    return f"| `{c.name}` | {s.how or 'as it is'} | {s.values} | {'yes' if c.wrong else ''} | {c.notes} |"


def page() -> str:
    """The text of docs/field-cases.md."""
    stated = [c for c in CASES if c.name in STATEMENTS]
    rest = [f"- `{c.name}`: {UNSTATED[c.name]}" for c in CASES if c.name not in STATEMENTS]
    lines = [HEAD, f"{len(stated)} of {len(CASES)} cases are stated.", ""]
    for family in dict.fromkeys(c.family for c in CASES):
        lines += [f"## {family[0].upper()}{family[1:]}", ""]
        lines += ["| case | stated | values | bug | what it is about |", "|---|---|---|---|---|"]
        lines += [*(_row(c) for c in stated if c.family == family), ""]
    lines += ["## Cases that cannot be stated", "", *(rest or ["None."]), "", LIMITS]
    return "\n".join(lines)


if __name__ == "__main__":
    print(page(), end="")
