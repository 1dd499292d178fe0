"""Certificates as JSON, and back: a versioned form in which every term stands once.

    {"kind", "format", "graph", "program", "options", "parts",
     "windows": [{"terms": [[constructor, argument ...] ...], "steps": [...], "kernels": [...], "roots": [...]}],
     "rewritings": [{"kind", "asked": [[axis, number] ...], "steps": [[law, kernel, before, after] ...], "programs",
                     "crossings": [[stage, monoid, sent, gathered] ...], "cut": [[array, axis] ...]}],
     "stages": [certificate ...]}

An argument of a term is a string, {"n": a number}, {"t": the number of an earlier term} or {"ts": [numbers]}. `graph`
and `program` are texts in the text form of graphs, and so are the expressions before and after a step where they are
wanted; a join or count always gives one for each of its tensors. What is read is data: nothing is called or imported by
a name that a file gives.
"""

from __future__ import annotations

import json
import os
from pathlib import Path as FilePath
from typing import Any

from tang_egg.errors import ArtefactError, TangError
from tang_egg.extract.certificate import Certificate, CertifiedStep, CertifiedWindow
from tang_egg.extract.certificate_parts import (
    program_data,
    read_int,
    read_program,
    read_rewriting,
    read_text,
    rewriting_data,
    wrong,
)
from tang_egg.extract.certificate_program import Written, expression_text
from tang_egg.extract.certificate_term import Term, walk
from tang_egg.files import replacing
from tang_egg.ir import Scalar
from tang_egg.text import parse_graph, print_graph

KIND, FORMAT = "tang_egg certificate", 1
"""`FORMAT` is raised when a field changes its meaning or disappears."""

MOST = 1 << 28
"""Bytes of a file that is read at most."""


