(** Which followers a pass can carry: sums that move as a matrix when the statistic moves, and their closure.

    A [carrier] is a finite family of followers F_k with coefficients T such that F_k at statistic n is Σ T k k' · F_k'
    at m: one sum that is multiplied (rank one), a sum that is shifted by another one (affine), sums that mention each
    other (bilinear, cubic: triangular).
    - How expressions move: [scales_product], [scales_exp], [scales_select], [scales_reciprocal], [moves_sum],
      [moves_product], [moves_max] and the like.
    - Carriers are closed under constants, scaling, exp of what moves by a shift, affine shifts, sums (side by side),
      products (tensor) and powers: [carrier_fixed], [carrier_scaled], [carrier_exp], [carrier_affine], [carrier_sum],
      [carrier_product], [carrier_power], [carrier_factor], [carrier_select], [carrier_reciprocal]. So second and third
      moments, and their products with anything fixed, are instances. Transports that compose are closed too
      ([composes_sum], [composes_product], ...).
    - [carrier_of_value]: the statistic may be any function of the state: a maximum, a sum, a mean (sum and count), an
      affine combination of several statistics (Statistics.v).
    - [linear_one_pass]: every bracketing of one pass gives the statistic and, at it, the sums of all components;
      [linear_join_assoc], [linear_join_empty]: states merge associatively, with the empty one as identity. *)
From Coq Require Import List Morphisms Setoid Bool Reals Lra.
From TangEgg.General Require Import Monoids Cascade.
Import ListNotations.
Set Implicit Arguments.

(** ** Carriers: several sums that move as a matrix *)

Open Scope R_scope.

