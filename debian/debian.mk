# SPDX-License-Identifier: Apache-2.0
# debian.mk - the files of the Debian packages, and the target that tests them.

EXTRA_DIST += debian/README.md debian/changelog debian/check \
	debian/control debian/copyright debian/libsesqui-dev.install \
	debian/libsesqui0.install debian/libsesqui0.symbols \
	debian/not-installed debian/rules \
	debian/sesqui-backend-cuda.install \
	debian/sesqui-backend-opencl.install \
	debian/sesqui-backend-vulkan.install \
	debian/sesqui-comm-mpi.install debian/sesqui-doc.install \
	debian/python3-sesqui.install debian/sesqui-doc.manpages \
	debian/sesqui-tools.install \
	debian/source/format debian/tests/control debian/tests/opencl \
	debian/tests/python debian/tests/train

# Build the packages of this version, check them with lintian, install them and
# run their tests. It needs root and changes the system: use a container.
check-debian: dist
	$(SHELL) $(srcdir)/debian/check '$(abs_builddir)/$(distdir).tar.gz' \
		'$(abs_builddir)/variant-debian'
.PHONY: check-debian
