"""CUDA programs without a GPU: what reaches the driver, on a stand-in whose device memory is the host's."""

from __future__ import annotations

import contextlib
import ctypes
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from tang_egg import run_cuda_driver
from tang_egg.affine import Dim, Index, affine, product
from tang_egg.codegen.device import Launch, Stage, TensorMap
from tang_egg.codegen.kernel import Buffer, Call, Form, Kernel, number
from tang_egg.codegen.lower import kernel_sources
from tang_egg.errors import BindError, CodegenError, InputError, TargetError
from tang_egg.ir import Const, Graph, Input, Position, Read, Tensor, apply, const
from tang_egg.program import KernelPlan, Program
from tang_egg.run_cuda import CudaProgram, function_name, load
from tang_egg.run_cuda_driver import Driver, MapSpec, Unit
from tang_egg.run_cuda_maps import map_spec
from tang_egg.run_layout import Built
from tang_egg.schedule import PLAIN

N = Dim("n")
I, J = Index("i", affine(N)), Index("j", affine(64))  # noqa: E741


class OnDevice(np.ndarray):  # type: ignore[type-arg]
    """An array that the stand-in takes for one of CuPy."""


class StandIn(Driver):
    """A driver whose kernels are Python functions: they get the arguments, and may compute through the addresses."""

    def __init__(self, compute: Callable[..., None] | None = None) -> None:
        self.cupy, self.device, self.capability, self.processors, self._encoder = np, 0, "90", 132, None
        self.compute = compute
        self.units: list[Unit] = []
        self.calls: list[tuple[Any, ...]] = []
        self.encoded: list[tuple[MapSpec, int]] = []
        self.waits = 0
        self.blocks_per_processor = 2

    def compile(self, units: Sequence[Unit]) -> list[Callable[..., Any]]:
        self.units += units
        return [self._function(u.name) for u in units]

    def _function(self, name: str) -> Callable[..., Any]:
        def run(grid: Any, block: Any, arguments: Any, shared_mem: int = 0) -> None:
            self.calls.append((name, grid, block, arguments, shared_mem))
            if self.compute is not None:
                self.compute(name, *arguments)

        return run

    def resident(self, function: Any, threads: int, shared: int) -> int:
        return self.blocks_per_processor

    def owns(self, array: Any) -> bool:
        return isinstance(array, OnDevice)

    def pointer(self, array: Any) -> int:
        return int(array.ctypes.data)

    def home(self, array: Any) -> int:
        return 0

    def adopt(self, x: Any) -> Any:
        return None

    def empty(self, shape: tuple[int, ...], kind: str) -> Any:
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        raw = np.zeros(size + 16, np.uint8)
        start = -raw.ctypes.data % 16
        return raw[start : start + size].view(kind).reshape(shape).view(OnDevice)

    def fill(self, pointer: int, byte: int, count: int) -> None:
        ctypes.memset(pointer, byte, count)

    def copy(self, target: int, source: int, count: int) -> None:
        ctypes.memmove(target, source, count)

    def upload(self, array: Any) -> Any:
        made = self.empty(array.shape, array.dtype.name)
        made[...] = array
        return made

    def download(self, array: Any) -> Any:
        return np.array(array)

    def compact(self, array: Any) -> Any:
        return self.upload(array)

    def stream(self) -> int:
        return 0

    def here(self) -> Any:
        return contextlib.nullcontext()

    def synchronize(self) -> None:
        self.waits += 1

    def encode(self, spec: MapSpec, pointer: int) -> Any:
        self.encoded.append((spec, pointer))
        return np.zeros(1, "V128")


def device_kernel(outputs: tuple[Tensor, ...], dims: tuple[str, ...] = ("n",), **launch: Any) -> Kernel:
    """A kernel without statements over the buffers of some outputs."""
    sources = kernel_sources(outputs)
    buffers = tuple(
        Buffer(s.name, s.dtype, "global", product(s.shape), "output" if s in outputs else "input") for s in sources
    )
    options: dict[str, Any] = {"threads": 128, "tiles": Form(affine(N))} | launch
    return Kernel(f"k_{outputs[0].name}", buffers, dims, (), launch=Launch(**options))


