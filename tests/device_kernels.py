"""Kernels built by hand from codegen/device.py: products, two products with a softmax's maximum between, fragments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tang_egg.affine import AffineLike, Dim, affine
from tang_egg.codegen.device import (
    BYTES,
    Announce,
    Arrive,
    Await,
    CopyCommit,
    CopyDrain,
    CopyIn,
    CopyOut,
    Expect,
    Forever,
    Launch,
    Leave,
    LoadTile,
    Mma,
    MmaCommit,
    MmaFence,
    MmaWait,
    Packed,
    ProxyFence,
    Retire,
    Role,
    Roles,
    Signal,
    Stage,
    StoreTile,
    Sync,
    TensorMap,
    Ticket,
    Tile,
    WarpSync,
)
from tang_egg.codegen.kernel import (
    Assign,
    Barrier,
    Buffer,
    Build,
    Call,
    Declare,
    Expr,
    Form,
    If,
    Kernel,
    Lane,
    Let,
    Literal,
    Load,
    Loop,
    Select,
    Stmt,
    Store,
    Var,
    number,
)

NO, YES = Literal(False, "bool"), Literal(True, "bool")
ZERO, ONE = number(0), number(1)


def form(e: AffineLike) -> Form:
    return Form(affine(e))


def v(name: str) -> Form:
    return Form(affine(Dim(name)))


def i64(op: str, *args: Expr) -> Call:
    return Call(op, args, "i64")


def test(op: str, a: Expr, b: Expr) -> Call:
    return Call(op, (a, b), "bool")


def f32(op: str, *args: Expr) -> Call:
    return Call(op, args, "f32")


def serial(var: str, stop: Expr, *body: Stmt) -> Loop:
    return Loop(var, ZERO, stop, 1, "serial", body)


def ceil(e: AffineLike, n: int) -> Expr:
    return i64("udiv", form(affine(e) + n - 1), number(n))


def register(name: str, type: str, size: int) -> Buffer:
    return Buffer(name, type, "register", affine(size))


def _four(values: tuple[Expr, ...]) -> tuple[Expr, Expr, Expr, Expr]:
    a, b, c, d = values
    return a, b, c, d


def advance(slot: str, parity: str, depth: int) -> tuple[Stmt, ...]:
    """The next slot of a ring, and the parity of its phase."""
    last = test("eq", v(slot), number(depth - 1))
    flip = Select(last, form(1 - affine(Dim(parity))), v(parity), "i64")
    return Assign(parity, flip), Assign(slot, Select(last, ZERO, form(affine(Dim(slot)) + 1), "i64"))


def pair(values: Buffer, at: int, type: str, scale: Expr | None = None) -> Build:
    """Two neighbouring registers as one pair."""
    items: list[Expr] = [Load(values, number(at + n), "f32") for n in (0, 1)]
    return Build(tuple(f32("mul", x, scale) if scale else x for x in items), f"{type}x2")


def gemm(type: str = "bf16", columns: int = 256, b_major: str = "k", a_major: str = "k", ring: int = 4) -> Kernel:
    """C[M, N] = A · B, tiles 128 x `columns`, one producer and two consumers. A is [M, K], or [K, M] if `a_major` is
    "mn"; B is [N, K], or [K, N] if `b_major` is "mn". f32 operands are rounded to tf32 on their way.
    """
    held = "tf32" if type == "f32" else type
    width = 128 // BYTES[held]
    m, n, k = (Dim(x) for x in "MNK")
    a = Buffer("A", type, "global", m * affine(k), "input")
    b = Buffer("B", type, "global", n * affine(k), "input")
    c = Buffer("C", type, "global", m * affine(n), "output")
    a_stage = Stage("A", held, 1, 128, ring) if a_major == "k" else Stage("A", held, 2, width, ring)
    b_stage = Stage("B", held, 1, columns, ring) if b_major == "k" else Stage("B", held, columns // width, width, ring)
    c_stage = Stage("C", "f32" if type == "f32" else type, 1, 64, 4)
    full, empty = Signal("full", ring, 1), Signal("empty", ring, 8)

    def map_of(x: Buffer, rows: Dim, major: str, stage: Stage) -> TensorMap:
        extents = (affine(rows), affine(k)) if major == "k" else (affine(k), affine(rows))
        return TensorMap(x.name, x, extents, (stage.lines, width), type == "f32")

    a_map, b_map = map_of(a, m, a_major, a_stage), map_of(b, n, b_major, b_stage)
    c_map = TensorMap("C", c, (affine(m), affine(n)), (64, width))
    tiles_n, steps = ceil(n, columns), ceil(k, width)
    tiles = i64("mul", ceil(m, 128), tiles_n)
    place: tuple[Stmt, ...] = (
        Let("row", i64("mul", i64("udiv", v("tile"), v("across")), number(128))),
        Let("column", i64("mul", i64("umod", v("tile"), v("across")), number(columns))),
    )

    def copies(x: TensorMap, stage: Stage, major: str, start: str) -> list[Stmt]:
        step = form(affine(Dim("t")) * width)
        found: list[Stmt] = []
        for box in range(stage.boxes):
            along = form(affine(Dim(start)) + box * width)
            at: tuple[Expr, ...] = (along, step) if major == "k" else (step, along)
            found.append(CopyIn(x, stage, v("slot"), box, at, full, v("slot")))
        return found

    ring_start: tuple[Stmt, ...] = (Assign("slot", ZERO, True),)
    producer: tuple[Stmt, ...] = (
        *ring_start,
        Assign("parity", ONE, True),
    )
    body_in: tuple[Stmt, ...] = (
        Await(empty, v("slot"), v("parity")),
        Expect(full, v("slot"), a_stage.bytes + b_stage.bytes),
        *copies(a_map, a_stage, a_major, "row"),
        *copies(b_map, b_stage, b_major, "column"),
        *advance("slot", "parity", ring),
    )
    producer += _tiles((*place, serial("t", v("steps"), *body_in)))

    acc = register("acc", "f32", columns // 2)
    row = form(affine(Dim("group")) * 64) if a_major == "k" else v("group")
    body_mma: tuple[Stmt, ...] = (
        Await(full, v("slot"), v("parity")),
        MmaFence(),
        Mma(
            acc,
            Tile(a_stage, v("slot"), a_major, row),
            Tile(b_stage, v("slot"), b_major, ZERO),
            4,
            test("eq", v("t"), ZERO),
        ),
        MmaCommit(),
        MmaWait(1),
        If(test("lt", ZERO, v("t")), (Arrive(empty, v("previous"), "warp"),)),
        Assign("previous", v("slot")),
        *advance("slot", "parity", ring),
    )
    out: list[Stmt] = []
    per_box = 2 * width // 4  # accumulator registers of a box of output columns
    for box in range(columns // width):
        place_out = form(affine(Dim("group")) * 2 + box % 2)
        out.append(If(test("eq", v("thread"), ZERO), (CopyDrain(1, True),)))
        out.append(Sync(form(affine(Dim("group")) + 1), 128))
        for chunk in range(4):
            at = box * per_box + chunk * per_box // 4
            values: tuple[Expr, ...]
            if type == "f32":
                values = tuple(Load(acc, number(at + x), "f32") for x in range(4))
            else:
                values = tuple(pair(acc, at + 2 * x, type) for x in range(4))
            out.append(StoreTile(c_stage, place_out, ZERO, chunk, ZERO, _four(values)))
        here = (form(affine(Dim("row")) + 64 * affine(Dim("group"))), form(affine(Dim("column")) + box * width))
        send = CopyOut(c_map, c_stage, place_out, 0, ZERO, here)
        out += [ProxyFence(), Sync(form(affine(Dim("group")) + 1), 128)]
        out += [If(test("eq", v("thread"), ZERO), (send, CopyCommit())), WarpSync()]
    consumer: tuple[Stmt, ...] = (
        Declare(acc),
        *ring_start,
        Assign("parity", ZERO, True),
        *_tiles(
            (
                *place,
                Assign("previous", ZERO, True),
                serial("t", v("steps"), *body_mma),
                MmaWait(0, (acc,)),
                Arrive(empty, v("previous"), "warp"),
                *out,
            )
        ),
        If(test("eq", v("thread"), ZERO), (CopyDrain(0, False),)),
    )
    launch = Launch(384, tiles, True, (a_stage, b_stage, c_stage), (full, empty), (a_map, b_map, c_map))
    body: tuple[Stmt, ...] = (
        Let("across", tiles_n),
        Let("steps", steps),
        Let("tiles", tiles),
        Roles((Role("producer", 1, 40, producer, True), Role("consumer", 2, 232, consumer))),
    )
    return Kernel("gemm", (a, b, c), ("M", "N", "K"), body, launch=launch)


def _tiles(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The tiles of a persistent block: `block`, then `blocks` further on."""
    onward = Assign("tile", form(affine(Dim("tile")) + Dim("blocks")))
    return (
        Assign("tile", v("block"), True),
        Forever((Leave(test("le", v("tiles"), v("tile"))), *body, onward)),
    )


