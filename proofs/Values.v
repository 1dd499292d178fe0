(** Scalars of the language: real numbers extended by the infinities and NaN of IEEE 754.

    Operations are those of IEEE 754 without rounding and without overflow.  There is one zero: what IEEE leaves to its
    sign (the reciprocal of zero, atan2) is a parameter of the world, see Semantics.v.  Operations are total. *)

From Coq Require Import Reals Lra Psatz Bool.
Open Scope R_scope.

Inductive xr := Fin (r : R) | PInf | NInf | NaN.

Definition isfin (x : xr) : Prop := match x with Fin _ => True | _ => False end.
Definition real_part (x : xr) : R := match x with Fin r => r | _ => 0 end.

Lemma isfin_eq x : isfin x -> x = Fin (real_part x).
Proof. destruct x; simpl; tauto. Qed.

(** An infinity with the sign of a real; NaN for zero. *)
Definition signed_inf (r : R) : xr :=
  match total_order_T 0 r with inleft (left _) => PInf | inleft (right _) => NaN | inright _ => NInf end.

Definition xadd (x y : xr) : xr :=
  match x, y with
  | Fin a, Fin b => Fin (a + b)
  | NaN, _ | _, NaN | PInf, NInf | NInf, PInf => NaN
  | PInf, _ | _, PInf => PInf
  | NInf, _ | _, NInf => NInf
  end.

Definition xneg (x : xr) : xr :=
  match x with Fin a => Fin (- a) | PInf => NInf | NInf => PInf | NaN => NaN end.

Definition xmul (x y : xr) : xr :=
  match x, y with
  | Fin a, Fin b => Fin (a * b)
  | NaN, _ | _, NaN => NaN
  | PInf, Fin r | Fin r, PInf => signed_inf r
  | NInf, Fin r | Fin r, NInf => signed_inf (- r)
  | PInf, PInf | NInf, NInf => PInf
  | _, _ => NInf
  end.

