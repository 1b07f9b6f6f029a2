# SPDX-License-Identifier: Apache-2.0
# doc.mk - man pages and the guide.

dist_man_MANS += doc/sesqui.1
dist_doc_DATA += \
	doc/coming-from.md \
	doc/dependencies.md \
	doc/experiments.md \
	doc/guide.md \
	doc/numbers.md \
	doc/performance.md \
	doc/scaler.md

# The headers and the guide as HTML in doc/reference/; needs doxygen.
.PHONY: doc
doc:
	@test -n '$(DOXYGEN)' || \
		{ echo 'make doc: configure found no doxygen' >&2; exit 1; }
	$(MKDIR_P) doc/reference
	$(DOXYGEN) doc/Doxyfile
	@echo 'doc/reference/html/index.html'
