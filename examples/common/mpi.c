/* SPDX-License-Identifier: Apache-2.0 */
/* mpi.c - ranks that are processes of an MPI. */
#include <mpi.h>

#include <sesqui/mpi.h>

#include "examples/common/group.h"

#include <signal.h>
#include <unistd.h>

/* MPICH's launcher tells of a rank that has died by SIGUSR1, which would end
 * this one. */
bool mpi_begin(const struct run_options *o)
{
    int level = MPI_THREAD_SINGLE;
    signal(SIGUSR1, SIG_IGN);
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) !=
            MPI_SUCCESS ||
        level < MPI_THREAD_MULTIPLE) {
        fprintf(stderr, "%s: this MPI has no MPI_THREAD_MULTIPLE\n",
                o->program);
        return false;
    }
    return true;
}

bool mpi_comm(ssq_device *device, const ssq_comm_options *options,
              ssq_comm **comm)
{
    return run_ok(ssq_comm_mpi_create(device, MPI_COMM_WORLD, options, comm),
                  "communicator");
}

void mpi_end(bool good)
{
    if (good) {
        MPI_Finalize();
        return;
    }
    fflush(stdout);
    _exit(1); /* MPI_Finalize would wait for who is not there */
}
