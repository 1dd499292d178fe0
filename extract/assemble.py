"""From chosen candidates to tensors: the kernels of one window, under canonical names."""

from __future__ import annotations

from dataclasses import dataclass

from tang_egg.affine import Index, affine
from tang_egg.cost.roofline import Costs
from tang_egg.egraph import ClassId
from tang_egg.extract.derive import Derivations, Step
from tang_egg.extract.select import Selection, select
from tang_egg.extract.terms import Terms
from tang_egg.ir import Input, Read, Source, Tensor, type_of
from tang_egg.ops import BYTES
from tang_egg.saturate import Limits, Saturation, saturate_window
from tang_egg.unify import unify
from tang_egg.windows import Canonical, replace_sources


@dataclass(frozen=True, slots=True)
class WindowKernel:
    """One kernel of a window: the tensors it writes and the derivation that led there."""

    outputs: tuple[Tensor, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class WindowResult:
    """What became of one distinct window. `roots` gives for each root the tensor that holds it."""

    saturation: Saturation
    terms: Terms
    selection: Selection
    kernels: tuple[WindowKernel, ...]
    roots: dict[Tensor, Tensor]


def optimize_window(window: Canonical, costs: Costs, limits: Limits) -> WindowResult:
    """Saturates a window and picks its kernels."""
    named = unify(window.tensors)
    saturation = saturate_window(named, window.tensors, window.roots, limits)
    terms = Terms(saturation, costs, real=_real(window), daring=limits.algebraic)
    roots = saturation.snapshot.roots
    classes = {t: roots[saturation.encoding.terms[named[t].body]] for t in window.tensors}
    ordered = [*window.roots, *(t for t in window.tensors if t not in window.roots)]
    terms.run((t, named[t].axes, classes[t]) for t in ordered)
    selection = select(terms, tuple(dict.fromkeys(classes[t] for t in window.roots)), costs)
    return _assemble(window, terms, selection, classes, {t: named[t].axes for t in window.roots})


def reassembled(window: Canonical, result: WindowResult, selection: Selection) -> WindowResult:
    """The same window with other kernels selected."""
    encoding, roots = result.terms.saturation.encoding, result.terms.saturation.snapshot.roots
    classes = {t: roots[encoding.terms[encoding.named[t].body]] for t in window.tensors}
    return _assemble(window, result.terms, selection, classes, {t: encoding.named[t].axes for t in window.roots})


def written_outside(result: WindowResult) -> tuple[ClassId, ...]:
    """The classes that kernels of a window must write, by what its roots are."""
    roots, encoding = result.saturation.snapshot.roots, result.saturation.encoding
    return tuple(dict.fromkeys(roots[encoding.terms[encoding.named[t].body]] for t in result.roots))


def _real(window: Canonical) -> str:
    """Storage of real values between kernels: double only where the caller's own buffers are."""
    wide = any(s.dtype == "f64" for s in window.outside) or any(t.dtype == "f64" for t in window.roots)
    return "f64" if wide else "f32"


def _assemble(
    window: Canonical,
    terms: Terms,
    selection: Selection,
    classes: dict[Tensor, ClassId],
    axes: dict[Tensor, tuple[Index, ...]],
) -> WindowResult:
    derivations = Derivations(terms)
    owner: dict[ClassId, Tensor] = {}
    for t in sorted(window.roots, key=lambda t: -BYTES[t.dtype]):  # the widest: others are copies of it
        owner.setdefault(classes[t], t)
    stored: dict[Input, Tensor] = {}
    written: dict[ClassId, Tensor] = {}

    def source(s: Source) -> Source:
        return stored.get(s, s) if isinstance(s, Input) else s

    kernels: list[WindowKernel] = []
    for k in selection.chosen:
        outputs: list[Tensor] = []
        for c, term in zip(k.writes, k.terms, strict=True):
            root = owner.get(c)
            body = replace_sources(term, source)
            dtype = root.dtype if root else terms.storage(c, type_of(term))
            made = Tensor(terms.names.get(c, f"part{c.number}"), terms.axes[c], body, dtype)
            outputs.append(made)
            written[c] = made
        for c, term in zip(k.writes, k.terms, strict=True):
            stored[terms.placeholder(c, type_of(term))] = written[c]
        kernels.append(WindowKernel(tuple(outputs), derivations.of(k.variants)))
    roots: dict[Tensor, Tensor] = {}
    for t in window.roots:
        held = written[classes[t]]
        if held.dtype != t.dtype or held.axes != axes[t] or owner[classes[t]] is not t:
            # along an axis that only the stored tensor has, all its elements are the same
            at = tuple(affine(i) if i in axes[t] else affine(0) for i in held.axes)
            held = Tensor(f"{t.name}_copy", axes[t], Read(held, at), t.dtype)
            kernels.append(WindowKernel((held,), ()))
        roots[t] = held
    return WindowResult(terms.saturation, terms, selection, tuple(kernels), roots)
