(** The k first of a sequence as a fold: sorted lists of at most k elements, merged and truncated.

    The order is a total preorder [leb] (ties allowed). [merge] takes the left element on ties, so it is stable.
    - [merge_assoc], [topk_assoc]: merging, truncated or not, is associative; [topk_empty_left], [topk_empty_right]: the
      empty list is the identity. So the lists of length ≤ k are a monoid ([TopK]).
    - [topk_tree], [topk_stream]: folding singletons in any bracketing gives the k first of the stable sort ([sort]),
      which is a sorted permutation of the elements ([sort_sorted], [sort_permutation]); what is left out is no better
      than what is kept ([topk_best]).
    - [merge_commutes], [topk_commutes], [topk_any_order]: if ties are broken (the order is antisymmetric, by position
      for instance) sorted lists may be merged in any order.
    - [by_value_then_position]: values in decreasing order, equal ones by position, is such an order: top-k of values
      with their positions. [topk_one]: with k = 1 it is arg-max, [best_tree]: which keeps only the better of two. *)
From Coq Require Import List Permutation Sorting.Sorted Bool Arith Lia Reals Lra.
From TangEgg.General Require Import Monoids.
Import ListNotations.
Set Implicit Arguments.
Open Scope nat_scope.

Section TopK.
  Variables (A : Type) (leb : A -> A -> bool).
  Hypothesis total : forall a b, leb a b = true \/ leb b a = true.
  Hypothesis trans : forall a b c, leb a b = true -> leb b c = true -> leb a c = true.

  Fixpoint merge (l : list A) : list A -> list A :=
    fix inner (r : list A) : list A :=
      match l, r with
      | [], _ => r
      | _, [] => l
      | a :: l', b :: r' => if leb a b then a :: merge l' r else b :: inner r'
      end.

  Arguments merge : simpl never.

  Lemma merge_nil_left r : merge [] r = r.
  Proof. now destruct r. Qed.

  Lemma merge_nil_right l : merge l [] = l.
  Proof. now destruct l. Qed.

  Lemma merge_cons a l b r :
    merge (a :: l) (b :: r) = if leb a b then a :: merge l (b :: r) else b :: merge (a :: l) r.
  Proof. easy. Qed.

  Lemma leb_flip a b : leb a b = false -> leb b a = true.
  Proof. intros H. destruct (total a b); [congruence | easy]. Qed.

  Theorem merge_assoc a b c : merge a (merge b c) = merge (merge a b) c.
  Proof.
    revert b c. induction a as [| x a IHa]; intros b c; [now rewrite !merge_nil_left |].
    revert c. induction b as [| y b IHb]; intros c; [now rewrite merge_nil_left, merge_nil_right |].
    induction c as [| z c IHc]; [now rewrite !merge_nil_right |].
    rewrite (merge_cons y b z c), (merge_cons x a y b).
    destruct (leb y z) eqn:YZ, (leb x y) eqn:XY; rewrite !merge_cons, ?XY, ?YZ.
    - rewrite (trans XY YZ). f_equal. rewrite <- IHa. now rewrite merge_cons, YZ.
    - f_equal. rewrite <- IHb. easy.
    - destruct (leb x z) eqn:XZ.
      + f_equal. rewrite <- IHa, merge_cons, YZ. easy.
      + f_equal. rewrite IHc, merge_cons, XY. easy.
    - assert (XZ : leb x z = false).
      { destruct (leb x z) eqn:XZ; [| easy]. rewrite (trans (leb_flip XY) XZ) in YZ. easy. }
      rewrite XZ. f_equal. rewrite IHc, merge_cons, XY. easy.
  Qed.

  Lemma merge_permutation l r : Permutation (merge l r) (l ++ r).
  Proof.
    revert r. induction l as [| a l IHl]; intros r; [now rewrite merge_nil_left |].
    induction r as [| b r IHr]; [now rewrite merge_nil_right, app_nil_r |].
    rewrite merge_cons. destruct (leb a b).
    - simpl. now apply perm_skip.
    - rewrite IHr. apply (Permutation_middle (a :: l) r b).
  Qed.

  Definition precedes (a b : A) : Prop := leb a b = true.
  Notation sorted := (StronglySorted precedes).

  Lemma merge_sorted l r : sorted l -> sorted r -> sorted (merge l r).
  Proof.
    revert r. induction l as [| a l IHl]; intros r Sl Sr; [now rewrite merge_nil_left |].
    induction r as [| b r IHr]; [now rewrite merge_nil_right |].
    pose proof Sl as Sl'. pose proof Sr as Sr'. apply StronglySorted_inv in Sl', Sr'.
    destruct Sl' as [Sl' Fl], Sr' as [Sr' Fr]. rewrite merge_cons. destruct (leb a b) eqn:E; constructor; auto.
    - eapply Permutation_Forall; [apply Permutation_sym, merge_permutation |].
      apply Forall_app. split; [easy |]. constructor; [easy |].
      eapply Forall_impl; [| exact Fr]. intros c. now apply trans.
    - eapply Permutation_Forall; [apply Permutation_sym, merge_permutation |].
      simpl. constructor; [now apply leb_flip |]. apply Forall_app. split; [| easy].
      eapply Forall_impl; [| exact Fl]. intros c. apply trans. now apply leb_flip.
  Qed.

  (** ** Truncation *)

  (** The k first of a merge need no more than the k first of each side. *)
  Lemma firstn_merge_left k j l r : k <= j -> firstn k (merge (firstn j l) r) = firstn k (merge l r).
  Proof.
    revert j l r. induction k as [| k IHk]; intros j l r H; [easy |].
    destruct j as [| j]; [lia |].
    destruct l as [| a l]; [easy |]. destruct r as [| b r].
    - rewrite !merge_nil_right. change (firstn (S k) (firstn (S j) (a :: l)) = firstn (S k) (a :: l)).
      rewrite firstn_firstn. f_equal. lia.
    - simpl firstn at 2. rewrite !merge_cons. destruct (leb a b); simpl; f_equal; [apply IHk; lia |].
      apply (IHk (S j) (a :: l) r). lia.
  Qed.

  Lemma firstn_merge_right k j l r : k <= j -> firstn k (merge l (firstn j r)) = firstn k (merge l r).
  Proof.
    revert j l r. induction k as [| k IHk]; intros j l r H; [easy |].
    destruct j as [| j]; [lia |].
    destruct r as [| b r]; [easy |]. destruct l as [| a l].
    - rewrite !merge_nil_left, firstn_firstn. f_equal. lia.
    - simpl firstn at 2. rewrite !merge_cons. destruct (leb a b); simpl; f_equal; [| apply IHk; lia].
      apply (IHk (S j) l (b :: r)). lia.
  Qed.

  Definition topk (k : nat) (l r : list A) : list A := firstn k (merge l r).

  Theorem topk_assoc k a b c : topk k a (topk k b c) = topk k (topk k a b) c.
  Proof. unfold topk. now rewrite firstn_merge_right, firstn_merge_left, merge_assoc. Qed.

  Theorem topk_empty_left k l : length l <= k -> topk k [] l = l.
  Proof. intros H. unfold topk. rewrite merge_nil_left. now apply firstn_all2. Qed.

  Theorem topk_empty_right k l : length l <= k -> topk k l [] = l.
  Proof. intros H. unfold topk. rewrite merge_nil_right. now apply firstn_all2. Qed.

  Lemma topk_length k l r : length (topk k l r) <= k.
  Proof. unfold topk. rewrite firstn_length. lia. Qed.

  (** ** Folds *)

  (** The stable sort: the fold of singletons without truncation. *)
  Definition sort (l : list A) : list A := fold_right (fun a r => merge [a] r) [] l.

  Lemma sort_app l r : sort (l ++ r) = merge (sort l) (sort r).
  Proof.
    induction l; [simpl; now rewrite merge_nil_left |].
    change (merge [a] (sort (l ++ r)) = merge (merge [a] (sort l)) (sort r)). now rewrite IHl, merge_assoc.
  Qed.

  Theorem sort_permutation l : Permutation (sort l) l.
  Proof.
    induction l; [easy |]. change (sort (a :: l)) with (merge [a] (sort l)).
    rewrite merge_permutation. simpl. now apply perm_skip.
  Qed.

  Theorem sort_sorted l : sorted (sort l).
  Proof.
    induction l; [constructor |]. apply merge_sorted; [| easy]. repeat constructor.
  Qed.

  (** A sorted list is its own sort: elements that are equal in the order keep their places. *)
  Theorem sort_stable l : sorted l -> sort l = l.
  Proof.
    induction 1 as [| a l _ IH F]; [easy |]. change (sort (a :: l)) with (merge [a] (sort l)). rewrite IH.
    destruct F as [| b l E F]; [easy |]. rewrite merge_cons, E. now rewrite merge_nil_left.
  Qed.

  (** Any bracketing of singletons, truncated at every step, gives the k first of the sort. *)
  Theorem topk_tree k t :
    tree_fold (topk k) [] (fun a => firstn k [a]) t = firstn k (sort (leaves t)).
  Proof.
    induction t; simpl leaves; simpl tree_fold.
    - now destruct k.
    - easy.
    - rewrite IHt1, IHt2, sort_app. unfold topk. rewrite firstn_merge_right, firstn_merge_left; easy.
  Qed.

  Corollary topk_stream k l :
    fold_left (fun s a => topk k s (firstn k [a])) l [] = firstn k (sort l).
  Proof. rewrite <- (fold_comb (topk k) [] (fun a => firstn k [a])), topk_tree, leaves_comb. easy. Qed.

  Lemma sorted_app l r a b : sorted (l ++ r) -> In a l -> In b r -> precedes a b.
  Proof.
    induction l as [| c l IH]; simpl; [easy |]. intros S [<- | I] J; apply StronglySorted_inv in S; destruct S as [S F].
    - rewrite Forall_forall in F. apply F, in_or_app. now right.
    - now apply IH.
  Qed.

  (** What is kept precedes what is left out, and together they are the elements. *)
  Theorem topk_best k l : exists rest,
    Permutation (firstn k (sort l) ++ rest) l /\
    (forall a b, In a (firstn k (sort l)) -> In b rest -> precedes a b) /\
    length (firstn k (sort l)) = Nat.min k (length l).
  Proof.
    exists (skipn k (sort l)). split; [| split].
    - rewrite firstn_skipn. apply sort_permutation.
    - intros a b. apply sorted_app. rewrite firstn_skipn. apply sort_sorted.
    - rewrite firstn_length. f_equal. apply Permutation_length, sort_permutation.
  Qed.

  (** ** Ties broken: any order of the elements *)

  Section Antisymmetric.
    Hypothesis antisym : forall a b, leb a b = true -> leb b a = true -> a = b.

    Lemma sorted_unique l r : sorted l -> sorted r -> Permutation l r -> l = r.
    Proof.
      revert r. induction l as [| a l IH]; intros r Sl Sr P; [now apply Permutation_nil in P |].
      destruct r as [| b r]; [now apply Permutation_sym, Permutation_nil in P |].
      assert (a = b) as <-.
      { pose proof (Permutation_in a P (or_introl eq_refl)) as [<- | I]; [easy |].
        pose proof (Permutation_in b (Permutation_sym P) (or_introl eq_refl)) as [-> | J]; [easy |].
        apply StronglySorted_inv in Sl, Sr. destruct Sl as [_ Fl], Sr as [_ Fr]. rewrite Forall_forall in Fl, Fr.
        apply antisym; [now apply Fl | now apply Fr]. }
      f_equal. apply IH.
      - now apply StronglySorted_inv in Sl.
      - now apply StronglySorted_inv in Sr.
      - now apply Permutation_cons_inv in P.
    Qed.

    Theorem merge_commutes l r : sorted l -> sorted r -> merge l r = merge r l.
    Proof.
      intros. apply sorted_unique; auto using merge_sorted. rewrite !merge_permutation. apply Permutation_app_comm.
    Qed.

    Theorem topk_commutes k l r : sorted l -> sorted r -> topk k l r = topk k r l.
    Proof. intros. unfold topk. now rewrite merge_commutes. Qed.

    Theorem topk_any_order k t l : Permutation (leaves t) l ->
      tree_fold (topk k) [] (fun a => firstn k [a]) t = firstn k (sort l).
    Proof.
      intros P. rewrite topk_tree. f_equal. apply sorted_unique; auto using sort_sorted.
      rewrite !sort_permutation. exact P.
    Qed.
  End Antisymmetric.

  (** ** The monoid of lists of at most k elements *)

  Program Definition TopK (k : nat) : monoid :=
    {| carrier := { l : list A | length l <= k }; op := fun l r => exist _ (topk k (proj1_sig l) (proj1_sig r)) _;
       neutral := exist _ [] _ |}.
  Next Obligation. apply topk_length. Qed.
  Next Obligation. lia. Qed.
  Next Obligation.
    apply eq_sig_hprop; [intros; apply le_unique |]. apply topk_assoc.
  Qed.
  Next Obligation. apply eq_sig_hprop; [intros; apply le_unique |]. now apply topk_empty_left. Qed.
  Next Obligation. apply eq_sig_hprop; [intros; apply le_unique |]. now apply topk_empty_right. Qed.

  (** k = 1: the first of the best. *)
  Theorem topk_one l : l <> [] -> exists a, firstn 1 (sort l) = [a] /\ In a l /\ forall b, In b l -> precedes a b.
  Proof.
    intros NE. pose proof (sort_permutation l) as P. pose proof (sort_sorted l) as S.
    destruct (sort l) as [| a r]; [now apply Permutation_nil in P |]. exists a. split; [easy |]. split.
    - eapply Permutation_in; [exact P | now left].
    - intros b I. apply (Permutation_in b (Permutation_sym P)) in I. destruct I as [<- | I].
      + destruct (total a a); easy.
      + apply StronglySorted_inv in S. destruct S as [_ F]. rewrite Forall_forall in F. now apply F.
  Qed.

  (** Keeping only the better of two, the left one on ties, is top-1: arg-max as a fold. *)
  Definition best (a b : option A) : option A :=
    match a, b with
    | None, _ => b
    | _, None => a
    | Some x, Some y => if leb x y then Some x else Some y
    end.

  Lemma head_merge l r : hd_error (merge l r) = best (hd_error l) (hd_error r).
  Proof.
    destruct l as [| a l]; [now rewrite merge_nil_left |]. destruct r as [| b r]; [easy |].
    rewrite merge_cons. simpl. now destruct (leb a b).
  Qed.

  Theorem best_tree t : tree_fold best None Some t = hd_error (sort (leaves t)).
  Proof.
    induction t; simpl; [easy | easy |]. now rewrite IHt1, IHt2, sort_app, head_merge.
  Qed.

  Theorem best_assoc a b c : best a (best b c) = best (best a b) c.
  Proof.
    destruct a as [a |], b as [b |], c as [c |]; simpl; try easy; [| now destruct (leb a b)].
    pose proof (head_merge [a] (merge [b] [c])) as H. rewrite merge_assoc, !head_merge in H. simpl in H. now rewrite H.
  Qed.
