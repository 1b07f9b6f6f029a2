/* SPDX-License-Identifier: Apache-2.0 */
/* lent.h - a loop on threads of the program's. */
#ifndef BACKENDS_CPU_THREADS_LENT_H
#define BACKENDS_CPU_THREADS_LENT_H

#include "backends/cpu/threads/parallel.h"

/** All tasks, on at most size threads: tasks that the program's parallel-for
 * leaves are done by the caller. Neither locks nor waits, except for parts that
 * the parallel-for did not wait for. */
void lent_for(const ssq_cpu_options *lent, uint32_t size, uint32_t n,
              team_task task, void *context);

#endif
