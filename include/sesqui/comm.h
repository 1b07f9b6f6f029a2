/* SPDX-License-Identifier: Apache-2.0 */
/* comm.h - communicators: collectives between ranks, in the order of queues.
 *
 *     ssq_comm_local_create(devices, n, NULL, comm);
 *     for (unsigned r = 0; r < n; r++)
 *         ssq_comm_all_reduce(queue[r], comm[r],
 *             SSQ_COMM_ALL_REDUCE(.tensors = grads[r], .n = 8,
 *                                 .reduction = SSQ_COMM_MEAN));
 *     ..                                    work that reads the means
 *     for (unsigned r = 0; r < n; r++)
 *         ssq_queue_sync(queue[r]);
 *
 * A group has `size` ranks, which are numbered from 0. Each has a device and a
 * communicator, which is its place in the group. A communicator is created by
 * ssq_comm_local_create (ranks of one process), ssq_comm_mpi_create (mpi.h) or
 * ssq_comm_nccl_join (nccl.h).
 *
 * A collective is enqueued like an op. It reads the results of work that was
 * enqueued before, and work that is enqueued later reads its results. A thread
 * of the communicator runs it. Meanwhile the host keeps later work of the
 * queue. If the device refuses this work later, for example for lack of memory,
 * the queue fails. This is so on every device, also on cpu: after a collective,
 * read results only after ssq_queue_sync.
 *
 * Rules for ranks
 *
 *  - All ranks must make the same collective calls on their communicators, in
 *    the same order. They may use several queues. For example, rank 0 must not
 *    call ssq_comm_barrier while rank 1 calls ssq_comm_broadcast.
 *  - Ranks of one process must not share a queue.
 *  - A collective waits for all earlier ones without .work on its queue, also
 *    of another communicator. It waits for one with .work only if ssq_comm_wait
 *    was called. So ranks that use several communicators on one queue must call
 *    them in the same order. Otherwise they wait for each other until the
 *    timeout.
 *  - Until a collective is done, its operands must not be operands of another
 *    rank on the same device. This is not checked.
 *
 * Each collective has a number, and may have a tag. Before data is moved, all
 * ranks compare the number, the tag, the call, the root or the reduction,
 * options.piece_bytes, the dtypes and, for each dtype in order, the number of
 * elements of each tensor. Shapes are not compared, and tensors without
 * elements are left out. A collective without elements still waits for all
 * ranks.
 *
 * Begin and wait
 *
 * With .work, later work on the queue does not wait for the collective, until
 * ssq_comm_wait:
 *
 *     ssq_comm_work *work = NULL;
 *     ssq_comm_all_reduce(queue, comm,
 *         SSQ_COMM_ALL_REDUCE(.tensors = late, .n = 2, .work = &work));
 *     ssq_gemm(queue, ..);                  of other tensors
 *     ssq_comm_wait(queue, &work);
 *     ssq_optimizer_step(queue, ..);        may read `late`
 *
 * Between the two calls no work on any queue may write memory of the tensors,
 * or read memory of a tensor that the collective writes. This is not checked:
 * the values would be undefined. Several collectives may be pending. A
 * communicator runs them one after the other, in the order of their calls.
 *
 * Bits
 *
 * Sums are computed in float32, element by element, in a fixed order: first
 * ranks 0 + 1, 2 + 3, .., then sums of pairs of these, until one sum is left
 * (doc/design/numbers.md, "Sums over ranks"). A mean is divided by the number
 * of ranks. Then a 16-bit tensor is rounded once. Results therefore have the
 * same bits on every rank, device and transport (class B), except with NCCL.
 *
 * Errors
 *
 * The group ends if a rank is destroyed or exits while others need it, does not
 * come within the timeout, makes another call, or fails in a collective. Then
 * on every rank the queues with pending collectives fail with SSQ_ERR_COMM, and
 * the message names the rank. With .work a queue fails only at ssq_comm_wait.
 *
 * Later calls on the communicator return the same error: destroy it and create
 * a new group. If a rank itself caused the end, for example by SSQ_ERR_NOMEM,
 * its error has that status instead.
 *
 * After fork the child cannot use a communicator: calls return SSQ_ERR_DEVICE.
 * So do calls that wait for, or query, a queue or an event after a pending
 * collective. ssq_comm_wait succeeds, and the wait for its queue then fails.
 * The child may destroy the communicator: nothing is freed, and no
 * other rank is affected.
 *
 * nccl.h lists what is different with NCCL.
 *
 * @sync async
 * @threads object */
