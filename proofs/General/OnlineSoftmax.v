(** Online softmax, logsumexp and streaming moments as instances of the cascade.

    - Scores may be -inf (none). The state is the maximum (none if empty), l = Σ exp(s − max) and o[c] = Σ exp(s −
      max)·v[c]. [online_softmax]: any bracketing of the elements gives that state, so streams do
      ([online_softmax_stream]) and so do partial states of split keys that are merged; o[c]/l is the naive
      softmax-weighted sum ([softmax_quotient]), with or without subtracting the maximum; masked elements and those at
      -inf count for nothing; with no live element the state is empty ([online_softmax_dead]).
    - [online_logsumexp]: max + ln l = ln Σ exp s.
    - [denominator_at_least_one], [rescale_at_most_one]: l ≥ 1 and every factor that rescales a sum is at most 1, so
      nothing overflows.
    - [merge_moments]: count, mean, Σ(x − mean)² and Σ(x − mean)³ of two parts give those of the whole by the formulas
      of Chan, Golub and LeVeque; [moments_tree], [moments_stream]: for every bracketing; [welford_step]: one element
      more; [skewness_tree]: the skewness. *)
From Coq Require Import List Morphisms Setoid Bool Reals Lra Lia.
From TangEgg.General Require Import Monoids Cascade.
Import ListNotations.
Set Implicit Arguments.
Open Scope R_scope.

