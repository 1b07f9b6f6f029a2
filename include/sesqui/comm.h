/* SPDX-License-Identifier: Apache-2.0 */
/* comm.h - communicators: collectives between ranks, in the order of queues.
 *
 * A group is `size` ranks, from 0 on, each with a device of its own; a
 * communicator is one rank's place in it. Collectives are enqueued like ops:
 * what was enqueued before is in their operands, and what is enqueued behind
 * them on the same queue sees their results. No call here waits for the device
 * or for another rank, but for the making and the end of a communicator, and
 * ssq_comm_weights: what
 * comes behind a collective is kept, with all that it uses, until the
 * collective is done, by a thread that each communicator has of its own. So one
 * thread may drive several ranks, one after the other.
 *
 *     for (unsigned r = 0; r < n; r++)
 *         ssq_comm_all_reduce(queue[r], comm[r],
 *             SSQ_COMM_ALL_REDUCE(.tensors = grads[r], .n = 8,
 *                                 .reduction = SSQ_COMM_MEAN));
 *
 * Ranks call the same collectives in the same order; queues may differ. Each
 * collective has a number, and may have a tag. Before a byte moves all ranks
 * compare number, tag, what is called, dtypes and sizes; where they differ,
 * every rank has an error that names both. Shapes are not compared, but how
 * many elements each tensor of a list has; those without any have no part in a
 * collective. A call that is refused has no number: the other ranks wait for
 * its rank.
 *
 * A queue is one line: a collective without .work begins when the one before it
 * on the queue is done, whose communicator ever that is of. So ranks of one
 * process have queues of their own, and a program that has several
 * communicators on a queue calls them in the same order on all ranks: otherwise
 * each waits for what stands behind the other, until options.timeout. What one
 * rank's collective reads or writes is no other rank's operand meanwhile, on
 * the same device either. Nothing checks that.
 *
 * Begin and wait. With .work a collective begins at its place of the queue, as
 * ever, and what is enqueued behind goes on meanwhile, until the place where
 * ssq_comm_wait puts the end: what comes behind that sees the results.
 *
 *     ssq_comm_work *work = NULL;
 *     ssq_comm_all_reduce(queue, comm,
 *         SSQ_COMM_ALL_REDUCE(.tensors = late, .n = 2, .work = &work));
 *     ssq_gemm(queue, ..);                  // of other tensors
 *     ssq_comm_wait(queue, &work);
 *     ssq_optimizer_step(queue, ..);
 *
 * Between the two places the tensors are the collective's: nobody writes them,
 * and nobody reads those that it writes, nor memory that they share, on any
 * queue. Nothing checks that; what is read or written there has no defined
 * value, and is the collective's operand or not. Several may be under way: a
 * communicator does them one after the other, in the order in which they began.
 * Over NCCL a collective has its place in the queue's own order, and what comes
 * behind waits with .work, too: the same values, and nothing overlaps.
 *
 * Bits. Sums are float32 over the ranks' indices in one order, element by
 * element, whatever the sizes and the pieces of the transfer: rank 0's and 1's
 * values are added, 2's and 3's, and so on, then the sums of pairs, until there
 * is one (doc/design/numbers.md, "Sums over ranks"). One rounding follows where
 * the tensors have 16 bits. A mean is that sum, divided by the number of ranks
 * before the rounding. So results are the same on every rank, in every run,
 * with every transport and on every device: class B.
 *
 * Errors. What is wrong with the arguments is answered at the call. A rank that
 * was destroyed or died, that does not come within options.timeout of the
 * others, or that calls something else, ends the group: the collective under
 * way on every other rank, and all that wait behind it, fail with SSQ_ERR_COMM,
 * as a device's failure does: the queue is sticky, and its text names the rank.
 * Later calls on the communicator answer the same. Nobody waits for ever.
 *
 * Over NCCL (nccl.h) some of this is otherwise: bits, graphs, and what is known
 * of errors.
 *
 * Tensors are contiguous and on the communicator's device. Collectives cannot
 * be captured in a graph. A communicator is used by one thread at a time.
 *
 * In a child of fork there is none: calls with it answer SSQ_ERR_DEVICE, and so
 * does what waits for, or looks at, a queue or event that had a collective
 * before it. Destroying it there frees nothing and touches no other rank. The
 * parent goes on. */
#ifndef SESQUI_COMM_H
#define SESQUI_COMM_H

#include <sesqui/args.h>
#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_comm ssq_comm;

/** A collective that has begun and was not waited for yet. It holds its queue,
 *  and its tensors' memory until it is done. */
typedef struct ssq_comm_work ssq_comm_work;

/** Most ranks of a group. */
#define SSQ_COMM_MAX_SIZE 1024

