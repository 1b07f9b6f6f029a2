# SPDX-License-Identifier: Apache-2.0
# backend.mk - what the reference backend adds to the core.

core_sources += \
	backends/reference/backend.c \
	backends/reference/reference.h \
	backends/reference/walk.c

# ops, one line per file
core_sources += backends/reference/data.c
