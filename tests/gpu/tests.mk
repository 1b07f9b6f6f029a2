# SPDX-License-Identifier: Apache-2.0
# tests.mk - what is measured on GPUs: run.sh and its workloads.

EXTRA_PROGRAMS += tests/gpu/bench
tests_gpu_bench_SOURCES = tests/gpu/bench.c tests/gpu/gemm.c tests/gpu/gpu.h \
	tests/gpu/optimizer.c tests/gpu/rows.c tests/gpu/step.c
tests_gpu_bench_LDADD = libsesqui.la
CLEANFILES += tests/gpu/bench$(EXEEXT)

TESTS += tests/gpu/brief.sh
full_tests += tests/gpu/brief.sh
slow_tests += tests/gpu/brief.sh
tests/gpu/brief.log: tests/gpu/bench$(EXEEXT) sesqui$(EXEEXT) \
	$(module_LTLIBRARIES)
EXTRA_DIST += tests/gpu/brief.sh tests/gpu/peer.py tests/gpu/report.awk \
	tests/gpu/run.sh
