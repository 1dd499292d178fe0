(** Inequalities between means, for finite sums of reals.

    - [weighted_means]: the weighted geometric mean is at most the weighted arithmetic mean.
    - [hoelder]: Hölder's inequality for any number of factors, with exponents that add up to at least one.
    - [budget]: Π x_j^{s_j} under Σ w_j x_j ≤ K is at most K^σ · Π (s_j / (σ w_j))^{s_j}, σ = Σ s_j. *)
From Coq Require Import List Reals Lra.
From TangEgg.General Require Import Monoids Duality.
Import ListNotations.
Set Implicit Arguments.
Open Scope R_scope.

Lemma ln_below_tangent x : 0 < x -> ln x <= x - 1.
Proof.
  intros H. destruct (Req_dec x 1) as [-> | N]; [rewrite ln_1; lra |].
  rewrite <- (ln_exp (x - 1)). apply ln_monotone; [easy |].
  pose proof (exp_ineq1 (x - 1)). lra.
Qed.

Theorem weighted_means {A} (l : list A) (w p : A -> R) :
  (forall j, In j l -> 0 <= w j) -> (forall j, In j l -> 0 < p j) -> sum l w = 1 ->
  product l (fun j => Rpower (p j) (w j)) <= sum l (fun j => w j * p j).
Proof.
  intros W P One.
  assert (M : 0 < sum l (fun j => w j * p j)).
  { assert (N : 0 <= sum l (fun j => w j * p j)).
    { apply sum_nonneg. intros j J. pose proof (W j J). pose proof (P j J). nra. }
    destruct N as [N | N]; [easy | exfalso].
    assert (Z : forall l, (forall j, In j l -> 0 <= w j) -> (forall j, In j l -> 0 < p j) ->
                sum l (fun j => w j * p j) = 0 -> sum l w = 0).
    { clear. induction l as [| j l IH]; intros W P; rewrite ?sum_cons; [easy |]. intros E.
      pose proof (W j (or_introl eq_refl)) as Wj. pose proof (P j (or_introl eq_refl)) as Pj.
      assert (N : 0 <= sum l (fun j => w j * p j)).
      { apply sum_nonneg. intros i I. pose proof (W i (or_intror I)). pose proof (P i (or_intror I)). nra. }
      assert (0 <= w j * p j) by nra. rewrite IH by (auto with datatypes || (intros; lra)).
      assert (w j * p j = 0) as Q by lra. apply Rmult_integral in Q. lra. }
    rewrite (Z l) in One; auto. lra. }
  apply ln_le_reverse; [apply product_positive; intros; apply Rpower_positive | easy |].
  rewrite product_ln by (intros; apply Rpower_positive). set (m := sum l (fun j => w j * p j)) in *.
  apply Rle_trans with (sum l (fun j => w j * (ln m + (p j / m - 1)))).
  - apply sum_le. intros j J. rewrite ln_Rpower. apply Rmult_le_compat_l; [now apply W |].
    pose proof (P j J). assert (0 < p j / m) by (now apply Rdiv_lt_0_compat).
    pose proof (@ln_below_tangent (p j / m)). unfold Rdiv in *.
    rewrite ln_mult, ln_Rinv in * by (auto using Rinv_0_lt_compat).
    lra.
  - rewrite (sum_ext l _ (fun j => (ln m - 1) * w j + / m * (w j * p j))) by (intros; unfold Rdiv; ring).
    rewrite sum_plus, !sum_scale, One. fold m. right. field. lra.
Qed.

(** Hölder for sums over [ys], with exponents that add up to at least one. *)
Theorem hoelder {A B} (l : list A) (ys : list B) (s : A -> R) (a : A -> B -> R) :
  (forall j, In j l -> 0 <= s j) -> (forall j y, In j l -> In y ys -> 0 < a j y) -> 1 <= sum l s -> ys <> [] ->
  sum ys (fun y => product l (fun j => Rpower (a j y) (s j))) <= product l (fun j => Rpower (sum ys (a j)) (s j)).
