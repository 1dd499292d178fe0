(** How many points of an iteration space a set of footprints can cover, and the words that follow.

    - [finner]: any finite set Z of points has at most Π |π_j Z|^{s_j} points, where π_j Z is its footprint in operand j
      (the coordinates that j reads), if every dim is read with weight at least 1 (Loomis and Whitney's inequality for
      fractional covers). [set_points]: with the extents N_i of dims and any feasible dual (s, ζ) of the traffic
      program, |Z| ≤ Π |π_j Z|^{s_j} · Π N_i^{ζ_i}. This bounds what a segment of any schedule can compute, boxes or
      not.
    - [set_points_memory]: at most S^σ · Π N_i^{ζ_i} if every footprint is at most S, σ = Σ s_j.
    - [segment_points]: if the footprints, weighted by w_j, hold at most K words together, then |Z| ≤ Π N_i^{ζ_i} · K^σ
      · Π (s_j / (σ w_j))^{s_j}.
    - [words_moved]: if each segment computes at most U points and each but the last moves at least T words, then at
      least T · (points / U − 1) words are moved.
    [matmul_points] is the case of a matrix product: (K/3)^(3/2).
    Operands read whole dims; the affine case (rank conditions on subgroups) is not here. *)
From Coq Require Import List Bool Arith Lia Reals Lra.
From TangEgg.General Require Import Monoids Folds Duality Means.
Import ListNotations.
Set Implicit Arguments.
Open Scope R_scope.

(** ** Points of any finite set *)

Definition distinct (l : list (list nat)) : list (list nat) := nodup (list_eq_dec Nat.eq_dec) l.
Definition card (l : list (list nat)) : R := INR (length (distinct l)).

(** The coordinates of a point that a mask selects. *)
Fixpoint project (mask : list bool) (z : list nat) : list nat :=
  match mask, z with
  | b :: m, x :: r => if b then x :: project m r else project m r
  | _, _ => []
  end.
Definition image (mask : list bool) (Z : list (list nat)) : list (list nat) := map (project mask) Z.

(** The points with first coordinate y, without it. *)
Definition slice (y : nat) (Z : list (list nat)) : list (list nat) :=
  map (@tl nat) (filter (fun z => hd O z =? y)%nat Z).
Definition heads (Z : list (list nat)) : list nat := nodup Nat.eq_dec (map (hd O) Z).

Lemma distinct_incl l : incl l (distinct l).
Proof. intros x I. now apply nodup_In. Qed.

Lemma card_le l l' : incl l l' -> card l <= card l'.
Proof.
  intros H. apply le_INR, NoDup_incl_length; [apply NoDup_nodup |].
  intros x I. apply nodup_In in I. apply nodup_In. auto.
Qed.

Lemma card_at_least_one l : l <> [] -> 1 <= card l.
Proof.
  destruct l as [| x l]; [easy |]. intros _. unfold card. apply (le_INR 1).
  pose proof (distinct_incl (x :: l) x (or_introl eq_refl)) as H. destruct (distinct (x :: l)); [easy | simpl; lia].
Qed.

Lemma in_slice y Z z : In z (slice y Z) <-> exists q, In q Z /\ hd O q = y /\ tl q = z.
Proof.
  unfold slice. rewrite in_map_iff. split.
  - intros (q & <- & I). apply filter_In in I. destruct I as [I E]. apply Nat.eqb_eq in E. eauto.
  - intros (q & I & E & <-). exists q. split; [easy |]. apply filter_In. split; [easy | now apply Nat.eqb_eq].
Qed.

Lemma INR_length_flat_map {A B} (f : A -> list B) l : INR (length (flat_map f l)) = sum l (fun x => INR (length (f x))).
Proof. induction l; [easy |]. simpl. now rewrite app_length, plus_INR, IHl. Qed.

Lemma card_slices Z : (forall z, In z Z -> z <> []) -> card Z <= sum (heads Z) (fun y => card (slice y Z)).
Proof.
  intros H. unfold card at 1.
  apply Rle_trans with (INR (length (flat_map (fun y => map (cons y) (distinct (slice y Z))) (heads Z)))).
  - apply le_INR, NoDup_incl_length; [apply NoDup_nodup |]. intros z I. apply nodup_In in I.
    specialize (H z I). destruct z as [| y z]; [easy |]. apply in_flat_map. exists y. split.
    + apply nodup_In, in_map_iff. now exists (y :: z).
    + apply in_map_iff. exists z. split; [easy |]. apply nodup_In, in_slice. now exists (y :: z).
  - rewrite INR_length_flat_map. right. apply sum_ext. intros y _. now rewrite map_length.
