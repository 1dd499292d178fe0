(** Written by `python -m proofs.generate` from the law table: do not edit. *)
From Coq Require Import Reals ZArith String List.
From TangEgg Require Import Semantics Forms.
Import ListNotations.
Open Scope R_scope.

(** Relations of the table and what their facts stand for:
    replaces: the view of that key replaces the first indices by forms over the second
    inhabited: whatever the other indices are, some point of the index satisfies the 2nd
    doubtful: a demand: the 2nd may hold nowhere; claims nothing
    finite: anywhere, on finite inputs, it is finite, unless arithmetic overflows
    positive: anywhere, on finite inputs, it is finite and above 0, unless arithmetic overflows or underflows
    neutral: the second is the identity of the monoid that the first names
    implies: wherever the 1st holds, the 2nd holds
    want: a demand only; it claims nothing
    split: 1st = 3rd · 4th, and the 3rd does not depend on 2nd
    extent: the 2nd is the number of points of the index
    inverse_extent: the 2nd is one over the number of points of the index
    shorter: a demand: a sum over the 2nd inside one over the 1st, which is longer; claims nothing
    member: the 3rd is a fold over that index on the domain that is 2nd
    seek: a demand: look here for statistics of the index; claims nothing
    plain: a demand: computed from folds over the index; claims nothing
    statistic: the 1st contains a fold over the index and does not depend on it
    abstracts: 1st = 3rd with each hole(m) replaced by m, which is a statistic of the index
    moving: a demand: find how this moves when h shifts; claims nothing
    scales: 1st[h + δ] = 2nd · 1st
    moves: 1st[h + δ] = 1st + 2nd
    mixes: 1st[h + δ] = 2nd · 1st + 3rd
    keeps: a demand: carry this fold of the 2nd over the index; the 2nd does not mention δ
    sums: a demand: sum this over the index; claims nothing
    carried: the 1st's fold of 3rd[h + δ] over the index = 4th, kept(g) and total(g) being folds of g
    spreading: a demand: look for sums to take apart; claims nothing
    spreads: 1st = 3rd + 4th
    chunked: a chunk size on offer for scans over the index; claims nothing
    position: the 1st is the position along the index
    shifted: the 1st plus the 3rd is the position along the index
    points: the 2nd is the number of points of the index, an integer
    opposite: the 1st and the 2nd hold just where index = 4th
    within: the 2nd is a position along the index, wherever it is evaluated
    reads: the read of the 1st key with a value in the place of the index is the gather of the 3rd
    ascending: the 1st does not decrease along the index and is over it what the 3rd is over the 4th
    compares: equal, less, less or equal of one integer type
    sift: a demand: take comparisons with the index out of this conjunction; claims nothing
    matches: the 1st holds just where the index is 3rd, free of it
    half: 1st = 3rd ∧ 4th
    point: 1st = (index = 3rd) ∧ 4th, the 3rd free of the index
    apart: 1st = 3rd ∧ 4th, the 3rd free of the index
    hunt: a demand: look here for sums with points; claims nothing
    pins: the 1st is false except at one position of the index at most
    hot: a demand: terms that are 0 but at points are summed; claims nothing
    scattered: 1st = Σ 5th over the 3rd, an index, on the domain 4th, which holds at points of the 2nd
    only_gathered: the affine coordinates of the gather do not mention the index
    widens: the operation of that name keeps the order of integers
*)

Section Statements.
Context {the_world : world} {the_integers : integers}.

(** an analysis *)
Definition fv_lit : Prop :=
    forall (T1 : Type) (e : sc T1) (v : T1),
    eqv e (Lit v) ->
    depends e set_empty.

(** an analysis *)
Definition fv_ap1 : Prop :=
    forall (T1 T2 : Type) (e : sc T1) (op : T2 -> T1) (a : sc T2) (A : names),
    eqv e (Ap1 op a) ->
    depends a A ->
    depends e A.

(** an analysis *)
Definition fv_ap2 : Prop :=
    forall (T1 T2 T3 : Type) (e : sc T1) (op : T2 -> T3 -> T1) (a : sc T2) (b : sc T3) (A : names) (B : names),
    eqv e (Ap2 op a b) ->
    depends a A ->
    depends b B ->
    depends e (set_union A B).

(** an analysis *)
Definition fv_ap3 : Prop :=
    forall (T1 T2 T3 T4 : Type) (e : sc T1) (op : T2 -> T3 -> T4 -> T1) (a : sc T2) (b : sc T3) (c : sc T4) (A : names) (B : names) (C : names),
    eqv e (Ap3 op a b c) ->
    depends a A ->
    depends b B ->
    depends c C ->
    depends e (set_union A (set_union B C)).

(** an analysis *)
Definition fv_red : Prop :=
    forall (T1 : Type) (e : sc T1) (m : monoid T1) (j : string) (w : sc bool) (b : sc T1) (W : names) (B : names),
    index j ->
    eqv e (Red m j w b) ->
    depends w W ->
    depends b B ->
    depends e (set_remove (set_union W B) j).

(** an analysis *)
Definition fv_let : Prop :=
    forall (T1 : Type) (e : sc T1) (k : view) (a : sc T1) (A : names) (D : names) (J : names),
    eqv e (Let k a) ->
    depends a A ->
    replaces k D J ->
    depends e (set_union (set_diff A D) J).

(** an analysis *)
Definition fv_at : Prop :=
    forall (T1 : Type) (e : sc T1) (j : string) (c : sc int) (a : sc T1) (C : names) (A : names),
    placed j c ->
    index j ->
    eqv e (At j c a) ->
    depends c C ->
    depends a A ->
    depends e (set_union C (set_remove A j)).

(** an analysis *)
Definition fv_hole : Prop :=
    forall (e : sc xr) (m : sc xr),
    eqv e (Hole m) ->
    depends e (set_of [HOLE]).

(** an analysis *)
Definition fv_delta : Prop :=
    forall (e : sc xr) (m : sc xr),
    eqv e (Delta m) ->
    depends e (set_of [DELTA]).

(** an analysis *)
Definition fv_keep : Prop :=
    forall (e : sc xr) (folds : folds) (a : sc xr),
    eqv e (Keep folds a) ->
    depends e set_empty.

(** an analysis *)
Definition finished_red : Prop :=
    forall (T1 : Type) (e : sc T1) (m : monoid T1) (j : string) (w : sc bool) (b : sc T1),
    index j ->
    eqv e (Red m j w b) ->
    True.

(** an analysis *)
Definition finished_below : Prop :=
    forall (T1 : Type) (e : sc T1) (m : monoid T1) (i : string) (w : sc bool) (b : sc T1) (j : string),
    index i ->
    index j ->
    eqv e (Red m i w b) ->
    True.

(** an analysis *)
Definition finished_ap1 : Prop :=
    forall (T1 T2 : Type) (e : sc T1) (op : T2 -> T1) (a : sc T2) (j : string),
    index j ->
    eqv e (Ap1 op a) ->
    True.

(** an analysis *)
Definition finished_left : Prop :=
    forall (T1 T2 T3 : Type) (e : sc T1) (op : T2 -> T3 -> T1) (a : sc T2) (b : sc T3) (j : string),
    index j ->
    eqv e (Ap2 op a b) ->
    True.

(** an analysis *)
Definition finished_right : Prop :=
    forall (T1 T2 T3 : Type) (e : sc T1) (op : T2 -> T3 -> T1) (a : sc T2) (b : sc T3) (j : string),
    index j ->
    eqv e (Ap2 op a b) ->
    True.

(** an analysis *)
Definition finished_first : Prop :=
    forall (T1 T2 T3 T4 : Type) (e : sc T1) (op : T2 -> T3 -> T4 -> T1) (a : sc T2) (b : sc T3) (c : sc T4) (j : string),
    index j ->
    eqv e (Ap3 op a b c) ->
    True.

(** an analysis *)
Definition finished_second : Prop :=
    forall (T1 T2 T3 T4 : Type) (e : sc T1) (op : T2 -> T3 -> T4 -> T1) (a : sc T2) (b : sc T3) (c : sc T4) (j : string),
    index j ->
    eqv e (Ap3 op a b c) ->
    True.

(** an analysis *)
Definition finished_third : Prop :=
    forall (T1 T2 T3 T4 : Type) (e : sc T1) (op : T2 -> T3 -> T4 -> T1) (a : sc T2) (b : sc T3) (c : sc T4) (j : string),
    index j ->
    eqv e (Ap3 op a b c) ->
    True.

(** an analysis *)
Definition clean_leaf : Prop :=
    forall (T1 : Type) (e : sc T1) (k : closed T1) (j : string),
    index j ->
    eqv e (Leaf k) ->
    clean e j.

(** an analysis *)
Definition clean_lit : Prop :=
    forall (T1 : Type) (e : sc T1) (v : T1) (j : string),
    index j ->
    eqv e (Lit v) ->
    clean e j.

(** an analysis *)
Definition clean_gather : Prop :=
    forall (T1 T2 : Type) (e : sc T1) (k : position -> T2 -> T1) (v : closed T2) (j : string),
    index j ->
    eqv e (Gather k (Leaf v)) ->
    clean e j.

(** an analysis *)
Definition clean_let : Prop :=
    forall (T1 : Type) (e : sc T1) (k : view) (a : sc T1) (D : names) (J : names) (A : names) (j : string),
    index j ->
    eqv e (Let k a) ->
    replaces k D J ->
    depends a A ->
    A HOLE = false ->
    A DELTA = false ->
    clean e j.

(** an analysis *)
Definition clean_at : Prop :=
    forall (T1 : Type) (e : sc T1) (i : string) (c : sc int) (a : sc T1) (C : names) (A : names) (j : string),
    placed i c ->
    index i ->
    index j ->
    eqv e (At i c a) ->
    depends c C ->
    C HOLE = false ->
    C DELTA = false ->
    depends a A ->
    A HOLE = false ->
    A DELTA = false ->
    clean e j.

(** an analysis *)
Definition clean_ap1 : Prop :=
    forall (T1 T2 : Type) (e : sc T1) (op : T2 -> T1) (a : sc T2) (j : string),
    index j ->
    eqv e (Ap1 op a) ->
    clean a j ->
    clean e j.

(** an analysis *)
Definition clean_ap2 : Prop :=
    forall (T1 T2 T3 : Type) (e : sc T1) (op : T2 -> T3 -> T1) (a : sc T2) (b : sc T3) (j : string),
    index j ->
    eqv e (Ap2 op a b) ->
    clean a j ->
    clean b j ->
    clean e j.

(** an analysis *)
Definition clean_ap3 : Prop :=
    forall (T1 T2 T3 T4 : Type) (e : sc T1) (op : T2 -> T3 -> T4 -> T1) (a : sc T2) (b : sc T3) (c : sc T4) (j : string),
    index j ->
    eqv e (Ap3 op a b c) ->
    clean a j ->
    clean b j ->
    clean c j ->
    clean e j.

(** an analysis *)
Definition clean_red : Prop :=
    forall (T1 : Type) (e : sc T1) (m : monoid T1) (i : string) (w : sc bool) (b : sc T1) (j : string),
    index i ->
    index j ->
    eqv e (Red m i w b) ->
    i <> j ->
    clean w j ->
    clean b j ->
    clean e j.

(** an analysis *)
Definition clean_other : Prop :=
    forall (T1 : Type) (e : sc T1) (m : monoid T1) (i : string) (w : sc bool) (b : sc T1) (j : string) (F : names),
    index i ->
    index j ->
    eqv e (Red m i w b) ->
    i <> j ->
    depends e F ->
    F HOLE = false ->
    F DELTA = false ->
    clean e j.

(** operands in every order *)
Definition commutes_add : Prop :=
    forall (x : sc xr) (y : sc xr),
    eqv (Ap2 xadd x y) (Ap2 xadd y x).

(** operands in every order *)
Definition commutes_and : Prop :=
    forall (x : sc bool) (y : sc bool),
    eqv (Ap2 andb x y) (Ap2 andb y x).

(** operands in every order *)
Definition commutes_max : Prop :=
    forall (x : sc xr) (y : sc xr),
    eqv (Ap2 xmax x y) (Ap2 xmax y x).

(** operands in every order *)
Definition commutes_min : Prop :=
    forall (x : sc xr) (y : sc xr),
    eqv (Ap2 xmin x y) (Ap2 xmin y x).

(** operands in every order *)
Definition commutes_mul : Prop :=
    forall (x : sc xr) (y : sc xr),
    eqv (Ap2 xmul x y) (Ap2 xmul y x).

(** operands in every order *)
Definition commutes_or : Prop :=
    forall (x : sc bool) (y : sc bool),
    eqv (Ap2 orb x y) (Ap2 orb y x).

(** view(k, op(x)) = op(view(k, x)) *)
Definition view_map : Prop :=
    forall (T1 T2 : Type) (k : view) (op : T1 -> T2) (x : sc T1),
    eqv (Let k (Ap1 op x)) (Ap1 op (Let k x)).

(** view(k, op(x, y)) = op(view(k, x), view(k, y)) *)
Definition view_map_two : Prop :=
    forall (T1 T2 T3 : Type) (k : view) (op : T1 -> T2 -> T3) (x : sc T1) (y : sc T2),
    eqv (Let k (Ap2 op x y)) (Ap2 op (Let k x) (Let k y)).

(** view(k, op(x, y, z)) = op(view(k, x), view(k, y), view(k, z)) *)
Definition view_map_three : Prop :=
    forall (T1 T2 T3 T4 : Type) (k : view) (op : T1 -> T2 -> T3 -> T4) (x : sc T1) (y : sc T2) (z : sc T3),
    eqv (Let k (Ap3 op x y z)) (Ap3 op (Let k x) (Let k y) (Let k z)).

(** view(k, m[j](x, where=w)) = m[j](view(k, x), where=view(k, w))  when k leaves j alone *)
Definition view_fold : Prop :=
    forall (T1 : Type) (k : view) (D : names) (J : names) (j : string) (m : monoid T1) (w : sc bool) (x : sc T1),
    index j ->
    replaces k D J ->
    D j = false ->
    J j = false ->
    eqv (Let k (Red m j w x)) (Red m j (Let k w) (Let k x)).

(** view(k, x) = x  when x free of what k replaces *)
Definition view_absent : Prop :=
    forall (T1 : Type) (k : view) (D : names) (J : names) (F : names) (x : sc T1),
    replaces k D J ->
    depends x F ->
    (forall i, (set_intersect F D) i = set_empty i) ->
    eqv (Let k x) x.

(** view(k, T[coordinates]) = T[coordinates under k] *)
Definition view_read : Prop :=
    forall (T : Type) (source : list Z -> T) (cs : list coordinate) (k : substitution), eqv (Let (view_of k) (Read source cs)) (Read source (map (composed k) cs)).

(** view(k, view(l, x)) = view(k ∘ l, x) *)
Definition view_compose : Prop :=
    forall (T : Type) (x : sc T) (k l : substitution), eqv (Let (view_of k) (Let (view_of l) x)) (Let (view_of (compose k l)) x).

(** (x · 1) = x *)
Definition scalar_mul_one : Prop :=
    forall (x : sc xr),
    eqv (Ap2 xmul x (Lit (Fin 1))) x.

(** --x = x *)
Definition scalar_neg_neg : Prop :=
    forall (x : sc xr),
    eqv (Ap1 xneg (Ap1 xneg x)) x.

(** (x + 0) = x *)
Definition scalar_add_zero : Prop :=
    forall (x : sc xr),
    finite_world ->
    finite x ->
    eqv (Ap2 xadd x (Lit (Fin 0))) x.

(** (x · 0) = 0 *)
Definition scalar_mul_zero : Prop :=
    forall (x : sc xr),
    finite_world ->
    finite x ->
    eqv (Ap2 xmul x (Lit (Fin 0))) (Lit (Fin 0)).

(** (x + -x) = 0 *)
Definition scalar_cancel : Prop :=
    forall (x : sc xr),
    finite_world ->
    finite x ->
    eqv (Ap2 xadd x (Ap1 xneg x)) (Lit (Fin 0)).

(** -0 = 0 *)
Definition scalar_neg_zero : Prop :=
    finite_world ->
    eqv (Ap1 xneg (Lit (Fin 0))) (Lit (Fin 0)).

(** exp(0) = 1 *)
Definition scalar_exp_zero : Prop :=
    eqv (Ap1 xexp (Lit (Fin 0))) (Lit (Fin 1)).

(** exp(-inf) = 0 *)
Definition scalar_exp_lowest : Prop :=
    eqv (Ap1 xexp (Lit NInf)) (Lit (Fin 0)).

