(** The cascade in general: a fold whose body needs a finished statistic of its own index is one pass.

    Each element [x] has a statistic [stat x] in a monoid. A follower [f m x] is what [x] contributes when the statistic
    is [m]; its values are added. Computed in two passes, [⊕] of all statistics first, it is [Σ f m x] at the final [m].
    In one pass the state is a pair (statistic so far, sum so far). Two states are joined by moving both sums to the
    joined statistic with a transport [A from to] and adding them:

        (m, o) · (m', o')  =  (m ⊕ m',  A m (m ⊕ m') o + A m' (m ⊕ m') o')

    - [one_pass]: any bracketing of the lifted elements gives the two-pass value; [one_pass_any_order]: in any order, if
      the statistic commutes; [one_pass_stream], [one_pass_tiles]: streams of elements and of tiles. It needs only that
      transports are additive and move followers right.
    - [join_assoc], [join_empty_left], [join_empty_right], [join_commutes]: the states form a (commutative) monoid, if
      transports also compose.
    - Statistics may be meaningless ([live] is false: no element yet, a maximum of -inf): such states carry nothing.
      Elements that are masked out lift to the empty state; an element whose own statistic is meaningless must
      contribute nothing at any meaningful one. [live] need only be inherited by combinations, so several statistics at
      once are the case of a product monoid.
    - [carry_if_same]: where the statistic did not change the sum may be kept as it is.
    How bodies move, and which bodies do, is in Carriers.v. *)
From Coq Require Import List Permutation Morphisms Setoid Bool.
From TangEgg.General Require Import Monoids.
Import ListNotations.
Set Implicit Arguments.

(** ** The pass *)

