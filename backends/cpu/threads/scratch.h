/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.h - memory of a device that an op has while it runs.
 *
 * It is kept from op to op, and grows. Ops of several queues may run
 * concurrently: none waits for another, since a program's own parallel-for may
 * run one within the other. */
#ifndef BACKENDS_CPU_THREADS_SCRATCH_H
#define BACKENDS_CPU_THREADS_SCRATCH_H

#include <pthread.h>
#include <stddef.h>

#include <sesqui/status.h>

/** Blocks that are kept, for as many concurrent ops; others allocate. */
#define SCRATCH_KEPT 4

struct backend_mem;

struct scratch {
    pthread_mutex_t lock;                   /* held for moments */
    struct backend_mem *idle[SCRATCH_KEPT]; /* NULL: none */
};

/** @return SSQ_ERR_NOMEM, text set */
ssq_status scratch_init(struct scratch *s);
void scratch_destroy(struct scratch *s);

/** At least this many bytes, aligned as device memory, in block->host.
 *  @return SSQ_ERR_NOMEM, text set: nothing is to be returned */
ssq_status scratch_take(struct scratch *s, size_t bytes,
                        struct backend_mem **block);
void scratch_return(struct scratch *s, struct backend_mem *block);

/** Keep ops out while the process is copied, and let them in again. */
void scratch_hold(struct scratch *s);
void scratch_let_go(struct scratch *s);

#endif