def certificate_text(certificate: Certificate) -> str:
    """A certificate as JSON."""
    return json.dumps(_data(certificate), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _data(certificate: Certificate) -> dict[str, Any]:
    return {
        "kind": KIND,
        "format": FORMAT,
        "graph": print_graph(certificate.graph),
        "options": {"axes": certificate.axes, "ieee": certificate.ieee},
        "program": program_data(certificate.program),
        "parts": list(certificate.parts),
        "opening": [_Writer().step(s) for s in certificate.opening],
        "windows": [_Writer().data(w) for w in certificate.windows],
        "closing": [_Writer().step(s) for s in certificate.closing],
        "rewritings": [rewriting_data(r) for r in certificate.rewritings],
        "stages": [_data(c) for c in certificate.stages],
    }


def save_certificate(certificate: Certificate, path: str | os.PathLike[str]) -> None:
    """Writes a certificate to a file. Raises ArtefactError when it cannot be; a file that was there is as it was."""
    try:
        with replacing(FilePath(path)) as file:
            file.write(certificate_text(certificate).encode())
    except OSError as error:
        raise ArtefactError(
            f"the certificate cannot be written: {error.strerror or error}",
            where=str(path),
            mend="give a file in a folder that you may write to",
        ) from None


def load_certificate(path: str | os.PathLike[str]) -> Certificate:
    """The certificate in a file; nothing is checked but its form. Raises ArtefactError when it is none."""
    try:
        size = FilePath(path).stat().st_size
        text = FilePath(path).read_bytes() if size <= MOST else b""
    except OSError as error:
        raise ArtefactError(
            f"the certificate cannot be read: {error.strerror or error}",
            where=str(path),
            mend="give a file that exists",
        ) from None
    if size > MOST:
        raise ArtefactError(
            f"a file of {size} bytes is no certificate", where=str(path), mend=f"give one of at most {MOST} bytes"
        )
    try:
        return read_certificate(text.decode(), str(path))
    except UnicodeDecodeError:
        wrong("it is no text in UTF-8", str(path))


class _Writer:
    """Writes one window; terms get numbers as they are met."""

    def __init__(self) -> None:
        self.numbers: dict[Term, int] = {}
        self.rows: list[Any] = []

    def data(self, window: CertifiedWindow) -> dict[str, Any]:
        steps = [self.step(s) for s in window.steps]
        kernels = [[self.written(w) for w in k] for k in window.kernels]
        return {"terms": self.rows, "steps": steps, "kernels": kernels, "roots": list(window.roots)}

    def written(self, w: Written) -> dict[str, Any]:
        return {
            "name": w.name, "axes": list(w.axes), "same": list(w.same), "dtype": w.dtype, "source": w.source,
            "kind": w.kind,
        }  # fmt: skip

    def step(self, s: CertifiedStep) -> dict[str, Any]:
        made: dict[str, Any] = {"kind": s.kind, "name": s.name}
        if s.tensor:
            made["tensor"] = s.tensor
        if s.paths:
            made["places"] = [list(p) for p in s.paths]
        if s.reverse:
            made["reverse"] = True
        if s.bindings:
            made["bindings"] = {n: self.value(v) for n, v in s.bindings}
        for name, t in (("before", s.before), ("after", s.after)):
            if t is not None:
                made[name] = self.number(t)
        if s.tensors:
            made["tensors"] = list(s.tensors)
        # what a join or count leaves has no terms: its texts are what is read back, also where no others are wanted
        texts = s.texts or tuple(expression_text(n, b) for n, b in zip(s.tensors, s.bodies, strict=False))
        if texts:
            made["texts"] = list(texts)
        return made

    def number(self, t: Term) -> int:
        for x in _whole(t):
            if x not in self.numbers:
                self.numbers[x] = len(self.rows)
                self.rows.append([x.constructor, *map(self.value, x.args)])
        return self.numbers[t]

    def value(self, v: Any) -> Any:
        if isinstance(v, Term):
            return {"t": self.number(v)}
        if isinstance(v, tuple):
            return {"ts": [self.number(x) for x in v]}
        return {"n": v} if isinstance(v, int) else v


def _whole(t: Term) -> list[Term]:
    """The sub-terms of a term, the names of a pass among them, each after its own."""
    found: dict[Term, None] = {}
    for x in walk(t):
        for a in x.args:
            for y in (a,) if isinstance(a, Term) else a if isinstance(a, tuple) else ():
                if y not in found:
                    found.update(dict.fromkeys(_whole(y)))
        found[x] = None
    return list(found)


def read_certificate(text: str, where: str = "a certificate") -> Certificate:
    """The certificate that a JSON text holds; nothing is checked but its form. Raises ArtefactError when it is none."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        wrong(f"it is no JSON: {' '.join(str(error).split())[:120]}", where)
    return _certificate(data, where)


def _certificate(data: Any, where: str, depth: int = 0) -> Certificate:
    if not isinstance(data, dict) or data.get("kind") != KIND:
        wrong("it does not say that it is a certificate", where)
    if data.get("format") != FORMAT:
        raise ArtefactError(
            f"a certificate of format {data.get('format')!r}, and this version reads {FORMAT}",
            where=where,
            mend="derive it anew with this version",
        )
    try:
        graph = parse_graph(read_text(data["graph"], where), f"{where}: graph")
        options = data["options"]
        windows = tuple(_window(w, where) for w in data["windows"])
        parts = tuple(read_int(n, where) for n in data["parts"])
        program = read_program(data["program"], where)
        opening, closing = (tuple(_Reader([], where).step(s) for s in data[k]) for k in ("opening", "closing"))
        rewritings = tuple(read_rewriting(r, where) for r in data.get("rewritings", ()))
        stages = tuple(_certificate(c, where, depth + 1) for c in _inner(data.get("stages", ()), where, depth))
        return Certificate(
            graph, windows, parts, program, options["axes"] is True, options["ieee"] is True, opening, closing,
            rewritings, stages,
        )  # fmt: skip
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        wrong(f"a field is missing or of another kind ({type(error).__name__}: {error})", where)
    except ArtefactError:
        raise
    except TangError as error:
        wrong(error.what, where)


def _inner(stages: Any, where: str, depth: int) -> Any:
    """The stages of a graph in chunks, which have none of their own."""
    if stages and depth:
        wrong("a stage has stages of its own", where)
    return stages


class _Reader:
    """Reads steps and the terms that they are over."""

    def __init__(self, rows: list[Any], where: str) -> None:
        self.where = where
        self.terms: list[Term] = []
        for head, *arguments in rows:
            self.terms.append(Term(read_text(head, where), tuple(map(self.value, arguments))))

    def term(self, n: Any) -> Term:
        number = read_int(n, self.where)
        if not 0 <= number < len(self.terms):
            wrong(f"there is no term {number} before the one that uses it", self.where)
        return self.terms[number]

    def value(self, v: Any) -> Any:
        if isinstance(v, str):
            return v
        if "t" in v:
            return self.term(v["t"])
        return tuple(self.term(n) for n in v["ts"]) if "ts" in v else read_int(v["n"], self.where)

    def step(self, s: dict[str, Any]) -> CertifiedStep:
        where = self.where
        texts = tuple(read_text(t, where) for t in s.get("texts", ()))
        bodies: tuple[Scalar, ...] = ()
        if s["kind"] in ("join", "count"):
            bodies = tuple(parse_graph(t, f"{where}: a step", check=False).outputs[0].body for t in texts)
        return CertifiedStep(
            read_text(s["kind"], where),
            read_text(s["name"], where),
            read_text(s.get("tensor", ""), where),
            tuple(tuple(read_int(n, where) for n in p) for p in s.get("places", ())),
            s.get("reverse", False) is True,
            tuple((n, self.value(v)) for n, v in s.get("bindings", {}).items()),
            self.term(s["before"]) if "before" in s else None,
            self.term(s["after"]) if "after" in s else None,
            tuple(read_text(t, where) for t in s.get("tensors", ())),
            bodies,
            texts,
        )


def _window(data: dict[str, Any], where: str) -> CertifiedWindow:
    reader = _Reader(data["terms"], where)

    def names(listed: list[Any]) -> tuple[str, ...]:
        return tuple(read_text(x, where) for x in listed)

    def written(w: dict[str, Any]) -> Written:
        dtype, source, kind = names([w["dtype"], w["source"], w["kind"]])
        return Written(read_text(w["name"], where), names(w["axes"]), names(w["same"]), dtype, source, kind)

    return CertifiedWindow(
        tuple(reader.step(s) for s in data["steps"]),
        tuple(tuple(written(w) for w in k) for k in data["kernels"]),
        names(data["roots"]),
    )
