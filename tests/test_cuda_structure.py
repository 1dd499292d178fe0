"""What CUDA kernels of whole programs consist of, whatever they look like: passes, products, copies, buffers."""

from __future__ import annotations

from collections import Counter
from math import prod

import pytest

from tang_egg.codegen.device import CopyIn, CopyOut, Mma, Role, Roles, Stage
from tang_egg.codegen.dialects.cuda_device import Product, product
from tang_egg.codegen.kernel import (
    Declare,
    Kernel,
    Load,
    Loop,
    Stmt,
    Store,
    expressions,
    number,
    statements,
    subexpressions,
)
from tang_egg.ir import Source, Tensor
from tests.cuda_programs import ATTENTION, CLASSES, PROGRAMS, TOKENS, attention, built


def kernels(name: str) -> list[Kernel]:
    return [b.kernel for b in built(PROGRAMS[name])]


def only(name: str) -> Kernel:
    (kernel,) = kernels(name)
    return kernel


def role(kernel: Kernel, name: str) -> Role:
    (found,) = (r for s in kernel.body if isinstance(s, Roles) for r in s.roles if r.name == name)
    return found


def stages(kernel: Kernel) -> tuple[Stage, ...]:
    assert kernel.launch is not None
    return kernel.launch.stages


def serial(body: tuple[Stmt, ...]) -> list[Loop]:
    """Serial loops without serial loops inside: the innermost walks."""
    loops = [s for s in statements(body) if isinstance(s, Loop) and s.kind == "serial"]
    return [x for x in loops if not any(isinstance(s, Loop) and s.kind == "serial" for s in statements(x.body))]


def products(body: tuple[Stmt, ...]) -> Counter[Product]:
    """How many matrix instructions of each shape a body issues."""
    found: Counter[Product] = Counter()
    for s in statements(body):
        if isinstance(s, Mma):
            found[product(s)] += s.steps
    return found


def copied(body: tuple[Stmt, ...]) -> Counter[str]:
    """The buffers that bulk copies bring in."""
    return Counter(s.map.buffer.name for s in statements(body) if isinstance(s, CopyIn))


def loaded(kernel: Kernel) -> set[str]:
    """The buffers that threads read element by element."""
    inside = (x for s in statements(kernel.body) for e in expressions(s) for x in subexpressions(e))
    return {x.buffer.name for x in inside if isinstance(x, Load) and x.buffer.space == "global"}


def written(kernel: Kernel) -> set[str]:
    """The buffers in global memory that are written, in either way."""
    found = {s.buffer.name for s in statements(kernel.body) if isinstance(s, Store) and s.buffer.space == "global"}
    return found | {s.map.buffer.name for s in statements(kernel.body) if isinstance(s, CopyOut)}


def keys(kernel: Kernel) -> int:
    """Keys of one tile of attention's stream."""
    return next(s.map.box[-2] for s in statements(kernel.body) if isinstance(s, CopyIn) and s.map.buffer.name == "K")


def elements(t: Source) -> int:
    return prod(n.value or 0 for n in t.shape)


def temporaries(name: str) -> list[Tensor]:
    """What kernels of a program write for one another."""
    outputs = [t for b in built(PROGRAMS[name]) for t in b.plan.outputs]
    return [t for t in outputs if t.name not in {x.name for x in PROGRAMS[name].graph().outputs}]


# attention


@pytest.mark.parametrize("name", ATTENTION)
def test_attention_is_one_kernel_that_stores_its_output_only(name: str) -> None:
    kernel = only(name)
    assert written(kernel) == {"O"} and not kernel.scratch
    held = [s.buffer for s in statements(kernel.body) if isinstance(s, Declare)]
    widest = max(keys(kernel), PROGRAMS[name].graph().inputs[0].shape[-1].value or 0)
    assert max(b.size.value or 0 for b in held) <= 64 * widest // 128, "a thread's part of a tile of 64 rows"


