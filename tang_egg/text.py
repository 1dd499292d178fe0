"""The text form of graphs: `print_graph` and `parse_graph` are inverses; `print_scalar` shows one expression."""

from tang_egg.text_graph import print_graph
from tang_egg.text_parse import parse_graph
from tang_egg.text_print import print_scalar

__all__ = ["parse_graph", "print_graph", "print_scalar"]