(** NumPy's maximum and minimum: NaN if either is. *)
Definition xmax (x y : xr) : xr :=
  match x, y with
  | NaN, _ | _, NaN => NaN
  | PInf, _ | _, PInf => PInf
  | NInf, z | z, NInf => z
  | Fin a, Fin b => Fin (Rmax a b)
  end.

Definition xmin (x y : xr) : xr :=
  match x, y with
  | NaN, _ | _, NaN => NaN
  | NInf, _ | _, NInf => NInf
  | PInf, z | z, PInf => z
  | Fin a, Fin b => Fin (Rmin a b)
  end.

(** [zero] is the reciprocal of zero. *)
Definition xrecip (zero x : xr) : xr :=
  match x with
  | Fin a => if Req_EM_T a 0 then zero else Fin (/ a)
  | PInf | NInf => Fin 0
  | NaN => NaN
  end.

Definition xexp (x : xr) : xr :=
  match x with Fin a => Fin (exp a) | PInf => PInf | NInf => Fin 0 | NaN => NaN end.

Definition xlog (x : xr) : xr :=
  match x with
  | Fin a => match total_order_T 0 a with
             | inleft (left _) => Fin (ln a) | inleft (right _) => NInf | inright _ => NaN end
  | PInf => PInf | NInf => NaN | NaN => NaN
  end.

Definition xsqrt (x : xr) : xr :=
  match x with
  | Fin a => if Rle_dec 0 a then Fin (sqrt a) else NaN
  | PInf => PInf | NInf => NaN | NaN => NaN
  end.

Definition xsin (x : xr) : xr := match x with Fin a => Fin (sin a) | _ => NaN end.
Definition xfloor (x : xr) : xr := match x with Fin a => Fin (IZR (Int_part a)) | z => z end.

(** A bounded odd function with limits -1 and 1, such as tanh and erf. *)
Definition xsigmoid (f : R -> R) (x : xr) : xr :=
  match x with Fin a => Fin (f a) | PInf => Fin 1 | NInf => Fin (- (1)) | NaN => NaN end.

Definition xlt (x y : xr) : bool :=
  match x, y with
  | NaN, _ | _, NaN => false
  | Fin a, Fin b => if Rlt_dec a b then true else false
  | NInf, NInf => false | NInf, _ => true
  | PInf, _ => false | _, PInf => true
  | _, NInf => false
  end.

Definition xeq (x y : xr) : bool :=
  match x, y with
  | Fin a, Fin b => if Req_EM_T a b then true else false
  | PInf, PInf | NInf, NInf => true
  | _, _ => false
  end.

Definition xle (x y : xr) : bool := xlt x y || xeq x y.

Definition select {A} (c : bool) (x y : A) : A := if c then x else y.

(** Case analysis on the signs that [signed_inf] asks for. *)
Ltac signs := unfold signed_inf; repeat match goal with |- context [total_order_T 0 ?r] =>
  destruct (total_order_T 0 r) as [[?|?]|?] end.

Lemma xadd_comm x y : xadd x y = xadd y x.
Proof. destruct x, y; simpl; auto; f_equal; ring. Qed.
Lemma xadd_assoc x y z : xadd x (xadd y z) = xadd (xadd x y) z.
Proof. destruct x, y, z; simpl; auto; f_equal; ring. Qed.
Lemma xadd_0_l x : xadd (Fin 0) x = x.
Proof. destruct x; simpl; auto; f_equal; ring. Qed.
Lemma xadd_0_r x : xadd x (Fin 0) = x.
Proof. rewrite xadd_comm. apply xadd_0_l. Qed.

Lemma xmul_comm x y : xmul x y = xmul y x.
Proof. destruct x, y; simpl; auto; f_equal; ring. Qed.
Lemma xmul_1_l x : xmul (Fin 1) x = x.
Proof. destruct x; simpl; try (f_equal; ring); signs; auto; exfalso; lra. Qed.
Lemma xmul_1_r x : xmul x (Fin 1) = x.
Proof. rewrite xmul_comm. apply xmul_1_l. Qed.
Lemma xmul_assoc x y z : xmul x (xmul y z) = xmul (xmul x y) z.
Proof.
  destruct x, y, z; simpl; try (f_equal; ring); signs; simpl; signs; try reflexivity;
  exfalso; subst; nra.
Qed.

Lemma xneg_xneg x : xneg (xneg x) = x.
Proof. destruct x; simpl; auto; f_equal; ring. Qed.
Lemma xneg_xadd x y : xneg (xadd x y) = xadd (xneg x) (xneg y).
Proof. destruct x, y; simpl; auto; f_equal; ring. Qed.

Lemma xmax_comm x y : xmax x y = xmax y x.
Proof. destruct x, y; simpl; auto; f_equal; apply Rmax_comm. Qed.
Lemma xmax_assoc x y z : xmax x (xmax y z) = xmax (xmax x y) z.
Proof. destruct x, y, z; simpl; auto; f_equal; apply Rmax_assoc. Qed.
Lemma xmax_l x : xmax NInf x = x.
Proof. destruct x; auto. Qed.
Lemma xmin_comm x y : xmin x y = xmin y x.
Proof. destruct x, y; simpl; auto; f_equal; apply Rmin_comm. Qed.
Lemma xmin_assoc x y z : xmin x (xmin y z) = xmin (xmin x y) z.
Proof. destruct x, y, z; simpl; auto; f_equal; apply Rmin_assoc. Qed.
Lemma xmin_l x : xmin PInf x = x.
Proof. destruct x; auto. Qed.

Lemma xeq_comm x y : xeq x y = xeq y x.
Proof.
  destruct x, y; simpl; auto.
  destruct (Req_EM_T r r0), (Req_EM_T r0 r); auto; exfalso; auto.
Qed.

(** Operations on finite values are those on reals. *)
Lemma isfin_add x y : isfin x -> isfin y -> isfin (xadd x y).
Proof. destruct x, y; simpl; tauto. Qed.
Lemma isfin_mul x y : isfin x -> isfin y -> isfin (xmul x y).
Proof. destruct x, y; simpl; tauto. Qed.
Lemma isfin_max x y : isfin x -> isfin y -> isfin (xmax x y).
Proof. destruct x, y; simpl; tauto. Qed.
Lemma isfin_min x y : isfin x -> isfin y -> isfin (xmin x y).
Proof. destruct x, y; simpl; tauto. Qed.
Lemma isfin_neg x : isfin x -> isfin (xneg x).
Proof. destruct x; simpl; tauto. Qed.
Lemma isfin_exp x : isfin x -> isfin (xexp x).
Proof. destruct x; simpl; tauto. Qed.
#[export] Hint Resolve isfin_add isfin_mul isfin_max isfin_min isfin_neg isfin_exp : finite.
#[export] Hint Extern 1 (isfin (Fin _)) => exact I : finite.
