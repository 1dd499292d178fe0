"""Values computed once ahead of a kernel's loops: costly ones that lack output axes over which the loops go.

A kernel may read f(x[j]) under a fold over j for every point of an axis i that f(x[j]) does not have: an activation
before a product with few rows. Where there are not many of them, they are computed once into an array.
"""

from __future__ import annotations

from contextlib import ExitStack

from tang_egg.affine import Affine, Index, affine
from tang_egg.codegen.kernel import Form, number
from tang_egg.codegen.lower_panel import Panels
from tang_egg.codegen.lower_scope import Axis
from tang_egg.codegen.lower_value import COSTLY
from tang_egg.ir import Apply, Read, Reduce, Scalar, Scan, StateRef, Statistic, children, free, walk

MOST = 8192
"""Elements of an array of values computed ahead."""
LEAST = 16
"""Times that a value would be computed from which on it is computed ahead."""
ALONG = 16
"""Points of a line that are computed at once."""


class Ahead(Panels):
    """See the module text."""

    scanned: set[Index]

    def ahead(self) -> None:
        """Writes the arrays, at the start of a kernel."""
        if self.schedule.grid:
            return
        for s in self._costly_of_folds():
            indices = self._line_last(s)
            axes = [Axis(i, affine(0)) for i in indices]
            local = self.array("ahead", self.type(s), axes, tuple(i.size for i in indices))
            *outer, line = indices
            count = line.size.value or 0
            with ExitStack() as stack:
                for i in outer:
                    stack.enter_context(self.loop(i, number(0), Form(i.size)))
                full = count // ALONG * ALONG
                with self.loop(line, number(0), number(full), ALONG, size=ALONG) as block, self.points([block]):
                    self.put(local, axes, self.evaluate(s))
                with self.loop(line, number(full), number(count)):
                    self.put(local, axes, self.evaluate(s))
            self.result(local, axes, s, also=indices)

    def _costly_of_folds(self) -> list[Scalar]:
        """The largest expressions below folds that are worth it."""
        found: dict[Scalar, None] = {}
        seen: set[Scalar] = set()
        stack: list[Scalar] = [b for t in self.outputs for f in walk(t.body) if isinstance(f, Reduce) for b in f.body]
        outputs = {i for t in self.outputs for i in t.axes}
        while stack:
            s = stack.pop()
            if s in seen:
                continue
            seen.add(s)
            if self._worth(s, outputs):
                found[s] = None
            else:
                stack += children(s)
        return list(found)

    def _worth(self, s: Scalar, outputs: set[Index]) -> bool:
        if not isinstance(s, Apply) or s.op == "select" or not free(s) or not self.safe(s):
            return False
        below = list(walk(s))
        if any(isinstance(x, (Reduce, Scan, Statistic, StateRef)) for x in below):
            return False
        if not any(isinstance(x, Apply) and x.op in COSTLY for x in below):
            return False
        points, times = 1, 1
        for i in free(s):
            points *= i.size.value or MOST + 1
        for i in outputs - free(s):
            times *= i.size.value or LEAST
        return points <= MOST and times >= LEAST and not any(i in self.scanned for i in free(s))

    def _line_last(self, s: Scalar) -> list[Index]:
        """The indices of a value, that of the lines it is read along last."""
        order = sorted(free(s), key=lambda i: i.name)
        for r in (x for x in walk(s) if isinstance(x, Read) and x.coordinates):
            c = r.coordinates[-1]
            if isinstance(c, Affine) and (i := c.single()) is not None and i in order:
                return [x for x in order if x is not i] + [i]
        return order
