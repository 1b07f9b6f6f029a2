# SPDX-License-Identifier: Apache-2.0
# backend.mk - what the guard backend adds to the core.

core_sources += \
	backends/guard/device.c \
	backends/guard/event.c \
	backends/guard/guard.h \
	backends/guard/memory.c \
	backends/guard/queue.c
