"""The sentence encoder all-MiniLM-L6-v2 as an ordinary PyTorch module, compiled by tang_egg in two ways.

make models                                     # once: weights and tokenizer
python examples/minilm_torch.py                 # torch.compile(model, backend="tang_egg")
python examples/minilm_torch.py --way export    # torch.export, then te.from_torch and te.optimize
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import gelu, normalize, scaled_dot_product_attention

import tang_egg as te
from examples import minilm
from examples.minilm import EPSILON, HEADS, HIDDEN, LAYERS, LONGEST, POSITIONS, WIDTH, WORDS
from tang_egg.errors import TangError
from tang_egg.importers import safetensors
from tang_egg.importers.torch import from_torch
from tang_egg.model import Model

Encoder = Callable[[Any], Any]


class Layer(nn.Module):  # type: ignore[misc]
    """One BERT layer: attention and feed-forward, each followed by a residual sum and a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.merge = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)
        self.attended, self.output = (nn.LayerNorm(WIDTH, eps=EPSILON) for _ in range(2))

    def forward(self, x: Any) -> Any:
        q, k, v = (_heads(f(x)) for f in (self.query, self.key, self.value))
        mixed = scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        x = self.attended(x + self.merge(mixed))
        return self.output(x + self.down(gelu(self.up(x))))


def _heads(x: Any) -> Any:
    """[b, n, WIDTH] → [b, HEADS, n, WIDTH / HEADS]."""
    return x.unflatten(-1, (HEADS, WIDTH // HEADS)).transpose(1, 2)


class Bert(nn.Module):  # type: ignore[misc]
    """Token numbers ids[b, seq] → embeddings [b, WIDTH] of norm 1; all sentences of a batch have one length."""

    def __init__(self, layers: int = LAYERS) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(WORDS, WIDTH), nn.Embedding(POSITIONS, WIDTH)
        self.kinds = nn.Embedding(2, WIDTH)
        self.embedded = nn.LayerNorm(WIDTH, eps=EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))

    def forward(self, ids: Any) -> Any:
        x = self.words(ids) + self.positions(torch.arange(ids.shape[1])) + self.kinds.weight[0]
        x = self.embedded(x)
        for layer in self.layers:
            x = layer(x)
        return normalize(x.mean(1), dim=-1, eps=EPSILON)


_NAMES = {
    "words": "embeddings.word_embeddings",
    "positions": "embeddings.position_embeddings",
    "kinds": "embeddings.token_type_embeddings",
    "embedded": "embeddings.LayerNorm",
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "merge": "attention.output.dense",
    "attended": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "output": "output.LayerNorm",
}


def stored_name(ours: str) -> str:
    """The name in the file of a parameter such as `layers.0.query.weight`."""
    *path, part, kind = ours.split(".")
    return ".".join([*(["encoder", "layer", path[1]] if path else []), _NAMES[part], kind])


def load(folder: Path | None = None) -> Bert:
    """The module with the weights of `folder`, or of the installed package. Raises InputError when there is none."""
    model = Bert()
    model.eval()
    file = (folder or minilm.model_folder()) / "model.safetensors"
    names = {ours: stored_name(ours) for ours in model.state_dict()}
    arrays = safetensors.arrays(file, names.values(), rename=str)
    model.load_state_dict({ours: torch.from_numpy(arrays[theirs]) for ours, theirs in names.items()})
    return model


def program(model: nn.Module) -> Model:
    """The module as a model of tang_egg, for one sentence of any length."""
    seq = torch.export.Dim("seq", min=2, max=LONGEST)
    found = torch.export.export(model, (torch.zeros(1, 7, dtype=torch.int64),), dynamic_shapes={"ids": {1: seq}})
    return from_torch(found, name="minilm")


def by_export(model: nn.Module) -> Encoder:
    """torch.export, te.from_torch, te.optimize."""
    made = program(model)
    compiled = te.optimize(made.graph)
    name = made.inputs["ids"]

    def run(ids: Any) -> Any:
        found = compiled(**{**made.weights, name: ids.numpy()})
        return torch.from_numpy(next(iter(found.values())) if isinstance(found, Mapping) else found)

    return run


def by_compile(model: nn.Module) -> Encoder:
    """torch.compile with this backend, for every length."""
    found: Encoder = torch.compile(model, backend="tang_egg", dynamic=True)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Similarities of sentences by all-MiniLM-L6-v2, a PyTorch module.")
    parser.add_argument("sentences", nargs="*", help="two or more sentences; eight of ours without any")
    parser.add_argument("--way", choices=("compile", "export", "eager"), default="compile")
    given = parser.parse_args(arguments)
    sentences = given.sentences or list(minilm.SENTENCES)
    try:
        model, encode = load(), minilm.tokenizer()
        ways: dict[str, Callable[[Any], Encoder]] = {
            "compile": by_compile, "export": by_export, "eager": lambda m: m,
        }  # fmt: skip
        encoder = ways[given.way](model)
        with torch.no_grad():
            vectors = [encoder(torch.from_numpy(encode(s))[None])[0].numpy() for s in sentences]
    except TangError as error:
        print(error, file=sys.stderr)
        return 1
    minilm.print_table(sentences, minilm.similarities([np.asarray(v) for v in vectors]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
