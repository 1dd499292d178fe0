"""Probes do what they say they time, figures are made of samples as told, and what is stored is whole or dropped."""

from __future__ import annotations

import ctypes
import importlib
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from filelock import FileLock

from tang_egg import doctor, probe, probe_bench, probe_c, probe_cuda, probe_grid, probe_host, probe_store
from tang_egg.cost.device import MEMORY, Device, DeviceError, Figure, Level, Unit, device_of
from tang_egg.cost.estimates import SMALL_CORE, SMALL_PROCESSOR, WIDE_CORE, WIDE_PROCESSOR
from tang_egg.errors import TargetError
from tang_egg.files import checksum
from tang_egg.probe_bench import Bench, Place, figure, measure
from tang_egg.probe_cuda_source import PLAIN, PRODUCTS, group_operations, group_source, matrix_source
from tests import cuda_compile


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Constants of the tests lie in a folder of their own."""
    monkeypatch.setenv("TANG_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


# Figures


def test_a_figure_is_median_best_spread_and_drift() -> None:
    rate = figure("L1 read", [1.0, 2.0, 3.0, 10.0], [11.0], 20.0)
    assert (rate.value, rate.best, rate.stated, rate.runs) == (2.5, 11.0, 20.0, 4)
    assert rate.spread == 1.0 / 2.5  # distances 1.5, 0.5, 0.5, 7.5
    assert rate.drift == (6.5 - 1.5) / 2.5
    assert figure("L1 latency", [3.0, 1.0, 2.0]).best == 1.0
    assert figure("launch", [3.0]) == Figure(3.0, 3.0, runs=1)
    assert figure("L1 read", [], stated=5.0).ceiling == 5.0


def bench(**changes: Any) -> Bench:
    values = iter(range(1, 1000))
    given: dict[str, Any] = {
        "name": "made up", "target": "c", "driver": "none", "workers": 2, "slots": 2,
        "places": (Place("L1", 1 << 15, 2), Place(MEMORY, 0)), "units": (("f32", False), ("f16", False)),
        "samples": {"launch": lambda: 1e-6, "L1 read": lambda: float(next(values)), "vector f32": lambda: 1e9},
    }  # fmt: skip
    return Bench(**(given | changes))


def test_rounds_take_everything_in_turns_until_time_is_out() -> None:
    ticks = iter(range(1000))
    closed: list[int] = []
    clocks = iter([2e9, 3e9, 1e9] + [1e9] * 100)
    found = measure(
        bench(clock=lambda: next(clocks), stated=lambda c: {"vector f32": 16 * c}, close=lambda: closed.append(1)),
        3.0, clock=lambda: float(next(ticks)),
    )  # fmt: skip
    assert found.rounds == 5 and closed == [1]
    assert found.device.level("L1").read == figure("L1 read", [1.0, 2.0, 3.0, 4.0, 5.0])
    assert found.device.clock == 3e9
    assert [(u.name, u.rate.stated) for u in found.device.units] == [("vector f32", 48e9)]  # f16 has no rate: left out


def test_a_figure_that_cannot_be_taken_leaves_the_others() -> None:
    def lost() -> float:
        raise OSError("device lost")

    found = measure(bench(samples={"launch": lost, "vector f32": lambda: 1e9, "L1 read": lambda: float("nan")}), 0.0)
    assert found.missing == {"launch": "OSError: device lost"}
    assert found.rounds == probe_bench.LEAST
    assert found.device.launch.runs == 0 and found.device.units[0].rate.value == 1e9
    assert found.device.level("L1").read.value == 0
    assert "launch            missing: OSError: device lost" in probe.table(found)


def test_memory_is_given_back_when_a_probe_is_interrupted() -> None:
    def interrupted() -> float:
        raise KeyboardInterrupt

    closed: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        measure(bench(samples={"launch": interrupted}, close=lambda: closed.append(1)), 1.0)
    assert closed == [1]


# Storage


def device(**changes: Any) -> Device:
    given: dict[str, Any] = {
        "name": "made up", "target": "c", "driver": "one", "workers": 1, "slots": 1, "launch": Figure(1e-6, 1e-6),
        "levels": (Level(MEMORY, 0, 1, read=Figure(1e9, 2e9)),), "units": (Unit("f32", False, Figure(1e9, 1e9)),),
        "when": "2026-01-01",
    }  # fmt: skip
    return Device(**(given | changes))


def test_what_is_stored_is_found_again_by_device_target_and_driver() -> None:
    assert probe_store.load("made up", "c", "one") is None
    assert probe_store.store(device()) == device()
    assert probe_store.load("made up", "c", "one") == device()
    assert probe_store.load("made up", "c", "two") is None
    later = device(driver="two", when="2026-02-02")
    probe_store.store(later)
    assert probe_store.newest("c") == later == probe_store.constants("c")
    assert probe_store.newest("cuda") is None
    assert probe_store.constants("c", "another") == SMALL_PROCESSOR
    with pytest.raises(DeviceError, match="no constants of a device are known for target 'metal'"):
        probe_store.constants("metal")


@pytest.mark.parametrize(
    ("said", "all_cores", "one"), [("256", SMALL_PROCESSOR, SMALL_CORE), ("512", WIDE_PROCESSOR, WIDE_CORE)]
)
def test_the_estimate_is_that_of_the_vectors_at_hand(
    monkeypatch: pytest.MonkeyPatch, said: str, all_cores: Device, one: Device
) -> None:
    monkeypatch.setenv("TANG_VECTORS", said)
    assert probe_store.constants("c") == all_cores
    assert probe_store.constants("c1") == one
    assert all_cores.units[0].rate.ceiling >= 2 * one.units[0].rate.value


def test_a_second_probe_keeps_the_best_of_the_first() -> None:
    probe_store.store(device())
    kept = probe_store.store(device(launch=Figure(3e-6, 2e-6), when="later"))
    assert (kept.launch.value, kept.launch.best, kept.when) == (3e-6, 1e-6, "later")
    assert probe_store.load("made up", "c", "one") == kept


def _text(change: Callable[[Any], Any]) -> Callable[[bytes], bytes]:
    return lambda whole: json.dumps(change(json.loads(whole))).encode()


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut short": lambda whole: whole[: len(whole) // 2],
    "empty": lambda whole: b"",
    "binary": lambda whole: bytes(range(256)),
    "another value": lambda whole: whole.replace(b"2000000000.0", b"9000000000.0"),
    "a list": lambda whole: b"[1, 2]",
    "no checksum": _text(lambda d: {"device": d["device"]}),
    "another format": _text(lambda d: {"device": (n := d["device"] | {"format": 9}), "sum": checksum(n)}),
    "deep": lambda whole: b"[" * 100_000,
    "huge": lambda whole: whole + b" " * (1 << 20),
}  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_file_is_dropped_with_a_warning(kind: str) -> None:
    probe_store.store(device())
    path = probe_store.path_of("made up", "c", "one")
    path.write_bytes(DAMAGE[kind](path.read_bytes()))
    with pytest.warns(UserWarning, match="are damaged and were dropped"):
        assert probe_store.load("made up", "c", "one") is None
    assert not path.exists()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert probe_store.store(device()) == device()  # and the next probe stores anew


def test_where_nothing_can_be_written_it_says_so(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_cache.write_text("a file")
    with pytest.raises(TargetError) as caught:
        probe_store.store(device())
    assert caught.value.what.startswith("the constants of a device cannot be stored: ")
    assert caught.value.mend == "set TANG_CACHE to a folder you may write to"
    own_cache.unlink()
    monkeypatch.setattr(probe_store, "WAIT", 0.01)
    path = probe_store.path_of("made up", "c", "one")
    path.parent.mkdir(parents=True)
    with (
        FileLock(str(path.with_suffix(".lock"))),
        pytest.raises(TargetError, match="another process has held the lock"),
    ):
        probe_store.store(device())


# What a user sees


def test_requests_that_make_no_sense_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(TargetError) as caught:
        probe.probe("metal")
    assert str(caught.value) == (
        "there are no probes for target 'metal'\n  where: tang-doctor --probe\n"
        "  mend:  one of c, opencl, wgsl, cuda, all"
    )
    for seconds in ("0", "-1", "nan", "inf"):
        assert doctor.main(["--probe", "--target", "cuda", "--seconds", seconds]) == 2
        assert (
            "are no time to measure in\n  where: tang-doctor --probe\n  mend:  give --seconds 10"
            in capsys.readouterr().err
        )


def no_module(name: str, *more: Any) -> Any:
    raise ImportError(f"No module named '{name}'")


@pytest.mark.parametrize("target", ["opencl", "wgsl", "cuda"])
def test_a_target_that_is_missing_is_a_finding_with_its_mend(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(f"tang_egg.{probe.TARGETS[target]}")
    monkeypatch.setattr(probe.importlib, "import_module", lambda name: module)
    for at in ("tang_egg.probe_opencl", "tang_egg.probe_wgpu", "tang_egg.run_cuda_driver"):
        monkeypatch.setattr(_module(at), "importlib", _Missing())
    (found,) = probe.probe(target, 1.0)
    assert found.finding.passed is None and not found.probed
    lines = str(found.finding).splitlines()
    assert "is not installed" in lines[0] and "where: import" in lines[1] and "mend:  " in lines[2]


class _Missing:
    import_module = staticmethod(no_module)


def _module(name: str) -> Any:
    __import__(name)
    return sys.modules[name]


def test_whatever_a_driver_raises_the_others_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def benches(target: str) -> list[Bench]:
        if target == "c":
            return [bench()]
        raise RuntimeError(f"{target} broke down")

    monkeypatch.setattr(probe, "_benches", benches)
    found = probe.probe("all", 0.01)
    assert [o.finding.passed for o in found] == [True, False, False, False]
    assert "RuntimeError: wgsl broke down" in str(found[2].finding)
    assert probe_store.constants("c").name == "made up"


def test_the_doctor_prints_a_table_and_writes_json(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(probe, "_benches", lambda target: [bench()])
    file = tmp_path / "constants.json"
    assert doctor.main(["--probe", "--target", "c", "--seconds", "0.01", "--json", str(file)]) == 0
    text = capsys.readouterr().out
    assert "PASS  c " in text and "made up (c), none" in text and re.search("launch +1 µs +1 µs", text)
    (found,) = probe.read_devices(file)
    assert found == probe_store.constants("c")
    assert doctor.main(["--probe", "--target", "c", "--seconds", "0.01", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["devices"][0]["device"]["name"] == "made up"
    assert doctor.main(["--probe", "--target", "c", "--seconds", "0.01", "--json", str(tmp_path / "no" / "f")]) == 2
    assert "what was found cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "[]", '{"devices": 3}', '{"devices": [{}]}', '{"devices": [3]}'])
def test_a_file_without_constants_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    with pytest.raises(DeviceError, match="no constants can be read") as caught:
        probe.read_devices(file)
    assert caught.value.mend == "write the file by tang-doctor --probe --json FILE"
    with pytest.raises(DeviceError, match="No such file"):
        probe.read_devices(tmp_path / "missing")


def test_a_device_that_is_the_processor_has_the_processors_ceilings() -> None:
    host = device(levels=(Level(MEMORY, 0, 1, Figure(1e-7, 8e-8), read=Figure(1e10, 2e10)),))
    own = device(target="opencl", levels=(Level(MEMORY, 0, 1, Figure(3e-7, 2e-7), read=Figure(1e9, 2e9)),))
    found = probe.on_host(own, host)
    assert (found.levels[0].ceiling, found.levels[0].read.value) == (2e10, 1e9)
    assert found.levels[0].least_latency == 8e-8


# The processor


@pytest.fixture(scope="module")
def library() -> Iterator[probe_c.Library]:
    found = probe_c.Library()
    yield found
    found.close()


@pytest.mark.parametrize(("size", "page"), [(64 * 64, 0), (4 * 4096, 4096), (64, 0), (128, 0)])
def test_a_cycle_goes_through_every_line_once(library: probe_c.Library, size: int, page: int) -> None:
    place = library.take(size, 1, False)
    assert library.library.probe_join(place, size, page, 1)
    at, seen = place, []
    for _ in range(size // 64):
        seen.append((at - place) // 64)
        at = ctypes.c_void_p.from_address(at).value or 0
    assert at == seen[0] * 64 + place
    assert sorted(seen) == list(range(size // 64))
    if page:
        pages = [k // 64 for k in seen]
        assert sum(a != b for a, b in pairwise(pages)) <= size // page


def test_sweeps_touch_what_they_say(library: probe_c.Library) -> None:
    size = 1 << 14
    a, b = library.take(size, 1, False), library.take(size, 1, False)
    first, second = (np.ctypeslib.as_array((ctypes.c_float * (size // 4)).from_address(x)) for x in (a, b))
    for way in ("write", "write_past"):
        first[:] = -1
        assert library.call[way](a, b, size, 3, 1) > 0
        lanes = library.vector_bytes // 4
        each = 3.0 + np.arange(size // library.vector_bytes)  # after three rounds; no two lines are equal
        assert np.array_equal(first, np.repeat(each, lanes))
    for way in ("copy", "copy_past"):
        first[:] = np.arange(size // 4)
        second[:] = -1
        assert library.call[way](a, b, size, 1, 1) > 0
        assert np.array_equal(first, second)
    assert library.call["read"](a, b, size, 1, 1) > 0


def test_the_processor_is_measured_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_c, "LARGEST", 4 << 20)
    monkeypatch.setattr(probe_c, "SPAN", 1e-4)
    found = [measure(b, 0.01) for b in probe_c.benches()]
    for one in found:
        assert not one.missing and one.rounds >= probe_bench.LEAST
        lacking = {n for n, f in one.device.figures() if not f.value and not n.startswith("registers")}
        assert lacking <= ({"team", "barrier"} if one.device.workers == 1 else set())
        assert one.device.levels[0].name == "registers" and one.device.levels[-1].name == MEMORY
        assert [u.name for u in one.device.units] == ["vector f32", "vector f64"]
        assert all(u.rate.stated > 0 for u in one.device.units) and one.device.clock > 1e8
    assert {p.device.target for p in found} <= {"c", "c1"} and found[-1].device.target == "c"


def test_ceilings_are_width_times_clock() -> None:
    core = probe_host.Core(per_lane=6, read=3, write=2, behind=64)
    rates = probe_c.ceilings(core, 2e9, 32, 2, (Place("L1", 1), Place("L2", 1)))
    assert rates["vector f32"] == 6 * 8 * 2e9 * 2 and rates["vector f64"] == 6 * 4 * 2e9 * 2
    assert (rates["L1 read"], rates["L1 copy"]) == (3 * 32 * 2e9 * 2, 5 * 32 * 2e9 * 2)
    assert (rates["L2 write"], rates["L2 copy"]) == (64 * 2e9 * 2, 128 * 2e9 * 2)


def test_caches_are_read_where_the_system_says(tmp_path: Path) -> None:
    first = probe_host.processors()[0]
    said = (
        ("Data", 1, "32K", "0"),
        ("Instruction", 1, "32K", "0"),
        ("Unified", 2, "1M", "0-1"),
        ("Unified", 3, "bad", "0"),
    )
    for n, (kind, level, size, shared) in enumerate(said):
        entry = tmp_path / f"cpu{first}" / "cache" / f"index{n}"
        entry.mkdir(parents=True)
        for name, text in (("type", kind), ("level", str(level)), ("size", size), ("shared_cpu_list", shared)):
            (entry / name).write_text(text + "\n")
    assert probe_host.caches(4, tmp_path) == (Place("L1", 32 << 10, 4), Place("L2", 1 << 20, 2))
    assert probe_host.caches(2, tmp_path / "nothing")  # as sysconf says, or the usual least


# Grids


@pytest.mark.parametrize("page", [0, 8])
def test_a_chase_of_a_grid_goes_through_every_step(page: int) -> None:
    made = probe_grid.cycle(64, page)
    step = probe_grid.LINE // 4
    at, seen = 0, []
    for _ in range(64):
        seen.append(at)
        at = int(made[at])
    assert at == 0 and sorted(seen) == [k * step for k in range(64)]
    if page:
        pages = [k // step // page for k in seen]
        assert sum(a != b for a, b in pairwise(pages)) <= 64 // page


def test_enough_is_doubled_until_a_launch_counts_for_nothing() -> None:
    assert probe_grid.enough(lambda n: 1e-5 * n, 1, 1 << 20) == 512
    assert probe_grid.enough(lambda n: 1e-9, 1, 1000) == 512
    assert probe_grid.enough(lambda n: 1.0, 7, 1 << 20) == 7


def test_knees_are_where_latency_rises() -> None:
    sizes = tuple(1 << n for n in range(13, 24))

    def latency(size: int) -> float:
        return 1.0 if size <= 1 << 15 else 5.0 if size <= 1 << 19 else 50.0

    assert probe_grid.knees(latency, sizes) == (1 << 15, 1 << 19)
    assert probe_grid.knees(lambda size: 1.0, sizes) == ()


def check_grid(grid: Any, read_back: Callable[[Any, Any], np.ndarray[Any, Any]]) -> None:
    """Kernels of a target compute what their times are said to be of; times are positive."""
    vectors = 1000
    values = np.arange(4 * vectors, dtype=np.float32)
    a, b, out = grid.buffer(values.nbytes, values), grid.buffer(values.nbytes), grid.buffer(1 << 20)
    assert grid.seconds("copy", 3, grid.threads, (a, b, out), (vectors, 2)) > 0
    assert np.array_equal(read_back(b, np.float32)[: values.size], values)
    assert grid.seconds("read", 3, grid.threads, (a, b, out), (vectors, 2)) > 0
    sums = read_back(out, np.float32)[4 : 4 * (1 + 3 * grid.threads)]
    assert float(sums.astype(np.float64).sum()) == pytest.approx(2 * values.astype(np.float64).sum(), rel=1e-5)
    assert grid.seconds("write", 3, grid.threads, (b, b, out), (vectors, 3)) > 0
    assert set(read_back(b, np.float32)[: values.size]) == {2.0}
    steps = probe_grid.cycle(64)
    seat, ends = grid.buffer(steps.nbytes, steps), grid.buffer(1 << 12)
    assert grid.seconds("chase", 1, 1, (seat, ends), (3,)) > 0
    at = 0
    for _ in range(24):
        at = int(steps[at])
    assert read_back(ends, np.uint32)[2] == at
    assert grid.seconds("barrier", 1, 64, (out,), (10,)) > 0
    assert grid.seconds("peak_f32", 2, grid.threads, (out,), (10,)) > 0
    assert grid.launches(3) > 0


def test_opencl_kernels_do_what_is_timed() -> None:
    cl = pytest.importorskip("pyopencl")
    from tang_egg.probe_opencl import OpenCL

    try:
        grid = OpenCL()
    except TargetError as error:
        pytest.skip(str(error))

    def read_back(buffer: Any, kind: Any) -> np.ndarray[Any, Any]:
        found = np.empty(buffer.size, np.uint8)
        cl.enqueue_copy(grid.queue, found, buffer).wait()
        return found.view(kind)

    check_grid(grid, read_back)


def test_wgsl_kernels_do_what_is_timed() -> None:
    pytest.importorskip("wgpu")
    from tang_egg.probe_wgpu import WebGPU

    try:
        grid = WebGPU()
    except Exception as error:  # no driver for Vulkan
        pytest.skip(str(error))
    check_grid(grid, lambda buffer, kind: np.frombuffer(grid.device.queue.read_buffer(buffer), np.uint8).view(kind))


# CUDA, without a GPU


GROUPS = tuple(p for p in PRODUCTS if p.wgmma)


@pytest.mark.parametrize(
    "text",
    [PLAIN + "".join(map(matrix_source, PRODUCTS)), "".join(map(group_source, GROUPS))],
    ids=["plain and matrix", "groups"],
)
def test_cuda_probes_compile_without_spills(text: str) -> None:
    cuda_compile.check_clean(cuda_compile.compiled(text))


def test_each_kernel_stands_in_its_source() -> None:
    for name in ("empty", "chase", "read", "write", "copy", "barrier", "peak_f32", "peak_bf16", "peak_shared_read"):
        assert f"probe_{name}(" in PLAIN and probe_cuda.text_of(name) is PLAIN
    for p in PRODUCTS:
        assert f"probe_peak_matrix_{p.name}(" in matrix_source(p)
        assert f"probe_peak_group_{p.name}(" in group_source(p)
    bf16 = PRODUCTS[0]
    assert (bf16.operations, group_operations(bf16)) == (2 * 16 * 8 * 16, 4 * 2 * 64 * 256 * 16)


def test_cuda_ceilings_are_processors_times_clock_times_width() -> None:
    said = {"MemoryClockRate": 3_201_000, "GlobalMemoryBusWidth": 6144, "L2CacheSize": 60 << 20}
    rates = probe_cuda.ceilings("90", said, 132, 1.98e9)
    assert rates["matrix bf16"] == 132 * 1.98e9 * 4096
    assert rates[f"{MEMORY} read"] == pytest.approx(4.917e12, rel=1e-3)
    assert probe_cuda.ceilings("75", {}, 40, 1e9) == {
        "L2 read": 64 * 40e9, "L2 write": 64 * 40e9, "L2 copy": 128 * 40e9,
        "shared read": 128 * 40e9, "shared write": 128 * 40e9, "shared copy": 128 * 40e9,
    }  # fmt: skip
    places = probe_cuda.places_of("90", said, 132)
    assert [(p.name, p.capacity, p.instances) for p in places] == [
        ("registers", 256 << 10, 132), ("shared", 256 << 10, 132), ("L2", 60 << 20, 1), (MEMORY, 0, 1),
    ]  # fmt: skip


class FakeClock:
    """Launches happen at once and seem to take a millisecond."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy

    def capture(self, calls: Any) -> Callable[[], object]:
        return lambda: [call() for call in calls]

    def seconds(self, run: Callable[[], object]) -> float:
        run()
        return 6e-3


