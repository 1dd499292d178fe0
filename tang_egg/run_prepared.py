"""Compiled programs bound to arrays of this machine's memory: what a call from Python costs, paid once beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tang_egg.errors import InputError
from tang_egg.ir import Input
from tang_egg.run_arrays import Given


@dataclass(frozen=True, slots=True)
class HostPrepared:
    """Kernels bound to arrays. A call runs them to their end: nothing is allocated, checked or converted.

    `outputs` by name; the inputs' memory is read anew by every call, and the outputs' written. Arrays that were bound
    before (`Compiled.bind`) must stay as they were then: products may read copies of them. Temporaries and scratch
    belong to this binding alone: others of the same program may run at the same time, two calls of one may not.
    """

    outputs: Mapping[str, np.ndarray[Any, Any]]
    _run: Callable[[], None]
    _late: tuple[tuple[Given, np.ndarray[Any, Any]], ...]
    _held: object

    def __call__(self) -> None:
        self._run()
        for target, value in self._late:
            target.write_back(value)

    def finish(self) -> None:
        """Waits until all calls so far are done: at once, as a call ends with its kernels."""


def check_in_place(given: Mapping[Input, Given], graph: str) -> None:
    """Raises InputError for an array that kernels cannot read where it lies: they would read an old copy."""
    for i, g in given.items():
        if g.copied and g.owned:
            raise InputError(
                f"the array of input '{i.name}' cannot be read in place",
                where=f"graph '{graph}', prepared",
                mend="give a C-contiguous, aligned array of the declared type, e.g. numpy.ascontiguousarray(array)",
            )