def ring(count: str, depth: int = 2, ahead: int = 0) -> tuple[Expr, Expr]:
    """Slot and parity of use number `count` of a ring; `ahead` 1 for who fills it."""
    turn = i64("udiv", v(count), number(depth))
    if ahead:
        turn = i64("add", turn, number(ahead))
    return i64("umod", v(count), number(depth)), i64("umod", turn, number(2))


def more(count: str) -> Assign:
    return Assign(count, form(affine(Dim(count)) + 1))


def attention(keys: int = 128, size: int = 128, turns: bool = True) -> Kernel:
    """O = softmax(Q · Kᵀ / √size) · V on [H, N, size] bf16, N a multiple of 128 and of `keys`, with a running maximum
    of each row. A producer asks for tiles by tickets; two consumers take 64 rows each, in turns if `turns`.
    """
    h, n = Dim("H"), Dim("N")
    boxes = size // 64
    q, k, x, o = (
        Buffer(name, "bf16", "global", h * affine(n) * size, "output" if name == "O" else "input") for name in "QKVO"
    )
    q_stage, k_stage = Stage("Q", "bf16", boxes, 128, 2), Stage("K", "bf16", boxes, keys, 2)
    v_stage = Stage("V", "bf16", boxes, keys, 2)
    q_full, q_empty = Signal("q_full", 2, 1), Signal("q_empty", 2, 2)
    k_full, k_empty = Signal("k_full", 2, 1), Signal("k_empty", 2, 8)
    v_full, v_empty = Signal("v_full", 2, 1), Signal("v_empty", 2, 8)
    whole = (affine(h), affine(n), affine(size))
    q_map, o_map = TensorMap("Q", q, whole, (1, 128, 64)), TensorMap("O", o, whole, (1, 64, 64))
    k_map, v_map = TensorMap("K", k, whole, (1, keys, 64)), TensorMap("V", x, whole, (1, keys, 64))
    chosen = Buffer("chosen", "i32", "shared", affine(2))
    tiles = i64("mul", i64("udiv", v("N"), number(128)), v("H"))
    place: tuple[Stmt, ...] = (
        Let("head", i64("udiv", v("tile"), v("tall"))),
        Let("row", i64("mul", i64("umod", v("tile"), v("tall")), number(128))),
    )

    def fetch(m: TensorMap, stage: Stage, full: Signal, empty: Signal, count: str, row: Expr) -> list[Stmt]:
        slot, parity = ring(count, ahead=1)
        copies = [CopyIn(m, stage, slot, b, (v("head"), row, number(64 * b)), full, slot) for b in range(boxes)]
        return [Await(empty, slot, parity), Expect(full, slot, stage.bytes), *copies, more(count)]

    def keys_at(j: AffineLike) -> Expr:
        return form(affine(j) * keys)

    q_slot, q_parity = ring("q_count", ahead=1)
    j = affine(Dim("j"))
    q_copies = [
        CopyIn(q_map, q_stage, q_slot, b, (v("head"), v("row"), number(64 * b)), q_full, q_slot) for b in range(boxes)
    ]
    last = (
        Await(q_empty, q_slot, q_parity),
        Store(chosen, q_slot, Literal(-1, "i32")),
        Arrive(q_full, q_slot, "thread"),
    )
    producer: tuple[Stmt, ...] = (
        *(Assign(f"{name}_count", ZERO, True) for name in "qkv"),
        Assign("tile", v("block"), True),
        Forever(
            (
                Ticket("next", 0),
                If(test("le", v("tiles"), v("tile")), last),
                Leave(test("le", v("tiles"), v("tile"))),
                *place,
                *fetch(k_map, k_stage, k_full, k_empty, "k_count", ZERO),
                Await(q_empty, q_slot, q_parity),
                Store(chosen, q_slot, Call("cast", (v("tile"),), "i32")),
                Expect(q_full, q_slot, q_stage.bytes),
                *q_copies,
                more("q_count"),
                Loop(
                    "j", ONE, v("steps"), 1, "serial",
                    (
                        *fetch(k_map, k_stage, k_full, k_empty, "k_count", keys_at(j)),
                        *fetch(v_map, v_stage, v_full, v_empty, "v_count", keys_at(j - 1)),
                    ),
                ),
                *fetch(v_map, v_stage, v_full, v_empty, "v_count", keys_at(affine(Dim("steps")) - 1)),
                Assign("tile", v("next")),
            )
        ),
        Retire(0),
    )  # fmt: skip

    s, acc = register("s", "f32", keys // 2), register("acc", "f32", size // 2)
    p = register("p", "bf16x2", keys // 4)
    q_use, q_phase = ring("q_count")
    k_use, k_phase = ring("k_count")
    v_use, v_phase = ring("v_count")
    first = test("eq", v("thread"), ZERO)

    def scores() -> list[Stmt]:
        a = Tile(q_stage, v("held"), "k", form(64 * affine(Dim("group"))))
        return [MmaFence(), Mma(s, a, Tile(k_stage, v("k_slot"), "k", ZERO), size // 16, YES), MmaCommit()]

    def weigh(fresh: Expr) -> list[Stmt]:
        return [MmaFence(), Mma(acc, Packed(p), Tile(v_stage, v("v_slot"), "mn", ZERO), keys // 16, fresh), MmaCommit()]

    def each(count: int, *body: Stmt) -> Loop:
        return Loop("i", ZERO, number(count), 1, "unrolled", body)

    def at(offset: int) -> Form:
        return form(4 * affine(Dim("i")) + offset)

    def var(name: str, half: int) -> Var:
        return Var(f"{name}{half}", "f32")

    def soften() -> list[Stmt]:
        """Scores become weights in place: the maximum of each row, the factor for what was summed before, the sum."""
        scale = Literal(1.4426950408889634 / size**0.5, "f32")
        out: list[Stmt] = []
        for half in (0, 1):
            out.append(Let(f"old{half}", var("top", half)))
        for half in (0, 1):
            loaded = [Load(s, at(2 * half + e), "f32") for e in (0, 1)]
            out.append(
                each(keys // 8, Assign(f"top{half}", f32("fast_max", var("top", half), f32("fast_max", *loaded))))
            )
            for distance in (1, 2):
                other = f32("shuffle_xor", var("top", half), Literal(distance, "i32"))
                out.append(Assign(f"top{half}", f32("fast_max", var("top", half), other)))
            drop = f32("add", var("old", half), f32("neg", var("top", half)))
            out.append(Assign(f"factor{half}", f32("exp2", f32("mul", drop, scale))))
            out.append(Let(f"shift{half}", f32("neg", f32("mul", var("top", half), scale))))
            out.append(Assign(f"sum{half}", f32("mul", var("sum", half), var("factor", half))))
            for e in (0, 1):
                value = f32("exp2", f32("fma", Load(s, at(2 * half + e), "f32"), scale, var("shift", half)))
                add = Assign(f"sum{half}", f32("add", var("sum", half), Load(s, at(2 * half + e), "f32")))
                out.append(each(keys // 8, Store(s, at(2 * half + e), value), add))
        return [If(YES, tuple(out))]

    def pack() -> Loop:
        i = 2 * affine(Dim("i"))
        return each(keys // 4, Store(p, v("i"), Build(tuple(Load(s, form(i + e), "f32") for e in (0, 1)), "bf16x2")))

    def rescale(name: str) -> Loop:
        new = [Store(acc, at(e), f32("mul", Load(acc, at(e), "f32"), var(name, e // 2))) for e in range(4)]
        return each(size // 8, *new)

    turn = (Sync(form(4 + affine(Dim("group"))), 256),) if turns else ()
    pass_on = (Announce(form(5 - affine(Dim("group"))), 256),) if turns else ()
    step: tuple[Stmt, ...] = (
        Let("k_slot", k_use),
        Let("v_slot", v_use),
        Await(k_full, v("k_slot"), k_phase),
        more("k_count"),
        *turn,
        *scores(),
        Await(v_full, v("v_slot"), v_phase),
        more("v_count"),
        *weigh(test("eq", v("j"), ONE)),
        *pass_on,
        MmaWait(1, (s,)),
        Arrive(k_empty, v("k_slot"), "warp"),
        *soften(),
        MmaWait(0, (acc,)),
        Arrive(v_empty, v("v_slot"), "warp"),
        rescale("factor"),
        pack(),
    )
    before = form(affine(Dim("q_count")) - 2)
    stores: list[Stmt] = []
    for c in range(size // 16):
        values = _four(tuple(pair(acc, 8 * c + 2 * x, "bf16") for x in range(4)))
        stores.append(StoreTile(q_stage, v("held"), number(c // 4), c % 4, form(64 * affine(Dim("group"))), values))
    line = form(64 * affine(Dim("group")))
    below = form(affine(Dim("row")) + 64 * affine(Dim("group")))
    sends = [CopyOut(o_map, q_stage, v("held"), b, line, (v("head"), below, number(64 * b))) for b in range(boxes)]
    sync = Sync(form(1 + affine(Dim("group"))), 128)
    sums = [
        Assign(f"sum{half}", f32("add", var("sum", half), f32("shuffle_xor", var("sum", half), Literal(d, "i32"))))
        for half in (0, 1)
        for d in (1, 2)
    ]
    consumer: tuple[Stmt, ...] = (
        *(Declare(b) for b in (s, acc, p)),
        *(Assign(f"{name}_count", ZERO, True) for name in "qkv"),
        *([If(test("eq", v("group"), ONE), (Announce(number(4), 256),))] if turns else []),
        Forever(
            (
                Let("held", q_use),
                Await(q_full, v("held"), q_phase),
                more("q_count"),
                Let("tile", Call("cast", (Load(chosen, v("held"), "i32"),), "i64")),
                Leave(test("lt", v("tile"), ZERO)),
                *place,
                *(Assign(f"top{half}", Literal(-1e30, "f32"), True) for half in (0, 1)),
                *(Assign(f"{name}{half}", Literal(0.0, "f32"), True) for half in (0, 1) for name in ("sum", "factor")),
                Let("k_slot", k_use),
                Await(k_full, v("k_slot"), k_phase),
                more("k_count"),
                *scores(),
                # the tile before has left: its buffer is free
                If(
                    Call("and", (first, test("lt", ONE, v("q_count"))), "bool"),
                    (CopyDrain(0, True), Arrive(q_empty, i64("umod", before, number(2)), "thread")),
                ),
                WarpSync(),
                MmaWait(0, (s,)),
                Arrive(k_empty, v("k_slot"), "warp"),
                *soften(),
                pack(),
                Loop("j", ONE, v("steps"), 1, "serial", step),
                Let("v_slot", v_use),
                Await(v_full, v("v_slot"), v_phase),
                more("v_count"),
                *weigh(test("eq", v("steps"), ONE)),
                *sums,
                *(Let(f"over{half}", f32("recip", var("sum", half))) for half in (0, 1)),
                MmaWait(0, (acc,)),
                Arrive(v_empty, v("v_slot"), "warp"),
                rescale("over"),
                sync,
                *stores,
                ProxyFence(),
                sync,
                If(first, (*sends, CopyCommit())),
                WarpSync(),
            )
        ),
        If(first, (CopyDrain(0, False),)),
    )
    signals = (q_full, q_empty, k_full, k_empty, v_full, v_empty)
    maps, stages = (q_map, k_map, v_map, o_map), (q_stage, k_stage, v_stage)
    launch = Launch(384, tiles, True, stages, signals, maps, (chosen,), 2)
    body: tuple[Stmt, ...] = (
        Let("tall", i64("udiv", v("N"), number(128))),
        Let("steps", i64("udiv", v("N"), number(keys))),
        Let("tiles", tiles),
        Roles((Role("producer", 1, 40, producer, True), Role("consumer", 2, 232, consumer))),
    )
    return Kernel("attention", (q, k, x, o), ("H", "N"), body, launch=launch)


def fragments(major: str = "k", columns: int = 64) -> Kernel:
    """C[M, N] = (2·A) · Bᵀ in f32 from bf16 A [M, K] (or [K, M] if `major` is "mn") and B [N, K]; tiles 64 x `columns`,
    one warp group. A goes through registers: loaded as fragments, doubled, and packed again.
    """
    m, n, k = (Dim(x) for x in "MNK")
    a = Buffer("A", "bf16", "global", m * affine(k), "input")
    b = Buffer("B", "bf16", "global", n * affine(k), "input")
    c = Buffer("C", "f32", "global", m * affine(n), "output")
    a_stage, b_stage = Stage("A", "bf16", 1, 64), Stage("B", "bf16", 1, columns)
    full = Signal("full", 1, 1)
    a_extents = (affine(m), affine(k)) if major == "k" else (affine(k), affine(m))
    a_map = TensorMap("A", a, a_extents, (64, 64))
    b_map = TensorMap("B", b, (affine(n), affine(k)), (columns, 64))
    across = ceil(n, columns)
    tiles = i64("mul", ceil(m, 64), across)
    acc, packed = register("acc", "f32", columns // 2), register("packed", "bf16x2", 16)
    step = form(64 * affine(Dim("t")))
    at = (v("row"), step) if major == "k" else (step, v("row"))
    double = [
        f32("mul", Call("cast", (Lane(Load(packed, v("i"), "bf16x2"), x, "bf16"),), "f32"), Literal(2.0, "f32"))
        for x in (0, 1)
    ]
    parity = i64("umod", v("t"), number(2))
    corners = tuple(_corner(acc, c, h, e) for h in (0, 1) for e in (0, 1))
    body: tuple[Stmt, ...] = (
        Let("row", i64("mul", i64("udiv", v("block"), across), number(64))),
        Let("column", i64("mul", i64("umod", v("block"), across), number(columns))),
        Declare(acc),
        Declare(packed),
        serial(
            "t",
            ceil(k, 64),
            If(
                test("eq", v("thread"), ZERO),
                (
                    Expect(full, ZERO, a_stage.bytes + b_stage.bytes),
                    CopyIn(a_map, a_stage, ZERO, 0, at, full, ZERO),
                    CopyIn(b_map, b_stage, ZERO, 0, (v("column"), step), full, ZERO),
                ),
            ),
            WarpSync(),
            Await(full, ZERO, parity),
            *(LoadTile(packed, 4 * x, a_stage, ZERO, ZERO, x, ZERO, major) for x in range(4)),
            Loop("i", ZERO, number(16), 1, "unrolled", (Store(packed, v("i"), Build(tuple(double), "bf16x2")),)),
            MmaFence(),
            Mma(acc, Packed(packed), Tile(b_stage, ZERO, "k", ZERO), 4, test("eq", v("t"), ZERO)),
            MmaCommit(),
            MmaWait(0, (acc,)),
            Barrier(),
        ),
        Let("lane", i64("umod", v("thread"), number(32))),
        Let(
            "mine",
            i64(
                "add",
                i64("add", v("row"), i64("mul", i64("udiv", v("thread"), number(32)), number(16))),
                i64("udiv", v("lane"), number(4)),
            ),
        ),
        Let(
            "left",
            i64("add", v("column"), i64("mul", i64("umod", v("lane"), number(4)), number(2))),
        ),
        Loop("j", ZERO, number(columns // 8), 1, "unrolled", corners),
    )
    launch = Launch(128, tiles, stages=(a_stage, b_stage), signals=(full,), maps=(a_map, b_map))
    return Kernel("fragments", (a, b, c), ("M", "N", "K"), body, launch=launch)


def _corner(acc: Buffer, c: Buffer, h: int, e: int) -> If:
    """Register 4j + 2h + e of an accumulator goes to its place in C, if that exists."""
    row, column = affine(Dim("mine")) + 8 * h, affine(Dim("left")) + 8 * affine(Dim("j")) + e
    inside = Call("and", (test("lt", form(row), v("M")), test("lt", form(column), v("N"))), "bool")
    place = i64("add", i64("mul", form(row), v("N")), form(column))
    return If(inside, (Store(c, place, Load(acc, form(4 * affine(Dim("j")) + 2 * h + e), "f32")),))


def grid(kernel: Kernel) -> Kernel:
    """An ordinary kernel whose parallel loops run over all threads of the grid."""

    def change(s: Stmt) -> Stmt:
        if isinstance(s, Loop):
            kind = "grid" if s.kind == "parallel" else s.kind
            return replace(s, kind=kind, body=tuple(change(x) for x in s.body))
        if isinstance(s, If):
            return replace(s, then=tuple(map(change, s.then)), otherwise=tuple(map(change, s.otherwise)))
        return s

    return replace(kernel, body=tuple(change(s) for s in kernel.body))


BUILDERS: dict[str, Callable[[], Kernel]] = {
    "gemm": gemm,
    "gemm_b_mn": lambda: gemm(b_major="mn"),
    "gemm_both_mn": lambda: gemm(columns=128, a_major="mn", b_major="mn"),
    "gemm_f16": lambda: gemm("f16", 128),
    "gemm_tf32": lambda: gemm("f32"),
    "attention": attention,
    "attention_plain": lambda: attention(turns=False),
    "attention_64": lambda: attention(size=64),
    "fragments": fragments,
    "fragments_mn": lambda: fragments("mn"),
}
"""Kernels by name."""
