"""Progress of long work: stages say how far they are, and whoever listens is told.

    with listening(print):
        optimize(graph)      # Event("saturate", 0, 3), Event("saturate", 1, 3), ...

Without a listener a note costs a look at a variable. A listener belongs to the thread (or task) that set it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """A stage has done `done` of `total` units of work; `total` is 0 where nobody knows how much there is."""

    stage: str
    done: int = 0
    total: int = 0


Listener = Callable[[Event], None]

_LISTENER: ContextVar[Listener | None] = ContextVar("tang_egg.progress", default=None)


def note(stage: str, done: int = 0, total: int = 0) -> None:
    """Tells the listener, if there is one."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(Event(stage, done, total))


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """What is noted inside goes to `listener`."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
