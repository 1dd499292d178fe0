"""Text for an HTML page: everything escaped, changed parts of equations marked, source lines numbered."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")

_ISLAND = 3
"""Tokens that both sides share between two changes, up to which they count as changed too."""


def esc(text: object) -> str:
    """Text that is safe between tags and inside quoted attributes."""
    # what no document may hold, and what could turn the direction of the line around it, is shown and not obeyed
    kept = "".join(c if c.isprintable() or c in "\n\t" else f"\\u{ord(c):04x}" for c in str(text))
    return html.escape(kept, quote=True)


def tag(name: str, *children: str, **attributes: object) -> str:
    """An element. Children are HTML already; attribute values are escaped; `_class` is class, `data_x` data-x.

    An attribute that is True stands alone, one that is None or False is left out.
    """
    parts = [name]
    for key, value in attributes.items():
        spelled = key.lstrip("_").replace("_", "-")
        if value is True:
            parts.append(spelled)
        elif value is not None and value is not False:
            parts.append(f'{spelled}="{esc(value)}"')
    return f"<{' '.join(parts)}>{''.join(children)}</{name}>"


def code(text: object) -> str:
    """Inline code."""
    return tag("code", esc(text))


def rows(head: Sequence[str], body: Iterable[Sequence[str]], kind: str = "") -> str:
    """A table with plain head cells; the cells of `body` are HTML. It scrolls by itself where it is too wide."""
    first = tag("thead", tag("tr", *(tag("th", esc(h), scope="col") for h in head)))
    rest = tag("tbody", *(tag("tr", *(tag("td", cell) for cell in row)) for row in body))
    table = tag("table", first, rest, _class=kind or None)
    return tag("div", table, _class="wide", tabindex="0", role="region", aria_label=" ".join(head) or "table")


def changed(before: str, after: str) -> tuple[str, str]:
    """Both sides of a step as HTML: what the law took away in <del>, what it put there in <ins>."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    kept = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    ends = {(0, 0), (len(old), len(new))}
    blocks = [b for b in kept if b.size > _ISLAND or (b.a, b.b) in ends or (b.a + b.size, b.b + b.size) in ends]
    left, right, a, b = "", "", 0, 0
    for block in blocks:
        left += _marked("del", old[a : block.a])
        right += _marked("ins", new[b : block.b])
        same = esc("".join(old[block.a : block.a + block.size]))
        left, right = left + same, right + same
        a, b = block.a + block.size, block.b + block.size
    return left, right


def _marked(name: str, tokens: Sequence[str]) -> str:
    return tag(name, esc("".join(tokens))) if tokens else ""


def listing(text: str) -> str:
    """A source with a number before each line; the numbers are not part of what is selected or copied."""
    lines = text.rstrip("\n").split("\n")
    numbered = "\n".join(tag("span", esc(line), _class="line") for line in lines)
    return tag("pre", tag("code", numbered), _class="listing", tabindex="0")


def folded(summary: str, *children: str, shown: bool = False, **attributes: object) -> str:
    """A part of the page that is closed until it is asked for. `summary` is HTML."""
    return tag("details", tag("summary", summary), *children, open=shown, **attributes)


def bar(share: float, kind: str = "") -> str:
    """A bar as long as a share of its cell."""
    width = f"{100 * min(max(share, 0.0), 1.0):.1f}%"
    inside = f'<rect width="{width}" height="100%"></rect>'
    return tag("svg", inside, _class=f"bar {kind}".strip(), aria_hidden="true", focusable="false")
