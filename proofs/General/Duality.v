(** Weak duality of the traffic program: the pair of linear programs behind tiles and floors, and boxes.

    A comprehension iterates over dims; an operand reads some of them. The primal program asks for a tile: exponents λ_i
    of its sides with 0 ≤ λ_i ≤ β_i and Σ λ_i ≤ 1 over the dims of each operand (its footprint fits), Σ λ_i as large as
    possible. The dual has a weight s_j ≥ 0 for each operand and ζ_i ≥ 0 for each dim with Σ_{j reads i} s_j + ζ_i ≥ 1
    and minimises Σ s_j + Σ β_i ζ_i.
    - [weak_duality]: every feasible dual bounds every feasible primal; [equal_values_certify]: if two values agree,
      both are optimal.
    - [box_points]: a box tile with sides t_i ≤ N_i has at most Π footprint_j^{s_j} · Π N_i^{ζ_i} points, and
      [box_points_memory]: at most S^σ · Π N_i^{ζ_i} if every footprint is at most S, σ = Σ s_j.
    Sets of points that are not boxes are in Points.v. The affine case (rank conditions on subgroups) is not here:
    operands read whole dims. *)
From Coq Require Import List Reals Lra.
From TangEgg.General Require Import Monoids.
Import ListNotations.
Set Implicit Arguments.
Open Scope R_scope.

Definition product {A} (l : list A) (f : A -> R) : R := big Product l f.

Lemma product_nil {A} (f : A -> R) : product [] f = 1.
Proof. easy. Qed.

Lemma product_cons {A} x l (f : A -> R) : product (x :: l) f = f x * product l f.
Proof. easy. Qed.

Lemma product_positive {A} l (f : A -> R) : (forall x, In x l -> 0 < f x) -> 0 < product l f.
Proof.
  induction l; intros H; rewrite ?product_nil, ?product_cons; [lra |].
  apply Rmult_lt_0_compat; [apply H | apply IHl; intros; apply H]; simpl; auto.
Qed.

Lemma product_le {A} l (f g : A -> R) : (forall x, In x l -> 0 <= f x <= g x) -> 0 <= product l f <= product l g.
Proof.
  induction l; intros H; rewrite ?product_nil, ?product_cons; [lra |].
  pose proof (H a (or_introl eq_refl)). destruct IHl as [I J]; [intros; apply H; simpl; auto |].
  split; [apply Rmult_le_pos | apply Rmult_le_compat]; lra.
Qed.

Lemma product_ln {A} l (f : A -> R) : (forall x, In x l -> 0 < f x) -> ln (product l f) = sum l (fun x => ln (f x)).
Proof.
  induction l; intros H; rewrite ?product_nil, ?product_cons, ?sum_nil, ?sum_cons; [apply ln_1 |].
  rewrite ln_mult, IHl; auto; [intros; apply H; simpl; auto | apply H; simpl; auto |].
  apply product_positive. intros; apply H; simpl; auto.
Qed.

Lemma product_mult {A} l (f g : A -> R) : product l (fun x => f x * g x) = product l f * product l g.
Proof. apply (big_op Product_commutative). Qed.

Lemma product_ext {A} l (f g : A -> R) : (forall x, In x l -> f x = g x) -> product l f = product l g.
Proof. apply (big_ext Product). Qed.

Lemma Rpower_positive x s : 0 < Rpower x s.
Proof. apply exp_pos. Qed.

Lemma ln_Rpower x s : ln (Rpower x s) = s * ln x.
Proof. apply ln_exp. Qed.

Lemma Rpower_le x y s : 0 <= s -> 0 < x <= y -> Rpower x s <= Rpower y s.
Proof. intros H K. apply Rle_Rpower_l; easy. Qed.

Lemma ln_le_reverse x y : 0 < x -> 0 < y -> ln x <= ln y -> x <= y.
Proof.
  intros X Y H. destruct (Rle_lt_dec x y) as [L | L]; [easy |]. pose proof (ln_increasing y x Y L). lra.
Qed.

Lemma ln_monotone x y : 0 < x -> x <= y -> ln x <= ln y.
Proof. intros X [H | ->]; [left; now apply ln_increasing | lra]. Qed.

(** ** The pair of programs *)