(** recip(1) = 1 *)
Definition scalar_recip_one : Prop :=
    eqv (Ap1 recip (Lit (Fin 1))) (Lit (Fin 1)).

(** (p ∧ True) = p *)
Definition scalar_and_true : Prop :=
    forall (p : sc bool),
    eqv (Ap2 andb p (Lit true)) p.

(** (p ∧ False) = False *)
Definition scalar_and_false : Prop :=
    forall (p : sc bool),
    eqv (Ap2 andb p (Lit false)) (Lit false).

(** (p ∧ p) = p *)
Definition scalar_and_same : Prop :=
    forall (p : sc bool),
    eqv (Ap2 andb p p) p.

(** select(True, x, y) = x *)
Definition scalar_select_true : Prop :=
    forall (T1 : Type) (x : sc T1) (y : sc T1),
    eqv (Ap3 select (Lit true) x y) x.

(** select(False, x, y) = y *)
Definition scalar_select_false : Prop :=
    forall (T1 : Type) (x : sc T1) (y : sc T1),
    eqv (Ap3 select (Lit false) x y) y.

(** select(p, x, x) = x *)
Definition scalar_select_same : Prop :=
    forall (T1 : Type) (p : sc bool) (x : sc T1),
    eqv (Ap3 select p x x) x.

(** exp((x + -y)) = (exp(x) · exp(-y)) *)
Definition scalar_exp_difference : Prop :=
    forall (x : sc xr) (y : sc xr),
    finite_world ->
    finite x ->
    finite y ->
    eqv (Ap1 xexp (Ap2 xadd x (Ap1 xneg y))) (Ap2 xmul (Ap1 xexp x) (Ap1 xexp (Ap1 xneg y))).

(** ((x + c) + -(y + c)) = (x + -y) *)
Definition scalar_cancel_shift : Prop :=
    forall (x : sc xr) (c : sc xr) (y : sc xr),
    finite_world ->
    finite x ->
    finite c ->
    finite y ->
    eqv (Ap2 xadd (Ap2 xadd x c) (Ap1 xneg (Ap2 xadd y c))) (Ap2 xadd x (Ap1 xneg y)).

(** ((c · x) · recip((c · y))) = (x · recip(y))  when c > 0 *)
Definition scalar_cancel_scale : Prop :=
    forall (c : sc xr) (x : sc xr) (y : sc xr),
    finite_world ->
    positive c ->
    finite c ->
    finite x ->
    finite y ->
    eqv (Ap2 xmul (Ap2 xmul c x) (Ap1 recip (Ap2 xmul c y))) (Ap2 xmul x (Ap1 recip y)).

(** (y · recip(y)) = 1  when y > 0 *)
Definition scalar_quotient_one : Prop :=
    forall (y : sc xr),
    finite_world ->
    positive y ->
    finite y ->
    eqv (Ap2 xmul y (Ap1 recip y)) (Lit (Fin 1)).

(** (exp(x) · exp(y)) = exp((x + y)) *)
Definition scalar_exp_product : Prop :=
    forall (x : sc xr) (y : sc xr),
    finite_world ->
    finite x ->
    finite y ->
    eqv (Ap2 xmul (Ap1 xexp x) (Ap1 xexp y)) (Ap1 xexp (Ap2 xadd x y)).

(** log(exp(x)) = x *)
Definition scalar_log_exp : Prop :=
    forall (x : sc xr),
    finite_world ->
    finite x ->
    eqv (Ap1 xlog (Ap1 xexp x)) x.

(** log((exp(x) · y)) = (x + log(y))  when y > 0 *)
Definition scalar_log_scaled : Prop :=
    forall (y : sc xr) (x : sc xr),
    finite_world ->
    positive y ->
    finite y ->
    finite x ->
    eqv (Ap1 xlog (Ap2 xmul (Ap1 xexp x) y)) (Ap2 xadd x (Ap1 xlog y)).

(** log(recip(y)) = -log(y)  when y > 0 *)
Definition scalar_log_recip : Prop :=
    forall (y : sc xr),
    finite_world ->
    positive y ->
    finite y ->
    eqv (Ap1 xlog (Ap1 recip y)) (Ap1 xneg (Ap1 xlog y)).

(** exp(x - y) = exp(x - z)·exp(z - y) *)
Definition scalar_exp_between : Prop :=
    forall x y z : R, exp (x - y) = (exp (x - z) * exp (z - y))%R.

(** (= e__ (Red 'sum' j w x))  ⟹  (neutral 'sum' (Lit '0.0' 'real')) *)
Definition domain_neutral_sum : Prop :=
    forall (e__ : sc xr) (j : string) (w : sc bool) (x : sc xr),
    index j ->
    eqv e__ (Red Sum j w x) ->
    neutral Sum (Lit (Fin 0)).

(** (= e__ (Red 'max' j w x))  ⟹  (neutral 'max' (Lit '-inf' 'real')) *)
Definition domain_neutral_max : Prop :=
    forall (e__ : sc xr) (j : string) (w : sc bool) (x : sc xr),
    index j ->
    eqv e__ (Red Max j w x) ->
    neutral Max (Lit NInf).

(** (= e__ (Red 'min' j w x))  ⟹  (neutral 'min' (Lit 'inf' 'real')) *)
Definition domain_neutral_min : Prop :=
    forall (e__ : sc xr) (j : string) (w : sc bool) (x : sc xr),
    index j ->
    eqv e__ (Red Min j w x) ->
    neutral Min (Lit PInf).

(** (= e__ (Red 'product' j w x))  ⟹  (neutral 'product' (Lit '1.0' 'real')) *)
Definition domain_neutral_product : Prop :=
    forall (e__ : sc xr) (j : string) (w : sc bool) (x : sc xr),
    index j ->
    eqv e__ (Red Product j w x) ->
    neutral Product (Lit (Fin 1)).

(** (= e__ (Red 'any' j w x))  ⟹  (neutral 'any' (Lit 'False' 'bool')) *)
Definition domain_neutral_any : Prop :=
    forall (e__ : sc bool) (j : string) (w : sc bool) (x : sc bool),
    index j ->
    eqv e__ (Red Any j w x) ->
    neutral Any (Lit false).

(** (= e__ (Red 'all' j w x))  ⟹  (neutral 'all' (Lit 'True' 'bool')) *)
Definition domain_neutral_all : Prop :=
    forall (e__ : sc bool) (j : string) (w : sc bool) (x : sc bool),
    index j ->
    eqv e__ (Red All j w x) ->
    neutral All (Lit true).

(** m[j](select(c, x, e), where=w) = m[j](x, where=(w ∧ c))  when e is the identity of m, x is not the select itself *)
Definition domain_narrow : Prop :=
    forall (T1 : Type) (m : monoid T1) (e : sc T1) (s__ : sc T1) (c : sc bool) (x : sc T1) (j : string) (w : sc bool),
    index j ->
    neutral m e ->
    eqv s__ (Ap3 select c x e) ->
    eqv (Red m j w (Ap3 select c x e)) (Red m j (Ap2 andb w c) x).

(** m[j](select(c, e, x), where=w) = m[j](x, where=(w ∧ not(c)))  when e is the identity of m, x is not the select itself *)
Definition domain_narrow_not : Prop :=
    forall (T1 : Type) (m : monoid T1) (e : sc T1) (s__ : sc T1) (c : sc bool) (x : sc T1) (j : string) (w : sc bool),
    index j ->
    neutral m e ->
    eqv s__ (Ap3 select c e x) ->
    eqv (Red m j w (Ap3 select c e x)) (Red m j (Ap2 andb w (Ap1 negb c)) x).

(** m[j](x, where=False) = e  when e is the identity of m *)
Definition domain_empty : Prop :=
    forall (T1 : Type) (m : monoid T1) (e : sc T1) (j : string) (x : sc T1),
    index j ->
    neutral m e ->
    eqv (Red m j (Lit false) x) e.

(** (= f (Red m j w (Ap3 'select' c x e))) (neutral m e) (= s__ (Ap3 'select' c x e)) (!= s__ x)  ⟹  (doubtful j (Ap2 'and' w c)) *)
Definition domain_doubt_0 : Prop :=
    forall (T1 : Type) (f : sc T1) (m : monoid T1) (j : string) (w : sc bool) (c : sc bool) (x : sc T1) (e : sc T1) (s__ : sc T1),
    finite_world ->
    index j ->
    eqv f (Red m j w (Ap3 select c x e)) ->
    neutral m e ->
    eqv s__ (Ap3 select c x e) ->
    True.

(** (= f (Red m j w (Ap3 'select' c e x))) (neutral m e) (= s__ (Ap3 'select' c e x)) (!= s__ x)  ⟹  (doubtful j (Ap2 'and' w (Ap1 'not' c))) *)
Definition domain_doubt_1 : Prop :=
    forall (T1 : Type) (f : sc T1) (m : monoid T1) (j : string) (w : sc bool) (c : sc bool) (e : sc T1) (x : sc T1) (s__ : sc T1),
    finite_world ->
    index j ->
    eqv f (Red m j w (Ap3 select c e x)) ->
    neutral m e ->
    eqv s__ (Ap3 select c e x) ->
    True.

(** (= e (Ap2 'and' p q))  ⟹  (implies e p) (implies e q) (implies p p) (implies q q) *)
Definition domain_implies_part : Prop :=
    forall (e : sc bool) (p : sc bool) (q : sc bool),
    eqv e (Ap2 andb p q) ->
    implies e p /\ implies e q /\ implies p p /\ implies q q.

(** (= e (Ap2 'and' p q)) (implies p r)  ⟹  (implies e r) *)
Definition domain_implies_left : Prop :=
    forall (e : sc bool) (p : sc bool) (q : sc bool) (r : sc bool),
    eqv e (Ap2 andb p q) ->
    implies p r ->
    implies e r.

(** (= e (Ap2 'and' p q)) (implies q r)  ⟹  (implies e r) *)
Definition domain_implies_right : Prop :=
    forall (e : sc bool) (p : sc bool) (q : sc bool) (r : sc bool),
    eqv e (Ap2 andb p q) ->
    implies q r ->
    implies e r.

(** (= e (Ap2 'and' p q)) (implies r p) (implies r q)  ⟹  (implies r e) *)
Definition domain_implies_both : Prop :=
    forall (e : sc bool) (p : sc bool) (q : sc bool) (r : sc bool),
    eqv e (Ap2 andb p q) ->
    implies r p ->
    implies r q ->
    implies r e.

(** (= e (Ap3 'select' p x y))  ⟹  (implies p p) *)
Definition domain_implies_guard : Prop :=
    forall (T1 : Type) (e : sc T1) (p : sc bool) (x : sc T1) (y : sc T1),
    eqv e (Ap3 select p x y) ->
    implies p p.

(** (= e (Ap3 'select:bool' p q (Lit 'False' 'bool')))  ⟹  (implies e p) (implies e q) *)
Definition domain_implies_guarded : Prop :=
    forall (e : sc bool) (p : sc bool) (q : sc bool),
    eqv e (Ap3 select p q (Lit false)) ->
    implies e p /\ implies e q.

(** (p ∧ q) = p  when p implies q *)
Definition domain_known : Prop :=
    forall (p : sc bool) (q : sc bool),
    implies p q ->
    eqv (Ap2 andb p q) p.

(** (p ∧ q) = r  when p ∧ q implies r, and r implies p ∧ q *)
Definition domain_alike : Prop :=
    forall (p : sc bool) (q : sc bool) (r : sc bool),
    implies (Ap2 andb p q) r ->
    implies r (Ap2 andb p q) ->
    eqv (Ap2 andb p q) r.

(** select(p, select(q, x, y), z) = select(p, x, z)  when p implies q *)
Definition domain_select_under : Prop :=
    forall (T1 : Type) (p : sc bool) (q : sc bool) (x : sc T1) (y : sc T1) (z : sc T1),
    implies p q ->
    eqv (Ap3 select p (Ap3 select q x y) z) (Ap3 select p x z).

(** select(q, select(p, x, z), z) = select(p, x, z)  when p implies q *)
Definition domain_select_over : Prop :=
    forall (T1 : Type) (p : sc bool) (q : sc bool) (x : sc T1) (z : sc T1),
    implies p q ->
    eqv (Ap3 select q (Ap3 select p x z) z) (Ap3 select p x z).

(** select(q, x, select(p, y, z)) = select(q, x, z)  when p implies q *)
Definition domain_select_beside : Prop :=
    forall (T1 : Type) (p : sc bool) (q : sc bool) (x : sc T1) (y : sc T1) (z : sc T1),
    implies p q ->
    eqv (Ap3 select q x (Ap3 select p y z)) (Ap3 select q x z).

(** any[j](True, where=w) = True  when some j satisfies w *)
Definition domain_any : Prop :=
    forall (j : string) (w : sc bool),
    index j ->
    inhabited j w ->
    eqv (Red Any j w (Lit true)) (Lit true).

(** (= e (Lit v 'real')) (!= v 'inf') (!= v '-inf') (!= v 'nan')  ⟹  (finite e) *)
Definition domain_finite_literal : Prop :=
    forall (e : sc xr) (v : xr),
    eqv e (Lit v) ->
    v <> PInf ->
    v <> NInf ->
    v <> NaN ->
    finite e.

(** (= e (Red 'sum' j w x)) (finite x)  ⟹  (finite e) *)
Definition domain_finite_sum : Prop :=
    forall (e : sc xr) (j : string) (w : sc bool) (x : sc xr),
    index j ->
    eqv e (Red Sum j w x) ->
    finite x ->
    finite e.

(** (= e (Red 'product' j w x)) (finite x)  ⟹  (finite e) *)
Definition domain_finite_product : Prop :=
    forall (e : sc xr) (j : string) (w : sc bool) (x : sc xr),
    index j ->
    eqv e (Red Product j w x) ->
    finite x ->
    finite e.

(** (= e (Red 'max' j w x)) (finite x) (inhabited j w)  ⟹  (finite e) *)
Definition domain_finite_max : Prop :=
    forall (e : sc xr) (j : string) (w : sc bool) (x : sc xr),
    index j ->
    eqv e (Red Max j w x) ->
    finite x ->
    inhabited j w ->
    finite e.

(** (= e (Red 'min' j w x)) (finite x) (inhabited j w)  ⟹  (finite e) *)
Definition domain_finite_min : Prop :=
    forall (e : sc xr) (j : string) (w : sc bool) (x : sc xr),
    index j ->
    eqv e (Red Min j w x) ->
    finite x ->
    inhabited j w ->
    finite e.

(** (= e (Ap3 'select' c x y)) (finite x) (finite y)  ⟹  (finite e) *)
Definition domain_finite_select : Prop :=
    forall (e : sc xr) (c : sc bool) (x : sc xr) (y : sc xr),
    eqv e (Ap3 select c x y) ->
    finite x ->
    finite y ->
    finite e.

(** (= e (Ap1 'neg' x)) (finite x)  ⟹  (finite e) *)
Definition domain_finite_neg : Prop :=
    forall (e : sc xr) (x : sc xr),
    eqv e (Ap1 xneg x) ->
    finite x ->
    finite e.

(** (= e (Ap1 'exp' x)) (finite x)  ⟹  (finite e) *)
Definition domain_finite_exp : Prop :=
    forall (e : sc xr) (x : sc xr),
    eqv e (Ap1 xexp x) ->
    finite x ->
    finite e.

(** (= e (Ap1 'sin' x)) (finite x)  ⟹  (finite e) *)
Definition domain_finite_sin : Prop :=
    forall (e : sc xr) (x : sc xr),
    eqv e (Ap1 xsin x) ->
    finite x ->
    finite e.

(** (= e (Ap1 'tanh' x)) (finite x)  ⟹  (finite e) *)
Definition domain_finite_tanh : Prop :=
    forall (e : sc xr) (x : sc xr),
    eqv e (Ap1 tanh_ x) ->
    finite x ->
    finite e.

(** (= e (Ap1 'erf' x)) (finite x)  ⟹  (finite e) *)
Definition domain_finite_erf : Prop :=
    forall (e : sc xr) (x : sc xr),
    eqv e (Ap1 erf_ x) ->
    finite x ->
    finite e.

(** (= e (Ap1 'floor' x)) (finite x)  ⟹  (finite e) *)
Definition domain_finite_floor : Prop :=
    forall (e : sc xr) (x : sc xr),
    eqv e (Ap1 xfloor x) ->
    finite x ->
    finite e.

(** (= e (Ap2 'add' x y)) (finite x) (finite y)  ⟹  (finite e) *)
Definition domain_finite_two_add : Prop :=
    forall (e : sc xr) (x : sc xr) (y : sc xr),
    eqv e (Ap2 xadd x y) ->
    finite x ->
    finite y ->
    finite e.

