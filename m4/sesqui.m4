# SPDX-License-Identifier: Apache-2.0
# sesqui.m4 - our configure macros: flags, optional libraries, backends.

# SSQ_CFLAG(VARIABLE, FLAG): append FLAG to VARIABLE if the compiler takes it.
# -Werror makes clang refuse what it would only warn about.
AC_DEFUN([SSQ_CFLAG], [
    AS_VAR_PUSHDEF([ssq_cache], [ssq_cv_cflag_$2])
    AC_CACHE_CHECK([whether $CC accepts $2], [ssq_cache], [
        ssq_saved_CFLAGS=$CFLAGS
        CFLAGS="$CFLAGS $$1 -Werror $2"
        AC_COMPILE_IFELSE([AC_LANG_SOURCE([int ssq_probe = 0;])],
            [AS_VAR_SET([ssq_cache], [yes])],
            [AS_VAR_SET([ssq_cache], [no])])
        CFLAGS=$ssq_saved_CFLAGS])
    AS_VAR_IF([ssq_cache], [yes], [$1="$$1 $2"])
    AS_VAR_POPDEF([ssq_cache])
])

# SSQ_OWN_FLAGS: set OWN_CFLAGS and OWN_CPPFLAGS, which come before the user's.
AC_DEFUN([SSQ_OWN_FLAGS], [
    OWN_CFLAGS=
    # gcc 12.2 -O2 drops (double)(float) from two neighbouring
    # c ? x : (double)(float)x: its vectoriser of straight-line code.
    m4_foreach_w([ssq_flag],
        [-std=c11 -ffp-contract=off -fno-fast-math -fvisibility=hidden
         -fno-tree-slp-vectorize],
        [SSQ_CFLAG([OWN_CFLAGS], ssq_flag)])
    m4_foreach_w([ssq_flag],
        [-Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes
         -Wmissing-prototypes -Wold-style-definition -Wvla -Wundef
         -Wpointer-arith -Wwrite-strings -Wcast-qual -Wcast-function-type
         -Wimplicit-fallthrough -Wformat-security
         -Wno-missing-field-initializers],
        [SSQ_CFLAG([OWN_CFLAGS], ssq_flag)])
    # What clang 16 added to -Wcast-function-type: also casts from and to
    # void (*)(void), the type in which Vulkan hands out its calls.
    ssq_strict=
    SSQ_CFLAG([ssq_strict], [-Wcast-function-type-strict])
    AS_IF([test -n "$ssq_strict"],
        [OWN_CFLAGS="$OWN_CFLAGS -Wno-cast-function-type-strict"])
    AS_VAR_IF([enable_werror], [yes],
        [SSQ_CFLAG([OWN_CFLAGS], [-Werror])])

    # Debug information and assert() name files relative to the source tree,
    # so that a build's bytes do not depend on where it was made.
    SSQ_CFLAG([PATH_CFLAGS], [-ffile-prefix-map=/nowhere=.])
    AS_IF([test -n "$PATH_CFLAGS"], [PATH_CFLAGS="dnl
-ffile-prefix-map=\$(abs_top_srcdir)=. dnl
-ffile-prefix-map=\$(abs_top_builddir)=. dnl
-ffile-prefix-map=\$(top_srcdir)/="])

    # C11 and POSIX 2008; _DEFAULT_SOURCE for MAP_ANONYMOUS and dladdr's kin.
    OWN_CPPFLAGS="-D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE"
    AS_VAR_IF([enable_debug], [no], [OWN_CPPFLAGS="$OWN_CPPFLAGS -DNDEBUG"])
    AC_SUBST([OWN_CFLAGS])
    AC_SUBST([OWN_CPPFLAGS])
    AC_SUBST([PATH_CFLAGS])
])

# SSQ_CHECK_NUMBERS: refuse compilers and CFLAGS that change float32 results.
AC_DEFUN([SSQ_CHECK_NUMBERS], [
    # At link time these also add start-up code that flushes subnormals in the
    # whole process, whatever is said about them later.
    AS_CASE([" $CFLAGS $LDFLAGS "],
        [*" -Ofast "*|*" -ffast-math "*|*" -funsafe-math-optimizations "*],
        [AC_MSG_ERROR([-Ofast, -ffast-math and -funsafe-math-optimizations
            change results: remove them from CFLAGS and LDFLAGS])],
        [*" -ffp-contract=fast "*|*" -ffp-contract=on "*],
        [AC_MSG_ERROR([-ffp-contract=on and =fast fuse multiply and add, which
            changes results: remove them from CFLAGS])])
    AC_MSG_CHECKING([whether this is a 64-bit system])
    AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
        extern int ssq_probe[sizeof(void *) == 8 ? 1 : -1];
        ]])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([sesqui needs pointers of 64 bits: tensors and files can
            be larger than a 32-bit system can address])])
    AC_MSG_CHECKING([whether float arithmetic is done in float])
    ssq_saved_CFLAGS=$CFLAGS
    ssq_float=no
    # On s390x, C11 asks gcc for double; its instructions are those of float.
    for ssq_flag in '' -fexcess-precision=fast; do
        AS_IF([test $ssq_float = no], [
            CFLAGS="$OWN_CFLAGS $ssq_flag $ssq_saved_CFLAGS"
            AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
                #include <float.h>
                #ifdef __FAST_MATH__
                #error fast math
                #endif
                #if FLT_EVAL_METHOD != 0
                #error excess precision
                #endif
                extern int ssq_probe[sizeof(float) == 4 ? 1 : -1];
                ]])],
                [ssq_float=yes OWN_CFLAGS="$OWN_CFLAGS $ssq_flag"])])
    done
    AC_MSG_RESULT([$ssq_float])
    AS_IF([test $ssq_float = no],
        [AC_MSG_ERROR([float32 results would depend on the compiler; for x87
            arithmetic, add -msse2 -mfpmath=sse to CFLAGS])])
    CFLAGS=$ssq_saved_CFLAGS
])

