(** Folds over one index and domain are one fold under the product monoid. *)

From Coq Require Import ZArith String List Bool.
From TangEgg Require Import Lemmas Statements.

Section Sibling.
Context {the_world : world} {the_integers : integers}.

Theorem member_fold : Statements.sibling_member_fold.
Proof. red. intros. eapply a_fold. eassumption. Qed.
Theorem member_pass : Statements.sibling_member_pass.
Proof. red. intros. eapply a_pass. eassumption. Qed.
Theorem join : Statements.sibling_join.
Proof.
  intros T U m n j w x y e O. unfold Red, Ap2. induction (points j w e); simpl; auto. rewrite <- IHl. reflexivity.
Qed.
End Sibling.
