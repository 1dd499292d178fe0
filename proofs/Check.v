(** Written by `python -m proofs.generate` from the law table: do not edit. *)
From TangEgg Require Semantics Statements.
Require TangEgg.Analysis.
Require TangEgg.Cascade.
Require TangEgg.Domain.
Require TangEgg.Fold.
Require TangEgg.Gather.
Require TangEgg.Precision.
Require TangEgg.Scalar.
Require TangEgg.Scan.
Require TangEgg.Sharding.
Require TangEgg.Sibling.
Require TangEgg.View.

Section Check.
Context {the_world : Semantics.world} {the_integers : Semantics.integers}.
Definition fv_lit : Statements.fv_lit := TangEgg.Analysis.fv_lit.
Definition fv_ap1 : Statements.fv_ap1 := TangEgg.Analysis.fv_ap1.
Definition fv_ap2 : Statements.fv_ap2 := TangEgg.Analysis.fv_ap2.
Definition fv_ap3 : Statements.fv_ap3 := TangEgg.Analysis.fv_ap3.
Definition fv_red : Statements.fv_red := TangEgg.Analysis.fv_red.
Definition fv_let : Statements.fv_let := TangEgg.Analysis.fv_let.
Definition fv_at : Statements.fv_at := TangEgg.Analysis.fv_at.
Definition fv_hole : Statements.fv_hole := TangEgg.Analysis.fv_hole.
Definition fv_delta : Statements.fv_delta := TangEgg.Analysis.fv_delta.
Definition fv_keep : Statements.fv_keep := TangEgg.Analysis.fv_keep.
Definition finished_red : Statements.finished_red := TangEgg.Analysis.finished_red.
Definition finished_below : Statements.finished_below := TangEgg.Analysis.finished_below.
Definition finished_ap1 : Statements.finished_ap1 := TangEgg.Analysis.finished_ap1.
Definition finished_left : Statements.finished_left := TangEgg.Analysis.finished_left.
Definition finished_right : Statements.finished_right := TangEgg.Analysis.finished_right.
Definition finished_first : Statements.finished_first := TangEgg.Analysis.finished_first.
Definition finished_second : Statements.finished_second := TangEgg.Analysis.finished_second.
Definition finished_third : Statements.finished_third := TangEgg.Analysis.finished_third.
Definition clean_leaf : Statements.clean_leaf := TangEgg.Analysis.clean_leaf.
Definition clean_lit : Statements.clean_lit := TangEgg.Analysis.clean_lit.
Definition clean_gather : Statements.clean_gather := TangEgg.Analysis.clean_gather.
Definition clean_let : Statements.clean_let := TangEgg.Analysis.clean_let.
Definition clean_at : Statements.clean_at := TangEgg.Analysis.clean_at.
Definition clean_ap1 : Statements.clean_ap1 := TangEgg.Analysis.clean_ap1.
Definition clean_ap2 : Statements.clean_ap2 := TangEgg.Analysis.clean_ap2.
Definition clean_ap3 : Statements.clean_ap3 := TangEgg.Analysis.clean_ap3.
Definition clean_red : Statements.clean_red := TangEgg.Analysis.clean_red.
Definition clean_other : Statements.clean_other := TangEgg.Analysis.clean_other.
Definition commutes_add : Statements.commutes_add := TangEgg.Analysis.commutes_add.
Definition commutes_and : Statements.commutes_and := TangEgg.Analysis.commutes_and.
Definition commutes_max : Statements.commutes_max := TangEgg.Analysis.commutes_max.
Definition commutes_min : Statements.commutes_min := TangEgg.Analysis.commutes_min.
Definition commutes_mul : Statements.commutes_mul := TangEgg.Analysis.commutes_mul.
Definition commutes_or : Statements.commutes_or := TangEgg.Analysis.commutes_or.
Definition view_map : Statements.view_map := TangEgg.View.map.
Definition view_map_two : Statements.view_map_two := TangEgg.View.map_two.
Definition view_map_three : Statements.view_map_three := TangEgg.View.map_three.
Definition view_fold : Statements.view_fold := TangEgg.View.fold.
Definition view_absent : Statements.view_absent := TangEgg.View.absent.
Definition view_read : Statements.view_read := TangEgg.View.read.
Definition view_compose : Statements.view_compose := TangEgg.View.compose.
Definition scalar_mul_one : Statements.scalar_mul_one := TangEgg.Scalar.mul_one.
Definition scalar_neg_neg : Statements.scalar_neg_neg := TangEgg.Scalar.neg_neg.
Definition scalar_add_zero : Statements.scalar_add_zero := TangEgg.Scalar.add_zero.
Definition scalar_mul_zero : Statements.scalar_mul_zero := TangEgg.Scalar.mul_zero.
Definition scalar_cancel : Statements.scalar_cancel := TangEgg.Scalar.cancel.
Definition scalar_neg_zero : Statements.scalar_neg_zero := TangEgg.Scalar.neg_zero.
Definition scalar_exp_zero : Statements.scalar_exp_zero := TangEgg.Scalar.exp_zero.
Definition scalar_exp_lowest : Statements.scalar_exp_lowest := TangEgg.Scalar.exp_lowest.
Definition scalar_recip_one : Statements.scalar_recip_one := TangEgg.Scalar.recip_one.
Definition scalar_and_true : Statements.scalar_and_true := TangEgg.Scalar.and_true.
Definition scalar_and_false : Statements.scalar_and_false := TangEgg.Scalar.and_false.
Definition scalar_and_same : Statements.scalar_and_same := TangEgg.Scalar.and_same.
Definition scalar_select_true : Statements.scalar_select_true := TangEgg.Scalar.select_true.
Definition scalar_select_false : Statements.scalar_select_false := TangEgg.Scalar.select_false.
Definition scalar_select_same : Statements.scalar_select_same := TangEgg.Scalar.select_same.
Definition scalar_exp_difference : Statements.scalar_exp_difference := TangEgg.Scalar.exp_difference.
Definition scalar_cancel_shift : Statements.scalar_cancel_shift := TangEgg.Scalar.cancel_shift.
Definition scalar_cancel_scale : Statements.scalar_cancel_scale := TangEgg.Scalar.cancel_scale.
Definition scalar_quotient_one : Statements.scalar_quotient_one := TangEgg.Scalar.quotient_one.
Definition scalar_exp_product : Statements.scalar_exp_product := TangEgg.Scalar.exp_product.
Definition scalar_log_exp : Statements.scalar_log_exp := TangEgg.Scalar.log_exp.
Definition scalar_log_scaled : Statements.scalar_log_scaled := TangEgg.Scalar.log_scaled.
Definition scalar_log_recip : Statements.scalar_log_recip := TangEgg.Scalar.log_recip.
Definition scalar_exp_between : Statements.scalar_exp_between := TangEgg.Scalar.exp_between.
Definition domain_neutral_sum : Statements.domain_neutral_sum := TangEgg.Domain.neutral_sum.
Definition domain_neutral_max : Statements.domain_neutral_max := TangEgg.Domain.neutral_max.
Definition domain_neutral_min : Statements.domain_neutral_min := TangEgg.Domain.neutral_min.
Definition domain_neutral_product : Statements.domain_neutral_product := TangEgg.Domain.neutral_product.
Definition domain_neutral_any : Statements.domain_neutral_any := TangEgg.Domain.neutral_any.
Definition domain_neutral_all : Statements.domain_neutral_all := TangEgg.Domain.neutral_all.
Definition domain_narrow : Statements.domain_narrow := TangEgg.Domain.narrow.
Definition domain_narrow_not : Statements.domain_narrow_not := TangEgg.Domain.narrow_not.
Definition domain_empty : Statements.domain_empty := TangEgg.Domain.empty.
Definition domain_doubt_0 : Statements.domain_doubt_0 := TangEgg.Domain.doubt_0.
Definition domain_doubt_1 : Statements.domain_doubt_1 := TangEgg.Domain.doubt_1.
Definition domain_implies_part : Statements.domain_implies_part := TangEgg.Domain.implies_part.
Definition domain_implies_left : Statements.domain_implies_left := TangEgg.Domain.implies_left.
Definition domain_implies_right : Statements.domain_implies_right := TangEgg.Domain.implies_right.
Definition domain_implies_both : Statements.domain_implies_both := TangEgg.Domain.implies_both.
Definition domain_implies_guard : Statements.domain_implies_guard := TangEgg.Domain.implies_guard.
Definition domain_implies_guarded : Statements.domain_implies_guarded := TangEgg.Domain.implies_guarded.
Definition domain_known : Statements.domain_known := TangEgg.Domain.known.
Definition domain_alike : Statements.domain_alike := TangEgg.Domain.alike.
Definition domain_select_under : Statements.domain_select_under := TangEgg.Domain.select_under.
Definition domain_select_over : Statements.domain_select_over := TangEgg.Domain.select_over.
Definition domain_select_beside : Statements.domain_select_beside := TangEgg.Domain.select_beside.
Definition domain_any : Statements.domain_any := TangEgg.Domain.any.
Definition domain_finite_literal : Statements.domain_finite_literal := TangEgg.Domain.finite_literal.
Definition domain_finite_sum : Statements.domain_finite_sum := TangEgg.Domain.finite_sum.
Definition domain_finite_product : Statements.domain_finite_product := TangEgg.Domain.finite_product.
Definition domain_finite_max : Statements.domain_finite_max := TangEgg.Domain.finite_max.
Definition domain_finite_min : Statements.domain_finite_min := TangEgg.Domain.finite_min.
Definition domain_finite_select : Statements.domain_finite_select := TangEgg.Domain.finite_select.
Definition domain_finite_neg : Statements.domain_finite_neg := TangEgg.Domain.finite_neg.
Definition domain_finite_exp : Statements.domain_finite_exp := TangEgg.Domain.finite_exp.
Definition domain_finite_sin : Statements.domain_finite_sin := TangEgg.Domain.finite_sin.
Definition domain_finite_tanh : Statements.domain_finite_tanh := TangEgg.Domain.finite_tanh.
Definition domain_finite_erf : Statements.domain_finite_erf := TangEgg.Domain.finite_erf.
Definition domain_finite_floor : Statements.domain_finite_floor := TangEgg.Domain.finite_floor.
Definition domain_finite_two_add : Statements.domain_finite_two_add := TangEgg.Domain.finite_two_add.
Definition domain_finite_two_mul : Statements.domain_finite_two_mul := TangEgg.Domain.finite_two_mul.
Definition domain_finite_two_max : Statements.domain_finite_two_max := TangEgg.Domain.finite_two_max.
Definition domain_finite_two_min : Statements.domain_finite_two_min := TangEgg.Domain.finite_two_min.
Definition domain_positive_one : Statements.domain_positive_one := TangEgg.Domain.positive_one.
Definition domain_positive_exp : Statements.domain_positive_exp := TangEgg.Domain.positive_exp.
Definition domain_positive_recip : Statements.domain_positive_recip := TangEgg.Domain.positive_recip.
Definition domain_positive_sqrt : Statements.domain_positive_sqrt := TangEgg.Domain.positive_sqrt.
Definition domain_positive_two_add : Statements.domain_positive_two_add := TangEgg.Domain.positive_two_add.
Definition domain_positive_two_mul : Statements.domain_positive_two_mul := TangEgg.Domain.positive_two_mul.
Definition domain_positive_two_max : Statements.domain_positive_two_max := TangEgg.Domain.positive_two_max.
Definition domain_positive_two_min : Statements.domain_positive_two_min := TangEgg.Domain.positive_two_min.
Definition domain_positive_select : Statements.domain_positive_select := TangEgg.Domain.positive_select.
Definition domain_positive_sum : Statements.domain_positive_sum := TangEgg.Domain.positive_sum.
Definition domain_positive_max : Statements.domain_positive_max := TangEgg.Domain.positive_max.
Definition domain_positive_min : Statements.domain_positive_min := TangEgg.Domain.positive_min.
Definition domain_positive_product : Statements.domain_positive_product := TangEgg.Domain.positive_product.
Definition domain_finite_positive : Statements.domain_finite_positive := TangEgg.Domain.finite_positive.
Definition domain_select_exp : Statements.domain_select_exp := TangEgg.Domain.select_exp.
Definition domain_select_add : Statements.domain_select_add := TangEgg.Domain.select_add.
Definition domain_select_mul : Statements.domain_select_mul := TangEgg.Domain.select_mul.
Definition domain_select_neg : Statements.domain_select_neg := TangEgg.Domain.select_neg.
Definition fold_want_sum : Statements.fold_want_sum := TangEgg.Fold.want_sum.
Definition fold_want_product : Statements.fold_want_product := TangEgg.Fold.want_product.
Definition fold_want_negated : Statements.fold_want_negated := TangEgg.Fold.want_negated.
Definition fold_split_invariant : Statements.fold_split_invariant := TangEgg.Fold.split_invariant.
Definition fold_atom_leaf : Statements.fold_atom_leaf := TangEgg.Fold.atom_leaf.
Definition fold_atom_gather : Statements.fold_atom_gather := TangEgg.Fold.atom_gather.
Definition fold_atom_view : Statements.fold_atom_view := TangEgg.Fold.atom_view.
Definition fold_atom_map : Statements.fold_atom_map := TangEgg.Fold.atom_map.
Definition fold_atom_map_two : Statements.fold_atom_map_two := TangEgg.Fold.atom_map_two.
Definition fold_atom_map_three : Statements.fold_atom_map_three := TangEgg.Fold.atom_map_three.
Definition fold_atom_fold : Statements.fold_atom_fold := TangEgg.Fold.atom_fold.
Definition fold_atom_product : Statements.fold_atom_product := TangEgg.Fold.atom_product.
Definition fold_atom_scan : Statements.fold_atom_scan := TangEgg.Fold.atom_scan.
Definition fold_split_product : Statements.fold_split_product := TangEgg.Fold.split_product.
Definition fold_split_negated : Statements.fold_split_negated := TangEgg.Fold.split_negated.
Definition fold_hoist : Statements.fold_hoist := TangEgg.Fold.hoist.
Definition fold_hoist_finite : Statements.fold_hoist_finite := TangEgg.Fold.hoist_finite.
Definition fold_hoist_guarded : Statements.fold_hoist_guarded := TangEgg.Fold.hoist_guarded.
Definition fold_hoist_negation : Statements.fold_hoist_negation := TangEgg.Fold.hoist_negation.
Definition fold_hoist_shift : Statements.fold_hoist_shift := TangEgg.Fold.hoist_shift.
Definition fold_mean : Statements.fold_mean := TangEgg.Fold.mean.
Definition fold_mean_constant : Statements.fold_mean_constant := TangEgg.Fold.mean_constant.
Definition fold_max_scaled : Statements.fold_max_scaled := TangEgg.Fold.max_scaled.
Definition fold_max_exp : Statements.fold_max_exp := TangEgg.Fold.max_exp.
Definition fold_min_scaled : Statements.fold_min_scaled := TangEgg.Fold.min_scaled.
Definition fold_min_exp : Statements.fold_min_exp := TangEgg.Fold.min_exp.
Definition fold_split : Statements.fold_split := TangEgg.Fold.split.
Definition fold_split_state : Statements.fold_split_state := TangEgg.Fold.split_state.
Definition fold_interchange : Statements.fold_interchange := TangEgg.Fold.interchange.
Definition fold_linear : Statements.fold_linear := TangEgg.Fold.linear.
Definition fold_want_chain_left : Statements.fold_want_chain_left := TangEgg.Fold.want_chain_left.
Definition fold_want_chain_right : Statements.fold_want_chain_right := TangEgg.Fold.want_chain_right.
Definition fold_reassociate : Statements.fold_reassociate := TangEgg.Fold.reassociate.
Definition fold_want_shorter_left : Statements.fold_want_shorter_left := TangEgg.Fold.want_shorter_left.
Definition fold_want_shorter_right : Statements.fold_want_shorter_right := TangEgg.Fold.want_shorter_right.
Definition fold_want_shorter_alone : Statements.fold_want_shorter_alone := TangEgg.Fold.want_shorter_alone.
Definition fold_reassociate_shorter : Statements.fold_reassociate_shorter := TangEgg.Fold.reassociate_shorter.
Definition fold_interchange_shorter : Statements.fold_interchange_shorter := TangEgg.Fold.interchange_shorter.
Definition sibling_member_fold : Statements.sibling_member_fold := TangEgg.Sibling.member_fold.
Definition sibling_member_pass : Statements.sibling_member_pass := TangEgg.Sibling.member_pass.
Definition sibling_join : Statements.sibling_join := TangEgg.Sibling.join.
Definition cascade_walk_sum : Statements.cascade_walk_sum := TangEgg.Cascade.walk_sum.
Definition cascade_walk_max : Statements.cascade_walk_max := TangEgg.Cascade.walk_max.
Definition cascade_walk_min : Statements.cascade_walk_min := TangEgg.Cascade.walk_min.
Definition cascade_walk_Ap1 : Statements.cascade_walk_Ap1 := TangEgg.Cascade.walk_Ap1.
Definition cascade_walk_Ap2 : Statements.cascade_walk_Ap2 := TangEgg.Cascade.walk_Ap2.
Definition cascade_walk_Ap3 : Statements.cascade_walk_Ap3 := TangEgg.Cascade.walk_Ap3.
Definition cascade_plain_fold : Statements.cascade_plain_fold := TangEgg.Cascade.plain_fold.
Definition cascade_plain_pass : Statements.cascade_plain_pass := TangEgg.Cascade.plain_pass.
Definition cascade_plain_one : Statements.cascade_plain_one := TangEgg.Cascade.plain_one.
Definition cascade_plain_left : Statements.cascade_plain_left := TangEgg.Cascade.plain_left.
Definition cascade_plain_right : Statements.cascade_plain_right := TangEgg.Cascade.plain_right.
Definition cascade_plain_both : Statements.cascade_plain_both := TangEgg.Cascade.plain_both.
Definition cascade_statistic : Statements.cascade_statistic := TangEgg.Cascade.statistic.
Definition cascade_abstract_one : Statements.cascade_abstract_one := TangEgg.Cascade.abstract_one.
Definition cascade_abstract_left : Statements.cascade_abstract_left := TangEgg.Cascade.abstract_left.
Definition cascade_abstract_select_left : Statements.cascade_abstract_select_left := TangEgg.Cascade.abstract_select_left.
Definition cascade_abstract_right : Statements.cascade_abstract_right := TangEgg.Cascade.abstract_right.
Definition cascade_abstract_select_right : Statements.cascade_abstract_select_right := TangEgg.Cascade.abstract_select_right.
Definition cascade_abstract_both : Statements.cascade_abstract_both := TangEgg.Cascade.abstract_both.
Definition cascade_abstract_select_both : Statements.cascade_abstract_select_both := TangEgg.Cascade.abstract_select_both.
Definition cascade_moving_Ap1 : Statements.cascade_moving_Ap1 := TangEgg.Cascade.moving_Ap1.
Definition cascade_moving_Ap2 : Statements.cascade_moving_Ap2 := TangEgg.Cascade.moving_Ap2.
Definition cascade_moving_Ap3 : Statements.cascade_moving_Ap3 := TangEgg.Cascade.moving_Ap3.
Definition cascade_fixed : Statements.cascade_fixed := TangEgg.Cascade.fixed.
Definition cascade_hole : Statements.cascade_hole := TangEgg.Cascade.hole.
Definition cascade_scales_product : Statements.cascade_scales_product := TangEgg.Cascade.scales_product.
Definition cascade_moves_product_left : Statements.cascade_moves_product_left := TangEgg.Cascade.moves_product_left.
Definition cascade_moves_product_right : Statements.cascade_moves_product_right := TangEgg.Cascade.moves_product_right.
Definition cascade_moves_product : Statements.cascade_moves_product := TangEgg.Cascade.moves_product.
Definition cascade_mixes_scaled_moved : Statements.cascade_mixes_scaled_moved := TangEgg.Cascade.mixes_scaled_moved.
Definition cascade_mixes_moved_scaled : Statements.cascade_mixes_moved_scaled := TangEgg.Cascade.mixes_moved_scaled.
Definition cascade_mixes_left : Statements.cascade_mixes_left := TangEgg.Cascade.mixes_left.
Definition cascade_mixes_right : Statements.cascade_mixes_right := TangEgg.Cascade.mixes_right.
Definition cascade_mixes_moved_left : Statements.cascade_mixes_moved_left := TangEgg.Cascade.mixes_moved_left.
Definition cascade_mixes_moved_right : Statements.cascade_mixes_moved_right := TangEgg.Cascade.mixes_moved_right.
Definition cascade_moves_sum : Statements.cascade_moves_sum := TangEgg.Cascade.moves_sum.
Definition cascade_moves_sum_left : Statements.cascade_moves_sum_left := TangEgg.Cascade.moves_sum_left.
Definition cascade_moves_sum_right : Statements.cascade_moves_sum_right := TangEgg.Cascade.moves_sum_right.
Definition cascade_moves_max : Statements.cascade_moves_max := TangEgg.Cascade.moves_max.
Definition cascade_moves_min : Statements.cascade_moves_min := TangEgg.Cascade.moves_min.
Definition cascade_moves_negated : Statements.cascade_moves_negated := TangEgg.Cascade.moves_negated.
Definition cascade_moves_select : Statements.cascade_moves_select := TangEgg.Cascade.moves_select.
Definition cascade_scales_sum : Statements.cascade_scales_sum := TangEgg.Cascade.scales_sum.
Definition cascade_scales_negated : Statements.cascade_scales_negated := TangEgg.Cascade.scales_negated.
Definition cascade_scales_exp : Statements.cascade_scales_exp := TangEgg.Cascade.scales_exp.
Definition cascade_scales_recip : Statements.cascade_scales_recip := TangEgg.Cascade.scales_recip.
Definition cascade_scales_select : Statements.cascade_scales_select := TangEgg.Cascade.scales_select.
Definition cascade_mixes_negated : Statements.cascade_mixes_negated := TangEgg.Cascade.mixes_negated.
Definition cascade_finite_shift : Statements.cascade_finite_shift := TangEgg.Cascade.finite_shift.
Definition cascade_keep_body_sum : Statements.cascade_keep_body_sum := TangEgg.Cascade.keep_body_sum.
Definition cascade_keep_body_max : Statements.cascade_keep_body_max := TangEgg.Cascade.keep_body_max.
Definition cascade_keep_body_min : Statements.cascade_keep_body_min := TangEgg.Cascade.keep_body_min.
Definition cascade_keeps : Statements.cascade_keeps := TangEgg.Cascade.keeps.
Definition cascade_carried_scaled : Statements.cascade_carried_scaled := TangEgg.Cascade.carried_scaled.
Definition cascade_carried_moved : Statements.cascade_carried_moved := TangEgg.Cascade.carried_moved.
Definition cascade_carried_mixed : Statements.cascade_carried_mixed := TangEgg.Cascade.carried_mixed.
Definition cascade_carried_max_moved : Statements.cascade_carried_max_moved := TangEgg.Cascade.carried_max_moved.
Definition cascade_carried_max_scaled : Statements.cascade_carried_max_scaled := TangEgg.Cascade.carried_max_scaled.
Definition cascade_carried_min_moved : Statements.cascade_carried_min_moved := TangEgg.Cascade.carried_min_moved.
Definition cascade_carried_min_scaled : Statements.cascade_carried_min_scaled := TangEgg.Cascade.carried_min_scaled.
Definition cascade_want_sum : Statements.cascade_want_sum := TangEgg.Cascade.want_sum.
Definition cascade_total_split : Statements.cascade_total_split := TangEgg.Cascade.total_split.
Definition cascade_total_add : Statements.cascade_total_add := TangEgg.Cascade.total_add.
Definition cascade_total_negated : Statements.cascade_total_negated := TangEgg.Cascade.total_negated.
Definition cascade_want_selected : Statements.cascade_want_selected := TangEgg.Cascade.want_selected.
Definition cascade_total_selected : Statements.cascade_total_selected := TangEgg.Cascade.total_selected.
Definition cascade_total_selected_add : Statements.cascade_total_selected_add := TangEgg.Cascade.total_selected_add.
Definition cascade_distribute : Statements.cascade_distribute := TangEgg.Cascade.distribute.
Definition cascade_want_spread : Statements.cascade_want_spread := TangEgg.Cascade.want_spread.
Definition cascade_spreading_product : Statements.cascade_spreading_product := TangEgg.Cascade.spreading_product.
Definition cascade_spreading_negated : Statements.cascade_spreading_negated := TangEgg.Cascade.spreading_negated.
Definition cascade_want_left : Statements.cascade_want_left := TangEgg.Cascade.want_left.
Definition cascade_spread_left : Statements.cascade_spread_left := TangEgg.Cascade.spread_left.
Definition cascade_spread_product_left : Statements.cascade_spread_product_left := TangEgg.Cascade.spread_product_left.
Definition cascade_want_right : Statements.cascade_want_right := TangEgg.Cascade.want_right.
Definition cascade_spread_right : Statements.cascade_spread_right := TangEgg.Cascade.spread_right.
Definition cascade_spread_product_right : Statements.cascade_spread_product_right := TangEgg.Cascade.spread_product_right.
Definition cascade_spread_negated : Statements.cascade_spread_negated := TangEgg.Cascade.spread_negated.
Definition cascade_spread : Statements.cascade_spread := TangEgg.Cascade.spread.
Definition cascade_pass : Statements.cascade_pass := TangEgg.Cascade.pass.
Definition scan_prefix : Statements.scan_prefix := TangEgg.Scan.prefix.
Definition scan_prefix_scaled : Statements.scan_prefix_scaled := TangEgg.Scan.prefix_scaled.
Definition scan_prefix_shifted : Statements.scan_prefix_shifted := TangEgg.Scan.prefix_shifted.
Definition scan_chunk : Statements.scan_chunk := TangEgg.Scan.chunk.
Definition scan_chunks : Statements.scan_chunks := TangEgg.Scan.chunks.
Definition scan_decay : Statements.scan_decay := TangEgg.Scan.decay.
Definition gather_match_left : Statements.gather_match_left := TangEgg.Gather.match_left.
Definition gather_match_shifted_left : Statements.gather_match_shifted_left := TangEgg.Gather.match_shifted_left.
Definition gather_match_right : Statements.gather_match_right := TangEgg.Gather.match_right.
Definition gather_match_shifted_right : Statements.gather_match_shifted_right := TangEgg.Gather.match_shifted_right.
Definition gather_sift_fold : Statements.gather_sift_fold := TangEgg.Gather.sift_fold.
Definition gather_sift_and : Statements.gather_sift_and := TangEgg.Gather.sift_and.
Definition gather_point_here : Statements.gather_point_here := TangEgg.Gather.point_here.
Definition gather_half_here : Statements.gather_half_here := TangEgg.Gather.half_here.
Definition gather_half_sift : Statements.gather_half_sift := TangEgg.Gather.half_sift.
Definition gather_point_halves : Statements.gather_point_halves := TangEgg.Gather.point_halves.
Definition gather_apart_here : Statements.gather_apart_here := TangEgg.Gather.apart_here.
Definition gather_point_left : Statements.gather_point_left := TangEgg.Gather.point_left.
Definition gather_half_left : Statements.gather_half_left := TangEgg.Gather.half_left.
Definition gather_apart_left : Statements.gather_apart_left := TangEgg.Gather.apart_left.
Definition gather_point_right : Statements.gather_point_right := TangEgg.Gather.point_right.
Definition gather_half_right : Statements.gather_half_right := TangEgg.Gather.half_right.
Definition gather_apart_right : Statements.gather_apart_right := TangEgg.Gather.apart_right.
Definition gather_point : Statements.gather_point := TangEgg.Gather.point.
Definition gather_point_within : Statements.gather_point_within := TangEgg.Gather.point_within.
Definition gather_exists : Statements.gather_exists := TangEgg.Gather.exists_point.
Definition gather_only_range : Statements.gather_only_range := TangEgg.Gather.only_range.
Definition gather_outward : Statements.gather_outward := TangEgg.Gather.outward.
Definition gather_absent : Statements.gather_absent := TangEgg.Gather.absent.
Definition gather_map : Statements.gather_map := TangEgg.Gather.map.
Definition gather_map_two : Statements.gather_map_two := TangEgg.Gather.map_two.
Definition gather_map_three : Statements.gather_map_three := TangEgg.Gather.map_three.
Definition gather_fold : Statements.gather_fold := TangEgg.Gather.fold.
Definition gather_position : Statements.gather_position := TangEgg.Gather.position.
Definition gather_read : Statements.gather_read := TangEgg.Gather.read.
Definition gather_gather : Statements.gather_gather := TangEgg.Gather.gather.
Definition gather_indicator : Statements.gather_indicator := TangEgg.Gather.indicator.
Definition gather_hunt_sum : Statements.gather_hunt_sum := TangEgg.Gather.hunt_sum.
Definition gather_hunt_mul : Statements.gather_hunt_mul := TangEgg.Gather.hunt_mul.
Definition gather_hunt_add : Statements.gather_hunt_add := TangEgg.Gather.hunt_add.
Definition gather_hunt_select : Statements.gather_hunt_select := TangEgg.Gather.hunt_select.
Definition gather_pins_here : Statements.gather_pins_here := TangEgg.Gather.pins_here.
Definition gather_pins_left : Statements.gather_pins_left := TangEgg.Gather.pins_left.
Definition gather_pins_right : Statements.gather_pins_right := TangEgg.Gather.pins_right.
Definition gather_hot_select : Statements.gather_hot_select := TangEgg.Gather.hot_select.
Definition gather_hot_product_left : Statements.gather_hot_product_left := TangEgg.Gather.hot_product_left.
Definition gather_hot_product_right : Statements.gather_hot_product_right := TangEgg.Gather.hot_product_right.
Definition gather_hot_sum : Statements.gather_hot_sum := TangEgg.Gather.hot_sum.
Definition gather_linear : Statements.gather_linear := TangEgg.Gather.linear.
Definition gather_spread : Statements.gather_spread := TangEgg.Gather.spread.
Definition gather_scattered_here : Statements.gather_scattered_here := TangEgg.Gather.scattered_here.
Definition gather_scattered_left : Statements.gather_scattered_left := TangEgg.Gather.scattered_left.
Definition gather_scattered_right : Statements.gather_scattered_right := TangEgg.Gather.scattered_right.
Definition gather_exchange : Statements.gather_exchange := TangEgg.Gather.exchange.
Definition gather_ascending_cast : Statements.gather_ascending_cast := TangEgg.Gather.ascending_cast.
Definition gather_segment : Statements.gather_segment := TangEgg.Gather.segment.
Definition gather_segment_turned : Statements.gather_segment_turned := TangEgg.Gather.segment_turned.
Definition precision_halves : Statements.precision_halves := TangEgg.Precision.halves.
Definition precision_distribute : Statements.precision_distribute := TangEgg.Precision.distribute.
Definition precision_low : Statements.precision_low := TangEgg.Precision.low.
Definition precision_drop : Statements.precision_drop := TangEgg.Precision.drop.
Definition sharding_local : Statements.sharding_local := TangEgg.Sharding.local.
Definition sharding_local_state : Statements.sharding_local_state := TangEgg.Sharding.local_state.
End Check.