(** (= e (Ap2 'mul' x y)) (finite x) (finite y)  ⟹  (finite e) *)
Definition domain_finite_two_mul : Prop :=
    forall (e : sc xr) (x : sc xr) (y : sc xr),
    eqv e (Ap2 xmul x y) ->
    finite x ->
    finite y ->
    finite e.

(** (= e (Ap2 'max' x y)) (finite x) (finite y)  ⟹  (finite e) *)
Definition domain_finite_two_max : Prop :=
    forall (e : sc xr) (x : sc xr) (y : sc xr),
    eqv e (Ap2 xmax x y) ->
    finite x ->
    finite y ->
    finite e.

(** (= e (Ap2 'min' x y)) (finite x) (finite y)  ⟹  (finite e) *)
Definition domain_finite_two_min : Prop :=
    forall (e : sc xr) (x : sc xr) (y : sc xr),
    eqv e (Ap2 xmin x y) ->
    finite x ->
    finite y ->
    finite e.

(** (= e (Lit '1.0' 'real'))  ⟹  (positive e) *)
Definition domain_positive_one : Prop :=
    forall (e : sc xr),
    eqv e (Lit (Fin 1)) ->
    positive e.

(** (= e (Ap1 'exp' x)) (finite x)  ⟹  (positive e) *)
Definition domain_positive_exp : Prop :=
    forall (e : sc xr) (x : sc xr),
    eqv e (Ap1 xexp x) ->
    finite x ->
    positive e.

(** (= e (Ap1 'recip' x)) (positive x)  ⟹  (positive e) *)
Definition domain_positive_recip : Prop :=
    forall (e : sc xr) (x : sc xr),
    eqv e (Ap1 recip x) ->
    positive x ->
    positive e.

(** (= e (Ap1 'sqrt' x)) (positive x)  ⟹  (positive e) *)
Definition domain_positive_sqrt : Prop :=
    forall (e : sc xr) (x : sc xr),
    eqv e (Ap1 xsqrt x) ->
    positive x ->
    positive e.

(** (= e (Ap2 'add' x y)) (positive x) (positive y)  ⟹  (positive e) *)
Definition domain_positive_two_add : Prop :=
    forall (e : sc xr) (x : sc xr) (y : sc xr),
    eqv e (Ap2 xadd x y) ->
    positive x ->
    positive y ->
    positive e.

(** (= e (Ap2 'mul' x y)) (positive x) (positive y)  ⟹  (positive e) *)
Definition domain_positive_two_mul : Prop :=
    forall (e : sc xr) (x : sc xr) (y : sc xr),
    eqv e (Ap2 xmul x y) ->
    positive x ->
    positive y ->
    positive e.

(** (= e (Ap2 'max' x y)) (positive x) (positive y)  ⟹  (positive e) *)
Definition domain_positive_two_max : Prop :=
    forall (e : sc xr) (x : sc xr) (y : sc xr),
    eqv e (Ap2 xmax x y) ->
    positive x ->
    positive y ->
    positive e.

(** (= e (Ap2 'min' x y)) (positive x) (positive y)  ⟹  (positive e) *)
Definition domain_positive_two_min : Prop :=
    forall (e : sc xr) (x : sc xr) (y : sc xr),
    eqv e (Ap2 xmin x y) ->
    positive x ->
    positive y ->
    positive e.

(** (= e (Ap3 'select' c x y)) (positive x) (positive y)  ⟹  (positive e) *)
Definition domain_positive_select : Prop :=
    forall (e : sc xr) (c : sc bool) (x : sc xr) (y : sc xr),
    eqv e (Ap3 select c x y) ->
    positive x ->
    positive y ->
    positive e.

(** (= e (Red 'sum' j w x)) (positive x) (inhabited j w)  ⟹  (positive e) *)
Definition domain_positive_sum : Prop :=
    forall (e : sc xr) (j : string) (w : sc bool) (x : sc xr),
    index j ->
    eqv e (Red Sum j w x) ->
    positive x ->
    inhabited j w ->
    positive e.

(** (= e (Red 'max' j w x)) (positive x) (inhabited j w)  ⟹  (positive e) *)
Definition domain_positive_max : Prop :=
    forall (e : sc xr) (j : string) (w : sc bool) (x : sc xr),
    index j ->
    eqv e (Red Max j w x) ->
    positive x ->
    inhabited j w ->
    positive e.

(** (= e (Red 'min' j w x)) (positive x) (inhabited j w)  ⟹  (positive e) *)
Definition domain_positive_min : Prop :=
    forall (e : sc xr) (j : string) (w : sc bool) (x : sc xr),
    index j ->
    eqv e (Red Min j w x) ->
    positive x ->
    inhabited j w ->
    positive e.

(** (= e (Red 'product' j w x)) (positive x)  ⟹  (positive e) *)
Definition domain_positive_product : Prop :=
    forall (e : sc xr) (j : string) (w : sc bool) (x : sc xr),
    index j ->
    eqv e (Red Product j w x) ->
    positive x ->
    positive e.

(** (positive e)  ⟹  (finite e) *)
Definition domain_finite_positive : Prop :=
    forall (e : sc xr),
    positive e ->
    finite e.

(** exp(select(c, x, -inf)) = select(c, exp(x), 0) *)
Definition domain_select_exp : Prop :=
    forall (c : sc bool) (x : sc xr),
    eqv (Ap1 xexp (Ap3 select c x (Lit NInf))) (Ap3 select c (Ap1 xexp x) (Lit (Fin 0))).

(** (select(c, x, -inf) + y) = select(c, (x + y), -inf)  when y is finite *)
Definition domain_select_add : Prop :=
    forall (y : sc xr) (c : sc bool) (x : sc xr),
    finite_world ->
    finite y ->
    finite x ->
    eqv (Ap2 xadd (Ap3 select c x (Lit NInf)) y) (Ap3 select c (Ap2 xadd x y) (Lit NInf)).

(** (select(c, x, 0) · y) = select(c, (x · y), 0)  when y is finite *)
Definition domain_select_mul : Prop :=
    forall (y : sc xr) (c : sc bool) (x : sc xr),
    finite_world ->
    finite y ->
    finite x ->
    eqv (Ap2 xmul (Ap3 select c x (Lit (Fin 0))) y) (Ap3 select c (Ap2 xmul x y) (Lit (Fin 0))).

(** -select(c, x, 0) = select(c, -x, 0) *)
Definition domain_select_neg : Prop :=
    forall (c : sc bool) (x : sc xr),
    finite_world ->
    finite x ->
    eqv (Ap1 xneg (Ap3 select c x (Lit (Fin 0)))) (Ap3 select c (Ap1 xneg x) (Lit (Fin 0))).

(** (= e (Red 'sum' j w b))  ⟹  (want b j) *)
Definition fold_want_sum : Prop :=
    forall (e : sc xr) (j : string) (w : sc bool) (b : sc xr),
    finite_world ->
    index j ->
    eqv e (Red Sum j w b) ->
    finite e ->
    finite b ->
    True.

(** (want e j) (= e (Ap2 'mul' x y))  ⟹  (want x j) (want y j) *)
Definition fold_want_product : Prop :=
    forall (e : sc xr) (x : sc xr) (y : sc xr),
    finite_world ->
    eqv e (Ap2 xmul x y) ->
    finite e ->
    finite x ->
    finite y ->
    True.

(** (want e j) (= e (Ap1 'neg' x))  ⟹  (want x j) *)
Definition fold_want_negated : Prop :=
    forall (e : sc xr) (x : sc xr),
    finite_world ->
    eqv e (Ap1 xneg x) ->
    finite e ->
    finite x ->
    True.

(** (want b j) (= F (fv b)) (set-not-contains F j)  ⟹  (split b j b (Lit '1.0' 'real')) *)
Definition fold_split_invariant : Prop :=
    forall (F : names) (b : sc xr) (j : string),
    finite_world ->
    index j ->
    depends b F ->
    F j = false ->
    finite b ->
    split b j b (Lit (Fin 1)).

(** (want b j) (= b (Leaf k)) (= F (fv b)) (set-contains F j)  ⟹  (split b j (Lit '1.0' 'real') b) *)
Definition fold_atom_leaf : Prop :=
    forall (b : sc xr) (k : closed xr) (j : string),
    finite_world ->
    index j ->
    eqv b (Leaf k) ->
    finite b ->
    split b j (Lit (Fin 1)) b.

(** (want b j) (= b (Gather k v)) (= F (fv b)) (set-contains F j)  ⟹  (split b j (Lit '1.0' 'real') b) *)
Definition fold_atom_gather : Prop :=
    forall (T1 : Type) (b : sc xr) (k : position -> T1 -> xr) (v : closed T1) (j : string),
    finite_world ->
    index j ->
    eqv b (Gather k (Leaf v)) ->
    finite b ->
    split b j (Lit (Fin 1)) b.

(** (want b j) (= b (Let k x)) (= F (fv b)) (set-contains F j)  ⟹  (split b j (Lit '1.0' 'real') b) *)
Definition fold_atom_view : Prop :=
    forall (b : sc xr) (k : view) (x : sc xr) (j : string),
    finite_world ->
    index j ->
    eqv b (Let k x) ->
    finite b ->
    finite x ->
    split b j (Lit (Fin 1)) b.

(** (want b j) (= b (Ap1 op x)) (!= op 'neg') (= F (fv b)) (set-contains F j)  ⟹  (split b j (Lit '1.0' 'real') b) *)
Definition fold_atom_map : Prop :=
    forall (T1 : Type) (b : sc xr) (op : T1 -> xr) (x : sc T1) (j : string),
    finite_world ->
    index j ->
    eqv b (Ap1 op x) ->
    finite b ->
    split b j (Lit (Fin 1)) b.

(** (want b j) (= b (Ap2 op x y)) (!= op 'mul') (= F (fv b)) (set-contains F j)  ⟹  (split b j (Lit '1.0' 'real') b) *)
Definition fold_atom_map_two : Prop :=
    forall (T1 T2 : Type) (b : sc xr) (op : T1 -> T2 -> xr) (x : sc T1) (y : sc T2) (j : string),
    finite_world ->
    index j ->
    eqv b (Ap2 op x y) ->
    finite b ->
    split b j (Lit (Fin 1)) b.

(** (want b j) (= b (Ap3 op x y z)) (= F (fv b)) (set-contains F j)  ⟹  (split b j (Lit '1.0' 'real') b) *)
Definition fold_atom_map_three : Prop :=
    forall (T1 T2 T3 : Type) (b : sc xr) (op : T1 -> T2 -> T3 -> xr) (x : sc T1) (y : sc T2) (z : sc T3) (j : string),
    finite_world ->
    index j ->
    eqv b (Ap3 op x y z) ->
    finite b ->
    split b j (Lit (Fin 1)) b.

(** (want b j) (= b (Red m i w x)) (= F (fv b)) (set-contains F j)  ⟹  (split b j (Lit '1.0' 'real') b) *)
Definition fold_atom_fold : Prop :=
    forall (b : sc xr) (m : monoid xr) (i : string) (w : sc bool) (x : sc xr) (j : string),
    finite_world ->
    index i ->
    index j ->
    eqv b (Red m i w x) ->
    finite b ->
    finite x ->
    split b j (Lit (Fin 1)) b.

(** (want b j) (= b (Fold k p i w v)) (= F (fv b)) (set-contains F j)  ⟹  (split b j (Lit '1.0' 'real') b) *)
Definition fold_atom_product : Prop :=
    forall (T1 : Type) (b : sc xr) (k : keyed T1) (p : state k -> xr) (v : closed T1) (i : list string) (w : sc bool) (j : string),
    finite_world ->
    index j ->
    eqv b (Fold k p i w v) ->
    finite b ->
    split b j (Lit (Fin 1)) b.

(** (want b j) (= b (Scn k p i q v)) (= F (fv b)) (set-contains F j)  ⟹  (split b j (Lit '1.0' 'real') b) *)
Definition fold_atom_scan : Prop :=
    forall (T1 : Type) (b : sc xr) (k : keyed T1) (p : state k -> xr) (v : closed T1) (i : string) (q : Z) (j : string),
    finite_world ->
    index i ->
    index j ->
    eqv b (Scn k p i q v) ->
    finite b ->
    split b j (Lit (Fin 1)) b.

(** (want e j) (= e (Ap2 'mul' x y)) (split x j f u) (split y j g v) (= F (fv e)) (set-contains F j)  ⟹  (split e j (Ap2 'mul' f g) (Ap2 'mul' u v)) *)
Definition fold_split_product : Prop :=
    forall (e : sc xr) (x : sc xr) (y : sc xr) (j : string) (f : sc xr) (u : sc xr) (g : sc xr) (v : sc xr),
    finite_world ->
    index j ->
    eqv e (Ap2 xmul x y) ->
    split x j f u ->
    split y j g v ->
    finite e ->
    finite x ->
    finite y ->
    finite f ->
    finite u ->
    finite g ->
    finite v ->
    split e j (Ap2 xmul f g) (Ap2 xmul u v).

(** (want e j) (= e (Ap1 'neg' x)) (split x j f u)  ⟹  (split e j f (Ap1 'neg' u)) *)
Definition fold_split_negated : Prop :=
    forall (e : sc xr) (x : sc xr) (j : string) (f : sc xr) (u : sc xr),
    finite_world ->
    index j ->
    eqv e (Ap1 xneg x) ->
    split x j f u ->
    finite e ->
    finite x ->
    finite f ->
    finite u ->
    split e j f (Ap1 xneg u).

(** sum[j](b, where=w) = (f · sum[j](u, where=w))  when b = f·u with f free of j, f ≠ 1, some j satisfies w *)
Definition fold_hoist : Prop :=
    forall (b : sc xr) (j : string) (f : sc xr) (u : sc xr) (w : sc bool),
    finite_world ->
    index j ->
    split b j f u ->
    inhabited j w ->
    finite b ->
    finite f ->
    finite u ->
    eqv (Red Sum j w b) (Ap2 xmul f (Red Sum j w u)).

(** sum[j](b, where=w) = (f · sum[j](u, where=w))  when b = f·u with f free of j, f ≠ 1, f is finite *)
Definition fold_hoist_finite : Prop :=
    forall (b : sc xr) (j : string) (f : sc xr) (u : sc xr) (w : sc bool),
    finite_world ->
    index j ->
    split b j f u ->
    finite f ->
    finite b ->
    finite u ->
    eqv (Red Sum j w b) (Ap2 xmul f (Red Sum j w u)).

(** sum[j](b, where=w) = (select(any[j](True, where=w), f, 0) · sum[j](u, where=w))  when b = f·u with f free of j, f ≠ 1, perhaps no j satisfies w *)
Definition fold_hoist_guarded : Prop :=
    forall (b : sc xr) (j : string) (f : sc xr) (u : sc xr) (w : sc bool),
    finite_world ->
    index j ->
    split b j f u ->
    finite b ->
    finite f ->
    finite u ->
    eqv (Red Sum j w b) (Ap2 xmul (Ap3 select (Red Any j w (Lit true)) f (Lit (Fin 0))) (Red Sum j w u)).

(** sum[j](-x, where=w) = -sum[j](x, where=w) *)
Definition fold_hoist_negation : Prop :=
    forall (j : string) (w : sc bool) (x : sc xr),
    index j ->
    eqv (Red Sum j w (Ap1 xneg x)) (Ap1 xneg (Red Sum j w x)).

(** max[j]((c + x)) = (c + max[j](x))  when c free of j *)
Definition fold_hoist_shift : Prop :=
    forall (F_c : names) (c : sc xr) (j : string) (x : sc xr),
    finite_world ->
    index j ->
    depends c F_c ->
    F_c j = false ->
    finite c ->
    finite x ->
    eqv (Red Max j (Lit true) (Ap2 xadd c x)) (Ap2 xadd c (Red Max j (Lit true) x)).

(** (sum[j](x) · recip(n)) = (sum[j](x) · recip(sum[j](1)))  when n is the size of j *)
Definition fold_mean : Prop :=
    forall (j : string) (n : sc xr) (x : sc xr),
    index j ->
    extent j n ->
    eqv (Ap2 xmul (Red Sum j (Lit true) x) (Ap1 recip n)) (Ap2 xmul (Red Sum j (Lit true) x) (Ap1 recip (Red Sum j (Lit true) (Lit (Fin 1))))).