def program_of(graph: Graph, driver: Driver, *kernels: tuple[tuple[Tensor, ...], Kernel]) -> CudaProgram:
    built = tuple(Built(KernelPlan(o[0].name, o), PLAIN, k, kernel_sources(o)) for o, k in kernels)
    return load(Program(graph, tuple(b.plan for b in built)), built, driver)


def doubling(dtype: str = "f32", **options: Any) -> tuple[Graph, Tensor]:
    x = Input("x", (affine(N), affine(64)), dtype)
    y = Tensor("y", (I, J), apply("mul", Const(2.0, "real"), Read(x, (affine(I), affine(J)))), dtype, **options)
    return Graph("double", (x,), (y,)), y


def run_double(name: str, x: Any, y: Any, n: Any) -> None:
    source = np.ctypeslib.as_array(ctypes.cast(int(x), ctypes.POINTER(ctypes.c_float)), (int(n), 64))
    target = np.ctypeslib.as_array(ctypes.cast(int(y), ctypes.POINTER(ctypes.c_float)), (int(n), 64))
    target[...] = 2 * source


def test_arguments_stand_in_the_order_of_the_printed_kernel() -> None:
    graph, y = doubling()
    x = graph.inputs[0]
    stage = Stage("tile", "f32", 1, 64)
    kernel = device_kernel((y,), counters=2, stages=(stage,))
    first = TensorMap("m", kernel.buffers[1], y.shape, (64, 32))
    kernel = device_kernel((y,), counters=2, stages=(stage,), maps=(first,))
    driver = StandIn()
    compiled = program_of(graph, driver, ((y,), kernel))
    held = driver.upload(np.ones((5, 64), np.float32))
    prepared = compiled.prepare({"x": held})
    prepared()
    (call,) = driver.calls
    name, grid, block, arguments, shared = call
    assert name == driver.units[0].name == "k_y"
    assert (grid, block, shared) == ((5, 1, 1), (128, 1, 1), 1024 + 64 * 128)
    assert [a.dtype.name for a in arguments] == ["void1024", "uint64", "uint64", "uint64", "int32"]
    assert [int(a) for a in arguments[1:3]] == [held.ctypes.data, prepared.outputs["y"].ctypes.data]
    assert int(arguments[4]) == 5
    counters = np.ctypeslib.as_array(ctypes.cast(int(arguments[3]), ctypes.POINTER(ctypes.c_int)), (2,))
    assert counters.tolist() == [0, 0]
    assert driver.encoded == [(MapSpec("f32", (64, 5), (256,), (32, 64)), prepared.outputs["y"].ctypes.data)]
    assert x.name == "x" and driver.waits > 0


def test_an_output_that_is_a_stored_tensor_in_another_shape_is_not_copied() -> None:
    u, a, c, t = (Index(name, affine(size)) for name, size in (("u", 3), ("a", 4), ("c", 64), ("t", 12)))
    x = Input("x", (affine(12), affine(64)), "f32")
    stored = Tensor("stored", (u, a, c), Read(x, (4 * affine(u) + a, affine(c))), "f32")
    at = Position(affine(t)), const(4, "i64")
    y = Tensor("y", (t, c), Read(stored, (apply("idiv", *at), apply("imod", *at), affine(c))), "f32")
    driver = StandIn()
    graph = Graph("g", (x,), (y,))
    kernels = [((o,), device_kernel((o,), (), tiles=number(1))) for o in (stored, y)]
    prepared = program_of(graph, driver, *kernels).prepare({"x": driver.upload(np.ones((12, 64), np.float32))})
    prepared()
    ((name, *_, arguments, _),) = driver.calls
    assert name == "k_stored" and int(arguments[-1]) == prepared.outputs["y"].ctypes.data


