"""The GPU of a Mac, through PyObjC's binding of Metal (pip install pyobjc-framework-Metal).

Written from Apple's documentation and not run yet: there was no Mac to try it on. The sources are those that the shim
runs elsewhere.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tang_egg.codegen.dialects import metal
from tang_egg.codegen.lower_grid import THREADS
from tang_egg.errors import BindError, TargetError
from tang_egg.run_grid import Native
from tang_egg.run_layout import Built

INSTALL = "pip install pyobjc-framework-Metal"


class MacGrid:
    """The default GPU; see run_grid.Grid. Memory is shared with the host, kernels run in the order of one queue."""

    name = "metal"
    threads = together = THREADS
    lanes = True

    def __init__(self, library: Any, device: Any) -> None:
        self.library, self.device = library, device
        self.queue = device.newCommandQueue()
        self.title = f"{device.name()}, Metal"
        self.largest = int(device.maxBufferLength())
        self._last: Any = None

    @staticmethod
    def open() -> MacGrid:
        """The default GPU. Raises TargetError where there is none."""
        try:
            library = importlib.import_module("Metal")
        except ImportError as error:
            raise TargetError(
                "PyObjC's binding of Metal is not installed",
                where=f"import Metal: {' '.join(str(error).split())[:200]}",
                mend=f"{INSTALL} on a Mac; elsewhere unset TANG_METAL, for the shim",
            ) from None
        device = library.MTLCreateSystemDefaultDevice()
        if device is None:
            raise TargetError(
                "Metal finds no GPU", where="MTLCreateSystemDefaultDevice", mend="set TANG_METAL=shim, or target='c'"
            )
        return MacGrid(library, device)

    def build(self, kernels: Sequence[Built], texts: Mapping[str, str]) -> dict[int, Any]:
        """The pipelines of some sources, by identity of the kernel. Raises TargetError when one does not compile."""
        found: dict[int, Any] = {}
        for b in kernels:
            options = self.library.MTLCompileOptions.alloc().init()
            options.setFastMathEnabled_(False)
            made, error = self.device.newLibraryWithSource_options_error_(texts[b.plan.name], options, None)
            pipeline = None
            if made is not None:
                entry = made.newFunctionWithName_(metal.entry_name(b.kernel))
                pipeline, error = self.device.newComputePipelineStateWithFunction_error_(entry, None)
            if pipeline is None:
                said = " ".join(str(error).split())[:500]
                raise TargetError(
                    f"kernel '{b.plan.name}' does not compile: {said}", where=self.title, mend="report the source"
                )
            launch = b.kernel.launch
            most = int(pipeline.maxTotalThreadsPerThreadgroup())
            if launch is not None and (most < launch.threads or int(pipeline.threadExecutionWidth()) != 32):
                raise TargetError(
                    f"kernel '{b.plan.name}' needs groups of {launch.threads} threads in lanes of 32",
                    where=f"{self.title}: {most} threads in lanes of {int(pipeline.threadExecutionWidth())}",
                    mend="set TANG_METAL=shim, or target='c'",
                )
            found[id(b.kernel)] = pipeline
        return found

    def empty(self, count: int) -> Any:
        found = self.device.newBufferWithLength_options_(count, self.library.MTLResourceStorageModeShared)
        if found is None:
            raise BindError(f"there is no memory for {count} bytes", where=self.title, mend="bind smaller dimensions")
        return found

    def upload(self, array: np.ndarray[Any, Any]) -> Any:
        buffer = self.empty(max(64, array.nbytes))
        self._bytes(buffer, array.nbytes)[:] = array.reshape(-1).view(np.uint8)
        return buffer

    def download(self, buffer: Any, array: np.ndarray[Any, Any]) -> None:
        self.finish()
        array.reshape(-1).view(np.uint8)[:] = self._bytes(buffer, array.nbytes)

    def fill(self, buffer: Any, byte: int, count: int) -> None:
        self.finish()
        self._bytes(buffer, count)[:] = byte

    def copy(self, target: Any, source: Any, count: int) -> None:
        commands = self.queue.commandBuffer()
        encoder = commands.blitCommandEncoder()
        encoder.copyFromBuffer_sourceOffset_toBuffer_destinationOffset_size_(source, 0, target, 0, count)
        encoder.endEncoding()
        commands.commit()
        self._last = commands

    def adopt(self, x: Any) -> Native | None:
        return None

    def native(self, buffer: Any, shape: tuple[int, ...], kind: str) -> Any:
        count = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
        return self._bytes(buffer, count).view(kind).reshape(shape)

    def launch(self, function: Any, blocks: int, threads: int, arguments: Sequence[Any]) -> None:
        commands = self.queue.commandBuffer()
        encoder = commands.computeCommandEncoder()
        encoder.setComputePipelineState_(function)
        buffers = [a for a in arguments if not isinstance(a, np.generic)]
        dims = np.array([a for a in arguments if isinstance(a, np.generic)], np.int32)
        for n, b in enumerate(buffers):
            encoder.setBuffer_offset_atIndex_(b, 0, n)
        if dims.size:
            encoder.setBytes_length_atIndex_(dims.tobytes(), dims.nbytes, len(buffers))
        size = self.library.MTLSizeMake
        encoder.dispatchThreadgroups_threadsPerThreadgroup_(size(blocks, 1, 1), size(threads, 1, 1))
        encoder.endEncoding()
        commands.commit()
        self._last = commands

    def finish(self) -> None:
        last, self._last = self._last, None
        if last is None:
            return
        last.waitUntilCompleted()
        if last.error() is not None:
            raise TargetError(
                f"the device could not run a kernel: {' '.join(str(last.error()).split())[:300]}",
                where=self.title,
                mend="bind smaller dimensions, or set TANG_METAL=shim",
            )

    def _bytes(self, buffer: Any, count: int) -> np.ndarray[Any, Any]:
        return np.frombuffer(buffer.contents().as_buffer(count), np.uint8, count)