Section Carriers.
  Variables (S X : Type).

  (** Component [k] of the followers at statistic [n] is a combination of the components at [m]. *)
  Definition carrier {K} (keys : list K) (F : K -> S -> X -> R) (T : S -> S -> K -> K -> R) :=
    forall k m n x, In k keys -> F k n x = sum keys (fun k' => T m n k k' * F k' m x).

  (** Transports compose and a step from a statistic to itself does nothing. *)
  Definition composes {K} (keys : list K) (T : S -> S -> K -> K -> R) :=
    (forall m n p k l, In k keys -> In l keys -> sum keys (fun k' => T n p k k' * T m n k' l) = T m p k l) /\
    (forall m k (o : K -> R), In k keys -> sum keys (fun k' => T m m k k' * o k') = o k).

  (** What does not mention the statistic. *)
  Definition fixed (f : S -> X -> R) := forall m n x, f n x = f m x.
  (** Rank one: the follower is multiplied. *)
  Definition scales (f : S -> X -> R) (a : S -> S -> R) := forall m n x, f n x = a m n * f m x.
  (** The follower moves by a shift, possibly one that depends on the element. *)
  Definition moves (f : S -> X -> R) (c : S -> S -> X -> R) := forall m n x, f n x = f m x + c m n x.

  Theorem scales_fixed f : fixed f -> scales f (fun _ _ => 1).
  Proof. intros H m n x. rewrite (H m n). ring. Qed.

  Theorem scales_product f g a b :
    scales f a -> scales g b -> scales (fun m x => f m x * g m x) (fun m n => a m n * b m n).
  Proof. intros H K m n x. rewrite (H m n), (K m n). ring. Qed.

  Theorem scales_negated f a : scales f a -> scales (fun m x => - f m x) a.
  Proof. intros H m n x. rewrite (H m n). ring. Qed.

  Theorem scales_exp f c : moves f (fun m n _ => c m n) -> scales (fun m x => exp (f m x)) (fun m n => exp (c m n)).
  Proof. intros H m n x. rewrite (H m n), exp_plus. ring. Qed.

  Theorem scales_reciprocal f a : (forall m x, f m x <> 0) -> (forall m n, a m n <> 0) ->
    scales f a -> scales (fun m x => / f m x) (fun m n => / a m n).
  Proof. intros N N' H m n x. rewrite (H m n). now apply Rinv_mult. Qed.

  Theorem scales_select (p : X -> bool) f a :
    scales f a -> scales (fun m x => if p x then f m x else 0) a.
  Proof. intros H m n x. destruct (p x); [apply H | ring]. Qed.

  Theorem moves_fixed f : fixed f -> moves f (fun _ _ _ => 0).
  Proof. intros H m n x. rewrite (H m n). ring. Qed.

  Theorem moves_sum f g c d :
    moves f c -> moves g d -> moves (fun m x => f m x + g m x) (fun m n x => c m n x + d m n x).
  Proof. intros H K m n x. rewrite (H m n), (K m n). ring. Qed.

  Theorem moves_negated f c : moves f c -> moves (fun m x => - f m x) (fun m n x => - c m n x).
  Proof. intros H m n x. rewrite (H m n). ring. Qed.

  Theorem moves_product f g c :
    moves f c -> fixed g -> moves (fun m x => f m x * g m x) (fun m n x => c m n x * g m x).
  Proof. intros H K m n x. rewrite (H m n), (K m n). ring. Qed.

  (** The maximum of two that move alike moves alike (outer maxima of scores, say). *)
  Theorem moves_max f g c :
    moves f c -> moves g c -> moves (fun m x => Rmax (f m x) (g m x)) c.
  Proof. intros H K m n x. rewrite (H m n), (K m n). unfold Rmax. repeat destruct Rle_dec; lra. Qed.

  (** *** Rank one and affine carriers *)

  Theorem carrier_scaled f a :
    scales f a -> carrier [tt] (fun _ => f) (fun m n _ _ => a m n).
  Proof. intros H k m n x _. rewrite sum_cons, sum_nil, (H m n). ring. Qed.

  Theorem carrier_fixed f : fixed f -> carrier [tt] (fun _ => f) (fun _ _ _ _ => 1).
  Proof. intros H. apply (carrier_scaled (scales_fixed H)). Qed.

  Theorem carrier_exp f c :
    moves f (fun m n _ => c m n) -> carrier [tt] (fun _ m x => exp (f m x)) (fun m n _ _ => exp (c m n)).
  Proof. intros H. apply carrier_scaled, scales_exp, H. Qed.

  Theorem carrier_reciprocal f a : (forall m x, f m x <> 0) -> (forall m n, a m n <> 0) ->
    scales f a -> carrier [tt] (fun _ m x => / f m x) (fun m n _ _ => / a m n).
  Proof. intros N N' H. apply carrier_scaled, scales_reciprocal; auto. Qed.

  Theorem composes_scaled (a : S -> S -> R) :
    (forall m n p, a n p * a m n = a m p) -> (forall m, a m m = 1) -> composes [tt] (fun m n _ _ => a m n).
  Proof.
    intros H K. split; intros; rewrite sum_cons, sum_nil; [rewrite H | rewrite K; destruct k]; ring.
  Qed.

  (** A follower that moves by [a · y], with [y] fixed, is carried with the sum of [y]: components [true], [false]. *)
  Definition shift (a : S -> S -> R) (m n : S) (k k' : bool) : R :=
    if k then if k' then 1 else a m n else if k' then 0 else 1.

  Theorem carrier_affine f y a : fixed y -> moves f (fun m n x => a m n * y m x) ->
    carrier [true; false] (fun k => if k then f else y) (shift a).
  Proof.
    intros Y H k m n x _. rewrite !sum_cons, sum_nil. unfold shift.
    destruct k; [rewrite (H m n) | rewrite (Y m n)]; ring.
  Qed.

  Theorem composes_affine (a : S -> S -> R) :
    (forall m n p, a n p + a m n = a m p) -> (forall m, a m m = 0) -> composes [true; false] (shift a).
  Proof.
    intros H K. split.
    - intros m n p k l _ _. rewrite !sum_cons, sum_nil. unfold shift.
      destruct k, l; rewrite <- ?(H m n p); ring.
    - intros m k o _. rewrite !sum_cons, sum_nil. unfold shift. destruct k; rewrite ?K; ring.
  Qed.

  (** *** Closure *)

  Definition either {A B C} (f : A -> C) (g : B -> C) (k : A + B) : C :=
    match k with inl k => f k | inr k => g k end.
  Definition side_by_side {K L} (T : S -> S -> K -> K -> R) (U : S -> S -> L -> L -> R) m n (k k' : K + L) : R :=
    match k, k' with inl k, inl k' => T m n k k' | inr k, inr k' => U m n k k' | _, _ => 0 end.
  Definition tensor {K L} (T : S -> S -> K -> K -> R) (U : S -> S -> L -> L -> R) m n (k k' : K * L) : R :=
    T m n (fst k) (fst k') * U m n (snd k) (snd k').

  Lemma sum_either {K L} (keys : list K) (keys' : list L) (h : K + L -> R) :
    sum (map inl keys ++ map inr keys') h = sum keys (fun k => h (inl k)) + sum keys' (fun k => h (inr k)).
  Proof. now rewrite sum_app, !sum_map. Qed.

  Lemma sum_list_prod {K L} (keys : list K) (keys' : list L) (h : K * L -> R) :
    sum (list_prod keys keys') h = sum keys (fun k => sum keys' (fun l => h (k, l))).
  Proof.
    induction keys; simpl; [easy |]. now rewrite sum_app, sum_map, IHkeys.
  Qed.

  Lemma sum_product {K L} (keys : list K) (keys' : list L) (g : K -> R) (h : L -> R) :
    sum keys g * sum keys' h = sum (list_prod keys keys') (fun k => g (fst k) * h (snd k)).
  Proof.
    rewrite sum_list_prod, <- sum_scale_right. apply sum_ext. intros. simpl. now rewrite sum_scale.
  Qed.

  (** Carriers side by side: a sum of followers is a sum of components. *)
  Theorem carrier_sum {K L} (keys : list K) (keys' : list L) F G T U :
    carrier keys F T -> carrier keys' G U ->
    carrier (map inl keys ++ map inr keys') (either F G) (side_by_side T U).
  Proof.
    intros H H' k m n x I. rewrite sum_either. apply in_app_or in I.
    destruct I as [I | I]; apply in_map_iff in I; destruct I as (j & <- & J); simpl.
    - rewrite (H j m n x J), (sum_ext keys' _ (fun _ => 0)) by (intros; ring). rewrite sum_zero. ring.
    - rewrite (H' j m n x J), (sum_ext keys _ (fun _ => 0)) by (intros; ring). rewrite sum_zero. ring.
  Qed.

  Theorem composes_sum {K L} (keys : list K) (keys' : list L) T U :
    composes keys T -> composes keys' U -> composes (map inl keys ++ map inr keys') (side_by_side T U).
  Proof.
    intros [H I] [H' I']. split.
    - intros m n p k l Hk Hl. rewrite sum_either. apply in_app_or in Hk, Hl.
      destruct Hk as [Hk | Hk]; apply in_map_iff in Hk; destruct Hk as (k1 & <- & Hk);
        destruct Hl as [Hl | Hl]; apply in_map_iff in Hl; destruct Hl as (l1 & <- & Hl); simpl.
      + rewrite (H m n p) by easy. rewrite (sum_ext keys' _ (fun _ => 0)) by (intros; ring). rewrite sum_zero. ring.
      + rewrite (sum_ext keys _ (fun _ => 0)), (sum_ext keys' _ (fun _ => 0)) by (intros; ring).
        rewrite !sum_zero. ring.
      + rewrite (sum_ext keys _ (fun _ => 0)), (sum_ext keys' _ (fun _ => 0)) by (intros; ring).
        rewrite !sum_zero. ring.
      + rewrite (H' m n p) by easy. rewrite (sum_ext keys _ (fun _ => 0)) by (intros; ring). rewrite sum_zero. ring.
    - intros m k o Hk. rewrite sum_either. apply in_app_or in Hk.
      destruct Hk as [Hk | Hk]; apply in_map_iff in Hk; destruct Hk as (k1 & <- & Hk); simpl.
      + rewrite (I m k1 (fun k => o (inl k)) Hk), (sum_ext keys' _ (fun _ => 0)) by (intros; ring).
        rewrite sum_zero. ring.
      + rewrite (I' m k1 (fun k => o (inr k)) Hk), (sum_ext keys _ (fun _ => 0)) by (intros; ring).
        rewrite sum_zero. ring.
  Qed.

  (** Products of followers are carried by the products of their components: rank one by rank one is rank one, affine by
      affine is bilinear (four sums), a third moment has eight, of which equal ones are kept once. *)
  Theorem carrier_product {K L} (keys : list K) (keys' : list L) F G T U :
    carrier keys F T -> carrier keys' G U ->
    carrier (list_prod keys keys') (fun k m x => F (fst k) m x * G (snd k) m x) (tensor T U).
  Proof.
    intros H H' [k l] m n x I. apply in_prod_iff in I. destruct I as [Ik Il]. simpl.
    rewrite (H k m n x Ik), (H' l m n x Il), sum_product. apply sum_ext. intros. unfold tensor. simpl. ring.
  Qed.

  Theorem composes_product {K L} (keys : list K) (keys' : list L) T U :
    composes keys T -> composes keys' U -> composes (list_prod keys keys') (tensor T U).
  Proof.
    intros [H I] [H' I']. split.
    - intros m n p [k l] [k1 l1] Hk Hl. apply in_prod_iff in Hk, Hl. destruct Hk, Hl. unfold tensor. simpl.
      rewrite <- (H m n p k k1), <- (H' m n p l l1) by easy. rewrite sum_product.
      apply sum_ext. intros. ring.
    - intros m [k l] o Hk. apply in_prod_iff in Hk. destruct Hk as [Hk Hl]. rewrite sum_list_prod. unfold tensor. simpl.
      rewrite <- (I m k (fun k => o (k, l)) Hk). apply sum_ext. intros k' Hk'.
      rewrite <- (I' m l (fun l => o (k', l)) Hl), <- sum_scale. apply sum_ext. intros. ring.
  Qed.

  (** A factor that does not mention the statistic multiplies every component: values, weights, masks. *)
  Theorem carrier_factor {K} (keys : list K) F T g :
    carrier keys F T -> fixed g -> carrier keys (fun k m x => F k m x * g m x) T.
  Proof.
    intros H G k m n x I. rewrite (H k m n x I), (G m n), <- sum_scale_right. apply sum_ext. intros. ring.
  Qed.

  Theorem carrier_select {K} (keys : list K) F T (p : X -> bool) :
    carrier keys F T -> carrier keys (fun k m x => if p x then F k m x else 0) T.
  Proof.
    intros H k m n x I. destruct (p x); [now apply H |]. rewrite (sum_ext keys _ (fun _ => 0)) by (intros; ring).
    now rewrite sum_zero.
  Qed.

  (** A component of the power of a carrier for each list of components: moments of every order. *)
  Fixpoint power_keys {K} (keys : list K) (n : nat) : list (list K) :=
    match n with
    | O => [[]]
    | Datatypes.S n => map (fun p => fst p :: snd p) (list_prod keys (power_keys keys n))
    end.
  Fixpoint power_of {K} (F : K -> S -> X -> R) (ks : list K) m x : R :=
    match ks with [] => 1 | k :: r => F k m x * power_of F r m x end.
  Fixpoint power_shift {K} (T : S -> S -> K -> K -> R) m n (ks ls : list K) : R :=
    match ks, ls with [], [] => 1 | k :: r, l :: q => T m n k l * power_shift T m n r q | _, _ => 0 end.

  Lemma repeat_in_power {K} (k : K) keys n : In k keys -> In (repeat k n) (power_keys keys n).
  Proof.
    intros I. induction n as [| n IH]; [now left |]. apply in_map_iff. exists (k, repeat k n).
    split; [easy | now apply in_prod].
  Qed.

  Theorem carrier_power {K} (keys : list K) F T n :
    carrier keys F T -> carrier (power_keys keys n) (power_of F) (power_shift T).
  Proof.
    intros H. induction n as [| n IH]; intros ks m p x I.
    - simpl in I. destruct I as [<- | []]. simpl. rewrite sum_cons, sum_nil. simpl. ring.
    - simpl in I. apply in_map_iff in I. destruct I as ([k r] & <- & I). apply in_prod_iff in I. destruct I as [Ik Ir].
      simpl. rewrite (H k m p x Ik), (IH r m p x Ir), sum_product, sum_map. apply sum_ext. intros. simpl. ring.
  Qed.
End Carriers.

(** The statistic that followers mention may be any function of the state's: a mean of sum and count, an affine
    combination of several, a maximum of maxima. *)
Theorem carrier_of_value {M S X K} (value : M -> S) (keys : list K) (F : K -> S -> X -> R) T :
  carrier keys F T -> carrier keys (fun k m => F k (value m)) (fun m n => T (value m) (value n)).
Proof. intros H k m n x I. now apply H. Qed.

Theorem composes_of_value {M S K} (value : M -> S) (keys : list K) (T : S -> S -> K -> K -> R) :
  composes keys T -> composes keys (fun m n => T (value m) (value n)).
Proof. intros [H I]. split; intros; [now apply H | now apply I]. Qed.

(** ** The pass of a carrier *)

Section CarrierPass.
  Variables (K : Type) (keys : list K).

  Definition vector := K -> R.
  Definition alike (o o' : vector) := forall k, In k keys -> o k = o' k.
  Definition vector_add (o o' : vector) : vector := fun k => o k + o' k.
  Definition vector_zero : vector := fun _ => 0.

  Global Instance alike_equivalence : Equivalence alike.
  Proof.
    split; [intros o k _; easy | intros o p H k I; now rewrite H | intros o p q H H' k I; now rewrite H, H'].
  Qed.

  Global Instance vector_add_proper : Proper (alike ==> alike ==> alike) vector_add.
  Proof. intros o o' H p p' H' k I. unfold vector_add. now rewrite H, H'. Qed.

  Lemma total_vector {X} (l : list X) (F : X -> vector) k :
    total vector_add vector_zero l F k = sum l (fun x => F x k).
  Proof. induction l; [easy |]. simpl. unfold vector_add at 1. rewrite IHl. easy. Qed.

  Variable M : monoid.
  Variable live : M -> bool.
  Hypothesis live_left : forall a b, live a = true -> live (a ⊕ b) = true.
  Hypothesis live_right : forall a b, live b = true -> live (a ⊕ b) = true.
  Variables (S X : Type) (value : M -> S) (F : K -> S -> X -> R) (T : S -> S -> K -> K -> R).
  Hypothesis carried : carrier keys F T.

  Definition transport (m n : M) (o : vector) : vector :=
    fun k => sum keys (fun k' => T (value m) (value n) k k' * o k').

  Global Instance transport_proper m n : Proper (alike ==> alike) (transport m n).
  Proof. intros o o' H k _. unfold transport. apply sum_ext. intros k' I. now rewrite H. Qed.

  Lemma transport_add m n o o' :
    alike (transport m n (vector_add o o')) (vector_add (transport m n o) (transport m n o')).
  Proof.
    intros k _. unfold transport, vector_add. rewrite <- sum_plus. apply sum_ext. intros. ring.
  Qed.

  Lemma transport_zero m n : alike (transport m n vector_zero) vector_zero.
  Proof.
    intros k _. unfold transport, vector_zero. rewrite (sum_ext keys _ (fun _ => 0)) by (intros; ring). apply sum_zero.
  Qed.

  Variables (stat : X -> M) (keep : X -> bool).
  Hypothesis dead : forall k m x, In k keys -> live (stat x) = false -> live m = true -> F k (value m) x = 0.

  Definition pass_join := join live vector_add vector_zero transport.
  Definition pass_empty := empty (M := M) vector_zero.
  Definition pass_lift := lift live vector_zero stat (fun m x k => F k (value m) x) keep.

  (** One pass over the elements gives the statistic and, at it, the sum of every component. *)
  Theorem linear_one_pass t :
    let s := tree_fold pass_join pass_empty pass_lift t in
    let kept := filter keep (leaves t) in
    let m := big M kept stat in
    fst s = m /\ forall k, In k keys -> snd s k = if live m then sum kept (F k (value m)) else 0.
  Proof.
    intros s kept m.
    assert (H : same alike s
      (two_pass live vector_add vector_zero stat (fun m x k => F k (value m) x) keep (leaves t))).
    { apply one_pass; try typeclasses eauto; auto.
      - intros a b c k _. unfold vector_add. ring.
      - intros a b k _. unfold vector_add. ring.
      - intros a k _. unfold vector_add, vector_zero. ring.
      - intros. apply transport_add.
      - intros. apply transport_zero.
      - intros m' n x _ _ _ k I. unfold transport. now apply carried.
      - intros m' x D L _ k I. unfold vector_zero. now apply dead. }
    destruct H as [H H']. split; [exact H |]. intros k I. rewrite (H' k I). unfold two_pass. simpl. fold kept. fold m.
    destruct (live m); [apply total_vector | easy].
  Qed.

  Theorem linear_join_assoc : composes keys T -> forall s t u,
    same alike (pass_join s (pass_join t u)) (pass_join (pass_join s t) u).
  Proof.
    intros [C I] s t u. apply join_assoc; try typeclasses eauto; auto.
    - intros a b c k _. unfold vector_add. ring.
    - intros a k _. unfold vector_add, vector_zero. ring.
    - intros. apply transport_add.
    - intros. apply transport_zero.
    - intros m n p o _ _ _ k Ik. unfold transport.
      rewrite (sum_ext keys _ (fun k' =>
        sum keys (fun l => T (value n) (value p) k k' * T (value m) (value n) k' l * o l))).
      2:{ intros. rewrite <- sum_scale. apply sum_ext. intros. ring. }
      rewrite sum_interchange. apply sum_ext. intros l Il. rewrite sum_scale_right. now rewrite C.
  Qed.

  Theorem linear_join_empty : composes keys T -> forall s, well_formed live alike vector_zero s ->
    same alike (pass_join pass_empty s) s /\ same alike (pass_join s pass_empty) s.
  Proof.
    intros [_ I] s W.
    assert (Self : forall m o, alike (transport m m o) o) by (intros m o k Ik; now apply I).
    split; [apply join_empty_left | apply join_empty_right]; try typeclasses eauto; auto.
    - intros a k _. unfold vector_add, vector_zero. ring.
    - intros. apply transport_zero.
    - intros a b k _. unfold vector_add. ring.
    - intros a k _. unfold vector_add, vector_zero. ring.
    - intros. apply transport_zero.
  Qed.
End CarrierPass.
Arguments pass_join {K} keys {M} live {S}. Arguments pass_lift {K M} live {S X}. Arguments pass_empty {K M}.