/** What a reduction makes of the ranks' values. */
typedef enum ssq_comm_reduction {
    SSQ_COMM_SUM = 0,  /**< float32 sums: f32, f16, bf16 */
    SSQ_COMM_MEAN = 1, /**< the sum divided by the number of ranks: the same */
    SSQ_COMM_MAX = 2   /**< IEEE 754-2019's maximum: NaN wins, -0 is below +0;
                            f32, f16, bf16, i32 */
} ssq_comm_reduction;

/** How a group works: the same on all ranks. */
typedef struct ssq_comm_options {
    size_t struct_size;
    double timeout;       /**< seconds that a rank waits for others, once its
                               own part is due; > 0, at most 1e9 */
    uint64_t piece_bytes; /**< of a tensor that travel at a time: 256 to 2^30;
                               twice that is taken of the host's memory, and
                               twice again; changes no bit of a result */
} ssq_comm_options;
#define SSQ_COMM_OPTIONS_INIT                                                  \
    {                                                                          \
        sizeof(ssq_comm_options), 300.0, (uint64_t)4 << 20                     \
    }

/** Make a group of devices of this process: rank i is on devices[i]. Devices
 *  may be of any kind and occur more than once.
 *  @param devices  n, each held by its communicator
 *  @param n        1..SSQ_COMM_MAX_SIZE
 *  @param options  NULL for the defaults
 *  @param comms    out: n, the caller's
 *  @return SSQ_ERR_INVALID a NULL, n, a wrong struct_size, a timeout or
 *          piece_bytes out of range; SSQ_ERR_NOMEM, also where no thread can be
 *          started; SSQ_ERR_DEVICE. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_comm_local_create(ssq_device *const *devices, unsigned n,
                      const ssq_comm_options *options, ssq_comm **comms);

/** Leave the group: collectives under way are ended, on the other ranks, too,
 *  where they need this one. Waits for what this rank is doing at this moment.
 *  Trainers and optimizers that have it answer SSQ_ERR_COMM from then on, and
 *  may be destroyed later; a tape whose batch norms have it has made its
 *  backward.
 *  NULL and a pointer to NULL are fine. */
SSQ_API void ssq_comm_destroy(ssq_comm **comm);

/** This rank's index, and how many there are; 0 for NULL. */
SSQ_API unsigned ssq_comm_rank(const ssq_comm *comm);
SSQ_API unsigned ssq_comm_size(const ssq_comm *comm);
/** The device that it is on; NULL for NULL. Not a new reference. */
SSQ_API ssq_device *ssq_comm_device(const ssq_comm *comm);
/** What carries its messages: "local", "mpi", "nccl"; "" for NULL. */
SSQ_API const char *ssq_comm_transport(const ssq_comm *comm);
/** SSQ_OK, or the error that has ended the group, as far as this rank knows: a
 *  rank that has left is noticed by the next collective. SSQ_ERR_DEVICE in a
 *  child of fork. Never waits. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_status(const ssq_comm *comm);

/* Common to all collectives:
 *  @param tag  words for texts, at most 31 characters, which all ranks give
 *              alike; NULL or "" none. Copied.
 *  @param work  NULL: what comes behind waits. Else out, where the call
 *              succeeds: the caller's, for ssq_comm_wait. What *work had before
 *              is not looked at. Ranks need not agree on it
 *  @return SSQ_ERR_INVALID the arguments, the queue is of another device, or a
 *          graph is being captured; SSQ_ERR_NOMEM; SSQ_ERR_COMM the group has
 *          ended; SSQ_ERR_DEVICE in a child of fork; the queue's error.
 *          Asynchronous, in order. Since 0.1. */

typedef struct ssq_comm_broadcast_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_comm_broadcast_args));
    const ssq_tensor *const *tensors; /**< [n] of any dtypes and shapes */
    size_t n;                         /**< may be 0, on all ranks */
    unsigned root;                    /**< the rank whose values all get */
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

/** Give all ranks the root's values of a list of tensors: their bits.
 *  @return SSQ_ERR_INVALID also: root is no rank, tensors overlap. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_broadcast(
    ssq_queue *queue, ssq_comm *comm, const ssq_comm_broadcast_args *args);

typedef struct ssq_comm_all_reduce_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_comm_all_reduce_args));
    const ssq_tensor *const *tensors; /**< [n] f32, f16 or bf16, mixed as you
                                           like; i32 for MAX; in place */
    size_t n;                         /**< may be 0, on all ranks */
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

/** Reduce a list of tensors, element by element, over all ranks; all of them
 *  get the result. Many small tensors cost one exchange, as one would.
 *  @return SSQ_ERR_INVALID also: a dtype that the reduction does not have,
 *          tensors that overlap. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_all_reduce(
    ssq_queue *queue, ssq_comm *comm, const ssq_comm_all_reduce_args *args);

typedef struct ssq_comm_reduce_scatter_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_comm_reduce_scatter_args));
    const ssq_tensor *x; /**< size times the elements of y */
    const ssq_tensor *y; /**< the same dtype; may not overlap x */
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

