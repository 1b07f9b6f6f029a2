# SPDX-License-Identifier: Apache-2.0
# tests.mk - tests of the core: devices, buffers, queues, graphs, guard.
#
# A test is a program: check_PROGRAMS += tests/core/x, TESTS += tests/core/x,
# tests_core_x_SOURCES = tests/core/x.c, tests_core_x_LDADD = libsesqui.la (or
# libcore.a for internals).

core_tests = \
	tests/core/alloc \
	tests/core/bundle \
	tests/core/certificate \
	tests/core/device \
	tests/core/disk_cache \
	tests/core/dlpack \
	tests/core/event \
	tests/core/fork \
	tests/core/fpenv \
	tests/core/graph \
	tests/core/guard \
	tests/core/host \
	tests/core/index \
	tests/core/life \
	tests/core/log \
	tests/core/module \
	tests/core/mem \
	tests/core/pool \
	tests/core/room \
	tests/core/signals \
	tests/core/tensor \
	tests/core/threads \
	tests/core/view \
	tests/core/window
check_PROGRAMS += $(core_tests)
TESTS += $(core_tests)
thread_tests += tests/core/log tests/core/threads
EXTRA_DIST += tests/core/cache_file.h tests/core/core.h \
	tests/core/driver.h tests/core/queues.h tests/core/space.h

full_tests += tests/core/alloc
tests_core_alloc_SOURCES = tests/core/alloc.c
tests_core_alloc_LDADD = libcore.a
tests_core_bundle_SOURCES = tests/core/bundle.c
tests_core_bundle_LDADD = libcore.a
tests_core_certificate_SOURCES = tests/core/certificate.c
tests_core_certificate_LDADD = libcore.a
tests_core_device_SOURCES = tests/core/device.c
tests_core_device_LDADD = libcore.a
tests_core_disk_cache_SOURCES = tests/core/disk_cache.c
tests_core_disk_cache_LDADD = libcore.a
tests_core_dlpack_SOURCES = tests/core/dlpack.c
tests_core_dlpack_LDADD = libsesqui.la
tests_core_event_SOURCES = tests/core/event.c
tests_core_event_LDADD = libcore.a
tests_core_fork_SOURCES = tests/core/fork.c tests/api/training.h
tests_core_fork_LDADD = libsesqui.la
tests_core_fpenv_SOURCES = tests/core/fpenv.c
tests_core_fpenv_LDADD = libcore.a
tests_core_graph_SOURCES = tests/core/graph.c
tests_core_graph_LDADD = libcore.a
tests_core_guard_SOURCES = tests/core/guard.c
tests_core_guard_LDADD = libcore.a
tests_core_host_SOURCES = tests/core/host.c
tests_core_host_LDADD = libcore.a
tests_core_life_SOURCES = tests/core/life.c
tests_core_life_LDADD = libcore.a
tests_core_log_SOURCES = tests/core/log.c
tests_core_log_LDADD = libcore.a
tests_core_module_SOURCES = tests/core/module.c
tests_core_module_LDADD = libcore.a
EXTRA_tests_core_module_DEPENDENCIES = $(fake_modules)
tests_core_mem_SOURCES = tests/core/mem.c
tests_core_mem_LDADD = libcore.a
tests_core_index_SOURCES = tests/core/index.c
tests_core_index_LDADD = libcore.a -lm
tests_core_pool_SOURCES = tests/core/pool.c
tests_core_pool_LDADD = libcore.a
tests_core_room_SOURCES = tests/core/room.c
# so that a module finds the program's statvfs
tests_core_room_LDFLAGS = -export-dynamic
tests_core_room_LDADD = libsesqui.la
tests_core_signals_SOURCES = tests/core/signals.c tests/api/training.h
# so that a module finds the program's open, read, write, pread and fsync
tests_core_signals_LDFLAGS = -export-dynamic
tests_core_signals_LDADD = libsesqui.la
tests_core_tensor_SOURCES = tests/core/tensor.c
tests_core_tensor_LDADD = libcore.a
tests_core_threads_SOURCES = tests/core/threads.c
tests_core_threads_LDADD = libcore.a
tests_core_view_SOURCES = tests/core/view.c
tests_core_view_LDADD = libcore.a

# Modules for tests/core/module: a right one, one of another backend, one
# without the symbol, one of another ABI. -rpath makes libtool build a shared
# object of a module that is not installed.
fake_modules = \
	tests/core/module_alien.la \
	tests/core/module_fake.la \
	tests/core/module_mute.la \
	tests/core/module_old.la
check_LTLIBRARIES += $(fake_modules)
fake_ldflags = -module -avoid-version -no-undefined -Wl,-z,defs \
	-rpath $(abs_builddir)/tests/core
tests_core_module_alien_la_SOURCES = tests/core/module_fake.c
tests_core_module_alien_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DFAKE_NAME='"martian"'
tests_core_module_alien_la_LDFLAGS = $(fake_ldflags)
tests_core_module_fake_la_SOURCES = tests/core/module_fake.c
tests_core_module_fake_la_LDFLAGS = $(fake_ldflags)
tests_core_module_mute_la_SOURCES = tests/core/module_fake.c
tests_core_module_mute_la_CPPFLAGS = $(AM_CPPFLAGS) -DFAKE_NO_SYMBOL
tests_core_module_mute_la_LDFLAGS = $(fake_ldflags)
tests_core_module_old_la_SOURCES = tests/core/module_fake.c
tests_core_module_old_la_CPPFLAGS = $(AM_CPPFLAGS) -DFAKE_ABI=999
tests_core_module_old_la_LDFLAGS = $(fake_ldflags)
tests_core_window_SOURCES = tests/core/window.c
tests_core_window_LDADD = libcore.a

# valgrind has no FTZ, reads what is PROT_NONE, and needs address space itself
# In a child of fork what other threads held counts as lost.
slow_tests += tests/core/fork tests/core/fpenv tests/core/guard \
	tests/core/pool tests/core/room \
	tests/core/signals
