"""Programs in WGSL and GLSL on a device of WebGPU (Vulkan, Metal or Direct3D 12), through wgpu.

compile_wgsl(program, schedules) --lower, print, compile--> GridProgram (see run_grid)

GLSL is compiled by the front end of wgpu. Sources are printed without any device.
"""

from __future__ import annotations

from collections.abc import Mapping

from tang_egg.codegen.dialects import glsl, wgsl
from tang_egg.codegen.kernel import Kernel
from tang_egg.errors import CodegenError
from tang_egg.program import KernelPlan, Program
from tang_egg.run_grid import GridProgram, distinct, grid_kernels
from tang_egg.run_layout import Built
from tang_egg.run_wgpu_device import THREADS, WebGPUGrid, device, wished
from tang_egg.schedule import Schedule

_PRINT = {"wgsl": wgsl.source, "glsl": glsl.source}


def wgsl_device() -> WebGPUGrid:
    """The device of this process's WGSL programs. Raises TargetError where WebGPU cannot be used."""
    return device("wgsl", wished())


def glsl_device() -> WebGPUGrid:
    """The device of this process's GLSL programs. Raises TargetError where WebGPU cannot be used."""
    return device("glsl", wished())


def compile_wgsl(
    program: Program, schedules: Mapping[str, Schedule] | None = None, *, on: WebGPUGrid | None = None
) -> GridProgram:
    """The kernels of a program, lowered, printed as WGSL and compiled; `schedules` by kernel name.

    Raises TargetError when wgpu or an adapter is missing, or a kernel does not compile.
    """
    return _compiled("wgsl", program, schedules or {}, on or wgsl_device())


def compile_glsl(
    program: Program, schedules: Mapping[str, Schedule] | None = None, *, on: WebGPUGrid | None = None
) -> GridProgram:
    """The same by way of GLSL."""
    return _compiled("glsl", program, schedules or {}, on or glsl_device())


def wgsl_sources(program: Program, schedules: Mapping[str, Schedule]) -> dict[str, str]:
    """The WGSL of each distinct kernel, by the name of the first plan that has it; no device is needed."""
    return _texts("wgsl", _kernels(program, schedules))


def glsl_sources(program: Program, schedules: Mapping[str, Schedule]) -> dict[str, str]:
    """The GLSL of each distinct kernel, by the name of the first plan that has it; no device is needed."""
    return _texts("glsl", _kernels(program, schedules))


def _compiled(language: str, program: Program, schedules: Mapping[str, Schedule], grid: WebGPUGrid) -> GridProgram:
    kernels = _kernels(program, schedules)
    texts = _texts(language, kernels)
    functions = grid.build(distinct(kernels), texts)
    return GridProgram(
        program, kernels, texts, grid, dict(functions), lambda p, s: _compiled(language, p, s, grid),
        suffix=f".{language}",
    )  # fmt: skip


def _kernels(program: Program, schedules: Mapping[str, Schedule]) -> tuple[Built, ...]:
    return grid_kernels(program, schedules, THREADS, wgsl.LANES, check_words)


def check_words(kernel: Kernel, plan: KernelPlan) -> None:
    """Raises CodegenError for a kernel that 32-bit words cannot hold."""
    for b in kernel.scratch:
        if b.type not in ("f32", "i32", "u32"):
            raise CodegenError(
                f"kernel '{plan.name}' keeps an array of {b.type} that is too large for a thread",
                where=f"array '{b.name}' of {b.size!r} elements",
                mend="use smaller sizes, or another target",
            )


def _texts(language: str, kernels: tuple[Built, ...]) -> dict[str, str]:
    return {b.plan.name: _PRINT[language](b.kernel) for b in distinct(kernels)}
