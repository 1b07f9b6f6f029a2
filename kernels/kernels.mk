# SPDX-License-Identifier: Apache-2.0
# kernels.mk - device code and the headers it shares with the host.

EXTRA_DIST += kernels/dialect.h kernels/scalar.h kernels/scalar_bits.h \
	kernels/scalar_cast.h kernels/scalar_div.h kernels/scalar_erf.h \
	kernels/scalar_exp.h kernels/scalar_exp_neg.h \
	kernels/scalar_log.h kernels/scalar_pair.h \
	kernels/scalar_random.h kernels/scalar_sigmoid.h kernels/scalar_trig.h
EXTRA_DIST += kernels/epilogue.h
EXTRA_DIST += kernels/elementwise.h
EXTRA_DIST += kernels/norm.h kernels/reduce.h kernels/random.h
EXTRA_DIST += kernels/convert.h
EXTRA_DIST += kernels/loss.h
EXTRA_DIST += kernels/rnn.h
EXTRA_DIST += kernels/rotary.h
EXTRA_DIST += kernels/pool.h
EXTRA_DIST += kernels/amp.h kernels/machine.h kernels/wide.h
EXTRA_DIST += kernels/optimizer.h
EXTRA_DIST += kernels/runs.h
EXTRA_DIST += kernels/tensor.h kernels/group.h kernels/embed.sh
EXTRA_DIST += kernels/floats.h
EXTRA_DIST += kernels/form.h kernels/stream.h

EXTRA_DIST += kernels/amp_list.h kernels/amp_norm.h kernels/step.h

# Kernel texts, one line each: the only list. Their order is the enum's.
kernel_texts =
kernel_texts += kernels/certify_float.k
kernel_texts += kernels/certify_bits.k
kernel_texts += kernels/certify_group.k
kernel_texts += kernels/unary.k
kernel_texts += kernels/unary_class.k
kernel_texts += kernels/unary_integer.k
kernel_texts += kernels/binary_columns.k
kernel_texts += kernels/max_backward.k
kernel_texts += kernels/max_ties.k
kernel_texts += kernels/mean_backward.k
kernel_texts += kernels/layer_norm_sums.k
kernel_texts += kernels/layer_norm_backward.k
kernel_texts += kernels/layer_norm.k
kernel_texts += kernels/argmax_fold.k
kernel_texts += kernels/argmax.k
kernel_texts += kernels/softmax_backward.k
kernel_texts += kernels/softmax_fold.k
kernel_texts += kernels/softmax_columns.k
kernel_texts += kernels/softmax_rows.k
kernel_texts += kernels/binary.k
kernel_texts += kernels/binary_integer.k
kernel_texts += kernels/compare.k
kernel_texts += kernels/where.k
kernel_texts += kernels/binary_backward.k
kernel_texts += kernels/binary_sum.k
kernel_texts += kernels/reduce_columns.k
kernel_texts += kernels/reduce_rows.k
kernel_texts += kernels/unary_backward.k
kernel_texts += kernels/scale.k
kernel_texts += kernels/fill.k
kernel_texts += kernels/copy.k
kernel_texts += kernels/cast.k
kernel_texts += kernels/cast_stochastic.k
kernel_texts += kernels/random_fill.k
kernel_texts += kernels/dropout.k
kernel_texts += kernels/gather.k
kernel_texts += kernels/scatter_keys.k
kernel_texts += kernels/sort_count.k
kernel_texts += kernels/sort_scan.k
kernel_texts += kernels/sort_move.k
kernel_texts += kernels/scatter_add.k
kernel_texts += kernels/one_hot.k
kernel_texts += kernels/pool2d.k
kernel_texts += kernels/norm_chunks.k
kernel_texts += kernels/norm_partials.k
kernel_texts += kernels/lstm_cell_forward.k
kernel_texts += kernels/lstm_cell_gradient.k
kernel_texts += kernels/gru_cell_forward.k
kernel_texts += kernels/gru_cell_gradient.k
kernel_texts += kernels/gemm_pack.k kernels/gemm_panel.k kernels/gemm_tiled.k
kernel_texts += kernels/scaler_join.k
kernel_texts += kernels/scaler_update.k
kernel_texts += kernels/tick.k
kernel_texts += kernels/grad_check.k
kernel_texts += kernels/grad_fold.k
kernel_texts += kernels/list_map.k
kernel_texts += kernels/param_step.k
kernel_texts += kernels/step_end.k
kernel_texts += kernels/lamb_norm.k
kernel_texts += kernels/lamb_fold.k
kernel_texts += kernels/rotary_rows.k
kernel_texts += kernels/total.k
kernel_texts += kernels/loss_elements.k
kernel_texts += kernels/cross_entropy_rows.k
kernel_texts += kernels/cross_entropy_items.k
kernel_texts += kernels/cross_entropy_count.k
kernel_texts += kernels/attention_forward.k
kernel_texts += kernels/top_k_rows.k
kernel_texts += kernels/top_k_total.k
kernel_texts += kernels/channel_sum.k
kernel_texts += kernels/channel_sum_dy.k
kernel_texts += kernels/channel_statistics.k
kernel_texts += kernels/channel_apply.k
kernel_texts += kernels/channel_fold.k
kernel_texts += kernels/channel_gradient.k
kernel_texts += kernels/conv_tile.k
kernel_texts += kernels/conv_fold.k
kernel_texts += kernels/attention_delta.k
kernel_texts += kernels/attention_gradient.k
kernel_texts += kernels/conv_gather.k
kernel_texts += kernels/conv_pack.k

