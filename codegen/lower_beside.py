"""Folds by lanes of warps that take several points at once: partial states side by side, and what their pairs combine.

A lane that takes blocks of `size` points keeps a state for each place in a block, and combines them as a tree once, at
the end, not once for each block.
"""

from __future__ import annotations

from tang_egg.codegen.lower_state import State
from tang_egg.ir import Apply, Reduce, StateRef
from tang_egg.monoid import Monoid

ROOM = 16
"""Registers that partial states may fill."""
SYMMETRIC = frozenset({"add", "mul", "and", "or", "bitand", "bitor", "bitxor"})
"""Operations that give the same bits whichever operand comes first."""
ORDERED = frozenset({"max", "min"})
"""Operations that do so where no two zeros differ, or where the device takes +0 for the larger one, as for f32."""


def fits_beside(group: Reduce, state: State, size: int) -> bool:
    """Whether a lane keeps a partial state for each of the `size` points that it takes at once."""
    plain = not any(s.axes for s in state.values()) and not any(c.axes for c in group.monoid.components)
    return plain and group.monoid.commutative and not group.monoid.followers and len(state) * size <= ROOM


def symmetric(monoid: Monoid, state: State) -> bool:
    """Whether two lanes that combine their states in either order get the same bits."""
    return all(_symmetric(monoid, k, slot.local.buffer.type) for k, slot in state.items())


def _symmetric(monoid: Monoid, k: int, type: str) -> bool:
    combine = monoid.combine[k]
    if not isinstance(combine, Apply) or not (combine.op in SYMMETRIC or (combine.op in ORDERED and type != "f64")):
        return False
    name = monoid.components[k].name
    sides = [x.side for x in combine.args if isinstance(x, StateRef) and x.component == name and not x.coordinates]
    return len(combine.args) == 2 and sorted(sides) == ["left", "right"]
