# SPDX-License-Identifier: Apache-2.0
# tests.mk - how tests are run: TAP, through automake's driver.
#
# thread_tests: tests that use threads; check-sanitize runs them under TSan.
# full_tests: programs that check-full runs with SSQ_TEST_FULL=1 (a long
# sweep); they are also in check_PROGRAMS or EXTRA_PROGRAMS.
# slow_tests: tests that check-valgrind leaves out: too long, or about what
# valgrind cannot do.

thread_tests =
full_tests =
slow_tests =

TEST_EXTENSIONS = .sh
tap_driver = env AM_TAP_AWK='$(AWK)' $(SHELL) \
	$(top_srcdir)/build-aux/tap-driver.sh --merge
LOG_DRIVER = $(tap_driver)
SH_LOG_DRIVER = $(tap_driver)
# A test that hangs is an error after this many seconds.
TEST_TIMEOUT = 900
LOG_COMPILER = timeout -k 10 $(TEST_TIMEOUT)
SH_LOG_COMPILER = timeout -k 10 $(TEST_TIMEOUT) $(SHELL)

# These programs only call the library: without optimization they are compiled
# in a third of the time. glibc's checks need optimization.
calling_tests = amp api comm core data opencl tape vulkan
calling_cflags = $(patsubst -O%,-O0,$(CFLAGS)) -U_FORTIFY_SOURCE
$(calling_tests:%=tests/%/%.o): CFLAGS := $(calling_cflags)
# It is linked without the library, which only functions that it does not use
# call: the optimizer removes them.
tests/api/copies.o: CFLAGS := $(CFLAGS)
# These two compute what they compare with.
tests/comm/shards.o tests/core/threads.o: CFLAGS := $(CFLAGS)

# Where the modules of this build are; drivers are not for every checker.
module_path = $(abs_top_builddir)/.libs

# In make check PoCL and lavapipe compile without their optimizers, PoCL in a
# third of the time, and PoCL compiles a kernel once, for groups of any size:
# what most tests ask of a driver does not depend on that. The targets below use
# both as users have them.
plain_pocl = -cl-opt-disable
plain_drivers = POCL_WORK_GROUP_SPECIALIZATION=0; \
	export POCL_WORK_GROUP_SPECIALIZATION; \
	GALLIVM_PERF=nopt; export GALLIVM_PERF;
check-full check-op check-groups digests check-coopmat \
check-distros: plain_pocl =
check-full check-op check-groups digests check-coopmat \
check-distros: plain_drivers =

# A test needs no home, no network and no device. ccache would need a home.
# PoCL, Mesa and NVIDIA's driver keep what they compile for the tests that
# follow, and so does the library, with its certificates: PoCL reads every
# source again before it finds its own copy, a fifth of the tests' time.
AM_TESTS_ENVIRONMENT = \
	SSQ_MODULE_PATH='$(module_path)'; export SSQ_MODULE_PATH; \
	XDG_CACHE_HOME='$(abs_top_builddir)/tests/cache$(plain_pocl)'; \
	export XDG_CACHE_HOME; \
	POCL_EXTRA_BUILD_FLAGS='$(plain_pocl)'; \
	export POCL_EXTRA_BUILD_FLAGS; $(plain_drivers) \
	POCL_CACHE_DIR='$(abs_top_builddir)/tests/pocl'; \
	export POCL_CACHE_DIR; \
	MESA_SHADER_CACHE_DIR='$(abs_top_builddir)/tests/mesa'; \
	export MESA_SHADER_CACHE_DIR; \
	CUDA_CACHE_PATH='$(abs_top_builddir)/tests/nvidia'; \
	export CUDA_CACHE_PATH; \
	HOME=/dev/null/no-home; export HOME; \
	CCACHE_DISABLE=1; export CCACHE_DISABLE; \
	LC_ALL=C; export LC_ALL; \
	srcdir='$(abs_top_srcdir)'; export srcdir; \
	builddir='$(abs_top_builddir)'; export builddir; \
	CC='$(CC)'; export CC; CXX='$(CXX)'; export CXX; \
	AWK='$(AWK)'; export AWK; NM='$(NM)'; export NM; \
	CFLAGS='$(CFLAGS)'; export CFLAGS; \
	MPIRUN='$(MPIRUN)'; export MPIRUN; \
	MPI_LIBRARY='$(MPI_LIBRARY)'; export MPI_LIBRARY; \
	CUDA_DIR='$(CUDA_DIR)'; export CUDA_DIR; \
	SSQ_TEST_TABLES='$(notdir $(op_tables))'; export SSQ_TEST_TABLES; \
	MAKE='$(MAKE)'; export MAKE; libdir='$(libdir)'; export libdir; \
	bindir='$(bindir)'; export bindir; \
	docdir='$(docdir)'; export docdir; PKG_CONFIG='$(PKG_CONFIG)'; \
	export PKG_CONFIG;

EXTRA_DIST += tests/long.mk tests/coopmat-env tests/coopmat-check \
	tests/distro-env \
	tests/distro-build tests/distro-check tests/count.awk \
	tests/distro_paths.c tests/tap.h

# Tests start in this order. Directories with long tests come first:
# at the end no processor waits for another's.
include $(top_srcdir)/tests/api/tests.mk
include $(top_srcdir)/tests/fuzz/tests.mk
include $(top_srcdir)/tests/scalar/tests.mk
include $(top_srcdir)/tests/opencl/tests.mk
include $(top_srcdir)/tests/amp/tests.mk
include $(top_srcdir)/tests/conformance/tests.mk
include $(top_srcdir)/tests/vulkan/tests.mk
include $(top_srcdir)/tests/fakecuda/tests.mk
include $(top_srcdir)/tests/tape/tests.mk
include $(top_srcdir)/tests/comm/tests.mk
include $(top_srcdir)/tests/core/tests.mk
include $(top_srcdir)/tests/data/tests.mk
include $(top_srcdir)/tests/cpu/tests.mk
include $(top_srcdir)/tests/gpu/tests.mk
include $(top_srcdir)/tests/kernel/tests.mk
include $(top_srcdir)/tests/lint/tests.mk
include $(top_srcdir)/tests/vendors/tests.mk
include $(top_srcdir)/tests/targets.mk
-include $(srcdir)/tests/long.mk
