# SPDX-License-Identifier: Apache-2.0
# backend.mk - what the reference backend adds to the core.

core_sources +=
