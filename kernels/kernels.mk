# SPDX-License-Identifier: Apache-2.0
# kernels.mk - device code and the headers it shares with the host.

EXTRA_DIST += kernels/dialect/dialect.h kernels/scalar/scalar.h kernels/scalar/bits.h \
	kernels/scalar/cast.h kernels/scalar/div.h kernels/scalar/erf.h \
	kernels/scalar/exp.h kernels/scalar/exp_neg.h \
	kernels/scalar/log.h kernels/scalar/pair.h \
	kernels/scalar/random.h kernels/scalar/sigmoid.h kernels/scalar/trig.h
EXTRA_DIST += kernels/gemm/epilogue.h
EXTRA_DIST += kernels/elementwise/elementwise.h
EXTRA_DIST += kernels/reduce/norm.h kernels/reduce/reduce.h kernels/random/random.h
EXTRA_DIST += kernels/dialect/convert.h
EXTRA_DIST += kernels/loss/loss.h
EXTRA_DIST += kernels/rnn/rnn.h
EXTRA_DIST += kernels/attention/rotary.h
EXTRA_DIST += kernels/pool/pool.h
EXTRA_DIST += kernels/amp/amp.h kernels/amp/machine.h kernels/amp/wide.h
EXTRA_DIST += kernels/amp/optimizer.h
EXTRA_DIST += kernels/dialect/runs.h
EXTRA_DIST += kernels/dialect/tensor.h kernels/dialect/group.h kernels/embed.sh
EXTRA_DIST += kernels/dialect/floats.h
EXTRA_DIST += kernels/dialect/form.h kernels/random/stream.h

EXTRA_DIST += kernels/amp/amp_list.h kernels/amp/amp_norm.h kernels/amp/step.h

# Kernel texts, one line each: the only list. Their order is the enum's.
kernel_texts =
kernel_texts += kernels/certify/certify_float.k
kernel_texts += kernels/certify/certify_bits.k
kernel_texts += kernels/certify/certify_group.k
kernel_texts += kernels/elementwise/unary.k
kernel_texts += kernels/elementwise/unary_class.k
kernel_texts += kernels/elementwise/unary_integer.k
kernel_texts += kernels/elementwise/binary_columns.k
kernel_texts += kernels/reduce/max_backward.k
kernel_texts += kernels/reduce/max_ties.k
kernel_texts += kernels/reduce/mean_backward.k
kernel_texts += kernels/norm/layer_norm_sums.k
kernel_texts += kernels/norm/layer_norm_backward.k
kernel_texts += kernels/norm/layer_norm.k
kernel_texts += kernels/reduce/argmax_fold.k
kernel_texts += kernels/reduce/argmax.k
kernel_texts += kernels/softmax/softmax_backward.k
kernel_texts += kernels/softmax/softmax_fold.k
kernel_texts += kernels/softmax/softmax_columns.k
kernel_texts += kernels/softmax/softmax_rows.k
kernel_texts += kernels/elementwise/binary.k
kernel_texts += kernels/elementwise/binary_integer.k
kernel_texts += kernels/elementwise/compare.k
kernel_texts += kernels/elementwise/where.k
kernel_texts += kernels/elementwise/binary_backward.k
kernel_texts += kernels/elementwise/binary_sum.k
kernel_texts += kernels/reduce/reduce_columns.k
kernel_texts += kernels/reduce/reduce_rows.k
kernel_texts += kernels/elementwise/unary_backward.k
kernel_texts += kernels/elementwise/scale.k
kernel_texts += kernels/data/fill.k
kernel_texts += kernels/data/copy.k
kernel_texts += kernels/data/cast.k
kernel_texts += kernels/data/cast_stochastic.k
kernel_texts += kernels/random/random_fill.k
kernel_texts += kernels/random/dropout.k
kernel_texts += kernels/data/gather.k
kernel_texts += kernels/data/scatter_keys.k
kernel_texts += kernels/data/sort_count.k
kernel_texts += kernels/data/sort_scan.k
kernel_texts += kernels/data/sort_move.k
kernel_texts += kernels/data/scatter_add.k
kernel_texts += kernels/data/one_hot.k
kernel_texts += kernels/pool/pool2d.k
kernel_texts += kernels/reduce/norm_chunks.k
kernel_texts += kernels/reduce/norm_partials.k
kernel_texts += kernels/rnn/lstm_cell_forward.k
kernel_texts += kernels/rnn/lstm_cell_gradient.k
kernel_texts += kernels/rnn/gru_cell_forward.k
kernel_texts += kernels/rnn/gru_cell_gradient.k
kernel_texts += kernels/gemm/gemm_pack.k kernels/gemm/gemm_panel.k kernels/gemm/gemm_tiled.k
kernel_texts += kernels/amp/scaler_join.k
kernel_texts += kernels/amp/scaler_update.k
kernel_texts += kernels/amp/tick.k
kernel_texts += kernels/amp/grad_check.k
kernel_texts += kernels/amp/grad_fold.k
kernel_texts += kernels/amp/list_map.k
kernel_texts += kernels/amp/param_step.k
kernel_texts += kernels/amp/step_end.k
kernel_texts += kernels/amp/lamb_norm.k
kernel_texts += kernels/amp/lamb_fold.k
kernel_texts += kernels/attention/rotary_rows.k
kernel_texts += kernels/reduce/total.k
kernel_texts += kernels/loss/loss_elements.k
kernel_texts += kernels/loss/cross_entropy_rows.k
kernel_texts += kernels/loss/cross_entropy_items.k
kernel_texts += kernels/loss/cross_entropy_count.k
kernel_texts += kernels/attention/attention_forward.k
kernel_texts += kernels/metrics/top_k_rows.k
kernel_texts += kernels/metrics/top_k_total.k
kernel_texts += kernels/norm/channel_sum.k
kernel_texts += kernels/norm/channel_sum_dy.k
kernel_texts += kernels/norm/channel_statistics.k
kernel_texts += kernels/norm/channel_apply.k
kernel_texts += kernels/norm/channel_fold.k
kernel_texts += kernels/norm/channel_gradient.k
kernel_texts += kernels/conv/conv_tile.k
kernel_texts += kernels/conv/conv_fold.k
kernel_texts += kernels/attention/attention_delta.k
kernel_texts += kernels/attention/attention_gradient.k
kernel_texts += kernels/conv/conv_gather.k
kernel_texts += kernels/conv/conv_pack.k

