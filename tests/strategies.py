"""Random well-typed graphs with inputs to match: plain code over a seed, and a Hypothesis strategy around it.

Values are kept tame: each expression carries a bound on its size and on the error of evaluating it in single precision,
so that float32 results can be compared with the oracle at a tolerance that follows from the graph. Comparisons and
arg-max only look at values that single precision holds exactly, since a tie decided otherwise is no rounding error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from tang_egg.affine import Affine, Dim, Index, Inequality, affine
from tang_egg.interpret_bind import infer_dims
from tang_egg.ir import (
    EVERYWHERE,
    Const,
    Coordinate,
    Domain,
    Graph,
    Input,
    Position,
    Read,
    Reduce,
    Scalar,
    Scan,
    Source,
    Tensor,
    Test,
    apply,
    const,
    domain,
    sources,
    tensors_of,
    type_of,
)
from tang_egg.monoid import (
    AFFINE,
    ALL,
    ANY,
    LOGSUMEXP,
    MAX,
    MEAN_VARIANCE,
    MIN,
    PRODUCT,
    SUM,
    argmax_of,
    argmin_of,
    max_of,
    min_of,
    sum_of,
)
from tang_egg.monoid_entries import top_k
from tang_egg.ops import cast_value, numpy_type, scalar_type

SIZES = (0, 1, 1, 2, 2, 3, 3, 5, 5, 7, 7, 13)
"""Extents, the empty one more seldom: it makes everything around it empty."""
LARGEST = 1e3
"""Values grow no larger than this; larger ones are passed through tanh."""
UNIT = 2.0**-23
"""The rounding unit in which errors are counted: one unit in the last place of a float32 near 1."""
MOST_POINTS = 1 << 14
"""No tensor or fold has more points than this."""


@dataclass(frozen=True, slots=True)
class Term:
    """An expression; |value| <= `size`, |error| <= `error` * UNIT in single precision; `exact`: no error at all."""

    scalar: Scalar
    size: float = 1.0
    error: float = 0.0

    @property
    def exact(self) -> bool:
        return self.error == 0


@dataclass(frozen=True, slots=True)
class Instance:
    """A graph, arrays for its inputs, values for its dims, and an absolute float32 tolerance for each output."""

    graph: Graph
    inputs: dict[str, npt.NDArray[Any]]
    dims: dict[str, int]
    tolerance: dict[str, float]


class Maker:
    """Makes one random graph. `edges`: data holds ±inf and -0.0; `symbolic`: some extents are dims."""

    def __init__(self, rng: Random, *, edges: bool, symbolic: bool, sizes: Sequence[int]) -> None:
        self.rng = rng
        self.edges = edges
        self.symbolic = symbolic
        self.sizes = sizes
        self.dims: dict[Dim, int] = {}
        self.env: dict[str, int] = {}
        self.indices: list[Index] = []
        self.arrays: dict[Input, npt.NDArray[Any]] = {}
        self.tensors: dict[Tensor, Term] = {}
        self.data = np.random.default_rng(rng.getrandbits(32))

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def points(self, *indices: Index) -> int:
        """The number of points of some indices."""
        return prod(i.size.evaluate(self.env) for i in indices)

    def index(self, scope: Sequence[Index]) -> Index:
        """An index that is not in scope: one used before, or a new one."""
        spare = [i for i in self.indices if i not in scope and self.points(*scope, i) <= MOST_POINTS]
        if spare and self.chance(0.4):
            return self.rng.choice(spare)
        size = affine(self.dim() if self.symbolic and self.chance(0.25) else self.rng.choice(self.sizes))
        if self.points(*scope) * size.evaluate(self.env) > MOST_POINTS:
            size = affine(1)
        made = Index(f"i{len(self.indices)}", size)
        self.indices.append(made)
        return made

    def dim(self) -> Dim:
        if self.dims and self.chance(0.6):
            return self.rng.choice(list(self.dims))
        made = Dim(f"n{len(self.dims)}", lo=1)
        self.dims[made] = self.rng.choice([s for s in self.sizes if s] or [1])
        self.env[made.name] = self.dims[made]
        return made

    # views

    def form(self, scope: Sequence[Index]) -> tuple[Affine, Affine]:
        """An affine form that is never negative, and the extent that an axis read at it needs."""
        form, extent = affine(0), affine(1)
        for i in self.rng.sample(scope, min(len(scope), self.rng.choice((0, 1, 1, 1, 2)))):
            stride = self.rng.choice((1, 1, 1, 2, 3))
            flipped = self.chance(0.2)
            if self.points(i) == 0:
                if any(self.points(j) == 0 for j in form.indices()):
                    continue  # two empty indices would make the extent negative
                stride = 1
            form += stride * (i.size - 1 - i if flipped else affine(i))
            extent += stride * (i.size - 1)
        if self.chance(0.2):
            offset = self.rng.randint(1, 2)
            form, extent = form + offset, extent + offset
        return form, extent + self.rng.choice((0, 0, 0, 1, 2))

    def input(self, shape: Sequence[Affine], dtype: str, below: int | None = None) -> Input:
        """A new input with random data; `below`: integers from 0 to below - 1."""
        made = Input(f"x{len(self.arrays)}", tuple(shape), dtype, self._ordered(shape, below))
        extents = tuple(s.evaluate(self.env) for s in shape)
        self.arrays[made] = self._data(extents, dtype, below)
        if made.sorted:
            self.arrays[made] = np.sort(self.arrays[made])
        return made

    def _ordered(self, shape: Sequence[Affine], below: int | None) -> bool:
        return below is not None and len(shape) == 1 and self.chance(0.3)

    def _data(self, shape: tuple[int, ...], dtype: str, below: int | None) -> npt.NDArray[Any]:
        if scalar_type(dtype) != "real":
            kind = numpy_type(dtype)
            if dtype == "bool":
                return self.data.random(shape) < 0.6
            low, high = (0, max(below, 1)) if below is not None else (np.iinfo(kind).min, int(np.iinfo(kind).max) + 1)
            return self.data.integers(low, high, shape, dtype=kind)
        whole = self.data.random(shape) < 0.3
        values = np.where(whole, self.data.integers(-2, 3, shape), self.data.uniform(-2, 2, shape))
        if self.edges:
            values = np.where(self.data.random(shape) < 0.1, self.data.choice([np.inf, -np.inf, -0.0], shape), values)
        rounded = np.asarray(cast_value(values, dtype, "real"))
        return rounded.astype({"f16": np.float16, "f64": np.float64}.get(dtype, np.float32))

    def read(self, scope: Sequence[Index], kind: str = "real") -> Term:
        """A read of a new or known source of scalar type `kind`, through a random view."""
        every: tuple[Source, ...] = (*self.arrays, *self.tensors)
        known = [s for s in every if scalar_type(s.dtype) == kind]
        if known and self.chance(0.5):
            return self.guarded(self.rng.choice(known), scope)
        pairs = [self.form(scope) for _ in range(self.rng.choice((0, 1, 1, 2, 2, 3)))]
        if prod(max(e.evaluate(self.env), 1) for _, e in pairs) > MOST_POINTS:
            pairs = pairs[:1]
        storage = self.rng.choice(("f32", "f32", "f32", "f16", "bf16")) if kind == "real" else kind
        source = self.input([e for _, e in pairs], storage)
        return self._term(source, tuple(f for f, _ in pairs))

    def _term(self, source: Source, coordinates: tuple[Coordinate, ...]) -> Term:
        read = Read(source, coordinates)
        if isinstance(source, Tensor):
            term = self.tensors[source]
            return Term(read, term.size, term.error)
        return Term(read, 2.0)

    def guarded(self, source: Source, scope: Sequence[Index]) -> Term:
        """A read of a known source; where a coordinate may leave it, a select keeps the read inside."""
        coordinates: list[Coordinate] = []
        guards: list[Inequality] = []
        for extent in source.shape:
            fitting = [i for i in scope if i.size is extent]
            if fitting and self.chance(0.7):
                i = self.rng.choice(fitting)
                coordinates.append(affine(i) if self.chance(0.7) else extent - 1 - i)
                continue
            if extent.value and self.chance(0.3):
                gathered = self.gather(extent.value, scope)
                if gathered is not None:
                    coordinates.append(gathered)
                    continue
            form = self.form(scope)[0] - self.rng.choice((0, 0, 1))
            coordinates.append(form)
            guards += [form >= 0, form < extent]
        term = self._term(source, tuple(coordinates))
        if not guards:
            return term
        inside: Scalar = Test(guards[0])
        for g in guards[1:]:
            inside = apply("and", inside, Test(g))
        kind = type_of(term.scalar)
        outside = const(self.rng.choice((0.0, 1.0)), kind) if kind == "real" else const(kind == "bool" or 1, kind)
        if self.chance(0.2):
            return replace(term, scalar=apply("select", apply("not", inside), outside, term.scalar))
        return replace(term, scalar=apply("select", inside, term.scalar, outside))

    def gather(self, below: int, scope: Sequence[Index]) -> Scalar | None:
        """An integer from 0 to below - 1 that is read from a new input."""
        form, extent = self.form(scope)
        if extent.evaluate(self.env) > MOST_POINTS:
            return None
        return Read(self.input([extent], self.rng.choice(("i32", "i64")), below), (form,))

    # scalars

    def real(self, scope: Sequence[Index], depth: int) -> Term:
        """A random real expression."""
        if depth <= 0:
            return self.leaf(scope)
        kind = self.rng.choice(("leaf", "binary", "binary", "unary", "select", "fold", "fold", "scan", "cast"))
        if kind == "leaf":
            return self.leaf(scope)
        if kind == "binary":
            return self.binary(self.real(scope, depth - 1), self.real(scope, depth - 1))
        if kind == "unary":
            return self.unary(self.real(scope, depth - 1))
        if kind == "select":
            a, b = self.real(scope, depth - 1), self.real(scope, depth - 1)
            chosen = apply("select", self.condition(scope, depth - 1), a.scalar, b.scalar)
            return Term(chosen, max(a.size, b.size), max(a.error, b.error))
        if kind == "scan" and scope:
            return self.tame(self.scan(scope, depth - 1))
        if kind == "cast":
            whole = self.read(scope, self.rng.choice(("i8", "u8")))
            return Term(apply("mul", const(1 / 64), apply("cast:f32", whole.scalar)), 4.0)
        return self.tame(self.fold(scope, depth - 1))

    def leaf(self, scope: Sequence[Index]) -> Term:
        if self.chance(0.1):
            value = self.rng.choice((0.0, 1.0, -1.5, 0.25))
            return Term(const(value), abs(value))
        return self.read(scope)

    def tame(self, term: Term) -> Term:
        if term.size <= LARGEST and term.error <= 1e5:
            return term
        return Term(apply("tanh", term.scalar), 1.0, min(term.error, 1e5) + 4)

    def binary(self, a: Term, b: Term) -> Term:
        op = self.rng.choice(("add", "mul", "max", "min"))
        made = apply(op, a.scalar, b.scalar)
        if op == "add":
            size = a.size + b.size
            return self.tame(Term(made, size, a.error + b.error + size))
        if op == "mul":
            size = a.size * b.size
            return self.tame(Term(made, size, a.size * b.error + b.size * a.error + size))
        return Term(made, max(a.size, b.size), max(a.error, b.error))

    def unary(self, a: Term) -> Term:
        x = a.scalar
        positive = apply("add", const(1.0), apply("mul", x, x))
        op = self.rng.choice(("neg", "tanh", "sin", "exp", "recip", "sqrt", "log"))
        if op == "neg":
            return Term(apply("neg", x), a.size, a.error)
        if op in ("tanh", "sin"):
            return Term(apply(op, x), 1.0, a.error + 4 + (a.size if op == "sin" else 0))
        if op == "exp":
            return Term(apply("exp", apply("tanh", x)), 3.0, 3 * a.error + 16)
        # 1 + x² has a relative error of at most 2 e |x| / (1 + x²) + 2 <= e + 2 units
        size = {"recip": 1.0, "sqrt": 1 + a.size, "log": 2 * np.log1p(a.size)}[op]
        return Term(apply(op, positive), float(size), a.error * 2 + 4 * float(size) + 8)

    def condition(self, scope: Sequence[Index], depth: int) -> Scalar:
        """A random bool whose truth single precision decides as the oracle does."""
        kind = self.rng.choice(("test", "test", "mask", "compare", "and", "or", "not", "fold"))
        if depth > 0 and kind in ("and", "or"):
            return apply(kind, self.condition(scope, depth - 1), self.condition(scope, depth - 1))
        if depth > 0 and kind == "not":
            return apply("not", self.condition(scope, depth - 1))
        if depth > 0 and kind == "fold":
            k = self.index(scope)
            body = self.condition((*scope, k), depth - 1)
            return Reduce(self.rng.choice((ANY, ALL)), (k,), self.where(scope, (k,)), (body,))
        if kind == "compare":
            exact = self.read(scope)
            if exact.exact:
                return apply(self.rng.choice(("lt", "le", "eq")), exact.scalar, const(self.rng.choice((0.0, 1.0, 0.5))))
        if kind == "mask":
            return self.read(scope, "bool").scalar
        return Test(self.inequality(scope))

    def inequality(self, scope: Sequence[Index]) -> Inequality:
        """A random affine condition over at most two indices: causal, window or bound."""
        form = affine(self.rng.randint(-1, 3))
        for n, i in enumerate(self.rng.sample(scope, min(2, len(scope)))):
            form += (1, -1)[n] * self.rng.choice((1, 1, 2)) * affine(i)
        return form >= 0

    def where(self, scope: Sequence[Index], indices: Sequence[Index]) -> Domain:
        """A random domain of a fold."""
        conditions: list[Inequality | Scalar] = []
        while self.chance(0.35) and len(conditions) < 3:
            if self.chance(0.6):
                conditions.append(self.inequality((*scope, *indices)))
            else:
                conditions.append(self.condition((*scope, *indices), 0))
        return domain(*conditions) if conditions else EVERYWHERE

    # folds

    def fold(self, scope: Sequence[Index], depth: int) -> Term:
        """A random fold with a real value."""
        indices = [self.index(scope)]
        if self.chance(0.3):
            indices.append(self.index((*scope, *indices)))
        inner = (*scope, *indices)
        where, n = self.where(scope, indices), max(self.points(*indices), 1)
        kind = self.rng.choice(("sum", "sum", "sum", "max", "min", "product", "best", "logsumexp", "variance", "top"))
        if kind in ("best", "top"):
            value = self.read(inner)
            if not value.exact:
                value = Term(self.exact_read(inner))
            if kind == "best":
                monoid = self.rng.choice((argmax_of(), argmin_of()))
                return Term(Reduce(monoid, tuple(indices), where, (value.scalar, self.place(indices))), 2.0)
            monoid = top_k(2)
            body = (value.scalar, self.place(indices), *monoid.identity[2:])
            return Term(Reduce(monoid, tuple(indices), where, body, self.rng.choice((0, 2))), 2.0)
        x = self.real(inner, depth)
        made = tuple(indices)
        if kind == "sum":
            size = n * x.size
            return Term(Reduce(SUM, made, where, (x.scalar,)), size, n * x.error + n * size)
        if kind in ("max", "min"):
            return Term(Reduce(MAX if kind == "max" else MIN, made, where, (x.scalar,)), x.size, x.error)
        if kind == "product":
            small = apply("tanh", x.scalar)
            return Term(Reduce(PRODUCT, made, where, (small,)), 1.0, n * (x.error + 8))
        if kind == "logsumexp":
            state = (x.scalar, const(1.0))
            m, total = (Reduce(LOGSUMEXP, made, where, state, part) for part in (0, 1))
            size = x.size + float(np.log(n)) + 1
            return Term(apply("add", m, apply("log", total)), size, 2 * x.error + 4 * (n + size))
        part = self.rng.choice((1, 2))
        lifted = (const(1.0), x.scalar, const(0.0))
        spread = 2 * x.size + 1
        size = x.size if part == 1 else n * spread**2
        error = 4 * (x.error + n * spread) * (1 if part == 1 else n * spread)
        return Term(Reduce(MEAN_VARIANCE, made, where, lifted, part), size, error)

    def exact_read(self, scope: Sequence[Index]) -> Scalar:
        form, extent = self.form(scope)
        return Read(self.input([extent], "f32"), (form,))

    def place(self, indices: Sequence[Index]) -> Scalar:
        """The row-major position of a point; strides that would be symbolic times an index are avoided."""
        if len(indices) == 1 or indices[1].size.value is None:
            return Position(affine(indices[0]))
        return Position(indices[0] * indices[1].size + indices[1])

    def scan(self, scope: Sequence[Index], depth: int) -> Term:
        """A random prefix fold at an index in scope."""
        t = self.rng.choice(scope)
        n = max(self.points(t), 1)
        kind = self.rng.choice(("sum", "max", "affine", "affine", "logsumexp"))
        x = self.real(scope, depth)
        if kind == "sum":
            return Term(Scan(SUM, t, (x.scalar,)), n * x.size, n * x.error + n * n * x.size)
        if kind == "max":
            return Term(Scan(MAX, t, (x.scalar,)), x.size, x.error)
        if kind == "logsumexp":
            return Term(Scan(LOGSUMEXP, t, (x.scalar, const(1.0)), 0), x.size, x.error)
        decay, size = self.real(scope, depth), n * x.size
        error = n * (x.error + (decay.error + 8) * size + size)
        return Term(Scan(AFFINE, t, (apply("tanh", decay.scalar), x.scalar), 1, self.rng.choice((0, 2))), size, error)

    def whole(self, scope: Sequence[Index], depth: int, kind: str) -> Term:
        """A random integer expression of type `kind`; it wraps."""
        if depth <= 0:
            return self.read(scope, kind)
        choice = self.rng.choice(("binary", "binary", "neg", "fold", "select"))
        if choice == "neg":
            return Term(apply("neg", self.whole(scope, depth - 1, kind).scalar))
        if choice == "fold":
            k = self.index(scope)
            monoid = self.rng.choice((sum_of, max_of, min_of))(kind)
            body = self.whole((*scope, k), depth - 1, kind)
            return Term(Reduce(monoid, (k,), self.where(scope, (k,)), (body.scalar,)))
        a, b = (self.whole(scope, depth - 1, kind).scalar for _ in range(2))
        if choice == "select":
            return Term(apply("select", self.condition(scope, depth - 1), a, b))
        op = self.rng.choice(("add", "mul", "max", "min", "bitand", "bitor", "bitxor", "idiv", "imod"))
        if op in ("idiv", "imod"):
            b = Const(self.rng.choice((3, 7)), kind)
        return Term(apply(op, a, b))

    # graphs

    def tensor(self) -> Tensor:
        """A new tensor, which later ones may read."""
        axes: list[Index] = []
        for _ in range(self.rng.choice((0, 1, 1, 2, 2, 3))):
            axes.append(self.index(axes))
        self.rng.shuffle(axes)
        kind = self.rng.choice(("real",) * 6 + ("bool", "whole", "position"))
        integers = self.rng.choice(("i8", "i32", "u8", "i64"))
        dtype = {"real": "f32", "bool": "bool", "position": "i64"}.get(kind, integers)
        if kind == "real":
            term = self.real(axes, self.rng.choice((1, 2, 3, 4)))
        elif kind == "bool":
            term = Term(self.condition(axes, 2))
        elif kind == "position":
            k = self.index(axes)
            body = (self.exact_read((*axes, k)), Position(affine(k)))
            term = Term(Reduce(self.rng.choice((argmax_of(), argmin_of())), (k,), self.where(axes, (k,)), body, 1))
        else:
            term = self.whole(axes, 2, dtype)
        made = Tensor(f"t{len(self.tensors)}", tuple(axes), term.scalar, dtype)
        # Storing rounds once more.
        self.tensors[made] = replace(term, error=term.error + term.size if term.error else 0)
        return made

    def instance(self, tensors: int) -> Instance:
        """A graph of up to `tensors` tensors; all that none reads are outputs, and some others."""
        made = [self.tensor() for _ in range(self.rng.randint(1, tensors))]
        read = {s for t in made for s in sources(t.body)}
        outputs = tuple(t for t in made if t not in read or self.chance(0.3))
        used = {s for t in tensors_of(outputs) for s in sources(t.body)}
        inputs = tuple(i for i in self.arrays if i in used)
        graph = Graph("random", inputs, outputs)
        arrays = {i.name: self.arrays[i] for i in inputs}
        tolerance = {t.name: UNIT * (self.tensors[t].error + self.tensors[t].size) for t in outputs}
        dims = {d.name: n for d, n in self.dims.items() if d in graph.dims()}
        infer_dims(inputs, arrays, dims, "a random graph")
        return Instance(graph, arrays, dims, tolerance)


def random_instance(
    seed: int, *, tensors: int = 3, edges: bool = False, symbolic: bool = True, sizes: Sequence[int] = SIZES
) -> Instance:
    """The random graph of a seed, the same on every machine. See Maker for the options."""
    return Maker(Random(seed), edges=edges, symbolic=symbolic, sizes=sizes).instance(tensors)


def graphs(
    *, edges: bool = False, symbolic: bool = True, tensors: int = 3, sizes: Sequence[int] = SIZES
) -> st.SearchStrategy[Instance]:
    """Random graphs with inputs for them. Hypothesis shrinks towards fewer tensors, then smaller seeds."""

    def make(count: int, seed: int) -> Instance:
        return random_instance(seed, tensors=count, edges=edges, symbolic=symbolic, sizes=sizes)

    return st.builds(make, st.integers(1, tensors), st.integers(0, 2**32 - 1))