/** Reduce x over all ranks; rank r gets part r of `size` equal parts in y. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_reduce_scatter(
    ssq_queue *queue, ssq_comm *comm, const ssq_comm_reduce_scatter_args *args);

typedef struct ssq_comm_all_gather_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_comm_all_gather_args));
    const ssq_tensor *x; /**< of any dtype */
    const ssq_tensor *y; /**< size times the elements of x; the same dtype; may
                              not overlap x */
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

/** Put the ranks' values of x one after the other, by rank, in all ranks' y. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_all_gather(
    ssq_queue *queue, ssq_comm *comm, const ssq_comm_all_gather_args *args);

/** Put the end of a collective that was begun with .work here: what is enqueued
 *  behind on the queue sees its results. The host does not wait. Where it has
 *  failed, or its communicator was destroyed before it was done, the queue
 *  fails, as behind any collective.
 *  @param queue  the one that it was begun on
 *  @param work   becomes NULL, where the call succeeds: it is waited for once
 *  @return SSQ_ERR_INVALID a NULL, *work NULL (waited for or destroyed),
 *          another queue, or a graph is being captured; SSQ_ERR_NOMEM; the
 *          queue's error. Asynchronous. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_wait(ssq_queue *queue,
                                                ssq_comm_work **work);

/** Let go of a collective that nobody will wait for. It goes on, and keeps its
 *  tensors until it is done: until a later collective of the communicator that
 *  was waited for, or the communicator's end. No queue fails with it, but
 *  ssq_comm_status does. NULL and a pointer to NULL are fine. */
SSQ_API void ssq_comm_work_destroy(ssq_comm_work **work);

/** What comes behind runs on no rank before all have come here. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_barrier(ssq_queue *queue,
                                                   ssq_comm *comm,
                                                   const char *tag);

/** Something that all ranks should have alike: "fc1.weight", "f16 [256,784]".
 */
typedef struct ssq_comm_fact {
    const char *name;
    const char *value;
} ssq_comm_fact;

/** Compare facts, and the library's version, over all ranks, before the first
 *  step say: by one hash where they are equal. Where they are not, the queue
 *  fails with SSQ_ERR_COMM on every rank, and the text has the first difference
 *  with the name and both values.
 *  @param facts  n, copied; NULL for none */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_compare(ssq_queue *queue,
                                                   ssq_comm *comm,
                                                   const ssq_comm_fact *facts,
                                                   size_t n, const char *tag);

/** The ranks' weights, for ssq_trainer_args.weights, by how fast their devices
 *  train: each rank reads what its own cache has of its device
 *  (ssq_training_rate_get, tune.h), and gets those of all, by one collective.
 *  Nothing is measured, so the same caches give the same weights; a trainer
 *  keeps those that it was made with, and so do its checkpoints. Rates are of
 *  a device that one rank has for itself.
 *  @param dtype    SSQ_F32, SSQ_F16 or SSQ_BF16, in which the ranks compute:
 *                  the same on all
 *  @param weights  out: size, the same bits on all ranks: 1 for the fastest,
 *                  of the others their part of its rate. Written only on
 *                  success
 *  @return SSQ_ERR_INVALID a NULL, dtype, or on all ranks alike: a rank whose
 *          weight would be below 1e-6; SSQ_ERR_NOT_FOUND on all ranks alike: a
 *          rank's cache has no rate of its device, and the text has the rank
 *          and the command that measures it; else as a collective, whose errors
 *          come here
 *  @note Waits for all ranks, so local ranks call it each from a thread of its
 *        own. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_weights(ssq_queue *queue,
                                                   ssq_comm *comm,
                                                   ssq_dtype dtype,
                                                   double *weights);

/** Where a launcher has put this process: filled by ssq_comm_place_get. */
typedef struct ssq_comm_place {
    size_t struct_size;
    char launcher[16];   /**< "Open MPI", "MPICH", "Slurm"; "" for none */
    unsigned rank, size; /**< of all processes of the job; 0 of 1 for none */
    unsigned local_rank, local_size; /**< of those on this machine, likewise */
    char device[32];                 /**< what ssq_device_open takes */
} ssq_comm_place;
#define SSQ_COMM_PLACE_INIT                                                    \
    {                                                                          \
        sizeof(ssq_comm_place), "", 0, 1, 0, 1, ""                             \
    }

/** This process's place among those that mpirun or srun has started, from the
 *  environment alone, before MPI is initialised; and the device that it would
 *  take: of the backend of "auto", each local rank its own, and from the first
 *  again where there are fewer. Where the environment's SSQ_DEVICE names one
 *  device ("cuda:1"), that. Opens devices for a moment.
 *  @param place  written only on success
 *  @return SSQ_ERR_INVALID NULL, a struct_size, or a launcher's variable that
 *          is no number; else as
 *          ssq_device_open("auto"). Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_comm_place_get(ssq_comm_place *place);

#ifdef __cplusplus
}
#endif

#endif
