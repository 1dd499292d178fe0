(** What terms of the language mean.

    A scalar of type [A] is a function from environments to [A].  An environment gives every index a position, and every
    hole and every shift of a cascade a value.  Holes and shifts are named by statistics: functions of positions.
    See README.md for what is modelled and what is not. *)

From Coq Require Import Reals ZArith String List Bool Lra FunctionalExtensionality.
From TangEgg Require Export Values.
Import ListNotations.
Open Scope R_scope.
Open Scope bool_scope.

Definition position := string -> Z.
Definition statistic_value := position -> xr.

(** Everything on which no law may rest: sizes of indices, the positions at hand (an index that is not in scope may
    stand anywhere), the values of holes (all, or finite ones), what IEEE 754 leaves to the sign of zero, and how a
    cascade cuts its points in two with partial statistics of their own. *)
Class world := {
  size : string -> nat;
  allowed : string -> Z -> Prop;
  in_range_allowed : forall j v, (0 <= v < Z.of_nat (size j))%Z -> allowed j v;
  size_fits : forall j, (Z.of_nat (size j) < 2 ^ 63)%Z;
  only_finite : bool;
  recip_zero : xr;
  recip_zero_infinite : recip_zero = PInf \/ recip_zero = NInf;
  tanh_real : R -> R;
  erf_real : R -> R;
  atan2 : xr -> xr -> xr;
  cut : nat;
  left_statistic : statistic_value -> R;
  right_statistic : statistic_value -> R }.

Record env := Env { pos : position; hole : statistic_value -> xr; delta : statistic_value -> xr }.

Definition move_to (j : string) (v : Z) (p : position) : position := fun i => if String.eqb i j then v else p i.
Definition set (j : string) (v : Z) (e : env) : env := Env (move_to j v (pos e)) (hole e) (delta e).
Definition with_hole h (e : env) := Env (pos e) h (delta e).
Definition with_delta d (e : env) := Env (pos e) (hole e) d.
Definition shift (e : env) : env := with_hole (fun m => xadd (hole e m) (delta e m)) e.

(** Names of holes and shifts among the names on which a term may depend; never names of indices. *)
Definition HOLE := "%h"%string.
Definition DELTA := "%d"%string.
Definition index (j : string) : Prop := j <> HOLE /\ j <> DELTA.

Definition sc (A : Type) := env -> A.
(** A scalar made by the front end: a read, position, test or operand of one; it holds no hole, shift or kept fold. *)
Definition closed (A : Type) := position -> A.
(** Folds of a part of the points: as they were kept before statistics shifted, and sums now that the shift is known. *)
Record folds := Folds { before : sc xr -> xr; now : sc xr -> xr }.
(** A term with folds of a part of the points. *)
Definition kept := folds -> sc xr.

Record monoid (A : Type) := Monoid {
  op : A -> A -> A; unit_ : A;
  op_assoc : forall x y z, op x (op y z) = op (op x y) z;
  op_comm : forall x y, op x y = op y x;
  op_unit : forall x, op unit_ x = x }.
Arguments op {A}. Arguments unit_ {A}. Arguments op_assoc {A}. Arguments op_comm {A}. Arguments op_unit {A}.

Definition Sum := Monoid xr xadd (Fin 0) xadd_assoc xadd_comm xadd_0_l.
Definition Product := Monoid xr xmul (Fin 1) xmul_assoc xmul_comm xmul_1_l.
Definition Max := Monoid xr xmax NInf xmax_assoc xmax_comm xmax_l.
Definition Min := Monoid xr xmin PInf xmin_assoc xmin_comm xmin_l.
Definition Any := Monoid bool orb false orb_assoc orb_comm orb_false_l.
Definition All := Monoid bool andb true andb_assoc andb_comm andb_true_l.

