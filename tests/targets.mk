# SPDX-License-Identifier: Apache-2.0
# targets.mk - the long checks: sanitizers, valgrind, coverage, full sweeps.
#
# Each builds in its own directory below this one and ends with the line
# "N passed, N failed, N skipped".

# Programs and scripts that run the library; tests/lint looks at the build, and
# tests/fuzz has its own sanitizers: make fuzz.
run_tests = $(filter-out tests/lint/%.sh tests/fuzz/%.sh, \
	$(TESTS) $(filter-out $(TESTS),$(long_tests)))
valgrind_tests = $(filter-out $(slow_tests),$(run_tests))

# tally: the sum of the last make check.
tally:
	@$(SHELL) $(top_srcdir)/build-aux/tally --failures $(TEST_LOGS)

# times: how long each test took, longest first; then how many of the faults of
# tests/mutants it finds, and how many nothing else finds.
times:
	@for log in $(TEST_LOGS); do \
		test ! -f $$log || \
		sed -n "s|^# \\([0-9.]*\\) seconds.*|\\1 s  $${log%.log}|p" \
		$$log | \
			tail -n 1; \
	done | sort -rn | $(AWK) -f $(srcdir)/tests/mutants/times.awk \
		$(srcdir)/tests/mutants/found.txt -

# How many faults the tests find. FAULTS=PATTERN tries some of them.
FAULTS = .
check-mutants:
	+$(SHELL) $(srcdir)/tests/mutants/run.sh '$(abs_top_srcdir)' \
		'$(abs_builddir)' '$(abs_builddir)/variant-mutants' '$(FAULTS)'
EXTRA_DIST += tests/mutants/run.sh tests/mutants/times.awk \
	tests/mutants/faults.txt tests/mutants/found.txt
.PHONY: check-mutants

# $(call variant,DIRECTORY,CONFIGURE ARGUMENTS): configure, build the tests.
# A compiler cache in CC, the user's LDFLAGS and so on are kept.
variant = $(MKDIR_P) $(1) && cd $(1) && \
	{ test -f Makefile || $(abs_top_srcdir)/configure --quiet \
		CC='$(CC)' CXX='$(CXX)' LDFLAGS='$(LDFLAGS)' $(2); } && \
	$(MAKE) all && $(MAKE) check TESTS=

# $(call run_in,TESTS,MORE): run them there and sum up; make's own status says
# no more than the sum does.
run_in = { $(MAKE) check TESTS="$(strip $(1))" $(2) >check.out || :; \
	$(SHELL) $(abs_top_srcdir)/build-aux/tally --failures \
		$(patsubst %,%.log,$(basename $(1))); }

# make check-op OP=gemm [DEVICE=vulkan:0]: build what it takes and run the
# tables of one op; what failed, then the counts; the lines are in check-op.tap.
check-op:
	@test -n '$(OP)' || { echo 'make check-op OP=gemm [DEVICE=vulkan:0]' \
		>&2; \
		exit 2; }
	@$(MAKE) --no-print-directory sesqui$(EXEEXT) $(module_LTLIBRARIES) \
		>check-op.out || { cat check-op.out; exit 1; }
	@$(AM_TESTS_ENVIRONMENT) ./sesqui$(EXEEXT) verify --op '$(OP)' \
		$(DEVICE:%=--device '%') >check-op.tap; status=$$?; \
	$(AWK) -f $(srcdir)/tests/count.awk check-op.tap; exit $$status
MOSTLYCLEANFILES += check-op.out check-op.tap

# The bits of all tables on all devices, a line for each case and device: before
# and after a large move, diff says what differs.
digests: all
	$(MAKE) tests/conformance/tables$(EXEEXT)
	@$(AM_TESTS_ENVIRONMENT) SSQ_TEST_DIGEST=1; export SSQ_TEST_DIGEST; \
	for t in $(op_tables); do \
		./tests/conformance/tables$(EXEEXT) $$t || exit 1; \
	done >digests.txt.new && \
	sed -n 's/^# digest //p' digests.txt.new >digests.txt && \
	wc -l digests.txt
MOSTLYCLEANFILES += digests.txt digests.txt.new

# Objects that need each other, counted for each library, and what ties them.
circles: libcore.a $(module_LTLIBRARIES)
	@$(AM_TESTS_ENVIRONMENT) $(SHELL) $(srcdir)/tests/lint/circles.sh \
		>circles.tap; cat circles.tap; ! grep -q '^not ok' circles.tap
