# SPDX-License-Identifier: Apache-2.0
# tools.mk - the programs that are installed. They link libsesqui.la.

bin_PROGRAMS +=
