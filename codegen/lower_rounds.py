"""The best few points of a row by rounds: lanes hold keys in registers, and each round finds the best one that is left.

    keys[e] := key(lift at e)                               of this lane's points; no point has the key `nothing`
    own     := max keys
    for r in 0 ... count - 1:
        best[r] := max own of all lanes                     one instruction for a warp, shared memory for a team
        if own = best[r]:  own := max keys below best[r]    one lane, and only its own keys
    state[r] := the value and position that best[r] stands for

Keys are those of codegen/ranking: they tell all points apart, so a lane that owned the best point finds its next one as
the best key below, and nothing is written to drop one. A position is part of its key; the value is read once more.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from tang_egg.affine import Dim, Index, affine
from tang_egg.codegen.device import WARP
from tang_egg.codegen.kernel import (
    Barrier,
    Buffer,
    Call,
    Declare,
    Expr,
    Form,
    Let,
    Literal,
    Load,
    Loop,
    Select,
    Stmt,
    Store,
    Var,
    number,
    variable,
)
from tang_egg.codegen.lower_scan_grid import exchanged
from tang_egg.codegen.lower_scope import Axis, Local
from tang_egg.codegen.lower_state import State
from tang_egg.codegen.lower_turn_grid import Turned
from tang_egg.codegen.ranking import Keys, ranking_of
from tang_egg.errors import CodegenError
from tang_egg.ir import Reduce, Scalar, Tensor, const, walk
from tang_egg.ops import BYTES
from tang_egg.schedule import Schedule

KEY_BYTES = 256
"""Bytes of the keys that a lane holds in registers, at most."""
MOST = 32
"""Rounds that are written out, at most."""
CHAINS = 4
"""Maxima that a lane finds side by side."""
_UNSIGNED = {"i32": "u32", "i64": "u64"}


class Rounds(Turned):
    """See the module text. `votes`: the target has an instruction for the largest number in a warp."""

    votes: bool

    def __init__(self, name: str, outputs: tuple[Tensor, ...], schedule: Schedule) -> None:
        super().__init__(name, outputs, schedule)
        self.went: set[str] = set()

    @staticmethod
    def _wide(index: Index, size: int) -> int:
        """Elements that a lane takes at once: 1 where the axis does not consist of so many."""
        return size if size > 1 and index.size.value and index.size.value % size == 0 else 1

    def by_rounds(self, group: Reduce, state: State, size: int, conditions: list[Scalar]) -> bool:
        """The fold over a whole row, `size` points side by side for each lane; False where it does not go by rounds."""
        ranking = ranking_of(group)
        if ranking is None or ranking.index.name not in self.schedule.rounds:
            return False
        keys = Keys(ranking, self.seats, size)
        if any(slot.axes for slot in state.values()) or self._refused(keys):
            return False
        self.went.add(ranking.index.name)
        held, own = self._hold(keys, conditions), self.array("own", keys.type, [])
        self._name_place(keys, own, self._best(held, keys.type, keys.nothing, lambda key: key), None)
        count, points = 1 + max(state) // 2, ranking.index.size.value
        assert points is not None
        some = bool(conditions) or count > points  # there may be fewer points than rounds
        room, found = self._meeting(keys, count), list[Expr]()
        for r in range(count):
            best = self._largest(Load(own.buffer, number(0), keys.type))
            found.append(best if room is None else self._of_warps(best, room, r))
            if r + 1 < count:
                self._drop(keys, held, own, found[r], some)
        for r, best in enumerate(found):  # after the last exchange: who stores nothing need not read the values
            self._take(keys, state, r, best, some)
        return True

    def _refused(self, keys: Keys) -> str:
        """Why a fold cannot go by rounds; "" where it can."""
        held = keys.held * BYTES[keys.type]
        if held > KEY_BYTES:
            return f"a lane would hold {held} bytes of keys, and {KEY_BYTES} fit: let more warps share a row by team="
        if keys.ranking.count > MOST:
            return f"it takes {keys.ranking.count} rounds, and {MOST} are written out"
        if any(t.into for t in self.outputs):
            return "values are read again after an output may have taken the place of their input"
        return ""

    def _hold(self, keys: Keys, conditions: list[Scalar]) -> Local:
        """The keys of this lane's points, less `_base`: `nothing` where no point counts."""
        ranking, nothing = keys.ranking, Literal(keys.nothing, keys.type)
        rows = self._held_rows(ranking.index, keys.size, [ranking.value])
        blank = Axis(Index(f"{ranking.index.name}~key", affine(keys.held)), affine(0), keys.held)
        local = self.array("keys", keys.type, [blank])
        if conditions or ranking.index.size != affine(keys.places):
            with self.inside(blank):
                self.fill(local, [blank], const(keys.nothing, keys.type))
        with ExitStack() as stack:
            axis, at = stack.enter_context(self.whole_row(ranking.index, keys.size, rows))
            mask = self.enter_conditions(stack, conditions)
            stack.enter_context(self.points([axis] if axis.block else []))
            point = self.axis(ranking.index).start
            place = Form(keys.places + Dim(self.seat) * keys.size - point)  # is known when loops are written out
            key: Expr = Call("add", (self.evaluate(keys.leading()), _cast(place, keys.type)), keys.type)
            for c in reversed(mask):
                key = Select(self.evaluate(c), key, nothing, keys.type)
            self.scope.out.append(Store(local.buffer, Form(point - axis.start + at), key))
        return local

    def _base(self, keys: Keys) -> Expr:
        """What all keys that a lane holds lack: a lane tells its own points apart without its seat."""
        base = Form(keys.last - keys.places - Dim(self.seat) * keys.size)
        return _cast(base, keys.type)

    def _best(self, held: Local, kind: str, start: int, of: Callable[[Expr], Expr]) -> Expr:
        """The largest of `start` and what `of` makes of each key, in chains that do not wait for each other."""
        count = held.buffer.size.value
        assert count is not None
        ways = CHAINS if count % CHAINS == 0 else 1
        best = self.array("best", kind, [Axis(Index("way", affine(ways)), affine(0), ways)]).buffer
        for n in range(ways):
            self.scope.out.append(Store(best, number(n), Literal(start, kind)))
        e, body = self.name("e"), list[Stmt]()
        for n in range(ways):
            key = of(Load(held.buffer, Form(variable(e) + n), held.buffer.type))
            body.append(Store(best, number(n), Call("max", (Load(best, number(n), kind), key), kind)))
        self.scope.out.append(Loop(e, number(0), number(count), ways, "unrolled", tuple(body)))
        found: list[Expr] = [Load(best, number(n), kind) for n in range(ways)]
        while len(found) > 1:
            found = [Call("max", (a, b), kind) for a, b in zip(found[::2], found[1::2], strict=True)]
        return self.keep(found[0])

    def _name_place(self, keys: Keys, own: Local, key: Expr, below: Expr | None) -> None:
        """own := a key that this lane holds with its base, where it is that of a point and less than `below`."""
        nothing = Literal(keys.nothing, keys.type)
        there: Expr = Call("lt", (nothing, key), "bool")
        if below is not None:
            there = Call("and", (there, Call("lt", (key, below), "bool")), "bool")
        whole = Call("add", (key, self._base(keys)), keys.type)
        self.scope.out.append(Store(own.buffer, number(0), Select(there, whole, nothing, keys.type)))

    def _drop(self, keys: Keys, held: Local, own: Local, best: Expr, some: bool) -> None:
        """The lane that owned the best key finds its best one below.

        Less the best and without a sign, the keys below lie above all others, the nearest one highest.
        """
        kind, wide = keys.type, _UNSIGNED[keys.type]
        owned = Call("eq", (Load(own.buffer, number(0), kind), best), "bool")
        if some:
            owned = Call("and", (owned, Call("lt", (Literal(keys.nothing, kind), best), "bool")), "bool")
        with self.branch(owned):
            self.apart.add(self.scope)
            here = self.keep(Call("add", (best, Call("neg", (self._base(keys),), kind)), kind))
            less = self.keep(Call("neg", (here,), kind))

            def distance(key: Expr) -> Expr:
                return Call("bits", (Call("add", (key, less), kind),), wide)

            near = Call("bits", (self._best(held, wide, 0, distance),), kind)
            self._name_place(keys, own, self.keep(Call("add", (near, here), kind)), here)

    # -- all lanes

    def _largest(self, value: Expr) -> Expr:
        """The largest number among the lanes of a warp."""
        if self.votes:
            return self.keep(Call("max_warp", (value,), value.type))
        best, mask = self.keep(value), WARP // 2
        while mask:
            other = self.keep(exchanged(best, mask))
            best = self.keep(Call("max", (best, other), value.type))
            mask //= 2
        return best

    def _meeting(self, keys: Keys, count: int) -> Buffer | None:
        """Room for what each warp of a team finds in each round, so that a round waits once."""
        if not self.team:
            return None
        room = Buffer(self.name("best_shared"), keys.type, "shared", affine(count * self.team))
        self.scope.out.append(Declare(room))
        self.scope.out.append(Barrier())  # what an earlier fold left there has been read
        return room

    def _of_warps(self, best: Expr, shared: Buffer, r: int) -> Expr:
        """The largest number among the warps of a team, of which each lane has that of its own warp."""
        with self.branch(Call("eq", (Var(self.lane, "i64"), number(0)), "bool")):
            self.scope.out.append(Store(shared, Form(variable(self.warp) + r * self.team), best))
        self.scope.out.append(Barrier())
        turn = self.name("turn")
        self.scope.out.append(Let(turn, Call("umod", (Var(self.lane, "i64"), number(self.team)), "i64")))
        return self._largest(Load(shared, Form(variable(turn) + r * self.team), shared.type))

    def _take(self, keys: Keys, state: State, r: int, best: Expr, some: bool) -> None:
        """Entry r of the state becomes what a key stands for; `some`: it may stand for no point."""
        kind, ranking = keys.type, keys.ranking
        there = Call("lt", (Literal(keys.nothing, kind), best), "bool") if some else None
        place = self.name(f"{ranking.index.name}_best")
        with self.branch(there):
            left: Expr = Call("bitand", (best, Literal(keys.last, kind)), kind)
            left = left if kind == "i64" else Call("cast", (left,), "i64")
            self.scope.out.append(Let(place, Call("add", (number(keys.last), Call("neg", (left,), "i64")), "i64")))
            with self.inside(Axis(ranking.index, variable(place))):
                for k, value in ((2 * r, ranking.value), (2 * r + 1, ranking.group.body[1])):
                    if k in state:
                        self.store(state[k], self.evaluate(value))

    # -- what is refused

    def check_rounds(self) -> None:
        """Raises CodegenError where the schedule asks for rounds and no fold over the index went by them."""
        for name in self.schedule.rounds:
            folds = [s for t in self.outputs for s in walk(t.body) if isinstance(s, Reduce)]
            folds = [s for s in folds if any(i.name == name for i in s.indices)]
            if not folds or name in self.went:
                continue
            ranked = [r for s in folds if (r := ranking_of(s)) is not None]
            why = f"'{folds[0].monoid.name}' keeps no best points of an order that keys have"
            if ranked:
                size = self._wide(ranked[0].index, self.schedule.fold_of(name).size)
                why = self._refused(Keys(ranked[0], self.seats, size)) or "the lanes of a warp do not share it"
            raise CodegenError(
                f"the folds over '{name}' cannot go by rounds: {why}",
                where=f"kernel '{self.kernel}', schedule: {self.schedule}",
                mend=f"leave '{name}' out of rounds=; it fits folds such as top_k and argmax with fold={name}:warp:n",
            )


def _cast(place: Form, kind: str) -> Expr:
    """A place as a part of a key."""
    return place if kind == "i64" else Call("cast", (place,), kind)
