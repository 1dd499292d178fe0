"""Checks of monoids: their structure, and their declared properties on states that folds can reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tang_egg import ops
from tang_egg.check_scalar import ScalarCheck
from tang_egg.errors import GraphError
from tang_egg.interpret import combine_states, evaluate_states
from tang_egg.interpret_fold import ufunc_of
from tang_egg.ir import NOWHERE, type_of
from tang_egg.monoid import Component, Monoid

Array: TypeAlias = "npt.NDArray[Any]"
State: TypeAlias = "tuple[Array, ...]"
Lifts: TypeAlias = Callable[[np.random.Generator, int], Sequence[Array]]
"""Random lifted elements: generator and count to one array per component, leading axis `count`, then its own axes."""

PROPERTIES = frozenset({"commutative", "idempotent", "invertible"})


def check_structure(monoid: Monoid) -> None:
    """Raises GraphError unless components, combine, identity and followers of a monoid fit each other."""
    check = ScalarCheck(f"monoid '{monoid.name}'", None, NOWHERE)
    counts = (len(monoid.components), len(monoid.combine), len(monoid.identity))
    if len(set(counts)) > 1 or not counts[0]:
        raise check.fail(
            "there are {} components, {} combined expressions and {} identities".format(*counts),
            "give one of each for every component, and at least one",
        )
    names = [c.name for c in monoid.components]
    if len(set(names)) < len(names):
        raise check.fail("two components have the same name", "name each component differently")
    if monoid.properties - PROPERTIES:
        raise check.fail(
            f"unknown properties: {', '.join(sorted(monoid.properties - PROPERTIES))}",
            f"declare a subset of {', '.join(sorted(PROPERTIES))}",
        )
    for component, combined, identity in zip(monoid.components, monoid.combine, monoid.identity, strict=True):
        check.run(combined, component.axes, monoid, ("left", "right"))
        check.run(identity, component.axes, monoid)
        for what, expression in (("combined value", combined), ("identity", identity)):
            if type_of(expression) != component.type:
                raise check.fail(
                    f"the {what} of component '{component.name}' has type {type_of(expression)}, not {component.type}",
                    "convert it with te.cast, or declare another type",
                )
        _check_follower(monoid, component, check)
    for inner in check.monoids:
        check_structure(inner)


def _check_follower(monoid: Monoid, component: Component, check: ScalarCheck) -> None:
    follow = component.follow
    if follow is None:
        return
    if not follow.statistics:
        raise check.fail(f"follower '{component.name}' has no statistic", "name at least one, or make it a head")
    for statistic in follow.statistics:
        check.run(statistic, component.axes, monoid, ("self",))
    moved = [(which, part) for which in ("from", "to") for part in range(len(follow.statistics))]
    check.run(follow.rebase, component.axes, monoid, ("self",), moved)
    check.run(follow.empty, component.axes, monoid, ("self",))
    check_structure(follow.base)
    if type_of(follow.rebase) != component.type or type_of(follow.empty) != "bool" or not follow.base.scalar:
        raise check.fail(
            f"follower '{component.name}' does not fit: rebase {type_of(follow.rebase)}, empty {type_of(follow.empty)},"
            f" base '{follow.base.name}'",
            f"rebase has type {component.type}, empty is bool, and base has one component",
        )


def check_monoid(
    monoid: Monoid,
    *,
    lifts: Lifts | None = None,
    trials: int = 256,
    seed: int = 0,
    dims: Mapping[str, int] | None = None,
) -> None:
    """Raises GraphError when the structure is wrong or a declared property fails on some reachable states.

    Tested: associativity, the identity on both sides, and commutativity, idempotence and inverses where declared.
    States are folds of up to four random elements drawn from `lifts`, which by default knows the shapes of the
    built-in monoids and otherwise draws each component by its type. Reals agree to 1e-9 of their size; a NaN
    agrees with a NaN.
    """
    check_structure(monoid)
    rng = np.random.default_rng(seed)
    values = dict(dims or {})
    draw = lifts or (lambda rng, count: draw_lifts(monoid, rng, count, values))
    identity = _identity(monoid, trials, values)
    a, b, c = (_reach(monoid, draw, identity, rng, trials, values) for _ in range(3))

    def combine(x: State, y: State) -> State:
        return combine_states(monoid, x, y, values)

    claims: list[tuple[str, State, State]] = [
        ("associative: (a ∘ b) ∘ c and a ∘ (b ∘ c)", combine(combine(a, b), c), combine(a, combine(b, c))),
        ("neutral on the left: identity ∘ a and a", combine(identity, a), a),
        ("neutral on the right: a ∘ identity and a", combine(a, identity), a),
    ]
    if monoid.commutative:
        claims.append(("commutative: a ∘ b and b ∘ a", combine(a, b), combine(b, a)))
    if "idempotent" in monoid.properties:
        claims.append(("idempotent: a ∘ a and a", combine(a, a), a))
    for claim, left, right in claims:
        name, _, sides = claim.partition(": ")
        wrong = ~np.logical_and.reduce([_agree(x, y) for x, y in zip(left, right, strict=True)])
        if wrong.any():
            t = int(np.argmax(wrong))
            states = ", ".join(f"{n} = {_show(monoid, s, t)}" for n, s in zip("abc", (a, b, c), strict=True))
            subject = "its identity is not" if name.startswith("neutral") else "it is not"
            raise GraphError(
                f"monoid '{monoid.name}': {subject} {name}",
                where=f"{sides} are {_show(monoid, left, t)} and {_show(monoid, right, t)} for {states}",
                mend="mend the combine or the identity, or do not declare the property",
            )
    if "invertible" in monoid.properties:
        _check_cancels(monoid, a, b, c, combine(a, c), combine(b, c))


def _check_cancels(monoid: Monoid, a: State, b: State, c: State, left: State, right: State) -> None:
    """Raises GraphError where a ∘ c and b ∘ c are one finite state and a and b are not: then c has no inverse."""
    finite = np.logical_and.reduce([_finite(x) for state in (a, b, c, left, right) for x in state])
    lost = ~np.logical_and.reduce([_agree(x, y) for x, y in zip(a, b, strict=True)])
    same = np.logical_and.reduce([_agree(x, y) for x, y in zip(left, right, strict=True)])
    wrong = finite & lost & same
    if wrong.any():
        t = int(np.argmax(wrong))
        states = ", ".join(f"{n} = {_show(monoid, s, t)}" for n, s in zip("abc", (a, b, c), strict=True))
        raise GraphError(
            f"monoid '{monoid.name}': it is not invertible",
            where=f"a ∘ c and b ∘ c are both {_show(monoid, left, t)} for {states}",
            mend="do not declare the property: no element undoes c",
        )


def _finite(x: Array) -> Array:
    """Which states have no infinity and no NaN in a component."""
    sound = np.isfinite(x) if x.dtype.kind == "f" else np.ones(x.shape, bool)
    return np.asarray(sound.reshape(len(x), -1).all(axis=1))


def _identity(monoid: Monoid, trials: int, dims: Mapping[str, int]) -> State:
    found = []
    for component, expression in zip(monoid.components, monoid.identity, strict=True):
        value = evaluate_states(monoid, [(expression, component.axes)], {}, dims)[0]
        found.append(np.broadcast_to(value, (trials, *value.shape[1:])))
    return tuple(found)


def _reach(
    monoid: Monoid, draw: Lifts, identity: State, rng: np.random.Generator, trials: int, dims: Mapping[str, int]
) -> State:
    """States of folds of 0 to 4 random elements; the identity takes no part where there is an element."""
    length = rng.integers(0, 5, trials)
    state = _choose(length > 0, tuple(draw(rng, trials)), identity)
    for n in range(1, 4):
        folded = combine_states(monoid, state, tuple(draw(rng, trials)), dims)
        state = _choose(length > n, folded, state)
    return state


def _choose(where: Array, yes: State, no: State) -> State:
    return tuple(np.where(where.reshape((-1,) + (1,) * (x.ndim - 1)), x, y) for x, y in zip(yes, no, strict=True))


def draw_lifts(monoid: Monoid, rng: np.random.Generator, count: int, dims: Mapping[str, int]) -> State:
    """Random elements of a monoid: `count` lifted states, edge values among them."""
    components = monoid.components
    own: dict[str, Array] = {}
    for prefix in dict.fromkeys(c.name.rpartition(".")[0] for c in components):
        start = f"{prefix}." if prefix else ""
        own |= {start + n: v for n, v in _known(monoid, start, rng, count).items()}
    state: list[Array] = []
    for k, c in enumerate(components):
        if c.name in own:
            state.append(own[c.name])
        else:
            shape = (count, *(i.size.evaluate(dims) for i in c.axes))
            used = [j for j, other in enumerate(components) if j != k and other.follow is None]
            infinite = ufunc_of(monoid, k) is not None and not any(k in monoid.needs(j) for j in used)
            state.append(draw_values(c.type, rng, shape, infinite=infinite))
    for k, c in enumerate(components):
        if c.follow is not None:
            # An element without a statistic contributes nothing, as in the lifts that cascades make.
            empty = evaluate_states(monoid, [(c.follow.empty, ())], {"self": state}, dims)[0]
            state[k] = np.where(empty, evaluate_states(monoid, [(monoid.identity[k], ())], {}, dims)[0], state[k])
    return tuple(state)


def draw_values(kind: str, rng: np.random.Generator, shape: tuple[int, ...], *, infinite: bool) -> Array:
    """Random values of a scalar type: small whole numbers for ties, signed zeros and, if `infinite`, infinities."""
    if kind == "bool":
        return rng.random(shape) < 0.5
    if kind == "real":
        edges = [0.0, -0.0, 1.0, -1.0, 2.0, *((np.inf, -np.inf) if infinite else ())]
        return np.where(rng.random(shape) < 0.5, rng.choice(edges, shape), rng.uniform(-2, 2, shape))
    info = np.iinfo(ops.numpy_type(kind))
    anywhere = rng.integers(info.min, info.max, shape, dtype=info.dtype, endpoint=True)
    return np.where(rng.random(shape) < 0.5, rng.integers(0, 4, shape).astype(info.dtype), anywhere)


def _known(monoid: Monoid, start: str, rng: np.random.Generator, count: int) -> dict[str, Array]:
    """Elements of the components named `start`... when they are those of a monoid whose lifts obey a rule."""
    names = [c.name.removeprefix(start) for c in monoid.components if c.name.startswith(start)]
    types = {c.name.removeprefix(start): c.type for c in monoid.components if c.name.startswith(start)}
    found: dict[str, Array] = {}
    if "live" in names:
        found["live"] = np.ones(count, np.bool_)
        names.remove("live")
    if names == ["n", "mean", "m2"]:
        mean = draw_values("real", rng, (count,), infinite=False)
        found |= {"n": np.ones(count), "mean": mean, "m2": np.zeros(count)}
    elif names == ["value", "position"]:
        found["value"] = draw_values(types["value"], rng, (count,), infinite=True)
        if types["value"] == "real":
            found["value"] = np.where(rng.random(count) < 0.1, np.nan, found["value"])
        found["position"] = rng.integers(0, 2**40, count)
    elif names[:2] == ["value0", "position0"]:
        for k in range(len(names) // 2):
            part = monoid.position(f"{start}value{k}")
            worst = [np.asarray(monoid.identity[part + n].value) for n in (0, 1)]  # type: ignore[attr-defined]
            found[f"value{k}"], found[f"position{k}"] = (np.broadcast_to(w, (count,)) for w in worst)
        found["value0"] = draw_values(types["value0"], rng, (count,), infinite=True)
        found["position0"] = rng.integers(0, 2**40, count)
    return found


def _agree(x: Array, y: Array) -> Array:
    """Whether two components agree, for each trial."""
    if x.dtype.kind == "f":
        with np.errstate(all="ignore"):
            near = np.abs(x - y) <= 1e-9 * (1 + np.maximum(np.abs(x), np.abs(y)))
        same = (x == y) | (np.isnan(x) & np.isnan(y)) | (near & np.isfinite(x) & np.isfinite(y))
    else:
        same = x == y
    return np.asarray(same.reshape(len(same), -1).all(axis=1))


def _show(monoid: Monoid, state: State, trial: int) -> str:
    parts = (f"{c.name}: {a[trial].tolist()}" for c, a in zip(monoid.components, state, strict=True))
    return f"({', '.join(parts)})"
