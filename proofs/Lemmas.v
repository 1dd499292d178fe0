(** Environments, folds over lists of points, and tactics of the families. *)

From Coq Require Import Reals ZArith String List Bool Lra Lia FunctionalExtensionality.
From TangEgg Require Export Forms.
Import ListNotations.
Open Scope R_scope.

Section Lemmas.
Context {the_world : world}.

Lemma move_to_same j v p : move_to j v p j = v.
Proof. unfold move_to. now rewrite String.eqb_refl. Qed.
Lemma move_to_other j v p i : i <> j -> move_to j v p i = p i.
Proof. intros H. unfold move_to. now apply String.eqb_neq in H; rewrite H. Qed.
Lemma move_to_twice j u v p : move_to j u (move_to j v p) = move_to j u p.
Proof. apply functional_extensionality; intros i; unfold move_to. now destruct (String.eqb i j). Qed.
Lemma move_to_swap i j u v p : i <> j -> move_to i u (move_to j v p) = move_to j v (move_to i u p).
Proof.
  intros H. apply functional_extensionality; intros n; unfold move_to.
  destruct (String.eqb_spec n i), (String.eqb_spec n j); congruence.
Qed.
Lemma move_to_id j p : move_to j (p j) p = p.
Proof.
  apply functional_extensionality; intros n; unfold move_to. destruct (String.eqb_spec n j); congruence.
Qed.
Lemma set_twice j u v e : set j u (set j v e) = set j u e.
Proof. unfold set; simpl. now rewrite move_to_twice. Qed.
Lemma set_swap i j u v e : i <> j -> set i u (set j v e) = set j v (set i u e).
Proof. intros H. unfold set; simpl. now rewrite move_to_swap. Qed.

Lemma in_range j v : In v (range j) <-> (0 <= v < Z.of_nat (size j))%Z.
Proof.
  unfold range. rewrite in_map_iff. split.
  - intros [n [<- H]]. apply in_seq in H. lia.
  - intros H. exists (Z.to_nat v). split; [lia|]. apply in_seq. lia.
Qed.
Lemma range_allowed j v : In v (range j) -> allowed j v.
Proof. rewrite in_range. apply in_range_allowed. Qed.

Lemma ok_set j v e : ok e -> allowed j v -> ok (set j v e).
Proof.
  intros [P [H D]] V. repeat split; auto. intros i; simpl; unfold move_to.
  destruct (String.eqb_spec i j); [now subst | apply P].
Qed.
Lemma ok_point j v e : ok e -> In v (range j) -> ok (set j v e).
Proof. intros. apply ok_set; auto using range_allowed. Qed.
Lemma ok_shift e : ok e -> ok (shift e).
Proof. intros [P [H D]]. repeat split; auto. intros F s S; simpl. apply isfin_add; auto. Qed.
Lemma points_range j w e v : In v (points j w e) -> In v (range j).
Proof. unfold points. rewrite filter_In. tauto. Qed.
Lemma points_incl j w e : incl (points j w e) (range j).
Proof. intros v. apply points_range. Qed.

(** What does not depend on a name. *)
Lemma agree_set F j v e : F j = false -> agree F (set j v e) e.
Proof. intros H. repeat split; simpl; auto. intros i I. apply move_to_other. congruence. Qed.
Lemma depends_free {A} (x : sc A) F j : depends x F -> F j = false -> free x j.
Proof. intros D H e v O V. apply D; auto using ok_set, agree_set. Qed.
Lemma depends_shift {A} (x : sc A) F e : depends x F -> F HOLE = false -> ok e -> x (shift e) = x e.
Proof. intros D H O. apply D; auto using ok_shift. repeat split; simpl; auto; congruence. Qed.

