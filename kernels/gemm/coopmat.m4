# SPDX-License-Identifier: Apache-2.0
# coopmat.m4 - where the SPIR-V of kernels/gemm/coopmat.comp comes from.

# SSQ_COOPMAT: behind SSQ_SPIRV. The shader needs a glslc that knows cooperative
# matrices; the module is built without it where there is none. Sets
# GLSLC_COOPMAT, MAKE_COOPMAT, PREBUILT_COOPMAT and ssq_coopmat, for the summary.
AC_DEFUN([SSQ_COOPMAT], [
    AC_ARG_VAR([GLSLC_COOPMAT], [a glslc that knows GL_KHR_cooperative_matrix,
        where GLSLC does not: tests/coopmat-env brings one])
    AS_IF([test -z "$GLSLC_COOPMAT"], [GLSLC_COOPMAT=$GLSLC])
    ssq_coopmat="no: no glslc that knows GL_KHR_cooperative_matrix"
    AS_IF([test "$with_prebuilt" != no &&
           test -f "$srcdir/kernels/prebuilt_coopmat.h"],
        [ssq_coopmat="prebuilt"],
        [test -n "$GLSLC_COOPMAT"], [
            AC_MSG_CHECKING([whether $GLSLC_COOPMAT knows cooperative matrices])
            printf '%s\n' '@%:@version 450' \
                '@%:@extension GL_KHR_cooperative_matrix : require' \
                'void main() {}' >conftest.comp
            AS_IF([$GLSLC_COOPMAT --target-env=vulkan1.1 -o conftest.spv \
                   conftest.comp >&AS_MESSAGE_LOG_FD 2>&1],
                [ssq_coopmat="yes, by $GLSLC_COOPMAT"])
            rm -f conftest.comp conftest.spv
            AC_MSG_RESULT([$ssq_coopmat])])
    AM_CONDITIONAL([PREBUILT_COOPMAT], [test "$ssq_coopmat" = prebuilt])
    AM_CONDITIONAL([MAKE_COOPMAT], [test "${ssq_coopmat%%,*}" = yes])
])
