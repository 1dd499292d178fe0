(** A selected identity under a fold is a smaller domain; what is finite and what is positive. *)

From Coq Require Import Reals ZArith String List Bool Lra Lia Psatz.
From TangEgg Require Import Lemmas Statements.
Import ListNotations.
Open Scope R_scope.

Section Domain.
Context {the_world : world} {the_integers : integers}.

Ltac literal := intros; red; intros; intros e O; reflexivity.
Theorem neutral_sum : Statements.domain_neutral_sum. Proof. literal. Qed.
Theorem neutral_max : Statements.domain_neutral_max. Proof. literal. Qed.
Theorem neutral_min : Statements.domain_neutral_min. Proof. literal. Qed.
Theorem neutral_product : Statements.domain_neutral_product. Proof. literal. Qed.
Theorem neutral_any : Statements.domain_neutral_any. Proof. literal. Qed.
Theorem neutral_all : Statements.domain_neutral_all. Proof. literal. Qed.

Theorem narrow : Statements.domain_narrow.
Proof.
  intros T m y s c x j w _ N _ e O. unfold Red, points. rewrite !fold_filter. apply fold_ext. intros v V.
  unfold Ap2, Ap3, select. destruct (w _); simpl; auto. destruct (c _); auto. now rewrite (N _ (ok_point _ _ _ O V)).
Qed.
Theorem narrow_not : Statements.domain_narrow_not.
Proof.
  intros T m y s c x j w _ N _ e O. unfold Red, points. rewrite !fold_filter. apply fold_ext. intros v V.
  unfold Ap1, Ap2, Ap3, select. destruct (w _); simpl; auto. destruct (c _); simpl; auto.
  now rewrite (N _ (ok_point _ _ _ O V)).
Qed.
Theorem empty : Statements.domain_empty.
Proof.
  intros T m x j y _ N e O. unfold Red, points. rewrite fold_filter. rewrite (N e O). unfold Lit. apply fold_unit.
Qed.
Theorem doubt_0 : Statements.domain_doubt_0. Proof. intros; red; intros; exact I. Qed.
Theorem doubt_1 : Statements.domain_doubt_1. Proof. intros; red; intros; exact I. Qed.

(** Which conditions follow from which: [logic] tells the values of all conditions at an environment apart. *)
Ltac logic e O := repeat match goal with
  | H : implies ?a ?b |- _ => let K := fresh "K" in pose proof (H e O) as K; clear H
  | H : eqv ?a ?b |- _ => let K := fresh "K" in pose proof (H e O) as K; clear H end;
  unfold Ap2, Ap3, select in *;
  repeat match goal with x : sc bool |- _ => destruct (x e); clear x end; simpl in *; intuition congruence.
Theorem implies_part : Statements.domain_implies_part.
Proof. red. intros. repeat split; intros here O; logic here O. Qed.
Theorem implies_both : Statements.domain_implies_both.
Proof. red. intros. intros here O. logic here O. Qed.
Theorem implies_left : Statements.domain_implies_left.
Proof. red. intros. intros here O. logic here O. Qed.
Theorem implies_right : Statements.domain_implies_right.
Proof. red. intros. intros here O. logic here O. Qed.
Theorem implies_guard : Statements.domain_implies_guard.
Proof. red. intros. intros here O. auto. Qed.
Theorem implies_guarded : Statements.domain_implies_guarded.
Proof. red. intros. split; intros here O; unfold Lit in *; logic here O. Qed.
Theorem known : Statements.domain_known.
Proof. red. intros. intros here O. logic here O. Qed.
Theorem alike : Statements.domain_alike.
Proof. red. intros. intros here O. logic here O. Qed.
Theorem select_under : Statements.domain_select_under.
Proof. red. intros. intros here O. logic here O. Qed.
Theorem select_over : Statements.domain_select_over.
Proof. red. intros. intros here O. logic here O. Qed.
Theorem select_beside : Statements.domain_select_beside.
Proof. red. intros. intros here O. logic here O. Qed.
Theorem any : Statements.domain_any.
Proof.
  red. intros j w _ H e O. destruct (H e O) as [v [I V]]. unfold Red, Lit.
  assert (P : In v (points j w e)) by (unfold points; rewrite filter_In; now split).
  induction (points j w e) as [|a l IH]; [destruct P|]. reflexivity.
Qed.

(** What a class is: the value of the term that it equals. *)
Ltac as_term := match goal with E : eqv ?x ?y, O : ok ?e |- context [?x ?e] =>
  rewrite (E e O); unfold Ap1, Ap2, Ap3, Lit end.

Theorem finite_literal : Statements.domain_finite_literal.
Proof. intros x v E A B C e O. rewrite (E e O). unfold Lit. destruct v; simpl; tauto. Qed.
Theorem finite_sum : Statements.domain_finite_sum.
Proof. intros x j w b _ E F e O. rewrite (E e O). apply sum_finite. eauto using ok_point, points_range. Qed.
Theorem finite_product : Statements.domain_finite_product.
Proof. intros x j w b _ E F e O. rewrite (E e O). apply product_finite. eauto using ok_point, points_range. Qed.
Theorem finite_max : Statements.domain_finite_max.
Proof.
  intros x j w b _ E F H e O. rewrite (E e O). apply max_finite; eauto using ok_point, points_range, points_inhabited.
Qed.
Theorem finite_min : Statements.domain_finite_min.
Proof.
  intros x j w b _ E F H e O. rewrite (E e O). apply min_finite; eauto using ok_point, points_range, points_inhabited.