# SSQ_CHECK_LIB(NAME, UPPER, HEADER, FUNCTION, LIBRARY, MORE, PACKAGE)
# --with-NAME=yes|no|auto: set ssq_have_UPPER, UPPER_LIBS, HAVE_UPPER.
AC_DEFUN([SSQ_CHECK_LIB], [
    AC_ARG_WITH([$1],
        [AS_HELP_STRING([--with-$1=yes|no|auto], [use $1 @<:@auto@:>@])],
        [], [with_$1=auto])
    ssq_have_$2=no
    ssq_why_$2="--without-$1 was given"
    $2_LIBS=
    AS_IF([test "$with_$1" != no], [
        ssq_why_$2="no $3 or lib$5 (Debian: $7)"
        AC_CHECK_HEADER([$3], [
            AC_CHECK_LIB([$5], [$4], [
                ssq_have_$2=yes
                $2_LIBS="-l$5 m4_ifval([$6], [-l$6])"
                AC_DEFINE([HAVE_$2], [1], [Define to 1 if $1 is there.])
            ], [], m4_ifval([$6], [[-l$6]]))])])
    AS_IF([test "$with_$1$ssq_have_$2" = yesno],
        [AC_MSG_ERROR([--with-$1: $ssq_why_$2])])
    AC_SUBST([$2_LIBS])
    AM_CONDITIONAL([HAVE_$2], [test "$ssq_have_$2" = yes])
])

# Backends. Each adds one line to the table (lib/backend_table.h) and one to
# the summary.
#
# SSQ_BACKEND_LINKED(NAME, SUMMARY): part of libsesqui itself.
AC_DEFUN([SSQ_BACKEND_LINKED], [
    ssq_table="$ssq_table
SSQ_BACKEND($1)"
    ssq_summary="$ssq_summary
    m4_format([[%-12s]], [$1])yes: $2"
])

# SSQ_BACKEND_WITH(NAME, WHAT, CHECK): the option --with-NAME=yes|no|auto.
# CHECK runs unless the answer is no; it sets ssq_have_NAME=yes, or
# ssq_why_NAME to the reason why not. "yes" must work or configure fails.
AC_DEFUN([SSQ_BACKEND_WITH], [
    AC_ARG_WITH([$1],
        [AS_HELP_STRING([--with-$1=yes|no|auto], [build $2 @<:@auto@:>@])],
        [], [with_$1=auto])
    AS_CASE([$with_$1], [yes|no|auto], [],
        [AC_MSG_ERROR([--with-$1=$with_$1: yes, no or auto])])
    ssq_have_$1=no
    ssq_why_$1="--without-$1 was given"
    AS_IF([test "$with_$1" != no], [$3])
    AS_IF([test "$with_$1$ssq_have_$1" = yesno],
        [AC_MSG_ERROR([--with-$1: $ssq_why_$1])])
    AM_CONDITIONAL([BUILD_]m4_toupper([$1]), [test "$ssq_have_$1" = yes])
])

