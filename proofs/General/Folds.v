(** Folds over finite ranges under any monoid: splitting, exchanging, hoisting, guarding, sharding, selecting.

    [fold M n f] is f 0 ⊕ … ⊕ f (n − 1). Commutativity is asked for only where the order of points changes.
    - [split_blocks], [split_merged], [split_strided], [split_ragged], [split_domain], [split_classes]: a fold in blocks
      (n = a·b), two nested folds as one, strided blocks, blocks of which the last is guarded, a partition by a
      condition or by a key.
    - [interchange], [reindexed], [reversed].
    - [hoist]: what distributes over ⊕ moves out of the fold: a factor of a sum in any semiring ([hoist_factor]), a term
      of a maximum ([hoist_max]), a factor c ≥ 0 of a maximum ([hoist_max_scaled]), exp of a sum ([hoist_exp]);
      products of numbers that are split in a high and a low part ([hoist_split]).
    - [shard], [shard_any]: local folds and the same monoid across ranks. [siblings]: two folds are one under the
      product.
    - [narrow]: a domain inside a range needs only that range; [dead], [full]; [one_hot]: Σ_j [j = c] f(j) = f(c);
      [gated]: a sum over experts gated by equality is a gather; [segments]: a sum gated by a sorted key is a sum over a
      contiguous range between two offsets, [segments_disjoint]: and the ranges cover everything once. *)
From Coq Require Import List Permutation Bool Arith Lia Reals Lra.
From TangEgg.General Require Import Monoids.
Import ListNotations.
Set Implicit Arguments.
Open Scope nat_scope.

Definition fold (M : monoid) (n : nat) (f : nat -> M) : M := big M (seq 0 n) f.

Lemma fold_zero (M : monoid) (f : nat -> M) : fold M 0 f = neutral.
Proof. easy. Qed.

Lemma fold_one (M : monoid) (f : nat -> M) : fold M 1 f = f 0.
Proof. apply big_single. Qed.

Lemma seq_shift_by s n : seq s n = map (fun j => s + j) (seq 0 n).
Proof.
  revert s. induction n as [| n IH]; intros s; [easy |]. simpl. f_equal; [lia |].
  rewrite (IH (S s)), (IH 1), map_map. apply map_ext. intros. lia.
Qed.

Lemma big_seq (M : monoid) s n (f : nat -> M) : big M (seq s n) f = fold M n (fun j => f (s + j)).
Proof. rewrite seq_shift_by, big_map. easy. Qed.

Lemma fold_succ (M : monoid) n (f : nat -> M) : fold M (S n) f = fold M n f ⊕ f n.
Proof. unfold fold. rewrite seq_S, big_app, big_single. easy. Qed.

Lemma fold_ext (M : monoid) n (f g : nat -> M) : (forall j, j < n -> f j = g j) -> fold M n f = fold M n g.
Proof. intros H. apply big_ext. intros j I. apply in_seq in I. apply H. lia. Qed.

Lemma fold_neutral (M : monoid) n : fold M n (fun _ => neutral) = neutral.
Proof. apply big_neutral. Qed.

(** ** Splitting *)

Theorem split_at (M : monoid) a b (f : nat -> M) : fold M (a + b) f = fold M a f ⊕ fold M b (fun j => f (a + j)).
Proof. unfold fold at 1. rewrite seq_app, big_app, (big_seq M (0 + a)). easy. Qed.

Theorem split_blocks (M : monoid) a b (f : nat -> M) :
  fold M (a * b) f = fold M a (fun i => fold M b (fun j => f (i * b + j))).
Proof.
  induction a as [| a IH]; [easy |]. rewrite fold_succ, <- IH. replace (S a * b) with (a * b + b) by lia.
  apply split_at.
Qed.

(** Nested folds are one fold over merged indices. *)
Theorem split_merged (M : monoid) a b (f : nat -> nat -> M) :
  fold M a (fun i => fold M b (f i)) = fold M (a * b) (fun k => f (k / b) (k mod b)).
Proof.
  rewrite split_blocks. apply fold_ext. intros i _. apply fold_ext. intros j H.
  rewrite Nat.div_add_l, Nat.div_small, Nat.add_0_r by lia.
  rewrite Nat.add_comm, Nat.mod_add, Nat.mod_small by lia. easy.
Qed.

