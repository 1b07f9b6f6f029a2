#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wheel.sh - the wheel of the Python package: builds the library once more, for
# every processor, and packs it into dist/.
#
# usage: wheel.sh SRCDIR BUILDDIR
set -eu
src=$1 build=$2
work=$build/variant-wheel
mkdir -p "$work/kernels"
cd "$work"
# Packs do not depend on the options of configure, so this build's are copied.
for language in spirv ptx; do
    [ -d "$build/kernels/$language" ] && [ ! -d "kernels/$language" ] &&
        cp -Rp "$build/kernels/$language" kernels/
done
[ -f Makefile ] || "$src/configure" --prefix=/opt/sesqui \
    --with-clblast=no --with-mpi=no --with-cpu-isa=all >configure.log
make V=0 all >make.log 2>&1 || {
    tail -n 30 make.log >&2
    exit 1
}
rm -rf install
make V=0 install-strip DESTDIR="$work/install" >install.log 2>&1 || {
    tail -n 30 install.log >&2
    exit 1
}
make V=0 python-shim >shim.log 2>&1 || {
    echo 'wheel: without the C exchange API of DLPack: it needs libpython3-dev'
    rm -f python/_exchange.abi3.so
}
PYTHONDONTWRITEBYTECODE=1 python3 "$src/python/build_wheel.py" \
    "$work/install/opt/sesqui" "$src/python" "$build/dist" \
    python/_exchange.abi3.so
