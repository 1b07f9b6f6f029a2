/* SPDX-License-Identifier: Apache-2.0 */
/* nccl.h - communicators over NCCL, between NVIDIA GPUs.
 *
 *     unsigned char id[SSQ_NCCL_ID_BYTES];
 *
 *     if (rank == 0)
 *         ssq_comm_nccl_id(id, sizeof(id));
 *     ..          send rank 0's id to all ranks, for example by MPI
 *     ssq_comm_nccl_join(device, id, sizeof(id), rank, size, NULL, &comm);
 *     ..                                         collectives of comm.h
 *     ssq_comm_destroy(&comm);
 *
 * NCCL is not needed for building. libnccl.so.2 is loaded at the first use. If
 * the process has already loaded one (PyTorch does, for example), that is used.
 * NCCL must be 2.14 or a later 2.x.
 *
 * The calls of comm.h have these differences with NCCL:
 *
 * Order. Collectives run as NCCL kernels on the queue's stream, without a
 * thread and without host memory. With .work later work waits, too: the values
 * are the same, and nothing overlaps. If such a collective fails, the queue
 * fails, also after ssq_comm_work_destroy. ssq_comm_compare still runs on a
 * thread of the host.
 *
 * Waiting. A call may wait for the other ranks while NCCL connects them, at
 * most options.timeout. NCCL connects them at the first call of a kind and
 * size. After a failure the call waits up to 5 seconds more, until NCCL has
 * aborted. Ranks of one process therefore need a thread each. Every call waits
 * for a thread that launches NCCL's kernels (some tens of microseconds).
 *
 * ssq_comm_destroy waits up to half a second for the other ranks to end, too,
 * or up to 5 seconds if it aborts a collective. If that is not enough, a thread
 * continues to end NCCL's communicator after the call has returned.
 *
 * Graphs. Collectives except ssq_comm_compare and ssq_comm_weights can be
 * captured, by ssq_graph_begin or by a program that captures the stream
 * (cuda.h). All ranks must launch their graphs in the same order. If the
 * communicator was destroyed, a launch by ssq_graph_launch fails the queue with
 * SSQ_ERR_COMM. A program's own capture has no timeout. Destroy its graphs
 * before the communicator.
 *
 * Bits
 *
 *  - Sums are in the order of NCCL, which depends on sizes, the number of ranks
 *    and the connections. They are class R (doc/design/numbers.md, "Sums over
 *    ranks"), equal on all ranks, and as repeatable as NCCL.
 *  - 16-bit tensors are converted to float32 in device memory, at most 64 MiB
 *    at a time, and rounded once.
 *  - A mean is the sum times 1 / size in float32. A NaN in a sum may have any
 *    bits.
 *  - Maxima are exactly as in comm.h. Every rank gathers the values of all
 *    ranks (except in an all_reduce of i32): the time grows with their number.
 *
 * Errors
 *
 *  - A collective over tensors without elements does nothing, and waits for no
 *    rank. ssq_comm_barrier waits for all ranks.
 *  - Calls are not compared before data is moved, except by ssq_comm_compare. A
 *    trainer calls that before its first step. If ranks make different calls,
 *    they fail after options.timeout. Or they get wrong values, if NCCL cannot
 *    see the difference: for example, sums of one size with different tags.
 *  - Messages have the call, this rank and NCCL's text. NCCL does not report
 *    which other rank is missing.
 *  - If a collective has not ended options.timeout after its start on this
 *    rank, the group ends here: queues with pending collectives fail with
 *    SSQ_ERR_COMM, and NCCL's kernels are aborted. The other ranks find out in
 *    the same way, also if a rank was destroyed.
 *  - A call that fails after its arguments were accepted, for example with
 *    SSQ_ERR_NOMEM, may be counted. If so, a later ssq_comm_compare fails on
 *    all ranks.
 *  - If NCCL fails in a call, or the call waits for longer than the timeout, it
 *    returns SSQ_ERR_COMM, the group ends, and the queue fails. The queue also
 *    fails if the call runs out of memory while it is handed to NCCL.
 *  - options.piece_bytes has no effect, but must be the same on all ranks.
 *
 * @sync waits for all ranks
 * @threads object */