(** (sum[j](x) · n) = (sum[j](x) · recip(sum[j](1)))  when n is one over the size of j *)
Definition fold_mean_constant : Prop :=
    forall (j : string) (n : sc xr) (x : sc xr),
    index j ->
    inverse_extent j n ->
    eqv (Ap2 xmul (Red Sum j (Lit true) x) n) (Ap2 xmul (Red Sum j (Lit true) x) (Ap1 recip (Red Sum j (Lit true) (Lit (Fin 1))))).

(** max[j]((c · x), where=w) = (c · max[j](x, where=w))  when c free of j, c > 0 *)
Definition fold_max_scaled : Prop :=
    forall (F_c : names) (c : sc xr) (j : string) (w : sc bool) (x : sc xr),
    finite_world ->
    index j ->
    depends c F_c ->
    F_c j = false ->
    positive c ->
    finite c ->
    finite x ->
    eqv (Red Max j w (Ap2 xmul c x)) (Ap2 xmul c (Red Max j w x)).

(** max[j](exp(x), where=w) = exp(max[j](x, where=w))  when some j satisfies w *)
Definition fold_max_exp : Prop :=
    forall (j : string) (w : sc bool) (x : sc xr),
    index j ->
    inhabited j w ->
    eqv (Red Max j w (Ap1 xexp x)) (Ap1 xexp (Red Max j w x)).

(** min[j]((c · x), where=w) = (c · min[j](x, where=w))  when c free of j, c > 0 *)
Definition fold_min_scaled : Prop :=
    forall (F_c : names) (c : sc xr) (j : string) (w : sc bool) (x : sc xr),
    finite_world ->
    index j ->
    depends c F_c ->
    F_c j = false ->
    positive c ->
    finite c ->
    finite x ->
    eqv (Red Min j w (Ap2 xmul c x)) (Ap2 xmul c (Red Min j w x)).

(** min[j](exp(x), where=w) = exp(min[j](x, where=w)) *)
Definition fold_min_exp : Prop :=
    forall (j : string) (w : sc bool) (x : sc xr),
    index j ->
    eqv (Red Min j w (Ap1 xexp x)) (Ap1 xexp (Red Min j w x)).

(** fold[m, j](x) = fold[m, r](fold[m, k](x[j := r·n + k], where=r·n + k in range)) *)
Definition fold_split : Prop :=
    forall (T : Type) (m : monoid T) (j r k : string) (n : nat) (w : sc bool) (x : sc T), j <> r -> j <> k -> r <> k -> size k = n -> (size j <= size r * n)%nat -> free w r -> free w k -> free x r -> free x k -> let at_ := view_of [(j, Form (0%Z, [(Z.of_nat n, r); (1%Z, k)]))] in eqv (Red m j w x) (Red m r (Lit true) (Red m k (Ap2 andb (fun e => (at_ e j <? Z.of_nat (size j))%Z) (Let at_ w)) (Let at_ x))).

(** pass[j](f, at=s, carry=t) = pass[r](t(state r, from=s(state r)), at=s, carry=t), state r = pass[k](f[j := r·n + k], at=s, carry=t) *)
Definition fold_split_state : Prop :=
    forall (o : monoid xr) (j : string) (w : sc bool) (b f : sc xr) (t : kept) (at_ : nat -> statistic_value -> R) (shares : list (list Z)), abstracts b j f -> carried o j f t -> forall e, ok e -> concat shares = points j w e -> Red o j w b e = fold_right (op o) (unit_ o) (map (fun s => carry o j t (snd s) (at_ (fst s)) e) (combine (seq 0 (length shares)) shares)).

(** sum[i](sum[j](x)) = sum[j](sum[i](x))  when i ≠ j *)
Definition fold_interchange : Prop :=
    forall (i : string) (j : string) (x : sc xr),
    finite_world ->
    index i ->
    index j ->
    i <> j ->
    finite x ->
    eqv (Red Sum i (Lit true) (Red Sum j (Lit true) x)) (Red Sum j (Lit true) (Red Sum i (Lit true) x)).

(** sum[j]((b + c), where=w) = (sum[j](b, where=w) + sum[j](c, where=w)) *)
Definition fold_linear : Prop :=
    forall (j : string) (w : sc bool) (b : sc xr) (c : sc xr),
    finite_world ->
    index j ->
    finite b ->
    finite c ->
    eqv (Red Sum j w (Ap2 xadd b c)) (Ap2 xadd (Red Sum j w b) (Red Sum j w c)).

(** (= e (Red 'sum' j w (Ap2 'mul' (Red 'sum' i v b) y)))  ⟹  (want b j) *)
Definition fold_want_chain_left : Prop :=
    forall (e : sc xr) (j : string) (w : sc bool) (i : string) (v : sc bool) (b : sc xr) (y : sc xr),
    finite_world ->
    index j ->
    index i ->
    eqv e (Red Sum j w (Ap2 xmul (Red Sum i v b) y)) ->
    finite e ->
    finite b ->
    finite y ->
    True.

(** (= e (Red 'sum' j w (Ap2 'mul' y (Red 'sum' i v b))))  ⟹  (want b j) *)
Definition fold_want_chain_right : Prop :=
    forall (e : sc xr) (j : string) (w : sc bool) (y : sc xr) (i : string) (v : sc bool) (b : sc xr),
    finite_world ->
    index j ->
    index i ->
    eqv e (Red Sum j w (Ap2 xmul y (Red Sum i v b))) ->
    finite e ->
    finite y ->
    finite b ->
    True.

(** sum[j]((sum[i](b) · y), where=w) = sum[i]((f · sum[j]((u · y), where=w)))  when b = f·u with f free of j, f ≠ 1, u ≠ 1, i ≠ j, y free of i, w free of i *)
Definition fold_reassociate : Prop :=
    forall (b : sc xr) (j : string) (f : sc xr) (u : sc xr) (i : string) (F_y : names) (y : sc xr) (F_w : names) (w : sc bool),
    finite_world ->
    index j ->
    index i ->
    split b j f u ->
    i <> j ->
    depends y F_y ->
    F_y i = false ->
    depends w F_w ->
    F_w i = false ->
    finite b ->
    finite f ->
    finite u ->
    finite y ->
    eqv (Red Sum j w (Ap2 xmul (Red Sum i (Lit true) b) y)) (Red Sum i (Lit true) (Ap2 xmul f (Red Sum j w (Ap2 xmul u y)))).

(** (shorter j i) (= e (Red 'sum' j w (Ap2 'mul' (Red 'sum' i v b) y)))  ⟹  (want b j) *)
Definition fold_want_shorter_left : Prop :=
    forall (e : sc xr) (j : string) (w : sc bool) (i : string) (v : sc bool) (b : sc xr) (y : sc xr),
    finite_world ->
    index j ->
    index i ->
    eqv e (Red Sum j w (Ap2 xmul (Red Sum i v b) y)) ->
    finite e ->
    finite b ->
    finite y ->
    True.

(** (shorter j i) (= e (Red 'sum' j w (Ap2 'mul' y (Red 'sum' i v b))))  ⟹  (want b j) *)
Definition fold_want_shorter_right : Prop :=
    forall (e : sc xr) (j : string) (w : sc bool) (y : sc xr) (i : string) (v : sc bool) (b : sc xr),
    finite_world ->
    index j ->
    index i ->
    eqv e (Red Sum j w (Ap2 xmul y (Red Sum i v b))) ->
    finite e ->
    finite y ->
    finite b ->
    True.

(** (shorter j i) (= e (Red 'sum' j w (Red 'sum' i v b)))  ⟹  (want b j) *)
Definition fold_want_shorter_alone : Prop :=
    forall (e : sc xr) (j : string) (w : sc bool) (i : string) (v : sc bool) (b : sc xr),
    finite_world ->
    index j ->
    index i ->
    eqv e (Red Sum j w (Red Sum i v b)) ->
    finite e ->
    finite b ->
    True.

(** sum[j]((sum[i](b) · y)) = sum[i]((f · sum[j]((u · y))))  when i has fewer points than j, b = f·u with f free of j, f ≠ 1, u ≠ 1, i ≠ j, y free of i *)
Definition fold_reassociate_shorter : Prop :=
    forall (b : sc xr) (j : string) (f : sc xr) (u : sc xr) (i : string) (F_y : names) (y : sc xr),
    finite_world ->
    index j ->
    index i ->
    split b j f u ->
    i <> j ->
    depends y F_y ->
    F_y i = false ->
    finite b ->
    finite f ->
    finite u ->
    finite y ->
    eqv (Red Sum j (Lit true) (Ap2 xmul (Red Sum i (Lit true) b) y)) (Red Sum i (Lit true) (Ap2 xmul f (Red Sum j (Lit true) (Ap2 xmul u y)))).

(** sum[j](sum[i](b)) = sum[i]((f · sum[j](u)))  when i has fewer points than j, b = f·u with f free of j, f ≠ 1, u ≠ 1, i ≠ j *)
Definition fold_interchange_shorter : Prop :=
    forall (b : sc xr) (j : string) (f : sc xr) (u : sc xr) (i : string),
    finite_world ->
    index j ->
    index i ->
    split b j f u ->
    i <> j ->
    finite b ->
    finite f ->
    finite u ->
    eqv (Red Sum j (Lit true) (Red Sum i (Lit true) b)) (Red Sum i (Lit true) (Ap2 xmul f (Red Sum j (Lit true) u))).

(** (= e (Red m j w x))  ⟹  (member j w e) *)
Definition sibling_member_fold : Prop :=
    forall (T1 : Type) (e : sc T1) (m : monoid T1) (j : string) (w : sc bool) (x : sc T1),
    finite_world ->
    index j ->
    eqv e (Red m j w x) ->
    member j w e.

(** (= e (Casc o j w f t))  ⟹  (member j w e) *)
Definition sibling_member_pass : Prop :=
    forall (e : sc xr) (o : monoid xr) (w : sc bool) (f : sc xr) (t : kept) (j : string),
    finite_world ->
    index j ->
    eqv e (Casc o j w f t) ->
    finite e ->
    finite f ->
    member j w e.

(** (fold[m, j](x), fold[n, j](y)) = fold[m × n, j](x, y) when neither contains the other *)
Definition sibling_join : Prop :=
    forall (T U : Type) (m : monoid T) (n : monoid U) (j : string) (w : sc bool) (x : sc T) (y : sc U), eqv (Ap2 pair (Red m j w x) (Red n j w y)) (Red (both m n) j w (Ap2 pair x y)).

(** (= e (Red 'sum' j w b)) (finished b j)  ⟹  (seek b j) *)
Definition cascade_walk_sum : Prop :=
    forall (e : sc xr) (j : string) (w : sc bool) (b : sc xr),
    finite_world ->
    index j ->
    eqv e (Red Sum j w b) ->
    finite e ->
    finite b ->
    True.

(** (= e (Red 'max' j w b)) (finished b j)  ⟹  (seek b j) *)
Definition cascade_walk_max : Prop :=
    forall (e : sc xr) (j : string) (w : sc bool) (b : sc xr),
    finite_world ->
    index j ->
    eqv e (Red Max j w b) ->
    finite e ->
    finite b ->
    True.

(** (= e (Red 'min' j w b)) (finished b j)  ⟹  (seek b j) *)
Definition cascade_walk_min : Prop :=
    forall (e : sc xr) (j : string) (w : sc bool) (b : sc xr),
    finite_world ->
    index j ->
    eqv e (Red Min j w b) ->
    finite e ->
    finite b ->
    True.

(** (seek e j) (= F (fv e)) (set-contains F j) (= e (Ap1 op x))  ⟹  (seek x j) *)
Definition cascade_walk_Ap1 : Prop :=
    forall (T1 T2 : Type) (e : sc T1) (op : T2 -> T1) (x : sc T2),
    finite_world ->
    eqv e (Ap1 op x) ->
    True.

(** (seek e j) (= F (fv e)) (set-contains F j) (= e (Ap2 op x y))  ⟹  (seek x j) (seek y j) *)
Definition cascade_walk_Ap2 : Prop :=
    forall (T1 T2 T3 : Type) (e : sc T1) (op : T2 -> T3 -> T1) (x : sc T2) (y : sc T3),
    finite_world ->
    eqv e (Ap2 op x y) ->
    True.

(** (seek e j) (= F (fv e)) (set-contains F j) (= e (Ap3 op x y z))  ⟹  (seek x j) (seek y j) (seek z j) *)
Definition cascade_walk_Ap3 : Prop :=
    forall (T1 T2 T3 T4 : Type) (e : sc T1) (op : T2 -> T3 -> T4 -> T1) (x : sc T2) (y : sc T3) (z : sc T4),
    finite_world ->
    eqv e (Ap3 op x y z) ->
    True.

(** (= e (Red o j w b)) (clean b j)  ⟹  (plain e j) *)
Definition cascade_plain_fold : Prop :=
    forall (T1 : Type) (e : sc T1) (o : monoid T1) (j : string) (w : sc bool) (b : sc T1),
    finite_world ->
    index j ->
    eqv e (Red o j w b) ->
    clean b j ->
    True.

(** (= e (Casc o j w f t))  ⟹  (plain e j) *)
Definition cascade_plain_pass : Prop :=
    forall (e : sc xr) (o : monoid xr) (w : sc bool) (f : sc xr) (t : kept) (j : string),
    finite_world ->
    index j ->
    eqv e (Casc o j w f t) ->
    finite e ->
    finite f ->
    True.

(** (= e (Ap1 op x)) (plain x j)  ⟹  (plain e j) *)
Definition cascade_plain_one : Prop :=
    forall (T1 T2 : Type) (e : sc T1) (op : T2 -> T1) (x : sc T2),
    finite_world ->
    eqv e (Ap1 op x) ->
    True.

(** (= e (Ap2 op x y)) (plain x j) (clean y j)  ⟹  (plain e j) *)
Definition cascade_plain_left : Prop :=
    forall (T1 T2 T3 : Type) (e : sc T1) (op : T2 -> T3 -> T1) (x : sc T2) (y : sc T3) (j : string),
    finite_world ->
    index j ->
    eqv e (Ap2 op x y) ->
    clean y j ->
    True.

(** (= e (Ap2 op x y)) (plain y j) (clean x j)  ⟹  (plain e j) *)
Definition cascade_plain_right : Prop :=
    forall (T1 T2 T3 : Type) (e : sc T1) (op : T2 -> T3 -> T1) (x : sc T2) (y : sc T3) (j : string),
    finite_world ->
    index j ->
    eqv e (Ap2 op x y) ->
    clean x j ->
    True.

(** (= e (Ap2 op x y)) (plain x j) (plain y j)  ⟹  (plain e j) *)
Definition cascade_plain_both : Prop :=
    forall (T1 T2 T3 : Type) (e : sc T1) (op : T2 -> T3 -> T1) (x : sc T2) (y : sc T3),
    finite_world ->
    eqv e (Ap2 op x y) ->
    True.

(** (seek e j) (= F (fv e)) (set-not-contains F j) (set-not-contains F '%h') (set-not-contains F '%d') (plain e j) (!= e (Lit '0.0' 'real'))  ⟹  (statistic e j) (abstracts e j (Hole e)) *)
Definition cascade_statistic : Prop :=
    forall (F : names) (e : sc xr) (j : string),
    finite_world ->
    index j ->
    depends e F ->
    F j = false ->
    F HOLE = false ->
    F DELTA = false ->
    finite e ->
    statistic e j /\ abstracts e j (Hole e).

(** (seek e j) (= F (fv e)) (set-contains F j) (= e (Ap1 op x)) (abstracts x j f)  ⟹  (abstracts e j (Ap1 op f)) *)
Definition cascade_abstract_one : Prop :=
    forall (T1 T2 : Type) (e : sc T1) (op : T2 -> T1) (x : sc T2) (j : string) (f : sc T2),
    finite_world ->
    index j ->
    eqv e (Ap1 op x) ->
    abstracts x j f ->
    abstracts e j (Ap1 op f).

(** (seek e j) (= F (fv e)) (set-contains F j) (= e (Ap2 op x y)) (abstracts x j f) (clean y j)  ⟹  (abstracts e j (Ap2 op f y)) *)
Definition cascade_abstract_left : Prop :=
    forall (T1 T2 T3 : Type) (e : sc T1) (op : T2 -> T3 -> T1) (x : sc T2) (y : sc T3) (j : string) (f : sc T2),
    finite_world ->
    index j ->
    eqv e (Ap2 op x y) ->
    abstracts x j f ->
    clean y j ->
    abstracts e j (Ap2 op f y).

