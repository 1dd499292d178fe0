"""Folds: what is invariant moves out, and the shape of a fold may change where its monoid allows.

`split(b, j, f, u)` is found by walking products only where a sum asks for it (`want`), so that no search for
associativity and commutativity is needed: b = f·u, with f the factors that do not depend on j.
"""

from __future__ import annotations

from tang_egg.rules.law import Table, differ, fact, free_of
from tang_egg.rules.pattern import ONE, TRUE, ZERO, Name, Var, call, fold, sum_, variables

table = Table("fold")
b, c, f, u, x, n = variables("b c f u x n")
w = Var("w", "bool")
i, j, m = Name("i"), Name("j"), Name("m")

table.relation("want", "Sc", "String", proposition="a demand only; it claims nothing")
table.relation("split", "Sc", "String", "Sc", "Sc", proposition="1st = 3rd · 4th, and the 3rd does not depend on 2nd")
table.relation("extent", "String", "Sc", proposition="the 2nd is the number of points of the index")
table.relation("inverse_extent", "String", "Sc", proposition="the 2nd is one over the number of points of the index")

_ONE = ONE.egg()
table.closure("fold.want_sum", given=('(= e (Red "sum" j w b))',), then=("(want b j)",), phase="hoist",
              proof="Fold.want_sum")
table.closure("fold.want_product", given=("(want e j)", '(= e (Ap2 "mul" x y))'), then=("(want x j)", "(want y j)"),
              phase="hoist", proof="Fold.want_product")
table.closure("fold.want_negated", given=("(want e j)", '(= e (Ap1 "neg" x))'), then=("(want x j)",), phase="hoist",
              proof="Fold.want_negated")
table.closure("fold.split_invariant", given=("(want b j)", "(= F (fv b))", "(set-not-contains F j)"),
              then=(f"(split b j b {_ONE})",), phase="hoist", proof="Fold.split_invariant")
_ATOMS = {
    "leaf": ("(= b (Leaf k))",), "gather": ("(= b (Gather k v))",), "view": ("(= b (Let k x))",),
    "map": ("(= b (Ap1 op x))", '(!= op "neg")'), "map_two": ("(= b (Ap2 op x y))", '(!= op "mul")'),
    "map_three": ("(= b (Ap3 op x y z))",), "fold": ("(= b (Red m i w x))",), "product": ("(= b (Fold k p i w v))",),
    "scan": ("(= b (Scn k p i q v))",),
}
for _kind, _is in _ATOMS.items():
    table.closure(f"fold.atom_{_kind}", given=("(want b j)", *_is, "(= F (fv b))", "(set-contains F j)"),
                  then=(f"(split b j {_ONE} b)",), phase="hoist", proof=f"Fold.atom_{_kind}")
table.closure("fold.split_product", given=("(want e j)", '(= e (Ap2 "mul" x y))', "(split x j f u)", "(split y j g v)",
                                           "(= F (fv e))", "(set-contains F j)"),
              then=('(split e j (Ap2 "mul" f g) (Ap2 "mul" u v))',), phase="hoist", proof="Fold.split_product")
table.closure("fold.split_negated", given=("(want e j)", '(= e (Ap1 "neg" x))', "(split x j f u)"),
              then=('(split e j f (Ap1 "neg" u))',), phase="hoist", proof="Fold.split_negated")

# A fold over no points is the identity, whatever the factor is: a factor that may be infinite (a reciprocal of a sum
# over the same points, say) moves out plainly only where the domain surely has points, and under a select elsewhere.
SPLIT = (fact("split", b, j, f, u, says="b = f·u with f free of j", defines=((b, f * u),), absent=((f, j),)),
         differ(f, ONE))
table.law("fold.hoist", sum_(j, w, b), f * sum_(j, w, u),
          when=(*SPLIT, fact("inhabited", j, w, says="some j satisfies w")),
          holds="finite", rounding="rescales", proof="Fold.hoist", phase="hoist")
