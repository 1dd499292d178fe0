"""Trees of parentheses: the form in which the e-graph engine gets patterns and rules."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias, Union


@dataclass(frozen=True, slots=True)
class Quoted:
    """A string between quotation marks."""

    text: str


Tree: TypeAlias = Union[str, Quoted, tuple["Tree", ...]]  # noqa: UP007 (a forward reference inside | fails)
"""A symbol or number, a quoted string, or a list."""

_TOKEN = re.compile(r'"[^"]*"|[()]|[^\s()"]+')


def read_all(text: str) -> tuple[Tree, ...]:
    """The trees of a text. Raises ValueError when its parentheses do not match."""
    stack: list[list[Tree]] = [[]]
    for token in _TOKEN.findall(text):
        if token == "(":
            stack.append([])
        elif token == ")":
            if len(stack) == 1:
                raise ValueError(f"a parenthesis too many in {text!r}")
            done = tuple(stack.pop())
            stack[-1].append(done)
        else:
            stack[-1].append(Quoted(token[1:-1]) if token[0] == '"' else token)
    if len(stack) != 1:
        raise ValueError(f"a parenthesis is missing in {text!r}")
    return tuple(stack[0])


def read(text: str) -> Tree:
    """The one tree of a text."""
    (tree,) = read_all(text)
    return tree
