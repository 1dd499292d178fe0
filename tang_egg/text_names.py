"""Words of the text form: functions, folds and types that no array, dim, index or `let` may be called by.

The grammar (Python syntax, read with `ast`, one statement a line; `...` repeats):

    graph("name")                                   first
    x = named("x~1")                                from here on the word x stands for a name that is no free word
    seq = dim(lo=1, hi=4096, multiple=8)
    Q = input(f32[seq, 64], sorted=True, donated=True)
    m = monoid("name", "commutative", ...)          followed by one line for each component:
    m.a[r:4] = component(real, identity=0.0, combine=left.a[r] + right.a[r],
                         follow=follow(statistic=self.b, rebase=..., empty=..., base=sum))
    x = Q[i, d] * 2.0                               a let: stands for its expression, indices and all, where it is used
    c = index(64)                                   the size of an index that the next tensor mentions but does not have
    O[i, c:64]: f16(into="Q") = sum[j](P[i, j] * V[j, c], where=(j <= i, live[j]))
    output(O, ...)

A size after an index (`c:64`) is needed where the index does not stand alone on an axis of that size. A component of a
fold is `fold.name`, of a scan `sum.scan[t](x[t], chunk=64)`. `j <= i` is a condition on indices; `value(...)` keeps
what is inside from being read as one, or as an affine coordinate; `position(2*i + 1)` is the i64 value of a form.
A tensor that takes one component of a fold does not have the indices that stand in the lifts of others alone: `index`
gives their sizes.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from tang_egg import expression as e
from tang_egg import monoid as monoids
from tang_egg import ops
from tang_egg.monoid import Monoid

FOLDS: dict[str, Callable[[str], Monoid]] = {
    "sum": monoids.sum_of,
    "prod": monoids.product_of,
    "max": monoids.max_of,
    "min": monoids.min_of,
    "argmax": monoids.argmax_of,
    "argmin": monoids.argmin_of,
    "any": lambda _: monoids.ANY,
    "all": lambda _: monoids.ALL,
    "logsumexp": lambda _: monoids.LOGSUMEXP,
    "mean_variance": lambda _: monoids.MEAN_VARIANCE,
    "affine": lambda _: monoids.AFFINE,
}
"""Folds that need no definition, by the scalar type of their first lift."""

COMPOSED: dict[str, Callable[[e.Value], e.Expression]] = {
    "abs": e.absolute,
    "cos": e.cos,
    "gelu": e.gelu,
    "gelu_tanh": e.gelu_tanh,
    "relu": e.relu,
    "rsqrt": e.rsqrt,
    "sigmoid": e.sigmoid,
    "silu": e.silu,
    "softplus": e.softplus,
}
"""Functions that may be written and are printed as what they are composed of."""

INFIX = {
    "or": ("or", 1), "and": ("and", 2), "lt": ("<", 4), "le": ("<=", 4), "eq": ("==", 4), "bitor": ("|", 5),
    "bitxor": ("^", 6), "bitand": ("&", 7), "shl": ("<<", 8), "shr": (">>", 8), "add": ("+", 9), "mul": ("*", 10),
    "idiv": ("//", 10), "imod": ("%", 10),
}  # fmt: skip
"""Spelling and binding strength (Python's) of the binary operations."""

NOT, COMPARE, SUM, PRODUCT, UNARY, ATOM = 3, 4, 9, 10, 11, 13

STATEMENTS = ("graph", "named", "dim", "input", "monoid", "component", "follow", "output", "affine_matrix", "top_k")
FORMS = ("select", "cast", "bits", "value", "position", "state", "statistic")
TYPES = (*ops.STORAGE, "real")

RESERVED = frozenset(
    (*ops.OPS, *FOLDS, *COMPOSED, *STATEMENTS, *FORMS, *TYPES, "left", "right", "self", "inf", "nan", "scan", "where")
)


def is_plain(name: str) -> bool:
    """Whether Python reads a name as that one word."""
    return name.isidentifier() and not keyword.iskeyword(name) and unicodedata.normalize("NFKC", name) == name


def is_word(name: str) -> bool:
    """Whether a name can stand for an array, dim, index or monoid as it is."""
    return is_plain(name) and name not in RESERVED


def quoted(name: str) -> str:
    """A name as a Python string in double quotes."""
    text = repr(name)
    if text.startswith('"'):
        return text
    return '"' + re.sub(r"""\\.|\"""", lambda m: {"\\'": "'", '"': '\\"'}.get(m[0], m[0]), text[1:-1]) + '"'


@lru_cache(maxsize=256)
def fold_word(monoid: Monoid, type: str) -> str | None:
    """The word of a built-in fold of lifts of `type`, or None if `monoid` needs a definition."""
    if type not in TYPES or type in ops.FLOATS:
        return None
    for word, of_type in FOLDS.items():
        if type == "bool" and word not in ("any", "all"):
            continue
        if of_type(type) is monoid:
            return word
    return None