table.law("fold.hoist_finite", sum_(j, w, b), f * sum_(j, w, u), when=(*SPLIT, fact("finite", f, says="f is finite")),
          holds="finite", rounding="rescales", proof="Fold.hoist_finite", phase="hoist")
table.law("fold.hoist_guarded", sum_(j, w, b), call("select", fold("any", j, w, TRUE), f, ZERO) * sum_(j, w, u),
          when=(*SPLIT, fact("doubtful", j, w, says="perhaps no j satisfies w")),
          holds="finite", rounding="rescales", proof="Fold.hoist_guarded", phase="hoist")
table.law("fold.hoist_negation", sum_(j, w, -x), -sum_(j, w, x), holds="ieee", rounding="exact",
          proof="Fold.hoist_negation", phase="hoist")
table.law("fold.hoist_shift", fold("max", j, TRUE, c + x), c + fold("max", j, TRUE, x), when=free_of(c, j),
          holds="finite", rounding="rescales", proof="Fold.hoist_shift", phase="hoist")
table.law(
    "fold.mean", sum_(j, TRUE, x) * call("recip", n), sum_(j, TRUE, x) * call("recip", sum_(j, TRUE, ONE)),
    when=fact("extent", j, n, says="n is the size of j", defines=((n, sum_(j, TRUE, ONE)),)),
    holds="ieee", rounding="exact", proof="Fold.mean",
)
table.law(
    "fold.mean_constant", sum_(j, TRUE, x) * n, sum_(j, TRUE, x) * call("recip", sum_(j, TRUE, ONE)),
    when=fact("inverse_extent", j, n, says="n is one over the size of j",
              defines=((n, call("recip", sum_(j, TRUE, ONE))),)),
    holds="ieee", rounding="reassociates", proof="Fold.mean_constant",
)

# Found by tang-discover (docs/discover.md): what keeps the order of values leaves a maximum or minimum.
INHABITED = fact("inhabited", j, w, says="some j satisfies w", inhabited=((j, w),))
POSITIVE = fact("positive", c, says="c > 0", positive=(c,))
for _m in ("max", "min"):
    table.law(f"fold.{_m}_scaled", fold(_m, j, w, c * x), c * fold(_m, j, w, x), when=(free_of(c, j), POSITIVE),
              holds="finite", rounding="exact", proof=f"Fold.{_m}_scaled", phase="hoist")
    table.law(f"fold.{_m}_exp", fold(_m, j, w, call("exp", x)), call("exp", fold(_m, j, w, x)),
              when=(INHABITED,) if _m == "max" else (),  # over no points a minimum is inf, and so is its exponential
              holds="ieee", rounding="reassociates", proof=f"Fold.{_m}_exp", phase="hoist")

# A fold is a fold of shares, each folded to a state of its own. Extraction asserts these where it is asked to
# (extract/split.py, extract/shard.py): a stored state of plain components is a lift; followers move to the statistics
# that they are folded at.
SHARES = (
    "forall (T : Type) (m : monoid T) (j r k : string) (n : nat) (w : sc bool) (x : sc T), j <> r -> j <> "
    "k -> r <> k -> size k = n -> (size j <= size r * n)%nat -> free w r -> free w k -> free x r -> free "
    "x k -> let at_ := view_of [(j, Form (0%Z, [(Z.of_nat n, r); (1%Z, k)]))] in eqv (Red m j w x) (Red m "
    "r (Lit true) (Red m k (Ap2 andb (fun e => (at_ e j <? Z.of_nat (size j))%Z) (Let at_ w)) (Let at_ "
    "x)))"
)
SHARES_OF_A_PASS = (
    "forall (o : monoid xr) (j : string) (w : sc bool) (b f : sc xr) (t : kept) (at_ : nat -> "
    "statistic_value -> R) (shares : list (list Z)), abstracts b j f -> carried o j f t -> forall e, ok e "
    "-> concat shares = points j w e -> Red o j w b e = fold_right (op o) (unit_ o) (map (fun s => carry "
    "o j t (snd s) (at_ (fst s)) e) (combine (seq 0 (length shares)) shares))"
)
"""Shares of a fold and of a pass in Rocq (see Seed)."""
table.seed("fold.split", "fold[m, j](x) = fold[m, r](fold[m, k](x[j := r·n + k], where=r·n + k in range))",
           holds="finite", rounding="reassociates", proof="Fold.split", formal=SHARES)
