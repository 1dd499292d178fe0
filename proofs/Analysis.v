(** The e-graph's own analyses: the names on which a term depends, and terms without holes; commutative operations. *)

From Coq Require Import Reals ZArith String List Bool FunctionalExtensionality.
From TangEgg Require Import Lemmas Statements.
Import ListNotations.

Section Analysis.
Context {the_world : world} {the_integers : integers}.

(** Names. *)
Lemma agree_left F G a b : agree (set_union F G) a b -> agree F a b.
Proof.
  unfold agree, set_union. intros [P [H D]]. repeat split; intros; [apply P | apply H | apply D];
  now rewrite H0.
Qed.
Lemma agree_right F G a b : agree (set_union F G) a b -> agree G a b.
Proof.
  unfold agree, set_union. intros [P [H D]]. repeat split; intros; [apply P | apply H | apply D];
  now rewrite H0, orb_true_r.
Qed.
Lemma agree_point F j v a b : index j -> agree (set_remove F j) a b -> agree F (set j v a) (set j v b).
Proof.
  intros [JH JD] [P [H D]]. unfold set_remove in *. repeat split; simpl.
  - intros i I. unfold move_to. destruct (String.eqb_spec i j); auto. apply P. rewrite I. simpl.
    apply negb_true_iff. now apply String.eqb_neq.
  - intros I. apply H. rewrite I. rewrite (proj2 (String.eqb_neq HOLE j)); auto.
  - intros I. apply D. rewrite I. rewrite (proj2 (String.eqb_neq DELTA j)); auto.
Qed.

(** Facts about one class meet by intersection, as `:merge (set-intersect old new)` has it. *)
Theorem fv_merge {A} (x : sc A) F G : depends x F -> depends x G -> depends x (set_intersect F G).
Proof.
  intros DF DG a b [PA [HA SA]] [PB [HB SB]] [P [H S]].
  set (c := Env (fun i => if F i then pos a i else pos b i) (if F HOLE then hole a else hole b)
                (if F DELTA then delta a else delta b)).
  assert (O : ok c).
  { repeat split; simpl; [intros i; destruct (F i); auto | destruct (F HOLE); auto | destruct (F DELTA); auto]. }
  transitivity (x c).
  - apply DF; auto; [now repeat split|]. repeat split; simpl; intros; try rewrite H0; auto.
  - apply DG; auto; [now repeat split|]. unfold set_intersect in *. repeat split; simpl; intros.
    + destruct (F i) eqn:E; auto. apply P. now rewrite E.
    + destruct (F HOLE) eqn:E; auto.
    + destruct (F DELTA) eqn:E; auto.
Qed.

Theorem fv_lit : Statements.fv_lit.
Proof. intros T e v E a b A B _. now rewrite (E a A), (E b B). Qed.
Theorem fv_ap1 : Statements.fv_ap1.
Proof. intros T U e f x F E D a b A B H. rewrite (E a A), (E b B). unfold Ap1. now rewrite (D a b). Qed.
Theorem fv_ap2 : Statements.fv_ap2.
Proof.
  intros T U V e f x y F G E D D' a b A B H. rewrite (E a A), (E b B). unfold Ap2.
  now rewrite (D a b A B (agree_left _ _ _ _ H)), (D' a b A B (agree_right _ _ _ _ H)).
Qed.
Theorem fv_ap3 : Statements.fv_ap3.
Proof.
  intros T U V R e f x y z F G K E D D' D'' a b A B H. rewrite (E a A), (E b B). unfold Ap3.
  pose proof (agree_right _ _ _ _ H) as H'.
  now rewrite (D a b A B (agree_left _ _ _ _ H)), (D' a b A B (agree_left _ _ _ _ H')),
    (D'' a b A B (agree_right _ _ _ _ H')).
Qed.
Lemma red_same {T} (m : monoid T) j (w : sc bool) (x : sc T) a b :
  (forall v, In v (range j) -> w (set j v a) = w (set j v b) /\ x (set j v a) = x (set j v b)) ->
  Red m j w x a = Red m j w x b.
Proof.
  intros H. unfold Red, points. rewrite !fold_filter. apply fold_ext. intros v V. now destruct (H v V) as [-> ->].
Qed.
Theorem fv_red : Statements.fv_red.
Proof.
  intros T e m j w x F G J E D D' a b A B H. rewrite (E a A), (E b B). apply red_same. intros v V.
  pose proof (agree_point _ _ v _ _ J H) as P.
  split; [apply D | apply D']; eauto using ok_point, agree_left, agree_right.
Qed.
Theorem fv_let : Statements.fv_let.
Proof.
  intros T e k x F D J E Dx [DI [K [Out In]]] a b A B H. rewrite (E a A), (E b B). unfold Let. apply Dx; auto.
  destruct H as [P [Ho De]]. unfold set_union, set_diff in *. repeat split; simpl.
  - intros i I. destruct (D i) eqn:Di.
    + apply In; auto. intros n N. apply P. now rewrite N, orb_true_r.
    + rewrite !Out; auto. apply P. now rewrite I, Di.
  - intros I. apply Ho. rewrite I. destruct (D HOLE) eqn:Di; auto. now destruct (DI _ Di).
  - intros I. apply De. rewrite I. destruct (D DELTA) eqn:Di; auto. now destruct (DI _ Di).
Qed.
Theorem fv_at : Statements.fv_at.
Proof.
  intros T e j c x F G P J E Dc Dx a b A B H. rewrite (E a A), (E b B). unfold At.
  pose proof (P _ B) as PB. rewrite (Dc a b A B (agree_left _ _ _ _ H)). apply Dx; try (apply ok_set; auto).
  apply agree_point; auto. eapply agree_right; eauto.
Qed.
Theorem fv_hole : Statements.fv_hole.
Proof. intros e m E a b A B [_ [H _]]. rewrite (E a A), (E b B). unfold Hole. now rewrite H. Qed.
Theorem fv_delta : Statements.fv_delta.
Proof. intros e m E a b A B [_ [_ H]]. rewrite (E a A), (E b B). unfold Delta. now rewrite H. Qed.
Theorem fv_keep : Statements.fv_keep.
Proof. intros e k x E a b A B _. now rewrite (E a A), (E b B). Qed.

(** Which classes a cascade may look into: bookkeeping that claims nothing. *)
Ltac nothing := intros; red; intros; exact I.
Theorem finished_red : Statements.finished_red. Proof. nothing. Qed.
Theorem finished_below : Statements.finished_below. Proof. nothing. Qed.
Theorem finished_ap1 : Statements.finished_ap1. Proof. nothing. Qed.
Theorem finished_left : Statements.finished_left. Proof. nothing. Qed.
Theorem finished_right : Statements.finished_right. Proof. nothing. Qed.
Theorem finished_first : Statements.finished_first. Proof. nothing. Qed.
Theorem finished_second : Statements.finished_second. Proof. nothing. Qed.
Theorem finished_third : Statements.finished_third. Proof. nothing. Qed.

Theorem clean_leaf : Statements.clean_leaf.
Proof. intros T e k j J E a b A B P. rewrite (E a A), (E b B). unfold Leaf. now rewrite P. Qed.
Theorem clean_lit : Statements.clean_lit.
Proof. intros T e v j J E a b A B P. now rewrite (E a A), (E b B). Qed.
Theorem clean_gather : Statements.clean_gather.
Proof. intros T U e k v j J E a b A B P. rewrite (E a A), (E b B). unfold Gather, Leaf. now rewrite P. Qed.
Lemma depends_clean {T} (x : sc T) F j : depends x F -> F HOLE = false -> F DELTA = false -> clean x j.
Proof. intros D H K a b A B P. apply D; auto. repeat split; intros; try congruence. Qed.
Theorem clean_let : Statements.clean_let.
Proof.
  intros T e k x D J F j _ E [DI [K [Out In]]] Dx FH FD a b A B P. rewrite (E a A), (E b B). unfold Let.
  eapply depends_clean; eauto. simpl. apply functional_extensionality. intros i. destruct (D i) eqn:Di.
  - apply In; auto. intros n _. now rewrite P.
  - rewrite !Out; auto. now rewrite P.
Qed.
Theorem clean_at : Statements.clean_at.
Proof.
  intros T e i c x F G j Q _ _ E Dc HF KF Dx HG KG a b A B P. rewrite (E a A), (E b B). unfold At.
  pose proof (Q _ B) as QB. rewrite (depends_clean c F i Dc HF KF a b A B P).
  apply (depends_clean x G i Dx HG KG); try (apply ok_set; auto). simpl. now rewrite P.
Qed.
Theorem clean_ap1 : Statements.clean_ap1.
Proof. intros T U e f x j J E C a b A B P. rewrite (E a A), (E b B). unfold Ap1. now rewrite (C a b). Qed.
Theorem clean_ap2 : Statements.clean_ap2.
Proof.
  intros T U V e f x y j J E C C' a b A B P. rewrite (E a A), (E b B). unfold Ap2. now rewrite (C a b), (C' a b).
Qed.
Theorem clean_ap3 : Statements.clean_ap3.
Proof.
  intros T U V R e f x y z j J E C C' C'' a b A B P. rewrite (E a A), (E b B). unfold Ap3.
  now rewrite (C a b), (C' a b), (C'' a b).
Qed.
Theorem clean_red : Statements.clean_red.
Proof.
  intros T e m i w x j _ _ E N C C' a b A B P. rewrite (E a A), (E b B). apply red_same. intros v V.
  split; [apply C | apply C']; auto using ok_point; simpl; now rewrite P.
Qed.

Theorem clean_other : Statements.clean_other.
Proof. red. intros. eapply depends_clean; eauto. Qed.

Ltac commutes lemma := intros x y e O; unfold Ap2; apply lemma.
Theorem commutes_add : Statements.commutes_add. Proof. commutes xadd_comm. Qed.
Theorem commutes_mul : Statements.commutes_mul. Proof. commutes xmul_comm. Qed.
Theorem commutes_max : Statements.commutes_max. Proof. commutes xmax_comm. Qed.
Theorem commutes_min : Statements.commutes_min. Proof. commutes xmin_comm. Qed.
Theorem commutes_and : Statements.commutes_and. Proof. commutes andb_comm. Qed.
Theorem commutes_or : Statements.commutes_or. Proof. commutes orb_comm. Qed.
End Analysis.
