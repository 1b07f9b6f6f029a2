# SPDX-License-Identifier: Apache-2.0
# conformance.mk - the tables, which the tests and the sesqui tool link.
#
# lists.mk has the tables' files in suite_sources and their names in op_tables.

noinst_LIBRARIES += libsuite.a
libsuite_a_SOURCES = $(suite_sources) \
	conformance/activation.h \
	conformance/bounds.h \
	conformance/bounds_attention.h \
	conformance/bounds_channel.h \
	conformance/bounds_rnn.h \
	conformance/bounds_rows.h \
	conformance/case.h \
	conformance/difference.c \
	conformance/difference.h \
	conformance/draw.c \
	conformance/draw.h \
	conformance/element.c \
	conformance/element.h \
	conformance/golden.h \
	conformance/golden_onnx.h \
	conformance/harness.c \
	conformance/names.c \
	conformance/pairwise.c \
	conformance/pairwise.h \
	conformance/plot.c \
	conformance/plot.h \
	conformance/running.h \
	conformance/suite.h \
	conformance/suite_run.c \
	conformance/suite_run.h \
	conformance/suites.c \
	conformance/turns.c \
	conformance/turns.h
nodist_libsuite_a_SOURCES = suite_list.h
suite_ldadd = libsuite.a libsesqui.la
EXTRA_DIST += conformance/golden.py conformance/golden_onnx.py

# All tables as an X-list.
suite_list.h: Makefile
	$(AM_V_GEN){ printf '#define SUITES(X)'; \
		for t in $(notdir $(op_tables)); do \
			printf ' \\\n    X(%s)' $$t; done; echo; } >$@.new && \
		mv $@.new $@
CLEANFILES += suite_list.h
conformance/names.o conformance/suites.o: suite_list.h
