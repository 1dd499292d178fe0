"""NumPy's own functions on traced arrays: np.exp(x), np.add(x, y), np.sum(x, axis=0), np.einsum("ij,jk", x, y).

NumPy asks its arguments for `__array_ufunc__` and `__array_function__`; both lead to the function of the same meaning
in `array_api`, or to an error that names the function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tang_egg import array_api as xp
from tang_egg.array_windows import sliding_window_view
from tang_egg.errors import GraphError
from tang_egg.traced import Traced, fail

UFUNCS = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "invert": "bitwise_invert", "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift", "power": "pow", "rint": "round", "conjugate": "positive", "fabs": "abs",
    "deg2rad": "radians", "rad2deg": "degrees",
}  # fmt: skip
"""NumPy's names of elementwise functions that have another one in the Array API."""

REDUCTIONS = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_or": "any", "logical_and": "all",
    "logaddexp": "logsumexp",
}  # fmt: skip
"""Elementwise functions → their folds, for np.add.reduce."""

FUNCTIONS = {"amax": "max", "amin": "min", "around": "round"}
"""NumPy's names of other functions that have another one in the Array API."""

PARAMETERS = {"ddof": "correction"}
"""NumPy's names of parameters given by name only → those of the Array API."""


def ufunc(function: np.ufunc, method: str, inputs: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    """What `function`, an elementwise one of NumPy, or its fold along an axis, gives for traced arrays."""
    name = function.__name__
    title = f"np.{name}{'' if method == '__call__' else f'.{method}'}"
    kept = {k: v for k, v in options.items() if not _is_plain(k, v)}
    if method == "reduce" and name in REDUCTIONS:
        return getattr(xp, REDUCTIONS[name])(*inputs, **{"axis": 0, **kept})
    if method == "accumulate" and name in ("add", "multiply"):
        return (xp.cumulative_sum if name == "add" else xp.cumulative_prod)(*inputs, **{"axis": 0, **kept})
    if method == "outer" and not kept:
        a, b = map(xp.asarray, inputs)
        return ufunc(function, "__call__", (xp.expand_dims(a, tuple(range(a.ndim, a.ndim + b.ndim))), b), {})
    found = getattr(xp, UFUNCS.get(name, name), None) if method == "__call__" else None
    if found is None:
        raise unknown(title)
    dtype = kept.pop("dtype", None)
    if kept:
        raise _not_taken(title, kept)
    result = found(*inputs)
    return result if dtype is None else xp.astype(result, dtype)


def unknown(name: str) -> GraphError:
    """The error for a function of NumPy that has no equivalent."""
    return fail(
        f"{name} has no equivalent for traced arrays",
        "write it with the functions of tang_egg.array_api, or apply it to arrays outside the traced program",
    )


def _not_taken(title: str, options: Mapping[str, Any]) -> GraphError:
    return fail(f"{title} of a traced array with {', '.join(options)}=", "leave it out, or write it another way")


def _is_plain(key: str, given: Any) -> bool:
    """Whether an option changes nothing."""
    plain = {"keepdims": False, "casting": "same_kind", "order": ("C", "K"), "subok": (True, False), "where": True,
             "copy": (True, False), "decimals": 0, "optimize": (True, False)}  # fmt: skip
    if given is np._NoValue or (given is None and key not in ("axis", "k")):
        return True
    if key not in plain or isinstance(given, Traced):
        return False
    wanted = plain[key]
    return given in wanted if isinstance(wanted, tuple) else given is wanted or given == wanted


def function(called: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    """What another function of NumPy gives for traced arrays."""
    name = called.__name__
    title = f"{called.__module__.replace('numpy', 'np', 1)}.{name}"
    if name in OWN:
        return OWN[name](*args, **{k: v for k, v in options.items() if not _is_plain(k, v)})
    found = getattr(xp, FUNCTIONS.get(name, name), None)
    if called.__module__ not in ("numpy", "numpy.linalg") or not inspect.isfunction(found):
        raise unknown(title)
    ours = inspect.signature(found).parameters
    plain: list[Any] = []
    named: dict[str, Any] = {}
    for key, given in _arguments(called, args, options):
        label = PARAMETERS.get(key, key)
        if label in ours and ours[label].kind is inspect.Parameter.KEYWORD_ONLY:
            if given is not np._NoValue:
                named[label] = given
        elif not _is_plain(key, given):
            plain.append((key, given))
    most = sum(p.kind is not inspect.Parameter.KEYWORD_ONLY for p in ours.values())
    if len(plain) > most and not any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in ours.values()):
        raise _not_taken(title, dict(plain[most:]))
    return found(*(given for _, given in plain), **named)


def _arguments(called: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The arguments of a call by the parameters that they are given to."""
    try:
        signature = inspect.signature(called)
    except ValueError:
        return [(f"argument {n}", a) for n, a in enumerate(args)] + list(options.items())
    found: list[tuple[str, Any]] = []
    for key, given in signature.bind(*args, **options).arguments.items():
        kind = signature.parameters[key].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            found += [(key, a) for a in given]
        elif kind is inspect.Parameter.VAR_KEYWORD:
            found += list(given.items())
        else:
            found.append((key, given))
    return found


def _joined(axis: int, least: int) -> Callable[..., Traced]:
    def joined(arrays: Any) -> Traced:
        given = [xp.asarray(a) for a in arrays]
        raised = []
        for x in given:
            while x.ndim < least:
                x = xp.expand_dims(x, 0)
            raised.append(x)
        return xp.concat(raised, axis=axis if raised[0].ndim > axis else 0)

    return joined


def _where(condition: Any, *choice: Any) -> Traced:
    if len(choice) != 2:
        raise fail("the shape of what np.where with one argument gives depends on values", "give both choices")
    return xp.where(condition, *choice)


def _flattened(f: Callable[..., Traced]) -> Callable[..., Traced]:
    """A function along an axis that takes None for the flattened array."""

    def called(a: Any, axis: int | None = None, **options: Any) -> Traced:
        return f(xp.ravel(a), axis=0, **options) if axis is None else f(a, axis=axis, **options)

    return called


OWN: dict[str, Callable[..., Any]] = {
    "where": _where,
    "shape": lambda a: a.shape,
    "ndim": lambda a: a.ndim,
    "size": lambda a, axis=None: a.size if axis is None else a.shape[axis],
    "concatenate": lambda arrays, axis=0, dtype=None: _typed(xp.concat(arrays, axis=axis), dtype),
    "vstack": _joined(0, 2),
    "hstack": _joined(1, 1),
    "dot": xp.dot,
    "inner": lambda a, b: xp.tensordot(a, b, axes=((-1,), (-1,))),
    "vdot": lambda a, b: xp.vecdot(xp.ravel(a), xp.ravel(b)),
    "einsum": xp.einsum,
    "cumsum": _flattened(xp.cumulative_sum),
    "cumprod": _flattened(xp.cumulative_prod),
    "sort": lambda a, axis=-1, **o: _flattened(xp.sort)(a, axis=axis, **o),
    "argsort": lambda a, axis=-1, **o: _flattened(xp.argsort)(a, axis=axis, **o),
    "full_like": lambda a, fill_value, dtype=None: xp.full_like(a, fill_value, dtype=dtype),
    "fliplr": lambda m: xp.flip(m, axis=1),
    "flipud": lambda m: xp.flip(m, axis=0),
    "diagonal": lambda a, offset=0, axis1=0, axis2=1: xp.diagonal(a, offset=offset, axis1=axis1, axis2=axis2),
    "clip": lambda a, a_min=None, a_max=None, min=None, max=None: xp.clip(
        a, a_min if min is None else min, a_max if max is None else max
    ),
    "norm": lambda x, ord=None, axis=None, keepdims=False: xp.norm(
        x, axis=axis, keepdims=keepdims, ord=2 if ord is None else ord
    ),
    "sliding_window_view": lambda x, window_shape, axis=None: sliding_window_view(x, window_shape, axis),
}
"""Functions of NumPy that are called in another way than those of the Array API."""


def _typed(x: Traced, dtype: Any) -> Traced:
    return x if dtype is None else xp.astype(x, dtype)