table.seed("fold.split_state", "pass[j](f, at=s, carry=t) = pass[r](t(state r, from=s(state r)), at=s, carry=t),"
           " state r = pass[k](f[j := r·n + k], at=s, carry=t)",
           holds="finite", rounding="rescales", proof="Fold.split_state", formal=SHARES_OF_A_PASS)

# Kept in the table and tried, but not run by default: a schedule splits and interchanges folds without a rewrite
# (the monoid's properties are its licence), and linearity may cancel.
table.law("fold.interchange", sum_(i, TRUE, sum_(j, TRUE, x)), sum_(j, TRUE, sum_(i, TRUE, x)),
          when=differ(i, j), holds="finite", rounding="reassociates", proof="Fold.interchange", phase="on_demand")
table.law("fold.linear", sum_(j, w, b + c), sum_(j, w, b) + sum_(j, w, c), holds="finite", rounding="algebraic",
          proof="Fold.linear", phase="algebraic")

# The order of a chain of products: (q kᵀ) v = q (kᵀ v). What is taken apart is a sum that stands in a sum of products.
# Folds in chunks ask for it (extract/chunk.py). Elsewhere it is tried where sizes say that the sum that moves inside is
# the longer one, so that what would be stored shrinks, and no domain ties it to what is outside; costs decide. Run on
# every chain, it moves one-hot sums into products, where costs do not see that the fold would be gone.
y = Var("y")
CHAINS = ('(Ap2 "mul" (Red "sum" i v b) y)', '(Ap2 "mul" y (Red "sum" i v b))')
for _side, _chain in zip(("left", "right"), CHAINS, strict=True):
    table.closure(f"fold.want_chain_{_side}", given=(f'(= e (Red "sum" j w {_chain}))',), then=("(want b j)",),
                  phase="on_demand", proof=f"Fold.want_chain_{_side}")
table.law("fold.reassociate", sum_(j, w, sum_(i, TRUE, b) * y), sum_(i, TRUE, f * sum_(j, w, u * y)),
          when=(*SPLIT, differ(u, ONE), differ(i, j), free_of(y, i), free_of(w, i)), holds="finite",
          rounding="reassociates", proof="Fold.reassociate", phase="on_demand")
table.relation("shorter", "String", "String",
               proposition="a demand: a sum over the 2nd inside one over the 1st, which is longer; claims nothing")
for _name, _chain in (("left", CHAINS[0]), ("right", CHAINS[1]), ("alone", '(Red "sum" i v b)')):
    table.closure(f"fold.want_shorter_{_name}", given=("(shorter j i)", f'(= e (Red "sum" j w {_chain}))'),
                  then=("(want b j)",), phase="hoist", proof=f"Fold.want_shorter_{_name}")
SHORTER = fact("shorter", j, i, says="i has fewer points than j")
table.law("fold.reassociate_shorter", sum_(j, TRUE, sum_(i, TRUE, b) * y), sum_(i, TRUE, f * sum_(j, TRUE, u * y)),
          when=(SHORTER, *SPLIT, differ(u, ONE), differ(i, j), free_of(y, i)), holds="finite",
          rounding="reassociates", proof="Fold.reassociate_shorter", phase="hoist")
table.law("fold.interchange_shorter", sum_(j, TRUE, sum_(i, TRUE, b)), sum_(i, TRUE, f * sum_(j, TRUE, u)),
          when=(SHORTER, *SPLIT, differ(u, ONE), differ(i, j)), holds="finite",
          rounding="reassociates", proof="Fold.interchange_shorter", phase="hoist")
