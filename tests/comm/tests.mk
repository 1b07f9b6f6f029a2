# SPDX-License-Identifier: Apache-2.0
# tests.mk - tests of communicators: collectives, failures, and what queues hold
# meanwhile.

comm_tests = \
	tests/comm/alike \
	tests/comm/batch_norm \
	tests/comm/batch_norm_train \
	tests/comm/collective \
	tests/comm/failure \
	tests/comm/gate \
	tests/comm/join \
	tests/comm/join_fail \
	tests/comm/labels \
	tests/comm/place \
	tests/comm/shards \
	tests/comm/shards_train \
	tests/comm/share \
	tests/comm/traffic \
	tests/comm/train \
	tests/comm/weights \
	tests/comm/work
check_PROGRAMS += $(comm_tests)
TESTS += $(comm_tests)
thread_tests += $(comm_tests)
EXTRA_DIST += tests/comm/batch_norm.h tests/comm/comm.h tests/comm/files.h \
	tests/comm/model.h \
	tests/comm/scale.h tests/comm/short.h

tests_comm_alike_SOURCES = tests/comm/alike.c
tests_comm_alike_LDADD = libsesqui.la
tests_comm_batch_norm_SOURCES = tests/comm/batch_norm.c
tests_comm_batch_norm_LDADD = libsesqui.la -lm
tests_comm_batch_norm_train_SOURCES = tests/comm/batch_norm_train.c
tests_comm_batch_norm_train_LDADD = libsesqui.la -lm
tests_comm_collective_SOURCES = tests/comm/collective.c
tests_comm_collective_LDADD = libsesqui.la
tests_comm_failure_SOURCES = tests/comm/failure.c
tests_comm_failure_LDADD = libsesqui.la
tests_comm_gate_SOURCES = tests/comm/gate.c
tests_comm_gate_LDADD = libsesqui.la
tests_comm_join_SOURCES = tests/comm/join.c
tests_comm_join_LDADD = libsesqui.la -lm
tests_comm_labels_SOURCES = tests/comm/labels.c
tests_comm_labels_LDADD = libsesqui.la -lm
tests_comm_join_fail_SOURCES = tests/comm/join_fail.c
tests_comm_join_fail_LDADD = libsesqui.la
tests_comm_place_SOURCES = tests/comm/place.c
tests_comm_place_LDADD = libsesqui.la
tests_comm_shards_SOURCES = tests/comm/shards.c
tests_comm_shards_LDADD = libsesqui.la -lm
tests_comm_shards_train_SOURCES = tests/comm/shards_train.c
tests_comm_shards_train_LDADD = libsesqui.la -lm
tests_comm_share_SOURCES = tests/comm/share.c
tests_comm_share_LDADD = libsesqui.la -lm
tests_comm_traffic_SOURCES = tests/comm/traffic.c
tests_comm_traffic_LDADD = libcore.a -lm
tests_comm_train_SOURCES = tests/comm/train.c
tests_comm_train_LDADD = libsesqui.la
tests_comm_weights_SOURCES = tests/comm/weights.c
tests_comm_weights_LDADD = libsesqui.la
tests_comm_work_SOURCES = tests/comm/work.c
tests_comm_work_LDADD = libsesqui.la

# In a child of fork what other threads held counts as lost.
slow_tests += tests/comm/failure tests/comm/weights

# Ranks that are processes: by the launcher of the MPI that the module is for.
if BUILD_MPI
check_PROGRAMS += tests/comm/ranks
endif
tests_comm_ranks_SOURCES = tests/comm/ranks.c
tests_comm_ranks_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
tests_comm_ranks_LDADD = libsesqui.la $(MPI_LIBS)
TESTS += tests/comm/mpi.sh tests/comm/mpi_lost.sh tests/comm/mixture.sh
full_tests += tests/comm/mpi.sh tests/comm/mpi_lost.sh
EXTRA_DIST += tests/comm/mpi.sh tests/comm/mpi_lost.sh tests/comm/mpirun.sh \
	tests/comm/mixture.sh
slow_tests += tests/comm/mixture.sh
tests/comm/examples.log: tests/comm/weights$(EXEEXT)
TESTS += tests/comm/examples.sh tests/comm/network.sh
full_tests += tests/comm/examples.sh tests/comm/network.sh
slow_tests += tests/comm/examples.sh
EXTRA_DIST += tests/comm/examples.sh tests/comm/network.sh
tests/comm/mixture.log: $(module_LTLIBRARIES)

# Over NCCL, by stand-ins for it and for the driver.
if BUILD_NCCL
nccl_tests = tests/comm/nccl tests/comm/nccl_fail
check_PROGRAMS += $(nccl_tests) tests/comm/nccl_id
TESTS += $(nccl_tests)
# valgrind has no modules
slow_tests += $(nccl_tests)
endif
TESTS += tests/comm/nccl_library.sh
slow_tests += tests/comm/nccl_library.sh
EXTRA_DIST += tests/comm/nccl.h tests/comm/nccl_library.sh
tests/comm/nccl_library.log: $(module_LTLIBRARIES)
tests_comm_nccl_id_SOURCES = tests/comm/nccl_id.c
tests_comm_nccl_id_LDADD = libsesqui.la
tests_comm_nccl_SOURCES = tests/comm/nccl.c
tests_comm_nccl_LDADD = tests/fakecuda/libnccl.la \
	tests/fakecuda/libcuda.la libsesqui.la -lpthread
tests_comm_nccl_fail_SOURCES = tests/comm/nccl_fail.c
tests_comm_nccl_fail_LDADD = tests/fakecuda/libnccl.la \
	tests/fakecuda/libcuda.la libsesqui.la -lpthread

# Collectives beside MPI's own (bench/README.md): compiled, lest it rots.
if BUILD_MPI
check_PROGRAMS += bench/ranks/collectives bench/ranks/overlap
endif
bench_ranks_collectives_SOURCES = bench/ranks/collectives.c
bench_ranks_collectives_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
bench_ranks_collectives_LDADD = libsesqui.la $(MPI_LIBS)
# It puts a function in the place of MPI's: its symbols are for all to find.
bench_ranks_overlap_SOURCES = bench/ranks/overlap.c
bench_ranks_overlap_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
bench_ranks_overlap_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
bench_ranks_overlap_LDADD = libsesqui.la $(MPI_LIBS)
