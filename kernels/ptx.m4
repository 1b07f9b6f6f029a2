# SPDX-License-Identifier: Apache-2.0
# ptx.m4 - where the cuda module's PTX comes from: clang or the tarball.

# SSQ_PTX: behind SSQ_SPIRV, whose --with-prebuilt holds here as well. Sets
# PTXCC, MAKE_PTX and ssq_have_ptx=yes, or ssq_why_ptx to the reason why there
# is none. A toolkit's nvcc is not asked: its PTX has a level which
# older drivers refuse.
AC_DEFUN([SSQ_PTX], [
    AC_ARG_VAR([PTXCC], [clang that compiles CUDA to PTX, for the cuda backend])
    AS_IF([test -z "$PTXCC"], [AC_CHECK_PROGS([PTXCC], [clang])])
    ssq_have_ptx=yes
    ssq_make_ptx=no
    AS_IF([test "$with_prebuilt" != no &&
           test -f "$srcdir/kernels/prebuilt_ptx.pack"], [], [
        AS_IF([test -n "$PTXCC"], [
            AC_MSG_CHECKING([whether $PTXCC writes PTX])
            echo '__attribute__((global)) void f(int *p) { *p = 1; }' \
                >conftest.cu
            AS_IF([$PTXCC -x cuda -nocudainc -nocudalib --cuda-device-only \
                   --cuda-gpu-arch=sm_70 -Xclang -target-feature \
                   -Xclang +ptx60 -Wno-unknown-cuda-version -S \
                   -o conftest.ptx conftest.cu >&AS_MESSAGE_LOG_FD 2>&1 &&
                   grep '@<:@.@:>@target sm_70' conftest.ptx >/dev/null],
                [ssq_make_ptx=yes])
            rm -f conftest.cu conftest.ptx
            AC_MSG_RESULT([$ssq_make_ptx])])
        AS_IF([test "$ssq_make_ptx" = no], [
            ssq_have_ptx=no
            ssq_why_ptx="no clang to compile the kernels (Debian: clang)"])])
    AM_CONDITIONAL([MAKE_PTX], [test "$ssq_make_ptx" = yes])
])
