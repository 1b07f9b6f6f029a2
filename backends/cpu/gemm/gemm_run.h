/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_run.h - run a GEMM on the threads of a device, block by block. */
#ifndef BACKENDS_CPU_GEMM_GEMM_RUN_H
#define BACKENDS_CPU_GEMM_GEMM_RUN_H

#include "backends/cpu/device/features.h"
#include "backends/cpu/gemm/gemm_job.h"
#include "backends/cpu/threads/parallel.h"
#include "backends/cpu/threads/scratch.h"

/** Run it. @return SSQ_ERR_NOMEM, with nothing written */
ssq_status gemm_run(const struct gemm_job *job, const struct cpu_features *f,
                    struct team *team, struct scratch *scratch);

#endif
