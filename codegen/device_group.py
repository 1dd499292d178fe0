"""One warp group in the interpreter of launched kernels: its statements, as a coroutine that yields where it waits."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tang_egg.codegen import device as d
from tang_egg.codegen.device_issue import Issue
from tang_egg.codegen.device_lane import scalar
from tang_egg.codegen.device_memory import Memory, Wait
from tang_egg.codegen.kernel import Assign, Declare, Expr, If, Let, Loop, Stmt, Store

if TYPE_CHECKING:
    from tang_egg.codegen.device_run import Machine

Flow: TypeAlias = "Generator[Wait | None, None, bool]"
"""A coroutine over statements; its result says whether a Leave was met."""

_PLAIN = (Let, Assign, Store, Declare, d.Leave)


class Group(Issue):
    """Warp group `number` of a block."""

    def __init__(self, machine: Machine, shared: Memory, block: int, number: int) -> None:
        values: dict[str, Any] = dict(machine.dims)
        values |= {"block": block, "blocks": machine.blocks, "group": number, "thread": np.arange(d.GROUP)}
        super().__init__(f"block {block}, group {number}", d.GROUP, values, machine.arrays | shared.plain)
        self.machine, self.shared, self.block, self.number = machine, shared, block, number

    def main(self, body: tuple[Stmt, ...]) -> Flow:
        left = yield from self.flow(body)
        self.ended()
        return left

    # -- control ------------------------------------------------------------------------------------------------------

    def flow(self, body: tuple[Stmt, ...]) -> Flow:
        for s in body:
            if self.is_simple(s):
                if self.plain(s):
                    return True
            elif isinstance(s, Loop):
                yield from self.loop(s)
            elif isinstance(s, d.Forever):
                while not (yield from self.flow(s.body)):
                    pass
            elif isinstance(s, If):
                if (yield from self.branch(s)):
                    return True
            elif isinstance(s, d.Roles):
                yield from self.roles(s)
            else:
                if self.machine.pause():
                    yield None
                wait = self.issue(s)
                if wait is not None and not wait.ready():
                    yield wait
        return False

    def loop(self, s: Loop) -> Generator[Wait | None, None, None]:
        for n in self.bounds(s):
            self.values[s.var] = n
            if (yield from self.flow(s.body)):
                return

    def branch(self, s: If) -> Flow:
        before, left = self.mask, False
        for mask, body in self.arms(s):
            self.mask = mask
            left = (yield from self.flow(body)) or left
            self.mask = before
        return left

    def roles(self, s: d.Roles) -> Flow:
        first = 0
        for role in s.roles:
            if self.number < first + role.groups:
                self.enter(role, self.number - first)
                return (yield from self.flow(role.body))
            first += role.groups
        self.fault(f"{self.machine.launch.threads} threads for {first} warp groups")

    def enter(self, role: d.Role, group: int) -> None:
        self.who = f"block {self.block}, {role.name} {group}"
        self.values["group"] = group
        if role.single:
            self.width = 1
            self.values = {k: v if scalar(v) else v[..., :1] for k, v in self.values.items()}
            self.registers = {k: v[..., :1] for k, v in self.registers.items()}

    # -- statements that never wait -----------------------------------------------------------------------------------

    def is_simple(self, s: Stmt) -> bool:
        known = self.machine.simple.get(id(s))
        if known is None:
            inner = (*s.then, *s.otherwise) if isinstance(s, If) else s.body if isinstance(s, Loop) else ()
            known = isinstance(s, (*_PLAIN, If, Loop)) and all(self.is_simple(x) for x in inner)
            self.machine.simple[id(s)] = known
        return known

    def block_of(self, body: tuple[Stmt, ...]) -> bool:
        return any(self.plain(s) for s in body)

    def plain(self, s: Stmt) -> bool:
        """Runs a statement that never waits; whether a Leave was met."""
        if isinstance(s, Let):
            self.values[s.name] = self.expr(s.value)
        elif isinstance(s, Store):
            self.store(s.buffer, s.index, s.value)
        elif isinstance(s, Assign):
            self.assign(s.name, self.expr(s.value))
        elif isinstance(s, Loop):
            for n in self.bounds(s):
                self.values[s.var] = n
                if self.block_of(s.body):
                    break
        elif isinstance(s, If):
            before, left = self.mask, False
            for mask, body in self.arms(s):
                self.mask = mask
                left = self.block_of(body) or left
                self.mask = before
            return left
        elif isinstance(s, Declare):
            self.declare(s.buffer)
        elif isinstance(s, d.Leave):
            return self.leaves(s.condition)
        return False

    def leaves(self, condition: Expr) -> bool:
        if self.mask is not None:
            self.fault("a Leave that only some threads of a warp group come to")
        return bool(self.uniform(condition, "the condition of a Leave"))

    def bounds(self, s: Loop) -> range:
        what = f"the bounds of the loop over '{s.var}'"
        return range(self.uniform(s.start, what), self.uniform(s.stop, what), s.step)

    def arms(self, s: If) -> list[tuple[Any, tuple[Stmt, ...]]]:
        """The branches that some thread takes, with who takes them."""
        condition = self.expr(s.condition)
        if scalar(condition):
            return [(self.mask, s.then if condition else s.otherwise)]
        active = self.active()
        found: list[tuple[Any, tuple[Stmt, ...]]] = []
        for mask, body in ((active & condition, s.then), (active & ~condition, s.otherwise)):
            if body and mask.any():
                found.append((None if mask.all() else mask, body))
        return found

    def assign(self, name: str, value: Any) -> None:
        if self.mask is not None and name in self.values:
            value = np.where(self.mask, value, self.values[name])
        self.values[name] = value
