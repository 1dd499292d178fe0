"""Products of f32 operands as sums of products of bf16 parts, for units that multiply short numbers and add long ones.

    a = a0 + a1 + …,  a0 = bf16(a),  a1 = bf16(a − a0),  …          b alike
    Σ a·b  ≈  Σ (a0·b0 + a0·b1 + a1·b0 + …)                         one fold, the pairs that a scheme keeps

Each part has 8 bits of its own, so part p is at most 2^-8p of the number, and n parts leave 2^-8n of it; the products
are exact in f32. What is left out is no equality: every scheme states a bound as a multiple of Σ |a|·|b|, derived
below, on top of the rounding of the sum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tang_egg.errors import GraphError
from tang_egg.extract.derive import Step
from tang_egg.extract.merge import step
from tang_egg.ir import (
    Apply,
    Const,
    Graph,
    Input,
    Read,
    Reduce,
    Scalar,
    Source,
    StateRef,
    Tensor,
    apply,
    free,
    map_children,
    type_of,
    walk,
)
from tang_egg.monoid import SUM, Monoid
from tang_egg.program import KernelPlan, Program
from tang_egg.text import print_scalar
from tang_egg.windows import replace_sources


@dataclass(frozen=True, slots=True)
class Scheme:
    """`parts` of each operand, the pairs that are multiplied, and the bound on the error over Σ |a|·|b|."""

    name: str
    parts: int
    pairs: tuple[tuple[int, int], ...]

    @property
    def bound(self) -> float:
        """A bound on what the scheme leaves out, as a multiple of Σ |a|·|b|.

        Pair (p, q) that is dropped: at most (1 + 2^-8)²·2^-8(p + q), as part p is at most (1 + 2^-8)·2^-8p of its
        number. What `parts` parts leave of either operand: 2^-8n each, and their product.
        """
        every = {(p, q) for p in range(self.parts) for q in range(self.parts)}
        dropped = sum(2.0 ** (-8 * (p + q)) for p, q in every - set(self.pairs)) * (1 + 2.0**-8) ** 2
        rest = 2.0 ** (-8 * self.parts)
        return dropped + 2 * rest + rest * rest


def _scheme(name: str, parts: int, most: int) -> Scheme:
    """The pairs whose positions add up to at most `most`, smallest products first."""
    pairs = sorted(((p, q) for p in range(parts) for q in range(parts) if p + q <= most), key=lambda x: (-sum(x), x))
    return Scheme(name, parts, tuple(pairs))


SCHEMES = {
    s.name: s
    for s in (_scheme("bf16x3", 2, 1), _scheme("bf16x4", 2, 2), _scheme("bf16x6", 3, 2), _scheme("bf16x9", 3, 4))
}
"""By name; the number counts products. bf16x9 leaves nothing out of operands whose parts are normal numbers of bf16."""


def split_products(program: Program, scheme: Scheme) -> tuple[Program, dict[str, tuple[Step, ...]]]:
    """The program with the products in its sums split by a scheme, and the steps by kernel.

    Split are sums of a·b where both mention an index of the fold and each has indices of its own or the other has: a
    sum of squares stays as it is. Operands that read f64, or that bf16 holds exactly, are not split.
    Raises GraphError where there is no such product.
    """
    kernels: list[KernelPlan] = []
    made: dict[Source, Source] = {}
    steps: dict[str, tuple[Step, ...]] = {}
    for k in program.kernels:
        splitting = _Splitting(scheme, [])
        outputs: list[Tensor] = []
        for t in k.outputs:
            body = splitting.body(replace_sources(t.body, lambda s: made.get(s, s)))
            new = replace(t, body=body)
            made[t] = new
            outputs.append(new)
        laws = tuple(dict.fromkeys((*k.laws, *(s.law for s in splitting.steps))))
        kernels.append(KernelPlan(k.name, tuple(outputs), laws))
        if splitting.steps:
            steps[k.name] = tuple(dict.fromkeys(splitting.steps))
    if not steps:
        raise GraphError(
            f"there is no sum of products of f32 operands to split as '{scheme.name}'",
            where=f"graph '{program.graph.name}'",
            mend="leave products='exact'",
        )
    last = tuple(u for t in program.graph.outputs if isinstance(u := made[t], Tensor))
    return Program(Graph(program.graph.name, program.graph.inputs, last), tuple(kernels)), steps


@dataclass(slots=True)
class _Splitting:
    """The splitting of one kernel's products."""

    scheme: Scheme
    steps: list[Step]

    def body(self, root: Scalar) -> Scalar:
        done: dict[Scalar, Scalar] = {}
        for s in walk(root):
            new = map_children(s, lambda c: done[c])
            if isinstance(new, Reduce) and isinstance(s, Reduce):
                lifts = tuple(self._lift(lift, s) if _sums(s.monoid, n) else lift for n, lift in enumerate(new.body))
                new = replace(new, body=lifts)
            done[s] = new
        return done[root]

    def _lift(self, lift: Scalar, fold: Reduce) -> Scalar:
        """The lift of a sum, its product split; under a negation or a select too."""
        if isinstance(lift, Apply) and lift.op == "neg":
            return Apply("neg", (self._lift(lift.args[0], fold),))
        if isinstance(lift, Apply) and lift.op == "mul" and _contracts(lift, fold):
            return self._product(lift)
        return lift

    def _product(self, product: Apply) -> Scalar:
        a, b = (parts_of(x, self.scheme.parts) for x in product.args)
        pairs = [(p, q) for p, q in self.scheme.pairs if p < len(a) and q < len(b)]
        if len(pairs) < 2:
            return product
        total: Scalar = apply("mul", a[pairs[0][0]], b[pairs[0][1]])
        for p, q in pairs[1:]:
            total = apply("add", total, apply("mul", a[p], b[q]))
        self._record(product, len(a), len(b), pairs)
        return total

    def _record(self, product: Apply, left: int, right: int, pairs: list[tuple[int, int]]) -> None:
        """The steps of one product. Parts are told by number: written out, they would repeat the operands."""
        halves = f"({' + '.join(f'a{p}' for p in range(left))})*({' + '.join(f'b{q}' for q in range(right))})"
        operands = f"a = {print_scalar(product.args[0])}, b = {print_scalar(product.args[1])}"
        every = [(p, q) for p in range(left) for q in range(right)]
        rest = sum(2.0 ** (-8 * self.scheme.parts) for n in (left, right) if n > 1)
        self.steps += [
            step("precision.halves", product, f"{halves}, {operands}"),
            step("precision.low", product, f"{halves}, parts of bf16, {_within(rest)}"),
            step("precision.distribute", product, " + ".join(f"a{p}*b{q}" for p, q in every)),
        ]
        if len(pairs) < len(every):
            text = " + ".join(f"a{p}*b{q}" for p, q in pairs)
            self.steps.append(step("precision.drop", product, f"{text}, {_within(self.scheme.bound)}"))


