# SPDX-License-Identifier: Apache-2.0
# spirv.m4 - where the vulkan module's SPIR-V comes from: glslc or the tarball.

# SSQ_SPIRV: --with-prebuilt=yes|no|auto. Sets GLSLC, MAKE_SPIRV and
# ssq_have_spirv=yes, or ssq_why_spirv to the reason why there is none.
AC_DEFUN([SSQ_SPIRV], [
    AC_CHECK_PROGS([GLSLC], [glslc])
    AC_ARG_VAR([GLSLC], [compiler of GLSL to SPIR-V, for the vulkan backend])
    AC_ARG_WITH([prebuilt],
        [AS_HELP_STRING([--with-prebuilt=yes|no|auto],
            [use the SPIR-V of the tarball, or compile it; auto: use it where
             it is @<:@auto@:>@])],
        [], [with_prebuilt=auto])
    ssq_have_spirv=yes
    ssq_make_spirv=no
    AS_CASE([$with_prebuilt],
        [no], [
            ssq_make_spirv=yes
            AS_IF([test -z "$GLSLC"],
                [AC_MSG_ERROR([--with-prebuilt=no: no glslc (Debian: glslc)])])],
        [yes], [
            AS_IF([test ! -f "$srcdir/kernels/prebuilt_spirv.pack"],
                [AC_MSG_ERROR([--with-prebuilt: only a released tarball has
                               kernels/prebuilt_spirv.pack])])],
        [auto], [
            AS_IF([test -f "$srcdir/kernels/prebuilt_spirv.pack"], [],
                [test -n "$GLSLC"], [ssq_make_spirv=yes], [
                    ssq_have_spirv=no
                    ssq_why_spirv="no glslc to compile the kernels (Debian: glslc)"])],
        [AC_MSG_ERROR([--with-prebuilt=$with_prebuilt: yes, no or auto])])
    AM_CONDITIONAL([MAKE_SPIRV], [test "$ssq_make_spirv" = yes])
])
