# SPDX-License-Identifier: Apache-2.0
# tests.mk - all kernels by the compilers of GPU vendors, without a GPU: make
# check-vendors. README.md beside it describes the parts.

EXTRA_DIST += tests/vendors/README.md tests/vendors/amdgpu.awk \
	tests/vendors/amdgpu.sh tests/vendors/check.sh \
	tests/vendors/exceptions.txt tests/vendors/faults.awk \
	tests/vendors/intel.awk tests/vendors/intel.sh tests/vendors/page.awk \
	tests/vendors/pipelines.c tests/vendors/statistics.c \
	tests/vendors/statistics.h tests/vendors/vulkan.awk \
	tests/vendors/vulkan.sh

if BUILD_VULKAN
vendors_pack = kernels/spirv.pack kernels/spirv_table.h kernels_sum.h \
	kernel_table.h kernels/kernel_table.c
endif
vendors_env = $(abs_builddir)/distro-env/vendors
check-vendors: $(vendors_pack)
	$(SHELL) $(srcdir)/tests/distro-env vendors '$(vendors_env)'
	$(MKDIR_P) variant-vendors
	@VENDORS_ENV='$(vendors_env)'; export VENDORS_ENV; logs=; \
	$(call run_one,variant-vendors,tests/vendors/check.sh,); \
	cat variant-vendors/changes.txt; \
	$(SHELL) $(top_srcdir)/build-aux/tally --failures $$logs

clean-local: clean-vendors
clean-vendors:
	rm -rf variant-vendors

# After a run of all targets: its figures become the page's.
update-vendors:
	cp variant-vendors/compilers.md $(srcdir)/doc/performance/compilers.md
.PHONY: check-vendors clean-vendors update-vendors