(** Blocks that do not divide the range: the points past its end are guarded. *)
Theorem split_ragged (M : monoid) n a b (f : nat -> M) : n <= a * b ->
  fold M n f = fold M a (fun i => fold M b (fun j => if i * b + j <? n then f (i * b + j) else neutral)).
Proof.
  intros H. rewrite <- (split_blocks M a b (fun k => if k <? n then f k else neutral)).
  replace (a * b) with (n + (a * b - n)) by lia. rewrite split_at.
  rewrite (@fold_ext M (a * b - n) _ (fun _ => neutral)), fold_neutral, neutral_right.
  - apply fold_ext. intros j L. apply Nat.ltb_lt in L. now rewrite L.
  - intros j _. replace (n + j <? n) with false; [easy |]. symmetry. apply Nat.ltb_ge. lia.
Qed.

Theorem split_ceiling (M : monoid) n b (f : nat -> M) : 0 < b ->
  fold M n f
  = fold M ((n + b - 1) / b) (fun i => fold M b (fun j => if i * b + j <? n then f (i * b + j) else neutral)).
Proof.
  intros H. apply split_ragged. pose proof (Nat.div_mod (n + b - 1) b). pose proof (Nat.mod_upper_bound (n + b - 1) b).
  nia.
Qed.

Section Commutative.
  Variable M : monoid.
  Hypothesis comm : commutative M.

  Theorem interchange a b (f : nat -> nat -> M) :
    fold M a (fun i => fold M b (f i)) = fold M b (fun j => fold M a (fun i => f i j)).
  Proof. apply (big_interchange comm). Qed.

  (** Point j of block i is j·a + i: neighbours belong to different blocks. *)
  Theorem split_strided a b (f : nat -> M) :
    fold M (b * a) f = fold M a (fun i => fold M b (fun j => f (j * a + i))).
  Proof. rewrite split_blocks. apply interchange. Qed.

  Theorem reindexed n (h : nat -> nat) (f : nat -> M) :
    Permutation (map h (seq 0 n)) (seq 0 n) -> fold M n (fun j => f (h j)) = fold M n f.
  Proof. intros P. unfold fold. rewrite <- big_map. now apply big_perm. Qed.

  Lemma seq_reversed n : rev (seq 0 n) = map (fun j => n - 1 - j) (seq 0 n).
  Proof.
    induction n as [| n IH]; [easy |]. rewrite seq_S at 1. rewrite rev_app_distr. simpl. f_equal; [lia |].
    rewrite IH, <- seq_shift, map_map. apply map_ext. intros. lia.
  Qed.

  Theorem reversed n (f : nat -> M) : fold M n (fun j => f (n - 1 - j)) = fold M n f.
  Proof. apply reindexed. rewrite <- seq_reversed. symmetry. apply Permutation_rev. Qed.

  (** A condition splits the domain in two. *)
  Theorem split_domain {A} (p : A -> bool) l (f : A -> M) :
    big M l f = big M (filter p l) f ⊕ big M (filter (fun x => negb (p x)) l) f.
  Proof.
    rewrite !big_filter, <- (big_op comm). apply big_ext. intros x _.
    destruct (p x); simpl; now rewrite ?neutral_left, ?neutral_right.
  Qed.

  (** A key splits the domain in classes. *)
  Theorem split_classes {A} (key : A -> nat) n l (f : A -> M) : (forall x, In x l -> key x < n) ->
    big M l f = fold M n (fun c => big M (filter (fun x => key x =? c) l) f).
  Proof.
    revert l. induction n as [| n IH]; intros l H.
    - destruct l as [| x l]; [easy |]. pose proof (H x (or_introl eq_refl)). lia.
    - rewrite fold_succ, (split_domain (fun x => key x <? n)), IH.
      + f_equal.
        * apply fold_ext. intros c L. rewrite !big_filter. apply big_ext. intros x _.
          destruct (Nat.eqb_spec (key x) c), (Nat.ltb_spec (key x) n); try easy; lia.
        * rewrite !big_filter. apply big_ext. intros x I. specialize (H x I).
          destruct (Nat.eqb_spec (key x) n), (Nat.ltb_spec (key x) n); try easy; lia.
      + intros x I. apply filter_In in I. now apply Nat.ltb_lt.
  Qed.

  (** ** Sharding: any distribution of the points over ranks *)
  Theorem shard_any {A} (shards : list (list A)) l (f : A -> M) : Permutation (concat shards) l ->
    big M shards (fun shard => big M shard f) = big M l f.
  Proof. intros P. rewrite <- big_concat. now apply big_perm. Qed.