Section Programs.
  Variables (Dim Operand : Type) (dims : list Dim) (operands : list Operand).
  Variable reads : Operand -> Dim -> bool.
  Variables (s : Operand -> R) (zeta : Dim -> R).
  Hypothesis s_nonneg : forall j, In j operands -> 0 <= s j.
  Hypothesis zeta_nonneg : forall i, In i dims -> 0 <= zeta i.
  Hypothesis covers : forall i, In i dims -> 1 <= sum operands (fun j => if reads j i then s j else 0) + zeta i.

  (** The exponent of an operand's footprint. *)
  Definition footprint (lambda : Dim -> R) (j : Operand) : R := sum dims (fun i => if reads j i then lambda i else 0).

  Lemma duality_exact (lambda : Dim -> R) : (forall i, In i dims -> 0 <= lambda i) ->
    sum dims lambda <= sum operands (fun j => s j * footprint lambda j) + sum dims (fun i => zeta i * lambda i).
  Proof.
    intros P. unfold footprint.
    rewrite (sum_ext operands _ (fun j => sum dims (fun i => lambda i * (if reads j i then s j else 0)))).
    2:{ intros. rewrite <- sum_scale. apply sum_ext. intros. destruct (reads x x0); ring. }
    rewrite sum_interchange, <- sum_plus. apply sum_le. intros i I. rewrite sum_scale.
    pose proof (covers i I). pose proof (P i I). nra.
  Qed.

  Variables (beta lambda : Dim -> R).
  Hypothesis lambda_bounds : forall i, In i dims -> 0 <= lambda i <= beta i.
  Hypothesis fits : forall j, In j operands -> footprint lambda j <= 1.

  Theorem weak_duality : sum dims lambda <= sum operands s + sum dims (fun i => beta i * zeta i).
  Proof.
    eapply Rle_trans; [apply duality_exact; intros; now apply lambda_bounds |].
    apply Rplus_le_compat; apply sum_le.
    - intros j J. pose proof (s_nonneg j J). pose proof (fits j J). nra.
    - intros i I. pose proof (zeta_nonneg i I). pose proof (lambda_bounds i I). nra.
  Qed.
End Programs.

(** Feasible points of both programs, to speak of optima. *)
Section Certificate.
  Variables (Dim Operand : Type) (dims : list Dim) (operands : list Operand) (reads : Operand -> Dim -> bool).
  Variable beta : Dim -> R.

  Definition primal (lambda : Dim -> R) :=
    (forall i, In i dims -> 0 <= lambda i <= beta i) /\
    (forall j, In j operands -> footprint dims reads lambda j <= 1).
  Definition dual (d : (Operand -> R) * (Dim -> R)) :=
    (forall j, In j operands -> 0 <= fst d j) /\ (forall i, In i dims -> 0 <= snd d i) /\
    (forall i, In i dims -> 1 <= sum operands (fun j => if reads j i then fst d j else 0) + snd d i).
  Definition dual_value (d : (Operand -> R) * (Dim -> R)) : R :=
    sum operands (fst d) + sum dims (fun i => beta i * snd d i).

  Theorem duality lambda d : primal lambda -> dual d -> sum dims lambda <= dual_value d.
  Proof. intros [B F] (P & Z & C). eapply weak_duality; eauto. Qed.

  Theorem equal_values_certify lambda d : primal lambda -> dual d -> sum dims lambda = dual_value d ->
    (forall lambda', primal lambda' -> sum dims lambda' <= sum dims lambda) /\
    (forall d', dual d' -> dual_value d <= dual_value d').
  Proof.
    intros P D E. split; [intros l' P'; rewrite E | intros d' D'; rewrite <- E]; now apply duality.
  Qed.
End Certificate.

(** ** Points of a box *)

Section Box.
  Variables (Dim Operand : Type) (dims : list Dim) (operands : list Operand).
  Variable reads : Operand -> Dim -> bool.
  Variables (s : Operand -> R) (zeta : Dim -> R).
  Hypothesis s_nonneg : forall j, In j operands -> 0 <= s j.
  Hypothesis zeta_nonneg : forall i, In i dims -> 0 <= zeta i.
  Hypothesis covers : forall i, In i dims -> 1 <= sum operands (fun j => if reads j i then s j else 0) + zeta i.
  Variables (side extent : Dim -> R).
  Hypothesis sides : forall i, In i dims -> 1 <= side i <= extent i.

  Definition box_footprint (j : Operand) : R := product dims (fun i => if reads j i then side i else 1).

  Lemma box_footprint_positive j : 0 < box_footprint j.
  Proof.
    apply product_positive. intros i I. pose proof (sides i I). destruct (reads j i); lra.
  Qed.

  Theorem box_points :
    product dims side
    <= product operands (fun j => Rpower (box_footprint j) (s j)) * product dims (fun i => Rpower (extent i) (zeta i)).
  Proof.
    apply ln_le_reverse.
    - apply product_positive. intros i I. pose proof (sides i I). lra.
    - apply Rmult_lt_0_compat; apply product_positive; intros; apply Rpower_positive.
    - rewrite ln_mult by (apply product_positive; intros; apply Rpower_positive).
      rewrite (@product_ln _ dims side) by (intros i I; pose proof (sides i I); lra).
      rewrite !product_ln by (intros; apply Rpower_positive).
      eapply Rle_trans; [apply duality_exact with (s := s) (zeta := zeta) (reads := reads) |]; auto.
      + intros i I. rewrite <- ln_1. pose proof (sides i I). apply ln_monotone; lra.
      + apply Rplus_le_compat.
        * right. apply sum_ext. intros j J. rewrite ln_Rpower. f_equal. unfold box_footprint, footprint.
          rewrite product_ln by (intros i I; pose proof (sides i I); destruct (reads j i); lra).
          apply sum_ext. intros i I. destruct (reads j i); [easy | now rewrite ln_1].
        * apply sum_le. intros i I. rewrite ln_Rpower. pose proof (sides i I). pose proof (zeta_nonneg i I).
          apply Rmult_le_compat_l; [easy |]. apply ln_monotone; lra.
  Qed.

  Lemma product_Rpower {A} (l : list A) x (e : A -> R) : product l (fun j => Rpower x (e j)) = Rpower x (sum l e).
  Proof.
    unfold Rpower. induction l; rewrite ?product_nil, ?product_cons, ?sum_nil, ?sum_cons.
    - now rewrite Rmult_0_l, exp_0.
    - now rewrite IHl, Rmult_plus_distr_r, exp_plus.
  Qed.

  (** Every footprint fits in S words. *)
  Theorem box_points_memory S : (forall j, In j operands -> box_footprint j <= S) ->
    product dims side <= Rpower S (sum operands s) * product dims (fun i => Rpower (extent i) (zeta i)).
  Proof.
    intros F. eapply Rle_trans; [apply box_points |]. apply Rmult_le_compat_r.
    - apply Rlt_le, product_positive. intros. apply Rpower_positive.
    - rewrite <- product_Rpower. apply product_le. intros j J. split; [apply Rlt_le, Rpower_positive |].
      apply Rpower_le; [now apply s_nonneg |]. split; [apply box_footprint_positive | now apply F].
  Qed.
End Box.
