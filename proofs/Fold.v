(** What is invariant moves out of a fold, and the shape of a fold may change where its monoid allows. *)

From Coq Require Import Reals ZArith String List Bool Lra Lia FunctionalExtensionality.
From TangEgg Require Import Lemmas Statements Pass.
Import ListNotations.
Open Scope R_scope.

Section Fold.
Context {the_world : world} {the_integers : integers}.

Ltac nothing := red; intros; exact I.
Theorem want_sum : Statements.fold_want_sum. Proof. nothing. Qed.
Theorem want_product : Statements.fold_want_product. Proof. nothing. Qed.
Theorem want_chain_left : Statements.fold_want_chain_left. Proof. nothing. Qed.
Theorem want_chain_right : Statements.fold_want_chain_right. Proof. nothing. Qed.
Theorem want_negated : Statements.fold_want_negated. Proof. nothing. Qed.

Theorem split_invariant : Statements.fold_split_invariant.
Proof. red; intros. split; [|eauto using depends_free]. intros e O. unfold Ap2, Lit. now rewrite xmul_1_r. Qed.

Lemma one_times b j : split b j (Lit (Fin 1)) b.
Proof. split; [|now intros e v]. intros e O. unfold Ap2, Lit. now rewrite xmul_1_l. Qed.
Ltac atom := red; intros; apply one_times.
Theorem atom_leaf : Statements.fold_atom_leaf. Proof. atom. Qed.
Theorem atom_gather : Statements.fold_atom_gather. Proof. atom. Qed.
Theorem atom_view : Statements.fold_atom_view. Proof. atom. Qed.
Theorem atom_map : Statements.fold_atom_map. Proof. atom. Qed.
Theorem atom_map_two : Statements.fold_atom_map_two. Proof. atom. Qed.
Theorem atom_map_three : Statements.fold_atom_map_three. Proof. atom. Qed.
Theorem atom_fold : Statements.fold_atom_fold. Proof. atom. Qed.
Theorem atom_product : Statements.fold_atom_product. Proof. atom. Qed.
Theorem atom_scan : Statements.fold_atom_scan. Proof. atom. Qed.

Theorem split_product : Statements.fold_split_product.
Proof.
  red. intros b x y j f u g v _ J E [X Fx] [Y Fy]. intros. split.
  - intros e O. rewrite (E e O). unfold Ap2. rewrite (X e O), (Y e O). unfold Ap2. rewrite !xmul_assoc. f_equal.
    rewrite <- !xmul_assoc. f_equal. apply xmul_comm.
  - intros e w O W. unfold Ap2. now rewrite Fx, Fy.
Qed.
Lemma xmul_xneg_r x y : xmul x (xneg y) = xneg (xmul x y).
Proof.
  destruct x, y; simpl; auto; try (f_equal; ring); signs; auto; exfalso; lra.
Qed.
Theorem split_negated : Statements.fold_split_negated.
Proof.
  red. intros b x j f u _ J E [X Fx]. intros. split; auto.
  intros e O. rewrite (E e O). unfold Ap1, Ap2. rewrite (X e O). unfold Ap2. symmetry. apply xmul_xneg_r.
Qed.

(** The factor need not be finite where no point is folded, if it is dropped there. *)
Theorem hoist_where_points (b f u : sc xr) j w e : split b j f u -> finite u -> ok e ->
  (points j w e <> nil -> isfin (f e)) ->
  Red Sum j w b e = xmul (if points j w e then Fin 0 else f e) (Red Sum j w u e).
Proof.
  intros [E Ff] U O P. unfold Red. destruct (points j w e) as [|v l] eqn:L; [simpl; f_equal; ring|].
  assert (In_range : forall x, In x (v :: l) -> In x (range j)) by (rewrite <- L; apply points_range).
  rewrite <- sum_scale.
  - apply fold_ext. intros x X. assert (O' : ok (set j x e)) by eauto using ok_point. rewrite (E _ O'). unfold Ap2.
    now rewrite Ff by auto using range_allowed.
  - apply P. congruence.
  - intros x X. apply U. eauto using ok_point.
Qed.
Theorem hoist : Statements.fold_hoist.
Proof.
  red. intros b j f u w _ J S H B F U e O. unfold Ap2. rewrite (hoist_where_points b f u); auto.
  destruct (points j w e) eqn:L; auto. exfalso. exact (points_inhabited j w e O H L).
