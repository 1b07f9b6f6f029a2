# SPDX-License-Identifier: Apache-2.0
# transport.m4 - mpi: between processes, by Open MPI or MPICH.

AC_ARG_VAR([MPICC], [compiler of the MPI that the mpi module is for])

# SSQ_TRY_MPICC(MPICC): its flags in MPI_CPPFLAGS and MPI_LIBS, if it works.
# Headers are the system's: they do not pass our warnings.
AC_DEFUN([SSQ_TRY_MPICC], [
    MPI_CPPFLAGS=`$1 --showme:compile 2>/dev/null`
    MPI_LIBS=`$1 --showme:link 2>/dev/null`
    AS_IF([test -z "$MPI_LIBS"], [
        ssq_show=`$1 -show 2>/dev/null`
        for ssq_word in $ssq_show; do
            AS_CASE([$ssq_word], [-I*],
                [MPI_CPPFLAGS="$MPI_CPPFLAGS $ssq_word"],
                [-L*|-l*], [MPI_LIBS="$MPI_LIBS $ssq_word"])
        done])
    MPI_CPPFLAGS=`AS_ECHO([" $MPI_CPPFLAGS"]) | sed 's/ -I/ -isystem /g'`
    ssq_cppflags=$CPPFLAGS ssq_libs=$LIBS
    CPPFLAGS="$CPPFLAGS $MPI_CPPFLAGS" LIBS="$MPI_LIBS $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
        #include <mpi.h>
        #if !defined OMPI_MAJOR_VERSION && !defined MPICH_VERSION
        #error neither Open MPI nor MPICH
        #endif
        ]], [[return MPI_Query_thread(&(int){0});]])], [
        ssq_have_mpi=yes
        MPIRUN=`AS_ECHO(["$1"]) | sed 's/mpicc/mpirun/'`
        AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
            #include <mpi.h>
            #ifndef OMPI_MAJOR_VERSION
            #error another
            #endif
            ]])], [MPI_LIBRARY="Open MPI"], [MPI_LIBRARY=MPICH])])
    CPPFLAGS=$ssq_cppflags LIBS=$ssq_libs
])

AC_DEFUN([SSQ_CHECK_MPI], [
    ssq_why_mpi="no mpicc of Open MPI or MPICH (Debian: libopenmpi-dev)"
    for ssq_mpicc in ${MPICC:-mpicc mpicc.openmpi mpicc.mpich}; do
        AS_IF([test $ssq_have_mpi = no], [SSQ_TRY_MPICC([$ssq_mpicc])])
    done
])

AC_DEFUN([SSQ_TRANSPORT_MPI], [
    MPI_CPPFLAGS= MPI_LIBS= MPIRUN= MPI_LIBRARY=
    SSQ_BACKEND_WITH([mpi], [collectives over MPI], [SSQ_CHECK_MPI])
    AS_IF([test $ssq_have_mpi = yes], [
        ssq_table="$ssq_table
SSQ_TRANSPORT(mpi, NULL)"
        ssq_transports="mpi (built for $MPI_LIBRARY)"
    ], [
        ssq_table="$ssq_table
SSQ_TRANSPORT(mpi, \"not built: $ssq_why_mpi\")"
        ssq_transports="local; no mpi: $ssq_why_mpi"
    ])
    AC_SUBST([MPI_CPPFLAGS])
    AC_SUBST([MPI_LIBS])
    AC_SUBST([MPIRUN])
    AC_SUBST([MPI_LIBRARY])
])
