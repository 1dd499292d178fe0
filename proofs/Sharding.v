(** A fold over an axis that is cut over ranks is a fold of local states under the same monoid: shares, as in Fold.v. *)

From TangEgg Require Import Lemmas Statements Fold.

Section Sharding.
Context {the_world : world} {the_integers : integers}.
Theorem local : Statements.sharding_local.
Proof. exact split. Qed.
Theorem local_state : Statements.sharding_local_state.
Proof. exact split_state. Qed.
End Sharding.
