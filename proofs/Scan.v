(** A prefix fold is a scan, and a scan may be evaluated by chunks: associativity is all that is asked for. *)

From Coq Require Import Reals ZArith String List Bool Lia Lra FunctionalExtensionality.
From TangEgg Require Import Lemmas Statements.
Import ListNotations.
Open Scope nat_scope.

Section Scan.
Context {the_world : world} {the_integers : integers}.

Lemma joined_app {V} (k : keyed V) a b : joined k (a ++ b) = join k (joined k a) (joined k b).
Proof. induction a; simpl; [now rewrite join_left|]. now rewrite IHa, join_assoc. Qed.

Lemma seq_filter (n t : nat) : (t < n)%nat -> filter (fun s => Nat.leb s t) (seq 0 n) = seq 0 (S t).
Proof.
  intros H. replace n with (S t + (n - S t)) by lia. rewrite seq_app, filter_app.
  rewrite (proj2 (filter_ext_in_iff _ (fun _ => true) (seq 0 (S t)))).
  2: { intros s S. apply in_seq in S. apply Nat.leb_le. lia. }
  rewrite (proj2 (filter_ext_in_iff _ (fun _ => false) (seq (0 + S t) (n - S t)))).
  2: { intros s S. apply in_seq in S. apply Nat.leb_gt. lia. }
  assert (T : forall l : list nat, filter (fun _ => true) l = l) by (induction l; simpl; congruence).
  assert (F : forall l : list nat, filter (fun _ => false) l = []) by (induction l; simpl; congruence).
  now rewrite T, F, app_nil_r.
Qed.
Lemma filter_map {A B} (f : A -> B) p l : filter p (map f l) = map f (filter (fun x => p (f x)) l).
Proof. induction l; simpl; auto. destruct (p (f a)); simpl; now rewrite IHl. Qed.

Theorem prefix : Statements.scan_prefix.
Proof.
  intros V T m p s t x N Z In Free e O. unfold Fold, Scn. f_equal. specialize (In e O).
  change (if (0 <=? 0)%Z then ?a else ?b) with a. f_equal. simpl environments.
  rewrite flat_map_concat_map. unfold range. rewrite map_map.
  assert (C : forall l : list nat, concat (map (fun v => [set s (Z.of_nat v) e]) l) = map (fun v => set s (Z.of_nat v) e) l)
    by (induction l; simpl; congruence).
  rewrite C, filter_map, map_map.
  replace (filter _ (seq 0 (size s))) with (seq 0 (S (Z.to_nat (pos e t)))).
  - apply map_ext. intros n. unfold lifted. f_equal. simpl. rewrite move_to_same.
    rewrite move_to_swap by auto. now rewrite Free.
  - rewrite <- (seq_filter (size s)) by lia. apply filter_ext. intros n. simpl. rewrite move_to_same, move_to_other by auto.
    destruct (Nat.leb_spec n (Z.to_nat (pos e t))), (Z.leb_spec (Z.of_nat n) (pos e t)); auto; lia.
Qed.

Lemma joined_chunks {V} (k : keyed V) (f : nat -> state k) (c q : nat) : (0 < c)%nat ->
  joined k (map (fun b => joined k (map f (seq (b * c) c))) (seq 0 q)) = joined k (map f (seq 0 (q * c))).
Proof.
  intros C. induction q; auto. rewrite seq_S, map_app, joined_app, IHq. simpl.
  rewrite Nat.add_comm, seq_app, map_app, joined_app. simpl. now rewrite join_right.
Qed.
Theorem chunk : Statements.scan_chunk.
Proof.
  intros. red. intros. intros here O. match goal with E : eqv ?a _ |- _ => rewrite (E here O) end. unfold Scn.
  change (if (0 <=? 0)%Z then ?a else ?b) with a. f_equal. destruct (Z.leb_spec n 0); auto.
  set (c := Z.to_nat n). set (last := Z.to_nat (pos here t)). assert (C : (0 < c)%nat) by lia.
  rewrite joined_chunks by auto. rewrite <- joined_app, <- map_app. f_equal. f_equal.
  assert (Below : (Nat.div last c * c <= last)%nat) by (rewrite Nat.mul_comm; apply Nat.mul_div_le; lia).
  replace (S last) with (last / c * c + (S last - last / c * c)) at 1 by lia. now rewrite seq_app.
