"""Products that read bound arrays from panels, filled once: what they give, which of them do, what stays as it is."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tang_egg as te
from tang_egg import run_panels
from tang_egg.errors import InputError
from tang_egg.interpret import interpret
from tang_egg.pipeline_compiled import Compiled
from tang_egg.run import CompiledProgram
from tang_egg.run_arrays import NUMPY

Arrays = Mapping[str, NDArray[np.generic]]
ROWS = (0, 1, 2, 3, 5, 6, 7, 11, 12, 13, 14, 17, 18, 23, 24, 25, 31, 118)
"""No row, and one less, as many and one more than tiles of 1, 2, 6 and 12 rows have; primes."""
K, N = 70, 64


@pytest.fixture(params=["128", "256", "512", "neon"])
def registers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whose vectors kernels are printed for."""
    monkeypatch.setenv("TANG_VECTORS", request.param)
    return str(request.param)


def numbers(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def seq() -> te.Dim:
    return te.dim("seq", lo=0, hi=512)


def kept(bound: Compiled) -> CompiledProgram:
    assert bound.kept is not None, "a product reads panels"
    return bound.kept


def check(graph: te.Graph, weights: Arrays, rows: tuple[int, ...] = ROWS, tolerance: float = 2e-5) -> Compiled:
    """The graph with weights bound, after all sizes were compared with the interpreter."""
    bound = te.optimize(graph).bind(**weights)
    assert kept(bound).held
    width = next(i for i in graph.inputs if i.name == "X").shape[1].value
    assert width is not None
    for n in rows:
        x = numbers(n, width, seed=n)
        given = {name: _widened(a) for name, a in weights.items()}
        wanted, found = interpret(graph, {"X": x, **given}), bound.run(X=x)
        for name, want in wanted.items():
            assert found[name].shape == want.shape
            scale = max(1.0, float(np.abs(want).max(initial=0.0)))
            np.testing.assert_allclose(found[name], want, rtol=0, atol=tolerance * scale, err_msg=f"{name}, {n} rows")
    return bound


def _widened(a: NDArray[np.generic]) -> NDArray[np.generic]:
    return (a.astype(np.uint32) << 16).view(np.float32) if a.dtype == np.uint16 else a


def product(rows: te.Dim | int, kind: str = "f32") -> te.Graph:
    return te.graph("product", C=te.matmul(te.input("X", (rows, K)), te.input("W", (K, N), kind)))


def test_every_number_of_rows(registers: str) -> None:
    check(product(seq()), {"W": numbers(K, N)})


@pytest.mark.parametrize("rows", [2, 5, 6, 7, 11, 12, 13, 18, 31])
def test_sizes_that_are_known(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_VECTORS", "512")
    check(product(rows), {"W": numbers(K, N)}, (rows,))


def test_weights_of_16_bits(registers: str) -> None:
    w = numbers(K, N)
    check(product(seq(), "f16"), {"W": w.astype(np.float16)}, (1, 7, 13))
    check(product(seq(), "bf16"), {"W": (w.view(np.uint32) >> 16).astype(np.uint16)}, (1, 7, 13))
    held = kept(te.optimize(product(seq(), "f16")).bind(W=w.astype(np.float16))).held
    assert [a.dtype for a in held.values()] == [np.float16]


@pytest.mark.parametrize(("kind", "transposed"), [("f32", False), ("f32", True), ("bf16", False), ("f16", True)])
def test_a_layer_with_a_bias(registers: str, kind: str, transposed: bool) -> None:
    """max(X W + b, 0): the epilogue reads a bound vector where it lies."""
    x, b = te.input("X", (seq(), 96)), te.input("b", (192,))
    w = te.input("W", (192, 96) if transposed else (96, 192), kind)
    i, j = te.index("i", seq()), te.index("j", 192)
    body = te.maximum(te.linear(x, w, b, transposed=transposed)[i, j], 0.0)
    drawn = numbers(*(s.value or 0 for s in w.shape))
    stored = (drawn.view(np.uint32) >> 16).astype(np.uint16) if kind == "bf16" else drawn.astype(NUMPY[kind])
    check(te.graph("layer", Y=te.tensor(None, (i, j), body)), {"W": stored, "b": numbers(192, seed=1)}, (1, 6, 13, 64))


def test_weights_of_64_bits(registers: str) -> None:
    check(product(seq(), "f64"), {"W": numbers(K, N).astype(np.float64)}, (1, 7, 13))


def test_views_of_weights(registers: str) -> None:
    """Turned, flipped, sliced with a step and an offset, and by heads."""
    i, j, k = te.index("i", seq()), te.index("j", N), te.index("k", K)
    h, d = te.index("h", 2), te.index("d", N // 2)
    x = te.input("X", (seq(), K))
    turned, flipped, sliced = te.input("W", (N, K)), te.input("W", (K, N)), te.input("W", (2 * K + 3, N + 5))
    check(te.graph("t", C=te.tensor(None, (i, j), te.sum(k, x[i, k] * turned[j, k]))), {"W": numbers(N, K)}, (1, 13))
    body = te.sum(k, x[i, k] * flipped[K - 1 - k, N - 1 - j])
    check(te.graph("f", C=te.tensor(None, (i, j), body)), {"W": numbers(K, N)}, (1, 13))
    body = te.sum(k, x[i, k] * sliced[2 * k + 1, j + 4])
    check(te.graph("s", C=te.tensor(None, (i, j), body)), {"W": numbers(2 * K + 3, N + 5)}, (1, 13))
    body = te.sum(k, x[i, k] * flipped[k, h * (N // 2) + d])
    check(te.graph("h", C=te.tensor(None, (h, i, d), body)), {"W": numbers(K, N)}, (1, 13))


def test_weights_that_are_computed_are_kept_as_they_are_stored(registers: str) -> None:
    """Quantised weights: panels hold their bytes, and scales are read where they lie."""
    i, j, k = te.index("i", seq()), te.index("j", N), te.index("k", K)
    x, q, s = te.input("X", (seq(), K)), te.input("Q", (K, N), "i8"), te.input("S", (N,))
    body = te.sum(k, x[i, k] * (te.cast(q[k, j], "real") * s[j]))
    w = {"Q": np.random.default_rng(0).integers(-128, 128, (K, N), np.int8), "S": numbers(N)}
    bound = check(te.graph("q", C=te.tensor(None, (i, j), body)), w, (1, 2, 13))
    assert [a.dtype for a in kept(bound).held.values()] == [np.int8]


def test_rows_that_are_computed_are_stored_once(registers: str) -> None:
    """A norm before a product, and the same norm beside the next one: it is not computed for each panel."""
    x, gain, shift = te.input("X", (seq(), 192)), te.input("G", (192,)), te.input("S", (192,))
    w, v = te.input("W", (192, 768)), te.input("V", (768, 192))
    normed = te.layer_norm(x, gain, shift)
    hidden = te.pointwise(te.gelu, te.matmul(normed, w))
    graph = te.graph("block", Y=te.add(te.matmul(hidden, v), normed), H=hidden)
    weights = {"W": numbers(192, 768), "V": numbers(768, 192, seed=1), "G": numbers(192, seed=2)}
    program = kept(check(graph, weights | {"S": numbers(192, seed=3)}, (0, 1, 13)))
    read = {b.plan.name: [s.name for s in b.sources] for b in program.kernels}
    assert read == {
        "H_rows0": ["X", "G", "S", "H_rows0"],
        "H": ["H_rows0", "W~panels0", "H"],
        "Y": ["H", "V~panels1", "H_rows0", "Y"],
    }


def test_values_of_rows_are_stored_once(registers: str) -> None:
    i, j, k = te.index("i", seq()), te.index("j", N), te.index("k", K)
    x, w = te.input("X", (seq(), K)), te.input("W", (K, N))
    body = te.sum(k, x[i, k] * w[k, j]) * (te.sum(k, x[i, k] * x[i, k]) + 1.0)
    program = kept(check(te.graph("scaled", C=te.tensor(None, (i, j), body)), {"W": numbers(K, N)}, (0, 1, 13)))
    assert [b.plan.name for b in program.kernels] == ["C_value0", "C"]


def test_two_products_of_one_tile(registers: str) -> None:
    x, w, v = te.input("X", (seq(), K)), te.input("W", (K, N)), te.input("V", (K, N))
    graph = te.graph("gated", C=te.pointwise(lambda a, b: te.silu(a) * b, te.matmul(x, w), te.matmul(x, v)))
    check(graph, {"W": numbers(K, N), "V": numbers(K, N, seed=1)})
    bound = te.optimize(graph).bind(W=numbers(K, N))  # one of them from a panel, the other one where it lies
    x_, v_ = numbers(13, K), numbers(K, N, seed=1)
    np.testing.assert_allclose(bound(X=x_, V=v_), te.optimize(graph)(X=x_, V=v_, W=numbers(K, N)), rtol=1e-4, atol=1e-4)


def test_other_monoids(registers: str) -> None:
    i, j, k = te.index("i", seq()), te.index("j", N), te.index("k", K)
    x, w = te.input("X", (seq(), K)), te.input("W", (K, N))
    check(te.graph("m", C=te.tensor(None, (i, j), te.max(k, x[i, k] + w[k, j]))), {"W": numbers(K, N)}, (1, 7, 13))


def test_infinities_and_no_numbers_stay_where_they_are() -> None:
    x, w = numbers(13, K), numbers(K, N)
    x[3, 5], w[2, 7] = np.inf, np.nan
    got = te.optimize(product(seq())).bind(W=w)(X=x)
    assert np.isnan(got[:, 7]).all() and not np.isfinite(got[3]).any()
    assert np.isfinite(np.delete(np.delete(got, 3, 0), 7, 1)).all()


@pytest.mark.parametrize(
    ("graph", "names"),
    [
        (product(1), "W"),  # one row: any order is as good
        (te.graph("odd", C=te.matmul(te.input("X", (9, K)), te.input("W", (K, 65)))), "W"),  # no whole vectors
        (te.graph("tiny", C=te.matmul(te.input("X", (9, 8)), te.input("W", (8, 32)))), "W"),  # nothing to gain
        (product(9), "X"),  # the left operand alone
        (te.graph("map", C=te.add(te.input("X", (64, 64)), te.input("W", (64, 64)))), "W"),
        (te.graph("bias", C=te.add(te.input("X", (64, 64)), te.input("W", (64,)))), "W"),
    ],
)  # fmt: skip
def test_what_reads_no_panels(graph: te.Graph, names: str) -> None:
    shapes = {i.name: tuple(s.value or 0 for s in i.shape) for i in graph.inputs}
    bound = te.optimize(graph).bind(**{n: numbers(*shapes[n]) for n in names})
    assert bound.kept is None
    rest = {n: numbers(*shape) for n, shape in shapes.items() if n not in names}
    assert bound(**rest).shape == tuple(s.value for s in graph.outputs[0].shape)


def test_a_schedule_that_was_asked_for_stays() -> None:
    graph = product(24)
    assert te.optimize(graph, schedule={"C": "point order=i0,i1"}).bind(W=numbers(K, N)).kept is None


def test_the_unbound_program_stays_as_it_is() -> None:
    """It reads arrays at every call, has no panels, and prints the same source."""
    compiled = te.optimize(product(seq()))
    before, x, w = compiled.source, numbers(13, K), numbers(K, N)
    bound = compiled.bind(W=w)
    assert compiled.kept is None and compiled.source == before != bound.source
    call = compiled.prepare(X=x, W=w)
    call()
    np.testing.assert_allclose(call.outputs["C"], x @ w, rtol=1e-4, atol=1e-4)
    w *= 2
    call()
    np.testing.assert_allclose(call.outputs["C"], x @ w, rtol=1e-4, atol=1e-4)
    bound = compiled.bind(W=w)  # bound anew: panels hold what the array holds now
    np.testing.assert_allclose(bound(X=x), x @ w, rtol=1e-4, atol=1e-4)


def test_panels_are_filled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0
    plain = run_panels.filled

    def counted(*given: Any) -> Any:
        nonlocal count
        count += 1
        return plain(*given)

    monkeypatch.setattr(run_panels, "filled", counted)
    x, w = numbers(13, K), numbers(K, N)
    bound = te.optimize(product(seq())).bind(W=w)
    before = count
    assert before
    for _ in range(2):
        np.testing.assert_allclose(bound(X=x), x @ w, rtol=1e-4, atol=1e-4)
    assert count == before


def test_panels_that_are_wrong_are_told_and_do_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TANG_CACHE", str(tmp_path))  # where nothing is known of the library
    plain = run_panels.filled

    def wrong(*given: Any) -> Any:
        return {source: np.zeros_like(array) for source, array in plain(*given).items()}

    monkeypatch.setattr(run_panels, "filled", wrong)
    x, w = numbers(13, K), numbers(K, N)
    with pytest.warns(UserWarning, match="read where they lie"):
        bound = te.optimize(product(seq())).bind(W=w)
    assert bound.kept is None
    np.testing.assert_allclose(bound(X=x), x @ w, rtol=1e-4, atol=1e-4)
    monkeypatch.setattr(run_panels, "filled", plain)
    assert kept(te.optimize(product(seq())).bind(W=w)).held, "a failure is not kept"


def test_what_was_compared_once_is_not_compared_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TANG_CACHE", str(tmp_path))
    compared: list[te.Graph] = []
    plain = run_panels.verify

    def counted(graph: te.Graph, *given: Any) -> Any:
        compared.append(graph)
        return plain(graph, *given)

    monkeypatch.setattr(run_panels, "verify", counted)

    def bind(graph: te.Graph) -> int:
        """How often a program was compared when a weight was bound."""
        before, compiled = len(compared), te.optimize(graph)
        kept(compiled.bind(W=numbers(K, N)))
        return len(compared) - before

    assert [bind(product(seq())), bind(product(seq())), bind(product(13)), bind(product(13))] == [1, 0, 1, 0]
    for written in (tmp_path / "kernels").glob("*.holds"):
        written.write_text("0 of another library\n")
    assert bind(product(13)) == 1
    for written in (tmp_path / "kernels").glob("*.holds"):
        written.write_bytes(b"\xff")
    assert [bind(product(13)), bind(product(13))] == [1, 0]
    monkeypatch.setattr(run_panels, "_callers", lambda: "other code")
    assert [bind(product(13)), bind(product(13))] == [1, 0]
    monkeypatch.setenv("TANG_CFLAGS", "-O1")
    assert [bind(product(13)), bind(product(13))] == [1, 0]


def test_nothing_is_compared_where_the_program_was_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*given: Any) -> None:
        raise AssertionError("compared")

    compiled = te.optimize(product(seq()), verified=False)
    monkeypatch.setattr(run_panels, "verify", refused)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bound = compiled.bind(W=numbers(K, N))
    assert kept(bound).held and bound.verification is None


def test_two_bindings_of_one_program_and_two_programs_of_one_weight() -> None:
    compiled, other = te.optimize(product(seq())), te.optimize(product(13))
    x, w, v = numbers(13, K), numbers(K, N), numbers(K, N, seed=1)
    first, second, third = compiled.bind(W=w), compiled.bind(W=v), other.bind(W=w)
    for bound, held in ((first, w), (second, v), (third, w), (first, w)):
        np.testing.assert_allclose(bound(X=x), x @ held, rtol=1e-4, atol=1e-4)
    with pytest.raises(InputError):
        first.bind(W=v)


def test_weights_bound_one_after_the_other() -> None:
    x, w, v = te.input("X", (seq(), K)), te.input("W", (K, N)), te.input("V", (N, N))
    hidden = te.pointwise(te.tanh, te.matmul(x, w))
    compiled = te.optimize(te.graph("two", Y=te.matmul(hidden, v), H=hidden))
    a, b, c = numbers(7, K), numbers(K, N), numbers(N, N, seed=1)
    one = compiled.bind(W=b)
    both = one.bind(V=c)
    assert len(kept(one).held) == 1 and len(kept(both).held) == 2
    np.testing.assert_allclose(both(X=a)["Y"], np.tanh(a @ b) @ c, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(one(X=a, V=c)["Y"], both(X=a)["Y"], rtol=1e-4, atol=1e-4)


def test_prepared_calls_read_panels_and_their_other_arrays_anew() -> None:
    x, w = numbers(13, K), numbers(K, N)
    call = te.optimize(product(seq())).bind(W=w).prepare(X=x)
    call()
    x *= 3
    call()
    np.testing.assert_allclose(call.outputs["C"], x @ w, rtol=1e-4, atol=1e-4)


def test_an_artefact_with_arrays_fills_panels_when_it_is_loaded(tmp_path: Path) -> None:
    x, w = numbers(13, K), numbers(K, N)
    te.optimize(product(seq())).bind(W=w).save(tmp_path / "a", arrays=True)
    loaded = te.load(tmp_path / "a")
    assert len(kept(loaded).held) == 1
    np.testing.assert_allclose(loaded(X=x), x @ w, rtol=1e-4, atol=1e-4)
    assert kept(te.load(tmp_path / "a", rebuild="never")).held, "the library is in the cache"


def test_kernels_count_their_own_panels() -> None:
    """So that those of equal layers can be the same."""
    layers = [te.input("X", (seq(), N))]
    for n in range(3):
        layers.append(te.pointwise(te.tanh, te.matmul(layers[-1], te.input(f"W{n}", (N, N))), hint=f"layer{n}"))
    graph = te.graph("layers", A=layers[1], B=layers[2], C=layers[3])
    program = kept(check(graph, {f"W{n}": numbers(N, N, seed=n) / 8 for n in range(3)}, (1, 13)))
    assert len(program.held) == 3 and [b.schedule.fetch for b in program.kernels] == [("panels~0",)] * 3


def test_panels_are_fetched_ahead() -> None:
    source = te.optimize(product(seq())).bind(W=numbers(K, N)).source
    assert "te_fetch(panels_0" in source
