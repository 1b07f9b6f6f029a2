# SPDX-License-Identifier: Apache-2.0
# coopmat.mk - the SPIR-V of kernels/gemm/coopmat.comp: C's words of one module,
# or {0} if nothing could compile it. The tarball contains it as
# kernels/prebuilt_coopmat.h.

EXTRA_DIST += kernels/gemm/coopmat.comp
CLEANFILES += kernels/coopmat_spv.h
coopmat_summed = '$(sort $(kernel_headers)) kernels/gemm/coopmat.comp'
coopmat_inputs = kernels/gemm/coopmat.comp kernels/pack.sh $(kernel_headers)
if MAKE_COOPMAT
kernels/coopmat_spv.h: $(coopmat_inputs)
	$(AM_V_GEN)$(MKDIR_P) kernels && GLSLC='$(GLSLC_COOPMAT)' \
		$(SHELL) $(srcdir)/kernels/pack.sh spirv words $(srcdir) \
		$(coopmat_summed) kernels/gemm/coopmat.comp >$@.new && \
		mv $@.new $@
else
if PREBUILT_COOPMAT
kernels/coopmat_spv.h: kernels/prebuilt_coopmat.h $(coopmat_inputs)
	$(AM_V_GEN)$(MKDIR_P) kernels && $(SHELL) $(srcdir)/kernels/pack.sh \
		spirv same $(srcdir) $(coopmat_summed) \
		$(srcdir)/kernels/prebuilt_coopmat.h && \
		cp $(srcdir)/kernels/prebuilt_coopmat.h $@.new && mv $@.new $@
else
kernels/coopmat_spv.h:
	$(AM_V_GEN)$(MKDIR_P) kernels && echo '{0}' >$@.new && mv $@.new $@
endif
endif
dist-hook: dist-coopmat
dist-coopmat: kernels/coopmat_spv.h
	if grep -q '^/. sum:' kernels/coopmat_spv.h; then \
		cp kernels/coopmat_spv.h \
		$(distdir)/kernels/prebuilt_coopmat.h; \
	else \
		echo 'dist: without coopmat.comp: no glslc knew it' >&2; \
	fi
.PHONY: dist-coopmat
