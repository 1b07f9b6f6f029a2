/* SPDX-License-Identifier: Apache-2.0 */
/* mpi.h - communicators over a program's own MPI communicator.
 *
 *     #include <mpi.h>                      before sesqui/mpi.h
 *     #include <sesqui/mpi.h>
 *
 *     MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
 *     ssq_comm_mpi_create(device, MPI_COMM_WORLD, NULL, &comm);
 *     ..
 *     ssq_comm_destroy(&comm);
 *     MPI_Finalize();
 *
 * The library is not linked with MPI. A module is, which was built for Open MPI
 * or for MPICH (and libraries with MPICH's ABI). It refuses a program that was
 * compiled with the other one. Initialize MPI with MPI_THREAD_MULTIPLE: a
 * thread of the communicator passes the messages.
 *
 * Messages go through host memory as bytes. The library computes all sums
 * itself: results have the same bits as with local ranks (comm.h).
 *
 * The end
 *
 * Destroy the communicator before MPI_Finalize. After MPI_Finalize collectives
 * fail with SSQ_ERR_COMM. If one is running during MPI_Finalize, MPI may end
 * the process. ssq_comm_destroy may wait up to a second for messages to other
 * ranks.
 *
 * If a rank dies
 *
 *  - The other ranks notice it if MPI reports it, or by options.timeout. Then
 *    their collectives fail with SSQ_ERR_COMM. A rank that waits for several
 *    ranks waits one second longer, because one of these may know the cause.
 *  - After such an error some memory is never freed, and the device stays open.
 *  - mpirun ends the whole job when a process dies, unless told otherwise: with
 *    Open MPI by --enable-recovery, with MPICH by -disable-auto-cleanup.
 *  - MPICH then sends SIGUSR1 to the remaining processes: ignore it. The mpirun
 *    of MPICH 4.0 may itself crash and end the job.
 *  - A process that has received the error must end by _exit. MPI_Finalize
 *    would wait for the dead rank.
 *
 * @sync waits for all ranks
 * @threads object */
#ifndef SESQUI_MPI_H
#define SESQUI_MPI_H

#include <sesqui/comm.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Create the communicator of this rank, over two duplicates of an MPI
 *  communicator. All ranks of mpi_comm must make this call. If one rank's
 *  arguments are refused, only that rank gets the error. The other ranks wait
 *  for it until the timeout.
 *  @param library   the MPI that the program was compiled with: "Open MPI" or
 *                   "MPICH"
 *  @param mpi_comm  address of an MPI_Comm; the program may use it and free it
 *                   afterwards
 *  @param bytes     sizeof(MPI_Comm)
 *  @param options   NULL: the defaults; copied. If piece_bytes differs between
 *                   ranks, the first collective fails.
 *  @param comm      out; owned by the caller; release it with
 *                   ssq_comm_destroy()
 *  @return
 *   - SSQ_ERR_INVALID      bytes is wrong; mpi_comm is MPI_COMM_NULL, an
 *                          intercommunicator, or has more than
 *                          SSQ_COMM_MAX_SIZE ranks; an option is out of range
 *   - SSQ_ERR_UNSUPPORTED  the module is missing, or was built for another
 *                          MPI; MPI is not initialized, is finalized,
 *                          or has no MPI_THREAD_MULTIPLE
 *   - SSQ_ERR_COMM         a rank did not make the call within
 *                          options.timeout, or MPI failed. A call of MPI may
 *                          then be pending for ever: end the process by _exit.
 *                          With MPI's default error handler on mpi_comm, some
 *                          failures of MPI end the process instead.
 *   - SSQ_ERR_NOMEM        also: no thread can be started. The call can succeed
 *                          on the other ranks then: their first collective
 *                          fails, at the latest after the timeout
 *  @sync waits for all ranks, at most options.timeout
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_mpi_open(
    ssq_device *device, const char *library, const void *mpi_comm, size_t bytes,
    const ssq_comm_options *options, ssq_comm **comm);

/* If <mpi.h> was included before. */
#if defined(OMPI_MAJOR_VERSION)
#define SSQ_MPI_LIBRARY "Open MPI"
#elif defined(MPICH_VERSION) || defined(MPICH_NAME)
#define SSQ_MPI_LIBRARY "MPICH"
#elif defined(MPI_VERSION)
#define SSQ_MPI_LIBRARY "another MPI"
#endif

#ifdef SSQ_MPI_LIBRARY
/** Call ssq_comm_mpi_open with the program's MPI. Defined if <mpi.h> was
 *  included before this header.
 *  @return as ssq_comm_mpi_open */
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