Section Pass.
  Variable M : monoid.
  Variable live : M -> bool.
  Hypothesis live_left : forall a b, live a = true -> live (a ⊕ b) = true.
  Hypothesis live_right : forall a b, live b = true -> live (a ⊕ b) = true.

  (** What followers are summed in: a commutative monoid, up to an equivalence (so that vectors are included). *)
  Variable O : Type.
  Variable eqv : O -> O -> Prop.
  Variable add : O -> O -> O.
  Variable zero : O.
  Context {eqv_equivalence : Equivalence eqv}.
  Context {add_proper : Proper (eqv ==> eqv ==> eqv) add}.
  Infix "==" := eqv (at level 70).
  Hypothesis add_assoc : forall a b c, add a (add b c) == add (add a b) c.
  Hypothesis add_comm : forall a b, add a b == add b a.
  Hypothesis add_zero : forall a, add zero a == a.

  Lemma add_zero_right a : add a zero == a.
  Proof. rewrite add_comm. apply add_zero. Qed.

  Lemma add_swap a b c d : add (add a b) (add c d) == add (add a c) (add b d).
  Proof.
    rewrite <- add_assoc, (add_assoc b), (add_comm b c), <- add_assoc, add_assoc. reflexivity.
  Qed.

  Fixpoint total {X} (l : list X) (f : X -> O) : O :=
    match l with [] => zero | x :: r => add (f x) (total r f) end.

  Lemma total_app {X} (l l' : list X) f : total (l ++ l') f == add (total l f) (total l' f).
  Proof. induction l; simpl; [now rewrite add_zero | now rewrite IHl, add_assoc]. Qed.

  Lemma total_ext {X} (l : list X) f g : (forall x, In x l -> f x == g x) -> total l f == total l g.
  Proof.
    induction l; simpl; intros H; [reflexivity |]. rewrite H by auto. rewrite IHl by auto. reflexivity.
  Qed.

  Lemma total_zero {X} (l : list X) f : (forall x, In x l -> f x == zero) -> total l f == zero.
  Proof.
    induction l; simpl; intros H; [reflexivity |]. rewrite H, IHl by auto. apply add_zero.
  Qed.

  Lemma total_perm {X} (l l' : list X) f : Permutation l l' -> total l f == total l' f.
  Proof.
    induction 1; simpl.
    - reflexivity.
    - now rewrite IHPermutation.
    - rewrite !add_assoc, (add_comm (f y)). reflexivity.
    - now rewrite IHPermutation1.
  Qed.

  (** Transports are additive. *)
  Variable A : M -> M -> O -> O.
  Context {A_proper : forall m n, Proper (eqv ==> eqv) (A m n)}.
  Hypothesis A_add :
    forall m n o o', live m = true -> below M m n -> A m n (add o o') == add (A m n o) (A m n o').
  Hypothesis A_zero : forall m n, live m = true -> below M m n -> A m n zero == zero.

  Definition state := (M * O)%type.
  Definition same (s t : state) := fst s = fst t /\ snd s == snd t.

  Definition carry (m n : M) (o : O) : O := if live m then A m n o else zero.
  Definition join (s t : state) : state :=
    let n := fst s ⊕ fst t in (n, add (carry (fst s) n (snd s)) (carry (fst t) n (snd t))).
  Definition empty : state := (neutral, zero).
  Definition well_formed (s : state) := live (fst s) = false -> snd s == zero.

  Global Instance same_equivalence : Equivalence same.
  Proof.
    split; [intros s; split; reflexivity | intros s t [H K]; split; now symmetry |].
    intros s t u [H K] [H' K']; split; [congruence | now transitivity (snd t)].
  Qed.

  Global Instance carry_proper m n : Proper (eqv ==> eqv) (carry m n).
  Proof. intros o o' H. unfold carry. destruct (live m); [now rewrite H | reflexivity]. Qed.

  Global Instance join_proper : Proper (same ==> same ==> same) join.
  Proof.
    intros [m o] [m1 o1] [H K] [n p] [n1 p1] [H' K']. simpl in *. subst. split; [easy | simpl].
    now rewrite K, K'.
  Qed.

  Lemma A_total {X} (l : list X) f m n :
    live m = true -> below M m n -> A m n (total l f) == total l (fun x => A m n (f x)).
  Proof.
    intros Lm Bmn. induction l; simpl; [now apply A_zero |]. now rewrite A_add, IHl.
  Qed.

  Section Elements.
    Variable X : Type.
    Variable stat : X -> M.
    Variable f : M -> X -> O.
    Variable keep : X -> bool.
    Hypothesis follow :
      forall m n x, live m = true -> below M (stat x) m -> below M m n -> f n x == A m n (f m x).
    Hypothesis dead : forall m x, live (stat x) = false -> live m = true -> below M (stat x) m -> f m x == zero.

    Definition lift (x : X) : state :=
      if keep x then (stat x, if live (stat x) then f (stat x) x else zero) else empty.

    (** First the statistic of all kept elements, then their sum at it. *)
    Definition two_pass (l : list X) : state :=
      let kept := filter keep l in
      let m := big M kept stat in (m, if live m then total kept (f m) else zero).

    Lemma live_below m n : below M m n -> live m = true -> live n = true.
    Proof. intros (a & b & ->) H. apply live_left, live_right, H. Qed.

    (** Moving a finished sum to a later statistic is the sum at that statistic. *)
    Lemma carry_two_pass l n : live n = true -> below M (big M l stat) n ->
      carry (big M l stat) n (if live (big M l stat) then total l (f (big M l stat)) else zero) == total l (f n).
    Proof.
      intros Ln B. unfold carry. destruct (live (big M l stat)) eqn:L.
      - rewrite A_total by easy. apply total_ext. intros x Hx. symmetry. apply follow; auto. now apply big_below.
      - symmetry. apply total_zero. intros x Hx. pose proof (big_below M x l stat Hx) as Bx.
        apply dead; auto; [| now apply below_trans with (big M l stat)].
        destruct (live (stat x)) eqn:E; [| easy]. rewrite <- L. symmetry. now apply live_below with (stat x).
    Qed.

    Lemma carry_dead m n o : live n = false -> below M m n -> carry m n o == zero.
    Proof.
      intros L B. unfold carry. destruct (live m) eqn:E; [| reflexivity].
      rewrite (live_below B E) in L. easy.
    Qed.

    Theorem join_two_pass l l' : same (join (two_pass l) (two_pass l')) (two_pass (l ++ l')).
    Proof.
      unfold two_pass, join; simpl. rewrite filter_app, big_app. split; [easy | simpl].
      set (k := filter keep l). set (k' := filter keep l').
      destruct (live (big M k stat ⊕ big M k' stat)) eqn:L.
      - rewrite !carry_two_pass by auto using below_left, below_right. now rewrite total_app.
      - rewrite !carry_dead by auto using below_left, below_right. apply add_zero.
    Qed.

    Lemma lift_two_pass x : same (lift x) (two_pass [x]).
    Proof.
      unfold lift, two_pass, empty. simpl. destruct (keep x); simpl.
      - rewrite neutral_right. split; [easy | simpl]. destruct (live (stat x)); [| reflexivity].
        now rewrite add_zero_right.
      - split; [easy | simpl]. now destruct (live neutral).
    Qed.

    (** The cascade theorem: any bracketing of the lifted elements gives the value of the two passes. *)
    Theorem one_pass t : same (tree_fold join empty lift t) (two_pass (leaves t)).
    Proof.
      induction t; simpl.
      - split; [easy | unfold two_pass; simpl; now destruct (live neutral)].
      - apply lift_two_pass.
      - rewrite IHt1, IHt2. apply join_two_pass.
    Qed.

    Lemma filter_perm l l' : Permutation l l' -> Permutation (filter keep l) (filter keep l').
    Proof.
      induction 1; simpl; repeat match goal with |- context [keep ?y] => destruct (keep y) end; auto using perm_swap.
      eapply perm_trans; eauto.
    Qed.

    (** If the statistic commutes, the order does not matter either. *)
    Theorem one_pass_any_order (comm : commutative M) t l :
      Permutation (leaves t) l -> same (tree_fold join empty lift t) (two_pass l).
    Proof.
      intros P. rewrite one_pass. unfold two_pass. apply filter_perm in P.
      rewrite (big_perm comm stat P). split; [easy | simpl].
      destruct (live _); [now apply total_perm | reflexivity].
    Qed.

    Corollary one_pass_stream l :
      same (fold_left (fun s x => join s (lift x)) l empty) (two_pass l).
    Proof. rewrite <- fold_comb, one_pass, leaves_comb. reflexivity. Qed.

    (** A tile may be added at the statistic of the state after it: no sum per element moves. *)
    Definition add_tile (s : state) (tile : list X) : state :=
      let kept := filter keep tile in
      let n := fst s ⊕ big M kept stat in
      (n, if live n then add (carry (fst s) n (snd s)) (total kept (f n)) else zero).

    Theorem one_pass_tiles tiles : same (fold_left add_tile tiles empty) (two_pass (concat tiles)).
    Proof.
      enough (H : forall l s, same s (two_pass l) -> same (fold_left add_tile tiles s) (two_pass (l ++ concat tiles))).
      { apply (H []). split; [easy | unfold two_pass; simpl; now destruct (live neutral)]. }
      induction tiles as [| tile tiles IH]; simpl; intros l s [H K].
      - now rewrite app_nil_r.
      - rewrite app_assoc. apply IH. rewrite <- join_two_pass. unfold add_tile, join. simpl.
        rewrite H. split; [easy | simpl]. unfold two_pass in K. simpl in K.
        destruct (live (big M (filter keep l) stat ⊕ big M (filter keep tile) stat)) eqn:L.
        + rewrite K, (carry_two_pass (filter keep tile)) by auto using below_right. reflexivity.
        + rewrite !carry_dead by auto using below_left, below_right. now rewrite add_zero.
    Qed.

    Lemma lift_well_formed x : well_formed (lift x).
    Proof.
      unfold lift, well_formed, empty. destruct (keep x); simpl; [| reflexivity].
      intros ->. reflexivity.
    Qed.
  End Elements.

  (** *** The monoid of states *)

  Hypothesis A_compose : forall m n p o,
    live m = true -> below M m n -> below M n p -> A n p (A m n o) == A m p o.
  Hypothesis A_self : forall m o, live m = true -> A m m o == o.

  Lemma carry_add m n o o' : below M m n -> carry m n (add o o') == add (carry m n o) (carry m n o').
  Proof.
    intros B. unfold carry. destruct (live m) eqn:E; [now apply A_add | now rewrite add_zero].
  Qed.

  Lemma carry_zero m n : below M m n -> carry m n zero == zero.
  Proof. intros B. unfold carry. destruct (live m) eqn:E; [now apply A_zero | reflexivity]. Qed.

  Lemma carry_compose m n p o : below M m n -> below M n p -> carry n p (carry m n o) == carry m p o.
  Proof.
    intros B B'. unfold carry at 2 3. destruct (live m) eqn:E; [| now apply carry_zero].
    unfold carry. rewrite (live_below B E). now apply A_compose.
  Qed.

  Theorem join_assoc s t u : same (join s (join t u)) (join (join s t) u).
  Proof.
    destruct s as [m o], t as [m' o'], u as [m'' o'']. unfold join, same; simpl. split; [apply op_assoc |].
    assert (B' : below M m' (m' ⊕ m'')) by apply below_left.
    assert (C : below M (m' ⊕ m'') (m ⊕ (m' ⊕ m''))) by apply below_right.
    assert (C' : below M (m ⊕ m') (m ⊕ (m' ⊕ m''))) by (rewrite op_assoc; apply below_left).
    rewrite op_assoc in *.
    rewrite !carry_add by auto. rewrite !carry_compose by auto using below_left, below_right.
    apply add_assoc.
  Qed.

  Theorem join_empty_left s : well_formed s -> same (join empty s) s.
  Proof.
    destruct s as [m o]. unfold well_formed, join, same, empty; simpl. intros W. rewrite neutral_left. split; [easy |].
    rewrite carry_zero by (exists neutral, m; now rewrite !neutral_left). rewrite add_zero.
    unfold carry. destruct (live m) eqn:E; [now apply A_self | now rewrite W].
  Qed.

  Theorem join_empty_right s : well_formed s -> same (join s empty) s.
  Proof.
    destruct s as [m o]. unfold well_formed, join, same, empty; simpl. intros W. rewrite neutral_right. split; [easy |].
    rewrite (@carry_zero neutral m) by (exists neutral, m; now rewrite !neutral_left). rewrite add_zero_right.
    unfold carry. destruct (live m) eqn:E; [now apply A_self | now rewrite W].
  Qed.

  Theorem join_commutes (comm : commutative M) s t : same (join s t) (join t s).
  Proof. unfold join. rewrite (comm (fst s)). split; [easy | apply add_comm]. Qed.

  Lemma join_well_formed s t : well_formed (join s t).
  Proof.
    unfold well_formed, join; simpl. intros L. rewrite !carry_dead by auto using below_left, below_right.
    apply add_zero.
  Qed.

  (** A sum whose statistic did not change may be kept: nothing needs to be computed from it. *)
  Theorem carry_if_same (eqb : M -> M -> bool) (eqb_true : forall a b, eqb a b = true -> a = b) m n o :
    (live m = false -> o == zero) -> (if eqb m n then o else carry m n o) == carry m n o.
  Proof.
    intros W. destruct (eqb m n) eqn:E; [| reflexivity]. apply eqb_true in E. subst. unfold carry.
    destruct (live n) eqn:L; [symmetry; now apply A_self | now apply W].
  Qed.
End Pass.
Arguments add_tile {M} live {O} add zero A {X}. Arguments two_pass {M} live {O} add zero {X}.
Arguments lift {M} live {O} zero {X}. Arguments empty {M O} zero.

(** Two statistics at once are meaningful when each is, and that is inherited. *)
Definition live_both {M N : monoid} (live : M -> bool) (live' : N -> bool) (m : both M N) : bool :=
  live (fst m) && live' (snd m).

Lemma live_both_left {M N : monoid} (live : M -> bool) (live' : N -> bool) :
  (forall a b, live a = true -> live (a ⊕ b) = true) -> (forall a b, live' a = true -> live' (a ⊕ b) = true) ->
  forall a b, live_both live live' a = true -> live_both live live' (a ⊕ b) = true.
Proof.
  intros H H' a b E. apply andb_true_iff in E. destruct E. apply andb_true_iff. simpl. auto.
Qed.

Lemma live_both_right {M N : monoid} (live : M -> bool) (live' : N -> bool) :
  (forall a b, live b = true -> live (a ⊕ b) = true) -> (forall a b, live' b = true -> live' (a ⊕ b) = true) ->
  forall a b, live_both live live' b = true -> live_both live live' (a ⊕ b) = true.
Proof.
  intros H H' a b E. apply andb_true_iff in E. destruct E. apply andb_true_iff. simpl. auto.
Qed.
