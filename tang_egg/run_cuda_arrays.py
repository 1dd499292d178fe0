"""Arrays that a caller gives to a CUDA program: CuPy's, torch's and others' on the device, and those of the host.

What lies on the device is read in place when it is contiguous and aligned. bf16 travels as its bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tang_egg import run_arrays
from tang_egg.errors import InputError
from tang_egg.ir import Graph, Input, Tensor
from tang_egg.ops_eight import EIGHT
from tang_egg.run_arrays import BITS, NUMPY, Given, bits_of_floats, check_names, check_present
from tang_egg.run_cuda_driver import Driver

ALIGNED = 16
"""Bytes to which every address that kernels see is aligned."""
WHERE = "a call of a compiled program"

_TORCH = {t: BITS.get(t, n) for t, n in NUMPY.items()}


@dataclass(frozen=True, slots=True)
class Placed:
    """An array in device memory: its address and shape, what keeps it alive, and where the caller's one lives.

    `home`: "numpy", "cupy" or "torch". `copied`: the caller's array has other memory on the device. `host`: the
    caller's array on the host, where results are written back.
    """

    pointer: int
    shape: tuple[int, ...]
    array: Any
    home: str
    copied: bool = False
    host: Given | None = None

    @property
    def ndim(self) -> int:
        return len(self.shape)


def place_inputs(graph: Graph, arrays: Mapping[str, Any], driver: Driver) -> dict[Input, Placed]:
    """The arrays of a graph's inputs. Raises InputError for missing and unknown names and for what does not fit."""
    check_present(graph, arrays)
    written = {t.into for t in graph.outputs if t.into}
    found: dict[Input, Placed] = {}
    for i in graph.inputs:
        placed = found[i] = place(i, arrays[i.name], driver)
        if i.name not in written:
            continue
        if placed.host is not None:
            run_arrays.check_written(i, placed.host)
        elif placed.copied:
            raise InputError(
                f"the donated input '{i.name}' is not contiguous, not aligned or of another type",
                where=WHERE,
                mend=f"give a contiguous array of type {i.dtype} whose address is a multiple of {ALIGNED}",
            )
    return found


def place(i: Input, x: Any, driver: Driver) -> Placed:
    """The array given for an input, on the device. Raises InputError when it is none, or of another type."""
    if isinstance(x, Placed):  # bound before: checked and in device memory
        return x
    if is_torch(x) and x.is_cuda:
        return _of_torch(i, x, driver)
    array = x if driver.owns(x) else _adopted(i, x, driver)
    if array is not None:
        return _of_cupy(i, array, driver)
    host = run_arrays.take(i, x)
    uploaded = driver.upload(host.array)
    return Placed(driver.pointer(uploaded), host.array.shape, uploaded, "numpy", True, host)


def is_torch(x: Any) -> bool:
    """Whether a value is a tensor of torch, which need not be installed."""
    return type(x).__module__.partition(".")[0] == "torch" and hasattr(x, "data_ptr")


def _adopted(i: Input, x: Any, driver: Driver) -> Any:
    """What another library holds on the device; None for what lies on the host."""
    if isinstance(x, np.ndarray) or is_torch(x):
        return None
    try:
        return driver.adopt(x)
    except Exception as error:  # of any kind: the library decides what it raises
        raise InputError(
            f"input '{i.name}' cannot be read as an array: {' '.join(str(error).split())[:200]}",
            where=f"a value of type {type(x).__module__}.{type(x).__qualname__}",
            mend="give a NumPy or CuPy array, or a torch tensor",
        ) from error


def _of_cupy(i: Input, origin: Any, driver: Driver) -> Placed:
    _check_home(f"input '{i.name}'", driver.home(origin), driver)
    array = origin
    if array.dtype.name == BITS.get(i.dtype):
        array = array.view(NUMPY[i.dtype])
    elif i.dtype in BITS and array.dtype.kind == "f":
        array = bits_of_floats(array, driver.cupy, i.dtype)
    if array.dtype.name != NUMPY[i.dtype]:
        raise _wrong_type(i, array.dtype.name)
    if not array.flags.c_contiguous or (array.size and driver.pointer(array) % ALIGNED):
        array = driver.compact(array)
    copied = driver.pointer(array) != driver.pointer(origin)
    return Placed(driver.pointer(array), tuple(array.shape), array, "cupy", copied)


def _of_torch(i: Input, origin: Any, driver: Driver) -> Placed:
    if origin.requires_grad:
        raise InputError(
            f"input '{i.name}' cannot be read as an array: it requires a gradient",
            where=f"a value of type {type(origin).__module__}.{type(origin).__qualname__}",
            mend="detach it: tensor.detach()",
        )
    _check_home(f"input '{i.name}'", int(origin.device.index or 0), driver)
    array, name = origin, torch_type(origin)
    if i.dtype == "bf16" and name in ("float16", "float32", "float64"):
        array, name = origin.to(_torch().bfloat16), "bfloat16"
    elif i.dtype in EIGHT and name in ("float16", "bfloat16", "float32", "float64"):
        most = EIGHT[i.dtype].largest  # torch gives NaN or infinity beyond it
        array, name = origin.clamp(-most, most).to(getattr(_torch(), BITS[i.dtype])), BITS[i.dtype]
    if name != _TORCH[i.dtype] and not (i.dtype in BITS and name == NUMPY[i.dtype]):
        raise _wrong_type(i, name)
    if not array.is_contiguous() or (array.numel() and array.data_ptr() % ALIGNED):
        array = array.contiguous()
        array = array.clone() if array.data_ptr() % ALIGNED else array
    return Placed(int(array.data_ptr()), tuple(array.shape), array, "torch", array.data_ptr() != origin.data_ptr())