End Commutative.

(** Contiguous shards need no commutativity, only ranks in order. *)
Theorem shard (M : monoid) {A} (shards : list (list A)) (f : A -> M) :
  big M (concat shards) f = big M shards (fun shard => big M shard f).
Proof. apply big_concat. Qed.

(** Every tree of exchanges across ranks gives the same value. *)
Theorem shard_tree (M : monoid) {A} (t : tree (list A)) (f : A -> M) :
  tree_fold op neutral (fun shard => big M shard f) t = big M (concat (leaves t)) f.
Proof. now rewrite tree_fold_big, big_concat. Qed.

(** ** Siblings *)

Theorem siblings (M N : monoid) {A} l (f : A -> M) (g : A -> N) :
  big (both M N) l (fun x => (f x, g x) : both M N) = (big M l f, big N l g).
Proof. induction l; simpl; [easy | now rewrite IHl]. Qed.

(** ** Hoisting *)

(** Whatever respects ⊕ and the neutral element commutes with the fold. *)
Theorem hoist (M N : monoid) (h : M -> N) {A} l (f : A -> M) :
  h neutral = neutral -> (forall a b, h (a ⊕ b) = h a ⊕ h b) -> big N l (fun x => h (f x)) = h (big M l f).
Proof. intros Z P. induction l; simpl; [easy | now rewrite IHl, P]. Qed.

Section Semiring.
  Variable M : monoid.
  Variable times : M -> M -> M.
  Hypothesis distributes_left : forall c a b, times c (a ⊕ b) = times c a ⊕ times c b.
  Hypothesis distributes_right : forall c a b, times (a ⊕ b) c = times a c ⊕ times b c.
  Hypothesis absorbs_left : forall c, times c neutral = neutral.
  Hypothesis absorbs_right : forall c, times neutral c = neutral.

  Theorem hoist_factor {A} c l (f : A -> M) : big M l (fun x => times c (f x)) = times c (big M l f).
  Proof. now apply (hoist M M (times c)). Qed.

  Theorem hoist_factor_right {A} c l (f : A -> M) : big M l (fun x => times (f x) c) = times (big M l f) c.
  Proof. now apply (hoist M M (fun a => times a c)). Qed.

  (** A product of folds is a fold over pairs: contraction of a rank-one body. *)
  Theorem hoist_product {A B} l l' (f : A -> M) (g : B -> M) :
    big M l (fun x => big M l' (fun y => times (f x) (g y))) = times (big M l f) (big M l' g).
  Proof.
    rewrite <- hoist_factor_right. apply big_ext. intros x _. apply hoist_factor.
  Qed.
End Semiring.

Open Scope R_scope.

Theorem hoist_sum {A} c l (f : A -> R) : sum l (fun x => c * f x) = c * sum l f.
Proof. apply sum_scale. Qed.

Theorem hoist_exp {A} l (f : A -> R) : big Product l (fun x => exp (f x)) = exp (sum l f).
Proof. apply (hoist Sum Product exp); [apply exp_0 | intros; apply exp_plus]. Qed.

