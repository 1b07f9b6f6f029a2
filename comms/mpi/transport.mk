# SPDX-License-Identifier: Apache-2.0
# transport.mk - the mpi module: it links MPI, and nothing of ours.

if BUILD_MPI
module_LTLIBRARIES += mpi.la
endif
mpi_la_SOURCES = $(mpi_sources)
mpi_la_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS) \
	-DSSQ_MPI_BUILT_FOR='"$(MPI_LIBRARY)"'
mpi_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -no-undefined \
	-Wl,-z,defs
mpi_la_LIBADD = $(MPI_LIBS)
