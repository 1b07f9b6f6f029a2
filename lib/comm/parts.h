/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h - collectives over tensors of which each rank has a part, references
 * to a communicator, and ending a group. Only the library uses these calls.
 *
 * All ranks have the same n tensors. Rank r's part of tensor i begins at
 * element bounds[i * (size + 1) + r] and ends before the next bound. The bounds
 * of a tensor ascend from 0 to its number of elements. A part may be empty. All
 * calls work in place, and keep the elements that they do not mention. */
#ifndef LIB_COMM_PARTS_H
#define LIB_COMM_PARTS_H

#include <sesqui/comm.h>

/** As a root: all ranks. */
#define COMM_ALL UINT32_MAX

/** Replace this rank's part of each tensor by its sum over all ranks, as
 *  ssq_comm_all_reduce computes it. Floats only. Returns as the collectives
 *  of sesqui/comm.h. */
ssq_status comm_reduce_parts(ssq_queue *queue, ssq_comm *comm,
                             const ssq_tensor *const *tensors, size_t n,
                             const int64_t *bounds, const char *tag);

/** Copy the parts of all other ranks to the root, or to all ranks. */
ssq_status comm_gather_parts(ssq_queue *queue, ssq_comm *comm,
                             const ssq_tensor *const *tensors, size_t n,
                             const int64_t *bounds, uint32_t root,
                             const char *tag);

/** Compare the bytes of tensors between ranks, as ssq_comm_compare does. Names,
 *  dtypes and sizes must be the same on all ranks. Names are copied. */
ssq_status comm_compare_tensors(ssq_queue *queue, ssq_comm *comm,
                                const char *const *names,
                                const ssq_tensor *const *tensors, size_t n,
                                const char *tag);

/** Return SSQ_OK if collectives can be enqueued: the group has not ended, and
 * no capture prevents them. For a call that enqueues other work before. */
ssq_status comm_ready(ssq_queue *queue, ssq_comm *comm, const char *what);

/** Add or drop a reference; NULL is allowed. After ssq_comm_destroy, calls with
 *  a held communicator return the error that ended its group. */
void comm_hold(ssq_comm *comm);
void comm_put(ssq_comm *comm);

/** End the group with a text. Not a collective. Needs neither memory nor a
 *  working queue. Collectives that were begun run first, and all ranks get the
 *  text. With a direct transport the end is immediate, and only this rank gets
 *  the text. */
void comm_give_up(ssq_comm *comm, const char *text);

#endif
