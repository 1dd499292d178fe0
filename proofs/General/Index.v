(** The theorems of this folder in one place, and what they rest on.

    Compiling this file prints the axioms of all of them: those of the real numbers of the standard library
    (decidability for sequences and for negated propositions, extensionality of functions), and the excluded middle, on
    which that library's own definition of the logarithm rests. *)
From TangEgg.General Require Monoids Folds Cascade Carriers Statistics OnlineSoftmax TopK AffineScan Duality
  Means Points.

Definition of_monoids :=
  (@Monoids.big_stream, @Monoids.tree_fold_big).

Definition of_folds :=
  (@Folds.split_at, @Folds.split_blocks, @Folds.split_merged, @Folds.split_ragged, @Folds.split_ceiling,
   @Folds.interchange, @Folds.split_strided, @Folds.reindexed, @Folds.reversed, @Folds.split_domain,
   @Folds.split_classes, @Folds.shard_any, @Folds.shard, @Folds.shard_tree, @Folds.siblings, @Folds.hoist,
   @Folds.hoist_factor, @Folds.hoist_factor_right, @Folds.hoist_product, @Folds.hoist_sum, @Folds.hoist_exp,
   @Folds.hoist_split, @Folds.hoist_max, @Folds.hoist_max_scaled, @Folds.hoist_max_increasing, @Folds.narrow,
   @Folds.narrow_full, @Folds.dead, @Folds.full, @Folds.one_hot, @Folds.gated, @Folds.segments,
   @Folds.segments_disjoint).

Definition of_cascade :=
  (@Cascade.join_two_pass, @Cascade.one_pass, @Cascade.one_pass_any_order, @Cascade.one_pass_stream,
   @Cascade.one_pass_tiles, @Cascade.join_assoc, @Cascade.join_empty_left, @Cascade.join_empty_right,
   @Cascade.join_commutes, @Cascade.carry_if_same).

Definition of_carriers :=
  (@Carriers.scales_fixed, @Carriers.scales_product, @Carriers.scales_negated, @Carriers.scales_exp,
   @Carriers.scales_reciprocal, @Carriers.scales_select, @Carriers.moves_fixed, @Carriers.moves_sum,
   @Carriers.moves_negated, @Carriers.moves_product, @Carriers.moves_max, @Carriers.carrier_scaled,
   @Carriers.carrier_fixed, @Carriers.carrier_exp, @Carriers.carrier_reciprocal, @Carriers.composes_scaled,
   @Carriers.carrier_affine, @Carriers.composes_affine, @Carriers.carrier_sum, @Carriers.composes_sum,
   @Carriers.carrier_product, @Carriers.composes_product, @Carriers.carrier_factor, @Carriers.carrier_select,
   @Carriers.carrier_power, @Carriers.carrier_of_value, @Carriers.composes_of_value, @Carriers.linear_one_pass,
   @Carriers.linear_join_assoc, @Carriers.linear_join_empty, @Statistics.carrier_centred, @Statistics.composes_centred,
   @Statistics.moments_one_pass, @Statistics.carrier_exp_combination, @Statistics.outer_max_one_pass).

Definition of_online_softmax :=
  (@OnlineSoftmax.online_softmax, @OnlineSoftmax.online_softmax_dead, @OnlineSoftmax.online_join_assoc,
   @OnlineSoftmax.online_softmax_stream, @OnlineSoftmax.online_softmax_tiles, @OnlineSoftmax.denominator_at_least_one,
   @OnlineSoftmax.rescale_at_most_one, @OnlineSoftmax.weight_at_most_one, @OnlineSoftmax.softmax_quotient,
   @OnlineSoftmax.online_logsumexp, @OnlineSoftmax.attention_one_pass, @OnlineSoftmax.merge_moments,
   @OnlineSoftmax.moments_tree, @OnlineSoftmax.moments_stream, @OnlineSoftmax.welford_step,
   @OnlineSoftmax.variance_tree, @OnlineSoftmax.skewness_tree).

Definition of_top_k :=
  (@TopK.merge_assoc, @TopK.topk_assoc, @TopK.topk_empty_left, @TopK.topk_empty_right, @TopK.sort_permutation,
   @TopK.sort_sorted, @TopK.sort_stable, @TopK.topk_tree, @TopK.topk_stream, @TopK.topk_best, @TopK.merge_commutes,
   @TopK.topk_commutes, @TopK.topk_any_order, @TopK.topk_one, @TopK.best_tree, @TopK.best_assoc,
   @TopK.by_value_then_position_total, @TopK.by_value_then_position_trans, @TopK.by_value_then_position_antisym,
   @TopK.topk_of_values, @TopK.TopK).

Definition of_affine_scan :=
  (@AffineScan.scan_prefix, @AffineScan.scan_app, @AffineScan.scan_chunks, @AffineScan.across_nth,
   @AffineScan.chunks_concat, @AffineScan.chunks_short, @AffineScan.scan_in_chunks, @AffineScan.states_scan,
   @AffineScan.recurrence_chunks, @AffineScan.last_state, @AffineScan.affine_act_op,
   @AffineScan.affine_recurrence_chunks, @AffineScan.linear_attention_recurrence, @AffineScan.linear_attention_chunk,
   @AffineScan.linear_attention_carry, @AffineScan.affine_scalar, @AffineScan.affine_matrix).

Definition of_duality :=
  (@Duality.weak_duality, @Duality.duality, @Duality.equal_values_certify, @Duality.box_points,
   @Duality.box_points_memory).

Definition of_points :=
  (@Means.weighted_means, @Means.hoelder, @Points.finner, @Points.set_points, @Points.set_points_memory,
   @Means.budget, @Points.segment_points, @Points.words_moved, @Points.matmul_points).

Definition all :=
  (of_monoids, of_folds, of_cascade, of_carriers, of_online_softmax, of_top_k, of_affine_scan, of_duality, of_points).
Print Assumptions all.
