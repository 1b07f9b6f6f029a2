# SPDX-License-Identifier: Apache-2.0
# kernels.mk - device code and the headers it shares with the host.

# Sources and headers are in lists.mk; the order of the sources is the enum's.
EXTRA_DIST += kernels/embed.sh $(kernel_sources) $(kernel_headers)
# A source for NVIDIA's compilers alone: no variant of it is among the others'.
nvidia_sources = kernels/gemm/gemm_mma.nv
EXTRA_DIST += $(nvidia_sources)

kernel_inputs = kernels/embed.sh lists.mk $(kernel_sources) \
	$(kernel_headers)
embed = $(AM_V_GEN)$(MKDIR_P) kernels && \
	AWK='$(AWK)' $(SHELL) $(srcdir)/kernels/embed.sh

# A header that many sources include is written only if it differs, or one
# changed source would compile them all again: make goes by a stamp, and FILE is
# older.
#
#     FILE: FILE.stamp
#     	$(made)
#     FILE.stamp: INPUTS
#     	COMMAND >FILE.new && $(differing)
made = @test -f $@ || { rm -f $@.stamp && $(MAKE) $@.stamp; }
differing = { cmp -s $(@:.stamp=.new) $(@:.stamp=) && \
	rm -f $(@:.stamp=.new) || mv $(@:.stamp=.new) $(@:.stamp=); } && \
	touch $@

BUILT_SOURCES += kernel_table.h kernels/kernel_source.h kernels_sum.h
CLEANFILES += kernel_table.h kernels/kernel_table.c kernels/kernel_source.h \
	kernels/kernel_source.c kernels_sum.h kernel_table.h.stamp \
	kernels/kernel_table.c.stamp kernels/kernel_source.h.stamp \
	kernels_sum.h.stamp
kernel_table.h: kernel_table.h.stamp
	$(made)
kernel_table.h.stamp: $(kernel_inputs)
	$(embed) table.h $(srcdir) $(kernel_sources) >kernel_table.h.new && \
		$(differing)
# The checksum of all sources and headers: a certificate belongs to one of
# these.
kernels_sum.h: kernels_sum.h.stamp
	$(made)
kernels_sum.h.stamp: $(kernel_inputs)
	$(AM_V_GEN)sum=`cd $(srcdir) && cat $(kernel_sources) \
		$(sort $(kernel_headers)) | cksum` && \
		echo "#define KERNELS_SUM \"$$sum\"" >kernels_sum.h.new && \
		$(differing)
kernels/kernel_table.c: kernels/kernel_table.c.stamp
	$(made)
kernels/kernel_table.c.stamp: $(kernel_inputs)
	$(embed) table.c $(srcdir) $(kernel_sources) \
		>kernels/kernel_table.c.new && \
		$(differing)
kernels/kernel_source.h: kernels/kernel_source.h.stamp
	$(made)
kernels/kernel_source.h.stamp: $(kernel_inputs)
	$(embed) source.h $(srcdir) $(kernel_sources) \
		>kernels/kernel_source.h.new && \
		$(differing)
# With the sources for NVIDIA's compilers alone behind the enum's; what
# is named after a source has no suffix.
kernels/kernel_source.c: $(kernel_inputs) $(nvidia_sources) \
		kernels/kernel_source.h
	$(embed) source.c $(srcdir) $(kernel_sources) $(nvidia_sources) \
		>$@.all && \
		sed '/pieces_/s/\.nv//g' $@.all >$@.new && rm -f $@.all && \
		mv $@.new $@

# Compiled kernels: SPIR-V for the vulkan module, PTX for the cuda module, each
# as one file of some MB. A source is compiled again when it or a header of it
# has changed. The tarball contains the files as kernels/prebuilt_*, for systems
# without a compiler.
EXTRA_DIST += kernels/pack.sh
pack_sh = GLSLC='$(GLSLC)' PTXCC='$(PTXCC)' NVCC='$(NVCC)' AWK='$(AWK)' \
	$(SHELL) $(srcdir)/kernels/pack.sh
pack_summed = '$(sort $(kernel_sources) $(kernel_headers)) $(nvidia_sources) \
	kernels/pack.sh'
pack_prebuilt = $(MKDIR_P) kernels && $(pack_sh)

# The panels of a matmul are for devices whose groups are one item. Vulkan and
# CUDA have none.
processor_sources = kernels/gemm/gemm_pack.k kernels/gemm/gemm_panel.k
gpu_sources = $(filter-out $(processor_sources),$(kernel_sources))

CLEANFILES += kernels/spirv.pack kernels/spirv_table.h
if MAKE_SPIRV
spirv_packs = $(gpu_sources:kernels/%.k=kernels/spirv/%.pack)
CLEANFILES += $(spirv_packs) $(spirv_packs:.pack=.table) \
	$(spirv_packs:.pack=.d)
