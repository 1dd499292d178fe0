"""Views: a reindexing commutes with maps and folds, and is nothing where its indices do not occur.

A view's key names a simultaneous substitution of indices by affine forms or gathered values. Reads are leaves of the
e-graph, so the equality of a read seen through a view with the composed read is a seed: the front end composes the
affine forms and asserts it.
"""

from __future__ import annotations

from tang_egg.rules.law import Condition, Table
from tang_egg.rules.pattern import Name, Var, call, fold, variables, view

table = Table("view")
x, y, z = variables("x y z")
w = Var("w", "bool")
k, op, m, j = Name("k"), Name("op"), Name("m"), Name("j")

table.relation("replaces", "String", "Names", "Names",
               proposition="the view of that key replaces the first indices by forms over the second")

table.law("view.map", view(k, call(op, x)), call(op, view(k, x)), holds="ieee", rounding="exact", proof="View.map",
          phase="views")
table.law("view.map_two", view(k, call(op, x, y)), call(op, view(k, x), view(k, y)), holds="ieee", rounding="exact",
          proof="View.map_two", phase="views")
table.law("view.map_three", view(k, call(op, x, y, z)), call(op, view(k, x), view(k, y), view(k, z)), holds="ieee",
          rounding="exact", proof="View.map_three", phase="views")
UNTOUCHED = Condition(("(replaces k D J)", "(set-not-contains D j)", "(set-not-contains J j)"), "k leaves j alone")
UNSEEN = Condition(("(replaces k D J)", "(= F (fv x))", "(= (set-intersect F D) (set-empty))"),
                   "x free of what k replaces", absent=((x, k),))

# Not run by default: where a view and its reverse meet in one class (a symmetric product seen transposed) it builds
# towers of views without end. Nothing is lost, since extraction sees through a view of a fold by substitution.
table.law("view.fold", view(k, fold(m, j, w, x)), fold(m, j, view(k, w), view(k, x)), when=UNTOUCHED, holds="ieee",
          rounding="exact", proof="View.fold", phase="on_demand")
table.law("view.absent", view(k, x), x, when=UNSEEN, holds="ieee", rounding="exact", proof="View.absent",
          phase="views")
table.seed("view.read", "view(k, T[coordinates]) = T[coordinates under k]", holds="ieee", rounding="exact",
           proof="View.read",
           formal="forall (T : Type) (source : list Z -> T) (cs : list coordinate) (k : substitution),"
           " eqv (Let (view_of k) (Read source cs)) (Read source (map (composed k) cs))")
table.seed("view.compose", "view(k, view(l, x)) = view(k ∘ l, x)", holds="ieee", rounding="exact",
           proof="View.compose", formal="forall (T : Type) (x : sc T) (k l : substitution),"
           " eqv (Let (view_of k) (Let (view_of l) x)) (Let (view_of (compose k l)) x)")
