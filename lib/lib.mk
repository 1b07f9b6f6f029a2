# SPDX-License-Identifier: Apache-2.0
# lib.mk - the core, with the backends that are always there.
#
# libcore.a is everything, with hidden symbols in reach: tests of internals link
# it. libsesqui.la, which is installed, is all of it as a shared library: so its
# objects are position-independent. It is not a libtool library, because
# libtool's shell takes as long for an object as the compiler. lists.mk has the
# sources and the headers.

include_HEADERS = include/sesqui.h
sesquidir = $(includedir)/sesqui
sesquiampdir = $(sesquidir)/amp
sesquiopsdir = $(sesquidir)/ops

noinst_LIBRARIES += libcore.a
core_cppflags = $(AM_CPPFLAGS) -DSSQ_MODULE_DIR='"$(libdir)/sesqui/0"'
core_cflags = $(AM_CFLAGS) $(PIC_CFLAGS)
libcore_a_SOURCES = $(core_sources)
libcore_a_LIBADD =
libcore_a_CPPFLAGS = $(core_cppflags)
libcore_a_CFLAGS = $(core_cflags)

# The reference and the test harness are most of the time that tests take.
if FAST_BUILD
$(filter-out backends/reference/% conformance/draw.o conformance/element.o \
	conformance/harness.o conformance/plot.o,$(libcore_a_OBJECTS) \
	$(libsuite_a_OBJECTS)): CFLAGS += -O1
endif

lib_LTLIBRARIES += libsesqui.la
libsesqui_la_SOURCES =
libsesqui_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined \
	-Wl,-z,defs -Wl,--version-script=$(top_srcdir)/lib/sesqui.map
libsesqui_la_LIBADD = $(CORE_WHOLE)
EXTRA_libsesqui_la_DEPENDENCIES = lib/sesqui.map libcore.a
nodist_libcore_a_SOURCES = lib/backend_table.h kernel_table.h \
	kernels/kernel_table.c
EXTRA_DIST += lib/sesqui.map
# Headers that make writes must exist before the dependencies are known.
$(libcore_a_OBJECTS): | kernel_table.h kernels_sum.h tape_table.h \
	second_rules.h

# The ops over vars as a table, and the list of those with a second derivative,
# from the headers of the ops and the manifest. make vars makes
# include/sesqui/vars.h from the same files; it is kept.
unary_kinds = kernels/elementwise/unary_kinds.h
manifest = lib/core/module/ops.h
vars_inputs = lib/tape/vars.awk $(sesquiops_HEADERS) $(unary_kinds) $(manifest)
vars_awk = cd $(srcdir) && LC_ALL=C $(AWK) -v top=. -f lib/tape/vars.awk
vars_from = $(sesquiops_HEADERS) list=kinds $(unary_kinds) list=ops $(manifest)
EXTRA_DIST += lib/tape/vars.awk lib/tape/vars_head.txt
CLEANFILES += tape_table.h second_rules.h
tape_table.h: $(vars_inputs)
	$(AM_V_GEN)($(vars_awk) -v want=table $(vars_from)) >$@.new && \
		mv $@.new $@
second_rules.h: $(vars_inputs)
	$(AM_V_GEN)($(vars_awk) -v want=second $(vars_from)) >$@.new && \
		mv $@.new $@
vars:
	$(AM_V_GEN)($(vars_awk) -v want=header $(vars_from)) >vars.h.new && \
		mv vars.h.new $(srcdir)/include/sesqui/vars.h
.PHONY: vars

# make hpp makes the list of ops in include/sesqui/sesqui.hpp; it is kept.
hpp = $(srcdir)/include/sesqui/sesqui.hpp
EXTRA_DIST += build-aux/hpp.awk
hpp:
	$(AM_V_GEN){ sed '/^SESQUI_OP(/,$$d' $(hpp) && \
		(cd $(srcdir) && \
		$(AWK) -f build-aux/hpp.awk $(sesquiops_HEADERS)) && \
		sed -n '/^#undef SESQUI_OP/,$$p' $(hpp); } >sesqui.hpp.new && \
		mv sesqui.hpp.new $(hpp)
.PHONY: hpp

# So are include/sesqui/init.h and lib/core/base/init.c, of the SSQ_X_INIT
# macros of the other headers: make init.
EXTRA_DIST += build-aux/init.sh build-aux/marks.awk build-aux/calls.sh
init:
	$(AM_V_GEN)for what in header source; do \
		AWK='$(AWK)' $(SHELL) $(srcdir)/build-aux/init.sh $$what \
			'$(CC)' $(srcdir)/include >init.$$what.new || exit; \
	done && mv init.header.new $(srcdir)/include/sesqui/init.h && \
		mv init.source.new $(srcdir)/lib/core/base/init.c
.PHONY: init

# The declarations of the headers, for generators of bindings: doc/api.md.
apidir = $(datadir)/sesqui
api_DATA = api.json
CLEANFILES += api.json
EXTRA_DIST += build-aux/api.sh build-aux/api.awk
api.json: $(include_HEADERS) $(sesqui_HEADERS) $(sesquiamp_HEADERS) \
		$(sesquiops_HEADERS) build-aux/api.sh build-aux/api.awk
	$(AM_V_GEN)AWK='$(AWK)' $(SHELL) $(srcdir)/build-aux/api.sh \
		'$(CC)' $(srcdir)/include '$(PACKAGE_VERSION)' >$@.new && \
		mv $@.new $@
