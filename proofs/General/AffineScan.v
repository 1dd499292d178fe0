(** Scans in chunks: prefix folds, affine maps, recurrences, linear attention with decay.

    - [scan_prefix]: the running fold at position i is the fold of the first i + 1 elements; [scan_app], [scan_chunks]:
      a scan of concatenated chunks is the scan of each chunk with the fold of all earlier chunks put before it
      ([within] each chunk, an exclusive scan [across] the totals of chunks); [chunks_concat]: every list is its chunks
      of length b, the last one shorter.
    - [recurrence_chunks]: the same for any action of a monoid on states: the states inside a chunk are read out from
      the state at its start.
    - [Affine]: maps x ↦ A x + b, A from any monoid that acts additively on a commutative monoid of states, form a
      monoid under composition and act on states ([affine_act_op]); so a linear recurrence x' = A x + b is a scan and
      splits into chunks. Instances: real scalars ([affine_scalar]) and real n×n matrices ([affine_matrix]).
    - [linear_attention_recurrence], [linear_attention_chunk]: o_t = Σ_{s ≤ t} Σ_d q_t[d]·(Π_{s<r≤t} g_r[d])·k_s[d]·v_s
      (the kernel q·k with decay per feature; g constant in d is scalar decay, g = 1 plain linear attention) is the
      readout q_t · S_t of a recurrence S_t = g_t S_{t−1} + k_t v_t, and equals the sum within the chunk of t plus the
      decayed readout of the state carried into the chunk. *)
From Coq Require Import List Arith Lia Reals Lra.
Set Warnings "-ambiguous-paths".
From Coquelicot Require Import Coquelicot.
From TangEgg.General Require Import Monoids.
Import ListNotations.
Set Implicit Arguments.
Open Scope nat_scope.

(** ** Prefix folds *)