(** Folds. *)
Lemma fold_cons {A} (m : monoid A) a l f : fold m (a :: l) f = op m (f a) (fold m l f).
Proof. reflexivity. Qed.
Lemma fold_ext {A} (m : monoid A) l f g : (forall v, In v l -> f v = g v) -> fold m l f = fold m l g.
Proof. induction l; simpl; intros H; auto. rewrite H, IHl; auto. Qed.
Lemma fold_app {A} (m : monoid A) l k f : fold m (l ++ k) f = op m (fold m l f) (fold m k f).
Proof. induction l; simpl; [now rewrite op_unit|]. now rewrite IHl, op_assoc. Qed.
Lemma fold_op {A} (m : monoid A) l f g : fold m l (fun v => op m (f v) (g v)) = op m (fold m l f) (fold m l g).
Proof.
  induction l; simpl; [now rewrite op_unit|]. rewrite IHl, <- !op_assoc. f_equal. rewrite !op_assoc.
  now rewrite (op_comm m (g a)).
Qed.
Lemma fold_unit {A} (m : monoid A) l : fold m l (fun _ => unit_ m) = unit_ m.
Proof. induction l; simpl; auto. now rewrite IHl, op_unit. Qed.
Lemma fold_swap {A} (m : monoid A) l k f :
  fold m l (fun u => fold m k (fun v => f u v)) = fold m k (fun v => fold m l (fun u => f u v)).
Proof.
  induction l; simpl; [now rewrite fold_unit|]. now rewrite IHl, fold_op.
Qed.
(** Dropping points and folding the identity there are the same. *)
Lemma fold_filter {A} (m : monoid A) l p f :
  fold m (filter p l) f = fold m l (fun v => if p v then f v else unit_ m).
Proof. induction l; simpl; auto. destruct (p a); simpl; now rewrite IHl, ?op_unit. Qed.

Lemma sum_finite l f : (forall v, In v l -> isfin (f v)) -> isfin (fold Sum l f).
Proof. induction l; simpl; auto. intros H. apply isfin_add; auto. Qed.
Lemma product_finite l f : (forall v, In v l -> isfin (f v)) -> isfin (fold Product l f).
Proof. induction l; simpl; auto. intros H. apply isfin_mul; auto. Qed.
Lemma max_finite l f : l <> nil -> (forall v, In v l -> isfin (f v)) -> isfin (fold Max l f).
Proof.
  induction l as [|a [|b l] IH]; [congruence|simpl; intros _ H; now destruct (f a) eqn:E; specialize (H a); rewrite E in H; simpl in *; auto|].
  intros _ H. change (isfin (xmax (f a) (fold Max (b :: l) f))). apply isfin_max; [apply H; now left|].
  apply IH; [congruence|]. intros v I; apply H; now right.
Qed.
Lemma min_finite l f : l <> nil -> (forall v, In v l -> isfin (f v)) -> isfin (fold Min l f).
Proof.
  induction l as [|a [|b l] IH]; [congruence|simpl; intros _ H; now destruct (f a) eqn:E; specialize (H a); rewrite E in H; simpl in *; auto|].
  intros _ H. change (isfin (xmin (f a) (fold Min (b :: l) f))). apply isfin_min; [apply H; now left|].
  apply IH; [congruence|]. intros v I; apply H; now right.
Qed.
Lemma points_inhabited j w e : ok e -> inhabited j w -> points j w e <> nil.
Proof.
  intros O H E. destruct (H e O) as [v [I V]]. apply (in_nil (a := v)). rewrite <- E. unfold points.
  rewrite filter_In. now split.
Qed.

Lemma sum_scale l a f : isfin a -> (forall v, In v l -> isfin (f v)) ->
  fold Sum l (fun v => xmul a (f v)) = xmul a (fold Sum l f).
Proof.
  intros A. induction l; simpl; intros H.
  - destruct a; simpl in *; try tauto. f_equal; ring.
  - rewrite IHl by auto. assert (isfin (f a0)) by auto. assert (isfin (fold Sum l f)) by (apply sum_finite; auto).
    destruct a, (f a0), (fold Sum l f); simpl in *; try tauto. f_equal; ring.
