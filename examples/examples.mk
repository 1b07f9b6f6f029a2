# SPDX-License-Identifier: Apache-2.0
# examples.mk - complete programs, built with everything, never installed.

noinst_PROGRAMS +=
EXTRA_DIST +=