MOSTLYCLEANFILES += circles.tap

# make count-op OP=NAME: the files that name an op.
count-op:
	@cd $(srcdir) && AWK='$(AWK)' $(SHELL) build-aux/count-op.sh '$(OP)'

# bounds-strict: also of an array that is a structure's last member.
asan_flags = -g -O1 -fno-omit-frame-pointer -fno-sanitize-recover=all \
	-fsanitize=address,undefined,bounds-strict,float-cast-overflow
tsan_flags = -g -O1 -fno-omit-frame-pointer -fsanitize=thread

check-sanitize:
	$(MAKE) check-asan
	$(MAKE) check-tsan

# gcc 12 does not align the frames of use after return to AVX-512's vectors.
asan_options = detect_stack_use_after_return=0:allocator_may_return_null=1
# With a driver in the process: its threads bring signal stacks of their own,
# and it keeps memory to the end; tests/opencl/faults counts our objects there.
asan_driver_options = $(asan_options):use_sigaltstack=0:detect_leaks=0
asan_only_drivers = tests/opencl/% tests/vulkan/% tests/api/certify.sh \
	tests/comm/mpi.sh tests/comm/mpi_lost.sh \
	tests/api/support.sh tests/fakecuda/blas_test tests/fakecuda/capture \
	tests/fakecuda/devices.sh tests/fakecuda/faults \
	tests/fakecuda/misuse tests/fakecuda/mma.sh tests/fakecuda/mma_refused \
	tests/fakecuda/native tests/fakecuda/programs.sh \
	tests/fakecuda/races.sh \
	tests/fakecuda/shared.sh tests/fakecuda/tables.sh \
	tests/fakecuda/tune.sh tests/fakecuda/tuning tests/gpu/brief.sh
asan_driver_tests = $(filter tests/core/% tests/amp/% $(asan_only_drivers), \
	$(run_tests))
asan_host_tests = $(filter-out $(asan_only_drivers),$(run_tests))

# Both parts run, even if the first one fails.
check-asan:
	+$(call variant,variant-asan,CFLAGS='$(asan_flags)' --enable-debug)
	+@status=0; $(MAKE) check-asan-host || status=1; \
	$(MAKE) check-asan-drivers || status=1; exit $$status
check-asan-host:
	+cd variant-asan && ASAN_OPTIONS=$(asan_options) \
	UBSAN_OPTIONS=print_stacktrace=1 SSQ_TEST_SHORT=1 && \
	export ASAN_OPTIONS UBSAN_OPTIONS SSQ_TEST_SHORT && \
	$(call run_in,$(asan_host_tests),TEST_TIMEOUT=3600 module_path=)
check-asan-drivers:
	+cd variant-asan && ASAN_OPTIONS=$(asan_driver_options) \
	UBSAN_OPTIONS=print_stacktrace=1 SSQ_TEST_SHORT=1 && \
	export ASAN_OPTIONS UBSAN_OPTIONS SSQ_TEST_SHORT && \
	$(call run_in,$(asan_driver_tests),TEST_TIMEOUT=3600)

# TSan of gcc 12 cannot live with 32 bits of address randomisation, and knows
# nothing of a driver's threads. It would end a child of fork that
# starts threads, which is what children here are tested for.
tsan_options = halt_on_error=1:die_after_fork=0
check-tsan:
	@test -n '$(strip $(thread_tests))' || \
		{ echo 'thread_tests is empty: nothing to run' >&2; exit 1; }
	+$(call variant,variant-tsan,CFLAGS='$(tsan_flags)' --enable-debug)
	+cd variant-tsan && TSAN_OPTIONS=$(tsan_options) SSQ_TEST_SHORT=1 && \
	export TSAN_OPTIONS SSQ_TEST_SHORT && \
	fixed='setarch -R' && { $$fixed true 2>/dev/null || fixed=; } && \
	$(call run_in,$(thread_tests),LOG_COMPILER="$$fixed timeout 3600" \
	module_path=)

