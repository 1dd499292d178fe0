(** Statistics and followers of the kinds that programs have, as instances of carriers.

    - [moments_one_pass]: Σ w·(x − mean)^n for every n and every weight w, in one pass over count and sum.
    - [carrier_exp_combination]: exp (g − h) where h is an affine combination of two statistics of the pass.
    - [outer_max_one_pass]: followers need not be sums: a maximum of x − h follows h. *)
From Coq Require Import List Morphisms Setoid Bool Reals Lra.
From TangEgg.General Require Import Monoids Cascade Carriers.
Import ListNotations.
Set Implicit Arguments.
Open Scope R_scope.

(** The mean of a state (count, sum). *)
Definition mean (m : both Count Sum) : R := snd m / INR (fst m).

Definition difference (m n : R) : R := m - n.

(** x − mean with its count: the carrier of every central moment. *)
Theorem carrier_centred {X} (x : X -> R) :
  carrier [true; false] (fun k m e => if k then x e - m else 1) (shift difference).
Proof.
  intros k m n e _. rewrite !sum_cons, sum_nil. unfold shift, difference. destruct k; ring.
Qed.

Theorem composes_centred : composes [true; false] (shift difference).
Proof. apply composes_affine; intros; unfold difference; ring. Qed.

(** Sums of w·(x − mean)^n in one pass over (count, sum), for every n and every weight. *)
Theorem moments_one_pass {X} (x w : X -> R) n t :
  let F ks m e := power_of (fun (k : bool) m e => if k then x e - m else 1) ks m e * w e in
  let keys := power_keys [true; false] n in
  let live (m : both Count Sum) := negb (Nat.eqb (fst m) 0) in
  let s := tree_fold
    (pass_join keys live mean (power_shift (shift difference)))
    pass_empty
    (pass_lift live mean F (fun e => (1%nat, x e) : both Count Sum) (fun _ => true)) t in
  leaves t <> [] ->
  snd s (repeat true n) = sum (leaves t) (fun e => (x e - sum (leaves t) x / INR (length (leaves t))) ^ n * w e).
Proof.
  intros F keys live s NE.
  assert (All : filter (fun _ => true) (leaves t) = leaves t).
  { induction (leaves t); simpl; [easy | f_equal; destruct l; [easy | now apply IHl]]. }
  assert (Stat : big (both Count Sum) (leaves t) (fun e => (1%nat, x e) : both Count Sum)
                 = (length (leaves t), sum (leaves t) x)).
  { clear. induction (leaves t); [easy |]. simpl. rewrite IHl. easy. }
  assert (Carried : carrier keys F (power_shift (shift difference))).
  { apply (carrier_factor (g := fun _ e => w e)); [apply carrier_power, carrier_centred | easy]. }
  edestruct (@linear_one_pass _ keys (both Count Sum) live) with (value := mean) (keep := fun _ : X => true) (t := t)
    (stat := fun e => (1%nat, x e) : both Count Sum) as [_ H]; [| | exact Carried | | ].
  - intros [[| a] u] [b v]; easy.
  - intros [a u] [[| b] v]; simpl; [easy |]. now rewrite PeanoNat.Nat.add_succ_r.
  - easy.
  - fold s in H. rewrite All, Stat in H. rewrite H.
    + unfold live. simpl. destruct (leaves t) eqn:E; [easy |]. simpl. apply sum_ext. intros e _. unfold F, mean. simpl.
      f_equal. clear. induction n; simpl; [easy | now rewrite IHn].
    + apply repeat_in_power. now left.
Qed.

(** exp (g − h) where h is an affine combination c₀ + c₁·m₁ + c₂·m₂ of two statistics of the pass. *)
Theorem carrier_exp_combination {M N : monoid} {X} (m1 : M -> R) (m2 : N -> R) c0 c1 c2 (g : X -> R) :
  let h (m : both M N) := c0 + c1 * m1 (fst m) + c2 * m2 (snd m) in
  carrier [tt] (fun _ m x => exp (g x - h m)) (fun m n _ _ => exp (h m - h n)).
Proof.
  intros h. apply (carrier_of_value h (F := fun _ s x => exp (g x - s)) (T := fun s s' _ _ => exp (s - s'))).
  apply (carrier_exp (f := fun s x => g x - s)). intros m n x. ring.
Qed.

(** A follower under the maximum: max (x − h), moved by the shift of h, where h is any meaningful statistic. *)
Section OuterMax.
  Variable M : monoid.
  Variable live : M -> bool.
  Hypothesis live_left : forall a b, live a = true -> live (a ⊕ b) = true.
  Hypothesis live_right : forall a b, live b = true -> live (a ⊕ b) = true.
  Variables (X : Type) (h : M -> R) (stat : X -> M) (x : X -> option R) (keep : X -> bool).
  Hypothesis dead : forall e, live (stat e) = false -> x e = None.

  Definition shifted (m n : M) (o : Max) : Max := option_map (Rplus (h m - h n)) o.
  Definition below_statistic (m : M) (e : X) : Max := option_map (fun r => r - h m) (x e).

  Theorem outer_max_one_pass t :
    let kept := filter keep (leaves t) in
    let m := big M kept stat in
    tree_fold (join live (@op Max) neutral shifted) (empty (neutral : Max))
      (lift live neutral stat below_statistic keep) t
    = (m, if live m then big Max kept (below_statistic m) else neutral).
  Proof.
    intros kept m. edestruct (@one_pass M live live_left live_right Max eq (@op Max) neutral) with
      (A := shifted) (stat := stat) (f := below_statistic) (keep := keep) (t := t) as [H H']; try typeclasses eauto.
    - apply op_assoc.
    - apply Max_commutative.
    - apply neutral_left.
    - intros m' n [a |] [b |] _ _; simpl; try easy. f_equal. unfold Rmax. repeat destruct Rle_dec; lra.
    - easy.
    - intros m' n e _ _ _. unfold below_statistic, shifted. destruct (x e); simpl; [f_equal; ring | easy].
    - intros m' e D _ _. unfold below_statistic. now rewrite dead.
    - unfold two_pass in *. simpl in H, H'. fold kept in H, H'. fold m in H, H'.
      destruct (tree_fold _ _ _ t) as [a o]. simpl in *. subst. f_equal.
      assert (T : forall (l : list X) f, total (@op Max) neutral l f = big Max l f)
        by (intros l f; induction l; cbn [total big]; [easy | now rewrite IHl]).
      destruct (live m); [apply T | easy].
  Qed.
End OuterMax.
