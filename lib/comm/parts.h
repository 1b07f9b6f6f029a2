/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h - what only the library calls: collectives over tensors of which each
 * rank has a part, references, and an end.
 *
 * All ranks have the same n tensors. Of tensor i, rank r's part are elements
 * bounds[i * (size + 1) + r] up to, and without, the next of these numbers,
 * which ascend from 0 to the tensor's elements. Some parts may be empty. All in
 * place, and what is not said to be written stays. */
#ifndef LIB_COMM_PARTS_H
#define LIB_COMM_PARTS_H

#include <sesqui/comm.h>

/** A root that is every rank. */
#define COMM_ALL UINT32_MAX

/** A rank's part of each tensor becomes its sum over all ranks: those of
 *  ssq_comm_all_reduce. Floats. What is returned is as of the collectives of
 *  sesqui/comm.h. */
ssq_status comm_reduce_parts(ssq_queue *queue, ssq_comm *comm,
                             const ssq_tensor *const *tensors, size_t n,
                             const int64_t *bounds, const char *tag);

/** All parts of others' become theirs, on the root or on all ranks. */
ssq_status comm_gather_parts(ssq_queue *queue, ssq_comm *comm,
                             const ssq_tensor *const *tensors, size_t n,
                             const int64_t *bounds, uint32_t root,
                             const char *tag);

/** Do all ranks have the same bytes in tensors, which have the same names,
 *  dtypes and sizes on all? As ssq_comm_compare; names are copied. */
ssq_status comm_compare_tensors(ssq_queue *queue, ssq_comm *comm,
                                const char *const *names,
                                const ssq_tensor *const *tensors, size_t n,
                                const char *tag);

/** Hold a communicator: once it was destroyed, calls with it answer the error
 *  that has ended its group. And let go of it. NULL is fine. */
void comm_hold(ssq_comm *comm);
void comm_put(ssq_comm *comm);

/** Not a collective: behind those that were begun, this rank ends the group
 *  with a text, which all hear. Needs no memory, and no queue that works. */
void comm_give_up(ssq_comm *comm, const char *text);

#endif