@pytest.mark.parametrize(
    ("extents", "box", "dtype", "rounds", "expected"),
    [
        ((4, N, 128), (1, 64, 64), "bf16", False, MapSpec("bf16", (128, 7, 4), (256, 1792), (64, 64, 1))),
        ((N, 96), (64, 32), "f32", True, MapSpec("tf32", (96, 7), (384,), (32, 64))),
        ((N,), (64,), "f16", False, MapSpec("f16", (7,), (), (64,))),
        ((0, 64), (8, 64), "f16", False, MapSpec("f16", (64, 1), (128,), (64, 8))),
        ((1, 1, 8), (1, 1, 64), "bf16", False, MapSpec("bf16", (8, 1, 1), (16, 16), (64, 1, 1))),
    ],
)
def test_maps_are_given_innermost_first(
    extents: tuple[Any, ...], box: tuple[int, ...], dtype: str, rounds: bool, expected: MapSpec
) -> None:
    buffer = Buffer("b", dtype, "global", affine(1))
    assert map_spec(TensorMap("m", buffer, tuple(affine(n) for n in extents), box, rounds), {"n": 7}) == expected


@pytest.mark.parametrize(
    ("extents", "box", "said"),
    [
        ((7, 13), (8, 64), "rows of 'b' are no multiple of 16 bytes"),
        ((2**32, 64), (8, 64), "an axis of 'b' is too long"),
    ],
)
def test_arrays_that_no_map_describes_are_refused(extents: tuple[int, ...], box: tuple[int, ...], said: str) -> None:
    buffer = Buffer("b", "bf16", "global", affine(1))
    with pytest.raises(InputError, match=said):
        map_spec(TensorMap("m", buffer, tuple(map(affine, extents)), box), {})


@pytest.mark.parametrize("box", [(8, 32), (257, 64), (64,), (0, 64)])
def test_boxes_that_the_chip_does_not_have_are_refused(box: tuple[int, ...]) -> None:
    buffer = Buffer("b", "bf16", "global", affine(1))
    with pytest.raises(CodegenError, match="map 'm' cannot be made"):
        map_spec(TensorMap("m", buffer, (affine(64), affine(64)), box), {})


@pytest.mark.parametrize(("n", "persistent", "blocks"), [(5, True, 10), (500, True, 264), (500, False, 1000)])
def test_grids_are_tiles_or_what_the_chip_holds(n: int, persistent: bool, blocks: int) -> None:
    graph, y = doubling()
    tiles = Call("mul", (Form(affine(N)), number(2)), "i64")
    driver = StandIn()
    compiled = program_of(graph, driver, ((y,), device_kernel((y,), tiles=tiles, persistent=persistent)))
    compiled({"x": np.zeros((n, 64), np.float32)})
    assert driver.calls[0][1] == (blocks, 1, 1)


def test_without_tiles_nothing_is_launched() -> None:
    graph, y = doubling()
    driver = StandIn()
    result = program_of(graph, driver, ((y,), device_kernel((y,))))({"x": np.zeros((0, 64), np.float32)})
    assert driver.calls == []
    assert result["y"].shape == (0, 64)


def test_results_live_where_the_inputs_do() -> None:
    graph, y = doubling()
    driver = StandIn(run_double)
    compiled = program_of(graph, driver, ((y,), device_kernel((y,))))
    data = np.arange(192, dtype=np.float32).reshape(3, 64)
    host = compiled({"x": data})["y"]
    assert type(host) is np.ndarray
    np.testing.assert_array_equal(host, 2 * data)
    device = compiled({"x": driver.upload(data)})["y"]
    assert isinstance(device, OnDevice)
    np.testing.assert_array_equal(device, 2 * data)
    strided = driver.upload(np.repeat(data, 2, 1))[:, ::2]
    np.testing.assert_array_equal(compiled({"x": strided})["y"], 2 * data)
    for out in (np.empty((3, 64), np.float32), driver.empty((3, 64), "float32")):
        assert compiled({"x": data}, out={"y": out})["y"] is out
        np.testing.assert_array_equal(out, 2 * data)
    assert len({c[3][1] for c in driver.calls}) > 1


