"""Index notation in Python: `te.sum(k, A[i, k] * B[k, j])` builds the nodes of `ir`.

    i, j, k = te.indices("i j k")
    A = te.input("A", (m, n))
    C = te.tensor("C", (i, j), te.sum(k, A[i, k] * B[k, j]))
    g = te.graph("product", C)

An index without a size takes that of the axes on which it stands alone as a coordinate: a bound one where its fold is
written, a free one where its tensor is. Folds over any built-in monoid have a name here; `reduce` takes every monoid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from tang_egg import monoid as monoids
from tang_egg import ops
from tang_egg.affine import Affine, AffineLike, Dim, Index, Inequality, affine
from tang_egg.errors import GraphError
from tang_egg.expression import Expression, Value, as_condition, as_scalar, cast, here, log, select
from tang_egg.ir import (
    Apply,
    Const,
    Coordinate,
    Input,
    Position,
    Read,
    Reduce,
    Scalar,
    Scan,
    Source,
    Tensor,
    Test,
    domain,
    type_of,
)
from tang_egg.monoid import Monoid
from tang_egg.sizes import placeholder, resolve

Condition: TypeAlias = "Inequality | Expression | Scalar"
Where: TypeAlias = "Condition | Sequence[Condition] | None"
Indices: TypeAlias = "Index | Sequence[Index]"
Subscript: TypeAlias = "AffineLike | Expression | Scalar"

PROVISIONAL = "?"
"""Last character of the name of an intermediate tensor that `te.graph` will name."""


def indices(names: str) -> tuple[Index, ...]:
    """Indices without sizes, one for each name: `i, j = te.indices("i j")`."""
    if not isinstance(names, str):
        raise GraphError(
            f"{names!r} does not name indices", where=str(here()), mend="give one string: te.indices('i j')"
        )
    return tuple(index(n) for n in names.replace(",", " ").split())


def index(name: str, size: AffineLike | None = None) -> Index:
    """An index over `size` points; without a size it takes that of the axes where it stands alone."""
    _check_name(name, "an index")
    return placeholder(name) if size is None else Index(name, _extent(size, f"index '{name}'"))


def dim(name: str, lo: int = 0, hi: int | None = None, multiple: int = 1) -> Dim:
    """A symbolic extent, `lo` to `hi`, a multiple of `multiple`."""
    _check_name(name, "a dimension")
    whole = isinstance(lo, int) and isinstance(multiple, int) and (hi is None or isinstance(hi, int))
    if not whole or lo < 0 or multiple < 1 or (hi is not None and lo + -lo % multiple > hi):
        raise GraphError(
            f"no value fits dimension '{name}': from {lo} to {hi}, a multiple of {multiple}",
            where=str(here()),
            mend="give whole numbers with 0 <= lo <= hi, and a multiple of at least 1 that lies between them",
        )
    return Dim(name, lo, hi, multiple)


@dataclass(frozen=True, slots=True, eq=False)
class Array:
    """An input or tensor that gives its elements by subscripts: `A[i, k + 1]`, or gathered `E[idx[b, l], d]`."""

    node: Source

    @property
    def name(self) -> str:
        """The name of the input or tensor."""
        return self.node.name

    @property
    def shape(self) -> tuple[Affine, ...]:
        """Extents in elements."""
        return self.node.shape

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.node.shape)

    @property
    def dtype(self) -> str:
        """The element type (see ops.STORAGE)."""
        return self.node.dtype

    def __getitem__(self, at: Subscript | tuple[Subscript, ...]) -> Expression:
        subscripts = at if isinstance(at, tuple) else (at,)
        if len(subscripts) != self.rank:
            raise GraphError(
                f"'{self.name}' has {self.rank} axes but is read with {len(subscripts)} coordinates",
                where=str(here()),
                mend=f"give one coordinate for each axis of shape ({', '.join(map(repr, self.shape))})",
            )
        return Expression(Read(self.node, tuple(_coordinate(self.name, s) for s in subscripts), here()))

    def __iter__(self) -> NoReturn:
        raise TypeError(f"'{self.name}' is read by indices, not by iteration")

    __array_ufunc__ = None

    def _no_arithmetic(self, *_: object) -> NoReturn:
        raise GraphError(
            f"arithmetic on the whole of '{self.name}'",
            where=str(here()),
            mend=f"work on its elements: te.tensor('y', (i, j), {self.name}[i, j] + 1), or use te.pointwise, te.matmul",
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _no_arithmetic
    __matmul__ = __rmatmul__ = __neg__ = __pow__ = __lt__ = __le__ = __gt__ = __ge__ = _no_arithmetic

    def __repr__(self) -> str:
        return f"{self.name}: {self.dtype}[{', '.join(map(repr, self.shape))}]"


def _coordinate(name: str, s: Subscript) -> Coordinate:
    if isinstance(s, (Expression, Scalar)):
        scalar = as_scalar(s)
        if isinstance(scalar, Position):
            return scalar.form
        if type_of(scalar) in ops.INTEGERS:
            return scalar
        found = f"a value of type {type_of(scalar)}"
    elif isinstance(s, float) or not (isinstance(s, (Affine, Index, Dim)) or hasattr(s, "__index__")):
        found = f"{s!r}"
    else:
        return affine(s)
    raise GraphError(
        f"{found} is a coordinate of '{name}'",
        where=str(here()),
        mend="coordinates are indices, sums of them with integer factors, or integer elements such as idx[b]",
    )


def input(
    name: str, shape: Sequence[AffineLike], dtype: str = "f32", *, sorted: bool = False, donated: bool = False
) -> Array:
    """A buffer that the caller gives: `shape` in elements, `dtype` one of ops.STORAGE."""
    _check_name(name, "an input")
    _check_dtype(dtype)
    if isinstance(shape, (str, bytes)) or not hasattr(shape, "__iter__"):
        raise GraphError(
            f"the shape of '{name}' is {shape!r}",
            where=str(here()),
            mend="give a tuple of extents: (n, 64), (64,) for one axis, () for a scalar",
        )
    return Array(Input(name, tuple(_extent(s, f"an axis of '{name}'") for s in shape), dtype, sorted, donated))


def tensor(
    name: str | None,
    axes: Indices,
    body: Value,
    dtype: str | None = None,
    *,
    into: Array | None = None,
    hint: str = "t",
) -> Array:
    """The tensor of `body` over `axes`, in storage order; sizes of axes are inferred.

    `dtype`: f32 for reals and the type of an integer body unless given. `into`: a donated input whose memory it takes.
    Without a name, `te.graph` makes one from `hint`.
    Raises GraphError when an index has no size, two different ones, or is free in `body` but no axis.
    """
    if name is not None:
        _check_name(name, "a tensor")
    axes = tuple(_sequence(axes))
    scalar = as_scalar(body)
    title = f"tensor '{name}'" if name is not None else f"an intermediate '{hint}'"
    sized, (done,), _ = resolve(axes, (scalar,), (), f"{title}, {here()}", also_free=True)
    type = type_of(done)
    dtype = dtype or ("f32" if type == "real" else type)
    _check_dtype(dtype)
    if ops.scalar_type(dtype) != type:
        raise GraphError(
            f"{title} is declared {dtype} but its body is {type}",
            where=str(here()),
            mend=f"convert the body: te.cast(body, '{dtype}')",
        )
    label = name if name is not None else hint + PROVISIONAL
    return Array(Tensor(label, sized, done, dtype, "" if into is None else into.name, here()))


def reduce(monoid: Monoid, over: Indices, *lifts: Value, where: Where = None, part: int | str = 0) -> Expression:
    """Component `part` (position or name) of the fold of `lifts`, one for each component of `monoid`."""
    bound, conditions = tuple(_sequence(over)), _conditions(where)
    _check_lifts(monoid, lifts)
    body = tuple(as_scalar(x, c.type) for x, c in zip(lifts, monoid.components, strict=True))
    span = here()
    title = f"{monoid.name} over {', '.join(i.name for i in bound)}, {span}"
    sized, body, conditions = resolve(bound, body, conditions, title)
    number = part if isinstance(part, int) else monoid.position(part)
    return Expression(Reduce(monoid, sized, domain(*conditions), body, number, span))


def scan(monoid: Monoid, at: Index, *lifts: Value, part: int | str = 0, chunk: int = 0) -> Expression:
    """Component `part` of the fold of `lifts` over the points 0 to `at`, which stays free."""
    _check_lifts(monoid, lifts)
    body = tuple(as_scalar(x, c.type) for x, c in zip(lifts, monoid.components, strict=True))
    number = part if isinstance(part, int) else monoid.position(part)
    return Expression(Scan(monoid, at, body, number, chunk, here()))


def _check_lifts(monoid: Monoid, lifts: Sequence[Value]) -> None:
    names = [c.name for c in monoid.components]
    if len(lifts) != len(names):
        raise GraphError(
            f"'{monoid.name}' folds {len(names)} components but {len(lifts)} lifts are given",
            where=str(here()),
            mend=f"give one lift for each of: {', '.join(names)}",
        )


def _fold(of_type: Callable[[str], Monoid], over: Indices, body: Value, where: Where) -> Expression:
    scalar = as_scalar(float(body) if isinstance(body, int) and not isinstance(body, bool) else body)
    if type_of(scalar) == "bool":
        raise GraphError(
            f"{of_type('real').name} of bools",
            where=str(here()),
            mend="use te.any or te.all, or count: te.sum(i, te.cast(x, 'i64'))",
        )
    return reduce(of_type(type_of(scalar)), over, scalar, where=where)


def sum(over: Indices, body: Value, where: Where = None) -> Expression:
    """Σ `body` over the indices, where `where` holds; 0 over an empty domain."""
    return _fold(monoids.sum_of, over, body, where)


def prod(over: Indices, body: Value, where: Where = None) -> Expression:
    """Π `body` over the indices, where `where` holds; 1 over an empty domain."""
    return _fold(monoids.product_of, over, body, where)


def max(over: Indices, body: Value, where: Where = None) -> Expression:
    """The largest `body`; over an empty domain -inf, or the smallest integer of its type."""
    return _fold(monoids.max_of, over, body, where)


def min(over: Indices, body: Value, where: Where = None) -> Expression:
    """The smallest `body`; over an empty domain inf, or the largest integer of its type."""
    return _fold(monoids.min_of, over, body, where)


def any(over: Indices, body: Value, where: Where = None) -> Expression:
    """Whether `body` is true somewhere; False over an empty domain."""
    return reduce(monoids.ANY, over, body, where=where)


def all(over: Indices, body: Value, where: Where = None) -> Expression:
    """Whether `body` is true everywhere; True over an empty domain."""
    return reduce(monoids.ALL, over, body, where=where)


def argmax(over: Indices, body: Value, where: Where = None) -> Expression:
    """The position of the largest element, the first of equal ones; row-major over several indices."""
    scalar = _ordered(body)
    return reduce(monoids.argmax_of(type_of(scalar)), over, scalar, _row_major(over), where=where, part=1)


def argmin(over: Indices, body: Value, where: Where = None) -> Expression:
    """The position of the smallest element, the first of equal ones; row-major over several indices."""
    scalar = _ordered(body)
    return reduce(monoids.argmin_of(type_of(scalar)), over, scalar, _row_major(over), where=where, part=1)


def _ordered(body: Value) -> Scalar:
    scalar = as_scalar(body)
    if type_of(scalar) == "bool":
        raise GraphError("the largest of bools", where=str(here()), mend="convert them: te.cast(x, 'i32')")
    return scalar


def logsumexp(over: Indices, body: Value, where: Where = None) -> Expression:
    """log Σ exp(body), by the monoid of maxima and rescaled sums; -inf over an empty domain."""
    x = Expression(as_scalar(body, "real"))
    one = select(Expression(Apply("eq", (x.scalar, Const(float("-inf"))))), 0.0, 1.0)
    m, s = (reduce(monoids.LOGSUMEXP, over, x, one, where=where, part=p) for p in ("m", "l"))
    return m + log(s)


def _row_major(over: Indices) -> Affine:
    position = affine(0)
    for i in _sequence(over):
        position = position * i.size + i
    return position


def size(i: Index | AffineLike) -> Expression:
    """The number of points of an index, or an extent, as a real value."""
    form = i.size if isinstance(i, Index) else affine(i)
    known = form.value
    return Expression(Const(float(known))) if known is not None else cast(form, "real")


def _sequence(over: Indices) -> Sequence[Index]:
    found = (over,) if isinstance(over, Index) else over
    given: object = over
    if isinstance(given, Array) or not hasattr(found, "__iter__"):
        raise GraphError(
            f"{given!r} is not an index or a tuple of them",
            where=str(here()),
            mend="give indices first: te.sum(i, x[i])",
        )
    for i in found:
        if not isinstance(i, Index):
            raise GraphError(f"{i!r} is not an index", where=str(here()), mend="make indices by te.indices('i j')")
    if len(set(found)) != len(tuple(found)):
        raise GraphError(
            "an index occurs twice in one list of indices",
            where=f"{', '.join(i.name for i in found)}, {here()}",
            mend="use a different index for each axis",
        )
    return found


def _conditions(where: Where) -> tuple[Inequality | Scalar, ...]:
    """The conjuncts of `where`; `a & b` counts as two."""
    if where is None:
        return ()
    found: list[Inequality | Scalar] = []
    stack: list[Condition] = list(reversed(where)) if isinstance(where, (tuple, list)) else [where]  # type: ignore[list-item]
    while stack:
        scalar = as_condition(stack.pop())
        if isinstance(scalar, Apply) and scalar.op == "and":
            stack.extend(reversed(scalar.args))
        elif isinstance(scalar, Test):
            found.append(scalar.condition)
        elif type_of(scalar) != "bool":
            raise GraphError(
                f"a condition has type {type_of(scalar)}", where=str(here()), mend="compare it, e.g. x > 0"
            )
        else:
            found.append(scalar)
    return tuple(found)


def holds(where: Where) -> Expression:
    """The truth of a conjunction of conditions, as a bool value."""
    parts = [Test(c) if isinstance(c, Inequality) else c for c in _conditions(where)]
    total: Scalar | None = None
    for p in parts:
        total = p if total is None else Apply("and", (total, p))
    return Expression(total if total is not None else Const(True, "bool"))


def _check_name(name: str, what: str) -> None:
    if not isinstance(name, str) or not name.isidentifier():
        raise GraphError(
            f"{name!r} cannot be the name of {what}",
            where=str(here()),
            mend="use letters, digits and underscores, a letter first",
        )


def _extent(size: AffineLike, what: str) -> Affine:
    """An extent as a form. Raises GraphError where it is no whole number of at least 0 that a machine can count."""
    try:
        form = affine(size)
    except TypeError:
        form = None
    if form is None or (form.value is not None and not 0 <= form.value < 2**63):
        raise GraphError(
            f"{what} has the extent {size!r}",
            where=str(here()),
            mend="give a whole number from 0, or a dimension: te.dim('n')",
        )
    return form


def _check_dtype(dtype: str) -> None:
    if dtype not in ops.STORAGE:
        raise GraphError(
            f"unknown element type '{dtype}'", where=str(here()), mend=f"use one of {', '.join(ops.STORAGE)}"
        )
