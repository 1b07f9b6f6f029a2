# SPDX-License-Identifier: Apache-2.0
# python.mk - the Python package, its wheel, and its tests.

python_package = python/sesqui/__init__.py python/sesqui/__main__.py \
	python/sesqui/_arguments.py python/sesqui/_core.py \
	python/sesqui/_dlpack.py python/sesqui/_errors.py \
	python/sesqui/_exchange_api.py \
	python/sesqui/_library.py python/sesqui/_tape.py \
	python/sesqui/amp.py python/sesqui/data.py \
	python/sesqui/functional.py python/sesqui/nn.py python/sesqui/ops.py \
	python/sesqui/safetensors.py python/sesqui/tool.py \
	python/sesqui/trainer.py python/sesqui/py.typed
python_torch = python/sesqui/torch/__init__.py \
	python/sesqui/torch/_optimizer.py python/sesqui/torch/_scaler.py \
	python/sesqui/torch/_share.py python/sesqui/torch/demo.py
python_tests = python/tests/conftest.py python/tests/test_api.py \
	python/tests/test_data.py python/tests/test_dlpack.py \
	python/tests/test_exchange.py python/tests/test_notebook.py \
	python/tests/test_tensor.py python/tests/test_torch.py \
	python/tests/test_train.py
python_examples = python/examples/digits.ipynb \
	python/examples/digits.py \
	python/examples/fastai_simple_cnn.py python/examples/keras_guide.py \
	python/examples/torch_amp_loop.py
EXTRA_DIST += $(python_package) $(python_torch) $(python_tests) \
	$(python_examples) python/README.md python/build_wheel.py \
	python/pyproject.toml \
	python/stubs.py python/wheel-check bench/python/torch_step.py \
	$(torch_device) python/torch-device/README.md \
	python/torch-device/pyproject.toml python/torch-device/setup.py

# make check-torch: the PyTorch device beside PyTorch's CPU. It needs a Python
# with PyTorch, pytest and NumPy: SESQUI_TORCH_PYTHON, or python3.
check-torch: all api.json
	@$(AM_TESTS_ENVIRONMENT) $(SHELL) $(srcdir)/tests/torch/check.sh \
		'$(abs_top_srcdir)' '$(abs_top_builddir)'
EXTRA_DIST += tests/torch/check.sh tests/torch/conftest.py \
	tests/torch/opinfo.py tests/torch/ops.txt \
	tests/torch/test_autocast.py tests/torch/test_device.py \
	tests/torch/test_package.py \
	tests/torch/test_guide.py
.PHONY: check-torch

# make python-shim: the optional compiled part of the package, for Python 3.10
# and later. It needs Python's headers (libpython3-dev), of any version. make
# check compiles it if it finds them.
python_include = $$(for python in python3 /usr/bin/python3; do \
	include=$$($$python -c 'import sysconfig; \
	print(sysconfig.get_paths()["include"])' 2>/dev/null) && \
	test -f "$$include/Python.h" && echo "$$include" && break; done)
python-shim: python/_exchange.abi3.so
python-shim-if-headers:
	@if test -n "$(python_include)"; then \
		$(MAKE) $(AM_MAKEFLAGS) python-shim; fi
tests/api/python.log: python-shim-if-headers
python/_exchange.abi3.so: python/shim/exchange.c include/sesqui/dlpack.h
	$(AM_V_CC)$(MKDIR_P) python && $(CC) $(AM_CPPFLAGS) $(CPPFLAGS) \
		-I"$(python_include)" $(CFLAGS) -fPIC -shared $(LDFLAGS) \
		-o $@.new $(srcdir)/python/shim/exchange.c && mv $@.new $@
CLEANFILES += python/_exchange.abi3.so
EXTRA_DIST += python/shim/exchange.c
.PHONY: python-shim python-shim-if-headers

# make install-python: the package, for the installed library, into pythondir,
# with the compiled part if it finds Python's headers. pip and the wheel do not
# need this; packages of a distribution do.
pythondir = $(prefix)/lib/python3/dist-packages
install-python: api.json python-shim-if-headers
	$(MKDIR_P) '$(DESTDIR)$(pythondir)/sesqui/torch'
	cd $(srcdir) && $(INSTALL_DATA) $(python_package) \
		'$(DESTDIR)$(pythondir)/sesqui' && \
		$(INSTALL_DATA) $(python_torch) \
		'$(DESTDIR)$(pythondir)/sesqui/torch'
	$(INSTALL_DATA) api.json '$(DESTDIR)$(pythondir)/sesqui'
	test ! -f python/_exchange.abi3.so || $(INSTALL_DATA) \
		python/_exchange.abi3.so '$(DESTDIR)$(pythondir)/sesqui'
	python3 $(srcdir)/python/stubs.py api.json \
		'$(DESTDIR)$(pythondir)/sesqui'
.PHONY: install-python

# make wheel: dist/sesqui-VERSION-py3-none-PLATFORM.whl, for every Python and
# every processor. It has all backends; CLBlast and MPI are left to the system.
wheel:
	$(SHELL) $(srcdir)/python/wheel.sh '$(abs_top_srcdir)' \
		'$(abs_top_builddir)'
.PHONY: wheel

# The wheel in a bare Debian without a compiler; needs mmdebstrap and root.
check-wheel: wheel
	$(SHELL) $(srcdir)/python/wheel-check dist/sesqui-*.whl
.PHONY: check-wheel
EXTRA_DIST += python/wheel.sh

TESTS += tests/api/python.sh
EXTRA_DIST += tests/api/python.sh
