# SPDX-License-Identifier: Apache-2.0
# backend.m4 - vulkan: any Vulkan 1.1 device that computes, through the loader.
# Its SPIR-V is unpacked by zlib.

AC_DEFUN([SSQ_CHECK_VULKAN], [
    ssq_why_vulkan="no vulkan/vulkan.h of 1.3 or libvulkan (Debian: libvulkan-dev)"
    AC_CHECK_DECL([VK_API_VERSION_1_3], [
        AC_CHECK_LIB([vulkan], [vkEnumerateInstanceVersion], [
            ssq_have_vulkan=$ssq_have_spirv
            AS_IF([test "$ssq_have_spirv" = no],
                [ssq_why_vulkan=$ssq_why_spirv],
                [test "$ssq_have_ZLIB" = no], [
                    ssq_have_vulkan=no
                    ssq_why_vulkan="its kernels are packed: $ssq_why_ZLIB"])
            VULKAN_LIBS=-lvulkan])],
        [], [[#include <vulkan/vulkan.h>]])
])

AC_DEFUN([SSQ_BACKEND_VULKAN], [
    VULKAN_LIBS=
    SSQ_BACKEND_MODULE([vulkan], [any Vulkan 1.1 device that computes],
        [SSQ_CHECK_VULKAN])
    AC_SUBST([VULKAN_LIBS])
])
