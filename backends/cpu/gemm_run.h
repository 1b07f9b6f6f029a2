/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_run.h - run a GEMM on the threads of a device, block by block. */
#ifndef BACKENDS_CPU_GEMM_RUN_H
#define BACKENDS_CPU_GEMM_RUN_H

#include "backends/cpu/features.h"
#include "backends/cpu/gemm_job.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/scratch.h"

/** Run it. @return SSQ_ERR_NOMEM, with nothing written */
ssq_status gemm_run(const struct gemm_job *job, const struct cpu_features *f,
                    struct team *team, struct scratch *scratch);

#endif