(** (seek e j) (= F (fv e)) (set-contains F j) (= e (Ap3 'select' c x y)) (clean c j) (abstracts x j f) (clean y j)  ⟹  (abstracts e j (Ap3 'select' c f y)) *)
Definition cascade_abstract_select_left : Prop :=
    forall (T1 : Type) (e : sc T1) (c : sc bool) (x : sc T1) (y : sc T1) (j : string) (f : sc T1),
    finite_world ->
    index j ->
    eqv e (Ap3 select c x y) ->
    clean c j ->
    abstracts x j f ->
    clean y j ->
    abstracts e j (Ap3 select c f y).

(** (seek e j) (= F (fv e)) (set-contains F j) (= e (Ap2 op x y)) (clean x j) (abstracts y j g)  ⟹  (abstracts e j (Ap2 op x g)) *)
Definition cascade_abstract_right : Prop :=
    forall (T1 T2 T3 : Type) (e : sc T1) (op : T2 -> T3 -> T1) (x : sc T2) (y : sc T3) (j : string) (g : sc T3),
    finite_world ->
    index j ->
    eqv e (Ap2 op x y) ->
    clean x j ->
    abstracts y j g ->
    abstracts e j (Ap2 op x g).

(** (seek e j) (= F (fv e)) (set-contains F j) (= e (Ap3 'select' c x y)) (clean c j) (clean x j) (abstracts y j g)  ⟹  (abstracts e j (Ap3 'select' c x g)) *)
Definition cascade_abstract_select_right : Prop :=
    forall (T1 : Type) (e : sc T1) (c : sc bool) (x : sc T1) (y : sc T1) (j : string) (g : sc T1),
    finite_world ->
    index j ->
    eqv e (Ap3 select c x y) ->
    clean c j ->
    clean x j ->
    abstracts y j g ->
    abstracts e j (Ap3 select c x g).

(** (seek e j) (= F (fv e)) (set-contains F j) (= e (Ap2 op x y)) (abstracts x j f) (abstracts y j g)  ⟹  (abstracts e j (Ap2 op f g)) *)
Definition cascade_abstract_both : Prop :=
    forall (T1 T2 T3 : Type) (e : sc T1) (op : T2 -> T3 -> T1) (x : sc T2) (y : sc T3) (j : string) (f : sc T2) (g : sc T3),
    finite_world ->
    index j ->
    eqv e (Ap2 op x y) ->
    abstracts x j f ->
    abstracts y j g ->
    abstracts e j (Ap2 op f g).

(** (seek e j) (= F (fv e)) (set-contains F j) (= e (Ap3 'select' c x y)) (clean c j) (abstracts x j f) (abstracts y j g)  ⟹  (abstracts e j (Ap3 'select' c f g)) *)
Definition cascade_abstract_select_both : Prop :=
    forall (T1 : Type) (e : sc T1) (c : sc bool) (x : sc T1) (y : sc T1) (j : string) (f : sc T1) (g : sc T1),
    finite_world ->
    index j ->
    eqv e (Ap3 select c x y) ->
    clean c j ->
    abstracts x j f ->
    abstracts y j g ->
    abstracts e j (Ap3 select c f g).

(** (moving f) (= f (Ap1 op x)) (= H_f (fv f)) (set-contains H_f '%h')  ⟹  (moving x) *)
Definition cascade_moving_Ap1 : Prop :=
    forall (T1 T2 : Type) (f : sc T1) (op : T2 -> T1) (x : sc T2),
    finite_world ->
    eqv f (Ap1 op x) ->
    True.

(** (moving f) (= f (Ap2 op x y)) (= H_f (fv f)) (set-contains H_f '%h')  ⟹  (moving x) (moving y) *)
Definition cascade_moving_Ap2 : Prop :=
    forall (T1 T2 T3 : Type) (f : sc T1) (op : T2 -> T3 -> T1) (x : sc T2) (y : sc T3),
    finite_world ->
    eqv f (Ap2 op x y) ->
    True.

(** (moving f) (= f (Ap3 op c x y)) (= H_f (fv f)) (set-contains H_f '%h')  ⟹  (moving c) (moving x) (moving y) *)
Definition cascade_moving_Ap3 : Prop :=
    forall (T1 T2 T3 T4 : Type) (f : sc T1) (op : T2 -> T3 -> T4 -> T1) (c : sc T2) (x : sc T3) (y : sc T4),
    finite_world ->
    eqv f (Ap3 op c x y) ->
    True.

(** (moving f) (= H_f (fv f)) (set-not-contains H_f '%h')  ⟹  (scales f (Lit '1.0' 'real')) (moves f (Lit '0.0' 'real')) *)
Definition cascade_fixed : Prop :=
    forall (H_f : names) (f : sc xr),
    finite_world ->
    depends f H_f ->
    H_f HOLE = false ->
    finite f ->
    scales f (Lit (Fin 1)) /\ moves f (Lit (Fin 0)).

(** (moving f) (= f (Hole m))  ⟹  (moves f (Delta m)) *)
Definition cascade_hole : Prop :=
    forall (f : sc xr) (m : sc xr),
    finite_world ->
    eqv f (Hole m) ->
    finite f ->
    finite m ->
    moves f (Delta m).

(** (moving f) (= H_f (fv f)) (set-contains H_f '%h') (= f (Ap2 'mul' x y)) (scales x a) (scales y b)  ⟹  (scales f (Ap2 'mul' a b)) *)
Definition cascade_scales_product : Prop :=
    forall (f : sc xr) (x : sc xr) (y : sc xr) (a : sc xr) (b : sc xr),
    finite_world ->
    eqv f (Ap2 xmul x y) ->
    scales x a ->
    scales y b ->
    finite f ->
    finite x ->
    finite y ->
    finite a ->
    finite b ->
    scales f (Ap2 xmul a b).

(** (moving f) (= H_f (fv f)) (set-contains H_f '%h') (= f (Ap2 'mul' x y)) (moves x c) (!= c (Lit '0.0' 'real')) (= H_y (fv y)) (set-not-contains H_y '%h')  ⟹  (moves f (Ap2 'mul' c y)) *)
Definition cascade_moves_product_left : Prop :=
    forall (f : sc xr) (x : sc xr) (y : sc xr) (c : sc xr) (H_y : names),
    finite_world ->
    eqv f (Ap2 xmul x y) ->
    moves x c ->
    depends y H_y ->
    H_y HOLE = false ->
    finite f ->
    finite x ->
    finite y ->
    finite c ->
    moves f (Ap2 xmul c y).

(** (moving f) (= H_f (fv f)) (set-contains H_f '%h') (= f (Ap2 'mul' x y)) (= H_x (fv x)) (set-not-contains H_x '%h') (moves y d) (!= d (Lit '0.0' 'real'))  ⟹  (moves f (Ap2 'mul' x d)) *)
Definition cascade_moves_product_right : Prop :=
    forall (f : sc xr) (x : sc xr) (y : sc xr) (H_x : names) (d : sc xr),
    finite_world ->
    eqv f (Ap2 xmul x y) ->
    depends x H_x ->
    H_x HOLE = false ->
    moves y d ->
    finite f ->
    finite x ->
    finite y ->
    finite d ->
    moves f (Ap2 xmul x d).

(** (moving f) (= H_f (fv f)) (set-contains H_f '%h') (= f (Ap2 'mul' x y)) (moves x c) (!= c (Lit '0.0' 'real')) (moves y d) (!= d (Lit '0.0' 'real'))  ⟹  (moves f (Ap2 'add' (Ap2 'mul' c y) (Ap2 'add' (Ap2 'mul' x d) (Ap2 'mul' c d)))) *)
Definition cascade_moves_product : Prop :=
    forall (f : sc xr) (x : sc xr) (y : sc xr) (c : sc xr) (d : sc xr),
    finite_world ->
    eqv f (Ap2 xmul x y) ->
    moves x c ->
    moves y d ->
    finite f ->
    finite x ->
    finite y ->
    finite c ->
    finite d ->
    moves f (Ap2 xadd (Ap2 xmul c y) (Ap2 xadd (Ap2 xmul x d) (Ap2 xmul c d))).

(** (moving f) (= H_f (fv f)) (set-contains H_f '%h') (= f (Ap2 'mul' x y)) (scales x a) (!= a (Lit '1.0' 'real')) (moves y d) (!= d (Lit '0.0' 'real'))  ⟹  (mixes f a (Ap2 'mul' a (Ap2 'mul' d x))) *)
Definition cascade_mixes_scaled_moved : Prop :=
    forall (f : sc xr) (x : sc xr) (y : sc xr) (a : sc xr) (d : sc xr),
    finite_world ->
    eqv f (Ap2 xmul x y) ->
    scales x a ->
    moves y d ->
    finite f ->
    finite x ->
    finite y ->
    finite a ->
    finite d ->
    mixes f a (Ap2 xmul a (Ap2 xmul d x)).

(** (moving f) (= H_f (fv f)) (set-contains H_f '%h') (= f (Ap2 'mul' x y)) (moves x c) (!= c (Lit '0.0' 'real')) (scales y b) (!= b (Lit '1.0' 'real'))  ⟹  (mixes f b (Ap2 'mul' b (Ap2 'mul' c y))) *)
Definition cascade_mixes_moved_scaled : Prop :=
    forall (f : sc xr) (x : sc xr) (y : sc xr) (c : sc xr) (b : sc xr),
    finite_world ->
    eqv f (Ap2 xmul x y) ->
    moves x c ->
    scales y b ->
    finite f ->
    finite x ->
    finite y ->
    finite c ->
    finite b ->
    mixes f b (Ap2 xmul b (Ap2 xmul c y)).

(** (moving f) (= H_f (fv f)) (set-contains H_f '%h') (= f (Ap2 'mul' x y)) (mixes x a r) (scales y b)  ⟹  (mixes f (Ap2 'mul' a b) (Ap2 'mul' b (Ap2 'mul' r y))) *)
Definition cascade_mixes_left : Prop :=
    forall (f : sc xr) (x : sc xr) (y : sc xr) (a : sc xr) (r : sc xr) (b : sc xr),
    finite_world ->
    eqv f (Ap2 xmul x y) ->
    mixes x a r ->
    scales y b ->
    finite f ->
    finite x ->
    finite y ->
    finite a ->
    finite r ->
    finite b ->
    mixes f (Ap2 xmul a b) (Ap2 xmul b (Ap2 xmul r y)).

(** (moving f) (= H_f (fv f)) (set-contains H_f '%h') (= f (Ap2 'mul' x y)) (scales x a) (mixes y b r)  ⟹  (mixes f (Ap2 'mul' a b) (Ap2 'mul' a (Ap2 'mul' r x))) *)
Definition cascade_mixes_right : Prop :=
    forall (f : sc xr) (x : sc xr) (y : sc xr) (a : sc xr) (b : sc xr) (r : sc xr),
    finite_world ->
    eqv f (Ap2 xmul x y) ->
    scales x a ->
    mixes y b r ->
    finite f ->
    finite x ->
    finite y ->
    finite a ->
    finite b ->
    finite r ->
    mixes f (Ap2 xmul a b) (Ap2 xmul a (Ap2 xmul r x)).

(** (moving f) (= H_f (fv f)) (set-contains H_f '%h') (= f (Ap2 'mul' x y)) (mixes x a r) (moves y d) (!= d (Lit '0.0' 'real'))  ⟹  (mixes f a (Ap2 'add' (Ap2 'mul' a (Ap2 'mul' d x)) (Ap2 'add' (Ap2 'mul' r y) (Ap2 'mul' r d)))) *)
Definition cascade_mixes_moved_left : Prop :=
    forall (f : sc xr) (x : sc xr) (y : sc xr) (a : sc xr) (r : sc xr) (d : sc xr),
    finite_world ->
    eqv f (Ap2 xmul x y) ->
    mixes x a r ->
    moves y d ->
    finite f ->
    finite x ->
    finite y ->
    finite a ->
    finite r ->
    finite d ->
    mixes f a (Ap2 xadd (Ap2 xmul a (Ap2 xmul d x)) (Ap2 xadd (Ap2 xmul r y) (Ap2 xmul r d))).

(** (moving f) (= H_f (fv f)) (set-contains H_f '%h') (= f (Ap2 'mul' x y)) (moves x c) (!= c (Lit '0.0' 'real')) (mixes y b r)  ⟹  (mixes f b (Ap2 'add' (Ap2 'mul' b (Ap2 'mul' c y)) (Ap2 'add' (Ap2 'mul' r x) (Ap2 'mul' r c)))) *)
Definition cascade_mixes_moved_right : Prop :=
    forall (f : sc xr) (x : sc xr) (y : sc xr) (c : sc xr) (b : sc xr) (r : sc xr),
    finite_world ->
    eqv f (Ap2 xmul x y) ->
    moves x c ->
    mixes y b r ->
    finite f ->
    finite x ->
    finite y ->
    finite c ->
    finite b ->
    finite r ->
    mixes f b (Ap2 xadd (Ap2 xmul b (Ap2 xmul c y)) (Ap2 xadd (Ap2 xmul r x) (Ap2 xmul r c))).

(** (moving f) (= H_f (fv f)) (set-contains H_f '%h') (= f (Ap2 'add' x y)) (moves x c) (!= c (Lit '0.0' 'real')) (moves y d) (!= d (Lit '0.0' 'real'))  ⟹  (moves f (Ap2 'add' c d)) *)
Definition cascade_moves_sum : Prop :=
    forall (f : sc xr) (x : sc xr) (y : sc xr) (c : sc xr) (d : sc xr),
    finite_world ->
    eqv f (Ap2 xadd x y) ->
    moves x c ->
    moves y d ->
    finite f ->
    finite x ->
    finite y ->
    finite c ->
    finite d ->
    moves f (Ap2 xadd c d).

(** (moving f) (= H_f (fv f)) (set-contains H_f '%h') (= f (Ap2 'add' x y)) (moves x c) (!= c (Lit '0.0' 'real')) (= H_y (fv y)) (set-not-contains H_y '%h')  ⟹  (moves f c) *)
Definition cascade_moves_sum_left : Prop :=
    forall (f : sc xr) (x : sc xr) (y : sc xr) (c : sc xr) (H_y : names),
    finite_world ->
    eqv f (Ap2 xadd x y) ->
    moves x c ->
    depends y H_y ->
    H_y HOLE = false ->
    finite f ->
    finite x ->
    finite y ->
    finite c ->
    moves f c.

(** (moving f) (= H_f (fv f)) (set-contains H_f '%h') (= f (Ap2 'add' x y)) (= H_x (fv x)) (set-not-contains H_x '%h') (moves y d) (!= d (Lit '0.0' 'real'))  ⟹  (moves f d) *)
Definition cascade_moves_sum_right : Prop :=
    forall (f : sc xr) (x : sc xr) (y : sc xr) (H_x : names) (d : sc xr),
    finite_world ->
    eqv f (Ap2 xadd x y) ->
    depends x H_x ->
    H_x HOLE = false ->
    moves y d ->
    finite f ->
    finite x ->
    finite y ->
    finite d ->
    moves f d.

(** (moving f) (= H_f (fv f)) (set-contains H_f '%h') (= f (Ap2 'max' x y)) (moves x c) (moves y c)  ⟹  (moves f c) *)
Definition cascade_moves_max : Prop :=
    forall (f : sc xr) (x : sc xr) (y : sc xr) (c : sc xr),
    finite_world ->
    eqv f (Ap2 xmax x y) ->
    moves x c ->
    moves y c ->
    finite f ->
    finite x ->
    finite y ->
    finite c ->
    moves f c.

(** (moving f) (= H_f (fv f)) (set-contains H_f '%h') (= f (Ap2 'min' x y)) (moves x c) (moves y c)  ⟹  (moves f c) *)
Definition cascade_moves_min : Prop :=
    forall (f : sc xr) (x : sc xr) (y : sc xr) (c : sc xr),
    finite_world ->
    eqv f (Ap2 xmin x y) ->
    moves x c ->
    moves y c ->
    finite f ->
    finite x ->
    finite y ->
    finite c ->
    moves f c.

(** (moving f) (= H_f (fv f)) (set-contains H_f '%h') (= f (Ap1 'neg' x)) (moves x c) (!= c (Lit '0.0' 'real'))  ⟹  (moves f (Ap1 'neg' c)) *)
Definition cascade_moves_negated : Prop :=
    forall (f : sc xr) (x : sc xr) (c : sc xr),
    finite_world ->
    eqv f (Ap1 xneg x) ->
    moves x c ->
    finite f ->
    finite x ->
    finite c ->
    moves f (Ap1 xneg c).

