"""The interpreter of launched kernels: right results in any order of what is asynchronous, and errors for races."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tang_egg import ops
from tang_egg.affine import affine
from tang_egg.codegen import device as d
from tang_egg.codegen.device_run import run_device
from tang_egg.codegen.kernel import (
    Assign,
    Barrier,
    Buffer,
    Build,
    Call,
    Declare,
    If,
    Kernel,
    Let,
    Literal,
    Load,
    Loop,
    Select,
    Stmt,
    Store,
    number,
)
from tang_egg.errors import CodegenError
from tests.device_builders import attention, call, changed, first_thread, form, gemm, v

ORDERS = [("early", 0), ("late", 0), ("random", 0), ("random", 1), ("random", 2)]


def bf16(x: np.ndarray) -> np.ndarray:
    return ops.cast_value(x, "bf16", "real").astype(np.float32)


# -- whole kernels ----------------------------------------------------------------------------------------------------


def multiplied(
    kernel: Kernel, sizes: tuple[int, int, int], major: str = "k", order: str = "late", seed: int = 0, blocks: int = 2
) -> tuple[np.ndarray, np.ndarray]:
    """C as the kernel and as NumPy compute it."""
    m, n, k = sizes
    rng = np.random.default_rng(m + n + k)
    a, b = (rng.standard_normal(x).astype(np.float32) for x in ((m, k), (n, k)))
    if kernel.buffers[0].type == "bf16":
        a, b = bf16(a), bf16(b)
    c = np.full(m * n, np.nan, np.float32)
    arrays = {"A": a.ravel(), "B": (b if major == "k" else b.T).ravel().copy(), "C": c}
    run_device(kernel, arrays, {"m": m, "n": n, "k": k}, blocks=blocks, order=order, seed=seed)
    return c.reshape(m, n), a @ b.T


def close(got: np.ndarray, expected: np.ndarray, limit: float = 5e-3) -> bool:
    return bool(np.abs(got - expected).max() <= limit * np.abs(expected).max())


@pytest.mark.parametrize(("order", "seed"), ORDERS)
@pytest.mark.parametrize(
    ("groups", "tn", "major", "type", "sizes"),
    [
        (1, 64, "k", "bf16", (64, 64, 64)),
        (2, 64, "k", "bf16", (200, 136, 328)),
        (2, 128, "mn", "bf16", (136, 264, 200)),
        (1, 32, "k", "f32", (72, 100, 164)),
    ],
)
def test_a_product_is_right_in_any_order(
    groups: int, tn: int, major: str, type: str, sizes: tuple[int, int, int], order: str, seed: int
) -> None:
    got, expected = multiplied(gemm(groups, tn, major, 3, type), sizes, major, order, seed)
    assert close(got, expected)


def attended(kernel: Kernel, heads: int, n: int, order: str = "late", seed: int = 0) -> tuple[np.ndarray, ...]:
    """O and the sums of weights, as the kernel and as NumPy compute them."""
    rng = np.random.default_rng(n)
    q, k, x = (bf16(rng.standard_normal((heads, n, 64)) / s) for s in (4, 1, 1))
    o, sums = np.full(heads * n * 64, np.nan, np.float32), np.full(heads * n, np.nan, np.float32)
    arrays = {"Q": q.ravel(), "K": k.ravel(), "V": x.ravel(), "O": o, "L": sums}
    run_device(kernel, arrays, {"h": heads, "n": n}, blocks=2, order=order, seed=seed)
    scores = q @ k.transpose(0, 2, 1)
    weights = 2.0 ** (scores - scores.max(-1, keepdims=True))
    total = weights.sum(-1)
    return o.reshape(q.shape), weights @ x / total[..., None], sums.reshape(total.shape), total


@pytest.mark.parametrize(("order", "seed"), ORDERS)
@pytest.mark.parametrize(("groups", "heads", "n"), [(1, 1, 64), (2, 3, 150), (2, 1, 7)])
def test_a_streaming_softmax_is_right_in_any_order(groups: int, heads: int, n: int, order: str, seed: int) -> None:
    o, expected, sums, total = attended(attention(groups), heads, n, order, seed)
    assert close(o, expected) and close(sums, total, 1e-4)


def test_a_run_is_the_same_again_given_its_seed() -> None:
    first, second = (multiplied(gemm(), (136, 72, 136), order="random", seed=5)[0] for _ in range(2))
    assert np.array_equal(first, second)


def test_no_tiles_is_no_block() -> None:
    c = np.full(0, np.nan, np.float32)
    run_device(gemm(), {"A": c, "B": c, "C": c}, {"m": 0, "n": 8, "k": 8})


# -- seeded faults ----------------------------------------------------------------------------------------------------


def drop(kind: type, keep: Callable[[Stmt], bool] = lambda s: False) -> Callable[[Stmt], Stmt | tuple[Stmt, ...]]:
    return lambda s: () if isinstance(s, kind) and not keep(s) else s


def on(kind: type, make: Callable[..., Stmt | tuple[Stmt, ...]]) -> Callable[[Stmt], Stmt | tuple[Stmt, ...]]:
    return lambda s: make(s) if isinstance(s, kind) else s


def _flipped(name: str) -> Callable[[Stmt], Stmt | tuple[Stmt, ...]]:
    def flip(s: d.Await) -> Stmt:
        return (
            replace(s, parity=call("umod", call("add", s.parity, number(1)), number(2))) if s.signal.name == name else s
        )

    return on(d.Await, flip)


FAULTS: dict[str, tuple[Callable[[Stmt], Stmt | tuple[Stmt, ...]], str]] = {
    "stage freed before the wait": (drop(d.MmaWait, lambda s: s.pending == 0), "CopyIn writes .* still reads"),
    "too many bytes expected": (on(d.Expect, lambda s: replace(s, bytes=s.bytes + 128)), "nobody can proceed"),
    "too few bytes expected": (on(d.Expect, lambda s: replace(s, bytes=s.bytes // 2)), "still copies|nobody"),
    "no bytes expected": (drop(d.Expect), "nobody can proceed.*consumer 0 waits for parity 0 of 'full' slot 0"),
    "parity of the consumer": (_flipped("full"), "into which .* still copies"),
    "parity of the producer": (_flipped("empty"), "nobody can proceed"),
    "no arrival at empty": (drop(d.Arrive), "nobody can proceed"),
    "arrivals twice": (on(d.Arrive, lambda s: (s, s)), "nobody can proceed"),
    "arrivals of all threads": (on(d.Arrive, lambda s: replace(s, who="thread")), "arrivals too many"),
    "no drain": (drop(d.CopyDrain), "StoreTile writes .* still reads"),
    "no commit of the copy": (drop(d.CopyCommit), "StoreTile writes .* still reads"),
    "no fence of registers": (drop(d.MmaFence), "since the last MmaFence"),
    "no commit": (drop(d.MmaCommit), "CopyIn writes .* still reads"),
    "no pin": (on(d.MmaWait, lambda s: replace(s, pins=())), "no MmaWait pins it"),
    "no proxy fence": (drop(d.ProxyFence), "without a ProxyFence"),
    "no meeting after the fence": (drop(d.Sync), "without a Sync or Arrive"),
    "a meeting of too many": (on(d.Sync, lambda s: replace(s, threads=256)), "nobody can proceed.*barrier 1"),
    "accumulator never fresh": (on(d.Mma, lambda s: replace(s, fresh=Literal(False, "bool"))), "wrong"),
    "accumulator always fresh": (on(d.Mma, lambda s: replace(s, fresh=Literal(True, "bool"))), "wrong"),
    "operands swapped": (on(d.Mma, lambda s: replace(s, a=replace(s.b), b=replace(s.a, first=number(0)))), "wrong"),
    "registers permuted": (
        on(d.StoreTile, lambda s: replace(s, values=(s.values[0], s.values[2], s.values[1], s.values[3]))),
        "wrong",
    ),
    "one step too few": (on(d.Mma, lambda s: replace(s, steps=s.steps - 1)), "wrong"),
    "a slot beyond the ring": (on(d.Await, lambda s: replace(s, slot=number(3))), "slot 3 of"),
    "a copy by all threads": (on(If, lambda s: s.then if _copies(s) else s), "issued by 128 threads"),
    "store by some threads": (on(d.StoreTile, lambda s: first_thread(s)), "by some threads of a warp group"),
}


def _copies(s: If) -> bool:
    return any(isinstance(x, d.CopyOut) for x in s.then)


@pytest.mark.parametrize("order", ["late", "random"])
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_shows(name: str, order: str) -> None:
    change, message = FAULTS[name]
    kernel = changed(gemm(), change)
    assert kernel != gemm()
    if message == "wrong":
        got, expected = multiplied(kernel, (256, 64, 328), order=order)
        assert not close(got, expected)
    elif order == "late":
        with pytest.raises(CodegenError, match=message) as caught:
            multiplied(kernel, (256, 64, 328), blocks=1)
        assert caught.value.where and caught.value.mend
    else:
        try:
            got, expected = multiplied(kernel, (256, 64, 328), order=order, blocks=1)
        except CodegenError:
            return
        assert not close(got, expected)


def _after_packed(extra: Callable[[d.Mma], Stmt]) -> Callable[[Stmt], Stmt | tuple[Stmt, ...]]:
    return on(d.Mma, lambda s: (s, extra(s)) if isinstance(s.a, d.Packed) else s)


PAIR = Build((Literal(0.0, "f32"), Literal(0.0, "f32")), "bf16x2")
EARLY = d.Leave(call("lt", v("thread"), number(5), type="bool"))

STREAM_FAULTS = {
    "operand packed while a product reads it": (
        _after_packed(lambda s: Store(s.a.buffer, number(0), PAIR)),
        "'p' is stored to while a product reads it",
    ),
    "accumulator read while a product is under way": (
        _after_packed(lambda s: Let("early", Load(s.acc, number(0), "f32"))),
        "a statement loads 'o' while a product",
    ),
    "counters never retired": (drop(d.Retire), "counters are left at"),
    "some threads of a softmax leave": (on(d.MmaFence, lambda s: (EARLY, s)), "differ in the condition of a Leave"),
    "results copied before they are stored": (drop(d.StoreTile), "wrong"),
    "tile number never given": (drop(Store, lambda s: s.buffer.name != "given"), "wrong"),
}


@pytest.mark.parametrize("name", STREAM_FAULTS)
def test_a_fault_of_the_softmax_shows(name: str) -> None:
    change, message = STREAM_FAULTS[name]
    kernel = changed(attention(), change)
    assert kernel != attention()
    if message == "wrong":
        try:
            o, expected, _, _ = attended(kernel, 2, 150)
        except CodegenError:
            return
        assert not close(o, expected)
        return
    with pytest.raises(CodegenError, match=message):
        attended(kernel, 2, 150)


# -- single statements ------------------------------------------------------------------------------------------------

OUT = Buffer("out", "f32", "global", affine(256), "output")
X = Buffer("x", "f32", "register", affine(4))
NOTE = Buffer("note", "i32", "shared", affine(4))


def small(*body: Stmt, threads: int = 128, tiles: int = 1, **launch: object) -> Kernel:
    return Kernel("small", (OUT,), (), body, launch=d.Launch(threads, number(tiles), **launch))  # type: ignore[arg-type]


def ran(kernel: Kernel, order: str = "late") -> np.ndarray:
    out = np.full(256, -1.0, np.float32)
    run_device(kernel, {"out": out}, {}, order=order)
    return out


def real(x: object) -> Call:
    return Call("cast", (x,), "f32")  # type: ignore[arg-type]


def test_branches_take_the_threads_that_they_hold_for() -> None:
    low, one = call("lt", v("thread"), number(10), type="bool"), call("eq", v("thread"), number(99), type="bool")
    high = (Assign("n", number(3)), If(one, (Assign("n", number(4)),)))
    choose = If(low, (Assign("n", number(2)),), high)
    out = ran(small(Assign("n", number(1), True), choose, Store(OUT, v("thread"), real(v("n")))))
    expected = np.where(np.arange(128) < 10, 2, np.where(np.arange(128) == 99, 4, 3))
    assert np.array_equal(out[:128], expected) and (out[128:] == -1).all()


def test_registers_vectors_and_exchanges() -> None:
    vote = Call("any_warp", (call("eq", v("thread"), number(40), type="bool"),), "bool")
    second = Select(v("any", "bool"), Literal(1.0, "f32"), Literal(0.0, "f32"), "f32")
    rows = Store(X, v("i"), real(call("mul", v("thread"), v("i"))))
    out = ran(
        small(
            Declare(X),
            Loop("i", number(0), number(4), 1, "serial", (rows,)),
            Store(X, call("umod", v("thread"), number(4)), Literal(0.5, "f32")),
            Let("s", Call("shuffle_xor", (Load(X, number(1), "f32"), number(1)), "f32")),
            Let("any", vote),
            Let("pair", Build((v("s", "f32"), second), "f32x2")),
            Store(OUT, call("mul", v("thread"), number(2)), v("pair", "f32x2")),
        )
    )
    t = np.arange(128)
    one = np.where(t % 4 == 1, 0.5, t).astype(np.float32)
    assert np.array_equal(out[0::2], one[t ^ 1])
    assert np.array_equal(out[1::2], (t // 32 == 1).astype(np.float32))


def test_the_largest_number_of_each_warp() -> None:
    most = Call("max_warp", (Call("cast", (call("mul", v("thread"), number(-3)),), "i32"),), "i32")
    out = ran(small(Let("most", most), Store(OUT, v("thread"), Call("cast", (v("most", "i32"),), "f32"))))
    assert np.array_equal(out[:128], -3.0 * (np.arange(128) // 32 * 32))
    apart = If(call("lt", v("thread"), number(10), type="bool"), (Let("most", most),))
    with pytest.raises(CodegenError, match="not all of its threads take part in"):
        ran(small(apart))


def _turns(first: int) -> Kernel:
    """Two warp groups add to a list in turns: they meet at barriers 1 and 2, `first` begins."""
    at, mine = Load(NOTE, number(0), "i32"), call("add", v("group"), number(1))
    other = call("add", call("neg", v("group")), number(2))
    place = Call("cast", (at,), "i64")
    turn = (
        d.Sync(mine, 256),
        first_thread(
            Store(OUT, place, real(v("group"))),
            Store(NOTE, number(0), Call("cast", (call("add", place, number(1)),), "i32")),
        ),
        d.Announce(other, 256),
    )
    begin = call("eq", v("group"), number(1 - first), type="bool")
    body = (
        If(begin, (Store(NOTE, number(0), Literal(0, "i32")), d.Announce(number(first + 1), 256))),
        Loop("i", number(0), number(3), 1, "serial", turn),
    )
    return small(d.Roles((d.Role("taker", 2, 64, body),)), threads=256, shared=(NOTE,))


@pytest.mark.parametrize("order", ["late", "random"])
@pytest.mark.parametrize("first", [0, 1])
def test_warp_groups_take_turns_at_named_barriers(first: int, order: str) -> None:
    assert ran(_turns(first), order)[:7].tolist() == [first, 1 - first] * 3 + [-1]


def test_all_threads_meet_at_a_barrier() -> None:
    here = If(call("eq", v("group"), number(1), type="bool"), (Store(NOTE, number(2), Literal(7, "i32")),))
    out = ran(
        small(here, Barrier(), Store(OUT, number(0), real(Load(NOTE, number(2), "i32"))), threads=256, shared=(NOTE,))
    )
    assert out[0] == 7


SMALL_FAULTS = {
    "element 300 of 'out', which has 256": small(Store(OUT, number(300), Literal(1.0, "f32"))),
    "element 4 of 'x', which has 4": small(Declare(X), Store(X, form("thread"), Literal(1.0, "f32"))),
    "threads store different values to one element": small(Store(OUT, number(0), real(v("thread")))),
    "differ in the bounds of the loop over 'i'": small(Loop("i", number(0), v("thread"), 1, "serial", ())),
    "a Leave that only some threads": small(d.Forever((first_thread(d.Leave(Literal(True, "bool"))),))),
    "Ticket issued by 128 threads": small(d.Ticket("t", 0), counters=2),
    "barrier 16": small(d.Sync(number(16), 128)),
    "Sync by some threads": small(first_thread(d.Sync(number(1), 128))),
    "a shuffle that not all": small(
        first_thread(Let("s", Call("shuffle_xor", (Literal(1.0, "f32"), number(1)), "f32")))
    ),
    "'note' has no memory here": small(Store(NOTE, number(0), Literal(1, "i32"))),
}


@pytest.mark.parametrize("message", SMALL_FAULTS)
def test_what_has_no_meaning_is_refused(message: str) -> None:
    with pytest.raises(CodegenError, match=message):
        ran(SMALL_FAULTS[message])


def test_only_launched_kernels_in_known_orders() -> None:
    with pytest.raises(CodegenError, match="no launch"):
        run_device(replace(small(), launch=None), {}, {})
    with pytest.raises(CodegenError, match="unknown order 'soon'"):
        run_device(small(), {}, {}, order="soon")
