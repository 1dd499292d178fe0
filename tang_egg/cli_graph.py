"""The graph that a command line names: a built-in example, a `.tang` file, or `file.py:name`."""

from __future__ import annotations

import contextlib
import re
import runpy
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tang_egg.errors import BindError, TangError, TextError, close_match
from tang_egg.examples import EXAMPLES
from tang_egg.ir import Graph
from tang_egg.text import parse_graph


def load_graph(name: str) -> Graph:
    """The graph that `name` stands for.

    `file.py:name` runs the file as the user's own program; what it prints goes to standard error.
    Raises TangError when there is no such graph or it is not well formed.
    """
    path, colon, member = name.rpartition(":")
    if colon and path.endswith(".py"):
        return _from_python(path, member)
    if name.endswith(".tang") or (Path(name).suffix == "" and Path(name).is_file()):
        return _from_text(name)
    if name in EXAMPLES:
        return EXAMPLES[name]()
    if name.endswith(".py"):
        raise TangError(
            f"'{name}' does not say which graph of the file is meant",
            where="GRAPH",
            mend=f"write {name}:NAME, a Graph or a function without arguments that returns one",
        )
    if name.endswith(".onnx"):
        raise TangError(
            f"'{name}' is an ONNX model, which this command does not read",
            where="GRAPH",
            mend="tang-compile and tang-tune do; in Python: tang_egg.from_onnx(path) and tang_egg.optimize",
        )
    if Path(name).exists():
        raise TangError(
            f"'{name}' is {'a folder' if Path(name).is_dir() else 'no text file of a graph'}",
            where="GRAPH",
            mend="give a .tang file, file.py:name, or the name of an example",
        )
    raise TangError(
        f"there is no graph '{name}'{close_match(name, EXAMPLES, 3)}",
        where="GRAPH",
        mend=f"give a .tang file, file.py:name, or one of: {', '.join(EXAMPLES)}",
    )


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
        raise TextError(f"cannot read '{path}': {why}", where=path, mend="give the path of a readable file") from None


def _from_text(path: str) -> Graph:
    return parse_graph(_read(path), file=path)


def _from_python(path: str, member: str) -> Graph:
    _read(path)
    with contextlib.redirect_stdout(sys.stderr):
        names = _guarded(path, lambda: runpy.run_path(path))
        if member not in names:
            raise TangError(
                f"'{path}' has no name '{member}'{close_match(member, (n for n in names if n[:1] != '_'), 3)}",
                where=path,
                mend="name a Graph, or a function without arguments that returns one",
            )
        found = names[member]
        if callable(found) and not isinstance(found, Graph):
            found = _guarded(path, found)
    if not isinstance(found, Graph):
        raise TangError(
            f"'{member}' is {type(found).__name__}, not a graph",
            where=path,
            mend="name a Graph (te.graph(...)), or a function without arguments that returns one",
        )
    return found


def _guarded(path: str, run: Any) -> Any:
    """Runs the user's program; what it raises is told with its own line."""
    try:
        return run()
    except TangError:
        raise
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [f.lineno for f in frames if Path(f.filename).name == Path(path).name]
        line = error.lineno if isinstance(error, SyntaxError) else own[-1] if own else None
        raise TangError(
            f"the program raised {type(error).__name__}: {error}",
            where=f"{path}:{line}" if line else path,
            mend="the file is run as a program of its own; mend it there",
        ) from None


def parse_bindings(given: Iterable[str]) -> dict[str, int]:
    """`seq=512` as a dict. Raises BindError for anything else, and for a dim that is bound twice."""
    found: dict[str, int] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name or not equals or not re.fullmatch(r"-?[0-9]{1,40}", value.strip()):
            raise BindError(f"cannot read '{text}'", where="--bind", mend="write NAME=SIZE, for example --bind seq=512")
        if name in found:
            raise BindError(f"'{name}' is bound twice", where=f"--bind {text}", mend="give each dimension one size")
        found[name] = int(value)
    return found