Qed.

Lemma NoDup_join {A} (l r : list A) : NoDup l -> NoDup r -> (forall x, In x l -> ~ In x r) -> NoDup (l ++ r).
Proof.
  induction 1 as [| x l N D IH]; [easy |]. intros R H. simpl. constructor.
  - rewrite in_app_iff. intros [I | I]; [easy |]. now apply (H x (or_introl eq_refl)).
  - apply IH; [easy |]. intros y I. apply H. now right.
Qed.

(** The converse for a projection that keeps the first coordinate: slices are disjoint. *)
Lemma slices_card mask Z ys : NoDup ys -> (forall z, In z Z -> z <> []) ->
  sum ys (fun y => card (image mask (slice y Z))) <= card (image (true :: mask) Z).
Proof.
  intros D H. unfold card at 2.
  apply Rle_trans with (INR (length (flat_map (fun y => map (cons y) (distinct (image mask (slice y Z)))) ys))).
  - rewrite INR_length_flat_map. right. apply sum_ext. intros y _. now rewrite map_length.
  - apply le_INR, NoDup_incl_length.
    + induction D as [| y ys N D IH]; [constructor |]. simpl. apply NoDup_join; [| easy |].
      * apply FinFun.Injective_map_NoDup; [| apply NoDup_nodup]. intros u v E. now injection E.
      * intros z I J. apply in_map_iff in I. destruct I as (u & <- & _). apply in_flat_map in J.
        destruct J as (y' & I' & J). apply in_map_iff in J. destruct J as (v & E & _). injection E as -> _. easy.
    + intros q I. apply in_flat_map in I. destruct I as (y & _ & I). apply in_map_iff in I. destruct I as (u & <- & I).
      apply nodup_In, in_map_iff in I. destruct I as (v & <- & I). apply in_slice in I. destruct I as (z & I & E & <-).
      apply nodup_In, in_map_iff. exists z. split; [| easy]. specialize (H z I). destruct z; [easy |]. simpl in *.
      now rewrite E.
Qed.

Lemma slice_image_incl mask y Z : (forall z, In z Z -> z <> []) ->
  incl (image mask (slice y Z)) (image (false :: mask) Z).
Proof.
  intros H q I. apply in_map_iff in I. destruct I as (v & <- & I). apply in_slice in I. destruct I as (z & I & _ & <-).
  apply in_map_iff. exists z. split; [| easy]. specialize (H z I). now destruct z.
Qed.

Definition operand := (R * list bool)%type.
Definition cover (ops : list operand) (i : nat) : R :=
  sum ops (fun j => if nth i (snd j) false then fst j else 0).

Lemma sum_filter {A} (p : A -> bool) l (f : A -> R) : sum (filter p l) f = sum l (fun x => if p x then f x else 0).
Proof. apply (big_filter Sum). Qed.

(** Any finite set has at most Π |π_j Z|^{s_j} points, if the operands cover every dim with weight at least one. *)
Theorem finner n (Z : list (list nat)) (ops : list operand) :
  Z <> [] -> (forall z, In z Z -> length z = n) ->
  (forall j, In j ops -> 0 <= fst j /\ length (snd j) = n) ->
  (forall i, (i < n)%nat -> 1 <= cover ops i) ->
  card Z <= product ops (fun j => Rpower (card (image (snd j) Z)) (fst j)).
