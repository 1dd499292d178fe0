"""Arrays that a compiled graph holds for some of its inputs: checked and converted once, not at every call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tang_egg.errors import InputError
from tang_egg.ir import Graph, Input
from tang_egg.run import CompiledProgram
from tang_egg.run_arrays import check_names, take
from tang_egg.run_cuda import CudaProgram
from tang_egg.run_cuda_arrays import place
from tang_egg.run_grid import GridProgram


def held_arrays(
    graph: Graph,
    runner: CompiledProgram | CudaProgram | GridProgram,
    arrays: Mapping[str, Any],
    before: Mapping[str, Any],
) -> dict[str, Any]:
    """The arrays as a call reads them, by input: on the host as they are or converted, on a device in its memory.

    Raises InputError for an unknown name, one that is bound already, a donated input, and an array that does not fit.
    """
    where = f"graph '{graph.name}'"
    inputs = {i.name: i for i in graph.inputs}
    check_names(arrays, inputs, "input", where)
    for name in arrays:
        if name in before:
            raise InputError(f"input '{name}' is bound already", where=where, mend="bind each input once")
        if inputs[name].donated:
            raise InputError(
                f"the donated input '{name}' cannot be bound: calls write into it",
                where=where,
                mend="give it at each call",
            )
    return {name: _held(inputs[name], array, runner, where) for name, array in arrays.items()}


def _held(i: Input, array: Any, runner: CompiledProgram | CudaProgram | GridProgram, where: str) -> Any:
    if isinstance(runner, CudaProgram):
        with runner.driver.here():
            placed = place(i, array, runner.driver)
            runner.driver.synchronize()
        _check_shape(i, placed.shape, where)
        # of no home: where results live is decided by the arrays of each call
        return replace(placed, home="numpy", copied=False, host=None)
    if isinstance(runner, GridProgram):
        held = runner.hold(i, array)
        _check_shape(i, held.shape, where)
        return held
    given = take(i, array)
    _check_shape(i, given.array.shape, where)
    return replace(given, owned=False)  # what was converted is the array from here on


def _check_shape(i: Input, shape: tuple[int, ...], where: str) -> None:
    """Raises InputError when an array has other axes than its input, or another extent where that is fixed."""
    sizes = [s.value for s in i.shape]
    if len(shape) != len(sizes) or any(s is not None and s != n for s, n in zip(sizes, shape, strict=True)):
        raise InputError(
            f"the array for input '{i.name}' has shape {list(shape)}",
            where=where,
            mend=f"give an array of shape [{', '.join(map(repr, i.shape))}]",
        )