def test_a_prepared_program_reads_its_arrays_anew_and_allocates_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, y = doubling()
    driver = StandIn(run_double)
    compiled = program_of(graph, driver, ((y,), device_kernel((y,))))
    held = driver.upload(np.ones((3, 64), np.float32))
    prepared = compiled.prepare({"x": held})
    for name in ("empty", "upload", "download", "synchronize", "encode", "fill"):
        monkeypatch.setattr(driver, name, None)
    for value in (3.0, 4.0):
        held[...] = value
        prepared()
        assert (prepared.outputs["y"] == 2 * value).all()
    assert driver.calls[0][3] is driver.calls[1][3]


def test_calls_of_one_size_share_temporaries_and_prepared_programs_do_not() -> None:
    graph, y = doubling()
    z = Tensor("z", (I, J), apply("mul", Const(3.0, "real"), Read(y, (affine(I), affine(J)))))
    graph = Graph("twice", graph.inputs, (z,))
    driver = StandIn()
    compiled = program_of(graph, driver, ((y,), device_kernel((y,))), ((z,), device_kernel((z,))))
    data = driver.upload(np.zeros((3, 64), np.float32))
    compiled({"x": data})
    compiled({"x": data})
    temporaries = [int(c[3][1]) for c in driver.calls if c[0] == "k_y"]
    assert temporaries[0] == temporaries[1]
    assert temporaries == [int(c[3][0]) for c in driver.calls if c[0] == "k_z"]
    first, second = compiled.prepare({"x": data}), compiled.prepare({"x": data})
    first(), second()
    assert len({int(c[3][1]) for c in driver.calls if c[0] == "k_y"}) == 3
    compiled({"x": driver.upload(np.zeros((4, 64), np.float32))})
    assert len(compiled._bindings) == 2


def test_donated_inputs_are_written() -> None:
    graph, y = doubling(into="x")
    driver = StandIn(run_double)
    compiled = program_of(graph, driver, ((y,), device_kernel((y,))))
    for data in (np.ones((3, 64), np.float32), driver.upload(np.ones((3, 64), np.float32))):
        assert compiled({"x": data})["y"] is data
        assert (data == 2).all()
    with pytest.raises(InputError, match="the output 'y' is written into the input 'x'"):
        compiled({"x": data}, out={"y": data})
    with pytest.raises(InputError, match="the donated input 'x' is not contiguous"):
        compiled({"x": driver.upload(np.ones((3, 128), np.float32))[:, ::2]})
    with pytest.raises(InputError, match="read-only"):
        frozen = np.ones((3, 64), np.float32)
        frozen.flags.writeable = False
        compiled({"x": frozen})


def test_half_precision_floats_are_rounded_on_the_device_too() -> None:
    graph, y = doubling("bf16")
    driver = StandIn()
    compiled = program_of(graph, driver, ((y,), device_kernel((y,))))
    values = np.full((1, 64), 1.00390625 + 1e-3, np.float32)
    driver.compute = lambda name, x, y, n: ctypes.memmove(int(y), int(x), 128)
    for data in (values, driver.upload(values)):
        assert (np.asarray(compiled({"x": data})["y"]) == 0x3F81).all()