#ifndef SESQUI_COMM_H
#define SESQUI_COMM_H

#include <sesqui/args.h>
#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A communicator. It holds its device, and has two threads, with NCCL three.
 *  They block all signals. */
typedef struct ssq_comm ssq_comm;

/** A collective that was enqueued with .work, until ssq_comm_wait. It holds its
 *  queue. */
typedef struct ssq_comm_work ssq_comm_work;

/** The maximum number of ranks of a group. */
#define SSQ_COMM_MAX_SIZE 1024

/** How a reduction combines the values of all ranks. */
typedef enum ssq_comm_reduction {
    SSQ_COMM_SUM = 0,  /**< float32 sum: f32, f16, bf16 */
    SSQ_COMM_MEAN = 1, /**< the sum divided by the number of ranks: f32, f16,
                            bf16 */
    SSQ_COMM_MAX = 2   /**< IEEE 754-2019's maximum: f32, f16, bf16, i32. NaN if
                            a value is NaN; +0 is above -0 */
} ssq_comm_reduction;

/** Options of a communicator. */
typedef struct ssq_comm_options {
    size_t struct_size;
    double timeout;       /**< seconds that a rank waits for the others in each
                               exchange, after its own earlier work has run.
                               Above 0, at most 1e9 */
    uint64_t piece_bytes; /**< size of the pieces in which tensors are moved;
                               256 to 2^30, the same on all ranks. A
                               communicator allocates four pieces of host
                               memory; those below 6 KiB may be enlarged. Does
                               not change results. */
} ssq_comm_options;
#define SSQ_COMM_OPTIONS_INIT                                                  \
    {                                                                          \
        sizeof(ssq_comm_options), 300.0, (uint64_t)4 << 20                     \
    }

/** Create the communicators of a group in this process: rank i is on
 *  devices[i].
 *  @param devices  [n] of any kinds; one may occur several times
 *  @param n        1 to SSQ_COMM_MAX_SIZE
 *  @param options  NULL: the defaults; copied
 *  @param comms    out: [n], each owned by the caller; release it with
 *                  ssq_comm_destroy()
 *  @return
 *   - SSQ_ERR_INVALID  n is out of range; options.timeout or
 *                      options.piece_bytes is out of range
 *   - SSQ_ERR_NOMEM    also: no thread can be started
 *  @sync host
 *  @threads any
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_comm_local_create(ssq_device *const *devices, unsigned n,
                      const ssq_comm_options *options, ssq_comm **comms);

/** Leave the group. Pending collectives of this rank end with SSQ_ERR_COMM.
 *  Collectives of other ranks that need this rank do, too.
 *
 *  Trainers and optimizers that use the communicator may be destroyed later.
 *  Their calls that need it return SSQ_ERR_COMM. If a batch norm of a tape uses
 *  it, destroy it only after the backward of the pass.
 *  @param comm  set to NULL; NULL, or a pointer to NULL: does nothing
 *  @sync waits until the collective that is running has ended, and for earlier
 *        work of its queue. On devices that are not asynchronous also for the
 *        later work that was kept for a collective that is done. */
SSQ_API void ssq_comm_destroy(ssq_comm **comm);

/** Return the index of this rank, and the number of ranks; 0 for NULL. These
 *  work in a child of fork.
 *  @sync host
 *  @threads any */
SSQ_API unsigned ssq_comm_rank(const ssq_comm *comm);
SSQ_API unsigned ssq_comm_size(const ssq_comm *comm);
/** Return the device that the communicator was created on, the same pointer;
 *  NULL for NULL. It is valid until the communicator is destroyed. The call
 *  adds no reference: do not close the device because of it. It works in a
 *  child of fork.
 *  @sync host
 *  @threads any */
SSQ_API ssq_device *ssq_comm_device(const ssq_comm *comm);
/** Return the name of the transport: "local", "mpi" or "nccl"; "" for NULL.
 *  Owned by the library, valid for good. The call works in a child of fork.
 *  @sync host
 *  @threads any */
