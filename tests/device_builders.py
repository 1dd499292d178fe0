"""Launched kernels built by hand: a product of matrices, and a streaming softmax over two products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tang_egg.affine import Affine, Dim, affine
from tang_egg.codegen import device as d
from tang_egg.codegen.kernel import (
    Assign,
    Buffer,
    Build,
    Call,
    Declare,
    Expr,
    Form,
    If,
    Kernel,
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

M, N, K, D, H = (Dim(x) for x in "mnkdh")


def v(name: str, type: str = "i64") -> Var:
    return Var(name, type)


def form(*parts: Affine | int | str) -> Form:
    """The sum of affine forms, integers and variables."""
    return Form(sum((affine(Dim(p)) if isinstance(p, str) else affine(p) for p in parts), affine(0)))


def call(op: str, *args: Expr, type: str = "i64") -> Call:
    return Call(op, args, type)


def ceil(x: Affine | Dim, n: int) -> Expr:
    return call("udiv", Form(affine(x) + (n - 1)), number(n))


def f32(op: str, *args: Expr) -> Call:
    return Call(op, args, "f32")


def one(x: float) -> Literal:
    return Literal(x, "f32")


def at(buffer: Buffer, n: int) -> Load:
    return Load(buffer, number(n), buffer.type)


def minus(a: Expr, b: Expr) -> Expr:
    return f32("add", a, f32("neg", b))


def first_thread(*body: Stmt) -> If:
    return If(call("eq", v("thread"), number(0), type="bool"), body)


def rewritten(body: tuple[Stmt, ...], change: Callable[[Stmt], Stmt | tuple[Stmt, ...]]) -> tuple[Stmt, ...]:
    """The body with every statement replaced by what `change` gives for it, inner ones first."""
    done: list[Stmt] = []
    for s in body:
        if isinstance(s, (Loop, d.Forever)):
            s = replace(s, body=rewritten(s.body, change))
        elif isinstance(s, If):
            s = replace(s, then=rewritten(s.then, change), otherwise=rewritten(s.otherwise, change))
        elif isinstance(s, d.Roles):
            s = d.Roles(tuple(replace(r, body=rewritten(r.body, change)) for r in s.roles))
        new = change(s)
        done.extend(new if isinstance(new, tuple) else (new,))
    return tuple(done)


def changed(kernel: Kernel, change: Callable[[Stmt], Stmt | tuple[Stmt, ...]]) -> Kernel:
    return replace(kernel, body=rewritten(kernel.body, change))


def ring(n: str, depth: int, parity: int = 0) -> tuple[Expr, Expr]:
    """The slot and the parity of the n-th use of a ring."""
    turn = call("umod", call("udiv", v(n), number(depth)), number(2))
    return call("umod", v(n), number(depth)), call("umod", call("add", turn, number(parity)), number(2))


def up(n: str) -> Assign:
    return Assign(n, form(n, 1))


def pairs(acc: Buffer, chunk: int, scale: tuple[Expr, Expr] | None = None, type: str = "bf16") -> tuple[Expr, ...]:
    """Four pairs of columns 16 · chunk and on of an accumulator; `scale`: factors of the two rows."""
    found = []
    for k in (0, 1):
        for h in (0, 1):
            both = [at(acc, 4 * (2 * chunk + k) + 2 * h + e) for e in (0, 1)]
            found.append(Build(tuple(f32("mul", x, scale[h]) if scale else x for x in both), f"{type}x2"))
    return tuple(found)


def write_out(
    acc: Buffer, stage: d.Stage, slot: Expr, columns: int, scale: tuple[Expr, Expr] | None = None
) -> list[Stmt]:
    """Stores an accumulator into the group's 64 lines of a tile of 16-bit elements."""
    line = Form(affine(Dim("group")) * 64)
    return [
        d.StoreTile(stage, slot, number(c // 4), c % 4, line, pairs(acc, c, scale))  # type: ignore[arg-type]
        for c in range(columns // 16)
    ]


def gemm(groups: int = 2, tn: int = 64, major: str = "k", depth: int = 3, type: str = "bf16") -> Kernel:
    """C (m x n) = A (m x k) · B; B is n x k (major "k") or k x n ("mn"). bf16 gives bf16; f32 multiplies as tf32."""
    width, wide = (64, False) if type == "bf16" else (32, True)
    rows = 64 * groups
    a = Buffer("A", type, "global", affine(M) * K, "input")
    b = Buffer("B", type, "global", affine(N) * K, "input")
    c = Buffer("C", type, "global", affine(M) * N, "output")
    sa = d.Stage("sa", type, 1, rows, depth)
    sb = d.Stage("sb", type, 1, tn, depth) if major == "k" else d.Stage("sb", type, tn // 64, 64, depth)
    sc = d.Stage("sc", type, tn // width, rows)
    full, empty = d.Signal("full", depth, 1), d.Signal("empty", depth, 4 * groups)
    ma = d.TensorMap("ma", a, (affine(M), affine(K)), (rows, width), wide)
    mb = d.TensorMap(
        "mb", b, *(((affine(N), affine(K)), (tn, width)) if major == "k" else ((affine(K), affine(N)), (64, 64))), wide
    )
    mc = d.TensorMap("mc", c, (affine(M), affine(N)), (64, width))
    acc = Buffer("acc", "f32", "register", affine(tn // 2))
    tiles = call("mul", ceil(M, rows), ceil(N, tn))
    place: list[Stmt] = [
        d.Leave(call("le", tiles, v("tile"), type="bool")),
        Let("row", call("mul", call("udiv", v("tile"), ceil(N, tn)), number(rows))),
        Let("column", call("mul", call("umod", v("tile"), ceil(N, tn)), number(tn))),
    ]
    head: list[Stmt] = [Assign("tile", v("block"), True), Assign("used", number(0), True)]
    tail: list[Stmt] = [Assign("tile", form("tile", "blocks"))]
    slot, parity = ring("used", depth)
    slot, waiting = ring("used", depth, 1)
    k0, row, column = Form(affine(Dim("step")) * width), v("row"), v("column")
    if major == "k":
        loads: list[Stmt] = [d.CopyIn(mb, sb, slot, 0, (column, k0), full, slot)]
    else:
        loads = [d.CopyIn(mb, sb, slot, x, (k0, form("column", 64 * x)), full, slot) for x in range(tn // 64)]
    steps = ceil(K, width)
    produce = Loop(
        "step", number(0), steps, 1, "serial",
        (
            d.Await(empty, slot, waiting),
            d.Expect(full, slot, sa.bytes + sb.bytes),
            d.CopyIn(ma, sa, slot, 0, (row, k0), full, slot),
            *loads,
            up("used"),
        ),
    )  # fmt: skip
    mine = Form(affine(Dim("group")) * 64)
    previous = call("umod", form("used", -1), number(depth))
    first = call("eq", v("step"), number(0), type="bool")
    consume = Loop(
        "step", number(0), steps, 1, "serial",
        (
            d.Await(full, slot, parity),
            d.MmaFence(),
            d.Mma(acc, d.Tile(sa, slot, "k", mine), d.Tile(sb, slot, major, number(0)), 4, first),
            d.MmaCommit(),
            d.MmaWait(1),
            If(call("lt", number(0), v("step"), type="bool"), (d.Arrive(empty, previous, "warp"),)),
            up("used"),
        ),
    )  # fmt: skip
    barrier = d.Sync(form("group", 1), 128)
    if wide:
        stored: list[Stmt] = [
            d.StoreTile(sc, number(0), number(x // 4), x % 4, mine, tuple(at(acc, 4 * x + i) for i in range(4)))  # type: ignore[arg-type]
            for x in range(tn // 8)
        ]
    else:
        stored = write_out(acc, sc, number(0), tn)
    out = [
        d.CopyOut(
            mc,
            sc,
            number(0),
            x,
            mine,
            (Form(affine(Dim("row")) + affine(Dim("group")) * 64), form("column", width * x)),
        )
        for x in range(tn // width)
    ]
    finish: list[Stmt] = [
        d.MmaWait(0, (acc,)),
        d.Arrive(empty, previous, "warp"),
        first_thread(d.CopyDrain(0, True)),
        barrier,
        *stored,
        d.ProxyFence(),
        barrier,
        first_thread(*out, d.CopyCommit()),
    ]
    roles = d.Roles(
        (
            d.Role("producer", 1, 40, (*head, d.Forever((*place, produce, *tail))), True),
            d.Role(
                "consumer", groups, 232,
                (*head, Declare(acc), d.Forever((*place, consume, *finish, *tail)), first_thread(d.CopyDrain(0, True))),
            ),
        )
    )  # fmt: skip
    launch = d.Launch(128 * (groups + 1), tiles, True, (sa, sb, sc), (full, empty), (ma, mb, mc))
    return Kernel("gemm", (a, b, c), ("m", "n", "k"), (roles,), launch=launch)


def _softmax(s: Buffer, keys: int) -> list[Stmt]:
    """Scores to weights in place; m0, m1, l0, l1 and the factors a0, a1 are of the thread's two rows."""
    body: list[Stmt] = []
    for h in (0, 1):
        mine = [at(s, 4 * j + 2 * h + e) for j in range(keys // 8) for e in (0, 1)]
        top: Expr = v(f"m{h}", "f32")
        body.append(Assign(f"t{h}", top, True))
        body += [Assign(f"t{h}", f32("fast_max", v(f"t{h}", "f32"), x)) for x in mine]
        for step in (1, 2):
            other = f32("shuffle_xor", v(f"t{h}", "f32"), number(step))
            body.append(Assign(f"t{h}", f32("fast_max", v(f"t{h}", "f32"), other)))
        new = v(f"t{h}", "f32")
        body += [Assign(f"a{h}", f32("exp2", minus(top, new)), True), Assign(f"m{h}", new)]
        body.append(Assign(f"l{h}", f32("mul", v(f"l{h}", "f32"), v(f"a{h}", "f32"))))
        for j in range(keys // 8):
            for e in (0, 1):
                n = 4 * j + 2 * h + e
                body.append(Store(s, number(n), f32("exp2", f32("fma", at(s, n), one(1.0), f32("neg", new)))))
                body.append(Assign(f"l{h}", f32("add", v(f"l{h}", "f32"), at(s, n))))
    return body


def _masked(s: Buffer, keys: int) -> list[Stmt]:
    """Scores of keys beyond n become -inf."""
    body: list[Stmt] = [
        Let("first", call("add", v("key"), call("mul", call("umod", v("thread"), number(4)), number(2))))
    ]
    for r in range(keys // 2):
        beyond = call("le", form(N), form("first", 8 * (r // 4) + r % 2), type="bool")
        body.append(Store(s, number(r), Select(beyond, one(float("-inf")), at(s, r), "f32")))
    return body


def attention(groups: int = 2, keys: int = 64) -> Kernel:
    """O = softmax2(Q Kᵀ) V for h matrices of n x 64: weights are powers of two. Tiles are given out by tickets."""
    rows, depth = 64 * groups, 2
    size = affine(H) * N * 64
    q, k, value = (Buffer(x, "bf16", "global", size, "input") for x in "QKV")
    o = Buffer("O", "bf16", "global", size, "output")
    total = Buffer("L", "f32", "global", affine(H) * N, "output")
    sq = d.Stage("sq", "bf16", 1, rows)
    sk, sv = d.Stage("sk", "bf16", 1, keys, depth), d.Stage("sv", "bf16", 1, keys, depth)
    extents = (affine(H), affine(N), affine(64))
    mq, mo = d.TensorMap("mq", q, extents, (1, rows, 64)), d.TensorMap("mo", o, extents, (1, 64, 64))
    mk, mv = d.TensorMap("mk", k, extents, (1, keys, 64)), d.TensorMap("mv", value, extents, (1, keys, 64))
    kfull, kempty = d.Signal("kfull", depth, 1), d.Signal("kempty", depth, 4 * groups)
    vfull, vempty = d.Signal("vfull", depth, 1), d.Signal("vempty", depth, 4 * groups)
    qfull, qempty = d.Signal("qfull", 1, 1), d.Signal("qempty", 1, groups)
    given = Buffer("given", "i32", "shared", affine(1))
    s = Buffer("s", "f32", "register", affine(keys // 2))
    out = Buffer("o", "f32", "register", affine(32))
    p = Buffer("p", "bf16x2", "register", affine(keys // 4))
    parts = ceil(N, rows)
    tiles = call("mul", parts, Form(affine(H)))
    place: list[Stmt] = [
        Let("head", call("udiv", v("tile"), parts)),
        Let("row", call("mul", call("umod", v("tile"), parts), number(rows))),
    ]
    zero = number(0)
    wait_q = ring("qn", 1, 1)[1]
    kslot, kwait = ring("used", depth, 1)
    key = Form(affine(Dim("step")) * keys)

    def load(map: d.TensorMap, stage: d.Stage, full: d.Signal, empty: d.Signal) -> tuple[Stmt, ...]:
        return (
            d.Await(empty, kslot, kwait),
            d.Expect(full, kslot, stage.bytes),
            d.CopyIn(map, stage, kslot, 0, (v("head"), key, zero), full, kslot),
        )

    blocks_of_keys = ceil(N, keys)
    producer: tuple[Stmt, ...] = (
        Assign("tile", v("block"), True), Assign("used", zero, True), Assign("qn", zero, True),
        d.Forever((
            d.Ticket("next", 0),
            d.Await(qempty, zero, wait_q),
            up("qn"),
            If(call("le", tiles, v("tile"), type="bool"), (
                Store(given, zero, Literal(-1, "i32")),
                d.Arrive(qfull, zero, "thread"),
            )),
            d.Leave(call("le", tiles, v("tile"), type="bool")),
            *place,
            Store(given, zero, Call("cast", (v("tile"),), "i32")),
            d.Expect(qfull, zero, sq.bytes),
            d.CopyIn(mq, sq, zero, 0, (v("head"), v("row"), zero), qfull, zero),
            Loop("step", zero, blocks_of_keys, 1, "serial",
                 (*load(mk, sk, kfull, kempty), *load(mv, sv, vfull, vempty), up("used"))),
            Assign("tile", v("next")),
        )),
        d.Retire(0),
    )  # fmt: skip
    mine = Form(affine(Dim("group")) * 64)
    slot, parity = ring("used", depth)
    rescaled = [Store(out, number(r), f32("mul", at(out, r), v(f"a{r // 2 % 2}", "f32"))) for r in range(32)]
    packing: list[Stmt] = [Store(p, number(4 * c + i), x) for c in range(keys // 16) for i, x in enumerate(pairs(s, c))]
    stream = Loop(
        "step", zero, blocks_of_keys, 1, "serial",
        (
            d.Await(kfull, slot, parity),
            d.MmaFence(),
            d.Mma(s, d.Tile(sq, zero, "k", mine), d.Tile(sk, slot, "k", zero), 4, Literal(True, "bool")),
            d.MmaCommit(),
            d.MmaWait(0, (s,)),
            d.Arrive(kempty, slot, "warp"),
            Let("key", key),
            *_masked(s, keys),
            *_softmax(s, keys),
            If(call("lt", zero, v("step"), type="bool"), tuple(rescaled)),
            *packing,
            d.Await(vfull, slot, parity),
            d.MmaFence(),
            d.Mma(out, d.Packed(p), d.Tile(sv, slot, "mn", zero), keys // 16, call("eq", v("step"), zero, type="bool")),
            d.MmaCommit(),
            d.MmaWait(0, (out,)),
            d.Arrive(vempty, slot, "warp"),
            up("used"),
        ),
    )  # fmt: skip
    barrier = d.Sync(form("group", 1), 128)
    finish: list[Stmt] = []
    for h in (0, 1):
        for step in (1, 2):
            finish.append(
                Assign(f"l{h}", f32("add", v(f"l{h}", "f32"), f32("shuffle_xor", v(f"l{h}", "f32"), number(step))))
            )
        finish.append(Let(f"i{h}", f32("fast_recip", v(f"l{h}", "f32"))))
    line = Form(affine(Dim("row")) + affine(Dim("group")) * 64)
    low = call("udiv", v("thread"), number(32)), call("udiv", call("umod", v("thread"), number(32)), number(4))
    finish.append(Let("mine", call("add", line, call("add", call("mul", low[0], number(16)), low[1]))))
    for h in (0, 1):
        here = form("mine", 8 * h)
        whole = call("eq", call("umod", v("thread"), number(4)), zero, type="bool")
        inside = call("and", whole, call("lt", here, form(N), type="bool"), type="bool")
        place_of = call("add", call("mul", v("head"), form(N)), here)
        finish.append(If(inside, (Store(total, place_of, v(f"l{h}", "f32")),)))
    fresh_state: list[Stmt] = [Assign(x, one(-1e30 if x[0] == "m" else 0.0), True) for x in ("m0", "m1", "l0", "l1")]
    consumer: tuple[Stmt, ...] = (
        Assign("used", zero, True), Assign("qn", zero, True), Declare(s), Declare(out), Declare(p),
        d.Forever((
            d.Await(qfull, zero, ring("qn", 1)[1]),
            up("qn"),
            Let("tile", Call("cast", (Load(given, zero, "i32"),), "i64")),
            d.Leave(call("lt", v("tile"), zero, type="bool")),
            *place,
            *fresh_state,
            stream,
            *finish,
            barrier,
            *write_out(out, sq, zero, 64, (v("i0", "f32"), v("i1", "f32"))),
            d.ProxyFence(),
            barrier,
            first_thread(
                d.CopyOut(mo, sq, zero, 0, mine, (v("head"), line, zero)),
                d.CopyCommit(),
                d.CopyDrain(0, True),
                d.Arrive(qempty, zero, "thread"),
            ),
            d.WarpSync(),
        )),
    )  # fmt: skip
    roles = d.Roles((d.Role("producer", 1, 40, producer, True), d.Role("consumer", groups, 232, consumer)))
    launch = d.Launch(
        128 * (groups + 1), tiles, True, (sq, sk, sv), (kfull, kempty, vfull, vempty, qfull, qempty),
        (mq, mk, mv, mo), (given,), 2,
    )  # fmt: skip
    return Kernel("attention", (q, k, value, o, total), ("h", "n"), (roles,), launch=launch)