(** Machine integers: a commutative group under an addition that wraps, exact where the result fits. *)
Class integers := {
  int : Type;
  value : int -> Z;
  of_Z : Z -> int;
  int_add : int -> int -> int;
  value_injective : forall a b, value a = value b -> a = b;
  value_of_Z : forall z, (- 2 ^ 63 <= z < 2 ^ 63)%Z -> value (of_Z z) = z;
  value_add : forall a b, (- 2 ^ 63 <= value a + value b < 2 ^ 63)%Z -> value (int_add a b) = (value a + value b)%Z;
  add_assoc : forall a b c, int_add a (int_add b c) = int_add (int_add a b) c;
  add_comm : forall a b, int_add a b = int_add b a;
  add_zero : forall a, int_add (of_Z 0) a = a;
  add_cancel : forall a b c, int_add a c = int_add b c -> a = b }.

Definition Count {I : integers} := Monoid int int_add (of_Z 0) add_assoc add_comm add_zero.
Definition int_eq {I : integers} (a b : int) : bool := (value a =? value b)%Z.
Definition int_le {I : integers} (a b : int) : bool := (value a <=? value b)%Z.
Definition int_lt {I : integers} (a b : int) : bool := (value a <? value b)%Z.
Definition indicator (b : bool) : xr := if b then Fin 1 else Fin 0.

Section Terms.
Context {W : world}.

Definition range (j : string) : list Z := map Z.of_nat (seq 0 (size j)).

(** The fold of [f] over a list of points. *)
Definition fold {A} (m : monoid A) (l : list Z) (f : Z -> A) : A := fold_right (fun v acc => op m (f v) acc) (unit_ m) l.

Definition points (j : string) (w : sc bool) (e : env) : list Z := filter (fun v => w (set j v e)) (range j).

Definition Lit {A} (a : A) : sc A := fun _ => a.
Definition Leaf {A} (k : closed A) : sc A := fun e => k (pos e).
Definition Gather {A V} (k : position -> V -> A) (v : sc V) : sc A := fun e => k (pos e) (v e).
Definition Ap1 {A B} (f : A -> B) (x : sc A) : sc B := fun e => f (x e).
Definition Ap2 {A B C} (f : A -> B -> C) (x : sc A) (y : sc B) : sc C := fun e => f (x e) (y e).
Definition Ap3 {A B C D} (f : A -> B -> C -> D) (x : sc A) (y : sc B) (z : sc C) : sc D := fun e => f (x e) (y e) (z e).
Definition Red {A} (m : monoid A) (j : string) (w : sc bool) (b : sc A) : sc A :=
  fun e => fold m (points j w e) (fun v => b (set j v e)).

(** A view replaces the position; what it replaces and by what is the proposition [replaces] below. *)
Definition view := env -> position.
Definition move (k : view) (e : env) : env := Env (k e) (hole e) (delta e).
Definition Let {A} (k : view) (x : sc A) : sc A := fun e => x (move k e).

(** An integer in the place of an index, in range or not. *)
Definition At {I : integers} {A} (j : string) (c : sc int) (x : sc A) : sc A := fun e => x (set j (value (c e)) e).

(** Statistics are closed terms: their value does not depend on any hole. *)
Definition still (m : sc xr) : statistic_value := fun p => m (Env p (fun _ => Fin 0) (fun _ => Fin 0)).
Definition Hole (m : sc xr) : sc xr := fun e => hole e (still m).
Definition Delta (m : sc xr) : sc xr := fun e => delta e (still m).
Definition Keep (k : folds) (x : sc xr) : sc xr := fun _ => before k x.
Definition Total (k : folds) (x : sc xr) (j : string) : sc xr := fun _ => now k x.

(** The folds over some points at an environment: a state does not know the shift that is to come. *)
Definition folds_over (m : monoid xr) (j : string) (l : list Z) (e : env) : folds :=
  Folds (fun x => fold m l (fun v => x (set j v (with_delta (fun _ => Fin 0) e))))
        (fun x => fold Sum l (fun v => x (set j v e))).

(** One pass: the points are cut in two, each part is folded at a statistic of its own, carried to that of all points
    by [t], and the parts are combined.  An empty part has nothing to carry, and no part is carried to a statistic that
    is not finite. *)
