(** Affine forms, reads and substitutions as the front end writes them, and products of monoids. *)

From Coq Require Import Reals ZArith String List Bool FunctionalExtensionality.
From TangEgg Require Export Semantics.
Import ListNotations.

Section Forms.
Context {W : world}.

(** offset + Σ coefficient · index *)
Definition affine := (Z * list (Z * string))%type.
Definition value_of (f : affine) (p : position) : Z :=
  fold_right (fun term acc => (fst term * p (snd term) + acc)%Z) (fst f) (snd f).
Inductive coordinate := Form (f : affine) | Data (x : sc Z).
Definition at_coordinate (c : coordinate) (e : env) : Z := match c with Form f => value_of f (pos e) | Data x => x e end.

Definition Read {A} (source : list Z -> A) (cs : list coordinate) : sc A :=
  fun e => source (map (fun c => at_coordinate c e) cs).

(** Some indices with what replaces them, all at once. *)
Definition substitution := list (string * coordinate).
Fixpoint found (k : substitution) (i : string) : option coordinate :=
  match k with nil => None | (n, c) :: rest => if String.eqb i n then Some c else found rest i end.
Definition view_of (k : substitution) : view :=
  fun e i => match found k i with Some c => at_coordinate c e | None => pos e i end.

Definition plus (a b : affine) : affine := ((fst a + fst b)%Z, snd a ++ snd b).
Definition times (n : Z) (a : affine) : affine := ((n * fst a)%Z, map (fun t => (n * fst t, snd t)%Z) (snd a)).
(** The form with every index replaced by its form; None where an index becomes data. *)
Fixpoint replaced (k : substitution) (offset : Z) (terms : list (Z * string)) : option affine :=
  match terms with
  | nil => Some (offset, nil)
  | (n, i) :: rest =>
      match replaced k offset rest, found k i with
      | Some f, None => Some (plus (0%Z, [(n, i)]) f)
      | Some f, Some (Form g) => Some (plus (times n g) f)
      | _, _ => None
      end
  end.
Definition composed (k : substitution) (c : coordinate) : coordinate :=
  match c with
  | Form f => match replaced k (fst f) (snd f) with
              | Some g => Form g
              | None => Data (fun e => value_of f (view_of k e)) end
  | Data x => Data (Let (view_of k) x)
  end.
Definition compose (k l : substitution) : substitution := map (fun p => (fst p, composed k (snd p))) l ++ k.

(** Sums of reals, and what is dropped of a product of parts. *)
Definition rsum {T} (l : list T) (f : T -> R) : R := fold_right (fun v acc => (f v + acc)%R) 0%R l.
Definition pairs (n : nat) (keep : nat * nat -> bool) : list (nat * nat) := filter keep (list_prod (seq 0 n) (seq 0 n)).
(** [n] parts of each number: part p is small by [u ^ p], and what all leave by [u ^ n]. *)
Definition parts_of (n : nat) (u : R) (a : Z -> R) (part : nat -> Z -> R) : Prop :=
  forall v, (forall p, (p < n)%nat -> (Rabs (part p v) <= (1 + u) * u ^ p * Rabs (a v))%R) /\
  (Rabs (a v - rsum (seq 0 n) (fun p => part p v)) <= u ^ n * Rabs (a v))%R.

Definition both {A B} (m : monoid A) (n : monoid B) : monoid (A * B).
Proof.
  refine (Monoid _ (fun a b => (op m (fst a) (fst b), op n (snd a) (snd b))) (unit_ m, unit_ n) _ _ _).
  - intros [? ?] [? ?] [? ?]; simpl; now rewrite !op_assoc.
  - intros [? ?] [? ?]; simpl; now rewrite (op_comm m), (op_comm n).
  - intros [? ?]; simpl; now rewrite !op_unit.
Defined.

Lemma op_unit_r {A} (m : monoid A) x : op m x (unit_ m) = x.
Proof. rewrite op_comm. apply op_unit. Qed.

(** A monoid of one component as one of states. *)
Definition plainly {A} (m : monoid A) : keyed A :=
  Keyed A A (fun a => a) (op m) (unit_ m) (op_assoc m) (op_unit m) (op_unit_r m).
End Forms.
