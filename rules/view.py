"""Views: a reindexing commutes with maps and folds, and is nothing where its indices do not occur.

A view's key names a simultaneous substitution of indices by affine forms or gathered values. Reads are leaves of the
e-graph, so the equality of a read seen through a view with the composed read is a seed: the front end composes the
affine forms and asserts it.
"""

from __future__ import annotations

from tang_egg.rules.law import Table
from tang_egg.rules.pattern import Name, call, variables, view

table = Table("view")
x, y, z = variables("x y z")
k, op = Name("k"), Name("op")

table.relation("replaces", "String", "Names", "Names",
               proposition="the view of that key replaces the first indices by forms over the second")
table.relation("enters", "String", "String", proposition="a fold over that index may be moved out of the view's scope")

table.law("view.map", view(k, call(op, x)), call(op, view(k, x)), holds="ieee", rounding="exact", proof="View.map",
          phase="views")
table.law("view.map_two", view(k, call(op, x, y)), call(op, view(k, x), view(k, y)), holds="ieee", rounding="exact",
          proof="View.map", phase="views")
table.law("view.map_three", view(k, call(op, x, y, z)), call(op, view(k, x), view(k, y), view(k, z)), holds="ieee",
          rounding="exact", proof="View.map", phase="views")
table.seed("view.read", "view(k, T[coordinates]) = T[coordinates under k]", holds="ieee", rounding="exact",
           proof="View.compose")
table.seed("view.compose", "view(k, view(l, x)) = view(k ∘ l, x)", holds="ieee", rounding="exact",
           proof="View.compose")
