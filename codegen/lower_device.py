"""From tensors and a schedule to a kernel for a chip with thread blocks: by matrix units, or by grids of threads."""

from __future__ import annotations

from tang_egg.codegen.candidates_grid import grid_schedules
from tang_egg.codegen.kernel import Kernel
from tang_egg.codegen.lower_grid import lower_grid
from tang_egg.codegen.lower_mma import lower_mma
from tang_egg.codegen.mma_operand import Refused
from tang_egg.errors import CodegenError
from tang_egg.ir import Tensor
from tang_egg.schedule import Schedule


def lower_device(name: str, outputs: tuple[Tensor, ...], schedule: Schedule) -> Kernel:
    """The kernel that writes `outputs` as `schedule` says. Raises CodegenError where the schedule does not fit them."""
    if schedule.shape != "mma":
        return lower_grid(name, outputs, schedule)
    try:
        return lower_mma(name, outputs, schedule)
    except Refused as refused:
        raise CodegenError(
            f"kernel '{name}' cannot run on matrix units: {refused}",
            where=f"schedule: {schedule}",
            mend=f"change the schedule, or take a plain one: {grid_schedules(outputs)[0]}",
        ) from None
