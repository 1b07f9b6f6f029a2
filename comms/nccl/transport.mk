# SPDX-License-Identifier: Apache-2.0
# transport.mk - the nccl module: it opens NCCL and the driver itself, and links
# nothing of them and nothing of ours.

if BUILD_NCCL
module_LTLIBRARIES += nccl.la
endif
nccl_la_SOURCES = $(nccl_sources)
nccl_la_CPPFLAGS = $(AM_CPPFLAGS)
nccl_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -no-undefined \
	-Wl,-z,defs