check-valgrind: module_path =
check-valgrind: all
	$(MAKE) check TESTS=
	$(MKDIR_P) variant-valgrind
	@SSQ_TEST_SHORT=1; export SSQ_TEST_SHORT; \
	failed=0; logs=; for t in $(valgrind_tests); do \
		$(call run_one,variant-valgrind,$$t,\
		$(LIBTOOL) --mode=execute valgrind --quiet --error-exitcode=99 \
		--leak-check=full --errors-for-leak-kinds=definite \
		--child-silent-after-fork=yes); done; \
	$(SHELL) $(top_srcdir)/build-aux/tally --failures $$logs

# Kernels in the shape that GPUs run them in, on a processor: groups of 64.
check-groups: all
	@SSQ_OPENCL_GROUP=64; export SSQ_OPENCL_GROUP; \
	$(AM_TESTS_ENVIRONMENT) SSQ_CACHE=0 ./sesqui$(EXEEXT) verify \
		--device opencl:0

# The kernels by NVIDIA's assembler, which tells registers and spills.
check-ptxas: kernels/ptx.pack kernels/ptx_table.h
	$(MKDIR_P) variant-ptxas
	@logs=; $(call run_one,variant-ptxas,tests/kernel/ptxas.sh,); \
	$(SHELL) $(top_srcdir)/build-aux/tally --failures $$logs

# All tables under the Khronos validation layer: no message, or it fails.
check-validation: all
	$(MAKE) tests/vulkan/validation$(EXEEXT)
	$(MKDIR_P) variant-validation
	@SSQ_VALIDATE=all SSQ_TEST_REQUIRE=vulkan SSQ_CACHE=0; \
	export SSQ_VALIDATE SSQ_TEST_REQUIRE SSQ_CACHE; logs=; \
	$(call run_one,variant-validation,tests/vulkan/validation.sh,); \
	$(SHELL) $(top_srcdir)/build-aux/tally --failures $$logs

# Cooperative matrices, on a newer lavapipe in its own folder.
coopmat_env = $(abs_builddir)/coopmat-env
coopmat_tests = $(filter tests/vulkan/coopmat_%,$(vulkan_tests))
check-coopmat: all
	$(MAKE) $(coopmat_tests:%=%$(EXEEXT))
	$(srcdir)/tests/coopmat-env '$(coopmat_env)'
	@grep -q 'sum:' kernels/coopmat_spv.h || \
		{ echo 'the shader is not built:' \
		"configure GLSLC_COOPMAT='$(coopmat_env)/bin/glslc'" >&2; \
		exit 1; }
	@$(AM_TESTS_ENVIRONMENT) $(SHELL) $(srcdir)/tests/coopmat-check \
		'$(coopmat_env)' '$(SHELL) ./libtool' ./sesqui$(EXEEXT) \
		$(coopmat_tests:%=./%$(EXEEXT))

# All tables and the digits on the drivers of other Debians, in folders of
# their own, each as large as 1 GB. Failures on sid are only listed: its
# drivers change from day to day. Less: verify='--op unary', drivers=rusticl.
# Their compilers are check-compilers's.
distros = bookworm trixie sid
distros_that_block = bookworm trixie
check-distros: all
	$(MAKE) examples/digits/digits$(EXEEXT)
	$(MKDIR_P) variant-distros
	@failed=; for name in $(distros); do \
		env='$(abs_builddir)'/distro-env/$$name; \
		$(SHELL) $(abs_top_srcdir)/tests/distro-env $$name $$env || \
		exit 1; \
		( $(AM_TESTS_ENVIRONMENT) cd variant-distros && \
		drivers='$(drivers)' \
		$(SHELL) $(abs_top_srcdir)/tests/distro-check $$name $$env \
			'$(SHELL) ../libtool' ../sesqui$(EXEEXT) \
			../examples/digits/digits$(EXEEXT) $(verify) ) || \
		case ' $(distros_that_block) ' in \
		*" $$name "*) failed="$$failed $$name" ;; esac; \
	done; test -z "$$failed" || { echo "failed on$$failed" >&2; exit 1; }

# The tarball by the compilers of those Debians, each entered as a root of its
# own: see tests/distro-env. compilers='gcc-15 clang' are some of them.
compilers =
compiler_tests = $(scalar_tests) tests/lint/headers.sh tests/lint/args.sh \
	tests/kernel/c.sh tests/scalar/compile_scalar.sh tests/opencl/faults \
	tests/vulkan/faults tests/vulkan/coopmat_refused
