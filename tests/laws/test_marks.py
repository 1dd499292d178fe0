"""What each law does to rounding, measured: both sides computed in float32 and in bfloat16, point by point in order.

    exact         the same bits (signs of zeros aside where the law or a fold leaves them open)
    reassociates  the sides differ by at most a few times n · eps · S
    rescales      likewise, where nothing overflows
    algebraic     some instance differs by far more, or overflows on one side only: a milder mark would be false

n counts the points that enter a value, eps is half a unit in the last place of 1, and S is the size of the left side:
its sums with |terms| in place of terms, so that what cancels in the *terms* counts and what cancels in their sum does
not. Marks of where a law holds are measured in the same types: infinities, NaN and zeros of both signs for "ieee".

The cascade, whose instances are not arbitrary, is measured on whole programs at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

import tang_egg as te
from tang_egg.interpret import interpret
from tang_egg.ir import Apply, Graph, Input, Read, Reduce, Scalar, Tensor, const, type_of, walk
from tang_egg.monoid import SUM
from tang_egg.pipeline import extract
from tang_egg.precision import FORMATS, Plan, round_to
from tang_egg.rules.law import Law
from tests.laws.instantiate import Instance, Values, finite, instantiate, monoids_of
from tests.laws.test_laws import LAWS, PLAIN, folds

Array = npt.NDArray[np.float64]
TYPES = ("f32", "bf16")
TRIES = 12
SLACK = 6.0
"""How many roundings each point may cost: the operations of its term, and the sum."""


def inputs_of(*roots: Scalar) -> tuple[Input, ...]:
    reads = (s.source for s in walk(*roots, into_tensors=True) if isinstance(s, Read))
    return tuple(dict.fromkeys(s for s in reads if isinstance(s, Input)))


def computed(instance: Instance, side: Scalar, kind: str) -> npt.NDArray[np.generic]:
    """A side at every point of the axes, in the arithmetic of a type."""
    name = "%side"
    dtype = "f64" if type_of(side) == "real" else type_of(side)
    graph = Graph("side", inputs_of(side), (Tensor(name, instance.axes, side, dtype),))
    arrays = {i.name: instance.inputs[i.name] for i in graph.inputs}
    plan = Plan({i.name: kind for i in graph.inputs if i.dtype == "f64"}, arithmetic=kind)
    return interpret(graph, arrays, checked=False, precision=plan)[name]


def size(s: Scalar) -> Scalar:
    """What roundings in a side are relative to: |terms| in its sums, and how they move exp and log (to first order)."""
    if isinstance(s, Reduce) and s.monoid is SUM:
        return Reduce(SUM, s.indices, s.where, (size(s.body[0]),))
    if isinstance(s, Apply) and s.op == "mul":
        return Apply("mul", (size(s.args[0]), size(s.args[1])))
    if isinstance(s, Apply) and s.op == "neg":
        return size(s.args[0])
    if isinstance(s, Apply) and s.op == "add" and any(isinstance(x, Reduce) for x in walk(s)):
        return Apply("add", (size(s.args[0]), size(s.args[1])))
    if isinstance(s, Apply) and s.op == "log" and isinstance(s.args[0], Apply):
        return Apply("add", (absolute(s), const(1.0)))
    if isinstance(s, Apply) and s.op == "exp" and isinstance(s.args[0], Apply):
        return Apply("mul", (s, Apply("add", (size(s.args[0]), const(1.0)))))
    return absolute(s)


def absolute(s: Scalar) -> Scalar:
    return Apply("max", (s, Apply("neg", (s,))))


def points(s: Scalar) -> int:
    """Points and operations that enter one value, at most."""
    total = 1
    for x in walk(s, into_tensors=True):
        if isinstance(x, Reduce):
            total += math.prod(i.size.evaluate({}) for i in x.indices)
    return total + sum(isinstance(x, Apply) for x in walk(s, into_tensors=True))


def excess(law: Law, instance: Instance, kind: str) -> float:
    """How far apart the sides are, in units of n · eps · S; infinite where only one is finite."""
    rounded = {k: round_to(a, kind) if a.dtype.kind == "f" else a for k, a in instance.inputs.items()}
    held = Instance(instance.left, instance.right, instance.axes, rounded)
    left, right = (computed(held, s, kind) for s in (held.left, held.right))
    if left.dtype.kind != "f":
        return 0.0 if np.array_equal(left, right) else math.inf
    bound = np.asarray(computed(held, size(held.left), "f64"), np.float64)
    n = max(points(held.left), points(held.right))
    worst = 0.0
    for a, b, s in zip(left.reshape(-1), right.reshape(-1), bound.reshape(-1), strict=True):
        if a == b or (np.isnan(a) and np.isnan(b)):
            continue
        if not (np.isfinite(a) and np.isfinite(b)):
            return math.inf
        unit = n * FORMATS[kind].epsilon * float(s)
        worst = max(worst, float(abs(a - b)) / unit if unit else math.inf)
    return worst


def unequal(law: Law, instance: Instance, kind: str, signs: bool) -> str:
    """Where the sides are not the same bits, or nothing."""
    rounded = {k: round_to(a, kind) if a.dtype.kind == "f" else a for k, a in instance.inputs.items()}
    held = Instance(instance.left, instance.right, instance.axes, rounded)
    left, right = (computed(held, s, kind) for s in (held.left, held.right))
    same = (left == right) | ((left != left) & (right != right))
    if signs and left.dtype.kind == "f":
        same &= (np.signbit(left) == np.signbit(right)) | (left != left)
    if np.all(same):
        return ""
    at = tuple(np.argwhere(~same)[0])
    return f"{law}\n  {left[at]!r} against {right[at]!r} in {kind}, with {held.inputs}"


def odd(rng: np.random.Generator) -> Values:
    """Infinities, NaN, zeros of both signs and moderate values, all of which bfloat16 holds."""

    def draw(shape: tuple[int, ...]) -> Array:
        palette = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -2.0]
        values = round_to(rng.uniform(-3, 3, shape), "bf16")
        return np.where(rng.random(shape) < 0.3, rng.choice(palette, shape), values)

    return draw


def far(rng: np.random.Generator) -> Values:
    """Values that cancel, and whose exponentials overflow though those of their differences do not."""

    centre = rng.choice([1.0, 100.0, 3000.0])

    def draw(shape: tuple[int, ...]) -> Array:
        return np.asarray(rng.choice([-1.0, 1.0]) * centre + rng.uniform(-1, 1, shape))

    return draw


Draw = Callable[[np.random.Generator], Values]


def instances(law: Law, draw: Draw, tries: int = TRIES) -> list[tuple[str, Instance]]:
    found: list[tuple[str, Instance]] = []
    for monoid in monoids_of(law):
        found += [(f"{monoid}, seed {seed}", instantiate(law, seed, draw, monoid)) for seed in range(tries)]
    return found


def marked(*rounding: str) -> list[str]:
    return [n for n in PLAIN if LAWS[n].rounding in rounding]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", marked("exact"))
def test_exact_laws_give_the_same_bits(name: str, kind: str) -> None:
    law = LAWS[name]
    signs = law.holds == "ieee" and not folds(law)
    for label, instance in instances(law, finite):
        assert not (found := unequal(law, instance, kind, signs)), f"{label}: {found}"


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", [n for n in marked("exact") if LAWS[n].holds == "ieee"])
def test_laws_of_all_values_hold_on_them_in_narrow_types(name: str, kind: str) -> None:
    law = LAWS[name]
    for label, instance in instances(law, odd):
        assert not (found := unequal(law, instance, kind, not folds(law))), f"{label}: {found}"


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", marked("reassociates", "rescales"))
def test_other_laws_cost_a_rounding_for_each_point(name: str, kind: str) -> None:
    law = LAWS[name]
    for label, instance in instances(law, finite):
        assert excess(law, instance, kind) <= SLACK, label


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", marked("algebraic"))
def test_algebraic_laws_lose_far_more_somewhere(name: str, kind: str) -> None:
    law = LAWS[name]
    assert any(excess(law, instance, kind) > 4 * SLACK for _, instance in instances(law, far, 60)), (
        f"{law}\n  no instance loses more than a law that rescales: the mark is too harsh"
    )


@pytest.mark.parametrize("name", marked("reassociates", "rescales"))
def test_no_mark_is_too_harsh(name: str) -> None:
    """A law that is not exact differs by some bit on some instance, but for those of NEVER_SEEN, which must not."""
    law = LAWS[name]
    drawn = [i for draw in (finite, far) for _, i in instances(law, draw, 40)]
    assert any(unequal(law, i, k, False) for i in drawn for k in TYPES) != (name in NEVER_SEEN), law


NEVER_SEEN = {
    "fold.hoist_shift": "adding a constant is monotone under rounding; only where c + x overflows do the sides differ",
    "fold.mean_constant": "a literal 1/n is rounded once, as is the reciprocal of n, while n itself is exact",
    "fold.max_exp": "exp is monotone, and so is its rounding; an exp of a kernel's own need not be",
    "fold.min_exp": "exp is monotone, and so is its rounding; an exp of a kernel's own need not be",
}
"""Laws whose sides came out equal on all values that do not overflow, and why they are not marked exact."""


def test_a_wrong_mark_is_found() -> None:
    """Linearity, were it marked as a mere reordering, and hoisting, were it marked exact."""
    linear, hoist = LAWS["fold.linear"], LAWS["fold.hoist"]
    assert any(excess(linear, i, "f32") > SLACK for _, i in instances(linear, far, 60))
    assert any(unequal(hoist, i, "bf16", False) for _, i in instances(hoist, finite, 40))


def test_sizes_count_terms_and_not_what_cancels_in_them() -> None:
    i = te.indices("i")
    x = te.input("X", (3,))
    body = te.graph("g", y=te.tensor("y", (), te.sum(i, x[i] * x[i] - 4.0))).outputs[0].body
    graph = Graph("g", inputs_of(body), (Tensor("y", (), size(body), "f64"),))
    assert interpret(graph, {"X": np.array([1.0, 2.0, 3.0])})["y"] == 3.0 + 0.0 + 5.0
    assert size(const(-2.0)) is Apply("max", (const(-2.0), Apply("neg", (const(-2.0),))))


# The cascade, on whole programs: naive graph and one pass, both in the same types.


def logsumexp_rows() -> Graph:
    i, j = te.indices("i j")
    x = te.input("X", (4, 37))
    most = te.tensor("m", i, te.max(j, x[i, j]))
    return te.graph("lse", y=te.tensor("y", i, te.sum(j, te.exp(x[i, j] - most[i]))))


def variance_rows() -> Graph:
    return te.graph("var", y=te.variance(te.input("X", (4, 37))))


def one_pass(graph: Graph) -> Graph:
    """The graph with its output computed by a cascade, whether or not selection would take that at this size."""
    (found,) = extract(graph).distinct
    (root,) = found.saturation.roots.values()
    terms = [v.term for v in found.terms.found[root]]
    cascades = [t for t in terms if any(isinstance(x, Reduce) and x.monoid.followers for x in walk(t))]
    term = next(t for t in cascades if len(inputs_of(t)) == 1)
    return Graph(graph.name, inputs_of(term), (Tensor("y", found.terms.axes[root], term, "f64"),))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("graph", [logsumexp_rows(), variance_rows()], ids=lambda g: g.name)
def test_a_cascade_rescales(graph: Graph, kind: str) -> None:
    """One pass loses no more than a few roundings for each point, also where values are far from zero."""
    rng = np.random.default_rng(0)
    for centre in (0.0, 30.0):
        x = round_to(centre + rng.standard_normal((4, 37)), kind)
        exact = interpret(graph, {"X": x})["y"]
        errors: list[Array] = []
        for g in (graph, one_pass(graph)):
            (held,) = g.inputs
            plan = Plan({held.name: kind}, arithmetic=kind)
            errors.append(np.abs(interpret(g, {held.name: x}, precision=plan)["y"] - exact))
        bound = SLACK * 37 * FORMATS[kind].epsilon * np.abs(exact)
        if graph.name == "var":  # the mean is rounded at its own size, which shifts every term
            bound = bound + (37 * FORMATS[kind].epsilon * (centre + 1)) ** 2
        assert (errors[0] <= bound).all() and (errors[1] <= bound).all(), (kind, centre, errors, bound)