(** (moving f) (= H_f (fv f)) (set-contains H_f '%h') (= f (Ap3 'select' p x y)) (= H_p (fv p)) (set-not-contains H_p '%h') (moves x c) (moves y d)  ⟹  (moves f (Ap3 'select' p c d)) *)
Definition cascade_moves_select : Prop :=
    forall (f : sc xr) (p : sc bool) (x : sc xr) (y : sc xr) (H_p : names) (c : sc xr) (d : sc xr),
    finite_world ->
    eqv f (Ap3 select p x y) ->
    depends p H_p ->
    H_p HOLE = false ->
    moves x c ->
    moves y d ->
    finite f ->
    finite x ->
    finite y ->
    finite c ->
    finite d ->
    moves f (Ap3 select p c d).

(** (moving f) (= H_f (fv f)) (set-contains H_f '%h') (= f (Ap2 'add' x y)) (scales x a) (scales y a)  ⟹  (scales f a) *)
Definition cascade_scales_sum : Prop :=
    forall (f : sc xr) (x : sc xr) (y : sc xr) (a : sc xr),
    finite_world ->
    eqv f (Ap2 xadd x y) ->
    scales x a ->
    scales y a ->
    finite f ->
    finite x ->
    finite y ->
    finite a ->
    scales f a.

(** (moving f) (= H_f (fv f)) (set-contains H_f '%h') (= f (Ap1 'neg' x)) (scales x a)  ⟹  (scales f a) *)
Definition cascade_scales_negated : Prop :=
    forall (f : sc xr) (x : sc xr) (a : sc xr),
    finite_world ->
    eqv f (Ap1 xneg x) ->
    scales x a ->
    finite f ->
    finite x ->
    finite a ->
    scales f a.

(** (moving f) (= H_f (fv f)) (set-contains H_f '%h') (= f (Ap1 'exp' x)) (moves x c)  ⟹  (scales f (Ap1 'exp' c)) *)
Definition cascade_scales_exp : Prop :=
    forall (f : sc xr) (x : sc xr) (c : sc xr),
    finite_world ->
    eqv f (Ap1 xexp x) ->
    moves x c ->
    finite f ->
    finite x ->
    finite c ->
    scales f (Ap1 xexp c).

(** (moving f) (= H_f (fv f)) (set-contains H_f '%h') (= f (Ap1 'recip' x)) (scales x a)  ⟹  (scales f (Ap1 'recip' a)) *)
Definition cascade_scales_recip : Prop :=
    forall (f : sc xr) (x : sc xr) (a : sc xr),
    finite_world ->
    eqv f (Ap1 recip x) ->
    scales x a ->
    finite f ->
    finite x ->
    finite a ->
    scales f (Ap1 recip a).

(** (moving f) (= H_f (fv f)) (set-contains H_f '%h') (= f (Ap3 'select' p x (Lit '0.0' 'real'))) (= H_p (fv p)) (set-not-contains H_p '%h') (scales x a)  ⟹  (scales f a) *)
Definition cascade_scales_select : Prop :=
    forall (f : sc xr) (p : sc bool) (x : sc xr) (H_p : names) (a : sc xr),
    finite_world ->
    eqv f (Ap3 select p x (Lit (Fin 0))) ->
    depends p H_p ->
    H_p HOLE = false ->
    scales x a ->
    finite f ->
    finite x ->
    finite a ->
    scales f a.

(** (moving f) (= H_f (fv f)) (set-contains H_f '%h') (= f (Ap1 'neg' x)) (mixes x a r)  ⟹  (mixes f a (Ap1 'neg' r)) *)
Definition cascade_mixes_negated : Prop :=
    forall (f : sc xr) (x : sc xr) (a : sc xr) (r : sc xr),
    finite_world ->
    eqv f (Ap1 xneg x) ->
    mixes x a r ->
    finite f ->
    finite x ->
    finite a ->
    finite r ->
    mixes f a (Ap1 xneg r).

(** (= e (Delta m))  ⟹  (finite e) *)
Definition cascade_finite_shift : Prop :=
    forall (e : sc xr) (m : sc xr),
    eqv e (Delta m) ->
    finite e.

(** (= e (Red 'sum' j w b)) (abstracts b j f)  ⟹  (keeps 'sum' f j) *)
Definition cascade_keep_body_sum : Prop :=
    forall (e : sc xr) (j : string) (w : sc bool) (b : sc xr) (f : sc xr),
    finite_world ->
    index j ->
    eqv e (Red Sum j w b) ->
    abstracts b j f ->
    finite e ->
    finite b ->
    finite f ->
    keeps Sum f j.

(** (= e (Red 'max' j w b)) (abstracts b j f)  ⟹  (keeps 'max' f j) *)
Definition cascade_keep_body_max : Prop :=
    forall (e : sc xr) (j : string) (w : sc bool) (b : sc xr) (f : sc xr),
    finite_world ->
    index j ->
    eqv e (Red Max j w b) ->
    abstracts b j f ->
    finite e ->
    finite b ->
    finite f ->
    keeps Max f j.

(** (= e (Red 'min' j w b)) (abstracts b j f)  ⟹  (keeps 'min' f j) *)
Definition cascade_keep_body_min : Prop :=
    forall (e : sc xr) (j : string) (w : sc bool) (b : sc xr) (f : sc xr),
    finite_world ->
    index j ->
    eqv e (Red Min j w b) ->
    abstracts b j f ->
    finite e ->
    finite b ->
    finite f ->
    keeps Min f j.

(** (keeps o f j)  ⟹  (moving f) *)
Definition cascade_keeps : Prop :=
    forall (o : monoid xr) (f : sc xr) (j : string),
    finite_world ->
    index j ->
    keeps o f j ->
    finite f ->
    True.

(** (keeps 'sum' f j) (scales f a) (= F (fv a)) (set-not-contains F j)  ⟹  (carried 'sum' j f (Ap2 'mul' a (Keep f))) *)
Definition cascade_carried_scaled : Prop :=
    forall (f : sc xr) (j : string) (a : sc xr) (F : names),
    finite_world ->
    index j ->
    keeps Sum f j ->
    scales f a ->
    depends a F ->
    F j = false ->
    finite f ->
    finite a ->
    carried Sum j f (fun kept_ => (Ap2 xmul a (Keep kept_ f))).

(** (keeps 'sum' f j) (moves f c) (!= c (Lit '0.0' 'real'))  ⟹  (sums c j) (carried 'sum' j f (Ap2 'add' (Keep f) (Total c j))) *)
Definition cascade_carried_moved : Prop :=
    forall (f : sc xr) (j : string) (c : sc xr),
    finite_world ->
    index j ->
    keeps Sum f j ->
    moves f c ->
    finite f ->
    finite c ->
    carried Sum j f (fun kept_ => (Ap2 xadd (Keep kept_ f) (Total kept_ c j))).

(** (keeps 'sum' f j) (mixes f a r) (= F (fv a)) (set-not-contains F j)  ⟹  (sums r j) (carried 'sum' j f (Ap2 'add' (Ap2 'mul' a (Keep f)) (Total r j))) *)
Definition cascade_carried_mixed : Prop :=
    forall (f : sc xr) (j : string) (a : sc xr) (r : sc xr) (F : names),
    finite_world ->
    index j ->
    keeps Sum f j ->
    mixes f a r ->
    depends a F ->
    F j = false ->
    finite f ->
    finite a ->
    finite r ->
    carried Sum j f (fun kept_ => (Ap2 xadd (Ap2 xmul a (Keep kept_ f)) (Total kept_ r j))).

(** (keeps 'max' f j) (moves f a) (!= a (Lit '0.0' 'real')) (= F (fv a)) (set-not-contains F j)  ⟹  (carried 'max' j f (Ap2 'add' a (Keep f))) *)
Definition cascade_carried_max_moved : Prop :=
    forall (f : sc xr) (j : string) (a : sc xr) (F : names),
    finite_world ->
    index j ->
    keeps Max f j ->
    moves f a ->
    depends a F ->
    F j = false ->
    finite f ->
    finite a ->
    carried Max j f (fun kept_ => (Ap2 xadd a (Keep kept_ f))).

(** (keeps 'max' f j) (scales f a) (positive a) (= F (fv a)) (set-not-contains F j)  ⟹  (carried 'max' j f (Ap2 'mul' a (Keep f))) *)
Definition cascade_carried_max_scaled : Prop :=
    forall (f : sc xr) (j : string) (a : sc xr) (F : names),
    finite_world ->
    index j ->
    keeps Max f j ->
    scales f a ->
    positive a ->
    depends a F ->
    F j = false ->
    finite f ->
    finite a ->
    carried Max j f (fun kept_ => (Ap2 xmul a (Keep kept_ f))).

(** (keeps 'min' f j) (moves f a) (!= a (Lit '0.0' 'real')) (= F (fv a)) (set-not-contains F j)  ⟹  (carried 'min' j f (Ap2 'add' a (Keep f))) *)
Definition cascade_carried_min_moved : Prop :=
    forall (f : sc xr) (j : string) (a : sc xr) (F : names),
    finite_world ->
    index j ->
    keeps Min f j ->
    moves f a ->
    depends a F ->
    F j = false ->
    finite f ->
    finite a ->
    carried Min j f (fun kept_ => (Ap2 xadd a (Keep kept_ f))).

(** (keeps 'min' f j) (scales f a) (positive a) (= F (fv a)) (set-not-contains F j)  ⟹  (carried 'min' j f (Ap2 'mul' a (Keep f))) *)
Definition cascade_carried_min_scaled : Prop :=
    forall (f : sc xr) (j : string) (a : sc xr) (F : names),
    finite_world ->
    index j ->
    keeps Min f j ->
    scales f a ->
    positive a ->
    depends a F ->
    F j = false ->
    finite f ->
    finite a ->
    carried Min j f (fun kept_ => (Ap2 xmul a (Keep kept_ f))).

(** (sums e j)  ⟹  (want e j) *)
Definition cascade_want_sum : Prop :=
    finite_world ->
    True.

(** (sums e j) (split e j x y) (= Y (fv y)) (set-not-contains Y '%d')  ⟹  (union (Total e j) (Ap2 'mul' x (Keep y))) (keeps 'sum' y j) *)
Definition cascade_total_split : Prop :=
    forall (e : sc xr) (j : string) (x : sc xr) (y : sc xr) (Y : names),
    finite_world ->
    index j ->
    split e j x y ->
    depends y Y ->
    Y DELTA = false ->
    finite e ->
    finite x ->
    finite y ->
    kept_eqv j (fun kept_ => (Total kept_ e j)) (fun kept_ => (Ap2 xmul x (Keep kept_ y))) /\ keeps Sum y j.

(** (sums e j) (= F (fv e)) (set-contains F j) (= e (Ap2 'add' x y))  ⟹  (sums x j) (sums y j) (union (Total e j) (Ap2 'add' (Total x j) (Total y j))) *)
Definition cascade_total_add : Prop :=
    forall (e : sc xr) (x : sc xr) (y : sc xr) (j : string),
    finite_world ->
    index j ->
    eqv e (Ap2 xadd x y) ->
    finite e ->
    finite x ->
    finite y ->
    kept_eqv j (fun kept_ => (Total kept_ e j)) (fun kept_ => (Ap2 xadd (Total kept_ x j) (Total kept_ y j))).

(** (sums e j) (= F (fv e)) (set-contains F j) (= e (Ap1 'neg' x))  ⟹  (sums x j) (union (Total e j) (Ap1 'neg' (Total x j))) *)
Definition cascade_total_negated : Prop :=
    forall (e : sc xr) (x : sc xr) (j : string),
    finite_world ->
    index j ->
    eqv e (Ap1 xneg x) ->
    finite e ->
    finite x ->
    kept_eqv j (fun kept_ => (Total kept_ e j)) (fun kept_ => (Ap1 xneg (Total kept_ x j))).

(** (sums e j) (= e (Ap3 'select' p c (Lit '0.0' 'real')))  ⟹  (want c j) *)
Definition cascade_want_selected : Prop :=
    forall (e : sc xr) (p : sc bool) (c : sc xr),
    finite_world ->
    eqv e (Ap3 select p c (Lit (Fin 0))) ->
    finite e ->
    finite c ->
    True.

(** (sums e j) (= e (Ap3 'select' p c (Lit '0.0' 'real'))) (split c j x y) (= Y (fv y)) (set-not-contains Y '%d') (= P (fv p)) (set-not-contains P '%d')  ⟹  (union (Total e j) (Ap2 'mul' x (Keep (Ap3 'select' p y (Lit '0.0' 'real'))))) (keeps 'sum' (Ap3 'select' p y (Lit '0.0' 'real')) j) *)
Definition cascade_total_selected : Prop :=
    forall (e : sc xr) (p : sc bool) (c : sc xr) (j : string) (x : sc xr) (y : sc xr) (Y : names) (P : names),
    finite_world ->
    index j ->
    eqv e (Ap3 select p c (Lit (Fin 0))) ->
    split c j x y ->
    depends y Y ->
    Y DELTA = false ->
    depends p P ->
    P DELTA = false ->
    finite e ->
    finite c ->
    finite x ->
    finite y ->
    kept_eqv j (fun kept_ => (Total kept_ e j)) (fun kept_ => (Ap2 xmul x (Keep kept_ (Ap3 select p y (Lit (Fin 0)))))) /\ keeps Sum (Ap3 select p y (Lit (Fin 0))) j.

(** (sums e j) (= e (Ap3 'select' p c (Lit '0.0' 'real'))) (= c (Ap2 'add' x y))  ⟹  (sums (Ap3 'select' p x (Lit '0.0' 'real')) j) (sums (Ap3 'select' p y (Lit '0.0' 'real')) j) (union (Total e j) (Ap2 'add' (Total (Ap3 'select' p x (Lit '0.0' 'real')) j) (Total (Ap3 'select' p y (Lit '0.0' 'real')) j))) *)
Definition cascade_total_selected_add : Prop :=
    forall (e : sc xr) (p : sc bool) (c : sc xr) (x : sc xr) (y : sc xr) (j : string),
    finite_world ->
    index j ->
    eqv e (Ap3 select p c (Lit (Fin 0))) ->
    eqv c (Ap2 xadd x y) ->
    finite e ->
    finite c ->
    finite x ->
    finite y ->
    kept_eqv j (fun kept_ => (Total kept_ e j)) (fun kept_ => (Ap2 xadd (Total kept_ (Ap3 select p x (Lit (Fin 0))) j) (Total kept_ (Ap3 select p y (Lit (Fin 0))) j))).

(** ((b + c) · y) = ((b · y) + (c · y))  when its sum is asked for, and b + c depends on δ and the index *)
Definition cascade_distribute : Prop :=
    forall (BC : names) (fv_b : names) (b : sc xr) (fv_c : names) (c : sc xr) (y : sc xr),
    finite_world ->
    depends b fv_b ->
    depends c fv_c ->
    (forall i, BC i = (set_union fv_b fv_c) i) ->
    finite b ->
    finite c ->
    finite y ->
    eqv (Ap2 xmul (Ap2 xadd b c) y) (Ap2 xadd (Ap2 xmul b y) (Ap2 xmul c y)).

(** (= e (Red 'sum' j w b)) (finished b j)  ⟹  (spreading b j) *)
Definition cascade_want_spread : Prop :=
    forall (e : sc xr) (j : string) (w : sc bool) (b : sc xr),
    finite_world ->
    index j ->
    eqv e (Red Sum j w b) ->
    finite e ->
    finite b ->
    True.

(** (spreading e j) (= e (Ap2 'mul' x y))  ⟹  (spreading x j) (spreading y j) *)
Definition cascade_spreading_product : Prop :=
    forall (e : sc xr) (x : sc xr) (y : sc xr),
    finite_world ->
    eqv e (Ap2 xmul x y) ->
    finite e ->
    finite x ->
    finite y ->
    True.

(** (spreading e j) (= e (Ap1 'neg' x))  ⟹  (spreading x j) *)
Definition cascade_spreading_negated : Prop :=
    forall (e : sc xr) (x : sc xr),
    finite_world ->
    eqv e (Ap1 xneg x) ->
    finite e ->
    finite x ->
    True.

(** (spreading e j) (= e (Ap2 'add' x y)) (finished x j)  ⟹  (want x j) *)
Definition cascade_want_left : Prop :=
    forall (e : sc xr) (x : sc xr) (y : sc xr) (j : string),
    finite_world ->
    index j ->
    eqv e (Ap2 xadd x y) ->
    finite e ->
    finite x ->
    finite y ->
    True.

(** (spreading e j) (= e (Ap2 'add' x y)) (finished x j) (split x j f u) (!= f (Lit '1.0' 'real')) (finished f j) (= U (fv u)) (set-contains U j)  ⟹  (spreads e j x y) *)
Definition cascade_spread_left : Prop :=
    forall (e : sc xr) (x : sc xr) (y : sc xr) (j : string) (f : sc xr) (u : sc xr),
    finite_world ->
    index j ->
    eqv e (Ap2 xadd x y) ->
    split x j f u ->
    finite e ->
    finite x ->
    finite y ->
    finite f ->
    finite u ->
    spreads e j x y.

