(** A fold that compares its index with data reads the one point, or the range, that is meant. *)

From Coq Require Import Reals ZArith String List Bool Lia FinFun.
From TangEgg Require Import Lemmas Statements.
Import ListNotations.

Section Gather.
Context {the_world : world} {the_integers : integers}.

(** Demands claim nothing. *)
Ltac nothing := red; intros; exact I.
Theorem sift_fold : Statements.gather_sift_fold. Proof. nothing. Qed.
Theorem sift_and : Statements.gather_sift_and. Proof. nothing. Qed.
Theorem half_sift : Statements.gather_half_sift. Proof. nothing. Qed.
Theorem hunt_sum : Statements.gather_hunt_sum. Proof. nothing. Qed.
Theorem hunt_mul : Statements.gather_hunt_mul. Proof. nothing. Qed.
Theorem hunt_add : Statements.gather_hunt_add. Proof. nothing. Qed.
Theorem hunt_select : Statements.gather_hunt_select. Proof. nothing. Qed.
Theorem hot_select : Statements.gather_hot_select. Proof. nothing. Qed.
Theorem hot_product_left : Statements.gather_hot_product_left. Proof. nothing. Qed.
Theorem hot_product_right : Statements.gather_hot_product_right. Proof. nothing. Qed.
Theorem hot_sum : Statements.gather_hot_sum. Proof. nothing. Qed.

(** * Which comparisons fix a position *)
Theorem match_left : Statements.gather_match_left.
Proof.
  red. intros. split; [|eauto using depends_free]. intros here O.
  match goal with E : eqv _ _, P : is_position _ _ |- _ => rewrite (E here O); unfold Ap2, int_eq, at_value; rewrite (P here O) end.
  apply Z.eqb_sym.
Qed.
Theorem match_right : Statements.gather_match_right.
Proof.
  red. intros. split; [|eauto using depends_free]. intros here O.
  match goal with E : eqv _ _, P : is_position _ _ |- _ => rewrite (E here O); unfold Ap2, int_eq, at_value; now rewrite (P here O) end.
Qed.
Lemma add_eq a b c : int_eq (int_add a c) (int_add b c) = int_eq a b.
Proof.
  unfold int_eq. destruct (Z.eqb_spec (value a) (value b)) as [H|H].
  - apply value_injective in H. subst. apply Z.eqb_refl.
  - apply Z.eqb_neq. intros E. apply H. f_equal. eapply add_cancel. apply value_injective. exact E.
Qed.
Theorem match_shifted_left : Statements.gather_match_shifted_left.
Proof.
  red. intros. match goal with K : shifted _ _ _ |- _ => destruct K as [Sum_ Fd] end. split.
  - intros here O. match goal with E : eqv _ _ |- _ => rewrite (E here O); unfold Ap2, at_value end.
    rewrite <- (Sum_ here O), <- (add_eq _ _ (d here)). apply Z.eqb_sym.
  - intros here v O V. unfold Ap2. rewrite Fd by auto. f_equal. eapply depends_free; eauto.
Qed.
Theorem match_shifted_right : Statements.gather_match_shifted_right.
Proof.
  red. intros. match goal with K : shifted _ _ _ |- _ => destruct K as [Sum_ Fd] end. split.
  - intros here O. match goal with E : eqv _ _ |- _ => rewrite (E here O); unfold Ap2, at_value end.
    now rewrite <- (Sum_ here O), <- (add_eq _ _ (d here)).
  - intros here v O V. unfold Ap2. rewrite Fd by auto. f_equal. eapply depends_free; eauto.
Qed.

(** * Conjunctions, one conjunct taken out *)
Ltac booleans here O := unfold Ap2, Lit;
  repeat match goal with E : eqv ?x _ |- context [?x here] => rewrite (E here O); clear E; unfold Ap2, Lit end;
  repeat match goal with |- context [?x here] => lazymatch type of (x here) with bool => destruct (x here) end end;
  reflexivity.
Ltac conjunct := red; intros; repeat match goal with
  | H : matches _ _ _ |- _ => destruct H | H : opposite _ _ _ _ |- _ => destruct H
  | H : point _ _ _ _ |- _ => destruct H | H : apart _ _ _ _ |- _ => destruct H
  | H : half _ _ _ _ |- _ => unfold half in H end;
  unfold point, apart, half; try (split; [|now eauto using depends_free]); intros here O; booleans here O.