# The headers of parameters that texts share with plans.
kernel_args =
kernel_args += kernels/certify/certify_args.h
kernel_args += kernels/elementwise/unary_args.h
kernel_args += kernels/reduce/reduce_backward_args.h
kernel_args += kernels/norm/layer_norm_args.h
kernel_args += kernels/reduce/argmax_args.h
kernel_args += kernels/softmax/softmax_backward_args.h
kernel_args += kernels/softmax/softmax_args.h
kernel_args += kernels/elementwise/binary_args.h
kernel_args += kernels/reduce/pairs.h
kernel_args += kernels/reduce/reduce_args.h
kernel_args += kernels/data/data_args.h
kernel_args += kernels/random/random_args.h
kernel_args += kernels/data/gather_args.h
kernel_args += kernels/pool/pool_args.h
kernel_args += kernels/reduce/norm_args.h
kernel_args += kernels/reduce/norm_fold.h
kernel_args += kernels/rnn/rnn_args.h
kernel_args += kernels/gemm/gemm_args.h kernels/gemm/gemm_epilogue.h kernels/dialect/wide_float.h
kernel_args += kernels/amp/scaler_args.h
kernel_args += kernels/amp/grad_args.h
kernel_args += kernels/amp/list_args.h
kernel_args += kernels/amp/step_args.h
kernel_args += kernels/attention/rotary_args.h
kernel_args += kernels/dialect/either.h
kernel_args += kernels/reduce/total_args.h
kernel_args += kernels/loss/loss_args.h
kernel_args += kernels/loss/cross_entropy_args.h
kernel_args += kernels/loss/cross_entropy_count_args.h
kernel_args += kernels/gemm/tile.h
kernel_args += kernels/attention/attention.h
kernel_args += kernels/attention/attention_args.h
kernel_args += kernels/metrics/top_k_args.h
kernel_args += kernels/norm/channel_args.h
kernel_args += kernels/conv/conv_args.h

EXTRA_DIST += $(kernel_texts) $(kernel_args)

kernel_headers = $(filter kernels/%.h,$(EXTRA_DIST))
kernel_inputs = kernels/embed.sh kernels/kernels.mk $(kernel_texts) \
	$(kernel_headers)
embed = $(AM_V_GEN)$(MKDIR_P) kernels && \
	AWK='$(AWK)' $(SHELL) $(srcdir)/kernels/embed.sh

# What many sources include is written only where it differs, or one changed
# text would compile them all again: make goes by a stamp, and FILE is older.
#
#     FILE: FILE.stamp
#     	$(made)
#     FILE.stamp: INPUTS
#     	COMMAND >FILE.new && $(differing)
made = @test -f $@ || { rm -f $@.stamp && $(MAKE) $@.stamp; }
differing = { cmp -s $(@:.stamp=.new) $(@:.stamp=) && \
	rm -f $(@:.stamp=.new) || mv $(@:.stamp=.new) $(@:.stamp=); } && touch $@

BUILT_SOURCES += kernel_table.h kernels/kernel_text.h kernels_sum.h
CLEANFILES += kernel_table.h kernels/kernel_table.c kernels/kernel_text.h \
	kernels/kernel_text.c kernels_sum.h kernel_table.h.stamp \
	kernels/kernel_table.c.stamp kernels/kernel_text.h.stamp \
	kernels_sum.h.stamp
kernel_table.h: kernel_table.h.stamp
	$(made)
kernel_table.h.stamp: $(kernel_inputs)
	$(embed) table.h $(srcdir) $(kernel_texts) >kernel_table.h.new && \
		$(differing)
# What all texts and headers are: a certificate is of one of these.
kernels_sum.h: kernels_sum.h.stamp
	$(made)
kernels_sum.h.stamp: $(kernel_inputs)
	$(AM_V_GEN)sum=`cd $(srcdir) && cat $(kernel_texts) \
		$(sort $(kernel_headers)) | cksum` && \
		echo "#define KERNELS_SUM \"$$sum\"" >kernels_sum.h.new && $(differing)
kernels/kernel_table.c: kernels/kernel_table.c.stamp
	$(made)
kernels/kernel_table.c.stamp: $(kernel_inputs)
	$(embed) table.c $(srcdir) $(kernel_texts) >kernels/kernel_table.c.new && \
		$(differing)
kernels/kernel_text.h: kernels/kernel_text.h.stamp
	$(made)
kernels/kernel_text.h.stamp: $(kernel_inputs)
	$(embed) text.h $(srcdir) $(kernel_texts) >kernels/kernel_text.h.new && \
		$(differing)
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
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(spirv_sh) text $(srcdir) $@ kernels/$*.k
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
