# SPDX-License-Identifier: Apache-2.0
# backend.m4 - opencl: any OpenCL 1.2 device, through the ICD loader.

AC_DEFUN([SSQ_CHECK_OPENCL], [
    ssq_why_opencl="no CL/cl.h or libOpenCL (Debian: ocl-icd-opencl-dev)"
    AC_CHECK_HEADER([CL/cl.h], [
        AC_CHECK_LIB([OpenCL], [clGetPlatformIDs], [
            ssq_have_opencl=yes
            OPENCL_LIBS=-lOpenCL])],
        [], [[#define CL_TARGET_OPENCL_VERSION 120]])
])

AC_DEFUN([SSQ_BACKEND_OPENCL], [
    OPENCL_LIBS=
    SSQ_BACKEND_MODULE([opencl], [any OpenCL 1.2 device],
        [SSQ_CHECK_OPENCL])
    AC_SUBST([OPENCL_LIBS])
    SSQ_CHECK_LIB([clblast], [CLBLAST], [clblast_c.h], [CLBlastSgemm],
        [clblast], [], [libclblast-dev])
])