Section Softmax.
  Variables (X C : Type).
  (** The score of an element, none for -inf; its values; whether the domain keeps it. *)
  Variables (score : X -> option R) (v : X -> C -> R) (keep : X -> bool).

  (** Components of the follower: [None] is l, [Some c] is o[c]. *)
  Definition sums := option C -> R.
  Definition equal (o o' : sums) := forall c, o c = o' c.
  Definition add (o o' : sums) : sums := fun c => o c + o' c.
  Definition zero : sums := fun _ => 0.

  Global Instance equal_equivalence : Equivalence equal.
  Proof. split; [easy | now intros o p H c | intros o p q H K c; now rewrite H]. Qed.

  Global Instance add_proper : Proper (equal ==> equal ==> equal) add.
  Proof. intros o o' H p p' K c. unfold add. now rewrite H, K. Qed.

  Definition value (m : Max) : R := match m with Some r => r | None => 0 end.
  Definition payload (x : X) (c : option C) : R := match c with Some c => v x c | None => 1 end.
  (** exp(s − m), where exp(−inf) = 0. *)
  Definition weight (m : R) (s : option R) : R := match s with Some r => exp (r - m) | None => 0 end.
  Definition body (m : Max) (x : X) : sums := fun c => weight (value m) (score x) * payload x c.
  Definition rescale (m n : Max) (o : sums) : sums := fun c => exp (value m - value n) * o c.
  Definition stat (x : X) : Max := score x.

  Definition online_join := join (M := Max) (@is_some R) add zero rescale.
  Definition online_empty := empty (M := Max) zero.
  Definition online_lift := lift (M := Max) (@is_some R) zero stat body keep.

  Definition kept (l : list X) := filter keep l.
  Definition maximum (l : list X) : Max := big Max (kept l) stat.
  (** The naive sums at a given shift. *)
  Definition naive (m : R) (l : list X) (f : X -> R) : R := sum (kept l) (fun x => weight m (score x) * f x).

  Lemma weight_moves m n s : weight n s = exp (m - n) * weight m s.
  Proof. destruct s; simpl; [rewrite <- exp_plus; f_equal; ring | ring]. Qed.

  Lemma total_sums l m c : total add zero l (body m) c = sum l (fun x => weight (value m) (score x) * payload x c).
  Proof. induction l; [easy |]. simpl. unfold add at 1. now rewrite IHl. Qed.

  Global Instance rescale_proper m n : Proper (equal ==> equal) (rescale m n).
  Proof. intros o o' H k. unfold rescale. now rewrite H. Qed.

  Lemma add_assoc a b c : equal (add a (add b c)) (add (add a b) c).
  Proof. intros k. unfold add. ring. Qed.

  Lemma add_comm a b : equal (add a b) (add b a).
  Proof. intros k. unfold add. ring. Qed.

  Lemma add_zero a : equal (add zero a) a.
  Proof. intros k. unfold add, zero. ring. Qed.

  Lemma rescale_add m n o o' : equal (rescale m n (add o o')) (add (rescale m n o) (rescale m n o')).
  Proof. intros k. unfold rescale, add. ring. Qed.

  Lemma rescale_zero m n : equal (rescale m n zero) zero.
  Proof. intros k. unfold rescale, zero. ring. Qed.

  Lemma rescale_compose m n p o : equal (rescale n p (rescale m n o)) (rescale m p o).
  Proof. intros k. unfold rescale. rewrite <- Rmult_assoc, <- exp_plus. f_equal. f_equal. ring. Qed.

  Lemma live_left (a b : Max) : is_some a = true -> is_some (a ⊕ b) = true.
  Proof. now destruct a, b. Qed.

  Lemma live_right (a b : Max) : is_some b = true -> is_some (a ⊕ b) = true.
  Proof. now destruct a, b. Qed.

  Lemma online_two_pass t :
    same equal (tree_fold online_join online_empty online_lift t)
      (two_pass (M := Max) (@is_some R) add zero stat body keep (leaves t)).
  Proof.
    apply one_pass; auto using live_left, live_right, add_assoc, add_comm, add_zero; try typeclasses eauto.
    - intros. apply rescale_add.
    - intros. apply rescale_zero.
    - intros m n x _ _ _ k. unfold rescale, body. rewrite (weight_moves (value m)). ring.
    - intros m x D _ _ k. unfold body, zero. unfold stat in D. destruct (score x); [easy | simpl; ring].
  Qed.

  Theorem online_softmax t m : maximum (leaves t) = Some m ->
    let s := tree_fold online_join online_empty online_lift t in
    fst s = Some m /\
    snd s None = naive m (leaves t) (fun _ => 1) /\
    (forall c, snd s (Some c) = naive m (leaves t) (fun x => v x c)).
  Proof.
    intros E s. destruct (online_two_pass t) as [H H']. fold s in H, H'. unfold two_pass in H, H'. simpl in H, H'.
    change (big Max (filter keep (leaves t)) stat) with (maximum (leaves t)) in *. rewrite E in *.
    split; [easy |]. split; intros; rewrite H'; simpl; rewrite total_sums; easy.
  Qed.

  Theorem online_softmax_dead t : maximum (leaves t) = None ->
    let s := tree_fold online_join online_empty online_lift t in
    fst s = None /\ forall c, snd s c = 0.
  Proof.
    intros E s. destruct (online_two_pass t) as [H H']. fold s in H, H'. unfold two_pass in H, H'. simpl in H, H'.
    change (big Max (filter keep (leaves t)) stat) with (maximum (leaves t)) in *. rewrite E in *.
    split; [easy |]. intros c. now rewrite H'.
  Qed.

  (** States form a monoid: merging partial results of split keys may be bracketed at will. *)
  Theorem online_join_assoc s t u :
    same equal (online_join s (online_join t u)) (online_join (online_join s t) u).
  Proof.
    apply join_assoc; auto using live_left, live_right, add_assoc, add_zero; try typeclasses eauto; intros.
    - apply rescale_add.
    - apply rescale_zero.
    - apply rescale_compose.
  Qed.

  Corollary online_softmax_stream l m : maximum l = Some m ->
    let s := fold_left (fun s x => online_join s (online_lift x)) l online_empty in
    fst s = Some m /\ snd s None = naive m l (fun _ => 1) /\ (forall c, snd s (Some c) = naive m l (fun x => v x c)).
  Proof.
    intros E. pose proof (online_softmax (comb l) (m := m)) as H. rewrite leaves_comb, fold_comb in H. now apply H.
  Qed.

  (** A tile of scores added at the maximum of the state after it: each sum is rescaled once for a tile. *)
  Corollary online_softmax_tiles tiles m : maximum (concat tiles) = Some m ->
    let s := fold_left (add_tile (M := Max) (@is_some R) add zero rescale stat body keep) tiles online_empty in
    fst s = Some m /\ snd s None = naive m (concat tiles) (fun _ => 1) /\
    (forall c, snd s (Some c) = naive m (concat tiles) (fun x => v x c)).
  Proof.
    intros E s.
    assert (H : same equal s (two_pass (M := Max) (@is_some R) add zero stat body keep (concat tiles))).
    { apply one_pass_tiles; auto using live_left, live_right, add_assoc, add_comm, add_zero; try typeclasses eauto.
      - intros. apply rescale_add.
      - intros. apply rescale_zero.
      - intros m' n x _ _ _ k. unfold rescale, body. rewrite (weight_moves (value m')). ring.
      - intros m' x D _ _ k. unfold body, zero. unfold stat in D. destruct (score x); [easy | simpl; ring]. }
    destruct H as [H H']. unfold two_pass in H, H'. simpl in H, H'.
    change (big Max (filter keep (concat tiles)) stat) with (maximum (concat tiles)) in *. rewrite E in *.
    split; [easy |]. split; intros; rewrite H'; simpl; rewrite total_sums; easy.
  Qed.

  (** *** What the state means *)

  Lemma naive_shift m n l f : naive n l f = exp (m - n) * naive m l f.
  Proof.
    unfold naive. rewrite <- sum_scale. apply sum_ext. intros. rewrite (weight_moves m). ring.
  Qed.

  Lemma maximum_spec (l : list X) m : big Max l stat = Some m ->
    (exists x, In x l /\ score x = Some m) /\ (forall x r, In x l -> score x = Some r -> r <= m).
  Proof.
    revert m. induction l as [| x l IH]; simpl; intros m E; [easy |]. unfold stat in E at 1.
    destruct (score x) as [r |] eqn:Ex, (big Max l stat) as [r' |] eqn:El; simpl in E; try easy.
    - injection E as <-. destruct (IH r' eq_refl) as [(y & Iy & Ey) L]. split.
      + unfold Rmax. destruct (Rle_dec r r'); [exists y | exists x]; auto.
      + intros z q [<- | I] Ez; [| pose proof (L z q I Ez); pose proof (Rmax_r r r'); lra].
        rewrite Ex in Ez. injection Ez as <-. apply Rmax_l.
    - injection E as <-. split; [exists x; auto |]. intros z q [<- | I] Ez; [rewrite Ex in Ez; injection Ez; lra |].
      exfalso. clear - El I Ez. induction l; simpl in *; [easy |].
      destruct I as [-> | I]; unfold stat in El at 1; rewrite ?Ez in El; simpl in El.
      + now destruct (big Max l stat).
      + apply IHl; auto. now destruct (score a), (big Max l stat).
    - injection E as <-. destruct (IH r' eq_refl) as [(y & Iy & Ey) L]. split; [exists y; auto |].
      intros z q [<- | I] Ez; [now rewrite Ex in Ez | eauto].
  Qed.

  Lemma weight_nonneg m s : 0 <= weight m s.
  Proof. destruct s; simpl; [apply Rlt_le, exp_pos | lra]. Qed.

  (** The denominator is at least one: the element that attains the maximum contributes exp 0. *)
  Theorem denominator_at_least_one l m : maximum l = Some m -> 1 <= naive m l (fun _ => 1).
  Proof.
    intros E. apply maximum_spec in E. destruct E as [(x & I & Ex) _]. unfold naive.
    apply in_split in I. destruct I as (a & b & ->). rewrite sum_app, sum_cons, Ex. simpl.
    rewrite Rminus_eq_0, exp_0.
    assert (H : forall l, 0 <= sum l (fun x => weight m (score x) * 1)).
    { intros. apply sum_nonneg. intros. pose proof (weight_nonneg m (score x0)). lra. }
    pose proof (H a). pose proof (H b). lra.
  Qed.

  (** Sums are only ever rescaled by a factor of at most one, and every weight is at most one. *)
  Theorem rescale_at_most_one (m n : R) : below Max (Some m) (Some n) -> 0 < exp (m - n) <= 1.
  Proof.
    intros (a & b & E). split; [apply exp_pos |]. rewrite <- exp_0.
    assert (m <= n) as [H | ->].
    { destruct a as [a |], b as [b |]; simpl in E; injection E as ->; cbn; unfold Rmax; repeat destruct Rle_dec; lra. }
    - left. apply exp_increasing. lra.
    - right. f_equal. ring.
  Qed.

  Theorem weight_at_most_one l m x : maximum l = Some m -> In x (kept l) -> 0 <= weight m (score x) <= 1.
  Proof.
    intros E I. split; [apply weight_nonneg |]. apply maximum_spec in E. destruct E as [_ L].
    destruct (score x) as [r |] eqn:Ex; simpl; [| lra]. rewrite <- exp_0.
    destruct (L x r I Ex) as [H | ->]; [left; apply exp_increasing; lra | right; f_equal; ring].
  Qed.

  (** The quotient of the state is the naive softmax-weighted sum, whatever shift it is computed with. *)
  Theorem softmax_quotient l m n f : maximum l = Some m ->
    naive m l f / naive m l (fun _ => 1)
    = sum (kept l) (fun x => weight n (score x) / naive n l (fun _ => 1) * f x).
  Proof.
    intros E. pose proof (denominator_at_least_one l E) as D.
    assert (D' : naive n l (fun _ => 1) <> 0).
    { rewrite (naive_shift m n). pose proof (exp_pos (m - n)). apply Rmult_integral_contrapositive. lra. }
    rewrite (sum_ext (kept l) _ (fun x => / naive n l (fun _ => 1) * (weight n (score x) * f x))).
    2:{ intros. unfold Rdiv. ring. }
    rewrite sum_scale. change (sum _ _) with (naive n l f).
    rewrite (naive_shift m n l f). rewrite (naive_shift m n l (fun _ => 1)) in *.
    pose proof (exp_pos (m - n)). field. split; lra.
  Qed.

  Theorem online_logsumexp l m : maximum l = Some m ->
    m + ln (naive m l (fun _ => 1)) = ln (naive 0 l (fun _ => 1)).
  Proof.
    intros E. pose proof (denominator_at_least_one l E). rewrite (naive_shift m 0), ln_mult; [| apply exp_pos | lra].
    rewrite ln_exp. ring.
  Qed.

  (** The whole way: one pass, then a division, is attention of one query. *)
  Corollary attention_one_pass t m : maximum (leaves t) = Some m ->
    let s := tree_fold online_join online_empty online_lift t in
    forall c, snd s (Some c) / snd s None =
      sum (kept (leaves t)) (fun x => weight 0 (score x) / naive 0 (leaves t) (fun _ => 1) * v x c).
  Proof.
    intros E s c. destruct (online_softmax t E) as (_ & L & O). fold s in L, O. rewrite L, O.
    now apply softmax_quotient.
  Qed.
End Softmax.

(** ** Count, mean and central moments *)

Record moments := Moments { count : R; average : R; second : R; third : R }.

Definition average_of (l : list R) : R := sum l (fun x => x) / INR (length l).

(** Two passes; an empty list has the state of zeros. *)
Definition moments_of (l : list R) : moments :=
  match l with
  | [] => Moments 0 0 0 0
  | _ => Moments (INR (length l)) (average_of l) (sum l (fun x => (x - average_of l) ^ 2))
           (sum l (fun x => (x - average_of l) ^ 3))
  end.

(** One pass: the combination of two states; an empty state changes nothing and is never divided by. *)
Definition merge (a b : moments) : moments :=
  let n := count a + count b in
  let share := if Req_EM_T n 0 then 0 else count b / n in
  let other := if Req_EM_T n 0 then 0 else count a / n in
  let d := average b - average a in
  Moments n (average a + d * share)
    (second a + second b + d * d * (count a * share))
    (third a + third b + d * d * d * (count a * share) * (other - share)
     + 3 * d * (other * second b - share * second a)).

Definition lift_moments (x : R) : moments := Moments 1 x 0 0.
Definition no_moments : moments := Moments 0 0 0 0.

(** Central moments from raw ones, with the mean still to be chosen. *)
Lemma second_raw l c :
  sum l (fun x => (x - c) ^ 2) = sum l (fun x => x ^ 2) - 2 * c * sum l (fun x => x) + INR (length l) * c ^ 2.
Proof.
  induction l; rewrite ?sum_nil, ?sum_cons; [simpl; ring |].
  replace (INR (length (a :: l))) with (INR (length l) + 1) by (symmetry; apply S_INR). rewrite IHl. ring.
Qed.

Lemma third_raw l c :
  sum l (fun x => (x - c) ^ 3) = sum l (fun x => x ^ 3) - 3 * c * sum l (fun x => x ^ 2)
    + 3 * c ^ 2 * sum l (fun x => x) - INR (length l) * c ^ 3.
Proof.
  induction l; rewrite ?sum_nil, ?sum_cons; [simpl; ring |].
  replace (INR (length (a :: l))) with (INR (length l) + 1) by (symmetry; apply S_INR). rewrite IHl. ring.
Qed.

Lemma length_positive (x : R) l : 0 < INR (length (x :: l)).
Proof. apply lt_0_INR. simpl. lia. Qed.

Theorem merge_moments l l' : merge (moments_of l) (moments_of l') = moments_of (l ++ l').
Proof.
  destruct l as [| x l]; [| destruct l' as [| y l']].
  - simpl. unfold merge; simpl. set (b := moments_of l'). destruct b as [n a s t] eqn:E; simpl.
    rewrite !Rplus_0_l. destruct (Req_EM_T n 0) as [-> | N].
    + destruct l'; [injection E as <- <- <-; subst b; f_equal; ring |].
      exfalso. apply (f_equal count) in E. pose proof (length_positive r l') as P. unfold b, moments_of in E.
      cbn [count] in E. lra.
    + f_equal; field; auto.
  - rewrite app_nil_r. unfold merge. set (a := moments_of (x :: l)).
    assert (N : count a <> 0) by (unfold a; simpl; pose proof (length_positive x l); simpl in *; lra).
    destruct a as [n a s t]; simpl in *. rewrite !Rplus_0_r. destruct Req_EM_T; [easy |]. f_equal; field; auto.
  - set (k := x :: l) in *. set (k' := y :: l') in *.
    assert (P : 0 < INR (length k)) by apply length_positive.
    assert (P' : 0 < INR (length k')) by apply length_positive.
    replace (moments_of (k ++ k')) with (Moments (INR (length (k ++ k'))) (average_of (k ++ k'))
      (sum (k ++ k') (fun x => (x - average_of (k ++ k')) ^ 2))
      (sum (k ++ k') (fun x => (x - average_of (k ++ k')) ^ 3)))
      by easy.
    replace (moments_of k) with (Moments (INR (length k)) (average_of k) (sum k (fun x => (x - average_of k) ^ 2))
      (sum k (fun x => (x - average_of k) ^ 3))) by easy.
    replace (moments_of k') with (Moments (INR (length k')) (average_of k') (sum k' (fun x => (x - average_of k') ^ 2))
      (sum k' (fun x => (x - average_of k') ^ 3))) by easy.
    rewrite !second_raw, !third_raw. unfold average_of. rewrite !sum_app, app_length, plus_INR.
    generalize dependent (INR (length k)). generalize dependent (INR (length k')). intros n' P' n P.
    generalize (sum k (fun x => x)) (sum k' (fun x => x)) (sum k (fun x => x ^ 2)) (sum k' (fun x => x ^ 2))
      (sum k (fun x => x ^ 3)) (sum k' (fun x => x ^ 3)). intros a1 b1 a2 b2 a3 b3.
    unfold merge. simpl count. simpl average. simpl second. simpl third.
    destruct (Req_EM_T (n + n') 0); [lra |]. f_equal; field; repeat split; lra.
Qed.

Lemma lift_moments_of x : lift_moments x = moments_of [x].
Proof.
  unfold lift_moments, moments_of, average_of. rewrite !sum_cons, !sum_nil. simpl. f_equal; field.
Qed.

Theorem moments_tree t : tree_fold merge no_moments lift_moments t = moments_of (leaves t).
Proof.
  induction t; simpl; [easy | apply lift_moments_of | now rewrite IHt1, IHt2, merge_moments].
Qed.

Corollary moments_stream l : fold_left (fun s x => merge s (lift_moments x)) l no_moments = moments_of l.
Proof. rewrite <- fold_comb, moments_tree, leaves_comb. easy. Qed.

(** Welford's step: with n the new count, the mean moves by δ/n and the second moment grows by δ·(x − new mean). *)
Theorem welford_step s x : 0 <= count s ->
  let n := count s + 1 in
  let d := x - average s in
  let new := average s + d / n in
  count (merge s (lift_moments x)) = n /\
  average (merge s (lift_moments x)) = new /\
  second (merge s (lift_moments x)) = second s + d * (x - new).
Proof.
  intros P n d new. unfold merge, new, d, n; simpl. destruct (Req_EM_T (count s + 1) 0); [lra |].
  repeat split; field; lra.
Qed.

(** Variance and skewness read off the state. *)
Definition variance (s : moments) : R := second s / count s.
Definition skewness (s : moments) : R := third s / count s / (variance s * sqrt (variance s)).

Theorem variance_tree t : leaves t <> [] ->
  variance (tree_fold merge no_moments lift_moments t)
  = sum (leaves t) (fun x => (x - average_of (leaves t)) ^ 2) / INR (length (leaves t)).
Proof. intros H. rewrite moments_tree. unfold variance. now destruct (leaves t). Qed.

Theorem skewness_tree t : leaves t <> [] ->
  let l := leaves t in
  let central k := sum l (fun x => (x - average_of l) ^ k) / INR (length l) in
  skewness (tree_fold merge no_moments lift_moments t) = central 3%nat / (central 2%nat * sqrt (central 2%nat)).
Proof. intros H l central. rewrite moments_tree. unfold skewness, variance, central, l. now destruct (leaves t). Qed.