Qed.
Theorem hoist_finite : Statements.fold_hoist_finite.
Proof.
  red. intros b j f u w _ J S F B U e O. unfold Ap2. rewrite (hoist_where_points b f u); auto.
  unfold Red. destruct (points j w e); auto. simpl. at_env e. reals. simpl. f_equal; ring.
Qed.
Lemma any_points j w e : Red Any j w (Lit true) e = if points j w e then false else true.
Proof. unfold Red, Lit. now destruct (points j w e). Qed.
Theorem hoist_guarded : Statements.fold_hoist_guarded.
Proof.
  red. intros b j f u w _ J S B F U e O. unfold Ap2, Ap3, Lit at 2. rewrite (hoist_where_points b f u); auto.
  f_equal. rewrite any_points. now destruct (points j w e).
Qed.
Theorem hoist_negation : Statements.fold_hoist_negation.
Proof. intros j w x _ e O. unfold Red, Ap1. apply sum_neg. Qed.
Theorem hoist_shift : Statements.fold_hoist_shift.
Proof.
  red. intros F c j x _ J D Fj C X e O. unfold Red, Ap2. rewrite points_all. rewrite <- max_shift; auto.
  - apply fold_ext. intros v V. f_equal. eapply depends_free; eauto using range_allowed.
  - intros v V. apply X. auto using ok_point.
Qed.
Lemma xexp_max x y : xexp (xmax x y) = xmax (xexp x) (xexp y).
Proof.
  destruct x as [a| | |], y as [b| | |]; simpl; auto; f_equal;
  try (symmetry; first [apply Rmax_left | apply Rmax_right]; left; apply exp_pos).
  - unfold Rmax. destruct (Rle_dec a b), (Rle_dec (exp a) (exp b)); auto; exfalso.
    + destruct r as [r| ->]; [apply exp_increasing in r|]; lra.
    + apply Rnot_le_lt in n. apply exp_increasing in n. lra.
  - symmetry. apply Rmax_left. lra.
Qed.
Lemma xexp_min x y : xexp (xmin x y) = xmin (xexp x) (xexp y).
Proof.
  destruct x as [a| | |], y as [b| | |]; simpl; auto; f_equal;
  try (symmetry; first [apply Rmin_left | apply Rmin_right]; left; apply exp_pos).
  - unfold Rmin. destruct (Rle_dec a b), (Rle_dec (exp a) (exp b)); auto; exfalso.
    + destruct r as [r| ->]; [apply exp_increasing in r|]; lra.
    + apply Rnot_le_lt in n. apply exp_increasing in n. lra.
  - symmetry. apply Rmin_left. lra.
Qed.
(** Only the exponential of the identity is not the identity, 0 and not -inf; one point is above it. *)
Lemma exp_max_points l f : l <> nil -> fold Max l (fun v => xexp (f v)) = xexp (fold Max l f).
Proof.
  induction l as [|a l IH]; [congruence|]. intros _. rewrite !fold_cons. destruct l as [|b l].
  - simpl. rewrite (xmax_comm (f a)), xmax_l. destruct (f a); reflexivity.
  - rewrite IH by congruence. symmetry. apply xexp_max.
Qed.
Theorem max_exp : Statements.fold_max_exp.
Proof. red. intros j w x _ H e O. apply exp_max_points. exact (points_inhabited j w e O H). Qed.
Theorem min_exp : Statements.fold_min_exp.
Proof.
  red. intros j w x _ e O. unfold Red, Ap1. induction (points j w e); auto. rewrite !fold_cons, IHl. symmetry. apply xexp_min.
Qed.
Theorem max_scaled : Statements.fold_max_scaled.
Proof.
  red. intros F c j w x _ J D Fj P C X e O. unfold Red, Ap2. specialize (P e O). pose proof (C e O) as Ce.
  destruct (c e) as [r| | |] eqn:E; try contradiction. rewrite <- max_scale; auto.
  - apply fold_ext. intros v V. f_equal. rewrite <- E. eapply depends_free; eauto using range_allowed, points_range.
  - intros v V. apply X. eauto using ok_point, points_range.
Qed.
Theorem min_scaled : Statements.fold_min_scaled.
Proof.
  red. intros F c j w x _ J D Fj P C X e O. unfold Red, Ap2. specialize (P e O). pose proof (C e O) as Ce.
  destruct (c e) as [r| | |] eqn:E; try contradiction. rewrite <- min_scale; auto.
  - apply fold_ext. intros v V. f_equal. rewrite <- E. eapply depends_free; eauto using range_allowed, points_range.
  - intros v V. apply X. eauto using ok_point, points_range.