kernels/spirv/%.pack: kernels/%.k kernels/pack.sh kernels/embed.sh
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(pack_sh) spirv text $(srcdir) $@ \
		kernels/$*.k
kernels/spirv.pack: $(spirv_packs) lists.mk
	$(AM_V_GEN)cat $(spirv_packs) >$@.new && mv $@.new $@
kernels/spirv_table.h: kernels/spirv.pack
	$(AM_V_GEN)$(pack_sh) spirv table $(srcdir) $(pack_summed) \
		$(spirv_packs) >$@.new && mv $@.new $@
-include $(spirv_packs:.pack=.d)
else
kernels/spirv_table.h: kernels/prebuilt_spirv.h $(kernel_inputs) kernels/pack.sh
	$(AM_V_GEN)$(pack_prebuilt) spirv same $(srcdir) $(pack_summed) \
		$(srcdir)/kernels/prebuilt_spirv.h && \
		cp $(srcdir)/kernels/prebuilt_spirv.h $@.new && mv $@.new $@
kernels/spirv.pack: kernels/prebuilt_spirv.pack kernels/spirv_table.h
	$(AM_V_GEN)cp $(srcdir)/kernels/prebuilt_spirv.pack $@.new && \
		mv $@.new $@
kernels/prebuilt_spirv.h kernels/prebuilt_spirv.pack:
	@echo 'SPIR-V is made by glslc, which configure did not find' >&2; \
		exit 1
endif

CLEANFILES += kernels/ptx.pack kernels/ptx_table.h
if MAKE_PTX
ptx_packs = $(gpu_sources:kernels/%.k=kernels/ptx/%.pack) \
	$(nvidia_sources:kernels/%.nv=kernels/ptx/%.pack)
CLEANFILES += $(ptx_packs) $(ptx_packs:.pack=.table) $(ptx_packs:.pack=.d)
kernels/ptx/%.pack: kernels/%.k kernels/pack.sh kernels/embed.sh
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(pack_sh) ptx text $(srcdir) $@ \
		kernels/$*.k
kernels/ptx/%.pack: kernels/%.nv kernels/pack.sh kernels/embed.sh
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(pack_sh) ptx text $(srcdir) $@ \
		kernels/$*.nv
kernels/ptx.pack: $(ptx_packs) lists.mk
	$(AM_V_GEN)cat $(ptx_packs) >$@.new && mv $@.new $@
kernels/ptx_table.h: kernels/ptx.pack
	$(AM_V_GEN)$(pack_sh) ptx table $(srcdir) $(pack_summed) $(ptx_packs) \
		>$@.new && mv $@.new $@
-include $(ptx_packs:.pack=.d)
else
kernels/ptx_table.h: kernels/prebuilt_ptx.h $(kernel_inputs) \
		$(nvidia_sources) kernels/pack.sh
	$(AM_V_GEN)$(pack_prebuilt) ptx same $(srcdir) $(pack_summed) \
		$(srcdir)/kernels/prebuilt_ptx.h && \
		cp $(srcdir)/kernels/prebuilt_ptx.h $@.new && mv $@.new $@
kernels/ptx.pack: kernels/prebuilt_ptx.pack kernels/ptx_table.h
	$(AM_V_GEN)cp $(srcdir)/kernels/prebuilt_ptx.pack $@.new && mv $@.new $@
kernels/prebuilt_ptx.h kernels/prebuilt_ptx.pack:
	@echo 'PTX is made by clang, which configure did not find' >&2; \
		exit 1
endif

# Machine code of the GPUs that --with-cuda-arch names, made of the same PTX: a
# pack for each, one after the other; without them an empty one.
sass_packs = $(CUDA_ARCHS:%=kernels/sass/%.pack)
CLEANFILES += kernels/sass.pack kernels/sass_table.h $(sass_packs) \
	$(sass_packs:.pack=.table)
$(sass_packs): kernels/ptx.pack kernels/ptx_table.h kernels/pack.sh
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(pack_sh) sass device $(srcdir) \
		kernels/ptx $(@:kernels/sass/%.pack=%) $@
kernels/sass.pack: $(sass_packs) config.status
	$(AM_V_GEN)cat $(sass_packs) /dev/null >$@.new && mv $@.new $@
kernels/sass_table.h: kernels/sass.pack kernels/pack.sh
	$(AM_V_GEN)$(pack_sh) sass devices $(srcdir) $(sass_packs) >$@.new && \
		mv $@.new $@

dist-hook: dist-packs
dist-packs: kernels/spirv.pack kernels/spirv_table.h \
		kernels/ptx.pack kernels/ptx_table.h
	cp kernels/spirv.pack $(distdir)/kernels/prebuilt_spirv.pack
	cp kernels/spirv_table.h $(distdir)/kernels/prebuilt_spirv.h
	cp kernels/ptx.pack $(distdir)/kernels/prebuilt_ptx.pack
	cp kernels/ptx_table.h $(distdir)/kernels/prebuilt_ptx.h
.PHONY: dist-packs