Proof.
  revert Z ops. induction n as [| n IH]; intros Z ops NE LZ LO C.
  - apply Rle_trans with (card [[]]); [apply card_le | apply Rle_trans with (product ops (fun _ => 1))].
    + intros z I. specialize (LZ z I). destruct z; [now left | easy].
    + unfold product. rewrite (big_neutral Product). unfold card. simpl. lra.
    + apply product_le. intros j J. split; [lra |].
      rewrite <- (Rpower_O 1) at 1 by lra. apply Rle_trans with (Rpower 1 (fst j)).
      * right. unfold Rpower. rewrite ln_1. f_equal. ring.
      * apply Rpower_le; [now apply LO |]. split; [lra |]. apply card_at_least_one. unfold image.
        now destruct Z.
  - assert (NZ : forall z, In z Z -> z <> []).
    { intros z I E. specialize (LZ z I). subst. easy. }
    assert (SNE : forall y, In y (heads Z) -> slice y Z <> []).
    { intros y I E. apply nodup_In, in_map_iff in I. destruct I as (z & <- & I).
      assert (In (tl z) (slice (hd O z) Z)) as F by (apply in_slice; eauto). rewrite E in F. easy. }
    assert (HNE : heads Z <> []).
    { destruct Z as [| z Z]; [easy |]. intros E. assert (In (hd O z) (heads (z :: Z))) as F.
      { apply nodup_In. now left. } rewrite E in F. easy. }
    set (first := fun j : operand => hd false (snd j)).
    set (rest := fun j : operand => tl (snd j)).
    assert (Masks : forall j, In j ops -> snd j = first j :: rest j).
    { intros j J. unfold first, rest. destruct (LO j J) as [_ L]. now destruct (snd j). }
    apply Rle_trans with (1 := card_slices Z NZ).
    apply Rle_trans with (sum (heads Z) (fun y =>
      product ops (fun j => Rpower (card (image (rest j) (slice y Z))) (fst j)))).
    { apply sum_le. intros y I.
      pose proof (IH (slice y Z) (map (fun j => (fst j, rest j)) ops) (SNE y I)) as G.
      unfold product in G. rewrite big_map in G. apply G; clear G.
      - intros z J. apply in_slice in J. destruct J as (q & J & _ & <-). specialize (LZ q J). destruct q; [easy |].
        now injection LZ.
      - intros j J. apply in_map_iff in J. destruct J as (j' & <- & J). destruct (LO j' J) as [P L]. split; [easy |].
        simpl. rewrite (Masks j' J) in L. now injection L.
      - intros i L. unfold cover. rewrite sum_map. specialize (C (S i)). unfold cover in C.
        rewrite (sum_ext ops _ (fun j => if nth (S i) (snd j) false then fst j else 0)).
        + apply C. lia.
        + intros j J. simpl fst. simpl snd. now rewrite (Masks j J). }
    set (outer := product (filter (fun j => negb (first j)) ops) (fun j => Rpower (card (image (snd j) Z)) (fst j))).
    assert (Opos : 0 < outer) by (apply product_positive; intros; apply Rpower_positive).
    assert (Slices : forall y j, In y (heads Z) -> 1 <= card (image (rest j) (slice y Z))).
    { intros y j I. apply card_at_least_one. specialize (SNE y I). unfold image. now destruct (slice y Z). }
    apply Rle_trans with (sum (heads Z) (fun y =>
      outer * product (filter first ops) (fun j => Rpower (card (image (rest j) (slice y Z))) (fst j)))).
    { apply sum_le. intros y I. unfold product at 1. rewrite (split_domain Product_commutative first). simpl op.
      rewrite (Rmult_comm outer).
      apply Rmult_le_compat_l; [left; apply product_positive; intros; apply Rpower_positive |].
      apply product_le. intros j J. apply filter_In in J. destruct J as [J E]. split; [apply Rlt_le, Rpower_positive |].
      apply Rpower_le; [now apply LO |]. pose proof (Slices y j I). split; [lra |].
      rewrite (Masks j J). destruct (first j); [easy |]. apply card_le. now apply slice_image_incl. }
    rewrite sum_scale. unfold product at 2. rewrite (split_domain Product_commutative first). simpl op.
    rewrite (Rmult_comm (big Product (filter first ops) _)). apply Rmult_le_compat_l; [left; exact Opos |].
    eapply Rle_trans; [apply hoelder with (s := fst) (a := fun j y => card (image (rest j) (slice y Z))) |]; auto.
    + intros j J. apply filter_In in J. now apply LO.
    + intros j y _ I. pose proof (Slices y j I). lra.
    + rewrite sum_filter. specialize (C O). unfold cover in C.
      rewrite (sum_ext ops _ (fun j => if nth 0 (snd j) false then fst j else 0)); [apply C; lia |].
      intros j J. now rewrite (Masks j J).
    + apply product_le. intros j J. split; [apply Rlt_le, Rpower_positive |]. apply filter_In in J. destruct J as [J E].
      apply Rpower_le; [now apply LO |]. split.
      * destruct (heads Z) as [| y ys]; [easy |]. rewrite sum_cons. pose proof (Slices y j (or_introl eq_refl)).
        assert (0 <= sum ys (fun y => card (image (rest j) (slice y Z)))); [| lra].
        apply sum_nonneg. intros y' I. pose proof (Slices y' j (or_intror I)). lra.
      * rewrite (Masks j J), E. apply slices_card; [apply NoDup_nodup | easy].
