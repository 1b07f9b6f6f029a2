# SPDX-License-Identifier: Apache-2.0
# backend.mk - the cpu backend's kernels: every text as C, in all variants, for
# each set of instructions. It is part of the library itself.

# libtool takes native.sh for the compiler.
EXTRA_DIST += backends/cpu/native.sh
native_objects = $(kernel_texts:kernels/%.k=backends/cpu/native/%.lo)
native_tools = CC='$(CC)' AWK='$(AWK)' ISAS='$(CPU_ISAS)'
native_sh = $(SHELL) $(srcdir)/backends/cpu/native.sh
native_flags = $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS)
$(native_objects): backends/cpu/native.sh backends/cpu/kernel.h kernels/embed.sh
backends/cpu/native/%.lo: kernels/%.k
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(native_tools) \
		$(LIBTOOL) $(AM_V_lt) --tag=CC --mode=compile \
		$(native_sh) text $(srcdir) $(@:.lo=.d) $(native_flags) \
		-c $< -o $@
-include $(native_objects:.lo=.d)
CLEANFILES += $(native_objects:.lo=.d) backends/cpu/native_table.c

backends/cpu/native_table.c: lists.mk backends/cpu/native.sh
	$(AM_V_GEN)$(MKDIR_P) backends/cpu && $(native_tools) $(native_sh) \
		table $(srcdir) $(kernel_texts) >$@.new && mv $@.new $@
nodist_libcore_la_SOURCES += backends/cpu/native_table.c
libcore_la_LIBADD += $(native_objects)
EXTRA_libcore_la_DEPENDENCIES = $(native_objects)

# The files of isa/, likewise; each set of instructions is a library that only
# libcore.la has. Flags here are those of native.sh.
cpu_isa_flags = $(AM_CFLAGS) -O3 -fno-math-errno -fno-trapping-math
cpu_avx2_flags = -mavx2 -mfma -mf16c
cpu_avx512_flags = $(cpu_avx2_flags) -mavx512f -mavx512bw -mavx512cd \
	-mavx512dq -mavx512vl -mprefer-vector-width=512
noinst_LTLIBRARIES += libcpu_plain.la
libcpu_plain_la_SOURCES = $(cpu_isa_sources)
libcpu_plain_la_CPPFLAGS = $(AM_CPPFLAGS) -DISA=plain -DWIDTH=4
libcpu_plain_la_CFLAGS = $(cpu_isa_flags)
libcore_la_LIBADD += libcpu_plain.la
if CPU_X86
noinst_LTLIBRARIES += libcpu_avx2.la libcpu_avx512.la
libcpu_avx2_la_SOURCES = $(cpu_isa_sources)
libcpu_avx2_la_CPPFLAGS = $(AM_CPPFLAGS) -DISA=avx2 -DWIDTH=8
libcpu_avx2_la_CFLAGS = $(cpu_isa_flags) $(cpu_avx2_flags)
libcpu_avx512_la_SOURCES = $(cpu_isa_sources)
libcpu_avx512_la_CPPFLAGS = $(AM_CPPFLAGS) -DISA=avx512 -DWIDTH=16
libcpu_avx512_la_CFLAGS = $(cpu_isa_flags) $(cpu_avx512_flags)
libcore_la_LIBADD += libcpu_avx2.la libcpu_avx512.la
endif

clean-local: clean-native
clean-native:
	rm -rf backends/cpu/native
.PHONY: clean-native
