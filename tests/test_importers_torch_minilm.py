"""The sentence encoder as a PyTorch module: torch.export and torch.compile beside PyTorch and the graph by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tang_egg as te

torch = pytest.importorskip("torch")

from bench.minilm import relative_error  # noqa: E402
from examples import minilm, minilm_torch  # noqa: E402
from tests.test_minilm import check_ranking, needs_model  # noqa: E402


@pytest.fixture(scope="module")
def model() -> Any:
    return minilm_torch.load()


def ids_of(sentence: str) -> Any:
    return torch.from_numpy(minilm.tokenizer()(sentence))[None]


def test_every_parameter_has_a_name_in_the_file() -> None:
    names = [minilm_torch.stored_name(n) for n in minilm_torch.Bert(layers=1).state_dict()]
    assert len(set(names)) == len(names) == 5 + 16
    assert "encoder.layer.0.attention.output.LayerNorm.bias" in names


def test_one_layer_by_torch_export_is_the_graph_by_hand() -> None:
    """Random weights: the module through torch.export, beside the same weights in examples/minilm.py."""
    torch.manual_seed(0)
    small = minilm_torch.Bert(layers=1).eval()
    made = minilm_torch.program(small)
    (seq,) = made.graph.dims()
    assert (seq.lo, seq.hi) == (2, minilm.LONGEST)
    ids = torch.tensor([[101, 2023, 7, 30521, 0, 102, 5]])
    with torch.no_grad():
        wanted = small(ids).numpy()
    got = made.interpret({"ids": ids.numpy()})["output"]
    assert relative_error(got, wanted) < 1e-5
    by_hand = minilm.encoder(layers=1)
    assert len(made.weights) == len(by_hand.inputs) - 1, "a weight for each that the graph by hand has"


@needs_model
def test_the_exported_encoder_agrees_with_pytorch_and_the_reference(model: Any) -> None:
    graph, weights = minilm.build_graph()
    made = minilm_torch.program(model)
    ids = ids_of(minilm.SENTENCES[0])
    with torch.no_grad():
        eager = model(ids)[0].numpy()
    by_hand = te.interpret(graph, {"ids": ids[0].numpy(), **weights})["embedding"]
    got = made.interpret({"ids": ids.numpy()})["output"][0]
    assert relative_error(got, by_hand) < 1e-9
    assert relative_error(eager, by_hand) < 1e-4


@needs_model
@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("way", ["export", "compile"])
def test_the_compiled_encoder_agrees_with_pytorch(model: Any, way: str) -> None:
    encoder = {"export": minilm_torch.by_export, "compile": minilm_torch.by_compile}[way](model)
    found = []
    with torch.no_grad():
        for sentence in minilm.SENTENCES:
            ids = ids_of(sentence)
            found.append(encoder(ids)[0].numpy())
            assert relative_error(found[-1], model(ids)[0].numpy()) < 1e-4
    check_ranking(minilm.similarities(found))
    assert all(abs(float(np.linalg.norm(v)) - 1) < 1e-5 for v in found)