Proof.
  intros W P One NE. set (sigma := sum l s) in *. set (t := fun j => sum ys (a j)).
  assert (T : forall j, In j l -> 0 < t j).
  { intros j J. unfold t. destruct ys as [| y ys]; [easy |]. rewrite sum_cons.
    pose proof (P j y J (or_introl eq_refl)). assert (0 <= sum ys (a j)); [| lra].
    apply sum_nonneg. intros z I. left. apply P; simpl; auto. }
  assert (Share : forall j y, In j l -> In y ys -> a j y <= t j).
  { intros j y J I. unfold t. apply in_split in I. destruct I as (u & v & ->). rewrite sum_app, sum_cons.
    assert (0 <= sum u (a j)) by (apply sum_nonneg; intros z I; left; apply P; auto with datatypes).
    assert (0 <= sum v (a j)) by (apply sum_nonneg; intros z I; left; apply P; auto with datatypes).
    lra. }
  set (C := product l (fun j => Rpower (t j) (s j))).
  assert (Cpos : 0 < C) by (apply product_positive; intros; apply Rpower_positive).
  apply Rle_trans with (sum ys (fun y => C * sum l (fun j => s j / sigma * (a j y / t j)))).
  - apply sum_le. intros y I.
    rewrite (product_ext l _ (fun j => Rpower (t j) (s j) * Rpower (a j y / t j) (s j))).
    2:{ intros j J. pose proof (T j J). pose proof (P j y J I).
        rewrite Rpower_mult_distr by (try apply Rdiv_lt_0_compat; auto).
        f_equal. field. lra. }
    rewrite product_mult. fold C. apply Rmult_le_compat_l; [lra |].
    apply Rle_trans with (product l (fun j => Rpower (a j y / t j) (s j / sigma))).
    + apply product_le. intros j J. split; [apply Rlt_le, Rpower_positive |].
      pose proof (T j J). pose proof (P j y J I). pose proof (Share j y J I). pose proof (W j J).
      unfold Rpower. assert (L : ln (a j y / t j) <= 0).
      { rewrite <- ln_1. apply ln_monotone; [now apply Rdiv_lt_0_compat |].
        apply Rmult_le_reg_r with (t j); [easy |]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
      assert (s j / sigma <= s j).
      { apply Rmult_le_reg_r with sigma; [lra |]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra. }
      assert (s j * ln (a j y / t j) <= s j / sigma * ln (a j y / t j)) as [H' | ->]; [nra | | lra].
      left. now apply exp_increasing.
    + apply weighted_means.
      * intros j J. pose proof (W j J). apply Rmult_le_pos; [easy |]. left. apply Rinv_0_lt_compat. lra.
      * intros j J. apply Rdiv_lt_0_compat; auto.
      * unfold Rdiv. rewrite sum_scale_right. fold sigma. field. lra.
  - rewrite sum_scale, sum_interchange.
    rewrite (sum_ext l _ (fun j => s j * / sigma)).
    + rewrite sum_scale_right. fold sigma. rewrite Rinv_r by lra. fold t. change (C * 1 <= C). lra.
    + intros j J. pose proof (T j J).
      rewrite (sum_ext ys _ (fun y => s j * / sigma * / t j * a j y)) by (intros; unfold Rdiv; ring).
      rewrite sum_scale. fold (t j). field. lra.
Qed.

(** The largest product of powers under a budget. *)
Theorem budget {A} (l : list A) (s w x : A -> R) K : (forall j, In j l -> 0 < s j /\ 0 < w j /\ 0 < x j) -> l <> [] ->
  sum l (fun j => w j * x j) <= K ->
  let sigma := sum l s in
  product l (fun j => Rpower (x j) (s j)) <= Rpower K sigma * product l (fun j => Rpower (s j / (sigma * w j)) (s j)).
Proof.
  intros P NE B sigma.
  assert (Pos : 0 < sigma).
  { unfold sigma. destruct l as [| j l]; [easy |]. rewrite sum_cons. destruct (P j (or_introl eq_refl)) as [H _].
    assert (0 <= sum l s); [| lra]. apply sum_nonneg. intros i I. destruct (P i (or_intror I)). lra. }
  assert (G : product l (fun j => Rpower (sigma * w j / s j * x j) (s j / sigma)) <= sum l (fun j => w j * x j)).
  { eapply Rle_trans; [apply weighted_means |].
    - intros j J. destruct (P j J). left. now apply Rdiv_lt_0_compat.
    - intros j J. destruct (P j J) as (S & W & X). apply Rmult_lt_0_compat; [| easy].
      apply Rdiv_lt_0_compat; [nra | easy].
    - unfold Rdiv. rewrite sum_scale_right. fold sigma. field. lra.
    - right. apply sum_ext. intros j J. destruct (P j J) as (S & W & X). field. lra. }
  assert (Kpos : 0 < K).
  { eapply Rlt_le_trans; [| exact B]. eapply Rlt_le_trans; [| exact G].
    apply product_positive. intros. apply Rpower_positive. }
  apply ln_le_reverse; [apply product_positive; intros; apply Rpower_positive | |].
  { apply Rmult_lt_0_compat; [apply Rpower_positive | apply product_positive; intros; apply Rpower_positive]. }
  rewrite ln_mult by (try apply product_positive; intros; apply Rpower_positive).
  rewrite !product_ln by (intros; apply Rpower_positive). rewrite ln_Rpower.
  assert (H : ln (product l (fun j => Rpower (sigma * w j / s j * x j) (s j / sigma))) <= ln K).
  { apply ln_monotone; [apply product_positive; intros; apply Rpower_positive | lra]. }
  rewrite product_ln in H by (intros; apply Rpower_positive).
  apply (Rmult_le_compat_l sigma) in H; [| lra]. rewrite <- sum_scale in H.
  eapply Rle_trans; [| apply Rplus_le_compat_r, H]. rewrite <- sum_plus. right. apply sum_ext. intros j J.
  destruct (P j J) as (S & W & X). rewrite !ln_Rpower. unfold Rdiv.
  assert (0 < sigma * w j) by nra. assert (0 < / s j) by (now apply Rinv_0_lt_compat).
  rewrite (ln_mult (sigma * w j * / s j)) by (auto; nra). rewrite (ln_mult (sigma * w j)) by auto.
  rewrite (ln_mult (s j)) by (auto using Rinv_0_lt_compat). rewrite !ln_Rinv by auto. field. lra.
Qed.
