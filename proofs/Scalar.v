(** Identities of arithmetic. *)

From Coq Require Import Reals ZArith String List Bool Lra.
From TangEgg Require Import Lemmas Statements.
Open Scope R_scope.

Section Scalar.
Context {the_world : world} {the_integers : integers}.

Theorem mul_one : Statements.scalar_mul_one.
Proof. intros x e O. apply xmul_1_r. Qed.
Theorem neg_neg : Statements.scalar_neg_neg.
Proof. intros x e O. apply xneg_xneg. Qed.
Theorem add_zero : Statements.scalar_add_zero.
Proof. intros x _ _ e O. apply xadd_0_r. Qed.
Theorem mul_zero : Statements.scalar_mul_zero.
Proof. intros x _ F e O. at_env e. unfold Ap2, Lit. reals. simpl. f_equal; ring. Qed.
Theorem cancel : Statements.scalar_cancel.
Proof. intros x _ F e O. at_env e. unfold Ap1, Ap2, Lit. reals. simpl. f_equal; ring. Qed.
Theorem neg_zero : Statements.scalar_neg_zero.
Proof. intros _ e O. unfold Ap1, Lit; simpl. f_equal; ring. Qed.
Theorem exp_zero : Statements.scalar_exp_zero.
Proof. intros e O. unfold Ap1, Lit; simpl. f_equal. apply exp_0. Qed.
Theorem exp_lowest : Statements.scalar_exp_lowest.
Proof. now intros e O. Qed.
Theorem recip_one : Statements.scalar_recip_one.
Proof. intros e O. unfold Ap1, Lit, recip; simpl. destruct (Req_EM_T 1 0); [exfalso; lra|]. f_equal. apply Rinv_1. Qed.
Theorem and_true : Statements.scalar_and_true.
Proof. intros p e O. apply andb_true_r. Qed.
Theorem and_false : Statements.scalar_and_false.
Proof. intros p e O. apply andb_false_r. Qed.
Theorem and_same : Statements.scalar_and_same.
Proof. intros p e O. apply andb_diag. Qed.
Theorem select_true : Statements.scalar_select_true.
Proof. now intros. Qed.
Theorem select_false : Statements.scalar_select_false.
Proof. now intros. Qed.
Theorem select_same : Statements.scalar_select_same.
Proof. intros T p x e O. unfold Ap3, select. now destruct (p e). Qed.
Theorem exp_difference : Statements.scalar_exp_difference.
Proof. intros x y _ F G e O. at_env e. unfold Ap1, Ap2. reals. simpl. f_equal. apply exp_plus. Qed.
(** Finite values, positive ones among them. *)
Ltac positives := repeat match goal with
  | P : positive ?x, O : ok ?e |- _ => let K := fresh "K" in pose proof (P e O) as K; clear P;
      match goal with F : isfin (x e) |- _ => clear F | _ => idtac end;
      destruct (x e); simpl in K; try contradiction end.
Ltac finite_terms := red; intros; intros here O; unfold Ap1, Ap2, Lit, recip; at_here; positives; reals; simpl.
Theorem cancel_shift : Statements.scalar_cancel_shift.
Proof. finite_terms. f_equal. ring. Qed.
Lemma signed_inf_scale c r : 0 < c -> signed_inf (c * r) = signed_inf r.
Proof. intros C. signs; auto; exfalso; nra. Qed.
Theorem cancel_scale : Statements.scalar_cancel_scale.
Proof.
  red. intros c x y _ P C X Y e O. unfold Ap1, Ap2, recip. at_env e. specialize (P e O). reals. simpl in P |- *.
  match goal with |- context [Req_EM_T (?a * ?b) 0] => destruct (Req_EM_T (a * b) 0), (Req_EM_T b 0) end.
  - destruct recip_zero_infinite as [Z|Z]; rewrite Z; simpl; [now rewrite signed_inf_scale|].
    rewrite <- (signed_inf_scale r (- r0)) by auto. f_equal. ring.
  - exfalso. destruct (Rmult_integral _ _ e0); lra.
  - exfalso. subst. apply n. ring.
  - simpl. f_equal. field. split; [exact n0|lra].
Qed.
Theorem quotient_one : Statements.scalar_quotient_one.
Proof. finite_terms. destruct (Req_EM_T r 0); [exfalso; lra|]. simpl. f_equal. field. lra. Qed.
Theorem exp_product : Statements.scalar_exp_product.
Proof. finite_terms. f_equal. symmetry. apply exp_plus. Qed.
Lemma xlog_pos r : 0 < r -> xlog (Fin r) = Fin (ln r).
Proof. intros H. simpl. destruct (total_order_T 0 r) as [[?|?]|?]; auto; exfalso; lra. Qed.
Theorem log_exp : Statements.scalar_log_exp.
Proof. finite_terms. change (xlog (Fin (exp r)) = Fin r). rewrite xlog_pos by apply exp_pos. now rewrite ln_exp. Qed.
Theorem log_scaled : Statements.scalar_log_scaled.
Proof.
  red. intros y x _ P Y X e O. unfold Ap1, Ap2. at_env e. specialize (P e O).
  destruct (x e) as [a| | |], (y e) as [b| | |]; simpl in P; try contradiction.
  change (xlog (Fin (exp a * b)) = xadd (Fin a) (xlog (Fin b))).
  rewrite !xlog_pos; auto; [|apply Rmult_lt_0_compat; auto using exp_pos]. simpl. f_equal.
  rewrite ln_mult; auto using exp_pos. now rewrite ln_exp.
Qed.
Theorem log_recip : Statements.scalar_log_recip.
Proof.
  red. intros y _ P Y e O. unfold Ap1, recip. at_env e. specialize (P e O).
  destruct (y e) as [b| | |]; simpl in P; try contradiction. unfold xrecip. destruct (Req_EM_T b 0); [exfalso; lra|].
  rewrite !xlog_pos; auto using Rinv_0_lt_compat. simpl. f_equal. now apply ln_Rinv.
Qed.
Theorem exp_between : Statements.scalar_exp_between.
Proof. intros x y z. rewrite <- exp_plus. f_equal. ring. Qed.
End Scalar.
