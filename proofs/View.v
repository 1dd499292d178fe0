(** Views commute with maps and folds, are nothing where their indices do not occur, and compose. *)

From Coq Require Import Reals ZArith String List Bool Lia FunctionalExtensionality.
From TangEgg Require Import Lemmas Statements.
Import ListNotations.

Section View.
Context {the_world : world} {the_integers : integers}.

Theorem map : Statements.view_map.
Proof. now intros. Qed.
Theorem map_two : Statements.view_map_two.
Proof. now intros. Qed.
Theorem map_three : Statements.view_map_three.
Proof. now intros. Qed.

Lemma move_set k D J j v e : replaces k D J -> D j = false -> J j = false -> ok e -> In v (range j) ->
  move k (set j v e) = set j v (move k e).
Proof.
  intros [DI [K [Out In]]] Dj Jj O V. unfold set, move; simpl. f_equal. apply functional_extensionality; intros i.
  pose proof (ok_point j v e O V) as O'. change (Env (move_to j v (pos e)) (hole e) (delta e)) with (set j v e).
  destruct (String.eqb_spec i j) as [->|N].
  - rewrite move_to_same, Out by auto. simpl. apply move_to_same.
  - rewrite move_to_other by auto. destruct (D i) eqn:Di.
    + apply In; auto. intros n Hn. simpl. apply move_to_other. congruence.
    + rewrite !Out by auto. simpl. now apply move_to_other.
Qed.

Theorem fold : Statements.view_fold.
Proof.
  intros T k D J j m w x _ R Dj Jj e O. unfold Let, Red, points. rewrite !fold_filter. apply fold_ext. intros v V.
  now rewrite (move_set k D J).
Qed.

Theorem absent : Statements.view_absent.
Proof.
  intros T k D J F x [DI [K [Out In]]] Dx E e O. unfold Let. apply Dx; auto. repeat split; simpl; auto.
  intros i I. apply Out; auto. specialize (E i). unfold set_intersect, set_empty in E. rewrite I in E. exact E.
Qed.

Lemma value_app c s t p : value_of (c, s ++ t) p = (value_of (c, s) p + value_of (0%Z, t) p)%Z.
Proof. unfold value_of; simpl. induction s; simpl; [|rewrite IHs; lia]. induction t; simpl; [lia|]. rewrite IHt. lia. Qed.
Lemma value_offset c s p : value_of (c, s) p = (c + value_of (0%Z, s) p)%Z.
Proof. unfold value_of; simpl. induction s; simpl; [lia|]. rewrite IHs. lia. Qed.
Lemma value_plus a b p : value_of (plus a b) p = (value_of a p + value_of b p)%Z.
Proof.
  destruct a as [c s], b as [d t]. unfold plus; simpl. rewrite value_app, value_offset, (value_offset c), (value_offset d). lia.
Qed.
Lemma value_times n a p : value_of (times n a) p = (n * value_of a p)%Z.
Proof.
  destruct a as [c s]. unfold times; simpl. rewrite value_offset, (value_offset c).
  assert (H : value_of (0%Z, List.map (fun t : Z * string => ((n * fst t)%Z, snd t)) s) p = (n * value_of (0%Z, s) p)%Z).
  { unfold value_of; simpl. induction s; simpl; [lia|]. rewrite IHs. lia. }
  rewrite H. lia.
Qed.
Lemma value_replaced k e terms : forall offset g, replaced k offset terms = Some g ->
  value_of g (pos e) = value_of (offset, terms) (view_of k e).
Proof.
  induction terms as [|[n i] rest IH]; simpl; intros offset g H; [now inversion H|].
  destruct (replaced k offset rest) as [r|] eqn:R; [|discriminate]. specialize (IH offset r R).
  replace (value_of (offset, (n, i) :: rest) (view_of k e))
    with (n * view_of k e i + value_of (offset, rest) (view_of k e))%Z by reflexivity.
  rewrite <- IH. unfold view_of. destruct (found k i) as [[f|x]|]; inversion H; subst; rewrite value_plus.
  - now rewrite value_times.
  - unfold value_of at 1; simpl. lia.
Qed.
Lemma at_composed k c e : at_coordinate (composed k c) e = at_coordinate c (move (view_of k) e).
Proof.
  destruct c as [f|x]; simpl; auto. destruct (replaced k (fst f) (snd f)) eqn:R; simpl.
  - rewrite (value_replaced _ e _ _ _ R). now destruct f.
  - reflexivity.
Qed.

Theorem read : Statements.view_read.
Proof.
  intros T source cs k e O. unfold Let, Read. f_equal. rewrite map_map. apply map_ext. intros c. symmetry.
  apply at_composed.
Qed.

Lemma found_compose k l i : found (compose k l) i =
  match found l i with Some c => Some (composed k c) | None => found k i end.
Proof. unfold compose. induction l as [|[n c] l IH]; simpl; auto. now destruct (String.eqb i n). Qed.
Theorem compose : Statements.view_compose.
Proof.
  intros T x k l e O. unfold Let. f_equal. unfold move at 1 3; simpl. f_equal. apply functional_extensionality.
  intros i. unfold view_of at 1 3. rewrite found_compose. destruct (found l i); auto. symmetry. apply at_composed.
Qed.
End View.