@pytest.mark.parametrize("name", ATTENTION)
def test_each_tile_of_keys_is_multiplied_twice_in_one_walk(name: str) -> None:
    """For its scores and for what they weigh; of one tile the first stands before all walks, the second after them.

    Where a mask matters at both ends of a row's keys, the walk has a part for either end and one between.
    """
    kernel = only(name)
    d = PROGRAMS[name].graph().inputs[0].shape[-1].value or 0
    once = {"k": d // 16, "r": keys(kernel) // 16}
    (copies,) = serial(role(kernel, "producer").body)
    assert set(copied(copies.body)) == {"K", "V"}
    walks = [products(w.body) for w in serial(role(kernel, "consumer").body)]
    assert len(walks) == (3 if name == "attention_window" else 1)
    for found in (*walks, products(kernel.body) - sum(walks, Counter())):
        assert {p.a: n for p, n in found.items()} == once


OTHERS = {
    **{name: ATTENTION[name] for name in ("attention_window", "attention_soft_cap", "attention_padded")},
    "attention_causal": attention(1024, 128, causal=True),
}


@pytest.mark.parametrize("name", OTHERS)
def test_masks_and_caps_change_the_work_on_scores_alone(name: str) -> None:
    """Same tiles in shared memory, same copies in the same order, same shapes of products; only a mask is read."""
    plain, other = only("attention"), built(OTHERS[name])[0].kernel
    assert stages(other) == stages(plain)
    assert [*copied(other.body).items()] == [*copied(plain.body).items()]
    assert set(products(other.body)) == set(products(plain.body))
    assert loaded(other) == ({"live"} if name == "attention_padded" else set())


def test_few_queries_share_the_keys_among_blocks() -> None:
    shares, last = built(PROGRAMS["attention_decode"])
    assert products(shares.kernel.body) and not products(last.kernel.body)
    assert written(last.kernel) == {"O"}
    assert loaded(last.kernel) == written(shares.kernel), "the second kernel reads neither keys nor values"
    (cache,) = (s for s in shares.sources if s.name == "K")
    assert all(elements(t) * 100 < elements(cache) for t in shares.plan.outputs)


# products


def test_products_of_f32_are_exact_unless_asked() -> None:
    assert not products(only("matmul_f32").body)
    rounded = only("matmul_tf32")
    assert rounded.launch is not None
    assert {p.type for p in products(rounded.body)} == {"tf32"}
    assert {m.buffer.name for m in rounded.launch.maps if m.rounds} == {"A", "B"}


def test_an_epilogue_adds_one_read_to_a_product() -> None:
    plain, fused = only("matmul"), only("gemm_bias_gelu")
    assert products(fused.body) == products(plain.body)
    assert sorted(copied(fused.body).values()) == sorted(copied(plain.body).values())
    assert (loaded(plain), loaded(fused)) == (set(), {"b"})
    assert written(fused) == {"Y"}


def test_two_products_share_their_left_side() -> None:
    kernel = only("swiglu")
    assert copied(kernel.body)["X"] == 1
    (walk,) = (w for w in serial(role(kernel, "consumer").body) if products(w.body))
    tiles = {s.a.stage.name for s in statements(walk.body) if isinstance(s, Mma) and not hasattr(s.a, "buffer")}
    assert len(tiles) == 1 and sum(isinstance(s, Mma) for s in statements(walk.body)) == 2
    assert written(kernel) == {"H"}


def test_a_norm_before_a_product_is_one_kernel() -> None:
    """The sum of squares is folded from the tiles that the product reads."""
    kernel = only("rmsnorm_matmul")
    assert written(kernel) == {"Y"} and copied(kernel.body)["X"] == 1
    assert loaded(kernel) == {"g"}
    assert all(p.a == "r" for p in products(kernel.body)), "its left side is computed"


def test_the_logits_of_a_loss_are_never_in_memory() -> None:
    """Three kernels: the logits of the labels, shares of each row's normaliser, and their sum."""
    assert len(kernels("cross_entropy")) == 3
    assert sum(bool(products(k.body)) for k in kernels("cross_entropy")) == 1
    assert sum(elements(t) for t in temporaries("cross_entropy")) * 100 < TOKENS * CLASSES
    assert not any(k.scratch for k in kernels("cross_entropy"))


# grids of threads


@pytest.mark.parametrize("name", ["softmax", "argmax", "gated_recurrence"])
def test_rows_and_recurrences_are_one_kernel_without_temporaries(name: str) -> None:
    kernel = only(name)
    assert not kernel.scratch and not temporaries(name)
    assert {b.name for b in kernel.buffers} == loaded(kernel) | written(kernel)


def test_a_norm_before_a_product_of_plain_threads_is_stored_once() -> None:
    """Computed in the product, it would be computed again for every tile of columns."""
    x = PROGRAMS["layernorm_matmul"].graph().inputs[0]
    assert [elements(t) for t in temporaries("layernorm_matmul")] == [elements(x)]


def test_a_gather_folds_nothing() -> None:
    kernel = only("embedding")
    assert loaded(kernel) == {"table", "at"}
    loops = [s for s in statements(kernel.body) if isinstance(s, Loop) and s.kind != "grid"]
    # two points of a thread, each of neighbours that one access moves
    assert [(s.kind, s.stop) for s in loops] == [("unrolled", number(2)), ("vector", number(8))]
