"""Certificates and replays as text and Markdown: every step, under the canonical names of its window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tang_egg.extract.certificate import Certificate, CertifiedStep
from tang_egg.extract.certificate_term import place_text, term_text
from tang_egg.extract.replayed import Replayed
from tang_egg.extract.rewriting import Rewriting
from tang_egg.report_format import count

_HOW = {
    "front end": "by what the graph says",
    "structure": "by how the terms are made",
    "numbers": "on random numbers in float64",
    "demand": "by facts that claim nothing",
    "open": "by both sides of the law that uses them",
}


def replay_text(certificate: Certificate, done: Replayed) -> str:
    """What a replay found, in a few lines."""
    hows = Counter(how for window in done.checked for how in window)
    laws = dict.fromkeys(s.name for s in certificate.steps if s.kind in ("law", "rewrite"))
    kernels = sum(len(p.kernels) for p in done.ending)
    lines = [
        f"{count(len(certificate.steps), 'step')} from '{certificate.graph.name}' to "
        f"{count(kernels, 'kernel')}: each follows, and the end is the program of the certificate",
        f"laws: {', '.join(laws) or 'none was needed'}",
        *(f"{count(n, 'step')} checked {_HOW.get(how, how)}" for how, n in hows.most_common()),
        *(f"{_asked(r)}: {how}" for r, how in zip(certificate.rewritings, done.rewritten, strict=True)),
    ]
    return "\n".join(lines) + "\n"


def _asked(r: Rewriting) -> str:
    return f"{r.kind} by {', '.join(f'{k}: {v}' for k, v in r.asked)}"


def render_certificate(certificate: Certificate, *, markdown: bool = False) -> str:
    """A certificate step by step: law, direction, tensor, places and bindings; with its texts, where it has them."""
    return "\n".join(_lines(certificate, markdown)) + "\n"


def _lines(certificate: Certificate, markdown: bool) -> Iterator[str]:
    title = f"Derivation of {certificate.graph.name}"
    yield f"# {title}" if markdown else title
    for n, s in enumerate(certificate.steps, 1):
        yield from ("", f"{n}. **{_head(s)}**" if markdown else f"{n}. {_head(s)}")
        body = list(_body(s))
        if body and markdown:
            yield from ("", "   ```text", *(f"   {line}" for line in body), "   ```")
        else:
            yield from (f"   {line}" for line in body)


def _head(s: CertifiedStep) -> str:
    names = s.tensor or ", ".join(s.tensors)
    return f"{s.kind} {s.name}{' (right to left)' if s.reverse else ''}{f' in {names}' if names else ''}"


def _body(s: CertifiedStep) -> Iterator[str]:
    for path in s.paths:
        where = place_text(s.before, path) if s.before is not None else ".".join(map(str, path)) or "all of it"
        yield f"at {where}"
    for name, value in s.bindings:
        text = term_text(value)
        yield f"{name} = {text if len(text) <= 400 else f'{text[:399]}…'}"
    for text in s.texts:
        yield from (f"| {line}" for line in text.rstrip("\n").split("\n"))
