/* SPDX-License-Identifier: Apache-2.0 */
/* no_mpi.c - a build without MPI says so. */
#include "examples/common/group.h"

bool mpi_begin(const struct run_options *o)
{
    fprintf(stderr,
            "%s: --data-parallel needs MPI, which configure has not found "
            "(--with-mpi, MPICC); --ranks N has ranks in one process\n",
            o->program);
    return false;
}

bool mpi_comm(ssq_device *device, const ssq_comm_options *options,
              ssq_comm **comm)
{
    (void)device, (void)options, (void)comm;
    return false;
}

void mpi_end(bool good)
{
    (void)good;
}
