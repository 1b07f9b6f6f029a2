# SPDX-License-Identifier: Apache-2.0
# tests.mk - tests of the API as a whole.
#
# A test is a program: check_PROGRAMS += tests/api/x, TESTS += tests/api/x,
# tests_api_x_SOURCES = tests/api/x.c, tests_api_x_LDADD = libsesqui.la (or
# libcore.a for internals).

EXTRA_DIST += tests/api/faults.h tests/api/stages.h tests/api/training.h

check_PROGRAMS += tests/api/dtype tests/api/guard
TESTS += tests/api/dtype tests/api/guard
tests_api_dtype_SOURCES = tests/api/dtype.c
tests_api_dtype_LDADD = libsesqui.la
tests_api_guard_SOURCES = tests/api/guard.c
tests_api_guard_LDADD = libsesqui.la

check_PROGRAMS += tests/api/alloc_step
TESTS += tests/api/alloc_step
full_tests += tests/api/alloc_step
tests_api_alloc_step_SOURCES = tests/api/alloc_step.c tests/api/training.h
tests_api_alloc_step_LDADD = libsesqui.la
check_PROGRAMS += tests/api/threads_step
TESTS += tests/api/threads_step
thread_tests += tests/api/threads_step
tests_api_threads_step_SOURCES = tests/api/threads_step.c tests/api/training.h
tests_api_threads_step_LDADD = libsesqui.la

# Two copies of the library in a process.
check_PROGRAMS += tests/api/copies
TESTS += tests/api/copies
tests_api_copies_SOURCES = tests/api/copies.c tests/api/plugin.h \
	tests/api/training.h
tests_api_copies_LDADD =
EXTRA_tests_api_copies_DEPENDENCIES = tests/api/plugin.la
check_LTLIBRARIES += tests/api/plugin.la
tests_api_plugin_la_SOURCES = tests/api/plugin.c tests/api/plugin.h
tests_api_plugin_la_LDFLAGS = -module -avoid-version -no-undefined \
	-Wl,-z,defs -rpath $(abs_builddir)/tests/api
tests_api_plugin_la_LIBADD = $(CORE_WHOLE)
EXTRA_tests_api_plugin_la_DEPENDENCIES = libcore.a

# The table of all ops is made from the headers.
check_PROGRAMS += tests/api/contract
TESTS += tests/api/contract
tests_api_contract_SOURCES = tests/api/contract.c
nodist_tests_api_contract_SOURCES = tests/api/calls.inc
tests_api_contract_LDADD = libsesqui.la
EXTRA_DIST += tests/api/calls.awk
CLEANFILES += tests/api/calls.inc tests/api/all.c
tests/api/contract.$(OBJEXT): tests/api/calls.inc
tests/api/calls.inc: $(include_HEADERS) $(sesqui_HEADERS) \
		$(sesquiamp_HEADERS) $(sesquiops_HEADERS) tests/api/calls.awk \
		tests/lint/declarations.awk
	$(AM_V_GEN)$(MKDIR_P) tests/api && \
	echo '#include <sesqui.h>' >tests/api/all.c && \
	$(CC) $(AM_CPPFLAGS) $(CPPFLAGS) -E -D'__attribute__(x)=' \
		tests/api/all.c >$@.i && \
	$(AWK) -f $(srcdir)/tests/lint/declarations.awk $@.i >$@.d && \
	$(AWK) -f $(srcdir)/tests/api/calls.awk $@.d >$@.tmp && \
	rm -f $@.i $@.d && mv $@.tmp $@

example_tests = tests/api/digits.sh tests/api/cnn.sh tests/api/mlp.sh \
	tests/api/amp_loop.sh tests/api/dtypes.sh \
	tests/api/gpt.sh tests/api/simple_cnn.sh
TESTS += tests/api/examples.sh tests/api/short.sh $(example_tests)
full_tests += $(example_tests)
EXTRA_DIST += tests/api/examples.sh tests/api/short.sh \
	$(example_tests) tests/api/idx.sh \
	tests/api/dtypes.txt
slow_tests += tests/api/examples.sh tests/api/short.sh $(example_tests)

TESTS += tests/api/certify.sh
EXTRA_DIST += tests/api/certify.sh
slow_tests += tests/api/certify.sh

TESTS += tests/api/report.sh tests/api/support.sh
EXTRA_DIST += tests/api/report.sh tests/api/support.sh
slow_tests += tests/api/report.sh tests/api/support.sh
TESTS += tests/api/throughput.sh
EXTRA_DIST += tests/api/throughput.sh
slow_tests += tests/api/throughput.sh

TESTS += tests/api/bench.sh tests/api/bench_peers.sh \
	tests/api/bench_suites.sh tests/api/usage.sh \
	tests/api/completion.sh
EXTRA_DIST += tests/api/bench.sh tests/api/bench_peers.sh \
	tests/api/bench_suites.sh tests/api/usage.sh \
	tests/api/completion.sh
slow_tests += tests/api/bench.sh tests/api/bench_peers.sh \
	tests/api/bench_suites.sh
