# SPDX-License-Identifier: Apache-2.0
# tools.mk - the programs that are installed. They link libsesqui.la.

bin_PROGRAMS += sesqui
sesqui_SOURCES = \
	examples/gpt/model.c \
	examples/gpt/model.h \
	tools/bench/bench.c \
	tools/bench/bench.h \
	tools/bench/calls.c \
	tools/bench/case.c \
	tools/bench/gemm.c \
	tools/bench/loops.c \
	tools/bench/memory.c \
	tools/bench/ops.c \
	tools/bench/optimizer.c \
	tools/bench/report.c \
	tools/bench/ring.c \
	tools/bench/ring.h \
	tools/bench/roofline.c \
	tools/bench/roofs.c \
	tools/bench/rows.c \
	tools/bench/tables.c \
	tools/bench/train.c \
	tools/bench/workload.c \
	tools/certify.c \
	tools/certify.h \
	tools/certify_child.c \
	tools/devices.c \
	tools/drivers.c \
	tools/json.c \
	tools/latency.c \
	tools/names.c \
	tools/options.c \
	tools/overhead.c \
	tools/peak.c \
	tools/process.c \
	tools/progress.c \
	tools/throughput.c \
	tools/report.c \
	tools/sesqui.c \
	tools/support.c \
	tools/tool.h \
	tools/tune.c \
	tools/verify.c \
	tools/version.c
nodist_sesqui_SOURCES = tools/commit.h
sesqui_LDADD = libsuite.a libsesqui.la
sesqui_LDFLAGS = $(AM_LDFLAGS) $(MOVED_LDFLAGS)

# Completion, where each shell looks for it; bash by the name of the command.
bashcompletiondir = $(datadir)/bash-completion/completions
zshcompletiondir = $(datadir)/zsh/site-functions
dist_zshcompletion_DATA = tools/completion/_sesqui
fishcompletiondir = $(datadir)/fish/vendor_completions.d
dist_fishcompletion_DATA = tools/completion/sesqui.fish
EXTRA_DIST += tools/completion/sesqui.bash
install-data-local:
	$(MKDIR_P) '$(DESTDIR)$(bashcompletiondir)'
	$(INSTALL_DATA) $(srcdir)/tools/completion/sesqui.bash \
		'$(DESTDIR)$(bashcompletiondir)/sesqui'
uninstall-local:
	rm -f '$(DESTDIR)$(bashcompletiondir)/sesqui'

# The commit that --version prints; written again only if it is another one.
EXTRA_DIST += build-aux/commit.sh
CLEANFILES += tools/commit.h
tools/version.$(OBJEXT): tools/commit.h
tools/commit.h: compare-lists
	@$(SHELL) $(srcdir)/build-aux/commit.sh $(srcdir) $@
dist-hook:
	$(SHELL) $(srcdir)/build-aux/commit.sh $(srcdir) commit.h.dist
	sed -n 's/^#define COMMIT "\(.*\)"$$/\1/p' commit.h.dist \
		>$(distdir)/commit.txt
	rm -f commit.h.dist
