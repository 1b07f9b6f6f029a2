# SPDX-License-Identifier: Apache-2.0
# lib.mk - the core. Backends append to core_sources in their backend.mk.
#
# libcore.la is everything, unversioned and with hidden symbols in reach: tests
# of internals link it. libsesqui.la is what is installed.

include_HEADERS = include/sesqui.h
sesquidir = $(includedir)/sesqui
sesqui_HEADERS =
sesquiopsdir = $(sesquidir)/ops
sesquiops_HEADERS =

core_sources = \
	lib/version.c

noinst_LTLIBRARIES += libcore.la
libcore_la_SOURCES = $(core_sources)
libcore_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DSSQ_MODULE_DIR='"$(libdir)/sesqui/0"'

lib_LTLIBRARIES += libsesqui.la
libsesqui_la_SOURCES =
libsesqui_la_LIBADD = libcore.la
libsesqui_la_LDFLAGS = -version-info 0:0:0 -no-undefined -Wl,-z,defs \
	-Wl,--version-script=$(top_srcdir)/lib/sesqui.map
EXTRA_libsesqui_la_DEPENDENCIES = lib/sesqui.map
nodist_libcore_la_SOURCES = lib/backend_table.h
EXTRA_DIST += lib/sesqui.map
