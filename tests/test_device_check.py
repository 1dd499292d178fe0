"""The check of launched kernels: every rule is broken once, and the error reads as blessed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest

from tang_egg.affine import Dim, affine
from tang_egg.codegen import device as d
from tang_egg.codegen.kernel import (
    Assign,
    Buffer,
    Declare,
    If,
    Kernel,
    Let,
    Literal,
    Load,
    Loop,
    Stmt,
    Store,
    number,
)
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.errors import CodegenError
from tests.conftest import Golden
from tests.device_builders import attention, call, changed, first_thread, gemm, v

SOUND = {
    "gemm": gemm(),
    "gemm_one_group": gemm(1),
    "gemm_mn": gemm(2, 128, "mn"),
    "gemm_tf32": gemm(2, 64, "k", 3, "f32"),
    "attention": attention(),
}
BASE = gemm()
SA, SB, SC = BASE.launch.stages if BASE.launch else ()
FULL, EMPTY = BASE.launch.signals if BASE.launch else ()
MA, MB, MC = BASE.launch.maps if BASE.launch else ()
OTHER_STAGE, OTHER_SIGNAL = d.Stage("other", "bf16", 1, 64), d.Signal("other", 1, 1)
ZERO = number(0)
LONG = Buffer("acc", "f32", "register", affine(136))
PACKED = Buffer("p", "bf16x2", "register", affine(8))


def launched(kernel: Kernel = BASE, **new: object) -> Kernel:
    """The kernel with another launch."""
    assert kernel.launch
    return replace(kernel, launch=replace(kernel.launch, **new))  # type: ignore[arg-type]


def with_role(n: int, kernel: Kernel = BASE, **new: object) -> Kernel:
    (roles,) = kernel.body
    assert isinstance(roles, d.Roles)
    changed_role = replace(roles.roles[n], **new)  # type: ignore[arg-type]
    return replace(kernel, body=(d.Roles((*roles.roles[:n], changed_role, *roles.roles[n + 1 :])),))


def each(kind: type, make: Callable[..., Stmt | tuple[Stmt, ...]], kernel: Kernel = BASE) -> Kernel:
    """The kernel with statements of a kind replaced."""
    return changed(kernel, lambda s: make(s) if isinstance(s, kind) else s)


def without_one(kind: type, n: int) -> Kernel:
    """The product without statement number `n` of a kind."""
    seen = count()
    return changed(gemm(), lambda s: () if isinstance(s, kind) and next(seen) == n else s)


def without(kind: type, kernel: Kernel = BASE) -> Kernel:
    return each(kind, lambda s: (), kernel)


def started(*body: Stmt, role: int = 1) -> Kernel:
    """The kernel where a role runs these statements first."""
    (roles,) = BASE.body
    assert isinstance(roles, d.Roles)
    return with_role(role, body=(*body, *roles.roles[role].body))


def map_of(n: int, **new: object) -> Kernel:
    """The kernel with another map."""
    old = (MA, MB, MC)[n]
    m = replace(old, **new)  # type: ignore[arg-type]
    kernel = launched(maps=tuple(m if x is old else x for x in (MA, MB, MC)))
    return changed(kernel, lambda s: replace(s, map=m) if isinstance(s, (d.CopyIn, d.CopyOut)) and s.map == old else s)


def product(kernel: Kernel = BASE, **new: object) -> Kernel:
    return each(d.Mma, lambda s: replace(s, **new), kernel)


def restaged(stage: d.Stage) -> Kernel:
    """The kernel with another first stage."""
    kernel = launched(stages=(stage, SB, SC))
    return each(d.CopyIn, lambda s: replace(s, stage=stage) if s.stage == SA else s, kernel)


def second(s: Stmt) -> Stmt | tuple[Stmt, ...]:
    """The wait that covers the last product is gone."""
    return () if isinstance(s, d.MmaWait) and s.pins else s


def stored(s: d.StoreTile) -> Stmt:
    return replace(s, values=tuple(Literal(0.0, "f32") for _ in range(4)))  # type: ignore[arg-type]


def loaded(**new: object) -> Kernel:
    plain = d.LoadTile(PACKED, 0, SA, ZERO, ZERO, 0, ZERO)
    return started(Declare(PACKED), replace(plain, **new))  # type: ignore[arg-type]


def across(**new: object) -> Kernel:
    """A product of f32 whose fragments are stored across lines."""
    kernel = gemm(2, 64, "k", 3, "f32")
    return each(d.StoreTile, lambda s: replace(s, major="mn", **new), kernel)  # type: ignore[arg-type]


def two_arrivals() -> Kernel:
    """Two arrivals awaited of one producer."""
    new = replace(FULL, arrivals=2)

    def change(s: Stmt) -> Stmt:
        return replace(s, signal=new) if isinstance(s, (d.Expect, d.Await, d.CopyIn)) and s.signal == FULL else s

    return changed(launched(signals=(new, EMPTY)), change)


SINGLE = replace(PACKED, name="single", type="f32")
HALF = d.Stage("half", "f16", 1, 64)
THICK = d.Stage("thick", "bf16", 16, 256, 4)
BROKEN: dict[str, Callable[[], Kernel]] = {
    # the launch
    "shared_memory": lambda: launched(stages=(SA, SB, SC, THICK)),
    "threads": lambda: launched(threads=2048),
    "threads_of_roles": lambda: launched(threads=256),
    "names": lambda: launched(signals=(FULL, EMPTY, replace(FULL, depth=1))),
    "stage_type": lambda: launched(stages=(SA, SB, SC, d.Stage("x", "f64", 1, 64))),
    "stage_lines": lambda: launched(stages=(SA, SB, SC, d.Stage("x", "bf16", 1, 60))),
    "stage_tall": lambda: launched(stages=(SA, SB, SC, d.Stage("x", "bf16", 1, 264))),
    "signal_empty": lambda: launched(signals=(FULL, EMPTY, d.Signal("x", 1, 0))),
    "shared_size": lambda: launched(shared=(Buffer("x", "i32", "shared", affine(Dim("m"))),)),
    "registers_step": lambda: with_role(0, registers=44),
    "registers_many": lambda: with_role(0, registers=104),
    "role_empty": lambda: with_role(0, launched(threads=256), groups=0),
    "role_names": lambda: with_role(0, name="consumer"),
    "roles_inside": lambda: replace(BASE, body=(If(Literal(True, "bool"), BASE.body),)),
    "single_collective": lambda: started(d.Sync(number(1), 128), role=0),
    "built_in": lambda: started(Assign("group", ZERO)),
    "dim": lambda: started(Let("k", ZERO)),
    # maps
    "map_buffer": lambda: map_of(0, buffer=Buffer("Z", "bf16", "global", affine(8), "input")),
    "map_rank": lambda: map_of(0, box=(1, 128, 64)),
    "map_side": lambda: map_of(0, box=(512, 64)),
    "map_line": lambda: map_of(0, box=(128, 32)),
    "map_stride": lambda: map_of(0, extents=(affine(Dim("m")), affine(100))),
    "map_rounds": lambda: map_of(0, rounds=True),
    # copies
    "copy_map": lambda: each(d.CopyIn, lambda s: replace(s, map=replace(s.map, name="x"))),
    "copy_stage": lambda: each(d.CopyIn, lambda s: replace(s, stage=OTHER_STAGE)),
    "copy_slot": lambda: each(d.CopyIn, lambda s: replace(s, slot=number(3))),
    "copy_box": lambda: each(d.CopyIn, lambda s: replace(s, box=1)),
    "copy_coordinates": lambda: each(d.CopyIn, lambda s: replace(s, at=s.at[:1])),
    "copy_type": lambda: restaged(replace(SA, type="f16")),
    "copy_lines": lambda: map_of(0, box=(64, 64)),
    "copy_out_lines": lambda: each(d.CopyOut, lambda s: replace(s, line=number(100))),
    "copy_out_input": lambda: each(d.CopyOut, lambda s: replace(s, map=MA, line=ZERO)),
    # products
    "accumulator": lambda: each(Declare, lambda s: Declare(LONG), product(acc=LONG)),
    "operand_rows": lambda: product(a=d.Tile(SA, ZERO, "k", number(128))),
    "operand_depth": lambda: product(steps=5),
    "operand_major": lambda: product(a=d.Tile(SA, ZERO, "m", ZERO)),
    "operand_tf32_mn": lambda: changed(
        gemm(2, 64, "k", 3, "f32"),
        lambda s: replace(s, b=replace(s.b, major="mn")) if isinstance(s, d.Mma) else s,
    ),
    "operand_types": lambda: product(launched(stages=(SA, SB, SC, HALF)), a=d.Tile(HALF, ZERO, "k", ZERO)),
    "packed_short": lambda: product(a=d.Packed(PACKED)),
    "packed_type": lambda: product(a=d.Packed(replace(PACKED, type="f16x2"))),
    "steps": lambda: product(steps=0),
    # fragments
    "store_chunk": lambda: each(d.StoreTile, lambda s: replace(s, chunk=4)),
    "store_types": lambda: each(d.StoreTile, stored),
    "store_across": lambda: each(d.StoreTile, lambda s: replace(s, major="mn")),
    "store_across_boxes": across,
    "load_single": lambda: changed(loaded(), lambda s: replace(s, target=SINGLE) if isinstance(s, d.LoadTile) else s),
    "load_major": lambda: loaded(major="n"),
    "load_registers": lambda: loaded(at=8),
    "load_lines": lambda: loaded(major="mn", chunk=8),
    # barriers and counters
    "barrier_id": lambda: each(d.Sync, lambda s: replace(s, id=ZERO)),
    "barrier_threads": lambda: each(d.Sync, lambda s: replace(s, threads=100)),
    "arrive_who": lambda: each(d.Arrive, lambda s: replace(s, who="lane")),
    "await_signal": lambda: each(d.Await, lambda s: replace(s, signal=OTHER_SIGNAL)),
    "counter": lambda: launched(attention(), counters=1),
    "counter_kept": lambda: without(d.Retire, attention()),
    # signals
    "nobody_arrives": lambda: without(d.Arrive),
    "arrivals_warp": lambda: each(d.Arrive, lambda s: replace(s, who="group")),
    "arrivals_thread": lambda: each(d.Arrive, lambda s: replace(s, who="thread")),
    "arrivals_expect": two_arrivals,
    "bytes": lambda: each(d.Expect, lambda s: replace(s, bytes=SA.bytes)),
    "bytes_missing": lambda: each(d.Expect, lambda s: d.Arrive(s.signal, s.slot, "thread")),
    "bytes_in_loop": lambda: each(
        d.CopyIn, lambda s: Loop("x", ZERO, number(2), 1, "unrolled", (s,)) if s.map == MA else s
    ),
    # order
    "leave": lambda: started(d.Leave(Literal(True, "bool"))),
    "fence": lambda: without(d.MmaFence),
    "commit": lambda: without(d.MmaCommit),
    "wait": lambda: each(d.MmaWait, second),
    "wait_none": lambda: without(d.MmaWait),
    "wait_last": lambda: changed(BASE, lambda s: () if isinstance(s, d.StoreTile) else second(s)),
    "pins": lambda: each(d.MmaWait, lambda s: replace(s, pins=())),
    "pins_early": lambda: each(d.MmaWait, lambda s: replace(s, pins=(s.pins or (LONG,)))),
    "accumulator_early": lambda: each(
        d.MmaCommit, lambda s: (s, Let("x", Load(Buffer("acc", "f32", "register", affine(32)), ZERO, "f32")))
    ),
    "packed_early": lambda: changed(
        attention(),
        lambda s: (
            (s, Store(s.a.buffer, ZERO, Load(s.a.buffer, ZERO, "bf16x2")))
            if isinstance(s, d.Mma) and isinstance(s.a, d.Packed)
            else s
        ),
    ),
    "proxy_fence": lambda: without(d.ProxyFence),
    "proxy_meeting": lambda: without_one(d.Sync, 1),
    "store_meeting": lambda: without_one(d.Sync, 0),
    "copy_commit": lambda: without(d.CopyCommit),
    "copy_drain": lambda: without(d.CopyDrain),
    # scope and types
    "scope": lambda: each(d.Await, lambda s: replace(s, slot=v("turn"))),
    "scope_accumulator": lambda: without(Declare),
    "packed_never_stored": lambda: changed(
        attention(), lambda s: () if isinstance(s, Store) and s.buffer.name == "p" else s
    ),
    "types": lambda: started(Let("x", call("udiv", number(1), Literal(1, "i32")))),
}


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_kernel_passes(name: str) -> None:
    check_kernel(SOUND[name])


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_reads_as_blessed(name: str, golden: Golden) -> None:
    with pytest.raises(CodegenError) as caught:
        check_kernel(BROKEN[name]())
    assert caught.value.where and caught.value.mend
    golden(f"device_check/{name}.txt", str(caught.value))


def test_arrivals_of_one_thread_and_unknown_ones() -> None:
    """One thread of each group is counted; who comes by other conditions is not known, and passes."""
    once = changed(BASE, lambda s: first_thread(s) if isinstance(s, d.Arrive) else s)
    with pytest.raises(CodegenError, match="8 arrivals in a phase that 2 come to"):
        check_kernel(once)
    lane = call("umod", v("thread"), number(32))
    warps = changed(
        BASE,
        lambda s: (
            If(call("eq", lane, ZERO, type="bool"), (replace(s, who="thread"),)) if isinstance(s, d.Arrive) else s
        ),
    )
    check_kernel(warps)
