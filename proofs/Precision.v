(** A number is a high part and what is left; products distribute over the parts, and small products may be dropped. *)

From Coq Require Import Reals ZArith String List Bool Lra Lia Psatz.
From TangEgg Require Import Lemmas Statements.
Import ListNotations.
Open Scope R_scope.

Section Precision.
Context {the_world : world} {the_integers : integers}.

Theorem halves : Statements.precision_halves.
Proof.
  red. intros x y high _ X Y H e O. unfold Ap1, Ap2. specialize (H e O). unfold Ap1 in H. at_env e.
  destruct (high (x e)), (x e), (y e); simpl in *; try contradiction. f_equal. ring.
Qed.
Theorem distribute : Statements.precision_distribute.
Proof. red. intros x y z _ X Y Z e O. unfold Ap2. at_env e. reals. simpl. f_equal. ring. Qed.
Theorem low : Statements.precision_low.
Proof.
  intros hi H x. pose proof (H x) as A. pose proof (H (x - hi x)) as B.
  rewrite Rabs_minus_sym in A, B. eapply Rle_trans; [exact B|].
  apply (Rmult_le_compat_l (/ 2 ^ 8)) in A; [|lra].
  replace (/ 2 ^ 16 * Rabs x) with (/ 2 ^ 8 * (/ 2 ^ 8 * Rabs x)) by (field; lra). exact A.
Qed.

Lemma rsum_le {T} (l : list T) f g : (forall v, In v l -> f v <= g v) -> rsum l f <= rsum l g.
Proof. induction l as [|a l IH]; simpl; intros H; [lra|]. apply Rplus_le_compat; auto. Qed.
Lemma rsum_abs {T} (l : list T) f : Rabs (rsum l f) <= rsum l (fun v => Rabs (f v)).
Proof.
  induction l as [|a l IH]; simpl; [rewrite Rabs_R0; lra|]. eapply Rle_trans; [apply Rabs_triang|].
  apply Rplus_le_compat_l, IH.
Qed.
Lemma rsum_scale {T} (l : list T) c f : rsum l (fun v => c * f v) = c * rsum l f.
Proof. induction l; simpl; [ring|]. rewrite IHl. ring. Qed.
Lemma rsum_minus {T} (l : list T) f g : rsum l (fun v => f v - g v) = rsum l f - rsum l g.
Proof. induction l; simpl; [ring|]. rewrite IHl. ring. Qed.
Lemma rsum_ext {T} (l : list T) f g : (forall v, f v = g v) -> rsum l f = rsum l g.
Proof. intros H. induction l; simpl; auto. now rewrite H, IHl. Qed.
Lemma rsum_app {T} (l k : list T) f : rsum (l ++ k) f = rsum l f + rsum k f.
Proof. induction l; simpl; [ring|]. rewrite IHl. ring. Qed.
Lemma rsum_map {T U} (h : T -> U) l f : rsum (map h l) f = rsum l (fun v => f (h v)).
Proof. induction l; simpl; auto. now rewrite IHl. Qed.
Lemma rsum_product {T U} (l : list T) (k : list U) f g :
  rsum l f * rsum k g = rsum (list_prod l k) (fun pq => f (fst pq) * g (snd pq)).
Proof.
  induction l as [|a l IH]; simpl; [ring|]. rewrite rsum_app, rsum_map, <- IH. simpl. rewrite rsum_scale. ring.
Qed.
Lemma rsum_parted {T} (l : list T) keep f :
  rsum l f = rsum (filter keep l) f + rsum (filter (fun v => negb (keep v)) l) f.
Proof. induction l as [|a l IH]; simpl; [ring|]. destruct (keep a); simpl; rewrite IH; ring. Qed.
Theorem drop : Statements.precision_drop.
Proof.
  intros l n keep u a b pa pb U PA PB. set (C := (1 + u) ^ 2 * _ + _ + _). rewrite <- rsum_minus.
  eapply Rle_trans; [apply rsum_abs|]. rewrite <- rsum_scale. apply rsum_le. intros v _.
  destruct (PA v) as [Pa Ra], (PB v) as [Pb Rb]. set (A := rsum (seq 0 n) (fun p => pa p v)) in *.
  set (B := rsum (seq 0 n) (fun p => pb p v)) in *.
  set (dropped := rsum (pairs n (fun pq => negb (keep pq))) (fun pq => pa (fst pq) v * pb (snd pq) v)).
  replace (a v * b v - rsum (pairs n keep) (fun pq => pa (fst pq) v * pb (snd pq) v))
    with ((a v - A) * b v + a v * (b v - B) - (a v - A) * (b v - B) + dropped).
  2: { assert (AB : A * B = rsum (pairs n keep) (fun pq => pa (fst pq) v * pb (snd pq) v) + dropped).
       { unfold A, B. rewrite rsum_product. apply rsum_parted. } nra. }
  assert (D : Rabs dropped <= (1 + u) ^ 2 * rsum (pairs n (fun pq => negb (keep pq))) (fun pq => u ^ (fst pq + snd pq)) * (Rabs (a v) * Rabs (b v))).
  { eapply Rle_trans; [apply rsum_abs|].
    rewrite (Rmult_comm _ (Rabs (a v) * Rabs (b v))), <- Rmult_assoc, <- rsum_scale. apply rsum_le. intros [p q] I. simpl.
    unfold pairs in I. apply filter_In in I. destruct I as [I _]. apply in_prod_iff in I. destruct I as [Ip Iq].
    apply in_seq in Ip, Iq. rewrite Rabs_mult. eapply Rle_trans.
    - apply Rmult_le_compat; try apply Rabs_pos; [apply Pa | apply Pb]; lia.
    - rewrite pow_add. right. ring. }
  pose proof (Rabs_pos (a v)) as A0. pose proof (Rabs_pos (b v)) as B0. pose proof (pow_le u n U) as U0.
  eapply Rle_trans; [apply Rabs_triang|]. unfold C. rewrite !Rmult_plus_distr_r.
  assert (E : Rabs ((a v - A) * b v + a v * (b v - B) - (a v - A) * (b v - B)) <=
              2 * u ^ n * (Rabs (a v) * Rabs (b v)) + u ^ n * u ^ n * (Rabs (a v) * Rabs (b v))).
  { unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp.
    apply Rplus_le_compat.
    - eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult. nra.
    - rewrite Rabs_mult. eapply Rle_trans; [apply Rmult_le_compat; try apply Rabs_pos; eassumption|]. right. ring. }
  lra.
Qed.
End Precision.
