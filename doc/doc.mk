# SPDX-License-Identifier: Apache-2.0
# doc.mk - man pages and the guide.

dist_man_MANS += doc/sesqui.1
dist_doc_DATA += \
	doc/api.md \
	doc/calls.md \
	doc/dependencies.md \
	doc/digits.svg \
	doc/experiments.md \
	doc/lines.md \
	doc/scaling.md \
	doc/symptoms.md

comingdir = $(docdir)/coming-from
dist_coming_DATA = \
	doc/coming-from/README.md \
	doc/coming-from/apex-megatron-deepspeed.md \
	doc/coming-from/fastai.md \
	doc/coming-from/jax.md \
	doc/coming-from/keras.md \
	doc/coming-from/others.md \
	doc/coming-from/torch-amp.md
designdir = $(docdir)/design
dist_design_DATA = \
	doc/design/dialect.md \
	doc/design/dlpack.md \
	doc/design/numbers.md \
	doc/design/scaler.md \
	doc/design/semantics.md
guidedir = $(docdir)/guide
dist_guide_DATA = \
	doc/guide/README.md \
	doc/guide/amp-loop.md \
	doc/guide/autograd.md \
	doc/guide/build-systems.md \
	doc/guide/data.md \
	doc/guide/devices.md \
	doc/guide/drivers.md \
	doc/guide/graphs.md \
	doc/guide/interop.md \
	doc/guide/long-runs.md \
	doc/guide/mixed-precision.md \
	doc/guide/ops.md \
	doc/guide/program.md \
	doc/guide/pytorch.md \
	doc/guide/ranks.md \
	doc/guide/start.md \
	doc/guide/tensors.md
performancedir = $(docdir)/performance
dist_performance_DATA = \
	doc/performance/README.md \
	doc/performance/compilers.md \
	doc/performance/cpu.md \
	doc/performance/cuda.md \
	doc/performance/opencl.md \
	doc/performance/parameters.md \
	doc/performance/python.md \
	doc/performance/reference.md \
	doc/performance/vulkan.md
performance_cpudir = $(docdir)/performance/cpu
dist_performance_cpu_DATA = \
	doc/performance/cpu/k.svg \
	doc/performance/cpu/m.svg \
	doc/performance/cpu/n.svg \
	doc/performance/cpu/parameters.svg \
	doc/performance/cpu/tensors.svg \
	doc/performance/cpu/threads.svg

# The site in doc/reference/html: the guide, the headers, performance, and what
# each device of this machine supports. All its links are checked; doxygen knows
# no anchors of Markdown before 1.9.8. It copies no pictures of folders.
EXTRA_DIST += doc/links.sh doc/support_head.md
.PHONY: doc man3
doc: doc/Doxyfile sesqui$(EXEEXT) $(module_LTLIBRARIES)
	@test -n '$(DOXYGEN)' || \
		{ echo 'make doc: configure found no doxygen' >&2; exit 1; }
	rm -rf doc/reference/html
	$(MKDIR_P) doc/reference
	{ cat $(srcdir)/doc/support_head.md && echo '```' && \
		SSQ_MODULE_PATH='$(module_path)' ./sesqui$(EXEEXT) support && \
		echo '```'; } >doc/reference/support.md
	$(DOXYGEN) doc/Doxyfile 2>doc/reference/warnings.txt
	$(MKDIR_P) doc/reference/html/doc doc/reference/html/cpu
	cp $(srcdir)/doc/digits.svg doc/reference/html/doc/
	cp $(srcdir)/doc/performance/cpu/*.svg doc/reference/html/cpu/
	! grep "unable to resolve reference to '.*[.]md'" \
		doc/reference/warnings.txt
	$(SHELL) $(srcdir)/doc/links.sh doc/reference/html
	@echo 'doc/reference/html/index.html'

# Manual pages of section 3, one for each function, struct, enum and header.
EXTRA_DIST += doc/man3.awk
man3: api.json
	rm -rf doc/reference/man
	$(MKDIR_P) doc/reference/man/man3
	$(AWK) -v out=doc/reference/man/man3 -v version='$(PACKAGE_VERSION)' \
		-f $(srcdir)/doc/man3.awk \
		`find $(srcdir)/include -name '*.h*' | LC_ALL=C sort` api.json
	@echo 'doc/reference/man/man3'