Qed.

(** The mask that selects dim i alone. *)
Definition only (n i : nat) : list bool := map (Nat.eqb i) (seq 0 n).

Lemma nth_only n i k : (k < n)%nat -> nth k (only n i) false = Nat.eqb i k.
Proof.
  intros L. unfold only. rewrite (nth_indep _ false (Nat.eqb i 0)) by (now rewrite map_length, seq_length).
  rewrite map_nth, seq_nth; easy.
Qed.

Lemma project_none b z : project (map (fun _ : nat => false) b) z = [].
Proof. revert z. induction b; intros [| x z]; simpl; auto. Qed.

Lemma project_only_from z s i : (s <= i)%nat ->
  project (map (Nat.eqb i) (seq s (length z))) z = if (i - s <? length z)%nat then [nth (i - s) z O] else [].
Proof.
  revert s. induction z as [| x z IH]; intros s L; [easy |]. simpl length. cbn [seq map project].
  destruct (Nat.eqb_spec i s) as [-> | N].
  - rewrite Nat.sub_diag. simpl.
    rewrite (map_ext_in _ (fun _ => false)), project_none; [easy |].
    intros k I. apply in_seq in I. apply Nat.eqb_neq. lia.
  - rewrite IH by lia. replace (i - s)%nat with (S (i - S s)) by lia. easy.
Qed.

Lemma project_only z i : (i < length z)%nat -> project (only (length z) i) z = [nth i z O].
Proof.
  intros L. unfold only. rewrite project_only_from by lia. rewrite Nat.sub_0_r.
  apply Nat.ltb_lt in L. now rewrite L.
Qed.

Lemma card_only n i N Z : (i < n)%nat -> (forall z, In z Z -> length z = n /\ (nth i z O < N)%nat) ->
  card (image (only n i) Z) <= INR N.
Proof.
  intros L H. apply le_INR.
  replace N with (length (map (fun x => [x]) (seq 0 N))) by (now rewrite map_length, seq_length).
  apply NoDup_incl_length; [apply NoDup_nodup |]. intros q I. apply nodup_In, in_map_iff in I.
  destruct I as (z & <- & I). destruct (H z I) as [<- B]. rewrite project_only by easy.
  apply in_map_iff. exists (nth i z O). split; [easy |]. apply in_seq. lia.
Qed.

Lemma sum_one_hot n k (f : nat -> R) : (k < n)%nat -> sum (seq 0 n) (fun i => if Nat.eqb i k then f i else 0) = f k.
Proof. intros L. pose proof (one_hot Sum n k f) as H. apply Nat.ltb_lt in L. rewrite L in H. exact H. Qed.

