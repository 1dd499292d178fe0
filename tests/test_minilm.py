"""The sentence encoder: as a graph, against the same encoder by hand, and compiled on the real model."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from numpy.typing import NDArray

import tang_egg as te
from bench.bert import NumpyEncoder
from bench.cpu_timing import Sample
from bench.minilm import per_sentence, relative_error
from examples import minilm
from tang_egg.errors import InputError
from tang_egg.interpret import interpret

Weights = dict[str, NDArray[np.float32]]


def installed() -> bool:
    try:
        minilm.model_folder()
    except InputError:
        return False
    return find_spec("tokenizers") is not None


needs_model = pytest.mark.skipif(not installed(), reason="make models fetches the model")


def random_weights(graph: te.Graph) -> Weights:
    """Values for every input but `ids`, such that activations stay of order one."""
    rng = np.random.default_rng(0)
    made: Weights = {}
    for i in graph.inputs:
        shape = tuple(s.value or 0 for s in i.shape)
        if i.name != "ids":
            scale = shape[0] ** -0.5 if i.name.startswith("layer") and len(shape) == 2 else 1.0
            made[i.name] = (scale * rng.standard_normal(shape)).astype(np.float32)
    return made


@pytest.fixture(scope="module")
def model() -> tuple[te.Graph, Weights]:
    return minilm.build_graph()


@pytest.fixture(scope="module")
def meant(model: tuple[te.Graph, Weights]) -> list[NDArray[np.float64]]:
    """What the graph says that the sentences become."""
    graph, weights = model
    encode = minilm.tokenizer()
    return [interpret(graph, {"ids": encode(s), **weights})["embedding"] for s in minilm.SENTENCES]


def test_one_layer_agrees_with_the_encoder_by_hand() -> None:
    graph = minilm.encoder(layers=1)
    weights = random_weights(graph)
    by_hand = NumpyEncoder(weights, layers=1)
    for ids in (np.array([7]), np.array([101, 2023, 7, 30521, 0, 102])):
        reference = interpret(graph, {"ids": ids, **weights})["embedding"]
        assert relative_error(by_hand(ids), reference) < 1e-5
        assert abs(float(reference @ reference) - 1) < 1e-12


def test_every_length_is_one_graph() -> None:
    (seq,) = minilm.encoder().dims()
    assert (seq.name, seq.lo, seq.hi) == ("seq", 1, minilm.POSITIONS)


def test_the_table_marks_the_nearest_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    minilm.print_table(["one [x]", ""], np.array([[1.0, 0.25], [0.25, 1.0]]))
    text = capsys.readouterr().out
    assert "one [x]" in text
    assert "(empty)" in text
    assert "0.25" in text


def test_a_missing_model_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert minilm.main(["a", "b"]) == 1
    assert "make models" in capsys.readouterr().err


@needs_model
def test_weights_are_the_inputs_of_the_graph(model: tuple[te.Graph, Weights]) -> None:
    graph, weights = model
    declared = {i.name: tuple(s.value for s in i.shape) for i in graph.inputs if i.name != "ids"}
    assert declared == {name: a.shape for name, a in weights.items()}


@needs_model
def test_sentences_rank_sensibly_under_the_oracle(meant: list[NDArray[np.float64]]) -> None:
    check_ranking(minilm.similarities(meant))


def check_ranking(cosines: NDArray[np.float64]) -> None:
    """Sentences 0 to 5 come in pairs that mean nearly the same; no other sentence is nearer."""
    np.testing.assert_allclose(np.diag(cosines), 1, atol=1e-5)
    for n in range(6):
        others = np.delete(cosines[n], [n, n ^ 1])
        assert cosines[n, n ^ 1] > others.max() + 0.1


@needs_model
@pytest.mark.slow
def test_the_compiled_encoder_agrees_with_the_oracle(
    model: tuple[te.Graph, Weights], meant: list[NDArray[np.float64]]
) -> None:
    graph, weights = model
    encode = minilm.tokenizer()
    compiled = te.optimize(graph, target="c")
    found = []
    for sentence, wanted in zip(minilm.SENTENCES, meant, strict=True):
        found.append(minilm.only(compiled(ids=encode(sentence), **weights)))
        assert relative_error(found[-1], wanted) < 1e-4
    check_ranking(minilm.similarities(found))


def test_times_of_several_sentences_are_told_for_one() -> None:
    sample = Sample(8.0, 1.6, 7.2, 9.6, 6.4, turns=15, calls=2)
    assert per_sentence(sample, 8) == Sample(1.0, 0.2, 0.9, 1.2, 0.8, turns=15, calls=2)