Qed.
Lemma ones j e : Red Sum j (Lit true) (Lit (Fin 1)) e = Fin (INR (size j)).
Proof. unfold Red. rewrite points_all. unfold Lit. now rewrite sum_of_ones, length_range. Qed.
Theorem mean : Statements.fold_mean.
Proof. intros j n x _ N e O. unfold Ap1, Ap2. now rewrite ones, (N e O). Qed.
Theorem mean_constant : Statements.fold_mean_constant.
Proof. intros j n x _ N e O. unfold Ap1, Ap2. now rewrite ones, (N e O). Qed.
Theorem interchange : Statements.fold_interchange.
Proof.
  red. intros i j x _ _ _ N _ e O. unfold Red. rewrite !points_all.
  transitivity (fold Sum (range i) (fun u => fold Sum (range j) (fun v => x (set j v (set i u e))))).
  - apply fold_ext. intros u U. now rewrite points_all.
  - rewrite fold_swap. apply fold_ext. intros v V. rewrite points_all. apply fold_ext. intros u U. f_equal.
    apply set_swap. congruence.
Qed.
Theorem linear : Statements.fold_linear.
Proof. red. intros j w b c _ _ B C e O. unfold Red, Ap2. apply (fold_op Sum). Qed.
Theorem want_shorter_left : Statements.fold_want_shorter_left. Proof. nothing. Qed.
Theorem want_shorter_right : Statements.fold_want_shorter_right. Proof. nothing. Qed.
Theorem want_shorter_alone : Statements.fold_want_shorter_alone. Proof. nothing. Qed.
(** Two sums around a product: the factor that is free of the outer index waits for the sum of the rest. *)
Theorem reassociate : Statements.fold_reassociate.
Proof.
  red. intros b j f u i Fy y Fw w _ J I [E Ff] N Dy Yi Dw Wi B F U Y e O.
  assert (OK : forall p q, In p (range j) -> In q (range i) -> ok (set i q (set j p e))) by (intros; auto using ok_point).
  assert (Yf : free y i) by eauto using depends_free. assert (Wf : free w i) by eauto using depends_free.
  unfold Red at 1 3. rewrite points_all.
  transitivity (fold Sum (points j w e) (fun p => fold Sum (range i) (fun q =>
    xmul (f (set i q e)) (xmul (u (set i q (set j p e))) (y (set j p e)))))).
  - apply fold_ext. intros p P. apply points_range in P. assert (O' : ok (set j p e)) by auto using ok_point.
    unfold Ap2 at 1, Red. rewrite points_all, xmul_comm, <- sum_scale by auto. apply fold_ext. intros q Q.
    rewrite (E _ (OK p q P Q)). unfold Ap2. rewrite (set_swap i j) by auto.
    rewrite Ff by (auto using ok_point, range_allowed). rewrite xmul_comm. symmetry. apply xmul_assoc.
  - rewrite fold_swap. apply fold_ext. intros q Q. unfold Ap2 at 1, Red.
    assert (Oq : ok (set i q e)) by auto using ok_point.
    rewrite <- sum_scale; auto.
    + replace (points j w (set i q e)) with (points j w e).
      * apply fold_ext. intros p P. apply points_range in P. f_equal. unfold Ap2. rewrite (set_swap j i) by auto.
        f_equal. symmetry. apply Yf; auto using ok_point, range_allowed.
      * unfold points. apply filter_ext_in. intros p P. rewrite (set_swap j i) by auto. symmetry.
        apply Wf; auto using ok_point, range_allowed.
    + intros p P. apply points_range in P. unfold Ap2. apply isfin_mul; [apply U | apply Y]; auto using ok_point.
Qed.
Lemma depends_everywhere : depends (Lit true) (fun _ => false).
Proof. intros a c _ _ _. reflexivity. Qed.
Theorem reassociate_shorter : Statements.fold_reassociate_shorter.
Proof.
  red. intros b j f u i F_y y. intros. apply (reassociate b j f u i F_y y (fun _ => false) (Lit true));
  auto using depends_everywhere.
Qed.
(** The same without another factor. *)
Lemma interchanged (b : sc xr) j (f u : sc xr) i (Fw : names) (w : sc bool) : finite_world -> index j -> index i ->
  split b j f u -> i <> j -> depends w Fw -> Fw i = false -> finite b -> finite f -> finite u ->
  eqv (Red Sum j w (Red Sum i (Lit true) b)) (Red Sum i (Lit true) (Ap2 xmul f (Red Sum j w u))).
Proof.
  intros _ J I [E Ff] N Dw Wi B F U e O.
  assert (OK : forall p q, In p (range j) -> In q (range i) -> ok (set i q (set j p e))) by (intros; auto using ok_point).
  assert (Wf : free w i) by eauto using depends_free.
  unfold Red at 1 3. rewrite points_all.
  transitivity (fold Sum (points j w e) (fun p => fold Sum (range i) (fun q =>
    xmul (f (set i q e)) (u (set i q (set j p e)))))).
  - apply fold_ext. intros p P. apply points_range in P. assert (O' : ok (set j p e)) by auto using ok_point.
    unfold Red. rewrite points_all. apply fold_ext. intros q Q.
    rewrite (E _ (OK p q P Q)). unfold Ap2. rewrite (set_swap i j) by auto.
    now rewrite Ff by (auto using ok_point, range_allowed).
  - rewrite fold_swap. apply fold_ext. intros q Q. unfold Ap2 at 1, Red.
    assert (Oq : ok (set i q e)) by auto using ok_point.
    rewrite <- sum_scale; auto.
    + replace (points j w (set i q e)) with (points j w e).
      * apply fold_ext. intros p P. apply points_range in P. f_equal. now rewrite (set_swap j i) by auto.
      * unfold points. apply filter_ext_in. intros p P. rewrite (set_swap j i) by auto. symmetry.
        apply Wf; auto using ok_point, range_allowed.
    + intros p P. apply points_range in P. apply U; auto using ok_point.
Qed.
Theorem interchange_shorter : Statements.fold_interchange_shorter.
Proof.
  red. intros b j f u i. intros. apply (interchanged b j f u i (fun _ => false) (Lit true)); auto using depends_everywhere.
Qed.
(** * Shares of a fold *)
Lemma fold_map {A} (m : monoid A) (g : nat -> Z) l f : fold m (map g l) f = fold_right (fun v acc => op m (f (g v)) acc) (unit_ m) l.
Proof. induction l; simpl; auto. now rewrite <- IHl. Qed.
Definition nfold {A} (m : monoid A) (l : list nat) (f : nat -> A) : A := fold_right (fun v acc => op m (f v) acc) (unit_ m) l.
Lemma nfold_app {A} (m : monoid A) l k f : nfold m (l ++ k) f = op m (nfold m l f) (nfold m k f).
Proof. induction l; simpl; [now rewrite op_unit|]. now rewrite IHl, op_assoc. Qed.
Lemma nfold_ext {A} (m : monoid A) l f g : (forall v, In v l -> f v = g v) -> nfold m l f = nfold m l g.
Proof. induction l; simpl; intros H; auto. rewrite H, IHl; auto. Qed.
Lemma nfold_unit {A} (m : monoid A) l f : (forall v, In v l -> f v = unit_ m) -> nfold m l f = unit_ m.
Proof. induction l; simpl; intros H; auto. now rewrite H, op_unit, IHl by auto. Qed.
Lemma nfold_cons {A} (m : monoid A) a l f : nfold m (a :: l) f = op m (f a) (nfold m l f).
Proof. reflexivity. Qed.
Lemma nfold_seq {A} (m : monoid A) a n f : nfold m (seq a n) f = nfold m (seq 0 n) (fun b => f (a + b)%nat).
Proof.
  revert a f. induction n; intros a f; auto. change (seq a (S n)) with (a :: seq (S a) n).
  change (seq 0 (S n)) with (0%nat :: seq 1 n). rewrite !nfold_cons, (IHn (S a)), (IHn 1%nat), Nat.add_0_r. f_equal.
  apply nfold_ext. intros v V. f_equal. lia.
Qed.
Lemma nfold_shares {A} (m : monoid A) n r f :
  nfold m (seq 0 (r * n)) f = nfold m (seq 0 r) (fun a => nfold m (seq 0 n) (fun b => f (a * n + b)%nat)).
Proof.
  induction r; auto. rewrite seq_S, nfold_app. simpl (nfold m [0 + r]%nat _). rewrite op_unit_r, <- IHr.
  replace (S r * n)%nat with (r * n + n)%nat by lia. rewrite seq_app, nfold_app. f_equal. apply nfold_seq.
Qed.
Theorem split : Statements.fold_split.
Proof.
  red. intros T m j r k n w x Jr Jk Rk Nk Enough Wr Wk Xr Xk e O.
  assert (Share : forall a b, In a (range r) -> In b (range k) -> forall A (y : sc A), free y r -> free y k ->
    In (Z.of_nat n * a + b)%Z (range j) ->
    Let (view_of [(j, Form (0%Z, [(Z.of_nat n, r); (1%Z, k)]))]) y (set k b (set r a e)) =
    y (set j (Z.of_nat n * a + b)%Z e)).
  { intros a b Ra Rb A y Yr Yk Q. unfold Let.
    assert (M : move (view_of [(j, Form (0%Z, [(Z.of_nat n, r); (1%Z, k)]))]) (set k b (set r a e)) =
                set k b (set r a (set j (Z.of_nat n * a + b)%Z e))).
    { unfold move, set; cbn [pos hole delta]. f_equal. apply functional_extensionality; intros i.
      unfold view_of; cbn [found pos].
      destruct (String.eqb_spec i j) as [->|Ne].
      - cbn [at_coordinate pos]. unfold value_of; cbn [fst snd fold_right].
        rewrite (move_to_other k b _ j), (move_to_other r a _ j), (move_to_other k b _ r), !move_to_same by auto. lia.
      - unfold move_to. destruct (String.eqb_spec i k), (String.eqb_spec i r), (String.eqb_spec i j); congruence. }
    rewrite M. rewrite Yk, Yr; auto using ok_point, range_allowed. }
  set (here := view_of _) in *.
  transitivity (nfold m (seq 0 (size j)) (fun q => if w (set j (Z.of_nat q) e) then x (set j (Z.of_nat q) e) else unit_ m)).
  { unfold Red, points. rewrite fold_filter. unfold range. now rewrite fold_map. }
  set (G := fun q : nat => if (q <? size j)%nat then (if w (set j (Z.of_nat q) e) then x (set j (Z.of_nat q) e) else unit_ m) else unit_ m).
  transitivity (nfold m (seq 0 (size r * n)) G).
  { replace (size r * n)%nat with (size j + (size r * n - size j))%nat by lia. rewrite seq_app, nfold_app.
    rewrite (nfold_unit m (seq (0 + size j) _)), op_unit_r.
    - apply nfold_ext. intros q Q. apply in_seq in Q. unfold G. now rewrite (proj2 (Nat.ltb_lt q (size j))) by lia.
    - intros q Q. apply in_seq in Q. unfold G. now rewrite (proj2 (Nat.ltb_ge q (size j))) by lia. }
  rewrite nfold_shares. unfold Red at 1. rewrite points_all. unfold range. rewrite fold_map. apply nfold_ext.
  intros a Ha. unfold Red, points. rewrite fold_filter. unfold range. rewrite fold_map, Nk. apply nfold_ext. intros b Hb.
  apply in_seq in Ha, Hb.
  assert (Ra : In (Z.of_nat a) (range r)) by (apply in_range; lia).
  assert (Rb : In (Z.of_nat b) (range k)) by (apply in_range; lia).
  assert (Pos : here (set k (Z.of_nat b) (set r (Z.of_nat a) e)) j = Z.of_nat (a * n + b)).
  { unfold here, view_of; cbn [found]. rewrite String.eqb_refl. cbn [at_coordinate pos set]. unfold value_of; cbn [fst snd fold_right].
    rewrite (move_to_other k _ _ r), !move_to_same by auto. lia. }
  unfold Ap2. rewrite Pos. unfold G. destruct (Nat.ltb_spec (a * n + b) (size j)) as [L|L].
  - rewrite (proj2 (Z.ltb_lt _ _)) by lia. simpl andb.
    assert (Q : In (Z.of_nat n * Z.of_nat a + Z.of_nat b)%Z (range j)) by (apply in_range; lia).
    rewrite !Share by auto. replace (Z.of_nat n * Z.of_nat a + Z.of_nat b)%Z with (Z.of_nat (a * n + b)) by lia. reflexivity.
  - now rewrite (proj2 (Z.ltb_ge _ _)) by lia.
Qed.
(** Shares of a pass, each folded at a statistic of its own and carried to that of all. *)
Theorem split_state : Statements.fold_split_state.
Proof.
  red. intros o j w b f t h shares A C e O E. unfold Red.
  assert (I : incl (concat shares) (range j)) by (rewrite E; apply points_incl). rewrite <- E. clear E. revert I.
  generalize 0%nat. induction shares as [|l shares IH]; intros n I; auto. simpl. rewrite fold_app. f_equal.
  - symmetry. apply (carried_part o b f); auto. intros v V. apply I. simpl. apply in_or_app; auto.
  - apply IH. intros v V. apply I. simpl. apply in_or_app; auto.
Qed.
End Fold.