(** Points of a set in a box with extents N_i: the dual's ζ_i pays for dims that operands do not cover. *)
Theorem set_points n (Z : list (list nat)) (ops : list operand) (zeta : nat -> R) (extent : nat -> nat) :
  Z <> [] -> (forall z, In z Z -> length z = n /\ forall i, (i < n)%nat -> (nth i z O < extent i)%nat) ->
  (forall j, In j ops -> 0 <= fst j /\ length (snd j) = n) -> (forall i, (i < n)%nat -> 0 <= zeta i) ->
  (forall i, (i < n)%nat -> 1 <= cover ops i + zeta i) ->
  card Z <= product ops (fun j => Rpower (card (image (snd j) Z)) (fst j))
            * product (seq 0 n) (fun i => Rpower (INR (extent i)) (zeta i)).
Proof.
  intros NE LZ LO PZ C.
  pose proof (@finner n Z (ops ++ map (fun i => (zeta i, only n i)) (seq 0 n)) NE) as F.
  eapply Rle_trans; [apply F; clear F |].
  - intros z I. now apply LZ.
  - intros j J. apply in_app_or in J. destruct J as [J | J]; [now apply LO |]. apply in_map_iff in J.
    destruct J as (i & <- & J). apply in_seq in J. simpl. split; [apply PZ; lia |].
    unfold only. now rewrite map_length, seq_length.
  - intros k L. unfold cover. rewrite sum_app, sum_map.
    rewrite (sum_ext (seq 0 n) _ (fun i => if Nat.eqb i k then zeta i else 0)).
    + rewrite sum_one_hot by easy. now apply C.
    + intros i _. cbn [fst snd]. now rewrite nth_only.
  - unfold product at 1. rewrite big_app, big_map. apply Rmult_le_compat_l.
    + left. apply product_positive. intros. apply Rpower_positive.
    + apply product_le. intros i I. apply in_seq in I. split; [apply Rlt_le, Rpower_positive |]. cbn [fst snd].
      apply Rpower_le; [apply PZ; lia |]. split.
      * apply Rlt_le_trans with 1; [lra |]. apply card_at_least_one. unfold image. now destruct Z.
      * apply card_only; [lia |]. intros z J. destruct (LZ z J) as [L B]. split; [easy | apply B; lia].
Qed.

(** Every footprint fits in S words. *)
Corollary set_points_memory n (Z : list (list nat)) (ops : list operand) (zeta : nat -> R) (extent : nat -> nat) S :
  Z <> [] -> (forall z, In z Z -> length z = n /\ forall i, (i < n)%nat -> (nth i z O < extent i)%nat) ->
  (forall j, In j ops -> 0 <= fst j /\ length (snd j) = n) -> (forall i, (i < n)%nat -> 0 <= zeta i) ->
  (forall i, (i < n)%nat -> 1 <= cover ops i + zeta i) ->
  (forall j, In j ops -> card (image (snd j) Z) <= S) ->
  card Z <= Rpower S (sum ops fst) * product (seq 0 n) (fun i => Rpower (INR (extent i)) (zeta i)).
Proof.
  intros NE LZ LO PZ C F. eapply Rle_trans; [apply (@set_points n Z ops zeta extent); auto |].
  apply Rmult_le_compat_r; [left; apply product_positive; intros; apply Rpower_positive |].
  rewrite <- product_Rpower. apply product_le. intros j J. split; [apply Rlt_le, Rpower_positive |].
  apply Rpower_le; [now apply LO |]. split; [| now apply F].
  apply Rlt_le_trans with 1; [lra |]. apply card_at_least_one. unfold image. now destruct Z.
Qed.

(** ** From footprints to words *)

(** What a segment can compute that holds at most K words: U(K). *)
Theorem segment_points n Z (ops : list operand) zeta extent (w : operand -> R) K :
  Z <> [] -> (forall z, In z Z -> length z = n /\ forall i, (i < n)%nat -> (nth i z O < extent i)%nat) ->
  ops <> [] -> (forall j, In j ops -> 0 < fst j /\ 0 < w j /\ length (snd j) = n) ->
  (forall i, (i < n)%nat -> 0 <= zeta i) -> (forall i, (i < n)%nat -> 1 <= cover ops i + zeta i) ->
  sum ops (fun j => w j * card (image (snd j) Z)) <= K ->
  let sigma := sum ops fst in
  card Z <= product (seq 0 n) (fun i => Rpower (INR (extent i)) (zeta i))
            * (Rpower K sigma * product ops (fun j => Rpower (fst j / (sigma * w j)) (fst j))).
Proof.
  intros NE LZ ONE LO PZ C B sigma. eapply Rle_trans; [apply (@set_points n Z ops zeta extent); auto |].
  - intros j J. destruct (LO j J) as (P & _ & L). split; [lra | easy].
  - rewrite Rmult_comm. apply Rmult_le_compat_l; [left; apply product_positive; intros; apply Rpower_positive |].
    apply (@budget _ ops fst w); auto. intros j J. destruct (LO j J) as (P & W & _). repeat split; auto.
    apply Rlt_le_trans with 1; [lra |]. apply card_at_least_one. unfold image. now destruct Z.
Qed.

(** Segments are (points computed, words moved). *)
Theorem words_moved (segments : list (R * R)) (last : R * R) U T : 0 < U -> 0 <= T ->
  (forall g, In g (segments ++ [last]) -> fst g <= U /\ 0 <= snd g) -> (forall g, In g segments -> T <= snd g) ->
  T * (sum (segments ++ [last]) fst / U - 1) <= sum (segments ++ [last]) snd.
Proof.
  intros PU PT B Full.
  assert (P : sum (segments ++ [last]) fst <= INR (S (length segments)) * U).
  { rewrite S_INR. clear Full. induction segments as [| g l IH].
    - simpl app. rewrite sum_cons, sum_nil. destruct (B last); [now left |]. simpl. lra.
    - simpl app. rewrite sum_cons. destruct (B g); [now left |].
      assert (sum (l ++ [last]) fst <= (INR (length l) + 1) * U) by (apply IH; intros; apply B; now right).
      change (length (g :: l)) with (S (length l)). rewrite S_INR. lra. }
  assert (W : INR (length segments) * T <= sum (segments ++ [last]) snd).
  { clear P. induction segments as [| g l IH].
    - simpl app. rewrite sum_cons, sum_nil. destruct (B last); [now left |]. simpl. lra.
    - simpl app. rewrite sum_cons. pose proof (Full g (or_introl eq_refl)).
      assert (INR (length l) * T <= sum (l ++ [last]) snd)
        by (apply IH; intros; [apply B | apply Full]; now right).
      change (length (g :: l)) with (S (length l)). rewrite S_INR. lra. }
  rewrite S_INR in P. eapply Rle_trans; [| exact W].
  assert (sum (segments ++ [last]) fst / U <= INR (length segments) + 1).
  { apply Rmult_le_reg_r with U; [easy |]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
  nra.
Qed.

(** ** Matrix products *)

Definition matmul : list operand :=
  [(1 / 2, [true; true; false]); (1 / 2, [false; true; true]); (1 / 2, [true; false; true])].

(** A segment of C[i, k] += A[i, j] · B[j, k] that touches K elements of the three has at most (K/3)^(3/2) points. *)
Theorem matmul_points Z K : Z <> [] -> (forall z, In z Z -> length z = 3%nat) ->
  sum matmul (fun j => card (image (snd j) Z)) <= K -> card Z <= Rpower (K / 3) (3 / 2).
Proof.
  intros NE L B.
  assert (One : forall mask, 1 <= card (image mask Z)).
  { intros. apply card_at_least_one. unfold image. now destruct Z. }
  assert (Kpos : 0 < K).
  { eapply Rlt_le_trans; [| exact B]. unfold matmul. rewrite !sum_cons, sum_nil. cbn [snd].
    pose proof (One [true; true; false]). pose proof (One [false; true; true]).
    pose proof (One [true; false; true]). lra. }
  eapply Rle_trans; [apply (@finner 3 Z matmul NE L) |].
  - intros j J. unfold matmul in J. simpl in J.
    destruct J as [<- | [<- | [<- | []]]]; simpl; split; (lra || reflexivity).
  - intros i I. unfold cover, matmul. rewrite !sum_cons, sum_nil.
    destruct i as [| [| [| i]]]; [| | | lia]; simpl; lra.
  - eapply Rle_trans; [apply (@budget _ matmul fst (fun _ => 1) (fun j => card (image (snd j) Z)) K) |].
    + intros j J. pose proof (One (snd j)). unfold matmul in J. simpl in J.
      destruct J as [<- | [<- | [<- | []]]]; cbn [fst]; lra.
    + easy.
    + rewrite (sum_ext matmul _ (fun j => card (image (snd j) Z))) by (intros; ring). exact B.
    + right. cbn zeta.
      assert (E : sum matmul fst = 3 / 2) by (unfold matmul; rewrite !sum_cons, sum_nil; cbn [fst]; lra).
      rewrite E. unfold matmul. rewrite !product_cons, product_nil. cbn [fst].
      replace (1 / 2 / (3 / 2 * 1)) with (/ 3) by field.
      rewrite Rmult_1_r, <- !Rpower_plus. replace (1 / 2 + (1 / 2 + 1 / 2)) with (3 / 2) by field.
      apply Rpower_mult_distr; lra.
Qed.