Theorem point_here : Statements.gather_point_here. Proof. conjunct. Qed.
Theorem half_here : Statements.gather_half_here. Proof. conjunct. Qed.
Theorem apart_here : Statements.gather_apart_here. Proof. conjunct. Qed.
Theorem point_left : Statements.gather_point_left. Proof. conjunct. Qed.
Theorem half_left : Statements.gather_half_left. Proof. conjunct. Qed.
Theorem apart_left : Statements.gather_apart_left. Proof. conjunct. Qed.
Theorem point_right : Statements.gather_point_right. Proof. conjunct. Qed.
Theorem half_right : Statements.gather_half_right. Proof. conjunct. Qed.
Theorem apart_right : Statements.gather_apart_right. Proof. conjunct. Qed.
Theorem point_halves : Statements.gather_point_halves.
Proof.
  red. intros w j q r o c s _ H [P F] H'. split; auto. intros e O. rewrite (H e O). unfold Ap2. rewrite (H' e O).
  rewrite <- (P e O). unfold Ap2. apply andb_assoc.
Qed.

(** * The one point *)
(** A list without repeats folds to the one point that is not the identity. *)
Lemma fold_one {A} (m : monoid A) l c (f : Z -> A) : NoDup l ->
  fold m l (fun v => if (c =? v)%Z then f v else unit_ m) = if in_dec Z.eq_dec c l then f c else unit_ m.
