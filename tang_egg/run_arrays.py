"""Arrays and sizes that a caller gives to a compiled program: taken in without a copy where that is possible, checked.

Everything with the buffer protocol or DLPack is an array here. bf16 travels as its bits.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tang_egg.errors import BindError, InputError, TangError, close_match
from tang_egg.interpret_bind import infer_dims
from tang_egg.ir import Graph, Input, Tensor
from tang_egg.ops_eight import EIGHT, bits_of, numbers_of

NUMPY = {
    "f32": "float32", "f64": "float64", "f16": "float16", "bf16": "uint16", "bool": "bool",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8",
    "u16": "uint16", "u32": "uint32", "u64": "uint64", "f8e4m3": "uint8", "f8e5m2": "uint8",
}  # fmt: skip
"""The NumPy type of the array that holds an element type. bf16 and floats of 8 bits travel as their bits."""
BITS = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}
"""The types that travel as their bits, and what other libraries (ml_dtypes, torch) call them."""

LARGEST = 2**62
"""No dim may be as large: kernels count in 64 bits."""


@dataclass(frozen=True, slots=True)
class Given:
    """An array as the kernels read it (contiguous, of the declared type), and as the caller gave it."""

    array: np.ndarray[Any, Any]
    origin: np.ndarray[Any, Any]
    owned: bool  # whether what is written to `origin` reaches the caller
    type: str = ""

    @property
    def copied(self) -> bool:
        """Whether `array` has memory of its own."""
        return self.array is not self.origin

    def write_back(self, value: np.ndarray[Any, Any]) -> None:
        """Writes a result, of the declared type, into the memory that the caller gave."""
        if self.origin.dtype == value.dtype:
            self.origin[...] = value
        elif self.type in EIGHT:
            self.origin[...] = numbers_of(value, self.type)
        else:  # bf16 that was given as floats
            self.origin[...] = (value.astype(np.uint32) << 16).view(np.float32)


def check_names(
    given: Iterable[object], known: Iterable[str], what: str, where: str, error: type[TangError] = InputError
) -> None:
    """Raises an error for the first name that is not known, with those that are."""
    names = list(known)
    for name in given:
        if name not in names:
            raise error(
                f"there is no {what} {name!r}",
                where=where,
                mend=f"the {what}s are: {', '.join(names) or 'none'}{close_match(str(name), names)}",
            )


def take_inputs(graph: Graph, arrays: Mapping[str, Any]) -> dict[Input, Given]:
    """The arrays of a graph's inputs. Raises InputError for missing and unknown names and for what does not fit."""
    check_present(graph, arrays)
    written = {t.into for t in graph.outputs if t.into}
    found: dict[Input, Given] = {}
    for i in graph.inputs:
        found[i] = take(i, arrays[i.name])
        if i.name in written:
            check_written(i, found[i])
    return found


def check_present(graph: Graph, arrays: Mapping[str, Any]) -> None:
    """Raises InputError unless there is an array for every input and for nothing else."""
    where = f"graph '{graph.name}'"
    names = [i.name for i in graph.inputs]
    missing = [n for n in names if n not in arrays]
    if missing:
        several = len(missing) > 1
        raise InputError(
            f"no array{'s' * several} for input{'s' * several} {', '.join(map(repr, missing))}",
            where=f"{where}, given: {', '.join(map(str, arrays)) or 'none'}",
            mend=f"pass {', '.join(f'{n}=...' for n in missing)}",
        )
    if len(arrays) > len(names):
        check_names(arrays, names, "input", where)


def take(i: Input, x: Any) -> Given:
    """The array given for an input. Raises InputError when it is none, or of another type."""
    if isinstance(x, Given):  # bound before: checked and converted
        return x
    origin = _as_numpy(i, x)
    owned = not isinstance(x, (list, tuple, bool, int, float, complex, np.generic))
    if origin.dtype.name == BITS.get(i.dtype):
        origin = origin.view(NUMPY[i.dtype])
    array = bits_of_floats(origin, type=i.dtype) if i.dtype in BITS and origin.dtype.kind == "f" else origin
    if array.dtype != np.dtype(NUMPY[i.dtype]):
        bits = f" to float32, or pass its bits as {NUMPY[i.dtype]}" if i.dtype in BITS else ""
        raise InputError(
            f"input '{i.name}' has elements of type {array.dtype}, not {i.dtype}",
            where="a call of a compiled program",
            mend=f"convert it{bits}" if bits else f"convert it: array.astype('{NUMPY[i.dtype]}')",
        )
    if not (array.flags.c_contiguous and array.flags.aligned):
        array = np.array(array, order="C")  # kernels read elements one after another, each at a multiple of its size
    if i.sorted:
        check_sorted(i.name, array, "a call of a compiled program")
    return Given(array, origin, owned, i.dtype)


