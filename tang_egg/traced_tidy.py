"""Fewer tensors in a traced graph: elementwise ones that are read at one place stand where they are read.

A program on arrays names every step of a chain. Named tensors are where a graph may be cut and what may be written to
memory, so a long chain of them only widens the search.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tang_egg.ir import Input, Read, Reduce, Scalar, Scan, Tensor, map_children, tensors_of, walk
from tang_egg.rewrite import inline

MOST = 64
"""Bodies of more nodes keep their own tensor."""


def tidied(outputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The same tensors, with elementwise ones between them inlined where one read is all that reads them.

    A tensor that only copies a fold, turned or with axes of one element, becomes that fold.
    """
    order = tensors_of(outputs)
    uses = Counter(s.source for t in order for s in walk(t.body) if isinstance(s, Read))
    done: dict[Tensor, Tensor] = {}

    def body(s: Scalar) -> Scalar:
        new: dict[Scalar, Scalar] = {}
        for n in walk(s):
            made = map_children(n, new.__getitem__)
            if isinstance(made, Read) and isinstance(n, Read) and isinstance(n.source, Tensor):
                source = done[n.source]
                made = Read(source, made.coordinates, made.at)
                if uses[n.source] == 1 and n.source not in outputs and _inlines(made, n is s):
                    made = inline(made)
            new[n] = made
        return new[s]

    for t in order:
        done[t] = Tensor(t.name, t.axes, body(t.body), t.dtype, t.into, t.at)
    return tuple(done[t] for t in outputs)


def _inlines(read: Read, alone: bool) -> bool:
    """Whether the body of the tensor that is read can stand in its place; `alone`: a tensor is that read, no more."""
    source = read.source
    if isinstance(source, Input) or any(isinstance(c, Scalar) for c in read.coordinates):
        return False
    below = list(walk(source.body))
    if alone:
        return not any(isinstance(s, Scan) for s in below)
    return len(below) <= MOST and not any(isinstance(s, (Reduce, Scan)) for s in below)