Section Scan.
  Variable M : monoid.

  Definition id_fold (l : list M) : M := big M l (fun a => a).

  Fixpoint scan_from (carried : M) (l : list M) : list M :=
    match l with [] => [] | a :: r => (carried ⊕ a) :: scan_from (carried ⊕ a) r end.

  (** The inclusive scan: one pass with a running fold. *)
  Definition scan (l : list M) : list M := scan_from neutral l.

  Lemma scan_from_length c l : length (scan_from c l) = length l.
  Proof. revert c. induction l; simpl; auto. Qed.

  Lemma scan_from_nth c l i d : i < length l -> nth i (scan_from c l) d = c ⊕ id_fold (firstn (S i) l).
  Proof.
    revert c i. induction l as [| a l IH]; intros c i H; [simpl in H; lia |].
    destruct i as [| i]; simpl.
    - unfold id_fold; simpl. now rewrite neutral_right.
    - rewrite IH by (simpl in H; lia). unfold id_fold. simpl. now rewrite op_assoc.
  Qed.

  Theorem scan_prefix l i d : i < length l -> nth i (scan l) d = id_fold (firstn (S i) l).
  Proof. intros H. unfold scan. rewrite scan_from_nth by easy. apply neutral_left. Qed.

  Lemma scan_from_scan c l : scan_from c l = map (fun a => c ⊕ a) (scan l).
  Proof.
    unfold scan. enough (H : forall c e, scan_from (c ⊕ e) l = map (fun a => c ⊕ a) (scan_from e l)).
    { rewrite <- H. now rewrite neutral_right. }
    induction l as [| a l IH]; intros c' e; [easy |]. simpl. rewrite <- op_assoc. f_equal. apply IH.
  Qed.

  Lemma scan_from_app c l r : scan_from c (l ++ r) = scan_from c l ++ scan_from (c ⊕ id_fold l) r.
  Proof.
    revert c. induction l as [| a l IH]; intros c; simpl.
    - unfold id_fold; simpl. now rewrite neutral_right.
    - f_equal. rewrite IH. unfold id_fold. simpl. now rewrite op_assoc.
  Qed.

  Theorem scan_app l r : scan (l ++ r) = scan l ++ map (fun a => id_fold l ⊕ a) (scan r).
  Proof. unfold scan at 1. rewrite scan_from_app, neutral_left, (scan_from_scan (id_fold l)). easy. Qed.

  (** The exclusive scan of the chunks' totals: what is carried into each chunk. *)
  Fixpoint across (carried : M) (chunks : list (list M)) : list M :=
    match chunks with [] => [] | c :: r => carried :: across (carried ⊕ id_fold c) r end.

  (** Scans within chunks, and what is carried into a chunk put before each element of its scan. *)
  Definition chunked (chunks : list (list M)) : list M :=
    concat (map (fun p => map (fun a => fst p ⊕ a) (scan (snd p))) (combine (across neutral chunks) chunks)).

  Theorem scan_chunks chunks : scan (concat chunks) = chunked chunks.
  Proof.
    unfold chunked, scan at 1. generalize (neutral : M). induction chunks as [| c chunks IH]; intros s; [easy |].
    simpl. rewrite scan_from_app, IH, scan_from_scan. easy.
  Qed.

  (** What is carried into chunk number i is the fold of everything before it. *)
  Theorem across_nth s chunks i d : i < length chunks ->
    nth i (across s chunks) d = s ⊕ id_fold (concat (firstn i chunks)).
  Proof.
    revert s i. induction chunks as [| c chunks IH]; intros s i H; [simpl in H; lia |].
    destruct i as [| i]; simpl.
    - unfold id_fold; simpl. now rewrite neutral_right.
    - rewrite IH by (simpl in H; lia). unfold id_fold. rewrite big_app. now rewrite op_assoc.
  Qed.
End Scan.

(** Chunks of length b; the last may be shorter. [fuel] bounds their number. *)
Fixpoint chunks_of {A} (fuel b : nat) (l : list A) : list (list A) :=
  match fuel, l with O, _ | _, [] => [] | S fuel, _ => firstn b l :: chunks_of fuel b (skipn b l) end.
Definition chunks {A} (b : nat) (l : list A) : list (list A) := chunks_of (length l) b l.

Lemma chunks_of_concat {A} fuel b (l : list A) : 0 < b -> length l <= fuel -> concat (chunks_of fuel b l) = l.
Proof.
  intros B. revert l. induction fuel as [| fuel IH]; intros l H.
  - destruct l; [easy | simpl in H; lia].
  - destruct l as [| a l]; [easy |]. cbn [chunks_of concat]. rewrite IH; [apply firstn_skipn |].
    rewrite skipn_length. cbn [length] in *. lia.
Qed.

Theorem chunks_concat {A} b (l : list A) : 0 < b -> concat (chunks b l) = l.
Proof. intros. now apply chunks_of_concat. Qed.

Theorem chunks_short {A} b (l c : list A) : In c (chunks b l) -> length c <= b.
Proof.
  unfold chunks. generalize (length l). intros fuel. revert l. induction fuel as [| fuel IH]; intros l; [easy |].
  destruct l as [| a l]; [easy |]. cbn [chunks_of]. intros [<- | I]; [rewrite firstn_length; lia | eauto].
Qed.

Corollary scan_in_chunks (M : monoid) b (l : list M) : 0 < b -> scan M l = chunked M (chunks b l).
Proof. intros H. rewrite <- scan_chunks, chunks_concat; easy. Qed.

(** ** Recurrences: a monoid that acts on states, the left factor first *)

Section Action.
  Variables (M : monoid) (S : Type) (act : M -> S -> S).
  Hypothesis act_neutral : forall s, act neutral s = s.
  Hypothesis act_op : forall a b s, act (a ⊕ b) s = act b (act a s).

  (** All states that a recurrence passes through. *)
  Fixpoint states (s : S) (l : list M) : list S :=
    match l with [] => [] | a :: r => act a s :: states (act a s) r end.

  Theorem states_scan s l : states s l = map (fun a => act a s) (scan M l).
  Proof.
    unfold scan. enough (H : forall c, states (act c s) l = map (fun a => act a s) (scan_from M c l)).
    { rewrite <- H. now rewrite act_neutral. }
    induction l as [| a l IH]; intros c; [easy |]. simpl. rewrite <- act_op. f_equal. apply IH.
  Qed.

  (** The state after a chunk comes from its total; no state inside it is needed. *)
  Fixpoint carried (s : S) (chunks : list (list M)) : list S :=
    match chunks with [] => [] | c :: r => s :: carried (act (id_fold M c) s) r end.

  Lemma states_app s l r : states s (l ++ r) = states s l ++ states (act (id_fold M l) s) r.
  Proof.
    revert s. induction l as [| a l IH]; intros s; simpl.
    - unfold id_fold. simpl. now rewrite act_neutral.
    - f_equal. rewrite IH. unfold id_fold. simpl. now rewrite act_op.
  Qed.

  (** Within chunks: scans of maps; across: states at their starts; readout: each map applied to its chunk's start. *)
  Theorem recurrence_chunks s chunks :
    states s (concat chunks)
    = concat (map (fun p => map (fun a => act a (fst p)) (scan M (snd p))) (combine (carried s chunks) chunks)).
  Proof.
    revert s. induction chunks as [| c chunks IH]; intros s; [easy |]. simpl. rewrite states_app, IH, states_scan. easy.
  Qed.

  Theorem last_state s l : fold_left (fun s a => act a s) l s = act (id_fold M l) s.
  Proof.
    revert s. induction l as [| a l IH]; intros s; simpl; [now rewrite act_neutral |].
    rewrite IH. unfold id_fold. simpl. now rewrite act_op.
  Qed.
End Action.

(** ** Affine maps *)

Section AffineMaps.
  (** Linear parts act on the states, an associative structure with 0; the left one acts first. *)
  Variables (L V : monoid) (linear : L -> V -> V).
  Hypothesis linear_neutral : forall v, linear neutral v = v.
  Hypothesis linear_op : forall a b v, linear (a ⊕ b) v = linear b (linear a v).
  Hypothesis linear_add : forall a v w, linear a (v ⊕ w) = linear a v ⊕ linear a w.
  Hypothesis linear_zero : forall a, linear a neutral = neutral.

  (** (A, b) is x ↦ A x + b. *)
  Program Definition Affine : monoid :=
    {| carrier := L * V;
       op := fun p q => (fst p ⊕ fst q, linear (fst q) (snd p) ⊕ snd q);
       neutral := (neutral, neutral) |}.
  Next Obligation. f_equal; [apply op_assoc |]. rewrite linear_op, linear_add. apply op_assoc. Qed.
  Next Obligation. now rewrite linear_zero, !neutral_left. Qed.
  Next Obligation. now rewrite linear_neutral, !neutral_right. Qed.

  Definition affine_act (p : Affine) (x : V) : V := linear (fst p) x ⊕ snd p.

  Lemma affine_act_neutral x : affine_act neutral x = x.
  Proof. unfold affine_act. simpl. now rewrite linear_neutral, neutral_right. Qed.

  Theorem affine_act_op p q x : affine_act (p ⊕ q) x = affine_act q (affine_act p x).
  Proof. unfold affine_act. simpl. now rewrite linear_op, linear_add, op_assoc. Qed.

  (** A linear recurrence x' = A x + b in chunks. *)
  Corollary affine_recurrence_chunks x chunks :
    states Affine affine_act x (concat chunks)
    = concat (map (fun p => map (fun a => affine_act a (fst p)) (scan Affine (snd p)))
        (combine (carried Affine affine_act x chunks) chunks)).
  Proof. apply recurrence_chunks; [apply affine_act_neutral | apply affine_act_op]. Qed.
End AffineMaps.

(** Real scalars: (a, b) then (a', b') is (a'·a, a'·b + b'). *)
Program Definition affine_scalar : monoid := @Affine Product Sum (fun a x => (x * a)%R) _ _ _ _.
Next Obligation. simpl. ring. Qed.
Next Obligation. simpl. ring. Qed.
Next Obligation. simpl. ring. Qed.
Next Obligation. simpl. ring. Qed.

Lemma affine_scalar_op (a b a' b' : R) :
  @op affine_scalar (a, b) (a', b') = ((a * a')%R, (b * a' + b')%R).
Proof. easy. Qed.

(** Real matrices, composed so that the left one acts first. *)
Program Definition Matrices (n : nat) : monoid :=
  {| carrier := @matrix R n n; op := fun a b => @Mmult R_Ring n n n b a; neutral := @Mone R_Ring n |}.
Next Obligation. symmetry. apply (@Mmult_assoc R_Ring). Qed.
Next Obligation. apply (@Mmult_one_r R_Ring). Qed.
Next Obligation. apply (@Mmult_one_l R_Ring). Qed.

Program Definition Columns (n m : nat) : monoid :=
  {| carrier := @matrix R n m; op := @Mplus R_AbelianGroup n m; neutral := @Mzero R_AbelianGroup n m |}.
Next Obligation. apply (@Mplus_assoc R_AbelianGroup). Qed.
Next Obligation. rewrite Mplus_comm. apply (@Mplus_zero_r R_AbelianGroup). Qed.
Next Obligation. apply (@Mplus_zero_r R_AbelianGroup). Qed.

Lemma Mmult_zero n m (a : @matrix R n n) :
  @Mmult R_Ring n n m a (@Mzero R_AbelianGroup n m) = @Mzero R_AbelianGroup n m.
Proof.
  unfold Mmult, Mzero. apply mk_matrix_ext. intros i j Hi Hj.
  rewrite (sum_n_ext_loc _ (fun _ => @zero R_Ring)).
  - rewrite sum_n_const. change (INR (S (pred n)) * 0 = 0)%R. ring.
  - intros k Hk. destruct n as [| n]; [lia |]. rewrite coeff_mat_bij by (simpl in *; lia). apply (@mult_zero_r R_Ring).
Qed.

(** x ↦ A x + b on n×m states (gated states, the delta rule: A = I − β k kᵀ, b = β k vᵀ). *)
Program Definition affine_matrix (n m : nat) : monoid :=
  @Affine (Matrices n) (Columns n m) (fun a x => @Mmult R_Ring n n m a x) _ _ _ _.
Next Obligation. apply (@Mmult_one_l R_Ring). Qed.
Next Obligation. symmetry. apply (@Mmult_assoc R_Ring). Qed.
Next Obligation. apply (@Mmult_distr_l R_Ring). Qed.
Next Obligation. apply Mmult_zero. Qed.

(** ** Linear attention with decay *)

Open Scope R_scope.

Section LinearAttention.
  Variable features : Type.
  Variable dims : list features.
  (** Queries, keys and decays at every position, per feature; one component of the values. *)
  Variables (q k g : nat -> features -> R) (v : nat -> R).

  (** Π g_r over s < r ≤ t. *)
  Fixpoint decay (s n : nat) (d : features) : R :=
    match n with O => 1 | S n => decay s n d * g (s + S n) d end.

  Lemma decay_app s m n d : decay s (m + n) d = decay s m d * decay (s + m) n d.
  Proof.
    induction n as [| n IH]; [rewrite Nat.add_0_r; simpl; ring |].
    rewrite Nat.add_succ_r. simpl. rewrite IH. replace (s + S (m + n))%nat with (s + m + S n)%nat by lia. ring.
  Qed.

  (** The state after position t, S_t = g_t S_{t−1} + k_t v_t, from nothing. *)
  Fixpoint state (t : nat) (d : features) : R :=
    match t with O => k 0 d * v 0 | S t' => g t d * state t' d + k t d * v t end.

  Definition kernel (t s : nat) : R := sum dims (fun d => q t d * decay s (t - s) d * k s d).

  (** The naive sum over all earlier positions. *)
  Definition attend (t : nat) : R := sum (seq 0 (S t)) (fun s => kernel t s * v s).

  Lemma state_sum t d : state t d = sum (seq 0 (S t)) (fun s => decay s (t - s) d * k s d * v s).
  Proof.
    induction t as [| t IH]; [cbn [seq]; rewrite sum_cons, sum_nil; simpl; ring |].
    rewrite seq_S, sum_app, sum_cons, sum_nil. change (0 + S t)%nat with (S t). rewrite Nat.sub_diag.
    cbn [state]. rewrite IH, <- sum_scale, (sum_ext (seq 0 (S t))
      (fun s => decay s (S t - s) d * k s d * v s) (fun s => g (S t) d * (decay s (t - s) d * k s d * v s))).
    - simpl decay. ring.
    - intros s I. apply in_seq in I. replace (S t - s)%nat with (S (t - s)) by lia. simpl.
      replace (s + S (t - s))%nat with (S t) by lia. ring.
  Qed.

  (** The naive sum is the readout of the recurrence. *)
  Theorem linear_attention_recurrence t : attend t = sum dims (fun d => q t d * state t d).
  Proof.
    unfold attend, kernel. rewrite (sum_ext dims _ (fun d =>
      sum (seq 0 (S t)) (fun s => q t d * decay s (t - s) d * k s d * v s))).
    2:{ intros. rewrite state_sum, <- sum_scale. apply sum_ext. intros. ring. }
    rewrite <- sum_interchange. apply sum_ext. intros. now rewrite <- sum_scale_right.
  Qed.

  Lemma state_after c n d :
    state (c + n) d = decay c n d * state c d + sum (seq (S c) n) (fun s => decay s (c + n - s) d * k s d * v s).
  Proof.
    rewrite (state_sum (c + n)). replace (S (c + n)) with (S c + n)%nat by lia. rewrite seq_app, sum_app. f_equal.
    rewrite state_sum, <- sum_scale. apply sum_ext. intros s I. apply in_seq in I.
    replace (c + n - s)%nat with ((c - s) + n)%nat by lia. rewrite decay_app.
    replace (s + (c - s))%nat with c by lia. ring.
  Qed.

  (** Position t = c + n, where the state after position c was carried into the chunk: readout and sum within. *)
  Theorem linear_attention_chunk c n :
    attend (c + n)
    = sum dims (fun d => q (c + n) d * decay c n d * state c d)
      + sum (seq (S c) n) (fun s => kernel (c + n) s * v s).
  Proof.
    rewrite linear_attention_recurrence.
    rewrite (sum_ext dims _ (fun d => q (c + n) d * decay c n d * state c d
      + sum (seq (S c) n) (fun s => q (c + n)%nat d * decay s (c + n - s) d * k s d * v s))).
    2:{ intros. rewrite state_after, Rmult_plus_distr_l, <- sum_scale. f_equal; [ring |].
        apply sum_ext. intros. ring. }
    rewrite sum_plus. f_equal. rewrite <- sum_interchange. apply sum_ext. intros. unfold kernel.
    now rewrite <- sum_scale_right.
  Qed.

  (** The carried state moves from chunk to chunk with the chunk's total decay and its own sum. *)
  Corollary linear_attention_carry c n d :
    state (c + n) d = decay c n d * state c d + sum (seq (S c) n) (fun s => decay s (c + n - s) d * k s d * v s).
  Proof. apply state_after. Qed.
End LinearAttention.