class FakeDriver:
    """A driver whose kernels check that their names and arguments are those of the source."""

    capability, architecture, processors, device = "90", "sm_90a", 2, 0
    title, has_matrix_units = "NVIDIA Nothing, sm_90a", True

    def __init__(self) -> None:
        here = nullcontext()
        attributes = {"MaxBlocksPerMultiprocessor": 32, "ClockRate": 1_980_000, "L2CacheSize": 1 << 16}
        runtime = SimpleNamespace(memGetInfo=lambda: (1 << 20, 1 << 20))
        cuda = SimpleNamespace(Device=lambda n: SimpleNamespace(attributes=attributes), runtime=runtime)
        pool = SimpleNamespace(free_all_blocks=lambda: self.freed.append(1))
        self.cupy = SimpleNamespace(
            cuda=cuda, zeros=np.zeros, uint8=np.uint8, asarray=np.asarray, get_default_memory_pool=lambda: pool
        )
        self.here = lambda: here
        self.launched: set[str] = set()
        self.freed: list[int] = []

    def synchronize(self) -> None: ...

    def compile(self, units: Any) -> list[Any]:
        (unit,) = units
        found = re.search(rf"\b{unit.name}\(([^)]*)\)", unit.text)
        assert found, unit.name
        wanted = [a for a in found[1].split(",") if a.strip()]

        def launch(grid: Any, block: Any, arguments: Any) -> None:
            self.launched.add(unit.name)
            assert len(arguments) == len(wanted), unit.name
            for text, given in zip(wanted, arguments, strict=True):
                assert ("*" in text) == isinstance(given, np.ndarray) and ("*" in text) != isinstance(given, np.uint32)
            assert grid[0] >= 1 and 1 <= block[0] <= 256

        return [launch]