SSQ_API const char *ssq_comm_transport(const ssq_comm *comm);
/** Report whether the group can still be used, as far as this rank knows. The
 *  end of another rank is noticed by the next collective.
 *  @return
 *   - SSQ_ERR_COMM    the group has ended. If this rank caused that by another
 *                     error: its status
 *   - SSQ_ERR_DEVICE  also in every child of fork
 *  @sync host
 *  @threads any */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_status(const ssq_comm *comm);

/* Common to all collectives:
 *
 * Tensors must be contiguous, and on the communicator's device. They are held
 * until the collective is done.
 *  @param tag   text for messages, the same on all ranks; at most 31 bytes,
 *               copied. NULL: no tag
 *  @param work  NULL: later work on the queue waits. Otherwise out, written
 *               only on success; owned by the caller; release it with
 *               ssq_comm_wait() or ssq_comm_work_destroy(). Ranks need not
 *               agree.
 *  @return
 *   - SSQ_ERR_INVALID  an argument; a graph is being captured on the queue, or
 *                      the caller captures its stream (cuda.h)
 *   - SSQ_ERR_COMM     the group has ended, as ssq_comm_status
 *   After an error nothing is enqueued, and the call is not counted. The other
 *   ranks wait for this rank until the timeout. Until then it can repeat the
 *   call.
 *  @note Since 0.1. */

/** Arguments of ssq_comm_broadcast. */
typedef struct ssq_comm_broadcast_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_comm_broadcast_args));
    const ssq_tensor *const *tensors; /**< [n] of any dtypes and shapes; must
                                           not overlap */
    size_t n;                         /**< may be 0 */
    unsigned root;                    /**< the rank whose values are sent */
    const char *tag;
    ssq_comm_work **work;
} ssq_comm_broadcast_args;
#define SSQ_COMM_BROADCAST_DEFAULTS                                            \
    sizeof(ssq_comm_broadcast_args), NULL, 0, 0, NULL, NULL
#define SSQ_COMM_BROADCAST_INIT                                                \
    {                                                                          \
        SSQ_COMM_BROADCAST_DEFAULTS                                            \
    }
#define SSQ_COMM_BROADCAST(...)                                                \
    SSQ_ARGS(ssq_comm_broadcast_args, SSQ_COMM_BROADCAST_DEFAULTS, __VA_ARGS__)

/** Copy the root's values of a list of tensors to all ranks, bit by bit. On the
 *  root the tensors are read, on the other ranks written. A tape counts it as a
 *  write on all ranks: broadcast no parameter between forward and backward.
 *  @return SSQ_ERR_INVALID also: root is not less than the number of ranks;
 *          tensors overlap */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_broadcast(
    ssq_queue *queue, ssq_comm *comm, const ssq_comm_broadcast_args *args);

/** Arguments of ssq_comm_all_reduce. */
typedef struct ssq_comm_all_reduce_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_comm_all_reduce_args));
    const ssq_tensor *const *tensors; /**< in and out: [n] of dtypes of the
                                           reduction, which may be mixed; must
                                           not overlap */
    size_t n;                         /**< may be 0 */
    ssq_comm_reduction reduction;
    const char *tag;
    ssq_comm_work **work;
} ssq_comm_all_reduce_args;
#define SSQ_COMM_ALL_REDUCE_DEFAULTS                                           \
    sizeof(ssq_comm_all_reduce_args), NULL, 0, SSQ_COMM_SUM, NULL, NULL
#define SSQ_COMM_ALL_REDUCE_INIT                                               \
    {                                                                          \
        SSQ_COMM_ALL_REDUCE_DEFAULTS                                           \
    }
#define SSQ_COMM_ALL_REDUCE(...)                                               \
    SSQ_ARGS(ssq_comm_all_reduce_args, SSQ_COMM_ALL_REDUCE_DEFAULTS,           \
             __VA_ARGS__)

/** Reduce a list of tensors, element by element, over all ranks. All ranks get
 *  the results. One call for many small tensors is faster than a call for each.
 *  @return SSQ_ERR_INVALID also: a dtype that the reduction does not support;
 *          tensors overlap */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_all_reduce(
    ssq_queue *queue, ssq_comm *comm, const ssq_comm_all_reduce_args *args);