Qed.
Theorem finite_select : Statements.domain_finite_select.
Proof. intros x c a b E F G e O. as_term. at_env e. unfold select. now destruct (c e). Qed.
Ltac one := intros x a E F e O; as_term; at_here; unfold tanh_, erf_; reals; exact I.
Theorem finite_neg : Statements.domain_finite_neg. Proof. one. Qed.
Theorem finite_exp : Statements.domain_finite_exp. Proof. one. Qed.
Theorem finite_sin : Statements.domain_finite_sin. Proof. one. Qed.
Theorem finite_tanh : Statements.domain_finite_tanh. Proof. one. Qed.
Theorem finite_erf : Statements.domain_finite_erf. Proof. one. Qed.
Theorem finite_floor : Statements.domain_finite_floor. Proof. one. Qed.
Ltac two := intros x a b E F G e O; as_term; at_here; reals; exact I.
Theorem finite_two_add : Statements.domain_finite_two_add. Proof. two. Qed.
Theorem finite_two_mul : Statements.domain_finite_two_mul. Proof. two. Qed.
Theorem finite_two_max : Statements.domain_finite_two_max. Proof. two. Qed.
Theorem finite_two_min : Statements.domain_finite_two_min. Proof. two. Qed.

(** Positive terms: finite and above 0. *)
Ltac known_positive := repeat match goal with
  | P : positive ?x, O : ok ?e |- context [?x ?e] =>
      let K := fresh "K" in pose proof (P e O) as K; destruct (x e); simpl in K; try contradiction end.
Ltac positive_term := red; intros; intros here O; as_term; at_here; reals; known_positive; simpl.
Theorem positive_one : Statements.domain_positive_one.
Proof. positive_term. lra. Qed.
Theorem positive_exp : Statements.domain_positive_exp.
Proof. positive_term. apply exp_pos. Qed.
Theorem positive_recip : Statements.domain_positive_recip.
Proof. positive_term. destruct (Req_EM_T _ 0); [exfalso; lra|]. now apply Rinv_0_lt_compat. Qed.
Theorem positive_sqrt : Statements.domain_positive_sqrt.
Proof. positive_term. destruct (Rle_dec _ _); [|exfalso; lra]. now apply sqrt_lt_R0. Qed.
Theorem positive_two_add : Statements.domain_positive_two_add.
Proof. positive_term. lra. Qed.
Theorem positive_two_mul : Statements.domain_positive_two_mul.
Proof. positive_term. nra. Qed.
Theorem positive_two_max : Statements.domain_positive_two_max.
Proof. positive_term. unfold Rmax. now destruct (Rle_dec _ _). Qed.
Theorem positive_two_min : Statements.domain_positive_two_min.
Proof. positive_term. unfold Rmin. now destruct (Rle_dec _ _). Qed.
Theorem positive_select : Statements.domain_positive_select.
Proof. red. intros x c a b E P Q e O. rewrite (E e O). unfold Ap3, select. destruct (c e); auto. Qed.
Theorem finite_positive : Statements.domain_finite_positive.
Proof. red. intros x P e O. specialize (P e O). now destruct (x e). Qed.

(** Folds of positive values are positive, where there are any. *)
Lemma fold_above (m : monoid xr) f l : (forall a b, above a -> above b -> above (op m a b)) ->
  (forall v, In v l -> above (f v)) -> (l <> nil \/ above (unit_ m)) -> above (fold m l f).
Proof.
  intros S H. induction l as [|a l IH]; intros [N|U]; try congruence; try exact U.
  - rewrite fold_cons. destruct l as [|b l].
    + simpl. rewrite op_unit_r. apply H; now left.
    + apply S; [apply H; now left|]. apply IH; [intros; apply H; now right | left; congruence].
  - rewrite fold_cons. apply S; [apply H; now left | apply IH; auto; intros; apply H; now right].
Qed.
Lemma above_fold (m : monoid xr) x j w e : (forall a b, above a -> above b -> above (op m a b)) ->
  positive x -> ok e -> (points j w e <> nil \/ above (unit_ m)) -> above (Red m j w x e).
Proof. intros S P O N. apply fold_above; auto. intros v V. apply P. eauto using ok_point, points_range. Qed.
Ltac fold_of_positives :=
  red; intros; intros here O; as_term; apply above_fold; auto;
  [let a := fresh "a" in let b := fresh "b" in intros a b; destruct a, b; simpl; try tauto
  | first [left; eapply points_inhabited; eassumption | right; simpl; lra]].
Theorem positive_sum : Statements.domain_positive_sum. Proof. fold_of_positives. lra. Qed.
Theorem positive_max : Statements.domain_positive_max.
Proof. fold_of_positives. unfold Rmax. now destruct (Rle_dec _ _). Qed.
Theorem positive_min : Statements.domain_positive_min.
Proof. fold_of_positives. unfold Rmin. now destruct (Rle_dec _ _). Qed.
Theorem positive_product : Statements.domain_positive_product.
Proof. fold_of_positives. nra. Qed.

Theorem select_exp : Statements.domain_select_exp.
Proof. intros c x e O. unfold Ap1, Ap3, Lit, select. now destruct (c e). Qed.
Theorem select_add : Statements.domain_select_add.
Proof. intros y c x _ F G e O. unfold Ap2, Ap3, Lit, select. at_env e. reals. now destruct (c e). Qed.
Theorem select_mul : Statements.domain_select_mul.
Proof.
  intros y c x _ F G e O. unfold Ap2, Ap3, Lit, select. at_env e. reals. destruct (c e); auto. simpl. f_equal. ring.
Qed.
Theorem select_neg : Statements.domain_select_neg.
Proof. intros c x _ F e O. unfold Ap1, Ap3, Lit, select. destruct (c e); auto. simpl. f_equal. ring. Qed.
End Domain.
