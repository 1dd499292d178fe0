"""Shows progress on standard error: a live display on a terminal, plain lines where they are asked for."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from tang_egg.progress import Event, listening

WORDS = {
    "saturate": "saturate windows",
    "lower": "lower kernels",
    "compile": "compile C",
    "verify": "verify runs",
    "measure": "measure",
    "price": "price candidates",
}
"""What a stage is called on the screen."""


_PAUSE = 0.5
"""Seconds between two lines in the middle of one stage."""


class Lines:
    """Lines with the seconds since the start, the stage, and how far it is; each stage has a first and a last one."""

    def __init__(self) -> None:
        self.start = self.last = time.perf_counter()

    def __call__(self, event: Event) -> None:
        now = time.perf_counter()
        if 0 < event.done < event.total and now < self.last + _PAUSE:
            return
        self.last = now
        far = f" {event.done}/{event.total}" if event.total else ""
        name = WORDS.get(event.stage, event.stage)
        print(f"{now - self.start:8.2f} s  {name}{far}", file=sys.stderr, flush=True)


class Display:
    """One bar for each stage that was seen, with its own clock."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.tasks: dict[str, TaskID] = {}

    def __call__(self, event: Event) -> None:
        name = event.stage
        if name not in self.tasks:
            self.tasks[name] = self.progress.add_task(WORDS.get(name, name), total=None)
        self.progress.update(self.tasks[name], completed=event.done, total=event.total or None)


@contextlib.contextmanager
def shown(*, plain: bool, quiet: bool) -> Iterator[None]:
    """Shows progress while inside. `plain`: lines, wherever standard error leads; `quiet`: nothing.

    Without either: a display that is gone in the end, if standard error is a terminal, else nothing.
    """
    if plain:
        with listening(Lines()):
            yield
        return
    if quiet or not sys.stderr.isatty():
        yield
        return
    columns = (
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(),
        TimeElapsedColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress, listening(Display(progress)):
        yield
