/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.h - memory of a device that an op has while it runs.
 *
 * It is kept from op to op, and grows: one op has it at a time. */
#ifndef BACKENDS_CPU_SCRATCH_H
#define BACKENDS_CPU_SCRATCH_H

#include <pthread.h>
#include <stddef.h>

#include <sesqui/status.h>

struct scratch {
    pthread_mutex_t lock;
    struct backend_mem *mem; /* NULL: none yet */
};

/** @return SSQ_ERR_NOMEM, text set */
ssq_status scratch_init(struct scratch *s);
void scratch_destroy(struct scratch *s);

/** At least so many bytes, aligned as device memory, until scratch_return.
 *  @return SSQ_ERR_NOMEM, text set: nothing is to be returned */
ssq_status scratch_take(struct scratch *s, size_t bytes, void **memory);
void scratch_return(struct scratch *s);

/** Keep ops out while the process is copied, and let them in again. */
void scratch_hold(struct scratch *s);
void scratch_let_go(struct scratch *s);

#endif
