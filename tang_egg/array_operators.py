"""What Python and NumPy write on a traced array: operators, subscripts, and methods named as NumPy's.

Every one calls the function of its name in `array_api`, which is imported on first use.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from tang_egg.traced import Traced


def _namespace() -> Any:
    from tang_egg import array_api

    return array_api


def _binary(name: str) -> Callable[[Any, Any], Traced]:
    def method(self: Any, other: Any) -> Traced:
        return _known(name, self, other)  # type: ignore[no-any-return]

    return method


def _reflected(name: str) -> Callable[[Any, Any], Traced]:
    def method(self: Any, other: Any) -> Traced:
        return _known(name, other, self)  # type: ignore[no-any-return]

    return method


def _unary(name: str) -> Callable[[Any], Traced]:
    def method(self: Any) -> Traced:
        return getattr(_namespace(), name)(self)  # type: ignore[no-any-return]

    return method


def _method(name: str) -> Callable[..., Any]:
    def method(self: Any, axis: Any = None, *, keepdims: bool = False, **options: Any) -> Any:
        if "ddof" in options:
            options["correction"] = options.pop("ddof")
        return getattr(_namespace(), name)(self, axis=axis, keepdims=keepdims, **options)

    method.__name__ = name
    method.__doc__ = f"`array_api.{name}` of this array."
    return method


def _known(name: str, a: Any, b: Any) -> Any:
    """The function of two operands, or NotImplemented where one is nothing that stands for an array."""
    from tang_egg.array_constants import stands_for_array

    if not (stands_for_array(a) and stands_for_array(b)):
        return NotImplemented
    return getattr(_namespace(), name)(a, b)


def _refuse(what: str, mend: str) -> NoReturn:
    from tang_egg.traced import fail

    raise fail(what, mend)


class Operators:
    """Base of `Traced`: the spellings of array programs."""

    __slots__ = ()

    __array_priority__ = 1000.0

    __add__, __radd__ = _binary("add"), _reflected("add")
    __sub__, __rsub__ = _binary("subtract"), _reflected("subtract")
    __mul__, __rmul__ = _binary("multiply"), _reflected("multiply")
    __truediv__, __rtruediv__ = _binary("divide"), _reflected("divide")
    __floordiv__, __rfloordiv__ = _binary("floor_divide"), _reflected("floor_divide")
    __mod__, __rmod__ = _binary("remainder"), _reflected("remainder")
    __pow__, __rpow__ = _binary("pow"), _reflected("pow")
    __matmul__, __rmatmul__ = _binary("matmul"), _reflected("matmul")
    __and__, __rand__ = _binary("bitwise_and"), _reflected("bitwise_and")
    __or__, __ror__ = _binary("bitwise_or"), _reflected("bitwise_or")
    __xor__, __rxor__ = _binary("bitwise_xor"), _reflected("bitwise_xor")
    __lshift__, __rlshift__ = _binary("bitwise_left_shift"), _reflected("bitwise_left_shift")
    __rshift__, __rrshift__ = _binary("bitwise_right_shift"), _reflected("bitwise_right_shift")
    __lt__, __le__ = _binary("less"), _binary("less_equal")
    __gt__, __ge__ = _binary("greater"), _binary("greater_equal")
    __eq__, __ne__ = _binary("equal"), _binary("not_equal")  # type: ignore[assignment]
    __neg__, __pos__, __abs__, __invert__ = map(_unary, ("negative", "positive", "abs", "bitwise_invert"))
    __hash__ = object.__hash__

    sum, prod, max, min = map(_method, ("sum", "prod", "max", "min"))
    mean, var, std = map(_method, ("mean", "var", "std"))
    any, all = map(_method, ("any", "all"))
    argmax, argmin = map(_method, ("argmax", "argmin"))

    def __getitem__(self, key: Any) -> Traced:
        return _namespace().getitem(self, key)  # type: ignore[no-any-return]

    def __setitem__(self, key: Any, given: Any) -> NoReturn:
        _refuse("an element of a traced array is assigned",
                "arrays here do not change: use xp.where, xp.concat or xp.scatter_nd for a new one")  # fmt: skip

    def __len__(self: Any) -> int:
        return _fixed(self, "its length")

    def __iter__(self: Any) -> Iterator[Traced]:
        _fixed(self, "iteration")
        return iter(_namespace().unstack(self))

    def __bool__(self: Any) -> bool:
        return builtins.bool(_concrete(self, "the truth"))

    def __int__(self: Any) -> int:
        return int(_concrete(self, "the integer"))

    def __index__(self: Any) -> int:
        return int(_concrete(self, "the integer"))

    def __float__(self: Any) -> float:
        return float(_concrete(self, "the number"))

    def __complex__(self: Any) -> complex:
        return complex(_concrete(self, "the number"))

    def item(self: Any) -> Any:
        return _concrete(self, "the number")

    def tolist(self) -> NoReturn:
        _refuse("the elements of a traced array as a list", "they are not known before the program runs")

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        _refuse(
            "a traced array would become a NumPy array",
            "its values are not known before the program runs: use the functions of tang_egg.array_api on it",
        )

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The module of the Array API. Raises GraphError for a version that is not built."""
        found = _namespace()
        if api_version not in (None, "2021.12", "2022.12", found.__array_api_version__):
            _refuse(f"version {api_version} of the Array API", f"ask for {found.__array_api_version__}")
        return found

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        from tang_egg.array_numpy import ufunc

        return ufunc(function, method, inputs, options)

    def __array_function__(self, called: Any, types: Any, args: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
        from tang_egg.array_numpy import function

        return function(called, args, options)

    @property
    def T(self: Any) -> Traced:
        """Axes in reverse order."""
        return _namespace().transpose(self)  # type: ignore[no-any-return]

    @property
    def mT(self: Any) -> Traced:
        """The last two axes exchanged."""
        return _namespace().matrix_transpose(self)  # type: ignore[no-any-return]

    @property
    def size(self: Any) -> Any:
        """The number of elements: an integer where it is fixed, else a form."""
        from tang_egg.affine import product
        from tang_egg.traced_factor import extent

        return extent(product(self.extents))

    @property
    def device(self) -> str:
        return "cpu"

    def to_device(self, device: str, /, *, stream: Any = None) -> Any:
        return self

    def reshape(self, *shape: Any, order: str = "C") -> Traced:
        """Another shape, as one sequence or several numbers."""
        return _namespace().reshape(self, shape[0] if len(shape) == 1 else shape)  # type: ignore[no-any-return]

    def transpose(self, *axes: Any) -> Traced:
        """Axes in the order given, or reversed."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return _namespace().transpose(self, order or None)  # type: ignore[no-any-return]

    def astype(self, dtype: Any, **_: Any) -> Traced:
        return _namespace().astype(self, dtype)  # type: ignore[no-any-return]

    def squeeze(self, axis: Any = None) -> Traced:
        return _namespace().squeeze(self, axis)  # type: ignore[no-any-return]

    def swapaxes(self, axis1: int, axis2: int) -> Traced:
        return _namespace().swapaxes(self, axis1, axis2)  # type: ignore[no-any-return]

    def flatten(self) -> Traced:
        return _namespace().ravel(self)  # type: ignore[no-any-return]

    ravel = flatten

    def copy(self) -> Any:
        return self

    def round(self) -> Traced:
        return _namespace().round(self)  # type: ignore[no-any-return]

    def clip(self, min: Any = None, max: Any = None) -> Traced:
        return _namespace().clip(self, min, max)  # type: ignore[no-any-return]

    def dot(self, other: Any) -> Traced:
        return _namespace().dot(self, other)  # type: ignore[no-any-return]

    def repeat(self, repeats: int, axis: int | None = None) -> Traced:
        return _namespace().repeat(self, repeats, axis=axis)  # type: ignore[no-any-return]

    def take(self, indices: Any, axis: int | None = None) -> Traced:
        return _namespace().take(self, indices, axis=axis)  # type: ignore[no-any-return]

    def cumsum(self: Any, axis: int | None = None, dtype: Any = None) -> Traced:
        given = self if axis is not None else _namespace().ravel(self)
        return _namespace().cumulative_sum(given, axis=axis or 0, dtype=dtype)  # type: ignore[no-any-return]


def _fixed(x: Any, what: str) -> int:
    """The extent of the first axis. Raises GraphError without axes, and for a symbolic one."""
    if not x.ndim:
        _refuse(f"{what} is asked of an array without axes", "give it an axis, or work on the whole")
    size = x.extents[0].value
    if size is None:
        _refuse(f"{what} is asked of an axis of symbolic extent {x.extents[0]}",
                "work on the whole axis, or fix its extent")  # fmt: skip
    return int(size)


def _concrete(x: Any, what: str) -> Any:
    """The value of a constant. Raises GraphError for an array whose values are not known while it is traced."""
    if x.constant is not None and builtins.all(s.value == 1 for s in x.extents):
        return x.constant
    return _refuse(
        f"{what} of a traced array is not known while the program is traced",
        "choose elements by xp.where(condition, a, b), and keep Python's if, while and int() for shapes and options",
    )
