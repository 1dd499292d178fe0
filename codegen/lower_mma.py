"""The shape mma: a stream of products on matrix units, with its state in registers (see mma_plan for what fits).

    producer   one thread copies operands: per tile of rows the resident ones, per tile of the stream the others
    consumers  warp groups of 64 rows each: products, updates of the state, and at the end the outputs

The parts: mma_plan and mma_operand (what fits), mma_memory (tiles and rings), mma_domain (live tiles), mma_cells,
mma_linear and mma_tile (scalars at fragments), mma_state (the state and its update), mma_frame (tiles in order),
mma_producer, mma_products, mma_consumer, mma_outputs (the roles).
"""

from __future__ import annotations

from tang_egg.codegen.device import Launch, Role, Roles
from tang_egg.codegen.kernel import Kernel
from tang_egg.codegen.lower import kernel_note
from tang_egg.codegen.mma_consumer import Consumer
from tang_egg.codegen.mma_operand import Refused
from tang_egg.codegen.mma_plan import plan
from tang_egg.codegen.mma_producer import Producer
from tang_egg.ir import Tensor
from tang_egg.schedule import Schedule

REGISTERS = {1: (40, 232), 2: (40, 232), 3: (32, 160)}
"""Registers of a producer's and a consumer's thread, by the number of consumers."""
TWICE = {1: (40, 216)}
"""The same where a multiprocessor is to hold two blocks."""


def lower_mma(name: str, outputs: tuple[Tensor, ...], schedule: Schedule) -> Kernel:
    """The kernel for a plan and a schedule of shape mma. Raises Refused where either does not fit the chip."""
    return _Kernel(name, plan(outputs), schedule).run()


def shared_bytes(outputs: tuple[Tensor, ...], schedule: Schedule) -> int:
    """Bytes of shared memory that the kernel would take; its code is not written. Raises Refused as lower_mma does."""
    return _Kernel("try", plan(outputs), schedule).launch().shared_bytes


class _Kernel(Producer, Consumer):
    """One kernel under construction."""

    def launch(self) -> Launch:
        shared = (self.drawn,) if self.tickets else ()
        return Launch(
            128 * (self.g.groups + 1), self.tiles(), True, tuple(self.stages), tuple(self.signals), tuple(self.maps),
            shared, 2 if self.tickets else 0, resident=max(1, self.schedule.occupancy),
        )  # fmt: skip

    def run(self) -> Kernel:
        groups, blocks = self.g.groups, max(1, self.schedule.occupancy)
        table = {1: REGISTERS, 2: TWICE}.get(blocks, {})
        if groups not in table:
            raise Refused(f"{groups} consumers{f' in each of {blocks} blocks' if blocks > 1 else ''}")
        few, many = table[groups]
        producer, consumer = self.producer(), self.consumer()
        roles = Roles((Role("producer", 1, few, producer, single=True), Role("consumer", groups, many, consumer)))
        buffers = (*self.buffers.values(), *self.written.values())
        note = kernel_note(self.plan.outputs, self.schedule)
        return Kernel(self.name, buffers, self.dims, (roles,), (), note, self.launch())
