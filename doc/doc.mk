# SPDX-License-Identifier: Apache-2.0
# doc.mk - man pages and the guide.

dist_man_MANS += doc/sesqui.1
dist_doc_DATA += \
	doc/dependencies.md \
	doc/scaler.md
