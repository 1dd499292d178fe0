(** What a part of a pass, folded at a statistic of its own, gives when it is carried to that of all points. *)

From Coq Require Import Reals ZArith String List Bool FunctionalExtensionality.
From TangEgg Require Import Lemmas.
Import ListNotations.

Section Pass.
Context {the_world : world}.

Lemma carried_part (o : monoid xr) (b f : sc xr) (t : kept) j (h : statistic_value -> R) l e :
  abstracts b j f -> carried o j f t -> ok e -> incl l (range j) ->
  carry o j t l h e = fold o l (fun v => b (set j v e)).
Proof.
  intros A C O I. unfold carry. destruct l as [|v l]; auto. cbv zeta.
  match goal with |- t _ ?x = _ => set (from := x) end.
  assert (Of : ok from).
  { destruct O as [P [H D]]. split; [|split]; simpl; auto.
    - intros F s S. specialize (S (pos e) P). now destruct (s (pos e)).
    - intros s. now destruct (s (pos e)). }
  rewrite <- (C from (v :: l) Of I). apply fold_ext. intros u U.
  assert (Ou : ok (set j u e)) by auto using ok_point.
  assert (Shifted : Semantics.hole (shift from) = fun s => s (pos e)).
  { apply functional_extensionality. intros s. simpl. destruct (s (pos e)); simpl; auto. f_equal. ring. }
  destruct A as [_ A]. rewrite <- (A (set j u e) (Semantics.hole (shift from)) (delta from) Ou); auto.
  - split; [apply Ou|]. split; [|apply Of]. intros F s S. rewrite Shifted. simpl. apply S, O.
  - intros m M. rewrite Shifted. simpl. symmetry. apply M; auto using range_allowed. now destruct O.
Qed.
End Pass.