Qed.
Lemma fold_list_app {A} (m : monoid A) a b :
  fold_right (op m) (unit_ m) (a ++ b) = op m (fold_right (op m) (unit_ m) a) (fold_right (op m) (unit_ m) b).
Proof. induction a; simpl; [now rewrite op_unit|]. now rewrite IHa, op_assoc. Qed.
Lemma map_shift {A} (f : nat -> A) a n : map f (seq a n) = map (fun b => f (a + b)) (seq 0 n).
Proof.
  revert a f. induction n; intros a f; simpl; auto. rewrite (IHn (S a)), (IHn 1), Nat.add_0_r. f_equal.
  apply map_ext. intros v. f_equal. lia.
Qed.
Theorem chunks : Statements.scan_chunks.
Proof.
  intros T m n t x N over. unfold over at 1 2 4.
  assert (Whole : forall q, fold_right (op m) (unit_ m) (map x (seq 0 (n * q))) =
                            fold_right (op m) (unit_ m) (map (fun r => over n (fun b => x (n * r + b))) (seq 0 q))).
  { induction q; [now rewrite Nat.mul_0_r|]. rewrite seq_S, map_app, fold_list_app, <- IHq. simpl.
    replace (n * S q) with (n * q + n) by lia. rewrite seq_app, map_app, fold_list_app. simpl. f_equal.
    rewrite op_unit_r, map_shift. reflexivity. }
  rewrite <- Whole. rewrite <- (map_shift x), <- fold_list_app, <- map_app.
  change (n * (t / n)) with (0 + n * (t / n)) at 2. rewrite <- seq_app. do 3 f_equal.
  pose proof (Nat.div_mod t n). lia.
Qed.
Theorem decay : Statements.scan_decay.
Proof.
  intros A x h Zero Next t. induction t as [|t IH].
  - simpl. rewrite Zero. replace (A O - A O)%R with 0%R by ring. rewrite exp_0. ring.
  - rewrite Next, IH. simpl sum_f_R0. rewrite scal_sum. f_equal.
    + apply sum_eq. intros s _. replace (A (S t) - A s)%R with ((A (S t) - A t) + (A t - A s))%R by ring.
      rewrite exp_plus. ring.
    + replace (A (S t) - A (S t))%R with 0%R by ring. rewrite exp_0. ring.
Qed.
Lemma Rmax_plus (c a b : R) : Rmax (c + a) (c + b) = (c + Rmax a b)%R.
Proof. unfold Rmax. destruct (Rle_dec (c + a) (c + b)), (Rle_dec a b); auto; exfalso; lra. Qed.
Lemma Rmin_plus (c a b : R) : Rmin (c + a) (c + b) = (c + Rmin a b)%R.
Proof. unfold Rmin. destruct (Rle_dec (c + a) (c + b)), (Rle_dec a b); auto; exfalso; lra. Qed.
Theorem prefix_scaled : Statements.scan_prefix_scaled.
Proof.
  intros c x h Zero Next t. rewrite <- (sum_eq (fun s => x s * c t)%R) by (intros; ring). rewrite <- scal_sum. f_equal.
  induction t as [|t IH]; simpl; [easy|]. now rewrite Next, IH.
Qed.
Theorem prefix_shifted : Statements.scan_prefix_shifted.
Proof.
  intros m c x h g M Zero Next First Then t. enough (A : forall s, g t s = (c t + h s)%R) by apply A.
  induction s as [|s IH]; [now rewrite First, Zero|]. rewrite Then, Next, IH.
  destruct M; subst m; [apply Rmax_plus | apply Rmin_plus].
Qed.
End Scan.