def check_sorted(name: str, array: np.ndarray[Any, Any], where: str) -> None:
    """Raises InputError unless the entries of a vector do not decrease: kernels look for keys by bisection."""
    falls = array[1:] < array[:-1] if array.ndim == 1 else np.zeros(0, bool)
    if falls.any():
        raise InputError(
            f"input '{name}' is declared sorted, but entry {int(np.argmax(falls)) + 1} is less than the one before it",
            where=where,
            mend="sort the array, or declare the input without sorted=True",
        )


def check_written(i: Input, given: Given) -> None:
    """Raises InputError unless the array of a donated input can be written to."""
    if not given.owned:
        raise InputError(
            f"the donated input '{i.name}' is no array that can be written to",
            where="a call of a compiled program",
            mend="give an array; a list or number is copied, and the update would be lost",
        )
    if not given.origin.flags.writeable:
        raise InputError(
            f"the array of the donated input '{i.name}' is read-only",
            where="a call of a compiled program",
            mend="give an array that may be written to, e.g. array.copy()",
        )


def _as_numpy(i: Input, x: Any) -> np.ndarray[Any, Any]:
    """NumPy's view of an array of any library. Raises InputError where there is none."""
    if isinstance(x, np.ndarray):
        return np.asarray(x)
    reason: Exception | None = None
    if hasattr(x, "__dlpack__") and not isinstance(x, np.generic):
        try:
            shown = _exportable(x, i.dtype)
            array = np.from_dlpack(shown)
            return array if shown is x else array.view(NUMPY[i.dtype])
        except Exception as error:  # of any kind: the library decides what it raises
            reason = error
    try:
        return np.asarray(x)
    except Exception as error:
        reason = reason or error
    said = " ".join(str(reason).split())
    raise InputError(
        f"input '{i.name}' cannot be read as an array: {said[:200]}",
        where=f"a value of type {type(x).__module__}.{type(x).__qualname__}",
        mend=_conversion(x),
    ) from reason


def _exportable(x: Any, type: str) -> Any:
    """A tensor of a type that NumPy does not know as integers with the same memory; others as they are."""
    integers = getattr(sys.modules.get("torch"), "int16" if type == "bf16" else "uint8", None)
    if integers is None or str(getattr(x, "dtype", "")) != f"torch.{BITS.get(type)}" or x.requires_grad:
        return x
    return x.view(integers)


def _conversion(x: Any) -> str:
    """What the caller can do to an array that cannot be read."""
    if getattr(x, "requires_grad", False) is True:
        return "detach it: tensor.detach()"
    if getattr(x, "is_meta", False) is True:
        return "give a tensor that has values"
    if getattr(x, "is_sparse", False) is True or "sparse" in str(getattr(x, "layout", "")):
        return "make it dense: tensor.to_dense()"
    if str(getattr(x, "device", "cpu")) != "cpu" and hasattr(x, "cpu"):
        return "copy it to this machine's memory: tensor.cpu()"
    return "give a NumPy array, or a value with the buffer protocol or DLPack in this machine's memory"


def bits_of_floats(a: Any, library: Any = np, type: str = "bf16") -> Any:
    """Floats rounded to a type of `BITS`, as its bits. `library` is the one whose arrays these are: numpy or cupy."""
    if type in EIGHT:
        with np.errstate(all="ignore"):
            return bits_of(a, type, library)
    bits = a.astype(np.float32).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return library.where(library.isnan(a), np.uint16(0x7FC0), rounded)


