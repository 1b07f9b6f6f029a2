# SPDX-License-Identifier: Apache-2.0
# examples.mk - complete programs, built with everything. Their sources are
# installed, with a Makefile of their own; the programs are not.

example_cppflags = $(AM_CPPFLAGS) \
	-DDIGITS_PATH='"$(abs_top_srcdir)/examples/data/digits.csv.gz"'
# Ranks over MPI, where it is there.
if BUILD_MPI
example_mpi = examples/common/mpi.c
example_cppflags += $(MPI_CPPFLAGS)
example_libs = $(MPI_LIBS)
else
example_mpi = examples/common/no_mpi.c
example_libs =
endif
example_ldadd = libsesqui.la $(example_libs)
example_run = \
	examples/common/curve.c \
	examples/common/curve.h \
	examples/common/group.c \
	examples/common/group.h \
	examples/common/run.c \
	examples/common/run.h \
	$(example_mpi)
example_common = $(example_run) \
	examples/common/dataset.c \
	examples/common/dataset.h \
	examples/common/train.c \
	examples/common/train.h

noinst_PROGRAMS += examples/digits/digits \
	examples/amp-loop/amp-loop examples/cnn-explicit/cnn-explicit \
	examples/cnn/cnn examples/gpt/gpt examples/mlp/mlp

examples_digits_digits_SOURCES = $(example_common) \
	examples/digits/digits.c \
	examples/digits/mlp.c \
	examples/digits/mlp.h
examples_digits_digits_CPPFLAGS = $(example_cppflags)
examples_digits_digits_LDADD = $(example_ldadd) -lm

examples_cnn_explicit_cnn_explicit_SOURCES = $(example_common) \
	examples/cnn-explicit/cnn.c \
	examples/cnn-explicit/cnn.h \
	examples/cnn-explicit/cnn_explicit.c
examples_cnn_explicit_cnn_explicit_CPPFLAGS = $(example_cppflags)
examples_cnn_explicit_cnn_explicit_LDADD = $(example_ldadd) -lm

# Over a tape: the model is a function of a few lines.
example_fit = $(example_run) \
	examples/common/batches.c \
	examples/common/batches.h \
	examples/common/fit.c \
	examples/common/fit.h \
	examples/common/images.c \
	examples/common/images.h

examples_mlp_mlp_SOURCES = $(example_fit) examples/mlp/mlp.c
examples_mlp_mlp_CPPFLAGS = $(example_cppflags)
examples_mlp_mlp_LDADD = $(example_ldadd) -lm

examples_cnn_cnn_SOURCES = $(example_fit) examples/cnn/cnn.c
examples_cnn_cnn_CPPFLAGS = $(example_cppflags)
examples_cnn_cnn_LDADD = $(example_ldadd) -lm

examples_amp_loop_amp_loop_SOURCES = $(example_run) \
	examples/amp-loop/amp_loop.c
examples_amp_loop_amp_loop_CPPFLAGS = $(example_cppflags)
examples_amp_loop_amp_loop_LDADD = $(example_ldadd) -lm

# A file each, with the library alone.
noinst_PROGRAMS += examples/short/fastai_simple_cnn examples/short/keras_guide \
	examples/short/torch_amp
examples_short_fastai_simple_cnn_SOURCES = examples/short/fastai_simple_cnn.c
examples_short_fastai_simple_cnn_LDADD = libsesqui.la
examples_short_keras_guide_SOURCES = examples/short/keras_guide.c
examples_short_keras_guide_LDADD = libsesqui.la
examples_short_torch_amp_SOURCES = examples/short/torch_amp.c
examples_short_torch_amp_LDADD = libsesqui.la

examples_gpt_gpt_SOURCES = $(example_run) \
	examples/gpt/gpt.c \
	examples/gpt/model.c \
	examples/gpt/model.h \
	examples/gpt/sample.c \
	examples/gpt/sample.h \
	examples/gpt/text.c \
	examples/gpt/text.h \
	examples/gpt/windows.c \
	examples/gpt/windows.h
examples_gpt_gpt_CPPFLAGS = $(example_cppflags)
examples_gpt_gpt_LDADD = $(example_ldadd) -lm

# In C++, which nothing else here is: one compiler's call.
torch_interop = examples/torch-interop/torch-interop$(EXEEXT)
torch_interop_sources = examples/torch-interop/torch_interop.cc \
	examples/torch-interop/lend.hpp
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