End TopK.

(** Larger values first, equal ones by position. *)
Definition by_value_then_position (a b : R * nat) : bool :=
  if Rlt_dec (fst b) (fst a) then true
  else if Rlt_dec (fst a) (fst b) then false else snd a <=? snd b.

Lemma by_value_then_position_true a b :
  by_value_then_position a b = true <-> (fst b < fst a)%R \/ (fst a = fst b /\ snd a <= snd b).
Proof.
  unfold by_value_then_position. destruct (Rlt_dec (fst b) (fst a)), (Rlt_dec (fst a) (fst b)).
  - lra.
  - split; auto.
  - split; [easy |]. intros [H | [H _]]; lra.
  - rewrite Nat.leb_le. split; [right; split; [lra | easy] | intros [H | H]; [lra | easy]].
Qed.

Theorem by_value_then_position_total a b :
  by_value_then_position a b = true \/ by_value_then_position b a = true.
Proof.
  rewrite !by_value_then_position_true. destruct (Rtotal_order (fst a) (fst b)) as [H | [H | H]]; auto.
  rewrite H. destruct (Nat.le_ge_cases (snd a) (snd b)); auto.
Qed.

Theorem by_value_then_position_trans a b c : by_value_then_position a b = true ->
  by_value_then_position b c = true -> by_value_then_position a c = true.
Proof.
  rewrite !by_value_then_position_true. intros [H | [H I]] [J | [J K]];
    [left; lra | left; lra | left; lra | right; split; [congruence | lia]].
Qed.

Theorem by_value_then_position_antisym a b :
  by_value_then_position a b = true -> by_value_then_position b a = true -> a = b.
Proof.
  rewrite !by_value_then_position_true. destruct a as [x i], b as [y j]. simpl.
  intros [H | [-> I]] [J | [J K]]; try lra. f_equal. lia.
Qed.

(** Top-k of values with positions, folded in any bracketing and any order. *)
Theorem topk_of_values k t l : Permutation (leaves t) l ->
  tree_fold (topk by_value_then_position k) [] (fun a => firstn k [a]) t
  = firstn k (sort by_value_then_position l).
Proof.
  apply topk_any_order; auto using by_value_then_position_total, by_value_then_position_antisym.
  exact by_value_then_position_trans.
Qed.
