"""Steps of optimizers."""

from __future__ import annotations

from collections.abc import Callable

from tang_egg import expression as e
from tang_egg import traced_view
from tang_egg.expression import Expression
from tang_egg.importers.onnx_call import Call, Table
from tang_egg.importers.onnx_value import Value
from tang_egg.traced import Traced, compute

OPERATORS = Table()

DOMAIN = "ai.onnx.preview.training"

Step = Callable[[Call, Expression, Expression, "tuple[Expression, ...]"], "tuple[Expression, ...]"]


def _optimizer(name: str, states: int, step: Step) -> None:
    """An operator of a rate, a count, then of every array, its gradient and its states, one kind after the other."""

    def run(call: Call) -> tuple[Value, ...]:
        count, rest = divmod(len(call.values) - 2, 2 + states)
        if rest or count < 1:
            raise call.wrong(f"{len(call.values)} operands")
        rate, steps = (traced_view.reshape(call.x(n), ()) for n in (0, 1))
        found: list[list[Traced]] = [[] for _ in range(1 + states)]
        for n in range(count):
            arrays = [call.x(2 + k * count + n) for k in range(2 + states)]
            for k in range(1 + states):
                found[k].append(_part(call, step, rate, steps, arrays, k))
        return tuple(x for kind in found for x in kind)

    OPERATORS.add(name, 1, DOMAIN)(run)


def _part(call: Call, step: Step, rate: Traced, steps: Traced, arrays: list[Traced], k: int) -> Traced:
    return compute(lambda r, t, *xs: step(call, r, e.cast(t, "real"), xs)[k], rate, steps, *arrays,
                   dtype=arrays[0].dtype, hint="step")  # fmt: skip


def _momentum(call: Call, r: Expression, t: Expression, given: tuple[Expression, ...]) -> tuple[Expression, ...]:
    x, g, v = given
    alpha, beta, mode = call.number("alpha"), call.number("beta"), call.text("mode")
    if mode not in ("standard", "nesterov"):
        raise call.wrong(f"there is no mode '{mode}'")
    g = x * call.number("norm_coefficient") + g
    new = v * alpha + g * e.select(t > 0, beta, e.constant(1.0))
    moved = g + new * alpha if mode == "nesterov" else new
    return x - r * moved, new


def _adagrad(call: Call, r: Expression, t: Expression, given: tuple[Expression, ...]) -> tuple[Expression, ...]:
    x, g, h = given
    g = x * call.number("norm_coefficient", 0.0) + g
    new = h + g * g
    rate = r / (t * call.number("decay_factor", 0.0) + 1.0)
    return x - rate * g / (e.sqrt(new) + call.number("epsilon", 1e-6)), new


def _adam(call: Call, r: Expression, t: Expression, given: tuple[Expression, ...]) -> tuple[Expression, ...]:
    x, g, v, h = given
    alpha, beta = call.number("alpha", 0.9), call.number("beta", 0.999)
    g = x * call.number("norm_coefficient", 0.0) + g
    first = v * alpha + g * (1.0 - alpha)
    second = h * beta + g * g * (1.0 - beta)

    def left(base: float) -> Expression:
        """1 - base^t."""
        return 1.0 - _power(base, t)

    rate = e.select(t > 0, r * e.sqrt(left(beta)) / left(alpha), r)
    moved = x - rate * first / (e.sqrt(second) + call.number("epsilon", 1e-6))
    return moved * (1.0 - call.number("norm_coefficient_post", 0.0)), first, second


def _power(base: float, t: Expression) -> Expression:
    import math

    return e.exp(t * math.log(base)) if base > 0 else e.select(e.eq(t, 0.0), 1.0, e.constant(0.0))


_optimizer("Momentum", 1, _momentum)
_optimizer("Adagrad", 1, _adagrad)
_optimizer("Adam", 2, _adam)
