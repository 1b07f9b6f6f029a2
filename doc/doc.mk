# SPDX-License-Identifier: Apache-2.0
# doc.mk - man pages and the guide.

dist_man_MANS +=
EXTRA_DIST +=
