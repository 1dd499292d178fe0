(** A fold that needs finished statistics of its own index is one pass over it: how terms move when statistics shift,
    and why partial folds may be carried along. *)

From Coq Require Import Reals ZArith String List Bool Lra Lia FunctionalExtensionality.
From TangEgg Require Import Lemmas Statements Analysis Pass.
Import ListNotations.
Open Scope R_scope.

Section Cascade.
Context {the_world : world} {the_integers : integers}.

(** Demands claim nothing. *)
Ltac nothing := red; intros; exact I.
Theorem walk_sum : Statements.cascade_walk_sum. Proof. nothing. Qed.
Theorem walk_max : Statements.cascade_walk_max. Proof. nothing. Qed.
Theorem walk_min : Statements.cascade_walk_min. Proof. nothing. Qed.
Theorem walk_Ap1 : Statements.cascade_walk_Ap1. Proof. nothing. Qed.
Theorem walk_Ap2 : Statements.cascade_walk_Ap2. Proof. nothing. Qed.
Theorem walk_Ap3 : Statements.cascade_walk_Ap3. Proof. nothing. Qed.
Theorem plain_fold : Statements.cascade_plain_fold. Proof. nothing. Qed.
Theorem plain_pass : Statements.cascade_plain_pass. Proof. nothing. Qed.
Theorem plain_one : Statements.cascade_plain_one. Proof. nothing. Qed.
Theorem plain_left : Statements.cascade_plain_left. Proof. nothing. Qed.
Theorem plain_right : Statements.cascade_plain_right. Proof. nothing. Qed.
Theorem plain_both : Statements.cascade_plain_both. Proof. nothing. Qed.
Theorem moving_Ap1 : Statements.cascade_moving_Ap1. Proof. nothing. Qed.
Theorem moving_Ap2 : Statements.cascade_moving_Ap2. Proof. nothing. Qed.
Theorem moving_Ap3 : Statements.cascade_moving_Ap3. Proof. nothing. Qed.
Theorem keeps : Statements.cascade_keeps. Proof. nothing. Qed.
Theorem want_sum : Statements.cascade_want_sum. Proof. nothing. Qed.
Theorem want_selected : Statements.cascade_want_selected. Proof. nothing. Qed.
Theorem want_spread : Statements.cascade_want_spread. Proof. nothing. Qed.
Theorem want_left : Statements.cascade_want_left. Proof. nothing. Qed.
Theorem want_right : Statements.cascade_want_right. Proof. nothing. Qed.
Theorem spreading_product : Statements.cascade_spreading_product. Proof. nothing. Qed.
Theorem spreading_negated : Statements.cascade_spreading_negated. Proof. nothing. Qed.

(** * Where statistics stand *)
Lemma ok_at p h d (e : env) : ok e -> ok (Env p h d) -> ok (Env p (fun _ => Fin 0) (fun _ => Fin 0)).
Proof. intros O [P _]. split; [|split]; simpl; auto. intros F s S. exact I. Qed.
Theorem statistic : Statements.cascade_statistic.
Proof.
  red. intros F x j _ J D Fj FH FD X. assert (Free : free x j) by eauto using depends_free. split; auto.
  assert (C : clean x j) by eauto using depends_clean.
  split; [intros a b _ _ _ H; unfold Hole; now rewrite H|]. intros e h d O O' Fill. unfold Hole; simpl. rewrite Fill.
  - unfold still. apply C; auto. eapply ok_at; eauto.
  - intros p v P V. unfold still.
    assert (Op : ok (Env p (fun _ => Fin 0) (fun _ => Fin 0))) 
      by (split; [|split]; simpl; [exact P | intros ? ? ?; exact I | intros ?; exact I]).
    exact (Free _ v Op V).