# SSQ_BACKEND_MODULE(NAME, WHAT, CHECK): a module opened at run time.
AC_DEFUN([SSQ_BACKEND_MODULE], [
    SSQ_BACKEND_WITH([$1], [$2], [$3])
    AS_VAR_IF([ssq_have_$1], [yes], [
        ssq_table="$ssq_table
SSQ_MODULE($1, NULL)"
        ssq_summary="$ssq_summary
    m4_format([[%-12s]], [$1])yes: $2"
    ], [
        ssq_table="$ssq_table
SSQ_MODULE($1, \"not built: $ssq_why_$1\")"
        ssq_summary="$ssq_summary
    m4_format([[%-12s]], [$1])no: $ssq_why_$1"
    ])
])

# SSQ_BACKEND_ABSENT(NAME): known by name, not part of this version.
AC_DEFUN([SSQ_BACKEND_ABSENT], [
    SSQ_BACKEND_MODULE([$1], [the $1 backend],
        [ssq_why_$1="this version has no $1 backend"])
])

AC_DEFUN([SSQ_BACKEND_TABLE], [AC_SUBST([ssq_table])
    AM_SUBST_NOTMAKE([ssq_table])])

# SSQ_CONFIG_HEADER(FILE): FILE is made from FILE.in, and keeps its date if it did
# not change: after another configure what includes it is not compiled again.
AC_DEFUN([SSQ_CONFIG_HEADER], [
    AC_CONFIG_FILES([$1.new:$1.in],
        [cmp -s "$1.new" "$1" || cp "$1.new" "$1"])
])

AC_DEFUN([SSQ_SUMMARY], [
    AS_IF([test "$ssq_have_ZLIB" = yes], [ssq_zlib=yes],
        [ssq_zlib="no: $ssq_why_ZLIB; no examples, no vulkan"])
    AS_IF([test "$ssq_have_MPFR" = yes], [ssq_mpfr=yes],
        [ssq_mpfr="no: $ssq_why_MPFR; tests against it are skipped"])
    AS_ECHO(["
sesqui $PACKAGE_VERSION

  compiler        $CC
  CFLAGS          $CFLAGS
  C++ (tests)     ${CXX:-no: neither g++, c++ nor clang++}
  prefix          $prefix
  debug asserts   $enable_debug
  -Werror         $enable_werror
  zlib            $ssq_zlib
  mpfr (tests)    $ssq_mpfr
  doxygen         ${DOXYGEN:-no: "make doc" will not work}
  matrix shader   $ssq_coopmat
  ranks           $ssq_transports
  backends$ssq_summary
"])])

# SSQ_HARDENING: what makes faults in C harder to abuse, where the compiler and
# the linker have it. Before the user's flags, which win. _FORTIFY_SOURCE wants
# an optimising compiler, and hides faults from sanitizers.
AC_DEFUN([SSQ_HARDENING], [
    AC_ARG_ENABLE([hardening],
        [AS_HELP_STRING([--disable-hardening],
            [without stack protector, _FORTIFY_SOURCE, read-only relocations])],
        [], [enable_hardening=yes])
    HARDENING_LDFLAGS=
    AS_IF([test "$enable_hardening" != no], [
        m4_foreach_w([ssq_flag],
            [-fstack-protector-strong -fstack-clash-protection -fcf-protection],
            [SSQ_CFLAG([OWN_CFLAGS], ssq_flag)])
        AC_MSG_CHECKING([whether _FORTIFY_SOURCE is for us to define])
        AS_CASE([" $CFLAGS $CPPFLAGS "],
            [*-fsanitize=*], [ssq_fortify=no],
            [AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
                #if !defined __OPTIMIZE__ || defined _FORTIFY_SOURCE
                #error not now
                #endif
                int ssq_probe;
                ]])], [ssq_fortify=yes], [ssq_fortify=no])])
        AC_MSG_RESULT([$ssq_fortify])
        AS_IF([test "$ssq_fortify" = yes],
            [OWN_CPPFLAGS="$OWN_CPPFLAGS -D_FORTIFY_SOURCE=2"])
        ssq_saved_LDFLAGS=$LDFLAGS
        AC_MSG_CHECKING([whether the linker binds at start])
        LDFLAGS="$LDFLAGS -Wl,-z,relro -Wl,-z,now"
        AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
            [AC_MSG_RESULT([yes])
             HARDENING_LDFLAGS="-Wl,-z,relro -Wl,-z,now"],
            [AC_MSG_RESULT([no])])
        LDFLAGS=$ssq_saved_LDFLAGS])
    AC_SUBST([HARDENING_LDFLAGS])
])

# SSQ_MOVED_PREFIX: MOVED_LDFLAGS has programs look for the library where it is
# in relation to them, so that a prefix may be moved. The system's own needs no
# run path.
AC_DEFUN([SSQ_MOVED_PREFIX], [
    MOVED_LDFLAGS=
    AS_CASE([$prefix:$bindir:$libdir],
        [/usr:*], [],
        [*:'${exec_prefix}/bin:${exec_prefix}/'*],
        [MOVED_LDFLAGS="-Wl,-rpath,'\$\$ORIGIN/../${libdir@%:@*\}/}'"])
    AC_SUBST([MOVED_LDFLAGS])
])