Definition carry (m : monoid xr) (j : string) (t : kept) (l : list Z) (h : statistic_value -> R) (e : env) : xr :=
  let from := Env (pos e)
    (fun s => match s (pos e) with Fin _ => Fin (h s) | z => z end)
    (fun s => match s (pos e) with Fin r => Fin (r - h s) | _ => Fin 0 end) in
  match l with nil => unit_ m | _ => t (folds_over m j l from) from end.
Definition Casc (m : monoid xr) (j : string) (w : sc bool) (f : sc xr) (t : kept) : sc xr :=
  fun e => let l := points j w e in
  op m (carry m j t (firstn cut l) left_statistic e) (carry m j t (skipn cut l) right_statistic e).

(** Folds and scans over states of several components, in order: associativity is all that is asked for. *)
Record keyed (V : Type) := Keyed {
  state : Type; lift : V -> state; join : state -> state -> state; empty_state : state;
  join_assoc : forall x y z, join x (join y z) = join (join x y) z;
  join_left : forall x, join empty_state x = x;
  join_right : forall x, join x empty_state = x }.
Arguments state {V}. Arguments lift {V}. Arguments join {V}. Arguments empty_state {V}.
Arguments join_assoc {V}. Arguments join_left {V}. Arguments join_right {V}.

Definition joined {V} (k : keyed V) (l : list (state k)) : state k := fold_right (join k) (empty_state k) l.
Fixpoint environments (js : list string) (e : env) : list env :=
  match js with nil => [e] | j :: rest => flat_map (fun v => environments rest (set j v e)) (range j) end.
Definition Fold {V A} (k : keyed V) (p : state k -> A) (js : list string) (w : sc bool) (v : closed V) : sc A :=
  fun e => p (joined k (map (fun x => lift k (v (pos x))) (filter w (environments js e)))).

Definition lifted {V} (k : keyed V) (t : string) (v : closed V) (e : env) (s : nat) : state k :=
  lift k (v (pos (set t (Z.of_nat s) e))).
(** With a chunk size n > 0: the states of the chunks before, then the own chunk up to here. *)
Definition Scn {V A} (k : keyed V) (p : state k -> A) (t : string) (n : Z) (v : closed V) : sc A :=
  fun e => let last := Z.to_nat (pos e t) in let c := Z.to_nat n in
  p (if (n <=? 0)%Z then joined k (map (lifted k t v e) (seq 0 (S last)))
     else let q := Nat.div last c in
       join k (joined k (map (fun b => joined k (map (lifted k t v e) (seq (b * c) c))) (seq 0 q)))
              (joined k (map (lifted k t v e) (seq (q * c) (S last - q * c))))).

(** The operations that have a name in the table. *)
Definition recip := xrecip recip_zero.
Definition tanh_ := xsigmoid tanh_real.
Definition erf_ := xsigmoid erf_real.

(** * Environments at hand *)
Definition finite_statistic (s : statistic_value) : Prop := forall p, (forall i, allowed i (p i)) -> isfin (s p).
Definition plain_values (h : statistic_value -> xr) : Prop :=
  only_finite = true -> forall s, finite_statistic s -> isfin (h s).
(** A shift is the difference of two finite statistics: nothing is carried from or to a statistic that is not. *)
Definition ok (e : env) : Prop :=
  (forall i, allowed i (pos e i)) /\ plain_values (hole e) /\ (forall s, isfin (delta e s)).

(** Two terms are equal: at every environment at hand. *)
Definition eqv {A} (x y : sc A) : Prop := forall e, ok e -> x e = y e.
Definition finite (x : sc xr) : Prop := forall e, ok e -> isfin (x e).

(** * Dependence on names *)
Definition names := string -> bool.
Definition set_empty : names := fun _ => false.
Definition set_of (l : list string) : names := fun i => existsb (String.eqb i) l.
Definition set_union (F G : names) : names := fun i => F i || G i.
Definition set_intersect (F G : names) : names := fun i => F i && G i.
Definition set_diff (F G : names) : names := fun i => F i && negb (G i).
Definition set_remove (F : names) (j : string) : names := fun i => F i && negb (String.eqb i j).