/** Arguments of ssq_comm_reduce_scatter. */
typedef struct ssq_comm_reduce_scatter_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_comm_reduce_scatter_args));
    const ssq_tensor *x; /**< in, `size` times the elements of y */
    const ssq_tensor *y; /**< out, of the same dtype; must not overlap x */
    ssq_comm_reduction reduction;
    const char *tag;
    ssq_comm_work **work;
} ssq_comm_reduce_scatter_args;
#define SSQ_COMM_REDUCE_SCATTER_DEFAULTS                                       \
    sizeof(ssq_comm_reduce_scatter_args), NULL, NULL, SSQ_COMM_SUM, NULL, NULL
#define SSQ_COMM_REDUCE_SCATTER_INIT                                           \
    {                                                                          \
        SSQ_COMM_REDUCE_SCATTER_DEFAULTS                                       \
    }
#define SSQ_COMM_REDUCE_SCATTER(...)                                           \
    SSQ_ARGS(ssq_comm_reduce_scatter_args, SSQ_COMM_REDUCE_SCATTER_DEFAULTS,   \
             __VA_ARGS__)

/** Reduce x over all ranks, and cut the result into `size` equal parts: rank r
 *  gets part r in y. For example, on 4 ranks x has 12 elements and y 3.
 *  @return SSQ_ERR_INVALID also: a dtype that the reduction does not support; x
 *          and y have different dtypes, sizes that do not match, or overlap */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_reduce_scatter(
    ssq_queue *queue, ssq_comm *comm, const ssq_comm_reduce_scatter_args *args);

/** Arguments of ssq_comm_all_gather. */
typedef struct ssq_comm_all_gather_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_comm_all_gather_args));
    const ssq_tensor *x; /**< in, of any dtype */
    const ssq_tensor *y; /**< out, `size` times the elements of x, of the same
                              dtype; must not overlap x */
    const char *tag;
    ssq_comm_work **work;
} ssq_comm_all_gather_args;
#define SSQ_COMM_ALL_GATHER_DEFAULTS                                           \
    sizeof(ssq_comm_all_gather_args), NULL, NULL, NULL, NULL
#define SSQ_COMM_ALL_GATHER_INIT                                               \
    {                                                                          \
        SSQ_COMM_ALL_GATHER_DEFAULTS                                           \
    }
#define SSQ_COMM_ALL_GATHER(...)                                               \
    SSQ_ARGS(ssq_comm_all_gather_args, SSQ_COMM_ALL_GATHER_DEFAULTS,           \
             __VA_ARGS__)

/** Copy x of all ranks, in rank order, to y on all ranks. For example, on 4
 *  ranks x has 3 elements and y 12.
 *  @return SSQ_ERR_INVALID also: x and y have different dtypes, sizes that do
 *          not match, or overlap */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_all_gather(
    ssq_queue *queue, ssq_comm *comm, const ssq_comm_all_gather_args *args);

/** Make later work on the queue wait for a collective that was enqueued with
 *  .work. If the collective fails, or its communicator is destroyed before it
 *  is done, the queue fails. If it has failed already, this call succeeds, and
 *  later calls return the error.
 *  @param queue  the queue of the collective
 *  @param work   released, and set to NULL, if the call succeeds. After an
 *                error repeat the call, or call ssq_comm_work_destroy(). Wait
 *                for a collective once: *work must not be NULL.
 *  @return SSQ_ERR_INVALID  another queue; *work is NULL; except with NCCL: a
 *                           graph is being captured on the queue, or the caller
 *                           captures its stream (cuda.h)
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_wait(ssq_queue *queue,
                                                ssq_comm_work **work);

/** Release a collective without waiting for it. It still runs, and uses its
 *  tensors until it is done: until a later collective of the communicator has
 *  been waited for, or the communicator was destroyed. If it fails, no queue
 *  fails, but ssq_comm_status reports it.
 *  @param work  set to NULL; NULL, or a pointer to NULL: does nothing
 *  @sync host */
SSQ_API void ssq_comm_work_destroy(ssq_comm_work **work);

/** Enqueue a barrier. Later work on the queue does not start on any rank until
 *  all ranks have reached the barrier.
 *  @return as every collective */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_barrier(ssq_queue *queue,
                                                   ssq_comm *comm,
                                                   const char *tag);

