# SPDX-License-Identifier: Apache-2.0
# lib.mk - the core, with the backends that are always there.
#
# libcore.la is everything, unversioned and with hidden symbols in reach: tests
# of internals link it. libsesqui.la is what is installed. lists.mk has the
# sources and the headers.

include_HEADERS = include/sesqui.h
sesquidir = $(includedir)/sesqui
sesquiampdir = $(sesquidir)/amp
sesquiopsdir = $(sesquidir)/ops

noinst_LTLIBRARIES += libcore.la
libcore_la_SOURCES = $(core_sources)
libcore_la_LIBADD =
libcore_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DSSQ_MODULE_DIR='"$(libdir)/sesqui/0"'

lib_LTLIBRARIES += libsesqui.la
libsesqui_la_SOURCES =
libsesqui_la_LIBADD = libcore.la
libsesqui_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined \
	-Wl,-z,defs -Wl,--version-script=$(top_srcdir)/lib/sesqui.map
EXTRA_libsesqui_la_DEPENDENCIES = lib/sesqui.map
nodist_libcore_la_SOURCES = lib/backend_table.h kernel_table.h \
	kernels/kernel_table.c
EXTRA_DIST += lib/sesqui.map
# What they include and make writes, before it is known who includes what.
$(libcore_la_OBJECTS): | kernel_table.h kernels_sum.h tape_table.h

# The ops over vars: what the headers of the ops and vars.list say, as a table.
# include/sesqui/vars.h is made likewise, and kept: make vars.
vars_inputs = lib/tape/vars.awk $(sesquiops_HEADERS) lib/tape/vars.list
vars_awk = cd $(srcdir) && LC_ALL=C $(AWK) -v top=. -f lib/tape/vars.awk
vars_from = $(sesquiops_HEADERS) lib/tape/vars.list
EXTRA_DIST += lib/tape/vars.awk lib/tape/vars.list lib/tape/vars_head.txt
CLEANFILES += tape_table.h
tape_table.h: $(vars_inputs)
	$(AM_V_GEN)($(vars_awk) -v want=table $(vars_from)) >$@.new && \
		mv $@.new $@
vars:
	$(AM_V_GEN)($(vars_awk) -v want=header $(vars_from)) >vars.h.new && \
		mv vars.h.new $(srcdir)/include/sesqui/vars.h
.PHONY: vars
