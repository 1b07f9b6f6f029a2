/* SPDX-License-Identifier: Apache-2.0 */
/* nccl.h - communicators over NCCL, between NVIDIA's GPUs.
 *
 *     unsigned char id[SSQ_NCCL_ID_BYTES];
 *
 *     if (rank == 0)
 *         ssq_comm_nccl_id(id, sizeof(id));
 *     ... all ranks get rank 0's id: by MPI, by a socket, by shared memory ...
 *     ssq_comm_nccl_join(device, id, sizeof(id), rank, size, NULL, &comm);
 *
 * Nothing of NCCL is needed to build, neither the library nor a program:
 * libnccl.so.2 is opened at the first use, or found in the process, where it
 * was loaded by another (PyTorch, say). It has to be 2.14 or later, of 2.x.
 *
 * The calls of comm.h do what they say there, but for this:
 *
 * - Collectives run on the queue's own stream, with no thread of the host's and
 *   no memory of it between: NCCL's kernels stand among the queue's own.
 *   ssq_comm_compare alone waits on the host, behind the queue's back.
 * - They may be captured (ssq_graph_begin, and by a program that records the
 *   stream of ssq_cuda_queue_create), but for ssq_comm_compare. Ranks launch
 *   what they have captured alike. In a program's own recording nothing watches
 *   for a time-out; its graphs are destroyed before the communicator is.
 * - Bits. Sums are in NCCL's order, which it chooses by size, by number of
 *   ranks and by what connects them: no longer the tree of comm.h, so they
 *   are class R (doc/design/numbers.md, "Sums over ranks"), alike on all ranks
 *   and as repeatable as NCCL is. They are float32 all the same, with one
 *   rounding of 16-bit tensors, which become float32 in scratch memory of the
 *   device, at most 64 MiB at a time. A mean is the sum times 1 / size in
 *   float32. NaNs of sums may be any. Maxima are what comm.h says, exactly:
 *   every rank gathers the values of all, so their cost grows with the ranks.
 * - What ranks call is not compared before bytes move, but by ssq_comm_compare
 *   (the trainer does, before its first step). Ranks that call different things
 *   have an error when options.timeout has passed, or wrong values where NCCL
 *   takes one for the other, as sums of the same size under other tags.
 * - Errors name the call, this rank and what NCCL says; NCCL does not say which
 *   other rank is missing. A collective that is not done options.timeout after
 *   its turn has come on this rank ends the group here: the queues that have
 *   one under way fail, NCCL's kernels are aborted, and whoever waits for the
 *   queue goes on with SSQ_ERR_COMM. The other ranks come to the same by
 *   themselves. A rank that was destroyed is noticed in the same way.
 * - A call may wait for the other ranks while NCCL connects them, at the first
 *   of its kind and size: so ranks of one process are driven by a thread each.
 *   Such a wait, too, ends by options.timeout. NCCL's launches are made by a
 *   thread of its own, which a call waits for (tens of microseconds).
 * - options.piece_bytes has to be alike and has no effect. */
#ifndef SESQUI_NCCL_H
#define SESQUI_NCCL_H

#include <sesqui/comm.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Bytes of NCCL's ncclUniqueId. */
#define SSQ_NCCL_ID_BYTES 128

struct ncclComm;

/** Make an id for one group, on one of its ranks: ncclGetUniqueId. It is good
 *  as long as this process lives, for one group.
 *  @param id     out: bytes bytes
 *  @param bytes  SSQ_NCCL_ID_BYTES
 *  @return SSQ_ERR_INVALID a NULL, another number of bytes; SSQ_ERR_UNSUPPORTED
 *          no module, no libnccl.so.2, one that is too old or of another major
 *          version, or that lacks a function: the text names it; SSQ_ERR_COMM
 *          NCCL failed. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_nccl_id(void *id, size_t bytes);

/** Make this rank's communicator: all ranks of the group call this, and it
 *  waits for them, at most options.timeout. In one process each from a thread
 *  of its own.
 *  @param device   of cuda, over a primary context ("cuda:0"); each rank has
 *                  another GPU
 *  @param id       of ssq_comm_nccl_id or ncclGetUniqueId, the same bytes on
 *                  all ranks; read before this returns
 *  @param bytes    SSQ_NCCL_ID_BYTES
 *  @param rank     this one's, below size
 *  @param size     1..SSQ_COMM_MAX_SIZE
 *  @param options  NULL for the defaults; the same on all ranks
 *  @return SSQ_ERR_INVALID as ssq_comm_local_create, another backend's device,
 *          a context that is not the primary one, bytes, rank;
 *          SSQ_ERR_UNSUPPORTED as ssq_comm_nccl_id; SSQ_ERR_COMM a rank did not
 *          come in time, or NCCL failed, as where two ranks have the same GPU;
 *          SSQ_ERR_NOMEM, SSQ_ERR_DEVICE. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_nccl_join(
    ssq_device *device, const void *id, size_t bytes, unsigned rank,
    unsigned size, const ssq_comm_options *options, ssq_comm **comm);

/** Make this rank's communicator beside one of the program's own, with its
 *  ranks and devices: NCCL's broadcast carries the id of a new group from its
 *  rank 0 to all, and ssq_comm_nccl_join follows. All ranks call this, and it
 *  waits for them. nccl_comm is the program's before and after, to use and to
 *  destroy; not during the call.
 *  @param device     of cuda, the one that nccl_comm is on
 *  @param nccl_comm  an ncclComm_t, of the libnccl.so.2 in this process
 *  @return as ssq_comm_nccl_join; SSQ_ERR_INVALID also: nccl_comm is on another
 *          device, which the text names. After SSQ_ERR_COMM nccl_comm may have
 *          a broadcast under way that never ends: abort it. Where it is
 *          blocking, NCCL may wait in it for ranks that do not come for as long
 *          as the program lets it. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_comm_nccl_create(ssq_device *device, struct ncclComm *nccl_comm,
                     const ssq_comm_options *options, ssq_comm **comm);

#ifdef __cplusplus
}
#endif

#endif