# The headers of parameters that texts share with plans.
kernel_args =
kernel_args += kernels/certify_args.h
kernel_args += kernels/unary_args.h
kernel_args += kernels/reduce_backward_args.h
kernel_args += kernels/layer_norm_args.h
kernel_args += kernels/argmax_args.h
kernel_args += kernels/softmax_backward_args.h
kernel_args += kernels/softmax_args.h
kernel_args += kernels/binary_args.h
kernel_args += kernels/pairs.h
kernel_args += kernels/reduce_args.h
kernel_args += kernels/data_args.h
kernel_args += kernels/random_args.h
kernel_args += kernels/gather_args.h
kernel_args += kernels/pool_args.h
kernel_args += kernels/norm_args.h
kernel_args += kernels/norm_fold.h
kernel_args += kernels/rnn_args.h
kernel_args += kernels/gemm_args.h kernels/gemm_epilogue.h kernels/wide_float.h
kernel_args += kernels/scaler_args.h
kernel_args += kernels/grad_args.h
kernel_args += kernels/list_args.h
kernel_args += kernels/step_args.h
kernel_args += kernels/rotary_args.h
kernel_args += kernels/either.h
kernel_args += kernels/total_args.h
kernel_args += kernels/loss_args.h
kernel_args += kernels/cross_entropy_args.h
kernel_args += kernels/cross_entropy_count_args.h
kernel_args += kernels/tile.h
kernel_args += kernels/attention.h
kernel_args += kernels/attention_args.h
kernel_args += kernels/top_k_args.h
kernel_args += kernels/channel_args.h
kernel_args += kernels/conv_args.h

EXTRA_DIST += $(kernel_texts) $(kernel_args)

kernel_headers = $(filter kernels/%.h,$(EXTRA_DIST))
kernel_inputs = kernels/embed.sh kernels/kernels.mk $(kernel_texts) \
	$(kernel_headers)
embed = $(AM_V_GEN)$(MKDIR_P) kernels && \
	AWK='$(AWK)' $(SHELL) $(srcdir)/kernels/embed.sh

BUILT_SOURCES += kernel_table.h kernels/kernel_text.h
CLEANFILES += kernel_table.h kernels/kernel_table.c kernels/kernel_text.h \
	kernels/kernel_text.c
kernel_table.h: $(kernel_inputs)
	$(embed) table.h $(srcdir) $(kernel_texts) >$@.new && mv $@.new $@
# What all texts and headers are: a certificate is of one of these.
BUILT_SOURCES += kernels_sum.h
CLEANFILES += kernels_sum.h
kernels_sum.h: $(kernel_inputs)
	$(AM_V_GEN)sum=`cd $(srcdir) && cat $(kernel_texts) \
		$(sort $(kernel_headers)) | cksum` && \
		echo "#define KERNELS_SUM \"$$sum\"" >$@.new && mv $@.new $@
kernels/kernel_table.c: $(kernel_inputs)
	$(embed) table.c $(srcdir) $(kernel_texts) >$@.new && mv $@.new $@
kernels/kernel_text.h: $(kernel_inputs)
	$(embed) text.h $(srcdir) $(kernel_texts) >$@.new && mv $@.new $@
kernels/kernel_text.c: $(kernel_inputs) kernels/kernel_text.h
	$(embed) text.c $(srcdir) $(kernel_texts) >$@.new && mv $@.new $@

# SPIR-V, for the vulkan module: 16 MB of modules as one file of 5 MB. A text is
# compiled again when it or a header of it has changed. The tarball has the file
# as kernels/prebuilt.*, for who has no glslc.
EXTRA_DIST += kernels/spirv.sh
CLEANFILES += kernels/spirv.pack kernels/spirv_table.h
spirv_sh = $(MKDIR_P) kernels/spirv && \
	GLSLC='$(GLSLC)' AWK='$(AWK)' $(SHELL) $(srcdir)/kernels/spirv.sh
spirv_summed = '$(sort $(kernel_texts) $(kernel_headers)) kernels/spirv.sh'
if MAKE_SPIRV
spirv_packs = $(kernel_texts:kernels/%.k=kernels/spirv/%.pack)
CLEANFILES += $(spirv_packs) $(spirv_packs:.pack=.table) \
	$(spirv_packs:.pack=.d)
kernels/spirv/%.pack: kernels/%.k kernels/spirv.sh kernels/embed.sh
	$(AM_V_GEN)$(spirv_sh) text $(srcdir) $@ kernels/$*.k
kernels/spirv.pack: $(spirv_packs) kernels/kernels.mk
	$(AM_V_GEN)cat $(spirv_packs) >$@.new && mv $@.new $@
kernels/spirv_table.h: kernels/spirv.pack
	$(AM_V_GEN)$(spirv_sh) table $(srcdir) $(spirv_summed) $(spirv_packs) \
		>$@.new && mv $@.new $@
-include $(spirv_packs:.pack=.d)
else
kernels/spirv_table.h: kernels/prebuilt.h $(kernel_inputs) kernels/spirv.sh
	$(AM_V_GEN)$(spirv_sh) same $(srcdir) $(spirv_summed) \
		$(srcdir)/kernels/prebuilt.h && \
		cp $(srcdir)/kernels/prebuilt.h $@.new && mv $@.new $@
kernels/spirv.pack: kernels/prebuilt.pack kernels/spirv_table.h
	$(AM_V_GEN)cp $(srcdir)/kernels/prebuilt.pack $@.new && mv $@.new $@
kernels/prebuilt.h kernels/prebuilt.pack:
	@echo 'SPIR-V is made by glslc, which configure did not find' >&2; exit 1
endif
dist-hook: dist-spirv
dist-spirv: kernels/spirv.pack kernels/spirv_table.h
	cp kernels/spirv.pack $(distdir)/kernels/prebuilt.pack
	cp kernels/spirv_table.h $(distdir)/kernels/prebuilt.h
.PHONY: dist-spirv
