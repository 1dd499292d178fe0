"""Small spaces with known times, a measurer that gives them, and the best choice by trying all of them."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import tang_egg as te
from tang_egg.cost.roofline import Estimate
from tang_egg.egraph import ClassId
from tang_egg.extract.certify_ledger import Refused, Timed, Trial
from tang_egg.extract.select import Candidate, in_order
from tang_egg.extract.space import Floor, Problem, SpaceKernel, WindowSpace, dominators
from tang_egg.schedule import Schedule

US = 1e-6
_INDEX = te.index("i", 4)
_OUTPUT = (te.tensor("y", _INDEX, te.input("x", (4,))[_INDEX] + 1.0),)


def kernel(name: str, floors: Sequence[float], guesses: Sequence[float] | None = None) -> SpaceKernel:
    """A kernel of so many schedules, named by their chunk; seconds in microseconds."""
    schedules = tuple(Schedule(chunk=n + 1) for n in range(len(floors)))
    known = tuple(Floor(f * US, "memory") for f in floors)
    return SpaceKernel(name, _OUTPUT, schedules, known, tuple(g * US for g in guesses or floors))


def candidate(writes: Sequence[int], reads: Sequence[int], estimate: float) -> Candidate:
    """A candidate over numbered classes."""
    classes = tuple(map(ClassId, writes)), tuple(map(ClassId, reads))
    return Candidate(classes[0], (), (), classes[1], Estimate(estimate * US, 0, 0, 0))


def window(
    candidates: Sequence[Candidate], outputs: Sequence[int], copies: int = 1, picked: tuple[int, ...] = ()
) -> WindowSpace:
    """A window whose n-th candidate runs the n-th kernel."""
    runs, names = tuple((n,) for n in range(len(candidates))), tuple(str(n) for n in range(len(candidates)))
    wanted = tuple(map(ClassId, outputs))
    return WindowSpace(tuple(candidates), wanted, copies, runs, dominators(candidates), picked, names)


@dataclass
class FakeMeasurer:
    """Gives known seconds, with noise from a seed. `wrong`: trials that are refused.

    Every trial takes `each` seconds of the clock, and is given up where that is more than is left; from `stop` trials
    on an interrupt comes.
    """

    times: dict[tuple[str, int], float]
    noise: float = 0.0
    seed: int = 0
    wrong: frozenset[tuple[str, int]] = frozenset()
    each: float = 1.0
    stop: int = 1 << 30
    cache: str = "warm"
    batch: int = 1
    now: float = 0.0
    seen: list[tuple[str, int]] = field(default_factory=list)

    def clock(self) -> float:
        """The seconds that have passed."""
        return self.now

    def measure(self, trials: list[Trial], seconds: float, within: float = math.inf) -> list[Timed | Refused | None]:
        found: list[Timed | Refused | None] = []
        until = self.now + within
        for t in trials:
            at = (t.kernel.key, t.schedule)
            if len(self.seen) >= self.stop:
                raise KeyboardInterrupt
            if self.now + self.each > until:
                self.now, _ = until, found.append(None)
                continue
            self.seen.append(at)
            self.now += self.each
            if at in self.wrong:
                found.append(Refused("wrong", "it is wrong by 1 of its largest value"))
                continue
            shift = random.Random(f"{self.seed} {at}").uniform(-self.noise, self.noise)
            found.append(Timed(self.times[at] * (1 + shift), self.times[at] * self.noise, 9))
        return found


def random_problem(seed: int, classes: int = 5, count: int = 9) -> tuple[Problem, dict[tuple[str, int], float]]:
    """A window of random kernels that can write its outputs, and the times of all schedules, each above its floor."""
    rng = random.Random(seed)
    own = list(range(classes))
    made = [candidate((c,), own[:c][-1:], rng.randint(2, 40)) for c in own]
    for _ in range(count - classes):
        writes = rng.sample(own, rng.choice((1, 1, 2)))
        below = [c for c in own if c not in writes and (c < min(writes) or rng.random() < 0.15)]
        reads = rng.sample(below, min(len(below), rng.choice((0, 1, 2))))
        made.append(candidate(writes, reads, rng.randint(2, 40)))
    kernels, times = [], {}
    for n, k in enumerate(made):
        several = rng.randint(1, 3)
        real = [k.estimate.seconds / US * rng.uniform(0.5, 2.0) for _ in range(several)]
        kernels.append(
            kernel(f"k{n}", [t * rng.uniform(0.1, 0.95) for t in real], [t * rng.uniform(0.5, 2) for t in real])
        )
        times |= {(f"k{n}", s): t * US for s, t in enumerate(real)}
    return Problem(tuple(kernels), (window(made, (classes - 1, classes - 2), picked=tuple(own)),)), times


def best_of_all(
    problem: Problem, times: dict[tuple[str, int], float], wrong: frozenset[tuple[str, int]] = frozenset()
) -> float:
    """The least seconds of any choice of kernels and schedules, by trying every set of candidates of one window."""
    w = problem.windows[0]
    least = [
        min((times[k.key, s] for s in range(len(k.schedules)) if (k.key, s) not in wrong), default=math.inf)
        for k in problem.kernels
    ]
    best = math.inf
    for bits in range(1, 1 << len(w.candidates)):
        chosen = [n for n in range(len(w.candidates)) if bits >> n & 1]
        total = sum(least[k] for n in chosen for k in w.runs[n])
        if total < best and _works(w, chosen):
            best = total
    return best


def _works(w: WindowSpace, chosen: Sequence[int]) -> bool:
    written = {c for n in chosen for c in w.candidates[n].writes}
    return written.issuperset(w.outputs) and len(in_order(w.candidates, chosen)) == len(chosen)
