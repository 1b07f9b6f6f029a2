/* SPDX-License-Identifier: Apache-2.0 */
/* gemv.h - GEMM with a vector, or a few: lines along k are read in place. */
#ifndef BACKENDS_CPU_GEMM_GEMV_H
#define BACKENDS_CPU_GEMM_GEMV_H

#include "backends/cpu/gemm/gemm_job.h"
#include "backends/cpu/threads/parallel.h"
#include "backends/cpu/threads/scratch.h"

/** True if the job is such a GEMM. *down: the many lines are rows of a,
 * otherwise columns of b. */
bool gemv_takes(const struct gemm_job *job, bool *down);

/** Run it. @return SSQ_ERR_NOMEM, with nothing written */
ssq_status gemv_run(const struct gemm_job *job, struct team *team,
                    struct scratch *scratch);

#endif