Definition agree (F : names) (a b : env) : Prop :=
  (forall i, F i = true -> pos a i = pos b i) /\ (F HOLE = true -> hole a = hole b) /\
  (F DELTA = true -> delta a = delta b).
(** The proposition of [fv x = F]: x depends on nothing but F. *)
Definition depends {A} (x : sc A) (F : names) : Prop := forall a b, ok a -> ok b -> agree F a b -> x a = x b.
Definition free {A} (x : sc A) (j : string) : Prop := forall e v, ok e -> allowed j v -> x (set j v e) = x e.

(** * Relations of the table: the proposition that each of their facts stands for *)
Definition replaces (k : view) (D J : names) : Prop :=
  (forall i, D i = true -> index i) /\ (forall e, ok e -> ok (move k e)) /\
  (forall e i, ok e -> D i = false -> k e i = pos e i) /\
  (forall a b i, ok a -> ok b -> D i = true -> (forall n, J n = true -> pos a n = pos b n) -> k a i = k b i).
(** No hole and no shift in it. *)
Definition clean {A} (x : sc A) (j : string) : Prop :=
  forall a b, ok a -> ok b -> pos a = pos b -> x a = x b.
Definition split (b : sc xr) (j : string) (f u : sc xr) : Prop := eqv b (Ap2 xmul f u) /\ free f j.
Definition spreads (b : sc xr) (j : string) (p q : sc xr) : Prop := eqv b (Ap2 xadd p q).
Definition extent (j : string) (n : sc xr) : Prop := eqv n (Lit (Fin (INR (size j)))).
Definition inverse_extent (j : string) (n : sc xr) : Prop := eqv n (Lit (recip (Fin (INR (size j))))).
Definition inhabited (j : string) (w : sc bool) : Prop :=
  forall e, ok e -> exists v, In v (range j) /\ w (set j v e) = true.
Definition implies (p q : sc bool) : Prop := forall e, ok e -> p e = true -> q e = true.
Definition neutral {A} (m : monoid A) (x : sc A) : Prop := eqv x (Lit (unit_ m)).
Inductive member : forall {A}, string -> sc bool -> sc A -> Prop :=
| a_fold {A} j w (x : sc A) m b : eqv x (Red m j w b) -> member j w x
| a_pass j w (x : sc xr) m f t : eqv x (Casc m j w f t) -> member j w x.
Definition statistic (x : sc xr) (j : string) : Prop := free x j.
(** The holes of [f] at statistics of [j] hold their values: then [f] is [x], whatever shifts and other holes hold. *)
Definition filled (j : string) (e : env) (h : statistic_value -> xr) : Prop :=
  forall m : statistic_value, (forall p v, (forall i, allowed i (p i)) -> allowed j v -> m (move_to j v p) = m p) ->
  h m = m (pos e).
(** Without shifts. *)
Definition timeless {A} (x : sc A) : Prop :=
  forall a b, ok a -> ok b -> pos a = pos b -> hole a = hole b -> x a = x b.
Definition keeps (m : monoid xr) (x : sc xr) (j : string) : Prop := timeless x.
Definition abstracts {A} (x : sc A) (j : string) (f : sc A) : Prop :=
  timeless f /\ forall e h d, ok e -> ok (Env (pos e) h d) -> filled j e h -> f (Env (pos e) h d) = x e.
Definition scales (f a : sc xr) : Prop := forall e, ok e -> f (shift e) = xmul (a e) (f e).
Definition moves (f c : sc xr) : Prop := forall e, ok e -> f (shift e) = xadd (f e) (c e).
Definition mixes (f a r : sc xr) : Prop := forall e, ok e -> f (shift e) = xadd (xmul (a e) (f e)) (r e).
Definition above (x : xr) : Prop := match x with Fin r => 0 < r | _ => False end.
Definition positive (x : sc xr) : Prop := forall e, ok e -> above (x e).
(** Equal when the folds are sums over points of the index. *)
Definition kept_eqv (j : string) (s t : kept) : Prop :=
  forall e l, ok e -> incl l (range j) -> s (folds_over Sum j l e) e = t (folds_over Sum j l e) e.