def test_a_gpu_is_measured_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_cuda, "CupyClock", FakeClock)
    monkeypatch.setattr(probe_cuda, "driver_version", lambda: "driver 1")
    on: Any = FakeDriver()
    found = measure(probe_cuda.bench(on), 0.0)
    assert not found.missing and on.freed == [1]
    named = re.findall(r"(probe_\w+)\(", PLAIN)
    assert set(named) <= on.launched
    assert sum("group" in n for n in on.launched) == len(GROUPS)
    made = found.device
    assert (made.name, made.target, made.driver) == ("NVIDIA Nothing", "cuda", "driver 1, sm_90a")
    assert (made.workers, made.slots, made.clock) == (2, 64, 1.98e9)
    assert [x.name for x in made.levels] == ["registers", "shared", "L2", MEMORY]
    assert {u.name for u in made.units} == {
        *(f"vector {k}" for k in ("f32", "f64", "f16", "bf16")), *(f"matrix {p.name}" for p in PRODUCTS),
    }  # fmt: skip
    lacking = {n for n, f in made.figures() if not f.value and not n.startswith("registers")}
    assert lacking == {"team", "shared copy"}
    assert device_of(json.loads(json.dumps(made.data()))) == made


def test_the_cuda_script_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def none() -> list[Bench]:
        raise TargetError("no GPU can be used", where="here", mend="there")

    monkeypatch.setattr(probe_cuda, "benches", none)
    file = tmp_path / "gpu.json"
    assert probe_cuda.main(["--seconds", "1", "--json", str(file)]) == 1
    assert "not measured: no GPU can be used" in capsys.readouterr().out
    assert json.loads(file.read_text())["devices"] == []