check-compilers: dist
	$(MKDIR_P) variant-distros
	rm -f variant-distros/digits.tsv
	@failed=; for name in $(distros); do \
		env='$(abs_builddir)'/distro-env/$$name-cc; \
		$(SHELL) $(abs_top_srcdir)/tests/distro-env $$name-cc $$env || \
		exit 1; \
		( cd variant-distros && \
		$(SHELL) $(abs_top_srcdir)/tests/distro-build \
			-c '$(compilers)' \
			$$name $$env '$(abs_builddir)/$(distdir).tar.gz' \
			$(compiler_tests) ) || \
		case ' $(distros_that_block) ' in \
		*" $$name "*) failed="$$failed $$name" ;; esac; \
	done; test -z "$$failed" || { echo "failed on$$failed" >&2; exit 1; }

check-full: all
	@test -n '$(strip $(full_tests))' || \
		{ echo 'full_tests is empty: nothing to run' >&2; exit 1; }
	$(MAKE) check TESTS= && $(MAKE) $(full_tests:%=%$(EXEEXT))
	$(MKDIR_P) variant-full
	@SSQ_TEST_FULL=1; export SSQ_TEST_FULL; logs=; \
	for t in $(sort $(full_tests) $(long_tests) \
		$(filter-out tests/lint/%,$(TESTS))); do \
		$(call run_one,variant-full,$$t,); done; status=0; \
	$(MAKE) check-elsewhere || status=1; \
	$(SHELL) $(top_srcdir)/build-aux/tally --failures $$logs && \
		exit $$status

# Other processors, another C library, other build systems and packages: each
# target whose tools are installed.
check-elsewhere:
	@failed=; for pair in cross:s390x-linux-gnu-gcc musl:musl-gcc \
		subproject:meson debian:dpkg-buildpackage; do \
		target=check-$${pair%%:*} tool=$${pair#*:}; \
		command -v $$tool >/dev/null || { \
			echo "$$target: skipped: there is no $$tool"; \
			continue; }; \
		echo "$$target:"; $(MAKE) $$target || \
			failed="$$failed $$target"; \
	done; test -z "$$failed" || { echo "failed:$$failed" >&2; exit 1; }
.PHONY: check-elsewhere

# Ranks over each installed MPI, in its own build.
mpis = mpicc.openmpi mpicc.mpich
mpi_tests = tests/comm/mpi.sh tests/comm/mpi_lost.sh tests/comm/mixture.sh \
	tests/comm/examples.sh tests/comm/network.sh
check-mpis:
	@for m in $(mpis); do command -v $$m >/dev/null || \
		{ echo "check-mpis: no $$m" >&2; exit 1; }; done
	+$(call variant,variant-openmpi,MPICC=mpicc.openmpi)
	+$(call variant,variant-mpich,MPICC=mpicc.mpich)
	+@status=0; for v in openmpi mpich; do \
		( cd variant-$$v && SSQ_TEST_FULL=1 SSQ_TEST_REQUIRE=mpi && \
		export SSQ_TEST_FULL SSQ_TEST_REQUIRE && \
		$(call run_in,$(mpi_tests),) ) || status=1; done; exit $$status

# $(call run_one,DIRECTORY,TEST,PREFIX): run a test of this directory under the
# driver, outside make check; adds to $logs.
run_one = log=$(1)/$(2).log; logs="$$logs $$log"; \
	$(MKDIR_P) `dirname $$log`; rm -f $$log $(1)/$(2).trs; \
	echo "  RUN      $(2)"; \
	case $(2) in *.sh) prefix='$(SHELL)'; file='$(abs_top_srcdir)'/$(2);; \
	*.table) prefix='$(3) ./tests/conformance/tables$(EXEEXT)'; \
		file=$(2);; \
	*) prefix='$(3)'; file=./$(2);; esac; \
	( $(AM_TESTS_ENVIRONMENT) $(tap_driver) --test-name $(2) \
		--log-file $$log --trs-file $(1)/$(2).trs --color-tests no \
		--enable-hard-errors yes --expect-failure no \
		-- $$prefix $$file >/dev/null ) || :