# The sources as they stand here, in a folder that can be copied and built.
examplesdir = $(docdir)
nobase_dist_examples_DATA = \
	examples/Makefile \
	examples/README.md \
	examples/amp-loop/amp_loop.c \
	examples/cnn-explicit/cnn.c \
	examples/cnn-explicit/cnn.h \
	examples/cnn-explicit/cnn_explicit.c \
	examples/cnn/cnn.c \
	examples/common/batches.c \
	examples/common/batches.h \
	examples/common/curve.c \
	examples/common/curve.h \
	examples/common/dataset.c \
	examples/common/dataset.h \
	examples/common/fit.c \
	examples/common/fit.h \
	examples/common/group.c \
	examples/common/group.h \
	examples/common/images.c \
	examples/common/images.h \
	examples/common/mpi.c \
	examples/common/no_mpi.c \
	examples/common/run.c \
	examples/common/run.h \
	examples/common/train.c \
	examples/common/train.h \
	examples/data/digits.csv.gz \
	examples/digits/digits.c \
	examples/digits/mlp.c \
	examples/digits/mlp.h \
	examples/gpt/gpt.c \
	examples/gpt/model.c \
	examples/gpt/model.h \
	examples/gpt/sample.c \
	examples/gpt/sample.h \
	examples/gpt/text.c \
	examples/gpt/text.h \
	examples/gpt/windows.c \
	examples/gpt/windows.h \
	examples/mlp/mlp.c \
	examples/short/fastai_simple_cnn.c \
	examples/short/keras_guide.c \
	examples/short/torch_amp.c \
	examples/torch-interop/lend.hpp \
	examples/torch-interop/torch_interop.cc

# The demo is digits, linked without the library: of its kernels for processors
# only those that digits and a device's self-test run are compiled, a quarter of
# them. The tool that certifies other devices needs the library.
demo_texts = $(addprefix kernels/,amp/grad_check.k amp/grad_fold.k \
	amp/list_map.k amp/param_step.k amp/scaler_join.k \
	amp/scaler_update.k amp/step_end.k amp/tick.k \
	certify/certify_bits.k certify/certify_float.k \
	certify/certify_group.k data/copy.k data/fill.k data/gather.k \
	elementwise/binary.k elementwise/scale.k \
	elementwise/unary_backward.k random/random_fill.k \
	reduce/argmax.k reduce/reduce_columns.k)
# Optimizers' kernels take the longest: the demo has Adam's alone.
demo_optimizer = backends/cpu/native/amp/param_step.demo.o
demo_core = $(filter-out backends/cpu/libcore_a-native_table.$(OBJEXT) \
	$(native_objects),$(libcore_a_OBJECTS) $(libcore_a_LIBADD)) \
	$(filter-out backends/cpu/native/amp/param_step.o,\
	$(demo_texts:kernels/%.k=backends/cpu/native/%.o)) $(demo_optimizer)
$(demo_optimizer): kernels/amp/param_step.k backends/cpu/native.sh \
		backends/cpu/kernel.h kernels/embed.sh $(native_made)
	$(AM_V_CC)$(MKDIR_P) $(@D) && VARIANTS=KIND=1 $(native_tools) \
		$(native_sh) text $(srcdir) $(@:.o=.d) $(native_flags) \
		-c $< -o $@
-include $(demo_optimizer:.o=.d)
CLEANFILES += $(demo_optimizer:.o=.d)
examples/digits/demo_table.c: backends/cpu/native_table.c Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ONLY='$(demo_texts)' $(native_tools) \
		$(native_sh) table $(srcdir) $(kernel_sources) >$@.new && \
		mv $@.new $@
CLEANFILES += examples/digits/demo_table.c
check_PROGRAMS += examples/digits/demo
nodist_examples_digits_demo_SOURCES = examples/digits/demo_table.c
examples_digits_demo_CPPFLAGS = $(AM_CPPFLAGS)
examples_digits_demo_LDADD = $(examples_digits_digits_OBJECTS) $(demo_core) \
	$(example_libs)
# What takes the longest is begun first, so that no processor waits for it.
examples_digits_demo_DEPENDENCIES = $(demo_optimizer) \
	$(filter %-gemm_fma.$(OBJEXT) %-gemm_dot.$(OBJEXT),$(demo_core)) \
	$(examples_digits_digits_OBJECTS) $(demo_core)
# DEMO_MODULES names the modules that the demo may use, for example "cuda":
# quickstart gives those of the GPUs that it sees. By hand it is all of them.
DEMO_MODULES = $(module_LTLIBRARIES:.la=)
demo_programs = examples/digits/demo$(EXEEXT) $(DEMO_MODULES:%=%.la) \
	$(if $(strip $(DEMO_MODULES)),sesqui$(EXEEXT))
demo_path = $(if $(strip $(DEMO_MODULES)),$(abs_top_builddir)/.libs)
demo-build: $(demo_programs)
.PHONY: demo demo-build
demo: $(demo_programs)
	SSQ_MODULE_PATH='$(demo_path)' ./examples/digits/demo \
		--policy mixed_float16 --compare
