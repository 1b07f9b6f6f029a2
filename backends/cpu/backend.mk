# SPDX-License-Identifier: Apache-2.0
# backend.mk - the cpu backend's kernels: every source as C, in all variants,
# for each set of instructions. It is part of the library itself.

EXTRA_DIST += backends/cpu/native.sh
native_objects = $(kernel_sources:kernels/%.k=backends/cpu/native/%.o)
native_tools = CC='$(CC)' AWK='$(AWK)' ISAS='$(CPU_ISAS)' PRE='$(native_pre)'
native_sh = $(SHELL) $(srcdir)/backends/cpu/native.sh
native_flags = $(AM_CPPFLAGS) $(CPPFLAGS) $(core_cflags) $(CFLAGS)
$(native_objects): backends/cpu/native.sh backends/cpu/kernel.h \
	kernels/embed.sh $(native_made)
backends/cpu/native/%.o: kernels/%.k
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(native_tools) $(native_sh) text \
		$(srcdir) $(@:.o=.d) $(native_flags) -c $< -o $@
-include $(native_objects:.o=.d)
CLEANFILES += $(native_objects:.o=.d) backends/cpu/native_table.c

backends/cpu/native_table.c: lists.mk backends/cpu/native.sh \
		backends/cpu/compiled.h
	$(AM_V_GEN)$(MKDIR_P) backends/cpu && $(native_tools) $(native_sh) \
		table $(srcdir) $(kernel_sources) >$@.new && mv $@.new $@
nodist_libcore_a_SOURCES += backends/cpu/native_table.c
libcore_a_LIBADD += $(native_objects)
EXTRA_libcore_a_DEPENDENCIES = $(libcore_a_LIBADD)

# The files of isa/, also as objects of libcore.a: a library for each set
# of instructions names them, and is not made. Flags are native.sh's.
cpu_isa_flags = $(core_cflags) -O3 -fno-math-errno -fno-trapping-math
cpu_avx2_flags = -mavx2 -mfma -mf16c
cpu_avx512_flags = $(cpu_avx2_flags) -mavx512f -mavx512bw -mavx512cd \
	-mavx512dq -mavx512vl -mprefer-vector-width=512
cpu_plain_set = -DISA=plain -DWIDTH=4
cpu_avx2_set = -DISA=avx2 -DWIDTH=8
cpu_avx512_set = -DISA=avx512 -DWIDTH=16
EXTRA_LIBRARIES += libcpu_plain.a libcpu_avx2.a libcpu_avx512.a
# Ranks add by plain code if no other set can be used.
if BUILD_PLAIN
libcpu_plain_a_SOURCES = $(cpu_isa_sources)
else
libcpu_plain_a_SOURCES = backends/cpu/isa/device/terms.c
endif
libcpu_plain_a_CPPFLAGS = $(AM_CPPFLAGS) $(cpu_plain_set)
libcpu_plain_a_CFLAGS = $(cpu_isa_flags)
libcore_a_LIBADD += $(libcpu_plain_a_OBJECTS)
libcpu_avx2_a_SOURCES = $(cpu_isa_sources)
libcpu_avx2_a_CPPFLAGS = $(AM_CPPFLAGS) $(cpu_avx2_pre) $(cpu_avx2_set)
libcpu_avx2_a_CFLAGS = $(cpu_isa_flags) $(cpu_avx2_flags)
if BUILD_AVX2
libcore_a_LIBADD += $(libcpu_avx2_a_OBJECTS)
endif
libcpu_avx512_a_SOURCES = $(cpu_isa_sources)
libcpu_avx512_a_CPPFLAGS = $(AM_CPPFLAGS) $(cpu_avx512_pre) $(cpu_avx512_set)
libcpu_avx512_a_CFLAGS = $(cpu_isa_flags) $(cpu_avx512_flags)
if BUILD_AVX512
libcore_a_LIBADD += $(libcpu_avx512_a_OBJECTS)
endif

# A compiler that precompiles headers reads <immintrin.h> once for each set of
# instructions and of flags. One that finds what was precompiled out of date
# reads the header itself.
EXTRA_DIST += backends/cpu/isa_headers.h
if PRECOMPILED
native_pre = backends/cpu/pre/native
native_made = $(native_pre)/made
cpu_avx2_pre = -include backends/cpu/pre/avx2.h
cpu_avx2_made = backends/cpu/pre/avx2.h.gch
cpu_avx512_pre = -include backends/cpu/pre/avx512.h
cpu_avx512_made = backends/cpu/pre/avx512.h.gch
endif
$(libcpu_avx2_a_OBJECTS): $(cpu_avx2_made)
$(libcpu_avx512_a_OBJECTS): $(cpu_avx512_made)
backends/cpu/pre/native/made: backends/cpu/isa_headers.h \
		backends/cpu/native.sh backends/cpu/compiled.h
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(native_tools) $(native_sh) headers \
		$(srcdir) none $(native_flags) -c $< -o $@
cpu_pre = $(AM_V_GEN)$(MKDIR_P) $(@D) && cp $< $(@:.gch=) && \
	$(CC) $(DEFS) $(DEFAULT_INCLUDES) $(INCLUDES) $(AM_CPPFLAGS)
backends/cpu/pre/avx2.h.gch: backends/cpu/isa_headers.h \
		backends/cpu/compiled.h
	$(cpu_pre) $(cpu_avx2_set) $(CPPFLAGS) $(cpu_isa_flags) \
		$(cpu_avx2_flags) $(CFLAGS) -x c-header $(@:.gch=) \
		-o $@.new && mv $@.new $@
backends/cpu/pre/avx512.h.gch: backends/cpu/isa_headers.h \
		backends/cpu/compiled.h
	$(cpu_pre) $(cpu_avx512_set) $(CPPFLAGS) $(cpu_isa_flags) \
		$(cpu_avx512_flags) $(CFLAGS) -x c-header $(@:.gch=) \
		-o $@.new && mv $@.new $@

clean-local: clean-native
clean-native:
	rm -rf backends/cpu/native backends/cpu/pre
.PHONY: clean-native
