"""Suite `minilm`: time per sentence of the compiled encoder, NumPy, and torch, torch.compile and onnxruntime where
they are installed, in one run.

Every system encodes the same sentences, one per call, in the turns of `bench cpu`: a pause, a call that does not count,
then some that do. Rows: each sentence by itself, then all eight as the mean per sentence. Errors are max |error| /
max |reference| against the float64 interpreter, the largest for the mean.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import tang_egg as te
from bench import log
from bench.bert import InductorEncoder, NumpyEncoder, OnnxEncoder, TorchEncoder, Weights
from bench.cpu_timing import TIMES, Sample, Turns, fields, samples
from examples.minilm import SENTENCES, build_graph, only, tokenizer
from tang_egg.interpret import interpret

Encoder: TypeAlias = Callable[[NDArray[np.int64]], Any]


def measure(arguments: Sequence[str] = ()) -> list[log.Row]:
    """A row for each system and sentence, and one for each system over all sentences."""
    parser = argparse.ArgumentParser(prog="python -m bench minilm", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="turns of each system and sentence (default: 15)")
    parser.add_argument("--seconds", type=float, default=30.0, help="for the turns of one sentence (default: 30)")
    parser.add_argument("--target", default="c", help="of the compiled encoder (default: c)")
    given = parser.parse_args(arguments)
    graph, bound = build_graph()
    weights: dict[str, Any] = dict(bound)
    encode = tokenizer()
    sentences = [encode(s) for s in SENTENCES]
    compiled = te.optimize(graph, target=given.target).bind(**weights)  # once, as every other system takes them
    systems: dict[str, Encoder] = {f"tang_egg {te.__version__} {given.target}": lambda ids: compiled(ids=ids)}
    systems |= peers(weights)
    references = [interpret(graph, {"ids": ids, **weights})["embedding"] for ids in sentences]
    rows, worst, turns = [], dict.fromkeys(systems, 0.0), Turns()
    for ids, reference in zip(sentences, references, strict=True):
        calls = {name: _bound(encoder, ids) for name, encoder in systems.items()}
        for call in calls.values():
            call()  # some compile what they need for a length
        found = samples(calls, given.rounds, given.seconds, turns)
        for name, call in calls.items():
            error = relative_error(only(call()), reference)
            worst[name] = max(worst[name], error)
            rows.append(_row(name, {"seq": len(ids)}, found[name], error))
    every = {name: _each(encoder, sentences) for name, encoder in systems.items()}
    for name, sample in samples(every, given.rounds, 4 * given.seconds, turns).items():
        rows.append(_row(name, {"sentences": len(sentences)}, per_sentence(sample, len(sentences)), worst[name]))
    return rows


def peers(weights: Weights) -> dict[str, Encoder]:
    """The encoders to compare with, by name and version; what is missing for the others is said."""
    found: dict[str, Encoder] = {}
    for kind in (NumpyEncoder, TorchEncoder, InductorEncoder, OnnxEncoder):
        try:
            encoder: Any = kind(weights)
        except ImportError as missing:
            print(f"missing: {kind.__name__}: {missing}", file=sys.stderr)
            continue
        found[encoder.version] = encoder
    return found


def relative_error(found: NDArray[Any], reference: NDArray[Any]) -> float:
    """max |found - reference| / max |reference|; infinite where `found` is not finite."""
    if not np.all(np.isfinite(found)):
        return float("inf")
    return float(np.max(np.abs(found - reference)) / np.max(np.abs(reference)))


def _bound(encoder: Encoder, ids: NDArray[np.int64]) -> Callable[[], Any]:
    return lambda: encoder(ids)


def _each(encoder: Encoder, sentences: Sequence[NDArray[np.int64]]) -> Callable[[], Any]:
    def run() -> None:
        for ids in sentences:
            encoder(ids)

    return run


def per_sentence(sample: Sample, count: int) -> Sample:
    """The times of calls that encode `count` sentences each, for one sentence."""
    return replace(sample, **{n: getattr(sample, n) / count for n in TIMES})


def _row(system: str, shape: Mapping[str, int], sample: Sample, error: float) -> log.Row:
    return log.row(
        "minilm", "minilm", system, shape=dict(shape), dtype="f32", **fields(sample), error=float(f"{error:.2e}")
    )