(** A product of split numbers (hi + lo) is the four products of the parts; each may have a fold of its own. *)
Theorem hoist_split {A} l (h r h' r' : A -> R) :
  sum l (fun x => (h x + r x) * (h' x + r' x))
  = sum l (fun x => h x * h' x) + sum l (fun x => h x * r' x) + sum l (fun x => r x * h' x)
    + sum l (fun x => r x * r' x).
Proof. rewrite <- !sum_plus. apply sum_ext. intros. ring. Qed.

(** Maxima; none is −inf, and c + (−inf) = −inf. *)
Theorem hoist_max {A} c l (f : A -> option R) :
  big Max l (fun x => option_map (Rplus c) (f x) : Max) = option_map (Rplus c) (big Max l f).
Proof.
  apply (hoist Max Max (option_map (Rplus c))); [easy |]. intros [a |] [b |]; simpl; try easy.
  f_equal. unfold Rmax. repeat destruct Rle_dec; lra.
Qed.

Theorem hoist_max_scaled {A} c l (f : A -> option R) : 0 <= c ->
  big Max l (fun x => option_map (Rmult c) (f x) : Max) = option_map (Rmult c) (big Max l f).
Proof.
  intros H. apply (hoist Max Max (option_map (Rmult c))); [easy |]. intros [a |] [b |]; simpl; try easy.
  f_equal. now rewrite RmaxRmult.
Qed.

(** More generally, any increasing function moves out of a maximum. *)
Theorem hoist_max_increasing {A} (h : R -> R) l (f : A -> option R) : (forall a b, a <= b -> h a <= h b) ->
  big Max l (fun x => option_map h (f x) : Max) = option_map h (big Max l f).
Proof.
  intros H. apply (hoist Max Max (option_map h)); [easy |]. intros [a |] [b |]; simpl; try easy.
  f_equal. unfold Rmax. destruct (Rle_dec a b) as [L | L]; destruct Rle_dec as [K | K]; try easy.
  - now apply H in L.
  - apply Rle_antisym; [easy | apply H; lra].
Qed.

Open Scope nat_scope.

(** ** Domains *)

(** A domain that lies in [lo, hi) needs only that range. *)
Theorem narrow (M : monoid) n (p : nat -> bool) (f : nat -> M) lo hi :
  (forall j, j < n -> p j = true -> lo <= j < hi) -> lo <= hi <= n ->
  fold M n (fun j => if p j then f j else neutral)
  = fold M (hi - lo) (fun j => if p (lo + j) then f (lo + j) else neutral).
Proof.
  intros H B. replace n with (lo + ((hi - lo) + (n - hi))) at 1 by lia. rewrite !split_at.
  rewrite (@fold_ext M lo _ (fun _ => neutral)), fold_neutral, neutral_left.
  - rewrite (@fold_ext M (n - hi) _ (fun _ => neutral)), fold_neutral, neutral_right; [easy |].
    intros j L. destruct (p (lo + (hi - lo + j))) eqn:E; [| easy]. apply H in E; lia.
  - intros j L. destruct (p j) eqn:E; [| easy]. apply H in E; lia.
Qed.

Theorem narrow_full (M : monoid) n (p : nat -> bool) (f : nat -> M) lo hi :
  (forall j, j < n -> p j = true <-> lo <= j < hi) -> lo <= hi <= n ->
  fold M n (fun j => if p j then f j else neutral) = fold M (hi - lo) (fun j => f (lo + j)).
Proof.
  intros H B. rewrite (narrow M p f (lo := lo) (hi := hi)); [| intros; now apply H | easy].
  apply fold_ext. intros j L. destruct (p (lo + j)) eqn:E; [easy |].
  assert (p (lo + j) = true) by (apply H; lia). congruence.
Qed.

Theorem dead (M : monoid) n (p : nat -> bool) (f : nat -> M) : (forall j, j < n -> p j = false) ->
  fold M n (fun j => if p j then f j else neutral) = neutral.
Proof. intros H. rewrite (@fold_ext M n _ (fun _ => neutral)); [apply fold_neutral | intros; now rewrite H]. Qed.

Theorem full (M : monoid) n (p : nat -> bool) (f : nat -> M) : (forall j, j < n -> p j = true) ->
  fold M n (fun j => if p j then f j else neutral) = fold M n f.
Proof. intros H. apply fold_ext. intros j L. now rewrite H. Qed.

(** A fold in the middle of which one point is live. *)
Theorem one_hot (M : monoid) n c (f : nat -> M) :
  fold M n (fun j => if j =? c then f j else neutral) = if c <? n then f c else neutral.
Proof.
  destruct (Nat.ltb_spec c n) as [L | L].
  - rewrite (narrow_full M (fun j => j =? c) f (lo := c) (hi := S c)).
    + replace (S c - c) with 1 by lia. rewrite fold_one. f_equal. lia.
    + intros. rewrite Nat.eqb_eq. lia.
    + lia.
  - apply dead. intros j H. apply Nat.eqb_neq. lia.
Qed.

(** A sum over all experts gated by equality with a chosen one reads that one. *)
Theorem gated (M : monoid) {A} (choice : A -> nat) n x (f : nat -> A -> M) : choice x < n ->
  fold M n (fun e => if e =? choice x then f e x else neutral) = f (choice x) x.
Proof. intros H. rewrite (one_hot M n (choice x) (fun e => f e x)). apply Nat.ltb_lt in H. now rewrite H. Qed.

(** ** Segments of a sorted key *)

(** How many points come before a class. *)
Definition offset (key : nat -> nat) (n c : nat) : nat := length (filter (fun j => key j <? c) (seq 0 n)).

Lemma filter_short {A} (p : A -> bool) l : length (filter p l) <= length l.
Proof. induction l; simpl; [easy |]. destruct (p a); simpl; lia. Qed.

Lemma prefix_predicate (p : nat -> bool) n :
  (forall i j, i <= j < n -> p j = true -> p i = true) ->
  forall j, j < n -> p j = (j <? length (filter p (seq 0 n))).
Proof.
  induction n as [| n IH]; intros H j L; [lia |].
  assert (B : length (filter p (seq 0 n)) <= n).
  { rewrite <- (seq_length n 0) at 2. apply filter_short. }
  assert (K : forall j, j < n -> p j = (j <? length (filter p (seq 0 n)))).
  { apply IH. intros. apply H with j0; auto; lia. }
  rewrite seq_S, filter_app, app_length. simpl. destruct (p n) eqn:E; simpl.
  - assert (length (filter p (seq 0 n)) = n) as ->.
    { destruct n as [| n]; [easy |]. specialize (K n). rewrite (H n (S n)) in K by (auto; lia).
      symmetry in K. rewrite Nat.ltb_lt in K by lia. lia. }
    rewrite (H j n) by (auto; lia). symmetry. apply Nat.ltb_lt. lia.
  - rewrite Nat.add_0_r. destruct (Nat.eq_dec j n) as [-> | N]; [| apply K; lia].
    rewrite E. symmetry. apply Nat.ltb_ge. lia.
Qed.

Section Segments.
  Variables (key : nat -> nat) (n : nat).
  Hypothesis sorted : forall i j, i <= j < n -> key i <= key j.

  Lemma offset_spec c j : j < n -> (key j < c <-> j < offset key n c).
  Proof.
    intros L. rewrite <- !Nat.ltb_lt. unfold offset.
    rewrite <- (prefix_predicate (fun j => key j <? c)); [easy | | easy].
    intros i k H E. apply Nat.ltb_lt in E. apply Nat.ltb_lt. pose proof (sorted H). lia.
  Qed.

  Lemma offset_bound c : offset key n c <= n.
  Proof. unfold offset. rewrite <- (seq_length n 0) at 2. apply filter_short. Qed.

  Lemma offset_monotone c d : c <= d -> offset key n c <= offset key n d.
  Proof.
    intros H. destruct (Nat.le_gt_cases (offset key n c) (offset key n d)) as [L | L]; [easy |].
    pose proof (offset_bound c). set (j := offset key n d) in *.
    assert (K : j < offset key n c) by easy. apply offset_spec in K; [| lia].
    assert (K' : j < offset key n d) by (apply offset_spec; lia). unfold j in K'. lia.
  Qed.

  (** The class of c is the contiguous range between two offsets. *)
  Theorem segments (M : monoid) c (f : nat -> M) :
    fold M n (fun j => if key j =? c then f j else neutral)
    = fold M (offset key n (S c) - offset key n c) (fun j => f (offset key n c + j)).
  Proof.
    apply narrow_full.
    - intros j L. rewrite Nat.eqb_eq. pose proof (offset_spec c L). pose proof (offset_spec (S c) L). lia.
    - split; [apply offset_monotone; lia | apply offset_bound].
  Qed.

  (** The ranges cover every point once, in order: no commutativity is needed. *)
  Theorem segments_disjoint (M : monoid) k (f : nat -> M) : (forall j, j < n -> key j < k) ->
    fold M n f
    = fold M k (fun c => fold M (offset key n (S c) - offset key n c) (fun j => f (offset key n c + j))).
  Proof.
    intros H.
    assert (G : forall k, fold M (offset key n k) f
      = fold M k (fun c => fold M (offset key n (S c) - offset key n c) (fun j => f (offset key n c + j)))).
    { clear k H. induction k as [| k IH].
      - replace (offset key n 0) with 0; [easy |]. unfold offset.
        induction (seq 0 n); [easy | now simpl].
      - rewrite fold_succ, <- IH, <- split_at. f_equal. pose proof (@offset_monotone k (S k)). lia. }
    rewrite <- G. f_equal. pose proof (offset_bound k).
    destruct (Nat.eq_dec n 0) as [-> | N]; [lia |].
    assert (n - 1 < offset key n k) by (apply offset_spec; [lia | apply H; lia]). lia.
  Qed.
End Segments.