Proof.
  induction l as [|a l IH]; intros N; [reflexivity|]. inversion N as [|? ? Out N']; subst. rewrite fold_cons, IH by auto.
  destruct (Z.eqb_spec c a) as [->|D].
  - destruct (in_dec _ a l); [contradiction|]. rewrite op_unit_r. destruct (in_dec _ a (a :: l)) as [|Q]; auto.
    exfalso. apply Q. now left.
  - rewrite op_unit. destruct (in_dec _ c l), (in_dec _ c (a :: l)) as [Q|Q]; auto.
    + exfalso. apply Q. now right.
    + exfalso. destruct Q; congruence.
Qed.
Lemma range_nodup j : NoDup (range j).
Proof. unfold range. apply FinFun.Injective_map_NoDup; [intros a b; lia | apply seq_NoDup]. Qed.
Lemma fold_point {T} (m : monoid T) w j c r (b : sc T) e : point w j c r -> ok e ->
  Red m j w b e = if in_dec Z.eq_dec (value (c e)) (range j) then (if At j c r e then At j c b e else unit_ m) else unit_ m.
Proof.
  intros [E F] O. unfold Red, points. rewrite fold_filter.
  rewrite <- (fold_one m (range j) (value (c e)) (fun v => if At j c r e then At j c b e else unit_ m)) by apply range_nodup.
  apply fold_ext. intros v V. rewrite E by (apply ok_point; auto). unfold Ap2, at_value. simpl pos.
  rewrite move_to_same, F by auto using range_allowed. destruct (Z.eqb_spec (value (c e)) v) as [D|]; auto.
  unfold At. now rewrite D.
Qed.
Theorem point : Statements.gather_point.
Proof.
  red. intros T w j c r n m x b Pl _ P N U e O. rewrite (fold_point m w j c r b e P O). unfold Ap3, Ap2, Lit.
  rewrite (U e O). unfold int_le, int_lt. rewrite (N e O), value_of_Z by lia. unfold Lit, select.
  destruct (in_dec _ _ _) as [Q|Q].
  - apply in_range in Q. rewrite (proj2 (Z.leb_le 0 _)), (proj2 (Z.ltb_lt _ _)) by lia. reflexivity.
  - destruct (Z.leb_spec 0 (value (c e))), (Z.ltb_spec (value (c e)) (Z.of_nat (size j))); auto.
    exfalso. apply Q, in_range. lia.
Qed.
Theorem exists_point : Statements.gather_exists.
Proof.
  red. intros w j c r n Pl J P N e O. rewrite (point bool w j c r n Any (Lit false) (Lit true) Pl J P N (fun _ _ => eq_refl) e O).
  unfold Ap3, Lit, select, At. match goal with |- (if ?a then _ else _) = _ => now destruct a end.
Qed.
Theorem point_within : Statements.gather_point_within.
Proof.
  red. intros T w j c r m x b Pl _ P N U e O. rewrite (fold_point m w j c r b e P O). unfold Ap3. rewrite (U e O).
  destruct (in_dec _ _ _) as [Q|Q]; auto. exfalso. apply Q, in_range, N, O.
Qed.
Theorem only_range : Statements.gather_only_range.
Proof. intros q e O. unfold Ap3, Lit, select. now destruct (q e). Qed.
Theorem outward : Statements.gather_outward.
Proof.
  red. intros T w k q r m x b _ [E F] U e O. unfold Red, points, Ap3, select. rewrite !fold_filter, (U e O).
  transitivity (fold m (range k) (fun v => if q e then (if r (set k v e) then b (set k v e) else unit_ m) else unit_ m)).
  - apply fold_ext. intros v V. rewrite E by (apply ok_point; auto). unfold Ap2.
    rewrite F by auto using range_allowed. now destruct (q e).
  - destruct (q e); auto. unfold Lit. apply fold_unit.
Qed.

(** * A value in the place of an index *)
Theorem absent : Statements.gather_absent.
Proof. red. intros T F x j c P _ D N e O. unfold At. eapply depends_free; eauto. Qed.
Theorem map : Statements.gather_map. Proof. now intros. Qed.
Theorem map_two : Statements.gather_map_two. Proof. now intros. Qed.
Theorem map_three : Statements.gather_map_three. Proof. now intros. Qed.
Theorem fold : Statements.gather_fold.
Proof.
  red. intros T F c i j m w x P _ _ N D Fi e O. unfold At, Red, points. rewrite !fold_filter. apply fold_ext. intros v V.
  assert (C : c (set i v e) = c e) by (eapply depends_free; eauto using range_allowed). rewrite C.
  rewrite (set_swap j i) by congruence. reflexivity.
Qed.
Theorem position : Statements.gather_position.
Proof.
  red. intros p j c Pl _ P e O. unfold At. apply value_injective. rewrite P by (apply ok_set; auto). simpl.
  apply move_to_same.
Qed.
Theorem read : Statements.gather_read.
Proof. intros T l j g c P _ R e O. unfold At, Leaf, Gather. now apply R. Qed.
Theorem gather : Statements.gather_gather.
Proof. intros T U g j c d P _ G e O. unfold At, Gather. apply G. Qed.

(** * Sums with points *)
Theorem indicator : Statements.gather_indicator.
Proof. intros q e O. unfold Ap1, Ap3, Lit, select, Semantics.indicator. now destruct (q e). Qed.
Theorem pins_here : Statements.gather_pins_here.
Proof.
  red. intros q j c _ _ [E F] e u v O U V. rewrite !E by auto using ok_set. unfold at_value; simpl.
  rewrite !move_to_same, !F by auto. lia.
Qed.
Theorem pins_left : Statements.gather_pins_left.
Proof.
  red. intros w x y j _ _ E P e u v O U V. rewrite !E by auto using ok_set. unfold Ap2. rewrite !andb_true_iff.
  intros [A _] [B _]. exact (P e u v O U V A B).
Qed.
Theorem pins_right : Statements.gather_pins_right.
Proof.
  red. intros w x y j _ _ E P e u v O U V. rewrite !E by auto using ok_set. unfold Ap2. rewrite !andb_true_iff.
  intros [_ A] [_ B]. exact (P e u v O U V A B).
Qed.
Theorem linear : Statements.gather_linear.
Proof. red. intros j w x y _ _ X Y e O. unfold Red, Ap2. apply (fold_op Sum). Qed.
Theorem spread : Statements.gather_spread.
Proof. red. intros x y z _ X Y Z e O. unfold Ap2. at_env e. reals. simpl. f_equal. ring. Qed.
Theorem scattered_here : Statements.gather_scattered_here.
Proof. red. intros. now split. Qed.
Lemma sum_times l f a : isfin a -> (forall v, In v l -> isfin (f v)) ->
  Semantics.fold Sum l (fun v => xmul (f v) a) = xmul (Semantics.fold Sum l f) a.
Proof.
  intros A F. rewrite (xmul_comm _ a), <- sum_scale by auto. apply fold_ext. intros. apply xmul_comm.
Qed.
Lemma scattered_times x y j i v f F : scattered x j i v f -> depends y F -> F i = false -> finite y -> finite f ->
  forall e, ok e -> xmul (x e) (y e) = Red Sum i v (Ap2 xmul f y) e.
Proof.
  intros [E N] D Fi Y X e O. rewrite (E e O). unfold Red, Ap2.
  rewrite <- sum_times; auto; [|intros u U; apply X; eauto using ok_point, points_range].
  apply fold_ext. intros u U. f_equal. symmetry. eapply depends_free; eauto using range_allowed, points_range.
Qed.
Theorem scattered_left : Statements.gather_scattered_left.
Proof.
  red. intros b x y j i v f F _ _ _ E S D Fi _ _ Y X. split; [|apply S]. intros e O. rewrite (E e O).
  eapply scattered_times; eauto.
Qed.
Theorem scattered_right : Statements.gather_scattered_right.
Proof.
  red. intros b x y j i v f F _ _ _ E S D Fi _ X _ Y. split; [|apply S]. intros e O. rewrite (E e O). unfold Ap2 at 1.
  rewrite xmul_comm. eapply scattered_times; eauto.
Qed.
Theorem exchange : Statements.gather_exchange.
Proof.
  red. intros b j i v x F w _ _ _ [E N] D Fi B X e O. unfold Red at 1 2. rewrite points_all. unfold points at 1. rewrite fold_filter.
  transitivity (Semantics.fold Sum (range j) (fun p => Semantics.fold Sum (range i) (fun q =>
    if (w (set j p e) && v (set i q (set j p e)))%bool then x (set i q (set j p e)) else Fin 0))).
  - apply fold_ext. intros p P. destruct (w (set j p e)); simpl.
    + rewrite E by (apply ok_point; auto). unfold Red, points. now rewrite fold_filter.
    + symmetry. apply (fold_unit Sum).
  - rewrite fold_swap. apply fold_ext. intros q Q. unfold Red, points. rewrite fold_filter. apply fold_ext. intros p P.
    unfold Ap2. rewrite (set_swap i j) by auto. f_equal.
    assert (H : w (set i q (set j p e)) = w (set j p e)) by (eapply depends_free; eauto using ok_point, range_allowed).
    now rewrite <- H, (set_swap i j) by auto.
Qed.

(** * Keys that do not decrease *)
Theorem ascending_cast : Statements.gather_ascending_cast.
Proof.
  red. intros x j o i y f _ _ [N [S [R [Same Up]]]] E Wd. repeat split; auto; try (now apply R).
  - intros e v O V. unfold Ap1. rewrite E by (apply ok_point; auto). unfold Ap1. now rewrite Same.
  - intros e u v O U V L. rewrite !E by (apply ok_point; auto). unfold Ap1. apply Wd. now apply Up.
Qed.
Lemma count_value l (f : Z -> bool) : (Z.of_nat (List.length l) < 2 ^ 63)%Z ->
  value (Semantics.fold Count (filter f l) (fun _ => of_Z 1)) = Z.of_nat (List.length (filter f l)).
Proof.
  intros H. assert (L : (Z.of_nat (List.length (filter f l)) < 2 ^ 63)%Z).
  { assert (List.length (filter f l) <= List.length l)%nat by (clear; induction l; simpl; auto; destruct (f a); simpl; lia). lia. }
  clear H. induction (filter f l) as [|a k IH]; [apply value_of_Z; lia|]. simpl List.length in *. rewrite fold_cons.
  change (op Count) with int_add. rewrite value_add; rewrite IH by lia; rewrite value_of_Z; lia.
Qed.
Lemma filter_all {A} (f : A -> bool) l : (forall u, In u l -> f u = true) -> filter f l = l.
Proof. induction l; simpl; intros H; auto. rewrite H, IHl; auto. Qed.
(** A condition that, where it fails, fails ever after holds on a range from the start. *)
Lemma prefix_length n (f : Z -> bool) : (forall u v, (0 <= u <= v)%Z -> (v < Z.of_nat n)%Z -> f v = true -> f u = true) ->
  forall v, (0 <= v < Z.of_nat n)%Z -> f v = (v <? Z.of_nat (List.length (filter f (List.map Z.of_nat (seq 0 n)))))%Z.
Proof.
  induction n as [|n IH]; intros D v V; [lia|]. rewrite seq_S, map_app, filter_app, app_length. simpl.
  destruct (f (Z.of_nat n)) eqn:E; simpl.
  - assert (T : forall u, (0 <= u <= Z.of_nat n)%Z -> f u = true) by (intros u U; apply (D u (Z.of_nat n)); auto; lia).
    assert (A : filter f (List.map Z.of_nat (seq 0 n)) = List.map Z.of_nat (seq 0 n)).
    { apply filter_all. intros u U. apply in_map_iff in U. destruct U as [k [<- K]].
      apply in_seq in K. apply T. lia. }
    rewrite A, map_length, seq_length, T by lia. symmetry. apply Z.ltb_lt. lia.
  - rewrite Nat.add_0_r. destruct (Z.eq_dec v (Z.of_nat n)) as [->|N].
    + rewrite E. symmetry. apply Z.ltb_ge.
      assert (List.length (filter f (List.map Z.of_nat (seq 0 n))) <= n)%nat.
      { rewrite <- (seq_length n 0) at 2. rewrite <- (map_length Z.of_nat). clear. generalize (List.map Z.of_nat (seq 0 n)).
        induction l; simpl; auto. destruct (f a); simpl; lia. }
      lia.
    + apply IH; [|lia]. intros a b A B. apply D; lia.
Qed.
Lemma set_here j e : set j (pos e j) e = e.
Proof. unfold set. rewrite move_to_id. now destruct e. Qed.
Lemma key_count (c : int -> int -> bool) (key other x : sc int) j i e :
  ascending key j other i -> free x i -> free x j -> ok e ->
  (forall a b d, (value a <= value b)%Z -> c b d = true -> c a d = true) ->
  c (key e) (x e) = (pos e j <? value (Red Count i (Ap2 c other x) (Lit (of_Z 1)) e))%Z.
Proof.
  intros [N [S [R [Same Up]]]] Xi Xj O D.
  assert (P : In (pos e j) (range j)) by (apply in_range, R, O).
  unfold Red, Lit, points. rewrite count_value.
  2: { rewrite length_range. apply size_fits. }
  set (f := fun v => c (key (set j v e)) (x e)).
  replace (filter _ (range i)) with (filter f (range j)).
  - unfold range. rewrite <- prefix_length.
    + unfold f. now rewrite set_here.
    + intros u v U V. unfold f. apply D, Up; auto; try (apply in_range); lia.
    + now apply in_range.
  - unfold range at 2. rewrite S. fold (range j). apply filter_ext_in. intros v V. unfold f, Ap2.
    rewrite Same, Xi by (auto; apply range_allowed; unfold range; rewrite S; exact V). reflexivity.
Qed.
Lemma segment_range eq lt le key j other i p F x : compares eq lt le -> ascending key j other i -> is_position p j ->
  depends x F -> F j = false -> F i = false -> forall e, ok e ->
  int_eq (key e) (x e) = Ap2 andb (Ap2 int_le (Red Count i (Ap2 lt other x) (Lit (of_Z 1)%Z)) p)
                                  (Ap2 int_lt p (Red Count i (Ap2 le other x) (Lit (of_Z 1)%Z))) e.
Proof.
  intros C A P D Fj Fi e O. assert (Xi : free x i) by eauto using depends_free. assert (Xj : free x j) by eauto using depends_free.
  unfold Ap2 at 1 2 4. unfold int_le at 1, int_lt. rewrite (P e O).
  rewrite <- (key_count le key other x j i e) by (auto; intros a b d L; rewrite !(proj2 (proj2 (C _ _))); unfold int_le; lia).
  assert (L := key_count lt key other x j i e A Xi Xj O).
  rewrite Z.leb_antisym, <- L by (intros a b d H; rewrite !(proj1 (proj2 (C _ _))); unfold int_lt; lia).
  rewrite (proj2 (proj2 (C _ _))), (proj1 (proj2 (C _ _))). unfold int_eq, int_le, int_lt. lia.
Qed.
Theorem segment : Statements.gather_segment.
Proof.
  red. intros eq lt le key j other i p F x _ _ C A P D Fj Fi e O.
  rewrite <- (segment_range eq lt le key j other i p F x); auto. unfold Ap2. apply C.
Qed.
Theorem segment_turned : Statements.gather_segment_turned.
Proof.
  red. intros eq lt le key j other i p F x _ _ C A P D Fj Fi e O.
  rewrite <- (segment_range eq lt le key j other i p F x); auto. unfold Ap2. rewrite (proj1 (C _ _)). apply Z.eqb_sym.
Qed.

End Gather.
