"""Scans: a prefix fold is a scan, and a scan may be evaluated by chunks because its monoid is associative."""

from __future__ import annotations

from tang_egg.rules.law import Table

table = Table("scan")
table.relation("chunked", "String", "i64", proposition="a chunk size on offer for scans over the index; claims nothing")
table.seed("scan.prefix", "fold[m, s](x[s], where=s ≤ t) = scan[m, t](x[t])", holds="ieee", rounding="exact",
           proof="Scan.prefix", formal="forall (V T : Type) (m : keyed V) (p : state m -> T),"
           " forall (s t : string) (x : closed V),"
           " s <> t -> size s = size t -> (forall e, ok e -> (0 <= pos e t < Z.of_nat (size t))%Z) ->"
           " (forall q v, x (move_to t v q) = x q) ->"
           " eqv (Fold m p [s] (fun e => (pos e s <=? pos e t)%Z) x) (Scn m p t 0 (fun q => x (move_to s (q t) q)))")
# What a fold over what has passed says of the point itself leaves it, so that the rest is a scan.
table.seed("scan.prefix_scaled", "Σ[s](c[t]·x[s], where=s ≤ t) = c[t]·scan[sum, t](x[t])", holds="finite",
           rounding="rescales", proof="Scan.prefix_scaled",
           formal="forall (c x h : nat -> R), h 0%nat = x 0%nat -> (forall t, h (S t) = (h t + x (S t))%R) ->"
           " forall t, (c t * h t)%R = sum_f_R0 (fun s => (c t * x s)%R) t")
table.seed("scan.prefix_shifted", "fold[m, s](c[t] + x[s], where=s ≤ t) = c[t] + scan[m, t](x[t]), m max or min",
           holds="finite", rounding="rescales", proof="Scan.prefix_shifted",
           formal="forall (m : R -> R -> R) (c x h : nat -> R) (g : nat -> nat -> R), m = Rmax \\/ m = Rmin ->"
           " h 0%nat = x 0%nat -> (forall t, h (S t) = m (h t) (x (S t))) ->"
           " (forall t, g t 0%nat = (c t + x 0%nat)%R) ->"
           " (forall t s, g t (S s) = m (g t s) (c t + x (S s))%R) -> forall t, g t t = (c t + h t)%R")
table.closure("scan.chunk", given=("(= e (Scn m p t 0 v))", "(chunked t n)"),
              then=("(union e (Scn m p t n v))", '(edge "scan.chunk" (N_Scn m p t 0 v) (N_Scn m p t n v))'),
              phase="simplify", proof="Scan.chunk")

# Sums with weights, in chunks. Extraction asserts these where it is asked to (extract/chunk.py).
table.seed("scan.chunks", "fold[m, s](x[t, s], where=s ≤ t) = fold[m, r](fold[m, b](x[t, s := n·r + b]), where=r < u)"
           " ∘ fold[m, b](x[t, s := n·u + b], where=n·u + b ≤ t),  u = t div n",
           holds="finite", rounding="reassociates", proof="Scan.chunks",
           formal="forall (T : Type) (m : monoid T) (n t : nat) (x : nat -> T), (0 < n)%nat -> let over k y :="
           " fold_right (op m) (unit_ m) (map y (seq 0 k)) in over (S t) x = op m (over (t / n)%nat (fun r =>"
           " over n (fun b => x (n * r + b)%nat))) (over (S (t mod n)) (fun b => x (n * (t / n) + b)%nat))")
table.seed("scan.decay", "Σ[s](exp(A[t] - A[s])·x[s], where=s ≤ t) = scan[affine, t](exp(A[t] - A[t - 1]), x[t]).b",
           holds="finite", rounding="rescales", proof="Scan.decay",
           formal="forall (A x : nat -> R) (h : nat -> R), h 0%nat = x 0%nat ->"
           " (forall t, h (S t) = (exp (A (S t) - A t) * h t + x (S t))%R) ->"
           " forall t, h t = sum_f_R0 (fun s => (exp (A t - A s) * x s)%R) t")