(** (spreading e j) (= e (Ap2 'mul' x y)) (spreads x j p q)  ⟹  (spreads e j (Ap2 'mul' p y) (Ap2 'mul' q y)) *)
Definition cascade_spread_product_left : Prop :=
    forall (e : sc xr) (x : sc xr) (y : sc xr) (j : string) (p : sc xr) (q : sc xr),
    finite_world ->
    index j ->
    eqv e (Ap2 xmul x y) ->
    spreads x j p q ->
    finite e ->
    finite x ->
    finite y ->
    finite p ->
    finite q ->
    spreads e j (Ap2 xmul p y) (Ap2 xmul q y).

(** (spreading e j) (= e (Ap2 'add' x y)) (finished y j)  ⟹  (want y j) *)
Definition cascade_want_right : Prop :=
    forall (e : sc xr) (x : sc xr) (y : sc xr) (j : string),
    finite_world ->
    index j ->
    eqv e (Ap2 xadd x y) ->
    finite e ->
    finite x ->
    finite y ->
    True.

(** (spreading e j) (= e (Ap2 'add' x y)) (finished y j) (split y j f u) (!= f (Lit '1.0' 'real')) (finished f j) (= U (fv u)) (set-contains U j)  ⟹  (spreads e j y x) *)
Definition cascade_spread_right : Prop :=
    forall (e : sc xr) (x : sc xr) (y : sc xr) (j : string) (f : sc xr) (u : sc xr),
    finite_world ->
    index j ->
    eqv e (Ap2 xadd x y) ->
    split y j f u ->
    finite e ->
    finite x ->
    finite y ->
    finite f ->
    finite u ->
    spreads e j y x.

(** (spreading e j) (= e (Ap2 'mul' x y)) (spreads y j p q)  ⟹  (spreads e j (Ap2 'mul' p x) (Ap2 'mul' q x)) *)
Definition cascade_spread_product_right : Prop :=
    forall (e : sc xr) (x : sc xr) (y : sc xr) (j : string) (p : sc xr) (q : sc xr),
    finite_world ->
    index j ->
    eqv e (Ap2 xmul x y) ->
    spreads y j p q ->
    finite e ->
    finite x ->
    finite y ->
    finite p ->
    finite q ->
    spreads e j (Ap2 xmul p x) (Ap2 xmul q x).

(** (spreading e j) (= e (Ap1 'neg' x)) (spreads x j p q)  ⟹  (spreads e j (Ap1 'neg' p) (Ap1 'neg' q)) *)
Definition cascade_spread_negated : Prop :=
    forall (e : sc xr) (x : sc xr) (j : string) (p : sc xr) (q : sc xr),
    finite_world ->
    index j ->
    eqv e (Ap1 xneg x) ->
    spreads x j p q ->
    finite e ->
    finite x ->
    finite p ->
    finite q ->
    spreads e j (Ap1 xneg p) (Ap1 xneg q).

(** sum[j](b, where=w) = (sum[j](p, where=w) + sum[j](q, where=w))  when b = p + q, p with a factor that waits for j *)
Definition cascade_spread : Prop :=
    forall (b : sc xr) (j : string) (p : sc xr) (q : sc xr) (w : sc bool),
    finite_world ->
    index j ->
    spreads b j p q ->
    finite b ->
    finite p ->
    finite q ->
    eqv (Red Sum j w b) (Ap2 xadd (Red Sum j w p) (Red Sum j w q)).

(** o[j](b, where=w) = pass o[j](f, carry=t, where=w)  when b = f[h := m], each m a statistic of j, t carries the fold of f, t free of j *)
Definition cascade_pass : Prop :=
    forall (b : sc xr) (j : string) (f : sc xr) (o : monoid xr) (t : kept) (F_t : names) (w : sc bool),
    finite_world ->
    index j ->
    abstracts b j f ->
    carried o j f t ->
    F_t j = false ->
    finite b ->
    finite f ->
    eqv (Red o j w b) (Casc o j w f t).

(** fold[m, s](x[s], where=s ≤ t) = scan[m, t](x[t]) *)
Definition scan_prefix : Prop :=
    forall (V T : Type) (m : keyed V) (p : state m -> T), forall (s t : string) (x : closed V), s <> t -> size s = size t -> (forall e, ok e -> (0 <= pos e t < Z.of_nat (size t))%Z) -> (forall q v, x (move_to t v q) = x q) -> eqv (Fold m p [s] (fun e => (pos e s <=? pos e t)%Z) x) (Scn m p t 0 (fun q => x (move_to s (q t) q))).

(** Σ[s](c[t]·x[s], where=s ≤ t) = c[t]·scan[sum, t](x[t]) *)
Definition scan_prefix_scaled : Prop :=
    forall (c x h : nat -> R), h 0%nat = x 0%nat -> (forall t, h (S t) = (h t + x (S t))%R) -> forall t, (c t * h t)%R = sum_f_R0 (fun s => (c t * x s)%R) t.

(** fold[m, s](c[t] + x[s], where=s ≤ t) = c[t] + scan[m, t](x[t]), m max or min *)
Definition scan_prefix_shifted : Prop :=
    forall (m : R -> R -> R) (c x h : nat -> R) (g : nat -> nat -> R), m = Rmax \/ m = Rmin -> h 0%nat = x 0%nat -> (forall t, h (S t) = m (h t) (x (S t))) -> (forall t, g t 0%nat = (c t + x 0%nat)%R) -> (forall t s, g t (S s) = m (g t s) (c t + x (S s))%R) -> forall t, g t t = (c t + h t)%R.

(** (= e (Scn m p t 0 v)) (chunked t n)  ⟹  (union e (Scn m p t n v)) (edge 'scan.chunk' (N_Scn m p t 0 v) (N_Scn m p t n v)) *)
Definition scan_chunk : Prop :=
    forall (T1 T2 : Type) (e : sc T1) (m : keyed T2) (p : state m -> T1) (v : closed T2) (t : string) (n : Z),
    index t ->
    eqv e (Scn m p t (0)%Z v) ->
    eqv e (Scn m p t n v).

(** fold[m, s](x[t, s], where=s ≤ t) = fold[m, r](fold[m, b](x[t, s := n·r + b]), where=r < u) ∘ fold[m, b](x[t, s := n·u + b], where=n·u + b ≤ t),  u = t div n *)
Definition scan_chunks : Prop :=
    forall (T : Type) (m : monoid T) (n t : nat) (x : nat -> T), (0 < n)%nat -> let over k y := fold_right (op m) (unit_ m) (map y (seq 0 k)) in over (S t) x = op m (over (t / n)%nat (fun r => over n (fun b => x (n * r + b)%nat))) (over (S (t mod n)) (fun b => x (n * (t / n) + b)%nat)).

(** Σ[s](exp(A[t] - A[s])·x[s], where=s ≤ t) = scan[affine, t](exp(A[t] - A[t - 1]), x[t]).b *)
Definition scan_decay : Prop :=
    forall (A x : nat -> R) (h : nat -> R), h 0%nat = x 0%nat -> (forall t, h (S t) = (exp (A (S t) - A t) * h t + x (S t))%R) -> forall t, h t = sum_f_R0 (fun s => (exp (A t - A s) * x s)%R) t.

(** (= q (Ap2 'eq:i64' p c)) (position p j) (= F (fv c)) (set-not-contains F j)  ⟹  (matches q j c) *)
Definition gather_match_left : Prop :=
    forall (q : sc bool) (p : sc int) (c : sc int) (j : string) (F : names),
    index j ->
    eqv q (Ap2 int_eq p c) ->
    is_position p j ->
    depends c F ->
    F j = false ->
    matches q j c.

(** (= q (Ap2 'eq:i64' p c)) (shifted p j d) (= F (fv c)) (set-not-contains F j)  ⟹  (matches q j (Ap2 'add:i64' c d)) *)
Definition gather_match_shifted_left : Prop :=
    forall (q : sc bool) (p : sc int) (c : sc int) (j : string) (d : sc int) (F : names),
    index j ->
    eqv q (Ap2 int_eq p c) ->
    shifted p j d ->
    depends c F ->
    F j = false ->
    matches q j (Ap2 int_add c d).

(** (= q (Ap2 'eq:i64' c p)) (position p j) (= F (fv c)) (set-not-contains F j)  ⟹  (matches q j c) *)
Definition gather_match_right : Prop :=
    forall (q : sc bool) (c : sc int) (p : sc int) (j : string) (F : names),
    index j ->
    eqv q (Ap2 int_eq c p) ->
    is_position p j ->
    depends c F ->
    F j = false ->
    matches q j c.

(** (= q (Ap2 'eq:i64' c p)) (shifted p j d) (= F (fv c)) (set-not-contains F j)  ⟹  (matches q j (Ap2 'add:i64' c d)) *)
Definition gather_match_shifted_right : Prop :=
    forall (q : sc bool) (c : sc int) (p : sc int) (j : string) (d : sc int) (F : names),
    index j ->
    eqv q (Ap2 int_eq c p) ->
    shifted p j d ->
    depends c F ->
    F j = false ->
    matches q j (Ap2 int_add c d).

(** (= e (Red m j w b))  ⟹  (sift w j) *)
Definition gather_sift_fold : Prop :=
    forall (T1 : Type) (e : sc T1) (m : monoid T1) (j : string) (w : sc bool) (b : sc T1),
    finite_world ->
    index j ->
    eqv e (Red m j w b) ->
    True.

(** (sift w j) (= w (Ap2 'and' x y))  ⟹  (sift x j) (sift y j) *)
Definition gather_sift_and : Prop :=
    forall (w : sc bool) (x : sc bool) (y : sc bool),
    finite_world ->
    eqv w (Ap2 andb x y) ->
    True.

(** (sift q j) (matches q j c)  ⟹  (point q j c (Lit 'True' 'bool')) *)
Definition gather_point_here : Prop :=
    forall (q : sc bool) (j : string) (c : sc int),
    index j ->
    matches q j c ->
    point q j c (Lit true).

(** (sift q j) (opposite q o j c)  ⟹  (half q j q (Lit 'True' 'bool')) *)
Definition gather_half_here : Prop :=
    forall (q : sc bool) (o : sc bool) (j : string) (c : sc int),
    index j ->
    opposite q o j c ->
    half q j q (Lit true).

(** (half w j q r)  ⟹  (sift r j) *)
Definition gather_half_sift : Prop :=
    forall (w : sc bool) (j : string) (q : sc bool) (r : sc bool),
    finite_world ->
    index j ->
    half w j q r ->
    True.

(** (half w j q r) (opposite q o j c) (half r j o s)  ⟹  (point w j c s) *)
Definition gather_point_halves : Prop :=
    forall (w : sc bool) (j : string) (q : sc bool) (r : sc bool) (o : sc bool) (c : sc int) (s : sc bool),
    index j ->
    half w j q r ->
    opposite q o j c ->
    half r j o s ->
    point w j c s.

(** (sift q j) (matches q i c) (!= i j) (= F (fv q)) (set-not-contains F j)  ⟹  (apart q j q (Lit 'True' 'bool')) *)
Definition gather_apart_here : Prop :=
    forall (q : sc bool) (i : string) (c : sc int) (j : string) (F : names),
    index i ->
    index j ->
    matches q i c ->
    i <> j ->
    depends q F ->
    F j = false ->
    apart q j q (Lit true).

(** (sift w j) (= w (Ap2 'and' x y)) (point x j c r)  ⟹  (point w j c (Ap2 'and' r y)) *)
Definition gather_point_left : Prop :=
    forall (w : sc bool) (x : sc bool) (y : sc bool) (j : string) (c : sc int) (r : sc bool),
    index j ->
    eqv w (Ap2 andb x y) ->
    point x j c r ->
    point w j c (Ap2 andb r y).

(** (sift w j) (= w (Ap2 'and' x y)) (half x j q r)  ⟹  (half w j q (Ap2 'and' r y)) *)
Definition gather_half_left : Prop :=
    forall (w : sc bool) (x : sc bool) (y : sc bool) (j : string) (q : sc bool) (r : sc bool),
    index j ->
    eqv w (Ap2 andb x y) ->
    half x j q r ->
    half w j q (Ap2 andb r y).

(** (sift w j) (= w (Ap2 'and' x y)) (apart x j q r)  ⟹  (apart w j q (Ap2 'and' r y)) *)
Definition gather_apart_left : Prop :=
    forall (w : sc bool) (x : sc bool) (y : sc bool) (j : string) (q : sc bool) (r : sc bool),
    index j ->
    eqv w (Ap2 andb x y) ->
    apart x j q r ->
    apart w j q (Ap2 andb r y).

(** (sift w j) (= w (Ap2 'and' x y)) (point y j c r)  ⟹  (point w j c (Ap2 'and' r x)) *)
Definition gather_point_right : Prop :=
    forall (w : sc bool) (x : sc bool) (y : sc bool) (j : string) (c : sc int) (r : sc bool),
    index j ->
    eqv w (Ap2 andb x y) ->
    point y j c r ->
    point w j c (Ap2 andb r x).

(** (sift w j) (= w (Ap2 'and' x y)) (half y j q r)  ⟹  (half w j q (Ap2 'and' r x)) *)
Definition gather_half_right : Prop :=
    forall (w : sc bool) (x : sc bool) (y : sc bool) (j : string) (q : sc bool) (r : sc bool),
    index j ->
    eqv w (Ap2 andb x y) ->
    half y j q r ->
    half w j q (Ap2 andb r x).

(** (sift w j) (= w (Ap2 'and' x y)) (apart y j q r)  ⟹  (apart w j q (Ap2 'and' r x)) *)
Definition gather_apart_right : Prop :=
    forall (w : sc bool) (x : sc bool) (y : sc bool) (j : string) (q : sc bool) (r : sc bool),
    index j ->
    eqv w (Ap2 andb x y) ->
    apart y j q r ->
    apart w j q (Ap2 andb r x).

(** m[j](b, where=w) = select(select:bool((le:i64(0, c) ∧ lt:i64(c, n)), r[j := c], False), b[j := c], e)  when w = (j = c) ∧ r with c free of j, n is the size of j, e is the identity of m *)
Definition gather_point : Prop :=
    forall (T1 : Type) (w : sc bool) (j : string) (c : sc int) (r : sc bool) (n : sc int) (m : monoid T1) (e : sc T1) (b : sc T1),
    placed j c ->
    index j ->
    point w j c r ->
    counts_points j n ->
    neutral m e ->
    eqv (Red m j w b) (Ap3 select (Ap3 select (Ap2 andb (Ap2 int_le (Lit (of_Z (0)%Z)) c) (Ap2 int_lt c n)) (At j c r) (Lit false)) (At j c b) e).

(** m[j](b, where=w) = select(r[j := c], b[j := c], e)  when w = (j = c) ∧ r with c free of j, c is a position along j, e is the identity of m *)
Definition gather_point_within : Prop :=
    forall (T1 : Type) (w : sc bool) (j : string) (c : sc int) (r : sc bool) (m : monoid T1) (e : sc T1) (b : sc T1),
    placed j c ->
    index j ->
    point w j c r ->
    within j c ->
    neutral m e ->
    eqv (Red m j w b) (Ap3 select (At j c r) (At j c b) e).

(** any[j](True, where=w) = select:bool((le:i64(0, c) ∧ lt:i64(c, n)), r[j := c], False)  when w = (j = c) ∧ r with c free of j, n is the size of j *)
Definition gather_exists : Prop :=
    forall (w : sc bool) (j : string) (c : sc int) (r : sc bool) (n : sc int),
    placed j c ->
    index j ->
    point w j c r ->
    counts_points j n ->
    eqv (Red Any j w (Lit true)) (Ap3 select (Ap2 andb (Ap2 int_le (Lit (of_Z (0)%Z)) c) (Ap2 int_lt c n)) (At j c r) (Lit false)).

(** select:bool(q, True, False) = q *)
Definition gather_only_range : Prop :=
    forall (q : sc bool),
    eqv (Ap3 select q (Lit true) (Lit false)) q.

(** m[k](b, where=w) = select(q, m[k](b, where=r), e)  when w = q ∧ r with q free of k, e is the identity of m *)
Definition gather_outward : Prop :=
    forall (T1 : Type) (w : sc bool) (k : string) (q : sc bool) (r : sc bool) (m : monoid T1) (e : sc T1) (b : sc T1),
    index k ->
    apart w k q r ->
    neutral m e ->
    eqv (Red m k w b) (Ap3 select q (Red m k r b) e).