#ifndef SESQUI_NCCL_H
#define SESQUI_NCCL_H

#include <sesqui/comm.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Size of NCCL's ncclUniqueId in bytes. */
#define SSQ_NCCL_ID_BYTES 128

struct ncclComm;

/** Create an id for one group, on one of its ranks, by ncclGetUniqueId. It is
 *  valid while this process runs.
 *  @param id     out: `bytes` bytes
 *  @param bytes  SSQ_NCCL_ID_BYTES
 *  @return
 *   - SSQ_ERR_INVALID      bytes is another number
 *   - SSQ_ERR_UNSUPPORTED  the module, libnccl.so.2 or NVIDIA's driver is
 *                          missing; NCCL's version is not supported; a function
 *                          is missing (the message names it)
 *   - SSQ_ERR_COMM         NCCL failed
 *  @sync host
 *  @threads any
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_nccl_id(void *id, size_t bytes);

/** Create the communicator of this rank. All ranks of the group must make this
 *  call. Ranks of one process need a thread each.
 *  @param device   of cuda, on a primary context, for example "cuda:0". Each
 *                  rank must have another GPU.
 *  @param id       of ssq_comm_nccl_id or ncclGetUniqueId, the same bytes on
 *                  all ranks; read before the call returns
 *  @param bytes    SSQ_NCCL_ID_BYTES
 *  @param rank     of this process or thread, 0 to size - 1
 *  @param size     number of ranks, 1 to SSQ_COMM_MAX_SIZE
 *  @param options  NULL: the defaults; copied; the same on all ranks
 *  @param comm     out; owned by the caller; release it with
 *                  ssq_comm_destroy()
 *  @return
 *   - SSQ_ERR_INVALID      bytes, rank, size or an option is out of range; the
 *                          device is not of cuda, or not on the primary
 *                          context; this thread captures a graph on the device
 *   - SSQ_ERR_UNSUPPORTED  as ssq_comm_nccl_id
 *   - SSQ_ERR_COMM         a rank did not make the call within
 *                          options.timeout, or NCCL failed: for example, two
 *                          ranks have the same GPU
 *   - SSQ_ERR_NOMEM        also: no thread can be started. The call can succeed
 *                          on the other ranks then: their first collective
 *                          fails, at the latest after the timeout
 *  @sync waits for all ranks, at most options.timeout; after a failure up to 5
 *        seconds more, until NCCL has aborted
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_nccl_join(
    ssq_device *device, const void *id, size_t bytes, unsigned rank,
    unsigned size, const ssq_comm_options *options, ssq_comm **comm);

/** Create the communicator of this rank with the ranks and devices of a
 *  program's own NCCL communicator. All its ranks must make this call. The call
 *  broadcasts the id of a new group over nccl_comm. Then the ranks join the
 *  group as by ssq_comm_nccl_join.
 *  @param device     of cuda, the device of nccl_comm
 *  @param nccl_comm  an ncclComm_t of the libnccl.so.2 in this process. The
 *                    program still owns it, may use it before and after the
 *                    call, and destroys it.
 *  @param options    NULL: the defaults; copied; the same on all ranks
 *  @param comm       out; owned by the caller; release it with
 *                    ssq_comm_destroy()
 *  @return
 *   - SSQ_ERR_INVALID  nccl_comm is on another device (the message has both),
 *                      or has more than SSQ_COMM_MAX_SIZE ranks; this thread
 *                      captures a graph on the device
 *   - SSQ_ERR_COMM     as ssq_comm_nccl_join. nccl_comm may have a pending
 *                      broadcast that never ends: abort it. The device then
 *                      stays open, and some memory is never freed.
 *   - otherwise as ssq_comm_nccl_join
 *  @sync waits for all ranks, in each step at most options.timeout; after a
 *        failure up to 5 seconds more. If nccl_comm is blocking, NCCL may wait
 *        longer for a missing rank.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_comm_nccl_create(ssq_device *device, struct ncclComm *nccl_comm,
                     const ssq_comm_options *options, ssq_comm **comm);

#ifdef __cplusplus
}
#endif

#endif