/** A property that should be equal on all ranks. */
typedef struct ssq_comm_fact {
    const char *name;  /**< for example "fc1.weight" */
    const char *value; /**< for example "f16 [256,784]" */
} ssq_comm_fact;

/** Compare facts, and the library's version, on all ranks. Equal facts cost an
 *  exchange of hashes. If facts differ, the group ends with SSQ_ERR_COMM on all
 *  ranks: the queues fail, and the message has the name and both values of the
 *  first difference. If the names differ, it has both names. If one rank has
 *  fewer facts, it has the first name that is missing there. Of each text it
 *  shows at most 200 bytes, around the difference.
 *  @param facts  [n] in the same order on all ranks; copied; may be NULL if n
 *                is 0
 *  @return as every collective; SSQ_ERR_INVALID also: a name or value is
 *          NULL */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_compare(ssq_queue *queue,
                                                   ssq_comm *comm,
                                                   const ssq_comm_fact *facts,
                                                   size_t n, const char *tag);

/** Compute the ranks' weights for ssq_trainer_args.weights from the training
 *  rates of their devices. Each rank reads the rate in its own cache
 *  (ssq_training_rate_get, tune.h), and sends it to all. Nothing is measured:
 *  the same caches give the same weights. A rate counts for one rank that has
 *  the device for itself.
 *  @param dtype    SSQ_F32, SSQ_F16 or SSQ_BF16, in which the ranks compute;
 *                  the same on all ranks
 *  @param weights  out: [size], the same bits on all ranks: each rate divided
 *                  by the largest. Written only on success
 *  @return
 *   - SSQ_ERR_INVALID    dtype is not one of the three; this thread captures a
 *                        graph on the device; on all ranks: a weight would be
 *                        below 1e-6
 *   - SSQ_ERR_NOT_FOUND  on all ranks: a rank has no rate. The message has the
 *                        rank, and the command that measures it.
 *   - otherwise as every collective, but the call may have been counted, and
 *     may have succeeded on other ranks: do not repeat it
 *   After an error that all ranks return, the group can still be used.
 *  @sync waits for all work of the queue, and for all ranks: ranks of one
 *        process need a thread each
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_weights(ssq_queue *queue,
                                                   ssq_comm *comm,
                                                   ssq_dtype dtype,
                                                   double *weights);

/** The place of this process in a job; written by ssq_comm_place_get. */
typedef struct ssq_comm_place {
    size_t struct_size;
    char launcher[16];   /**< "Open MPI", "MPICH" or "Slurm"; "": none */
    unsigned rank, size; /**< in the job; without a launcher 0 and 1 */
    unsigned local_rank, local_size; /**< the same on this machine. If the
                                          launcher does not set local_size, or
                                          not above local_rank, it is
                                          local_rank + 1. */
    char device[32];                 /**< for ssq_device_open */
} ssq_comm_place;
#define SSQ_COMM_PLACE_INIT                                                    \
    {                                                                          \
        sizeof(ssq_comm_place), "", 0, 1, 0, 1, ""                             \
    }

/** Return the place of this process in the job that mpirun or srun has started.
 *  It is read from the environment, also before MPI is initialized. A launcher
 *  counts if it has set the rank, the size and the local rank. Otherwise
 *  launcher is "", and every process is rank 0 of 1. In a Slurm job start the
 *  program with srun: without it each process is rank 0 of all tasks.
 *
 *  The device is of the backend that "auto" chooses. Its devices that "auto"
 *  prefers equally are counted: local rank r gets number r, modulo their
 *  number. For example, with 2 GPUs local rank 3 gets "cuda:1". A processor
 *  that is a device beside GPUs does not count. A device that fails its
 *  self-test counts, and ssq_device_open then returns the error. If SSQ_DEVICE
 *  names one device ("cuda:1"), all ranks get that.
 *
 *  The call opens a device, and closes it again. If SSQ_DEVICE is not set, it
 *  loads all drivers.
 *  @param place  in: struct_size; out: the rest, written only on success
 *  @return
 *   - SSQ_ERR_INVALID  a variable of the launcher is not a number, a size is 0,
 *                      or the rank is not below the size
 *   - otherwise as ssq_device_open("auto")
 *  @sync waits for the self-test, as ssq_device_open
 *  @threads any
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_place_get(ssq_comm_place *place);

#ifdef __cplusplus
}
#endif

#endif