def take_dims(dims: object, where: str) -> dict[str, int]:
    """The values given for dims, as integers. Raises BindError for what is none."""
    if dims is None:
        return {}
    if not isinstance(dims, Mapping):
        raise BindError(
            f"dims is a value of type {type(dims).__name__}", where=where, mend="pass a dict: dims={'n': 16}"
        )
    found: dict[str, int] = {}
    for name, value in dims.items():
        try:
            if isinstance(value, (bool, np.bool_)):
                raise TypeError
            found[name] = operator.index(value)
        except TypeError:
            raise BindError(
                f"dimension {name!r} cannot be {value!r}: it is no integer", where=where, mend="pass an int"
            ) from None
        if found[name] >= LARGEST:
            raise BindError(
                f"dimension {name!r} cannot be {value}", where=where, mend=f"bind a value below 2**62 = {LARGEST}"
            )
    return found


def bind_dims(graph: Graph, arrays: Mapping[Input, np.ndarray[Any, Any]], given: Mapping[str, int]) -> dict[str, int]:
    """Values of the symbolic dims: those given, then those that the shapes show.

    Raises BindError if one lacks, InputError for an array that does not have the declared shape.
    """
    where = f"graph '{graph.name}'"
    for i, a in arrays.items():
        if a.ndim != len(i.shape):
            raise InputError(
                f"input '{i.name}' has {a.ndim} axes, not {len(i.shape)}",
                where=where,
                mend=f"give an array of shape [{', '.join(map(repr, i.shape))}]",
            )
    values = infer_dims(arrays, {i.name: a for i, a in arrays.items()}, given, where)
    dims = graph.dims()
    for d in dims:
        if d.name not in values:
            raise BindError(f"dimension '{d.name}' has no value", where=where, mend=f"pass dims={{'{d.name}': ...}}")
        d.check(values[d.name])
    return {d.name: values[d.name] for d in dims}


def check_apart(graph: Graph, given: Mapping[Input, Given], out: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Raises InputError where an array for an output overlaps an input or another output: kernels read and write in an
    order of their own."""
    for n, t in enumerate(graph.outputs):
        if t.name not in out or t.into:
            continue
        beside = {f"the array of input '{i.name}'": g.array for i, g in given.items()}
        beside |= {f"that of output '{u.name}'": out[u.name] for u in graph.outputs[:n] if u.name in out}
        for what, array in beside.items():
            if np.may_share_memory(out[t.name], array):
                raise InputError(
                    f"the array for output '{t.name}' overlaps {what}",
                    where=f"graph '{graph.name}'",
                    mend="give arrays of their own, or declare the input donated and the output into it",
                )


def take_outputs(graph: Graph, out: object) -> Mapping[str, np.ndarray[Any, Any]]:
    """The arrays given for outputs. Raises InputError for unknown names and for what is no array to be written."""
    where = f"graph '{graph.name}'"
    if out is None:
        return {}
    if not isinstance(out, Mapping):
        raise InputError(
            f"out is a value of type {type(out).__name__}", where=where, mend="pass a dict of arrays by output name"
        )
    check_names(out, (t.name for t in graph.outputs), "output", where)
    for name, a in out.items():
        if not isinstance(a, np.ndarray):
            raise InputError(
                f"what is given for output '{name}' is no NumPy array",
                where=f"a value of type {type(a).__name__}",
                mend="give a C-contiguous NumPy array; it is written to",
            )
        check_writeable(name, a, where)
    return out


def check_writeable(name: str, a: np.ndarray[Any, Any], where: str) -> None:
    """Raises InputError for an array of an output that is read-only."""
    if not a.flags.writeable:
        raise InputError(
            f"the array given for output '{name}' is read-only", where=where, mend="give one that may be written to"
        )


def check_output(t: Tensor, array: np.ndarray[Any, Any], shape: tuple[int, ...]) -> None:
    """Raises InputError unless an array can hold an output."""
    sits = array.flags.c_contiguous and array.flags.aligned
    if array.shape != shape or array.dtype != np.dtype(NUMPY[t.dtype]) or not sits:
        raise InputError(
            f"the array given for output '{t.name}' does not fit",
            where=f"{array.dtype}{list(array.shape)} for {t.dtype}{list(shape)}",
            mend="give a C-contiguous array of that type and shape",
        )
