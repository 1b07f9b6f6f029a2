# SPDX-License-Identifier: Apache-2.0
# backend.m4 - cpu: the processor with all its threads and vectors; always
# built. What it is compiled for beside plain C is known of x86-64 alone.

AC_DEFUN([SSQ_BACKEND_CPU], [
    SSQ_BACKEND_LINKED([cpu], [all threads and vectors of the processor])
    AC_MSG_CHECKING([which instructions the cpu backend is compiled for])
    AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
        #ifndef __x86_64__
        #error another processor
        #endif
        ]])], [CPU_ISAS="plain avx2 avx512"], [CPU_ISAS=plain])
    AC_MSG_RESULT([$CPU_ISAS])
    AC_SUBST([CPU_ISAS])
    AM_CONDITIONAL([CPU_X86], [test "$CPU_ISAS" != plain])
])