def _within(bound: float) -> str:
    return f"|error| <= {bound:.3g}*sum(|a|*|b|)"


def parts_of(x: Scalar, parts: int) -> tuple[Scalar, ...]:
    """`x` as so many numbers of bf16, largest first; alone where bf16 holds it exactly."""
    if _short(x):
        return (x,)
    found: list[Scalar] = []
    rest = x
    for n in range(parts):
        found.append(apply("cast:bf16", rest))
        if n + 1 < parts:
            rest = apply("add", rest, apply("neg", found[-1]))
    return tuple(found)


def _short(x: Scalar) -> bool:
    """Whether bf16 holds every value of `x`."""
    if isinstance(x, Read):
        return x.source.dtype == "bf16" and isinstance(x.source, Input)
    return isinstance(x, Apply) and x.op == "cast:bf16"


def _sums(monoid: Monoid, n: int) -> bool:
    """Whether component `n` adds up its lifts: plainly, or carried along a statistic."""
    component = monoid.components[n]
    if component.type != "real":
        return False
    if component.follow is not None:
        return component.follow.base is SUM
    combined = monoid.combine[n]
    if not (isinstance(combined, Apply) and combined.op == "add"):
        return False
    refs = [r for r in combined.args if isinstance(r, StateRef) and r.component == component.name]
    return sorted(r.side for r in refs) == ["left", "right"]


def _contracts(product: Apply, fold: Reduce) -> bool:
    """Whether a product is one of two operands of their own: what a matrix unit multiplies."""
    a, b = product.args
    if any(isinstance(x, Const) or type_of(x) != "real" for x in (a, b)):
        return False
    bound = frozenset(fold.indices)
    if not (free(a) & bound and free(b) & bound) or free(a) == free(b):
        return False
    return not any(isinstance(s, Read) and s.source.dtype == "f64" for s in walk(a, b))
