"""The node tests of the package onnx, run on imported models: `python -m tests.onnx_backend --target interpret`.

A verdict is one of: pass, unsupported (the importer says why), WRONG, crash (anything that is no TangError).
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tang_egg.errors import TangError
from tang_egg.importers.onnx import UnsupportedError, load_onnx
from tang_egg.importers.onnx_value import ELEMENTS

ROUGH = {"f16": 2.0**-9, "bf16": 2.0**-6}
"""Relative tolerances at least, of results in narrow types: the expected ones were rounded after every step."""


TIES = {
    "test_dynamicquantizelinear_expanded": (
        ("interpret", "c"),
        "-2.5 over a scale that is rounded to f32 is -127.49999; without that rounding it is -127.5, which goes to the"
        " even integer",
    ),
    "test_dynamicquantizelinear": (
        ("c",),
        "a kernel multiplies by 1 / scale, which gives -127.5 for the same quotient",
    ),
}
"""Tests in which the rounding of an intermediate result breaks a tie: where one unit is allowed, and why."""


@dataclass(frozen=True)
class Verdict:
    """What became of one test. `constants`: inputs that had to be known at import."""

    name: str
    op: str
    kind: str
    reason: str = ""
    constants: tuple[str, ...] = ()
    typed: bool = True
    seconds: float = 0.0


def cases() -> list[Any]:
    """All node tests, in order of their names."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sorted(load_model_tests(kind="node"), key=lambda c: str(c.name))


def _types(t: Any) -> Iterator[int]:
    kind = t.WhichOneof("value")
    if kind == "sequence_type":
        yield from _types(t.sequence_type.elem_type)
    elif kind == "optional_type":
        yield from _types(t.optional_type.elem_type)
    elif kind in ("tensor_type", "sparse_tensor_type"):
        yield getattr(t, kind).elem_type


def element_types(graph: Any) -> set[int]:
    """The numbers of all element types that a graph names: of inputs, outputs, values, tensors, conversions."""
    found = {n for v in (*graph.input, *graph.output, *graph.value_info) for n in _types(v.type)}
    found |= {t.data_type for t in graph.initializer}
    for n in graph.node:
        for a in n.attribute:
            if a.HasField("t"):
                found.add(a.t.data_type)
            if a.HasField("g"):
                found |= element_types(a.g)
            if a.name in ("to", "dtype") and n.op_type in ("Cast", "BitCast", "EyeLike"):
                found.add(a.i)
    return found


def supported(case: Any) -> bool:
    """Whether every element type in the test is one of the language's."""
    return all(n in ELEMENTS for n in element_types(case.model.graph) - {0})


def operator(case: Any) -> str:
    """The operator that a test is about: that of its only node, else what its name says."""
    nodes = {n.op_type for n in case.model.graph.node}
    if len(nodes) == 1 and "_expanded" not in case.name:
        return str(next(iter(nodes)))
    return str(re.sub(r"^test_|_expanded.*$", "", case.name).split("_")[0])


def run(case: Any, target: str = "interpret") -> Verdict:
    """The verdict on one test."""
    start = time.perf_counter()
    kind, reason, constants = _run(case, target)
    return Verdict(case.name, operator(case), kind, reason, constants, supported(case), time.perf_counter() - start)


def _run(case: Any, target: str) -> tuple[str, str, tuple[str, ...]]:
    constants: dict[str, Any] = {}
    names = [i.name for i in case.model.graph.input]
    for inputs, expected in case.data_sets:
        given = dict(zip(names, map(_array, inputs), strict=False))
        try:
            model, constants = _load(case.model, given)
            results = _execute(model, {n: v for n, v in given.items() if n not in constants}, target)
        except UnsupportedError as error:
            return "unsupported", "; ".join(dict.fromkeys(f"{p.op}: {p.reason}" for p in error.problems)), ()
        except TangError as error:
            if error.__cause__ is not None and not isinstance(error.__cause__, TangError):
                return "crash", f"{type(error.__cause__).__name__}: {error.__cause__}", tuple(constants)
            return "refused", str(error), tuple(constants)
        except Exception as error:
            return "crash", f"{type(error).__name__}: {error}", tuple(constants)
        wrong = _compare(case, list(_flat(map(_array, expected))), results, target)
        if wrong:
            return "WRONG", wrong, tuple(constants)
    return "pass", "", tuple(sorted(constants))


