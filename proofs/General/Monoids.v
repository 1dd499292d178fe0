(** The vocabulary of the general theorems: monoids, folds of lists, trees of combines, real sums.

    A [monoid] is associative with a neutral element; commutativity is a property asked for where it is needed. [big M l
    f] is the fold of [f x] over the list [l]; a [tree] is one way to bracket a fold, and [tree_fold] computes it. Every
    bracketing gives the same value, and so does every order if the monoid is commutative. [optional] adjoins an empty
    state to a semigroup; [both] is the product of monoids. *)
From Coq Require Import List Permutation Reals Lra Lia.
Import ListNotations.
Set Implicit Arguments.

Record monoid := Monoid {
  carrier :> Type;
  op : carrier -> carrier -> carrier;
  neutral : carrier;
  op_assoc : forall a b c, op a (op b c) = op (op a b) c;
  neutral_left : forall a, op neutral a = a;
  neutral_right : forall a, op a neutral = a }.
Arguments op {m}. Arguments neutral {m}. Arguments op_assoc {m}.
Arguments neutral_left {m}. Arguments neutral_right {m}.
Notation "a ⊕ b" := (op a b) (at level 50, left associativity).

Definition commutative (M : monoid) := forall a b : M, a ⊕ b = b ⊕ a.

(** [n] is the combination of [m] with something before it and something after it. *)
Definition below (M : monoid) (m n : M) := exists a b : M, n = a ⊕ m ⊕ b.

Lemma below_refl (M : monoid) (m : M) : below M m m.
Proof. exists neutral, neutral. now rewrite neutral_left, neutral_right. Qed.

Lemma below_left (M : monoid) (m n : M) : below M m (m ⊕ n).
Proof. exists neutral, n. now rewrite neutral_left. Qed.

Lemma below_right (M : monoid) (m n : M) : below M n (m ⊕ n).
Proof. exists m, neutral. now rewrite neutral_right. Qed.

Lemma below_trans (M : monoid) (m n p : M) : below M m n -> below M n p -> below M m p.
Proof.
  intros (a & b & ->) (c & d & ->). exists (c ⊕ a), (b ⊕ d). now rewrite !op_assoc.
Qed.

(** ** Folds of lists *)

Fixpoint big (M : monoid) {A : Type} (l : list A) (f : A -> M) : M :=
  match l with [] => neutral | x :: r => f x ⊕ big M r f end.

Section Big.
  Variables (M : monoid) (A : Type).
  Implicit Types (l : list A) (f g : A -> M).

  Lemma big_app l l' f : big M (l ++ l') f = big M l f ⊕ big M l' f.
  Proof. induction l; simpl; [now rewrite neutral_left | now rewrite IHl, op_assoc]. Qed.

  Lemma big_ext l f g : (forall x, In x l -> f x = g x) -> big M l f = big M l g.
  Proof. induction l; simpl; intros H; [easy | rewrite IHl, H; auto]. Qed.

  Lemma big_neutral l : big M l (fun _ => neutral) = neutral.
  Proof. induction l; simpl; [easy | now rewrite neutral_left]. Qed.

  Lemma big_single x f : big M [x] f = f x.
  Proof. apply neutral_right. Qed.

  Lemma big_map {B} (h : B -> A) (l : list B) f : big M (map h l) f = big M l (fun x => f (h x)).
  Proof. induction l; simpl; congruence. Qed.

  Lemma big_concat (ls : list (list A)) f : big M (concat ls) f = big M ls (fun l => big M l f).
  Proof. induction ls; simpl; [easy | now rewrite big_app, IHls]. Qed.

  Lemma big_flat_map {B} (h : B -> list A) (l : list B) f :
    big M (flat_map h l) f = big M l (fun x => big M (h x) f).
  Proof. induction l; simpl; [easy | now rewrite big_app, IHl]. Qed.

  (** A filter is a guard that yields the neutral element: a domain is a select. *)
  Lemma big_filter (p : A -> bool) l f : big M (filter p l) f = big M l (fun x => if p x then f x else neutral).
  Proof. induction l; simpl; [easy |]. destruct (p a); simpl; rewrite IHl; [easy | now rewrite neutral_left]. Qed.

  Lemma big_below x l f : In x l -> below M (f x) (big M l f).
  Proof.
    induction l; simpl; [easy |]. intros [<- | H]; [apply below_left |].
    eapply below_trans; [now apply IHl | apply below_right].
  Qed.

  (** A stream that carries the state so far computes the fold. *)
  Lemma big_stream_from l f s : fold_left (fun s x => s ⊕ f x) l s = s ⊕ big M l f.
  Proof.
    revert s. induction l; simpl; intros; [now rewrite neutral_right | now rewrite IHl, op_assoc].
  Qed.

  Theorem big_stream l f : fold_left (fun s x => s ⊕ f x) l neutral = big M l f.
  Proof. rewrite big_stream_from. apply neutral_left. Qed.

  Hypothesis comm : commutative M.

  Lemma big_perm l l' f : Permutation l l' -> big M l f = big M l' f.
  Proof.
    induction 1; simpl; try congruence.
    now rewrite !op_assoc, (comm (f y)).
  Qed.

  Lemma big_op l f g : big M l (fun x => f x ⊕ g x) = big M l f ⊕ big M l g.
  Proof.
    induction l; simpl; [now rewrite neutral_left |]. rewrite IHl, !op_assoc. f_equal.
    rewrite <- !op_assoc. f_equal. apply comm.
  Qed.
