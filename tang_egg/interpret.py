"""The oracle: what a graph means, computed with NumPy.

Reals are held in float64 and follow IEEE; integers and bools are exact and wrap. Maximum and minimum give NaN when an
operand is NaN. Sums may be taken in any order; a matrix product is used for a sum of products where no infinity or NaN
could come out differently. Storage types do not round, except where the graph says `cast`.

Reads out of range: in checked mode an error if a value depends on them; otherwise the coordinate is clipped to the
nearest element (negative ones to 0), and a read of an empty axis gives 0. Integer division by zero: an error in checked
mode, else 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tang_egg import ops
from tang_egg.affine import Dim, Index, dims_of
from tang_egg.errors import BindError
from tang_egg.interpret_bind import bind_inputs
from tang_egg.interpret_frame import Frame
from tang_egg.interpret_precision import Emulator
from tang_egg.interpret_value import Evaluator
from tang_egg.ir import Graph, Input, Scalar, Tensor, sources, tensors_of, type_of
from tang_egg.monoid import Monoid
from tang_egg.precision import Plan

Array: TypeAlias = "npt.NDArray[Any]"
MEMORY = 1 << 28
"""Bytes of one working set: larger boxes of points are evaluated in blocks."""


def interpret(
    graph: Graph,
    inputs: Mapping[str, Any],
    dims: Mapping[str, int] | None = None,
    *,
    checked: bool = True,
    memory: int = MEMORY,
    round_outputs: bool = False,
    precision: Plan | None = None,
) -> dict[str, Array]:
    """The outputs of `graph` by name: float64, exact integer or bool arrays in storage order.

    `inputs` by name; `dims` gives sizes that the shapes of the inputs do not determine. `round_outputs` rounds reals to
    the outputs' storage types (still held as float64). `memory` is in bytes. `precision` computes in the types and the
    order of a plan (tang_egg.precision) instead of float64.

    Raises InputError for arrays that do not fit their declarations and, when checked, for reads out of range; BindError
    for dims without a value or outside their declared facts.
    """
    where = f"graph '{graph.name}'"
    arrays, values = bind_inputs(graph.inputs, inputs, dims or {}, where)
    _check_dims(graph, values, where)
    with np.errstate(all="ignore"):
        if precision is None:
            evaluator = Evaluator(arrays, values, checked, memory)
        else:
            precision.check({*arrays, *(t.name for t in tensors_of(graph.outputs))}, where)
            evaluator = Emulator(arrays, values, checked, memory, precision, graph)
        for t in tensors_of(graph.outputs):
            evaluator.tensor(t)
        results = {t.name: evaluator.tensor(t) for t in graph.outputs}
        if round_outputs:
            results = {t.name: _rounded(t, results[t.name]) for t in graph.outputs}
    return results


def evaluate(
    scalar: Scalar,
    axes: Sequence[Index],
    inputs: Mapping[str, Any],
    dims: Mapping[str, int] | None = None,
    *,
    checked: bool = True,
    memory: int = MEMORY,
) -> Array:
    """The value of an open expression at every point of `axes`, one array axis for each, in order.

    Inputs are those that the expression reads; others are ignored. Raises as `interpret` does.
    """
    where = "an expression"
    read = _inputs_of(scalar)
    arrays, values = bind_inputs(read, {i.name: inputs[i.name] for i in read if i.name in inputs}, dims or {}, where)
    with np.errstate(all="ignore"):
        evaluator = Evaluator(arrays, values, checked, memory)
        out = np.empty(tuple(evaluator.size(i) for i in axes), ops.numpy_type(type_of(scalar)))
        evaluator.fill(out, scalar, tuple(axes), where)
    return out


def combine_states(
    monoid: Monoid, left: Sequence[Array], right: Sequence[Array], dims: Mapping[str, int] | None = None
) -> tuple[Array, ...]:
    """The combined states of many pairs: one array per component, the leading axis counts pairs, then own axes."""
    wanted = [(combined, c.axes) for combined, c in zip(monoid.combine, monoid.components, strict=True)]
    return evaluate_states(monoid, wanted, {"left": left, "right": right}, dims)


def evaluate_states(
    monoid: Monoid,
    wanted: Sequence[tuple[Scalar, tuple[Index, ...]]],
    sides: Mapping[str, Sequence[Array]],
    dims: Mapping[str, int] | None = None,
) -> tuple[Array, ...]:
    """Values of expressions over states of `monoid`, each with the own axes that it extends over.

    `sides`: for each side ("left", "right", "self") one array per component, a leading axis that counts states, then
    the component's own axes. The results have the same form; without sides, the leading axis has extent 1.
    """
    with np.errstate(all="ignore"):
        evaluator = Evaluator({}, dims or {}, False, MEMORY)
        base = evaluator.folds.base(monoid, evaluator.root)
        held = {
            side: {k: _to_frame(a, monoid.components[k].axes, base) for k, a in enumerate(arrays)}
            for side, arrays in sides.items()
        }
        frame = evaluator.folds.states_frame(monoid, held, base)
        count = max((len(a) for arrays in sides.values() for a in arrays), default=1)
        return tuple(_from_frame(evaluator.value(s, frame), axes, base, count) for s, axes in wanted)


def _to_frame(array: Array, axes: Sequence[Index], base: Frame) -> Array:
    """A state's component (leading axis, then own axes) brought to the axis positions of `base`."""
    positions = [base.scope[i].position for i in axes]
    shape = [len(array)] + [1] * base.ndim
    for n, position in enumerate(positions):
        shape[-position] = array.shape[n + 1]
    order = sorted(range(len(axes)), key=lambda n: -positions[n])
    return array.transpose([0, *(n + 1 for n in order)]).reshape(shape)


def _from_frame(array: Array, axes: Sequence[Index], base: Frame, count: int) -> Array:
    """The inverse of `_to_frame`, extents that broadcasting left out put in."""
    full = array.reshape((1,) * (base.ndim + 1 - array.ndim) + array.shape)
    shape = [count, *full.shape[1:]]
    for i in axes:
        shape[-base.scope[i].position] = base.scope[i].extent
    full = np.broadcast_to(full, shape)
    kept = [0, *(full.ndim - base.scope[i].position for i in axes)]
    rest = [n for n in range(full.ndim) if n not in kept]
    return full.transpose([*kept, *rest]).reshape([full.shape[n] for n in kept])


def _inputs_of(scalar: Scalar) -> tuple[Input, ...]:
    found = dict.fromkeys(s for s in sources(scalar) if isinstance(s, Input))
    for t in tensors_of(s for s in sources(scalar) if isinstance(s, Tensor)):
        found.update(dict.fromkeys(s for s in sources(t.body) if isinstance(s, Input)))
    return tuple(found)


def _check_dims(graph: Graph, values: Mapping[str, int], where: str) -> None:
    """Dims of axes that no input has must be given, and keep their facts."""
    needed: set[Dim] = set()
    for t in tensors_of(graph.outputs):
        needed |= dims_of(t.shape)
    for d in sorted(needed, key=repr):
        if d.name not in values:
            raise BindError(
                f"dimension '{d.name}' is not determined by the shapes of the inputs",
                where=where,
                mend=f"pass its value: dims={{'{d.name}': ...}}",
            )
        d.check(values[d.name])


def _rounded(t: Tensor, array: Array) -> Array:
    if t.dtype not in ops.FLOATS:
        return array
    return np.asarray(ops.cast_value(array, t.dtype, "real"))