Definition everything {the_world : Semantics.world} {the_integers : Semantics.integers} :=
  (fv_lit,
   fv_ap1,
   fv_ap2,
   fv_ap3,
   fv_red,
   fv_let,
   fv_at,
   fv_hole,
   fv_delta,
   fv_keep,
   finished_red,
   finished_below,
   finished_ap1,
   finished_left,
   finished_right,
   finished_first,
   finished_second,
   finished_third,
   clean_leaf,
   clean_lit,
   clean_gather,
   clean_let,
   clean_at,
   clean_ap1,
   clean_ap2,
   clean_ap3,
   clean_red,
   clean_other,
   commutes_add,
   commutes_and,
   commutes_max,
   commutes_min,
   commutes_mul,
   commutes_or,
   view_map,
   view_map_two,
   view_map_three,
   view_fold,
   view_absent,
   view_read,
   view_compose,
   scalar_mul_one,
   scalar_neg_neg,
   scalar_add_zero,
   scalar_mul_zero,
   scalar_cancel,
   scalar_neg_zero,
   scalar_exp_zero,
   scalar_exp_lowest,
   scalar_recip_one,
   scalar_and_true,
   scalar_and_false,
   scalar_and_same,
   scalar_select_true,
   scalar_select_false,
   scalar_select_same,
   scalar_exp_difference,
   scalar_cancel_shift,
   scalar_cancel_scale,
   scalar_quotient_one,
   scalar_exp_product,
   scalar_log_exp,
   scalar_log_scaled,
   scalar_log_recip,
   scalar_exp_between,
   domain_neutral_sum,
   domain_neutral_max,
   domain_neutral_min,
   domain_neutral_product,
   domain_neutral_any,
   domain_neutral_all,
   domain_narrow,
   domain_narrow_not,
   domain_empty,
   domain_doubt_0,
   domain_doubt_1,
   domain_implies_part,
   domain_implies_left,
   domain_implies_right,
   domain_implies_both,
   domain_implies_guard,
   domain_implies_guarded,
   domain_known,
   domain_alike,
   domain_select_under,
   domain_select_over,
   domain_select_beside,
   domain_any,
   domain_finite_literal,
   domain_finite_sum,
   domain_finite_product,
   domain_finite_max,
   domain_finite_min,
   domain_finite_select,
   domain_finite_neg,
   domain_finite_exp,
   domain_finite_sin,
   domain_finite_tanh,
   domain_finite_erf,
   domain_finite_floor,
   domain_finite_two_add,
   domain_finite_two_mul,
   domain_finite_two_max,
   domain_finite_two_min,
   domain_positive_one,
   domain_positive_exp,
   domain_positive_recip,
   domain_positive_sqrt,
   domain_positive_two_add,
   domain_positive_two_mul,
   domain_positive_two_max,
   domain_positive_two_min,
   domain_positive_select,
   domain_positive_sum,
   domain_positive_max,
   domain_positive_min,
   domain_positive_product,
   domain_finite_positive,
   domain_select_exp,
   domain_select_add,
   domain_select_mul,
   domain_select_neg,
   fold_want_sum,
   fold_want_product,
   fold_want_negated,
   fold_split_invariant,
   fold_atom_leaf,
   fold_atom_gather,
   fold_atom_view,
   fold_atom_map,
   fold_atom_map_two,
   fold_atom_map_three,
   fold_atom_fold,
   fold_atom_product,
   fold_atom_scan,
   fold_split_product,
   fold_split_negated,
   fold_hoist,
   fold_hoist_finite,
   fold_hoist_guarded,
   fold_hoist_negation,
   fold_hoist_shift,
   fold_mean,
   fold_mean_constant,
   fold_max_scaled,
   fold_max_exp,
   fold_min_scaled,
   fold_min_exp,
   fold_split,
   fold_split_state,
   fold_interchange,
   fold_linear,
   fold_want_chain_left,
   fold_want_chain_right,
   fold_reassociate,
   fold_want_shorter_left,
   fold_want_shorter_right,
   fold_want_shorter_alone,
   fold_reassociate_shorter,
   fold_interchange_shorter,
   sibling_member_fold,
   sibling_member_pass,
   sibling_join,
   cascade_walk_sum,
   cascade_walk_max,
   cascade_walk_min,
   cascade_walk_Ap1,
   cascade_walk_Ap2,
   cascade_walk_Ap3,
   cascade_plain_fold,
   cascade_plain_pass,
   cascade_plain_one,
   cascade_plain_left,
   cascade_plain_right,
   cascade_plain_both,
   cascade_statistic,
   cascade_abstract_one,
   cascade_abstract_left,
   cascade_abstract_select_left,
   cascade_abstract_right,
   cascade_abstract_select_right,
   cascade_abstract_both,
   cascade_abstract_select_both,
   cascade_moving_Ap1,
   cascade_moving_Ap2,
   cascade_moving_Ap3,
   cascade_fixed,
   cascade_hole,
   cascade_scales_product,
   cascade_moves_product_left,
   cascade_moves_product_right,
   cascade_moves_product,
   cascade_mixes_scaled_moved,
   cascade_mixes_moved_scaled,
   cascade_mixes_left,
   cascade_mixes_right,
   cascade_mixes_moved_left,
   cascade_mixes_moved_right,
   cascade_moves_sum,
   cascade_moves_sum_left,
   cascade_moves_sum_right,
   cascade_moves_max,
   cascade_moves_min,
   cascade_moves_negated,
   cascade_moves_select,
   cascade_scales_sum,
   cascade_scales_negated,
   cascade_scales_exp,
   cascade_scales_recip,
   cascade_scales_select,
   cascade_mixes_negated,
   cascade_finite_shift,
   cascade_keep_body_sum,
   cascade_keep_body_max,
   cascade_keep_body_min,
   cascade_keeps,
   cascade_carried_scaled,
   cascade_carried_moved,
   cascade_carried_mixed,
   cascade_carried_max_moved,
   cascade_carried_max_scaled,
   cascade_carried_min_moved,
   cascade_carried_min_scaled,
   cascade_want_sum,
   cascade_total_split,
   cascade_total_add,
   cascade_total_negated,
   cascade_want_selected,
   cascade_total_selected,
   cascade_total_selected_add,
   cascade_distribute,
   cascade_want_spread,
   cascade_spreading_product,
   cascade_spreading_negated,
   cascade_want_left,
   cascade_spread_left,
   cascade_spread_product_left,
   cascade_want_right,
   cascade_spread_right,
   cascade_spread_product_right,
   cascade_spread_negated,
   cascade_spread,
   cascade_pass,
   scan_prefix,
   scan_prefix_scaled,
   scan_prefix_shifted,
   scan_chunk,
   scan_chunks,
   scan_decay,
   gather_match_left,
   gather_match_shifted_left,
   gather_match_right,
   gather_match_shifted_right,
   gather_sift_fold,
   gather_sift_and,
   gather_point_here,
   gather_half_here,
   gather_half_sift,
   gather_point_halves,
   gather_apart_here,
   gather_point_left,
   gather_half_left,
   gather_apart_left,
   gather_point_right,
   gather_half_right,
   gather_apart_right,
   gather_point,
   gather_point_within,
   gather_exists,
   gather_only_range,
   gather_outward,
   gather_absent,
   gather_map,
   gather_map_two,
   gather_map_three,
   gather_fold,
   gather_position,
   gather_read,
   gather_gather,
   gather_indicator,
   gather_hunt_sum,
   gather_hunt_mul,
   gather_hunt_add,
   gather_hunt_select,
   gather_pins_here,
   gather_pins_left,
   gather_pins_right,
   gather_hot_select,
   gather_hot_product_left,
   gather_hot_product_right,
   gather_hot_sum,
   gather_linear,
   gather_spread,
   gather_scattered_here,
   gather_scattered_left,
   gather_scattered_right,
   gather_exchange,
   gather_ascending_cast,
   gather_segment,
   gather_segment_turned,
   precision_halves,
   precision_distribute,
   precision_low,
   precision_drop,
   sharding_local,
   sharding_local_state).
Print Assumptions everything.