Qed.
Lemma clean_timeless {T} (x : sc T) j : clean x j -> timeless x.
Proof. intros C a b A B P _. now apply C. Qed.
Ltac fill := red; intros;
  repeat match goal with
  | A : abstracts _ _ _ |- _ => destruct A
  | C : clean ?y _ |- _ => lazymatch goal with K : timeless y |- _ => fail | _ => pose proof (clean_timeless _ _ C) end end;
  split; [intros one other Oa Ob Same Holes; unfold Ap1, Ap2, Ap3;
    repeat match goal with K : timeless ?x |- _ => rewrite (K one other Oa Ob Same Holes); clear K end; reflexivity |];
  intros here h d O O' Fill;
  match goal with E : eqv ?x ?y |- _ = ?x here => rewrite (E here O) end; unfold Ap1, Ap2, Ap3;
  repeat match goal with
  | A : forall e h d, ok e -> _ |- _ => rewrite (A here h d O O' Fill); clear A
  | C : clean ?y ?j |- _ => rewrite (C _ here O' O eq_refl); clear C end; reflexivity.
Theorem abstract_one : Statements.cascade_abstract_one. Proof. fill. Qed.
Theorem abstract_left : Statements.cascade_abstract_left. Proof. fill. Qed.
Theorem abstract_right : Statements.cascade_abstract_right. Proof. fill. Qed.
Theorem abstract_both : Statements.cascade_abstract_both. Proof. fill. Qed.
Theorem abstract_select_left : Statements.cascade_abstract_select_left. Proof. fill. Qed.
Theorem abstract_select_right : Statements.cascade_abstract_select_right. Proof. fill. Qed.
Theorem abstract_select_both : Statements.cascade_abstract_select_both. Proof. fill. Qed.

(** * How terms move *)
Theorem fixed : Statements.cascade_fixed.
Proof.
  red. intros H f _ D N F. split; intros e O; rewrite (depends_shift f H) by auto; unfold Lit.
  - now rewrite xmul_1_l.
  - now rewrite xadd_0_r.
Qed.
Theorem hole : Statements.cascade_hole.
Proof. red. intros f m _ E F M e O. now rewrite (E e O), (E _ (ok_shift e O)). Qed.

(** The value of the term at the shift, by what is known of its parts; then arithmetic of the reals. *)
Ltac shifted := red; intros; intros here O; pose proof (ok_shift here O) as O';
  match goal with E : eqv ?f ?g |- ?f (shift here) = _ => rewrite (E (shift here) O'), ?(E here O) end;
  unfold Ap1, Ap2, Ap3, Lit;
  repeat match goal with
  | S : scales ?x ?a |- context [?x (shift here)] => rewrite (S here O)
  | M : moves ?x ?c |- context [?x (shift here)] => rewrite (M here O)
  | M : mixes ?x ?a ?r |- context [?x (shift here)] => rewrite (M here O)
  | D : depends ?x ?F, K : ?F HOLE = false |- context [?x (shift here)] => rewrite (depends_shift x F here D K O)
  end; clear O'.
Ltac algebra := shifted; at_here; reals; simpl; f_equal; ring.
Theorem scales_product : Statements.cascade_scales_product. Proof. algebra. Qed.
Theorem moves_product_left : Statements.cascade_moves_product_left. Proof. algebra. Qed.
Theorem moves_product_right : Statements.cascade_moves_product_right. Proof. algebra. Qed.
Theorem moves_product : Statements.cascade_moves_product. Proof. algebra. Qed.
Theorem mixes_scaled_moved : Statements.cascade_mixes_scaled_moved. Proof. algebra. Qed.
Theorem mixes_moved_scaled : Statements.cascade_mixes_moved_scaled. Proof. algebra. Qed.
Theorem mixes_left : Statements.cascade_mixes_left. Proof. algebra. Qed.
Theorem mixes_right : Statements.cascade_mixes_right. Proof. algebra. Qed.
Theorem mixes_moved_left : Statements.cascade_mixes_moved_left. Proof. algebra. Qed.
Theorem mixes_moved_right : Statements.cascade_mixes_moved_right. Proof. algebra. Qed.
Theorem moves_sum : Statements.cascade_moves_sum. Proof. algebra. Qed.
Theorem moves_negated : Statements.cascade_moves_negated. Proof. algebra. Qed.
Theorem moves_sum_left : Statements.cascade_moves_sum_left. Proof. algebra. Qed.
Theorem moves_sum_right : Statements.cascade_moves_sum_right. Proof. algebra. Qed.
Theorem scales_sum : Statements.cascade_scales_sum. Proof. algebra. Qed.
Theorem scales_negated : Statements.cascade_scales_negated. Proof. algebra. Qed.
Theorem mixes_negated : Statements.cascade_mixes_negated. Proof. algebra. Qed.
Theorem moves_max : Statements.cascade_moves_max.
Proof.
  shifted; at_here; reals; simpl; f_equal. unfold Rmax. destruct (Rle_dec _ _), (Rle_dec _ _); lra.
Qed.
Theorem moves_min : Statements.cascade_moves_min.
Proof.
  shifted; at_here; reals; simpl; f_equal. unfold Rmin. destruct (Rle_dec _ _), (Rle_dec _ _); lra.
Qed.
Theorem moves_select : Statements.cascade_moves_select.
Proof. shifted. unfold select. now destruct (p here). Qed.
Theorem scales_select : Statements.cascade_scales_select.
Proof. shifted. unfold select. destruct (p here); auto. at_here; reals; simpl; f_equal; ring. Qed.
Theorem scales_exp : Statements.cascade_scales_exp.
Proof. shifted; at_here; reals; simpl; f_equal. now rewrite exp_plus, Rmult_comm. Qed.
Theorem scales_recip : Statements.cascade_scales_recip.
Proof.
  red; intros f x a _ E S F X A e O. pose proof (ok_shift e O) as O'. pose proof (F e O) as F1.
  pose proof (F _ O') as F2. rewrite (E _ O') in F2 |- *. rewrite (E e O) in F1 |- *. unfold Ap1, recip in *.
  rewrite (S e O) in *. at_env e. destruct (x e) as [u| | |], (a e) as [v| | |]; simpl in *; try tauto.
  assert (Infinite : ~ isfin recip_zero) by (destruct recip_zero_infinite as [Q|Q]; rewrite Q; auto).
  assert (U : u <> 0) by (intros Z; destruct (Req_EM_T u 0); tauto).
  assert (VU : v * u <> 0) by (intros Z; destruct (Req_EM_T (v * u) 0); tauto).
  assert (V : v <> 0) by (intros Z; apply VU; subst; ring).
  destruct (Req_EM_T u 0), (Req_EM_T v 0), (Req_EM_T (v * u) 0); try tauto. simpl. f_equal. apply Rinv_mult.
Qed.
Theorem finite_shift : Statements.cascade_finite_shift.
Proof. red. intros x m E e O. rewrite (E e O). unfold Delta. now destruct O as [_ [_ D]]. Qed.

(** * How folds move *)
Ltac at_points := match goal with I : incl ?l (range ?j), O : ok ?e |- _ =>
  assert (forall v, In v l -> ok (set j v e)) by (intros; apply ok_point; auto) end.
Lemma ok_still e : ok e -> ok (with_delta (fun _ => Fin 0) e).
Proof. intros [P [H D]]. split; [|split]; simpl; [exact P | exact H | intros; exact I]. Qed.
Lemma before_fold (m : monoid xr) j l e f : timeless f -> ok e -> incl l (range j) ->
  before (folds_over m j l e) f = fold m l (fun v => f (set j v e)).
Proof.
  intros T O I. simpl. apply fold_ext. intros v V. apply T; auto using ok_point. apply ok_point; auto using ok_still.
Qed.
Ltac folded := red; intros; intros here l O I; at_points; unfold Ap1, Ap2, Keep, Total;
  rewrite ?before_fold by auto; simpl now.
(** The term at one point, and an invariant at its own. *)
Ltac point := apply fold_ext; let v := fresh "v" in let V := fresh "V" in intros v V;
  match goal with |- context [set ?j v (shift ?e)] => change (set j v (shift e)) with (shift (set j v e)) end;
  repeat match goal with
  | S : scales ?f ?a |- context [?f (shift ?e)] => rewrite (S e) by auto
  | M : moves ?f ?c |- context [?f (shift ?e)] => rewrite (M e) by auto
  | M : mixes ?f ?a ?r |- context [?f (shift ?e)] => rewrite (M e) by auto end.
Ltac invariant := eapply depends_free; eauto using range_allowed.
Theorem carried_scaled : Statements.cascade_carried_scaled.
Proof. folded. rewrite <- sum_scale by auto. point. f_equal. invariant. Qed.
Theorem carried_moved : Statements.cascade_carried_moved.
Proof. folded. rewrite <- (fold_op Sum). now point. Qed.
Theorem carried_mixed : Statements.cascade_carried_mixed.
Proof.
  folded.
  rewrite <- sum_scale by auto. rewrite <- (fold_op Sum). point. simpl. do 2 f_equal. invariant.
Qed.
Theorem carried_max_moved : Statements.cascade_carried_max_moved.
Proof. folded. rewrite <- max_shift by auto. point. rewrite xadd_comm. f_equal. invariant. Qed.
Theorem carried_min_moved : Statements.cascade_carried_min_moved.
Proof. folded. rewrite <- min_shift by auto. point. rewrite xadd_comm. f_equal. invariant. Qed.
Lemma above_eq x : above x -> exists r, x = Fin r /\ 0 < r.
Proof. destruct x; simpl; try tauto. eauto. Qed.
Theorem carried_max_scaled : Statements.cascade_carried_max_scaled.
Proof.
  folded. match goal with P : positive _ |- _ => destruct (above_eq _ (P here O)) as [r [E R]]; rewrite E end.
  rewrite <- max_scale by auto. point. rewrite <- E. f_equal. invariant.
Qed.
Theorem carried_min_scaled : Statements.cascade_carried_min_scaled.
Proof.
  folded. match goal with P : positive _ |- _ => destruct (above_eq _ (P here O)) as [r [E R]]; rewrite E end.
  rewrite <- min_scale by auto. point. rewrite <- E. f_equal. invariant.
Qed.
Ltac keep_body := red; intros; match goal with A : abstracts _ _ _ |- _ => apply A end.
Theorem keep_body_sum : Statements.cascade_keep_body_sum. Proof. keep_body. Qed.
Theorem keep_body_max : Statements.cascade_keep_body_max. Proof. keep_body. Qed.
Theorem keep_body_min : Statements.cascade_keep_body_min. Proof. keep_body. Qed.
Lemma depends_timeless {T} (x : sc T) F : depends x F -> F DELTA = false -> timeless x.
Proof. intros D N a b A B P H. apply D; auto. repeat split; intros; congruence. Qed.
Theorem total_split : Statements.cascade_total_split.
Proof.
  red. intros x j f u F _ J [E Free] D N X Ff U. assert (T : timeless u) by eauto using depends_timeless.
  split; [|exact T]. intros e l O I. at_points. unfold Ap2, Keep, Total. rewrite before_fold by auto. simpl now.
  rewrite <- sum_scale by auto. apply fold_ext. intros v V. rewrite E by auto. unfold Ap2.
  now rewrite Free by auto using range_allowed.
Qed.
Theorem total_add : Statements.cascade_total_add.
Proof.
  red. intros z x y j _ J E Z X Y. intros e l O I. at_points. unfold Ap2, Total. simpl now.
  rewrite <- (fold_op Sum). apply fold_ext. intros v V. now rewrite E by auto.
Qed.
Theorem total_negated : Statements.cascade_total_negated.
Proof.
  red. intros z x j _ J E Z X. intros e l O I. at_points. unfold Ap1, Total. simpl now.
  rewrite <- sum_neg. apply fold_ext. intros v V. now rewrite E by auto.
Qed.
Theorem total_selected : Statements.cascade_total_selected.
Proof.
  red. intros z p c j f u U P _ J Z [E Free] DU NU DP NP Fz Fc Ff Fu.
  assert (TU : timeless u) by eauto using depends_timeless. assert (TP : timeless p) by eauto using depends_timeless.
  assert (T : timeless (Ap3 select p u (Lit (Fin 0)))).
  { intros a b A B S H. unfold Ap3. rewrite (TP a b), (TU a b) by auto. reflexivity. }
  assert (FS : finite (Ap3 select p u (Lit (Fin 0)))).
  { intros a A. unfold Ap3, select, Lit. destruct (p a); simpl; auto. }
  split; [|exact T]. intros e l O I. at_points. unfold Ap2, Keep, Total. rewrite before_fold by auto. simpl now.
  rewrite <- sum_scale by auto. apply fold_ext. intros v V. rewrite Z by auto. unfold Ap3, select, Lit.
  destruct (p (set j v e)).
  - rewrite E by auto. unfold Ap2. now rewrite Free by auto using range_allowed.
  - pose proof (Ff e O) as F. destruct (f e); simpl in *; try tauto. f_equal. ring.
Qed.
Theorem total_selected_add : Statements.cascade_total_selected_add.
Proof.
  red. intros z p c x y j _ J Z E Fz Fc Fx Fy. repeat split; trivial.
  intros e l O I. at_points. unfold Ap2, Total. simpl now.
  rewrite <- (fold_op Sum). apply fold_ext. intros v V. rewrite Z by auto. unfold Ap3, select, Lit.
  destruct (p (set j v e)); [now rewrite E by auto | simpl; f_equal; ring].
Qed.
Theorem distribute : Statements.cascade_distribute.
Proof.
  red. intros. intros here O. unfold Ap2. at_here. reals. simpl. f_equal. ring.
Qed.

(** * A sum in two, of which one has a factor that is finished late *)
Theorem spread_left : Statements.cascade_spread_left.
Proof. red. intros. assumption. Qed.
Theorem spread_right : Statements.cascade_spread_right.
Proof.
  red. intros. intros here O. match goal with E : eqv _ (Ap2 xadd _ _) |- _ => rewrite (E here O) end.
  unfold Ap2. apply xadd_comm.
Qed.
Ltac spread_in := red; intros; intros here O;
  repeat match goal with
  | E : eqv ?e _ |- context [?e here] => rewrite (E here O)
  | S : spreads ?x _ _ _ |- _ => unfold spreads in S
  end; unfold Ap1, Ap2; repeat match goal with S : eqv ?x _ |- context [?x here] => rewrite (S here O) end;
  unfold Ap2; at_here; reals; simpl; f_equal; ring.
Theorem spread_product_left : Statements.cascade_spread_product_left. Proof. spread_in. Qed.
Theorem spread_product_right : Statements.cascade_spread_product_right. Proof. spread_in. Qed.
Theorem spread_negated : Statements.cascade_spread_negated. Proof. spread_in. Qed.
Theorem spread : Statements.cascade_spread.
Proof.
  red. intros. intros here O. unfold Red. unfold Ap2 at 1. rewrite <- (fold_op Sum). apply fold_ext. intros v V.
  match goal with S : spreads _ _ _ _ |- _ => apply S end. eauto using ok_point, points_range.
Qed.

(** * One pass *)
Theorem pass : Statements.cascade_pass.
Proof.
  red. intros b j f o t F w _ J A C N B X e O. unfold Casc, Red.
  assert (I : incl (points j w e) (range j)) by apply points_incl.
  rewrite <- (firstn_skipn cut (points j w e)) at 1. rewrite fold_app. f_equal; symmetry; apply (carried_part o b f); auto;
  intros v V; apply I; rewrite <- (firstn_skipn cut (points j w e)); apply in_or_app; auto.
Qed.
End Cascade.
