# SPDX-License-Identifier: Apache-2.0
# kernels.mk - device code and the headers it shares with the host.

# Texts and headers are in lists.mk; the order of the texts is the enum's.
EXTRA_DIST += kernels/embed.sh $(kernel_texts) $(kernel_headers)

kernel_inputs = kernels/embed.sh lists.mk $(kernel_texts) \
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
	rm -f $(@:.stamp=.new) || mv $(@:.stamp=.new) $(@:.stamp=); } && \
	touch $@

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
		echo "#define KERNELS_SUM \"$$sum\"" >kernels_sum.h.new && \
		$(differing)
kernels/kernel_table.c: kernels/kernel_table.c.stamp
	$(made)
kernels/kernel_table.c.stamp: $(kernel_inputs)
	$(embed) table.c $(srcdir) $(kernel_texts) \
		>kernels/kernel_table.c.new && \
		$(differing)
kernels/kernel_text.h: kernels/kernel_text.h.stamp
	$(made)
kernels/kernel_text.h.stamp: $(kernel_inputs)
	$(embed) text.h $(srcdir) $(kernel_texts) \
		>kernels/kernel_text.h.new && \
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
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(spirv_sh) text $(srcdir) $@ \
		kernels/$*.k
kernels/spirv.pack: $(spirv_packs) lists.mk
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
	@echo 'SPIR-V is made by glslc, which configure did not find' >&2; \
		exit 1
endif
dist-hook: dist-spirv
dist-spirv: kernels/spirv.pack kernels/spirv_table.h
	cp kernels/spirv.pack $(distdir)/kernels/prebuilt.pack
	cp kernels/spirv_table.h $(distdir)/kernels/prebuilt.h
.PHONY: dist-spirv