@pytest.mark.parametrize(
    ("arrays", "error", "said"),
    [
        ({}, InputError, "no array for input 'x'"),
        ({"x": np.zeros((2, 64), np.float64)}, InputError, "'x' has elements of type float64, not f32"),
        ({"x": np.zeros((2, 64), np.float64).view(OnDevice)}, InputError, "'x' has elements of type float64, not f32"),
        ({"x": np.zeros((2, 63), np.float32).view(OnDevice)}, InputError, "extent 63 along axis 1, not 64"),
        ({"x": np.zeros(64, np.float32).view(OnDevice)}, InputError, "'x' has 1 axes, not 2"),
        ({"x": object()}, InputError, "'x' has elements of type object, not f32"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arrays: Any, error: Any, said: str) -> None:
    graph, y = doubling()
    with pytest.raises(error, match=said):
        program_of(graph, StandIn(), ((y,), device_kernel((y,))))(arrays)


def test_sizes_that_kernels_cannot_count_are_refused() -> None:
    graph, y = doubling()
    compiled = program_of(graph, StandIn(), ((y,), device_kernel((y,))))
    large = np.lib.stride_tricks.as_strided(np.zeros(64, np.float32), (2**26, 64), (0, 4))
    with pytest.raises(InputError, match=r"array 'x' of shape .* is too large"):
        compiled._bind({"n": len(large)})
    one = Tensor("c", (), const(1.0))
    kernel = device_kernel((one,), (), tiles=number(1))
    with pytest.raises(BindError, match="dimension 'n' is too large"):
        program_of(Graph("g", (), (one,)), StandIn(), ((one,), kernel))._bind({"n": 2**40})


def test_outputs_and_temporaries_can_be_filled_first() -> None:
    graph, y = doubling()
    compiled = program_of(graph, StandIn(), ((y,), device_kernel((y,))))
    assert np.isnan(compiled({"x": np.zeros((2, 64), np.float32)}, fill=0xFF)["y"]).all()


def test_products_need_the_chip_that_has_them() -> None:
    graph, y = doubling()
    driver = StandIn()
    driver.capability = "80"
    kernel = device_kernel((y,), stages=(Stage("t", "bf16", 1, 64),))
    with pytest.raises(TargetError, match="instructions that this GPU does not have") as error:
        program_of(graph, driver, ((y,), kernel))
    assert "compute capability 80" in str(error.value) and "'point grid=" in str(error.value)


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ('extern "C" __global__ void __launch_bounds__(384, 1) k0_C(', "k0_C"),
        ("__global__ __launch_bounds__(128) void f (int n)", "f"),
        ("__global__ void f(int n)", "f"),
    ],
)
def test_entry_points_are_found(head: str, name: str) -> None:
    assert function_name(f"__device__ void g() {{}}\n{head}") == name


@pytest.fixture
def no_cache() -> Iterator[None]:
    run_cuda_driver._driver.cache_clear()
    yield
    run_cuda_driver._driver.cache_clear()


def test_without_cupy_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(TargetError) as error:
        run_cuda_driver.driver()
    assert error.value.what == "CuPy, which runs CUDA kernels, is not installed"
    assert "pip install 'tang_egg[cuda]'" in error.value.mend


def cupy_like(count: Callable[[], int]) -> Any:
    made: Any = types.ModuleType("cupy")
    made.cuda = types.SimpleNamespace(runtime=types.SimpleNamespace(getDeviceCount=count, getDevice=lambda: 0))
    return made


@pytest.mark.parametrize("fault", [lambda: 0, lambda: (_ for _ in ()).throw(RuntimeError("cudaErrorNoDevice"))])
def test_without_a_gpu_it_says_so(monkeypatch: pytest.MonkeyPatch, fault: Callable[[], int]) -> None:
    monkeypatch.setitem(sys.modules, "cupy", cupy_like(fault))
    with pytest.raises(TargetError) as error:
        run_cuda_driver.driver()
    assert error.value.what == "no GPU can be used"
    assert "nvidia-smi" in error.value.mend


def test_what_does_not_compile_is_told_from_a_missing_compiler(no_cache: None, monkeypatch: pytest.MonkeyPatch) -> None:
    class CompileException(Exception):
        pass

    faults: list[Exception] = [CompileException("k.cu(3): error: no such name\n1 error"), OSError("libnvrtc.so.13")]
    cupy = cupy_like(lambda: 1)

    class Device(contextlib.nullcontext):  # type: ignore[type-arg]
        id, compute_capability = 0, "90"
        attributes = {"MultiProcessorCount": 132}  # noqa: RUF012

    cupy.cuda.Device = lambda *_: Device()
    options: list[Any] = []

    def module(code: str, options: Any, backend: str, seen: list[Any] = options) -> Any:
        seen.append(options)
        raise faults[len(seen) - 1]

    cupy.RawModule = module
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    device = run_cuda_driver.driver()
    with pytest.raises(TargetError, match="a generated kernel does not compile") as error:
        device.compile([Unit("text", "k", 128, 0)])
    assert "k.cu(3): error: no such name" in error.value.where
    with pytest.raises(TargetError, match="NVRTC, the compiler for CUDA, cannot be used"):
        device.compile([Unit("text", "k", 128, 0)])
    assert options[0] == ("-arch=sm_90a", "--std=c++17")
