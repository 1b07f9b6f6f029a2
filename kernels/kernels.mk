# SPDX-License-Identifier: Apache-2.0
# kernels.mk - device code and the headers it shares with the host.

EXTRA_DIST +=