(** x[j := c] = x  when x free of j *)
Definition gather_absent : Prop :=
    forall (T1 : Type) (F_x : names) (x : sc T1) (j : string) (c : sc int),
    placed j c ->
    index j ->
    depends x F_x ->
    F_x j = false ->
    eqv (At j c x) x.

(** op(x)[j := c] = op(x[j := c]) *)
Definition gather_map : Prop :=
    forall (T1 T2 : Type) (j : string) (c : sc int) (op : T1 -> T2) (x : sc T1),
    placed j c ->
    index j ->
    eqv (At j c (Ap1 op x)) (Ap1 op (At j c x)).

(** op(x, y)[j := c] = op(x[j := c], y[j := c]) *)
Definition gather_map_two : Prop :=
    forall (T1 T2 T3 : Type) (j : string) (c : sc int) (op : T1 -> T2 -> T3) (x : sc T1) (y : sc T2),
    placed j c ->
    index j ->
    eqv (At j c (Ap2 op x y)) (Ap2 op (At j c x) (At j c y)).

(** op(x, y, z)[j := c] = op(x[j := c], y[j := c], z[j := c]) *)
Definition gather_map_three : Prop :=
    forall (T1 T2 T3 T4 : Type) (j : string) (c : sc int) (op : T1 -> T2 -> T3 -> T4) (x : sc T1) (y : sc T2) (z : sc T3),
    placed j c ->
    index j ->
    eqv (At j c (Ap3 op x y z)) (Ap3 op (At j c x) (At j c y) (At j c z)).

(** m[i](x, where=w)[j := c] = m[i](x[j := c], where=w[j := c])  when i ≠ j, c free of i *)
Definition gather_fold : Prop :=
    forall (T1 : Type) (F_c : names) (c : sc int) (i : string) (j : string) (m : monoid T1) (w : sc bool) (x : sc T1),
    placed j c ->
    index i ->
    index j ->
    i <> j ->
    depends c F_c ->
    F_c i = false ->
    eqv (At j c (Red m i w x)) (Red m i (At j c w) (At j c x)).

(** p[j := c] = c  when p is the position along j *)
Definition gather_position : Prop :=
    forall (p : sc int) (j : string) (c : sc int),
    placed j c ->
    index j ->
    is_position p j ->
    eqv (At j c p) c.

(** Leaf(l)[j := c] = Gather(g, vec-of(c))  when g reads at a value what l reads at j *)
Definition gather_read : Prop :=
    forall (T1 : Type) (l : closed T1) (j : string) (g : position -> int -> T1) (c : sc int),
    placed j c ->
    index j ->
    reads_alike l j g ->
    eqv (At j c (Leaf l)) (Gather g c).

(** Gather(g, values)[j := c] = Gather(g, vec-of(d[j := c]))  when g mentions j in its one value d only *)
Definition gather_gather : Prop :=
    forall (T1 T2 : Type) (g : position -> T1 -> T2) (j : string) (c : sc int) (d : sc T1),
    placed j c ->
    index j ->
    only_gathered g j ->
    eqv (At j c (Gather g d)) (Gather g (At j c d)).

(** cast:real:bool(q) = select(q, 1, 0) *)
Definition gather_indicator : Prop :=
    forall (q : sc bool),
    eqv (Ap1 indicator q) (Ap3 select q (Lit (Fin 1)) (Lit (Fin 0))).

(** (= e (Red 'sum' j w b))  ⟹  (hunt b j) *)
Definition gather_hunt_sum : Prop :=
    forall (e : sc xr) (j : string) (w : sc bool) (b : sc xr),
    finite_world ->
    index j ->
    eqv e (Red Sum j w b) ->
    finite e ->
    finite b ->
    True.

(** (hunt b j) (= b (Ap2 'mul' x y))  ⟹  (hunt x j) (hunt y j) *)
Definition gather_hunt_mul : Prop :=
    forall (b : sc xr) (x : sc xr) (y : sc xr),
    finite_world ->
    eqv b (Ap2 xmul x y) ->
    finite b ->
    finite x ->
    finite y ->
    True.

(** (hunt b j) (= b (Ap2 'add' x y))  ⟹  (hunt x j) (hunt y j) *)
Definition gather_hunt_add : Prop :=
    forall (b : sc xr) (x : sc xr) (y : sc xr),
    finite_world ->
    eqv b (Ap2 xadd x y) ->
    finite b ->
    finite x ->
    finite y ->
    True.

(** (hunt b j) (= b (Ap3 'select' w x (Lit '0.0' 'real')))  ⟹  (sift w j) *)
Definition gather_hunt_select : Prop :=
    forall (b : sc xr) (w : sc bool) (x : sc xr),
    finite_world ->
    eqv b (Ap3 select w x (Lit (Fin 0))) ->
    finite b ->
    finite x ->
    True.

(** (matches q j c)  ⟹  (pins q j) *)
Definition gather_pins_here : Prop :=
    forall (q : sc bool) (j : string) (c : sc int),
    finite_world ->
    index j ->
    matches q j c ->
    pins q j.

(** (= w (Ap2 'and' x y)) (pins x j)  ⟹  (pins w j) *)
Definition gather_pins_left : Prop :=
    forall (w : sc bool) (x : sc bool) (y : sc bool) (j : string),
    finite_world ->
    index j ->
    eqv w (Ap2 andb x y) ->
    pins x j ->
    pins w j.

(** (= w (Ap2 'and' x y)) (pins y j)  ⟹  (pins w j) *)
Definition gather_pins_right : Prop :=
    forall (w : sc bool) (x : sc bool) (y : sc bool) (j : string),
    finite_world ->
    index j ->
    eqv w (Ap2 andb x y) ->
    pins y j ->
    pins w j.

(** (hunt b j) (= b (Ap3 'select' w x (Lit '0.0' 'real'))) (pins w j)  ⟹  (hot b j) *)
Definition gather_hot_select : Prop :=
    forall (b : sc xr) (w : sc bool) (x : sc xr) (j : string),
    finite_world ->
    index j ->
    eqv b (Ap3 select w x (Lit (Fin 0))) ->
    pins w j ->
    finite b ->
    finite x ->
    True.

(** (hunt b j) (= b (Ap2 'mul' x y)) (hot x j)  ⟹  (hot b j) *)
Definition gather_hot_product_left : Prop :=
    forall (b : sc xr) (x : sc xr) (y : sc xr),
    finite_world ->
    eqv b (Ap2 xmul x y) ->
    finite b ->
    finite x ->
    finite y ->
    True.

(** (hunt b j) (= b (Ap2 'mul' x y)) (hot y j)  ⟹  (hot b j) *)
Definition gather_hot_product_right : Prop :=
    forall (b : sc xr) (x : sc xr) (y : sc xr),
    finite_world ->
    eqv b (Ap2 xmul x y) ->
    finite b ->
    finite x ->
    finite y ->
    True.

(** (hunt b j) (= b (Ap2 'add' x y)) (hot x j) (hot y j)  ⟹  (hot b j) *)
Definition gather_hot_sum : Prop :=
    forall (b : sc xr) (x : sc xr) (y : sc xr),
    finite_world ->
    eqv b (Ap2 xadd x y) ->
    finite b ->
    finite x ->
    finite y ->
    True.

(** sum[j]((x + y), where=w) = (sum[j](x, where=w) + sum[j](y, where=w))  when x and y are 0 but at points of j, likewise *)
Definition gather_linear : Prop :=
    forall (j : string) (w : sc bool) (x : sc xr) (y : sc xr),
    finite_world ->
    index j ->
    finite x ->
    finite y ->
    eqv (Red Sum j w (Ap2 xadd x y)) (Ap2 xadd (Red Sum j w x) (Red Sum j w y)).

(** ((x + y) · z) = ((x · z) + (y · z))  when x and y are 0 but at points of j, likewise *)
Definition gather_spread : Prop :=
    forall (x : sc xr) (y : sc xr) (z : sc xr),
    finite_world ->
    finite x ->
    finite y ->
    finite z ->
    eqv (Ap2 xmul (Ap2 xadd x y) z) (Ap2 xadd (Ap2 xmul x z) (Ap2 xmul y z)).

(** (hunt b j) (= b (Red 'sum' i v x)) (!= i j) (pins v j)  ⟹  (scattered b j i v x) *)
Definition gather_scattered_here : Prop :=
    forall (b : sc xr) (i : string) (v : sc bool) (x : sc xr) (j : string),
    finite_world ->
    index i ->
    index j ->
    eqv b (Red Sum i v x) ->
    i <> j ->
    pins v j ->
    finite b ->
    finite x ->
    scattered b j i v x.

(** (hunt b j) (= b (Ap2 'mul' x y)) (scattered x j i v f) (= F (fv y)) (set-not-contains F i)  ⟹  (scattered b j i v (Ap2 'mul' f y)) *)
Definition gather_scattered_left : Prop :=
    forall (b : sc xr) (x : sc xr) (y : sc xr) (j : string) (i : string) (v : sc bool) (f : sc xr) (F : names),
    finite_world ->
    index j ->
    index i ->
    eqv b (Ap2 xmul x y) ->
    scattered x j i v f ->
    depends y F ->
    F i = false ->
    finite b ->
    finite x ->
    finite y ->
    finite f ->
    scattered b j i v (Ap2 xmul f y).

(** (hunt b j) (= b (Ap2 'mul' x y)) (scattered y j i v f) (= F (fv x)) (set-not-contains F i)  ⟹  (scattered b j i v (Ap2 'mul' f x)) *)
Definition gather_scattered_right : Prop :=
    forall (b : sc xr) (x : sc xr) (y : sc xr) (j : string) (i : string) (v : sc bool) (f : sc xr) (F : names),
    finite_world ->
    index j ->
    index i ->
    eqv b (Ap2 xmul x y) ->
    scattered y j i v f ->
    depends x F ->
    F i = false ->
    finite b ->
    finite x ->
    finite y ->
    finite f ->
    scattered b j i v (Ap2 xmul f x).

(** sum[j](b, where=w) = sum[i](sum[j](x, where=(w ∧ v)))  when b = Σ x over i where v, at points of j, w free of i *)
Definition gather_exchange : Prop :=
    forall (b : sc xr) (j : string) (i : string) (v : sc bool) (x : sc xr) (F_w : names) (w : sc bool),
    finite_world ->
    index j ->
    index i ->
    scattered b j i v x ->
    depends w F_w ->
    F_w i = false ->
    finite b ->
    finite x ->
    eqv (Red Sum j w b) (Red Sum i (Lit true) (Red Sum j (Ap2 andb w v) x)).

(** (ascending x j o i) (= y (Ap1 f x)) (widens f)  ⟹  (ascending y j (Ap1 f o) i) *)
Definition gather_ascending_cast : Prop :=
    forall (x : sc int) (j : string) (o : sc int) (i : string) (y : sc int) (f : int -> int),
    index j ->
    index i ->
    ascending x j o i ->
    eqv y (Ap1 f x) ->
    widens f ->
    ascending y j (Ap1 f o) i.

(** eq(key, value) = (le:i64(sum:i64[i](1, where=lt(other, value)), p) ∧ lt:i64(p, sum:i64[i](1, where=le(other, value))))  when over j, of one type, key does not decrease along j; other is the same over i, p is the position along j, value free of j, i *)
Definition gather_segment : Prop :=
    forall (eq : int -> int -> bool) (lt : int -> int -> bool) (le : int -> int -> bool) (key : sc int) (j : string) (other : sc int) (i : string) (p : sc int) (F_value : names) (value : sc int),
    index j ->
    index i ->
    compares eq lt le ->
    ascending key j other i ->
    is_position p j ->
    depends value F_value ->
    F_value j = false ->
    F_value i = false ->
    eqv (Ap2 eq key value) (Ap2 andb (Ap2 int_le (Red Count i (Ap2 lt other value) (Lit (of_Z (1)%Z))) p) (Ap2 int_lt p (Red Count i (Ap2 le other value) (Lit (of_Z (1)%Z))))).

(** eq(value, key) = (le:i64(sum:i64[i](1, where=lt(other, value)), p) ∧ lt:i64(p, sum:i64[i](1, where=le(other, value))))  when over j, of one type, key does not decrease along j; other is the same over i, p is the position along j, value free of j, i *)
Definition gather_segment_turned : Prop :=
    forall (eq : int -> int -> bool) (lt : int -> int -> bool) (le : int -> int -> bool) (key : sc int) (j : string) (other : sc int) (i : string) (p : sc int) (F_value : names) (value : sc int),
    index j ->
    index i ->
    compares eq lt le ->
    ascending key j other i ->
    is_position p j ->
    depends value F_value ->
    F_value j = false ->
    F_value i = false ->
    eqv (Ap2 eq value key) (Ap2 andb (Ap2 int_le (Red Count i (Ap2 lt other value) (Lit (of_Z (1)%Z))) p) (Ap2 int_lt p (Red Count i (Ap2 le other value) (Lit (of_Z (1)%Z))))).

(** (x · y) = ((cast:bf16(x) + (x + -cast:bf16(x))) · y) *)
Definition precision_halves : Prop :=
    forall (x : sc xr) (y : sc xr) (op_cast_bf16 : xr -> xr),
    finite_world ->
    finite x ->
    finite y ->
    finite (Ap1 op_cast_bf16 x) ->
    eqv (Ap2 xmul x y) (Ap2 xmul (Ap2 xadd (Ap1 op_cast_bf16 x) (Ap2 xadd x (Ap1 xneg (Ap1 op_cast_bf16 x)))) y).

(** ((x + y) · z) = ((x · z) + (y · z)) *)
Definition precision_distribute : Prop :=
    forall (x : sc xr) (y : sc xr) (z : sc xr),
    finite_world ->
    finite x ->
    finite y ->
    finite z ->
    eqv (Ap2 xmul (Ap2 xadd x y) z) (Ap2 xadd (Ap2 xmul x z) (Ap2 xmul y z)).

(** x - hi x = bf16(x - hi x) + e, |e| ≤ 2^-16·|x| *)
Definition precision_low : Prop :=
    forall hi : R -> R, (forall r, Rabs (hi r - r) <= / 2 ^ 8 * Rabs r) -> forall x, Rabs (x - hi x - hi (x - hi x)) <= / 2 ^ 16 * Rabs x.

(** Σ a·b = Σ (sum of aᵖ·bᵠ over the pairs kept) + e, |e| ≤ bound·Σ |a|·|b| *)
Definition precision_drop : Prop :=
    forall (l : list Z) (n : nat) (keep : nat * nat -> bool) (u : R) (a b : Z -> R), forall pa pb : nat -> Z -> R, 0 <= u -> parts_of n u a pa -> parts_of n u b pb -> Rabs (rsum l (fun v => a v * b v) - rsum l (fun v => rsum (pairs n keep) (fun pq => pa (fst pq) v * pb (snd pq) v))) <= ((1 + u) ^ 2 * rsum (pairs n (fun pq => negb (keep pq))) (fun pq => u ^ (fst pq + snd pq)) + 2 * u ^ n + u ^ n * u ^ n) * rsum l (fun v => Rabs (a v) * Rabs (b v)).

(** fold[m, j](x) = all_reduce[m, rank](fold[m, k](x[j := rank·n + k])) *)
Definition sharding_local : Prop :=
    forall (T : Type) (m : monoid T) (j r k : string) (n : nat) (w : sc bool) (x : sc T), j <> r -> j <> k -> r <> k -> size k = n -> (size j <= size r * n)%nat -> free w r -> free w k -> free x r -> free x k -> let at_ := view_of [(j, Form (0%Z, [(Z.of_nat n, r); (1%Z, k)]))] in eqv (Red m j w x) (Red m r (Lit true) (Red m k (Ap2 andb (fun e => (at_ e j <? Z.of_nat (size j))%Z) (Let at_ w)) (Let at_ x))).

(** pass[j](f, at=s, carry=t) = all_reduce[pass, rank](pass[k](f[j := rank·n + k], at=s, carry=t)), states moved by t *)
Definition sharding_local_state : Prop :=
    forall (o : monoid xr) (j : string) (w : sc bool) (b f : sc xr) (t : kept) (at_ : nat -> statistic_value -> R) (shares : list (list Z)), abstracts b j f -> carried o j f t -> forall e, ok e -> concat shares = points j w e -> Red o j w b e = fold_right (op o) (unit_ o) (map (fun s => carry o j t (snd s) (at_ (fst s)) e) (combine (seq 0 (length shares)) shares)).

End Statements.