# The children of traps must write their counts: see SSQ_COVERAGE in tap.h.
coverage_flags = -g -O0 --coverage -fprofile-update=atomic
check-coverage:
	+$(call variant,variant-coverage,CFLAGS='$(coverage_flags)' \
		CPPFLAGS=-DSSQ_COVERAGE PATH_CFLAGS=)
	+cd variant-coverage && rm -f *conftest.gc* && \
		find . -name '*.gcda' -exec rm -f {} + && \
		$(call run_in,$(run_tests),TEST_TIMEOUT=3600)
	cd variant-coverage && top=`cd '$(abs_top_srcdir)' && pwd -P` && \
	report() { gcovr --root "$$top" --filter "$$top/lib/" \
		--exclude-unreachable-branches --exclude-throw-branches \
		"$$@" .; } && \
	report --txt lines.txt && cat lines.txt && \
	report --txt branches.txt --branches && cat branches.txt && \
	report --print-summary --txt /dev/null

# Two builds of the tarball in different places give the same bytes.
check-reproducible: dist
	$(SHELL) $(top_srcdir)/tests/lint/reproducible.sh \
		'$(abs_builddir)/$(distdir).tar.gz' '$(abs_builddir)'

clean-local:
	rm -rf variant-asan variant-tsan variant-valgrind variant-full \
		variant-validation variant-coverage variant-fuzz \
		variant-mutants \
		variant-distros \
		reproducible consumer doc/reference \
		tests/pocl tests/mesa tests/nvidia \
		tests/cache tests/cache-cl-opt-disable

# Before a release, or where a public function is renamed or goes.
update-symbols: all
	srcdir='$(srcdir)' builddir=. CC='$(CC)' NM='$(NM)' \
		$(SHELL) $(srcdir)/tests/lint/symbols.sh --update

# After comments and pages have become plainer: lowers the numbers of prose.txt.
update-prose:
	srcdir='$(srcdir)' AWK='$(AWK)' \
		$(SHELL) $(srcdir)/tests/lint/prose.sh --update
.PHONY: update-prose

# After a mark @sync or @threads of a header has changed: writes doc/calls.md.
update-calls:
	AWK='$(AWK)' $(SHELL) $(srcdir)/build-aux/calls.sh $(srcdir)/include \
		>calls.md.new && mv calls.md.new $(srcdir)/doc/calls.md
.PHONY: update-calls

# Before a release, or where a public struct or constant changes.
update-sizes:
	srcdir='$(srcdir)' CC='$(CC)' AWK='$(AWK)' \
		$(SHELL) $(srcdir)/tests/lint/sizes.sh --update

# The host's backends for other processors, under qemu; s390x is big-endian.
cross_ops = unary binary cast softmax layer_norm reduce random optimizer
check-cross:
	@failed=; for arch in aarch64 s390x; do \
		echo "# $$arch"; \
		$(SHELL) $(srcdir)/tests/cross-check '$(abs_top_srcdir)' \
			'$(abs_builddir)/variant-cross' $$arch \
			'$(cross_ops)' || failed=1; \
	done; test -z "$$failed"
EXTRA_DIST += tests/cross-check
.PHONY: check-cross

# The C library musl, by musl-gcc.
check-musl:
	@$(SHELL) $(srcdir)/tests/musl-check '$(abs_top_srcdir)' \
		'$(abs_builddir)/variant-musl' '$(cross_ops)'
EXTRA_DIST += tests/musl-check
.PHONY: check-musl

# A program that builds the library as a part of itself, from the tarball.
check-subproject: dist
	@AWK='$(AWK)'; export AWK; \
	$(SHELL) $(srcdir)/tests/subproject-check '$(abs_top_srcdir)' \
		'$(distdir).tar.gz' '$(abs_builddir)/variant-subproject'
EXTRA_DIST += tests/subproject-check
.PHONY: check-subproject

# For quickstart: the logs of make check.
print-logs:
	@echo $(TEST_LOGS)

# For tests/lint/dist.sh: as git names them, wherever this directory is.
print-distfiles:
	@for f in $(DISTFILES); do \
		f=$${f#"$(srcdir)"/}; f=$${f#"$(top_srcdir)"/}; \
		echo "$${f#./}"; \
	done

.PHONY: count-op check-compilers check-coopmat check-distros check-groups \
	check-ptxas check-validation circles digests tally times \
	update-symbols update-sizes \
	check-sanitize check-asan check-asan-host check-asan-drivers \
	check-tsan check-valgrind check-full check-mpis \
	check-coverage check-reproducible print-logs print-distfiles