def torch_type(x: Any) -> str:
    """The element type of a tensor of torch, without the name of the library."""
    return str(x.dtype).rpartition(".")[2]


def _torch() -> Any:
    import torch

    return torch


def _wrong_type(i: Input, name: str) -> InputError:
    bits = f" to float32, or pass its bits as {NUMPY[i.dtype]}" if i.dtype in BITS else ""
    return InputError(
        f"input '{i.name}' has elements of type {name}, not {i.dtype}",
        where=WHERE,
        mend=f"convert it{bits}" if bits else f"convert it: array.astype('{NUMPY[i.dtype]}')",
    )


def _check_home(what: str, number: int, driver: Driver) -> None:
    if number != driver.device:
        raise InputError(
            f"{what} lies on device {number}, but the program was compiled for device {driver.device}",
            where=WHERE,
            mend=f"move it, or compile inside: with cupy.cuda.Device({number})",
        )


def new_array(t: Tensor, shape: tuple[int, ...], home: str, driver: Driver) -> Placed:
    """Memory for an output, of the library where the inputs live. bf16 is a type of torch; CuPy holds its bits."""
    if home == "torch":
        torch = _torch()
        tensor = torch.empty(shape, dtype=getattr(torch, _TORCH[t.dtype]), device=f"cuda:{driver.device}")
        return Placed(int(tensor.data_ptr()), shape, tensor, "torch")
    array = driver.empty(shape, NUMPY[t.dtype])
    return Placed(driver.pointer(array), shape, array, home)


def check_outputs(graph: Graph, out: object) -> Mapping[str, Any]:
    """The arrays given for outputs, by name. Raises InputError for unknown names and donated outputs."""
    where = f"graph '{graph.name}'"
    if out is None:
        return {}
    if not isinstance(out, Mapping):
        raise InputError(
            f"out is a value of type {type(out).__name__}", where=where, mend="pass a dict of arrays by output name"
        )
    check_names(out, (t.name for t in graph.outputs), "output", where)
    for t in graph.outputs:
        if t.into and t.name in out:
            raise InputError(
                f"the output '{t.name}' is written into the input '{t.into}'", where=where, mend="give no array for it"
            )
    return out


def place_output(t: Tensor, x: Any, shape: tuple[int, ...], driver: Driver) -> Placed:
    """The array given for an output; for one of the host, memory whose values are copied there later.

    Raises InputError when it cannot hold the output.
    """
    if is_torch(x) and x.is_cuda:
        _check_home(f"the array for output '{t.name}'", int(x.device.index or 0), driver)
        fits = torch_type(x) == _TORCH[t.dtype] or (t.dtype in BITS and torch_type(x) == NUMPY[t.dtype])
        sound = x.is_contiguous() and not (x.numel() and x.data_ptr() % ALIGNED)
        _check_fit(t, tuple(x.shape), torch_type(x), shape, fits and sound)
        return Placed(int(x.data_ptr()), shape, x, "torch")
    if driver.owns(x):
        _check_home(f"the array for output '{t.name}'", driver.home(x), driver)
        fits = x.dtype.name in (NUMPY[t.dtype], BITS.get(t.dtype))
        sound = x.flags.c_contiguous and not (x.size and driver.pointer(x) % ALIGNED)
        _check_fit(t, tuple(x.shape), x.dtype.name, shape, fits and sound)
        return Placed(driver.pointer(x), shape, x, "cupy")
    if not isinstance(x, np.ndarray):
        raise InputError(
            f"what is given for output '{t.name}' is no array",
            where=f"a value of type {type(x).__name__}",
            mend="give a contiguous array of CuPy, torch or NumPy; it is written to",
        )
    run_arrays.check_writeable(t.name, x, WHERE)
    run_arrays.check_output(t, x, shape)
    made = new_array(t, shape, "numpy", driver)
    return Placed(made.pointer, shape, made.array, "numpy", True, Given(x, x, True))


def _check_fit(t: Tensor, shape: tuple[int, ...], kind: str, wanted: tuple[int, ...], fits: bool) -> None:
    if shape != wanted or not fits:
        raise InputError(
            f"the array given for output '{t.name}' does not fit",
            where=f"{kind}{list(shape)} for {t.dtype}{list(wanted)}",
            mend=f"give a C-contiguous array of that type and shape, aligned to {ALIGNED} bytes",
        )