End Big.

Lemma big_interchange (M : monoid) (comm : commutative M) {A B} (l : list A) (l' : list B) (f : A -> B -> M) :
  big M l (fun x => big M l' (f x)) = big M l' (fun y => big M l (fun x => f x y)).
Proof.
  induction l; simpl; [now rewrite big_neutral |]. now rewrite IHl, <- big_op.
Qed.

(** ** Trees: every bracketing *)

Inductive tree (A : Type) := Empty | Leaf (x : A) | Node (left right : tree A).
Arguments Empty {A}.

Fixpoint leaves {A} (t : tree A) : list A :=
  match t with Empty => [] | Leaf x => [x] | Node t u => leaves t ++ leaves u end.

Fixpoint tree_fold {A S} (join : S -> S -> S) (empty : S) (lift : A -> S) (t : tree A) : S :=
  match t with
  | Empty => empty
  | Leaf x => lift x
  | Node t u => join (tree_fold join empty lift t) (tree_fold join empty lift u)
  end.

(** The tree of a stream: each element is joined to what came before it. *)
Definition comb_from {A} (t : tree A) (l : list A) := fold_left (fun t x => Node t (Leaf x)) l t.
Definition comb {A} (l : list A) := comb_from Empty l.

Lemma leaves_comb_from {A} (l : list A) t : leaves (comb_from t l) = leaves t ++ l.
Proof.
  revert t. unfold comb_from. induction l; simpl; intros; [now rewrite app_nil_r |].
  rewrite IHl. simpl. now rewrite <- app_assoc.
Qed.

Lemma leaves_comb {A} (l : list A) : leaves (comb l) = l.
Proof. apply leaves_comb_from. Qed.

Lemma fold_comb_from {A S} (join : S -> S -> S) empty (lift : A -> S) l t :
  tree_fold join empty lift (comb_from t l) = fold_left (fun s x => join s (lift x)) l (tree_fold join empty lift t).
Proof. revert t. unfold comb_from. induction l; simpl; intros; [easy | now rewrite IHl]. Qed.

Lemma fold_comb {A S} (join : S -> S -> S) empty (lift : A -> S) l :
  tree_fold join empty lift (comb l) = fold_left (fun s x => join s (lift x)) l empty.
Proof. apply fold_comb_from. Qed.

Theorem tree_fold_big (M : monoid) {A} (f : A -> M) t : tree_fold op neutral f t = big M (leaves t) f.
Proof.
  induction t; simpl; [easy | now rewrite neutral_right | now rewrite IHt1, IHt2, big_app].
Qed.

(** ** New monoids from old *)

Program Definition both (M N : monoid) : monoid :=
  {| carrier := M * N; op := fun a b => (fst a ⊕ fst b, snd a ⊕ snd b); neutral := (neutral, neutral) |}.
Next Obligation. now rewrite !op_assoc. Qed.
Next Obligation. now rewrite !neutral_left. Qed.
Next Obligation. now rewrite !neutral_right. Qed.

Lemma both_commutative (M N : monoid) : commutative M -> commutative N -> commutative (both M N).
Proof. intros HM HN [a b] [c d]. simpl. now rewrite HM, HN. Qed.

Record semigroup := Semigroup {
  points :> Type;
  plus : points -> points -> points;
  plus_assoc : forall a b c, plus a (plus b c) = plus (plus a b) c }.
Arguments plus {s}. Arguments plus_assoc {s}.

Definition optional_op (S : semigroup) (a b : option S) : option S :=
  match a, b with None, _ => b | _, None => a | Some x, Some y => Some (plus x y) end.

Program Definition optional (S : semigroup) : monoid := {| op := @optional_op S; neutral := None |}.
Next Obligation. destruct a, b, c; simpl; try easy. now rewrite plus_assoc. Qed.
Next Obligation. now destruct a. Qed.

Lemma optional_commutative (S : semigroup) :
  (forall a b : S, plus a b = plus b a) -> commutative (optional S).
Proof. intros H [a |] [b |]; simpl; try easy. now rewrite H. Qed.

Definition is_some {A} (a : option A) : bool := match a with Some _ => true | None => false end.

(** ** Numbers *)

Open Scope R_scope.

Program Definition Sum : monoid := {| carrier := R; op := Rplus; neutral := 0 |}.
Next Obligation. ring. Qed.
Next Obligation. ring. Qed.
Next Obligation. ring. Qed.

Program Definition Product : monoid := {| carrier := R; op := Rmult; neutral := 1 |}.
Next Obligation. ring. Qed.
Next Obligation. ring. Qed.
Next Obligation. ring. Qed.

Program Definition Count : monoid := {| carrier := nat; op := Nat.add; neutral := O |}.
Next Obligation. lia. Qed.

Program Definition Larger : semigroup := {| points := R; plus := Rmax |}.
Next Obligation. apply Rmax_assoc. Qed.

(** The maximum with an empty state, which stands for the neutral -inf. *)
Definition Max : monoid := optional Larger.

Lemma Sum_commutative : commutative Sum.
Proof. intros a b. apply Rplus_comm. Qed.

Lemma Product_commutative : commutative Product.
Proof. intros a b. apply Rmult_comm. Qed.

Lemma Count_commutative : commutative Count.
Proof. intros a b. apply PeanoNat.Nat.add_comm. Qed.

Lemma Max_commutative : commutative Max.
Proof. apply optional_commutative, Rmax_comm. Qed.

(** Real sums. *)
Definition sum {A} (l : list A) (f : A -> R) : R := big Sum l f.

Lemma sum_nil {A} (f : A -> R) : sum [] f = 0.
Proof. easy. Qed.

Lemma sum_cons {A} x l (f : A -> R) : sum (x :: l) f = f x + sum l f.
Proof. easy. Qed.

Lemma sum_app {A} l l' (f : A -> R) : sum (l ++ l') f = sum l f + sum l' f.
Proof. apply (big_app Sum). Qed.

Lemma sum_ext {A} l (f g : A -> R) : (forall x, In x l -> f x = g x) -> sum l f = sum l g.
Proof. apply (big_ext Sum). Qed.

Lemma sum_map {A B} (h : B -> A) l (f : A -> R) : sum (map h l) f = sum l (fun x => f (h x)).
Proof. apply (big_map Sum). Qed.

Lemma sum_zero {A} (l : list A) : sum l (fun _ => 0) = 0.
Proof. apply (big_neutral Sum). Qed.

Lemma sum_plus {A} l (f g : A -> R) : sum l (fun x => f x + g x) = sum l f + sum l g.
Proof. apply (big_op Sum_commutative). Qed.

Lemma sum_scale {A} l c (f : A -> R) : sum l (fun x => c * f x) = c * sum l f.
Proof. induction l; rewrite ?sum_cons; [unfold sum; simpl; ring | rewrite IHl; ring]. Qed.

Lemma sum_scale_right {A} l c (f : A -> R) : sum l (fun x => f x * c) = sum l f * c.
Proof. induction l; rewrite ?sum_cons; [unfold sum; simpl; ring | rewrite IHl; ring]. Qed.

Lemma sum_interchange {A B} (l : list A) (l' : list B) f :
  sum l (fun x => sum l' (f x)) = sum l' (fun y => sum l (fun x => f x y)).
Proof. apply (big_interchange Sum_commutative). Qed.

Lemma sum_le {A} l (f g : A -> R) : (forall x, In x l -> f x <= g x) -> sum l f <= sum l g.
Proof.
  induction l; intros H; [apply Rle_refl |]. rewrite !sum_cons.
  apply Rplus_le_compat; [apply H | apply IHl; intros; apply H]; simpl; auto.
Qed.

Lemma sum_nonneg {A} l (f : A -> R) : (forall x, In x l -> 0 <= f x) -> 0 <= sum l f.
Proof. intros H. rewrite <- (sum_zero l). now apply sum_le. Qed.
