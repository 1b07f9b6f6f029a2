# SPDX-License-Identifier: Apache-2.0
# backend.m4 - cpu: the processor with all its threads and vectors; always
# built. Sets of instructions besides plain C exist for x86-64 alone.

AC_DEFUN([SSQ_BACKEND_CPU], [
    SSQ_BACKEND_LINKED([cpu], [all threads and vectors of the processor])
    AC_ARG_WITH([cpu-isa],
        [AS_HELP_STRING([--with-cpu-isa=all|host|LIST],
            [instruction sets of the cpu backend: all of them, the best that
             this machine has, or some of plain,avx2,avx512 @<:@all@:>@])],
        [], [with_cpu_isa=all])
    AC_MSG_CHECKING([which instructions the cpu backend is compiled for])
    AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
        #ifndef __x86_64__
        #error another processor
        #endif
        ]])], [ssq_isas="plain avx2 avx512"], [ssq_isas=plain])
    AS_CASE([$with_cpu_isa],
        [all|yes], [CPU_ISAS=$ssq_isas],
        [host], [SSQ_HOST_ISA],
        [CPU_ISAS=`echo "$with_cpu_isa" | tr ',' ' '`])
    for ssq_isa in none $CPU_ISAS; do
        AS_CASE([" none $ssq_isas "], [*" $ssq_isa "*], [],
            [AC_MSG_ERROR([--with-cpu-isa=$with_cpu_isa: all, host, or some of
                $ssq_isas, with commas between them])])
    done
    AS_IF([test -z "$CPU_ISAS"], [AC_MSG_ERROR([--with-cpu-isa: no set])])
    AC_MSG_RESULT([$CPU_ISAS])
    AC_SUBST([CPU_ISAS])
    m4_foreach([ssq_set], [[plain], [avx2], [avx512]], [
        AS_CASE([" $CPU_ISAS "], [*" ssq_set "*],
            [AC_SUBST([CPU_]m4_toupper(ssq_set), [1])],
            [AC_SUBST([CPU_]m4_toupper(ssq_set), [0])])
        AM_CONDITIONAL([BUILD_]m4_toupper(ssq_set),
            [test "$CPU_]m4_toupper(ssq_set)[" = 1])])
    SSQ_PRECOMPILED
])

# SSQ_HOST_ISA: the best set that the processor of this machine has.
AC_DEFUN([SSQ_HOST_ISA], [
    ssq_saved_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -march=native"
    CPU_ISAS=plain
    AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
        #if !defined __AVX2__ || !defined __FMA__ || !defined __F16C__
        #error not avx2
        #endif
        ]])], [CPU_ISAS=avx2])
    AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
        #if !defined __AVX512F__ || !defined __AVX512BW__ || \
            !defined __AVX512CD__ || !defined __AVX512DQ__ || \
            !defined __AVX512VL__ || !defined __FMA__ || !defined __F16C__
        #error not avx512
        #endif
        ]])], [CPU_ISAS=avx512])
    CFLAGS=$ssq_saved_CFLAGS
])

# SSQ_PRECOMPILED: sets PRECOMPILED to yes if the compiler is gcc and reads
# headers that it has precompiled: <immintrin.h> takes half a second, and 130
# files of the cpu backend include it.
AC_DEFUN([SSQ_PRECOMPILED], [
    AC_CACHE_CHECK([whether $CC uses a precompiled header],
        [ssq_cv_precompiled], [
        ssq_cv_precompiled=no
        echo 'int ssq_probe;' >conftest.pre.h
        echo 'int main(void) { return ssq_probe; }' >conftest.c
        AS_IF([test "$GCC" = yes &&
               $CC $CFLAGS -x c-header conftest.pre.h \
                   -o conftest.pre.h.gch >&AS_MESSAGE_LOG_FD 2>&1 &&
               $CC $CFLAGS -Winvalid-pch -Werror -H -include conftest.pre.h \
                   -c conftest.c 2>conftest.err &&
               grep '^! .*pre.h.gch' conftest.err >/dev/null],
            [ssq_cv_precompiled=yes])
        rm -f conftest.pre.h conftest.pre.h.gch conftest.err])
    AC_SUBST([PRECOMPILED], [$ssq_cv_precompiled])
    AM_CONDITIONAL([PRECOMPILED], [test "$ssq_cv_precompiled" = yes])
])
