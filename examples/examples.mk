# SPDX-License-Identifier: Apache-2.0
# examples.mk - complete programs, built with everything, never installed. They
# read compressed data: without zlib there are none.

example_cppflags = $(AM_CPPFLAGS) $(ZLIB_CFLAGS) \
	-DDIGITS_PATH='"$(abs_top_srcdir)/examples/data/digits.csv.gz"'
example_common = \
	examples/common/dataset.c \
	examples/common/dataset.h \
	examples/common/run.c \
	examples/common/run.h \
	examples/common/train.c \
	examples/common/train.h

if HAVE_ZLIB
noinst_PROGRAMS += examples/digits/digits \
	examples/cnn-explicit/cnn-explicit examples/mlp/mlp
endif

examples_digits_digits_SOURCES = $(example_common) \
	examples/digits/digits.c \
	examples/digits/mlp.c \
	examples/digits/mlp.h
examples_digits_digits_CPPFLAGS = $(example_cppflags)
examples_digits_digits_LDADD = libsesqui.la $(ZLIB_LIBS)

examples_cnn_explicit_cnn_explicit_SOURCES = $(example_common) \
	examples/cnn-explicit/cnn.c \
	examples/cnn-explicit/cnn.h \
	examples/cnn-explicit/cnn_explicit.c
examples_cnn_explicit_cnn_explicit_CPPFLAGS = $(example_cppflags)
examples_cnn_explicit_cnn_explicit_LDADD = libsesqui.la $(ZLIB_LIBS)

# Over a tape: the model is a function of a few lines.
examples_mlp_mlp_SOURCES = \
	examples/common/idx.c \
	examples/common/idx.h \
	examples/common/run.c \
	examples/common/run.h \
	examples/mlp/mlp.c
examples_mlp_mlp_CPPFLAGS = $(example_cppflags)
examples_mlp_mlp_LDADD = libsesqui.la $(ZLIB_LIBS)

# In C++, which nothing else here is: one compiler's call.
torch_interop = examples/torch-interop/torch-interop$(EXEEXT)
torch_interop_sources = examples/torch-interop/torch_interop.cc \
	examples/torch-interop/lend.hpp
EXTRA_DIST += $(torch_interop_sources)
if HAVE_TORCH
all-local: $(torch_interop)
endif
$(torch_interop): $(torch_interop_sources) libsesqui.la
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(LIBTOOL) $(AM_V_lt) --tag=CC \
		--mode=link $(CXX) -std=c++17 -O2 -Wall -Wextra \
		-I$(top_srcdir)/include $(TORCH_CXXFLAGS) -no-install \
		-o $@.new $(srcdir)/examples/torch-interop/torch_interop.cc \
		libsesqui.la $(TORCH_LIBS) && mv $@.new $@
CLEANFILES += $(torch_interop)

EXTRA_DIST += examples/data/digits.csv.gz

.PHONY: demo
if HAVE_ZLIB
demo: examples/digits/digits $(module_LTLIBRARIES)
	SSQ_MODULE_PATH='$(abs_top_builddir)/.libs' ./examples/digits/digits \
		--policy mixed_float16 --compare
else
demo:
	@echo 'the demo reads compressed data: configure found no zlib' >&2; \
		exit 1
endif
