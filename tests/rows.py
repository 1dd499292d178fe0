"""The table of what must fall out of naive graphs: every row by name.

`python -m tests.rows` says which rows have their form; `python -m tests.rows NAME ...` prints what was derived.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tang_egg.errors import TangError
from tang_egg.report import build_report
from tang_egg.report_text import render_text
from tests import (
    rows_attention,
    rows_found,
    rows_gather,
    rows_moments,
    rows_order,
    rows_products,
    rows_scan,
    rows_softmax,
    rows_windows,
)
from tests.rows_model import Row, laws_of, nodes_of, seconds_of, states_of, stored

ROWS: dict[str, Row] = {
    **rows_softmax.ROWS,
    **rows_attention.ROWS,
    **rows_moments.ROWS,
    **rows_order.ROWS,
    **rows_products.ROWS,
    **rows_windows.ROWS,
    **rows_gather.ROWS,
    **rows_scan.ROWS,
    **rows_found.ROWS,
}


def _told(name: str, row: Row, small: bool) -> bool:
    """Prints whether a row has its form; says so."""
    size = "small" if small else "large"
    try:
        x = row.twin() if small else row.large()
    except TangError as error:
        print(f"{name:26} {size}: {type(error).__name__}: {str(error).splitlines()[0]}")
        return False
    wrong = row.wrong(x, small)
    print(f"{name:26} {size}: {'; '.join(wrong) or 'as required'} ({nodes_of(x)} e-nodes, {seconds_of(x):.2f} s)")
    if wrong:
        print(f"    states {states_of(x)}, stored {[t.name for t in stored(x)]}, laws {', '.join(sorted(laws_of(x)))}")
    return not wrong


def main(arguments: Sequence[str]) -> int:
    """Prints rows; 1 where one does not have its form, 2 for an unknown name."""
    unknown = [name for name in arguments if name not in ROWS]
    if unknown:
        print(f"no row is named {unknown[0]}; there are: {', '.join(ROWS)}")
        return 2
    if arguments:
        for name in arguments:
            print(render_text(build_report(ROWS[name].large())))
    found = [_told(name, ROWS[name], small) for name in arguments or ROWS for small in (False, True)]
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
