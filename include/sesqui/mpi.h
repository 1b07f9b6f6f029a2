/* SPDX-License-Identifier: Apache-2.0 */
/* mpi.h - communicators over a program's own MPI communicator.
 *
 *     #include <mpi.h>
 *     #include <sesqui/mpi.h>
 *
 *     MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
 *     ssq_comm_mpi_create(device, MPI_COMM_WORLD, NULL, &comm);
 *     ...
 *     ssq_comm_destroy(&comm);
 *     MPI_Finalize();
 *
 * The library itself is linked with no MPI: a module is, which was built for
 * Open MPI or for MPICH (and what has MPICH's ABI), and refuses a program of
 * the other. MPI has to be initialised with MPI_THREAD_MULTIPLE, since messages
 * are passed by a thread. They go through the host's memory as bytes, and all
 * sums are the library's own: their bits are those of local ranks (comm.h).
 *
 * The communicator is destroyed before MPI_Finalize. Collectives behind that
 * fail with SSQ_ERR_COMM; one that is under way meanwhile may be MPI's end of
 * the process.
 *
 * A rank that dies is noticed by MPI where it can tell, and else by
 * options.timeout: then collectives fail on all that are left. Who waits for
 * several ranks gives them a second more, since one of them may wait for
 * another, and is the one to name it. Whether they are left is the launcher's
 * to say: mpirun ends the whole job when a process dies, unless it was told not
 * to (Open MPI: --enable-recovery; MPICH: -disable-auto-cleanup, which sends
 * SIGUSR1 to those that are left: ignore it; that of 4.0 may fall itself and
 * end the job). A program that hears of it ends by _exit, without MPI_Finalize,
 * which would wait for the dead. */
#ifndef SESQUI_MPI_H
#define SESQUI_MPI_H

#include <sesqui/comm.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Make this rank's communicator over an MPI communicator, of which the module
 *  makes duplicates. All ranks of it call this, and it waits for them, at most
 *  options.timeout. What is wrong with one rank's arguments is answered there
 *  alone: the others wait for it that long.
 *  @param library    which MPI the program was compiled with: "Open MPI" or
 *                    "MPICH"
 *  @param mpi_comm   the address of an MPI_Comm, of bytes bytes
 *  @param options    NULL for the defaults. piece_bytes is the same on all
 *                    ranks, or the first collective says where it is not
 *  @return SSQ_ERR_INVALID as ssq_comm_local_create, bytes is not that of an
 *          MPI_Comm, MPI_COMM_NULL, one between two groups, or of more than
 *          SSQ_COMM_MAX_SIZE ranks; SSQ_ERR_UNSUPPORTED no module, one for
 *          another MPI, or MPI is not initialised, or without
 *          MPI_THREAD_MULTIPLE, or finalised; SSQ_ERR_COMM a rank has not come
 *          in time, or MPI failed: its communicator may have a call under way
 *          then that never ends, so end by _exit; SSQ_ERR_NOMEM,
 *          SSQ_ERR_DEVICE. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_mpi_open(
    ssq_device *device, const char *library, const void *mpi_comm, size_t bytes,
    const ssq_comm_options *options, ssq_comm **comm);

/* Where <mpi.h> was included before. */
#if defined(OMPI_MAJOR_VERSION)
#define SSQ_MPI_LIBRARY "Open MPI"
#elif defined(MPICH_VERSION) || defined(MPICH_NAME)
#define SSQ_MPI_LIBRARY "MPICH"
#elif defined(MPI_VERSION)
#define SSQ_MPI_LIBRARY "another MPI"
#endif

#ifdef SSQ_MPI_LIBRARY
/** ssq_comm_mpi_open of this program's MPI. */
SSQ_MUST_CHECK static inline ssq_status
ssq_comm_mpi_create(ssq_device *device, MPI_Comm mpi_comm,
                    const ssq_comm_options *options, ssq_comm **comm)
{
    return ssq_comm_mpi_open(device, SSQ_MPI_LIBRARY, &mpi_comm,
                             sizeof(mpi_comm), options, comm);
}
#endif

#ifdef __cplusplus
}
#endif

#endif
