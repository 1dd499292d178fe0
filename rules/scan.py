"""Scans: a prefix fold is a scan, and a scan may be evaluated by chunks because its monoid is associative."""

from __future__ import annotations

from tang_egg.rules.law import Table

table = Table("scan")
table.relation("chunked", "String", "i64", proposition="a chunk size on offer for scans over the index; claims nothing")
table.seed("scan.prefix", "fold[m, s](x[s], where=s ≤ t) = scan[m, t](x[t])", holds="ieee", rounding="exact",
           proof="Scan.prefix")
table.closure("scan.chunk", given=("(= e (Scn m p t 0 v))", "(chunked t n)"),
              then=("(union e (Scn m p t n v))", '(edge "scan.chunk" (N_Scn m p t 0 v) (N_Scn m p t n v))'),
              phase="simplify", proof="Scan.chunk")