Definition carried (m : monoid xr) (j : string) (f : sc xr) (t : kept) : Prop :=
  forall e l, ok e -> incl l (range j) ->
  fold m l (fun v => f (set j v (shift e))) = t (folds_over m j l e) e.

(** * Positions and gathers (rules/gather.py) *)
Section Gathers.
Context {I : integers}.
(** What stands in the place of the index is among the positions at hand, which need not be those in range. *)
Definition placed (j : string) (c : sc int) : Prop := forall e, ok e -> allowed j (value (c e)).
Definition is_position (p : sc int) (j : string) : Prop := forall e, ok e -> value (p e) = pos e j.
Definition shifted (p : sc int) (j : string) (d : sc int) : Prop :=
  (forall e, ok e -> value (int_add (p e) (d e)) = pos e j) /\ free d j.
Definition counts_points (j : string) (n : sc int) : Prop := forall e, ok e -> value (n e) = Z.of_nat (size j).
Definition at_value (j : string) (c : sc int) : sc bool := fun e => (value (c e) =? pos e j)%Z.
Definition opposite (a b : sc bool) (j : string) (c : sc int) : Prop := eqv (Ap2 andb a b) (at_value j c) /\ free c j.
Definition within (j : string) (c : sc int) : Prop := forall e, ok e -> (0 <= value (c e) < Z.of_nat (size j))%Z.
Definition reads_alike {A} (l : closed A) (j : string) (g : position -> int -> A) : Prop :=
  forall (e : env) (c : int), ok e -> l (move_to j (value c) (pos e)) = g (pos e) c.
Definition only_gathered {A V} (g : position -> V -> A) (j : string) : Prop :=
  forall p u v, g (move_to j u p) v = g p v.
(** At the points of the index j. *)
Definition ascending (key : sc int) (j : string) (other : sc int) (i : string) : Prop :=
  i <> j /\ size i = size j /\ (forall e, ok e -> (0 <= pos e j < Z.of_nat (size j))%Z) /\
  (forall e v, ok e -> In v (range j) -> other (set i v e) = key (set j v e)) /\
  (forall e u v, ok e -> In u (range j) -> In v (range j) -> (u <= v)%Z ->
   (value (key (set j u e)) <= value (key (set j v e)))%Z).
Definition compares (eq lt le : int -> int -> bool) : Prop :=
  forall a b, eq a b = int_eq a b /\ lt a b = int_lt a b /\ le a b = int_le a b.
Definition widens (f : int -> int) : Prop := forall a b, (value a <= value b -> value (f a) <= value (f b))%Z.
Definition matches (q : sc bool) (j : string) (c : sc int) : Prop := eqv q (at_value j c) /\ free c j.
Definition half (w : sc bool) (j : string) (q r : sc bool) : Prop := eqv w (Ap2 andb q r).
Definition point (w : sc bool) (j : string) (c : sc int) (r : sc bool) : Prop :=
  eqv w (Ap2 andb (at_value j c) r) /\ free c j.
Definition apart (w : sc bool) (j : string) (q r : sc bool) : Prop := eqv w (Ap2 andb q r) /\ free q j.
Definition pins (w : sc bool) (j : string) : Prop :=
  forall e u v, ok e -> allowed j u -> allowed j v -> w (set j u e) = true -> w (set j v e) = true -> u = v.
Definition scattered (b : sc xr) (j i : string) (v : sc bool) (x : sc xr) : Prop := eqv b (Red Sum i v x) /\ i <> j.
End Gathers.
End Terms.
Arguments state {V}. Arguments lift {V}. Arguments join {V}. Arguments empty_state {V}.
Arguments join_assoc {V}. Arguments join_left {V}. Arguments join_right {V}.

(** A law marked finite speaks of finite values: holes and shifts are finite too. *)
Definition finite_world {W : world} : Prop := only_finite = true.