def _load(proto: Any, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The model, with those inputs as constants that the importer has to know, and their values."""
    constants: dict[str, Any] = {}
    while True:
        try:
            return load_onnx(proto, constants=constants, shapes=_shapes(proto, given, constants)), constants
        except UnsupportedError as error:
            new = [n for n in error.needs if n in given and n not in constants]
            if not new:
                raise
            constants |= {n: given[n] for n in new}


def _shapes(proto: Any, given: dict[str, Any], constants: dict[str, Any]) -> dict[str, Any]:
    """Fixed shapes for symbolic ones where other inputs are constants, whose shapes fix the same dims."""
    if not constants:
        return {}
    tensors = [i.name for i in proto.graph.input if i.type.HasField("tensor_type") and i.name not in constants]
    return {n: given[n].shape for n in tensors if n in given and given[n] is not None}


def _execute(model: Any, given: dict[str, Any], target: str) -> list[Any]:
    arrays = {n: np.asarray(a) for n, a in given.items() if a is not None}
    if target == "interpret":
        return list(model.interpret(arrays).values())
    compiled = model.compile(target=target, verified=False, values="ieee")
    types = {name: t.dtype for name, own in model.outputs.items() for t in model.graph.outputs if t.name == own}
    return [_floats(a) if types[n] == "bf16" else a for n, a in compiled.run(arrays).items()]


def _floats(bits: Any) -> Any:
    """The values of bf16, which travels as its bits."""
    return (np.asarray(bits).astype(np.uint32) << 16).view(np.float32)


def _array(x: Any) -> Any:
    """What a test gives as a NumPy array; lists and None stay."""
    from onnx import TensorProto, numpy_helper

    if isinstance(x, list):
        return [_array(v) for v in x]
    return numpy_helper.to_array(x) if isinstance(x, TensorProto) else x


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for v in values:
        if isinstance(v, list):
            yield from _flat(v)
        elif v is not None:
            yield np.asarray(v)


def _compare(case: Any, expected: list[Any], found: list[Any], target: str) -> str:
    """How results differ from the expected ones, or nothing."""
    if len(found) < len(expected):
        return f"{len(found)} results, not {len(expected)}"
    for n, (want, got) in enumerate(zip(expected, found, strict=False)):
        if got.shape != want.shape:
            return f"result {n} has shape {got.shape}, not {want.shape}"
        if want.dtype.kind in "biu":
            if target in TIES.get(case.name, ((), ""))[0] and np.abs(np.asarray(got, np.int64) - want).max() <= 1:
                continue
            if not np.array_equal(np.asarray(got), want):
                wrong = np.asarray(got) != want
                return f"result {n} differs at {int(wrong.sum())} places"
            continue
        rough = ROUGH.get({"float16": "f16", "bfloat16": "bf16"}.get(want.dtype.name, ""), 0.0)
        a, b = np.asarray(got, np.float64), np.asarray(want, np.float64)
        largest = np.abs(b, where=np.isfinite(b), out=np.zeros_like(b)).max(initial=0.0)
        rtol, atol = max(case.rtol, rough), max(case.atol, max(rough, 2.0**-23) * largest)
        if not np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True):
            with np.errstate(all="ignore"):
                return f"result {n}: largest error {np.nanmax(np.abs(a - b)):.3g} of {np.nanmax(np.abs(b)):.3g}"
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="interpret", choices=("interpret", "c"))
    parser.add_argument("--filter", default="", help="a regular expression that names must match")
    parser.add_argument("--shard", default="0/1", help="n/m: every m-th test from n on")
    parser.add_argument("--write", type=Path, help="the page to write")
    parser.add_argument("--quiet", action="store_true")
    chosen = parser.parse_args(arguments)
    n, m = map(int, chosen.shard.split("/"))
    verdicts = []
    for case in [c for c in cases() if re.search(chosen.filter, c.name)][n::m]:
        verdicts.append(run(case, chosen.target))
        v = verdicts[-1]
        if v.kind != "pass" and not chosen.quiet:
            print(f"{v.kind:11} {v.name} [{'' if v.typed else 'type'}] {' '.join(v.reason.split())[:200]}", flush=True)
    print(summary(verdicts))
    if chosen.write:
        chosen.write.write_text(page(verdicts), encoding="utf-8")
    return 1 if any(v.kind in ("WRONG", "crash") for v in verdicts) else 0


def summary(verdicts: Sequence[Verdict]) -> str:
    counts = Counter(v.kind for v in verdicts if v.typed)
    rest = Counter(v.kind for v in verdicts if not v.typed)
    total = sum(counts.values())
    share = 100 * counts["pass"] / max(1, total)
    return (
        f"{total} in supported types: {dict(counts)}, {share:.1f} % pass; others: {dict(rest)}; "
        f"{sum(v.seconds for v in verdicts):.0f} s"
    )


def page(verdicts: Sequence[Verdict]) -> str:
    """The page of operators, from verdicts on the whole suite."""
    import onnx

    from tang_egg.importers.onnx_table import TABLE

    typed = [v for v in verdicts if v.typed]
    counts = Counter(v.kind for v in typed)
    by: dict[str, list[Verdict]] = defaultdict(list)
    for v in verdicts:
        by[v.op].append(v)
    rows = []
    for op in sorted(by, key=str.lower):
        mine = [v for v in by[op] if v.typed]
        passed = sum(v.kind == "pass" for v in mine)
        reasons = dict.fromkeys(v.reason.split("; ")[0] for v in mine if v.kind != "pass")
        others = len(by[op]) - len(mine)
        rows.append(f"| {op} | {passed} of {len(mine)} | {others or ''} | {'; '.join(reasons)[:160]} |")
    left = [f"| `{v.name}` | {v.kind} | {' '.join(v.reason.split())[:160]} |" for v in typed if v.kind != "pass"]
    known = sorted({f"{v.op} ({', '.join(v.constants)})" for v in typed if v.constants and v.kind == "pass"})
    own = [f"`{domain + '.' if domain else ''}{name}` ({row.newest})" for (domain, name), row in sorted(TABLE.items())]
    return PAGE.format(
        version=onnx.__version__,
        total=len(verdicts),
        typed=len(typed),
        passed=counts["pass"],
        share=f"{100 * counts['pass'] / len(typed):.1f}",
        unsupported=counts["unsupported"] + counts["refused"],
        wrong=counts["WRONG"] + counts["crash"],
        own=", ".join(own),
        functions=", ".join(f"`{n}`" for n in _functions(TABLE)),
        rows="\n".join(rows),
        left="\n".join(left),
        known="; ".join(known),
        ties="\n".join(f"- `{n}` ({' and '.join(targets)}): {why}" for n, (targets, why) in TIES.items()),
    )


def _functions(table: Any) -> list[str]:
    """Operators that have no row of their own and are written out by the function that the format gives."""
    from onnx import defs

    return sorted(
        f"{s.domain + '.' if s.domain else ''}{s.name}"
        for s in defs.get_all_schemas()
        if (s.domain, s.name) not in table and (s.has_function or s.has_context_dependent_function)
    )


PAGE = """# ONNX operators

Generated by `python -m tests.onnx_backend --write docs/onnx-operators.md` from the node tests of onnx {version}, each
imported and computed by `te.interpret`. `--target c` compiles them instead.

**{passed} of {typed} tests in supported element types pass ({share} %).** {unsupported} end in an error that says what
is not supported, {wrong} give a wrong result or fail in another way. The suite has {total} tests. Those in supported
types are the ones in which every element type that the model names (of inputs, outputs, intermediate values, tensors,
members of sequences and optionals, targets of conversions) is float16, bfloat16, float32, float64, bool or an integer
of 8 to 64 bits. The others use strings, float8, float4, or integers of 2 or 4 bits.

A result agrees when it has the expected shape, integers and bools are equal, and floats lie within the test's own
tolerances; to the absolute one 2⁻²³ of the largest value is added, and results in float16 and bfloat16 have a relative
tolerance of 2⁻⁹ and 2⁻⁶ at least, since the expected ones were rounded after every step. One unit is allowed where a
tie is broken by the rounding of an intermediate result:

{ties}

## Operators

With the newest version (operator set) that is known: {own}.

Written out by the functions that the format itself gives for them: {functions}.

Inputs that decide a shape, an axis or a number of repetitions must be known at import: initializers, constants, what is
computed from shapes, or `constants={{...}}`. In the tests that pass these were given so: {known}.

## Results by operator

Tests of several operators stand under the name of the test. The third column counts tests in other element types.

| operator | pass | other types | why not |
|---|--:|--:|---|
{rows}

## Tests in supported types that do not pass

| test | | reason |
|---|---|---|
{left}
"""


if __name__ == "__main__":
    sys.exit(main())
