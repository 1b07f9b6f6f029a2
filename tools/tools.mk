# SPDX-License-Identifier: Apache-2.0
# tools.mk - the programs that are installed. They link libsesqui.la.

bin_PROGRAMS += sesqui
sesqui_SOURCES = \
	tools/bench.c \
	tools/certify.c \
	tools/devices.c \
	tools/latency.c \
	tools/overhead.c \
	tools/peak.c \
	tools/sesqui.c \
	tools/support.c \
	tools/tool.h \
	tools/tune.c \
	tools/verify.c
sesqui_LDADD = libsuite.la libsesqui.la
sesqui_LDFLAGS = $(AM_LDFLAGS) $(MOVED_LDFLAGS)
