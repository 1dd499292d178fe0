"""JSON of model files, read with limits: size, nesting, doubled names, numbers that are none.

Python's reader nests as deep as the text does, which can end the process, keeps the last of two entries of one name,
and takes NaN. Here the nesting is counted first, on the bytes.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

import numpy as np

from tang_egg.errors import InputError

LARGEST = 100_000_000
"""Bytes that a text may have, as the safetensors format limits its header."""
DEEPEST = 8
"""Levels of objects and lists; what is read here needs three."""

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)


def shown(value: object) -> str:
    """A value of a file as a message shows it: quoted, on one line, and cut where it is long."""
    text = repr(value[:100] if isinstance(value, (str, list)) else value)
    return text if len(text) <= 80 else f"{text[:76]} ..."


class _Doubled(Exception):
    """An object has two entries of one name."""


def read_object(text: bytes, where: str, offset: int, mend: str) -> dict[str, Any]:
    """The object that a text states. `offset` is the position of the text in its file, for messages.

    Raises InputError for text that is no JSON object, and for what the module's text names.
    """
    if len(text) > LARGEST:
        raise InputError(f"the JSON text has more than {LARGEST} bytes", where=where, mend=mend)
    deep = _depth(text)
    if deep > DEEPEST:
        raise InputError(f"the JSON text nests {deep} levels deep, more than {DEEPEST}", where=where, mend=mend)
    try:
        found = json.loads(
            text.decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_constant, parse_int=_integer
        )
    except UnicodeDecodeError as error:
        raise InputError(
            f"the text is no UTF-8: {error.reason}", where=f"byte {offset + error.start} of {where}", mend=mend
        ) from None
    except json.JSONDecodeError as error:
        before = len(error.doc[: error.pos].encode("utf-8"))
        raise InputError(
            f"the text is no JSON: {error.msg}", where=f"byte {offset + before} of {where}", mend=mend
        ) from None
    except _Doubled as error:
        raise InputError(f"the name {error} occurs twice in one object", where=where, mend=mend) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"the text is no JSON: {error}", where=where, mend=mend) from None
    if _SURROGATE.search(text):
        try:
            json.dumps(found, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            raise InputError("an escape names half a character", where=where, mend=mend) from None
    if not isinstance(found, dict):
        raise InputError("the JSON text is no object", where=where, mend=mend)
    return found


def _depth(text: bytes) -> int:
    """The deepest nesting of brackets outside strings."""
    bare = np.frombuffer(_STRINGS.sub(b"", text), np.uint8)
    brackets = bare[(bare | 0x20 == ord("{")) | (bare | 0x20 == ord("}"))]
    steps = np.where(brackets | 0x20 == ord("{"), 1, -1)
    return int(np.cumsum(steps).max(initial=0))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _Doubled(shown(name))
            seen.add(name)
    return found


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _integer(digits: str) -> int:
    if len(digits) > 20:
        raise ValueError(f"a whole number of {len(digits)} digits")
    return int(digits)
