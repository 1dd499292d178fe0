"""The replay of one window: its steps applied to terms, each checked before it is believed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import NoReturn

from tang_egg.errors import LawError, TangError
from tang_egg.extract.certificate import (
    COUNT,
    JOIN,
    WRITE,
    CertifiedStep,
    CertifiedWindow,
    step_texts,
)
from tang_egg.extract.certificate_explain import BUILD, STORE, Fact, unbuilt
from tang_egg.extract.certificate_match import Rule, rules
from tang_egg.extract.certificate_mean import Meaning
from tang_egg.extract.certificate_program import Ending, Stored, ending_of
from tang_egg.extract.certificate_term import Path, Term, at, ground, instance, malformed, replace_at, walk
from tang_egg.extract.replay_facts import OPEN, Facts
from tang_egg.extract.replay_numbers import WindowNumbers
from tang_egg.extract.replayed import refused
from tang_egg.extract.siblings import count_points, join_siblings
from tang_egg.ir import Scalar
from tang_egg.rules.law import Closure, Entry, Law
from tang_egg.rules.table import entries, equalities
from tang_egg.saturate import encode_window
from tang_egg.unify import unify
from tang_egg.windows import Canonical


class WindowReplay:
    """The replay of one window."""

    def __init__(self, window: CertifiedWindow, shared: Canonical, number: int, ieee: bool, numbers: bool) -> None:
        self.window = window
        self.shared = shared
        self.number = number
        self.ieee = ieee
        self.at = 0
        self.checked: list[str] = []
        self.state: dict[str, Term] = {}
        self.history: dict[str, set[Term]] = {}
        self.bodies: dict[str, Scalar] = {}
        self.counted: set[str] = set()
        self.formed: set[Term] = set()
        self.facts: dict[Fact, str] = {}
        self.named = unify(shared.tensors)
        encoding = encode_window(self.named, shared.tensors, shared.roots)
        self.ground = ground(encoding)
        self.tensors = {t.name: self.ground.terms[encoding.terms[n.body]] for t, n in self.named.items()}
        self.seeds = set(self.ground.seeds)
        self.laws, self.entries = equalities(), entries()
        self.rules = rules()
        indices = {i.name: i for n in self.named.values() for i in n.axes} | encoding.indices
        self.stored: dict[str, Stored] = {}
        for w in (w for kernel in window.kernels for w in kernel):
            stored = Stored.of(w, indices)
            if stored is None or w.name in self.stored:
                raise LawError(
                    f"the tensor '{w.name}' is written twice, or has axes or a type that the window does not know",
                    where=f"window {number}",
                    mend="derive the certificate anew",
                )
            self.stored[w.name] = stored
        self.meaning = Meaning(encoding, self._read)
        self.evidence = Facts(self.ground, self.meaning)
        self.numbers = WindowNumbers(shared) if numbers else None

    def _read(self, name: str) -> Scalar:
        if name not in self.stored:
            raise LawError(f"no tensor '{name}' is written", where="a read of it", mend="derive the certificate anew")
        return self.stored[name].read()

    def run(self) -> Ending:
        """Applies all steps; gives what the window ends in."""
        kinds: Mapping[str, Callable[[CertifiedStep], str]] = {
            "open": self._open,
            "fact": self._fact,
            "law": self._law,
            "store": self._store,
            "build": self._build,
            "count": self._count,
            "join": self._join,
        }
        for n, step in enumerate(self.window.steps, 1):
            self.at = n
            if step.kind not in kinds:
                self._refuse(step, f"there is no kind of step '{step.kind}'")
            wrong = malformed((step.before, step.after, *(v for _, v in step.bindings)), self.formed)
            if wrong:
                self._refuse(step, wrong)
            try:
                self.checked.append(kinds[step.kind](step))
                self._texts(step)
                if self.numbers is not None and step.kind != "fact":
                    self.numbers.compare(self._so_far())
            except TangError as error:
                if isinstance(error, LawError) and error.where.startswith(f"window {self.number}, step"):
                    raise
                self._refuse(step, error.what)
            except (LookupError, TypeError, ValueError, AttributeError, AssertionError, RecursionError):
                # a certificate is data from anywhere: terms that no e-graph holds may not fit together in any way
                self._refuse(step, "its parts do not fit together")
        self._roots()
        return ending_of(self.window.kernels, self.window.roots, self.shared, self.named, self.bodies, self.stored)

    def _roots(self) -> None:
        """Raises LawError unless every root of the window is a written tensor, or was found to equal one."""
        for name, t in zip(self.window.roots, self.shared.roots, strict=False):
            alias = self.state.get(t.name) is Term("Stored", (name,))
            if not alias and self.tensors[t.name] not in self.history.get(name, ()):
                raise refused(
                    f"nothing says that '{t.name}' is what '{name}' holds",
                    f"window {self.number}, after its last step",
                )
        if len(self.window.roots) != len(self.shared.roots) or not set(self.window.roots) <= self.stored.keys():
            raise refused(
                "the certificate does not say which tensors hold the results",
                f"window {self.number}, after its last step",
            )

    def _so_far(self) -> dict[str, tuple[Stored, Scalar]]:
        """All tensors as the steps have made them."""
        found = {n: (self.stored[n], self.bodies[n]) for n in self.bodies if n in self.stored}
        for n, t in self.state.items():
            if n not in self.bodies and n in self.stored:
                found[n] = (self.stored[n], self.meaning.scalar(t))
        return found

    # Steps.

    def _open(self, s: CertifiedStep) -> str:
        """The tensor begins as the graph says."""
        origin = dict(s.bindings).get("tensor")
        whole = self.tensors.get(str(origin))
        here = at(whole, s.paths[0]) if whole is not None and len(s.paths) == 1 else None
        if here is None or here is not s.after:
            self._refuse(s, f"the graph has another term there in '{origin}'")
        if s.tensor in self.state:
            self._refuse(s, f"'{s.tensor}' was opened before")
        self._set(s.tensor, here)
        same = self.stored[s.tensor].written.same if s.tensor in self.stored else ()
        if not all(self.evidence.free_of(here, i) for i in same):
            self._refuse(s, f"'{s.tensor}' is not the same along {', '.join(same)}")
        return "front end"

    def _fact(self, s: CertifiedStep) -> str:
        args = tuple(v for _, v in s.bindings)
        how = self.evidence.check(s.name, args)
        if not how:
            self._refuse(s, f"{self._relation(s.name)} does not hold of its arguments")
        self.facts[(s.name, args)] = how
        return how

    def _relation(self, name: str) -> str:
        known = self.evidence.relations.get(name)
        return f"the fact '{name}' ({known.proposition})" if known else f"the unknown fact '{name}'"

    def _law(self, s: CertifiedStep) -> str:
        left, right = self._rewritten(s)
        if s.reverse:
            left, right = right, left
        entry, rule = self.laws.get(s.name), self.rules.get(s.name)
        if entry is None and rule is None:
            self._refuse(s, "the table has no such law")
        if self.ieee and (entry is None or entry.holds != "ieee"):
            self._refuse(s, "the law holds on finite values only, and the derivation is for all IEEE values")
        if (s.name, left, right) in self.seeds:
            return "front end"
        if rule is None:
            self._refuse(s, "it is an equality of the front end, which does not state it of these terms")
        return self._instance(s, rule, left, right)

    def _instance(self, s: CertifiedStep, rule: Rule, left: Term, right: Term) -> str:
        """Whether a pair of terms is an instance of a law under the bindings, all conditions met."""
        values = dict(s.bindings)
        try:
            sides = [(instance(a, values), instance(b, values)) for a, b in rule.pairs]
            wanted = [(r, tuple(instance(x, values) for x in args)) for r, args in rule.facts]
            values |= {n: instance(p, values) for n, p in rule.equal}
        except LawError as error:
            self._refuse(s, error.what)
        if all(a is not left for a, _ in sides):
            self._refuse(s, f"the place does not hold the law's {'right' if s.reverse else 'left'} side")
        if (left, right) not in sides:
            self._refuse(s, f"what stands there afterwards is not the law's {'left' if s.reverse else 'right'} side")
        how = ["structure"]
        for fact in wanted:
            if fact not in self.facts:
                self._refuse(s, f"no step before it established {self._relation(fact[0])}")
            how.append(self.facts[fact])
        entry = self.entries.get(s.name)
        texts = [f for c in entry.when for f in c.egg] if isinstance(entry, Law) else _given(entry)
        wrong = self.evidence.condition(tuple(texts), values)
        if wrong:
            self._refuse(s, f"a condition of the law does not hold: {wrong}")
        if OPEN in how and not self.evidence.trial.equal(left, right):
            self._refuse(s, "its two sides differ at random inputs")
        return "numbers" if "numbers" in how or OPEN in how else "structure"

    def _store(self, s: CertifiedStep) -> str:
        before, after = self._rewritten(s)
        read, term = (before, after) if s.reverse else (after, before)
        name = str(dict(s.bindings).get("tensor"))
        if s.name != STORE or read is not Term("Stored", (name,)) or name == s.tensor:
            self._refuse(s, "it is no read of another tensor")
        if term not in self.history.get(name, ()):
            self._refuse(s, f"'{name}' has never been this term")
        return "structure"

    def _build(self, s: CertifiedStep) -> str:
        before, after = self._rewritten(s)
        built, cascade = (before, after) if s.reverse else (after, before)
        if s.name != BUILD or built.constructor != "Pass" or unbuilt(built) is not cascade:
            self._refuse(s, "it makes no pass of a cascade")
        monoid, index, _, holes, statistics, names, kept, bodies, carries = built.args
        if bodies != kept or statistics != holes or len(set(names.split(","))) != len(kept):
            self._refuse(s, "a pass begins with the statistics and the folds that it is named after")
        how = "structure"
        for k, c in zip(kept[1:], carries[1:], strict=True):
            fact = ("carried", (monoid, index, k, c))
            if fact not in self.facts:
                self._refuse(s, f"no step before it established {self._relation('carried')}")
            how = "numbers" if self.facts[fact] == "numbers" else how
        mentioned = {x.args[0] for x in walk(*bodies, *carries) if x.constructor in ("Hole", "Delta")}
        if not mentioned <= set(holes):
            self._refuse(s, "the pass lacks a statistic that it mentions")
        return how

    def _count(self, s: CertifiedStep) -> str:
        if s.name != COUNT or len(s.tensors) != 1 or s.tensors[0] not in self.state or s.tensors[0] in self.bodies:
            self._refuse(s, "its tensor is not open")
        if (count_points(self.meaning.scalar(self.state[s.tensors[0]])),) != s.bodies:
            self._refuse(s, "counting the points gives something else")
        self.counted.add(s.tensors[0])
        return "structure"

    def _join(self, s: CertifiedStep) -> str:
        if not s.tensors or any(n not in self.state or n in self.bodies for n in s.tensors):
            self._refuse(s, "not all of its tensors are open")
        plain = tuple(self.meaning.scalar(self.state[n]) for n in s.tensors)
        counted = tuple(count_points(p) for p in plain)
        for n, a, b in zip(s.tensors, plain, counted, strict=True):
            if a is not b and n not in self.counted:
                self._refuse(s, f"the points of '{n}' have not been counted")
        made = join_siblings(counted)
        if s.name != (WRITE if made == counted else JOIN):
            self._refuse(s, "the step has another name")
        if made != s.bodies:
            self._refuse(s, "joining the folds of these tensors gives something else")
        self.bodies.update(zip(s.tensors, made, strict=True))
        return "structure"

    def _rewritten(self, s: CertifiedStep) -> tuple[Term, Term]:
        """What stands at the places of a step before and after it; applies it."""
        whole = self.state.get(s.tensor)
        if whole is None or s.tensor in self.bodies:
            self._refuse(s, f"'{s.tensor}' is not open")
        if s.before is not whole:
            self._refuse(s, f"'{s.tensor}' is another expression before it")
        found = {at(whole, p) for p in s.paths}
        new = {at(s.after, p) for p in s.paths} if s.after is not None else set()
        if len(found) != 1 or len(new) != 1 or _nested(s.paths):
            self._refuse(s, "its places do not hold one and the same term")
        (before,), (after,) = found, new
        if before is None or after is None or replace_at(whole, s.paths, after) is not s.after:
            self._refuse(s, "something else changes than its places")
        self._set(s.tensor, s.after)
        return before, after

    def _set(self, name: str, t: Term | None) -> None:
        assert t is not None
        self.state[name] = t
        self.history.setdefault(name, set()).add(t)

    def _texts(self, s: CertifiedStep) -> None:
        """Texts are for people; they must say what the terms say."""
        if not s.texts:
            return
        if step_texts(s, self.meaning) != s.texts:
            self._refuse(s, "its text does not say what its terms say")

    def _refuse(self, s: CertifiedStep, why: str) -> NoReturn:
        names = s.tensor or ", ".join(s.tensors)
        raise refused(
            f"step {self.at} ({s.name}) does not follow: {why}",
            f"window {self.number}, step {self.at} of {len(self.window.steps)}, tensor '{names}'",
        )


def _given(entry: Entry | None) -> tuple[str, ...]:
    return entry.given if isinstance(entry, Closure) else ()


def _nested(paths: tuple[Path, ...]) -> bool:
    """Whether one of some places lies in another, or stands twice."""
    ordered = sorted(paths)  # what lies in a place comes right after it
    return any(b[: len(a)] == a for a, b in itertools.pairwise(ordered))