Qed.
Lemma sum_neg l f : fold Sum l (fun v => xneg (f v)) = xneg (fold Sum l f).
Proof. induction l; simpl; [f_equal; ring|]. now rewrite IHl, xneg_xadd. Qed.
Lemma max_shift l a f : isfin a -> (forall v, In v l -> isfin (f v)) ->
  fold Max l (fun v => xadd a (f v)) = xadd a (fold Max l f).
Proof.
  intros A. induction l; simpl; intros H; [now destruct a|]. rewrite IHl by auto.
  assert (isfin (f a0)) by auto. destruct a, (f a0), (fold Max l f); simpl in *; try tauto.
  f_equal. unfold Rmax. destruct (Rle_dec _ _), (Rle_dec _ _); lra.
Qed.
Lemma min_shift l a f : isfin a -> (forall v, In v l -> isfin (f v)) ->
  fold Min l (fun v => xadd a (f v)) = xadd a (fold Min l f).
Proof.
  intros A. induction l; simpl; intros H; [now destruct a|]. rewrite IHl by auto.
  assert (isfin (f a0)) by auto. destruct a, (f a0), (fold Min l f); simpl in *; try tauto.
  f_equal. unfold Rmin. destruct (Rle_dec _ _), (Rle_dec _ _); lra.
Qed.
Lemma signed_inf_pos r : 0 < r -> signed_inf r = PInf.
Proof. intros H. signs; auto; exfalso; lra. Qed.
Lemma signed_inf_neg r : r < 0 -> signed_inf r = NInf.
Proof. intros H. signs; auto; exfalso; lra. Qed.
Lemma max_scale l r f : 0 < r -> (forall v, In v l -> isfin (f v)) ->
  fold Max l (fun v => xmul (Fin r) (f v)) = xmul (Fin r) (fold Max l f).
Proof.
  intros A. induction l; intros H; [simpl; now rewrite signed_inf_neg by lra|]. rewrite !fold_cons.
  rewrite IHl by (intros; apply H; now right). assert (isfin (f a)) by (apply H; now left).
  destruct (f a), (fold Max l f); simpl in *; try tauto.
  - f_equal. unfold Rmax. destruct (Rle_dec _ _), (Rle_dec _ _); nra.
  - now rewrite signed_inf_pos.
  - now rewrite signed_inf_neg by lra.
Qed.
Lemma min_scale l r f : 0 < r -> (forall v, In v l -> isfin (f v)) ->
  fold Min l (fun v => xmul (Fin r) (f v)) = xmul (Fin r) (fold Min l f).
Proof.
  intros A. induction l; intros H; [simpl; now rewrite signed_inf_pos by lra|]. rewrite !fold_cons.
  rewrite IHl by (intros; apply H; now right). assert (isfin (f a)) by (apply H; now left).
  destruct (f a), (fold Min l f); simpl in *; try tauto.
  - f_equal. unfold Rmin. destruct (Rle_dec _ _), (Rle_dec _ _); nra.
  - now rewrite signed_inf_pos.
  - now rewrite signed_inf_neg by lra.
Qed.
Lemma sum_of_ones l : fold Sum l (fun _ => Fin 1) = Fin (INR (length l)).
Proof. induction l; simpl fold; auto. rewrite IHl. cbn [op Sum xadd length]. f_equal. rewrite S_INR. ring. Qed.
Lemma points_all j e : points j (Lit true) e = range j.
Proof. unfold points, Lit. induction (range j); simpl; congruence. Qed.
Lemma length_range j : length (range j) = size j.
Proof. unfold range. now rewrite map_length, seq_length. Qed.
End Lemmas.

(** Case analysis of finite values, on which arithmetic is that of the reals. *)
Ltac reals := repeat match goal with
  | H : isfin ?x |- _ => let E := fresh "E" in destruct x eqn:E; simpl in H; try contradiction; clear H end.
(** All that is known of finite terms at an environment. *)
Ltac at_env e := repeat match goal with
  | H : finite ?x, O : ok e |- _ =>
      lazymatch goal with K : isfin (x e) |- _ => fail | _ => assert (isfin (x e)) by (apply H; exact O) end end.
Ltac at_here := match goal with O : ok ?e |- _ => at_env e end.
