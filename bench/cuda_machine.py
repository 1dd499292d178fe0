"""One GPU with its systems: prepares them on the inputs of a cell, checks what they compute, times them in turns."""

from __future__ import annotations

import gc
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

import tang_egg
from bench import cuda_data, cuda_peers, cuda_timing
from bench.cuda_cells import OURS, Cell
from bench.cuda_data import Tensor, Tensors
from bench.cuda_rows import DeviceLost, Result, failed

OUR_LIMIT, PEER_LIMIT, TIMING_LIMIT = 90.0, 300.0, 120.0
"""Seconds for the first call of our kernels, of a peer (which may compile and tune), and for all replays of a cell."""


class Ours:
    """Our kernels, prepared: outputs are NaN until a call writes them."""

    def __init__(self, cell: Cell, x: Tensors, schedule: str | None) -> None:
        from tang_egg.pipeline import optimize

        graph = cell.graph()
        (output,) = graph.outputs
        forced = _forced(schedule, output.name) if schedule else None
        products = "tf32" if cell.dtype == "tf32" else "exact"
        # not verified: outputs are compared with float64 at this size, and the interpreter would take hours
        compiled: Any = optimize(
            graph, target="cuda", schedule=forced, verified=False, products=products, chunk=cell.chunks
        )
        self.schedule = "; ".join(f"{name}: {text}" for name, text in compiled.schedule.items())
        shape = [size.value for size in output.shape]
        kind = {"bf16": torch.bfloat16, "f32": torch.float32, "i32": torch.int32}[output.dtype]
        used = _held()
        out = torch.full(shape, cuda_data.blank(kind), dtype=kind, device=next(iter(x.values())).device)
        self.call = compiled.prepare(**x, out={output.name: out})
        self.found = _tensor(self.call.outputs[output.name])
        self.held_bytes = _held() - used  # outputs and temporaries

    def __call__(self) -> None:
        self.call()

    def output(self) -> Tensor:
        return self.found

    def drop(self) -> None:
        pass


def _forced(text: str, output: str) -> dict[str, str]:
    """Schedules by kernel: `name: schedule; name: schedule`, or one without a name for the kernel of the output."""
    parts = [p.split(": ", 1) for p in text.split("; ")]
    return {p[0] if len(p) > 1 else output: p[-1] for p in parts}


def _tensor(array: Any) -> Tensor:
    return array if isinstance(array, torch.Tensor) else torch.from_dlpack(array)


def _held() -> int:
    """Bytes that torch and CuPy hold."""
    own = int(torch.cuda.memory_allocated())
    try:
        import cupy
    except ImportError:
        return own
    return own + int(cupy.get_default_memory_pool().used_bytes())


class Gpu:
    """The current GPU. `schedules`: forced ones, each a system of its own in place of our own choice."""

    def __init__(self, schedules: Sequence[str] = (), ours_only: bool = False, peers: str | None = None) -> None:
        if not torch.cuda.is_available():
            raise RuntimeError("torch sees no GPU")
        if peers:
            cuda_peers.add_site(peers)
        self.device = torch.cuda.get_device_name()
        self.driver = _driver()
        self._ours_only = ours_only
        name = f"{OURS} {tang_egg.__version__}"
        self._ours: dict[str, str | None] = {f"{name} ({s})": s for s in schedules} or {name: None}
        self._families: dict[str, str] = {}
        self._missing: dict[str, str] = {}

    def systems(self, cell: Cell) -> list[str]:
        names: list[str] = list(self._ours)
        for family in () if self._ours_only else cell.peers:
            try:
                names.append(cuda_peers.version(family))
                self._families[names[-1]] = family
            except Exception as failure:  # an import may raise anything
                self._missing[family] = f"{type(failure).__name__}: {failure}"
        return names

    def missing(self) -> dict[str, str]:
        return self._missing

    def alive(self) -> bool:
        return _alive()

    def measure(self, cell: Cell, systems: Sequence[str], stage: Callable[[str, float], None]) -> list[Result]:
        """Raises DeviceLost, with a row for each system, when a kernel has ended this process's use of the GPU."""
        with cuda_timing.stream() as side, torch.no_grad():
            try:
                return _Run(self, cell, side, stage).measure(systems)
            finally:
                gc.collect()
                if _alive():
                    torch.cuda.empty_cache()

    def prepare(self, system: str, cell: Cell, x: Tensors) -> Any:
        if system in self._ours:
            return Ours(cell, x, self._ours[system])
        return cuda_peers.prepare(self._families[system], cell, x)

    def is_ours(self, system: str) -> bool:
        return system in self._ours


class _Run:
    """The measurement of one cell."""

    def __init__(self, gpu: Gpu, cell: Cell, side: Any, stage: Callable[[str, float], None]) -> None:
        self.gpu, self.cell, self.side, self.stage = gpu, cell, side, stage
        stage("inputs and reference", TIMING_LIMIT)
        self.inputs = cuda_data.draw(cell, "cuda")
        self.wanted = cuda_data.reference(cell, self.inputs)
        torch.cuda.synchronize()

    def measure(self, systems: Sequence[str]) -> list[Result]:
        results: dict[str, Result] = {}
        ready: dict[str, Any] = {}
        replays: dict[str, cuda_timing.Replay] = {}
        for system in systems:
            ours = self.gpu.is_ours(system)
            self.stage(f"{system}: first call", OUR_LIMIT if ours else PEER_LIMIT)
            try:
                call = self.gpu.prepare(system, self.cell, self.inputs)
                results[system] = self._first(system, call)
                if results[system].failed is None:
                    self.stage(f"{system}: capture", OUR_LIMIT)
                    replays[system] = cuda_timing.replay(call, self.side, partial(self._rewritten, call))
                    ready[system] = call
            except Exception as failure:  # whatever a system raises is its row
                results[system] = failed([system], f"{type(failure).__name__}: {failure}")[0]
                self._check_device(system, systems, results)
        self.stage("timing", TIMING_LIMIT)
        try:
            for system, timed in cuda_timing.in_turns(replays).items():
                run = replays[system]
                results[system] = replace(
                    results[system],
                    median_ms=timed.median_ms,
                    spread_ms=timed.spread_ms,
                    spread=timed.spread,
                    rounds=timed.rounds,
                    iterations=run.iterations,
                    how=run.how,
                )
                self._again(system, ready[system], run, results)
        except Exception as failure:
            for system in replays:
                results[system] = failed([system], f"timing: {type(failure).__name__}: {failure}")[0]
            self._check_device("timing", systems, results)
        return list(results.values())

    def _first(self, system: str, call: Any) -> Result:
        """What the first call gives: its error, or why it failed."""
        call()
        torch.cuda.synchronize()
        why, error = self._wrong(call)
        schedule = getattr(call, "schedule", None)
        peak = self._peak(call) if why is None and self.cell.suite == "cuda.loss" else None
        return Result(system, error=error, failed=why, peak_mib=peak, schedule=schedule)

    def _wrong(self, call: Any) -> tuple[str | None, float | None]:
        """Why the present output does not count (None if it does), and its error where that is a number."""
        found = call.output()
        if bad := cuda_data.unwritten(found):
            return f"{bad} of {found.numel()} elements are NaN or infinite (outputs are NaN before a call)", None
        error = cuda_data.error(found, self.wanted)
        return (None if error <= self.cell.limit else f"the error is above {self.cell.limit}"), error

    def _rewritten(self, call: Any, run: Callable[[], None]) -> bool:
        call.output().fill_(cuda_data.blank(call.output().dtype))
        run()
        torch.cuda.synchronize()
        return cuda_data.unwritten(call.output()) == 0

    def _again(self, system: str, call: Any, run: Any, results: dict[str, Result]) -> None:
        """A result that is right once and wrong after many calls takes its time away."""
        if not self._rewritten(call, run.run):
            results[system] = replace(results[system], median_ms=None, failed="after timing, some are not written")
            return
        why, error = self._wrong(call)
        if why is not None:
            results[system] = replace(results[system], median_ms=None, error=error, failed=f"after timing, {why}")

    def _peak(self, call: Any) -> float:
        """MiB beside the inputs at the peak of a call: torch's allocations during it, and what was held before."""
        torch.cuda.synchronize()
        call.drop()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        call()
        torch.cuda.synchronize()
        return float(torch.cuda.max_memory_allocated() - before + call.held_bytes) / 2**20

    def _check_device(self, system: str, systems: Sequence[str], results: dict[str, Result]) -> None:
        if not _alive():
            left = [s for s in systems if s not in results or results[s].failed is None]
            for lost in failed(left, f"not measured: the device was lost in {system}"):
                results[lost.system] = lost
            raise DeviceLost(list(results.values()))


def _alive() -> bool:
    """Whether the device still answers: after an illegal access it refuses everything in this process."""
    try:
        torch.cuda.synchronize()
    except Exception:
        return False
    return True


def _driver() -> str:
    command = ("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return f"for CUDA {torch.version.cuda}"
